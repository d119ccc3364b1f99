/* CUDA's libraries, opened when they are needed: nothing of them is there to build, to import, or on the
 * emulated device.
 * Cost: one dlopen and a dlsym for each row of a library's table, once in a process. */
#include "dev/libs.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "rt/layout.h"

/* State of the process. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static tr_cufft_fns cufft;
static tr_cublas_fns cublas;
static void *_Atomic handles[TR_LIB__COUNT]; /* NULL: not open */
static _Thread_local tr_lib_refusal latest;

static const char *const names[] = {
#define X(id, name, fns) name,
#include "dev/libs.def"
#undef X
};

tr_lib tr_lib_by_name(const char *name) {
    unsigned l = 0;
    while (l < TR_LIB__COUNT && strcmp(names[l], name) != 0)
        l++;
    return (tr_lib)l;
}

/* One function into the struct of its library's. */
static bool find_one(void *lib, const char *path, const char *symbol, bool needed, void *to, char *msg,
                     size_t room) {
    void *at = dlsym(lib, symbol);
    if (!at && needed)
        snprintf(msg, room, "%.200s has no %s, so it is none", path, symbol);
    memcpy(to, &at, sizeof at);
    return at || !needed;
}

static bool find_cufft(void *lib, const char *path, char *msg, size_t room) {
    return true
#define X(id, symbol, needed, params) &&find_one(lib, path, symbol, needed, &cufft.id, msg, room)
#include "dev/cufft.def"
#undef X
        ;
}

static bool find_cublas(void *lib, const char *path, char *msg, size_t room) {
    return true
#define X(id, symbol, needed, params) &&find_one(lib, path, symbol, needed, &cublas.id, msg, room)
#include "dev/cublas.def"
#undef X
        ;
}

static bool open_one(tr_lib l, const char *path, char *msg, size_t room) {
    static bool (*const find[])(void *lib, const char *path, char *msg, size_t room) = {
#define X(id, name, fns) find_##fns,
#include "dev/libs.def"
#undef X
    };
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        const char *why = dlerror();
        snprintf(msg, room, "%.250s", why ? why : path);
        return false;
    }
    if (!find[l](lib, path, msg, room))
        return false;
    atomic_store(&handles[l], lib);
    return true;
}

bool tr_lib_open(tr_lib l, const char *path, char *msg, size_t room) {
    assert(l < TR_LIB__COUNT && "a library that is opened has a table");
    pthread_mutex_lock(&opening);
    bool ok = atomic_load(&handles[l]) || open_one(l, path, msg, room);
    pthread_mutex_unlock(&opening);
    return ok;
}

const tr_cufft_fns *tr_lib_cufft(void) {
    return atomic_load(&handles[TR_LIB_CUFFT]) ? &cufft : NULL;
}

const tr_cublas_fns *tr_lib_cublas(void) {
    return atomic_load(&handles[TR_LIB_CUBLAS]) ? &cublas : NULL;
}

void *tr_lib_find(tr_lib l, const char *symbol) {
    void *lib = atomic_load(&handles[l]);
    return lib ? dlsym(lib, symbol) : NULL;
}

static const char *name_of(tr_lib l, int status) {
    static const struct {
        tr_lib lib;
        int status;
        const char *name;
    } all[] = {
#define X(library, status, name) {TR_LIB_##library, status, name},
#include "dev/statuses.def"
#undef X
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].lib == l && all[i].status == status)
            return all[i].name;
    return "an unknown status";
}

int32_t tr_lib_refused(tr_lib l, const char *what, int status) {
    assert(status != 0 && "what is refused has a status");
    latest =
        (tr_lib_refusal){.library = names[l], .what = what, .name = name_of(l, status), .status = status};
    return TR_CODE_LIBRARY;
}

tr_lib_refusal tr_lib_latest(void) {
    return latest;
}
