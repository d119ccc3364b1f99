/* Which Python object is which row of builtins.def.
 *
 * A row names its object by a path ("math.sqrt"). A path that this Python or NumPy does not have is simply
 * absent, and so is one where another function was put (np.sort = mine). Where two rows name one object
 * (np.abs is np.absolute), the first counts. Filled once per module state, in some 100 us.
 * numpy.random and random take milliseconds to import, and few programs ask for them and
 * some of our own modules: their rows are looked up once somebody else has imported them,
 * before whose functions nobody can have. */
#include "ext/compat.h"
#include "ext/freeze.h"

#include "lib/em.h"

/* Which map a row belongs to: the modules of those from 1 on, which this one imports for nobody. */
static const char *const later[TR_BUILTIN_MAPS] = {NULL, "numpy.random", "random", "treadle.stencils",
                                                   "treadle.decorators"};

static uint32_t map_of(const char *path) {
    uint32_t k = TR_BUILTIN_MAPS;
    while (--k > 0) {
        size_t n = strlen(later[k]);
        if (strncmp(path, later[k], n) == 0 && path[n] == '.')
            break;
    }
    return k;
}

/* Somebody has imported it, to the end. Runs no import. */
static bool is_imported(const char *name) {
    PyObject *key = PyUnicode_FromString(name), *module = key ? PyImport_GetModule(key) : NULL, *spec = NULL,
             *busy = NULL;
    if (module)
        spec = PyObject_GetAttrString(module, "__spec__");
    if (spec && spec != Py_None)
        busy = PyObject_GetAttrString(spec, "_initializing");
    PyErr_Clear(); /* what says nothing of it is not being imported */
    bool yes = module && (!busy || busy == Py_False);
    Py_XDECREF(key);
    Py_XDECREF(module);
    Py_XDECREF(spec);
    Py_XDECREF(busy);
    return yes;
}

/* The module a path starts in. New reference. */
static PyObject *module_of(const char *path) {
    PyObject *name = PyUnicode_FromStringAndSize(path, strchr(path, '.') - path);
    PyObject *module = name ? PyImport_Import(name) : NULL;
    Py_XDECREF(name);
    return module;
}

bool tr_builtin_map_import(void) {
    const char *last = "";
    /* treadle loads its modules when they are looked at; a child of a fork, which looks first, could wait for
     * the lock of an import that another thread of its parent had begun */
    static const char *const ours[] = {"treadle.cuda", "treadle._library"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        PyObject *module = PyImport_ImportModule(ours[i]);
        if (!module)
            return false;
        Py_DECREF(module);
    }
    for (uint32_t row = 0; row < TR_B__COUNT; row++) {
        const char *path = tr_builtins[row].path;
        if (tr_builtins[row].kind != TR_B_FUNC || map_of(path) ||
            strncmp(path, last, strcspn(path, ".") + 1) == 0)
            continue;
        last = path;
        PyObject *module = module_of(path);
        if (!module && !PyErr_ExceptionMatches(PyExc_ImportError))
            return false;
        PyErr_Clear();
        Py_XDECREF(module);
    }
    return true;
}

/* The object at a dotted path. New reference; NULL without an exception where there is none, with one if a
 * signal's handler raised it. */
static PyObject *resolve(const char *path) {
    const char *dot = strchr(path, '.');
    PyObject *o = module_of(path);
    while (o && dot) {
        const char *from = dot + 1, *to = strchr(from, '.');
        PyObject *key = PyUnicode_FromStringAndSize(from, to ? to - from : (Py_ssize_t)strlen(from));
        PyObject *next = key ? PyObject_GetAttr(o, key) : NULL;
        Py_XDECREF(key);
        Py_SETREF(o, next);
        dot = to;
    }
    if (!o && (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_ImportError)))
        PyErr_Clear();
    return o;
}

static uint32_t place_of(const tr_builtin_map *m, PyObject *o) {
    uint32_t i = (uint32_t)(((uintptr_t)o >> 4) * 0x9e3779b1u) & (m->cap - 1);
    while (m->keys[i] && m->keys[i] != o)
        i = (i + 1) & (m->cap - 1);
    return i;
}

PyObject *tr_builtin_map_library(tr_builtin_maps *maps, PyObject *o, PyObject *name) {
    const tr_builtin_map *m = atomic_load(&maps->of[0]);
    int some = name ? PyDict_Contains(m->names, name) : 1;
    PyObject *r = some > 0 ? PyObject_CallOneArg(m->find, o) : NULL;
    if (r != Py_None)
        return r;
    Py_DECREF(r);
    return NULL;
}

/* Somebody put a function of his own in its place before the map was made: written in Python in a module of
 * another package, or compiled by Treadle. It is compiled as any other function. */
