/* Records: how fields lie in an item of an array, and the arrays that they are.
 *
 * A STRUCT's `nums` are: bytes, flags, then of each field where it lies, how many axes its sub-array has, and
 * those. Everything else follows: whether a field's items are where loads of their type may expect them (else
 * its array is packed), and how far apart.
 * Cost: a look at a field is linear in their number. */
#include <assert.h>
#include <string.h>

#include "ty/internal.h"

enum { HEAD = 2 };

const tr_ty *tr_ty_struct(tr_tytab *t, uint32_t size, unsigned flags, uint32_t n, const tr_field *fields) {
    tr_arena scratch;
    uint32_t nnums = HEAD;
    tr_arena_init(&scratch, NULL);
    for (uint32_t i = 0; i < n; i++)
        nnums += 2 + fields[i].ndim;
    uint32_t *nums = TR_NEW_N(&scratch, uint32_t, nnums), *at = nums;
    const char **names = TR_NEW_N(&scratch, const char *, n + 1u);
    const tr_ty **items = TR_NEW_N(&scratch, const tr_ty *, n + 1u);
    *at++ = size;
    *at++ = flags;
    for (uint32_t i = 0; i < n; i++) {
        *at++ = fields[i].offset;
        *at++ = fields[i].ndim;
        assert(fields[i].ndim <= TR_MAX_FIELD_AXES && fields[i].offset <= size &&
               "a field lies in its record");
        for (uint32_t k = 0; k < fields[i].ndim; k++)
            *at++ = fields[i].shape[k];
        names[i] = fields[i].name;
        items[i] = fields[i].ty;
    }
    const tr_ty *s = tr_ty_intern(t, &(tr_ty){.kind = TR_TY_STRUCT,
                                              .n = n,
                                              .items = n ? items : NULL,
                                              .fields = names,
                                              .nums = nums,
                                              .nnums = nnums});
    tr_arena_fini(&scratch);
    return s;
}

const tr_ty *tr_ty_opaque(tr_tytab *t, uint32_t size, const char *name) {
    return tr_ty_intern(t, &(tr_ty){.kind = TR_TY_STRUCT,
                                    .sub = TR_STRUCT_OPAQUE,
                                    .name = name,
                                    .nums = (const uint32_t[]){size, 0},
                                    .nnums = HEAD});
}

tr_field tr_ty_field(const tr_ty *s, uint32_t k) {
    assert(s->kind == TR_TY_STRUCT && k < s->n && "a field of records");
    const uint32_t *at = s->nums + HEAD;
    for (uint32_t i = 0; i < k; i++)
        at += 2 + at[1];
    return (tr_field){s->fields[k], s->items[k], at[0], at[1], at + 2};
}

int tr_ty_find_field(const tr_ty *s, const char *name) {
    assert(s->kind == TR_TY_STRUCT && "records have fields");
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->fields[i], name) == 0)
            return (int)i;
    return -1;
}

unsigned tr_ty_struct_flags(const tr_ty *s) {
    assert(s->kind == TR_TY_STRUCT && s->nnums >= HEAD && "records have flags");
    return s->nums[1];
}

unsigned tr_ty_align(const tr_ty *elem) {
    if (elem->kind == TR_TY_SLOT)
        return elem->nums[1];
    if (elem->kind != TR_TY_STRUCT)
        return tr_ty_is_complex(elem) ? tr_ty_size(elem) / 2 : tr_ty_size(elem);
    unsigned most = 1, size = tr_ty_size(elem);
    for (uint32_t i = 0; i < elem->n; i++) {
        unsigned one = tr_ty_align(elem->items[i]);
        most = one > most ? one : most;
    }
    while (most > TR_STRUCT_ALIGN || (size & (most - 1)))
        most /= 2;
    return most;
}

unsigned tr_ty_unit(const tr_ty *array) {
    assert(array->kind == TR_TY_ARRAY && "arrays have strides");
    return tr_ty_is_packed(array) ? 1 : tr_ty_size(array->elem);
}

/* Items of type `elem` at this distance in each item of the array are aligned, and a whole
 * number of them apart. */
static bool lies_well(const tr_ty *array, const tr_ty *elem, uint32_t offset) {
    unsigned align = tr_ty_align(elem), size = tr_ty_size(elem);
    if (size == 1)
        return true; /* bytes lie well anywhere */
    return !tr_ty_is_loose(array) && size && tr_ty_align(array->elem) % align == 0 && offset % align == 0 &&
           tr_ty_size(array->elem) % size == 0;
}

const tr_ty *tr_ty_field_array(tr_tytab *t, const tr_ty *array, uint32_t k) {
    const tr_ty *s = array->elem;
    assert(tr_ty_is_records(array) && k <= s->n && "a field of an array of records, or their bytes");
    tr_field f = k < s->n ? tr_ty_field(s, k) : (tr_field){.ty = tr_ty_scalar(t, TR_TY_U8), .ndim = 1};
    unsigned ndim = array->ndim + f.ndim;
    bool packed = !lies_well(array, f.ty, f.offset);
    const tr_ty *elem = f.ty->kind == TR_TY_DATE ? f.ty->items[0] : f.ty;
    return tr_ty_array_as(t, elem, ndim, array->ndim ? TR_LAYOUT_ANY : TR_LAYOUT_C, array->readonly,
                          packed ? TR_ARRAY_PACKED : 0);
}

const tr_ty *tr_ty_record(tr_tytab *t, const tr_ty *s, bool readonly, bool packed) {
    return tr_ty_records(t, tr_ty_array_as(t, s, 0, TR_LAYOUT_C, readonly, packed ? TR_ARRAY_PACKED : 0),
                         true);
}

const tr_ty *tr_ty_records(tr_tytab *t, const tr_ty *array, bool one) {
    assert(tr_ty_is_records(array) && (!one || !array->ndim) && "one record has no axes");
    return tr_ty_of(t, one ? TR_TY_RECORD : TR_TY_RECORDS, 0, 1, &array);
}

const tr_ty *tr_ty_chars(tr_tytab *t, bool wide, const tr_ty *array) {
    assert(array->kind == TR_TY_ARRAY && array->elem->kind == TR_TY_U8 && array->ndim &&
           "items are the bytes of a last axis");
    return tr_ty_of(t, TR_TY_CHARS, wide ? TR_CHARS_U : 0, 1, &array);
}

bool tr_ty_same_fields(const tr_ty *a, const tr_ty *b) {
    assert(a->kind == TR_TY_STRUCT && b->kind == TR_TY_STRUCT && "records have fields");
    bool same = a->n == b->n && a->sub == b->sub && a->nnums == b->nnums && a->nums[0] == b->nums[0] &&
                memcmp(a->nums + HEAD, b->nums + HEAD, (a->nnums - HEAD) * sizeof *a->nums) == 0 &&
                (!a->name || strcmp(a->name, b->name) == 0);
    for (uint32_t i = 0; same && i < a->n; i++)
        same = strcmp(a->fields[i], b->fields[i]) == 0 &&
               (a->items[i] == b->items[i] ||
                (a->items[i]->kind == TR_TY_STRUCT && b->items[i]->kind == TR_TY_STRUCT &&
                 tr_ty_same_fields(a->items[i], b->items[i])));
    return same;
}
