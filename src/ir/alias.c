/* What is known of which arrays share memory (points-to and may-alias, in the field's
 * words): the one home of these answers.
 *
 * Which arrays a value may be: a walk from uses to definitions, through choices, tuples and calls. What comes
 * round a loop is followed, but for arrays that only change places: `a, b = b, a` makes no more of two.
 * Whether two values of a block share elements follows from where their arrays come from (one that is made is
 * none that was there), or was asked by a test that leads to the block and nowhere else (`apart`, `overlap`).
 * Cost: linear in the values on the way; in the depth of a condition's `and`s. */
#include "ir/alias.h"

enum { DEPTH = 16 }; /* of tuples in tuples, and of choices between them */

/* What a walk says of a value: the one asked about may be it, or have it; where it comes from was followed,
 * too. What may be the same array by its type alone is not, unless it is come to another way. */
enum { MAY_BE = 1, FOLLOWED = 2 };

tr_val tr_array_root(const tr_fn *f, tr_val v) {
    while (tr_is_view(tr_at(f, v)))
        v = tr_at(f, v)->args[0];
    return v;
}

static bool is_entry_param(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    return in->op == TR_OP_PARAM && !in->blk;
}

bool tr_array_is_fresh(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->op == TR_OP_ALLOC;
}

bool tr_array_is_chosen(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    return in->op != TR_OP_ALLOC && in->op != TR_OP_CONSTARR &&
           !(is_entry_param(f, v) && in->ty->kind == TR_TY_ARRAY);
}

/* Does param number k of the block come back to itself along this edge, by way of other params alone? */
static bool changes_places(const tr_fn *f, tr_bid b, const tr_edge *edge, uint32_t k) {
    uint32_t at = k;
    for (uint32_t i = 0; i < tr_blk_at(f, b)->params.n; i++) {
        const tr_ins *in = tr_at(f, edge->args[at]);
        if (in->op != TR_OP_PARAM || in->blk != b)
            return false;
        at = tr_param_index(f, edge->args[at]);
        if (at == k)
            return true;
    }
    return false;
}

static uint32_t choice(tr_val v, tr_val *out, uint32_t n, uint32_t max) {
    if (n < max)
        out[n] = v;
    return n + 1;
}

uint32_t tr_array_choices(const tr_fn *f, tr_val v, tr_val *out, uint32_t max) {
    const tr_ins *in = tr_at(f, v);
    uint32_t n = 0;
    for (uint32_t k = 1; in->op == TR_OP_SELECT && k < 3; k++)
        n = choice(in->args[k], out, n, max);
    if (in->op != TR_OP_PARAM || !in->blk)
        return n;
    for (tr_way w = {0}; tr_next_way(f, in->blk, &w);)
        n = choice(w.edge->args[tr_param_index(f, v)], out, n, max);
    return n;
}

typedef struct walk {
    const tr_fn *f;
    uint8_t *from;
    tr_map seen; /* items of tuples that were followed: there may be many ways to one */
} walk;

static void whole(walk *w, tr_val v);
static void item(walk *w, tr_val tuple, uint32_t k, int depth);

/* Calls `visit` for what the param is given on each way into its block. */
static void each_source(walk *w, tr_val param, uint32_t k, int depth,
                        void (*visit)(walk *, tr_val, uint32_t, int)) {
    tr_bid to = tr_at(w->f, param)->blk;
    uint32_t at = tr_param_index(w->f, param);
    for (tr_way way = {0}; tr_next_way(w->f, to, &way);)
        if (!changes_places(w->f, to, way.edge, at))
            visit(w, way.edge->args[at], k, depth);
}

static void visit_whole(walk *w, tr_val v, uint32_t k, int depth) {
    (void)k;
    (void)depth;
    whole(w, v);
}

static void everything(walk *w) {
    for (uint32_t v = 0; v < w->f->ins.n; v++)
        w->from[v] = MAY_BE | FOLLOWED;
}

/* Item k of a tuple that was passed in: an array of its own, however often it is taken out. Where that is
 * done only after the tuple has met others, the tuple stands for it. */
static void same_item(walk *w, tr_val tuple, uint32_t k) {
    bool any = false;
    for (tr_val x = 0; x < w->f->ins.n; x++) {
        const tr_ins *in = tr_at(w->f, x);
        if (in->op == TR_OP_EXTRACT && in->args[0] == tuple && in->imm.i == k && in->blk != TR_NOBLK) {
            w->from[x] |= MAY_BE;
            any = true;
        }
    }
    if (!any)
        w->from[tuple] |= MAY_BE;
}

static bool is_followed(walk *w, tr_val tuple, uint32_t k) {
    uint64_t key = (uint64_t)k << 32 | tuple, at;
    bool seen = tr_map_get(&w->seen, key, &at);
    tr_map_set(&w->f->ctx->arena, &w->seen, key, 1);
    return seen;
}

