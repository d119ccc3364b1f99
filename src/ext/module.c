/* The extension module treadle._core: its state, made in the exec step of multi-phase initialisation.
 * A free-threaded Python leaves the GIL off: docs/design/threads.md says what guards what. NumPy
 * itself allows one interpreter only, so sub-interpreters are refused. */
#define TR_EXT_IMPORTS_NUMPY
#include "ext/face.h"
#include "ext/generator.h"
#include "ext/about.h"
#include "ext/box.h"
#include "ext/compat.h"
#include "ext/constant.h"
#include "ext/device.h"
#include "ext/far.h"
#include "ext/function.h"
#include "ext/launch.h"
#include "ext/lazy.h"
#include "ext/left.h"
#include "ext/ntclass.h"
#include "ext/partial.h"
#include "ext/printed.h"
#include "ext/selftest.h"
#include "ext/sorts.h"
#include "ext/threads.h"
#include "ext/typed.h"
#include "ext/types.h"
#include "ext/ufunc.h"
#include "rt/unicode.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Strings are asked about their characters as this Python asks. */
const int tr_unicode_python = PY_MINOR_VERSION;

static struct PyModuleDef definition;

struct PyModuleDef *tr_ext_definition(void) {
    return &definition;
}

/* --- what compiled code asks of its host --- */

/* hash() of strings: CPython's own function, whose secret is this process's. */
static int64_t host_hash(const void *data, int64_t n) {
    Py_hash_t h = n ? PyHash_GetFuncDef()->hash(data, (Py_ssize_t)n) : 0;
    return h == -1 ? -2 : h;
}

/* print(): a finished line goes to sys.stdout. An exception stays set and is raised when the call returns
 * (call.c); until then nothing more is written. */
static void host_write(void *self, const char *text, size_t n) {
    (void)self;
    PyGILState_STATE g = PyGILState_Ensure();
    if (!PyErr_Occurred()) {
        PyObject *out = tr_py_stdout();
        PyObject *s = tr_printed(text, n);
        if (s && out && out != Py_None)
            PyFile_WriteObject(s, out, Py_PRINT_RAW);
        Py_XDECREF(s);
        Py_XDECREF(out);
    }
    PyGILState_Release(g);
}

/* Parallel regions ask this now and then: may they go on? Only the main thread is given signals; it is the
 * process's first one, or the one that forked. An exception that print() met ends them too. */
static bool host_poll(void *self) {
    (void)self;
    if (syscall(SYS_gettid) != getpid())
        return false;
    PyGILState_STATE g = PyGILState_Ensure();
    bool end = PyErr_Occurred() || PyErr_CheckSignals() < 0;
    PyGILState_Release(g);
    return end;
}

