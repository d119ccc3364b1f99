/* Calls: binds arguments to a user's function as CPython does, finds the instance, emits the call. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"

/* The default of parameter i among those of a closure: a tuple of the last ones, or values by name; or
 * none. */
static tr_tv default_of(tr_em *e, tr_tv defaults, uint32_t i, const tr_func *fn) {
    uint32_t np = fn->nargs;
    const tr_ty *t = defaults.ty;
    if (t && t->kind == TR_TY_TUPLE && i < np && i + t->n >= np)
        return tr_em_item(e, defaults, i + t->n - np);
    for (uint32_t k = 0; t && t->kind == TR_TY_KEYED && k < tr_em_keyed_n(t); k++)
        if (strcmp(tr_em_keyed_name(t, k), fn->argnames[i]) == 0)
            return tr_em_keyed_value(e, defaults, k);
    return (tr_tv){NULL, TR_NOVAL};
}

/* What **kw holds: the keyword arguments that no parameter took, of which `taken` says nothing. */
static tr_tv rest_by_name(tr_em *e, const tr_args *args, const bool *taken) {
    uint32_t n = 0;
    tr_tv *names = TR_NEW_N(&e->ctx->arena, tr_tv, args->nkw + 1u),
          *values = TR_NEW_N(&e->ctx->arena, tr_tv, args->nkw + 1u);
    for (uint32_t j = 0; j < args->nkw; j++) {
        if (taken[j])
            continue;
        names[n] = tr_em_lit(e, tr_obj_str(&e->ctx->arena, args->kw[j]));
        values[n++] = tr_em_strong(e, args->v[args->n - args->nkw + j]);
    }
    return tr_em_keyed(e, tr_em_tuple(e, n, names), tr_em_tuple(e, n, values));
}

static bool is_named_twice(const tr_args *args, uint32_t j) {
    for (uint32_t k = 0; k < j; k++)
        if (strcmp(args->kw[k], args->kw[j]) == 0)
            return true;
    return false;
}

/* Arguments as the callee's SSA params: captured values, parameters, *args as one tuple, **kw as names with
 * values. */
static bool bind(tr_em *e, const tr_func *fn, uint32_t ncap, const tr_tv *cap, tr_tv defaults,
                 const tr_args *args, tr_tv *out, uint32_t *nout) {
    uint32_t np = fn->nargs, nk = fn->nkwonly, npos = args->n - args->nkw, k = 0;
    assert(args->nkw <= args->n && ncap == tr_func_held(fn) && "a captured value for each free variable");
    tr_tv *slot = out + ncap;
    for (uint32_t i = 0; i < ncap; i++)
        out[i] = cap[i];
    for (; k < npos && k < np; k++)
        slot[k] = args->v[k];
    if (k < npos && !fn->varargs)
        return tr_em_error(e, "%s() takes %u positional argument%s but %u %s given", fn->name, np,
                           np == 1 ? "" : "s", npos, npos == 1 ? "was" : "were");
    bool *taken = TR_NEW_N(&e->ctx->arena, bool, args->nkw + 1u);
    tr_tv rest = {NULL, TR_NOVAL};
    for (uint32_t j = 0; j < args->nkw; j++) {
        uint32_t i = fn->nposonly;
        if (fn->varargs && strcmp(args->kw[j], TR_REST) == 0) {
            rest = args->v[npos + j];
            continue;
        }
        while (i < np + nk && strcmp(fn->argnames[i], args->kw[j]) != 0)
            i++;
        taken[j] = i < np + nk;
        if (is_named_twice(args, j))
            return tr_em_error(e, "%s() got multiple values for keyword argument '%s'", fn->name,
                               args->kw[j]);
        if (!taken[j] && fn->varkw)
            continue;
        if (!taken[j])
            return tr_em_error(e, "%s() got an unexpected keyword argument '%s'", fn->name, args->kw[j]);
        if (slot[i].ty)
            return tr_em_error(e, "%s() got multiple values for argument '%s'", fn->name, args->kw[j]);
        slot[i] = args->v[npos + j];
    }
    for (uint32_t i = 0; i < np + nk; i++) {
        if (slot[i].ty)
            continue;
        slot[i] =
            fn->defaults && fn->defaults[i] ? tr_em_obj(e, fn->defaults[i]) : default_of(e, defaults, i, fn);
        if (!slot[i].ty)
            return tr_em_error(e, "%s() is missing its argument '%s'", fn->name, fn->argnames[i]);
    }
    *nout = ncap + np + nk;
    if (fn->varargs)
        out[(*nout)++] = rest.ty ? rest : tr_em_tuple(e, npos > k ? npos - k : 0, args->v + k);
    if (fn->varkw)
        out[(*nout)++] = rest_by_name(e, args, taken);
    assert(tr_em_are_whole(e, *nout, out) && "every parameter has a value");
    return true;
}

