/* Arrays: descriptors by parts, element access, views, allocation, counting, overlap.
 *
 * Strides are in elements and addresses are typed GEPs, so that LLVM's loop vectoriser sees unit strides.
 * Index arithmetic carries nsw: an element that is accessed lies in the address space, and so do all partial
 * sums. Views use plain GEPs, because the start of an empty slice may lie outside the array. Layouts C and F
 * have no stride parts; their strides are products of extents, made where they are used (LLVM merges and
 * hoists them). */
#include "lower/internal.h"

#include <assert.h>
#include <string.h>

/* One element in memory: complex is a pair. */
static lt memory_type(const tr_lm *m, const tr_ty *t) {
    if (t->kind == TR_TY_STRUCT || t->kind == TR_TY_SLOT)
        return LLVMArrayType2(m->i8, tr_ty_size(t));
    lt e = tr_lower_elem(m, t);
    return tr_ty_is_complex(t) ? LLVMArrayType2(e, 2) : e;
}

static void fill_strides(tr_lf *w, tr_larr *a) {
    assert(a->ty->kind == TR_TY_ARRAY && a->ty->ndim <= TR_MAX_NDIM);
    unsigned nd = a->ty->ndim;
    lv s = l_int(w->m->i64, 1);
    for (unsigned k = 0; k < nd; k++) {
        unsigned i = a->ty->layout == TR_LAYOUT_C ? nd - 1 - k : k;
        a->stride[i] = s;
        if (k + 1 < nd)
            s = k ? LLVMBuildNSWMul(w->b, s, a->shape[i], "") : a->shape[i];
    }
}

static void arr_of_parts(tr_lf *w, const tr_ty *t, const lv *parts, tr_larr *a) {
    assert(t->kind == TR_TY_ARRAY);
    a->ty = t;
    a->repeats = a->apart = a->nontemporal = false;
    a->owner = parts[0];
    a->data = parts[1];
    memcpy(a->shape, parts + 2, t->ndim * sizeof *parts);
    if (t->layout == TR_LAYOUT_ANY)
        memcpy(a->stride, parts + 2 + t->ndim, t->ndim * sizeof *parts);
    else
        fill_strides(w, a);
}

void tr_lower_arr(tr_lf *w, tr_val v, tr_larr *a) {
    assert(tr_lower_ty(w, v)->kind == TR_TY_ARRAY);
    arr_of_parts(w, tr_lower_ty(w, v), tr_lower_parts(w, v), a);
}

bool tr_lower_is_same(const tr_larr *a, const tr_larr *b) {
    bool same = a->data == b->data && a->ty->elem == b->ty->elem && a->ty->sub == b->ty->sub &&
                a->ty->ndim == b->ty->ndim;
    for (unsigned k = 0; k < a->ty->ndim && same; k++)
        same = a->stride[k] == b->stride[k];
    return same;
}

/* --- elements --- */

lt tr_lower_unit(const tr_lm *m, const tr_ty *array) {
    return tr_ty_is_packed(array) ? m->i8 : memory_type(m, array->elem);
}

lv tr_lower_address(tr_lf *w, const tr_larr *a, lv off) {
    return LLVMBuildInBoundsGEP2(w->b, tr_lower_unit(w->m, a->ty), a->data, &off, 1, "");
}

static lv component(tr_lf *w, const tr_larr *a, lv p, unsigned i) {
    lv o = l_int(w->m->i64, i);
    return i ? LLVMBuildInBoundsGEP2(w->b, tr_lower_elem(w->m, a->ty->elem), p, &o, 1, "") : p;
}

unsigned tr_lower_align(const tr_ty *array) {
    return tr_ty_is_loose(array) ? 1 : tr_ty_align(array->elem);
}

void tr_lower_load_at(tr_lf *w, const tr_larr *a, lv off, lv *out) {
    assert(LLVMTypeOf(off) == w->m->i64);
    lv p = tr_lower_address(w, a, off);
    for (unsigned i = 0; i < (tr_ty_is_complex(a->ty->elem) ? 2u : 1u); i++) {
        out[i] = LLVMBuildLoad2(w->b, tr_lower_elem(w->m, a->ty->elem), component(w, a, p, i), "");
        LLVMSetAlignment(out[i], tr_lower_align(a->ty));
        tr_lower_tag(w->m, out[i], false);
        if (a->apart || w->in_turn)
            tr_lower_mark_apart(w->m, out[i]);
    }
    if (a->ty->elem->kind ==
        TR_TY_BOOL) /* any byte but 0 counts as true: it may be a view of another dtype */
        out[0] = l_icmp(w->b, LLVMIntNE, out[0], l_int(w->m->i8, 0));
}

