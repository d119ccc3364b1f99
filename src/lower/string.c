/* Strings: parts of them, and single characters; all else is the runtime's (rt/str.c). */
#include "lower/internal.h"

#include <assert.h>

/* One that is known: its characters are the module's, and nobody's to count. */
static void lower_known(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    const tr_obj *o = tr_lower_ty(w, in->args[0])->lit;
    tr_str s = tr_str_known(&m->ctx->arena, o->u.s.d);
    uint64_t n = (uint64_t)tr_str_len(&s);
    lt t = tr_str_width(&s) == 0 ? m->i8 : tr_str_width(&s) == 1 ? m->i16 : m->i32;
    lv *c = TR_NEW_N(&m->ctx->arena, lv, n + 1);
    for (uint64_t i = 0; i < n; i++)
        c[i] = LLVMConstInt(t, tr_str_at(&s, (int64_t)i), 0);
    uint64_t has = n ? n : 1; /* a section without a byte is nowhere (code/elf_x86_64.c) */
    c[n] = LLVMConstInt(t, 0, 0);
    lv g = LLVMAddGlobal(m->mod, LLVMArrayType2(t, has), "text");
    LLVMSetInitializer(g, LLVMConstArray2(t, c, has));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    tr_lower_set(w, v, 3, (lv[]){LLVMConstNull(m->ptr), g, l_int(m->i64, s.bits)});
}

static lv length_of(tr_lf *w, lv bits) {
    return LLVMBuildAShr(w->b, bits, l_int(w->m->i64, TR_STR_LENGTH), "");
}

static void lower_part(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    const lv *s = tr_lower_parts(w, in->args[0]);
    lv start = tr_lower_parts(w, in->args[1])[0], n = tr_lower_parts(w, in->args[2])[0];
    lv owner = s[0], data = s[1], bits = s[2], mask = l_int(m->i64, TR_STR_WIDTH);
    lv at = LLVMBuildShl(w->b, start, l_and(w->b, bits, mask), "");
    lv how = l_and(w->b, bits, l_int(m->i64, TR_STR_WIDTH | TR_STR_ASCII));
    lv size = LLVMBuildShl(w->b, n, l_int(m->i64, TR_STR_LENGTH), "");
    tr_lower_set(w, v, 3,
                 (lv[]){owner, LLVMBuildInBoundsGEP2(w->b, m->i8, data, &at, 1, ""),
                        LLVMBuildOr(w->b, size, how, "")});
}

/* A character as int64, by its width. */
static lv load_char(tr_lf *w, lv data, lv at, unsigned bytes) {
    tr_lm *m = w->m;
    lt t = LLVMIntTypeInContext(m->lc, 8 * bytes);
    lv x = LLVMBuildLoad2(w->b, t, LLVMBuildInBoundsGEP2(w->b, t, data, &at, 1, ""), "");
    LLVMSetAlignment(x, bytes);
    return LLVMBuildZExt(w->b, x, m->i64, "");
}

/* Nothing is read where there is none, so this may stand anywhere. */
static void lower_char(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    const lv *s = tr_lower_parts(w, in->args[0]);
    lv data = s[1], bits = s[2], i = tr_lower_parts(w, in->args[1])[0];
    lb from[4] = {LLVMGetInsertBlock(w->b)}, inside = tr_lower_block(w, "char"), wide = tr_lower_block(w, ""),
       done = tr_lower_block(w, "");
    lv x[4] = {l_int(m->i64, -1)};
    LLVMBuildCondBr(w->b, l_icmp(w->b, LLVMIntULT, i, length_of(w, bits)), inside, done);
    l_at_end(w->b, inside);
    lv width = l_and(w->b, bits, l_int(m->i64, TR_STR_WIDTH));
    lb byte = tr_lower_block(w, ""), two = tr_lower_block(w, ""), four = tr_lower_block(w, "");
    LLVMBuildCondBr(w->b, l_icmp(w->b, LLVMIntEQ, width, l_int(m->i64, 0)), byte, wide);
    l_at_end(w->b, wide);
    LLVMBuildCondBr(w->b, l_icmp(w->b, LLVMIntEQ, width, l_int(m->i64, 1)), two, four);
    lb blocks[4] = {NULL, byte, two, four};
    for (unsigned k = 1; k < 4; k++) {
        l_at_end(w->b, blocks[k]);
        x[k] = load_char(w, data, i, 1u << (k - 1));
        from[k] = blocks[k];
        LLVMBuildBr(w->b, done);
    }
    l_at_end(w->b, done);
    lv phi = LLVMBuildPhi(w->b, m->i64, "");
    LLVMAddIncoming(phi, x, from, 4);
    tr_lower_set1(w, v, phi);
}

bool tr_lower_string_op(tr_lf *w, tr_val v, const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_STRING: lower_known(w, v, in); break;
    case TR_OP_STRLEN: tr_lower_set1(w, v, length_of(w, tr_lower_parts(w, in->args[0])[2])); break;
    case TR_OP_SUBSTR: lower_part(w, v, in); break;
    case TR_OP_CHARAT: lower_char(w, v, in); break;
    default: return false;
    }
    return true;
}
