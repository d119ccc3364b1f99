/* Reference counts of arrays made explicit (by liveness; references move where they can): `retain` and
 * `release`.
 *
 * Roots hold references, aliases do not (own.h). A root is released where it and all its aliases are dead:
 * after the last use in a block, or on the edges into blocks that do not need it any more. Where a value goes
 * into an owning block argument or is returned it is retained, unless it is a root that dies right there:
 * then its reference moves. So does what an instruction consumes (op.def), as what is put into a container.
 * Arguments are borrowed, the caller holds them.
 *
 * Where no function has a handler, an exception leaves everything to the frame, which frees what a call
 * allocated. Where one has, an exception may be caught, so what holds something when it is raised gives it
 * back on the way to the handler (landing pads). For that each instruction that raises becomes the first of a
 * protected block, in which nothing is held or given back before it; then the edge to the handler leaves with
 * what is held, and is an edge like others. Blocks without a handler get one that raises again.
 *
 * Other passes would have to know that a release ends a life, so they come before (passes.def).
 * Cost: one data-flow problem over the roots. */
#include "opt/own.h"
#include "opt/emit.h"

#include <assert.h>
#include <string.h>

/* --- roots --- */

/* It makes a block, or is handed one: whoever has the result holds a reference. */
static bool gives_reference(unsigned op) {
    return tr_op_info[op].owns == 'n';
}

static void add_root(tr_own *o, tr_val v) {
    assert(o->root_no[v] == UINT32_MAX && tr_ty_is_counted(tr_at(o->f, v)->ty));
    o->root_no[v] = o->roots.n;
    tr_vec_push(&o->f->ctx->arena, &o->roots, v);
}

bool tr_own_is_owner(const tr_own *o, tr_val v) {
    return tr_at(o->f, v)->op == TR_OP_PARAM && o->root_no[v] != UINT32_MAX;
}

bool tr_own_is_made_of(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    bool same = in->op == TR_OP_TUPLE && in->ty->n == in->nargs;
    for (uint32_t i = 0; same && i < in->nargs; i++)
        same = tr_at(f, in->args[i])->ty == in->ty->items[i];
    return same;
}

/* Candidates get numbers first, so that the sets have their final size: every block argument might own. */
static bool number_roots(tr_own *o, tr_u32s *params) {
    tr_fn *f = o->f;
    bool any = false;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        for (uint32_t k = 0; k < tr_blk_at(f, b)->params.n; k++) {
            tr_val v = tr_blk_at(f, b)->params.d[k];
            if (!tr_ty_is_counted(tr_at(f, v)->ty))
                continue;
            any = true;
            if (b == 0)
                continue; /* borrowed from the caller */
            add_root(o, v);
            tr_vec_push(&f->ctx->arena, params, v);
        }
        for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            bool has = tr_ty_is_counted(in->ty);
            any = any || has || (in->op == TR_OP_RET && tr_ty_is_counted(tr_at(f, in->args[0])->ty));
            if (has && gives_reference(in->op))
                add_root(o, v);
        }
    }
    return any;
}

static tr_bits *set_of(tr_own *o, tr_val v) {
    if (!o->of[v]) {
        o->of[v] = TR_NEW(&o->f->ctx->arena, tr_bits);
        *o->of[v] = tr_bits_new(&o->f->ctx->arena, o->roots.n);
    }
    return o->of[v];
}

static void join(tr_own *o, tr_bits *to, tr_val v, bool *changed) {
    if (o->of[v])
        *changed |= tr_bits_union(to, o->of[v]);
}

