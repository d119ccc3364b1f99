/* The back end behind jit/backend.h: lower, run LLVM's passes, emit an object. Stateless
 * but for what each thread keeps.
 *
 * LLVM is set up once per process; a TargetMachine, which is costly and not shareable, once per thread and
 * level, freed when the thread ends. Context and module live for one compile. Nothing of LLVM's is
 * printed: diagnostics are collected and become part of the error. When LLVM gives up for good it ends the
 * process; the handler says why on the way out.
 * Out of memory: the arena jumps to the handler here, no LLVM frame lies between, and the
 * context is disposed of. */
#include "jit/backend.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit/bitcode.h"
#include "jit/choices.h"
#include "lower/compat.h"
#include "jit/cpus.h"
#include "jit/nontemporal.h"
#include "jit/nvptx.h"
#include "jit/pipeline.h"
#include "jit/ptx_join.h"
#include "jit/vectors.h"
#include "jit/wraps.h"
#include "lower/lower.h"

static bool compile(tr_prog *p, const tr_want *want, tr_object *out);
static const char *target(void);

/* --- once per process --- */

typedef struct host {
    LLVMTargetRef target;
    char *triple, *layout;
    tr_cpu cpu;
    char version[64], name[4096]; /* name: CPU and features, for the cache key */
    const char *failed;           /* NULL: fine */
    tr_backend door;
} host;

static host the_host; /* written once under `once`, constant afterwards */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t machines_key;

static void last_words(const char *reason) {
    static const char before[] = "treadle: LLVM cannot go on: ";
    ssize_t n = write(STDERR_FILENO, before, sizeof before - 1);
    n = write(STDERR_FILENO, reason, strlen(reason));
    n = write(STDERR_FILENO, "\n", 1);
    (void)n;
}

/* What a thread keeps of each processor that it made code for. */
typedef struct machine {
    tr_cpu cpu;
    LLVMTargetMachineRef tm[2]; /* code generation level 0; default */
} machine;

static void free_machines(void *p) {
    machine *m = p;
    for (int i = 0; i < TR_CPU__COUNT; i++) {
        for (int k = 0; k < 2; k++)
            if (m[i].tm[k])
                LLVMDisposeTargetMachine(m[i].tm[k]);
        if (i != TR_CPU_NATIVE)
            free(m[i].cpu.features);
    }
    free(m);
}

static void describe(host *h) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(h->version, sizeof h->version, "llvm %u.%u.%u, rec %d", major, minor, patch, TR_REC_VERSION);
    snprintf(h->name, sizeof h->name, "%s %s v%u", h->cpu.name, h->cpu.features, h->cpu.vector_bits);
}

static void set_up(void) {
    host *h = &the_host;
    LLVMInstallFatalErrorHandler(last_words);
    /* The pass moves masks between kinds of registers. It looks at all uses of each register
     * again and again, a tenth of the time that twice the code takes beyond twice the time,
     * and changes none of the benchmarks.
     * A conversion to float writes half a register, and so waits for whoever wrote the other half. LLVM
     * clears the register where that was not long ago, but does not count what a callee writes: a loop that
     * converts and calls a function of mathematics ran its rounds one after the other (2 to 3 times as long).
     * Farther than any distance, it always clears; that takes no unit's time. What vectors of eight items and
     * more leave of a loop goes in shorter ones: rows of 8 to 31 float32 take a third to a half of the time.
     * For vectors of four it would be two items at a time, which is little where one vector is taken at a
     * time (lower/loops.c), and costs 7 % of all compile time instead of 1. The scheduler asks each load and
     * store of a block about all before it, up to so many; what a tuple of 250 arrays is returned by are
     * thousands, which took the square of their number (a tenth of the time now). */
    static const char *const options[] = {
        "treadle", "-disable-x86-domain-reassignment", "-undef-reg-clearance=4194304",
        "-epilogue-vectorization-minimum-VF=8", "-dag-maps-huge-region=250"};
    LLVMParseCommandLineOptions(sizeof options / sizeof *options, options, NULL);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    char *why = NULL;
    h->triple = LLVMGetDefaultTargetTriple();
    if (!tr_cpus_host(&h->cpu) || pthread_key_create(&machines_key, free_machines)) {
        h->failed = "not enough memory to set up LLVM";
        return;
    }
    if (LLVMGetTargetFromTriple(h->triple, &h->target, &why)) {
        h->failed = "this LLVM has no code generator for the host";
        LLVMDisposeMessage(why);
        return;
    }
    LLVMTargetMachineRef tm = tr_cpus_machine(&h->cpu, h->target, h->triple, 0);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(tm);
    h->layout = LLVMCopyStringRepOfTargetData(data);
    LLVMDisposeTargetData(data);
    LLVMDisposeTargetMachine(tm);
    describe(h);
}

