/* Arrays larger than the caches are written past them (non-temporal stores), where the
 * running program finds that they are:
 *
 *   [n] in(a, b) out(c)
 * becomes
 *   if n >= many: [n] in(a, b) out(c) schedule(line, nontemporal)  else as it was
 *
 * A plain store reads what it overwrites. Without that `b = a + 1` takes 0.55 to 0.65 of the time, `a*2 + b*c
 * - d` 0.8 (Xeon, family 6, model 207; 32 MB each), and 0.7 with whoever reads the result next counted in,
 * from 80 MB on. An array that a cache holds is faster with it; so is one in memory that the system has just
 * given, whose pages it has cleared by way of the cache: arrays that the host's cache of blocks never keeps
 * are not written past. For patterns that walk one line to outputs that are not read (their lines would be in
 * the cache anyway), by straight code: what raised half-way would leave stores on their way.
 * Cost: linear; a test and a second loop for each such pattern, so it runs for functions
 * that have made such an array (large.c). */
#include "ir/sched.h"
#include "opt/priv.h"
#include "opt/emit.h"
#include "rt/layout.h"

/* Is an output an operand twice? */
static bool reads_output(const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    for (uint32_t k = tr_pat_out(p); k < tr_pat_out(p) + p->nout; k++)
        for (uint32_t i = 0; i < in->nargs; i++)
            if (in->args[i] == in->args[k] && i != k)
                return true;
    return false;
}

/* Sums of floats go in stretches as long as their buffer is: of vectors in these nobody
 * knows where they lie. */
static bool has_buffer(const tr_fn *f, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    for (uint32_t i = 0; i < p->nred; i++)
        if (tr_pat_is_buffered(p, i, tr_at(f, in->args[tr_pat_init(p) + i])->ty))
            return true;
    return false;
}

tr_pat *tr_opt_past(tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    if (in->op != TR_OP_PATTERN || !in->imm.pat->nin || !tr_fn_is_scalar(in->imm.pat->lam) ||
        reads_output(in) || has_buffer(f, in))
        return NULL;
    tr_pat p = *in->imm.pat;
    tr_ins as = *in;
    p.sched = (tr_sched){.line = 1, .nontemporal = 1};
    as.imm.pat = &p;
    return tr_sched_misfit(f, &as) ? NULL : tr_arena_copy(&f->ctx->arena, &p, sizeof p);
}

/* Is the first output that large, and not so large that its memory is new? Others have as many elements. */
static tr_val is_large(tr_bld *b, const tr_ins *in) {
    const tr_ins *out = tr_at(b->fn, in->args[tr_pat_out(in->imm.pat)]);
    int64_t size = (int64_t)tr_ty_size(out->ty->elem);
    bool made = out->op == TR_OP_ALLOC;
    tr_val n = tr_emit_times(b, in->args[0], in->args + 1, in->imm.pat->nspace - 1u);
    tr_val large = tr_emit_cmp(b, TR_CMP_GE, n, tr_emit_int(b, (int64_t)TR_LARGE / size));
    if (!made)
        return large;
    return tr_emit_both(b, large,
                        tr_emit_cmp(b, TR_CMP_LE, n, tr_emit_int(b, (int64_t)TR_BLOCKS_MOST / size)));
}

/* The block that goes on behind both forms of pattern v; what they reduce is its param, in place of v. */
static tr_bid two_ways(tr_fn *f, tr_val v, tr_pat *p, tr_u32s *parts) {
    const tr_ins in = *tr_at(f, v);
    tr_bid after = tr_blk_split(f, in.next), plain = tr_blk_new(f), past = tr_blk_new(f);
    tr_bld b = {.fn = f, .blk = in.blk, .before = TR_NOVAL, .loc = in.loc};
    uint32_t n = p->nred > 0;
    tr_cbr(&b, is_large(&b, &in), past, 0, NULL, plain, 0, NULL);
    if (n) {
        tr_repl r = tr_repl_new(f);
        tr_repl_set(f, &r, v, tr_blk_param(f, after, in.ty, NULL));
        tr_repl_apply(f, &r);
    }
    b.blk = plain;
    tr_br(&b, after, n, &v);
    tr_ins_move_end(f, v, plain);
    b.blk = past;
    tr_val copy = tr_emit_v(&b, TR_OP_PATTERN, in.ty, in.nargs, in.args);
    tr_at(f, copy)->imm.pat = p;
    tr_br(&b, after, n, &copy);
    for (unsigned i = 0; i < 3; i++)
        tr_vec_push(&f->ctx->arena, parts, ((tr_bid[]){plain, past, after})[i]);
    return after;
}

static bool in_block(tr_fn *f, tr_bid head) {
    tr_u32s parts = {0};
    for (tr_val v = tr_blk_at(f, head)->first; v != TR_NOVAL;) {
        tr_pat *p = tr_opt_past(f, v);
        v = p ? tr_blk_at(f, two_ways(f, v, p, &parts))->first : tr_at(f, v)->next;
    }
    if (parts.n)
        tr_blk_protect_parts(f, head, parts.d, parts.n);
    return parts.n > 0;
}

bool tr_opt_nontemporal(tr_prog *p, tr_fn *f) {
    bool changed = false;
    uint32_t n = f->blks.n;
    (void)p;
    for (tr_bid b = 0; b < n && !f->is_lambda; b++)
        if (!tr_blk_at(f, b)->dead && !tr_blk_at(f, b)->cold)
            changed |= in_block(f, b);
    return changed;
}
