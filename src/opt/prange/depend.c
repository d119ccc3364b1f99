/* Dependences of a prange loop through memory (dependence analysis of affine accesses, axis by axis): do two
 * iterations touch one element, of which at least one writes it?
 *
 * Every access to an array from outside is described axis by axis, by those of the array that it is a view of
 * in the end (coords.c): one index or a range of them, linear expressions over the loop's counter, counters
 * of inner loops, and values from outside. A pair is independent when some axis keeps iterations apart;
 * dependent, for sure, when both happen in every iteration and all axes meet in different ones. All else is
 * only possible. An index that is the counter's and may be negative counts from the end, so it keeps nothing
 * apart; others are taken not to be negative.
 * Two places that go along alike, a distance from outside apart, are tested before the loop (prange.c), as is
 * a distance that the number of iterations decides about; an index that may be negative also by where it
 * comes to, counted from the end. Strides and slices known to the running program alone are compared there
 * (spans.c), and places that iterations compute in another way looked at (inspect.c). Arrays that iterations
 * take out of one list are told apart by their places there; where these may meet, the loop goes in order.
 * Long, as each kind of relation is asked for what the ones before have left open, of the
 * same two descriptions.
 * Cost: pairs of a write and another access, MAX_ACCESSES of them at most. */
#include <assert.h>
#include <string.h>

#include "base/meet.h"
#include "opt/prange/coords.h"
#include "opt/prange/ploop.h"
#include "ir/alias.h"
#include "ir/summary.h"

enum { MAX_ACCESSES = 400, MAX_CHOICES = 8, NEAR = 16, INNER_NEAR = 4, MAX_SPANS = 32 };

typedef struct axis {
    tr_lin e;                   /* the index, or the first one */
    bool range, exact, has_end; /* exact: all from e on, not perhaps from a later one or only some of them */
    bool wraps;                 /* e may be negative, and then counts from the end */
    tr_val around;              /* wraps: of so many items; TR_NOVAL: that is not to be seen */
    tr_lin end;
    tr_val size;                 /* of a range: what says how many items it has */
    int64_t step;                /* and how far apart these are */
    bool cut;                    /* as in tr_coord */
    bool some;                   /* one of these, whichever */
    tr_val ends[TR_COORD_WRAPS]; /* what may count from the end (tr_coord) */
    uint32_t nends;
} axis;

typedef struct access {
    tr_val at, root;
    tr_val space; /* known: by whose axes; and whether these are one (tr_coords) */
    bool flat;
    tr_val value;    /* what is stored, if it comes from outside and is one number, else TR_NOVAL */
    tr_ptouch touch; /* the array, of which it may be a view, and the indices */
    bool write, always, known;
    bool vague; /* some elements, which ones is not looked at */
    enum {
        UNASKED,
        PLAIN,
        DATA
    } says;          /* does what an array says decide where it goes to (tr_inspect_is_data)? */
    uint32_t lo, hi; /* which bytes of the items (tr_coords) */
    uint32_t n;
    axis ax[TR_MAX_NDIM];
    /* The array is an item of this list, or TR_NOVAL, and at that place. Two places may have one array, but
     * are taken to have two, as arrays of two names are; one place has one. */
    tr_val list;
    axis place;
} access;

/* An array that some access goes to in the end, and which ones it may be (a byte per value). */
typedef struct base {
    tr_val v;
    uint8_t *from;
} base;

typedef struct finder {
    const tr_ploop *l;
    tr_fn *f;
    tr_prover pr;
    tr_coords_loop views;
    TR_VEC(access) all;
    TR_VEC(base) bases;
} finder;

/* --- describing an access --- */

/* Is it a number or made of the counter, which starts at 0 and goes up? */
static bool not_negative(const finder *s, const tr_lin *e) {
    for (uint32_t i = 0; i < e->n; i++)
        if (e->t[i].k < 0 || e->t[i].v != s->l->counter)
            return false;
    return e->c >= 0;
}

/* Is it an index that is negative in some iteration, as far as can be seen? It then counts from the end. */
static bool may_wrap(const finder *s, const tr_lin *e) {
    for (uint32_t i = 0; i < e->n; i++)
        if (e->t[i].v != s->l->counter)
            return false;
    return e->c < 0 || (e->n && e->t[0].k < 0);
}

/* The counter and a number from outside, as in prange(t, n)? Where it still wraps, that has
 * not been found to be at least 0. */
static bool counts_from_outside(const finder *s, const tr_lin *e) {
    bool counts = false, any = false;
    for (uint32_t i = 0; i < e->n; i++) {
        counts = counts || e->t[i].v == s->l->counter;
        any = any || !tr_ploop_varies(s->l, e->t[i].v);
    }
    return counts && any;
}

/* Axis c of the root for an access through `array`: by the index idx of its axis c.dim
 * (TR_NOVAL: all of that axis). */
static bool describe_axis(finder *s, const tr_coord *c, tr_val array, tr_val idx, axis *out) {
    *out = (axis){
        .e = c->at, .size = TR_NOVAL, .around = TR_NOVAL, .exact = !c->loose || not_negative(s, &c->at)};
    out->wraps = may_wrap(s, &c->at) || (c->nwraps && counts_from_outside(s, &c->at));
    out->nends = c->nwraps;
    memcpy(out->ends, c->wraps, sizeof out->ends);
    if (c->dim < 0 && out->exact)
        return true;
    if (c->dim >= 0 && idx != TR_NOVAL && out->exact) {
        tr_lin e = tr_coords_index(&s->views, idx);
        const tr_ins *in = tr_at(s->f, idx);
        out->wraps = may_wrap(s, &e);
        out->around = in->op == TR_OP_WRAP ? in->args[1] : TR_NOVAL;
        if (in->op == TR_OP_WRAP && tr_ploop_varies(s->l, idx)) {
            out->wraps = out->wraps || counts_from_outside(s, &e);
            if (out->nends < TR_COORD_WRAPS)
                out->ends[out->nends] = in->args[0];
            out->nends++;
        }
        return tr_lin_add(&out->e, &e, c->step);
    }
    const tr_ins *v = tr_at(s->f, array);
    out->range = true;
    out->step = c->step;
    out->some = idx != TR_NOVAL;
    out->cut = c->cut;
    out->exact = out->exact && c->step == 1 && idx == TR_NOVAL;
    out->has_end = c->has_end && c->step > 0;
    out->end = c->end;
    out->size = c->dim < 0 ? TR_NOVAL : tr_is_view(v) ? tr_made_sizes(v)[c->dim] : array;
    return true;
}