/* A literal as it is, a tuple and a slice with their literals; a number of Python's is weak beside what NumPy
 * has, also where a graph takes it as an argument. */
static tr_tv constants_kept(tr_em *e, tr_tv x) {
    if (x.ty->kind == TR_TY_LIT || x.ty->weak)
        return x;
    if ((x.ty->kind != TR_TY_TUPLE && x.ty->kind != TR_TY_SLICE) || tr_ty_strong(e->types, x.ty) == x.ty)
        return tr_em_strong(e, x);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n);
    for (uint32_t i = 0; i < x.ty->n; i++)
        it[i] = constants_kept(e, tr_em_item(e, x, i));
    if (x.ty->kind == TR_TY_SLICE)
        return tr_em_make(e, tr_ty_slice(e->types, it[0].ty, it[1].ty, it[2].ty), 3, it);
    return tr_em_tuple(e, x.ty->n, it);
}

/* Arguments are strong, but not what a closure captures, the first of them; literals that are not numbers
 * stay known, members of enums too, numbers where the function asks for it, or where they are sizes
 * (sizes.c). infer/ufuncs.c has said which are weak. */
static void strengthen(tr_em *e, const tr_func *fn, const tr_contract *k, uint32_t ncap, uint32_t n,
                       tr_tv *v) {
    for (uint32_t i = ncap; i < n; i++) {
        bool size = fn->sizes && i - ncap < fn->nargs + fn->nkwonly && fn->sizes[i - ncap];
        if (size || (k && k->constants && i < k->nargs && k->constants[i]))
            v[i] = constants_kept(e, v[i]);
        else if (v[i].ty->kind == TR_TY_LIT && v[i].ty->lit->member)
            continue;
        else if (!fn->ufn || !v[i].ty->weak)
            v[i] = tr_em_strong(e, v[i]);
    }
}

/* Options of one that stands for a function of NumPy's. */
static uint32_t library_opts(tr_em *e) {
    tr_opts o = *e->opts;
    o.error_numpy = 1;
    o.promote_numba = o.inline_always = 0;
    return tr_prog_opts(e->prog, &o);
}

/* Nothing is known of the result, as the function has errors of its own, which it tells. */
static bool is_broken(const istate *s) {
    return tr_infer_failed(s) || tr_infer_may_return(s);
}

/* What a call gives: its type for the caller; what the callee would have to declare (`again`), as more was
 * put into its lists here than it puts there. */
typedef struct given {
    const tr_ty *out, *ty;
    bool again;
} given;

/* What the callee puts into lists that it was given flows back to them, and what its own hold to the caller's
 * cells for them. */
static bool give_back(infer *f, tr_em *e, tr_callee c, uint32_t inst, uint32_t n, const tr_tv *v,
                      given *out) {
    const istate *s = &f->st.d[inst];
    const tr_blk *entry = tr_blk_at(s->src, 0);
    for (uint32_t i = 0; i < n && e->cells; i++)
        if (tr_ty_has_lists(v[i].ty) && s->ty[entry->params.d[i]])
            tr_infer_flow_lists(f, s->ty[entry->params.d[i]], v[i].ty, e->place.span.line,
                                e->opts->promote_numba);
    out->again = false;
    out->out = s->ret;
    if (!s->ret || !tr_ty_has_lists(s->ret))
        return true;
    const tr_ty *cells = tr_infer_open_result(f, c.func, s->ret), *here = tr_ty_closed(e->types, cells);
    out->again = here != tr_ty_closed(e->types, s->ret);
    out->ty = here;
    out->out = e->cells ? cells : here;
    return !out->again || !c.ret || c.ret != here;
}

