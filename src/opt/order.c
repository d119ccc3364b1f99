/* In which order passes may run: the table of passes, and properties of the IR that they need, make and break
 * (props.def, passes.def).
 *
 * The product's order is checked by the table alone, from what inference makes to what lowering is given.
 * Some passes over a text, by name, are looked at as they come: what can be seen on the IR must be seen
 * there, and what cannot must not be made by a later one of them. What the table says of passes is checked in
 * its turn: with verification on, after each, on the IR. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ir/loops.h"
#include "opt/own.h"
#include "opt/priv.h"

static const tr_pass passes[] = {
#define X(name, analyses, needs, makes, breaks, help) {#name, tr_opt_##name, analyses, needs, makes, breaks},
#include "opt/passes.def"
};

const char tr_pass_order[] =
#define GROUP(names) names "|"
#include "opt/passes.def"
    ;

const char tr_pass_large_order[] =
#define LARGE(names) names "|"
#include "opt/passes.def"
    ;

const char tr_pass_device_order[] =
#define DEVICE(names) names "|"
#include "opt/passes.def"
    ;

const char tr_pass_offload_order[] =
#define OFFLOAD(names) names "|"
#include "opt/passes.def"
    ;

/* --- properties, seen on the IR of one function --- */

typedef struct look {
    tr_prog *p;
    tr_fn *f;
    const char *why; /* more about what does not hold, if there is more to say */
} look;

static bool reached(look *l) {
    tr_cfg_compute(l->f);
    for (tr_bid b = 0; b < l->f->blks.n; b++)
        if (!tr_blk_at(l->f, b)->dead && tr_blk_at(l->f, b)->rpo == TR_NOBLK)
            return false;
    return true;
}

static bool any_ins(const look *l, bool (*is)(const look *l, const tr_ins *in)) {
    for (tr_bid b = 0; b < l->f->blks.n; b++)
        for (tr_val v = tr_blk_at(l->f, b)->dead ? TR_NOVAL : tr_blk_at(l->f, b)->first; v != TR_NOVAL;
             v = tr_at(l->f, v)->next)
            if (is(l, tr_at(l->f, v)))
                return true;
    return false;
}

static bool is_retain_or_release(const look *l, const tr_ins *in) {
    (void)l;
    return in->op == TR_OP_RETAIN || in->op == TR_OP_RELEASE;
}

static bool bare(look *l) {
    return !any_ins(l, is_retain_or_release);
}

static bool counted(look *l) {
    return tr_own_check(l->f, l->p->handles, &l->why);
}

static bool calls_part(const look *l, const tr_ins *in) {
    const tr_inst *callee = in->op == TR_OP_CALL ? &l->p->insts.d[in->imm.fn] : NULL;
    return callee && (callee->late || callee->piece);
}

static bool whole(look *l) {
    return !any_ins(l, calls_part);
}

static bool ins_is_undecided(const look *l, const tr_ins *in) {
    (void)l;
    return in->op == TR_OP_PRANGE || (in->op == TR_OP_PATTERN && in->imm.pat->par == TR_PAR_WISH);
}

static bool decided(look *l) {
    return !any_ins(l, ins_is_undecided);
}

static bool ins_is_several(const look *l, const tr_ins *in) {
    (void)l;
    return in->op == TR_OP_RANGELEN;
}

static bool plain(look *l) {
    return !any_ins(l, ins_is_several);
}

static bool ins_has_schedule(const look *l, const tr_ins *in) {
    (void)l;
    static const tr_sched nothing;
    return in->op == TR_OP_PATTERN &&
           (in->imm.pat->ncost || memcmp(&in->imm.pat->sched, &nothing, sizeof nothing));
}

static bool loose(look *l) {
    return !any_ins(l, ins_has_schedule);
}

static bool rotated(look *l) {
    tr_cfg_compute(l->f);
    tr_dom_compute(l->f);
    const tr_loops loops = tr_forest_find(l->f).all;
    for (uint32_t i = 0; i < loops.n; i++)
        if (loops.d[i].latch == TR_NOBLK)
            return false;
    return true;
}

