/* The loop tree of a pattern: which loops follow from the node and its schedule (ir/nest.def has the kinds).
 *
 * From the outside: a version for each way in which memory may lie; who takes which rounds - one thread,
 * all by ranges, or a scatter by its tables; kept axes, at each index of which reductions begin and end; the
 * other axes, of which the innermost one goes by one of the kinds that take several rounds in one go. The
 * order in which kinds are asked is written here and nowhere else. */
#include <assert.h>
#include <string.h>

#include "ir/nest.h"
#include "ir/ports.h"
#include "ir/sched.h"
#include "ir/summary.h"
#include "rt/layout.h"

const tr_nestinfo tr_nest_info[TR_NEST__COUNT] = {
#define X(id, word, form, what) {word, TR_NEST_OF_##form},
#include "ir/nest.def"
#undef X
};

/* FEW: elements of a row that is written out, where how many there are is known when the program runs; MORE:
 * with a lambda that costs TINY at most. SMALL: cost of a lambda that is. LARGEST: bytes of an item that the
 * runtime packs. */
enum { FEW = 4, MORE = 8, TINY = 4, SMALL = 24, LARGEST = 16 };

typedef struct maker {
    const tr_fn *f;
    const tr_ins *in;
    const tr_pat *p;
    bool plain; /* element by element */
    bool line, tiled;
    unsigned ndim, axis[TR_MAX_NDIM];
    bool blocks; /* a scan in blocks has more than one */
    bool totals; /* only what scans contribute is wanted */
    bool open;   /* within the reductions of an index of the kept axes, or of all */
} maker;

static tr_nest *new_nest(const maker *m, tr_nestk kind, unsigned level, const tr_nest *in) {
    tr_nest *t = TR_NEW(&m->f->ctx->arena, tr_nest);
    *t = (tr_nest){.kind = kind, .level = (uint8_t)level, .in = in};
    return t;
}

static tr_nest *pair(const maker *m, tr_nestk kind, unsigned level, const tr_nest *in, const tr_nest *by) {
    tr_nest *t = new_nest(m, kind, level, in);
    t->by = by;
    return t;
}

/* --- questions about the node --- */

static unsigned nreds(const maker *m) {
    return m->totals ? m->p->nscan : tr_pat_nred(m->p);
}

static tr_redclass class_of(const maker *m, unsigned i) {
    const tr_ty *t = tr_pat_contribution(m->p, i);
    return t ? tr_pat_red_class(m->p, i, t) : TR_REDS_CARRIED;
}

/* Do some reductions go by way of buffers? */
static bool has_buffers(const maker *m) {
    for (unsigned i = 0; i < nreds(m); i++)
        if (class_of(m, i) != TR_REDS_CARRIED)
            return true;
    return false;
}

static const tr_ty *array_type(const maker *m, uint32_t a) {
    return tr_at(m->f, m->in->args[tr_pat_at(m->p, P_IN) + a])->ty;
}

/* Do elements of array a that follow each other along the innermost axis lie side by side? */
static bool is_side_by_side(const maker *m, uint32_t a) {
    return m->line || tr_pat_step(m->f, m->in, a, m->axis[m->ndim - 1]) == TR_STEP_ONE;
}

uint32_t tr_pat_input(const tr_pat *p, tr_val v) {
    uint32_t a = 0;
    while (a < p->nin && p->lam->blks.d[0].params.d[p->nspace + a] != v)
        a++;
    return a;
}

uint32_t tr_pat_mask(const tr_pat *p) {
    const tr_fn *f = p->lam;
    tr_val v = tr_term(f, 0)->args[tr_pat_slot(p, TR_LAM, P_SCAN)];
    if (tr_at(f, v)->op == TR_OP_CONV)
        v = tr_at(f, v)->args[0];
    if (tr_at(f, v)->ty->kind != TR_TY_BOOL)
        return p->nin;
    const tr_ins *in = tr_at(f, v);
    if (in->op == TR_OP_CMP && in->sub == TR_CMP_NE && tr_ty_is_int(tr_at(f, in->args[0])->ty) &&
        tr_is_int(f, in->args[1], 0))
        v = in->args[0];
    return tr_pat_input(p, v);
}

