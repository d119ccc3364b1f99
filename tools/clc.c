/* Makes of libclc's functions for NVIDIA's GPUs a library with libdevice's names: clc IN OUT.
 *
 * A machine without the CUDA toolkit has no libdevice. LLVM's libclc has the same functions under OpenCL's
 * names, as Itanium's rules mangle them (`_Z3sinf`); those of ir/math.def get the names that lowering asks
 * for, and all that they do not reach goes. What libdevice has a short float32 form of gets that name,
 * too. Run when Treadle is built, where libclc is (meson.build); what it writes lies beside the back end,
 * and is what driver/cuda.c finds last. */
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *name, *dev; /* libdevice's name for float64 */
    unsigned arity;
} row;

static const row rows[] = {
#define X(id, name, arity, intrinsic, f64, f32, dev, result) {name, dev, arity},
#include "ir/math.def"
#undef X
    {"pow", "__nv_pow", 2},
};

static const char *const quick[] = {"sin", "cos", "tan", "exp", "log", "log2", "log10", "pow"};

static int fail(const char *what, const char *why) {
    fprintf(stderr, "clc: %s: %s\n", what, why);
    return 1;
}

/* Gives a function its name. False: libclc does not have it. */
static bool take(LLVMModuleRef lib, const row *r, bool f32) {
    char from[64], to[64];
    const char *base = r->dev + strlen("__nv_");
    snprintf(from, sizeof from, "_Z%zu%s%.*s", strlen(base), base, (int)r->arity, f32 ? "fff" : "ddd");
    snprintf(to, sizeof to, "%s%s", r->dev, f32 ? "f" : "");
    LLVMValueRef f = LLVMGetNamedFunction(lib, from);
    if (!f || LLVMIsDeclaration(f))
        return fail("libclc has no function", from), false;
    LLVMSetValueName2(f, to, strlen(to));
    return true;
}

/* The short form of a float32 function is the function itself. */
static void put_quick(LLVMModuleRef lib, const char *name) {
    char to[64], from[64];
    snprintf(from, sizeof from, "__nv_%sf", name);
    snprintf(to, sizeof to, "__nv_fast_%sf", name);
    LLVMValueRef f = LLVMGetNamedFunction(lib, from), args[2];
    LLVMTypeRef type = LLVMGlobalGetValueType(f);
    LLVMValueRef g = LLVMAddFunction(lib, to, type);
    LLVMContextRef lc = LLVMGetModuleContext(lib);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(lc);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(lc, g, ""));
    LLVMGetParams(g, args);
    LLVMValueRef call = LLVMBuildCall2(b, type, f, args, LLVMCountParams(f), "");
    LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(f));
    LLVMBuildRet(b, call);
    LLVMDisposeBuilder(b);
}

static bool is_root(LLVMValueRef f) {
    size_t n;
    return !strncmp(LLVMGetValueName2(f, &n), "__nv_", 5);
}

/* All but the functions that were taken become the library's own, and go where nothing reaches them. */
static int prune(LLVMModuleRef lib) {
    for (LLVMValueRef f = LLVMGetFirstFunction(lib); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) {
            LLVMSetLinkage(f, is_root(f) ? LLVMExternalLinkage : LLVMInternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
        }
    for (LLVMValueRef g = LLVMGetFirstGlobal(lib); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g))
            LLVMSetLinkage(g, LLVMInternalLinkage);
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(lib, "globaldce,strip,strip-dead-prototypes", NULL, o);
    LLVMDisposePassBuilderOptions(o);
    return e ? fail("pruning", LLVMGetErrorMessage(e)) : 0;
}

/* libclc takes NaN as an integer to be 0, and finds its way in a table by it (sinh, cosh). LLVM leaves it
 * open, NVIDIA's GPUs make the least integer of a float64 NaN (and 0 of a float32 one), which is an address
 * far outside: so NaN becomes 0.0 first. */
