/* How the loops of each pattern go, as data on the node (loop scheduling). One line or nested axes, chunks
 * where strides are not known, tiles where reductions leave the axis along which memory lies, strips for
 * contractions, a loop of their own for a scatter's stores, no vectors where code hardly ever runs, and what
 * a round costs where ranges of rounds are handed to threads. lower/ writes out what is decided here; which
 * schedules are possible says ir/sched.c.
 *
 * Runs last, when functions are what they will be compiled as: `cold` of a block is that of the code at hand.
 * Cost: linear in the patterns' functions. */
#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "graph/graph.h"
#include "ir/nyi.h"
#include "ir/rtinfo.h"
#include "ir/sched.h"
#include "opt/priv.h"

/* SHORT: instructions, the last of which yields. SMALL: of a lambda that is repeated in a group of rows.
 * SHARED: instructions of a lambda of which neighbouring rounds may share some. CHUNK: elements; a buffer of
 * them is in the first level of the cache. WORTH: instructions beside stores at computed places. */
enum {
    SHORT = 4,
    WORTH = 6,
    SHARED = 32,
    SMALL = 24,
    CHUNK = 512,
    STOP = 16384,
    STRIP = 4,
    FISSION = 256,
    HELD_AXES = 4,
    MAX_SELDOM = 1 /* a function is not made to wait for what hardly ever runs */
};

typedef struct chooser {
    tr_fn *f;
    tr_val v;
    const tr_ins *in; /* until something is emitted */
    tr_pat *p;        /* a copy of its own: versions of a node share one */
} chooser;

/* --- vectors --- */

static bool is_math(const tr_fn *f, const tr_ins *in) {
    bool short_one = in->op == TR_OP_MATH && tr_math_info[in->sub].intrinsic;
    return tr_op_info[in->op].lanes == 'f' && !short_one && tr_ty_is_float(tr_at(f, in->args[0])->ty);
}

static bool has_math(const tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (is_math(f, tr_at(f, v)))
                return true;
    return false;
}

static bool is_short(const tr_fn *f) {
    uint32_t n = 0;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            n++;
    return n <= SHORT;
}

/* Where sizes do not agree, vectors pay for what they cost to compile if the function is short,
 * or calls functions that have vectors. */
static bool pays_seldom(const tr_pat *p, tr_cold cold) {
    return has_math(p->lam) || (cold == TR_COLD_SELDOM && is_short(p->lam));
}

static bool is_scalar(const tr_pat *p, tr_cold cold, unsigned *nseldom) {
    return cold == TR_COLD_CHECKED ||
           (cold > TR_COLD_CHECKED && (!pays_seldom(p, cold) || (*nseldom)++ >= MAX_SELDOM));
}

/* --- the order of the axes --- */

/* The axis along which the elements of an input lie side by side; nspace: not known when compiling. */
static unsigned lies_along(const chooser *c, uint32_t a) {
    unsigned n = c->p->nspace;
    const tr_ty *t = tr_at(c->f, c->in->args[tr_pat_at(c->p, P_IN) + a])->ty;
    if (t->layout != TR_LAYOUT_ANY)
        return t->layout == TR_LAYOUT_C ? n - 1 : 0;
    for (unsigned x = 0; x < n; x++)
        if (tr_pat_step(c->f, c->in, a, x) == TR_STEP_ONE)
            return x;
    return n;
}

/* The first input that does not repeat says how memory is walked; nin: there is none. */
static uint32_t leader(const chooser *c) {
    uint32_t a = 0;
    while (a < c->p->nin && tr_pat_repeats(c->f, c->in, a))
        a++;
    return a;
}

/* Along which some input lies and every other one does, or repeats: a sum of products over
 * other axes (a contraction). */
static bool is_common(const chooser *c, unsigned x) {
    bool any = false;
    for (uint32_t a = 0; a < c->p->nin; a++) {
        tr_step step = tr_pat_step(c->f, c->in, a, x);
        if (step != TR_STEP_ZERO && step != TR_STEP_ONE)
            return false;
        any = any || step == TR_STEP_ONE;
    }
    return any;
}

