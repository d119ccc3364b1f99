/* BLAS's routines for Python: a call is looked at as a whole, so that no library is given what it does not
 * take or reads past an end, and then put on a stream (libs/blas.h).
 *
 * There are two forms. That of methods has matrices and vectors, whose shapes and strides say how they lie;
 * the one of bindings has cuBLAS's own parameters, and an array is the memory from its first item on.
 * Cost of a call on the emulated device: some two hundred nanoseconds beside the routine. */
#include <assert.h>
#include <string.h>

#include "dev/libs.h"
#include "ext/compat.h"
#include "ext/device.h"
#include "libs/blas.h"

enum { ARRAYS = 3 };
static const double large = 1 << 16; /* multiplications; more is done without the GIL */

/* What calls have in common. Classes of the package's are made of it. */
typedef struct blas {
    PyObject_HEAD
    tr_state *st;
    PyObject *stream;
    bool atomics;
    bool watched; /* calls go by way of Python, where what they read and write is noted */
} blas;

typedef struct blas_args {
    const blas *b;
    tr_dev *d;
    bool raw, own, strict; /* a GPU; nothing but arrays that can be taken as they are */
    bool host, unfit;      /* found: an array of the host's; one that has to be a copy */
    tr_blas_call c;
    PyArrayObject *array[ARRAYS];
    uint8_t word[ARRAYS]; /* of each */
    int narrays, nnumbers;
    PyArrayObject *first; /* of a method's arguments */
} blas_args;

static const char *const type_names[TR_BLAS_TYPES] = {"float32", "float64", "complex64", "complex128"};

static const tr_blas_word *word_of(const blas_args *p, int k) {
    return &p->c.routine->words[k];
}

/* What messages call it. */
static const char *name_of(const blas_args *p) {
    return p->raw ? p->c.variant->name : p->c.routine->name;
}

static bool is_array(const tr_blas_word *w) {
    return w->kind == TR_BLAS_MATRIX || w->kind == TR_BLAS_VECTOR || w->kind == TR_BLAS_PACKED;
}

/* Whether it is given by who calls. */
static bool is_given(const tr_blas_word *w, bool raw) {
    if (w->kind == TR_BLAS_LD || w->kind == TR_BLAS_INC)
        return raw;
    if (w->kind == TR_BLAS_SIZE && w->use)
        return raw;
    return w->kind != TR_BLAS_RESULT && w->kind != TR_BLAS_GIVEN && w->kind != TR_BLAS_GIVEN_REAL &&
           w->kind != TR_BLAS_GIVEN_FIVE;
}

/* --- letters and sizes --- */

static bool bad_letter(const blas_args *p, int k, PyObject *o, const char *are) {
    PyErr_Format(PyExc_ValueError, "%s's %s is %s, not %R", name_of(p), word_of(p, k)->name, are, o);
    return false;
}

static int number_of_letter(PyObject *o, const char *letters) {
    if (!PyUnicode_Check(o) || PyUnicode_GetLength(o) != 1)
        return -1;
    Py_UCS4 u = PyUnicode_READ_CHAR(o, 0) & ~(Py_UCS4)0x20;
    for (int k = 0; letters[k]; k++)
        if ((Py_UCS4)letters[k] == u)
            return k;
    return -1;
}

static bool read_letter(blas_args *p, int k, PyObject *o) {
    const tr_blas_word *w = word_of(p, k);
    int v;
    switch (w->kind) {
    case TR_BLAS_OP:
        v = number_of_letter(o, "NTCH");
        v = v == 3 ? 2 : v;
        if (v < 0)
            return bad_letter(p, k, o, "'N', 'T' or 'C'");
        if (p->c.variant->type >= TR_BLAS_C64 && w->use == TR_BLAS_HERMITIAN && v == 1)
            return bad_letter(p, k, o, "'N' or 'C'");
        if (p->c.variant->type >= TR_BLAS_C64 && w->use == TR_BLAS_SYMMETRIC && v == 2)
            return bad_letter(p, k, o, "'N' or 'T' of complex numbers");
        p->c.op[w->slot] = (uint8_t)v;
        break;
    case TR_BLAS_UPLO:
        v = number_of_letter(o, "LU");
        if (v < 0)
            return bad_letter(p, k, o, "'U' or 'L'");
        break;
    case TR_BLAS_SIDE:
        v = number_of_letter(o, "LR");
        if (v < 0)
            return bad_letter(p, k, o, "'L' or 'R'");
        p->c.side = (uint8_t)v;
        break;
    default:
        v = PyBool_Check(o) ? o == Py_True : number_of_letter(o, "NU");
        if (v < 0)
            return bad_letter(p, k, o, "'U' (ones, which are not read), 'N', True or False");
    }
    p->c.word[k] = v;
    return true;
}

static bool read_integer(blas_args *p, int k, PyObject *o) {
    PyObject *i = PyLong_CheckExact(o) ? Py_NewRef(o) : PyNumber_Index(o);
    long long v = i ? PyLong_AsLongLong(i) : -1;
    Py_XDECREF(i);
    if (v == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s's %s is an integer, not %s", name_of(p), word_of(p, k)->name,
                         Py_TYPE(o)->tp_name);
        else if (PyErr_ExceptionMatches(PyExc_OverflowError))
            PyErr_Format(PyExc_ValueError, "%s's %s is %S, more than 64 bits hold", name_of(p),
                         word_of(p, k)->name, o);
        return false;
    }
    p->c.word[k] = v;
    return true;
}

