/* Ticks: a thread that is in compiled code for long is asked now and then whether to go on, wherever it is.
 *
 * No loop asks by itself. A tick is a signal, from a timer that counts the thread's own time on a processor:
 * the first call of compiled code sets it, once, and a tick that finds no call at work leaves it to the next
 * call to do so again. So there is at most one in 20 ms, none where no compiled code runs, and a call pays
 * for one look at a byte. A tick ends a system call of nobody, as a thread that waits has no time of its own.
 *
 * The handler looks where the thread was interrupted. In compiled code it holds no lock, is in the middle of
 * no function of C's, and owns nothing but what its frame lists (enter.c); so whatever a called function may
 * do is allowed there, and the handler asks the host: it runs Python's own signal handlers, with the GIL. If
 * they raise nothing the kernel restores every register, and the loop goes on as if nothing had been.
 * Otherwise the context is changed so that the call returns TR_CODE_HOST. Elsewhere (the runtime, libm,
 * malloc, LLVM) it is only noted: the next tick comes soon after, and functions of the runtime that may take
 * long, or fill a loop, ask when they are done or begin (tr_rt_look).
 * (An asynchronous preemption, in the field's words. Polling was measured before: in loops
 * LLVM has not seen it costs up to 15 % of the time of short ones and 16 % of the time to
 * compile, seen by LLVM vectors and 30 %.)
 *
 * Workers of the pool have no timer: who waits for a region that ends sends them the same signal until they
 * have left it (parallel.c). The signal is SIGURG, which means nothing to who does not ask for it, or the
 * last real-time one that is free where somebody else has it. Who installs a handler for it later gets the
 * one tick that was due, and then none are sent. The child of a fork begins anew. Other systems: their timer
 * or a thread that sends the signal goes here, and the registers of their contexts.
 * Cost: a signal and a question 50 times a second of a call, and as often as the system's
 * clock ticks while it is in the runtime. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/rt.h"

/* The kernel rounds up to its own clock's period, 1 to 10 ms. SOON: where it met the runtime. */
static const long period_ns = 20000000, soon_ns = 2000000;

/* State of the process; the child of a fork has no timer. */
static struct {
    pthread_once_t once;
    int signal;     /* 0: there are no ticks */
    bool has_timer; /* the first thread's, and only that one's to use */
    timer_t timer;
} ticks = {.once = PTHREAD_ONCE_INIT};

static void set_timer(long ns) {
    const struct itimerspec t = {.it_value.tv_nsec = ns};
    tr_rt_here.armed = 1;
    timer_settime(ticks.timer, 0, &t, NULL);
}

/* --- the handler --- */

/* Ours are from the timer, or from a thread of this process. */
static bool is_ours(const siginfo_t *info) {
    return info->si_code == SI_TIMER ? info->si_value.sival_ptr == &ticks
                                     : info->si_code == SI_TKILL && info->si_pid == getpid();
}

/* Asks, in the middle of compiled code; may change where the thread goes on. */
static void ask_here(tr_here *h, ucontext_t *at) {
    greg_t *r = at->uc_mcontext.gregs;
    int32_t code = tr_rt_ask(h->frame);
    if (!code)
        return;
    tr_rt_frame_forget(h->frame);
    __asan_handle_no_return();
    r[REG_RSP] = (greg_t)(uintptr_t)tr_rt_left_stack(h->frame);
    r[REG_RBP] = (greg_t)(uintptr_t)h->frame->base;
    r[REG_RAX] = code;
    r[REG_RIP] = (greg_t)(uintptr_t)tr_rt_left;
}

/* Between the tick and its end another may be set by what the host runs; signals come meanwhile as ever. */
static void tick(int number, siginfo_t *info, void *context) {
    (void)number;
    if (!is_ours(info))
        return;
    tr_here *h = &tr_rt_here;
    ucontext_t *at = context;
    int saved = errno;
    bool timed = info->si_code == SI_TIMER, asked = false;
    if (timed)
        h->armed = 0;
    if (h->frame) {
        asked = tr_rt_code_holds((uintptr_t)at->uc_mcontext.gregs[REG_RIP]);
        h->wanted = !asked;
        if (asked)
            ask_here(h, at);
        if (timed && !h->armed)
            set_timer(asked ? period_ns : soon_ns);
    }
    errno = saved;
}

/* --- setting it up --- */

/* A context that goes on in an outer function would not fit the processor's own record of calls. */
static bool has_shadow_stack(void) {
    uint64_t at = 0;
    __asm__ volatile("rdsspq %0" : "+r"(at)); /* does nothing on processors without */
    return at != 0;
}

static bool is_free(int number) {
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

static void forked(void) {
    ticks.has_timer = false;
    tr_rt_here.armed = tr_rt_here.wanted = 0;
}

static void install(void) {
    struct sigaction a = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    int number = SIGURG;
    if (has_shadow_stack())
        return;
    if (!is_free(number))
        for (number = SIGRTMAX; number >= SIGRTMIN && !is_free(number);)
            number--;
    sigemptyset(&a.sa_mask);
    if (number >= SIGRTMIN || number == SIGURG) {
        pthread_atfork(NULL, NULL, forked);
        ticks.signal = sigaction(number, &a, NULL) == 0 ? number : 0;
    }
}

bool tr_rt_tick_is_ours(void) {
    struct sigaction now;
    int number = tr_rt_tick_signal();
    return number && sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == tick;
}

int tr_rt_tick_signal(void) {
    pthread_once(&ticks.once, install);
    return ticks.signal;
}

static bool make_timer(void) {
    struct sigevent e = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = tr_rt_tick_signal(), .sigev_value.sival_ptr = &ticks};
#ifdef sigev_notify_thread_id
    e.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
#else
    e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#endif
    return e.sigev_signo && timer_create(CLOCK_THREAD_CPUTIME_ID, &e, &ticks.timer) == 0;
}

/* Hosts are given signals on the first thread of the process, or the one that forked. */
void tr_rt_arm(const tr_frame *f) {
    if (!f->host || !f->host->poll)
        return;
    tr_rt_here.armed = 1;
    if (syscall(SYS_gettid) != getpid())
        return;
    ticks.has_timer = ticks.has_timer || make_timer();
    if (ticks.has_timer)
        set_timer(period_ns);
}
