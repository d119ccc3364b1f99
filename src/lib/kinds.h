/* What each kind of value means to Python's operations: the columns LIB of ty/kinds.def.
 *
 * An operation looks its operand's kind up and calls what stands there (tr_em_truth, tr_em_getitem ...);
 * nobody else calls these. Operators on two values ask the left one's kind, then the right one's: TR_OPEN
 * from both means that they have nothing to do with each other. */
#ifndef TR_LIB_KINDS_H
#define TR_LIB_KINDS_H

#include "lib/em.h"

typedef enum tr_answer { TR_OPEN, TR_DONE, TR_REFUSED } tr_answer;
static inline tr_answer tr_answered(bool ok) {
    return ok ? TR_DONE : TR_REFUSED;
}

/* A value's text: pieces side by side, strings known when compiling and numbers. */
typedef struct tr_shown {
    TR_VEC(tr_tv) pieces;
    const char *text; /* known, and no piece yet */
    tr_tv none;       /* what has no text */
} tr_shown;
void tr_lib_show_known(tr_em *e, tr_shown *to, const char *s);
/* Appends x; false: to->none has no text. */
bool tr_lib_show(tr_em *e, tr_tv x, bool repr, tr_shown *to);
void tr_lib_show_end(tr_em *e, tr_shown *to); /* all of it is pieces then */
/* Appends the array x, as NumPy has it of items of that dtype: its own, or that of dates,
 * which are int64 here. */
bool tr_lib_show_items(tr_em *e, tr_tv x, bool repr, const char *dtype, tr_shown *to);

typedef struct tr_kind {
    const char *attrs; /* class of its attributes in builtins.def; NULL: the word of its form */
    /* row of builtins.def: the Python class of values of it; TR_B__COUNT: none that isinstance() knows */
    uint16_t cls;
    tr_answer (*binary)(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out);
    bool (*inplace)(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out); /* `binary`: a new value */
    bool (*unary)(tr_em *e, tr_unop op, tr_tv x, tr_tv *out);             /* - + ~ */
    tr_answer (*compare)(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out);
    bool (*contains)(tr_em *e, tr_tv x, tr_tv item, tr_tv *out); /* i1, or a literal bool when known */
    bool (*get)(tr_em *e, tr_tv x, tr_tv i, tr_tv *out);
    bool (*set)(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself);
    bool (*iter)(tr_em *e, tr_tv x); /* it can be iterated over */
    bool (*count)(tr_em *e, tr_tv x,
                  tr_tv *n); /* how many items an iteration gives; None: it has to be asked */
    /* a step, where `count` gives none: tr_em_next */
    bool (*next)(tr_em *e, tr_tv x, tr_tv i, tr_tv go, tr_tv *out);
    bool (*at)(
        tr_em *e, tr_tv x, tr_tv i,
        tr_tv
            *out); /* the item at the place of a step; where `count` gives a number, at a position in range */
    bool (*len)(tr_em *e, tr_tv x, tr_tv *n);
    bool (*truth)(tr_em *e, tr_tv x, tr_tv *out);
    bool (*coerce)(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out); /* of x to a type of this kind */
    bool (*show)(tr_em *e, tr_tv x, bool repr,
                 tr_shown *to); /* str() or repr() of it; false: it has none, which is not an error yet */
} tr_kind;

extern const tr_kind tr_lib_kinds[];
static inline const tr_kind *tr_lib_kind(const tr_ty *t) {
    return &tr_lib_kinds[tr_ty_row(t)];
}

/* Of strings of which one at least is a constant (lib/text.c). */
tr_answer tr_lib_compare_text(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out);
bool tr_lib_contains_text(tr_em *e, tr_tv x, tr_tv item, tr_tv *out);

/* The functions that cells name: tr_lib_get_tuple() is what `tuple` in the column `get` says. */
#define KIND(ID, word, user, items, ty, lib, ...) lib
#define LIB(attrs, class, binary, inplace, unary, compare, contains, get, set, iter, count, next, at, len, \
            truth, coerce, show)                                                                           \
    tr_answer tr_lib_binary_##binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out);                 \
    bool tr_lib_inplace_##inplace(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out);                    \
    bool tr_lib_unary_##unary(tr_em *e, tr_unop op, tr_tv x, tr_tv *out);                                  \
    tr_answer tr_lib_compare_##compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out);               \
    bool tr_lib_contains_##contains(tr_em *e, tr_tv x, tr_tv item, tr_tv *out);                            \
    bool tr_lib_get_##get(tr_em *e, tr_tv x, tr_tv i, tr_tv *out);                                         \
    bool tr_lib_set_##set(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself);                               \
    bool tr_lib_iter_##iter(tr_em *e, tr_tv x);                                                            \
    bool tr_lib_count_##count(tr_em *e, tr_tv x, tr_tv *n);                                                \
    bool tr_lib_next_##next(tr_em *e, tr_tv x, tr_tv i, tr_tv go, tr_tv *out);                             \
    bool tr_lib_at_##at(tr_em *e, tr_tv x, tr_tv i, tr_tv *out);                                           \
    bool tr_lib_len_##len(tr_em *e, tr_tv x, tr_tv *n);                                                    \
    bool tr_lib_truth_##truth(tr_em *e, tr_tv x, tr_tv *out);                                              \
    bool tr_lib_coerce_##coerce(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out);                           \
    bool tr_lib_show_##show(tr_em *e, tr_tv x, bool repr, tr_shown *to);
#include "ty/kinds.def"
tr_answer tr_lib_binary_lit(tr_em *e, tr_binop op, tr_tv x, tr_tv y,
                            tr_tv *out); /* of `known`: numbers, texts */

#endif
