/* Selecting: which item belongs at a place (np.partition, np.median), without sorting the others.
 *
 * Floyd and Rivest's way: a sample says between which items the one that is wanted lies, so most others are looked at once and a half.
 * What a pivot splits is written without a jump that could be guessed wrong (select_type.h). Random numbers begin with the length, so a
 * result depends on the items alone. Where pivots fail too often a heap sorts the rest, so there is no slow input.
 * Cost: for items of 8 bytes about 1 ns each. Of a line to be left as it is (tr_rt_ranked) it is one walk, and an eighth of the memory; a
 * copy where there are many items that differ between those of the sample. */
#include <math.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/sort.h"

/* FEW are sorted; from SAMPLED on a sample is worth it. CHUNK: items that are moved, or counted, at once. */
enum { SEL_FEW = 24, SEL_SAMPLED = 1024, SEL_RANKED = 8192, SEL_CHUNK = 128 };

static int64_t below(uint64_t *seed, int64_t n) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(((unsigned __int128)*seed * (uint64_t)n) >> 64);
}

static int64_t sample_size(int64_t n) {
    double c = cbrt((double)n);
    return (int64_t)(c * c);
}

/* Where in a sample the item is that lies before (side -1), or behind (1), item k of n; hardly ever not. */
static int64_t sample_at(int64_t n, int64_t k, int64_t many, int side) {
    double s = (double)many, at = ((double)k + 0.5) / (double)n * s, off = 0.5 * sqrt(s * log((double)n)) + 1;
    int64_t r = (int64_t)(at + side * off);
    return r < 0 ? 0 : r >= many ? many - 1 : r;
}

static int64_t sample_rank(int64_t n, int64_t k, int64_t many) {
    return sample_at(n, k, many, k < n / 2 ? 1 : -1);
}

#define SEL_PASTE(a, b) a##_##b
#define SEL_CAT(a, b)   SEL_PASTE(a, b)

#define ITEM(name, type, less, nan, plain)                         \
    typedef type item_##name;                                      \
    static inline int less_##name(item_##name a, item_##name b) {  \
        return less(a, b);                                         \
    }                                                              \
    static inline int plain_##name(item_##name a, item_##name b) { \
        return plain(a, b);                                        \
    }                                                              \
    static inline int nan_##name(item_##name a) {                  \
        return nan(a);                                             \
    }
TR_SORT_ITEMS(ITEM)

#define SEL i8
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL u8
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL i16
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL u16
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL i32
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL u32
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL i64
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL u64
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL f16
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL f32
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL f64
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL c64
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL c128
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL

#define PARTITION(name) partition_##name
#define PLACES(name)    partition_places_##name
#define RANKED(name)    ranked_##name
typedef void partition_fn(const void *from, int64_t step, int64_t n, void *to, const int64_t *kth,
                          int64_t nkth);
typedef int64_t ranked_fn(const void *from, int64_t step, int64_t n, int64_t k, void *to, int64_t m);
static partition_fn *const partition_of[TR_SORT__TYPES] = TR_SORT_TABLE(PARTITION);
static partition_fn *const places_of[TR_SORT__TYPES] = TR_SORT_TABLE(PLACES);
static ranked_fn *const ranked_of[TR_SORT__TYPES] = TR_SORT_TABLE(RANKED);

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* kth in order, in a buffer. */
static bool open_kth(tr_line *l, const int64_t *kth, int64_t nkth) {
    bool ok = tr_line_open(l, kth, nkth, 1, sizeof *kth, true, true);
    if (ok)
        qsort(l->items, (size_t)nkth, sizeof *kth, ascending);
    return ok;
}

static bool partition_line(int64_t type, const void *a, int64_t n, int64_t as, void *to, int64_t ts,
                           const int64_t *kth, int64_t nkth) {
    tr_line l, k;
    bool in_place = a == to, ok = false;
    if (!open_kth(&k, kth, nkth)) {
        tr_line_close(&k, false);
        return false;
    }
    if (tr_line_open(&l, to, n, ts, tr_sort_size(type), in_place, false)) {
        partition_of[type](in_place ? l.items : a, in_place ? 1 : as, n, l.items, k.items, nkth);
        ok = true;
    }
    tr_line_close(&l, ok);
    tr_line_close(&k, false);
    return ok;
}

int64_t tr_rt_partition(int64_t type, void *ao, const void *a, int64_t n, int64_t as, void *to_owner,
                        void *to, int64_t m, int64_t ts, void *ko, const int64_t *kth, int64_t nkth) {
    (void)ao, (void)to_owner, (void)m, (void)ko;
    bool ok = partition_line(type, a, n, as, to, ts, kth, nkth);
    tr_rt_look();
    return ok ? 0 : TR_SORT_NOMEM;
}

static bool places_line(int64_t type, const void *a, int64_t n, int64_t as, int64_t *places, int64_t ps,
                        const int64_t *kth, int64_t nkth) {
    tr_line l, p, k;
    bool ok = false;
    if (!open_kth(&k, kth, nkth)) {
        tr_line_close(&k, false);
        return false;
    }
    if (tr_line_open(&l, a, n, as, tr_sort_size(type), true, false)) {
        if (tr_line_open(&p, places, n, ps, sizeof *places, false, false)) {
            places_of[type](l.items, 1, n, p.items, k.items, nkth);
            ok = true;
        }
        tr_line_close(&p, ok);
    }
    tr_line_close(&l, false);
    tr_line_close(&k, false);
    return ok;
}

int64_t tr_rt_argpartition(int64_t type, void *ao, const void *a, int64_t n, int64_t as, void *po,
                           int64_t *places, int64_t np, int64_t ps, void *ko, const int64_t *kth,
                           int64_t nkth) {
    (void)ao, (void)po, (void)np, (void)ko;
    bool ok = places_line(type, a, n, as, places, ps, kth, nkth);
    tr_rt_look();
    return ok ? 0 : TR_SORT_NOMEM;
}

int64_t tr_rt_ranked(int64_t type, int64_t k, void *ao, const void *a, int64_t n, int64_t as, void *to_owner,
                     void *to, int64_t m) {
    (void)ao, (void)to_owner;
    int64_t r = ranked_of[type](a, as, n, k, to, m);
    tr_rt_look();
    return r;
}
