/* Dependences of a prange loop through memory: do two iterations touch one element, of which at least one writes it?
 *
 * Every access to an array from outside is described by one linear expression per axis (and one for the offset of each view that is made
 * inside): over the loop's counter, counters of inner loops, and values from outside. A pair is independent when some axis
 * keeps iterations apart; dependent, for sure, when both happen in every iteration and all axes meet in different ones. All else is
 * only possible. Wrapping of negative indices is looked through: it concerns single iterations.
 * Cost: pairs of a write and another access, MAX_ACCESSES of them at most. */
#include <string.h>

#include "opt/ploop.h"
#include "opt/prove.h"

enum { MAX_AXES = 10, MAX_ACCESSES = 400, NEAR = 16, INNER_NEAR = 4 };

typedef struct axis {
    tr_val key; /* TR_NOVAL: of the array itself; else the stride that a view's offset is a multiple of */
    tr_lin e;
    bool whole; /* every index of the axis is touched; `key` is then its size */
} axis;

typedef struct access {
    tr_val at, root;
    tr_val value; /* STORE: what is stored, if it comes from outside, else TR_NOVAL */
    bool write, always, known;
    uint32_t n;
    axis ax[MAX_AXES];
} access;

typedef struct finder {
    const tr_ploop *l;
    tr_fn *f;
    tr_prover pr;
    TR_VEC(access) all;
} finder;

static bool varies(const finder *s, tr_val v) {
    tr_bid b = tr_at(s->f, v)->blk;
    return b != TR_NOBLK && s->l->in[b];
}

/* --- describing an access --- */

static tr_lin linear(finder *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    return tr_linearize(&s->pr, in->op == TR_OP_WRAP ? in->args[0] : v);
}

static bool push_axis(access *x, axis a) {
    if (x->n == MAX_AXES)
        return false;
    x->ax[x->n++] = a;
    return true;
}

/* An offset as i * stride and what does not vary: two axes. */
static bool push_offset(finder *s, access *x, tr_val off) {
    tr_lin rest = tr_linearize(&s->pr, off);
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < rest.n; i++)
        if (varies(s, rest.t[i].v)) {
            if (found != UINT32_MAX)
                return false;
            found = i;
        }
    axis a = {.key = TR_NOVAL, .e = tr_lin_const(0)};
    if (found != UINT32_MAX) {
        tr_val v = rest.t[found].v;
        const tr_ins *m = tr_at(s->f, v);
        if (m->op != TR_OP_MUL || rest.t[found].k != 1)
            return false;
        uint32_t out = varies(s, m->args[0]) ? 1 : 0;
        if (varies(s, m->args[out]))
            return false;
        tr_lin whole = tr_lin_val(v);
        a = (axis){.key = m->args[out], .e = linear(s, m->args[1 - out])};
        if (!tr_lin_add(&rest, &whole, -1))
            return false;
    }
    return push_axis(x, a) && push_axis(x, (axis){.key = TR_NOVAL, .e = rest});
}

/* Offsets of the views between `a` and an array from outside, that array last; false when it is none. */
static bool push_views(finder *s, access *x, tr_val a) {
    x->root = a;
    x->known = true;
    while (varies(s, x->root)) {
        const tr_ins *v = tr_at(s->f, x->root);
        if (v->op != TR_OP_VIEW)
            return false;
        x->known = x->known && push_offset(s, x, v->args[1]);
        x->root = v->args[0];
    }
    return true;
}

static tr_val root_of(const tr_fn *f, tr_val v) {
    while (tr_at(f, v)->op == TR_OP_VIEW)
        v = tr_at(f, v)->args[0];
    return v;
}

/* Is there a way from the loop's head back to it that meets neither block b nor a cold one (unless all of the
 * loop is cold)? */
