/* Ways out of a function (cold exits): failed checks, raises, and errors that
 * come back from calls.
 *
 * A failing path stores its payload in the frame and returns 1 + the number of its site (meta.c). Its
 * blocks stand at the end of the function behind branches marked unlikely. An error from a callee is
 * passed on: the call's own site number is added to frame->trace by one small cold function per
 * module, and the code goes up unchanged. */
#include "base/plant.h"
#include "lower/internal.h"

#include <assert.h>
#include <string.h>

enum { MAX_ASIDE = 2500 }; /* instructions of a function */

lb tr_lower_unless(tr_lf *w, lv ok) {
    assert(LLVMTypeOf(ok) == w->m->i1);
    lb go_on = tr_lower_block(w, ""), fail = tr_lower_block(w, "fail");
    lv br = LLVMBuildCondBr(w->b, ok, go_on, fail);
    LLVMSetMetadata(br, w->m->kind_prof, w->m->md_unlikely);
    l_at_end(w->b, fail);
    return go_on;
}

static void store_payload(tr_lf *w, unsigned slot, lv x) {
    assert(slot < TR_FRAME_PAYLOAD);
    size_t first = tr_lower_is_flat(w->m) ? offsetof(tr_dev_error, payload) : offsetof(tr_frame, payload);
    lv o = l_int(w->m->i64, (long long)(first + slot * sizeof(tr_slot)));
    lv at = LLVMBuildInBoundsGEP2(w->b, w->m->i8, w->frame, &o, 1, "");
    tr_lower_tag(w->m, LLVMBuildStore(w->b, x, at), true);
}

/* A scalar as it lies in a payload slot: integers widened to 64 bits, a bool as a byte. */
static lv payload_form(tr_lf *w, const tr_ty *t, lv x) {
    switch (tr_ty_class(t)) {
    case 'b': return LLVMBuildZExt(w->b, x, w->m->i8, "");
    case 'i': return LLVMBuildSExtOrBitCast(w->b, x, w->m->i64, "");
    case 'u': return LLVMBuildZExtOrBitCast(w->b, x, w->m->i64, "");
    default: return x;
    }
}

void tr_lower_raise(tr_lf *w, tr_val v, const tr_site *site, unsigned n, const tr_ty *const *ty,
                    lv *const *parts) {
    unsigned slot = 0;
    lv code = l_int(w->m->i32, 1 + (long long)tr_lower_site(w, v, site, n, ty));
    if (w->m->want->device.plain) { /* nobody has given a record */
        tr_lower_leave(w, code);
        return;
    }
    lb leave = tr_lower_is_flat(w->m) ? tr_lower_claim(w, code) : NULL;
    for (unsigned i = 0; i < n; i++) {
        if (ty[i]->kind == TR_TY_STRING ||
            ty[i]->kind == TR_TY_BYTES) /* the frame keeps it: who held it may give it back */
            tr_lower_owners(w, ty[i], parts[i], TR_COUNT_RETAIN);
        else if (!tr_ty_is_scalar(ty[i]))
            continue;
        bool wide = ty[i]->kind == TR_TY_C64;
        for (unsigned k = 0; k < tr_ty_nparts(ty[i]); k++, slot++) {
            if (slot >= TR_FRAME_PAYLOAD) {
                tr_lower_error(w, v, "an exception carries more than %d values", TR_FRAME_PAYLOAD);
                break;
            }
            lv x = tr_ty_is_scalar(ty[i]) ? payload_form(w, ty[i], parts[i][k]) : parts[i][k];
            store_payload(w, slot, wide ? LLVMBuildFPExt(w->b, x, w->m->f64, "") : x);
        }
    }
    if (leave) {
        LLVMBuildBr(w->b, leave);
        l_at_end(w->b, leave);
    }
    tr_lower_leave(w, code);
}

/* Raises with operands from `first` on as payload. */
static void raise_from(tr_lf *w, tr_val v, const tr_ins *in, uint32_t first) {
    assert(first <= in->nargs);
    const tr_ty *ty[16];
    lv *parts[16];
    unsigned n = 0;
    for (uint32_t i = first; i < in->nargs && n < 16; i++, n++) {
        ty[n] = tr_lower_ty(w, in->args[i]);
        parts[n] = tr_lower_parts(w, in->args[i]);
    }
    tr_lower_raise(w, v, in->imm.site, n, ty, parts);
}

/* --- indices --- */

/* The sum is asked for where it fits; told so, LLVM does not look for what says it, at every test of the size
 * that is passed before (400 indices: a third of their time). */
static lv wrapped(tr_lf *w, const tr_ins *in) {
    lv i = tr_lower_parts(w, in->args[0])[0], n = tr_lower_parts(w, in->args[1])[0];
    lv limit = l_int(w->m->i64, tr_plant(w->m->ctx, TR_PLANT_WRAP) ? -1 : 0);
    return l_select(w->b, l_icmp(w->b, LLVMIntSLT, i, limit), LLVMBuildNSWAdd(w->b, i, n, ""), i);
}

