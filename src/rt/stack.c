/* How far compiled recursion may go: down to a reserve above the end of the stack of the thread that runs.
 *
 * The bounds are asked for once a thread; for the first thread of a process that reads /proc, some 50 us. On
 * a stack that is not the thread's own (a coroutine's), and on one without end, the room is counted from
 * where the call began. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/fns.h"

/* What is left for functions that do not check: the runtime, libm, compiled leaves, whose buffers stay below
 * TR_STACK_UNCHECKED. */
enum { LEAST = 24 << 10, MOST = 512 << 10 };
/* Room on a stack of unknown size; and at most, so that endless recursion does not fill the memory. */
enum { UNKNOWN = 64 << 10, ENOUGH = 64 << 20 };

typedef struct bounds {
    uintptr_t low, high; /* high is 0: not asked yet */
} bounds;
static _Thread_local bounds mine;

static void ask(bounds *b) {
    pthread_attr_t a;
    void *low = NULL;
    size_t size = 0, guard = 0;
    *b = (bounds){0, 1};
    if (pthread_getattr_np(pthread_self(), &a) != 0)
        return;
    if (pthread_attr_getstack(&a, &low, &size) == 0 && pthread_attr_getguardsize(&a, &guard) == 0)
        *b = (bounds){(uintptr_t)low + guard, (uintptr_t)low + size};
    pthread_attr_destroy(&a);
}

uintptr_t tr_rt_stack_limit(void) {
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    if (!mine.high)
        ask(&mine);
    if (sp < mine.low || sp >= mine.high)
        return sp - UNKNOWN;
    uintptr_t reserve = (mine.high - mine.low) / 16;
    reserve = reserve < LEAST ? LEAST : reserve > MOST ? MOST : reserve;
    uintptr_t limit = mine.low + reserve;
    assert(mine.low < mine.high && limit > mine.low && "a limit lies above the end of the stack");
    return sp - limit > ENOUGH && sp > limit ? sp - ENOUGH : limit;
}

size_t tr_rt_stack_left(void) {
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    if (!mine.high)
        ask(&mine);
    return sp < mine.low || sp >= mine.high ? UNKNOWN : sp - mine.low;
}

/* Once a frame: it is told anew by code that was called from code, deeper down. */
void tr_rt_stack(tr_frame *f) {
    if (!f->stack)
        f->stack = tr_rt_stack_limit();
}