/* The kept axis along which to walk, or nspace. */
static unsigned tile_axis(const chooser *c) {
    const tr_pat *p = c->p;
    uint32_t a = leader(c);
    unsigned n = p->nspace, x = a < p->nin ? lies_along(c, a) : n;
    if (x < n && (p->keep >> x & 1))
        return x;
    for (x = n; x-- > 0 && !p->sched.scalar;)
        if ((p->keep >> x & 1) && is_common(c, x))
            return x;
    return n;
}

static unsigned last_kept(const tr_pat *p) {
    unsigned x = p->nspace - 1u;
    while (!(p->keep >> x & 1))
        x--;
    return x;
}

static bool schedule_fits(const chooser *c) {
    return !tr_sched_misfit(c->f, c->in);
}

/* The last kept axis, if the running program may find that memory lies along it. */
static unsigned axis_to_test(const chooser *c) {
    const tr_pat *p = c->p;
    uint32_t a = leader(c);
    if (p->sched.scalar || a == p->nin || lies_along(c, a) != p->nspace)
        return p->nspace;
    unsigned x = last_kept(p);
    return tr_pat_step(c->f, c->in, a, x) == TR_STEP_OPEN ? x : p->nspace;
}

static void choose_tile(const chooser *c) {
    tr_pat *p = c->p;
    if (!p->keep || !tr_pat_nred(p))
        return;
    unsigned x = tile_axis(c);
    if (x == p->nspace) {
        x = axis_to_test(c);
        p->sched.tested = x < p->nspace;
    }
    if (x == p->nspace)
        return;
    p->sched.tile = x + 1;
    p->sched.rows = p->lam->ins.n <= SMALL && !p->sched.scalar ? TR_TILE_GROUP : 1;
    if (!schedule_fits(c)) {
        p->sched.tile = p->sched.rows = p->sched.tested = 0;
        return;
    }
    p->sched.strip = p->sched.scalar ? 0 : STRIP;
    if (!schedule_fits(c))
        p->sched.strip = 0;
}

/* --- the innermost axis --- */

static unsigned innermost(const tr_pat *p) {
    for (unsigned x = p->nspace; x-- > 0;)
        if (!(p->keep >> x & 1))
            return x;
    return p->nspace - 1u;
}

static bool view_begins_at_base(const tr_fn *f, const tr_ins *in) {
    int64_t at;
    uint32_t n = in->op == TR_OP_VIEW ? tr_view_nbase(in) : in->op == TR_OP_RESTRIDE ? 1 : 0;
    for (uint32_t k = 0; k < n; k++)
        if (!tr_get_int(f, in->args[1 + k], &at) || at != 0)
            return false;
    return tr_is_view(in) && in->op != TR_OP_FIELD;
}

/* An array without what views of its beginning take. */
static tr_val memory_of(const tr_fn *f, tr_val v) {
    while (view_begins_at_base(f, tr_at(f, v)))
        v = tr_arg(f, v, 0);
    return v;
}

/* Does view y of the same memory have the distances of x? */
static bool has_steps_of(const tr_fn *f, tr_val y, tr_val x) {
    const tr_ins *in = tr_at(f, y);
    unsigned n = in->ty->ndim;
    int64_t step;
    if (in->op != TR_OP_VIEW || in->args[0] != x || tr_at(f, x)->ty->ndim != n)
        return false;
    for (unsigned k = 0; k < n; k++)
        if (tr_view_axis(in, k) != (int)k || !tr_get_int(f, tr_view_steps(in)[k], &step) || step != 1)
            return false;
    return true;
}

/* An input that begins where the output does: LLVM must see that their elements are the same ones. In chunks
 * it does where both are one array, which pays for functions that have vectors; what is a gather and a
 * scatter of vectors else is quicker than by way of a buffer. */
