/* The IR's functions: building, constants, editing, cloning, control flow, loops, reading errors, tables.
 * What ops mean is tested in tests/ir. */
#include "parse_util.h"

#include <string.h>

#include "ir/nyi.h"
#include "ir/rtinfo.h"

static tr_ctx ctx;
static const tr_ty *i64, *f64, *boolean;

static void expect(const char *got, const char *want) {
    if (strcmp(got, want) != 0) {
        fprintf(stderr, "got:\n%s\nwant:\n%s\n", got, want);
        assert(0);
    }
}

static const char *printed(const tr_fn *f) {
    tr_sb b;
    tr_sb_init(&b);
    tr_ir_print(&b, f);
    const char *s = tr_arena_strdup(&ctx.arena, b.d);
    tr_sb_fini(&b);
    return s;
}

static void expect_valid(const tr_fn *f) {
    tr_sb b;
    tr_sb_init(&b);
    if (!tr_ir_verify(f, &b)) {
        fputs(b.d, stderr);
        assert(0);
    }
    tr_sb_fini(&b);
}

static tr_fn *parse(const char *text) {
    return parse_fn(&ctx, text);
}

/* --- building --- */

static void test_build(void) {
    tr_fn *f = tr_fn_new(&ctx, "f", S_T);
    f->ret = i64;
    f->file = "f.py";
    tr_bid entry = tr_blk_new(f), head = tr_blk_new(f), body = tr_blk_new(f), end = tr_blk_new(f);
    tr_val n = tr_blk_param(f, entry, i64, "n");
    tr_val i = tr_blk_param(f, head, i64, "i"), s = tr_blk_param(f, head, i64, "s");
    tr_bld b = {.fn = f, .blk = entry, .before = TR_NOVAL};
    tr_val zero = tr_const_int(f, i64, 0);
    tr_br(&b, head, 2, (const tr_val[]){zero, zero});
    b.blk = head;
    b.loc = tr_loc_add(f, (tr_place){"f.py", "f", {3, 4, 3, 9}}, 0);
    tr_val more = tr_emit2(&b, TR_OP_CMP, boolean, i, n);
    tr_at(f, more)->sub = TR_CMP_LT;
    tr_cbr(&b, more, body, 0, NULL, end, 0, NULL);
    b.blk = body;
    b.loc = 0;
    tr_val t = tr_emit2(&b, TR_OP_ADD, i64, s, i),
           j = tr_emit2(&b, TR_OP_ADD, i64, i, tr_const_int(f, i64, 1));
    tr_at(f, j)->flags = F_NSW;
    tr_val back = tr_br(&b, head, 1, &j);
    tr_edge_add(f, tr_at(f, back)->imm.succ, t);
    b.blk = end;
    tr_val ret = tr_emit1(&b, TR_OP_RET, NULL, s);
    b.before = ret;
    tr_val extra = tr_emit1(&b, TR_OP_NEG, i64, s);
    assert(tr_at(f, extra)->next == ret && tr_at(f, ret)->prev == extra && tr_blk_at(f, end)->first == extra);
    expect_valid(f);
    expect(printed(f), "fn @f -> i64 of \"f.py\" {\n"
                       "b0(%n: i64):\n"
                       "  br b1(0, 0)\n"
                       "b1(%i: i64, %s: i64):\n"
                       "  %0: i1 = cmp lt %i, %n  @3:4-3:9\n"
                       "  cbr %0, b2, b3  @3:4-3:9\n"
                       "b2:\n"
                       "  %1: i64 = add %s, %i\n"
                       "  %2: i64 = add.nsw %i, 1\n"
                       "  br b1(%2, %1)\n"
                       "b3:\n"
                       "  %3: i64 = neg %s\n"
                       "  ret %s\n"
                       "}\n");
    uint32_t *uses = tr_use_counts(f);
    assert(uses[s] == 3 && uses[zero] == 2 && uses[n] == 1 && uses[extra] == 0);
    tr_ins_remove(f, extra);
    assert(tr_blk_at(f, end)->first == ret && tr_at(f, extra)->blk == TR_NOBLK);
    tr_ins_move_before(f, j, t);
    assert(tr_blk_at(f, body)->first == j && tr_at(f, j)->next == t && tr_at(f, t)->next == back);
    tr_ins_move_end(f, j, body);
    assert(tr_blk_at(f, body)->first == t && tr_at(f, j)->next == back && tr_blk_at(f, body)->last == back);
    expect_valid(f);
    assert(tr_fn_place(f, 1).span.line == 3 && tr_fn_place(f, 99).span.line == 0);
}

