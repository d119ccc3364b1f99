/* Who holds the memory of arrays: the analysis that own.c acts on and own_check.c checks. */
#ifndef TR_OPT_OWN_H
#define TR_OPT_OWN_H

#include "base/bitset.h"
#include "opt/priv.h"

/* A root is a value that holds one reference on each array it contains: the result of an allocation or a
 * call, or a block argument that owns. Every other value that contains arrays is an alias: it holds
 * nothing and is good for as long as its roots are held. Values without roots are the caller's
 * (arguments) or nobody's (constants). */
typedef struct tr_own {
    tr_fn *f;
    uint32_t *root_no; /* per value: its number as a root, UINT32_MAX = none */
    tr_u32s roots;     /* values */
    tr_bits **of;      /* per value that contains arrays: its roots; NULL else */
} tr_own;

/* Needs dominators. False when no value of f contains arrays. */
bool tr_own_find(tr_fn *f, tr_own *out);
/* Is v a block argument that owns what each jump passes for it? */
bool tr_own_is_owner(const tr_own *o, tr_val v);
/* Is v a tuple whose parts are the values that it was made of, so that their references are its own? */
bool tr_own_is_made_of(const tr_fn *f, tr_val v);
/* After the pass: every path gives back what it holds, once, and uses nothing after; those of exceptions too,
 * where they may be caught (handles). False with a sentence. */
bool tr_own_check(tr_fn *f, bool handles, const char **why);

#endif