static bool is_better_left(const chooser *c, uint32_t out) {
    const tr_val *arr = c->in->args + tr_pat_at(c->p, P_IN);
    for (uint32_t a = 0; a < c->p->nin; a++) {
        bool same = arr[a] == arr[out] || has_steps_of(c->f, arr[a], arr[out]) ||
                    has_steps_of(c->f, arr[out], arr[a]);
        if (memory_of(c->f, arr[a]) == memory_of(c->f, arr[out]) && (!same || !has_math(c->p->lam)))
            return true;
    }
    return false;
}

/* Nothing is computed, so a buffer is one copy more and no vectors: columns take half as long
 * without, and so do rows of few elements. Of a long line that lies side by side on one side only
 * the buffer's vectors make up for it. */
static bool pattern_only_copies(const chooser *c) {
    const tr_pat *p = c->p;
    const tr_fn *f = p->lam;
    bool copies = !tr_pat_nred(p) && f->blks.n == 1 && f->blks.d[0].first == f->blks.d[0].last;
    for (uint32_t a = 0; copies && p->nspace == 1 && a < (uint32_t)p->nin + p->nout; a++)
        copies = tr_pat_step(c->f, c->in, a, 0) == TR_STEP_OPEN;
    return copies;
}

static void choose_chunk(const chooser *c) {
    tr_pat *p = c->p;
    bool any = false;
    if (!p->nspace || p->sched.line || p->sched.scalar || pattern_only_copies(c))
        return;
    for (uint32_t a = 0; a < (uint32_t)p->nin + p->nout; a++) {
        bool open = tr_pat_step(c->f, c->in, a, innermost(p)) == TR_STEP_OPEN;
        if (open && a >= p->nin && is_better_left(c, a))
            return;
        any = any || open;
    }
    p->sched.chunk = any ? CHUNK : 0;
    if (!schedule_fits(c))
        p->sched.chunk = 0;
}

/* `any` and `all` of what is long. */
static void choose_stop(const chooser *c) {
    tr_pat *p = c->p;
    p->sched.stop = p->keep || p->sched.scalar ? 0 : STOP;
    if (p->sched.stop && !schedule_fits(c))
        p->sched.stop = 0;
}

/* Where a scatter's rounds compute much, that is worth vectors, and a loop of its own; not for many
 * axes, as each has a buffer of indices. */
static void choose_fission(const chooser *c) {
    tr_pat *p = c->p;
    if (!p->nscat || p->sched.scalar || tr_fn_cost(p->lam) < WORTH ||
        tr_at(c->f, c->in->args[tr_pat_at(p, P_SCAT)])->ty->ndim > HELD_AXES)
        return;
    p->sched.fission = FISSION;
    if (!schedule_fits(c))
        p->sched.fission = 0;
}

/* --- rounds that share what they compute --- */

/* A number in the lambda: a constant, or a capture that is one. */
static bool number_in(const chooser *c, tr_val v, int64_t *n) {
    const tr_fn *lam = c->p->lam;
    const tr_ins *in = tr_at(lam, v);
    if (tr_get_int(lam, v, n))
        return true;
    if (in->op != TR_OP_PARAM || in->blk != 0 || tr_param_index(lam, v) < tr_pat_param(c->p, TR_LAM, P_CAP))
        return false;
    return tr_get_int(
        c->f,
        c->in->args[tr_pat_at(c->p, P_CAP) + tr_param_index(lam, v) - tr_pat_param(c->p, TR_LAM, P_CAP)], n);
}

