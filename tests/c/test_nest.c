/* Loop trees: what a pattern's loops are follows from the node; a tree that does not walk each axis once, in
 * order, or begins reductions elsewhere than kept axes end, is found. What trees look like has
 * tests/ir/nest.ir. */
#include "parse_util.h"

#include <string.h>

#include "ir/nest.h"
#include "ty/ty.h"

static tr_ctx ctx;

static const char rows[] = "fn @f -> i64 {\n"
                           "b0(%a: f64[2c], %b: f64[1c]):\n"
                           "  %n: i64 = dim %a, 0\n"
                           "  %m: i64 = dim %a, 1\n"
                           "  %p: none = pattern [keep %n, %m] in(%a) red(max 0.0) then out(%b) {\n"
                           "  b0(%i: i64, %j: i64, %x: f64):\n"
                           "    yield %x\n"
                           "  } {\n"
                           "  b0(%i: i64, %s: f64):\n"
                           "    yield %s\n"
                           "  }\n"
                           "  ret 0\n"
                           "}\n";

static const tr_ins *pattern_of(const tr_fn *f) {
    tr_val v = tr_blk_at(f, 0)->first;
    while (tr_at(f, v)->op != TR_OP_PATTERN)
        v = tr_at(f, v)->next;
    return tr_at(f, v);
}

/* The nodes of the tree above, from the outside, to be spoilt one at a time. */
typedef struct tree {
    tr_nest order, outer, row, reduce, inner, element, epilogue;
} tree;

static void build(tree *t) {
    *t = (tree){.order = {.kind = TR_NEST_ORDER, .ndim = 2, .axis = {0, 1}, .in = &t->outer},
                .outer = {.kind = TR_NEST_FOR, .in = &t->row},
                .row = {.kind = TR_NEST_ROW, .level = 1, .in = &t->reduce, .by = &t->epilogue},
                .reduce = {.kind = TR_NEST_REDUCE, .level = 1, .in = &t->inner},
                .inner = {.kind = TR_NEST_FOR, .level = 1, .in = &t->element},
                .element = {.kind = TR_NEST_ELEMENT, .level = 2},
                .epilogue = {.kind = TR_NEST_EPILOGUE, .level = 1}};
}

static bool is_same(const tr_nest *x, const tr_nest *y) {
    return !x == !y && (!x || (x->kind == y->kind && x->level == y->level && x->n == y->n &&
                               is_same(x->in, y->in) && is_same(x->by, y->by)));
}

static void test_made(void) {
    tree t;
    const tr_fn *f = parse_fn(&ctx, rows);
    const tr_ins *in = pattern_of(f);
    build(&t);
    assert(!tr_nest_fault(&t.order, in->imm.pat));
    assert(is_same(tr_nest_of(f, in, true), &t.order) && is_same(tr_nest_plain(f, in), &t.order));
}

static bool says(const tree *t, const tr_pat *p, const char *what) {
    const char *why = tr_nest_fault(&t->order, p);
    return why && strcmp(why, what) == 0;
}

static void test_faults(void) {
    const tr_pat *p = pattern_of(parse_fn(&ctx, rows))->imm.pat;
    tree t;
    build(&t);
    t.inner.level = 0; /* the outer axis again */
    assert(says(&t, p, "an axis out of order"));
    build(&t);
    t.reduce.in = &t.element; /* the inner axis never */
    assert(says(&t, p, "a point where axes are left"));
    build(&t);
    t.order.in = &t.row; /* before the kept axis is walked */
    assert(says(&t, p, "a row not where kept axes end"));
    build(&t);
    t.row.by = NULL;
    assert(says(&t, p, "an epilogue too many, or none"));
    build(&t);
    t.inner.kind = TR_NEST_REDUCE;
    assert(says(&t, p, "reductions begin twice"));
    build(&t);
    t.outer.kind = TR_NEST_ORDER;
    assert(says(&t, p, "two orders of the axes"));
    build(&t);
    assert(tr_nest_fault(&t.outer, p)); /* in no order */
    t.inner.in = NULL;
    assert(says(&t, p, "a loop around nothing"));
}

/* What is printed: words of the table, a line each, indented by what they stand in. */
static void test_printed(void) {
    tree t;
    tr_sb out;
    build(&t);
    tr_sb_init(&out);
    tr_nest_print(&out, &t.order, 0);
    assert(!strcmp(out.d, "order 0 1\n  for level 0\n    row\n      reduce\n        for level 1\n"
                          "          element\n    then\n      epilogue\n"));
    tr_sb_fini(&out);
}

int main(void) {
    tr_ctx_init(&ctx);
    tr_tytab *shared = tr_tytab_new(NULL);
    ctx.types = tr_tytab_new(shared);
    tr_tytab_follow(ctx.types, &ctx.arena);
    test_made();
    test_faults();
    test_printed();
    tr_tytab_free(ctx.types);
    tr_tytab_free(shared);
    tr_ctx_fini(&ctx);
    return 0;
}