int64_t tr_pat_table(const tr_pat *p) {
    const tr_fn *f = p->lam;
    uint32_t first = tr_pat_param(p, TR_LAM, P_CAP);
    const tr_ins *load = tr_at(f, tr_term(f, 0)->args[tr_pat_slot(p, TR_LAM, P_OUT)]);
    for (uint32_t i = 0; load->op == TR_OP_LOAD && i < p->ncap; i++)
        if (f->blks.d[0].params.d[first + i] == load->args[0])
            return i;
    return -1;
}

/* Only the yield may do more than compute. */
static bool is_pure(const tr_fn *f) {
    if (f->blks.n != 1)
        return false;
    for (tr_val v = f->blks.d[0].first; v != f->blks.d[0].last; v = tr_at(f, v)->next)
        if (tr_ins_effects(tr_at(f, v)))
            return false;
    return true;
}

static bool uses(const tr_fn *f, tr_val v) {
    for (uint32_t i = 0; i < f->ins.n; i++)
        for (uint32_t a = 0; f->ins.d[i].blk != TR_NOBLK && a < f->ins.d[i].nargs; a++)
            if (f->ins.d[i].args[a] == v)
                return true;
    return false;
}

/* --- the innermost axis --- */

/* The lambda gives the one element it is given, and does nothing else; what it stores is not looked at where
 * only totals are wanted. */
static bool is_identity(const maker *m) {
    const tr_fn *f = m->p->lam;
    const tr_ins *y = f->blks.n == 1 ? tr_term(f, 0) : NULL;
    return y && y->op == TR_OP_YIELD && (m->totals || f->blks.d[0].first == f->blks.d[0].last) &&
           y->args[tr_pat_slot(m->p, TR_LAM, P_SCAN)] == f->blks.d[0].params.d[m->p->nspace];
}

/* Are the axes from level k on one stretch of memory, in C order? */
static bool is_stretch(const maker *m, unsigned k) {
    if (m->line)
        return true;
    for (unsigned l = 0; l < m->ndim; l++)
        if (m->axis[l] != l)
            return false;
    return array_type(m, 0)->layout == TR_LAYOUT_C && k > 0;
}

/* All axes from level k on by one call, where they are a stretch of memory: sums, or places of extremes, of
 * elements as they lie. The runtime's functions count on alignment. */
static bool goes_whole(const maker *m, unsigned k) {
    const tr_pat *p = m->p;
    if (p->nin != 1 || ((p->nout || p->nfilt || p->nscat) && !m->totals) || nreds(m) != 1)
        return false;
    tr_redclass how = class_of(m, 0);
    const tr_ty *t = tr_pat_contribution(m->p, 0);
    return (how == TR_REDS_BUFFERED || how == TR_REDS_PLACE) && !tr_ty_is_complex(t) &&
           array_type(m, 0)->elem == t && is_identity(m) && !tr_ty_is_loose(array_type(m, 0)) &&
           is_stretch(m, k);
}

/* Loops that do nothing but count what is true, where a mask lies side by side. */
static bool counts(const maker *m) {
    const tr_pat *p = m->p;
    if ((!m->totals && p->nscan) || p->nout || p->nscat || p->nein || p->neout || p->keep || nreds(m) != 1)
        return false;
    const tr_ty *t = tr_pat_contribution(m->p, 0);
    if (!t || t->kind != TR_TY_I64 || tr_pat_red(p, 0) != TR_RED_ADD || class_of(m, 0) != TR_REDS_CARRIED ||
        (p->sched.chunk && !m->totals) || p->sched.scalar || !is_pure(p->lam))
        return false;
    uint32_t a = tr_pat_mask(p);
    return a < p->nin && is_side_by_side(m, a) && tr_ty_size(array_type(m, a)->elem) == 1;
}

