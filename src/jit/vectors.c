/* Rows of a report for the vectors of LLVM's optimised code: types of what its instructions take or give, at
 * the lines they come from, through inlined calls. What only moves lanes about, and masks, are not counted.
 * Nothing here changes the module. Cost: linear, and only where a report is asked for. */
#include "jit/vectors.h"

#include <assert.h>
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "base/map.h"

typedef struct teller {
    tr_ctx *c;
    tr_smap told; /* "file:line:text" */
} teller;

/* Python's name of an element's type, or NULL: it is no number, or a bit of a mask. LLVM does not say which
 * integers have a sign. */
static const char *element(LLVMTypeRef t) {
    switch (LLVMGetTypeKind(t)) {
    case LLVMDoubleTypeKind: return "float64";
    case LLVMFloatTypeKind: return "float32";
    case LLVMHalfTypeKind: return "float16";
    case LLVMIntegerTypeKind:
        switch (LLVMGetIntTypeWidth(t)) {
        case 8: return "int8";
        case 16: return "int16";
        case 32: return "int32";
        case 64: return "int64";
        default: return NULL;
        }
    default: return NULL;
    }
}

static void tell_at(teller *t, const char *file, size_t nfile, unsigned line, const char *text) {
    tr_arena *a = &t->c->arena;
    const char *path = tr_arena_strndup(a, file, nfile);
    const char *key = tr_arena_printf(a, "%s:%u:%s", path, line, text);
    if (!line || tr_smap_get(&t->told, key, strlen(key)))
        return;
    tr_smap_set(a, &t->told, key, strlen(key), t);
    tr_remark_add(t->c, TR_REMARK_VECTOR, (tr_place){.file = path, .span.line = (int32_t)line}, "%s", text);
}

/* What an instruction says of its line, or NULL. Loops that LLVM has made calls of are there as these. */
static const char *text_of(teller *t, LLVMValueRef in) {
    if (LLVMIsAMemIntrinsic(in))
        return LLVMIsAConstantInt(LLVMGetOperand(in, 2)) ? NULL
               : LLVMIsAMemSetInst(in)                   ? "memory is filled in one go"
                                                         : "memory is copied in one go";
    bool operand = LLVMIsAStoreInst(in) || LLVMIsACmpInst(in); /* what it compares, and not the mask */
    LLVMTypeRef ty = LLVMTypeOf(operand ? LLVMGetOperand(in, 0) : in);
    if (LLVMGetTypeKind(ty) != LLVMVectorTypeKind || LLVMIsAShuffleVectorInst(in) ||
        LLVMIsAInsertElementInst(in) || LLVMIsAPHINode(in))
        return NULL;
    const char *elem = element(LLVMGetElementType(ty));
    assert(LLVMGetVectorSize(ty) > 0);
    return elem ? tr_arena_printf(&t->c->arena, "%s x %u", elem, LLVMGetVectorSize(ty)) : NULL;
}

static void tell(teller *t, LLVMValueRef in) {
    const char *text = text_of(t, in);
    LLVMMetadataRef at = text ? LLVMInstructionGetDebugLoc(in) : NULL;
    for (; at; at = LLVMDILocationGetInlinedAt(at)) {
        LLVMMetadataRef file = LLVMDIScopeGetFile(LLVMDILocationGetScope(at));
        unsigned n = 0;
        const char *name = file ? LLVMDIFileGetFilename(file, &n) : NULL;
        if (name)
            tell_at(t, name, n, LLVMDILocationGetLine(at), text);
    }
}

void tr_vectors_tell(tr_ctx *c, LLVMModuleRef mod) {
    teller t = {.c = c};
    for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef in = LLVMGetFirstInstruction(b); in; in = LLVMGetNextInstruction(in))
                tell(&t, in);
}
