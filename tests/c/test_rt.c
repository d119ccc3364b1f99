/* The runtime's functions against values taken from CPython and NumPy. */
#include <assert.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "rt/fns.h"
#include "rt/rt.h"
#include "rt/small.h"

static char printed[10000];
static size_t nprinted;
static int writes;

static void capture(void *self, const char *text, size_t n) {
    (void)self;
    assert(nprinted + n < sizeof printed);
    memcpy(printed + nprinted, text, n);
    nprinted += n;
    printed[nprinted] = 0;
    writes++;
}

static const tr_host host = {.write = capture};

static int same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static void test_print(void) {
    tr_frame f;
    tr_rt_frame_init(&f, &host);
    tr_rt_print_i64(&f, INT64_MIN);
    tr_rt_print_str(&f, " ");
    tr_rt_print_u64(&f, UINT64_MAX);
    tr_rt_print_str(&f, " ");
    tr_rt_print_bool(&f, 1);
    tr_rt_print_bool(&f, 0);
    tr_rt_print_str(&f, " ");
    tr_rt_print_f64(&f, 2.5);
    tr_rt_print_str(&f, " ");
    tr_rt_print_f32(&f, 0.2f);
    tr_rt_print_str(&f, " ");
    tr_rt_print_c128(&f, 0.0, 1.0);
    tr_rt_print_c128(&f, -0.0, -1.0);
    tr_rt_print_c128(&f, 1.0, (double)NAN);
    tr_rt_print_str(&f, "\n");
    tr_rt_print_end(&f);
    assert(
        !strcmp(printed, "-9223372036854775808 18446744073709551615 TrueFalse 2.5 0.2 1j(-0-1j)(1+nanj)\n"));
    assert(writes == 1);
    for (int i = 0; i < 300; i++)
        tr_rt_print_i64(&f, i % 10);
    tr_rt_print_end(&f);
    assert(nprinted == strlen(printed) && writes == 2);
    tr_rt_frame_fini(&f);
}

/* Arrays stand in the text for the host to write; text around them stays. */
static void test_print_array(void) {
    tr_frame f;
    double x[6] = {0, 1, 2, 3, 4, 5.5}, last;
    tr_rt_piece p;
    tr_rt_frame_init(&f, &host);
    nprinted = 0;
    tr_rt_print_str(&f, "a ");
    tr_rt_print_axis(&f, 2);
    tr_rt_print_axis(&f, 3);
    tr_rt_print_array(&f, NULL, x, 6, sizeof *x, "rfloat64");
    tr_rt_print_array(&f, NULL, x, 0, sizeof *x, "sbool");
    tr_rt_print_str(&f, " z");
    tr_rt_print_end(&f);
    const char *at = printed, *end = printed + nprinted;
    assert(tr_rt_piece_next(&at, end, &p) && !p.how && p.n == 2 && !memcmp(p.text, "a ", 2));
    assert(tr_rt_piece_next(&at, end, &p) && p.how == 'r' && p.ndim == 2 && !strcmp(p.dtype, "float64"));
    assert(tr_rt_piece_axis(&p, 0) == 2 && tr_rt_piece_axis(&p, 1) == 3 && p.n == sizeof x);
    memcpy(&last, p.text + 5 * sizeof last, sizeof last);
    assert(last == 5.5);
    assert(tr_rt_piece_next(&at, end, &p) && p.how == 's' && p.ndim == 0 && p.n == 0);
    assert(tr_rt_piece_next(&at, end, &p) && !p.how && p.n == 2 && !memcmp(p.text, " z", 2));
    assert(!tr_rt_piece_next(&at, end, &p));
    tr_rt_frame_fini(&f);
}

static void test_specs(void) {
    tr_sb b;
    tr_sb_init(&b);
    tr_rt_spec_float("#.2g", 99.9999, &b);
    tr_sb_putc(&b, ' ');
    tr_rt_spec_float("012,.2f", -1234.5, &b);
    tr_sb_putc(&b, ' ');
    tr_rt_spec_int("#_x", INT64_MIN, &b);
    tr_sb_putc(&b, ' ');
    tr_rt_spec_uint("*^24", UINT64_MAX, &b);
    assert(!strcmp(b.d, "1.0e+02 -0,001,234.50 -0x8000_0000_0000_0000 **18446744073709551615**"));
    tr_sb_reset(&b);
    tr_rt_spec_complex("é^+20,.1f", 12345.25, -0.5, &b);
    tr_rt_spec_complex("", -0.0, NAN, &b);
    assert(!strcmp(b.d, "ééé+12,345.2-0.5jééé(-0+nanj)"));
    tr_sb_fini(&b);
    /* the same in a line of print(), which grows */
    tr_frame f;
    tr_rt_frame_init(&f, &host);
    nprinted = 0;
    tr_rt_print_spec_f64(&f, 2.5, ".1f");
    tr_rt_print_spec_i64(&f, -7, "5");
    tr_rt_print_spec_u64(&f, 255, "#x");
    tr_rt_print_spec_f64(&f, 1.5, ">300");
    tr_rt_print_spec_c128(&f, 0, 1, "=<9000");
    tr_rt_print_str(&f, "|");
    tr_rt_print_end(&f);
    assert(nprinted == 3 + 5 + 4 + 300 + 9000 + 1 && !memcmp(printed, "2.5   -70xff    ", 16));
    assert(!memcmp(printed + 309, "1.51j==", 7) && !strcmp(printed + nprinted - 2, "=|"));
    tr_rt_frame_fini(&f);
}

