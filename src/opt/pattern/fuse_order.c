/* May two patterns of a block be done at one place? What stands between them and depends on the first one
 * then comes behind both: contracting an edge of the block's dependence graph, which has to stay without
 * cycles.
 *
 * Dependences are found when they are asked for: by values, by memory (ir/alias.h), and by the order in which
 * things are seen from outside: exceptions, calls, stores into arrays that others know. A pattern that loads
 * from whole arrays may go before tests of its indices if it guards its loads: nothing that it writes is seen
 * before these tests have passed.
 * Cost: what stands between, times what of it depends on the first one, MAX_BEHIND at most. */
#include "opt/pattern/fuse.h"

#include "base/plant.h"
#include "ir/ports.h"

enum { MAX_BEHIND = 32 };

bool tr_fuse_is_result(const tr_fuse_results *res, tr_val v, tr_val p) {
    for (uint32_t i = 0; i < res->n; i++)
        if (res->d[i].node == p && res->d[i].old == v)
            return true;
    return v == p;
}

static bool uses_result(const tr_fuse_results *res, const tr_ins *in, tr_val p) {
    for (uint32_t k = 0; k < in->nargs; k++)
        if (tr_fuse_is_result(res, in->args[k], p))
            return true;
    return false;
}

bool tr_fuse_distinct_from_all(const tr_fn *f, tr_val x, const tr_val *v, uint32_t n, tr_bid b) {
    for (uint32_t i = 0; i < n; i++)
        if (!tr_arrays_distinct(f, x, v[i], b))
            return false;
    return true;
}

/* --- what a pattern touches --- */

bool tr_fuse_only_reads(const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    return tr_pat_only_computes(t) && (!t->epi || tr_fn_is_scalar(t->epi));
}

bool tr_fuse_loads(const tr_ins *p) {
    return !tr_fn_is_scalar(p->imm.pat->lam);
}

/* Does p's lambda load from an array that shares memory with x? */
bool tr_fuse_loads_from(const tr_fn *f, const tr_ins *p, tr_val x) {
    const tr_pat *t = p->imm.pat;
    for (uint32_t k = tr_pat_at(t, P_CAP); tr_fuse_loads(p) && k < tr_pat_at(t, P_CAP + 1); k++) {
        const tr_ty *ty = tr_at(f, p->args[k])->ty;
        if (tr_ty_has_arrays(ty) &&
            (ty->kind != TR_TY_ARRAY || !tr_arrays_distinct(f, x, p->args[k], p->blk)))
            return true;
    }
    return false;
}

/* What q writes, which writes: the array is one of it, from number k on; TR_NOVAL: there is none. False where
 * that is not known. */
static bool next_written(const tr_ins *q, uint32_t *k, tr_val *x) {
    *x = TR_NOVAL;
    if (q->op == TR_OP_STORE) {
        *x = *k ? TR_NOVAL : q->args[0];
        return true;
    }
    if (q->op != TR_OP_PATTERN || !tr_fuse_only_reads(q))
        return false;
    if ((*k = tr_pat_with(q->imm.pat, TR_MEM_WRITE, *k)) < q->nargs)
        *x = q->args[*k];
    return true;
}

bool tr_fuse_leaves_alone(const tr_fn *f, const tr_ins *q, const tr_val *arrays, uint32_t n, tr_bid b) {
    tr_val x = TR_NOVAL;
    for (uint32_t k = 0; next_written(q, &k, &x); k++)
        if (x == TR_NOVAL)
            return true;
        else if (!tr_fuse_distinct_from_all(f, x, arrays, n, b))
            return false;
    return false;
}

/* q, which writes, writes nothing that the pattern p reads. */
static bool leaves_inputs(const tr_fn *f, const tr_ins *q, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    tr_val x = TR_NOVAL;
    for (uint32_t k = 0; next_written(q, &k, &x); k++)
        if (x == TR_NOVAL)
            return true;
        else if (!tr_fuse_distinct_from_all(f, x, tr_fuse_in(p), t->nin, p->blk) ||
                 !tr_fuse_distinct_from_all(f, x, tr_fuse_ein(p), t->nein, p->blk) ||
                 tr_fuse_loads_from(f, p, x))
            return false;
    return false;
}

bool tr_fuse_writes_inputs(const tr_fn *f, const tr_ins *q, const tr_ins *p) {
    return (tr_ins_effects(q) & (E_WRITE | E_SIDE)) && q->op != TR_OP_ALLOC && !leaves_inputs(f, q, p);
}

bool tr_fuse_writes_unseen(const tr_fn *f, const tr_ins *i) {
    for (uint32_t k = 0; (k = tr_pat_with(i->imm.pat, TR_MEM_WRITE, k)) < i->nargs; k++)
        if (!tr_fuse_unseen(f, i, i->args[k]))
            return false;
    return true;
}

