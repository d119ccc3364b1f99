/* class Function: construction, attributes, inspection. See function.h; the call path is call.c. */
#include "ext/function.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/device.h"
#include "ext/lazy.h"
#include "ext/types.h"

PyObject *tr_function_unwrap(tr_state *st, PyObject *o) {
    return Py_IS_TYPE(o, st->fn_type) ? ((tr_function *)o)->py_func : NULL;
}

static PyObject *locals_of(const tr_function *f) {
    PyObject *d = tr_py_dict_get_text(f->options, "locals");
    Py_XDECREF(d); /* nobody changes our options */
    return d && PyDict_CheckExact(d) && PyDict_GET_SIZE(d) ? d : NULL;
}

static PyObject *links_of(const tr_function *f) {
    PyObject *d = tr_py_dict_get_text(f->options, "link");
    Py_XDECREF(d); /* nobody changes our options */
    return d && PyTuple_CheckExact(d) ? d : NULL;
}

/* Of the exception that says why a signature is missing, the first line. */
static const char *refusal_of(tr_function *f, tr_arena *a) {
    PyObject *why = tr_freeze_reason((PyObject *)f);
    PyObject *text = why && PyExceptionInstance_Check(why) ? PyObject_Str(why) : NULL;
    const char *s = text ? PyUnicode_AsUTF8(text) : NULL;
    const char *r = s ? tr_arena_strndup(a, s, strcspn(s, "\n")) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(why);
    PyErr_Clear();
    return r;
}

/* What was compiled for values that came counts as declared once nothing else is taken. */
void tr_function_wishes(tr_function *f, tr_arena *a, tr_wishes *out) {
    const char *refused = refusal_of(f, a); /* may run code; from here on nothing does */
    uint32_t row = f->nparams + 1, n = f->nsigs;
    const tr_ty **sigs = TR_NEW_N(a, const tr_ty *, (n + f->nspecs) * (size_t)row + 1u);
    if (n)
        memcpy((void *)sigs, (const void *)f->sigs, n * (size_t)row * sizeof *sigs);
    for (uint32_t k = 0; f->sealed && k < f->nspecs; k++)
        if (!f->specs[k]->declared && !tr_spec_has_const(f->specs[k]))
            memcpy((void *)(sigs + n++ * (size_t)row), (const void *)f->specs[k]->args,
                   f->nparams * sizeof *sigs);
    assert(n <= f->nsigs + f->nspecs && "there is room for as many signatures as there are");
    *out = (tr_wishes){.opts = f->opts,
                       .sealed = f->sealed || f->closed,
                       .refused = refused,
                       .nsigs = n,
                       .nargs = f->nparams,
                       .sigs = sigs,
                       .links = links_of(f),
                       .locals = locals_of(f)};
}

/* --- construction --- */

