/* State of lowering, shared by the files of this folder.
 *
 * Three levels: tr_lm is a module, tr_lf an LLVM function being filled, tr_lbody an IR function whose blocks
 * are lowered into it (the instance itself, or a pattern's lambda in place). A value of the IR is an array of
 * LLVM values, one per part (ty/ty.h); LLVM aggregates stand only in the results of calls. */
#ifndef TR_LOWER_INTERNAL_H
#define TR_LOWER_INTERNAL_H

#include <llvm-c/DebugInfo.h>

#include "base/map.h"
#include "lower/llvm.h"
#include "lower/lower.h"
#include "rt/layout.h"
#include "rt/rt.h"

typedef enum tr_lattr {
    TR_LA_NOUNWIND,
    TR_LA_WILLRETURN,
    TR_LA_COLD,
    TR_LA_NOINLINE,
    TR_LA_NOALIAS,
    TR_LA_READONLY,
    TR_LA_PURE /* memory(none) */,
    TR_LA_ARGWRITE /* memory(argmem: write) */,
    TR_LA_LOOK /* memory(argmem: read, inaccessiblemem: read) */,
    TR_LA_RUNTIME /* what tr_rt_* may touch: their arguments and what compiled code never looks at */,
    TR_LA_NOCAPTURE,
    TR_LA_SPECULATABLE,
    TR_LA_CONVERGENT,
    TR_LA__COUNT
} tr_lattr;

/* One instance of the program. */
typedef struct tr_linst {
    lv fn;
    lt type;
    bool called, recursive; /* by the root or what it calls; by itself */
    bool large;             /* it, or something it calls, has patterns, which keep buffers on the stack */
    lv late;                /* the cell of one that is compiled when it is called; NULL: not called yet */
} tr_linst;

typedef struct tr_lm {
    tr_ctx *ctx;
    tr_prog *prog;
    const tr_lower_want *want;
    LLVMContextRef lc;
    LLVMModuleRef mod;
    lt i1, i8, i16, i32, i64, f16, f32, f64, ptr, void_;
    lt part[TR_PART_PTR + 1];
    LLVMAttributeRef attr[TR_LA__COUNT];
    unsigned kind_prof, kind_tbaa, kind_loop, kind_apart;
    lv md_unlikely, md_data, md_past, md_frame, md_random;
    tr_linst *insts;
    TR_VEC(tr_msite) sites;
    TR_VEC(tr_mlate) late; /* late instances, in the order of their cells */
    lv trace_fn;
    lv site_classes;       /* array of i16: the class of each site's exception; NULL: nothing is caught */
    TR_VEC(lv) variants;   /* vector variants of functions, which nothing calls yet */
    struct tr_ldebug *dbg; /* NULL unless opts.debug */
    bool cooperative;      /* there is a barrier of the grid */
    bool atomic_counts;    /* threads may count references of one block at the same time */
    bool complex;          /* tr_lower_made */
    bool nested;           /* the same */
    bool powers;           /* the same */
    bool carried;          /* the same */
    bool wraps;            /* the same */
    bool externs;          /* the same */
    bool nontemporal;      /* some stores have the tag md_past */
    unsigned choices;      /* branches on whether an integer is a given one */
    uint64_t constants;    /* bytes of a device's constant memory that are taken */
    bool lists;            /* some code makes lists: what they hold is reached by their blocks */
    bool checks_stack;     /* some function that was lowered looks whether there is room on the stack */
    bool failed;
} tr_lm;

typedef struct tr_lbody {
    struct tr_lbody *outer; /* lambda: the body its pattern stands in */
    tr_fn *f;
    lv **vals; /* parts of each value, NULL = not made yet */
    lb *blks;
    /* per block: metadata of the jump back to a loop's header that ends it; NULL = no loop has any */
    lv *loop_marks;
    const uint32_t
        *innermost;  /* per block: which loop it is in, UINT32_MAX: none; NULL: there are no loops */
    uint8_t *turns;  /* per block: of a loop over threads, whose turns do not meet in memory; NULL: none is */
    uint8_t *rows;   /* per value: a load along a row, which such a loop goes along; NULL: there is none */
    uint32_t at_loc; /* lambda: loc of its pattern in `outer` */
    lv *yield;       /* lambda: parts of what it yielded */
    lb yield_blk;    /* lambda with several YIELDs: where they meet, with phis in `yield` */
} tr_lbody;

