/* Arrays that a loop over a prange makes anew in every iteration, of the one before and what it adds: `s = s
 * + x`, `s = np.maximum(s, x)`. They become one array, a copy of the first made before the loop, into which
 * iterations write in place; prange then finds that they only accumulate into it (accumulate.c).
 *
 * Values that are the array at some time form a chain: the param of the loop's head, what a pattern makes of
 * one, and params that one is passed to. Each is looked at through patterns that make the next one, and its
 * sizes, and none once there is a newer one. Each is as long as the first, which is tested where it would be
 * made; a loop in which it would grow raises. Where no iteration runs, the array stays the one it was; where
 * some run and none makes a new one, it is a copy all the same.
 * Cost: for each array that such a loop hands on, its instructions a few times. */
#include "ir/loops.h"
#include "opt/prange/ploop.h"
#include "opt/emit.h"

#include <string.h>

enum { MAX_CHAIN = 64 };

typedef struct chain {
    tr_fn *f;
    const tr_forest *loops;
    uint32_t loop;
    const tr_loop *l; /* that one */
    tr_val p, length;
    uint32_t at; /* which param of the head p is */
    uint8_t *is; /* per value: is it in the chain? */
    tr_u32s all;
} chain;

static const tr_ins *at(const chain *c, tr_val v) {
    return tr_at(c->f, v);
}

static bool block_is_inside(const chain *c, tr_bid b) {
    return tr_forest_has(c->loops, c->loop, b);
}

/* --- finding the loop --- */

/* The number of iterations of a loop over a prange; TR_NOVAL: it is another loop. */
static tr_val length_of(const tr_fn *f, const tr_loop *l) {
    tr_loop_test t;
    if (!tr_loop_head_test(f, l->header, &t) || tr_at(f, t.bound)->op != TR_OP_PRANGE)
        return TR_NOVAL;
    tr_val n = tr_arg(f, t.bound, 0);
    return tr_loop_is_before(f, l->header, n) ? n : TR_NOVAL;
}

static bool is_inside_of_one(const tr_forest *t, uint32_t loop) {
    for (uint32_t k = tr_forest_at(t, loop)->parent; k != TR_NOLOOP; k = tr_forest_at(t, k)->parent)
        if (length_of(t->f, tr_forest_at(t, k)) != TR_NOVAL)
            return true;
    return false;
}

/* --- the chain --- */

static bool add_to_chain(chain *c, tr_val v) {
    if (c->is[v])
        return false;
    c->is[v] = 1;
    tr_vec_push(&c->f->ctx->arena, &c->all, v);
    return true;
}

/* The array that pattern `in` makes of one of the chain; TR_NOVAL: it does something else. */
static tr_val made_by(const chain *c, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    if (in->op != TR_OP_PATTERN || p->nout != 1 || !tr_pat_is_map(p))
        return TR_NOVAL;
    tr_val out = in->args[tr_pat_at(p, P_OUT)];
    const tr_ins *a = at(c, out);
    return a->op == TR_OP_ALLOC && block_is_inside(c, a->blk) ? out : TR_NOVAL;
}

static bool reads_chain(const chain *c, const tr_ins *in) {
    for (uint32_t k = 0; k < in->nargs; k++)
        if (c->is[in->args[k]])
            return true;
    return false;
}

/* All of an array, as one of another layout? */
static bool view_is_whole(const chain *c, const tr_ins *in) {
    if (in->op != TR_OP_VIEW || tr_view_nbase(in) != in->ty->ndim)
        return false;
    const tr_ins *base = at(c, in->args[0]);
    for (unsigned k = 0; k < in->ty->ndim; k++) {
        int64_t from, by;
        tr_val n = tr_made_sizes(in)[k];
        bool all = at(c, n)->op == TR_OP_DIM && at(c, n)->args[0] == in->args[0] && at(c, n)->imm.i == k;
        if (tr_view_axis(in, k) != (int)k || !tr_get_int(c->f, tr_view_starts(in)[k], &from) || from != 0 ||
            !tr_get_int(c->f, tr_view_steps(in)[k], &by) || by != 1 ||
            (!all && !(tr_made_sizes(base) && tr_made_sizes(base)[k] == n)))
            return false;
    }
    return true;
}

