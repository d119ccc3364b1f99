/* Slots: how an item that is no single number lies in the memory of a container.
 *
 * Its parts (ty/parts.c) lie one after the other, each aligned as C has it, so a slot of the same type is the
 * same bytes to compiled code, the runtime's C and Python's border; numbers lie as they do in arrays. No item
 * has fewer bytes than one, so that items are apart and sizes divide.
 * Cost: linear in the number of parts. */
#include <assert.h>

#include "ty/internal.h"

unsigned tr_part_size(tr_part p) {
    switch (p) {
    case TR_PART_I1:
    case TR_PART_I8: return 1;
    case TR_PART_I16:
    case TR_PART_F16: return 2;
    case TR_PART_I32:
    case TR_PART_F32: return 4;
    default: return 8;
    }
}

unsigned tr_ty_lies(const tr_ty *t, uint32_t *at, unsigned *align) {
    enum { FEW = 32 };
    tr_part few[FEW], *parts = few;
    tr_arena scratch;
    unsigned n = tr_ty_nparts(t), bytes = 0, most = 1;
    tr_arena_init(&scratch, NULL);
    if (n > FEW)
        parts = TR_NEW_N(&scratch, tr_part, n);
    tr_ty_parts(t, parts);
    for (unsigned k = 0; k < n; k++) {
        unsigned size = tr_part_size(parts[k]);
        bytes = (bytes + size - 1) & ~(size - 1);
        if (at)
            at[k] = bytes;
        bytes += size;
        most = size > most ? size : most;
    }
    tr_arena_fini(&scratch);
    if (align)
        *align = most;
    return bytes ? (bytes + most - 1) & ~(most - 1) : 1;
}

bool tr_ty_may_lie(const tr_ty *t) {
    return !t->weak && t->kind != TR_TY_STRUCT && t->kind != TR_TY_SLOT && !tr_ty_has_list(t);
}

const tr_ty *tr_ty_slot(tr_tytab *t, const tr_ty *of) {
    assert(tr_ty_may_lie(of) && "values lie in slots");
    uint32_t nums[2];
    nums[0] = tr_ty_lies(of, NULL, &nums[1]);
    return tr_ty_intern(
        t, &(tr_ty){
               .kind = TR_TY_SLOT, .n = 1, .items = &of, .nums = nums, .nnums = sizeof nums / sizeof *nums});
}

const tr_ty *tr_ty_as_elem(tr_tytab *t, const tr_ty *of) {
    return tr_ty_is_scalar(of) ? of : tr_ty_slot(t, of);
}

/* --- keys --- */

tr_keyclass tr_ty_key_class(const tr_ty *key) {
    switch ((tr_tyk)key->kind) {
    case TR_TY_BOOL: return TR_KEYS_BOOL;
    case TR_TY_I64:
    case TR_TY_U64: return TR_KEYS_I64;
    case TR_TY_F64: return TR_KEYS_F64;
    case TR_TY_C128: return TR_KEYS_C128;
    case TR_TY_STRING:
    case TR_TY_BYTES: return TR_KEYS_STRING;
    case TR_TY_TUPLE:
        if (key->n == 2 && key->items[0]->kind == TR_TY_I64 && key->items[1]->kind == TR_TY_I64)
            return TR_KEYS_2I64;
        return TR_KEYS_ANY;
    default: return TR_KEYS_ANY;
    }
}

/* Words of the parts of x, whose places begin at *at. */
static void key_words(const tr_ty *x, const uint32_t **at, tr_sb *to) {
    const uint32_t *lies = *at;
    *at += tr_ty_nparts(x);
    switch ((tr_tyk)x->kind) {
    case TR_TY_NONE: break;
    case TR_TY_BOOL: tr_sb_printf(to, "_b%u", lies[0]); break;
    case TR_TY_I64:
    case TR_TY_U64: tr_sb_printf(to, "_i%u", lies[0]); break;
    case TR_TY_F64: tr_sb_printf(to, "_f%u", lies[0]); break;
    case TR_TY_C128: tr_sb_printf(to, "_f%u_f%u", lies[0], lies[1]); break;
    case TR_TY_DATE: tr_sb_printf(to, "_d%u", lies[0]); break;
    case TR_TY_STRING:
    case TR_TY_BYTES: tr_sb_printf(to, "_s%u", lies[0]); break;
    case TR_TY_OPT: {
        tr_sb of;
        unsigned n = 0;
        tr_sb_init(&of);
        const uint32_t *value = lies + 1; /* behind whether there is one */
        key_words(x->items[1], &value, &of);
        for (size_t i = 0; i < of.n; i++)
            n += of.d[i] == '_';
        tr_sb_printf(to, "_o%u_n%u", lies[0], n);
        tr_sb_write(to, of.d, of.n);
        tr_sb_fini(&of);
        break;
    }
    default:
        assert(x->kind == TR_TY_TUPLE && "what else may be a key");
        for (uint32_t i = 0; i < x->n; i++)
            key_words(x->items[i], &lies, to);
    }
}

void tr_ty_key_words(const tr_ty *key, tr_sb *to) {
    enum { FEW = 32 };
    uint32_t few[FEW], *lies = few;
    unsigned n = tr_ty_nparts(key);
    tr_arena scratch;
    tr_arena_init(&scratch, NULL);
    if (n > FEW)
        lies = TR_NEW_N(&scratch, uint32_t, n);
    const uint32_t *at = lies;
    tr_ty_lies(key, lies, NULL);
    if (tr_ty_key_class(key) == TR_KEYS_ANY)
        key_words(key, &at, to);
    tr_arena_fini(&scratch);
}
