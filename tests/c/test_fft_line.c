/* Fourier transforms in vectors: every length against the definition, both ways, rows, columns and real
 * lines, any number of lanes; and the same bits with and without AVX2. The file itself is taken in, whose
 * functions for a processor are nobody else's. */
#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libs/fft_line.c"

enum { MOST = 80 };

static double noise(void) {
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 33) / (double)(1u << 30) - 1;
}

/* Item i of a line in either precision; real ones have no other part. */
static double complex get(const char *at, int64_t i, bool wide, bool real) {
    if (real)
        return wide ? ((const double *)(const void *)at)[i] : (double)((const float *)(const void *)at)[i];
    return wide ? ((const double complex *)(const void *)at)[i]
                : (double complex)((const float complex *)(const void *)at)[i];
}

static void set(char *at, int64_t i, bool wide, bool real, double complex v) {
    if (wide && real)
        ((double *)(void *)at)[i] = creal(v);
    else if (real)
        ((float *)(void *)at)[i] = (float)creal(v);
    else if (wide)
        ((double complex *)(void *)at)[i] = v;
    else
        ((float complex *)(void *)at)[i] = (float complex)v;
}

static double complex by_definition(const double complex *x, int64_t n, int64_t k, int sign) {
    double complex sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += x[j] * cexp(sign * 2 * M_PI * I * (double)(j * k % n) / (double)n);
    return sum;
}

typedef struct form {
    bool wide, columns, real, inverse;
    int lanes;
} form;

/* Where item i of a lane is, in bytes. */
static char *place(char *base, const form *f, int64_t step, int lane, int64_t i, bool real) {
    int64_t item = (f->wide ? 8 : 4) * (real ? 1 : 2);
    return f->columns ? base + i * step + lane * item : base + lane * step + i * item;
}

static void run(const tr_fft_line *l, const tr_fft_lines *a, void *room, bool plain) {
    if (!plain)
        tr_fft_line_run(l, a, room);
    else if (l->wide)
        lines_f64(l, a, room);
    else
        lines_f32(l, a, room);
}

static void check(const tr_fft_line *l, const form *f) {
    int64_t n = l->n * (f->real ? 2 : 1), has = f->real && f->inverse ? l->n + 1 : n;
    int64_t gives = f->real && !f->inverse ? l->n + 1 : n;
    bool in_real = f->real && !f->inverse, out_real = f->real && f->inverse;
    int64_t in_step = f->columns ? (f->lanes + 1) * (f->wide ? 16 : 8) : has * 16 + 16;
    int64_t out_step = f->columns ? (f->lanes + 1) * (f->wide ? 16 : 8) : gives * 16 + 16;
    size_t bytes = (size_t)(2 * n + 20) * 16 * 10;
    char *in = calloc(1, bytes), *out = malloc(bytes), *other = malloc(bytes);
    void *room = aligned_alloc(TR_FFT_VECTOR, tr_fft_line_room(l));
    memset(out, 0x55, bytes);
    memset(other, 0x55, bytes);
    for (int k = 0; k < f->lanes; k++)
        for (int64_t i = 0; i < has; i++)
            set(place(in, f, in_step, k, i, in_real), 0, f->wide, in_real, noise() + I * noise());
    tr_fft_lines a = {in, out, in_step, out_step, f->lanes, f->columns, f->real, f->inverse};
    run(l, &a, room, false);
    a.out = other;
    run(l, &a, room, true);
    assert(!memcmp(out, other, bytes) && "the same bits, and nothing beside the lines is written");
    for (int k = 0; k < f->lanes; k++) {
        double complex x[2 * MOST];
        double tolerance = (f->wide ? 1e-13 : 1e-4) * (double)n;
        for (int64_t i = 0; i < has; i++)
            x[i] = get(place(in, f, in_step, k, i, in_real), 0, f->wide, in_real);
        if (out_real) { /* the other half, and no imaginary parts at both ends */
            x[0] = creal(x[0]);
            x[l->n] = creal(x[l->n]);
            for (int64_t i = l->n + 1; i < n; i++)
                x[i] = conj(x[n - i]);
        }
        for (int64_t i = 0; i < gives; i++) {
            double complex want = by_definition(x, n, i, f->inverse ? 1 : -1);
            double complex got = get(place(out, f, out_step, k, i, out_real), 0, f->wide, out_real);
            assert(cabs(got - (out_real ? creal(want) : want)) < tolerance);
        }
    }
    free(in);
    free(out);
    free(other);
    free(room);
}

static bool has_small_factors(int64_t n) {
    static const int all[] = {2, 3, 5, 7, 11, 13};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        while (n % all[i] == 0)
            n /= all[i];
    return n == 1;
}

static void test_lengths(void) {
    int found = 0;
    for (int64_t n = 1; n <= MOST; n++)
        for (int wide = 0; wide < 2; wide++) {
            tr_fft_line *l = tr_fft_line_new(n, wide);
            assert((l != NULL) == has_small_factors(n));
            if (!l)
                continue;
            found++;
            for (int kind = 0; kind < 3; kind++)
                for (int inverse = 0; inverse < 2; inverse++)
                    for (int lanes = 1; lanes <= tr_fft_line_lanes(l); lanes += n < 20 || lanes > 2 ? 1 : 2)
                        check(l, &(form){wide, kind == 1, kind == 2, inverse, lanes});
            tr_fft_line_free(l);
        }
    assert(found > 100);
    assert(!tr_fft_line_new(LONGEST * 2, false) && !tr_fft_line_new(0, false));
    tr_fft_line_free(NULL);
}

/* Factors are those of a more exact sine. */
static void test_roots(void) {
    for (int64_t n = 1; n < 300; n++)
        for (int64_t k = 0; k < n; k++) {
            double re, im;
            root(k, n, &re, &im);
            long double angle = -2 * M_PIl * (long double)k / (long double)n;
            assert(fabsl((long double)re - cosl(angle)) < 2.3e-16L &&
                   fabsl((long double)im - sinl(angle)) < 2.3e-16L);
        }
}

int main(void) {
    test_roots();
    test_lengths();
    puts("ok");
    return 0;
}