static void set_up_once(void) {
    set_up();
    the_host.door = (tr_backend){TR_BACKEND_ABI, the_host.version, compile, target};
}

/* --- once per thread --- */

/* The processor, and how code is made for it at this level; NULL: no memory. */
static const machine *machine_for(unsigned which, int level) {
    const host *h = &the_host;
    assert(which < TR_CPU__COUNT && !h->failed && "a processor that is known, and LLVM set up");
    machine *all = pthread_getspecific(machines_key);
    if (!all) {
        all = calloc(TR_CPU__COUNT, sizeof *all);
        if (!all || pthread_setspecific(machines_key, all)) {
            free(all);
            return NULL;
        }
        all[TR_CPU_NATIVE].cpu = h->cpu;
    }
    machine *m = &all[which];
    if (!m->cpu.features && !tr_cpus_named(which, &h->cpu, h->target, h->triple, &m->cpu))
        return NULL;
    if (!m->tm[level != 0])
        m->tm[level != 0] = tr_cpus_machine(&m->cpu, h->target, h->triple, level);
    return m->tm[level != 0] ? m : NULL;
}

/* --- one compile --- */

typedef struct job {
    tr_prog *p;
    tr_ctx *ctx;
    const tr_want *want;
    tr_object *out;
    LLVMContextRef lc;
    LLVMModuleRef mod;
    const tr_target *target;
    LLVMTargetMachineRef tm;
    const tr_cpu *cpu;
    tr_lower_made made;
    char diag[512]; /* the first error LLVM reported */
} job;

static void on_diagnostic(LLVMDiagnosticInfoRef d, void *p) {
    job *j = p;
    if (LLVMGetDiagInfoSeverity(d) != LLVMDSError || j->diag[0])
        return;
    char *s = LLVMGetDiagInfoDescription(d);
    snprintf(j->diag, sizeof j->diag, "%s", s);
    LLVMDisposeMessage(s);
}

static bool refuse(job *j, const char *what, const char *why) {
    return tr_fail(j->ctx, TR_ERR_LOWERING, "%s: %s", what, why && *why ? why : j->diag);
}

static bool verify(job *j, const char *when) {
    char *why = NULL;
    bool bad = LLVMVerifyModule(j->mod, LLVMReturnStatusAction, &why);
    if (bad)
        refuse(j, when, why);
    LLVMDisposeMessage(why);
    return !bad;
}

static void show_module(const job *j, tr_sb *sink) {
    if (!sink)
        return;
    char *s = LLVMPrintModuleToString(j->mod);
    tr_sb_puts(sink, s);
    LLVMDisposeMessage(s);
}

/* Code generation changes the module, so the text is made from a copy. */
static bool show_assembly(job *j, tr_sb *sink) {
    if (!sink)
        return true;
    LLVMModuleRef copy = LLVMCloneModule(j->mod);
    LLVMMemoryBufferRef buf = NULL;
    char *why = NULL;
    bool ok = !LLVMTargetMachineEmitToMemoryBuffer(j->tm, copy, LLVMAssemblyFile, &why, &buf);
    if (ok) {
        tr_sb_write(sink, LLVMGetBufferStart(buf), LLVMGetBufferSize(buf));
        LLVMDisposeMemoryBuffer(buf);
    } else {
        refuse(j, "no assembly", why);
        LLVMDisposeMessage(why);
    }
    LLVMDisposeModule(copy);
    return ok;
}

