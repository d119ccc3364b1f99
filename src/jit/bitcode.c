/* LLVM's bitcode of others, linked into a module of ours.
 *
 * What users link is compiled by whatever clang they have: for the same machine, but perhaps by another name
 * and with fewer of its features, which would keep it from being inlined. So its functions lose what says so,
 * and are what ours are. All files of a program become one module first, in which they find each other; then
 * everything in it is internal, so that none of its names meets one of ours.
 * Assembly is a GPU's: there is no assembler for the host here.
 * Cost: reading and linking 4 kB takes 0.3 ms. */
#include "jit/bitcode.h"

#include <assert.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

#include "jit/ptx_join.h"

static LLVMModuleRef parse(tr_ctx *ctx, LLVMContextRef lc, LLVMMemoryBufferRef buf, const char *name) {
    LLVMModuleRef lib = NULL;
    if (LLVMParseBitcodeInContext2(lc, buf, &lib)) {
        lib = NULL;
        tr_fail(ctx, TR_ERR_LOWERING, "%s holds no bitcode that this LLVM reads", name);
    }
    LLVMDisposeMemoryBuffer(buf);
    return lib;
}

LLVMModuleRef tr_bitcode_read(tr_ctx *ctx, LLVMContextRef lc, const char *path) {
    LLVMMemoryBufferRef buf;
    char *why = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buf, &why)) {
        tr_fail(ctx, TR_ERR_LOWERING, "cannot read %s: %s", path, why);
        LLVMDisposeMessage(why);
        return NULL;
    }
    return parse(ctx, lc, buf, path);
}

static const char *name_of(lv f) {
    size_t n;
    return LLVMGetValueName2(f, &n);
}

/* --- what users link --- */

static const char *extern_name(lv f) {
    enum { N = sizeof TR_EXTERN_PREFIX - 1 };
    return LLVMIsDeclaration(f) && !strncmp(name_of(f), TR_EXTERN_PREFIX, N) ? name_of(f) + N : NULL;
}

static bool is_for_gpu(LLVMModuleRef mod) {
    static const char gpu[] = "nvptx";
    return !strncmp(LLVMGetTarget(mod), gpu, sizeof gpu - 1);
}

/* What is made for another processor than the module is: a GPU's for the host, or the host's for a GPU. */
static bool is_for_another(LLVMModuleRef lib, LLVMModuleRef mod) {
    return *LLVMGetTarget(lib) && is_for_gpu(lib) != is_for_gpu(mod);
}

/* Has an instruction a text of assembly? An empty one is a barrier for the compiler alone. */
static bool is_assembly(lv i) {
    size_t n = 0;
    if (!LLVMIsACallInst(i) && !LLVMIsAInvokeInst(i) && !LLVMIsACallBrInst(i))
        return false;
    lv text = LLVMIsAInlineAsm(LLVMGetCalledValue(i));
    if (text)
        LLVMGetInlineAsmAsmString(text, &n);
    return n > 0;
}

static bool calls(lv i, const char *name) {
    lv f = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    return f && LLVMIsAFunction(f) && !strcmp(name_of(f), name);
}

/* Does it ask for an instruction of the processor's by name? */
static bool is_instruction(lv i) {
    static const char own[] = "llvm.x86.";
    lv f = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    return f && LLVMIsAFunction(f) && !strncmp(name_of(f), own, sizeof own - 1);
}

/* The features of a function that the processor lacks some of; NULL: it has them. LLVM would end the process
 * over an instruction that it cannot select. */
static const char *lacking(tr_ctx *ctx, lv f, LLVMTargetMachineRef tm, const tr_cpu *cpu) {
    static const char features[] = "target-features";
    unsigned n = 0;
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                       features, sizeof features - 1);
    const char *text = a ? LLVMGetStringAttributeValue(a, &n) : NULL;
    text = n ? tr_arena_printf(&ctx->arena, "%.*s", (int)n, text) : NULL;
    return text && !tr_cpus_covers(tm, cpu, text) ? text : NULL;
}

