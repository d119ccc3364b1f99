/* Arguments and results of treadlec's calls as text, both ways. Arrays are nested lists; one of layout "any"
 * gets every second place of its memory, and one of layout F columns, so that wrong strides show. */
#include "main/values.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/reader.h"
#include "base/vec.h"
#include "rt/str.h"
#include "ty/obj.h"

typedef struct reader {
    tr_reader in;
    tr_ctx *ctx;
    const char *msg;
} reader;

static bool read_value(reader *r, const tr_ty *t, tr_slot *out);

static bool fail(reader *r, const char *what) {
    if (!r->msg)
        r->msg = tr_arena_printf(&r->ctx->arena, "expected %s at '%.20s'", what, r->in.p);
    return false;
}

static bool expect(reader *r, char c) {
    return tr_rd_accept(&r->in, c) || fail(r, (const char[]){'\'', c, '\'', 0});
}

/* --- scalars --- */

static void put_real(const tr_ty *t, tr_slot *out, double v) {
    out->i = 0;
    if (t->kind == TR_TY_F32 || t->kind == TR_TY_C64)
        out->f32 = (float)v;
    else if (t->kind == TR_TY_F16)
        out->f16 = (_Float16)v;
    else
        out->f = v;
}

static bool from_obj(reader *r, const tr_ty *t, const tr_obj *o, tr_slot *out) {
    bool integer = o->kind == TR_OBJ_INT;
    double re = integer ? tr_bigint_f64(&o->u.n) : o->u.f, im = 0;
    switch (tr_ty_class(t)) {
    case 'b': return fail(r, "true or false");
    case 'i':
    case 'u':
        if (!integer || !tr_bigint_fits(&o->u.n, t))
            return fail(r, "an integer that fits");
        out->u = tr_bigint_wrapped(&o->u.n);
        return true;
    case 'c':
        if (o->kind == TR_OBJ_COMPLEX) {
            re = o->u.c[0];
            im = o->u.c[1];
        }
        put_real(t, out + 1, im);
        break;
    default: break;
    }
    if (!integer && o->kind != TR_OBJ_FLOAT && !(o->kind == TR_OBJ_COMPLEX && tr_ty_is_complex(t)))
        return fail(r, "a number");
    put_real(t, out, re);
    return true;
}

static bool read_number(reader *r, const tr_ty *t, tr_slot *out) {
    if (t->kind == TR_TY_BOOL) {
        out->i = tr_rd_accept_word(&r->in, "true");
        return out->i || tr_rd_accept_word(&r->in, "false") || fail(r, "true or false");
    }
    tr_rd_skip(&r->in);
    const char *start = r->in.p;
    const tr_obj *o = tr_obj_parse_ir(r->ctx->types, &r->in.p);
    if (!o) {
        r->in.p = start;
        return fail(r, "a number");
    }
    return from_obj(r, t, o, out);
}

/* --- arrays --- */

typedef TR_VEC(tr_slot) slots;

/* Reads nested lists; the first list at each depth fixes the length of that axis. */
static bool read_list(reader *r, const tr_ty *t, unsigned axis, int64_t *shape, slots *out) {
    tr_slot v[2];
    assert(axis <= t->ndim && "lists are nested as deep as the array has axes");
    if (axis == t->ndim) {
        if (!read_number(r, t->elem, v))
            return false;
        tr_vec_push(&r->ctx->arena, out, v[0]);
        if (tr_ty_is_complex(t->elem))
            tr_vec_push(&r->ctx->arena, out, v[1]);
        return true;
    }
    if (!expect(r, '['))
        return false;
    int64_t n = 0;
    while (!tr_rd_accept(&r->in, ']')) {
        if (n && !expect(r, ','))
            return false;
        if (!read_list(r, t, axis + 1, shape, out))
            return false;
        n++;
    }
    if (shape[axis] >= 0 && shape[axis] != n)
        return fail(r, "lists of one length");
    shape[axis] = n;
    return true;
}

static void layout_strides(const tr_ty *t, const int64_t *shape, int64_t *strides) {
    int64_t s = t->layout == TR_LAYOUT_ANY ? 2 : 1;
    for (unsigned i = 0; i < t->ndim; i++) {
        unsigned k = t->layout == TR_LAYOUT_F ? i : t->ndim - 1 - i;
        strides[k] = s;
        s *= shape[k];
    }
}

