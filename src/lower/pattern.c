/* The pattern node as sequential loops: the index space in C order, the lambda in the innermost loop.
 *
 * Where all arrays are C (or all F, if the order does not matter) and the lambda does not ask for indices, the space is
 * walked as one line. Reductions run in phis, but for sums of floats: their contributions go into a buffer of
 * TR_SUM_BLOCK values that is added up whenever it is full (rt/sum.c), so the innermost loop has no chain of additions
 * and LLVM vectorises it; a contiguous array's own elements are added up where they lie. Both give the same bits.
 * Under `reassoc` sums are plain phis and LLVM may regroup them.
 * Cost: one loop nest per pattern; each lambda is lowered once. */
#include "lower/internal.h"

#include <math.h>
#include <string.h>

#include "lower/plant.h"

enum { MAX_CARRY = 3 * 16 + 2 };

typedef enum redclass { RED_PHI, RED_BUFFERED, RED_ARG } redclass;

typedef struct red {
    tr_redk kind;
    const tr_ty *ty; /* of the contribution */
    redclass cls;
    unsigned carry;      /* PHI: first of its parts in st.carry; ARG: value, then index */
    lv buf[2], state[2]; /* BUFFERED: per component */
    lv total;            /* BUFFERED: the sum, when no buffer was needed */
    lv *init;
} red;

typedef struct st {
    tr_lf *w;
    const tr_pat *p;
    tr_val v;
    uint32_t loc;
    unsigned ndim; /* of the loops: p->nspace, or 1 when walked as one line */
    lv ext[TR_MAX_NDIM], idx[TR_MAX_NDIM];
    bool line;
    tr_larr *arr; /* inputs, then outputs */
    lv *off;      /* running offset of each array, per level: off[level * narr + a] */
    unsigned narr;
    red *red;
    lv *caps;
    unsigned ncaps; /* parts */
    bool buffered;
    lv *carry;                   /* values that the loops carry: reductions, then `flat`, then `fill` */
    unsigned ncarry, flat, fill; /* UINT32_MAX: absent. flat: elements so far; fill: values in the buffers */
} st;

/* --- a counted loop that carries values --- */

typedef struct loop {
    lb head, exit;
    lv iv;
    lv phis[MAX_CARRY];
} loop;

static void loop_begin(st *s, loop *l, lv n) {
    LLVMBuilderRef b = s->w->b;
    lb from = l_here(b), body = tr_lower_block(s->w, "");
    l->head = tr_lower_block(s->w, "loop");
    l->exit = tr_lower_block(s->w, "");
    LLVMMoveBasicBlockBefore(l->head, body);
    LLVMBuildBr(b, l->head);
    l_at_end(b, l->head);
    l->iv = LLVMBuildPhi(b, s->w->m->i64, "");
    l_incoming(l->iv, l_int(s->w->m->i64, 0), from);
    for (unsigned i = 0; i < s->ncarry; i++) {
        l->phis[i] = LLVMBuildPhi(b, LLVMTypeOf(s->carry[i]), "");
        l_incoming(l->phis[i], s->carry[i], from);
        s->carry[i] = l->phis[i];
    }
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSLT, l->iv, n), body, l->exit);
    l_at_end(b, body);
}

static void loop_end(st *s, loop *l, lv next) {
    LLVMBuilderRef b = s->w->b;
    lb from = l_here(b);
    l_incoming(l->iv, next, from);
    for (unsigned i = 0; i < s->ncarry; i++) {
        l_incoming(l->phis[i], s->carry[i], from);
        s->carry[i] = l->phis[i];
    }
    LLVMBuildBr(b, l->head);
    LLVMMoveBasicBlockAfter(l->exit, from);
    l_at_end(b, l->exit);
}

static lv next_of(st *s, lv i) {
    lv one = l_int(s->w->m->i64, 1);
    return LLVMBuildNUWAdd(s->w->b, i, one, "");
}

/* --- one element --- */