static void test_mem(void) {
    tr_frame f;
    tr_rt_frame_init(&f, &host);
    tr_mem *m[5];
    for (int i = 0; i < 5; i++) {
        m[i] = tr_rt_alloc(&f, (uint64_t)i * 100);
        assert(m[i] && m[i]->refs == 1 && m[i]->size == (uint64_t)i * 100);
        assert((uintptr_t)tr_mem_data(m[i]) % TR_MEM_ALIGN == 0);
        memset(tr_mem_data(m[i]), 0xab, m[i]->size);
    }
    tr_rt_free(&f, m[2]);
    tr_rt_mem_detach(&f, m[4]);
    assert(!tr_rt_alloc(&f, UINT64_MAX) && !tr_rt_alloc(&f, UINT64_C(1) << 50));
    tr_rt_frame_fini(&f);
    assert(f.nalloc == 5 && f.nfree == 4);
    m[4]->refs++;
    tr_rt_mem_unref(m[4]);
    tr_rt_mem_unref(m[4]);
}

static void test_release(void) {
    tr_frame f;
    tr_rt_frame_init(&f, &host);
    tr_mem *m = tr_rt_alloc(&f, 8);
    assert(m && "so few bytes there are");
    tr_rt_release(&f, NULL);
    tr_rt_release(&f, (char *)m + 1); /* Python's, which nobody counts here */
    m->refs = 2;
    tr_rt_release(&f, m);
    assert(m->refs == 1 && f.nfree == 0 && "somebody has it");
    tr_rt_release(&f, m);
    assert(f.nfree == 1 && f.mems.next == &f.mems && "that was the last");
    tr_rt_frame_fini(&f);
}

static void test_numbers(void) {
    assert(tr_rt_ipow(3, 5) == 243 && tr_rt_ipow(2, 63) == INT64_MIN && tr_rt_ipow(2, 64) == 0);
    assert(tr_rt_ipow(7, -1) == 0 && tr_rt_ipow(-1, -3) == -1 && tr_rt_ipow(1, -9) == 1 &&
           tr_rt_ipow(0, 0) == 1);
    static const struct {
        double x;
        int64_t n;
        double want;
    } rounds[] = {
        {2.675, 2, 2.67},  {0.5, 0, 0.0},      {1.5, 0, 2.0},       {2.5, 0, 2.0},
        {-0.4, 0, -0.0},   {1234.5, -2, 1200}, {1250, -2, 1200.0},  {1250.0001, -2, 1300},
        {1350, -2, 1400.}, {5, -1, 0},         {15, -1, 20},        {5.5, -1, 10},
        {-99, -2, -100},   {49, -2, 0},        {1e300, 400, 1e300}, {1e300, -400, 0},
        {999.5, -3, 1000}, {4, -1, 0},         {1e22, -22, 1e22},   {1.005, 2, 1.0},
    };
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
        assert(same(tr_rt_round(rounds[i].x, rounds[i].n), rounds[i].want));
    assert(tr_rt_gcd(12, -18) == 6 && tr_rt_gcd(0, 0) == 0 && tr_rt_gcd(INT64_MIN, 0) == INT64_MIN);
    assert(tr_rt_clock(0) > 1700000000000000000 && tr_rt_clock(1) <= tr_rt_clock(1) && tr_rt_clock(2) > 0 &&
           tr_rt_clock(3) > 0);
    assert(tr_rt_isqrt(INT64_MAX) == 3037000499 && tr_rt_isqrt(24) == 4 && tr_rt_isqrt(25) == 5);
    assert(fabs(tr_rt_lgamma(10.0) - 12.801827480081469) < 1e-14 && isinf(tr_rt_lgammaf(0.0f)));
}

static void expect_c(const double got[2], double re, double im) {
    if (!same(got[0], re) || !same(got[1], im)) {
        fprintf(stderr, "complex: got %.17g %.17g, want %.17g %.17g\n", got[0], got[1], re, im);
        assert(0);
    }
}

static void test_complex(void) {
    double o[2];
    tr_rt_cpow(0, 1, 2, 0, o);
    expect_c(o, -1, 0);
    tr_rt_cpow(0, 0, 0, 0, o);
    expect_c(o, 1, 0);
    tr_rt_cpow(2, 0, -1, 0, o);
    expect_c(o, 0.5, 0.0);
}

