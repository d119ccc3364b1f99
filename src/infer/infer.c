/* Inference over a program: a table of instances (function x argument types), each brought
 * to a fixed point over its untyped SSA (an abstract interpretation over types,
 * monomorphised per call), then emitted as typed SSA.
 *
 * Per value: bottom (NULL), then a type that only grows (tr_ty_join). Blocks become live as conditions known
 * at compile time allow, so `if x is None` selects code by type. A call needs the callee's result type: the
 * callee is inferred on the spot; recursion sees the current estimate and is repeated until nothing grows.
 * Errors are collected in the emitting pass only, where types are final: every independent root error is
 * reported; what depends on a failed value stays silent. */
#include "infer/infer.h"

#include <assert.h>
#include <string.h>

#include "graph/graph.h"
#include "infer/priv.h"

static const tr_ty *void_ret(infer *f, const tr_ty *t) {
    return t ? t : tr_ty_none(f->ctx->types);
}

/* --- instances --- */

static uint64_t key_of(tr_callee c, uint32_t n, const tr_ty *const *args) {
    return tr_hash_bytes(args, n * sizeof *args, (uint64_t)c.opts << 32 | (c.func + 1u));
}

/* The function with most instances, of those being worked on if `running`; UINT32_MAX: each has one. */
static uint32_t busiest(infer *f, bool running) {
    uint32_t *n = TR_NEW_N(&f->ctx->arena, uint32_t, f->p->funcs.n + 1u), most = 1, func = UINT32_MAX;
    for (uint32_t i = 0; i < f->st.n; i++) {
        uint32_t k = f->p->insts.d[i].func;
        if (k >= f->p->funcs.n || (running && !f->st.d[i].running) || ++n[k] <= most)
            continue;
        most = n[k];
        func = k;
    }
    return func;
}

static void report_number(infer *f, tr_em *e) {
    uint32_t func = busiest(f, false);
    if (func == UINT32_MAX)
        tr_em_error(e, "the program has more than %d functions", MAX_INSTANCES);
    else
        tr_em_error(e, "more than %d specialisations: does %s() call itself with ever new types?",
                    MAX_INSTANCES, f->p->funcs.d[func].name);
}

/* No type of its SSA is known yet. */
static void know_nothing(tr_arena *a, istate *s) {
    s->ty = TR_NEW_N(a, const tr_ty *, s->src->ins.n + 1u);
    s->bad = TR_NEW_N(a, uint8_t, s->src->ins.n + 1u);
    s->ends = TR_NEW_N(a, uint8_t, s->src->blks.n + 1u);
    s->live = TR_NEW_N(a, uint8_t, s->src->blks.n + 1u);
    s->looked = false;
    s->facts.n = 0;
}

/* Types without cells, in which instances are known. */
static const tr_ty *const *closed(infer *f, uint32_t n, const tr_ty *const *args) {
    uint32_t k = 0;
    while (k < n && !tr_ty_has_lists(args[k]))
        k++;
    if (k == n)
        return args;
    const tr_ty **t = TR_NEW_N(&f->ctx->arena, const tr_ty *, n);
    for (k = 0; k < n; k++)
        t[k] = tr_ty_closed(f->ctx->types, args[k]);
    return t;
}

