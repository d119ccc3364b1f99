/* The interpreter's control flow, memory, checks, calls and patterns. What numbers come to is interp_ops.c's.
 * Long, as what runs is one state, a function with its values and its way: each op is a few
 * lines that change it. */
#include "ir/interp.h"

#include <assert.h>
#include <string.h>

#include "base/meet.h"
#include "ir/interp_ops.h"
#include "ir/nest.h"
#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "ir/summary.h"

enum { MAX_DEPTH = 500, MAX_BYTES = 1 << 30, MAX_PARTS = 256 };

/* A function while it runs. */
typedef struct run {
    tr_interp *in;
    const tr_fn *f;
    tr_slot **vals; /* per value its parts */
    tr_iwait *wait; /* of a kernel's thread: it stops where threads meet, and goes on from there: */
    tr_bid blk;
    tr_val next; /* TR_NOVAL: from the block's beginning */
} run;

static bool run_fn(tr_interp *in, const tr_fn *f, const tr_slot *args, tr_slot *ret);
static run begin(tr_interp *in, const tr_fn *f);
static bool run_with(run *r, const tr_slot *args, tr_slot *ret);

static bool fault(run *r, const tr_ins *i, const char *text) {
    r->in->fault = text;
    r->in->place = tr_fn_place(r->f, i ? i->loc : 0);
    return false;
}

static const tr_ty *type_of(const run *r, tr_val v) {
    return tr_at(r->f, v)->ty;
}

