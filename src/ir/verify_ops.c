/* The rules of each op, checked: how many operands, of which types, and what comes out; of
 * patterns, what their lambdas take and yield. */
#include "ir/verify.h"

#include <inttypes.h>
#include <string.h>

#include "base/meet.h"
#include "ir/internal.h"
#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "ir/summary.h"

/* --- operand types --- */

static const tr_ty *arg_type(const tr_fnck *k, const tr_ins *i, uint32_t n) {
    return n < i->nargs && i->args[n] < k->f->ins.n ? tr_at(k->f, i->args[n])->ty : NULL;
}

static void want_kind(tr_fnck *k, const tr_ins *i, uint32_t n, tr_tyk kind) {
    if (!tr_ck_is_kind(arg_type(k, i, n), kind))
        tr_ck_bad(k, "operand %" PRIu32 " is %s, want %s", n, tr_ck_show(k, arg_type(k, i, n)),
                  tr_tyk_ir_name(kind));
}

void tr_ck_want_type(tr_fnck *k, const tr_ty *got, const tr_ty *want, const char *what) {
    if (got != want)
        tr_ck_bad(k, "%s is %s, want %s", what, tr_ck_show(k, got), tr_ck_show(k, want));
}

static void want_class(tr_fnck *k, const tr_ins *i, uint32_t n, const char *classes) {
    const tr_ty *t = arg_type(k, i, n);
    char c = t ? tr_ty_class(t) : 0;
    if (!c || !strchr(classes, c))
        tr_ck_bad(k, "operand %" PRIu32 " is %s, which this op does not take", n, tr_ck_show(k, t));
}

static void want_array(tr_fnck *k, const tr_ins *i, uint32_t n) {
    if (!tr_ck_is_kind(arg_type(k, i, n), TR_TY_ARRAY))
        tr_ck_bad(k, "operand %" PRIu32 " is %s, want an array", n, tr_ck_show(k, arg_type(k, i, n)));
}

static void want_nargs(tr_fnck *k, const tr_ins *i, uint32_t n) {
    if (i->nargs != n)
        tr_ck_bad(k, "%" PRIu32 " operands, want %" PRIu32, i->nargs, n);
}

static void want_i64s(tr_fnck *k, const tr_ins *i, uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to && n < i->nargs; n++)
        want_kind(k, i, n, TR_TY_I64);
}

/* --- groups of ops --- */

static const char *arith_classes(tr_op op) {
    switch (op) {
    case TR_OP_DIV: return "fc";
    case TR_OP_PYDIV: return "c";
    case TR_OP_FLOORDIV:
    case TR_OP_FLOORMOD:
    case TR_OP_REM: return "iuf";
    case TR_OP_QUOT:
    case TR_OP_MIN:
    case TR_OP_MAX:
    case TR_OP_SHL:
    case TR_OP_SHR:
    case TR_OP_BITS: return "iu";
    case TR_OP_AND:
    case TR_OP_OR:
    case TR_OP_XOR:
    case TR_OP_NOT: return "biu";
    case TR_OP_CMP: return "biufc";
    default: return "iufc";
    }
}

static void check_arith(tr_fnck *k, const tr_ins *i) {
    want_class(k, i, 0, arith_classes((tr_op)i->op));
    if (i->nargs == 2)
        tr_ck_want_type(k, arg_type(k, i, 1), arg_type(k, i, 0), "operand 1");
    const tr_ty *t = arg_type(k, i, 0);
    if (i->op == TR_OP_CMP && t && tr_ty_is_complex(t) && i->sub != TR_CMP_EQ && i->sub != TR_CMP_NE)
        tr_ck_bad(k, "complex numbers have no order");
}

static tr_tyk float_of(const tr_ty *t) {
    return t && t->kind == TR_TY_C64 ? TR_TY_F32 : TR_TY_F64;
}

static void check_complex(tr_fnck *k, const tr_ins *i) {
    if (i->op == TR_OP_CPLX) {
        want_class(k, i, 0, "f");
        if (tr_ck_is_kind(arg_type(k, i, 0), TR_TY_F16))
            tr_ck_bad(k, "there is no complex number of f16");
        tr_ck_want_type(k, arg_type(k, i, 1), arg_type(k, i, 0), "operand 1");
        if (!tr_ck_is_kind(i->ty, tr_ck_is_kind(arg_type(k, i, 0), TR_TY_F32) ? TR_TY_C64 : TR_TY_C128))
            tr_ck_bad(k, "result is %s", tr_ck_show(k, i->ty));
        return;
    }
    const tr_ty *t = arg_type(k, i, 0);
    if (i->op == TR_OP_ABS && t && !tr_ty_is_complex(t)) {
        want_class(k, i, 0, "iuf");
        tr_ck_want_type(k, i->ty, t, "result");
        return;
    }
    want_class(k, i, 0, "c");
    if (!tr_ck_is_kind(i->ty, float_of(t)))
        tr_ck_bad(k, "result is %s", tr_ck_show(k, i->ty));
}

static void check_math(tr_fnck *k, const tr_ins *i) {
    if (i->sub >= TR_MATH__COUNT) /* tr_ck_shape has said so */
        return;
    const tr_mathinfo *m = &tr_math_info[i->sub];
    want_nargs(k, i, m->arity);
    for (uint32_t n = 0; n < i->nargs; n++) {
        want_class(k, i, n, "f");
        tr_ck_want_type(k, arg_type(k, i, n), arg_type(k, i, 0), "operand");
    }
    if (m->result == 'b' ? !tr_ck_is_kind(i->ty, TR_TY_BOOL) : i->ty != arg_type(k, i, 0))
        tr_ck_bad(k, "result is %s", tr_ck_show(k, i->ty));
}

static void check_convert(tr_fnck *k, const tr_ins *i) {
    const tr_ty *from = arg_type(k, i, 0), *to = i->ty;
    want_class(k, i, 0, i->op == TR_OP_CONV ? "biufc" : "iuf");
    if (!to || !tr_ty_is_scalar(to))
        tr_ck_bad(k, "result is %s, want a scalar", tr_ck_show(k, to));
    else if (i->op == TR_OP_BITCAST &&
             (!strchr("iuf", tr_ty_class(to)) || (from && tr_ty_size(from) != tr_ty_size(to))))
        tr_ck_bad(k, "%s has not the same bits as %s", tr_ck_show(k, to), tr_ck_show(k, from));
}

/* What an item is in the code: that a number is weak is said in the types of closures alone, for who calls
 * them. */
static bool is_item(const tr_ty *got, const tr_ty *item) {
    return got == item || (got && item->weak && !got->weak && got->kind == item->kind);
}

static void check_tuple(tr_fnck *k, const tr_ins *i) {
    if (!i->ty || !tr_ty_is_items(i->ty)) {
        tr_ck_bad(k, "%s is not made of items", tr_ck_show(k, i->ty));
        return;
    }
    want_nargs(k, i, i->ty->n);
    for (uint32_t n = 0; n < i->nargs && n < i->ty->n; n++)
        if (!is_item(arg_type(k, i, n), i->ty->items[n]))
            tr_ck_want_type(k, arg_type(k, i, n), i->ty->items[n], "item");
}