/* Is it the innermost index, or that many multiples of `n` further on? */
static bool is_index_by(const chooser *c, tr_val v, int64_t n) {
    const tr_fn *lam = c->p->lam;
    const tr_ins *in = tr_at(lam, v);
    int64_t k;
    switch ((tr_op)in->op) {
    case TR_OP_PARAM: return in->blk == 0 && tr_param_index(lam, v) == innermost(c->p);
    case TR_OP_CONV: return tr_ty_is_int(in->ty) && is_index_by(c, in->args[0], n);
    case TR_OP_ADD:
        for (unsigned i = 0; i < 2; i++)
            if (number_in(c, in->args[i], &k) && k % n == 0 && is_index_by(c, in->args[1 - i], n))
                return true;
        return false;
    case TR_OP_MUL:
        for (unsigned i = 0; i < 2; i++)
            if (number_in(c, in->args[i], &k) && k == 1 && is_index_by(c, in->args[1 - i], n))
                return true;
        return false;
    default: return false;
    }
}

/* Where the lambda takes the last bit or two off the innermost index and does much with the rest, several
 * rounds have that in common. */
static void choose_unroll(const chooser *c) {
    tr_pat *p = c->p;
    const tr_fn *lam = p->lam;
    int64_t by;
    if (!p->nspace || tr_term(lam, 0)->op != TR_OP_YIELD || tr_fn_cost(lam) < SHARED)
        return;
    for (tr_val v = lam->blks.d[0].first; v != TR_NOVAL; v = tr_at(lam, v)->next) {
        const tr_ins *in = tr_at(lam, v);
        if (in->op == TR_OP_SHR && number_in(c, in->args[1], &by) && (by == 1 || by == 2) &&
            is_index_by(c, in->args[0], 1 << by))
            p->sched.unroll = p->sched.unroll > 1u << by ? p->sched.unroll : 1u << by;
    }
    if (!schedule_fits(c))
        p->sched.unroll = 0;
}

/* --- ranges for threads --- */

