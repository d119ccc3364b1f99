/* The interpreter's control flow, memory, checks, calls and launches. What numbers come to is interp_ops.c's,
 * and patterns interp_pattern.c's. What runs is one state, a function with its values and its way: each op is
 * a few lines that change it. */
#include "ir/interp.h"

#include <assert.h>
#include <string.h>

#include "base/meet.h"
#include "ir/interp_ops.h"
#include "ir/interp_run.h"
#include "ir/ports.h"
#include "ir/rtinfo.h"

enum { MAX_DEPTH = 500, MAX_BYTES = 1 << 30 };

static bool run_fn(tr_interp *in, const tr_fn *f, const tr_slot *args, tr_slot *ret);

bool tr_irun_fault(tr_irun *r, const tr_ins *i, const char *text) {
    r->in->fault = text;
    r->in->place = tr_fn_place(r->f, i ? i->loc : 0);
    return false;
}

static tr_slot *parts_for(tr_irun *r, tr_val v) {
    assert(v < r->f->ins.n);
    if (!r->vals[v])
        r->vals[v] = TR_NEW_N(&r->in->ctx->arena, tr_slot, tr_ty_nparts(tr_irun_type(r, v)) + 2u);
    return r->vals[v];
}

/* An array's data while it is needed; a frozen one of unknown data gives NULL. */
static void const_array(const tr_ins *i, tr_slot *out) {
    assert(i->op == TR_OP_CONSTARR);
    const tr_obj *o = i->imm.obj;
    unsigned n = i->ty->ndim;
    out[0].p = NULL;
    out[1].p = o->u.a.data;
    for (unsigned k = 0; k < n; k++) {
        out[2 + k].i = o->u.a.shape[k];
        if (i->ty->layout == TR_LAYOUT_ANY)
            out[2 + n + k].i = o->u.a.strides[k];
    }
}

static const tr_slot *value(tr_irun *r, tr_val v) {
    const tr_ins *i = tr_at(r->f, v);
    if (i->blk != TR_NOBLK || r->vals[v])
        return r->vals[v];
    tr_slot *s = parts_for(r, v);
    if (i->op == TR_OP_CONST)
        tr_interp_const(i, s);
    else if (i->op == TR_OP_CONSTARR)
        const_array(i, s);
    return s;
}

const tr_slot *tr_irun_arg(tr_irun *r, const tr_ins *i, uint32_t n) {
    assert(n < i->nargs);
    return value(r, i->args[n]);
}

/* --- arrays --- */

static int64_t stride(const tr_ty *t, const tr_slot *a, unsigned k) {
    assert(t->kind == TR_TY_ARRAY && k < t->ndim);
    if (t->layout == TR_LAYOUT_ANY)
        return a[2 + t->ndim + k].i;
    int64_t s = 1;
    if (t->layout == TR_LAYOUT_C)
        for (unsigned j = k + 1; j < t->ndim; j++)
            s *= tr_irun_dim(a, j);
    else
        for (unsigned j = 0; j < k; j++)
            s *= tr_irun_dim(a, j);
    return s;
}

void *tr_irun_element(const tr_ty *t, const tr_slot *a, const int64_t *idx) {
    assert(t->kind == TR_TY_ARRAY);
    int64_t off = 0;
    for (unsigned k = 0; k < t->ndim; k++) {
        if (idx[k] < 0 || idx[k] >= tr_irun_dim(a, k))
            return NULL;
        off += idx[k] * stride(t, a, k);
    }
    return a[1].p ? (char *)a[1].p + off * (int64_t)tr_ty_unit(t) : NULL;
}

void *tr_irun_input(const tr_ty *t, const tr_slot *a, const int64_t *idx) {
    int64_t at[TR_MAX_NDIM + 1];
    for (unsigned k = 0; k < t->ndim; k++)
        at[k] = tr_irun_dim(a, k) == 1 ? 0 : idx[k];
    return tr_irun_element(t, a, at);
}

static void *element_of(tr_irun *r, const tr_ins *i) {
    const tr_ty *t = tr_irun_arg_type(r, i, 0);
    int64_t idx[TR_MAX_NDIM];
    for (unsigned k = 0; k < t->ndim; k++)
        idx[k] = tr_irun_arg(r, i, 1 + k)->i;
    return tr_irun_element(t, tr_irun_arg(r, i, 0), idx);
}

