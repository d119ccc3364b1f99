/* Products of small matrices of floats (matsmall.c). */
#ifndef TR_RT_MATSMALL_H
#define TR_RT_MATSMALL_H

#include <stdint.h>

/* Matrices of one shape, `step` apart; distances are in items and may be anything. */
typedef struct tr_mats {
    const char *data;
    int64_t rows, cols, step, rs, cs;
} tr_mats;

/* c[q] = a[q] * b[q] for n pairs of matrices of float (size 4) or double (8). Items of a row of c are
 * adjacent, its rows `ld` apart, its matrices `step`. c has two columns at least, b no more than TR_MAT_SMALL
 * items. */
enum { TR_MAT_SMALL = 512 };
void tr_rt_mats_small(int64_t size, int64_t n, void *c, int64_t step, int64_t ld, const tr_mats *a,
                      const tr_mats *b);

#endif
