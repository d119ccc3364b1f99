/* The meaning of one front instruction: dispatches to the templates of lib/. Used dry and for real. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"

tr_place tr_infer_place(const tr_fn *src, const tr_ins *in) {
    tr_place p = in->loc < src->locs.n ? src->locs.d[in->loc].place : (tr_place){0};
    if (!p.fn)
        p.fn = src->name;
    if (!p.file)
        p.file = src->file;
    return p;
}

/* A function of the user's that is called once, here; what a builtin or a ufunc calls may
 * run for no element. */
static bool callee_is_users(const tr_em *e, const tr_ty *callee) {
    if (callee->kind == TR_TY_ONEOF) {
        uint32_t k = 1;
        while (k < callee->n && callee_is_users(e, callee->items[k]))
            k++;
        return k == callee->n;
    }
    if (callee->kind == TR_TY_METHOD &&
        tr_em_method((tr_em *)(uintptr_t)e, (tr_tv){callee->items[0], TR_NOVAL}, callee->name))
        return true; /* one that is a function of the library */
    return callee->kind == TR_TY_CLOSURE || (callee->kind == TR_TY_LIT && callee->lit->kind == TR_OBJ_FUNC &&
                                             !e->prog->funcs.d[callee->lit->u.func].ufn);
}

static bool makes_list(const tr_ins *in) {
    return in->op == TR_OP_GENERATE && (in->sub & TR_MAKES_LIST);
}

/* Several mappings of names as one, in which a name may stand twice: who is called tells of it. */
static bool all_named(tr_em *e, tr_tv maps, tr_tv *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < maps.ty->n; i++) {
        if (maps.ty->items[i]->kind != TR_TY_KEYED)
            return tr_em_unsupported(e, "call-starstar", "a call with ** of %s",
                                     tr_em_tyname(e, maps.ty->items[i]));
        n += tr_em_keyed_n(maps.ty->items[i]);
    }
    tr_tv *names = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), *values = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    n = 0;
    for (uint32_t i = 0; i < maps.ty->n; i++) {
        tr_tv map = tr_em_item(e, maps, i);
        for (uint32_t k = 0; k < tr_em_keyed_n(map.ty); k++, n++) {
            names[n] = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_em_keyed_name(map.ty, k)));
            values[n] = tr_em_keyed_value(e, map, k);
        }
    }
    *out = tr_em_keyed(e, tr_em_tuple(e, n, names), tr_em_tuple(e, n, values));
    return true;
}

/* Items of tuples that have a star, one by one; *stars: of each of what there is then, has it one still? */
static tr_args flattened(tr_em *e, uint32_t n, const tr_tv *x, const uint8_t *given, const uint8_t **stars) {
    uint32_t count = 0, k = 0;
    for (uint32_t i = 0; i < n; i++)
        count += given[i] && x[i].ty->kind == TR_TY_TUPLE ? x[i].ty->n : 1;
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, count + 1u);
    uint8_t *starred = TR_NEW_N(&e->ctx->arena, uint8_t, count + 1u);
    for (uint32_t i = 0; i < n; i++) {
        bool tuple = given[i] && x[i].ty->kind == TR_TY_TUPLE;
        for (uint32_t j = 0; j < (tuple ? x[i].ty->n : 1); j++, k++) {
            v[k] = tuple ? tr_em_item(e, x[i], j) : x[i];
            starred[k] = given[i] && !tuple;
        }
    }
    *stars = starred;
    return (tr_args){count, v, 0, NULL};
}

/* Arguments of a call with stars: those of the tuple one by one, behind the keywords those of the mapping. */
static bool starred_args(tr_em *e, const tr_ins *in, const tr_tv *a, tr_args *out, tr_tv *made) {
    const tr_callinfo *ci = in->imm.call;
    uint32_t end = in->nargs - ci->starstar, first = end - ci->nkw, npos = first - 1, nmore = 0;
    tr_tv map = a[in->nargs - 1];
    tr_args given = {0};
    tr_tv rest = *made = (tr_tv){NULL, TR_NOVAL};
    bool counted = true;
    for (uint32_t i = 0; ci->stars && i < npos; i++)
        counted = counted && (!ci->stars[i] || a[1 + i].ty->kind == TR_TY_TUPLE);
    given = (tr_args){npos, a + 1, 0, NULL};
    if (ci->stars) {
        const uint8_t *stars;
        given = flattened(e, npos, a + 1, ci->stars, &stars);
        if (npos > 1 && !tr_em_may_grow_to(e, given.n))
            return false;
        if (!counted && !tr_infer_star(e, a[0], ci, a + first, given.n, given.v, stars, &given, &rest, made))
            return false;
        if (made->ty)
            return true;
    }
    if (ci->starstar && map.ty->kind == TR_TY_TUPLE && !all_named(e, map, &map))
        return false;
    if (ci->starstar && map.ty->kind != TR_TY_KEYED)
        return tr_em_unsupported(e, "call-starstar", "a call with ** of %s", tr_em_tyname(e, map.ty));
    npos = given.n;
    if (ci->starstar)
        nmore = tr_em_keyed_n(map.ty);
    uint32_t nkw = ci->nkw + nmore;
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, npos + nkw + 2u);
    const char **kw = TR_NEW_N(&e->ctx->arena, const char *, nkw + 2u);
    for (uint32_t i = 0; i < npos; i++)
        v[i] = given.v[i];
    for (uint32_t i = 0; i < nkw; i++) {
        v[npos + i] = i < ci->nkw ? a[first + i] : tr_em_keyed_value(e, map, i - ci->nkw);
        kw[i] = i < ci->nkw ? ci->kwnames[i] : tr_em_keyed_name(map.ty, i - ci->nkw);
    }
    if (rest.ty) {
        v[npos + nkw] = rest;
        kw[nkw++] = TR_REST;
    }
    *out = (tr_args){npos + nkw, v, nkw, kw};
    return true;
}

