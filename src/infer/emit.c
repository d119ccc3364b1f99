/* The second step: a typed function from the untyped one, with the types the fixed point found.
 * Blocks map one to one at first; a template may add more (the cursor then stands at the end
 * of the last). Values that failed are poison: what uses them is left out silently, because
 * the failure itself has been reported. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "infer/priv.h"

typedef struct emission {
    infer *f;
    istate *s;
    tr_fn *src, *dst;
    tr_em e;
    tr_tv *val;       /* per untyped value; ty NULL = poison or not reached */
    tr_bid *start;    /* per untyped block */
    tr_edge *handler; /* per untyped block: where what raises in it goes; no args, not even none: nowhere */
    uint8_t *reached; /* per untyped block: code that was made comes to it */
    bool failed;
    bool lists; /* something of a list was refused: what follows from it is not told */
} emission;

static tr_arena *arena(emission *m) {
    return &m->f->ctx->arena;
}

static tr_place place_of(emission *m, const tr_ins *in) {
    return tr_infer_place(m->src, in);
}

/* Notes on the operands' types, from the places they were made. */
static void note_operands(emission *m, const tr_ins *in) {
    tr_err *err = m->f->ctx->last_err;
    if (!err || err->notes)
        return;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < in->nargs && !err->hint; i++)
        if (m->s->ty[in->args[i]] && m->s->ty[in->args[i]]->kind == TR_TY_NONE &&
            tr_at(m->src, in->args[i])->op == TR_OP_CALLPY)
            tr_em_hint(&m->e, "what was called returns nothing: is a `return` missing there?");
    for (uint32_t i = 0; i < in->nargs && shown < 3; i++) {
        tr_val a = in->args[i];
        const tr_ins *d = tr_at(m->src, a);
        const tr_ty *t = m->s->ty[a];
        if (!t || d->op == TR_OP_OBJ || t->kind == TR_TY_LIT || t->kind == TR_TY_METHOD ||
            t->kind == TR_TY_INFO || t->kind == TR_TY_EXC || t->kind == TR_TY_STEP || d->op == TR_OP_ITERLEN)
            continue;
        const char *name = a < m->src->names.n ? m->src->names.d[a] : NULL;
        tr_span span = d->op == TR_OP_PARAM ? (tr_span){0, -1, 0, -1} : place_of(m, d).span;
        const char *text = tr_em_tyname(&m->e, t);
        if (name && name[0] == '.')
            continue; /* implicit, as CPython names such arguments */
        if (d->op == TR_OP_PARAM && d->blk == 0 && name)
            tr_err_note(m->f->ctx, err, span, "argument '%s' is %s", name, text);
        else if (name)
            tr_err_note(m->f->ctx, err, span, "'%s' is %s", name, text);
        else if (span.line > 0 && span.col >= 0)
            tr_err_note(m->f->ctx, err, span, "$ is %s", text);
        else
            continue;
        shown++;
    }
}

static void fail_here(emission *m, const tr_ins *in) {
    m->failed = true;
    note_operands(m, in);
}

/* No path to here gives it one. */
static bool has_no_value(const emission *m, tr_val v) {
    return tr_at(m->src, v)->op != TR_OP_OBJ && !m->val[v].ty && tr_infer_unassigned(m->f, m->s, v);
}

/* The typed value of an untyped operand, as it is known where it is used; false for poison. */
static bool use_on(emission *m, tr_val v, use_at at, tr_tv *out) {
    const tr_ins *d = tr_at(m->src, v);
    if (d->op == TR_OP_OBJ) {
        *out = tr_em_obj(&m->e, d->imm.obj);
        return true;
    }
    *out = m->val[v];
    assert((!out->ty || tr_em_is_whole(&m->e, *out)) && "what was emitted for it has its type");
    if (has_no_value(m, v))
        m->e.ends = true; /* what asks whether it is bound stands in front */
    else if (!out->ty)
        tr_infer_lose(m->f, place_of(m, d), tr_op_info[d->op].name);
    if (!out->ty || out->ty->kind != TR_TY_OPT)
        return out->ty != NULL;
    switch (tr_infer_noneness(m->f, m->s, v, at)) {
    case NONE_YES: *out = tr_em_none(&m->e); break;
    case NONE_NO: *out = tr_em_item(&m->e, *out, 1); break;
    default: break;
    }
    return true;
}

