/* Making functions: blocks, instructions, edges, interned constants. */
#include <assert.h>
#include <string.h>

#include "ir/internal.h"

tr_fn *tr_fn_new(tr_ctx *ctx, const char *name, uint8_t stage) {
    tr_fn *f = TR_NEW(&ctx->arena, tr_fn);
    f->ctx = ctx;
    f->name = name;
    f->stage = stage;
    f->func = UINT32_MAX;
    tr_vec_push(&ctx->arena, &f->locs, (tr_loc){0});
    return f;
}

tr_bid tr_blk_new(tr_fn *f) {
    tr_vec_push(&f->ctx->arena, &f->blks,
                (tr_blk){.first = TR_NOVAL, .last = TR_NOVAL, .rpo = TR_NOBLK, .idom = TR_NOBLK});
    return f->blks.n - 1;
}

tr_val tr_ins_new(tr_fn *f, tr_op op, const tr_ty *ty) {
    assert(op < TR_OP__COUNT);
    tr_vec_push(&f->ctx->arena, &f->ins,
                (tr_ins){.op = (uint16_t)op, .ty = ty, .blk = TR_NOBLK, .prev = TR_NOVAL, .next = TR_NOVAL});
    return f->ins.n - 1;
}

tr_val tr_blk_param(tr_fn *f, tr_bid b, const tr_ty *ty, const char *name) {
    assert(b < f->blks.n);
    tr_val v = tr_ins_new(f, TR_OP_PARAM, ty);
    tr_at(f, v)->blk = b;
    tr_vec_push(&f->ctx->arena, &f->blks.d[b].params, v);
    if (name)
        tr_val_name(f, v, name);
    return v;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

uint32_t tr_loc_add(tr_fn *f, tr_place place, uint32_t parent) {
    assert(f->locs.n > 0 && parent < f->locs.n);
    const tr_loc *last = &f->locs.d[f->locs.n - 1];
    if (f->locs.n > 1 && last->parent == parent && same_text(last->place.file, place.file) &&
        same_text(last->place.fn, place.fn) && !memcmp(&last->place.span, &place.span, sizeof place.span))
        return f->locs.n - 1;
    tr_vec_push(&f->ctx->arena, &f->locs, (tr_loc){place, parent});
    return f->locs.n - 1;
}

void tr_val_name(tr_fn *f, tr_val v, const char *name) {
    assert(v < f->ins.n);
    while (f->names.n <= v)
        tr_vec_push(&f->ctx->arena, &f->names, NULL);
    f->names.d[v] = name;
}

/* Puts v into block b before `before`, or at the end. */
void tr_ins_link(tr_fn *f, tr_val v, tr_bid b, tr_val before) {
    assert(v < f->ins.n && b < f->blks.n);
    assert(tr_at(f, v)->blk == TR_NOBLK && tr_at(f, v)->op != TR_OP_PARAM && !tr_is_const(tr_at(f, v)));
    assert(before == TR_NOVAL || tr_at(f, before)->blk == b);
    tr_ins *i = tr_at(f, v);
    tr_blk *blk = &f->blks.d[b];
    i->blk = b;
    i->next = before;
    i->prev = before == TR_NOVAL ? blk->last : tr_at(f, before)->prev;
    if (i->prev == TR_NOVAL)
        blk->first = v;
    else
        tr_at(f, i->prev)->next = v;
    if (before == TR_NOVAL)
        blk->last = v;
    else
        tr_at(f, before)->prev = v;
}

tr_val tr_emit_v(tr_bld *b, tr_op op, const tr_ty *ty, uint32_t n, const tr_val *args) {
    assert(op != TR_OP_PARAM && (n == 0 || args));
    tr_fn *f = b->fn;
    tr_val *copy = n ? tr_arena_copy(&f->ctx->arena, args, n * sizeof *args) : NULL;
    tr_val v = tr_ins_new(f, op, ty);
    tr_ins *i = tr_at(f, v);
    i->nargs = n;
    i->args = copy;
    i->loc = b->loc;
    assert(b->before != TR_NOVAL || f->blks.d[b->blk].last == TR_NOVAL || !tr_ins_ends(tr_term(f, b->blk)));
    tr_ins_link(f, v, b->before == TR_NOVAL ? b->blk : tr_at(f, b->before)->blk, b->before);
    return v;
}

tr_val tr_emit_resized(tr_bld *b, const tr_ty *ty, tr_val array, const tr_val *sizes) {
    uint32_t n = ty->ndim;
    const tr_ty *i64 = tr_ty_scalar(b->fn->ctx->types, TR_TY_I64);
    tr_val v[2 + 3 * TR_MAX_NDIM] = {array};
    int64_t along = 0;
    if (n > TR_VIEW_AXES) {
        v[1] = tr_const_int(b->fn, i64, 0);
        memcpy(v + 2, sizes, n * sizeof *v);
        for (uint32_t k = 0; k < n && ty->layout == TR_LAYOUT_ANY; k++) {
            v[2 + n + k] = tr_emit1(b, TR_OP_STRIDE, i64, array);
            tr_at(b->fn, v[2 + n + k])->imm.i = k;
        }
        return tr_emit_v(b, TR_OP_RESTRIDE, ty, 2 + n * (ty->layout == TR_LAYOUT_ANY ? 2u : 1u), v);
    }
    for (uint32_t k = 0; k < n; k++) {
        v[1 + k] = tr_const_int(b->fn, i64, 0);
        v[1 + n + k] = sizes[k];
        v[1 + 2 * n + k] = tr_const_int(b->fn, i64, 1);
        along |= tr_view_along(k, (int)k);
    }
    tr_val view = tr_emit_v(b, TR_OP_VIEW, ty, 1 + 3 * n, v);
    tr_at(b->fn, view)->imm.i = along;
    return view;
}

tr_val tr_emit0(tr_bld *b, tr_op op, const tr_ty *ty) {
    return tr_emit_v(b, op, ty, 0, NULL);
}

tr_val tr_emit1(tr_bld *b, tr_op op, const tr_ty *ty, tr_val x) {
    return tr_emit_v(b, op, ty, 1, &x);
}

tr_val tr_emit2(tr_bld *b, tr_op op, const tr_ty *ty, tr_val x, tr_val y) {
    return tr_emit_v(b, op, ty, 2, (const tr_val[]){x, y});
}

tr_val tr_emit3(tr_bld *b, tr_op op, const tr_ty *ty, tr_val x, tr_val y, tr_val z) {
    return tr_emit_v(b, op, ty, 3, (const tr_val[]){x, y, z});
}

/* --- edges: room for the next power of two of at least 4, so that a length says whether an array is full
 * --- */

static uint32_t edge_room(uint32_t n) {
    uint32_t room = 4;
    while (room < n)
        room *= 2;
    return room;
}

tr_edge tr_edge_make(tr_fn *f, tr_bid to, uint32_t n, const tr_val *args) {
    assert(to < f->blks.n);
    tr_edge e = {.to = to, .n = n};
    if (n) {
        e.args = TR_NEW_N(&f->ctx->arena, tr_val, edge_room(n));
        memcpy(e.args, args, n * sizeof *args);
    }
    return e;
}

void tr_edge_add(tr_fn *f, tr_edge *e, tr_val v) {
    if (!e->n || (e->n >= 4 && edge_room(e->n) == e->n)) {
        tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, edge_room(e->n + 1));
        if (e->n)
            memcpy(args, e->args, e->n * sizeof *args);
        e->args = args;
    }
    e->args[e->n++] = v;
}

