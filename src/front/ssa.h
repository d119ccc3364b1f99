/* The state of one function's SSA construction; shared by ssa.c (blocks, edges) and exec.c (instructions). */
#ifndef TR_FRONT_SSA_H
#define TR_FRONT_SSA_H

#include "front/internal.h"

/* What a variable may hold besides an IR value. A note stands for something that is only put together when it
 * is used: a list that grows, a piece of an f-string, the keyword arguments of a call. */
#define TR_NULLVAL 0xfffffffeu /* PUSHNULL's place holder */
#define TR_NOTE    0x80000000u /* | index into notes; never the two highest values */

typedef enum tr_notek { NOTE_EMPTY, NOTE_ITEM, NOTE_EXTEND, NOTE_TUPLE, NOTE_FORMAT, NOTE_MAP } tr_notek;
typedef struct tr_fnote {
    uint8_t kind;
    uint32_t prev; /* ITEM, EXTEND: the list before; TUPLE: the list of its items; MAP: number of entries */
    tr_val v;
    const tr_obj **keys; /* MAP: names, and their values */
    tr_val *vals;
    tr_val more;       /* MAP: a mapping whose entries come after those, or TR_NOVAL */
    uint32_t off, loc; /* where it stands */
} tr_fnote;

typedef struct tr_capture { /* a variable whose value went into a closure */
    uint32_t blk, ins, var;
    bool unbound; /* it had no value then */
    bool shared;  /* it is memory that functions share */
    tr_val fn;    /* the closure */
} tr_capture;

typedef struct tr_ssa {
    tr_ctx *ctx;
    tr_prog *p;
    const tr_func *func;
    const tr_code *c;
    const tr_decoded *d;
    const tr_flow *f;
    tr_fn *ir;
    tr_bld b;
    tr_bid *bid;      /* IR block of each bytecode block */
    tr_bid *end;      /* the one it ends in: another where it is protected */
    tr_val **out;     /* variables at the end of each block; [nblks] is the entry's */
    tr_val **in;      /* of a protected one: at its start */
    bool *swapped;    /* the block's branch has its successors the other way round in the IR */
    tr_u32s *params;  /* per block: the variables its params stand for */
    tr_val *cur;      /* variables here */
    uint32_t blk, at; /* bytecode block and instruction at hand */
    uint32_t depth;
    const tr_obj *kwnames; /* of the next CALL */
    TR_VEC(tr_fnote) notes;
    TR_VEC(tr_capture) captures;
    tr_u32s made_at; /* per IR value: the instruction that it is of */
    const tr_span *spans;
    uint32_t *loc_of; /* per code unit */
    tr_refusal why;
    const char *bad; /* malformed: what */
    uint32_t share;  /* 1 + a variable that is to be shared, and the function built anew */
} tr_ssa;

/* One instruction; also the terminator, when it is the last of a block. */
void tr_front_exec(tr_ssa *s, const tr_bc *i);
/* The value as variable var holds it: converted to the type that was declared for it. */
tr_val tr_front_declared(tr_ssa *s, uint32_t var, tr_val v);
/* Displays while they are put together: display.c. */
static inline bool tr_front_is_note(tr_val v) {
    return v >= TR_NOTE && v < TR_NULLVAL;
}
tr_val tr_front_note(tr_ssa *s, tr_notek kind, tr_val prev, tr_val v);
const tr_fnote *tr_front_note_at(const tr_ssa *s, tr_val v);
bool tr_front_is_map(const tr_ssa *s, tr_val v);
bool tr_front_is_list(const tr_ssa *s, tr_val v);
bool tr_front_is_tuple(const tr_ssa *s, tr_val v);
/* The list with what an iterable gives behind it, as of now. */
tr_val tr_front_extend(tr_ssa *s, tr_val list, tr_val more);
/* Positional arguments of a call, and which have a star (NULL: none): those that a tuple's note, or the
 * value, stands for. */
const tr_val *tr_front_starred(tr_ssa *s, tr_val tuple, uint32_t *n, const uint8_t **stars);
/* Names and values as one. */
tr_val tr_front_keyed(tr_ssa *s, uint32_t n, const tr_obj *const *keys, const tr_val *vals);
/* A note becomes a value where s->b stands. */
tr_val tr_front_settle(tr_ssa *s, tr_val note);
tr_val tr_front_undef(tr_ssa *s, const char *name, tr_undef whose);

#endif
