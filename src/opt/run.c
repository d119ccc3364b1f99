/* The pass runner: skipping, dumps, verification. Which passes, and in which order: passes.def.
 *
 * Functions are visited callees first, so that a caller inlines what has been cleaned up. A group of passes
 * is finished for every function before the next group starts: bounds sees all code that inlining brings, own
 * sees the final code. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ir/loops.h"
#include "opt/opt.h"
#include "opt/priv.h"

bool tr_opt_is_pass(const char *name, size_t n) {
    return tr_pass_find(name, n) != NULL;
}

const char *tr_opt_pass_names(void) {
#define X(name, ...) #name ", "
    static const char names[] =
#include "opt/passes.def"
        "";
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

static bool check(tr_prog *p, tr_fn *f, const char *name) {
    tr_sb report;
    tr_sb_init(&report);
    bool ok = f->is_lambda ? tr_ir_verify(f, &report) : tr_ir_verify_in(p, f, &report);
    if (!ok)
        tr_fail(p->ctx, TR_ERR_INTERNAL, "%s made wrong IR:\n%s", name, report.d);
    tr_sb_fini(&report);
    return ok && (f->is_lambda || same_after_reading(p, f, name));
}

/* What the table says of passes must be true of what they leave. */
static bool check_props(tr_prog *p, tr_fn *f, const char *name, uint32_t held) {
    const char *untrue = tr_pass_untrue(p, f, held);
    return !untrue || tr_fail(p->ctx, TR_ERR_INTERNAL, "%s: after %s %s", f->name, name, untrue);
}

static void dump(tr_prog *p, tr_fn *f, const char *name) {
    tr_ctx *c = p->ctx;
    if (f->is_lambda || !tr_dump_wants(&c->dump, TR_STAGE_OPT, name, f->name))
        return;
    tr_sb_printf(&c->dump_text, "; --- opt:%s: %s\n", name, f->name);
    tr_ir_print(&c->dump_text, f);
}

/* --- running --- */

static bool run_one(tr_prog *p, tr_fn *f, const tr_pass *ps) {
    assert(f->blks.n > 0);
    if (ps->analyses)
        tr_cfg_compute(f);
    if (ps->analyses & (N_DOM | N_LOOPS))
        tr_dom_compute(f);
    tr_forest forest = {0};
    if (ps->analyses & N_LOOPS)
        forest = tr_forest_find(f);
    f->forest = ps->analyses & N_LOOPS ? &forest : NULL;
    bool changed = ps->run(p, f);
    f->forest = NULL;
    return changed;
}

/* Lambdas first: what their patterns mean to the function may change with them. */
static bool run_nested(tr_prog *p, tr_fn *f, const tr_pass *ps) {
    bool changed = false;
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (tr_blk_at(f, b)->dead)
            continue;
        for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            for (unsigned k = 0; tr_at(f, v)->op == TR_OP_PATTERN && tr_pat_any(tr_at(f, v)->imm.pat, k); k++)
                changed |= run_nested(p, tr_pat_any(tr_at(f, v)->imm.pat, k), ps);
    }
    return run_one(p, f, ps) || changed;
}

/* *held: the properties that hold. A pass that is skipped makes none. */
static bool run_pass(tr_prog *p, tr_fn *f, const tr_pass *ps, uint32_t *held) {
    if (tr_ctx_stop(p->ctx))
        return false;
    uint32_t errs = p->ctx->nerrs, insts = p->insts.n;
    bool verify = p->ctx->dump.verify;
    if (tr_dump_skips(&p->ctx->dump, ps->name))
        return true;
    bool changed = run_nested(p, f, ps);
    if (p->ctx->nerrs > errs)
        return false;
    *held = tr_pass_after(ps, *held);
    if (changed)
        dump(p, f, ps->name);
    bool ok = !verify || ((!changed || check(p, f, ps->name)) && check_props(p, f, ps->name, *held));
    for (; ok && insts < p->insts.n; insts++) { /* new ones, of `late` and `split` */
        dump(p, p->insts.d[insts].fn, ps->name);
        ok = !verify || (check(p, p->insts.d[insts].fn, ps->name) &&
                         check_props(p, p->insts.d[insts].fn, ps->name, *held));
    }
    return ok;
}

/* Runs the first of the names, and sets *names behind it. *held as above. False with an error, or for an
 * unknown name. */