/* The others are given no signals, and the way to the GIL in host_poll is the first one's. */
static bool is_first_interpreter(void) {
    return PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* What was left out of a function is reached: anywhere in compiled code, with the GIL or without. It stays as
 * it is: code that was called with the GIL may count on being alone. */
static void *host_compile(void *self, tr_late *l) {
    return tr_driver_late(l, &((const tr_state *)self)->dump);
}

/* --- what the snapshot asks --- */

#define STANDS_ATTR \
    "__treadle_function__" /* of what is no Function: the one that is meant in compiled code */

/* The Function that o is, or stands for in compiled code, as a kernel does; borrowed. NULL: none. */
static tr_function *function_of(tr_state *st, PyObject *o) {
    if (tr_function_unwrap(st, o))
        return (tr_function *)o;
    PyObject *d = PyType_Check(o) ? NULL : PyObject_GenericGetDict(o, NULL);
    PyObject *f = d ? tr_py_dict_get_text(d, STANDS_ATTR) : NULL;
    Py_XDECREF(d);
    PyErr_Clear();
    bool is_one = f && tr_function_unwrap(st, f);
    Py_XDECREF(f); /* o has it */
    return is_one ? (tr_function *)f : NULL;
}

static PyObject *freeze_unwrap(void *self, tr_arena *a, PyObject *o, tr_wishes *out) {
    tr_function *f = function_of(self, o);
    if (!f)
        return NULL;
    tr_function_wishes(f, a, out);
    return f->py_func;
}

static const tr_ufn *freeze_ufunc(void *self, tr_arena *a, PyObject *o, PyObject **fn, tr_wishes *out) {
    tr_ufunc *uf = tr_ufunc_of(self, o);
    *fn = uf && uf->fn ? uf->fn->py_func : NULL;
    if (*fn)
        tr_function_wishes(uf->fn, a, out);
    return *fn ? tr_ufunc_describe(uf, a) : NULL;
}

static const tr_ty *freeze_type(void *self, PyObject *o) {
    tr_state *st = self;
    return Py_IS_TYPE(o, st->type_type) ? ((tr_typeobj *)o)->ty : NULL;
}

static bool freeze_serial(void *self, PyObject *cls, uint32_t *out) {
    return tr_ntclass_serial(self, cls, false, out);
}

static void freeze_loops(void *self, tr_cloops *t) {
    tr_left_fill(t, self);
}

/* --- fork: no compile is half-way in the child --- */

static PyObject *new_gate(void) {
    return PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
}

static PyObject *fork_before(PyObject *module, PyObject *unused) {
    (void)unused;
    tr_state *st = tr_ext_state(module);
    /* Compiles end without the GIL, and so does the fork of another thread, which needs this one out of the
     * way. */
    Py_BEGIN_ALLOW_THREADS
    pthread_rwlock_wrlock(&st->fork);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *fork_after(PyObject *module, PyObject *unused) {
    (void)unused;
    pthread_rwlock_unlock(&tr_ext_state(module)->fork);
    Py_RETURN_NONE;
}

static PyObject *fork_child(PyObject *module, PyObject *unused) {
    (void)unused;
    tr_state *st = tr_ext_state(module);
    pthread_rwlock_init(&st->fork, NULL);
    pthread_mutex_init(&st->lock, NULL);
    pthread_cond_init(&st->done, NULL);
    st->pending = NULL; /* their threads are not here */
    PyObject *gate = new_gate();
    if (!gate)
        return NULL;
    st->gate =
        gate; /* the old one may be in the hand of a thread that is not here, or of our caller: left alone */
    tr_rt_blocks_after_fork(st->host.blocks);
    Py_RETURN_NONE;
}

static bool register_fork(PyObject *module) {
    tr_driver_watch_forks();
    PyObject *os = PyImport_ImportModule("os");
    PyObject *reg = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    PyObject *before = PyObject_GetAttrString(module, "_fork_before"),
             *after = PyObject_GetAttrString(module, "_fork_after"),
             *child = PyObject_GetAttrString(module, "_fork_child"), *args = PyTuple_New(0), *kw = NULL,
             *r = NULL;
    if (reg && before && after && child && args)
        kw = Py_BuildValue("{sOsOsO}", "before", before, "after_in_parent", after, "after_in_child", child);
    if (kw)
        r = PyObject_Call(reg, args, kw);
    bool ok = r != NULL;
    Py_XDECREF(r);
    Py_XDECREF(kw);
    Py_XDECREF(args);
    Py_XDECREF(child);
    Py_XDECREF(after);
    Py_XDECREF(before);
    Py_XDECREF(reg);
    Py_XDECREF(os);
    return ok;
}

/* --- statistics --- */

static PyObject *py_stats(PyObject *module, PyObject *unused) {
    (void)unused;
    tr_state *st = tr_ext_state(module);
    return Py_BuildValue("{sKsKsKsKsKsK}", "compiled", (unsigned long long)st->compiled, "loaded",
                         (unsigned long long)st->loaded, "code_bytes",
                         (unsigned long long)tr_code_live_bytes(), "arrays_allocated",
                         (unsigned long long)st->allocated, "arrays_freed", (unsigned long long)st->freed,
                         "cached_bytes", (unsigned long long)tr_rt_blocks_cached(st->host.blocks));
}

static PyObject *py_empty_cache(PyObject *module, PyObject *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(tr_rt_blocks_empty(tr_ext_state(module)->host.blocks));
}

PyDoc_STRVAR(
    stats_doc,
    "stats()\n--\n\n"
    "Counts since the start of the process.\n\n"
    "Returns\n-------\ndict of int by str\n    Specialisations ``compiled`` and ``loaded`` from the cache, "
    "``code_bytes`` of both, ``arrays_allocated`` and\n    ``arrays_freed`` by compiled code, and "
    "``cached_bytes``, which are kept for the next arrays now.");

PyDoc_STRVAR(
    empty_cache_doc,
    "empty_cache()\n--\n\n"
    "Return the memory of freed large arrays to the system now.\n\n"
    "Some of it is kept for the next arrays (``stats()['cached_bytes']``): at most 256 MiB, and at most a\n"
    "sixteenth of the memory of the machine or container.\n\n"
    "Returns\n-------\nint\n    How many bytes.");

/* --- initialisation --- */

static PyObject *py_plain_subclasses(PyObject *module, PyObject *on) {
    tr_ext_state(module)->plain_subclasses = on == Py_True;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_plain_subclasses", py_plain_subclasses, METH_O,
     "_plain_subclasses(on)\n--\n\nWhether arrays of classes that have operators of their own are taken as "
     "plain ones."},
    {"stats", py_stats, METH_NOARGS, stats_doc},
    {"empty_cache", py_empty_cache, METH_NOARGS, empty_cache_doc},
    {"_fork_before", fork_before, METH_NOARGS, NULL},
    {"_fork_after", fork_after, METH_NOARGS, NULL},
    {"_fork_child", fork_child, METH_NOARGS, NULL},
    {0},
};

/* Same order as tr_value_np_kind in value.c: most frequent first. */
static void fill_np_scalars(tr_state *st) {
    PyTypeObject *const t[TR_NPTYPES] = {
        &PyDoubleArrType_Type,  &PyLongArrType_Type,     &PyFloatArrType_Type,     &PyIntArrType_Type,
        &PyBoolArrType_Type,    &PyUByteArrType_Type,    &PyByteArrType_Type,      &PyShortArrType_Type,
        &PyUShortArrType_Type,  &PyUIntArrType_Type,     &PyULongArrType_Type,     &PyCFloatArrType_Type,
        &PyCDoubleArrType_Type, &PyLongLongArrType_Type, &PyULongLongArrType_Type, &PyHalfArrType_Type,
    };
    for (unsigned i = 0; i < TR_NPTYPES; i++)
        st->np_scalar[i] = t[i];
}

static bool find_numpy_classes(tr_state *st) {
    PyObject *np = PyImport_ImportModule("numpy");
    st->np_ufunc = np ? (PyTypeObject *)PyObject_GetAttrString(np, "ufunc") : NULL;
    st->bits_name = PyUnicode_InternFromString("bit_generator");
    st->capsule_name = PyUnicode_InternFromString("capsule");
    st->np_memmap = st->bits_name && st->capsule_name && st->np_ufunc
                        ? (PyTypeObject *)PyObject_GetAttrString(np, "memmap")
                        : NULL;
    Py_XDECREF(np);
    st->np_recarray = st->np_memmap ? (PyTypeObject *)PyObject_GetAttrString(np, "recarray") : NULL;
    st->dtypes = PyDict_New();
    return st->np_recarray && st->dtypes && tr_partial_add(st);
}

/* TREADLE_DUMP and its kin. A mistake in them is told, and does not stop the import. */
static void read_dump(tr_state *st) {
    char msg[400] = "";
    if (!tr_dump_parse(&st->dump, getenv("TREADLE_DUMP"), getenv("TREADLE_SKIP"), getenv("TREADLE_VERIFY"),
                       msg, sizeof msg) ||
        !tr_driver_check_dump(&st->dump, msg, sizeof msg)) {
        fprintf(stderr, "treadle: %s\n", msg);
        st->dump = (tr_dump){0};
    }
    if (st->dump.help) {
        tr_sb b;
        tr_sb_init(&b);
        tr_dump_help(&b);
        fputs(b.d ? b.d : "", stderr);
        tr_sb_fini(&b);
    }
}

static const tr_ty *freeze_generator(void *user, tr_tytab *types, PyObject *o, int64_t parts[2]) {
    tr_slot slots[2], *at = slots;
    if (!tr_generator_is(o) || !tr_generator_read(user, o, "", "", &at)) {
        PyErr_Clear();
        return NULL;
    }
    for (int k = 0; k < 2; k++)
        parts[k] = (int64_t)(intptr_t)slots[k].p;
    return tr_generator_type(types, tr_generator_which(user, o));
}

static PyObject *freeze_container(void *user, PyObject *o, const tr_ty **ty, int64_t words[2]) {
    return tr_constant_make(user, o, ty, words);
}

/* Its class or itself says that it lies on a device. No user code runs. */
static bool says_where(PyObject *o) {
    static const char name[] = "__cuda_array_interface__";
    if (PyType_Check(o) || PyModule_Check(o) || PyFunction_Check(o))
        return false;
    PyObject *mro = Py_TYPE(o)->tp_mro, *own = NULL;
    bool says = false;
    for (Py_ssize_t i = 0; !says && mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyObject *of =
            ((PyTypeObject *)PyTuple_GET_ITEM(mro, i))->tp_dict; /* static ones may have it elsewhere */
        PyObject *v = of ? tr_py_dict_get_text(of, name) : NULL;
        says = v != NULL;
        Py_XDECREF(v);
    }
    PyObject *d = says ? NULL : PyObject_GenericGetDict(o, NULL);
    if (d)
        own = tr_py_dict_get_text(d, name);
    says = says || own;
    Py_XDECREF(own);
    Py_XDECREF(d);
    PyErr_Clear();
    return says;
}

static PyObject *freeze_placed(void *user, PyObject *o) {
    tr_state *st = user;
    PyObject *m = tr_device_mem(st, o);
    if (m)
        return Py_NewRef(m);
    if (!st->launch_convert || !says_where(o))
        return NULL;
    PyObject *made = PyObject_CallOneArg(st->launch_convert, o);
    if (!made && PyErr_ExceptionMatches(PyExc_Exception)) /* some of the class lie elsewhere, and say so so */
        PyErr_Clear();
    if (made && !PyArray_Check(made))
        Py_CLEAR(made);
    return made;
}

/* _CPUS: what TREADLE_CPU may be, in the order of their numbers. */
static bool add_cpus(PyObject *module) {
    static const char *const names[] = {
#define X(id, name) name,
        TR_CPUS(X)
#undef X
    };
    PyObject *all = PyTuple_New(TR_CPU__COUNT);
    for (Py_ssize_t i = 0; all && i < TR_CPU__COUNT; i++) {
        PyObject *name = PyUnicode_InternFromString(names[i]);
        if (name)
            PyTuple_SET_ITEM(all, i, name);
        else
            Py_CLEAR(all);
    }
    bool ok = all && PyModule_AddObjectRef(module, "_CPUS", all) == 0;
    Py_XDECREF(all);
    return ok;
}

/* All that the files of this folder find in the state without asking. */
static __attribute__((unused)) bool is_whole(const tr_state *st) {
    bool classes = st->type_type && st->sig_type && st->fn_type && st->mem_type && st->ufunc_type &&
                   st->devmem_type && st->stream_type && st->event_type && st->launcher_type,
         names = st->bits_name && st->capsule_name && st->exchange_name,
         numpy = st->partial_type && st->np_ufunc && st->np_memmap && st->np_recarray && st->dtypes,
         host = st->host.self == st && st->host.write && st->host.compile && st->freeze.user == st;
    for (unsigned i = 0; numpy && i < TR_NPTYPES; i++)
        numpy = st->np_scalar[i] != NULL;
    return st->gate && st->types && classes && names && numpy && host;
}

static int module_exec(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0 || !tr_threads_add(module))
        return -1;
    pthread_rwlock_init(&st->fork, NULL);
    pthread_mutex_init(&st->lock, NULL);
    pthread_cond_init(&st->done, NULL);
    st->types = tr_tytab_new(NULL);
    st->gate = new_gate();
    if (!st->types || !st->gate) {
        PyErr_NoMemory();
        return -1;
    }
    st->host = (tr_host){.write = host_write,
                         .self = st,
                         .blocks = tr_rt_blocks_new(0, 0), /* without memory there is no cache */
                         .poll = is_first_interpreter() ? host_poll : NULL,
                         .compile = host_compile,
                         .hash = host_hash,
                         .far_alloc = tr_far_alloc,
                         .far_launch = tr_far_launch,
                         .far_fetch = tr_far_fetch};
    st->freeze = (tr_freeze_host){.unwrap = freeze_unwrap,
                                  .ufunc = freeze_ufunc,
                                  .as_type = freeze_type,
                                  .serial = freeze_serial,
                                  .generator = freeze_generator,
                                  .container = freeze_container,
                                  .placed = freeze_placed,
                                  .loops = freeze_loops,
                                  .user = st};
    fill_np_scalars(st);
    read_dump(st);
    /* register_fork first: what is registered last runs first, and who imports a module of treadle/_library,
     * where a handler of a signal may compile, must find the way free while a fork waits for the import */
    bool ok = register_fork(module) && tr_sorts_find() && tr_builtin_map_import() && find_numpy_classes(st) &&
              tr_types_add(module) && tr_typed_add(module) && tr_typed_tables_add(module) &&
              tr_face_init(tr_ext_state(module)) && tr_box_add(module) && tr_function_add(module) &&
              tr_ufunc_add(module) && tr_device_add(module) && tr_dlpack_add(module) &&
              tr_stream_add(module) && tr_libs_add(module) && tr_librand_add(module) &&
              tr_libsort_add(module) && tr_libsparse_add(module) && tr_blas_add(module) &&
              tr_launch_add(module) && tr_lazy_add(module) && tr_selftest_add(module) &&
              tr_about_add(module) && PyModule_AddStringConstant(module, "__version__", TR_VERSION) == 0 &&
              add_cpus(module) && PyModule_AddStringConstant(module, "_REASON", TR_REASON_ATTR) == 0 &&
              PyModule_AddStringConstant(module, "_STANDS_FOR", STANDS_ATTR) == 0;
    assert((!ok || is_whole(st)) && "a state is whole when the module is there");
    assert(tr_py_agrees(ok) && "a module that cannot be made has raised");
    return ok ? 0 : -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    tr_state *st = tr_ext_state(module);
    Py_VISIT(st->type_type);
    Py_VISIT(st->sig_type);
    Py_VISIT(st->fn_type);
    Py_VISIT(st->mem_type);
    Py_VISIT(st->ufunc_type);
    Py_VISIT(st->devmem_type);
    Py_VISIT(st->devarray_type);
    Py_VISIT(st->remote_type);
    Py_VISIT(st->lazy_type);
    Py_VISIT(st->typed_list_type);
    Py_VISIT(st->typed_dict_type);
    Py_VISIT(st->typed_set_type);
    Py_VISIT(st->counter_class);
    Py_VISIT(st->ordered_class);
    Py_VISIT(st->default_class);
    Py_VISIT(st->deque_class);
    Py_VISIT(st->stream_type);
    Py_VISIT(st->event_type);
    Py_VISIT(st->launcher_type);
    Py_VISIT(st->launch_convert);
    Py_VISIT(st->launch_on_stream);
    Py_VISIT(st->launch_passes);
    Py_VISIT(st->launch_first);
    Py_VISIT(st->exchange_name);
    Py_VISIT(st->bits_name);
    Py_VISIT(st->capsule_name);
    Py_VISIT(st->launch_stage);
    Py_VISIT(st->np_ufunc);
    Py_VISIT(st->partial_type);
    Py_VISIT(st->np_memmap);
    Py_VISIT(st->np_recarray);
    Py_VISIT(st->dtypes);
    for (size_t i = 0; i < TR_TOLD; i++)
        Py_VISIT(st->told[i]);
    int r = tr_builtin_map_visit(&st->freeze.builtins, visit, arg);
    if (!r)
        r = tr_ntclass_visit(st, visit, arg);
    if (!r)
        r = tr_lazies_visit(st->lazies, visit, arg);
    if (r)
        return r;
    for (uint32_t i = 0; i < st->ntype_objs; i++)
        Py_VISIT(st->type_objs[i]);
    return 0;
}

