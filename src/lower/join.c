/* Reductions by a function of the user's: contributions come in blocks of TR_SUM_BLOCK, each of which is
 * joined in the tree of ir.h (tr_pat), level by level from one buffer to another and back; whole blocks are
 * the leaves of a binary counter, as sums are (rt/sum.c). Neighbours are joined in a loop that carries
 * nothing, so LLVM makes vectors of functions that only compute; a loop over the items would wait for each
 * join.
 *
 * A scan has the totals of all nodes of a block's tree, and goes down again: what stands before a node stands
 * before its left half, and with that joined before its right one. So it has no chain either, for two joins
 * an item and a third for the value after it.
 *
 * Each part of a value has a stretch of slots in a buffer, TR_SUM_BLOCK of a reduction, its items side by
 * side from where that begins; what the ranges of a parallel pattern leave lies so, too. Levels of a scan are
 * behind each other, every other one in the same buffer. Cost: what joins a block is a function of the
 * module, where the user's only computes; the user's function is written out five times, else seven times. */
#include <assert.h>
#include <string.h>

#include "base/plant.h"
#include "lower/pattern.h"

static lt memory_type(const tr_lm *m, lt t) {
    return t == m->i1 ? m->i8 : t;
}

/* Item i of part k. */
static lv item(tr_lf *w, lv buf, unsigned stretch, unsigned k, lt t, lv i) {
    lv o = l_int(w->m->i64, (long long)k * stretch);
    lv part = LLVMBuildInBoundsGEP2(w->b, w->m->i64, buf, &o, 1, "");
    return LLVMBuildInBoundsGEP2(w->b, memory_type(w->m, t), part, &i, 1, "");
}

static void put(tr_lf *w, lv buf, const tr_ljoin *j, lv i, const lv *x) {
    for (unsigned k = 0; k < j->nparts; k++) {
        lv v = j->types[k] == w->m->i1 ? LLVMBuildZExt(w->b, x[k], w->m->i8, "") : x[k];
        LLVMBuildStore(w->b, v, item(w, buf, j->stretch, k, j->types[k], i));
    }
}

static void get(tr_lf *w, lv buf, const tr_ljoin *j, lv i, lv *x) {
    for (unsigned k = 0; k < j->nparts; k++) {
        lt t = j->types[k];
        x[k] = LLVMBuildLoad2(w->b, memory_type(w->m, t), item(w, buf, j->stretch, k, t, i), "");
        if (t == w->m->i1)
            x[k] = l_icmp(w->b, LLVMIntNE, x[k], l_int(w->m->i8, 0));
    }
}

static lv *room(tr_lf *w, const tr_ljoin *j) {
    return TR_NEW_N(&w->m->ctx->arena, lv, j->nparts);
}

void tr_join_two(tr_lf *w, const tr_ljoin *j, const lv *caps, const lv *x, const lv *y, lv *out) {
    unsigned n = j->nparts;
    lv *params = TR_NEW_N(&w->m->ctx->arena, lv, 2u * n + j->ncaps + 1u);
    memcpy(params, x, n * sizeof *x);
    memcpy(params + n, y, n * sizeof *y);
    memcpy(params + 2u * n, caps, j->ncaps * sizeof *caps);
    memcpy(out, tr_lower_lambda(w, j->by, j->loc, params), n * sizeof *out);
}

static lv *phis(tr_lf *w, const tr_ljoin *j) {
    lv *x = room(w, j);
    for (unsigned k = 0; k < j->nparts; k++)
        x[k] = LLVMBuildPhi(w->b, j->types[k], "");
    return x;
}

static void incoming(const tr_ljoin *j, lv *phis, const lv *x, lb from) {
    for (unsigned k = 0; k < j->nparts; k++)
        l_incoming(phis[k], x[k], from);
}

/* --- a block --- */

/* Item i of those from `off` on. */
static lv at_offset(tr_lf *w, lv off, lv i) {
    return LLVMIsConstant(off) && LLVMIsNull(off) ? i : LLVMBuildNUWAdd(w->b, off, i, "");
}

