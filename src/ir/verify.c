/* Every rule of the IR, checked: links, dominance, stages, operand and result types. All faults are reported,
 * each as a comment under the line it is about. Linear in the size of the function. */
#include "ir/verify.h"

#include <inttypes.h>
#include <stdarg.h>

#include "ir/internal.h"
#include "ir/sched.h"
#include "ir/summary.h"

void tr_ck_bad(tr_fnck *k, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tr_fault x = {k->f, k->b, k->v, tr_arena_vprintf(k->c->a, fmt, ap)};
    va_end(ap);
    tr_vec_push(k->c->a, &k->c->faults, x);
}

const char *tr_ck_show(tr_fnck *k, const tr_ty *t) {
    if (!t)
        return "no type";
    tr_sb b;
    tr_sb_init(&b);
    tr_ty_print_ir(&b, t);
    const char *s = tr_arena_strndup(k->c->a, b.d, b.n);
    tr_sb_fini(&b);
    return s;
}

/* --- one instruction --- */

/* A constant, or defined before its use on every way. */
static void check_use(tr_fnck *k, tr_val v, uint32_t position) {
    if (v >= k->f->ins.n) {
        tr_ck_bad(k, "an operand is missing");
        return;
    }
    const tr_ins *d = tr_at(k->f, v);
    if (d->blk == TR_NOBLK && tr_is_const(d)) {
        if (!(tr_op_info[d->op].stages & k->f->stage))
            tr_ck_bad(k, "uses a constant of another stage");
        else if (d->op != TR_OP_OBJ && (!d->ty || d->ty->weak))
            tr_ck_bad(k, "uses a constant of type %s", tr_ck_show(k, d->ty));
        return;
    }
    if (d->op >= TR_OP__COUNT || tr_op_info[d->op].result == '-') {
        tr_ck_bad(k, "uses something without a value");
        return;
    }
    if (!k->position[v]) {
        tr_ck_bad(k, "uses a value that is defined nowhere");
        return;
    }
    if (d->blk == k->b ? k->position[v] >= position : !tr_dominates(&k->cfg, d->blk, k->b))
        tr_ck_bad(k, "uses a value that is not defined on every way here");
}

static void check_edges(tr_fnck *k, const tr_ins *i, uint32_t position) {
    for (uint32_t s = 0; s < tr_nsucc(i); s++) {
        const tr_edge *e = &i->imm.succ[s];
        for (uint32_t n = 0; n < e->n; n++)
            check_use(k, e->args[n], position);
        if (e->to >= k->f->blks.n || tr_blk_at(k->f, e->to)->dead || e->to == 0) {
            tr_ck_bad(k, e->to ? "goes to no block" : "goes to the entry");
            continue;
        }
        const tr_blk *to = tr_blk_at(k->f, e->to);
        if (to->params.n != e->n) {
            tr_ck_bad(k, "passes %" PRIu32 " values, the block takes %" PRIu32, e->n, to->params.n);
            continue;
        }
        for (uint32_t n = 0; k->f->stage == S_T && n < e->n; n++)
            if (e->args[n] < k->f->ins.n && to->params.d[n] < k->f->ins.n)
                tr_ck_want_type(k, tr_at(k->f, e->args[n])->ty, tr_at(k->f, to->params.d[n])->ty,
                                "what is passed");
    }
}

/* Nothing that a handler could tell from nothing: it may stand before the catch. */
static bool may_stand_before_catch(const tr_ins *i) {
    return i->op == TR_OP_RETAIN || i->op == TR_OP_RELEASE || !tr_ins_effects(i);
}

/* Has block p nothing before its end but counts of references? */
static bool only_counts(const tr_fn *f, tr_bid p) {
    for (tr_val v = tr_blk_at(f, p)->first; v != tr_blk_at(f, p)->last; v = tr_at(f, v)->next)
        if (!may_stand_before_catch(tr_at(f, v)))
            return false;
    return true;
}

/* Ways into block b that only what raises can take: a handler's, on which nothing but counts of references
 * may happen before the catch. They may be as many and as long as there are containers, and meet
 * (opt/own.c). */
