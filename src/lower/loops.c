/* What LLVM is told about single loops.
 *
 * A loop that looks elements up by an index from memory waits for one load after the other; four rounds at a
 * time keep more of them under way. LLVM unrolls no loop of its own accord in our pipeline (jit/pipeline.h):
 * it gains nothing elsewhere. So does one that adds floats up: the order of its sums is Python's, so there
 * are no vectors for it, and of the few instructions of a round half would be the loop's own. A loop that
 * calls functions of vector math takes one vector at a time: several would run one after the other all the
 * same, and leave more of a short loop to the scalar twins.
 * A short search in memory is written out four times, too (mark_scans), but for one that
 * goes on where it stood.
 * Cost: one pass over the body; loops are looked
 * for only where one of these was found. */
#include "lower/internal.h"

#include <assert.h>
#include <string.h>

#include "ir/loops.h"
#include "vmath/vmath.h"

enum {
    UNROLL = 4,
    MAX_SIZE = 64,
    MAX_SUM = 24,
    MAX_SCAN = 12,
    MAX_BYTES = 24,
    MAX_SHORT = 128,
    ROW_BITS = 256,
    MANY_ROWS = 4,
    MANY_HANDED = 16,
    MAX_SEEN = 32
};

bool tr_lower_in_loop(const tr_lf *w, tr_bid b) {
    return w->body->outer || (w->body->innermost && w->body->innermost[b] != UINT32_MAX);
}

bool tr_lower_is_lookup(const tr_fn *f, tr_val index) {
    while (tr_at(f, index)->op == TR_OP_CONV)
        index = tr_at(f, index)->args[0];
    return tr_at(f, index)->op == TR_OP_LOAD;
}

/* Does the instruction use an index from memory? */
static bool looks_up(const tr_fn *f, const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_WRAP:
    case TR_OP_CHECKIDX: return tr_lower_is_lookup(f, in->args[0]);
    case TR_OP_LOAD:
    case TR_OP_STORE:
        for (uint32_t i = 1; i < in->nargs - (in->op == TR_OP_STORE); i++)
            if (tr_lower_is_lookup(f, in->args[i]))
                return true;
        return false;
    default: return false;
    }
}

/* Is it a call that vector math may serve on some processor? */
bool tr_lower_is_math(const tr_fn *f, const tr_ins *in) {
    if (tr_op_info[in->op].lanes != 'f')
        return false;
    const tr_ty *t = tr_at(f, in->args[0])->ty;
    const tr_ins *by = in->op == TR_OP_POW ? tr_at(f, in->args[1]) : NULL;
    if (by && by->op == TR_OP_CONST && tr_ty_is_float(by->ty) && tr_lower_is_power(by->imm.f))
        return false;
    const char *name = in->op == TR_OP_POW ? "pow" : tr_math_info[in->sub].name;
    return tr_ty_is_float(t) && tr_vmath_find(name, t->kind != TR_TY_F64, false, 'f');
}

typedef bool (*ins_test)(const tr_fn *f, const tr_ins *in);

/* Blocks that hold such an instruction; NULL: none does. */
static uint8_t *find_blocks(tr_lf *w, ins_test test) {
    const tr_fn *f = w->body->f;
    uint8_t *found = NULL;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        tr_val v = tr_blk_at(f, b)->first;
        while (v != TR_NOVAL && !test(f, tr_at(f, v)))
            v = tr_at(f, v)->next;
        if (v == TR_NOVAL)
            continue;
        if (!found)
            found = TR_NEW_N(&w->m->ctx->arena, uint8_t, f->blks.n + 1u);
        found[b] = 1;
    }
    return found;
}

/* --- marks --- */

static LLVMMetadataRef option(tr_lm *m, const char *key, LLVMMetadataRef value) {
    LLVMMetadataRef pair[2] = {LLVMMDStringInContext2(m->lc, key, strlen(key)), value};
    return LLVMMDNodeInContext2(m->lc, pair, 2);
}

/* !{itself, !{key, value}...}: a node that refers to itself is never merged with another. */
static lv loop_mark(tr_lm *m, unsigned n, const LLVMMetadataRef *options) {
    LLVMMetadataRef self = LLVMTemporaryMDNode(m->lc, NULL, 0), node[5] = {self};
    memcpy(node + 1, options, n * sizeof *options);
    LLVMMetadataRef mark = LLVMMDNodeInContext2(m->lc, node, n + 1);
    LLVMMetadataReplaceAllUsesWith(self, mark);
    return LLVMMetadataAsValue(m->lc, mark);
}