bool tr_function_flag(const char *name, long v, tr_opts *o, tr_device_opts *d) {
#define X(field, type, dflt)         \
    if (strcmp(name, #field) == 0) { \
        o->field = (type)v;          \
        return true;                 \
    }
    TR_OPTS(X)
#undef X
#define X(field)                          \
    if (d && strcmp(name, #field) == 0) { \
        d->field = (uint32_t)v;           \
        return true;                      \
    }
    TR_DEVICE_OPTS(X)
#undef X
    return false;
}

/* `flags`: dict of tr_opts fields (base/opts.h) and "cache", all small integers; checked by the
 * decorators. */
static bool read_flags(tr_function *f, PyObject *flags) {
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    f->opts = TR_OPTS_DEFAULT;
    while (PyDict_Next(flags, &pos, &key, &value)) {
        const char *name = PyUnicode_AsUTF8(key);
        long v = PyLong_AsLong(value);
        if (!name || (v == -1 && PyErr_Occurred()))
            return false;
        if (strcmp(name, "cache") == 0) {
            f->cache = v != 0;
        } else if (!tr_function_flag(name, v, &f->opts, f->target ? &f->device : NULL)) {
            PyErr_Format(PyExc_TypeError, "unknown flag '%s'", name);
            return false;
        }
    }
    f->nogil = f->opts.nogil;
    return true;
}

/* Gives the object the face of the function it stands for, as functools.wraps would. */
static bool copy_face(tr_function *f) {
    static const char *const names[] = {"__name__", "__qualname__", "__module__", "__doc__"};
    f->dict = PyDict_New();
    for (unsigned i = 0; f->dict && i < sizeof names / sizeof *names; i++) {
        PyObject *v = PyObject_GetAttrString(f->py_func, names[i]);
        if (!v || PyDict_SetItemString(f->dict, names[i], v) < 0)
            Py_CLEAR(f->dict);
        Py_XDECREF(v);
    }
    if (!f->dict || PyDict_SetItemString(f->dict, "__wrapped__", f->py_func) < 0)
        return false;
    f->qualname = PyObject_GetAttrString(f->py_func, "__qualname__");
    f->text = f->qualname && PyUnicode_Check(f->qualname) ? PyUnicode_AsUTF8(f->qualname) : NULL;
    return f->text != NULL;
}

/* It runs where a launch puts it. */
static PyObject *call_of_device(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    (void)args, (void)nargsf, (void)kwnames;
    return PyErr_Format(PyExc_TypeError, "%U() is a device's code, which a launch runs",
                        ((tr_function *)self)->qualname);
}

static PyObject *fn_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    PyObject *py_func, *flags, *options;
    const char *target = NULL;
    static char *names[] = {"py_func", "flags", "options", "target", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O!O!O!|z:Function", names, &PyFunction_Type, &py_func,
                                     &PyDict_Type, &flags, &PyDict_Type, &options, &target))
        return NULL;
    tr_function *f = (tr_function *)type->tp_alloc(type, 0);
    if (!f)
        return NULL;
    f->vectorcall = target ? call_of_device : tr_call;
    f->st = PyType_GetModuleState(type);
    f->py_func = Py_NewRef(py_func);
    f->options = PyDict_Copy(options);
    flags = PyDict_Copy(flags); /* so that nobody changes it meanwhile */
    bool read = flags && (!target || (f->target = strdup(target))) && read_flags(f, flags);
    Py_XDECREF(flags);
    if (!f->options || !read || !copy_face(f) || !tr_bind_init(f))
        Py_CLEAR(f);
    assert(tr_py_agrees(f != NULL) && "a function that cannot be made has raised");
    assert((!f || !f->list) && "nothing is compiled before the first call");
    return (PyObject *)f;
}

