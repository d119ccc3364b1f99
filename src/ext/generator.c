/* np.random.Generator objects as arguments and globals of compiled code: what they are made
 * of there (rt/gen.h).
 *
 * A Generator has a bit generator, whose capsule points to NumPy's bitgen_t: the address goes into the call's
 * slots or a table that code is bound to (freeze.c), never into code, so code in the cache serves any
 * process. The caller of the call, or who keeps the code, has the object, and the object its bit generator.
 * Bit generators of others work, too, by the functions that their bitgen_t names. Those of NumPy's whose
 * state the runtime knows are looked at once for each process: what lies in memory must be what
 * `bit_generator.state` says, else their functions are called like any other's.
 * Cost: three attributes a call; the first one in a process looks for NumPy's functions and at the state. */
#include "ext/generator.h"

#include <assert.h>
#include <string.h>

enum { UNKNOWN, AGREES, DIFFERS };

static const char *const classes[TR_GEN__KINDS] = {
    [TR_GEN_PCG64] = "numpy.random._pcg64.PCG64",
    [TR_GEN_MT19937] = "numpy.random._mt19937.MT19937",
    [TR_GEN_SFC64] = "numpy.random._sfc64.SFC64",
};

static bool is_class(const PyTypeObject *t) {
    return strcmp(t->tp_name, "numpy.random._generator.Generator") == 0;
}

bool tr_generator_is(PyObject *o) {
    return is_class(Py_TYPE(o));
}

bool tr_generator_derives(PyObject *o) {
    const PyTypeObject *t = Py_TYPE(o);
    while (t && !is_class(t))
        t = t->tp_base;
    return t != NULL;
}

/* --- does a state lie in memory as the runtime takes it to? --- */

static bool same_bytes(PyObject *bytes, const void *at, Py_ssize_t n) {
    return bytes && PyBytes_Check(bytes) && PyBytes_GET_SIZE(bytes) == n &&
           memcmp(PyBytes_AS_STRING(bytes), at, (size_t)n) == 0;
}

/* An item of a dict or of one in it is this number, of 16 bytes at most, or these items of an array. */
static bool state_item_is(PyObject *state, const char *inner, const char *name, const void *at,
                          Py_ssize_t n) {
    PyObject *d = inner ? PyMapping_GetItemString(state, inner) : Py_NewRef(state);
    PyObject *v = d ? PyMapping_GetItemString(d, name) : NULL;
    PyObject *bytes = !v                 ? NULL
                      : PyArray_Check(v) ? PyObject_CallMethod(v, "tobytes", NULL)
                                         : PyObject_CallMethod(v, "to_bytes", "ns", n, "little");
    bool same = same_bytes(bytes, at, n);
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(v);
    Py_XDECREF(d);
    return same;
}

static bool memory_agrees_with_state(int which, PyObject *state, const void *memory) {
    switch (which) {
    case TR_GEN_PCG64: {
        const tr_gen_pcg64 *s = memory;
        return state_item_is(state, "state", "state", s->of->state, sizeof s->of->state) &&
               state_item_is(state, "state", "inc", s->of->inc, sizeof s->of->inc) &&
               state_item_is(state, NULL, "has_uint32", &s->has_half, sizeof s->has_half) &&
               state_item_is(state, NULL, "uinteger", &s->half, sizeof s->half);
    }
    case TR_GEN_SFC64: {
        const tr_gen_sfc64 *s = memory;
        return state_item_is(state, "state", "state", s->s, sizeof s->s) &&
               state_item_is(state, NULL, "has_uint32", &s->has_half, sizeof s->has_half) &&
               state_item_is(state, NULL, "uinteger", &s->half, sizeof s->half);
    }
    default: {
        const tr_gen_mt19937 *s = memory;
        return state_item_is(state, "state", "key", s->key, sizeof s->key) &&
               state_item_is(state, "state", "pos", &s->pos, sizeof s->pos);
    }
    }
}

/* The bitgen_t of a bit generator; NULL: it has none. Never sets an exception. */
static tr_bitgen *bitgen_of(tr_state *st, PyObject *bits) {
    PyObject *capsule = PyObject_GetAttr(bits, st->capsule_name);
    tr_bitgen *g = capsule && PyCapsule_IsValid(capsule, "BitGenerator")
                       ? PyCapsule_GetPointer(capsule, "BitGenerator")
                       : NULL;
    PyErr_Clear();
    Py_XDECREF(capsule); /* the bit generator has it */
    return g && g->next_uint64 && g->next_uint32 && g->next_double ? g : NULL;
}

