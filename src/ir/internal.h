/* Shared by the files of ir/ only. */
#ifndef TR_IR_INTERNAL_H
#define TR_IR_INTERNAL_H

#include "ir/ir.h"

/* An instruction that stands nowhere yet. */
tr_val tr_ins_new(tr_fn *f, tr_op op, const tr_ty *ty);
/* Puts v into block b before `before`, or at the end (TR_NOVAL). */
void tr_ins_link(tr_fn *f, tr_val v, tr_bid b, tr_val before);
tr_edge tr_edge_make(tr_fn *f, tr_bid to, uint32_t n, const tr_val *args);
/* v as the value of a bool or integer type. */
int64_t tr_int_wrap(const tr_ty *ty, int64_t v);
/* Reachable blocks in reverse post-order, true targets first; changes nothing in f. Edges to blocks that do
 * not exist are left out. */
tr_u32s tr_cfg_order(const tr_fn *f);

/* Printing with remarks: `note` is called after each instruction (v), each block's head (v == TR_NOVAL) and
 * may write comment lines. Defects in f (dangling numbers, missing terminators) are printed as they are,
 * never followed. */
typedef void (*tr_print_note)(void *user, tr_sb *out, const tr_fn *f, tr_bid b, tr_val v);
void tr_ir_print_notes(tr_sb *out, const tr_fn *f, tr_print_note note, void *user);
/* As one of a program's: number: per function, or instance, which of those in the text it is. */
void tr_ir_print_among(tr_sb *out, const tr_fn *f, uint32_t n, const uint32_t *number);

#endif
