/* Wrappers that put SLEEF's functions right where they break C99 or 1.0 ULP (VM_MENDED in vmath_x86_64.def
 * says how).
 *
 * A wrapper calls the function it wraps on all lanes, and looks for lanes that the row's rule names. These
 * are few or none: a test and a branch that is not taken is all it costs. Lanes that libm computes again, in
 * the next wider type, go through memory, one by one, so each lane's result depends on that lane alone and is
 * what the scalar twin gives. The same text serves every level: mend_level.h is compiled once for each, with
 * the level's types and operations. */
#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vmath/priv.h"

#define JOIN_(a, b, c, d, e, f) a##b##c##d##_##e##f
#define JOIN(a, b, c, d, e, f)  JOIN_(a, b, c, d, e, f)
#define TEXT_(a)                #a
#define TEXT(a)                 TEXT_(a)

/* --- lanes computed again: in the next wider type, so rounded once --- */

#define REDO(type, wide)                                                                              \
    __attribute__((noinline, cold)) static void redo1_##type(type *r, const type *x, unsigned lanes,  \
                                                             wide (*f)(wide)) {                       \
        for (; lanes; lanes &= lanes - 1) {                                                           \
            int i = __builtin_ctz(lanes);                                                             \
            r[i] = (type)f(x[i]);                                                                     \
        }                                                                                             \
    }                                                                                                 \
    __attribute__((noinline, cold)) static void redo2_##type(type *r, const type *x, const type *y,   \
                                                             unsigned lanes, wide (*f)(wide, wide)) { \
        for (; lanes; lanes &= lanes - 1) {                                                           \
            int i = __builtin_ctz(lanes);                                                             \
            r[i] = (type)f(x[i], y[i]);                                                               \
        }                                                                                             \
    }
REDO(double, long double)
REDO(float, double)
#undef REDO

/* What a rule sends back to libm, as a condition on each lane. a, b, r: magnitudes of the arguments and the
 * result; y and b are x and a where there is one argument. */
#define BACK_INF(x, y, a, b, r, bound, inf)      (((r) == (inf)) & ((a) < (inf)))
#define BACK_INF_TINY(x, y, a, b, r, bound, inf) BACK_INF(x, y, a, b, r, bound, inf)
#define BACK_TINY(x, y, a, b, r, bound, inf)     ((a) < (a))
#define BACK_SMALL(x, y, a, b, r, bound, inf)    (((a) < (bound)) & ((a) > 0.0F))
#define BACK_BELOW(x, y, a, b, r, bound, inf)    ((x) < (bound))
#define BACK_POWER(x, y, a, b, r, bound, inf) \
    ((((r) > (bound)) | (((r) < 1 / (bound)) & ((r) > 0.0F))) & ((a) < (inf)) & ((b) < (inf)) & ((y) != 2.0F))
/* Which lanes are their own result. */
#define SELF_INF(a, bound)      ((a) < (a))
#define SELF_INF_TINY(a, bound) ((a) < (bound))
#define SELF_TINY(a, bound)     ((a) < (bound))
#define SELF_SMALL(a, bound)    ((a) < (a))
#define SELF_BELOW(a, bound)    ((a) < (a))
/* Which lanes are the first argument's square. */
#define SQUARE_POWER(y) ((y) == 2.0F)

/* --- the levels --- */

