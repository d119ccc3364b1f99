/* What ir/loops.h says of loops: where a block lies and leads, what a head asks, how its params go on. */
#include "parse_util.h"

#include "ir/loops.h"
#include "ty/ty.h"

static tr_ctx ctx;

static tr_fn *parse(const char *text) {
    tr_fn *f = parse_fn(&ctx, text);
    tr_cfg_compute(f);
    tr_dom_compute(f);
    return f;
}

static tr_val param(const tr_fn *f, tr_bid b, uint32_t k) {
    return tr_blk_at(f, b)->params.d[k];
}

/* b1 is the head of a loop around that of b3, which two blocks lead back to and a third leaves. */
static const char nested[] = "fn @f -> i64 {\n"
                             "b0(%n: i64, %m: i64):\n"
                             "  %two: i64 = add %n, 2\n"
                             "  br b1(0, %m)\n"
                             "b1(%i: i64, %down: i64):\n"
                             "  %go: i1 = cmp lt %i, %n\n"
                             "  cbr %go, b2, b9\n"
                             "b2:\n"
                             "  %limit: i64 = add %i, %m\n"
                             "  br b3(%m, 5, 0, 0)\n"
                             "b3(%j: i64, %k: i64, %l: i64, %x: i64):\n"
                             "  %more: i1 = cmp lt %j, %limit\n"
                             "  cbr %more, b4, b8\n"
                             "b4:\n"
                             "  %odd: i1 = cmp lt %k, %m\n"
                             "  %j1: i64 = add %two, %j\n"
                             "  %k1: i64 = add %k, 1\n"
                             "  %k2: i64 = add %k, 1\n"
                             "  %l1: i64 = add %l, 1\n"
                             "  %l2: i64 = add %l, 2\n"
                             "  %x1: i64 = add %x, %l\n"
                             "  cbr %odd, b5, b6\n"
                             "b5:\n"
                             "  br b3(%j1, %k1, %l1, %x1)\n"
                             "b6:\n"
                             "  %out: i1 = cmp lt %l, 100\n"
                             "  cbr %out, b7, b9\n"
                             "b7:\n"
                             "  br b3(%j1, %k2, %l2, %x1)\n"
                             "b8:\n"
                             "  %i1: i64 = add %i, 1\n"
                             "  %down1: i64 = sub %down, 1\n"
                             "  br b1(%i1, %down1)\n"
                             "b9:\n"
                             "  ret %n\n"
                             "}\n";

static void test_places(void) {
    tr_fn *f = parse(nested);
    tr_forest t = tr_forest_find(f);
    assert(t.all.n == 2);
    uint32_t outer = tr_forest_headed(&t, 1), inner = tr_forest_headed(&t, 3);
    assert(outer == 0 && inner == 1 && tr_forest_headed(&t, 2) == TR_NOLOOP);
    assert(tr_forest_number(&t, tr_forest_at(&t, inner)) == inner);
    assert(tr_forest_in(&t, 5) == inner && tr_forest_in(&t, 8) == outer && tr_forest_in(&t, 9) == TR_NOLOOP);
    assert(tr_forest_has(&t, outer, 5) && !tr_forest_has(&t, inner, 8) && !tr_forest_has(&t, outer, 0));
    assert(tr_forest_is_innermost(&t, inner) && !tr_forest_is_innermost(&t, outer));
    assert(tr_forest_is_outside(&t, inner, param(f, 1, 0)) &&
           !tr_forest_is_outside(&t, outer, param(f, 1, 0)));
    assert(tr_loop_is_before(f, 3, param(f, 1, 0)) && !tr_loop_is_before(f, 1, param(f, 1, 0)));
    assert(tr_loop_is_before(f, 1, tr_const_int(f, tr_ty_scalar(ctx.types, TR_TY_I64), 7)));
    tr_bid later = tr_blk_new(f); /* and is of no loop */
    assert(tr_forest_in(&t, later) == TR_NOLOOP && !tr_forest_has(&t, outer, later));
}

static void test_ways_out(void) {
    tr_fn *f = parse(nested);
    tr_forest t = tr_forest_find(f);
    assert(tr_forest_block_leaves(&t, 1, 3) && tr_forest_block_leaves(&t, 1, 6));
    assert(!tr_forest_block_leaves(&t, 0, 3) && !tr_forest_block_leaves(&t, 1, 7));
    assert(!tr_forest_leaves_only_at(&t, 1, 3) && !tr_forest_leaves_only_at(&t, 0, 1));
    tr_term(f, 6)->imm.succ[1].to = 5; /* the `break` goes */
    assert(tr_forest_leaves_only_at(&t, 1, 3) && tr_forest_leaves_only_at(&t, 0, 1));
    assert(!tr_forest_leaves_only_at(&t, 1, 4));
}

