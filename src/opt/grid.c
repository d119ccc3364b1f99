/* Launches of kernels on the host: the grid becomes a pattern whose rounds are blocks, with loops over the threads of one inside.
 *
 * Without a barrier the kernel's body stands in the innermost loop. With barriers the body is cut at them (loop fission, as pocl's
 * continuation-based synchronisation has it): what lies between two is a region with loops over the threads of its own, and after each
 * the block asks where its threads have come to. All at one barrier: the region behind it is next. At two: an error that names both. Who
 * has ended is not waited for. So any control flow is right, and divergence is found without knowing what is uniform.
 * What a thread has in one region and uses in another lies in arrays over the threads, one for each value (structure of arrays), or is computed
 * again where that takes no memory. A kernel's device functions are put in place of their calls first: whatever asks for a thread's place
 * must stand in the loops.
 * Blocks may run on all cores: they meet in memory only as a kernel's blocks do, by atomics, or the result is open on any device.
 * Cost: a copy of the body for each region that reaches it; loads and stores of what crosses a barrier. */
#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "opt/priv.h"

enum { X, Y, Z, AXES };

/* A barrier: the end of a block, and where its threads go on. */
typedef struct stop {
    tr_bid at, on;
    int32_t line;
} stop;

typedef struct grid {
    tr_prog *p;
    tr_fn *f;    /* the host's, which launches */
    tr_val call; /* the launch */
    tr_fn *g;    /* the kernel's body, a copy */
    tr_fn *lam;  /* a block */
    tr_bld b;    /* in it */
    const tr_ty *i64, *i1;
    tr_val *caps; /* of the lambda: six sizes, then the kernel's arguments */
    tr_val block[AXES], thread[AXES], threads, number; /* where the code is, or NOVAL; how many, which */
    uint32_t loc;
    TR_VEC(stop) stops;
} grid;

static tr_arena *arena(const grid *s) {
    return &s->p->ctx->arena;
}

/* --- small pieces --- */

static tr_val number(const grid *s, int64_t n) {
    return tr_const_int(s->lam, s->i64, n);
}

static tr_val op2(grid *s, tr_op op, tr_val x, tr_val y) {
    tr_val v = tr_emit2(&s->b, op, s->i64, x, y);
    if (op == TR_OP_ADD || op == TR_OP_MUL) /* places fit: their number does */
        tr_at(s->b.fn, v)->flags |= F_NSW;
    return v;
}

static tr_val compare(grid *s, tr_cmpop how, tr_val x, tr_val y) {
    tr_val v = tr_emit2(&s->b, TR_OP_CMP, s->i1, x, y);
    tr_at(s->b.fn, v)->sub = (uint8_t)how;
    return v;
}

static tr_val choose(grid *s, tr_val c, tr_val x, tr_val y) {
    return tr_emit3(&s->b, TR_OP_SELECT, s->i64, c, x, y);
}

static const tr_site *site(const grid *s, tr_exc exc, const char *text) {
    tr_site *t = TR_NEW(arena(s), tr_site);
    *t = (tr_site){exc, text, -1, NULL};
    return t;
}

static bool fail(const grid *s, const char *text) {
    tr_place place = s->f->locs.d[tr_at(s->f, s->call)->loc].place;
    tr_err_add(s->p->ctx, TR_ERR_LOWERING, place, "%s: %s", s->g->name, text);
    return false;
}

/* An array of the block's own, made before its loops. */
static tr_val room(grid *s, const tr_ty *elem, uint32_t n, const tr_val *sizes) {
    const tr_ty *t = tr_ty_array(s->p->ctx->types, elem, n, TR_LAYOUT_C, false);
    tr_val v = tr_emit_v(&s->b, TR_OP_ALLOC, t, n, sizes);
    tr_at(s->lam, v)->imm.site = site(s, TR_EXC_MEMORY, "cannot allocate an array of {0} bytes");
    return v;
}