static lv extreme(st *s, const red *r, lv best, lv x) {
    bool min = r->kind == TR_RED_MIN;
    const char *name;
    switch (tr_ty_class(r->ty)) {
    case 'f': name = min ? "llvm.minimum" : "llvm.maximum"; break; /* NaN wins, as in NumPy */
    case 'i': name = min ? "llvm.smin" : "llvm.smax"; break;
    case 'b': return min ? l_and(s->w->b, best, x) : l_or(s->w->b, best, x);
    default: name = min ? "llvm.umin" : "llvm.umax";
    }
    return tr_lower_fast(s->w, tr_lower_intrinsic(s->w, name, LLVMTypeOf(x), 2, (lv[]){best, x}));
}

/* First index of the extreme; the first NaN beats every number. Taking a new one is rare, so it is a branch: the next element
 * does not wait for this one's comparison, as it would with a select. */
static void arg_step(st *s, const red *r, lv x) {
    tr_lf *w = s->w;
    LLVMBuilderRef b = w->b;
    lv *best = &s->carry[r->carry], *at = best + 1, flat = s->carry[s->flat];
    tr_cmpop op = r->kind == TR_RED_ARGMIN ? TR_CMP_GE : TR_CMP_LE;
    lv keep = tr_lower_cmp(w, op, r->ty, &x, best);
    lb from = l_here(b),
       go_on = tr_lower_unless(w, l_and(b, keep, l_icmp(b, LLVMIntNE, flat, l_int(w->m->i64, 0))));
    lv take = LLVMConstInt(w->m->i1, 1, 0);
    if (tr_ty_is_float(r->ty)) /* here when x is better or either is NaN: an earlier NaN stays */
        take = l_or(b, l_fcmp(b, LLVMRealORD, *best, *best), l_icmp(b, LLVMIntEQ, flat, l_int(w->m->i64, 0)));
    lv new_best = l_select(b, take, x, *best), new_at = l_select(b, take, flat, *at);
    lb end = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    lv was[2] = {*best, *at}, now[2] = {new_best, new_at};
    for (int i = 0; i < 2; i++) {
        best[i] = LLVMBuildPhi(b, LLVMTypeOf(now[i]), "");
        l_incoming(best[i], was[i], from);
        l_incoming(best[i], now[i], end);
    }
}

static void phi_step(st *s, const red *r, const lv *x) {
    LLVMBuilderRef b = s->w->b;
    lv *acc = &s->carry[r->carry];
    char cls = tr_ty_class(r->ty);
    switch (r->kind) {
    case TR_RED_ADD:
        for (unsigned i = 0; i < tr_ty_nparts(r->ty); i++)
            acc[i] = cls == 'f' || cls == 'c' ? tr_lower_fast(s->w, LLVMBuildFAdd(b, acc[i], x[i], ""))
                                              : l_add(b, acc[i], x[i]);
        break;
    case TR_RED_MUL:
        if (cls == 'c')
            tr_lower_cmul(s->w, acc, x, acc);
        else
            acc[0] =
                cls == 'f' ? tr_lower_fast(s->w, LLVMBuildFMul(b, acc[0], x[0], "")) : l_mul(b, acc[0], x[0]);
        break;
    case TR_RED_MIN:
    case TR_RED_MAX: acc[0] = extreme(s, r, acc[0], x[0]); break;
    case TR_RED_AND: acc[0] = l_and(b, acc[0], x[0]); break;
    default: acc[0] = l_or(b, acc[0], x[0]);
    }
}

static void contribute(st *s, const red *r, const lv *x) {
    switch (r->cls) {
    case RED_PHI: phi_step(s, r, x); break;
    case RED_ARG: arg_step(s, r, x[0]); break;
    default:
        for (unsigned i = 0; i < tr_ty_nparts(r->ty); i++) {
            lv at = LLVMBuildInBoundsGEP2(s->w->b, LLVMTypeOf(x[i]), r->buf[i], &s->carry[s->fill], 1, "");
            LLVMBuildStore(s->w->b, x[i], at);
        }
    }
}

