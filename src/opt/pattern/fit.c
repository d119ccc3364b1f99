/* Gives what a filter kept an array of its own where that is little of the room that was taken for it.
 *
 * The room is for all that may be kept (room.c). What was not touched of it is hardly memory; but an array
 * of a few items that somebody keeps would hold on to a large block. So where less than a quarter was kept
 * of a room of more than SMALL bytes, it is copied, and the block is free for others: that takes at most a
 * quarter of what counting took before there was room. It runs when loops over a prange are patterns: of what
 * these make nothing is kept for long.
 * Cost: a look at each filter; a test, and code for the copy. */
#include "ir/ports.h"
#include "opt/emit.h"
#include "opt/priv.h"
#include "opt/versions.h"

/* SHIFT: a quarter. COUNT: the items of a view of one axis, among its operands. */
enum { SMALL = 64 << 10, SHIFT = 2, COUNT = 2 };

/* Room i of the filter c, for all and one more, whose part v is all that is used of it; TR_NOVAL: another. */
static tr_val part_of(const tr_fn *f, const uint32_t *uses, tr_val cv, uint32_t i) {
    const tr_ins *c = tr_at(f, cv);
    tr_val room = c->args[tr_pat_at(c->imm.pat, P_PACK) + i];
    const tr_ins *a = tr_at(f, room), *more = a->op == TR_OP_ALLOC ? tr_at(f, a->args[0]) : NULL;
    if (!more || a->sub || c->imm.pat->nspace != 1 || uses[room] != 2 || more->op != TR_OP_ADD ||
        more->args[0] != c->args[0])
        return TR_NOVAL;
    for (tr_val v = c->next; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *in = tr_at(f, v);
        if (in->op == TR_OP_VIEW && in->args[0] == room)
            return in->args[COUNT] == cv ? v : TR_NOVAL;
    }
    return TR_NOVAL;
}

/* A lambda that yields what it is given of one array. */
static tr_fn *same(const tr_fn *f, const tr_ty *elem) {
    tr_fn *g = tr_fn_new(f->ctx, f->name, S_T);
    g->is_lambda = true;
    g->file = f->file;
    g->func = f->func;
    tr_bld b = {.fn = g, .blk = tr_blk_new(g), .before = TR_NOVAL};
    tr_blk_param(g, b.blk, tr_ty_scalar(f->ctx->types, TR_TY_I64), NULL);
    tr_val x = tr_blk_param(g, b.blk, elem, NULL);
    tr_emit1(&b, TR_OP_YIELD, NULL, x);
    return g;
}

/* The array x in the type of the view `part`, which is all of it: one of any layout, where who reads it does
 * not know that it is side by side. */
static tr_val as_part(tr_bld *b, tr_val x, const tr_ins *part) {
    tr_fn *f = b->fn;
    if (tr_at(f, x)->ty == part->ty)
        return x;
    tr_val *args = tr_arena_copy(&f->ctx->arena, part->args, part->nargs * sizeof *args);
    args[0] = x;
    tr_val v = tr_emit_v(b, TR_OP_VIEW, part->ty, part->nargs, args);
    tr_at(f, v)->imm = part->imm;
    tr_at(f, v)->sub = part->sub;
    return v;
}

/* A copy of n items, at the end of a block. */
static tr_val copy(tr_fn *f, tr_bid blk, tr_val part, tr_val n, tr_val room) {
    tr_bld b = tr_bld_at_end(f, blk);
    const tr_ins in = *tr_at(f, part);
    tr_val to = tr_emit_v(&b, TR_OP_ALLOC, tr_at(f, room)->ty, 1, &n);
    tr_at(f, to)->imm.site = tr_at(f, room)->imm.site;
    tr_node m = tr_node_new(f);
    m.t.lam = same(f, tr_at(f, to)->ty->elem);
    tr_node_put(&m, P_SPACE, n);
    tr_node_put(&m, P_IN, part);
    tr_node_put(&m, P_OUT, to);
    tr_node_emit(&m, &b);
    return as_part(&b, to, &in);
}

/* The way from a block goes on with a value. */
static void lead_on(tr_fn *f, tr_bid from, tr_bid to, tr_val v) {
    tr_bld b = tr_bld_at_end(f, from);
    tr_val old = tr_blk_at(f, from)->last;
    b.before = TR_NOVAL;
    tr_ins_remove(f, old);
    tr_br(&b, to, 1, &v);
}

/* What uses the part uses from now on what comes after the test. */
static void fit(tr_versions *s, tr_val part) {
    tr_fn *f = s->f;
    const tr_ins in = *tr_at(f, part);
    tr_val n = in.args[COUNT], all = tr_at(f, n)->args[0];
    tr_fork k = tr_fork_cut(s, part, in.loc);
    tr_fork_make(s, &k, TR_COLD_LARGE);
    tr_repl r = tr_repl_new(f);
    tr_repl_set(f, &r, part, tr_blk_param(f, k.after, in.ty, NULL));
    tr_repl_apply(f, &r);
    tr_val quarter = tr_emit_op(&k.b, TR_OP_SHR, all, tr_emit_int(&k.b, SHIFT));
    tr_val little = tr_emit_cmp(&k.b, TR_CMP_LT, n, quarter);
    tr_val least = tr_emit_int(&k.b, SMALL / (int64_t)tr_ty_size(in.ty->elem));
    tr_val large = tr_emit_cmp(&k.b, TR_CMP_GT, all, least);
    tr_fork_pick(s, &k, tr_emit_both(&k.b, large, little), k.other);
    lead_on(f, k.plain, k.after, part);
    lead_on(f, k.other, k.after, copy(f, k.other, part, n, in.args[0]));
}

bool tr_opt_fit(tr_prog *p, tr_fn *f) {
    (void)p;
    tr_u32s parts = {0};
    const uint32_t *uses = NULL;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            if (tr_at(f, v)->op != TR_OP_PATTERN || !tr_at(f, v)->imm.pat->nfilt)
                continue;
            uses = uses ? uses : tr_use_counts(f);
            for (uint32_t k = 0; k < tr_at(f, v)->imm.pat->nfilt; k++) {
                tr_val part = part_of(f, uses, v, k);
                if (part != TR_NOVAL)
                    tr_vec_push(&f->ctx->arena, &parts, part);
            }
        }
    if (!parts.n)
        return false;
    tr_versions s = tr_versions_new(f);
    for (uint32_t i = 0; i < parts.n; i++)
        fit(&s, parts.d[i]);
    return tr_versions_end(&s);
}
