/* Dates as text, as NumPy reads it: "2020-01-31T05:06:07.5", of which only the year must be there, and "NaT".
 * Exact: what int64 does not hold in the unit is no date. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/date.h"

/* Reads n digits or more, up to `most`; false: there are fewer. */
static bool digits(const char **s, unsigned least, unsigned most, int64_t *out) {
    unsigned n = 0;
    *out = 0;
    for (; isdigit((unsigned char)**s) && n < most; n++)
        *out = *out * 10 + (*(*s)++ - '0');
    return n >= least;
}

typedef struct moment {
    int64_t year, month, day, of_day[3]; /* hours, minutes, seconds */
    int64_t atto;                        /* of a second */
    tr_unit unit;                        /* the finest that was written */
} moment;

static bool is_leap(int64_t y) {
    return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

static int64_t days_in(int64_t y, int64_t m) {
    static const uint8_t n[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return n[m - 1] + (m == 2 && is_leap(y));
}

/* Up to 18 digits behind the point. */
static void fraction(const char **s, moment *m) {
    static const tr_unit units[] = {TR_UNIT_MS, TR_UNIT_US, TR_UNIT_NS, TR_UNIT_PS, TR_UNIT_FS, TR_UNIT_AS};
    unsigned n = 0;
    for (; isdigit((unsigned char)**s) && n < 18; n++)
        m->atto = m->atto * 10 + (*(*s)++ - '0');
    m->unit = units[n ? (n - 1) / 3 : 0];
    for (; n < 18; n++)
        m->atto *= 10;
}

/* "2020-01-31T05:06:07.5", of which only the year must be there. */
static bool read_moment(const char *s, moment *m) {
    static const tr_unit units[] = {TR_UNIT_H, TR_UNIT_MIN, TR_UNIT_S};
    bool minus = *s == '-';
    s += *s == '-' || *s == '+';
    *m = (moment){.month = 1, .day = 1, .unit = TR_UNIT_Y};
    if (!digits(&s, 4, 12, &m->year))
        return false;
    m->year = minus ? -m->year : m->year;
    if (!*s)
        return true;
    if (*s++ != '-' || !digits(&s, 2, 2, &m->month) || m->month < 1 || m->month > 12)
        return false;
    m->unit = TR_UNIT_M;
    if (!*s)
        return true;
    if (*s++ != '-' || !digits(&s, 2, 2, &m->day) || m->day < 1 || m->day > days_in(m->year, m->month))
        return false;
    m->unit = TR_UNIT_D;
    for (unsigned i = 0; i < 3 && *s; i++) {
        bool apart = i ? *s == ':' : *s == 'T' || *s == ' ';
        s++;
        if (!apart || !digits(&s, 2, 2, &m->of_day[i]) || m->of_day[i] > (i ? 59 : 23))
            return false;
        m->unit = units[i];
    }
    if (*s == '.' && m->unit == TR_UNIT_S) {
        s++;
        fraction(&s, m);
    }
    return !*s;
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* From 1970 on. Years begin in March, as in kind_date.c. */
static int64_t day_number(const moment *m) {
    int64_t y = m->year - (m->month < 3), month = (m->month + 9) % 12;
    return y * 365 + floor_div(y, 4) - floor_div(y, 100) + floor_div(y, 400) + (153 * month + 2) / 5 +
           m->day - 1 - 719468;
}

/* False: int64 does not hold it. */
static bool count_of(const moment *m, tr_unit unit, int64_t *out) {
    int64_t days = day_number(m), second = (m->of_day[0] * 60 + m->of_day[1]) * 60 + m->of_day[2];
    switch (unit) {
    case TR_UNIT_Y: *out = m->year - 1970; return true;
    case TR_UNIT_M: *out = (m->year - 1970) * 12 + m->month - 1; return true;
    case TR_UNIT_W: *out = floor_div(days, 7); return true;
    case TR_UNIT_D: *out = days; return true;
    default: break;
    }
    if (unit <= TR_UNIT_S) {
        int64_t each = (int64_t)tr_unit_factor(unit, TR_UNIT_S);
        return !__builtin_mul_overflow(days, (int64_t)tr_unit_factor(TR_UNIT_D, unit), out) &&
               !__builtin_add_overflow(*out, second / each, out);
    }
    int64_t in_second = 1;
    for (tr_unit u = TR_UNIT_S; u != unit; u = (tr_unit)(u + 1))
        in_second *= 1000;
    int64_t each = INT64_C(1000000000000000000) / in_second;
    return !__builtin_mul_overflow(days, INT64_C(86400), out) && !__builtin_add_overflow(*out, second, out) &&
           !__builtin_mul_overflow(*out, in_second, out) &&
           !__builtin_add_overflow(*out, m->atto / each, out);
}

const char *tr_date_parse(const char *text, bool delta, tr_unit *unit, int64_t *out) {
    moment m;
    if (!*text || strcasecmp(text, "NaT") == 0) {
        *out = INT64_MIN;
        return NULL;
    }
    if (delta)
        return "of texts only \"NaT\" is one";
    if (strcmp(text, "now") == 0 || strcmp(text, "today") == 0)
        return "what time it is is asked outside of compiled code";
    if (!read_moment(text, &m))
        return "a text is like \"2020-01-31T05:06:07.5\", or \"NaT\"";
    *unit = *unit == TR_UNIT_GENERIC ? m.unit : *unit;
    return count_of(&m, *unit, out) ? NULL : "int64 does not hold it in this unit";
}
