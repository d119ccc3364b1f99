/* The context of one compilation: memory, types, options, errors, dumps. Passed first to everything.
 * Belongs to one thread for the time of one compile. */
#ifndef TR_BASE_CTX_H
#define TR_BASE_CTX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dump.h"
#include "base/err.h"
#include "base/remarks.h"
#include "base/opts.h"
#include "base/strbuf.h"

struct tr_tytab;

typedef struct tr_ctx {
    tr_arena arena;
    jmp_buf oom;
    struct tr_tytab *types; /* this compilation's view of the interned types */
    tr_opts opts;
    int python; /* whose words exceptions use: 311, 312, ...; 0 without Python */
    tr_dump dump;
    tr_sb dump_text;    /* what TREADLE_DUMP asked for; the driver writes it out at the end of a stage */
    tr_remarks remarks; /* rows of a report, where one is asked for */
    tr_err *errs, *last_err;
    uint32_t nerrs;
    uint64_t stage_ns[TR_STAGE__COUNT]; /* time spent, for TREADLE_DUMP=time and .stats */
    bool (*poll)(void *self);           /* true: the host wants the compilation to end. May be NULL */
    void *poll_self;
    uint64_t poll_at; /* when to ask next */
    bool stopped;
    bool unbound; /* an error is of a name that the program uses and nobody has bound: that may still come */
} tr_ctx;

void tr_ctx_init(tr_ctx *ctx);
void tr_ctx_fini(tr_ctx *ctx);
/* Adds an error and returns it so that the caller may hang notes and a hint on it. */
tr_err *tr_err_add(tr_ctx *ctx, tr_errkind kind, tr_place place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void tr_err_note(tr_ctx *ctx, tr_err *e, tr_span span, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds an error without a place; always returns false, for `return tr_fail(...)`. */
bool tr_fail(tr_ctx *ctx, tr_errkind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
uint64_t tr_now_ns(void);
/* Shall the compilation end? Asks the host every 50 ms at most, which may run code of the user's: called
 * where nothing is held. Once it is true there is an error, and it stays so. */
bool tr_ctx_stop(tr_ctx *ctx);

#endif