/* A matrix in rows times one in columns, with a gap after each; small and large. No BLAS is loaded here. */
static void test_matmul(void) {
    enum { N = 20 };
    static double a[N * N], b[N * (N + 3)], c[N * N], one[4] = {1, 2, 3, 4}, two[4];
    for (int i = 0; i < N * N; i++)
        a[i] = i % 7;
    for (int i = 0; i < N * (N + 3); i++)
        b[i] = i % 5;
    tr_rt_matmul(TR_MAT_F64, NULL, c, N, N, N, 1, NULL, a, N, N, N, 1, NULL, b, N, N, 1, N + 3);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double want = 0;
            for (int k = 0; k < N; k++)
                want += a[i * N + k] * b[k + j * (N + 3)];
            assert(c[i * N + j] == want);
        }
    tr_rt_matmul(TR_MAT_F64, NULL, two, 2, 2, 2, 1, NULL, one, 2, 2, 2, 1, NULL, one, 2, 2, 2, 1);
    assert(two[0] == 7 && two[1] == 10 && two[2] == 15 && two[3] == 22);
    tr_rt_matmul(TR_MAT_F64, NULL, two, 2, 2, 2, 1, NULL, one, 2, 0, 0, 1, NULL, one, 0, 2, 2, 1);
    assert(two[0] == 0 && two[3] == 0);
}

/* Five pairs of one shape, all numbers of columns; behind each row of the result is a gap, which nobody
 * touches. */
static void test_matmuls(void) {
    enum { Q = 5, M = 3, K = 4, MOST = 20, LD = MOST + 3 };
    static float a[Q * M * K], b[Q * K * MOST], c[Q * M * LD];
    for (int i = 0; i < Q * M * K; i++)
        a[i] = (float)(i % 7);
    for (int i = 0; i < Q * K * MOST; i++)
        b[i] = (float)(i % 5);
    for (int n = 1; n <= MOST; n++) {
        memset(c, 0x7f, sizeof c);
        tr_rt_matmuls(TR_MAT_F32, NULL, c, Q, M, n, M * LD, LD, 1, NULL, a, Q, M, K, M * K, K, 1, NULL, b, Q,
                      K, n, K * n, n, 1);
        for (int q = 0; q < Q; q++)
            for (int i = 0; i < M; i++) {
                const float *row = c + (q * M + i) * LD;
                for (int j = 0; j < n; j++) {
                    float want = 0;
                    for (int p = 0; p < K; p++)
                        want += a[(q * M + i) * K + p] * b[(q * K + p) * n + j];
                    assert(row[j] == want);
                }
                uint32_t beyond;
                memcpy(&beyond, row + n, sizeof beyond);
                assert(beyond == 0x7f7f7f7f);
            }
    }
}

/* Doubles the sum of a core axis, with what NumPy passes; raises the invalid flag for a negative one. It
 * changes its arguments, as loops do. */
static void twice_the_sum(char **args, const int64_t *dims, const int64_t *steps, void *data) {
    assert(*(int *)data == 7 && steps[2] == 16);
    for (int64_t k = 0; k < dims[0]; k++, args[0] += steps[0], args[1] += steps[1]) {
        double sum = 0;
        for (int64_t i = 0; i < dims[1]; i++)
            sum += *(double *)(void *)(args[0] + i * steps[2]);
        if (sum < 0)
            feraiseexcept(FE_INVALID);
        *(float *)(void *)args[1] = (float)(2 * sum);
    }
}

static int readied, dropped;
static int64_t left_behind;
static void make_ready(void) {
    readied++;
}
static int64_t what_is_left(const tr_cloops *t, tr_frame *f) {
    assert(t->host == &readied && f);
    return left_behind;
}

static void drop_kept(tr_kept *k) {
    dropped++;
    free(k);
}

static uint64_t keep_one(tr_frame *f, uint64_t number) {
    tr_kept *k = malloc(sizeof *k);
    assert(k);
    *k = (tr_kept){.number = number, .drop = drop_kept};
    return tr_rt_keep(f, k);
}

/* The latest are there, whatever came before; they go where the exception goes, and end with the frame. */
static void test_kept(void) {
    tr_frame f, g;
    tr_rt_frame_init(&f, NULL);
    tr_rt_frame_init(&g, NULL);
    assert(!tr_rt_kept(&f, 1));
    for (uint64_t k = 1; k <= 5 * TR_FRAME_KEPT; k++) {
        assert(keep_one(&f, k) == k);
        for (uint64_t i = k > TR_FRAME_KEPT ? k - TR_FRAME_KEPT + 1 : 1; i <= k; i++)
            assert(tr_rt_kept(&f, i)->number == i);
    }
    assert(!tr_rt_kept(&f, 1) && dropped >= 3 * TR_FRAME_KEPT);
    keep_one(&g, 100000);
    tr_rt_copy_exception(&g, &f);
    assert(tr_rt_kept(&g, 5 * TR_FRAME_KEPT) && tr_rt_kept(&g, 100000) && !tr_rt_kept(&f, 5 * TR_FRAME_KEPT));
    tr_rt_frame_fini(&f);
    tr_rt_frame_fini(&g);
    assert(dropped == 5 * TR_FRAME_KEPT + 1);
}

