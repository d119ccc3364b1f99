/* Ufuncs of NumPy, SciPy and others as plain data: their operands, and which C loop there is for which types.
 *
 * A loop may be called without the GIL where its types are numbers, as NumPy does. Left out are
 * loops for types that Treadle has not (objects, long double, dates) and for float16, in which it
 * does not compute. The addresses are in a table that the program refers to as one of its arrays, so
 * it is bound when code is loaded, like any other: code in the cache has none, and a process that
 * finds it there has frozen the ufunc anew. */
#include "ext/freeze.h"

#include "ext/value.h"
#include "rt/small.h"

static const tr_ty *type_of(tr_tytab *types, int num) {
    tr_tyk k = num >= 0 && (size_t)num < sizeof tr_value_npy_kind ? (tr_tyk)tr_value_npy_kind[num] : 255;
    return k == 255 || k == TR_TY_F16 ? NULL : tr_ty_scalar(types, k);
}

/* Types of a loop, or false: Treadle has none for one of them. */
static bool types_of(tr_tytab *types, const PyUFuncObject *u, int loop, const tr_ty **out) {
    if (!u->functions[loop])
        return false;
    for (int k = 0; k < u->nargs; k++)
        if (!(out[k] = type_of(types, u->types[loop * u->nargs + k])))
            return false;
    return true;
}

/* Why the loops cannot be called, whatever their types; NULL: they can. */
static const char *unfit(const PyUFuncObject *u) {
    if (u->nargs > TR_LOOP_OPERANDS || u->nargs < 1)
        return "has too many operands";
    if (!u->core_enabled)
        return NULL;
    if (u->core_num_dim_ix > TR_LOOP_SIZES)
        return "has too many core dimensions";
    for (int i = 0; i < u->core_num_dim_ix; i++)
        if (u->core_dim_flags[i] & UFUNC_CORE_DIM_CAN_IGNORE)
            return "has optional core dimensions";
    for (int k = 0; k < u->nargs; k++)
        if (u->core_num_dims[k] > TR_LOOP_CORE)
            return "has an operand with too many core dimensions";
    return NULL;
}

static const tr_cores *cores_of(tr_arena *a, const PyUFuncObject *u) {
    uint32_t nargs = (uint32_t)u->nargs, nsizes = u->core_enabled ? (uint32_t)u->core_num_dim_ix : 0;
    uint8_t *n = TR_NEW_N(a, uint8_t, nargs + 1), *which = TR_NEW_N(a, uint8_t, nargs * TR_MAX_NDIM + 1);
    int64_t *sizes = TR_NEW_N(a, int64_t, nsizes + 1);
    for (uint32_t k = 0; k < nargs && u->core_enabled; k++) {
        n[k] = (uint8_t)u->core_num_dims[k];
        for (uint32_t d = 0; d < n[k]; d++)
            which[k * TR_MAX_NDIM + d] = (uint8_t)u->core_dim_ixs[(uint32_t)u->core_offsets[k] + d];
    }
    for (uint32_t i = 0; i < nsizes; i++)
        sizes[i] = u->core_dim_flags[i] & UFUNC_CORE_DIM_SIZE_INFERRED ? -1 : u->core_dim_sizes[i];
    tr_cores *c = TR_NEW(a, tr_cores);
    *c = (tr_cores){.text = u->core_enabled ? tr_arena_strdup(a, u->core_signature) : "",
                    .n = n,
                    .which = which,
                    .nsizes = nsizes,
                    .sizes = sizes};
    return c;
}

/* This is the ufunc of that name in numpy.linalg. */
static bool is_of_linalg(PyObject *ufunc, const char *name) {
    PyObject *module = PyImport_ImportModule("numpy.linalg");
    PyObject *loops = module ? PyObject_GetAttrString(module, "_umath_linalg") : NULL;
    PyObject *found = loops ? PyObject_GetAttrString(loops, name) : NULL;
    bool same = found == ufunc;
    Py_XDECREF(module);
    Py_XDECREF(loops);
    Py_XDECREF(found);
    PyErr_Clear();
    return same;
}