static bool read_size(blas_args *p, int k, PyObject *o) {
    const tr_blas_word *w = word_of(p, k);
    if (!read_integer(p, k, o))
        return false;
    if (p->c.word[k] < 0 || p->c.word[k] > (int64_t)1 << 40) {
        PyErr_Format(PyExc_ValueError, "%s's %s is %lld, and no size", name_of(p), w->name,
                     (long long)p->c.word[k]);
        return false;
    }
    p->c.size[w->slot] = p->c.word[k];
    return true;
}

/* --- numbers --- */

static bool is_complex(PyObject *o) {
    return PyComplex_Check(o) || PyArray_IsScalar(o, ComplexFloating) ||
           (PyArray_Check(o) && PyArray_ISCOMPLEX((PyArrayObject *)o));
}

/* Of the precision of arrays. */
static void put_number(blas_args *p, double *to, Py_complex v) {
    float narrow[2] = {(float)v.real, (float)v.imag};
    if (p->c.variant->type & 1)
        memcpy(to, &v, sizeof v);
    else
        memcpy(to, narrow, sizeof narrow);
}

static bool read_number(blas_args *p, int k, PyObject *o) {
    const tr_blas_word *w = word_of(p, k);
    const tr_blas_variant *v = p->c.variant;
    bool real = w->kind == TR_BLAS_REAL || v->real || v->type <= TR_BLAS_F64;
    Py_complex x = {0};
    if (PyFloat_CheckExact(o)) {
        x.real = PyFloat_AS_DOUBLE(o);
    } else {
        x = PyComplex_AsCComplex(o);
        if (x.real == -1 && PyErr_Occurred()) {
            if (PyErr_ExceptionMatches(PyExc_TypeError))
                PyErr_Format(PyExc_TypeError, "%s's %s is a number, not %s", name_of(p), w->name,
                             Py_TYPE(o)->tp_name);
            return false;
        }
        if (real && is_complex(o)) {
            PyErr_Format(PyExc_TypeError, "%s's %s is a real number, not %R", name_of(p), w->name, o);
            return false;
        }
    }
    p->c.word[k] = p->nnumbers;
    put_number(p, &p->c.number[p->nnumbers], x);
    p->nnumbers += 2;
    return true;
}

/* Five of the host's: what rotmg gives. */
static bool read_five(blas_args *p, int k, PyObject *o) {
    const tr_blas_word *w = word_of(p, k);
    bool wide = p->c.variant->type & 1;
    PyObject *a =
        PyArray_FROMANY(o, wide ? NPY_DOUBLE : NPY_FLOAT, 1, 1, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
    if (!a || PyArray_SIZE((PyArrayObject *)a) < TR_BLAS_ROOM) {
        if (a)
            PyErr_Format(PyExc_ValueError, "%s's %s is five numbers, not %zd", name_of(p), w->name,
                         (Py_ssize_t)PyArray_SIZE((PyArrayObject *)a));
        Py_XDECREF(a);
        return false;
    }
    p->c.word[k] = p->nnumbers;
    memcpy(&p->c.number[p->nnumbers], PyArray_DATA((PyArrayObject *)a), TR_BLAS_ROOM * (wide ? 8u : 4u));
    p->nnumbers += 6;
    Py_DECREF(a);
    return true;
}

/* --- arrays --- */

static int type_of(const PyArrayObject *a) {
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT: return TR_BLAS_F32;
    case NPY_DOUBLE: return TR_BLAS_F64;
    case NPY_CFLOAT: return TR_BLAS_C64;
    case NPY_CDOUBLE: return TR_BLAS_C128;
    default: return TR_BLAS_TYPES;
    }
}

/* The ndarray of an argument; NULL: it has none that the device could use. */
static PyArrayObject *array_of(blas_args *p, PyObject *o) {
    PyObject *mem = tr_device_mem(p->b->st, o);
    if (mem)
        return (PyArrayObject *)mem;
    if (!PyArray_Check(o))
        return NULL;
    PyArrayObject *a = (PyArrayObject *)o;
    if (p->d->ops->owns(p->d, PyArray_DATA(a)))
        return a;
    p->host = true;
    return p->own && PyArray_SIZE(a) ? NULL : a;
}

static bool bad_type(const blas_args *p, int k, const PyArrayObject *a) {
    PyErr_Format(PyExc_TypeError, "All arrays must have the same dtype: %s's %s is of %S, and it takes %s",
                 name_of(p), word_of(p, k)->name, PyArray_DESCR(a), type_names[p->c.variant->type]);
    return false;
}

/* It cannot be taken as it is: `strict` says so. */
static bool not_fit(blas_args *p, int k, const char *why) {
    p->unfit = true;
    if (p->strict)
        PyErr_Format(PyExc_ValueError, "%s's %s %s", name_of(p), word_of(p, k)->name, why);
    return !p->strict;
}

