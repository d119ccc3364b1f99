/* CUDA's driver, found when a device is asked for: nothing of CUDA is needed to build, to
 * import, or where no GPU is used.
 * Cost: one dlopen, and a dlsym for each row of cuda.def. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "dev/cuda.h"

bool tr_cuda_load(const char *path, tr_cuda_fns *fn, char *msg, size_t room) {
    const char *name = path && *path ? path : "libcuda.so.1";
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL), *at;
    if (!lib) {
        const char *why = dlerror();
        snprintf(msg, room, "there is no CUDA driver here: %.90s", why ? why : name);
        return false;
    }
#define X(id, symbol, needed, params)                                                        \
    at = dlsym(lib, symbol);                                                                 \
    if (!at && needed) {                                                                     \
        snprintf(msg, room, "%.60s has no %s: the driver is older than 11.2", name, symbol); \
        return false;                                                                        \
    }                                                                                        \
    memcpy(&fn->id, &at, sizeof at);
#include "dev/cuda.def"
#undef X
    return true;
}
