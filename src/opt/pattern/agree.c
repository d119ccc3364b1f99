/* One test for sizes that must agree, and for arrays that must not overlap (versioning of a block, not a
 * loop): array expressions run with sizes that are equal, though they might be 1 and repeat, and store at
 * once what would else go through an array of its own.
 *
 * A stretch of a block, from its first array to its last pattern, that asks for common sizes (broadcast,
 * broadcastto) gets a copy. Before both stands one test: are all these sizes equal? If so the first runs, in
 * which equal sizes are one value, no array repeats and nothing about sizes can raise; so its patterns have
 * one space and fuse.c merges them, and inner loops walk memory in step. The copy is as the code was, and
 * cold, the more so the less it is to be expected that a size is 1.
 * Where a pattern stores what others computed to an array that was there before, `out[:] = a * 2 + b`, the
 * test asks too whether that one lies apart from what they read, so that fuse.c may merge them. It asks of
 * each such pattern what is to be known of that one, and nothing that cannot be true: views of one array a
 * few items apart are no question. A stretch ends behind one if another follows that uses nothing made so
 * far, so that arrays that one statement was given twice are nothing to the next.
 * A size takes part if it is known before the stretch, or comes from such sizes without an effect; also from
 * sizes that are found equal here: then what it is if they are is computed before the stretch once more, for
 * the test and for the first version (differences of differences, `d[1:] - d[:-1]`, whose sizes follow from
 * what was broadcast before).
 * Sizes that a check has found equal, those of `a[mask]`, are one value behind it without a
 * version (equality propagation).
 * Cost: linear; code grows by MAX_GROWTH instructions at most. */
#include <assert.h>

#include "ir/alias.h"
#include "opt/priv.h"
#include "opt/emit.h"
#include "opt/versions.h"

enum {
    MAX_GROWTH = 40000,
    MAX_TESTS = 24,
    MAX_DEPTH = 24,
    RISE = 8,
    MAX_APART = 24,
    NEAR = 16,
    EARLY = 4,
    MANY_VIEWS = 3
};

typedef struct pair {
    tr_val x, y;
    bool strict; /* they share nothing at all */
} pair;

typedef struct agreer {
    tr_fn *f;
    tr_versions forms;
    uint32_t *order; /* per instruction of the block at hand: its position, from 1; else 0 */
    tr_val *rep;     /* per value: another one that it equals in the stretch; TR_NOVAL = itself */
    tr_u32s set;     /* values with an entry in rep */
    tr_map early;    /* value of the stretch -> what it is if all tests hold, computed before the stretch */
    TR_VEC(pair) tests, apart;
    tr_map sizes;   /* array << 8 | axis -> its size in both versions of a stretch */
    uint32_t nvals; /* with an entry in order and rep; what is made later may have none */
    uint32_t growth;
    bool loops; /* over a prange */
} agreer;

typedef struct stretch {
    tr_bid blk;
    tr_val first, last;
    uint32_t size;
    /* Some pattern in it stores what was made for it to an array that may be what that was made of. */
    bool stores;
} stretch;

/* --- the stretch --- */

static bool asks_for_broadcast(const tr_ins *in) {
    return in->op == TR_OP_BCAST || in->op == TR_OP_BCASTTO;
}

static uint32_t weight(const tr_ins *in) {
    const tr_fn *g;
    uint32_t n = 1;
    for (unsigned k = 0; in->op == TR_OP_PATTERN && (g = tr_pat_any(in->imm.pat, k)); k++)
        n += g->ins.n;
    return n;
}

/* --- patterns that store what others have made --- */

static bool array_is_new(const tr_fn *f, tr_val a) {
    const tr_ins *in = tr_at(f, tr_array_root(f, a));
    return in->op == TR_OP_ALLOC || in->op == TR_OP_CONSTARR;
}

