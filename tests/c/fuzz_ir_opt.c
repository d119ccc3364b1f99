/* Fuzz target for the passes: whatever verifies must come through all of them, within their own bounds,
 * and verify after each; so it must through some passes in an order of the text's own. Or a pass says
 * what of the program it does not take. */
#include "fuzz_ir.h"

#include "opt/opt.h"

static const char *const passes[] = {
#define X(name, ...) #name,
#include "opt/passes.def"
};

static void expect_fine(const tr_ctx *ctx, bool ok, const char *text, const char *what) {
    if (ok || (ctx->last_err && ctx->last_err->kind == TR_ERR_UNSUPPORTED))
        return;
    fprintf(stderr, "%s: %s\n--- text\n%s\n", what, ctx->last_err ? ctx->last_err->text : "?", text);
    abort();
}

static bool read(tr_ctx *ctx, const char *text, tr_prog *p) {
    tr_sb report;
    tr_sb_init(&report);
    tr_prog_init(p, ctx);
    bool ok = tr_ir_parse(ctx, text, "fuzz", p) && tr_ir_verify_program(p, &report);
    tr_sb_fini(&report);
    return ok;
}

static void one(tr_ctx *ctx, const char *text) {
    tr_prog p;
    ctx->dump.verify = true;
    if (!read(ctx, text, &p))
        return;
    expect_fine(ctx, tr_opt_run(&p), text, "the product's order");
    uint32_t h = 1;
    for (const char *c = text; *c; c++)
        h = h * 31 + (unsigned char)*c;
    if (!read(ctx, text, &p))
        return;
    for (uint32_t i = 0; i < p.insts.n; i++)
        for (int k = 0; k < 4; k++) {
            h = h * 1664525 + 1013904223;
            const char *name = passes[(h >> 16) % (sizeof passes / sizeof *passes)];
            /* Few passes know of blocks that nothing reaches, and few of counted references. */
            if (!tr_opt_unready(&p, p.insts.d[i].fn, "simplify", strlen("simplify")))
                expect_fine(ctx, tr_opt_run_named(&p, p.insts.d[i].fn, "simplify"), text, "simplify");
            if (tr_opt_unready(&p, p.insts.d[i].fn, name, strlen(name)))
                continue;
            expect_fine(ctx, tr_opt_run_named(&p, p.insts.d[i].fn, name), text, name);
        }
}

#ifndef TR_LIBFUZZER
int main(void) {
    return run(1000);
}
#endif
