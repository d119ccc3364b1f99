/* Small matrices of float64: inverse, solution of linear equations, determinant, by LU with partial pivoting.
 *
 * A call of LAPACK costs a microsecond whatever the matrix; up to 8 rows all of it is done here in less. The
 * method is LAPACK's, column by column; results agree within rounding, not in their last bits, as LAPACK's
 * own do from processor to processor. So does what is told of a matrix that is singular but for rounding: the
 * last pivot may be 0 here and 1e-17 there, or the other way about. A determinant is the product of the
 * pivots, where NumPy takes the exponential of the sum of their logarithms.
 * What is not ordinary goes back to NumPy's loop: items or results that are not finite, pivots below the
 * normal numbers, a determinant that comes near the ends of the range.
 * Each number of rows has code of its own, written out, so that nothing of a matrix of up to 4 rows
 * lies in memory: a row that is written item by item is waited for when it is then read as a
 * vector, which cost more than all the arithmetic. For the same reason rows are exchanged by
 * choosing, as an index that varies is one of memory.
 * Cost: 3 rows take 15 to 25 ns, 8 rows 100 to 400. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "rt/small.h"

enum { MOST = TR_SMALL_MOST };
_Static_assert(MOST == 8, "WRITTEN_OUT, SHARED and EACH count as far");

#define INLINE      static inline __attribute__((always_inline))
#define WRITTEN_OUT _Pragma("GCC unroll 8")

typedef struct lu {
    double a[MOST][MOST]; /* by columns: U on and above the diagonal, L below it */
    int row[MOST];        /* which of the matrix's rows it was */
    int odd;              /* number of exchanges, its last bit */
} lu;

/* Copies the matrix; false: an item is not finite. */
INLINE bool take(lu *f, int n, const char *data, int64_t rs, int64_t cs) {
    double none = 0; /* what is not finite is not 0 when it is taken from itself */
    WRITTEN_OUT
    for (int j = 0; j < n; j++) {
        f->row[j] = j;
        WRITTEN_OUT
        for (int i = 0; i < n; i++) {
            double x = f->a[j][i] = *(const double *)(const void *)(data + i * rs + j * cs);
            none += x - x;
        }
    }
    f->odd = 0;
    return none == 0;
}

INLINE void exchange_if(bool yes, double *x, double *y) {
    double a = *x, b = *y;
    *x = yes ? b : a;
    *y = yes ? a : b;
}

INLINE void exchange_rows(lu *f, int n, int j, int p) {
    WRITTEN_OUT
    for (int i = j + 1; i < n; i++) {
        bool yes = i == p;
        WRITTEN_OUT
        for (int k = 0; k < n; k++)
            exchange_if(yes, &f->a[k][i], &f->a[k][j]);
        int r = f->row[i], q = f->row[j];
        f->row[i] = yes ? q : r;
        f->row[j] = yes ? r : q;
    }
    f->odd ^= 1;
}

/* FAILED: it is singular. NOT: a pivot has no reciprocal, so what lies below is to be divided by it. */
INLINE tr_small_result factor(lu *f, int n) {
    WRITTEN_OUT
    for (int j = 0; j < n; j++) {
        double *u = f->a[j];
        WRITTEN_OUT
        for (int i = 1; i < n; i++) {
            double s = 0;
            WRITTEN_OUT
            for (int k = 0; k < MOST; k++)
                if (k < i && k < j)
                    s = k ? s + u[k] * f->a[k][i] : u[k] * f->a[k][i];
            u[i] -= s;
        }
        int p = j;
        double most = fabs(u[j]);
        WRITTEN_OUT
        for (int i = j + 1; i < n; i++) {
            bool more = fabs(u[i]) > most;
            p = more ? i : p;
            most = more ? fabs(u[i]) : most;
        }
        if (p != j)
            exchange_rows(f, n, j, p);
        double r = 1 / u[j];
        WRITTEN_OUT
        for (int i = j + 1; i < n; i++)
            u[i] *= r;
    }
    bool less = false, none = false; /* asked once: what comes of a pivot that is none is for nobody */
    WRITTEN_OUT
    for (int j = 0; j < n; j++)
        less |= fabs(f->a[j][j]) < DBL_MIN;
    if (__builtin_expect(!less, 1))
        return TR_SMALL_DONE;
    for (int j = 0; j < n; j++)
        none |= f->a[j][j] == 0;
    return none ? TR_SMALL_FAILED : TR_SMALL_NOT;
}

/* x: a right side in, exchanged as rows were; the solution out. */
INLINE void substitute(const lu *f, int n, double *x) {
    WRITTEN_OUT
    for (int k = 0; k + 1 < n; k++)
        WRITTEN_OUT
    for (int i = k + 1; i < n; i++)
        x[i] += -x[k] * f->a[k][i];
    WRITTEN_OUT
    for (int k = n - 1; k >= 0; k--) {
        double v = x[k] / f->a[k][k];
        WRITTEN_OUT
        for (int i = 0; i < k; i++)
            x[i] += -v * f->a[k][i];
        x[k] = v;
    }
}

/* More rows than registers hold: one copy for all who want it. */
#define SHARED(n)                                                                                     \
    static __attribute__((noinline)) bool take_##n(lu *f, const char *data, int64_t rs, int64_t cs) { \
        return take(f, n, data, rs, cs);                                                              \
    }                                                                                                 \
    static __attribute__((noinline)) tr_small_result factor_##n(lu *f) {                              \
        return factor(f, n);                                                                          \
    }                                                                                                 \
    static __attribute__((noinline)) void substitute_##n(const lu *f, double *x) {                    \
        substitute(f, n, x);                                                                          \
    }
