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
