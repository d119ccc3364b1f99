/* Sorting and selecting (rt/sort.c, rt/select.c) without a host: our own functions against the
 * definition, over types, layouts, and orders that are bad for pivots; and that functions of a
 * host are called once they are there. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rt/sort.h"

enum { ORDERS = 9, MOST = 20000 };

static uint64_t seed = 88172645463325252u;
static uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* The k-th number of a sequence of n: of many or few values, up, down, up and down, all equal, what is bad
 * for a median of three, all equal but one, a saw. */
static int64_t number(int order, int64_t k, int64_t n) {
    switch (order) {
    case 0: return (int64_t)(draw() % 1000003);
    case 1: return (int64_t)(draw() % 5);
    case 2: return k;
    case 3: return n - k;
    case 4: return k < n / 2 ? k : n - k;
    case 5: return 7;
    case 6: return k & 1 ? k : n / 2 + k / 2;
    case 7: return k == n / 3 ? 0 : 1;
    default: return k % 64;
    }
}

static double odd(void) {
    static const double all[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, -1.0};
    return all[draw() % 6];
}

#define MAKE_INT(T, k, sometimes)  (T)((void)(sometimes), k)
#define MAKE_REAL(T, k, sometimes) (T)((sometimes) ? odd() : (double)(k))
#define MAKE_HALF(T, k, sometimes) \
    { (uint16_t)((sometimes) ? draw() : (uint64_t)(k)&0x7bff) }
#define MAKE_COMPLEX(T, k, sometimes) \
    { (sometimes) ? (float)odd() : (float)((k) / 2), (sometimes) ? (float)odd() : (float)((k) % 2) }
#define MAKE_i8   MAKE_INT
#define MAKE_u8   MAKE_INT
#define MAKE_i16  MAKE_INT
#define MAKE_u16  MAKE_INT
#define MAKE_i32  MAKE_INT
#define MAKE_u32  MAKE_INT
#define MAKE_i64  MAKE_INT
#define MAKE_u64  MAKE_INT
#define MAKE_f32  MAKE_REAL
#define MAKE_f64  MAKE_REAL
#define MAKE_f16  MAKE_HALF
#define MAKE_c64  MAKE_COMPLEX
#define MAKE_c128 MAKE_COMPLEX

static const int64_t kths[5][3] = {
    {0, 0, 0}, {1, 1, 1}, {1, 2, 2}, {9, 1, 5}, {10, 10, 0}}; /* tenths of the line */

static int64_t place(int64_t tenths, int64_t n) {
    return tenths == 10 ? n - 1 : n * tenths / 10;
}