/* A loop over pairs of neighbours: the number of one, and of its first value. */
typedef struct pairs {
    lb head, end;
    lv i, first;
} pairs;

static pairs pairs_begin(tr_lf *w, const char *name, lv n) {
    LLVMBuilderRef o = w->b;
    lt i64 = w->m->i64;
    lb body, from = l_here(o);
    pairs l = {.head = tr_lower_block(w, name)};
    body = tr_lower_block(w, "");
    l.end = tr_lower_block(w, "");
    LLVMBuildBr(o, l.head);
    l_at_end(o, l.head);
    l.i = LLVMBuildPhi(o, i64, "");
    l_incoming(l.i, l_int(i64, 0), from);
    LLVMBuildCondBr(o, l_icmp(o, LLVMIntULT, l.i, n), body, l.end);
    l_at_end(o, body);
    l.first = LLVMBuildShl(o, l.i, l_int(i64, 1), "");
    LLVMSetNUW(l.first, 1);
    LLVMSetNSW(l.first, 1);
    return l;
}

static void pairs_end(tr_lf *w, const pairs *l) {
    LLVMBuilderRef o = w->b;
    l_incoming(l->i, LLVMBuildNUWAdd(o, l->i, l_int(w->m->i64, 1), ""), l_here(o));
    LLVMBuildBr(o, l->head);
    LLVMMoveBasicBlockAfter(l->end, l_here(o));
    l_at_end(o, l->end);
}

/* Values of `left` items in a, from oa on, in pairs to b, from ob on. Returns how many these are. */
static lv join_pairs(tr_lf *w, const tr_ljoin *j, const lv *caps, lv a, lv oa, lv b, lv ob, lv left) {
    LLVMBuilderRef o = w->b;
    lt i64 = w->m->i64;
    lv one = l_int(i64, 1), half = LLVMBuildLShr(o, left, one, ""), *x = room(w, j), *y = room(w, j);
    lv more = LLVMBuildLShr(o, LLVMBuildNUWAdd(o, left, one, ""), one, "");
    /* stays where it has no neighbour, else is written over */
    get(w, a, j, at_offset(w, oa, l_sub(o, left, one)), x);
    put(w, b, j, at_offset(w, ob, l_sub(o, more, one)), x);
    pairs l = pairs_begin(w, "pairs", half);
    lv i = l.i, at = at_offset(w, oa, l.first);
    get(w, a, j, at, x);
    get(w, a, j, LLVMBuildNUWAdd(o, at, one, ""), y);
    tr_join_two(w, j, caps, x, y, x);
    put(w, b, j, at_offset(w, ob, i), x);
    pairs_end(w, &l);
    return more;
}

/* n > 0 values in a as one, the first in a. */
static void write_block(tr_lf *w, const tr_ljoin *j, const lv *caps, lv a, lv b, lv n) {
    LLVMBuilderRef o = w->b;
    lb head = tr_lower_block(w, "levels"), body = tr_lower_block(w, ""), end = tr_lower_block(w, ""),
       from = l_here(o);
    LLVMBuildBr(o, head);
    l_at_end(o, head);
    lv left = LLVMBuildPhi(o, w->m->i64, "");
    l_incoming(left, n, from);
    LLVMBuildCondBr(o, l_icmp(o, LLVMIntUGT, left, l_int(w->m->i64, 1)), body, end);
    l_at_end(o, body);
    lv none = l_int(w->m->i64, 0);
    lv next = join_pairs(w, j, caps, b, none, a, none, join_pairs(w, j, caps, a, none, b, none, left));
    l_incoming(left, next, l_here(o));
    LLVMBuildBr(o, head);
    LLVMMoveBasicBlockAfter(end, l_here(o));
    l_at_end(o, end);
}

/* What stands before the nodes of a level, in a from oa on, before those below, `n` in b from ob on, which
 * are their totals until then. */
