/* Loops over a prange become patterns that may run on all cores.
 *
 * A marked loop (`cmp lt counter, prange n` at its head) turns into one PATTERN: space n, the body as its lambda, what the body
 * uses from outside as captures, and what iterations hand on to each other as reductions (reduction.c). Anything else that is
 * handed on is an error that names the lines, and so is a loop that is left early. Memory is depend.c's.
 *
 * The lambda is the head and the body as they stand, with neutral values where the reductions' were, and `yield` where the jumps back
 * were. The head stays in the function too: it runs once more, after the last iteration, as it did.
 * Runs after bounds, so that checks are gone or stand in a version of their own. A prange inside a prange stays a loop.
 * Cost: linear per loop; control flow is computed anew for each. */
#include <string.h>

#include "ir/nyi.h"
#include "opt/ploop.h"

/* --- what is said of it: TREADLE_DUMP=parallel --- */

static uint32_t line_of(const tr_fn *f, tr_val v) {
    return (uint32_t)tr_fn_place(f, tr_at(f, v)->loc).span.line;
}

static bool tells(const tr_fn *f) {
    return !f->is_lambda && tr_dump_wants(&f->ctx->dump, TR_STAGE_PARALLEL, NULL, f->name);
}

static void tell(const tr_ploop *l, const char *what) {
    const tr_fn *f = l->f;
    if (tells(f) && !tr_blk_at(f, l->header)->cold)
        tr_sb_printf(&f->ctx->dump_text, "%s: the loop of line %u: %s\n", f->name,
                     line_of(f, tr_blk_at(f, l->header)->last), what);
}

/* --- errors --- */

static tr_place place_of(const tr_fn *f, tr_val v) {
    return tr_fn_place(f, v == TR_NOVAL ? 0 : tr_at(f, v)->loc);
}

static void refuse(const tr_ploop *l, tr_nyi_id row, tr_val at, const char *text) {
    tr_ctx *c = l->f->ctx;
    tr_place place = place_of(l->f, at);
    if (place.span.line <= 0)
        place = place_of(l->f, tr_blk_at(l->f, l->header)->last);
    tr_err *e = tr_err_add(c, TR_ERR_UNSUPPORTED, place, "%s", text);
    e->nyi = tr_nyi_rows[row].id;
    e->hint = tr_nyi_rows[row].text;
}

static bool refuse_carried(const tr_ploop *l, tr_val p, const tr_preduction *r) {
    tr_arena *a = &l->f->ctx->arena;
    int read = (int)place_of(l->f, r->read).span.line, write = (int)place_of(l->f, r->write).span.line;
    const char *text = "a value";
    if (p < l->f->names.n && l->f->names.d[p])
        text = tr_arena_printf(a, "'%s'", l->f->names.d[p]);
    if (r->read == TR_NOVAL)
        text = tr_arena_printf(
            a, "%s is assigned in a prange loop and used after it: it would be any iteration's value", text);
    else
        text = tr_arena_printf(a, "%s is handed from one iteration of a prange loop to the next", text);
    if (r->read != TR_NOVAL && read > 0)
        text = tr_arena_printf(a, "%s: read in line %d", text, read);
    if (r->read != TR_NOVAL && read > 0 && write > 0)
        text = tr_arena_printf(a, "%s, made in line %d", text, write);
    refuse(l, TR_NYI_PRANGE_CARRIED, r->read == TR_NOVAL ? r->write : r->read, text);
    return false;
}

static const char *name_of(const tr_fn *f, tr_val v) {
    const char *name = v < f->names.n ? f->names.d[v] : NULL;
    return name ? tr_arena_printf(&f->ctx->arena, "'%s'", name) : "an array";
}