uint32_t tr_infer_instance(infer *f, tr_em *e, tr_callee c, uint32_t n, const tr_ty *const *args) {
    args = closed(f, n, args);
    assert(c.func < f->p->funcs.n && c.opts < f->p->opts.n &&
           "a function of the program, with options of it");
    uint64_t key = key_of(c, n, args), first = 0;
    tr_map_get(&f->index, key, &first);
    for (uint64_t i = first; i; i = f->chain.d[i - 1]) {
        const tr_inst *t = &f->p->insts.d[i - 1];
        if (t->func == c.func && t->opts == c.opts && t->nargs == n && f->st.d[i - 1].declared == c.ret &&
            memcmp(t->args, args, n * sizeof *args) == 0)
            return (uint32_t)(i - 1);
    }
    tr_func *fn = &f->p->funcs.d[c.func];
    if (fn->refused || !fn->ssa) {
        if (e && !e->dry && fn->refused) {
            tr_err *r = tr_err_add(f->ctx, fn->refused->kind, fn->refused->place, "%s", fn->refused->text);
            r->nyi = fn->refused->nyi;
            r->hint = fn->refused->hint;
            r->op_span = fn->refused->op_span;
            if (e->place.file && r->place.file && strcmp(e->place.file, r->place.file) != 0) /* a library's */
                tr_err_note(f->ctx, r, (tr_span){0, -1, 0, -1}, "it is called in line %d of %s%s%s",
                            (int)e->place.span.line, e->place.file, e->place.fn ? ", in " : "",
                            e->place.fn ? e->place.fn : "");
            else if (e->place.fn && f->cur != UINT32_MAX)
                tr_err_note(f->ctx, r, e->place.span, "called by %s()", e->place.fn);
        } else if (e)
            tr_em_error(e, "%s() cannot be compiled", fn->name);
        return UINT32_MAX;
    }
    if (f->p->insts.n >= MAX_INSTANCES) {
        if (e && !f->too_deep)
            report_number(f, e);
        return UINT32_MAX;
    }
    tr_arena *a = &f->ctx->arena;
    tr_inst t = {.func = c.func,
                 .opts = c.opts,
                 .nargs = n,
                 .args = tr_arena_copy(a, args, n * sizeof *args + (n ? 0u : 1u))};
    istate s = {.inst = f->p->insts.n, .src = fn->ssa, .seen = UINT32_MAX, .caller = f->cur};
    s.declared = s.ret = c.ret;
    know_nothing(a, &s);
    if (e)
        s.call_place = e->place;
    tr_vec_push(a, &f->p->insts, t);
    tr_vec_push(a, &f->st, s);
    tr_vec_push(a, &f->chain, (uint32_t)first);
    assert(f->st.n == f->p->insts.n && f->chain.n == f->st.n && "a state and a link for each instance");
    tr_map_set(a, &f->index, key, f->p->insts.n);
    return f->p->insts.n - 1;
}

/* --- the fixed point of one instance --- */

typedef struct sweep {
    infer *f;
    uint32_t inst;
    tr_em e;
    tr_tv *ops; /* room for operands */
    bool changed;
    bool anew; /* the SSA is another one: all types are to be found again */
} sweep;

static istate *st(sweep *w) {
    assert(w->inst < w->f->st.n);
    return &w->f->st.d[w->inst];
}

static void grow_ret(sweep *w, const tr_ty *t) {
    istate *s = st(w);
    bool python = w->inst == w->f->root;
    const tr_ty *r = python ? tr_ty_for_python(w->f->ctx->types, t) : tr_ty_strong(w->f->ctx->types, t);
    if (s->declared) {
        tr_infer_flow_lists(w->f, s->declared, r, w->e.place.span.line, w->e.opts->promote_numba);
        r = s->declared;
    }
    const tr_ty *j = s->ret ? tr_ty_join(w->f->ctx->types, s->ret, r, w->e.opts->promote_numba) : r;
    if (!j || j == s->ret)
        return; /* no common type: reported when emitting */
    assert((!s->ret || tr_ty_join(w->f->ctx->types, j, s->ret, w->e.opts->promote_numba) == j) &&
           "an estimate only grows, or there would be no end");
    assert(!s->done && "who is done has its result");
    s->ret = j;
    w->f->changes++;
    w->changed = true;
}

static void grow_param(sweep *w, tr_val v, const tr_ty *t) {
    assert(tr_at(st(w)->src, v)->op == TR_OP_PARAM && "paths meet in a block's parameter");
    istate *s = st(w);
    if (s->bad[v])
        return;
    const tr_ty *strong = tr_ty_strong(w->f->ctx->types, t);
    const tr_ty *j =
        s->ty[v] ? tr_ty_join(w->f->ctx->types, s->ty[v], strong, w->e.opts->promote_numba) : strong;
    if (j == s->ty[v])
        return;
    assert((!j || !s->ty[v] || tr_ty_join(w->f->ctx->types, j, s->ty[v], w->e.opts->promote_numba) == j) &&
           "a type only grows, or there would be no end");
    if (!j)
        s->bad[v] = 1;
    else
        s->ty[v] = j;
    w->changed = true;
}