static void test_edges(void) { /* edges grow in place, whatever length they had */
    tr_fn *f = tr_fn_new(&ctx, "f", S_T);
    for (uint32_t n = 0; n < 70; n++) {
        tr_bid b = tr_blk_new(f);
        tr_bld bld = {.fn = f, .blk = b, .before = TR_NOVAL};
        tr_val args[70];
        for (uint32_t k = 0; k < n; k++)
            args[k] = tr_const_int(f, i64, k);
        tr_val v = tr_br(&bld, b, n, args);
        for (uint32_t k = n; k < 100; k++)
            tr_edge_add(f, tr_at(f, v)->imm.succ, tr_const_int(f, i64, k));
        for (uint32_t k = 0; k < 100; k++)
            assert(tr_at(f, v)->imm.succ->args[k] == tr_const_int(f, i64, k));
    }
}

static void test_constants(void) {
    tr_fn *f = tr_fn_new(&ctx, "f", S_T);
    const tr_ty *i8 = tr_ty_scalar(ctx.types, TR_TY_I8), *u8 = tr_ty_scalar(ctx.types, TR_TY_U8),
                *f32 = tr_ty_scalar(ctx.types, TR_TY_F32), *c64 = tr_ty_scalar(ctx.types, TR_TY_C64);
    int64_t x;
    assert(tr_const_int(f, i8, 255) == tr_const_int(f, i8, -1) &&
           tr_const_int(f, i8, 1) != tr_const_int(f, u8, 1));
    assert(tr_get_int(f, tr_const_int(f, u8, -1), &x) && x == 255);
    assert(tr_get_int(f, tr_const_int(f, boolean, 3), &x) && x == 1);
    assert(!tr_get_int(f, tr_const_float(f, f64, 1), &x));
    assert(tr_const_float(f, f64, 0.0) != tr_const_float(f, f64, -0.0));
    assert(tr_const_float(f, f32, 0.1) == tr_const_float(f, f32, (double)0.1f));
    assert(tr_const_complex(f, c64, 1, 2) == tr_const_complex(f, c64, 1, 2));
    assert(tr_const_complex(f, c64, 1, 2) != tr_const_complex(f, c64, 2, 1));
    assert(tr_const_undef(f, f64) == tr_const_undef(f, f64) &&
           tr_const_undef(f, f64) != tr_const_undef(f, f32));
    assert(tr_const_obj(f, tr_obj_str(&ctx.arena, "a")) == tr_const_obj(f, tr_obj_str(&ctx.arena, "a")));
    assert(tr_const_obj(f, tr_obj_int(&ctx.arena, 1)) != tr_const_obj(f, tr_obj_bool(&ctx.arena, true)));
    for (int64_t k = 0; k < 3000; k++)
        assert(tr_const_int(f, i64, k) == tr_const_int(f, i64, k));
    assert(tr_loc_add(f, (tr_place){"a", "b", {1, 2, 3, 4}}, 0) ==
           tr_loc_add(f, (tr_place){"a", "b", {1, 2, 3, 4}}, 0));
    assert(tr_loc_add(f, (tr_place){"a", "c", {1, 2, 3, 4}}, 0) == 2);
}

