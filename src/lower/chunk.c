/* Strip-mining: the innermost loop where the distance between elements is known at run time only: a slice's,
 * or 0 for what repeats.
 *
 * LLVM makes vectors of loops that walk memory in step. So the axis is walked in chunks, and for a chunk
 * every array is a pointer whose elements lie side by side: the array's own memory where its stride is 1,
 * else a buffer of so many elements, filled before (once for the whole axis where the stride is 0) or
 * emptied after the chunk. What is read and written in one place has one buffer. One loop serves all layouts;
 * where no stride needs a buffer the chunk is the whole axis. */
#include "base/plant.h"
#include "lower/pattern.h"

#include <assert.h>
#include <string.h>

static bool is_number(lv x) {
    return LLVMIsAConstantInt(x) != NULL;
}

/* Does array a need a pointer of its own along the innermost axis? */
static bool unknown(const tr_lpat *s, const tr_larr *a) {
    return !s->line && !is_number(a->stride[s->axis[s->ndim - 1]]);
}

/* Is output i an input too? Its chunk is that one's, so that LLVM sees that their elements
 * are the same ones. */
static bool is_in_place(const tr_lpat *s, unsigned i, unsigned *in) {
    for (*in = 0; i >= s->p->nin && *in < s->p->nin; ++*in)
        if (tr_lower_is_same(&s->arr[*in], &s->arr[i]))
            return true;
    return false;
}

void tr_chunk_setup(tr_lpat *s) {
    tr_lf *w = s->w;
    unsigned in;
    s->chunk = TR_NEW_N(&w->m->ctx->arena, tr_lchunk, s->narr + 1u);
    for (unsigned i = 0; i < s->narr; i++) {
        tr_lchunk *c = &s->chunk[i];
        *c = (tr_lchunk){.used = unknown(s, &s->arr[i])};
        if (!c->used)
            continue;
        c->buf = s->arr[i];
        if (tr_ty_is_packed(c->buf.ty)) /* in its buffer items lie as others do */
            c->buf.ty = tr_ty_array(w->m->ctx->types, c->buf.ty->elem, c->buf.ty->ndim, TR_LAYOUT_ANY, false);
        uint64_t bytes = (uint64_t)s->p->sched.chunk * tr_ty_size(s->arr[i].ty->elem);
        c->buf.data = is_in_place(s, i, &in) ? s->chunk[in].buf.data : tr_lower_buffer(w, bytes, 64, "chunk");
    }
}

static lv stride_of(const tr_lpat *s, unsigned i) {
    return s->arr[i].stride[s->axis[s->ndim - 1]];
}

static lv bytes_of(tr_lpat *s, unsigned i, lv n) {
    return LLVMBuildNSWMul(s->w->b, n, l_int(s->w->m->i64, tr_ty_unit(s->arr[i].ty)), "");
}

static lv element(tr_lpat *s, unsigned i, lv off) {
    return LLVMBuildInBoundsGEP2(s->w->b, tr_lower_unit(s->w->m, s->arr[i].ty), s->arr[i].data, &off, 1, "");
}

/* Array i's n elements from `off` on, `step` elements apart, to its buffer; or back. Each place where this
 * was inlined cost as much compile time as the loop that it serves. */
static void copy_in(tr_lpat *s, unsigned i, lv off, lv step, lv n) {
    assert(i < s->narr && s->chunk[i].used);
    lv size = l_int(s->w->m->i64, tr_ty_size(s->arr[i].ty->elem));
    lv args[] = {s->chunk[i].buf.data, element(s, i, off), bytes_of(s, i, step), n, size};
    tr_lower_rt(s->w, TR_RT_GATHER, 5, args, NULL, NULL);
}