/* Accesses are told apart by groups; one for all will do, where no loop with a mark lies in another
 * pattern's. */
static LLVMMetadataRef the_group(tr_lm *m) {
    return LLVMMDNodeInContext2(m->lc, NULL, 0);
}

void tr_lower_mark_apart(tr_lm *m, lv access) {
    LLVMSetMetadata(access, m->kind_apart, LLVMMetadataAsValue(m->lc, the_group(m)));
}

lv tr_lower_loop_mark(tr_lm *m, unsigned marks) {
    assert(marks != 0 && (marks & (TR_LOOP_ROLLED | TR_LOOP_WHOLE)) != (TR_LOOP_ROLLED | TR_LOOP_WHOLE));
    LLVMMetadataRef o[4], key;
    unsigned n = 0;
    if (marks & TR_LOOP_COLD)
        o[n++] = option(m, "llvm.loop.vectorize.enable", LLVMValueAsMetadata(LLVMConstInt(m->i1, 0, 0)));
    if (marks & (TR_LOOP_ONE | TR_LOOP_TWO)) {
        lv count = l_int(m->i32, marks & TR_LOOP_TWO ? 2 : 1);
        o[n++] = option(m, "llvm.loop.interleave.count", LLVMValueAsMetadata(count));
    }
    if (marks & TR_LOOP_APART)
        o[n++] = option(m, "llvm.loop.parallel_accesses", the_group(m));
    if (marks & (TR_LOOP_ROLLED | TR_LOOP_WHOLE)) {
        const char *name = marks & TR_LOOP_WHOLE ? "llvm.loop.unroll.full" : "llvm.loop.unroll.disable";
        key = LLVMMDStringInContext2(m->lc, name, strlen(name));
        o[n++] = LLVMMDNodeInContext2(m->lc, &key, 1);
    }
    return loop_mark(m, n, o);
}

static void set_mark(tr_lf *w, tr_bid latch, lv mark) {
    assert(latch < w->body->f->blks.n);
    if (!w->body->loop_marks)
        w->body->loop_marks = TR_NEW_N(&w->m->ctx->arena, lv, w->body->f->blks.n + 1u);
    w->body->loop_marks[latch] = mark;
}

/* So short that LLVM unrolls it whole, which a mark would keep it from. */
static bool is_short(const tr_fn *f, const tr_loop *l) {
    return tr_lower_rounds(f, l) * tr_loop_size(f, l) - 1u < MAX_SHORT;
}

static void mark_unrolled(tr_lf *w, tr_bid latch) {
    LLVMMetadataRef count = LLVMValueAsMetadata(l_int(w->m->i32, UNROLL));
    count = option(w->m, "llvm.loop.unroll.count", count);
    set_mark(w, latch, loop_mark(w->m, 1, &count));
}

/* Innermost loops with such a block in it, and one jump back that carries the mark. What is
 * written out is part of the loop around it. */
static void mark_loops(tr_lf *w, const tr_forest *loops, const uint8_t *whole, const uint8_t *found,
                       bool math) {
    tr_fn *f = w->body->f;
    uint8_t *wanted = TR_NEW_N(&w->m->ctx->arena, uint8_t, loops->all.n + 1u);
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        uint32_t l = tr_forest_in(loops, f->rpo.d[i]);
        while (math && l != TR_NOLOOP && whole[l])
            l = loops->all.d[l].parent;
        if (found[f->rpo.d[i]] && l != TR_NOLOOP)
            wanted[l] = 1;
    }
    for (uint32_t l = 0; l < loops->all.n; l++)
        if (loops->all.d[l].parent != UINT32_MAX && !(math && whole[l]))
            wanted[loops->all.d[l].parent] = 0;
    for (uint32_t l = 0; l < loops->all.n; l++) {
        const tr_loop *loop = &loops->all.d[l];
        if (!wanted[l] || loop->latch == TR_NOBLK)
            continue;
        if (math && !tr_blk_at(f, loop->latch)->cold)
            set_mark(w, loop->latch, tr_lower_loop_mark(w->m, TR_LOOP_ONE));
        if (!math && !whole[l] && !is_short(f, loop) && tr_loop_size(f, loop) <= MAX_SIZE)
            mark_unrolled(w, loop->latch);
    }
}

