/* What time it is, for the functions of Python's module time. */
#include <assert.h>
#include <time.h>

#include "rt/fns.h"

int64_t tr_rt_clock(int64_t which) {
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                       CLOCK_THREAD_CPUTIME_ID}; /* ORDER TR_CLOCK */
    struct timespec t = {0, 0};
    assert(which >= 0 && which < (int64_t)(sizeof clocks / sizeof *clocks));
    clock_gettime(clocks[which], &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