static int fn_traverse(PyObject *self, visitproc visit, void *arg) {
    tr_function *f = (tr_function *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(f->py_func);
    Py_VISIT(f->options);
    Py_VISIT(f->dict);
    Py_VISIT(f->waiting);
    Py_VISIT(f->died);
    int visited = tr_plan_visit(f->plan, visit, arg);
    if (visited)
        return visited;
    for (uint32_t i = 0; f->defaults && f->names && i < (uint32_t)PyTuple_GET_SIZE(f->names); i++)
        Py_VISIT(f->defaults[i]);
    for (uint32_t i = 0; i < f->nspecs + f->ndead; i++) {
        int r = tr_spec_visit(i < f->nspecs ? f->specs[i] : f->dead[i - f->nspecs], visit, arg);
        if (r)
            return r;
    }
    return 0;
}

static int fn_clear(PyObject *self) {
    tr_function *f = (tr_function *)self;
    if (!atomic_load(&f->active))
        tr_spec_free_all(f);
    for (uint32_t i = 0; f->defaults && f->names && i < (uint32_t)PyTuple_GET_SIZE(f->names); i++)
        Py_CLEAR(f->defaults[i]);
    Py_CLEAR(f->options);
    Py_CLEAR(f->dict);
    Py_CLEAR(f->waiting);
    Py_CLEAR(f->died);
    return 0; /* py_func, names and qualname cannot hold a cycle alone and are used by calls in progress */
}

static void fn_dealloc(PyObject *self) {
    tr_function *f = (tr_function *)self;
    PyTypeObject *tp = Py_TYPE(self);
    assert(f->active == 0 && "who is in a function has it");
    PyObject_GC_UnTrack(self);
    if (f->weakrefs)
        PyObject_ClearWeakRefs(self);
    fn_clear(self);
    tr_plan_free(f->plan);
    PyMem_Free(f->defaults);
    free(f->target);
    PyMem_Free((void *)f->sigs);
    Py_CLEAR(f->names);
    Py_CLEAR(f->qualname);
    Py_CLEAR(f->py_func);
    tp->tp_free(self);
    Py_DECREF(tp);
}

/* Called with a weak reference of tr_function_undertaker's, whose referent is gone; `self` is one to the
 * function. */
static PyObject *value_died(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *f = tr_py_weakref_get(self);
    if (f)
        tr_spec_bury((tr_function *)f);
    Py_XDECREF(f);
    Py_RETURN_NONE;
}

PyObject *tr_function_undertaker(tr_function *f) {
    static PyMethodDef def = {"value_died", value_died, METH_O, NULL};
    if (f->died)
        return Py_NewRef(f->died);
    PyObject *self = PyWeakref_NewRef((PyObject *)f, NULL), *died = self ? PyCFunction_New(&def, self) : NULL;
    Py_XDECREF(self);
    if (died && !f->died)
        f->died = Py_NewRef(died);
    assert(tr_py_agrees(died != NULL) && "without memory there is an exception");
    return died;
}

static PyObject *fn_repr(PyObject *self) {
    tr_function *f = (tr_function *)self;
    return PyUnicode_FromFormat("<treadle function %U at %p>", f->qualname, self);
}

/* A method, like a plain function: self becomes the first argument. */
static PyObject *fn_get(PyObject *self, PyObject *obj, PyObject *type) {
    (void)type;
    return !obj || obj == Py_None ? Py_NewRef(self) : PyMethod_New(self, obj);
}

/* --- compiling on request --- */

static PyObject *fn_compile(PyObject *self, PyObject *sig) {
    tr_function *f = (tr_function *)self;
    if (f->sealed)
        return PyErr_Format(PyExc_RuntimeError,
                            "%U(): compilation is disabled; disable_compile(False) enables it again",
                            f->qualname);
    return tr_spec_settle(f) && tr_spec_declare(f, sig, false) ? Py_NewRef(Py_None) : NULL;
}

/* Numba's name for compile(), which libraries call: types of the arguments, and of the result. */
static PyObject *fn_compile_types(PyObject *self, PyObject *args) {
    PyObject *types, *ret = Py_None;
    if (!PyArg_ParseTuple(args, "O|O", &types, &ret))
        return NULL;
    PyObject *items = PySequence_Tuple(types);
    PyObject *sig = !items ? NULL : ret == Py_None ? Py_NewRef(items) : PyObject_Call(ret, items, NULL);
    Py_XDECREF(items);
    PyObject *r = sig ? fn_compile(self, sig) : NULL;
    Py_XDECREF(sig);
    return r;
}

static PyObject *fn_announce(PyObject *self, PyObject *sig) {
    atomic_store(&((tr_function *)self)->closed, true);
    return tr_spec_announce((tr_function *)self, sig) ? Py_NewRef(Py_None) : NULL;
}

/* For decorators: compiles now or, where a name is not bound yet, when it is needed. */
static PyObject *fn_declare(PyObject *self, PyObject *sig) {
    return tr_spec_declare((tr_function *)self, sig, true) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *fn_recompile(PyObject *self, PyObject *unused) {
    (void)unused;
    if (!tr_spec_recompile((tr_function *)self))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *fn_disable_compile(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"val", NULL};
    int val = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|p:disable_compile", names, &val))
        return NULL;
    tr_function *f = (tr_function *)self;
    tr_py_section gate;
    tr_py_section_begin(&gate, f->st->gate);
    f->sealed = val;
    f->closed = f->closed && val;
    tr_py_section_end(&gate);
    Py_RETURN_NONE;
}

/* --- inspection --- */

/* The spec of a roll whose types a signature names; borrowed, NULL with an exception. */
static const tr_spec *spec_of(tr_function *f, const tr_roll *all, PyObject *sig) {
    tr_csig c;
    const tr_spec *found = NULL;
    for (uint32_t k = 0; k < all->n && !found && PyTuple_Check(sig); k++) {
        const tr_spec *s = all->d[k]; /* a row of .signatures, constants included */
        PyObject *types = tr_spec_types(f, s);
        int same = types ? PyObject_RichCompareBool(types, sig, Py_EQ) : -1;
        Py_XDECREF(types);
        if (same < 0)
            return NULL;
        found = same ? s : NULL;
    }
    if (found)
        return found;
    if (!tr_types_csig(f->st, sig, &c))
        return NULL;
    for (uint32_t k = 0; k < all->n && !found; k++)
        if (c.n == all->d[k]->nargs && all->d[k]->types &&
            memcmp((const void *)c.args, (const void *)all->d[k]->args, c.n * sizeof *c.args) == 0)
            found = all->d[k];
    tr_csig_clear(&c);
    if (!found)
        PyErr_Format(PyExc_KeyError, "%U() is not compiled for %R", f->qualname, sig);
    return found;
}

/* Dict of what `value` says of each specialisation, by its types. */
typedef PyObject *by_types_fn(tr_function *f, const tr_spec *s, const void *user);
static PyObject *by_types(tr_function *f, by_types_fn *value, const void *user) {
    tr_roll all;
    PyObject *d = tr_spec_roll(f, &all) ? PyDict_New() : NULL;
    for (uint32_t k = 0; d && k < all.n; k++) {
        const tr_spec *s = all.d[k];
        PyObject *types = tr_spec_types(f, s), *v = types ? value(f, s, user) : NULL;
        if (!v || PyDict_SetItem(d, types, v) < 0)
            Py_CLEAR(d);
        Py_XDECREF(types);
        Py_XDECREF(v);
    }
    tr_spec_unroll(f, &all);
    return d;
}

/* What `value` says of the specialisation for `sig`. */
static PyObject *by_type(tr_function *f, PyObject *sig, by_types_fn *value, const void *user) {
    tr_roll all;
    if (!tr_spec_settle(f))
        return NULL;
    const tr_spec *s = tr_spec_roll(f, &all) ? spec_of(f, &all, sig) : NULL;
    PyObject *r = s ? value(f, s, user) : NULL;
    tr_spec_unroll(f, &all);
    return r;
}

static PyObject *text_of(tr_function *f, const tr_spec *s, const void *stage) {
    return tr_spec_text(f, s, *(const tr_stage *)stage);
}

/* dict of texts by signature; one text when a signature is given. */
static PyObject *inspect(tr_function *f, PyObject *sig, tr_stage stage) {
    if (sig && sig != Py_None)
        return by_type(f, sig, text_of, &stage);
    return tr_spec_settle(f) ? by_types(f, text_of, &stage) : NULL;
}

/* inspect(stage, signature=None): what inspect_types and its kin of Function are made of. */
static PyObject *fn_inspect(PyObject *self, PyObject *args) {
    static const struct {
        const char *name;
        tr_stage stage;
    } rows[] = {{"infer", TR_STAGE_INFER},         {"opt", TR_STAGE_OPT},
                {"parallel", TR_STAGE_PARALLEL},   {"llvm", TR_STAGE_LLVM},
                {"llvmopt", TR_STAGE_LLVMOPT},     {"asm", TR_STAGE_ASM},
                {"emulation", TR_STAGE_EMULATION}, {"report", TR_STAGE_REPORT}};
    const char *name;
    PyObject *sig = NULL;
    if (!PyArg_ParseTuple(args, "s|O:inspect", &name, &sig))
        return NULL;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return inspect((tr_function *)self, sig, rows[i].stage);
    return PyErr_Format(
        PyExc_ValueError,
        "no stage '%s'; there are infer, opt, parallel, emulation, llvm, llvmopt, asm, report", name);
}

static PyObject *variables_of(tr_function *f, const tr_spec *s, const void *unused) {
    (void)unused;
    return tr_spec_variables(f, s);
}

static PyObject *fn_variables(PyObject *self, PyObject *sig) {
    return by_type((tr_function *)self, sig, variables_of, NULL);
}

static PyObject *takes_of(tr_function *f, const tr_spec *s, const void *unused) {
    const tr_devcode *k = tr_module_held(s->module);
    tr_dev_takes t = {0};
    (void)f;
    (void)unused;
    int32_t code = k ? k->d->ops->takes(k->d, k->code, &t) : TR_CODE_STOPPED;
    return code ? tr_device_raise(f->st->dev, code)
                : Py_BuildValue("(iiiii)", t.registers, t.local, t.shared, t.constant, t.threads);
}

/* What is asked: blocks of so many threads, or of so many at most. */
typedef struct block_size {
    unsigned threads, shared;
} block_size;

static PyObject *held_of(tr_function *f, const tr_spec *s, const void *user) {
    const tr_devcode *k = tr_module_held(s->module);
    const block_size *b = user;
    int n = 0;
    int32_t code = k ? k->d->ops->held(k->d, k->code, b->threads, b->shared, &n) : TR_CODE_STOPPED;
    return code ? tr_device_raise(f->st->dev, code) : PyLong_FromLong(n);
}

static PyObject *suits_of(tr_function *f, const tr_spec *s, const void *user) {
    const tr_devcode *k = tr_module_held(s->module);
    const block_size *most = user;
    int blocks = 0, threads = 0;
    int32_t code =
        k ? k->d->ops->suits(k->d, k->code, most->shared, most->threads, &blocks, &threads) : TR_CODE_STOPPED;
    return code ? tr_device_raise(f->st->dev, code) : Py_BuildValue("(ii)", blocks, threads);
}

static PyObject *fn_takes(PyObject *self, PyObject *sig) {
    return by_type((tr_function *)self, sig, takes_of, NULL);
}

static PyObject *fn_held(PyObject *self, PyObject *args) {
    PyObject *sig;
    block_size b;
    if (!PyArg_ParseTuple(args, "OII:_held", &sig, &b.threads, &b.shared))
        return NULL;
    return by_type((tr_function *)self, sig, held_of, &b);
}

static PyObject *fn_suits(PyObject *self, PyObject *args) {
    PyObject *sig;
    block_size b;
    if (!PyArg_ParseTuple(args, "OII:_suits", &sig, &b.threads, &b.shared))
        return NULL;
    return by_type((tr_function *)self, sig, suits_of, &b);
}

static PyObject *inspect_one(PyObject *self, PyObject *args, PyObject *kw, tr_stage stage) {
    static char *names[] = {"signature", NULL};
    PyObject *sig = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O", names, &sig))
        return NULL;
    return inspect((tr_function *)self, sig, stage);
}

static PyObject *fn_inspect_ir(PyObject *self, PyObject *args, PyObject *kw) {
    return inspect_one(self, args, kw, TR_STAGE_OPT);
}

static PyObject *fn_inspect_llvm(PyObject *self, PyObject *args, PyObject *kw) {
    return inspect_one(self, args, kw, TR_STAGE_LLVMOPT);
}

static PyObject *fn_inspect_asm(PyObject *self, PyObject *args, PyObject *kw) {
    return inspect_one(self, args, kw, TR_STAGE_ASM);
}

/* The text of inspect_types is laid out in Python (treadle._inspect), from the typed program. */
static PyObject *fn_inspect_types(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"file", "signature", NULL};
    PyObject *file = Py_None, *sig = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|OO:inspect_types", names, &file, &sig))
        return NULL;
    PyObject *mod = PyImport_ImportModule("treadle._inspect");
    PyObject *r = mod ? PyObject_CallMethod(mod, "print_types", "OOO", self, file, sig) : NULL;
    Py_XDECREF(mod);
    return r;
}

static PyObject *fn_parallel_diagnostics(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"signature", "level", NULL};
    PyObject *sig = Py_None, *level = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|OO:parallel_diagnostics", names, &sig, &level))
        return NULL;
    PyObject *mod = PyImport_ImportModule("treadle._inspect");
    PyObject *r = !mod    ? NULL
                  : level ? PyObject_CallMethod(mod, "print_parallel", "OOO", self, sig, level)
                          : PyObject_CallMethod(mod, "print_parallel", "OO", self, sig);
    Py_XDECREF(mod);
    return r;
}

