/* Fuzz target for the reader of text IR, and with it the printer, the verifier and the plainest edits.
 *
 * Any text must be read or refused, never crash; what was read must print and read back the same; what
 * verifies must still verify after its control flow was simplified, and read back again. */
#include "fuzz_ir.h"

static void fail(const char *what, const char *a, const char *b) {
    fprintf(stderr, "%s\n--- first\n%s\n--- then\n%s\n", what, a, b);
    abort();
}

static void print_all(tr_sb *b, const tr_prog *p) {
    tr_sb_reset(b);
    tr_prog_print(b, p, false);
    tr_prog_print(b, p, true);
    assert(!b->oom);
}

static void expect_same_when_read(tr_ctx *ctx, const tr_sb *a, tr_sb *b) {
    tr_prog again;
    tr_prog_init(&again, ctx);
    if (!tr_ir_parse(ctx, a->d, "again", &again))
        fail(ctx->last_err->text, a->d, "cannot be read");
    print_all(b, &again);
    if (strcmp(a->d, b->d) != 0)
        fail("printing is not stable", a->d, b->d);
}

static void simplify_all(tr_prog *p) {
    for (uint32_t i = 0; i < p->funcs.n; i++)
        tr_simplify_cfg(p->funcs.d[i].ssa);
    for (uint32_t i = 0; i < p->insts.n; i++)
        tr_simplify_cfg(p->insts.d[i].fn);
}

static void one(tr_ctx *ctx, const char *text) {
    tr_prog p;
    tr_sb a, b, report;
    tr_sb_init(&a);
    tr_sb_init(&b);
    tr_sb_init(&report);
    tr_prog_init(&p, ctx);
    bool ok = tr_ir_parse(ctx, text, "fuzz", &p);
    assert(ok || (ctx->last_err && ctx->last_err->text && ctx->last_err->place.span.line > 0));
    if (ok) {
        print_all(&a, &p);
        expect_same_when_read(ctx, &a, &b);
    }
    if (ok && tr_ir_verify_program(&p, &report)) {
        simplify_all(&p);
        if (!tr_ir_verify_program(&p, &report))
            fail("simplifying broke it", a.d, report.d);
        print_all(&a, &p);
        expect_same_when_read(ctx, &a, &b);
    } else if (ok) {
        assert(strstr(report.d, "fault"));
    }
    tr_sb_fini(&a);
    tr_sb_fini(&b);
    tr_sb_fini(&report);
}

#ifndef TR_LIBFUZZER
int main(void) {
    return run(4000);
}
#endif