/* Is there a way from the loop's head back to it that meets neither block b nor a cold one (unless all of the
 * loop is cold)? */
static bool has_way_around_block(const finder *s, const tr_loop *loop, tr_bid b) {
    tr_fn *f = s->f;
    tr_u32s work = {0};
    uint8_t *seen = TR_NEW_N(&f->ctx->arena, uint8_t, f->blks.n + 1u);
    seen[b] = 1;
    if (b != loop->header)
        tr_vec_push(&f->ctx->arena, &work, loop->header);
    while (work.n) {
        const tr_ins *t = tr_term(f, work.d[--work.n]);
        for (uint32_t e = 0; e < tr_nsucc(t); e++) {
            tr_bid to = t->imm.succ[e].to;
            if (to == loop->header)
                return true;
            if (seen[to] || !s->l->in[to] || !tr_dominates(f, loop->header, to) ||
                (tr_blk_at(f, to)->cold && !tr_blk_at(f, s->l->header)->cold))
                continue;
            seen[to] = 1;
            tr_vec_push(&f->ctx->arena, &work, to);
        }
    }
    return false;
}

/* Does the block run in every iteration, as long as inner loops around it run at all, and
 * all goes as it is expected to? */
static bool block_runs_always(const finder *s, tr_bid b) {
    const tr_ploop *l = s->l;
    uint32_t k = tr_forest_in(l->loops, b);
    if (tr_blk_at(s->f, b)->cold && !tr_blk_at(s->f, l->header)->cold)
        return false;
    for (; k != TR_NOLOOP; k = l->loops->all.d[k].parent) {
        if (has_way_around_block(s, &l->loops->all.d[k], b))
            return false;
        if (&l->loops->all.d[k] == l->loop)
            return true;
        b = l->loops->all.d[k].header;
    }
    return false;
}

static const uint8_t *sources_of(finder *s, tr_val v) {
    for (uint32_t i = 0; i < s->bases.n; i++)
        if (s->bases.d[i].v == v)
            return s->bases.d[i].from;
    base r = {v, TR_NEW_N(&s->f->ctx->arena, uint8_t, s->f->ins.n + 1u)};
    tr_array_sources(s->f, v, r.from);
    for (uint32_t i = 0; i < s->f->ins.n; i++) /* what an iteration makes for itself */
        r.from[i] = r.from[i] && !tr_ploop_varies(s->l, i);
    tr_vec_push(&s->f->ctx->arena, &s->bases, r);
    return r.from;
}

/* An array that an iteration makes and no other sees. */
static bool array_is_own(finder *s, tr_val root) {
    if (!tr_ploop_varies(s->l, root) || !tr_array_is_chosen(s->f, root))
        return tr_ploop_varies(s->l, root);
    const uint8_t *from = sources_of(s, root);
    for (uint32_t i = 0; i < s->f->ins.n; i++)
        if (from[i])
            return false;
    return true;
}

/* Starts the description of an access; NULL: it is to an array of the iteration's own, or one
 * that is settled, or there are too many. */
static access *new_access(finder *s, tr_val at, tr_val array, bool write) {
    tr_val root = tr_array_root(s->f, array);
    if (s->all.n == MAX_ACCESSES || s->l->apart[root] || array_is_own(s, root))
        return NULL;
    tr_vec_push(&s->f->ctx->arena, &s->all,
                (access){.at = at, .root = root, .write = write, .value = TR_NOVAL, .list = TR_NOVAL});
    return &s->all.d[s->all.n - 1];
}

static bool describe_axes(finder *s, access *x, const tr_coords *c) {
    bool ok = true;
    for (uint32_t r = 0; r < x->n && ok; r++) {
        const tr_val *idx = x->touch.idx;
        ok = describe_axis(s, &c->ax[r], x->touch.array,
                           idx && c->ax[r].dim >= 0 ? idx[c->ax[r].dim] : TR_NOVAL, &x->ax[r]);
    }
    return ok;
}

/* An array out of a list from outside, also one that this iteration takes there, whose axes are known
 * then. */
static void describe_item(finder *s, access *x) {
    const tr_coord all = {.at = tr_lin_const(0), .step = 1};
    tr_coords c;
    tr_val list, idx;
    if (!tr_coords_item(&s->views, x->root, &list, &idx) || !tr_coords_of(&s->views, x->touch.array, &c) ||
        c.root != x->root || c.flat || c.part)
        return;
    x->n = c.n;
    x->lo = c.lo;
    x->hi = c.hi;
    if (describe_axes(s, x, &c) && describe_axis(s, &all, x->root, idx, &x->place))
        x->list = list;
}

/* idx: of all axes of the array, or NULL: all of it. Its root was chosen, and is taken for `leaf`. */
static void add_one(finder *s, tr_val at, tr_val array, tr_val leaf, bool write, bool always,
                    const tr_val *idx, tr_val value) {
    access *x = new_access(s, at, leaf, write);
    tr_coords c;
    if (!x)
        return;
    x->touch = (tr_ptouch){array, idx, tr_at(s->f, at)->blk};
    x->always = always && block_runs_always(s, tr_at(s->f, at)->blk);
    if (value != TR_NOVAL && !tr_ploop_varies(s->l, value))
        x->value = value;
    s->views.chosen = tr_array_root(s->f, array);
    s->views.instead = leaf;
    x->known = !tr_ploop_varies(s->l, x->root) && tr_coords_of(&s->views, array, &c);
    x->n = x->known ? c.n : 0;
    x->space = x->known ? c.root : TR_NOVAL;
    x->flat = x->known && c.flat;
    x->lo = x->known ? c.lo : 0;
    x->hi = x->known ? c.hi : UINT32_MAX;
    x->always = x->always && !(x->known && c.part);
    x->known = x->known && describe_axes(s, x, &c);
    describe_item(s, x);
}

/* An access to any elements of what has arrays, if `array` has. */
static void add_somewhere(finder *s, tr_val at, tr_val array, bool write) {
    const tr_ty *t = tr_at(s->f, array)->ty;
    if (tr_ty_has_arrays(t))
        new_access(s, at, array, write && !(t->kind == TR_TY_ARRAY && t->readonly));
}

/* An array that was chosen in this iteration, as where a copy is made of what overlaps: one
 * access to each that it may be. */