/* --- attributes --- */

static PyObject *get_signatures(PyObject *self, void *unused) {
    (void)unused;
    tr_function *f = (tr_function *)self;
    tr_roll all;
    PyObject *l = tr_spec_roll(f, &all) ? PyList_New(0) : NULL;
    for (uint32_t k = 0; l && k < all.n; k++) {
        PyObject *types = tr_spec_types(f, all.d[k]);
        if (!types || PyList_Append(l, types) < 0)
            Py_CLEAR(l);
        Py_XDECREF(types);
    }
    tr_spec_unroll(f, &all);
    tr_py_section gate;
    tr_py_section_begin(&gate, f->st->gate);
    for (Py_ssize_t i = 0; l && f->waiting && i < PyList_GET_SIZE(f->waiting); i++)
        if (PyList_Append(l, ((tr_sigobj *)PyList_GET_ITEM(f->waiting, i))->args) < 0)
            Py_CLEAR(l);
    tr_py_section_end(&gate);
    return l;
}

static PyObject *ret_of(tr_function *f, const tr_spec *s, const void *unused) {
    (void)unused;
    return tr_types_object(f->st, s->ret);
}

/* Signatures with their return types. */
static PyObject *get_overloads(PyObject *self, void *unused) {
    (void)unused;
    tr_function *f = (tr_function *)self;
    return tr_spec_settle(f) ? by_types(f, ret_of, NULL) : NULL;
}