/* To an array that was there before, from one that is made in the block; or at computed places of it. */
static bool stores_made(const tr_fn *f, const tr_ins *c) {
    const tr_pat *t = c->op == TR_OP_PATTERN ? c->imm.pat : NULL;
    bool made = t && t->nscat, old = false;
    for (uint32_t k = 0; t && k < t->nin; k++) {
        const tr_ins *in = tr_at(f, c->args[tr_pat_at(t, P_IN) + k]);
        made = made || (tr_array_is_fresh(f, c->args[tr_pat_at(t, P_IN) + k]) && in->blk == c->blk);
    }
    for (uint32_t k = 0; t && k < t->nout; k++)
        old = old || !array_is_new(f, c->args[tr_pat_at(t, P_OUT) + k]);
    for (uint32_t k = 0; t && k < t->nscat; k++)
        old = old || !array_is_new(f, c->args[tr_pat_at(t, P_SCAT) + k]);
    return made && old;
}

static void ask_apart(agreer *s, tr_val x, tr_val y, bool strict) {
    pair p = {x, y, strict};
    if (array_is_new(s->f, x) || array_is_new(s->f, y))
        return;
    for (uint32_t i = 0; i < s->apart.n; i++)
        if (s->apart.d[i].x == x && s->apart.d[i].y == y && s->apart.d[i].strict == strict)
            return;
    if (x != y)
        tr_vec_push(&s->f->ctx->arena, &s->apart, p);
}

/* --- what a pattern that stores is made of --- */

/* Arrays that were made in the block of a pattern, for it or for what made them; and the
 * patterns that did. */
typedef struct chain {
    tr_u32s arrays, makers;
} chain;

static void want(const agreer *s, chain *c, tr_bid b, tr_val a) {
    tr_val root = tr_array_root(s->f, a);
    if (tr_at(s->f, root)->blk == b && tr_array_is_fresh(s->f, root) &&
        !tr_opt_among(root, c->arrays.d, c->arrays.n))
        tr_vec_push(&s->f->ctx->arena, &c->arrays, root);
}

static bool makes_wanted(const agreer *s, const chain *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    for (uint32_t k = 0; (k = tr_pat_with(t, TR_MEM_WRITE, k)) < p->nargs; k++)
        if (tr_opt_among(tr_array_root(s->f, p->args[k]), c->arrays.d, c->arrays.n))
            return true;
    return false;
}

static void want_inputs(const agreer *s, chain *c, const tr_ins *p) {
    for (uint32_t k = 0; k < p->nargs; k++)
        if (tr_at(s->f, p->args[k])->ty->kind == TR_TY_ARRAY)
            want(s, c, p->blk, p->args[k]);
}

/* Of the pattern v, from it back to where the first of these arrays is made. */
static chain chain_of(const agreer *s, tr_val v) {
    chain c = {{0}, {0}};
    want_inputs(s, &c, tr_at(s->f, v));
    uint32_t met = 0;
    for (tr_val q = tr_at(s->f, v)->prev; q != TR_NOVAL && met < c.arrays.n; q = tr_at(s->f, q)->prev) {
        met += tr_opt_among(q, c.arrays.d, c.arrays.n);
        if (tr_at(s->f, q)->op == TR_OP_PATTERN && makes_wanted(s, &c, tr_at(s->f, q))) {
            tr_vec_push(&s->f->ctx->arena, &c.makers, q);
            want_inputs(s, &c, tr_at(s->f, q));
        }
    }
    return c;
}

/* --- what has to lie apart --- */

/* Where a slice begins: a number, also where the axis may be shorter. */
static bool slice_begins_at(const tr_fn *f, tr_val v, int64_t *k) {
    const tr_ins *in = tr_at(f, v);
    return tr_get_int(f, in->op == TR_OP_MIN ? in->args[1] : v, k);
}

/* Of the view's axis that runs along the base's axis k; 0: none does. */
static int64_t step_along(const tr_fn *f, const tr_ins *view, unsigned k) {
    int64_t by = 0;
    for (uint32_t j = 0; j < view->ty->ndim; j++)
        if (tr_view_axis(view, j) == (int)k && !tr_get_int(f, tr_view_steps(view)[j], &by))
            return 0;
    return by;
}

/* The view that tells where v begins and goes: v itself, unless it is the beginning of one,
 * as a resized one is. */
static const tr_ins *where_of(const tr_fn *f, tr_val v) {
    for (;;) {
        const tr_ins *in = tr_at(f, v);
        if (in->op != TR_OP_VIEW || tr_at(f, in->args[0])->op != TR_OP_VIEW ||
            tr_view_nbase(in) != in->ty->ndim)
            return in;
        for (uint32_t k = 0; k < in->ty->ndim; k++) {
            int64_t start, step;
            if (tr_view_axis(in, k) != (int)k || !tr_get_int(f, tr_view_starts(in)[k], &start) ||
                start != 0 || !tr_get_int(f, tr_view_steps(in)[k], &step) || step != 1)
                return in;
        }
        v = in->args[0];
    }
}