/* --- the kernel's body --- */

static bool has_barrier(const tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_BARRIER)
                return true;
    return false;
}

/* A pattern's functions are others' loops: no thread's place is known there. */
static bool asks_in_patterns(const tr_fn *f, bool inside) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (inside && tr_op_is_device(in->op))
                return true;
            for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_fn(in->imm.pat, k); k++)
                if (asks_in_patterns(tr_pat_fn(in->imm.pat, k), true))
                    return true;
        }
    return false;
}

static bool take_body(grid *s) {
    const tr_fn *kernel = s->p->insts.d[tr_at(s->f, s->call)->imm.fn].fn;
    s->g = tr_fn_clone(kernel);
    if (!tr_opt_inline_devices(s->p, s->g))
        return fail(s, "a device function that calls itself cannot run in a kernel");
    if (asks_in_patterns(s->g, false))
        return fail(s, "a function that is applied to the items of an array cannot ask for its thread");
    tr_simplify_cfg(s->g);
    return true;
}

/* --- what crosses a barrier --- */

/* What is the same whenever it is computed, from what is there in every region. */
static void find_free(const tr_fn *g, uint8_t *is_free) {
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        tr_bid b = g->rpo.d[k];
        for (uint32_t p = 0; b == 0 && p < tr_blk_at(g, 0)->params.n; p++)
            is_free[tr_blk_at(g, 0)->params.d[p]] = 1;
        for (tr_val v = tr_blk_at(g, b)->first; v != TR_NOVAL; v = tr_at(g, v)->next) {
            const tr_ins *in = tr_at(g, v);
            bool yes = in->op == TR_OP_SHARED || tr_opt_is_pure(in);
            for (uint32_t a = 0; yes && a < in->nargs; a++)
                yes = tr_is_const(tr_at(g, in->args[a])) || is_free[in->args[a]];
            is_free[v] = yes && !tr_ins_ends(in);
        }
    }
}

/* Every use, of an instruction or on an edge. */
typedef void (*use_fn)(void *self, tr_val user, tr_val *operand);
static void each_use(tr_fn *g, tr_val v, use_fn fn, void *self) {
    tr_ins *in = tr_at(g, v);
    uint32_t nargs = in->nargs, nsucc = tr_nsucc(in);
    for (uint32_t k = 0; k < nargs; k++)
        fn(self, v, &tr_at(g, v)->args[k]);
    for (uint32_t e = 0; e < nsucc; e++)
        for (uint32_t k = 0; k < tr_at(g, v)->imm.succ[e].n; k++)
            fn(self, v, &tr_at(g, v)->imm.succ[e].args[k]);
}

typedef struct crossing {
    grid *s;
    tr_bits *live; /* per block: values alive where it begins */
    uint8_t *is_free, *crosses;
    tr_val *home; /* per value: the array over threads that it lies in, a param of g */
    tr_bid blk;   /* of the use that is looked at */
    uint32_t nvals;
    bool changed;
} crossing;

static void note_use(void *self, tr_val user, tr_val *operand) {
    crossing *c = self;
    const tr_ins *d = tr_at(c->s->g, *operand);
    (void)user;
    if (tr_is_const(d) || d->blk == c->blk)
        return;
    if (!tr_bits_get(&c->live[c->blk], *operand)) {
        tr_bits_set(&c->live[c->blk], *operand);
        c->changed = true;
    }
}