/* Marks the edge's target live and passes the arguments' types. What failed does not go round a loop: the
 * operation that failed would count as one whose operand failed, and nobody would be left to say why. */
static void flow(sweep *w, tr_bid from, uint32_t side) {
    const tr_edge *ed = &tr_term(st(w)->src, from)->imm.succ[side];
    assert(ed->n == tr_blk_at(st(w)->src, ed->to)->params.n && "an edge has a value for each parameter");
    istate *s = st(w);
    const tr_blk *to = tr_blk_at(s->src, ed->to);
    bool back = to->rpo <= tr_blk_at(s->src, from)->rpo;
    if (!s->live[ed->to]) {
        s->live[ed->to] = 1;
        w->changed = true;
    }
    for (uint32_t i = 0; i < ed->n; i++) {
        const tr_ins *d = tr_at(s->src, ed->args[i]);
        if (d->op == TR_OP_UNDEFVAR)
            continue;
        if (s->bad[ed->args[i]]) {
            if (s->bad[to->params.d[i]] || back)
                continue;
            w->changed = true;
            s->bad[to->params.d[i]] = 2; /* 2: because of an operand; a conflict of its own stays 1 */
        } else if (s->ty[ed->args[i]])
            grow_param(w, to->params.d[i], tr_infer_type_at(w->f, s, ed->args[i], (use_at){from, side}));
    }
}

static void set_type(sweep *w, tr_val v, const tr_ty *t) {
    istate *s = st(w);
    if (s->ty[v] == t)
        return;
    assert(!s->done && "types of what is done stay");
    s->ty[v] = t;
    w->changed = true;
}

/* Types of an instruction's operands; false while one is unknown or bad (then bad spreads). */
static bool operands(sweep *w, tr_val v, const tr_ins *in) {
    istate *s = st(w);
    for (uint32_t i = 0; i < in->nargs; i++) {
        tr_val a = in->args[i];
        const tr_ins *d = tr_at(s->src, a);
        if (d->op == TR_OP_OBJ && !s->ty[a]) {
            tr_tv o = tr_em_obj(&w->e, d->imm.obj);
            s->ty[a] = o.ty;
        }
        if (s->bad[a] || d->op == TR_OP_UNDEFVAR) {
            if (!s->bad[v])
                w->changed = true;
            s->bad[v] = 2;
            return false;
        }
        if (!s->ty[a])
            return false;
        w->ops[i] = (tr_tv){tr_infer_type_at(w->f, s, a, (use_at){in->blk, NO_SIDE}), TR_NOVAL};
    }
    return true;
}

static void obj_args(sweep *w, const tr_edge *ed) {
    istate *s = st(w);
    for (uint32_t i = 0; i < ed->n; i++) {
        const tr_ins *d = tr_at(s->src, ed->args[i]);
        if (d->op == TR_OP_OBJ && !s->ty[ed->args[i]])
            s->ty[ed->args[i]] = tr_em_obj(&w->e, d->imm.obj).ty;
    }
}

static void sweep_term(sweep *w, const tr_ins *in) {
    assert(tr_ins_ends(in));
    tr_tv t;
    int64_t known;
    for (uint32_t i = 0; i < tr_nsucc(in); i++)
        obj_args(w, &in->imm.succ[i]);
    switch ((tr_op)in->op) {
    case TR_OP_RET: grow_ret(w, w->ops[0].ty); break;
    case TR_OP_BR: flow(w, in->blk, 0); break;
    case TR_OP_TRY:
        flow(w, in->blk, 0);
        flow(w, in->blk, 1);
        break;
    case TR_OP_CBR:
        if (!tr_em_truth(&w->e, w->ops[0], &t))
            break;
        if (!tr_tv_lit_int(t, &known) || known)
            flow(w, in->blk, 0);
        if (!tr_tv_lit_int(t, &known) || !known)
            flow(w, in->blk, 1);
        break;
    default: break;
    }
}