static void test_replace(void) {
    tr_fn *f = parse("fn @f -> i64 {\n"
                     "b0(%a: i64, %b: i64, %c: i64):\n"
                     "  %x: i64 = add %a, %b\n"
                     "  br b1(%b)\n"
                     "b1(%p: i64):\n"
                     "  ret %p\n"
                     "}");
    const tr_blk *e = tr_blk_at(f, 0);
    tr_val a = e->params.d[0], b = e->params.d[1], c = e->params.d[2];
    tr_repl r = tr_repl_new(f);
    tr_repl_apply(f, &r);
    tr_repl_set(f, &r, a, b);
    tr_repl_set(f, &r, b, c);
    tr_val late = tr_const_int(f, i64, 77);
    tr_repl_set(f, &r, late, c); /* made after the map */
    assert(r.any && tr_repl_get(&r, a) == c && tr_repl_get(&r, c) == c && tr_repl_get(&r, late) == c);
    tr_repl_apply(f, &r);
    assert(tr_arg(f, e->first, 0) == c && tr_arg(f, e->first, 1) == c &&
           tr_term(f, 0)->imm.succ->args[0] == c);
}

static void test_split(void) {
    tr_fn *f = parse("fn @f -> i64 {\n"
                     "b0(%a: i64):\n"
                     "  %x: i64 = neg %a\n"
                     "  %y: i64 = neg %x\n"
                     "  ret %y\n"
                     "}");
    tr_val y = tr_at(f, tr_blk_at(f, 0)->first)->next;
    tr_bid b = tr_blk_split(f, y);
    tr_bld bld = {.fn = f, .blk = 0, .before = TR_NOVAL};
    assert(tr_at(f, y)->blk == b && tr_at(f, y)->prev == TR_NOVAL);
    tr_br(&bld, b, 0, NULL);
    expect_valid(f);
    tr_bid all = tr_blk_split(f, tr_blk_at(f, 0)->first); /* all of a block */
    assert(tr_blk_at(f, 0)->first == TR_NOVAL && tr_blk_at(f, 0)->last == TR_NOVAL);
    tr_br(&bld, all, 0, NULL);
    expect_valid(f);
    assert(tr_simplify_cfg(f) && !tr_simplify_cfg(f));
    expect(printed(f), "fn @f -> i64 {\nb0(%a: i64):\n  %x: i64 = neg %a\n  %y: i64 = neg %x\n  ret %y\n}\n");
}

/* --- cloning --- */

static const char loop_text[] = "fn @f -> f64 of \"f.py\" {\n"
                                "b0(%n: i64, %a: f64[1c]):\n"
                                "  br b1(0, 0.0)\n"
                                "b1(%i: i64, %s: f64):\n"
                                "  %more: i1 = cmp lt %i, %n\n"
                                "  cbr %more, b2, b3\n"
                                "b2:\n"
                                "  %0: f64 = pattern [%n] in(%a) red(add %s)  @4:1-4:9 {\n"
                                "    b0(%i: i64, %e: f64):\n"
                                "      %0: f64 = neg %e  @4:2-4:3\n"
                                "      yield %0\n"
                                "  }\n"
                                "  %j: i64 = add %i, 1  @5:1-5:9 in \"g\" < @6:0-6:2\n"
                                "  br b1(%j, %0)\n"
                                "b3:\n"
                                "  ret %s\n"
                                "}\n";