/* Wraps: an array without items may have any distances. */
static int64_t times(int64_t x, int64_t y) {
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

static void view(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_slot *base = tr_irun_arg(r, i, 0);
    const tr_ty *from = tr_irun_arg_type(r, i, 0), *t = i->ty;
    uint32_t nbase = tr_view_nbase(i), n = t->ndim;
    int64_t off = 0;
    for (uint32_t k = 0; k < nbase; k++)
        off += times(tr_irun_arg(r, i, 1 + k)->i, stride(from, base, k));
    out[0] = base[0];
    out[1].p = (char *)base[1].p + times(off, tr_ty_unit(t));
    for (uint32_t k = 0; k < n; k++) {
        int of = tr_view_axis(i, k);
        out[2 + k].i = tr_irun_arg(r, i, 1 + nbase + k)->i;
        if (t->layout == TR_LAYOUT_ANY)
            out[2 + n + k].i =
                of < 0 ? 0 : times(tr_irun_arg(r, i, 1 + nbase + n + k)->i, stride(from, base, (unsigned)of));
    }
}

static void restride(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_slot *base = tr_irun_arg(r, i, 0);
    out[0] = base[0];
    out[1].p = (char *)base[1].p + tr_irun_arg(r, i, 1)->i * (int64_t)tr_ty_unit(i->ty);
    for (uint32_t k = 2; k < i->nargs; k++)
        out[k].i = tr_irun_arg(r, i, k)->i;
}

static void array_at(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const int64_t *table = tr_irun_arg(r, i, 0)[1].p; /* NULL: of a text */
    out[0].p = NULL;
    out[1].p = table ? (void *)(uintptr_t)(uint64_t)*table : NULL;
    for (uint32_t k = 1; k < i->nargs; k++)
        out[1 + k].i = tr_irun_arg(r, i, k)->i;
}

static void field(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_slot *base = tr_irun_arg(r, i, 0);
    const tr_ty *from = tr_irun_arg_type(r, i, 0), *s = from->elem, *t = i->ty;
    bool one = (uint64_t)i->imm.i < s->n;
    int64_t unit = tr_ty_unit(t), by = tr_ty_size(t->elem) / unit;
    out[0] = base[0];
    out[1].p = (char *)base[1].p + (one ? tr_ty_field(s, (uint32_t)i->imm.i).offset : 0);
    for (uint32_t k = 0; k < t->ndim; k++)
        out[2 + k].i = tr_irun_arg(r, i, 1 + k)->i;
    for (uint32_t k = t->ndim; k-- > 0 && t->layout == TR_LAYOUT_ANY;)
        if (k < from->ndim) {
            out[2 + t->ndim + k].i = times(stride(from, base, k), tr_ty_unit(from) / unit);
        } else {
            out[2 + t->ndim + k].i = by;
            by *= out[2 + k].i;
        }
}

/* First and last address that an array spans; false when it is empty. */
static bool span(const tr_ty *t, const tr_slot *a, char **lo, char **hi) {
    int64_t size = tr_ty_size(t->elem), unit = tr_ty_unit(t);
    *lo = a[1].p;
    *hi = *lo + size;
    for (unsigned k = 0; k < t->ndim; k++) {
        int64_t far = (tr_irun_dim(a, k) - 1) * stride(t, a, k) * unit;
        if (tr_irun_dim(a, k) <= 0)
            return false;
        if (far < 0)
            *lo += far;
        else
            *hi += far;
    }
    return true;
}

/* Items of two arrays of one axis that lie side by side, as far apart in one as in the
 * other: columns, fields of records. */
static bool side_by_side(tr_irun *r, const tr_ins *i) {
    const tr_slot *a[2];
    int64_t by[2], size[2];
    for (uint32_t k = 0; k < 2; k++) {
        const tr_ty *t = tr_irun_arg_type(r, i, k);
        if (t->ndim != 1 || t->layout != TR_LAYOUT_ANY)
            return false;
        a[k] = tr_irun_arg(r, i, k);
        by[k] = times(stride(t, a[k], 0), tr_ty_unit(t));
        size[k] = tr_ty_size(t->elem);
    }
    int64_t step = by[0] < 0 ? -by[0] : by[0];
    if (!step || by[0] != by[1])
        return false;
    int64_t far = (a[1][1].i - a[0][1].i) % step;
    far += far < 0 ? step : 0;
    return far >= size[0] && far + size[1] <= step;
}

static bool overlap(tr_irun *r, const tr_ins *i) {
    char *a, *b, *c, *d;
    return span(tr_irun_arg_type(r, i, 0), tr_irun_arg(r, i, 0), &a, &b) &&
           span(tr_irun_arg_type(r, i, 1), tr_irun_arg(r, i, 1), &c, &d) && a < d && c < b &&
           !side_by_side(r, i);
}

/* n: room for sizes and strides. */
static tr_extent extent_of(tr_irun *r, const tr_ins *i, uint32_t k, int64_t *n) {
    const tr_ty *t = tr_irun_arg_type(r, i, k);
    const tr_slot *a = tr_irun_arg(r, i, k);
    for (unsigned d = 0; d < t->ndim; d++) {
        n[d] = tr_irun_dim(a, d);
        n[t->ndim + d] = stride(t, a, d);
    }
    for (unsigned d = 0; d < t->ndim && tr_ty_is_loose(t); d++)
        n[t->ndim + d] = times(n[t->ndim + d], tr_ty_unit(t));
    if (!tr_ty_is_loose(t))
        return (tr_extent){a[1].p, tr_ty_size(t->elem), n, n + t->ndim, t->ndim};
    memmove(n + t->ndim + 1, n + t->ndim,
            t->ndim * sizeof *n); /* of items that lie anywhere the bytes, an axis more */
    n[t->ndim] = tr_ty_size(t->elem);
    n[2 * t->ndim + 1] = 1;
    return (tr_extent){a[1].p, 1, n, n + t->ndim + 1, t->ndim + 1u};
}

static bool meet(tr_irun *r, const tr_ins *i) {
    int64_t n[TR_MEET_MAX][2 * TR_MAX_NDIM + 2];
    tr_extent e[TR_MEET_MAX];
    assert(i->nargs <= TR_MEET_MAX);
    for (uint32_t k = 0; k < i->nargs; k++)
        e[k] = extent_of(r, i, k, n[k]);
    return tr_some_meet(e, i->nargs, i->imm.i & 255, (uint64_t)i->imm.i >> 8);
}

static bool apart(tr_irun *r, const tr_ins *i) {
    const tr_slot *a = tr_irun_arg(r, i, 0), *b = tr_irun_arg(r, i, 1);
    const tr_ty *t = tr_irun_arg_type(r, i, 0), *u = tr_irun_arg_type(r, i, 1);
    bool same = t->ndim == u->ndim && t->elem == u->elem && a[1].p == b[1].p;
    for (unsigned k = 0; k < t->ndim && same; k++)
        same = tr_irun_dim(a, k) == tr_irun_dim(b, k) && stride(t, a, k) == stride(u, b, k);
    return same || !overlap(r, i);
}

/* --- exceptions --- */

static bool raise_site(tr_irun *r, const tr_ins *i, uint32_t first) {
    tr_interp *in = r->in;
    uint32_t slots = 0;
    in->site = i->imm.site;
    in->place = tr_fn_place(r->f, i->loc);
    in->npayload = 0;
    for (uint32_t n = first; n < i->nargs && in->npayload < TR_FRAME_PAYLOAD; n++) {
        unsigned parts = tr_ty_nparts(tr_irun_arg_type(r, i, n));
        if (slots + parts > TR_FRAME_PAYLOAD)
            break;
        memcpy(in->payload + slots, tr_irun_arg(r, i, n), parts * sizeof *in->payload);
        in->payload_ty[in->npayload++] = tr_irun_arg_type(r, i, n);
        slots += parts;
    }
    return false;
}

/* What is in flight becomes a value: its class, and which it is. */
static void catch_site(tr_irun *r, tr_slot *out) {
    tr_interp *in = r->in;
    struct tr_icaught c = {.site = in->site, .npayload = in->npayload, .place = in->place};
    memcpy(c.payload, in->payload, sizeof c.payload);
    memcpy(c.payload_ty, in->payload_ty, sizeof c.payload_ty);
    out->i = (int64_t)((uint64_t)c.site->exc << TR_CAUGHT_SHIFT | in->caught.n);
    tr_vec_push(&in->ctx->arena, &in->caught, c);
    in->site = NULL;
}

static bool raise_again(tr_irun *r, const tr_slot *x) {
    tr_interp *in = r->in;
    const struct tr_icaught *c = &in->caught.d[(uint32_t)x->u];
    in->site = c->site;
    in->npayload = c->npayload;
    in->place = c->place;
    memcpy(in->payload, c->payload, sizeof c->payload);
    memcpy(in->payload_ty, c->payload_ty, sizeof c->payload_ty);
    return false;
}

/* As NumPy: negative extents and sizes past int64 are ValueErrors, and extents of 0 do not hide that others
 * are too large. */
static const tr_site *bad_size(tr_irun *r, const tr_ins *i) {
    static const tr_site negative = {TR_EXC_VALUE, "negative dimensions are not allowed", -1, NULL};
    static const tr_site too_big = {TR_EXC_VALUE, TR_TOO_BIG, -1, NULL};
    int64_t room = INT64_MAX / (int64_t)tr_ty_size(i->ty->elem);
    for (uint32_t k = 0; k < i->nargs; k++)
        if (tr_irun_arg(r, i, k)->i < 0)
            return &negative;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (tr_irun_arg(r, i, k)->i)
            room /= tr_irun_arg(r, i, k)->i;
    return room ? NULL : &too_big;
}

static bool alloc(tr_irun *r, const tr_ins *i, tr_slot *out) {
    int64_t bytes = tr_ty_size(i->ty->elem);
    const tr_site *bad = bad_size(r, i);
    for (uint32_t k = 0; !bad && k < i->nargs; k++) {
        out[2 + k].i = tr_irun_arg(r, i, k)->i;
        bytes *= tr_irun_arg(r, i, k)->i;
    }
    if (bad || bytes > MAX_BYTES) {
        raise_site(r, i, i->nargs);
        if (bad) {
            r->in->site = bad;
        } else {
            r->in->payload[0].i = bytes;
            r->in->payload_ty[r->in->npayload++] = tr_ty_scalar(r->in->ctx->types, TR_TY_U64);
        }
        return false;
    }
    out[0].p = NULL;
    out[1].p = tr_arena_alloc(&r->in->ctx->arena, (size_t)bytes + 1);
    memset(out[1].p, 0xa5, (size_t)bytes); /* what nobody wrote shows */
    return true;
}

/* --- lists: blocks as the runtime's (rt/layout.h), for what its functions do to them; items hold nothing
 * that is counted, and nobody frees them --- */

static bool no_room(tr_irun *r, const tr_ins *i, int64_t n) {
    raise_site(r, i, i->nargs);
    r->in->payload[0].i = n;
    r->in->payload_ty[r->in->npayload++] = tr_ty_scalar(r->in->ctx->types, TR_TY_I64);
    return false;
}

/* Items lie elsewhere each time there are more of them, so that what was looked up before shows. */
static bool set_length(tr_irun *r, const tr_ins *i, tr_list *l, int64_t n, int64_t size) {
    if (n < 0)
        return tr_irun_fault(r, i, "makes a list of fewer than no items");
    if (n > MAX_BYTES / size)
        return no_room(r, i, n);
    if (n > l->cap) {
        void *items = tr_arena_alloc(&r->in->ctx->arena, (size_t)(n * size) + 1);
        memset(items, 0xa5, (size_t)(n * size)); /* what nobody wrote shows */
        if (l->len)
            memcpy(items, l->items, (size_t)(l->len * size));
        l->items = items;
        l->cap = n;
    }
    l->len = n;
    return true;
}

/* A block of so many bytes, for items of that size. */
static void *new_block(tr_irun *r, size_t bytes, uint32_t size) {
    char *at = tr_arena_alloc(&r->in->ctx->arena, 2 * TR_MEM_ALIGN + bytes);
    tr_mem *m = (tr_mem *)(((uintptr_t)at + TR_MEM_ALIGN - 1) & ~(uintptr_t)(TR_MEM_ALIGN - 1));
    tr_shape *s = TR_NEW(&r->in->ctx->arena, tr_shape);
    *s = (tr_shape){.size = size};
    *m = (tr_mem){.refs = 1, .size = bytes, .shape = s};
    memset(tr_mem_data(m), 0, bytes);
    return m;
}

/* Moves a value between a slot, or where a number lies, and registers; `at` is how far it is in the slot. */
static void move_parts(const tr_ty *t, char *slot, size_t *at, tr_slot **x, bool put) {
    tr_part parts[2 + 2 * TR_MAX_NDIM];
    if (tr_ty_is_items(t)) {
        for (uint32_t i = 0; i < t->n; i++)
            move_parts(t->items[i], slot, at, x, put);
        return;
    }
    bool number = tr_ty_is_scalar(t);
    unsigned n = tr_ty_nparts(t), size = number ? tr_ty_align(t) : sizeof(tr_slot);
    tr_ty_parts(t, parts);
    *at = n ? (*at + size - 1) & ~(size_t)(size - 1) : *at;
    if (number && put)
        tr_interp_store(t, slot + *at, *x);
    else if (number)
        tr_interp_load(t, slot + *at, *x);
    else if (put)
        memcpy(slot + *at, *x, n * sizeof **x);
    else
        memcpy(*x, slot + *at, n * sizeof **x);
    *at += (size_t)n * size;
    *x += n;
}

static void put_slot(const tr_ty *t, char *slot, const tr_slot *x) {
    size_t at = 0;
    tr_slot *from = (tr_slot *)(uintptr_t)x;
    move_parts(t, slot, &at, &from, true);
}

static bool slot_op(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_ty *t = tr_irun_arg_type(r, i, 0)->elem->items[0];
    char *at = element_of(r, i);
    if (!at)
        return tr_irun_fault(r, i, "reaches outside of an array");
    if (i->op == TR_OP_PUT) {
        put_slot(t, at, tr_irun_arg(r, i, 2));
        return true;
    }
    size_t in = 0;
    move_parts(t, at, &in, &out, false);
    return true;
}

static bool list_op(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_ty *t = i->op == TR_OP_NEWLIST ? i->ty : tr_irun_arg_type(r, i, 0);
    int64_t size = tr_ty_lies(t->items[0], NULL, NULL);
    void *block =
        i->op == TR_OP_NEWLIST ? new_block(r, sizeof(tr_list), (uint32_t)size) : tr_irun_arg(r, i, 0)->p;
    tr_list *l = tr_list_of(block);
    switch ((tr_op)i->op) {
    case TR_OP_NEWLIST: out->p = block; return set_length(r, i, l, tr_irun_arg(r, i, 0)->i, size);
    case TR_OP_ITEMS:
        out[0].p = NULL;
        out[1].p = l->items;
        out[2].i = l->len;
        return true;
    case TR_OP_RESIZE: return set_length(r, i, l, tr_irun_arg(r, i, 1)->i, size);
    default:
        if (!set_length(r, i, l, l->len + 1, size))
            return false;
        put_slot(t->items[0], (char *)l->items + (l->len - 1) * size, tr_irun_arg(r, i, 1));
        return true;
    }
}

/* --- sets --- */

/* Entries in order, searched from the first one. */
typedef struct iset {
    tr_list keys, gone; /* a byte for each: it has left */
    int64_t live;
} iset;

static bool same_text(const tr_slot *a, const tr_slot *b) {
    tr_str s, t;
    memcpy(&s, a, sizeof s);
    memcpy(&t, b, sizeof t);
    int64_t n = tr_str_len(&s), k = 0;
    while (k < n && n == tr_str_len(&t) && tr_str_at(&s, k) == tr_str_at(&t, k))
        k++;
    return k == n && n == tr_str_len(&t);
}

static bool is_key(const tr_ty *t, const tr_slot *a, const tr_slot *b) {
    if (t->kind == TR_TY_OPT && !a->b)
        return !b->b;
    for (uint32_t k = 0, at = 0; k < t->n; at += tr_ty_nparts(t->items[k++]))
        if (!is_key(t->items[k], a + at, b + at))
            return false;
    if (t->kind == TR_TY_STRING)
        return same_text(a, b);
    if (t->kind == TR_TY_DATE)
        return a->i == b->i && a->i != INT64_MIN;
    if (!tr_ty_is_scalar(t))
        return true;
    if (tr_ty_is_complex(t))
        return a[0].f == b[0].f && a[1].f == b[1].f;
    return tr_ty_is_float(t) ? a->f == b->f : t->kind == TR_TY_BOOL ? a->b == b->b : a->u == b->u;
}

static int64_t next_entry(const iset *s, int64_t e) {
    while (e < s->keys.len && ((const uint8_t *)s->gone.items)[e])
        e++;
    return e < s->keys.len ? e : -1;
}

static char *slot_of(const tr_list *l, const tr_ty *t, int64_t e) {
    return (char *)l->items + e * tr_ty_lies(t, NULL, NULL);
}

static int64_t find_entry(tr_irun *r, const iset *s, const tr_ty *t, const tr_slot *key) {
    tr_slot *x = TR_NEW_N(&r->in->ctx->arena, tr_slot, tr_ty_nparts(t) + 1u);
    for (int64_t e = next_entry(s, 0); e >= 0; e = next_entry(s, e + 1)) {
        size_t at = 0;
        tr_slot *to = x;
        move_parts(t, slot_of(&s->keys, t, e), &at, &to, false);
        if (is_key(t, x, key))
            return e;
    }
    return -1;
}

static bool enter_key(tr_irun *r, const tr_ins *i, iset *s, tr_list *values, tr_slot *out) {
    const tr_ty *t = tr_irun_arg_type(r, i, 0)->items[0],
                *v = values ? tr_irun_arg_type(r, i, 2)->items[0] : NULL;
    int64_t e = s->keys.len, size = tr_ty_lies(t, NULL, NULL), wide = v ? tr_ty_lies(v, NULL, NULL) : 0;
    if (find_entry(r, s, t, tr_irun_arg(r, i, 1)) >= 0)
        return tr_irun_fault(r, i, "enters a key that is there");
    if (!set_length(r, i, &s->keys, e + 1, size) || !set_length(r, i, &s->gone, e + 1, 1) ||
        (v && !set_length(r, i, values, e + 1, wide)))
        return false;
    put_slot(t, slot_of(&s->keys, t, e), tr_irun_arg(r, i, 1));
    ((uint8_t *)s->gone.items)[e] = 0;
    if (v)
        memset(slot_of(values, v, e), 0, (size_t)wide);
    s->live++;
    out->i = e;
    return true;
}

static bool leave_key(tr_irun *r, const tr_ins *i, iset *s, tr_list *values) {
    int64_t e = tr_irun_arg(r, i, 1)->i;
    if (e < 0 || next_entry(s, e) != e)
        return tr_irun_fault(r, i, "takes out an entry that is not there");
    ((uint8_t *)s->gone.items)[e] = 1;
    s->live--;
    while (s->keys.len && ((const uint8_t *)s->gone.items)[s->keys.len - 1])
        s->keys.len--;
    if (values)
        values->len = s->keys.len;
    return true;
}

static bool set_op(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_ty *key = (i->op == TR_OP_NEWSET ? i->ty : tr_irun_arg_type(r, i, 0))->items[0];
    void *block = i->op == TR_OP_NEWSET ? new_block(r, sizeof(iset), tr_ty_lies(key, NULL, NULL))
                                        : tr_irun_arg(r, i, 0)->p;
    iset *s = tr_mem_data(block);
    uint32_t most = i->op == TR_OP_EMPTY ? 2 : 3;
    bool dict = i->nargs == most && i->op != TR_OP_FIND && i->op != TR_OP_WALKON;
    tr_list *values = dict ? tr_list_of(tr_irun_arg(r, i, most - 1)->p) : NULL;
    switch ((tr_op)i->op) {
    case TR_OP_NEWSET: out->p = block; return true;
    case TR_OP_LIVE: out->i = s->live; return true;
    case TR_OP_FIND: out->i = find_entry(r, s, key, tr_irun_arg(r, i, 1)); return true;
    case TR_OP_WALKON: out->i = next_entry(s, tr_irun_arg(r, i, 1)->i); return true;
    case TR_OP_ENTER: return enter_key(r, i, s, values, out);
    case TR_OP_LEAVE: return leave_key(r, i, s, values);
    default:
        s->keys.len = s->live = 0;
        if (values)
            values->len = 0;
        return true;
    }
}

/* --- strings --- */

static bool string_op(tr_irun *r, const tr_ins *i, tr_slot *out) {
    if (i->op == TR_OP_STRING) {
        tr_str s = tr_str_known(&r->in->ctx->arena, tr_irun_arg_type(r, i, 0)->lit->u.s.d);
        memcpy(out, &s, sizeof s);
        return true;
    }
    tr_str s;
    memcpy(&s, tr_irun_arg(r, i, 0), sizeof s);
    int64_t n = s.bits >> TR_STR_LENGTH, at = i->nargs > 1 ? tr_irun_arg(r, i, 1)->i : 0;
    switch ((tr_op)i->op) {
    case TR_OP_STRLEN: out->i = n; return true;
    case TR_OP_CHARAT: out->i = at >= 0 && at < n ? (int64_t)tr_str_at(&s, at) : -1; return true;
    default: {
        int64_t m = tr_irun_arg(r, i, 2)->i;
        if (at < 0 || m < 0 || m > n - at)
            return tr_irun_fault(r, i, "takes characters beyond the ends of a string");
        s = tr_str_part(&s, at, m);
        memcpy(out, &s, sizeof s);
        return true;
    }
    }
}

/* --- calls --- */

/* Bytes of the arrays that a value is, or holds; an axis that repeats its first item has one. */
static uint64_t bytes_in(const tr_ty *t, const tr_slot *x) {
    uint64_t bytes = 0;
    if (t && t->kind == TR_TY_ARRAY) {
        bytes = (uint64_t)tr_ty_size(t->elem);
        for (unsigned k = 0; k < t->ndim; k++)
            bytes *= (uint64_t)(tr_irun_dim(x, k) > 1 && stride(t, x, k) == 0 ? 1 : tr_irun_dim(x, k));
    }
    for (uint32_t k = 0; t && t->kind == TR_TY_TUPLE && k < t->n; x += tr_ty_nparts(t->items[k++]))
        bytes += bytes_in(t->items[k], x);
    return bytes;
}

static bool spans_meet(tr_irun *r, const tr_ins *i, uint32_t k, uint32_t n) {
    char *a, *b, *c, *d;
    return span(tr_irun_arg_type(r, i, k), tr_irun_arg(r, i, k), &a, &b) &&
           span(tr_irun_arg_type(r, i, n), tr_irun_arg(r, i, n), &c, &d) && a < d && c < b;
}

/* A number that changes with what a row of the runtime is given to read, and nothing else stores to. */
static uint64_t left_alone(tr_irun *r, const tr_ins *i) {
    uint64_t sum = 0;
    for (uint32_t k = 0; k < i->nargs; k++) {
        char *lo, *hi;
        bool only_read = tr_call_memory(r->f, i, k) == TR_MEM_READ;
        for (uint32_t n = 0; n < i->nargs && only_read; n++)
            only_read = !(tr_call_memory(r->f, i, n) & TR_MEM_WRITE) || !spans_meet(r, i, k, n);
        if (only_read && span(tr_irun_arg_type(r, i, k), tr_irun_arg(r, i, k), &lo, &hi))
            for (; lo < hi; lo++)
                sum = sum * 31 + (uint8_t)*lo;
    }
    return sum;
}

/* A call moves what it is given and gives, whatever it does inside: `read` and `written` are from before. */
static void count_call(tr_irun *r, const tr_ins *i, const tr_slot *out, uint64_t read, uint64_t written) {
    r->in->read = read;
    r->in->written = written;
    if (r->in->patterns)
        return;
    for (uint32_t k = 0; k < i->nargs; k++) {
        uint8_t memory = tr_call_memory(r->f, i, k);
        uint64_t bytes = memory ? bytes_in(tr_irun_arg_type(r, i, k), tr_irun_arg(r, i, k)) : 0;
        r->in->read += memory & TR_MEM_READ ? bytes : 0;
        r->in->written += memory & TR_MEM_WRITE ? bytes : 0;
    }
    r->in->written += bytes_in(i->ty, out);
}

static bool launch_with(tr_irun *r, const tr_fn *f, const tr_slot *args);

static bool call(tr_irun *r, const tr_ins *i, tr_slot *out) {
    tr_interp *in = r->in;
    if (!in->prog || i->imm.fn >= in->prog->insts.n || !in->prog->insts.d[i->imm.fn].fn)
        return tr_irun_fault(r, i, "calls an instance that is not in the program");
    tr_slot args[MAX_PARTS];
    unsigned n = 0;
    for (uint32_t k = 0; k < i->nargs; k++) {
        unsigned parts = tr_ty_nparts(tr_irun_arg_type(r, i, k));
        if (n + parts > MAX_PARTS)
            return tr_irun_fault(r, i, "too many arguments for the interpreter");
        memcpy(args + n, tr_irun_arg(r, i, k), parts * sizeof *args);
        n += parts;
    }
    const tr_inst *inst = &in->prog->insts.d[i->imm.fn];
    if (inst->fn->kind == TR_FN_KERNEL)
        return launch_with(r, inst->fn, args);
    uint64_t read = in->read, written = in->written;
    bool ok = run_fn(in, inst->fn, args, out);
    if (ok && !inst->late && !inst->piece) /* these are pieces of the function that calls them */
        count_call(r, i, out, read, written);
    return ok;
}

/* The System V calling convention fills integer and vector registers apart, so one pair of types calls every
 * row. */
typedef int64_t (*int_fn)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, double,
                          double, double, double);