/* Some operand is None so far, and may turn out to be a value as well: whether the operation fails is not
 * known yet. If it does in the end, the real run says so. */
static bool may_get_a_value(sweep *w, const tr_ins *in) {
    istate *s = st(w);
    for (uint32_t i = 0; i < in->nargs; i++) {
        const tr_ins *d = tr_at(s->src, in->args[i]);
        if (s->ty[in->args[i]]->kind == TR_TY_NONE && d->op != TR_OP_OBJ &&
            !(d->op == TR_OP_PARAM && d->blk == 0))
            return true;
    }
    return false;
}

static void sweep_ins(sweep *w, tr_val v) {
    const tr_ins in = *tr_at(st(w)->src, v);
    if (in.op == TR_OP_UNDEFVAR) {
        st(w)->bad[v] = in.sub != TR_UNDEF_UNSET; /* a read: told when code is made */
        return;
    }
    if (!operands(w, v, &in)) {
        if (in.op == TR_OP_BR)
            sweep_term(w, &in);
        return;
    }
    st(w)->bad[v] = st(w)->bad[v] == 2 ? 0 : st(w)->bad[v];
    w->e.place = tr_infer_place(st(w)->src, &in);
    if (tr_ins_ends(&in)) {
        sweep_term(w, &in);
        return;
    }
    tr_tv *ops = TR_NEW_N(&w->f->ctx->arena, tr_tv, in.nargs + 1u), out;
    memcpy(ops, w->ops, in.nargs * sizeof *ops);
    if (in.op == TR_OP_NEXT && tr_infer_unroll(w->f, st(w), &w->e, &in, ops[0], ops[1])) {
        w->anew = w->changed = true;
        return;
    }
    bool outer = w->f->waits, ok, waits;
    w->f->waits = false;
    ok = tr_infer_step(&w->e, st(w)->src, v, ops, &out);
    waits = w->f->waits;
    w->f->waits = outer;
    if (!ok) {
        if (waits || may_get_a_value(w, &in)) /* the real run says so, if that remains */
            return;
        if (!st(w)->bad[v])
            w->changed = true;
        st(w)->bad[v] = 1;
    } else {
        st(w)->bad[v] = 0;
        if (out.ty)
            set_type(w, v, out.ty);
    }
}

static uint32_t max_args(const tr_fn *fn) {
    uint32_t m = 4;
    for (uint32_t i = 0; i < fn->ins.n; i++)
        if (fn->ins.d[i].nargs > m)
            m = fn->ins.d[i].nargs;
    return m;
}

bool tr_infer_keeps_weak(const infer *f, uint32_t inst) {
    const tr_func *fn = &f->p->funcs.d[f->p->insts.d[inst].func];
    return fn->graph || fn->library;
}

tr_em tr_infer_emitter(infer *f, bool dry, uint32_t opts) {
    return (tr_em){.ctx = f->ctx,
                   .types = f->ctx->types,
                   .prog = f->p,
                   .dry = dry,
                   .opts = f->p->opts.d[opts],
                   .opts_no = opts,
                   .call = tr_infer_call,
                   .launch = tr_infer_launch,
                   .infer = f,
                   .list = tr_infer_new_list,
                   .cells = true,
                   .waits = &f->waits};
}

/* Is what ends a block that it takes an item, of a list into which nothing is put? */
static bool takes_item(const istate *s, tr_val v) {
    const tr_ins *in = tr_at(s->src, v);
    const tr_ty *callee = in->op == TR_OP_CALLPY ? s->ty[in->args[0]] : NULL;
    return in->op == TR_OP_GETITEM || in->op == TR_OP_ITERGET || (callee && tr_em_takes_item(callee));
}