/* Item k of a tuple. */
static void item(walk *w, tr_val tuple, uint32_t k, int depth) {
    const tr_ins *in = tr_at(w->f, tuple);
    if (depth == 0) {
        everything(w);
    } else if (in->op == TR_OP_TUPLE) {
        whole(w, in->args[k]);
    } else if (in->op == TR_OP_SELECT) {
        item(w, in->args[1], k, depth - 1);
        item(w, in->args[2], k, depth - 1);
    } else if (in->op == TR_OP_PARAM && in->blk) {
        if (!is_followed(w, tuple, k))
            each_source(w, tuple, k, depth - 1, item);
    } else if (is_entry_param(w->f, tuple)) {
        same_item(w, tuple, k);
    } else {
        whole(w, tuple);
    }
}

static bool holds_others(const tr_fn *f, tr_val v) {
    const tr_ty *t = tr_at(f, v)->ty;
    return t && tr_ty_holds_arrays(t);
}

/* What an item of a container may be: all that is put into one, what else is taken out of one, and what calls
 * put there that are given one, of the runtime too, which copies items from one to another. */
static void each_held(walk *w, tr_val taken) {
    const tr_fn *f = w->f;
    for (tr_val x = 0; x < f->ins.n; x++) {
        const tr_ins *in = tr_at(f, x);
        if (in->blk == TR_NOBLK)
            continue;
        bool out = in->op == TR_OP_TAKE || in->op == TR_OP_PEEK, call = false;
        if (out && x != taken)
            whole(w, x);
        if (tr_consumed(in) != TR_NOVAL && in->op != TR_OP_RET)
            whole(w, in->args[tr_consumed(in)]);
        bool calls = in->op == TR_OP_CALL || in->op == TR_OP_CALLX || in->op == TR_OP_PATTERN ||
                     in->op == TR_OP_CALLRT;
        for (uint32_t k = 0; calls && k < in->nargs; k++)
            call = call || holds_others(f, in->args[k]);
        for (uint32_t k = 0; call && k < in->nargs; k++)
            whole(w, in->args[k]);
    }
}

static void whole(walk *w, tr_val v) {
    const tr_fn *f = w->f;
    v = tr_array_root(f, v);
    const tr_ins *in = tr_at(f, v);
    if (w->from[v] & FOLLOWED || !tr_ty_has_arrays(in->ty))
        return;
    w->from[v] = MAY_BE | FOLLOWED;
    switch ((tr_op)in->op) {
    case TR_OP_EXTRACT: item(w, in->args[0], (uint32_t)in->imm.i, DEPTH); break;
    case TR_OP_SELECT:
    case TR_OP_TUPLE:
    case TR_OP_CALL:
    case TR_OP_CALLRT:
    case TR_OP_CALLX:
        for (uint32_t k = 0; k < in->nargs; k++)
            whole(w, in->args[k]);
        break;
    case TR_OP_PARAM:
        if (in->blk)
            each_source(w, v, 0, 0, visit_whole);
        break;
    case TR_OP_ITEMS: /* whoever else asks for the items of a list that it may be */
        whole(w, in->args[0]);
        for (tr_val x = 0; x < f->ins.n; x++)
            if (tr_at(f, x)->op == TR_OP_ITEMS && tr_at(f, x)->blk != TR_NOBLK &&
                tr_at(f, tr_at(f, x)->args[0])->ty == tr_at(f, in->args[0])->ty)
                w->from[x] |= MAY_BE;
        break;
    case TR_OP_TAKE: /* what was put into any container, here or before */
    case TR_OP_PEEK:
        whole(w, in->args[0]);
        each_held(w, v);
        break;
    case TR_OP_ARRAYAT: /* whoever else says the same */
        for (tr_val x = 0; x < f->ins.n; x++)
            if (tr_at(f, x)->op == TR_OP_ARRAYAT && tr_at(f, x)->args[0] == in->args[0])
                w->from[x] |= MAY_BE;
        break;
    default: break;
    }
    for (uint32_t x = 0; in->ty->kind != TR_TY_ARRAY && x < f->ins.n; x++) /* all items of a tuple */
        if (tr_at(f, x)->op == TR_OP_EXTRACT && tr_at(f, x)->args[0] == v && tr_at(f, x)->blk != TR_NOBLK)
            whole(w, x);
}

void tr_array_sources(const tr_fn *f, tr_val v, uint8_t *from) {
    walk w = {.f = f, .from = from};
    whole(&w, v);
}

bool tr_sources_meet(const tr_fn *f, const uint8_t *a, const uint8_t *b) {
    for (uint32_t v = 0; v < f->ins.n; v++)
        if (a[v] && b[v])
            return true;
    return false;
}