typedef double (*float_fn)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, double,
                           double, double, double);

/* For those with more arguments than registers, integers all: what is too much lies on the stack and is not
 * looked at. */
typedef int64_t (*wide_fn)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                           int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                           int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
enum { INT_ARGS = 25 };

static int64_t call_ints(void *sym, const int64_t *a, const double *d) {
    if (d) {
        int_fn f;
        memcpy(&f, &sym, sizeof f);
        return f(a[0], a[1], a[2], a[3], a[4], a[5], d[0], d[1], d[2], d[3], d[4], d[5]);
    }
    wide_fn f;
    memcpy(&f, &sym, sizeof f);
    return f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14],
             a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24]);
}

static bool callrt(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_rtinfo *row = &tr_rt_info[i->imm.rt->row];
    void *sym = r->in->symbol ? r->in->symbol(row->symbol) : NULL;
    int64_t a[INT_ARGS + 1] = {0};
    double d[6] = {0}, pair[2] = {0};
    unsigned na = 0, nd = 0, k = 0, part = 0;
    if (!sym)
        return tr_irun_fault(r, i, "the run-time function is not linked");
    if (i->imm.rt->row == TR_RT_EXC_TEXT || i->imm.rt->row == TR_RT_EXC_NUMBER ||
        i->imm.rt->row == TR_RT_MADE) /* of loaded code */
        return tr_irun_fault(r, i, "the interpreter has other exceptions than the run-time library");
    if (strlen(row->sig) > INT_ARGS + 3) /* loops of ufuncs, whose tables the interpreter has not either */
        return tr_irun_fault(r, i, "the run-time function takes more than the interpreter passes");
    for (const char *p = row->sig + 2; *p && *p != ')' && na < INT_ARGS && nd < 5; p++) {
        if (*p == 'F') {
            a[na++] = (int64_t)(intptr_t)r->in->frame;
            continue;
        }
        if (*p == 's') {
            a[na++] = (int64_t)(intptr_t)i->imm.rt->text;
            continue;
        }
        const tr_ty *t = tr_irun_arg_type(r, i, k);
        const tr_slot *s = tr_irun_arg(r, i, k) + part;
        if (*p == 'S') {
            for (int n = 0; n < 3 && na < INT_ARGS; n++)
                a[na++] = s[n].i;
            k++;
            continue;
        }
        if (*p == 'd' || *p == 'f')
            memcpy(&d[nd++], s, sizeof *d); /* a float lies in the low half, as in the register */
        else if (*p == 'C')
            for (part = 0; part < 2; part++)
                d[nd++] = t->kind == TR_TY_C64 ? (double)s[part].f32 : s[part].f;
        else
            a[na++] = s->i;
        part += *p != 'C';
        if (part >= tr_ty_nparts(t)) {
            part = 0;
            k++;
        }
    }
    char res = row->sig[0];
    if (res == 'C')
        a[na] = (int64_t)(intptr_t)pair;
    if (res == 'S')
        a[na++] = (int64_t)(intptr_t)out;
    if (res == 'd' || res == 'f') {
        float_fn f;
        memcpy(&f, &sym, sizeof f);
        out->f = f(a[0], a[1], a[2], a[3], a[4], a[5], d[0], d[1], d[2], d[3], d[4], d[5]);
        return true;
    }
    int64_t x = call_ints(sym, a, na > 6 ? NULL : d);
    if (res == 'C') {
        for (int n = 0; n < 2; n++)
            if (i->ty->kind == TR_TY_C64)
                out[n].f32 = (float)pair[n];
            else
                out[n].f = pair[n];
    } else if (res != 'v' && res != 'S') {
        out->i = res == 'b' ? (x & 0xff) != 0 : x;
    }
    return true;
}

