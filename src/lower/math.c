/* Named mathematical functions and calls into the runtime.
 *
 * A function with an LLVM intrinsic that x86-64 has an instruction for uses it. Of the others, those with a
 * row in vmath/ call its scalar twin, and say on the call which vector variants the machine has: LLVM's
 * vectoriser takes these, the twin serves the rest of the loop and every other place, with the same bits. The
 * remaining ones call libm by name. All are marked as what they are: without side effects (errno is not
 * Python's). The tests of a float's kind are comparisons, and never marked fast, so that isnan() means what
 * it says under fastmath too. */
#include "lower/internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/rtinfo.h"
#include "vmath/vmath.h"

/* --- the runtime --- */

enum { MAX_ARGS = 64 }; /* of a run-time function, in parts */

/* LLVM type of a letter of rt.def's signatures. */
static lt letter_type(const tr_lm *m, char c) {
    switch (c) {
    case 'i':
    case 'u': return m->i64;
    case 'I': return m->i32;
    case 'd': return m->f64;
    case 'f': return m->f32;
    case 'b': return m->i8;
    case 'v': return m->void_;
    default: return m->ptr; /* p F s x, and C as a result: where to put it */
    }
}

/* Parts of an operand that a letter stands for. */
static int slots_of(char letter) {
    return letter == 'S' ? 3 : letter == 'C' ? 2 : 1;
}

static bool row_frees(const tr_rtinfo *r) {
    return r == &tr_rt_info[TR_RT_FREE];
}

static lv declare_rt(tr_lm *m, const tr_rtinfo *r, lt *type) {
    lt params[MAX_ARGS + 2];
    unsigned n = 0;
    for (const char *c = strchr(r->sig, '(') + 1; *c != ')' && n < MAX_ARGS; c++) {
        if (*c == 'C')
            params[n++] = m->f64;
        if (*c == 'S') {
            params[n++] = m->ptr;
            params[n++] = m->ptr;
        }
        params[n++] = *c == 'C' ? m->f64 : *c == 'S' ? m->i64 : letter_type(m, *c);
    }
    bool complex_result = r->sig[0] == 'C', by_place = complex_result || r->sig[0] == 'S';
    if (by_place)
        params[n++] = m->ptr;
    *type = LLVMFunctionType(by_place ? m->void_ : letter_type(m, r->sig[0]), params, n, 0);
    bool fresh;
    lv fn = tr_lower_declare(m, r->symbol, *type, &fresh);
    if (!fresh)
        return fn;
    tr_lower_fn_attr(m, fn, TR_LA_NOUNWIND);
    tr_lower_fn_attr(m, fn, TR_LA_WILLRETURN);
    bool pointers = strpbrk(strchr(r->sig, '('), "pFsS");
    /* what calls back does anything; the state of a bit generator is changed by compiled code, too; items of
     * a list lie where its block says, and move, or go with it */
    if (r->effects == E_LOOK) /* what it reads besides, compiled code has only by calls that change it */
        tr_lower_fn_attr(m, fn, TR_LA_LOOK);
    bool items = r->effects == E_LOOK || (r->effects & E_GROW) || strpbrk(strchr(r->sig, '('), "lr") ||
                 (m->lists && row_frees(r));
    if (!strchr(r->sig, 'x') && !tr_rt_random(r) && !items)
        tr_lower_fn_attr(m, fn,
                         pointers || r->effects ? TR_LA_RUNTIME
                         : complex_result       ? TR_LA_ARGWRITE
                                                : TR_LA_PURE);
    if ((r->effects & E_ALLOC) && !by_place)
        LLVMAddAttributeAtIndex(fn, LLVMAttributeReturnIndex, m->attr[TR_LA_NOALIAS]);
    for (unsigned i = 0; i < n; i++) /* nothing in rt/ keeps a pointer but the frame's own list */
        if (params[i] == m->ptr)
            tr_lower_param_attr(m, fn, i, TR_LA_NOCAPTURE);
    return fn;
}

