/* Checks what own.c made, by another way than it was made: a walk that counts the
 * references held on each path.
 *
 * A value holds a reference when it is a root that was made, or was retained. Giving it to an owning
 * argument, returning it, what consumes it (op.def) or releasing it takes one back. Paths that meet must hold
 * the same; a return must leave nothing; whatever uses an array needs its roots to be held. Runs when
 * verification is on. */
#include <assert.h>
#include <string.h>

#include "opt/own.h"

typedef struct checker {
    tr_own o;
    uint8_t **at;  /* per block: references held per value at its start, NULL = not reached yet */
    uint8_t *held; /* where the walk stands */
    const char *why;
    tr_val owed;    /* it was consumed by what may raise and is retained next; TR_NOVAL: nothing is */
    bool handles;   /* exceptions may be caught */
    bool leaves;    /* the block at hand has a handler, */
    uint8_t *began; /* and held this when it began */
} checker;

static bool report_wrong(checker *c, tr_val v, const char *what) {
    if (!c->why)
        c->why = tr_arena_printf(&c->o.f->ctx->arena, "reference counts: %s (%s, value %u)", what,
                                 tr_op_info[tr_at(c->o.f, v)->op].name, v);
    return false;
}

static bool take_held(checker *c, tr_val v) {
    if (!c->held[v])
        return report_wrong(c, v, "given away but not held");
    c->held[v]--;
    return true;
}

/* What is returned: a reference of its own, or those of what it is made of. */
static bool take_returned(checker *c, tr_val v) {
    const tr_fn *f = c->o.f;
    bool ok = true;
    if (!tr_ty_is_counted(tr_at(f, v)->ty) || tr_is_const(tr_at(f, v)))
        return true;
    if (c->held[v] || !tr_own_is_made_of(f, v))
        return take_held(c, v);
    for (uint32_t i = 0; ok && i < tr_at(f, v)->nargs; i++)
        ok = take_returned(c, tr_arg(f, v, i));
    return ok;
}

static bool roots_held(checker *c, tr_val v) {
    for (uint32_t r = 0; c->o.of[v] && r < c->o.roots.n; r++)
        if (tr_bits_get(c->o.of[v], r) && !c->held[c->o.roots.d[r]])
            return report_wrong(c, v, "used after its memory was released");
    return true;
}

/* What raises where an exception may be caught must find held what was held where the way to its handler
 * leaves, before its block: what was made and given back since is neither here nor there. Without a handler
 * there must be nothing that would be lost. */
static bool check_raise(checker *c, tr_val v) {
    if (!c->handles || !tr_ins_raises(tr_at(c->o.f, v)))
        return true;
    if (c->leaves)
        return memcmp(c->held, c->began, c->o.f->ins.n) == 0 ||
               report_wrong(c, v, "raises after what is held has changed since its handler was set");
    for (tr_val k = 0; k < c->o.f->ins.n; k++)
        if (c->held[k])
            return report_wrong(c, k, "lost by an exception");
    return true;
}

/* What instruction v takes along. What raises is followed by the retain of what somebody else holds. */
static bool check_consumed(checker *c, tr_val v) {
    const tr_fn *f = c->o.f;
    const tr_ins *in = tr_at(f, v);
    uint32_t k = tr_consumed(in);
    tr_val x = k == TR_NOVAL ? TR_NOVAL : in->args[k];
    if (x == TR_NOVAL || !tr_ty_is_counted(tr_at(f, x)->ty) || tr_is_const(tr_at(f, x)))
        return true;
    const tr_ins *next = in->next == TR_NOVAL ? NULL : tr_at(f, in->next);
    if (tr_ins_raises(in) && next && next->op == TR_OP_RETAIN && next->args[0] == x) {
        c->owed = x;
        return true;
    }
    return take_held(c, x);
}