/* Joins what the jumps to p pass. */
static bool flow_param(tr_own *o, tr_val p) {
    tr_fn *f = o->f;
    tr_bid b = tr_at(f, p)->blk;
    const tr_blk *blk = tr_blk_at(f, b);
    tr_bits *set = set_of(o, p);
    bool changed = false;
    uint32_t index = 0;
    while (blk->params.d[index] != p)
        index++;
    for (uint32_t i = 0; i < blk->preds.n; i++) {
        const tr_ins *t = tr_term(f, blk->preds.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (t->imm.succ[s].to == b)
                join(o, set, t->imm.succ[s].args[index], &changed);
    }
    return changed;
}

/* An alias has the roots of everything it is made from. */
static bool flow_ins(tr_own *o, tr_val v) {
    const tr_ins *in = tr_at(o->f, v);
    bool changed = false;
    if (!tr_ty_is_counted(in->ty))
        return false;
    tr_bits *set = set_of(o, v);
    if (o->root_no[v] != UINT32_MAX) {
        changed = !tr_bits_get(set, o->root_no[v]);
        tr_bits_set(set, o->root_no[v]);
        return changed;
    }
    for (uint32_t i = 0; i < in->nargs; i++)
        join(o, set, in->args[i], &changed);
    return changed;
}

static void flow_all(tr_own *o, const uint8_t *owner) {
    tr_fn *f = o->f;
    for (tr_val v = 0; v < f->ins.n; v++)
        if (o->of[v])
            tr_bits_zero(o->of[v]);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < f->rpo.n; i++) {
            const tr_blk *blk = tr_blk_at(f, f->rpo.d[i]);
            for (uint32_t k = 0; i > 0 && k < blk->params.n; k++) {
                tr_val p = blk->params.d[k];
                if (o->root_no[p] == UINT32_MAX)
                    continue;
                if (owner[p])
                    tr_bits_set(set_of(o, p), o->root_no[p]);
                else
                    changed |= flow_param(o, p);
            }
            for (tr_val v = blk->first; v != TR_NOVAL; v = tr_at(f, v)->next)
                changed |= flow_ins(o, v);
        }
    }
}

/* An argument is an alias as long as all roots it may come from are held wherever it is:
 * they dominate its block. */
static bool param_must_own(const tr_own *o, tr_val p) {
    tr_bid b = tr_at(o->f, p)->blk;
    for (uint32_t r = 0; r < o->roots.n; r++) {
        tr_bid d = tr_at(o->f, o->roots.d[r])->blk;
        if (tr_bits_get(o->of[p], r) && (d == b || !tr_dominates(o->f, d, b)))
            return true;
    }
    return false;
}

/* An argument that owns ends the sets that went through it, so they are found anew until no
 * argument changes its mind. */
bool tr_own_find(tr_fn *f, tr_own *o) {
    tr_arena *a = &f->ctx->arena;
    tr_u32s params = {0};
    *o = (tr_own){
        .f = f, .root_no = TR_NEW_N(a, uint32_t, f->ins.n + 1u), .of = TR_NEW_N(a, tr_bits *, f->ins.n + 1u)};
    memset(o->root_no, 0xff, f->ins.n * sizeof *o->root_no);
    if (!number_roots(o, &params))
        return false;
    uint8_t *owner = TR_NEW_N(a, uint8_t, f->ins.n + 1u);
    for (bool again = true; again;) {
        again = false;
        flow_all(o, owner);
        for (uint32_t i = 0; i < params.n; i++)
            if (!owner[params.d[i]] && param_must_own(o, params.d[i]))
                owner[params.d[i]] = again = true;
    }
    for (uint32_t i = 0; i < params.n; i++) /* the candidates that turned out to be aliases */
        if (!owner[params.d[i]])
            o->root_no[params.d[i]] = UINT32_MAX;
    return true;
}

/* --- lives --- */

/* So many releases on a way to a handler are a way of its own, which code that is moved out of line takes
 * along (late.c). */
enum { FEW = 4 };

/* A way out to a handler: a block that gives one root back and goes on to `next`, which gives back those that
 * have lower numbers; the last is the edge itself. Ways that begin alike, from their end, are one. */
typedef struct way {
    tr_bid blk;    /* TR_NOBLK: the edge */
    uint32_t root; /* its number */
    tr_edge edge;  /* where all this ends */
    uint32_t first,
        next; /* ways that give back one more: the first of them, and the next of its own kind; 0: none */
} way;

typedef struct ways {
    way *d;
    uint32_t n, cap;
} ways;

typedef struct owning {
    tr_own o;
    ways ways;
    tr_bits *live_in; /* per block: roots needed from its start on */
    tr_bits **meet;   /* per block: roots that all ways into it give back, NULL = none */
    bool changed, handles;
} owning;