/* For the host there is no assembler: assembly is refused; and so are instructions that it has not. */
static bool is_for_host(tr_prog *p, LLVMModuleRef lib, const char *name, LLVMTargetMachineRef tm,
                        const tr_cpu *cpu) {
    static const char how[] =
        "which is not translated for the host: cuda.Object takes what an assembler makes";
    size_t n = 0;
    LLVMGetModuleInlineAsm(lib, &n);
    if (n)
        return tr_fail(p->ctx, TR_ERR_LOWERING, "%s has assembly outside functions, %s", name, how);
    for (lv f = LLVMGetFirstFunction(lib); f; f = LLVMGetNextFunction(f)) {
        bool by_name = false;
        for (lb b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (lv i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
                if (is_assembly(i))
                    return tr_fail(p->ctx, TR_ERR_LOWERING, "%s has assembly in %s(), %s", name, name_of(f),
                                   how);
                if (calls(i, "__syncthreads"))
                    return tr_fail(p->ctx, TR_ERR_LOWERING,
                                   "%s waits at a barrier in %s(): on the emulated device the threads of a "
                                   "block take turns, so a barrier stands in the kernel",
                                   name, name_of(f));
                by_name = by_name || is_instruction(i);
            }
        const char *lacks = by_name ? lacking(p->ctx, f, tm, cpu) : NULL;
        if (lacks)
            return tr_fail(p->ctx, TR_ERR_LOWERING,
                           "%s has instructions in %s() that the processor %s has not: it is made for %s",
                           name, name_of(f), cpu->name, lacks);
    }
    return true;
}

/* What each thread of the host has its own of (__shared__ in CUDA C: a thread runs a block) is asked of the
 * compiler's own library, which makes it at the first use and frees it with the thread: code that is loaded
 * here has no such memory. Its block for a variable: bytes, alignment, two words that are the library's, of
 * which the second is what it begins with, zeros. False: something else is done with the variable. */
static bool own_by_call(LLVMModuleRef lib, lv g) {
    static const char find[] = "__emutls_get_address", where[] = "llvm.threadlocal.address";
    LLVMContextRef lc = LLVMGetModuleContext(lib);
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(lib);
    lt word = LLVMInt64TypeInContext(lc), ptr = LLVMPointerTypeInContext(lc, 0),
       type = LLVMFunctionType(ptr, &ptr, 1, 0);
    lv fn = LLVMGetNamedFunction(lib, find), none = LLVMConstNull(word);
    if (!fn)
        fn = LLVMAddFunction(lib, find, type);
    lv init = LLVMGetInitializer(g);
    lv words[4] = {LLVMConstInt(word, LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g)), 0),
                   LLVMConstInt(word, LLVMGetAlignment(g) ? LLVMGetAlignment(g) : 16, 0), none, none};
    lv block = LLVMAddGlobal(lib, LLVMArrayType2(word, 4), "");
    LLVMSetInitializer(block, LLVMConstArray2(word, words, 4));
    LLVMSetLinkage(block, LLVMInternalLinkage);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(lc);
    for (LLVMUseRef u = LLVMGetFirstUse(g), next; u; u = next) {
        lv i = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (!LLVMIsACallInst(i) || strncmp(name_of(LLVMGetCalledValue(i)), where, sizeof where - 1) != 0)
            continue;
        LLVMPositionBuilderBefore(b, i);
        LLVMReplaceAllUsesWith(i, LLVMBuildCall2(b, type, fn, &block, 1, ""));
        LLVMInstructionEraseFromParent(i);
    }
    LLVMDisposeBuilder(b);
    return !LLVMGetFirstUse(g) && init && LLVMIsNull(init);
}

/* The variables of a file that are each thread's own. */
static bool own_variables(tr_prog *p, LLVMModuleRef lib, const char *name) {
    for (lv g = LLVMGetFirstGlobal(lib), next; g; g = next) {
        next = LLVMGetNextGlobal(g);
        if (!LLVMIsThreadLocal(g))
            continue;
        if (LLVMIsDeclaration(g) || !own_by_call(lib, g))
            return tr_fail(p->ctx, TR_ERR_LOWERING,
                           "%s has a variable %s of which each thread has its own: on the emulated device "
                           "that begins with zeros, and is defined where it is used",
                           name, name_of(g));
        LLVMDeleteGlobal(g);
    }
    return true;
}