static bool use(emission *m, const tr_ins *user, uint32_t k, tr_tv *out) {
    return use_on(m, user->args[k], (use_at){user->blk, NO_SIDE}, out);
}

static bool is_told(const emission *m, tr_val v) {
    for (tr_val k = 0; k < m->src->ins.n; k++) {
        const tr_ins *in = tr_at(m->src, k), *of = tr_at(m->src, v);
        if (in->op == TR_OP_UNDEFVAR && in->sub == of->sub && m->s->bad[k] == 3 &&
            strcmp(in->imm.s, of->imm.s) == 0)
            return true;
    }
    return false;
}

/* A local variable, or what is as near among globals and builtins. */
static void suggest_name(emission *m, const char *name) {
    const tr_code *c = m->f->p->funcs.d[m->dst->func].code;
    tr_near near = tr_near_begin(name);
    for (uint32_t i = 0; c && i < c->nlocalsplus; i++)
        tr_near_consider(&near, c->localsplus[i], (unsigned)strlen(c->localsplus[i]));
    for (uint32_t i = 0; c && i < c->nnames; i++)
        if (c->near && c->near[i] && !strcmp(c->names[i], name))
            tr_near_consider(&near, c->near[i], (unsigned)strlen(c->near[i]));
    if (near.best)
        tr_em_hint(&m->e, "did you mean '%s'?", near.best);
}

/* The read of a variable that has no value; each is told once. */
static void tell_undef(emission *m, tr_val v) {
    const tr_ins *in = tr_at(m->src, v);
    assert(in->op == TR_OP_UNDEFVAR);
    m->failed = true;
    m->f->ctx->unbound |= in->sub == TR_UNDEF_GLOBAL || in->sub == TR_UNDEF_FREE;
    if (is_told(m, v))
        return;
    m->s->bad[v] = 3;
    if (in->sub == TR_UNDEF_GLOBAL) {
        tr_em_error(&m->e, "name '%s' is not defined", in->imm.s);
        suggest_name(m, in->imm.s);
    } else if (in->sub == TR_UNDEF_FREE)
        tr_em_error(&m->e, TR_NO_FREE_VALUE, in->imm.s);
    else
        tr_em_error(&m->e, TR_NO_LOCAL_VALUE, in->imm.s);
}

/* --- edges --- */

static bool is_string(const tr_ty *t) {
    return tr_ty_is_text(t);
}

static const char *var_name(emission *m, tr_val param) {
    const char *n = param < m->src->names.n ? m->src->names.d[param] : NULL;
    return n ? tr_arena_printf(arena(m), "'%s'", n) : "the value";
}

/* What to do about two types that have no common one. */
static const char *advice(tr_tytab *types, const tr_ty *a, const tr_ty *b) {
    bool numbers = tr_ty_is_scalar(tr_ty_strong(types, a)) && tr_ty_is_scalar(tr_ty_strong(types, b));
    if (a->kind == TR_TY_EXC || b->kind == TR_TY_EXC)
        return "an exception that was caught is there in its `except` block alone: keep str(e), as in `last "
               "= "
               "str(e)`, with `last = ''` on the other paths, or a number that says what was raised";
    if (is_string(a) || is_string(b))
        return "a variable is a string on all paths, or on none";
    if (numbers)
        return "convert one of them, with np.int64(x) or np.uint64(x)";
    if (a->kind == TR_TY_TUPLE && b->kind == TR_TY_TUPLE)
        return "the length of a tuple and the types of its items are part of its type: use an array, or two "
               "variables";
    if (a->kind != TR_TY_ARRAY && b->kind != TR_TY_ARRAY)
        return "give it one type on all paths";
    if (a->kind != TR_TY_ARRAY || b->kind != TR_TY_ARRAY)
        return "give it one type, for instance by starting with an array instead of a number or None";
    if (a->ndim != b->ndim)
        return "the number of dimensions is part of an array's type: use a variable of its own for the other "
               "array";
    return "convert the first with .astype(), or keep its dtype: numbers in variables are 64 bits wide, so "
           "write "
           "np.float32(x) * a";
}

