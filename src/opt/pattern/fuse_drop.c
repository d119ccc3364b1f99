/* What merged patterns leave without use: arrays, reductions, whole patterns. An array that goes is
 * tested as its allocation would have been.
 *
 * Cost: linear in the function for each round, but for reductions of which some are not used: linear each. */
#include "opt/pattern/fuse.h"
#include "opt/emit.h"

#include <assert.h>
#include <string.h>

/* --- arrays that nobody reads --- */

/* Does the pattern store nothing but elements where it read them? That is left of `a += 0`. */
static bool stores_what_was_there(const tr_ins *in) {
    const tr_pat *t = in->imm.pat;
    if (t->lam->blks.n != 1 || t->neout)
        return false;
    for (uint32_t k = 0; k < t->nout; k++) {
        uint32_t i = 0;
        while (i < t->nin &&
               (tr_port_param(t, TR_LAM, tr_pat_at(t, P_IN) + i) != tr_term(t->lam, 0)->args[k] ||
                in->args[tr_pat_at(t, P_IN) + i] != in->args[tr_pat_at(t, P_OUT) + k]))
            i++;
        if (i == t->nin)
            return false;
    }
    return t->nout > 0;
}

static bool drop_outputs(tr_fn *f, tr_val v, const uint32_t *uses) {
    tr_pat *t = tr_at(f, v)->imm.pat;
    bool any = false, useless = stores_what_was_there(tr_at(f, v));
    for (uint32_t k = tr_pat_nargs(t); k-- > 0;) {
        tr_val a = tr_arg(f, v, k);
        if (tr_role_info[tr_pat_role(t, k)].memory != TR_MEM_WRITE ||
            ((!useless || tr_pat_role(t, k) != P_OUT) && (!tr_array_is_fresh(f, a) || uses[a] != 1)))
            continue;
        tr_port_drop(f, v, k);
        any = true;
    }
    t->apart = t->apart && (t->nout || t->neout); /* says something of outputs */
    return any;
}

/* --- reductions that nobody asks for --- */

/* Which values of pattern v are used: all, but where each is taken out. */
static void find_used(const tr_fn *f, tr_val v, uint32_t uses, uint8_t *used) {
    uint32_t n = tr_pat_nred(tr_at(f, v)->imm.pat);
    for (tr_val x = 0; n > 1 && x < f->ins.n; x++) {
        const tr_ins *in = tr_at(f, x);
        if (in->blk == TR_NOBLK || in->op != TR_OP_EXTRACT || in->args[0] != v)
            continue;
        used[in->imm.i] = 1;
        uses--;
    }
    if (uses)
        memset(used, 1, n);
}

static void drop_lam_param(tr_fn *lam, uint32_t k) {
    assert(k < tr_blk_at(lam, 0)->params.n);
    tr_blk *b = tr_blk_at(lam, 0);
    tr_at(lam, b->params.d[k])->blk = TR_NOBLK;
    b->params.n--;
    memmove(b->params.d + k, b->params.d + k + 1, (b->params.n - k) * sizeof *b->params.d);
}

/* Scans that no round looks at are reductions like others, but for what is not combined (`last`): that has an
 * order. Where one is looked at, those before it stay. */
static bool free_scans(tr_pat *t) {
    uint16_t n = t->nscan;
    uint32_t first = tr_pat_param(t, TR_LAM, P_SCAN);
    while (n && !(n == 1 && t->nfilt) && tr_pat_red(t, n - 1u) != TR_RED_LAST && !t->joins[n - 1u].by &&
           !tr_fuse_lam_uses(t->lam, first + n - 1u))
        drop_lam_param(t->lam, first + --n);
    bool any = n < t->nscan;
    t->nfold = (uint16_t)(tr_pat_nred(t) - n); /* they stand side by side */
    t->nscan = n;
    return any;
}

/* Its type, and what takes its values out, once `at` says where each has gone. */
static void renumber(tr_fn *f, tr_val v, const uint32_t *at, uint32_t nbefore, tr_repl *repl) {
    const tr_pat *t = tr_at(f, v)->imm.pat;
    uint32_t nred = tr_pat_nred(t);
    tr_at(f, v)->ty = tr_pat_result(f, t, tr_at(f, v)->args);
    for (tr_val x = 0; nbefore > 1 && x < f->ins.n; x++) {
        tr_ins *in = tr_at(f, x);
        if (in->blk == TR_NOBLK || in->op != TR_OP_EXTRACT || in->args[0] != v)
            continue;
        in->imm.i = at[in->imm.i];
        if (nred == 1) {
            tr_repl_set(f, repl, x, v);
            tr_ins_remove(f, x);
        }
    }
}

