/* SSA form for values with two definitions (SSA repair); see repair.h.
 *
 * Block arguments go where the definitions' dominance frontiers say (Cytron et al.), iterated, but only into
 * blocks where a use asks for one. What all values of a block share is found once: where the two definitions
 * meet, and which block's value arrives at a block. Invariant: a value's uses were dominated by its
 * definition before the copies were made, so on every path to them stands one of the two. */
#include "opt/repair.h"

#include <assert.h>
#include <string.h>

/* --- cloning --- */

static uint32_t *grown(tr_arena *a, const uint32_t *old, uint32_t n, uint32_t room) {
    assert(n <= room);
    uint32_t *out = TR_NEW_N(a, uint32_t, room);
    if (n)
        memcpy(out, old, n * sizeof *out);
    memset(out + n, 0xff, (room - n) * sizeof *out);
    return out;
}

static void make_room(tr_twins *t) {
    tr_arena *a = &t->f->ctx->arena;
    uint32_t nvals = t->f->ins.n, nblks = t->f->blks.n;
    if (t->nvals < nvals) {
        t->of = grown(a, t->of, t->nvals, nvals + nvals / 2);
        t->map = grown(a, t->map, t->nvals, nvals + nvals / 2);
        t->nvals = nvals + nvals / 2;
    }
    if (t->nblks < nblks) {
        t->bmap = grown(a, t->bmap, t->nblks, nblks + nblks / 2);
        t->nblks = nblks + nblks / 2;
    }
}

tr_twins tr_twins_new(tr_fn *f) {
    return (tr_twins){.f = f};
}

static void note_twin(tr_twins *t, tr_val v) {
    assert(t->map[v] != TR_NOVAL && t->of[v] == TR_NOVAL);
    t->of[v] = t->map[v];
    t->map[v] = TR_NOVAL; /* to the next piece this one is outside */
}

tr_bid tr_twins_clone(tr_twins *t, const tr_bid *blks, uint32_t n) {
    assert(n > 0);
    tr_fn *f = t->f;
    tr_bid first = f->blks.n;
    make_room(t);
    tr_clone_blocks(f, f, blks, n, t->map, t->bmap, 0);
    for (uint32_t k = 0; k < n; k++) {
        const tr_blk *b = tr_blk_at(f, blks[k]);
        t->bmap[blks[k]] = TR_NOBLK;
        for (uint32_t p = 0; p < b->params.n; p++)
            note_twin(t, b->params.d[p]);
        for (tr_val v = b->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            note_twin(t, v);
    }
    return first;
}

/* --- mending --- */

typedef struct use {
    tr_val ins;
    int32_t succ; /* edge, -1: operand */
    uint32_t arg, next;
} use;

typedef struct link {
    tr_bid blk;
    uint32_t next;
} link;

typedef struct mender {
    tr_fn *f;
    const tr_twins *t;
    TR_VEC(use) uses;
    uint32_t *first_use; /* per value */
    TR_VEC(link) links;
    uint32_t *frontier; /* per block: its dominance frontier, a list in links */
    /* for the pair of blocks at hand */
    tr_bid orig, copy;
    uint32_t round;
    uint32_t *meet;  /* per block: == round when both definitions meet at its start */
    uint32_t *known; /* per block: == round when `source` holds */
    tr_bid *source;  /* whose value is there at the block's end: orig, copy, or a block where they meet */
    /* for the value at hand */
    tr_val val;
    tr_val *param; /* per block: the argument it got, TR_NOVAL = none yet */
    tr_u32s made;  /* blocks that got one */
} mender;

static void note_uses(mender *m, tr_val ins, int32_t succ, const tr_val *args, uint32_t n) {
    const tr_fn *f = m->f;
    for (uint32_t i = 0; i < n; i++) {
        tr_val v = args[i];
        if (v >= m->t->nvals || m->t->of[v] == TR_NOVAL || tr_at(f, v)->blk == tr_at(f, ins)->blk)
            continue;
        use u = {ins, succ, i, m->first_use[v]};
        m->first_use[v] = m->uses.n;
        tr_vec_push(&f->ctx->arena, &m->uses, u);
    }
}

static void find_uses(mender *m) {
    const tr_fn *f = m->f;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            note_uses(m, v, -1, in->args, in->nargs);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                note_uses(m, v, (int32_t)s, in->imm.succ[s].args, in->imm.succ[s].n);
        }
}

/* Block b is in the frontier of all that dominate a predecessor of it, but not b itself. */
static void find_frontiers(mender *m) {
    const tr_fn *f = m->f;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        const tr_blk *blk = tr_blk_at(f, b);
        for (uint32_t p = 0; blk->preds.n > 1 && p < blk->preds.n; p++)
            for (tr_bid up = blk->preds.d[p]; up != blk->idom; up = tr_blk_at(f, up)->idom) {
                uint32_t *head = &m->frontier[up];
                if (*head != UINT32_MAX && m->links.d[*head].blk == b)
                    break; /* and so do those above */
                link l = {b, *head};
                *head = m->links.n;
                tr_vec_push(&f->ctx->arena, &m->links, l);
            }
    }
}

static void take_pair(mender *m, tr_bid orig, tr_bid copy) {
    assert(orig != copy);
    tr_u32s work = {0};
    tr_arena *a = &m->f->ctx->arena;
    m->orig = orig;
    m->copy = copy;
    m->round++;
    tr_vec_push(a, &work, orig);
    tr_vec_push(a, &work, copy);
    while (work.n) {
        tr_bid b = work.d[--work.n];
        for (uint32_t l = m->frontier[b]; l != UINT32_MAX; l = m->links.d[l].next) {
            tr_bid at = m->links.d[l].blk;
            if (m->meet[at] == m->round)
                continue;
            m->meet[at] = m->round;
            tr_vec_push(a, &work, at);
        }
    }
}