static bool step_call(tr_em *e, const tr_fn *f, const tr_ins *in, const tr_tv *a, tr_tv *out) {
    const tr_callinfo *ci = in->imm.call;
    e->fresh = in->nargs > 1 && makes_list(tr_at(f, in->args[1]));
    tr_args args = {in->nargs - 1, a + 1, ci ? ci->nkw : 0, ci ? ci->kwnames : NULL};
    const tr_obj *o = a[0].ty->kind == TR_TY_LIT ? a[0].ty->lit : NULL;
    if (o && o->kind == TR_OBJ_FUNC && o->u.contract && o->u.contract->subscripted)
        return tr_em_error(e, "np.%s is not callable: write np.%s[...]", e->prog->funcs.d[o->u.func].name,
                           e->prog->funcs.d[o->u.func].name);
    if (!ci || (!ci->stars && !ci->starstar))
        return e->call(e, a[0], &args, out);
    tr_tv made;
    if (!starred_args(e, in, a, &args, &made))
        return false;
    *out = made;
    return made.ty || e->call(e, a[0], &args, out);
}

static bool is_lit_float(const tr_ty *t) {
    return t->kind == TR_TY_LIT && (t->lit->kind == TR_OBJ_FLOAT || t->lit->kind == TR_OBJ_COMPLEX);
}

/* start:stop:step; literals stay in the type, so that a constant step is known. */
static tr_tv step_slice(tr_em *e, const tr_tv *a) {
    tr_tv it[3];
    for (int i = 0; i < 3; i++) {
        int64_t v;
        it[i] = tr_tv_lit_int(a[i], &v) || is_lit_float(a[i].ty) ? a[i] : tr_em_strong(e, a[i]);
        if (it[i].ty->kind == TR_TY_U64) /* what no int64 can be is beyond any end */
            it[i] = tr_em_op2(e, TR_OP_MIN, it[i], tr_em_conv(e, tr_em_i64(e, INT64_MAX), it[i].ty));
        if (tr_ty_is_int(it[i].ty))
            it[i] = tr_em_conv(e, it[i], tr_ty_scalar(e->types, TR_TY_I64));
        if (tr_tv_is_none(a[i]))
            it[i] = tr_em_none(e);
    }
    return tr_em_make(e, tr_ty_slice(e->types, it[0].ty, it[1].ty, it[2].ty), 3, it);
}

/* A closure's captured values; operand 0 is its defaults (a tuple) or None. A weak number stays weak, as one
 * is that a function captures which was frozen. */
static tr_tv step_closure(tr_em *e, const tr_ins *in, const tr_tv *a) {
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, in->nargs + 1u);
    for (uint32_t i = 0; i < in->nargs; i++)
        t[i] = a[i].ty;
    return tr_em_make(e, tr_ty_closure(e->types, in->imm.fn, e->opts_no, in->nargs, t), in->nargs, a);
}

/* The uses of v: how many, and the last one that is no block's argument. */
static uint32_t count_users(const tr_fn *f, tr_val v, const tr_ins **user) {
    uint32_t n = 0;
    *user = NULL;
    for (uint32_t i = 0; i < f->ins.n; i++) {
        const tr_ins *u = &f->ins.d[i];
        for (uint32_t k = 0; u->blk != TR_NOBLK && k < u->nargs; k++)
            if (u->args[k] == v) {
                *user = u;
                n++;
            }
        for (uint32_t k = 0; u->blk != TR_NOBLK && k < tr_nsucc(u); k++)
            for (uint32_t j = 0; j < u->imm.succ[k].n; j++)
                n += u->imm.succ[k].args[j] == v;
    }
    return n;
}

/* What is called, where that is a constant, or NULL. */
static const tr_obj *constant_callee(const tr_em *e, const tr_fn *f, const tr_ins *call) {
    const infer *of = e->infer;
    const istate *s = &of->st.d[of->cur];
    if (call->op != TR_OP_CALLPY)
        return NULL;
    assert(s->src == f);
    const tr_ty *t = s->ty[call->args[0]]; /* it was loaded before the arguments */
    const tr_ins *callee = tr_at(f, call->args[0]);
    return callee->op == TR_OP_OBJ ? callee->imm.obj : t && t->kind == TR_TY_LIT ? t->lit : NULL;
}

static bool is_builtin(const tr_obj *o) {
    return o && o->kind == TR_OBJ_BUILTIN;
}

/* The function is the package's own: what it returns it has from nowhere else. */
static bool in_library(const tr_em *e) {
    const infer *of = e->infer;
    const tr_inst *inst = &of->p->insts.d[of->st.d[of->cur].inst];
    return of->p->funcs.d[inst->func].library;
}

/* An iterator is used up once, whoever asks it. Where one that has just been made is asked at one place,
 * which runs as often as it is made, that does not show, and the loop's counter is all its state. */
static bool is_used_up(const tr_em *e, const tr_fn *f, tr_val v) {
    const tr_ins *user;
    uint32_t n = count_users(f, v, &user);
    if (n != 1 || !user)
        return n == 0;
    return user->blk == tr_at(f, v)->blk &&
           ((user->op == TR_OP_RET && in_library(e)) || user->op == TR_OP_ITER || user->op == TR_OP_IN ||
            (user->op == TR_OP_SPREAD && user->sub != TR_SPREAD_AS_IS) ||
            is_builtin(constant_callee(e, f, user)));
}

/* --- generator expressions and list comprehensions --- */

/* A function of the library that makes a list of what it is given before it does anything. */
static bool makes_list_first(const tr_em *e, const tr_obj *callee) {
    static const char *const names[] = {"sorted", "nsmallest", "nlargest"};
    const tr_func *fn = callee && callee->kind == TR_OBJ_FUNC ? &e->prog->funcs.d[callee->u.func] : NULL;
    for (size_t i = 0; fn && fn->library && i < sizeof names / sizeof *names; i++)
        if (strcmp(fn->name, names[i]) == 0)
            return true;
    return false;
}

/* The row of builtins.def that a call is of, a function's or a method's; -1: of none. */
static int called_row(tr_em *e, const tr_fn *f, const tr_ins *call) {
    const tr_obj *callee = constant_callee(e, f, call);
    const infer *of = e->infer;
    const tr_ty *t = call->op == TR_OP_CALLPY ? of->st.d[of->cur].ty[call->args[0]] : NULL;
    if (is_builtin(callee))
        return (int)callee->u.builtin;
    return t && t->kind == TR_TY_METHOD ? tr_em_member(e, (tr_tv){t->items[0], TR_NOVAL}, t->name) : -1;
}