/* Nothing of it is seen but the value of its reductions. */
static bool has_only_results(const tr_pat *t) {
    return tr_pat_with(t, TR_MEM_WRITE, 0) == tr_pat_nargs(t);
}

static bool drop_reductions(tr_fn *f, tr_val v, uint32_t uses, tr_repl *repl) {
    tr_pat *t = tr_at(f, v)->imm.pat;
    if ((uses >= tr_pat_nred(t) && !t->nscan) || t->keep || !tr_pat_only_computes(t))
        return false;
    bool any = free_scans(t);
    uint32_t n = tr_pat_nred(t), kept = 0, *at = TR_NEW_N(&f->ctx->arena, uint32_t, n + 1u);
    uint8_t *used = TR_NEW_N(&f->ctx->arena, uint8_t, n + 1u);
    find_used(f, v, uses, used);
    for (uint32_t k = 0; k < n; k++) {
        at[k] = kept;
        kept += used[k] || k < t->nscan;
    }
    if (kept == n || (!kept && has_only_results(t)))
        return any;
    for (uint32_t k = n; k-- > 0;)
        if (!used[k] && k >= t->nscan)
            tr_port_drop(f, v, tr_pat_at(t, P_SCAN) + k);
    renumber(f, v, at, n, repl);
    return true;
}

/* No array has an axis as long as this, whatever the machine's memory. */
static const int64_t too_long = INT64_C(1) << 44;

/* What has been looked at: per value the block in which it was, plus one (made when it is
 * needed); the last array of several axes. */
typedef struct tests {
    uint32_t *in_block;
    tr_bid blk;
    const tr_ty *ty;
    tr_val shape[TR_MAX_NDIM];
} tests;

static bool is_size(const tr_fn *f, tr_val v) {
    const tr_ins *n = tr_at(f, v);
    int64_t known;
    if (n->op == TR_OP_SELECT || n->op == TR_OP_MIN || n->op == TR_OP_MAX)
        return is_size(f, n->args[n->nargs - 2]) && is_size(f, n->args[n->nargs - 1]);
    return n->op == TR_OP_DIM || n->op == TR_OP_BCAST || (tr_get_int(f, v, &known) && known < too_long);
}

/* An axis that no machine has room for: its loop would run for years where NumPy raises at once.
 * Sizes of other arrays are no such sizes. */
static void test_axis(tr_bld *b, tests *t, tr_val n) {
    static const tr_site site = {TR_EXC_MEMORY, "cannot allocate an array with an axis of {0} elements", -1,
                                 NULL};
    tr_fn *f = b->fn;
    if (is_size(f, n) || t->in_block[n] == b->blk + 1u)
        return;
    t->in_block[n] = b->blk + 1u;
    tr_val check = tr_emit2(b, TR_OP_CHECK, NULL,
                            tr_emit_cmp(b, TR_CMP_LT, n, tr_const_int(f, tr_at(f, n)->ty, too_long)), n);
    tr_at(f, check)->imm.site = &site;
}

/* Bits that an extent takes at most, where test_axis has passed it. */
static uint32_t bits_of(const tr_fn *f, tr_val n) {
    int64_t known;
    if (tr_get_int(f, n, &known))
        return known > 0 ? 64u - (uint32_t)__builtin_clzll((uint64_t)known) : 0;
    return is_size(f, n) ? 63 : 44;
}

static bool is_small(const tr_fn *f, const tr_ins *alloc) {
    uint32_t bits = 4; /* of a complex number's bytes */
    for (uint32_t k = 0; k < alloc->nargs; k++)
        bits += bits_of(f, alloc->args[k]);
    return bits < 63;
}

/* Axes of one array, each once, beside those of extent 1 or 0: that array's size fits. */
static bool is_of_one_array(const tr_fn *f, const tr_ins *alloc) {
    tr_val array = TR_NOVAL;
    uint32_t axes = 0;
    for (uint32_t k = 0; k < alloc->nargs; k++) {
        const tr_ins *n = tr_at(f, alloc->args[k]);
        if (tr_is_int(f, alloc->args[k], 1) || tr_is_int(f, alloc->args[k], 0))
            continue;
        if (n->op != TR_OP_DIM || (axes && n->args[0] != array) || axes & 1u << n->imm.i)
            return false;
        array = n->args[0];
        axes |= 1u << n->imm.i;
    }
    return true;
}