static void element(st *s) {
    tr_lf *w = s->w;
    const tr_pat *p = s->p;
    lv *off = s->off + s->ndim * s->narr;
    lv *params = TR_NEW_N(&w->m->ctx->arena, lv, p->nspace + 2u * p->nin + s->ncaps + 1u);
    unsigned n = 0;
    for (unsigned i = 0; i < p->nspace; i++)
        params[n++] = s->line ? l_int(w->m->i64, 0) : s->idx[i]; /* as one line: not used */
    for (unsigned i = 0; i < p->nin; i++) {
        tr_lower_load_at(w, &s->arr[i], off[i], params + n);
        n += tr_ty_nparts(s->arr[i].ty->elem);
    }
    memcpy(params + n, s->caps, s->ncaps * sizeof *params);
    const lv *y = tr_lower_lambda(w, p->lam, s->loc, params);
    for (unsigned i = 0; i < p->nout; i++) {
        const tr_larr *a = &s->arr[p->nin + i];
        tr_lower_store_at(w, a, off[p->nin + i], y);
        y += tr_ty_nparts(a->ty->elem);
    }
    for (unsigned i = 0; i < p->nred; i++) {
        contribute(s, &s->red[i], y);
        y += tr_ty_nparts(s->red[i].ty);
    }
    lv one = l_int(w->m->i64, 1);
    if (s->flat != UINT32_MAX)
        s->carry[s->flat] = LLVMBuildNSWAdd(w->b, s->carry[s->flat], one, "");
    if (s->fill != UINT32_MAX)
        s->carry[s->fill] = LLVMBuildNUWAdd(w->b, s->carry[s->fill], one, "");
}

/* --- loops --- */

/* Offsets at level k + 1: those of level k plus the axis' index times its stride. */
static void advance(st *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    for (unsigned a = 0; a < s->narr; a++) {
        lv before = s->off[k * s->narr + a], stride = s->line ? NULL : s->arr[a].stride[k], step = s->idx[k];
        if (stride && !(LLVMIsAConstantInt(stride) && LLVMConstIntGetSExtValue(stride) == 1))
            step = LLVMBuildNSWMul(b, step, stride, "");
        s->off[(k + 1) * s->narr + a] = k ? LLVMBuildNSWAdd(b, before, step, "") : step;
    }
}

static void flush_buffers(st *s) {
    lv *fill = &s->carry[s->fill];
    for (unsigned i = 0; i < s->p->nred; i++) {
        const red *r = &s->red[i];
        for (unsigned k = 0; r->cls == RED_BUFFERED && k < tr_ty_nparts(r->ty); k++)
            tr_lower_sum_add(s->w, tr_lower_elem(s->w->m, r->ty), r->state[k], r->buf[k], *fill);
    }
}

/* if (full) { flush; fill = 0; } */
static void flush_if(st *s, lv cond) {
    LLVMBuilderRef b = s->w->b;
    lb from = l_here(b), full = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    lv fill = s->carry[s->fill];
    LLVMBuildCondBr(b, cond, full, go_on);
    l_at_end(b, full);
    flush_buffers(s);
    lb end = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    lv p = LLVMBuildPhi(b, s->w->m->i64, "");
    l_incoming(p, fill, from);
    l_incoming(p, l_int(s->w->m->i64, 0), end);
    s->carry[s->fill] = p;
}

/* The innermost axis in stretches that end where the buffers are full. */
static void stretches(st *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    loop outer, inner;
    loop_begin(s, &outer, s->ext[k]);
    lv room = l_sub(b, l_int(i64, TR_SUM_BLOCK), s->carry[s->fill]), left = l_sub(b, s->ext[k], outer.iv);
    lv len = l_select(b, l_icmp(b, LLVMIntSLT, left, room), left, room);
    lv fill = s->carry[s->fill];
    loop_begin(s, &inner, len);
    s->idx[k] = LLVMBuildNSWAdd(b, outer.iv, inner.iv, "");
    /* Written as a sum so that LLVM sees the buffer walked in step with the arrays. */
    s->carry[s->fill] = LLVMBuildNSWAdd(b, fill, inner.iv, "");
    advance(s, k);
    element(s);
    loop_end(s, &inner, next_of(s, inner.iv));
    lv next = LLVMBuildNSWAdd(b, outer.iv, len, "");
    flush_if(s, l_icmp(b, LLVMIntEQ, s->carry[s->fill], l_int(i64, TR_SUM_BLOCK)));
    loop_end(s, &outer, next);
}

