/* Opening the back end: once per process, at the first compile. The library stays open; code does not refer
 * to it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/priv.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const tr_backend *opened; /* guarded by lock */

static const char lib[] = "libtreadle_llvm.so";

/* The folder that holds the code of this file: of _core, or of treadlec. */
static void own_dir(char *out, size_t n) {
    Dl_info here;
    const char *end = NULL;
    if (dladdr((void *)(uintptr_t)own_dir, &here) && here.dli_fname)
        end = strrchr(here.dli_fname, '/');
    if (end && here.dli_fname[0] == '/') {
        snprintf(out, n, "%.*s", (int)(end - here.dli_fname), here.dli_fname);
        return;
    }
    /* A program's own name may be relative or found on PATH. */
    ssize_t got = readlink("/proc/self/exe", out, n - 1);
    out[got > 0 ? got : 0] = 0;
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = 0;
}

static void find(const char *dir, char *out, size_t n) {
    char own[4096];
    if (!dir || !*dir) {
        own_dir(own, sizeof own);
        dir = own;
    }
    static const char *const near[] = {"", "/.."}; /* treadlec may lie in a folder of its own */
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        int len = snprintf(out, n, "%s%s/%s", dir, near[i], lib);
        if (len > 0 && (size_t)len < n && access(out, R_OK) == 0)
            return;
    }
    *out = 0;
}

static const tr_backend *open_it(const char *dir, char *err, size_t errn) {
    char path[8300];
    find(dir, path, sizeof path);
    if (!*path) {
        snprintf(err, errn, "the compiler's back end, %s, is not where Treadle is installed", lib);
        return NULL;
    }
    void *h = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!h) {
        snprintf(err, errn, "the compiler's back end cannot be opened: %s", dlerror());
        return NULL;
    }
    const tr_backend *(*get)(uint32_t);
    void *sym = dlsym(h, "tr_backend_get");
    memcpy(&get, &sym, sizeof get);
    const tr_backend *be = get ? get(TR_BACKEND_ABI) : NULL;
    if (!be || be->abi != TR_BACKEND_ABI) {
        snprintf(err, errn, "the compiler's back end at %s is of another version", path);
        dlclose(h);
        return NULL;
    }
    return be;
}

const tr_backend *tr_backend_load(const char *dir, char *err, size_t errn) {
    pthread_mutex_lock(&lock);
    if (!opened)
        opened = open_it(dir, err, errn);
    const tr_backend *be = opened;
    pthread_mutex_unlock(&lock);
    return be;
}

void tr_driver_backend_path(char *out, size_t n) {
    pthread_mutex_lock(&lock);
    find(NULL, out, n);
    pthread_mutex_unlock(&lock);
}
