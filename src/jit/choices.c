/* `switch` made a chain of tests: if x is 1 go there, else if x is 2 go elsewhere. The loop vectoriser of
 * LLVM 19 takes branches on conditions and nothing else, and simplifycfg makes a switch wherever two tests
 * of one integer follow each other, as in the rules of a cellular automaton. LLVM's own lower-switch makes a
 * tree of smaller and greater, which is more to compute for each lane, and never a switch again.
 * Cost: one look at each block's last instruction. */
#include "jit/choices.h"

#include <assert.h>

enum { MOST = 8 }; /* longer ones are better jumped by a table */

typedef struct edges {
    LLVMBasicBlockRef from[MOST + 1], to[MOST + 1]; /* one for each case, then the default's */
    unsigned n;
} edges;

/* The phi's copy, in which what came from the switch's block comes from the block that the
 * edge begins in now. */
static void mend_phi(LLVMBuilderRef at, LLVMValueRef phi, LLVMBasicBlockRef was, LLVMBasicBlockRef here,
                     const edges *e) {
    LLVMPositionBuilderBefore(at, phi);
    LLVMValueRef copy = LLVMBuildPhi(at, LLVMTypeOf(phi), "");
    unsigned edge = 0;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
        LLVMValueRef value = LLVMGetIncomingValue(phi, i);
        if (from == was) {
            while (e->to[edge] != here)
                edge++;
            assert(edge < e->n && "each edge of the switch is one of its tests'");
            from = e->from[edge++];
        }
        LLVMAddIncoming(copy, &value, &from, 1);
    }
    LLVMReplaceAllUsesWith(phi, copy);
    LLVMInstructionEraseFromParent(phi);
}

static void mend_phis(LLVMBuilderRef at, LLVMBasicBlockRef here, LLVMBasicBlockRef was, const edges *e) {
    LLVMValueRef next;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(here); phi && LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        mend_phi(at, phi, was, here, e);
    }
}

static void expand(LLVMBuilderRef at, LLVMValueRef sw) {
    LLVMBasicBlockRef was = LLVMGetInstructionParent(sw), after = was;
    LLVMContextRef lc = LLVMGetTypeContext(LLVMTypeOf(sw));
    LLVMValueRef x = LLVMGetOperand(sw, 0), given[MOST];
    edges e = {.n = LLVMGetNumSuccessors(sw)};
    assert(e.n > 1 && e.n <= MOST + 1 && "a short switch has a case, and a default");
    for (unsigned i = 0; i + 1 < e.n; i++) {
        given[i] = tr_llvm_case(sw, i);
        e.to[i] = LLVMGetSuccessor(sw, i + 1);
    }
    e.to[e.n - 1] = LLVMGetSwitchDefaultDest(sw);
    LLVMInstructionEraseFromParent(sw);
    for (unsigned i = 0; i + 1 < e.n; i++) {
        e.from[i] = after;
        LLVMPositionBuilderAtEnd(at, after);
        LLVMValueRef is = LLVMBuildICmp(at, LLVMIntEQ, x, given[i], "");
        LLVMBasicBlockRef other = e.to[e.n - 1];
        if (i + 2 < e.n) {
            other = LLVMInsertBasicBlockInContext(lc, after, "");
            LLVMMoveBasicBlockAfter(other, after);
        }
        LLVMBuildCondBr(at, is, e.to[i], other);
        e.from[e.n - 1] = after;
        after = other;
    }
    for (unsigned i = 0; i < e.n; i++) {
        unsigned first = 0;
        while (e.to[first] != e.to[i])
            first++;
        if (first == i)
            mend_phis(at, e.to[i], was, &e);
    }
}

void tr_choices_expand(LLVMModuleRef mod) {
    LLVMBuilderRef at = LLVMCreateBuilderInContext(LLVMGetModuleContext(mod));
    for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
            LLVMValueRef t = LLVMGetBasicBlockTerminator(b);
            unsigned n = t && LLVMIsASwitchInst(t) ? LLVMGetNumSuccessors(t) : 0;
            if (n > 1 && n <= MOST + 1)
                expand(at, t);
        }
    LLVMDisposeBuilder(at);
}