static bool call_row(tr_irun *r, const tr_ins *i, tr_slot *out) {
    uint64_t before = left_alone(r, i);
    if (!callrt(r, i, out))
        return false;
    if (left_alone(r, i) != before)
        return tr_irun_fault(r, i, "stores to an array that it is to read, says its signature");
    count_call(r, i, out, r->in->read, r->in->written);
    return true;
}

/* --- a device's --- */

static int64_t size_of(const int64_t *dims, int64_t axis) {
    return dims[axis] ? dims[axis] : 1;
}

/* Memory whose contents nobody may count on. */
static void *storage(tr_irun *r, const tr_ins *of, size_t bytes) {
    size_t align = of ? (size_t)tr_align_of(of) : 1;
    char *room = tr_arena_alloc(&r->in->ctx->arena, bytes + align);
    room += -(uintptr_t)room % align;
    return memset(room, 0xa5, bytes);
}

/* The block's, which the first of its threads that comes makes. */
static void *shared_of(tr_irun *r, const tr_ins *of, size_t bytes) {
    struct tr_istore *s = r->in->shared;
    while (s->at && s->of != of)
        s = s->next;
    if (!s->at) {
        s->of = of;
        s->at = storage(r, of, bytes);
        s->next = TR_NEW(&r->in->ctx->arena, struct tr_istore);
    }
    return s->at;
}