static void sweep_all(sweep *w) {
    const tr_fn *src = st(w)->src;
    for (uint32_t k = 0; k < src->rpo.n; k++) {
        tr_bid b = src->rpo.d[k];
        if (!st(w)->live[b])
            continue;
        tr_val last = TR_NOVAL;
        w->e.ends = false;
        for (tr_val v = tr_blk_at(src, b)->first; v != TR_NOVAL && !w->e.ends; v = tr_at(src, v)->next) {
            last = v;
            sweep_ins(w, v);
            if (w->anew)
                return;
        }
        st(w)->ends[b] = !w->e.ends ? RUNS_ON : takes_item(st(w), last) ? TAKES_NOTHING : ENDS;
    }
}

static bool enter(infer *f, uint32_t inst) {
    assert(inst < f->p->insts.n && f->st.n == f->p->insts.n);
    istate *s = &f->st.d[inst];
    const tr_inst *t = &f->p->insts.d[inst];
    tr_fn *src = s->src;
    if (!src->rpo.n)
        tr_cfg_compute(src);
    const tr_blk *entry = tr_blk_at(src, 0);
    if (entry->params.n != t->nargs)
        return tr_fail(f->ctx, TR_ERR_INTERNAL, "%s has %u parameters, %u types given", src->name,
                       entry->params.n, t->nargs);
    s->live[0] = 1;
    assert(src->stage == S_F && "types are found of what the front made");
    for (uint32_t i = 0; i < t->nargs; i++)
        if (!s->ty[entry->params.d[i]])
            s->ty[entry->params.d[i]] = tr_infer_open_param(f, i, t->args[i]);
    return true;
}

/* What was found of the SSA before is forgotten; who has used the estimate of its result keeps it. */
static bool begin_anew(sweep *w) {
    istate *s = st(w);
    w->anew = false;
    know_nothing(&w->f->ctx->arena, s);
    if (!s->consulted)
        s->ret = s->declared;
    w->ops = TR_NEW_N(&w->f->ctx->arena, tr_tv, max_args(s->src) + 1u);
    return enter(w->f, w->inst);
}

/* Every call further out fails for the same reason: it is told once, where it was met first. */
static bool report_depth(infer *f, const istate *s) {
    if (f->too_deep)
        return false;
    f->too_deep = true;
    uint32_t func = busiest(f, true);
    if (func == UINT32_MAX) {
        tr_err_add(f->ctx, TR_ERR_TYPING, s->call_place,
                   "a chain of more than %d functions that call each other", MAX_DEPTH)
            ->hint = "shorten the chain: let one function do the work of several";
        return false;
    }
    tr_err_add(f->ctx, TR_ERR_TYPING, s->call_place,
               "%s() calls itself more than %d deep, with other types of arguments each time",
               f->p->funcs.d[func].name, MAX_DEPTH)
        ->hint = "give it arguments of the same types each time";
    return false;
}

static void wait_for(infer *f, uint32_t level) {
    f->lowest = level < f->lowest ? level : f->lowest;
}

/* Done is what used no estimate of a function further out, and what waited for it alone (the strongly
 * connected parts of the call graph, as in Tarjan's algorithm). */
static void finish(infer *f, istate *s, uint32_t first_open) {
    assert(!s->running && !s->done && "one that has just come to its end");
    if (f->lowest < s->level) {
        s->level = f->lowest;
        tr_vec_push(&f->ctx->arena, &f->open, s->inst);
        return;
    }
    s->done = true;
    for (uint32_t i = first_open; i < f->open.n; i++) {
        istate *o = &f->st.d[f->open.d[i]];
        o->done = o->done || (!o->running && o->seen == f->changes);
    }
    f->open.n = first_open;
    f->lowest = UINT32_MAX;
}