/* The extents' product, those of 0 left out as in an allocation: what counts the items must
 * not wrap around. */
static void test_product(tr_bld *b, tests *t, tr_val alloc) {
    static const tr_site site = {TR_EXC_VALUE, TR_TOO_BIG, -1, NULL};
    tr_fn *f = b->fn;
    const tr_ins in = *tr_at(f, alloc);
    if (is_small(f, &in) || is_of_one_array(f, &in) ||
        (t->blk == b->blk && t->ty == in.ty && tr_vals_same(t->shape, in.args, in.nargs)))
        return;
    t->blk = b->blk;
    t->ty = in.ty;
    memcpy(t->shape, in.args, in.nargs * sizeof *in.args);
    const tr_ty *f64 = tr_ty_scalar(f->ctx->types, TR_TY_F64), *i64 = tr_at(f, in.args[0])->ty;
    tr_val bytes = tr_const_float(f, f64, tr_ty_size(in.ty->elem));
    for (uint32_t k = 0; k < in.nargs; k++) {
        tr_val zero = tr_const_int(f, i64, 0);
        tr_val none = tr_emit_cmp(b, TR_CMP_EQ, in.args[k], zero);
        tr_val n = tr_emit_select(b, none, tr_const_int(f, i64, 1), in.args[k]);
        bytes = tr_emit2(b, TR_OP_MUL, f64, bytes, tr_emit1(b, TR_OP_CONV, f64, n));
    }
    tr_val ok = tr_emit_cmp(b, TR_CMP_LT, bytes, tr_const_float(f, f64, TR_MOST_BYTES));
    tr_at(f, tr_emit1(b, TR_OP_CHECK, NULL, ok))->imm.site = &site;
}

/* Before an array goes: what its allocation would have found. */
static void test_size(tr_fn *f, tr_val alloc, tests *t) {
    tr_bld b = {f, tr_at(f, alloc)->blk, alloc, tr_at(f, alloc)->loc};
    if (!t->in_block)
        t->in_block = TR_NEW_N(&f->ctx->arena, uint32_t, f->ins.n);
    for (uint32_t k = 0; k < tr_at(f, alloc)->nargs; k++)
        test_axis(&b, t, tr_arg(f, alloc, k));
    if (tr_at(f, alloc)->nargs > 1)
        test_product(&b, t, alloc);
}

/* A map of no items. */
static bool is_of_nothing(const tr_fn *f, const tr_ins *p) {
    for (unsigned k = 0; tr_pat_is_map(p->imm.pat) && k < p->imm.pat->nspace; k++)
        if (tr_is_int(f, p->args[k], 0))
            return true;
    return false;
}

/* A pattern with nothing left to do, and arrays that nothing uses. */
bool tr_fuse_drop(tr_fn *f, const tr_u32s *rooms) {
    uint32_t *uses = tr_use_counts(f);
    tests t = {.in_block = NULL};
    tr_repl repl = tr_repl_new(f);
    bool any = false;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            const tr_ins *in = tr_at(f, v);
            next = in->next;
            if (in->op == TR_OP_PATTERN) {
                const tr_pat *p = in->imm.pat;
                any |= drop_outputs(f, v, uses);
                any |= drop_reductions(f, v, uses[v], &repl);
                next = tr_at(f, v)->next; /* what took a value out may be gone */
                bool useless =
                    (has_only_results(p) && !(uses[v] && tr_pat_nred(p))) || is_of_nothing(f, tr_at(f, v));
                if (!useless || !tr_pat_only_computes(p))
                    continue;
            } else if (uses[v] || (in->op != TR_OP_ALLOC && in->op != TR_OP_LOAD && !tr_opt_is_pure(in))) {
                continue;
            } else if (in->op == TR_OP_ALLOC && !tr_opt_among(v, rooms->d, rooms->n)) {
                test_size(f, v, &t);
            }
            tr_ins_remove(f, v);
            any = true;
        }
    tr_repl_apply(f, &repl);
    return any;
}