static bool is_landing(const tr_fnck *k, tr_bid b) {
    tr_arena *a = &k->f->ctx->arena;
    uint8_t *seen = TR_NEW_N(a, uint8_t, k->f->blks.n);
    tr_u32s work = {0};
    tr_vec_push(a, &work, b);
    while (work.n) {
        tr_bid at = work.d[--work.n];
        const tr_blk *blk = tr_blk_at(&k->cfg, at);
        for (uint32_t i = 0; i < blk->preds.n; i++) {
            tr_bid p = blk->preds.d[i];
            const tr_ins *t = tr_term(k->f, p);
            if (t->op == TR_OP_TRY ? t->imm.succ[0].to == at : t->op != TR_OP_BR || !only_counts(k->f, p))
                return false;
            if (t->op == TR_OP_BR && !seen[p])
                tr_vec_push(a, &work, p);
            seen[p] = 1;
        }
        if (!blk->preds.n)
            return false;
    }
    return true;
}

static void check_catch(tr_fnck *k, const tr_ins *i) {
    tr_val v = i->prev;
    while (v != TR_NOVAL && may_stand_before_catch(tr_at(k->f, v)))
        v = tr_at(k->f, v)->prev;
    if (v != TR_NOVAL || !is_landing(k, k->b))
        tr_ck_bad(k, "is not the first thing that a handler does");
}

/* What a handler's way leads to catches before it does anything else. */
static bool handler_catches(const tr_fn *f, tr_bid b) {
    for (uint32_t n = 0; n < f->blks.n && b < f->blks.n; n++) { /* more would go round */
        tr_val v = tr_blk_at(f, b)->first;
        while (v != TR_NOVAL && may_stand_before_catch(tr_at(f, v)))
            v = tr_at(f, v)->next;
        if (v == TR_NOVAL || tr_at(f, v)->op != TR_OP_BR)
            return v != TR_NOVAL && tr_at(f, v)->op == TR_OP_CATCH;
        b = tr_at(f, v)->imm.succ->to;
    }
    return false;
}

static void check_try(tr_fnck *k, const tr_ins *i) {
    tr_bid body = i->imm.succ[0].to, handler = i->imm.succ[1].to;
    if (body >= k->f->blks.n || handler >= k->f->blks.n)
        return;
    if (tr_blk_at(&k->cfg, body)->preds.n != 1 || body == handler)
        tr_ck_bad(k, "protects a block that has another way in");
    if (!handler_catches(k->f, handler))
        tr_ck_bad(k, "goes to a block that does not catch");
}

static void check_ins(tr_fnck *k, tr_val v) {
    const tr_ins *i = tr_at(k->f, v);
    k->v = v;
    if (i->op >= TR_OP__COUNT || !(tr_op_info[i->op].stages & k->f->stage) || i->op == TR_OP_PARAM ||
        tr_is_const(i)) {
        tr_ck_bad(k, "may not stand here");
        return;
    }
    const tr_opinfo *op = &tr_op_info[i->op];
    tr_ck_shape(k, i);
    if ((op->effects & E_TERM) && v != tr_blk_at(k->f, k->b)->last)
        tr_ck_bad(k, "ends the block before its end");
    if (tr_nsucc(i) && !i->imm.succ) {
        tr_ck_bad(k, "goes nowhere");
        return;
    }
    if (i->loc >= k->f->locs.n)
        tr_ck_bad(k, "has a place that is not in the table");
    for (uint32_t n = 0; n < i->nargs; n++)
        check_use(k, i->args[n], k->position[v]);
    check_edges(k, i, k->position[v]);
    if (tr_blk_at(&k->cfg, k->b)->rpo == TR_NOBLK)
        ;
    else if (i->op == TR_OP_TRY)
        check_try(k, i);
    else if (i->op == TR_OP_CATCH)
        check_catch(k, i);
    if (op->nargs < 0 || i->nargs == (uint32_t)op->nargs)
        tr_ck_types(k, i);
}

/* --- items of lists, and what was peeked at --- */

