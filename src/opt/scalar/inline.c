/* Inlining on our IR. LLVM inlines too; this is for what it cannot do afterwards: bounds and ownership see
 * through a call only when its body stands here.
 *
 * Small instances are copied into their callers, larger ones when the user says inline="always", there is one
 * call alone, or they are formulas of the library's. Functions that can call themselves never are: their
 * depth is counted at run time. */
#include <assert.h>

#include "ir/rtinfo.h"
#include "opt/priv.h"

enum { SMALL = 40, ONLY_CALL = 300, ALWAYS = 4000, MAX_CALLER = 5000 };

typedef struct inliner {
    tr_prog *p;
    tr_fn *f;
    uint32_t size;   /* instructions of f */
    uint32_t *calls; /* per instance: calls of it in the whole program */
    bool changed;
} inliner;

static uint32_t count_ins(const tr_fn *f) {
    uint32_t n = 0;
    const tr_fn *g;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = f->blks.d[b].dead ? TR_NOVAL : f->blks.d[b].first; v != TR_NOVAL;
             v = tr_at(f, v)->next, n++) {
            const tr_ins *in = tr_at(f, v);
            for (unsigned k = 0; in->op == TR_OP_PATTERN && (g = tr_pat_any(in->imm.pat, k)); k++)
                n += count_ins(g);
        }
    return n;
}

/* Calls `each` with the instance of every call in f and its lambdas. */
static void each_call(const tr_fn *f, void (*each)(void *, uint32_t), void *self) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = f->blks.d[b].dead ? TR_NOVAL : f->blks.d[b].first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op == TR_OP_CALL)
                each(self, in->imm.fn);
            for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
                each_call(tr_pat_any(in->imm.pat, k), each, self);
        }
}

static void count_call(void *self, uint32_t inst) {
    ((uint32_t *)self)[inst]++;
}

typedef struct search {
    const tr_prog *p;
    uint8_t *seen;
} search;

static void search_from(void *self, uint32_t inst) {
    search *s = self;
    if (s->seen[inst])
        return;
    s->seen[inst] = 1;
    if (s->p->insts.d[inst].fn)
        each_call(s->p->insts.d[inst].fn, search_from, s);
}

static bool calls_itself(const tr_prog *p, uint32_t inst) {
    assert(inst < p->insts.n && p->insts.d[inst].fn);
    search s = {p, TR_NEW_N(&p->ctx->arena, uint8_t, p->insts.n + 1u)};
    each_call(p->insts.d[inst].fn, search_from, &s);
    return s.seen[inst];
}

/* One block that returns. */
static bool callee_is_straight(const tr_fn *g) {
    tr_u32s live = tr_live_blocks(g);
    return live.n == 1 && tr_term(g, live.d[0])->op == TR_OP_RET;
}

/* What is put into a lambda stays what its pattern expects, straight code: g, or a copy with its branches
 * made selects, or NULL. */
static const tr_fn *straight(const tr_fn *g) {
    if (callee_is_straight(g))
        return g;
    tr_fn *h = tr_fn_clone(g);
    return tr_opt_flatten_fn(h) && callee_is_straight(h) ? h : NULL;
}

/* A formula of the library's: what patterns are made of only if it stands in their lambdas. */
static bool instance_is_formula(const tr_prog *p, const tr_inst *t) {
    return t->func < p->funcs.n && p->funcs.d[t->func].library && tr_fn_is_scalar(t->fn);
}

/* What to put in place of a call of the instance; NULL: it stays a call. */
static const tr_fn *wanted(const inliner *s, uint32_t inst) {
    assert(inst < s->p->insts.n);
    const tr_inst *callee = &s->p->insts.d[inst];
    const tr_fn *g = callee->fn;
    if (!g || g == s->f || g->kind == TR_FN_KERNEL)
        return NULL;
    uint32_t n = count_ins(g);
    bool always = tr_inst_opts(s->p, callee)->inline_always || instance_is_formula(s->p, callee);
    bool fits = n <= SMALL || (s->calls[inst] == 1 && n <= ONLY_CALL) || (always && n <= ALWAYS);
    if (!fits || s->size + n > MAX_CALLER || calls_itself(s->p, inst))
        return NULL;
    return s->f->is_lambda ? straight(g) : g;
}

/* The blocks of a body that took a call's place, and the one behind it, are protected as the call was, those
 * aside that have handlers of their own. */