static void test_clone(void) {
    tr_fn *f = parse(loop_text), *g = tr_fn_clone(f);
    expect(printed(f), loop_text);
    expect(printed(g), loop_text);
    expect_valid(g);
    tr_val p = tr_blk_at(g, 2)->first;
    assert(tr_at(g, p)->op == TR_OP_PATTERN &&
           tr_at(g, p)->imm.pat->lam != tr_at(f, tr_blk_at(f, 2)->first)->imm.pat->lam);

    /* into another function, at a call */
    tr_fn *h = parse("fn @h -> f64 of \"h.py\" {\n"
                     "b0(%n: i64, %a: f64[1c]):\n"
                     "  %c: f64 = call #1(%n, %a)  @9:4-9:8\n"
                     "  ret %c\n"
                     "}");
    tr_val *map = TR_NEW_N(&ctx.arena, tr_val, f->ins.n);
    tr_bid *bmap = TR_NEW_N(&ctx.arena, tr_bid, f->blks.n), blks[] = {0, 1, 2, 3};
    memset(map, 0xff, f->ins.n * sizeof *map);
    memset(bmap, 0xff, f->blks.n * sizeof *bmap);
    tr_val call = tr_blk_at(h, 0)->first;
    tr_clone_blocks(h, f, blks, 4, map, bmap, tr_at(h, call)->loc);
    tr_bid rest = tr_blk_split(h, call);
    tr_val result = tr_blk_param(h, rest, f64, NULL),
           args[] = {tr_blk_at(h, 0)->params.d[0], tr_blk_at(h, 0)->params.d[1]};
    tr_bld b = {.fn = h, .blk = 0, .before = TR_NOVAL};
    tr_br(&b, bmap[0], 2, args);
    tr_val ret = tr_blk_at(h, bmap[3])->last, s = tr_arg(h, ret, 0);
    tr_ins_remove(h, ret);
    b.blk = bmap[3];
    tr_br(&b, rest, 1, &s);
    tr_repl r = tr_repl_new(h);
    tr_repl_set(h, &r, call, result);
    tr_repl_apply(h, &r);
    tr_ins_remove(h, call);
    expect_valid(h);
    tr_simplify_cfg(h);
    expect_valid(h);
    expect(printed(h),
           "fn @h -> f64 of \"h.py\" {\n"
           "b0(%n: i64, %a: f64[1c]):\n"
           "  br b1(0, 0.0)\n"
           "b1(%i: i64, %s: f64):\n"
           "  %more: i1 = cmp lt %i, %n  @9:4-9:8\n"
           "  cbr %more, b2, b3  @9:4-9:8\n"
           "b2:\n"
           "  %0: f64 = pattern [%n] in(%a) red(add %s)  @4:1-4:9 in \"f\" of \"f.py\" < @9:4-9:8 {\n"
           "    b0(%i: i64, %e: f64):\n"
           "      %0: f64 = neg %e  @4:2-4:3 in \"f\" of \"f.py\" < @9:4-9:8\n"
           "      yield %0\n"
           "  }\n"
           "  %j: i64 = add %i, 1  @5:1-5:9 in \"g\" of \"f.py\" < @6:0-6:2 in \"f\" of \"f.py\" < @9:4-9:8\n"
           "  br b1(%j, %0)  @9:4-9:8\n"
           "b3:\n"
           "  ret %s\n"
           "}\n");
    expect(printed(parse(printed(h))), printed(h));
}

/* A loop copied beside itself, as versioning does: what is not copied stays. */
static void test_clone_within(void) {
    tr_fn *f = parse(loop_text);
    tr_val *map = TR_NEW_N(&ctx.arena, tr_val, f->ins.n);
    tr_bid *bmap = TR_NEW_N(&ctx.arena, tr_bid, f->blks.n), blks[] = {1, 2};
    memset(map, 0xff, f->ins.n * sizeof *map);
    memset(bmap, 0xff, f->blks.n * sizeof *bmap);
    map[tr_blk_at(f, 0)->params.d[0]] = tr_const_int(f, i64, 8); /* n is 8 in the copy */
    tr_bid end = 3;
    tr_val s = tr_blk_param(f, end, f64, "res"); /* two ways lead here, so the result needs a param */
    tr_edge_add(f, &tr_term(f, 1)->imm.succ[1], tr_blk_at(f, 1)->params.d[1]);
    tr_at(f, tr_blk_at(f, end)->last)->args[0] = s;
    tr_clone_blocks(f, f, blks, 2, map, bmap, 0);
    tr_ins_remove(f, tr_blk_at(f, 0)->last);
    tr_bld b = {.fn = f, .blk = 0, .before = TR_NOVAL};
    tr_val start[] = {tr_const_int(f, i64, 0), tr_const_float(f, f64, 0)};
    tr_val eight = tr_emit2(&b, TR_OP_CMP, boolean, tr_blk_at(f, 0)->params.d[0], tr_const_int(f, i64, 8));
    tr_at(f, eight)->sub = TR_CMP_EQ;
    tr_cbr(&b, eight, bmap[1], 2, start, 1, 2, start);
    expect_valid(f);
    assert(strstr(printed(f), "cmp lt %i.1, %n") && strstr(printed(f), "cmp lt %i, 8"));
}