static void go_down(tr_lf *w, const tr_ljoin *j, const lv *caps, lv a, lv oa, lv b, lv ob, lv n) {
    LLVMBuilderRef o = w->b;
    lt i64 = w->m->i64;
    lv one = l_int(i64, 1), half = LLVMBuildLShr(o, n, one, ""), *x = room(w, j), *y = room(w, j);
    pairs l = pairs_begin(w, "halves", half);
    lv i = l.i, at = at_offset(w, ob, l.first);
    get(w, a, j, at_offset(w, oa, i), x);
    get(w, b, j, at, y);
    put(w, b, j, at, x);
    tr_join_two(w, j, caps, x, y, x);
    put(w, b, j, LLVMBuildNUWAdd(o, at, one, ""), x);
    pairs_end(w, &l);
    lv last = LLVMBuildLShr(o, l_sub(o, n, one), one, ""); /* has no right half where n is odd */
    get(w, a, j, at_offset(w, oa, last), x);
    put(w, b, j, at_offset(w, ob, LLVMBuildShl(o, last, one, "")), x);
}

/* Where levels are: even ones behind each other in a, the others in b. */
typedef struct levels {
    lv left, depth; /* nodes of a level in a; its number */
    lv oa, sa,
        ob; /* where it begins in a, how many nodes a whole block has there, where the next begins in b */
} levels;

static levels level_phis(tr_lf *w) {
    levels l;
    lv *all[] = {&l.left, &l.depth, &l.oa, &l.sa, &l.ob};
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        *all[k] = LLVMBuildPhi(w->b, w->m->i64, "");
    return l;
}

static void level_incoming(levels *l, const levels *x, lb from) {
    l_incoming(l->left, x->left, from);
    l_incoming(l->depth, x->depth, from);
    l_incoming(l->oa, x->oa, from);
    l_incoming(l->sa, x->sa, from);
    l_incoming(l->ob, x->ob, from);
}

/* How many nodes level `depth` of a block of n items has. */
static lv nodes(tr_lf *w, lv n, lv depth) {
    lv one = l_int(w->m->i64, 1), least = l_sub(w->b, LLVMBuildShl(w->b, one, depth, ""), one);
    return LLVMBuildLShr(w->b, LLVMBuildNUWAdd(w->b, n, least, ""), depth, "");
}

/* n > 0 values in a become what stands before each; item BEFORE is what stands before all, TOTAL what they
 * are together then. */
enum { STRETCH = 2 * TR_SUM_BLOCK, TOTAL = STRETCH - 2, BEFORE };
static void write_prefixes(tr_lf *w, const tr_ljoin *j, const lv *caps, lv a, lv b, lv n) {
    LLVMBuilderRef o = w->b;
    lt i64 = w->m->i64;
    lv zero = l_int(i64, 0), one = l_int(i64, 1), two = l_int(i64, 2), *x = room(w, j);
    lb head = tr_lower_block(w, "up"), body = tr_lower_block(w, ""), end = tr_lower_block(w, ""),
       from = l_here(o);
    LLVMBuildBr(o, head);
    l_at_end(o, head);
    levels l = level_phis(w), first = {n, zero, zero, l_int(i64, TR_SUM_BLOCK), zero};
    level_incoming(&l, &first, from);
    LLVMBuildCondBr(o, l_icmp(o, LLVMIntUGT, l.left, one), body, end);
    l_at_end(o, body);
    lv above = LLVMBuildNUWAdd(o, l.oa, l.sa, ""), middle = join_pairs(w, j, caps, a, l.oa, b, l.ob, l.left);
    levels next = {join_pairs(w, j, caps, b, l.ob, a, above, middle), LLVMBuildNUWAdd(o, l.depth, two, ""),
                   above, LLVMBuildLShr(o, l.sa, two, ""),
                   LLVMBuildNUWAdd(o, l.ob, LLVMBuildLShr(o, l.sa, one, ""), "")};
    level_incoming(&l, &next, l_here(o));
    LLVMBuildBr(o, head);
    LLVMMoveBasicBlockAfter(end, l_here(o));
    l_at_end(o, end);
    get(w, a, j, l.oa, x);
    put(w, a, j, l_int(i64, TOTAL), x);
    get(w, a, j, l_int(i64, BEFORE), x);
    put(w, a, j, l.oa, x);
    from = end;
    head = tr_lower_block(w, "down");
    body = tr_lower_block(w, "");
    end = tr_lower_block(w, "");
    LLVMBuildBr(o, head);
    l_at_end(o, head);
    levels d = level_phis(w);
    level_incoming(&d, &l, from);
    LLVMBuildCondBr(o, l_icmp(o, LLVMIntNE, d.depth, zero), body, end);
    l_at_end(o, body);
    lv sa = LLVMBuildShl(o, d.sa, two, ""), oa = l_sub(o, d.oa, sa),
       ob = l_sub(o, d.ob, LLVMBuildShl(o, d.sa, one, "")), depth = l_sub(o, d.depth, two);
    go_down(w, j, caps, a, d.oa, b, ob, nodes(w, n, l_sub(o, d.depth, one)));
    go_down(w, j, caps, b, ob, a, oa, nodes(w, n, depth));
    levels below = {d.left, depth, oa, sa, ob};
    level_incoming(&d, &below, l_here(o));
    LLVMBuildBr(o, head);
    LLVMMoveBasicBlockAfter(end, l_here(o));
    l_at_end(o, end);
}