static void add(finder *s, tr_val at, tr_val array, bool write, const tr_val *idx, tr_val value) {
    tr_val work[MAX_CHOICES + 1] = {tr_array_root(s->f, array)}, more[MAX_CHOICES];
    uint32_t n = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t nmore =
            tr_ploop_varies(s->l, work[i]) ? tr_array_choices(s->f, work[i], more, MAX_CHOICES) : 0;
        if (nmore == 0)
            add_one(s, at, array, work[i], write, n == 1, idx, value);
        for (uint32_t k = 0; k < nmore && nmore <= MAX_CHOICES && n <= MAX_CHOICES; k++) {
            bool seen = false;
            for (uint32_t j = 0; j < n; j++)
                seen = seen || work[j] == more[k];
            if (!seen)
                work[n++] = more[k];
        }
        if (nmore > MAX_CHOICES || n > MAX_CHOICES) { /* wherever they are */
            add_somewhere(s, at, array, write);
            return;
        }
    }
}

/* The value that all elements of output k become, if it is given from outside of the pattern. */
static tr_val filled_with(const tr_ins *in, uint32_t k) {
    const tr_pat *p = in->imm.pat;
    const tr_fn *g = p->lam;
    if (g->blks.n != 1 || tr_pat_nred(p))
        return TR_NOVAL;
    tr_val y = tr_term(g, 0)->args[k];
    const tr_blk *b = tr_blk_at(g, 0);
    for (uint32_t i = 0; i < p->ncap; i++)
        if (b->params.d[tr_pat_param(p, TR_LAM, P_CAP) + i] == y)
            return in->args[tr_pat_at(p, P_CAP) + i];
    return TR_NOVAL;
}

/* A capture that a pattern reaches: some elements of it, which ones is not looked at. */
static void add_capture(finder *s, tr_val v, tr_val x, const tr_access *a) {
    uint32_t first = s->all.n;
    if (!a->reads && !a->writes)
        return;
    if (tr_at(s->f, x)->ty->kind == TR_TY_ARRAY)
        add(s, v, x, a->writes, NULL, TR_NOVAL);
    else
        add_somewhere(s, v, x, a->writes);
    for (uint32_t i = first; i < s->all.n; i++) {
        s->all.d[i].always = false;
        s->all.d[i].vague = true;
    }
}

static void add_pattern(finder *s, tr_val v, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    tr_summary sum = tr_pat_summary(s->l->p, p);
    for (uint32_t k = 0; k < p->ncap; k++)
        add_capture(s, v, in->args[tr_pat_at(p, P_CAP) + k], &sum.caps[k]);
    for (uint32_t k = 0; k < in->nargs; k++) {
        unsigned memory = tr_role_info[tr_pat_role(p, k)].memory;
        if (memory == TR_MEM_UPDATE)
            add_capture(s, v, in->args[k], &(tr_access){.reads = TR_REACH_ANY, .writes = TR_REACH_ANY});
        else if (memory == TR_MEM_READ || memory == TR_MEM_WRITE)
            add(s, v, in->args[k], memory == TR_MEM_WRITE, NULL,
                tr_pat_role(p, k) == P_OUT ? filled_with(in, k - tr_pat_at(p, P_OUT)) : TR_NOVAL);
    }
}

static void add_ins(finder *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    switch ((tr_op)in->op) {
    case TR_OP_LOAD: add(s, v, in->args[0], false, in->args + 1, TR_NOVAL); break;
    case TR_OP_STORE: add(s, v, in->args[0], true, in->args + 1, in->args[in->nargs - 1]); break;
    case TR_OP_PATTERN: add_pattern(s, v, in); break;
    case TR_OP_OVERLAP: /* what is read next, itself or a copy of it */
        add(s, v, in->args[1], false, NULL, TR_NOVAL);
        break;
    case TR_OP_CALL:
    case TR_OP_CALLRT:
    case TR_OP_CALLX:
        for (uint32_t k = 0; k < in->nargs; k++)
            add_somewhere(s, v, in->args[k], tr_ins_effects(in) & E_WRITE);
        break;
    default: break;
    }
}

/* --- two accesses --- */

/* DECIDED: by a number that is known before the loop. COMPARED: two slices, by where they lie then. COMPUTED:
 * all places can be computed before it. PERHAPS_ONE: they go to different values, which may be one array. */
typedef enum relation { APART, PERHAPS_ONE, POSSIBLE, COMPUTED, COMPARED, DECIDED, SURE } relation;

typedef struct meeting {
    bool sure, counts, dist_known, point; /* counts: some axis depends on the counter */
    tr_wide dist;                         /* x happens so many iterations after w */
    bool decided;                         /* x happens `by` iterations after w, or before */
    tr_lin by;
    tr_val around; /* of an index that goes along by one and may be negative: its size; or TR_NOVAL */
    /* ranges that move meet in iterations that are so far apart, and perhaps in others; 0: none do */
    int near;
} meeting;

/* The counter's part of e: its factor; *other: values that vary in another way; *scaled: multiples of
 * the counter by a value from outside. */
static int64_t counter_part(const finder *s, const tr_lin *e, bool *other, bool *scaled) {
    int64_t k = 0;
    *other = *scaled = false;
    for (uint32_t i = 0; i < e->n; i++) {
        tr_val v = e->t[i].v;
        const tr_ins *m = tr_at(s->f, v);
        if (v == s->l->counter)
            k = e->t[i].k;
        else if (tr_ploop_varies(s->l, v) && m->op == TR_OP_MUL && m->args[0] == s->l->counter &&
                 !tr_ploop_varies(s->l, m->args[1]))
            *scaled = true;
        else if (tr_ploop_varies(s->l, v))
            *other = true;
    }
    return k;
}

/* A counter of a loop inside, from a constant by one. */
static bool is_inner_counter(const finder *s, tr_val v) {
    const tr_fn *f = s->f;
    const tr_ins *in = tr_at(f, v);
    tr_counter c;
    if (in->op != TR_OP_PARAM || tr_forest_headed(s->l->loops, in->blk) == TR_NOLOOP ||
        !tr_loop_counter(f, in->blk, v, &c) || !tr_is_int(f, c.step, 1))
        return false;
    for (tr_way w = {0}; tr_next_way(f, in->blk, &w);)
        if (!tr_dominates(f, in->blk, w.from) && tr_ploop_varies(s->l, w.edge->args[tr_param_index(f, v)]))
            return false;
    return true;
}

/* Both range over the same indices in every iteration: the same expression of inner
 * counters, or one a few items on. */
static bool same_span(const finder *s, const tr_lin *e, const tr_lin *diff) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if (!tr_ploop_varies(s->l, e->t[i].v))
            continue;
        if (!is_inner_counter(s, e->t[i].v))
            return false;
        n++;
    }
    bool near = n == 1 && diff->c >= -INNER_NEAR && diff->c <= INNER_NEAR;
    return diff->n == 0 && (diff->c == 0 || near);
}

