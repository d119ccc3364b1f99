/* Functions for a device: called by a launch or by each other, with no frame.
 *
 * A kernel is void (tr_dev_error *, parts of the arguments ...), of LLVM's convention for kernels; an
 * array is its data, shape and strides, each a parameter of its own: so LLVM knows that a kernel's
 * pointers are to global memory (target/params.c lists what it takes). Any other function is {i32 code,
 * parts...}(tr_dev_error *, parts...), where an array has an owner too, which is NULL and never looked at.
 * All are "convergent": what must meet at a barrier is not taken apart. A kernel has its own name, other
 * functions are "py_NAME", with $ and two digits for what PTX does not take. Exceptions: the first of a
 * launch is kept (rt/layout.h); a function that raised returns its code, and so up to the kernel, which ends.
 * Calls that are passed on the way are not recorded. */
#include <ctype.h>
#include <string.h>

#include "lower/internal.h"

enum { PTX_KERNEL = 71 }; /* LLVM's number of the calling convention */

/* --- names and signatures --- */

/* What means something to the PTX assembler, or to who links: a kernel of such a name is "py_NAME" too. */
static bool is_taken(const char *name) {
    static const char *const words[] = {"_",       "WARP_SZ", "malloc",      "free",
                                        "vprintf", "printf",  "__assertfail"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(name, words[i]))
            return true;
    return !strncmp(name, "__nv", 4) || !strncmp(name, "py_", 3);
}

static const char *name_for(tr_lm *m, const tr_fn *f) {
    tr_sb b;
    tr_sb_init(&b);
    if (f->kind != TR_FN_KERNEL || is_taken(f->name))
        tr_sb_puts(&b, "py_");
    for (const char *s = f->name; *s; s++)
        if (isalnum((unsigned char)*s) || *s == '_')
            tr_sb_putc(&b, *s);
        else
            tr_sb_printf(&b, "$%02x", (unsigned char)*s);
    const char *out = tr_arena_strndup(&m->ctx->arena, b.d, b.n);
    tr_sb_fini(&b);
    return out;
}

static unsigned add_types(tr_lm *m, const tr_ty *t, lt *out) {
    unsigned n = tr_ty_nparts(t);
    tr_part *parts = TR_NEW_N(&m->ctx->arena, tr_part, n + 1u);
    tr_ty_parts(t, parts);
    for (unsigned i = 0; i < n; i++)
        out[i] = m->part[parts[i]];
    return n;
}

static lt kernel_type(tr_lm *m, const tr_fn *f) {
    const tr_blk *entry = tr_blk_at(f, 0);
    const tr_ty **args = TR_NEW_N(&m->ctx->arena, const tr_ty *, entry->params.n + 1u);
    for (uint32_t k = 0; k < entry->params.n; k++)
        args[k] = tr_at(f, entry->params.d[k])->ty;
    tr_params p;
    tr_target_params(&m->ctx->arena, entry->params.n, args, &p);
    lt *types = TR_NEW_N(&m->ctx->arena, lt, p.n);
    for (uint32_t k = 0; k < p.n; k++)
        types[k] = m->part[p.d[k].type];
    return LLVMFunctionType(m->void_, types, p.n, 0);
}

static lt device_type(tr_lm *m, const tr_fn *f) {
    const tr_blk *entry = tr_blk_at(f, 0);
    unsigned n = 1, np = 1;
    for (uint32_t k = 0; k < entry->params.n; k++)
        np += tr_ty_nparts(tr_at(f, entry->params.d[k])->ty);
    lt *types = TR_NEW_N(&m->ctx->arena, lt, np),
       *ret = TR_NEW_N(&m->ctx->arena, lt, tr_ty_nparts(f->ret) + 1u);
    types[0] = m->ptr;
    for (uint32_t k = 0; k < entry->params.n; k++)
        n += add_types(m, tr_at(f, entry->params.d[k])->ty, types + n);
    ret[0] = m->i32;
    unsigned nret = add_types(m, f->ret, ret + 1);
    return LLVMFunctionType(nret ? LLVMStructTypeInContext(m->lc, ret, nret + 1, 0) : m->i32, types, n, 0);
}