/* Captures that are no constants are handed to it. */
static unsigned handed(const lv *caps, unsigned n, lv *out) {
    unsigned m = 0;
    for (unsigned k = 0; k < n; k++)
        if (!LLVMIsConstant(caps[k]))
            out[m++] = caps[k];
    return m;
}

enum { A, B, COUNT, CAPS };

typedef void (*writer)(tr_lf *w, const tr_ljoin *j, const lv *caps, lv a, lv b, lv n);

static lv make_function(tr_lf *at, const tr_ljoin *j, const lv *caps, writer body) {
    tr_lm *m = at->m;
    tr_arena *arena = &m->ctx->arena;
    lv *given = TR_NEW_N(arena, lv, j->ncaps + 1u),
       *own = tr_arena_copy(arena, caps, (j->ncaps + 1u) * sizeof *own);
    lt *params = TR_NEW_N(arena, lt, j->ncaps + CAPS);
    unsigned n = handed(caps, j->ncaps, given);
    params[A] = params[B] = m->ptr;
    params[COUNT] = m->i64;
    for (unsigned k = 0; k < n; k++)
        params[CAPS + k] = LLVMTypeOf(given[k]);
    tr_lf w = {.m = m, .inst = at->inst, .body = at->body};
    w.fn = LLVMAddFunction(m->mod, "join", LLVMFunctionType(m->void_, params, CAPS + n, 0));
    LLVMSetLinkage(w.fn, LLVMInternalLinkage);
    tr_lower_common_attrs(m, w.fn);
    tr_lower_param_attr(m, w.fn, A, TR_LA_NOALIAS);
    tr_lower_param_attr(m, w.fn, B, TR_LA_NOALIAS);
    for (unsigned k = 0, p = 0; k < j->ncaps; k++)
        if (!LLVMIsConstant(caps[k]))
            own[k] = LLVMGetParam(w.fn, CAPS + p++);
    w.b = LLVMCreateBuilderInContext(m->lc);
    w.ab = LLVMCreateBuilderInContext(m->lc);
    LLVMMetadataRef outside = m->dbg ? tr_lower_debug_fn(m, w.fn, w.body->f) : NULL;
    l_at_end(w.b, tr_lower_block(&w, "entry"));
    if (m->dbg)
        tr_lower_debug_at(&w, j->loc);
    body(&w, j, own, LLVMGetParam(w.fn, A), LLVMGetParam(w.fn, B), LLVMGetParam(w.fn, COUNT));
    LLVMBuildRetVoid(w.b);
    if (m->dbg)
        tr_lower_debug_back(m, outside);
    LLVMDisposeBuilder(w.ab);
    LLVMDisposeBuilder(w.b);
    return w.fn;
}

