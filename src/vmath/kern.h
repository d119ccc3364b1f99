/* Our kernels of vector math, written once for all levels and both types: included by a file for each level,
 * which has defined the level's vectors and what can be done with them (lanes.h says what is needed).
 *
 * All levels and the scalar twin give the same bits: each operation is exact or rounded once as IEEE 754 has
 * it, in the order that stands in kern_type.h, and products are fused with sums only where that is written. A
 * lane's result depends on this lane alone. Lanes for which a formula does not hold are found by one or two
 * tests; the branch for them computes all lanes anew, with everything put right. Constants and tables are
 * made by tools/gen_vmath.py. */
#ifdef VK_ISA

#include <math.h>
#include <string.h>

#include "vmath/priv.h"
#include "vmath/tables.h"

#define UNLIKELY(m) __builtin_expect(m, 0)
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define P(op)       JOIN(VK_TYPE, _##op)
#define NAME(x)     JOIN(x##_, VK_TYPE)
#define WIDE(x)     JOIN(wide_, NAME(x))
#define ROWS(x)     JOIN(rows_, NAME(x))
#define K(name)     P(load)(tr_vk.NAME(name))
#define FRESH(name) P(fresh)(K(name))
#define KB(name)    P(bits)(P(load)((const S *)tr_vk.NAME(name)))

enum { FLOATS = 2 * sizeof(F) / sizeof(D) }; /* vectors of doubles for the floats of one */

#define VK_TYPE     d
#define T           D
#define B           U
#define C           M
#define S           double
#define BITS        64
#define Q(op)       m_##op
#define LIMIT(d, f) d
#include "vmath/kern_type.h"
#undef VK_TYPE
#undef T
#undef B
#undef C
#undef S
#undef BITS
#undef Q
#undef LIMIT

#define VK_TYPE     f
#define T           F
#define B           V
#define C           N
#define S           float
#define BITS        32
#define Q(op)       n_##op
#define LIMIT(d, f) f
#include "vmath/kern_type.h"

/* --- the names --- */

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define ENTRY(name, lanes, fn) \
    { "tr_vk_" name TEXT(lanes) "_u10" TEXT(VK_ISA), (void (*)(void))fn }

/* Profilers see the names that generated code has for them, in a library that is stripped, too. */
#define SEEN(name, lanes, fn)                                                 \
    extern __typeof__(fn) JOIN(JOIN(tr_vk_##name, lanes), JOIN(_u10, VK_ISA)) \
        __attribute__((alias(#fn), visibility("protected")));
#define VM_OWN(name, arity) SEEN(name, VK_LANES_D, name##_d) SEEN(name, VK_LANES_F, name##_f)
#include "vmath/vmath_x86_64.def"

const tr_vmkernel JOIN(tr_vmath_kernels_, VK_ISA)[] = {
#define VM_OWN(name, arity) ENTRY(#name, VK_LANES_D, name##_d), ENTRY(#name, VK_LANES_F, name##_f),
#include "vmath/vmath_x86_64.def"
    {NULL, NULL}};

#endif