typedef struct tr_lbuf {
    lv at;
    uint64_t bytes;
} tr_lbuf;

typedef struct tr_lf {
    tr_lm *m;
    LLVMBuilderRef b, ab; /* ab: top of the entry block, for allocas */
    lv fn, frame;
    lv ret_slots; /* tr_entry: where results go; else NULL */
    lt ret_type;  /* of the LLVM function */
    int32_t inst;
    unsigned fmf;   /* LLVM's fast-math bits of the instruction, or the reduction, that is being lowered */
    bool in_turn;   /* it is one of a turn's (tr_lbody.turns) */
    bool apart;     /* loads of the pattern's lambda meet no store of it */
    unsigned nmath; /* calls that may be vectorised, so far */
    TR_VEC(tr_lbuf) bufs; /* room.c; the first in_use of them are taken */
    uint32_t in_use;
    uint64_t ranges;        /* bytes of buffers that functions over ranges take below this one */
    lv cplx_out;            /* double[2] for complex results of rt functions */
    lv string_out;          /* tr_str for those that are strings */
    const tr_edge *handler; /* where what raises goes, in catcher; NULL: out of the function */
    tr_lbody *catcher;
    lv flying; /* i32: the code of what was raised, on its way to a handler; NULL: nothing is caught here */
    tr_lbody *body;
} tr_lf;