/* Rounds of unknown length: a loop, a call, or a pattern in each. */
static bool is_heavy(tr_fn *lam) {
    tr_cfg_compute(lam);
    for (uint32_t i = 0; i < lam->rpo.n; i++) {
        const tr_ins *t = tr_term(lam, lam->rpo.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (tr_blk_at(lam, t->imm.succ[s].to)->rpo <= i)
                return true;
        for (tr_val v = tr_blk_at(lam, lam->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(lam, v)->next)
            if (tr_at(lam, v)->op == TR_OP_CALL || tr_at(lam, v)->op == TR_OP_CALLX ||
                tr_at(lam, v)->op == TR_OP_PATTERN)
                return true;
    }
    return false;
}

/* Can the block be reached from its end? */
static bool block_is_repeated(const tr_fn *f, tr_bid b) {
    tr_bits seen = tr_bits_new(&f->ctx->arena, f->blks.n);
    tr_u32s todo = {0};
    tr_vec_push(&f->ctx->arena, &todo, b);
    while (todo.n) {
        const tr_ins *t = tr_term(f, todo.d[--todo.n]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            if (to == b)
                return true;
            if (!tr_bits_get(&seen, to))
                tr_vec_push(&f->ctx->arena, &todo, to);
            tr_bits_set(&seen, to);
        }
    }
    return false;
}

/* A loop over a prange is no line of elements: any number of rounds may be a range, and one with loops in it
 * that may be long is a range by itself, unless what it costs is known before. Sums over ranges depend on how
 * they are made, and these on lengths alone. */
static void choose_ranges(const chooser *c) {
    tr_pat *p = c->p;
    if (!tr_pat_is_parallel(p))
        return;
    uint32_t cost = tr_fn_cost(p->lam) + p->nin + p->nout;
    for (uint32_t k = 0; k < tr_pat_njoins(p); k++)
        cost += p->joins[k].by ? tr_fn_cost(p->joins[k].by) : 0;
    bool heavy = tr_pat_is_region(p) && is_heavy(p->lam);
    p->sched.cost = heavy || cost > TR_MAX_COST ? TR_MAX_COST : cost;
    p->sched.here = tr_pat_is_region(p) && !tr_pat_nred(p) && !heavy && p->lam->ins.n <= SMALL &&
                    block_is_repeated(c->f, c->in->blk);
    if (heavy && !tr_pat_nred(p) && !p->ncost) /* a text may say it already */
        tr_opt_work(c->f, c->v, TR_MAX_COST);
}

static void choose(const chooser *c) {
    uint32_t past = c->p->sched.nontemporal;
    c->p->sched.nontemporal = 0;
    c->p->sched.line = 1;
    c->p->sched.line = schedule_fits(c);
    c->p->sched.nontemporal = past && c->p->sched.line;
    choose_tile(c);
    choose_chunk(c);
    choose_fission(c);
    choose_unroll(c);
    choose_stop(c);
    choose_ranges(c);
}

/* --- what users say of the nodes of graphs --- */

/* Nodes that are tagged, of the graph that the program computes; NULL: there are none. */
static const tr_graph *tagged_graph(const tr_prog *p) {
    const tr_inst *root = p->root < p->insts.n ? &p->insts.d[p->root] : NULL;
    const tr_graph *g = root && root->func < p->funcs.n ? p->funcs.d[root->func].graph : NULL;
    for (uint32_t k = 0; g && k < g->nnodes; k++)
        if (g->nodes[k].schedule)
            return g;
    return NULL;
}

static void refuse(tr_ctx *c, const tr_graph *g, uint32_t k, const char *why) {
    int line = (int)k + 1; /* tr_graph_written knows the user's */
    tr_err *e =
        tr_err_add(c, TR_ERR_UNSUPPORTED, (tr_place){TR_GRAPH_FILE, TR_GRAPH_NODE, {line, -1, line, -1}},
                   "schedule(\"%s\"): %s", g->nodes[k].schedule, why);
    e->nyi = tr_nyi_rows[TR_NYI_SCHEDULE].id;
    e->hint = tr_nyi_rows[TR_NYI_SCHEDULE].text;
}

/* What is said of the nodes that a pattern is made of, together. *node: the last that something is said of;
 * UINT32_MAX: none. Not the same of all: a phrase. */
static const char *read_tags(const chooser *c, const tr_graph *g, tr_sched *out, uint32_t *node) {
    tr_u32s lines = tr_opt_nodes(c->f, c->in->loc, c->p->lam);
    const char *why = NULL;
    *out = (tr_sched){0};
    *node = UINT32_MAX;
    for (uint32_t i = 0; i < lines.n && !why; i++) {
        const char *words = lines.d[i] <= g->nnodes ? g->nodes[lines.d[i] - 1].schedule : NULL;
        tr_sched one = {0};
        char fault[8];
        bool read = !words || tr_sched_read(words, &one, fault, sizeof fault);
        assert(read && "words were read when the node was made");
        (void)read;
        for (unsigned w = 0; words && w < TR_SCHED__COUNT; w++) {
            uint32_t x = *tr_sched_field(&one, w), *to = tr_sched_field(out, w);
            if (x && *to && *to != x)
                why = "something else is said of another operation of the same loop";
            *to = x ? x : *to;
        }
        *node = words ? lines.d[i] - 1 : *node;
    }
    return why;
}

/* Takes over what is said, and of what was chosen all that goes with it. What sums are grouped by stays. */
static const char *take_over(const chooser *c, const tr_sched *said) {
    const tr_sched chosen = c->p->sched;
    tr_sched *s = &c->p->sched;
    for (unsigned w = 0; w < TR_SCHED__COUNT; w++) {
        uint32_t x = *tr_sched_field((tr_sched *)(uintptr_t)said, w);
        if (x)
            *tr_sched_field(s, w) = x;
    }
    if (schedule_fits(c))
        return NULL;
    *s = *said;
    s->tile = chosen.tile;
    s->tested = chosen.tested;
    s->rows = chosen.rows;
    s->cost = said->cost ? said->cost : chosen.cost;
    s->here = chosen.here;
    const char *why = tr_sched_misfit(c->f, c->in);
    for (unsigned w = 0; w < TR_SCHED__COUNT && !why; w++) {
        uint32_t *to = tr_sched_field(s, w), was = *to;
        *to = was ? was : *tr_sched_field((tr_sched *)(uintptr_t)&chosen, w);
        if (!schedule_fits(c))
            *to = was;
    }
    if (why)
        *s = chosen;
    return why;
}

/* Why what is said of the pattern's nodes cannot be done; NULL: it is done, or nothing is said. */
static const char *obey(const chooser *c, const tr_graph *g) {
    tr_sched said;
    uint32_t node;
    const char *why = read_tags(c, g, &said, &node);
    if (!c->f->ctx->opts.parallel) /* a program of one core has no ranges */
        said.cost = 0;
    return why || node == UINT32_MAX ? why : take_over(c, &said);
}

/* What came of each node's words. */
typedef struct told {
    bool made, done;
    const char *why;
} told;

/* Code that somebody waits for. */
static bool is_hot(const tr_fn *f, tr_bid b) {
    return !tr_blk_at(f, b)->dead && tr_blk_at(f, b)->cold <= TR_COLD_LARGE;
}

static void note_told(const tr_graph *g, tr_fn *f, told *of) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = is_hot(f, b) ? tr_blk_at(f, b)->first : TR_NOVAL; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_PATTERN)
                continue;
            const char *why = obey(&(chooser){f, v, in, in->imm.pat}, g);
            tr_u32s lines = tr_opt_nodes(f, in->loc, in->imm.pat->lam);
            for (uint32_t i = 0; i < lines.n; i++) {
                told *t = lines.d[i] <= g->nnodes ? &of[lines.d[i] - 1] : NULL;
                if (t && (t->made = true) && !why)
                    t->done = true;
                else if (t && !t->why)
                    t->why = why;
            }
        }
}