/* Is the call of what asks for all items, and keeps what comes? */
static bool takes_all(tr_em *e, const tr_fn *f, const tr_ins *call) {
    int row = called_row(e, f, call);
    return (row >= 0 && tr_lib_takes_all((uint32_t)row)) || makes_list_first(e, constant_callee(e, f, call));
}

/* When the call, of a builtin or a method, ends, nobody asks the generator any more, or has asked it for one
 * item as next() does: a method keeps no iterator. */
static bool asks_at_once(tr_em *e, const tr_fn *f, const tr_ins *call) {
    const infer *of = e->infer;
    const tr_ty *t = call->op == TR_OP_CALLPY ? of->st.d[of->cur].ty[call->args[0]] : NULL;
    bool method = t && t->kind == TR_TY_METHOD && tr_at(f, call->args[0])->op == TR_OP_GETATTR;
    return method || called_row(e, f, call) == TR_B_NEXT || takes_all(e, f, call);
}

/* Does the only user of a generator run through it at once? Who asks for items one by one may do so too, and
 * then it is an iterator; of those with several loops, which cost more as one, some more are run through. */
static bool runs_through(tr_em *e, const tr_fn *f, const tr_ins *user, bool several) {
    int row = called_row(e, f, user);
    return user->op == TR_OP_IN || (row >= 0 && tr_lib_runs_through((uint32_t)row)) ||
           (several && (user->op == TR_OP_SPREAD || takes_all(e, f, user)));
}

/* A generator that is made where it is run through has no state that shows; another one is an iterator,
 * if its variables stay what they are: up to the call that asks for all its items, or to its end. */
static bool step_genexpr(tr_em *e, const tr_fn *f, tr_val v, const tr_tv *a, tr_tv *out) {
    const tr_ins *in = tr_at(f, v), *user;
    bool once = count_users(f, v, &user) == 1 && user && user->blk == in->blk;
    bool soon = once && (user->op == TR_OP_ITER || asks_at_once(e, f, user));
    *out = tr_em_genexpr(e, a[0], a[1]);
    bool through = once && runs_through(e, f, user, tr_em_has_loops(e, *out));
    if (in->sub & (through || soon ? TR_MAKES_LATE_SOON : TR_MAKES_LATE))
        return tr_em_unsupported(
            e, "closure-late",
            "a generator expression that uses a variable which is assigned again before it ends");
    return through || (once && user->op == TR_OP_ITER && !tr_em_has_loops(e, *out)) ||
           tr_em_generator(e, *out, out);
}

/* Does what is called take a list for the array of its items? */
static bool takes_arrays(const tr_obj *callee) {
    if (callee && callee->kind == TR_OBJ_FUNC)
        return callee->u.contract && callee->u.contract->library && callee->u.contract->arrays;
    return is_builtin(callee) && tr_lib_reads_list(callee->u.builtin);
}

static bool is_row(const tr_em *e, const tr_fn *f, const tr_ins *user);

/* Of a comprehension in f that makes v: is what it makes handed to what takes it for an array? By the code
 * alone, as nothing is known yet of the function around. */
static bool becomes_array(const tr_em *e, const tr_fn *f, tr_val v) {
    const tr_ins *user;
    if (count_users(f, v, &user) != 1 || !user)
        return false;
    const tr_ins *callee = user->op == TR_OP_CALLPY ? tr_at(f, user->args[0]) : NULL;
    if (callee)
        return callee->op == TR_OP_OBJ ? takes_arrays(callee->imm.obj)
                                       : callee->op == TR_OP_GETATTR && /* np.array */
                                             tr_at(f, callee->args[0])->op == TR_OP_OBJ;
    return (user->op == TR_OP_GETITEM && user->args[1] == v) ||
           (user->op == TR_OP_SETITEM && user->args[0] != v) || is_row(e, f, user);
}

/* Is the comprehension whose round f is an array? */
static bool rounds_make_array(const tr_em *e, const tr_fn *f) {
    for (uint32_t n = 0; n < e->prog->funcs.n; n++) {
        const tr_fn *in = e->prog->funcs.d[n].ssa;
        for (uint32_t v = 0; in && v < in->ins.n; v++) {
            const tr_ins *i = tr_at(in, v);
            if (i->op == TR_OP_GENERATE && i->blk != TR_NOBLK && tr_at(in, i->args[0])->op == TR_OP_CLOSURE &&
                tr_at(in, i->args[0])->imm.fn == f->func)
                return becomes_array(e, in, v);
        }
    }
    return false;
}

/* Is `user` the end of a round that gives a row of an array? */
static bool is_row(const tr_em *e, const tr_fn *f, const tr_ins *user) {
    const tr_round *r = f->func < e->prog->funcs.n ? e->prog->funcs.d[f->func].round : NULL;
    const tr_ins *then;
    return user->op == TR_OP_BUILDTUP && r && r->list &&
           count_users(f, (tr_val)(user - f->ins.d), &then) == 1 && then && then->op == TR_OP_RET &&
           user->nargs == 1 && rounds_make_array(e, f);
}

/* What an item is assigned to; NULL: not known yet. */
static const tr_ty *assigned_to(const tr_em *e, const tr_ins *set) {
    const infer *of = e->infer;
    return of->st.d[of->cur].ty[set->args[0]];
}

/* Is v assigned to an item of what comes behind it in the code, so that its type is found later? */
static bool waits_for_holder(const tr_em *e, tr_val v, const tr_ins *user) {
    return e->dry && user->op == TR_OP_SETITEM && user->args[2] == v && !assigned_to(e, user);
}

/* Does what is assigned to an item become the item itself, as in a list or a dict? An array, or a part of a
 * list, takes the numbers that are in it. */
static bool keeps_items(const tr_em *e, const tr_fn *f, const tr_ins *set) {
    const tr_ty *t = assigned_to(e, set);
    const tr_ins *i = tr_at(f, set->args[1]);
    bool part = i->op == TR_OP_BUILDSLICE || (i->op == TR_OP_OBJ && i->imm.obj->kind == TR_OBJ_SLICE);
    return t && (tr_ty_is(t, TR_TY_DICT) || tr_ty_is(t, TR_TY_FACED) || (tr_ty_is(t, TR_TY_LIST) && !part));
}

