/* Values that may be None: what is known of them on a path, and what operations do that need a value.
 *
 * A branch on `x is None` (or `x`, which None is not) says for all that it alone leads to which of both x is.
 * Values are assigned once, so that is a question of dominance, asked per use: an operand is the value there,
 * of its own type, and an argument of the edge as well, so that `if x is None: x = np.zeros(n)` joins two
 * arrays. Elsewhere an operation that needs a value tests for it, and raises what CPython raises.
 * Cost: nothing for functions without such values; else one walk over the branches, and for
 * each use one over the facts. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"

static bool is_none(const tr_fn *src, tr_val v) {
    const tr_ins *in = tr_at(src, v);
    return in->op == TR_OP_OBJ && in->imm.obj->kind == TR_OBJ_NONE;
}

/* --- what branches say --- */

/* Which value a condition asks for: TR_NOVAL, none. *yes: it is none where the condition holds; *both:
 * that is known where it does not, too. */
static tr_val asked(const tr_fn *src, tr_val cond, bool *none, bool *both) {
    const tr_ins *in = tr_at(src, cond);
    bool not = false;
    for (; in->op == TR_OP_UNARY && in->sub == TR_UN_NOT; in = tr_at(src, cond)) {
        cond = in->args[0];
        not = !not ;
    }
    *both = in->op == TR_OP_IS || (in->op == TR_OP_COMPARE && (in->sub == TR_CMP_EQ || in->sub == TR_CMP_NE));
    if (!*both) { /* the truth of a value */
        *none = not ;
        return cond;
    }
    *none = (in->op == TR_OP_IS ? in->sub != 0 : in->sub == TR_CMP_NE) == not ;
    return is_none(src, in->args[1]) ? in->args[0] : is_none(src, in->args[0]) ? in->args[1] : TR_NOVAL;
}

static void find_facts(tr_arena *a, istate *s) {
    s->looked = true;
    for (uint32_t k = 0; k < s->src->rpo.n; k++) {
        tr_bid b = s->src->rpo.d[k];
        const tr_ins *t = tr_term(s->src, b);
        bool none, both;
        if (t->op != TR_OP_CBR)
            continue;
        tr_val v = asked(s->src, t->args[0], &none, &both);
        if (v == TR_NOVAL)
            continue;
        for (uint32_t side = 0; side < 2; side++) /* what is false may be None or 0 */
            if (both || (side == 0) != none)
                tr_vec_push(a, &s->facts, ((fact){v, b, side, both && (side == 0) == none}));
    }
}

/* Does the edge alone lead to b? */
static bool leads_to(const tr_fn *src, const fact *k, tr_bid b) {
    const tr_edge *e = tr_term(src, k->from)->imm.succ;
    assert(tr_term(src, k->from)->op == TR_OP_CBR && k->side < 2 && "a side of a branch says it");
    tr_bid to = e[k->side].to;
    return tr_blk_at(src, to)->preds.n == 1 && tr_dominates(src, to, b);
}

noneness tr_infer_noneness(infer *f, istate *s, tr_val v, use_at at) {
    if (!s->ty[v] || s->ty[v]->kind != TR_TY_OPT)
        return NONE_OPEN;
    if (!s->looked)
        find_facts(&f->ctx->arena, s);
    for (uint32_t i = 0; i < s->facts.n; i++) {
        const fact *k = &s->facts.d[i];
        if (k->v == v && ((k->from == at.blk && k->side == at.side) || leads_to(s->src, k, at.blk)))
            return k->none ? NONE_YES : NONE_NO;
    }
    return NONE_OPEN;
}

const tr_ty *tr_infer_type_at(infer *f, istate *s, tr_val v, use_at at) {
    switch (tr_infer_noneness(f, s, v, at)) {
    case NONE_YES: return tr_ty_none(f->ctx->types);
    case NONE_NO:
        assert(s->ty[v]->n == 2 && "an optional value is whether it is one, and which");
        return s->ty[v]->items[1];
    default: return s->ty[v];
    }
}