/* The result has no type while it is not known. `e->ends`: the function does not return. */
static bool call_func(tr_em *e, tr_callee c, const tr_contract *k, uint32_t ncap, const tr_tv *cap,
                      tr_tv defaults, const tr_args *args, tr_tv *out) {
    infer *f = e->infer;
    const tr_func *fn = &f->p->funcs.d[c.func];
    uint32_t max = ncap + fn->nargs + fn->nkwonly + 3u, n = 0;
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, max);
    if (!bind(e, fn, ncap, cap, defaults, args, v, &n) || (k && !tr_infer_settle(e, fn, k, n, v, &c.ret)))
        return false;
    strengthen(e, fn, k, ncap, n, v);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        t[i] = v[i].ty;
    given ret_ty = {NULL, NULL, false};
    uint32_t inst = tr_infer_instance(f, e, c, n, t);
    if (inst == UINT32_MAX)
        return false;
    if (!tr_infer_types(f, inst))
        return false;
    if (!give_back(f, e, c, inst, n, v, &ret_ty))
        return false;
    if (ret_ty.again) { /* the lists that it gives have more than what it puts there */
        c.ret = ret_ty.ty;
        inst = tr_infer_instance(f, e, c, n, t);
        if (inst == UINT32_MAX || !tr_infer_types(f, inst) || !give_back(f, e, c, inst, n, v, &ret_ty))
            return false;
    }
    istate *s = &f->st.d[inst];
    /* One with errors tells them when its code is made, also where code of the root's only
     * asked for its type. */
    if (!s->queued && (!e->dry || (f->queue.n && tr_infer_failed(s)))) {
        s->queued = true;
        tr_vec_push(&e->ctx->arena, &f->queue, inst);
    }
    assert((e->dry || s->done) && "types are stable when code is made");
    if (!s->ret && (!s->done || is_broken(s))) {
        *out = (tr_tv){NULL, TR_NOVAL};
        e->ends = !s->done && !tr_infer_failed(s); /* recursion: so far no path of it returns */
        if (!e->dry)
            tr_infer_lose(f, e->place, fn->name);
        return true;
    }
    e->ends = !s->ret;
    const tr_ty *ret = s->ret ? ret_ty.out : tr_ty_none(e->types);
    *out = (tr_tv){ret, TR_NOVAL};
    if (e->dry)
        return true;
    tr_val *a = TR_NEW_N(&e->ctx->arena, tr_val, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        a[i] = v[i].v;
    out->v = tr_emit_v(&e->b, TR_OP_CALL, ret, n, a);
    tr_at(e->b.fn, out->v)->imm.fn = inst;
    if (ret->kind == TR_TY_NONE || ret->kind == TR_TY_LIT)
        out->v = tr_const_undef(e->b.fn, ret);
    return true;
}

/* A decorated function has its own options, a plain one its caller's. */
static bool call_object(tr_em *e, const tr_obj *fn, const tr_args *args, tr_tv *out) {
    const tr_contract *k = fn->u.contract;
    tr_callee c = {fn->u.func, !k ? e->opts_no : k->library ? library_opts(e) : k->opts, NULL};
    const infer *f = e->infer; /* what the library's functions call of each other is their own affair */
    bool users = f->cur == UINT32_MAX || !f->p->funcs.d[f->p->insts.d[f->cur].func].library;
    if (k && k->library && users && !tr_lib_date_library(e, f->p->funcs.d[c.func].name, args))
        return false;
    return call_func(e, c, k, 0, NULL, (tr_tv){NULL, TR_NOVAL}, args, out);
}

bool tr_infer_call_func(tr_em *e, const tr_obj *fn, uint32_t n, const tr_tv *x, tr_tv *out) {
    return call_object(e, fn, &(tr_args){n, x, 0, NULL}, out);
}

