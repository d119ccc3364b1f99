/* Indices as `(3 * i) & 31` or `uint8(7 * i)`: recurrences in few bits (in LLVM's words: a
 * zero-extended add recurrence of a narrow type).
 *
 * LLVM's vectoriser takes one for a plain stride where a test before the loop says that it does not wrap. In
 * LLVM 19 that test (SCEVExpander, the overflow check of a recurrence) forgets the product of step and rounds
 * where the recurrence begins with 0, so that a loop of up to 32 rounds read a[33] for a[33 & 31]. What is
 * frozen (LLVM's `freeze`) it takes for unknown, and gathers; instcombine drops that afterwards.
 * Steps of 1 cannot be wrong: rounds that do not fit are tested for by themselves. So
 * circular buffers keep their vectors.
 * The same it does with a number that goes round, `x = (x & 31) + 3`, whatever that is for.
 * Looked at: operands of a mask of low bits and of a zero extension, back to the phis that they come from,
 * where the result leads to an address or goes round.
 * Cost: a look at each instruction, and MOST at most from there. */
#include "jit/wraps.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef LLVMValueRef lv;

enum { MOST = 48, DEEP = 10, PHIS = 8, ROUND = 6 };

typedef struct phi_sum {
    LLVMBasicBlockRef of; /* of which loop: its header */
    int64_t step;         /* how far the value goes in a round of it */
} phi_sum;

typedef struct walk {
    unsigned left; /* values that may still be looked at */
    unsigned n;
    bool unclear;
    phi_sum at[PHIS];
} walk;

static bool number(lv v, int64_t *out) {
    bool is = LLVMIsAConstantInt(v) && LLVMGetIntTypeWidth(LLVMTypeOf(v)) <= 64;
    *out = is ? LLVMConstIntGetSExtValue(v) : 0;
    return is;
}

/* What phi grows by in each round; false: it is no counter. */
static bool step_of(lv phi, int64_t *step) {
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
        lv next = LLVMGetIncomingValue(phi, k);
        if (!LLVMIsAInstruction(next) || LLVMGetInstructionOpcode(next) != LLVMAdd)
            continue;
        for (unsigned side = 0; side < 2; side++)
            if (LLVMGetOperand(next, side) == phi && number(LLVMGetOperand(next, 1 - side), step))
                return true;
    }
    return false;
}

static void add_phi(walk *w, lv phi, int64_t times) {
    int64_t step;
    LLVMBasicBlockRef of = LLVMGetInstructionParent(phi);
    unsigned k = 0;
    while (k < w->n && w->at[k].of != of)
        k++;
    if (k == PHIS || !step_of(phi, &step)) {
        w->unclear = true;
        return;
    }
    if (k == w->n)
        w->at[w->n++] = (phi_sum){of, 0};
    w->at[k].step = (int64_t)((uint64_t)w->at[k].step + (uint64_t)times * (uint64_t)step);
}

/* Collects `times` v. What is no sum of multiples of counters LLVM takes for unknown by itself. */
static void collect(walk *w, lv v, int64_t times, unsigned depth) {
    int64_t c;
    if (!LLVMIsAInstruction(v))
        return;
    if (LLVMIsAPHINode(v)) {
        add_phi(w, v, times);
        return;
    }
    if (!w->left || !depth) {
        w->unclear = true;
        return;
    }
    w->left--;
    lv x = LLVMGetNumOperands(v) > 0 ? LLVMGetOperand(v, 0) : NULL,
       y = LLVMGetNumOperands(v) > 1 ? LLVMGetOperand(v, 1) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
    case LLVMOr:
    case LLVMXor:
        collect(w, x, times, depth - 1);
        collect(w, y, times, depth - 1);
        break;
    case LLVMSub:
        collect(w, x, times, depth - 1);
        collect(w, y, (int64_t)(0 - (uint64_t)times), depth - 1);
        break;
    case LLVMMul:
        if (number(y, &c)) {
            collect(w, x, (int64_t)((uint64_t)times * (uint64_t)c), depth - 1);
        } else {
            w->unclear = true; /* by a step that is known when the loop begins */
        }
        break;
    case LLVMShl:
        if (number(y, &c) && c >= 0 && c < 64)
            collect(w, x, (int64_t)((uint64_t)times << c), depth - 1);
        else
            w->unclear = true;
        break;
    case LLVMAnd:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMFreeze: collect(w, x, times, depth - 1); break;
    case LLVMLShr:
    case LLVMAShr:
    case LLVMUDiv:
    case LLVMSDiv: /* of a multiple it may be a whole step again */
        collect(w, x, times, depth - 1);
        w->unclear = w->unclear || w->n > 0;
        break;
    default: break;
    }
}