static void nest(st *s, unsigned k) {
    if (k == s->ndim) {
        element(s);
        return;
    }
    if (s->buffered && k + 1 == s->ndim) {
        stretches(s, k);
        return;
    }
    lv n = s->ext[k];
    if (k + 1 == s->ndim && tr_plant(s->w->m->ctx, TR_PLANT_PATTERN))
        n = l_sub(s->w->b, n, l_int(s->w->m->i64, 1));
    loop l;
    loop_begin(s, &l, n);
    s->idx[k] = l.iv;
    advance(s, k);
    nest(s, k + 1);
    loop_end(s, &l, next_of(s, l.iv));
}

/* --- a contiguous array's own sum, added up in place --- */

static bool is_plain_sum(const st *s) {
    const tr_pat *p = s->p;
    if (p->nin != 1 || p->nout || p->nred != 1 || !s->line || s->red[0].cls != RED_BUFFERED ||
        !tr_ty_is_float(s->red[0].ty) || s->arr[0].ty->elem != s->red[0].ty)
        return false;
    const tr_fn *f = p->lam;
    const tr_ins *y = f->blks.n == 1 ? tr_term(f, 0) : NULL;
    return y && y->op == TR_OP_YIELD && f->blks.d[0].first == f->blks.d[0].last &&
           y->args[0] == f->blks.d[0].params.d[p->nspace];
}

static void plain_sum(st *s) {
    red *r = &s->red[0];
    r->total = tr_lower_sum_of(s->w, tr_lower_elem(s->w->m, r->ty), s->arr[0].data, s->ext[0]);
}

/* --- setting up --- */

static bool uses_index(const tr_fn *lam, unsigned nspace) {
    for (uint32_t v = 0; v < lam->ins.n; v++) {
        const tr_ins *in = tr_at(lam, v);
        uint32_t nsucc = tr_nsucc(in);
        for (uint32_t i = 0; i < in->nargs; i++)
            for (unsigned k = 0; k < nspace; k++)
                if (in->args[i] == lam->blks.d[0].params.d[k])
                    return true;
        for (uint32_t e = 0; e < nsucc; e++)
            for (uint32_t i = 0; i < in->imm.succ[e].n; i++)
                for (unsigned k = 0; k < nspace; k++)
                    if (in->imm.succ[e].args[i] == lam->blks.d[0].params.d[k])
                        return true;
    }
    return false;
}

/* No iteration can tell in which order they run: nothing raises, and no reduction depends on it. */
static bool is_orderless(const tr_pat *p, const tr_fn *lam) {
    for (unsigned i = 0; i < p->nred; i++)
        if (p->reds[i] == TR_RED_ARGMIN || p->reds[i] == TR_RED_ARGMAX)
            return false;
    for (uint32_t v = 0; v < lam->ins.n; v++) {
        const tr_ins *in = tr_at(lam, v);
        if (in->blk == TR_NOBLK)
            continue;
        if (tr_effects(in) & (E_RAISE | E_WRITE | E_ALLOC | E_SIDE))
            return false;
        for (unsigned i = 0; in->op == TR_OP_YIELD && i < p->nred; i++) {
            const tr_ty *t = tr_at(lam, in->args[p->nout + i])->ty;
            bool sums = p->reds[i] == TR_RED_ADD || p->reds[i] == TR_RED_MUL;
            if (sums && (tr_ty_is_float(t) || tr_ty_is_complex(t)))
                return false;
        }
    }
    return true;
}

/* One line: C order is address order for every array, or F order is and the order does not matter. */
static bool can_flatten(const st *s) {
    for (unsigned a = 0; a < s->narr; a++)
        if (s->arr[a].ty->layout == TR_LAYOUT_ANY ||
            (s->arr[a].ty->layout != s->arr[0].ty->layout && s->arr[a].ty->ndim > 1))
            return false;
    if (s->p->nspace == 0 || uses_index(s->p->lam, s->p->nspace))
        return false;
    return s->narr == 0 || s->arr[0].ty->layout == TR_LAYOUT_C || is_orderless(s->p, s->p->lam);
}