/* A loop with a core axis, over items that lie apart; nobody sees its flag, and one that was there stays. */
static void test_loop(void) {
    static int mark = 7;
    union {
        tr_cloops t;
        char room[sizeof(tr_cloops) + sizeof(tr_cloop)];
    } u;
    tr_cloop l = {twice_the_sum, &mark, NULL, {sizeof(double), sizeof(float)}};
    memset(&u, 0, sizeof u);
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    u.t.ready = make_ready;
    u.t.raised = what_is_left;
    u.t.host = &readied;
    u.t.nop = 2;
    u.t.nsizes = 1;
    u.t.ncore[0] = 1;
    memcpy(u.room + offsetof(tr_cloops, loop), &l, sizeof l);
    double a[12] = {1, 0, 2, 0, 3, 0, -4, 0, -5, 0, 6, 0};
    float out[4] = {0};
    for (int before = 0; before < 2; before++) {
        feclearexcept(FE_ALL_EXCEPT);
        if (before)
            feraiseexcept(FE_INVALID);
        assert(tr_rt_loop2(&f, NULL, &u, 0, 0, NULL, a, 2, 3, 1, 6, 2, 0, NULL, out, 2, 1, 1, 2, 0, 0) == 1);
        assert(out[0] == 12 && out[2] == -6 && out[1] == 0);
        assert((fetestexcept(FE_INVALID) != 0) == before);
        assert(tr_rt_loop2(&f, NULL, &u, 0, 0, NULL, a, 1, 3, 1, 6, 2, 0, NULL, out, 1, 1, 1, 2, 0, 0) == 0);
        assert((fetestexcept(FE_INVALID) != 0) == before);
    }
    out[0] = 5;
    assert(tr_rt_loop2(&f, NULL, &u, 0, 0, NULL, a, 0, 3, 1, 6, 2, 0, NULL, out, 0, 1, 1, 2, 0, 0) == 0);
    assert(out[0] == 5 && readied == 1);
    left_behind = 7;
    assert(tr_rt_loop2(&f, NULL, &u, 0, 0, NULL, a, 2, 3, 1, 6, 2, 0, NULL, out, 2, 1, 1, 2, 0, 0) == 15);
    assert(tr_rt_loop2(&f, NULL, &u, 0, 0, NULL, a, 1, 3, 1, 6, 2, 0, NULL, out, 1, 1, 1, 2, 0, 0) == 14);
    tr_rt_frame_fini(&f);
}

/* Matrices of up to eight rows, in rows and in columns: the inverse times the matrix,
 * solutions, and the sign of an exchange. */
static void test_small(void) {
    enum { N = TR_SMALL_MOST };
    tr_small_fn *inv = tr_rt_small("inv"), *solve = tr_rt_small("solve"), *det = tr_rt_small("det");
    double a[N * N], b[N * N], x[2 * N], y[2 * N], d;
    assert(inv && solve && det && tr_rt_small("solve1") && !tr_rt_small("svd"));
    for (int64_t n = 1; n <= N; n++) {
        int64_t dims[] = {1, n, 2}, of_inv[] = {0, 0, 8 * n, 8, 8, 8 * n},
                of_solve[] = {0, 0, 0, 8, 8 * n, 16, 8, 16, 8};
        for (int64_t i = 0; i < n * n; i++)
            a[i] = (double)(i * 7 % 11) + (i / n == n - 1 - i % n ? 30 : 0); /* pivots lie across */
        char *two[] = {(char *)a, (char *)b}, *three[] = {(char *)a, (char *)y, (char *)x},
             *one[] = {(char *)a, (char *)&d};
        assert(inv(two, dims, of_inv) == TR_SMALL_DONE); /* b's rows are columns */
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double s = 0;
                for (int64_t k = 0; k < n; k++)
                    s += a[i * n + k] * b[k + j * n];
                assert(fabs(s - (i == j)) < 1e-12);
            }
        for (int64_t i = 0; i < 2 * n; i++)
            y[i] = (double)i;
        assert(solve(three, dims, of_solve) == TR_SMALL_DONE); /* a's rows are columns */
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < 2; j++) {
                double s = 0;
                for (int64_t k = 0; k < n; k++)
                    s += a[i + k * n] * x[2 * k + j];
                assert(fabs(s - y[2 * i + j]) < 1e-12);
            }
        for (int64_t i = 0; i < n * n; i++)
            a[i] = i / n == n - 1 - i % n ? 2 : 0;
        assert(det(one, dims, of_inv) == TR_SMALL_DONE);
        assert(d == ldexp(n / 2 % 2 ? -1 : 1, (int)n));
        a[0] = n > 1 ? 0 : (double)INFINITY;
        a[n * n - 1] = (double)NAN;
        assert(inv(two, dims, of_inv) == TR_SMALL_NOT);
        memset(a, 0, sizeof a);
        assert(inv(two, dims, of_inv) == TR_SMALL_FAILED && isnan(b[0]));
        assert(solve(three, dims, of_solve) == TR_SMALL_FAILED && isnan(x[0]));
        assert(det(one, dims, of_inv) == TR_SMALL_DONE && d == 0);
        for (int64_t i = 0; i < n; i++)
            a[i * n + i] = 1e160;
        assert(det(one, dims, of_inv) == (n > 1 ? TR_SMALL_NOT : TR_SMALL_DONE));
    }
}