static lv masked_load(tr_lf *w, lt t, lv from, unsigned align, lv mask) {
    static const char name[] = "llvm.masked.load";
    lt types[2] = {t, w->m->ptr};
    lv args[] = {from, l_int(w->m->i32, align), mask, LLVMConstNull(t)};
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    lv fn = LLVMGetIntrinsicDeclaration(w->m->mod, id, types, 2);
    return LLVMBuildCall2(w->b, LLVMIntrinsicGetType(w->m->lc, id, types, 2), fn, args, 4, "");
}

lv tr_lower_load_lanes(tr_lf *w, const tr_larr *a, lv off, unsigned n, lv mask) {
    assert(tr_ty_is_float(a->ty->elem));
    lt t = LLVMVectorType(tr_lower_elem(w->m, a->ty->elem), n);
    unsigned align = tr_lower_align(a->ty);
    lv from = tr_lower_address(w, a, off),
       x = mask ? masked_load(w, t, from, align, mask) : LLVMBuildLoad2(w->b, t, from, "");
    if (!mask)
        LLVMSetAlignment(x, align);
    tr_lower_tag(w->m, x, false);
    if (a->apart)
        tr_lower_mark_apart(w->m, x);
    return x;
}

void tr_lower_store_lanes(tr_lf *w, const tr_larr *a, lv off, lv x) {
    assert(tr_ty_is_float(a->ty->elem) && !a->nontemporal);
    lv st = LLVMBuildStore(w->b, x, tr_lower_address(w, a, off));
    LLVMSetAlignment(st, tr_lower_align(a->ty));
    tr_lower_tag(w->m, st, false);
    if (a->apart || w->in_turn)
        tr_lower_mark_apart(w->m, st);
}

void tr_lower_store_at(tr_lf *w, const tr_larr *a, lv off, const lv *x) {
    lv p = tr_lower_address(w, a, off);
    for (unsigned i = 0; i < (tr_ty_is_complex(a->ty->elem) ? 2u : 1u); i++) {
        lv y = a->ty->elem->kind == TR_TY_BOOL ? LLVMBuildZExt(w->b, x[i], w->m->i8, "") : x[i];
        lv st = LLVMBuildStore(w->b, y, component(w, a, p, i));
        LLVMSetAlignment(st, tr_lower_align(a->ty));
        tr_lower_tag(w->m, st, false);
        if (a->nontemporal)
            LLVMSetMetadata(st, w->m->kind_tbaa, w->m->md_past);
        if (a->apart || w->in_turn)
            tr_lower_mark_apart(w->m, st);
    }
}

static bool is_number(lv x, int64_t n) {
    return LLVMIsAConstantInt(x) && LLVMConstIntGetSExtValue(x) == n;
}

/* Sum of index * stride over the first n axes; args: one index per axis. */
static lv offset_in(tr_lf *w, const tr_larr *a, const tr_val *idx, unsigned n) {
    lv off = NULL;
    for (unsigned i = 0; i < n; i++) {
        lv x = tr_lower_parts(w, idx[i])[0];
        lv t = is_number(a->stride[i], 1) ? x : LLVMBuildNSWMul(w->b, x, a->stride[i], "");
        off = off ? LLVMBuildNSWAdd(w->b, off, t, "") : t;
    }
    return off ? off : l_int(w->m->i64, 0);
}

static lv offset_of(tr_lf *w, const tr_larr *a, const tr_val *idx) {
    return offset_in(w, a, idx, a->ty->ndim);
}

lv tr_lower_element_at(tr_lf *w, tr_val array, const tr_val *idx) {
    tr_larr a;
    tr_lower_arr(w, array, &a);
    return tr_lower_address(w, &a, offset_of(w, &a, idx));
}

/* Where LLVM sees what a short frozen array holds: loops of few rounds that are written out (few.c)
 * read constants then. Only loads look there; the array that is handed on has the memory it came
 * with, which lives longer than code. */