static void kernel_bounds(tr_lm *m, lv fn) {
    const tr_device_opts *o = &m->want->device;
    LLVMSetFunctionCallConv(fn, PTX_KERNEL);
    tr_llvm_limit(m->mod, fn, TR_LLVM_MAX_THREADS, o->max_threads);
    tr_llvm_limit(m->mod, fn, TR_LLVM_MIN_BLOCKS, o->min_blocks);
    tr_llvm_limit(m->mod, fn, TR_LLVM_MAX_BLOCKS, o->max_blocks);
    tr_llvm_limit(m->mod, fn, TR_LLVM_MAX_REGISTERS, o->max_registers);
}

void tr_lower_declare_flat(tr_lm *m, uint32_t inst) {
    const tr_fn *f = m->prog->insts.d[inst].fn;
    tr_linst *l = &m->insts[inst];
    l->type = f->kind == TR_FN_KERNEL ? kernel_type(m, f) : device_type(m, f);
    l->fn = LLVMAddFunction(m->mod, name_for(m, f), l->type);
    if (f->kind == TR_FN_KERNEL)
        kernel_bounds(m, l->fn);
    else if (m->want->wanted && !m->want->wanted[inst])
        LLVMSetLinkage(l->fn, LLVMInternalLinkage);
    tr_lower_common_attrs(m, l->fn);
    tr_lower_fn_attr(m, l->fn, TR_LA_CONVERGENT);
    if (m->want->device.flush)
        LLVMAddTargetDependentFunctionAttr(l->fn, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
}

lv *tr_lower_flat_args(tr_lf *w) {
    tr_lm *m = w->m;
    const tr_fn *f = w->body->f;
    const tr_blk *entry = tr_blk_at(f, 0);
    bool kernel = f->kind == TR_FN_KERNEL;
    unsigned n = 0, at = 1;
    for (uint32_t k = 0; k < entry->params.n; k++)
        n += tr_ty_nparts(tr_at(f, entry->params.d[k])->ty);
    lv *args = TR_NEW_N(&m->ctx->arena, lv, n + 1u);
    n = 0;
    for (uint32_t k = 0; k < entry->params.n; k++) {
        const tr_ty *t = tr_at(f, entry->params.d[k])->ty;
        bool *given = TR_NEW_N(&m->ctx->arena, bool, tr_ty_nparts(t) + 1u);
        tr_ty_launched(t, given);
        for (unsigned j = 0; j < tr_ty_nparts(t); j++, n++)
            args[n] = given[j] || !kernel ? LLVMGetParam(w->fn, at++) : LLVMConstNull(m->ptr);
    }
    return args;
}

void tr_lower_plain_entry(tr_lm *m) {
    tr_fn face = *m->prog->insts.d[m->prog->root].fn;
    const tr_linst *root = &m->insts[m->prog->root];
    face.kind = TR_FN_KERNEL; /* a name without a prefix */
    unsigned n = LLVMCountParams(root->fn), nret = tr_ty_nparts(face.ret);
    lt *parts = TR_NEW_N(&m->ctx->arena, lt, nret + 1u), taken = kernel_type(m, &face);
    lv *args = TR_NEW_N(&m->ctx->arena, lv, n);
    unsigned np = LLVMCountParamTypes(taken);
    lt *types = TR_NEW_N(&m->ctx->arena, lt, np);
    LLVMGetParamTypes(taken, types); /* without the owners of arrays */
    add_types(m, face.ret, parts);
    lt ret = !nret ? m->void_ : nret == 1 ? parts[0] : LLVMStructTypeInContext(m->lc, parts, nret, 0);
    lv fn = LLVMAddFunction(m->mod, name_for(m, &face), LLVMFunctionType(ret, types + 1, np - 1, 0));
    tr_lower_common_attrs(m, fn);
    tr_lower_fn_attr(m, fn, TR_LA_CONVERGENT);
    LLVMSetLinkage(root->fn, LLVMInternalLinkage);
    unsigned at = 0, k = 0;
    args[k++] = LLVMConstNull(m->ptr);
    for (uint32_t i = 0; i < tr_blk_at(&face, 0)->params.n; i++) {
        const tr_ty *t = tr_at(&face, tr_blk_at(&face, 0)->params.d[i])->ty;
        for (unsigned j = 0; j < tr_ty_nparts(t); j++)
            args[k++] = !j && t->kind == TR_TY_ARRAY ? LLVMConstNull(m->ptr) : LLVMGetParam(fn, at++);
    }
    LLVMBuilderRef b = LLVMCreateBuilderInContext(m->lc);
    l_at_end(b, LLVMAppendBasicBlockInContext(m->lc, fn, "entry"));
    lv r = LLVMBuildCall2(b, root->type, root->fn, args, n, ""), out = NULL;
    for (unsigned i = 0; i < nret; i++) {
        lv fine = l_icmp(b, LLVMIntEQ, LLVMBuildExtractValue(b, r, 0, ""), l_int(m->i32, 0));
        lv x = l_select(b, fine, LLVMBuildExtractValue(b, r, i + 1, ""), LLVMConstNull(parts[i]));
        out = nret == 1 ? x : LLVMBuildInsertValue(b, out ? out : LLVMGetPoison(ret), x, i, "");
    }
    if (nret)
        LLVMBuildRet(b, out);
    else
        LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
}

/* --- ops of a device --- */

static lv ask_with(tr_lf *w, const char *name, unsigned n, lv *args) {
    return tr_lower_intrinsic(w, name, NULL, n, args);
}

static lv ask(tr_lf *w, const char *name) {
    return ask_with(w, name, 0, NULL);
}

static lv special(tr_lf *w, const char *which, int64_t axis) {
    return ask(w, tr_arena_printf(&w->m->ctx->arena, "llvm.nvvm.read.ptx.sreg.%s.%c", which, "xyz"[axis]));
}

static void place(tr_lf *w, tr_val v, const char *which, int64_t axis) {
    tr_lower_set1(w, v, LLVMBuildZExt(w->b, special(w, which, axis), w->m->i64, ""));
}

static unsigned alignment_of(const tr_ins *in) {
    int64_t said = tr_align_of(in);
    return said > 16 ? (unsigned)said : 16;
}

/* Storage of the block's, as a generic pointer: LLVM finds its address space again. */
static void shared(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    uint64_t n = 1;
    lv out[2 + TR_MAX_NDIM];
    for (uint32_t i = 0; i < in->nargs; i++) {
        out[2 + i] = tr_lower_parts(w, in->args[i])[0];
        n *= LLVMConstIntGetZExtValue(out[2 + i]);
    }
    lt t = LLVMArrayType2(m->i8, n * tr_ty_size(in->ty->elem));
    lv g = LLVMAddGlobalInAddressSpace(m->mod, t, "shared", m->want->target->shared);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    LLVMSetInitializer(g, LLVMGetUndef(t));
    LLVMSetAlignment(g, alignment_of(in));
    out[0] = LLVMConstNull(m->ptr);
    out[1] = LLVMConstAddrSpaceCast(g, m->ptr);
    tr_lower_set(w, v, 2 + in->nargs, out);
}

/* Bytes that the launch asks for; no intrinsic of LLVM 19 gives them. */
static lv dynamic_bytes(tr_lf *w) {
    static const char text[] = "mov.u32 $0, %dynamic_smem_size;", out[] = "=r";
    lt t = LLVMFunctionType(w->m->i32, NULL, 0, 0);
    lv fn = LLVMGetInlineAsm(t, text, sizeof text - 1, out, sizeof out - 1, 0, 0, LLVMInlineAsmDialectATT, 0);
    return LLVMBuildZExt(w->b, LLVMBuildCall2(w->b, t, fn, NULL, 0, ""), w->m->i64, "");
}

/* One for the module: all that ask for it have the same. */
static void dynamic_shared(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    lv g = LLVMGetNamedGlobal(m->mod, "dynamic_shared");
    if (!g) {
        g = LLVMAddGlobalInAddressSpace(m->mod, LLVMArrayType2(m->i8, 0), "dynamic_shared",
                                        m->want->target->shared);
        LLVMSetLinkage(g, LLVMExternalLinkage);
        LLVMSetAlignment(g, 16);
    }
    lv n = LLVMBuildUDiv(w->b, dynamic_bytes(w), l_int(m->i64, tr_ty_size(in->ty->elem)), "");
    lv out[3] = {LLVMConstNull(m->ptr), LLVMConstAddrSpaceCast(g, m->ptr), n};
    tr_lower_set(w, v, 3, out);
}

/* Storage of the thread's. */
static void local(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    uint64_t n = 1;
    lv out[2 + TR_MAX_NDIM];
    for (uint32_t i = 0; i < in->nargs; i++) {
        out[2 + i] = tr_lower_parts(w, in->args[i])[0];
        n *= LLVMConstIntGetZExtValue(out[2 + i]);
    }
    out[0] = LLVMConstNull(m->ptr);
    out[1] = tr_lower_alloca(w, LLVMArrayType2(m->i8, n * tr_ty_size(in->ty->elem)), "local");
    LLVMSetAlignment(out[1], alignment_of(in));
    tr_lower_set(w, v, 2 + in->nargs, out);
}

/* The bytes that the array spans, in the order in which they lie. In constant memory while
 * that has room for them. */
lv tr_lower_device_array(tr_lm *m, const tr_ins *in, const char *name) {
    enum { SPACE_GLOBAL = 1, SPACE_CONSTANT = 4, ROOM = 64 << 10 };
    const tr_obj *o = in->imm.obj;
    int64_t size = tr_ty_size(in->ty->elem), lo = 0, hi = size;
    bool empty = false;
    lv g = LLVMGetNamedGlobal(m->mod, name);
    for (unsigned k = 0; k < in->ty->ndim; k++) {
        int64_t far = (o->u.a.shape[k] - 1) * o->u.a.strides[k] * size;
        empty |= o->u.a.shape[k] <= 0;
        lo += far < 0 ? far : 0;
        hi += far > 0 ? far : 0;
    }
    if (empty)
        lo = hi = 0;
    if (!g) {
        bool fits = (int64_t)m->constants + (hi - lo) <= ROOM - 16;
        lt t = LLVMArrayType2(m->i8, (uint64_t)(hi > lo ? hi - lo : 1));
        g = LLVMAddGlobalInAddressSpace(m->mod, t, name, fits ? SPACE_CONSTANT : SPACE_GLOBAL);
        LLVMSetInitializer(g, hi > lo ? LLVMConstStringInContext(m->lc, (const char *)o->u.a.data + lo,
                                                                 (unsigned)(hi - lo), 1)
                                      : LLVMConstNull(t));
        LLVMSetGlobalConstant(g, 1);
        LLVMSetLinkage(g, LLVMInternalLinkage);
        LLVMSetAlignment(g, 16);
        m->constants += fits ? (uint64_t)(hi - lo + 15) & ~15ull : 0;
    }
    lv at = l_int(m->i64, -lo);
    return LLVMConstInBoundsGEP2(m->i8, LLVMConstAddrSpaceCast(g, m->ptr), &at, 1);
}

/* Between blocks of the host, which run on threads of it, its own fence; within one the
 * compiler's order is enough. */
static void fence(tr_lf *w, const tr_ins *in) {
    static const char *const names[TR_SCOPE__COUNT] = {
        [TR_SCOPE_BLOCK] = "llvm.nvvm.membar.cta",
        [TR_SCOPE_DEVICE] = "llvm.nvvm.membar.gl",
        [TR_SCOPE_SYSTEM] = "llvm.nvvm.membar.sys",
    };
    if (tr_lower_is_flat(w->m))
        ask(w, names[in->sub]);
    else
        LLVMBuildFence(w->b, LLVMAtomicOrderingSequentiallyConsistent, in->sub == TR_SCOPE_BLOCK, "");
}

/* On the host a thread that sleeps would keep others from running, and less is allowed: it
 * goes on at once. */
static void sleep_for(tr_lf *w, lv ns) {
    static const char text[] = "nanosleep.u32 $0;", in[] = "r";
    if (!tr_lower_is_flat(w->m))
        return;
    lt t = LLVMFunctionType(w->m->void_, &w->m->i32, 1, 0);
    lv fn = LLVMGetInlineAsm(t, text, sizeof text - 1, in, sizeof in - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMBuildCall2(w->b, t, fn, &ns, 1, "");
}

/* --- where threads meet --- */

/* Lanes that are here together; no intrinsic asks for it. It is not moved, nor copied to
 * where lanes have parted. */
static lv active_mask(tr_lf *w) {
    static const char text[] = "activemask.b32 $0;", out[] = "=r";
    lt t = LLVMFunctionType(w->m->i32, NULL, 0, 0);
    lv fn = LLVMGetInlineAsm(t, text, sizeof text - 1, out, sizeof out - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    lv call = LLVMBuildCall2(w->b, t, fn, NULL, 0, "");
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             w->m->attr[TR_LA_CONVERGENT]);
    return call;
}

/* 64 bits go as two halves. */
static lv shuffle(tr_lf *w, const tr_ins *in, lv mask, lv x, lv by) {
    static const char *const names[TR_SHFL__COUNT] = {
        [TR_SHFL_IDX] = "llvm.nvvm.shfl.sync.idx.i32",
        [TR_SHFL_UP] = "llvm.nvvm.shfl.sync.up.i32",
        [TR_SHFL_DOWN] = "llvm.nvvm.shfl.sync.down.i32",
        [TR_SHFL_XOR] = "llvm.nvvm.shfl.sync.bfly.i32",
    };
    tr_lm *m = w->m;
    lt t = LLVMTypeOf(x), bits = tr_ty_size(in->ty) == 8 ? m->i64 : m->i32;
    lv clamp = l_int(m->i32, in->sub == TR_SHFL_UP ? 0 : TR_WARP - 1), out = NULL;
    x = LLVMBuildBitCast(w->b, x, bits, "");
    for (unsigned k = 0; k < tr_ty_size(in->ty) / 4; k++) {
        lv half = bits == m->i32 ? x : LLVMBuildLShr(w->b, x, l_int(bits, 32 * (long long)k), "");
        lv args[4] = {mask, LLVMBuildTrunc(w->b, half, m->i32, ""), by, clamp};
        half = LLVMBuildZExt(w->b, ask_with(w, names[in->sub], 4, args), bits, "");
        out = k ? LLVMBuildOr(w->b, out, LLVMBuildShl(w->b, half, l_int(bits, 32), ""), "") : half;
    }
    return LLVMBuildBitCast(w->b, out, t, "");
}

static lv vote(tr_lf *w, const tr_ins *in, lv mask, lv x) {
    static const char *const names[] = {
        [TR_VOTE_ALL] = "llvm.nvvm.vote.all.sync",
        [TR_VOTE_ANY] = "llvm.nvvm.vote.any.sync",
        [TR_VOTE_EQ] = "llvm.nvvm.vote.uni.sync",
        [TR_VOTE_BALLOT] = "llvm.nvvm.vote.ballot.sync",
    };
    return ask_with(w, names[in->sub], 2, (lv[]){mask, x});
}

static lv match(tr_lf *w, const tr_ins *in, lv mask, lv x) {
    static const char *const names[2][2] = {
        {"llvm.nvvm.match.all.sync.i32p", "llvm.nvvm.match.all.sync.i64p"},
        {"llvm.nvvm.match.any.sync.i32", "llvm.nvvm.match.any.sync.i64"},
    };
    tr_lm *m = w->m;
    bool wide = tr_ty_size(tr_lower_ty(w, in->args[1])) == 8, any = in->sub == TR_VOTE_ANY;
    x = LLVMBuildBitCast(w->b, x, wide ? m->i64 : m->i32, "");
    lv r = ask_with(w, names[any][wide], 2, (lv[]){mask, x});
    return any ? r : LLVMBuildExtractValue(w->b, r, 0, "");
}

static void barrier(tr_lf *w) {
    lv number = l_int(w->m->i32, 0);
    ask_with(w, TR_LLVM_BARRIER, TR_LLVM_BARRIERS_NUMBERED, &number);
}

static lv bar_vote(tr_lf *w, const tr_ins *in, lv x) {
    tr_lm *m = w->m;
    bool numbered = TR_LLVM_BARRIERS_NUMBERED;
    const char *name = in->sub == TR_VOTE_COUNT ? TR_LLVM_BARRIER_ASK("popc")
                       : in->sub == TR_VOTE_ALL ? TR_LLVM_BARRIER_ASK("and")
                                                : TR_LLVM_BARRIER_ASK("or");
    lv args[2] = {l_int(m->i32, 0), numbered ? x : LLVMBuildZExt(w->b, x, m->i32, "")};
    lv r = ask_with(w, name, 1 + numbered, args + !numbered);
    if (in->sub == TR_VOTE_COUNT)
        return r;
    if (!numbered)
        r = LLVMBuildICmp(w->b, LLVMIntNE, r, l_int(m->i32, 0), "");
    return LLVMBuildZExt(w->b, r, m->i32, "");
}

static lv at_zero(tr_lf *w, const char *which) {
    lv any = LLVMBuildOr(w->b, special(w, which, 0), special(w, which, 1), "");
    any = LLVMBuildOr(w->b, any, special(w, which, 2), "");
    return LLVMBuildICmp(w->b, LLVMIntEQ, any, l_int(w->m->i32, 0), "");
}

/* One thread of each block adds to a word of the launch's, all blocks together 2^31 each time: who
 * sees its highest bit turn knows that all have come. The blocks must run at the same time: such a
 * kernel is launched as a cooperative one. */
static void grid_barrier(tr_lf *w) {
    tr_lm *m = w->m;
    m->cooperative = true;
    lb first = tr_lower_block(w, "first"), look = tr_lower_block(w, "look"), seen = tr_lower_block(w, "seen"),
       done = tr_lower_block(w, "done");
    lv o = l_int(m->i64, offsetof(tr_dev_error, barrier));
    lv word = LLVMBuildInBoundsGEP2(w->b, m->i8, w->frame, &o, 1, "");
    barrier(w);
    LLVMBuildCondBr(w->b, at_zero(w, "tid"), first, done);
    l_at_end(w->b, first);
    ask(w, "llvm.nvvm.membar.gl");
    lv n = special(w, "nctaid", 0);
    for (int64_t k = 1; k < 3; k++)
        n = LLVMBuildMul(w->b, n, special(w, "nctaid", k), "");
    lv rest = LLVMBuildSub(w->b, l_int(m->i32, 0x80000001), n, "");
    lv mine = LLVMBuildSelect(w->b, at_zero(w, "ctaid"), rest, l_int(m->i32, 1), "");
    LLVMAtomicOrdering order = LLVMAtomicOrderingMonotonic;
    lv was = LLVMBuildAtomicRMW(w->b, LLVMAtomicRMWBinOpAdd, word, mine, order, 0);
    LLVMBuildBr(w->b, look);
    l_at_end(w->b, look);
    lv now = LLVMBuildLoad2(w->b, m->i32, word, "");
    LLVMSetOrdering(now, order);
    LLVMSetAlignment(now, 4);
    lv turned = LLVMBuildICmp(w->b, LLVMIntSLT, LLVMBuildXor(w->b, was, now, ""), l_int(m->i32, 0), "");
    LLVMBuildCondBr(w->b, turned, seen, look);
    l_at_end(w->b, seen);
    ask(w, "llvm.nvvm.membar.gl");
    LLVMBuildBr(w->b, done);
    l_at_end(w->b, done);
    barrier(w);
}

static void meeting(tr_lf *w, tr_val v, const tr_ins *in) {
    lv x[3] = {0}, r = NULL;
    for (uint32_t k = 0; k < in->nargs; k++)
        x[k] = tr_lower_parts(w, in->args[k])[0];
    switch ((tr_op)in->op) {
    case TR_OP_ACTIVEMASK: r = active_mask(w); break;
    case TR_OP_SYNCWARP: ask_with(w, "llvm.nvvm.bar.warp.sync", 1, x); break;
    case TR_OP_SHFL: r = shuffle(w, in, x[0], x[1], x[2]); break;
    case TR_OP_VOTE: r = vote(w, in, x[0], x[1]); break;
    case TR_OP_MATCH: r = match(w, in, x[0], x[1]); break;
    case TR_OP_BARVOTE: r = bar_vote(w, in, x[0]); break;
    case TR_OP_GRIDBARRIER: grid_barrier(w); break;
    default: barrier(w); break;
    }
    if (r)
        tr_lower_set1(w, v, r);
}

/* --- atomics --- */

static LLVMAtomicRMWBinOp atomic_op(tr_atomic op, char cls) {
    switch (op) {
    case TR_ATOMIC_ADD: return cls == 'f' ? LLVMAtomicRMWBinOpFAdd : LLVMAtomicRMWBinOpAdd;
    case TR_ATOMIC_MIN: return cls == 'u' ? LLVMAtomicRMWBinOpUMin : LLVMAtomicRMWBinOpMin;
    case TR_ATOMIC_MAX: return cls == 'u' ? LLVMAtomicRMWBinOpUMax : LLVMAtomicRMWBinOpMax;
    case TR_ATOMIC_AND: return LLVMAtomicRMWBinOpAnd;
    case TR_ATOMIC_OR: return LLVMAtomicRMWBinOpOr;
    case TR_ATOMIC_XOR: return LLVMAtomicRMWBinOpXor;
    case TR_ATOMIC_INC: return LLVMAtomicRMWBinOpUIncWrap;
    case TR_ATOMIC_DEC: return LLVMAtomicRMWBinOpUDecWrap;
    default: return LLVMAtomicRMWBinOpXchg;
    }
}

/* Atomics order nothing but themselves (for devices LLVM 19 cannot select stronger ones). */
static const LLVMAtomicOrdering loose = LLVMAtomicOrderingMonotonic;

/* Does x take the place of what was there? */
static lv wins(tr_lf *w, tr_atomic how, lv x, lv was) {
    bool least = how == TR_ATOMIC_MIN || how == TR_ATOMIC_NANMIN;
    lv yes = LLVMBuildFCmp(w->b, least ? LLVMRealOLT : LLVMRealOGT, x, was, "");
    if (how == TR_ATOMIC_MIN || how == TR_ATOMIC_MAX)
        return yes;
    lv number = LLVMBuildFCmp(w->b, LLVMRealORD, x, x, ""),
       nan = LLVMBuildFCmp(w->b, LLVMRealUNO, was, was, "");
    return LLVMBuildOr(w->b, yes, LLVMBuildAnd(w->b, number, nan, ""), "");
}

/* Extremes of floats: looks again until nobody has come between. LLVM's own have another opinion of NaN. */
static lv extreme(tr_lf *w, tr_atomic how, lv at, lv x) {
    tr_lm *m = w->m;
    lt t = LLVMTypeOf(x), bits = t == m->f32 ? m->i32 : m->i64;
    lb look = tr_lower_block(w, "look"), put = tr_lower_block(w, "put"), done = tr_lower_block(w, "done");
    lv first = LLVMBuildLoad2(w->b, bits, at, "");
    LLVMSetOrdering(first, loose);
    LLVMSetAlignment(first, t == m->f32 ? 4 : 8);
    tr_lower_tag(m, first, false);
    lb from = LLVMGetInsertBlock(w->b);
    LLVMBuildBr(w->b, look);
    l_at_end(w->b, look);
    lv was = LLVMBuildPhi(w->b, bits, ""), old = LLVMBuildBitCast(w->b, was, t, "");
    LLVMBuildCondBr(w->b, wins(w, how, x, old), put, done);
    l_at_end(w->b, put);
    lv new = LLVMBuildBitCast(w->b, x, bits, "");
    lv r = LLVMBuildAtomicCmpXchg(w->b, at, was, new, loose, loose, 0);
    tr_lower_tag(m, r, false);
    lv now = LLVMBuildExtractValue(w->b, r, 0, "");
    LLVMBuildCondBr(w->b, LLVMBuildExtractValue(w->b, r, 1, ""), done, look);
    LLVMAddIncoming(was, (lv[]){first, now}, (lb[]){from, put}, 2);
    l_at_end(w->b, done);
    return old;
}

static void atomic(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    lv at = tr_lower_element_at(w, in->args[0], in->args + 1);
    lv x = tr_lower_parts(w, in->args[in->nargs - 1])[0], r;
    lt t = LLVMTypeOf(x), bits = t == m->f32 ? m->i32 : t == m->f64 ? m->i64 : t;
    char cls = tr_ty_class(in->ty);
    if (in->op == TR_OP_CAS) {
        lv was = tr_lower_parts(w, in->args[in->nargs - 2])[0];
        r = LLVMBuildAtomicCmpXchg(w->b, at, was, x, loose, loose, 0);
        tr_lower_tag(m, r, false);
        r = LLVMBuildExtractValue(w->b, r, 0, "");
    } else if (cls == 'f' && in->sub >= TR_ATOMIC_MIN && in->sub <= TR_ATOMIC_NANMAX) {
        r = extreme(w, (tr_atomic)in->sub, at, x);
    } else {
        bool swap = in->sub == TR_ATOMIC_XCHG;
        if (swap)
            x = LLVMBuildBitCast(w->b, x, bits, "");
        r = LLVMBuildAtomicRMW(w->b, atomic_op((tr_atomic)in->sub, cls), at, x, loose, 0);
        tr_lower_tag(m, r, false);
        if (swap)
            r = LLVMBuildBitCast(w->b, r, t, "");
    }
    tr_lower_set1(w, v, r);
}

bool tr_lower_device_op(tr_lf *w, tr_val v, const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_THREADIDX: place(w, v, "tid", in->imm.i); break;
    case TR_OP_BLOCKIDX: place(w, v, "ctaid", in->imm.i); break;
    case TR_OP_BLOCKDIM: place(w, v, "ntid", in->imm.i); break;
    case TR_OP_GRIDDIM: place(w, v, "nctaid", in->imm.i); break;
    case TR_OP_SHARED: shared(w, v, in); break;
    case TR_OP_DYNSHARED: dynamic_shared(w, v, in); break;
    case TR_OP_LOCAL: local(w, v, in); break;
    case TR_OP_FENCE: fence(w, in); break;
    case TR_OP_SLEEP: sleep_for(w, tr_lower_parts(w, in->args[0])[0]); break;
    case TR_OP_ACTIVEMASK:
    case TR_OP_SYNCWARP:
    case TR_OP_SHFL:
    case TR_OP_VOTE:
    case TR_OP_MATCH:
    case TR_OP_BARVOTE:
    case TR_OP_GRIDBARRIER:
    case TR_OP_BARRIER: meeting(w, v, in); break;
    case TR_OP_ATOMIC:
    case TR_OP_CAS: atomic(w, v, in); break;
    default: return false;
    }
    return true;
}

/* --- exceptions --- */

static void keep(tr_lf *w, size_t offset, lv x) {
    lv o = l_int(w->m->i64, (long long)offset);
    LLVMBuildStore(w->b, x, LLVMBuildInBoundsGEP2(w->b, w->m->i8, w->frame, &o, 1, ""));
}

lb tr_lower_claim(tr_lf *w, lv code) {
    _Static_assert(offsetof(tr_dev_error, code) == 0, "the code comes first");
    lb mine = tr_lower_block(w, "mine"), leave = tr_lower_block(w, "leave");
    LLVMAtomicOrdering o = LLVMAtomicOrderingMonotonic;
    lv was = LLVMBuildAtomicCmpXchg(w->b, w->frame, l_int(w->m->i32, 0), code, o, o, 0);
    LLVMBuildCondBr(w->b, LLVMBuildExtractValue(w->b, was, 1, ""), mine, leave);
    l_at_end(w->b, mine);
    for (unsigned i = 0; i < 3; i++) {
        keep(w, offsetof(tr_dev_error, thread) + 4 * i, special(w, "tid", i));
        keep(w, offsetof(tr_dev_error, block) + 4 * i, special(w, "ctaid", i));
    }
    return leave;
}
