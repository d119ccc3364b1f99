/* The mark `nontemporal` on stores of vectors that lowering has asked it for (lower/nontemporal.c), by a kind
 * of memory of their own: that, LLVM keeps when it makes vectors.
 *
 * Only of vectors known to lie on their own boundaries: others the code generator would
 * take apart, down to single integers.
 * Cost: a look at each instruction, where there was something to mark. */
#include "jit/nontemporal.h"

#include <stdbool.h>

enum {
    WIDEST = 64,
    NARROWEST = 16
}; /* bytes of an instruction's vector; wider ones become several of these */

static bool is_vector(LLVMValueRef store) {
    return LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(store, 0))) == LLVMVectorTypeKind;
}

static bool is_aligned(LLVMTargetDataRef layout, LLVMValueRef store) {
    unsigned long long size = LLVMStoreSizeOfType(layout, LLVMTypeOf(LLVMGetOperand(store, 0)));
    return size >= NARROWEST && LLVMGetAlignment(store) >= (size < WIDEST ? size : WIDEST);
}

void tr_nontemporal_mark(LLVMModuleRef mod, LLVMValueRef tag) {
    LLVMContextRef lc = LLVMGetModuleContext(mod);
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(mod);
    unsigned tbaa = LLVMGetMDKindIDInContext(lc, "tbaa", 4),
             kind = LLVMGetMDKindIDInContext(lc, "nontemporal", 11);
    LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(lc), 1, 0));
    LLVMValueRef mark = LLVMMetadataAsValue(lc, LLVMMDNodeInContext2(lc, &one, 1));
    for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
                if (LLVMIsAStoreInst(v) && LLVMGetMetadata(v, tbaa) == tag && is_vector(v) &&
                    is_aligned(layout, v))
                    LLVMSetMetadata(v, kind, mark);
}
