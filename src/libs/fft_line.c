/* Fourier transforms of many short lines at once, in vectors.
 *
 * By Stockham's algorithm (decimation in frequency, radices 4, 2, 3, 5 and small primes): a step reads one
 * buffer and writes the other, in order, so nothing is permuted. Real and imaginary parts lie in vectors of
 * their own, a lane for each line. The inverse is the forward one with both parts exchanged. A real line of
 * 2 n items is a complex one of n, whose transform is taken apart with exp(-i pi k / n). The functions for
 * each precision are in fft_step.h, and each is there for AVX2, too.
 * Cost: about 5 n log2(n) operations of a vector, and once in a plan as many sines as a line has items. */
#include "libs/fft_line.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 13, LARGEST = 13 }; /* items, so that two buffers fit a cache; radix */

/* exp(-2 pi i k / n), each part within two units of the last place of 1. */
static void root(int64_t k, int64_t n, double *re, double *im) {
    int64_t eighths = 8 * (k % n), octant = eighths / n, rest = eighths - octant * n;
    if (octant & 1)
        rest = n - rest;
    double angle = M_PI / 4 * ((double)rest / (double)n), c = cos(angle), s = sin(angle);
    bool swap = (octant + 1) >> 1 & 1;
    double x = swap ? s : c, y = swap ? c : s;
    *re = octant >= 2 && octant <= 5 ? -x : x;
    *im = octant >= 4 ? y : -y;
}

static void set_factor(tr_fft_line *l, int64_t i, int64_t k, int64_t n) {
    double re, im;
    root(k, n, &re, &im);
    if (l->wide) {
        ((double *)l->factors)[2 * i] = re;
        ((double *)l->factors)[2 * i + 1] = im;
    } else {
        ((float *)l->factors)[2 * i] = (float)re;
        ((float *)l->factors)[2 * i + 1] = (float)im;
    }
}

/* Its radices; false: it has others than there are. */
static bool find_steps(tr_fft_line *l) {
    static const int all[] = {4, 2, 3, 5, 7, 11, LARGEST};
    int64_t n = l->n;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (; n % all[i] == 0 && l->nsteps < TR_FFT_STEPS; n /= all[i])
            l->radix[l->nsteps++] = all[i];
    return n == 1;
}

/* A step with radix r of what is n long has the factors exp(-2 pi i p k / n), k from 1 to before r, for each
 * p; then, for primes that have no code of their own, exp(-2 pi i k / r). */
static int64_t set_steps(tr_fft_line *l, bool count) {
    int64_t n = l->n, at = 0;
    for (int i = 0; i < l->nsteps; n /= l->radix[i++]) {
        int r = l->radix[i];
        l->at[i] = at;
        for (int64_t p = 0; p < n / r; p++)
            for (int k = 1; k < r; k++, at++)
                if (!count)
                    set_factor(l, at, p * k, n);
        for (int k = 0; k < r && r > 5; k++, at++)
            if (!count)
                set_factor(l, at, k, r);
    }
    l->turn = at;
    for (int64_t k = 0; k <= l->n; k++, at++)
        if (!count)
            set_factor(l, at, k, 2 * l->n);
    return at;
}

tr_fft_line *tr_fft_line_new(int64_t n, bool wide) {
    tr_fft_line *l = n >= 1 && n <= LONGEST ? calloc(1, sizeof *l) : NULL;
    if (!l)
        return NULL;
    l->n = n;
    l->wide = wide;
    if (find_steps(l) && (l->factors = malloc((size_t)set_steps(l, true) * (wide ? 16 : 8)))) {
        set_steps(l, false);
        return l;
    }
    free(l);
    return NULL;
}

void tr_fft_line_free(tr_fft_line *l) {
    if (l)
        free(l->factors);
    free(l);
}

#define INLINE __attribute__((always_inline)) static inline
#define AVX2   __attribute__((target("avx2")))

#define T       float
#define NAME(x) x##_f32
#define EVEN    0, 2, 4, 6, 8, 10, 12, 14
#define ODD     1, 3, 5, 7, 9, 11, 13, 15
#define LOW     0, 8, 1, 9, 2, 10, 3, 11
#define HIGH    4, 12, 5, 13, 6, 14, 7, 15
#define TURNS(r)                                                                       \
    for (int a = 0; a < 4; a++)                                                        \
        EXCHANGE(r, a, 4, Q(0, 1, 2, 3, 8, 9, 10, 11), Q(4, 5, 6, 7, 12, 13, 14, 15)); \
    for (int a = 0; a < 8; a += a & 1 ? 3 : 1)                                         \
        EXCHANGE(r, a, 2, Q(0, 1, 8, 9, 4, 5, 12, 13), Q(2, 3, 10, 11, 6, 7, 14, 15)); \
    for (int a = 0; a < 8; a += 2)                                                     \
    EXCHANGE(r, a, 1, Q(0, 8, 2, 10, 4, 12, 6, 14), Q(1, 9, 3, 11, 5, 13, 7, 15))
#define Q(...) __VA_ARGS__
#include "libs/fft_step.h"
#undef T
#undef NAME
#undef EVEN
#undef ODD
#undef LOW
#undef HIGH
#undef TURNS

#define T       double
#define NAME(x) x##_f64
#define EVEN    0, 2, 4, 6
#define ODD     1, 3, 5, 7
#define LOW     0, 4, 1, 5
#define HIGH    2, 6, 3, 7
#define TURNS(r)                                         \
    for (int a = 0; a < 2; a++)                          \
        EXCHANGE(r, a, 2, Q(0, 1, 4, 5), Q(2, 3, 6, 7)); \
    for (int a = 0; a < 4; a += 2)                       \
    EXCHANGE(r, a, 1, Q(0, 4, 2, 6), Q(1, 5, 3, 7))
#include "libs/fft_step.h"

void tr_fft_line_run(const tr_fft_line *l, const tr_fft_lines *a, void *room) {
    assert(a->lanes >= 1 && a->lanes <= tr_fft_line_lanes(l) && !(a->real && a->columns) &&
           "lines have lanes");
    assert((uintptr_t)room % TR_FFT_VECTOR == 0 && "vectors are aligned");
    bool wide = l->wide;
    if (__builtin_cpu_supports("avx2"))
        wide ? lines_avx2_f64(l, a, room) : lines_avx2_f32(l, a, room);
    else
        wide ? lines_f64(l, a, room) : lines_f32(l, a, room);
}
