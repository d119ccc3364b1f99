/* Which schedules fit a pattern (legality of loop transformations), and what is known when compiling of how
 * its arrays lie (delinearised strides).
 *
 * Extents are one where they are one value, or the size of one axis; strides are numbers where a layout or a
 * view says so. Lowering makes the same numbers of the same values, so what is found here is there too.
 * Cost: linear in the lambda. */
#include "ir/sched.h"
#include "ir/alias.h"
#include "ir/summary.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tr_schedinfo tr_sched_info[TR_SCHED__COUNT] = {
#define X(id, word, form, max, tag, what) {word, TR_SCHED_##form, max, tag, offsetof(tr_sched, id)},
#include "ir/sched.def"
#undef X
};

/* --- what users say --- */

/* The row of a word that users may say; TR_SCHED__COUNT: there is none. */
static unsigned tag_of(const char *word, size_t n) {
    unsigned i = 0;
    while (i < TR_SCHED__COUNT && !(tr_sched_info[i].tag && strlen(tr_sched_info[i].word) == n &&
                                    memcmp(tr_sched_info[i].word, word, n) == 0))
        i++;
    return i;
}

bool tr_sched_read(const char *text, tr_sched *out, char *why, size_t n) {
    static const char between[] = " ,\t";
    *out = (tr_sched){0};
    for (const char *s = text + strspn(text, between); *s; s += strspn(s, between)) {
        size_t len = strcspn(s, between);
        unsigned i = tag_of(s, len);
        if (i == TR_SCHED__COUNT) {
            int used =
                snprintf(why, n, "'%.*s' is no word of a schedule; there are", len < 40 ? (int)len : 40, s);
            for (unsigned k = 0; k < TR_SCHED__COUNT && used > 0 && (size_t)used < n; k++)
                if (tr_sched_info[k].tag)
                    used += snprintf(why + used, n - (size_t)used, " %s", tr_sched_info[k].word);
            return false;
        }
        const tr_schedinfo *is = &tr_sched_info[i];
        unsigned long x = 1;
        s += len;
        if (is->form != TR_SCHED_FLAG) {
            char *end;
            s += strspn(s, between);
            x = *s >= '0' && *s <= '9' ? strtoul(s, &end, 10) : 0;
            if (x < 1 || x > is->max || !strchr(" ,\t", *end)) {
                snprintf(why, n, "%s is followed by a number from 1 to %u", is->word, is->max);
                return false;
            }
            s = end;
        }
        *tr_sched_field(out, i) = (uint32_t)x;
    }
    return true;
}

/* --- how arrays lie --- */

/* An extent: a number, a value, or the size of an array's axis. */
typedef struct extent {
    bool known;
    int64_t n;
    tr_val v;
    int axis; /* -1: v itself */
} extent;

static extent size_of(const tr_fn *f, tr_val array, unsigned k);

static extent value_of(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    int64_t n;
    if (tr_get_int(f, v, &n))
        return (extent){.known = true, .n = n};
    return in->op == TR_OP_DIM ? size_of(f, in->args[0], (unsigned)in->imm.i) : (extent){.v = v, .axis = -1};
}

static extent size_of(const tr_fn *f, tr_val array, unsigned k) {
    const tr_ins *in = tr_at(f, array);
    switch ((tr_op)in->op) {
    case TR_OP_ALLOC:
    case TR_OP_VIEW:
    case TR_OP_FIELD:
    case TR_OP_RESTRIDE: return value_of(f, tr_made_sizes(in)[k]);
    case TR_OP_CONSTARR: return (extent){.known = true, .n = in->imm.obj->u.a.shape[k]};
    default: return (extent){.v = array, .axis = (int)k};
    }
}

static bool is_same(extent x, extent y) {
    return x.known || y.known ? x.known && y.known && x.n == y.n : x.v == y.v && x.axis == y.axis;
}

static tr_step step_of_number(int64_t n) {
    return n == 0 ? TR_STEP_ZERO : n == 1 ? TR_STEP_ONE : TR_STEP_FAR;
}