static void store_part(const tr_ty *elem, char *at, const tr_slot *v) {
    unsigned n = tr_ty_is_complex(elem) ? 2 : 1, size = tr_ty_size(elem) / n;
    for (unsigned i = 0; i < n; i++)
        memcpy(at + i * size, &v[i], size);
}

static bool read_array(reader *r, const tr_ty *t, tr_slot *out) {
    int64_t shape[TR_MAX_NDIM + 1], strides[TR_MAX_NDIM + 1], idx[TR_MAX_NDIM + 1] = {0}, count = 1;
    slots elems = {0};
    for (unsigned k = 0; k < t->ndim; k++)
        shape[k] = -1;
    if (!read_list(r, t, 0, shape, &elems))
        return false;
    for (unsigned k = 0; k < t->ndim; k++) {
        shape[k] = shape[k] < 0 ? 0 : shape[k];
        count *= shape[k];
    }
    layout_strides(t, shape, strides);
    unsigned size = tr_ty_size(t->elem), parts = tr_ty_is_complex(t->elem) ? 2 : 1;
    char *data = tr_arena_alloc(&r->ctx->arena, (size_t)(count * 2 + 1) * size);
    for (int64_t e = 0; e < count; e++) {
        int64_t at = 0;
        for (unsigned k = 0; k < t->ndim; k++)
            at += idx[k] * strides[k];
        store_part(t->elem, data + at * (int64_t)size, elems.d + (uint64_t)e * parts);
        for (unsigned k = t->ndim; k-- > 0 && ++idx[k] == shape[k];)
            idx[k] = 0;
    }
    out[0].p = NULL;
    out[1].p = data;
    for (unsigned k = 0; k < t->ndim; k++) {
        out[2 + k].i = shape[k];
        if (t->layout == TR_LAYOUT_ANY)
            out[2 + t->ndim + k].i = strides[k];
    }
    return true;
}

/* --- the rest --- */

static bool read_items(reader *r, const tr_ty *t, tr_slot *out) {
    if (!expect(r, '('))
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        if ((i && !expect(r, ',')) || !read_value(r, t->items[i], out))
            return false;
        out += tr_ty_nparts(t->items[i]);
    }
    tr_rd_accept(&r->in, ',');
    return expect(r, ')');
}

static bool read_none(reader *r, const tr_ty *t, tr_slot *out) {
    (void)t, (void)out;
    return tr_rd_accept_word(&r->in, "none") || fail(r, "none");
}

static bool read_string(reader *r, const tr_ty *t, tr_slot *out) {
    (void)t;
    tr_rd_skip(&r->in);
    const char *start = r->in.p;
    const tr_obj *o = tr_obj_parse_ir(r->ctx->types, &r->in.p);
    if (!o || o->kind != TR_OBJ_STR) {
        r->in.p = start;
        return fail(r, "a string");
    }
    tr_str s = tr_str_known(&r->ctx->arena, o->u.s.d);
    memcpy(out, &s, sizeof s);
    return true;
}

static bool read_no(reader *r, const tr_ty *t, tr_slot *out) {
    (void)t, (void)out;
    return fail(r, "a type that has a text; this one has none");
}

static bool read_value(reader *r, const tr_ty *t, tr_slot *out) {
    static bool (*const reads[])(reader *, const tr_ty *, tr_slot *) = {
#define KIND(ID, word, user, items, ty, lib, ext, main) main,
#define MAIN(read, ...)                                 read_##read
#include "ty/kinds.def"
    };
    return reads[tr_ty_row(t)](r, t, out);
}

bool tr_value_read(tr_ctx *ctx, const tr_ty *t, const char **s, tr_slot *out, const char **msg) {
    reader r = {.in = {.a = &ctx->arena, .text = *s, .p = *s, .blanks = " \t\n\v\f\r"}, .ctx = ctx};
    bool ok = read_value(&r, t, out);
    *s = r.in.p;
    *msg = r.msg;
    return ok;
}

/* --- writing --- */

static double get_real(const tr_ty *t, const tr_slot *v) {
    return t->kind == TR_TY_F16                           ? (double)v->f16
           : t->kind == TR_TY_F32 || t->kind == TR_TY_C64 ? (double)v->f32
                                                          : v->f;
}