static bool grow_ins(chain *c, tr_val v) {
    const tr_ins *in = at(c, v);
    bool changed = reads_chain(c, in) && view_is_whole(c, in) && add_to_chain(c, v);
    if (in->op == TR_OP_PATTERN && reads_chain(c, in) && made_by(c, in) != TR_NOVAL)
        changed = add_to_chain(c, made_by(c, in));
    for (uint32_t s = 0; s < tr_nsucc(in); s++) {
        const tr_edge *e = &in->imm.succ[s];
        for (uint32_t k = 0; block_is_inside(c, e->to) && e->to != c->l->header && k < e->n; k++)
            if (c->is[e->args[k]])
                changed |= add_to_chain(c, tr_blk_at(c->f, e->to)->params.d[k]);
    }
    return changed;
}

static void grow(chain *c) {
    add_to_chain(c, c->p);
    for (bool changed = true; changed && c->all.n <= MAX_CHAIN;) {
        changed = false;
        for (uint32_t i = 0; i < c->l->blks.n; i++)
            for (tr_val v = tr_blk_at(c->f, c->l->blks.d[i])->first; v != TR_NOVAL; v = at(c, v)->next)
                changed |= grow_ins(c, v);
    }
}

/* Does the pattern join the chain's elements with others, each of what it makes with the
 * one of its own place? */
static bool check_pattern(chain *c, const tr_ins *in, tr_pjoin *found) {
    const tr_pat *p = in->imm.pat;
    tr_val made = made_by(c, in), olds[1];
    uint32_t n = 0;
    if (made == TR_NOVAL || !c->is[made])
        return false;
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (!c->is[in->args[k]] || k == tr_pat_at(p, P_OUT))
            continue;
        if (n == 1 || in->args[k] == made || k < tr_pat_at(p, P_IN) || k >= tr_pat_at(p, P_OUT))
            return false;
        olds[n++] = tr_port_param(p, TR_LAM, k);
    }
    tr_cfg_compute(p->lam);
    tr_dom_compute(p->lam);
    return n == 1 && tr_joins(&(tr_pjoins){.f = p->lam,
                                           .head = TR_NOBLK,
                                           .store = TR_NOVAL,
                                           .elem = at(c, c->p)->ty->elem,
                                           .olds = olds,
                                           .nolds = n},
                              found);
}

/* Values that jumps pass in the loop: one of the chain where one belongs and nowhere else. */
static bool check_edges(const chain *c, tr_bid b) {
    const tr_ins *t = tr_term(c->f, b);
    for (uint32_t s = 0; s < tr_nsucc(t); s++) {
        const tr_edge *e = &t->imm.succ[s];
        bool head = e->to == c->l->header;
        for (uint32_t k = 0; k < e->n; k++) {
            bool wants =
                head ? k == c->at : block_is_inside(c, e->to) && c->is[tr_blk_at(c->f, e->to)->params.d[k]];
            bool leaves = !block_is_inside(c, e->to) && e->args[k] == c->p;
            if (c->is[e->args[k]] != wants && !leaves)
                return false;
        }
    }
    return true;
}

static bool check_uses(chain *c) {
    tr_pjoin found = {.any = false, .fast = TR_FM_ALL};
    uint32_t nmade = 0, npats = 0;
    for (uint32_t i = 0; i < c->all.n; i++)
        nmade += at(c, c->all.d[i])->op == TR_OP_ALLOC;
    for (uint32_t i = 0; i < c->f->rpo.n; i++) {
        tr_bid b = c->f->rpo.d[i];
        for (tr_val v = tr_blk_at(c->f, b)->first; v != TR_NOVAL; v = at(c, v)->next) {
            const tr_ins *in = at(c, v);
            if (!block_is_inside(c, b)) {
                for (uint32_t k = 0; k < in->nargs; k++)
                    if (c->is[in->args[k]] && in->args[k] != c->p)
                        return false;
                continue;
            }
            if (!reads_chain(c, in) || in->op == TR_OP_DIM || c->is[v])
                continue;
            if (in->op != TR_OP_PATTERN || !check_pattern(c, in, &found))
                return false;
            npats++;
        }
        if (block_is_inside(c, b) && !check_edges(c, b))
            return false;
    }
    return nmade && npats == nmade; /* each is made by one pattern */
}

static bool branch_passes_value(const tr_ins *t, tr_val u) {
    for (uint32_t s = 0; s < tr_nsucc(t); s++)
        for (uint32_t k = 0; k < t->imm.succ[s].n; k++)
            if (t->imm.succ[s].args[k] == u)
                return true;
    return false;
}

