/* What threads take from one piece of a kernel's body into another: liveness across barriers, and arrays over
 * the threads for it (scalar expansion, structure of arrays).
 *
 * A value is stored right after it is made, and loaded where another piece uses it. What places,
 * sizes, arguments and the block's own values make is computed again. What comes into the head
 * of a piece by a param is stored on the way there, after all that is loaded for that way. Cost:
 * the blocks times the values, in bits. */
#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "opt/grid/grid.h"
#include "opt/emit.h"
#include "opt/priv.h"

typedef struct cross {
    tr_grid *s;
    const tr_pieces *p;
    tr_bits *live; /* per block: values alive where it begins */
    uint8_t *is_free, *crosses;
    tr_val *home;   /* per value: the array over threads that it lies in, a param of g */
    tr_val *leader; /* per value: whose home it shares, itself or another one that crosses */
    tr_val *loaded; /* per param of a head: what was loaded of it there */
    tr_val **made;  /* per free value: its operands as they were */
    tr_bid blk;     /* of the use that is looked at */
    uint32_t nvals;
    bool changed;
} cross;

/* A number that takes longer to compute than to load. */
static bool is_dearer_than_load(const tr_fn *g, tr_val v) {
    const tr_ins *in = tr_at(g, v);
    bool by_number = in->nargs == 2 && tr_is_const(tr_at(g, in->args[1]));
    return in->ty && tr_ty_is_scalar(in->ty) && tr_ins_cost(g, v) > TR_COST_CHEAP && !by_number;
}

/* What is the same whenever it is computed, from what is there in every piece, or what the block has once. */
uint8_t *tr_grid_free(const tr_grid *s, const uint8_t *once) {
    const tr_fn *g = s->g;
    uint8_t *is_free = TR_NEW_N(tr_grid_arena(s), uint8_t, g->ins.n + 1u);
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        tr_bid b = g->rpo.d[k];
        for (uint32_t p = 0; b == 0 && p < tr_blk_at(g, 0)->params.n; p++)
            is_free[tr_blk_at(g, 0)->params.d[p]] = 1;
        for (tr_val v = tr_blk_at(g, b)->first; v != TR_NOVAL; v = tr_at(g, v)->next) {
            const tr_ins *in = tr_at(g, v);
            bool yes = tr_grid_is_storage(in) || (tr_opt_is_pure(in) && !is_dearer_than_load(g, v));
            for (uint32_t a = 0; yes && a < in->nargs; a++)
                yes = tr_is_const(tr_at(g, in->args[a])) || is_free[in->args[a]] || once[in->args[a]];
            is_free[v] = yes && !tr_ins_ends(in);
        }
    }
    return is_free;
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

/* --- liveness --- */

typedef struct liveness {
    const tr_fn *g;
    tr_bits *live;
    tr_bid blk;
    bool changed;
} liveness;

static void note_use(void *self, tr_val user, tr_val *operand) {
    liveness *c = self;
    const tr_ins *d = tr_at(c->g, *operand);
    (void)user;
    if (tr_is_const(d) || d->blk == c->blk)
        return;
    if (!tr_bits_get(&c->live[c->blk], *operand)) {
        tr_bits_set(&c->live[c->blk], *operand);
        c->changed = true;
    }
}

/* Backwards until nothing changes. */
tr_bits *tr_grid_live(const tr_grid *s) {
    tr_fn *g = s->g;
    uint32_t n = g->ins.n;
    liveness c = {.g = g, .live = TR_NEW_N(tr_grid_arena(s), tr_bits, g->blks.n + 1u)};
    for (tr_bid b = 0; b < g->blks.n; b++)
        c.live[b] = tr_bits_new(tr_grid_arena(s), n);
    do {
        c.changed = false;
        for (uint32_t k = g->rpo.n; k-- > 0;) {
            c.blk = g->rpo.d[k];
            for (tr_val v = tr_blk_at(g, c.blk)->first; v != TR_NOVAL; v = tr_at(g, v)->next)
                each_use(g, v, note_use, &c);
            const tr_ins *t = tr_term(g, c.blk);
            for (uint32_t e = 0; e < tr_nsucc(t); e++)
                for (tr_val v = 0; v < n; v++)
                    if (tr_bits_get(&c.live[t->imm.succ[e].to], v) && tr_at(g, v)->blk != c.blk &&
                        !tr_bits_get(&c.live[c.blk], v)) {
                        tr_bits_set(&c.live[c.blk], v);
                        c.changed = true;
                    }
        }
    } while (c.changed);
    return c.live;
}