/* Is the iterator handed on, as a round hands it to the loop within? What it runs over is a part of its type
 * then, and that is known before what the items are. */
static bool is_handed_on(const tr_fn *f, const tr_ins *iter) {
    tr_val self = (tr_val)(iter - f->ins.d);
    for (uint32_t i = 0; i < f->ins.n; i++)
        for (uint32_t k = 0; f->ins.d[i].op == TR_OP_BUILDTUP && k < f->ins.d[i].nargs; k++)
            if (f->ins.d[i].args[k] == self)
                return true;
    return false;
}

/* May a list, whose only use `user` is, be an array? NumPy's functions take the one for the other; who only
 * reads its items can tell no array of numbers from it. */
static bool reads_list(tr_em *e, const tr_fn *f, tr_val v, const tr_ins *user, uint32_t ndim) {
    const tr_obj *callee = constant_callee(e, f, user);
    switch ((tr_op)user->op) {
    case TR_OP_ITER: return ndim == 1 && !is_handed_on(f, user);
    case TR_OP_IN: return ndim == 1 && user->args[1] == v;
    case TR_OP_GETITEM: return user->args[1] == v;
    case TR_OP_SETITEM: return user->args[1] == v || (user->args[2] == v && !keeps_items(e, f, user));
    case TR_OP_BUILDTUP: return is_row(e, f, user);
    case TR_OP_CALLPY:
        return takes_arrays(callee) ||
               (is_builtin(callee) && ndim == 1 && tr_lib_only_reads(callee->u.builtin));
    default: return false;
    }
}

/* One of NumPy's functions, or an operation on an array: it takes rows. */
static bool is_numpys(tr_em *e, const tr_fn *f, const tr_ins *user) {
    const tr_obj *callee = constant_callee(e, f, user);
    return user->op != TR_OP_ITER && user->op != TR_OP_IN &&
           !(user->op == TR_OP_CALLPY && is_builtin(callee) && tr_lib_only_reads(callee->u.builtin));
}

static bool step_list(tr_em *e, const tr_fn *f, tr_val v, const tr_tv *a, tr_tv *out) {
    const tr_ins *user;
    bool one = count_users(f, v, &user) == 1 && user;
    if (one && waits_for_holder(e, v, user)) {
        *e->waits = true;
        return false;
    }
    if (!one || !reads_list(e, f, v, user, 1))
        return tr_em_collect_list(e, 0, a[0], a[1], out);
    const tr_obj *callee = constant_callee(e, f, user);
    if (is_builtin(callee) && user->nargs == 2) { /* without an axis, or what else there may be */
        bool joined;
        if (!tr_em_collect_joined(e, a[0], a[1], callee->u.builtin, &joined, out))
            return false;
        if (joined)
            return true;
    }
    if (!is_numpys(e, f, user)) { /* who asks for items gets the tuples themselves */
        bool tuples;
        if (tr_em_collects_nothing(e, a[0], a[1])) /* an array would have a type, which shows in a sum */
            return tr_em_collect_list(e, 0, a[0], a[1], out);
        bool backwards = is_builtin(callee) && callee->u.builtin == TR_B_REVERSED; /* which columns are not */
        if (!backwards && !tr_em_collect_tuples(e, a[0], a[1], &tuples, out))
            return false;
        if (!backwards && tuples)
            return true;
    }
    tr_em dry = *e;
    tr_tv array;
    dry.dry = true;
    bool is = tr_em_collect(&dry, a[0], a[1], &array);
    if (is ? !reads_list(e, f, v, user, array.ty->ndim) : !*e->waits)
        return tr_em_collect_list(e, 0, a[0], a[1], out);
    return tr_em_collect(e, a[0], a[1], out);
}

/* Does the builtin, given it as operand k of the call, only ask the list for its items? min(b, c)
 * compares. */
static bool callee_reads(const tr_obj *callee, const tr_ins *call, uint32_t k, uint32_t ndim) {
    if (!is_builtin(callee) || k == 0)
        return false;
    uint32_t row = callee->u.builtin;
    if (row == TR_B_ZIP || row == TR_B_ENUMERATE || row == TR_B_MAP)
        return true;
    return call->nargs == 2 && (row == TR_B_LEN || (ndim <= 1 && tr_lib_only_reads(row)));
}

/* A number, by which a list is indexed as an array is. */
static bool is_number_index(tr_em *e, const tr_ty *t) {
    return !t || tr_ty_is_int(tr_ty_strong(e->types, t));
}

/* Is v, a list of the items of what is no tuple, only asked for them? Then a slice of that can stand for
 * it. */
static bool is_only_read(tr_em *e, const tr_fn *f, tr_val v, uint32_t ndim) {
    const infer *of = e->infer;
    const tr_ty *const *ty = of->st.d[of->cur].ty;
    for (uint32_t i = 0; i < f->ins.n; i++) {
        const tr_ins *u = &f->ins.d[i];
        for (uint32_t k = 0; u->blk != TR_NOBLK && k < tr_nsucc(u); k++)
            for (uint32_t j = 0; j < u->imm.succ[k].n; j++)
                if (u->imm.succ[k].args[j] == v)
                    return false;
        for (uint32_t k = 0; u->blk != TR_NOBLK && k < u->nargs; k++) {
            if (u->args[k] != v)
                continue;
            bool reads = u->op == TR_OP_ITER || u->op == TR_OP_UNPACK || u->op == TR_OP_UNPACKEX ||
                         (u->op == TR_OP_IN && k == 1 && ndim <= 1) ||
                         (u->op == TR_OP_GETITEM && k == 0 && is_number_index(e, ty[u->args[1]])) ||
                         callee_reads(constant_callee(e, f, u), u, k, ndim);
            if (!reads)
                return false;
        }
    }
    return true;
}

