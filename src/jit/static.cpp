/* What a static LLVM is linked with beside itself: ends for what stays out (left_out.txt, tools/llvm_trim.py), and functions of newer C libraries,
 * so that the package runs where glibc 2.34 is. Not part of the library where LLVM is the system's shared one. */
#include <llvm/IR/PassManager.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/random.h>
#include <unistd.h>

extern "C" {

struct dl_find_object;

[[noreturn]] void tr_llvm_left_out(const char *name);
void tr_llvm_idle_pass(llvm::PreservedAnalyses *out);
uint32_t arc4random(void) noexcept;
int _dl_find_object(void *, struct dl_find_object *) noexcept;

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

/* glibc 2.35. GCC's unwinder asks it where a frame's table is when an exception is thrown, which nothing in here catches: it ends the process either way. */
int _dl_find_object(void *, struct dl_find_object *) noexcept {
    return -1;
}
}
