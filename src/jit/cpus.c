/* What is known of processors: widths of vectors, gathers, and which of them runs what.
 *
 * LLVM knows the instructions of every processor it can name, but its C API does not tell. It does decide by
 * them whether a function may be inlined into another: where the one is for processor A and the other for B,
 * it may if B has all that A has. So that is how we ask. */
#include "jit/cpus.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TR_CPU__COUNT] = {
#define X(id, text) [TR_CPU_##id] = text,
    TR_CPUS(X)
#undef X
};

/* --- what pays where --- */

/* Widest vectors that pay: 512 bits where the processor has all of AVX-512 that numerical code
 * uses. Zen 4 computes them in two halves: they are no faster there, and leave more of a short
 * loop to the scalar remainder. In functions of mathematics they are (half the instructions, no
 * more time on each): half as fast again. */
static unsigned widest(const char *name, const char *features, bool math) {
    if (!strcmp(name, "znver4") && !math)
        return 256;
    return strstr(features, "+avx512dq") && strstr(features, "+avx512vl") ? 512 : 256;
}

/* Gathers and scatters are slow on AMD's processors (three times slower than one load after the other on Zen
 * 4), and on Intel's whose microcode guards them against speculation: all before Sapphire Rapids. That one's
 * core and its successor's gather at twice the rate of single loads (measured on Emerald Rapids). */
#define ONE_BY_ONE ",+prefer-no-gather,+prefer-no-scatter"
static const char *tuning(const char *name) {
    static const char *const gather[] = {"sapphirerapids", "emeraldrapids", "graniterapids",
                                         "graniterapids-d"};
    for (size_t i = 0; i < sizeof gather / sizeof *gather; i++)
        if (!strcmp(name, gather[i]))
            return "";
    return ONE_BY_ONE;
}

/* --- who runs what --- */

/* What no code of ours asks for, so that its lack keeps nothing from running: virtual
 * machines hide some of these. */
#define ONLY_BY_NAME                                                                                         \
    "-amx-bf16,-amx-complex,-amx-fp16,-amx-int8,-amx-tile,-avx512vp2intersect,-cldemote,-clflushopt,-clwb,-" \
    "clzero,-cmpccxadd,"                                                                                     \
    "-enqcmd,-fsgsbase,-hreset,-invpcid,-kl,-lwp,-movdir64b,-movdiri,-mwaitx,-pconfig,-pku,-prefetchi,"      \
    "-prfchw,-ptwrite,-raoint,-rdpid,-rdpru,-rdrnd,-rdseed,-serialize,-sgx,-shstk,-sse4a,-tsxldtrk,-uintr,"  \
    "-usermsr,-waitpkg,-wbnoinvd,-widekl,-xsavec,-xsaveopt,-xsaves"

/* What LLVM takes for instructions when it inlines, and is a matter of speed. */
#define NO_INSTRUCTIONS "-fast-imm16,-fast-movbe,-prefer-movmsk-over-vtest,-sbb-dep-breaking"

static LLVMValueRef function_for(LLVMModuleRef mod, const char *name, const char *cpu, const char *features) {
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(mod));
    LLVMValueRef f = LLVMAddFunction(mod, name, LLVMFunctionType(i32, NULL, 0, 0));
    LLVMAddTargetDependentFunctionAttr(f, "target-cpu", cpu);
    LLVMAddTargetDependentFunctionAttr(f, "target-features", features);
    LLVMAppendBasicBlockInContext(LLVMGetModuleContext(mod), f, "");
    return f;
}

