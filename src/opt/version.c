/* Loop versioning; see version.h. */
#include "opt/version.h"

#include <string.h>

#include "opt/prove.h"

/* Values that enter a sum are tested to lie within this; so sums of a few of them are exact. */
#define LIMIT ((int64_t)1 << 60)
enum { MAX_WEIGHT = 6 };

/* --- the test --- */

static bool bounded(const tr_fn *f, tr_val v, bool *low, bool *high) {
    tr_wide lo, hi;
    tr_range_of(f, v, &lo, &hi);
    *low = lo >= -LIMIT;
    *high = hi <= LIMIT;
    return *low && *high;
}

bool tr_opt_testable(const tr_fn *f, const tr_lin *e) {
    int64_t weight = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        weight += e->t[i].k < 0 ? -e->t[i].k : e->t[i].k;
        if (tr_at(f, e->t[i].v)->ty->kind != TR_TY_I64 || weight > MAX_WEIGHT)
            return false;
    }
    return e->n > 0 && e->c <= LIMIT / 2 && e->c >= -(tr_wide)LIMIT / 2;
}

typedef struct tester {
    tr_bld b;
    const tr_ty *i64, *i1;
    tr_val ranges, all; /* TR_NOVAL: nothing to test yet */
} tester;

static tr_val both(tester *t, tr_val a, tr_val b) {
    return a == TR_NOVAL ? b : b == TR_NOVAL ? a : tr_emit2(&t->b, TR_OP_AND, t->i1, a, b);
}

static tr_val compare(tester *t, tr_cmpop op, tr_val x, tr_val y) {
    tr_val v = tr_emit2(&t->b, TR_OP_CMP, t->i1, x, y);
    tr_at(t->b.fn, v)->sub = (uint8_t)op;
    return v;
}

static tr_val number(tester *t, tr_wide k) {
    return tr_const_int(t->b.fn, t->i64, (int64_t)k);
}

/* A value that enters a sum must be small, or the sum could wrap. */
static void test_range(tester *t, tr_val v) {
    bool low, high;
    if (bounded(t->b.fn, v, &low, &high))
        return;
    if (!low)
        t->ranges = both(t, t->ranges, compare(t, TR_CMP_GE, v, number(t, -(tr_wide)LIMIT)));
    if (!high)
        t->ranges = both(t, t->ranges, compare(t, TR_CMP_LE, v, number(t, LIMIT)));
}

/* The terms of one sign, and the constant, as a value. */
static tr_val sum(tester *t, const tr_lin *e, int sign, tr_wide c) {
    tr_val v = TR_NOVAL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++)
        n += (e->t[i].k > 0) == (sign > 0);
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t k = e->t[i].k * sign;
        if (k < 0)
            continue;
        if (n > 1 || k != 1 || c != 0)
            test_range(t, e->t[i].v);
        tr_val x = k == 1 ? e->t[i].v : tr_emit2(&t->b, TR_OP_MUL, t->i64, e->t[i].v, number(t, k));
        v = v == TR_NOVAL ? x : tr_emit2(&t->b, TR_OP_ADD, t->i64, v, x);
    }
    if (v == TR_NOVAL)
        return number(t, c);
    return c == 0 ? v : tr_emit2(&t->b, TR_OP_ADD, t->i64, v, number(t, c));
}

/* The positive terms against the negative ones. The constant goes where its value's range is known already. */
static void test(tester *t, const tr_lin *e) {
    bool low, high, left = true;
    for (uint32_t i = 0; i < e->n; i++)
        if (e->t[i].k > 0 && !bounded(t->b.fn, e->t[i].v, &low, &high))
            left = false;
    tr_val x = sum(t, e, 1, left ? e->c : 0), y = sum(t, e, -1, left ? 0 : -e->c);
    t->all = both(t, t->all, compare(t, TR_CMP_GE, x, y));
}

/* --- blocks --- */