static void need(const owning *w, tr_bits *live, tr_val v) {
    if (w->o.of[v])
        tr_bits_union(live, w->o.of[v]);
}

static void uses_of(const owning *w, tr_bid b, tr_val v, tr_bits *live);

/* What the end of block b needs before its terminator: what the blocks after it need, and
 * what the terminator itself uses. */
static void live_at_end(const owning *w, tr_bid b, tr_bits *live) {
    tr_fn *f = w->o.f;
    const tr_ins *t = tr_term(f, b);
    tr_bits_zero(live);
    for (uint32_t s = 0; s < tr_nsucc(t); s++) {
        tr_bits_union(live, &w->live_in[t->imm.succ[s].to]);
        for (uint32_t i = 0; i < t->imm.succ[s].n; i++)
            need(w, live, t->imm.succ[s].args[i]);
    }
    uses_of(w, b, tr_blk_at(f, b)->last, live);
}

static void end_root(const owning *w, tr_bits *live, tr_val v) {
    if (w->o.root_no[v] != UINT32_MAX)
        tr_bits_clear(live, w->o.root_no[v]);
}

/* What the handler of block b needs is used by what raises in it. */
static void need_handler(const owning *w, tr_bid b, tr_bits *live) {
    const tr_edge *e = tr_handler(w->o.f, b);
    if (!e)
        return;
    tr_bits_union(live, &w->live_in[e->to]);
    for (uint32_t i = 0; i < e->n; i++)
        need(w, live, e->args[i]);
}

/* What instruction v of block b uses. */
static void uses_of(const owning *w, tr_bid b, tr_val v, tr_bits *live) {
    const tr_ins *in = tr_at(w->o.f, v);
    for (uint32_t k = 0; k < in->nargs; k++)
        need(w, live, in->args[k]);
    if (w->handles && tr_ins_raises(in))
        need_handler(w, b, live);
}

static void find_lives(owning *w) {
    tr_fn *f = w->o.f;
    tr_arena *a = &f->ctx->arena;
    w->live_in = TR_NEW_N(a, tr_bits, f->blks.n + 1u);
    for (tr_bid b = 0; b < f->blks.n; b++)
        w->live_in[b] = tr_bits_new(a, w->o.roots.n);
    tr_bits live = tr_bits_new(a, w->o.roots.n);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = f->rpo.n; i-- > 0;) {
            tr_bid b = f->rpo.d[i];
            live_at_end(w, b, &live);
            for (tr_val v = tr_at(f, tr_blk_at(f, b)->last)->prev; v != TR_NOVAL; v = tr_at(f, v)->prev) {
                end_root(w, &live, v);
                uses_of(w, b, v, &live);
            }
            for (uint32_t k = 0; k < tr_blk_at(f, b)->params.n; k++)
                end_root(w, &live, tr_blk_at(f, b)->params.d[k]);
            changed |= tr_bits_union(&w->live_in[b], &live);
        }
    }
}

/* --- what instructions consume --- */

static bool is_held(const tr_fn *f, tr_val v) {
    return tr_ty_is_counted(tr_at(f, v)->ty) && !tr_is_const(tr_at(f, v));
}

/* The root whose reference instruction v, which consumes x, takes along: x itself, where nobody needs it
 * behind v (`live`), and no other operand is made from it. TR_NOVAL: v takes one of its own. */
static tr_val moved_root(const owning *w, tr_val v, tr_val x, const tr_bits *live) {
    const tr_ins *in = tr_at(w->o.f, v);
    uint32_t r = w->o.root_no[x];
    if (r == UINT32_MAX || tr_bits_get(live, r))
        return TR_NOVAL;
    for (uint32_t k = 0; k < in->nargs; k++)
        if (k != tr_consumed(in) && w->o.of[in->args[k]] && tr_bits_get(w->o.of[in->args[k]], r))
            return TR_NOVAL;
    return x;
}

/* --- making it explicit --- */

static void count(owning *w, tr_bld *b, tr_op op, tr_val v) {
    tr_emit1(b, op, NULL, v);
    w->changed = true;
}

/* What one jump does to counts. */
typedef struct actions {
    tr_u32s retain, release; /* values; roots by number */
} actions;

