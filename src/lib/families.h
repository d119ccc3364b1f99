/* Prototypes of every template that builtins.def names, made from the table. */
#ifndef TR_LIB_FAMILIES_H
#define TR_LIB_FAMILIES_H

#include "lib/em.h"

#define F(id, path, params, fn, aux)      bool fn(tr_em *e, const tr_bcall *c, tr_tv *out);
#define M(id, cls, name, params, fn, aux) bool fn(tr_em *e, const tr_bcall *c, tr_tv *out);
#define A(id, cls, name, fn, aux)         bool fn(tr_em *e, const tr_bcall *c, tr_tv *out);
#include "lib/builtins.def"
#undef F
#undef M
#undef A

#endif
