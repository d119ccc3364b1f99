/* The k best of a sequence: by each form that a processor may choose, in pieces, all at once, and of ranges
 * whose best come together, against an insertion by NumPy's order. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rt/topk.c" /* all forms */

enum { MOST = 3000, ROUNDS = 400 };

static uint64_t seed = 1;

static int64_t below(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(seed >> 33) % n;
}

/* --- keys --- */

typedef union keys {
    float f32[MOST];
    double f64[MOST];
    int32_t i32[MOST];
    uint32_t u32[MOST];
    int64_t i64[MOST];
    uint64_t u64[MOST];
} keys;

static double special(int64_t what) {
    static const double of[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
    return of[what % 5];
}

static void set(keys *x, int kind, int64_t i, int64_t v, bool odd) {
    switch (kind) {
    case TR_TOP_F32: x->f32[i] = odd ? (float)special(v < 0 ? -v : v) : (float)v; break;
    case TR_TOP_F64: x->f64[i] = odd ? special(v < 0 ? -v : v) : (double)v; break;
    case TR_TOP_I32: x->i32[i] = odd ? INT32_MIN : (int32_t)v; break;
    case TR_TOP_U32: x->u32[i] = odd ? UINT32_MAX : (uint32_t)v; break;
    case TR_TOP_I64: x->i64[i] = odd ? INT64_MIN : v; break;
    default: x->u64[i] = odd ? UINT64_MAX : (uint64_t)v;
    }
}

static const void *at(const keys *x, int kind, int64_t i) {
    bool wide = kind == TR_TOP_F64 || kind == TR_TOP_I64 || kind == TR_TOP_U64;
    return (const char *)x + i * (wide ? 8 : 4);
}

/* Does element i go before j, which comes before it? */
static bool goes_before(const keys *x, int what, int64_t i, int64_t j) {
    bool down = what & TR_TOP_DOWN;
    double a, b;
    switch (what & TR_TOP_KIND) {
    case TR_TOP_I32: return down ? x->i32[i] < x->i32[j] : x->i32[i] > x->i32[j];
    case TR_TOP_U32: return down ? x->u32[i] < x->u32[j] : x->u32[i] > x->u32[j];
    case TR_TOP_I64: return down ? x->i64[i] < x->i64[j] : x->i64[i] > x->i64[j];
    case TR_TOP_U64: return down ? x->u64[i] < x->u64[j] : x->u64[i] > x->u64[j];
    case TR_TOP_F32:
        a = (double)x->f32[i];
        b = (double)x->f32[j];
        break;
    default: a = x->f64[i]; b = x->f64[j];
    }
    if (isnan(a) || isnan(b))
        return what & TR_TOP_NAN_LAST ? !isnan(a) : !isnan(b);
    return down ? a < b : a > b;
}

static void choose(const keys *x, int what, int64_t n, int64_t k, int64_t *best) {
    int64_t held = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t to = held;
        for (; to > 0 && goes_before(x, what, i, best[to - 1]); to--)
            if (to < k)
                best[to] = best[to - 1];
        if (to < k)
            best[to] = i;
        held += held < k;
    }
}

/* --- one case --- */

static void see_in_pieces(void *memory, const keys *x, int kind, int64_t from, int64_t to) {
    for (int64_t i = from, m; i < to; i += m) {
        m = 1 + below(to - i);
        tr_rt_top_see(memory, at(x, kind, i), m, i);
    }
}

static void check(const keys *x, int what, int64_t n, int64_t k, int form) {
    int kind = what & TR_TOP_KIND;
    static int64_t want[MOST];
    void *memory = malloc((size_t)tr_rt_top_room(k, n));
    int64_t *ranges = malloc(3 * (1 + 2 * (size_t)k) * sizeof *ranges);
    assert(memory && ranges);
    choose(x, what, n, k, want);
    tr_rt_top_open(memory, k, n, what);
    if (form & 1)
        ((top *)memory)->avx2 = false;
    for (int turn = 0; turn < 2; turn++) { /* it begins anew */
        if (form & 2) {
            for (int64_t r = 0; r < 3; r++) {
                see_in_pieces(memory, x, kind, n * r / 3, n * (r + 1) / 3);
                tr_rt_top_leave(memory, ranges + r * (1 + 2 * k));
            }
            tr_rt_top_join(memory, ranges, 3);
        } else if (form & 4) {
            see_in_pieces(memory, x, kind, 0, n);
        } else {
            tr_rt_top_see(memory, x, n, 0);
        }
        const int64_t *got = tr_rt_top_end(memory);
        for (int64_t i = 0; i < k; i++)
            if (got[i] != want[i]) {
                fprintf(stderr, "keys %d, %lld of %lld, form %d: number %lld is %lld, want %lld\n", what,
                        (long long)k, (long long)n, form, (long long)i, (long long)got[i],
                        (long long)want[i]);
                exit(1);
            }
    }
    free(ranges);
    free(memory);
}

static void one_round(int r) {
    static keys x;
    static const int64_t spans[] = {1, 3, 100, 1 << 20}, odd[] = {0, 1, 50, 97};
    static const int flags[] = {0, TR_TOP_NAN_LAST, TR_TOP_DOWN | TR_TOP_NAN_LAST};
    int kind = r % 6, what = kind | flags[below(3)];
    int64_t n = r < 100 ? r : below(MOST), span = spans[below(4)], share = odd[below(4)], order = below(4);
    for (int64_t i = 0; i < n; i++) {
        int64_t v = order == 0   ? below(2 * span + 1) - span
                    : order == 1 ? i * span / 9
                    : order == 2 ? -i
                                 : i % span;
        bool is_odd = order == 3 ? i < n * share / 100 : below(100) < share;
        set(&x, kind, i, order == 3 && is_odd ? 0 : v, is_odd);
    }
    int64_t few = n < 130 ? n : 130;
    check(&x, what, n, r % 3 == 0 ? n : r % 3 == 1 ? below(few + 1) : below(n + 1), (int)below(8));
}

/* What another thread changes between two looks may be missed, but a place is one. */
static void too_few(void) {
    static const double x[3] = {1, 2, 3};
    void *memory = malloc((size_t)tr_rt_top_room(5, 9));
    assert(memory);
    tr_rt_top_open(memory, 5, 9, TR_TOP_F64);
    tr_rt_top_see(memory, x, 3, 0);
    const int64_t *got = tr_rt_top_end(memory), want[] = {2, 1, 0, 0, 0};
    assert(!memcmp(got, want, sizeof want) && "as many places as are asked for");
    free(memory);
}

int main(void) {
    too_few();
    for (int r = 0; r < ROUNDS; r++)
        one_round(r);
    printf("%d rounds of the best\n", ROUNDS);
    return 0;
}