/* In which iteration does k*i + c equal a number that does not vary? */
static relation meet_at_point(const finder *s, tr_wide k, tr_wide c, meeting *m) {
    int64_t n;
    bool known = tr_get_int(s->f, s->l->length, &n);
    tr_wide i = -c / k;
    if (i * k + c != 0 || i < 0 || (known && i >= n))
        return APART;
    m->point = true;
    m->sure = m->sure && i < NEAR;
    return POSSIBLE;
}

/* e as m * x? */
static bool is_multiple(finder *s, const tr_lin *e, tr_val m, tr_lin *x) {
    *x = tr_lin_const(0);
    for (uint32_t i = 0; i < e->n; i++) {
        const tr_ins *p = tr_at(s->f, e->t[i].v);
        tr_lin by = tr_lin_const(1);
        bool left = p->op == TR_OP_MUL && p->args[0] == m, right = p->op == TR_OP_MUL && p->args[1] == m;
        if (e->t[i].v != m && !left && !right)
            return false;
        if (e->t[i].v != m)
            by = tr_coords_index(&s->views, p->args[left ? 1 : 0]);
        if (!tr_lin_add(x, &by, e->t[i].k))
            return false;
    }
    return e->n && e->c == 0;
}

/* The same for some m from outside of the loop; where m is known already, for that. It is
 * taken to be positive: of slices of other blocks, of which none is before the first, all
 * but those of the first one are empty. */
static bool as_multiple(finder *s, const tr_lin *e, tr_val *m, tr_lin *x) {
    tr_lin of = *e;
    if (*m != TR_NOVAL)
        return is_multiple(s, &of, *m, x);
    const tr_ins *p = of.n ? tr_at(s->f, of.t[0].v) : NULL;
    for (uint32_t i = 0; p && i < (p->op == TR_OP_MUL ? 3 : 1); i++) {
        *m = i < 2 && p->op == TR_OP_MUL ? p->args[i] : of.t[0].v;
        if (!tr_ploop_varies(s->l, *m) && is_multiple(s, &of, *m, x))
            return true;
    }
    *m = TR_NOVAL;
    return false;
}

/* Two ranges, or an index and a range; an index is a range of one. */
typedef struct ranges {
    tr_lin w, wend, x, xend;
} ranges;

static tr_lin next_of(tr_lin e) {
    e.c++;
    return e;
}

static bool find_ends(const axis *w, const axis *x, ranges *r) {
    *r = (ranges){w->e, w->range ? w->end : next_of(w->e), x->e, x->range ? x->end : next_of(x->e)};
    return (w->has_end || !w->range) && (x->has_end || !x->range);
}

/* The same in units of what all bounds are multiples of: blocks of m items. */
static bool ranges_in_blocks(finder *s, ranges *r) {
    tr_val m = TR_NOVAL;
    return as_multiple(s, &r->w, &m, &r->w) && as_multiple(s, &r->x, &m, &r->x) &&
           as_multiple(s, &r->wend, &m, &r->wend) && as_multiple(s, &r->xend, &m, &r->xend) &&
           not_negative(s, &r->w) && not_negative(s, &r->x); /* others count from the end */
}

/* Ranges that move alike: x is d items before w in the same iteration, both go k items on
 * in each, and have nw and nx items. */
typedef struct moving {
    tr_wide k, d, nw, nx;
} moving;

static bool ranges_move_alike(const finder *s, const ranges *r, moving *m) {
    bool ow, ox, sw, sx;
    tr_lin d = r->w, nw = r->wend, nx = r->xend;
    if (!tr_lin_add(&d, &r->x, -1) || !tr_lin_add(&nw, &r->w, -1) || !tr_lin_add(&nx, &r->x, -1))
        return false;
    *m = (moving){counter_part(s, &r->w, &ow, &sw), d.c, nw.c, nx.c};
    counter_part(s, &r->x, &ox, &sx);
    return !d.n && !nw.n && !nx.n && !ow && !ox && !sw && !sx;
}

/* Do they keep out of each other's way in different iterations? (A range that ends before it
 * starts may have one end that wraps.) */
static bool ranges_keep_apart(const moving *m) {
    if (m->nw < 0 || m->nx < 0)
        return false;
    tr_wide k = m->k < 0 ? -m->k : m->k;
    return k ? k + m->d >= m->nx && k - m->d >= m->nw : m->d >= m->nx || -m->d >= m->nw;
}

/* How many iterations after w's do they meet, for instance; 0: nothing is known. */
static int meet_near(const moving *m) {
    for (int i = 1; m->k && i <= NEAR; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            tr_wide far = m->d - sign * i * m->k;
            if (far < m->nx && far > -m->nw)
                return sign * i;
        }
    return 0;
}

/* An axis of an array. */
typedef struct side {
    tr_val root;
    unsigned k;
} side;

static bool is_size_of_side(const finder *s, tr_val v, const side *of) {
    const tr_ins *in = tr_at(s->f, v);
    return in->op == TR_OP_DIM && in->args[0] == of->root && in->imm.i == of->k;
}

/* Is it the axis from item `from` on? */
static bool goes_to_end(finder *s, const axis *a, const side *of, tr_wide *from) {
    if (!a->range || !a->exact || a->size == TR_NOVAL || a->e.n || a->e.c < 0)
        return false;
    tr_lin rest = tr_linearize(&s->pr, a->size);
    bool all = (a->size == of->root && a->e.c == 0) ||
               (rest.n == 1 && rest.t[0].k == 1 && rest.c == -a->e.c && is_size_of_side(s, rest.t[0].v, of));
    bool end = a->has_end && a->end.n == 1 && a->end.c == 0 && a->end.t[0].k == 1 &&
               is_size_of_side(s, a->end.t[0].v, of);
    *from = a->e.c;
    return all || end;
}

/* Do they meet on this axis whichever the iterations are? One has all of it from an item
 * on, the other an item there, or more. */
static bool axes_meet_anyhow(finder *s, const axis *w, const axis *x, const side *of) {
    tr_wide from, other;
    for (unsigned k = 0; k < 2; k++) {
        const axis *a = k ? x : w, *b = k ? w : x;
        if (!goes_to_end(s, a, of, &from))
            continue;
        if (goes_to_end(s, b, of, &other) && from == other)
            return true;
        if (!b->range && (from == 0 || (b->e.n == 0 && b->e.c >= from && !b->wraps)))
            return true;
    }
    return false;
}

/* The value of e in iteration i; false: it depends on more than that. */
static bool value_in_iteration(const finder *s, const tr_lin *e, tr_wide i, tr_wide *out) {
    *out = e->c;
    if (e->n == 1 && e->t[0].v == s->l->counter)
        *out += e->t[0].k * i;
    return e->n == 0 || (e->n == 1 && e->t[0].v == s->l->counter);
}