static tr_bid find_source(mender *m, tr_bid b) {
    tr_bid up = b, found;
    while (up != TR_NOBLK && up != m->orig && up != m->copy && m->meet[up] != m->round &&
           m->known[up] != m->round)
        up = tr_blk_at(m->f, up)->idom;
    found = up != TR_NOBLK && m->known[up] == m->round ? m->source[up] : up;
    for (; b != up; b = tr_blk_at(m->f, b)->idom) {
        m->known[b] = m->round;
        m->source[b] = found;
    }
    return found;
}

/* The value at the end of block b. */
static tr_val value_at(mender *m, tr_bid b) {
    tr_fn *f = m->f;
    tr_bid s = find_source(m, b);
    if (s == TR_NOBLK) /* neither: dominance says that nothing here uses it */
        return tr_const_undef(f, tr_at(f, m->val)->ty);
    if (s == m->orig)
        return m->val;
    if (s == m->copy)
        return m->t->of[m->val];
    if (m->param[s] == TR_NOVAL) {
        const char *name = m->val < f->names.n ? f->names.d[m->val] : NULL;
        m->param[s] = tr_blk_param(f, s, tr_at(f, m->val)->ty, name);
        tr_vec_push(&f->ctx->arena, &m->made, s);
    }
    return m->param[s];
}

/* What the edges into b pass for its newest argument. A branch with both edges here is met twice. */
static void feed(mender *m, tr_bid b) {
    tr_fn *f = m->f;
    for (uint32_t p = 0; p < tr_blk_at(f, b)->preds.n; p++) {
        tr_bid from = tr_blk_at(f, b)->preds.d[p];
        tr_val v = value_at(m, from);
        for (uint32_t s = 0; s < tr_nsucc(tr_term(f, from)); s++) {
            tr_edge *e = &tr_term(f, from)->imm.succ[s];
            if (e->to == b && e->n < tr_blk_at(f, b)->params.n)
                tr_edge_add(f, e, v);
        }
    }
}

static void mend_value(mender *m, tr_val v) {
    tr_fn *f = m->f;
    m->val = v;
    m->made.n = 0;
    for (uint32_t u = m->first_use[v]; u != UINT32_MAX; u = m->uses.d[u].next) {
        use w = m->uses.d[u];
        tr_val now = value_at(m, tr_at(f, w.ins)->blk);
        tr_ins *in = tr_at(f, w.ins);
        (w.succ < 0 ? in->args : in->imm.succ[w.succ].args)[w.arg] = now;
    }
    for (uint32_t k = 0; k < m->made.n; k++) /* it grows on the way */
        feed(m, m->made.d[k]);
    for (uint32_t k = 0; k < m->made.n; k++)
        m->param[m->made.d[k]] = TR_NOVAL;
}

static void mend_if_used(mender *m, tr_bid b, tr_val v) {
    if (m->first_use[v] == UINT32_MAX)
        return;
    tr_bid copy = tr_at(m->f, m->t->of[v])->blk;
    if (m->orig != b || m->copy != copy)
        take_pair(m, b, copy);
    mend_value(m, v);
}

static void mend_block(mender *m, tr_bid b) {
    tr_fn *f = m->f;
    uint32_t n = tr_blk_at(f, b)->params.n;
    for (uint32_t p = 0; p < n; p++)
        if (tr_blk_at(f, b)->params.d[p] < m->t->nvals)
            mend_if_used(m, b, tr_blk_at(f, b)->params.d[p]);
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
        if (v < m->t->nvals)
            mend_if_used(m, b, v);
}

/* Edges from blocks that nothing reaches: they are in no list of predecessors, but must pass something. */
static void feed_unreached(mender *m) {
    tr_fn *f = m->f;
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (tr_blk_at(f, b)->dead || tr_blk_at(f, b)->rpo != TR_NOBLK)
            continue;
        for (uint32_t s = 0; s < tr_nsucc(tr_term(f, b)); s++)
            for (tr_edge *e; e = &tr_term(f, b)->imm.succ[s], e->n < tr_blk_at(f, e->to)->params.n;) {
                const tr_ty *ty = tr_at(f, tr_blk_at(f, e->to)->params.d[e->n])->ty;
                tr_val undef = tr_const_undef(f, ty);
                tr_edge_add(f, &tr_term(f, b)->imm.succ[s], undef);
            }
    }
}

void tr_twins_mend(tr_twins *t) {
    tr_fn *f = t->f;
    tr_arena *a = &f->ctx->arena;
    tr_cfg_compute(f);
    tr_dom_compute(f);
    uint32_t n = f->blks.n;
    mender m = {.f = f, .t = t, .orig = TR_NOBLK, .copy = TR_NOBLK};
    m.first_use = grown(a, NULL, 0, t->nvals + 1);
    m.frontier = grown(a, NULL, 0, n + 1);
    m.param = grown(a, NULL, 0, n + 1);
    m.meet = TR_NEW_N(a, uint32_t, n + 1u);
    m.known = TR_NEW_N(a, uint32_t, n + 1u);
    m.source = TR_NEW_N(a, tr_bid, n + 1u);
    find_uses(&m);
    find_frontiers(&m);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        mend_block(&m, f->rpo.d[i]);
    feed_unreached(&m);
}
