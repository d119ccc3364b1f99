/* Quotients and remainders of a loop's counter, counted along with it in place of dividing
 * in each round (strength reduction):
 *
 *   for i in 0..n: x = a[i / d, i % d]        i, q = 0, 0
 *                                             while true:
 *                                                 for left in d, d - 1 .. 1:
 *                                                     if i == n: leave
 *                                                     x = a[q, d - left]; i += 1
 *                                                 q += 1
 *
 * Where n is a number of whole rows, the test stands between them, and rows may have vectors. `a.flat`,
 * np.ndenumerate and np.ndindex over arrays that are no line of memory are such loops, and so is code that
 * walks an array by one number. The first divisor makes two loops of one, so that a row's place is known
 * before its items. Others have counters in the loop, without a jump. The quotient may be divided again: it
 * goes on by one where a row ends, or by what the remainder before it carries.
 * A divisor is the size of an axis, known before the loop, so that it is not negative; where it is 0 nothing
 * was divided, and nothing is here. Constants stay:
 * LLVM divides by them in vectors.
 * Where one counter is divided by sizes of several axes, as that of zip(a.flat, b.flat), these are mostly
 * equal: a test before the loop finds that, and in one copy of it they are one size, with one quotient and
 * one remainder; the other copy hardly ever runs.
 * After bounds and prange, which know what / and % are. Cost: linear in the function; a round has a test
 * more, and four instructions for each further divisor. */
#include <assert.h>

#include "ir/loops.h"
#include "opt/priv.h"
#include "opt/emit.h"
#include "opt/scalar/version.h"

enum { MAX_LOOP = 300, MAX_SIZES = 4 }; /* instructions of a loop that is copied, sizes that may be one */

typedef struct odometer {
    tr_fn *f;
    tr_forest loops;
    uint8_t *in_rows; /* per loop: it is two by now, and the ways into its head are others */
    const tr_ty *i64;
    tr_val *work; /* divisions by the size of an axis */
    uint32_t nwork;
    tr_repl repl;
    bool changed;
} odometer;

static bool is_quot_or_rem(const tr_ins *in) {
    return in->op == TR_OP_QUOT || in->op == TR_OP_REM;
}

/* The loop whose head is this block; TR_NOLOOP: none, or not one that can be changed. */
static uint32_t loop_of(const odometer *o, tr_bid head) {
    uint32_t l = tr_forest_headed(&o->loops, head);
    return l != TR_NOLOOP && head != 0 && !o->in_rows[l] ? l : TR_NOLOOP;
}

/* The size of an axis, from before the loop. */
static bool is_divisor(const odometer *o, uint32_t l, tr_val d) {
    const tr_ins *in = tr_at(o->f, d);
    return in->op == TR_OP_DIM && tr_loop_is_before(o->f, o->loops.all.d[l].header, d);
}

/* The edges into a block, and by how much what is divided goes on there; TR_NOVAL: it begins. */
typedef struct way {
    tr_edge *edge;
    tr_bid from;
    tr_val step;
} way;

static tr_val compare_with_0(odometer *o, tr_bld *b, tr_val x) {
    return tr_emit_cmp(b, TR_CMP_EQ, x, tr_const_int(o->f, o->i64, 0));
}

static tr_bld before_end(const odometer *o, tr_bid b) {
    return (tr_bld){.fn = o->f, .blk = b, .before = tr_blk_at(o->f, b)->last, .loc = tr_term(o->f, b)->loc};
}

/* d - left, at the top of the block where left comes in. */
static tr_val remainder_of(odometer *o, tr_bid head, tr_val d, tr_val left) {
    tr_bld top = {.fn = o->f, .blk = head, .before = tr_blk_at(o->f, head)->first, .loc = 0};
    return tr_emit2(&top, TR_OP_SUB, o->i64, d, left);
}

static bool is_division(const odometer *o, tr_val v, tr_val x, tr_val d) {
    return is_quot_or_rem(tr_at(o->f, v)) && tr_arg(o->f, v, 0) == x && tr_arg(o->f, v, 1) == d &&
           tr_repl_get(&o->repl, v) == v;
}