/* Integer vectors of the shape of each type, for bits: magnitude, and choice by a condition. */
typedef int64_t i64x8 __attribute__((vector_size(64)));
typedef int64_t i64x4 __attribute__((vector_size(32)));
typedef int64_t i64x2 __attribute__((vector_size(16)));
typedef int32_t i32x16 __attribute__((vector_size(64)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
#define BITS_ABS(V, I, top, x)      ((V)((I)(x) & (top)))
#define BITS_PICK(V, I, self, x, r) ((V)(((I)(self) & (I)(x)) | (~(I)(self) & (I)(r))))

#define LANES_512_D(m) ((unsigned)_mm512_test_epi64_mask((__m512i)(m), (__m512i)(m)))
#define LANES_512_F(m) ((unsigned)_mm512_test_epi32_mask((__m512i)(m), (__m512i)(m)))
#define LANES_256_D(m) ((unsigned)_mm256_movemask_pd((__m256d)(m)))
#define LANES_256_F(m) ((unsigned)_mm256_movemask_ps((__m256)(m)))
#define LANES_128_D(m) ((unsigned)_mm_movemask_pd((__m128d)(m)))
#define LANES_128_F(m) ((unsigned)_mm_movemask_ps((__m128)(m)))

#define VM_PREFIX  finz_
#define VM_ISA     avx512f
#define VM_TARGET  __attribute__((target("avx512f")))
#define VM_D       d8
#define VM_F       f16
#define VM_VD      __m512d
#define VM_VF      __m512
#define VM_ID      i64x8
#define VM_IF      i32x16
#define VM_LANES_D LANES_512_D
#define VM_LANES_F LANES_512_F
#include "vmath/mend_level.h"

#define VM_PREFIX  finz_
#define VM_ISA     avx2
#define VM_TARGET  __attribute__((target("avx2")))
#define VM_D       d4
#define VM_F       f8
#define VM_VD      __m256d
#define VM_VF      __m256
#define VM_ID      i64x4
#define VM_IF      i32x8
#define VM_LANES_D LANES_256_D
#define VM_LANES_F LANES_256_F
#include "vmath/mend_level.h"

#define VM_PREFIX  finz_
#define VM_ISA     avx2128
#define VM_TARGET  __attribute__((target("avx2")))
#define VM_D       d2
#define VM_F       f4
#define VM_VD      __m128d
#define VM_VF      __m128
#define VM_ID      i64x2
#define VM_IF      i32x4
#define VM_LANES_D LANES_128_D
#define VM_LANES_F LANES_128_F
#include "vmath/mend_level.h"

#define VM_PREFIX  cinz_
#define VM_ISA     avx
#define VM_TARGET  __attribute__((target("avx")))
#define VM_D       d4
#define VM_F       f8
#define VM_VD      __m256d
#define VM_VF      __m256
#define VM_ID      i64x4
#define VM_IF      i32x8
#define VM_LANES_D LANES_256_D
#define VM_LANES_F LANES_256_F
#include "vmath/mend_level.h"

#define VM_PREFIX  cinz_
#define VM_ISA     sse4
#define VM_TARGET  __attribute__((target("sse4.1")))
#define VM_D       d2
#define VM_F       f4
#define VM_VD      __m128d
#define VM_VF      __m128
#define VM_ID      i64x2
#define VM_IF      i32x4
#define VM_LANES_D LANES_128_D
#define VM_LANES_F LANES_128_F
#include "vmath/mend_level.h"

#define VM_PREFIX  cinz_
#define VM_ISA     sse2
#define VM_TARGET  __attribute__((target("sse2")))
#define VM_D       d2
#define VM_F       f4
#define VM_VD      __m128d
#define VM_VF      __m128
#define VM_ID      i64x2
#define VM_IF      i32x4
#define VM_LANES_D LANES_128_D
#define VM_LANES_F LANES_128_F
#include "vmath/mend_level.h"

/* The scalar twins: one lane. */
#define SCALAR_PICK(self, x, r) ((self) ? (x) : (r))

#define VM_PREFIX finz_
#define VM_ISA    purecfma
#define VM_TARGET
#define VM_D       d1
#define VM_F       f1
#define VM_VD      double
#define VM_VF      float
#define VM_ABS_D   fabs
#define VM_ABS_F   fabsf
#define VM_PICK_D  SCALAR_PICK
#define VM_PICK_F  SCALAR_PICK
#define VM_LANES_D (unsigned)
#define VM_LANES_F (unsigned)
#include "vmath/mend_level.h"

#define VM_PREFIX cinz_
#define VM_ISA    purec
#define VM_TARGET
#define VM_D       d1
#define VM_F       f1
#define VM_VD      double
#define VM_VF      float
#define VM_ABS_D   fabs
#define VM_ABS_F   fabsf
#define VM_PICK_D  SCALAR_PICK
#define VM_PICK_F  SCALAR_PICK
#define VM_LANES_D (unsigned)
#define VM_LANES_F (unsigned)
#include "vmath/mend_level.h"

/* --- the names --- */

const tr_vmwrap *tr_vmath_wrapper(const char *name) {
    static const struct {
        const tr_vmwrap *d;
        size_t n;
    } levels[] = {
#define ALL(isa) {wraps_##isa, sizeof wraps_##isa / sizeof *wraps_##isa}
        ALL(avx512f), ALL(avx2),     ALL(avx2128), ALL(avx), ALL(sse4),
        ALL(sse2),    ALL(purecfma), ALL(purec)
#undef ALL
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        for (size_t k = 0; k < levels[i].n; k++)
            if (!strcmp(levels[i].d[k].name, name))
                return &levels[i].d[k];
    return NULL;
}