static void show_items(tr_lf *w, const tr_obj *o, tr_larr *a) {
    tr_lm *m = w->m;
    uint32_t n = tr_obj_items(o);
    if (!n || tr_lower_is_flat(m))
        return;
    unsigned each = tr_ty_is_complex(o->ty->elem) ? 2 : 1, size = tr_ty_size(o->ty->elem) / each;
    lt t = tr_lower_elem(m, o->ty->elem), bits = LLVMIntTypeInContext(m->lc, 8 * size);
    char *name = tr_arena_printf(&m->ctx->arena, "tr_items_%u", o->u.a.index);
    lv g = LLVMGetNamedGlobal(m->mod, name);
    if (!g) {
        lv *x = TR_NEW_N(&m->ctx->arena, lv, n * each);
        for (uint32_t i = 0; i < n * each; i++) {
            uint64_t k = 0;
            memcpy(&k, (const char *)o->u.a.data + i * size, size);
            x[i] = LLVMConstBitCast(LLVMConstInt(bits, k, 0), t);
        }
        g = LLVMAddGlobal(m->mod, LLVMArrayType2(t, n * each), name);
        LLVMSetInitializer(g, LLVMConstArray2(t, x, n * each));
        LLVMSetGlobalConstant(g, 1);
        LLVMSetLinkage(g, LLVMInternalLinkage);
        LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
        LLVMSetAlignment(g, tr_ty_align(o->ty->elem));
    }
    a->data = g;
}

static lv moved(tr_lf *w, const tr_ty *array, lv data, lv off) {
    return is_number(off, 0) ? data : LLVMBuildGEP2(w->b, tr_lower_unit(w->m, array), data, &off, 1, "");
}

/* Where an index is out of range, it is a zero beside the array that is loaded: no branch, so that loops with
 * such loads become vectors. */
static void guard(tr_lf *w, tr_larr *a, const tr_ins *in, lv *off) {
    LLVMBuilderRef b = w->b;
    tr_lm *m = w->m;
    lt t = LLVMArrayType2(m->i8, 2 * sizeof(double));
    lv g = LLVMGetNamedGlobal(m->mod, "tr_zero"), ok = NULL;
    assert(!tr_lower_is_flat(m) && tr_ty_size(a->ty->elem) <= 2 * sizeof(double));
    if (!g) {
        g = LLVMAddGlobal(m->mod, t, "tr_zero");
        LLVMSetInitializer(g, LLVMConstNull(t));
        LLVMSetGlobalConstant(g, 1);
        LLVMSetLinkage(g, LLVMInternalLinkage);
        LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
        LLVMSetAlignment(g, TR_MEM_ALIGN);
    }
    for (unsigned i = 0; i < a->ty->ndim; i++) {
        lv in_range = l_icmp(b, LLVMIntULT, tr_lower_parts(w, in->args[1 + i])[0], a->shape[i]);
        ok = ok ? LLVMBuildAnd(b, ok, in_range, "") : in_range;
    }
    if (!ok)
        return;
    a->data = l_select(b, ok, moved(w, a->ty, a->data, *off), g);
    *off = l_int(m->i64, 0);
}

/* An item of a device's memory. */
static void far_load(tr_lf *w, lv from, const tr_ty *t, lv *out) {
    tr_lm *m = w->m;
    lv room = tr_lower_alloca(w, LLVMArrayType2(m->i64, 2), "fetched"), code;
    lv args[3] = {room, from, l_int(m->i64, (long long)tr_ty_size(t))};
    tr_lower_rt(w, TR_RT_FAR_FETCH, 3, args, NULL, &code);
    tr_lower_leave_with(w, code);
    tr_larr a = {.data = room, .ty = tr_ty_array(m->ctx->types, t, 1, TR_LAYOUT_C, false)};
    tr_lower_load_at(w, &a, l_int(m->i64, 0), out);
}

static void lower_load(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_larr a;
    lv out[2], off;
    tr_lower_arr(w, in->args[0], &a);
    a.apart = w->apart;
    if (tr_at(w->body->f, in->args[0])->op == TR_OP_CONSTARR)
        show_items(w, tr_at(w->body->f, in->args[0])->imm.obj, &a);
    if (w->body->rows && w->body->rows[v]) { /* of a row's beginning nobody needs to know how it was made */
        unsigned last = a.ty->ndim - 1u;
        a.data = LLVMBuildFreeze(w->b, tr_lower_address(w, &a, offset_in(w, &a, in->args + 1, last)), "");
        off = tr_lower_parts(w, in->args[last + 1])[0];
    } else {
        off = offset_of(w, &a, in->args + 1);
    }
    if (in->sub == TR_LOAD_GUARDED)
        guard(w, &a, in, &off);
    if (in->sub == TR_LOAD_FAR) {
        far_load(w, tr_lower_address(w, &a, off), in->ty, out);
        tr_lower_set(w, v, tr_ty_nparts(in->ty), out);
        return;
    }
    tr_lower_load_at(w, &a, off, out);
    tr_lower_set(w, v, tr_ty_nparts(in->ty), out);
}

