/* The host: x86-64 Linux. */
#include "target/target.h"

static const char *const legal[TR_OP__COUNT] = {
#define ANY                    "*"
#define NONE                   NULL
#define X(op, x86_64, nvptx64) [TR_OP_##op] = (x86_64),
#include "target/legal.def"
#undef X
};

const tr_target tr_target_x86_64 = {
    .name = "x86-64",
    .abi = TR_ABI_SLOTS,
    .math = TR_MATH_HOST,
    .form = TR_FORM_ELF,
    .runtime = true,
    .late = true,
    .pools = true,
    .legal = legal,
};
