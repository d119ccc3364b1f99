/* Linear expressions over SSA values, in exact integers: c + k0*v0 + k1*v1 + ...
 * Small and fixed in size; an operation that does not fit says so and its caller gives up. */
#ifndef TR_OPT_LIN_H
#define TR_OPT_LIN_H

#include "ir/ir.h"

typedef __int128 tr_wide;
enum { TR_LIN_TERMS = 8, TR_LIN_COEF = 1 << 20 };

typedef struct tr_lterm {
    tr_val v;
    int64_t k; /* never 0 */
} tr_lterm;

typedef struct tr_lin {
    uint32_t n;
    tr_lterm t[TR_LIN_TERMS];
    tr_wide c;
} tr_lin;

static inline tr_lin tr_lin_const(tr_wide c) {
    return (tr_lin){.c = c};
}
static inline tr_lin tr_lin_val(tr_val v) {
    return (tr_lin){.n = 1, .t = {{v, 1}}};
}

/* a += k*b; false (a is then of no use) when there are too many terms or a coefficient grows too large. */
static inline bool tr_lin_add(tr_lin *a, const tr_lin *b, int64_t k) {
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t j = 0;
        int64_t add = b->t[i].k * k; /* both at most 2**20 */
        while (j < a->n && a->t[j].v != b->t[i].v)
            j++;
        if (j == a->n) {
            if (j == TR_LIN_TERMS)
                return false;
            a->t[a->n++] = (tr_lterm){b->t[i].v, 0};
        }
        a->t[j].k += add;
        if (a->t[j].k > TR_LIN_COEF || a->t[j].k < -TR_LIN_COEF)
            return false;
        if (a->t[j].k == 0)
            a->t[j] = a->t[--a->n];
    }
    a->c += b->c * k;
    return a->c < ((tr_wide)1 << 100) && a->c > -((tr_wide)1 << 100);
}

static inline bool tr_lin_same(const tr_lin *a, const tr_lin *b) {
    tr_lin d = *a;
    return tr_lin_add(&d, b, -1) && d.n == 0 && d.c == 0;
}

#endif