/* Liveness at the beginning of each block, backwards until nothing changes. */
static void find_live(crossing *c) {
    tr_fn *g = c->s->g;
    c->live = TR_NEW_N(arena(c->s), tr_bits, g->blks.n + 1u);
    for (tr_bid b = 0; b < g->blks.n; b++)
        c->live[b] = tr_bits_new(arena(c->s), c->nvals);
    do {
        c->changed = false;
        for (uint32_t k = g->rpo.n; k-- > 0;) {
            c->blk = g->rpo.d[k];
            for (tr_val v = tr_blk_at(g, c->blk)->first; v != TR_NOVAL; v = tr_at(g, v)->next)
                each_use(g, v, note_use, c);
            const tr_ins *t = tr_term(g, c->blk);
            for (uint32_t e = 0; e < tr_nsucc(t); e++)
                for (tr_val v = 0; v < c->nvals; v++)
                    if (tr_bits_get(&c->live[t->imm.succ[e].to], v) && tr_at(g, v)->blk != c->blk &&
                        !tr_bits_get(&c->live[c->blk], v)) {
                        tr_bits_set(&c->live[c->blk], v);
                        c->changed = true;
                    }
        }
    } while (c->changed);
}

/* Which thread this is, counted through the block. */
static tr_val my_number(tr_bld *b, const tr_ty *i64) {
    tr_val at[AXES], dim[AXES], n;
    for (unsigned k = 0; k < AXES; k++) {
        at[k] = tr_emit0(b, TR_OP_THREADIDX, i64);
        dim[k] = tr_emit0(b, TR_OP_BLOCKDIM, i64);
        tr_at(b->fn, at[k])->imm.i = tr_at(b->fn, dim[k])->imm.i = k;
    }
    n = at[Z];
    for (unsigned k = Z; k-- > 0;) {
        n = tr_emit2(b, TR_OP_MUL, i64, n, dim[k]);
        tr_at(b->fn, n)->flags |= F_NSW;
        n = tr_emit2(b, TR_OP_ADD, i64, n, at[k]);
        tr_at(b->fn, n)->flags |= F_NSW;
    }
    return n;
}

/* v once more, before `at`: what it is made of, too. */
static tr_val again(grid *s, tr_val v, tr_val at) {
    tr_fn *g = s->g;
    if (tr_is_const(tr_at(g, v)) || tr_at(g, v)->op == TR_OP_PARAM || tr_at(g, v)->op == TR_OP_SHARED)
        return v;
    tr_ins in = *tr_at(g, v);
    tr_val *args = TR_NEW_N(arena(s), tr_val, in.nargs + 1u);
    for (uint32_t k = 0; k < in.nargs; k++)
        args[k] = again(s, in.args[k], at);
    tr_bld b = {.fn = g, .blk = tr_at(g, at)->blk, .before = at, .loc = in.loc};
    tr_val n = tr_emit_v(&b, (tr_op)in.op, in.ty, in.nargs, args);
    tr_at(g, n)->imm = in.imm;
    tr_at(g, n)->sub = in.sub;
    tr_at(g, n)->flags = in.flags;
    return n;
}

/* A use in another block than the value's own takes it from where every region finds it. */
static void mend_use(void *self, tr_val user, tr_val *operand) {
    crossing *c = self;
    tr_fn *g = c->s->g;
    tr_val v = *operand, n;
    if (v >= c->nvals || !c->crosses[v] || tr_at(g, v)->blk == c->blk)
        return;
    uint32_t arg = UINT32_MAX, edge = UINT32_MAX;
    const tr_ins *in = tr_at(g, user);
    for (uint32_t k = 0; k < in->nargs; k++) /* emitting moves instructions */
        if (operand == &in->args[k])
            arg = k;
    for (uint32_t e = 0; e < tr_nsucc(in) && arg == UINT32_MAX; e++)
        for (uint32_t k = 0; k < in->imm.succ[e].n; k++)
            if (operand == &in->imm.succ[e].args[k]) {
                edge = e;
                arg = k;
            }
    if (c->is_free[v]) {
        n = again(c->s, v, user);
    } else {
        tr_bld b = {.fn = g, .blk = c->blk, .before = user, .loc = tr_at(g, user)->loc};
        tr_val me = my_number(&b, c->s->i64);
        n = tr_emit2(&b, TR_OP_LOAD, tr_at(g, v)->ty, c->home[v], me);
    }
    if (edge == UINT32_MAX)
        tr_at(g, user)->args[arg] = n;
    else
        tr_at(g, user)->imm.succ[edge].args[arg] = n;
}

