/* Small matrices of float64: inverse, solution of linear equations, determinant, by LU with partial pivoting.
 *
 * A call of LAPACK costs a microsecond whatever the matrix; up to 8 rows all of it is done here in less. The method is LAPACK's, column by
 * column; results agree within rounding, not in their last bits, as LAPACK's own do from processor to processor. So does what is told of a
 * matrix that is singular but for rounding: the last pivot may be 0 here and 1e-17 there, or the other way about. A determinant is the product of
 * the pivots, where NumPy takes the exponential of the sum of their logarithms.
 * What is not ordinary goes back to NumPy's loop: items that are not finite, a determinant near the ends of the range.
 * Cost: 3 rows take 20 to 40 ns. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "rt/small.h"

enum { MOST = TR_SMALL_MOST };

/* By columns, each of `w` items (2, 4 or 8, here and below), so that it is a few vectors; what is past the matrix is 0. */
typedef struct lu {
    double u[MOST][MOST]; /* on and above the diagonal; 0 below */
    double l[MOST][MOST]; /* below it; 0 elsewhere */
    int row[MOST];        /* which of the matrix's rows it was */
    int odd;              /* number of exchanges, its last bit */
} lu;

/* Copies the matrix; false: an item is not finite. */
static inline __attribute__((always_inline)) bool take(lu *f, int n, int w, const char *data, int64_t rs,
                                                       int64_t cs) {
    bool fine = true;
    for (int j = 0; j < n; j++) {
        f->row[j] = j;
        for (int i = 0; i < w; i++)
            f->l[j][i] = 0;
        for (int i = n; i < w; i++)
            f->u[j][i] = 0;
        for (int i = 0; i < n; i++) {
            double x = *(const double *)(const void *)(data + i * rs + j * cs);
            f->u[j][i] = x;
            fine &= fabs(x) <= DBL_MAX;
        }
    }
    f->odd = 0;
    return fine;
}

static inline __attribute__((always_inline)) void exchange(double *x, double *y) {
    double t = *x;
    *x = *y;
    *y = t;
}

/* x += c * y */
static inline __attribute__((always_inline)) void add(double *x, double c, const double *y, int w) {
    for (int k = 0; k < w; k++)
        x[k] += c * y[k];
}

/* False: it is singular. */
static inline __attribute__((always_inline)) bool factor(lu *f, int n, int w) {
    for (int j = 0; j < n; j++) {
        double *u = f->u[j], s[MOST] = {0};
        for (int k = 0; k < j; k++) {
            u[k] -= s[k];
            add(s, u[k], f->l[k], w);
        }
        for (int i = j; i < n; i++)
            u[i] -= s[i];
        int p = j;
        for (int i = j + 1; i < n; i++)
            p = fabs(u[i]) > fabs(u[p]) ? i : p;
        if (u[p] == 0)
            return false;
        if (p != j) {
            for (int k = 0; k < j; k++)
                exchange(&f->l[k][p], &f->l[k][j]);
            for (int k = j; k < n; k++)
                exchange(&f->u[k][p], &f->u[k][j]);
            int r = f->row[p];
            f->row[p] = f->row[j];
            f->row[j] = r;
            f->odd ^= 1;
        }
        double r = 1 / u[j];
        for (int i = j + 1; i < n; i++) {
            f->l[j][i] = u[i] * r;
            u[i] = 0;
        }
    }
    return true;
}

/* x: w items, a right side in, exchanged as rows were; the solution out. */
static inline __attribute__((always_inline)) void substitute(const lu *f, int n, int w, double *x) {
    for (int k = 0; k + 1 < n; k++)
        add(x, -x[k], f->l[k], w);
    for (int k = n - 1; k >= 0; k--) {
        double v = x[k] / f->u[k][k];
        add(x, -v, f->u[k], w);
        x[k] = v;
    }
}

/* The same for w right sides at once, side j in x[.][j]: the same steps, so the same bits, but a row is a few vectors and waits for no other. Pays from three rows on. */
static inline __attribute__((always_inline)) void substitute_all(const lu *f, int n, int w,
                                                                 double (*x)[MOST]) {
    double c[MOST], v[MOST];
    for (int k = 0; k + 1 < n; k++) {
        for (int j = 0; j < w; j++)
            c[j] = -x[k][j];
        for (int i = 0; i < n; i++)
            add(x[i], f->l[k][i], c, w);
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = 0; j < w; j++) {
            v[j] = x[k][j] / f->u[k][k];
            c[j] = -v[j];
        }
        for (int i = 0; i < n; i++)
            add(x[i], f->u[k][i], c, w);
        memcpy(x[k], v, (size_t)w * sizeof *v);
    }
}

