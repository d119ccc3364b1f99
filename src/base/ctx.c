/* The context of one compilation: set-up, errors, time. */
#include "base/ctx.h"

#include <assert.h>
#include <string.h>
#include <time.h>

void tr_ctx_init(tr_ctx *ctx) {
    memset(ctx, 0, sizeof *ctx);
    tr_arena_init(&ctx->arena, NULL); /* the driver points arena.oom at ctx->oom once it has set the jump */
    ctx->opts = TR_OPTS_DEFAULT;
    tr_sb_init(&ctx->dump_text);
}

void tr_ctx_fini(tr_ctx *ctx) {
    tr_sb_fini(&ctx->dump_text);
    tr_arena_fini(&ctx->arena);
    ctx->errs = ctx->last_err = NULL;
}

static tr_err *add(tr_ctx *ctx, tr_errkind kind, tr_place place, const char *fmt, va_list ap) {
    tr_err *e = TR_NEW(&ctx->arena, tr_err);
    e->kind = kind;
    e->place = place;
    e->text = tr_arena_vprintf(&ctx->arena, fmt, ap);
    assert(!ctx->last_err == !ctx->errs && !ctx->errs == !ctx->nerrs && "errors are a list, and counted");
    if (ctx->last_err)
        ctx->last_err->next = e;
    else
        ctx->errs = e;
    ctx->last_err = e;
    ctx->nerrs++;
    return e;
}

tr_err *tr_err_add(tr_ctx *ctx, tr_errkind kind, tr_place place, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tr_err *e = add(ctx, kind, place, fmt, ap);
    va_end(ap);
    return e;
}

void tr_err_note(tr_ctx *ctx, tr_err *e, tr_span span, const char *fmt, ...) {
    tr_note *n = TR_NEW(&ctx->arena, tr_note);
    va_list ap;
    va_start(ap, fmt);
    n->text = tr_arena_vprintf(&ctx->arena, fmt, ap);
    va_end(ap);
    n->span = span;
    tr_note **at = &e->notes;
    while (*at)
        at = &(*at)->next;
    *at = n;
}

bool tr_fail(tr_ctx *ctx, tr_errkind kind, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(ctx, kind, (tr_place){0}, fmt, ap);
    va_end(ap);
    return false;
}

uint64_t tr_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

enum { POLL_NS = 50000000 };

bool tr_ctx_stop(tr_ctx *ctx) {
    if (!ctx->poll || ctx->stopped)
        return ctx->stopped;
    uint64_t now = tr_now_ns();
    if (!ctx->poll_at)
        ctx->poll_at = now + POLL_NS;
    if (now < ctx->poll_at)
        return false;
    ctx->stopped = ctx->poll(ctx->poll_self);
    ctx->poll_at = tr_now_ns() + POLL_NS;
    if (ctx->stopped)
        tr_fail(ctx, TR_ERR_INTERNAL, "the compilation was interrupted");
    return ctx->stopped;
}