static void write_real(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    if (t->kind == TR_TY_F32 || t->kind == TR_TY_C64)
        tr_sb_f32(b, v->f32);
    else if (t->kind == TR_TY_F16)
        tr_sb_f16(b, v->f16);
    else
        tr_sb_f64(b, get_real(t, v));
}

/* Only the low bytes of a slot count. */
static int64_t get_int(const tr_ty *t, const tr_slot *v) {
    switch ((tr_tyk)t->kind) {
    case TR_TY_I8: return (int8_t)v->i;
    case TR_TY_I16: return (int16_t)v->i;
    case TR_TY_I32: return (int32_t)v->i;
    case TR_TY_U8: return (uint8_t)v->i;
    case TR_TY_U16: return (uint16_t)v->i;
    case TR_TY_U32: return (uint32_t)v->i;
    default: return v->i;
    }
}

static void write_number(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    switch (tr_ty_class(t)) {
    case 'b': tr_sb_puts(b, v->b ? "true" : "false"); break;
    case 'i': tr_sb_printf(b, "%" PRIi64, get_int(t, v)); break;
    case 'u': tr_sb_printf(b, "%" PRIu64, (uint64_t)get_int(t, v)); break;
    case 'f': write_real(b, t, v); break;
    default:
        tr_sb_puts(b, "complex(");
        write_real(b, t, v);
        tr_sb_puts(b, ", ");
        write_real(b, t, v + 1);
        tr_sb_putc(b, ')');
    }
}

static int64_t stride(const tr_ty *t, const tr_slot *v, unsigned axis) {
    int64_t s = 1;
    if (t->layout == TR_LAYOUT_ANY)
        return v[2 + t->ndim + axis].i;
    for (unsigned k = 0; k < t->ndim; k++)
        if (t->layout == TR_LAYOUT_C ? k > axis : k < axis)
            s *= v[2 + k].i;
    return s;
}

static void write_axis(tr_sb *b, const tr_ty *t, const tr_slot *v, unsigned axis, const char *at) {
    unsigned size = tr_ty_size(t->elem);
    if (axis == t->ndim) {
        tr_slot x[2] = {{0}, {0}};
        unsigned n = tr_ty_is_complex(t->elem) ? 2 : 1;
        for (unsigned i = 0; i < n; i++)
            memcpy(&x[i], at + i * (size / n), size / n);
        write_number(b, t->elem, x);
        return;
    }
    tr_sb_putc(b, '[');
    for (int64_t i = 0; i < v[2 + axis].i; i++) {
        tr_sb_puts(b, i ? ", " : "");
        write_axis(b, t, v, axis + 1, at + i * stride(t, v, axis) * (int64_t)size);
    }
    tr_sb_putc(b, ']');
}

static void write_array(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    write_axis(b, t, v, 0, v[1].p);
}

static void write_none(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    (void)t, (void)v;
    tr_sb_puts(b, "none");
}

static void write_range(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    (void)t;
    tr_sb_printf(b, "range(%" PRIi64 ", %" PRIi64 ", %" PRIi64 ")", v[0].i, v[1].i, v[2].i);
}

static void write_lit(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    (void)v;
    tr_sb_puts(b, t->lit->repr);
}

static void write_string(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    tr_str s;
    (void)t;
    memcpy(&s, v, sizeof s);
    tr_str_repr(&s, b);
}

static void write_items(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    tr_sb_putc(b, '(');
    for (uint32_t i = 0; i < t->n; i++) {
        tr_sb_puts(b, i ? ", " : "");
        tr_value_write(b, t->items[i], v);
        v += tr_ty_nparts(t->items[i]);
    }
    tr_sb_puts(b, t->n == 1 ? ",)" : ")");
}

/* What lies in memory alone is not shown. */
static void write_no(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    (void)v;
    tr_ty_print_user(b, t);
}

void tr_value_write(tr_sb *b, const tr_ty *t, const tr_slot *v) {
    static void (*const writes[])(tr_sb *, const tr_ty *, const tr_slot *) = {
#define KIND(ID, word, user, items, ty, lib, ext, main) main,
#define MAIN(read, write)                               write_##write
#include "ty/kinds.def"
    };
    writes[tr_ty_row(t)](b, t, v);
}