/* The divisions of x by d are q and r; what divides the quotient divides q. */
static void replace(odometer *o, tr_val x, tr_val d, tr_val q, tr_val r) {
    tr_fn *f = o->f;
    for (uint32_t i = 0; i < o->nwork; i++) {
        if (!is_division(o, o->work[i], x, d))
            continue;
        bool quotient = tr_at(f, o->work[i])->op == TR_OP_QUOT;
        for (uint32_t j = 0; j < o->nwork && quotient; j++)
            if (tr_arg(f, o->work[j], 0) == o->work[i])
                tr_at(f, o->work[j])->args[0] = q;
        tr_repl_set(f, &o->repl, o->work[i], quotient ? q : r);
    }
    o->changed = true;
}

static void count_along(odometer *o, uint32_t l, tr_bid head, way *ways, uint32_t n, tr_val x, tr_val d);

static void divide_again(odometer *o, uint32_t l, tr_bid head, way *ways, uint32_t n, tr_val q) {
    for (uint32_t i = 0; i < o->nwork; i++) {
        tr_val d = tr_arg(o->f, o->work[i], 1);
        if (is_division(o, o->work[i], q, d) && is_divisor(o, l, d))
            count_along(o, l, head, ways, n, q, d);
    }
}

/* Counters of x / d and x % d, params of the head that these ways lead to. What is left counts down, so that
 * a round waits for two instructions of the one before. */
static void count_along(odometer *o, uint32_t l, tr_bid head, way *ways, uint32_t n, tr_val x, tr_val d) {
    tr_fn *f = o->f;
    tr_val left = tr_blk_param(f, head, o->i64, NULL), q = tr_blk_param(f, head, o->i64, NULL);
    way *next = TR_NEW_N(&f->ctx->arena, way, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        next[k] = ways[k];
        if (ways[k].step == TR_NOVAL) {
            tr_edge_add(f, ways[k].edge, d);
            tr_edge_add(f, ways[k].edge, tr_const_int(f, o->i64, 0));
            continue;
        }
        tr_bld b = before_end(o, ways[k].from);
        tr_val less = tr_emit2(&b, TR_OP_SUB, o->i64, left, ways[k].step), full = compare_with_0(o, &b, less);
        tr_edge_add(f, ways[k].edge, tr_emit_select(&b, full, d, less));
        next[k].step = tr_emit1(&b, TR_OP_CONV, o->i64, full);
        tr_edge_add(f, ways[k].edge, tr_emit2(&b, TR_OP_ADD, o->i64, q, next[k].step));
    }
    replace(o, x, d, q, remainder_of(o, head, d, left));
    divide_again(o, l, head, next, n, q);
}

/* --- two loops of one --- */

static tr_bid block_like(odometer *o, tr_bid h) {
    tr_bid b = tr_blk_new(o->f);
    tr_blk_at(o->f, b)->cold = tr_blk_at(o->f, h)->cold;
    return b;
}

/* A product of sizes of one array, each of them once: nothing wraps, unless one is 0, and
 * so is the product then. */
static bool is_product_of_sizes(const tr_fn *f, tr_val v, tr_val array, uint32_t *axes) {
    const tr_ins *in = tr_at(f, v);
    if (in->op == TR_OP_MUL)
        return is_product_of_sizes(f, in->args[0], array, axes) &&
               is_product_of_sizes(f, in->args[1], array, axes);
    if (in->op != TR_OP_DIM || in->args[0] != array || *axes >> in->imm.i & 1)
        return false;
    *axes |= 1u << in->imm.i;
    return true;
}

/* Does the loop go on while x is below a number that d is a factor of, which its head asks and does nothing
 * else, and end in no other way? Then it ends where a row does, and asks once for each row. */
static bool has_whole_rows(const odometer *o, uint32_t l, tr_val x, tr_val d) {
    const tr_fn *f = o->f;
    const tr_loop *loop = &o->loops.all.d[l];
    const tr_ins *size = tr_at(f, d);
    const tr_blk *head = tr_blk_at(f, loop->header);
    uint32_t axes = 0, known = o->loops.nblks; /* blocks that have come since may lie in the loop as well */
    tr_loop_test t;
    if (!tr_forest_test(&o->loops, l, &t) || t.counter != x || head->first != t.cond ||
        tr_at(f, t.cond)->next != head->last || tr_at(f, t.bound)->blk >= known || t.exit >= known ||
        t.body == loop->header || loop_of(o, t.body) != TR_NOLOOP)
        return false;
    return tr_forest_leaves_only_at(&o->loops, l, loop->header) &&
           is_product_of_sizes(f, t.bound, size->args[0], &axes) && (axes >> size->imm.i & 1);
}

