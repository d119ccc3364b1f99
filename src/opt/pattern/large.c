/* Keeps the function's text where another one would serve arrays larger than the caches
 * better (nontemporal.c).
 *
 * Most callers never have such arrays, and who has pays milliseconds for each: so nothing of it is in the
 * code that is made first. The runtime notes the largest array that a call has made (tr_frame.most); when
 * there was one that large, the function is compiled anew from here (tiered compilation), once. For functions
 * that are called from the host and call none of ours: what they call would be compiled twice. For such as
 * make arrays: others have nobody who would note it.
 * Cost: linear; the text. */
#include "opt/priv.h"

enum { MOST = 64 }; /* patterns: of more, nobody wants to wait for the code again */

/* Does it call functions, or one of its patterns'? */
static bool calls(const tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            const tr_fn *g;
            if (in->op == TR_OP_CALL || in->op == TR_OP_CLOSURE || in->op == TR_OP_CALLX)
                return true;
            for (unsigned k = 0; in->op == TR_OP_PATTERN && (g = tr_pat_any(in->imm.pat, k)) != NULL; k++)
                if (calls(g))
                    return true;
        }
    return false;
}

/* Does it make arrays, and write some as patterns that may go past the caches? */
static bool gains(tr_fn *f) {
    bool makes = false;
    unsigned patterns = 0, past = 0;
    for (tr_bid b = 0; b < f->blks.n; b++) {
        bool here = !tr_blk_at(f, b)->dead && !tr_blk_at(f, b)->cold;
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            makes = makes || (here && tr_at(f, v)->op == TR_OP_ALLOC);
            patterns += tr_at(f, v)->op == TR_OP_PATTERN;
            past += here && tr_opt_may_go_past(f, v);
        }
    }
    return makes && past && patterns <= MOST;
}

bool tr_opt_large(tr_prog *p, tr_fn *f) {
    bool host = p->root < p->insts.n && p->insts.d[p->root].fn == f && f->kind == TR_FN_HOST;
    if (!host || f->ctx->opts.debug || !f->ctx->opts.opt_level || !gains(f) || calls(f))
        return false;
    tr_sb text;
    tr_sb_init(&text);
    tr_ir_print(&text, f);
    if (text.oom)
        tr_fail(p->ctx, TR_ERR_MEMORY, "not enough memory for the text of a function");
    else
        p->large = tr_arena_strdup(&p->ctx->arena, text.d);
    tr_sb_fini(&text);
    return false;
}