/* --- loops of few rounds in loops --- */

/* Does a round branch? */
static bool branches(const tr_fn *f, const tr_loop *l) {
    for (uint32_t i = 0; i < l->blks.n; i++)
        if (l->blks.d[i] != l->latch && tr_term(f, l->blks.d[i])->op == TR_OP_CBR)
            return true;
    return false;
}

/* Such loops in others are loops of a known number of rounds, as over the neighbours of a cell: LLVM unrolls
 * them. Where their rounds branch, the loop around them is straight code only after that: its tests of these
 * counts are constants then, and what does not vary in it has come to lie in it (tr_lower_made.nested). */
static void find_nested(tr_lf *w, const tr_forest *loops) {
    const tr_fn *f = w->body->f;
    for (uint32_t l = 0; l < loops->all.n && !w->m->nested; l++) {
        const tr_loop *loop = &loops->all.d[l];
        w->m->nested = (loop->depth > 1 || w->body->outer) && loop->latch != TR_NOBLK &&
                       !tr_blk_at(f, loop->latch)->cold && tr_lower_rounds(f, loop) && branches(f, loop);
    }
}

/* Is it a place some items before another? */
static bool is_before(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    while (in->op == TR_OP_WRAP)
        in = tr_at(f, in->args[0]);
    int64_t k;
    return in->op == TR_OP_SUB || (in->op == TR_OP_ADD && tr_get_int(f, in->args[1], &k) && k < 0);
}

static bool stores_to(const tr_fn *f, const tr_loop *l, tr_val array) {
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_STORE && tr_at(f, v)->args[0] == array)
                return true;
    return false;
}

/* A recursive filter, `acc -= a[k] * y[n - k]` and then `y[n] = acc`: what the round before
 * stored is in a register still. A load of it waits for that store as long again as the
 * sums take (tr_lower_made.carried). */
static void find_carried(tr_lf *w, const tr_forest *loops) {
    const tr_fn *f = w->body->f;
    for (uint32_t l = 0; l < loops->all.n && !w->m->carried; l++) {
        const tr_loop *loop = &loops->all.d[l];
        for (uint32_t i = 0; i < loop->blks.n && !w->m->carried; i++)
            for (tr_val v = tr_blk_at(f, loop->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
                const tr_ins *in = tr_at(f, v);
                if (in->op == TR_OP_LOAD && is_before(f, in->args[in->nargs - 1u]) &&
                    stores_to(f, loop, in->args[0]))
                    w->m->carried = true;
            }
    }
}

/* --- loops over bytes --- */

/* Bytes alone: elements of one byte in memory, and no others. */
static bool is_bytes(const tr_fn *f, const tr_loop *l) {
    unsigned widest = 0;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_LOAD && in->op != TR_OP_STORE)
                continue;
            unsigned size = tr_ty_size(tr_at(f, in->args[0])->ty->elem);
            widest = size > widest ? size : widest;
        }
    return widest == 1;
}

/* The widest vectors hold 64 of them, and what is left of a row, up to 63 elements, goes one by one but for
 * the half that a second loop may take: rows of 254 took twice as long as in vectors of 32. Rows are what
 * loops in loops go along; where all of a function's go along bytes, it has the shorter vectors. */
static void look_for_rows(tr_lf *w, const tr_forest *loops) {
    const tr_fn *f = w->body->f;
    bool *outer = TR_NEW_N(&w->m->ctx->arena, bool, loops->all.n + 1u), rows = false;
    for (uint32_t l = 0; l < loops->all.n; l++)
        if (loops->all.d[l].parent != UINT32_MAX)
            outer[loops->all.d[l].parent] = true;
    for (uint32_t l = 0; l < loops->all.n; l++) {
        const tr_loop *loop = &loops->all.d[l];
        if (outer[l] || tr_blk_at(f, loop->header)->cold)
            continue;
        if ((loop->depth < 2 && !w->body->outer) || !is_bytes(f, loop))
            return;
        rows = true;
    }
    if (rows && w->m->want->vector_bits > ROW_BITS)
        tr_lower_vector_bits(w->fn, ROW_BITS);
}

/* --- scans --- */

/* Is it left from within a round, by a break or by what it raises? LLVM 19 makes no vectors of it then. What
 * is caught in the round does not leave it. */
