/* Finding a BLAS among the libraries that the process has loaded.
 *
 * NumPy and SciPy bring one, under names of their own (scipy_dgemm_64_), or use the system's (dgemm_).
 * Nothing is loaded here, so nothing is found that Python does not use already. What is found stays loaded:
 * modules of Python are never closed. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/blas.h"

/* Spellings of a function's name, for Fortran and for C, and whether its sizes have 64 bits. */
static const struct {
    const char *form, *c;
    int wide;
} forms[] = {{"scipy_%s_64_", "scipy_cblas_%s64_", 1},
             {"%s_64_", "cblas_%s64_", 1},
             {"%s64_", "cblas_%s64_", 1},
             {"scipy_%s_", "scipy_cblas_%s", 0},
             {"%s_", "cblas_%s", 0}};

static int fill(tr_blas *b, void *lib, const char *form, int wide) {
    static const char letters[TR_BLAS_TYPES + 1] = "sdcz";
    static const char *const names[] = {"gemm", "gemv", "syrk"};
    for (int i = 0; i < TR_BLAS_TYPES; i++) {
        char base[8], name[32];
        void *p[3];
        for (int k = 0; k < 3; k++) {
            snprintf(base, sizeof base, "%c%s", letters[i], names[k]);
            snprintf(name, sizeof name, form, base);
            p[k] = dlsym(lib, name);
            if (!p[k])
                return 0;
        }
        memcpy(&b->gemm[i], &p[0], sizeof p[0]);
        memcpy(&b->gemv[i], &p[1], sizeof p[1]);
        memcpy(&b->syrk[i], &p[2], sizeof p[2]);
    }
    b->most = wide ? INT64_MAX : INT32_MAX;
    return 1;
}

static int may_be_blas(const char *path) {
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (strcasestr(name, "cublas") || strcasestr(name, "nvblas") || strcasestr(name, "ilp64"))
        return 0; /* ilp64: sizes of 64 bits under the names for 32 */
    return strcasestr(name, "blas") || strcasestr(name, "blis") || strcasestr(name, "mkl_rt");
}

static int look(struct dl_phdr_info *info, size_t size, void *out) {
    (void)size;
    tr_blas found = {0};
    if (!info->dlpi_name || !may_be_blas(info->dlpi_name))
        return 0;
    void *lib = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    for (size_t i = 0; lib && i < sizeof forms / sizeof *forms; i++)
        if (fill(&found, lib, forms[i].form, forms[i].wide)) {
            found.lib = lib;
            found.form = (uint8_t)i;
            memcpy(out, &found, sizeof found);
            return 1;
        }
    return 0;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tr_blas the_blas; /* written once, under the guard above */

static void find(void) {
    const char *how = getenv("TREADLE_BLAS");
    if (!how || strcmp(how, "none") != 0)
        dl_iterate_phdr(look, &the_blas);
}

const tr_blas *tr_rt_blas(void) {
    pthread_once(&once, find);
    return &the_blas;
}

void *tr_rt_blas_find(const char *name, bool c) {
    const tr_blas *b = tr_rt_blas();
    char symbol[40];
    if (!b->lib)
        return NULL;
    snprintf(symbol, sizeof symbol, c ? forms[b->form].c : forms[b->form].form, name);
    return dlsym(b->lib, symbol);
}