void tr_lower_rt(tr_lf *w, unsigned row, unsigned n, const lv *args, const char *text, lv *out) {
    assert(row < TR_RT__COUNT);
    tr_lm *m = w->m;
    const tr_rtinfo *r = &tr_rt_info[row];
    lt type;
    lv fn = declare_rt(m, r, &type), a[MAX_ARGS + 2];
    unsigned k = 0, used = 0;
    for (const char *c = strchr(r->sig, '(') + 1; *c != ')' && k < MAX_ARGS; c++) {
        if (*c == 'F') {
            a[k++] = w->frame;
        } else if (*c == 's') {
            a[k++] = LLVMBuildGlobalStringPtr(w->b, text ? text : "", "");
        } else {
            for (int i = 0; i < slots_of(*c) && used < n; i++)
                a[k++] = args[used++];
        }
    }
    if (r->sig[0] == 'C') {
        lt pair = LLVMArrayType2(m->f64, 2);
        if (!w->cplx_out)
            w->cplx_out = tr_lower_alloca(w, pair, "pair");
        a[k++] = w->cplx_out;
        LLVMBuildCall2(w->b, type, fn, a, k, "");
        for (unsigned i = 0; i < 2; i++) {
            lv o = l_int(m->i64, i), p = LLVMBuildInBoundsGEP2(w->b, m->f64, w->cplx_out, &o, 1, "");
            out[i] = LLVMBuildLoad2(w->b, m->f64, p, "");
        }
        return;
    }
    if (r->sig[0] == 'S') {
        if (!w->string_out)
            w->string_out = tr_lower_alloca(w, LLVMArrayType2(m->i64, sizeof(tr_str) / 8), "string");
        a[k++] = w->string_out;
        LLVMBuildCall2(w->b, type, fn, a, k, "");
        for (unsigned i = 0; i < 3; i++) {
            lv o = l_int(m->i64, i), p = LLVMBuildInBoundsGEP2(w->b, m->i64, w->string_out, &o, 1, "");
            out[i] = LLVMBuildLoad2(w->b, i < 2 ? m->ptr : m->i64, p, "");
        }
        return;
    }
    lv x = LLVMBuildCall2(w->b, type, fn, a, k, "");
    if (tr_rt_random(r) && !strpbrk(strchr(r->sig, '('), "pFs")) /* it touches that state, and no array */
        LLVMSetMetadata(x, m->kind_tbaa, m->md_random);
    if (r->sig[0] != 'v')
        out[0] = r->sig[0] == 'b' ? l_icmp(w->b, LLVMIntNE, x, l_int(m->i8, 0)) : x;
}

void tr_lower_callrt(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->op == TR_OP_CALLRT);
    const tr_rtinfo *r = &tr_rt_info[in->imm.rt->row];
    lv a[MAX_ARGS + 2], out[3] = {NULL, NULL, NULL};
    unsigned n = 0;
    for (uint32_t i = 0; i < in->nargs && n < MAX_ARGS; i++) {
        const tr_ty *t = tr_lower_ty(w, in->args[i]);
        const lv *x = tr_lower_parts(w, in->args[i]);
        for (unsigned j = 0; j < tr_ty_nparts(t) && n < MAX_ARGS; j++) {
            a[n] = x[j];
            if (LLVMTypeOf(a[n]) == w->m->i1)
                a[n] = LLVMBuildZExt(w->b, a[n], w->m->i8, "");
            else if (t->kind == TR_TY_C64)
                a[n] = LLVMBuildFPExt(w->b, a[n], w->m->f64, "");
            n++;
        }
    }
    unsigned want = 0, i = 0;
    bool fits = true;
    for (const char *c = strchr(r->sig, '(') + 1; *c != ')'; c++) {
        if (*c == 'F' || *c == 's')
            continue;
        unsigned first = want;
        for (want += (unsigned)slots_of(*c); i < want && i < n; i++)
            fits &= LLVMTypeOf(a[i]) == (*c == 'C'   ? w->m->f64
                                         : *c == 'S' ? (i - first < 2 ? w->m->ptr : w->m->i64)
                                                     : letter_type(w->m, *c));
    }
    if (!fits || want != n) {
        tr_lower_error(w, v, "operands of '%s' do not fit its signature %s", r->name, r->sig);
        lv undef = LLVMGetUndef(w->m->i64);
        tr_lower_set(w, v, 3, (lv[]){undef, undef, undef});
        return;
    }
    if (tr_lower_draw(w, in->imm.rt->row, a, out)) {
        tr_lower_set(w, v, 1, out);
        return;
    }
    tr_lower_rt(w, in->imm.rt->row, n, a, in->imm.rt->text, out);
    if (in->ty && in->ty->kind == TR_TY_C64)
        for (int k = 0; k < 2; k++)
            out[k] = LLVMBuildFPTrunc(w->b, out[k], w->m->f32, "");
    tr_lower_set(w, v, in->ty ? tr_ty_nparts(in->ty) : 0, out);
}