static tr_slot *parts_for(run *r, tr_val v) {
    assert(v < r->f->ins.n);
    if (!r->vals[v])
        r->vals[v] = TR_NEW_N(&r->in->ctx->arena, tr_slot, tr_ty_nparts(type_of(r, v)) + 2u);
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

static const tr_slot *value(run *r, tr_val v) {
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

static const tr_slot *arg(run *r, const tr_ins *i, uint32_t n) {
    assert(n < i->nargs);
    return value(r, i->args[n]);
}

static const tr_ty *arg_type(run *r, const tr_ins *i, uint32_t n) {
    return type_of(r, i->args[n]);
}

static void copy_parts(const tr_ty *t, tr_slot *to, const tr_slot *from) {
    memcpy(to, from, tr_ty_nparts(t) * sizeof *to);
}

/* --- arrays --- */

static int64_t dim(const tr_slot *a, unsigned k) {
    return a[2 + k].i;
}

static int64_t stride(const tr_ty *t, const tr_slot *a, unsigned k) {
    assert(t->kind == TR_TY_ARRAY && k < t->ndim);
    if (t->layout == TR_LAYOUT_ANY)
        return a[2 + t->ndim + k].i;
    int64_t s = 1;
    if (t->layout == TR_LAYOUT_C)
        for (unsigned j = k + 1; j < t->ndim; j++)
            s *= dim(a, j);
    else
        for (unsigned j = 0; j < k; j++)
            s *= dim(a, j);
    return s;
}

/* Address of an element; NULL when an index is out of range, which no correct program reaches. */
static void *element(const tr_ty *t, const tr_slot *a, const int64_t *idx) {
    assert(t->kind == TR_TY_ARRAY);
    int64_t off = 0;
    for (unsigned k = 0; k < t->ndim; k++) {
        if (idx[k] < 0 || idx[k] >= dim(a, k))
            return NULL;
        off += idx[k] * stride(t, a, k);
    }
    return a[1].p ? (char *)a[1].p + off * (int64_t)tr_ty_unit(t) : NULL;
}

/* The same for an input of a pattern, whose axes of extent 1 repeat. */
static void *input_element(const tr_ty *t, const tr_slot *a, const int64_t *idx) {
    int64_t at[TR_MAX_NDIM + 1];
    for (unsigned k = 0; k < t->ndim; k++)
        at[k] = dim(a, k) == 1 ? 0 : idx[k];
    return element(t, a, at);
}

static void *element_of(run *r, const tr_ins *i) {
    const tr_ty *t = arg_type(r, i, 0);
    int64_t idx[TR_MAX_NDIM];
    for (unsigned k = 0; k < t->ndim; k++)
        idx[k] = arg(r, i, 1 + k)->i;
    return element(t, arg(r, i, 0), idx);
}

/* Wraps: an array without items may have any distances. */
static int64_t times(int64_t x, int64_t y) {
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

static void view(run *r, const tr_ins *i, tr_slot *out) {
    const tr_slot *base = arg(r, i, 0);
    const tr_ty *from = arg_type(r, i, 0), *t = i->ty;
    uint32_t nbase = tr_view_nbase(i), n = t->ndim;
    int64_t off = 0;
    for (uint32_t k = 0; k < nbase; k++)
        off += times(arg(r, i, 1 + k)->i, stride(from, base, k));
    out[0] = base[0];
    out[1].p = (char *)base[1].p + times(off, tr_ty_unit(t));
    for (uint32_t k = 0; k < n; k++) {
        int of = tr_view_axis(i, k);
        out[2 + k].i = arg(r, i, 1 + nbase + k)->i;
        if (t->layout == TR_LAYOUT_ANY)
            out[2 + n + k].i =
                of < 0 ? 0 : times(arg(r, i, 1 + nbase + n + k)->i, stride(from, base, (unsigned)of));
    }
}

static void restride(run *r, const tr_ins *i, tr_slot *out) {
    const tr_slot *base = arg(r, i, 0);
    out[0] = base[0];
    out[1].p = (char *)base[1].p + arg(r, i, 1)->i * (int64_t)tr_ty_unit(i->ty);
    for (uint32_t k = 2; k < i->nargs; k++)
        out[k].i = arg(r, i, k)->i;
}

static void field(run *r, const tr_ins *i, tr_slot *out) {
    const tr_slot *base = arg(r, i, 0);
    const tr_ty *from = arg_type(r, i, 0), *s = from->elem, *t = i->ty;
    bool one = (uint64_t)i->imm.i < s->n;
    int64_t unit = tr_ty_unit(t), by = tr_ty_size(t->elem) / unit;
    out[0] = base[0];
    out[1].p = (char *)base[1].p + (one ? tr_ty_field(s, (uint32_t)i->imm.i).offset : 0);
    for (uint32_t k = 0; k < t->ndim; k++)
        out[2 + k].i = arg(r, i, 1 + k)->i;
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
        int64_t far = (dim(a, k) - 1) * stride(t, a, k) * unit;
        if (dim(a, k) <= 0)
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
static bool side_by_side(run *r, const tr_ins *i) {
    const tr_slot *a[2];
    int64_t by[2], size[2];
    for (uint32_t k = 0; k < 2; k++) {
        const tr_ty *t = arg_type(r, i, k);
        if (t->ndim != 1 || t->layout != TR_LAYOUT_ANY)
            return false;
        a[k] = arg(r, i, k);
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

static bool overlap(run *r, const tr_ins *i) {
    char *a, *b, *c, *d;
    return span(arg_type(r, i, 0), arg(r, i, 0), &a, &b) && span(arg_type(r, i, 1), arg(r, i, 1), &c, &d) &&
           a < d && c < b && !side_by_side(r, i);
}

/* n: room for sizes and strides. */
static tr_extent extent_of(run *r, const tr_ins *i, uint32_t k, int64_t *n) {
    const tr_ty *t = arg_type(r, i, k);
    const tr_slot *a = arg(r, i, k);
    for (unsigned d = 0; d < t->ndim; d++) {
        n[d] = dim(a, d);
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

static bool meet(run *r, const tr_ins *i) {
    int64_t n[TR_MEET_MAX][2 * TR_MAX_NDIM + 2];
    tr_extent e[TR_MEET_MAX];
    assert(i->nargs <= TR_MEET_MAX);
    for (uint32_t k = 0; k < i->nargs; k++)
        e[k] = extent_of(r, i, k, n[k]);
    return tr_some_meet(e, i->nargs, i->imm.i & 255, (uint64_t)i->imm.i >> 8);
}

static bool apart(run *r, const tr_ins *i) {
    const tr_slot *a = arg(r, i, 0), *b = arg(r, i, 1);
    const tr_ty *t = arg_type(r, i, 0), *u = arg_type(r, i, 1);
    bool same = t->ndim == u->ndim && t->elem == u->elem && a[1].p == b[1].p;
    for (unsigned k = 0; k < t->ndim && same; k++)
        same = dim(a, k) == dim(b, k) && stride(t, a, k) == stride(u, b, k);
    return same || !overlap(r, i);
}

/* --- exceptions --- */

static bool raise_site(run *r, const tr_ins *i, uint32_t first) {
    tr_interp *in = r->in;
    uint32_t slots = 0;
    in->site = i->imm.site;
    in->place = tr_fn_place(r->f, i->loc);
    in->npayload = 0;
    for (uint32_t n = first; n < i->nargs && in->npayload < TR_FRAME_PAYLOAD; n++) {
        unsigned parts = tr_ty_nparts(arg_type(r, i, n));
        if (slots + parts > TR_FRAME_PAYLOAD)
            break;
        memcpy(in->payload + slots, arg(r, i, n), parts * sizeof *in->payload);
        in->payload_ty[in->npayload++] = arg_type(r, i, n);
        slots += parts;
    }
    return false;
}

/* What is in flight becomes a value: its class, and which it is. */
static void catch_site(run *r, tr_slot *out) {
    tr_interp *in = r->in;
    struct tr_icaught c = {.site = in->site, .npayload = in->npayload, .place = in->place};
    memcpy(c.payload, in->payload, sizeof c.payload);
    memcpy(c.payload_ty, in->payload_ty, sizeof c.payload_ty);
    out->i = (int64_t)((uint64_t)c.site->exc << TR_CAUGHT_SHIFT | in->caught.n);
    tr_vec_push(&in->ctx->arena, &in->caught, c);
    in->site = NULL;
}

static bool raise_again(run *r, const tr_slot *x) {
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
static const tr_site *bad_size(run *r, const tr_ins *i) {
    static const tr_site negative = {TR_EXC_VALUE, "negative dimensions are not allowed", -1, NULL};
    static const tr_site too_big = {TR_EXC_VALUE, TR_TOO_BIG, -1, NULL};
    int64_t room = INT64_MAX / (int64_t)tr_ty_size(i->ty->elem);
    for (uint32_t k = 0; k < i->nargs; k++)
        if (arg(r, i, k)->i < 0)
            return &negative;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (arg(r, i, k)->i)
            room /= arg(r, i, k)->i;
    return room ? NULL : &too_big;
}

static bool alloc(run *r, const tr_ins *i, tr_slot *out) {
    int64_t bytes = tr_ty_size(i->ty->elem);
    const tr_site *bad = bad_size(r, i);
    for (uint32_t k = 0; !bad && k < i->nargs; k++) {
        out[2 + k].i = arg(r, i, k)->i;
        bytes *= arg(r, i, k)->i;
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

/* --- calls --- */

/* Bytes of the arrays that a value is, or holds; an axis that repeats its first item has one. */
static uint64_t bytes_in(const tr_ty *t, const tr_slot *x) {
    uint64_t bytes = 0;
    if (t && t->kind == TR_TY_ARRAY) {
        bytes = (uint64_t)tr_ty_size(t->elem);
        for (unsigned k = 0; k < t->ndim; k++)
            bytes *= (uint64_t)(dim(x, k) > 1 && stride(t, x, k) == 0 ? 1 : dim(x, k));
    }
    for (uint32_t k = 0; t && t->kind == TR_TY_TUPLE && k < t->n; x += tr_ty_nparts(t->items[k++]))
        bytes += bytes_in(t->items[k], x);
    return bytes;
}

static bool spans_meet(run *r, const tr_ins *i, uint32_t k, uint32_t n) {
    char *a, *b, *c, *d;
    return span(arg_type(r, i, k), arg(r, i, k), &a, &b) && span(arg_type(r, i, n), arg(r, i, n), &c, &d) &&
           a < d && c < b;
}

/* A number that changes with what a row of the runtime is given to read, and nothing else stores to. */
static uint64_t left_alone(run *r, const tr_ins *i) {
    uint64_t sum = 0;
    for (uint32_t k = 0; k < i->nargs; k++) {
        char *lo, *hi;
        bool only_read = tr_call_memory(r->f, i, k) == TR_MEM_READ;
        for (uint32_t n = 0; n < i->nargs && only_read; n++)
            only_read = !(tr_call_memory(r->f, i, n) & TR_MEM_WRITE) || !spans_meet(r, i, k, n);
        if (only_read && span(arg_type(r, i, k), arg(r, i, k), &lo, &hi))
            for (; lo < hi; lo++)
                sum = sum * 31 + (uint8_t)*lo;
    }
    return sum;
}

/* A call moves what it is given and gives, whatever it does inside: `read` and `written` are from before. */
static void count_call(run *r, const tr_ins *i, const tr_slot *out, uint64_t read, uint64_t written) {
    r->in->read = read;
    r->in->written = written;
    if (r->in->patterns)
        return;
    for (uint32_t k = 0; k < i->nargs; k++) {
        uint8_t memory = tr_call_memory(r->f, i, k);
        uint64_t bytes = memory ? bytes_in(arg_type(r, i, k), arg(r, i, k)) : 0;
        r->in->read += memory & TR_MEM_READ ? bytes : 0;
        r->in->written += memory & TR_MEM_WRITE ? bytes : 0;
    }
    r->in->written += bytes_in(i->ty, out);
}

static bool launch_with(run *r, const tr_fn *f, const tr_slot *args);

static bool call(run *r, const tr_ins *i, tr_slot *out) {
    tr_interp *in = r->in;
    if (!in->prog || i->imm.fn >= in->prog->insts.n || !in->prog->insts.d[i->imm.fn].fn)
        return fault(r, i, "calls an instance that is not in the program");
    tr_slot args[MAX_PARTS];
    unsigned n = 0;
    for (uint32_t k = 0; k < i->nargs; k++) {
        unsigned parts = tr_ty_nparts(arg_type(r, i, k));
        if (n + parts > MAX_PARTS)
            return fault(r, i, "too many arguments for the interpreter");
        memcpy(args + n, arg(r, i, k), parts * sizeof *args);
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

static bool callrt(run *r, const tr_ins *i, tr_slot *out) {
    const tr_rtinfo *row = &tr_rt_info[i->imm.rt->row];
    void *sym = r->in->symbol ? r->in->symbol(row->symbol) : NULL;
    int64_t a[INT_ARGS + 1] = {0};
    double d[6] = {0}, pair[2] = {0};
    unsigned na = 0, nd = 0, k = 0, part = 0;
    if (!sym)
        return fault(r, i, "the run-time function is not linked");
    if (strlen(row->sig) > INT_ARGS + 3) /* loops of ufuncs, whose tables the interpreter has not either */
        return fault(r, i, "the run-time function takes more than the interpreter passes");
    for (const char *p = row->sig + 2; *p && *p != ')' && na < INT_ARGS && nd < 5; p++) {
        if (*p == 'F') {
            a[na++] = (int64_t)(intptr_t)r->in->frame;
            continue;
        }
        if (*p == 's') {
            a[na++] = (int64_t)(intptr_t)i->imm.rt->text;
            continue;
        }
        const tr_ty *t = arg_type(r, i, k);
        const tr_slot *s = arg(r, i, k) + part;
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
    } else if (res != 'v') {
        out->i = res == 'b' ? (x & 0xff) != 0 : x;
    }
    return true;
}

static bool call_row(run *r, const tr_ins *i, tr_slot *out) {
    uint64_t before = left_alone(r, i);
    if (!callrt(r, i, out))
        return false;
    if (left_alone(r, i) != before)
        return fault(r, i, "stores to an array that it is to read, says its signature");
    count_call(r, i, out, r->in->read, r->in->written);
    return true;
}

/* --- patterns --- */

/* A scan by groups (scans.c): left: the sum of the half before an element, at each level of the tree; then of
 * the groups before in the block; before: the value before the block. */
enum { LEVELS = 3 };
typedef struct groups {
    tr_slot left[LEVELS][2], total[2], before[2];
} groups;

/* One of the elements that are chosen: its key, and what was yielded for each of the arrays. */
typedef struct chosen {
    tr_slot key[2], (*gives)[2];
} chosen;
/* A reduction by a function (tr_pat): the block that comes in, and joined blocks, one per bit of how many
 * there are. */
enum { JOIN_LEVELS = 64 };
typedef struct joining {
    run by;
    unsigned nparts, fill;
    tr_slot *block, *level;
    uint64_t count;
    /* Of a scan by blocks (scans.c): the value before the block of TR_JOIN_BLOCK, and the smaller blocks
     * since, if there are any, as one; `level` and `count` are of the items of the smaller block. */
    bool blocks, some;
    tr_slot *before, *done, *last; /* last: the item before */
} joining;

typedef struct space {
    run *r;
    const tr_ins *i;
    const tr_pat *p;
    run lam, epi;         /* kept from point to point: a lambda has no state of its own */
    groups *groups;       /* per scan; NULL: they do not go by blocks */
    run after;            /* then: the lambda that is given values after the element, too */
    tr_slot (*values)[2]; /* and these */
    tr_slot *acc[MAX_PARTS], *accs;
    tr_slot best[MAX_PARTS][2];
    const tr_ty *best_ty[MAX_PARTS]; /* NULL: nothing seen yet */
    joining *joining;                /* per reduction; NULL: none is by a function */
    run *scattering;                 /* per target, the function that joins; NULL: there is none */
    int64_t flat;
    chosen *top; /* the best so far, in their order; the next element behind them */
    int64_t ntop;
    unsigned axis[TR_MAX_NDIM]; /* order of the loops: kept axes first */
    const void **met;           /* a hash table of items that were read, each with its operand's value */
    uint32_t nmet, roommet;
} space;

typedef struct row {
    tr_slot v[MAX_PARTS];
    unsigned n;
} row;

static bool add_parts(space *s, row *to, const tr_slot *v, unsigned n) {
    if (to->n + n > MAX_PARTS)
        return fault(s->r, s->i, "too many values for the interpreter");
    memcpy(to->v + to->n, v, n * sizeof *v);
    to->n += n;
    return true;
}

/* Whether the item is read for the first time, as one of this operand. */
static bool is_new(space *s, const void *at, tr_val of) {
    tr_arena *a = &s->r->in->ctx->arena;
    if (2 * s->nmet >= s->roommet) {
        const void **old = s->met;
        uint32_t n = s->roommet;
        s->roommet = n ? 2 * n : 64;
        s->met = TR_NEW_N(a, const void *, 2u * s->roommet);
        memset((void *)s->met, 0, 2u * s->roommet * sizeof *s->met);
        s->nmet = 0;
        for (uint32_t k = 0; k < n; k++)
            if (old[2 * k])
                is_new(s, old[2 * k], (tr_val)(uintptr_t)old[2 * k + 1]);
    }
    for (uint32_t k = (uint32_t)((uintptr_t)at >> 1) * 2654435769u + of;; k++) {
        const void **e = &s->met[2 * (k & (s->roommet - 1))];
        if (e[0] == at && (tr_val)(uintptr_t)e[1] == of)
            return false;
        if (!e[0]) {
            e[0] = at;
            e[1] = (const void *)(uintptr_t)of;
            s->nmet++;
            return true;
        }
    }
}

/* What one of the functions takes for operand k of g. */
static bool take(space *s, const tr_ports *g, unsigned fn, uint32_t k, const int64_t *idx, row *to) {
    const tr_ty *t = arg_type(s->r, s->i, g->arg + k);
    tr_slot x[2];
    void *at;
    switch ((tr_porttakes)g->is->takes[fn]) {
    case TR_TAKES_NONE: break;
    case TR_TAKES_INDEX: return add_parts(s, to, &(tr_slot){.i = idx[k]}, 1);
    case TR_TAKES_ITEM:
        if (!(at = input_element(t, arg(s->r, s->i, g->arg + k), idx)))
            return fault(s->r, s->i, "an input of the pattern is smaller than its space");
        tr_interp_load(t->elem, at, x);
        if (is_new(s, at, s->i->args[g->arg + k]) && s->r->in->patterns == 1)
            s->r->in->read += tr_ty_size(t->elem);
        return add_parts(s, to, x, tr_ty_nparts(t->elem));
    case TR_TAKES_VALUE: /* of what is reduced, as it stands */
        return add_parts(
            s, to, g->is->join ? s->acc[g->arg + k - tr_pat_at(s->p, P_SCAN)] : arg(s->r, s->i, g->arg + k),
            tr_ty_nparts(t));
    }
    return true;
}

static bool store_element(space *s, uint32_t k, const int64_t *idx, const tr_slot **y) {
    const tr_ty *t = arg_type(s->r, s->i, k);
    void *at = element(t, arg(s->r, s->i, k), idx);
    if (!at)
        return fault(s->r, s->i, "an output of the pattern is smaller than its space");
    tr_interp_store(t->elem, at, *y);
    *y += tr_ty_nparts(t->elem);
    return true;
}

static bool has_room(const space *s) {
    int64_t n = INT64_MAX;
    for (uint32_t k = tr_pat_at(s->p, P_PACK); k < tr_pat_at(s->p, P_PACK + 1); k++)
        n = dim(arg(s->r, s->i, k), 0) < n ? dim(arg(s->r, s->i, k), 0) : n;
    return s->acc[0]->i < n - 1;
}

static void add_to(space *s, const tr_ty *t, tr_slot *sum, const tr_slot *left) {
    tr_slot x[2];
    copy_parts(t, x, left);
    tr_interp_reduce(s->r->in, TR_RED_ADD, t, x, sum);
    copy_parts(t, sum, x);
}

/* The value after the element, of what it contributes. */
static void step_group(space *s, uint32_t k, const tr_ty *t, const tr_slot *x, tr_slot *out) {
    groups *g = &s->groups[k];
    _Static_assert(TR_SCAN_GROUP == 1 << LEVELS, "a level for each bit of the place in a group");
    if (s->flat % TR_SCAN_BLOCK == 0)
        copy_parts(t, g->before, s->acc[k]);
    copy_parts(t, out, x);
    for (unsigned l = 0; l < LEVELS; l++) {
        if (s->flat >> l & 1)
            add_to(s, t, out, g->left[l]);
        else /* as long as the left half is not whole, it becomes longer */
            copy_parts(t, g->left[l], out);
    }
    if (s->flat % TR_SCAN_BLOCK >= TR_SCAN_GROUP)
        add_to(s, t, out, g->total);
    if (s->flat % TR_SCAN_GROUP == TR_SCAN_GROUP - 1)
        copy_parts(t, g->total, out);
    add_to(s, t, out, g->before);
}

/* Runs the lambda again, which is given the values after the element: these in s->values. */
static bool run_after(space *s, row *in, tr_slot *out) {
    const tr_pat *p = s->p;
    const tr_ins *yield = tr_pat_yield(p->lam);
    const tr_slot *y = out;
    for (uint32_t k = 0; k < tr_pat_slot(p, TR_LAM, P_SCAN); k++)
        y += tr_ty_nparts(tr_at(p->lam, yield->args[k])->ty);
    for (uint32_t k = 0; k < p->nscan; k++) {
        const tr_ty *t = tr_at(p->lam, yield->args[tr_pat_slot(p, TR_LAM, P_SCAN) + k])->ty;
        copy_parts(t, s->values[k], y);
        if (tr_pat_scan_in_groups(p, k))
            step_group(s, k, t, y, s->values[k]);
        if (!add_parts(s, in, s->values[k], tr_ty_nparts(t)))
            return false;
        y += tr_ty_nparts(t);
    }
    uint64_t read = s->r->in->read;
    bool ok = run_with(&s->after, in->v, out);
    s->r->in->read = read; /* what it loads has been loaded */
    return ok;
}

static bool is_joined(const space *s, uint32_t k) {
    return s->joining && s->joining[k].nparts;
}

/* out: x and y, of n parts, as one by a function; out may be x. */
static bool join_by(space *s, run *by, unsigned n, const tr_slot *x, const tr_slot *y, tr_slot *out) {
    row in = {.n = 0};
    if (!add_parts(s, &in, x, n) || !add_parts(s, &in, y, n))
        return false;
    for (uint32_t c = tr_pat_at(s->p, P_CAP); c < tr_pat_at(s->p, P_CAP + 1); c++)
        if (!add_parts(s, &in, arg(s->r, s->i, c), tr_ty_nparts(arg_type(s->r, s->i, c))))
            return false;
    return run_with(by, in.v, out);
}

/* The same of reduction k. */
static bool join_two(space *s, uint32_t k, const tr_slot *x, const tr_slot *y, tr_slot *out) {
    return join_by(s, &s->joining[k].by, s->joining[k].nparts, x, y, out);
}

/* A block as one value, its first: neighbours in pairs, and these in pairs; one without a neighbour goes
 * on. */
static bool join_block(space *s, uint32_t k) {
    joining *j = &s->joining[k];
    size_t n = j->nparts;
    for (unsigned left = j->fill; left > 1; left = (left + 1) / 2) {
        for (unsigned i = 0; i < left / 2; i++)
            if (!join_two(s, k, j->block + 2 * i * n, j->block + (2 * i + 1) * n, j->block + i * n))
                return false;
        if (left % 2)
            memmove(j->block + left / 2 * n, j->block + (left - 1) * n, n * sizeof *j->block);
    }
    return true;
}

/* A value for reduction k; where the block is whole it is joined with those before it that are as long. */
static bool add_joined(space *s, uint32_t k, const tr_slot *x) {
    joining *j = &s->joining[k];
    size_t n = j->nparts;
    memcpy(j->block + j->fill++ * n, x, n * sizeof *x);
    if (j->fill < TR_SUM_BLOCK)
        return true;
    if (!join_block(s, k))
        return false;
    unsigned l = 0;
    for (; j->count >> l & 1; l++)
        if (!join_two(s, k, j->level + l * n, j->block, j->block))
            return false;
    memcpy(j->level + l * n, j->block, n * sizeof *x);
    j->count++;
    j->fill = 0;
    return true;
}

/* What stands before an element of a scan by blocks: in a group, what stood before the last one and that. */
static bool stand_before(space *s) {
    joining *j = &s->joining[0];
    size_t n = j->nparts;
    if (s->flat % TR_JOIN_GROUP != 0)
        return join_two(s, 0, s->acc[0], j->last, s->acc[0]);
    memcpy(s->acc[0], j->before, n * sizeof *j->before);
    if (j->some && !join_two(s, 0, s->acc[0], j->done, s->acc[0]))
        return false;
    for (unsigned l = JOIN_LEVELS; l-- > 0;)
        if (j->count >> l & 1 && !join_two(s, 0, s->acc[0], j->level + l * n, s->acc[0]))
            return false;
    return true;
}

/* The smaller block, of j->count items, is one of those that are done. */
static bool end_small_block(space *s) {
    joining *j = &s->joining[0];
    size_t n = j->nparts;
    bool any = false;
    for (unsigned l = 0; l < JOIN_LEVELS && j->count >> l; l++) {
        if (!(j->count >> l & 1))
            continue;
        if (!any)
            memcpy(j->block, j->level + l * n, n * sizeof *j->block);
        else if (!join_two(s, 0, j->level + l * n, j->block, j->block))
            return false;
        any = true;
    }
    j->count = 0;
    if (!any)
        return true;
    if (j->some)
        return join_two(s, 0, j->done, j->block, j->done);
    memcpy(j->done, j->block, n * sizeof *j->block);
    j->some = true;
    return true;
}

static bool end_large_block(space *s) {
    joining *j = &s->joining[0];
    if (!end_small_block(s) || (j->some && !join_two(s, 0, j->before, j->done, j->before)))
        return false;
    j->some = false;
    return true;
}

static bool add_scanned(space *s, const tr_slot *x) {
    joining *j = &s->joining[0];
    size_t n = j->nparts;
    unsigned l = 0;
    memcpy(j->block, x, n * sizeof *x);
    memcpy(j->last, x, n * sizeof *x);
    for (; j->count >> l & 1; l++)
        if (!join_two(s, 0, j->level + l * n, j->block, j->block))
            return false;
    memcpy(j->level + l * n, j->block, n * sizeof *x);
    j->count++;
    if ((s->flat + 1) % TR_JOIN_BLOCK == 0)
        return end_large_block(s);
    return (s->flat + 1) % TR_SUM_BLOCK != 0 || end_small_block(s);
}

/* The last block, which may be empty, then those before it, and the initial value before all. */
static bool end_joined(space *s, uint32_t k) {
    joining *j = &s->joining[k];
    size_t n = j->nparts;
    bool any = j->fill > 0;
    if (!join_block(s, k))
        return false;
    for (unsigned l = 0; l < JOIN_LEVELS && j->count >> l; l++) {
        if (!(j->count >> l & 1))
            continue;
        if (!any)
            memcpy(j->block, j->level + l * n, n * sizeof *j->block);
        else if (!join_two(s, k, j->level + l * n, j->block, j->block))
            return false;
        any = true;
    }
    return !any || join_two(s, k, s->acc[k], j->block, s->acc[k]);
}

static bool end_reds(space *s) {
    if (s->joining && s->joining[0].blocks) {
        if (!end_large_block(s))
            return false;
        memcpy(s->acc[0], s->joining[0].before, s->joining[0].nparts * sizeof(tr_slot));
        return true;
    }
    for (uint32_t k = s->p->nscan; k < tr_pat_nred(s->p); k++)
        if (is_joined(s, k) && !end_joined(s, k))
            return false;
    return true;
}

/* Reduction k has one more value. */
static bool reduce(space *s, uint32_t k, const tr_slot **y) {
    tr_redk how = tr_pat_red(s->p, k);
    uint32_t at = tr_pat_slot(s->p, TR_LAM, P_SCAN) + k;
    const tr_ty *t = tr_at(s->p->lam, tr_pat_yield(s->p->lam)->args[at])->ty;
    if (s->groups && k < s->p->nscan && tr_pat_scan_in_groups(s->p, k)) {
        copy_parts(t, s->acc[k], s->values[k]);
    } else if (is_joined(s, k)) {
        if (!(s->joining[k].blocks ? add_scanned(s, *y)
              : k < s->p->nscan    ? join_two(s, k, s->acc[k], *y, s->acc[k])
                                   : add_joined(s, k, *y)))
            return false;
    } else if (!tr_red_info[how].place) {
        tr_interp_reduce(s->r->in, how, t, s->acc[k], *y);
    } else if (!s->best_ty[k] || tr_interp_better(how, t, s->best[k], *y)) {
        s->best_ty[k] = t;
        memcpy(s->best[k], *y, tr_ty_nparts(t) * sizeof **y);
        s->acc[k]->i = s->flat;
    }
    *y += tr_ty_nparts(t);
    return true;
}

/* One value for a target, at the indices before it. */
static bool scatter_element(space *s, uint32_t to, const tr_slot **y) {
    const tr_ty *t = arg_type(s->r, s->i, to);
    unsigned how = tr_pat_join(s->p, to)->how;
    int64_t idx[TR_MAX_NDIM + 1];
    for (unsigned x = 0; x < t->ndim; x++)
        idx[x] = ((*y)++)->i;
    void *at = element(t, arg(s->r, s->i, to), idx);
    tr_slot old[2];
    if (!at)
        return fault(s->r, s->i, "scatters outside of an array");
    if (how != TR_SCATTER_PUT) {
        tr_interp_load(t->elem, at, old);
        if (!tr_red_info[how].joins)
            tr_interp_reduce(s->r->in, (tr_redk)how, t->elem, old, *y);
        else if (!join_by(s, &s->scattering[to - tr_pat_at(s->p, P_SCAT)], tr_ty_nparts(t->elem), old, *y,
                          old))
            return false;
        s->r->in->read += s->r->in->patterns == 1 ? tr_ty_size(t->elem) : 0;
    }
    s->r->in->written += s->r->in->patterns == 1 ? tr_ty_size(t->elem) : 0;
    tr_interp_store(t->elem, at, how == TR_SCATTER_PUT ? *y : old);
    *y += tr_ty_nparts(t->elem);
    return true;
}

/* --- what is chosen --- */

/* Does the element of key x go before one that comes before it, of key y? */
static bool goes_before(tr_topk how, const tr_ty *t, const tr_slot *x, const tr_slot *y) {
    bool nan = !tr_interp_cmp(TR_CMP_EQ, t, x, x), other = !tr_interp_cmp(TR_CMP_EQ, t, y, y);
    if (nan || other)
        return how == TR_TOP_LARGEST ? !other : !nan;
    return tr_interp_cmp(how == TR_TOP_SMALLEST ? TR_CMP_LT : TR_CMP_GT, t, x, y);
}

static int64_t top_size(const space *s) {
    return arg(s->r, s->i, tr_pat_at(s->p, P_TOP))->i;
}

/* Room for k elements and one more. */
static bool begin_top(space *s) {
    tr_arena *a = &s->r->in->ctx->arena;
    int64_t k = top_size(s);
    unsigned axis = s->axis[s->p->nspace - 1];
    if (k < 0 || k > arg(s->r, s->i, axis)->i)
        return fault(s->r, s->i, "chooses more than there is");
    s->top = tr_arena_alloc(a, ((size_t)k + 1) * sizeof *s->top);
    for (int64_t i = 0; i <= k; i++)
        s->top[i].gives = tr_arena_alloc(a, (s->p->nbest + 1u) * sizeof *s->top[i].gives);
    return true;
}

/* The element of this key, whose other values are held, takes its place among the best. */
static void choose(space *s, const tr_slot **y) {
    const tr_ty *t = tr_at(s->p->lam, tr_pat_yield(s->p->lam)->args[tr_pat_slot(s->p, TR_LAM, P_TOP)])->ty;
    chosen next = s->top[s->ntop];
    int64_t at = s->ntop;
    copy_parts(t, next.key, *y);
    for (; at > 0 && goes_before(tr_pat_top(s->p), t, next.key, s->top[at - 1].key); at--)
        s->top[at] = s->top[at - 1];
    s->top[at] = next;
    s->ntop += s->ntop < top_size(s);
    *y += tr_ty_nparts(t);
}

static bool store_best(space *s, const int64_t *idx) {
    int64_t at[TR_MAX_NDIM + 1];
    unsigned n = 0;
    for (unsigned k = 0; k < s->p->nspace; k++)
        if (s->p->keep >> k & 1)
            at[n++] = idx[k];
    for (int64_t k = 0; k < s->ntop; k++)
        for (uint32_t b = 0; b < s->p->nbest; b++) {
            uint32_t to = tr_pat_at(s->p, P_BEST) + b;
            const tr_slot *y = s->top[k].gives[b];
            at[n] = k;
            if (!store_element(s, to, at, &y))
                return false;
            if (s->r->in->patterns == 1)
                s->r->in->written += tr_ty_size(arg_type(s->r, s->i, to)->elem);
        }
    return true;
}

/* What becomes of what was yielded for operand k of g. */
static bool give(space *s, const tr_ports *g, uint32_t k, const int64_t *idx, const tr_slot **y) {
    switch ((tr_role)g->role) {
    case P_OUT:
    case P_EOUT:
        if (s->r->in->patterns == 1)
            s->r->in->written += tr_ty_size(arg_type(s->r, s->i, g->arg + k)->elem);
        return store_element(s, g->arg + k, idx, y);
    case P_PACK:
        return store_element(s, g->arg + k, &s->acc[0]->i, y); /* where the scan stands, wanted or not */
    case P_BEST:
        copy_parts(arg_type(s->r, s->i, g->arg + k)->elem, s->top[s->ntop].gives[k], *y);
        *y += tr_ty_nparts(arg_type(s->r, s->i, g->arg + k)->elem);
        return true;
    case P_TOP: choose(s, y); return true;
    case P_SCAN:
    case P_RED: return reduce(s, g->arg + k - tr_pat_at(s->p, P_SCAN), y);
    case P_SCAT: return scatter_element(s, g->arg + k, y);
    default: return fault(s->r, s->i, "nothing is yielded for such an operand");
    }
}

/* One of the functions at one point: gather its params, run it, spread what it yields. */
static bool run_at(space *s, unsigned fn, const int64_t *idx) {
    const tr_pat *p = s->p;
    row in = {.n = 0};
    tr_slot out[MAX_PARTS];
    const tr_slot *y = out;
    for (tr_ports g = tr_ports_of(p, fn); tr_ports_left(&g); tr_ports_next(p, fn, &g))
        for (uint32_t k = 0; k < g.n; k++)
            if (!take(s, &g, fn, k, idx, &in))
                return false;
    if (!run_with(fn == TR_EPI ? &s->epi : &s->lam, in.v, out) ||
        (fn == TR_LAM && s->groups && !run_after(s, &in, out)))
        return false;
    if (fn == TR_LAM &&
        tr_term(p->lam, 0)->op != TR_OP_YIELD) /* its loads have not been counted one by one */
        s->r->in->read += (uint64_t)tr_fn_moves(p->lam, TR_OP_LOAD);
    for (tr_ports g = tr_ports_of(p, fn); tr_ports_left(&g); tr_ports_next(p, fn, &g)) {
        for (uint32_t k = 0; g.is->gives[fn] && k < g.n; k++)
            if (!give(s, &g, k, idx, &y))
                return false;
        if (g.role == P_PACK && g.n && !has_room(s)) /* what comes next counts, and is this round's own */
            out[y - out].i = 0;
    }
    return true;
}

static bool point(space *s, const int64_t *idx) {
    if ((s->joining && s->joining[0].blocks && !stand_before(s)) || !run_at(s, TR_LAM, idx))
        return false;
    s->flat++;
    return true;
}

/* The reductions begin. */
static void begin_reds(space *s) {
    tr_slot *at = s->accs;
    for (uint32_t k = 0; k < tr_pat_nred(s->p); k++) {
        uint32_t which = tr_pat_at(s->p, P_SCAN) + k;
        s->acc[k] = at;
        copy_parts(arg_type(s->r, s->i, which), at, arg(s->r, s->i, which));
        at += tr_ty_nparts(arg_type(s->r, s->i, which));
        s->best_ty[k] = NULL;
        if (is_joined(s, k)) {
            s->joining[k].count = 0;
            s->joining[k].fill = 0;
            s->joining[k].some = false;
            memcpy(s->joining[k].before, s->acc[k], s->joining[k].nparts * sizeof(tr_slot));
        }
    }
    s->flat = s->ntop = 0;
}

static bool epilogue(space *s, const int64_t *idx) {
    int64_t kept[TR_MAX_NDIM + 1];
    for (unsigned k = 0, n = 0; k < s->p->nspace; k++)
        if (s->p->keep >> k & 1)
            kept[n++] = idx[k];
    return run_at(s, TR_EPI, kept);
}

static bool walk(space *s, const tr_nest *t, int64_t *idx);

/* One index of the axis after the other. */
static bool walk_axis(space *s, const tr_nest *t, int64_t *idx) {
    unsigned axis = s->axis[t->level];
    int64_t n = arg(s->r, s->i, axis)->i;
    for (idx[axis] = 0; idx[axis] < n; idx[axis]++)
        if (!walk(s, t->in, idx))
            return false;
    return true;
}

static bool walk(space *s, const tr_nest *t, int64_t *idx) {
    switch (t->kind) {
    case TR_NEST_ORDER:
        for (unsigned k = 0; k < t->ndim; k++)
            s->axis[k] = t->axis[k];
        return walk(s, t->in, idx);
    case TR_NEST_FOR: return walk_axis(s, t, idx);
    case TR_NEST_ROW: return walk(s, t->in, idx) && (!t->by || walk(s, t->by, idx));
    case TR_NEST_REDUCE: begin_reds(s); return walk(s, t->in, idx) && end_reds(s);
    case TR_NEST_TOP: return begin_top(s) && walk(s, t->in, idx);
    case TR_NEST_CHOOSE: s->ntop = 0; return walk_axis(s, t, idx) && store_best(s, idx);
    case TR_NEST_ELEMENT: return point(s, idx);
    case TR_NEST_EPILOGUE: return epilogue(s, idx);
    default: return fault(s->r, s->i, "is no loop of one thread that goes element by element");
    }
}

/* Arrays of which the rounds' own patterns walk parts: these stay in the cache from one to the next. */
static void count_walked(space *s) {
    for (uint32_t k = tr_pat_at(s->p, P_CAP); k < tr_pat_at(s->p, P_CAP + 1); k++) {
        const tr_ty *t = arg_type(s->r, s->i, k);
        uint8_t memory = t->kind == TR_TY_ARRAY ? tr_pat_walked(s->p, k) : 0;
        uint64_t bytes = memory ? tr_ty_size(t->elem) : 0;
        for (unsigned x = 0; memory && x < t->ndim; x++)
            bytes *= (uint64_t)dim(arg(s->r, s->i, k), x);
        s->r->in->read += memory & TR_MEM_READ ? bytes : 0;
        s->r->in->written += memory & TR_MEM_WRITE ? bytes : 0;
    }
}

/* What was packed and is kept has been written; the rest will have been written over. */
static void count_kept(space *s) {
    for (uint32_t k = tr_pat_at(s->p, P_PACK); k < tr_pat_at(s->p, P_PACK + 1); k++)
        s->r->in->written += (uint64_t)s->acc[0]->i * tr_ty_size(arg_type(s->r, s->i, k)->elem);
}

/* Room for what is reduced by functions, and how many parts all reductions have. */
static unsigned prepare_joins(space *s) {
    const tr_pat *p = s->p;
    tr_arena *a = &s->r->in->ctx->arena;
    unsigned parts = 0;
    for (uint32_t k = 0; k < tr_pat_nred(p); k++) {
        unsigned n = tr_ty_nparts(arg_type(s->r, s->i, tr_pat_at(p, P_SCAN) + k));
        parts += n;
        if (!p->joins[k].by)
            continue;
        s->joining = s->joining ? s->joining : TR_NEW_N(a, joining, tr_pat_nred(p));
        s->joining[k] = (joining){.by = begin(s->r->in, p->joins[k].by),
                                  .nparts = n,
                                  .block = TR_NEW_N(a, tr_slot, (size_t)n * TR_SUM_BLOCK),
                                  .level = TR_NEW_N(a, tr_slot, (size_t)n * JOIN_LEVELS),
                                  .before = TR_NEW_N(a, tr_slot, n),
                                  .done = TR_NEW_N(a, tr_slot, n),
                                  .last = TR_NEW_N(a, tr_slot, n),
                                  .blocks = tr_pat_in_blocks(p)};
    }
    s->scattering = TR_NEW_N(a, run, p->nscat + 1u);
    for (uint32_t k = 0; k < p->nscat; k++) {
        tr_fn *by = tr_pat_join(p, tr_pat_at(p, P_SCAT) + k)->by;
        if (by)
            s->scattering[k] = begin(s->r->in, by);
    }
    return parts;
}

static bool pattern(run *r, const tr_ins *i, tr_slot *out) {
    assert(i->op == TR_OP_PATTERN && i->nargs == tr_pat_nargs(i->imm.pat));
    const tr_pat *p = i->imm.pat;
    space *s = TR_NEW(&r->in->ctx->arena, space);
    int64_t idx[TR_MAX_NDIM + 1];
    *s = (space){.r = r, .i = i, .p = p, .lam = begin(r->in, p->lam)};
    if (p->epi)
        s->epi = begin(r->in, p->epi);
    if (tr_pat_in_blocks(p) && !tr_pat_joins(p)) {
        s->after = begin(r->in, tr_pat_scan_after(p));
        s->groups = TR_NEW_N(&r->in->ctx->arena, groups, p->nscan);
        s->values = tr_arena_alloc(&r->in->ctx->arena, p->nscan * sizeof *s->values);
    }
    if (2 * tr_pat_nyield(r->f, i) > MAX_PARTS)
        return fault(r, i, "too many values for the interpreter");
    /* without kept axes the result's parts are the accumulators */
    unsigned parts = prepare_joins(s);
    s->accs = p->keep ? TR_NEW_N(&r->in->ctx->arena, tr_slot, parts + 1u) : out;
    r->in->patterns++;
    bool ok = walk(s, tr_nest_plain(r->f, i), idx);
    if (p->nfilt)
        count_kept(s);
    if (r->in->patterns == 1)
        count_walked(s);
    r->in->patterns--;
    return ok;
}

/* --- a device's --- */

static int64_t size_of(const int64_t *dims, int64_t axis) {
    return dims[axis] ? dims[axis] : 1;
}

/* Memory whose contents nobody may count on. */
static void *storage(run *r, size_t bytes) {
    return memset(tr_arena_alloc(&r->in->ctx->arena, bytes + 1), 0xa5, bytes);
}

/* The block's, which the first of its threads that comes makes. */
static void *shared_of(run *r, const tr_ins *of, size_t bytes) {
    struct tr_istore *s = r->in->shared;
    while (s->at && s->of != of)
        s = s->next;
    if (!s->at) {
        s->of = of;
        s->at = storage(r, bytes);
        s->next = TR_NEW(&r->in->ctx->arena, struct tr_istore);
    }
    return s->at;
}

static bool share(run *r, const tr_ins *i, tr_slot *out) {
    size_t bytes = tr_ty_size(i->ty->elem);
    if (!r->in->shared)
        return fault(r, i, "is for kernels, and for what they call");
    for (uint32_t k = 0; k < i->nargs; k++) {
        out[2 + k].i = arg(r, i, k)->i;
        bytes *= (size_t)out[2 + k].i;
    }
    out[0].p = NULL;
    if (i->op == TR_OP_DYNSHARED) {
        out[2].i = r->in->dynamic / (int64_t)bytes;
        out[1].p = shared_of(r, NULL, (size_t)r->in->dynamic);
    } else {
        out[1].p = i->op == TR_OP_LOCAL ? storage(r, bytes) : shared_of(r, i, bytes);
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
static bool atomic(run *r, const tr_ins *i, tr_slot *out) {
    void *at = element_of(r, i);
    const tr_slot *x = arg(r, i, i->nargs - 1);
    tr_slot new = *x;
    if (!at)
        return fault(r, i, "is atomic outside of an array");
    tr_interp_load(i->ty, at, out);
    if (i->op == TR_OP_CAS) {
        if (!tr_interp_cmp(TR_CMP_EQ, i->ty, out, arg(r, i, i->nargs - 2)))
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

static void extract(run *r, const tr_ins *i, tr_slot *out) {
    const tr_ty *t = arg_type(r, i, 0);
    const tr_slot *s = arg(r, i, 0);
    for (int64_t k = 0; k < i->imm.i; k++)
        s += tr_ty_nparts(t->items[k]);
    copy_parts(i->ty, out, s);
}

static void make_tuple(run *r, const tr_ins *i, tr_slot *out) {
    for (uint32_t k = 0; k < i->nargs; k++) {
        copy_parts(arg_type(r, i, k), out, arg(r, i, k));
        out += tr_ty_nparts(arg_type(r, i, k));
    }
}

static bool index_ok(run *r, const tr_ins *i) {
    int64_t at = arg(r, i, 0)->i, n = arg(r, i, 1)->i;
    return at >= 0 && at < n;
}

static bool step(run *r, const tr_ins *i, tr_slot *out) {
    const tr_ty *t = i->nargs ? arg_type(r, i, 0) : NULL;
    const tr_slot *x = i->nargs ? arg(r, i, 0) : NULL, *y = i->nargs > 1 ? arg(r, i, 1) : NULL;
    void *at;
    switch ((tr_op)i->op) {
    case TR_OP_CONV: tr_interp_conv(t, i->ty, x, out); return true;
    case TR_OP_BITCAST:
        out->i = 0;
        memcpy(out, x, tr_ty_size(t));
        if (tr_ty_is_int(i->ty))
            out->i = tr_int_wrap(i->ty, out->i);
        return true;
    case TR_OP_SELECT: copy_parts(i->ty, out, x->b ? y : arg(r, i, 2)); return true;
    case TR_OP_TUPLE: make_tuple(r, i, out); return true;
    case TR_OP_EXTRACT: extract(r, i, out); return true;
    case TR_OP_BITS: out->i = tr_bits_of((tr_bitop)i->sub, t, x->i); return true;
    case TR_OP_CMP: out->i = tr_interp_cmp((tr_cmpop)i->sub, t, x, y); return true;
    case TR_OP_MATH: {
        const tr_slot *args[3] = {x, y, i->nargs > 2 ? arg(r, i, 2) : NULL};
        return tr_interp_math(r->in, (tr_mathfn)i->sub, t, args, out) ||
               fault(r, i, "the function is not linked");
    }
    case TR_OP_CPLX:
        out[0] = x[0];
        out[1] = y[0];
        return true;
    case TR_OP_RE: out[0] = x[0]; return true;
    case TR_OP_IM: out[0] = x[1]; return true;
    case TR_OP_DIM: out->i = dim(x, (unsigned)i->imm.i); return true;
    case TR_OP_STRIDE: out->i = stride(t, x, (unsigned)i->imm.i); return true;
    case TR_OP_VIEW: view(r, i, out); return true;
    case TR_OP_RESTRIDE: restride(r, i, out); return true;
    case TR_OP_FIELD: field(r, i, out); return true;
    case TR_OP_ALLOC: return alloc(r, i, out);
    case TR_OP_LOAD:
        if (!(at = element_of(r, i)) && !i->sub)
            return fault(r, i, "loads outside of an array");
        if (at)
            tr_interp_load(i->ty, at, out);
        else
            memset(out, 0, tr_ty_nparts(i->ty) * sizeof *out);
        if (r->in->patterns && tr_term(r->f, 0)->op == TR_OP_YIELD)
            r->in->read += tr_ty_size(i->ty);
        return true;
    case TR_OP_STORE:
        if (!(at = element_of(r, i)))
            return fault(r, i, "stores outside of an array");
        tr_interp_store(t->elem, at, arg(r, i, i->nargs - 1));
        if (r->in->patterns && tr_term(r->f, 0)->op == TR_OP_YIELD)
            r->in->written += tr_ty_size(t->elem);
        return true;
    case TR_OP_OVERLAP: out->i = overlap(r, i); return true;
    case TR_OP_APART: out->i = apart(r, i); return true;
    case TR_OP_MEET: out->i = meet(r, i); return true;
    case TR_OP_RETAIN:
    case TR_OP_RELEASE: return true; /* memory lives until the context ends */
    case TR_OP_WRAP: out->i = x->i < 0 ? (int64_t)((uint64_t)x->i + (uint64_t)y->i) : x->i; return true;
    case TR_OP_RANGELEN: out->i = tr_range_len(x->i, y->i, arg(r, i, 2)->i); return true;
    case TR_OP_PRANGE: *out = *x; return true;
    case TR_OP_CHECKIDX: return index_ok(r, i) || raise_site(r, i, 0);
    case TR_OP_BCAST:
    case TR_OP_BCASTTO:
        *out = x->i == 1 ? *y : *x;
        return x->i == y->i || x->i == 1 || (y->i == 1 && i->op == TR_OP_BCAST) || raise_site(r, i, 0);
    case TR_OP_CHECK: return x->b || raise_site(r, i, 1);
    case TR_OP_CALL: return call(r, i, out);
    case TR_OP_CALLRT: return call_row(r, i, out);
    case TR_OP_RAISE: return raise_site(r, i, 0);
    case TR_OP_CATCH: catch_site(r, out); return true;
    case TR_OP_RERAISE:
        if ((uint32_t)x->u >= r->in->caught.n)
            return fault(r, i, "raises again what was not caught");
        return raise_again(r, x);
    case TR_OP_PATTERN: return pattern(r, i, out);
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
    case TR_OP_BARRIER: return fault(r, i, "waits for threads in a function that a kernel calls: inline it");
    case TR_OP_ATOMIC:
    case TR_OP_CAS: return atomic(r, i, out);
    case TR_OP_UNREACH: return fault(r, i, "reaches what cannot be reached");
    default:
        if (tr_op_info[i->op].stages & S_F)
            return fault(r, i, "only typed IR can be interpreted");
        return tr_interp_arith(r->in, (tr_op)i->op, t, x, y, out) ||
               fault(r, i, "the function is not linked");
    }
}

/* Params change all at once: an argument may be another param's old value. */
static void take_edge(run *r, const tr_edge *e) {
    const tr_blk *to = tr_blk_at(r->f, e->to);
    tr_slot few[MAX_PARTS], *old = few;
    size_t n = 0;
    for (uint32_t k = 0; k < e->n; k++)
        n += tr_ty_nparts(type_of(r, e->args[k]));
    if (n > MAX_PARTS)
        old = TR_NEW_N(&r->in->ctx->arena, tr_slot, n);
    n = 0;
    for (uint32_t k = 0; k < e->n; k++) {
        copy_parts(type_of(r, e->args[k]), old + n, value(r, e->args[k]));
        n += tr_ty_nparts(type_of(r, e->args[k]));
    }
    for (uint32_t k = 0; k < e->n; k++) {
        copy_parts(type_of(r, to->params.d[k]), parts_for(r, to->params.d[k]), old);
        old += tr_ty_nparts(type_of(r, to->params.d[k]));
    }
}

/* What it brings to the others, who may need it when it runs no more. */
static void wait_at(run *r, tr_val v) {
    const tr_ins *i = tr_at(r->f, v);
    tr_iwait *w = r->wait;
    for (uint32_t k = 0; k < i->nargs; k++)
        w->arg[k] = *arg(r, i, k);
    w->bytes = i->nargs > 1 ? tr_ty_size(arg_type(r, i, 1)) : 0;
    w->out = i->ty ? parts_for(r, v) : NULL;
    w->at = i;
}

/* From the entry, or where it waited, to RET, YIELD or, in a kernel, where threads meet. */
static bool run_blocks(run *r, tr_slot *ret) {
    tr_bid b = r->blk;
    tr_val from = r->next;
    const tr_edge *handler = NULL;
    for (;;) {
        for (tr_val v = from != TR_NOVAL ? from : tr_blk_at(r->f, b)->first; v != TR_NOVAL;
             v = tr_at(r->f, v)->next) {
            const tr_ins *i = tr_at(r->f, v);
            from = TR_NOVAL;
            if (!r->in->steps--)
                return fault(r, i, "takes too many steps");
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
                const tr_edge *e = &i->imm.succ[i->op == TR_OP_CBR && !arg(r, i, 0)->b];
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

static run begin(tr_interp *in, const tr_fn *f) {
    return (run){
        .in = in, .f = f, .vals = TR_NEW_N(&in->ctx->arena, tr_slot *, f->ins.n + 1), .next = TR_NOVAL};
}

static void take_args(run *r, const tr_slot *args) {
    const tr_blk *entry = tr_blk_at(r->f, 0);
    for (uint32_t k = 0; k < entry->params.n; k++) {
        copy_parts(type_of(r, entry->params.d[k]), parts_for(r, entry->params.d[k]), args);
        args += tr_ty_nparts(type_of(r, entry->params.d[k]));
    }
}

static bool run_with(run *r, const tr_slot *args, tr_slot *ret) {
    if (r->in->depth >= MAX_DEPTH)
        return fault(r, NULL, "calls are nested too deeply");
    take_args(r, args);
    r->in->depth++;
    bool ok = run_blocks(r, ret);
    r->in->depth--;
    return ok;
}

static bool run_fn(tr_interp *in, const tr_fn *f, const tr_slot *args, tr_slot *ret) {
    run r = begin(in, f);
    if (f->stage != S_T)
        return fault(&r, NULL, "only typed IR can be interpreted");
    return run_with(&r, args, ret);
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
static bool run_block(run *threads, tr_iwait *w, size_t n) {
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
            return fault(&threads[who], w[who].at, why);
    }
    return true;
}

static bool launch(tr_interp *in, const tr_fn *f, const tr_slot *args) {
    size_t n = (size_t)(size_of(in->block, 0) * size_of(in->block, 1) * size_of(in->block, 2));
    run *threads = TR_NEW_N(&in->ctx->arena, run, n);
    tr_iwait *wait = TR_NEW_N(&in->ctx->arena, tr_iwait, n);
    memset(in->at, 0, sizeof in->at);
    do {
        in->shared = TR_NEW(&in->ctx->arena, struct tr_istore);
        for (size_t t = 0; t < n; t++) {
            threads[t] = begin(in, f);
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
static bool launch_with(run *r, const tr_fn *f, const tr_slot *args) {
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