static void check_extract(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = arg_type(k, i, 0);
    if (i->imm.i < 0 || i->imm.i >= (t ? t->n : 0))
        tr_ck_bad(k, "%s has no item %" PRIi64, tr_ck_show(k, t), i->imm.i);
    else if (!is_item(i->ty, t->items[i->imm.i]))
        tr_ck_bad(k, "result is %s", tr_ck_show(k, i->ty));
}

/* Each axis of the base once at most, and distances that the base has or the layout says. */
static void check_view(tr_fnck *k, const tr_ins *i) {
    const tr_ty *base = arg_type(k, i, 0), *t = i->ty;
    uint64_t met = 0;
    want_array(k, i, 0);
    if (!tr_ck_is_kind(base, TR_TY_ARRAY) || !tr_ck_is_kind(t, TR_TY_ARRAY)) {
        tr_ck_bad(k, "result is %s, want an array", tr_ck_show(k, t));
        return;
    }
    if (t->ndim > TR_VIEW_AXES || base->ndim > TR_VIEW_BASE_AXES) {
        tr_ck_bad(k, "more than %d axes, or %d of the base", TR_VIEW_AXES, TR_VIEW_BASE_AXES);
        return;
    }
    want_nargs(k, i, 1u + base->ndim + 2u * t->ndim);
    want_i64s(k, i, 1, i->nargs);
    if (t->elem->kind != TR_TY_STRUCT || base->elem->kind != TR_TY_STRUCT ||
        !tr_ty_same_fields(t->elem, base->elem)) /* the class of records is Python's affair */
        tr_ck_want_type(k, t->elem, base->elem, "items");
    if (t->sub != base->sub && !(base->sub == 0 && t->sub == TR_ARRAY_LOOSE))
        tr_ck_bad(k, "a view of %s that counts otherwise", tr_ck_show(k, base));
    for (unsigned a = 0; a < t->ndim; a++) {
        int of = tr_view_axis(i, a);
        if (of >= (int)base->ndim || (of >= 0 && met >> of & 1u))
            tr_ck_bad(k, "axis %u runs along axis %d, which is no axis or has one", a, of);
        met |= of >= 0 ? UINT64_C(1) << of : 0;
    }
    if (t->ndim && t->layout != TR_LAYOUT_ANY && base->layout == TR_LAYOUT_ANY)
        tr_ck_bad(k, "a view of %s, which may lie otherwise", tr_ck_show(k, base));
}

static void check_restride(tr_fnck *k, const tr_ins *i) {
    want_array(k, i, 0);
    if (!tr_ck_is_kind(i->ty, TR_TY_ARRAY)) {
        tr_ck_bad(k, "result is %s, want an array", tr_ck_show(k, i->ty));
        return;
    }
    if (i->nargs && i->ty->sub != arg_type(k, i, 0)->sub &&
        (arg_type(k, i, 0)->sub || i->ty->sub == TR_ARRAY_PACKED))
        tr_ck_bad(k, "claims of items what %s does not", tr_ck_show(k, arg_type(k, i, 0)));
    want_nargs(k, i, 2u + i->ty->ndim * (i->ty->layout == TR_LAYOUT_ANY ? 2u : 1u));
    want_i64s(k, i, 1, i->nargs);
}

static void check_arrayat(tr_fnck *k, const tr_ins *i) {
    if (!tr_ck_is_kind(i->ty, TR_TY_ARRAY) || i->ty->sub) {
        tr_ck_bad(k, "result is %s, want an array", tr_ck_show(k, i->ty));
        return;
    }
    const tr_ty *at = arg_type(k, i, 0);
    if (!tr_ck_is_kind(at, TR_TY_ARRAY) || !tr_ty_is(at->elem, TR_TY_I64) || at->ndim != 1)
        tr_ck_bad(k, "wants an array with the address");
    want_nargs(k, i, 1u + i->ty->ndim * (i->ty->layout == TR_LAYOUT_ANY ? 2u : 1u));
    want_i64s(k, i, 1, i->nargs);
}

static void check_field(tr_fnck *k, const tr_ins *i) {
    const tr_ty *base = arg_type(k, i, 0);
    if (!tr_ck_is_kind(base, TR_TY_ARRAY) || !tr_ty_is_records(base) || (uint64_t)i->imm.i > base->elem->n) {
        tr_ck_bad(k, "operand is %s, want an array of records with that field", tr_ck_show(k, base));
        return;
    }
    tr_ck_want_type(k, i->ty, tr_ty_field_array(k->f->ctx->types, base, (uint32_t)i->imm.i), "result");
    want_nargs(k, i, 1u + i->ty->ndim);
    want_i64s(k, i, 1, i->nargs);
}

static void check_alloc(tr_fnck *k, const tr_ins *i) {
    if (!tr_ck_is_kind(i->ty, TR_TY_ARRAY) || i->ty->layout == TR_LAYOUT_ANY || i->ty->sub) {
        tr_ck_bad(k, "result is %s, want an array of layout c or f", tr_ck_show(k, i->ty));
        return;
    }
    want_nargs(k, i, i->ty->ndim);
    want_i64s(k, i, 0, i->nargs);
}

/* A list, of what is known. */
static bool is_list(const tr_ty *t, tr_tyk kind) {
    return tr_ck_is_kind(t, kind) && t->sub != TR_LIST_CELL && tr_ty_may_lie(t->items[0]);
}

/* What an array's items are to who has one of them. */
static const tr_ty *held_by(const tr_ty *array) {
    return tr_ty_is_slots(array) ? array->elem->items[0] : array->elem;
}

static void check_list(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = i->op == TR_OP_NEWLIST ? i->ty : arg_type(k, i, 0), *a = i->ty;
    bool set = i->op == TR_OP_ITEMS && tr_ck_is_kind(t, TR_TY_SET), fixed;
    if (!is_list(t, set ? TR_TY_SET : TR_TY_LIST)) {
        tr_ck_bad(k, "%s is %s, want a list", i->op == TR_OP_NEWLIST ? "result" : "operand 0",
                  tr_ck_show(k, t));
        return;
    }
    fixed = tr_ty_is_fixed(t);
    if (fixed && i->op != TR_OP_ITEMS)
        tr_ck_bad(k, "%s is a constant", tr_ck_show(k, t));
    else if (i->op == TR_OP_ITEMS &&
             (!tr_ck_is_kind(a, TR_TY_ARRAY) || held_by(a) != t->items[0] || a->ndim != 1 ||
              a->layout != TR_LAYOUT_C || a->readonly != (set || fixed) || a->sub))
        tr_ck_bad(k, "result is %s, want an array of the items of %s", tr_ck_show(k, a), tr_ck_show(k, t));
    else if (i->op == TR_OP_APPEND)
        tr_ck_want_type(k, arg_type(k, i, 1), t->items[0], "the item");
    else if (i->op != TR_OP_ITEMS)
        want_i64s(k, i, i->op == TR_OP_RESIZE, i->nargs);
}

