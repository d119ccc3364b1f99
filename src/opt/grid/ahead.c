/* Loops that walk memory a stride apart read for several rounds before they write (unroll and
 * jam of loads, memory-level parallelism):
 *
 *   while i < stop: b[i] = f(a[i]); i += step
 *       while i + 3 * step < stop: x0 = a[i]; ... x3 = a[i + 3 * step]; b[i] = f(x0); ...; i += 4 * step
 *       while i < stop: b[i] = f(a[i]); i += step
 *
 * A thread of a GPU waits where a value is used that is not there yet, and a store uses one: one round
 * at a time has one load under way, which is half of what memory gives. LLVM cannot do this, as arrays
 * may overlap; so a test asks, before the loop, whether what is stored lies apart from what is loaded.
 * Of one array both may be, at the place itself. What a round does is small, has no branch and no other
 * effect; the order of the stores is kept.
 * For devices only, after bounds: an index that is checked is not read ahead. Cost: linear;
 * such a loop is five times as large. */
#include <string.h>

#include "ir/loops.h"
#include "opt/grid/grid.h"
#include "opt/emit.h"
#include "opt/priv.h"

enum { ROUNDS = 4, MOST = 32, MOST_PAIRS = 8, MOST_PARAMS = 8, DEPTH = 6 };

typedef struct ahead {
    tr_fn *f;
    const tr_loop *l;
    tr_bid body;
    uint32_t at; /* the place, among the head's params */
    tr_val i, stop, step;
    struct {
        tr_val stored, loaded;
        bool own; /* at the place itself: they may be the same, item for item */
    } pairs[MOST_PAIRS];
    uint32_t npairs, loop;
} ahead;

static bool is_outside(const ahead *a, tr_val v) {
    return tr_forest_is_outside(a->f->forest, a->loop, v);
}

/* So that a few steps more do not wrap. */
static bool is_low(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    int64_t n;
    if (in->op == TR_OP_DIM)
        return true;
    return in->op == TR_OP_MIN && tr_get_int(f, in->args[1], &n) && n <= (int64_t)1 << TR_WALK_STOP;
}

/* A head that only asks, and one block. */
static bool take_loop(ahead *a) {
    const tr_fn *f = a->f;
    const tr_loop *l = a->l;
    tr_loop_test t;
    if (l->preheader == TR_NOBLK || l->latch == TR_NOBLK || l->blks.n != 2 ||
        !tr_forest_test(f->forest, a->loop, &t) || t.body != l->latch ||
        tr_term(f, l->header)->imm.succ[0].n || tr_blk_at(f, l->header)->params.n > MOST_PARAMS)
        return false;
    a->body = l->latch;
    tr_counter walks;
    if (tr_blk_at(f, l->header)->first != t.cond || tr_at(f, t.cond)->next != tr_blk_at(f, l->header)->last ||
        tr_term(f, a->body)->op != TR_OP_BR || !is_low(f, t.bound) ||
        !tr_loop_counter(f, l->header, t.counter, &walks))
        return false;
    a->i = t.counter;
    a->stop = t.bound;
    a->at = tr_param_index(f, a->i);
    a->step = walks.step;
    /* a start far above stop runs no round, and wraps */
    return tr_grid_bits(f, walks.start, DEPTH) < TR_WALK_STOP && tr_at(f, walks.next)->flags & F_NSW &&
           tr_grid_is_count(f, a->step, DEPTH) && tr_grid_bits(f, a->step, DEPTH) < TR_WALK_STEP;
}

/* Nobody else's item is at the same place as ours. */
static bool is_own(const ahead *a, const tr_ins *in) {
    return tr_at(a->f, in->args[0])->ty->ndim == 1 && in->args[1] == a->i;
}

/* `before`: the store comes first in a round, which the load then must not see. */
static bool add_pair(ahead *a, const tr_ins *stored, const tr_ins *loaded, bool before) {
    bool own = !before && is_own(a, stored) && is_own(a, loaded);
    for (uint32_t k = 0; k < a->npairs; k++)
        if (a->pairs[k].stored == stored->args[0] && a->pairs[k].loaded == loaded->args[0]) {
            a->pairs[k].own &= own;
            return true;
        }
    if (a->npairs == MOST_PAIRS)
        return false;
    a->pairs[a->npairs].stored = stored->args[0];
    a->pairs[a->npairs].loaded = loaded->args[0];
    a->pairs[a->npairs++].own = own;
    return true;
}

/* May this load come before the stores of the rounds in front of its own? And no store of
 * its own round is in front of it. */
static bool may_pass(ahead *a, const tr_ins *load) {
    const tr_fn *f = a->f;
    bool before = true;
    for (tr_val v = tr_blk_at(f, a->body)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *st = tr_at(f, v);
        before &= st != load;
        if (st->op != TR_OP_STORE)
            continue;
        if (st->args[0] != load->args[0] ? !add_pair(a, st, load, before)
                                         : before || !is_own(a, st) || !is_own(a, load))
            return false;
    }
    return true;
}

