/* What a launch costs a C program: `cuLaunchKernel` of a function that is there, again and again, on the
 * default stream. cuda_measure.py builds this, names the driver's library and the function, and takes turns
 * with Python's launches. It needs none of CUDA's headers: the one function's type is that of NVIDIA's CUDA
 * Driver API reference, 13.0. */
#include <dlfcn.h>
#include <stddef.h>

#include "cells.h"

typedef int launch_fn(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, void *stream, void **params, void **extra);

/* The driver's function, or NULL; the process has the library open, so this is the driver that it uses. */
EXPORT void *launches_find(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    return library ? dlsym(library, "cuLaunchKernel") : NULL;
}

/* Seconds on the wall for `n` launches of one thread; the driver's status if one failed, negative. The
 * parameters lie in one buffer, or, where `params` is given, each where that says. */
EXPORT double launches_time(void *found, void *function, void *bytes, size_t size, void **params, int64_t n) {
    launch_fn *launch = (launch_fn *)found;
    void *extra[] = {(void *)1, bytes, (void *)2, &size,
                     NULL}; /* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END */
    double start = bench_clock(CLOCK_MONOTONIC);
    for (int64_t k = 0; k < n; k++) {
        int status = launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, params ? NULL : extra);
        if (status)
            return -status;
    }
    return bench_clock(CLOCK_MONOTONIC) - start;
}