static void tame_nan(LLVMModuleRef lib) {
    LLVMContextRef lc = LLVMGetModuleContext(lib);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(lc);
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(lc);
    for (LLVMValueRef f = LLVMGetFirstFunction(lib); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(f); at; at = LLVMGetNextBasicBlock(at))
            for (LLVMValueRef i = LLVMGetFirstInstruction(at); i; i = LLVMGetNextInstruction(i)) {
                if (LLVMGetInstructionOpcode(i) != LLVMFPToSI || LLVMTypeOf(LLVMGetOperand(i, 0)) != f64)
                    continue;
                LLVMValueRef x = LLVMGetOperand(i, 0);
                LLVMPositionBuilderBefore(b, i);
                LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, "");
                LLVMSetOperand(i, 0, LLVMBuildSelect(b, nan, LLVMConstNull(f64), x, ""));
            }
    LLVMDisposeBuilder(b);
}

/* Large arguments of sin, cos and tan read the digits of 2/pi in vectors of 16 bytes; libclc has the table at
 * any address, and its end amid the last of them. */
static void align_tables(LLVMModuleRef lib) {
    enum { VECTOR = 16 };
    LLVMContextRef lc = LLVMGetModuleContext(lib);
    LLVMTypeRef byte = LLVMInt8TypeInContext(lc);
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(lib);
    for (LLVMValueRef g = LLVMGetFirstGlobal(lib), next; g; g = next) {
        next = LLVMGetNextGlobal(g);
        LLVMTypeRef type = LLVMGlobalGetValueType(g);
        unsigned over = LLVMIsDeclaration(g) ? 0 : (unsigned)(LLVMABISizeOfType(layout, type) % VECTOR);
        if (LLVMGetAlignment(g) < VECTOR)
            LLVMSetAlignment(g, VECTOR);
        if (!over)
            continue;
        LLVMValueRef parts[] = {LLVMGetInitializer(g), LLVMConstNull(LLVMArrayType2(byte, VECTOR - over))};
        LLVMValueRef whole = LLVMConstStructInContext(lc, parts, 2, 1);
        LLVMValueRef padded = LLVMAddGlobalInAddressSpace(lib, LLVMTypeOf(whole), "",
                                                          LLVMGetPointerAddressSpace(LLVMTypeOf(g)));
        LLVMSetInitializer(padded, whole);
        LLVMSetAlignment(padded, LLVMGetAlignment(g));
        LLVMSetGlobalConstant(padded, LLVMIsGlobalConstant(g));
        LLVMSetLinkage(padded, LLVMInternalLinkage);
        LLVMReplaceAllUsesWith(g, padded);
        LLVMDeleteGlobal(g);
    }
}

/* What is called and is neither here nor LLVM's own. */
static int find_missing(LLVMModuleRef lib) {
    int bad = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(lib); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (LLVMIsDeclaration(f) && strncmp(name, "llvm.", 5) != 0)
            bad |= fail("a function that nobody has", name);
    }
    return bad;
}

/* LLVM's own would print what it does not like, and end the process. */
static void say_nothing(LLVMDiagnosticInfoRef d, void *p) {
    (void)d, (void)p;
}

int main(int argc, char **argv) {
    LLVMMemoryBufferRef buf;
    LLVMModuleRef lib;
    char *why = NULL;
    if (argc != 3)
        return fail("usage", "clc IN OUT");
    if (LLVMCreateMemoryBufferWithContentsOfFile(argv[1], &buf, &why))
        return fail(argv[1], why);
    LLVMContextRef lc = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(lc, say_nothing, NULL);
    if (LLVMParseBitcodeInContext2(lc, buf, &lib))
        return fail(argv[1],
                    "this LLVM does not read it; with an older libclc, or with -Dlibclc= without one, "
                    "it builds");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].dev && (!take(lib, &rows[i], false) || !take(lib, &rows[i], true)))
            return 1;
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
        put_quick(lib, quick[i]);
    tame_nan(lib);
    align_tables(lib);
    if (prune(lib) || find_missing(lib))
        return 1;
    return LLVMWriteBitcodeToFile(lib, argv[2]) ? fail(argv[2], "cannot be written") : 0;
}
