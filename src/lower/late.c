/* Late instances (opt/late.c): what a module leaves out, and how it calls it.
 *
 * The module keeps the instance's text and a cell (tr_late). A call asks the runtime for the address behind
 * the cell, which compiles the text when it is asked first, and calls it: i32 (frame, parts of the arguments,
 * slots for those of the result), C's convention. In its own module such an instance is the entry, with that
 * signature.
 * Cost: the text, and a call of the runtime before each call. */
#include "lower/internal.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static lt signature(tr_lm *m, const tr_inst *inst) {
    unsigned n = 1, k;
    for (uint32_t i = 0; i < inst->nargs; i++)
        n += tr_ty_nparts(inst->args[i]);
    lt *types = TR_NEW_N(&m->ctx->arena, lt, n + 1u);
    tr_part *parts = TR_NEW_N(&m->ctx->arena, tr_part, n);
    types[0] = m->ptr;
    k = 1;
    for (uint32_t i = 0; i < inst->nargs; i++) {
        tr_ty_parts(inst->args[i], parts);
        for (unsigned j = 0; j < tr_ty_nparts(inst->args[i]); j++)
            types[k++] = m->part[parts[j]];
    }
    types[k++] = m->ptr;
    return LLVMFunctionType(m->i32, types, k, 0);
}

static lv cell_of(tr_lm *m, uint32_t inst) {
    assert(m->prog->insts.d[inst].late || m->prog->insts.d[inst].far);
    tr_linst *l = &m->insts[inst];
    if (l->late)
        return l->late;
    tr_sb text;
    tr_sb_init(&text);
    tr_ir_print(&text, m->prog->insts.d[inst].fn);
    if (text.oom)
        tr_fail(m->ctx, TR_ERR_MEMORY, "not enough memory for the text of late code");
    m->failed |= text.oom;
    l->late =
        LLVMAddGlobal(m->mod, m->i8, tr_arena_printf(&m->ctx->arena, "tr_late_%u", (unsigned)m->late.n));
    LLVMSetAlignment(l->late, 8);
    tr_mlate late = {tr_arena_strdup(&m->ctx->arena, text.oom ? "" : text.d)};
    tr_vec_push(&m->ctx->arena, &m->late, late);
    tr_sb_fini(&text);
    return l->late;
}

/* Neither the frame nor the slots are kept; an array is not, unless it may come back as part of the
 * result. */
static void mark_pointers(tr_lm *m, lv call, unsigned n, bool arrays) {
    for (unsigned i = 0; i < n; i++)
        if (LLVMTypeOf(LLVMGetOperand(call, i)) == m->ptr && (i == 0 || i == n - 1 || arrays))
            LLVMAddCallSiteAttribute(call, i + 1, m->attr[TR_LA_NOCAPTURE]);
    LLVMAddCallSiteAttribute(call, L_ON_FUNCTION, m->attr[TR_LA_NOUNWIND]);
    LLVMAddCallSiteAttribute(call, L_ON_FUNCTION, m->attr[TR_LA_COLD]);
}

