/* The one way into compiled code, and what a thread in it is known by (enter.c, tick.c). */
#ifndef TR_RT_ENTER_H
#define TR_RT_ENTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/layout.h"

/* A thread's call of compiled code. Only the thread itself reads and writes it, its signal
 * handler included. */
typedef struct tr_here {
    tr_frame *frame; /* NULL: it is not in compiled code */
    uint8_t armed;   /* a tick is due, or none will ever be for this thread */
    uint8_t wanted;  /* a tick came where the call cannot be left: tr_rt_look */
} tr_here;

/* In the block that every thread has from its start, so a signal handler may touch it. */
extern _Thread_local tr_here tr_rt_here __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Sees to it that this thread gets a tick, if it is one that is ever asked to end (tick.c). */
void tr_rt_arm(const tr_frame *f);

/* What goes round a call of the host, which may run anything: compiled code as well. */
static inline tr_frame *tr_rt_outside(void) {
    tr_frame *f = tr_rt_here.frame;
    tr_rt_here.frame = NULL;
    return f;
}
/* The frame comes first: a tick that finds none is followed by no other, and must be one
 * that `armed` tells of. */
static inline __attribute__((always_inline)) void tr_rt_inside(tr_frame *f) {
    tr_rt_here.frame = f;
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(!tr_rt_here.armed, 0) && f)
        tr_rt_arm(f);
}

#ifndef __x86_64__
#error "how compiled code is called, and left, is written for x86-64"
#endif
/* Calls fn(f, a, b, c, d) such that it can be left from the middle (enter.c): stack pointer and rbp are
 * written down, and the compiler is told that nothing else is as it was, so who leaves need not restore it.
 * The call behind `armed` makes the function that this stands in one that calls: it has no red zone and keeps
 * the stack aligned; and the stack pointer as an operand keeps the assembly where that holds. */
static inline __attribute__((always_inline)) int32_t tr_rt_enter(tr_frame *f, uintptr_t fn, uintptr_t a,
                                                                 uintptr_t b, uintptr_t c, uintptr_t d) {
    register uintptr_t rsp __asm__("rsp");
    tr_rt_inside(f);
    register uintptr_t fifth __asm__("r8") = d; /* no call may come between */
    __asm__ inline volatile("mov %%rsp, %c[leave](%%rdi)\n\t"
                            "mov %%rbp, %c[base](%%rdi)\n\t"
                            "call *%%rax"
                            : "+a"(fn), "+D"(f), "+S"(a), "+d"(b), "+c"(c), "+r"(fifth), "+r"(rsp)
                            : [leave] "i"(offsetof(tr_frame, leave)), [base] "i"(offsetof(tr_frame, base))
                            : "rbx", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
                              "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                              "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
    tr_rt_here.frame = NULL;
    return (int32_t)fn;
}

/* A module's entry: what it returns, or the code with which it was left. */
static inline __attribute__((always_inline)) int32_t tr_rt_run(tr_entry_fn fn, tr_frame *f,
                                                               const tr_slot *args, tr_slot *ret) {
    return tr_rt_enter(f, (uintptr_t)fn, (uintptr_t)args, (uintptr_t)ret, 0, 0);
}
/* A region's body, in the middle of a call, perhaps of the same frame. */
int32_t tr_rt_run_body(tr_par_fn *fn, tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker);

/* Machine code that may be left at any instruction. The record is the caller's; it is not moved. */
typedef struct tr_code_range {
    uintptr_t lo, hi;
    struct tr_code_range *next, *prev;
} tr_code_range;
void tr_rt_code_add(tr_code_range *r);
void tr_rt_code_remove(tr_code_range *r);
/* A fork waits for those two. Of several locks a fork takes last the one that watched first: whoever calls
 * them with a lock that a fork takes as well calls this before that lock watches. */
void tr_rt_code_watch_forks(void);
/* False as well where another thread changes the list. For signal handlers. */
bool tr_rt_code_holds(uintptr_t pc);

/* Functions of the runtime that may take long, and that compiled code calls directly, say so here when they
 * are done, or before they begin, and own nothing: they may not return. */
void tr_rt_look_now(void);
/* The thread's call ends here and now, with that code: for what a function that has no frame cannot do
 * without. Whoever calls it owns nothing. Outside of a call there is nobody to tell: the process ends. */
_Noreturn void tr_rt_end_now(int32_t code);
static inline void tr_rt_look(void) {
    if (__builtin_expect(tr_rt_here.wanted, 0))
        tr_rt_look_now();
}
/* Returns from the call of f, with rax as it is: what a context goes on with whose stack pointer is
 * tr_rt_left_stack(f), and rbp f->base. */
extern const char tr_rt_left[] __attribute__((visibility("hidden")));
static inline void *tr_rt_left_stack(const tr_frame *f) {
    return (char *)f->leave - sizeof(void *); /* the call's return address lies there */
}

/* Before a call is left: C functions between are abandoned as well (a region of one range calls its body
 * directly), which have told AddressSanitizer what of the stack is not to be read. */
#ifdef __SANITIZE_ADDRESS__
void __asan_handle_no_return(void);
#else
static inline void __asan_handle_no_return(void) {}
#endif

/* Asks now whether to go on: 0, or the code to end with (parallel.c). */
int32_t tr_rt_ask(tr_frame *f);

/* The signal that ticks come by, with its handler in place; 0: there are none in this process. */
int tr_rt_tick_signal(void);
/* Nobody has put another handler in its place. */
bool tr_rt_tick_is_ours(void);

#endif
