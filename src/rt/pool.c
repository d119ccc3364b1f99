/* The pool's threads: started when a region first wants them, asleep when there is none.
 *
 * A worker looks for an open region (parallel.c), works until there is nothing left, then watches `epoch`,
 * which every region counts up, for at most 100 us, and then sleeps on it. No wake is lost: a worker that
 * found nothing sleeps only if the epoch is still the one from before it looked. A lost wake would cost speed
 * and nothing else, as the thread that opened a region does whatever nobody else does. There are no locks
 * here. The child of a fork has none of the threads and starts them anew when it needs them: whatever state
 * the parent was in is thrown away, so a fork may come at any time. Workers call nothing of Python's, ever.
 * Cost of a region to the one who opens it: a few atomic operations; a system call when workers must be
 * woken. */
#include "rt/pool.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rt/enter.h"

static const int64_t spin_ns = 100000, stop_ns = 500000000;
/* As much as the main thread has by default, whatever the limits of this process say: compiled recursion
 * counts on it. */
static const size_t stack_bytes = 8u << 20;
enum { WAKES = 4, SPREADS = 2, LOOKS = 16 };

/* State of the process; a fork resets it. */
static struct {
    _Alignas(64) _Atomic uint32_t epoch; /* counts regions; workers sleep on it */
    _Alignas(64) _Atomic uint32_t watching, asleep;
    _Alignas(64) _Atomic uint32_t size; /* 0: not known yet */
    _Atomic uint32_t cpus, workers;
    _Atomic uint32_t busy;    /* someone starts or ends workers */
    _Atomic uint32_t refused; /* the system gives no more threads than there are */
    _Atomic uint32_t stopping;
    _Atomic int64_t grain; /* of ranges, for tests; 0: not fixed */
    _Atomic bool backwards;
    pthread_t threads[TR_POOL_MAX - 1];
} pool;

/* --- small things --- */

void tr_rt_futex_wait(_Atomic uint32_t *at, uint32_t seen, int64_t ns) {
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, seen, ns < 0 ? NULL : &t, NULL, 0);
}

void tr_rt_futex_wake(_Atomic uint32_t *at, unsigned n) {
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, n > INT_MAX ? INT_MAX : (int)n, NULL, NULL, 0);
}

int64_t tr_rt_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- size --- */

static unsigned cpus(void) {
    unsigned n = atomic_load_explicit(&pool.cpus, memory_order_relaxed);
    if (!n) {
        n = tr_rt_cpus("");
        n = n < TR_POOL_MAX ? n : TR_POOL_MAX;
        assert(n > 0 && "there is a processor, or nobody would ask");
        atomic_store_explicit(&pool.cpus, n, memory_order_relaxed);
    }
    return n;
}

bool tr_rt_pool_configure(const char *name, const char *text, char *msg, size_t room) {
    uint32_t n = 0; /* what the processors say, when someone asks */
    if (text && text[strspn(text, " \t")]) {
        char *end;
        errno = 0;
        long x = strtol(text, &end, 10);
        if (end == text || end[strspn(end, " \t")] || errno || x < 1 || x > TR_POOL_MAX) {
            snprintf(msg, room, "%s='%.40s': must be a whole number from 1 to %d", name, text, TR_POOL_MAX);
            return false;
        }
        n = (uint32_t)x;
    }
    atomic_store_explicit(&pool.size, n, memory_order_relaxed);
    return true;
}

unsigned tr_rt_pool_size(void) {
    unsigned n = atomic_load_explicit(&pool.size, memory_order_relaxed);
    if (!n) {
        n = cpus();
        atomic_store_explicit(&pool.size, n, memory_order_relaxed);
    }
    return n;
}

void tr_rt_fix_grain(int64_t n, bool backwards) {
    assert(n >= 0 && "a number of rounds, or 0");
    atomic_store_explicit(&pool.grain, n, memory_order_relaxed);
    atomic_store_explicit(&pool.backwards, backwards, memory_order_relaxed);
}

bool tr_rt_backwards(void) {
    return atomic_load_explicit(&pool.backwards, memory_order_relaxed);
}

int64_t tr_rt_fixed_grain(void) {
    return atomic_load_explicit(&pool.grain, memory_order_relaxed);
}

const void *tr_rt_fixed_grain_at(void) {
    return &pool.grain;
}

/* With more threads than processors, one that waits awake takes the processor from one that works. */
int64_t tr_rt_pool_patience(void) {
    return tr_rt_pool_size() <= cpus() ? spin_ns : 0;
}

/* --- a worker --- */

/* Watches for a region for a while; false when none came. */
static bool watch(uint32_t seen) {
    int64_t patience = tr_rt_pool_patience(), end = patience ? tr_rt_now() + patience : 0;
    bool came = false;
    atomic_fetch_add_explicit(&pool.watching, 1, memory_order_seq_cst);
    do {
        for (int i = 0; i < LOOKS && !came; i++) {
            came = atomic_load_explicit(&pool.epoch, memory_order_acquire) != seen;
            tr_rt_relax();
        }
        if (!came) /* the thread that would open the next region may wait for this very processor */
            sched_yield();
    } while (!came && end && tr_rt_now() < end);
    atomic_fetch_sub_explicit(&pool.watching, 1, memory_order_seq_cst);
    return came;
}