static bool has_few(const blas_args *p, int k, const PyArrayObject *a, int64_t rows, int64_t cols) {
    const char *name = name_of(p), *what = word_of(p, k)->name;
    if (word_of(p, k)->kind == TR_BLAS_MATRIX)
        PyErr_Format(PyExc_ValueError, "%s uses %lld x %lld items of %s, which has %zd x %zd", name,
                     (long long)rows, (long long)cols, what, (Py_ssize_t)PyArray_DIM(a, 0),
                     (Py_ssize_t)PyArray_DIM(a, 1));
    else
        PyErr_Format(PyExc_ValueError, "%s uses %lld items of %s, which has %zd", name, (long long)rows, what,
                     (Py_ssize_t)PyArray_SIZE(a));
    return false;
}

/* As methods have it: its shape and strides say how it lies. */
static bool place_shaped(blas_args *p, int k, const PyArrayObject *a) {
    const tr_blas_word *w = word_of(p, k);
    int64_t rows, cols, item = tr_blas_item(p->c.variant);
    int ndim = w->kind == TR_BLAS_MATRIX ? 2 : 1;
    bool flat = w->kind == TR_BLAS_PACKED && (PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a));
    if (PyArray_NDIM(a) != ndim && !flat) {
        PyErr_Format(PyExc_ValueError, "Expecting %d dimension array: %s's %s has %d", ndim, name_of(p),
                     w->name, PyArray_NDIM(a));
        return false;
    }
    tr_blas_extent(&p->c, k, &rows, &cols);
    if (flat && PyArray_NDIM(a) != 1) { /* programs have made a packed triangle of a whole matrix */
        p->c.word[k] = (int64_t)(uintptr_t)PyArray_DATA(a);
        return PyArray_SIZE(a) >= rows || has_few(p, k, a, rows, cols);
    }
    if (p->first && p->c.routine->words[0].use && p->c.routine->words[0].kind == TR_BLAS_SIZE &&
        PyArray_DIM(a, 0) != rows) {
        PyErr_Format(PyExc_ValueError,
                     "Expecting all arrays to have the same shape: %s's %s has %zd items, and not %lld",
                     name_of(p), w->name, (Py_ssize_t)PyArray_DIM(a, 0), (long long)rows);
        return false;
    }
    if (PyArray_DIM(a, 0) < rows || (ndim == 2 && PyArray_DIM(a, 1) < cols))
        return has_few(p, k, a, rows, cols);
    p->c.word[k] = (int64_t)(uintptr_t)PyArray_DATA(a);
    int64_t first = PyArray_STRIDE(a, 0);
    if (!rows || !cols) { /* wherever nothing lies */
        if (w->kind != TR_BLAS_PACKED)
            p->c.word[k + 1] = w->kind == TR_BLAS_MATRIX && rows ? rows : 1;
        return true;
    }
    if (w->kind == TR_BLAS_VECTOR) {
        p->c.word[k + 1] = rows > 1 ? first / item : 1;
        if (rows > 1 && (first % item || !first))
            return not_fit(p, k, "has items that lie at no whole distance from each other");
        if (rows > 1 && first < 0)
            p->c.word[k] += (rows - 1) * first;
        return true;
    }
    if (rows > 1 && first != item)
        return not_fit(p, k, w->kind == TR_BLAS_MATRIX ? "does not lie in columns: order 'F'" : "has gaps");
    if (w->kind == TR_BLAS_MATRIX) {
        int64_t least = rows ? rows : 1, next = PyArray_STRIDE(a, 1);
        p->c.word[k + 1] = cols > 1 ? next / item : PyArray_DIM(a, 0) > least ? PyArray_DIM(a, 0) : least;
        if (cols > 1 && (next % item || next / item < least))
            return not_fit(p, k, "does not lie in columns: order 'F'");
    }
    return true;
}

/* As bindings have it: from its first item on to its last there are as many as the words say. */
static bool place_flat(blas_args *p, int k, const PyArrayObject *a) {
    const tr_blas_word *w = word_of(p, k);
    int64_t rows, cols, item = tr_blas_item(p->c.variant), last = item;
    tr_blas_span s;
    tr_blas_extent(&p->c, k, &rows, &cols);
    if (w->kind == TR_BLAS_MATRIX && p->c.word[k + 1] < (rows ? rows : 1)) {
        PyErr_Format(PyExc_ValueError, "%s's %s is %lld, less than the %lld rows of %s", name_of(p),
                     word_of(p, k + 1)->name, (long long)p->c.word[k + 1], (long long)(rows ? rows : 1),
                     w->name);
        return false;
    }
    for (int i = 0; i < PyArray_NDIM(a); i++)
        last += PyArray_STRIDE(a, i) > 0 ? (PyArray_DIM(a, i) - 1) * PyArray_STRIDE(a, i) : 0;
    p->c.word[k] = (int64_t)(uintptr_t)PyArray_DATA(a);
    tr_blas_span_of(&p->c, k, &s);
    bool fits = (double)s.count * (double)s.pitch < 1e18;
    int64_t uses = !s.count ? 0 : fits ? (s.count - 1) * s.pitch + s.bytes : INT64_MAX;
    last = PyArray_SIZE(a) ? last : 0;
    if (uses > last) {
        PyErr_Format(PyExc_ValueError, "%s uses %lld items of %s, which has %lld", name_of(p),
                     (long long)(uses / item), w->name, (long long)(last / item));
        return false;
    }
    return true;
}