/* Uses of the first n of these values in a block are uses of others. */
static void use_others(tr_fn *f, tr_bid b, const tr_val *from, const tr_val *to, uint32_t n) {
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
        tr_ins *in = tr_at(f, v);
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t k = 0; k < in->nargs; k++)
                if (in->args[k] == from[i])
                    in->args[k] = to[i];
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                    if (in->imm.succ[s].args[k] == from[i])
                        in->imm.succ[s].args[k] = to[i];
        }
    }
}

/* Two heads of a loop: of its rows, and of the items of one. */
typedef struct heads {
    tr_bid rows, items;
    tr_val *params; /* of items: those that the loop's head had, and what is left of a row */
} heads;

/* A head for rows is put in front of the loop's own; or one for items behind it, where rows are whole. */
static heads split_head(odometer *o, tr_bid h, tr_val d, bool whole) {
    tr_fn *f = o->f;
    tr_bid other = block_like(o, h);
    heads s = {whole ? h : other, whole ? other : h, NULL};
    uint32_t np = tr_blk_at(f, h)->params.n;
    tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, np + 1u);
    s.params = TR_NEW_N(&f->ctx->arena, tr_val, np + 1u);
    for (uint32_t k = 0; k < np; k++) {
        tr_val old = tr_blk_at(f, h)->params.d[k];
        tr_val copy = tr_blk_param(f, other, tr_at(f, old)->ty, NULL);
        args[k] = whole ? old : copy;
        s.params[k] = whole ? copy : old;
    }
    args[np] = d;
    tr_bld b = {.fn = f, .blk = other, .before = TR_NOVAL, .loc = tr_term(f, h)->loc};
    if (whole) {
        tr_edge *in = &tr_term(f, h)->imm.succ[0];
        tr_br(&b, in->to, in->n, in->args);
        in = &tr_term(f, h)->imm.succ[0];
        in->to = other;
        in->n = 0;
        for (uint32_t k = 0; k <= np; k++)
            tr_edge_add(f, in, args[k]);
    } else {
        tr_br(&b, h, np + 1, args);
    }
    s.params[np] = tr_blk_param(f, s.items, o->i64, NULL);
    return s;
}

/* The loop with head h, which has one way back, becomes the inner one: rows are a loop
 * around it, whose counter is x / d. */
static void make_rows(odometer *o, uint32_t l, way *ways, uint32_t n, tr_val x, tr_val d) {
    tr_fn *f = o->f;
    const tr_loop *loop = &o->loops.all.d[l];
    tr_bid h = loop->header, end = block_like(o, h), more = block_like(o, h);
    uint32_t np = tr_blk_at(f, h)->params.n;
    tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, np + 1u);
    bool whole = has_whole_rows(o, l, x, d);
    tr_val *old = tr_arena_copy(&f->ctx->arena, tr_blk_at(f, h)->params.d, np * sizeof *old);
    heads s = split_head(o, h, d, whole);
    tr_val q = tr_blk_param(f, s.rows, o->i64, NULL), left = s.params[np];
    tr_bld b;
    for (uint32_t k = 0; k < n; k++) {
        if (ways[k].step == TR_NOVAL) {
            ways[k].edge->to = s.rows;
            tr_edge_add(f, ways[k].edge, tr_const_int(f, o->i64, 0));
            continue;
        }
        for (uint32_t i = 0; i < np; i++)
            args[i] = ways[k].edge->args[i];
        ways[k].edge->to = end;
        ways[k].edge->n = 0;
        b = (tr_bld){.fn = f, .blk = end, .before = TR_NOVAL, .loc = tr_term(f, ways[k].from)->loc};
        args[np] = tr_emit2(&b, TR_OP_SUB, o->i64, left, tr_const_int(f, o->i64, 1));
        tr_cbr(&b, compare_with_0(o, &b, args[np]), more, 0, NULL, s.items, np + 1, args);
        b.blk = more;
        args[np] = tr_emit2(&b, TR_OP_ADD, o->i64, q, tr_const_int(f, o->i64, 1));
        tr_br(&b, s.rows, np + 1, args);
        ways[k] = (way){&tr_term(f, more)->imm.succ[0], more, tr_const_int(f, o->i64, 1)};
    }
    o->in_rows[l] = 1;
    replace(o, x, d, q, remainder_of(o, s.items, d, left));
    divide_again(o, l, s.rows, ways, n, q);
    for (uint32_t k = 0; whole && k < loop->blks.n; k++)
        if (loop->blks.d[k] != h)
            use_others(f, loop->blks.d[k], old, s.params, np);
    const tr_bid made[] = {s.items, end, more};
    for (uint32_t k = 0; whole && k < 3; k++)
        use_others(f, made[k], old, s.params, np);
}

