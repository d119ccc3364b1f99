/* What templates of random numbers share: whose numbers a call draws, and arrays for them. nprandom.c has it;
 * nporder.c draws orders and choices. */
#ifndef TR_LIB_RANDOM_H
#define TR_LIB_RANDOM_H

#include "lib/fam.h"

/* Whose numbers a call draws: a Generator's, or (absent) the thread's own. */
typedef struct tr_stream {
    tr_tv generator;
} tr_stream;

/* The call without self. */
tr_bcall tr_rnd_without_self(const tr_bcall *c, tr_stream *s);
/* A row of the runtime's that draws from the thread's own, or the Generator's row of that
 * name, which takes two more in front. */
tr_tv tr_rnd_draw(tr_em *e, const tr_stream *s, tr_rt own, tr_rt of, const tr_ty *ret, uint32_t n,
                  const tr_tv *x);
#define TR_DRAW(row, ret, n, ...) \
    tr_rnd_draw(e, s, TR_RT_NP_##row, TR_RT_GEN_##row, ret, n, (tr_tv[]){__VA_ARGS__})

/* A new array of the extents that size= names, with an axis of `extra` more, where that is given. */
bool tr_rnd_sized(tr_em *e, const tr_bcall *c, tr_tv size, const tr_ty *elem, tr_tv extra, tr_tv *out);
/* All items of a new array in a row. */
tr_tv tr_rnd_in_a_row(tr_em *e, tr_tv a);
/* As an array of items of t that lie one after the other: itself, or a copy. */
bool tr_rnd_contiguous(tr_em *e, tr_tv a, const tr_ty *t, tr_tv *out);
/* A new array for a number of each set of parameters, some of which are arrays: of their common
 * shape, or the one that size= names. */
bool tr_rnd_sized_by(tr_em *e, const tr_bcall *c, tr_tv size, const tr_ty *elem, const tr_tv *x, uint32_t n,
                     tr_tv *out);
/* A parameter for each item of `like`, in a row: a number is one item, over and over. */
bool tr_rnd_repeated(tr_em *e, tr_tv like, tr_tv x, tr_tv *out);
/* Whole numbers, one or an array of them. */
bool tr_rnd_whole(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, tr_tv *out);
/* ValueError where x, or an item of it, is below `least`. */
bool tr_rnd_need_least(tr_em *e, tr_tv x, int64_t least, const char *text);

#endif
