/* Values of the PTX interpreter: conversions, directed roundings, and what a kernel prints. */
#include "ptx_priv.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>

/* --- halves --- */

float ptx_half(uint64_t h) {
    int exp = (int)(h >> 10 & 31), man = (int)(h & 1023);
    float x = exp == 31 ? (man ? NAN : INFINITY)
              : exp     ? ldexpf((float)(man | 1024), exp - 25)
                        : ldexpf((float)man, -24);
    return h & 0x8000 ? -x : x;
}

/* Rounds as the machine is told to. */
static double nearest(double x, ptx_round how) {
    switch (how) {
    case PTX_RZ:
    case PTX_RZI: return trunc(x);
    case PTX_RM:
    case PTX_RMI: return floor(x);
    case PTX_RP:
    case PTX_RPI: return ceil(x);
    default: return nearbyint(x);
    }
}

static uint64_t to_half(double x, ptx_round how) {
    uint64_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x))
        return 0x7fff;
    if (isinf(x))
        return sign | 0x7c00;
    int exp;
    (void)frexp(x, &exp);
    int unit = (exp < -13 ? -13 : exp) - 11; /* the last bit's */
    double r = ldexp(nearest(ldexp(x, -unit), how), unit), most = 65504;
    bool away = how == PTX_RN || (how == PTX_RP && x > 0) || (how == PTX_RM && x < 0);
    if (fabs(r) > most)
        return sign | (away ? 0x7c00 : 0x7bff);
    double a = fabs(r);
    if (a < ldexp(1, -14))
        return sign | (uint64_t)ldexp(a, 24);
    (void)frexp(a, &exp);
    return sign | ((uint64_t)(exp + 14) << 10) | ((uint64_t)ldexp(a, 11 - exp) & 1023);
}

uint64_t ptx_to_half(double x) {
    return to_half(x, PTX_RN);
}

/* --- roundings --- */

static int mode_of(ptx_round how) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    return modes[how & 3];
}

#define ROUNDED(t, T, fused, root)                                           \
    T ptx_rounded_##t(ptx_round how, char op, T a, T b, T c) {               \
        volatile T x = a, y = b, z = c, r; /* nothing is computed earlier */ \
        fesetround(mode_of(how));                                            \
        switch (op) {                                                        \
        case '+': r = x + y; break;                                          \
        case '-': r = x - y; break;                                          \
        case '*': r = x * y; break;                                          \
        case '/': r = x / y; break;                                          \
        case 's': r = root(x); break;                                        \
        default: r = fused(x, y, z); break;                                  \
        }                                                                    \
        fesetround(FE_TONEAREST);                                            \
        return r;                                                            \
    }
ROUNDED(f32, float, fmaf, sqrtf)
ROUNDED(f64, double, fma, sqrt)

/* --- conversions --- */

static unsigned bytes_of(unsigned t) {
    static const uint8_t bytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
    return bytes[t];
}

static bool is_float(unsigned t) {
    return t >= PTX_TYPE_f16;
}

static bool is_signed(unsigned t) {
    return t >= PTX_TYPE_s8 && t <= PTX_TYPE_s64;
}

/* An integer of its type as one of 128 bits. */
static __int128 integer(unsigned t, uint64_t x) {
    unsigned cut = 64 - 8 * bytes_of(t);
    return is_signed(t) ? (__int128)((int64_t)(x << cut) >> cut) : (__int128)(x << cut >> cut);
}

static double floating(unsigned t, uint64_t x, bool flush) {
    if (t == PTX_TYPE_f16)
        return (double)ptx_half(x);
    if (t == PTX_TYPE_f64)
        return ptx_f64(x);
    return (double)ptx_f32(flush && !(x & 0x7f800000) ? x & 0x80000000 : x);
}

static __int128 limited(unsigned t, __int128 v) {
    unsigned bits = 8 * bytes_of(t);
    __int128 one = 1, hi = is_signed(t) ? (one << (bits - 1)) - 1 : (one << bits) - 1;
    __int128 lo = is_signed(t) ? -(one << (bits - 1)) : 0;
    return v < lo ? lo : v > hi ? hi : v;
}

static uint64_t to_integer(ptx_cvt how, double x) {
    if (isnan(x)) {
        bool wide = how.from == PTX_TYPE_f64 || bytes_of(how.to) == 8;
        return wide ? 1ull << (8 * bytes_of(how.to) - 1) : 0;
    }
    double r = nearest(x, (ptx_round)how.round), far = ldexp(1, 66);
    r = r > far ? far : r < -far ? -far : r;
    return (uint64_t)limited(how.to, (__int128)r);
}