static bool leaves_early(const tr_fn *f, const tr_forest *loops, uint32_t l) {
    const tr_loop *loop = &loops->all.d[l];
    for (uint32_t i = 0; i < loop->blks.n; i++) {
        tr_bid b = loop->blks.d[i];
        const tr_blk *blk = tr_blk_at(f, b);
        const tr_ins *t = tr_term(f, b);
        bool guarded = blk->first != TR_NOVAL && tr_at(f, blk->first)->op == TR_OP_CATCH;
        for (uint32_t k = 0; k < blk->preds.n; k++)
            guarded = guarded || tr_term(f, blk->preds.d[k])->op == TR_OP_TRY;
        if (!guarded && tr_blk_raises(f, b))
            return true;
        for (uint32_t s = t->op == TR_OP_TRY; b != loop->latch && s < tr_nsucc(t); s++)
            if (tr_forest_in(loops, t->imm.succ[s].to) != l)
                return true;
    }
    return false;
}

/* How many bytes has the smallest item that it reads? 0: it reads none, and what it
 * computes takes its time. */
static unsigned reads(const tr_fn *f, const tr_loop *l) {
    unsigned least = 0;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            unsigned size = tr_at(f, v)->op == TR_OP_LOAD ? tr_ty_size(tr_at(f, v)->ty) : 0;
            if (size && (!least || size < least))
                least = size;
        }
    return least;
}

/* Does the round make an integer of a float? That is left where there is none. */
static bool makes_integers(const tr_fn *f, const tr_loop *l) {
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op == TR_OP_CONV && tr_ty_is_float(tr_at(f, in->args[0])->ty) && tr_ty_is_int(in->ty))
                return true;
        }
    return false;
}

/* Does v come from the loop's own rounds, through the loop around it? */
static bool comes_from(const tr_fn *f, const tr_forest *loops, uint32_t l, tr_val v, tr_u32s *seen) {
    const tr_ins *in = tr_at(f, v);
    if (in->blk == TR_NOBLK)
        return false;
    if (tr_forest_in(loops, in->blk) == l)
        return true;
    bool sum = in->op == TR_OP_ADD || in->op == TR_OP_SUB;
    if ((!sum && (in->op != TR_OP_PARAM || in->blk == 0)) || seen->n == MAX_SEEN)
        return false;
    for (uint32_t k = 0; k < seen->n; k++)
        if (seen->d[k] == v)
            return false;
    tr_vec_push(&f->ctx->arena, seen, v);
    if (sum)
        return comes_from(f, loops, l, in->args[0], seen) || comes_from(f, loops, l, in->args[1], seen);
    uint32_t index = tr_param_index(f, v);
    for (tr_way w = {0}; tr_next_way(f, in->blk, &w);)
        if (comes_from(f, loops, l, w.edge->args[index], seen))
            return true;
    return false;
}

/* A walk: all places that it reads, and that move, go on from where they stood when the loop was left before,
 * as in a search for the cell of one particle after the other. It takes few rounds at a time as a rule, and
 * what is written out is in their way (1.18 of the time). */
