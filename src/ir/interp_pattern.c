/* The pattern node, in the interpreter: a walk over the tree of its loops without a schedule (tr_nest_plain),
 * element by element.
 *
 * Sums of floats are plain ones from left to right, but where a tree is what the node means: scans by groups
 * and joins by a function (ir/scans.c). What is read and stored is counted, as opt/account.c says it.
 * Cost: a lambda run per element. */
#include "ir/interp_run.h"

#include <assert.h>

#include "ir/nest.h"
#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "ir/summary.h"

/* A scan by groups (scans.c): left: the sum of the half before an element, at each level of the tree; then of
 * the groups before in the block; before: the value before the block. */
enum { LEVELS = 3 };
typedef struct groups {
    tr_slot left[LEVELS][2], total[2], before[2];
} groups;

/* One of the elements that are chosen: its key, and what was yielded for each of the arrays. */
typedef struct chosen {
    tr_slot key[2], (*gives)[2];
} chosen;
/* A reduction by a function (tr_pat): the block that comes in, and joined blocks, one per bit of how many
 * there are. */
enum { JOIN_LEVELS = 64 };
typedef struct joining {
    tr_irun by;
    unsigned nparts, fill;
    tr_slot *block, *level;
    uint64_t count;
    /* Of a scan by blocks (scans.c): the value before the block of TR_JOIN_BLOCK, and the smaller blocks
     * since, if there are any, as one; `level` and `count` are of the items of the smaller block. */
    bool blocks, some;
    tr_slot *before, *done, *last; /* last: the item before */
} joining;

typedef struct space {
    tr_irun *r;
    const tr_ins *i;
    const tr_pat *p;
    tr_irun lam, epi;     /* kept from point to point: a lambda has no state of its own */
    groups *groups;       /* per scan; NULL: they do not go by blocks */
    tr_irun after;        /* then: the lambda that is given values after the element, too */
    tr_slot (*values)[2]; /* and these */
    tr_slot *acc[MAX_PARTS], *accs;
    tr_slot best[MAX_PARTS][2];
    const tr_ty *best_ty[MAX_PARTS]; /* NULL: nothing seen yet */
    joining *joining;                /* per reduction; NULL: none is by a function */
    tr_irun *scattering;             /* per target, the function that joins; NULL: there is none */
    int64_t flat;
    chosen *top; /* the best so far, in their order; the next element behind them */
    int64_t ntop;
    unsigned axis[TR_MAX_NDIM]; /* order of the loops: kept axes first */
    const void **met;           /* a hash table of items that were read, each with its operand's value */
    uint32_t nmet, roommet;
} space;

typedef struct row {
    tr_slot v[MAX_PARTS];
    unsigned n;
} row;

static bool add_parts(space *s, row *to, const tr_slot *v, unsigned n) {
    if (to->n + n > MAX_PARTS)
        return tr_irun_fault(s->r, s->i, "too many values for the interpreter");
    memcpy(to->v + to->n, v, n * sizeof *v);
    to->n += n;
    return true;
}

/* Whether the item is read for the first time, as one of this operand. */
static bool is_new(space *s, const void *at, tr_val of) {
    tr_arena *a = &s->r->in->ctx->arena;
    if (2 * s->nmet >= s->roommet) {
        const void **old = s->met;
        uint32_t n = s->roommet;
        s->roommet = n ? 2 * n : 64;
        s->met = TR_NEW_N(a, const void *, 2u * s->roommet);
        memset((void *)s->met, 0, 2u * s->roommet * sizeof *s->met);
        s->nmet = 0;
        for (uint32_t k = 0; k < n; k++)
            if (old[2 * k])
                is_new(s, old[2 * k], (tr_val)(uintptr_t)old[2 * k + 1]);
    }
    for (uint32_t k = (uint32_t)((uintptr_t)at >> 1) * 2654435769u + of;; k++) {
        const void **e = &s->met[2 * (k & (s->roommet - 1))];
        if (e[0] == at && (tr_val)(uintptr_t)e[1] == of)
            return false;
        if (!e[0]) {
            e[0] = at;
            e[1] = (const void *)(uintptr_t)of;
            s->nmet++;
            return true;
        }
    }
}