bool tr_infer_types(infer *f, uint32_t inst) {
    assert(inst < f->st.n);
    istate *s = &f->st.d[inst];
    if (s->done)
        return true;
    if (s->running) {
        s->consulted = true;
        wait_for(f, s->level);
        return true;
    }
    if (s->seen == f->changes) { /* stable as far as the running ones allow */
        wait_for(f, s->level);
        return true;
    }
    if (f->depth >= MAX_DEPTH)
        return report_depth(f, s);
    if (tr_ctx_stop(f->ctx))
        return false;
    uint32_t outer = f->cur, outer_lowest = f->lowest, first_open = f->open.n;
    tr_val outer_at = f->at;
    uint32_t outer_deep = f->deep;
    f->deep = 0;
    f->cur = inst;
    if (!enter(f, inst)) {
        f->cur = outer;
        f->deep = outer_deep;
        return false;
    }
    s->level = f->depth++;
    f->lowest = UINT32_MAX;
    s->running = true;
    sweep w = {.f = f, .inst = inst, .e = tr_infer_emitter(f, true, f->p->insts.d[inst].opts)};
    w.e.weak_items = tr_infer_keeps_weak(f, inst);
    w.e.packaged = f->p->funcs.d[f->p->insts.d[inst].func].packaged;
    w.ops = TR_NEW_N(&f->ctx->arena, tr_tv, max_args(s->src) + 1u);
    bool ok = true;
    uint32_t before;
    do {
        assert(st(&w)->level == f->depth - 1 && "whoever was inferred on the way has come to his end");
        before = f->changes;
        do {
            uint32_t grown = tr_ty_cell_changes(f->ctx->types);
            w.changed = false;
            sweep_all(&w);
            ok = !w.anew || begin_anew(&w);
            if (grown != tr_ty_cell_changes(f->ctx->types)) {
                w.changed = true;
                f->changes++;
            }
        } while (w.changed && ok);
    } while (ok && ((st(&w)->consulted && f->changes != before) ||
                    (f->lowest >= st(&w)->level && tr_infer_guess_lists(f, inst))));
    f->depth--;
    f->cur = outer;
    f->at = outer_at;
    f->deep = outer_deep;
    s = st(&w);
    assert(s->level == f->depth && "whoever was inferred on the way has come to his end");
    assert(f->open.n >= first_open && "what was open before is");
    s->running = false;
    s->seen = f->changes;
    finish(f, s, first_open);
    wait_for(f, outer_lowest);
    return ok;
}

/* --- entry --- */

static bool report_nothing_typed(infer *f) {
    if (f->ctx->nerrs)
        return false;
    return tr_fail(f->ctx, TR_ERR_INTERNAL, "inference ended without a result and without an error");
}

enum { MAX_INSTANCE_TEXT = 600 };

const char *tr_infer_instance_text(infer *f, uint32_t inst) {
    const tr_inst *t = &f->p->insts.d[inst];
    tr_sb b;
    tr_sb_init(&b);
    tr_sb_printf(&b, "%s(", f->p->funcs.d[t->func].name);
    for (uint32_t i = 0; i < t->nargs; i++) {
        if (i)
            tr_sb_puts(&b, ", ");
        tr_ty_print_user(&b, t->args[i]);
    }
    tr_sb_cut_middle(&b, 0, MAX_INSTANCE_TEXT);
    tr_sb_putc(&b, ')');
    const char *r = tr_arena_strdup(&f->ctx->arena, b.d);
    tr_sb_fini(&b);
    return r;
}

bool tr_infer_returns_at(const istate *s, tr_bid b) {
    return s->live[b] && !s->ends[b] && tr_blk_at(s->src, b)->last != TR_NOVAL &&
           tr_term(s->src, b)->op == TR_OP_RET;
}

/* One that takes an item of a list of nothing, and has no result, raises: there, or as what it would return
 * is unassigned. */
bool tr_infer_may_return(const istate *s) {
    bool any = false, nothing = false;
    for (uint32_t b = 0; b < s->src->blks.n; b++) {
        any = any || tr_infer_returns_at(s, b);
        nothing = nothing || (s->live[b] && s->ends[b] == TAKES_NOTHING);
    }
    return any && (s->ret || !nothing);
}

