/* Strings in C: making them, and their text. */
#ifndef TR_RT_STR_H
#define TR_RT_STR_H

#include "base/str.h"
#include "base/strbuf.h"
#include "rt/layout.h"

/* A string among a row's parameters (fns.h: STR_PARTS). */
#define STR_OF(s) ((tr_str){s##_owner, s##_data, s##_bits})

/* The shape of blocks that have room behind their characters; no list's. */
extern const tr_shape tr_rt_room;

/* One of n characters, of which none is above `most`, to be stored to; without memory its bits are
 * negative. */
tr_str tr_str_new(tr_frame *f, int64_t n, uint32_t most);
/* What no character is above, of 127, 255, 65535 and all: the least of these. */
uint32_t tr_str_most(const tr_str *s);
void tr_str_put(const tr_str *to, int64_t at, const tr_str *from);
bool tr_str_same(const tr_str *a, const tr_str *b);
/* Text in UTF-8, where surrogates are like others. */
tr_str tr_str_of_text(tr_frame *f, const char *s, size_t n);
void tr_str_text(const tr_str *s, tr_sb *out);
/* By a specification; nothing where that is not one of a string. */
void tr_str_spec(const tr_str *s, const char *spec, tr_sb *out);
/* As repr() has it. */
void tr_str_repr(const tr_str *s, tr_sb *out);
void tr_bytes_repr(const tr_str *s, tr_sb *out);

#endif
