/* The operations of lanes.h on vectors of 512 bits. Conditions are masks. */
#ifndef TR_VMATH_LANES_AVX512F_H
#define TR_VMATH_LANES_AVX512F_H

#include <immintrin.h>

#include "vmath/lanes.h"

#define VK_ISA     avx512f
#define VK_LANES_D d8
#define VK_LANES_F f16
#define VK_TARGET  __attribute__((target("avx512f,avx512dq,fma")))

typedef __m512d D;
typedef __m512 F;
typedef uint64_t U __attribute__((vector_size(64)));
typedef uint32_t V __attribute__((vector_size(64)));
typedef __m512i I;
typedef __mmask8 M;
typedef __mmask16 N;

#define TOWARDS_ZERO (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define BOTH(T, B, C, p, q, S, number)                                             \
    VK_IS(T, p##_load, (const number *x), _mm512_load_##S(x))                      \
    VK_IS(T, p##_set, (number x), _mm512_set1_##S(x))                              \
    VK_IS(T, p##_fresh, (T x), x)                                                  \
    VK_IS(B, p##_bits, (T x), (B)x)                                                \
    VK_IS(T, p##_from, (B x), (T)x)                                                \
    VK_IS(T, p##_fma, (T a, T b, T c), _mm512_fmadd_##S(a, b, c))                  \
    VK_IS(T, p##_fms, (T a, T b, T c), _mm512_fmsub_##S(a, b, c))                  \
    VK_IS(T, p##_nfma, (T a, T b, T c), _mm512_fnmadd_##S(a, b, c))                \
    VK_IS(T, p##_min, (T a, T b), _mm512_min_##S(a, b))                            \
    VK_IS(T, p##_max, (T a, T b), _mm512_max_##S(a, b))                            \
    VK_IS(T, p##_root, (T x), _mm512_sqrt_##S(x))                                  \
    VK_IS(T, p##_whole, (T x), _mm512_roundscale_##S(x, TOWARDS_ZERO))             \
    VK_IS(T, p##_abs, (T x), _mm512_abs_##S(x))                                    \
    VK_IS(T, p##_without, (T x, T sign), _mm512_andnot_##S(sign, x))               \
    VK_IS(T, p##_pick, (C m, T a, T b), _mm512_mask_mov_##S(b, m, a))              \
    VK_IS(C, p##_less, (T a, T b), _mm512_cmp_##S##_mask(a, b, _CMP_LT_OQ))        \
    VK_IS(C, p##_not_less, (T a, T b), _mm512_cmp_##S##_mask(a, b, _CMP_NLT_UQ))   \
    VK_IS(C, p##_equal, (T a, T b), _mm512_cmp_##S##_mask(a, b, _CMP_EQ_OQ))       \
    VK_IS(C, p##_unordered, (T a, T b), _mm512_cmp_##S##_mask(a, b, _CMP_UNORD_Q)) \
    VK_IS(C, p##_not_positive_normal, (T x), _mm512_fpclass_##S##_mask(x, 0xff))   \
    VK_IS(bool, q##_any, (C m), m)                                                 \
    VK_IS(C, q##_or, (C a, C b), (C)(a | b))                                       \
    VK_IS(C, q##_and, (C a, C b), (C)(a & b))                                      \
    VK_IS(C, q##_and_not, (C a, C b), (C)(a & ~b))                                 \
    VK_OP T p##_scale(T y, T n, T k) {                                             \
        (void)n;                                                                   \
        return _mm512_scalef_##S(y, k);                                            \
    }                                                                              \
    VK_IS(T, p##_scale_near, (T y, T n, T k), p##_scale(y, n, k))                  \
    VK_OP C p##_outside(T z, T limit, T r) {                                       \
        (void)z, (void)limit;                                                      \
        return p##_not_positive_normal(r);                                         \
    }
/* Without optimisation roundscale is a macro of GCC's, whose mask of all lanes changes its sign. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
BOTH(D, U, M, d, m, pd, double)
BOTH(F, V, N, f, n, ps, float)
#pragma GCC diagnostic pop
#undef BOTH
#undef TOWARDS_ZERO

/* One instruction each: r | (x & sign). */
VK_IS(D, d_signed, (D r, D x, D sign), (D)_mm512_ternarylogic_epi64((I)r, (I)x, (I)sign, 0xf8))
VK_IS(F, f_signed, (F r, F x, F sign), (F)_mm512_ternarylogic_epi32((I)r, (I)x, (I)sign, 0xf8))

VK_IS(M, d_negative, (D x), _mm512_movepi64_mask((I)x))
VK_IS(N, f_negative, (F x), _mm512_movepi32_mask((I)x))
VK_IS(D, d_either, (D m, D a, D b), d_pick(d_negative(m), a, b))
VK_IS(F, f_either, (F m, F a, F b), f_pick(f_negative(m), a, b))
VK_IS(D, d_flip, (D r, D signs), (D)((U)r ^ (U)signs))
VK_IS(F, f_flip, (F r, F signs), (F)((V)r ^ (V)signs))
VK_OP void f_wide(F x, D *w) {
    w[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
    w[1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}
VK_IS(F, f_narrow, (const D *w),
      _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(w[0])), _mm512_cvtpd_ps(w[1]), 1))
VK_IS(D, d_exponent, (U t), _mm512_cvtepi64_pd(_mm512_srai_epi64((I)t, 52)))
VK_IS(F, f_exponent, (V t), _mm512_cvtepi32_ps(_mm512_srai_epi32((I)t, 23)))

VK_OP void d_look(const double *wide, const double *rows, size_t places, size_t n, size_t room, U at, D *w) {
    (void)rows, (void)room;
    VK_UNROLL
    for (size_t i = 0; i < n; i++) {
        D low = _mm512_load_pd(wide + i * places);
        w[i] = places == 8 ? _mm512_permutexvar_pd((I)at, low)
                           : _mm512_permutex2var_pd(low, (I)at, _mm512_load_pd(wide + i * places + 8));
    }
}

VK_OP void f_look(const float *wide, const float *rows, size_t places, size_t n, size_t room, V at, F *w) {
    (void)rows, (void)room;
    VK_UNROLL
    for (size_t i = 0; i < n; i++)
        w[i] = _mm512_permutexvar_ps((I)at, _mm512_load_ps(wide + i * places));
}

#endif
