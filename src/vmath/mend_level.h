/* The wrappers of one level: included by mend_x86_64.c alone, once for each, with VM_PREFIX, VM_ISA,
 * VM_TARGET, the lanes as names have them (VM_D, VM_F), the types, and the operations on them; all of these
 * are undefined at the end. Makes the table wraps_<isa>. */
#ifdef VM_ISA

#ifdef VM_ID
#define VM_ABS_D(x)           BITS_ABS(VM_VD, VM_ID, INT64_MAX, x)
#define VM_ABS_F(x)           BITS_ABS(VM_VF, VM_IF, INT32_MAX, x)
#define VM_PICK_D(self, x, r) BITS_PICK(VM_VD, VM_ID, self, x, r)
#define VM_PICK_F(self, x, r) BITS_PICK(VM_VF, VM_IF, self, x, r)
#endif

#define FN(name, lanes, acc)    JOIN(tr_vm_, VM_PREFIX, name, lanes, acc, VM_ISA)
#define INNER(name, lanes, acc) JOIN(inner_, VM_PREFIX, name, lanes, acc, VM_ISA)

#define WRAP_1(T, V, K, lanes, name, acc, wide, rule, bound)                               \
    static void *INNER(name, lanes, acc);                                                  \
    VM_TARGET static V FN(name, lanes, acc)(V x) {                                         \
        V r = ((V(*)(V))INNER(name, lanes, acc))(x), a = VM_ABS_##K(x), m = VM_ABS_##K(r); \
        unsigned back = VM_LANES_##K(BACK_##rule(x, x, a, a, m, (T)(bound), (T)INFINITY)); \
        r = VM_PICK_##K(SELF_##rule(a, (T)(bound)), x, r);                                 \
        (void)m;                                                                           \
        if (__builtin_expect(back != 0, 0)) {                                              \
            T rs[sizeof(V) / sizeof(T)], xs[sizeof(V) / sizeof(T)];                        \
            memcpy(rs, &r, sizeof r);                                                      \
            memcpy(xs, &x, sizeof x);                                                      \
            redo1_##T(rs, xs, back, wide);                                                 \
            memcpy(&r, rs, sizeof r);                                                      \
        }                                                                                  \
        return r;                                                                          \
    }

#define WRAP_2(T, V, K, lanes, name, acc, wide, rule, bound)                                   \
    static void *INNER(name, lanes, acc);                                                      \
    VM_TARGET static V FN(name, lanes, acc)(V x, V y) {                                        \
        V r = ((V(*)(V, V))INNER(name, lanes, acc))(x, y);                                     \
        r = VM_PICK_##K(SQUARE_##rule(y), x * x, r);                                           \
        V a = VM_ABS_##K(x), b = VM_ABS_##K(y), m = VM_ABS_##K(r);                             \
        unsigned back = VM_LANES_##K(BACK_##rule(x, y, a, b, m, (T)(bound), (T)INFINITY));     \
        if (__builtin_expect(back != 0, 0)) {                                                  \
            T rs[sizeof(V) / sizeof(T)], xs[sizeof(V) / sizeof(T)], ys[sizeof(V) / sizeof(T)]; \
            memcpy(rs, &r, sizeof r);                                                          \
            memcpy(xs, &x, sizeof x);                                                          \
            memcpy(ys, &y, sizeof y);                                                          \
            redo2_##T(rs, xs, ys, back, wide);                                                 \
            memcpy(&r, rs, sizeof r);                                                          \
        }                                                                                      \
        return r;                                                                              \
    }

#define VM_MENDED(name, arity, acc, use, in_d, in_f, rule, bound_d, bound_f) \
    WRAP_##arity(double, VM_VD, D, VM_D, name, acc, name##l, rule, bound_d)  \
        WRAP_##arity(float, VM_VF, F, VM_F, name, acc, name, rule, bound_f)
#include "vmath/vmath_x86_64.def"

#define WRAPPED(name, lanes, acc) \
    { TEXT(FN(name, lanes, acc)), (void (*)(void))FN(name, lanes, acc), &INNER(name, lanes, acc) }
#define TABLE_(isa) wraps_##isa
#define TABLE(isa)  TABLE_(isa)
static const tr_vmwrap TABLE(VM_ISA)[] = {
#define VM_MENDED(name, arity, acc, use, in_d, in_f, rule, bound_d, bound_f) \
    WRAPPED(name, VM_D, acc), WRAPPED(name, VM_F, acc),
#include "vmath/vmath_x86_64.def"
};

#undef FN
#undef INNER
#undef WRAP_1
#undef WRAP_2
#undef WRAPPED
#undef TABLE_
#undef TABLE
#undef VM_PREFIX
#undef VM_ISA
#undef VM_TARGET
#undef VM_D
#undef VM_F
#undef VM_VD
#undef VM_VF
#undef VM_ID
#undef VM_IF
#undef VM_ABS_D
#undef VM_ABS_F
#undef VM_PICK_D
#undef VM_PICK_F
#undef VM_LANES_D
#undef VM_LANES_F

#endif