static bool step_star(tr_em *e, const tr_fn *f, tr_val v, tr_tv x, tr_tv *out) {
    const tr_ins *in = tr_at(f, v);
    uint32_t before = (uint32_t)(in->imm.i >> 32 & 255), after = (uint32_t)(in->imm.i >> 40);
    const tr_ty *of = x.ty->kind == TR_TY_DATES || x.ty->kind == TR_TY_RECORDS ? x.ty->items[0] : x.ty;
    bool only_read = x.ty->kind == TR_TY_TUPLE
                         ? !tr_infer_makes_list(e->infer, f, v)
                         : is_only_read(e, f, v, of->kind == TR_TY_ARRAY ? of->ndim : 1);
    return tr_em_unpack_star(e, x, (uint32_t)(in->imm.i & 0xffffffff), before, after, only_read, out);
}

/* One index, perhaps made twice: CPython 3.12 makes a slice for reading and one for writing. */
static bool same_index(const tr_fn *f, tr_val x, tr_val y) {
    const tr_ins *p = tr_at(f, x), *q = tr_at(f, y);
    if (x == y)
        return true;
    if (p->op != q->op || p->nargs != q->nargs || (p->op != TR_OP_BUILDSLICE && p->op != TR_OP_BUILDTUP))
        return false;
    for (uint32_t k = 0; k < p->nargs; k++)
        if (!same_index(f, p->args[k], q->args[k]))
            return false;
    return true;
}

/* `a[i] += x` ends by assigning what it has changed to where it stands. */
static bool is_put_back(const tr_fn *f, const tr_ins *in) {
    const tr_ins *changed = tr_at(f, in->args[2]);
    if (changed->op != TR_OP_INPLACE)
        return false;
    const tr_ins *read = tr_at(f, changed->args[0]);
    return read->op == TR_OP_GETITEM && read->args[0] == in->args[0] &&
           same_index(f, read->args[1], in->args[1]);
}

static bool is_put_back_attr(const tr_fn *f, const tr_ins *in) {
    const tr_ins *changed = tr_at(f, in->args[1]);
    if (changed->op != TR_OP_INPLACE)
        return false;
    const tr_ins *read = tr_at(f, changed->args[0]);
    return read->op == TR_OP_GETATTR && read->args[0] == in->args[0] && strcmp(read->imm.s, in->imm.s) == 0;
}

/* `a, *b = x` counts the items of x. */
static bool is_counted(const tr_ty *t) {
    return t->kind == TR_TY_LIST || t->kind == TR_TY_ARRAY || t->kind == TR_TY_DATES ||
           t->kind == TR_TY_RECORDS || (t->kind == TR_TY_RANGE && t->elem->kind == TR_TY_I64);
}

/* What is no tuple is told of by who joins it to one. */
static bool step_spread(tr_em *e, tr_spread how, tr_tv x, tr_tv *out) {
    *out = x;
    if (x.ty->kind != TR_TY_TUPLE &&
        (how == TR_SPREAD_COPY || (how == TR_SPREAD_COUNTED && !is_counted(x.ty))))
        return tr_em_list_of(e, x, out);
    if (how == TR_SPREAD_COUNTED || !tr_ty_is_list(x.ty))
        return true;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n + 1u);
    for (uint32_t i = 0; i < x.ty->n; i++)
        it[i] = tr_em_item(e, x, i);
    *out = tr_em_tuple(e, x.ty->n, it);
    return true;
}

static bool is_false(const tr_ty *t) {
    return t->kind == TR_TY_LIT && !t->lit->u.i;
}

static const char *word_of_container(const tr_ty *t) {
    return t->kind == TR_TY_LIST || tr_ty_is_list(t) ? "list" : t->kind == TR_TY_SET ? "set" : "dict";
}

/* What is not a list, a dict or a set that was frozen, which nobody may change. */
static bool is_not_frozen(tr_em *e, const tr_fn *src, tr_val v, tr_tv x) {
    const tr_ins *in = tr_at(src, v);
    const tr_obj *o = in->op == TR_OP_OBJ ? in->imm.obj : NULL;
    bool written = o && (o->kind == TR_OBJ_LIST || o->kind == TR_OBJ_DICT);
    if (!written && !tr_ty_is_fixed(x.ty))
        return true;
    const char *word = word_of_container(x.ty), *where = "global or a variable of an enclosing function";
    if (o && o->name)
        tr_em_error(e, "the %s '%s', a %s, is only read in compiled code", word, o->name, where);
    else
        tr_em_error(e, "a %s that is a %s is only read in compiled code", word, where);
    tr_em_hint(e, "it is what it was when the function compiled: pass it as an argument");
    return false;
}

/* Names and values: a dict where it is changed, else known by name. */
static bool step_map(tr_em *e, const tr_fn *src, tr_val v, const tr_tv *a, tr_tv *out) {
    if (!tr_infer_makes_dict(e->infer, src, v)) {
        *out = tr_em_keyed(e, a[0], a[1]);
        return true;
    }
    uint32_t n = a[0].ty->n;
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, 2 * n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        x[2 * k] = tr_em_item(e, a[0], k);
        x[2 * k + 1] = tr_em_item(e, a[1], k);
    }
    return tr_em_new_dict(e, 2 * n, x, out);
}

/* Constant bytes are bytes like others from here on, but a template has to be known. */
static bool is_bytes_constant(const tr_fn *src, tr_val v) {
    const tr_ins *in = tr_at(src, v);
    return in->op == TR_OP_OBJ && in->imm.obj->kind == TR_OBJ_BYTES;
}