static void conflict(emission *m, tr_bid to, uint32_t i, const tr_ins *term) {
    tr_val p = tr_blk_at(m->src, to)->params.d[i];
    if (m->s->bad[p] == 3 || m->s->bad[p] == 2)
        return;
    m->s->bad[p] = 3; /* reported */
    const tr_ty *first = NULL, *other = NULL;
    m->e.place = place_of(m, term);
    tr_em_error(&m->e, "%s has no single type where these paths meet", var_name(m, p));
    m->failed = true;
    for (uint32_t b = 0; b < m->src->blks.n; b++) {
        if (!m->s->live[b] || tr_blk_at(m->src, b)->last == TR_NOVAL)
            continue;
        const tr_ins *t = tr_term(m->src, b);
        for (uint32_t k = 0; k < tr_nsucc(t); k++) {
            if (t->imm.succ[k].to != to)
                continue;
            tr_val a = t->imm.succ[k].args[i];
            const tr_ty *ty = m->s->ty[a];
            const tr_ins *d = tr_at(m->src, a);
            if (!ty)
                continue;
            tr_err_note(m->f->ctx, m->f->ctx->last_err, place_of(m, d).span, "here it is %s",
                        ty->kind == TR_TY_LIT && is_string(ty) ? ty->lit->repr : tr_em_tyname(&m->e, ty));
            first = first ? first : ty;
            if (ty != first && (!other || !tr_ty_join(m->e.types, first, ty, m->e.opts->promote_numba)))
                other = ty;
        }
    }
    if (first && other)
        tr_em_hint(&m->e, "%s", advice(m->e.types, first, other));
}

/* Edge arguments converted to the target's types. */
static bool edge_args(emission *m, const tr_ins *term, uint32_t side, tr_val *out) {
    const tr_edge *ed = &term->imm.succ[side];
    const tr_blk *to = tr_blk_at(m->src, ed->to);
    assert(ed->n == to->params.n && "an edge has a value for each parameter");
    bool ok = true;
    for (uint32_t i = 0; i < ed->n; i++) {
        tr_val p = to->params.d[i];
        const tr_ty *want = m->s->ty[p];
        const tr_ins *d = tr_at(m->src, ed->args[i]);
        tr_tv x, y;
        out[i] = TR_NOVAL;
        if (m->s->bad[p] == 1)
            conflict(m, ed->to, i, term);
        if (m->s->bad[p] || !want) {
            out[i] = tr_const_undef(m->dst, tr_ty_none(m->f->ctx->types));
            continue;
        }
        if (d->op == TR_OP_UNDEFVAR || has_no_value(m, ed->args[i])) {
            out[i] = tr_const_undef(m->dst, want);
            continue;
        }
        if (!use_on(m, ed->args[i], (use_at){term->blk, side}, &x)) {
            ok = false;
            continue;
        }
        m->e.place = place_of(m, term);
        if (!tr_em_coerce(&m->e, x, want, &y)) {
            tr_em_error(&m->e, "%s cannot become %s here, it is %s", var_name(m, p),
                        tr_em_tyname(&m->e, want), tr_em_tyname(&m->e, x.ty));
            fail_here(m, term);
            ok = false;
            continue;
        }
        assert(tr_em_is_whole(&m->e, y) && tr_em_same_ir(&m->e, y.ty, want) &&
               "an edge hands on what the block's parameter is");
        out[i] = y.v;
    }
    return ok;
}

/* --- terminators --- */

static tr_bid reach(emission *m, tr_bid to) {
    if (!m->s->live[to])
        m->failed = !tr_em_fail(&m->e, TR_ERR_INTERNAL, "code leads to a block whose types are not known");
    m->reached[to] = 1;
    assert((m->start[to] || to == 0 || m->failed) && "a block that is reached was made");
    return m->start[to];
}

static void end_unreachable(emission *m) {
    tr_emit0(&m->e.b, TR_OP_UNREACH, NULL);
}