/* A set, what the operation asks for, and the list of a dict's values. */
static void check_set(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = i->op == TR_OP_NEWSET ? i->ty : arg_type(k, i, 0);
    uint32_t most = i->op == TR_OP_ENTER || i->op == TR_OP_LEAVE ? 3 : i->op == TR_OP_EMPTY ? 2 : i->nargs;
    if (!is_list(t, TR_TY_SET)) {
        tr_ck_bad(k, "%s is %s, want a set of numbers", i->op == TR_OP_NEWSET ? "result" : "operand 0",
                  tr_ck_show(k, t));
        return;
    }
    if (tr_ty_is_fixed(t) && (i->op == TR_OP_NEWSET || tr_op_info[i->op].effects & E_GROW))
        tr_ck_bad(k, "%s is a constant", tr_ck_show(k, t));
    else if (i->nargs > most || i->nargs + 1 < most)
        tr_ck_bad(k, "has %u operands", i->nargs);
    else if (i->nargs == most && most > 2 - (i->op == TR_OP_EMPTY) && tr_op_info[i->op].effects & E_GROW &&
             !is_list(arg_type(k, i, most - 1), TR_TY_LIST))
        tr_ck_bad(k, "the values are %s, want a list of numbers", tr_ck_show(k, arg_type(k, i, most - 1)));
    else if (i->op == TR_OP_FIND || i->op == TR_OP_ENTER)
        tr_ck_want_type(k, arg_type(k, i, 1), t->items[0], "the key");
    else if (i->op == TR_OP_WALKON || i->op == TR_OP_LEAVE)
        want_i64s(k, i, 1, 2);
}

static void check_string(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = arg_type(k, i, 0);
    if (i->op != TR_OP_STRING) {
        tr_ck_want_type(k, t, tr_ty_string(k->f->ctx->types), "operand 0");
        want_i64s(k, i, 1, i->nargs);
    } else if (!tr_ck_is_kind(t, TR_TY_LIT) || t->lit->kind != TR_OBJ_STR) {
        tr_ck_bad(k, "operand 0 is %s, want a string that is known", tr_ck_show(k, t));
    } else {
        tr_ck_want_type(k, i->ty, tr_ty_string(k->f->ctx->types), "result");
    }
}

static void check_slot(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = arg_type(k, i, 0);
    if (!tr_ck_is_kind(t, TR_TY_ARRAY) || !tr_ty_is_slots(t) || t->ndim != 1) {
        tr_ck_bad(k, "operand 0 is %s, want an array of slots", tr_ck_show(k, t));
        return;
    }
    want_i64s(k, i, 1, 2);
    if (i->op != TR_OP_PUT)
        tr_ck_want_type(k, i->ty, held_by(t), "result");
    else
        tr_ck_want_type(k, arg_type(k, i, 2), held_by(t), "value");
    if (i->op == TR_OP_PUT && t->readonly)
        tr_ck_bad(k, "the array is read-only");
}

static void check_access(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = arg_type(k, i, 0);
    uint32_t extra = i->op == TR_OP_STORE ? 2 : 1;
    want_array(k, i, 0);
    if (!tr_ck_is_kind(t, TR_TY_ARRAY))
        return;
    if (tr_ty_is_slots(t))
        tr_ck_bad(k, "the items of %s are slots", tr_ck_show(k, t));
    want_nargs(k, i, t->ndim + extra);
    want_i64s(k, i, 1, t->ndim + 1u);
    if (i->op == TR_OP_LOAD) {
        tr_ck_want_type(k, i->ty, t->elem, "result");
        return;
    }
    tr_ck_want_type(k, arg_type(k, i, i->nargs - 1), t->elem, "value");
    if (t->readonly)
        tr_ck_bad(k, "the array is read-only");
}

/* --- a device's --- */

static void check_on_device(tr_fnck *k) {
    if (!k->f->is_lambda && k->f->kind == TR_FN_HOST)
        tr_ck_bad(k, "stands in a function of the host");
}

static void check_place(tr_fnck *k, const tr_ins *i) {
    check_on_device(k);
    if (i->imm.i < 0 || i->imm.i > 2)
        tr_ck_bad(k, "axis %" PRIi64 " of three", i->imm.i);
}

/* Of one storage for each instruction, however often code is copied: so it stands where nothing is. */
static void check_shared(tr_fnck *k, const tr_ins *i) {
    int64_t n;
    if (k->f->is_lambda || k->f->kind == TR_FN_HOST || k->b != 0)
        tr_ck_bad(k, "stands elsewhere than in the entry block of a kernel or a device's function");
    if (!tr_ck_is_kind(i->ty, TR_TY_ARRAY) || i->ty->layout != TR_LAYOUT_C || i->ty->readonly) {
        tr_ck_bad(k, "result is %s, want an array of layout c", tr_ck_show(k, i->ty));
        return;
    }
    want_nargs(k, i, i->ty->ndim);
    want_i64s(k, i, 0, i->nargs);
    for (uint32_t a = 0; a < i->nargs; a++)
        if (i->args[a] < k->f->ins.n && (!tr_get_int(k->f, i->args[a], &n) || n < 1 || n > INT32_MAX))
            tr_ck_bad(k, "size %" PRIu32 " is no constant of a size that there is", a);
}

static void check_dynshared(tr_fnck *k, const tr_ins *i) {
    if (k->f->is_lambda || k->f->kind == TR_FN_HOST || k->b != 0)
        tr_ck_bad(k, "stands elsewhere than in the entry block of a kernel or a device's function");
    if (!tr_ck_is_kind(i->ty, TR_TY_ARRAY) || i->ty->layout != TR_LAYOUT_C || i->ty->readonly ||
        i->ty->ndim != 1)
        tr_ck_bad(k, "result is %s, want an array of layout c and one axis", tr_ck_show(k, i->ty));
}

/* What threads meet at: not in a lambda, whose rounds are no threads. */
static void check_meeting(tr_fnck *k) {
    check_on_device(k);
    if (k->f->is_lambda)
        tr_ck_bad(k, "stands in a lambda");
}

static bool is_result(const tr_ins *i, tr_tyk kind) {
    return i->ty && i->ty->kind == kind;
}

static void check_warp(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = i->nargs > 1 ? arg_type(k, i, 1) : NULL;
    bool wide = t && tr_ty_is_scalar(t) && tr_ty_size(t) >= 4 && !tr_ty_is_complex(t);
    check_meeting(k);
    if (i->op == TR_OP_ACTIVEMASK) {
        if (!is_result(i, TR_TY_U32))
            tr_ck_bad(k, "result is %s, want u32", tr_ck_show(k, i->ty));
        return;
    }
    want_kind(k, i, 0, TR_TY_U32);
    switch ((tr_op)i->op) {
    case TR_OP_SHFL:
        want_kind(k, i, 2, TR_TY_I32);
        tr_ck_want_type(k, i->ty, t, "result");
        if (t && !wide)
            tr_ck_bad(k, "is not defined for %s", tr_ck_show(k, t));
        break;
    case TR_OP_VOTE:
        want_kind(k, i, 1, TR_TY_BOOL);
        if (i->sub > TR_VOTE_BALLOT)
            tr_ck_bad(k, "is no vote of a warp");
        else if (!is_result(i, i->sub == TR_VOTE_BALLOT ? TR_TY_U32 : TR_TY_BOOL))
            tr_ck_bad(k, "result is %s", tr_ck_show(k, i->ty));
        break;
    case TR_OP_MATCH:
        if (t && !wide)
            tr_ck_bad(k, "is not defined for %s", tr_ck_show(k, t));
        if (i->sub > TR_VOTE_ANY || !is_result(i, TR_TY_U32))
            tr_ck_bad(k, "compares for all or any lanes, and gives u32");
        break;
    default: break;
    }
}