static tr_step own_step(const tr_fn *f, tr_val array, unsigned k);

static tr_step step_of_value(const tr_fn *f, tr_val v) {
    const tr_ins *by = tr_at(f, v);
    int64_t n;
    if (by->op == TR_OP_STRIDE)
        return own_step(f, by->args[0], (unsigned)by->imm.i);
    return tr_get_int(f, v, &n) ? step_of_number(n) : TR_STEP_OPEN;
}

/* Of a view: that of the axis which it runs along, so many times. */
static tr_step step_of_view(const tr_fn *f, const tr_ins *in, unsigned k) {
    int64_t by;
    int of = tr_view_axis(in, k);
    if (of < 0)
        return TR_STEP_ZERO;
    tr_step own = own_step(f, in->args[0], (unsigned)of);
    if (!tr_get_int(f, tr_view_steps(in)[k], &by))
        return TR_STEP_OPEN;
    return by == 1 || own == TR_STEP_ZERO ? own
           : own == TR_STEP_ONE           ? step_of_number(by)
           : by                           ? own
                                          : TR_STEP_ZERO;
}

/* The distance that the array itself has, which nothing repeats. */
static tr_step own_step(const tr_fn *f, tr_val array, unsigned k) {
    const tr_ins *in = tr_at(f, array);
    unsigned n = in->ty->ndim;
    int64_t far = 1;
    extent e;
    if (tr_ty_is_packed(in->ty)) /* its distances count bytes */
        return TR_STEP_OPEN;
    if (in->ty->layout == TR_LAYOUT_ANY)
        return in->op == TR_OP_VIEW       ? step_of_view(f, in, k)
               : in->op == TR_OP_RESTRIDE ? step_of_value(f, in->args[2 + n + k])
                                          : TR_STEP_OPEN;
    bool c = in->ty->layout == TR_LAYOUT_C;
    for (unsigned x = c ? k + 1 : 0; x < (c ? n : k); x++) {
        if (!(e = size_of(f, array, x)).known)
            return TR_STEP_OPEN;
        far = e.n > 1 ? 2 : far * e.n;
        if (far > 1)
            return TR_STEP_FAR;
    }
    return step_of_number(far);
}

static bool is_input(const tr_pat *p, uint32_t array) {
    return array < p->nin;
}

bool tr_pat_is_as_long(const tr_fn *f, const tr_ins *pat, uint32_t array, unsigned axis) {
    return is_same(size_of(f, pat->args[tr_pat_at(pat->imm.pat, P_IN) + array], axis),
                   value_of(f, pat->args[axis]));
}

tr_step tr_pat_step(const tr_fn *f, const tr_ins *pat, uint32_t array, unsigned axis) {
    tr_val v = pat->args[tr_pat_at(pat->imm.pat, P_IN) + array];
    tr_step own = own_step(f, v, axis);
    extent e = size_of(f, v, axis);
    if (!is_input(pat->imm.pat, array) || own == TR_STEP_ZERO || tr_pat_is_as_long(f, pat, array, axis))
        return own;
    return !e.known ? TR_STEP_OPEN : e.n == 1 ? TR_STEP_ZERO : own;
}

bool tr_pat_repeats(const tr_fn *f, const tr_ins *pat, uint32_t array) {
    for (unsigned k = 0; k < pat->imm.pat->nspace && is_input(pat->imm.pat, array); k++)
        if (!tr_pat_is_as_long(f, pat, array, k))
            return true;
    return false;
}

tr_redclass tr_pat_red_class(const tr_pat *p, uint32_t i, const tr_ty *t) {
    tr_redk how = tr_pat_red(p, i);
    bool tree = i >= p->nscan && how == TR_RED_ADD && t->kind != TR_TY_F16 && tr_red_regroups(how, t) &&
                !(tr_pat_fast(p, i) & TR_FM_REASSOC) && p->nspace > 0;
    if (tr_red_info[how].place)
        return TR_REDS_PLACE;
    if (tr_red_info[how].joins)
        return i < p->nscan ? TR_REDS_CARRIED : TR_REDS_JOINED;
    return tree ? TR_REDS_BUFFERED : TR_REDS_CARRIED;
}