static bool check_ins(checker *c, tr_val v) {
    const tr_ins *in = tr_at(c->o.f, v);
    if (!check_raise(c, v))
        return false;
    if (in->op == TR_OP_RELEASE)
        return take_held(c, in->args[0]);
    for (uint32_t i = 0; i < in->nargs; i++)
        if (!roots_held(c, in->args[i]))
            return false;
    if (in->op == TR_OP_RETAIN && c->owed == in->args[0]) {
        c->owed = TR_NOVAL;
        return true;
    }
    if (!check_consumed(c, v))
        return false;
    if (in->op == TR_OP_RETAIN)
        c->held[in->args[0]]++;
    if (c->o.root_no[v] != UINT32_MAX)
        c->held[v]++;
    return true;
}

static bool check_jump(checker *c, const tr_edge *e) {
    assert(e->n == tr_blk_at(c->o.f, e->to)->params.n);
    tr_fn *f = c->o.f;
    uint32_t n = f->ins.n;
    uint8_t *before = tr_arena_copy(&f->ctx->arena, c->held, n);
    bool ok = true;
    for (uint32_t i = 0; i < e->n; i++) {
        tr_val p = tr_blk_at(f, e->to)->params.d[i];
        if (!tr_ty_is_counted(tr_at(f, p)->ty) || tr_is_const(tr_at(f, e->args[i])))
            continue;
        if (tr_own_is_owner(&c->o, p))
            ok = ok && take_held(c, e->args[i]);
    }
    for (uint32_t i = 0; i < e->n; i++)
        if (!tr_own_is_owner(&c->o, tr_blk_at(f, e->to)->params.d[i]))
            ok = ok && roots_held(c, e->args[i]);
    if (!c->at[e->to])
        c->at[e->to] = tr_arena_copy(&f->ctx->arena, c->held, n);
    for (tr_val v = 0; ok && v < n; v++)
        if (c->at[e->to][v] != c->held[v])
            ok = report_wrong(c, v, "held on one way into a block and not on another");
    memcpy(c->held, before, n);
    return ok;
}

static bool check_block(checker *c, tr_bid b) {
    assert(c->at[b]);
    tr_fn *f = c->o.f;
    memcpy(c->held, c->at[b], f->ins.n);
    for (uint32_t k = 0; k < tr_blk_at(f, b)->params.n; k++)
        if (tr_own_is_owner(&c->o, tr_blk_at(f, b)->params.d[k]))
            c->held[tr_blk_at(f, b)->params.d[k]]++;
    tr_val t = tr_blk_at(f, b)->last;
    c->leaves = tr_handler(f, b);
    memcpy(c->began, c->held, f->ins.n);
    for (tr_val v = tr_blk_at(f, b)->first; v != t; v = tr_at(f, v)->next)
        if (!check_ins(c, v))
            return false;
    if (!check_raise(c, t))
        return false;
    for (uint32_t s = 0; s < tr_nsucc(tr_at(f, t)); s++)
        if (!check_jump(c, &tr_at(f, t)->imm.succ[s]))
            return false;
    if (tr_at(f, t)->op != TR_OP_RET && tr_at(f, t)->op != TR_OP_YIELD)
        return true;
    tr_val v = tr_at(f, t)->op == TR_OP_RET ? tr_arg(f, t, 0) : TR_NOVAL;
    if (v != TR_NOVAL && !take_returned(c, v))
        return false;
    for (tr_val k = 0; k < f->ins.n; k++)
        if (c->held[k])
            return report_wrong(c, k, "still held at the return");
    return true;
}

bool tr_own_check(tr_fn *f, bool handles, const char **why) {
    checker c = {.handles = handles, .owed = TR_NOVAL};
    tr_arena *a = &f->ctx->arena;
    tr_cfg_compute(f);
    tr_dom_compute(f);
    if (!tr_own_find(f, &c.o))
        return true;
    c.at = TR_NEW_N(a, uint8_t *, f->blks.n + 1u);
    c.held = TR_NEW_N(a, uint8_t, f->ins.n + 1u);
    c.began = TR_NEW_N(a, uint8_t, f->ins.n + 1u);
    c.at[0] = TR_NEW_N(a, uint8_t, f->ins.n + 1u);
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->rpo.n; i++)
        ok = check_block(&c, f->rpo.d[i]);
    *why = c.why;
    return ok;
}