/* Has processor b all the instructions that code for a may hold? */
static bool processor_covers(LLVMTargetMachineRef tm, const char *b, const char *b_has, const char *a,
                             const char *a_has) {
    LLVMContextRef lc = LLVMContextCreate();
    LLVMModuleRef mod = LLVMModuleCreateWithNameInContext("processors", lc);
    LLVMBuilderRef at = LLVMCreateBuilderInContext(lc);
    LLVMValueRef callee = function_for(mod, "a", a, a_has), caller = function_for(mod, "b", b, b_has);
    LLVMPositionBuilderAtEnd(at, LLVMGetFirstBasicBlock(callee));
    LLVMBuildRet(at, LLVMConstInt(LLVMInt32TypeInContext(lc), 1, 0));
    LLVMPositionBuilderAtEnd(at, LLVMGetFirstBasicBlock(caller));
    LLVMBuildRet(at, LLVMBuildCall2(at, LLVMGlobalGetValueType(callee), callee, NULL, 0, ""));
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef err = LLVMRunPasses(mod, "cgscc(inline)", tm, o);
    bool inlined = !err && LLVMIsAReturnInst(LLVMGetFirstInstruction(LLVMGetFirstBasicBlock(caller)));
    if (err)
        LLVMConsumeError(err);
    LLVMDisposePassBuilderOptions(o);
    LLVMDisposeBuilder(at);
    LLVMDisposeModule(mod);
    LLVMContextDispose(lc);
    return inlined;
}

/* What of a level's features lowering asks for; LLVM knows the rest by the level's name. */
static const struct {
    const char *name, *features;
    unsigned bits;
} levels[] = {
    {"x86-64", "+sse2", 128},
    {"x86-64-v2", "+sse2,+sse4.1,+sse4.2", 128},
    {"x86-64-v3", "+sse2,+sse4.1,+sse4.2,+avx,+avx2,+fma,+bmi2", 256},
    {"x86-64-v4",
     "+sse2,+sse4.1,+sse4.2,+avx,+avx2,+fma,+bmi2,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl", 512},
};
enum { LEVELS = sizeof levels / sizeof *levels };

/* The highest level that the processor has. AVX without AVX2 makes none of its own. */
static unsigned level_of(LLVMTargetMachineRef tm, const char *name) {
    unsigned k = LEVELS - 1;
    while (k && !processor_covers(tm, name, "", levels[k].name, ""))
        k--;
    return k;
}

static char *joined(const char *a, const char *b, const char *c) {
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *s = malloc(n);
    if (s)
        snprintf(s, n, "%s%s%s", a, b, c);
    return s;
}

/* --- the door --- */

bool tr_cpus_covers(LLVMTargetMachineRef tm, const tr_cpu *c, const char *features) {
    char *asked = joined(features, ",", NO_INSTRUCTIONS);
    bool yes = asked && processor_covers(tm, c->name, c->features, "x86-64", asked);
    free(asked);
    return yes;
}

LLVMTargetMachineRef tr_cpus_machine(const tr_cpu *c, LLVMTargetRef target, const char *triple, int level) {
    LLVMCodeGenOptLevel cg = level == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
    return LLVMCreateTargetMachine(target, triple, c->name, c->features, cg, LLVMRelocPIC,
                                   LLVMCodeModelSmall);
}

bool tr_cpus_host(tr_cpu *out) {
    char *found = LLVMGetHostCPUFeatures();
    const char *name = LLVMGetHostCPUName();
    *out = (tr_cpu){.name = name, .features = joined(found, tuning(name), "")};
    out->vector_bits = widest(name, found, false);
    out->math_bits = widest(name, found, true);
    LLVMDisposeMessage(found);
    return out->features;
}

bool tr_cpus_named(unsigned which, const tr_cpu *host, LLVMTargetRef target, const char *triple,
                   tr_cpu *out) {
    assert(which != TR_CPU_NATIVE && which < TR_CPU__COUNT && "a processor that has a name");
    const char *name = names[which];
    LLVMTargetMachineRef tm = tr_cpus_machine(host, target, triple, 0);
    unsigned k = level_of(tm, name), wide = levels[k].bits;
    *out = (tr_cpu){.name = name, .features = joined(levels[k].features, "," ONLY_BY_NAME, tuning(name))};
    out->vector_bits = wide < 256 ? wide : widest(name, levels[k].features, false);
    out->math_bits = wide < 256 ? wide : widest(name, levels[k].features, true);
    out->foreign = !processor_covers(tm, host->name, host->features, name, ONLY_BY_NAME "," NO_INSTRUCTIONS);
    LLVMDisposeTargetMachine(tm);
    return out->features;
}