static void *work(void *unused) {
    (void)unused;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&pool.epoch, memory_order_seq_cst);
        if (atomic_load_explicit(&pool.stopping, memory_order_acquire))
            return NULL;
        if (tr_rt_region_serve() || watch(seen))
            continue;
        atomic_fetch_add_explicit(&pool.asleep, 1, memory_order_seq_cst);
        tr_rt_futex_wait(&pool.epoch, seen, -1);
        atomic_fetch_sub_explicit(&pool.asleep, 1, memory_order_seq_cst);
    }
}

/* --- starting and ending --- */

static void forked(void) {
    atomic_store(&pool.watching, 0);
    atomic_store(&pool.asleep, 0);
    atomic_store(&pool.workers, 0);
    atomic_store(&pool.refused, 0);
    atomic_store(&pool.busy, 0);
    atomic_store(&pool.stopping, 0);
    tr_rt_region_forked();
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, forked);
}

/* Workers take no signals: those of the process are the host's, and go to its threads. Faults stay with who
 * made them, and ticks are meant for them. */
static bool start_one(unsigned k) {
    assert(k < TR_POOL_MAX - 1 && atomic_load(&pool.busy) &&
           "a place that is free, and nobody else starts one");
    sigset_t all, old;
    pthread_attr_t attr;
    char name[16];
    sigfillset(&all);
    for (size_t i = 0; i < 5; i++)
        sigdelset(&all, (const int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}[i]);
    if (tr_rt_tick_signal())
        sigdelset(&all, tr_rt_tick_signal());
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int e = pthread_create(&pool.threads[k], &attr, work, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (e) {
        fprintf(stderr, "treadle: only %u of the pool's %u threads could be started: %s\n", k + 1,
                tr_rt_pool_size(), strerror(e));
        return false;
    }
    snprintf(name, sizeof name, "treadle-%u", (k + 1) % 10000000u); /* no more fits, and there are no more */
    pthread_setname_np(pool.threads[k], name);
    return true;
}

unsigned tr_rt_pool_start(unsigned want) {
    assert(want > 0 && want < TR_POOL_MAX && "the caller is one of them");
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned n = atomic_load_explicit(&pool.workers, memory_order_acquire);
    if (n >= want || atomic_load_explicit(&pool.refused, memory_order_relaxed))
        return n < want ? n : want;
    /* Where another thread is at it, this region goes on with those that there are. */
    if (!atomic_exchange_explicit(&pool.busy, 1, memory_order_acquire)) {
        pthread_once(&once, watch_forks);
        for (n = atomic_load_explicit(&pool.workers, memory_order_relaxed); n < want; n++) {
            if (!start_one(n)) {
                atomic_store_explicit(&pool.refused, 1, memory_order_relaxed);
                break;
            }
            atomic_store_explicit(&pool.workers, n + 1, memory_order_release);
        }
        atomic_store_explicit(&pool.busy, 0, memory_order_release);
    }
    n = atomic_load_explicit(&pool.workers, memory_order_acquire);
    return n < want ? n : want;
}

void tr_rt_pool_stop(void) {
    while (atomic_exchange_explicit(&pool.busy, 1, memory_order_acquire))
        sched_yield();
    atomic_store_explicit(&pool.stopping, 1, memory_order_seq_cst);
    assert(atomic_load(&pool.workers) < TR_POOL_MAX && "no more than there is room for");
    atomic_fetch_add_explicit(&pool.epoch, 1, memory_order_seq_cst);
    tr_rt_futex_wake(&pool.epoch, INT_MAX);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += stop_ns;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    unsigned n = atomic_load_explicit(&pool.workers, memory_order_relaxed);
    for (unsigned k = 0; k < n; k++)
        if (pthread_timedjoin_np(pool.threads[k], NULL, &until) != 0)
            pthread_detach(
                pool.threads[k]); /* in a long range: it ends with it, or serves on beside the new ones */
    atomic_store_explicit(&pool.workers, 0, memory_order_release);
    atomic_store_explicit(&pool.refused, 0, memory_order_relaxed);
    atomic_store_explicit(&pool.stopping, 0, memory_order_release);
    atomic_store_explicit(&pool.busy, 0, memory_order_release);
}

void tr_rt_pool_nudge(void) {
    int number = tr_rt_tick_signal();
    if (!tr_rt_tick_is_ours() || atomic_exchange_explicit(&pool.busy, 1, memory_order_acquire))
        return; /* later, then */
    unsigned n = atomic_load_explicit(&pool.workers, memory_order_relaxed);
    for (unsigned k = 0; k < n; k++)
        pthread_kill(pool.threads[k], number);
    atomic_store_explicit(&pool.busy, 0, memory_order_release);
}

/* --- waking --- */

void tr_rt_pool_call(unsigned want) {
    atomic_fetch_add_explicit(&pool.epoch, 1, memory_order_seq_cst);
    unsigned asleep = atomic_load_explicit(&pool.asleep, memory_order_seq_cst);
    if (!asleep)
        return;
    unsigned watching = atomic_load_explicit(&pool.watching, memory_order_seq_cst);
    if (want > watching)
        tr_rt_futex_wake(&pool.epoch, want - watching < WAKES ? want - watching : WAKES);
}

void tr_rt_pool_spread(void) {
    if (atomic_load_explicit(&pool.asleep, memory_order_relaxed) &&
        !atomic_load_explicit(&pool.watching, memory_order_relaxed))
        tr_rt_futex_wake(&pool.epoch, SPREADS);
}