/* The block before the loop with no other way out; made when there is none. */
static tr_bid preheader(tr_fn *f, const tr_loop *l) {
    if (l->preheader != TR_NOBLK)
        return l->preheader;
    tr_arena *a = &f->ctx->arena;
    tr_bid ph = tr_blk_new(f), h = l->header;
    uint32_t n = tr_blk_at(f, h)->params.n;
    tr_val *args = TR_NEW_N(a, tr_val, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        args[i] = tr_blk_param(f, ph, tr_at(f, tr_blk_at(f, h)->params.d[i])->ty, NULL);
    for (uint32_t k = 0; k < tr_blk_at(f, h)->preds.n; k++) {
        tr_bid from = tr_blk_at(f, h)->preds.d[k];
        bool inside = false;
        for (uint32_t i = 0; i < l->blks.n; i++)
            inside = inside || l->blks.d[i] == from;
        tr_ins *t = tr_term(f, from);
        for (uint32_t s = 0; s < tr_nsucc(t) && !inside; s++)
            if (t->imm.succ[s].to == h)
                t->imm.succ[s].to = ph;
    }
    tr_bld b = {.fn = f, .blk = ph, .before = TR_NOVAL};
    tr_br(&b, h, n, args);
    return ph;
}

/* --- values of the loop that are used after it --- */

typedef struct use {
    tr_val ins;
    int32_t succ; /* edge, -1: operand */
    uint32_t arg, next;
} use;

typedef struct repair {
    tr_fn *f;
    uint8_t *where; /* per block: 1 in the loop, 2 in its copy, 0 outside */
    tr_val *at;     /* per block outside: the value at its start, TR_NOVAL = not known yet */
    tr_val orig, copy;
    tr_u32s touched;
    TR_VEC(use) uses;
    uint32_t *first; /* per value of the loop: its uses outside */
} repair;

static tr_val at_start(repair *r, tr_bid b);

static tr_val at_end(repair *r, tr_bid b) {
    return r->where[b] == 1 ? r->orig : r->where[b] == 2 ? r->copy : at_start(r, b);
}

static void pass_on(repair *r, tr_bid from, tr_bid to, tr_val v) {
    for (uint32_t s = 0; s < tr_nsucc(tr_term(r->f, from)); s++)
        if (tr_term(r->f, from)->imm.succ[s].to == to)
            tr_edge_add(r->f, &tr_term(r->f, from)->imm.succ[s], v);
}

/* Where both versions meet the value becomes a block argument. */
static tr_val at_start(repair *r, tr_bid b) {
    tr_fn *f = r->f;
    if (r->at[b] != TR_NOVAL)
        return r->at[b];
    tr_vec_push(&f->ctx->arena, &r->touched, b);
    const tr_ty *ty = tr_at(f, r->orig)->ty;
    uint32_t npreds = tr_blk_at(f, b)->preds.n;
    if (npreds == 0) /* the entry: dominance says the value is not used on such a path */
        return r->at[b] = tr_const_undef(f, ty);
    if (npreds == 1)
        return r->at[b] = at_end(r, tr_blk_at(f, b)->preds.d[0]);
    tr_val p = r->at[b] = tr_blk_param(f, b, ty, r->orig < f->names.n ? f->names.d[r->orig] : NULL);
    for (uint32_t k = 0; k < npreds; k++) {
        tr_bid from = tr_blk_at(f, b)->preds.d[k];
        bool seen = false; /* a branch with both edges here is listed twice */
        for (uint32_t j = 0; j < k; j++)
            seen = seen || tr_blk_at(f, b)->preds.d[j] == from;
        if (!seen)
            pass_on(r, from, b, at_end(r, from));
    }
    return p;
}

static void note_uses(repair *r, tr_val ins, int32_t succ, const tr_val *args, uint32_t n, const tr_val *map,
                      uint32_t nmap) {
    for (uint32_t i = 0; i < n; i++) {
        if (args[i] >= nmap || map[args[i]] == TR_NOVAL)
            continue;
        use u = {ins, succ, i, r->first[args[i]]};
        r->first[args[i]] = r->uses.n;
        tr_vec_push(&r->f->ctx->arena, &r->uses, u);
    }
}

static void find_uses(repair *r, tr_bid b, const tr_val *map, uint32_t nmap) {
    tr_fn *f = r->f;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *in = tr_at(f, v);
        note_uses(r, v, -1, in->args, in->nargs, map, nmap);
        for (uint32_t s = 0; s < tr_nsucc(in); s++)
            note_uses(r, v, (int32_t)s, in->imm.succ[s].args, in->imm.succ[s].n, map, nmap);
    }
}