/* Every size of items, any step, no alignment; what lies between stays as it is. */
static void test_copy(void) {
    static uint8_t from[2000], to[2000], back[2000];
    for (int i = 0; i < 2000; i++)
        from[i] = (uint8_t)(i * 7 + i / 256);
    for (int64_t size = 1; size <= 16; size *= 2)
        for (int64_t step = -3 * size; step <= 3 * size; step += size / 2 ? size / 2 : 1)
            for (int64_t n = -1; n <= 37; n++) {
                const uint8_t *first = from + 1 + (step < 0 ? -step * 40 : 0);
                uint8_t *at = back + 1 + (step < 0 ? -step * 40 : 0);
                memset(to, 0xaa, sizeof to);
                memset(back, 0xaa, sizeof back);
                tr_rt_gather(to + 3, first, step, n, size);
                tr_rt_scatter(at, step, from + 1, n, size);
                for (int64_t i = 0; i < n; i++) {
                    assert(!memcmp(to + 3 + i * size, first + i * step, (size_t)size));
                    if (step >= size || -step >= size)
                        assert(!memcmp(at + i * step, from + 1 + i * size, (size_t)size));
                }
                assert(to[2] == 0xaa && to[3 + (n > 0 ? n : 0) * size] == 0xaa);
            }
}

/* The end of this thread's stack lies below, with a reserve; on a stack of a few pages
 * there may be no room at all. */
static void *look_at_stack(void *out) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    assert(f.stack == 0);
    tr_rt_stack(&f);
    assert(f.stack == tr_rt_stack_limit());
    *(int64_t *)out = (int64_t)((uintptr_t)__builtin_frame_address(0) - f.stack);
    tr_rt_frame_fini(&f);
    return NULL;
}

static void test_stack(void) {
    int64_t room[2];
    const size_t sizes[2] = {64 << 10, 4 << 20};
    for (int i = 0; i < 2; i++) {
        pthread_t t;
        pthread_attr_t a;
        assert(pthread_attr_init(&a) == 0 && pthread_attr_setstacksize(&a, sizes[i]) == 0);
        assert(pthread_create(&t, &a, look_at_stack, &room[i]) == 0 && pthread_join(t, NULL) == 0);
        pthread_attr_destroy(&a);
        assert(room[i] < (int64_t)sizes[i] - (16 << 10));
    }
    assert(room[1] > 3 << 20);
    look_at_stack(&room[0]);
    assert(room[0] > 0);
}

/* Values of NumPy's RandomState and CPython's Random. */
static void test_random(void) {
    double x[3];
    uint8_t order[4] = {0, 1, 2, 3};
    int64_t k[2] = {3, 4}, n[3];
    const double p[3] = {0.2, 0.3, 0.5};
    tr_rt_np_seed(1);
    assert(*(uint32_t *)tr_rt_np_words() == TR_MT_WORDS);
    assert(tr_rt_np_random() == 0.417022004702574);
    assert(*(uint32_t *)tr_rt_np_words() == 2);
    assert(tr_rt_np_gauss() == -0.8021728386486427);
    assert(tr_rt_np_up_to(99) == 16);
    assert(tr_rt_np_piece(8, 99) == 1);
    assert(tr_rt_np_float(TR_RANDOM_GAMMA, 0.5, 2.0, 0.0) == 0.06938573268490929);
    assert(tr_rt_np_count(TR_RANDOM_POISSON, 0, 40.0, 0.0) == 38);
    assert(tr_rt_np_hypergeometric(30, 20, 15) == 7);
    tr_rt_np_seed(1);
    tr_rt_np_fill(TR_RANDOM_RANDOM, NULL, x, 3, 0.0, 0.0, 0.0);
    assert(x[0] == 0.417022004702574 && x[2] == 0.00011437481734488664);
    assert(tr_rt_np_seed_row(0, NULL, k, 2) && tr_rt_np_random() == 0.3076372555964514);
    k[0] = -1;
    assert(!tr_rt_np_seed_row(0, NULL, k, 2));
    assert(tr_rt_np_multinomial(10, NULL, n, 3, NULL, p, 3) == TR_RANDOM_DONE && n[0] + n[1] + n[2] == 10);
    assert(tr_rt_np_choose(0, NULL, n, 3, NULL, p, 3) == TR_RANDOM_DONE && n[0] + n[1] + n[2] == 3);
    assert(tr_rt_np_choose(1, NULL, n, 3, NULL, p, 2) == TR_RANDOM_SUM);
    assert(tr_rt_np_dirichlet(NULL, x, 3, NULL, p, 3) &&
           !tr_rt_np_dirichlet(NULL, x, 3, NULL, (const double[]){1, 1, 0}, 3));
    tr_rt_np_fill_ints(16, NULL, order, 2, 0, 0);
    assert(!order[0] && !order[1] && !order[2] && !order[3]);
    tr_rt_np_fill_counts(TR_RANDOM_BINOMIAL, NULL, n, 3, 7, 1.0, 0.0);
    assert(n[0] == 7 && n[2] == 7);
    tr_rt_np_fill_hypergeometric(NULL, n, 3, 5, 0, 4);
    assert(n[0] == 4 && n[2] == 4);
    tr_rt_np_seed_any();
    x[0] = tr_rt_np_random();
    tr_rt_np_seed_any();
    assert(x[0] != tr_rt_np_random());
    tr_rt_py_seed(1);
    assert(tr_rt_py_random() == 0.13436424411240122);
    assert(*(uint32_t *)tr_rt_py_words() == 2);
    assert(tr_rt_py_below(10) == 1);
    assert(tr_rt_py_bits(33) == 1095513148);
    assert(tr_rt_py_float(TR_RANDOM_PY_GAUSS, 0.0, 1.0, 0.0) == -1.0921732151041414);
    for (int i = 0; i < 4; i++)
        order[i] = (uint8_t)i;
    tr_rt_shuffle(1, 1, NULL, (char *)order, 4, 1);
    assert(order[0] + order[1] + order[2] + order[3] == 6);
    tr_rt_py_seed_any();
    x[0] = tr_rt_py_random();
    tr_rt_py_seed_any();
    assert(x[0] != tr_rt_py_random());
}

