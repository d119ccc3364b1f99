/* What a kernel of TR_ABI_FLAT takes: the one description of it, which lowering declares functions by and a
 * launcher packs a buffer by. */
#include "target/target.h"

#include <assert.h>

static unsigned size_of(tr_part p) {
    static const uint8_t sizes[] = {
        [TR_PART_I1] = 1,  [TR_PART_I8] = 1,  [TR_PART_I16] = 2, [TR_PART_I32] = 4, [TR_PART_I64] = 8,
        [TR_PART_F16] = 2, [TR_PART_F32] = 4, [TR_PART_F64] = 8, [TR_PART_PTR] = 8};
    return sizes[p];
}

static void add(tr_params *out, uint32_t arg, unsigned part, tr_part type) {
    tr_param *p = &out->d[out->n++];
    unsigned size = size_of(type);
    assert(size > 0 && (size & (size - 1)) == 0 && "a part has a size that it can be aligned to");
    uint32_t at = (out->bytes + size - 1) / size * size;
    *p = (tr_param){
        .arg = arg, .part = (uint8_t)part, .type = (uint8_t)type, .size = (uint8_t)size, .offset = at};
    out->bytes = at + size;
}

void tr_target_params(tr_arena *a, uint32_t n, const tr_ty *const *args, tr_params *out) {
    unsigned np = 1;
    for (uint32_t k = 0; k < n; k++)
        np += tr_ty_nparts(args[k]);
    *out = (tr_params){.d = TR_NEW_N(a, tr_param, np)};
    tr_part *parts = TR_NEW_N(a, tr_part, np);
    bool *given = TR_NEW_N(a, bool, np);
    add(out, TR_PARAM_ERROR, 0, TR_PART_PTR);
    for (uint32_t k = 0; k < n; k++) {
        tr_ty_parts(args[k], parts);
        tr_ty_launched(args[k], given);
        for (unsigned i = 0; i < tr_ty_nparts(args[k]); i++)
            if (given[i])
                add(out, k, i, parts[i]);
    }
    assert(out->n <= np && "parameters have room");
}