static bool step(tr_em *e, const tr_fn *src, tr_val v, const tr_tv *a, tr_tv *out) {
    const tr_ins *in = tr_at(src, v);
    int64_t nth;
    *out = (tr_tv){tr_ty_none(e->types), TR_NOVAL};
    switch ((tr_op)in->op) {
    case TR_OP_OBJ: *out = tr_em_obj(e, in->imm.obj); return true;
    case TR_OP_SETATTR: return tr_em_setattr(e, a[0], in->imm.s, a[1], is_put_back_attr(src, in));
    case TR_OP_GETATTR:
        return (!tr_em_changes(in->imm.s) || is_not_frozen(e, src, in->args[0], a[0])) &&
               tr_em_getattr(e, a[0], in->imm.s, out);
    case TR_OP_GETITEM: return tr_em_getitem(e, a[0], a[1], out);
    case TR_OP_DELITEM: return is_not_frozen(e, src, in->args[0], a[0]) && tr_em_delitem(e, a[0], a[1]);
    case TR_OP_SETITEM:
        return is_not_frozen(e, src, in->args[0], a[0]) &&
               tr_em_setitem(e, a[0], a[1], a[2], is_put_back(src, in));
    case TR_OP_BINARY:
        if (in->sub == TR_BIN_MOD && is_bytes_constant(src, in->args[0]))
            return tr_em_bytes_percent(e, tr_at(src, in->args[0])->imm.obj, a[1], out);
        return tr_em_binary(e, (tr_binop)in->sub, a[0], a[1], out);
    case TR_OP_INPLACE:
        return (!tr_ty_is_fixed(a[0].ty) || is_not_frozen(e, src, in->args[0], a[0])) &&
               tr_em_inplace(e, (tr_binop)in->sub, a[0], a[1], out);
    case TR_OP_UNARY: return tr_em_unary(e, (tr_unop)in->sub, a[0], out);
    case TR_OP_COMPARE: return tr_em_compare(e, (tr_cmpop)in->sub, a[0], a[1], out);
    case TR_OP_IS: return tr_em_is(e, in->sub != 0, a[0], a[1], out);
    case TR_OP_IN: return tr_em_in(e, in->sub != 0, a[0], a[1], out);
    case TR_OP_BUILDTUP:
        if (!tr_em_tuple_fits(e, in->nargs, a))
            return false;
        *out = tr_em_tuple(e, in->nargs, a);
        return true;
    case TR_OP_SPREAD: return step_spread(e, (tr_spread)in->sub, a[0], out);
    case TR_OP_BUILDLIST:
        if (tr_infer_makes_list(e->infer, src, v))
            return tr_em_new_list(e, 0, in->nargs, a, out);
        if (!tr_em_tuple_fits(e, in->nargs, a))
            return false;
        *out = tr_em_display(e, in->nargs, a);
        return true;
    case TR_OP_BUILDSET: return tr_em_new_set(e, in->nargs, a, out);
    case TR_OP_BUILDDICT: return tr_em_new_dict(e, in->nargs, a, out);
    case TR_OP_BUILDSLICE: *out = step_slice(e, a); return true;
    case TR_OP_BUILDMAP: return step_map(e, src, v, a, out);
    case TR_OP_UNPACK:
        return tr_em_unpack(e, a[0], (uint32_t)(in->imm.i & 0xffffffff),
                            (uint32_t)((uint64_t)in->imm.i >> 32), out);
    case TR_OP_MATCHSEQ: *out = tr_infer_is_sequence(e, a[0]); return true;
    case TR_OP_MATCHCLASS: return tr_infer_match_class(e, a[0], a[1], a[2], (uint32_t)in->imm.i, out);
    case TR_OP_MATCHMAP: *out = tr_infer_is_mapping(e, a[0]); return true;
    case TR_OP_MATCHKEYS: return tr_infer_match_keys(e, a[0], a[1], out);
    case TR_OP_MATCHREST: return tr_infer_match_rest(e, a[0], a[1], out);
    case TR_OP_UNPACKEX: return step_star(e, src, v, a[0], out);
    case TR_OP_CALLPY: {
        bool ok = step_call(e, src, in, a, out);
        e->fresh = false;
        return ok && (!out->ty || tr_infer_settle_unroll(e, src, v, a[0], *out)) &&
               (!out->ty || !tr_lib_is_once(*out) || is_used_up(e, src, v) || tr_em_iterator(e, *out, out));
    }
    case TR_OP_CATCH: *out = tr_em_catch(e); return true;
    case TR_OP_EXCMATCH: return tr_em_is_of_class(e, a[0], a[1], out);
    case TR_OP_ITER: return tr_em_iter(e, a[0], out);
    case TR_OP_ITERLEN: /* a pattern of `match` asks a list how long it is, a loop goes on to where it ends */
        return (a[0].ty->kind == TR_TY_LIST || tr_infer_mapping(a[0].ty)) &&
                       tr_at(src, in->args[0])->op != TR_OP_ITER
                   ? tr_em_builtin(e, TR_B_LEN, (tr_tv){NULL, TR_NOVAL}, &(tr_args){1, a, 0, NULL}, out)
                   : tr_em_iterlen(e, a[0], out);
    case TR_OP_NEXT: return tr_em_next(e, a[0], a[1], tr_em_strong(e, a[2]), out);
    case TR_OP_ITERGET:
        return a[1].ty->kind == TR_TY_STEP
                   ? tr_em_iterget(e, a[0], tr_em_item(e, a[1], TR_STEP_PLACE), out)
                   : tr_tv_lit_int(a[1], &nth) && tr_em_iternth(e, a[0], (uint32_t)nth, out);
    case TR_OP_ITERSTEP:
        *out = tr_em_nsw(e, TR_OP_ADD, tr_em_item(e, a[0], TR_STEP_COUNT), tr_em_i64(e, 1));
        return true;
    case TR_OP_CLOSURE: *out = step_closure(e, in, a); return true;
    case TR_OP_GENERATE:
        if (in->sub & TR_MAKES_SET)
            return tr_em_collect_set(e, a[0], a[1], out);
        if (in->sub & TR_MAKES_DICT)
            return tr_em_collect_dict(e, a[0], a[1], out);
        return makes_list(in) ? step_list(e, src, v, a, out) : step_genexpr(e, src, v, a, out);
    case TR_OP_FORMAT: return tr_em_text(e, in->nargs, a, out);
    case TR_OP_SPEC: return tr_em_spec(e, a[0], a[1], out);
    case TR_OP_REPR: return in->imm.i ? tr_em_ascii(e, a[0], out) : tr_em_str(e, a[0], true, out);
    case TR_OP_CHECKDEF: {
        tr_tv ok = tr_em_strong(e, a[0]);
        bool free = in->sub == TR_UNDEF_FREE;
        tr_em_check(e, ok, free ? TR_EXC_NAME : TR_EXC_UNBOUND,
                    tr_arena_printf(&e->ctx->arena, free ? TR_NO_FREE_VALUE : TR_NO_LOCAL_VALUE, in->imm.s),
                    0, NULL);
        e->ends = is_false(a[0].ty); /* not bound on any path to here */
        return true;
    }
    case TR_OP_NEWVAR: return tr_em_new_variable(e, in->imm.s, in->nargs ? &a[0] : NULL, out);
    case TR_OP_READVAR: return tr_em_read_variable(e, in->imm.s, in->sub == TR_UNDEF_FREE, a[0], out);
    case TR_OP_WRITEVAR: return tr_em_write_variable(e, in->imm.s, a[0], a[1]);
    default: return tr_em_fail(e, TR_ERR_INTERNAL, "no meaning for '%s'", tr_op_info[in->op].name);
    }
}