/* What is made of the items of one list, or of one that was peeked at: views, and what holds them. */
static uint8_t *made_of(const tr_fnck *k, tr_val items) {
    const tr_fn *f = k->f;
    uint8_t *is = TR_NEW_N(k->c->a, uint8_t, f->ins.n + 1u);
    bool peeked = tr_at(f, items)->op == TR_OP_PEEK;
    is[items] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (tr_val v = 0; v < f->ins.n; v++) {
            const tr_ins *in = tr_at(f, v);
            bool holds = in->op == TR_OP_TUPLE || in->op == TR_OP_EXTRACT || in->op == TR_OP_SELECT ||
                         tr_is_view(in) || (peeked && (in->op == TR_OP_PEEK || in->op == TR_OP_ITEMS));
            if (is[v] || in->blk == TR_NOBLK || !holds || !tr_ty_is_counted(in->ty))
                continue;
            for (uint32_t n = 0; n < in->nargs; n++)
                is[v] |= is[in->args[n]];
            changed = changed || is[v];
        }
    }
    return is;
}

/* How long it was may be asked for ever, and so what takes an array along for that: a part of the function
 * that became one of its own (opt/late.c). */
static bool asks_memory(const tr_ins *in) {
    return in->op != TR_OP_RELEASE && in->op != TR_OP_RETAIN && in->op != TR_OP_DIM && in->op != TR_OP_CALL;
}

/* Is what v, the items of a list or one that was peeked at, stands for gone behind instruction x? Items are
 * where the list gets longer or shorter, one of them where it may be dropped. */
static bool ends_it(const tr_fn *f, const tr_ins *v, const tr_ins *x) {
    if (v->op == TR_OP_ITEMS) {
        for (uint32_t k = 0; k < x->nargs && tr_ins_effects(x) & E_GROW; k++)
            if (tr_at(f, x->args[k])->ty == tr_at(f, v->args[0])->ty)
                return true;
        return false;
    }
    const tr_ty *elem = tr_at(f, v->args[0])->ty->elem;
    if (x->op == TR_OP_PUT)
        return tr_at(f, x->args[0])->ty->elem == elem;
    for (uint32_t k = 0; k < x->nargs && tr_ins_cuts(x); k++) {
        const tr_ty *list = tr_at(f, x->args[k])->ty;
        if (list && list->kind == TR_TY_LIST && list->items[0] == elem->items[0])
            return true;
    }
    return false;
}

/* From what comes behind v in its block on, up to where it is made anew: is anything of it used behind what
 * makes a list of that type longer or shorter? Calls are not looked into. */
static void check_items(const tr_fnck *k, tr_val v) {
    const tr_fn *f = k->f;
    const uint8_t *is = made_of(k, v);
    bool peeked = tr_at(f, v)->op == TR_OP_PEEK;
    enum { FRESH = 1, STALE = 2 };
    uint8_t *seen = TR_NEW_N(k->c->a, uint8_t, f->blks.n + 1u);
    tr_u32s work = {0};
    bool first = true;
    tr_vec_push(k->c->a, &work, tr_at(f, v)->blk << 1);
    while (work.n) {
        uint32_t at = work.d[--work.n];
        bool stale = at & 1u, again = false;
        tr_val x = first ? tr_at(f, v)->next : tr_blk_at(f, at >> 1)->first;
        first = false;
        for (; x != TR_NOVAL && !again; x = tr_at(f, x)->next) {
            const tr_ins *in = tr_at(f, x);
            again = x == v;
            for (uint32_t n = 0; n < in->nargs && stale && !again; n++)
                if (is[in->args[n]] && (asks_memory(in) || (peeked && in->op == TR_OP_RETAIN))) {
                    tr_fnck here = *k;
                    here.v = x;
                    here.b = at >> 1;
                    tr_ck_bad(&here, peeked ? "uses an item of a container that may have been dropped since"
                                            : "uses items of a list that has changed its length since they "
                                              "were asked for");
                    return;
                }
            stale = stale || ends_it(f, tr_at(f, v), in);
        }
        const tr_ins *t = again ? NULL : tr_term(f, at >> 1);
        for (uint32_t s = 0; t && s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            if (seen[to] & (stale ? STALE : FRESH | STALE))
                continue;
            seen[to] |= stale ? STALE : FRESH;
            tr_vec_push(k->c->a, &work, to << 1 | stale);
        }
    }
}

/* --- a function --- */