static bool read_array(blas_args *p, int k, PyObject *o) {
    const tr_blas_word *w = word_of(p, k);
    PyArrayObject *a = array_of(p, o);
    if (!a)
        return not_fit(p, k, PyArray_Check(o) ? "is the host's" : "is no array of the device");
    if (type_of(a) != p->c.variant->type)
        return bad_type(p, k, a);
    if (w->use == TR_BLAS_OUT && !PyArray_ISWRITEABLE(a)) {
        PyErr_Format(PyExc_ValueError, "%s writes to %s, which is read-only", name_of(p), w->name);
        return false;
    }
    if (!(p->raw ? place_flat(p, k, a) : place_shaped(p, k, a)))
        return false;
    assert(p->narrays < ARRAYS && "no routine has more arrays");
    p->array[p->narrays] = a;
    p->word[p->narrays++] = (uint8_t)k;
    bool apart = p->own && p->c.word[k] % tr_blas_item(p->c.variant);
    if (!PyArray_ISALIGNED(a) || !PyArray_ISNOTSWAPPED(a) || apart)
        return not_fit(p, k, "has items that are not aligned, or in another byte order");
    return tr_device_check(p->b->st, p->d, (PyObject *)a);
}

/* Reductions go forward; steps are not 0. Behind cuBLAS's own parameters. */
static bool read_step(blas_args *p, int k, PyObject *o) {
    const tr_blas_routine *r = p->c.routine;
    bool forward = r->nwords <= 4 && r->words[r->nwords - 1].kind == TR_BLAS_RESULT;
    if (!read_integer(p, k, o))
        return false;
    bool far = p->c.word[k] > (int64_t)1 << 40 || p->c.word[k] < -((int64_t)1 << 40);
    forward |= r == &tr_blas_routines[TR_BLAS_scal];
    if (p->c.word[k] == 0 || far || (forward && word_of(p, k)->kind == TR_BLAS_INC && p->c.word[k] < 0)) {
        PyErr_Format(PyExc_ValueError, "%s's %s is %lld", name_of(p), word_of(p, k)->name,
                     (long long)p->c.word[k]);
        return false;
    }
    return true;
}

/* Of one vector the order does not matter, but which item is the first of the largest. */
static bool turn_forward(blas_args *p) {
    const tr_blas_routine *r = p->c.routine;
    if (p->narrays != 1 || word_of(p, p->word[0])->kind != TR_BLAS_VECTOR || p->c.word[p->word[0] + 1] >= 0)
        return true;
    const tr_blas_word *last = &r->words[r->nwords - 1];
    bool alone = last->kind == TR_BLAS_RESULT || r == &tr_blas_routines[TR_BLAS_scal];
    if (last->kind == TR_BLAS_RESULT && last->use == TR_BLAS_GIVES_INDEX)
        return not_fit(p, p->word[0], "goes backwards");
    if (alone)
        p->c.word[p->word[0] + 1] = -p->c.word[p->word[0] + 1];
    return true;
}

/* What is written meets nothing else, unless it may be the very same. */
static bool arrays_are_apart(blas_args *p) {
    tr_blas_span s[ARRAYS];
    for (int i = 0; i < p->narrays; i++)
        tr_blas_span_of(&p->c, p->word[i], &s[i]);
    for (int i = 0; i < p->narrays; i++)
        for (int j = 0; j < p->narrays; j++) {
            const tr_blas_word *to = word_of(p, p->word[i]), *from = word_of(p, p->word[j]);
            if (i == j || to->use != TR_BLAS_OUT || !tr_blas_meets(&s[i], &s[j]))
                continue;
            bool same = from->use == TR_BLAS_SAME && !p->c.op[from->slot] && s[i].at == s[j].at &&
                        p->c.word[p->word[i] + 1] == p->c.word[p->word[j] + 1];
            if (!same) {
                PyErr_Format(PyExc_ValueError, "%s writes to %s, which shares memory with %s", name_of(p),
                             to->name, from->name);
                return false;
            }
        }
    return true;
}

/* --- a call --- */

/* The variant by the arrays' type. */
static bool choose_variant(blas_args *p, PyObject *const *args) {
    const tr_blas_routine *r = p->c.routine;
    int k = 0, n = 0, type = TR_BLAS_TYPES;
    bool real = true;
    PyArrayObject *first = NULL;
    for (; k < r->nwords; k++) {
        if (!is_given(&r->words[k], false))
            continue;
        PyObject *o = args[n++];
        if (is_array(&r->words[k]) && !first) {
            PyObject *mem = tr_device_mem(p->b->st, o);
            if (!mem && !PyArray_Check(o)) {
                p->unfit = true;
                if (p->strict)
                    PyErr_Format(PyExc_TypeError, "%s's %s is an array, not %s", r->name, r->words[k].name,
                                 Py_TYPE(o)->tp_name);
                return false;
            }
            first = (PyArrayObject *)(mem ? mem : o);
            type = type_of(first);
        } else if (r->words[k].kind == TR_BLAS_NUMBER) {
            real &= !is_complex(o);
        }
    }
    if (!first) {
        p->unfit = true;
        return false;
    }
    p->first = first;
    for (k = 0; k < r->nvariants; k++) {
        const tr_blas_variant *v = &tr_blas_variants[r->variant + k];
        if (v->type == type && (!p->c.variant || (v->real && real)))
            p->c.variant = v;
    }
    if (!p->c.variant)
        PyErr_Format(PyExc_TypeError, "%s is not of arrays of %S", r->name, PyArray_DESCR(first));
    return p->c.variant;
}

