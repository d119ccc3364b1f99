/* Dates as text, as NumPy's str() has them: what compiled code prints of a datetime64 and a
 * timedelta64. NaT is the least int64. */
#include <inttypes.h>
#include <stdio.h>

#include "rt/fns.h"
#include "rt/rt.h"

enum { YEARS, MONTHS, DAYS, HOURS, MINUTES, SECONDS, DAY_SECONDS = 86400 };

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static void put_text(tr_frame *f, const char *s) {
    tr_rt_print_str(f, s);
}

typedef struct day {
    int64_t year;
    int month, day;
} day;

/* Years begin in March here, so that a leap day is the last of one: 0 is 1970-01-01. */
static day day_of(int64_t n) {
    int64_t era = floor_div(n, 146097), in_era = n - era * 146097 + 719468; /* so that no sum is too large */
    era += floor_div(in_era, 146097);
    in_era -= floor_div(in_era, 146097) * 146097;
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365,
            d = in_era - (365 * y + y / 4 - y / 100), m = (5 * d + 2) / 153;
    return (day){y + era * 400 + (m > 9), (int)(m < 10 ? m + 3 : m - 9), (int)(d - (153 * m + 2) / 5 + 1)};
}

/* `digits` behind the point, from the seconds of a day. */
static void print_time(tr_frame *f, int64_t second, int64_t fraction, int64_t precision) {
    char b[48];
    int h = (int)(second / 3600), m = (int)(second / 60 % 60), s = (int)(second % 60);
    snprintf(b, sizeof b,
             precision == HOURS     ? "T%02d"
             : precision == MINUTES ? "T%02d:%02d"
                                    : "T%02d:%02d:%02d",
             h, m, s);
    put_text(f, b);
    if (precision > SECONDS) {
        snprintf(b, sizeof b, ".%0*" PRId64, (int)(precision - SECONDS) * 3, fraction);
        put_text(f, b);
    }
}

void tr_rt_print_date(tr_frame *f, int64_t v, int64_t precision) {
    char b[64];
    int64_t per_second = 1, second = 0, fraction = 0, days = v;
    if (v == INT64_MIN) {
        put_text(f, "NaT");
        return;
    }
    if (precision <= MONTHS) {
        int64_t year = precision == YEARS ? v : floor_div(v, 12);
        int month = precision == YEARS ? 1 : (int)(v - year * 12) + 1;
        snprintf(b, sizeof b, precision == YEARS ? "%04" PRId64 : "%04" PRId64 "-%02d", year + 1970, month);
        put_text(f, b);
        return;
    }
    for (int64_t k = SECONDS; k < precision; k++)
        per_second *= 1000;
    if (precision > DAYS) {
        int64_t each = precision == HOURS     ? 3600
                       : precision == MINUTES ? 60
                                              : 1,
                per_day = DAY_SECONDS / each, whole = floor_div(v, per_second);
        fraction = v - whole * per_second;
        days = floor_div(whole, per_day);
        second = (whole - days * per_day) * each;
    }
    day d = day_of(days);
    snprintf(b, sizeof b, "%04" PRId64 "-%02d-%02d", d.year, d.month, d.day);
    put_text(f, b);
    if (precision > DAYS)
        print_time(f, second, fraction, precision);
}

void tr_rt_print_span(tr_frame *f, int64_t v, const char *unit) {
    if (v == INT64_MIN) {
        put_text(f, "NaT");
        return;
    }
    tr_rt_print_i64(f, v);
    put_text(f, unit);
}
