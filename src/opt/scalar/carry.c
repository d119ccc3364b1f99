/* What a loop adds up in one place of an array, `y[t] += ...`: each round waited for what the round before
 * had stored. It is carried in a param of the loop's head now, and read once before the loop; it is stored in
 * every round as ever, so whatever else reads that place finds what it found.
 *
 * What it reads of one place while it writes others of the same array, `a[i, j] -= a[i, k] * a[k, j]` from j
 * = k + 1 on, is read once before the loop, too: LLVM does not know that k is no j, and makes no vectors for
 * the place that each round may have changed.
 *
 * LLVM carries by itself where no check stands in the round. The place must be in range before the loop, as
 * the prover has it where the head begins; nothing but that one store may write in the loop. Not where a
 * prange is in the function: prange.c wants to see what iterations accumulate.
 * Cost: a look at each instruction of an innermost loop, and for MAX_KEPT loads of one at each other. */
#include <assert.h>
#include <string.h>

#include "ir/alias.h"
#include "opt/scalar/bounds.h"

enum { MAX_KEPT = 8 }; /* of a loop: each looks for sizes, and is asked about at each store */

/* The size of an axis where the head of a loop begins; TR_NOVAL: no value says it there. */
static tr_val size_at(const bounder *s, tr_bid head, tr_val array, unsigned axis) {
    const tr_fn *f = s->f;
    const tr_val *made = tr_made_sizes(tr_at(f, array));
    if (made)
        return tr_repl_get(&s->r, made[axis]);
    for (tr_val v = 0; v < f->ins.n; v++) {
        const tr_ins *in = tr_at(f, v);
        if (in->op == TR_OP_DIM && in->args[0] == array && in->imm.i == axis && tr_loop_is_before(f, head, v))
            return v;
    }
    return TR_NOVAL;
}

/* Are the n indices of a load or a store in range where the head begins? */
static bool indices_are_in_range(bounder *s, tr_bid head, const tr_ins *in, unsigned n) {
    for (unsigned k = 0; k < n; k++) {
        tr_val size = size_at(s, head, in->args[0], k);
        if (size == TR_NOVAL)
            return false;
        tr_lin i = tr_linearize(&s->pr, tr_repl_get(&s->r, in->args[1 + k])),
               room = tr_linearize(&s->pr, size);
        room.c -= 1;
        if (!tr_lin_add(&room, &i, -1) || !tr_prove(&s->pr, &i) || !tr_prove(&s->pr, &room))
            return false;
    }
    return true;
}

/* The only instruction of the loop that writes, if it is a store to one place, and something
 * in the loop may raise; else TR_NOVAL. */
static tr_val only_store(const bounder *s, uint32_t l) {
    const tr_fn *f = s->f;
    const tr_loop *loop = &s->loops.all.d[l];
    tr_val store = TR_NOVAL;
    bool raises = false;
    for (uint32_t k = 0; k < loop->blks.n; k++)
        for (tr_val v = tr_blk_at(f, loop->blks.d[k])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            uint8_t effects = tr_ins_effects(tr_at(f, v));
            raises = raises || effects & E_RAISE;
            if (!(effects & (E_WRITE | E_SIDE)))
                continue;
            if (store != TR_NOVAL || tr_at(f, v)->op != TR_OP_STORE)
                return TR_NOVAL;
            store = v;
        }
    for (uint32_t k = 0; store != TR_NOVAL && k + 1u < tr_at(f, store)->nargs; k++)
        if (!tr_forest_is_outside(&s->loops, l, tr_repl_get(&s->r, tr_at(f, store)->args[k])))
            return TR_NOVAL;
    return raises ? store : TR_NOVAL;
}

/* Does x come before y wherever y is reached? */
static bool value_comes_first(const tr_fn *f, tr_val x, tr_val y) {
    tr_bid a = tr_at(f, x)->blk, b = tr_at(f, y)->blk;
    if (a != b)
        return tr_dominates(f, a, b);
    while (x != TR_NOVAL && x != y)
        x = tr_at(f, x)->next;
    return x == y;
}

static tr_val load_of(bounder *s, uint32_t l, tr_val store) {
    const tr_fn *f = s->f;
    const tr_ins *st = tr_at(f, store);
    const tr_loop *loop = &s->loops.all.d[l];
    for (uint32_t k = 0; k < loop->blks.n; k++)
        for (tr_val v = tr_blk_at(f, loop->blks.d[k])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            bool same = in->op == TR_OP_LOAD && in->nargs + 1u == st->nargs &&
                        in->ty == tr_at(f, st->args[st->nargs - 1u])->ty;
            for (uint32_t a = 0; same && a < in->nargs; a++)
                same = tr_repl_get(&s->r, in->args[a]) == tr_repl_get(&s->r, st->args[a]);
            if (same && value_comes_first(f, v, store))
                return v;
        }
    return TR_NOVAL;
}

/* --- what is read of one place --- */

/* An array that loads read in the loop and stores write; nothing else writes there. */
static bool only_stores(const bounder *s, uint32_t l) {
    const tr_fn *f = s->f;
    bool any = false;
    for (uint32_t k = 0; k < s->loops.all.d[l].blks.n; k++)
        for (tr_val v = tr_blk_at(f, s->loops.all.d[l].blks.d[k])->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            bool store = tr_at(f, v)->op == TR_OP_STORE;
            if (!store && tr_ins_effects(tr_at(f, v)) & (E_WRITE | E_SIDE))
                return false;
            any = any || store;
        }
    return any;
}

