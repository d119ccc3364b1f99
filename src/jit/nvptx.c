/* NVIDIA's GPUs as LLVM has them: its target, and what of libdevice a module needs, linked into it.
 *
 * LLVM's target is set up when it is asked for first, so compiling for the host does not pay for it. Of
 * libdevice, functions that the module does not reach are deleted before it is linked: LLVM would copy
 * and then clean up all 352. What was linked is internal, so the inliner may take it apart. */
#include "jit/nvptx.h"

#include <assert.h>
#include <llvm-c/Linker.h>
#include <pthread.h>
#include <string.h>

#include "jit/bitcode.h"

/* --- the machine --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void) {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

tr_processor tr_nvptx_processor(const tr_processor *p) {
    static const struct {
        const char *name, *features;
    } newer[] = {
#define X(name, ptx) {name, ptx},
        TR_LLVM_NEWER_GPUS(X)
#undef X
            {NULL, NULL}};
    for (size_t i = 0; newer[i].name; i++)
        if (!strcmp(newer[i].name, p->name))
            return (tr_processor){newer[i].name, newer[i].name, newer[i].features};
    return *p;
}

LLVMTargetMachineRef tr_nvptx_machine(const tr_target *t, const tr_processor *proc, int level) {
    LLVMTargetRef target;
    char *why = NULL;
    pthread_once(&once, set_up);
    if (LLVMGetTargetFromTriple(t->triple, &target, &why)) {
        LLVMDisposeMessage(why);
        return NULL;
    }
    return LLVMCreateTargetMachine(target, t->triple, proc->cpu, proc->features,
                                   level ? LLVMCodeGenLevelDefault : LLVMCodeGenLevelNone, LLVMRelocDefault,
                                   LLVMCodeModelDefault);
}

/* --- libdevice --- */

static bool is_libdevice(lv f) {
    size_t n;
    return LLVMIsDeclaration(f) && !strncmp(LLVMGetValueName2(f, &n), "__nv_", 5);
}

const char *tr_nvptx_lacks(LLVMModuleRef mod) {
    size_t n;
    for (lv f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        if (is_libdevice(f))
            return LLVMGetValueName2(f, &n);
    return NULL;
}

/* What of the library is needed: a list of its functions, each once. */
typedef struct needed {
    tr_arena *a;
    TR_VEC(lv) fns;
} needed;

static void need(needed *k, lv f) {
    if (!f || LLVMIsDeclaration(f))
        return;
    for (uint32_t i = 0; i < k->fns.n; i++)
        if (k->fns.d[i] == f)
            return;
    tr_vec_push(k->a, &k->fns, f);
}

static void need_callees(needed *k, lv f) {
    for (lb b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (lv i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsACallInst(i))
                need(k, LLVMIsAFunction(LLVMGetCalledValue(i)));
}

static bool is_needed(const needed *k, lv f) {
    for (uint32_t i = 0; i < k->fns.n; i++)
        if (k->fns.d[i] == f)
            return true;
    return LLVMIsDeclaration(f);
}

static void drop_rest(const needed *k, LLVMModuleRef lib) {
    for (lv f = LLVMGetFirstFunction(lib), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (is_needed(k, f))
            continue;
        LLVMReplaceAllUsesWith(f, LLVMGetUndef(LLVMTypeOf(f))); /* by others that go too */
        LLVMDeleteFunction(f);
    }
}

/* Whether float32 operations of the library keep small numbers. */
static void say_denormals(LLVMModuleRef mod, bool flush) {
    static const char flag[] = "nvvm-reflect-ftz";
    lt i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(mod));
    assert(!LLVMGetModuleFlag(mod, flag, sizeof flag - 1) && "what small numbers become is said once");
    LLVMAddModuleFlag(mod, LLVMModuleFlagBehaviorOverride, flag, sizeof flag - 1,
                      LLVMValueAsMetadata(LLVMConstInt(i32, flush, 0)));
}

bool tr_nvptx_link(tr_ctx *ctx, LLVMModuleRef mod, const char *path, bool flush) {
    if (!tr_nvptx_lacks(mod))
        return true;
    LLVMModuleRef lib = tr_bitcode_read(ctx, LLVMGetModuleContext(mod), path);
    if (!lib)
        return false;
    needed k = {.a = &ctx->arena};
    size_t n;
    for (lv f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        if (is_libdevice(f))
            need(&k, LLVMGetNamedFunction(lib, LLVMGetValueName2(f, &n)));
    for (uint32_t i = 0; i < k.fns.n; i++)
        need_callees(&k, k.fns.d[i]);
    drop_rest(&k, lib);
    LLVMSetTarget(lib, LLVMGetTarget(mod));
    LLVMSetDataLayout(lib, LLVMGetDataLayoutStr(mod));
    const char **names = TR_NEW_N(&ctx->arena, const char *, k.fns.n + 1u);
    for (uint32_t i = 0; i < k.fns.n; i++)
        names[i] = tr_arena_strdup(&ctx->arena, LLVMGetValueName2(k.fns.d[i], &n));
    if (LLVMLinkModules2(mod, lib)) /* takes lib */
        return tr_fail(ctx, TR_ERR_LOWERING, "%s cannot be linked", path);
    for (uint32_t i = 0; i < k.fns.n; i++)
        LLVMSetLinkage(LLVMGetNamedFunction(mod, names[i]), LLVMInternalLinkage);
    say_denormals(mod, flush);
    return true;
}