static bool share(tr_irun *r, const tr_ins *i, tr_slot *out) {
    size_t bytes = tr_ty_size(i->ty->elem);
    if (!r->in->shared)
        return tr_irun_fault(r, i, "is for kernels, and for what they call");
    for (uint32_t k = 0; k < i->nargs; k++) {
        out[2 + k].i = tr_irun_arg(r, i, k)->i;
        bytes *= (size_t)out[2 + k].i;
    }
    out[0].p = NULL;
    if (i->op == TR_OP_DYNSHARED) {
        out[2].i = r->in->dynamic / (int64_t)bytes;
        out[1].p = shared_of(r, NULL, (size_t)r->in->dynamic);
    } else {
        out[1].p = i->op == TR_OP_LOCAL ? storage(r, i, bytes) : shared_of(r, i, bytes);
    }
    return true;
}

/* What is there after an atomic operation that no op computes. */
static tr_slot combined(tr_atomic how, const tr_ty *t, const tr_slot *was, const tr_slot *x) {
    tr_slot out = *was;
    bool least = how == TR_ATOMIC_MIN || how == TR_ATOMIC_NANMIN, number = false;
    switch (how) {
    case TR_ATOMIC_INC: out.u = was->u >= x->u ? 0 : was->u + 1; return out;
    case TR_ATOMIC_DEC: out.u = was->u == 0 || was->u > x->u ? x->u : was->u - 1; return out;
    case TR_ATOMIC_NANMIN:
    case TR_ATOMIC_NANMAX:
        number = !tr_interp_cmp(TR_CMP_EQ, t, was, was) && tr_interp_cmp(TR_CMP_EQ, t, x, x);
        break;
    case TR_ATOMIC_XCHG: return *x;
    default: break;
    }
    return number || tr_interp_cmp(least ? TR_CMP_LT : TR_CMP_GT, t, x, was) ? *x : out;
}

