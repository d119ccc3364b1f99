/* What a program moves through memory, written down by itself where it is asked to (tr_opts.account): the
 * root's last param is then an array of int64 that events are stored to.
 *
 * An event is four numbers: what happened, and three of its own (TR_ACCOUNT_*, base/opts.h). Word 0 of the
 * array counts them; what there is no room for is stored over the last one. A pattern moves the items of its
 * arrays once each, an item that it captures an array for as often as it reads it, and one that it scatters
 * to as it is stored and, where it is combined, read. A call moves the arrays that it is given, a row of the
 * runtime as its signature says (tr_call_memory), and those that it gives; what a function does inside of
 * itself is its own. That is a model: caches are larger than nothing and smaller than all. Stands before
 * `own`, as all that could still merge patterns has run then; of arrays on a device before `offload`, which
 * makes kernels of them. Cost: none without the option. */
#include <assert.h>

#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "opt/emit.h"
#include "opt/priv.h"
#include "rt/rt.h"

typedef struct account {
    tr_prog *p;
    tr_fn *f;
    tr_bld b;
    tr_val log;
} account;

static void event(account *s, tr_account what, tr_val x, tr_val y, tr_val z) {
    tr_val zero = tr_emit_int(&s->b, 0), one = tr_emit_int(&s->b, 1), four = tr_emit_int(&s->b, 4);
    tr_val n = tr_emit_v(&s->b, TR_OP_LOAD, tr_emit_ty(&s->b, TR_TY_I64), 2, (tr_val[]){s->log, zero});
    tr_val at = tr_emit_op(&s->b, TR_OP_MUL, n, four);
    tr_val last = tr_emit_op(&s->b, TR_OP_SUB, tr_emit_dim(&s->b, s->log, 0), four);
    at = tr_emit_least(&s->b, tr_emit_op(&s->b, TR_OP_ADD, at, one), last);
    tr_val words[4] = {tr_emit_int(&s->b, (int64_t)what), x, y, z};
    for (unsigned k = 0; k < 4; k++) {
        tr_val place = k ? tr_emit_op(&s->b, TR_OP_ADD, at, tr_emit_int(&s->b, (int64_t)k)) : at;
        tr_emit_v(&s->b, TR_OP_STORE, NULL, 3, (tr_val[]){s->log, place, words[k]});
    }
    n = tr_emit_op(&s->b, TR_OP_ADD, n, one);
    tr_emit_v(&s->b, TR_OP_STORE, NULL, 3, (tr_val[]){s->log, zero, n});
}

static const tr_ty *array_ty(const account *s, tr_val v) {
    const tr_ty *t = tr_at(s->f, v)->ty;
    return t && t->kind == TR_TY_ARRAY && tr_ty_size(t->elem) ? t : NULL;
}

/* How many different items an axis has: one, where it repeats the first. */
static tr_val items_along(account *s, tr_val v, unsigned k) {
    tr_val n = tr_emit_dim(&s->b, v, k);
    if (tr_at(s->f, v)->ty->layout != TR_LAYOUT_ANY)
        return n;
    tr_val stride = tr_emit1(&s->b, TR_OP_STRIDE, tr_emit_ty(&s->b, TR_TY_I64), v);
    tr_at(s->f, stride)->imm.i = k;
    tr_val repeats = tr_emit_cmp(&s->b, TR_CMP_EQ, stride, tr_emit_int(&s->b, 0));
    return tr_emit_select(&s->b, repeats, tr_emit_least(&s->b, n, tr_emit_int(&s->b, 1)), n);
}

static tr_val bytes_of(account *s, tr_val v) {
    const tr_ty *t = array_ty(s, v);
    tr_val n = tr_emit_int(&s->b, (int64_t)tr_ty_size(t->elem));
    for (unsigned k = 0; k < t->ndim; k++)
        n = tr_emit_op(&s->b, TR_OP_MUL, n, items_along(s, v, k));
    return n;
}

