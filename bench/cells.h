/*
 * How Python calls the C side (creference.py), and the clocks around it.
 *
 * Every kernel takes an array of argument cells; an array argument is a
 * pointer cell, then its shape, then (for strided arrays) its strides in
 * elements.  bench_time repeats a kernel through a pointer, so that the cost
 * of the foreign call is outside what is timed: in CPU time of the calling
 * thread; bench_wall in what passes, for kernels that have threads of their own.
 */
#ifndef BENCH_CELLS_H
#define BENCH_CELLS_H

#include <stdint.h>
#include <time.h>

typedef union {
    void *p;
    int64_t i;
    double d;
    float f;
} cell;

typedef void kernel(const cell *in, cell *out);

#define EXPORT __attribute__((visibility("default")))

static inline double bench_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define BENCH_TIMER(name, id)                                                  \
    EXPORT double name(kernel *run, const cell *in, cell *out, int64_t reps) { \
        double start = bench_clock(id);                                        \
        for (int64_t r = 0; r < reps; r++) {                                   \
            run(in, out);                                                      \
        }                                                                      \
        return bench_clock(id) - start;                                        \
    }
BENCH_TIMER(bench_time, CLOCK_THREAD_CPUTIME_ID)
BENCH_TIMER(bench_wall, CLOCK_MONOTONIC)

#endif
