/* Shared by the files of ty/ only. */
#ifndef TR_TY_INTERNAL_H
#define TR_TY_INTERNAL_H

#include "ty/obj.h"

/* Memory of a table, for objects that text made. Not locked: text is read into a compilation's table, or in
 * tests. */
tr_arena *tr_tytab_arena(tr_tytab *t);
/* The object that `@name` stands for: one per name and table. */
const tr_obj *tr_tytab_opaque(tr_tytab *t, const char *name, size_t n);
/* Deep copy of an object that stands for its value; others are returned as they are. */
const tr_obj *tr_obj_copy(tr_arena *a, const tr_obj *o);

#endif