/* How many iterations after w's does x meet it first, among the first of them? 0: not
 * there, or nothing is known. */
static int meet_soon(const finder *s, const ranges *r) {
    int best = 0;
    for (int i = 0; i <= NEAR; i++)
        for (int j = 0; j <= NEAR; j++) {
            tr_wide w, wend, x, xend;
            if (i == j)
                continue;
            if (!value_in_iteration(s, &r->w, i, &w) || !value_in_iteration(s, &r->wend, i, &wend) ||
                !value_in_iteration(s, &r->x, j, &x) || !value_in_iteration(s, &r->xend, j, &xend))
                return 0;
            int far = j - i, size = far < 0 ? -far : far, least = best < 0 ? -best : best;
            bool meet = w >= 0 && x >= 0 && w < xend && x < wend && w < wend && x < xend;
            best = meet && (!best || size < least) ? far : best;
        }
    return best;
}

static relation meet_in_range(finder *s, const axis *w, const axis *x, const side *of, meeting *m) {
    bool ow, ox, sw, sx;
    int64_t kw = counter_part(s, &w->e, &ow, &sw), kx = counter_part(s, &x->e, &ox, &sx);
    bool counts = kw || kx || sw || sx;
    ranges r, blocks;
    moving mv;
    if (axes_meet_anyhow(s, w, x, of))
        return POSSIBLE;
    if (find_ends(w, x, &r)) {
        blocks = r;
        if (w->range && x->range && ranges_in_blocks(s, &blocks) && ranges_move_alike(s, &blocks, &mv) &&
            ranges_keep_apart(&mv))
            return APART;
        if (ranges_move_alike(s, &r, &mv)) {
            if (ranges_keep_apart(&mv))
                return APART;
            int near = !m->near && w->exact && x->exact ? meet_near(&mv) : 0;
            m->near = near ? near : m->near;
            if (near)
                return POSSIBLE;
        }
        int soon = !m->near && w->exact && x->exact && !w->wraps && !x->wraps ? meet_soon(s, &r) : 0;
        if (soon) {
            m->near = soon;
            return POSSIBLE;
        }
    }
    m->counts = m->counts || counts;
    m->sure = m->sure && !counts && !ow && !ox && w->exact && x->exact && w->size == x->size &&
              tr_lin_same(&w->e, &x->e);
    return POSSIBLE;
}

static bool expr_is_from_outside(const finder *s, const tr_lin *e) {
    for (uint32_t i = 0; i < e->n; i++)
        if (tr_ploop_varies(s->l, e->t[i].v))
            return false;
    return true;
}

/* Both go along by one item an iteration, and so far from each other as values from outside say. */
static void meet_by_distance(const finder *s, const tr_lin *d, int64_t k, meeting *m) {
    m->sure = m->sure && !m->decided && (k == 1 || k == -1) && expr_is_from_outside(s, d);
    m->decided = true;
    m->by = *d;
}

/* What bounds has left of negative indices may be one. */
static void note_around(const finder *s, const axis *w, const axis *x, meeting *m) {
    const axis *both[] = {w, x};
    for (unsigned k = 0; k < 2; k++)
        if (both[k]->around != TR_NOVAL && !tr_ploop_varies(s->l, both[k]->around))
            m->around = both[k]->around;
}

static relation meet_at_index(const finder *s, const axis *w, const axis *x, meeting *m) {
    bool ow, ox, sw, sx;
    tr_lin d = w->e;
    if (!tr_lin_add(&d, &x->e, -1)) {
        m->sure = false;
        return POSSIBLE;
    }
    int64_t kw = counter_part(s, &w->e, &ow, &sw), kx = counter_part(s, &x->e, &ox, &sx);
    bool counts = kw || kx || sw || sx;
    m->counts = m->counts || counts;
    if (ow || ox) {
        m->sure = m->sure && !counts && same_span(s, &w->e, &d);
        return POSSIBLE;
    }
    if (d.n == 0 && !counts)
        return d.c == 0 ? POSSIBLE : APART;
    if (d.n == 0 && d.c == 0 && !sw && !sx)
        return APART;
    if (kw == kx && (kw == 1 || kw == -1))
        note_around(s, w, x, m);
    if (d.n == 0 && !sw && !sx) {
        if (d.c % kw || (m->dist_known && m->dist != d.c / kw))
            return APART;
        m->dist_known = true;
        m->dist = d.c / kw;
        return POSSIBLE;
    }
    if (d.n == 1 && d.t[0].v == s->l->counter && (!kw || !kx) && !sw && !sx)
        return meet_at_point(s, d.t[0].k, d.c, m);
    if (kw == kx && !sw && !sx)
        meet_by_distance(s, &d, kw, m);
    else
        m->sure = false;
    return POSSIBLE;
}

/* May the counter's index, beginning below 0, reach the item where it began? Not in a loop over as
 * many iterations as there are items. */
static bool index_comes_round(finder *s, const axis *a) {
    if (!a->wraps)
        return false;
    if (a->around == TR_NOVAL)
        return true;
    tr_lin n = tr_linearize(&s->pr, a->around), length = tr_linearize(&s->pr, s->l->length);
    return !tr_lin_same(&n, &length);
}

static relation meet_on_axis(finder *s, const axis *w, const axis *x, const side *of, meeting *m) {
    relation r = w->range || x->range ? meet_in_range(s, w, x, of, m) : meet_at_index(s, w, x, m);
    if (r == APART && (w->wraps || x->wraps) &&
        (!tr_lin_same(&w->e, &x->e) || index_comes_round(s, w) || index_comes_round(s, x))) {
        m->sure = false;
        return POSSIBLE;
    }
    return r;
}

static bool may_be_one(finder *s, tr_val a, tr_val b) {
    if (a == b || (!tr_array_is_chosen(s->f, a) && !tr_array_is_chosen(s->f, b)))
        return a == b;
    return tr_sources_meet(s->f, sources_of(s, a), sources_of(s, b));
}

static bool is_whole(finder *s, const axis *a, tr_val root, unsigned k) {
    tr_wide from;
    return goes_to_end(s, a, &(side){root, k}, &from) && from == 0;
}