/* The check that directly follows the wrap v of an index and is done with it; TR_NOVAL when there is none. */
static tr_val check_of(const tr_fn *f, tr_val v) {
    const tr_ins *in = v == TR_NOVAL ? NULL : tr_at(f, v);
    if (!in || in->op != TR_OP_WRAP || in->next == TR_NOVAL)
        return TR_NOVAL;
    const tr_ins *c = tr_at(f, in->next);
    return c->op == TR_OP_CHECKIDX && c->args[0] == v && c->args[1] == in->args[1] ? in->next : TR_NOVAL;
}

/* Threads of a device go together: there a branch is for what is looked up only. So it is without a check,
 * where a branch would keep a loop from having vectors; outside of loops, where nothing is to be gained; and
 * in long functions, where LLVM's allocation of registers takes the square of the branches (400 indices on
 * one line of blocks: three times as long). */
static bool goes_aside(const tr_lf *w, tr_val v) {
    const tr_fn *f = w->body->f;
    return tr_lower_is_lookup(f, tr_at(f, v)->args[0]) ||
           (!tr_lower_is_flat(w->m) && f->ins.n <= MAX_ASIDE && tr_lower_in_loop(w, tr_at(f, v)->blk) &&
            check_of(f, v) != TR_NOVAL);
}

/* An index of which nothing is known is hardly ever negative. A select would make the address wait for a
 * comparison and an addition in every round; a branch is predicted. One test finds out that the index can be
 * used as it is; wrap and check stand aside. */
static void wrap_aside(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_val check = check_of(w->body->f, v);
    lv i = tr_lower_parts(w, in->args[0])[0], n = tr_lower_parts(w, in->args[1])[0];
    lb from = l_here(w->b);
    bool checked = check != TR_NOVAL;
    lb go_on = tr_lower_unless(w, checked ? l_icmp(w->b, LLVMIntULT, i, n)
                                          : l_icmp(w->b, LLVMIntSGE, i, l_int(w->m->i64, 0)));
    lv far = wrapped(w, in);
    if (checked) {
        tr_lower_set1(w, v, far);
        lb fine = tr_lower_unless(w, l_icmp(w->b, LLVMIntULT, far, n));
        raise_from(w, check, tr_at(w->body->f, check), 0);
        l_at_end(w->b, fine);
    }
    lb aside = l_here(w->b);
    LLVMBuildBr(w->b, go_on);
    l_at_end(w->b, go_on);
    lv phi = LLVMBuildPhi(w->b, w->m->i64, "");
    l_incoming(phi, i, from);
    l_incoming(phi, far, aside);
    tr_lower_set1(w, v, phi);
}

/* Equal sizes, as a rule; the message of a failure shows both. */
static lv broadcast_ok(tr_lf *w, tr_val v, const tr_ins *in) {
    LLVMBuilderRef b = w->b;
    lv x = tr_lower_parts(w, in->args[0])[0], y = tr_lower_parts(w, in->args[1])[0],
       one = l_int(w->m->i64, 1);
    lv x1 = l_icmp(b, LLVMIntEQ, x, one), ok = l_or(b, l_icmp(b, LLVMIntEQ, x, y), x1);
    if (in->op == TR_OP_BCAST)
        ok = l_or(b, ok, l_icmp(b, LLVMIntEQ, y, one));
    tr_lower_set1(w, v, in->op == TR_OP_BCAST ? l_select(b, x1, y, x) : y);
    return ok;
}

bool tr_lower_check_op(tr_lf *w, tr_val v, const tr_ins *in) {
    lv ok;
    switch ((tr_op)in->op) {
    case TR_OP_WRAP:
        if (goes_aside(w, v))
            wrap_aside(w, v, in);
        else
            tr_lower_set1(w, v, wrapped(w, in));
        return true;
    case TR_OP_RAISE: raise_from(w, v, in, 0); return true;
    case TR_OP_CHECKIDX:
        if (check_of(w->body->f, in->prev) != TR_NOVAL && goes_aside(w, in->prev))
            return true;
        /* One unsigned comparison: extents are not negative, so a negative index is too large. */
        ok = l_icmp(w->b, LLVMIntULT, tr_lower_parts(w, in->args[0])[0], tr_lower_parts(w, in->args[1])[0]);
        break;
    case TR_OP_BCAST:
    case TR_OP_BCASTTO: ok = broadcast_ok(w, v, in); break;
    case TR_OP_CHECK: ok = tr_lower_parts(w, in->args[0])[0]; break;
    default: return false;
    }
    if (LLVMIsAConstantInt(ok) && LLVMConstIntGetZExtValue(ok))
        return true;
    lb go_on = tr_lower_unless(w, ok);
    raise_from(w, v, in, in->op == TR_OP_CHECK ? 1 : 0);
    l_at_end(w->b, go_on);
    return true;
}

/* --- calls --- */

