/* The operations of lanes.h on one number at a time: the scalar twins of processors with FMA. */
#ifndef TR_VMATH_LANES_SCALAR_H
#define TR_VMATH_LANES_SCALAR_H

#include <string.h>

#include "vmath/lanes.h"

#define VK_ISA     purecfma
#define VK_LANES_D d1
#define VK_LANES_F f1
#define VK_TARGET  __attribute__((target("avx2,fma")))
#define VK_ALONE

typedef double D;
typedef float F;
typedef uint64_t U;
typedef uint32_t V;
typedef bool M;
typedef bool N;

#define BOTH(T, B, SIGNED, p, q, s, mantissa, bias)                                                       \
    VK_IS(T, p##_load, (const T *x), *x)                                                                  \
    VK_IS(T, p##_set, (T x), x)                                                                           \
    VK_OP B p##_bits(T x) {                                                                               \
        B b;                                                                                              \
        memcpy(&b, &x, sizeof b);                                                                         \
        return b;                                                                                         \
    }                                                                                                     \
    VK_OP T p##_from(B b) {                                                                               \
        T x;                                                                                              \
        memcpy(&x, &b, sizeof x);                                                                         \
        return x;                                                                                         \
    }                                                                                                     \
    VK_IS(T, p##_fma, (T a, T b, T c), __builtin_fma##s(a, b, c))                                         \
    VK_IS(T, p##_fms, (T a, T b, T c), __builtin_fma##s(a, b, -c))                                        \
    VK_IS(T, p##_nfma, (T a, T b, T c), __builtin_fma##s(-a, b, c))                                       \
    VK_IS(T, p##_min, (T a, T b), a < b ? a : b)                                                          \
    VK_IS(T, p##_max, (T a, T b), a > b ? a : b)                                                          \
    VK_IS(T, p##_root, (T x), __builtin_sqrt##s(x))                                                       \
    VK_IS(T, p##_whole, (T x), __builtin_trunc##s(x))                                                     \
    VK_IS(T, p##_abs, (T x), __builtin_fabs##s(x))                                                        \
    VK_IS(T, p##_without, (T x, T sign), p##_from(p##_bits(x) & ~p##_bits(sign)))                         \
    VK_IS(T, p##_signed, (T r, T x, T sign), p##_from(p##_bits(r) | (p##_bits(x) & p##_bits(sign))))      \
    VK_IS(T, p##_pick, (bool m, T a, T b), m ? a : b)                                                     \
    VK_IS(bool, p##_less, (T a, T b), a < b)                                                              \
    VK_IS(bool, p##_not_less, (T a, T b), !(a < b))                                                       \
    VK_IS(bool, p##_equal, (T a, T b), a == b)                                                            \
    VK_IS(bool, p##_unordered, (T a, T b), __builtin_isunordered(a, b))                                   \
    VK_IS(bool, p##_negative, (T x), (SIGNED)p##_bits(x) < 0)                                             \
    VK_IS(bool, p##_not_positive_normal, (T x),                                                           \
          p##_bits(x) - ((B)1 << mantissa) >= (B)(2 * bias) << mantissa)                                  \
    VK_IS(bool, q##_any, (bool m), m)                                                                     \
    VK_IS(bool, q##_or, (bool a, bool b), a || b)                                                         \
    VK_IS(bool, q##_and, (bool a, bool b), a &&b)                                                         \
    VK_IS(bool, q##_and_not, (bool a, bool b), a && !b)                                                   \
    VK_IS(T, p##_exponent, (B t), (T)((SIGNED)t >> mantissa))                                             \
    VK_SCALES(T, B, bool, p, mantissa, bias)                                                              \
    VK_OP void p##_look(const T *wide, const T *rows, size_t places, size_t n, size_t room, B at, T *w) { \
        (void)wide;                                                                                       \
        memcpy(w, rows + (at & (places - 1)) * room, n * sizeof *w);                                      \
    }
/* A blend as in vectors: which of them it is, no processor can guess. Left to themselves, compilers make a
 * branch of the one, and of the other a detour by the integer registers. */
#define PLAIN(T, p, S)                                                      \
    VK_OP T p##_either(T m, T a, T b) {                                     \
        __asm__("vblendv" #S " %2, %1, %0, %0" : "+x"(b) : "x"(a), "x"(m)); \
        return b;                                                           \
    }                                                                       \
    VK_OP T p##_flip(T r, T signs) {                                        \
        __asm__("vxor" #S " %1, %0, %0" : "+x"(r) : "x"(signs));            \
        return r;                                                           \
    }                                                                       \
    VK_OP T p##_fresh(T x) {                                                \
        __asm__("" : "+x"(x));                                              \
        return x;                                                           \
    }
PLAIN(double, d, pd)
PLAIN(float, f, ps)
#undef PLAIN
VK_OP void f_wide(F x, D *w) {
    *w = x;
}
VK_IS(F, f_narrow, (const D *w), (F)*w)
BOTH(double, uint64_t, int64_t, d, m, , 52, 1023)
BOTH(float, uint32_t, int32_t, f, n, f, 23, 127)
#undef BOTH

#endif