/* Do they go to elements of one item of a list for sure, a few iterations apart? */
static bool meet_in_item(finder *s, const access *w, const access *x, meeting *m) {
    *m = (meeting){.sure = w->always && x->always, .around = TR_NOVAL};
    if (!m->sure || w->list == TR_NOVAL || w->list != x->list || w->n != x->n || w->hi <= x->lo ||
        x->hi <= w->lo || meet_at_index(s, &w->place, &x->place, m) == APART || !m->dist || m->dist > NEAR ||
        m->dist < -NEAR)
        return false;
    for (uint32_t k = 0; k < w->n; k++) {
        const axis *a = &w->ax[k], *b = &x->ax[k];
        bool all = is_whole(s, a, w->root, k), other = is_whole(s, b, x->root, k);
        if ((all && (other || !b->range)) || (other && !a->range))
            continue;
        if (a->range || b->range || meet_at_index(s, a, b, m) == APART)
            return false;
    }
    return m->sure && m->dist_known && !m->point && !m->decided;
}

static bool place_says_data(const finder *s, const tr_lin *e) {
    bool data = false;
    for (uint32_t i = 0; i < e->n; i++)
        data = data || (!is_inner_counter(s, e->t[i].v) && tr_inspect_says_data(s->l, e->t[i].v));
    return data;
}

/* May they go to an element of one item of a list in different iterations, as far as their places tell? */
static bool may_meet_in_item(finder *s, const access *w, const access *x) {
    meeting m = {.around = TR_NOVAL};
    if (w->list == TR_NOVAL || w->list != x->list || w->n != x->n || (w->known && x->known) ||
        w->hi <= x->lo || x->hi <= w->lo || (x->write && w->value != TR_NOVAL && w->value == x->value) ||
        meet_on_axis(s, &w->place, &x->place, &(side){TR_NOVAL, 0}, &m) == APART)
        return false;
    for (uint32_t k = 0; k < w->n; k++)
        if (meet_on_axis(s, &w->ax[k], &x->ax[k], &(side){w->root, k}, &m) == APART)
            return false;
    return !place_says_data(s, &w->place.e) && !place_says_data(s, &x->place.e);
}

static relation relate_by_numbers(finder *s, const access *w, const access *x, meeting *m) {
    int64_t n;
    bool known = tr_get_int(s->f, s->l->length, &n);
    *m = (meeting){.sure = w->always && x->always, .around = TR_NOVAL};
    if ((known && n <= 1) || !may_be_one(s, w->root, x->root))
        return APART;
    if (meet_in_item(s, w, x, m))
        return SURE;
    *m = (meeting){.sure = w->always && x->always, .around = TR_NOVAL};
    if (w->root != x->root)
        return PERHAPS_ONE;
    if (!w->known || !x->known || w->space != x->space || w->flat != x->flat)
        return POSSIBLE;
    if (w->hi <= x->lo || x->hi <= w->lo) /* two fields */
        return APART;
    for (uint32_t k = 0; k < w->n; k++)
        if (meet_on_axis(s, &w->ax[k], &x->ax[k], &(side){w->flat ? TR_NOVAL : w->space, k}, m) == APART)
            return APART;
    tr_wide far = m->dist < 0 ? -m->dist : m->dist;
    bool round = m->around != TR_NOVAL;
    if (m->dist_known && known && far >= n && !round)
        return APART;
    if (!m->counts && x->write && w->value != TR_NOVAL && w->value == x->value)
        return APART; /* all store the same number */
    if (m->decided)
        return m->sure && !m->dist_known && !m->point && !m->near ? DECIDED : POSSIBLE;
    if (m->sure && m->dist_known && far > NEAR && !m->point && !m->near && (!known || far >= n)) {
        m->by = tr_lin_const(m->dist); /* the number of iterations decides */
        return DECIDED;
    }
    bool meets = m->dist_known ? known || far <= NEAR : m->point || !m->counts;
    if (m->near) /* in which iterations another axis meets is not looked at */
        meets = !m->dist_known && !m->point && !m->counts;
    return m->sure && meets ? SURE : POSSIBLE;
}

/* --- slices whose places only the running program knows --- */

static tr_pplace place_of(const axis *a) {
    tr_pplace p = {.from = a->e, .to = a->range ? a->end : next_of(a->e), .to_end = a->range && !a->has_end};
    p.wraps = a->ends;
    p.nwraps = a->nends;
    return p;
}

/* The same in every iteration: made of counters of loops inside and values from outside. */
static bool axis_is_still(const finder *s, const axis *a) {
    const tr_lin *e[] = {&a->e, &a->end};
    for (unsigned k = 0; k < (a->range && a->has_end ? 2 : 1); k++)
        for (uint32_t i = 0; i < e[k]->n; i++)
            if (tr_ploop_varies(s->l, e[k]->t[i].v) &&
                (e[k]->t[i].v == s->l->counter || !is_inner_counter(s, e[k]->t[i].v)))
                return false;
    return !a->range || (a->size != TR_NOVAL && (a->has_end || !tr_ploop_varies(s->l, a->size)));
}

/* Is it one item after another, as far as that is seen? */
static bool is_one_piece(const axis *a, tr_val space) {
    return !a->range || (a->step == 1 && !a->some && (a->has_end || a->size == space));
}

/* Nothing that is known when the loop begins is to be asked of this axis: it does not keep
 * iterations apart. */
static bool axis_parts_no_iterations(const finder *s, const axis *w, const axis *x, tr_val space) {
    if (!axis_is_still(s, w) || !axis_is_still(s, x))
        return false;
    bool same = w->range == x->range && tr_lin_same(&w->e, &x->e) &&
                (!w->range || (w->size == x->size && w->step == x->step));
    return same || !is_one_piece(w, space) || !is_one_piece(x, space) || !expr_is_from_outside(s, &w->e) ||
           !expr_is_from_outside(s, &x->e);
}

/* Do numbers tell all that is to be known of these two? Then nothing is to be found out
 * when the program runs. */
static bool axes_differ_by_numbers(const finder *s, const axis *w, const axis *x) {
    ranges r;
    moving m;
    return find_ends(w, x, &r) && ranges_move_alike(s, &r, &m);
}

/* What there is to compare; false: some axis may keep them apart in a way that is not known
 * before the loop. */
