/* Reading PTX: the tokens of a text, its names, and the function that is being made. ptx_parse.c reads words,
 * ptx_decl.c what is declared, ptx_code.c instructions. */
#ifndef TR_FAKE_PTX_TEXT_H
#define TR_FAKE_PTX_TEXT_H

#include <setjmp.h>

#include "ptx_priv.h"

typedef enum token_kind { T_END, T_WORD, T_NUMBER, T_STRING, T_SIGN } token_kind;
typedef struct token {
    token_kind kind;
    const char *s;
    size_t n;
} token;

typedef enum sym_kind { S_REG, S_PARAM, S_KERNEL, S_SHARED, S_DYNAMIC, S_GLOBAL, S_LOCAL, S_TABLE } sym_kind;
/* A name, or so many of one beginning and a number each (%r<8>). */
typedef struct sym {
    token name;
    sym_kind kind;
    bool row;
    uint32_t count, bytes;
    uint64_t at; /* a slot, an offset, an address */
} sym;

typedef struct label {
    token name;
    int64_t at;
} label;
/* Where a label's place goes: an instruction, or an entry of a table. */
typedef struct later {
    token name;
    uint32_t line, ins;
    int64_t table; /* -1: none */
} later;
typedef struct dynamic {
    ptx_fn *fn;
    uint32_t slot;
} dynamic;

typedef struct op_name {
    const char *name, *operands;
    uint32_t n;
    ptx_op op;
} op_name;
enum { OP_NAMES = 4096 };

typedef struct parser {
    const char *s; /* behind the token */
    uint32_t line, at_line;
    token tok;
    char *msg;
    size_t room;
    jmp_buf failed;
    ptx_module *m;
    ptx_fn *fn;
    sym *syms;
    uint32_t nsyms, capsyms;
    uint32_t scope[64], depth; /* how many names there were before each */
    uint32_t *spare;           /* slots of registers whose scope has ended */
    uint32_t nspare, capspare;
    label *labels;
    uint32_t nlabels, caplabels;
    later *later;
    uint32_t nlater, caplater;
    dynamic *dynamics;
    uint32_t ndynamics, capdynamics;
    uint32_t scratch;        /* slots of this instruction's that are taken */
    uint32_t constants[256]; /* slots, by a hash of what they hold */
    op_name names[OP_NAMES];
} parser;

/* --- ptx_parse.c --- */
_Noreturn void fail(parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void next(parser *p);
void skip_line(parser *p);
void skip_braces(parser *p);
void skip_statement(parser *p);
bool is(const parser *p, const char *what);
bool accept(parser *p, const char *what);
void expect(parser *p, const char *what);
token word(parser *p);
int64_t integer(parser *p); /* with a sign */
void *grown(parser *p, void *at, uint32_t n, uint32_t *cap, size_t size);
char *copied(parser *p, token t);
sym *add_sym(parser *p, token name, sym_kind kind);
/* `which`: of a row of registers. */
const sym *find_sym(parser *p, token name, uint32_t *which);
void open_scope(parser *p);
void close_scope(parser *p);
bool same(token t, const char *s);

/* --- ptx_decl.c --- */
uint32_t type_bytes(parser *p, token type); /* .u32 */
void declare_variable(parser *p);           /* of a space, in a function or outside */
void declare_registers(parser *p);
void declare_param(parser *p);
void function(parser *p, bool entry);
ptx_fn *find_fn(const ptx_module *m, token name);

/* --- ptx_code.c --- */
void name_ops(parser *p);
uint32_t new_slot(parser *p, uint64_t value);
void statement(parser *p);
void finish_code(parser *p);
ptx_ins *emit(parser *p, ptx_op op);

#define JUNK_REGISTER         0xdeadbeefa5a5a5a5ull
#define PUSH(p, list, n, cap) ((list) = grown(p, list, n, &(cap), sizeof *(list)), &(list)[(n)++])

#endif