static const struct {
    const char *name, *what;
    bool (*holds)(look *l);
} props[P__COUNT] = {
#define X(id, holds, what) {#id, what, holds},
#include "opt/props.def"
#undef X
};

/* In the function and in all lambdas. */
static bool prop_holds(look *l, unsigned k) {
    tr_fn *f = l->f;
    bool ok = props[k].holds(l);
    for (tr_bid b = 0; ok && b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; ok && v != TR_NOVAL;
             v = tr_at(f, v)->next)
            for (unsigned i = 0;
                 ok && tr_at(f, v)->op == TR_OP_PATTERN && (l->f = tr_pat_any(tr_at(f, v)->imm.pat, i)); i++)
                ok = prop_holds(l, k);
    l->f = f;
    return ok;
}

const char *tr_pass_untrue(tr_prog *p, tr_fn *f, uint32_t which) {
    look l = {.p = p, .f = f};
    for (unsigned k = 0; k < P__COUNT; k++)
        if ((which >> k & 1) && props[k].holds && !prop_holds(&l, k))
            return tr_arena_printf(&p->ctx->arena, "%s does not hold (%s%s%s)", props[k].name, props[k].what,
                                   l.why ? "; " : "", l.why ? l.why : "");
    return NULL;
}

uint32_t tr_pass_input(tr_prog *p) {
    uint32_t held =
#define INPUT(props) props;
#include "opt/passes.def"
        for (uint32_t i = 0; i < p->insts.n; i++) for (unsigned k = 0; k < P__COUNT;
                                                       k++) if (p->insts.d[i].fn && (held >> k & 1) &&
                                                                tr_pass_untrue(p, p->insts.d[i].fn, 1u << k))
            held &= ~(1u << k);
    return held;
}

/* --- orders --- */

const tr_pass *tr_pass_find(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (strlen(passes[i].name) == n && !memcmp(passes[i].name, name, n))
            return &passes[i];
    return NULL;
}

uint32_t tr_pass_after(const tr_pass *ps, uint32_t held) {
    assert((ps->makes & ps->breaks) == 0);
    return (held & ~ps->breaks) | (ps->needs & ~held ? 0 : ps->makes);
}

/* The next of the names, and *names behind it; NULL at the end, and for what is no pass. */
static const tr_pass *next_pass(const char **names) {
    *names += strspn(*names, ",|");
    size_t n = strcspn(*names, ",|");
    const char *name = *names;
    *names += n;
    return tr_pass_find(name, n);
}

static const char *lacks(tr_arena *a, const char *who, uint32_t missing) {
    assert(missing != 0);
    unsigned k = (unsigned)__builtin_ctz(missing);
    const char *by = NULL;
    for (size_t i = 0; i < sizeof passes / sizeof *passes && !by; i++)
        by = passes[i].makes >> k & 1 ? passes[i].name : NULL;
    return tr_arena_printf(a, "passes in a wrong order: %s needs %s (%s), which %s", who, props[k].name,
                           props[k].what, by ? tr_arena_printf(a, "%s makes", by) : "is over");
}

const char *tr_pass_order_fault(tr_arena *a, const char *names) {
    uint32_t
#define INPUT(props)  held = props,
#define OUTPUT(props) end = props;
#include "opt/passes.def"
        for (const tr_pass *ps; (ps = next_pass(&names)) != NULL;
             held = tr_pass_after(ps, held)) if (ps->needs & ~held) return lacks(a, ps->name,
                                                                                 ps->needs & ~held);
    return end & ~held ? lacks(a, "lowering", end & ~held) : NULL;
}

/* What passes of the list make. */
static uint32_t made_by(const char *names) {
    uint32_t made = 0;
    for (const tr_pass *ps; (ps = next_pass(&names)) != NULL;)
        made |= ps->makes;
    return made;
}

const char *tr_pass_part_fault(tr_arena *a, const char *names) {
    uint32_t made = 0;
    for (const tr_pass *ps; (ps = next_pass(&names)) != NULL; made |= ps->makes) {
        uint32_t late = ps->needs & made_by(names) & ~made;
        for (unsigned k = 0; k < P__COUNT; k++)
            if ((late >> k & 1) && !props[k].holds)
                return lacks(a, ps->name, 1u << k);
    }
    return NULL;
}