/* np.float32(x), int32(x): a conversion; of an array: astype through its method. */
static bool call_type(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out) {
    const tr_ty *to = tr_tv_dtype(e, callee);
    if (!to)
        return tr_em_error(e, "%s cannot be called in compiled code", callee.ty->lit->repr);
    if (args->nkw || args->n > 1)
        return tr_em_error(e, "%s() takes one argument", tr_em_tyname(e, to));
    if (args->n == 0) {
        *out = tr_em_num(e, to, 0.0);
        return true;
    }
    tr_tv x = args->v[0];
    if (x.ty->kind == TR_TY_ARRAY) {
        tr_tv m;
        if (!tr_em_getattr(e, x, "astype", &m))
            return false;
        return tr_infer_call(e, m, &(tr_args){1, &callee, 0, NULL}, out);
    }
    const tr_ty *s = x.ty->kind == TR_TY_LIT ? tr_em_strong(e, x).ty : x.ty;
    if (!tr_ty_is_scalar(s))
        return tr_em_error(e, "cannot convert %s to %s", tr_em_tyname(e, x.ty), tr_em_tyname(e, to));
    if (tr_ty_is_complex(s) && !tr_ty_is_complex(to) && to->kind != TR_TY_BOOL)
        return tr_em_error(e, "cannot convert complex to %s", tr_em_tyname(e, to));
    *out = tr_em_conv(e, x, to);
    return true;
}

static bool call_exc(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out) {
    if (args->nkw)
        return tr_em_unsupported(e, "raise-args", "keyword arguments of an exception");
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, args->n + 1u);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, args->n + 1u);
    for (uint32_t i = 0; i < args->n; i++) {
        v[i] = args->v[i].ty->weak ? tr_em_strong(e, args->v[i]) : args->v[i];
        t[i] = v[i].ty;
    }
    *out = tr_em_make(e, tr_ty_exc(e->types, callee.ty->lit, args->n, t), args->n, v);
    return true;
}

/* A vector of CUDA's: a named tuple of x, y, z, w, or of the first of these. */
static bool is_vector(const tr_ty *t) {
    bool yes = t->kind == TR_TY_TUPLE && t->fields && t->n >= 1 && t->n <= 4;
    for (uint32_t i = 0; yes && i < t->n; i++)
        yes = strcmp(t->fields[i], (const char *[]){"x", "y", "z", "w"}[i]) == 0;
    return yes;
}

/* cuda.float4(a, b, ...): numbers and shorter vectors, one after another, each converted. */
static bool call_vector(tr_em *e, const tr_obj *c, const tr_args *args, tr_tv *out) {
    tr_tv v[4];
    const tr_ty *t[4];
    uint32_t n = 0;
    assert(c->u.t.n >= 1 && c->u.t.n <= 4 && tr_ty_is_scalar(c->ty) && "a vector has one to four numbers");
    if (args->nkw)
        return tr_em_error(e, "%s() takes no keyword arguments", c->u.t.name);
    for (uint32_t i = 0; i < args->n; i++) {
        bool vector = is_vector(args->v[i].ty);
        for (uint32_t k = 0; k < (vector ? args->v[i].ty->n : 1); k++, n++) {
            tr_tv x = vector ? tr_em_item(e, args->v[i], k) : args->v[i];
            const tr_ty *s = x.ty->kind == TR_TY_LIT ? tr_em_strong(e, x).ty : x.ty;
            if (!tr_ty_is_scalar(s) || tr_ty_is_complex(s))
                return tr_em_error(e, "%s() takes numbers and vectors of them, not %s", c->u.t.name,
                                   tr_em_tyname(e, x.ty));
            if (n >= c->u.t.n)
                continue;
            v[n] = tr_em_conv(e, x, c->ty);
            t[n] = c->ty;
        }
    }
    if (n != c->u.t.n)
        return tr_em_error(e, "%s() takes %u number%s, alone or in vectors, and not %u", c->u.t.name,
                           c->u.t.n, c->u.t.n == 1 ? "" : "s", n);
    *out = tr_em_make(e, tr_ty_named_tuple(e->types, c->u.t.name, c->u.t.serial, n, t, c->u.t.fields), n, v);
    return true;
}