static bool read_one(blas_args *p, int k, PyObject *o) {
    switch (word_of(p, k)->kind) {
    case TR_BLAS_OP:
    case TR_BLAS_UPLO:
    case TR_BLAS_SIDE:
    case TR_BLAS_DIAG: return read_letter(p, k, o);
    case TR_BLAS_SIZE: return read_size(p, k, o);
    case TR_BLAS_NUMBER:
    case TR_BLAS_REAL:
    case TR_BLAS_CHANGED: return read_number(p, k, o);
    case TR_BLAS_FIVE: return read_five(p, k, o);
    default: return read_array(p, k, o);
    }
}

static bool count_is_right(const blas_args *p, Py_ssize_t n) {
    int want = 0;
    for (int k = 0; k < p->c.routine->nwords; k++)
        want += is_given(word_of(p, k), p->raw);
    if (n != want)
        PyErr_Format(PyExc_TypeError, "%s takes %d arguments, not %zd", name_of(p), want, n);
    return n == want;
}

/* All words of a call. False without an exception: `unfit`. */
static bool read_all(blas_args *p, PyObject *const *args) {
    const tr_blas_routine *r = p->c.routine;
    int n = 0;
    p->c.op[TR_BLAS_NO_SLOT] = 0;
    for (int k = 0; k < r->nwords; k++) {
        const tr_blas_word *w = &r->words[k];
        if (!is_given(w, p->raw)) {
            if (w->kind == TR_BLAS_SIZE) {
                p->c.word[k] = p->c.size[w->slot] = PyArray_SIZE(p->first);
            } else if (w->kind != TR_BLAS_LD && w->kind != TR_BLAS_INC) {
                p->c.word[k] = p->nnumbers; /* what is given back */
                p->nnumbers += w->kind == TR_BLAS_GIVEN_FIVE ? 6 : 2;
            }
            continue;
        }
        bool steps = p->raw && k + 1 < r->nwords && (w[1].kind == TR_BLAS_LD || w[1].kind == TR_BLAS_INC);
        if (steps) { /* how it lies comes first */
            if (!read_step(p, k + 1, args[n + 1]) || !read_array(p, k, args[n]))
                return false;
            n += 2;
            k++;
        } else if (!read_one(p, k, args[n++])) {
            return false;
        }
    }
    assert(p->nnumbers <= TR_BLAS_DOUBLES && "there is room for all numbers");
    return (p->raw || turn_forward(p)) && !p->unfit && arrays_are_apart(p);
}

/* Multiplications, about. */
static double work_of(const tr_blas_call *c) {
    const int64_t *s = c->size;
    double m = (double)(s[TR_BLAS_M] ? s[TR_BLAS_M] : s[TR_BLAS_N]), n = (double)s[TR_BLAS_N];
    double k = s[TR_BLAS_K] ? (double)s[TR_BLAS_K] : m + n;
    const tr_blas_routine *r = c->routine;
    if (r < &tr_blas_routines[TR_BLAS_gbmv])
        return n;
    if (r < &tr_blas_routines[TR_BLAS_gemm])
        return n * m;
    return n * m * k;
}

