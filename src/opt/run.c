/* The pass runner: order, skipping, dumps, verification.
 *
 * Functions are visited callees first, so that a caller inlines what has been cleaned up. A group of passes is finished for
 * every function before the next group starts: bounds sees all code that inlining brings, own sees the final code. */
#include <stdio.h>
#include <string.h>

#include "opt/opt.h"
#include "opt/own.h"
#include "opt/priv.h"

/* Names from passes.def; '|' ends a group. */
static const char pipeline[] = "simplify,fold,hoist,cse,dce|"
                               "inline,simplify,fold,hoist,cse,simplify,dce|"
                               "agree,fold,cse,fuse,simplify,dce|"
                               "bounds,fold,simplify,dce,prange,flatten,rotate|"
                               "own,late,split";

typedef struct pass {
    const char *name;
    bool (*run)(tr_prog *p, tr_fn *f);
    uint8_t needs;
} pass;

static const pass passes[] = {
#define X(name, needs, help) {#name, tr_opt_##name, needs},
#include "opt/passes.def"
#undef X
};

static const pass *find_pass(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (strlen(passes[i].name) == n && !memcmp(passes[i].name, name, n))
            return &passes[i];
    return NULL;
}

bool tr_opt_is_pass(const char *name, size_t n) {
    return find_pass(name, n) != NULL;
}

const char *tr_opt_pass_names(void) {
#define X(name, needs, help) #name ", "
    static const char names[] =
#include "opt/passes.def"
        "";
#undef X
    return names;
}

/* --- checks after a pass --- */

static bool same_after_reading(tr_prog *p, tr_fn *f, const char *name) {
    tr_sb a, b;
    tr_prog again;
    tr_sb_init(&a);
    tr_sb_init(&b);
    tr_ir_print(&a, f);
    tr_prog_init(&again, p->ctx);
    bool ok = tr_ir_parse(p->ctx, a.d, "dump", &again) && again.insts.n == 1;
    if (ok) {
        tr_ir_print(&b, again.insts.d[0].fn);
        ok = a.n == b.n && !memcmp(a.d, b.d, a.n);
    }
    if (!ok)
        tr_fail(p->ctx, TR_ERR_INTERNAL,
                "%s does not read back as printed after %s:\n%s\n--- read back as\n%s", f->name, name, a.d,
                b.d ? b.d : "");
    tr_sb_fini(&a);
    tr_sb_fini(&b);
    return ok;
}

static bool check_own(tr_prog *p, tr_fn *f) {
    const char *why;
    bool ok = tr_own_check(f, &why) || tr_fail(p->ctx, TR_ERR_INTERNAL, "%s: %s", f->name, why);
    for (uint32_t i = 0; ok && i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            for (unsigned k = 0; ok && tr_at(f, v)->op == TR_OP_PATTERN && tr_pat_fn(tr_at(f, v)->imm.pat, k);
                 k++)
                ok = check_own(p, tr_pat_fn(tr_at(f, v)->imm.pat, k));
    return ok;
}

static bool check(tr_prog *p, tr_fn *f, const char *name) {
    tr_sb report;
    tr_sb_init(&report);
    bool ok = f->is_lambda ? tr_ir_verify(f, &report) : tr_ir_verify_in(p, f, &report);
    if (!ok)
        tr_fail(p->ctx, TR_ERR_INTERNAL, "%s made wrong IR:\n%s", name, report.d);
    tr_sb_fini(&report);
    ok = ok && (strcmp(name, "own") || check_own(p, f));
    return ok && (f->is_lambda || same_after_reading(p, f, name));
}

static void dump(tr_prog *p, tr_fn *f, const char *name) {
    tr_ctx *c = p->ctx;
    if (f->is_lambda || !tr_dump_wants(&c->dump, TR_STAGE_OPT, name, f->name))
        return;
    tr_sb_printf(&c->dump_text, "; --- opt:%s: %s\n", name, f->name);
    tr_ir_print(&c->dump_text, f);
}

/* --- running --- */

static bool run_one(tr_prog *p, tr_fn *f, const pass *ps) {
    if (ps->needs)
        tr_cfg_compute(f);
    if (ps->needs & N_DOM)
        tr_dom_compute(f);
    return ps->run(p, f);
}

/* Lambdas first: what their patterns mean to the function may change with them. */
static bool run_nested(tr_prog *p, tr_fn *f, const pass *ps) {
    bool changed = false;
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (tr_blk_at(f, b)->dead)
            continue;
        for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            for (unsigned k = 0; tr_at(f, v)->op == TR_OP_PATTERN && tr_pat_fn(tr_at(f, v)->imm.pat, k); k++)
                changed |= run_nested(p, tr_pat_fn(tr_at(f, v)->imm.pat, k), ps);
    }
    return run_one(p, f, ps) || changed;
}