/* Views of one array, of one size, a few items from each other: they share some, unless
 * they have hardly any. */
static bool views_surely_meet(const tr_fn *f, tr_val x, tr_val y) {
    const tr_ins *v = where_of(f, x), *w = where_of(f, y);
    const tr_val *size = tr_made_sizes(tr_at(f, x)), *other_size = tr_made_sizes(tr_at(f, y));
    if (x == y || v->op != TR_OP_VIEW || w->op != TR_OP_VIEW || v->args[0] != w->args[0] ||
        v->nargs != w->nargs || v->imm.i != w->imm.i || !size || !other_size)
        return false;
    for (uint32_t k = 0; k < v->ty->ndim; k++) {
        int64_t by, same;
        if (!tr_get_int(f, tr_view_steps(v)[k], &by) || !tr_get_int(f, tr_view_steps(w)[k], &same) ||
            by != same || (size[k] != other_size[k] && tr_made_sizes(v)[k] != tr_made_sizes(w)[k]))
            return false;
    }
    bool moved = false;
    for (uint32_t k = 0; k < tr_view_nbase(v); k++) {
        tr_val start = tr_view_starts(v)[k], other = tr_view_starts(w)[k];
        int64_t from, to, by = step_along(f, v, k);
        if (start == other)
            continue;
        if (!slice_begins_at(f, start, &from) || !slice_begins_at(f, other, &to) || to - from > NEAR ||
            from - to > NEAR)
            return false;
        moved = moved || from != to;
        if (from != to && (by == 0 || (to - from) % by))
            return false;
    }
    return moved; /* else they are the same, element for element */
}

/* What the pattern c scatters to must share nothing with what the others read. */
static void find_strict(agreer *s, tr_val c, const chain *of, tr_val target) {
    const tr_fn *f = s->f;
    for (tr_val v = tr_at(f, c)->prev; v != TR_NOVAL; v = tr_at(f, v)->prev) {
        const tr_ins *p = tr_at(f, v);
        bool makes = p->op == TR_OP_PATTERN && tr_opt_among(v, of->makers.d, of->makers.n) &&
                     tr_pats_share_space(p, tr_at(f, c));
        for (uint32_t i = 0; makes && i < p->imm.pat->nin; i++)
            ask_apart(s, target, p->args[tr_pat_at(p->imm.pat, P_IN) + i], true);
        if (p->op == TR_OP_OVERLAP && p->args[0] == target)
            ask_apart(s, target, p->args[1], true);
    }
}

/* Of an array that is read by several views, one question is asked: does the target share nothing with all of
 * it? That holds for each view that is made of it, then and later. */
static void ask_of_whole(agreer *s, uint32_t before) {
    const tr_fn *f = s->f;
    for (uint32_t i = before; i < s->apart.n; i++) {
        const pair first = s->apart.d[i];
        tr_val root = tr_array_root(f, first.y);
        uint32_t views = 0, n = i;
        for (uint32_t j = i; j < s->apart.n; j++)
            views += s->apart.d[j].x == first.x && tr_array_root(f, s->apart.d[j].y) == root;
        if (views < MANY_VIEWS || tr_array_root(f, first.x) == root)
            continue;
        for (uint32_t j = i; j < s->apart.n; j++)
            if (s->apart.d[j].x != first.x || tr_array_root(f, s->apart.d[j].y) != root)
                s->apart.d[n++] = s->apart.d[j];
        s->apart.n = n;
        ask_apart(s, first.x, root, true);
        i--;
    }
}

/* What c stores to, and what was read to make what it stores: adds to s->apart. Nothing where some of it is
 * the same memory, which no test finds apart. */
