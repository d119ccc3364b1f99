/* Small names for the LLVM calls that lowering makes all the time, so that lowering reads as lowering.
 * Only lower/ and jit/ see llvm-c. */
#ifndef TR_LOWER_LLVM_H
#define TR_LOWER_LLVM_H

#include "lower/compat.h"

typedef LLVMValueRef lv;
typedef LLVMTypeRef lt;
typedef LLVMBasicBlockRef lb;

/* Where attributes of a function itself go (LLVM's own constant is negative). */
#define L_ON_FUNCTION ((LLVMAttributeIndex)LLVMAttributeFunctionIndex)

static inline lv l_int(lt t, long long v) {
    return LLVMConstInt(t, (unsigned long long)v, 1);
}
static inline lv l_icmp(LLVMBuilderRef b, LLVMIntPredicate p, lv x, lv y) {
    return LLVMBuildICmp(b, p, x, y, "");
}
static inline lv l_fcmp(LLVMBuilderRef b, LLVMRealPredicate p, lv x, lv y) {
    return LLVMBuildFCmp(b, p, x, y, "");
}
static inline lv l_select(LLVMBuilderRef b, lv c, lv x, lv y) {
    return LLVMBuildSelect(b, c, x, y, "");
}
static inline lv l_add(LLVMBuilderRef b, lv x, lv y) {
    return LLVMBuildAdd(b, x, y, "");
}
static inline lv l_sub(LLVMBuilderRef b, lv x, lv y) {
    return LLVMBuildSub(b, x, y, "");
}
static inline lv l_mul(LLVMBuilderRef b, lv x, lv y) {
    return LLVMBuildMul(b, x, y, "");
}
static inline lv l_and(LLVMBuilderRef b, lv x, lv y) {
    return LLVMBuildAnd(b, x, y, "");
}
static inline lv l_or(LLVMBuilderRef b, lv x, lv y) {
    return LLVMBuildOr(b, x, y, "");
}
/* The block being filled. */
static inline lb l_here(LLVMBuilderRef b) {
    return LLVMGetInsertBlock(b);
}
static inline void l_at_end(LLVMBuilderRef b, lb blk) {
    LLVMPositionBuilderAtEnd(b, blk);
}
static inline void l_incoming(lv phi, lv v, lb from) {
    LLVMAddIncoming(phi, &v, &from, 1);
}

#endif