static bool run(job *j, const char *pipeline) {
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(o, 1);
    LLVMPassBuilderOptionsSetSLPVectorization(o, 1);
    LLVMPassBuilderOptionsSetLoopInterleaving(o, 1);
    LLVMPassBuilderOptionsSetLoopUnrolling(o, 1);
    LLVMErrorRef err = LLVMRunPasses(j->mod, pipeline, j->tm, o);
    LLVMDisposePassBuilderOptions(o);
    if (!err)
        return true;
    char *why = LLVMGetErrorMessage(err);
    refuse(j, "LLVM's passes failed", why);
    LLVMDisposeErrorMessage(why);
    return false;
}

/* LLVM's default<O3> in two halves: the first, which linkers know, makes no vectors. */
static bool run_default(job *j) {
    if (!run(j, "thinlto-pre-link<O3>,function<eager-inv>(" TR_O3_NESTED ")"))
        return false;
    tr_wraps_hide(j->mod);
    return run(j, "function<eager-inv>(" TR_O3_SECOND ")");
}

/* REC for what lowering made, in one go, or in two with something between them: a second run costs 0.1 ms. */
static bool run_rec(job *j) {
    const tr_lower_made *made = &j->made;
    const char *first = tr_arena_printf(
        &j->ctx->arena, "%sfunction<eager-inv>(%s%s%s%s", made->calls || made->externs ? TR_REC_INLINE : "",
        TR_REC_FIRST, made->nested ? TR_REC_NESTED : "", made->powers ? TR_REC_POWERS : "", TR_REC_VALUES);
    const char *second =
        tr_arena_printf(&j->ctx->arena, "%s%s%s%s", TR_REC_VECTORS, made->carried ? TR_REC_CARRIED : "",
                        TR_REC_SECOND, made->complex ? TR_REC_PAIRS : "");
    if (!made->choices && !made->wraps)
        return run(j, tr_arena_printf(&j->ctx->arena, "%s,%s)", first, second));
    if (!run(j, tr_arena_printf(&j->ctx->arena, "%s)", first)))
        return false;
    if (made->choices)
        tr_choices_expand(j->mod);
    if (made->wraps)
        tr_wraps_hide(j->mod);
    return run(j, tr_arena_printf(&j->ctx->arena, "function<eager-inv>(%s)", second));
}

static bool run_pipeline(job *j) {
    if (j->target->form == TR_FORM_PTX) /* LLVM's own pipeline knows what to do for it */
        return run(j, j->ctx->opts.opt_level ? "default<O3>" : "default<O0>");
    switch (j->ctx->opts.opt_level) {
    case 0: return run(j, TR_REC_STUB);
    case 3: return run_default(j);
    default: return run_rec(j);
    }
}

static bool run_passes(job *j) {
    if (!run_pipeline(j))
        return false;
    assert((!j->made.past || j->target->form == TR_FORM_ELF) && "a GPU has no caches to go past");
    if (!j->made.past)
        return true;
    if (!run(j, TR_ALIGNED))
        return false;
    tr_nontemporal_mark(j->mod, j->made.past);
    return true;
}

