/* Lists from outside whose items the iterations of a prange loop replace, each that of its own place:
 *
 *     for i in prange(len(out)):
 *         out[i] = f(i)
 *
 * where items are counted: arrays, strings, lists. A number is stored by one instruction; here the item that
 * was there is dropped, and might be freed by one thread beside others that look at their own. So it is not
 * dropped in the loop: before each `put` the old item is appended to a list of the loop's, which is one that
 * it only appends to (lists.c), and given back when all is done. What is put lies in the memory of who made
 * it, which the caller has after the loop.
 * All that the loop does with such a list, or with what may be it, is to read and replace the item at one
 * place, the loop's counter or a fixed number beside it.
 * Cost: one `append` for each `put`; old items stay until the loop is over. */
#include <assert.h>

#include "opt/emit.h"
#include "opt/prange/ploop.h"

/* Does the place differ from iteration to iteration, by as much as the counter does? */
static bool is_own_place(const tr_ploop *l, tr_val at) {
    const tr_ins *in = tr_at(l->f, at);
    if (at == l->counter)
        return true;
    if (in->op != TR_OP_ADD && in->op != TR_OP_SUB)
        return false;
    return (in->args[0] == l->counter && !tr_ploop_varies(l, in->args[1])) ||
           (in->op == TR_OP_ADD && in->args[1] == l->counter && !tr_ploop_varies(l, in->args[0]));
}

/* The list whose items that is, an array of slots; TR_NOVAL: it is a part of them, or chosen. */
static tr_val list_of(const tr_fn *f, tr_val items) {
    return tr_at(f, items)->op == TR_OP_ITEMS ? tr_arg(f, items, 0) : TR_NOVAL;
}

static bool is_put_to(const tr_fn *f, tr_val v, tr_val list) {
    return tr_at(f, v)->op == TR_OP_PUT && list_of(f, tr_arg(f, v, 0)) == list;
}

/* May an instruction of the loop do that with operand k? */
static bool is_fine(const tr_ploop *l, const tr_ins *in, uint32_t k, tr_val list, tr_val at) {
    const tr_fn *f = l->f;
    tr_val x = in->args[k];
    const tr_ty *t = tr_at(f, x)->ty, *ty = tr_at(f, list)->ty;
    if (x == list)
        return in->op == TR_OP_ITEMS;
    if (!t || !tr_ty_is_slots(t) || t->elem->items[0] != ty->items[0])
        return tr_lists_is_apart(l, list, x);
    tr_val of = list_of(f, x);
    if (of != list)
        return of != TR_NOVAL && tr_lists_is_apart(l, list, of);
    return in->op == TR_OP_DIM || ((in->op == TR_OP_TAKE || in->op == TR_OP_PEEK || in->op == TR_OP_PUT) &&
                                   k == 0 && tr_opt_same(f, in->args[1], at));
}

/* The first instruction that uses the list, or what may be it, in another way; TR_NOVAL: none does. */
static tr_val other_use(const tr_ploop *l, tr_val list, tr_val at) {
    const tr_fn *f = l->f;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                if (!is_fine(l, in, k, list, at))
                    return v;
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                    if (in->imm.succ[s].args[k] == list || list_of(f, in->imm.succ[s].args[k]) == list)
                        return v;
        }
    return TR_NOVAL;
}

static const tr_site *no_room(const tr_fn *f) {
    tr_site *s = TR_NEW(&f->ctx->arena, tr_site);
    *s = (tr_site){TR_EXC_MEMORY, "cannot allocate a list of {0} items", -1, NULL};
    return s;
}

/* What an item has that is no tuple. `of`: the item, or TR_NOVAL where its type alone is asked for. */
typedef TR_VEC(tr_val) leaf_vals;
typedef TR_VEC(const tr_ty *) leaf_types;

