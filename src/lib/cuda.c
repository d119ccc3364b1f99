/* What kernels ask for (CUDA's thread hierarchy, shared memory, barriers, atomics) and the launch itself.
 *
 * Each is an op of a device (op.def), which targets and opt/grid/grid.c give its meaning. Counters are int64,
 * so that arithmetic on them does not wrap under either promotion. */
#include "lib/fam.h"
#include "lib/families.h"

#include <stdio.h>

static tr_tv ask(tr_em *e, tr_op op, int64_t axis) {
    tr_tv v = tr_lib_emit(e, op, tr_fam_ty(e, TR_TY_I64), 0, NULL);
    if (!e->dry)
        tr_at(e->b.fn, v.v)->imm.i = axis;
    return v;
}

/* threadIdx and its kin are looked at, not called. */
bool tr_lib_cu_place(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)out;
    return tr_em_error(e, "%s has axes x, y and z; it cannot be called", tr_fam_name(c));
}

/* .x, .y, .z: aux is the axis, the op stands in the row of the object. */
bool tr_lib_cu_axis(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = ask(e, (tr_op)tr_builtins[c->a[0].ty->lit->u.builtin].aux, c->aux);
    return true;
}

/* This thread's place in the whole grid, or (aux) how many threads that has. */
static tr_tv along(tr_em *e, int64_t axis, bool size) {
    tr_tv n = ask(e, TR_OP_BLOCKDIM, axis);
    if (size)
        return tr_em_nsw(e, TR_OP_MUL, ask(e, TR_OP_GRIDDIM, axis), n);
    tr_tv first = tr_em_nsw(e, TR_OP_MUL, ask(e, TR_OP_BLOCKIDX, axis), n);
    return tr_em_nsw(e, TR_OP_ADD, first, ask(e, TR_OP_THREADIDX, axis));
}

bool tr_lib_cu_grid(tr_em *e, const tr_bcall *c, tr_tv *out) {
    int64_t n;
    tr_tv v[3];
    if (!tr_tv_lit_int(c->a[0], &n) || n < 1 || n > 3)
        return tr_em_error(e, "%s() takes 1, 2 or 3, a constant: the number of axes", tr_fam_name(c));
    for (int64_t k = 0; k < n; k++)
        v[k] = along(e, k, c->aux);
    *out = n == 1 ? v[0] : tr_em_tuple(e, (uint32_t)n, v);
    return true;
}

/* aux: the tr_scope. */
bool tr_lib_cu_fence(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!e->dry)
        tr_at(e->b.fn, tr_emit0(&e->b, TR_OP_FENCE, NULL))->sub = (uint8_t)c->aux;
    *out = tr_em_none(e);
    return true;
}

bool tr_lib_cu_barrier(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)c;
    if (!e->dry)
        tr_emit0(&e->b, TR_OP_BARRIER, NULL);
    *out = tr_em_none(e);
    return true;
}

/* In the entry block, where no pass copies it. */
static tr_tv put_storage(tr_em *e, tr_op op, unsigned align, const tr_ty *elem, uint32_t n, uint32_t nshape,
                         const tr_tv *shape) {
    tr_tv a = {tr_ty_array(e->types, elem, n, TR_LAYOUT_C, false), TR_NOVAL};
    if (!e->dry) {
        tr_bld b = e->b;
        b.blk = 0;
        b.before = tr_blk_at(b.fn, 0)->first;
        tr_val v[TR_MAX_NDIM];
        for (uint32_t k = 0; k < nshape; k++)
            v[k] = shape[k].v;
        a.v = tr_emit_v(&b, op, a.ty, nshape, v);
        tr_at(b.fn, a.v)->sub = (uint8_t)align;
    }
    return tr_ty_is_records(a.ty) ? tr_em_records(e, a, false) : a;
}

/* Is it the shape of dynamic shared memory: 0, or (0,)? */
static bool is_dynamic(tr_em *e, tr_tv shape) {
    int64_t n;
    if (shape.ty->kind == TR_TY_TUPLE)
        return shape.ty->n == 1 && tr_tv_lit_int(tr_em_item(e, shape, 0), &n) && n == 0;
    return tr_tv_lit_int(shape, &n) && n == 0;
}

/* The word of an alignment, 0: None or nothing. */
static bool take_alignment(tr_em *e, const tr_bcall *c, unsigned *word) {
    int64_t n;
    *word = 0;
    if (!c->a[2].ty || tr_tv_is_none(c->a[2]))
        return true;
    for (unsigned k = 1; tr_tv_lit_int(c->a[2], &n) && k < TR_ALIGN__COUNT && !*word; k++)
        *word = n == INT64_C(1) << (k - 1) ? k : 0;
    if (*word)
        return true;
    const tr_ty *t = c->a[2].ty;
    return tr_em_error(e, "%s(): alignment must be a constant integer, a power of two up to %lld, not %s",
                       tr_fam_name(c), 1ll << (TR_ALIGN__COUNT - 2),
                       t->kind == TR_TY_LIT ? t->lit->repr : tr_em_tyname(e, t));
}

