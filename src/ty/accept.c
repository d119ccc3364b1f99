/* What a function with declared signatures takes: which conversions there are, how far each goes, and which
 * signature a call means. Python's calls (ext/spec.c) and those in compiled code (infer/contract.c) both ask
 * here, so that they cannot differ. */
#include "ty/ty.h"

#include <assert.h>

static int class_rank(char cls) {
    return cls == 'b' ? 0 : cls == 'i' || cls == 'u' ? 1 : cls == 'f' ? 2 : 3;
}

static unsigned scalar_size(tr_tyk k) {
    static const uint8_t size[TR_TY__SCALARS] = {
#define X(id, ir, user, bytes, cls) bytes,
        TR_SCALARS(X)
#undef X
    };
    return size[k];
}

static char scalar_class(tr_tyk k) {
    static const char cls[TR_TY__SCALARS] = {
#define X(id, ir, user, bytes, c) c,
        TR_SCALARS(X)
#undef X
    };
    return cls[k];
}

/* 1 and 2 within the class, widening before narrowing; 3.. a class up each. */
int tr_ty_accept_scalar(tr_tyk from, const tr_ty *to) {
    assert(from < TR_TY__SCALARS && "a number is offered");
    if (!tr_ty_is_scalar(to))
        return -1;
    if (from == (tr_tyk)to->kind)
        return 0;
    int a = class_rank(scalar_class(from)), b = class_rank(tr_ty_class(to));
    if (a > b)
        return -1;
    if (a < b)
        return 1 + 2 * (b - a) + (scalar_size(from) * (b == 3 ? 2 : 1) > tr_ty_size(to));
    return scalar_size(from) <= tr_ty_size(to) ? 1 : 2;
}

int tr_ty_accept_array(const tr_arrk *from, const tr_ty *to) {
    if (!tr_ty_is(to, TR_TY_ARRAY) || to->sub != from->form || (tr_tyk)to->elem->kind != from->elem ||
        to->ndim != from->ndim || (from->readonly && !to->readonly))
        return -1;
    if (to->layout != TR_LAYOUT_ANY && !(from->layouts >> to->layout & 1))
        return -1;
    return (from->layout != (tr_layout)to->layout) + (from->readonly != (bool)to->readonly);
}

static int accept_number(const tr_ty *from, const tr_ty *to) {
    return tr_ty_accept_scalar((tr_tyk)from->kind, to);
}

static int accept_array(const tr_ty *from, const tr_ty *to) {
    assert(from->kind == TR_TY_ARRAY && "the cell is the kind's");
    tr_arrk k = {(tr_tyk)from->elem->kind, from->ndim,     (tr_layout)from->layout,
                 1u << from->layout,       from->readonly, from->sub};
    return tr_ty_accept_array(&k, to);
}

/* Records of the same fields. */
static int accept_records(const tr_ty *from, const tr_ty *to) {
    if (to->kind != from->kind || to->items[0]->sub != from->items[0]->sub ||
        !tr_ty_same_fields(from->items[0]->elem, to->items[0]->elem))
        return -1;
    int cost = accept_array(from->items[0], to->items[0]);
    return cost < 0 ? cost : cost + (from->items[0]->elem != to->items[0]->elem);
}

static int accept_date(const tr_ty *from, const tr_ty *to) {
    return to->kind == from->kind && tr_ty_same_date(from, to) ? 0 : -1;
}

static int accept_dates(const tr_ty *from, const tr_ty *to) {
    return accept_date(from, to) ? -1 : accept_array(from->items[0], to->items[0]);
}

static int accept_chars(const tr_ty *from, const tr_ty *to) {
    return to->kind != from->kind || to->sub != from->sub ? -1 : accept_array(from->items[0], to->items[0]);
}

static int accept_tuple(const tr_ty *from, const tr_ty *to) {
    int total = 0;
    if (!tr_ty_is(to, TR_TY_TUPLE) || to->n != from->n || tr_ty_is_list(from) ||
        (to->fields && !tr_ty_same_class(from, to)))
        return -1;
    for (uint32_t i = 0; i < to->n; i++) {
        int c = tr_ty_accept(from->items[i], to->items[i]);
        if (c < 0)
            return -1;
        total += c;
    }
    return total;
}

/* Where it is None, that is told at run time. */
static int accept_held(const tr_ty *from, const tr_ty *to) {
    assert(from->kind == TR_TY_OPT && from->n == 2 && "what may be None holds a value");
    return tr_ty_accept(from->items[1], to);
}

static int accept_no(const tr_ty *from, const tr_ty *to) {
    (void)from, (void)to;
    return -1;
}

int tr_ty_accept(const tr_ty *from, const tr_ty *to) {
    static int (*const accept[])(const tr_ty *, const tr_ty *) = {
#define KIND(ID, word, user, items, ty, ...)                     ty,
#define TY(parts, owned, text, read, user, join, strong, accept) accept_##accept
#include "ty/kinds.def"
    };
    return from == to ? 0 : accept[tr_ty_row(from)](from, to);
}

uint32_t tr_ty_choose(uint32_t nsigs, uint32_t nargs, tr_accept_fn cost, void *user) {
    uint32_t best = UINT32_MAX;
    int least = INT32_MAX;
    for (uint32_t k = 0; k < nsigs; k++) {
        int total = 0;
        for (uint32_t i = 0; i < nargs && total >= 0; i++) {
            int c = cost(user, k, i);
            total = c < 0 ? -1 : total + c;
        }
        if (total >= 0 && total < least) {
            least = total;
            best = k;
        }
    }
    return best;
}