bool tr_pat_extent(const tr_fn *f, const tr_ins *pat, unsigned axis, int64_t *n) {
    extent e = value_of(f, pat->args[axis]);
    *n = e.n;
    return e.known;
}

/* --- what fits --- */

static bool is_index(const tr_fn *lam, unsigned nspace, tr_val v) {
    return tr_at(lam, v)->op == TR_OP_PARAM && tr_at(lam, v)->blk == 0 && tr_param_index(lam, v) < nspace;
}

static bool uses_index(const tr_fn *lam, unsigned nspace) {
    for (uint32_t v = 0; v < lam->ins.n; v++) {
        const tr_ins *in = tr_at(lam, v);
        uint32_t nsucc = tr_nsucc(in);
        for (uint32_t i = 0; i < in->nargs; i++)
            if (is_index(lam, nspace, in->args[i]))
                return true;
        for (uint32_t e = 0; e < nsucc; e++)
            for (uint32_t i = 0; i < in->imm.succ[e].n; i++)
                if (is_index(lam, nspace, in->imm.succ[e].args[i]))
                    return true;
    }
    return false;
}

/* No round can tell in which order they run: nothing raises, and no reduction depends on it. */
static bool is_orderless(const tr_pat *p) {
    const tr_fn *lam = p->lam;
    if (p->nscan || p->nscat)
        return false;
    for (unsigned i = 0; i < tr_pat_nred(p); i++)
        if (tr_red_info[tr_pat_red(p, i)].place)
            return false;
    for (uint32_t v = 0; v < lam->ins.n; v++) {
        const tr_ins *in = tr_at(lam, v);
        if (in->blk == TR_NOBLK)
            continue;
        if (tr_ins_effects(in) & (E_RAISE | E_WRITE | E_ALLOC | E_SIDE))
            return false;
        for (unsigned i = 0; in->op == TR_OP_YIELD && i < tr_pat_nred(p); i++)
            if (tr_red_regroups(tr_pat_red(p, i),
                                tr_at(lam, in->args[tr_pat_slot(p, TR_LAM, P_SCAN) + i])->ty))
                return false;
    }
    return true;
}

/* C order is address order for every array, or F order is and the order does not matter. */
static const char *line_misfit(const tr_fn *f, const tr_ins *pat) {
    const tr_pat *p = pat->imm.pat;
    uint32_t n = (uint32_t)p->nin + p->nout;
    const tr_ty *first = n ? tr_at(f, pat->args[tr_pat_at(p, P_IN)])->ty : NULL;
    if (p->keep || !p->nspace)
        return "a line has no axes to keep";
    if (p->nspace > 1 && tr_pat_scatter_regroups(p))
        return "blocks of a scatter are of rounds of the first axis";
    for (uint32_t a = 0; a < n; a++) {
        const tr_ty *t = tr_at(f, pat->args[tr_pat_at(p, P_IN) + a])->ty;
        if (t->layout == TR_LAYOUT_ANY || tr_pat_repeats(f, pat, a) ||
            (t->layout != first->layout && t->ndim > 1))
            return "its arrays are not one line in the same order";
    }
    if (uses_index(p->lam, p->nspace))
        return "its function asks for the index";
    return !first || first->layout == TR_LAYOUT_C || is_orderless(p)
               ? NULL
               : "what it does depends on the order of the elements";
}

static const char *nontemporal_misfit(const tr_pat *p) {
    if (!p->sched.line || !p->nout || p->nscan || p->nfilt || p->nscat || p->sched.scalar)
        return "what is written past the caches is the outputs of a line";
    for (unsigned i = 0; i < tr_pat_nred(p); i++)
        if (tr_red_info[tr_pat_red(p, i)].place)
            return "a line in two parts has no places";
    return NULL;
}