/* The error of a result that does not become what the other paths return, or what the signature says. */
static void bad_result(emission *m, tr_tv x) {
    const tr_ty *want = m->s->ret;
    bool void_wanted = want->kind == TR_TY_NONE, none = tr_tv_is_none(x);
    const char *names[2];
    if (m->s->declared)
        tr_em_error(&m->e, "the result is %s, but the signature declares %s",
                    none ? "None" : tr_em_tyname(&m->e, x.ty),
                    void_wanted ? "void" : tr_em_tyname(&m->e, want));
    else if (none || void_wanted)
        tr_em_error(&m->e, "the function returns both None and %s", tr_em_tyname(&m->e, none ? want : x.ty));
    else {
        tr_em_tynames(&m->e, want, x.ty, names);
        tr_em_error(&m->e, "the function returns both %s and %s", names[0], names[1]);
    }
    if (none || (void_wanted && !m->s->declared))
        tr_em_hint(&m->e, "a path ends without a value: return one there, or raise an exception");
    else if (!m->s->declared)
        tr_em_hint(&m->e, "return one type on all paths");
}

/* Has who is given a value of this type a list display? A closure has its own to itself, an iterator that
 * goes over one (`walks`) gives its items only. */
static __attribute__((unused)) bool gives_display(const tr_func *of, const tr_ty *t, bool walks) {
    bool walker = tr_lib_is_once((tr_tv){t, TR_NOVAL}) || t->kind == TR_TY_DRAWN;
    if (tr_ty_is_list(t) && !walks)
        return true;
    walks = (walks || walker) && !tr_ty_is_list(t);
    for (uint32_t i = 0; t->kind != TR_TY_CLOSURE && !(of->library && walker) && i < t->n; i++)
        if (gives_display(of, t->items[i], walks))
            return true;
    return false;
}

/* One that was caught is known as long as its handler runs: what says which it is lies in the function's own
 * memory. */
static bool holds_caught(const tr_ty *t) {
    bool yes = tr_em_is_caught(t);
    for (uint32_t i = 0; !yes && i < t->n; i++)
        yes = holds_caught(t->items[i]);
    return yes;
}

static void refuse_caught(emission *m) {
    tr_em_unsupported(&m->e, "exc-value", "an exception that was caught, kept beyond its handler");
    m->failed = true;
}

static void emit_ret(emission *m, const tr_ins *in) {
    const tr_ty *want = m->s->ret;
    tr_tv x, y;
    if (!use(m, in, 0, &x)) {
        end_unreachable(m);
        return;
    }
    assert(want && "the result has the type of what is returned");
    const tr_func *of = &m->f->p->funcs.d[m->src->func];
    assert((of->round || !gives_display(of, want, false)) && "what is returned was made a list");
    (void)of;
    if (holds_caught(want)) {
        refuse_caught(m);
        end_unreachable(m);
        return;
    }
    if (!tr_em_coerce(&m->e, x, want, &y)) {
        bad_result(m, x);
        fail_here(m, in);
        end_unreachable(m);
        return;
    }
    tr_emit1(&m->e.b, TR_OP_RET, NULL, y.v);
}

static void emit_cbr(emission *m, const tr_ins *in) {
    tr_tv x, t;
    int64_t known;
    if (!use(m, in, 0, &x) || !tr_em_truth(&m->e, x, &t)) {
        if (x.ty)
            fail_here(m, in);
        end_unreachable(m);
        return;
    }
    const tr_edge *s = in->imm.succ;
    bool lit = tr_tv_lit_int(t, &known);
    assert((lit || (tr_em_is_whole(&m->e, t) && t.ty->kind == TR_TY_BOOL)) && "a branch asks a bool");
    tr_val *a = TR_NEW_N(arena(m), tr_val, s[0].n + 1u), *b = TR_NEW_N(arena(m), tr_val, s[1].n + 1u);
    if (lit) {
        const tr_edge *only = known ? &s[0] : &s[1];
        tr_val *v = known ? a : b;
        if (edge_args(m, in, known ? 0 : 1, v))
            tr_br(&m->e.b, reach(m, only->to), only->n, v);
        else
            end_unreachable(m);
        return;
    }
    bool ok = edge_args(m, in, 0, a);
    ok = edge_args(m, in, 1, b) && ok;
    if (ok)
        tr_cbr(&m->e.b, t.v, reach(m, s[0].to), s[0].n, a, reach(m, s[1].to), s[1].n, b);
    else
        end_unreachable(m);
}