/* --- operations --- */

static bool asks_of_none(const tr_obj *callee) {
    return callee->kind == TR_OBJ_FUNC ||
           (callee->kind == TR_OBJ_BUILTIN &&
            (callee->u.builtin == TR_B_ISINSTANCE || callee->u.builtin == TR_B_BOOL ||
             callee->u.builtin == TR_B_STR || callee->u.builtin == TR_B_REPR ||
             callee->u.builtin == TR_B_PRINT));
}

bool tr_infer_takes_none(const tr_ty *callee) {
    return callee->kind == TR_TY_CLOSURE || callee->kind == TR_TY_ONEOF ||
           (callee->kind == TR_TY_LIT && asks_of_none(callee->lit));
}

/* May the operation be given what may be None? */
static bool takes_optional(const tr_ins *in, const tr_tv *a) {
    switch ((tr_op)in->op) {
    case TR_OP_IS:
    case TR_OP_MATCHSEQ:
    case TR_OP_MATCHMAP:
    case TR_OP_MATCHKEYS:
    case TR_OP_MATCHCLASS:
    case TR_OP_BUILDTUP:
    case TR_OP_FORMAT:
    case TR_OP_REPR:
    case TR_OP_CLOSURE:
    case TR_OP_NEWVAR:
    case TR_OP_WRITEVAR:
    case TR_OP_GENERATE: return true;
    case TR_OP_UNARY: return in->sub == TR_UN_NOT;
    case TR_OP_COMPARE: return in->sub == TR_CMP_EQ || in->sub == TR_CMP_NE;
    case TR_OP_CALLPY: return tr_infer_takes_none(a[0].ty);
    default: return false;
    }
}

static bool is_table(const tr_ty *t) {
    return tr_ty_is(t, TR_TY_DICT) || tr_ty_is(t, TR_TY_SET) || tr_ty_is(t, TR_TY_FACED) ||
           tr_ty_is(t, TR_TY_FROZEN);
}

static bool takes_key(const char *method) {
    static const char *const of[] = {"add", "discard", "get", "pop", "remove", "setdefault"};
    for (unsigned k = 0; k < sizeof of / sizeof *of; k++)
        if (strcmp(method, of[k]) == 0)
            return true;
    return false;
}

/* Is it a key, or what stands under one? */
static bool is_key(const tr_ins *in, const tr_tv *a, uint32_t k) {
    switch ((tr_op)in->op) {
    case TR_OP_BUILDSET:
    case TR_OP_BUILDDICT: return true;
    case TR_OP_IN: return k == 0 && (is_table(a[1].ty) || a[1].ty->kind == TR_TY_DICTVIEW);
    case TR_OP_GETITEM:
    case TR_OP_SETITEM:
    case TR_OP_DELITEM: return k > 0 && is_table(a[0].ty);
    case TR_OP_CALLPY:
        return k > 0 && a[0].ty->kind == TR_TY_METHOD && is_table(a[0].ty->items[0]) &&
               takes_key(a[0].ty->name);
    default: return false;
    }
}

/* Is a display that is only read handed to what computes with its items, as np.array, sum and indices do? */
static bool is_computed_with(const tr_fn *src, tr_val v) {
    for (tr_val u = 0; u < src->ins.n; u++) {
        const tr_ins *in = tr_at(src, u);
        const tr_obj *callee =
            in->nargs && tr_at(src, in->args[0])->op == TR_OP_OBJ ? tr_at(src, in->args[0])->imm.obj : NULL;
        bool closure = in->nargs && tr_at(src, in->args[0])->op == TR_OP_CLOSURE,
             library =
                 callee && callee->kind == TR_OBJ_FUNC && callee->u.contract && callee->u.contract->library,
             call = in->op == TR_OP_CALLPY && !closure && (library || !(callee && asks_of_none(callee)));
        for (uint32_t k = 1; in->blk != TR_NOBLK && k < in->nargs; k++)
            if (in->args[k] == v &&
                (call || (k == 1 && (in->op == TR_OP_GETITEM || in->op == TR_OP_SETITEM))))
                return true;
    }
    return false;
}