static bool is_walk(const tr_fn *f, const tr_forest *loops, uint32_t l) {
    const tr_loop *loop = &loops->all.d[l];
    bool any = false;
    for (uint32_t i = 0; i < loop->blks.n; i++)
        for (tr_val v = tr_blk_at(f, loop->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            for (unsigned a = 1; tr_at(f, v)->op == TR_OP_LOAD && a < tr_at(f, v)->nargs; a++) {
                tr_val at = tr_arg(f, v, a);
                while (tr_at(f, at)->op == TR_OP_ADD || tr_at(f, at)->op == TR_OP_SUB ||
                       tr_at(f, at)->op == TR_OP_WRAP)
                    at = tr_arg(f, at, 0);
                const tr_ins *in = tr_at(f, at);
                if (in->op != TR_OP_PARAM || in->blk != loop->header)
                    continue;
                uint32_t index = tr_param_index(f, at);
                for (tr_way w = {0}; tr_next_way(f, loop->header, &w);) {
                    tr_u32s seen = {0};
                    if (tr_forest_in(loops, w.from) != l &&
                        !comes_from(f, loops, l, w.edge->args[index], &seen))
                        return false;
                }
                any = true;
            }
    return any;
}

/* Short searches, what goes through text, and what counts floats in cells: half of their instructions are the
 * loop's own. Of longer ones less is, and all of them cost time to compile. Of rows what is written out gains
 * little (a histogram over a.flat 0.95 to 1), and the code takes half as long again to compile. Threads of a
 * device hide that from each other, and to count rounds would take a division in front. */
static void mark_scans(tr_lf *w, const tr_forest *loops) {
    const tr_fn *f = w->body->f;
    if (tr_lower_is_flat(w->m))
        return;
    bool *outer = TR_NEW_N(&w->m->ctx->arena, bool, loops->all.n + 1u);
    for (uint32_t l = 0; l < loops->all.n; l++)
        if (loops->all.d[l].parent != UINT32_MAX)
            outer[loops->all.d[l].parent] = true;
    for (uint32_t l = 0; l < loops->all.n; l++) {
        const tr_loop *loop = &loops->all.d[l];
        tr_bid latch = loop->latch;
        if (outer[l] || latch == TR_NOBLK || tr_blk_at(f, latch)->cold ||
            (w->body->loop_marks && w->body->loop_marks[latch]) || is_short(f, loop))
            continue;
        uint32_t size = tr_loop_size(f, loop);
        if (size > MAX_BYTES || !leaves_early(f, loops, l))
            continue;
        unsigned item = reads(f, loop);
        bool small = size <= MAX_SCAN || item == 1 || (loop->depth == 1 && makes_integers(f, loop));
        if (item && small && !is_walk(f, loops, l))
            mark_unrolled(w, latch);
    }
}

/* --- what is written out --- */

/* Loops of few rounds (few.c) say so. A long sum waits for each addition before the next, so the widest
 * vectors are faster also where the processor computes them in two halves (an AMD EPYC: 5 x 5 taps 0.88 of
 * the time, 3 x 3 taps 1.2). Of bytes see above. */
static void mark_whole(tr_lf *w, const tr_forest *loops, const uint8_t *whole) {
    for (uint32_t l = 0; l < loops->all.n; l++) {
        const tr_loop *loop = &loops->all.d[l];
        if (!whole[l])
            continue;
        set_mark(w, loop->latch, tr_lower_loop_mark(w->m, TR_LOOP_WHOLE));
        if (whole[l] == TR_FEW_LONG && w->m->want->math_bits != w->m->want->vector_bits &&
            !is_bytes(w->body->f, loop))
            tr_lower_vector_bits(w->fn, w->m->want->math_bits);
    }
}

/* --- sums of floats --- */

/* Is v a sum that the param is a term of, made in this order alone? */
static bool sums(const tr_fn *f, tr_val v, tr_val param, unsigned deep) {
    assert(tr_at(f, param)->op == TR_OP_PARAM);
    const tr_ins *in = tr_at(f, v);
    if ((in->op != TR_OP_ADD && in->op != TR_OP_SUB) || !deep || (tr_ins_fast(in) & TR_FM_REASSOC))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (in->args[i] == param || sums(f, in->args[i], param, deep - 1))
            return true;
    return false;
}

/* Does a float come round as a sum of itself? */
static bool adds_up(const tr_fn *f, const tr_loop *l) {
    const tr_blk *head = tr_blk_at(f, l->header);
    const tr_ins *t = tr_term(f, l->latch);
    for (uint32_t s = 0; s < tr_nsucc(t); s++)
        for (uint32_t i = 0; t->imm.succ[s].to == l->header && i < head->params.n; i++)
            if (tr_ty_is_float(tr_at(f, head->params.d[i])->ty) &&
                sums(f, t->imm.succ[s].args[i], head->params.d[i], 4))
                return true;
    return false;
}

/* Does the round read along rows? Else each reads a line of its own from memory, and nothing but that
 * counts. */
static bool along_rows(const tr_fn *f, const tr_loop *l) {
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_LOAD)
                continue;
            unsigned last = tr_at(f, in->args[0])->ty->layout == TR_LAYOUT_F ? 1 : in->nargs - 1u;
            for (unsigned k = 1; k < in->nargs; k++)
                for (uint32_t b = 0; k != last && b < l->blks.n; b++)
                    if (tr_at(f, in->args[k])->blk == l->blks.d[b])
                        return false;
        }
    return true;
}

/* Loops in loops, whose round is without branches: its head, and the block that jumps back. One that stands
 * alone waits for its sum only, and so does a long one; of a short one the next sum is begun before the last
 * is done, and all instructions count. Where sums may be made in another order, LLVM makes vectors. */