static void plan_edge(owning *w, tr_bid from, const tr_edge *e, const tr_bits *held, actions *out) {
    assert(e->n == tr_blk_at(w->o.f, e->to)->params.n);
    tr_fn *f = w->o.f;
    tr_arena *a = &f->ctx->arena;
    tr_bits dying = tr_bits_new(a, w->o.roots.n);
    (void)from;
    tr_bits_assign(&dying, held);
    for (uint32_t i = 0; i < dying.n; i++)
        dying.w[i] &= ~w->live_in[e->to].w[i];
    for (uint32_t i = 0; i < e->n; i++) {
        tr_val v = e->args[i], p = tr_blk_at(f, e->to)->params.d[i];
        if (!tr_own_is_owner(&w->o, p) || tr_is_const(tr_at(f, v)))
            continue; /* nobody holds a constant: what has no value yet, a frozen array */
        uint32_t r = w->o.root_no[v];
        if (r != UINT32_MAX && tr_bits_get(&dying, r))
            tr_bits_clear(&dying, r); /* moves; a second use of it on this edge is retained */
        else
            tr_vec_push(a, &out->retain, v);
    }
    for (uint32_t r = 0; r < w->o.roots.n; r++)
        if (tr_bits_get(&dying, r))
            tr_vec_push(a, &out->release, r);
}

/* What all ways into block b would give back is given back once, at its start: behind a loop, or a branch, it
 * were as many releases as there are ways. Ways from what is protected, and into handlers, keep theirs. */
static void plan_meet(owning *w, tr_bid b) {
    tr_fn *f = w->o.f;
    tr_arena *a = &f->ctx->arena;
    const tr_blk *blk = tr_blk_at(f, b);
    tr_bits held = tr_bits_new(a, w->o.roots.n), here = tr_bits_new(a, w->o.roots.n), *all = NULL;
    for (uint32_t i = 0; i < blk->preds.n; i++) {
        const tr_ins *t = tr_term(f, blk->preds.d[i]);
        if (blk->preds.n < 2 || t->op == TR_OP_TRY)
            return;
        live_at_end(w, blk->preds.d[i], &held);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            actions x = {{0}, {0}};
            if (t->imm.succ[s].to != b)
                continue;
            plan_edge(w, blk->preds.d[i], &t->imm.succ[s], &held, &x);
            tr_bits_zero(&here);
            for (uint32_t k = 0; k < x.release.n; k++)
                tr_bits_set(&here, x.release.d[k]);
            if (!all) {
                all = TR_NEW(a, tr_bits);
                *all = tr_bits_new(a, w->o.roots.n);
                tr_bits_assign(all, &here);
            }
            for (uint32_t k = 0; k < all->n; k++)
                all->w[k] &= here.w[k];
        }
    }
    w->meet[b] = all;
}

/* The releases that are left to this jump. */
static void leave_to_meet(const owning *w, tr_bid to, actions *x) {
    uint32_t n = 0;
    for (uint32_t i = 0; w->meet[to] && i < x->release.n; i++)
        if (!tr_bits_get(w->meet[to], x->release.d[i]))
            x->release.d[n++] = x->release.d[i];
    if (w->meet[to])
        x->release.n = n;
}

static void act(owning *w, tr_bld *b, const actions *x) {
    for (uint32_t i = 0; i < x->retain.n; i++)
        count(w, b, TR_OP_RETAIN, x->retain.d[i]);
    for (uint32_t i = 0; i < x->release.n; i++)
        count(w, b, TR_OP_RELEASE, w->o.roots.d[x->release.d[i]]);
}