/* A thread has its own, which nobody seeded. */
static void *draw_one(void *to) {
    *(double *)to = tr_rt_np_random();
    return NULL;
}

static void test_random_threads(void) {
    double x[2];
    pthread_t t;
    for (int i = 0; i < 2; i++) {
        tr_rt_np_seed(1);
        assert(pthread_create(&t, NULL, draw_one, &x[i]) == 0 && pthread_join(t, NULL) == 0);
        assert(tr_rt_np_random() == 0.417022004702574);
    }
    assert(x[0] != x[1]);
}

static void test_count(void) {
    enum { ROOM = 16, N = 43 };
    int64_t x[N], table[ROOM + 1], want[ROOM];
    for (int64_t n = 0; n <= N; n++)
        for (int64_t odd = 0; odd <= n; odd++) /* n: there is none */
            for (int64_t k = 0; k < 3; k++) {
                memset(want, 0, sizeof want);
                for (int64_t i = 0; i < n; i++) {
                    x[i] = i == odd ? (int64_t[]){ROOM, -1, INT64_MIN}[k] : i * i % 11;
                    if (i < odd)
                        want[x[i]]++;
                }
                assert(tr_rt_count_few(NULL, x, n, NULL, table, ROOM + 1) == odd);
                assert(memcmp(table, want, sizeof want) == 0);
                int64_t used = ROOM;
                while (used && !want[used - 1])
                    used--;
                assert(table[ROOM] == used);
            }
    table[0] = 9;
    assert(tr_rt_count_few(NULL, x, N, NULL, table, 1) == 0 && table[0] == 0);
}

static void test_count_bytes(void) {
    enum { ROOM = 300, N = 5000 };
    static uint8_t x[N];
    int64_t table[ROOM], want[ROOM];
    for (int64_t n = 0; n <= N; n += n < 40 || (n > 1000 && n < 1100) ? 1 : 97)
        for (unsigned most = 1; most <= 256; most += 51) {
            memset(want, 0, sizeof want);
            int64_t used = 0;
            for (int64_t i = 0; i < n; i++) {
                x[i] = (uint8_t)(i * i % most);
                want[x[i]]++;
                used = x[i] >= used ? x[i] + 1 : used;
            }
            table[ROOM - 1] = 9;
            assert(tr_rt_count_bytes(NULL, x, n, NULL, table, ROOM) == used);
            assert(memcmp(table, want, sizeof want) == 0);
        }
}

/* None waits where a sanitizer is to see what is freed. */
#ifdef __SANITIZE_ADDRESS__
enum { WAITS = 0 };
#else
enum { WAITS = 1 };
#endif

/* A block of the same size as the small one that was freed last is that one; frames hand none on. */
static void test_spare(void) {
    tr_frame f, g;
    tr_rt_frame_init(&f, NULL);
    tr_rt_frame_init(&g, NULL);
    void *a = tr_rt_alloc(&f, 80), *b = tr_rt_alloc(&f, 80);
    assert(a && b && a != b);
    tr_rt_free(&f, a);
    tr_rt_free(&f, b); /* one waits */
    void *c = tr_rt_alloc(&f, 81), *d = tr_rt_alloc(&f, 80), *e = tr_rt_alloc(&f, 80);
    assert(c && d && e && f.nalloc == 5 && f.nfree == 2);
    assert(!WAITS || (c != a && d == a && e != a));
    tr_rt_free(&f, d);
    assert(!WAITS || f.spare == d);
    void *large = tr_rt_alloc(&f, 1 << 20);
    tr_rt_free(&f, large);
    assert(!WAITS || f.spare == d);
    tr_rt_frame_merge(&g, &f);
    assert(!f.spare && !g.spare && g.nalloc == 6 && g.nfree == 4);
    tr_rt_free(&g, c);
    assert(!WAITS || g.spare == c);
    tr_rt_frame_fini(&f);
    tr_rt_frame_fini(&g);
    assert(!g.spare);
}