/* --- which share a home (copy coalescing) --- */

typedef struct uses {
    tr_val v;
    bool found;
} uses;

static void find_use(void *self, tr_val user, tr_val *operand) {
    uses *u = self;
    (void)user;
    u->found = u->found || *operand == u->v;
}

/* Is u alive where v gets its value? */
static bool is_alive_at_value(const cross *c, tr_val u, tr_val v) {
    tr_fn *g = c->s->g;
    const tr_ins *in = tr_at(g, v);
    uses is = {.v = u};
    if (in->op == TR_OP_PARAM)
        return tr_bits_get(&c->live[in->blk], u) ||
               (tr_at(g, u)->op == TR_OP_PARAM && tr_at(g, u)->blk == in->blk);
    for (tr_val x = in->next; x != TR_NOVAL && !is.found; x = tr_at(g, x)->next)
        each_use(g, x, find_use, &is);
    const tr_ins *t = tr_term(g, in->blk);
    for (uint32_t e = 0; e < tr_nsucc(t) && !is.found; e++)
        is.found = tr_bits_get(&c->live[t->imm.succ[e].to], u);
    return is.found;
}

static tr_val leader_of(const cross *c, tr_val v) {
    while (c->leader[v] != v)
        v = c->leader[v];
    return v;
}

static bool value_has_home(const cross *c, tr_val v) {
    return v < c->nvals && c->crosses[v] && !c->is_free[v];
}

/* One home for both, and for those that share theirs already, if never two of them are alive at once. */
static void share(cross *c, tr_val v, tr_val w) {
    const tr_fn *g = c->s->g;
    if (!value_has_home(c, v) || !value_has_home(c, w) || tr_at(g, v)->ty != tr_at(g, w)->ty)
        return;
    v = leader_of(c, v);
    w = leader_of(c, w);
    for (tr_val x = 0; x < c->nvals && v != w; x++)
        for (tr_val y = 0; value_has_home(c, x) && leader_of(c, x) == v && y < c->nvals; y++)
            if (value_has_home(c, y) && leader_of(c, y) == w &&
                (is_alive_at_value(c, x, y) || is_alive_at_value(c, y, x)))
                return;
    c->leader[w] = v;
}

/* What a head's param and what comes to it have in common: no copy on the way. */
static void share_homes(cross *c) {
    tr_fn *g = c->s->g;
    for (tr_val v = 0; v < c->nvals; v++)
        c->leader[v] = v;
    for (tr_bid h = 1; h < g->blks.n; h++)
        for (tr_way w = {0}; !tr_blk_at(g, h)->dead && c->p->head[h] && tr_next_way(g, h, &w);)
            for (uint32_t p = 0; p < w.edge->n; p++)
                share(c, tr_blk_at(g, h)->params.d[p], w.edge->args[p]);
}

/* --- homes --- */

static tr_val load_home(cross *c, tr_val v, tr_val before) {
    tr_fn *g = c->s->g;
    tr_bld b = tr_bld_before(g, before);
    tr_val me = tr_grid_my_number(c->s, &b);
    return tr_emit2(&b, TR_OP_LOAD, tr_at(g, v)->ty, c->home[v], me);
}

static void store_home(cross *c, tr_val home, tr_val v, tr_bid blk, tr_val before) {
    tr_fn *g = c->s->g;
    tr_bld b = {.fn = g, .blk = blk, .before = before, .loc = tr_at(g, before)->loc};
    tr_val me = tr_grid_my_number(c->s, &b);
    tr_emit3(&b, TR_OP_STORE, NULL, home, me, v);
}