bool tr_infer_failed(const istate *s) {
    for (uint32_t v = 0; v < s->src->ins.n; v++)
        if (s->bad[v] == 1)
            return true;
    return false;
}

static const tr_func *func_of(const infer *f, uint32_t inst) {
    return &f->p->funcs.d[f->p->insts.d[inst].func];
}

/* What fails in a function that stands for one of NumPy's is told where the user calls it.
 * The instance that it is told of. */
static uint32_t tell_at_call(infer *f, tr_err *e, uint32_t inst) {
    const istate *s = &f->st.d[inst];
    if (!func_of(f, inst)->library)
        return inst;
    while (s->caller != UINT32_MAX && func_of(f, s->caller)->library)
        s = &f->st.d[s->caller];
    if (s->caller == UINT32_MAX)
        return inst;
    const char *name = func_of(f, s->inst)->name;
    e->text = tr_arena_printf(&f->ctx->arena, "%s(): %s", name, e->text);
    e->place = s->call_place;
    e->op_span = (tr_span){0, -1, 0, -1};
    e->where = tr_infer_instance_text(f, s->caller);
    return s->caller;
}

enum { MAX_CALLERS = 8 };

/* How the program comes to the instance that failed, from the nearest call outwards. */
static void note_callers(infer *f, tr_err *e, uint32_t inst) {
    const istate *s = &f->st.d[inst];
    for (uint32_t n = 0; s->caller != UINT32_MAX; n++, s = &f->st.d[s->caller]) {
        const tr_func *by = func_of(f, s->caller);
        tr_place p = tr_graph_written(by->graph, s->call_place);
        const char *name = by->graph && p.fn ? p.fn : by->name;
        if (n == MAX_CALLERS) {
            tr_err_note(f->ctx, e, (tr_span){0, -1, 0, -1}, "... and so on");
            return;
        }
        if (p.file && e->place.file && strcmp(p.file, e->place.file) == 0)
            tr_err_note(f->ctx, e, p.span, "called by %s()", name);
        else
            tr_err_note(f->ctx, e, (tr_span){0, -1, 0, -1}, "called by %s() in line %d of %s", name,
                        (int)p.span.line, p.file ? p.file : "?");
    }
}

/* Code was left out because of an error that nobody told: a result is waited for that never comes, or a fault
 * of ours, which must not become a program that does something else. */
static void report_lost(infer *f) {
    if (f->lost.waits) {
        tr_err_add(f->ctx, TR_ERR_TYPING, f->lost.place,
                   "the result of what is called here cannot be known: every path calls the function again")
            ->hint = "add a path that returns a value without a call";
        return;
    }
    assert(f->ctx->nerrs && "code is left out only where an error is told");
    tr_err_add(f->ctx, TR_ERR_INTERNAL, f->lost.place, "'%s' failed without a reason", f->lost.what);
}

void tr_infer_lose(infer *f, tr_place place, const char *what) {
    const istate *s = f->cur < f->st.n ? &f->st.d[f->cur] : NULL;
    if (!f->lost.what)
        f->lost = (tr_lost){what, place, f->waits || (s && s->consulted && !s->ret)};
}

/* Emits the root and every instance it leads to. */
static bool emit_all(infer *f, uint32_t root) {
    f->st.d[root].queued = true;
    tr_vec_push(&f->ctx->arena, &f->queue, root);
    for (uint32_t i = 0; i < f->queue.n && !tr_ctx_stop(f->ctx); i++) {
        uint32_t inst = f->queue.d[i];
        tr_err *last = f->ctx->last_err;
        tr_infer_emit(f, inst);
        for (tr_err *e = last ? last->next : f->ctx->errs; e; e = e->next) {
            if (func_of(f, inst)->library)
                e->notes = NULL; /* they are of variables that the user never wrote */
            if (!e->where) {
                e->where = tr_infer_instance_text(f, inst);
                note_callers(f, e, tell_at_call(f, e, inst));
            }
        }
    }
    if (!f->ctx->nerrs)
        tr_infer_tell_unknown_results(f);
    if (!f->ctx->nerrs && f->lost.what)
        report_lost(f);
    return f->ctx->nerrs == 0;
}