static void lower_store(tr_lf *w, const tr_ins *in) {
    tr_larr a;
    tr_lower_arr(w, in->args[0], &a);
    tr_lower_store_at(w, &a, offset_of(w, &a, in->args + 1), tr_lower_parts(w, in->args[in->nargs - 1]));
}

/* --- descriptors --- */

/* Where it starts: the sum of start * stride over the base's axes. */
static lv start_of(tr_lf *w, const tr_larr *base, const tr_ins *in) {
    lv off = l_int(w->m->i64, 0);
    for (unsigned k = 0; k < base->ty->ndim; k++) {
        lv x = tr_lower_parts(w, tr_view_starts(in)[k])[0];
        if (is_number(x, 0))
            continue;
        x = is_number(base->stride[k], 1) ? x : LLVMBuildNSWMul(w->b, x, base->stride[k], "");
        off = is_number(off, 0) ? x : LLVMBuildNSWAdd(w->b, off, x, "");
    }
    return off;
}

static void lower_view(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_larr base;
    unsigned n = in->ty->ndim;
    lv out[2 + 2 * TR_MAX_NDIM];
    tr_lower_arr(w, in->args[0], &base);
    out[0] = base.owner;
    out[1] = moved(w, in->ty, base.data, start_of(w, &base, in));
    for (unsigned k = 0; k < n; k++)
        out[2 + k] = tr_lower_parts(w, tr_made_sizes(in)[k])[0];
    for (unsigned k = 0; k < n && in->ty->layout == TR_LAYOUT_ANY; k++) {
        int of = tr_view_axis(in, k);
        lv by = tr_lower_parts(w, tr_view_steps(in)[k])[0];
        out[2 + n + k] = of < 0             ? l_int(w->m->i64, 0)
                         : is_number(by, 1) ? base.stride[of]
                                            : l_mul(w->b, base.stride[of], by);
    }
    tr_lower_set(w, v, tr_ty_nparts(in->ty), out);
}

static void lower_restride(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->op == TR_OP_RESTRIDE && in->nargs >= 2);
    const lv *base = tr_lower_parts(w, in->args[0]);
    unsigned n = 2;
    lv out[2 + 2 * TR_MAX_NDIM];
    out[0] = base[0];
    out[1] = moved(w, in->ty, base[1], tr_lower_parts(w, in->args[1])[0]);
    for (uint32_t i = 2; i < in->nargs; i++)
        out[n++] = tr_lower_parts(w, in->args[i])[0];
    tr_lower_set(w, v, n, out);
}

/* On a device of its own code the address is a constant in it, of global memory. */
static void lower_arrayat(tr_lf *w, tr_val v, const tr_ins *in) {
    enum { SPACE_GLOBAL = 1 };
    tr_larr table;
    unsigned n = 2;
    lt to = tr_lower_is_flat(w->m) ? LLVMPointerTypeInContext(w->m->lc, SPACE_GLOBAL) : w->m->ptr;
    lv out[2 + 2 * TR_MAX_NDIM];
    tr_lower_arr(w, in->args[0], &table);
    lv at = LLVMBuildLoad2(w->b, w->m->i64, table.data, "");
    LLVMSetAlignment(at, 8);
    out[0] = LLVMConstNull(w->m->ptr);
    out[1] = LLVMBuildAddrSpaceCast(w->b, LLVMBuildIntToPtr(w->b, at, to, ""), w->m->ptr, "");
    for (uint32_t i = 1; i < in->nargs; i++)
        out[n++] = tr_lower_parts(w, in->args[i])[0];
    tr_lower_set(w, v, n, out);
}