/* --- tests of a float's kind --- */

static lv is_kind(tr_lf *w, tr_mathfn fn, lv x) {
    assert(fn < TR_MATH__COUNT);
    lt t = LLVMTypeOf(x);
    lv inf = LLVMConstReal(t, (double)INFINITY);
    switch (fn) {
    case TR_MATH_ISNAN: return l_fcmp(w->b, LLVMRealUNO, x, x);
    case TR_MATH_ISINF: return l_fcmp(w->b, LLVMRealOEQ, tr_lower_intrinsic(w, "llvm.fabs", t, 1, &x), inf);
    case TR_MATH_ISFINITE:
        return l_fcmp(w->b, LLVMRealOLT, tr_lower_intrinsic(w, "llvm.fabs", t, 1, &x), inf);
    default: {
        lt bits = t == w->m->f32 ? w->m->i32 : w->m->i64;
        return l_icmp(w->b, LLVMIntSLT, LLVMBuildBitCast(w->b, x, bits, ""), l_int(bits, 0));
    }
    }
}

/* --- named functions --- */

/* Twins and variants may also run where the program would not call them: if-conversion needs that. libm's
 * stay where they are. */
static lv declare_math(tr_lm *m, const char *name, lt type, bool anywhere, bool *fresh) {
    lv f = tr_lower_declare(m, name, type, fresh);
    if (*fresh) {
        tr_lower_fn_attr(m, f, TR_LA_NOUNWIND);
        tr_lower_fn_attr(m, f, TR_LA_WILLRETURN);
        tr_lower_fn_attr(m, f, TR_LA_PURE);
        if (anywhere)
            tr_lower_fn_attr(m, f, TR_LA_SPECULATABLE);
    }
    return f;
}

/* The attribute that lists a function's vector variants, which it also declares. NULL: there are none. */
static LLVMAttributeRef variants(tr_lm *m, const tr_vmrow *r, const char *twin, lt t) {
    char text[512], name[TR_VM_NAME];
    size_t n = 0;
    for (unsigned i = 0; i < tr_vmath_nlevels; i++) {
        const tr_vmlevel *l = &tr_vmath_levels[i];
        if (!tr_vmath_has(l, m->want->features, m->want->math_bits))
            continue;
        tr_vmath_variant(r, l, name);
        lt v = LLVMVectorType(t, tr_vmath_lanes(r, l)), params[2] = {v, v};
        bool fresh;
        lv f = declare_math(m, name, LLVMFunctionType(v, params, r->arity, 0), true, &fresh);
        if (fresh)
            tr_vec_push(&m->ctx->arena, &m->variants, f);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s_ZGV_LLVM_N%u%s_%s(%s)", n ? "," : "",
                              tr_vmath_lanes(r, l), r->arity == 2 ? "vv" : "v", twin, name);
    }
    static const char key[] = "vector-function-abi-variant";
    return n ? LLVMCreateStringAttribute(m->lc, key, sizeof key - 1, text, (unsigned)n) : NULL;
}

/* Nothing calls a variant before the vectoriser runs; the list keeps passes over whole modules from removing
 * them. Round each call, live vectors go to the stack. LLVM would put these slots where the caller's stack
 * happens to lie, and a vector across two cache lines costs twice; "stackrealign" lets it align them. */
