/* A prange loop as a pattern (its body outlined, as OpenMP compilers do): its lambda is a copy of the loop's
 * head and body.
 *
 * Plain: each iteration is a round of the pattern. The head leads straight into the body, jumps back end in
 * `yield`. In the function the head stays and runs once more, after the last iteration, as it did.
 * In parts, where one iteration runs by itself (tr_ploop.alone): a loop over these, around the pattern.
 * In chunks, where the loop accumulates into arrays (accumulate.c), looks for an extreme (extreme.c) or
 * appends to lists (lists.c): a round is a loop over a chunk of the iterations, into arrays and lists of its
 * own, which are joined after. The loop stays in the function beside that, for when it is too short to be
 * worth it. */
#include "opt/prange/ploop.h"
#include "opt/emit.h"

#include <assert.h>
#include <string.h>

#include "ir/summary.h"

/* --- the lambda --- */

typedef struct turning {
    tr_ploop *l;
    tr_fn *f, *lam;
    const tr_preduction *red; /* per param of the header; not of the counter's */
    uint32_t nvals;           /* values there were when reductions were looked for */
    tr_val rounds, *init; /* of the pattern: its space; per param of the header, the value before the loop */
    tr_val from;          /* in parts: the part's first iteration; else TR_NOVAL */
    tr_val grain;         /* in chunks: iterations in one; else TR_NOVAL */
    tr_val chunk;         /* its number */
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

/* Those of the loop that lead to the handler outside; once turned, it is the pattern that raises. */
static void set_tries(const tr_ploop *l, tr_op from, tr_op to) {
    for (uint32_t i = 0; l->outer && i < l->tries.n; i++)
        if (tr_at(l->f, l->tries.d[i])->op == from)
            tr_at(l->f, l->tries.d[i])->op = (uint16_t)to;
}

/* The copy, with the head leading straight into the body; in chunks its way out leads back
 * to it for now. Places in it end where the pattern's own goes on: at the call through
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
    if (t->grain == TR_NOVAL) {
        jump->op = TR_OP_BR;
        jump->nargs = 0;
    } else {
        jump->imm.succ = TR_NEW_N(&f->ctx->arena, tr_edge, 2);
        jump->imm.succ[0] = term.imm.succ[0];
        jump->imm.succ[1] = (tr_edge){l->header, tr_blk_at(f, l->header)->params.n, params_of(f, l->header)};
    }
    set_tries(l, TR_OP_TRY, TR_OP_BR);
    tr_clone_blocks(t->lam, f, l->blks.d, l->blks.n, t->map, t->bmap, 0);
    set_tries(l, TR_OP_BR, TR_OP_TRY);
    *tr_at(f, last) = term;
    for (uint32_t i = 0; i < f->locs.n && i < t->f->locs.n; i++)
        f->locs.d[i].parent = parents[i];
}

/* A jump to the head becomes one to the end, with the contributions in the order of the header's params. */
static void lead_to_end(const turning *t, tr_edge *e, tr_bid end) {
    tr_val *v = TR_NEW_N(&t->f->ctx->arena, tr_val, e->n + 1u);
    uint32_t m = 0;
    for (uint32_t k = 0; k < e->n; k++)
        if (k != t->l->counter_at)
            v[m++] = e->args[k];
    *e = (tr_edge){.to = end, .n = m, .args = v};
}

/* A value from outside, as the lambda has it. */
static tr_val inside(turning *t, tr_val v) {
    int64_t k;
    if (tr_get_int(t->f, v, &k))
        return tr_const_int(t->lam, type_of(t->f, v), k);
    capture(t, v);
    return t->map[v];
}

static tr_val *dims_of(turning *t, const tr_paccum *a) {
    uint32_t n = type_of(t->f, a->array)->ndim;
    tr_val *dims = TR_NEW_N(&t->f->ctx->arena, tr_val, n + 1u);
    for (uint32_t d = 0; d < n; d++)
        dims[d] = inside(t, a->dims[d]);
    return dims;
}

/* A round ends where the loop jumped back; in chunks, where the chunk ends. */
static void end_rounds(turning *t, tr_val limit) {
    tr_fn *g = t->lam;
    tr_bid head = t->bmap[t->l->header], end = tr_blk_new(g);
    for (uint32_t k = 0; k < tr_blk_at(g, head)->params.n; k++)
        if (k != t->l->counter_at)
            tr_blk_param(g, end, type_of(g, params_of(g, head)[k]), NULL);
    for (uint32_t i = 0; i < t->l->blks.n && limit == TR_NOVAL; i++) {
        tr_ins *term = tr_term(g, t->bmap[t->l->blks.d[i]]);
        for (uint32_t s = 0; s < tr_nsucc(term); s++)
            if (term->imm.succ[s].to == head)
                lead_to_end(t, &term->imm.succ[s], end);
    }
    if (limit != TR_NOVAL) {
        tr_val last = tr_blk_at(g, head)->last;
        tr_bld b = {.fn = g, .blk = head, .before = last, .loc = tr_at(g, last)->loc};
        tr_val c = tr_emit_cmp(&b, TR_CMP_LT, params_of(g, head)[t->l->counter_at], limit);
        tr_at(g, last)->args[0] = c;
        lead_to_end(t, &tr_at(g, last)->imm.succ[1], end);
    }
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
    const tr_pextreme *x = &t->l->extreme;
    tr_val *yields = TR_NEW_N(&g->ctx->arena, tr_val, tr_blk_at(g, end)->params.n + 1u);
    uint32_t n = 0;
    for (uint32_t k = 0, at = 0; k < tr_blk_at(g, head)->params.n; k++) {
        uint32_t m = tr_extreme_of(x, k);
        if (k == t->l->counter_at)
            continue;
        tr_val v = params_of(g, end)[at++];
        if (m == UINT32_MAX) {
            yields[n++] = v;
            continue;
        }
        tr_val args[] = {inside(t, x->rooms[m]), t->chunk, v};
        tr_emit_v(&b, TR_OP_STORE, NULL, 3, args);
    }
    for (uint32_t k = 0; limit != TR_NOVAL && k < t->l->accums.n; k++) {
        const tr_paccum *a = &t->l->accums.d[k];
        tr_val copies = inside(t, a->copies), size = inside(t, a->size);
        tr_accumulate_keep(&b, t->map[a->array], copies, size, t->chunk, dims_of(t, a));
    }
    tr_emit_v(&b, TR_OP_YIELD, NULL, n, yields);
}

/* A mark that is left has nothing to say: a loop inside a lambda, or a length that no loop ends at. */
void tr_ploop_drop_marks(tr_fn *f) {
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

/* Neutral values fold away; the test and the step of the counter are used by nobody. */
void tr_ploop_clean(tr_prog *p, tr_fn *f) {
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

/* The same view of a copy. */
static tr_val view_again(turning *t, tr_bld *b, tr_val v) {
    const tr_ins *in = tr_at(t->f, v);
    tr_val *args = TR_NEW_N(&t->f->ctx->arena, tr_val, in->nargs + 1u);
    for (uint32_t k = 0; k < in->nargs; k++)
        args[k] = inside(t, tr_at(t->f, v)->args[k]);
    tr_val w = tr_emit_v(b, (tr_op)tr_at(t->f, v)->op, type_of(t->f, v), tr_at(t->f, v)->nargs, args);
    tr_at(t->lam, w)->imm = tr_at(t->f, v)->imm;
    tr_at(t->lam, w)->sub = tr_at(t->f, v)->sub;
    return w;
}

/* From the number of a chunk to its first iteration and the one after its last; arrays are its own copies. */
static void open_chunk(turning *t, tr_bld *b, tr_val *index, tr_val *limit) {
    const tr_ty *i64 = tr_ty_scalar(t->f->ctx->types, TR_TY_I64);
    for (uint32_t k = 0; k < t->l->accums.n; k++) {
        const tr_paccum *a = &t->l->accums.d[k];
        t->map[a->array] = tr_accumulate_copy(b, type_of(t->f, a->array), a->kind, dims_of(t, a));
        for (uint32_t v = 0; v < a->nviews; v++)
            t->map[a->views[v]] = view_again(t, b, a->views[v]);
    }
    for (uint32_t k = 0; k < t->l->lists.n; k++) {
        const tr_plist *p = &t->l->lists.d[k];
        t->map[p->list] = tr_lists_own(t->l, b, p, inside(t, p->parts), t->chunk);
    }
    tr_val grain = inside(t, t->grain), from = tr_emit2(b, TR_OP_MUL, i64, *index, grain);
    tr_at(b->fn, from)->flags |= F_NSW;
    tr_val to = tr_emit2(b, TR_OP_ADD, i64, from, grain);
    *limit = tr_emit_least(b, to, inside(t, t->l->length));
    *index = from;
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
    const char *name = t->grain == TR_NOVAL && t->from == TR_NOVAL && l->counter < f->names.n
                           ? f->names.d[l->counter]
                           : NULL;
    tr_val index = tr_blk_param(g, 0, i64, name);
    t->map = tr_no_vals(f);
    t->bmap = tr_no_blks(f);
    tr_bld b = {.fn = g, .blk = 0, .before = TR_NOVAL};
    tr_val limit = TR_NOVAL;
    t->chunk = index;
    if (t->grain != TR_NOVAL)
        open_chunk(t, &b, &index, &limit);
    if (t->from != TR_NOVAL) {
        index = tr_emit2(&b, TR_OP_ADD, i64, inside(t, t->from), index);
        tr_at(g, index)->flags |= F_NSW;
    }
    find_captures(t);
    copy_body(t);
    end_rounds(t, limit);
    tr_val *first = TR_NEW_N(a, tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        tr_val p = params_of(f, l->header)[k];
        uint32_t m = tr_extreme_of(&l->extreme, k);
        if (m != UINT32_MAX) {
            first[k] = m < l->extreme.n ? inside(t, t->init[k]) : tr_const_int(g, type_of(f, p), 0);
            continue;
        }
        first[k] = k == l->counter_at ? index : tr_red_identity(g, t->red[k].kind, type_of(f, p));
        for (tr_val v = 0; k != l->counter_at && v < t->nvals; v++) /* sums start from elsewhere now */
            if (t->red[k].chain[v] && t->map[v] != TR_NOVAL && !tr_is_const(tr_at(g, t->map[v])))
                tr_at(g, t->map[v])->flags &= (uint8_t)~F_NSW;
    }
    tr_br(&b, t->bmap[l->header], n, first);
    tr_ploop_drop_marks(g);
    tr_ploop_clean(t->l->p, g);
    if (t->grain != TR_NOVAL &&
        tr_opt_fuse(t->l->p, g)) /* what may share memory with the array shares none with a copy */
        tr_ploop_clean(t->l->p, g);
    drop_captures(t);
}

/* --- the pattern --- */

static tr_val emit_pattern(turning *t, tr_bld *b) {
    assert(t->l->header != 0);
    tr_fn *f = t->f;
    tr_arena *a = &f->ctx->arena;
    const tr_ploop *l = t->l;
    uint32_t n = tr_blk_at(f, l->header)->params.n;
    tr_node m = tr_node_new(f);
    tr_node_put(&m, P_SPACE, t->rounds);
    for (uint32_t i = 0; i < n; i++)
        if (i != l->counter_at && tr_extreme_of(&l->extreme, i) == UINT32_MAX)
            tr_node_join(&m, P_RED, t->init[i],
                         (tr_join){.how = (uint8_t)t->red[i].kind, .fast = t->red[i].fast});
    tr_node_put_all(&m, P_CAP, t->caps.d, t->caps.n);
    m.t.lam = t->lam;
    tr_val v = tr_node_emit(&m, b);
    tr_pat *p = tr_at(f, v)->imm.pat;
    p->par = tr_pat_form(p) ? TR_PAR_NO : TR_PAR_PRANGE;
    if (p->par && l->when != TR_NOVAL && t->grain == TR_NOVAL)
        tr_port_add(f, v, P_WHEN, l->when);
    tr_vec_push(a, l->made, v);
    return v;
}

/* The value of each param of the header after the last iteration. */
static tr_val *values_after(turning *t, tr_bld *b, tr_val pattern) {
    tr_fn *f = t->f;
    const tr_blk *h = tr_blk_at(f, t->l->header);
    uint32_t n = h->params.n, at = 0;
    tr_val *by = TR_NEW_N(&f->ctx->arena, tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        bool extreme = tr_extreme_of(&t->l->extreme, k) != UINT32_MAX;
        by[k] = k == t->l->counter_at ? t->l->length : extreme ? t->init[k] : pattern;
        if (k == t->l->counter_at || extreme || tr_pat_nred(tr_at(f, pattern)->imm.pat) == 1)
            continue;
        by[k] = tr_emit1(b, TR_OP_EXTRACT, type_of(f, tr_blk_at(f, t->l->header)->params.d[k]), pattern);
        tr_at(f, by[k])->imm.i = at++;
    }
    return by;
}

/* In the head, before all else; what stands there and after it sees the counter at its end
 * and the reductions' results. */
static void turn_plain(turning *t) {
    tr_fn *f = t->f;
    const tr_ploop *l = t->l;
    tr_blk *h = tr_blk_at(f, l->header);
    tr_val last = h->last;
    tr_bld b = {.fn = f, .blk = l->header, .before = h->first, .loc = tr_at(f, last)->loc};
    tr_edge e = tr_at(f, last)->imm.succ[1];
    uint32_t n = h->params.n;
    t->rounds = l->length;
    t->init = tr_arena_copy(&f->ctx->arena, h->params.d, n * sizeof *t->init);
    make_lambda(t);
    tr_val v = emit_pattern(t, &b), *by = values_after(t, &b, v);
    tr_ins_remove(f, last);
    b.before = TR_NOVAL;
    tr_br(&b, l->exit, e.n, e.args);
    tr_val *args = tr_arena_copy(&f->ctx->arena, tr_at(f, v)->args, tr_at(f, v)->nargs * sizeof *args);
    tr_repl r = tr_repl_new(f);
    for (uint32_t k = 0; k < n; k++)
        tr_repl_set(f, &r, t->init[k], by[k]);
    tr_repl_apply(f, &r);
    tr_at(f, v)->args = args; /* its own operands are the values before */
    if (l->outer)
        tr_blk_protect(f, l->header, l->outer);
}

/* Where the part that begins at `from` ends. */
static tr_val end_of_part(const tr_ploop *l, tr_bld *b, tr_val from) {
    const tr_ty *i64 = tr_ty_scalar(l->f->ctx->types, TR_TY_I64),
                *i1 = tr_ty_scalar(l->f->ctx->types, TR_TY_BOOL);
    tr_val end = l->length;
    for (unsigned k = TR_CUTS; k-- > 0;) {
        tr_val at = l->alone[k];
        if (at == TR_NOVAL)
            continue;
        tr_val there = tr_emit2(b, TR_OP_CMP, i1, from, at), before = tr_emit2(b, TR_OP_CMP, i1, from, at);
        tr_at(l->f, there)->sub = TR_CMP_EQ;
        tr_at(l->f, before)->sub = TR_CMP_LT;
        tr_val next = tr_emit2(b, TR_OP_ADD, i64, at, tr_const_int(l->f, i64, 1));
        end = tr_emit_select(b, before, at, tr_emit_select(b, there, next, end));
    }
    return tr_emit_least(b, end, l->length);
}

/* Before the head, which is entered with nothing left to do. */
static void turn_parts(turning *t) {
    tr_fn *f = t->f;
    const tr_ploop *l = t->l;
    const tr_ty *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    tr_arena *a = &f->ctx->arena;
    tr_val last = tr_blk_at(f, l->header)->last;
    uint32_t n = tr_blk_at(f, l->header)->params.n;
    tr_bid before = tr_opt_block_before(f, l->header), part = tr_blk_new(f);
    tr_blk_at(f, part)->cold = tr_blk_at(f, l->header)->cold;
    for (uint32_t k = 0; k < n; k++)
        tr_blk_param(f, part, type_of(f, params_of(f, l->header)[k]), NULL);
    tr_bld b = {.fn = f, .blk = before, .before = TR_NOVAL, .loc = tr_at(f, last)->loc};
    tr_br(&b, part, n, params_of(f, before)); /* the counter is 0 there */
    b.blk = part;
    t->init = tr_arena_copy(a, params_of(f, part), n * sizeof *t->init);
    t->from = t->init[l->counter_at];
    tr_val end = end_of_part(l, &b, t->from);
    t->rounds = tr_emit2(&b, TR_OP_SUB, i64, end, t->from);
    make_lambda(t);
    tr_val v = emit_pattern(t, &b), *by = values_after(t, &b, v),
           *next = tr_arena_copy(a, by, n * sizeof *next);
    next[l->counter_at] = end;
    tr_val more = tr_emit_cmp(&b, TR_CMP_LT, end, l->length);
    tr_cbr(&b, more, part, n, next, l->header, n, by);
    tr_edge e = tr_at(f, last)->imm.succ[1];
    tr_ins_remove(f, last);
    b.blk = l->header;
    tr_br(&b, l->exit, e.n, e.args);
    if (l->outer)
        tr_blk_protect(f, part, l->outer);
}

void tr_ploop_unmark(tr_fn *f, const tr_ploop *l) {
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_CMP && tr_at(f, tr_arg(f, v, 1))->op == TR_OP_PRANGE)
                tr_at(f, v)->args[1] = tr_arg(f, tr_arg(f, v, 1), 0);
}

/* Before the loop: is it worth chunks? If so they run, and the loop is entered with nothing left to do. */
static void turn_chunks(turning *t) {
    tr_fn *f = t->f;
    tr_ploop *l = t->l;
    const tr_ty *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    tr_val last = tr_blk_at(f, l->header)->last, one = tr_const_int(f, i64, 1);
    uint32_t n = tr_blk_at(f, l->header)->params.n;
    tr_bid before = tr_opt_block_before(f, l->header), par = tr_blk_new(f);
    tr_blk_at(f, par)->cold = tr_blk_at(f, l->header)->cold;
    t->init = tr_arena_copy(&f->ctx->arena, params_of(f, before), n * sizeof *t->init);
    tr_ploop_unmark(f, l); /* what stays of it */
    tr_bld b = {.fn = f, .blk = before, .before = TR_NOVAL, .loc = tr_at(f, last)->loc};
    tr_val chunks = l->accums.n ? tr_accumulate_chunks(l, &b) : tr_extreme_chunks(l, &b);
    tr_val worth = tr_emit_cmp(&b, TR_CMP_GT, chunks, one);
    worth = tr_emit_both(&b, worth, l->when);
    worth = tr_emit_both(&b, worth, tr_lists_apart(l, &b));
    if (l->alone[0] != TR_NOVAL) /* chunks have no parts */
        worth = tr_emit_both(&b, worth, tr_emit_cmp(&b, TR_CMP_EQ, l->alone[0], l->length));
    tr_cbr(&b, worth, par, 0, NULL, l->header, n, t->init);
    b.blk = par;
    tr_val less = tr_emit2(&b, TR_OP_SUB, i64, l->length, one);
    t->grain = tr_emit2(&b, TR_OP_ADD, i64, tr_emit2(&b, TR_OP_QUOT, i64, less, chunks), one);
    t->rounds = tr_emit2(&b, TR_OP_ADD, i64, tr_emit2(&b, TR_OP_QUOT, i64, less, t->grain), one);
    for (uint32_t k = 0; k < l->accums.n; k++)
        tr_accumulate_copies(&b, &l->accums.d[k], t->rounds);
    if (l->extreme.n)
        tr_extreme_rooms(l, &b, t->rounds);
    tr_lists_room(l, &b, t->rounds);
    make_lambda(t);
    tr_val v = emit_pattern(t, &b), *by = values_after(t, &b, v);
    for (uint32_t k = 0; k < l->accums.n; k++)
        tr_accumulate_join(l, &b, &l->accums.d[k], t->rounds);
    if (l->extreme.n)
        tr_extreme_join(l, &b, t->rounds, by);
    tr_lists_join(l, &b);
    tr_br(&b, l->header, n, by);
    for (tr_bid k = before, end = f->blks.n; l->outer && k < end; k++)
        if (tr_blk_raises(f, k))
            tr_blk_protect(f, k, l->outer);
}

void tr_ploop_turn(tr_ploop *l, const tr_preduction *red, uint32_t nvals) {
    turning t = {.l = l, .f = l->f, .red = red, .nvals = nvals, .from = TR_NOVAL, .grain = TR_NOVAL};
    if (l->accums.n || l->extreme.n || l->lists.n)
        turn_chunks(&t);
    else if (l->alone[0] != TR_NOVAL)
        turn_parts(&t);
    else
        turn_plain(&t);
}