/* The way that gives back root r, and then what `to` does. Its place on the list is that of 1 + its index. */
static uint32_t way_on(owning *w, uint32_t to, uint32_t r, tr_bid from, uint32_t loc) {
    tr_fn *f = w->o.f;
    for (uint32_t i = w->ways.d[to - 1].first; i; i = w->ways.d[i - 1].next)
        if (w->ways.d[i - 1].root == r) {
            tr_blk *was = tr_blk_at(f, w->ways.d[i - 1].blk);
            was->cold = was->cold && tr_blk_at(f, from)->cold;
            return i;
        }
    way end = w->ways.d[to - 1], x = {.blk = tr_blk_new(f), .root = r, .edge = end.edge, .next = end.first};
    tr_bld b = {.fn = f, .blk = x.blk, .before = TR_NOVAL, .loc = loc};
    tr_blk_at(f, x.blk)->cold = tr_blk_at(f, from)->cold;
    count(w, &b, TR_OP_RELEASE, w->o.roots.d[r]);
    if (end.blk == TR_NOBLK)
        tr_br(&b, end.edge.to, end.edge.n, end.edge.args);
    else
        tr_br(&b, end.blk, 0, NULL);
    tr_vec_push(&f->ctx->arena, &w->ways, x);
    return w->ways.d[to - 1].first = w->ways.n;
}

/* Each instruction that raises has an edge to a handler, which gives back what is held there: in ways of
 * their own these were as many releases as instructions times containers. What is held along the shared part
 * of a way is the same wherever it is come from: what its end needs, and roots up to a number. */
static void leave(owning *w, tr_bid from, tr_edge *e, const tr_u32s *release, uint32_t loc) {
    uint32_t at = 0;
    for (uint32_t i = w->ways.n; i > 0 && !at; i--)
        if (w->ways.d[i - 1].blk == TR_NOBLK && tr_edge_same(&w->ways.d[i - 1].edge, e))
            at = i;
    if (!at) {
        tr_vec_push(&w->o.f->ctx->arena, &w->ways, ((way){.blk = TR_NOBLK, .edge = *e}));
        at = w->ways.n;
    }
    for (uint32_t i = 0; i < release->n; i++)
        at = way_on(w, at, release->d[i], from, loc);
    *e = (tr_edge){.to = w->ways.d[at - 1].blk};
}

/* Where a jump's actions stand: before it when it is the only one, at its target when that has no other
 * way in, else in a block of their own. */
static void do_edge(owning *w, tr_bid from, uint32_t s, const actions *x) {
    tr_fn *f = w->o.f;
    tr_val t = tr_blk_at(f, from)->last;
    tr_bld b = {.fn = f, .loc = tr_at(f, t)->loc};
    if (!x->retain.n && !x->release.n)
        return;
    tr_edge e = tr_at(f, t)->imm.succ[s];
    if (tr_at(f, t)->op == TR_OP_TRY && s == 1 && !x->retain.n && x->release.n > FEW) {
        leave(w, from, &tr_at(f, t)->imm.succ[s], &x->release, b.loc);
        return;
    }
    if (tr_nsucc(tr_at(f, t)) == 1) {
        b.blk = from;
        b.before = t;
    } else if (tr_blk_at(f, e.to)->preds.n == 1) {
        b.blk = e.to;
        b.before = tr_blk_at(f, e.to)->first;
    } else {
        b.blk = tr_blk_new(f);
        tr_blk_at(f, b.blk)->cold = tr_blk_at(f, from)->cold;
        b.before =
            tr_br(&(tr_bld){.fn = f, .blk = b.blk, .before = TR_NOVAL, .loc = b.loc}, e.to, e.n, e.args);
        tr_at(f, t)->imm.succ[s] = (tr_edge){.to = b.blk};
    }
    act(w, &b, x);
}

/* A returned value takes references along: a root that is held gives its own, and so does each one that a
 * tuple is made of, as a dict is of its keys and values. */
static void give(owning *w, tr_bld *b, tr_val v, tr_bits *held) {
    const tr_fn *f = w->o.f;
    uint32_t r = w->o.root_no[v];
    if (!is_held(f, v))
        return;
    if (r != UINT32_MAX && tr_bits_get(held, r))
        tr_bits_clear(held, r);
    else if (r == UINT32_MAX && tr_own_is_made_of(f, v))
        for (uint32_t i = 0; i < tr_at(f, v)->nargs; i++)
            give(w, b, tr_arg(f, v, i), held);
    else
        count(w, b, TR_OP_RETAIN, v);
}