static const char *chunk_misfit(const tr_pat *p) {
    if (!p->nspace || p->nscan || p->sched.line || (p->sched.tile && !p->sched.tested))
        return "no axis to walk in chunks";
    /* Buffers are filled before the lambda runs, and emptied after. */
    return tr_fn_only_reads(p->lam) ? NULL : "a function with effects is given elements, not copies of them";
}

/* Has the lambda no array that the scatter may store into? */
static bool reads_elsewhere(const tr_fn *f, const tr_ins *pat) {
    const tr_pat *p = pat->imm.pat;
    for (uint32_t i = tr_pat_at(p, P_CAP); i < tr_pat_at(p, P_CAP + 1); i++) {
        const tr_ty *t = tr_at(f, pat->args[i])->ty;
        if (!tr_ty_is_scalar(t) &&
            (t->kind != TR_TY_ARRAY ||
             !tr_arrays_distinct(f, pat->args[i], pat->args[tr_pat_at(p, P_SCAT)], pat->blk)))
            return false;
    }
    return tr_fn_only_reads(p->lam);
}

static const char *fission_misfit(const tr_fn *f, const tr_ins *pat) {
    const tr_pat *p = pat->imm.pat;
    if (p->nscat != 1 || !p->nspace || tr_pat_nred(p) || p->sched.chunk)
        return "only a scatter's stores are a loop of their own";
    return tr_fn_is_scalar(p->lam) || reads_elsewhere(f, pat)
               ? NULL
               : "a function with effects has them in the order of its rounds";
}

static const char *unroll_misfit(const tr_pat *p) {
    const tr_sched *s = &p->sched;
    if (s->unroll == 3 || !p->nspace || p->nscan || p->nfilt || p->nscat || s->line || s->chunk || s->tile ||
        s->fission || s->scalar)
        return "2 or 4 rounds of a plain loop over elements are written one after the other";
    return tr_fn_only_reads(p->lam) ? NULL : "a function with effects is not written out for several rounds";
}

const tr_ty *tr_pat_contribution(const tr_pat *p, uint32_t i) {
    const tr_ins *y = tr_pat_yield(p->lam);
    return y ? tr_at(p->lam, y->args[tr_pat_slot(p, TR_LAM, P_SCAN) + i])->ty : NULL;
}

static const char *stop_misfit(const tr_pat *p) {
    const tr_sched *s = &p->sched;
    if (!p->nspace || !p->nfold || p->nscan || p->nout || p->nfilt || p->nscat || s->chunk || s->tile ||
        s->unroll)
        return "what stops early is a plain loop that only reduces";
    for (uint32_t i = 0; i < tr_pat_nred(p); i++) {
        const tr_ty *t = tr_pat_contribution(p, i);
        if (!t || !tr_red_absorbs(tr_pat_red(p, i), t))
            return "a reduction that can always change does not stop early";
    }
    return tr_fn_only_reads(p->lam) ? NULL : "a function with effects runs to its end";
}

static const char *tile_misfit(const tr_pat *p) {
    unsigned x = p->sched.tile - 1;
    if (x >= p->nspace || !(p->keep >> x & 1))
        return "a tile goes along a kept axis";
    if (p->nscan || !tr_pat_nred(p) || tr_pat_nkeep(p) == p->nspace)
        return "a tile has sums of its columns, and no scans";
    for (uint32_t i = 0; i < tr_pat_nred(p); i++)
        if (tr_red_info[tr_pat_red(p, i)].place || tr_red_info[tr_pat_red(p, i)].joins)
            return "in tiles no place is looked for, and nothing is joined by a function";
    return p->sched.rows == 1 || p->sched.rows == TR_TILE_GROUP
               ? NULL
               : "a tile takes one row at a time, or a group";
}

/* A function of vectors as it is of numbers: what it is given, and what is an instruction
 * of lanes (op.def). */