/* Nothing is made of a round but what is packed and stored, and nothing of the place that it is packed to. */
static bool packs(const maker *m) {
    const tr_pat *p = m->p;
    if (!p->nfilt || m->totals || tr_pat_nred(p) != 1 || class_of(m, 0) != TR_REDS_CARRIED || p->nscat ||
        p->sched.chunk || !tr_fn_only_reads(p->lam) || tr_term(p->lam, 0)->op != TR_OP_YIELD ||
        uses(p->lam, p->lam->blks.d[0].params.d[p->nspace + p->nin]))
        return false;
    for (uint32_t i = 0; i < p->nfilt; i++) {
        uint64_t size = tr_ty_size(tr_at(m->f, m->in->args[tr_pat_at(p, P_PACK) + i])->ty->elem);
        if (size > LARGEST || (size & (size - 1)))
            return false;
    }
    return true;
}

/* The lambda's item, a byte, as an index. */
static bool is_place(const maker *m, tr_val v) {
    const tr_fn *f = m->p->lam;
    return tr_at(f, v)->op == TR_OP_CONV && tr_at(f, v)->ty->kind == TR_TY_I64 &&
           tr_pat_input(m->p, tr_at(f, v)->args[0]) == 0;
}

/* Items of a table, a captured one, whose places are the bytes of an input; and perhaps the least and the
 * largest of these. */
static bool looks_up(const maker *m) {
    const tr_pat *p = m->p;
    const tr_fn *f = p->lam;
    const tr_sched *s = &p->sched;
    if (m->totals || !p->apart || p->keep || p->nin != 1 || p->nout != 1 || p->nscan || p->nfilt ||
        p->nscat || p->ntop || p->nein || p->neout || s->chunk || s->scalar || s->unroll || s->stop ||
        s->nontemporal || tr_term(f, 0)->op != TR_OP_YIELD)
        return false;
    const tr_ty *in = array_type(m, 0)->elem, *out = array_type(m, 1)->elem;
    const tr_val *y = tr_term(f, 0)->args;
    const tr_ins *load = tr_at(f, y[tr_pat_slot(p, TR_LAM, P_OUT)]);
    if (in->kind != TR_TY_U8 || !tr_ty_is_int(out) || tr_ty_size(out) != 1 || !is_side_by_side(m, 0) ||
        !is_side_by_side(m, 1) || load->op != TR_OP_LOAD || load->ty != out || load->sub == TR_LOAD_FAR)
        return false;
    const tr_ty *table = tr_at(f, load->args[0])->ty;
    if (tr_pat_table(p) < 0 || table->ndim != 1 || table->layout != TR_LAYOUT_C ||
        !is_place(m, load->args[1]))
        return false;
    for (uint32_t i = 0; i < p->nfold; i++) {
        tr_redk how = tr_pat_red(p, i);
        bool least = how == TR_RED_MIN && tr_is_int(m->f, m->in->args[tr_pat_at(p, P_RED) + i], 0);
        if ((!least && how != TR_RED_MAX) || !is_place(m, y[tr_pat_slot(p, TR_LAM, P_RED) + i]))
            return false;
    }
    for (tr_val v = f->blks.d[0].first; v != f->blks.d[0].last; v = tr_at(f, v)->next)
        if (tr_at(f, v)->op != TR_OP_CONV && tr_at(f, v) != load)
            return false;
    return true;
}

/* All scans are sums of what rt/scan.c knows, and nothing is packed. */
static bool scans_by_stretches(const maker *m) {
    for (unsigned i = 0; i < m->p->nscan; i++)
        if (!tr_pat_scan_in_groups(m->p, i) || tr_pat_contribution(m->p, i)->kind == TR_TY_F16)
            return false;
    return !m->p->nfilt && !m->p->nscat;
}

/* Is there a scan whose value after a block is not the one that stands before the next? */
static bool needs_totals(const maker *m) {
    const tr_pat *p = m->p;
    for (unsigned i = 0; i < p->nscan; i++)
        if (!tr_pat_scan_in_groups(p, i) && !p->joins[i].by &&
            tr_red_regroups(tr_pat_red(p, i), tr_pat_contribution(m->p, i)))
            return true;
    return false;
}

static const tr_nest *inner(const maker *m, unsigned k);
static const tr_nest *point(const maker *m);

