/* A CUDA driver that is none, for tests: what it is told beside cuda.def. The library
 * exports the driver's own names and these.
 *
 * Its device's memory cannot be touched by the host at its address: behind it lies the same memory where only
 * the fake looks (`fake_host`). Work on streams is done when somebody waits, or when it is asked for
 * (`fake_run`), so what is missing in between shows. A kernel is a C function that a test has registered by
 * name, or PTX, which is interpreted (ptx.h). */
#ifndef TR_FAKE_CUDA_H
#define TR_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* What was launched. */
typedef struct fake_launch {
    const char *kernel;
    unsigned grid[3], block[3], shared;
    size_t bytes;
    const unsigned char *params;
} fake_launch;
typedef void fake_kernel(const fake_launch *l, void *self);

/* Everything as at first, but for what is allocated; the counts are of what is alive. */
typedef void fake_reset_fn(void);
/* The n-th call from now on of a function by its symbol fails with this status, once; NULL: of any. */
typedef void fake_fail_fn(const char *symbol, unsigned n, int status);
/* How often a function was called since the last reset; NULL: all of them. */
typedef unsigned fake_calls_fn(const char *symbol);
typedef void fake_register_fn(const char *name, fake_kernel *k, void *self);
typedef void *fake_host_fn(uint64_t at);
/* For libraries that are none. The GPU that the thread uses; where that sees a live block's bytes (NULL: it
 * does not); work on a stream, done with the driver's lock held, so that it may only call fake_seen and
 * fake_break: the context has ended with this status. */
#define FAKE_EXPORT __attribute__((visibility("default")))
FAKE_EXPORT int fake_gpu(void);
FAKE_EXPORT void *fake_seen(int gpu, uint64_t at, size_t bytes);
FAKE_EXPORT int fake_work(void *stream, void (*fn)(void *arg), void *arg);
FAKE_EXPORT void fake_break(int status);
/* Blocks, streams, events, modules that were made and not given back. */
typedef unsigned fake_alive_fn(void);
/* Does what waits; `all` false: the first thing of each stream. */
typedef void fake_run_fn(int all);
/* Work is kept until then: 1; or done as it comes: 0, as after a reset; 2: launches are forgotten at
 * once, for measuring what comes before. */
typedef void fake_hold_fn(int hold);
/* How many instructions of PTX were interpreted. */
typedef uint64_t fake_steps_fn(void);

#endif
