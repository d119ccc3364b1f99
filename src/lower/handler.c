/* Handlers: taking an exception, and raising it again.
 *
 * What raises in a protected block stores its payload in the frame as ever, leaves its code in a variable of
 * the function and branches to the handler, so nothing is paid where nothing raises. A catch makes a number
 * of it: the class of its site (a table that is filled when the module's sites are known) and, where it may
 * be raised again later, the place of what the frame has of it: the handler may meet others. Reasons of the
 * runtime's own to end (TR_CODES), but for MemoryError, are nobody's to catch: they go on. */
#include "lower/internal.h"

#include <stddef.h>
#include <string.h>

_Static_assert((int)TR_CAUGHT_SHIFT == (int)TR_CAUGHT_BITS, "where the class begins");

static lv at(tr_lf *w, lv base, uint64_t bytes) {
    lv o = l_int(w->m->i64, (long long)bytes);
    return LLVMBuildInBoundsGEP2(w->b, w->m->i8, base, &o, 1, "");
}

static lv flying(tr_lf *w) {
    if (!w->flying)
        w->flying = tr_lower_alloca(w, w->m->i32, "flying");
    return w->flying;
}

void tr_lower_fly(tr_lf *w, lv code) {
    LLVMBuildStore(w->b, code, flying(w));
}

static void store_zero(tr_lf *w, lt t, uint64_t offset) {
    LLVMBuildStore(w->b, LLVMConstNull(t), at(w, w->frame, offset));
}

/* What was caught leaves nothing behind. */
static void clear_frame(tr_lf *w) {
    store_zero(w, w->m->i32, offsetof(tr_frame, ntrace));
    store_zero(w, w->m->i16, offsetof(tr_frame, ninner));
    store_zero(w, w->m->i16, offsetof(tr_frame, linked));
    store_zero(w, w->m->ptr, offsetof(tr_frame, inner));
    store_zero(w, w->m->ptr, offsetof(tr_frame, late));
}

/* Does the text say what an exception comes from, before it is raised? */
static bool links(const tr_fn *f) {
    for (tr_val v = 0; v < f->ins.n; v++) {
        const tr_ins *in = tr_at(f, v);
        if (in->op == TR_OP_CALLRT && in->blk != TR_NOBLK &&
            (in->imm.rt->row == TR_RT_CONTEXT || in->imm.rt->row == TR_RT_CAUSE))
            return true;
    }
    return false;
}

/* Does nothing come to the handler `b` but what this function's own text raises, from nothing else? Then the
 * frame has no calls to tell of, and nothing to clear. */
static bool only_own(const tr_fn *f, tr_bid b) {
    const tr_blk *blk = tr_blk_at(f, b);
    if (links(f))
        return false;
    for (uint32_t k = 0; k < blk->preds.n; k++) {
        const tr_ins *t = tr_term(f, blk->preds.d[k]);
        if (t->op != TR_OP_TRY || t->imm.succ[1].to != b)
            return false;
        const tr_blk *body = tr_blk_at(f, t->imm.succ[0].to);
        for (tr_val v = body->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (tr_ins_raises(in) && in->op != TR_OP_RAISE && in->op != TR_OP_CHECK &&
                in->op != TR_OP_CHECKIDX)
                return false;
        }
    }
    return true;
}

/* Is `r` a raise that follows its catch `v` with nothing in between that might raise or catch? */
static bool is_at_once(const tr_fn *f, tr_val v, tr_val r) {
    if (tr_at(f, r)->op != TR_OP_RERAISE || tr_at(f, r)->blk != tr_at(f, v)->blk)
        return false;
    for (tr_val i = tr_at(f, v)->next; i != r; i = tr_at(f, i)->next)
        if (tr_ins_raises(tr_at(f, i)))
            return false;
    return true;
}

/* What becomes of x, which is or has in it what v caught. */
typedef struct afterlife {
    bool asked;        /* something looks at it */
    bool again, later; /* it is raised again; and something else may be raised before, or nobody knows */
} afterlife;

static void follow(const tr_fn *f, tr_val v, tr_val x, afterlife *out) {
    for (tr_val u = 0; u < f->ins.n && !out->later; u++) {
        const tr_ins *in = tr_at(f, u);
        for (uint32_t k = 0; in->blk != TR_NOBLK && k < in->nargs; k++)
            if (in->args[k] == x) {
                out->asked = true;
                if (in->op == TR_OP_TUPLE || in->op == TR_OP_EXTRACT)
                    follow(f, v, u, out);
                else if (in->op != TR_OP_SHR) {
                    out->again = true;
                    out->later |= !is_at_once(f, v, u);
                }
            }
        for (uint32_t s = 0; in->blk != TR_NOBLK && s < tr_nsucc(in); s++)
            for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                out->later |= in->imm.succ[s].args[k] == x;
    }
}

static lv site_classes(tr_lm *m) {
    if (!m->site_classes)
        m->site_classes = LLVMAddGlobal(m->mod, m->i8, "site_classes.later");
    return m->site_classes;
}

static bool has_late(const tr_lm *m) {
    for (uint32_t i = 0; i < m->prog->insts.n; i++)
        if (m->prog->insts.d[i].late)
            return true;
    return false;
}