/* What is left from level k on, of which only what scans contribute is wanted. */
static const tr_nest *totals(const maker *m, unsigned k) {
    maker t = *m;
    t.totals = t.open = true;
    t.blocks = false;
    return inner(&t, k);
}

static const tr_nest *scan(const maker *m, unsigned k) {
    tr_nestk kind = m->p->joins[0].by       ? TR_NEST_JOINED
                    : scans_by_stretches(m) ? TR_NEST_STRETCH
                                            : TR_NEST_STEP;
    const tr_nest *block = new_nest(m, kind, k, point(m));
    return m->blocks ? pair(m, TR_NEST_SCAN, k, block, needs_totals(m) ? totals(m, k) : NULL) : block;
}

static const tr_nest *point(const maker *m) {
    return new_nest(m, TR_NEST_ELEMENT, m->ndim, NULL);
}

/* A loop over the axis at level k that takes so many elements in one go. */
static tr_nest *by(const maker *m, tr_nestk kind, unsigned k, uint32_t n) {
    tr_nest *t = new_nest(m, kind, k, point(m));
    t->n = n;
    return t;
}

static const tr_nest *rest(const maker *m, unsigned k);

/* The innermost loop, element by element or so many rounds written one after the other. */
static const tr_nest *rounds(const maker *m, unsigned k) {
    const tr_sched *s = &m->p->sched;
    return s->unroll ? by(m, TR_NEST_UNROLL, k, s->unroll) : new_nest(m, TR_NEST_FOR, k, rest(m, k + 1));
}

static const tr_nest *innermost(const maker *m, unsigned k) {
    const tr_sched *s = &m->p->sched;
    bool sums = m->open && has_buffers(m);
    if (m->plain)
        return rounds(m, k);
    if (tr_pat_in_blocks(m->p))
        return scan(m, k);
    if (s->fission)
        return by(m, TR_NEST_FISSION, k, s->fission);
    if (s->chunk && !m->totals) {
        tr_nest *t = by(m, TR_NEST_CHUNK, k, s->chunk);
        t->sums = sums;
        return t;
    }
    if (sums) {
        tr_nest *t = new_nest(m, TR_NEST_BLOCK, k, rounds(m, k));
        t->n = TR_SUM_BLOCK;
        return t;
    }
    if (counts(m))
        return by(m, TR_NEST_COUNT, k, 0);
    if (packs(m))
        return by(m, TR_NEST_PACK, k, 0);
    if (looks_up(m))
        return by(m, TR_NEST_LOOK, k, 0);
    return s->stop && !s->unroll ? by(m, TR_NEST_STOP, k, s->stop) : rounds(m, k);
}

/* --- the other axes --- */

/* How long the axis at level k is, where that is known when compiling; -1: it is not. */
static int64_t known_size(const maker *m, unsigned k) {
    int64_t n;
    return tr_pat_extent(m->f, m->in, m->axis[k], &n) ? n : -1;
}

/* The most elements of a row of sums that are added as they come; 0: they go by a buffer, whatever they
 * are. */
static unsigned short_row(const maker *m, unsigned k) {
    const tr_pat *p = m->p;
    bool plain = !m->plain && k + 1 == m->ndim && k > 0 && !m->line && !p->sched.scalar && !p->sched.unroll &&
                 !p->nscan && !p->nscat && tr_pat_nred(p) > 0 && tr_term(p->lam, 0)->op == TR_OP_YIELD &&
                 tr_fn_cost(p->lam) <= SMALL;
    for (unsigned i = 0; plain && i < tr_pat_nred(p); i++)
        plain = class_of(m, i) == TR_REDS_BUFFERED;
    int64_t known = plain ? known_size(m, k) : 0;
    unsigned few = tr_fn_cost(p->lam) <= TINY ? MORE : FEW;
    return !plain ? 0 : known < 0 ? few : known <= TR_NEST_SHORT_MOST ? (unsigned)known : 0;
}

static const tr_nest *reduce(const maker *m, unsigned k) {
    maker t = *m;
    t.open = true;
    const tr_nest *in = inner(&t, k);
    if (k == 0 && m->p->sched.nontemporal)
        in = new_nest(m, TR_NEST_PAST, 0, in);
    return new_nest(m, TR_NEST_REDUCE, k, in);
}