static bool is_of_lanes(const tr_fn *f, const tr_ty *t) {
    if (tr_at(f, f->blks.d[0].last)->op != TR_OP_YIELD)
        return false;
    for (tr_val v = f->blks.d[0].first; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *in = tr_at(f, v);
        if (tr_op_info[in->op].lanes != 'v')
            return false;
        for (uint32_t i = 0; i < in->nargs; i++)
            if (tr_at(f, in->args[i])->ty != t)
                return false;
    }
    return true;
}

/* The last kept axis but x. */
static unsigned axis_before(const tr_pat *p, unsigned x) {
    unsigned y = p->nspace;
    while (y-- > 0)
        if ((p->keep >> y & 1) && y != x)
            return y;
    return x;
}

/* Lies along x and repeats along y, or repeats along x: what is loaded serves each row, or each column. */
static bool is_shared(const tr_fn *f, const tr_ins *pat, uint32_t a, unsigned x, unsigned y) {
    tr_step along = tr_pat_step(f, pat, a, x);
    return along == TR_STEP_ZERO || (along == TR_STEP_ONE && tr_pat_step(f, pat, a, y) == TR_STEP_ZERO);
}

static const char *strip_misfit(const tr_fn *f, const tr_ins *pat) {
    const tr_pat *p = pat->imm.pat;
    const tr_ty *t = p->sched.tile && tr_pat_nred(p) == 1 ? tr_pat_contribution(p, 0) : NULL;
    if (!t || p->sched.tested || tr_pat_nkeep(p) < 2 || p->nout || p->nein)
        return "a strip is a tile of one sum over two kept axes";
    if (!tr_ty_is_float(t) || !tr_pat_is_buffered(p, 0, t) || !is_of_lanes(p->lam, t))
        return "a strip adds, subtracts and multiplies floats of one type";
    unsigned x = p->sched.tile - 1, y = axis_before(p, x);
    for (uint32_t a = 0; a < p->nin; a++)
        if (tr_at(f, pat->args[tr_pat_at(p, P_IN) + a])->ty->elem != t || !is_shared(f, pat, a, x, y))
            return "in a strip what is loaded serves each row, or each column";
    return NULL;
}

bool tr_pat_is_region(const tr_pat *p) {
    return p->nin + p->nout + p->neout + p->nscat + p->ntop == 0;
}

const char *tr_sched_misfit(const tr_fn *f, const tr_ins *pat) {
    const tr_pat *p = pat->imm.pat;
    const tr_sched *s = &p->sched;
    const char *why = s->line ? line_misfit(f, pat) : NULL;
    if (p->ntop && (s->line || s->chunk || s->tile || s->unroll))
        why = "what is chosen from is walked in stretches of its own";
    if (!why && s->chunk)
        why = chunk_misfit(p);
    if (!why && s->tile)
        why = tile_misfit(p);
    if (!why && !s->tile && (s->tested || s->rows))
        why = "only tiles are tested for, and have rows";
    if (!why && s->strip)
        why = strip_misfit(f, pat);
    if (!why && s->fission)
        why = fission_misfit(f, pat);
    if (!why && s->unroll)
        why = unroll_misfit(p);
    if (!why && s->nontemporal)
        why = nontemporal_misfit(p);
    if (!why && s->stop)
        why = stop_misfit(p);
    if (!why && s->here && (!tr_pat_is_region(p) || !tr_pat_is_parallel(p) || tr_pat_nred(p)))
        why = "only a loop over a prange that reduces nothing has a copy in place";
    if (!why && (s->cost || p->ncost) && !tr_pat_is_parallel(p))
        why = "nothing is made into ranges";
    if (!why && p->ncost && (!tr_pat_is_region(p) || tr_pat_nred(p)))
        why = "sums are in ranges that depend on lengths alone";
    return why;
}

bool tr_fn_calls_math(const tr_fn *f) {
    for (tr_val v = 0; v < f->ins.n; v++)
        if (tr_at(f, v)->blk != TR_NOBLK &&
            (tr_at(f, v)->op == TR_OP_POW ||
             (tr_at(f, v)->op == TR_OP_MATH && !tr_math_info[tr_at(f, v)->sub].intrinsic)))
            return true;
    return false;
}
