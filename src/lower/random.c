/* Numbers drawn by compiled code itself: those of a Generator where its bit generator is PCG64, NumPy's own,
 * and of the thread's two Mersenne Twisters plain ones and whole ones in a range. A call for each costs as
 * much as the number, and all that a loop has in vector registers goes to the stack around it.
 *
 * A twister's numbers are made by the runtime, 624 at once, so here they are only taken: where none are left,
 * or the ones looked at are too large, the runtime's function draws. Where the twister is stays the same for
 * as long as a function of LLVM's runs, since each range of a region, which has its own, is a call of one.
 *
 * The state stays in memory, as the object has it; LLVM keeps it in registers where nothing else in a loop
 * may look at it. A call may be left in between two instructions, by Ctrl-C, so what is left then is a state
 * of some time before, or with one half of a later one: any 128 bits are a state of PCG64, of the same
 * stream's increment, and nobody knows how far a call had come. What half a word that is left means
 * (integers) has no such excuse, and stays with the runtime.
 * Normal and exponential numbers lie inside of their layer 99 times of 100 (rt/gen.c), and the tables are
 * asked for once; where they are not known they say that no number does. */
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

/* --- the thread's Mersenne Twisters --- */

/* The numbers that are left of one: `next` of them, found at `at`; `have` says whether
 * there are so many as asked for. */
typedef struct words {
    lv p, at, have;
} words;

static words left(tr_lf *w, bool python, unsigned count) {
    words s;
    tr_lower_rt(w, python ? TR_RT_PY_WORDS : TR_RT_NP_WORDS, 0, NULL, NULL, &s.p);
    s.at = LLVMBuildLoad2(w->b, w->m->i32, s.p, "");
    LLVMSetMetadata(s.at, w->m->kind_tbaa, w->m->md_random);
    s.have = l_icmp(w->b, LLVMIntULE, s.at, l_int(w->m->i32, TR_MT_WORDS - count));
    return s;
}

static lv word(tr_lf *w, const words *s, unsigned k) {
    lv i = LLVMBuildZExt(w->b, s->at, w->m->i64, "");
    lv p = LLVMBuildInBoundsGEP2(w->b, w->m->i32, at(w, s->p, TR_MT_OUT + 4 * k), &i, 1, "");
    lv x = LLVMBuildLoad2(w->b, w->m->i32, p, "");
    LLVMSetMetadata(x, w->m->kind_tbaa, w->m->md_random);
    return x;
}

static void take(tr_lf *w, const words *s, lv count) {
    lv store = LLVMBuildStore(w->b, LLVMBuildAdd(w->b, s->at, count, ""), s->p);
    LLVMSetMetadata(store, w->m->kind_tbaa, w->m->md_random);
}

static void seldom_to(tr_lf *w, lv usual, lb to, lb seldom) {
    lv br = LLVMBuildCondBr(w->b, usual, to, seldom);
    LLVMSetMetadata(br, w->m->kind_prof, w->m->md_unlikely);
}

/* What came out at `here`, or what the runtime's function of that row gives at `slow`. */
static lv or_slowly(tr_lf *w, lv x, lb here, lb slow, lb join, unsigned row, unsigned n, const lv *args) {
    lv other;
    l_at_end(w->b, slow);
    tr_lower_rt(w, row, n, args, NULL, &other);
    LLVMBuildBr(w->b, join);
    l_at_end(w->b, join);
    lv phi = LLVMBuildPhi(w->b, LLVMTypeOf(x), "");
    LLVMAddIncoming(phi, (lv[]){x, other}, (lb[]){here, slow}, 2);
    return phi;
}

/* Of [0, 1), by 53 bits of two words. */
static lv twister(tr_lf *w, bool python) {
    const tr_lm *m = w->m;
    LLVMBuilderRef b = w->b;
    lb quick = tr_lower_block(w, "words"), slow = tr_lower_block(w, "refill"),
       join = tr_lower_block(w, "drawn");
    words s = left(w, python, 2);
    seldom_to(w, s.have, quick, slow);
    l_at_end(b, quick);
    lv high = LLVMBuildZExt(b, LLVMBuildLShr(b, word(w, &s, 0), l_int(m->i32, 5), ""), m->i64, ""),
       low = LLVMBuildZExt(b, LLVMBuildLShr(b, word(w, &s, 1), l_int(m->i32, 6), ""), m->i64, "");
    take(w, &s, l_int(m->i32, 2));
    lv x = LLVMBuildOr(b, LLVMBuildShl(b, high, l_int(m->i64, 26), ""), low, "");
    x = LLVMBuildFMul(b, LLVMBuildSIToFP(b, x, m->f64, ""), LLVMConstReal(m->f64, 0x1p-53), "");
    LLVMBuildBr(b, join);
    return or_slowly(w, x, quick, slow, join, python ? TR_RT_PY_RANDOM : TR_RT_NP_RANDOM, 0, NULL);
}