/* Both accesses in one sentence. */
static const char *dependence(const tr_ploop *l, const tr_pdepend *d) {
    tr_arena *a = &l->f->ctx->arena;
    const char *array = name_of(l->f, d->array), *verb = d->other_writes ? "writes" : "reads";
    int w = (int)place_of(l->f, d->write).span.line, o = (int)place_of(l->f, d->other).span.line;
    if (!d->sure)
        return tr_arena_printf(a,
                               "line %d writes an element of %s that line %d perhaps %s in another iteration",
                               w, array, o, verb);
    if (d->every && d->write == d->other)
        return tr_arena_printf(a, "line %d writes the same element of %s in every iteration", w, array);
    if (d->every)
        return tr_arena_printf(a,
                               "line %d writes the same element of %s in every iteration, and line %d %s it",
                               w, array, o, verb);
    if (!d->dist_known)
        return tr_arena_printf(a, "line %d writes an element of %s that line %d %s in other iterations", w,
                               array, o, verb);
    int64_t far = d->dist < 0 ? -d->dist : d->dist;
    return tr_arena_printf(a, "line %d writes an element of %s that line %d %s %lld iteration%s %s", w, array,
                           o, verb, (long long)far, far == 1 ? "" : "s", d->dist < 0 ? "earlier" : "later");
}

static bool check_memory(const tr_ploop *l) {
    tr_pdepend d;
    if (!tr_ploop_dependence(l, &d))
        return true;
    if (!d.sure) {
        tell(l, d.write == TR_NOVAL ? "it has too many accesses to arrays to say whether iterations meet"
                                    : dependence(l, &d));
        return true;
    }
    refuse(l, TR_NYI_PRANGE_DEPENDS, d.write,
           tr_arena_printf(&l->f->ctx->arena, "iterations of a prange loop depend on each other: %s",
                           dependence(l, &d)));
    return false;
}

/* --- finding the loop --- */

static bool is_step_of(const tr_fn *f, tr_val v, tr_val counter) {
    const tr_ins *in = tr_at(f, v);
    int64_t k;
    return in->op == TR_OP_ADD && in->args[0] == counter && tr_get_int(f, in->args[1], &k) && k == 1;
}

/* Does the param count from 0 by 1? */
static bool is_counter(const tr_ploop *l) {
    const tr_fn *f = l->f;
    const tr_blk *h = tr_blk_at(f, l->header);
    for (uint32_t i = 0; i < h->preds.n; i++) {
        const tr_ins *t = tr_term(f, h->preds.d[i]);
        bool inside = tr_dominates(f, l->header, h->preds.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            int64_t k;
            tr_val v = t->imm.succ[s].to == l->header ? t->imm.succ[s].args[l->counter_at] : TR_NOVAL;
            if (v != TR_NOVAL && !(inside ? is_step_of(f, v, l->counter) : tr_get_int(f, v, &k) && k == 0))
                return false;
        }
    }
    return true;
}

static bool in_natural(const tr_ploop *l, tr_bid b) {
    for (uint32_t k = l->innermost[b]; k != UINT32_MAX; k = l->loops->d[k].parent)
        if (&l->loops->d[k] == l->loop)
            return true;
    return false;
}

static bool is_marked(tr_ploop *l) {
    const tr_fn *f = l->f;
    const tr_ins *t = tr_term(f, l->header);
    const tr_ins *c = t->op == TR_OP_CBR ? tr_at(f, t->args[0]) : NULL;
    if (!c || c->op != TR_OP_CMP || c->sub != TR_CMP_LT || tr_at(f, c->args[1])->op != TR_OP_PRANGE)
        return false;
    const tr_blk *h = tr_blk_at(f, l->header);
    l->counter = c->args[0];
    l->length = tr_arg(f, c->args[1], 0);
    l->body = t->imm.succ[0].to;
    l->exit = t->imm.succ[1].to;
    for (l->counter_at = 0; l->counter_at < h->params.n; l->counter_at++)
        if (h->params.d[l->counter_at] == l->counter)
            return is_counter(l) && in_natural(l, l->body) && l->body != l->header && !in_natural(l, l->exit);
    return false;
}