/* What one of the functions takes for operand k of g. */
static bool take(space *s, const tr_ports *g, unsigned fn, uint32_t k, const int64_t *idx, row *to) {
    const tr_ty *t = tr_irun_arg_type(s->r, s->i, g->arg + k);
    tr_slot x[2];
    void *at;
    switch ((tr_porttakes)g->is->takes[fn]) {
    case TR_TAKES_NONE: break;
    case TR_TAKES_INDEX: return add_parts(s, to, &(tr_slot){.i = idx[k]}, 1);
    case TR_TAKES_ITEM:
        if (!(at = tr_irun_input(t, tr_irun_arg(s->r, s->i, g->arg + k), idx)))
            return tr_irun_fault(s->r, s->i, "an input of the pattern is smaller than its space");
        tr_interp_load(t->elem, at, x);
        if (is_new(s, at, s->i->args[g->arg + k]) && s->r->in->patterns == 1)
            s->r->in->read += tr_ty_size(t->elem);
        return add_parts(s, to, x, tr_ty_nparts(t->elem));
    case TR_TAKES_VALUE: /* of what is reduced, as it stands */
        return add_parts(s, to,
                         g->is->join ? s->acc[g->arg + k - tr_pat_at(s->p, P_SCAN)]
                                     : tr_irun_arg(s->r, s->i, g->arg + k),
                         tr_ty_nparts(t));
    }
    return true;
}

static bool store_element(space *s, uint32_t k, const int64_t *idx, const tr_slot **y) {
    const tr_ty *t = tr_irun_arg_type(s->r, s->i, k);
    void *at = tr_irun_element(t, tr_irun_arg(s->r, s->i, k), idx);
    if (!at)
        return tr_irun_fault(s->r, s->i, "an output of the pattern is smaller than its space");
    tr_interp_store(t->elem, at, *y);
    *y += tr_ty_nparts(t->elem);
    return true;
}

static bool has_room(const space *s) {
    int64_t n = INT64_MAX;
    for (uint32_t k = tr_pat_at(s->p, P_PACK); k < tr_pat_at(s->p, P_PACK + 1); k++)
        n = tr_irun_dim(tr_irun_arg(s->r, s->i, k), 0) < n ? tr_irun_dim(tr_irun_arg(s->r, s->i, k), 0) : n;
    return s->acc[0]->i < n - 1;
}

static void add_to(space *s, const tr_ty *t, tr_slot *sum, const tr_slot *left) {
    tr_slot x[2];
    tr_irun_copy(t, x, left);
    tr_interp_reduce(s->r->in, TR_RED_ADD, t, x, sum);
    tr_irun_copy(t, sum, x);
}

/* The value after the element, of what it contributes. */
static void step_group(space *s, uint32_t k, const tr_ty *t, const tr_slot *x, tr_slot *out) {
    groups *g = &s->groups[k];
    _Static_assert(TR_SCAN_GROUP == 1 << LEVELS, "a level for each bit of the place in a group");
    if (s->flat % TR_SCAN_BLOCK == 0)
        tr_irun_copy(t, g->before, s->acc[k]);
    tr_irun_copy(t, out, x);
    for (unsigned l = 0; l < LEVELS; l++) {
        if (s->flat >> l & 1)
            add_to(s, t, out, g->left[l]);
        else /* as long as the left half is not whole, it becomes longer */
            tr_irun_copy(t, g->left[l], out);
    }
    if (s->flat % TR_SCAN_BLOCK >= TR_SCAN_GROUP)
        add_to(s, t, out, g->total);
    if (s->flat % TR_SCAN_GROUP == TR_SCAN_GROUP - 1)
        tr_irun_copy(t, g->total, out);
    add_to(s, t, out, g->before);
}

/* Runs the lambda again, which is given the values after the element: these in s->values. */
static bool run_after(space *s, row *in, tr_slot *out) {
    const tr_pat *p = s->p;
    const tr_ins *yield = tr_pat_yield(p->lam);
    const tr_slot *y = out;
    for (uint32_t k = 0; k < tr_pat_slot(p, TR_LAM, P_SCAN); k++)
        y += tr_ty_nparts(tr_at(p->lam, yield->args[k])->ty);
    for (uint32_t k = 0; k < p->nscan; k++) {
        const tr_ty *t = tr_at(p->lam, yield->args[tr_pat_slot(p, TR_LAM, P_SCAN) + k])->ty;
        tr_irun_copy(t, s->values[k], y);
        if (tr_pat_scan_in_groups(p, k))
            step_group(s, k, t, y, s->values[k]);
        if (!add_parts(s, in, s->values[k], tr_ty_nparts(t)))
            return false;
        y += tr_ty_nparts(t);
    }
    uint64_t read = s->r->in->read;
    bool ok = tr_irun_with(&s->after, in->v, out);
    s->r->in->read = read; /* what it loads has been loaded */
    return ok;
}

