/* Bytecode to untyped SSA. Nothing after this folder knows a CPython version. */
#ifndef TR_FRONT_FRONT_H
#define TR_FRONT_FRONT_H

#include "ir/prog.h"

/* Normalised instruction. The table of ops: front/nop.def. */
typedef struct tr_bc {
    uint8_t op, aux;
    uint16_t flags;
    int32_t arg;
    uint32_t off; /* byte offset of the original instruction */
} tr_bc;
typedef struct tr_bcexc {
    uint32_t start, end, handler, depth; /* instruction numbers */
    bool lasti;
} tr_bcexc;
/* The variables that a function made of a part of the code takes before its own parameters. */
typedef struct tr_takes {
    uint32_t func, n;
    const uint32_t *vars;
} tr_takes;
typedef struct tr_decoded { /* ir/prog.h names it */
    tr_bc *ins;
    uint32_t n;
    tr_bcexc *exc;
    uint32_t nexc;
    const tr_takes *takes;
    uint32_t ntakes;
    uint32_t first, depth; /* where it starts, and how deep the stack is there */
    bool is_round;
    uint32_t *covered; /* per instruction: 1 + the range it lies in, 0 in none; NULL: there are no ranges */
} tr_decoded;

/* Never crashes on any bytes: malformed code is an error in ctx. */
bool tr_front_decode(tr_ctx *ctx, const tr_code *c, tr_decoded *out);
void tr_front_print_code(tr_sb *b, const tr_code *c, const tr_decoded *d);
/* Span of the instruction at byte offset off, from the location table. */
tr_span tr_front_span(const tr_code *c, uint32_t off);
/* The last line that code is of; its first one where that is not known. */
int32_t tr_front_last_line(const tr_code *c);
/* Builds p->funcs.d[func].ssa, or its `refused`. False only for errors that end the compilation. */
bool tr_front_build(tr_prog *p, uint32_t func);
/* The same function with one loop written out: that whose FORITER is instruction `loop` of *code (NULL: of
 * the code as it was built), with its body once for each of n items. *code and *ssa are what comes of it.
 * False, without an error: it would be too long. */
bool tr_front_unroll(tr_prog *p, uint32_t func, uint32_t loop, uint32_t n, const tr_decoded **code,
                     tr_fn **ssa);
/* The next name chain a snapshot must resolve: calls cb(name index, chain of attribute names, n) for every
 * global and free variable use that is followed by attribute loads; *loops: how many there are. Used by
 * ext/freeze.c. */
typedef void (*tr_front_chain_cb)(void *user, bool is_free, uint32_t index, const char *const *attrs,
                                  uint32_t n);
bool tr_front_chains(tr_ctx *ctx, const tr_code *c, tr_front_chain_cb cb, void *user, uint32_t *loops);

#endif