/* What does not return in an operation ends the block if it is certain to run there: the item that a loop
 * asks for is, what NEXT calls to find one is not. */
static bool ins_may_end_block(const tr_em *e, const tr_ins *in, const tr_tv *a) {
    if (in->op == TR_OP_CALLPY)
        return callee_is_users(e, a[0].ty) || tr_em_takes_item(a[0].ty);
    return in->op == TR_OP_CHECKDEF || in->op == TR_OP_ITERGET || in->op == TR_OP_GETITEM ||
           in->op == TR_OP_UNPACK || in->op == TR_OP_UNPACKEX;
}

bool tr_infer_step(tr_em *e, const tr_fn *src, tr_val v, const tr_tv *given, tr_tv *out) {
    const tr_ins *in = tr_at(src, v);
    assert(!tr_ins_ends(in) && (tr_op_info[in->op].stages & S_F) && "an operation of the front's, no end");
    assert(tr_em_are_whole(e, in->nargs, given) && "an operation is given values");
    const tr_tv *a = tr_infer_values(e, src, in, given);
    ((infer *)e->infer)->at = v;
    e->ends = false;
    bool ok = step(e, src, v, a, out);
    e->ends = e->ends && ok && ins_may_end_block(e, in, a);
    return ok;
}

/* --- raise --- */

/* What a raise site is made of: the exception's arguments, or its message as one text with
 * places for values. */
typedef struct message {
    tr_em *e;
    TR_VEC(const tr_obj *) args; /* as tr_site has them */
    tr_val pay[TR_FRAME_PAYLOAD];
    uint32_t npay, slots;
    tr_sb text;
} message;

enum { MAX_ARGS = 256 };

static bool push_arg(message *m, const tr_obj *o) {
    if (m->args.n == MAX_ARGS)
        return tr_em_unsupported(m->e, "raise-args", "more than %d values in an exception", MAX_ARGS);
    tr_vec_push(&m->e->ctx->arena, &m->args, o);
    return true;
}

static bool add_arg(message *m, tr_tv v);

/* A plain tuple: its length, then its items. */
static bool add_tuple(message *m, tr_tv v) {
    tr_obj *o = TR_NEW(&m->e->ctx->arena, tr_obj);
    *o = (tr_obj){.kind = TR_OBJ_TUPLE, .repr = "tuple", .u.t.n = v.ty->n};
    bool ok = push_arg(m, o);
    for (uint32_t i = 0; ok && i < v.ty->n; i++)
        ok = add_arg(m, tr_em_item(m->e, v, i));
    return ok;
}

/* One more argument; false when it is no value that an exception can take. */
static bool add_arg(message *m, tr_tv v) {
    if (tr_tv_is_none(v))
        return push_arg(m, tr_obj_none());
    if (v.ty->kind == TR_TY_LIT)
        return push_arg(m, v.ty->lit);
    if (v.ty->kind == TR_TY_TUPLE && !v.ty->name && !tr_ty_is_list(v.ty))
        return add_tuple(m, v);
    if (v.ty->kind == TR_TY_TEXT && !tr_em_string(m->e, v, &v))
        return false;
    if (!tr_ty_is_scalar(v.ty) && v.ty->kind != TR_TY_STRING && v.ty->kind != TR_TY_BYTES)
        return tr_em_unsupported(m->e, "raise-args", "an exception argument of %s", tr_em_tyname(m->e, v.ty));
    uint32_t slots = tr_ty_nparts(v.ty);
    if (m->slots + slots > TR_FRAME_PAYLOAD)
        return tr_em_unsupported(m->e, "raise-args", "more than %d numbers in an exception",
                                 TR_FRAME_PAYLOAD);
    m->slots += slots;
    assert(m->npay < TR_FRAME_PAYLOAD && "a frame has room for it");
    m->pay[m->npay++] = v.v;
    return push_arg(m, NULL);
}

enum { MAX_HOLES = 10 };

/* A piece of an f-string. Text with a brace is an argument, for it could be taken for a place of one. */
static bool add_piece(message *m, tr_tv v) {
    const char *s;
    tr_tv x;
    if (tr_tv_lit_str(v, &s) && !strchr(s, '{')) {
        tr_sb_puts(&m->text, s);
        return true;
    }
    if (m->args.n == MAX_HOLES)
        return tr_em_unsupported(m->e, "format-value", "an f-string of more than ten values in an exception");
    if (tr_em_spec_piece(m->e, v, &x, &s)) {
        tr_sb_printf(&m->text, "{%u:%s}", m->args.n, s);
        return add_arg(m, x);
    }
    tr_sb_printf(&m->text, "{%u}", m->args.n);
    return add_arg(m, v);
}

static bool fill(message *m, tr_tv x, uint32_t n, bool format) {
    for (uint32_t i = 0; i < n; i++)
        if (!(format ? add_piece(m, tr_em_item(m->e, x, i)) : add_arg(m, tr_em_item(m->e, x, i))))
            return false;
    return true;
}

/* Context and cause, as they are known now. A cause has to be an exception that was caught, or None. */
static void link(tr_em *e, const tr_raising *r) {
    if (r->context.ty && tr_em_is_caught(r->context.ty)) {
        tr_tv code = tr_em_item(e, r->context, 0);
        tr_em_callrt(e, TR_RT_CONTEXT, NULL, NULL, 1, &code);
    }
    if (r->cause.ty) {
        tr_tv code = tr_tv_is_none(r->cause) ? tr_em_i64(e, 0) : tr_em_item(e, r->cause, 0);
        tr_em_callrt(e, TR_RT_CAUSE, NULL, NULL, 1, &code);
    }
}