static tr_val plus(account *s, tr_val x, tr_val y) {
    return tr_emit_op(&s->b, TR_OP_ADD, x, y);
}

/* The array itself, of a view that of which it is one. */
static tr_val base_of(const account *s, tr_val v) {
    while (tr_is_view(tr_at(s->f, v)))
        v = tr_arg(s->f, v, 0);
    return v;
}

/* An array is made or in use: by its number. */
static void tell(account *s, tr_account what, tr_val v) {
    tr_val zero = tr_emit_int(&s->b, 0);
    event(s, what, tr_emit_int(&s->b, (int64_t)base_of(s, v)), bytes_of(s, base_of(s, v)), zero);
}

static void note_nodes(account *s, uint32_t loc, const tr_fn *lam) {
    tr_u32s met = tr_opt_nodes(s->f, loc, lam);
    for (uint32_t i = 0; i < met.n; i++) {
        tr_val zero = tr_emit_int(&s->b, 0);
        event(s, TR_ACCOUNT_NODE, tr_emit_int(&s->b, met.d[i]), zero, zero);
    }
}

/* --- patterns --- */

/* An array that stands there twice is moved once. */
static tr_val sum_of(account *s, const tr_ins *in, uint32_t from, uint32_t n, tr_val sum) {
    for (uint32_t k = from; k < from + n; k++) {
        bool again = !array_ty(s, in->args[k]);
        for (uint32_t i = from; i < k; i++)
            again = again || in->args[i] == in->args[k];
        if (!again)
            sum = plus(s, sum, bytes_of(s, in->args[k]));
    }
    return sum;
}

static tr_val rounds_of(account *s, const tr_ins *in, int64_t each) {
    return tr_emit_times(&s->b, tr_emit_int(&s->b, each), in->args, in->imm.pat->nspace);
}

static unsigned form_of(const tr_pat *p) {
    unsigned form = (p->nout || p->neout ? TR_ACCOUNT_MAP : 0u) | (p->nfold ? TR_ACCOUNT_REDUCE : 0u) |
                    (p->nscan && !p->nfilt ? TR_ACCOUNT_SCAN : 0u) | (p->nfilt ? TR_ACCOUNT_FILTER : 0u) |
                    (p->nscat ? TR_ACCOUNT_SCATTER : 0u) | (p->ntop ? TR_ACCOUNT_TOP : 0u);
    for (tr_val v = 0; v < p->lam->ins.n; v++)
        if (tr_at(p->lam, v)->blk != TR_NOBLK && tr_at(p->lam, v)->op == TR_OP_PATTERN)
            form |= form_of(tr_at(p->lam, v)->imm.pat);
    return form;
}

/* How many are kept: what the first scan has come to. */
static tr_val kept(account *s, tr_val v) {
    if (tr_pat_nred(tr_at(s->f, v)->imm.pat) == 1)
        return v;
    tr_val n = tr_emit1(&s->b, TR_OP_EXTRACT, tr_emit_ty(&s->b, TR_TY_I64), v);
    tr_at(s->f, n)->imm.i = 0;
    return n;
}

