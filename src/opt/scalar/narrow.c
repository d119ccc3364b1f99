/* Arithmetic on numbers from memory that are narrower than it (bitwidth reduction, by value ranges).
 *
 * Integers are computed in 64 bits, whatever arrays hold: a sum of pixels cannot overflow. In vectors that
 * costs the most part of the speed: a lane holds 64 bits where the numbers need 11. So where the ranges of
 * all values of an expression are known, from the types of what was loaded, and fit, it is computed in 16 or
 * 32 bits: the same numbers, and so the same bits. LLVM narrows what is cut off in the end, by the bits that
 * are asked for, and knows no ranges in its vectoriser.
 *
 * A member is an operation on 64 bits whose range is known, of members, constants and leaves: numbers that
 * were widened. Members that use each other are a group, and so are those that one comparison or select looks
 * at; a group has one width. One whose value is used in 64 bits, as an index or in a sum that goes round,
 * stays as it is: widening it again would cost what was won. Values that blocks are given count where all
 * ways bring members; what goes round in a loop is never one.
 * Cost: one sweep for leaves; where there are any, two more. */
#include <assert.h>

#include "opt/priv.h"

enum { MAX_SHIFT = 15 };
#define MOST ((int64_t)1 << 31) /* a range lies from -MOST to MOST - 1 */

typedef struct span {
    int64_t lo, hi;
} span;

typedef enum role { NONE, LEAF, TEST, MEMBER } role; /* TEST: a comparison of members */

typedef struct node {
    uint8_t role;
    bool members, wide; /* of a group, at its root: it has members; a value of it is used in 64 bits */
    span s, all;        /* its own range; of a group, at its root: of all its values and their operands */
    tr_val up;          /* union-find: towards the root */
    tr_val in16, in32;  /* a leaf: what it is in a narrow type, or TR_NOVAL */
} node;

typedef struct narrower {
    tr_fn *f;
    node *n;
} narrower;

/* --- ranges --- */

static bool span_fits_narrow(span s) {
    return s.lo >= -MOST && s.hi < MOST;
}

