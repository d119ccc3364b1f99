/* The operations of lanes.h on vectors of VK_BITS, 256 or 128, with AVX2 and FMA. Of a condition the sign's
 * bit counts. */
#ifdef VK_BITS

#include <immintrin.h>

#include "vmath/lanes.h"

#if VK_BITS == 256
#define VK_ISA     avx2
#define VK_LANES_D d4
#define VK_LANES_F f8
#define MM(op)     _mm256_##op
#define WHOLE(op)  _mm256_##op##_si256
typedef __m256d D;
typedef __m256 F;
typedef __m256i I;
#else
#define VK_ISA     avx2128
#define VK_LANES_D d2
#define VK_LANES_F f4
#define MM(op)     _mm_##op
#define WHOLE(op)  _mm_##op##_si128
typedef __m128d D;
typedef __m128 F;
typedef __m128i I;
#endif
#define VK_TARGET __attribute__((target("avx2,fma")))

typedef uint64_t U __attribute__((vector_size(VK_BITS / 8)));
typedef uint32_t V __attribute__((vector_size(VK_BITS / 8)));
typedef D M;
typedef F N;

#define TOWARDS_ZERO (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
#define BOTH(T, B, C, p, q, S, number, mantissa, bias)                            \
    VK_IS(T, p##_load, (const number *x), MM(load_##S)(x))                        \
    VK_IS(T, p##_set, (number x), MM(set1_##S)(x))                                \
    VK_IS(T, p##_fresh, (T x), x)                                                 \
    VK_IS(B, p##_bits, (T x), (B)x)                                               \
    VK_IS(T, p##_from, (B x), (T)x)                                               \
    VK_IS(T, p##_fma, (T a, T b, T c), MM(fmadd_##S)(a, b, c))                    \
    VK_IS(T, p##_fms, (T a, T b, T c), MM(fmsub_##S)(a, b, c))                    \
    VK_IS(T, p##_nfma, (T a, T b, T c), MM(fnmadd_##S)(a, b, c))                  \
    VK_IS(T, p##_min, (T a, T b), MM(min_##S)(a, b))                              \
    VK_IS(T, p##_max, (T a, T b), MM(max_##S)(a, b))                              \
    VK_IS(T, p##_root, (T x), MM(sqrt_##S)(x))                                    \
    VK_IS(T, p##_whole, (T x), MM(round_##S)(x, TOWARDS_ZERO))                    \
    VK_IS(T, p##_without, (T x, T sign), MM(andnot_##S)(sign, x))                 \
    VK_IS(T, p##_abs, (T x), p##_without(x, p##_load(tr_vk.sign_##p)))            \
    VK_IS(T, p##_signed, (T r, T x, T sign), MM(or_##S)(r, MM(and_##S)(x, sign))) \
    VK_IS(T, p##_pick, (C m, T a, T b), MM(blendv_##S)(b, a, m))                  \
    VK_IS(T, p##_either, (T m, T a, T b), MM(blendv_##S)(b, a, m))                \
    VK_IS(T, p##_flip, (T r, T signs), (T)((B)r ^ (B)signs))                      \
    VK_IS(C, p##_less, (T a, T b), MM(cmp_##S)(a, b, _CMP_LT_OQ))                 \
    VK_IS(C, p##_not_less, (T a, T b), MM(cmp_##S)(a, b, _CMP_NLT_UQ))            \
    VK_IS(C, p##_equal, (T a, T b), MM(cmp_##S)(a, b, _CMP_EQ_OQ))                \
    VK_IS(C, p##_unordered, (T a, T b), MM(cmp_##S)(a, b, _CMP_UNORD_Q))          \
    VK_IS(C, p##_negative, (T x), x)                                              \
    VK_IS(bool, q##_any, (C m), MM(movemask_##S)(m))                              \
    VK_IS(C, q##_or, (C a, C b), MM(or_##S)(a, b))                                \
    VK_IS(C, q##_and, (C a, C b), MM(and_##S)(a, b))                              \
    VK_IS(C, q##_and_not, (C a, C b), MM(andnot_##S)(b, a))                       \
    VK_SCALES(T, B, C, p, mantissa, bias)
BOTH(D, U, M, d, m, pd, double, 52, 1023)
BOTH(F, V, N, f, n, ps, float, 23, 127)
#undef BOTH
#undef TOWARDS_ZERO

#if VK_BITS == 256
VK_OP void f_wide(F x, D *w) {
    w[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
    w[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}
VK_IS(F, f_narrow, (const D *w), _mm256_set_m128(_mm256_cvtpd_ps(w[1]), _mm256_cvtpd_ps(w[0])))
#else
VK_OP void f_wide(F x, D *w) {
    w[0] = _mm_cvtps_pd(x);
    w[1] = _mm_cvtps_pd(_mm_movehl_ps(x, x));
}
VK_IS(F, f_narrow, (const D *w), _mm_movelh_ps(_mm_cvtpd_ps(w[0]), _mm_cvtpd_ps(w[1])))
#endif

/* Less the bits of the least normal number, as signed: from those of infinity on it is not finite. */
VK_OP M d_not_positive_normal(D x) {
    I over = (I)((U)x - 0x0010000000000000), far = MM(cmpgt_epi64)(over, MM(set1_epi64x)(0x7fdfffffffffffff));
    return (M)WHOLE(or)(far, WHOLE(or)((I)x, over));
}
VK_OP N f_not_positive_normal(F x) {
    I over = (I)((V)x - 0x00800000), far = MM(cmpgt_epi32)(over, MM(set1_epi32)(0x7effffff));
    return (N)WHOLE(or)(far, WHOLE(or)((I)x, over));
}

/* There is no conversion of 64-bit integers: the twelve bits go into the mantissa of 2^52, their sign turned
 * into a sum. */
VK_IS(D, d_exponent, (U t), d_from((t >> 52) ^ 0x4330000000000800) - (0x1p52 + 0x800))
VK_IS(F, f_exponent, (V t), MM(cvtepi32_ps)(MM(srai_epi32)((I)t, 23)))

/* --- tables: the lanes' rows are read in parts and turned round --- */

#if VK_BITS == 256
VK_IS(D, d_halves, (const double *low, const double *high),
      _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_load_pd(low)), _mm_load_pd(high), 1))

VK_OP void d_look(const double *wide, const double *rows, size_t places, size_t n, size_t room, U at, D *w) {
    (void)wide;
    const double *row[4];
    VK_UNROLL
    for (size_t i = 0; i < 4; i++)
        row[i] = rows + (at[i] & (places - 1)) * room;
    VK_UNROLL
    for (size_t i = 0; i < n; i += 2) {
        D even = d_halves(row[0] + i, row[2] + i), odd = d_halves(row[1] + i, row[3] + i);
        w[i] = _mm256_unpacklo_pd(even, odd);
        if (i + 1 < n)
            w[i + 1] = _mm256_unpackhi_pd(even, odd);
    }
}

/* Sixteen places fill two registers; the index's fourth bit says which. */
VK_OP void f_look(const float *wide, const float *rows, size_t places, size_t n, size_t room, V at, F *w) {
    (void)rows, (void)room;
    VK_UNROLL
    for (size_t i = 0; i < n; i++) {
        F low = _mm256_load_ps(wide + i * places), high = _mm256_load_ps(wide + i * places + 8);
        low = _mm256_permutevar8x32_ps(low, (I)at);
        w[i] = f_pick(f_from(at << 28), _mm256_permutevar8x32_ps(high, (I)at), low);
    }
}
#else
VK_OP void d_look(const double *wide, const double *rows, size_t places, size_t n, size_t room, U at, D *w) {
    (void)wide;
    const double *row[2] = {rows + (at[0] & (places - 1)) * room, rows + (at[1] & (places - 1)) * room};
    VK_UNROLL
    for (size_t i = 0; i < n; i += 2) {
        D even = _mm_load_pd(row[0] + i), odd = _mm_load_pd(row[1] + i);
        w[i] = _mm_unpacklo_pd(even, odd);
        if (i + 1 < n)
            w[i + 1] = _mm_unpackhi_pd(even, odd);
    }
}

VK_OP void f_look(const float *wide, const float *rows, size_t places, size_t n, size_t room, V at, F *w) {
    (void)wide;
    const float *row[4];
    VK_UNROLL
    for (size_t i = 0; i < 4; i++)
        row[i] = rows + (at[i] & (places - 1)) * room;
    VK_UNROLL
    for (size_t i = 0; i < n; i += 4) {
        F a = _mm_load_ps(row[0] + i), b = _mm_load_ps(row[1] + i), c = _mm_load_ps(row[2] + i);
        F d = _mm_load_ps(row[3] + i);
        _MM_TRANSPOSE4_PS(a, b, c, d);
        const F term[4] = {a, b, c, d};
        for (size_t k = 0; k < 4 && i + k < n; k++)
            w[i + k] = term[k];
    }
}
#endif

#endif
