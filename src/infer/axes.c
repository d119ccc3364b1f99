/* Calls of what only the running program knows: one of several functions (lib/kind_oneof.c), and functions of
 * NumPy's with an axis, or a flag, that is no constant. The call is there once for each function, axis, or
 * value of the flag, and a test goes to the one that is meant. So every template and every function of the
 * library goes on knowing its axis, and each copy has the loops of its axis. Of two axes the copies have
 * copies. Reductions have a way of their own, one copy for all axes (move_axis in lib/npreduce.c).
 * The results have to have one type, as far as layouts go that of any; what never returns has none. Cost: as
 * many copies as there are functions, or axes, and twice that for each flag. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"
#include "lib/families.h"

/* What is called, by the names of its parameters: a row's text, or a function of the library's. */
typedef struct called {
    const char *params;
    uint32_t row;
    const tr_func *fn;
    const tr_contract *k;
    tr_tv self;
} called;

/* The place of parameter `name`, `kwonly` if it is given by its name alone; UINT32_MAX: there is none. */
static uint32_t param_at(const called *c, const char *name, bool *kwonly) {
    *kwonly = false;
    if (c->fn) {
        for (uint32_t i = 0; i < c->fn->nargs + c->fn->nkwonly; i++)
            if (strcmp(c->fn->argnames[i], name) == 0) {
                *kwonly = i >= c->fn->nargs;
                return i < c->k->nargs && c->k->constants[i] ? i : UINT32_MAX;
            }
        return UINT32_MAX;
    }
    uint32_t at = 0;
    for (const char *s = c->params; *s; at++) {
        s += strspn(s, " ,");
        size_t n = strcspn(s, "=,"), all = strcspn(s, ",");
        if (n == strlen(name) && memcmp(s, name, n) == 0)
            return at;
        if (all == 1 && (*s == '*' || *s == '/')) {
            *kwonly = *kwonly || *s == '*';
            at--;
        }
        s += all;
    }
    return UINT32_MAX;
}

/* Which of the arguments is parameter `name`; UINT32_MAX: it is not given. */
static uint32_t arg_at(const called *c, const tr_args *args, const char *name) {
    uint32_t npos = args->n - args->nkw;
    for (uint32_t j = 0; j < args->nkw; j++)
        if (strcmp(args->kw[j], name) == 0)
            return npos + j;
    bool kwonly;
    uint32_t at = param_at(c, name, &kwonly);
    return at < npos && !kwonly ? at : UINT32_MAX;
}

static bool is_own_way(tr_bfn fn) {
    return fn == tr_lib_arr_sum || fn == tr_lib_arr_extreme || fn == tr_lib_arr_arg ||
           fn == tr_lib_arr_truth || fn == tr_lib_arr_mean || fn == tr_lib_arr_var || fn == tr_lib_arr_ptp;
}

static bool by_row(uint32_t row, called *c, const tr_args *args) {
    c->row = row;
    c->params = tr_builtins[row].params;
    return c->params && (!is_own_way(tr_builtins[row].fn) || arg_at(c, args, "where") != UINT32_MAX);
}

/* Whether what is called may be asked once for each axis, or value of a flag. */
static bool look_up(tr_em *e, tr_tv callee, const tr_args *args, called *c) {
    const infer *f = e->infer;
    *c = (called){.self = {NULL, TR_NOVAL}};
    if (callee.ty->kind == TR_TY_METHOD) {
        c->self = (tr_tv){callee.ty->items[0], TR_NOVAL};
        int row = tr_em_member(e, c->self, callee.ty->name);
        return row >= 0 && by_row((uint32_t)row, c, args);
    }
    if (callee.ty->kind != TR_TY_LIT)
        return false;
    const tr_obj *o = callee.ty->lit;
    if (o->kind == TR_OBJ_BUILTIN)
        return by_row(o->u.builtin, c, args);
    c->k = o->kind == TR_OBJ_FUNC ? o->u.contract : NULL;
    if (!c->k || !c->k->library || !c->k->constants)
        return false;
    c->fn = &f->p->funcs.d[o->u.func];
    return true;
}

/* The axes of an array, or of the first of a tuple of arrays; 0: none. */
static uint32_t axes_in(const tr_ty *t) {
    if (t && t->kind == TR_TY_TUPLE && t->n)
        t = t->items[0];
    return t && t->kind == TR_TY_ARRAY ? t->ndim : 0;
}

/* How many axes there are to choose from: those of the first array, but for a mask or condition before it. */
static uint32_t axes_of(const called *c, const tr_args *args) {
    uint32_t n = axes_in(c->self.ty), skip = arg_at(c, args, "condition");
    for (uint32_t i = 0; !n && i < args->n; i++)
        n = i == skip ? 0 : axes_in(args->v[i].ty);
    bool more = c->params && (c->row == TR_B_NP_STACK || c->row == TR_B_NP_EXPAND_DIMS);
    return n && more ? n + 1 : n;
}