void tr_lower_late_call(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->op == TR_OP_CALL && w->m->prog->insts.d[in->imm.fn].late);
    tr_lm *m = w->m;
    LLVMBuilderRef b = w->b;
    const tr_inst *inst = &m->prog->insts.d[in->imm.fn];
    lt type = signature(m, inst);
    unsigned n = LLVMCountParamTypes(type), k = 0, nret = tr_ty_nparts(in->ty);
    lv cell = cell_of(m, in->imm.fn), entry, slots = LLVMConstNull(m->ptr);
    lv *args = TR_NEW_N(&m->ctx->arena, lv, n + 1u), *out = TR_NEW_N(&m->ctx->arena, lv, nret + 1u);
    tr_part *parts = TR_NEW_N(&m->ctx->arena, tr_part, nret + 1u);
    bool pointers = false;
    w->body->vals[v] = out;
    args[k++] = w->frame;
    for (uint32_t i = 0; i < in->nargs; i++) {
        unsigned np = tr_ty_nparts(tr_lower_ty(w, in->args[i]));
        if (k + np < n)
            memcpy(args + k, tr_lower_parts(w, in->args[i]), np * sizeof *args);
        k += np;
    }
    if (k + 1 != n) {
        tr_lower_error(w, v, "a call's arguments do not fit the function");
        return;
    }
    if (nret)
        slots = tr_lower_alloca(w, LLVMArrayType2(m->i64, nret), "late");
    args[k] = slots;
    tr_ty_parts(in->ty, parts);
    for (unsigned i = 0; i < nret; i++)
        pointers = pointers || parts[i] == TR_PART_PTR;
    tr_lower_rt(w, TR_RT_LATE, 1, &cell, NULL, &entry);
    lv code = LLVMBuildCall2(b, type, entry, args, n, "");
    mark_pointers(m, code, n, !pointers);
    lb go_on = tr_lower_unless(w, l_icmp(b, LLVMIntEQ, code, l_int(m->i32, 0)));
    tr_lower_rt(w, TR_RT_LATE_RAISED, 1, &cell, NULL, NULL);
    tr_lower_leave(w, code);
    l_at_end(b, go_on);
    lv within = l_int(m->i64, (long long)offsetof(tr_frame, within));
    LLVMBuildStore(b, LLVMConstNull(m->ptr), LLVMBuildInBoundsGEP2(b, m->i8, w->frame, &within, 1, ""));
    for (unsigned i = 0; i < nret; i++) {
        lv o = l_int(m->i64, i), at = LLVMBuildInBoundsGEP2(b, m->i64, slots, &o, 1, "");
        bool is_bool = parts[i] == TR_PART_I1;
        out[i] = LLVMBuildLoad2(b, is_bool ? m->i8 : m->part[parts[i]], at, "");
        tr_lower_tag(m, out[i], true);
        if (is_bool)
            out[i] = l_icmp(b, LLVMIntNE, out[i], l_int(m->i8, 0));
    }
}

lv tr_lower_late_entry(tr_lm *m, tr_lf *w, lv **args) {
    lt type = signature(m, &m->prog->insts.d[m->prog->root]);
    lv fn = LLVMAddFunction(m->mod, "tr_entry", type);
    unsigned n = LLVMCountParams(fn);
    lv *all = TR_NEW_N(&m->ctx->arena, lv, n);
    tr_lower_common_attrs(m, fn);
    tr_lower_param_attr(m, fn, 0, TR_LA_NOALIAS);
    tr_lower_param_attr(m, fn, n - 1, TR_LA_NOALIAS);
    LLVMGetParams(fn, all);
    w->ret_slots = all[n - 1];
    *args = all + 1;
    return fn;
}

/* --- kernels that are a device's code --- */

/* A part in the first bytes of a slot. */
static void put_slot(tr_lf *w, lv slots, unsigned k, lv x, tr_part part) {
    lv o = l_int(w->m->i64, k), at = LLVMBuildInBoundsGEP2(w->b, w->m->i64, slots, &o, 1, "");
    LLVMBuildStore(w->b, part == TR_PART_I1 ? LLVMBuildZExt(w->b, x, w->m->i8, "") : x, at);
}

void tr_lower_leave_with(tr_lf *w, lv code) {
    lb go_on = tr_lower_unless(w, l_icmp(w->b, LLVMIntEQ, code, l_int(w->m->i32, 0)));
    tr_lower_leave(w, code);
    l_at_end(w->b, go_on);
}

void tr_lower_far_call(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    unsigned n = 0, k = 0;
    for (uint32_t i = 0; i < in->nargs; i++)
        n += tr_ty_nparts(tr_lower_ty(w, in->args[i]));
    tr_part *parts = TR_NEW_N(&m->ctx->arena, tr_part, n + 1u);
    lv slots = tr_lower_alloca(w, LLVMArrayType2(m->i64, n), "launch"), code;
    assert(tr_ty_nparts(in->ty) == 0 && "a kernel returns nothing");
    for (uint32_t i = 0; i < in->nargs; i++) {
        const tr_ty *t = tr_lower_ty(w, in->args[i]);
        const lv *x = tr_lower_parts(w, in->args[i]);
        tr_ty_parts(t, parts);
        for (unsigned j = 0; j < tr_ty_nparts(t); j++)
            put_slot(w, slots, k++, x[j], parts[j]);
    }
    w->body->vals[v] = TR_NEW_N(&m->ctx->arena, lv, 1);
    lv args[3] = {cell_of(m, in->imm.fn), slots, l_int(m->i64, n)};
    tr_lower_rt(w, TR_RT_FAR_LAUNCH, 3, args, NULL, &code);
    tr_lower_leave_with(w, code);
}