static const tr_nest *row(const maker *m, unsigned k) {
    if (m->p->ntop)
        return new_nest(m, TR_NEST_CHOOSE, k, point(m));
    const tr_nest *in = NULL, *end = m->p->epi ? new_nest(m, TR_NEST_EPILOGUE, k, NULL) : NULL;
    unsigned n = short_row(m, k);
    if (n) {
        bool known = known_size(m, k) >= 0;
        tr_nest *t = pair(m, TR_NEST_SHORT, k, point(m), known ? NULL : reduce(m, k));
        t->n = n;
        in = t;
    } else {
        in = reduce(m, k);
    }
    return pair(m, TR_NEST_ROW, k, in, end);
}

/* Are the two last axes one loop where rows are short? Of a map that asks for neither index, where an input
 * may repeat along them: all others walk a line then, or rows as they lie. */
static bool goes_flat(const maker *m, unsigned k) {
    const tr_pat *p = m->p;
    bool repeats = false;
    if (m->plain || m->line || m->totals || k + 2 != m->ndim || p->sched.scalar || p->sched.unroll ||
        !tr_pat_is_map(p) || (!p->sched.chunk && !tr_fn_calls_math(p->lam)))
        return false;
    const uint32_t *uses = tr_use_counts(p->lam);
    for (unsigned l = k; l < m->ndim; l++)
        if (uses[p->lam->blks.d[0].params.d[m->axis[l]]])
            return false;
    for (uint32_t a = 0; a < (uint32_t)p->nin + p->nout; a++)
        if (tr_ty_is_packed(array_type(m, a)))
            return false;
    for (uint32_t a = 0; a < p->nin; a++)
        for (unsigned l = k; l < m->ndim; l++)
            repeats = repeats || !tr_pat_is_as_long(m->f, m->in, a, m->axis[l]);
    return repeats;
}

static const tr_nest *rest(const maker *m, unsigned k) {
    assert(k <= m->ndim && "a level for each axis");
    if (goes_flat(m, k)) {
        tr_nest *t = pair(m, TR_NEST_FLAT, k, point(m), new_nest(m, TR_NEST_FOR, k, rest(m, k + 1)));
        t->n = m->p->sched.chunk ? m->p->sched.chunk : TR_SUM_BLOCK;
        return t;
    }
    if (m->p->keep && !m->open && k == tr_pat_nkeep(m->p))
        return row(m, k);
    if (k == m->ndim)
        return point(m);
    bool kept = m->p->keep && !m->open;
    return k + 1 == m->ndim && !kept ? innermost(m, k) : new_nest(m, TR_NEST_FOR, k, rest(m, k + 1));
}

static const tr_nest *inner(const maker *m, unsigned k) {
    return !m->plain && goes_whole(m, k) ? new_nest(m, TR_NEST_WHOLE, k, NULL) : rest(m, k);
}

/* --- around the axes --- */

/* The loops of one thread. */
static const tr_nest *walk(const maker *m) {
    const tr_pat *p = m->p;
    if (m->tiled)
        return new_nest(m, TR_NEST_TILE, 0,
                        pair(m, TR_NEST_ROW, m->ndim, point(m),
                             p->epi ? new_nest(m, TR_NEST_EPILOGUE, m->ndim, NULL) : NULL));
    if (p->ntop)
        return new_nest(m, TR_NEST_TOP, 0, p->keep ? rest(m, 0) : row(m, 0));
    return p->keep ? rest(m, 0) : reduce(m, 0);
}

/* A range of the outermost axis: what a thread takes. */
static const tr_nest *range(const maker *m) {
    if (m->p->nscan && !m->p->keep) {
        maker t = *m;
        t.blocks = false;
        return pair(m, TR_NEST_CHAIN, 0, walk(&t), totals(&t, 0));
    }
    return tr_pat_spreads(m->p) ? new_nest(m, TR_NEST_TABLES, 0, walk(m)) : walk(m);
}