/* By the function *made of the module, which is made when it is first needed. */
static void call_with(tr_lf *w, const tr_ljoin *j, const lv *caps, lv *made, writer body, lv a, lv n) {
    lv *args = TR_NEW_N(&w->m->ctx->arena, lv, j->ncaps + CAPS);
    if (!*made)
        *made = make_function(w, j, caps, body);
    args[A] = a;
    args[B] = j->other;
    args[COUNT] = n;
    unsigned given = handed(caps, j->ncaps, args + CAPS);
    LLVMBuildCall2(w->b, LLVMGlobalGetValueType(*made), *made, args, CAPS + given, "");
}

/* x: n > 0 values in `a` as one. */
static void join_block(tr_lf *w, const tr_ljoin *j, const lv *caps, lv a, lv n, lv *x) {
    if (tr_fn_is_scalar(j->by))
        call_with(w, j, caps, &j->made[0], write_block, a, n);
    else
        write_block(w, j, caps, a, j->other, n);
    get(w, a, j, l_int(w->m->i64, 0), x);
}

enum { KEPT = TR_JOIN_BLOCK / TR_JOIN_GROUP, GROUPS = TR_SUM_BLOCK / TR_JOIN_GROUP };

lv tr_join_keep(tr_lf *w, const tr_ljoin *j) {
    return tr_lower_buffer(w, (uint64_t)j->nparts * KEPT * sizeof(tr_slot), TR_MEM_ALIGN, "kept");
}

/* GROUPS items, which are there even if not all mean something. */
static void copy_groups(tr_lf *w, const tr_ljoin *j, lv to, unsigned to_stretch, lv to_at, lv from,
                        unsigned from_stretch, lv from_at) {
    for (unsigned k = 0; k < j->nparts; k++) {
        lt t = j->types[k];
        LLVMBuildMemCpy(w->b, item(w, to, to_stretch, k, t, to_at), 1,
                        item(w, from, from_stretch, k, t, from_at), 1,
                        l_int(w->m->i64, (long long)(GROUPS * tr_lower_bytes(w->m, memory_type(w->m, t)))));
    }
}

void tr_join_to_kept(tr_lf *w, const tr_ljoin *j, lv kept, lv at) {
    copy_groups(w, j, kept, KEPT, at, j->values, j->stretch, l_int(w->m->i64, 0));
}

void tr_join_from_kept(tr_lf *w, const tr_ljoin *j, lv kept, lv at) {
    copy_groups(w, j, j->values, j->stretch, l_int(w->m->i64, 0), kept, KEPT, at);
}

void tr_join_total(tr_lf *w, const tr_ljoin *j, const lv *caps, lv n, lv *x) {
    join_block(w, j, caps, j->values, n, x);
}

void tr_join_prefixes(tr_lf *w, const tr_ljoin *j, const lv *caps, lv n, const lv *before, lv *x) {
    assert(j->stretch == STRETCH && tr_fn_is_scalar(j->by) && "a scan that goes by blocks");
    put(w, j->values, j, l_int(w->m->i64, BEFORE), before);
    call_with(w, j, caps, &j->made[1], write_prefixes, j->values, n);
    get(w, j->values, j, l_int(w->m->i64, TOTAL), x);
}

void tr_join_put(tr_lf *w, const tr_ljoin *j, lv i, const lv *x) {
    put(w, j->values, j, i, x);
}

void tr_join_get(tr_lf *w, const tr_ljoin *j, lv i, lv *x) {
    get(w, j->values, j, i, x);
}

/* --- many --- */

static lv buffer(tr_lf *w, const tr_ljoin *j, const char *name) {
    return tr_lower_buffer(w, (uint64_t)j->nparts * j->stretch * sizeof(tr_slot), TR_MEM_ALIGN, name);
}

