/* Sorting: items of a line in place, and the places of its items.
 *
 * NumPy's own functions do it where Python's host has handed them over (tr_rt_sorts_set): they have vectors
 * inside, and the order of equal items, of zeros of both signs and of NaNs is then NumPy's in every
 * algorithm. Elsewhere (treadlec, C tests) it is a merge sort of ours, which is stable: sorted values compare
 * equal to NumPy's, and so do places under TR_SORT_STABLE. Lines whose items lie apart go through a buffer.
 * Nothing here keeps state but that table, which is written once.
 * Cost: n log n; half as much memory as the items for the stable ones. Places of many items mostly
 * come from a sort of words (argsort.c). */
#include <stdatomic.h>
#include <string.h>

#include "rt/argsort.h"
#include "rt/enter.h"
#include "rt/sort.h"

/* --- our own --- */

enum { FEW = 16 };

#define OWN(name, T, LESS, NAN, PLAIN)                                                   \
    static void merge_##name(T *a, int64_t n, T *tmp) {                                  \
        if (n <= FEW) {                                                                  \
            for (int64_t i = 1; i < n; i++) {                                            \
                T x = a[i];                                                              \
                int64_t j = i;                                                           \
                for (; j > 0 && LESS(x, a[j - 1]); j--)                                  \
                    a[j] = a[j - 1];                                                     \
                a[j] = x;                                                                \
            }                                                                            \
            return;                                                                      \
        }                                                                                \
        int64_t h = n / 2, i = 0, j = h, k = 0;                                          \
        merge_##name(a, h, tmp);                                                         \
        merge_##name(a + h, n - h, tmp);                                                 \
        if (!(LESS(a[h], a[h - 1])))                                                     \
            return;                                                                      \
        memcpy(tmp, a, (size_t)h * sizeof *a);                                           \
        while (i < h && j < n)                                                           \
            a[k++] = LESS(a[j], tmp[i]) ? a[j++] : tmp[i++];                             \
        memcpy(a + k, tmp + i, (size_t)(h - i) * sizeof *a);                             \
    }                                                                                    \
    static int sort_##name(void *items, intptr_t n, void *unused) {                      \
        (void)unused;                                                                    \
        T *tmp = n > FEW ? malloc((size_t)(n / 2) * sizeof *tmp) : NULL;                 \
        if (n > FEW && !tmp)                                                             \
            return -1;                                                                   \
        merge_##name(items, n, tmp);                                                     \
        free(tmp);                                                                       \
        return 0;                                                                        \
    }                                                                                    \
    static void argmerge_##name(const T *v, intptr_t *a, int64_t n, intptr_t *tmp) {     \
        if (n <= FEW) {                                                                  \
            for (int64_t i = 1; i < n; i++) {                                            \
                intptr_t x = a[i];                                                       \
                int64_t j = i;                                                           \
                for (; j > 0 && LESS(v[x], v[a[j - 1]]); j--)                            \
                    a[j] = a[j - 1];                                                     \
                a[j] = x;                                                                \
            }                                                                            \
            return;                                                                      \
        }                                                                                \
        int64_t h = n / 2, i = 0, j = h, k = 0;                                          \
        argmerge_##name(v, a, h, tmp);                                                   \
        argmerge_##name(v, a + h, n - h, tmp);                                           \
        if (!(LESS(v[a[h]], v[a[h - 1]])))                                               \
            return;                                                                      \
        memcpy(tmp, a, (size_t)h * sizeof *a);                                           \
        while (i < h && j < n)                                                           \
            a[k++] = LESS(v[a[j]], v[tmp[i]]) ? a[j++] : tmp[i++];                       \
        memcpy(a + k, tmp + i, (size_t)(h - i) * sizeof *a);                             \
    }                                                                                    \
    static int argsort_##name(void *items, intptr_t *places, intptr_t n, void *unused) { \
        (void)unused;                                                                    \
        intptr_t *tmp = n > FEW ? malloc((size_t)(n / 2) * sizeof *tmp) : NULL;          \
        if (n > FEW && !tmp)                                                             \
            return -1;                                                                   \
        argmerge_##name(items, places, n, tmp);                                          \
        free(tmp);                                                                       \
        return 0;                                                                        \
    }