/* One thread runs at a time, so there is nothing between the reading and the writing. */
static bool atomic(tr_irun *r, const tr_ins *i, tr_slot *out) {
    void *at = element_of(r, i);
    const tr_slot *x = tr_irun_arg(r, i, i->nargs - 1);
    tr_slot new = *x;
    if (!at)
        return tr_irun_fault(r, i, "is atomic outside of an array");
    tr_interp_load(i->ty, at, out);
    if (i->op == TR_OP_CAS) {
        if (!tr_interp_cmp(TR_CMP_EQ, i->ty, out, tr_irun_arg(r, i, i->nargs - 2)))
            return true;
    } else if (tr_atomic_info[i->sub].op != TR_OP__COUNT) {
        tr_interp_arith(r->in, tr_atomic_info[i->sub].op, i->ty, out, x, &new);
    } else {
        new = combined((tr_atomic)i->sub, i->ty, out, x);
    }
    tr_interp_store(i->ty, at, &new);
    return true;
}

/* --- instructions --- */

static void extract(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_ty *t = tr_irun_arg_type(r, i, 0);
    const tr_slot *s = tr_irun_arg(r, i, 0);
    for (int64_t k = 0; k < i->imm.i; k++)
        s += tr_ty_nparts(t->items[k]);
    tr_irun_copy(i->ty, out, s);
}

static void make_tuple(tr_irun *r, const tr_ins *i, tr_slot *out) {
    for (uint32_t k = 0; k < i->nargs; k++) {
        tr_irun_copy(tr_irun_arg_type(r, i, k), out, tr_irun_arg(r, i, k));
        out += tr_ty_nparts(tr_irun_arg_type(r, i, k));
    }
}

static bool index_ok(tr_irun *r, const tr_ins *i) {
    int64_t at = tr_irun_arg(r, i, 0)->i, n = tr_irun_arg(r, i, 1)->i;
    return at >= 0 && at < n;
}