static bool may_stride(lv x) {
    walk w = {.left = MOST};
    collect(&w, x, 1, DEEP);
    for (unsigned k = 0; k < w.n && !w.unclear; k++)
        w.unclear = w.at[k].step != 1 && w.at[k].step != -1 && w.at[k].step != 0;
    return w.unclear;
}

/* `left`: values that may still be looked at; where there are more, or the way is longer
 * than `depth`, it is taken to. */
static bool leads_to_address(lv v, unsigned depth, unsigned *left) {
    if (!depth)
        return true;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        lv user = LLVMGetUser(u);
        if (!*left)
            return true;
        --*left;
        switch (LLVMGetInstructionOpcode(user)) {
        case LLVMGetElementPtr: return true;
        case LLVMAdd:
        case LLVMSub:
        case LLVMMul:
        case LLVMShl:
        case LLVMLShr:
        case LLVMAShr:
        case LLVMUDiv:
        case LLVMSDiv:
        case LLVMOr:
        case LLVMXor:
        case LLVMAnd:
        case LLVMZExt:
        case LLVMSExt:
        case LLVMTrunc:
        case LLVMSelect:
            if (leads_to_address(user, depth - 1, left))
                return true;
            break;
        default: break;
        }
    }
    return false;
}

/* Does v come from `to`, by steps as a recurrence has them? Loads and the like are none. Where the way is
 * longer than `depth`, it is taken to. */
static bool comes_from(lv v, lv to, unsigned depth) {
    if (v == to)
        return true;
    if (!LLVMIsAInstruction(v))
        return false;
    if (!depth)
        return true;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr:
    case LLVMXor:
    case LLVMMul:
        return comes_from(LLVMGetOperand(v, 0), to, depth - 1) ||
               comes_from(LLVMGetOperand(v, 1), to, depth - 1);
    case LLVMAnd:
    case LLVMURem:
    case LLVMShl:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMFreeze: return comes_from(LLVMGetOperand(v, 0), to, depth - 1);
    default: return false;
    }
}

/* The phi that v comes from, in a chain whose other operands are no loads; NULL: none. */
static lv origin(lv v, unsigned depth) {
    if (!depth || !LLVMIsAInstruction(v))
        return NULL;
    if (LLVMIsAPHINode(v))
        return v;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMOr:
    case LLVMXor: {
        lv x = origin(LLVMGetOperand(v, 0), depth - 1), y = LLVMGetOperand(v, 1);
        return x && !LLVMIsALoadInst(y) ? x : origin(y, depth - 1);
    }
    case LLVMAnd:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMFreeze: return origin(LLVMGetOperand(v, 0), depth - 1);
    default: return NULL;
    }
}

/* Is v part of what goes round: does the phi that it comes from get it back? */
static bool value_goes_round(lv v) {
    lv phi = origin(LLVMGetOperand(v, 0), ROUND);
    for (unsigned k = 0; phi && k < LLVMCountIncoming(phi); k++)
        if (comes_from(LLVMGetIncomingValue(phi, k), v, ROUND))
            return true;
    return false;
}

/* Low bits of a number, made wide again. */
static bool value_wraps(lv v) {
    int64_t c;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMZExt: return true;
    case LLVMAnd: return number(LLVMGetOperand(v, 1), &c) && c > 0;
    case LLVMURem: return number(LLVMGetOperand(v, 1), &c);
    default: return false;
    }
}

static bool is_hazard(lv v) {
    unsigned left = MOST;
    return value_goes_round(v) || (may_stride(LLVMGetOperand(v, 0)) && leads_to_address(v, DEEP, &left));
}

static void hide(LLVMBuilderRef at, lv v) {
    lv next = LLVMGetNextInstruction(v);
    assert(next && "what computes a number ends no block");
    LLVMPositionBuilderBefore(at, next);
    lv frozen = LLVMBuildFreeze(at, v, "");
    LLVMReplaceAllUsesWith(v, frozen);
    LLVMSetOperand(frozen, 0, v);
}

void tr_wraps_hide(LLVMModuleRef mod) {
    LLVMBuilderRef at = LLVMCreateBuilderInContext(LLVMGetModuleContext(mod));
    for (lv f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (lv v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
                if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind && value_wraps(v) && is_hazard(v))
                    hide(at, v);
    LLVMDisposeBuilder(at);
}