static bool emit(job *j) {
    char *why = NULL;
    LLVMMemoryBufferRef buf = NULL;
    LLVMCodeGenFileType form = j->target->form == TR_FORM_PTX ? LLVMAssemblyFile : LLVMObjectFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(j->tm, j->mod, form, &why, &buf)) {
        refuse(j, "no code could be generated", why);
        LLVMDisposeMessage(why);
        return false;
    }
    assert(!j->out->elf && "code is made once");
    bool ok = j->diag[0] == 0 || refuse(j, "no code could be generated", j->diag);
    const char *made = LLVMGetBufferStart(buf);
    size_t n = LLVMGetBufferSize(buf);
    tr_sb joined;
    tr_sb_init(&joined);
    if (j->made.externs && form == LLVMAssemblyFile && j->p->texts.n) {
        tr_ptx_join(j->p, made, n, &joined);
        made = joined.d;
        n = joined.n;
    }
    j->out->elf = ok ? malloc(n) : NULL;
    if (j->out->elf) {
        memcpy(j->out->elf, made, n);
        j->out->size = n;
    } else if (ok) {
        ok = tr_fail(j->ctx, TR_ERR_MEMORY, "not enough memory for %zu bytes of machine code", n);
    }
    tr_sb_fini(&joined);
    LLVMDisposeMemoryBuffer(buf);
    return ok;
}

/* What the module calls and no other file brings. */
static bool link_math(job *j) {
    const char *path = j->want->libdevice;
    if (j->target->math != TR_MATH_LIBDEVICE || (path && !*path))
        return true;
    const char *lacks = tr_nvptx_lacks(j->mod);
    if (lacks && !path)
        return tr_fail(j->ctx, TR_ERR_LOWERING,
                       "%s is a function of libdevice, which was not found: CUDA_HOME says where the CUDA "
                       "toolkit is, and with "
                       "libclc-19 installed Treadle can be built to have its own",
                       lacks);
    if (!lacks || !tr_nvptx_link(j->ctx, j->mod, path, j->want->device.flush))
        return !lacks;
    lacks = tr_nvptx_lacks(j->mod);
    return !lacks || tr_fail(j->ctx, TR_ERR_LOWERING, "%s has no function %s", path, lacks);
}

/* What the program has beside its own code. What nobody calls of it goes, as it may call what is not here. */
static bool link_externs(job *j) {
    return !j->made.externs || (tr_bitcode_link(j->p, j->mod, j->tm, j->cpu) && run(j, "globaldce"));
}

static bool stages(job *j) {
    tr_ctx *ctx = j->ctx;
    const tr_want *t = j->want;
    bool texts = t->llvm || t->llvmopt;
    tr_lower_want want = {.target = j->target,
                          .wanted = t->functions,
                          .device = t->device,
                          .vector_bits = j->cpu->vector_bits,
                          .math_bits = j->cpu->math_bits,
                          .features = j->cpu->features,
                          .names = texts};
    LLVMContextSetDiscardValueNames(j->lc, !texts);
    uint64_t t0 = tr_now_ns();
    if (!tr_lower_program(j->p, j->lc, j->mod, &want, &j->made, &j->out->meta))
        return false;
    uint64_t t1 = tr_now_ns();
    ctx->stage_ns[TR_STAGE_LLVM] += t1 - t0;
    show_module(j, t->llvm);
    if (ctx->dump.verify && !verify(j, "lowering made a wrong module"))
        return false;
    t1 = tr_now_ns();
    if (tr_ctx_stop(ctx) || !link_externs(j) || !link_math(j) || !run_passes(j))
        return false;
    uint64_t t2 = tr_now_ns();
    ctx->stage_ns[TR_STAGE_LLVMOPT] += t2 - t1;
    show_module(j, t->llvmopt);
    if (tr_remarks_wanted(ctx))
        tr_vectors_tell(ctx, j->mod);
    if (!show_assembly(j, t->assembly))
        return false;
    t2 = tr_now_ns();
    if (tr_ctx_stop(ctx))
        return false;
    bool ok = emit(j);
    ctx->stage_ns[TR_STAGE_ASM] += tr_now_ns() - t2;
    return ok;
}