static void protect_body(tr_fn *f, const tr_edge *handler, tr_bid first) {
    tr_edge e = *handler;
    uint32_t end = f->blks.n;
    uint8_t *own = TR_NEW_N(&f->ctx->arena, uint8_t, end + 1u);
    for (tr_bid b = first; b < end; b++)
        if (tr_term(f, b)->op == TR_OP_TRY)
            own[tr_term(f, b)->imm.succ[0].to] = 1;
    for (tr_bid b = first; b < end; b++)
        if (!own[b] && tr_blk_raises(f, b))
            tr_blk_protect(f, b, &e);
}

/* The body of g in place of `call`; the result is a param of the block that follows. */
static void put_body(inliner *s, tr_repl *r, tr_val call, const tr_fn *g) {
    assert(tr_at(s->f, call)->op == TR_OP_CALL && tr_at(s->f, call)->nargs == tr_blk_at(g, 0)->params.n);
    tr_fn *f = s->f;
    tr_bid *bmap = tr_no_blks(g);
    tr_ins c = *tr_at(f, call);
    const tr_edge *handler = s->p->handles ? tr_handler_now(f, c.blk) : NULL;
    tr_bid head = c.blk, tail = tr_blk_split(f, c.next);
    tr_val result = tr_blk_param(f, tail, c.ty, call < f->names.n ? f->names.d[call] : NULL);
    tr_u32s blks = tr_live_blocks(g);
    tr_clone_blocks(f, g, blks.d, blks.n, tr_no_vals(g), bmap, c.loc);
    tr_ins_remove(f, call);
    tr_bld b = {.fn = f, .blk = head, .before = TR_NOVAL, .loc = c.loc};
    tr_br(&b, bmap[0], c.nargs, c.args);
    for (uint32_t i = 0; i < blks.n; i++) {
        b.blk = bmap[blks.d[i]];
        for (tr_val v = tr_blk_at(f, b.blk)->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            tr_op op = (tr_op)tr_at(f, v)->op;
            if (op == TR_OP_SHARED || op == TR_OP_DYNSHARED ||
                op == TR_OP_LOCAL) /* of the caller's storage now */
                tr_ins_move_before(f, v, tr_blk_at(f, 0)->first);
        }
        tr_val last = tr_blk_at(f, b.blk)->last, value;
        if (tr_at(f, last)->op != TR_OP_RET)
            continue;
        value = tr_arg(f, last, 0);
        b.loc = tr_at(f, last)->loc;
        tr_ins_remove(f, last);
        tr_br(&b, tail, 1, &value);
    }
    tr_repl_set(f, r, call, result);
    if (handler)
        protect_body(f, handler, tail);
    s->size += count_ins(g);
    s->changed = true;
}

bool tr_opt_inline_devices(tr_prog *p, tr_fn *f) {
    inliner s = {.p = p, .f = f};
    for (bool again = true; again;) {
        tr_u32s found = {0};
        for (tr_bid b = 0; b < f->blks.n; b++)
            for (tr_val v = f->blks.d[b].dead ? TR_NOVAL : f->blks.d[b].first; v != TR_NOVAL;
                 v = tr_at(f, v)->next)
                if (tr_at(f, v)->op == TR_OP_CALL && p->insts.d[tr_at(f, v)->imm.fn].fn->kind == TR_FN_DEVICE)
                    tr_vec_push(&f->ctx->arena, &found, v);
        again = found.n > 0;
        for (uint32_t i = 0; i < found.n; i++)
            if (calls_itself(p, tr_at(f, found.d[i])->imm.fn))
                return false;
        tr_repl r = tr_repl_new(f);
        for (uint32_t i = 0; i < found.n; i++)
            put_body(&s, &r, found.d[i], p->insts.d[tr_at(f, found.d[i])->imm.fn].fn);
        tr_repl_apply(f, &r);
    }
    return true;
}

bool tr_opt_inline(tr_prog *p, tr_fn *f) {
    inliner s = {.p = p, .f = f, .size = count_ins(f)};
    s.calls = TR_NEW_N(&f->ctx->arena, uint32_t, p->insts.n + 1u);
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (p->insts.d[i].fn)
            each_call(p->insts.d[i].fn, count_call, s.calls);
    tr_u32s found = {0}; /* the calls as they stand now; those in copied bodies have had their turn */
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_CALL)
                tr_vec_push(&f->ctx->arena, &found, v);
    tr_repl r = tr_repl_new(f);
    for (uint32_t i = 0; i < found.n; i++) {
        const tr_fn *g = wanted(&s, tr_at(f, found.d[i])->imm.fn);
        if (g)
            put_body(&s, &r, found.d[i], g);
    }
    tr_repl_apply(f, &r);
    if (s.changed)
        tr_simplify_cfg(f);
    return s.changed;
}