static bool is_joined(const space *s, uint32_t k) {
    return s->joining && s->joining[k].nparts;
}

/* out: x and y, of n parts, as one by a function; out may be x. */
static bool join_by(space *s, tr_irun *by, unsigned n, const tr_slot *x, const tr_slot *y, tr_slot *out) {
    row in = {.n = 0};
    if (!add_parts(s, &in, x, n) || !add_parts(s, &in, y, n))
        return false;
    for (uint32_t c = tr_pat_at(s->p, P_CAP); c < tr_pat_at(s->p, P_CAP + 1); c++)
        if (!add_parts(s, &in, tr_irun_arg(s->r, s->i, c), tr_ty_nparts(tr_irun_arg_type(s->r, s->i, c))))
            return false;
    return tr_irun_with(by, in.v, out);
}

/* The same of reduction k. */
static bool join_two(space *s, uint32_t k, const tr_slot *x, const tr_slot *y, tr_slot *out) {
    return join_by(s, &s->joining[k].by, s->joining[k].nparts, x, y, out);
}

/* A block as one value, its first: neighbours in pairs, and these in pairs; one without a neighbour goes
 * on. */
static bool join_block(space *s, uint32_t k) {
    joining *j = &s->joining[k];
    size_t n = j->nparts;
    for (unsigned left = j->fill; left > 1; left = (left + 1) / 2) {
        for (unsigned i = 0; i < left / 2; i++)
            if (!join_two(s, k, j->block + 2 * i * n, j->block + (2 * i + 1) * n, j->block + i * n))
                return false;
        if (left % 2)
            memmove(j->block + left / 2 * n, j->block + (left - 1) * n, n * sizeof *j->block);
    }
    return true;
}

/* A value for reduction k; where the block is whole it is joined with those before it that are as long. */
static bool add_joined(space *s, uint32_t k, const tr_slot *x) {
    joining *j = &s->joining[k];
    size_t n = j->nparts;
    memcpy(j->block + j->fill++ * n, x, n * sizeof *x);
    if (j->fill < TR_SUM_BLOCK)
        return true;
    if (!join_block(s, k))
        return false;
    unsigned l = 0;
    for (; j->count >> l & 1; l++)
        if (!join_two(s, k, j->level + l * n, j->block, j->block))
            return false;
    memcpy(j->level + l * n, j->block, n * sizeof *x);
    j->count++;
    j->fill = 0;
    return true;
}

/* What stands before an element of a scan by blocks: in a group, what stood before the last one and that. */
static bool stand_before(space *s) {
    joining *j = &s->joining[0];
    size_t n = j->nparts;
    if (s->flat % TR_JOIN_GROUP != 0)
        return join_two(s, 0, s->acc[0], j->last, s->acc[0]);
    memcpy(s->acc[0], j->before, n * sizeof *j->before);
    if (j->some && !join_two(s, 0, s->acc[0], j->done, s->acc[0]))
        return false;
    for (unsigned l = JOIN_LEVELS; l-- > 0;)
        if (j->count >> l & 1 && !join_two(s, 0, s->acc[0], j->level + l * n, s->acc[0]))
            return false;
    return true;
}

/* The smaller block, of j->count items, is one of those that are done. */
static bool end_small_block(space *s) {
    joining *j = &s->joining[0];
    size_t n = j->nparts;
    bool any = false;
    for (unsigned l = 0; l < JOIN_LEVELS && j->count >> l; l++) {
        if (!(j->count >> l & 1))
            continue;
        if (!any)
            memcpy(j->block, j->level + l * n, n * sizeof *j->block);
        else if (!join_two(s, 0, j->level + l * n, j->block, j->block))
            return false;
        any = true;
    }
    j->count = 0;
    if (!any)
        return true;
    if (j->some)
        return join_two(s, 0, j->done, j->block, j->done);
    memcpy(j->done, j->block, n * sizeof *j->block);
    j->some = true;
    return true;
}

static bool end_large_block(space *s) {
    joining *j = &s->joining[0];
    if (!end_small_block(s) || (j->some && !join_two(s, 0, j->before, j->done, j->before)))
        return false;
    j->some = false;
    return true;
}