/* All that is given back, as numbers of Python's; the item of dot's type where a method asks. */
static PyObject *one_given(const tr_blas_call *c, int k, bool real, bool raw) {
    const double *at = &c->number[c->word[k]];
    int type = c->variant->type;
    const tr_blas_word *w = &c->routine->words[k];
    if (w->kind == TR_BLAS_RESULT && !raw && !real) {
        static const int nums[TR_BLAS_TYPES] = {NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
        PyArray_Descr *d = PyArray_DescrFromType(nums[type]);
        PyObject *item = PyArray_Scalar((void *)(uintptr_t)at, d, NULL);
        Py_DECREF(d);
        return item;
    }
    float narrow[2];
    double wide[2];
    memcpy(narrow, at, sizeof narrow);
    memcpy(wide, at, sizeof wide);
    if (!(type & 1)) {
        wide[0] = (double)narrow[0];
        wide[1] = (double)narrow[1];
    }
    return real || type <= TR_BLAS_F64 ? PyFloat_FromDouble(wide[0])
                                       : PyComplex_FromDoubles(wide[0], wide[1]);
}

static PyObject *five_given(const tr_blas_call *c, int k) {
    bool wide = c->variant->type & 1;
    npy_intp n = TR_BLAS_ROOM;
    PyObject *a = PyArray_SimpleNew(1, &n, wide ? NPY_DOUBLE : NPY_FLOAT);
    if (a)
        memcpy(PyArray_DATA((PyArrayObject *)a), &c->number[c->word[k]], TR_BLAS_ROOM * (wide ? 8u : 4u));
    return a;
}

static PyObject *all_given(const tr_blas_call *c, bool raw) {
    const tr_blas_routine *r = c->routine;
    const tr_blas_word *last = &r->words[r->nwords - 1];
    if (last->kind == TR_BLAS_GIVEN_FIVE)
        return five_given(c, r->nwords - 1);
    if (last->kind == TR_BLAS_RESULT && last->use == TR_BLAS_GIVES_INDEX) {
        int64_t at;
        memcpy(&at, &c->number[c->word[r->nwords - 1]], sizeof at);
        return PyLong_FromLongLong(raw ? at : at - 1);
    }
    if (last->kind == TR_BLAS_RESULT)
        return one_given(c, r->nwords - 1, last->use == TR_BLAS_GIVES_REAL, raw);
    if (last->kind != TR_BLAS_GIVEN)
        return Py_NewRef(Py_None);
    PyObject *all = PyTuple_New(r->nwords); /* rotg: each word is given */
    for (int k = 0; all && k < r->nwords; k++) {
        PyObject *one = one_given(c, k, r->words[k].kind == TR_BLAS_GIVEN_REAL, true);
        if (one)
            PyTuple_SET_ITEM(all, k, one);
        else
            Py_CLEAR(all);
    }
    return all;
}

/* Something of the host's that the call has to be waited for. */
static bool gives(const tr_blas_call *c) {
    int kind = c->routine->words[c->routine->nwords - 1].kind;
    return kind == TR_BLAS_RESULT || kind == TR_BLAS_GIVEN || kind == TR_BLAS_GIVEN_FIVE;
}

/* Puts it on the stream. A result that is asked for has a place that lives as long as the work. */
static bool put(blas_args *p, tr_dev_stream *s, int gpu, PyObject *area) {
    enum { AREA = ARRAYS, RESULT, KEEP };
    tr_state *st = p->b->st;
    PyObject *keep[KEEP] = {[AREA] = area};
    tr_libwork w = {.fn = tr_blas_run,
                    .arg = &p->c,
                    .bytes = sizeof p->c,
                    .gpu = gpu,
                    .away = p->own ? gives(&p->c) : work_of(&p->c) > large,
                    .keep = keep,
                    .nkeep = KEEP};
    for (int k = 0; k < p->narrays; k++)
        keep[k] = (PyObject *)p->array[k];
    if (!s || !gives(&p->c))
        return tr_stream_work(st, p->d, s, &w);
    PyObject *result = keep[RESULT] = PyBytes_FromStringAndSize(NULL, sizeof p->c.number);
    if (!result)
        return false;
    p->c.result = (double *)(void *)PyBytes_AS_STRING(result);
    bool ok = tr_stream_work(st, p->d, s, &w) && tr_stream_synchronize(st, p->d, s);
    if (ok)
        memcpy(p->c.number, PyBytes_AS_STRING(result), sizeof p->c.number);
    Py_DECREF(result);
    return ok;
}

static bool not_here(const blas_args *p, const char *why) {
    PyObject *errors = PyImport_ImportModule("treadle.cuda._errors");
    PyObject *cls = errors ? PyObject_GetAttrString(errors, "CudaSupportError") : NULL;
    if (cls)
        PyErr_Format(cls, "%s: %s", name_of(p), why);
    Py_XDECREF(errors);
    Py_XDECREF(cls);
    return false;
}

static bool library_is_here(const blas_args *p) {
    if (p->own) {
        if (!tr_lib_cublas())
            PyErr_SetString(PyExc_RuntimeError, "cuBLAS was not opened");
        return tr_lib_cublas();
    }
    bool small = true;
    const tr_blas *lib = tr_rt_blas();
    for (int k = 0; lib->lib && k < p->c.routine->nwords; k++)
        small &= (word_of(p, k)->kind != TR_BLAS_SIZE && word_of(p, k)->kind != TR_BLAS_LD &&
                  word_of(p, k)->kind != TR_BLAS_INC) ||
                 (p->c.word[k] <= lib->most && -p->c.word[k] <= lib->most);
    if (small && tr_blas_is_here(&p->c))
        return true;
    return not_here(p, small ? "the BLAS that NumPy uses is not found, or has no such routine"
                             : "the BLAS that NumPy uses takes no sizes of 64 bits");
}

/* Where m or n is 0 nothing is done, as BLAS has it, and results are 0. */
static bool is_empty(const tr_blas_call *c) {
    bool none = false;
    for (int k = 0; k < c->routine->nwords; k++) {
        const tr_blas_word *w = &c->routine->words[k];
        none |= w->kind == TR_BLAS_SIZE && w->slot <= TR_BLAS_N && !c->word[k];
    }
    return none;
}

/* A call that was looked at. NULL with an exception. */
static PyObject *run(blas_args *p) {
    tr_state *st = p->b->st;
    const tr_blas_word *last = word_of(p, p->c.routine->nwords - 1);
    tr_dev_stream *s;
    if (is_empty(&p->c)) {
        if (p->raw || last->kind != TR_BLAS_RESULT || last->use != TR_BLAS_GIVES_INDEX)
            return all_given(&p->c, p->raw);
        return PyErr_Format(PyExc_ValueError, "%s of an array without items", name_of(p));
    }
    PyObject *stream = Py_NewRef(p->b->stream); /* another thread may change it meanwhile */
    PyObject *area = NULL, *given = NULL;
    if (!library_is_here(p) || !tr_stream_of(st, stream, &s))
        goto done;
    int gpu = p->d->ops->number ? p->d->ops->number(p->d, s) : 0;
    tr_dev_stream *order = s && !tr_stream_is_foreign(stream) ? s : NULL;
    area =
        p->own ? tr_device_alloc(st, p->d, TR_DEV_LOCAL, order, tr_blas_area(p->d, gpu)) : Py_NewRef(Py_None);
    if (!area)
        goto done;
    p->c.area = p->own ? ((tr_devmem *)area)->mem.at : NULL;
    p->c.atomics = p->b->atomics;
    if (put(p, s, gpu, area))
        given = all_given(&p->c, p->raw);
done:
    Py_XDECREF(area);
    Py_DECREF(stream);
    return given;
}

/* Reads a call: its number (the routine's, of bindings with the variant's), then its arguments. */
static bool read_call(blas *b, blas_args *p, bool raw, PyObject *const *args, Py_ssize_t n) {
    long number = n ? PyLong_AsLong(args[0]) : -1;
    if (number == -1 && PyErr_Occurred())
        return false;
    p->b = b;
    p->d = tr_device_get(b->st);
    if (!p->d)
        return false;
    p->own = p->d->ops->load != NULL;
    p->raw = raw;
    long routine = raw ? number >> 8 : number, variant = raw ? number & 255 : 0;
    if (routine < 0 || routine >= TR_BLAS_ROUTINES || variant >= TR_BLAS_VARIANTS) {
        PyErr_SetString(PyExc_ValueError, "no routine of BLAS has this number");
        return false;
    }
    p->c.routine = &tr_blas_routines[routine];
    p->c.variant = raw ? &tr_blas_variants[variant] : NULL;
    return count_is_right(p, n - 1) && (raw || choose_variant(p, args + 1)) && read_all(p, args + 1);
}

/* Where something has to be done before or behind it, Python does that. */
static PyObject *blas_call(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    blas *b = (blas *)self;
    blas_args p = {0};
    bool plain = !b->stream || (PyLong_CheckExact(b->stream) && PyObject_Not(b->stream));
    bool ok = !b->watched && read_call(b, &p, false, args, n);
    if (ok && (!p.host || plain))
        return run(&p);
    if (PyErr_Occurred())
        return NULL;
    PyObject *name = PyUnicode_FromString("_staged"), *all[12] = {self};
    PyObject *r = NULL;
    if (name && n <= 11) {
        memcpy(all + 1, args, (size_t)n * sizeof *args);
        r = PyObject_VectorcallMethod(name, all, (size_t)n + 1, NULL);
    } else if (name) {
        PyErr_Format(PyExc_TypeError, "no routine of BLAS takes %zd arguments", n - 1);
    }
    Py_XDECREF(name);
    return r;
}

static PyObject *run_strictly(PyObject *self, PyObject *const *args, Py_ssize_t n, bool raw) {
    blas_args p = {.strict = true};
    return read_call((blas *)self, &p, raw, args, n) ? run(&p) : NULL;
}

static PyObject *blas_run(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return run_strictly(self, args, n, false);
}

static PyObject *blas_raw(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return run_strictly(self, args, n, true);
}

/* What a call touches: (name, address, bytes, pitch, count, written) of each array. */
static PyObject *touched(PyObject *self, PyObject *const *args, Py_ssize_t n, bool raw) {
    blas_args p = {.strict = true};
    PyObject *all = read_call((blas *)self, &p, raw, args, n) ? PyList_New(0) : NULL;
    for (int k = 0; all && k < p.narrays; k++) {
        const tr_blas_word *w = word_of(&p, p.word[k]);
        tr_blas_span s;
        tr_blas_span_of(&p.c, p.word[k], &s);
        PyObject *one = Py_BuildValue("sKLLLi", w->name, (unsigned long long)s.at, (long long)s.bytes,
                                      (long long)s.pitch, (long long)s.count, w->use == TR_BLAS_OUT);
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

static PyObject *blas_touched(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return touched(self, args, n, false);
}

static PyObject *blas_raw_touched(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return touched(self, args, n, true);
}

/* --- the type --- */

static PyObject *blas_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    (void)args;
    (void)kw;
    PyObject *module = PyType_GetModuleByDef(type, tr_ext_definition());
    tr_state *st = module ? tr_ext_state(module) : NULL;
    blas *b = st && tr_device_get(st) ? (blas *)type->tp_alloc(type, 0) : NULL;
    if (!b)
        return NULL;
    b->st = st;
    b->stream = PyLong_FromLong(0);
    return (PyObject *)b;
}

static int blas_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((blas *)self)->stream);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int blas_clear(PyObject *self) {
    Py_CLEAR(((blas *)self)->stream);
    return 0;
}

static void blas_dealloc(PyObject *self) {
    PyTypeObject *tp = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((blas *)self)->stream);
    tp->tp_free(self);
    Py_DECREF(tp);
}