/* Blocks from which the function can return: all others end in an exception, or never. */
static uint8_t *can_return(const tr_fn *f) {
    tr_arena *a = &f->ctx->arena;
    uint8_t *can = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    tr_u32s work = {0};
    for (uint32_t i = 0; i < f->rpo.n; i++)
        if (tr_term(f, f->rpo.d[i])->op == TR_OP_RET || tr_term(f, f->rpo.d[i])->op == TR_OP_YIELD) {
            can[f->rpo.d[i]] = 1;
            tr_vec_push(a, &work, f->rpo.d[i]);
        }
    while (work.n) {
        const tr_blk *b = tr_blk_at(f, work.d[--work.n]);
        for (uint32_t i = 0; i < b->preds.n; i++)
            if (!can[b->preds.d[i]]) {
                can[b->preds.d[i]] = 1;
                tr_vec_push(a, &work, b->preds.d[i]);
            }
    }
    return can;
}

/* All blocks that an iteration runs; an error when one of them leaves the loop. */
static bool collect(tr_ploop *l) {
    tr_fn *f = l->f;
    tr_arena *a = &f->ctx->arena;
    const uint8_t *can = can_return(f);
    tr_u32s work = {0};
    l->in = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    l->in[l->header] = l->in[l->body] = 1;
    tr_vec_push(a, &work, l->body);
    while (work.n) {
        tr_bid b = work.d[--work.n];
        const tr_ins *t = tr_term(f, b);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            if (l->in[to])
                continue;
            if (in_natural(l, b) && !in_natural(l, to) && can[to]) {
                bool returns = tr_term(f, to)->op == TR_OP_RET;
                refuse(l, TR_NYI_PRANGE_EXIT, returns ? tr_blk_at(f, to)->last : tr_blk_at(f, b)->last,
                       returns ? "a prange loop cannot be left early, and this `return` is inside of one"
                               : "a prange loop cannot be left early: this leaves it");
                return false;
            }
            l->in[to] = 1;
            tr_vec_push(a, &work, to);
        }
    }
    for (uint32_t i = 0; i < f->rpo.n; i++)
        if (l->in[f->rpo.d[i]])
            tr_vec_push(a, &l->blks, f->rpo.d[i]);
    return true;
}

/* --- the lambda --- */

typedef struct turning {
    tr_ploop *l;
    tr_fn *f, *lam;
    tr_pat *pat;
    tr_preduction *red; /* per param of the header; not of the counter's */
    tr_val *map;
    tr_bid *bmap;
    TR_VEC(tr_val) caps;
} turning;

static tr_val *params_of(const tr_fn *f, tr_bid b) {
    return tr_blk_at(f, b)->params.d;
}

static const tr_ty *type_of(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->ty;
}

static void capture(turning *t, tr_val v) {
    const tr_ins *in = tr_at(t->f, v);
    if (t->map[v] != TR_NOVAL || tr_is_const(in) || t->l->in[in->blk])
        return;
    t->map[v] = tr_blk_param(t->lam, 0, in->ty, v < t->f->names.n ? t->f->names.d[v] : NULL);
    tr_vec_push(&t->f->ctx->arena, &t->caps, v);
}