/* All files as one module; NULL with an error. */
static LLVMModuleRef read_links(tr_prog *p, LLVMModuleRef mod, LLVMTargetMachineRef tm, const tr_cpu *cpu) {
    LLVMContextRef lc = LLVMGetModuleContext(mod);
    LLVMModuleRef all = LLVMModuleCreateWithNameInContext("links", lc);
    LLVMSetTarget(all, LLVMGetTarget(mod));
    LLVMSetDataLayout(all, LLVMGetDataLayoutStr(mod));
    for (uint32_t i = 0; i < p->links.n; i++) {
        const tr_link *l = &p->links.d[i];
        LLVMModuleRef lib =
            parse(p->ctx, lc, LLVMCreateMemoryBufferWithMemoryRangeCopy(l->data, l->size, l->name), l->name);
        if (lib && is_for_another(lib, mod)) {
            tr_fail(p->ctx, TR_ERR_LOWERING, "%s is made for %s, and this code for %s", l->name,
                    LLVMGetTarget(lib), LLVMGetTarget(mod));
            LLVMDisposeModule(lib);
        } else if (lib && LLVMGetNamedGlobal(lib, "llvm.global_ctors")) {
            tr_fail(p->ctx, TR_ERR_LOWERING,
                    "%s has variables whose values are computed when a program begins: nobody does that for "
                    "a kernel",
                    l->name);
            LLVMDisposeModule(lib);
        } else if (lib && !is_for_gpu(mod) &&
                   !(is_for_host(p, lib, l->name, tm, cpu) && own_variables(p, lib, l->name))) {
            LLVMDisposeModule(lib);
        } else if (lib) {
            LLVMStripModuleDebugInfo(lib);
            LLVMSetTarget(lib, LLVMGetTarget(mod));
            LLVMSetDataLayout(lib, LLVMGetDataLayoutStr(mod));
            if (!LLVMLinkModules2(all, lib)) /* takes lib */
                continue;
            tr_fail(p->ctx, TR_ERR_LOWERING,
                    "%s cannot be linked to the others: both have a function of one name", l->name);
        }
        LLVMDisposeModule(all);
        return NULL;
    }
    return all;
}

/* C++ gives a function a name with its arguments' types, unless it is told not to. */
static bool is_mangled(const char *symbol, const char *name) {
    size_t digits, n = strlen(name);
    if (strncmp(symbol, "_Z", 2) != 0)
        return false;
    digits = strspn(symbol + 2, "0123456789");
    return digits && strtoul(symbol + 2, NULL, 10) == n && !strncmp(symbol + 2 + digits, name, n);
}

static bool missing(tr_prog *p, LLVMModuleRef all, const char *name) {
    for (lv f = LLVMGetFirstFunction(all); f; f = LLVMGetNextFunction(f))
        if (is_mangled(name_of(f), name))
            return tr_fail(
                p->ctx, TR_ERR_LOWERING,
                "%s(), declared by declare_device, is C++'s %s in %s: write extern \"C\" before it", name,
                name_of(f), p->link_names);
    return p->link_names && *p->link_names
               ? tr_fail(p->ctx, TR_ERR_LOWERING, "%s(), declared by declare_device, is in none of: %s", name,
                         p->link_names)
               : tr_fail(
                     p->ctx, TR_ERR_LOWERING,
                     "%s(), declared by declare_device, is nowhere: nothing is linked to the kernel (link=)",
                     name);
}

static const char *shown(tr_ctx *ctx, lt type) {
    char *s = LLVMPrintTypeToString(type);
    const char *r = tr_arena_strdup(&ctx->arena, s);
    LLVMDisposeMessage(s);
    return r;
}