/* Stored as soon as it is there. */
static void keep(crossing *c, tr_val v) {
    tr_fn *g = c->s->g;
    const tr_ins *in = tr_at(g, v);
    tr_val before = in->op == TR_OP_PARAM ? tr_blk_at(g, in->blk)->first : in->next;
    tr_bld b = {.fn = g, .blk = in->blk, .before = before, .loc = in->loc};
    tr_val me = my_number(&b, c->s->i64);
    tr_emit3(&b, TR_OP_STORE, NULL, c->home[v], me, v);
}

/* No value is used on the other side of a barrier after this. Homes are params of g, in order, past those that the kernel has. */
static bool cut_values(grid *s) {
    tr_fn *g = s->g;
    tr_cfg_compute(g);
    crossing c = {.s = s, .nvals = g->ins.n};
    c.is_free = TR_NEW_N(arena(s), uint8_t, c.nvals + 1u);
    c.crosses = TR_NEW_N(arena(s), uint8_t, c.nvals + 1u);
    c.home = TR_NEW_N(arena(s), tr_val, c.nvals + 1u);
    find_free(g, c.is_free);
    find_live(&c);
    for (uint32_t k = 0; k < s->stops.n; k++)
        for (tr_val v = 0; v < c.nvals; v++) {
            const tr_ins *in = tr_at(g, v);
            if (!tr_bits_get(&c.live[s->stops.d[k].on], v) || c.crosses[v] || in->op == TR_OP_SHARED ||
                (in->op == TR_OP_PARAM && in->blk == 0))
                continue;
            c.crosses[v] = 1;
            if (!c.is_free[v] && !tr_ty_is_scalar(in->ty))
                return fail(s, "an array that each thread makes or chooses for itself is used after a "
                               "barrier; compute it again there");
        }
    for (tr_val v = 0; v < c.nvals; v++)
        if (c.crosses[v] && !c.is_free[v]) {
            const tr_ty *t = tr_ty_array(s->p->ctx->types, tr_at(g, v)->ty, 1, TR_LAYOUT_C, false);
            c.home[v] = tr_blk_param(g, 0, t, NULL);
        }
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        c.blk = g->rpo.d[k];
        for (tr_val v = tr_blk_at(g, c.blk)->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(g, v)->next;
            each_use(g, v, mend_use, &c);
        }
    }
    for (tr_val v = 0; v < c.nvals; v++)
        if (c.crosses[v] && !c.is_free[v])
            keep(&c, v);
    return true;
}

/* Blocks end at barriers. */
static void cut_blocks(grid *s) {
    tr_fn *g = s->g;
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first; v != TR_NOVAL;
             v = tr_at(g, v)->next) {
            if (tr_at(g, v)->op != TR_OP_BARRIER)
                continue;
            uint32_t loc = tr_at(g, v)->loc;
            tr_bid on = tr_blk_split(g, tr_at(g, v)->next);
            tr_ins_remove(g, v);
            tr_bld b2 = {.fn = g, .blk = b, .before = TR_NOVAL, .loc = loc};
            tr_br(&b2, on, 0, NULL);
            tr_vec_push(arena(s), &s->stops, ((stop){b, on, g->locs.d[loc].place.span.line}));
            break; /* the rest stands in `on` now */
        }
}

/* --- loops over the threads --- */

typedef struct loop {
    tr_bid head, exit;
    tr_val i;
    tr_val carry[3];
} loop;

