/* Reads the IR's text (docs/ir.md), the inverse of print.c. Syntax and names are checked here, meaning by verify.c: what
 * is read may be wrong IR, but printing and verifying it is safe. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "ir/sched.h"
#include "ir/internal.h"
#include "ir/prog.h"
#include "ir/rtinfo.h"

enum { MAX_LAMBDAS = 16, MAX_CHAIN = 1000 };

typedef TR_VEC(tr_val) vals;

typedef struct forward {
    const char *name, *at; /* first use of a value not yet defined */
    tr_val v;
} forward;

/* Where reading stands, for all functions of a text. */
typedef struct reader {
    tr_reader in; /* its depth counts lambdas */
    tr_ctx *ctx;
    const char *file;
    bool failed;
} reader;

/* One function being read. */
typedef struct fnreader {
    reader *r;
    tr_fn *f;
    tr_smap values;  /* name -> number + 1 */
    tr_map blocks;   /* number in the text -> block */
    tr_u32s defined; /* blocks in the order of their definition */
    TR_VEC(forward) forwards;
    const char *place_fn, *place_file;
    tr_bid b;
} fnreader;

static bool read_body(fnreader *k);

/* --- characters --- */

static bool fail_at(reader *r, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The first error is the one that says something. */
static bool fail_at(reader *r, const char *at, const char *fmt, ...) {
    if (r->failed)
        return false;
    r->failed = true;
    tr_span span = {.line = 1, .end_line = 0, .end_col = -1};
    const char *line = r->in.text;
    for (const char *s = r->in.text; s < at; s++)
        if (*s == '\n') {
            span.line++;
            line = s + 1;
        }
    span.col = (int32_t)(at - line);
    va_list ap;
    va_start(ap, fmt);
    const char *text = tr_arena_vprintf(&r->ctx->arena, fmt, ap);
    va_end(ap);
    tr_err_add(r->ctx, TR_ERR_VALUE, (tr_place){.file = r->file, .span = span}, "%s", text);
    return false;
}

/* Blanks, comments and ends of lines. */
static void skip_lines(reader *r) {
    for (;; r->in.p++) {
        if (*r->in.p == ';')
            while (*r->in.p && *r->in.p != '\n')
                r->in.p++;
        if (!*r->in.p || !strchr(" \t\r\n", *r->in.p))
            return;
    }
}

static bool expect(reader *r, char c) {
    return tr_rd_accept(&r->in, c) || fail_at(r, r->in.p, "expected '%c'", c);
}

static const char *need_word(reader *r, const char *what) {
    const char *word = tr_rd_word(&r->in);
    if (!word)
        fail_at(r, r->in.p, "expected %s", what);
    return word;
}

static bool read_int(reader *r, int64_t min, int64_t max, int64_t *out) {
    return tr_rd_int(&r->in, min, max, out) ||
           fail_at(r, r->in.p, "expected a number of at least %lld", (long long)min);
}

static bool at_quote(reader *r) {
    return tr_rd_peek(&r->in) == '"';
}

static const char *read_string(reader *r) {
    const char *start = r->in.p;
    const tr_obj *o = at_quote(r) ? tr_obj_parse_ir(r->ctx->types, &r->in.p) : NULL;
    if (!o || o->kind != TR_OBJ_STR || memchr(o->u.s.d, 0, o->u.s.n)) {
        fail_at(r, start, "expected a text in quotes");
        return NULL;
    }
    return o->u.s.d;
}

/* A name as print.c writes it: a word with dots, or a quoted text. */
static const char *read_name(reader *r) {
    if (at_quote(r))
        return read_string(r);
    size_t n = 0;
    while (tr_rd_is_word_char(r->in.p[n]) || r->in.p[n] == '.')
        n++;
    if (!n) {
        fail_at(r, r->in.p, "expected a name");
        return NULL;
    }
    r->in.p += n;
    return tr_arena_strndup(&r->ctx->arena, r->in.p - n, n);
}

static const tr_ty *read_type(reader *r) {
    tr_rd_skip(&r->in);
    const char *start = r->in.p;
    const tr_ty *t = tr_ty_parse_ir(r->ctx->types, &r->in.p);
    if (!t)
        fail_at(r, start, "expected a type");
    return t;
}

static const tr_obj *read_obj(reader *r) {
    tr_rd_skip(&r->in);
    const char *start = r->in.p;
    const tr_obj *o = tr_obj_parse_ir(r->ctx->types, &r->in.p);
    if (!o)
        fail_at(r, start, "expected a value");
    return o;
}

/* --- values and blocks --- */

static bool all_digits(const char *s) {
    return s[strspn(s, "0123456789")] == 0;
}

static tr_val value_slot(fnreader *k, const char *name, const char *at) {
    tr_arena *a = &k->r->ctx->arena;
    uintptr_t known = (uintptr_t)tr_smap_get(&k->values, name, strlen(name));
    if (known)
        return (tr_val)(known - 1);
    tr_val v = tr_ins_new(k->f, TR_OP_UNDEF, NULL);
    tr_smap_set(a, &k->values, name, strlen(name), (void *)((uintptr_t)v + 1));
    tr_vec_push(a, &k->forwards, (forward){name, at, v});
    if (!all_digits(name))
        tr_val_name(k->f, v, name);
    return v;
}

/* The slot of a value that is being defined here. */
static tr_val define(fnreader *k, const char *name, const char *at) {
    tr_val v = value_slot(k, name, at);
    for (uint32_t i = k->forwards.n; i-- > 0;)
        if (k->forwards.d[i].v == v) {
            k->forwards.d[i] = k->forwards.d[--k->forwards.n];
            return v;
        }
    fail_at(k->r, at, "%%%s is defined twice", name);
    return TR_NOVAL;
}

static bool number_const(fnreader *k, const tr_obj *o, const char *at, tr_val *out) {
    tr_tytab *t = k->r->ctx->types;
    const tr_ty *ty = o->ty;
    int64_t i;
    switch ((tr_objk)o->kind) {
    case TR_OBJ_INT:
        if (!tr_bigint_i64(&o->u.n, &i))
            return fail_at(k->r, at, "the number does not fit i64");
        *out = tr_const_int(k->f, tr_ty_scalar(t, TR_TY_I64), i);
        return true;
    case TR_OBJ_FLOAT: *out = tr_const_float(k->f, tr_ty_scalar(t, TR_TY_F64), o->u.f); return true;
    case TR_OBJ_COMPLEX:
        *out = tr_const_complex(k->f, tr_ty_scalar(t, TR_TY_C128), o->u.c[0], o->u.c[1]);
        return true;
    case TR_OBJ_SCALAR:
        if (tr_ty_is_complex(ty))
            *out = tr_const_complex(k->f, ty, o->u.c[0], o->u.c[1]);
        else if (tr_ty_is_float(ty))
            *out = tr_const_float(k->f, ty, o->u.f);
        else
            *out = tr_const_int(k->f, ty, o->u.i);
        return true;
    case TR_OBJ_ARRAY:
        if (!expect(k->r, ':') || !(ty = read_type(k->r)))
            return false;
        if (ty->kind != TR_TY_ARRAY || ty->ndim != o->ty->ndim || ty->elem != o->ty->elem)
            return fail_at(k->r, at, "the array is not of this type");
        *out = tr_const_arr(k->f, ty, o);
        return true;
    default: return fail_at(k->r, at, "expected a number, a value or undef");
    }
}

static bool read_val(fnreader *k, tr_val *out) {
    reader *r = k->r;
    tr_rd_skip(&r->in);
    const char *at = r->in.p;
    if (tr_rd_accept(&r->in, '%')) {
        const char *name = *r->in.p == '"' ? NULL : read_name(r);
        if (!name)
            return fail_at(r, at, "expected a value's name");
        *out = value_slot(k, name, at);
        return true;
    }
    if (k->f->stage == S_F) {
        const tr_obj *o = read_obj(r);
        if (o)
            *out = tr_const_obj(k->f, o);
        return o != NULL;
    }
    bool yes = tr_rd_accept_word(&r->in, "true");
    if (yes || tr_rd_accept_word(&r->in, "false")) {
        *out = tr_const_int(k->f, tr_ty_scalar(r->ctx->types, TR_TY_BOOL), yes);
        return true;
    }
    if (tr_rd_accept_word(&r->in, "undef")) {
        const tr_ty *t = expect(r, ':') ? read_type(r) : NULL;
        if (t)
            *out = tr_const_undef(k->f, t);
        return t != NULL;
    }
    const tr_obj *o = read_obj(r);
    return o && number_const(k, o, at, out);
}

/* Values up to `end`, which is taken. */
static bool read_vals(fnreader *k, char end, vals *out) {
    uint32_t start = out->n;
    while (!tr_rd_accept(&k->r->in, end)) {
        tr_val v;
        if (out->n > start && !expect(k->r, ','))
            return false;
        if (!read_val(k, &v))
            return false;
        tr_vec_push(&k->r->ctx->arena, out, v);
    }
    return true;
}

static bool read_group(fnreader *k, const char *word, vals *out, uint32_t *n) {
    uint32_t start = out->n;
    if (tr_rd_accept_word(&k->r->in, word) && !(expect(k->r, '(') && read_vals(k, ')', out)))
        return false;
    *n = out->n - start;
    return *n <= UINT16_MAX || fail_at(k->r, k->r->in.p, "too many values");
}

static bool read_block_name(fnreader *k, tr_bid *out) {
    reader *r = k->r;
    int64_t n;
    uint64_t b;
    tr_rd_skip(&r->in);
    if (*r->in.p != 'b' || !isdigit((unsigned char)r->in.p[1]))
        return fail_at(r, r->in.p, "expected a block, as in b1");
    r->in.p++;
    if (!read_int(r, 0, UINT32_MAX, &n))
        return false;
    if (!tr_map_get(&k->blocks, (uint64_t)n, &b)) {
        b = tr_blk_new(k->f);
        tr_map_set(&r->ctx->arena, &k->blocks, (uint64_t)n, b);
    }
    *out = (tr_bid)b;
    return true;
}

static bool read_edge(fnreader *k, tr_edge *e) {
    vals args = {0};
    tr_bid to;
    if (!read_block_name(k, &to) || (tr_rd_accept(&k->r->in, '(') && !read_vals(k, ')', &args)))
        return false;
    *e = tr_edge_make(k->f, to, args.n, args.d);
    return true;
}

/* --- places --- */

static bool read_span(reader *r, tr_span *s) {
    int64_t n;
    *s = (tr_span){.col = -1, .end_col = -1};
    if (!read_int(r, 0, INT32_MAX, &n))
        return false;
    s->line = (int32_t)n;
    if (tr_rd_accept(&r->in, ':')) {
        if (!read_int(r, 0, INT32_MAX, &n))
            return false;
        s->col = (int32_t)n;
    }
    if (!tr_rd_accept(&r->in, '-'))
        return true;
    if (!read_int(r, 1, INT32_MAX, &n))
        return false;
    s->end_line = (int32_t)n;
    if (tr_rd_accept(&r->in, ':')) {
        if (!read_int(r, 0, INT32_MAX, &n))
            return false;
        s->end_col = (int32_t)n;
    }
    return true;
}

static bool read_place(fnreader *k, tr_place *out) {
    *out = (tr_place){.fn = k->place_fn, .file = k->place_file};
    if (!read_span(k->r, &out->span))
        return false;
    if (tr_rd_accept_word(&k->r->in, "in") && !(out->fn = read_string(k->r)))
        return false;
    return !tr_rd_accept_word(&k->r->in, "of") || (out->file = read_string(k->r)) != NULL;
}

/* "@3:4-3:8 < @9:4 ...", innermost first. */
static bool read_loc(fnreader *k, uint32_t *out) {
    TR_VEC(tr_place) chain = {0};
    *out = 0;
    if (!tr_rd_accept(&k->r->in, '@'))
        return true;
    do {
        tr_place place;
        if (!read_place(k, &place))
            return false;
        if (chain.n >= MAX_CHAIN)
            return fail_at(k->r, k->r->in.p, "too many calls inlined into each other");
        tr_vec_push(&k->r->ctx->arena, &chain, place);
    } while (tr_rd_accept(&k->r->in, '<') && expect(k->r, '@'));
    for (uint32_t i = chain.n; i-- > 0;)
        *out = tr_loc_add(k->f, chain.d[i], *out);
    return !k->r->failed;
}

/* --- instructions --- */

typedef TR_VEC(const tr_obj *) site_args;

/* What stands up to a ")": *n of them, the items of tuples apart. */
static bool read_site_args(reader *r, site_args *args, unsigned depth, uint32_t *n) {
    for (uint32_t k = 0;; k++) {
        const tr_obj *o = NULL;
        tr_obj *tuple = NULL;
        if (n)
            *n = k;
        if (tr_rd_accept(&r->in, ')'))
            return true;
        if (k && !expect(r, ','))
            return false;
        if (tr_rd_accept(&r->in, '(')) {
            if (depth >= MAX_CHAIN)
                return fail_at(r, r->in.p, "tuples nested too deep");
            o = tuple = TR_NEW(&r->ctx->arena, tr_obj);
            *tuple = (tr_obj){.kind = TR_OBJ_TUPLE, .repr = "tuple"};
        } else if (!tr_rd_accept_word(&r->in, "_") && !(o = read_obj(r))) {
            return false;
        }
        tr_vec_push(&r->ctx->arena, args, o);
        if (tuple && !read_site_args(r, args, depth + 1, &tuple->u.t.n))
            return false;
    }
}

static bool read_exc(reader *r, uint32_t *exc) {
    const char *name = need_word(r, "an exception");
    int64_t number;
    *exc = 0;
    while (name && *exc < TR_EXC__COUNT && strcmp(tr_exc_name[*exc], name) != 0)
        ++*exc;
    if (!name || *exc < TR_EXC__COUNT)
        return name != NULL;
    char *end;
    number = strncmp(name, "exc", 3) == 0 && name[3] ? strtoll(name + 3, &end, 10) : -1;
    *exc = TR_EXC__COUNT + (uint32_t)number;
    return number >= 0 && number < UINT16_MAX && !*end;
}

static bool read_site(fnreader *k, const tr_site **out) {
    reader *r = k->r;
    if (!tr_rd_accept(&r->in, '!'))
        return true;
    tr_site *s = TR_NEW(&r->ctx->arena, tr_site);
    if (!read_exc(r, &s->exc))
        return fail_at(r, r->in.p, "no exception of this name");
    *out = s;
    s->nargs = -1;
    if (at_quote(r) && !(s->text = read_string(r)))
        return false;
    if (!tr_rd_accept(&r->in, '('))
        return true;
    site_args args = {0};
    if (!read_site_args(r, &args, 0, NULL))
        return false;
    s->nargs = (int32_t)args.n;
    s->args = args.d;
    return true;
}

static bool read_callpy(fnreader *k, tr_ins *i, vals *args) {
    reader *r = k->r;
    tr_arena *a = &r->ctx->arena;
    tr_callinfo *c = TR_NEW(a, tr_callinfo);
    TR_VEC(const char *) kw = {0};
    tr_val v;
    i->imm.call = c;
    if (!read_val(k, &v) || !expect(r, '('))
        return false;
    tr_vec_push(a, args, v);
    while (!tr_rd_accept(&r->in, ')')) {
        if (args->n > 1 && !expect(r, ','))
            return false;
        if (tr_rd_accept(&r->in, '*')) {
            if (tr_rd_accept(&r->in, '*')) {
                c->starstar = true;
                return expect(r, ')');
            }
            if (args->n > 1)
                return fail_at(r, r->in.p, "a star may only stand before the first argument");
            c->star = true;
        }
        tr_rd_skip(&r->in);
        size_t n = tr_rd_word_length(r->in.p);
        if (n && r->in.p[n] == '=') {
            tr_vec_push(a, &kw, tr_arena_strndup(a, r->in.p, n));
            r->in.p += n + 1;
        } else if (kw.n) {
            return fail_at(r, r->in.p, "positional arguments come first");
        }
        if (!read_val(k, &v))
            return false;
        tr_vec_push(a, args, v);
    }
    c->nkw = kw.n;
    c->kwnames = kw.d;
    return true;
}

static bool read_callrt(fnreader *k, tr_ins *i, vals *args) {
    reader *r = k->r;
    tr_rtcall *rt = TR_NEW(&r->ctx->arena, tr_rtcall);
    tr_rd_skip(&r->in);
    const char *at = r->in.p, *name = need_word(r, "a function of the run-time library");
    unsigned row = 0;
    while (name && row < TR_RT__COUNT && strcmp(tr_rt_info[row].name, name) != 0)
        row++;
    if (!name || row == TR_RT__COUNT)
        return fail_at(r, at, "no such function in the run-time library");
    rt->row = (uint16_t)row;
    i->imm.rt = rt;
    if (!expect(r, '(') || !read_vals(k, ')', args))
        return false;
    return !at_quote(r) || (rt->text = read_string(r)) != NULL;
}

static bool read_indexed(fnreader *k, vals *args) {
    tr_val v;
    if (!read_val(k, &v))
        return false;
    tr_vec_push(&k->r->ctx->arena, args, v);
    return expect(k->r, '[') && read_vals(k, ']', args);
}

static bool read_named(reader *r, const char *const *names, unsigned count, const char *what, unsigned *out) {
    tr_rd_skip(&r->in);
    const char *at = r->in.p, *word = need_word(r, what);
    for (unsigned n = 0; word && n < count; n++)
        if (!strcmp(names[n], word)) {
            *out = n;
            return true;
        }
    return fail_at(r, at, "expected %s", what);
}

/* "fast", or a part of it. */
static bool read_fast(reader *r, uint8_t *set) {
    if (tr_rd_accept_word(&r->in, "fast")) {
        *set = TR_FM_ALL;
        return true;
    }
#define X(id, name, bit)                   \
    if (tr_rd_accept_word(&r->in, name)) { \
        *set |= TR_FM_##id;                \
        return true;                       \
    }
    TR_FASTMATH(X)
#undef X
    return false;
}

static bool read_scatters(fnreader *k, tr_pat *p, vals *args) {
    reader *r = k->r;
    TR_VEC(uint8_t) how = {0};
    if (!tr_rd_accept_word(&r->in, "scatter"))
        return true;
    if (!expect(r, '('))
        return false;
    while (!tr_rd_accept(&r->in, ')')) {
        unsigned which;
        tr_val v;
        if ((how.n && !expect(r, ',')) ||
            !read_named(r, tr_scatter_name, TR_SCATTER__COUNT, "put, or a reduction", &which) ||
            !read_val(k, &v))
            return false;
        tr_vec_push(&r->ctx->arena, &how, (uint8_t)which);
        tr_vec_push(&r->ctx->arena, args, v);
    }
    if (how.n > UINT16_MAX)
        return fail_at(r, r->in.p, "too many scatters");
    p->nscat = (uint16_t)how.n;
    p->scats = how.d;
    return true;
}

static bool read_reductions(fnreader *k, tr_pat *p, vals *args) {
    reader *r = k->r;
    TR_VEC(tr_redk) reds = {0};
    TR_VEC(uint8_t) fast = {0};
    uint32_t nscan = 0;
    if (!tr_rd_accept_word(&r->in, "red"))
        return true;
    if (!expect(r, '('))
        return false;
    while (!tr_rd_accept(&r->in, ')')) {
        unsigned which;
        uint8_t set = 0;
        tr_val v;
        if (reds.n && !expect(r, ','))
            return false;
        if (tr_rd_accept_word(&r->in, "scan") && nscan++ != reds.n)
            return fail_at(r, r->in.p, "scans come before other reductions");
        if (!read_named(r, tr_red_name, TR_RED__COUNT, "a reduction", &which))
            return false;
        while (*r->in.p == '.') {
            r->in.p++;
            if (!read_fast(r, &set))
                return fail_at(r, r->in.p, "expected fast, or one of its parts");
        }
        if (!read_val(k, &v))
            return false;
        tr_vec_push(&r->ctx->arena, &reds, (tr_redk)which);
        tr_vec_push(&r->ctx->arena, &fast, set);
        tr_vec_push(&r->ctx->arena, args, v);
    }
    if (reds.n > UINT16_MAX || nscan > UINT8_MAX)
        return fail_at(r, r->in.p, "too many reductions");
    p->nred = (uint16_t)reds.n;
    p->nscan = (uint8_t)nscan;
    p->reds = reds.d;
    p->fast = fast.d;
    return true;
}

/* "[keep %n, %m]" */
static bool read_space(fnreader *k, tr_pat *p, vals *args) {
    reader *r = k->r;
    tr_val v;
    if (!tr_rd_accept(&r->in, '['))
        return true;
    while (!tr_rd_accept(&r->in, ']')) {
        if (args->n && !expect(r, ','))
            return false;
        if (args->n >= TR_MAX_NDIM)
            return fail_at(r, r->in.p, "more than %d dimensions", TR_MAX_NDIM);
        if (tr_rd_accept_word(&r->in, "keep"))
            p->keep |= 1u << args->n;
        if (!read_val(k, &v))
            return false;
        tr_vec_push(&r->ctx->arena, args, v);
    }
    p->nspace = (uint8_t)args->n;
    return true;
}

static bool read_values(fnreader *k, const char *word, vals *args, uint16_t *n) {
    uint32_t count;
    if (!read_group(k, word, args, &count))
        return false;
    *n = (uint16_t)count;
    return true;
}

static fnreader *lambda_reader(fnreader *k) {
    fnreader *in = TR_NEW(&k->r->ctx->arena, fnreader);
    *in = (fnreader){.r = k->r, .place_fn = k->place_fn, .place_file = k->place_file};
    in->f = tr_fn_new(k->r->ctx, tr_arena_printf(&k->r->ctx->arena, "%s.lambda", k->f->name), k->f->stage);
    in->f->is_lambda = true;
    in->f->file = k->f->file;
    return in;
}

/* "schedule(line, chunk 512)" */
static bool read_schedule(reader *r, tr_sched *s) {
    const char *words[TR_SCHED__COUNT];
    unsigned which;
    for (unsigned i = 0; i < TR_SCHED__COUNT; i++)
        words[i] = tr_sched_info[i].word;
    if (!tr_rd_accept_word(&r->in, "schedule"))
        return true;
    if (!expect(r, '('))
        return false;
    for (bool more = false; !tr_rd_accept(&r->in, ')'); more = true) {
        int64_t n = 1;
        if ((more && !expect(r, ',')) ||
            !read_named(r, words, TR_SCHED__COUNT, "a part of a schedule", &which))
            return false;
        const tr_schedinfo *in = &tr_sched_info[which];
        bool axis = in->form == TR_SCHED_AXIS;
        if (in->form != TR_SCHED_FLAG && !read_int(r, axis ? 0 : 1, axis ? in->max - 1 : in->max, &n))
            return false;
        *tr_sched_field(s, which) = (uint32_t)(axis ? n + 1 : n);
    }
    return true;
}

static bool read_pattern(fnreader *k, tr_ins *i, vals *args) {
    reader *r = k->r;
    tr_pat *p = TR_NEW(&r->ctx->arena, tr_pat);
    i->imm.pat = p;
    for (unsigned w = TR_PAR_NO + 1; w < TR_PAR__COUNT && !p->par; w++)
        p->par = tr_rd_accept_word(&r->in, tr_par_name[w]) ? (uint8_t)w : TR_PAR_NO;
    p->apart = tr_rd_accept_word(&r->in, "apart");
    if (!read_space(k, p, args) || !read_values(k, "in", args, &p->nin) ||
        !read_values(k, "out", args, &p->nout) || !read_values(k, "filter", args, &p->nfilt) ||
        !read_scatters(k, p, args) || !read_reductions(k, p, args) || !read_values(k, "cap", args, &p->ncap))
        return false;
    uint16_t nwhen, ncost;
    if (tr_rd_accept_word(&r->in, "then")) {
        p->epi = k->f; /* replaced when its text is read, after that of the lambda */
        if (!read_values(k, "in", args, &p->nein) || !read_values(k, "out", args, &p->neout))
            return false;
    }
    if (!read_values(k, "when", args, &nwhen) || !read_values(k, "cost", args, &ncost))
        return false;
    p->nwhen = (uint8_t)nwhen;
    p->ncost = (uint8_t)ncost;
    if (nwhen > 1 || ncost > 1)
        return fail_at(r, r->in.p, "a pattern has one condition and one cost at most");
    return read_schedule(r, &p->sched);
}

static bool read_lambda(fnreader *k, tr_fn **out) {
    reader *r = k->r;
    if (!expect(r, '{'))
        return false;
    if (r->in.depth >= MAX_LAMBDAS)
        return fail_at(r, r->in.p, "patterns are nested too deeply");
    fnreader *in = lambda_reader(k);
    *out = in->f;
    r->in.depth++;
    bool ok = read_body(in);
    r->in.depth--;
    return ok;
}

/* "{ blocks }" after a pattern, and once more for its epilogue. */
static bool read_lambdas(fnreader *k, tr_pat *p) {
    return read_lambda(k, &p->lam) && (!p->epi || read_lambda(k, &p->epi));
}

static bool read_sub(reader *r, tr_ins *i) {
    static const char *const math[] = {
#define X(id, name, arity, intr, f64, f32, cplx, dev, res) name,
#include "ir/math.def"
#undef X
    };
    unsigned n = i->sub;
    bool ok = true;
    switch (i->op) {
    case TR_OP_BINARY:
    case TR_OP_INPLACE: ok = read_named(r, tr_bin_name, TR_BIN__COUNT, "an operator", &n); break;
    case TR_OP_UNARY: ok = read_named(r, tr_un_name, TR_UN__COUNT, "an operator", &n); break;
    case TR_OP_COMPARE:
    case TR_OP_CMP: ok = read_named(r, tr_cmp_name, TR_CMP__COUNT, "a comparison", &n); break;
    case TR_OP_MATH: ok = read_named(r, math, TR_MATH__COUNT, "a function", &n); break;
    case TR_OP_IS:
    case TR_OP_IN: n = tr_rd_accept_word(&r->in, "not"); break;
    case TR_OP_WRAP: n = tr_rd_accept_word(&r->in, "unchecked"); break;
    case TR_OP_ATOMIC: ok = read_named(r, tr_atomic_name, TR_ATOMIC__COUNT, "an atomic operation", &n); break;
    case TR_OP_UNDEFVAR:
        n = tr_rd_accept_word(&r->in, "global") ? 1 : tr_rd_accept_word(&r->in, "free") ? 2 : 0;
        break;
    default: break;
    }
    i->sub = (uint8_t)n;
    return ok;
}

/* Operands "a, b, c" to the end, or up to something that is not a value. */
static bool read_plain(fnreader *k, const tr_ins *i, vals *args) {
    reader *r = k->r;
    int8_t want = tr_op_info[i->op].nargs;
    tr_rd_skip(&r->in);
    if (want == 0 || !*r->in.p || strchr("\r\n;!{}", *r->in.p) ||
        (*r->in.p == '@' && isdigit((unsigned char)r->in.p[1])))
        return true;
    do {
        tr_val v;
        if (!read_val(k, &v))
            return false;
        tr_vec_push(&r->ctx->arena, args, v);
    } while ((want < 0 || args->n < (uint32_t)want) && tr_rd_accept(&r->in, ','));
    return true;
}

/* The number or text after the operands. */
static bool read_immediate(fnreader *k, tr_ins *i, bool any_args) {
    reader *r = k->r;
    int64_t n, of;
    switch (i->op) {
    case TR_OP_UNPACK:
        if (!expect(r, ',') || !read_int(r, 0, UINT32_MAX, &n) || !tr_rd_accept_word(&r->in, "of") ||
            !read_int(r, 0, INT32_MAX, &of))
            return fail_at(r, r->in.p, "expected a number as in '0 of 2'");
        i->imm.i = n | of << 32;
        return true;
    case TR_OP_THREADIDX:
    case TR_OP_BLOCKIDX:
    case TR_OP_BLOCKDIM:
    case TR_OP_GRIDDIM: return read_int(r, 0, 2, &i->imm.i);
    case TR_OP_EXTRACT:
    case TR_OP_DIM:
    case TR_OP_STRIDE: return expect(r, ',') && read_int(r, 0, UINT32_MAX, &i->imm.i);
    case TR_OP_GETATTR:
    case TR_OP_UNDEFVAR:
    case TR_OP_CHECKDEF: return (!any_args || expect(r, ',')) && (i->imm.s = read_string(r)) != NULL;
    case TR_OP_ALLOC:
    case TR_OP_CHECK:
    case TR_OP_CHECKIDX:
    case TR_OP_BCAST:
    case TR_OP_BCASTTO:
    case TR_OP_RAISE: return read_site(k, &i->imm.site);
    default: return true;
    }
}

/* "1 same 3 (%a, %b, %c)" */
static bool read_meet(fnreader *k, tr_ins *i, vals *args) {
    reader *r = k->r;
    int64_t written, same = 0;
    if (!read_int(r, 0, 255, &written) ||
        (tr_rd_accept_word(&r->in, "same") && !read_int(r, 0, INT64_MAX >> 8, &same)))
        return false;
    i->imm.i = written | same << 8;
    return expect(r, '(') && read_vals(k, ')', args);
}

/* An axis of a view's base that has an index alone, or runs along axis `as` of the result; or a new one. */
typedef struct view_axis {
    tr_val start, size, step;
    int as;
} view_axis;

static bool read_view_axis(fnreader *k, view_axis *x, int *next) {
    reader *r = k->r;
    int64_t as = *next;
    *x = (view_axis){TR_NOVAL, TR_NOVAL, TR_NOVAL, -1};
    bool is_new = tr_rd_accept_word(&r->in, "new");
    if (!read_val(k, is_new ? &x->size : &x->start))
        return false;
    if (!is_new && !tr_rd_accept_word(&r->in, "for"))
        return true;
    x->step = tr_const_int(k->f, tr_ty_scalar(r->ctx->types, TR_TY_I64), !is_new);
    if (!is_new && (!read_val(k, &x->size) || (tr_rd_accept_word(&r->in, "by") && !read_val(k, &x->step))))
        return false;
    if (tr_rd_accept_word(&r->in, "as") && !read_int(r, 0, TR_VIEW_AXES - 1, &as))
        return false;
    x->as = (int)as;
    *next += 1;
    return true;
}

/* "%a[%i, 0 for %n by 2, new 1]": see print.c. */
static bool read_view(fnreader *k, tr_ins *i, vals *args) {
    reader *r = k->r;
    view_axis x[TR_VIEW_BASE_AXES + TR_VIEW_AXES];
    tr_val base;
    unsigned n = 0;
    int nout = 0;
    if (!read_val(k, &base) || !expect(r, '['))
        return false;
    const char *at = r->in.p;
    while (!tr_rd_accept(&r->in, ']')) {
        if (n && !expect(r, ','))
            return false;
        if (n == sizeof x / sizeof *x)
            return fail_at(r, at, "a view has at most %d axes", TR_VIEW_AXES);
        if (!read_view_axis(k, &x[n++], &nout))
            return false;
    }
    if (!i->ty || i->ty->kind != TR_TY_ARRAY || i->ty->ndim != nout)
        return fail_at(r, at, "a view with %d axes of another type", nout);
    uint32_t nbase = 0;
    tr_val by[2 * TR_VIEW_AXES];
    memset(by, 0xff, sizeof by);
    tr_vec_push(&r->ctx->arena, args, base);
    for (unsigned j = 0; j < n; j++) {
        bool fits = x[j].as < nout && nout <= TR_VIEW_AXES && nbase < TR_VIEW_BASE_AXES;
        if (!fits || (x[j].as >= 0 && by[x[j].as] != TR_NOVAL))
            return fail_at(r, at, "axes of a view are numbered from 0, each once");
        if (x[j].as >= 0) {
            by[x[j].as] = x[j].size;
            by[nout + x[j].as] = x[j].step;
            i->imm.i |= tr_view_along((unsigned)x[j].as, x[j].start == TR_NOVAL ? -1 : (int)nbase);
        }
        if (x[j].start != TR_NOVAL) {
            nbase++;
            tr_vec_push(&r->ctx->arena, args, x[j].start);
        }
    }
    for (int j = 0; j < 2 * nout; j++)
        tr_vec_push(&r->ctx->arena, args, by[j]);
    return true;
}

static bool read_operands(fnreader *k, tr_ins *i, vals *args) {
    reader *r = k->r;
    int64_t n;
    tr_val v;
    switch (i->op) {
    case TR_OP_BR: i->imm.succ = TR_NEW(&r->ctx->arena, tr_edge); return read_edge(k, i->imm.succ);
    case TR_OP_CBR:
        i->imm.succ = TR_NEW_N(&r->ctx->arena, tr_edge, 2);
        if (!read_val(k, &v))
            return false;
        tr_vec_push(&r->ctx->arena, args, v);
        return expect(r, ',') && read_edge(k, &i->imm.succ[0]) && expect(r, ',') &&
               read_edge(k, &i->imm.succ[1]);
    case TR_OP_TRY:
        i->imm.succ = TR_NEW_N(&r->ctx->arena, tr_edge, 2);
        return read_edge(k, &i->imm.succ[0]) && expect(r, ',') && read_edge(k, &i->imm.succ[1]);
    case TR_OP_CALLPY: return read_callpy(k, i, args);
    case TR_OP_CALL:
    case TR_OP_CLOSURE:
        if (!expect(r, '#') || !read_int(r, 0, UINT32_MAX - 1, &n))
            return false;
        i->imm.fn = (uint32_t)n;
        return expect(r, '(') && read_vals(k, ')', args);
    case TR_OP_MEET: return read_meet(k, i, args);
    case TR_OP_CALLRT: return read_callrt(k, i, args);
    case TR_OP_VIEW: return read_view(k, i, args);
    case TR_OP_LOAD: return read_indexed(k, args);
    case TR_OP_STORE:
    case TR_OP_ATOMIC:
    case TR_OP_CAS:
        if (!read_indexed(k, args))
            return false;
        for (unsigned left = i->op == TR_OP_CAS ? 2 : 1; left > 0; left--) {
            if (!expect(r, ',') || !read_val(k, &v))
                return false;
            tr_vec_push(&r->ctx->arena, args, v);
        }
        return true;
    case TR_OP_PATTERN: return read_pattern(k, i, args);
    default: return read_plain(k, i, args) && read_immediate(k, i, args->n > 0);
    }
}

static bool read_op(fnreader *k, tr_ins *i) {
    reader *r = k->r;
    tr_rd_skip(&r->in);
    const char *at = r->in.p, *name = need_word(r, "an instruction");
    if (!name)
        return false;
    unsigned op = 0;
    while (op < TR_OP__COUNT &&
           (strcmp(tr_op_info[op].name, name) != 0 || !(tr_op_info[op].stages & k->f->stage)))
        op++;
    if (op == TR_OP__COUNT || op == TR_OP_PARAM || tr_is_const(&(tr_ins){.op = (uint16_t)op}))
        return fail_at(r, at, "no instruction '%s' in this stage", name);
    i->op = (uint16_t)op;
    while (*r->in.p == '.') {
        r->in.p++;
        uint8_t fast = 0;
        if (tr_rd_accept_word(&r->in, "nsw"))
            i->flags |= F_NSW;
        else if (read_fast(r, &fast))
            i->flags |= (uint8_t)(fast << F_FAST_SHIFT);
        else
            return fail_at(r, r->in.p, "expected nsw or fast, or one of fast's parts");
    }
    return true;
}

/* One line: [%name [: type] =] op operands [place] [{ lambda }]. */
static bool read_ins(fnreader *k) {
    reader *r = k->r;
    const char *at = r->in.p, *name = NULL;
    tr_ins i = {.blk = TR_NOBLK};
    memset(&i.imm, 0, sizeof i.imm);
    vals args = {0};
    if (tr_rd_accept(&r->in, '%')) {
        if (!(name = read_name(r)))
            return false;
        if (tr_rd_accept(&r->in, ':') && !(i.ty = read_type(r)))
            return false;
        if (!expect(r, '='))
            return false;
    }
    if (!read_op(k, &i))
        return false;
    bool result = tr_op_info[i.op].result != '-';
    if (result != (name != NULL))
        return fail_at(r, at, result ? "the result needs a name" : "this instruction has no result");
    if (result && (i.ty != NULL) != (k->f->stage == S_T))
        return fail_at(r, at, i.ty ? "values have no types in this stage" : "the result needs a type");
    if (!read_sub(r, &i) || !read_operands(k, &i, &args) || !read_loc(k, &i.loc) ||
        (i.op == TR_OP_PATTERN && !read_lambdas(k, i.imm.pat)))
        return false;
    tr_rd_skip(&r->in);
    if (*r->in.p && !strchr("\r\n;}", *r->in.p))
        return fail_at(r, r->in.p, "expected the end of the line");
    tr_val v = name ? define(k, name, at) : tr_ins_new(k->f, (tr_op)i.op, NULL);
    if (v == TR_NOVAL)
        return false;
    i.args = args.d;
    i.nargs = args.n;
    i.prev = i.next = TR_NOVAL;
    *tr_at(k->f, v) = i;
    tr_ins_link(k->f, v, k->b, TR_NOVAL);
    return true;
}

/* --- blocks and functions --- */

static bool read_params(fnreader *k) {
    reader *r = k->r;
    do {
        tr_rd_skip(&r->in);
        const char *at = r->in.p, *name = expect(r, '%') ? read_name(r) : NULL;
        const tr_ty *ty = NULL;
        if (!name || (tr_rd_accept(&r->in, ':') && !(ty = read_type(r))))
            return false;
        if ((ty != NULL) != (k->f->stage == S_T))
            return fail_at(r, at, ty ? "values have no types in this stage" : "the param needs a type");
        tr_val v = define(k, name, at);
        if (v == TR_NOVAL)
            return false;
        tr_ins *i = tr_at(k->f, v);
        i->op = TR_OP_PARAM;
        i->ty = ty;
        i->blk = k->b;
        tr_vec_push(&r->ctx->arena, &k->f->blks.d[k->b].params, v);
    } while (tr_rd_accept(&r->in, ','));
    return expect(r, ')');
}

static bool read_block(fnreader *k) {
    reader *r = k->r;
    const char *at = r->in.p;
    if (!read_block_name(k, &k->b))
        return false;
    for (uint32_t i = 0; i < k->defined.n; i++)
        if (k->defined.d[i] == k->b)
            return fail_at(r, at, "this block is defined twice");
    tr_vec_push(&r->ctx->arena, &k->defined, k->b);
    if (tr_rd_accept(&r->in, '(') && !read_params(k))
        return false;
    for (uint8_t c = 1; c < TR_COLD__COUNT; c++)
        if (tr_rd_accept_word(&r->in, tr_cold_name[c]))
            tr_blk_at(k->f, k->b)->cold = c;
    if (!expect(r, ':'))
        return false;
    for (skip_lines(r); *r->in.p && *r->in.p != '}'; skip_lines(r)) {
        if (*r->in.p == 'b' && isdigit((unsigned char)r->in.p[1]))
            return true;
        if (!read_ins(k))
            return false;
    }
    return true;
}

/* Blocks get the order of the text, whatever was mentioned first. */
static void order_blocks(fnreader *k) {
    tr_fn *f = k->f;
    tr_bid *to = TR_NEW_N(&k->r->ctx->arena, tr_bid, f->blks.n + 1);
    tr_blk *blks = TR_NEW_N(&k->r->ctx->arena, tr_blk, f->blks.n + 1);
    for (uint32_t i = 0; i < k->defined.n; i++) {
        to[k->defined.d[i]] = i;
        blks[i] = f->blks.d[k->defined.d[i]];
    }
    for (tr_val v = 0; v < f->ins.n; v++) {
        tr_ins *i = tr_at(f, v);
        if (i->blk != TR_NOBLK)
            i->blk = to[i->blk];
        for (uint32_t s = 0; s < tr_nsucc(i); s++)
            i->imm.succ[s].to = to[i->imm.succ[s].to];
    }
    memcpy(f->blks.d, blks, f->blks.n * sizeof *blks);
}

/* Blocks up to "}", which is taken. */
static bool read_body(fnreader *k) {
    reader *r = k->r;
    const char *start = r->in.p;
    for (skip_lines(r); !tr_rd_accept(&r->in, '}'); skip_lines(r)) {
        if (!*r->in.p)
            return fail_at(r, r->in.p, "expected '}'");
        if (!read_block(k))
            return false;
    }
    if (k->forwards.n)
        return fail_at(r, k->forwards.d[0].at, "%%%s is not defined", k->forwards.d[0].name);
    if (!k->defined.n)
        return fail_at(r, start, "a function needs a block");
    if (k->defined.n != k->f->blks.n)
        return fail_at(r, start, "a block that is gone to is not defined");
    order_blocks(k);
    return true;
}

static bool read_head(fnreader *k) {
    reader *r = k->r;
    uint8_t kind = 0;
    for (uint8_t i = 1; i < TR_FN__COUNT; i++)
        kind = tr_rd_accept_word(&r->in, tr_fnkind_name[i]) ? i : kind;
    bool front = tr_rd_accept_word(&r->in, "front"), lambda = !front && tr_rd_accept_word(&r->in, "lambda");
    if (!front && !lambda && !tr_rd_accept_word(&r->in, "fn"))
        return fail_at(r, r->in.p, "expected fn, front or lambda");
    const char *name = expect(r, '@') ? read_name(r) : NULL;
    if (!name)
        return false;
    k->f = tr_fn_new(r->ctx, name, front ? S_F : S_T);
    k->f->is_lambda = lambda;
    k->f->kind = kind;
    k->place_fn = name;
    if (tr_rd_accept(&r->in, '-') && !(expect(r, '>') && (k->f->ret = read_type(r))))
        return false;
    if (tr_rd_accept_word(&r->in, "in") && !(k->place_fn = read_string(r)))
        return false;
    if (tr_rd_accept_word(&r->in, "of") && !(k->f->file = read_string(r)))
        return false;
    k->place_file = k->f->file;
    return expect(r, '{');
}

static void add_function(tr_prog *p, tr_fn *f) {
    tr_arena *a = &p->ctx->arena;
    p->handles = p->handles || tr_fn_handles(f);
    const tr_blk *entry = tr_blk_at(f, 0);
    uint32_t n = entry->params.n;
    if (f->stage == S_F) {
        const char **names = TR_NEW_N(a, const char *, n);
        for (uint32_t i = 0; i < n; i++) {
            tr_val v = entry->params.d[i];
            names[i] = v < f->names.n && f->names.d[v] ? f->names.d[v] : tr_arena_printf(a, "arg%u", i);
        }
        f->func = p->funcs.n;
        tr_vec_push(a, &p->funcs,
                    (tr_func){.name = f->name,
                              .qualname = f->name,
                              .file = f->file,
                              .nargs = n,
                              .argnames = names,
                              .defaults = TR_NEW_N(a, const tr_obj *, n),
                              .ssa = f});
        return;
    }
    const tr_ty **args = TR_NEW_N(a, const tr_ty *, n);
    for (uint32_t i = 0; i < n; i++)
        args[i] = tr_at(f, entry->params.d[i])->ty;
    tr_vec_push(a, &p->insts,
                (tr_inst){.func = UINT32_MAX, .nargs = n, .args = args, .ret = f->ret, .fn = f});
}

bool tr_ir_parse(tr_ctx *ctx, const char *text, const char *file, tr_prog *out) {
    reader r = {.in = {.a = &ctx->arena, .text = text, .p = text, .blanks = " \t"}, .ctx = ctx, .file = file};
    for (skip_lines(&r); *r.in.p; skip_lines(&r)) {
        fnreader k = {.r = &r};
        if (!read_head(&k) || !read_body(&k))
            return false;
        add_function(out, k.f);
    }
    return true;
}
