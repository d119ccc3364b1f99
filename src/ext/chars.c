/* Arrays of NumPy's fixed-width strings, dtypes S and U.
 *
 * To compiled code they are arrays of bytes with one axis more, an item's bytes, so how wide items are is no
 * part of the type (docs/design/language.md). Nothing is asked of their alignment.
 * Cost of a key: a few loads. */
#include "ext/chars.h"

#include <assert.h>

char tr_npchars_letter(const PyArray_Descr *d) {
    return !tr_npchars_is_dtype(d) || !PyArray_ISNBO(d->byteorder) ? 0
           : d->type_num == NPY_UNICODE                            ? 'U'
                                                                   : 'S';
}

uint32_t tr_npchars_key(PyArrayObject *a) {
    char letter = tr_npchars_letter(PyArray_DESCR(a));
    unsigned flags = (unsigned)PyArray_FLAGS(a);
    if (!letter || PyArray_NDIM(a) >= TR_MAX_NDIM)
        return TR_K_OTHER;
    return TR_K_CHARS | (letter == 'U' ? 1u << 8 : 0u) | (uint32_t)PyArray_NDIM(a) << 16 |
           (flags & NPY_ARRAY_C_CONTIGUOUS ? (uint32_t)TR_KEY_C : 0u) |
           (flags & NPY_ARRAY_WRITEABLE ? 0u : (uint32_t)TR_KEY_RO);
}

const tr_ty *tr_npchars_of_key(tr_tytab *t, uint32_t key) {
    return tr_ty_chars(t, (key >> 8 & 1u) != 0,
                       tr_ty_array(t, tr_ty_scalar(t, TR_TY_U8), tr_key_ndim(key) + 1,
                                   key & TR_KEY_C ? TR_LAYOUT_C : TR_LAYOUT_ANY, (key & TR_KEY_RO) != 0));
}

void tr_npchars_parts(PyArrayObject *a, const tr_ty *ty, tr_slot **at) {
    tr_slot *s = *at;
    int n = PyArray_NDIM(a);
    assert(ty->items[0]->ndim == (unsigned)n + 1 && "an array has the axes of its type, and its items' one");
    (s++)->u = (uintptr_t)a | 1u;
    (s++)->p = PyArray_DATA(a);
    for (int k = 0; k < n; k++)
        (s++)->i = PyArray_DIM(a, k);
    (s++)->i = PyArray_ITEMSIZE(a);
    if (ty->items[0]->layout == TR_LAYOUT_ANY) {
        for (int k = 0; k < n; k++)
            (s++)->i = PyArray_STRIDE(a, k);
        (s++)->i = 1;
    }
    *at = s;
}

PyArray_Descr *tr_npchars_dtype(bool wide, npy_intp bytes) {
    PyArray_Descr *d = PyArray_DescrNewFromType(wide ? NPY_UNICODE : NPY_STRING);
    if (d)
        PyDataType_SET_ELSIZE(d, bytes);
    return d;
}