/* What is not known before, and has to be: which of the arguments, and how many values it may have. */
typedef struct choice {
    uint32_t at, n;
    enum { BY_AXIS, BY_FLAG, BY_TURNS, BY_FUNCTION } how;
} choice;

static bool is_choice(const tr_args *args, uint32_t at, bool flag) {
    if (at == UINT32_MAX)
        return false;
    const tr_ty *t = args->v[at].ty;
    assert(at < args->n && "one of the arguments");
    return flag ? t->kind == TR_TY_BOOL : tr_ty_is_int(t);
}

/* A flag, by the names that NumPy has for those which leave the result its type. */
static uint32_t flag_at(const called *c, const tr_args *args) {
    static const char *const flags[] = {
        "assume_unique", "copy",    "deg",   "density", "endpoint", "equal_nan", "hermitian", "increasing",
        "invert",        "replace", "right", "rowvar",  "shuffle",  "stable",    "upper",     "wrap"};
    bool any = false;
    for (uint32_t i = 0; i < args->n; i++)
        any = any || args->v[i].ty->kind == TR_TY_BOOL;
    for (unsigned i = 0; any && i < sizeof flags / sizeof *flags; i++) {
        uint32_t at = arg_at(c, args, flags[i]);
        if (is_choice(args, at, true))
            return at;
    }
    return UINT32_MAX;
}

static bool find_choice(const called *c, const tr_args *args, choice *x) {
    static const char *const names[] = {"axis", "axis1", "axis2", "source", "destination"};
    uint32_t n = axes_of(c, args);
    tr_bfn fn = c->fn ? NULL : tr_builtins[c->row].fn; /* two axes may be the same of these alone */
    unsigned two = fn == tr_lib_arr_swapaxes || fn == tr_lib_np_moveaxis ? sizeof names / sizeof *names : 1;
    for (unsigned i = 0; n && i < two; i++) {
        *x = (choice){arg_at(c, args, names[i]), n, BY_AXIS};
        if (is_choice(args, x->at, false))
            return true;
    }
    if (!c->fn && c->row == TR_B_NP_ROT90) {
        *x = (choice){arg_at(c, args, "k"), 4, BY_TURNS};
        if (is_choice(args, x->at, false))
            return true;
    }
    *x = (choice){flag_at(c, args), 2, BY_FLAG};
    return x->at != UINT32_MAX;
}

/* The axis as an index; raises AxisError. */
static tr_tv checked_axis(tr_em *e, tr_tv axis, uint32_t n) {
    assert(n > 0 && n <= TR_MAX_NDIM + 1 && tr_ty_is_int(axis.ty) && "an axis of so many, not known before");
    tr_tv nd = tr_em_i64(e, n), zero = tr_em_i64(e, 0);
    tr_tv asked = tr_em_conv(e, axis, nd.ty), k = asked;
    if (tr_ty_class(axis.ty) != 'u') /* -1 is the last one */
        k = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, k, zero), tr_em_op2(e, TR_OP_ADD, k, nd), k);
    tr_tv ok = tr_em_op2(e, TR_OP_AND, tr_em_cmp(e, TR_CMP_GE, k, zero), tr_em_cmp(e, TR_CMP_LT, k, nd));
    tr_em_check(e, ok, TR_EXC_AXIS, "axis {0} is out of bounds for array of dimension {1}", 2,
                (tr_tv[]){asked, nd});
    return k;
}

/* Which of its values it is, from 0. */
static tr_tv chosen(tr_em *e, const choice *x, tr_tv v) {
    if (x->how == BY_FUNCTION)
        return v;
    if (x->how == BY_AXIS)
        return checked_axis(e, v, x->n);
    tr_tv k = tr_em_conv(e, v, tr_em_i64(e, 0).ty);
    return x->how == BY_FLAG ? k : tr_em_op2(e, TR_OP_AND, k, tr_em_i64(e, 3)); /* four turns are none */
}

/* A function of the user's may be given None, another one needs values. */
static bool call_function(tr_em *e, tr_tv fn, const tr_args *args, tr_tv *out) {
    tr_args a = *args;
    if (!tr_infer_takes_none(fn.ty)) {
        tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, a.n + 1u);
        for (uint32_t i = 0; i < a.n; i++)
            v[i] = tr_em_value(e, args->v[i]);
        a.v = v;
    }
    return tr_infer_call(e, fn, &a, out);
}

static bool call_with(tr_em *e, tr_tv callee, const tr_args *args, const choice *x, uint32_t k, tr_tv *out) {
    assert(k < x->n && (x->how == BY_FUNCTION || x->at < args->n) && "one of the values that it may have");
    tr_args a = *args;
    if (x->how == BY_FUNCTION)
        return call_function(e, tr_em_item(e, callee, k + 1), args, out);
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, a.n + 1u);
    memcpy(v, args->v, a.n * sizeof *v);
    v[x->at] =
        tr_em_lit(e, x->how == BY_FLAG ? tr_obj_bool(&e->ctx->arena, k != 0) : tr_obj_int(&e->ctx->arena, k));
    a.v = v;
    return tr_infer_call(e, callee, &a, out);
}