static void mark_sums(tr_lf *w, const tr_forest *loops) {
    const tr_fn *f = w->body->f;
    for (uint32_t l = 0; l < loops->all.n; l++) {
        const tr_loop *loop = &loops->all.d[l];
        tr_bid latch = loop->latch;
        if (latch != TR_NOBLK && loop->depth > 1 && loop->blks.n <= 2 && !tr_blk_at(f, latch)->cold &&
            !(w->body->loop_marks && w->body->loop_marks[latch]) && adds_up(f, loop) && !is_short(f, loop) &&
            tr_loop_size(f, loop) <= MAX_SUM && along_rows(f, loop))
            mark_unrolled(w, latch);
    }
}

/* Rows of a few vectors are common, and what several vectors at a time leave of one goes item by
 * item, so loops in loops that carry nothing but their count take one at a time (rows of 12 float64
 * in 0.4 of the time). Long rows lose nothing by it on processors that begin six instructions at
 * once; their code is a half as long, and takes as much less to compile. Sums and the like wait for
 * each addition: several go on side by side there. */
static void mark_rows(tr_lf *w, const tr_forest *loops, const uint8_t *whole) {
    const tr_fn *f = w->body->f;
    bool *outer = TR_NEW_N(&w->m->ctx->arena, bool, loops->all.n + 1u);
    for (uint32_t l = 0; l < loops->all.n; l++)
        if (loops->all.d[l].parent != UINT32_MAX && !whole[l])
            outer[loops->all.d[l].parent] = true;
    for (uint32_t l = 0; l < loops->all.n; l++) {
        const tr_loop *loop = &loops->all.d[l];
        if (!outer[l] && loop->depth > 1 && loop->latch != TR_NOBLK &&
            !(w->body->loop_marks && w->body->loop_marks[loop->latch]) &&
            tr_blk_at(f, loop->header)->params.n == 1)
            set_mark(w, loop->latch, tr_lower_loop_mark(w->m, TR_LOOP_ONE));
    }
}

/* A checked copy of a loop runs when an index is about to be out of range: vectors for it cost time to
 * compile and pay never. Its blocks are cold; the jump back is the one to a block that comes earlier. */
static void mark_cold(tr_lf *w) {
    const tr_fn *f = w->body->f;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        const tr_ins *t = tr_term(f, b);
        for (uint32_t s = 0; tr_blk_at(f, b)->cold && s < tr_nsucc(t); s++)
            if (tr_blk_at(f, t->imm.succ[s].to)->rpo <= i)
                set_mark(w, b, tr_lower_loop_mark(w->m, TR_LOOP_COLD));
    }
}

/* Is what comes to param k of the loop's head made of another than the param itself? */
static bool hands_on(const tr_fn *f, const tr_edge *back, uint32_t k) {
    const tr_ins *in = tr_at(f, back->args[k]);
    tr_val param = tr_blk_at(f, back->to)->params.d[k];
    for (uint32_t i = 0; i < in->nargs; i++)
        if (in->args[i] == param)
            return false;
    return back->args[k] != param && !tr_is_const(in);
}

/* Variables that hand their values on to each other from round to round (a = b; b = c ...): LLVM's vectoriser
 * has each of them as it was a round before, and takes the cube of their number for it (400 of them: 7 s). */
static void mark_handed(tr_lf *w) {
    const tr_fn *f = w->body->f;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        const tr_ins *t = tr_term(f, b);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            const tr_edge *e = &t->imm.succ[s];
            uint32_t n = 0;
            for (uint32_t k = 0; e->n > MANY_HANDED && tr_blk_at(f, e->to)->rpo <= i && k < e->n; k++)
                n += hands_on(f, e, k);
            if (n > MANY_HANDED)
                set_mark(w, b, tr_lower_loop_mark(w->m, TR_LOOP_COLD));
        }
    }
}

/* --- loops over threads --- */

/* What the number that the loop counts says of its turns. */
static tr_turn turn_of(const tr_fn *f, const tr_loop *l) {
    const tr_ins *t = l->latch == TR_NOBLK ? NULL : tr_term(f, l->latch);
    for (uint32_t s = 0; t && s < tr_nsucc(t); s++)
        for (uint32_t k = 0; t->imm.succ[s].to == l->header && k < t->imm.succ[s].n; k++) {
            const tr_ins *next = tr_at(f, t->imm.succ[s].args[k]);
            if (tr_turn_of(next) != TR_TURN_NONE)
                return tr_turn_of(next);
        }
    return TR_TURN_NONE;
}

