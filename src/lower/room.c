/* Room on the stack: small places, and the buffers of patterns.
 *
 * A pattern takes buffers while it is lowered and gives them back when it ends, so a function has room for
 * the patterns that are at work at one time, not for all it consists of. The k-th buffer in use lies in the
 * k-th alloca, which is as large as the largest of them: separate allocas, as LLVM tells accesses to
 * different ones apart.
 *
 * A function that recurses, or whose buffers take more than TR_STACK_UNCHECKED, first looks whether the stack
 * has room. That comes in a block before all others, so buffers are then allocas that run after it, not part
 * of what the prologue takes. */
#include <assert.h>

#include "lower/internal.h"

/* Before the first instruction of a block. */
static void at_top(LLVMBuilderRef b, lb blk) {
    lv first = LLVMGetFirstInstruction(blk);
    if (first)
        LLVMPositionBuilderBefore(b, first);
    else
        l_at_end(b, blk);
}

lv tr_lower_alloca(tr_lf *w, lt t, const char *name) {
    at_top(w->ab, LLVMGetEntryBasicBlock(w->fn));
    return LLVMBuildAlloca(w->ab, t, name);
}

lv tr_lower_buffer(tr_lf *w, uint64_t bytes, unsigned align, const char *name) {
    assert(bytes > 0 && align && !(align & (align - 1)) && w->in_use <= w->bufs.n);
    tr_lm *m = w->m;
    if (w->in_use == w->bufs.n) {
        at_top(w->ab, LLVMGetEntryBasicBlock(w->fn));
        tr_lbuf new = {LLVMBuildArrayAlloca(w->ab, m->i8, l_int(m->i64, 0), name), 0};
        LLVMSetAlignment(new.at, align);
        tr_vec_push(&m->ctx->arena, &w->bufs, new);
    }
    tr_lbuf *buf = &w->bufs.d[w->in_use++];
    if (bytes > buf->bytes) {
        buf->bytes = bytes;
        LLVMSetOperand(buf->at, 0, l_int(m->i64, (long long)bytes));
    }
    if (align > LLVMGetAlignment(buf->at))
        LLVMSetAlignment(buf->at, align);
    return buf->at;
}

lv tr_lower_memory(tr_lf *w, tr_val v, lv bytes) {
    static const tr_site site = {TR_EXC_MEMORY, "cannot allocate tables of {0} bytes", -1, NULL};
    const tr_ty *u64 = tr_ty_scalar(w->m->ctx->types, TR_TY_U64);
    lv mem;
    tr_lower_rt(w, TR_RT_ALLOC, 1, &bytes, NULL, &mem);
    lb ok = tr_lower_unless(w, LLVMBuildIsNotNull(w->b, mem, ""));
    tr_lower_raise(w, v, &site, 1, &u64, (lv *[]){&bytes});
    l_at_end(w->b, ok);
    return mem;
}

uint64_t tr_lower_bytes(const tr_lm *m, lt t) {
    if (LLVMGetTypeKind(t) == LLVMIntegerTypeKind)
        return (LLVMGetIntTypeWidth(t) + 7) / 8;
    return t == m->f16 ? 2 : t == m->f32 ? 4 : 8;
}

uint64_t tr_lower_room(const tr_lf *w) {
    uint64_t sum = w->ranges;
    for (uint32_t i = 0; i < w->bufs.n; i++)
        sum += w->bufs.d[i].bytes;
    return sum;
}

/* Raises unless `room` bytes below the stack pointer, which is read after the prologue, are above the end
 * that the frame knows. */
static void check_stack(tr_lf *w, uint64_t room) {
    tr_lm *m = w->m;
    LLVMMetadataRef name = LLVMMDStringInContext2(m->lc, "rsp", 3);
    lv reg = LLVMMetadataAsValue(m->lc, LLVMMDNodeInContext2(m->lc, &name, 1));
    lv sp = tr_lower_intrinsic(w, "llvm.read_register", m->i64, 1, &reg);
    lv o = l_int(m->i64, (long long)offsetof(tr_frame, stack));
    lv end = LLVMBuildLoad2(w->b, m->i64, LLVMBuildInBoundsGEP2(w->b, m->i8, w->frame, &o, 1, ""), "");
    tr_lower_tag(m, end, true);
    if (room)
        sp = l_sub(w->b, sp, l_int(m->i64, (long long)room));
    lb go_on = tr_lower_unless(w, l_icmp(w->b, LLVMIntUGE, sp, end));
    static const tr_site deep = {TR_EXC_RECURSION, "maximum recursion depth exceeded", -1, NULL};
    static const tr_site full = {TR_EXC_RECURSION,
                                 "the stack of this thread has no room for the function's buffers", -1, NULL};
    tr_lower_raise(w, w->body->f->blks.d[0].first, m->insts[w->inst].recursive ? &deep : &full, 0, NULL,
                   NULL);
    l_at_end(w->b, go_on);
}

static bool is_buffer(const tr_lf *w, lv x) {
    for (uint32_t i = 0; i < w->bufs.n; i++)
        if (w->bufs.d[i].at == x)
            return true;
    return false;
}

void tr_lower_look_for_room(tr_lf *w, bool as_entry, bool check) {
    tr_lm *m = w->m;
    uint64_t room = tr_lower_room(w);
    check = check && (m->insts[w->inst].recursive || room > TR_STACK_UNCHECKED);
    m->checks_stack |= check;
    if (!check && !(as_entry && m->checks_stack))
        return;
    lb body = LLVMGetEntryBasicBlock(w->fn);
    lb before = LLVMInsertBasicBlockInContext(m->lc, body, "room");
    l_at_end(w->b, before);
    for (lv x = LLVMGetFirstInstruction(body), next; x && LLVMIsAAllocaInst(x); x = next) {
        next = LLVMGetNextInstruction(x);
        if (check && is_buffer(w, x))
            continue;
        LLVMInstructionRemoveFromParent(x);
        LLVMInsertIntoBuilder(w->b, x);
    }
    if (as_entry)
        tr_lower_rt(w, TR_RT_STACK, 0, NULL, NULL, NULL);
    if (check)
        check_stack(w, room);
    LLVMBuildBr(w->b, body);
}
