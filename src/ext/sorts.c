/* NumPy's functions that sort, for the runtime (rt/sort.c): those of the dtypes' tables, looked up once. They
 * are C, know no Python, and need no GIL for numbers.
 *
 * A table has one for each of NumPy's ways to sort, but which of them NumPy itself calls is its own affair
 * (argsort(kind="heapsort") is the default one's from 2.4 on). So it is asked: equal items come out in an
 * order that tells the ways apart. Cost: some microseconds when the module is imported. */
#include "ext/sorts.h"

#include <string.h>

#include "rt/sort.h"

static const int numbers[TR_SORT__TYPES] = {
    [TR_SORT_BOOL] = NPY_BOOL,  [TR_SORT_I8] = NPY_INT8,      [TR_SORT_U8] = NPY_UINT8,
    [TR_SORT_I16] = NPY_INT16,  [TR_SORT_U16] = NPY_UINT16,   [TR_SORT_I32] = NPY_INT32,
    [TR_SORT_U32] = NPY_UINT32, [TR_SORT_I64] = NPY_INT64,    [TR_SORT_U64] = NPY_UINT64,
    [TR_SORT_F16] = NPY_HALF,   [TR_SORT_F32] = NPY_FLOAT32,  [TR_SORT_F64] = NPY_FLOAT64,
    [TR_SORT_C64] = NPY_CFLOAT, [TR_SORT_C128] = NPY_CDOUBLE,
};
static const NPY_SORTKIND kinds[TR_SORT__HOWS] = {
    [TR_SORT_QUICK] = NPY_QUICKSORT, [TR_SORT_HEAP] = NPY_HEAPSORT, [TR_SORT_STABLE] = NPY_STABLESORT};

/* Zeros of both signs, which are equal, of a type that NumPy has no vectors for. */
enum { SAMPLE = 100 };
typedef uint16_t half_bits;

static PyArrayObject *sample(void) {
    npy_intp n = SAMPLE;
    PyArrayObject *a = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_HALF);
    half_bits *x = a ? PyArray_DATA(a) : NULL;
    for (int i = 0; x && i < SAMPLE; i++)
        x[i] = i % 3 ? 0x8000 : 0;
    return a;
}

/* Does the table's function do what NumPy does? */
static bool sorts_as(PyArray_SortFunc *f, PyArrayObject *from, PyArrayObject *sorted) {
    half_bits x[SAMPLE];
    memcpy(x, PyArray_DATA(from), sizeof x);
    return f && f(x, SAMPLE, from) >= 0 && !memcmp(x, PyArray_DATA(sorted), sizeof x);
}

static bool places_as(PyArray_ArgSortFunc *f, PyArrayObject *from, PyArrayObject *places) {
    half_bits x[SAMPLE];
    npy_intp at[SAMPLE];
    memcpy(x, PyArray_DATA(from), sizeof x);
    for (int i = 0; i < SAMPLE; i++)
        at[i] = i;
    return f && f(x, at, SAMPLE, from) >= 0 && !memcmp(at, PyArray_DATA(places), sizeof at);
}

/* Which entries of the tables NumPy calls for a way to sort: its own, unless that does something
 * else and another one does the same. */
static bool ask(const PyArray_ArrFuncs *f, int kind, int *sort, int *argsort) {
    PyArrayObject *a = sample(), *b = sample();
    bool ok = a && b && PyArray_Sort(b, 0, kinds[kind]) >= 0;
    PyArrayObject *p = ok ? (PyArrayObject *)PyArray_ArgSort(a, 0, kinds[kind]) : NULL;
    *sort = *argsort = kind;
    for (int i = TR_SORT__HOWS; p && i-- > 0;) {
        if (!sorts_as(f->sort[kinds[*sort]], a, b) && sorts_as(f->sort[kinds[i]], a, b))
            *sort = i;
        if (!places_as(f->argsort[kinds[*argsort]], a, p) && places_as(f->argsort[kinds[i]], a, p))
            *argsort = i;
    }
    ok = p != NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(p);
    return ok;
}

bool tr_sorts_find(void) {
    tr_sorts s;
    int sort[TR_SORT__HOWS], argsort[TR_SORT__HOWS];
    PyArray_Descr *half = PyArray_DescrFromType(NPY_HALF);
    bool ok = half != NULL;
    for (int k = 0; ok && k < TR_SORT__HOWS; k++)
        ok = ask(PyDataType_GetArrFuncs(half), k, &sort[k], &argsort[k]);
    Py_XDECREF(half);
    for (int t = 0; ok && t < TR_SORT__TYPES; t++) {
        PyArray_Descr *d = PyArray_DescrFromType(numbers[t]);
        const PyArray_ArrFuncs *f = d ? PyDataType_GetArrFuncs(d) : NULL;
        for (int k = 0; f && k < TR_SORT__HOWS; k++) {
            s.sort[t][k] = f->sort[kinds[sort[k]]];
            s.argsort[t][k] = f->argsort[kinds[argsort[k]]];
        }
        Py_XDECREF(d);
        ok = f != NULL;
    }
    if (ok)
        tr_rt_sorts_set(&s);
    return ok;
}