static bool has_items(const tr_ty *t) {
    return tr_ty_is(t, TR_TY_LIST) || tr_ty_is(t, TR_TY_DEQUE);
}

/* Is it an item of a list or a deque, which may be None where the operation is given it? */
static bool is_item(tr_em *e, const tr_fn *src, const tr_ins *in, const tr_tv *a, uint32_t k) {
    const tr_ty *t = a[0].ty;
    switch ((tr_op)in->op) {
    case TR_OP_BUILDLIST:
        return tr_infer_makes_list(e->infer, src, (tr_val)(in - src->ins.d)) ||
               !is_computed_with(src, (tr_val)(in - src->ins.d));
    case TR_OP_IN: return k == 0 && has_items(a[1].ty);
    case TR_OP_SETITEM:
        return k == 2 && (tr_ty_is(t, TR_TY_DICT) ||
                          (has_items(t) && tr_ty_is_scalar(tr_ty_strong(e->types, a[1].ty))));
    case TR_OP_BUILDDICT: return k % 2 == 1;
    case TR_OP_CALLPY: /* the place, or the key, comes before it */
        if (k == 2 && t->kind == TR_TY_METHOD && tr_ty_is(t->items[0], TR_TY_DICT))
            return true;
        return k > 0 && t->kind == TR_TY_METHOD && has_items(t->items[0]) && tr_em_puts_in_list(t->name) &&
               k == (strcmp(t->name, "insert") == 0 ? 2 : 1);
    default: return false;
    }
}

/* The class of a value, as messages of operators name it: of an array's items, since NumPy asks those. */
static const char *class_name(tr_em *e, const tr_ty *t) {
    t = tr_ty_strong(e->types, t->kind == TR_TY_OPT ? t->items[1] : t);
    if (tr_ty_is(t, TR_TY_NONE))
        return "NoneType";
    if (t->kind == TR_TY_TUPLE)
        return t->name ? t->name : "tuple";
    switch (tr_ty_class(t->kind == TR_TY_ARRAY ? t->elem : t)) {
    case 'b': return "bool";
    case 'i':
    case 'u': return "int";
    case 'f': return "float";
    case 'c': return "complex";
    default: return tr_em_tyname(e, t);
    }
}

static const char *pair_text(tr_em *e, const tr_ins *in, const char *x, const char *y) {
    tr_arena *a = &e->ctx->arena;
    if (in->op == TR_OP_COMPARE)
        return tr_arena_printf(a, "'%s' not supported between instances of '%s' and '%s'",
                               tr_lib_cmp_sign((tr_cmpop)in->sub), x, y);
    bool inplace = in->op == TR_OP_INPLACE;
    return tr_arena_printf(a, "unsupported operand type(s) for %s%s: '%s' and '%s'",
                           tr_lib_sign((tr_binop)in->sub),
                           inplace                 ? "="
                           : in->sub == TR_BIN_POW ? " or pow()"
                                                   : "",
                           x, y);
}

/* What an operator on two values says; both may be None. */
static void check_pair(tr_em *e, const tr_ins *in, const tr_tv *a) {
    bool ox = a[0].ty->kind == TR_TY_OPT, oy = a[1].ty->kind == TR_TY_OPT;
    assert((ox || oy) && "one of both may be None");
    const char *x = class_name(e, a[0].ty), *y = class_name(e, a[1].ty), *none = "NoneType";
    tr_tv hx = ox ? tr_em_item(e, a[0], 0) : a[0], hy = oy ? tr_em_item(e, a[1], 0) : a[1];
    if (ox && oy)
        tr_em_check(e, tr_em_op2(e, TR_OP_OR, hx, hy), TR_EXC_TYPE, pair_text(e, in, none, none), 0, NULL);
    if (ox)
        tr_em_check(e, hx, TR_EXC_TYPE, pair_text(e, in, none, y), 0, NULL);
    if (oy)
        tr_em_check(e, hy, TR_EXC_TYPE, pair_text(e, in, x, none), 0, NULL);
}