static PyObject *get_declared(PyObject *self, void *unused) {
    (void)unused;
    tr_function *f = (tr_function *)self;
    PyObject *l = PyList_New(0);
    tr_py_section gate;
    tr_py_section_begin(&gate, f->st->gate);
    for (uint32_t k = 0; l && k < f->nsigs; k++) {
        const tr_ty **row = f->sigs + k * (f->nparams + (size_t)1);
        PyObject *s = tr_types_sigobj(f->st, &(tr_csig){f->nparams, row, row[f->nparams]});
        if (!s || PyList_Append(l, s) < 0)
            Py_CLEAR(l);
        Py_XDECREF(s);
    }
    tr_py_section_end(&gate);
    return l;
}

static bool set_number(PyObject *d, const char *key, uint64_t v) {
    PyObject *o = PyLong_FromUnsignedLongLong(v);
    bool ok = o && PyDict_SetItemString(d, key, o) == 0;
    Py_XDECREF(o);
    return ok;
}

static bool set_seconds(PyObject *d, const char *key, uint64_t ns) {
    PyObject *o = PyFloat_FromDouble((double)ns * 1e-9);
    bool ok = o && PyDict_SetItemString(d, key, o) == 0;
    Py_XDECREF(o);
    return ok;
}

/* {"seconds": ..., "code_bytes": ..., "loaded": bool, "front": ..., "infer": ...} */
static PyObject *spec_stats(tr_function *f, const tr_spec *s, const void *unused) {
    static const char *const names[] = {
#define X(id, name, help) name,
        TR_STAGES(X)
#undef X
    };
    PyObject *d = PyDict_New();
    (void)f;
    (void)unused;
    bool ok = d && set_seconds(d, "seconds", s->total_ns) &&
              set_number(d, "code_bytes", tr_module_bytes(s->module)) &&
              PyDict_SetItemString(d, "loaded", s->from_cache ? Py_True : Py_False) == 0;
    for (uint32_t i = 0; ok && i < TR_STAGE__COUNT; i++)
        ok = !s->ns[i] || set_seconds(d, names[i], s->ns[i]);
    if (!ok)
        Py_CLEAR(d);
    return d;
}