/* Fields lie as far apart as their records. */
static void lower_field(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_larr base;
    const tr_ty *t = in->ty;
    unsigned n = t->ndim, unit = tr_ty_unit(t);
    lv out[2 + 2 * TR_MAX_NDIM], by = l_int(w->m->i64, tr_ty_size(t->elem) / unit);
    tr_lower_arr(w, in->args[0], &base);
    const tr_ty *s = base.ty->elem;
    int64_t at = (uint64_t)in->imm.i < s->n ? tr_ty_field(s, (uint32_t)in->imm.i).offset : 0;
    lv off = l_int(w->m->i64, at), ratio = l_int(w->m->i64, tr_ty_unit(base.ty) / unit);
    out[0] = base.owner;
    out[1] = at ? LLVMBuildGEP2(w->b, w->m->i8, base.data, &off, 1, "") : base.data;
    for (unsigned k = 0; k < n; k++)
        out[2 + k] = tr_lower_parts(w, in->args[1 + k])[0];
    for (unsigned k = n; k-- > 0 && t->layout == TR_LAYOUT_ANY;)
        if (k < base.ty->ndim) {
            out[2 + n + k] = l_mul(w->b, base.stride[k], ratio);
        } else {
            out[2 + n + k] = by;
            by = l_mul(w->b, by, out[2 + k]);
        }
    tr_lower_set(w, v, tr_ty_nparts(t), out);
}

/* Bytes of a new array, and a condition that holds unless an extent is negative or the size is past what
 * int64 can count. As NumPy, extents of 0 do not hide that the others are too large. */
static lv alloc_bytes(tr_lf *w, const tr_ins *in, lv *ok) {
    lt i64 = w->m->i64;
    unsigned size = tr_ty_size(in->ty->elem);
    lv total = l_int(i64, 1), real = total, over = NULL;
    for (uint32_t i = 0; i < in->nargs; i++) {
        lv d = tr_lower_parts(w, in->args[i])[0];
        if (in->nargs == 1) {
            total = real = d;
            break;
        }
        lv pair[2] = {total, l_select(w->b, l_icmp(w->b, LLVMIntEQ, d, l_int(i64, 0)), l_int(i64, 1), d)};
        lv r = tr_lower_intrinsic(w, "llvm.umul.with.overflow", i64, 2, pair);
        lv o = LLVMBuildExtractValue(w->b, r, 1, "");
        total = LLVMBuildExtractValue(w->b, r, 0, "");
        over = over ? l_or(w->b, over, o) : o;
        real = l_mul(w->b, real, d);
    }
    /* A negative extent is a huge unsigned one. */
    *ok = l_icmp(w->b, LLVMIntULE, total, l_int(i64, INT64_MAX / (int64_t)size));
    if (over)
        *ok = l_and(w->b, *ok, LLVMBuildNot(w->b, over, ""));
    return l_mul(w->b, real, l_int(i64, size));
}

static void raise_bad_size(tr_lf *w, tr_val v, const tr_ins *in) {
    static const tr_site negative = {TR_EXC_VALUE, "negative dimensions are not allowed", -1, NULL};
    static const tr_site too_big = {TR_EXC_VALUE, TR_TOO_BIG, -1, NULL};
    lv fine = LLVMConstInt(w->m->i1, 1, 0);
    for (uint32_t i = 0; i < in->nargs; i++)
        fine = l_and(w->b, fine,
                     l_icmp(w->b, LLVMIntSGE, tr_lower_parts(w, in->args[i])[0], l_int(w->m->i64, 0)));
    lb rest = tr_lower_unless(w, fine);
    tr_lower_raise(w, v, &negative, 0, NULL, NULL);
    l_at_end(w->b, rest);
    tr_lower_raise(w, v, &too_big, 0, NULL, NULL);
}

static void lower_alloc(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->nargs == in->ty->ndim);
    lv out[2 + TR_MAX_NDIM], ok;
    lv bytes = alloc_bytes(w, in, &ok);
    lb go_on = tr_lower_unless(w, ok);
    raise_bad_size(w, v, in);
    l_at_end(w->b, go_on);
    bool far = in->sub == TR_FAR;
    tr_lower_rt(w, far ? TR_RT_FAR_ALLOC : TR_RT_ALLOC, 1, &bytes, NULL, &out[0]);
    go_on = tr_lower_unless(w, LLVMBuildIsNotNull(w->b, out[0], ""));
    const tr_ty *u64 = tr_ty_scalar(w->m->ctx->types, TR_TY_U64);
    tr_lower_raise(w, v, in->imm.site, 1, &u64, (lv *[]){&bytes});
    l_at_end(w->b, go_on);
    lv o = l_int(w->m->i64, far ? (long long)offsetof(tr_mem, at) : TR_MEM_ALIGN);
    out[1] = LLVMBuildInBoundsGEP2(w->b, w->m->i8, out[0], &o, 1, "");
    if (far)
        out[1] = LLVMBuildLoad2(w->b, w->m->ptr, out[1], "");
    for (uint32_t i = 0; i < in->nargs; i++)
        out[2 + i] = tr_lower_parts(w, in->args[i])[0];
    tr_lower_set(w, v, 2 + in->nargs, out);
}

