/* An allocator that fails where it is told to (fault injection): preloaded, it counts what is allocated from
 * one library's code, and gives NULL for the one allocation that was chosen. All else is glibc's.
 * For one thread: others must not allocate from that library while it is armed. */
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static struct {
    uintptr_t from, to; /* the library's code */
    long left;          /* allocations until the one that fails; -1: none does */
    long made, live;    /* since it was armed: allocations, and those that were not freed */
    int armed, failed;
} state = {.left = -1};

static int counts(uintptr_t caller) {
    return state.armed && caller >= state.from && caller < state.to;
}

static int fails(uintptr_t caller) {
    if (!counts(caller))
        return 0;
    state.made++;
    if (state.left < 0 || state.left--)
        return 0;
    return state.failed = 1;
}

__attribute__((visibility("default"))) void fake_memory_of(uintptr_t from, uintptr_t to) {
    state.from = from;
    state.to = to;
}

__attribute__((visibility("default"))) void fake_memory_arm(long left) {
    state.left = left;
    state.made = 0;
    state.failed = 0;
    state.armed = 1;
}

/* Has one failed? */
__attribute__((visibility("default"))) int fake_memory_disarm(void) {
    state.armed = 0;
    return state.failed;
}

__attribute__((visibility("default"))) long fake_memory_live(void) {
    return state.live;
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

__attribute__((visibility("default"))) void *malloc(size_t size) {
    void *p = fails(CALLER) ? NULL : __libc_malloc(size);
    state.live += p && counts(CALLER);
    return p;
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size) {
    void *p = fails(CALLER) ? NULL : __libc_calloc(n, size);
    state.live += p && counts(CALLER);
    return p;
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t size) {
    void *p = fails(CALLER) ? NULL : __libc_realloc(old, size);
    state.live += p && !old && counts(CALLER);
    return p;
}

__attribute__((visibility("default"))) void free(void *p) {
    state.live -= p && counts(CALLER);
    __libc_free(p);
}