bool tr_array_may_be(const tr_fn *f, tr_val v, const uint8_t *other) {
    v = tr_array_root(f, v);
    if (!tr_array_is_chosen(f, v))
        return other[v];
    uint8_t *from = TR_NEW_N(&f->ctx->arena, uint8_t, f->ins.n + 1u);
    tr_array_sources(f, v, from);
    return tr_sources_meet(f, from, other);
}

static bool all_fresh(const tr_fn *f, const uint8_t *from) {
    for (uint32_t v = 0; v < f->ins.n; v++)
        if (from[v] && !tr_array_is_fresh(f, v))
            return false;
    return true;
}

bool tr_sources_share(const tr_fn *f, const uint8_t *a, const uint8_t *b) {
    return (!all_fresh(f, a) && !all_fresh(f, b)) || tr_sources_meet(f, a, b);
}

/* --- two values that are used in one block --- */

/* What an array is an item of, of an item of. */
static tr_val holder(const tr_fn *f, tr_val v) {
    while (tr_at(f, v)->op == TR_OP_EXTRACT)
        v = tr_at(f, v)->args[0];
    return v;
}

/* An array that was there before the block began, or that the block makes: what a call
 * gives might be any of them. */
static bool has_origin(const tr_fn *f, tr_val root, tr_bid b) {
    const tr_ins *in = tr_at(f, holder(f, root));
    return in->op == TR_OP_ALLOC || in->op == TR_OP_PARAM || in->op == TR_OP_CONSTARR || in->blk != b;
}

/* Is x, which is made in function f, none that y may be? */
static bool is_apart_from(const tr_fn *f, tr_val x, tr_val y, tr_bid b) {
    const tr_ins *iy = tr_at(f, y);
    return tr_array_is_fresh(f, x) &&
           (tr_at(f, x)->blk == b ? has_origin(f, y, b)
                                  : iy->op == TR_OP_ALLOC || is_entry_param(f, holder(f, y)));
}

bool tr_arrays_distinct(const tr_fn *f, tr_val x, tr_val y, tr_bid b) {
    tr_val rx = tr_array_root(f, x), ry = tr_array_root(f, y);
    return rx != ry && (is_apart_from(f, rx, ry, b) || is_apart_from(f, ry, rx, b) ||
                        tr_at(f, rx)->op == TR_OP_CONSTARR || tr_at(f, ry)->op == TR_OP_CONSTARR);
}

/* Does `cond` say yes only where `op` of x and y is `yes`? */
static bool cond_says(const tr_fn *f, tr_val cond, tr_op op, bool yes, tr_val x, tr_val y) {
    const tr_ins *in = tr_at(f, cond);
    if (in->op == TR_OP_AND)
        return cond_says(f, in->args[0], op, yes, x, y) || cond_says(f, in->args[1], op, yes, x, y);
    if (!yes) {
        if (in->op != TR_OP_NOT)
            return false;
        in = tr_at(f, in->args[0]);
    }
    return in->op == op && ((in->args[0] == x && in->args[1] == y) || (in->args[0] == y && in->args[1] == x));
}

/* What holds in block b, as it was tested just before it; or TR_NOVAL. */
static tr_val taken(const tr_fn *f, tr_bid b) {
    const tr_blk *blk = tr_blk_at(f, b);
    const tr_ins *t = blk->preds.n == 1 ? tr_term(f, blk->preds.d[0]) : NULL;
    bool yes = t && t->op == TR_OP_CBR && t->imm.succ[0].to == b && t->imm.succ[1].to != b;
    return yes ? t->args[0] : TR_NOVAL;
}

static bool was_told_apart(const tr_fn *f, tr_val x, tr_val y, tr_bid b) {
    tr_val cond = taken(f, b);
    return cond != TR_NOVAL && cond_says(f, cond, TR_OP_APART, true, x, y);
}

/* Was it asked whether they share something, or whether two do that they are views of? A view lies between
 * the first and the last element of its base, and the question is about all between those. */
static bool was_told_disjoint(const tr_fn *f, tr_val x, tr_val y, tr_bid b) {
    tr_val cond = taken(f, b);
    for (; cond != TR_NOVAL; x = tr_at(f, x)->args[0]) {
        for (tr_val v = y;; v = tr_at(f, v)->args[0]) {
            if (cond_says(f, cond, TR_OP_OVERLAP, false, x, v))
                return true;
            if (!tr_is_view(tr_at(f, v)))
                break;
        }
        if (!tr_is_view(tr_at(f, x)))
            break;
    }
    return false;
}

bool tr_arrays_disjoint(const tr_fn *f, tr_val x, tr_val y, tr_bid b) {
    return tr_arrays_distinct(f, x, y, b) || was_told_disjoint(f, x, y, b);
}

bool tr_arrays_apart(const tr_fn *f, tr_val x, tr_val y, tr_bid b) {
    return tr_arrays_disjoint(f, x, y, b) || was_told_apart(f, x, y, b);
}