static void check_barvote(tr_fnck *k, const tr_ins *i) {
    check_meeting(k);
    want_kind(k, i, 0, TR_TY_BOOL);
    if ((i->sub > TR_VOTE_ANY && i->sub != TR_VOTE_COUNT) || !is_result(i, TR_TY_I32))
        tr_ck_bad(k, "asks for all, any or count, and gives i32");
}

static void check_atomic(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = arg_type(k, i, 0);
    uint32_t values = i->op == TR_OP_CAS ? 2 : 1;
    want_array(k, i, 0);
    if (!tr_ck_is_kind(t, TR_TY_ARRAY))
        return;
    want_nargs(k, i, t->ndim + 1u + values);
    want_i64s(k, i, 1, t->ndim + 1u);
    tr_ck_want_type(k, i->ty, t->elem, "result");
    for (uint32_t n = 0; n < values; n++)
        tr_ck_want_type(k, arg_type(k, i, t->ndim + 1u + n), t->elem, "value");
    const char *of = i->op == TR_OP_CAS ? "iu" : i->sub < TR_ATOMIC__COUNT ? tr_atomic_info[i->sub].of : "";
    if (!tr_ty_is_scalar(t->elem) || !strchr(of, tr_ty_class(t->elem)) || tr_ty_size(t->elem) < 4)
        tr_ck_bad(k, "is not defined for %s", tr_ck_show(k, t->elem));
    if (t->readonly)
        tr_ck_bad(k, "the array is read-only");
}

static void check_axis(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = arg_type(k, i, 0);
    want_array(k, i, 0);
    if (tr_ck_is_kind(t, TR_TY_ARRAY) && (i->imm.i < 0 || i->imm.i >= t->ndim))
        tr_ck_bad(k, "axis %" PRIi64 " of a %u-dimensional array", i->imm.i, t->ndim);
}

static void check_site(tr_fnck *k, const tr_ins *i, uint32_t first) {
    const tr_site *s = i->imm.site;
    if (!s) {
        tr_ck_bad(k, "names no exception");
        return;
    }
    int64_t taken = 0, due = 0; /* due: items of tuples that have not come */
    for (int32_t n = 0; n < s->nargs; n++) {
        const tr_obj *o = s->args[n];
        taken += o == NULL;
        due += (o && o->kind == TR_OBJ_TUPLE ? (int64_t)o->u.t.n : 0) - (due > 0);
    }
    if (due)
        tr_ck_bad(k, "a tuple among the exception's arguments is not whole");
    if (s->nargs >= 0 && taken != (int64_t)i->nargs - first)
        tr_ck_bad(k, "the exception takes %" PRIi64 " of %" PRIi64 " values", taken,
                  (int64_t)i->nargs - first);
    unsigned slots = 0;
    for (uint32_t n = first; n < i->nargs; n++)
        slots += arg_type(k, i, n) ? tr_ty_nparts(arg_type(k, i, n)) : 0;
    if (slots > TR_FRAME_PAYLOAD)
        tr_ck_bad(k, "%u parts of payload, at most %d fit", slots, TR_FRAME_PAYLOAD);
}

/* Is `t` what a letter of rt.def stands for? Complex64 is widened on the way. */
static bool is_letter(const tr_ty *t, char letter) {
    switch (letter) {
    case 'i': return tr_ck_is_kind(t, TR_TY_I64);
    case 'u': return tr_ck_is_kind(t, TR_TY_U64);
    case 'I': return tr_ck_is_kind(t, TR_TY_I32);
    case 'd': return tr_ck_is_kind(t, TR_TY_F64);
    case 'f': return tr_ck_is_kind(t, TR_TY_F32);
    case 'b': return tr_ck_is_kind(t, TR_TY_BOOL);
    case 'C': return tr_ck_is_kind(t, TR_TY_C64) || tr_ck_is_kind(t, TR_TY_C128);
    case 'S': return tr_ck_is_kind(t, TR_TY_STRING);
    case 'v': return tr_ck_is_kind(t, TR_TY_NONE);
    case 'l':
    case 'r': return tr_ck_is_kind(t, TR_TY_LIST) || tr_ck_is_kind(t, TR_TY_SET);
    default: return false;
    }
}

/* An array takes a letter for each of its parts: pp, pw or pm, then an i for each size (and stride). */
static const char *skip_array(const tr_ty *t, const char *p) {
    tr_part parts[2 + 2 * TR_MAX_NDIM];
    unsigned n = tr_ty_nparts(t);
    tr_ty_parts(t, parts);
    for (unsigned k = 0; k < n; k++, p++)
        if (*p != (parts[k] == TR_PART_PTR ? 'p' : 'i') && !(k == 1 && (*p == 'w' || *p == 'm')))
            return NULL;
    return p;
}

static void check_callrt(tr_fnck *k, const tr_ins *i) {
    const tr_rtcall *rt = i->imm.rt;
    if (!rt || rt->row >= TR_RT__COUNT) {
        tr_ck_bad(k, "no such run-time function");
        return;
    }
    const char *sig = tr_rt_info[rt->row].sig, *p = sig + 2;
    bool text = false, fits = is_letter(i->ty, sig[0]);
    uint32_t n = 0;
    while (fits && *p && *p != ')') {
        const tr_ty *t = arg_type(k, i, n);
        if (*p == 'F' || *p == 's') {
            text = text || *p == 's';
            p++;
            continue;
        }
        n++;
        if (tr_ck_is_kind(t, TR_TY_ARRAY)) {
            fits = (p = skip_array(t, p)) != NULL;
            if (tr_ty_is_loose(t) && rt->row != TR_RT_WATCH_TOUCH && rt->row != TR_RT_WATCH_SPAN &&
                rt->row != TR_RT_WATCH_ARRAY)
                tr_ck_bad(k, "hands the runtime %s, whose items need not be aligned", tr_ck_show(k, t));
        } else
            fits = is_letter(t, *p++);
    }
    if (!fits || n != i->nargs)
        tr_ck_bad(k, "does not fit %s", sig);
    if (text != (rt->text != NULL))
        tr_ck_bad(k, text ? "a text is missing" : "takes no text");
}

/* What goes to a function of others is a number of a C type, or where an array's items lie. */
static bool fits_c(const tr_ty *t) {
    return t &&
           (t->kind == TR_TY_ARRAY || (tr_ty_is_scalar(t) && t->kind != TR_TY_F16 && tr_ty_class(t) != 'c'));
}

static void check_callx(tr_fnck *k, const tr_ins *i) {
    const tr_ty *r = i->ty;
    uint32_t from = tr_abi_x_at(i->sub);
    if (!i->imm.s || !*i->imm.s)
        tr_ck_bad(k, "names no function");
    if (from && (!i->nargs || !tr_ck_is_kind(arg_type(k, i, 0), TR_TY_ARRAY) ||
                 arg_type(k, i, 0)->elem->kind != TR_TY_I64))
        tr_ck_bad(k, "wants an array with the address");
    for (uint32_t n = from; n < i->nargs; n++)
        if (!fits_c(arg_type(k, i, n)))
            tr_ck_bad(k, "hands over %s, which C does not have", tr_ck_show(k, arg_type(k, i, n)));
    if (tr_abi_x_numba(i->sub) && tr_ck_is_kind(r, TR_TY_TUPLE) && r->n == 2 &&
        r->items[0]->kind == TR_TY_I32)
        r = r->items[1];
    else if (tr_abi_x_numba(i->sub) && !tr_ck_is_kind(r, TR_TY_I32))
        tr_ck_bad(k, "gives a status and a result, not %s", tr_ck_show(k, r));
    if (!r || (r->kind != TR_TY_NONE && (r->kind == TR_TY_ARRAY || !fits_c(r))))
        tr_ck_bad(k, "gives %s, which C does not have", tr_ck_show(k, r));
}