/* At one of its own: another thread may draw from the user's. */
static uint8_t look(tr_state *st, int which, PyObject *bits) {
    PyObject *own = PyObject_CallNoArgs((PyObject *)Py_TYPE(bits));
    const tr_bitgen *g = own ? bitgen_of(st, own) : NULL;
    PyObject *state = g ? PyObject_GetAttrString(own, "state") : NULL;
    bool same = state && memory_agrees_with_state(which, state, g->state);
    PyErr_Clear();
    Py_XDECREF(state);
    Py_XDECREF(own);
    return same ? AGREES : DIFFERS;
}

static uint32_t which_of(tr_state *st, PyObject *bits) {
    for (uint32_t k = 1; k < TR_GEN__KINDS; k++) {
        if (strcmp(Py_TYPE(bits)->tp_name, classes[k]) != 0)
            continue;
        uint8_t known = atomic_load_explicit(&st->generators[k], memory_order_relaxed);
        if (known == UNKNOWN) {
            known = look(st, (int)k, bits);
            atomic_store_explicit(&st->generators[k], known, memory_order_relaxed);
        }
        return known == AGREES ? k : TR_GEN_ANY;
    }
    return TR_GEN_ANY;
}

uint32_t tr_generator_which(tr_state *st, PyObject *o) {
    PyObject *bits = PyObject_GetAttr(o, st->bits_name);
    uint32_t which = bits ? which_of(st, bits) : TR_GEN_ANY;
    PyErr_Clear();
    Py_XDECREF(bits);
    return which;
}

const tr_ty *tr_generator_type(tr_tytab *types, uint32_t which) {
    const tr_ty *i64 = tr_ty_scalar(types, TR_TY_I64);
    assert(which < TR_GEN__KINDS && "a bit generator is one of those that are known, or any");
    return tr_ty_of(types, TR_TY_GENERATOR, which, 2, (const tr_ty *[]){i64, i64});
}

/* --- NumPy's distributions --- */

/* False with an exception: this NumPy does not show them. */
static bool find_functions(tr_state *st, const char *fn, const char *arg) {
    if (atomic_load_explicit(&st->generators[TR_GEN_ANY], memory_order_relaxed) == AGREES)
        return true;
    PyObject *module = PyImport_ImportModule("numpy.random._generator");
    PyObject *file = module ? PyObject_GetAttrString(module, "__file__") : NULL;
    PyObject *path = file ? PyUnicode_EncodeFSDefault(file) : NULL;
    const char *missing = path ? tr_rt_gen_find(PyBytes_AS_STRING(path)) : NULL;
    if (missing)
        PyErr_Format(
            PyExc_TypeError,
            "%s(): argument '%s' is a Generator, and this build of NumPy does not show its function %s, "
            "which "
            "compiled code calls\n  help: install NumPy's own wheel, or use the functions of np.random",
            fn, arg, missing);
    else if (path)
        atomic_store_explicit(&st->generators[TR_GEN_ANY], AGREES, memory_order_relaxed);
    bool found = path && !missing;
    Py_XDECREF(path);
    Py_XDECREF(file);
    Py_XDECREF(module);
    return found;
}

bool tr_generator_read(tr_state *st, PyObject *o, const char *fn, const char *arg, tr_slot **at) {
    PyObject *bits = PyObject_GetAttr(o, st->bits_name);
    tr_bitgen *g = bits ? bitgen_of(st, bits) : NULL;
    if (bits && !g)
        PyErr_Format(
            PyExc_TypeError,
            "%s(): argument '%s' is a Generator whose bit generator, a %s, has no functions for C\n  help: "
            "pass a Generator of PCG64, MT19937, Philox or SFC64",
            fn, arg, Py_TYPE(bits)->tp_name);
    bool read = g && find_functions(st, fn, arg);
    assert((read || PyErr_Occurred()) && "a Generator that cannot be read has raised");
    (*at)++->p = g;
    (*at)++->p = o;
    Py_XDECREF(bits); /* o has it */
    return read;
}