/* One axis; what is carried goes through as params. */
static void loop_begin(grid *s, loop *l, tr_val n, uint32_t ncarry, tr_val *carry) {
    tr_val args[4] = {number(s, 0)};
    l->head = tr_blk_new(s->lam);
    l->exit = tr_blk_new(s->lam);
    tr_bid body = tr_blk_new(s->lam);
    memcpy(args + 1, carry, ncarry * sizeof *carry);
    tr_br(&s->b, l->head, ncarry + 1, args);
    l->i = tr_blk_param(s->lam, l->head, s->i64, NULL);
    for (uint32_t k = 0; k < ncarry; k++)
        carry[k] = l->carry[k] = tr_blk_param(s->lam, l->head, s->i64, NULL);
    s->b.blk = l->head;
    tr_cbr(&s->b, compare(s, TR_CMP_LT, l->i, n), body, 0, NULL, l->exit, 0, NULL);
    s->b.blk = body;
}

static void loop_end(grid *s, const loop *l, uint32_t ncarry, tr_val *carry) {
    tr_val args[4];
    args[0] = op2(s, TR_OP_ADD, l->i, number(s, 1));
    memcpy(args + 1, carry, ncarry * sizeof *carry);
    tr_br(&s->b, l->head, ncarry + 1, args);
    memcpy(carry, l->carry, ncarry * sizeof *carry);
    s->b.blk = l->exit;
}

/* --- a region: the body's blocks from one on, up to barriers --- */

static const stop *stop_at(const grid *s, tr_bid b, uint32_t *no) {
    for (uint32_t k = 0; k < s->stops.n; k++)
        if (s->stops.d[k].at == b) {
            *no = k + 1;
            return &s->stops.d[k];
        }
    return NULL;
}

static tr_u32s region_from(const grid *s, tr_bid from) {
    tr_u32s out = {0};
    uint8_t *seen = TR_NEW_N(arena(s), uint8_t, s->g->blks.n + 1u);
    uint32_t no;
    seen[from] = 1;
    tr_vec_push(arena(s), &out, from);
    for (uint32_t k = 0; k < out.n; k++) {
        const tr_ins *t = tr_term(s->g, out.d[k]);
        for (uint32_t e = 0; e < tr_nsucc(t) && !stop_at(s, out.d[k], &no); e++)
            if (!seen[t->imm.succ[e].to]) {
                seen[t->imm.succ[e].to] = 1;
                tr_vec_push(arena(s), &out, t->imm.succ[e].to);
            }
    }
    return out;
}

/* What stands for an op of a device here; NOVAL: it is none. */
static tr_val meaning(const grid *s, const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_THREADIDX: return s->thread[in->imm.i];
    case TR_OP_BLOCKIDX: return s->block[in->imm.i];
    case TR_OP_BLOCKDIM: return s->caps[3 + in->imm.i];
    case TR_OP_GRIDDIM: return s->caps[in->imm.i];
    default: return TR_NOVAL;
    }
}

/* A copy of these blocks, entered from where the builder is; threads that end or come to a barrier go to `done` with the barrier's number. */
static void put_region(grid *s, const tr_u32s *blks, const tr_val *known, tr_bid done) {
    tr_fn *lam = s->lam;
    tr_val *map = tr_arena_copy(arena(s), known, s->g->ins.n * sizeof *map);
    tr_bid *bmap = TR_NEW_N(arena(s), tr_bid, s->g->blks.n + 1u);
    memset(bmap, 0xff, s->g->blks.n * sizeof *bmap);
    uint32_t no = 0;
    for (uint32_t k = 0; k < s->stops.n; k++) /* so that no copy leads past a barrier */
        bmap[s->stops.d[k].on] = done;
    tr_clone_blocks(lam, s->g, blks->d, blks->n, map, bmap, s->loc);
    tr_blk *entry = tr_blk_at(s->g, blks->d[0]);
    tr_val *args = TR_NEW_N(arena(s), tr_val, entry->params.n + 1u);
    for (uint32_t k = 0; k < entry->params.n; k++)
        args[k] = known[entry->params.d[k]];
    tr_br(&s->b, bmap[blks->d[0]], entry->params.n, args);
    tr_repl r = tr_repl_new(lam);
    for (uint32_t k = 0; k < blks->n; k++) {
        tr_bid b = bmap[blks->d[k]];
        for (tr_val v = tr_blk_at(lam, b)->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(lam, v)->next;
            tr_val m = meaning(s, tr_at(lam, v));
            if (m == TR_NOVAL)
                continue;
            tr_repl_set(lam, &r, v, m);
            tr_ins_remove(lam, v);
        }
        tr_val last = tr_blk_at(lam, b)->last, where = number(s, 0);
        if (!stop_at(s, blks->d[k], &no) && tr_at(lam, last)->op != TR_OP_RET)
            continue;
        if (stop_at(s, blks->d[k], &no))
            where = number(s, no);
        tr_bld e = {.fn = lam, .blk = b, .before = TR_NOVAL, .loc = tr_at(lam, last)->loc};
        tr_ins_remove(lam, last);
        tr_br(&e, done, 1, &where);
    }
    tr_repl_apply(lam, &r);
}