static bool take_body(ahead *a) {
    const tr_fn *f = a->f;
    uint32_t n = 0, loads = 0;
    for (tr_val v = tr_blk_at(f, a->body)->first; v != tr_blk_at(f, a->body)->last; v = tr_at(f, v)->next) {
        const tr_ins *in = tr_at(f, v);
        bool reads = in->op == TR_OP_LOAD;
        if (++n > MOST || (!reads && in->op != TR_OP_STORE && !tr_opt_is_pure(in)))
            return false;
        if ((reads || in->op == TR_OP_STORE) && !is_outside(a, in->args[0]))
            return false;
        if (reads && !may_pass(a, in))
            return false;
        loads += reads;
    }
    return loads > 0;
}

/* --- making it --- */

static tr_val sum(tr_bld *b, tr_val x, tr_val y) {
    tr_val v = tr_emit2(b, TR_OP_ADD, tr_at(b->fn, x)->ty, x, y);
    tr_at(b->fn, v)->flags |= F_NSW;
    return v;
}

/* The round at `args`, the head's params, as a block of its own without an end; args become the next
 * round's. `moved`: collects its stores. */
static tr_bid copy_round(ahead *a, tr_val *args, tr_u32s *moved) {
    tr_fn *f = a->f;
    tr_val *map = tr_no_vals(f);
    for (uint32_t k = 0; k < tr_blk_at(f, a->l->header)->params.n; k++)
        map[tr_blk_at(f, a->l->header)->params.d[k]] = args[k];
    tr_bid to = f->blks.n;
    tr_clone_blocks(f, f, &a->body, 1, map, tr_no_blks(f), 0);
    const tr_edge *e = &tr_term(f, to)->imm.succ[0];
    memcpy(args, e->args, e->n * sizeof *args);
    tr_ins_remove(f, tr_blk_at(f, to)->last);
    for (tr_val v = tr_blk_at(f, to)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
        if (tr_at(f, v)->op == TR_OP_STORE)
            tr_vec_push(&f->ctx->arena, moved, v);
    return to;
}

/* Before the loop: does what is stored lie apart from what is loaded? NOVAL: nothing to ask. */
static tr_val all_apart(ahead *a, tr_bld *b) {
    tr_val ok = TR_NOVAL;
    for (uint32_t k = 0; k < a->npairs; k++) {
        bool same_type =
            tr_at(a->f, a->pairs[k].stored)->ty->elem == tr_at(a->f, a->pairs[k].loaded)->ty->elem;
        bool own = a->pairs[k].own && same_type;
        ok = tr_emit_both(b, ok, tr_emit_apart(b, a->pairs[k].stored, a->pairs[k].loaded, !own));
    }
    return ok;
}

static void read_ahead(ahead *a) {
    tr_fn *f = a->f;
    tr_bid h = a->l->header, ph = a->l->preheader, head = tr_blk_new(f);
    uint32_t n = tr_blk_at(f, h)->params.n, loc = tr_term(f, h)->loc;
    tr_bld b = {.fn = f, .blk = ph, .before = tr_blk_at(f, ph)->last, .loc = loc};
    tr_val by[ROUNDS + 1] = {TR_NOVAL, a->step}, args[MOST_PARAMS], first[MOST_PARAMS];
    tr_u32s stores = {0};
    for (unsigned k = 2; k <= ROUNDS; k++)
        by[k] = sum(&b, by[k - 1], a->step);
    tr_val ok = all_apart(a, &b);
    memcpy(first, tr_term(f, ph)->imm.succ[0].args, n * sizeof *first);
    tr_ins_remove(f, tr_blk_at(f, ph)->last);
    b.before = TR_NOVAL;
    if (ok == TR_NOVAL)
        tr_br(&b, head, n, first);
    else
        tr_cbr(&b, ok, head, n, first, h, n, first);
    for (uint32_t k = 0; k < n; k++)
        args[k] = tr_blk_param(f, head, tr_at(f, tr_blk_at(f, h)->params.d[k])->ty, NULL);
    b.blk = head;
    tr_val place = args[a->at], last = sum(&b, place, by[ROUNDS - 1]);
    tr_val more = tr_emit_cmp(&b, TR_CMP_LT, last, a->stop);
    memcpy(first, args, n * sizeof *args);
    tr_bid to = TR_NOBLK;
    for (unsigned k = 0; k < ROUNDS; k++) {
        tr_bld at = {.fn = f, .blk = to == TR_NOBLK ? head : to, .before = TR_NOVAL, .loc = loc};
        if (k) {
            args[a->at] = sum(&at, place, by[k]);
            tr_at(f, args[a->at])->sub = TR_TURN_PLACE;
        }
        tr_bid one = copy_round(a, args, &stores);
        if (to == TR_NOBLK)
            tr_cbr(&at, more, one, 0, NULL, h, n, first);
        else
            tr_br(&at, one, 0, NULL);
        to = one;
    }
    b.blk = to;
    args[a->at] = sum(&b, place, by[ROUNDS]);
    tr_br(&b, head, n, args);
    for (uint32_t k = 0; k < stores.n; k++)
        tr_ins_move_end(f, stores.d[k], to);
}

bool tr_opt_ahead(tr_prog *p, tr_fn *f) {
    (void)p;
    bool changed = false;
    if (f->kind != TR_FN_KERNEL && f->kind != TR_FN_DEVICE)
        return false;
    for (uint32_t k = 0; k < f->forest->all.n; k++) {
        ahead a = {.f = f, .loop = k, .l = tr_forest_at(f->forest, k)};
        if (take_loop(&a) && take_body(&a)) {
            read_ahead(&a);
            changed = true;
        }
    }
    return changed;
}