static bool way_around(const finder *s, const tr_loop *loop, tr_bid b) {
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

/* Does the block run in every iteration, as long as inner loops around it run at all, and all goes as it is expected to? */
static bool runs_always(const finder *s, tr_bid b) {
    const tr_ploop *l = s->l;
    uint32_t k = l->innermost[b];
    if (tr_blk_at(s->f, b)->cold && !tr_blk_at(s->f, l->header)->cold)
        return false;
    for (; k != UINT32_MAX; k = l->loops->d[k].parent) {
        if (way_around(s, &l->loops->d[k], b))
            return false;
        if (&l->loops->d[k] == l->loop)
            return true;
        b = l->loops->d[k].header;
    }
    return false;
}

static void add(finder *s, tr_val at, tr_val array, bool write, uint32_t nidx, const tr_val *idx,
                tr_val value) {
    access x = {.at = at, .write = write, .value = TR_NOVAL};
    if (s->all.n == MAX_ACCESSES || s->l->apart[root_of(s->f, array)] || !push_views(s, &x, array))
        return;
    x.always = runs_always(s, tr_at(s->f, at)->blk);
    if (value != TR_NOVAL && !varies(s, value))
        x.value = value;
    for (uint32_t k = 0; idx && k < nidx && x.known; k++)
        x.known = push_axis(&x, (axis){.key = TR_NOVAL, .e = linear(s, idx[k])});
    const tr_ins *v = tr_at(s->f, array);
    for (uint32_t k = 0; !idx && k < v->ty->ndim && x.known;
         k++) /* of an array from outside: the array is the size */
        x.known = push_axis(&x, (axis){.key = varies(s, array) ? v->args[2 + k] : array, .whole = true});
    x.root = root_of(s->f, x.root);
    tr_vec_push(&s->f->ctx->arena, &s->all, x);
}

static void add_unknown(finder *s, tr_val at, tr_val array) {
    access x = {.at = at, .write = true, .value = TR_NOVAL};
    if (s->all.n < MAX_ACCESSES && !s->l->apart[root_of(s->f, array)] && push_views(s, &x, array)) {
        x.known = false;
        x.root = root_of(s->f, x.root);
        tr_vec_push(&s->f->ctx->arena, &s->all, x);
    }
}

static void add_pattern(finder *s, tr_val v, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    for (uint32_t k = 0; k < p->nin + 0u + p->nout; k++)
        add(s, v, in->args[tr_pat_in(p) + k], k >= p->nin, 0, NULL, TR_NOVAL);
    for (uint32_t k = 0; k < p->nein + 0u + p->neout; k++)
        add(s, v, in->args[tr_pat_ein(p) + k], k >= p->nein, 0, NULL, TR_NOVAL);
}

static bool is_array(const finder *s, tr_val v) {
    return tr_at(s->f, v)->ty && tr_at(s->f, v)->ty->kind == TR_TY_ARRAY;
}

static void add_ins(finder *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    switch ((tr_op)in->op) {
    case TR_OP_LOAD: add(s, v, in->args[0], false, in->nargs - 1, in->args + 1, TR_NOVAL); break;
    case TR_OP_STORE:
        add(s, v, in->args[0], true, in->nargs - 2, in->args + 1, in->args[in->nargs - 1]);
        break;
    case TR_OP_PATTERN: add_pattern(s, v, in); break;
    case TR_OP_CALL:
    case TR_OP_CALLRT:
        for (uint32_t k = 0; k < in->nargs && tr_ins_effects(in) & E_WRITE; k++)
            if (is_array(s, in->args[k]) && !tr_at(s->f, in->args[k])->ty->readonly)
                add_unknown(s, v, in->args[k]);
        break;
    default: break;
    }
}

/* --- two accesses --- */

typedef enum relation { APART, POSSIBLE, SURE } relation;

typedef struct meeting {
    bool sure, counts, dist_known, point; /* counts: some axis depends on the counter */
    tr_wide dist;                         /* x happens so many iterations after w */
} meeting;

/* The counter's part of e: its factor; *other: values that vary in another way; *scaled: multiples of the counter by a value from
 * outside. */
static int64_t counter_part(const finder *s, const tr_lin *e, bool *other, bool *scaled) {
    int64_t k = 0;
    *other = *scaled = false;
    for (uint32_t i = 0; i < e->n; i++) {
        tr_val v = e->t[i].v;
        const tr_ins *m = tr_at(s->f, v);
        if (v == s->l->counter)
            k = e->t[i].k;
        else if (varies(s, v) && m->op == TR_OP_MUL && m->args[0] == s->l->counter && !varies(s, m->args[1]))
            *scaled = true;
        else if (varies(s, v))
            *other = true;
    }
    return k;
}

/* A counter of a loop inside, from a constant by one. */
static bool is_inner_counter(const finder *s, tr_val v) {
    const tr_fn *f = s->f;
    const tr_ins *in = tr_at(f, v);
    uint32_t k = in->op == TR_OP_PARAM ? s->l->innermost[in->blk] : UINT32_MAX, at = 0;
    if (k == UINT32_MAX || s->l->loops->d[k].header != in->blk)
        return false;
    const tr_blk *h = tr_blk_at(f, in->blk);
    while (h->params.d[at] != v)
        at++;
    for (uint32_t i = 0; i < h->preds.n; i++) {
        const tr_ins *t = tr_term(f, h->preds.d[i]);
        for (uint32_t e = 0; e < tr_nsucc(t); e++) {
            if (t->imm.succ[e].to != in->blk)
                continue;
            tr_val next = t->imm.succ[e].args[at];
            const tr_ins *sum = tr_at(f, next);
            int64_t one;
            bool inside = tr_dominates(f, in->blk, h->preds.d[i]);
            if (inside ? sum->op != TR_OP_ADD || sum->args[0] != v || !tr_get_int(f, sum->args[1], &one) ||
                             one != 1
                       : varies(s, next))
                return false;
        }
    }
    return true;
}

/* Both range over the same indices in every iteration: the same expression of inner counters, or one a few items on. */
static bool same_span(const finder *s, const tr_lin *e, const tr_lin *diff) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if (!varies(s, e->t[i].v))
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

static relation meet_on_axis(const finder *s, const axis *w, const axis *x, meeting *m) {
    bool ow, ox, sw, sx;
    tr_lin d = w->e;
    if (w->whole || x->whole) {
        m->sure = m->sure && w->whole == x->whole && w->key == x->key;
        return POSSIBLE;
    }
    if (w->key != x->key || !tr_lin_add(&d, &x->e, -1)) {
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
    if (d.n == 0 && d.c == 0)
        return APART;
    if (d.n == 0 && !sw && !sx) {
        if (d.c % kw || (m->dist_known && m->dist != d.c / kw))
            return APART;
        m->dist_known = true;
        m->dist = d.c / kw;
        return POSSIBLE;
    }
    if (d.n == 1 && d.t[0].v == s->l->counter && (!kw || !kx) && !sw && !sx)
        return meet_at_point(s, d.t[0].k, d.c, m);
    m->sure = false;
    return POSSIBLE;
}

static relation relate(const finder *s, const access *w, const access *x, meeting *m) {
    int64_t n;
    bool known = tr_get_int(s->f, s->l->length, &n);
    *m = (meeting){.sure = w->always && x->always};
    if (w->root != x->root || (known && n <= 1))
        return APART;
    if (!w->known || !x->known || w->n != x->n)
        return POSSIBLE;
    for (uint32_t k = 0; k < w->n; k++)
        if (meet_on_axis(s, &w->ax[k], &x->ax[k], m) == APART)
            return APART;
    tr_wide far = m->dist < 0 ? -m->dist : m->dist;
    if (m->dist_known && known && far >= n)
        return APART;
    if (!m->counts && x->write && w->value != TR_NOVAL && w->value == x->value)
        return APART; /* all store the same number */
    bool meets = m->dist_known ? known || far <= NEAR : m->point || !m->counts;
    return m->sure && meets ? SURE : POSSIBLE;
}

/* --- together --- */

bool tr_ploop_dependence(const tr_ploop *l, tr_pdepend *out) {
    finder s = {.l = l, .f = l->f, .pr = tr_prover_new(l->f)};
    s.pr.guess = true;
    *out = (tr_pdepend){.write = TR_NOVAL};
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(l->f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(l->f, v)->next)
            add_ins(&s, v);
    bool any = s.all.n == MAX_ACCESSES;
    for (uint32_t i = 0; i < s.all.n; i++)
        for (uint32_t k = 0; k < s.all.n && s.all.d[i].write; k++) {
            const access *w = &s.all.d[i], *x = &s.all.d[k];
            meeting m;
            relation r = x->write && k < i ? APART : relate(&s, w, x, &m);
            if (r == APART || (r == POSSIBLE && any))
                continue;
            any = true;
            *out = (tr_pdepend){.sure = r == SURE,
                                .write = w->at,
                                .other = x->at,
                                .array = w->root,
                                .other_writes = x->write,
                                .dist_known = m.dist_known,
                                .dist = (int64_t)m.dist,
                                .every = !m.counts};
            if (r == SURE)
                return true;
        }
    return any;
}