#define FAST(f) (PyCFunction)(void (*)(void))(f), METH_FASTCALL
static PyMethodDef blas_methods[] = {
    {"_call", FAST(blas_call),
     "_call(routine, *args, /)\n--\n\nThe routine of that number; ``_staged`` where something has to be done "
     "before "
     "or behind it."},
    {"_run", FAST(blas_run),
     "_run(routine, *args, /)\n--\n\nThe same with arrays that can be taken as they are."},
    {"_raw", FAST(blas_raw),
     "_raw(number, *args, /)\n--\n\nA variant, by 256 times the routine's number and its own, with cuBLAS's "
     "parameters."},
    {"_touched", FAST(blas_touched),
     "_touched(routine, *args, /)\n--\n\nThe memory that `_run` would touch."},
    {"_raw_touched", FAST(blas_raw_touched), "_raw_touched(number, *args, /)\n--\n\nThat of `_raw`."},
    {0},
};

static PyMemberDef blas_members[] = {
    {"_stream", T_OBJECT_EX, offsetof(blas, stream), 0, NULL},
    {"_atomics", T_BOOL, offsetof(blas, atomics), 0, NULL},
    {"_watched", T_BOOL, offsetof(blas, watched), 0, NULL},
    {0},
};

static PyType_Slot blas_slots[] = {
    {Py_tp_new, blas_new},
    {Py_tp_dealloc, blas_dealloc},
    {Py_tp_traverse, blas_traverse},
    {Py_tp_clear, blas_clear},
    {Py_tp_methods, blas_methods},
    {Py_tp_members, blas_members},
    {Py_tp_doc, "Calls of BLAS's routines."},
    {0, NULL},
};