/* Is u read from v on, to the block's end? */
static bool is_read_from(const chain *c, tr_val v, tr_val u) {
    for (; v != TR_NOVAL; v = at(c, v)->next) {
        const tr_ins *in = at(c, v);
        for (uint32_t k = 0; k < in->nargs && in->op != TR_OP_DIM; k++)
            if (in->args[k] == u)
                return true;
        if (branch_passes_value(in, u))
            return true;
    }
    return false;
}

/* Is u, which was there before pattern `made`, looked at after it in an iteration? It is
 * overwritten by then. */
static bool old_is_read_after(const chain *c, tr_val made, tr_val u) {
    tr_fn *f = c->f;
    tr_u32s work = {0};
    uint8_t *seen = TR_NEW_N(&f->ctx->arena, uint8_t, f->blks.n + 1u);
    tr_bid from = at(c, made)->blk;
    if (is_read_from(c, at(c, made)->next, u))
        return true;
    tr_vec_push(&f->ctx->arena, &work, from);
    seen[c->l->header] = seen[at(c, u)->blk] = 1;
    while (work.n) {
        const tr_ins *t = tr_term(f, work.d[--work.n]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid b = t->imm.succ[s].to;
            if (seen[b] || !block_is_inside(c, b))
                continue;
            seen[b] = 1;
            if (is_read_from(c, tr_blk_at(f, b)->first, u))
                return true;
            tr_vec_push(&f->ctx->arena, &work, b);
        }
    }
    return false;
}

static bool value_is_made_before(const chain *c, tr_val u, tr_val made) {
    tr_bid b = at(c, u)->blk, to = at(c, made)->blk;
    if (b != to || at(c, u)->op == TR_OP_PARAM)
        return tr_dominates(c->f, b, to);
    for (tr_val v = made; v != TR_NOVAL; v = at(c, v)->prev)
        if (v == u)
            return true;
    return false;
}

static bool chain_is_straight(const chain *c) {
    for (uint32_t i = 0; i < c->l->blks.n; i++)
        for (tr_val v = tr_blk_at(c->f, c->l->blks.d[i])->first; v != TR_NOVAL; v = at(c, v)->next) {
            const tr_ins *in = at(c, v);
            if (in->op != TR_OP_PATTERN || !reads_chain(c, in))
                continue;
            for (uint32_t k = 0; k < c->all.n; k++)
                if (c->all.d[k] != made_by(c, in) && value_is_made_before(c, c->all.d[k], v) &&
                    old_is_read_after(c, v, c->all.d[k]))
                    return false;
        }
    return true;
}

/* --- one array --- */

static const tr_ty *made_type(const chain *c) {
    for (uint32_t i = 0; i < c->all.n; i++)
        if (at(c, c->all.d[i])->op == TR_OP_ALLOC)
            return at(c, c->all.d[i])->ty;
    return NULL;
}

/* A copy of `array`, of type t. */
static tr_val emit_copy(tr_bld *b, const tr_ty *t, tr_val array, tr_val *dims) {
    tr_val copy = tr_emit_v(b, TR_OP_ALLOC, t, t->ndim, dims);
    tr_at(b->fn, copy)->imm.site = tr_ploop_no_memory(b->fn->ctx);
    tr_ploop_fill(b, t->ndim, dims, array, copy, TR_RED_ADD, TR_PAR_WISH);
    return copy;
}

/* Where an array would be made: it has the sizes of the one. */
static void test_sizes(const chain *c, tr_val made, const tr_val *dims) {
    tr_fn *f = c->f;
    tr_bld b = tr_bld_before(f, made);
    for (unsigned k = 0; k < at(c, made)->ty->ndim; k++) {
        tr_val size = tr_made_sizes(at(c, made))[k];
        tr_val ok = tr_emit_cmp(&b, TR_CMP_EQ, size, dims[k]);
        tr_val check = tr_emit3(&b, TR_OP_CHECK, NULL, ok, size, dims[k]);
        tr_site *s = TR_NEW(&f->ctx->arena, tr_site);
        *s = (tr_site){
            TR_EXC_UNSUPPORTED,
            "an array that a prange loop accumulates keeps its size, and here an axis of size {1} would get "
            "size {0}",
            -1, NULL};
        tr_at(f, check)->imm.site = s;
    }
}

