/* Complex numbers as NumPy's elementwise functions have them: their order, sign and reciprocal. The
 * functions of mathematics are in npcmath.c. */
#include <math.h>

#include "lib/fam.h"

static tr_tv mul(tr_em *e, tr_tv a, tr_tv b) {
    return tr_em_op2(e, TR_OP_MUL, a, b);
}
static tr_tv isnan_of(tr_em *e, tr_tv x) {
    return tr_fam_math1(e, TR_MATH_ISNAN, x);
}

/* --- order: by real parts, then by imaginary ones; what has a NaN comes neither before nor after --- */

tr_tv tr_fam_cplx_compare(tr_em *e, tr_cmpop op, tr_tv a, tr_tv b) {
    if (op == TR_CMP_EQ || op == TR_CMP_NE)
        return tr_em_cmp(e, op, a, b);
    tr_tv ar = tr_em_re(e, a), ai = tr_em_im(e, a), br = tr_em_re(e, b), bi = tr_em_im(e, b);
    tr_cmpop strict = op == TR_CMP_LE ? TR_CMP_LT : op == TR_CMP_GE ? TR_CMP_GT : op;
    tr_tv plain = tr_fam_not(e, tr_fam_or(e, isnan_of(e, ai), isnan_of(e, bi)));
    tr_tv first = tr_fam_and(e, tr_em_cmp(e, strict, ar, br), plain);
    return tr_fam_or(e, first, tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, ar, br), tr_em_cmp(e, op, ai, bi)));
}

tr_tv tr_fam_cplx_isnan(tr_em *e, tr_tv x) {
    return tr_fam_or(e, isnan_of(e, tr_em_re(e, x)), isnan_of(e, tr_em_im(e, x)));
}

/* --- functions --- */

/* The direction of v: 0 for 0, along an axis for what has one infinite part, NaN where there is none. */
tr_tv tr_fam_cplx_sign(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v), r = tr_lib_emit(e, TR_OP_ABS, re.ty, 1, &v.v);
    tr_tv zero = tr_em_num(e, re.ty, 0.0), one = tr_em_num(e, re.ty, 1.0), nan = tr_em_num(e, re.ty, NAN);
    tr_tv q = tr_em_cplx(e, tr_em_op2(e, TR_OP_DIV, re, r), tr_em_op2(e, TR_OP_DIV, im, r));
    tr_tv wide = tr_fam_math1(e, TR_MATH_ISINF, re), tall = tr_fam_math1(e, TR_MATH_ISINF, im);
    tr_tv along = tr_em_cplx(e, tr_fam_math2(e, TR_MATH_COPYSIGN, one, re), zero),
          across = tr_em_cplx(e, zero, tr_fam_math2(e, TR_MATH_COPYSIGN, one, im));
    q = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, r, zero), tr_em_num(e, v.ty, 0.0), q);
    q = tr_em_select(e, wide, along, tr_em_select(e, tall, across, q));
    tr_tv none = tr_fam_or(e, tr_fam_and(e, wide, tall), isnan_of(e, r));
    return tr_em_select(e, none, tr_em_cplx(e, nan, nan), q);
}

/* 1 / v, scaled by the larger part. */
tr_tv tr_fam_cplx_reciprocal(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v), one = tr_em_num(e, re.ty, 1.0);
    tr_tv wide = tr_em_cmp(e, TR_CMP_GE, tr_em_op1(e, TR_OP_ABS, re), tr_em_op1(e, TR_OP_ABS, im));
    tr_tv big = tr_em_select(e, wide, re, im), small = tr_em_select(e, wide, im, re);
    tr_tv r = tr_em_op2(e, TR_OP_DIV, small, big);
    tr_tv d = tr_em_op2(e, TR_OP_ADD, big, mul(e, small, r));
    tr_tv p = tr_em_op2(e, TR_OP_DIV, one, d), q = tr_em_op2(e, TR_OP_DIV, r, d);
    return tr_em_cplx(e, tr_em_select(e, wide, p, q), tr_em_op1(e, TR_OP_NEG, tr_em_select(e, wide, q, p)));
}