static void renumber_calls(tr_fn *fn, const uint32_t *map) {
    for (uint32_t v = 0; v < fn->ins.n; v++) {
        tr_ins *in = &fn->ins.d[v];
        assert((in->op != TR_OP_CALL || in->blk == TR_NOBLK || map[in->imm.fn] != UINT32_MAX) &&
               "who is called has code");
        if (in->op == TR_OP_CALL)
            in->imm.fn = map[in->imm.fn];
        for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
            renumber_calls(tr_pat_any(in->imm.pat, k), map);
    }
}

/* Instances that nothing calls (made on the way by estimates that grew) are dropped and the
 * rest renumbered. */
static void compact(infer *f, uint32_t root) {
    tr_prog *p = f->p;
    uint32_t *map = TR_NEW_N(&f->ctx->arena, uint32_t, p->insts.n + 1u), n = 0;
    for (uint32_t i = 0; i < p->insts.n; i++) {
        map[i] = UINT32_MAX;
        if (!p->insts.d[i].fn)
            continue;
        map[i] = n;
        p->insts.d[n++] = p->insts.d[i];
    }
    p->insts.n = n;
    p->root = map[root];
    assert(p->root < n && "the root has code");
    for (uint32_t i = 0; i < n; i++)
        renumber_calls(p->insts.d[i].fn, map);
}

bool tr_infer(tr_prog *p, uint32_t nargs, const tr_ty *const *args, const tr_ty *ret) {
    infer f = {.p = p, .ctx = p->ctx, .cur = UINT32_MAX, .lowest = UINT32_MAX, .root = UINT32_MAX};
    tr_callee c = {p->root_func, tr_prog_opts(p, &p->ctx->opts), ret};
    tr_infer_find_sizes(p);
    tr_em e = tr_infer_emitter(&f, false, c.opts);
    const tr_func *fn = &p->funcs.d[p->root_func];
    e.place = (tr_place){
        .file = fn->file, .fn = fn->name, .span = {fn->code ? (int32_t)fn->code->firstline : 0, -1, 0, -1}};
    uint32_t root = tr_infer_instance(&f, &e, c, nargs, args);
    if (root == UINT32_MAX)
        return report_nothing_typed(&f);
    f.root = root;
    if (!tr_infer_types(&f, root))
        return report_nothing_typed(&f);
    if (!emit_all(&f, root) || !tr_infer_kinds(&f, &e, root))
        return false;
    p->insts.d[root].ret = void_ret(&f, f.st.d[root].ret);
    compact(&f, root);
    return true;
}

bool tr_infer_more(tr_prog *p, uint32_t func, tr_fnkind kind, uint32_t nargs, const tr_ty *const *args,
                   uint32_t *inst) {
    tr_prog q = *p;
    memset(&q.insts, 0, sizeof q.insts);
    q.root_func = func;
    q.root_kind = (uint8_t)kind;
    if (!tr_infer(&q, nargs, args, NULL))
        return false;
    tr_arena *a = &p->ctx->arena;
    uint32_t *map = TR_NEW_N(a, uint32_t, q.insts.n + 1u), base = p->insts.n;
    for (uint32_t i = 0; i < q.insts.n; i++)
        map[i] = base + i;
    for (uint32_t i = 0; i < q.insts.n; i++) {
        tr_fn *f = q.insts.d[i].fn;
        renumber_calls(f, map);
        f->name = tr_arena_printf(a, "%s.%u", f->name, (unsigned)(base + i));
        tr_vec_push(a, &p->insts, q.insts.d[i]);
    }
    p->opts = q.opts;
    p->handles |= q.handles;
    p->says_lines |= q.says_lines;
    *inst = base + q.root;
    return true;
}