/* Chains forward and back agree and end; numbers every definition. */
static bool check_links(tr_fnck *k, tr_bid b) {
    const tr_blk *blk = tr_blk_at(k->f, b);
    uint32_t at = 1;
    tr_val prev = TR_NOVAL;
    k->b = b;
    k->v = TR_NOVAL;
    for (uint32_t p = 0; p < blk->params.n; p++) {
        tr_val v = blk->params.d[p];
        if (v >= k->f->ins.n || tr_at(k->f, v)->op != TR_OP_PARAM || tr_at(k->f, v)->blk != b ||
            k->position[v]) {
            tr_ck_bad(k, "param %" PRIu32 " is not one of this block", p);
            continue;
        }
        k->position[v] = at;
        if (k->f->stage == S_T && (!tr_at(k->f, v)->ty || tr_at(k->f, v)->ty->weak))
            tr_ck_bad(k, "param %" PRIu32 " is %s", p, tr_ck_show(k, tr_at(k->f, v)->ty));
    }
    for (tr_val v = blk->first; v != TR_NOVAL; prev = v, v = tr_at(k->f, v)->next) {
        if (v >= k->f->ins.n || k->position[v] || tr_at(k->f, v)->blk != b || tr_at(k->f, v)->prev != prev) {
            tr_ck_bad(k, "the chain of instructions is broken");
            return false;
        }
        k->position[v] = ++at;
    }
    if (blk->last != prev) {
        tr_ck_bad(k, "the chain of instructions is broken at its end");
        return false;
    }
    if (prev == TR_NOVAL || tr_at(k->f, prev)->op >= TR_OP__COUNT || !tr_ins_ends(tr_at(k->f, prev)))
        tr_ck_bad(k, "does not end in a terminator");
    return true;
}

static bool check_all_links(tr_fnck *k) {
    bool ok = true;
    for (tr_bid b = 0; b < k->f->blks.n; b++)
        if (!tr_blk_at(k->f, b)->dead && !check_links(k, b))
            ok = false;
    return ok;
}

static void compute_cfg(tr_fnck *k) {
    k->cfg = *k->f;
    k->cfg.rpo = k->cfg.work = (tr_u32s){0};
    k->cfg.blks.d = tr_arena_copy(k->c->a, k->f->blks.d, k->f->blks.n * sizeof *k->f->blks.d);
    for (tr_bid b = 0; b < k->cfg.blks.n; b++)
        k->cfg.blks.d[b].preds = (tr_u32s){0};
    tr_cfg_compute(&k->cfg);
    tr_dom_compute(&k->cfg);
}

/* A kernel takes what a launch can hand over, and has nobody to return to. */
static void check_kind(tr_fnck *k) {
    const tr_fn *f = k->f;
    const tr_blk *entry = tr_blk_at(f, 0);
    k->v = TR_NOVAL;
    if (f->kind >= TR_FN__COUNT || (f->kind != TR_FN_HOST && f->stage != S_T)) {
        tr_ck_bad(k, "is of a kind that there is not");
        return;
    }
    if (f->kind != TR_FN_KERNEL || f->is_lambda)
        return;
    if (!tr_ck_is_kind(f->ret, TR_TY_NONE))
        tr_ck_bad(k, "is a kernel and returns %s", tr_ck_show(k, f->ret));
    for (uint32_t n = 0; n < entry->params.n; n++) {
        const tr_ty *t = tr_at(f, entry->params.d[n])->ty;
        if (t && !tr_ty_is_launchable(t))
            tr_ck_bad(k, "is a kernel and takes %s", tr_ck_show(k, t));
    }
}