static bool can_compare_accesses(finder *s, const access *w, const access *x, tr_pspans *out) {
    bool any = false;
    *out = (tr_pspans){.space = w->space, .flat = w->flat, .sure = w->always && x->always};
    for (uint32_t k = 0; k < w->n; k++) {
        const axis *a = &w->ax[k], *b = &x->ax[k];
        tr_pspan *p = &out->ax[out->n];
        if (axis_parts_no_iterations(s, a, b, w->space)) {
            meeting m = {.sure = true, .around = TR_NOVAL};
            meet_on_axis(s, a, b, &(side){w->flat ? TR_NOVAL : w->space, k}, &m);
            out->sure = out->sure && m.sure && !m.counts && !m.decided && !m.dist_known && !m.point &&
                        !m.near && (!a->range || !tr_ploop_varies(s->l, a->size));
            if (a->range && a->size != w->space)
                out->some[out->nsome++] = a->size;
            continue;
        }
        *p = (tr_pspan){place_of(a), place_of(b), k};
        if (!is_one_piece(a, w->space) || !is_one_piece(b, w->space) || !tr_span_place(s->l, &s->pr, &p->w) ||
            !tr_span_place(s->l, &s->pr, &p->x))
            return false;
        any = any || !axes_differ_by_numbers(s, a, b);
        out->sure = out->sure && !a->cut && !b->cut;
        out->n++;
    }
    out->sure = out->sure && out->n == 1;
    return any;
}

/* Is a place made of more than the counter, numbers from outside and what loops inside count? So it is where
 * a number may count from the end, or is clamped. */
static bool place_is_computed(const finder *s, const access *a) {
    bool any = false;
    for (uint32_t k = 0; k < a->n; k++) {
        const tr_lin *e[] = {&a->ax[k].e, &a->ax[k].end};
        any = any || a->ax[k].wraps ||
              (a->ax[k].range && a->ax[k].step == 1 && (a->ax[k].some || a->ax[k].nends || a->ax[k].cut));
        for (uint32_t j = 0; j < (a->ax[k].range && a->ax[k].has_end ? 2u : 1u); j++)
            for (uint32_t i = 0; i < e[j]->n; i++) {
                tr_val v = e[j]->t[i].v;
                any = any || (tr_ploop_varies(s->l, v) && v != s->l->counter && !is_inner_counter(s, v));
            }
    }
    return any;
}

static bool has_inner_counter(const finder *s, const tr_lin *e) {
    bool any = false;
    for (uint32_t i = 0; i < e->n; i++)
        any = any || is_inner_counter(s, e->t[i].v);
    return any;
}

/* Is it one place for both, made with the counter of a loop inside, whose length decides? */
static bool is_one_place(const finder *s, const access *w, const access *x) {
    bool inner = false;
    for (uint32_t k = 0; k < w->n; k++) {
        const axis *a = &w->ax[k], *b = &x->ax[k];
        if (a->range != b->range || !tr_lin_same(&a->e, &b->e) || (a->range && a->size != b->size))
            return false;
        inner =
            inner || has_inner_counter(s, &a->e) || (a->range && a->has_end && has_inner_counter(s, &a->end));
    }
    return inner;
}

static bool place_depends_on_data(const finder *s, access *a) {
    if (a->says == UNASKED)
        a->says = tr_inspect_is_data(s->l, &a->touch) ? DATA : PLAIN;
    return a->says == DATA;
}

static bool can_inspect_accesses(const finder *s, access *w, access *x) {
    return (place_is_computed(s, w) || place_is_computed(s, x) || is_one_place(s, w, x)) &&
           !place_depends_on_data(s, w) && !place_depends_on_data(s, x);
}

/* p: what there is to compare, where that is what comes out. */
static relation relate(finder *s, access *w, access *x, meeting *m, tr_pspans *p) {
    relation r = relate_by_numbers(s, w, x, m);
    if (r != POSSIBLE)
        return r;
    if (x->write && w->value != TR_NOVAL && w->value == x->value)
        return APART; /* all store the same number */
    bool seen = w->known && x->known && w->space == x->space && w->flat == x->flat && !w->vague && !x->vague;
    if (!seen)
        return r;
    return can_compare_accesses(s, w, x, p) ? COMPARED : can_inspect_accesses(s, w, x) ? COMPUTED : r;
}

/* --- together --- */

static bool pair_is_tested(const tr_ploop *l, const access *w, const access *x) {
    for (uint32_t i = 0; i < l->tests.n; i++)
        if (l->tests.d[i].write == w->at && l->tests.d[i].other == x->at && l->tests.d[i].array == w->root)
            return true;
    return false;
}

/* In place: `views` refers to the prover. */
static void find_accesses(finder *s, const tr_ploop *l) {
    *s = (finder){.l = l, .f = l->f, .pr = tr_prover_new(l->f)};
    s->pr.guess = true;
    s->views = (tr_coords_loop){&s->pr, l->in, TR_NOVAL, TR_NOVAL};
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(l->f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(l->f, v)->next)
            add_ins(s, v);
}

static tr_pdepend found_between(const access *w, const access *x, relation r, const meeting *m) {
    return (tr_pdepend){.sure = r == SURE,
                        .decided = r == DECIDED,
                        .compares = r == COMPARED,
                        .computes = r == COMPUTED,
                        .by = m->by,
                        .around = m->around,
                        .write = w->at,
                        .other = x->at,
                        .array = w->root,
                        .perhaps_one = r == PERHAPS_ONE,
                        .other_writes = x->write,
                        .dist_known = m->dist_known || m->near,
                        .dist = m->near ? m->near : (int64_t)m->dist,
                        .every = !m->counts && !m->near};
}

bool tr_ploop_dependence(const tr_ploop *l, tr_pdepend *out) {
    finder s;
    find_accesses(&s, l);
    *out = (tr_pdepend){.write = TR_NOVAL};
    relation found = s.all.n == MAX_ACCESSES ? POSSIBLE : APART;
    for (uint32_t i = 0; i < s.all.n; i++)
        for (uint32_t k = 0; k < s.all.n && s.all.d[i].write; k++) {
            access *w = &s.all.d[i], *x = &s.all.d[k];
            meeting m;
            tr_pspans p;
            relation r = x->write && k < i ? APART : relate(&s, w, x, &m, &p);
            if (r <= found || (r == DECIDED && pair_is_tested(l, w, x)) ||
                (r == COMPARED && l->compared[w->root]) || (r == COMPUTED && l->inspected[w->root]))
                continue;
            found = r;
            *out = found_between(w, x, r, &m);
            if (r == SURE)
                return true;
        }
    return found != APART;
}

bool tr_ploop_goes_in_order(const tr_ploop *l, tr_pdepend *out) {
    finder s;
    meeting m;
    bool found = false;
    find_accesses(&s, l);
    for (uint32_t i = 0; i < s.all.n; i++)
        for (uint32_t k = 0; k < s.all.n && s.all.d[i].write; k++) {
            access *w = &s.all.d[i], *x = &s.all.d[k];
            if (meet_in_item(&s, w, x, &m))
                return false;
            if (found || !may_meet_in_item(&s, w, x))
                continue;
            found = true;
            *out = found_between(w, x, POSSIBLE, &m);
        }
    return found;
}

