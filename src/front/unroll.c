/* A function again, with one of its loops written out: its body once for each of so many items.
 *
 * A loop over a tuple of items of different types has a body that means something else for each. What is
 * copied is every instruction that is only reached by way of the loop's body, also what a `break` or a
 * `return` in it goes through, and handlers of a `try` in it, so that variables there have one item's type. A
 * copy ends by going to the next one, the last by dropping the iterator and going where the loop goes when it
 * is over. SSA construction then joins what the copies lead to, as after any branch.
 * Cost: the body's instructions for each item, and SSA construction of the whole. */
#include "front/internal.h"

#include <assert.h>

enum { MAX_WRITTEN_OUT = 1 << 14 }; /* instructions of a function; loops in loops multiply */

typedef struct unroller {
    tr_ctx *ctx;
    const tr_decoded *d;
    uint32_t loop, n;          /* its FORITER, how many items */
    tr_bits body;              /* instructions that are copied */
    uint32_t *at;              /* where the copy of each stands, for the copy at hand, or UINT32_MAX */
    uint32_t first, each, end; /* the first copy, how long one is, what is behind the last */
    tr_decoded *out;
} unroller;

/* What is reached from where the code starts; not through the block `but`, if that is one. */
static void reach(const tr_flow *f, uint32_t but, tr_u32s *work, tr_arena *a, tr_bits *seen) {
    tr_vec_push(a, work, 0u);
    while (work->n > 0) {
        uint32_t b = work->d[--work->n];
        if (b == but || tr_bits_get(seen, b))
            continue;
        tr_bits_set(seen, b);
        const tr_bcblk *k = &f->blks[b];
        for (uint32_t i = 0; i < k->nsucc; i++)
            tr_vec_push(a, work, k->succ[i]);
        if (k->handler != TR_NOBLK)
            tr_vec_push(a, work, k->handler);
    }
}

/* The block that starts with the instruction; TR_NOBLK: it is not reached. */
static uint32_t block_at(const tr_flow *f, uint32_t start) {
    for (uint32_t b = 0; b < f->nblks; b++)
        if (f->blks[b].start == start)
            return b;
    return TR_NOBLK;
}

/* Fills u->body. False: it is never entered. */
static bool find_body(unroller *u, const tr_flow *f) {
    tr_arena *a = &u->ctx->arena;
    uint32_t entry = block_at(f, u->loop + 1);
    tr_bits around = tr_bits_new(a, f->nblks);
    tr_u32s work = {0};
    if (entry == TR_NOBLK)
        return false;
    reach(f, entry, &work, a, &around);
    u->body = tr_bits_new(a, u->d->n + 1);
    for (uint32_t b = 0; b < f->nblks; b++)
        for (uint32_t i = f->blks[b].start; !tr_bits_get(&around, b) && i < f->blks[b].end; i++)
            tr_bits_set(&u->body, i);
    return true;
}

/* Does the copy go on behind instruction i at another place than there? */
static bool leaves_behind(const unroller *u, uint32_t i) {
    uint8_t op = u->d->ins[i].op;
    return op != TR_N_JUMP && !tr_nop_exits(op) && !tr_bits_get(&u->body, i + 1);
}

/* Where each instruction stands within a copy, and how long that is. */
static void lay_out(unroller *u) {
    u->at = TR_NEW_N(&u->ctx->arena, uint32_t, u->d->n);
    for (uint32_t i = 0; i < u->d->n; i++) {
        u->at[i] = u->each;
        if (tr_bits_get(&u->body, i))
            u->each += 1u + leaves_behind(u, i);
    }
    u->first = u->d->n;
    u->end = u->first + u->n * u->each;
}

/* Where copy k goes that would go to instruction i. */
static uint32_t target(const unroller *u, uint32_t k, uint32_t i) {
    uint32_t next = k + 1 < u->n ? u->first + (k + 1) * u->each + u->at[u->loop + 1] : u->end;
    if (i == u->loop)
        return next;
    return tr_bits_get(&u->body, i) ? u->first + k * u->each + u->at[i] : i;
}