static uint64_t to_floating(ptx_cvt how, double x) {
    if (how.round >= PTX_RNI && !isnan(x) && !isinf(x))
        x = copysign(nearest(x, (ptx_round)how.round), x);
    if (how.saturate)
        x = x > 0 ? x < 1 ? x : 1 : 0;
    if (how.to == PTX_TYPE_f16)
        return to_half(x, (ptx_round)(how.round & 3));
    if (how.to == PTX_TYPE_f64)
        return ptx_of_f64(x);
    volatile double from = x;
    fesetround(mode_of((ptx_round)how.round));
    volatile float to = (float)from;
    fesetround(FE_TONEAREST);
    uint64_t bits = isnan(x) ? 0x7fffffff : ptx_of_f32(to);
    return how.flush && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

/* An integer of 64 bits is rounded once: not on the way. */
static uint64_t from_integer(ptx_cvt how, uint64_t x) {
    volatile uint64_t u = x;
    volatile int64_t s = (int64_t)x;
    volatile double d;
    volatile float f;
    fesetround(mode_of((ptx_round)how.round));
    d = how.from == PTX_TYPE_u64 ? (double)u : (double)s;
    f = how.from == PTX_TYPE_u64 ? (float)u : (float)s;
    fesetround(FE_TONEAREST);
    if (how.to == PTX_TYPE_f16)
        return to_half(how.from == PTX_TYPE_u64 ? (double)(u > 1u << 20 ? 1u << 20 : u) : (double)s,
                       (ptx_round)how.round);
    uint64_t bits = how.to == PTX_TYPE_f32 ? ptx_of_f32(f) : ptx_of_f64(d);
    return how.saturate ? to_floating(how, floating(how.to, bits, false)) : bits;
}

uint64_t ptx_convert(ptx_cvt how, uint64_t x) {
    if (is_float(how.from)) {
        double v = floating(how.from, x, how.flush);
        return is_float(how.to) ? to_floating(how, v) : to_integer(how, v);
    }
    __int128 v = integer(how.from, x);
    if (is_float(how.to)) {
        how.from = how.from == PTX_TYPE_u64 ? PTX_TYPE_u64 : PTX_TYPE_s64;
        return from_integer(how, (uint64_t)v);
    }
    return (uint64_t)(how.saturate ? limited(how.to, v) : integer(how.to, (uint64_t)v));
}

/* --- printing --- */

static bool copy_text(ptx_thread *t, uint64_t at, char *out, size_t room) {
    for (size_t k = 0; k + 1 < room; k++) {
        const char *p = ptx_at_space(t, PTX_GENERIC, at + k, 1);
        if (!p)
            return false;
        if (!(out[k] = *p))
            return true;
    }
    out[room - 1] = 0;
    return true;
}

FILE *ptx_out;

/* One value, which lies where its size lets it. */
static bool print_value(ptx_thread *t, const char *spec, uint64_t *values) {
    char kind = spec[strlen(spec) - 1], text[1024];
    unsigned bytes = strchr("diuxXoc", kind) && !strchr(spec, 'l') ? 4 : 8;
    *values = (*values + bytes - 1) / bytes * bytes;
    const char *p = ptx_at_space(t, PTX_GENERIC, *values, bytes);
    FILE *out = ptx_out ? ptx_out : stdout;
    uint64_t v = 0;
    double d;
    if (!p)
        return false;
    memcpy(&v, p, bytes);
    memcpy(&d, &v, sizeof d);
    *values += bytes;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (kind == 's') {
        if (!copy_text(t, v, text, sizeof text))
            return false;
        fprintf(out, spec, text);
    } else if (strchr("eEfFgGaA", kind)) {
        fprintf(out, spec, d);
    } else if (bytes == 4) {
        fprintf(out, spec, (unsigned)v);
    } else {
        fprintf(out, spec, (unsigned long long)v);
    }
#pragma GCC diagnostic pop
    return true;
}

int ptx_print(ptx_thread *t, uint64_t format, uint64_t values) {
    char text[1024], spec[32];
    int n = 0;
    if (!copy_text(t, format, text, sizeof text))
        return -1;
    for (const char *s = text; *s; s++) {
        size_t k = 1;
        if (*s != '%' || s[1] == '%') {
            putc(*s, ptx_out ? ptx_out : stdout);
            s += *s == '%';
            continue;
        }
        k += strcspn(s + 1, "diuxXocseEfFgGaAp") + 1;
        if (k >= sizeof spec)
            return -1;
        memcpy(spec, s, k);
        spec[k] = 0;
        s += k - 1;
        n++;
        if (!print_value(t, spec, &values))
            return -1;
    }
    return n;
}