TR_SORT_ITEMS(OWN)

#define SORT(name)    sort_##name
#define ARGSORT(name) argsort_##name
static tr_sort_fn *const own_sort[TR_SORT__TYPES] = TR_SORT_TABLE(SORT);
static tr_argsort_fn *const own_argsort[TR_SORT__TYPES] = TR_SORT_TABLE(ARGSORT);

/* --- the host's --- */

static tr_sorts the_sorts; /* written once, by who brings `have` from NONE to WRITING */
enum { NONE, WRITING, THERE };
static _Atomic(int) have;

void tr_rt_sorts_set(const tr_sorts *s) {
    int none = NONE;
    if (!atomic_compare_exchange_strong(&have, &none, WRITING))
        return;
    the_sorts = *s;
    atomic_store_explicit(&have, THERE, memory_order_release);
}

static bool have_theirs(void) {
    return atomic_load_explicit(&have, memory_order_acquire) == THERE;
}

/* Of equal integers nobody sees which comes first, and only one way has vectors. */
static bool equals_are_alike(int64_t type) {
    return type >= TR_SORT_I32 && type <= TR_SORT_U64;
}

static tr_sort_fn *sort_of(int64_t type, int64_t how) {
    how = equals_are_alike(type) ? TR_SORT_QUICK : how;
    tr_sort_fn *f = have_theirs() ? the_sorts.sort[type][how] : NULL;
    return f ? f : own_sort[type];
}

static tr_argsort_fn *argsort_of(int64_t type, int64_t how) {
    tr_argsort_fn *f = have_theirs() ? the_sorts.argsort[type][how] : NULL;
    return f ? f : own_argsort[type];
}

/* --- what compiled code calls --- */

static bool sort_line(int64_t type, int64_t how, void *data, int64_t n, int64_t stride) {
    tr_line l;
    bool ok = tr_line_open(&l, data, n, stride, tr_sort_size(type), true, false) &&
              sort_of(type, how)(l.items, n, NULL) >= 0;
    tr_line_close(&l, ok);
    return ok;
}

int64_t tr_rt_sort(int64_t type, int64_t how, void *owner, void *data, int64_t n, int64_t stride) {
    (void)owner;
    bool ok = n <= 1 || sort_line(type, how, data, n, stride);
    tr_rt_look();
    return ok ? 0 : TR_SORT_NOMEM;
}

static bool argsort_line(int64_t type, int64_t how, const void *data, int64_t n, int64_t stride,
                         int64_t *places, int64_t step) {
    tr_line a, p;
    bool goes_on = how & TR_SORT_GOES_ON, ok = false;
    if (!tr_line_open(&a, data, n, stride, tr_sort_size(type), true, false)) {
        tr_line_close(&a, false);
        return false;
    }
    if (tr_line_open(&p, places, n, step, sizeof *places, goes_on, false)) {
        intptr_t *to = p.items;
        how &= ~(int64_t)TR_SORT_GOES_ON;
        bool packed = tr_argsort_packed(type, a.items, to, n, goes_on, how == TR_SORT_STABLE);
        for (int64_t i = 0; i < n && !packed && !goes_on; i++)
            to[i] = i;
        ok = packed || n <= 1 || argsort_of(type, how)(a.items, to, n, NULL) >= 0;
    }
    tr_line_close(&p, ok);
    tr_line_close(&a, false);
    return ok;
}

int64_t tr_rt_argsort(int64_t type, int64_t how, void *ao, const void *a, int64_t n, int64_t as, void *po,
                      int64_t *places, int64_t np, int64_t ps) {
    (void)ao, (void)po, (void)np;
    bool ok = n <= 0 || argsort_line(type, how, a, n, as, places, ps);
    tr_rt_look();
    return ok ? 0 : TR_SORT_NOMEM;
}
