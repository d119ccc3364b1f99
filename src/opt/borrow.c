/* What is taken out of a container is borrowed where it can be (reference-count elision): `take` becomes
 * `peek`, an alias of the container that costs no count.
 *
 * A taken item lives as long as the container's slot holds it, and the container lives while an alias of it
 * does (own.c). So between the take and the last use of all that is made of it nothing may drop items of
 * such containers: a `put` into slots of this type, what makes such a list shorter, or a call of what may do
 * so. Containers of other types are other containers, so what happens to a row drops no row. Adding items
 * drops none; a value lies in registers, so it does not matter where the slots move. Where the container is
 * itself peeked at, in another one, nothing may drop what has such items at any depth.
 *
 * What an item is put into another container with, or returned by, is retained by own.c as for any alias.
 * Cost: for each take a walk over the function, backwards until nothing changes. */
#include <assert.h>
#include <string.h>

#include "ir/rtinfo.h"
#include "opt/priv.h"

typedef struct borrower {
    const tr_prog *p;
    tr_fn *f;
    const tr_ty *item; /* what was taken, */
    uint8_t *of;       /* and which values are made of it */
    bool carried;      /* a block's parameter is one of them */
    bool deep;         /* the container it was taken from is borrowed, too */
    uint8_t *seen;     /* instances that were looked into */
    uint8_t *live;     /* per block: one of them is used from its start on */
} borrower;

/* --- what drops items --- */

static bool fn_drops(borrower *w, const tr_fn *f);

/* Are values of type t such items, or, where that matters, do they have some? */
static bool has_item(const borrower *w, const tr_ty *t) {
    if (t == w->item)
        return true;
    for (uint32_t i = 0; w->deep && i < t->n; i++)
        if (has_item(w, t->items[i]))
            return true;
    return false;
}

/* Has t a list of such items? */
static bool has_such(const borrower *w, const tr_ty *t) {
    return t && t->kind == TR_TY_LIST && has_item(w, t->items[0]);
}

static bool ins_drops(borrower *w, const tr_fn *f, const tr_ins *in) {
    if (in->op == TR_OP_PUT)
        return has_item(w, tr_at(f, in->args[0])->ty->elem->items[0]);
    for (uint32_t k = 0; k < in->nargs && tr_ins_cuts(in); k++)
        if (has_such(w, tr_at(f, in->args[k])->ty))
            return true;
    for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
        if (fn_drops(w, tr_pat_any(in->imm.pat, k)))
            return true;
    if (in->op != TR_OP_CALL)
        return false;
    if (in->imm.fn >= w->p->insts.n || !w->p->insts.d[in->imm.fn].fn)
        return true; /* nobody knows */
    if (w->seen[in->imm.fn])
        return w->seen[in->imm.fn] == 2;
    w->seen[in->imm.fn] = 1;
    bool drops = fn_drops(w, w->p->insts.d[in->imm.fn].fn);
    w->seen[in->imm.fn] = drops ? 2 : 1;
    return drops;
}

static bool fn_drops(borrower *w, const tr_fn *f) {
    for (tr_val v = 0; v < f->ins.n; v++)
        if (tr_at(f, v)->blk != TR_NOBLK && ins_drops(w, f, tr_at(f, v)))
            return true;
    return false;
}

/* --- what is made of it --- */

/* A value of counted parts that is no new reference (op.def) has those of its operands: a view, a part of a
 * string, an item of a tuple. */
static bool makes_alias(const tr_ins *in) {
    return tr_op_info[in->op].owns != 'n' && in->ty && tr_ty_is_counted(in->ty);
}

static bool add_params(borrower *w, const tr_ins *t) {
    bool any = false;
    for (uint32_t s = 0; s < tr_nsucc(t); s++)
        for (uint32_t k = 0; k < t->imm.succ[s].n; k++) {
            tr_val p = tr_blk_at(w->f, t->imm.succ[s].to)->params.d[k];
            if (!w->of[t->imm.succ[s].args[k]] || w->of[p])
                continue;
            w->of[p] = w->carried = any = true;
        }
    return any;
}

static void find_made(borrower *w, tr_val v) {
    memset(w->of, 0, w->f->ins.n);
    w->of[v] = 1;
    w->carried = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (tr_val x = 0; x < w->f->ins.n; x++) {
            const tr_ins *in = tr_at(w->f, x);
            if (in->blk == TR_NOBLK)
                continue;
            changed = add_params(w, in) || changed;
            bool is = w->of[x];
            for (uint32_t k = 0; !is && makes_alias(in) && k < in->nargs; k++)
                is = w->of[in->args[k]];
            changed = changed || is != w->of[x];
            w->of[x] = is;
        }
    }
}

