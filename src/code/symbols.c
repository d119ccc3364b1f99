/* Names that compiled code may refer to, and their addresses.
 *
 * Runtime functions come from rt.def; the C library's memory functions are listed here because the code
 * generator makes calls to them by itself; vector math is vmath/'s, which opens SLEEF when first asked for;
 * everything else is asked of libm. The handle is process-wide and never closed: code modules hold addresses
 * from it. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "code/code.h"
#include "rt/fns.h"
#include "rt/layout.h"
#include "rt/pool.h"
#include "vmath/vmath.h"

/* Declared without their real types: only addresses matter here. */
#define X(id, symbol, sig, effects, where) void symbol_##id(void) __asm__(symbol);
#include "rt/rt.def"
#undef X

typedef struct sym {
    const char *name;
    void (*fn)(void);
} sym;

static const sym rt_syms[] = {
#define X(id, symbol, sig, effects, where) {symbol, symbol_##id},
#include "rt/rt.def"
#undef X
};

/* Of the compiler's own library: divisions of 128 bits, which LLVM makes where it counts what a loop adds up
 * to, and conversions of float16, from float64 or on processors that have no instructions for them; and
 * variables that each thread has its own of, which only code that is linked has (jit/bitcode.c). */
#define HELPERS(X) \
    X(udivti3) X(divti3) X(umodti3) X(modti3) X(extendhfsf2) X(truncsfhf2) X(truncdfhf2) X(emutls_get_address)
#define X(name) void symbol_##name(void) __asm__("__" #name);
HELPERS(X)
#undef X

static const sym helpers[] = {
#define X(name) {"__" #name, symbol_##name},
    HELPERS(X)
#undef X
};

static void *memory_fn(const char *name) {
    static const struct {
        const char *name;
        void *(*fn)(void *, const void *, size_t);
    } copies[] = {{"memcpy", tr_rt_memcpy}, {"memmove", tr_rt_memmove}};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (!strcmp(name, copies[i].name))
            return (void *)(uintptr_t)copies[i].fn;
    if (!strcmp(name, "memset"))
        return (void *)(uintptr_t)tr_rt_memset;
    if (!strcmp(name, "memcmp") || !strcmp(name, "bcmp"))
        return (void *)(uintptr_t)memcmp;
    return NULL;
}

static pthread_once_t libm_once = PTHREAD_ONCE_INIT;
static void *libm; /* written once, under the guard above */

static void open_libm(void) {
    libm = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
}

void *tr_symbol_find(const char *name) {
    for (size_t i = 0; i < sizeof rt_syms / sizeof *rt_syms; i++)
        if (!strcmp(name, rt_syms[i].name))
            return (void *)(uintptr_t)rt_syms[i].fn;
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
        if (!strcmp(name, helpers[i].name))
            return (void *)(uintptr_t)helpers[i].fn;
    if (!strcmp(name, "tr_rt_placed")) /* what is linked asks for it */
        return (void *)(uintptr_t)tr_rt_placed;
    if (!strcmp(name, TR_RT_FIXED))
        return (void *)(uintptr_t)tr_rt_fixed_grain_at();
    if (!strncmp(name, TR_SHAPE_NAME, sizeof TR_SHAPE_NAME - 1))
        return (void *)(uintptr_t)tr_rt_shape_named(name);
    void *p = memory_fn(name);
    if (p)
        return p;
    bool foreign;
    p = tr_vmath_symbol(name, &foreign);
    if (!foreign)
        return p;
    pthread_once(&libm_once, open_libm);
    return libm ? dlsym(libm, name) : NULL;
}
