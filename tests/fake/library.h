/* What CUDA's libraries that are none have in common: each function is counted, and can fail once. A library
 * has its own of all this, as its calls come on any thread one after the other. */
#ifndef TR_FAKE_LIBRARY_H
#define TR_FAKE_LIBRARY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cuda.h"

#define EXPORT __attribute__((visibility("default")))

enum { FAKE_CALLS = 256 };

static struct {
    char failing[64]; /* a function's symbol; empty: any */
    unsigned left;    /* calls of it until it fails; 0: it does not */
    int status;
    const char *called[FAKE_CALLS];
    unsigned counts[FAKE_CALLS];
} library;

/* The place of a function among those that were called, or the first one that is free. Symbols are the
 * library's own text, so their addresses are looked at first. */
static unsigned place_of(const char *symbol) {
    unsigned k = 0;
    while (k < FAKE_CALLS && library.called[k] && library.called[k] != symbol)
        k++;
    for (unsigned j = 0; k < FAKE_CALLS && !library.called[k] && j < k; j++)
        if (!strcmp(library.called[j], symbol))
            return j;
    return k;
}

/* Every function begins here: it is counted, and may have to fail. */
static int enter(const char *symbol) {
    unsigned k = place_of(symbol);
    library.called[k] = symbol;
    library.counts[k]++;
    if (!library.left || (*library.failing && strcmp(library.failing, symbol) != 0))
        return 0;
    return --library.left == 0 ? library.status : 0;
}
#define ENTER(symbol)           \
    int status = enter(symbol); \
    if (status)                 \
        return status;

/* For tests. The n-th call from now on of this function, or (NULL) of any, fails with this status, once; and
 * how often a function was called. */
#define FAKE_LIBRARY(name)                                                             \
    EXPORT void fake_##name##_fail(const char *symbol, unsigned n, int status) {       \
        snprintf(library.failing, sizeof library.failing, "%s", symbol ? symbol : ""); \
        library.left = n;                                                              \
        library.status = status;                                                       \
    }                                                                                  \
    EXPORT unsigned fake_##name##_calls(const char *symbol) {                          \
        unsigned k = place_of(symbol);                                                 \
        return k < FAKE_CALLS && library.called[k] ? library.counts[k] : 0;            \
    }

/* The work area that a call was given: whoever says how many bytes sees all of them, as does the work when
 * its time has come. */
static inline bool area_is_seen(int gpu, void *area, size_t bytes) {
    return area && fake_seen(gpu, (uint64_t)(uintptr_t)area, bytes);
}

#endif