/* Calls of f are made as those of `to` are. */
static void call_alike(lv f, lv to) {
    for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
        lv call = LLVMGetUser(u);
        if (LLVMIsACallInst(call) && LLVMGetCalledValue(call) == f)
            LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(to));
    }
}

static bool check(tr_prog *p, LLVMModuleRef mod, LLVMModuleRef all) {
    for (lv f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f)) {
        const char *name = extern_name(f);
        if (!name)
            continue;
        lv to = LLVMGetNamedFunction(all, name);
        if ((!to || LLVMIsDeclaration(to)) && tr_ptx_has(p, name))
            continue;
        if (!to || LLVMIsDeclaration(to))
            return missing(p, all, name);
        lt is = LLVMGlobalGetValueType(to), want = LLVMGlobalGetValueType(f);
        if (is != want)
            return tr_fail(p->ctx, TR_ERR_LOWERING, "%s() is %s in what is linked (%s), and declared as %s",
                           name, shown(p->ctx, is), p->link_names, shown(p->ctx, want));
        call_alike(f, to);
    }
    return true;
}

/* What is internal is in no group of which a linker would take one. */
static void leave_group(lv g) {
    if (LLVMGetComdat(g))
        LLVMSetComdat(g, NULL);
}

/* A function is what ours are: for any processor that they are for, and to be inlined. */
static void make_ours(lv f) {
    static const char *const texts[] = {"target-cpu", "target-features", "tune-cpu"}, *const flags[] = {
                                                                                          "noinline",
                                                                                          "optnone"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        LLVMRemoveStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, texts[i],
                                         (unsigned)strlen(texts[i]));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                       LLVMGetEnumAttributeKindForName(flags[i], strlen(flags[i])));
}

/* What is in PTX is called by its own name, and may wait for other threads. */
static void leave_to_text(tr_arena *a, LLVMModuleRef mod) {
    static const char convergent[] = "convergent";
    LLVMAttributeRef waits = LLVMCreateEnumAttribute(
        LLVMGetModuleContext(mod), LLVMGetEnumAttributeKindForName(convergent, sizeof convergent - 1), 0);
    for (lv f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f)) {
        const char *name = extern_name(f);
        if (!name)
            continue;
        LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, waits);
        name = tr_arena_strdup(a, name); /* a part of the name that goes */
        LLVMSetValueName2(f, name, strlen(name));
    }
}

bool tr_bitcode_link(tr_prog *p, LLVMModuleRef mod, LLVMTargetMachineRef tm, const tr_cpu *cpu) {
    LLVMModuleRef all = read_links(p, mod, tm, cpu);
    if (!all || !check(p, mod, all)) {
        if (all)
            LLVMDisposeModule(all);
        return false;
    }
    static const char inlined[] = "alwaysinline";
    LLVMAttributeRef always = LLVMCreateEnumAttribute(
        LLVMGetModuleContext(mod), LLVMGetEnumAttributeKindForName(inlined, sizeof inlined - 1), 0);
    TR_VEC(const char *) names = {0};
    for (lv f = LLVMGetFirstFunction(all); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        const char *own = tr_arena_printf(&p->ctx->arena, TR_EXTERN_PREFIX "%s", name_of(f));
        make_ours(f);
        leave_group(f);
        if (LLVMGetNamedFunction(mod, own)) /* those that are called by ours */
            LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, always);
        LLVMSetValueName2(f, own, strlen(own));
        tr_vec_push(&p->ctx->arena, &names, own);
    }
    for (lv g = LLVMGetFirstGlobal(all); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g) && strncmp(name_of(g), "llvm.", 5) != 0) {
            leave_group(g);
            LLVMSetLinkage(g, LLVMInternalLinkage);
        }
    if (LLVMLinkModules2(mod, all)) /* takes it */
        return tr_fail(p->ctx, TR_ERR_LOWERING, "%s cannot be linked", p->link_names);
    for (uint32_t i = 0; i < names.n; i++)
        LLVMSetLinkage(LLVMGetNamedFunction(mod, names.d[i]), LLVMInternalLinkage);
    leave_to_text(&p->ctx->arena, mod);
    return true;
}