/* The divisions of this loop's counter, the divisor of `first` among them. */
static void change(odometer *o, uint32_t l, tr_val x, tr_val first) {
    tr_fn *f = o->f;
    tr_bid h = o->loops.all.d[l].header;
    way *ways = TR_NEW_N(&f->ctx->arena, way, tr_blk_at(f, h)->preds.n + 1u);
    uint32_t n = 0, back = 0;
    for (tr_way w = {0}; tr_next_way(f, h, &w); n++) {
        bool in = tr_forest_has(&o->loops, l, w.from);
        ways[n] = (way){(tr_edge *)w.edge, w.from, in ? tr_const_int(f, o->i64, 1) : TR_NOVAL};
        back += in;
    }
    for (uint32_t i = 0; i < o->nwork; i++) {
        tr_val d = tr_arg(f, o->work[i], 1);
        if ((d != first || back != 1) && is_division(o, o->work[i], x, d) && is_divisor(o, l, d))
            count_along(o, l, h, ways, n, x, d);
    }
    if (back == 1)
        make_rows(o, l, ways, n, x, first);
}

/* Divisions by the size of an axis. */
static void find_divisions(odometer *o) {
    const tr_fn *f = o->f;
    o->nwork = 0;
    o->work = TR_NEW_N(&f->ctx->arena, tr_val, f->ins.n + 1u);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (is_quot_or_rem(tr_at(f, v)) && tr_at(f, v)->ty == o->i64 &&
                tr_at(f, tr_arg(f, v, 1))->op == TR_OP_DIM)
                o->work[o->nwork++] = v;
}

static void find_loops(odometer *o) {
    o->loops = tr_forest_find(o->f);
    o->in_rows = TR_NEW_N(&o->f->ctx->arena, uint8_t, o->loops.all.n + 1u);
}

/* The loop that such a division's counter belongs to; TR_NOLOOP: it is no counter. */
static uint32_t counted_by(const odometer *o, tr_val division) {
    tr_val x = tr_arg(o->f, division, 0);
    tr_bid head = tr_at(o->f, x)->blk;
    uint32_t l = tr_at(o->f, x)->op == TR_OP_PARAM ? loop_of(o, head) : TR_NOLOOP;
    bool counts =
        l != TR_NOLOOP && is_divisor(o, l, tr_arg(o->f, division, 1)) && tr_loop_counts(o->f, head, x);
    return counts ? l : TR_NOLOOP;
}

/* --- sizes that are mostly equal --- */

/* What divides one number, or what is one number if sizes are equal: the sizes, each but
 * the first to be that. */
typedef struct sizes {
    tr_val d[MAX_SIZES];
    uint32_t n;
} sizes;

static bool is_one_of(const tr_val *x, uint32_t n, tr_val v) {
    uint32_t k = 0;
    while (k < n && x[k] != v)
        k++;
    return k < n;
}

/* By what these numbers are divided, and the quotients. False: by more sizes than are tested. */
static bool sizes_of(const odometer *o, uint32_t l, const tr_val *x, uint32_t n, sizes *s, tr_val *quotients,
                     uint32_t *nq) {
    s->n = *nq = 0;
    for (uint32_t i = 0; i < o->nwork; i++) {
        tr_val v = o->work[i], d = tr_arg(o->f, v, 1);
        if (!is_one_of(x, n, tr_arg(o->f, v, 0)) || !is_divisor(o, l, d))
            continue;
        if (tr_at(o->f, v)->op == TR_OP_QUOT)
            quotients[(*nq)++] = v;
        if (is_one_of(s->d, s->n, d))
            continue;
        if (s->n == MAX_SIZES)
            return false;
        s->d[s->n++] = d;
    }
    return true;
}

/* A division that will be one by this size. */
typedef struct edit {
    tr_val division, size;
} edit;
typedef TR_VEC(edit) edits;

/* The conditions that make all divisions of the counter some by one row of sizes. Returns
 * how many there are. */