bool tr_edge_same(const tr_edge *a, const tr_edge *b) {
    return a->to == b->to && a->n == b->n && tr_vals_same(a->args, b->args, a->n);
}

tr_val tr_br(tr_bld *b, tr_bid to, uint32_t n, const tr_val *args) {
    assert(to < b->fn->blks.n);
    tr_edge *e = TR_NEW(&b->fn->ctx->arena, tr_edge);
    *e = tr_edge_make(b->fn, to, n, args);
    tr_val v = tr_emit0(b, TR_OP_BR, NULL);
    tr_at(b->fn, v)->imm.succ = e;
    return v;
}

tr_val tr_cbr(tr_bld *b, tr_val cond, tr_bid t, uint32_t nt, const tr_val *targs, tr_bid e, uint32_t ne,
              const tr_val *eargs) {
    assert(tr_at(b->fn, cond)->op != TR_OP_CBR && t < b->fn->blks.n && e < b->fn->blks.n);
    tr_edge *s = TR_NEW_N(&b->fn->ctx->arena, tr_edge, 2);
    s[0] = tr_edge_make(b->fn, t, nt, targs);
    s[1] = tr_edge_make(b->fn, e, ne, eargs);
    tr_val v = tr_emit1(b, TR_OP_CBR, NULL, cond);
    tr_at(b->fn, v)->imm.succ = s;
    return v;
}

tr_val tr_try(tr_bld *b, tr_bid body, const tr_edge *handler) {
    tr_edge *s = TR_NEW_N(&b->fn->ctx->arena, tr_edge, 2);
    s[0] = tr_edge_make(b->fn, body, 0, NULL);
    s[1] = tr_edge_make(b->fn, handler->to, handler->n, handler->args);
    tr_val v = tr_emit0(b, TR_OP_TRY, NULL);
    tr_at(b->fn, v)->imm.succ = s;
    return v;
}

/* --- constants --- */

static bool same_const(const tr_ins *a, const tr_ins *b) {
    if (a->op != b->op || a->ty != b->ty)
        return false;
    if (a->op == TR_OP_OBJ || a->op == TR_OP_CONSTARR)
        return tr_obj_equal(a->imm.obj, b->imm.obj);
    return !memcmp(a->imm.c, b->imm.c, sizeof a->imm.c);
}

