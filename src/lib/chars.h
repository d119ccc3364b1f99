/* Arrays of fixed-width strings, inside (lib/kind_chars.c). */
#ifndef TR_LIB_CHARS_H
#define TR_LIB_CHARS_H

#include <string.h>

#include "lib/em.h"

static inline bool tr_chars_is(const tr_ty *t) {
    return t && t->kind == TR_TY_CHARS;
}
static inline bool tr_chars_is_wide(const tr_ty *t) {
    return t->sub == TR_CHARS_U;
}
static inline unsigned tr_chars_ndim(const tr_ty *t) {
    return t->items[0]->ndim - 1u;
}
/* The array of bytes; one as such items. */
tr_tv tr_chars_raw(tr_em *e, tr_tv x);
tr_tv tr_chars_of(tr_em *e, bool wide, tr_tv raw);
/* The item that an array of one axis of bytes is: a str, or bytes. */
tr_tv tr_chars_item(tr_em *e, bool wide, tr_tv row);
/* Is it one value that may be stored as an item? Stores it to an item's bytes. */
bool tr_chars_is_value(tr_em *e, tr_tv x);
bool tr_chars_put(tr_em *e, bool wide, tr_tv row, tr_tv x);
/* The same bytes in so many: a new array of items, cut or padded; of an array or one value. */
bool tr_chars_fit(tr_em *e, tr_tv x, bool wide, tr_tv bytes, tr_tv *out);
/* New items, not initialised, of `bytes` each. */
tr_tv tr_chars_alloc(tr_em *e, uint32_t ndim, const tr_tv *shape, tr_tv bytes);
/* Items of `raw` in one line, in C order: a view of layout any, of two axes. */
bool tr_chars_rows(tr_em *e, tr_tv raw, tr_tv *out);
tr_tv tr_chars_unit(tr_em *e, bool wide); /* bytes of a character */
/* Leaves with the exception of ASCII's codec where s is not ASCII, of which `object` is the str or the bytes;
 * `good`: whether it is (no type: asked here). In lib/pybytes.c. */
void tr_chars_check_ascii(tr_em *e, tr_tv good, tr_tv object, tr_tv s);
/* A dtype argument that is S or U: its letter, and how many bytes an item has, 0: what the items need; 0: it
 * is neither. */
char tr_chars_dtype(tr_tv x, uint32_t *bytes);
/* The letter of a STRUCT that is opaque, of this machine's byte order, or of a dtype whose width is an
 * array's ("?U", "?S"); 0: it is none. */
static inline char tr_chars_letter(const tr_ty *t) {
    bool opaque = t && t->kind == TR_TY_STRUCT && t->sub == TR_STRUCT_OPAQUE;
    bool here = opaque && strlen(t->name) >= 2 && strchr("<|?", t->name[0]);
    return here && (t->name[1] == 'U' || t->name[1] == 'S') ? t->name[1] : 0;
}
/* The letter of a string, or of those that a display or a list is of; 0: it is of others, or of both. */
char tr_chars_letter_in(tr_em *e, tr_tv x);
/* The bytes that an item needs for a value; those that a result's items have: what the dtype says, else what
 * is needed, a character at least. */
bool tr_chars_needs(tr_em *e, tr_tv x, bool wide, tr_tv *out);
tr_tv tr_chars_enough(tr_em *e, uint32_t said, bool wide, tr_tv needed);
/* A new array of a display's, or a list's, items, `said` bytes each (0: as many as they need). */
bool tr_chars_made_of(tr_em *e, tr_tv x, char letter, uint32_t said, tr_tv *out);
/* Places of the items of one axis, in order, equal ones as they stood; if not NULL also each item's rank. */
bool tr_chars_order(tr_em *e, tr_tv x, tr_tv *out, tr_tv *ranks);
/* Calls of functions that such arrays take part in (lib/npchars.c). *mine: this one is such. */
bool tr_lib_chars_call(tr_em *e, const tr_bcall *c, tr_tv dtype, tr_tv *out, bool *mine);

#endif