static int module_clear(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    for (uint32_t i = 0; i < st->ntype_objs; i++)
        Py_CLEAR(st->type_objs[i]);
    tr_builtin_map_clear(&st->freeze.builtins);
    tr_ntclass_clear(st);
    tr_lazies_clear(st->lazies);
    Py_CLEAR(st->np_ufunc);
    Py_CLEAR(st->partial_type);
    Py_CLEAR(st->np_memmap);
    Py_CLEAR(st->np_recarray);
    Py_CLEAR(st->dtypes);
    for (size_t i = 0; i < TR_TOLD; i++)
        Py_CLEAR(st->told[i]);
    Py_CLEAR(st->type_type);
    Py_CLEAR(st->sig_type);
    Py_CLEAR(st->fn_type);
    Py_CLEAR(st->mem_type);
    Py_CLEAR(st->ufunc_type);
    Py_CLEAR(st->devmem_type);
    Py_CLEAR(st->devarray_type);
    Py_CLEAR(st->remote_type);
    Py_CLEAR(st->lazy_type);
    Py_CLEAR(st->typed_list_type);
    Py_CLEAR(st->typed_dict_type);
    Py_CLEAR(st->typed_set_type);
    Py_CLEAR(st->counter_class);
    Py_CLEAR(st->ordered_class);
    Py_CLEAR(st->default_class);
    Py_CLEAR(st->deque_class);
    Py_CLEAR(st->stream_type);
    Py_CLEAR(st->event_type);
    Py_CLEAR(st->launcher_type);
    Py_CLEAR(st->launch_convert);
    Py_CLEAR(st->launch_on_stream);
    Py_CLEAR(st->launch_passes);
    Py_CLEAR(st->launch_first);
    Py_CLEAR(st->exchange_name);
    Py_CLEAR(st->bits_name);
    Py_CLEAR(st->capsule_name);
    Py_CLEAR(st->launch_stage);
    return 0;
}

static void module_free(void *module) {
    tr_state *st = tr_ext_state(module);
    module_clear(module);
    tr_lazies_free(st->lazies);
    st->lazies = NULL;
    Py_CLEAR(st->gate);
    PyMem_Free(st->type_objs);
    st->type_objs = NULL;
    st->ntype_objs = 0;
    if (st->types)
        tr_tytab_free(st->types);
    st->types = NULL;
    tr_rt_blocks_free(st->host.blocks); /* Memory objects keep the module, so there are none */
    st->host.blocks = NULL;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    TR_PY_ONE_INTERPRETER TR_PY_NO_GIL{0, NULL},
};

PyDoc_STRVAR(doc, "The compiler and its dispatcher; use the package treadle.");

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,         .m_name = "treadle._core", .m_doc = doc,
    .m_size = sizeof(tr_state),    .m_methods = functions,    .m_slots = module_slots,
    .m_traverse = module_traverse, .m_clear = module_clear,   .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&definition);
}
