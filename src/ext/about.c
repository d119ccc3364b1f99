/* What only the core knows of where it runs, for reports (python/treadle/_info.py):
 *
 *   _about() -> {"llvm": version, or None, "processor": name and features as code is made for, or None,
 *                "no_llvm": why the two are None, "sleef": version that was there when Treadle was built, or
 *                "", "libdevice": file with mathematics for PTX, or None, "cache": the folder of cached code,
 *                which is not made for it, or None, "no_cache": why it cannot be used, or ""}
 *
 * Opens the back end, as the first compile does. */
#include "ext/about.h"

#include "driver/driver.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef TR_SLEEF_VERSION
#define TR_SLEEF_VERSION ""
#endif

/* Without memory it is as if there were none. */
static PyObject *libdevice(void) {
    tr_ctx ctx;
    tr_ctx_init(&ctx);
    ctx.arena.oom = &ctx.oom;
    PyObject *volatile found = NULL;
    if (!setjmp(ctx.oom)) {
        const char *path = tr_driver_libdevice(&ctx);
        found = path ? PyUnicode_DecodeFSDefault(path) : Py_NewRef(Py_None);
    } else {
        found = Py_NewRef(Py_None);
    }
    tr_ctx_fini(&ctx);
    return found;
}

static PyObject *about(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    char no_llvm[512] = "", no_cache[512] = "";
    const tr_backend *be = tr_backend_load(NULL, no_llvm, sizeof no_llvm);
    char *dir = tr_cache_path(no_cache, sizeof no_cache);
    if (dir && !access(dir, F_OK))
        tr_cache_fits(dir, no_cache, sizeof no_cache);
    PyObject *file = libdevice();
    PyObject *folder = dir ? PyUnicode_DecodeFSDefault(dir) : Py_NewRef(Py_None);
    PyObject *why = PyUnicode_DecodeFSDefault(no_cache), *other = PyUnicode_DecodeFSDefault(no_llvm);
    free(dir);
    PyObject *all = NULL;
    if (file && folder && why && other)
        all = Py_BuildValue("{szszsOsssOsOsO}", "llvm", be ? be->version : NULL, "processor",
                            be ? be->target() : NULL, "no_llvm", other, "sleef", TR_SLEEF_VERSION,
                            "libdevice", file, "cache", folder, "no_cache", why);
    Py_XDECREF(file);
    Py_XDECREF(folder);
    Py_XDECREF(why);
    Py_XDECREF(other);
    return all;
}

bool tr_about_add(PyObject *module) {
    static PyMethodDef methods[] = {{"_about", about, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
    return PyModule_AddFunctions(module, methods) == 0;
}
