/* Which arrays a value may be, and which values may share memory. Every pass asks here. */
#ifndef TR_IR_ALIAS_H
#define TR_IR_ALIAS_H

#include "ir/ir.h"

/* The array whose memory v's is: through views. */
tr_val tr_array_root(const tr_fn *f, tr_val v);

/* Was v itself made here? Then it shares memory with no array that was there before. */
bool tr_array_is_fresh(const tr_fn *f, tr_val v);

/* Marks (a byte per value) the arrays that v, an array or a tuple with some, may be or have: what it is a
 * view of, was chosen from, was unpacked from, and for a call's result what the call was given. Only arrays
 * that are made or passed in are themselves alone. */
void tr_array_sources(const tr_fn *f, tr_val v, uint8_t *from);

bool tr_sources_meet(const tr_fn *f, const uint8_t *a, const uint8_t *b); /* is some array in both? */

/* May memory be in both? Arrays that were passed in, or came by ways not looked at, may share it; one
 * that was made here is none of them. */
bool tr_sources_share(const tr_fn *f, const uint8_t *a, const uint8_t *b);

/* May v be one of the arrays that are marked, or a view of one? */
bool tr_array_may_be(const tr_fn *f, tr_val v, const uint8_t *other);

/* What v was chosen from: the operands of a select, what a param is given. More than `max`: `out` has
 * only so many. 0: it was not chosen. */
uint32_t tr_array_choices(const tr_fn *f, tr_val v, tr_val *out, uint32_t max);

/* Is it no array that was made here or passed in, so that it may be one of several? */
bool tr_array_is_chosen(const tr_fn *f, tr_val v);

/* Of two values that are used in block b: */
bool tr_arrays_distinct(const tr_fn *f, tr_val x, tr_val y,
                        tr_bid b); /* they share no element, whatever was tested */
bool tr_arrays_disjoint(const tr_fn *f, tr_val x, tr_val y, tr_bid b); /* they share no element in b */
bool tr_arrays_apart(const tr_fn *f, tr_val x, tr_val y, tr_bid b);    /* none in b but at the same index */

#endif