/* What the protected block becomes may be many: each is protected when it is there. */
static void emit_try(emission *m, const tr_ins *in) {
    const tr_edge *e = &in->imm.succ[1];
    /* and where nothing in it raised there, as unchecked indices do not, nobody would know */
    if (m->f->p->root_kind != TR_FN_HOST) {
        tr_val v = tr_blk_at(m->src, in->imm.succ[0].to)->first; /* the first line in it */
        while (v != TR_NOVAL && !tr_at(m->src, v)->loc)
            v = tr_at(m->src, v)->next;
        m->e.place = place_of(m, v != TR_NOVAL ? tr_at(m->src, v) : in);
        tr_em_error(&m->e, "a GPU has no `try`: what a kernel raises there ends the launch");
        fail_here(m, in);
        end_unreachable(m);
        return;
    }
    tr_val *v = TR_NEW_N(arena(m), tr_val, e->n + 1u);
    tr_bid body = in->imm.succ[0].to;
    if (edge_args(m, in, 1, v)) {
        m->f->p->handles = true;
        m->handler[body] = (tr_edge){.to = reach(m, e->to), .n = e->n, .args = v};
        tr_br(&m->e.b, reach(m, body), 0, NULL);
    } else {
        end_unreachable(m);
    }
}

static void protect(emission *m, tr_bid src, uint32_t first) {
    const tr_edge *e = &m->handler[src];
    uint32_t end = m->dst->blks.n;
    assert(first <= end && "the block's own parts are the newest");
    if (!e->args)
        return;
    if (tr_blk_raises(m->dst, m->start[src]))
        tr_blk_protect(m->dst, m->start[src], e);
    for (tr_bid b = first; b < end; b++)
        if (tr_blk_raises(m->dst, b) && !tr_handler_now(m->dst, b)) /* but a cause that is only made */
            tr_blk_protect(m->dst, b, e);
}

static void emit_raise(emission *m, const tr_ins *in) {
    tr_raising r = {.what = {0}};
    if (use(m, in, 0, &r.what) && (in->nargs < 2 || use(m, in, 1, &r.context)) &&
        (in->nargs < 3 || use(m, in, 2, &r.cause))) {
        m->f->p->handles |= tr_infer_makes_cause(&r);
        if (tr_infer_raise(&m->e, &r))
            return;
        fail_here(m, in);
    }
    end_unreachable(m);
}

static void emit_term(emission *m, const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_RET: emit_ret(m, in); break;
    case TR_OP_CBR: emit_cbr(m, in); break;
    case TR_OP_TRY: emit_try(m, in); break;
    case TR_OP_RERAISE:
    case TR_OP_RAISEPY: emit_raise(m, in); break;
    case TR_OP_BR: {
        tr_val *a = TR_NEW_N(arena(m), tr_val, in->imm.succ[0].n + 1u);
        if (edge_args(m, in, 0, a))
            tr_br(&m->e.b, reach(m, in->imm.succ[0].to), in->imm.succ[0].n, a);
        else
            end_unreachable(m);
        break;
    }
    default: end_unreachable(m);
    }
}

/* --- instructions --- */

static bool is_of_list(const tr_ty *t) {
    return t->kind == TR_TY_LIST || tr_ty_is_list(t) || (t->kind == TR_TY_METHOD && is_of_list(t->items[0]));
}

/* A template says dry, of the same operands, what it gives for real. Dry runs have no effect but on the
 * arena. */
static __attribute__((unused)) bool is_as_when_dry(emission *m, tr_val v, const tr_tv *ops, tr_tv real) {
    tr_em e = m->e;
    tr_tv out = {NULL, TR_NOVAL};
    bool waits = m->f->waits, ok;
    e.dry = true;
    ok = tr_infer_step(&e, m->src, v, ops, &out);
    m->f->waits = waits;
    return ok && e.ends == m->e.ends && (e.ends || !out.ty || !real.ty || tr_em_same_ir(&e, out.ty, real.ty));
}

