/* Shared by the files of ty/ only. */
#ifndef TR_TY_INTERNAL_H
#define TR_TY_INTERNAL_H

#include "base/vec.h"
#include "ty/obj.h"

/* Memory of a table, for objects that text made. Not locked: text is read into a compilation's table, or in
 * tests. */
tr_arena *tr_tytab_arena(tr_tytab *t);
/* What is known of a list's items (cell.c). */
typedef struct tr_cell {
    uint32_t up; /* the cell that it is one with, or itself */
    const tr_ty *content;
    bool guess;     /* nothing has come into it, and content is what it is taken for */
    uint8_t role;   /* tr_cell_role */
    int32_t line;   /* where that came from, or the last of it */
    tr_clash clash; /* no types: there is none */
} tr_cell;
typedef struct tr_cells {
    TR_VEC(tr_cell) all;
    uint32_t changes;
} tr_cells;
tr_cells *tr_tytab_cells(tr_tytab *t);
/* The object that `@name` stands for: one per name and table. */
const tr_obj *tr_tytab_opaque(tr_tytab *t, const char *name, size_t n);
/* Deep copy of an object that stands for its value; others are returned as they are. */
const tr_obj *tr_obj_copy(tr_arena *a, const tr_obj *o);

/* Room for n types: that which the caller has on its stack, or of the arena, where they are many. What is
 * asked with each call allocates nothing so, and cannot fail. */
enum { TR_TY_FEW = 16 };
static inline const tr_ty **tr_ty_room(tr_arena *a, const tr_ty **few, uint32_t n) {
    return n <= TR_TY_FEW ? few : TR_NEW_N(a, const tr_ty *, n);
}

/* The one type in the table that is as this one says. */
const tr_ty *tr_ty_intern(tr_tytab *t, const tr_ty *key);
/* How many items a type of this kind may have. */
bool tr_ty_may_have(const tr_ty *t, uint32_t n);
/* Two lists are one from here on; NULL: they cannot be. */
const tr_ty *tr_ty_join_lists(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba);
/* The words of a kind and form (ty/kinds.def); NULL: it has none. */
typedef struct tr_words {
    tr_tyk kind;
    unsigned sub;
    const char *ir, *user;
} tr_words;
const tr_words *tr_ty_words(const tr_ty *t);
/* By the word of the IR's text; NULL: there is none. */
const tr_words *tr_ty_by_word(const char *word);

#endif