static bool spans_are_known(const tr_ploop *l, const tr_pspans *p) {
    for (uint32_t i = 0; i < l->spans.n; i++) {
        const tr_pspans *q = &l->spans.d[i];
        bool same = q->space == p->space && q->flat == p->flat && q->n == p->n && q->sure >= p->sure;
        for (uint32_t k = 0; same && k < p->n; k++)
            same = q->ax[k].axis == p->ax[k].axis && tr_span_same(&q->ax[k].w, &p->ax[k].w) &&
                   tr_span_same(&q->ax[k].x, &p->ax[k].x);
        if (same)
            return true;
    }
    return false;
}

/* Two accesses to one array of which one writes, one pair after the other: i, k are the next ones. */
typedef struct pairs {
    finder s;
    uint32_t i, k;
    access *w, *x;
    meeting m;
    tr_pspans p;
} pairs;

static bool next_pair(pairs *q, tr_val array, relation how) {
    for (; q->i < q->s.all.n; q->i++, q->k = 0) {
        q->w = &q->s.all.d[q->i];
        while (q->w->write && q->w->root == array && q->k < q->s.all.n) {
            q->x = &q->s.all.d[q->k++];
            if (!(q->x->write && q->k <= q->i) && relate(&q->s, q->w, q->x, &q->m, &q->p) == how)
                return true;
        }
    }
    return false;
}

bool tr_ploop_compare(tr_ploop *l, tr_val array) {
    assert(tr_at(l->f, array)->ty->kind == TR_TY_ARRAY && "an array's slices");
    pairs q = {.i = 0};
    find_accesses(&q.s, l);
    l->compared[array] = 1;
    while (next_pair(&q, array, COMPARED)) {
        q.p.d = found_between(q.w, q.x, DECIDED, &q.m);
        q.p.d.dist_known = q.p.d.every = false;
        if (spans_are_known(l, &q.p))
            continue;
        if (l->spans.n == MAX_SPANS)
            return false;
        tr_vec_push(&l->f->ctx->arena, &l->spans, q.p);
    }
    return true;
}

static void add_touch(tr_ploop *l, tr_pinspect *out, const access *a) {
    for (uint32_t i = 0; i < out->all.n; i++)
        if (out->all.d[i].array == a->touch.array && out->all.d[i].idx == a->touch.idx &&
            out->all.d[i].blk == a->touch.blk)
            return;
    tr_vec_push(&l->f->ctx->arena, &out->all, a->touch);
}

void tr_ploop_inspect(tr_ploop *l, tr_val array) {
    pairs q = {.i = 0};
    tr_pinspect out = {.array = array};
    find_accesses(&q.s, l);
    l->inspected[array] = 1;
    while (next_pair(&q, array, COMPUTED)) {
        add_touch(l, &out, q.w);
        add_touch(l, &out, q.x);
    }
    tr_vec_push(&l->f->ctx->arena, &l->inspects, out);
}

/* --- arrays that may share memory --- */

static bool arrays_may_share(finder *s, tr_val a, tr_val b) {
    return tr_sources_share(s->f, sources_of(s, a), sources_of(s, b));
}

static bool access_wraps(const access *a) {
    bool any = false;
    for (uint32_t k = 0; k < a->n; k++)
        any = any || a->ax[k].wraps;
    return any;
}

/* If their arrays are the same, element for element, do they meet? */
static bool meet_as_one(finder *s, access *w, const access *x) {
    const tr_ty *t = tr_at(s->f, w->root)->ty, *u = tr_at(s->f, x->root)->ty;
    access y = *x;
    meeting m;
    tr_pspans p;
    if (!w->known || !x->known || w->space != w->root || x->space != x->root || t->ndim != u->ndim ||
        access_wraps(w) || access_wraps(x))
        return true;
    y.root = w->root;
    y.space = w->space;
    return relate(s, w, &y, &m, &p) != APART;
}

/* Adds the arrays that the loop writes, or the others that it reads. */
static void add_arrays(const finder *s, bool written, tr_pshared *out) {
    for (uint32_t i = 0; i < s->all.n; i++) {
        tr_val root = s->all.d[i].root;
        bool known = s->all.d[i].write != written || tr_ploop_varies(s->l, root) ||
                     tr_at(s->f, root)->ty->kind != TR_TY_ARRAY;
        for (uint32_t k = 0; k < out->arrays.n && !known; k++)
            known = out->arrays.d[k] == root;
        if (!known)
            tr_vec_push(&s->f->ctx->arena, &out->arrays, root);
    }
    out->written = written ? out->arrays.n : out->written;
}

/* Does no access to a and one to b, one of them a store, meet another's iteration where the
 * arrays are the same? */
static bool keep_to_their_own(finder *s, tr_val a, tr_val b) {
    for (uint32_t i = 0; i < s->all.n; i++)
        for (uint32_t k = 0; k < s->all.n && s->all.d[i].write; k++) {
            access *w = &s->all.d[i], *x = &s->all.d[k];
            if (((w->root == a && x->root == b) || (w->root == b && x->root == a)) && meet_as_one(s, w, x))
                return false;
        }
    return true;
}

static bool array_meets_some(finder *s, const tr_pshared *p, uint32_t at) {
    for (uint32_t k = 0; k < p->arrays.n; k++)
        if (k != at && (k < p->written || at < p->written) &&
            arrays_may_share(s, p->arrays.d[at], p->arrays.d[k]))
            return true;
    return false;
}

/* Leaves those that may share memory with another. */
static void drop_alone(finder *s, tr_pshared *p) {
    for (uint32_t i = p->arrays.n; i-- > 0;) {
        if (array_meets_some(s, p, i))
            continue;
        p->arrays.n--;
        p->written -= i < p->written;
        for (uint32_t k = i; k < p->arrays.n; k++)
            p->arrays.d[k] = p->arrays.d[k + 1];
    }
}

bool tr_ploop_shared(tr_ploop *l) {
    finder s;
    find_accesses(&s, l);
    tr_pshared p = {.written = 0};
    uint64_t bit = 1;
    add_arrays(&s, true, &p);
    add_arrays(&s, false, &p);
    drop_alone(&s, &p);
    if (p.arrays.n > TR_MEET_MAX || s.all.n == MAX_ACCESSES)
        return false;
    for (uint32_t i = 0; i < p.written; i++)
        for (uint32_t k = i + 1; k < p.arrays.n; k++, bit <<= 1)
            p.same |= keep_to_their_own(&s, p.arrays.d[i], p.arrays.d[k]) ? bit : 0;
    l->shared = p;
    return true;
}
