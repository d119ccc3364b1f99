/* Text IR in C tests: a program of one function, or an assertion that fails with what the parser said. */
#ifndef TR_TESTS_PARSE_UTIL_H
#define TR_TESTS_PARSE_UTIL_H

#include <assert.h>
#include <stdio.h>

#include "base/ctx.h"
#include "ir/prog.h"

static inline tr_fn *parse_fn(tr_ctx *ctx, const char *text) {
    tr_prog p;
    tr_prog_init(&p, ctx);
    if (!tr_ir_parse(ctx, text, "test", &p)) {
        fprintf(stderr, "%d: %s\n", ctx->last_err->place.span.line, ctx->last_err->text);
        assert(0);
    }
    assert(p.insts.n == 1);
    return p.insts.d[0].fn;
}

#endif