static void check_yield(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = k->pat;
    if (!k->f->is_lambda) {
        tr_ck_bad(k, "stands outside of a lambda");
        return;
    }
    if (!t)
        return;
    if (k->f != t->lam && k->f != t->epi) { /* one that joins: check_joins says what it yields */
        want_nargs(k, i, 1);
        return;
    }
    if (k->f == t->epi || !t->nscat) /* else it depends on the operands' ranks: check_yields */
        want_nargs(k, i, tr_pat_slot(t, k->f == t->epi, TR_ROLE__COUNT));
}

/* --- patterns: what their ports are, by the table of roles, and what holds for several of them --- */

static bool is_array_of(tr_fnck *k, const tr_ins *i, uint32_t arg, unsigned rank) {
    const tr_ty *a = arg_type(k, i, arg);
    want_array(k, i, arg);
    if (!tr_ck_is_kind(a, TR_TY_ARRAY))
        return false;
    if (a->ndim != rank)
        tr_ck_bad(k, "operand %" PRIu32 " has rank %u, the space %u", arg, a->ndim, rank);
    return true;
}

/* An operand is what its role says; false: not even an array. */
static bool check_operand(tr_fnck *k, const tr_ins *i, const tr_ports *g, uint32_t arg) {
    const tr_pat *t = i->imm.pat;
    const tr_ty *a = arg_type(k, i, arg);
    bool array = g->is->operand < TR_PORT_SPACE;
    switch ((tr_portis)g->is->operand) {
    case TR_PORT_SIZE: want_kind(k, i, arg, TR_TY_I64); break;
    case TR_PORT_FLAG: want_kind(k, i, arg, TR_TY_BOOL); break;
    case TR_PORT_NUMBER:
        if (tr_pat_join(t, arg)->how >= TR_RED__COUNT || !tr_red_info[tr_pat_join(t, arg)->how].joins)
            want_class(k, i, arg, "biufc");
        break;
    case TR_PORT_ANY: break;
    case TR_PORT_SPACE: array = is_array_of(k, i, arg, t->nspace); break;
    case TR_PORT_KEPT: array = is_array_of(k, i, arg, tr_pat_nkeep(t)); break;
    case TR_PORT_BEST: array = is_array_of(k, i, arg, tr_pat_nkeep(t) + 1); break;
    case TR_PORT_PACKED:
        array = tr_ck_is_kind(a, TR_TY_ARRAY);
        if (!array || a->ndim != 1 || a->layout != TR_LAYOUT_C || a->readonly)
            tr_ck_bad(k, "packs into %s", tr_ck_show(k, a));
        break;
    case TR_PORT_TARGET:
        array = tr_ck_is_kind(a, TR_TY_ARRAY);
        if (!array || a->readonly)
            tr_ck_bad(k, "scatters to %s", tr_ck_show(k, a));
        break;
    }
    if (array && g->is->memory == TR_MEM_WRITE && a->readonly)
        tr_ck_bad(k, "operand %" PRIu32 " is read-only", arg);
    return array;
}

/* What is a role's among the params of one of the functions. */
static void check_takes(tr_fnck *k, const tr_ins *i, const tr_ports *g, unsigned fn) {
    static const char *const what[] = {"", "index", "the lambda's element", "the lambda's value"};
    const tr_fn *lam = tr_pat_fn(i->imm.pat, fn);
    for (uint32_t n = 0; g->is->takes[fn] && n < g->n; n++) {
        const tr_ty *got = tr_at(lam, tr_blk_at(lam, 0)->params.d[g->param + n])->ty;
        const tr_ty *a = arg_type(k, i, g->arg + n);
        if (g->is->takes[fn] == TR_TAKES_INDEX && !tr_ck_is_kind(got, TR_TY_I64))
            tr_ck_bad(k, "index %" PRIu32 " of the lambda is not i64", n);
        else if (g->is->takes[fn] == TR_TAKES_ITEM && tr_ck_is_kind(a, TR_TY_ARRAY))
            tr_ck_want_type(k, got, a->elem, what[TR_TAKES_ITEM]);
        else if (g->is->takes[fn] == TR_TAKES_VALUE && a)
            tr_ck_want_type(k, got, a, what[TR_TAKES_VALUE]);
    }
}

static bool check_params(tr_fnck *k, const tr_ins *i, unsigned fn) {
    const tr_pat *t = i->imm.pat;
    const tr_fn *g = tr_pat_fn(t, fn);
    if (!g->is_lambda || !g->blks.n) {
        tr_ck_bad(k, "has no lambda");
        return false;
    }
    uint32_t got = tr_blk_at(g, 0)->params.n, n = tr_pat_nparams(t, fn);
    if (got != n)
        tr_ck_bad(k, "the lambda has %" PRIu32 " params, want %" PRIu32, got, n);
    return got == n;
}

static bool check_ports(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    for (unsigned fn = TR_LAM; tr_pat_fn(t, fn); fn++) {
        if (!check_params(k, i, fn))
            return false;
        for (tr_ports g = tr_ports_of(t, fn); tr_ports_left(&g); tr_ports_next(t, fn, &g)) {
            bool is = true;
            for (uint32_t n = 0; fn == TR_LAM && n < t->n[g.role]; n++)
                is = check_operand(k, i, &g, g.arg + n) || g.is->operand < TR_PORT_SPACE;
            if (!is)
                return false;
            check_takes(k, i, &g, fn);
        }
    }
    return true;
}

static void check_reductions(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    const tr_ty *res = i->ty;
    uint32_t init = tr_pat_at(t, P_SCAN), nred = tr_pat_nred(t), n = t->keep ? 0 : nred;
    if (n == 0   ? !tr_ck_is_kind(res, TR_TY_NONE)
        : n == 1 ? res != arg_type(k, i, init)
                 : !tr_ck_is_kind(res, TR_TY_TUPLE) || res->n != n)
        tr_ck_bad(k, "result is %s", tr_ck_show(k, res));
    for (uint32_t r = 0; r < nred; r++) {
        if (n > 1 && tr_ck_is_kind(res, TR_TY_TUPLE) && r < res->n)
            tr_ck_want_type(k, arg_type(k, i, init + r), res->items[r], "reduction");
        if (tr_pat_fast(t, r))
            want_class(k, i, init + r, "fc");
        if (tr_pat_red(t, r) >= TR_RED__COUNT || (r < t->nscan && tr_red_info[tr_pat_red(t, r)].place))
            tr_ck_bad(k, "no such reduction");
        else if (tr_pat_red(t, r) == TR_RED_LAST && r >= t->nscan)
            tr_ck_bad(k, "only a scan's value is the last one");
        else if (tr_red_info[tr_pat_red(t, r)].place)
            want_kind(k, i, init + r, TR_TY_I64);
    }
}