static bool is_replaced(PyObject *o, const char *path) {
    static const char ours[] = "treadle.";
    size_t n = strcspn(path, ".");
    if (!PyFunction_Check(o))
        return strncmp(Py_TYPE(o)->tp_name, ours, sizeof ours - 1) == 0 && strncmp(path, ours, n + 1) != 0;
    PyObject *name = tr_py_dict_get_text(PyFunction_GET_GLOBALS(o), "__name__");
    const char *s = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    bool yes = s && (strncmp(s, path, n) != 0 || (s[n] && s[n] != '.'));
    PyErr_Clear();
    Py_XDECREF(name);
    return yes;
}

PyObject *tr_builtin_map_method(tr_builtin_maps *maps, PyObject *name) {
    const tr_builtin_map *m = atomic_load(&maps->of[0]);
    int some = PyDict_Contains(m->methods, name);
    return some > 0 ? PyObject_CallOneArg(m->method, name) : NULL;
}

static bool fill(tr_builtin_map *m, uint32_t which) {
    uint32_t cap = 64, n = 0;
    for (uint32_t row = 0; row < TR_B__COUNT; row++)
        n += map_of(tr_builtins[row].path) == which;
    while (cap < 2 * n)
        cap *= 2;
    m->keys = PyMem_Calloc(cap, sizeof *m->keys);
    m->rows = PyMem_Calloc(cap, sizeof *m->rows);
    m->cap = m->keys && m->rows ? cap : 0;
    if (!m->cap)
        PyErr_NoMemory();
    for (uint32_t row = 0; row < TR_B__COUNT && !PyErr_Occurred(); row++) {
        if (tr_builtins[row].kind != TR_B_FUNC || map_of(tr_builtins[row].path) != which)
            continue;
        PyObject *o = resolve(tr_builtins[row].path);
        uint32_t at = o ? place_of(m, o) : 0;
        if (o && !m->keys[at] && !is_replaced(o, tr_builtins[row].path)) {
            m->keys[at] = o;
            m->rows[at] = row;
            m->n++;
        } else {
            Py_XDECREF(o);
        }
    }
    if (PyErr_Occurred() || which)
        return !PyErr_Occurred();
    return (m->names = resolve("treadle._library.NAMES")) && (m->find = resolve("treadle._library.find")) &&
           (m->methods = resolve("treadle._library.METHODS")) &&
           (m->method = resolve("treadle._library.method"));
}

static void map_free(tr_builtin_map *m) {
    for (uint32_t i = 0; i < m->cap; i++)
        Py_XDECREF(m->keys[i]);
    Py_XDECREF(m->names);
    Py_XDECREF(m->find);
    Py_XDECREF(m->methods);
    Py_XDECREF(m->method);
    PyMem_Free(m->keys);
    PyMem_Free(m->rows);
    PyMem_Free(m);
}

/* Imports let other threads and handlers of signals run, who may make the map as well: the first that is
 * ready counts. */
static bool need(tr_builtin_maps *maps, uint32_t k) {
    tr_builtin_map *none = NULL, *m;
    if (atomic_load(&maps->of[k]))
        return true;
    if (!(m = PyMem_Calloc(1, sizeof *m))) {
        PyErr_NoMemory();
        return false;
    }
    bool ok = fill(m, k);
    if (!ok || !atomic_compare_exchange_strong(&maps->of[k], &none, m))
        map_free(m);
    return ok;
}

bool tr_builtin_map_need(tr_builtin_maps *maps) {
    return need(maps, 0);
}

bool tr_builtin_map_find(tr_builtin_maps *maps, PyObject *o, uint32_t *row) {
    for (uint32_t k = 0; k < TR_BUILTIN_MAPS; k++) {
        const tr_builtin_map *m = atomic_load(&maps->of[k]);
        if (!m && k && is_imported(later[k]) && !need(maps, k))
            PyErr_Clear(); /* without memory for it the object is not known, which is an error of its own */
        m = m ? m : atomic_load(&maps->of[k]);
        uint32_t i = m ? place_of(m, o) : 0;
        if (m && m->keys[i]) {
            *row = m->rows[i];
            return true;
        }
    }
    return false;
}

void tr_builtin_map_clear(tr_builtin_maps *maps) {
    for (uint32_t k = 0; k < TR_BUILTIN_MAPS; k++) {
        tr_builtin_map *m = atomic_exchange(&maps->of[k], NULL);
        if (m)
            map_free(m);
    }
}

int tr_builtin_map_visit(const tr_builtin_maps *maps, visitproc visit, void *arg) {
    for (uint32_t k = 0; k < TR_BUILTIN_MAPS; k++) {
        const tr_builtin_map *m = atomic_load(&maps->of[k]);
        for (uint32_t i = 0; m && i < m->cap; i++)
            Py_VISIT(m->keys[i]);
        if (m) {
            Py_VISIT(m->names);
            Py_VISIT(m->find);
            Py_VISIT(m->methods);
            Py_VISIT(m->method);
        }
    }
    return 0;
}