static void emit_ins(emission *m, tr_val v) {
    const tr_ins *in = tr_at(m->src, v);
    tr_tv *ops = TR_NEW_N(arena(m), tr_tv, in->nargs + 1u), out;
    m->e.place = place_of(m, in);
    m->e.b.loc = tr_loc_add(m->dst, m->e.place, 0);
    if (in->op == TR_OP_UNDEFVAR) {
        if (in->sub != TR_UNDEF_UNSET)
            tell_undef(m, v);
        return;
    }
    if (tr_ins_ends(in)) {
        emit_term(m, in);
        m->e.ends = false;
        return;
    }
    for (uint32_t i = 0; i < in->nargs; i++)
        if (!use(m, in, i, &ops[i]) || (m->lists && is_of_list(ops[i].ty)))
            return;
    uint32_t errs = m->f->ctx->nerrs;
    m->f->waits = false;
    if (!tr_infer_step(&m->e, m->src, v, ops, &out)) {
        if (m->f->ctx->nerrs != errs)
            note_operands(m, in);
        m->failed = true; /* if not here, the reason is told by what is called */
        for (uint32_t i = 0; i < in->nargs; i++)
            m->lists |= is_of_list(ops[i].ty);
        tr_infer_lose(m->f, m->e.place, tr_op_info[in->op].name);
        return;
    }
    assert(is_as_when_dry(m, v, ops, out) && "a template's dry and its real result agree");
    if (m->e.ends)
        return;
    assert((!out.ty || tr_op_info[in->op].result == '-' || tr_em_is_given(&m->e, out)) &&
           "what an operation gives has the type that it says");
    if (!out.ty || !m->s->ty[v]) {
        tr_infer_lose(m->f, m->e.place, tr_op_info[in->op].name);
        return;
    }
    if (out.ty != m->s->ty[v] && tr_ty_strong(m->e.types, out.ty) != tr_ty_strong(m->e.types, m->s->ty[v]) &&
        !tr_em_coerce(&m->e, out, m->s->ty[v], &out)) {
        tr_em_fail(&m->e, TR_ERR_INTERNAL, "'%s' was typed %s and is %s", tr_op_info[in->op].name,
                   tr_em_tyname(&m->e, m->s->ty[v]), tr_em_tyname(&m->e, out.ty));
        m->failed = true;
        return;
    }
    m->val[v] = out;
    if (v < m->src->names.n && m->src->names.d[v] && out.v != TR_NOVAL &&
        !tr_is_const(tr_at(m->dst, out.v)) && (out.v >= m->dst->names.n || !m->dst->names.d[out.v]))
        tr_val_name(m->dst, out.v, m->src->names.d[v]);
}

static void make_blocks(emission *m) {
    for (uint32_t k = 0; k < m->src->rpo.n; k++) {
        tr_bid b = m->src->rpo.d[k];
        if (!m->s->live[b])
            continue;
        m->start[b] = tr_blk_new(m->dst);
        const tr_blk *sb = tr_blk_at(m->src, b);
        for (uint32_t i = 0; i < sb->params.n; i++) {
            tr_val p = sb->params.d[i];
            const tr_ty *t = m->s->bad[p] || !m->s->ty[p] ? NULL : m->s->ty[p];
            const char *name = p < m->src->names.n ? m->src->names.d[p] : NULL;
            /* a parameter of the program's root may be weak: a Python number given to a ufunc */
            const tr_ty *ir = !t        ? tr_ty_none(m->f->ctx->types)
                              : t->weak ? tr_ty_strong(m->f->ctx->types, t)
                                        : t;
            tr_val v = tr_blk_param(m->dst, m->start[b], ir, name);
            if (t && holds_caught(t)) {
                m->e.place = place_of(m, tr_at(m->src, tr_blk_at(m->src, b)->first));
                refuse_caught(m);
            }
            if (t)
                m->val[p] = (tr_tv){t, v};
        }
    }
}

static const char *inst_name(emission *m, uint32_t inst) {
    const char *name = m->f->p->funcs.d[m->f->p->insts.d[inst].func].name;
    uint32_t same = 0;
    for (uint32_t i = 0; i < m->f->p->insts.n; i++) {
        const tr_fn *o = m->f->p->insts.d[i].fn;
        if (o && m->f->p->insts.d[i].func == m->f->p->insts.d[inst].func)
            same++;
    }
    return same ? tr_arena_printf(arena(m), "%s.%u", name, same) : name;
}

/* What no stage behind this one looks at: every value has a type, none of them a weak one, and every block an
 * end. */