/* Marks what a value is made of; true: something new was marked. */
static bool mark_operands(borrower *w, tr_val x) {
    const tr_ins *in = tr_at(w->f, x);
    bool any = false;
    for (uint32_t k = 0; (makes_alias(in) || in->op == TR_OP_ITEMS) && k < in->nargs; k++) {
        any = any || !w->of[in->args[k]];
        w->of[in->args[k]] = 1;
    }
    for (tr_way way = {0}; in->op == TR_OP_PARAM && in->blk && tr_next_way(w->f, in->blk, &way);) {
        tr_val given = way.edge->args[tr_param_index(w->f, x)];
        any = any || !w->of[given];
        w->of[given] = 1;
    }
    return any;
}

/* May the container that v is taken from be one that is only peeked at? */
static bool is_in_borrowed(borrower *w, tr_val v) {
    bool changed = true;
    memset(w->of, 0, w->f->ins.n);
    w->of[tr_at(w->f, v)->args[0]] = 1;
    while (changed) {
        changed = false;
        for (tr_val x = 0; x < w->f->ins.n; x++) {
            if (!w->of[x])
                continue;
            if (tr_at(w->f, x)->op == TR_OP_PEEK)
                return true;
            changed = mark_operands(w, x) || changed;
        }
    }
    return false;
}

/* --- where it is needed --- */

static bool edge_uses(const borrower *w, const tr_edge *e) {
    for (uint32_t k = 0; k < e->n; k++)
        if (w->of[e->args[k]])
            return true;
    return w->live[e->to];
}

/* Lengths, and numbers of a tuple, are in registers. */
static bool is_used(const borrower *w, const tr_ins *in) {
    bool register_only = in->op == TR_OP_DIM || in->op == TR_OP_STRIDE ||
                         (in->op == TR_OP_EXTRACT && !tr_ty_is_counted(in->ty));
    for (uint32_t k = 0; k < in->nargs && !register_only; k++)
        if (w->of[in->args[k]])
            return true;
    return false;
}

static bool live_at_end(const borrower *w, tr_bid b) {
    const tr_ins *t = tr_term(w->f, b);
    const tr_edge *handler = tr_handler(w->f, b);
    bool live = handler && edge_uses(w, handler);
    for (uint32_t s = 0; s < tr_nsucc(t); s++)
        live = live || edge_uses(w, &t->imm.succ[s]);
    return live;
}

/* Goes through block b backwards: is it needed at the start? *dropped: something drops such items where it is
 * needed still, or is needed by what drops them, unless that consumes it. */
static bool walk_block(borrower *w, tr_bid b, tr_val taken, bool *dropped) {
    bool live = live_at_end(w, b);
    const tr_edge *handler = tr_handler(w->f, b);
    for (tr_val v = tr_blk_at(w->f, b)->last; v != TR_NOVAL; v = tr_at(w->f, v)->prev) {
        const tr_ins *in = tr_at(w->f, v);
        bool uses = is_used(w, in), needed = live;
        if (in->op == TR_OP_CALL)
            needed = needed || uses; /* its arguments are borrowed while it runs */
        if (dropped && needed && ins_drops(w, w->f, in))
            *dropped = true;
        if (v == taken && !w->carried)
            live = handler && edge_uses(w, handler);
        live = live || uses;
    }
    return live;
}

static bool can_borrow(borrower *w, tr_val v) {
    tr_fn *f = w->f;
    w->item = tr_at(f, v)->ty;
    w->deep = is_in_borrowed(w, v);
    find_made(w, v);
    memset(w->live, 0, f->blks.n);
    memset(w->seen, 0, w->p->insts.n);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = f->rpo.n; i-- > 0;) {
            bool live = walk_block(w, f->rpo.d[i], v, NULL);
            changed = changed || (live && !w->live[f->rpo.d[i]]);
            w->live[f->rpo.d[i]] |= live;
        }
    }
    bool dropped = false;
    for (uint32_t i = 0; i < f->rpo.n && !dropped; i++)
        walk_block(w, f->rpo.d[i], v, &dropped);
    return !dropped;
}

bool tr_opt_borrow(tr_prog *p, tr_fn *f) {
    tr_arena *a = &f->ctx->arena;
    borrower w = {.p = p, .f = f};
    bool any = false;
    for (tr_val v = 0; v < f->ins.n; v++) {
        tr_ins *in = tr_at(f, v);
        if (in->op != TR_OP_TAKE || in->blk == TR_NOBLK || !tr_ty_is_counted(in->ty))
            continue;
        if (!w.of) {
            w.of = TR_NEW_N(a, uint8_t, f->ins.n + 1u);
            w.live = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
            w.seen = TR_NEW_N(a, uint8_t, p->insts.n + 1u);
        }
        if (!can_borrow(&w, v))
            continue;
        tr_at(f, v)->op = TR_OP_PEEK;
        any = true;
    }
    return any;
}