static void do_return(owning *w, tr_val ret, tr_bits *held) {
    assert(tr_at(w->o.f, ret)->op == TR_OP_RET);
    tr_bld b = tr_bld_before(w->o.f, ret);
    give(w, &b, tr_arg(w->o.f, ret, 0), held);
    for (uint32_t k = 0; k < w->o.roots.n; k++)
        if (tr_bits_get(held, k))
            count(w, &b, TR_OP_RELEASE, w->o.roots.d[k]);
}

static void do_end(owning *w, tr_bid b) {
    tr_fn *f = w->o.f;
    tr_arena *a = &f->ctx->arena;
    tr_val t = tr_blk_at(f, b)->last;
    if (tr_ins_raises(tr_at(f, t)))
        return; /* leaves what is held to the frame, or to the way to its handler */
    tr_bits held = tr_bits_new(a, w->o.roots.n);
    live_at_end(w, b, &held);
    uint32_t n = tr_nsucc(tr_at(f, t));
    for (uint32_t s = 0; s < n; s++) {
        actions x = {{0}, {0}};
        plan_edge(w, b, &tr_at(f, t)->imm.succ[s], &held, &x);
        leave_to_meet(w, tr_at(f, t)->imm.succ[s].to, &x);
        do_edge(w, b, s, &x);
    }
    if (tr_at(f, t)->op == TR_OP_RET)
        do_return(w, t, &held);
}

/* What instruction v consumes: the root that moves into it, or TR_NOVAL. Where none does, v takes a reference
 * along that is made for it: before it, as it may drop what it puts out of its place; but what raises has
 * consumed nothing then, and drops nothing, so right behind it. */
static tr_val do_consumed(owning *w, tr_val v, const tr_bits *live) {
    tr_fn *f = w->o.f;
    uint32_t k = tr_consumed(tr_at(f, v));
    if (k == TR_NOVAL || !is_held(f, tr_arg(f, v, k)))
        return TR_NOVAL;
    tr_val x = tr_arg(f, v, k), root = moved_root(w, v, x, live);
    tr_bld at = tr_bld_before(f, v);
    if (tr_ins_raises(tr_at(f, v)))
        at.before = tr_at(f, v)->next;
    if (root == TR_NOVAL)
        count(w, &at, TR_OP_RETAIN, x);
    return root;
}

/* Releases inside block b: after the last use of what its end does not need. Walks backwards. */
static void do_body(owning *w, tr_bid b) {
    tr_fn *f = w->o.f;
    tr_arena *a = &f->ctx->arena;
    tr_bits live = tr_bits_new(a, w->o.roots.n), used = tr_bits_new(a, w->o.roots.n);
    live_at_end(w, b, &live);
    tr_val next = tr_blk_at(f, b)->last, prev;
    for (tr_val v = tr_at(f, next)->prev; v != TR_NOVAL; next = v, v = prev) {
        prev = tr_at(f, v)->prev; /* before what is counted for v */
        tr_bits_zero(&used);
        uses_of(w, b, v, &used);
        if (w->o.root_no[v] != UINT32_MAX)
            tr_bits_set(&used, w->o.root_no[v]); /* made and never used: released at once */
        tr_bld at = {.fn = f, .blk = b, .before = next, .loc = tr_at(f, v)->loc};
        tr_val gone = do_consumed(w, v, &live);
        for (uint32_t r = 0; r < w->o.roots.n; r++)
            if (tr_bits_get(&used, r) && !tr_bits_get(&live, r) && w->o.roots.d[r] != gone)
                count(w, &at, TR_OP_RELEASE, w->o.roots.d[r]);
        tr_bits_union(&live, &used);
        end_root(w, &live, v);
    }
    /* an owning argument that is dead on arrival */
    tr_bld at = {.fn = f, .blk = b, .before = tr_blk_at(f, b)->first};
    for (uint32_t k = 0; k < tr_blk_at(f, b)->params.n; k++) {
        tr_val p = tr_blk_at(f, b)->params.d[k];
        if (tr_own_is_owner(&w->o, p) && !tr_bits_get(&live, w->o.root_no[p]))
            count(w, &at, TR_OP_RELEASE, p);
    }
}