static void put_nan(char *to, int64_t n, int64_t m, int64_t rs, int64_t cs) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            *(double *)(void *)(to + i * rs + j * cs) = (double)NAN;
}

static inline __attribute__((always_inline)) tr_small_result invert_n(int n, int w, char *const *args,
                                                                      const int64_t *s) {
    lu f;
    if (!take(&f, n, w, args[0], s[2], s[3]))
        return TR_SMALL_NOT;
    if (!factor(&f, n, w)) {
        put_nan(args[1], n, n, s[4], s[5]);
        return TR_SMALL_FAILED;
    }
    /* The right side is 1 where row f.row[k] is, so column f.row[k] comes out. */
    double x[MOST][MOST];
    for (int k = 0; k < n; k++)
        for (int j = 0; j < w; j++)
            x[k][j] = j == k;
    if (n < 3)
        for (int k = 0; k < n; k++)
            substitute(&f, n, w, x[k]);
    else
        substitute_all(&f, n, w, x);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            *(double *)(void *)(args[1] + i * s[4] + f.row[k] * s[5]) = n < 3 ? x[k][i] : x[i][k];
    return TR_SMALL_DONE;
}

static inline __attribute__((always_inline)) tr_small_result
solve_n(int n, int w, char *const *args, int64_t m, const int64_t *s, int64_t bc, int64_t xr, int64_t xc) {
    lu f;
    if (!take(&f, n, w, args[0], s[3], s[4]))
        return TR_SMALL_NOT;
    if (!factor(&f, n, w)) {
        put_nan(args[2], n, m, xr, xc);
        return TR_SMALL_FAILED;
    }
    for (int64_t j = 0; j < m; j++) {
        double x[MOST] = {0};
        for (int i = 0; i < n; i++)
            x[i] = *(const double *)(const void *)(args[1] + f.row[i] * s[5] + j * bc);
        substitute(&f, n, w, x);
        for (int i = 0; i < n; i++)
            *(double *)(void *)(args[2] + i * xr + j * xc) = x[i];
    }
    return TR_SMALL_DONE;
}

static inline __attribute__((always_inline)) tr_small_result determinant_n(int n, int w, char *const *args,
                                                                           const int64_t *s) {
    lu f;
    double d = 1;
    if (!take(&f, n, w, args[0], s[2], s[3]))
        return TR_SMALL_NOT;
    if (!factor(&f, n, w)) {
        d = 0;
    } else {
        for (int i = 0; i < n; i++)
            d *= f.u[i][i];
        if (!(fabs(d) > 1e-290 && fabs(d) < 1e290)) /* on the way, or at the end */
            return TR_SMALL_NOT;
    }
    *(double *)(void *)args[1] = f.odd ? -d : d;
    return TR_SMALL_DONE;
}

/* Few rows as a constant, so that loops are written out. */
#define EACH(call)                      \
    switch (n) {                        \
    case 1: return call(1, 2);          \
    case 2: return call(2, 2);          \
    case 3: return call(3, 4);          \
    case 4: return call(4, 4);          \
    default: return call((int)n, MOST); \
    }

static tr_small_result invert(char *const *args, const int64_t *dims, const int64_t *s) {
    int64_t n = dims[1];
#define CALL(n, w) invert_n(n, w, args, s)
    EACH(CALL)
#undef CALL
}

static tr_small_result solve(char *const *args, const int64_t *dims, const int64_t *s) {
    int64_t n = dims[1];
#define CALL(n, w) solve_n(n, w, args, dims[2], s, s[6], s[7], s[8])
    EACH(CALL)
#undef CALL
}

static tr_small_result solve1(char *const *args, const int64_t *dims, const int64_t *s) {
    int64_t n = dims[1];
#define CALL(n, w) solve_n(n, w, args, 1, s, 0, s[6], 0)
    EACH(CALL)
#undef CALL
}

static tr_small_result determinant(char *const *args, const int64_t *dims, const int64_t *s) {
    int64_t n = dims[1];
#define CALL(n, w) determinant_n(n, w, args, s)
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
