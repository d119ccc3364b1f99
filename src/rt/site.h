/* Raise sites, as code that catches and the host that raises find them. Plain data; code/meta.c keeps it. */
#ifndef TR_RT_SITE_H
#define TR_RT_SITE_H

#include <stdint.h>

#include "base/err.h"

/* One value shown in a message or passed to an exception: a payload slot or a constant. */
typedef struct tr_marg {
    /* payload: i int64, u uint64, d double, f float, h half, b bool, C complex, c complex64 (two double slots
     * each), s a string (a tr_str, three slots), y bytes (the same);
     * constant: I int, U unsigned, D double, F float, Z complex (d, and the bits of i), z complex64, B
     * bool, S text, N None; T: a tuple of the next i */
    char kind;
    int64_t i;
    double d;
    const char *s;
} tr_marg;

/* Slots of the payload that an argument of this kind takes; constants take none. */
static inline unsigned tr_marg_slots(char kind) {
    switch (kind) {
    case 'i':
    case 'u':
    case 'd':
    case 'f':
    case 'h':
    case 'b': return 1;
    case 'C':
    case 'c': return 2;
    case 's':
    case 'y': return 3;
    default: return 0;
    }
}

/* What str() and repr() make of the exception: nothing that is known here; what BaseException does; of a
 * single argument its repr(), as a KeyError has it; what the host said of one that it keeps; what is wrong
 * with which part of its object, as the errors of codecs do, which have five arguments. */
typedef enum tr_says { TR_SAYS_ITSELF, TR_SAYS_ARGS, TR_SAYS_REPR, TR_SAYS_KEPT, TR_SAYS_CODEC } tr_says;

typedef struct tr_msite {
    uint8_t exc;  /* tr_exc, where the exception is none of the program's own, */
    uint32_t own; /* which are counted from 1; 0: it is none */
    /* Both: the exception's number among all of the program; TR_EXC_HOST: the payload names it. */
    uint16_t cls;
    uint8_t says; /* tr_says */
    /* with own: what the symbol "tr_exc_<own - 1>" was bound to; not kept, set when the module is loaded */
    const void *obj;
    const char *name; /* its class's; NULL: not known here */
    const char *text; /* with {0} ...: indices into args; NULL: the exception gets args themselves */
    uint32_t nargs;
    tr_marg *args;
    uint32_t nplaces;
    tr_place *places; /* innermost first: the operation, then the calls it was inlined through */
} tr_msite;

#endif