/* --- control flow --- */

/* Typed functions of blocks without content: each line of `edges` "b: x y" gives a block's targets. */
static tr_fn *graph(uint32_t n, const int (*edges)[2]) {
    tr_fn *f = tr_fn_new(&ctx, "g", S_T);
    for (uint32_t k = 0; k < n; k++)
        tr_blk_new(f);
    tr_val c = tr_blk_param(f, 0, boolean, "c");
    for (uint32_t k = 0; k < n; k++) {
        tr_bld b = {.fn = f, .blk = k, .before = TR_NOVAL};
        if (edges[k][0] < 0)
            tr_emit1(&b, TR_OP_RET, NULL, tr_const_undef(f, tr_ty_none(ctx.types)));
        else if (edges[k][1] < 0)
            tr_br(&b, (tr_bid)edges[k][0], 0, NULL);
        else
            tr_cbr(&b, c, (tr_bid)edges[k][0], 0, NULL, (tr_bid)edges[k][1], 0, NULL);
    }
    expect_valid(f);
    tr_cfg_compute(f);
    tr_dom_compute(f);
    return f;
}

static void test_loops(void) {
    /* 0 -> 1; 1 -> 2 | 7; 2 -> 3; 3 -> 4 | 5; 4 -> 3; 5 -> 1 | 6; 6 -> 1; 8 is unreachable and goes to 1 */
    static const int edges[][2] = {{1, -1}, {2, 7},  {3, -1},  {4, 5}, {3, -1},
                                   {1, 6},  {1, -1}, {-1, -1}, {1, -1}};
    tr_fn *f = graph(9, edges);
    uint32_t inner[9];
    tr_loops l;
    static const tr_bid order[] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert(f->rpo.n == 8 && tr_blk_at(f, 8)->rpo == TR_NOBLK);
    for (uint32_t k = 0; k < 8; k++)
        assert(f->rpo.d[k] == order[k]);
    assert(tr_blk_at(f, 1)->preds.n == 3);
    assert(tr_dominates(f, 1, 7) && tr_dominates(f, 3, 6) && !tr_dominates(f, 4, 5) &&
           tr_dominates(f, 5, 5) && !tr_dominates(f, 7, 1) && tr_dominates(f, 7, 8));
    tr_loops_find(f, &l, inner);
    assert(l.n == 2 && l.d[0].header == 1 && l.d[1].header == 3);
    assert(l.d[1].parent == 0 && l.d[0].parent == UINT32_MAX && l.d[0].depth == 1 && l.d[1].depth == 2);
    assert(l.d[0].blks.n == 6 && l.d[0].blks.d[0] == 1 && l.d[1].blks.n == 2 && l.d[1].blks.d[1] == 4);
    assert(l.d[0].preheader == 0 && l.d[0].latch == TR_NOBLK && l.d[1].preheader == 2 && l.d[1].latch == 4);
    assert(inner[2] == 0 && inner[4] == 1 && inner[7] == UINT32_MAX && inner[0] == UINT32_MAX &&
           inner[8] == UINT32_MAX);

    /* a block that is its own loop; a header that both ways of one branch enter; three loops in each other */
    static const int self[][2] = {{1, 1}, {1, 2}, {-1, -1}};
    f = graph(3, self);
    tr_loops_find(f, &l, inner);
    assert(l.n == 1 && l.d[0].blks.n == 1 && l.d[0].latch == 1 && l.d[0].preheader == TR_NOBLK);
    static const int three[][2] = {{1, -1}, {2, -1}, {3, -1}, {3, 4}, {2, 5}, {1, 6}, {-1, -1}};
    f = graph(7, three);
    tr_loops_find(f, &l, inner);
    assert(l.n == 3 && l.d[2].parent == 1 && l.d[1].parent == 0 && l.d[2].depth == 3 && inner[3] == 2 &&
           inner[5] == 0);
    /* irreducible: two entries, so no natural loop */
    static const int odd[][2] = {{1, 2}, {2, -1}, {1, 3}, {-1, -1}};
    f = graph(4, odd);
    tr_loops_find(f, &l, inner);
    assert(l.n == 0 && tr_blk_at(f, 1)->idom == 0 && tr_blk_at(f, 2)->idom == 0);
}