static bool run_pass(tr_prog *p, tr_fn *f, const pass *ps) {
    if (tr_ctx_stop(p->ctx))
        return false;
    uint32_t errs = p->ctx->nerrs, insts = p->insts.n;
    if (tr_dump_skips(&p->ctx->dump, ps->name) || !run_nested(p, f, ps))
        return true;
    if (p->ctx->nerrs > errs)
        return false;
    dump(p, f, ps->name);
    bool ok = !p->ctx->dump.verify || check(p, f, ps->name);
    for (; ok && insts < p->insts.n; insts++) { /* new ones, of `late` and `split` */
        dump(p, p->insts.d[insts].fn, ps->name);
        ok = !p->ctx->dump.verify || check(p, p->insts.d[insts].fn, ps->name);
    }
    return ok;
}

/* Runs names up to '|' or the end; *rest is what follows. False with an error, or for an unknown name. */
static bool run_group(tr_prog *p, tr_fn *f, const char *names, const char **rest) {
    while (*names && *names != '|') {
        size_t n = strcspn(names, ",|");
        const pass *ps = find_pass(names, n);
        if (!ps)
            return tr_fail(p->ctx, TR_ERR_VALUE, "no pass is called '%.*s'", (int)n, names);
        if (!run_pass(p, f, ps))
            return false;
        names += n + (names[n] == ',');
    }
    *rest = names + (*names == '|');
    return true;
}

bool tr_opt_run_named(tr_prog *p, tr_fn *f, const char *names) {
    while (*names)
        if (!run_group(p, f, names, &names))
            return false;
    return true;
}

/* --- order of functions --- */

typedef struct order {
    tr_prog *p;
    uint8_t *seen;
    tr_u32s out;
} order;

static void visit(order *o, uint32_t inst);

static void visit_calls(order *o, const tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (f->blks.d[b].dead)
            continue;
        for (tr_val v = f->blks.d[b].first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op == TR_OP_CALL)
                visit(o, in->imm.fn);
            for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_fn(in->imm.pat, k); k++)
                visit_calls(o, tr_pat_fn(in->imm.pat, k));
        }
    }
}

static void visit(order *o, uint32_t inst) {
    if (o->seen[inst] || !o->p->insts.d[inst].fn)
        return;
    o->seen[inst] = 1;
    visit_calls(o, o->p->insts.d[inst].fn);
    tr_vec_push(&o->p->ctx->arena, &o->out, inst);
}

/* Instances that the root reaches, callees first (in a cycle: whichever is met first). */
static tr_u32s callees_first(tr_prog *p) {
    order o = {.p = p, .seen = TR_NEW_N(&p->ctx->arena, uint8_t, p->insts.n + 1u)};
    if (p->root < p->insts.n)
        visit(&o, p->root);
    return o.out;
}

/* Instances that inlining left without a call are not compiled. */
static void drop_unreached(tr_prog *p, const tr_u32s *reached) {
    uint8_t *keep = TR_NEW_N(&p->ctx->arena, uint8_t, p->insts.n + 1u);
    for (uint32_t i = 0; i < reached->n; i++)
        keep[reached->d[i]] = 1;
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (!keep[i])
            p->insts.d[i].fn = NULL;
}

bool tr_opt_run(tr_prog *p) {
    const char *rest;
    for (const char *group = pipeline; *group; group = rest) {
        tr_u32s fns = callees_first(p);
        drop_unreached(p, &fns);
        rest = group + strcspn(group, "|"); /* without functions nobody else finds the end */
        rest += *rest == '|';
        for (uint32_t i = 0; i < fns.n; i++)
            if (!run_group(p, p->insts.d[fns.d[i]].fn, group, &rest))
                return false;
    }
    return true;
}
