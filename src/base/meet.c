/* Do two arrays share an element? (Memory overlap of strided arrays: a bounded linear Diophantine equation.)
 *
 * An element of one array and one of the other meet where a sum of indices times strides is the distance of
 * their first elements, up to the size of an element. What the equation cannot be for reasons of size or of
 * the strides' greatest common divisor is answered at once: arrays beside each other, interleaved columns.
 * The rest is searched axis by axis, the largest stride first, within what the smaller ones can still
 * reach: blocks of columns take a step or two. The problem is NP-complete in the number of axes, so the
 * search ends after MAX_STEPS, with "yes".
 * Cost: tens of nanoseconds, or MAX_STEPS small ones. */
#include "base/meet.h"

#include <assert.h>

enum { MAX_TERMS = 2 * TR_MEET_NDIM, MAX_STEPS = 1000 };

/* x * step, x from lo to hi. */
typedef struct term {
    int64_t step, lo, hi;
} term;

/* Is a sum of the terms within from .. to? */
typedef struct equation {
    term t[MAX_TERMS];
    int64_t least[MAX_TERMS + 1], most[MAX_TERMS + 1]; /* of the sum of the terms from k on */
    unsigned n;
    int steps;
} equation;

/* Adds an axis of n items, each `step` bytes on: of the first array (sign 1) or the second
 * (-1), which is subtracted. Axes whose steps are equal are one term. Steps below 0 count
 * from the other end: `at` goes there. */
static void add_axis(equation *e, int64_t n, int64_t step, int sign, int64_t *at) {
    unsigned k = 0;
    if (n == 1 || step == 0)
        return;
    if (step < 0) {
        *at += (n - 1) * step;
        step = -step;
    }
    while (k < e->n && e->t[k].step > step)
        k++;
    if (k == e->n || e->t[k].step != step) {
        assert(e->n < MAX_TERMS && "there is room for a term of each axis");
        for (unsigned i = e->n++; i > k; i--)
            e->t[i] = e->t[i - 1];
        e->t[k] = (term){step, 0, 0};
    }
    e->t[k].hi += sign > 0 ? n - 1 : 0;
    e->t[k].lo -= sign > 0 ? 0 : n - 1;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Is there a multiple of the strides' common divisor within? */
static bool may_divide(const equation *e, int64_t from, int64_t to) {
    int64_t g = 0;
    for (unsigned k = 0; k < e->n; k++)
        g = gcd(e->t[k].step, g);
    return g == 0 ? from <= 0 && to >= 0 : floor_div(to, g) * g >= from;
}

static bool search(equation *e, unsigned k, int64_t from, int64_t to) {
    if (from > e->most[k] || to < e->least[k])
        return false;
    if (k == e->n || ++e->steps > MAX_STEPS)
        return true;
    const term *t = &e->t[k];
    assert(t->step > 0 && t->lo <= 0 && t->hi >= 0 && "steps go up, and 0 is among the indices");
    int64_t lo = -floor_div(e->most[k + 1] - from, t->step), hi = floor_div(to - e->least[k + 1], t->step);
    lo = lo > t->lo ? lo : t->lo;
    hi = hi < t->hi ? hi : t->hi;
    for (int64_t x = lo; x <= hi; x++)
        if (search(e, k + 1, from - x * t->step, to - x * t->step))
            return true;
    return false;
}

static bool extent_is_empty(const tr_extent *a) {
    for (unsigned k = 0; k < a->ndim; k++)
        if (a->shape[k] == 0)
            return true;
    return false;
}

bool tr_extents_meet(const tr_extent *a, const tr_extent *b) {
    equation e = {.n = 0};
    assert(a->size > 0 && b->size > 0 && "an element has bytes");
    assert(a->ndim <= TR_MEET_NDIM && b->ndim <= TR_MEET_NDIM && "there is room for all axes");
    int64_t x = (int64_t)(intptr_t)a->data, y = (int64_t)(intptr_t)b->data;
    if (extent_is_empty(a) || extent_is_empty(b))
        return false;
    for (unsigned k = 0; k < a->ndim; k++)
        add_axis(&e, a->shape[k], a->stride[k] * a->size, 1, &x);
    for (unsigned k = 0; k < b->ndim; k++)
        add_axis(&e, b->shape[k], b->stride[k] * b->size, -1, &y);
    for (unsigned k = e.n; k-- > 0;) {
        e.least[k] = e.least[k + 1] + e.t[k].lo * e.t[k].step;
        e.most[k] = e.most[k + 1] + e.t[k].hi * e.t[k].step;
    }
    /* One element begins where the other does, or less than its own size before, or less
     * than the other's behind. */
    int64_t from = y - x - a->size + 1, to = y - x + b->size - 1;
    return from <= e.most[0] && to >= e.least[0] && may_divide(&e, from, to) && search(&e, 0, from, to);
}

static bool extents_are_same(const tr_extent *a, const tr_extent *b) {
    bool same = a->data == b->data && a->size == b->size && a->ndim == b->ndim;
    for (unsigned k = 0; k < a->ndim && same; k++)
        same = a->stride[k] == b->stride[k];
    return same;
}

/* From the first byte to behind the last one; of none, where there is no element. */
typedef struct span {
    int64_t lo, hi;
} span;

static span span_of(const tr_extent *a) {
    span s = {(int64_t)(intptr_t)a->data, (int64_t)(intptr_t)a->data + a->size};
    for (unsigned k = 0; k < a->ndim; k++) {
        int64_t far = (a->shape[k] - 1) * a->stride[k] * a->size;
        if (a->shape[k] == 0)
            return (span){0, 0};
        s.lo += far < 0 ? far : 0;
        s.hi += far < 0 ? 0 : far;
    }
    return s;
}

bool tr_some_meet(const tr_extent *e, unsigned n, unsigned written, uint64_t same) {
    span s[TR_MEET_MAX];
    assert(n <= TR_MEET_MAX && written <= n && "there is room for all arrays");
    for (unsigned i = 0; i < n; i++)
        s[i] = span_of(&e[i]);
    for (unsigned i = 0; i < written; i++)
        for (unsigned k = i + 1; k < n; k++, same >>= 1)
            if (s[i].lo < s[k].hi && s[k].lo < s[i].hi && !((same & 1) && extents_are_same(&e[i], &e[k])) &&
                tr_extents_meet(&e[i], &e[k]))
                return true;
    return false;
}