static void replace_outside(const chain *c, tr_val with) {
    tr_fn *f = c->f;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            tr_ins *in = tr_at(f, v);
            bool inside = block_is_inside(c, f->rpo.d[i]);
            for (uint32_t k = 0; k < in->nargs && !inside; k++)
                in->args[k] = in->args[k] == c->p ? with : in->args[k];
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0;
                     (!inside || !block_is_inside(c, in->imm.succ[s].to)) && k < in->imm.succ[s].n; k++)
                    if (in->imm.succ[s].args[k] == c->p)
                        in->imm.succ[s].args[k] = with;
        }
}

static void make_one(chain *c) {
    tr_fn *f = c->f;
    tr_arena *a = &f->ctx->arena;
    const tr_ty *t = made_type(c);
    uint32_t loc = tr_term(f, c->l->header)->loc, n = t->ndim;
    const char *name = c->p < f->names.n ? f->names.d[c->p] : NULL;
    tr_bid before = tr_opt_block_before(f, c->l->header);
    tr_bld b = {.fn = f, .blk = before, .before = TR_NOVAL, .loc = loc};
    tr_val first = tr_blk_at(f, before)->params.d[c->at], *dims = TR_NEW_N(a, tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++)
        dims[k] = tr_emit_dim(&b, first, k);
    tr_val one = emit_copy(&b, t, first, dims);
    if (at(c, c->p)->ty != t)
        one = tr_emit_resized(&b, at(c, c->p)->ty, one, dims);
    if (name)
        tr_val_name(f, one, name);
    tr_val zero = tr_const_int(f, tr_ty_scalar(f->ctx->types, TR_TY_I64), 0);
    tr_val some = tr_emit_cmp(&b, TR_CMP_GT, c->length, zero);
    replace_outside(c, tr_emit_select(&b, some, one, first));
    tr_val *args =
        tr_arena_copy(a, tr_blk_at(f, before)->params.d, tr_blk_at(f, before)->params.n * sizeof *args);
    args[c->at] = one;
    tr_br(&b, c->l->header, tr_blk_at(f, before)->params.n, args);
    tr_repl r = tr_repl_new(f);
    for (uint32_t i = 0; i < c->l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, c->l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_PATTERN && reads_chain(c, tr_at(f, v)))
                memcpy(tr_at(f, v)->args, dims, n * sizeof *dims);
    for (uint32_t i = 0; i < c->all.n; i++) {
        tr_val v = c->all.d[i];
        if (at(c, v)->op == TR_OP_ALLOC)
            test_sizes(c, v, dims);
        if (at(c, v)->op != TR_OP_PARAM)
            tr_ins_remove(f, v);
        tr_repl_set(f, &r, v, one);
    }
    tr_repl_apply(f, &r);
    tr_remove_params(f);
}

/* --- the pass --- */

static bool try_param(tr_fn *f, const tr_forest *loops, uint32_t loop, tr_val length, uint32_t k) {
    const tr_loop *l = tr_forest_at(loops, loop);
    chain c = {.f = f,
               .loops = loops,
               .loop = loop,
               .l = l,
               .p = tr_blk_at(f, l->header)->params.d[k],
               .length = length,
               .at = k};
    const tr_ty *t = tr_at(f, c.p)->ty;
    if (t->kind != TR_TY_ARRAY || !t->ndim)
        return false;
    c.is = TR_NEW_N(&f->ctx->arena, uint8_t, f->ins.n + 1u);
    grow(&c);
    if (c.all.n > MAX_CHAIN || !check_uses(&c) || !chain_is_straight(&c))
        return false;
    make_one(&c);
    return true;
}

/* The first array of the first loop. */
static bool one_step(tr_fn *f) {
    tr_cfg_compute(f);
    tr_dom_compute(f);
    const tr_forest loops = tr_forest_find(f);
    for (uint32_t i = 0; i < loops.all.n; i++) {
        const tr_loop *l = tr_forest_at(&loops, i);
        tr_val length = length_of(f, l);
        if (length == TR_NOVAL || is_inside_of_one(&loops, i))
            continue;
        for (uint32_t k = 0; k < tr_blk_at(f, l->header)->params.n; k++)
            if (try_param(f, &loops, i, length, k))
                return true;
    }
    return false;
}

bool tr_opt_inplace(tr_prog *p, tr_fn *f) {
    bool changed = false;
    (void)p;
    if (f->is_lambda || !tr_opt_has(f, TR_OP_PRANGE) || tr_fn_handles(f))
        return false;
    while (one_step(f))
        changed = true;
    return changed;
}
