/* Sums of rows that are short when the program runs: vectors in space, colours, coefficients.
 *
 * A sum of floats goes by way of a buffer, in which the runtime's tree finds it (rt/sum.c); of three elements
 * that takes ten times what they do, as what was stored one by one is loaded as vectors. So a row of FEW at
 * most is computed element by element, in straight code, and added in the tree as it is for so many. How many
 * there are is asked after each element, the same for all rows, so it is foreseen; where it is known when
 * compiling, nothing is asked. Cost: the lambda is written out FEW times more; small ones alone. */
#include "lower/pattern.h"

#include <assert.h>

enum { KNOWN = TR_NEST_SHORT_MOST };

/* Of n values, in the tree of rt/sum.c for so many. */
static lv tree(tr_lf *w, lv *x, unsigned n) {
    for (unsigned half = KNOWN / 2; half > 0; half /= 2)
        for (unsigned k = 0; k < half && k + half < n; k++)
            x[k] = LLVMBuildFAdd(w->b, x[k], x[k + half], "");
    return x[0];
}

/* What the first `n` elements of the row come to. */
static void add_up(tr_lpat *s, const lv *values, unsigned each, unsigned n, lv *out) {
    unsigned part = 0;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++)
        for (unsigned c = 0; c < tr_ty_nparts(s->red[i].ty); c++, part++) {
            lv x[KNOWN];
            for (unsigned r = 0; r < n; r++)
                x[r] = values[r * each + part];
            out[part] = LLVMBuildFAdd(s->w->b, s->red[i].init[c], tree(s->w, x, n), "");
        }
    assert(part == each && "each sum has its parts");
}

/* Ways on from a block, with the same values. */
typedef struct ways {
    lb to;
    lv *phi;
    unsigned n;
} ways;

static void go_on(tr_lf *w, ways *x, const lv *values) {
    for (unsigned i = 0; i < x->n; i++)
        l_incoming(x->phi[i], values[i], l_here(w->b));
    LLVMBuildBr(w->b, x->to);
}

/* What element r contributes. */
static void element(tr_lpat *s, unsigned k, unsigned r, lv *out) {
    s->idx[s->axis[k]] = l_int(s->w->m->i64, r);
    tr_lower_advance(s, k);
    tr_lower_element(s, out);
}

static void few(tr_lpat *s, unsigned k, unsigned most, ways *end) {
    tr_lf *w = s->w;
    lv n = s->ext[s->axis[k]], *values = TR_NEW_N(&w->m->ctx->arena, lv, most * end->n),
       *sum = TR_NEW_N(&w->m->ctx->arena, lv, end->n);
    for (unsigned r = 0; r < most; r++) {
        lb stop = tr_lower_block(w, ""), next = r + 1 < most ? tr_lower_block(w, "") : NULL;
        element(s, k, r, values + r * end->n);
        if (next)
            LLVMBuildCondBr(w->b, l_icmp(w->b, LLVMIntEQ, n, l_int(w->m->i64, r + 1)), stop, next);
        else
            LLVMBuildBr(w->b, stop);
        l_at_end(w->b, stop);
        add_up(s, values, end->n, r + 1, sum);
        go_on(w, end, sum);
        if (next)
            l_at_end(w->b, next);
    }
}

/* A row of n elements, known when compiling. */
static unsigned written_out(tr_lpat *s, unsigned k, unsigned n, lv *out) {
    unsigned each = tr_red_parts(s);
    lv *values = TR_NEW_N(&s->w->m->ctx->arena, lv, n * each);
    for (unsigned r = 0; r < n; r++)
        element(s, k, r, values + r * each);
    add_up(s, values, each, n, out);
    return each;
}

unsigned tr_few_or_more(tr_lpat *s, const tr_nest *n, unsigned (*more)(tr_lpat *, const tr_nest *, lv *),
                        lv *out) {
    assert(n->kind == TR_NEST_SHORT && n->n <= KNOWN);
    tr_lf *w = s->w;
    LLVMBuilderRef b = w->b;
    lt i64 = w->m->i64;
    tr_lchunk *chunk = s->chunk;
    unsigned k = n->level;
    if (!n->by) {
        s->chunk = NULL; /* elements are read where they lie */
        s->ncarry = 0;
        unsigned parts = written_out(s, k, n->n, out);
        s->chunk = chunk;
        return parts;
    }
    ways end = {.to = tr_lower_block(w, ""), .n = tr_red_parts(s)};
    lb short_one = tr_lower_block(w, ""), long_one = tr_lower_block(w, ""), here = l_here(b);
    end.phi = TR_NEW_N(&w->m->ctx->arena, lv, end.n);
    l_at_end(b, end.to);
    for (unsigned i = 0, part = 0; i < tr_pat_nred(s->p); i++)
        for (unsigned c = 0; c < tr_ty_nparts(s->red[i].ty); c++)
            end.phi[part++] = LLVMBuildPhi(b, tr_lower_elem(w->m, s->red[i].ty), "");
    l_at_end(b, here);
    lv less = l_sub(b, s->ext[s->axis[k]], l_int(i64, 1));
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntULT, less, l_int(i64, n->n)), short_one, long_one);
    l_at_end(b, short_one);
    s->chunk = NULL;
    s->ncarry = 0;
    few(s, k, n->n, &end);
    s->chunk = chunk;
    l_at_end(b, long_one);
    more(s, n->by, out);
    go_on(w, &end, out);
    l_at_end(b, end.to);
    for (unsigned i = 0; i < end.n; i++)
        out[i] = end.phi[i];
    return end.n;
}