/* Pairs take half of a stretch, joined blocks are behind them. */
void tr_join_setup(tr_lf *w, tr_ljoin *j, bool scan) {
    j->stretch = scan ? STRETCH : TR_SUM_BLOCK;
    _Static_assert(TR_SUM_LEVELS <= TR_SUM_BLOCK / 2, "room for a block of each length");
    lv half = l_int(w->m->i64, TR_SUM_BLOCK / 2);
    j->values = buffer(w, j, "joined");
    j->other = buffer(w, j, "pairs");
    j->level = LLVMBuildInBoundsGEP2(w->b, w->m->i64, j->other, &half, 1, "");
    j->count = tr_lower_buffer(w, sizeof(int64_t), 8, "count");
}

void tr_join_clear(tr_lf *w, const tr_ljoin *j) {
    LLVMBuildStore(w->b, l_int(w->m->i64, 0), j->count);
}

lv tr_join_place(tr_lf *w, const tr_ljoin *j, unsigned part, lv i) {
    return item(w, j->values, j->stretch, part, j->types[part], i);
}

static lv bit(LLVMBuilderRef b, lv count, lv l) {
    lt t = LLVMTypeOf(count);
    return l_icmp(b, LLVMIntNE, l_and(b, LLVMBuildLShr(b, count, l, ""), l_int(t, 1)), l_int(t, 0));
}

void tr_join_add(tr_lf *w, tr_ljoin *j, const lv *caps) {
    LLVMBuilderRef b = w->b;
    lt i64 = w->m->i64;
    lv one = l_int(i64, 1), *x = room(w, j), *y = room(w, j);
    join_block(w, j, caps, j->values, l_int(i64, TR_SUM_BLOCK), x);
    lv count = LLVMBuildLoad2(b, i64, j->count, "");
    lb head = tr_lower_block(w, ""), body = tr_lower_block(w, ""), end = tr_lower_block(w, ""),
       from = l_here(b);
    LLVMBuildBr(b, head);
    l_at_end(b, head);
    lv l = LLVMBuildPhi(b, i64, ""), *so_far = phis(w, j);
    l_incoming(l, l_int(i64, 0), from);
    incoming(j, so_far, x, from);
    LLVMBuildCondBr(b, bit(b, count, l), body, end);
    l_at_end(b, body);
    get(w, j->level, j, l, y);
    tr_join_two(w, j, caps, y, so_far, y);
    l_incoming(l, LLVMBuildNUWAdd(b, l, one, ""), l_here(b));
    incoming(j, so_far, y, l_here(b));
    LLVMBuildBr(b, head);
    LLVMMoveBasicBlockAfter(end, l_here(b));
    l_at_end(b, end);
    put(w, j->level, j, l, so_far);
    LLVMBuildStore(b, LLVMBuildNUWAdd(b, count, one, ""), j->count);
}

void tr_join_if(tr_lf *w, const tr_ljoin *j, const lv *caps, lv both, const lv *x, const lv *y,
                const lv *alone, lv *out) {
    LLVMBuilderRef b = w->b;
    lb yes = tr_lower_block(w, ""), go_on = tr_lower_block(w, ""), from = l_here(b);
    lv *together = room(w, j);
    LLVMBuildCondBr(b, both, yes, go_on);
    l_at_end(b, yes);
    tr_join_two(w, j, caps, x, y, together);
    yes = l_here(b);
    LLVMBuildBr(b, go_on);
    LLVMMoveBasicBlockAfter(go_on, yes);
    l_at_end(b, go_on);
    lv *p = phis(w, j);
    incoming(j, p, alone, from);
    incoming(j, p, together, yes);
    memcpy(out, p, j->nparts * sizeof *out);
}