/* A load of an array of rows whose row is the same in all turns, and whose place in it is not. */
static bool goes_along(const tr_fn *f, const uint8_t *in, tr_val v) {
    const tr_ins *x = tr_at(f, v);
    const tr_ty *t = x->op == TR_OP_LOAD ? tr_at(f, x->args[0])->ty : NULL;
    bool row = t && t->ndim > 1 && t->layout == TR_LAYOUT_C;
    for (uint32_t a = 1; row && a < x->nargs; a++) {
        tr_bid at = tr_at(f, x->args[a])->blk;
        row = (at != TR_NOBLK && in[at]) == (a == t->ndim);
    }
    return row;
}

/* Many loads along rows in an innermost loop. LLVM takes addresses apart to find what they have
 * in common (loop strength reduction), which took a half of the time to generate a stencil's
 * code; where a row begins is one value for it. Not of few, where it is quick, and not for
 * stores: what they may disturb it should know. */
static void find_rows(tr_lf *w, const tr_forest *loops, uint32_t l) {
    const tr_fn *f = w->body->f;
    const tr_loop *loop = &loops->all.d[l];
    tr_arena *a = &w->m->ctx->arena;
    uint8_t *in = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    tr_u32s found = {0};
    if (!tr_forest_is_innermost(loops, l))
        return;
    for (uint32_t k = 0; k < loop->blks.n; k++)
        in[loop->blks.d[k]] = 1;
    for (uint32_t k = 0; k < loop->blks.n; k++)
        for (tr_val v = tr_blk_at(f, loop->blks.d[k])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (goes_along(f, in, v))
                tr_vec_push(a, &found, v);
    if (found.n >= MANY_ROWS && !w->body->rows)
        w->body->rows = TR_NEW_N(a, uint8_t, f->ins.n + 1u);
    for (uint32_t k = 0; found.n >= MANY_ROWS && k < found.n; k++)
        w->body->rows[found.d[k]] = 1;
}

/* LLVM then asks no more whether arrays overlap before it takes many turns at once. Rows that were trimmed
 * have any length, and one vector at a time leaves less of them: a stencil takes 4.0 ms and not 4.5. Others
 * are as long as a block, mostly 16 or 32; taking one vector at a time halved a product of matrices. A row
 * whose length is known would be unrolled before it could become vectors. */
static void mark_turns(tr_lf *w, const tr_forest *loops) {
    tr_fn *f = w->body->f;
    for (uint32_t l = 0; l < loops->all.n; l++) {
        const tr_loop *loop = &loops->all.d[l];
        tr_turn turn = turn_of(f, loop);
        if (turn == TR_TURN_NONE)
            continue;
        if (!w->body->turns)
            w->body->turns = TR_NEW_N(&w->m->ctx->arena, uint8_t, f->blks.n + 1u);
        find_rows(w, loops, l);
        for (uint32_t k = 0; k < loop->blks.n; k++)
            w->body->turns[loop->blks.d[k]] = 1;
        if (!tr_blk_at(f, loop->latch)->cold)
            set_mark(w, loop->latch,
                     tr_lower_loop_mark(w->m, TR_LOOP_APART | TR_LOOP_ROLLED |
                                                  (turn == TR_TURN_TRIMMED ? TR_LOOP_ONE : 0)));
    }
}

void tr_lower_loops(tr_lf *w) {
    tr_fn *f = w->body->f;
    if (f->blks.n < 2)
        return;
    tr_dom_compute(f);
    const tr_forest loops = tr_forest_find(f);
    if (!loops.all.n)
        return;
    w->body->innermost = loops.innermost;
    const uint8_t *math = find_blocks(w, tr_lower_is_math), *lookups = find_blocks(w, looks_up);
    const uint8_t *whole = tr_lower_few(w, &loops);
    mark_cold(w);
    mark_whole(w, &loops, whole);
    if (math)
        mark_loops(w, &loops, whole, math, true);
    if (lookups)
        mark_loops(w, &loops, whole, lookups, false);
    mark_sums(w, &loops);
    mark_scans(w, &loops);
    mark_rows(w, &loops, whole);
    find_nested(w, &loops);
    find_carried(w, &loops);
    look_for_rows(w, &loops);
    mark_turns(w, &loops);
    mark_handed(w);
}