static bool call_ntclass(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out) {
    const tr_obj *c = callee.ty->lit;
    if (c->ty)
        return call_vector(e, c, args, out);
    uint32_t n = c->u.t.n, npos = args->n - args->nkw;
    if (args->n > n)
        return tr_em_error(e, "%s() takes %u arguments but %u were given", c->u.t.name, n, args->n);
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t i = 0; i < npos; i++)
        v[i] = args->v[i];
    for (uint32_t j = 0; j < args->nkw; j++) {
        uint32_t i = 0;
        while (i < n && strcmp(c->u.t.fields[i], args->kw[j]) != 0)
            i++;
        if (i == n || v[i].ty)
            return tr_em_error(e, "%s() got an unexpected keyword argument '%s'", c->u.t.name, args->kw[j]);
        v[i] = args->v[npos + j];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!v[i].ty && !c->u.t.items[i])
            return tr_em_error(e, "%s() misses the field '%s'", c->u.t.name, c->u.t.fields[i]);
        v[i] = tr_em_strong(e, v[i].ty ? v[i] : tr_em_obj(e, c->u.t.items[i]));
        t[i] = v[i].ty;
    }
    *out = tr_em_make(e, tr_ty_named_tuple(e->types, c->u.t.name, c->u.t.serial, n, t, c->u.t.fields), n, v);
    return true;
}

static bool call_closure(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out) {
    uint32_t n = callee.ty->n;
    assert(n >= 1 && callee.ty->func < e->prog->funcs.n && "a closure has defaults, or None, and a function");
    tr_tv *cap = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        cap[i] = tr_em_item(e, callee, i);
    return call_func(e, (tr_callee){callee.ty->func, callee.ty->opts, NULL}, NULL, n - 1, cap + 1, cap[0],
                     args, out);
}

/* A function whose first argument is the object. */
static bool call_method(tr_em *e, const tr_obj *fn, tr_tv self, const tr_args *args, tr_tv *out) {
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, args->n + 1u);
    v[0] = self;
    for (uint32_t i = 0; i < args->n; i++)
        v[i + 1] = args->v[i];
    return call_object(e, fn, &(tr_args){args->n + 1u, v, args->nkw, args->kw}, out);
}

/* str.upper(x): x's own method, if it is of the class. */
static bool call_unbound(tr_em *e, tr_tv cls, const char *name, const tr_args *args, tr_tv *out) {
    tr_tv method, is, of[2] = {{NULL, TR_NOVAL}, cls};
    int64_t known;
    if (args->n == args->nkw)
        return tr_em_error(e, "unbound method %s.%s() needs an argument", cls.ty->lit->repr, name);
    of[0] = args->v[0];
    if (!tr_em_builtin(e, TR_B_ISINSTANCE, (tr_tv){NULL, TR_NOVAL}, &(tr_args){2, of, 0, NULL}, &is))
        return false;
    if (!tr_tv_lit_int(is, &known) || !known)
        return tr_em_error(e, "descriptor '%s' for %s doesn't apply to %s", name, cls.ty->lit->repr,
                           tr_em_tyname(e, of[0].ty));
    return tr_em_getattr(e, of[0], name, &method) &&
           tr_infer_call(e, method, &(tr_args){args->n - 1, args->v + 1, args->nkw, args->kw}, out);
}

/* functools.partial(callee, ...) */
static bool make_partial(tr_em *e, const tr_args *args, tr_tv *out) {
    uint32_t npos = args->n - args->nkw;
    tr_tv *names = TR_NEW_N(&e->ctx->arena, tr_tv, args->nkw + 1u);
    if (npos == 0)
        return tr_em_error(e, "partial() takes a function first");
    for (uint32_t i = 0; i < args->nkw; i++)
        names[i] = tr_em_lit(e, tr_obj_str(&e->ctx->arena, args->kw[i]));
    *out = tr_em_partial(e, args->v[0], tr_em_tuple(e, npos - 1, args->v + 1),
                         tr_em_tuple(e, args->nkw, names), tr_em_tuple(e, args->nkw, args->v + npos));
    return true;
}