static span hull(span a, span b) {
    return (span){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static span hull4(int64_t a, int64_t b, int64_t c, int64_t d) {
    return hull(hull((span){a, a}, (span){b, b}), hull((span){c, c}, (span){d, d}));
}

/* Of a type of at most 32 bits; false: its numbers may be larger. */
static bool span_of_type(const tr_ty *t, span *out) {
    char c = tr_ty_class(t);
    unsigned bits = c == 'b' ? 1 : 8 * tr_ty_size(t);
    if (!tr_opt_is_int_type(t) || bits > 32)
        return false;
    *out = c == 'i' ? (span){-((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1}
                    : (span){0, ((int64_t)1 << bits) - 1};
    return span_fits_narrow(*out);
}

static bool type_is_wide(const tr_ty *t) {
    return t && (t->kind == TR_TY_I64 || t->kind == TR_TY_U64);
}

/* The range of a constant, a leaf or a member. */
static bool span_of(const narrower *w, tr_val v, span *out) {
    int64_t k;
    if (w->n[v].role == LEAF || w->n[v].role == MEMBER)
        return *out = w->n[v].s, true;
    const tr_ty *t = tr_at(w->f, v)->ty;
    if (!type_is_wide(t) || !tr_get_int(w->f, v, &k) || (t->kind == TR_TY_U64 && k < 0))
        return false;
    *out = (span){k, k};
    return span_fits_narrow(*out);
}

static int64_t floor_div(int64_t a, int64_t b) {
    assert(b != 0);
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

/* All numbers of so many bits, as two's complement has them, that hold both. */
static span bits_of(span a, span b) {
    int64_t top = 1;
    span s = hull(a, b);
    while (s.hi >= top || s.lo < -top)
        top *= 2;
    return (span){s.lo < 0 ? -top : 0, top - 1};
}

static span span_of_and(span a, span b) {
    if (a.lo >= 0 && b.lo >= 0)
        return (span){0, a.hi < b.hi ? a.hi : b.hi};
    return a.lo >= 0 ? (span){0, a.hi} : b.lo >= 0 ? (span){0, b.hi} : bits_of(a, b);
}

/* By a constant other than 0. */
static bool span_by(tr_op op, span a, int64_t k, span *out) {
    int64_t most = k < 0 ? -k - 1 : k - 1;
    switch (op) {
    case TR_OP_FLOORDIV:
        *out = hull4(floor_div(a.lo, k), floor_div(a.hi, k), floor_div(a.lo, k), 0);
        return true;
    case TR_OP_QUOT: *out = hull4(a.lo / k, a.hi / k, 0, 0); return true;
    case TR_OP_FLOORMOD: *out = k > 0 ? (span){0, most} : (span){-most, 0}; return true;
    case TR_OP_REM: *out = (span){a.lo < 0 ? -most : 0, a.hi > 0 ? most : 0}; return true;
    default: return false;
    }
}

static bool span_of_op(const narrower *w, const tr_ins *in, span *out) {
    span a, b = {0, 0};
    bool one = in->nargs == 1, shift = in->op == TR_OP_SHL || in->op == TR_OP_SHR;
    unsigned from = in->op == TR_OP_SELECT;
    if (in->nargs <= from || !span_of(w, in->args[from], &a) || (!one && !span_of(w, in->args[from + 1], &b)))
        return false;
    if (shift && (b.lo != b.hi || b.lo < 0 || b.lo > MAX_SHIFT))
        return false;
    switch ((tr_op)in->op) {
    case TR_OP_ADD: *out = (span){a.lo + b.lo, a.hi + b.hi}; return true;
    case TR_OP_SUB: *out = (span){a.lo - b.hi, a.hi - b.lo}; return true;
    case TR_OP_MUL: *out = hull4(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi); return true;
    case TR_OP_NEG: *out = (span){-a.hi, -a.lo}; return true;
    case TR_OP_NOT: *out = (span){~a.hi, ~a.lo}; return true;
    case TR_OP_ABS: *out = hull4(0, a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? -a.hi : a.hi, 0); return true;
    case TR_OP_AND: *out = span_of_and(a, b); return true;
    case TR_OP_OR:
    case TR_OP_XOR: *out = bits_of(a, b); return true;
    case TR_OP_SHL: *out = (span){a.lo * ((int64_t)1 << b.lo), a.hi * ((int64_t)1 << b.lo)}; return true;
    case TR_OP_SHR: *out = (span){a.lo >> b.lo, a.hi >> b.lo}; return true;
    case TR_OP_MIN: *out = (span){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi}; return true;
    case TR_OP_MAX: *out = (span){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi}; return true;
    case TR_OP_SELECT: *out = hull(a, b); return true;
    case TR_OP_CONV: *out = a; return type_is_wide(tr_at(w->f, in->args[0])->ty);
    default: return b.lo == b.hi && b.lo != 0 && in->nargs == 2 && span_by((tr_op)in->op, a, b.lo, out);
    }
}

/* --- groups --- */

static tr_val root_of(narrower *w, tr_val v) {
    while (w->n[v].up != v)
        v = w->n[v].up = w->n[w->n[v].up].up;
    return v;
}

/* v's group holds the operand too, or at least what it spans. */
static void take_operand(narrower *w, tr_val v, tr_val operand) {
    tr_val to = root_of(w, v);
    span s;
    if (!span_of(w, operand, &s))
        return;
    w->n[to].all = hull(w->n[to].all, s);
    if (w->n[operand].role != MEMBER)
        return;
    tr_val from = root_of(w, operand);
    w->n[to].all = hull(w->n[to].all, w->n[from].all);
    w->n[to].members = true;
    w->n[from].up = to;
}

static void begin(narrower *w, tr_val v, role r, span s) {
    assert(w->n[v].role == NONE);
    w->n[v] = (node){.role = (uint8_t)r,
                     .members = r == MEMBER,
                     .s = s,
                     .all = s,
                     .up = v,
                     .in16 = TR_NOVAL,
                     .in32 = TR_NOVAL};
}

/* Is it one value of 64 bits, of a range that fits? Numbers without sign are never below 0:
 * they would wrap. */
static bool may_be_narrow(const tr_ins *in, span s) {
    return type_is_wide(in->ty) && span_fits_narrow(s) && (in->ty->kind == TR_TY_I64 || s.lo >= 0);
}

/* A number that fits in fewer bits is widened. */
static bool conv_widens_narrow(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    span s;
    return in->op == TR_OP_CONV && span_of_type(tr_at(f, in->args[0])->ty, &s) && may_be_narrow(in, s);
}

static void visit(narrower *w, tr_val v) {
    const tr_ins *in = tr_at(w->f, v);
    span s;
    if (in->op == TR_OP_CMP) {
        if (!span_of(w, in->args[0], &s) || !span_of(w, in->args[1], &s))
            return;
        begin(w, v, TEST, s);
    } else if (conv_widens_narrow(w->f, v)) {
        span_of_type(tr_at(w->f, in->args[0])->ty, &s);
        begin(w, v, LEAF, s);
        return;
    } else if (type_is_wide(in->ty) && span_of_op(w, in, &s) && may_be_narrow(in, s)) {
        begin(w, v, MEMBER, s);
    } else {
        return;
    }
    for (uint32_t i = in->op == TR_OP_SELECT; i < in->nargs; i++)
        take_operand(w, v, in->args[i]);
}

/* A value that a block is given, when all ways that bring it were met before. */
static void visit_param(narrower *w, tr_bid b, uint32_t i) {
    tr_val v = tr_blk_at(w->f, b)->params.d[i];
    span s, all = {INT64_MAX, INT64_MIN};
    if (!type_is_wide(tr_at(w->f, v)->ty))
        return;
    for (tr_way way = {0}; tr_next_way(w->f, b, &way);) {
        if (!span_of(w, way.edge->args[i], &s) || way.edge->args[i] == v)
            return;
        all = hull(all, s);
    }
    if (all.lo > all.hi || !may_be_narrow(tr_at(w->f, v), all))
        return;
    begin(w, v, MEMBER, all);
    for (tr_way way = {0}; tr_next_way(w->f, b, &way);)
        take_operand(w, v, way.edge->args[i]);
}

static void find_members(narrower *w) {
    for (uint32_t i = 0; i < w->f->rpo.n; i++) {
        tr_blk *b = tr_blk_at(w->f, w->f->rpo.d[i]);
        for (uint32_t k = 0; i > 0 && k < b->params.n; k++)
            visit_param(w, w->f->rpo.d[i], k);
        for (tr_val v = b->first; v != TR_NOVAL; v = tr_at(w->f, v)->next)
            visit(w, v);
    }
}

/* --- who uses them --- */

static void used_wide(narrower *w, tr_val v) {
    if (w->n[v].role == MEMBER)
        w->n[root_of(w, v)].wide = true;
}

/* A number cut to fewer bits, or made a float, is the same of a narrow one. */
static bool conv_cuts_wide(const tr_ins *in) {
    return in->op == TR_OP_CONV && !type_is_wide(in->ty);
}

static void find_wide_uses(narrower *w) {
    for (uint32_t i = 0; i < w->f->rpo.n; i++)
        for (tr_val v = tr_blk_at(w->f, w->f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(w->f, v)->next) {
            const tr_ins *in = tr_at(w->f, v);
            for (uint32_t k = 0; k < in->nargs && w->n[v].role < TEST && !conv_cuts_wide(in); k++)
                used_wide(w, in->args[k]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++) {
                    const tr_blk *to = tr_blk_at(w->f, in->imm.succ[s].to);
                    if (k >= to->params.n || w->n[to->params.d[k]].role != MEMBER)
                        used_wide(w, in->imm.succ[s].args[k]);
                }
        }
}

/* --- the change --- */

/* The type of v's group; NULL: it stays. A comparison of leaves alone LLVM narrows too. */
static const tr_ty *type_of(narrower *w, tr_val v) {
    if (w->n[v].role < TEST)
        return NULL;
    const node *r = &w->n[root_of(w, v)];
    if (r->wide || !r->members)
        return NULL;
    bool half = r->all.lo >= INT16_MIN && r->all.hi <= INT16_MAX;
    return tr_ty_scalar(w->f->ctx->types, half ? TR_TY_I16 : TR_TY_I32);
}

/* The number that a leaf widens, in a type that may be wider than its own. */
static tr_val leaf_in(narrower *w, tr_val leaf, const tr_ty *t) {
    tr_ins in = *tr_at(w->f, leaf);
    tr_val *made = t->kind == TR_TY_I16 ? &w->n[leaf].in16 : &w->n[leaf].in32;
    if (tr_at(w->f, in.args[0])->ty == t)
        return in.args[0];
    if (*made == TR_NOVAL) {
        tr_bld b = {w->f, in.blk, in.next, in.loc};
        *made = tr_emit1(&b, TR_OP_CONV, t, in.args[0]);
    }
    return *made;
}

static tr_val operand_in(narrower *w, tr_val v, const tr_ty *t) {
    int64_t k;
    if (w->n[v].role == MEMBER)
        return v;
    if (w->n[v].role == LEAF)
        return leaf_in(w, v, t);
    bool known = tr_get_int(w->f, v, &k);
    assert(known);
    (void)known;
    return tr_const_int(w->f, t, k);
}

/* A division of what is not negative by a constant that is not: C's is Python's. */
static bool division_is_forward(const narrower *w, tr_val v) {
    span a = {-1, -1}, b = {-1, -1};
    span_of(w, tr_arg(w->f, v, 0), &a);
    return a.lo >= 0 && tr_get_int(w->f, tr_arg(w->f, v, 1), &b.lo) && b.lo > 0;
}

/* What v becomes with its operands; the ways into a block bring its params. */
static void make_narrow(narrower *w, tr_val v, const tr_ty *t) {
    assert(w->n[v].role == TEST || w->n[v].role == MEMBER);
    tr_op op = (tr_op)tr_at(w->f, v)->op;
    if (op == TR_OP_PARAM) {
        uint32_t i = tr_param_index(w->f, v);
        for (tr_way way = {0}; tr_next_way(w->f, tr_at(w->f, v)->blk, &way);)
            way.edge->args[i] = operand_in(w, way.edge->args[i], t);
    }
    for (uint32_t i = op == TR_OP_SELECT; i < tr_at(w->f, v)->nargs; i++) {
        tr_val x = operand_in(w, tr_arg(w->f, v, i), t); /* instructions may move */
        tr_at(w->f, v)->args[i] = x;
    }
    if (w->n[v].role != MEMBER)
        return;
    tr_at(w->f, v)->ty = t;
    if (op == TR_OP_FLOORDIV && division_is_forward(w, v))
        tr_at(w->f, v)->op = TR_OP_QUOT;
    if (op == TR_OP_ADD || op == TR_OP_SUB || op == TR_OP_MUL)
        tr_at(w->f, v)->flags |= F_NSW;
}

/* Leaves that nothing uses any more. */
static void drop_leaves(narrower *w, uint32_t n) {
    const uint32_t *uses = tr_use_counts(w->f);
    for (tr_val v = 0; v < n; v++)
        if (w->n[v].role == LEAF && uses[v] == 0)
            tr_ins_remove(w->f, v);
}

bool tr_opt_narrow(tr_prog *p, tr_fn *f) {
    (void)p;
    uint32_t n = f->ins.n;
    narrower w = {f, NULL};
    for (uint32_t i = 0; i < f->rpo.n && !w.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL && !w.n; v = tr_at(f, v)->next)
            if (conv_widens_narrow(f, v))
                w.n = TR_NEW_N(&f->ctx->arena, node, n);
    if (!w.n)
        return false;
    find_members(&w);
    find_wide_uses(&w);
    bool changed = false;
    for (tr_val v = 0; v < n; v++) {
        const tr_ty *t = type_of(&w, v);
        if (t)
            make_narrow(&w, v, t);
        changed |= t != NULL;
    }
    if (changed)
        drop_leaves(&w, n);
    return changed;
}