/* A function that joins values takes two of the operand's type, and what is captured. */
static bool check_join_params(tr_fnck *k, const tr_ins *i, const tr_fn *by, const tr_ty *of) {
    const tr_pat *t = i->imm.pat;
    if (!by->is_lambda || !by->blks.n) {
        tr_ck_bad(k, "has no function that joins");
        return false;
    }
    const tr_blk *entry = tr_blk_at(by, 0);
    if (entry->params.n != (uint32_t)TR_BY_CAP + t->ncap) {
        tr_ck_bad(k, "the function that joins has %" PRIu32 " params, want %" PRIu32, entry->params.n,
                  (uint32_t)TR_BY_CAP + t->ncap);
        return false;
    }
    for (uint32_t n = 0; n < entry->params.n; n++) {
        const tr_ty *want = n < TR_BY_CAP ? of : arg_type(k, i, tr_pat_at(t, P_CAP) + n - TR_BY_CAP);
        if (want)
            tr_ck_want_type(k, tr_at(by, entry->params.d[n])->ty, want, "the joining function's value");
    }
    return true;
}

static void check_joins(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    for (uint32_t r = 0; r < tr_pat_njoins(t); r++) {
        const tr_join *j = &t->joins[r];
        bool chooses = r >= tr_pat_nred(t) && r < tr_pat_nred(t) + t->ntop;
        bool wants = !chooses && j->how < TR_RED__COUNT && tr_red_info[j->how].joins;
        if (wants != (j->by != NULL)) {
            tr_ck_bad(k, wants ? "has no function that joins" : "has a function that joins nothing");
            continue;
        }
        if (!wants)
            continue;
        uint32_t arg = tr_pat_at(t, P_SCAN) + r;
        const tr_ty *of = arg_type(k, i, arg);
        if (of && r >= tr_pat_nred(t)) /* a target: its items */
            of = of->kind == TR_TY_ARRAY ? of->elem : NULL;
        if (of && !tr_red_takes(TR_RED_JOIN, of))
            tr_ck_bad(k, "joins %s", tr_ck_show(k, of));
        else if (check_join_params(k, i, j->by, of))
            for (tr_bid b = 0; b < j->by->blks.n; b++) {
                const tr_blk *blk = tr_blk_at(j->by, b);
                const tr_ins *y = !blk->dead && blk->last < j->by->ins.n ? tr_at(j->by, blk->last) : NULL;
                if (y && y->op == TR_OP_YIELD && y->nargs == 1 && y->args[0] < j->by->ins.n)
                    tr_ck_want_type(k, tr_at(j->by, y->args[0])->ty, of, "what the joining function yields");
            }
    }
}

static void check_filter(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    if (t->nfilt && (t->keep || !t->nscan || tr_pat_red(t, 0) != TR_RED_ADD))
        tr_ck_bad(k, "packs without a scan that counts");
    if (t->nfilt)
        want_kind(k, i, tr_pat_at(t, P_SCAN), TR_TY_I64);
}

static void check_meet(tr_fnck *k, const tr_ins *i) {
    for (uint32_t n = 0; n < i->nargs; n++)
        want_array(k, i, n);
    if (i->nargs < 2 || i->nargs > TR_MEET_MAX || (uint64_t)(i->imm.i & 255) > i->nargs || i->imm.i < 0)
        tr_ck_bad(k, "asks whether %d of %" PRIu32 " arrays meet others", (int)(i->imm.i & 255), i->nargs);
}

static void check_scatters(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    for (uint32_t s = 0; s < t->nscat; s++) {
        uint32_t n = tr_pat_at(t, P_SCAT) + s;
        const tr_ty *a = arg_type(k, i, n);
        if (tr_pat_scatter(t, s) >= TR_SCATTER__COUNT || !tr_scatter_takes(tr_pat_scatter(t, s), a->elem))
            tr_ck_bad(k, "no such scatter to %s", tr_ck_show(k, a));
        for (uint32_t m = tr_pat_at(t, P_IN); m < tr_pat_nargs(t); m++)
            if (m != n && i->args[m] == i->args[n])
                tr_ck_bad(k, "operand %" PRIu32 " is scattered to", m);
    }
    if (t->nscat && (t->keep || t->apart))
        tr_ck_bad(k, t->keep ? "scatters, but keeps an axis" : "scatters, so nothing is known to be apart");
}

/* Tables are of the first captured arrays, which lie as a table does, and what they are joined by has
 * something to begin a table with. */
static void check_tables(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    uint32_t at = tr_pat_at(t, P_TABLE), caps = tr_pat_at(t, P_CAP);
    for (uint32_t n = at; n < at + t->ntable; n++) {
        const tr_ty *a = arg_type(k, i, n);
        unsigned how = tr_pat_join(t, n)->how;
        if (how == TR_SCATTER_PUT || how >= TR_SCATTER__COUNT || !tr_scatter_takes(how, a->elem) ||
            tr_red_info[how].joins || a->layout != TR_LAYOUT_C)
            tr_ck_bad(k, "has no tables for %s", tr_ck_show(k, a));
        for (uint32_t m = 0; m < i->nargs; m++)
            if (m != n && (i->args[m] == i->args[n]) != (m == caps + n - at))
                tr_ck_bad(k, "operand %" PRIu32 " has tables, so it is capture %" PRIu32 ", and nothing else",
                          n, n - at);
    }
    if (t->ntable &&
        (t->nspace != 1 || !tr_pat_has_only(t, P_(SPACE) | P_(RED) | P_(TABLE) | P_(CAP) | P_(COST))))
        tr_ck_bad(k, "has tables, and more than rounds that reduce");
}

/* A lambda that only reads may run in any order of the rounds, so what the node writes is no array that it is
 * given whole. */
static void check_whole_arrays(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    if (tr_fn_is_scalar(t->lam) || !tr_fn_only_reads(t->lam))
        return;
    for (uint32_t n = 0; (n = tr_pat_with(t, TR_MEM_WRITE, n)) < i->nargs; n++)
        for (uint32_t c = tr_pat_at(t, P_CAP); c < tr_pat_at(t, P_CAP + 1); c++)
            if (i->args[c] == i->args[n])
                tr_ck_bad(k, "writes operand %" PRIu32 ", from which its lambda may load anywhere", n);
}

static void check_choice(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    if (t->nbest && !t->ntop)
        tr_ck_bad(k, "has arrays of what is chosen, but chooses nothing");
    if (!t->ntop)
        return;
    if (tr_pat_top(t) >= TR_TOP__COUNT)
        tr_ck_bad(k, "no such choice");
    if (t->nspace != tr_pat_nkeep(t) + 1)
        tr_ck_bad(k, "chooses along one axis, and keeps the others");
    if (tr_pat_nred(t) || t->nfilt || t->nscat || t->epi)
        tr_ck_bad(k, "chooses, and does something with all elements besides");
    if (t->par == TR_PAR_PRANGE || !tr_fn_only_reads(t->lam))
        tr_ck_bad(k, "chooses, and does more than compute");
}