/* The loops over the threads around a region. `here`: the barrier that it stands behind, 0 the kernel's beginning; `at`: per thread, the barrier where it
 * waits. Carried: the least and the largest number of a barrier that a thread has come to, and whether one has ended. */
static void put_loops(grid *s, tr_bid from, int64_t here, tr_val at, tr_val everybody, const tr_val *known,
                      tr_val *carry) {
    loop l[AXES];
    uint32_t n = s->stops.n ? 3 : 0;
    for (unsigned k = AXES; k-- > 0;)
        loop_begin(s, &l[k], s->caps[3 + k], n, carry);
    for (unsigned k = 0; k < AXES; k++)
        s->thread[k] = l[k].i;
    tr_bid done = tr_blk_new(s->lam), next = done;
    tr_val where = tr_blk_param(s->lam, done, s->i64, NULL), me = TR_NOVAL;
    if (n) {
        me = op2(s, TR_OP_MUL, op2(s, TR_OP_ADD, op2(s, TR_OP_MUL, l[Z].i, s->caps[3 + Y]), l[Y].i),
                 s->caps[3 + X]);
        me = op2(s, TR_OP_ADD, me, l[X].i);
        next = tr_blk_new(s->lam);
        for (unsigned k = 0; k < n; k++)
            tr_blk_param(s->lam, next, s->i64, NULL);
    }
    if (here) {
        tr_bid mine = tr_blk_new(s->lam);
        tr_val waits = compare(s, TR_CMP_EQ, tr_emit2(&s->b, TR_OP_LOAD, s->i64, at, me), number(s, here));
        waits = tr_emit2(&s->b, TR_OP_OR, s->i1, everybody, waits);
        tr_cbr(&s->b, waits, mine, 0, NULL, next, n, carry);
        s->b.blk = mine;
    }
    tr_u32s blks = region_from(s, from);
    put_region(s, &blks, known, done);
    s->b.blk = done;
    if (n) {
        tr_val ended = compare(s, TR_CMP_EQ, where, number(s, 0)), out[3];
        tr_emit3(&s->b, TR_OP_STORE, NULL, at, me, where);
        out[0] = choose(s, tr_emit2(&s->b, TR_OP_OR, s->i1, ended, compare(s, TR_CMP_GT, where, carry[0])),
                        carry[0], where);
        out[1] = choose(s, compare(s, TR_CMP_GT, where, carry[1]), where, carry[1]);
        out[2] = choose(s, ended, number(s, 1), carry[2]);
        tr_br(&s->b, next, n, out);
        s->b.blk = next;
        memcpy(carry, tr_blk_at(s->lam, next)->params.d, n * sizeof *carry);
    }
    for (unsigned k = 0; k < AXES; k++)
        loop_end(s, &l[k], n, carry);
}