uint32_t tr_fuse_written_as(const tr_ins *p, tr_role role, tr_val x) {
    for (uint32_t k = tr_pat_at(p->imm.pat, role); k < tr_pat_at(p->imm.pat, role + 1u); k++)
        if (p->args[k] == x)
            return k;
    return UINT32_MAX;
}

/* Does p write an array that shares memory with x? */
static bool writes_shared(const tr_fn *f, const tr_ins *p, tr_val x) {
    for (uint32_t k = 0; (k = tr_pat_with(p->imm.pat, TR_MEM_WRITE, k)) < p->nargs; k++)
        if (!tr_arrays_distinct(f, x, p->args[k], p->blk))
            return true;
    return false;
}

/* Does q look at memory that p writes? */
static bool touches_outputs(const tr_fn *f, const tr_ins *p, const tr_ins *q) {
    bool touches = tr_ins_effects(q) & (E_READ | E_WRITE);
    for (uint32_t k = 0; touches && k < q->nargs; k++)
        if (tr_ty_has_arrays(tr_at(f, q->args[k])->ty) && writes_shared(f, p, q->args[k]))
            return true;
    return false;
}

/* Does q use what p writes? By a view of it, too, which may have been made before. */
static bool uses_outputs(const tr_fn *f, const tr_ins *p, const tr_ins *q) {
    bool asks = q->op == TR_OP_DIM || q->op == TR_OP_STRIDE;
    for (uint32_t k = 0; !asks && k < q->nargs; k++)
        if (tr_fuse_written_as(p, P_OUT, q->args[k]) != UINT32_MAX ||
            tr_fuse_written_as(p, P_EOUT, q->args[k]) != UINT32_MAX)
            return true;
    return touches_outputs(f, p, q);
}

/* --- what depends on what --- */

static bool counts_references(const tr_ins *q) {
    return q->op == TR_OP_RELEASE || q->op == TR_OP_RETAIN;
}

static uint8_t effects_of(const tr_ins *q) {
    if (q->op == TR_OP_PATTERN && tr_fuse_only_reads(q))
        return E_READ | E_WRITE;
    return counts_references(q) || q->op == TR_OP_ALLOC ? 0 : tr_ins_effects(q);
}

/* Memory that goes with what q releases stays until the pattern p has been there. (What counts references
 * comes later, but for texts that are read.) */
static bool ends_operand(const tr_fn *f, const tr_ins *p, const tr_ins *q) {
    for (uint32_t k = 0; counts_references(q) && k < p->nargs; k++)
        if (tr_ty_has_arrays(tr_at(f, p->args[k])->ty) &&
            (tr_at(f, p->args[k])->ty->kind != TR_TY_ARRAY || tr_at(f, q->args[0])->ty->kind != TR_TY_ARRAY ||
             !tr_arrays_distinct(f, p->args[k], q->args[0], p->blk)))
            return true;
    return false;
}

/* Of patterns and of what else there is, the one that comes first (or second: the other way round). */
static const char *is_in_the_way(const tr_fn *f, const tr_ins *p, const tr_ins *q) {
    uint8_t e = effects_of(q);
    if (e & E_SIDE)
        return "there is a call between them";
    if (!tr_fuse_writes_unseen(f, p) && e & (E_RAISE | E_READ | E_WRITE))
        return "what stands between them may see the first one's result, or raise before it";
    if (!(e & E_WRITE) || tr_plant(f->ctx, TR_PLANT_FUSE))
        return NULL;
    return leaves_inputs(f, q, p) ? NULL : "what the first one reads may be written between them";
}

/* Must q, which comes behind the pattern p, stay behind it? */
static const char *follows_pattern(const tr_fn *f, const tr_ins *p, const tr_ins *q) {
    if (!tr_fuse_only_reads(p))
        return effects_of(q) ? "one of them does more than compute" : NULL;
    return uses_outputs(f, p, q) || ends_operand(f, p, q) ? "something between them uses the array"
                                                          : is_in_the_way(f, p, q);
}

bool tr_fuse_has_inputs(const tr_fn *f, const tr_ins *c) {
    const tr_pat *t = c->imm.pat;
    for (uint32_t k = tr_pat_at(t, P_IN); k < tr_pat_at(t, P_OUT + 1); k++)
        for (unsigned x = 0; x < t->nspace; x++) {
            tr_val size = tr_fuse_size(f, c->args[k], x, c->args[x]);
            if (size != c->args[x] && (size == TR_NOVAL || !tr_is_int(f, size, 1)))
                return false;
        }
    return true;
}

bool tr_fuse_fits_untested(const tr_fn *f, const tr_ins *c) {
    const tr_pat *t = c->imm.pat;
    if (t->nscat || t->nfilt || t->nein || t->ntop)
        return false;
    for (uint32_t k = 0; k < t->neout; k++) {
        const tr_ins *a = tr_at(f, tr_fuse_eout(c)[k]);
        if (a->op != TR_OP_ALLOC || a->nargs != tr_pat_nkeep(t))
            return false;
        for (unsigned x = 0, n = 0; x < t->nspace; x++)
            if (t->keep >> x & 1 && a->args[n++] != c->args[x])
                return false;
    }
    return tr_fuse_has_inputs(f, c);
}