/* map: from each value of the loop to its copy. Needs predecessors. */
static void repair_uses(repair *r, const tr_val *map, uint32_t nmap) {
    tr_fn *f = r->f;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        if (!r->where[f->rpo.d[i]])
            find_uses(r, f->rpo.d[i], map, nmap);
    for (tr_val v = 0; v < nmap; v++) {
        if (map[v] == TR_NOVAL || r->first[v] == UINT32_MAX)
            continue;
        r->orig = v;
        r->copy = map[v];
        for (uint32_t u = r->first[v]; u != UINT32_MAX; u = r->uses.d[u].next) {
            use w = r->uses.d[u];
            tr_val now = at_start(r, tr_at(f, w.ins)->blk);
            tr_ins *in = tr_at(f, w.ins);
            (w.succ < 0 ? in->args : in->imm.succ[w.succ].args)[w.arg] = now;
        }
        for (uint32_t k = 0; k < r->touched.n; k++)
            r->at[r->touched.d[k]] = TR_NOVAL;
        r->touched.n = 0;
    }
}

/* --- the whole --- */

static tr_val make_test(tr_fn *f, tr_bid ph, const tr_lin *conds, uint32_t n) {
    tr_val last = tr_blk_at(f, ph)->last;
    tester t = {.b = {.fn = f, .blk = ph, .before = last}, .ranges = TR_NOVAL, .all = TR_NOVAL};
    t.i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    t.i1 = tr_ty_scalar(f->ctx->types, TR_TY_BOOL);
    for (uint32_t i = 0; i < n; i++)
        test(&t, &conds[i]);
    return both(&t, t.ranges, t.all); /* ranges first: the prover takes them in order */
}

/* A block that only jumps to `to` with these arguments: a place of its own for what the test has shown. */
static tr_bid landing(tr_fn *f, tr_bid to, uint32_t n, const tr_val *args) {
    tr_bld b = {.fn = f, .blk = tr_blk_new(f), .before = TR_NOVAL};
    tr_br(&b, to, n, args);
    return b.blk;
}

void tr_opt_version(tr_fn *f, const tr_loop *l, const tr_lin *conds, uint32_t n, tr_u32s *slow) {
    tr_arena *a = &f->ctx->arena;
    tr_bid ph = preheader(f, l);
    tr_val ok = make_test(f, ph, conds, n);
    uint32_t nmap = f->ins.n;
    tr_val *map = TR_NEW_N(a, tr_val, nmap + 1u);
    tr_bid *bmap = TR_NEW_N(a, tr_bid, f->blks.n + 1u);
    memset(map, 0xff, nmap * sizeof *map);
    memset(bmap, 0xff, f->blks.n * sizeof *bmap);
    tr_clone_blocks(f, f, l->blks.d, l->blks.n, map, bmap, 0);
    tr_val jump = tr_blk_at(f, ph)->last;
    tr_edge e = tr_at(f, jump)->imm.succ[0];
    tr_bid fast = landing(f, l->header, e.n, e.args), copy = landing(f, bmap[l->header], e.n, e.args);
    tr_ins_remove(f, jump);
    tr_bld b = {.fn = f, .blk = ph, .before = TR_NOVAL};
    tr_cbr(&b, ok, fast, 0, NULL, copy, 0, NULL);
    tr_cfg_compute(f);
    repair r = {
        .f = f, .where = TR_NEW_N(a, uint8_t, f->blks.n + 1u), .at = TR_NEW_N(a, tr_val, f->blks.n + 1u)};
    r.first = TR_NEW_N(a, uint32_t, nmap + 1u);
    memset(r.at, 0xff, f->blks.n * sizeof *r.at);
    memset(r.first, 0xff, nmap * sizeof *r.first);
    for (uint32_t i = 0; i < l->blks.n; i++) {
        r.where[l->blks.d[i]] = 1;
        r.where[bmap[l->blks.d[i]]] = 2;
        tr_vec_push(a, slow, bmap[l->blks.d[i]]);
        tr_blk_at(f, bmap[l->blks.d[i]])->cold = true;
    }
    repair_uses(&r, map, nmap);
}
