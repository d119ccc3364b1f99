/* Which arrays a value may be. */
#ifndef TR_IR_SOURCES_H
#define TR_IR_SOURCES_H

#include "ir/ir.h"

/* The array whose memory v's is: through views. */
tr_val tr_array_root(const tr_fn *f, tr_val v);

/* Marks (a byte per value) the arrays that v, an array or a tuple with some, may be or have: what it is a view of, was chosen from, was unpacked
 * from, and for a call's result what the call was given. Only arrays that are made or passed in are themselves alone. */
void tr_array_sources(const tr_fn *f, tr_val v, uint8_t *from);

bool tr_sources_meet(const tr_fn *f, const uint8_t *a, const uint8_t *b); /* is some array in both? */

/* What v was chosen from: the operands of a select, what a param is given. More than `max`: `out` has only so many. 0: it was not chosen. */
uint32_t tr_array_choices(const tr_fn *f, tr_val v, tr_val *out, uint32_t max);

/* Is it no array that was made here or passed in, so that it may be one of several? */
bool tr_array_is_chosen(const tr_fn *f, tr_val v);

#endif