/* Its arguments come first; one by keyword that is given again is the later one. */
static bool call_partial(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out) {
    tr_tv first = tr_em_item(e, callee, 1), named = tr_em_item(e, callee, 2);
    uint32_t nfirst = first.ty->n, nnamed = tr_em_keyed_n(named.ty), npos = args->n - args->nkw, n = 0,
             nkw = 0;
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, nfirst + nnamed + args->n + 1u);
    const char **kw = TR_NEW_N(&e->ctx->arena, const char *, nnamed + args->nkw + 1u);
    for (uint32_t i = 0; i < nfirst; i++)
        v[n++] = tr_em_item(e, first, i);
    for (uint32_t i = 0; i < npos; i++)
        v[n++] = args->v[i];
    for (uint32_t i = 0; i < nnamed; i++) {
        uint32_t k = 0;
        while (k < args->nkw && strcmp(args->kw[k], tr_em_keyed_name(named.ty, i)) != 0)
            k++;
        if (k < args->nkw)
            continue;
        kw[nkw++] = tr_em_keyed_name(named.ty, i);
        v[n++] = tr_em_keyed_value(e, named, i);
    }
    for (uint32_t i = 0; i < args->nkw; i++) {
        kw[nkw++] = args->kw[i];
        v[n++] = args->v[npos + i];
    }
    return tr_infer_call(e, tr_em_item(e, callee, 0), &(tr_args){n, v, nkw, kw}, out);
}

static bool call_any(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out) {
    assert(tr_em_is_whole(e, callee) && args->nkw <= args->n &&
           "a value is called, keywords are among arguments");
    const tr_ty *t = callee.ty;
    bool done;
    if (t->kind == TR_TY_CLOSURE)
        return call_closure(e, callee, args, out);
    if (t->kind == TR_TY_PARTIAL)
        return call_partial(e, callee, args, out);
    if (t->kind == TR_TY_LIT && t->lit->kind == TR_OBJ_BUILTIN && t->lit->u.builtin == TR_B_PARTIAL)
        return make_partial(e, args, out);
    if (!tr_infer_by_choice(e, callee, args, out, &done))
        return false;
    if (done)
        return true;
    if (t->kind == TR_TY_METHOD) {
        tr_tv self = tr_em_item(e, callee, 0);
        int row = tr_em_member(e, self, t->name);
        const tr_obj *fn = row < 0 ? tr_em_method(e, self, t->name) : NULL;
        if (fn) /* str.maketrans is the class's own */
            return call_method(e, fn, self, args, out);
        if (row < 0 && tr_em_has_methods(self))
            return call_unbound(e, self, t->name, args, out);
        if (row < 0)
            return tr_em_error(e, "%s has no method '%s'", tr_em_tyname(e, self.ty), t->name);
        return tr_em_builtin(e, (uint32_t)row, self, args, out);
    }
    if (t->kind == TR_TY_LIT) {
        switch (t->lit->kind) {
        case TR_OBJ_FUNC:
            return e->prog->funcs.d[t->lit->u.func].ufn ? tr_infer_call_ufunc(e, t->lit, args, out)
                                                        : call_object(e, t->lit, args, out);
        case TR_OBJ_BUILTIN: return tr_em_builtin(e, t->lit->u.builtin, (tr_tv){NULL, TR_NOVAL}, args, out);
        case TR_OBJ_TYPE: return call_type(e, callee, args, out);
        case TR_OBJ_EXC: return call_exc(e, callee, args, out);
        case TR_OBJ_EXTERN: return tr_em_extern(e, t->lit, args, out);
        case TR_OBJ_UFUNC: return tr_em_foreign(e, t->lit, args, NULL, out);
        case TR_OBJ_NTCLASS: return call_ntclass(e, callee, args, out);
        case TR_OBJ_OPAQUE:
            tr_em_unsupported(e, "unknown-callable", "calls of %s", t->lit->repr);
            tr_em_hint_missing(e, t->lit->repr);
            return false;
        default: break;
        }
    }
    return tr_em_error(e, "%s is not callable", tr_em_tyname(e, t));
}

/* What is called from within a call, by a template, makes lists of its own: list(map(list, x)). */
bool tr_infer_call(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out) {
    infer *f = e->infer;
    f->deep++;
    bool ok = call_any(e, callee, args, out);
    f->deep--;
    return ok;
}