static bool add_scanned(space *s, const tr_slot *x) {
    joining *j = &s->joining[0];
    size_t n = j->nparts;
    unsigned l = 0;
    memcpy(j->block, x, n * sizeof *x);
    memcpy(j->last, x, n * sizeof *x);
    for (; j->count >> l & 1; l++)
        if (!join_two(s, 0, j->level + l * n, j->block, j->block))
            return false;
    memcpy(j->level + l * n, j->block, n * sizeof *x);
    j->count++;
    if ((s->flat + 1) % TR_JOIN_BLOCK == 0)
        return end_large_block(s);
    return (s->flat + 1) % TR_SUM_BLOCK != 0 || end_small_block(s);
}

/* The last block, which may be empty, then those before it, and the initial value before all. */
static bool end_joined(space *s, uint32_t k) {
    joining *j = &s->joining[k];
    size_t n = j->nparts;
    bool any = j->fill > 0;
    if (!join_block(s, k))
        return false;
    for (unsigned l = 0; l < JOIN_LEVELS && j->count >> l; l++) {
        if (!(j->count >> l & 1))
            continue;
        if (!any)
            memcpy(j->block, j->level + l * n, n * sizeof *j->block);
        else if (!join_two(s, k, j->level + l * n, j->block, j->block))
            return false;
        any = true;
    }
    return !any || join_two(s, k, s->acc[k], j->block, s->acc[k]);
}

static bool end_reds(space *s) {
    if (s->joining && s->joining[0].blocks) {
        if (!end_large_block(s))
            return false;
        memcpy(s->acc[0], s->joining[0].before, s->joining[0].nparts * sizeof(tr_slot));
        return true;
    }
    for (uint32_t k = s->p->nscan; k < tr_pat_nred(s->p); k++)
        if (is_joined(s, k) && !end_joined(s, k))
            return false;
    return true;
}

/* Reduction k has one more value. */
static bool reduce(space *s, uint32_t k, const tr_slot **y) {
    tr_redk how = tr_pat_red(s->p, k);
    uint32_t at = tr_pat_slot(s->p, TR_LAM, P_SCAN) + k;
    const tr_ty *t = tr_at(s->p->lam, tr_pat_yield(s->p->lam)->args[at])->ty;
    if (s->groups && k < s->p->nscan && tr_pat_scan_in_groups(s->p, k)) {
        tr_irun_copy(t, s->acc[k], s->values[k]);
    } else if (is_joined(s, k)) {
        if (!(s->joining[k].blocks ? add_scanned(s, *y)
              : k < s->p->nscan    ? join_two(s, k, s->acc[k], *y, s->acc[k])
                                   : add_joined(s, k, *y)))
            return false;
    } else if (!tr_red_info[how].place) {
        tr_interp_reduce(s->r->in, how, t, s->acc[k], *y);
    } else if (!s->best_ty[k] || tr_interp_better(how, t, s->best[k], *y)) {
        s->best_ty[k] = t;
        memcpy(s->best[k], *y, tr_ty_nparts(t) * sizeof **y);
        s->acc[k]->i = s->flat;
    }
    *y += tr_ty_nparts(t);
    return true;
}

/* One value for a target, at the indices before it. */
static bool scatter_element(space *s, uint32_t to, const tr_slot **y) {
    const tr_ty *t = tr_irun_arg_type(s->r, s->i, to);
    unsigned how = tr_pat_join(s->p, to)->how;
    int64_t idx[TR_MAX_NDIM + 1];
    for (unsigned x = 0; x < t->ndim; x++)
        idx[x] = ((*y)++)->i;
    void *at = tr_irun_element(t, tr_irun_arg(s->r, s->i, to), idx);
    tr_slot old[2];
    if (!at)
        return tr_irun_fault(s->r, s->i, "scatters outside of an array");
    if (how != TR_SCATTER_PUT) {
        tr_interp_load(t->elem, at, old);
        if (!tr_red_info[how].joins)
            tr_interp_reduce(s->r->in, (tr_redk)how, t->elem, old, *y);
        else if (!join_by(s, &s->scattering[to - tr_pat_at(s->p, P_SCAT)], tr_ty_nparts(t->elem), old, *y,
                          old))
            return false;
        s->r->in->read += s->r->in->patterns == 1 ? tr_ty_size(t->elem) : 0;
    }
    s->r->in->written += s->r->in->patterns == 1 ? tr_ty_size(t->elem) : 0;
    tr_interp_store(t->elem, at, how == TR_SCATTER_PUT ? *y : old);
    *y += tr_ty_nparts(t->elem);
    return true;
}

