/* Dates: np.datetime64 and np.timedelta64 as types.
 *
 * A DATE is an int64 that counts a unit, from 1970 on or as a difference; DATES is an array of such. `nums`
 * are: whether it is a difference, and the unit, by NumPy's number. Everything else about units stands here:
 * their names, which of two is the finer one, and how many of it the other is. */
#include <assert.h>
#include <string.h>

#include "ty/internal.h"

enum { DELTA, UNIT, NNUMS };

static const struct {
    tr_unit unit;
    const char *name, *text;
    uint32_t of_next; /* how many of the next finer one it is; 0: that varies, or there is none */
} units[] = {
#define X(ID, number, name, text, of_next) {TR_UNIT_##ID, name, text, of_next},
    TR_UNITS(X)
#undef X
};
enum { NUNITS = sizeof units / sizeof *units };

static const tr_ty *intern(tr_tytab *t, tr_tyk kind, bool delta, tr_unit unit, const tr_ty *item) {
    return tr_ty_intern(t, &(tr_ty){.kind = (uint8_t)kind,
                                    .n = 1,
                                    .items = &item,
                                    .nums = (const uint32_t[]){delta, unit},
                                    .nnums = NNUMS});
}

const tr_ty *tr_ty_date(tr_tytab *t, bool delta, tr_unit unit) {
    return intern(t, TR_TY_DATE, delta, unit, tr_ty_scalar(t, TR_TY_I64));
}

const tr_ty *tr_ty_dates(tr_tytab *t, const tr_ty *date, const tr_ty *array) {
    assert(array->elem->kind == TR_TY_I64);
    return intern(t, TR_TY_DATES, date->nums[DELTA], tr_ty_date_unit(date), array);
}

const tr_ty *tr_ty_one_date(tr_tytab *t, const tr_ty *ty) {
    return ty->kind == TR_TY_DATE ? ty : tr_ty_date(t, tr_ty_is_delta(ty), tr_ty_date_unit(ty));
}

bool tr_ty_is_delta(const tr_ty *ty) {
    return ty->nums[DELTA] != 0;
}

tr_unit tr_ty_date_unit(const tr_ty *ty) {
    return (tr_unit)ty->nums[UNIT];
}

bool tr_ty_same_date(const tr_ty *a, const tr_ty *b) {
    return tr_ty_is_delta(a) == tr_ty_is_delta(b) && tr_ty_date_unit(a) == tr_ty_date_unit(b);
}

/* --- units --- */

static unsigned place_of(tr_unit u) {
    unsigned i = 0;
    while (units[i].unit != u)
        i++;
    return i;
}

const char *tr_unit_name(tr_unit u) {
    return units[place_of(u)].name;
}

const char *tr_unit_text(tr_unit u) {
    return units[place_of(u)].text;
}

bool tr_unit_is_calendar(tr_unit u) {
    return u == TR_UNIT_Y || u == TR_UNIT_M;
}

bool tr_unit_find(const char *name, size_t n, tr_unit *out) {
    for (unsigned i = 0; i < NUNITS; i++)
        if (n && strlen(units[i].name) == n && memcmp(units[i].name, name, n) == 0) {
            *out = units[i].unit;
            return true;
        }
    return false;
}

uint64_t tr_unit_factor(tr_unit coarse, tr_unit fine) {
    uint64_t n = 1;
    if (coarse == TR_UNIT_GENERIC || fine == TR_UNIT_GENERIC)
        return 1;
    for (unsigned i = place_of(coarse); units[i].unit != fine; i++) {
        n *= units[i].of_next;
        if (n >= UINT64_C(1) << 56) /* where NumPy gives up */
            return 0;
    }
    return n;
}

tr_unit_meet tr_unit_common(tr_unit a, tr_unit b, bool delta, tr_unit *out) {
    if (a == TR_UNIT_GENERIC || b == TR_UNIT_GENERIC) {
        *out = a == TR_UNIT_GENERIC ? b : a;
        return TR_UNIT_MEET;
    }
    bool swap = place_of(a) > place_of(b);
    tr_unit coarse = swap ? b : a, fine = swap ? a : b;
    *out = fine;
    if (tr_unit_is_calendar(coarse) != tr_unit_is_calendar(fine))
        return delta ? TR_UNIT_APART : TR_UNIT_MEET;
    return tr_unit_factor(coarse, fine) ? TR_UNIT_MEET : TR_UNIT_TOO_FINE;
}

/* --- text --- */

/* "[ns]" behind a name, or nothing: the generic unit. */
static bool read_unit(const char *s, tr_unit *unit) {
    size_t n = strlen(s);
    *unit = TR_UNIT_GENERIC;
    return !n || (n > 2 && *s == '[' && s[n - 1] == ']' && tr_unit_find(s + 1, n - 2, unit));
}

bool tr_ty_looks_like_date(const char *text, bool *delta, const char **rest) {
    static const char *const names[] = {"datetime64", "timedelta64", "M8", "m8", "M", "m"};
    text += *text == '<' || *text == '=';
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(text, names[i], n) == 0 && (!text[n] || text[n] == '[')) {
            *delta = i & 1u;
            *rest = text + n;
            return true;
        }
    }
    return false;
}

const tr_ty *tr_ty_parse_date(tr_tytab *t, const char *text) {
    tr_unit unit;
    bool delta;
    const char *rest;
    bool ok = tr_ty_looks_like_date(text, &delta, &rest) && read_unit(rest, &unit);
    return ok ? tr_ty_date(t, delta, unit) : NULL;
}

void tr_ty_print_date(tr_sb *b, const tr_ty *ty) {
    tr_unit u = tr_ty_date_unit(ty);
    tr_sb_puts(b, tr_ty_is_delta(ty) ? "timedelta64" : "datetime64");
    if (u != TR_UNIT_GENERIC)
        tr_sb_printf(b, "[%s]", tr_unit_name(u));
}