SHARED(5)
SHARED(6)
SHARED(7)
SHARED(8)

#define EACH_OF(n, in_place, name, ...)   \
    switch (n) {                          \
    case 5: return name##_5(__VA_ARGS__); \
    case 6: return name##_6(__VA_ARGS__); \
    case 7: return name##_7(__VA_ARGS__); \
    case 8: return name##_8(__VA_ARGS__); \
    default: return in_place;             \
    }
INLINE bool take_n(lu *f, int n, const char *data, int64_t rs, int64_t cs){
    EACH_OF(n, take(f, n, data, rs, cs), take, f, data, rs, cs)} INLINE tr_small_result
    factor_n(lu *f, int n){EACH_OF(n, factor(f, n), factor, f)} INLINE
    void substitute_n(const lu *f, int n, double *x) {
    EACH_OF(n, substitute(f, n, x), substitute, f, x)
}

static void put_nan(char *to, int64_t n, int64_t m, int64_t rs, int64_t cs) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            *(double *)(void *)(to + i * rs + j * cs) = (double)NAN;
}

/* A solution that is not finite somewhere is not so in its first item, which is made of all others. LAPACK
 * goes other ways there, which may stay in the range. */
INLINE bool left_range(const double *x) {
    return __builtin_expect(!(x[0] - x[0] == 0), 0);
}

INLINE tr_small_result invert_n(int n, char *const *args, const int64_t *s) {
    lu f;
    if (!take_n(&f, n, args[0], s[2], s[3]))
        return TR_SMALL_NOT;
    tr_small_result got = factor_n(&f, n);
    if (got != TR_SMALL_DONE) {
        put_nan(args[1], n, n, s[4], s[5]);
        return got;
    }
    WRITTEN_OUT
    for (int k = 0; k < n; k++) { /* 1 where row f.row[k] is, so column f.row[k] comes out */
        double x[MOST];
        WRITTEN_OUT
        for (int i = 0; i < n; i++)
            x[i] = i == k;
        substitute_n(&f, n, x);
        WRITTEN_OUT
        for (int i = 0; i < n; i++)
            *(double *)(void *)(args[1] + i * s[4] + f.row[k] * s[5]) = x[i];
        if (left_range(x))
            return TR_SMALL_NOT;
    }
    return TR_SMALL_DONE;
}

INLINE tr_small_result solve_n(int n, char *const *args, int64_t m, const int64_t *s, int64_t bc, int64_t xr,
                               int64_t xc) {
    lu f;
    if (!take_n(&f, n, args[0], s[3], s[4]))
        return TR_SMALL_NOT;
    tr_small_result got = factor_n(&f, n);
    if (got != TR_SMALL_DONE) {
        put_nan(args[2], n, m, xr, xc);
        return got;
    }
    for (int64_t j = 0; j < m; j++) {
        double x[MOST];
        WRITTEN_OUT
        for (int i = 0; i < n; i++)
            x[i] = *(const double *)(const void *)(args[1] + f.row[i] * s[5] + j * bc);
        substitute_n(&f, n, x);
        WRITTEN_OUT
        for (int i = 0; i < n; i++)
            *(double *)(void *)(args[2] + i * xr + j * xc) = x[i];
        if (left_range(x))
            return TR_SMALL_NOT;
    }
    return TR_SMALL_DONE;
}

INLINE tr_small_result determinant_n(int n, char *const *args, const int64_t *s) {
    lu f;
    double d = 1;
    if (!take_n(&f, n, args[0], s[2], s[3]))
        return TR_SMALL_NOT;
    tr_small_result got = factor_n(&f, n);
    if (got == TR_SMALL_NOT)
        return got;
    if (got == TR_SMALL_FAILED) {
        d = 0;
    } else {
        bool ordinary = true; /* on the way, and at the end */
        WRITTEN_OUT
        for (int i = 0; i < n; i++) {
            d *= f.a[i][i];
            ordinary &= fabs(d) > 1e-290 && fabs(d) < 1e290;
        }
        if (!ordinary)
            return TR_SMALL_NOT;
    }
    *(double *)(void *)args[1] = f.odd ? -d : d;
    return TR_SMALL_DONE;
}

#define EACH(call)           \
    switch (n) {             \
    case 1: return call(1);  \
    case 2: return call(2);  \
    case 3: return call(3);  \
    case 4: return call(4);  \
    case 5: return call(5);  \
    case 6: return call(6);  \
    case 7: return call(7);  \
    default: return call(8); \
    }

static tr_small_result invert(char *const *args, const int64_t *dims, const int64_t *s) {
    int64_t n = dims[1];
#define CALL(n) invert_n(n, args, s)
    EACH(CALL)
#undef CALL
}

static tr_small_result solve(char *const *args, const int64_t *dims, const int64_t *s) {
    int64_t n = dims[1];
#define CALL(n) solve_n(n, args, dims[2], s, s[6], s[7], s[8])
    EACH(CALL)
#undef CALL
}

static tr_small_result solve1(char *const *args, const int64_t *dims, const int64_t *s) {
    int64_t n = dims[1];
#define CALL(n) solve_n(n, args, 1, s, 0, s[6], 0)
    EACH(CALL)
#undef CALL
}

static tr_small_result determinant(char *const *args, const int64_t *dims, const int64_t *s) {
    int64_t n = dims[1];
#define CALL(n) determinant_n(n, args, s)
    EACH(CALL)
#undef CALL
}

tr_small_fn *tr_rt_small(const char *name) {
    static const struct {
        const char *name;
        tr_small_fn *fn;
    } all[] = {{"inv", invert}, {"solve", solve}, {"solve1", solve1}, {"det", determinant}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].fn;
    return NULL;
}