static void test_params(void) {
    /* %p and %q only carry each other and %a; %dead feeds itself; %live is used */
    tr_fn *f = parse("fn @f -> i64 {\n"
                     "b0(%a: i64, %c: i1):\n"
                     "  br b1(%a, 0, 0)\n"
                     "b1(%p: i64, %dead: i64, %live: i64):\n"
                     "  %d: i64 = add %live, 1\n"
                     "  cbr %c, b2(%p, %dead), b3\n"
                     "b2(%q: i64, %e: i64):\n"
                     "  br b1(%q, %e, %d)\n"
                     "b3:\n"
                     "  %r: i64 = add %p, %live\n"
                     "  ret %r\n"
                     "}");
    assert(tr_remove_params(f) && !tr_remove_params(f));
    expect_valid(f);
    expect(printed(f), "fn @f -> i64 {\n"
                       "b0(%a: i64, %c: i1):\n"
                       "  br b1(0)\n"
                       "b1(%live: i64):\n"
                       "  %d: i64 = add %live, 1\n"
                       "  cbr %c, b2, b3\n"
                       "b2:\n"
                       "  br b1(%d)\n"
                       "b3:\n"
                       "  %r: i64 = add %a, %live\n"
                       "  ret %r\n"
                       "}\n");
}

/* --- reading --- */