/* The last block, of `fill` values: out, or `none` where it is empty. */
static void last_block(tr_lf *w, tr_ljoin *j, const lv *caps, lv fill, lv some, const lv *none, lv *out) {
    LLVMBuilderRef b = w->b;
    lb yes = tr_lower_block(w, ""), go_on = tr_lower_block(w, ""), from = l_here(b);
    lv *x = room(w, j);
    LLVMBuildCondBr(b, some, yes, go_on);
    l_at_end(b, yes);
    join_block(w, j, caps, j->values, fill, x);
    yes = l_here(b);
    LLVMBuildBr(b, go_on);
    LLVMMoveBasicBlockAfter(go_on, yes);
    l_at_end(b, go_on);
    lv *p = phis(w, j);
    incoming(j, p, none, from);
    incoming(j, p, x, yes);
    memcpy(out, p, j->nparts * sizeof *out);
}

void tr_join_end(tr_lf *w, tr_ljoin *j, const lv *caps, lv fill, const lv *init, bool bare, lv *out) {
    LLVMBuilderRef b = w->b;
    lt i64 = w->m->i64;
    lv zero = l_int(i64, 0), one = l_int(i64, 1), *x = room(w, j), *y = room(w, j), *nothing = room(w, j);
    for (unsigned k = 0; k < j->nparts; k++)
        nothing[k] = LLVMConstNull(j->types[k]);
    if (tr_plant(w->m->ctx, TR_PLANT_JOIN))
        init = nothing;
    lv some = l_icmp(b, LLVMIntNE, fill, zero), count = LLVMBuildLoad2(b, i64, j->count, "");
    last_block(w, j, caps, fill, some, init, x);
    lb head = tr_lower_block(w, ""), look = tr_lower_block(w, ""), body = tr_lower_block(w, ""),
       next = tr_lower_block(w, ""), end = tr_lower_block(w, ""), from = l_here(b);
    LLVMBuildBr(b, head);
    l_at_end(b, head);
    lv l = LLVMBuildPhi(b, i64, ""), any = LLVMBuildPhi(b, w->m->i1, ""), *so_far = phis(w, j);
    l_incoming(l, zero, from);
    l_incoming(any, some, from);
    incoming(j, so_far, x, from);
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntNE, LLVMBuildLShr(b, count, l, ""), zero), look, end);
    l_at_end(b, look);
    LLVMBuildCondBr(b, bit(b, count, l), body, next);
    l_at_end(b, body);
    get(w, j->level, j, l, y);
    tr_join_if(w, j, caps, any, y, so_far, y, y);
    body = l_here(b);
    LLVMBuildBr(b, next);
    LLVMMoveBasicBlockAfter(next, body);
    l_at_end(b, next);
    lv now = LLVMBuildPhi(b, w->m->i1, ""), *after = phis(w, j);
    l_incoming(now, any, look);
    l_incoming(now, l_int(w->m->i1, 1), body);
    incoming(j, after, so_far, look);
    incoming(j, after, y, body);
    l_incoming(l, LLVMBuildNUWAdd(b, l, one, ""), next);
    l_incoming(any, now, next);
    incoming(j, so_far, after, next);
    LLVMBuildBr(b, head);
    LLVMMoveBasicBlockAfter(end, next);
    l_at_end(b, end);
    if (bare)
        memcpy(out, so_far, j->nparts * sizeof *out);
    else
        tr_join_if(w, j, caps, any, init, so_far, so_far, out);
}

void tr_join_ranges(tr_lf *w, tr_ljoin *j, const lv *caps, lv places, lv n, const lv *init, lv *out) {
    _Static_assert((int)TR_PAR_RANGES == (int)TR_SUM_BLOCK, "what ranges leave is a block");
    LLVMBuilderRef b = w->b;
    lv some = l_icmp(b, LLVMIntNE, n, l_int(w->m->i64, 0)), *x = room(w, j);
    tr_ljoin of = *j;
    of.values = places;
    of.stretch = TR_PAR_RANGES;
    of.other = buffer(w, &of, "pairs");
    last_block(w, &of, caps, n, some, init, x);
    tr_join_if(w, j, caps, some, init, x, x, out);
}
