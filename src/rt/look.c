/* Bytes by a table of bytes, which every byte is a place of (look-up table, in the field's words).
 *
 * A table of 256 items is four registers of 64 where the processor picks bytes from two at a time (AVX-512
 * VBMI): sixty-four items by two picks, and a choice by their highest bit. Else, and of few, items are looked
 * up one after the other.
 * Cost: from the cache (Zen 4) 0.03 ns an item; 0.3 without. */
#include <immintrin.h>
#include <string.h>

#include "rt/fns.h"

enum { LANES = 64, PLACES = 256 };

/* What is said of tr_rt_look_up; the largest of `top`, too. */
static int64_t look_each(const uint8_t *x, uint8_t *out, int64_t n, const uint8_t *table, int64_t m,
                         int64_t top) {
    for (int64_t i = 0; i < n; i++) {
        int64_t k = x[i];
        out[i] = k < m ? table[k] : 0;
        top = k > top ? k : top;
    }
    return top;
}

#define VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi"))) static

/* Which of 64 lanes there are of n items. */
static inline uint64_t lanes_of(int64_t n) {
    return n >= LANES ? UINT64_MAX : n <= 0 ? 0 : (UINT64_C(1) << n) - 1;
}

VBMI int64_t look_vbmi(const uint8_t *x, uint8_t *out, int64_t n, const uint8_t *table, int64_t m) {
    __m512i t[PLACES / LANES], most = _mm512_setzero_si512();
    uint8_t lanes[LANES], top = 0;
    for (int64_t k = 0; k < PLACES; k += LANES)
        t[k / LANES] = _mm512_maskz_loadu_epi8(lanes_of(m - k), k < m ? table + k : table);
    for (int64_t i = 0; i < n; i += LANES) {
        uint64_t there = lanes_of(n - i);
        __m512i at = _mm512_maskz_loadu_epi8(there, x + i);
        __m512i low = _mm512_permutex2var_epi8(t[0], at, t[1]),
                high = _mm512_permutex2var_epi8(t[2], at, t[3]);
        most = _mm512_max_epu8(most, at);
        _mm512_mask_storeu_epi8(out + i, there, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
    }
    _mm512_storeu_si512(lanes, most);
    for (int k = 0; k < LANES; k++)
        top = lanes[k] > top ? lanes[k] : top;
    return top;
}

int64_t tr_rt_look_up(const uint8_t *x, uint8_t *out, int64_t n, const uint8_t *table, int64_t m) {
    if (n < LANES || !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512bw"))
        return look_each(x, out, n, table, m, -1);
    return look_vbmi(x, out, n, table, m);
}