static void find_apart(agreer *s, tr_val c) {
    const tr_fn *f = s->f;
    const tr_pat *t = tr_at(f, c)->imm.pat;
    uint32_t before = s->apart.n;
    chain of = chain_of(s, c);
    for (uint32_t k = 0; k < t->nscat; k++)
        find_strict(s, c, &of, tr_arg(f, c, tr_pat_at(t, P_SCAT) + k));
    for (uint32_t m = 0; m < of.makers.n; m++) {
        const tr_ins *p = tr_at(f, of.makers.d[m]);
        for (uint32_t k = 0; k < t->nout; k++)
            for (uint32_t i = 0; i < p->imm.pat->nin; i++)
                ask_apart(s, tr_arg(f, c, tr_pat_at(t, P_OUT) + k), p->args[tr_pat_at(p->imm.pat, P_IN) + i],
                          false);
    }
    ask_of_whole(s, before);
    if (s->apart.n - before > MAX_APART)
        s->apart.n = before;
    for (uint32_t i = before; i < s->apart.n; i++)
        if (views_surely_meet(f, s->apart.d[i].x, s->apart.d[i].y))
            s->apart.n = before;
}

/* Does a pattern store what was made for it, so that a test has something to ask? Not in
 * functions with loops over a prange: what one of those adds up in an array is found by its
 * shape, which goes when it is merged. */
static bool has_to_ask(agreer *s, tr_val c) {
    s->apart.n = 0;
    if (s->loops || !stores_made(s->f, tr_at(s->f, c)))
        return false;
    find_apart(s, c);
    return s->apart.n > 0;
}

/* Does one after v, and is nothing that was made up to v used there? */
static bool stretch_begins_anew(agreer *s, tr_val v) {
    const tr_fn *f = s->f;
    bool any = false;
    for (tr_val q = tr_at(f, v)->next; q != TR_NOVAL; q = tr_at(f, q)->next) {
        const tr_ins *in = tr_at(f, q);
        for (uint32_t k = 0; k < in->nargs; k++) {
            tr_val a = in->args[k];
            if (tr_at(f, a)->ty && tr_at(f, a)->ty->kind == TR_TY_ARRAY) {
                tr_val root = tr_array_root(f, a);
                if (tr_at(f, root)->blk == in->blk && tr_array_is_fresh(f, root) && s->order[root] &&
                    s->order[root] <= s->order[v])
                    return false;
            }
        }
        any = any || has_to_ask(s, q); /* asked until there is one */
    }
    return any;
}

static bool find_stretch(agreer *s, tr_bid b, stretch *out) {
    tr_fn *f = s->f;
    *out = (stretch){b, TR_NOVAL, TR_NOVAL, 0, false};
    bool any = false, ends = false;
    uint32_t at = 0, size = 0;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL && !ends; v = tr_at(f, v)->next) {
        const tr_ins *in = tr_at(f, v);
        s->order[v] = ++at;
        any = any || asks_for_broadcast(in);
        bool inside = in->op == TR_OP_PATTERN || asks_for_broadcast(in);
        if (inside || in->op == TR_OP_ALLOC) /* with the arrays that its patterns fill */
            out->first = out->first == TR_NOVAL ? v : out->first;
        if (inside)
            out->last = v;
        size += out->first == TR_NOVAL ? 0 : weight(in);
        out->size = out->last == v ? size : out->size;
        bool stores = has_to_ask(s, v);
        out->stores = out->stores || stores;
        ends = stores && stretch_begins_anew(s, v);
    }
    return (any || out->stores) && s->growth + out->size <= MAX_GROWTH;
}

/* --- which sizes are equal in it --- */

static tr_val rep_of(const agreer *s, tr_val v) {
    while (v < s->nvals && s->rep[v] != TR_NOVAL)
        v = s->rep[v];
    return v;
}

static void unite(agreer *s, tr_val from, tr_val to) {
    assert(from != to && s->rep[from] == TR_NOVAL);
    s->rep[from] = to;
    tr_vec_push(&s->f->ctx->arena, &s->set, from);
}

/* v if the tests so far hold, as a value that is known before the stretch: v itself where it is, or moves
 * there; where it comes from sizes that are found equal, what is computed there of those. TR_NOVAL: it cannot
 * be known. */