/* Operands of a pattern, and what its functions take. Types of YIELD are checked by check_yields. */
static void check_pattern(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    if (!t || !t->lam) {
        tr_ck_bad(k, "has no lambda");
        return;
    }
    want_nargs(k, i, tr_pat_nargs(t));
    if (i->nargs != tr_pat_nargs(t))
        return;
    if (t->keep & ~tr_all_axes(t->nspace))
        tr_ck_bad(k, "keeps an axis that the space does not have");
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++) {
        if (t->n[r] > tr_role_info[r].most)
            tr_ck_bad(k, "has %u operands '%s', want %u at most", t->n[r], tr_role_info[r].word,
                      (unsigned)tr_role_info[r].most);
        if (t->n[r] && tr_role_info[r].of == 'e' && !t->epi)
            tr_ck_bad(k, "has arrays of an epilogue, but no epilogue");
    }
    if (t->epi && !t->keep)
        tr_ck_bad(k, "has an epilogue, but keeps no axis");
    if (!check_ports(k, i))
        return;
    check_reductions(k, i);
    check_filter(k, i);
    check_scatters(k, i);
    check_tables(k, i);
    check_whole_arrays(k, i);
    check_choice(k, i);
    if (tr_pat_is_parallel(t) && tr_pat_form(t))
        tr_ck_bad(k, "may not run on all cores: %s", tr_pat_form(t));
    if (t->nwhen && t->par != TR_PAR_PRANGE)
        tr_ck_bad(k, "runs on all cores on a condition, but is no loop over a prange");
}

/* Value `at` of those that y yields, and on: for operand `arg`. Returns the next one. */
static uint32_t check_gives(tr_fnck *k, const tr_ins *i, const tr_fn *lam, const tr_ins *y, const tr_ports *g,
                            unsigned fn, uint32_t arg, uint32_t at) {
    const tr_ty *a = arg_type(k, i, arg);
    const tr_ty *got[TR_MAX_NDIM + 1];
    bool array = tr_ck_is_kind(a, TR_TY_ARRAY);
    uint32_t n = g->is->gives[fn] == TR_GIVES_PLACE ? (array ? a->ndim : 0) + 1u : 1;
    for (uint32_t x = 0; x < n; x++)
        got[x] = at + x < y->nargs && y->args[at + x] < lam->ins.n ? tr_at(lam, y->args[at + x])->ty : NULL;
    if (at + n > y->nargs)
        return at + n; /* their number is said to be wrong */
    switch ((tr_portgives)g->is->gives[fn]) {
    case TR_GIVES_NONE: break;
    case TR_GIVES_ITEM:
        if (array)
            tr_ck_want_type(k, got[0], a->elem, "what the lambda yields");
        break;
    case TR_GIVES_VALUE: /* for a place any scalar with an order */
        if (a && !tr_red_info[tr_pat_join(i->imm.pat, arg)->how].place)
            tr_ck_want_type(k, got[0], a, "what the lambda yields");
        break;
    case TR_GIVES_KEY:
        if (got[0] && (!tr_ty_is_scalar(got[0]) || !strchr("biuf", tr_ty_class(got[0]))))
            tr_ck_bad(k, "what is chosen by is %s", tr_ck_show(k, got[0]));
        break;
    case TR_GIVES_PLACE:
        for (uint32_t x = 0; x + 1 < n; x++)
            if (!tr_ck_is_kind(got[x], TR_TY_I64))
                tr_ck_bad(k, "scatters to an index that is %s", tr_ck_show(k, got[x]));
        if (array)
            tr_ck_want_type(k, got[n - 1], a->elem, "what is scattered");
    }
    return at + n;
}

static void check_yields_of(tr_fnck *k, const tr_ins *i, const tr_fn *lam, const tr_ins *y, unsigned fn) {
    const tr_pat *t = i->imm.pat;
    uint32_t at = 0;
    for (tr_ports g = tr_ports_of(t, fn); tr_ports_left(&g); tr_ports_next(t, fn, &g))
        for (uint32_t n = 0; g.is->gives[fn] && n < g.n; n++)
            at = check_gives(k, i, lam, y, &g, fn, g.arg + n, at);
    if (at != y->nargs && t->nscat && fn == TR_LAM) /* else check_yield has said so */
        tr_ck_bad(k, "the lambda yields %" PRIu32 " values, want %" PRIu32, y->nargs, at);
}

static void check_yields(tr_fnck *k, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    const tr_fn *lam;
    if (!t || !t->lam || i->nargs != tr_pat_nargs(t))
        return;
    for (uint32_t r = 0; r < tr_pat_nred(t); r++)
        if (tr_pat_red(t, r) >= TR_RED__COUNT)
            return;
    check_joins(k, i);
    for (unsigned fn = TR_LAM; (lam = tr_pat_fn(t, fn)) != NULL; fn++)
        for (tr_bid b = 0; b < lam->blks.n; b++) {
            const tr_blk *blk = tr_blk_at(lam, b);
            if (!blk->dead && blk->last < lam->ins.n && tr_at(lam, blk->last)->op == TR_OP_YIELD)
                check_yields_of(k, i, lam, tr_at(lam, blk->last), fn);
        }
}

/* --- one instruction --- */

static void check_result(tr_fnck *k, const tr_ins *i) {
    const tr_ty *t = i->ty;
    switch (tr_op_info[i->op].result) {
    case '-':
    case 'v':
        if (t)
            tr_ck_bad(k, "has a type");
        return;
    case 's': tr_ck_want_type(k, t, arg_type(k, i, i->op == TR_OP_SELECT ? 1 : 0), "result"); break;
    case 'b':
        if (!tr_ck_is_kind(t, TR_TY_BOOL))
            tr_ck_bad(k, "result is %s, want i1", tr_ck_show(k, t));
        break;
    case 'n':
        if (!tr_ck_is_kind(t, TR_TY_I64))
            tr_ck_bad(k, "result is %s, want i64", tr_ck_show(k, t));
        break;
    default: break;
    }
    if (k->f->stage == S_T && (!t || t->weak))
        tr_ck_bad(k, "result is %s", t ? "weak" : "not typed");
}

/* --- references into the program --- */

static void check_call(tr_fnck *k, const tr_ins *i) {
    const tr_prog *p = k->c->prog;
    if (!p)
        return;
    const tr_fn *to = i->imm.fn < p->insts.n ? p->insts.d[i->imm.fn].fn : NULL;
    if (!to || !to->blks.n) {
        tr_ck_bad(k, "calls function #%" PRIu32 ", and the program has %" PRIu32, i->imm.fn, p->insts.n);
        return;
    }
    uint32_t first = to->kind == TR_FN_KERNEL ? TR_LAUNCH_SIZES : 0;
    if (first && (k->f->is_lambda || k->f->kind != TR_FN_HOST))
        tr_ck_bad(k, "launches @%s, which only a function of the host may do", to->name);
    else if (to->kind == TR_FN_DEVICE && k->f->kind == TR_FN_HOST && !k->f->is_lambda)
        tr_ck_bad(k, "calls @%s of a device from the host", to->name);
    const tr_blk *entry = tr_blk_at(to, 0);
    const tr_ty *none = tr_ty_none(k->f->ctx->types);
    if (entry->params.n + first != i->nargs) {
        tr_ck_bad(k, "passes %" PRIu32 " values, @%s takes %" PRIu32, i->nargs, to->name,
                  entry->params.n + first);
        return;
    }
    want_i64s(k, i, 0, first);
    for (uint32_t n = 0; n < entry->params.n; n++)
        if (entry->params.d[n] < to->ins.n)
            tr_ck_want_type(k, arg_type(k, i, first + n), tr_at(to, entry->params.d[n])->ty,
                            "what is passed");
    tr_ck_want_type(k, i->ty ? i->ty : none, to->ret ? to->ret : none, "result");
}