static void find_captures(turning *t) {
    const tr_ploop *l = t->l;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(t->f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(t->f, v)->next) {
            const tr_ins *in = tr_at(t->f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                capture(t, in->args[k]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; l->in[in->imm.succ[s].to] && k < in->imm.succ[s].n; k++)
                    capture(t, in->imm.succ[s].args[k]);
        }
}

/* The copy, with the head leading straight into the body. Places in it end where the pattern's own goes on: at the call through
 * which the loop came into this function. */
static void copy_body(turning *t) {
    tr_fn *f = t->f;
    const tr_ploop *l = t->l;
    tr_val last = tr_blk_at(f, l->header)->last;
    tr_ins term = *tr_at(f, last);
    uint32_t outer = f->locs.d[term.loc].parent;
    uint32_t *parents = TR_NEW_N(&f->ctx->arena, uint32_t, f->locs.n + 1u);
    for (uint32_t i = 0; i < f->locs.n; i++) {
        parents[i] = f->locs.d[i].parent;
        if (parents[i] == outer)
            f->locs.d[i].parent = 0;
    }
    tr_ins *jump = tr_at(f, last);
    jump->op = TR_OP_BR;
    jump->nargs = 0;
    tr_clone_blocks(t->lam, f, l->blks.d, l->blks.n, t->map, t->bmap, 0);
    *tr_at(f, last) = term;
    for (uint32_t i = 0; i < f->locs.n && i < t->f->locs.n; i++)
        f->locs.d[i].parent = parents[i];
}

/* Jumps back end the iteration: contributions in the order of the header's params. */
static void end_rounds(turning *t) {
    tr_fn *g = t->lam;
    tr_arena *a = &g->ctx->arena;
    tr_bid head = t->bmap[t->l->header], end = tr_blk_new(g);
    uint32_t n = tr_blk_at(g, head)->params.n;
    for (uint32_t k = 0; k < n; k++)
        if (k != t->l->counter_at)
            tr_blk_param(g, end, type_of(g, params_of(g, head)[k]), NULL);
    for (uint32_t i = 0; i < t->l->blks.n; i++) {
        tr_ins *term = tr_term(g, t->bmap[t->l->blks.d[i]]);
        for (uint32_t s = 0; s < tr_nsucc(term); s++) {
            tr_edge *e = &term->imm.succ[s];
            if (e->to != head)
                continue;
            tr_val *v = TR_NEW_N(a, tr_val, n + 1u);
            uint32_t m = 0;
            for (uint32_t k = 0; k < n; k++)
                if (k != t->l->counter_at)
                    v[m++] = e->args[k];
            *e = (tr_edge){.to = end, .n = m, .args = v};
        }
    }
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
    tr_emit_v(&b, TR_OP_YIELD, NULL, tr_blk_at(g, end)->params.n, params_of(g, end));
}

static void drop_marks(tr_fn *f);

/* Neutral values fold away; the test and the step of the counter are used by nobody. */
static void clean(tr_prog *p, tr_fn *f) {
    tr_simplify_cfg(f);
    tr_cfg_compute(f);
    tr_opt_fold(p, f);
    tr_cfg_compute(f);
    tr_opt_dce(p, f);
}

static void drop_captures(turning *t) {
    const uint32_t *uses = tr_use_counts(t->lam);
    tr_blk *entry = tr_blk_at(t->lam, 0);
    uint32_t n = 0;
    for (uint32_t k = 0; k < t->caps.n; k++) {
        tr_val v = entry->params.d[1 + k];
        if (!uses[v])
            continue;
        entry->params.d[1 + n] = v;
        t->caps.d[n++] = t->caps.d[k];
    }
    t->caps.n = n;
    entry->params.n = 1 + n;
}

static void make_lambda(turning *t) {
    tr_fn *f = t->f, *g = tr_fn_new(f->ctx, f->name, S_T);
    tr_arena *a = &f->ctx->arena;
    const tr_ploop *l = t->l;
    const tr_ty *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    uint32_t n = tr_blk_at(f, l->header)->params.n;
    t->lam = g;
    g->is_lambda = true;
    g->file = f->file;
    g->func = f->func;
    tr_blk_new(g);
    tr_val index = tr_blk_param(g, 0, i64, l->counter < f->names.n ? f->names.d[l->counter] : NULL);
    t->map = TR_NEW_N(a, tr_val, f->ins.n + 1u);
    t->bmap = TR_NEW_N(a, tr_bid, f->blks.n + 1u);
    memset(t->map, 0xff, f->ins.n * sizeof *t->map);
    memset(t->bmap, 0xff, f->blks.n * sizeof *t->bmap);
    find_captures(t);
    copy_body(t);
    end_rounds(t);
    tr_val *first = TR_NEW_N(a, tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        tr_val p = params_of(f, l->header)[k];
        first[k] = k == l->counter_at ? index : tr_reduction_identity(g, t->red[k].kind, type_of(f, p));
        for (tr_val v = 0; k != l->counter_at && v < f->ins.n; v++) /* sums start from elsewhere now */
            if (t->red[k].chain[v] && t->map[v] != TR_NOVAL && !tr_is_const(tr_at(g, t->map[v])))
                tr_at(g, t->map[v])->flags &= (uint8_t)~F_NSW;
    }
    tr_bld b = {.fn = g, .blk = 0, .before = TR_NOVAL};
    tr_br(&b, t->bmap[l->header], n, first);
    drop_marks(g);
    clean(t->l->p, g);
    drop_captures(t);
}

/* --- the pattern --- */

static tr_val emit_pattern(turning *t, tr_bld *b) {
    tr_fn *f = t->f;
    tr_arena *a = &f->ctx->arena;
    const tr_ploop *l = t->l;
    uint32_t n = tr_blk_at(f, l->header)->params.n, k = 0;
    tr_pat *p = TR_NEW(a, tr_pat);
    *p = (tr_pat){
        .nspace = 1, .par = true, .nred = (uint16_t)(n - 1), .ncap = (uint16_t)t->caps.n, .lam = t->lam};
    p->reds = TR_NEW_N(a, tr_redk, n);
    const tr_ty **types = TR_NEW_N(a, const tr_ty *, n);
    tr_val *args = TR_NEW_N(a, tr_val, tr_pat_nargs(p) + 1u);
    args[k++] = l->length;
    for (uint32_t i = 0; i < n; i++) {
        if (i == l->counter_at)
            continue;
        p->reds[k - 1] = t->red[i].kind;
        types[k - 1] = type_of(f, params_of(f, l->header)[i]);
        args[k++] = params_of(f, l->header)[i];
    }
    memcpy(args + k, t->caps.d, t->caps.n * sizeof *args);
    const tr_ty *ty = p->nred == 0   ? tr_ty_none(f->ctx->types)
                      : p->nred == 1 ? types[0]
                                     : tr_ty_tuple(f->ctx->types, p->nred, types);
    tr_val v = tr_emit_v(b, TR_OP_PATTERN, ty, k + t->caps.n, args);
    tr_at(f, v)->imm.pat = p;
    return v;
}

/* In the head, before all else; what stands there and after it sees the counter at its end and the reductions' results. */
static tr_val put_pattern(turning *t) {
    tr_fn *f = t->f;
    const tr_ploop *l = t->l;
    tr_blk *h = tr_blk_at(f, l->header);
    tr_val last = h->last;
    tr_bld b = {.fn = f, .blk = l->header, .before = h->first, .loc = tr_at(f, last)->loc};
    tr_edge e = tr_at(f, last)->imm.succ[1];
    uint32_t n = h->params.n, at = 0;
    tr_val *param = tr_arena_copy(&f->ctx->arena, h->params.d, n * sizeof *param);
    tr_val *by = TR_NEW_N(&f->ctx->arena, tr_val, n + 1u);
    tr_val v = emit_pattern(t, &b);
    for (uint32_t k = 0; k < n; k++) {
        by[k] = k == l->counter_at ? l->length : v;
        if (k == l->counter_at || n <= 2)
            continue;
        by[k] = tr_emit1(&b, TR_OP_EXTRACT, type_of(f, param[k]), v);
        tr_at(f, by[k])->imm.i = at++;
    }
    tr_ins_remove(f, last);
    b.before = TR_NOVAL;
    tr_br(&b, l->exit, e.n, e.args);
    tr_val *init = tr_arena_copy(&f->ctx->arena, tr_at(f, v)->args, tr_at(f, v)->nargs * sizeof *init);
    tr_repl r = tr_repl_new(f);
    for (uint32_t k = 0; k < n; k++)
        tr_repl_set(f, &r, param[k], by[k]);
    tr_repl_apply(f, &r);
    tr_at(f, v)->args = init; /* its own operands are the values before */
    return v;
}

static void tell_reductions(const turning *t) {
    const tr_fn *f = t->f;
    const char *text = "runs on all cores";
    uint32_t n = tr_blk_at(f, t->l->header)->params.n;
    for (uint32_t k = 0, any = 0; k < n; k++)
        if (k != t->l->counter_at)
            text = tr_arena_printf(&f->ctx->arena, "%s%s %s (%s)", text,
                                   any++ ? "," : ", reductions:", name_of(f, params_of(f, t->l->header)[k]),
                                   tr_red_name[t->red[k].kind]);
    tell(t->l, text);
}

static bool turn(tr_ploop *l, tr_u32s *made) {
    tr_fn *f = l->f;
    uint32_t n = tr_blk_at(f, l->header)->params.n;
    turning t = {.l = l, .f = f, .red = TR_NEW_N(&f->ctx->arena, tr_preduction, n + 1u)};
    for (uint32_t k = 0; k < n; k++)
        if (k != l->counter_at && !tr_ploop_reduction(l, k, &t.red[k]))
            return refuse_carried(l, params_of(f, l->header)[k], &t.red[k]);
    make_lambda(&t);
    tell_reductions(&t);
    tr_vec_push(&f->ctx->arena, made, put_pattern(&t));
    return true;
}

/* --- the pass --- */

/* A mark that is left has nothing to say: a loop inside a lambda, or a length that no loop ends at. */
static void drop_marks(tr_fn *f) {
    tr_repl r = tr_repl_new(f);
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first, next; v != TR_NOVAL;
             v = next) {
            next = tr_at(f, v)->next;
            if (tr_at(f, v)->op != TR_OP_PRANGE)
                continue;
            tr_repl_set(f, &r, v, tr_arg(f, v, 0));
            tr_ins_remove(f, v);
        }
    tr_repl_apply(f, &r);
}