/* The host's own exceptions say it themselves. */
static lv known_class(tr_lf *w, lv exc) {
    lv host = l_icmp(w->b, LLVMIntEQ, exc, l_int(w->m->i64, TR_EXC_HOST));
    lv payload = LLVMBuildLoad2(w->b, w->m->i64, at(w, w->frame, offsetof(tr_frame, payload)), "");
    lv own = LLVMBuildLShr(w->b, payload, l_int(w->m->i64, TR_CAUGHT_SHIFT), "");
    return l_select(w->b, host, own, exc);
}

/* `own`: the site is of this function's own text. */
static lv class_of(tr_lf *w, lv code, lv is_site, bool own) {
    tr_lm *m = w->m;
    lv index = l_select(w->b, is_site, l_sub(w->b, code, l_int(m->i32, 1)), l_int(m->i32, 0));
    lv wide = LLVMBuildZExt(w->b, index, m->i64, ""), exc;
    if (has_late(m) && !own) { /* whose raise sites have numbers of their own */
        tr_lower_rt(w, TR_RT_CLASS, 2, (lv[]){wide, site_classes(m)}, NULL, &exc);
        return l_select(w->b, is_site, known_class(w, exc), l_int(m->i64, TR_EXC_MEMORY));
    }
    lv place = LLVMBuildInBoundsGEP2(w->b, m->i16, site_classes(m), &wide, 1, "");
    exc = LLVMBuildZExt(w->b, LLVMBuildLoad2(w->b, m->i16, place, ""), m->i64, "");
    return l_select(w->b, is_site, known_class(w, exc), l_int(m->i64, TR_EXC_MEMORY));
}

/* A tr_raised; what it is raised again with is where this says. */
static lv save(tr_lf *w, lv code) {
    lv saved = tr_lower_alloca(w, LLVMArrayType2(w->m->i64, sizeof(tr_raised) / sizeof(tr_slot)), "caught");
    LLVMBuildStore(w->b, LLVMBuildSExt(w->b, code, w->m->i64, ""), saved);
    lv sites = LLVMGetNamedGlobal(w->m->mod, "tr_sites");
    if (!sites)
        sites = LLVMAddGlobal(w->m->mod, w->m->i8, "tr_sites");
    tr_lower_rt(w, TR_RT_CATCH, 2, (lv[]){saved, sites}, NULL, NULL);
    return LLVMBuildPtrToInt(w->b, saved, w->m->i64, "");
}

void tr_lower_catch(tr_lf *w, tr_val v) {
    tr_lm *m = w->m;
    LLVMBuilderRef b = w->b;
    afterlife fate = {0};
    follow(w->body->f, v, v, &fate);
    bool own = only_own(w->body->f, tr_at(w->body->f, v)->blk);
    lv code = LLVMBuildLoad2(b, m->i32, flying(w), "");
    lv is_site = l_icmp(b, LLVMIntSGT, code, l_int(m->i32, 0));
    lv ok = l_or(b, is_site, l_icmp(b, LLVMIntEQ, code, l_int(m->i32, TR_CODE_MEMORY)));
    lb go_on = tr_lower_unless(w, ok);
    tr_lower_exit(w, code);
    l_at_end(b, go_on);
    lv high = fate.asked || fate.later
                  ? LLVMBuildShl(b, class_of(w, code, is_site, own), l_int(m->i64, TR_CAUGHT_SHIFT), "")
                  : l_int(m->i64, 0);
    tr_lower_set1(w, v, fate.later ? l_or(b, high, save(w, code)) : high);
    if ((fate.later || !fate.again) && !own)
        clear_frame(w);
}

/* Right behind its catch nothing has changed; else what it needs is where the value says. */
void tr_lower_reraise(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    LLVMBuilderRef b = w->b;
    tr_val c = tr_caught(w->body->f, v);
    if (c != TR_NOVAL && is_at_once(w->body->f, c, v)) {
        afterlife fate = {0};
        follow(w->body->f, c, c, &fate);
        if (!fate.later) {
            tr_lower_leave(w, LLVMBuildLoad2(b, m->i32, flying(w), ""));
            return;
        }
    }
    lv low = l_int(m->i64, (1LL << TR_CAUGHT_SHIFT) - 1);
    lv saved = LLVMBuildIntToPtr(b, LLVMBuildAnd(b, tr_lower_parts(w, in->args[0])[0], low, ""), m->ptr, "");
    tr_lower_rt(w, TR_RT_AGAIN, 1, &saved, NULL, NULL);
    tr_lower_leave(w, LLVMBuildLoad2(b, m->i32, saved, ""));
}

void tr_lower_end_handlers(tr_lm *m) {
    if (!m->site_classes)
        return;
    lv *of = TR_NEW_N(&m->ctx->arena, lv, m->sites.n + 1u);
    for (uint32_t i = 0; i <= m->sites.n; i++) {
        const tr_msite *s = i < m->sites.n ? &m->sites.d[i] : NULL;
        of[i] = l_int(m->i16, s ? s->cls : 0);
    }
    lv all = LLVMConstArray2(m->i16, of, m->sites.n + 1u);
    lv table = LLVMAddGlobal(m->mod, LLVMTypeOf(all), "site_classes");
    LLVMSetInitializer(table, all);
    LLVMSetGlobalConstant(table, 1);
    LLVMSetLinkage(table, LLVMPrivateLinkage);
    LLVMReplaceAllUsesWith(m->site_classes, table);
    LLVMDeleteGlobal(m->site_classes);
}