void tr_lower_end_math(tr_lm *m) {
    if (!m->variants.n)
        return;
    lt type = LLVMArrayType2(m->ptr, m->variants.n);
    lv list = LLVMAddGlobal(m->mod, type, "llvm.compiler.used");
    LLVMSetInitializer(list, LLVMConstArray2(m->ptr, m->variants.d, m->variants.n));
    LLVMSetLinkage(list, LLVMAppendingLinkage);
    LLVMSetSection(list, "llvm.metadata");
    for (lv f = LLVMGetFirstFunction(m->mod); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        LLVMAddTargetDependentFunctionAttr(f, "stackrealign", "");
        if (m->want->math_bits != m->want->vector_bits)
            tr_lower_vector_bits(f, m->want->math_bits);
    }
}

/* float32 by the device's own short instructions, where the operation may be approximate;
 * NULL: it may not, or there is none. */
lv tr_lower_approx(tr_lf *w, const char *name, unsigned n, const lv *x) {
    tr_lm *m = w->m;
    if (!tr_lower_is_flat(m) || LLVMTypeOf(x[0]) != m->f32 || !(w->fmf & LLVMFastMathApproxFunc))
        return NULL;
    name =
        tr_arena_printf(&m->ctx->arena, "llvm.nvvm.%s.approx%s.f", name, m->want->device.flush ? ".ftz" : "");
    return tr_lower_intrinsic(w, name, NULL, n, x);
}