/* --- counting --- */

/* The count at `at` after adding or taking one. */
static lv count_by_one(tr_lf *w, lv at, bool retain) {
    tr_lm *m = w->m;
    lv one = l_int(m->i64, retain ? 1 : -1), n;
    if (m->atomic_counts) {
        n = LLVMBuildAtomicRMW(w->b, LLVMAtomicRMWBinOpAdd, at, one, LLVMAtomicOrderingAcquireRelease, 0);
        tr_lower_tag(m, n, true);
        return l_add(w->b, n, one);
    }
    n = LLVMBuildLoad2(w->b, m->i64, at, "");
    tr_lower_tag(m, n, true);
    n = l_add(w->b, n, one);
    tr_lower_tag(m, LLVMBuildStore(w->b, n, at), true);
    return n;
}

static void count_one(tr_lf *w, lv owner, tr_counting how) {
    assert(LLVMTypeOf(owner) == w->m->ptr);
    tr_lm *m = w->m;
    if (how == TR_COUNT_RELEASE_BY_CALL) {
        tr_lower_rt(w, TR_RT_RELEASE, 1, &owner, NULL, NULL);
        return;
    }
    lv bits = LLVMBuildPtrToInt(w->b, owner, m->i64, "");
    lv counted = l_and(w->b, LLVMBuildIsNotNull(w->b, owner, ""),
                       l_icmp(w->b, LLVMIntEQ, l_and(w->b, bits, l_int(m->i64, 1)), l_int(m->i64, 0)));
    lb yes = tr_lower_block(w, "counted"), done = tr_lower_block(w, "");
    LLVMBuildCondBr(w->b, counted, yes, done);
    l_at_end(w->b, yes);
    lv o = l_int(m->i64, offsetof(tr_mem, refs)), at = LLVMBuildInBoundsGEP2(w->b, m->i8, owner, &o, 1, "");
    lv n = count_by_one(w, at, how == TR_COUNT_RETAIN);
    if (how == TR_COUNT_RELEASE) {
        lb last = tr_lower_block(w, "free");
        LLVMBuildCondBr(w->b, l_icmp(w->b, LLVMIntEQ, n, l_int(m->i64, 0)), last, done);
        l_at_end(w->b, last);
        tr_lower_rt(w, TR_RT_FREE, 1, &owner, NULL, NULL);
    }
    LLVMBuildBr(w->b, done);
    l_at_end(w->b, done);
}

static void owned_itself(tr_lf *w, const tr_ty *t, const lv *parts, tr_counting how) {
    (void)t;
    count_one(w, parts[0], how);
}

static void owned_fixed(tr_lf *w, const tr_ty *t, const lv *parts, tr_counting how) {
    owned_itself(w, t, parts, how);
}

static void owned_items(tr_lf *w, const tr_ty *t, const lv *parts, tr_counting how) {
    for (uint32_t i = 0; i < t->n; i++) {
        tr_lower_owners(w, t->items[i], parts, how);
        parts += tr_ty_nparts(t->items[i]);
    }
}

void tr_lower_owners(tr_lf *w, const tr_ty *t, const lv *parts, tr_counting how) {
    static void (*const owned[])(tr_lf *, const tr_ty *, const lv *, tr_counting) = {
#define KIND(ID, word, user, items, ty, ...) ty,
#define TY(parts, owned, ...)                owned_##owned
#include "ty/kinds.def"
    };
    owned[tr_ty_row(t)](w, t, parts, how);
}

/* --- overlap --- */