/* Must the pattern c stay behind a, which is none? */
static const char *pattern_follows(const tr_fn *f, const tr_ins *a, const tr_ins *c, bool *guards) {
    uint8_t e = effects_of(a);
    if (!e && !counts_references(a))
        return NULL;
    if (touches_outputs(f, c, a) || ends_operand(f, c, a))
        return "something between them uses the array";
    const char *why = is_in_the_way(f, c, a);
    if (!why && e & E_RAISE) {
        *guards = *guards || tr_fuse_loads(c);
        why = tr_fuse_fits_untested(f, c) ? NULL : "what the second asks for is tested after the first";
    }
    return why;
}

/* Must b stay behind a, which comes first? */
static const char *must_follow(const tr_fn *f, const tr_fuse_results *res, tr_val a, tr_val b, bool *guards) {
    const tr_ins *x = tr_at(f, a), *y = tr_at(f, b);
    if (uses_result(res, y, a))
        return "the first one's result is used before the second";
    if (x->op == TR_OP_PATTERN)
        return follows_pattern(f, x, y);
    if (y->op == TR_OP_PATTERN && tr_fuse_only_reads(y))
        return pattern_follows(f, x, y, guards);
    uint8_t e = effects_of(x), d = effects_of(y);
    if (counts_references(x) || counts_references(y))
        return "what stands between them has its order";
    bool memory = (e & E_WRITE && d & (E_READ | E_WRITE)) || (e & E_READ && d & E_WRITE),
         order = (e & (E_RAISE | E_WRITE | E_SIDE) && d & (E_RAISE | E_WRITE | E_SIDE)) ||
                 (e & E_RAISE && d & E_READ); /* where it may read is tested */
    return memory || order || (e | d) & E_SIDE ? "what stands between them has its order" : NULL;
}

/* What goes behind. `by_value`: it is computed of what the first pattern reduces, as a test of indices is;
 * all else keeps its order to something there. */
typedef struct later {
    tr_u32s *vals;
    bool by_value[MAX_BEHIND];
} later;

/* Does it raise, and may be what makes the sizes and views of others safe? */
static bool tests_anything(const tr_fn *f, const later *l, uint32_t i) {
    return !l->by_value[i] && effects_of(tr_at(f, l->vals->d[i])) & E_RAISE;
}

/* An array whose sizes others have may be made before tests that come first: it raises where there is no
 * room, and nothing else. */
static bool makes_of_sizes(const tr_fn *f, const tr_ins *in) {
    for (uint32_t k = 0; in->op == TR_OP_ALLOC && k < in->nargs; k++)
        if (tr_at(f, in->args[k])->op != TR_OP_DIM && !tr_is_const(tr_at(f, in->args[k])))
            return false;
    return in->op == TR_OP_ALLOC;
}

/* Why q goes behind, too; `by_value` likewise. */
static const char *goes_behind(const tr_fn *f, const tr_fuse_results *res, tr_val p, const later *l, tr_val q,
                               bool *by_value) {
    const tr_ins *in = tr_at(f, q);
    bool loads = false; /* and is tested by what goes behind */
    const char *why = must_follow(f, res, p, q, &loads);
    *by_value = uses_result(res, in, p);
    for (uint32_t i = 0; i < l->vals->n; i++) {
        tr_val a = l->vals->d[i];
        const char *more = must_follow(f, res, a, q, &loads);
        bool tested =
            tests_anything(f, l, i) && (effects_of(in) || (in->op == TR_OP_ALLOC && !makes_of_sizes(f, in)));
        *by_value = *by_value || (l->by_value[i] && uses_result(res, in, a));
        why = why ? why : more || loads || tested ? "what stands between them has its order" : NULL;
    }
    return why;
}

const char *tr_fuse_order(const tr_fn *f, const tr_fuse_results *res, tr_val p, tr_val c, bool waits,
                          tr_u32s *behind, bool *guards) {
    later l = {.vals = behind};
    const char *first = NULL;
    behind->n = 0;
    *guards = false;
    for (tr_val q = tr_at(f, p)->next; q != c; q = tr_at(f, q)->next) {
        bool by_value;
        const char *why = goes_behind(f, res, p, &l, q, &by_value);
        if (!why)
            continue;
        first = first ? first : why;
        if (!waits)
            return TR_FUSE_WAITS;
        if (behind->n == MAX_BEHIND)
            return first;
        l.by_value[behind->n] = by_value;
        tr_vec_push(&f->ctx->arena, behind, q);
    }
    for (uint32_t i = 0; i < behind->n; i++)
        if (tests_anything(f, &l, i) || must_follow(f, res, behind->d[i], c, guards))
            return first;
    return NULL;
}