static PyObject *get_stats(PyObject *self, void *unused) {
    (void)unused;
    tr_function *f = (tr_function *)self;
    PyObject *d = PyDict_New(), *by = by_types(f, spec_stats, NULL);
    bool ok = d && by;
    uint64_t bytes = 0;
    tr_py_section gate;
    tr_py_section_begin(&gate, f->st->gate);
    uint64_t compiled = f->ncompiled, loaded = f->nloaded;
    for (uint32_t k = 0; k < f->nspecs; k++)
        bytes += tr_module_bytes(f->specs[k]->module);
    tr_py_section_end(&gate);
    ok = ok && set_number(d, "compiled", compiled) && set_number(d, "loaded", loaded);
    ok = ok && set_number(d, "code_bytes", bytes) && PyDict_SetItemString(d, "signatures", by) == 0;
    Py_XDECREF(by);
    if (!ok)
        Py_CLEAR(d);
    return d;
}

/* What treadle._inspect makes of the function; steals `arg`, which may be NULL: itself. */
static PyObject *by_python(PyObject *self, const char *name, PyObject *arg) {
    PyObject *mod = PyImport_ImportModule("treadle._inspect");
    PyObject *r = mod ? PyObject_CallMethod(mod, name, "O", arg ? arg : self) : NULL;
    Py_XDECREF(mod);
    Py_XDECREF(arg);
    return r;
}

static PyObject *get_numba_stats(PyObject *self, void *unused) {
    PyObject *d = get_stats(self, unused);
    return d ? by_python(self, "Stats", d) : NULL;
}

static PyObject *get_nopython_signatures(PyObject *self, void *unused) {
    (void)unused;
    return by_python(self, "whole_signatures", NULL);
}

static PyObject *fn_metadata(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"signature", NULL};
    PyObject *signature = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O", names, &signature))
        return NULL;
    PyObject *mod = PyImport_ImportModule("treadle._inspect");
    PyObject *r = mod ? PyObject_CallMethod(mod, "metadata", "OO", self, signature) : NULL;
    Py_XDECREF(mod);
    return r;
}

static PyObject *get_options(PyObject *self, void *unused) {
    (void)unused;
    return PyDict_Copy(((tr_function *)self)->options);
}

static PyObject *get_signature(PyObject *self, void *unused) {
    (void)unused;
    PyObject *mod = PyImport_ImportModule("inspect");
    PyObject *r = mod ? PyObject_CallMethod(mod, "signature", "O", ((tr_function *)self)->py_func) : NULL;
    Py_XDECREF(mod);
    return r;
}

static PyObject *get_code(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef(PyFunction_GetCode(((tr_function *)self)->py_func));
}

/* Annotations are the plain function's own, read when they are asked for: from 3.14 on that is when they are
 * computed. */
static PyObject *get_annotations(PyObject *self, void *name) {
    return PyObject_GetAttrString(((tr_function *)self)->py_func, name);
}

static int set_annotations(PyObject *self, PyObject *value, void *name) {
    return PyObject_SetAttrString(((tr_function *)self)->py_func, name, value);
}

static PyObject *get_sealed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((tr_function *)self)->sealed);
}

