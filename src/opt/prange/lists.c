/* Lists from outside to which a prange loop only appends (an ordered filter): each chunk of iterations has a
 * list of its own, and when all are done their items are moved to the list, chunk after chunk, so that they
 * lie as a plain loop leaves them.
 *
 *     for i in prange(n):
 *         if good(a[i]):
 *             out.append(f(i))
 *
 * The loop does nothing else with the list, nor with another value that may be it: an iteration would see
 * what is not there yet. Two lists are told apart by their types, and by where they come from; lists from
 * outside of one type are compared before the loop, which goes in order where they are one. If an iteration
 * raises, the list stays as it was, as arrays do that are accumulated into.
 * Cost: each item is moved once more; and a list for each chunk. */
#include <assert.h>

#include "ir/alias.h"
#include "opt/emit.h"
#include "opt/prange/ploop.h"

enum { MAX_LISTS = 8 };

/* Does what a value of type t leads to have such a list? The lists of a dict are nobody else's. */
static bool leads_to(const tr_ty *t, const tr_ty *list) {
    if (!t || t == list)
        return t == list;
    if (t->kind == TR_TY_DICT)
        return leads_to(t->items[0], list) || leads_to(t->items[1]->items[0], list);
    if (t->kind == TR_TY_ARRAY)
        return tr_ty_is_slots(t) && leads_to(t->elem->items[0], list);
    for (uint32_t i = 0; i < t->n; i++)
        if (leads_to(t->items[i], list))
            return true;
    return false;
}

bool tr_ploop_lists_are_own(const tr_ploop *l, tr_val v) {
    const tr_fn *f = l->f;
    uint8_t *from = TR_NEW_N(&f->ctx->arena, uint8_t, f->ins.n + 1u);
    tr_array_sources(f, v, from);
    for (tr_val x = 0; x < f->ins.n; x++) {
        const tr_ins *in = tr_at(f, x);
        bool inside =
            in->blk != TR_NOBLK && l->in[in->blk] && !(in->blk == l->header && in->op == TR_OP_PARAM);
        if (from[x] && in->ty && tr_ty_has_lists(in->ty) && !inside)
            return false;
    }
    return true;
}

/* A list that the function made, or was given: one that it made is no other. */
static bool is_made(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->op == TR_OP_NEWLIST;
}

static bool is_given(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->op == TR_OP_PARAM && tr_at(f, v)->blk == 0;
}

/* The list of a dict's values is no list of the user's. */
static bool is_of_dict(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->op == TR_OP_EXTRACT && tr_at(f, tr_at(f, v)->args[0])->ty->kind == TR_TY_DICT;
}

/* May x, which the loop uses, be the list or lead to it? One that might be is among those to compare. */
static bool is_apart(const tr_ploop *l, tr_plist *p, tr_val x) {
    const tr_fn *f = l->f;
    const tr_ty *ty = tr_at(f, p->list)->ty;
    if (!leads_to(tr_at(f, x)->ty, ty) || is_of_dict(f, x) || tr_ploop_lists_are_own(l, x))
        return true;
    if (tr_at(f, x)->ty != ty || tr_ploop_varies(l, x))
        return false;
    if ((is_made(f, x) && (is_made(f, p->list) || is_given(f, p->list))) ||
        (is_given(f, x) && is_made(f, p->list)) ||
        (p->nothers < TR_MAX_PLIKE && tr_opt_among(x, p->others, p->nothers)))
        return true;
    if (p->nothers == TR_MAX_PLIKE)
        return false;
    p->others[p->nothers++] = x;
    return true;
}

static bool only_appends(const tr_ploop *l, tr_plist *p, tr_val v) {
    const tr_ins *in = tr_at(l->f, v);
    for (uint32_t k = 0; k < in->nargs; k++)
        if (in->args[k] == p->list ? in->op != TR_OP_APPEND || k : !is_apart(l, p, in->args[k]))
            return false;
    for (uint32_t s = 0; s < tr_nsucc(in); s++)
        for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
            if (in->imm.succ[s].args[k] == p->list)
                return false;
    return true;
}

