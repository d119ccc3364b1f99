/* Addresses of the functions of vector math. SLEEF is opened when the first of its functions is asked for:
 * beside this library if it lies there (wheels bring it along), else from the system. The handle is
 * process-wide and never closed, since code modules hold addresses from it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "vmath/priv.h"
#include "vmath/vmath.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *sleef; /* written once, under `once` */

static void open_sleef(void) {
    static const char lib[] = "libsleef.so.3";
    Dl_info here;
    char path[4096];
    if (dladdr((void *)(uintptr_t)open_sleef, &here) && here.dli_fname && strchr(here.dli_fname, '/')) {
        int dir = (int)(strrchr(here.dli_fname, '/') - here.dli_fname);
        int n = snprintf(path, sizeof path, "%.*s/%s", dir, here.dli_fname, lib);
        if (n > 0 && (size_t)n < sizeof path)
            sleef = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    if (!sleef)
        sleef = dlopen(lib, RTLD_LAZY | RTLD_LOCAL);
}

static void *in_sleef(const char *name) {
    pthread_once(&once, open_sleef);
    return sleef ? dlsym(sleef, name) : NULL;
}

static void *kernel(const char *name) {
    const tr_vmkernel *const levels[] = {tr_vmath_kernels_avx512f, tr_vmath_kernels_avx2,
                                         tr_vmath_kernels_avx2128, tr_vmath_kernels_purecfma};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        for (const tr_vmkernel *k = levels[i]; k->name; k++)
            if (!strcmp(k->name, name))
                return (void *)(uintptr_t)k->fn;
    return NULL;
}

void *tr_vmath_symbol(const char *name, bool *foreign) {
    static const char kernels[] = "tr_vk_", ours[] = "tr_vm_", theirs[] = "Sleef_";
    *foreign = false;
    if (!strncmp(name, kernels, sizeof kernels - 1))
        return kernel(name);
    bool wrapped = !strncmp(name, ours, sizeof ours - 1);
    *foreign = !wrapped && strncmp(name, theirs, sizeof theirs - 1) != 0;
    if (*foreign)
        return NULL;
    if (!wrapped)
        return in_sleef(name);
    const tr_vmwrap *w = tr_vmath_wrapper(name);
    char inner[TR_VM_NAME];
    int n = snprintf(inner, sizeof inner, "%s%s", theirs, name + sizeof ours - 1);
    void *p = w && n > 0 && (size_t)n < sizeof inner ? in_sleef(inner) : NULL;
    if (!p)
        return NULL;
    __atomic_store_n(w->inner, p, __ATOMIC_RELEASE);
    return (void *)(uintptr_t)w->fn;
}