/* Are the words said of nodes of which one at least became a loop? */
static bool words_have_loops(const tr_graph *g, const told *of, const char *words) {
    for (uint32_t k = 0; k < g->nnodes; k++)
        if (of[k].made && g->nodes[k].schedule && strcmp(g->nodes[k].schedule, words) == 0)
            return true;
    return false;
}

/* Words are refused that fit none of the loops that a node became, a library's function perhaps several; or
 * that are said of nodes none of which became a loop. */
static void refuse_words(const tr_prog *p, const tr_graph *g) {
    told *of = TR_NEW_N(&p->ctx->arena, told, g->nnodes + 1u);
    for (uint32_t i = 0; i < p->insts.n; i++)
        if (p->insts.d[i].fn && !p->insts.d[i].late)
            note_told(g, p->insts.d[i].fn, of);
    for (uint32_t k = 0; k < g->nnodes; k++) {
        const char *words = g->nodes[k].schedule;
        if (words && of[k].made && !of[k].done)
            refuse(p->ctx, g, k, of[k].why);
        else if (words && !of[k].made && !words_have_loops(g, of, words)) {
            refuse(p->ctx, g, k, "no loop is made of it");
            return;
        }
    }
}

bool tr_opt_schedule(tr_prog *p, tr_fn *f) {
    const tr_graph *g = tagged_graph(p);
    unsigned nseldom = 0;
    bool changed = false;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_PATTERN)
                continue;
            tr_pat *own = tr_arena_copy(&f->ctx->arena, in->imm.pat, sizeof *own);
            own->sched = (tr_sched){.scalar = is_scalar(own, (tr_cold)tr_blk_at(f, b)->cold, &nseldom),
                                    .nontemporal = own->sched.nontemporal};
            in->imm.pat = own;
            const chooser c = {f, v, in, own};
            choose(&c);
            if (g)
                obey(&c, g);
            changed = true;
        }
    if (g && f == p->insts.d[p->root].fn && !p->insts.d[p->root].late) /* the last of all */
        refuse_words(p, g);
    return changed;
}
