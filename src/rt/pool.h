/* The thread pool: one for the process, since threads and forks are the process's. Generated code reaches it
 * through tr_rt_parallel (fns.h); here is what hosts ask of it, and what its files ask of each other. */
#ifndef TR_RT_POOL_H
#define TR_RT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TR_POOL_MAX = 1024 }; /* threads */

/* Sets the pool's size from the text of the setting `name` (TREADLE_NUM_THREADS); NULL or empty: the
 * processors this process may use. False with a message when it is no number from 1 to TR_POOL_MAX. */
bool tr_rt_pool_configure(const char *name, const char *text, char *msg, size_t room);
/* Threads at most in a region, the calling one among them. */
unsigned tr_rt_pool_size(void);
/* Ends the workers, waiting for those at work for a moment only. The next region starts them again. */
void tr_rt_pool_stop(void);

/* Limit for regions that the calling thread begins, 1 to the pool's size; false outside of that. */
bool tr_rt_threads_limit(unsigned n);

/* For tests: ranges of n rounds wherever the runtime chooses how long they are, so that short loops are split
 * too. 0: its own choice. Backwards: one thread does them all, the last one first, which shows what depends
 * on their order. */
void tr_rt_fix_grain(int64_t n, bool backwards);
int64_t tr_rt_fixed_grain(void);
const void *tr_rt_fixed_grain_at(void); /* where it stands, for compiled code: TR_RT_FIXED */
bool tr_rt_backwards(void);
/* Would ranges that are handed out now all go to this thread, in order? */
bool tr_rt_is_alone(void);

/* Processors that this process may use. `root` stands before /proc and /sys, for tests. */
unsigned tr_rt_cpus(const char *root);

/* --- between pool.c (threads that sleep and wake) and parallel.c (regions) --- */

/* Sees to it that there are `want` workers; how many of them there are. */
unsigned tr_rt_pool_start(unsigned want);
/* A region is open that could use `want` workers: wakes some. Theirs is to wake more, by
 * tr_rt_pool_spread. */
void tr_rt_pool_call(unsigned want);
void tr_rt_pool_spread(void);
/* Sends every worker the signal of a tick (tick.c): who is in a region that ends leaves it. */
void tr_rt_pool_nudge(void);
/* Nanoseconds to wait awake for something that another thread is about to do. */
int64_t tr_rt_pool_patience(void);

/* Works for the regions that are open; false when there is nothing to do. */
bool tr_rt_region_serve(void);
/* In the child of a fork: forgets the regions of threads that are not here. */
void tr_rt_region_forked(void);

/* Waits while *at is `seen`, not longer than `ns` (negative: for ever); wakes n of those that wait. */
void tr_rt_futex_wait(_Atomic uint32_t *at, uint32_t seen, int64_t ns);
void tr_rt_futex_wake(_Atomic uint32_t *at, unsigned n);
int64_t tr_rt_now(void); /* nanoseconds */

/* What a thread does between two looks at a place that another one will write. */
static inline void tr_rt_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