/* Does it store to the array? What it reads of others LLVM takes care of. */
static bool stores_to(const bounder *s, uint32_t l, tr_val array) {
    const tr_fn *f = s->f;
    for (uint32_t b = 0; b < s->loops.all.d[l].blks.n; b++)
        for (tr_val v = tr_blk_at(f, s->loops.all.d[l].blks.d[b])->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_STORE && tr_repl_get(&s->r, tr_arg(f, v, 0)) == array)
                return true;
    return false;
}

static void find_kept(bounder *s, uint32_t l) {
    const tr_fn *f = s->f;
    const tr_loop *loop = &s->loops.all.d[l];
    unsigned found = 0;
    if (!only_stores(s, l))
        return;
    for (uint32_t k = 0; k < loop->blks.n; k++)
        for (tr_val v = tr_blk_at(f, loop->blks.d[k])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            bool stays = in->op != TR_OP_LOAD || !tr_bounds_can_carry(in->ty);
            for (uint32_t a = 0; a < in->nargs && !stays; a++)
                stays = !tr_forest_is_outside(&s->loops, l, tr_repl_get(&s->r, in->args[a]));
            if (!stays && found < MAX_KEPT && stores_to(s, l, tr_repl_get(&s->r, in->args[0])) &&
                indices_are_in_range(s, loop->header, in, in->nargs - 1u) && ++found)
                tr_vec_push(&s->f->ctx->arena, &s->kept, ((tr_kept_load){l, v, false}));
        }
}

/* Is one of their indices greater than the other's, in each round? Of strides that may be anything, two
 * elements may share memory all the same. */
static bool store_is_elsewhere(bounder *s, const tr_ins *store, const tr_ins *load) {
    bool apart = tr_at(s->f, tr_repl_get(&s->r, load->args[0]))->ty->layout != TR_LAYOUT_ANY;
    for (uint32_t k = 1; k < load->nargs && apart; k++)
        for (int way = -1; way <= 1; way += 2) {
            tr_lin x = tr_linearize(&s->pr, tr_repl_get(&s->r, store->args[k])),
                   y = tr_linearize(&s->pr, tr_repl_get(&s->r, load->args[k])), by = tr_lin_const(-1);
            if (tr_lin_add(&by, &x, way) && tr_lin_add(&by, &y, -way) && tr_prove(&s->pr, &by))
                return true;
        }
    return false;
}

void tr_bounds_see_store(bounder *s, tr_val store) {
    assert(tr_at(s->f, store)->op == TR_OP_STORE && "what writes one element");
    const tr_fn *f = s->f;
    const tr_ins *in = tr_at(f, store);
    for (uint32_t i = 0; i < s->kept.n && !s->dry; i++) {
        tr_kept_load *k = &s->kept.d[i];
        if (k->wrong || !tr_forest_has(&s->loops, k->loop, in->blk))
            continue;
        const tr_ins *load = tr_at(f, k->load);
        tr_val to = tr_repl_get(&s->r, in->args[0]), from = tr_repl_get(&s->r, load->args[0]);
        k->wrong = to == from ? !store_is_elsewhere(s, in, load) : !tr_arrays_distinct(f, to, from, in->blk);
    }
}

/* --- what is handed on --- */

void tr_bounds_find_carried(bounder *s, tr_bid head) {
    tr_fn *f = s->f;
    uint32_t l = tr_forest_headed(&s->loops, head);
    if (s->dry || l == TR_NOLOOP || tr_blk_at(f, head)->cold || !tr_forest_is_innermost(&s->loops, l))
        return;
    const tr_loop *loop = tr_forest_at(&s->loops, l);
    if (loop->latch == TR_NOBLK || loop->preheader == TR_NOBLK)
        return;
    find_kept(s, l);
    tr_val store = only_store(s, l);
    if (store == TR_NOVAL || !tr_dominates(f, tr_at(f, store)->blk, loop->latch))
        return;
    tr_val load = load_of(s, l, store);
    if (load == TR_NOVAL || !tr_bounds_can_carry(tr_at(f, load)->ty) ||
        !indices_are_in_range(s, head, tr_at(f, store), tr_at(f, store)->nargs - 2u))
        return;
    tr_carried c = {head, loop->preheader, load, store};
    tr_vec_push(&f->ctx->arena, &s->carried, c);
}

static void carry(bounder *s, const tr_carried *c) {
    tr_fn *f = s->f;
    const tr_ins load = *tr_at(f, c->load);
    const tr_ins *store = tr_at(f, c->store);
    tr_val next = store->args[store->nargs - 1u];
    tr_bld b = {.fn = f, .blk = c->before, .before = tr_blk_at(f, c->before)->last, .loc = load.loc};
    tr_val first = tr_emit_v(&b, TR_OP_LOAD, load.ty, load.nargs, load.args);
    tr_at(f, first)->flags = load.flags;
    tr_val param = tr_blk_param(f, c->head, load.ty, NULL);
    const tr_blk *head = tr_blk_at(f, c->head);
    for (uint32_t k = 0; k < head->preds.n; k++) {
        tr_bid from = head->preds.d[k];
        tr_ins *t = tr_term(f, from);
        for (uint32_t e = 0; e < tr_nsucc(t); e++)
            if (t->imm.succ[e].to == c->head)
                tr_edge_add(f, &t->imm.succ[e], from == c->before ? first : next);
    }
    tr_repl_set(f, &s->r, c->load, param);
    tr_ins_remove(f, c->load);
    s->changed = true;
}

void tr_bounds_carry(bounder *s) {
    for (uint32_t k = 0; k < s->kept.n; k++) {
        const tr_kept_load *kept = &s->kept.d[k];
        if (kept->wrong)
            continue;
        tr_ins_move_end(s->f, kept->load, s->loops.all.d[kept->loop].preheader);
        s->changed = true;
    }
    for (uint32_t k = 0; k < s->carried.n; k++)
        carry(s, &s->carried.d[k]);
}