/* Items come after the others, and stay where there is room. */
static void test_list(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    const tr_shape *words = tr_rt_shape(8, 0, NULL), *pairs = tr_rt_shape_named("tr_shape_16");
    assert(words && words == tr_rt_shape_named("tr_shape_8") && pairs->size == 16 && !pairs->n);
    tr_mem *m = tr_rt_list_new(&f, 3, words), *none = tr_rt_list_new(&f, 0, pairs);
    tr_list *l = tr_mem_data(m);
    assert(m->refs == 1 && l->len == 3 && l->cap >= 3 && tr_mem_data(none) && f.nalloc == 2);
    assert(((tr_list *)tr_mem_data(none))->len == 0 && !((tr_list *)tr_mem_data(none))->items);
    for (int64_t i = 0; i < 3; i++)
        ((int64_t *)l->items)[i] = i;
    for (int64_t i = 3; i < 100000; i++) {
        assert(tr_rt_list_room(m, i + 1) && l->len == i && l->cap > i && "more room, and no item more");
        ((int64_t *)l->items)[i] = i;
        l->len = i + 1;
    }
    for (int64_t i = 0; i < l->len; i++)
        assert(((int64_t *)l->items)[i] == i);
    assert(l->cap < 2 * l->len + 16);
    assert(!tr_rt_list_room(m, INT64_MAX / 8) && l->len == 100000 && "there is not so much memory");
    assert(!tr_rt_list_new(&f, INT64_C(1) << 50, words) && !tr_rt_list_new(&f, INT64_MAX, pairs));
    int64_t x[5] = {1, 2, 3, 4, 5};
    tr_rt_list_move(NULL, x, 5, 2, 1, 8);
    assert(x[0] == 1 && x[1] == 2 && x[2] == 2 && x[3] == 3 && x[4] == 4);
    tr_rt_list_move(NULL, x, 5, 0, 1, 8);
    assert(x[0] == 2 && x[1] == 2 && x[2] == 3 && x[3] == 4 && x[4] == 4);
    tr_rt_list_move(NULL, x, 5, 5, 4, 8);
    tr_rt_list_move(NULL, x, 5, 4, 5, 8);
    assert(x[4] == 4);
    tr_rt_free(&f, m);
    assert(f.nfree == f.nalloc - 1);
    tr_rt_frame_fini(&f); /* with the list that is left */
    assert(f.nfree == f.nalloc);
}

/* What items hold goes with the list, however deep: a chain of a million lists, and what others hold besides
 * stays. */
static void test_held(void) {
    static const uint32_t at[2] = {0, 8};
    static const tr_shape pair = {.size = 16, .n = 2, .at = at};
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_mem *kept = tr_rt_alloc(&f, 8), *last = tr_rt_list_new(&f, 1, &pair);
    int borrowed;
    for (int i = 0; i < 1000000; i++) {
        tr_mem *m = i ? tr_rt_list_new(&f, 2, &pair) : last;
        assert(m);
        void **items = ((tr_list *)tr_mem_data(m))->items;
        items[0] = i ? last : kept;
        items[1] = (char *)&borrowed + 1;
        assert(!i || (!items[2] && !items[3]));
        last = m;
    }
    kept->refs = 2;
    tr_rt_free(&f, last);
    assert(kept->refs == 1 && f.nfree == 1000000 && f.nalloc == 1000001 && f.mems.next == kept);
    tr_mem *outer = tr_rt_list_new(&f, 1, &pair);
    void **items = ((tr_list *)tr_mem_data(outer))->items;
    items[0] = kept;
    items[1] = NULL;
    tr_rt_frame_fini(&f); /* frees both, and asks nobody who has what */
    assert(f.nfree == f.nalloc);
}

static const tr_mem *nth(const tr_mem *list, int64_t i) {
    return ((tr_mem **)tr_list_of(list)->items)[i];
}