/* The same, and whether it never returns. */
static bool call_to_end(tr_em *e, tr_tv callee, const tr_args *args, const choice *x, uint32_t k, tr_tv *out,
                        bool *ends) {
    e->ends = false;
    bool ok = call_with(e, callee, args, x, k, out);
    *ends = e->ends;
    e->ends = false;
    return ok;
}

static bool no_common_type(tr_em *e, tr_tv callee, const choice *x, const tr_ty *s, const tr_ty *t) {
    static const char *const what[] = {
        [BY_AXIS] = "axis", [BY_FLAG] = "flag", [BY_TURNS] = "number of turns"};
    if (x->how == BY_FUNCTION)
        return tr_em_error(e, "the results of %s have no common type: %s and %s", tr_em_tyname(e, callee.ty),
                           tr_em_tyname(e, s), tr_em_tyname(e, t));
    return tr_em_error(e, "the type of the result depends on the %s, which is no constant here",
                       what[x->how]);
}

/* The type of all calls that return; *ty is NULL while it is not known. *ends: none returns. */
static bool common_type(tr_em *e, tr_tv callee, const tr_args *args, const choice *x, const tr_ty **ty,
                        bool *ends) {
    bool dry = e->dry, ok = true, apart = false, known = true;
    uint32_t k = 0;
    tr_tv r;
    const tr_ty *before = NULL, *t = NULL;
    *ty = NULL;
    *ends = true;
    e->dry = true;
    for (; known && !apart && k < x->n; k++) {
        bool end;
        ok = call_to_end(e, callee, args, x, k, &r, &end);
        if (!ok)
            break;
        *ends = *ends && end;
        if (end)
            continue;
        known = r.ty;
        before = *ty;
        t = r.ty ? tr_ty_strong(e->types, r.ty) : NULL;
        *ty = before && t ? tr_ty_join(e->types, before, t, e->opts->promote_numba) : t;
        apart = t && !*ty;
    }
    e->dry = dry;
    if (!ok)
        return call_with(e, callee, args, x, k, &r); /* which says why */
    if (*ends)
        *ty = tr_ty_none(e->types);
    return !apart || no_common_type(e, callee, x, before, t);
}

/* The calls, and a test that goes to the one that is meant. */
static bool call_one(tr_em *e, tr_tv callee, const tr_args *args, const choice *x, tr_tv which, tr_tv *out) {
    const tr_ty *ty;
    bool none;
    if (!common_type(e, callee, args, x, &ty, &none))
        return false;
    *out = (tr_tv){ty, TR_NOVAL};
    e->ends = none;
    if (e->dry || !ty)
        return true;
    tr_fn *fn = e->b.fn;
    tr_tv k = chosen(e, x, which), r;
    assert(tr_em_are_i64(e, 1, &k) && "what chooses is a number");
    bool value = ty->kind != TR_TY_NONE && ty->kind != TR_TY_LIT, ends;
    tr_bid join = tr_blk_new(fn);
    for (uint32_t i = 0; i < x->n; i++) {
        tr_bid next = TR_NOBLK;
        if (i + 1 < x->n) {
            tr_bid here = tr_blk_new(fn);
            next = tr_blk_new(fn);
            tr_cbr(&e->b, tr_em_cmp(e, TR_CMP_EQ, k, tr_em_i64(e, i)).v, here, 0, NULL, next, 0, NULL);
            e->b.blk = here;
        }
        if (!call_to_end(e, callee, args, x, i, &r, &ends) || (value && !ends && !tr_em_coerce(e, r, ty, &r)))
            return false;
        if (ends && !none)
            tr_emit0(&e->b, TR_OP_UNREACH, NULL);
        else
            tr_br(&e->b, join, value, &r.v);
        e->b.blk = next;
    }
    e->b.blk = join;
    assert(e->b.blk != TR_NOBLK && "code goes on behind all of them");
    e->ends = none;
    out->v = value ? tr_blk_param(fn, join, ty, NULL) : tr_const_undef(fn, ty);
    return true;
}

bool tr_infer_by_choice(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out, bool *done) {
    bool any = false;
    called c;
    choice x;
    *done = callee.ty->kind == TR_TY_ONEOF;
    if (*done) {
        x = (choice){0, callee.ty->n - 1, BY_FUNCTION};
        return call_one(e, callee, args, &x, tr_em_item(e, callee, 0), out);
    }
    for (uint32_t i = 0; i < args->n; i++)
        any = any || tr_ty_is_int(args->v[i].ty) || args->v[i].ty->kind == TR_TY_BOOL;
    *done = any && look_up(e, callee, args, &c) && find_choice(&c, args, &x);
    return !*done || call_one(e, callee, args, &x, args->v[x.at], out);
}