/* --- what is chosen --- */

/* Does the element of key x go before one that comes before it, of key y? */
static bool goes_before(tr_topk how, const tr_ty *t, const tr_slot *x, const tr_slot *y) {
    bool nan = !tr_interp_cmp(TR_CMP_EQ, t, x, x), other = !tr_interp_cmp(TR_CMP_EQ, t, y, y);
    if (nan || other)
        return how == TR_TOP_LARGEST ? !other : !nan;
    return tr_interp_cmp(how == TR_TOP_SMALLEST ? TR_CMP_LT : TR_CMP_GT, t, x, y);
}

static int64_t top_size(const space *s) {
    return tr_irun_arg(s->r, s->i, tr_pat_at(s->p, P_TOP))->i;
}

/* Room for k elements and one more. */
static bool begin_top(space *s) {
    tr_arena *a = &s->r->in->ctx->arena;
    int64_t k = top_size(s);
    unsigned axis = s->axis[s->p->nspace - 1];
    if (k < 0 || k > tr_irun_arg(s->r, s->i, axis)->i)
        return tr_irun_fault(s->r, s->i, "chooses more than there is");
    s->top = tr_arena_alloc(a, ((size_t)k + 1) * sizeof *s->top);
    for (int64_t i = 0; i <= k; i++)
        s->top[i].gives = tr_arena_alloc(a, (s->p->nbest + 1u) * sizeof *s->top[i].gives);
    return true;
}

/* The element of this key, whose other values are held, takes its place among the best. */
static void choose(space *s, const tr_slot **y) {
    const tr_ty *t = tr_at(s->p->lam, tr_pat_yield(s->p->lam)->args[tr_pat_slot(s->p, TR_LAM, P_TOP)])->ty;
    chosen next = s->top[s->ntop];
    int64_t at = s->ntop;
    tr_irun_copy(t, next.key, *y);
    for (; at > 0 && goes_before(tr_pat_top(s->p), t, next.key, s->top[at - 1].key); at--)
        s->top[at] = s->top[at - 1];
    s->top[at] = next;
    s->ntop += s->ntop < top_size(s);
    *y += tr_ty_nparts(t);
}

static bool store_best(space *s, const int64_t *idx) {
    int64_t at[TR_MAX_NDIM + 1];
    unsigned n = 0;
    for (unsigned k = 0; k < s->p->nspace; k++)
        if (s->p->keep >> k & 1)
            at[n++] = idx[k];
    for (int64_t k = 0; k < s->ntop; k++)
        for (uint32_t b = 0; b < s->p->nbest; b++) {
            uint32_t to = tr_pat_at(s->p, P_BEST) + b;
            const tr_slot *y = s->top[k].gives[b];
            at[n] = k;
            if (!store_element(s, to, at, &y))
                return false;
            if (s->r->in->patterns == 1)
                s->r->in->written += tr_ty_size(tr_irun_arg_type(s->r, s->i, to)->elem);
        }
    return true;
}

/* What becomes of what was yielded for operand k of g. */
static bool give(space *s, const tr_ports *g, uint32_t k, const int64_t *idx, const tr_slot **y) {
    switch ((tr_role)g->role) {
    case P_OUT:
    case P_EOUT:
        if (s->r->in->patterns == 1)
            s->r->in->written += tr_ty_size(tr_irun_arg_type(s->r, s->i, g->arg + k)->elem);
        return store_element(s, g->arg + k, idx, y);
    case P_PACK:
        return store_element(s, g->arg + k, &s->acc[0]->i, y); /* where the scan stands, wanted or not */
    case P_BEST:
        tr_irun_copy(tr_irun_arg_type(s->r, s->i, g->arg + k)->elem, s->top[s->ntop].gives[k], *y);
        *y += tr_ty_nparts(tr_irun_arg_type(s->r, s->i, g->arg + k)->elem);
        return true;
    case P_TOP: choose(s, y); return true;
    case P_SCAN:
    case P_RED: return reduce(s, g->arg + k - tr_pat_at(s->p, P_SCAN), y);
    case P_SCAT: return scatter_element(s, g->arg + k, y);
    default: return tr_irun_fault(s->r, s->i, "nothing is yielded for such an operand");
    }
}

