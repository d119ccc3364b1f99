/* The order of passes: orders that are wrong, and IR that lacks what the table says it has. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "opt/opt.h"
#include "opt/priv.h"
#include "ty/ty.h"

static tr_ctx ctx;

static void expect_fault(const char *got, const char *want) {
    if (want ? got && strstr(got, want) : !got)
        return;
    fprintf(stderr, "expected '%s', got '%s'\n", want ? want : "no fault", got ? got : "no fault");
    assert(0);
}

/* The order without the first `out`, and with `in` before the first `at`. */
static const char *planted(const char *out, const char *in, const char *at) {
    static char text[1024];
    snprintf(text, sizeof text, "%s", tr_pass_order);
    char *s = out ? strstr(text, out) : NULL;
    assert(!out || s);
    if (s)
        memmove(s, s + strlen(out), strlen(s + strlen(out)) + 1);
    s = in ? strstr(text, at) : NULL;
    assert(!in || s);
    if (s) {
        memmove(s + strlen(in), s, strlen(s) + 1);
        memcpy(s, in, strlen(in));
    }
    return text;
}

static void test_product(void) {
    tr_arena *a = &ctx.arena;
    expect_fault(tr_pass_order_fault(a, tr_pass_order), NULL);
    expect_fault(tr_pass_order_fault(a, planted(NULL, NULL, NULL)), NULL);
    static const struct {
        const char *out, *in, *at, *want;
    } wrong[] = {
        {"simplify,", NULL, NULL, "fold needs REACHED"},
        {"own,", NULL, NULL, "large needs COUNTED"},
        {NULL, "own,", "inline", "inline needs BARE"},
        {NULL, "fold,", "late", "fold needs BARE"},
        {NULL, "own,", "split", "own needs BARE"},
        {",rotate", NULL, NULL, "lowering needs ROTATED"},
        {NULL, "simplify,", "own", "lowering needs ROTATED"},
        {"prange,", NULL, NULL, "batch needs DECIDED"},
        {NULL, "flatten,", "prange", "flatten needs DECIDED"},
        {"flatten,", NULL, NULL, "lowering needs FLAT"},
        {NULL, "fuse,", "prange", "fuse needs SHARED"},
        {NULL, "cse,fuse,", "rotate", "rotate needs DECIDED"},
        {NULL, "prange,", "bounds", "prange needs PROVED"},
        {NULL, "inline,", "bounds", "bounds needs SHARED"},
        {NULL, "cse,fuse,", "agree", "fuse needs AGREED"},
        {"late,", NULL, NULL, "split needs LEFT"},
        {"inline,", NULL, NULL, "twins needs INLINED"},
        {NULL, "schedule,", "own", "own needs LOOSE"},
        {"schedule", NULL, NULL, "lowering needs SCHEDULED"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_fault(tr_pass_order_fault(a, planted(wrong[i].out, wrong[i].in, wrong[i].at)), wrong[i].want);
}

static void test_part(void) {
    tr_arena *a = &ctx.arena;
    expect_fault(tr_pass_part_fault(a, "bounds"), NULL);
    expect_fault(tr_pass_part_fault(a, "cse,fuse,simplify,dce"), NULL);
    expect_fault(tr_pass_part_fault(a, "fuse,agree"), "fuse needs AGREED");
    expect_fault(tr_pass_part_fault(a, "prange,bounds"), "prange needs PROVED");
    expect_fault(tr_pass_part_fault(a, "split,late"), "split needs LEFT");
}

static const char text[] = "fn @unreached -> i64 {\n"
                           "b0(%n: i64):\n"
                           "  ret %n\n"
                           "b1:\n"
                           "  ret 0\n"
                           "}\n"
                           "fn @counts -> f64[1c] {\n"
                           "b0(%a: f64[1c]):\n"
                           "  retain %a\n"
                           "  ret %a\n"
                           "}\n"
                           "fn @leaks -> i64 {\n"
                           "b0(%n: i64):\n"
                           "  %t: f64[1c] = alloc %n ! MemoryError \"no\"\n"
                           "  ret %n\n"
                           "}\n"
                           "fn @marked -> i64 {\n"
                           "b0(%n: i64):\n"
                           "  %m: i64 = prange %n\n"
                           "  ret %m\n"
                           "}\n"
                           "fn @twice -> i64 {\n"
                           "b0(%n: i64):\n"
                           "  br b1(0)\n"
                           "b1(%i: i64):\n"
                           "  %j: i64 = add %i, 1\n"
                           "  %m: i1 = cmp lt %j, %n\n"
                           "  cbr %m, b1(%j), b2\n"
                           "b2:\n"
                           "  %k: i1 = cmp eq %j, 7\n"
                           "  cbr %k, b1(0), b3\n"
                           "b3:\n"
                           "  ret %j\n"
                           "}\n";

/* Each function lacks one property, and no other has it missing. */
static void test_seen(void) {
    static const struct {
        const char *name;
        uint32_t lacks;
        const char *what;
    } rows[] = {{"unreached", P_REACHED, "REACHED does not hold"},
                {"counts", P_BARE, "BARE does not hold"},
                {"leaks", P_COUNTED,
                 "COUNTED does not hold (every path gives back the references that it holds, "
                 "once; reference counts: still held at the return"},
                {"marked", P_DECIDED, "DECIDED does not hold"},
                {"twice", P_ROTATED, "ROTATED does not hold"}};
    tr_prog p;
    tr_prog_init(&p, &ctx);
    assert(tr_ir_parse(&ctx, text, "test", &p) && p.insts.n == sizeof rows / sizeof *rows);
    for (uint32_t i = 0; i < p.insts.n; i++) {
        tr_fn *f = p.insts.d[i].fn;
        assert(!strcmp(f->name, rows[i].name));
        expect_fault(tr_pass_untrue(&p, f, rows[i].lacks), rows[i].what);
        for (unsigned k = 0; k < P__COUNT; k++)
            if (1u << k != rows[i].lacks)
                expect_fault(tr_pass_untrue(&p, f, 1u << k), NULL);
    }
    expect_fault(tr_opt_unready(&p, p.insts.d[1].fn, "cse", 3), "BARE does not hold");
    expect_fault(tr_opt_unready(&p, p.insts.d[2].fn, "late", 4), "COUNTED does not hold");
    expect_fault(tr_opt_unready(&p, p.insts.d[3].fn, "rotate", 6), "DECIDED does not hold");
    expect_fault(tr_opt_unready(&p, p.insts.d[3].fn, "prange", 6), NULL);
    assert(tr_pass_input(&p) == (P_WHOLE | P_LOOSE));
    assert(!tr_opt_run_named(&p, p.insts.d[1].fn, "fold,cse"));
    assert(ctx.last_err &&
           strstr(ctx.last_err->text, "passes in a wrong order: in counts, before fold, BARE"));
}

int main(void) {
    tr_ctx_init(&ctx);
    tr_tytab *shared = tr_tytab_new(NULL);
    ctx.types = tr_tytab_new(shared);
    tr_tytab_follow(ctx.types, &ctx.arena);
    test_product();
    test_part();
    test_seen();
    tr_tytab_free(ctx.types);
    tr_tytab_free(shared);
    tr_ctx_fini(&ctx);
    return 0;
}