static void test_errors(void) {
    static const struct {
        const char *text;
        int line, col; /* both from 1 */
        const char *what;
    } rows[] = {
        {"f", 1, 1, "expected fn, front or lambda"},
        {"fn f {\n}", 1, 4, "expected '@'"},
        {"fn @f {\n}", 1, 8, "a function needs a block"},
        {"fn @f {\nb0:\n  ret 1\n", 4, 1, "expected '}'"},
        {"fn @f {\nb0:\n  frob 1\n}", 3, 3, "no instruction 'frob' in this stage"},
        {"fn @f {\nb0:\n  %x = neg 1\n}", 3, 3, "the result needs a type"},
        {"fn @f {\nb0:\n  neg 1\n}", 3, 3, "the result needs a name"},
        {"fn @f {\nb0:\n  %x: i64 = ret 1\n}", 3, 3, "this instruction has no result"},
        {"front @f {\nb0:\n  %x: i64 = iter 1\n}", 3, 3, "values have no types in this stage"},
        {"fn @f {\nb0:\n  ret %x\n}", 3, 7, "%x is not defined"},
        {"fn @f {\nb0(%x: i64, %x: i64):\n  ret %x\n}", 2, 13, "%x is defined twice"},
        {"fn @f {\nb0(%x):\n  ret %x\n}", 2, 4, "the param needs a type"},
        {"fn @f {\nb0:\n  ret 1\nb0:\n  ret 1\n}", 4, 1, "this block is defined twice"},
        {"fn @f {\nb0:\n  br b1\n}", 1, 8, "a block that is gone to is not defined"},
        {"fn @f {\nb0:\n  br 1\n}", 3, 6, "expected a block, as in b1"},
        {"fn @f {\nb0:\n  ret 1 2\n}", 3, 9, "expected the end of the line"},
        {"fn @f {\nb0:\n  ret foo\n}", 3, 7, "expected a value"},
        {"fn @f {\nb0:\n  ret \"x\"\n}", 3, 7, "expected a number, a value or undef"},
        {"fn @f {\nb0:\n  raise ! FooError\n}", 3, 19, "no exception of this name"},
        {"fn @f {\nb0:\n  %x: i64 = cmp foo 1, 2\n}", 3, 17, "expected a comparison"},
        {"fn @f {\nb0:\n  %x: i64 = callrt FOO()\n}", 3, 20, "no such function in the run-time library"},
        {"fn @f {\nb0:\n  %x: i64 = dim undef:f64[1c]\n}", 3, 30, "expected ','"},
        {"fn @f {\nb0:\n  %x: i64 = dim undef:f64[1c], -1\n}", 3, 32, "expected a number of at least 0"},
        {"fn @f {\nb0:\n  %x: foo = neg 1\n}", 3, 7, "expected a type"},
        {"fn @f {\nb0:\n  ret 1  @x\n}", 3, 11, "expected a number of at least 0"},
        {"fn @f {\nb0:\n  %x: i64 = pattern [1] red(frob 1) {\n}", 3, 29, "expected a reduction"},
        {"fn @f {\nb0:\n  %x: i64 = add.foo 1, 2\n}", 3, 17, "expected nsw or fast, or one of fast's parts"},
        {"fn @f {\nb0:\n  %x: i64 = const 1\n}", 3, 13, "no instruction 'const' in this stage"},
        {"front @f {\nb0:\n  %x = call @f(a=1, 2)\n}", 3, 21, "positional arguments come first"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tr_prog p;
        tr_prog_init(&p, &ctx);
        bool ok = tr_ir_parse(&ctx, rows[i].text, "test", &p);
        const tr_err *e = ctx.last_err;
        if (ok || strcmp(e->text, rows[i].what) != 0 || e->place.span.line != rows[i].line ||
            e->place.span.col + 1 != rows[i].col) {
            fprintf(stderr, "%s\n-> %s\n", rows[i].text, ok ? "no error" : e->text);
            if (!ok)
                fprintf(stderr, "at %d:%d\n", e->place.span.line, e->place.span.col + 1);
            assert(0);
        }
    }
    char deep[2000] = "fn @f {\nb0:\n";
    for (int i = 0; i < 40; i++)
        strcat(deep, "%x: none = pattern [1] {\nb0:\n");
    tr_prog p;
    tr_prog_init(&p, &ctx);
    assert(!tr_ir_parse(&ctx, deep, "test", &p) && strstr(ctx.last_err->text, "nested too deeply"));
}

static void test_verify_links(void) { /* faults that text cannot express */
    tr_sb b;
    tr_sb_init(&b);
    tr_fn *f = parse(loop_text);
    tr_at(f, tr_blk_at(f, 2)->first)->next = tr_blk_at(f, 2)->first;
    assert(!tr_ir_verify(f, &b) && strstr(b.d, "chain of instructions is broken"));
    f = parse(loop_text);
    tr_at(f, tr_blk_at(f, 3)->last)->args[0] = 12345;
    tr_sb_reset(&b);
    assert(!tr_ir_verify(f, &b) && strstr(b.d, "an operand is missing") && strstr(b.d, "ret ?none"));
    f = parse(loop_text);
    tr_at(f, tr_blk_at(f, 3)->last)->args[0] = tr_blk_at(f, 3)->last;
    tr_sb_reset(&b);
    assert(!tr_ir_verify(f, &b) && strstr(b.d, "uses something without a value"));
    f = parse(loop_text);
    tr_at(f, tr_blk_at(f, 3)->last)->op = 999;
    tr_sb_reset(&b);
    assert(!tr_ir_verify(f, &b) && strstr(b.d, "may not stand here"));
    f = parse(loop_text);
    tr_term(f, 0)->imm.succ->to = 77;
    tr_sb_reset(&b);
    assert(!tr_ir_verify(f, &b) && strstr(b.d, "goes to no block"));
    f = parse(loop_text);
    for (tr_val v = 0; v < f->ins.n; v++)
        if (tr_at(f, v)->op == TR_OP_CMP)
            tr_at(f, v)->sub = TR_CMP__COUNT;
    tr_sb_reset(&b);
    assert(!tr_ir_verify(f, &b) && strstr(b.d, "6 is not a comparison") && strstr(b.d, "cmp ?"));
    f = tr_fn_new(&ctx, "f", S_T);
    tr_sb_reset(&b);
    assert(!tr_ir_verify(f, &b) && strstr(b.d, "has no entry block"));
    tr_sb_fini(&b);
}

/* --- tables --- */

static void test_tables(void) {
    for (unsigned i = 0; i < TR_OP__COUNT; i++) {
        assert(tr_op_info[i].stages && strchr("-vsbnt", tr_op_info[i].result));
        for (unsigned k = 0; k < i; k++) /* a stage has one op of a name, so that text says which */
            assert(strcmp(tr_op_info[i].name, tr_op_info[k].name) != 0 ||
                   !(tr_op_info[i].stages & tr_op_info[k].stages));
    }
    for (unsigned i = 0; i < TR_WORDS__COUNT; i++) { /* a list has words, all of them different */
        const tr_wordlist *w = &tr_op_words[i];
        assert(w->count >= 1 && w->count <= UINT8_MAX && !w->name == (i == TR_WORDS_NONE));
        for (unsigned n = 0; w->name && n < w->count; n++)
            for (unsigned k = 0; k < n; k++)
                assert(!w->name[n] || !w->name[k] || strcmp(w->name[n], w->name[k]) != 0);
        assert(!w->name || w->silent == !w->name[0]);
    }
    for (unsigned i = 0; i < TR_RT__COUNT; i++) {
        const char *sig = tr_rt_info[i].sig;
        assert(strchr("iudfIbpCSv", sig[0]) && sig[1] == '(' && sig[strlen(sig) - 1] == ')');
        for (const char *p = sig + 2; *p != ')'; p++)
            assert(strchr("iuIdfplrwmbFsCSx", *p));
    }
    for (unsigned i = 0; i < TR_MATH__COUNT; i++) {
        const tr_mathinfo *m = &tr_math_info[i];
        assert(m->arity >= 1 && m->arity <= 3 && (m->f64 || m->result == 'b'));
    }
    for (unsigned i = 0; i < tr_nyi_count; i++)
        assert(tr_nyi_find(tr_nyi_rows[i].id) == &tr_nyi_rows[i]);
    assert(!tr_nyi_find("no such row"));
    const tr_rtcall pure = {.row = TR_RT_GCD}, print = {.row = TR_RT_PRINT_END};
    assert(tr_ins_effects(&(tr_ins){.op = TR_OP_CALLRT, .imm.rt = &pure}) == 0);
    assert(tr_ins_effects(&(tr_ins){.op = TR_OP_CALLRT, .imm.rt = &print}) == E_SIDE);
    assert(tr_ins_effects(&(tr_ins){.op = TR_OP_STORE}) == E_WRITE);
}

static void test_program(void) {
    tr_prog p;
    tr_sb b;
    tr_prog_init(&p, &ctx);
    tr_sb_init(&b);
    assert(tr_ir_parse(
        &ctx, "front @f {\nb0(%a, %b):\n  ret %a\n}\nfn @g -> i64 {\nb0(%x: i64):\n  ret %x\n}\n", "t", &p));
    assert(p.funcs.n == 1 && p.insts.n == 1 && p.funcs.d[0].nargs == 2 &&
           !strcmp(p.funcs.d[0].argnames[1], "b"));
    assert(p.insts.d[0].nargs == 1 && p.insts.d[0].args[0] == i64 && p.insts.d[0].ret == i64);
    tr_prog_print(&b, &p, true);
    expect(b.d, "fn @g -> i64 {\nb0(%x: i64):\n  ret %x\n}\n");
    tr_sb_reset(&b);
    tr_prog_print(&b, &p, false);
    expect(b.d, "front @f {\nb0(%a, %b):\n  ret %a\n}\n");
    tr_sb_fini(&b);
}

int main(void) {
    tr_ctx_init(&ctx);
    tr_tytab *shared = tr_tytab_new(NULL);
    ctx.types = tr_tytab_new(shared);
    i64 = tr_ty_scalar(ctx.types, TR_TY_I64);
    f64 = tr_ty_scalar(ctx.types, TR_TY_F64);
    boolean = tr_ty_scalar(ctx.types, TR_TY_BOOL);
    test_build();
    test_edges();
    test_constants();
    test_replace();
    test_split();
    test_clone();
    test_clone_within();
    test_loops();
    test_params();
    test_errors();
    test_verify_links();
    test_tables();
    test_program();
    tr_tytab_free(ctx.types);
    tr_tytab_free(shared);
    tr_ctx_fini(&ctx);
    return 0;
}