static void check_fn(tr_checker *c, const tr_fn *f, const tr_pat *pat, const tr_fn *outer, tr_val at) {
    tr_fnck k = {.c = c, .f = f, .b = TR_NOBLK, .v = TR_NOVAL, .pat = pat};
    k.position = TR_NEW_N(c->a, uint32_t, f->ins.n + 1);
    if (!f->blks.n || tr_blk_at(f, 0)->dead) {
        tr_fnck o = {.c = c, .f = outer ? outer : f, .b = TR_NOBLK, .v = at};
        tr_ck_bad(&o, "has no entry block");
        return;
    }
    if (!check_all_links(&k)) {
        c->broken_links = true;
        return;
    }
    compute_cfg(&k);
    check_kind(&k);
    for (k.b = 0; k.b < f->blks.n; k.b++)
        for (tr_val v = tr_blk_at(f, k.b)->dead ? TR_NOVAL : tr_blk_at(f, k.b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            check_ins(&k, v);
            const tr_ins *i = tr_at(f, v);
            if ((i->op == TR_OP_ITEMS || (i->op == TR_OP_PEEK && tr_ty_is_counted(i->ty))) && !c->faults.n)
                check_items(&k, v);
            for (unsigned n = 0; i->op == TR_OP_PATTERN && i->imm.pat && tr_pat_any(i->imm.pat, n); n++)
                check_fn(c, tr_pat_any(i->imm.pat, n), i->imm.pat, f, v);
        }
}

static void note(void *user, tr_sb *out, const tr_fn *f, tr_bid b, tr_val v) {
    const tr_checker *c = user;
    for (uint32_t n = 0; n < c->faults.n; n++) {
        const tr_fault *x = &c->faults.d[n];
        if (x->f == f && x->v == v && (v != TR_NOVAL || x->b == b))
            tr_sb_printf(out, ";      ^ fault: %s\n", x->text);
    }
}

/* What is marked to run on all cores may, and schedules fit; asked once all else is known to be right. */
static void check_claims(tr_checker *c, const tr_fn *f) {
    tr_fnck k = {.c = c, .f = f};
    for (k.b = 0; k.b < f->blks.n; k.b++)
        for (k.v = tr_blk_at(f, k.b)->dead ? TR_NOVAL : tr_blk_at(f, k.b)->first; k.v != TR_NOVAL;
             k.v = tr_at(f, k.v)->next) {
            const tr_pat *t = tr_at(f, k.v)->op == TR_OP_PATTERN ? tr_at(f, k.v)->imm.pat : NULL;
            const char *why = t && t->par == TR_PAR_PROVEN && c->prog ? tr_pat_one_core(c->prog, t) : NULL;
            if (why)
                tr_ck_bad(&k, "may not run on all cores: %s", why);
            why = t ? tr_sched_misfit(f, tr_at(f, k.v)) : NULL;
            if (why)
                tr_ck_bad(&k, "has a schedule that does not fit it: %s", why);
            for (unsigned n = 0; t && tr_pat_any(t, n); n++)
                check_claims(c, tr_pat_any(t, n));
        }
}

bool tr_ir_verify_in(const tr_prog *p, const tr_fn *f, tr_sb *out) {
    tr_checker c = {.a = &f->ctx->arena, .prog = p};
    check_fn(&c, f, NULL, NULL, TR_NOVAL);
    if (!c.faults.n)
        check_claims(&c, f);
    if (!c.faults.n)
        return true;
    tr_sb_printf(out, "; %" PRIu32 " fault%s in %s\n", c.faults.n, c.faults.n == 1 ? "" : "s",
                 f->name ? f->name : "?");
    for (uint32_t n = 0; n < c.faults.n; n++) {
        const tr_fault *x = &c.faults.d[n];
        if (c.broken_links || (x->b == TR_NOBLK && x->v == TR_NOVAL))
            tr_sb_printf(out, "; fault: block %" PRId32 ", value %" PRId32 ": %s\n", (int32_t)x->b,
                         (int32_t)x->v, x->text);
    }
    if (!c.broken_links)
        tr_ir_print_notes(out, f, note, &c);
    return false;
}

bool tr_ir_verify(const tr_fn *f, tr_sb *out) {
    return tr_ir_verify_in(NULL, f, out);
}

bool tr_ir_verify_program(const tr_prog *p, tr_sb *out) {
    bool ok = true;
    for (uint32_t i = 0; i < p->funcs.n; i++)
        ok = (!p->funcs.d[i].ssa || tr_ir_verify_in(p, p->funcs.d[i].ssa, out)) && ok;
    for (uint32_t i = 0; i < p->insts.n; i++)
        ok = (!p->insts.d[i].fn || tr_ir_verify_in(p, p->insts.d[i].fn, out)) && ok;
    return ok;
}
