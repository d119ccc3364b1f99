/* Reading the IR's text: what parse.c and parse_ops.c share. A function that gives false or
 * NULL has said why. */
#ifndef TR_IR_PARSE_H
#define TR_IR_PARSE_H

#include "base/reader.h"
#include "ir/internal.h"
#include "ir/prog.h"

enum { TR_PARSE_CHAIN = 1000 }; /* what stands inside of the like, or of calls, in one line */

typedef TR_VEC(tr_val) tr_vals;

typedef struct tr_forward {
    const char *name, *at; /* first use of a value not yet defined */
    tr_val v;
} tr_forward;

/* Where reading stands, for all functions of a text. */
typedef struct tr_parser {
    tr_reader in; /* its depth counts lambdas */
    tr_ctx *ctx;
    const char *file;
    bool failed;
} tr_parser;

/* One function being read. */
typedef struct tr_fnparser {
    tr_parser *r;
    tr_fn *f;
    tr_smap values;  /* name -> number + 1 */
    tr_map blocks;   /* number in the text -> block */
    tr_u32s defined; /* blocks in the order of their definition */
    TR_VEC(tr_forward) forwards;
    const char *place_fn, *place_file;
    tr_bid b;
} tr_fnparser;

/* --- parse.c: words, values, and what is made of instructions --- */

/* The first error is the one that says something. */
bool tr_parse_fail(tr_parser *r, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool tr_parse_expect(tr_parser *r, char c);
const char *tr_parse_word(tr_parser *r, const char *what);
bool tr_parse_int(tr_parser *r, int64_t min, int64_t max, int64_t *out);
bool tr_parse_at_quote(tr_parser *r);
const char *tr_parse_string(tr_parser *r);
const tr_obj *tr_parse_obj(tr_parser *r);
bool tr_parse_val(tr_fnparser *k, tr_val *out);
bool tr_parse_vals(tr_fnparser *k, char end, tr_vals *out);
bool tr_parse_edge(tr_fnparser *k, tr_edge *e);
bool tr_parse_body(tr_fnparser *k);

/* --- parse_ops.c: what follows the name of an op --- */

bool tr_parse_sub(tr_parser *r, tr_ins *i);
bool tr_parse_fast(tr_parser *r, uint8_t *set);
bool tr_parse_operands(tr_fnparser *k, tr_ins *i, tr_vals *args);
/* The lambdas of a pattern, after its operands. */
bool tr_parse_lambdas(tr_fnparser *k, tr_pat *p);

#endif
