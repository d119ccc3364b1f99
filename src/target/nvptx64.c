/* NVIDIA's GPUs, as PTX.
 *
 * The PTX version of each processor is the oldest that knows it, so that old drivers load what is made.
 * LLVM 19 knows processors up to sm_90; newer ones run that one's code (a newer LLVM that knows
 * them makes theirs: lower/compat.h). */
#include "target/target.h"

static const char *const legal[TR_OP__COUNT] = {
#define ANY                    "*"
#define NONE                   NULL
#define X(op, x86_64, nvptx64) [TR_OP_##op] = (nvptx64),
#include "target/legal.def"
#undef X
};

static const tr_processor processors[] = {
    {"sm_75", "sm_75", "+ptx63"},  {"sm_80", "sm_80", "+ptx70"},
    {"sm_86", "sm_86", "+ptx71"},  {"sm_87", "sm_87", "+ptx74"},
    {"sm_89", "sm_89", "+ptx78"},  {"sm_90", "sm_90", "+ptx78"},
    {"sm_100", "sm_90", "+ptx78"}, {"sm_103", "sm_90", "+ptx78"},
    {"sm_120", "sm_90", "+ptx78"}, {NULL, NULL, NULL},
};

const tr_target tr_target_nvptx64 = {
    .name = "nvptx64",
    .triple = "nvptx64-nvidia-cuda",
    .processors = processors,
    .abi = TR_ABI_FLAT,
    .math = TR_MATH_LIBDEVICE,
    .form = TR_FORM_PTX,
    .shared = 3,
    .legal = legal,
};