/* One of the functions at one point: gather its params, run it, spread what it yields. */
static bool run_at(space *s, unsigned fn, const int64_t *idx) {
    const tr_pat *p = s->p;
    row in = {.n = 0};
    tr_slot out[MAX_PARTS];
    const tr_slot *y = out;
    for (tr_ports g = tr_ports_of(p, fn); tr_ports_left(&g); tr_ports_next(p, fn, &g))
        for (uint32_t k = 0; k < g.n; k++)
            if (!take(s, &g, fn, k, idx, &in))
                return false;
    if (!tr_irun_with(fn == TR_EPI ? &s->epi : &s->lam, in.v, out) ||
        (fn == TR_LAM && s->groups && !run_after(s, &in, out)))
        return false;
    if (fn == TR_LAM &&
        tr_term(p->lam, 0)->op != TR_OP_YIELD) /* its loads have not been counted one by one */
        s->r->in->read += (uint64_t)tr_fn_moves(p->lam, TR_OP_LOAD);
    for (tr_ports g = tr_ports_of(p, fn); tr_ports_left(&g); tr_ports_next(p, fn, &g)) {
        for (uint32_t k = 0; g.is->gives[fn] && k < g.n; k++)
            if (!give(s, &g, k, idx, &y))
                return false;
        if (g.role == P_PACK && g.n && !has_room(s)) /* what comes next counts, and is this round's own */
            out[y - out].i = 0;
    }
    return true;
}

static bool point(space *s, const int64_t *idx) {
    if ((s->joining && s->joining[0].blocks && !stand_before(s)) || !run_at(s, TR_LAM, idx))
        return false;
    s->flat++;
    return true;
}

/* The reductions begin. */
static void begin_reds(space *s) {
    tr_slot *at = s->accs;
    for (uint32_t k = 0; k < tr_pat_nred(s->p); k++) {
        uint32_t which = tr_pat_at(s->p, P_SCAN) + k;
        s->acc[k] = at;
        tr_irun_copy(tr_irun_arg_type(s->r, s->i, which), at, tr_irun_arg(s->r, s->i, which));
        at += tr_ty_nparts(tr_irun_arg_type(s->r, s->i, which));
        s->best_ty[k] = NULL;
        if (is_joined(s, k)) {
            s->joining[k].count = 0;
            s->joining[k].fill = 0;
            s->joining[k].some = false;
            memcpy(s->joining[k].before, s->acc[k], s->joining[k].nparts * sizeof(tr_slot));
        }
    }
    s->flat = s->ntop = 0;
}

static bool epilogue(space *s, const int64_t *idx) {
    int64_t kept[TR_MAX_NDIM + 1];
    for (unsigned k = 0, n = 0; k < s->p->nspace; k++)
        if (s->p->keep >> k & 1)
            kept[n++] = idx[k];
    return run_at(s, TR_EPI, kept);
}

static bool walk(space *s, const tr_nest *t, int64_t *idx);

/* One index of the axis after the other. */
static bool walk_axis(space *s, const tr_nest *t, int64_t *idx) {
    unsigned axis = s->axis[t->level];
    int64_t n = tr_irun_arg(s->r, s->i, axis)->i;
    for (idx[axis] = 0; idx[axis] < n; idx[axis]++)
        if (!walk(s, t->in, idx))
            return false;
    return true;
}

static bool walk(space *s, const tr_nest *t, int64_t *idx) {
    switch (t->kind) {
    case TR_NEST_ORDER:
        for (unsigned k = 0; k < t->ndim; k++)
            s->axis[k] = t->axis[k];
        return walk(s, t->in, idx);
    case TR_NEST_FOR: return walk_axis(s, t, idx);
    case TR_NEST_ROW: return walk(s, t->in, idx) && (!t->by || walk(s, t->by, idx));
    case TR_NEST_REDUCE: begin_reds(s); return walk(s, t->in, idx) && end_reds(s);
    case TR_NEST_TOP: return begin_top(s) && walk(s, t->in, idx);
    case TR_NEST_CHOOSE: s->ntop = 0; return walk_axis(s, t, idx) && store_best(s, idx);
    case TR_NEST_ELEMENT: return point(s, idx);
    case TR_NEST_EPILOGUE: return epilogue(s, idx);
    default: return tr_irun_fault(s->r, s->i, "is no loop of one thread that goes element by element");
    }
}