static bool run_next(tr_prog *p, tr_fn *f, const char **names, uint32_t *held) {
    size_t n = strcspn(*names, ",|");
    const tr_pass *ps = tr_pass_find(*names, n);
    if (!ps)
        return tr_fail(p->ctx, TR_ERR_VALUE, "no pass is called '%.*s'", (int)n, *names);
    *names += n + ((*names)[n] == ',');
    return run_pass(p, f, ps, held);
}

/* Up to the end of the group. */
static bool run_group(tr_prog *p, tr_fn *f, const char *names, uint32_t *held) {
    while (*names && *names != '|')
        if (!run_next(p, f, &names, held))
            return false;
    return true;
}

const char *tr_opt_unready(tr_prog *p, tr_fn *f, const char *name, size_t n) {
    const tr_pass *ps = tr_pass_find(name, n);
    return ps ? tr_pass_untrue(p, f, ps->needs) : NULL;
}

/* Named passes run over any text, so what a pass needs is looked for on it. */
static bool check_needs(tr_prog *p, tr_fn *f, const char *names) {
    size_t n = strcspn(names, ",|");
    const char *untrue = tr_opt_unready(p, f, names, n);
    return !untrue || tr_fail(p->ctx, TR_ERR_VALUE, "passes in a wrong order: in %s, before %.*s, %s",
                              f->name, (int)n, names, untrue);
}

bool tr_opt_run_named(tr_prog *p, tr_fn *f, const char *names) {
    uint32_t held = p->ctx->dump.verify ? tr_pass_input(p) : 0;
    const char *fault = tr_pass_part_fault(&p->ctx->arena, names);
    if (fault)
        return tr_fail(p->ctx, TR_ERR_VALUE, "%s", fault);
    while (*names)
        if (!check_needs(p, f, names) || !run_next(p, f, &names, &held))
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
            for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
                visit_calls(o, tr_pat_any(in->imm.pat, k));
        }
    }
}

static void visit(order *o, uint32_t inst) {
    if (o->seen[inst] || !o->p->insts.d[inst].fn || o->p->insts.d[inst].far)
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
        if (!keep[i] && !p->insts.d[i].far)
            p->insts.d[i].fn = NULL;
}

static bool run_order(tr_prog *p, const char *group) {
    uint32_t held = p->ctx->dump.verify ? tr_pass_input(p) : 0, before;
    while (*group) {
        tr_u32s fns = callees_first(p);
        drop_unreached(p, &fns);
        before = held;
        for (uint32_t i = 0; i < fns.n; i++) {
            held = before;
            if (!run_group(p, p->insts.d[fns.d[i]].fn, group, &held))
                return false;
        }
        group += strcspn(group, "|");
        group += *group == '|';
    }
    return true;
}

bool tr_opt_run(tr_prog *p) {
    assert(!tr_pass_order_fault(&p->ctx->arena, tr_pass_order));
    return run_order(p, tr_pass_order);
}

bool tr_opt_run_large(tr_prog *p) {
    assert(!tr_pass_part_fault(&p->ctx->arena, tr_pass_large_order));
    return run_order(p, tr_pass_large_order);
}

bool tr_opt_run_offload(tr_prog *p) {
    assert(!tr_pass_part_fault(&p->ctx->arena, tr_pass_offload_order));
    return run_order(p, tr_pass_offload_order);
}

bool tr_opt_run_for(tr_prog *p, const tr_target *t) {
    if (t->runtime)
        return tr_opt_run(p);
    assert(!tr_pass_part_fault(&p->ctx->arena, tr_pass_device_order));
    return run_order(p, tr_pass_device_order);
}

/* What counts references is the host's, and stays as it is: the target refuses it. */
static bool has_more_than(const tr_target *t, const tr_fn *f) {
    bool any = false;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            any |= tr_at(f, v)->op == TR_OP_CALLRT || !tr_target_has(t, (tr_op)tr_at(f, v)->op) ||
                   tr_at(f, v)->op == TR_OP_POW;
            if (tr_at(f, v)->op == TR_OP_RETAIN || tr_at(f, v)->op == TR_OP_RELEASE)
                return false;
        }
    return any;
}

bool tr_opt_for(tr_prog *p, const tr_target *t) {
    static const char names[] = "simplify,serial,rows,fold,cse,simplify,dce";
    for (uint32_t i = 0; !t->runtime && i < p->insts.n; i++)
        if (p->insts.d[i].fn && has_more_than(t, p->insts.d[i].fn) &&
            !tr_opt_run_named(p, p->insts.d[i].fn, names))
            return false;
    return true;
}