static PyType_Spec blas_spec = {
    .name = "treadle._core.BLAS",
    .basicsize = sizeof(blas),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = blas_slots,
};

/* --- the table --- */

/* [(name, about, [(word, kind, use, is given to a method)], [(variant, symbol, type, real, other)])] */
static PyObject *blas_table(PyObject *module, PyObject *unused) {
    static const char *const kinds[] = {"op",     "uplo",    "side",   "diag",       "size",   "number",
                                        "real",   "changed", "given",  "given real", "five",   "given five",
                                        "matrix", "ld",      "vector", "inc",        "packed", "result"};
    _Static_assert(sizeof kinds / sizeof *kinds == TR_BLAS_RESULT + 1, "a text for each kind");
    PyObject *all = PyList_New(0);
    (void)module;
    (void)unused;
    for (int i = 0; all && i < TR_BLAS_ROUTINES; i++) {
        const tr_blas_routine *r = &tr_blas_routines[i];
        PyObject *words = PyList_New(0), *variants = PyList_New(0);
        bool ok = words && variants;
        for (int k = 0; ok && k < r->nwords; k++) {
            const tr_blas_word *w = &r->words[k];
            PyObject *one = Py_BuildValue("ssiO", w->name, kinds[w->kind], w->use,
                                          is_given(w, false) ? Py_True : Py_False);
            ok = one && PyList_Append(words, one) == 0;
            Py_XDECREF(one);
        }
        for (int k = 0; ok && k < r->nvariants; k++) {
            const tr_blas_variant *v = &tr_blas_variants[r->variant + k];
            PyObject *one = Py_BuildValue("sssOO", v->name, v->symbol, type_names[v->type],
                                          v->real ? Py_True : Py_False, v->other ? Py_True : Py_False);
            ok = one && PyList_Append(variants, one) == 0;
            Py_XDECREF(one);
        }
        PyObject *row = ok ? Py_BuildValue("ssOO", r->name, r->about, words, variants) : NULL;
        if (!row || PyList_Append(all, row) < 0)
            Py_CLEAR(all);
        Py_XDECREF(row);
        Py_XDECREF(words);
        Py_XDECREF(variants);
    }
    return all;
}

/* _blas_version(): 0 where no library is open. */
static PyObject *blas_version(PyObject *module, PyObject *unused) {
    tr_state *st = tr_ext_state(module);
    tr_dev *d = tr_device_get(st);
    int version = 0;
    (void)unused;
    if (!d)
        return NULL;
    int32_t code =
        tr_lib_cublas() ? tr_blas_version(d, d->ops->number ? d->ops->number(d, NULL) : 0, &version) : 0;
    return code ? tr_device_raise(d, code) : PyLong_FromLong(version);
}

bool tr_blas_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_blas_table", blas_table, METH_NOARGS,
         "_blas_table()\n--\n\nBLAS's routines: name, what it does, parameters, variants."},
        {"_blas_version", blas_version, METH_NOARGS,
         "_blas_version()\n--\n\nThe version of cuBLAS, 10000 times its major one; 0: it is not open."},
        {NULL, NULL, 0, NULL},
    };
    PyObject *type = PyType_FromModuleAndSpec(module, &blas_spec, NULL);
    bool ok = type && PyModule_AddType(module, (PyTypeObject *)type) == 0 &&
              PyModule_AddFunctions(module, methods) == 0;
    Py_XDECREF(type);
    return ok;
}