static void put(unroller *u, uint32_t to, tr_bc b, uint32_t range) {
    assert(to < u->out->n && "there is room for all copies");
    u->out->ins[to] = b;
    if (u->out->covered)
        u->out->covered[to] = range;
}

/* The table has the ranges of the code as it was, then those of each copy. */
static uint32_t range_of(const unroller *u, uint32_t k, uint32_t i) {
    uint32_t r = u->d->covered ? u->d->covered[i] : 0;
    return r ? r + (k + 1) * u->d->nexc : 0;
}

static void copy_body(unroller *u, uint32_t k) {
    for (uint32_t i = 0; i < u->d->n; i++) {
        if (!tr_bits_get(&u->body, i))
            continue;
        tr_bc b = u->d->ins[i];
        uint32_t to = u->first + k * u->each + u->at[i], range = range_of(u, k, i);
        if (i == u->loop + 1)
            b = (tr_bc){TR_N_FORITEM, 0, 0, (int32_t)k, b.off};
        else if (b.flags & BC_JUMP)
            b.arg = (int32_t)target(u, k, (uint32_t)b.arg);
        put(u, to, b, range);
        if (leaves_behind(u, i))
            put(u, to + 1, (tr_bc){TR_N_JUMP, 0, BC_JUMP, (int32_t)target(u, k, i + 1), b.off}, range);
    }
}

/* A range of a copy is as long as its instructions; one that has none there is empty. */
static void copy_ranges(unroller *u) {
    tr_decoded *o = u->out;
    o->nexc = (u->n + 1) * u->d->nexc;
    o->exc = TR_NEW_N(&u->ctx->arena, tr_bcexc, o->nexc + 1u);
    for (uint32_t r = 0; r < o->nexc; r++) {
        uint32_t k = r / u->d->nexc;
        tr_bcexc e = u->d->exc[r % u->d->nexc];
        if (k > 0)
            e = (tr_bcexc){u->first, u->first, target(u, k - 1, e.handler), e.depth, e.lasti};
        o->exc[r] = e;
    }
    for (uint32_t i = u->first; i < u->end; i++) {
        tr_bcexc *e = o->covered[i] ? &o->exc[o->covered[i] - 1] : NULL;
        if (!e)
            continue;
        if (e->start == e->end)
            e->start = i;
        e->end = i + 1;
    }
}

/* The loop at instruction `loop` of d, once for each of n items. False: it would be too long. */
static bool unroll(unroller *u) {
    const tr_decoded *d = u->d;
    tr_arena *a = &u->ctx->arena;
    const tr_bc *head = &d->ins[u->loop];
    lay_out(u);
    if ((uint64_t)d->n + (uint64_t)u->n * u->each + 2 > MAX_WRITTEN_OUT)
        return false;
    tr_decoded *o = u->out;
    *o = *d;
    o->n = u->end + 2;
    o->ins = TR_NEW_N(a, tr_bc, o->n);
    memcpy(o->ins, d->ins, d->n * sizeof *d->ins);
    if (d->covered) {
        o->covered = TR_NEW_N(a, uint32_t, o->n + 1u);
        memcpy(o->covered, d->covered, d->n * sizeof *d->covered);
    }
    for (uint32_t k = 0; k < u->n; k++)
        copy_body(u, k);
    put(u, u->end, (tr_bc){TR_N_POP, 0, 0, 0, head->off}, 0);
    put(u, u->end + 1, (tr_bc){TR_N_JUMP, 0, BC_JUMP, head->arg, head->off}, 0);
    o->ins[u->loop] = (tr_bc){TR_N_JUMP, 0, BC_JUMP, (int32_t)(u->first + u->at[u->loop + 1]), head->off};
    if (d->covered)
        copy_ranges(u);
    return true;
}

bool tr_front_write_out(tr_ctx *ctx, const tr_decoded *d, const tr_flow *f, uint32_t loop, uint32_t n,
                        tr_decoded *out) {
    assert(loop + 1 < d->n && d->ins[loop].op == TR_N_FORITER && n > 0 && "a loop over some items");
    unroller u = {.ctx = ctx, .d = d, .loop = loop, .n = n, .out = out};
    return find_body(&u, f) && unroll(&u);
}