static bool is_builtin(tr_tv callee, uint16_t row) {
    return callee.ty->kind == TR_TY_LIT && callee.ty->lit->kind == TR_OBJ_BUILTIN &&
           callee.ty->lit->u.builtin == row;
}

/* What CPython says of an operation whose operand k is None; NULL: nothing of its own. */
static const char *none_text(tr_em *e, const tr_ins *in, const tr_tv *a, uint32_t k) {
    switch ((tr_op)in->op) {
    case TR_OP_GETATTR:
        return tr_arena_printf(&e->ctx->arena, "'NoneType' object has no attribute '%s'", in->imm.s);
    case TR_OP_SETATTR:
        return k ? NULL
                 : tr_arena_printf(&e->ctx->arena, "'NoneType' object has no attribute '%s'", in->imm.s);
    case TR_OP_GETITEM: return k ? NULL : "'NoneType' object is not subscriptable";
    case TR_OP_DELITEM: return k ? NULL : "'NoneType' object doesn't support item deletion";
    case TR_OP_SETITEM: return k ? NULL : "'NoneType' object does not support item assignment";
    case TR_OP_UNARY:
        return in->sub == TR_UN_NEG   ? "bad operand type for unary -: 'NoneType'"
               : in->sub == TR_UN_POS ? "bad operand type for unary +: 'NoneType'"
                                      : "bad operand type for unary ~: 'NoneType'";
    case TR_OP_IN: return k ? "argument of type 'NoneType' is not iterable" : NULL;
    case TR_OP_ITER: return "'NoneType' object is not iterable";
    case TR_OP_SPREAD:
        if (in->sub != TR_SPREAD_COUNTED)
            return "Value after * must be an iterable, not NoneType";
        return "cannot unpack non-iterable NoneType object";
    case TR_OP_UNPACK:
    case TR_OP_UNPACKEX: return "cannot unpack non-iterable NoneType object";
    case TR_OP_CALLPY:
        if (k == 0)
            return "'NoneType' object is not callable";
        return is_builtin(a[0], TR_B_LEN)     ? "object of type 'NoneType' has no len()"
               : is_builtin(a[0], TR_B_ABS)   ? "bad operand type for abs(): 'NoneType'"
               : is_builtin(a[0], TR_B_RANGE) ? "'NoneType' object cannot be interpreted as an integer"
                                              : NULL;
    default: return NULL;
    }
}

static tr_tv value_for(tr_em *e, const tr_ins *in, const tr_tv *a, uint32_t k) {
    const char *text = a[k].ty->kind == TR_TY_OPT ? none_text(e, in, a, k) : NULL;
    if (!text)
        return tr_em_value(e, a[k]);
    bool attr = in->op == TR_OP_GETATTR || in->op == TR_OP_SETATTR;
    tr_em_check(e, tr_em_item(e, a[k], 0), attr ? TR_EXC_ATTRIBUTE : TR_EXC_TYPE, text, 0, NULL);
    return tr_em_item(e, a[k], 1);
}

const tr_tv *tr_infer_values(tr_em *e, const tr_fn *src, const tr_ins *in, const tr_tv *a) {
    bool any = false;
    for (uint32_t i = 0; i < in->nargs; i++)
        any = any || a[i].ty->kind == TR_TY_OPT;
    if (!any || takes_optional(in, a))
        return a;
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, in->nargs);
    bool pair = in->op == TR_OP_BINARY || in->op == TR_OP_INPLACE || in->op == TR_OP_COMPARE;
    if (pair)
        check_pair(e, in, a);
    for (uint32_t i = 0; i < in->nargs; i++)
        v[i] = is_item(e, src, in, a, i) || is_key(in, a, i) ? a[i]
               : !pair                                       ? value_for(e, in, a, i)
               : a[i].ty->kind == TR_TY_OPT                  ? tr_em_item(e, a[i], 1)
                                                             : a[i];
    return v;
}