static void copy_out(tr_lpat *s, unsigned i, lv off, lv step, lv n) {
    lv size = l_int(s->w->m->i64, tr_ty_size(s->arr[i].ty->elem));
    lv args[] = {element(s, i, off), bytes_of(s, i, step), s->chunk[i].buf.data, n, size};
    tr_lower_rt(s->w, TR_RT_SCATTER, 5, args, NULL, NULL);
}

/* Runs `then` code where cond holds: begins it; end_if closes. */
static lb begin_if(tr_lpat *s, lv cond) {
    assert(LLVMTypeOf(cond) == s->w->m->i1);
    lb yes = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    LLVMBuildCondBr(s->w->b, cond, yes, go_on);
    l_at_end(s->w->b, yes);
    return go_on;
}

static void end_if(tr_lpat *s, lb go_on) {
    LLVMBuildBr(s->w->b, go_on);
    l_at_end(s->w->b, go_on);
}

lv tr_chunk_begin(tr_lpat *s, unsigned k, lv n) {
    assert(s->chunk && LLVMTypeOf(n) == s->w->m->i64);
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned in;
    lv zero = l_int(i64, 0), one = l_int(i64, 1), all = NULL;
    lv limit = l_int(i64, s->p->sched.chunk), few = l_select(b, l_icmp(b, LLVMIntSLT, n, limit), n, limit);
    for (unsigned i = 0; i < s->narr; i++) {
        tr_lchunk *c = &s->chunk[i];
        if (!c->used)
            continue;
        if (is_in_place(s, i, &in)) {
            c->unit = s->chunk[in].unit;
            continue;
        }
        c->unit = tr_ty_is_packed(s->arr[i].ty) ? LLVMConstInt(s->w->m->i1, 0, 0)
                                                : l_icmp(b, LLVMIntEQ, stride_of(s, i), one);
        c->zero = l_icmp(b, LLVMIntEQ, stride_of(s, i), zero);
        all = all ? l_and(b, all, c->unit) : c->unit;
        if (i >= s->p->nin)
            continue;
        lb go_on = begin_if(s, c->zero);
        copy_in(s, i, s->off[k * s->narr + i], zero, few);
        end_if(s, go_on);
    }
    return all ? l_select(b, all, n, limit) : n;
}

void tr_chunk_enter(tr_lpat *s, unsigned k, lv at, lv len) {
    assert(s->chunk && LLVMTypeOf(at) == LLVMTypeOf(len));
    LLVMBuilderRef b = s->w->b;
    unsigned in;
    for (unsigned i = 0; i < s->narr; i++) {
        tr_lchunk *c = &s->chunk[i];
        if (!c->used)
            continue;
        if (is_in_place(s, i, &in)) {
            c->off = s->chunk[in].off;
            c->now = s->chunk[in].now;
            continue;
        }
        lv stride = stride_of(s, i);
        c->off = LLVMBuildNSWAdd(b, s->off[k * s->narr + i], LLVMBuildNSWMul(b, at, stride, ""), "");
        if (i < s->p->nin) {
            lb go_on = begin_if(s, LLVMBuildNot(b, l_or(b, c->unit, c->zero), ""));
            copy_in(s, i, c->off, stride, len);
            end_if(s, go_on);
        }
        lv own = element(s, i, c->off);
        c->now = c->buf;
        c->now.data = l_select(b, c->unit, own, c->buf.data);
    }
}

void tr_chunk_leave(tr_lpat *s, lv len) {
    assert(s->chunk);
    LLVMBuilderRef b = s->w->b;
    if (tr_plant(s->w->m->ctx, TR_PLANT_CHUNK))
        len = l_sub(b, len, l_int(s->w->m->i64, 1));
    for (unsigned i = s->p->nin; i < s->narr; i++) {
        tr_lchunk *c = &s->chunk[i];
        if (!c->used)
            continue;
        lb go_on = begin_if(s, LLVMBuildNot(b, c->unit, ""));
        copy_out(s, i, c->off, stride_of(s, i), len);
        end_if(s, go_on);
    }
}