static void leaves(tr_bld *b, const tr_ty *t, tr_val of, leaf_types *types, leaf_vals *vals) {
    tr_arena *a = &b->fn->ctx->arena;
    for (uint32_t k = 0; t->kind == TR_TY_TUPLE && k < t->n; k++) {
        tr_val item = of == TR_NOVAL ? TR_NOVAL : tr_emit1(b, TR_OP_EXTRACT, t->items[k], of);
        if (item != TR_NOVAL)
            tr_at(b->fn, item)->imm.i = k;
        leaves(b, t->items[k], item, types, vals);
    }
    if (t->kind == TR_TY_TUPLE)
        return;
    tr_vec_push(a, types, t);
    tr_vec_push(a, vals, of);
}

/* A list for what is replaced, made before the loop. Its items are tuples of what the items have and a
 * number, so that it is of no type that the loop's other lists have, and none of these seems to grow. */
static tr_val list_of_old(const tr_ploop *l, const tr_ty *item, const tr_site *site) {
    tr_fn *f = l->f;
    tr_tytab *types = f->ctx->types;
    tr_bid before = tr_blk_at(f, l->header)->idom;
    tr_bld b = {
        .fn = f, .blk = before, .before = tr_blk_at(f, before)->last, .loc = tr_term(f, l->header)->loc};
    leaf_types all = {0};
    leaf_vals none = {0};
    leaves(&b, item, TR_NOVAL, &all, &none);
    tr_vec_push(&f->ctx->arena, &all, tr_emit_ty(&b, TR_TY_I64));
    const tr_ty *ty = tr_ty_list_of(types, tr_ty_tuple(types, all.n, all.d));
    tr_val old = tr_emit1(&b, TR_OP_NEWLIST, ty, tr_emit_int(&b, 0));
    tr_at(f, old)->imm.site = site;
    return old;
}

static tr_val keep_old(const tr_ploop *l, tr_val put, tr_val olds, const tr_site *site) {
    tr_fn *f = l->f;
    const tr_ty *ty = tr_at(f, olds)->ty->items[0];
    tr_bld b = {.fn = f, .blk = tr_at(f, put)->blk, .before = put, .loc = tr_at(f, put)->loc};
    const tr_ty *item = tr_at(f, tr_arg(f, put, 0))->ty->elem->items[0];
    leaf_types types = {0};
    leaf_vals all = {0};
    leaves(&b, item, tr_emit2(&b, TR_OP_TAKE, item, tr_arg(f, put, 0), tr_arg(f, put, 1)), &types, &all);
    tr_vec_push(&f->ctx->arena, &all, tr_emit_int(&b, 0));
    tr_val kept = tr_emit_v(&b, TR_OP_TUPLE, ty, all.n, all.d);
    tr_val append = tr_emit2(&b, TR_OP_APPEND, NULL, olds, kept);
    tr_at(f, append)->imm.site = site;
    return append;
}

bool tr_ploop_puts(tr_ploop *l, tr_val put, tr_val *bad) {
    tr_fn *f = l->f;
    *bad = TR_NOVAL;
    tr_val list = tr_at(f, put)->op == TR_OP_PUT ? list_of(f, tr_arg(f, put, 0)) : TR_NOVAL;
    if (list == TR_NOVAL || tr_ploop_varies(l, list))
        return false;
    for (uint32_t k = 0; k < l->replaced.n; k++)
        if (l->replaced.d[k] == list)
            return true;
    tr_val at = tr_arg(f, put, 1), other = put, append = TR_NOVAL;
    if (is_own_place(l, at) && (other = other_use(l, list, at)) == TR_NOVAL) {
        const tr_site *site = no_room(f);
        tr_val olds = list_of_old(l, tr_at(f, list)->ty->items[0], site);
        for (uint32_t i = 0; i < l->blks.n; i++)
            for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
                if (is_put_to(f, v, list))
                    append = keep_old(l, v, olds, site);
        assert(append != TR_NOVAL && "a put is among them");
        tr_vec_push(&f->ctx->arena, &l->replaced, list);
        return tr_ploop_appends(l, append, bad);
    }
    *bad = other;
    return false;
}