/* Arrays of which the rounds' own patterns walk parts: these stay in the cache from one to the next. */
static void count_walked(space *s) {
    for (uint32_t k = tr_pat_at(s->p, P_CAP); k < tr_pat_at(s->p, P_CAP + 1); k++) {
        const tr_ty *t = tr_irun_arg_type(s->r, s->i, k);
        uint8_t memory = t->kind == TR_TY_ARRAY ? tr_pat_walked(s->p, k) : 0;
        uint64_t bytes = memory ? tr_ty_size(t->elem) : 0;
        for (unsigned x = 0; memory && x < t->ndim; x++)
            bytes *= (uint64_t)tr_irun_dim(tr_irun_arg(s->r, s->i, k), x);
        s->r->in->read += memory & TR_MEM_READ ? bytes : 0;
        s->r->in->written += memory & TR_MEM_WRITE ? bytes : 0;
    }
}

/* What was packed and is kept has been written; the rest will have been written over. */
static void count_kept(space *s) {
    for (uint32_t k = tr_pat_at(s->p, P_PACK); k < tr_pat_at(s->p, P_PACK + 1); k++)
        s->r->in->written += (uint64_t)s->acc[0]->i * tr_ty_size(tr_irun_arg_type(s->r, s->i, k)->elem);
}

/* Room for what is reduced by functions, and how many parts all reductions have. */
static unsigned prepare_joins(space *s) {
    const tr_pat *p = s->p;
    tr_arena *a = &s->r->in->ctx->arena;
    unsigned parts = 0;
    for (uint32_t k = 0; k < tr_pat_nred(p); k++) {
        unsigned n = tr_ty_nparts(tr_irun_arg_type(s->r, s->i, tr_pat_at(p, P_SCAN) + k));
        parts += n;
        if (!p->joins[k].by)
            continue;
        s->joining = s->joining ? s->joining : TR_NEW_N(a, joining, tr_pat_nred(p));
        s->joining[k] = (joining){.by = tr_irun_begin(s->r->in, p->joins[k].by),
                                  .nparts = n,
                                  .block = TR_NEW_N(a, tr_slot, (size_t)n * TR_SUM_BLOCK),
                                  .level = TR_NEW_N(a, tr_slot, (size_t)n * JOIN_LEVELS),
                                  .before = TR_NEW_N(a, tr_slot, n),
                                  .done = TR_NEW_N(a, tr_slot, n),
                                  .last = TR_NEW_N(a, tr_slot, n),
                                  .blocks = tr_pat_in_blocks(p)};
    }
    s->scattering = TR_NEW_N(a, tr_irun, p->nscat + 1u);
    for (uint32_t k = 0; k < p->nscat; k++) {
        tr_fn *by = tr_pat_join(p, tr_pat_at(p, P_SCAT) + k)->by;
        if (by)
            s->scattering[k] = tr_irun_begin(s->r->in, by);
    }
    return parts;
}

bool tr_irun_pattern(tr_irun *r, const tr_ins *i, tr_slot *out) {
    assert(i->op == TR_OP_PATTERN && i->nargs == tr_pat_nargs(i->imm.pat));
    const tr_pat *p = i->imm.pat;
    space *s = TR_NEW(&r->in->ctx->arena, space);
    int64_t idx[TR_MAX_NDIM + 1];
    *s = (space){.r = r, .i = i, .p = p, .lam = tr_irun_begin(r->in, p->lam)};
    if (p->epi)
        s->epi = tr_irun_begin(r->in, p->epi);
    if (tr_pat_in_blocks(p) && !tr_pat_joins(p)) {
        s->after = tr_irun_begin(r->in, tr_pat_scan_after(p));
        s->groups = TR_NEW_N(&r->in->ctx->arena, groups, p->nscan);
        s->values = tr_arena_alloc(&r->in->ctx->arena, p->nscan * sizeof *s->values);
    }
    if (2 * tr_pat_nyield(r->f, i) > MAX_PARTS)
        return tr_irun_fault(r, i, "too many values for the interpreter");
    /* without kept axes the result's parts are the accumulators */
    unsigned parts = prepare_joins(s);
    s->accs = p->keep ? TR_NEW_N(&r->in->ctx->arena, tr_slot, parts + 1u) : out;
    r->in->patterns++;
    bool ok = walk(s, tr_nest_plain(r->f, i), idx);
    if (p->nfilt)
        count_kept(s);
    if (r->in->patterns == 1)
        count_walked(s);
    r->in->patterns--;
    return ok;
}
