/* Entering compiled code, and leaving it from the middle.
 *
 * A call of compiled code owns nothing but what its frame lists, and so it can be abandoned at any
 * instruction of its own: the frame frees the rest (layout.h). What is abandoned is a stretch of the stack,
 * from the code at work up to tr_rt_enter. So a call is left from a signal handler that interrupted compiled
 * code itself (tick.c), or from a function of the runtime that compiled code has called and that owns nothing
 * either; never from C code in between that may hold a lock or memory: such code enters anew
 * (tr_rt_run_body), and what it calls is left to there.
 *
 * It is longjmp with less to restore: the compiler was told that the call changes every register but two, and
 * the place to go on is the return address that the call itself has put on the stack. Who leaves sets stack
 * pointer and rbp and returns, with a code in the register for results.
 * Shadow stacks are not unwound: where a process has one, tick.c sends no ticks.
 * Cost: three stores, and a look at a byte. */
#include "rt/enter.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "rt/rt.h"

_Thread_local tr_here tr_rt_here;

int32_t tr_rt_run_body(tr_par_fn *fn, tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    assert(lo < hi && f && "a range that is not empty, for a frame");
    tr_frame *outer = tr_rt_here.frame;
    void *leave = f->leave, *base = f->base;
    int32_t code = tr_rt_enter(f, (uintptr_t)fn, (uintptr_t)ctx, (uintptr_t)lo, (uintptr_t)hi, worker);
    f->leave = leave;
    f->base = base;
    tr_rt_inside(outer);
    return code;
}

/* void tr_rt_leave(int32_t code, void *stack, void *base); the same from there on. */
__asm__(".text\n"
        ".p2align 4\n"
        ".type tr_rt_leave, @function\n"
        "tr_rt_leave:\n"
        "mov %edi, %eax\n"
        "mov %rsi, %rsp\n"
        "mov %rdx, %rbp\n"
        ".globl tr_rt_left\n"
        ".hidden tr_rt_left\n"
        "tr_rt_left:\n"
        "ret\n"
        ".size tr_rt_leave, .-tr_rt_leave\n");
_Noreturn void tr_rt_leave(int32_t code, void *stack, void *base) __attribute__((visibility("hidden")));

void tr_rt_look_now(void) {
    tr_here *h = &tr_rt_here;
    h->wanted = 0;
    tr_frame *f = h->frame;
    int32_t code = f ? tr_rt_ask(f) : 0;
    if (code)
        tr_rt_end_now(code);
}

void tr_rt_end_now(int32_t code) {
    tr_frame *f = tr_rt_here.frame;
    assert(code && "a call ends for a reason");
    if (!f)
        abort();
    tr_rt_frame_forget(f);
    __asan_handle_no_return();
    tr_rt_leave(code, tr_rt_left_stack(f), f->base);
}

/* --- where compiled code lies --- */

/* State of the process. */
static tr_code_range all = {.next = &all, .prev = &all};
static _Atomic uint32_t busy; /* someone changes the list or looks through it */

static bool try_lock(void) {
    return !atomic_exchange_explicit(&busy, 1, memory_order_acquire);
}

/* Not a mutex, as handlers try it. Nobody sleeps who has it. */
static void lock(void) {
    while (!try_lock())
        sched_yield();
}

static void unlock(void) {
    atomic_store_explicit(&busy, 0, memory_order_release);
}

static void watch_forks(void) {
    pthread_atfork(lock, unlock, unlock);
}

void tr_rt_code_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

void tr_rt_code_add(tr_code_range *r) {
    assert(r->lo < r->hi && !r->next && "a stretch of code, added once");
    tr_rt_code_watch_forks();
    lock();
    r->next = all.next;
    r->prev = &all;
    r->next->prev = r;
    all.next = r;
    unlock();
}

void tr_rt_code_remove(tr_code_range *r) {
    if (!r->next)
        return; /* it was never added */
    lock();
    assert(r->prev->next == r && r->next->prev == r && "it is in the list");
    r->prev->next = r->next;
    r->next->prev = r->prev;
    r->next = r->prev = NULL;
    unlock();
}

bool tr_rt_code_holds(uintptr_t pc) {
    if (!try_lock())
        return false;
    const tr_code_range *r = all.next;
    while (r != &all && (pc < r->lo || pc >= r->hi))
        r = r->next;
    unlock();
    return r != &all;
}