static bool has_marks(const tr_fn *f) {
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_PRANGE)
                return true;
    return false;
}

/* The first marked loop, outermost: true when there was one, and it was turned or refused. */
static bool turn_one(tr_prog *p, tr_fn *f, tr_u32s *made) {
    tr_loops loops = {0};
    uint32_t *innermost = TR_NEW_N(&f->ctx->arena, uint32_t, f->blks.n + 1u);
    tr_cfg_compute(f);
    tr_dom_compute(f);
    tr_loops_find(f, &loops, innermost);
    for (uint32_t i = 0; i < loops.n; i++) {
        tr_ploop l = {.p = p,
                      .f = f,
                      .header = loops.d[i].header,
                      .loop = &loops.d[i],
                      .loops = &loops,
                      .innermost = innermost};
        if (!is_marked(&l))
            continue;
        if (!collect(&l) || !check_memory(&l) || !turn(&l, made))
            return false;
        tr_simplify_cfg(f);
        return true; /* blocks and values have moved: what is left is looked at anew */
    }
    return false;
}

static bool is_among(tr_val v, const tr_u32s *made) {
    for (uint32_t i = 0; i < made->n; i++)
        if (made->d[i] == v)
            return true;
    return false;
}

/* Why the pattern runs on one core (lower/par.c decides); NULL: it does not. */
static const char *one_core(const tr_pat *p) {
    if (!p->par)
        return "one core";
    if (p->nscan)
        return "one core: each element needs the one before";
    for (uint32_t i = 0; i < p->nred && !p->keep; i++)
        if (p->reds[i] == TR_RED_ARGMIN || p->reds[i] == TR_RED_ARGMAX)
            return "one core: it looks for the place of an extreme";
    return NULL;
}

/* Array expressions, as fusion has left them. Those in a prange loop run within its iterations. */
static void tell_patterns(tr_fn *f, const tr_u32s *made) {
    tr_cfg_compute(f);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_PATTERN || tr_blk_at(f, in->blk)->cold || is_among(v, made))
                continue;
            const char *what = one_core(in->imm.pat);
            tr_sb_printf(&f->ctx->dump_text, "%s: the array expression of line %u: runs on %s\n", f->name,
                         line_of(f, v), what ? what : "all cores");
        }
}

bool tr_opt_prange(tr_prog *p, tr_fn *f) {
    uint32_t errs = p->ctx->nerrs;
    bool marks = has_marks(f);
    tr_u32s made = {0};
    if (marks)
        tr_remove_params(f);
    while (marks && !f->is_lambda && turn_one(p, f, &made))
        ;
    if (tells(f) && p->ctx->nerrs == errs)
        tell_patterns(f, &made);
    if (!marks)
        return false;
    drop_marks(f);
    if (p->ctx->nerrs == errs)
        clean(p, f);
    return true;
}