static redclass classify(const st *s, tr_redk k, const tr_ty *t) {
    if (k == TR_RED_ARGMIN || k == TR_RED_ARGMAX)
        return RED_ARG;
    bool fp = tr_ty_is_float(t) || tr_ty_is_complex(t);
    if (k == TR_RED_ADD && fp && !(s->w->m->fmf & LLVMFastMathAllowReassoc) && s->p->nspace > 0)
        return RED_BUFFERED;
    return RED_PHI;
}

unsigned tr_lower_stack_bytes(const tr_fn *f) {
    unsigned sum = 0;
    for (uint32_t v = 0; v < f->ins.n; v++) {
        const tr_ins *in = tr_at(f, v);
        if (in->op != TR_OP_PATTERN || in->blk == TR_NOBLK)
            continue;
        const tr_pat *p = in->imm.pat;
        sum += tr_lower_stack_bytes(p->lam);
        for (unsigned i = 0; i < p->nred; i++) {
            const tr_ty *t = tr_at(f, in->args[(unsigned)p->nspace + p->nin + p->nout + i])->ty;
            if (p->reds[i] == TR_RED_ADD && (tr_ty_is_float(t) || tr_ty_is_complex(t)))
                sum += (unsigned)(TR_SUM_BLOCK + TR_SUM_LEVELS + 1) * tr_ty_size(t);
        }
    }
    return sum;
}

static bool reducible(tr_redk k, const tr_ty *t) {
    switch (k) {
    case TR_RED_ADD:
    case TR_RED_MUL: return tr_ty_is_scalar(t) && t->kind != TR_TY_BOOL;
    case TR_RED_AND:
    case TR_RED_OR: return tr_ty_is_int(t) || t->kind == TR_TY_BOOL;
    default: return tr_ty_is_scalar(t) && !tr_ty_is_complex(t);
    }
}

static void setup_red(st *s, unsigned i, tr_val init, const tr_ty *t) {
    tr_lf *w = s->w;
    red *r = &s->red[i];
    *r = (red){.kind = s->p->reds[i], .ty = t, .init = tr_lower_parts(w, init)};
    r->cls = classify(s, r->kind, t);
    r->carry = s->ncarry;
    lt e = tr_lower_elem(w->m, t);
    switch (r->cls) {
    case RED_PHI:
        for (unsigned k = 0; k < tr_ty_nparts(t); k++)
            s->carry[s->ncarry++] = r->init[k];
        break;
    case RED_ARG:
        s->carry[s->ncarry++] = LLVMConstNull(t->kind == TR_TY_BOOL ? w->m->i1 : e);
        s->carry[s->ncarry++] = r->init[0];
        s->flat = 0; /* wanted; placed once all reductions are known */
        break;
    default:
        s->buffered = true;
        for (unsigned k = 0; k < tr_ty_nparts(t); k++) {
            r->buf[k] = tr_lower_alloca(w, LLVMArrayType2(e, TR_SUM_BLOCK), "values");
            r->state[k] = tr_lower_sum_state(w, e);
            tr_lower_sum_clear(w, r->state[k]);
        }
    }
}

static bool setup_reds(st *s, const tr_val *init) {
    const tr_fn *lam = s->p->lam;
    const tr_ins *y = NULL;
    for (uint32_t v = 0; v < lam->ins.n && !y; v++)
        if (lam->ins.d[v].op == TR_OP_YIELD && lam->ins.d[v].blk != TR_NOBLK)
            y = tr_at(lam, v);
    s->flat = s->fill = UINT32_MAX;
    for (unsigned i = 0; i < s->p->nred; i++) {
        const tr_ty *t = y ? tr_at(lam, y->args[s->p->nout + i])->ty : NULL;
        if (!t || !reducible(s->p->reds[i], t) || s->ncarry + 4 > MAX_CARRY)
            return false;
        setup_red(s, i, init[i], t);
    }
    if (s->flat != UINT32_MAX) {
        s->flat = s->ncarry++;
        s->carry[s->flat] = l_int(s->w->m->i64, 0);
    }
    if (s->buffered) {
        s->fill = s->ncarry++;
        s->carry[s->fill] = l_int(s->w->m->i64, 0);
    }
    return true;
}