/* Lowest address and one past the highest of an array that has elements. */
static void span_of(tr_lf *w, const tr_larr *a, lv *lo, lv *hi, lv *empty) {
    lt i64 = w->m->i64;
    lv zero = l_int(i64, 0), first = zero, last = zero;
    *empty = LLVMConstInt(w->m->i1, 0, 0);
    for (unsigned i = 0; i < a->ty->ndim; i++) {
        lv far = l_mul(w->b, l_sub(w->b, a->shape[i], l_int(i64, 1)), a->stride[i]);
        lv down = l_icmp(w->b, LLVMIntSLT, far, zero);
        first = l_add(w->b, first, l_select(w->b, down, far, zero));
        last = l_add(w->b, last, l_select(w->b, down, zero, far));
        *empty = l_or(w->b, *empty, l_icmp(w->b, LLVMIntEQ, a->shape[i], zero));
    }
    lv at = LLVMBuildPtrToInt(w->b, a->data, i64, ""), unit = l_int(i64, tr_ty_unit(a->ty));
    *lo = l_add(w->b, at, l_mul(w->b, first, unit));
    *hi = l_add(w->b, l_add(w->b, at, l_mul(w->b, last, unit)), l_int(i64, tr_ty_size(a->ty->elem)));
}

/* Items of two arrays of one axis that lie side by side, as far apart in one as in the other: columns, fields
 * of records. NULL: not, as their types are. */
static lv side_by_side(tr_lf *w, const tr_larr *a) {
    lt i64 = w->m->i64;
    lv zero = l_int(i64, 0), by[2], at[2], size[2];
    for (int i = 0; i < 2; i++) {
        if (a[i].ty->ndim != 1 || a[i].ty->layout != TR_LAYOUT_ANY)
            return NULL;
        by[i] = l_mul(w->b, a[i].stride[0], l_int(i64, tr_ty_unit(a[i].ty)));
        at[i] = LLVMBuildPtrToInt(w->b, a[i].data, i64, "");
        size[i] = l_int(i64, tr_ty_size(a[i].ty->elem));
    }
    lv one = l_int(i64, 1), none = l_icmp(w->b, LLVMIntEQ, by[0], zero);
    lv step = l_select(w->b, l_icmp(w->b, LLVMIntSLT, by[0], zero), l_sub(w->b, zero, by[0]), by[0]);
    step = l_select(w->b, none, one, step);
    lv far = LLVMBuildSRem(w->b, l_sub(w->b, at[1], at[0]), step, "");
    far = l_select(w->b, l_icmp(w->b, LLVMIntSLT, far, zero), l_add(w->b, far, step), far);
    lv yes = l_and(w->b, l_icmp(w->b, LLVMIntSGE, far, size[0]),
                   l_icmp(w->b, LLVMIntSLE, l_add(w->b, far, size[1]), step));
    return l_and(w->b, yes, l_icmp(w->b, LLVMIntEQ, by[0], by[1]));
}

static lv overlap_of(tr_lf *w, const tr_larr *a) {
    lv lo[2], hi[2], empty[2];
    for (int i = 0; i < 2; i++)
        span_of(w, &a[i], &lo[i], &hi[i], &empty[i]);
    lv meet = l_and(w->b, l_icmp(w->b, LLVMIntULT, lo[0], hi[1]), l_icmp(w->b, LLVMIntULT, lo[1], hi[0]));
    lv beside = side_by_side(w, a);
    if (beside)
        meet = l_and(w->b, meet, LLVMBuildNot(w->b, beside, ""));
    return l_and(w->b, meet, LLVMBuildNot(w->b, l_or(w->b, empty[0], empty[1]), ""));
}

/* One address, equal sizes and strides; NULL: never, as their types are. The sizes count: where one has a
 * single element along an axis, every element of the other meets that one. */
static lv same_elements(tr_lf *w, const tr_larr *a) {
    if (a[0].ty->ndim != a[1].ty->ndim || a[0].ty->elem != a[1].ty->elem || a[0].ty->sub != a[1].ty->sub)
        return NULL;
    lv same = l_icmp(w->b, LLVMIntEQ, a[0].data, a[1].data);
    for (unsigned i = 0; i < a[0].ty->ndim; i++) {
        same = l_and(w->b, same, l_icmp(w->b, LLVMIntEQ, a[0].shape[i], a[1].shape[i]));
        same = l_and(w->b, same, l_icmp(w->b, LLVMIntEQ, a[0].stride[i], a[1].stride[i]));
    }
    return same;
}

static void lower_overlap(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->nargs == 2);
    tr_larr a[2];
    tr_lower_arr(w, in->args[0], &a[0]);
    tr_lower_arr(w, in->args[1], &a[1]);
    lv meet = overlap_of(w, a);
    if (in->op == TR_OP_APART) {
        lv same = same_elements(w, a);
        meet = LLVMBuildNot(w->b, meet, "");
        meet = same ? l_or(w->b, meet, same) : meet;
    }
    tr_lower_set1(w, v, meet);
}