/* By qualified name where that leads back here, else by value (for cloudpickle and the like). */
static PyObject *fn_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *mod = PyImport_ImportModule("treadle.decorators");
    PyObject *r = mod ? PyObject_CallMethod(mod, "_reduce", "O", self) : NULL;
    Py_XDECREF(mod);
    return r;
}

static PyObject *fn_self(PyObject *self, PyObject *unused) {
    (void)unused;
    return Py_NewRef(self);
}

#define PARAMETERS "Parameters\n----------\n"
#define A_SPECIALISATION \
    "signature : tuple of Type, optional\n    A key of ``overloads``: this specialisation alone.\n"
#define TEXTS \
    PARAMETERS A_SPECIALISATION "\nReturns\n-------\nstr, or without a signature a dict of str by signature"

PyDoc_STRVAR(
    compile_doc,
    "compile(signature)\n--\n\nCompiles for declared argument types.\n\n" PARAMETERS
    "signature : Signature, str or tuple of types\n"
    "    As for ``jit``: ``float64(int32)``, ``\"f8(i4)\"``, ``(int32,)``.\n\n"
    "Raises\n------\n"
    "TypingError, UnsupportedError, LoweringError\n    The function cannot be compiled for these types.\n"
    "TypeError\n    The signature does not fit the function.\n"
    "RuntimeError\n    After ``disable_compile``, which declared signatures imply.");
PyDoc_STRVAR(recompile_doc, "recompile()\n--\n\nCompiles every specialisation anew, with globals and closure "
                            "variables as they are now.");
PyDoc_STRVAR(
    disable_doc,
    "disable_compile(val=True)\n--\n\nFrom now on only the signatures that exist are accepted: other "
    "calls raise TypeError, ``compile`` raises RuntimeError.\n\n" PARAMETERS
    "val : bool\n    False: new signatures are compiled again.");
PyDoc_STRVAR(
    inspect_doc,
    "inspect(stage, signature=None)\n--\n\nText of a stage.\n\n" PARAMETERS
    "stage : {'infer', 'opt', 'parallel', 'emulation', 'llvm', 'llvmopt', 'asm', 'report'}\n" A_SPECIALISATION
    "\nReturns\n-------\nstr, or without a signature a dict of str by signature");
PyDoc_STRVAR(types_doc, "inspect_types(file=None, signature=None)\n--\n\nPrints the source with the types of "
                        "its variables.\n\n" PARAMETERS
                        "file : text file, optional\n    Default ``sys.stdout``.\n" A_SPECIALISATION);
PyDoc_STRVAR(ir_doc,
             "inspect_ir(signature=None)\n--\n\nTreadle's own code after its passes (docs/ir.md).\n\n" TEXTS);
PyDoc_STRVAR(llvm_doc, "inspect_llvm(signature=None)\n--\n\nLLVM's code after its passes.\n\n" TEXTS);
PyDoc_STRVAR(parallel_doc, "parallel_diagnostics(signature=None, level=1)\n--\n\nPrints what runs on all "
                           "cores, and why the rest does "
                           "not.\n\n" PARAMETERS A_SPECIALISATION
                           "level : int\n    1: loops and array expressions; 2: also which expressions were "
                           "merged; 3 or 4: also why others "
                           "were not.\n\nRaises\n------\nValueError\n    The level is not 1 to 4.");
PyDoc_STRVAR(asm_doc, "inspect_asm(signature=None)\n--\n\nThe assembly.\n\n" TEXTS);

#define WITH_KEYWORDS(f) (PyCFunction)(void (*)(void))(f), METH_VARARGS | METH_KEYWORDS

