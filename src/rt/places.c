/* Where among sorted numbers others may stand: a table over even buckets from the first to the last of them
 * (interpolation search, a learned index of one line).
 *
 * A number's bucket is a product, which grows with the number. All that lies in buckets before stands
 * before it and all in those behind, behind, so a few places are left to search. Code may compute the
 * product by other roundings, or a fused one: buckets beside the number's own are searched too, so that
 * one bucket more or less is no mistake.
 * Cost: a pass over the numbers and one over the table. */
#include <math.h>
#include <string.h>

#include "rt/fns.h"

static int64_t bucket_of(double x, const double *line, int64_t m) {
    double at = (x - line[0]) * line[1];
    return at < 0 ? 0 : at < (double)m ? (int64_t)at : m - 1;
}

/* How many are in each bucket; false: they do not go up, or are not numbers that a line fits. */
static bool count(const double *x, int64_t n, int64_t first, int64_t step, double *line, int64_t *table,
                  int64_t m) {
    double lo = x[first], hi = x[first + (n - 1) * step], before = lo;
    line[0] = lo;
    line[1] = (double)m / (hi - lo);
    if (!(hi > lo) || !isfinite(hi - lo) || !isfinite(line[1]))
        return false;
    for (int64_t i = 0; i < n; i++) {
        double at = x[first + i * step];
        if (!(at >= before))
            return false;
        table[bucket_of(at, line, m)]++;
        before = at;
    }
    return true;
}

int64_t tr_rt_places(void *xowner, const double *x, int64_t n, int64_t first, int64_t step, void *lowner,
                     double *line, int64_t nline, void *towner, int64_t *table, int64_t m) {
    int64_t start = 0, before = 0, widest = 0;
    (void)xowner;
    (void)lowner;
    (void)nline;
    (void)towner;
    memset(table, 0, (size_t)m * sizeof *table);
    if (n < 1 || !count(x, n, first, step, line, table, m)) {
        line[0] = line[1] = 0.0;
        memset(table, 0, (size_t)m * sizeof *table);
        return -1;
    }
    for (int64_t b = 0; b < m; b++) {
        int64_t here = table[b], near = before + here + (b + 1 < m ? table[b + 1] : 0);
        table[b] = start;
        widest = near > widest ? near : widest;
        start += before;
        before = here;
    }
    return widest ? 64 - __builtin_clzll((uint64_t)widest) : 0;
}
