/* The .def tables of the IR as data. */
#include <stdio.h>

#include "ir/ir.h"

const tr_opinfo tr_op_info[TR_OP__COUNT] = {
#define X(id, name, nargs, result, effects, cost, lanes, words, owns, stages) \
    {name, nargs, result, lanes, owns, effects, cost, TR_WORDS_##words, stages},
#include "ir/op.def"
#undef X
};

const tr_mathinfo tr_math_info[TR_MATH__COUNT] = {
#define X(id, name, arity, intr, f64, f32, dev, res) {name, arity, intr, f64, f32, dev, res},
#include "ir/math.def"
#undef X
};

const char *const tr_exc_name[TR_EXC__COUNT] = {
#define X(id, name, bases) name,
#include "ir/exc.def"
#undef X
};
#define OF(id) UINT64_C(1) << TR_EXC_##id
const uint64_t tr_exc_bases[TR_EXC__COUNT] = {
#define X(id, name, bases) bases,
#include "ir/exc.def"
#undef X
};
#undef OF

const char *tr_exc_text(uint32_t exc, char buf[16]) {
    if (exc < TR_EXC__COUNT)
        return tr_exc_name[exc];
    snprintf(buf, 16, "exc%u", (unsigned)(exc - TR_EXC__COUNT));
    return buf;
}

const char *const tr_bin_name[TR_BIN__COUNT] = {
#define X(id, name, sign) name,
    TR_BINOPS(X)
#undef X
};

const char *const tr_un_name[TR_UN__COUNT] = {
#define X(id, name, sign) name,
    TR_UNOPS(X)
#undef X
};

const char *const tr_cmp_name[TR_CMP__COUNT] = {
#define X(id, name, sign, inverse, mirrored) name,
    TR_CMPOPS(X)
#undef X
};
const tr_cmpop tr_cmp_inverse[TR_CMP__COUNT] = {
#define X(id, name, sign, inverse, mirrored) TR_CMP_##inverse,
    TR_CMPOPS(X)
#undef X
};
const tr_cmpop tr_cmp_mirrored[TR_CMP__COUNT] = {
#define X(id, name, sign, inverse, mirrored) TR_CMP_##mirrored,
    TR_CMPOPS(X)
#undef X
};

const char *const tr_atomic_name[TR_ATOMIC__COUNT] = {
#define X(id, name, op, of) name,
    TR_ATOMICS(X)
#undef X
};
const tr_atomicinfo tr_atomic_info[TR_ATOMIC__COUNT] = {
#define X(id, name, op, of) {op, of},
    TR_ATOMICS(X)
#undef X
};

const char *const tr_shfl_name[TR_SHFL__COUNT] = {
#define X(id, name) name,
    TR_SHFLS(X)
#undef X
};

const char *const tr_turn_name[TR_TURN__COUNT] = {
#define X(id, name) name,
    TR_TURNS(X)
#undef X
};
const char *const tr_undef_name[TR_UNDEF__COUNT] = {
#define X(id, name) name,
    TR_UNDEFS(X)
#undef X
};
const char *const tr_vote_name[TR_VOTE__COUNT] = {
#define X(id, name) name,
    TR_VOTES(X)
#undef X
};

const char *const tr_bitop_name[TR_BITS__COUNT] = {
#define X(id, name) name,
    TR_BITOPS(X)
#undef X
};
const char *const tr_abi_x_name[TR_ABI_X__COUNT] = {
#define X(id, name) name,
    TR_ABIS(X)
#undef X
};
const char *const tr_scope_name[TR_SCOPE__COUNT] = {
#define X(id, name) name,
    TR_SCOPES(X)
#undef X
};

static const char *const tr_math_name[TR_MATH__COUNT] = {
#define X(id, name, arity, intr, f64, f32, dev, res) name,
#include "ir/math.def"
#undef X
};
static const char *const tr_not_name[] = {NULL, "not"}, *const tr_unchecked_name[] = {NULL, "unchecked"},
                         *const tr_guarded_name[] = {NULL, "guarded", "far"},
                         *const tr_far_name[] = {NULL, "far"},
                         *const tr_spread_name[TR_SPREAD__COUNT] = {NULL, "copy", "counted"};
static const char *const tr_align_name[TR_ALIGN__COUNT] = {
    NULL, "by1", "by2", "by4", "by8", "by16", "by32", "by64", "by128", "by256", "by512", "by1024",
};
static const char *const tr_makes_name[TR_MAKES__COUNT] = {
    [TR_MAKES_LIST] = "list",
    [TR_MAKES_LATE] = "late",
    [TR_MAKES_LIST | TR_MAKES_LATE] = "list_late",
    [TR_MAKES_SET] = "set",
    [TR_MAKES_SET | TR_MAKES_LATE] = "set_late",
    [TR_MAKES_SET | TR_MAKES_LATE | TR_MAKES_LATE_SOON] = "set_late_soon",
    [TR_MAKES_DICT] = "dict",
    [TR_MAKES_DICT | TR_MAKES_LATE] = "dict_late",
    [TR_MAKES_DICT | TR_MAKES_LATE | TR_MAKES_LATE_SOON] = "dict_late_soon",
    [TR_MAKES_LATE | TR_MAKES_LATE_SOON] = "late_soon",
    [TR_MAKES_LIST | TR_MAKES_LATE | TR_MAKES_LATE_SOON] = "list_late_soon",
};

const tr_wordlist tr_op_words[TR_WORDS__COUNT] = {
#define X(id, what, names, count, silent) {what, names, count, silent},
    TR_WORDLISTS(X)
#undef X
};

const char *const tr_fnkind_name[TR_FN__COUNT] = {"", "device", "kernel"};

const char *const tr_cold_name[TR_COLD__COUNT] = {"", "large", "cold", "seldom", "rare"};

const char *const tr_par_name[TR_PAR__COUNT] = {"", "wish", "par", "prange"};

const char *const tr_red_name[TR_RED__COUNT] = {
#define X(id, name, op, wins, start, of, repeats, place, joins, absorbs) name,
#include "ir/reds.def"
#undef X
};

const char *const tr_top_name[TR_TOP__COUNT] = {"largest", "smallest", "numbers"};

const char *const tr_scatter_name[TR_SCATTER__COUNT] = {
#define X(id, name, op, wins, start, of, repeats, place, joins, absorbs) name,
#include "ir/reds.def"
#undef X
    "put"};