static tr_val known_before_stretch(agreer *s, tr_val v, const stretch *t, unsigned depth) {
    assert(s->order[t->first] > 0);
    v = rep_of(s, v);
    const tr_ins in = *tr_at(s->f, v);
    uint64_t early;
    if (in.blk != t->blk || in.op == TR_OP_PARAM || v >= s->nvals || s->order[v] < s->order[t->first])
        return v;
    if (tr_map_get(&s->early, v, &early))
        return (tr_val)early;
    if (depth > MAX_DEPTH || s->f->ins.n + MAX_DEPTH > s->nvals || !tr_opt_is_pure(&in) ||
        in.op == TR_OP_OVERLAP)
        return TR_NOVAL;
    tr_val *args = TR_NEW_N(&s->f->ctx->arena, tr_val, in.nargs + 1u);
    bool same = true;
    for (uint32_t k = 0; k < in.nargs; k++) {
        if ((args[k] = known_before_stretch(s, in.args[k], t, depth + 1)) == TR_NOVAL)
            return TR_NOVAL;
        same = same && args[k] == in.args[k];
    }
    tr_val w = v;
    if (same) {
        tr_ins_move_before(s->f, v, t->first);    /* behind its operands */
        tr_at(s->f, v)->flags &= (uint8_t)~F_NSW; /* promised where it stood */
        s->order[v] = 0;
    } else {
        tr_bld b = tr_bld_before(s->f, t->first);
        w = tr_emit_v(&b, (tr_op)in.op, in.ty, in.nargs,
                      args); /* without what was promised where it stands */
        tr_at(s->f, w)->imm = in.imm;
        tr_at(s->f, w)->sub = in.sub;
        unite(s, v, w);
    }
    tr_map_set(&s->f->ctx->arena, &s->early, v, w);
    return w;
}

static void assume(agreer *s, tr_val v, const stretch *t) {
    assert(asks_for_broadcast(tr_at(s->f, v)));
    const tr_ins *in = tr_at(s->f, v);
    tr_val x = rep_of(s, in->args[0]), y = rep_of(s, in->args[1]);
    if (x != y) {
        tr_val early_x = TR_NOVAL, early_y = TR_NOVAL;
        if (s->tests.n < MAX_TESTS)
            early_x = known_before_stretch(s, x, t, 0);
        if (early_x != TR_NOVAL)
            early_y = known_before_stretch(s, y, t, 0);
        if (early_y == TR_NOVAL)
            return;
        x = early_x, y = early_y;
    }
    if (x != y) {
        pair p = {x, y, false};
        tr_vec_push(&s->f->ctx->arena, &s->tests, p);
        if (tr_is_const(tr_at(s->f, x)))
            unite(s, y, x);
        else
            unite(s, x, y);
    }
    unite(s, v, y == rep_of(s, y) ? y : rep_of(s, y));
}

/* --- the arrays: their sizes as the others have them --- */

static uint64_t size_key(tr_val a, unsigned axis) {
    return (uint64_t)a << 8 | axis;
}

/* One that was made in an earlier stretch has other operands there than in its copy. */
static tr_val size_value(const agreer *s, const tr_map *dims, tr_val a, unsigned axis, tr_bid here) {
    const tr_val *made = tr_made_sizes(tr_at(s->f, a));
    uint64_t v;
    if (made && tr_at(s->f, a)->blk != here && tr_map_get(&s->sizes, size_key(a, axis), &v))
        return (tr_val)v;
    if (made)
        return made[axis];
    return tr_map_get(dims, size_key(a, axis), &v) ? (tr_val)v : TR_NOVAL;
}

/* Sizes of arrays that are another value here. */
static void find_dims(const agreer *s, tr_map *dims) {
    tr_fn *f = s->f;
    *dims = (tr_map){0};
    for (uint32_t i = 0; i < s->set.n; i++) {
        const tr_ins *d = tr_at(f, s->set.d[i]);
        if (d->op == TR_OP_DIM)
            tr_map_set(&f->ctx->arena, dims, size_key(d->args[0], (unsigned)d->imm.i), s->set.d[i]);
    }
}

