/* Short rows, many at a time (loop collapsing, with strip-mining): where the innermost axis is a few elements
 * long, a loop over it costs more than what it does, and no vector is full. So many rows as fit are one loop
 * over all their elements, where what is stored lies in one line: an input that lies so, too, is read there;
 * of one that repeats along either axis, as `x - x.mean(axis=1, keepdims=True)` has it, or lies otherwise,
 * the rows are put side by side in a buffer before.
 *
 * Results are those of the other loops, element by element. Cost: an element of the buffer written and read
 * once for each such input, in the first level of the cache: 0.1 to 0.3 ns on a Zen 4, where an element of a
 * row of 8 took 2. */
#include "lower/pattern.h"

#include <assert.h>
#include <string.h>

/* Longer rows are left to the loop over them: where that would put what repeats into buffers, too, and where
 * it knows that it repeats. */
enum { LONG = 96, KNOWN = 32 };

/* An array of the two axes: where it lies in one line, and its buffer, unless it is known to. */
typedef struct flat {
    bool known;
    lv line; /* NULL: known */
    lv buf;
} flat;

/* Do the rows of array i lie one behind the other, without gaps? */
static lv is_line(const tr_lpat *s, unsigned k, unsigned i) {
    LLVMBuilderRef b = s->w->b;
    const lv *stride = s->arr[i].stride;
    lv one = l_int(s->w->m->i64, 1);
    return l_and(b, l_icmp(b, LLVMIntEQ, stride[s->axis[k + 1]], one),
                 l_icmp(b, LLVMIntEQ, stride[s->axis[k]], s->ext[s->axis[k + 1]]));
}

static bool is_true(lv x) {
    return LLVMIsAConstantInt(x) && LLVMConstIntGetZExtValue(x);
}

/* An input that is an output, too: where that lies in a line, so does this. */
static bool is_stored(const tr_lpat *s, unsigned i) {
    for (unsigned o = s->p->nin; o < s->narr; o++)
        if (tr_lower_is_same(&s->arr[i], &s->arr[o]))
            return true;
    return false;
}

static flat describe(tr_lpat *s, const tr_nest *n, unsigned i) {
    lv line = is_line(s, n->level, i);
    uint64_t bytes = (uint64_t)n->n * tr_ty_size(s->arr[i].ty->elem);
    bool known = i >= s->p->nin || is_true(line) || is_stored(s, i);
    return known ? (flat){.known = true}
                 : (flat){.line = line, .buf = tr_lower_buffer(s->w, bytes, 64, "rows")};
}

static lv bytes_of(const tr_lpat *s, unsigned i, unsigned level) {
    lv unit = l_int(s->w->m->i64, tr_ty_size(s->arr[i].ty->elem));
    return LLVMBuildNSWMul(s->w->b, s->arr[i].stride[s->axis[level]], unit, "");
}

/* Rows of input i, of which the first one begins at `from`, as one line. What is the same in all rows is put
 * there once. */
static lv rows_of(tr_lpat *s, unsigned k, unsigned i, const flat *f, lv from, lv rows, lv is_first) {
    LLVMBuilderRef b = s->w->b;
    tr_lm *m = s->w->m;
    if (f->known)
        return from;
    lv same = l_icmp(b, LLVMIntEQ, s->arr[i].stride[s->axis[k]], l_int(m->i64, 0));
    lv there = l_or(b, f->line, l_and(b, same, LLVMBuildNot(b, is_first, "")));
    lb go_on = tr_lower_unless(s->w, there);
    lv args[] = {f->buf,
                 from,
                 bytes_of(s, i, k),
                 bytes_of(s, i, k + 1),
                 rows,
                 s->ext[s->axis[k + 1]],
                 l_int(m->i64, tr_ty_size(s->arr[i].ty->elem))};
    tr_lower_rt(s->w, TR_RT_GATHER_ROWS, 7, args, NULL, NULL);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    return l_select(b, f->line, from, f->buf);
}

/* So many rows at a time, from the first one to the last. */
static void walk_rows(tr_lpat *s, const tr_nest *n, const flat *f) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned k = n->level, last = s->ndim * s->narr;
    lv size = s->ext[s->axis[k + 1]], most = LLVMBuildUDiv(b, l_int(i64, n->n), size, "");
    lv first = tr_lower_first(s, k), end = tr_lower_last(s, k);
    tr_lchunk *chunk = s->chunk;
    tr_lloop outer, inner;
    s->chunk = TR_NEW_N(&s->w->m->ctx->arena, tr_lchunk, s->narr + 1u);
    tr_lloop_begin(s, &outer, first, end);
    lv left = l_sub(b, end, outer.iv), rows = l_select(b, l_icmp(b, LLVMIntSLT, left, most), left, most);
    s->idx[s->axis[k]] = outer.iv;
    tr_lower_advance(s, k);
    lv is_first = l_icmp(b, LLVMIntEQ, outer.iv, first);
    for (unsigned i = 0; i < s->narr; i++) {
        lv from = tr_lower_address(s->w, &s->arr[i], s->off[(k + 1) * s->narr + i]);
        s->chunk[i] = (tr_lchunk){.used = true, .now = s->arr[i]};
        s->chunk[i].now.data = i < s->p->nin ? rows_of(s, k, i, &f[i], from, rows, is_first) : from;
    }
    tr_lloop_begin(s, &inner, l_int(i64, 0), LLVMBuildNSWMul(b, rows, size, ""));
    for (unsigned i = 0; i < s->narr; i++)
        s->off[last + i] = inner.iv;
    tr_lower_walk(s, n->in);
    tr_lloop_end(s, &inner, LLVMBuildNUWAdd(b, inner.iv, l_int(i64, 1), ""));
    tr_lloop_end(s, &outer, LLVMBuildNSWAdd(b, outer.iv, rows, ""));
    s->chunk = chunk;
}

/* How long rows may be: a buffer holds one at least. */
static uint32_t longest(const tr_lpat *s, const tr_nest *n) {
    uint32_t most = s->p->sched.chunk ? LONG : KNOWN;
    assert(n->n > 0 && "a buffer has room");
    return n->n < most ? n->n : most;
}

void tr_flat_nest(tr_lpat *s, const tr_nest *n) {
    assert(n->kind == TR_NEST_FLAT && n->level + 2u == s->ndim && !s->ncarry && "a map's two last axes");
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned k = n->level;
    flat *f = TR_NEW_N(&s->w->m->ctx->arena, flat, s->narr + 1u);
    lv less = l_sub(b, s->ext[s->axis[k + 1]], l_int(i64, 1)),
       pays = l_icmp(b, LLVMIntULT, less, l_int(i64, longest(s, n)));
    for (unsigned i = 0; i < s->narr; i++) {
        f[i] = describe(s, n, i);
        pays = i < s->p->nin ? pays : l_and(b, pays, is_line(s, k, i));
    }
    lb yes = tr_lower_block(s->w, ""), no = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    LLVMBuildCondBr(b, pays, yes, no);
    l_at_end(b, yes);
    walk_rows(s, n, f);
    LLVMBuildBr(b, go_on);
    l_at_end(b, no);
    tr_lower_walk(s, n->by);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}
