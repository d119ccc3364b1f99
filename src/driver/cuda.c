/* Where mathematics for NVIDIA's GPUs is: libdevice, when a CUDA toolkit is there, else what Treadle was
 * built with. Nothing of it is needed to compile for the host. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/priv.h"

/* `home` without its last `up` parts, and libdevice's place in a toolkit. */
static char *in_toolkit(tr_arena *a, const char *home, int up) {
    char *path = tr_arena_strdup(a, home);
    for (char *slash; up > 0 && (slash = strrchr(path, '/')); up--)
        *slash = 0;
    path = tr_arena_printf(a, "%s/nvvm/libdevice/libdevice.10.bc", path);
    return access(path, R_OK) ? NULL : path;
}

/* A program on the search path, links followed. */
static char *find_program(tr_arena *a, const char *name) {
    char real[PATH_MAX];
    const char *all = getenv("PATH");
    for (const char *s = all; s && *s; s += strcspn(s, ":"), s += *s == ':') {
        char *path = tr_arena_printf(a, "%.*s/%s", (int)strcspn(s, ":"), s, name);
        if (!access(path, X_OK) && realpath(path, real))
            return tr_arena_strdup(a, real);
    }
    return NULL;
}

/* libclc under libdevice's names (tools/clc.c), if it was there when Treadle was built. */
static const char *beside_backend(tr_arena *a) {
    char path[PATH_MAX];
    tr_driver_backend_path(path, sizeof path);
    char *slash = strrchr(path, '/');
    char *found = slash ? tr_arena_printf(a, "%.*s/libclc.bc", (int)(slash - path), path) : NULL;
    return found && !access(found, R_OK) ? found : NULL;
}

const char *tr_driver_libdevice(tr_ctx *ctx) {
    tr_arena *a = &ctx->arena;
    const char *home = getenv("CUDA_HOME"), *ptxas = home && *home ? NULL : find_program(a, "ptxas");
    const char *found = home && *home ? in_toolkit(a, home, 0) : ptxas ? in_toolkit(a, ptxas, 2) : NULL;
    return found ? found : beside_backend(a);
}
