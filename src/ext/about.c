/* What only the core knows of where it runs, for reports (python/treadle/_info.py):
 *
 *   _about() -> {"llvm": version, or None, "processor": name and features as code is made for, or None,
 *                "no_llvm": why the two are None, "sleef": version that was there when Treadle was built, or
 *                "", "libdevice": file with mathematics for PTX, or None, "cache": the folder of cached code,
 *                which is not made for it, or None, "no_cache": why it cannot be used, or ""}; opens the
 *                back end, as the first compile does.
 *
 *   _cache_file(dir, name) -> what a file of the cache's folder is (python/treadle/_cache.py): None: no file
 *                of the cache's, "new": one that is being written, "old": an entry that this version does not
 *                read, or (title, file, line): an entry, what its code is of, and where that stands */
#include "ext/about.h"

#include "code/code.h"
#include "driver/driver.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
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

/* Nobody has looked at an entry's checksum yet, so its texts may be anything. */
static PyObject *text(const char *s) {
    return s ? PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace") : PyUnicode_FromString("");
}

static PyObject *entry(const tr_meta *m) {
    const tr_mfunc *f = m->root < m->nfuncs ? &m->funcs[m->root] : NULL;
    PyObject *title = text(m->title), *file = text(f ? f->file : NULL);
    PyObject *r = title && file ? Py_BuildValue("(OOi)", title, file, f ? (int)f->first : 0) : NULL;
    Py_XDECREF(title);
    Py_XDECREF(file);
    return r;
}

static PyObject *cache_file(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *dir, *name, *r = NULL;
    if (!PyArg_ParseTuple(args, "O&O&:_cache_file", PyUnicode_FSConverter, &dir, PyUnicode_FSConverter,
                          &name))
        return NULL;
    tr_arena a;
    tr_meta m;
    tr_arena_init(&a, NULL);
    switch (tr_cache_about(PyBytes_AS_STRING(dir), PyBytes_AS_STRING(name), &a, &m)) {
    case TR_CACHE_NONE: r = Py_NewRef(Py_None); break;
    case TR_CACHE_TEMP: r = PyUnicode_FromString("new"); break;
    case TR_CACHE_OLD: r = PyUnicode_FromString("old"); break;
    case TR_CACHE_ENTRY: r = entry(&m); break;
    }
    tr_arena_fini(&a);
    Py_DECREF(dir);
    Py_DECREF(name);
    return r;
}

bool tr_about_add(PyObject *module) {
    static PyMethodDef methods[] = {{"_about", about, METH_NOARGS, NULL},
                                    {"_cache_file", cache_file, METH_VARARGS, NULL},
                                    {NULL, NULL, 0, NULL}};
    return PyModule_AddFunctions(module, methods) == 0;
}
