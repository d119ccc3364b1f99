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
#include "opt/versions.h"
#include "rt/layout.h"

static const tr_sched PAST = {.line = 1, .nontemporal = 1};

/* Is an output an operand twice? */
static bool reads_output(const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    for (uint32_t k = tr_pat_at(p, P_OUT); k < tr_pat_at(p, P_OUT) + p->nout; k++)
        for (uint32_t i = 0; i < in->nargs; i++)
            if (in->args[i] == in->args[k] && i != k)
                return true;
    return false;
}

/* Sums of floats go in stretches as long as their buffer is: of vectors in these nobody
 * knows where they lie. */
static bool has_buffer(const tr_fn *f, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    for (uint32_t i = 0; i < tr_pat_nred(p); i++)
        if (tr_pat_is_buffered(p, i, tr_at(f, in->args[tr_pat_at(p, P_SCAN) + i])->ty))
            return true;
    return false;
}

bool tr_opt_may_go_past(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    if (in->op != TR_OP_PATTERN || !in->imm.pat->nin || !tr_fn_is_scalar(in->imm.pat->lam) ||
        reads_output(in) || has_buffer(f, in))
        return false;
    tr_pat p = *in->imm.pat;
    tr_ins as = *in;
    p.sched = PAST;
    as.imm.pat = &p;
    return !tr_sched_misfit(f, &as);
}

/* Is the first output that large, and not so large that its memory is new? Others have as many elements. */
static tr_val is_large(tr_bld *b, const tr_ins *in) {
    const tr_ins *out = tr_at(b->fn, in->args[tr_pat_at(in->imm.pat, P_OUT)]);
    int64_t size = (int64_t)tr_ty_size(out->ty->elem);
    bool made = out->op == TR_OP_ALLOC;
    tr_val n = tr_emit_times(b, in->args[0], in->args + 1, in->imm.pat->nspace - 1u);
    tr_val large = tr_emit_cmp(b, TR_CMP_GE, n, tr_emit_int(b, (int64_t)TR_LARGE / size));
    if (!made)
        return large;
    return tr_emit_both(b, large,
                        tr_emit_cmp(b, TR_CMP_LE, n, tr_emit_int(b, (int64_t)TR_BLOCKS_MOST / size)));
}

/* The block that goes on behind both forms of pattern v. */
static tr_bid two_ways(tr_versions *forms, tr_val v) {
    tr_fn *f = forms->f;
    const tr_ins in = *tr_at(f, v);
    tr_fork k = tr_fork_cut(forms, v, in.loc);
    tr_val large = is_large(&k.b, &in);
    tr_ins_move_end(f, v, k.plain);
    tr_fork_copy(forms, &k, TR_COLD_NO);
    tr_at(f, tr_blk_at(f, k.other)->first)->imm.pat->sched = PAST;
    tr_fork_pick(forms, &k, large, k.other);
    return k.after;
}

bool tr_opt_nontemporal(tr_prog *p, tr_fn *f) {
    tr_versions forms = tr_versions_new(f);
    uint32_t n = f->blks.n;
    (void)p;
    for (tr_bid b = 0; b < n && !f->is_lambda; b++)
        for (tr_val v = tr_blk_at(f, b)->dead || tr_blk_at(f, b)->cold ? TR_NOVAL : tr_blk_at(f, b)->first;
             v != TR_NOVAL;)
            v = tr_opt_may_go_past(f, v) ? tr_blk_at(f, two_ways(&forms, v))->first : tr_at(f, v)->next;
    return tr_versions_end(&forms);
}