/* One line of n items `step` apart: sorted, its places, partitions, and single ranks. */
#define CHECK(name, T, LESS, NAN_, PLAIN)                                                                 \
    static int lower_##name(T a, T b) {                                                                   \
        return LESS(a, b);                                                                                \
    }                                                                                                     \
    static void check_##name(int64_t type, int order, int64_t n, int64_t step, bool odd_ones) {           \
        static T a[2 * MOST + 2], b[2 * MOST + 2], c[MOST + 1];                                           \
        static int64_t at[2 * MOST + 2];                                                                  \
        T *x = step < 0 ? a + (n > 0 ? n - 1 : 0) * -step : a,                                            \
          *y = step < 0 ? b + (n > 0 ? n - 1 : 0) * -step : b;                                            \
        int64_t *p = step < 0 ? at + (n > 0 ? n - 1 : 0) * -step : at;                                    \
        bool nan = false;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                 \
            T item = MAKE_##name(T, number(order, i, n), odd_ones && draw() % 8 == 0);                    \
            x[i * step] = y[i * step] = item;                                                             \
            nan |= NAN_(item);                                                                            \
        }                                                                                                 \
        assert(tr_rt_argsort(type, TR_SORT_STABLE, NULL, x, n, step, NULL, p, n, step) == 0);             \
        assert(tr_rt_sort(type, TR_SORT_QUICK, NULL, y, n, step) == 0);                                   \
        for (int64_t i = 1; i < n; i++) {                                                                 \
            int64_t i0 = p[(i - 1) * step], i1 = p[i * step];                                             \
            T u = x[i0 * step], v = x[i1 * step];                                                         \
            assert(lower_##name(u, v) || (!lower_##name(v, u) && i0 < i1));                               \
        }                                                                                                 \
        for (int64_t i = 0; i < n;                                                                        \
             i++) { /* the same items: places are a permutation, as they ascend among equals */           \
            T u = x[p[i * step] * step];                                                                  \
            assert(!memcmp(&u, &y[i * step], sizeof u));                                                  \
        }                                                                                                 \
        for (int w = 0; w < 5 && n > 0; w++) {                                                            \
            int64_t kth[3], back[3];                                                                      \
            for (int j = 0; j < 3; j++)                                                                   \
                kth[j] = back[j] = place(kths[w][j], n);                                                  \
            assert(tr_rt_partition(type, NULL, x, n, step, NULL, c, n, 1, NULL, kth, 3) == 0);            \
            assert(tr_rt_argpartition(type, NULL, x, n, step, NULL, at, n, 1, NULL, kth, 3) == 0);        \
            assert(!memcmp(kth, back, sizeof kth));                                                       \
            int64_t sum = 0;                                                                              \
            for (int64_t i = 0; i < n; i++)                                                               \
                sum += at[i];                                                                             \
            assert(sum == n * (n - 1) / 2);                                                               \
            for (int j = 0; j < 3; j++)                                                                   \
                for (int64_t i = 0; i < n; i++) {                                                         \
                    T k = y[kth[j] * step], q = x[at[i] * step];                                          \
                    assert(i < kth[j] ? !lower_##name(k, c[i]) : !lower_##name(c[i], k));                 \
                    assert(i < kth[j] ? !lower_##name(k, q) : !lower_##name(q, k));                       \
                    assert(i != kth[j] || (!lower_##name(c[i], k) && !lower_##name(q, k)));               \
                    assert(i != kth[j] || (!lower_##name(k, c[i]) && !lower_##name(k, q)));               \
                }                                                                                         \
            int64_t k = kth[1], m = k + 1 < n ? 2 : 1,                                                    \
                    r = tr_rt_ranked(type, k, NULL, x, n, step, NULL, c, m);                              \
            assert(r == nan);                                                                             \
            for (int64_t i = 0; i < m && !nan; i++)                                                       \
                assert(!lower_##name(c[i], y[(k + i) * step]) && !lower_##name(y[(k + i) * step], c[i])); \
            memcpy(b, a, sizeof b); /* in place */                                                        \
            assert(tr_rt_partition(type, NULL, y, n, step, NULL, y, n, step, NULL, kth, 3) == 0);         \
            T low = y[kth[1] * step];                                                                     \
            for (int64_t i = 0; i < n; i++)                                                               \
                assert(i < kth[1] ? !lower_##name(low, y[i * step]) : !lower_##name(y[i * step], low));   \
            assert(tr_rt_sort(type, TR_SORT_HEAP, NULL, y, n, step) == 0);                                \
        }                                                                                                 \
    }
TR_SORT_ITEMS(CHECK)

#define NAME(name) check_##name
static void (*const checks[TR_SORT__TYPES])(int64_t, int, int64_t, int64_t, bool) = TR_SORT_TABLE(NAME);

static int64_t called;

static int their_sort(void *items, intptr_t n, void *unused) {
    (void)unused;
    called += n;
    memset(items, 1, (size_t)n * sizeof(double));
    return 0;
}

static int without_memory(void *items, intptr_t *places, intptr_t n, void *unused) {
    (void)items, (void)places, (void)n, (void)unused;
    return -1;
}

static void test_host(void) {
    static tr_sorts theirs;
    double x[3] = {3, 2, 1}, y[3] = {3, 2, 1};
    int64_t at[3] = {7, 7, 7};
    theirs.sort[TR_SORT_F64][TR_SORT_STABLE] = their_sort;
    theirs.argsort[TR_SORT_F64][TR_SORT_HEAP] = without_memory;
    tr_rt_sorts_set(&theirs);
    theirs.sort[TR_SORT_F64][TR_SORT_QUICK] = their_sort;
    tr_rt_sorts_set(&theirs); /* comes too late */
    assert(tr_rt_sort(TR_SORT_F64, TR_SORT_STABLE, NULL, x, 3, 1) == 0 && called == 3);
    assert(tr_rt_sort(TR_SORT_F64, TR_SORT_QUICK, NULL, y, 3, 1) == 0 && called == 3);
    assert(y[0] == 1 && y[2] == 3);
    assert(tr_rt_argsort(TR_SORT_F64, TR_SORT_HEAP, NULL, y, 3, 1, NULL, at, 3, 1) == TR_SORT_NOMEM);
    assert(tr_rt_argsort(TR_SORT_F64, TR_SORT_STABLE, NULL, y, 3, -1 + 2, NULL, at, 3, 1) == 0 && at[2] == 2);
}

/* From places that are there: what sorts by the last key first. */
static void test_goes_on(void) {
    const int32_t minor[6] = {2, 1, 2, 1, 2, 1}, major[6] = {1, 0, 0, 1, 1, 0};
    int64_t at[6];
    assert(tr_rt_argsort(TR_SORT_I32, TR_SORT_STABLE, NULL, minor, 6, 1, NULL, at, 6, 1) == 0);
    assert(tr_rt_argsort(TR_SORT_I32, TR_SORT_STABLE | TR_SORT_GOES_ON, NULL, major, 6, 1, NULL, at, 6, 1) ==
           0);
    static const int64_t want[6] = {1, 5, 2, 3, 0, 4};
    assert(!memcmp(at, want, sizeof at));
}

int main(void) {
    static const int64_t sizes[] = {0, 1, 2, 3, 17, 63, 300, 1023, 1500, 9000, MOST};
    for (int64_t type = 0; type < TR_SORT__TYPES; type++)
        for (int order = 0; order < ORDERS; order++)
            for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (int v = 0; v < 3; v++) {
                    static const int64_t steps[] = {1, 2, -1};
                    if (sizes[s] > 2000 && (order + v) % 3)
                        continue;
                    checks[type](type, order, sizes[s], steps[v], order == 0 && v != 1);
                }
    test_goes_on();
    test_host();
    return 0;
}