/* The array a with the sizes that the stretch knows for it; a itself where they are its own. */
static tr_val resized(agreer *s, const tr_map *dims, tr_val a, tr_val before) {
    tr_fn *f = s->f;
    const tr_ty *ty = tr_at(f, a)->ty;
    tr_val sizes[TR_MAX_NDIM];
    bool differs = false;
    for (unsigned k = 0; k < ty->ndim; k++) {
        sizes[k] = size_value(s, dims, a, k, tr_at(f, before)->blk);
        differs = differs || (sizes[k] != TR_NOVAL && rep_of(s, sizes[k]) != sizes[k]);
    }
    if (!differs)
        return a;
    tr_bld b = tr_bld_before(f, before);
    for (unsigned k = 0; k < ty->ndim; k++) {
        if (sizes[k] == TR_NOVAL) {
            sizes[k] = tr_emit_dim(&b, a, k);
        }
        sizes[k] = rep_of(s, sizes[k]);
    }
    return tr_emit_resized(&b, ty, a, sizes);
}

/* Inputs of a pattern; `done`: what became of each array. */
static void resize_pattern(agreer *s, tr_val v, const tr_map *dims, tr_map *done) {
    tr_fn *f = s->f;
    const tr_pat *p = tr_at(f, v)->imm.pat;
    for (uint32_t k = 0; k < tr_pat_nargs(p); k++) {
        tr_val a = tr_arg(f, v, k);
        uint64_t known;
        if (tr_role_info[tr_pat_role(p, k)].memory != TR_MEM_READ)
            continue;
        if (!tr_map_get(done, a, &known)) {
            known = resized(s, dims, a, v);
            tr_map_set(&f->ctx->arena, done, a, known);
        }
        tr_at(f, v)->args[k] = (tr_val)known;
    }
}

/* Inputs of the patterns of block b. One view for each array, where it is first used. */
static void resize_inputs(agreer *s, tr_bid b) {
    tr_map dims, done = {0};
    find_dims(s, &dims);
    for (tr_val v = tr_blk_at(s->f, b)->first; v != TR_NOVAL; v = tr_at(s->f, v)->next)
        if (tr_at(s->f, v)->op == TR_OP_PATTERN)
            resize_pattern(s, v, &dims, &done);
}

/* --- the two versions --- */

/* v can stand at the end of blk, before block `from`; `move`: it does then, with what it is made of. What is
 * made of more than RISE steps stays: a step may use the one before twice. */
static bool value_can_rise(agreer *s, tr_val v, tr_bid from, tr_bid blk, bool move, unsigned depth) {
    const tr_ins *in = tr_at(s->f, v);
    if (in->blk != from || in->op == TR_OP_PARAM)
        return true;
    if (depth > RISE || !tr_opt_is_pure(in) ||
        in->op == TR_OP_OVERLAP) /* it is asked about where it stands */
        return false;
    for (uint32_t k = 0; k < in->nargs; k++)
        if (!value_can_rise(s, tr_arg(s->f, v, k), from, blk, move, depth + 1))
            return false;
    if (move) {
        tr_ins_move_end(s->f, v, blk);
        tr_at(s->f, v)->flags &= (uint8_t)~F_NSW; /* promised where it stood */
    }
    return true;
}

/* all and: what is stored to lies apart from what is read. In `fast`, whose arrays are as
 * its patterns take them. */
static tr_val test_apart(agreer *s, tr_bld *b, tr_bid fast, tr_val all) {
    tr_fn *f = s->f;
    s->apart.n = 0;
    for (tr_val v = tr_blk_at(f, fast)->first; v != TR_NOVAL && !s->loops; v = tr_at(f, v)->next)
        if (stores_made(f, tr_at(f, v)))
            find_apart(s, v);
    for (uint32_t i = 0; i < s->apart.n; i++) {
        pair p = s->apart.d[i];
        assert(!views_surely_meet(f, p.x, p.y)); /* else it would be the other version always */
        if (!value_can_rise(s, p.x, fast, b->blk, false, 0) ||
            !value_can_rise(s, p.y, fast, b->blk, false, 0))
            continue;
        value_can_rise(s, p.x, fast, b->blk, true, 0);
        value_can_rise(s, p.y, fast, b->blk, true, 0);
        all = tr_emit_both(b, all, tr_emit_apart(b, p.x, p.y, p.strict));
    }
    return all == TR_NOVAL ? tr_const_int(f, tr_emit_ty(b, TR_TY_BOOL), 1) : all;
}

static tr_val make_test(agreer *s, tr_bld *b) {
    tr_val all = TR_NOVAL;
    for (uint32_t i = 0; i < s->tests.n; i++)
        all = tr_emit_both(b, all, tr_emit_cmp(b, TR_CMP_EQ, s->tests.d[i].x, s->tests.d[i].y));
    return all;
}