/* v once more, before `at`: what it is made of, too. */
static tr_val again(cross *c, tr_val v, tr_val at) {
    tr_fn *g = c->s->g;
    if (tr_is_const(tr_at(g, v)) || tr_at(g, v)->op == TR_OP_PARAM || tr_grid_is_storage(tr_at(g, v)) ||
        c->p->once[v])
        return v;
    tr_ins in = *tr_at(g, v);
    tr_val *args = TR_NEW_N(tr_grid_arena(c->s), tr_val, in.nargs + 1u);
    for (uint32_t k = 0; k < in.nargs; k++)
        args[k] = again(c, c->made[v][k], at);
    tr_bld b = {.fn = g, .blk = tr_at(g, at)->blk, .before = at, .loc = in.loc};
    tr_val n = tr_emit_v(&b, (tr_op)in.op, in.ty, in.nargs, args);
    tr_at(g, n)->imm = in.imm;
    tr_at(g, n)->sub = in.sub;
    tr_at(g, n)->flags = in.flags;
    return n;
}

static bool is_head_param(const cross *c, tr_val v) {
    const tr_ins *in = tr_at(c->s->g, v);
    return in->op == TR_OP_PARAM && in->blk != 0 && in->blk != TR_NOBLK && c->p->head[in->blk];
}

/* A use in another piece than the value's own takes it from where every piece finds it. */
static void mend_use(void *self, tr_val user, tr_val *operand) {
    cross *c = self;
    tr_fn *g = c->s->g;
    tr_val v = *operand, n;
    if (v >= c->nvals || !c->crosses[v])
        return;
    bool here = c->p->piece[tr_at(g, v)->blk] == c->p->piece[c->blk];
    if (here && !is_head_param(c, v))
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
    n = here ? c->loaded[v] : c->is_free[v] ? again(c, v, user) : load_home(c, v, user);
    if (edge == UINT32_MAX)
        tr_at(g, user)->args[arg] = n;
    else
        tr_at(g, user)->imm.succ[edge].args[arg] = n;
}

/* Stored as soon as it is there. */
static void keep(cross *c, tr_val v) {
    const tr_ins *in = tr_at(c->s->g, v);
    tr_val before = in->op == TR_OP_PARAM ? tr_blk_at(c->s->g, in->blk)->first : in->next;
    store_home(c, c->home[v], v, in->blk, before);
}

/* What comes to the head of a piece: stored on the ways there, but for what lies there. */
static void keep_on_ways(cross *c, tr_bid head, const tr_val *came) {
    tr_fn *g = c->s->g;
    for (tr_way w = {0}; tr_next_way(g, head, &w);) {
        assert(tr_nsucc(tr_term(g, w.from)) == 1 || !w.edge->n);
        for (uint32_t p = 0; p < w.edge->n; p++, came++) {
            tr_val v = tr_blk_at(g, head)->params.d[p];
            bool there = value_has_home(c, *came) && c->home[*came] == c->home[v];
            if (c->crosses[v] && !there)
                store_home(c, c->home[v], tr_term(g, w.from)->imm.succ[0].args[p], w.from,
                           tr_blk_at(g, w.from)->last);
        }
    }
}

/* What comes to each head, way by way, before uses are mended. */
static tr_val *what_comes(const cross *c, tr_bid head) {
    TR_VEC(tr_val) out = {0};
    for (tr_way w = {0}; tr_next_way(c->s->g, head, &w);)
        for (uint32_t p = 0; p < w.edge->n; p++)
            tr_vec_push(tr_grid_arena(c->s), &out, w.edge->args[p]);
    return out.d;
}