/* The line of the barrier of this number. */
static tr_val line_of(grid *s, tr_val no) {
    tr_val line = number(s, 0);
    for (uint32_t k = 0; k < s->stops.n; k++)
        line = choose(s, compare(s, TR_CMP_EQ, no, number(s, k + 1)), number(s, s->stops.d[k].line), line);
    return line;
}

/* Region after region, until no thread waits. */
static void put_all(grid *s, const tr_val *known) {
    tr_val carry[3] = {number(s, INT64_MAX), number(s, 0), number(s, 0)}, at = TR_NOVAL;
    if (s->stops.n)
        at = room(s, s->i64, 1, &s->threads);
    put_loops(s, 0, 0, at, TR_NOVAL, known, carry);
    if (!s->stops.n)
        return;
    tr_bid ask = tr_blk_new(s->lam), go = tr_blk_new(s->lam), end = tr_blk_new(s->lam);
    tr_val p[3];
    tr_br(&s->b, ask, 3, carry);
    for (unsigned k = 0; k < 3; k++)
        p[k] = tr_blk_param(s->lam, ask, s->i64, NULL);
    s->b.blk = ask;
    tr_cbr(&s->b, compare(s, TR_CMP_EQ, p[1], number(s, 0)), end, 0, NULL, go, 0, NULL);
    s->b.blk = go;
    tr_val lines[2] = {line_of(s, p[0]), line_of(s, p[1])};
    tr_val same = compare(s, TR_CMP_EQ, p[0], p[1]), everybody = compare(s, TR_CMP_EQ, p[2], number(s, 0));
    tr_val check = tr_emit3(&s->b, TR_OP_CHECK, NULL, same, lines[0], lines[1]);
    tr_at(s->lam, check)->imm.site =
        site(s, TR_EXC_RUNTIME,
             tr_arena_printf(arena(s),
                             "%s: threads of a block wait at different barriers: in line {0} and in line {1}",
                             s->p->funcs.n > s->g->func ? s->p->funcs.d[s->g->func].name : s->g->name));
    tr_bid here = go;
    for (uint32_t k = 0; k < s->stops.n; k++) {
        tr_bid region = tr_blk_new(s->lam), other = k + 1 < s->stops.n ? tr_blk_new(s->lam) : TR_NOBLK;
        s->b.blk = here;
        if (other == TR_NOBLK)
            tr_br(&s->b, region, 0, NULL);
        else
            tr_cbr(&s->b, compare(s, TR_CMP_EQ, p[0], number(s, k + 1)), region, 0, NULL, other, 0, NULL);
        s->b.blk = region;
        tr_val out[3] = {number(s, INT64_MAX), number(s, 0),
                         choose(s, everybody, number(s, 0), number(s, 1))};
        put_loops(s, s->stops.d[k].on, k + 1, at, everybody, known, out);
        tr_br(&s->b, ask, 3, out);
        here = other;
    }
    s->b.blk = end;
}

/* --- the block, and the pattern over them --- */

/* What the body finds of its own: the kernel's arguments, what lies in memory of the block's. */
static tr_val *known_values(grid *s, uint32_t nargs) {
    tr_fn *g = s->g;
    tr_val *known = TR_NEW_N(arena(s), tr_val, g->ins.n + 1u);
    memset(known, 0xff, g->ins.n * sizeof *known);
    const tr_blk *entry = tr_blk_at(g, 0);
    for (uint32_t k = 0; k < entry->params.n; k++)
        known[entry->params.d[k]] =
            k < nargs ? s->caps[6 + k] : room(s, tr_at(g, entry->params.d[k])->ty->elem, 1, &s->threads);
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first, next; v != TR_NOVAL;
             v = next) {
            const tr_ins *in = tr_at(g, v);
            next = in->next;
            if (in->op != TR_OP_SHARED)
                continue;
            tr_val sizes[TR_MAX_NDIM];
            for (uint32_t k = 0; k < in->nargs; k++)
                sizes[k] = tr_const_import(s->lam, tr_at(g, in->args[k]));
            known[v] = room(s, in->ty->elem, in->nargs, sizes);
            tr_ins_remove(g, v);
        }
    return known;
}