/* Are ranges of elements, and not of whole rows? Sums go in a tree over all elements in order, of which
 * ranges have to be nodes: then one thread's bits and those of all are the same. */
static bool cuts(const maker *m) {
    const tr_pat *p = m->p;
    return m->ndim > 1 && !p->keep && !p->nscan && !p->nscat && !p->ntop && has_buffers(m);
}

/* Who takes which rounds. */
static const tr_nest *threads(const maker *m, bool pools) {
    const tr_pat *p = m->p;
    if (tr_pat_is_parallel(p) && pools) {
        tr_nest *all = new_nest(m, TR_NEST_RANGES, 0, range(m));
        all->cuts = cuts(m);
        return p->sched.here ? pair(m, TR_NEST_HERE, 0, walk(m), all) : all;
    }
    bool tables = !m->plain && tr_pat_spreads(p) && tr_pat_scatter_regroups(p);
    return tables ? new_nest(m, TR_NEST_TABLES, 0, walk(m)) : walk(m);
}

/* The axes in an order: kept ones, then the others; a tile's own last. */
static const tr_nest *ordered(maker m, bool tiled, bool pools) {
    const tr_pat *p = m.p;
    unsigned tile = tiled ? p->sched.tile - 1 : p->nspace, n = 0;
    m.tiled = tiled;
    m.line = p->sched.line && !tiled;
    for (unsigned kept = 2; kept-- > 0;)
        for (unsigned x = 0; x < p->nspace; x++)
            if ((p->keep >> x & 1) == kept && x != tile)
                m.axis[n++] = x;
    if (tiled)
        m.axis[n] = tile;
    m.ndim = m.line ? 1 : p->nspace;
    tr_nest *t = new_nest(&m, TR_NEST_ORDER, 0, threads(&m, pools));
    t->line = m.line;
    t->tiled = tiled;
    t->ndim = (uint8_t)m.ndim;
    for (unsigned k = 0; k < m.ndim; k++)
        t->axis[k] = (uint8_t)m.axis[k];
    return t;
}

const tr_nest *tr_nest_of(const tr_fn *f, const tr_ins *pat, bool pools) {
    assert(pat->op == TR_OP_PATTERN && !tr_sched_misfit(f, pat) && "a schedule of the pattern's own");
    maker m = {.f = f, .in = pat, .p = pat->imm.pat, .blocks = true};
    const tr_sched *s = &m.p->sched;
    const tr_nest *t = s->tested
                           ? pair(&m, TR_NEST_TEST, 0, ordered(m, true, pools), ordered(m, false, pools))
                           : ordered(m, s->tile != 0, pools);
    assert(!tr_nest_fault(t, m.p) && "each axis is walked once, in order");
    return t;
}

const tr_nest *tr_nest_plain(const tr_fn *f, const tr_ins *pat) {
    tr_pat p = *pat->imm.pat;
    p.sched = (tr_sched){0};
    p.par = 0;
    maker m = {.f = f, .in = pat, .p = &p, .plain = true};
    const tr_nest *t = ordered(m, false, false);
    assert(!tr_nest_fault(t, &p) && "each axis is walked once, in order");
    return t;
}

/* --- a tree that is there --- */

typedef struct checker {
    const tr_pat *p;
    unsigned ndim, level; /* the next axis to be walked */
    bool ordered, begun, tiled;
} checker;

static const char *check(const tr_nest *t, checker c);

static const char *check_both(const tr_nest *t, checker in, checker by) {
    const char *why = t->in ? check(t->in, in) : "a loop around nothing";
    return why || !t->by ? why : check(t->by, by);
}

static const char *check_row(const tr_nest *t, checker c) {
    checker in = c;
    if (c.begun || !c.p->keep)
        return "a row where no kept axes end";
    if (c.level != (c.tiled ? c.ndim : tr_pat_nkeep(c.p)))
        return "a row not where kept axes end";
    if (!t->by != !c.p->epi)
        return "an epilogue too many, or none";
    in.begun = c.tiled; /* columns have accumulators of their own */
    return check_both(t, in, c);
}

