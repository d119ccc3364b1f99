/* The name that a user may have meant: the nearest of those that there are. Only for
 * messages: its cost does not matter. */
#ifndef TR_BASE_NEAR_H
#define TR_BASE_NEAR_H

/* A search. `best` is the nearest so far, `best_len` bytes long; NULL: none is near. */
typedef struct tr_near {
    const char *name, *best;
    unsigned len, far, best_len;
} tr_near;

/* Near is what has at most one letter in three wrong, missing, too many or swapped with its neighbour. */
tr_near tr_near_begin(const char *name);
void tr_near_consider(tr_near *s, const char *x, unsigned len);

#endif