static bool step(tr_irun *r, const tr_ins *i, tr_slot *out) {
    const tr_ty *t = i->nargs ? tr_irun_arg_type(r, i, 0) : NULL;
    const tr_slot *x = i->nargs ? tr_irun_arg(r, i, 0) : NULL,
                  *y = i->nargs > 1 ? tr_irun_arg(r, i, 1) : NULL;
    void *at;
    switch ((tr_op)i->op) {
    case TR_OP_CONV: tr_interp_conv(t, i->ty, x, out); return true;
    case TR_OP_BITCAST:
        out->i = 0;
        memcpy(out, x, tr_ty_size(t));
        if (tr_ty_is_int(i->ty))
            out->i = tr_int_wrap(i->ty, out->i);
        return true;
    case TR_OP_SELECT: tr_irun_copy(i->ty, out, x->b ? y : tr_irun_arg(r, i, 2)); return true;
    case TR_OP_TUPLE: make_tuple(r, i, out); return true;
    case TR_OP_EXTRACT: extract(r, i, out); return true;
    case TR_OP_BITS: out->i = tr_bits_of((tr_bitop)i->sub, t, x->i); return true;
    case TR_OP_CMP: out->i = tr_interp_cmp((tr_cmpop)i->sub, t, x, y); return true;
    case TR_OP_MATH: {
        const tr_slot *args[3] = {x, y, i->nargs > 2 ? tr_irun_arg(r, i, 2) : NULL};
        return tr_interp_math(r->in, (tr_mathfn)i->sub, t, args, out) ||
               tr_irun_fault(r, i, "the function is not linked");
    }
    case TR_OP_CPLX:
        out[0] = x[0];
        out[1] = y[0];
        return true;
    case TR_OP_RE: out[0] = x[0]; return true;
    case TR_OP_IM: out[0] = x[1]; return true;
    case TR_OP_DIM: out->i = tr_irun_dim(x, (unsigned)i->imm.i); return true;
    case TR_OP_STRIDE: out->i = stride(t, x, (unsigned)i->imm.i); return true;
    case TR_OP_VIEW: view(r, i, out); return true;
    case TR_OP_RESTRIDE: restride(r, i, out); return true;
    case TR_OP_ARRAYAT: array_at(r, i, out); return true;
    case TR_OP_FIELD: field(r, i, out); return true;
    case TR_OP_ALLOC: return alloc(r, i, out);
    case TR_OP_STRING:
    case TR_OP_STRLEN:
    case TR_OP_SUBSTR:
    case TR_OP_CHARAT: return string_op(r, i, out);
    case TR_OP_NEWLIST:
    case TR_OP_ITEMS:
    case TR_OP_APPEND:
    case TR_OP_RESIZE: return list_op(r, i, out);
    case TR_OP_NEWSET:
    case TR_OP_LIVE:
    case TR_OP_FIND:
    case TR_OP_WALKON:
    case TR_OP_ENTER:
    case TR_OP_LEAVE:
    case TR_OP_EMPTY: return set_op(r, i, out);
    case TR_OP_TAKE:
    case TR_OP_PEEK:
    case TR_OP_PUT: return slot_op(r, i, out);
    case TR_OP_LOAD:
        if (!(at = element_of(r, i)) && !i->sub)
            return tr_irun_fault(r, i, "loads outside of an array");
        if (at)
            tr_interp_load(i->ty, at, out);
        else
            memset(out, 0, tr_ty_nparts(i->ty) * sizeof *out);
        if (r->in->patterns && tr_term(r->f, 0)->op == TR_OP_YIELD)
            r->in->read += tr_ty_size(i->ty);
        return true;
    case TR_OP_STORE:
        if (!(at = element_of(r, i)))
            return tr_irun_fault(r, i, "stores outside of an array");
        tr_interp_store(t->elem, at, tr_irun_arg(r, i, i->nargs - 1));
        if (r->in->patterns && tr_term(r->f, 0)->op == TR_OP_YIELD)
            r->in->written += tr_ty_size(t->elem);
        return true;
    case TR_OP_OVERLAP: out->i = overlap(r, i); return true;
    case TR_OP_APART: out->i = apart(r, i); return true;
    case TR_OP_MEET: out->i = meet(r, i); return true;
    case TR_OP_RETAIN:
    case TR_OP_RELEASE: return true; /* memory lives until the context ends */
    case TR_OP_WRAP: out->i = x->i < 0 ? (int64_t)((uint64_t)x->i + (uint64_t)y->i) : x->i; return true;
    case TR_OP_RANGELEN: out->i = tr_range_len(x->i, y->i, tr_irun_arg(r, i, 2)->i); return true;
    case TR_OP_PRANGE: *out = *x; return true;
    case TR_OP_CHECKIDX: return index_ok(r, i) || raise_site(r, i, 0);
    case TR_OP_BCAST:
    case TR_OP_BCASTTO:
        *out = x->i == 1 ? *y : *x;
        return x->i == y->i || x->i == 1 || (y->i == 1 && i->op == TR_OP_BCAST) || raise_site(r, i, 0);
    case TR_OP_CHECK: return x->b || raise_site(r, i, 1);
    case TR_OP_CALL: return call(r, i, out);
    case TR_OP_CALLRT: return call_row(r, i, out);
    case TR_OP_CALLX: return tr_irun_fault(r, i, "calls a function that is not part of the program");
    case TR_OP_RAISE: return raise_site(r, i, 0);
    case TR_OP_CATCH: catch_site(r, out); return true;
    case TR_OP_RERAISE:
        if ((uint32_t)x->u >= r->in->caught.n)
            return tr_irun_fault(r, i, "raises again what was not caught");
        return raise_again(r, x);
    case TR_OP_PATTERN: return tr_irun_pattern(r, i, out);
    case TR_OP_THREADIDX: out->i = r->in->at[i->imm.i]; return true;
    case TR_OP_BLOCKIDX: out->i = r->in->at[3 + i->imm.i]; return true;
    case TR_OP_BLOCKDIM: out->i = size_of(r->in->block, i->imm.i); return true;
    case TR_OP_GRIDDIM: out->i = size_of(r->in->grid, i->imm.i); return true;
    case TR_OP_SHARED:
    case TR_OP_DYNSHARED:
    case TR_OP_LOCAL: return share(r, i, out);
    case TR_OP_SLEEP:
    case TR_OP_FENCE: return true; /* one thread runs at a time */
    case TR_OP_ACTIVEMASK:
    case TR_OP_SYNCWARP:
    case TR_OP_SHFL:
    case TR_OP_VOTE:
    case TR_OP_MATCH:
    case TR_OP_BARVOTE:
    case TR_OP_GRIDBARRIER:
    case TR_OP_BARRIER:
        return tr_irun_fault(r, i, "waits for threads in a function that a kernel calls: inline it");
    case TR_OP_ATOMIC:
    case TR_OP_CAS: return atomic(r, i, out);
    case TR_OP_UNREACH: return tr_irun_fault(r, i, "reaches what cannot be reached");
    default:
        if (tr_op_info[i->op].stages & S_F)
            return tr_irun_fault(r, i, "only typed IR can be interpreted");
        return tr_interp_arith(r->in, (tr_op)i->op, t, x, y, out) ||
               tr_irun_fault(r, i, "the function is not linked");
    }
}

/* Params change all at once: an argument may be another param's old value. */
static void take_edge(tr_irun *r, const tr_edge *e) {
    const tr_blk *to = tr_blk_at(r->f, e->to);
    tr_slot few[MAX_PARTS], *old = few;
    size_t n = 0;
    for (uint32_t k = 0; k < e->n; k++)
        n += tr_ty_nparts(tr_irun_type(r, e->args[k]));
    if (n > MAX_PARTS)
        old = TR_NEW_N(&r->in->ctx->arena, tr_slot, n);
    n = 0;
    for (uint32_t k = 0; k < e->n; k++) {
        tr_irun_copy(tr_irun_type(r, e->args[k]), old + n, value(r, e->args[k]));
        n += tr_ty_nparts(tr_irun_type(r, e->args[k]));
    }
    for (uint32_t k = 0; k < e->n; k++) {
        tr_irun_copy(tr_irun_type(r, to->params.d[k]), parts_for(r, to->params.d[k]), old);
        old += tr_ty_nparts(tr_irun_type(r, to->params.d[k]));
    }
}