/* As the runtime takes an array: its parts from number `at` on of what is at `to`, which
 * may be NULL; the number of the next. */
static unsigned put_array(tr_lf *w, tr_val v, lv to, unsigned at) {
    tr_larr a;
    tr_lower_arr(w, v, &a);
    unsigned n = a.ty->ndim, count = 2;
    bool bytes = tr_ty_is_loose(a.ty) || a.ty->elem->kind == TR_TY_STRUCT,
         given = bytes || a.ty->layout != TR_LAYOUT_C;
    lt i64 = w->m->i64;
    int64_t what = bytes ? 1 | (n + 1) << TR_MEET_AXES : tr_ty_size(a.ty->elem) | n << TR_MEET_AXES;
    lv parts[2 + 2 * TR_MAX_NDIM + 2] = {l_int(i64, what | (given ? TR_MEET_GIVEN : 0)), a.data};
    for (unsigned k = 0; k < n; k++)
        parts[count++] = a.shape[k];
    if (bytes) /* of records, and items that lie anywhere, these in an axis */
        parts[count++] = l_int(i64, tr_ty_size(a.ty->elem));
    for (unsigned k = 0; k < n && given; k++)
        parts[count++] = bytes ? l_mul(w->b, a.stride[k], l_int(i64, tr_ty_unit(a.ty))) : a.stride[k];
    if (bytes)
        parts[count++] = l_int(i64, 1);
    for (unsigned k = 0; k < count && to; k++) {
        lv o = l_int(i64, at + k);
        tr_lower_tag(w->m, LLVMBuildStore(w->b, parts[k], LLVMBuildInBoundsGEP2(w->b, i64, to, &o, 1, "")),
                     true);
    }
    return at + count;
}

static void lower_meet(tr_lf *w, tr_val v, const tr_ins *in) {
    uint32_t in_use = w->in_use;
    unsigned n = 0, at = 0;
    for (uint32_t k = 0; k < in->nargs; k++)
        n = put_array(w, in->args[k], NULL, n);
    lt i64 = w->m->i64;
    lv to = tr_lower_buffer(w, n * sizeof(tr_slot), 8, "arrays"), out = NULL;
    for (uint32_t k = 0; k < in->nargs; k++)
        at = put_array(w, in->args[k], to, at);
    tr_lower_rt(w, TR_RT_MEET, 4,
                (lv[]){to, l_int(i64, in->nargs), l_int(i64, in->imm.i & 255), l_int(i64, in->imm.i >> 8)},
                NULL, &out);
    w->in_use = in_use;
    tr_lower_set1(w, v, out);
}

bool tr_lower_array_op(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_larr a;
    switch ((tr_op)in->op) {
    case TR_OP_DIM: tr_lower_set1(w, v, tr_lower_parts(w, in->args[0])[2 + in->imm.i]); break;
    case TR_OP_STRIDE:
        tr_lower_arr(w, in->args[0], &a);
        tr_lower_set1(w, v, a.stride[in->imm.i]);
        break;
    case TR_OP_VIEW: lower_view(w, v, in); break;
    case TR_OP_RESTRIDE: lower_restride(w, v, in); break;
    case TR_OP_ARRAYAT: lower_arrayat(w, v, in); break;
    case TR_OP_FIELD: lower_field(w, v, in); break;
    case TR_OP_ALLOC: lower_alloc(w, v, in); break;
    case TR_OP_LOAD: lower_load(w, v, in); break;
    case TR_OP_STORE: lower_store(w, in); break;
    case TR_OP_MEET: lower_meet(w, v, in); break;
    case TR_OP_OVERLAP:
    case TR_OP_APART: lower_overlap(w, v, in); break;
    case TR_OP_RETAIN:
    case TR_OP_RELEASE:
        tr_lower_owners(w, tr_lower_ty(w, in->args[0]), tr_lower_parts(w, in->args[0]),
                        in->op == TR_OP_RETAIN         ? TR_COUNT_RETAIN
                        : tr_lower_in_loop(w, in->blk) ? TR_COUNT_RELEASE
                                                       : TR_COUNT_RELEASE_BY_CALL);
        break;
    default: return false;
    }
    return true;
}