static const char *check(const tr_nest *t, checker c) {
    checker in = c;
    if (!c.ordered && t->kind != TR_NEST_ORDER && t->kind != TR_NEST_TEST)
        return "loops over axes in no order";
    switch (t->kind) {
    case TR_NEST_ORDER:
        in = (checker){.p = c.p, .ndim = t->ndim, .ordered = true, .tiled = t->tiled};
        return c.ordered ? "two orders of the axes" : check_both(t, in, in);
    case TR_NEST_ROW: return check_row(t, c);
    case TR_NEST_REDUCE: in.begun = true; return c.begun ? "reductions begin twice" : check_both(t, in, in);
    case TR_NEST_CHAIN: /* totals are reductions of their own */
        in.begun = true;
        return check_both(&(tr_nest){.in = t->by}, in, in) ? "totals"
                                                           : check_both(&(tr_nest){.in = t->in}, c, c);
    case TR_NEST_FLAT:
        in.level = c.ndim;
        return t->level + 2u != c.ndim ? "rows of other axes than the last two" : check_both(t, in, c);
    case TR_NEST_SHORT: /* what is added as it comes begins nothing */
        in.begun = true;
        in.level = c.ndim;
        return check_both(t, in, c);
    case TR_NEST_SCAN: /* the axis is walked by what is inside */
    case TR_NEST_BLOCK: return t->level != c.level ? "an axis out of order" : check_both(t, in, in);
    default: break;
    }
    switch (tr_nest_info[t->kind].form) {
    case TR_NEST_OF_POINT:
        return c.level != (t->kind == TR_NEST_EPILOGUE && !c.tiled ? tr_pat_nkeep(c.p) : c.ndim)
                   ? "a point where axes are left"
                   : NULL;
    case TR_NEST_OF_AXIS:
        if (t->kind == TR_NEST_RANGES)
            return check_both(t, in, in);
        if (t->level != c.level || c.level >= c.ndim)
            return "an axis out of order";
        in.level++;
        return check_both(t, in, c);
    case TR_NEST_OF_ALL:
        in.level = c.ndim;
        return t->level != c.level ? "an axis out of order" : t->in ? check(t->in, in) : NULL;
    default: return check_both(t, in, in);
    }
}

const char *tr_nest_fault(const tr_nest *t, const tr_pat *p) {
    return check(t, (checker){.p = p});
}

static void print_order(tr_sb *out, const tr_nest *t) {
    if (t->line)
        tr_sb_puts(out, " line");
    for (unsigned k = 0; k < t->ndim && !t->line; k++)
        tr_sb_printf(out, " %u", t->axis[k]);
}

void tr_nest_print(tr_sb *out, const tr_nest *t, unsigned indent) {
    tr_sb_spaces(out, 2 * indent);
    tr_sb_puts(out, tr_nest_info[t->kind].word);
    if (t->kind == TR_NEST_ORDER)
        print_order(out, t);
    if (tr_nest_info[t->kind].form == TR_NEST_OF_AXIS || tr_nest_info[t->kind].form == TR_NEST_OF_ALL)
        tr_sb_printf(out, " level %u", t->level);
    if (t->n)
        tr_sb_printf(out, " by %u", t->n);
    if (t->sums)
        tr_sb_puts(out, " with sums");
    if (t->cuts)
        tr_sb_puts(out, " of elements");
    tr_sb_putc(out, '\n');
    if (t->in)
        tr_nest_print(out, t->in, indent + 1);
    if (t->by) {
        tr_sb_spaces(out, 2 * indent);
        tr_sb_puts(out, tr_nest_info[t->kind].form == TR_NEST_OF_EITHER ? "else\n" : "then\n");
        tr_nest_print(out, t->by, indent + 1);
    }
}

void tr_nest_print_all(tr_sb *out, const tr_fn *f, bool pools) {
    const tr_fn *own;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_PATTERN)
                continue;
            tr_nest_print(out, tr_nest_of(f, in, pools), 1);
            for (unsigned k = 0; (own = tr_pat_any(in->imm.pat, k)); k++)
                tr_nest_print_all(out, own, pools);
        }
}
