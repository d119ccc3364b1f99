/* What a static LLVM is linked with beside itself: ends for what stays out (left_out.txt,
 * tools/llvm_trim.py), and functions of newer C libraries, so that the package runs where glibc 2.34 is. Not
 * part of the library where LLVM is the system's shared one.
 *
 * Functions that LLVM or GCC's C++ library has, too, are written again where theirs would bring what nobody
 * needs: the linker takes ours and never looks for theirs. */
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Error.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/random.h>
#include <unistd.h>

extern "C" {

struct dl_find_object;

[[noreturn]] void tr_llvm_left_out(const char *name);
void tr_llvm_idle_pass(llvm::PreservedAnalyses *out);
uint32_t arc4random(void) noexcept;
int _dl_find_object(void *, struct dl_find_object *) noexcept;
const char *_ZNK4llvm17NVPTXRegisterInfo7getNameEj(const void *, unsigned) noexcept;

/* A function that nothing should get to. */
void tr_llvm_left_out(const char *name) {
    static const char before[] = "treadle: this build of LLVM is without ";
    ssize_t n = write(STDERR_FILENO, before, sizeof before - 1);
    n = write(STDERR_FILENO, name, strlen(name));
    n = write(STDERR_FILENO, "\n", 1);
    (void)n;
    abort();
}

/* The `run` of a pass, whose result is returned through a pointer that comes before all arguments. */
void tr_llvm_idle_pass(llvm::PreservedAnalyses *out) {
    new (out) llvm::PreservedAnalyses(llvm::PreservedAnalyses::all());
}

/* glibc 2.36. LLVM makes names of temporary files with it, which we have none of. */
uint32_t arc4random(void) noexcept {
    uint32_t x = 0;
    return getrandom(&x, sizeof x, 0) == sizeof x ? x : (uint32_t)getpid();
}

/* glibc 2.35. GCC's unwinder asks it where a frame's table is when an exception is thrown, which nothing in
 * here catches: it ends the process either way. */
int _dl_find_object(void *, struct dl_find_object *) noexcept {
    return -1;
}

/* LLVM::NVPTXRegisterInfo::getName, for a remark in PTX on a register of the hardware's, of
 * which PTX has none. With the C++ library's streams, which LLVM makes the name by, would
 * come all that they know of languages. */
const char *_ZNK4llvm17NVPTXRegisterInfo7getNameEj(const void *, unsigned) noexcept {
    return "register";
}

/* --- LLVM's passes by the C API ---
 * As LLVM has it, but for what its own would bring: printing, timing and counting passes. */

LLVMPassBuilderOptionsRef LLVMCreatePassBuilderOptions(void) {
    return reinterpret_cast<LLVMPassBuilderOptionsRef>(new llvm::PipelineTuningOptions);
}

void LLVMDisposePassBuilderOptions(LLVMPassBuilderOptionsRef o) {
    delete reinterpret_cast<llvm::PipelineTuningOptions *>(o);
}

void LLVMPassBuilderOptionsSetLoopInterleaving(LLVMPassBuilderOptionsRef o, LLVMBool on) {
    reinterpret_cast<llvm::PipelineTuningOptions *>(o)->LoopInterleaving = on;
}

void LLVMPassBuilderOptionsSetLoopVectorization(LLVMPassBuilderOptionsRef o, LLVMBool on) {
    reinterpret_cast<llvm::PipelineTuningOptions *>(o)->LoopVectorization = on;
}

void LLVMPassBuilderOptionsSetSLPVectorization(LLVMPassBuilderOptionsRef o, LLVMBool on) {
    reinterpret_cast<llvm::PipelineTuningOptions *>(o)->SLPVectorization = on;
}

void LLVMPassBuilderOptionsSetLoopUnrolling(LLVMPassBuilderOptionsRef o, LLVMBool on) {
    reinterpret_cast<llvm::PipelineTuningOptions *>(o)->LoopUnrolling = on;
}

LLVMErrorRef LLVMRunPasses(LLVMModuleRef m, const char *text, LLVMTargetMachineRef tm,
                           LLVMPassBuilderOptionsRef o) {
    llvm::PassBuilder builder(reinterpret_cast<llvm::TargetMachine *>(tm),
                              *reinterpret_cast<llvm::PipelineTuningOptions *>(o));
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    builder.registerLoopAnalyses(loops);
    builder.registerFunctionAnalyses(functions);
    builder.registerCGSCCAnalyses(components);
    builder.registerModuleAnalyses(modules);
    builder.crossRegisterProxies(loops, functions, components, modules);
    llvm::ModulePassManager passes;
    if (llvm::Error e = builder.parsePassPipeline(passes, text))
        return llvm::wrap(std::move(e));
    passes.run(*llvm::unwrap(m), modules);
    return LLVMErrorSuccess;
}
}

/* Who throws ends the process: nothing in here catches. GCC's own function names the exception, for which
 * it brings what makes names readable. */
namespace __gnu_cxx { // declared by <exception>
void __verbose_terminate_handler() {
    static const char words[] = "treadle: LLVM cannot go on: an exception of the C++ library\n";
    ssize_t n = write(STDERR_FILENO, words, sizeof words - 1);
    (void)n;
    abort();
}
} // namespace __gnu_cxx