static __attribute__((unused)) bool is_typed(const tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++) {
        const tr_blk *blk = tr_blk_at(f, b);
        if (blk->dead)
            continue;
        if (blk->last == TR_NOVAL || !tr_ins_ends(tr_term(f, b)))
            return false;
        for (uint32_t i = 0; i < blk->params.n; i++)
            if (!tr_at(f, blk->params.d[i])->ty)
                return false;
        for (tr_val v = blk->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (!(tr_op_info[in->op].stages & S_T) || (tr_op_info[in->op].result != '-' && !in->ty) ||
                (in->ty && in->ty->weak))
                return false;
        }
    }
    return true;
}

bool tr_infer_emit(infer *f, uint32_t inst) {
    assert(inst < f->st.n && !f->p->insts.d[inst].fn && "code of an instance is made once");
    emission m = {.f = f, .s = &f->st.d[inst], .src = f->st.d[inst].src};
    if (!tr_infer_types(f, inst))
        return false;
    m.s = &f->st.d[inst];
    const tr_ty *ret = m.s->ret && inst != f->queue.d[0] ? tr_ty_closed(f->ctx->types, m.s->ret) : NULL;
    while (tr_infer_guess_lists(f, inst)) {
        m.s->done = false;
        m.s->seen = UINT32_MAX;
        f->changes++;
        if (!tr_infer_types(f, inst))
            return false;
        m.s = &f->st.d[inst];
    }
    tr_infer_close(f, m.s);
    if (ret && m.s->ret != ret) /* whoever calls it has been made */
        return tr_fail(f->ctx, TR_ERR_TYPING,
                       "the result of %s() cannot be known before it is known what "
                       "lists hold that are empty",
                       m.src->name);
    m.dst = tr_fn_new(f->ctx, inst_name(&m, inst), S_T);
    m.dst->file = m.src->file;
    m.dst->func = f->p->insts.d[inst].func;
    m.dst->ret = m.s->ret ? m.s->ret : tr_ty_none(f->ctx->types);
    m.val = TR_NEW_N(arena(&m), tr_tv, m.src->ins.n + 1u);
    m.start = TR_NEW_N(arena(&m), tr_bid, m.src->blks.n + 1u);
    m.handler = TR_NEW_N(arena(&m), tr_edge, m.src->blks.n + 1u);
    m.reached = TR_NEW_N(arena(&m), uint8_t, m.src->blks.n + 1u);
    m.reached[0] = 1;
    m.e = (tr_em){.ctx = f->ctx,
                  .types = f->ctx->types,
                  .prog = f->p,
                  .call = tr_infer_call,
                  .launch = tr_infer_launch,
                  .infer = f,
                  .list = tr_infer_new_list,
                  .waits = &f->waits};
    m.e.b = (tr_bld){m.dst, 0, TR_NOVAL, 0};
    m.e.opts = tr_infer_opts(f, inst);
    m.e.opts_no = f->p->insts.d[inst].opts;
    m.e.weak_items = tr_infer_keeps_weak(f, inst);
    m.e.packaged = f->p->funcs.d[f->p->insts.d[inst].func].packaged;
    f->p->insts.d[inst].fn = m.dst;
    f->p->insts.d[inst].ret = m.dst->ret;
    f->cur = inst;
    m.e.place = (tr_place){.file = m.src->file, .fn = m.src->name};
    m.failed = tr_infer_tell_clashes(f, &m.e, inst);
    make_blocks(&m);
    /* calls made while emitting may add instances: the state is found again each time */
    for (uint32_t k = 0; k < m.src->rpo.n; k++) {
        tr_bid b = m.src->rpo.d[k];
        if (!m.s->live[b])
            continue;
        uint32_t first = m.dst->blks.n;
        m.e.b.blk = m.start[b];
        m.e.ends =
            !m.reached[b]; /* its code was typed before a call in front of it was known not to return */
        for (tr_val v = tr_blk_at(m.src, b)->first; v != TR_NOVAL && !m.e.ends; v = tr_at(m.src, v)->next) {
            m.s = &f->st.d[inst];
            emit_ins(&m, v);
        }
        if (m.e.ends)
            end_unreachable(&m);
        protect(&m, b, first);
    }
    tr_fn_mark_fast(m.dst, m.e.opts->fastmath);
    bool ok = !m.failed && f->ctx->nerrs == 0;
    assert((!ok || is_typed(m.dst)) && "no untyped value is left");
    assert((!ok || tr_blk_at(m.dst, 0)->params.n == f->p->insts.d[inst].nargs) &&
           "a parameter for each argument");
    return ok;
}