/* Whether words of so many bits are above `top` at most one time in eight. */
static bool mostly_fits(lv count, bool python) {
    if (!LLVMIsAConstantInt(count))
        return false;
    uint64_t n = LLVMConstIntGetZExtValue(count), top = python ? n - 1 : n, span = 1;
    while (span < n)
        span = 2 * span + 1;
    return span - top <= span / 8;
}

/* A whole number, up to `count` in NumPy's way, which masks words, below it in Python's, which shifts them,
 * so that its powers of two need a bit more. Words that are too large are passed over. Where that is often,
 * the processor would guess it wrong too often: the next word is looked at as well, without a jump. */
static lv in_range(tr_lf *w, bool python, lv count) {
    const tr_lm *m = w->m;
    LLVMBuilderRef b = w->b;
    lb fits = tr_lower_block(w, "range"), quick = tr_lower_block(w, "words"),
       slow = tr_lower_block(w, "again"), join = tr_lower_block(w, "drawn");
    bool one = mostly_fits(count, python);
    lv small = LLVMBuildSub(b, count, l_int(m->i64, 1), "");
    seldom_to(w, l_icmp(b, LLVMIntULT, small, l_int(m->i64, UINT32_MAX)), fits, slow);
    l_at_end(b, fits);
    lv n = LLVMBuildTrunc(b, count, m->i32, ""), top = python ? LLVMBuildTrunc(b, small, m->i32, "") : n;
    lv none =
        tr_lower_intrinsic(w, "llvm.ctlz", m->i32, 2, (lv[]){n, l_int(LLVMInt1TypeInContext(m->lc), 1)});
    lv mask = LLVMBuildLShr(b, l_int(m->i32, -1), none, "");
    words s = left(w, python, one ? 1 : 2);
    seldom_to(w, s.have, quick, slow);
    l_at_end(b, quick);
    lv x[2];
    for (unsigned k = 0; k < (one ? 1 : 2); k++)
        x[k] =
            python ? LLVMBuildLShr(b, word(w, &s, k), none, "") : LLVMBuildAnd(b, word(w, &s, k), mask, "");
    if (one) {
        take(w, &s, l_int(m->i32, 1));
    } else {
        lv more = l_icmp(b, LLVMIntUGT, x[0], top);
        take(w, &s, LLVMBuildAdd(b, LLVMBuildZExt(b, more, m->i32, ""), l_int(m->i32, 1), ""));
        x[0] = LLVMBuildSelect(b, more, x[1], x[0], "");
        unsigned kind = LLVMGetMDKindIDInContext(m->lc, "unpredictable", 13);
        if (!LLVMIsConstant(x[0]))
            LLVMSetMetadata(x[0], kind, LLVMMetadataAsValue(m->lc, LLVMMDNodeInContext2(m->lc, NULL, 0)));
    }
    lv wide = LLVMBuildZExt(b, x[0], m->i64, "");
    seldom_to(w, l_icmp(b, LLVMIntULE, x[0], top), join, slow);
    /* two ways lead to the runtime's function, and a third where the range is too wide */
    return or_slowly(w, wide, quick, slow, join, python ? TR_RT_PY_BELOW : TR_RT_NP_UPTO, 1, &count);
}

/* Outside of loops a call costs less than the time to compile what saves it. */
static bool goes_round(tr_lf *w) {
    const tr_fn *f = w->body->f;
    if (w->body->outer)
        return true;
    uint8_t *seen = TR_NEW_N(&w->m->ctx->arena, uint8_t, f->blks.n + 1u);
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        const tr_ins *t = tr_term(f, f->rpo.d[i]);
        seen[f->rpo.d[i]] = 1;
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (seen[t->imm.succ[s].to]) /* back, in reverse postorder */
                return true;
    }
    return false;
}

/* Is it a number that code here can draw? Of a Generator where its bit generator is PCG64. */
static bool is_known(unsigned row, const lv *args) {
    switch (row) {
    case TR_RT_NP_RANDOM:
    case TR_RT_PY_RANDOM:
    case TR_RT_NP_UPTO:
    case TR_RT_PY_BELOW: return true;
    case TR_RT_GEN_RANDOM:
    case TR_RT_GEN_GAUSS:
    case TR_RT_GEN_EXPO:
        return LLVMIsAConstantInt(args[0]) && LLVMConstIntGetZExtValue(args[0]) == TR_GEN_PCG64;
    default: return false;
    }
}

bool tr_lower_draw(tr_lf *w, unsigned row, const lv *args, lv *out) {
    if (!is_known(row, args) || !goes_round(w))
        return false;
    switch (row) {
    case TR_RT_NP_RANDOM:
    case TR_RT_PY_RANDOM: out[0] = twister(w, row == TR_RT_PY_RANDOM); break;
    case TR_RT_NP_UPTO:
    case TR_RT_PY_BELOW: out[0] = in_range(w, row == TR_RT_PY_BELOW, args[0]); break;
    case TR_RT_GEN_RANDOM: out[0] = of_53(w, pcg64(w, args[1])); break;
    default: out[0] = by_layers(w, args[1], row == TR_RT_GEN_GAUSS);
    }
    return true;
}