/* Sizes are constants. aux: the op. */
bool tr_lib_cu_storage(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *elem;
    tr_tv shape[TR_MAX_NDIM];
    uint32_t n;
    int64_t size, bytes;
    unsigned align;
    bool shared = c->aux == TR_OP_SHARED;
    elem = tr_lib_struct(c->a[1]);
    if ((!elem && !tr_fam_dtype(e, c, c->a[1], &elem)) || !tr_fam_list(e, c, c->a[0], shape, &n) ||
        !take_alignment(e, c, &align))
        return false;
    if (shared && is_dynamic(e, c->a[0])) {
        enum { DYNAMIC = 16 }; /* on all devices */
        if (align && INT64_C(1) << (align - 1) > DYNAMIC)
            return tr_em_error(
                e, "%s(): the memory that a launch asks for begins at a multiple of %d, and at none of more",
                tr_fam_name(c), DYNAMIC);
        *out = put_storage(e, TR_OP_DYNSHARED, 0, elem, 1, 0, NULL);
        return true;
    }
    bytes = tr_ty_size(elem);
    for (uint32_t k = 0; k < n; k++) {
        if (!tr_tv_lit_int(c->a[0].ty->kind == TR_TY_TUPLE ? tr_em_item(e, c->a[0], k) : c->a[0], &size)) {
            tr_em_error(e, "%s() needs a shape that is known when the kernel is compiled", tr_fam_name(c));
            tr_em_hint(e, shared ? "write numbers, or Python ints of the module; the bytes that a launch "
                                   "gives are the shape 0: "
                                   "kernel[grid, block, stream, nbytes]"
                                 : "write numbers, or Python ints of the module");
            return false;
        }
        if (size < 1 || __builtin_mul_overflow(bytes, size, &bytes) ||
            bytes > (shared ? TR_MAX_SHARED : TR_MAX_LOCAL))
            return tr_em_error(
                e, "%s(): %s", tr_fam_name(c),
                size < 1 ? "each size must be at least 1"
                : shared ? "a block has 48 KiB of static shared memory; more of it a launch gives, by the "
                           "shape 0 and kernel[grid, block, stream, nbytes]"
                         : "a thread has 512 KiB of local memory");
        shape[k] = tr_em_i64(e, size);
    }
    *out = put_storage(e, (tr_op)c->aux, align, elem, n, n, shape);
    return true;
}

/* cffi's ffi.from_buffer(a), or with a type before it: a pointer to an array's items, which declared
 * functions take, is the array itself. */
bool tr_lib_cu_from_buffer(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = c->a[1].ty ? c->a[1] : c->a[0];
    if (out->ty->kind != TR_TY_ARRAY)
        return tr_em_error(e, "from_buffer() takes an array, not %s", tr_em_tyname(e, out->ty));
    if (out->ty->ndim != 1)
        return tr_em_error(e, "from_buffer() takes an array of one axis: a.ravel() of another");
    return true;
}

/* A frozen array is read-only as it is. Whether it is one is seen when code is made. */
bool tr_lib_cu_const(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = c->a[0];
    bool whole = out->ty->kind == TR_TY_ARRAY,
         held = out->ty->kind == TR_TY_RECORDS || out->ty->kind == TR_TY_DATES;
    if (!whole && !held)
        return tr_em_error(e, "%s() takes an array, not %s", tr_fam_name(c), tr_em_tyname(e, out->ty));
    if (e->dry || tr_at(e->b.fn, held ? tr_em_item(e, *out, 0).v : out->v)->op == TR_OP_CONSTARR)
        return true;
    tr_em_error(e,
                "%s() takes an array that is known when the kernel is compiled: a global, or a variable of "
                "an enclosing function",
                tr_fam_name(c));
    return false;
}

/* --- the launch --- */

/* kernel, grid and block (three each), bytes of dynamic shared memory, the kernel's arguments as a tuple. */
bool tr_lib_cu_launch(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv sizes[TR_LAUNCH_SIZES], *args, t = c->a[1 + TR_LAUNCH_SIZES];
    for (uint32_t k = 0; k < TR_LAUNCH_SIZES; k++)
        if (!tr_fam_int(e, c, c->a[1 + k], "a size", &sizes[k]))
            return false;
    if (t.ty->kind != TR_TY_TUPLE)
        return tr_em_error(e, "%s() takes the kernel's arguments as a tuple", tr_fam_name(c));
    args = TR_NEW_N(&e->ctx->arena, tr_tv, t.ty->n + 1u);
    for (uint32_t k = 0; k < t.ty->n; k++)
        args[k] = tr_em_item(e, t, k);
    return e->launch(e, c->a[0], sizes, &(tr_args){t.ty->n, args, 0, NULL}, out);
}