static PyMethodDef methods[] = {
    {"compile", fn_compile, METH_O, compile_doc},
    {"_compile_for_argtys", fn_compile_types, METH_VARARGS,
     "_compile_for_argtys(types, return_type=None)\n--\n\ncompile(), as Numba's dispatchers have it."},
    {"_takes", fn_takes, METH_O,
     "_takes(signature)\n--\n\nWhat a kernel of a device takes there: registers of a thread, bytes of local, "
     "shared "
     "and constant memory, threads of a block at most."},
    {"_held", fn_held, METH_VARARGS,
     "_held(signature, threads, shared_bytes)\n--\n\nBlocks of that size that a multiprocessor of the device "
     "holds "
     "at once."},
    {"_suits", fn_suits, METH_VARARGS,
     "_suits(signature, most_threads, shared_bytes)\n--\n\nBlocks that the device holds at once of the size "
     "that fills it best, and their threads; 0: of any size."},
    {"_announce", fn_announce, METH_O,
     "_announce(signature)\n--\n\nSays that the signature will be compiled, and that there are none but "
     "those said so."},
    {"recompile", fn_recompile, METH_NOARGS, recompile_doc},
    {"_declare", fn_declare, METH_O, "_declare(signature)\n--\n\ncompile() for decorators."},
    {"disable_compile", WITH_KEYWORDS(fn_disable_compile), disable_doc},
    {"inspect", fn_inspect, METH_VARARGS, inspect_doc},
    {"_device", tr_function_device, METH_VARARGS,
     "_device(signature, target, stage, kernel, flags)\n--\n\nText for a device: (text, type of the result, "
     "parameters)."},
    {"_variables", fn_variables, METH_O, "_variables(signature)\n--\n\nList of (line, name, type)."},
    {"parallel_diagnostics", WITH_KEYWORDS(fn_parallel_diagnostics), parallel_doc},
    {"inspect_types", WITH_KEYWORDS(fn_inspect_types), types_doc},
    {"get_metadata", WITH_KEYWORDS(fn_metadata),
     "get_metadata(signature=None)\n--\n\nWhat ``stats`` says of a specialisation, or of each by its "
     "argument types."},
    {"inspect_ir", WITH_KEYWORDS(fn_inspect_ir), ir_doc},
    {"inspect_llvm", WITH_KEYWORDS(fn_inspect_llvm), llvm_doc},
    {"inspect_asm", WITH_KEYWORDS(fn_inspect_asm), asm_doc},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
     "Function[[float], int]: with its parameters and its result, for annotations."},
    {"__reduce__", fn_reduce, METH_NOARGS, NULL},
    {"__copy__", fn_self, METH_NOARGS, NULL},
    {"__deepcopy__", fn_self, METH_O, NULL},
    {0},
};

static PyGetSetDef getset[] = {
    {"signatures", get_signatures, NULL,
     "Argument types of each specialisation, in order of compilation; then those declared and not compiled "
     "yet.",
     NULL},
    {"_declared", get_declared, NULL, "Signatures as they were declared, in that order.", NULL},
    {"overloads", get_overloads, NULL, "Return type of each specialisation by its argument types.", NULL},
    {"stats", get_numba_stats, NULL,
     "Counts, and times of each specialisation's compilation in seconds; by Numba's names, too.", NULL},
    {"nopython_signatures", get_nopython_signatures, NULL,
     "Signature of each specialisation, in order of compilation.", NULL},
    {"options", get_options, NULL, "Options given to the decorator.", NULL},
    {"sealed", get_sealed, NULL, "True when only the declared signatures are accepted.", NULL},
    {"__signature__", get_signature, NULL, NULL, NULL},
    {"__code__", get_code, NULL, NULL, NULL},
    {"__annotations__", get_annotations, set_annotations, NULL, "__annotations__"},
    {"__annotate__", get_annotations, set_annotations, NULL, "__annotate__"},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {0},
};

static PyMemberDef members[] = {
    {"py_func", T_OBJECT, offsetof(tr_function, py_func), READONLY, "The plain Python function."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(tr_function, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(tr_function, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tr_function, weakrefs), READONLY, NULL},
    {0},
};

static PyObject *fn_subscript(PyObject *self, PyObject *key) {
    (void)key;
    return PyErr_Format(
        PyExc_TypeError,
        "%U() is a function, which is called; f[grid, block](...) launches what cuda.jit made "
        "a kernel, without device=True",
        ((tr_function *)self)->qualname);
}

PyDoc_STRVAR(doc, "A function that is compiled for the types it is called with.\n\nMade by ``treadle.jit`` "
                  "and ``treadle.njit``.\n\n"
                  "Examples\n--------\n>>> @njit\n... def double(x):\n...     return x * 2\n>>> double(2), "
                  "double(1.5)\n(4, 3.0)\n"
                  ">>> double.signatures\n[(int64,), (float64,)]");

static PyType_Slot slots[] = {
    {Py_tp_new, fn_new},
    {Py_tp_dealloc, fn_dealloc},
    {Py_tp_traverse, fn_traverse},
    {Py_tp_clear, fn_clear},
    {Py_tp_repr, fn_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, fn_get},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_members, members},
    {Py_tp_doc, (void *)doc},
    {Py_mp_subscript, fn_subscript},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "treadle._core.Function",
    .basicsize = sizeof(tr_function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

bool tr_function_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    st->fn_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return st->fn_type && PyModule_AddType(module, st->fn_type) == 0;
}