/* The loop of our own that may take the place of one of numpy.linalg's for small matrices, or NULL. */
static tr_small_fn *small_of(PyUFuncObject *u, const tr_ty *const *t) {
    tr_small_fn *fn = u->name ? tr_rt_small(u->name) : NULL;
    for (int k = 0; k < u->nargs && fn; k++)
        if (t[k]->kind != TR_TY_F64)
            return NULL;
    return fn && is_of_linalg((PyObject *)u, u->name) ? fn : NULL;
}

/* The table of those loops that `fn` has a row for. */
static PyObject *table_of(tr_tytab *types, PyUFuncObject *u, const tr_ufn *fn) {
    const tr_ty *t[TR_LOOP_OPERANDS];
    size_t bytes = sizeof(tr_cloops) + fn->nsigs * sizeof(tr_cloop);
    npy_intp words = (npy_intp)(bytes / sizeof(int64_t));
    PyObject *o = PyArray_SimpleNew(1, &words, NPY_INT64);
    if (!o)
        return NULL;
    tr_cloops *l = PyArray_DATA((PyArrayObject *)o);
    memset(l, 0, bytes);
    l->nop = u->nargs;
    l->nsizes = fn->core->nsizes;
    for (int k = 0; k < u->nargs; k++) {
        l->ncore[k] = fn->core->n[k];
        for (int d = 0; d < fn->core->n[k]; d++)
            l->which[k][d] = fn->core->which[k * TR_MAX_NDIM + d];
    }
    tr_cloop *to = l->loop;
    for (int i = 0; i < u->ntypes; i++) {
        if (!types_of(types, u, i, t))
            continue;
        _Static_assert(sizeof to->fn == sizeof u->functions[0] && sizeof(npy_intp) == sizeof(int64_t),
                       "NumPy's loops are ours");
        memcpy(&to->fn, &u->functions[i], sizeof to->fn);
        to->data = u->data ? (void *)(uintptr_t)u->data[i] : NULL;
        to->small = small_of(u, t);
        for (int k = 0; k < u->nargs; k++)
            to->size[k] = tr_ty_size(t[k]);
        to++;
    }
    PyArray_CLEARFLAGS((PyArrayObject *)o, NPY_ARRAY_WRITEABLE); /* so it is taken as it is */
    return o;
}

const tr_ufn *tr_freeze_loops(tr_arena *a, tr_tytab *types, PyObject *ufunc, PyObject **table,
                              const char **why) {
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    const tr_ty *t[TR_LOOP_OPERANDS];
    const char *name = tr_arena_strdup(a, u->name ? u->name : "?");
    const char *no = unfit(u);
    uint32_t nargs = (uint32_t)u->nargs, n = 0;
    for (int i = 0; i < u->ntypes && !no; i++)
        n += types_of(types, u, i, t);
    if (!no && !n)
        no = "has no loop of C code for numbers";
    if (no) {
        *why = tr_arena_printf(a, "the ufunc '%s', which %s", name, no);
        return NULL;
    }
    const tr_ty **sigs = TR_NEW_N(a, const tr_ty *, n *nargs + 1), **at = sigs;
    for (int i = 0; i < u->ntypes; i++)
        if (types_of(types, u, i, t)) {
            memcpy(at, t, nargs * sizeof *t);
            at += nargs;
        }
    tr_ufn *fn = TR_NEW(a, tr_ufn);
    *fn = (tr_ufn){.name = name,
                   .nin = (uint32_t)u->nin,
                   .nout = (uint32_t)u->nout,
                   .core = cores_of(a, u),
                   .nsigs = n,
                   .sigs = sigs};
    *table = table_of(types, u, fn);
    return *table ? fn : NULL;
}