/* Adds what pattern v does to the arrays of one role. */
static void ports(account *s, tr_val v, const tr_ins *in, const tr_ports *g, tr_val *read, tr_val *written) {
    const tr_pat *p = in->imm.pat;
    bool whole =
        g->is->operand == TR_PORT_SPACE || g->is->operand == TR_PORT_KEPT || g->is->operand == TR_PORT_BEST;
    if (whole && g->n && g->is->memory & TR_MEM_READ) {
        tr_val items = sum_of(s, in, g->arg, g->n, tr_emit_int(&s->b, 0));
        if (g->is->operand == TR_PORT_SPACE) /* one that repeats has items where there is no round */
            items = tr_emit_op(&s->b, TR_OP_MUL, items,
                               tr_emit_least(&s->b, rounds_of(s, in, 1), tr_emit_int(&s->b, 1)));
        *read = plus(s, *read, items);
    }
    if (whole && g->is->memory & TR_MEM_WRITE)
        *written = sum_of(s, in, g->arg, g->n, *written);
    for (uint32_t k = g->arg; k < g->arg + g->n; k++) {
        const tr_ty *t = array_ty(s, in->args[k]);
        if (g->is->operand == TR_PORT_PACKED) {
            tr_val n = kept(s, v), size = tr_emit_int(&s->b, (int64_t)tr_ty_size(t->elem));
            *written = plus(s, *written, tr_emit_op(&s->b, TR_OP_MUL, n, size));
        } else if (g->is->operand == TR_PORT_TARGET && g->is->memory) { /* tables are what rounds walk */
            *written = plus(s, *written, rounds_of(s, in, (int64_t)tr_ty_size(t->elem)));
            if (tr_pat_join(p, k)->how != TR_SCATTER_PUT)
                *read = plus(s, *read, rounds_of(s, in, (int64_t)tr_ty_size(t->elem)));
        }
    }
}

/* Patterns of a round (opt/pattern/byrow.c): arrays that were there before are moved once, those of the round
 * stay in the cache; what the inner functions load counts as often as it is loaded. */
static void rounds(account *s, const tr_ins *in, tr_val *read, tr_val *written) {
    const tr_pat *p = in->imm.pat;
    for (uint32_t k = tr_pat_at(p, P_CAP); k < tr_pat_at(p, P_CAP + 1); k++) {
        uint8_t memory = array_ty(s, in->args[k]) ? tr_pat_walked(p, k) : 0;
        if (memory & TR_MEM_READ)
            *read = plus(s, *read, bytes_of(s, in->args[k]));
        if (memory & TR_MEM_WRITE)
            *written = plus(s, *written, bytes_of(s, in->args[k]));
    }
    for (tr_val v = 0; v < p->lam->ins.n; v++) {
        const tr_ins *inner = tr_at(p->lam, v);
        if (inner->blk == TR_NOBLK || inner->op != TR_OP_PATTERN)
            continue;
        int64_t each = tr_fn_moves(inner->imm.pat->lam, TR_OP_LOAD);
        tr_val n = each ? rounds_of(s, in, each) : TR_NOVAL;
        for (uint32_t k = 0; each && k < inner->imm.pat->nspace; k++) {
            const tr_ins *size = tr_at(p->lam, inner->args[k]);
            tr_val x = size->op == TR_OP_CONST ? tr_const_import(s->f, size) : TR_NOVAL;
            if (size->op == TR_OP_PARAM)
                x = in->args[tr_pat_at(p, P_CAP) + tr_param_index(p->lam, inner->args[k]) -
                             tr_pat_param(p, TR_LAM, P_CAP)];
            n = x == TR_NOVAL || n == TR_NOVAL ? TR_NOVAL : tr_emit_op(&s->b, TR_OP_MUL, n, x);
        }
        *read = n == TR_NOVAL ? *read : plus(s, *read, n);
    }
}

static void pattern(account *s, tr_val v) {
    const tr_ins in = *tr_at(s->f, v); /* instructions move while others are made */
    const tr_pat *p = in.imm.pat;
    tr_val read = tr_emit_int(&s->b, 0), written = read;
    for (tr_ports g = tr_ports_of(p, TR_LAM); tr_ports_left(&g); tr_ports_next(p, TR_LAM, &g))
        ports(s, v, &in, &g, &read, &written);
    int64_t looked = tr_fn_moves(p->lam, TR_OP_LOAD), stored = tr_fn_moves(p->lam, TR_OP_STORE);
    if (looked)
        read = plus(s, read, rounds_of(s, &in, looked));
    if (stored)
        written = plus(s, written, rounds_of(s, &in, stored));
    rounds(s, &in, &read, &written);
    event(s, TR_ACCOUNT_KERNEL, tr_emit_int(&s->b, (int64_t)form_of(p)), read, written);
    note_nodes(s, in.loc, p->lam);
    for (uint32_t k = p->nspace; k < in.nargs; k++)
        if (array_ty(s, in.args[k]))
            tell(s, TR_ACCOUNT_USE, in.args[k]);
}