static void make_block(grid *s) {
    const tr_ins *call = tr_at(s->f, s->call);
    uint32_t n = call->nargs;
    s->lam = tr_fn_new(s->p->ctx, s->f->name, S_T);
    s->lam->is_lambda = true;
    s->lam->file = s->f->file;
    s->lam->func = s->f->func;
    s->b = (tr_bld){s->lam, tr_blk_new(s->lam), TR_NOVAL, 0};
    s->loc = tr_loc_add(s->lam, s->f->locs.d[call->loc].place, 0);
    s->b.loc = s->loc;
    tr_val index = tr_blk_param(s->lam, 0, s->i64, NULL);
    s->caps = TR_NEW_N(arena(s), tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++)
        s->caps[k] = tr_blk_param(s->lam, 0, tr_at(s->f, call->args[k])->ty, NULL);
    for (unsigned k = 0; k < AXES; k++) {
        s->block[k] = k == Z ? index : op2(s, TR_OP_REM, index, s->caps[k]);
        index = k == Z ? index : op2(s, TR_OP_QUOT, index, s->caps[k]);
    }
    s->threads = op2(s, TR_OP_MUL, op2(s, TR_OP_MUL, s->caps[3], s->caps[4]), s->caps[5]);
    put_all(s, known_values(s, n - 6));
    tr_emit_v(&s->b, TR_OP_YIELD, NULL, 0, NULL);
}

/* In place of the call. */
static void put_pattern(grid *s) {
    tr_fn *f = s->f;
    tr_ins call = *tr_at(f, s->call);
    tr_bld b = {.fn = f, .blk = call.blk, .before = s->call, .loc = call.loc};
    tr_val n = tr_emit2(&b, TR_OP_MUL, s->i64, call.args[0], call.args[1]);
    n = tr_emit2(&b, TR_OP_MUL, s->i64, n, call.args[2]);
    tr_val *args = TR_NEW_N(arena(s), tr_val, call.nargs + 1u);
    args[0] = n;
    memcpy(args + 1, call.args, call.nargs * sizeof *args);
    tr_pat *p = TR_NEW(arena(s), tr_pat);
    *p = (tr_pat){.nspace = 1, .ncap = (uint16_t)call.nargs, .par = TR_PAR_PRANGE, .lam = s->lam};
    tr_val v = tr_emit_v(&b, TR_OP_PATTERN, tr_ty_none(s->p->ctx->types), call.nargs + 1, args);
    tr_at(f, v)->imm.pat = p;
    tr_ins_remove(f, s->call);
}

static bool run_here(tr_prog *p, tr_fn *f, tr_val call) {
    grid s = {.p = p, .f = f, .call = call};
    s.i64 = tr_ty_scalar(p->ctx->types, TR_TY_I64);
    s.i1 = tr_ty_scalar(p->ctx->types, TR_TY_BOOL);
    if (!take_body(&s))
        return false;
    if (has_barrier(s.g)) {
        if (tr_fn_handles(s.g))
            return fail(&s, "a barrier cannot stand in a kernel that has a `try`");
        cut_blocks(&s);
        if (!cut_values(&s))
            return false;
    }
    make_block(&s);
    put_pattern(&s);
    return true;
}

bool tr_opt_grid(tr_prog *p, tr_fn *f) {
    bool changed = false;
    if (f->is_lambda || f->kind != TR_FN_HOST)
        return false;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first, next; v != TR_NOVAL;
             v = next) {
            next = tr_at(f, v)->next;
            if (tr_at(f, v)->op != TR_OP_CALL || p->insts.d[tr_at(f, v)->imm.fn].fn->kind != TR_FN_KERNEL)
                continue;
            if (!run_here(p, f, v))
                return changed;
            changed = true;
        }
    return changed;
}
