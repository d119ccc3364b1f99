/* Region memory: a list of chunks, the newest first; see arena.h. */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_CHUNK = 64 * 1024, MAX_CHUNK = 8 * 1024 * 1024 };

typedef struct tr_chunk {
    struct tr_chunk *next;
    size_t size, used; /* of the bytes after the header */
} tr_chunk;

enum { HEADER = (sizeof(tr_chunk) + ALIGN - 1) & ~(size_t)(ALIGN - 1) };

static _Noreturn void no_memory(tr_arena *a) {
    if (a->oom)
        longjmp(*a->oom, 1);
    fputs("treadle: out of memory\n", stderr);
    abort();
}

void tr_arena_init(tr_arena *a, jmp_buf *oom) {
    a->head = NULL;
    a->total = 0;
    a->oom = oom;
}

void tr_arena_fini(tr_arena *a) {
    for (tr_chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    a->head = NULL;
}

/* Large requests get a chunk of their own behind the head, so that the head's free rest stays in use. */
static void *alloc_slow(tr_arena *a, size_t size) {
    size_t want = a->head ? 2 * a->head->size : FIRST_CHUNK;
    if (want > MAX_CHUNK)
        want = MAX_CHUNK;
    bool own = size > want / 4;
    size_t n = own ? size : want;
    tr_chunk *c = n < SIZE_MAX - HEADER ? calloc(1, HEADER + n) : NULL;
    if (!c)
        no_memory(a);
    c->size = n;
    c->used = size;
    if (own && a->head) {
        c->next = a->head->next;
        a->head->next = c;
    } else {
        c->next = a->head;
        a->head = c;
    }
    return (char *)c + HEADER;
}

void *tr_arena_alloc(tr_arena *a, size_t size) {
    if (size > SIZE_MAX / 2)
        no_memory(a);
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    a->total += size;
    tr_chunk *c = a->head;
    if (c && c->size - c->used >= size) {
        void *p = (char *)c + HEADER + c->used;
        c->used += size;
        return p;
    }
    return alloc_slow(a, size);
}

void *tr_arena_copy(tr_arena *a, const void *src, size_t size) {
    void *p = tr_arena_alloc(a, size);
    if (size)
        memcpy(p, src, size);
    return p;
}

char *tr_arena_strndup(tr_arena *a, const char *s, size_t n) {
    char *p = tr_arena_alloc(a, n + 1);
    if (n)
        memcpy(p, s, n);
    return p;
}

char *tr_arena_strdup(tr_arena *a, const char *s) {
    return tr_arena_strndup(a, s, strlen(s));
}

char *tr_arena_vprintf(tr_arena *a, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *p = tr_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    if (n > 0)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *tr_arena_printf(tr_arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *p = tr_arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}
