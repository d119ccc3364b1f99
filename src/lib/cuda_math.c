/* Small functions that kernels have beside Python's and NumPy's: bits, fused products, roots, choices. */
#include "lib/fam.h"
#include "lib/families.h"

/* aux: the tr_bitop. Types as Numba's: the operand's; brev an unsigned one of 32 or 64 bits. */
bool tr_lib_cu_bits(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!tr_fam_number(e, c, c->a[0], "bi"))
        return false;
    tr_tv x = tr_em_strong(e, c->a[0]);
    if (c->aux == TR_BITS_BREV)
        x = tr_em_conv(e, x, tr_fam_ty(e, tr_ty_size(x.ty) == 8 ? TR_TY_U64 : TR_TY_U32));
    else if (x.ty->kind == TR_TY_BOOL)
        x = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I32));
    *out = tr_fam_bits(e, (tr_bitop)c->aux, x);
    return true;
}

/* The place of the lowest bit that is set, from 1; 0 where none is: uint32. */
bool tr_lib_cu_ffs(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall ctz = *c;
    tr_tv n, x = tr_em_strong(e, c->a[0]);
    ctz.aux = TR_BITS_CTZ;
    if (!tr_lib_cu_bits(e, &ctz, &n))
        return false;
    if (x.ty->kind == TR_TY_BOOL)
        x = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I32));
    const tr_ty *u32 = tr_fam_ty(e, TR_TY_U32);
    tr_tv one = tr_em_conv(e, tr_em_i64(e, 1), u32), none = tr_em_conv(e, tr_em_i64(e, 0), u32);
    tr_tv zero = tr_em_cmp(e, TR_CMP_EQ, x, tr_em_conv(e, tr_em_i64(e, 0), x.ty));
    *out = tr_em_select(e, zero, none, tr_em_op2(e, TR_OP_ADD, tr_em_conv(e, n, u32), one));
    return true;
}

/* --- cuda.fp16: operands become float16, and so is the result --- */

static bool halves(tr_em *e, const tr_bcall *c, tr_tv *x) {
    for (uint32_t k = 0; k < c->n; k++) {
        if (!tr_fam_number(e, c, c->a[k], "bif"))
            return false;
        x[k] = tr_em_conv(e, c->a[k], tr_fam_ty(e, TR_TY_F16));
    }
    return true;
}

/* aux: the tr_op, of one or two numbers. */
bool tr_lib_cu_half_op(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2];
    if (!halves(e, c, x))
        return false;
    *out = c->n > 1 ? tr_em_op2(e, (tr_op)c->aux, x[0], x[1]) : tr_em_op1(e, (tr_op)c->aux, x[0]);
    return true;
}

/* aux: the tr_mathfn. */
bool tr_lib_cu_half_fn(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[3];
    if (!halves(e, c, x))
        return false;
    *out = tr_em_math(e, (tr_mathfn)c->aux, c->n, x);
    return true;
}

/* aux: the tr_cmpop. */
bool tr_lib_cu_half_cmp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2];
    if (!halves(e, c, x))
        return false;
    *out = tr_em_cmp(e, (tr_cmpop)c->aux, x[0], x[1]);
    return true;
}

/* aux: 0 1 / x, 1 1 / sqrt(x), 2 10 ** x; in float32, rounded at the end. */
bool tr_lib_cu_half_of_one(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv h;
    const tr_ty *f32 = tr_fam_ty(e, TR_TY_F32);
    if (!halves(e, c, &h))
        return false;
    tr_tv x = tr_em_conv(e, h, f32), r;
    if (c->aux == 2)
        r = tr_em_op2(e, TR_OP_POW, tr_em_num(e, f32, 10.0), x);
    else
        r = tr_em_op2(e, TR_OP_DIV, tr_em_num(e, f32, 1.0),
                      c->aux == 1 ? tr_fam_math1(e, TR_MATH_SQRT, x) : x);
    *out = tr_em_conv(e, r, h.ty);
    return true;
}

/* --- of other floats --- */

/* Floats as they are, what else as float64; all of one type: float32 where all are that or
 * float16, float16 where all are. */
static bool floats(tr_em *e, const tr_bcall *c, uint32_t n, tr_tv *x) {
    bool narrow = true, half = true;
    for (uint32_t k = 0; k < n; k++) {
        if (!tr_fam_number(e, c, c->a[k], "bif"))
            return false;
        const tr_ty *t = tr_lib_scalar(e, c->a[k].ty);
        narrow = narrow && (t->kind == TR_TY_F16 || t->kind == TR_TY_F32 || t->weak);
        half = half && (t->kind == TR_TY_F16 || t->weak);
    }
    for (uint32_t k = 0, strong = 0; k < n; k++) { /* literals alone are float64, as everywhere */
        strong += !tr_lib_scalar(e, c->a[k].ty)->weak;
        narrow = narrow && (k + 1 < n || strong);
        half = half && narrow;
    }
    for (uint32_t k = 0; k < n; k++)
        x[k] = tr_em_conv(e, c->a[k], tr_fam_ty(e, half ? TR_TY_F16 : narrow ? TR_TY_F32 : TR_TY_F64));
    return true;
}

/* aux: the tr_mathfn, of as many numbers as it takes: fma, cbrt. */
bool tr_lib_cu_math(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[3];
    uint32_t n = c->aux == TR_MATH_FMA ? 3 : 1;
    if (!floats(e, c, n, x))
        return false;
    *out = tr_em_math(e, (tr_mathfn)c->aux, n, x);
    return true;
}

/* selp(c, a, b): a where c is true, else b. */
bool tr_lib_cu_selp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv cond;
    if (!tr_em_truth(e, c->a[0], &cond))
        return false;
    for (uint32_t k = 1; k < 3; k++)
        if (!tr_fam_number(e, c, c->a[k], "bifc"))
            return false;
    const tr_ty *t =
        tr_ty_strong(e->types, tr_lib_common(e, tr_lib_scalar(e, c->a[1].ty), tr_lib_scalar(e, c->a[2].ty)));
    *out = tr_em_select(e, tr_em_strong(e, cond), tr_em_conv(e, c->a[1], t), tr_em_conv(e, c->a[2], t));
    return true;
}

bool tr_lib_cu_sleep(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!tr_fam_number(e, c, c->a[0], "bi"))
        return false;
    tr_tv ns = tr_em_conv(e, c->a[0], tr_fam_ty(e, TR_TY_U32));
    if (!e->dry)
        tr_emit1(&e->b, TR_OP_SLEEP, NULL, ns.v);
    *out = tr_em_none(e);
    return true;
}
