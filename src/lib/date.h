/* Dates: what kind_date.c and npdates.c share. `raw` is what is inside: an int64, or an array of such. */
#ifndef TR_LIB_DATE_H
#define TR_LIB_DATE_H

#include "lib/priv.h"

tr_tv tr_date_raw(tr_em *e, tr_tv x); /* of what is no date: itself */
tr_tv tr_date_of(tr_em *e, const tr_ty *date,
                 tr_tv raw); /* and back: of the kind and unit of `date`, a DATE or DATES */
tr_tv tr_date_nat(tr_em *e);
tr_tv tr_date_isnat(tr_em *e, tr_tv raw); /* of an int64 */
/* How much of a datetime its text has, as tr_rt_print_date() takes it; brings *raw to a unit that has one. */
tr_tv tr_date_precision(tr_em *e, const tr_ty *date, tr_tv *raw);
/* The unit in which two are computed; else an error. */
bool tr_date_common(tr_em *e, const tr_ty *a, const tr_ty *b, tr_unit *out);
bool tr_date_can_convert(tr_unit from, tr_unit to, bool delta);
bool tr_date_scaled(tr_em *e, tr_tv raw, tr_unit from, tr_unit to, tr_tv *out);
/* What is stored as such a DATE: another of its kind, an integer, or a text that is known; else an error. */
bool tr_date_as(tr_em *e, tr_tv x, const tr_ty *date, tr_tv *raw);
bool tr_date_unary(tr_em *e, tr_op op, const char *sign, tr_tv x, tr_tv *out); /* of timedeltas */
/* np.minimum and its kin: TR_UF_MINIMUM ... */
bool tr_date_pick(tr_em *e, int pick, tr_tv x, tr_tv y, tr_tv *out);
/* Reads a text as np.datetime64 does, or of a timedelta "NaT"; *unit is GENERIC where the
 * text says it. NULL, or why it is none. */
const char *tr_date_parse(const char *text, bool delta, tr_unit *unit, int64_t *out);

#endif
