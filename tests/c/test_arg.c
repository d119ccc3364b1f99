/* Places of extremes against the definition: of whole arrays and in pieces, with ties, NaN
 * and infinities anywhere. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rt/fns.h"

enum { MAX = 5000 };

static uint64_t seed = 1;

static uint64_t next(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

/* Items from a range of `span` values, with ties; or ascending ones. */
static int64_t pick(int64_t i, int64_t span) {
    return span ? (int64_t)(next() % (uint64_t)span) : i;
}

static void expect(const char *type, int64_t n, int64_t got, int64_t want) {
    if (got == want)
        return;
    fprintf(stderr, "%s, %lld items: got %lld, want %lld\n", type, (long long)n, (long long)got,
            (long long)want);
    abort();
}

static int64_t in_pieces(int64_t what, const char *x, size_t size, int64_t n) {
    tr_extreme s = {0};
    for (int64_t at = 0, part; at < n; at += part) {
        part = 1 + (int64_t)(next() % 300);
        part = part < n - at ? part : n - at;
        tr_rt_arg_add(what, &s, x + (size_t)at * size, part);
    }
    return s.at;
}

#define TEST(N, id, T, LOW, SPECIAL)                                                        \
    static void test_##N(int64_t n, int64_t span) {                                         \
        static T x[MAX + 8];                                                                \
        int64_t low = 0, high = 0, offset = (int64_t)(next() % 8);                          \
        T *a = x + offset;                                                                  \
        for (int64_t i = 0; i < n; i++)                                                     \
            a[i] = (T)(pick(i, span) + LOW);                                                \
        SPECIAL                                                                             \
        for (int64_t i = 1; i < n && a[low] == a[low]; i++)                                 \
            low = !(a[i] >= a[low]) ? i : low;                                              \
        for (int64_t i = 1; i < n && a[high] == a[high]; i++)                               \
            high = !(a[i] <= a[high]) ? i : high;                                           \
        expect(#T, n, tr_rt_arg(TR_ARG_##id * 2, a, n), low);                               \
        expect(#T, n, tr_rt_arg(TR_ARG_##id * 2 + 1, a, n), high);                          \
        expect(#T, n, in_pieces(TR_ARG_##id * 2, (const char *)a, sizeof *a, n), low);      \
        expect(#T, n, in_pieces(TR_ARG_##id * 2 + 1, (const char *)a, sizeof *a, n), high); \
    }
/* Now and then NaN, infinities, zeros of both signs. */
#define FLOATS                                 \
    for (uint64_t k = next() % 12; k < 4; k++) \
        a[next() % (uint64_t)n] = k < 1 ? NAN : k < 2 ? INFINITY : k < 3 ? -INFINITY : -0.0f;

TEST(i8, I8, int8_t, -50, )
TEST(i16, I16, int16_t, -50, )
TEST(i32, I32, int32_t, -50, )
TEST(i64, I64, int64_t, -50, )
TEST(u8, U8, uint8_t, 100, )
TEST(u16, U16, uint16_t, 65000, )
TEST(u32, U32, uint32_t, 4294967000, )
TEST(u64, U64, uint64_t, (int64_t)-3000, )
TEST(f32, F32, float, -50, FLOATS)
TEST(f64, F64, double, -50, FLOATS)

static void test_bool(int64_t n) {
    static uint8_t x[MAX];
    for (int truth = 0; truth < 2; truth++) {
        int64_t at = (int64_t)(next() % (uint64_t)(n + 1));
        for (int64_t i = 0; i < n; i++)
            x[i] = truth ? i >= at ? 2 : 0 : i < at;
        expect("bool", n, tr_rt_arg(TR_ARG_BOOL * 2 + truth, x, n), at < n ? at : 0);
        expect("bool", n, in_pieces(TR_ARG_BOOL * 2 + truth, (const char *)x, 1, n), at < n ? at : 0);
    }
}

int main(void) {
    static const int64_t spans[] = {100, 3, 1, 0};
    for (int64_t round = 0; round < 3000; round++) {
        int64_t n = 1 + (int64_t)(next() % (round % 3 ? 100 : MAX)), span = spans[round % 4];
#define X(N, id) test_##N(n, span);
        TR_ARG_TYPES(X)
#undef X
        test_bool(n);
    }
    return 0;
}