/* Lists of blocks: what is copied is counted, what is dropped is freed, and what is left has its order. */
static void test_moved(void) {
    static const uint32_t at[1] = {0};
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    const tr_shape *one = tr_rt_shape(8, 1, at);
    assert(one == tr_rt_shape_named("tr_shape_8_0") && one != tr_rt_shape(8, 0, NULL));
    assert(!tr_rt_shape_named("tr_shape") && !tr_rt_shape_named("tr_shape_0") &&
           !tr_rt_shape_named("tr_shape_8_4") && !tr_rt_shape_named("tr_shape_8x") &&
           !tr_rt_shape_named("tr_shape_99999999999"));
    enum { N = 10 };
    tr_mem *l = tr_rt_list_new(&f, N, one), *x[N];
    for (int k = 0; k < N; k++)
        ((tr_mem **)tr_list_of(l)->items)[k] = x[k] = tr_rt_alloc(&f, 8);
    tr_mem *some = tr_rt_list_new(&f, 4, one);
    tr_rt_list_fill(some, 1, l, 8, -3, 3);
    assert(!nth(some, 0) && nth(some, 1) == x[8] && nth(some, 2) == x[5] && nth(some, 3) == x[2]);
    assert(x[8]->refs == 2 && x[5]->refs == 2 && x[7]->refs == 1);
    tr_mem *often = tr_rt_list_new(&f, 8, one);
    tr_rt_list_repeat(often, 0, some, 4);
    assert(x[5]->refs == 4 && !nth(often, 4) && nth(often, 7) == x[2]);
    tr_rt_free(&f, often);
    tr_rt_list_reverse(some);
    assert(x[5]->refs == 2 && nth(some, 0) == x[2] && !nth(some, 3));
    uint64_t freed = f.nfree;
    tr_rt_list_cut(&f, l, 1, 3, 3); /* 1, 4, 7 */
    assert(tr_list_of(l)->len == 7 && f.nfree == freed + 3);
    static const int left[7] = {0, 2, 3, 5, 6, 8, 9};
    for (int k = 0; k < 7; k++)
        assert(nth(l, k) == x[left[k]]);
    tr_rt_list_cut(&f, l, 2, 1, 3); /* 3, 5, 6; somebody else has 5 */
    assert(tr_list_of(l)->len == 4 && f.nfree == freed + 5 && nth(l, 1) == x[2] && nth(l, 2) == x[8] &&
           x[5]->refs == 1);
    assert(tr_rt_list_resize(&f, l, 6) && !nth(l, 4) && !nth(l, 5));
    tr_rt_list_gap(l, 1, 2);
    assert(nth(l, 0) == x[0] && !nth(l, 1) && !nth(l, 2) && nth(l, 3) == x[2] && nth(l, 5) == x[9]);
    assert(tr_rt_list_resize(&f, l, 3) && f.nfree == freed + 6 && x[2]->refs == 1);
    assert(!tr_rt_list_resize(&f, l, INT64_MAX) && tr_list_of(l)->len == 3);
    tr_rt_mem_detach(&f, some); /* as Python has it, with what it holds, which its frame has not any more */
    for (int k = 0; k < 3; k++)
        tr_rt_mem_detach(&f, (tr_mem *)(uintptr_t)nth(some, k));
    some->refs++;
    assert(tr_rt_mem_unref(some) == 0 && tr_rt_mem_unref(some) == 4);
    tr_rt_frame_fini(&f);
    assert(f.nfree + 4 == f.nalloc);
}

/* What several lists of blocks have comes to the end of another one, with its references. */
static void test_gathered(void) {
    static const uint32_t at[1] = {0};
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    const tr_shape *one = tr_rt_shape(8, 1, at);
    tr_mem *to = tr_rt_list_new(&f, 1, one), *parts = tr_rt_list_new(&f, 3, one), *x[4];
    for (int k = 0; k < 4; k++)
        x[k] = tr_rt_alloc(&f, 8);
    ((tr_mem **)tr_list_of(to)->items)[0] = x[0];
    for (int k = 0; k < 3; k++) {
        tr_mem *part = tr_rt_list_new(&f, k == 1 ? 0 : 1 + k / 2, one);
        ((tr_mem **)tr_list_of(parts)->items)[k] = part;
        for (int i = 0; i < tr_list_of(part)->len; i++)
            ((tr_mem **)tr_list_of(part)->items)[i] = x[1 + k / 2 + i];
    }
    assert(tr_rt_list_gather(to, parts) == 0 && tr_list_of(to)->len == 4);
    for (int k = 0; k < 4; k++)
        assert(nth(to, k) == x[k] && x[k]->refs == 1);
    assert(tr_list_of(nth(parts, 2))->len == 0);
    uint64_t freed = f.nfree;
    tr_rt_free(&f, parts);
    assert(f.nfree == freed + 4);
    tr_rt_free(&f, to);
    assert(f.nfree == freed + 9 && f.nfree == f.nalloc);
    tr_rt_frame_fini(&f);
}

static void test_place(void) {
    int64_t block = 70000 | INT64_C(65535) << 32 | (int64_t)((uint64_t)65534 << 48);
    tr_rt_place(1023 | 5 << 16 | INT64_C(63) << 32, block, 1024 | 6 << 16 | INT64_C(64) << 32,
                INT64_C(0x7fffffff) | (int64_t)((uint64_t)65535 << 48));
    static const uint32_t want[12] = {1023, 5, 63, 70000, 65535, 65534, 1024, 6, 64, 0x7fffffff, 0, 65535};
    for (int32_t k = 0; k < 12; k++)
        assert(tr_rt_placed(k) == want[k]);
}

int main(void) {
    test_list();
    test_held();
    test_moved();
    test_gathered();
    test_place();
    test_spare();
    test_stack();
    test_matmul();
    test_matmuls();
    test_loop();
    test_kept();
    test_small();
    test_copy();
    test_count();
    test_count_bytes();
    test_print();
    test_print_array();
    test_specs();
    test_mem();
    test_release();
    test_numbers();
    test_complex();
    test_random();
    test_random_threads();
    return 0;
}