static bool refuse_own_array(const cross *c, tr_val v) {
    const tr_fn *g = c->s->g;
    const char *name = v < g->names.n ? g->names.d[v] : NULL;
    const char *what = name ? tr_arena_printf(tr_grid_arena(c->s), "'%s', an array", name) : "an array";
    return tr_grid_fail(
        c->s, v,
        tr_arena_printf(tr_grid_arena(c->s),
                        "%s that each thread makes or chooses for itself is used after a barrier; "
                        "compute it again there",
                        what));
}

static bool find_crossing(cross *c) {
    const tr_fn *g = c->s->g;
    for (tr_bid h = 0; h < g->blks.n; h++)
        for (tr_val v = 0; c->p->head[h] && v < c->nvals; v++) {
            const tr_ins *in = tr_at(g, v);
            bool comes = is_head_param(c, v) && in->blk == h;
            if ((!comes && !tr_bits_get(&c->live[h], v)) || c->crosses[v] || c->p->once[v] ||
                tr_grid_is_storage(in) || (in->op == TR_OP_PARAM && in->blk == 0))
                continue;
            c->crosses[v] = 1;
            if (!c->is_free[v] && !tr_ty_is_scalar(in->ty))
                return refuse_own_array(c, v);
        }
    return true;
}

bool tr_grid_cross(tr_grid *s, const tr_pieces *p) {
    tr_fn *g = s->g;
    tr_cfg_compute(g);
    cross c = {.s = s, .p = p, .nvals = g->ins.n};
    c.crosses = TR_NEW_N(tr_grid_arena(s), uint8_t, c.nvals + 1u);
    c.home = TR_NEW_N(tr_grid_arena(s), tr_val, c.nvals + 1u);
    c.leader = TR_NEW_N(tr_grid_arena(s), tr_val, c.nvals + 1u);
    c.loaded = TR_NEW_N(tr_grid_arena(s), tr_val, c.nvals + 1u);
    c.made = TR_NEW_N(tr_grid_arena(s), tr_val *, c.nvals + 1u);
    c.is_free = tr_grid_free(s, p->once);
    for (tr_val v = 0; v < c.nvals; v++)
        if (c.is_free[v] && tr_at(g, v)->nargs)
            c.made[v] =
                tr_arena_copy(tr_grid_arena(s), tr_at(g, v)->args, tr_at(g, v)->nargs * sizeof(tr_val));
    c.live = tr_grid_live(s);
    if (!find_crossing(&c))
        return false;
    share_homes(&c);
    for (tr_val v = 0; v < c.nvals; v++)
        if (value_has_home(&c, v) && leader_of(&c, v) == v) {
            const tr_ty *t = tr_ty_array(s->p->ctx->types, tr_at(g, v)->ty, 1, TR_LAYOUT_C, false);
            c.home[v] = tr_blk_param(g, 0, t, NULL);
        }
    for (tr_val v = 0; v < c.nvals; v++)
        if (value_has_home(&c, v))
            c.home[v] = c.home[leader_of(&c, v)];
    tr_val **came = TR_NEW_N(tr_grid_arena(s), tr_val *, g->blks.n + 1u);
    for (uint32_t k = 0; k < g->rpo.n; k++)
        if (g->rpo.d[k] != 0 && p->head[g->rpo.d[k]])
            came[g->rpo.d[k]] = what_comes(&c, g->rpo.d[k]);
    for (tr_val v = 0; v < c.nvals; v++)
        if (c.crosses[v] && is_head_param(&c, v))
            c.loaded[v] = load_home(&c, v, tr_blk_at(g, tr_at(g, v)->blk)->first);
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        c.blk = g->rpo.d[k];
        for (tr_val v = tr_blk_at(g, c.blk)->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(g, v)->next;
            each_use(g, v, mend_use, &c);
        }
    }
    for (tr_val v = 0; v < c.nvals; v++)
        if (c.crosses[v] && !c.is_free[v] && !is_head_param(&c, v))
            keep(&c, v);
    for (uint32_t k = 0; k < g->rpo.n; k++)
        if (g->rpo.d[k] != 0 && p->head[g->rpo.d[k]])
            keep_on_ways(&c, g->rpo.d[k], came[g->rpo.d[k]]);
    return true;
}