/* --- fn.c --- */
bool tr_lower_inst(tr_lm *m, uint32_t inst, bool as_entry);
/* Parts of an operand; constants are made on first use. */
lv *tr_lower_parts(tr_lf *w, tr_val v);
static inline const tr_ty *tr_lower_ty(const tr_lf *w, tr_val v) {
    return w->body->f->ins.d[v].ty;
}
/* Sets the parts of a value (copied). */
void tr_lower_set(tr_lf *w, tr_val v, unsigned n, const lv *parts);
void tr_lower_set1(tr_lf *w, tr_val v, lv x);
/* Lowers a lambda in place at the builder's position, params given as parts in order; its yields' parts. */
lv *tr_lower_lambda(tr_lf *w, tr_fn *lam, uint32_t loc, const lv *params);
lb tr_lower_block(tr_lf *w, const char *name);
/* Leaves the function with `code` (i32) without a result. */
void tr_lower_exit(tr_lf *w, lv code);
/* Raises: goes to the handler of the block at hand, or leaves the function. */
void tr_lower_leave(tr_lf *w, lv code);
/* An error at instruction v; lowering goes on with undefined values and the module is thrown away. */
void tr_lower_error(tr_lf *w, tr_val v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* --- room.c --- */
lv tr_lower_alloca(tr_lf *w, lt t, const char *name);
/* A buffer until w->in_use is set back to what it was: the pattern that is being lowered has it. */
/* A tr_mem of so many bytes, which goes with the frame if nobody frees it; raises where
 * there is no memory. */
lv tr_lower_memory(tr_lf *w, tr_val v, lv bytes);
lv tr_lower_buffer(tr_lf *w, uint64_t bytes, unsigned align, const char *name);
uint64_t tr_lower_bytes(const tr_lm *m, lt t); /* of a scalar in a buffer; a bool takes one */
uint64_t tr_lower_room(const tr_lf *w);        /* bytes of all buffers */
/* Ends a function: the look at the stack where it needs one (`check`: it has a body), which callers of an
 * entry prepare. */
void tr_lower_look_for_room(tr_lf *w, bool as_entry, bool check);

/* --- loops.c --- */
/* One step of a long loop. Now and then the function leaves from here, when the region it is part of has to
 * end. */
void tr_lower_loops(tr_lf *w); /* fills w->body->loop_marks, innermost and turns */
/* Metadata for the jump back of a loop. */
enum {
    TR_LOOP_COLD = 1, /* hardly ever runs: vectors for it are not worth their compile time */
    TR_LOOP_ONE = 2,  /* takes one vector at a time */
    TR_LOOP_APART =
        4, /* no round meets another in memory, as far as accesses are marked so (tr_lower_mark_apart) */
    TR_LOOP_ROLLED = 8, /* stays a loop, also where it has few rounds */
    TR_LOOP_WHOLE = 16, /* is written out, round by round */
    TR_LOOP_TWO = 32    /* takes two vectors at a time: one is a chain that others wait for */
};
lv tr_lower_loop_mark(tr_lm *m, unsigned marks);
void tr_lower_mark_apart(tr_lm *m, lv access);
bool tr_lower_in_loop(const tr_lf *w, tr_bid b); /* also one of a pattern around it */
/* Was the index read from memory, so that nothing is known of it? */
bool tr_lower_is_lookup(const tr_fn *f, tr_val index);
bool tr_lower_is_math(const tr_fn *f, const tr_ins *in);

/* --- few.c --- */
struct tr_forest;
/* How often the loop goes round, where that is a small constant; else 0. */
uint32_t tr_lower_rounds(const tr_fn *f, const tr_loop *l);
/* Per loop: 0, or it is to be written out, which makes many instructions (TR_FEW_LONG) or not so many. */
enum { TR_FEW_SHORT = 1, TR_FEW_LONG = 2 };
uint8_t *tr_lower_few(tr_lf *w, const struct tr_forest *loops);

/* --- power.c --- */
bool tr_lower_is_power(double n);            /* a power that may be computed in place */
lv tr_lower_power(tr_lf *w, lv x, double n); /* x to it; NULL: it is pow()'s here */
/* x to n, an integer that the running program knows; what is not computed in place is made by `rest`. */
typedef lv (*tr_rest)(tr_lf *w, void *self);
lv tr_lower_whole_power(tr_lf *w, lv x, lv n, bool is_signed, tr_rest rest, void *self);
lv tr_lower_power_of(tr_lf *w, lv x, lv n, tr_rest rest, void *self); /* of integers */

/* --- module.c --- */
lv tr_lower_declare(tr_lm *m, const char *name, lt type, bool *fresh);
void tr_lower_fn_attr(tr_lm *m, lv fn, tr_lattr a);
void tr_lower_param_attr(tr_lm *m, lv fn, unsigned i, tr_lattr a);
lv tr_lower_intrinsic(tr_lf *w, const char *name, lt t, unsigned n,
                      const lv *args); /* overloaded on t alone; NULL: not at all */
/* A scalar type as it lies in an array; complex: its component. */
lt tr_lower_elem(const tr_lm *m, const tr_ty *t);
void tr_lower_tag(tr_lm *m, lv access, bool frame);
void tr_lower_common_attrs(tr_lm *m, lv fn);
void tr_lower_vector_bits(lv fn, unsigned bits); /* how wide its vectors should be */
lv tr_lower_fast(tr_lf *w, lv x);                /* marks a new floating-point instruction with w->fmf */

/* --- scalar.c, conv.c, math.c --- */
unsigned tr_lower_fmf(uint8_t fast);                             /* LLVM's bits for a set of TR_FM_* */
void tr_lower_cmul(tr_lf *w, const lv *x, const lv *y, lv *out); /* out may be x */
void tr_lower_arith(tr_lf *w, tr_val v, const tr_ins *in);
lv tr_lower_cmp(tr_lf *w, tr_cmpop p, const tr_ty *t, const lv *x, const lv *y);
/* Converts a scalar; fills the parts of `to`. */
/* A float16 as float32, which holds its value; others as they are. */
static inline lv tr_lower_widened(const tr_lf *w, lv x) {
    return LLVMTypeOf(x) == w->m->f16 ? LLVMBuildFPExt(w->b, x, w->m->f32, "") : x;
}
void tr_lower_conv(tr_lf *w, tr_val v, const tr_ins *in);
/* Is v the question whether a float fit the int64 that it became (lib/operators.c)? As a rule it did. */
bool tr_lower_asks_fit(const tr_fn *f, tr_val v);
void tr_lower_bitcast(tr_lf *w, tr_val v, const tr_ins *in);
void tr_lower_math(tr_lf *w, tr_val v, const tr_ins *in);
lv tr_lower_real_math(tr_lf *w, tr_mathfn fn, const lv *x); /* float operands */
/* What x[0] is above the multiple of x[1] that is next to it towards 0, where x[1] is a
 * constant power of two; *whole: how often it goes. NULL: it is none. A low part of nothing is
 * 0.0, and that of what is infinite nan. */
lv tr_lower_low_part(tr_lf *w, const lv *x, lv *whole);
lv tr_lower_approx(tr_lf *w, const char *name, unsigned n, const lv *x);
void tr_lower_end_math(tr_lm *m); /* when the module is complete */
void tr_lower_callrt(tr_lf *w, tr_val v, const tr_ins *in);
/* Calls a row of rt.def with arguments given as parts (frame and text are added); parts of the result in
 * out. */
void tr_lower_rt(tr_lf *w, unsigned row, unsigned n, const lv *args, const char *text, lv *out);
/* Numbers of a Generator (random.c). The row changes its state; false: the row is to be
 * called, else its result is in out. */

bool tr_lower_draw(tr_lf *w, unsigned row, const lv *args, lv *out);

/* --- extern.c --- */
void tr_lower_callx(tr_lf *w, tr_val v, const tr_ins *in);

/* --- array.c --- */
/* How references are counted: in place, or, one that is given back, by a call, a third as much code. */
typedef enum tr_counting { TR_COUNT_RETAIN, TR_COUNT_RELEASE, TR_COUNT_RELEASE_BY_CALL } tr_counting;
void tr_lower_owners(tr_lf *w, const tr_ty *t, const lv *parts,
                     tr_counting how); /* of every array in a value */
typedef struct tr_larr {
    const tr_ty *ty;
    lv owner, data;
    lv shape[TR_MAX_NDIM], stride[TR_MAX_NDIM]; /* strides in elements, computed for layouts C and F */
    bool repeats;     /* an input of a pattern with an axis that is, or may be, shorter than the space */
    bool apart;       /* elements are accessed in a loop whose rounds do not meet in memory (loops.c) */
    bool nontemporal; /* it is stored past the caches, where vectors are (nontemporal.c) */
} tr_larr;
void tr_lower_arr(tr_lf *w, tr_val v, tr_larr *a);
bool tr_lower_is_same(const tr_larr *a,
                      const tr_larr *b); /* the same elements at the same indices, seen when compiling */
/* An op of arrays, of checks, of a device; false: it is none of these. */
bool tr_lower_array_op(tr_lf *w, tr_val v, const tr_ins *in);
/* --- list.c --- */
bool tr_lower_list_op(tr_lf *w, tr_val v, const tr_ins *in); /* the same of lists */
bool tr_lower_string_op(tr_lf *w, tr_val v, const tr_ins *in);
/* Address of the element that an access at the indices reaches. */
lv tr_lower_element_at(tr_lf *w, tr_val array, const tr_val *idx);
lt tr_lower_unit(const tr_lm *m, const tr_ty *array);    /* what the strides of such an array count */
lv tr_lower_address(tr_lf *w, const tr_larr *a, lv off); /* of the element at `off` elements from a's data */
/* Loads or stores that element. */
void tr_lower_load_at(tr_lf *w, const tr_larr *a, lv off, lv *out);
unsigned tr_lower_align(const tr_ty *array); /* of its items: what loads and stores may count on */
/* n elements that lie side by side, as a vector. */
lv tr_lower_load_lanes(tr_lf *w, const tr_larr *a, lv off, unsigned n, lv mask);
void tr_lower_store_lanes(tr_lf *w, const tr_larr *a, lv off, lv x);
void tr_lower_store_at(tr_lf *w, const tr_larr *a, lv off, const lv *x);

/* --- handler.c --- */
void tr_lower_catch(tr_lf *w, tr_val v);
void tr_lower_reraise(tr_lf *w, tr_val v, const tr_ins *in);
void tr_lower_fly(tr_lf *w, lv code); /* `code` is what the handler will catch */
void tr_lower_end_handlers(tr_lm *m); /* when all sites are known */

/* --- check.c --- */
bool tr_lower_check_op(tr_lf *w, tr_val v, const tr_ins *in);
void tr_lower_call(tr_lf *w, tr_val v, const tr_ins *in);
/* Branches to a new block when `ok` is false, which the builder then fills; returns where to go on. */
lb tr_lower_unless(tr_lf *w, lv ok);
/* Stores payload, leaves with the site's number. `ty`: type of each payload operand. */
void tr_lower_raise(tr_lf *w, tr_val v, const tr_site *site, unsigned n, const tr_ty *const *ty,
                    lv *const *parts);

/* --- late.c --- */
/* A call of an instance that is compiled when it is first called. */
/* The launch of a kernel that is a device's own code. Leaves the function if a code is none of success. */
void tr_lower_far_call(tr_lf *w, tr_val v, const tr_ins *in);
void tr_lower_leave_with(tr_lf *w, lv code);
void tr_lower_late_call(tr_lf *w, tr_val v, const tr_ins *in);
/* Such an instance as the module's entry: the LLVM function, with its arguments and result slots set in w. */
lv tr_lower_late_entry(tr_lm *m, tr_lf *w, lv **args);

/* --- device.c: functions of TR_ABI_FLAT --- */
static inline bool tr_lower_is_flat(const tr_lm *m) {
    return m->want->target->abi == TR_ABI_FLAT;
}
bool tr_lower_device_op(tr_lf *w, tr_val v, const tr_ins *in);
bool tr_lower_device_print(tr_lf *w,
                           const tr_ins *in); /* a piece of a line; false: it is none, or the host's */
lv tr_lower_device_array(tr_lm *m, const tr_ins *in, const char *name); /* data of a frozen array */
void tr_lower_declare_flat(tr_lm *m, uint32_t inst);
/* A function under the root's own name that C may call: parts of the arguments in, the result out. What is
 * raised is lost, and the result zero. */
void tr_lower_plain_entry(tr_lm *m);
/* Parts of all arguments. */
lv *tr_lower_flat_args(tr_lf *w);
/* Claims the launch's exception; the builder is where the one who got it goes on, to where this returns
 * in the end. */
lb tr_lower_claim(tr_lf *w, lv code);

/* --- pattern.c, red.c, reduce.c --- */
void tr_lower_pattern(tr_lf *w, tr_val v, const tr_ins *in);
/* Sums of floats of type t (rt/sum.c). */
lv tr_lower_sum_state(tr_lf *w, lt t); /* room for an accumulator */
void tr_lower_sum_clear(tr_lf *w, lv state);
void tr_lower_sum_add(tr_lf *w, lt t, lv state, lv data,
                      lv n); /* n <= TR_SUM_BLOCK; less only the last time */
/* Adds the last n < TR_SUM_BLOCK and gives the sum; -0.0 when nothing was added. */
lv tr_lower_sum_end(tr_lf *w, lt t, lv state, lv data, lv n);
lv tr_lower_sum_join(tr_lf *w, lt t, lv data, lv n); /* of the sums of ranges */
lv tr_lower_sum_of(tr_lf *w, lt t, lv data, lv n);   /* of an array, in one go */
/* Places of extremes among items of type t (rt/arg.c), in the same way. */
lv tr_lower_arg_state(tr_lf *w);
void tr_lower_arg_clear(tr_lf *w, lv state);
void tr_lower_arg_add(tr_lf *w, const tr_ty *t, bool max, lv state, lv data, lv n);
lv tr_lower_arg_end(tr_lf *w, const tr_ty *t, bool max, lv state, lv data, lv n);
lv tr_lower_arg_of(tr_lf *w, const tr_ty *t, bool max, lv data, lv n);

/* --- meta.c --- */
/* Number of a new site for the instruction v: its exception, message and places. args: see rt. */
uint32_t tr_lower_site(tr_lf *w, tr_val v, const tr_site *site, unsigned n, const tr_ty *const *ty);
void tr_lower_meta(tr_lm *m, tr_meta *meta);

/* --- debug.c --- */
void tr_lower_debug_open(tr_lm *m);
void tr_lower_debug_close(tr_lm *m);
/* From here on fn is filled, which is made of f; the result goes to _back when what was
 * filled before goes on. */
LLVMMetadataRef tr_lower_debug_fn(tr_lm *m, lv fn, const tr_fn *f);
void tr_lower_debug_back(tr_lm *m, LLVMMetadataRef before);
void tr_lower_debug_at(tr_lf *w, uint32_t loc);

#endif