/* void py_trace(frame, site): appends to frame->trace while there is room. */
static lv trace_fn(tr_lm *m) {
    if (m->trace_fn)
        return m->trace_fn;
    lt params[2] = {m->ptr, m->i32};
    lv fn = m->trace_fn = LLVMAddFunction(m->mod, "trace", LLVMFunctionType(m->void_, params, 2, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    tr_lower_common_attrs(m, fn);
    tr_lower_fn_attr(m, fn, TR_LA_COLD);
    tr_lower_fn_attr(m, fn, TR_LA_NOINLINE);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(m->lc);
    lb entry = LLVMAppendBasicBlockInContext(m->lc, fn, "entry");
    lb room = LLVMAppendBasicBlockInContext(m->lc, fn, "room"),
       done = LLVMAppendBasicBlockInContext(m->lc, fn, "done");
    lv frame = LLVMGetParam(fn, 0), o = l_int(m->i64, offsetof(tr_frame, ntrace));
    l_at_end(b, entry);
    lv at = LLVMBuildInBoundsGEP2(b, m->i8, frame, &o, 1, ""), n = LLVMBuildLoad2(b, m->i32, at, "");
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntULT, n, l_int(m->i32, TR_FRAME_TRACE)), room, done);
    l_at_end(b, room);
    o = l_int(m->i64, offsetof(tr_frame, trace));
    lv list = LLVMBuildInBoundsGEP2(b, m->i8, frame, &o, 1, ""), k = LLVMBuildZExt(b, n, m->i64, "");
    LLVMBuildStore(b, LLVMGetParam(fn, 1), LLVMBuildInBoundsGEP2(b, m->i32, list, &k, 1, ""));
    LLVMBuildStore(b, l_add(b, n, l_int(m->i32, 1)), at);
    LLVMBuildBr(b, done);
    l_at_end(b, done);
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    return fn;
}

static void pass_on(tr_lf *w, tr_val v, lv code) {
    assert(LLVMTypeOf(code) == w->m->i32);
    /* A call site has no exception of its own; only its places count. */
    static const tr_site site = {TR_EXC_EXCEPTION, NULL, 0, NULL};
    lt params[2] = {w->m->ptr, w->m->i32}, type = LLVMFunctionType(w->m->void_, params, 2, 0);
    lv args[2] = {w->frame, l_int(w->m->i32, tr_lower_site(w, v, &site, 0, NULL))};
    LLVMBuildCall2(w->b, type, trace_fn(w->m), args, 2, "");
    tr_lower_leave(w, code);
}

void tr_lower_call(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->imm.fn < w->m->prog->insts.n);
    if (w->m->prog->insts.d[in->imm.fn].late) {
        tr_lower_late_call(w, v, in);
        return;
    }
    if (w->m->prog->insts.d[in->imm.fn].far) {
        tr_lower_far_call(w, v, in);
        return;
    }
    const tr_linst *callee = &w->m->insts[in->imm.fn];
    unsigned n = LLVMCountParams(callee->fn), k = 1, nret = tr_ty_nparts(in->ty);
    lv *args = TR_NEW_N(&w->m->ctx->arena, lv, n), *out = TR_NEW_N(&w->m->ctx->arena, lv, nret + 1);
    args[0] = w->frame;
    for (uint32_t i = 0; i < in->nargs; i++) {
        const lv *x = tr_lower_parts(w, in->args[i]);
        unsigned np = tr_ty_nparts(tr_lower_ty(w, in->args[i]));
        if (k + np > n)
            tr_lower_error(w, v, "a call's arguments do not fit the function");
        else
            memcpy(args + k, x, np * sizeof *x);
        k += np;
    }
    if (k != n) {
        tr_lower_error(w, v, "a call's arguments do not fit the function");
        w->body->vals[v] = out;
        return;
    }
    lv r = LLVMBuildCall2(w->b, callee->type, callee->fn, args, n, "");
    LLVMSetInstructionCallConv(r, LLVMGetFunctionCallConv(callee->fn));
    /* Inlined, its buffers would lie on the stack once a level instead of once. */
    if (w->m->insts[w->inst].recursive && callee->large && !callee->recursive)
        LLVMAddCallSiteAttribute(r, L_ON_FUNCTION, w->m->attr[TR_LA_NOINLINE]);
    lv code = nret ? LLVMBuildExtractValue(w->b, r, 0, "") : r;
    lb go_on = tr_lower_unless(w, l_icmp(w->b, LLVMIntEQ, code, l_int(w->m->i32, 0)));
    if (w->m->prog->insts.d[in->imm.fn].piece || tr_lower_is_flat(w->m))
        tr_lower_leave(w, code); /* no call as far as the user's code goes; or no room for a trace */
    else
        pass_on(w, v, code);
    l_at_end(w->b, go_on);
    for (unsigned i = 0; i < nret; i++)
        out[i] = LLVMBuildExtractValue(w->b, r, i + 1, "");
    w->body->vals[v] = out;
}