static uint32_t plan_equal(const odometer *o, uint32_t l, tr_val x, tr_lin *conds, uint32_t most,
                           edits *then) {
    tr_arena *a = &o->f->ctx->arena;
    tr_val *numbers = TR_NEW_N(a, tr_val, o->nwork + 1u), *next = TR_NEW_N(a, tr_val, o->nwork + 1u), *swap;
    uint32_t n = 1, nnext, found = 0;
    sizes s;
    numbers[0] = x;
    for (; n && sizes_of(o, l, numbers, n, &s, next, &nnext) && s.n; n = nnext) {
        if (found + 2 * (s.n - 1) > most)
            break;
        for (uint32_t k = 1; k < s.n; k++) {
            tr_lin one = tr_lin_val(s.d[0]), other = tr_lin_val(s.d[k]);
            for (int both = 0; both < 2; both++) {
                conds[found] = both ? other : one;
                tr_lin_add(&conds[found++], both ? &one : &other, -1);
            }
        }
        for (uint32_t i = 0; i < o->nwork; i++)
            if (is_one_of(numbers, n, tr_arg(o->f, o->work[i], 0)) &&
                is_one_of(s.d, s.n, tr_arg(o->f, o->work[i], 1)))
                tr_vec_push(a, then, ((edit){o->work[i], s.d[0]}));
        swap = numbers;
        numbers = next;
        next = swap;
    }
    return found;
}

/* Copies of loops, for sizes that are not equal. Threads of a kernel that meet must do so in one copy. */
static bool test_sizes(odometer *o) {
    enum { CONDS = 2 * MAX_SIZES };
    tr_fn *f = o->f;
    tr_arena *a = &f->ctx->arena;
    tr_version *v = TR_NEW_N(a, tr_version, o->nwork + 1u);
    uint32_t n = 0;
    edits then = {0};
    tr_u32s slow = {0};
    for (uint32_t i = 0; i < o->nwork && f->kind != TR_FN_KERNEL && f->kind != TR_FN_DEVICE; i++) {
        uint32_t l = counted_by(o, o->work[i]);
        bool fits = l != TR_NOLOOP && !tr_blk_at(f, o->loops.all.d[l].header)->cold &&
                    tr_loop_size(f, &o->loops.all.d[l]) <= MAX_LOOP;
        for (uint32_t k = 0; k < n && fits; k++) /* no loop in one that is copied, nor one around it */
            fits =
                !tr_forest_has(&o->loops, tr_forest_number(&o->loops, v[k].loop), o->loops.all.d[l].header) &&
                !tr_forest_has(&o->loops, l, v[k].loop->header);
        if (!fits)
            continue;
        edits these = {0};
        tr_lin *conds = TR_NEW_N(a, tr_lin, CONDS);
        uint32_t found = plan_equal(o, l, tr_arg(f, o->work[i], 0), conds, CONDS, &these);
        if (!found)
            continue;
        v[n++] = (tr_version){&o->loops.all.d[l], conds, found};
        for (uint32_t k = 0; k < these.n; k++)
            tr_vec_push(a, &then, these.d[k]);
    }
    if (n)
        tr_opt_version(f, v, n, &slow);
    for (uint32_t k = 0; k < then.n; k++)
        tr_at(f, then.d[k].division)->args[1] = then.d[k].size;
    return n > 0;
}

bool tr_opt_odometer(tr_prog *p, tr_fn *f) {
    odometer o = {.f = f, .i64 = tr_ty_scalar(p->ctx->types, TR_TY_I64)};
    find_divisions(&o);
    if (o.nwork == 0)
        return false;
    find_loops(&o);
    if (test_sizes(&o)) {
        tr_cfg_compute(f);
        tr_dom_compute(f);
        find_divisions(&o);
        find_loops(&o);
        o.changed = true;
    }
    o.repl = tr_repl_new(f);
    for (uint32_t i = 0; i < o.nwork; i++) {
        tr_val x = tr_arg(f, o.work[i], 0), d = tr_arg(f, o.work[i], 1);
        uint32_t l = is_division(&o, o.work[i], x, d) ? counted_by(&o, o.work[i]) : TR_NOLOOP;
        if (l != TR_NOLOOP)
            change(&o, l, x, d);
    }
    if (o.changed)
        tr_repl_apply(f, &o.repl);
    return o.changed;
}