/* Is it an extent that is 1 by intention: of an axis that a reduction kept, known at run time only? */
static bool extent_is_kept_axis(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    if (in->op != TR_OP_SELECT)
        return false;
    for (uint32_t i = 1; i < 3; i++)
        if ((tr_is_int(f, in->args[i], 1)) || extent_is_kept_axis(f, in->args[i]))
            return true;
    return false;
}

/* An extent of an array that somebody passed in or that was read from elsewhere: columns (n, 1) are given
 * like that. */
static bool extent_is_given(const tr_fn *f, tr_val v, unsigned ndim) {
    const tr_ins *in = tr_at(f, v);
    return in->op == TR_OP_DIM && tr_at(f, in->args[0])->ty->ndim >= ndim;
}

/* How seldom is one of these sizes 1 and repeats? As tr_blk.cold has it. */
static tr_cold seldom(const agreer *s) {
    tr_cold cold = TR_COLD_CHECKED;
    for (uint32_t i = 0; i < s->tests.n; i++) {
        tr_val x = s->tests.d[i].x, y = s->tests.d[i].y;
        bool matrix = extent_is_given(s->f, x, 2), other = extent_is_given(s->f, y, 2);
        if (extent_is_kept_axis(s->f, x) || extent_is_kept_axis(s->f, y) || (matrix && other))
            return TR_COLD_SELDOM;
        if ((matrix && extent_is_given(s->f, y, 1)) || (other && extent_is_given(s->f, x, 1)))
            cold = TR_COLD_RARE;
    }
    return cold;
}

static void note_sizes(agreer *s, tr_bid b) {
    for (tr_val v = tr_blk_at(s->f, b)->first; v != TR_NOVAL; v = tr_at(s->f, v)->next) {
        const tr_val *made = tr_made_sizes(tr_at(s->f, v));
        for (unsigned k = 0; made && k < tr_at(s->f, v)->ty->ndim; k++)
            tr_map_set(&s->f->ctx->arena, &s->sizes, size_key(v, k), made[k]);
    }
}

