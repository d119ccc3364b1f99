/* What a level must define before kern.h, for vectors of its width. The types are D, U, M (doubles, their
 * bits, a condition on each lane) and F, V, N (floats, and the same of them); each operation is there as d_
 * on doubles and f_ on floats, those on conditions as m_ and n_.
 *
 *   load, set          of a constant of tables.h, which stands there for every lane; of one number
 *   bits, from         a number's bits, and back
 *   fma, fms, nfma     a * b + c, a * b - c, c - a * b, rounded once
 *   min, max           the second where either is nan
 *   root, whole        the square root; what is left of a number without its fraction
 *   abs; without, signed    without(x, -0.0) is |x|, signed(r, x, -0.0) is r >= 0 with the sign of x
 *   pick               pick(m, a, b): a where m, else b
 *   flip               flip(r, signs): r with its sign turned where `signs` is -0.0 and not 0.0
 *   fresh              a constant in a register that may be written over. A compiler that has it in
 *                      one already would rather copy the other operands, and has no copy of one number
 *                      that costs nothing
 *   wide, narrow       floats as doubles, in one or two vectors, and such as floats; these
 *                      are of floats alone
 *   either             either(m, a, b): a where the sign's bit of m is set, else b; never a branch
 *   less, not_less, equal, unordered, negative    conditions; not_less holds of nan too, negative is the
 *                                                 sign's bit
 *   not_positive_normal     zero, denormal, negative, infinite or nan
 *   outside            outside(z, limit, r): may r be anything but normal, positive and right? Asked of |z|
 *                      >= limit, or of r itself, where the level's scale_near makes 0, infinity or nan of all
 *                      that is out of range
 *   any, or, and, and_not   of conditions
 *   exponent           the signed number in the bits above the mantissa's
 *   scale              y * 2^floor(k), rounded once; n is k plus exp_round. scale_near: where
 *                      the result is normal
 *   look               looks up n numbers at one of 8 or 16 places, as many bits of `at` count; tables.h says
 *                      what wide and rows are */
/* VK_ALONE is defined where a vector is one number: branches that the next call is likely to take again are
 * worth it there, and what they compute must have the same bits. */
#ifndef TR_VMATH_LANES_H
#define TR_VMATH_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmath/tables.h"

#define VK_OP   VK_TARGET static inline __attribute__((always_inline))
#define VK_FN   VK_TARGET static
#define VK_COLD VK_TARGET __attribute__((noinline, cold)) static
#ifdef __clang__
#define VK_UNROLL _Pragma("unroll")
#else
#define VK_UNROLL _Pragma("GCC unroll 32")
#endif

/* An operation that is one expression. */
#define VK_IS(type, name, arguments, value) \
    VK_OP type name arguments {             \
        return value;                       \
    }

/* The three of a level without instructions for them. `scale` in two factors, the first of which gives no
 * denormal number. */
#define VK_SCALES(T, B, C, p, mantissa, bias)                                            \
    VK_OP C p##_outside(T z, T limit, T r) {                                             \
        (void)r;                                                                         \
        return p##_not_less(p##_abs(z), limit);                                          \
    }                                                                                    \
    VK_OP T p##_scale_near(T y, T n, T k) {                                              \
        (void)k;                                                                         \
        return p##_from(p##_bits(y) + (p##_bits(n) >> exp_cut_##p << mantissa));         \
    }                                                                                    \
    VK_OP T p##_scale(T y, T n, T k) {                                                   \
        (void)k;                                                                         \
        B e = ((p##_bits(n) >> exp_cut_##p) + 2 * bias) & (4 * bias + 3), half = e >> 1; \
        return y * p##_from(half << mantissa) * p##_from((e - half) << mantissa);        \
    }

#endif