static tr_val intern(tr_fn *f, const tr_ins *key) {
    bool obj = key->op == TR_OP_OBJ || key->op == TR_OP_CONSTARR;
    uint64_t h = obj ? tr_obj_hash(key->imm.obj) : tr_hash_bytes(key->imm.c, sizeof key->imm.c, 0);
    h = tr_hash_bytes(&key->ty, sizeof key->ty, h ^ key->op);
    uint64_t v;
    for (; tr_map_get(&f->consts, h, &v); h++)
        if (same_const(tr_at(f, (tr_val)v), key))
            return (tr_val)v;
    v = tr_ins_new(f, (tr_op)key->op, key->ty);
    tr_at(f, (tr_val)v)->imm = key->imm;
    tr_map_set(&f->ctx->arena, &f->consts, h, v);
    return (tr_val)v;
}

/* All of the union is compared, so it starts zeroed. */
static tr_ins const_key(tr_op op, const tr_ty *ty) {
    tr_ins k;
    memset(&k, 0, sizeof k);
    k.op = (uint16_t)op;
    k.ty = ty;
    return k;
}

int64_t tr_int_wrap(const tr_ty *ty, int64_t v) {
    switch ((tr_tyk)ty->kind) {
    case TR_TY_BOOL: return v & 1;
    case TR_TY_I8: return (int8_t)v;
    case TR_TY_I16: return (int16_t)v;
    case TR_TY_I32: return (int32_t)v;
    case TR_TY_U8: return (uint8_t)v;
    case TR_TY_U16: return (uint16_t)v;
    case TR_TY_U32: return (uint32_t)v;
    default: return v;
    }
}

tr_val tr_const_int(tr_fn *f, const tr_ty *ty, int64_t v) {
    assert(ty->kind <= TR_TY_U64);
    tr_ins k = const_key(TR_OP_CONST, ty);
    k.imm.i = tr_int_wrap(ty, v);
    return intern(f, &k);
}

int64_t tr_bits_of(tr_bitop how, const tr_ty *ty, int64_t v) {
    unsigned n = 8 * (unsigned)tr_ty_size(ty), count = 0;
    uint64_t x = (uint64_t)v, out = 0;
    if (n < 64)
        x &= (UINT64_C(1) << n) - 1;
    switch (how) {
    case TR_BITS_POPC:
        for (; x; x &= x - 1)
            count++;
        return count;
    case TR_BITS_CLZ:
        while (count < n && !(x >> (n - 1 - count) & 1))
            count++;
        return tr_int_wrap(ty, count);
    case TR_BITS_CTZ:
        while (count < n && !(x >> count & 1))
            count++;
        return tr_int_wrap(ty, count);
    default:
        for (unsigned k = 0; k < n; k++)
            out |= (x >> k & 1) << (n - 1 - k);
        return tr_int_wrap(ty, (int64_t)out);
    }
}

tr_val tr_const_float(tr_fn *f, const tr_ty *ty, double v) {
    assert(tr_ty_is_float(ty));
    tr_ins k = const_key(TR_OP_CONST, ty);
    k.imm.f = ty->kind == TR_TY_F16 ? (double)(_Float16)v : ty->kind == TR_TY_F32 ? (double)(float)v : v;
    return intern(f, &k);
}

tr_val tr_const_complex(tr_fn *f, const tr_ty *ty, double re, double im) {
    assert(tr_ty_is_complex(ty));
    tr_ins k = const_key(TR_OP_CONST, ty);
    bool narrow = ty->kind == TR_TY_C64;
    k.imm.c[0] = narrow ? (double)(float)re : re;
    k.imm.c[1] = narrow ? (double)(float)im : im;
    return intern(f, &k);
}

tr_val tr_const_undef(tr_fn *f, const tr_ty *ty) {
    assert(ty);
    tr_ins k = const_key(TR_OP_UNDEF, ty);
    return intern(f, &k);
}

tr_val tr_const_obj(tr_fn *f, const tr_obj *o) {
    tr_ins k = const_key(TR_OP_OBJ, NULL);
    k.imm.obj = o;
    return intern(f, &k);
}

tr_val tr_const_arr(tr_fn *f, const tr_ty *ty, const tr_obj *o) {
    assert(ty->kind == TR_TY_ARRAY && o->kind == TR_OBJ_ARRAY);
    tr_ins k = const_key(TR_OP_CONSTARR, ty);
    k.imm.obj = o;
    return intern(f, &k);
}

tr_val tr_const_import(tr_fn *f, const tr_ins *c) {
    assert(tr_is_const(c));
    tr_ins k = const_key((tr_op)c->op, c->ty);
    k.imm = c->imm;
    return intern(f, &k);
}

bool tr_get_int(const tr_fn *f, tr_val v, int64_t *out) {
    const tr_ins *i = tr_at(f, v);
    if (i->op != TR_OP_CONST || i->ty->kind > TR_TY_U64)
        return false;
    *out = i->imm.i;
    return true;
}
