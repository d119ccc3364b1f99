/* print() on a device: the driver's vprintf.
 *
 * A line comes as calls of the runtime's PRINT rows, one for each piece, with END behind. The last of them in
 * a block makes one call of vprintf with all pieces since the last END, so a line stays whole where none of
 * its pieces depends on a test. The arguments are eight bytes each. Floats have as many digits as tell them
 * apart, not the fewest: C's formats know no better. */
#include <string.h>

#include "lower/internal.h"

typedef struct line {
    tr_lf *w;
    tr_sb format;
    TR_VEC(lv) args;
} line;

static bool is_print(const tr_ins *in) {
    return in->op == TR_OP_CALLRT && in->imm.rt->row >= TR_RT_PRINT_I64 && in->imm.rt->row <= TR_RT_PRINT_END;
}

static lv text(tr_lf *w, const char *s) {
    tr_lm *m = w->m;
    lv x = LLVMConstStringInContext(m->lc, s, (unsigned)strlen(s), 0);
    lv g = LLVMAddGlobalInAddressSpace(m->mod, LLVMTypeOf(x), "text", 1);
    LLVMSetInitializer(g, x);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    return LLVMConstAddrSpaceCast(g, m->ptr);
}

static void put(line *l, const char *format, lv x) {
    tr_sb_puts(&l->format, format);
    tr_vec_push(&l->w->m->ctx->arena, &l->args, x);
}

static void put_real(line *l, const char *format, lv x) {
    put(l, format, LLVMBuildFPExt(l->w->b, x, l->w->m->f64, ""));
}

static void add_piece(line *l, const tr_ins *in) {
    tr_lf *w = l->w;
    const lv *x = in->nargs ? tr_lower_parts(w, in->args[0]) : NULL;
    switch ((tr_rt)in->imm.rt->row) {
    case TR_RT_PRINT_I64: put(l, "%lld", x[0]); break;
    case TR_RT_PRINT_U64: put(l, "%llu", x[0]); break;
    case TR_RT_PRINT_F64: put(l, "%.17g", x[0]); break;
    case TR_RT_PRINT_F16: put_real(l, "%.5g", x[0]); break;
    case TR_RT_PRINT_F32: put_real(l, "%.9g", x[0]); break;
    case TR_RT_PRINT_BOOL:
        put(l, "%s", LLVMBuildSelect(w->b, x[0], text(w, "True"), text(w, "False"), ""));
        break;
    case TR_RT_PRINT_C64:
        put_real(l, "(%.9g", x[0]);
        put_real(l, "%+.9gj)", x[1]);
        break;
    case TR_RT_PRINT_C128:
        put(l, "(%.17g", x[0]);
        put(l, "%+.17gj)", x[1]);
        break;
    default:
        for (const char *s = in->imm.rt->text; s && *s; s++)
            tr_sb_puts(&l->format, *s == '%' ? "%%" : (char[2]){*s, 0});
    }
}

static void call(line *l) {
    tr_lf *w = l->w;
    tr_lm *m = w->m;
    lt type = LLVMFunctionType(m->i32, (lt[]){m->ptr, m->ptr}, 2, 0);
    bool fresh;
    lv fn = tr_lower_declare(m, "vprintf", type, &fresh);
    lv room = tr_lower_alloca(w, LLVMArrayType2(m->i64, l->args.n + 1u), "printed");
    LLVMSetAlignment(room, 8);
    for (uint32_t k = 0; k < l->args.n; k++) {
        lv o = l_int(m->i64, k), at = LLVMBuildInBoundsGEP2(w->b, m->i64, room, &o, 1, "");
        LLVMSetAlignment(LLVMBuildStore(w->b, l->args.d[k], at), 8);
    }
    LLVMBuildCall2(w->b, type, fn, (lv[]){text(w, l->format.d), room}, 2, "");
}

bool tr_lower_device_print(tr_lf *w, const tr_ins *in) {
    const tr_fn *f = w->body->f;
    line l = {.w = w};
    if (!tr_lower_is_flat(w->m) || !is_print(in))
        return false;
    for (tr_val v = in->next; v != TR_NOVAL && in->imm.rt->row != TR_RT_PRINT_END; v = tr_at(f, v)->next)
        if (is_print(tr_at(f, v)))
            return true; /* that one goes on with it */
    tr_sb_init(&l.format);
    for (tr_val v = tr_blk_at(f, in->blk)->first;; v = tr_at(f, v)->next) {
        const tr_ins *p = tr_at(f, v);
        if (is_print(p) && p->imm.rt->row == TR_RT_PRINT_END && p != in) {
            tr_sb_reset(&l.format);
            l.args.n = 0;
        } else if (is_print(p) && p->imm.rt->row != TR_RT_PRINT_END) {
            add_piece(&l, p);
        }
        if (p == in)
            break;
    }
    if (l.format.n)
        call(&l);
    tr_sb_fini(&l.format);
    return true;
}