static void test_head_asks(void) {
    tr_fn *f = parse(nested);
    tr_forest t = tr_forest_find(f);
    tr_loop_test q;
    assert(tr_forest_test(&t, 0, &q) && q.counter == param(f, 1, 0) && q.bound == param(f, 0, 0));
    assert(q.body == 2 && q.exit == 9 && q.cond == tr_blk_at(f, 1)->first);
    assert(tr_forest_test(&t, 1, &q) && q.counter == param(f, 3, 0) && q.body == 4 && q.exit == 8);
    assert(!tr_loop_head_test(f, 8, &q) && tr_loop_head_test(f, 3, &q));
    assert(!tr_loop_head_test(f, 6, &q)); /* which compares a param of another block */
    tr_ins *head = tr_term(f, 3);
    tr_at(f, head->args[0])->args[1] = param(f, 3, 1); /* a bound that rounds change */
    assert(tr_loop_head_test(f, 3, &q) && !tr_forest_test(&t, 1, &q));
    tr_at(f, head->args[0])->args[1] = param(f, 0, 0);
    assert(tr_forest_test(&t, 1, &q));
    head->imm.succ[1].to = 5; /* and both go on */
    assert(tr_loop_head_test(f, 3, &q) && q.exit == 5 && !tr_forest_test(&t, 1, &q));
    head->imm.succ[0].to = 8; /* `until` */
    head->imm.succ[1].to = 4;
    assert(tr_loop_head_test(f, 3, &q) && q.body == 8 && !tr_forest_test(&t, 1, &q));
    tr_at(f, head->args[0])->sub = TR_CMP_LE;
    assert(!tr_loop_head_test(f, 3, &q));
}

static void test_counters(void) {
    tr_fn *f = parse(nested);
    tr_counter c;
    assert(tr_loop_counter(f, 1, param(f, 1, 0), &c) && tr_is_int(f, c.start, 0) && tr_is_int(f, c.step, 1));
    assert(c.next == tr_term(f, 8)->imm.succ[0].args[0] && tr_loop_counts(f, 1, param(f, 1, 0)));
    assert(!tr_loop_counter(f, 1, param(f, 1, 1), &c)); /* `sub` is no step that is added */
    assert(tr_loop_start(f, 1, param(f, 1, 1)) == param(f, 0, 1));
    /* one sum on both ways back, on whichever side the step stands; two sums of one step; two steps; a step
     * that rounds change */
    assert(tr_loop_counter(f, 3, param(f, 3, 0), &c) && c.start == param(f, 0, 1));
    assert(c.step == tr_blk_at(f, 0)->first && c.next == tr_term(f, 5)->imm.succ[0].args[0]);
    assert(tr_loop_counter(f, 3, param(f, 3, 1), &c) && tr_is_int(f, c.start, 5) && c.next == TR_NOVAL);
    assert(tr_is_int(f, c.step, 1) && !tr_loop_counts(f, 3, param(f, 3, 1)));
    assert(!tr_loop_counter(f, 3, param(f, 3, 2), &c) && !tr_loop_counter(f, 3, param(f, 3, 3), &c));
}

/* Two ways in that bring two numbers. */
static void test_starts(void) {
    tr_fn *f = parse("fn @f -> i64 {\n"
                     "b0(%n: i64, %c: i1):\n"
                     "  cbr %c, b1(1, 3), b1(1, 4)\n"
                     "b1(%i: i64, %j: i64):\n"
                     "  %i1: i64 = add %i, 1\n"
                     "  %j1: i64 = add %j, 1\n"
                     "  %go: i1 = cmp lt %i1, %n\n"
                     "  cbr %go, b1(%i1, %j1), b2\n"
                     "b2:\n"
                     "  ret %i\n"
                     "}\n");
    tr_counter c;
    assert(tr_loop_counter(f, 1, param(f, 1, 0), &c) && tr_is_int(f, c.start, 1));
    assert(tr_loop_counter(f, 1, param(f, 1, 1), &c) && c.start == TR_NOVAL && tr_is_int(f, c.step, 1));
    assert(tr_loop_start(f, 1, param(f, 1, 1)) == TR_NOVAL);
}

int main(void) {
    tr_ctx_init(&ctx);
    tr_tytab *shared = tr_tytab_new(NULL);
    ctx.types = tr_tytab_new(shared);
    tr_tytab_follow(ctx.types, &ctx.arena);
    test_places();
    test_ways_out();
    test_head_asks();
    test_counters();
    test_starts();
    tr_tytab_free(ctx.types);
    tr_tytab_free(shared);
    tr_ctx_fini(&ctx);
    return 0;
}
