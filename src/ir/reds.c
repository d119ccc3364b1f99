/* The table of reductions as data, and their identities: the one place that knows them. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ir/ir.h"

const tr_redinfo tr_red_info[TR_RED__COUNT] = {
#define X(id, name, op, wins, start, of, repeats, place, joins, absorbs) \
    {op, wins, start, of, repeats, place, joins, absorbs},
#include "ir/reds.def"
#undef X
};

tr_op tr_red_op(tr_redk k, const tr_ty *t) {
    const tr_redinfo *i = &tr_red_info[k];
    return i->wins == TR_CMP_EQ || tr_ty_is_int(t) ? i->op : TR_OP__COUNT;
}

static bool are_numbers(const tr_ty *t) {
    for (uint32_t i = 0; t->kind == TR_TY_TUPLE && i < t->n; i++)
        if (!tr_ty_is_scalar(t->items[i]) || !tr_red_takes(TR_RED_JOIN, t->items[i]))
            return false;
    return t->kind == TR_TY_TUPLE && t->n > 0;
}

bool tr_red_takes(tr_redk k, const tr_ty *t) {
    assert(k < TR_RED__COUNT);
    if (tr_red_info[k].joins && are_numbers(t))
        return true;
    return tr_ty_is_scalar(t) && strchr(tr_red_info[k].of, tr_ty_class(t)) &&
           !(tr_red_info[k].place && t->kind == TR_TY_F16); /* looked for in buffers of wider items */
}

bool tr_scatter_takes(unsigned how, const tr_ty *t) {
    assert(how < TR_SCATTER__COUNT);
    return how == TR_SCATTER_PUT
               ? tr_ty_is_scalar(t)
               : !tr_red_info[how].place && how != TR_RED_LAST && tr_red_takes((tr_redk)how, t);
}

bool tr_red_regroups(tr_redk k, const tr_ty *t) {
    const tr_redinfo *i = &tr_red_info[k];
    return i->joins || (!i->repeats && !i->place && (tr_ty_is_float(t) || tr_ty_is_complex(t)));
}

bool tr_red_absorbs(tr_redk k, const tr_ty *t) {
    return t->kind == TR_TY_BOOL && tr_red_info[k].absorbs != TR_START__COUNT;
}

static int64_t smallest_int(const tr_ty *t) {
    return tr_ty_class(t) == 'i' ? (int64_t)(~UINT64_C(0) << (8 * tr_ty_size(t) - 1)) : 0;
}

/* Bits above the type's width are all equal, which is what a constant of a narrow type is made of. */
static int64_t start_int(tr_start s, const tr_ty *t) {
    switch (s) {
    case TR_START_ONE: return 1;
    case TR_START_ONES: return t->kind == TR_TY_BOOL ? 1 : -1;
    case TR_START_SMALLEST: return smallest_int(t);
    case TR_START_LARGEST: return t->kind == TR_TY_BOOL ? 1 : ~smallest_int(t);
    default: return 0;
    }
}

/* -0.0 + x is x, bit for bit. */
static double start_real(tr_start s) {
    switch (s) {
    case TR_START_ONE: return 1.0;
    case TR_START_SMALLEST: return -HUGE_VAL;
    case TR_START_LARGEST: return HUGE_VAL;
    default: return -0.0;
    }
}

tr_number tr_red_start(tr_redk k, const tr_ty *t) {
    assert(tr_red_takes(k, t) && !tr_red_info[k].joins && "a function's identity is the initial value");
    tr_start s = tr_red_info[k].start;
    return (tr_number){start_int(s, t), start_real(s), s == TR_START_ONE ? 0.0 : -0.0};
}

tr_val tr_red_identity(tr_fn *f, tr_redk k, const tr_ty *t) {
    tr_number n = tr_red_start(k, t);
    switch (tr_ty_class(t)) {
    case 'f': return tr_const_float(f, t, n.re);
    case 'c': return tr_const_complex(f, t, n.re, n.im);
    default: return tr_const_int(f, t, n.i);
    }
}