/* The rest of a compile: `tm` makes code, `triple` and `layout` are the module's. */
static bool compile_for(job j, const char *triple, const char *layout) {
    tr_ctx *ctx = j.ctx;
    assert(j.tm && j.cpu && j.target && "what code is made for is known");
    j.lc = LLVMContextCreate();
    j.mod = LLVMModuleCreateWithNameInContext("treadle", j.lc);
    LLVMSetTarget(j.mod, triple);
    LLVMSetDataLayout(j.mod, layout);
    LLVMContextSetDiagnosticHandler(j.lc, on_diagnostic, &j);
    LLVMContextRef lc = j.lc;
    jmp_buf *outer = ctx->arena.oom, here;
    bool ok;
    if (setjmp(here)) {
        LLVMContextDispose(lc); /* and the module with it */
        ctx->arena.oom = outer;
        if (outer)
            longjmp(*outer, 1);
        abort(); /* the arena's rule when nobody handles it */
    }
    ctx->arena.oom = &here;
    ok = stages(&j);
    assert(ctx->arena.oom == &here && "each stage gives back the handler that it found");
    ctx->arena.oom = outer;
    LLVMDisposeModule(j.mod);
    LLVMContextDispose(lc);
    if (!ok && !ctx->nerrs)
        tr_fail(ctx, TR_ERR_INTERNAL, "the back end failed without saying why");
    return ok;
}

static bool compile_host(job j) {
    tr_ctx *ctx = j.ctx;
    if (ctx->opts.cpu >= TR_CPU__COUNT)
        return tr_fail(ctx, TR_ERR_LOWERING, "TREADLE_CPU names no processor that is known");
    const machine *m = machine_for(ctx->opts.cpu, ctx->opts.opt_level);
    if (!m)
        return tr_fail(ctx, TR_ERR_MEMORY, "not enough memory for LLVM");
    j.out->foreign = m->cpu.foreign;
    j.tm = m->tm[ctx->opts.opt_level != 0];
    j.cpu = &m->cpu;
    return compile_for(j, the_host.triple, the_host.layout);
}

static bool compile_device(job j) {
    static const tr_cpu none = {.features = ""};
    const tr_processor *proc = j.want->processor ? j.want->processor : j.target->processors;
    if (!tr_target_check(j.target, j.p, j.want->functions))
        return false;
    tr_processor own = tr_nvptx_processor(proc);
    if (j.ctx->opts.debug) /* which LLVM's sections for a debugger need */
        own.features = tr_arena_printf(&j.ctx->arena, "%s,+ptx75", own.features);
    j.tm = tr_nvptx_machine(j.target, &own, j.ctx->opts.opt_level);
    if (!j.tm)
        return tr_fail(j.ctx, TR_ERR_LOWERING, "this LLVM makes no code for %s", j.target->name);
    j.cpu = &none;
    j.out->foreign = true;
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(j.tm);
    char *layout = LLVMCopyStringRepOfTargetData(data);
    bool ok = compile_for(j, j.target->triple, layout);
    LLVMDisposeMessage(layout);
    LLVMDisposeTargetData(data);
    LLVMDisposeTargetMachine(j.tm);
    return ok;
}

static bool compile(tr_prog *p, const tr_want *want, tr_object *out) {
    static const tr_want nothing;
    pthread_once(&once, set_up_once);
    *out = (tr_object){0};
    if (the_host.failed)
        return tr_fail(p->ctx, TR_ERR_LOWERING, "%s", the_host.failed);
    job j = {.p = p, .ctx = p->ctx, .want = want ? want : &nothing, .out = out};
    j.target = j.want->target ? j.want->target : &tr_target_x86_64;
    return j.target->form == TR_FORM_ELF
               ? compile_host(j)
               : compile_device(j); /* tables of several libraries: not one address */
}

static const char *target(void) {
    pthread_once(&once, set_up_once);
    return the_host.failed ? NULL : the_host.name;
}

const tr_backend *tr_backend_get(uint32_t abi) {
    if (abi != TR_BACKEND_ABI)
        return NULL;
    pthread_once(&once, set_up_once);
    return &the_host.door;
}