bool tr_lists_is_apart(const tr_ploop *l, tr_val list, tr_val x) {
    tr_plist p = {.list = list, .nothers = TR_MAX_PLIKE};
    return is_apart(l, &p, x);
}

bool tr_ploop_appends(tr_ploop *l, tr_val append, tr_val *bad) {
    const tr_fn *f = l->f;
    const tr_ins *in = tr_at(f, append);
    *bad = TR_NOVAL;
    if (in->op != TR_OP_APPEND || tr_ploop_varies(l, in->args[0]))
        return false;
    for (uint32_t k = 0; k < l->lists.n; k++)
        if (l->lists.d[k].list == in->args[0])
            return true;
    tr_plist p = {.list = in->args[0], .site = in->imm.site, .parts = TR_NOVAL};
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (!only_appends(l, &p, v)) {
                *bad = v;
                return false;
            }
    if (l->lists.n == MAX_LISTS)
        return false;
    tr_vec_push(&l->f->ctx->arena, &l->lists, p);
    return true;
}

/* None of them is another list that the loop uses; TR_NOVAL: there are no others. */
tr_val tr_lists_apart(const tr_ploop *l, tr_bld *b) {
    tr_val apart = TR_NOVAL;
    for (uint32_t k = 0; k < l->lists.n; k++)
        for (uint32_t i = 0; i < l->lists.d[k].nothers; i++) {
            tr_val two[] = {l->lists.d[k].list, l->lists.d[k].others[i]};
            tr_val same = tr_emit_rt(b, TR_RT_SAME, tr_emit_ty(b, TR_TY_BOOL), 2, two, NULL);
            apart = tr_emit_both(b, apart, tr_emit_not(b, same));
        }
    return apart;
}

static const tr_ty *items_of(const tr_bld *b, const tr_ty *list) {
    tr_tytab *types = b->fn->ctx->types;
    return tr_ty_array(types, tr_ty_slot(types, list->items[0]), 1, TR_LAYOUT_C, false);
}

static tr_val new_list(tr_bld *b, const tr_ty *ty, tr_val n, const tr_site *site) {
    tr_val v = tr_emit1(b, TR_OP_NEWLIST, ty, n);
    tr_at(b->fn, v)->imm.site = site;
    return v;
}

void tr_lists_room(tr_ploop *l, tr_bld *b, tr_val chunks) {
    for (uint32_t k = 0; k < l->lists.n; k++) {
        tr_plist *p = &l->lists.d[k];
        p->parts = new_list(b, tr_ty_list_of(b->fn->ctx->types, tr_at(b->fn, p->list)->ty), chunks, p->site);
    }
}

tr_val tr_lists_own(const tr_ploop *l, tr_bld *b, const tr_plist *p, tr_val parts, tr_val chunk) {
    tr_val own = new_list(b, tr_at(l->f, p->list)->ty, tr_emit_int(b, 0), p->site);
    tr_val items = tr_emit1(b, TR_OP_ITEMS, items_of(b, tr_at(b->fn, parts)->ty), parts);
    tr_emit3(b, TR_OP_PUT, NULL, items, chunk, own);
    return own;
}

void tr_lists_join(const tr_ploop *l, tr_bld *b) {
    for (uint32_t k = 0; k < l->lists.n; k++) {
        const tr_plist *p = &l->lists.d[k];
        tr_val two[] = {p->list, p->parts};
        tr_val lacks = tr_emit_rt(b, TR_RT_LIST_GATHER, tr_emit_ty(b, TR_TY_I64), 2, two, NULL);
        tr_val fine = tr_emit_cmp(b, TR_CMP_EQ, lacks, tr_emit_int(b, 0));
        tr_at(b->fn, tr_emit2(b, TR_OP_CHECK, NULL, fine, lacks))->imm.site = p->site;
    }
}