static void setup(st *s, const tr_ins *in) {
    tr_lf *w = s->w;
    const tr_pat *p = s->p;
    tr_arena *a = &w->m->ctx->arena;
    s->narr = (unsigned)p->nin + p->nout;
    s->arr = TR_NEW_N(a, tr_larr, s->narr + 1);
    for (unsigned i = 0; i < s->narr; i++)
        tr_lower_arr(w, in->args[p->nspace + i], &s->arr[i]);
    s->ndim = p->nspace;
    for (unsigned i = 0; i < p->nspace; i++)
        s->ext[i] = tr_lower_parts(w, in->args[i])[0];
    s->line = can_flatten(s);
    if (s->line) {
        for (unsigned i = 1; i < s->ndim; i++)
            s->ext[0] = LLVMBuildNSWMul(w->b, s->ext[0], s->ext[i], "");
        s->ndim = 1;
    }
    s->off = TR_NEW_N(a, lv, (s->ndim + 1) * s->narr + 1);
    for (unsigned i = 0; i < s->narr; i++)
        s->off[i] = l_int(w->m->i64, 0);
    unsigned first = p->nspace + s->narr + p->nred;
    s->caps = TR_NEW_N(a, lv, 1);
    for (unsigned i = 0; i < p->ncap; i++) {
        unsigned n = tr_ty_nparts(tr_lower_ty(w, in->args[first + i]));
        lv *more = TR_NEW_N(a, lv, s->ncaps + n + 1);
        memcpy(more, s->caps, s->ncaps * sizeof *more);
        memcpy(more + s->ncaps, tr_lower_parts(w, in->args[first + i]), n * sizeof *more);
        s->caps = more;
        s->ncaps += n;
    }
}

/* The reductions' values as parts of the result. */
static void finish(st *s) {
    tr_lf *w = s->w;
    lv *out = TR_NEW_N(&w->m->ctx->arena, lv, 2 * s->p->nred + 1u);
    unsigned n = 0;
    for (unsigned i = 0; i < s->p->nred; i++) {
        const red *r = &s->red[i];
        switch (r->cls) {
        case RED_ARG: out[n++] = s->carry[r->carry + 1]; break;
        case RED_PHI:
            for (unsigned k = 0; k < tr_ty_nparts(r->ty); k++)
                out[n++] = s->carry[r->carry + k];
            break;
        default:
            for (unsigned k = 0; k < tr_ty_nparts(r->ty); k++) {
                lv total =
                    r->total ? r->total : tr_lower_sum_total(w, tr_lower_elem(w->m, r->ty), r->state[k]);
                out[n++] = LLVMBuildFAdd(w->b, r->init[k], total, "");
            }
        }
    }
    w->body->vals[s->v] = out;
}

void tr_lower_pattern(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_arena *a = &w->m->ctx->arena;
    st s = {.w = w, .p = in->imm.pat, .v = v, .loc = in->loc};
    s.red = TR_NEW_N(a, red, s.p->nred + 1u);
    s.carry = TR_NEW_N(a, lv, MAX_CARRY);
    setup(&s, in);
    if (!setup_reds(&s, in->args + s.p->nspace + s.narr)) {
        tr_lower_error(w, v, "a reduction of this pattern is not defined for its type");
        w->body->vals[v] = TR_NEW_N(a, lv, 2 * s.p->nred + 1u);
        return;
    }
    if (is_plain_sum(&s)) {
        plain_sum(&s);
    } else {
        nest(&s, 0);
        if (s.buffered)
            flush_if(&s, l_icmp(w->b, LLVMIntSGT, s.carry[s.fill], l_int(w->m->i64, 0)));
    }
    finish(&s);
}