/* Functions that libdevice has a short form of, for float32. */
static bool is_quick(const char *name) {
    static const char *const names[] = {"sin", "cos", "tan", "exp", "log", "log2", "log10", "pow"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* A function of float operands, by libdevice: its float32 twin has an f behind its name. */
static lv call_libdevice(tr_lf *w, const tr_mathinfo *info, const lv *x, lt type) {
    tr_lm *m = w->m;
    bool f32 = LLVMTypeOf(x[0]) == m->f32, fresh;
    bool quick = f32 && w->fmf & LLVMFastMathApproxFunc && is_quick(info->name);
    const char *name = quick ? tr_arena_printf(&m->ctx->arena, "__nv_fast_%sf", info->name)
                             : tr_arena_printf(&m->ctx->arena, "%s%s", info->dev, f32 ? "f" : "");
    lv f = declare_math(m, name, type, false, &fresh);
    return tr_lower_fast(w, LLVMBuildCall2(w->b, type, f, (lv *)x, info->arity, ""));
}

/* A function of float operands, by whom the target says. On the host libm has it where vector math has no
 * such row. */
static lv call_math(tr_lf *w, const tr_mathinfo *info, const lv *x) {
    tr_lm *m = w->m;
    const char *name = info->name;
    unsigned arity = info->arity;
    assert(arity >= 1 && arity <= 2);
    lt t = LLVMTypeOf(x[0]), params[3] = {t, t, t}, type = LLVMFunctionType(t, params, arity, 0);
    const char *libm = t == m->f32 ? info->f32 : info->f64;
    if (m->want->target->math == TR_MATH_LIBDEVICE)
        return call_libdevice(w, info, x, type);
    char family = tr_vmath_family(m->want->features), twin[TR_VM_NAME];
    const tr_vmrow *r = tr_vmath_find(name, t == m->f32, w->fmf & LLVMFastMathApproxFunc, family);
    if (r)
        tr_vmath_twin(r, family, twin);
    bool fresh;
    lv f = declare_math(m, r ? twin : libm, type, r != NULL, &fresh);
    lv call = LLVMBuildCall2(w->b, type, f, (lv *)x, arity, "");
    LLVMAttributeRef a = r && m->ctx->opts.opt_level > 0 ? variants(m, r, twin, t) : NULL;
    if (a) {
        LLVMAddCallSiteAttribute(call, L_ON_FUNCTION, a);
        w->nmath++;
    }
    return tr_lower_fast(w, call);
}

/* In doubles nothing over- or underflows, and the one rounding at the end decides: 0.5 ULP. An infinity wins
 * over nan. */
static lv hypot_f32(tr_lf *w, const lv *x) {
    assert(LLVMTypeOf(x[0]) == w->m->f32);
    tr_lm *m = w->m;
    lv sum = NULL, wild = NULL;
    for (int i = 0; i < 2; i++) {
        lv d = LLVMBuildFPExt(w->b, x[i], m->f64, ""), sq = LLVMBuildFMul(w->b, d, d, "");
        lv inf = is_kind(w, TR_MATH_ISINF, x[i]);
        sum = sum ? LLVMBuildFAdd(w->b, sum, sq, "") : sq;
        wild = wild ? l_or(w->b, wild, inf) : inf;
    }
    lv r = LLVMBuildFPTrunc(w->b, tr_lower_intrinsic(w, "llvm.sqrt", m->f64, 1, &sum), m->f32, "");
    return l_select(w->b, wild, LLVMConstReal(m->f32, (double)INFINITY), r);
}

/* x - y where that is positive, else +0; nan stays. */
static lv fdim_of(tr_lf *w, const lv *x) {
    assert(LLVMTypeOf(x[0]) == LLVMTypeOf(x[1]));
    lv no = l_fcmp(w->b, LLVMRealOLE, x[0], x[1]);
    return l_select(w->b, no, LLVMConstReal(LLVMTypeOf(x[0]), 0.0), LLVMBuildFSub(w->b, x[0], x[1], ""));
}

/* Numbers of one sign are in the order of their bits. */
static lv nextafter_f16(tr_lf *w, const lv *x) {
    assert(LLVMTypeOf(x[0]) == w->m->f16);
    LLVMBuilderRef b = w->b;
    lv a = tr_lower_widened(w, x[0]), to = tr_lower_widened(w, x[1]), zero = LLVMConstReal(w->m->f32, 0.0);
    lv bits = LLVMBuildBitCast(b, x[0], w->m->i16, "");
    lv away = LLVMBuildXor(b, l_fcmp(b, LLVMRealOLT, a, to), l_fcmp(b, LLVMRealOLT, a, zero), "");
    lv next = l_add(b, bits, l_select(b, away, l_int(w->m->i16, 1), l_int(w->m->i16, -1)));
    next = LLVMBuildBitCast(b, next, w->m->f16, "");
    lv least =
        tr_lower_intrinsic(w, "llvm.copysign", w->m->f16, 2, (lv[]){LLVMConstReal(w->m->f16, 0x1p-24), x[1]});
    next = l_select(b, l_fcmp(b, LLVMRealOEQ, a, zero), least, next);
    next = l_select(b, l_fcmp(b, LLVMRealOEQ, a, to), x[1], next);
    return l_select(b, l_fcmp(b, LLVMRealUNO, a, to), LLVMBuildFAdd(b, x[0], x[1], ""), next);
}

/* A multiple of c, which is 1, 2, 4..., differs from x only in that x has lower bits; so quotient, product
 * and difference are all exact. A quotient that is rounded, being denormal, is less than 1 all the same. */
lv tr_lower_low_part(tr_lf *w, const lv *x, lv *whole) {
    enum { HIGHEST = 64 };
    lt t = LLVMTypeOf(x[0]);
    LLVMBool inexact;
    int bits;
    double c = LLVMIsAConstantFP(x[1]) ? LLVMConstRealGetDouble(x[1], &inexact) : 0;
    if (!(c >= 1) || frexp(c, &bits) != 0.5 || bits > HIGHEST || t == w->m->f16 ||
        w->m->want->target->math != TR_MATH_HOST || !strstr(w->m->want->features, "+sse4.1"))
        return NULL;
    lv q = LLVMBuildFMul(w->b, x[0], LLVMConstReal(t, 1 / c), "");
    q = tr_lower_intrinsic(w, "llvm.trunc", t, 1, &q);
    if (whole)
        *whole = q;
    return LLVMBuildFSub(w->b, x[0], LLVMBuildFMul(w->b, q, x[1], ""), "");
}

lv tr_lower_real_math(tr_lf *w, tr_mathfn fn, const lv *x) {
    assert(fn < TR_MATH__COUNT);
    const tr_mathinfo *info = &tr_math_info[fn];
    lt t = LLVMTypeOf(x[0]);
    if (t == w->m->f16 && fn == TR_MATH_FMA &&
        !tr_lower_is_flat(w->m)) { /* rounded twice, but first to so much that it does not matter */
        lv d[3];
        for (unsigned i = 0; i < 3; i++)
            d[i] = LLVMBuildFPExt(w->b, x[i], w->m->f64, "");
        return LLVMBuildFPTrunc(w->b, LLVMBuildFAdd(w->b, LLVMBuildFMul(w->b, d[0], d[1], ""), d[2], ""), t,
                                "");
    }
    if (t == w->m->f16 && fn == TR_MATH_NEXTAFTER)
        return nextafter_f16(w, x);
    if (t == w->m->f16 && fn != TR_MATH_FMA) {
        lv wide[3] = {NULL, NULL, NULL};
        for (unsigned i = 0; i < info->arity && i < 3; i++)
            wide[i] = tr_lower_widened(w, x[i]);
        lv r = tr_lower_real_math(w, fn, wide);
        return info->result == 'b' ? r : LLVMBuildFPTrunc(w->b, r, t, "");
    }
    if (info->result == 'b')
        return is_kind(w, fn, x[0]);
    lv quick = fn == TR_MATH_SQRT ? tr_lower_approx(w, "sqrt", 1, x) : NULL;
    if (quick)
        return quick;
    if (info->intrinsic)
        return tr_lower_fast(w, tr_lower_intrinsic(w, info->intrinsic, t, info->arity, x));
    if (fn == TR_MATH_FDIM)
        return fdim_of(w, x);
    lv low = fn == TR_MATH_FMOD ? tr_lower_low_part(w, x, NULL) : NULL;
    if (low)
        return tr_lower_intrinsic(w, "llvm.copysign", t, 2, (lv[]){low, x[0]});
    if (fn == TR_MATH_HYPOT && t == w->m->f32 && w->m->want->target->math == TR_MATH_HOST &&
        !tr_vmath_find(info->name, true, false, tr_vmath_family(w->m->want->features)))
        return hypot_f32(w, x);
    return call_math(w, info, x);
}

static lv any_power(tr_lf *w, void *x) {
    static const tr_mathinfo pow = {"pow", 2, NULL, "pow", "powf", "__nv_pow", 's'};
    return call_math(w, &pow, x);
}

/* by: the exponent, which may have been made of an integer. */
static lv float_pow(tr_lf *w, lv *x, const tr_ins *by) {
    LLVMBool inexact;
    if (LLVMIsAConstantFP(x[1])) {
        lv r = tr_lower_power(w, x[0], LLVMConstRealGetDouble(x[1], &inexact));
        return r ? r : any_power(w, x);
    }
    const tr_ty *from = by->op == TR_OP_CONV ? tr_lower_ty(w, by->args[0]) : NULL;
    if (!from || !tr_ty_is_int(from) || w->m->want->target->math != TR_MATH_HOST)
        return any_power(w, x);
    return tr_lower_whole_power(w, x[0], tr_lower_parts(w, by->args[0])[0], tr_ty_class(from) == 'i',
                                any_power, x);
}

void tr_lower_math(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_ty *t = tr_lower_ty(w, in->args[0]);
    tr_mathfn fn = (tr_mathfn)in->sub;
    lv x[3] = {NULL, NULL, NULL};
    for (uint32_t i = 0; i < in->nargs && i < 3; i++)
        x[i] = tr_lower_parts(w, in->args[i])[0];
    if (!tr_ty_is_float(t)) {
        tr_lower_error(w, v, "'%s' cannot be compiled for operands of type %s", tr_math_info[fn].name,
                       tr_ty_user(&w->m->ctx->arena, t));
        tr_lower_set1(w, v, LLVMGetUndef(w->m->f64));
        return;
    }
    if (in->op != TR_OP_POW) {
        tr_lower_set1(w, v, tr_lower_real_math(w, fn, x));
        return;
    }
    lv r = float_pow(w, (lv[]){tr_lower_widened(w, x[0]), tr_lower_widened(w, x[1])},
                     tr_at(w->body->f, in->args[1]));
    tr_lower_set1(w, v, t->kind == TR_TY_F16 ? LLVMBuildFPTrunc(w->b, r, w->m->f16, "") : r);
}
