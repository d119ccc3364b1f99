/* Numbers of a Generator, drawn by compiled code itself where its bit generator is PCG64, NumPy's own: a call for each costs as much as the number, and all that a loop has in vector
 * registers goes to the stack around it.
 *
 * The state stays in memory, as the object has it; LLVM keeps it in registers where nothing else in a loop may look at it. A call may be left in between two instructions, by Ctrl-C, so what is left
 * then is a state of some time before, or with one half of a later one: any 128 bits are a state of PCG64, of the same stream's increment, and nobody knows how far a call had come. What half a word that is left means
 * (integers) has no such excuse, and stays with the runtime.
 * Normal and exponential numbers lie inside of their layer 99 times of 100 (rt/gen.c), and the tables are asked for once; where they are not known they say that no number does. */
#include "lower/internal.h"
#include "base/bits.h"
#include "ir/rtinfo.h"

static lv at(tr_lf *w, lv p, unsigned bytes) {
    lv i = l_int(w->m->i64, bytes);
    return LLVMBuildInBoundsGEP2(w->b, LLVMInt8TypeInContext(w->m->lc), p, &i, 1, "");
}

/* What nobody ever changes. */
static lv constant(tr_lf *w, lt type, lv p) {
    lv x = LLVMBuildLoad2(w->b, type, p, "");
    unsigned kind = LLVMGetMDKindIDInContext(w->m->lc, "invariant.load", 14);
    LLVMSetMetadata(x, kind, LLVMMetadataAsValue(w->m->lc, LLVMMDNodeInContext2(w->m->lc, NULL, 0)));
    return x;
}

/* An access to a state: two words of 64 bits, which no array has. */
static lv state(tr_lf *w, lv access) {
    LLVMSetAlignment(access, 8);
    LLVMSetMetadata(access, w->m->kind_tbaa, w->m->md_random);
    return access;
}

/* 64 bits of PCG64 (XSL RR 128/64); g: the address of its bitgen_t. */
static lv pcg64(tr_lf *w, lv g) {
    LLVMBuilderRef b = w->b;
    lt wide = LLVMIntTypeInContext(w->m->lc, 128);
    const uint64_t words[2] = TR_PCG64_FACTOR;
    lv factor = LLVMConstIntOfArbitraryPrecision(wide, 2, words), by, high, low, x, inc,
       p = constant(w, w->m->ptr, constant(w, w->m->ptr, LLVMBuildIntToPtr(b, g, w->m->ptr, "")));
    x = state(w, LLVMBuildLoad2(b, wide, p, ""));
    inc = state(w, LLVMBuildLoad2(b, wide, at(w, p, 16), ""));
    x = LLVMBuildAdd(b, LLVMBuildMul(b, x, factor, ""), inc, "");
    state(w, LLVMBuildStore(b, x, p));
    high = LLVMBuildTrunc(b, LLVMBuildLShr(b, x, LLVMConstInt(wide, 64, 0), ""), w->m->i64, "");
    low = LLVMBuildTrunc(b, x, w->m->i64, "");
    x = LLVMBuildXor(b, high, low, "");
    by = LLVMBuildLShr(b, high, l_int(w->m->i64, 58), "");
    lv back = LLVMBuildAnd(b, LLVMBuildNeg(b, by, ""), l_int(w->m->i64, 63), "");
    return LLVMBuildOr(b, LLVMBuildLShr(b, x, by, ""), LLVMBuildShl(b, x, back, ""), "");
}

static lv of_53(tr_lf *w, lv x) {
    x = LLVMBuildSIToFP(w->b, LLVMBuildLShr(w->b, x, l_int(w->m->i64, 11), ""), w->m->f64, "");
    return LLVMBuildFMul(w->b, x, LLVMConstReal(w->m->f64, 0x1p-53), "");
}

static lv by_layers(tr_lf *w, lv g, bool normal) {
    LLVMBuilderRef b = w->b;
    const tr_lm *m = w->m;
    const tr_word *how = normal ? &tr_normal_word : &tr_exponential_word;
    lv what = l_int(m->i64, normal ? TR_RANDOM_GAUSS : TR_RANDOM_STANDARD_EXPONENTIAL), tables, word, k, x,
       in, r, far;
    tr_lower_rt(w, TR_RT_GEN_LAYERS, 1, &what, NULL, &tables);
    word = pcg64(w, g);
    k = LLVMBuildAnd(b, LLVMBuildLShr(b, word, l_int(m->i64, how->layer), ""), l_int(m->i64, 255), "");
    r = LLVMBuildAnd(b, LLVMBuildLShr(b, word, l_int(m->i64, how->rest), ""),
                     l_int(m->i64, (int64_t)tr_word_mask(how)), "");
    x = constant(w, m->f64, LLVMBuildInBoundsGEP2(b, m->f64, tables, &k, 1, ""));
    x = LLVMBuildFMul(b, LLVMBuildSIToFP(b, r, m->f64, ""), x, "");
    if (how->sign < TR_NO_SIGN) {
        lv sign =
            LLVMBuildShl(b, LLVMBuildLShr(b, word, l_int(m->i64, how->sign), ""), l_int(m->i64, 63), "");
        x = LLVMBuildXor(b, LLVMBuildBitCast(b, x, m->i64, ""), sign, "");
        x = LLVMBuildBitCast(b, x, m->f64, "");
    }
    in = constant(w, m->i64, LLVMBuildInBoundsGEP2(b, m->i64, at(w, tables, 256 * 8), &k, 1, ""));
    lb here = LLVMGetInsertBlock(b), out = tr_lower_block(w, "outside"), join = tr_lower_block(w, "drawn");
    lv br = LLVMBuildCondBr(b, l_icmp(b, LLVMIntULT, r, in), join, out);
    LLVMSetMetadata(br, m->kind_prof, m->md_unlikely);
    l_at_end(b, out);
    tr_lower_rt(w, TR_RT_GEN_OUTSIDE, 3, (lv[]){what, g, word}, NULL, &far);
    LLVMBuildBr(b, join);
    l_at_end(b, join);
    lv phi = LLVMBuildPhi(b, m->f64, "");
    LLVMAddIncoming(phi, (lv[]){x, far}, (lb[]){here, out}, 2);
    return phi;
}

bool tr_lower_draw(tr_lf *w, unsigned row, const lv *args, lv *out) {
    if (row != TR_RT_GEN_RANDOM && row != TR_RT_GEN_GAUSS && row != TR_RT_GEN_EXPO)
        return false;
    if (!LLVMIsAConstantInt(args[0]) || LLVMConstIntGetZExtValue(args[0]) != TR_GEN_PCG64)
        return false;
    out[0] =
        row == TR_RT_GEN_RANDOM ? of_53(w, pcg64(w, args[1])) : by_layers(w, args[1], row == TR_RT_GEN_GAUSS);
    return true;
}