/* The block after them. */
static tr_bid make_versions(agreer *s, const stretch *t) {
    assert(tr_at(s->f, t->first)->blk == t->blk && tr_at(s->f, t->last)->blk == t->blk);
    tr_fn *f = s->f;
    tr_fork k = tr_fork_cut(&s->forms, t->last, 0);
    tr_bid fast = k.plain;
    for (tr_val v = t->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next;
        tr_ins_move_end(f, v, fast);
    }
    /* A view of what was there is the same in both versions, and known as that behind them. */
    for (tr_val v = tr_blk_at(f, fast)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next;
        if (tr_is_view(tr_at(f, v)) && value_can_rise(s, v, fast, k.b.blk, false, 0))
            value_can_rise(s, v, fast, k.b.blk, true, 0);
    }
    tr_fork_copy(&s->forms, &k, seldom(s));
    note_sizes(s, fast);
    for (tr_val v = tr_blk_at(f, fast)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
        for (uint32_t i = 0; i < tr_at(f, v)->nargs; i++)
            tr_at(f, v)->args[i] = rep_of(s, tr_arg(f, v, i));
    resize_inputs(s, fast);
    tr_val test = test_apart(s, &k.b, fast, make_test(s, &k.b));
    tr_fork_pick(&s->forms, &k, test, fast);
    s->growth += t->size;
    return k.after;
}

/* Where to go on in what the block was; TR_NOBLK: that was all. */
static tr_bid visit(agreer *s, tr_bid b) {
    tr_fn *f = s->f;
    stretch t;
    tr_bid rest = TR_NOBLK;
    if (!find_stretch(s, b, &t))
        return rest;
    s->tests.n = s->set.n = 0;
    s->early = (tr_map){0};
    for (tr_val v = t.first; v != tr_at(f, t.last)->next; v = tr_at(f, v)->next)
        if (asks_for_broadcast(tr_at(f, v)))
            assume(s, v, &t);
    if (s->tests.n || t.stores)
        rest = make_versions(s, &t);
    for (uint32_t i = 0; i < s->set.n; i++)
        s->rep[s->set.d[i]] = TR_NOVAL;
    return rest;
}

/* --- sizes that a check has found equal --- */

typedef struct checked {
    tr_map dims, done;
    uint8_t *space; /* per value: it is the size of a pattern that was met */
    bool any;
} checked;

/* Other numbers stay: a loop's counter is one only as long as its steps are seen. */
static bool is_size(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->op == TR_OP_DIM || asks_for_broadcast(tr_at(f, v));
}

/* `a[mask]` raises where their sizes differ: behind that they are one value, that of the
 * patterns before it if there are any. */
static bool learn_from_check(agreer *s, const checked *c, tr_val check) {
    const tr_fn *f = s->f;
    const tr_ins *eq = tr_at(f, tr_arg(f, check, 0));
    if (eq->op != TR_OP_CMP || eq->sub != TR_CMP_EQ ||
        tr_at(f, eq->args[0])->ty != tr_ty_scalar(f->ctx->types, TR_TY_I64))
        return false;
    tr_val x = rep_of(s, eq->args[0]), y = rep_of(s, eq->args[1]);
    if (x == y || x >= s->nvals || y >= s->nvals || (!is_size(f, x) && !is_size(f, y)))
        return false;
    bool to_y = !is_size(f, y) || (is_size(f, x) && !c->space[x] && c->space[y]);
    unite(s, to_y ? x : y, to_y ? y : x);
    return true;
}

/* What stands behind such a check in its block has one value for both. */
static void use_checked(agreer *s, checked *c, tr_bid b) {
    tr_fn *f = s->f;
    s->set.n = 0;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
        tr_ins *in = tr_at(f, v);
        if (in->op == TR_OP_CHECK && learn_from_check(s, c, v)) {
            c->done = (tr_map){0};
            find_dims(s, &c->dims);
            c->any = true;
        }
        for (uint32_t k = 0; s->set.n && in->op != TR_OP_CHECK && k < in->nargs; k++)
            in->args[k] = rep_of(s, in->args[k]);
        if (s->set.n && in->op == TR_OP_PATTERN)
            resize_pattern(s, v, &c->dims, &c->done);
        for (uint32_t k = 0; in->op == TR_OP_PATTERN && k < tr_at(f, v)->imm.pat->nspace; k++)
            if (tr_arg(f, v, k) < s->nvals)
                c->space[tr_arg(f, v, k)] = 1;
    }
    for (uint32_t i = 0; i < s->set.n; i++)
        s->rep[s->set.d[i]] = TR_NOVAL;
}

static bool use_all_checked(agreer *s) {
    tr_fn *f = s->f;
    uint32_t n = f->ins.n;
    checked c = {.space = TR_NEW_N(&f->ctx->arena, uint8_t, n + 1u)};
    s->nvals = n;
    s->rep = tr_no_vals(f);
    for (tr_bid b = 0; b < f->blks.n; b++)
        if (!tr_blk_at(f, b)->dead && !tr_blk_at(f, b)->cold)
            use_checked(s, &c, b);
    return c.any;
}

bool tr_opt_agree(tr_prog *p, tr_fn *f) {
    (void)p;
    agreer s = {.f = f, .loops = tr_opt_has(f, TR_OP_PRANGE), .forms = tr_versions_new(f)};
    uint32_t nblks = f->blks.n;
    bool known = use_all_checked(&s);
    s.nvals = EARLY * f->ins.n + MAX_DEPTH;
    s.order = TR_NEW_N(&f->ctx->arena, uint32_t, s.nvals);
    s.rep = TR_NEW_N(&f->ctx->arena, tr_val, s.nvals);
    for (uint32_t v = 0; v < s.nvals; v++)
        s.rep[v] = TR_NOVAL;
    /* Asked before blocks are cut. */
    uint8_t *stays = TR_NEW_N(&f->ctx->arena, uint8_t, nblks + 1u);
    for (tr_bid b = 0; b < nblks; b++)
        stays[b] = tr_blk_at(f, b)->dead || tr_blk_at(f, b)->rpo == TR_NOBLK;
    for (tr_bid b = 0; b < nblks; b++)
        for (tr_bid next = b; !stays[b] && next != TR_NOBLK;)
            next = visit(&s, next);
    bool changed = tr_versions_end(&s.forms);
    return use_all_checked(&s) || changed || known;
}