static void check_closure(tr_fnck *k, const tr_ins *i) {
    const tr_prog *p = k->c->prog;
    if (p && i->imm.fn >= p->funcs.n)
        tr_ck_bad(k, "is of function #%" PRIu32 ", and the program has %" PRIu32, i->imm.fn, p->funcs.n);
}

static void check_typed(tr_fnck *k, const tr_ins *i) {
    if (tr_ins_fast(i) && !(i->nargs && tr_ins_is_real(k->f, i)))
        tr_ck_bad(k, "fast-math flags on what is no arithmetic of floats");
    switch ((tr_op)i->op) {
    case TR_OP_CBR: want_kind(k, i, 0, TR_TY_BOOL); break;
    case TR_OP_CATCH: tr_ck_want_type(k, i->ty, tr_ty_scalar(k->f->ctx->types, TR_TY_I64), "result"); break;
    case TR_OP_RERAISE: want_kind(k, i, 0, TR_TY_I64); break;
    case TR_OP_RET:
        if (k->f->ret)
            tr_ck_want_type(k, arg_type(k, i, 0), k->f->ret, "the returned value");
        if (k->f->is_lambda)
            tr_ck_bad(k, "stands in a lambda");
        break;
    case TR_OP_CONV:
    case TR_OP_BITCAST: check_convert(k, i); break;
    case TR_OP_SELECT:
        want_kind(k, i, 0, TR_TY_BOOL);
        tr_ck_want_type(k, arg_type(k, i, 2), arg_type(k, i, 1), "operand 2");
        break;
    case TR_OP_TUPLE: check_tuple(k, i); break;
    case TR_OP_EXTRACT: check_extract(k, i); break;
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_MUL:
    case TR_OP_DIV:
    case TR_OP_PYDIV:
    case TR_OP_FLOORDIV:
    case TR_OP_FLOORMOD:
    case TR_OP_REM:
    case TR_OP_QUOT:
    case TR_OP_POW:
    case TR_OP_NEG:
    case TR_OP_MIN:
    case TR_OP_MAX:
    case TR_OP_AND:
    case TR_OP_OR:
    case TR_OP_XOR:
    case TR_OP_NOT:
    case TR_OP_SHL:
    case TR_OP_SHR:
    case TR_OP_BITS:
    case TR_OP_CMP: check_arith(k, i); break;
    case TR_OP_MATH: check_math(k, i); break;
    case TR_OP_ABS:
    case TR_OP_CPLX:
    case TR_OP_RE:
    case TR_OP_IM: check_complex(k, i); break;
    case TR_OP_DIM:
    case TR_OP_STRIDE: check_axis(k, i); break;
    case TR_OP_VIEW: check_view(k, i); break;
    case TR_OP_RESTRIDE: check_restride(k, i); break;
    case TR_OP_FIELD: check_field(k, i); break;
    case TR_OP_ARRAYAT: check_arrayat(k, i); break;
    case TR_OP_ALLOC:
        check_alloc(k, i);
        check_site(k, i, i->nargs);
        break;
    case TR_OP_ITEMS: check_list(k, i); break;
    case TR_OP_STRING:
    case TR_OP_STRLEN:
    case TR_OP_SUBSTR:
    case TR_OP_CHARAT: check_string(k, i); break;
    case TR_OP_NEWLIST:
    case TR_OP_APPEND:
    case TR_OP_RESIZE:
        check_list(k, i);
        check_site(k, i, i->nargs);
        break;
    case TR_OP_LIVE:
    case TR_OP_FIND:
    case TR_OP_WALKON:
    case TR_OP_LEAVE:
    case TR_OP_EMPTY: check_set(k, i); break;
    case TR_OP_NEWSET:
    case TR_OP_ENTER:
        check_set(k, i);
        check_site(k, i, i->nargs);
        break;
    case TR_OP_TAKE:
    case TR_OP_PEEK:
    case TR_OP_PUT: check_slot(k, i); break;
    case TR_OP_LOAD:
    case TR_OP_STORE: check_access(k, i); break;
    case TR_OP_MEET: check_meet(k, i); break;
    case TR_OP_OVERLAP:
    case TR_OP_APART:
        want_array(k, i, 0);
        want_array(k, i, 1);
        break;
    case TR_OP_WRAP: want_i64s(k, i, 0, 2); break;
    case TR_OP_RANGELEN: want_i64s(k, i, 0, 3); break;
    case TR_OP_PRANGE: want_i64s(k, i, 0, 1); break;
    case TR_OP_BCAST:
    case TR_OP_BCASTTO:
        if (i->nargs < 2) {
            tr_ck_bad(k, "wants two sizes");
            break;
        }
        want_i64s(k, i, 0, i->nargs);
        check_site(k, i, 0);
        break;
    case TR_OP_CHECKIDX:
        want_i64s(k, i, 0, 2);
        check_site(k, i, 0);
        break;
    case TR_OP_CHECK:
        want_kind(k, i, 0, TR_TY_BOOL);
        check_site(k, i, 1);
        break;
    case TR_OP_RAISE: check_site(k, i, 0); break;
    case TR_OP_CALL: check_call(k, i); break;
    case TR_OP_CALLRT: check_callrt(k, i); break;
    case TR_OP_CALLX: check_callx(k, i); break;
    case TR_OP_PATTERN:
        check_pattern(k, i);
        check_yields(k, i);
        break;
    case TR_OP_YIELD: check_yield(k, i); break;
    case TR_OP_THREADIDX:
    case TR_OP_BLOCKIDX:
    case TR_OP_BLOCKDIM:
    case TR_OP_GRIDDIM: check_place(k, i); break;
    case TR_OP_SHARED:
    case TR_OP_LOCAL: check_shared(k, i); break;
    case TR_OP_DYNSHARED: check_dynshared(k, i); break;
    case TR_OP_SLEEP: want_kind(k, i, 0, TR_TY_U32); break;
    case TR_OP_ACTIVEMASK:
    case TR_OP_SYNCWARP:
    case TR_OP_SHFL:
    case TR_OP_VOTE:
    case TR_OP_MATCH: check_warp(k, i); break;
    case TR_OP_BARVOTE: check_barvote(k, i); break;
    case TR_OP_GRIDBARRIER:
    case TR_OP_BARRIER: check_meeting(k); break;
    case TR_OP_ATOMIC:
    case TR_OP_CAS: check_atomic(k, i); break;
    default: break;
    }
}

static void check_sub(tr_fnck *k, const tr_ins *i) {
    const tr_wordlist *w = tr_words_of(i->op);
    if (w->name && (i->sub >= w->count || (i->sub && !w->name[i->sub])))
        tr_ck_bad(k, "%u is not %s", (unsigned)i->sub, w->what);
}

/* --- all of it --- */

void tr_ck_shape(tr_fnck *k, const tr_ins *i) {
    if (tr_op_info[i->op].nargs >= 0)
        want_nargs(k, i, (uint32_t)tr_op_info[i->op].nargs);
    check_sub(k, i);
}

void tr_ck_types(tr_fnck *k, const tr_ins *i) {
    check_result(k, i);
    if (k->f->stage == S_T)
        check_typed(k, i);
    else if (i->op == TR_OP_CLOSURE)
        check_closure(k, i);
}