/* What it brings to the others, who may need it when it runs no more. */
static void wait_at(tr_irun *r, tr_val v) {
    const tr_ins *i = tr_at(r->f, v);
    tr_iwait *w = r->wait;
    for (uint32_t k = 0; k < i->nargs; k++)
        w->arg[k] = *tr_irun_arg(r, i, k);
    w->bytes = i->nargs > 1 ? tr_ty_size(tr_irun_arg_type(r, i, 1)) : 0;
    w->out = i->ty ? parts_for(r, v) : NULL;
    w->at = i;
}

/* From the entry, or where it waited, to RET, YIELD or, in a kernel, where threads meet. */
static bool run_blocks(tr_irun *r, tr_slot *ret) {
    tr_bid b = r->blk;
    tr_val from = r->next;
    const tr_edge *handler = NULL;
    for (;;) {
        for (tr_val v = from != TR_NOVAL ? from : tr_blk_at(r->f, b)->first; v != TR_NOVAL;
             v = tr_at(r->f, v)->next) {
            const tr_ins *i = tr_at(r->f, v);
            from = TR_NOVAL;
            if (!r->in->steps--)
                return tr_irun_fault(r, i, "takes too many steps");
            if (tr_op_meets(i->op) && r->wait) {
                r->blk = b;
                r->next = i->next;
                wait_at(r, v);
                return true;
            }
            if (i->op == TR_OP_RET || i->op == TR_OP_YIELD) {
                make_tuple(r, i, ret);
                return true;
            }
            if (tr_nsucc(i)) {
                const tr_edge *e = &i->imm.succ[i->op == TR_OP_CBR && !tr_irun_arg(r, i, 0)->b];
                take_edge(r, e);
                b = e->to;
                handler = i->op == TR_OP_TRY ? &i->imm.succ[1] : NULL;
                break;
            }
            if (step(r, i, i->ty ? parts_for(r, v) : NULL))
                continue;
            if (r->in->fault || !handler)
                return false;
            take_edge(r, handler);
            b = handler->to;
            handler = NULL;
            break;
        }
    }
}

tr_irun tr_irun_begin(tr_interp *in, const tr_fn *f) {
    return (tr_irun){
        .in = in, .f = f, .vals = TR_NEW_N(&in->ctx->arena, tr_slot *, f->ins.n + 1), .next = TR_NOVAL};
}

static void take_args(tr_irun *r, const tr_slot *args) {
    const tr_blk *entry = tr_blk_at(r->f, 0);
    for (uint32_t k = 0; k < entry->params.n; k++) {
        tr_irun_copy(tr_irun_type(r, entry->params.d[k]), parts_for(r, entry->params.d[k]), args);
        args += tr_ty_nparts(tr_irun_type(r, entry->params.d[k]));
    }
}

bool tr_irun_with(tr_irun *r, const tr_slot *args, tr_slot *ret) {
    if (r->in->depth >= MAX_DEPTH)
        return tr_irun_fault(r, NULL, "calls are nested too deeply");
    take_args(r, args);
    r->in->depth++;
    bool ok = run_blocks(r, ret);
    r->in->depth--;
    return ok;
}

static bool run_fn(tr_interp *in, const tr_fn *f, const tr_slot *args, tr_slot *ret) {
    tr_irun r = tr_irun_begin(in, f);
    if (f->stage != S_T)
        return tr_irun_fault(&r, NULL, "only typed IR can be interpreted");
    return tr_irun_with(&r, args, ret);
}

/* --- launches --- */

/* Counts up to the sizes, x first. False: that was the last. */
static bool next_place(int64_t *at, const int64_t *dims) {
    for (int64_t k = 0; k < 3; k++) {
        if (++at[k] < size_of(dims, k))
            return true;
        at[k] = 0;
    }
    return false;
}

/* The threads of one block, in order, as often as there is one that can go on. */
static bool run_block(tr_irun *threads, tr_iwait *w, size_t n) {
    tr_interp *in = threads->in;
    tr_slot none;
    const char *why;
    size_t left = n, who = 0;
    while (left > 0) {
        for (size_t t = 0; t < n; t++, next_place(in->at, in->block)) {
            if (w[t].ended || w[t].at)
                continue;
            if (!run_blocks(&threads[t], &none))
                return false;
            w[t].ended = !w[t].at;
            left -= w[t].ended;
        }
        if (left > 0 && !tr_interp_meet(w, n, &why, &who))
            return tr_irun_fault(&threads[who], w[who].at, why);
    }
    return true;
}

static bool launch(tr_interp *in, const tr_fn *f, const tr_slot *args) {
    size_t n = (size_t)(size_of(in->block, 0) * size_of(in->block, 1) * size_of(in->block, 2));
    tr_irun *threads = TR_NEW_N(&in->ctx->arena, tr_irun, n);
    tr_iwait *wait = TR_NEW_N(&in->ctx->arena, tr_iwait, n);
    memset(in->at, 0, sizeof in->at);
    do {
        in->shared = TR_NEW(&in->ctx->arena, struct tr_istore);
        for (size_t t = 0; t < n; t++) {
            threads[t] = tr_irun_begin(in, f);
            wait[t] = (tr_iwait){0};
            threads[t].wait = &wait[t];
            take_args(&threads[t], args);
        }
        if (!run_block(threads, wait, n))
            return false;
    } while (next_place(in->at + 3, in->grid));
    return true;
}

/* By a function of the host: the sizes come first. A grid of none runs nothing. */
static bool launch_with(tr_irun *r, const tr_fn *f, const tr_slot *args) {
    for (unsigned k = 0; k < 6; k++)
        if (args[k].i <= 0)
            return true;
    for (unsigned k = 0; k < 3; k++) {
        r->in->grid[k] = args[k].i;
        r->in->block[k] = args[3 + k].i;
    }
    r->in->dynamic = args[6].i;
    return launch(r->in, f, args + TR_LAUNCH_SIZES);
}

bool tr_ir_interp(tr_interp *in, const tr_fn *f, const tr_slot *args, tr_slot *ret) {
    in->site = NULL;
    in->fault = NULL;
    in->npayload = 0;
    if (f->kind == TR_FN_KERNEL && f->stage == S_T)
        return launch(in, f, args);
    return run_fn(in, f, args, ret);
}