static void do_meet(owning *w, tr_bid b) {
    tr_bld at = {.fn = w->o.f, .blk = b, .before = tr_blk_at(w->o.f, b)->first};
    for (uint32_t r = 0; w->meet[b] && r < w->o.roots.n; r++)
        if (tr_bits_get(w->meet[b], r))
            count(w, &at, TR_OP_RELEASE, w->o.roots.d[r]);
}

/* The pass has been here before. */
static bool counts_are_explicit(const tr_fn *f) {
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_RETAIN || tr_at(f, v)->op == TR_OP_RELEASE)
                return true;
    return false;
}

/* --- ways to handlers --- */

/* A handler that raises again what comes to it. */
static tr_bid resume_block(tr_fn *f) {
    tr_bld b = {.fn = f, .blk = tr_blk_new(f), .before = TR_NOVAL};
    tr_val c = tr_emit0(&b, TR_OP_CATCH, tr_ty_scalar(f->ctx->types, TR_TY_I64));
    tr_emit1(&b, TR_OP_RERAISE, NULL, c);
    return b.blk;
}

/* The first of block b's instructions from v on that raises; TR_NOVAL: none does. */
static tr_val next_raise(const tr_fn *f, tr_val v) {
    while (v != TR_NOVAL && !tr_ins_raises(tr_at(f, v)))
        v = tr_at(f, v)->next;
    return v;
}

/* Each instruction of block b that raises becomes the first of a block that is protected by
 * e. `by` is the try that protected b. */
static void isolate(tr_fn *f, tr_bid b, const tr_edge *e, tr_val by) {
    tr_edge edge = *e;
    tr_val v = next_raise(f, tr_blk_at(f, b)->first);
    if (by != TR_NOVAL && v == tr_blk_at(f, b)->first)
        v = next_raise(f, tr_at(f, v)->next);
    else if (by != TR_NOVAL)
        tr_at(f, by)->op = TR_OP_BR;
    while (v != TR_NOVAL) {
        tr_bid head = tr_at(f, v)->blk, body = tr_blk_split(f, v);
        tr_try(&(tr_bld){.fn = f, .blk = head, .before = TR_NOVAL, .loc = 0}, body, &edge);
        v = next_raise(f, tr_at(f, v)->next);
    }
}

static void isolate_all(tr_fn *f) {
    uint32_t n = f->rpo.n;
    tr_bid *blks = tr_arena_copy(&f->ctx->arena, f->rpo.d, n * sizeof *blks);
    tr_val *by = TR_NEW_N(&f->ctx->arena, tr_val, f->blks.n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        const tr_blk *b = tr_blk_at(f, blks[i]);
        by[blks[i]] = tr_handler(f, blks[i]) ? tr_blk_at(f, b->preds.d[0])->last : TR_NOVAL;
    }
    tr_edge out = {.to = resume_block(f)};
    for (uint32_t i = 0; i < n; i++)
        if (tr_blk_raises(f, blks[i]))
            isolate(f, blks[i], by[blks[i]] == TR_NOVAL ? &out : &tr_at(f, by[blks[i]])->imm.succ[1],
                    by[blks[i]]);
    tr_cfg_compute(f);
    tr_dom_compute(f);
}

bool tr_opt_own(tr_prog *p, tr_fn *f) {
    owning w = {.changed = false, .handles = p->handles};
    if (counts_are_explicit(f) || !tr_own_find(f, &w.o))
        return false;
    if (p->handles) {
        isolate_all(f);
        tr_own_find(f, &w.o);
    }
    find_lives(&w);
    uint32_t n = f->rpo.n;
    w.meet = TR_NEW_N(&f->ctx->arena, tr_bits *, f->blks.n + 1u);
    for (uint32_t i = 0; i < n; i++)
        plan_meet(&w, f->rpo.d[i]);
    for (uint32_t i = 0; i < n;
         i++) /* bodies first: what is put at the start of a block must stay before them */
        do_body(&w, f->rpo.d[i]);
    for (uint32_t i = 0; i < n; i++)
        do_meet(&w, f->rpo.d[i]);
    for (uint32_t i = 0; i < n; i++)
        do_end(&w, f->rpo.d[i]);
    if (p->handles)
        tr_simplify_tries(f);
    return w.changed || p->handles;
}
