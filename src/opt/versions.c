/* Stretches of blocks, and loops, in two forms; see versions.h. */
#include "opt/versions.h"

#include <assert.h>

tr_versions tr_versions_new(tr_fn *f) {
    return (tr_versions){.f = f, .twins = tr_twins_new(f)};
}

tr_bid tr_versions_whole(const tr_versions *s, tr_bid b) {
    uint64_t whole;
    return tr_map_get(&s->wholes, b, &whole) ? (tr_bid)whole : b;
}

/* The parts of a block stand side by side, as a rule: its handler is looked for once. */
static void protect_parts(tr_versions *s) {
    for (uint32_t i = 0, n; i < s->parts.n; i += n) {
        tr_bid whole = tr_versions_whole(s, s->parts.d[i]);
        for (n = 1; i + n < s->parts.n && tr_versions_whole(s, s->parts.d[i + n]) == whole;)
            n++;
        tr_blk_protect_parts(s->f, whole, s->parts.d + i, n);
    }
}

bool tr_versions_end(tr_versions *s) {
    bool copied = s->twins.of != NULL;
    if (copied)
        tr_twins_mend(&s->twins);
    protect_parts(s); /* what is mended has the edges that it had when it was copied */
    return copied || s->parts.n;
}

/* --- a stretch of a block --- */

static tr_bid way_on(tr_versions *s, const tr_fork *k, uint8_t cold) {
    tr_bld b = k->b;
    b.blk = tr_blk_new(s->f);
    tr_blk_at(s->f, b.blk)->cold = cold;
    tr_br(&b, k->after, 0, NULL);
    return b.blk;
}

tr_fork tr_fork_cut(tr_versions *s, tr_val last, uint32_t loc) {
    tr_fn *f = s->f;
    assert(tr_at(f, last)->blk != TR_NOBLK && tr_at(f, last)->next != TR_NOVAL && "something follows");
    tr_bid before = tr_at(f, last)->blk;
    tr_fork k = {.b = {.fn = f, .blk = before, .before = TR_NOVAL, .loc = loc}, .other = TR_NOBLK};
    k.after = tr_blk_split(f, tr_at(f, last)->next);
    k.plain = way_on(s, &k, tr_blk_at(f, before)->cold);
    return k;
}

void tr_fork_copy(tr_versions *s, tr_fork *k, tr_cold cold) {
    assert(k->other == TR_NOBLK && "there are two forms");
    k->other = tr_twins_clone(&s->twins, &k->plain, 1);
    tr_blk_at(s->f, k->other)->cold = (uint8_t)cold;
}

void tr_fork_make(tr_versions *s, tr_fork *k, tr_cold cold) {
    assert(k->other == TR_NOBLK && "there are two forms");
    k->other = way_on(s, k, (uint8_t)cold);
}

static void hand_on(tr_fn *f, tr_bid from, tr_bid to, uint32_t n, const tr_val *v) {
    tr_ins_remove(f, tr_blk_at(f, from)->last);
    tr_bld b = {.fn = f, .blk = from, .before = TR_NOVAL};
    tr_br(&b, to, n, v);
}

void tr_fork_hand_on(tr_fn *f, const tr_fork *k, uint32_t n, const tr_val *plain, const tr_val *other) {
    hand_on(f, k->plain, k->after, n, plain);
    hand_on(f, k->other, k->after, n, other);
}

void tr_fork_pick(tr_versions *s, tr_fork *k, tr_val test, tr_bid yes) {
    assert(k->other != TR_NOBLK && (yes == k->plain || yes == k->other) && "it is one of the forms");
    const tr_bid parts[] = {k->plain, k->other, k->after};
    tr_bid whole = tr_versions_whole(s, k->b.blk);
    tr_cbr(&k->b, test, yes, 0, NULL, yes == k->plain ? k->other : k->plain, 0, NULL);
    for (unsigned i = 0; i < 3; i++) {
        tr_vec_push(&s->f->ctx->arena, &s->parts, parts[i]);
        tr_map_set(&s->f->ctx->arena, &s->wholes, parts[i], whole);
    }
}

/* --- a loop --- */

/* A block that only jumps to `to` with these arguments: a place of its own for what the test has shown. */
static tr_bid landing(tr_fn *f, tr_bid to, uint32_t n, const tr_val *args) {
    tr_bld b = {.fn = f, .blk = tr_blk_new(f), .before = TR_NOVAL};
    tr_br(&b, to, n, args);
    return b.blk;
}

/* Does block b, which only blocks that are `in` lead to, do nothing but raise to a handler? If both
 * copies shared it, what the handler is given would be a param, of which a prange loop could not
 * say any more that it does not make it. */
static bool raises_to_handler(const tr_fn *f, tr_bid b, const uint8_t *in) {
    const tr_blk *blk = tr_blk_at(f, b);
    const tr_ins *t = tr_term(f, b);
    for (uint32_t k = 0; k < blk->preds.n; k++)
        if (!in[blk->preds.d[k]])
            return false;
    return t->op == TR_OP_TRY && !tr_nsucc(tr_term(f, t->imm.succ[0].to));
}

/* The loop's blocks, and those outside that are protected by one of them, a way into such a block is the
 * only one, or that raise to a handler. */
static tr_u32s blocks_of(tr_fn *f, const tr_loop *l) {
    tr_u32s out = {0};
    tr_arena *a = &f->ctx->arena;
    uint8_t *in = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    for (uint32_t i = 0; i < l->blks.n; i++) {
        in[l->blks.d[i]] = 1;
        tr_vec_push(a, &out, l->blks.d[i]);
    }
    for (uint32_t i = 0; i < out.n; i++) {
        const tr_ins *t = tr_term(f, out.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            bool ours = t->op == TR_OP_TRY ? s == 0 : raises_to_handler(f, to, in);
            if (in[to] || !ours)
                continue;
            in[to] = 1;
            tr_vec_push(a, &out, to);
        }
    }
    return out;
}

void tr_versions_loop(tr_versions *s, const tr_loop *l, tr_bid before, tr_val test, tr_cold cold,
                      tr_u32s *copies) {
    tr_fn *f = s->f;
    tr_val jump = tr_blk_at(f, before)->last;
    assert(tr_at(f, jump)->op == TR_OP_BR && tr_at(f, jump)->imm.succ[0].to == l->header && "a preheader");
    tr_u32s blks = blocks_of(f, l);
    tr_bid first = tr_twins_clone(&s->twins, blks.d, blks.n);
    for (uint32_t i = 0; i < blks.n; i++) {
        tr_vec_push(&f->ctx->arena, copies, first + i);
        tr_blk_at(f, first + i)->cold = (uint8_t)cold;
    }
    tr_edge e = tr_at(f, jump)->imm.succ[0];
    tr_bid fast = landing(f, l->header, e.n, e.args), slow = landing(f, first, e.n, e.args);
    tr_ins_remove(f, jump);
    tr_bld b = {.fn = f, .blk = before, .before = TR_NOVAL};
    tr_cbr(&b, test, fast, 0, NULL, slow, 0, NULL);
}