/* An exception to be made: its class, and of which arguments; NULL: it is none. */
static const tr_obj *class_to_raise(tr_tv x, uint32_t *n) {
    bool lit = x.ty->kind == TR_TY_LIT && (x.ty->lit->kind == TR_OBJ_EXC || x.ty->lit->kind == TR_OBJ_EXCVAL);
    *n = lit ? 0 : x.ty->n;
    return lit || (x.ty->kind == TR_TY_EXC && !tr_em_is_caught(x.ty)) ? x.ty->lit : NULL;
}

bool tr_infer_makes_cause(const tr_raising *r) {
    uint32_t n;
    return r->cause.ty && class_to_raise(r->cause, &n);
}

static bool check_cause(tr_em *e, const tr_raising *r) {
    if (!r->cause.ty || tr_tv_is_none(r->cause) || tr_em_is_caught(r->cause.ty) || tr_infer_makes_cause(r))
        return true;
    return tr_em_error(e, "exception causes must derive from BaseException, not %s",
                       tr_em_tyname(e, r->cause.ty));
}

/* One that was caught keeps its context, unless another one is handled. */
static bool raise_again(tr_em *e, const tr_raising *r) {
    tr_tv code[2] = {tr_em_item(e, r->what, 0)};
    if (r->context.ty && tr_em_is_caught(r->context.ty) && r->context.v != r->what.v) {
        code[1] = tr_em_item(e, r->context, 0);
        tr_em_callrt(e, TR_RT_CONTEXT_OF, NULL, NULL, 2, code);
    }
    if (r->cause.ty) {
        code[1] = tr_tv_is_none(r->cause) ? tr_em_i64(e, 0) : tr_em_item(e, r->cause, 0);
        tr_em_callrt(e, TR_RT_CAUSE_OF, NULL, NULL, 2, code);
    }
    if (!e->dry)
        tr_emit1(&e->b, TR_OP_RERAISE, NULL, code[0].v);
    return true;
}

/* Has an f-string strings among its pieces? Then it is made, for what they say is not known. */
static bool has_string(const tr_ty *text) {
    for (uint32_t i = 0; i < text->n; i++)
        if (tr_ty_is_counted(text->items[i]) && !tr_ty_has_arrays(text->items[i]))
            return true;
    return false;
}

static bool is_codec_arg(tr_em *e, tr_tv x, bool number, bool bytes) {
    const char *s;
    if (number)
        return tr_ty_is_int(tr_em_strong(e, x).ty);
    if (bytes)
        return x.ty->kind == TR_TY_BYTES;
    return x.ty->kind == TR_TY_STRING || x.ty->kind == TR_TY_TEXT || tr_tv_lit_str(x, &s);
}

/* Errors of codecs have five arguments of certain types; what they say is made of these. */
static bool check_codec_args(tr_em *e, uint32_t exc, tr_tv x, uint32_t n) {
    bool decode = exc == TR_EXC_UNIDECODE;
    if (!decode && exc != TR_EXC_UNIENCODE)
        return true;
    if (n != 5)
        return tr_em_error(e, "%s() takes exactly 5 arguments (%u given)", tr_exc_name[exc], n);
    for (uint32_t i = 0; i < n; i++) {
        bool number = i == 2 || i == 3, bytes = decode && i == 1;
        if (!is_codec_arg(e, tr_em_item(e, x, i), number, bytes))
            return tr_em_error(e, "argument %u of %s() must be %s, not %s", i + 1, tr_exc_name[exc],
                               number  ? "int"
                               : bytes ? "bytes"
                                       : "str",
                               tr_em_tyname(e, tr_em_item(e, x, i).ty));
    }
    return true;
}

/* Class, payload and site. */
static bool raise_made(tr_em *e, tr_tv x, const tr_raising *links) {
    uint32_t n;
    const tr_obj *cls = class_to_raise(x, &n);
    if (!cls)
        return tr_em_error(e, "exceptions must derive from BaseException, not %s", tr_em_tyname(e, x.ty));
    if (!check_codec_args(e, cls->u.exc, x, n))
        return false;
    bool format = n == 1 && x.ty->items[0]->kind == TR_TY_TEXT &&
                  !has_string(x.ty->items[0]); /* the message is the f-string */
    if (format) {
        x = tr_em_item(e, x, 0);
        n = x.ty->n;
    }
    message m = {.e = e};
    tr_sb_init(&m.text);
    bool ok = fill(&m, x, n, format);
    const char *text = format ? tr_arena_strdup(&e->ctx->arena, m.text.d ? m.text.d : "") : NULL;
    tr_sb_fini(&m.text);
    if (!ok || e->dry)
        return ok;
    if (links)
        link(e, links);
    tr_site *s = TR_NEW(&e->ctx->arena, tr_site);
    s->exc = cls->u.exc;
    s->text = text;
    s->nargs = (int32_t)m.args.n;
    assert(m.npay <= m.slots && m.slots <= TR_FRAME_PAYLOAD && "a frame has room for what is raised");
    s->args = m.args.d;
    tr_val v = tr_emit_v(&e->b, TR_OP_RAISE, NULL, m.npay, m.pay);
    tr_at(e->b.fn, v)->imm.site = s;
    return true;
}

/* The cause as one that was caught: raised to the place behind it. */
static bool make_cause(tr_em *e, tr_raising *r) {
    tr_fn *f = e->b.fn;
    tr_tv code;
    if (e->dry)
        return raise_made(e, r->cause, NULL);
    tr_edge on = {.to = tr_blk_new(f)};
    tr_bid body = tr_blk_new(f);
    tr_try(&e->b, body, &on);
    e->b.blk = body;
    if (!raise_made(e, r->cause, NULL))
        return false;
    e->b.blk = on.to;
    r->cause = tr_em_catch(e);
    code = tr_em_item(e, r->cause, 0);
    tr_em_callrt(e, TR_RT_MADE, NULL, NULL, 1, &code);
    return true;
}

bool tr_infer_raise(tr_em *e, const tr_raising *as) {
    tr_raising r = *as;
    if (!check_cause(e, &r) || (tr_infer_makes_cause(&r) && !make_cause(e, &r)))
        return false;
    if (tr_em_is_caught(r.what.ty))
        return raise_again(e, &r);
    return raise_made(e, r.what, &r);
}
