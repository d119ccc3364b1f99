/* The choice of a ufunc's loop by types. Python's numbers are weak, as NEP 50 has it: a float takes the
 * precision of the arrays beside it, an int stays an integer and does not widen what it meets. With
 * declared signatures the first one that all inputs convert to safely is taken, an exact one before all
 * others. */
#include "ty/pick.h"

#include <assert.h>

/* --- any types --- */

static bool in_half(tr_operand x) {
    return x.half || x.kind == TR_TY_BOOL || x.kind == TR_TY_I8 || x.kind == TR_TY_U8;
}

static tr_operand both(tr_operand a, tr_operand b) {
    if ((a.half || b.half) && in_half(a) && in_half(b))
        return a.half ? a : b;
    return tr_operand_of(tr_ty_promote((tr_tyk)a.kind, (tr_tyk)b.kind), false);
}

tr_operand tr_operands_common(const tr_operand *x, uint32_t n) {
    tr_operand t = {.kind = TR_OPERAND_OPEN};
    for (uint32_t i = 0; i < n; i++)
        if (!x[i].weak && x[i].kind < TR_TY__SCALARS)
            t = t.kind == TR_OPERAND_OPEN ? x[i] : both(t, x[i]);
    return t;
}

tr_operand tr_operand_beside(tr_operand weak, tr_operand common) {
    assert(weak.weak && !common.weak && "a weak one beside what the others are");
    bool narrow = common.kind == TR_TY_F32 || common.kind == TR_TY_C64;
    switch (weak.kind) {
    case TR_TY_F64: return (tr_operand){.kind = narrow ? TR_TY_F32 : TR_TY_F64, .half = common.half};
    case TR_TY_C128: return tr_operand_of(narrow ? TR_TY_C64 : TR_TY_C128, false);
    default: return tr_operand_of((tr_tyk)weak.kind, common.kind != TR_OPERAND_OPEN);
    }
}

/* --- declared signatures --- */

typedef enum how { EXACT, AS_STRONG, AS_WEAK } how;

static bool operand_fits(tr_operand x, const tr_ty *to, how h) {
    if (x.kind >= TR_TY__SCALARS)
        return x.kind == TR_OPERAND_OPEN;
    tr_tyk k = x.half ? TR_TY_F16 : (tr_tyk)x.kind;
    if (h == EXACT)
        return !x.weak && !x.alias && k == (tr_tyk)to->kind;
    if (h == AS_STRONG || !x.weak)
        return tr_ty_promote(k, (tr_tyk)to->kind) == (tr_tyk)to->kind;
    switch (x.kind) {
    case TR_TY_F64: return tr_ty_is_float(to) || tr_ty_is_complex(to);
    case TR_TY_C128: return tr_ty_is_complex(to);
    default: return to->kind != TR_TY_BOOL;
    }
}

static int64_t search(const tr_operand *x, uint32_t nin, tr_sig_fn *sig, const void *self, uint32_t n,
                      how h) {
    for (uint32_t k = 0; k < n; k++) {
        const tr_ty *const *types = sig(self, k);
        uint32_t i = 0;
        while (types && i < nin &&
               operand_fits(x[i], types[i]->kind == TR_TY_ARRAY ? types[i]->elem : types[i], h))
            i++;
        if (types && i == nin)
            return k;
    }
    return -1;
}

int64_t tr_operands_pick(const tr_operand *x, uint32_t nin, tr_sig_fn *sig, const void *self, uint32_t n) {
    bool all_weak = true;
    assert(nin <= TR_MAX_OPERANDS && "there are sets of operands");
    for (uint32_t i = 0; i < nin; i++)
        all_weak = all_weak && x[i].weak;
    int64_t k = search(x, nin, sig, self, n, EXACT);
    if (k < 0 && all_weak)
        k = search(x, nin, sig, self, n, AS_STRONG);
    return k < 0 ? search(x, nin, sig, self, n, AS_WEAK) : k;
}