/* --- all else that goes through memory --- */

/* The arrays that a value is, or holds. */
static void arrays_of(account *s, tr_val v, tr_u32s *out) {
    const tr_ty *t = tr_at(s->f, v)->ty;
    if (array_ty(s, v))
        tr_vec_push(&s->p->ctx->arena, out, v);
    for (uint32_t k = 0; t && t->kind == TR_TY_TUPLE && k < t->n; k++)
        if (t->items[k]->kind == TR_TY_ARRAY || t->items[k]->kind == TR_TY_TUPLE) {
            tr_val item = tr_emit1(&s->b, TR_OP_EXTRACT, t->items[k], v);
            tr_at(s->f, item)->imm.i = k;
            arrays_of(s, item, out);
        }
}

static tr_val bytes_of_all(account *s, const tr_u32s *arrays, tr_val sum) {
    for (uint32_t k = 0; k < arrays->n; k++)
        sum = plus(s, sum, bytes_of(s, arrays->d[k]));
    return sum;
}

static void tell_all(account *s, tr_account what, const tr_u32s *arrays) {
    for (uint32_t k = 0; k < arrays->n; k++)
        tell(s, what, arrays->d[k]);
}

static void call(account *s, tr_val v) {
    const tr_ins in = *tr_at(s->f, v);
    tr_val zero = tr_emit_int(&s->b, 0), read = zero, written = zero;
    tr_u32s given = {0}, made = {0};
    for (uint32_t k = 0; k < in.nargs; k++) {
        uint8_t memory = tr_call_memory(s->f, &in, k);
        tr_u32s arrays = {0};
        if (memory)
            arrays_of(s, in.args[k], &arrays);
        if (memory & TR_MEM_READ)
            read = bytes_of_all(s, &arrays, read);
        if (memory & TR_MEM_WRITE)
            written = bytes_of_all(s, &arrays, written);
        for (uint32_t i = 0; i < arrays.n; i++)
            tr_vec_push(&s->p->ctx->arena, &given, arrays.d[i]);
    }
    arrays_of(s, v, &made);
    written = bytes_of_all(s, &made, written);
    if (read == zero && written == zero)
        return;
    event(s, TR_ACCOUNT_KERNEL, tr_emit_int(&s->b, TR_ACCOUNT_CALL), read, written);
    note_nodes(s, in.loc, NULL);
    tell_all(s, TR_ACCOUNT_USE, &given);
    tell_all(s, TR_ACCOUNT_MAKE, &made);
}

bool tr_opt_account(tr_prog *p, tr_fn *f) {
    const tr_blk *entry = tr_blk_at(f, 0);
    if (!p->ctx->opts.account || p->accounted || f != p->insts.d[p->root].fn)
        return false;
    p->accounted = true;
    assert(entry->params.n > 0 && "the root of a program that keeps accounts has a param for them");
    account s = {.p = p, .f = f, .log = entry->params.d[entry->params.n - 1]};
    tr_bid nblks = f->blks.n;
    for (tr_bid blk = 0; blk < nblks; blk++)
        for (tr_val v = tr_blk_at(f, blk)->dead ? TR_NOVAL : tr_blk_at(f, blk)->first, next; v != TR_NOVAL;
             v = next) {
            next = tr_at(f, v)->next;
            if (tr_ins_ends(tr_at(f, v)) || next == TR_NOVAL)
                continue;
            s.b = (tr_bld){.fn = f, .blk = blk, .before = next, .loc = tr_at(f, v)->loc};
            switch (tr_at(f, v)->op) {
            case TR_OP_PATTERN: pattern(&s, v); break;
            case TR_OP_CALL:
            case TR_OP_CALLRT: call(&s, v); break;
            case TR_OP_ALLOC: tell(&s, TR_ACCOUNT_MAKE, v); break;
            default: break;
            }
        }
    return true;
}
