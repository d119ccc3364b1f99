/* Reads the IR's text (docs/ir.md), the inverse of print.c. Syntax and names are checked here, meaning by
 * verify.c: what is read may be wrong IR, but printing and verifying it is safe. */
#include "ir/parse.h"

#include <ctype.h>
#include <string.h>

/* --- characters --- */

/* The first error is the one that says something. */
bool tr_parse_fail(tr_parser *r, const char *at, const char *fmt, ...) {
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
static void skip_lines(tr_parser *r) {
    for (;; r->in.p++) {
        if (*r->in.p == ';')
            while (*r->in.p && *r->in.p != '\n')
                r->in.p++;
        if (*r->in.p != ' ' && *r->in.p != '\n' && *r->in.p != '\t' && *r->in.p != '\r')
            return;
    }
}

bool tr_parse_expect(tr_parser *r, char c) {
    return tr_rd_accept(&r->in, c) || tr_parse_fail(r, r->in.p, "expected '%c'", c);
}

const char *tr_parse_word(tr_parser *r, const char *what) {
    const char *word = tr_rd_word(&r->in);
    if (!word)
        tr_parse_fail(r, r->in.p, "expected %s", what);
    return word;
}

bool tr_parse_int(tr_parser *r, int64_t min, int64_t max, int64_t *out) {
    return tr_rd_int(&r->in, min, max, out) ||
           tr_parse_fail(r, r->in.p, "expected a number of at least %lld", (long long)min);
}

bool tr_parse_at_quote(tr_parser *r) {
    return tr_rd_peek(&r->in) == '"';
}

const char *tr_parse_string(tr_parser *r) {
    const char *start = r->in.p;
    const tr_obj *o = tr_parse_at_quote(r) ? tr_obj_parse_ir(r->ctx->types, &r->in.p) : NULL;
    if (!o || o->kind != TR_OBJ_STR || memchr(o->u.s.d, 0, o->u.s.n)) {
        tr_parse_fail(r, start, "expected a text in quotes");
        return NULL;
    }
    return o->u.s.d;
}

/* A name as print.c writes it: a word with dots, or a quoted text. */
static const char *read_name(tr_parser *r) {
    if (tr_parse_at_quote(r))
        return tr_parse_string(r);
    size_t n = 0;
    while (tr_rd_is_word_char(r->in.p[n]) || r->in.p[n] == '.')
        n++;
    if (!n) {
        tr_parse_fail(r, r->in.p, "expected a name");
        return NULL;
    }
    r->in.p += n;
    return tr_arena_strndup(&r->ctx->arena, r->in.p - n, n);
}

static const tr_ty *read_type(tr_parser *r) {
    tr_rd_skip(&r->in);
    const char *start = r->in.p;
    const tr_ty *t = tr_ty_parse_ir(r->ctx->types, &r->in.p);
    if (!t)
        tr_parse_fail(r, start, "expected a type");
    return t;
}

const tr_obj *tr_parse_obj(tr_parser *r) {
    tr_rd_skip(&r->in);
    const char *start = r->in.p;
    const tr_obj *o = tr_obj_parse_ir(r->ctx->types, &r->in.p);
    if (!o)
        tr_parse_fail(r, start, "expected a value");
    return o;
}

/* --- values and blocks --- */

static bool all_digits(const char *s) {
    while (isdigit((unsigned char)*s))
        s++;
    return *s == 0;
}

static tr_val value_slot(tr_fnparser *k, const char *name, const char *at) {
    tr_arena *a = &k->r->ctx->arena;
    uintptr_t known = (uintptr_t)tr_smap_get(&k->values, name, strlen(name));
    if (known)
        return (tr_val)(known - 1);
    tr_val v = tr_ins_new(k->f, TR_OP_UNDEF, NULL);
    tr_smap_set(a, &k->values, name, strlen(name), (void *)((uintptr_t)v + 1));
    tr_vec_push(a, &k->forwards, (tr_forward){name, at, v});
    if (!all_digits(name))
        tr_val_name(k->f, v, name);
    return v;
}

/* The slot of a value that is being defined here. */
static tr_val define(tr_fnparser *k, const char *name, const char *at) {
    tr_val v = value_slot(k, name, at);
    for (uint32_t i = k->forwards.n; i-- > 0;)
        if (k->forwards.d[i].v == v) {
            k->forwards.d[i] = k->forwards.d[--k->forwards.n];
            return v;
        }
    tr_parse_fail(k->r, at, "%%%s is defined twice", name);
    return TR_NOVAL;
}

static bool number_const(tr_fnparser *k, const tr_obj *o, const char *at, tr_val *out) {
    tr_tytab *t = k->r->ctx->types;
    const tr_ty *ty = o->ty;
    int64_t i;
    switch ((tr_objk)o->kind) {
    case TR_OBJ_INT:
        if (!tr_bigint_i64(&o->u.n, &i))
            return tr_parse_fail(k->r, at, "the number does not fit i64");
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
        if (!tr_parse_expect(k->r, ':') || !(ty = read_type(k->r)))
            return false;
        if (ty->kind != TR_TY_ARRAY || ty->ndim != o->ty->ndim || ty->elem != o->ty->elem)
            return tr_parse_fail(k->r, at, "the array is not of this type");
        *out = tr_const_arr(k->f, ty, o);
        return true;
    default: return tr_parse_fail(k->r, at, "expected a number, a value or undef");
    }
}

bool tr_parse_val(tr_fnparser *k, tr_val *out) {
    tr_parser *r = k->r;
    tr_rd_skip(&r->in);
    const char *at = r->in.p;
    if (tr_rd_accept(&r->in, '%')) {
        const char *name = *r->in.p == '"' ? NULL : read_name(r);
        if (!name)
            return tr_parse_fail(r, at, "expected a value's name");
        *out = value_slot(k, name, at);
        return true;
    }
    if (k->f->stage == S_F) {
        const tr_obj *o = tr_parse_obj(r);
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
        const tr_ty *t = tr_parse_expect(r, ':') ? read_type(r) : NULL;
        if (t)
            *out = tr_const_undef(k->f, t);
        return t != NULL;
    }
    const tr_obj *o = tr_parse_obj(r);
    return o && number_const(k, o, at, out);
}

/* Values up to `end`, which is taken. */
bool tr_parse_vals(tr_fnparser *k, char end, tr_vals *out) {
    uint32_t start = out->n;
    while (!tr_rd_accept(&k->r->in, end)) {
        tr_val v;
        if (out->n > start && !tr_parse_expect(k->r, ','))
            return false;
        if (!tr_parse_val(k, &v))
            return false;
        tr_vec_push(&k->r->ctx->arena, out, v);
    }
    return true;
}

static bool read_block_name(tr_fnparser *k, tr_bid *out) {
    tr_parser *r = k->r;
    int64_t n;
    uint64_t b;
    tr_rd_skip(&r->in);
    if (*r->in.p != 'b' || !isdigit((unsigned char)r->in.p[1]))
        return tr_parse_fail(r, r->in.p, "expected a block, as in b1");
    r->in.p++;
    if (!tr_parse_int(r, 0, UINT32_MAX, &n))
        return false;
    if (!tr_map_get(&k->blocks, (uint64_t)n, &b)) {
        b = tr_blk_new(k->f);
        tr_map_set(&r->ctx->arena, &k->blocks, (uint64_t)n, b);
    }
    *out = (tr_bid)b;
    return true;
}

bool tr_parse_edge(tr_fnparser *k, tr_edge *e) {
    tr_vals args = {0};
    tr_bid to;
    if (!read_block_name(k, &to) || (tr_rd_accept(&k->r->in, '(') && !tr_parse_vals(k, ')', &args)))
        return false;
    *e = tr_edge_make(k->f, to, args.n, args.d);
    return true;
}

/* --- places --- */

static bool read_span(tr_parser *r, tr_span *s) {
    int64_t n;
    *s = (tr_span){.col = -1, .end_col = -1};
    if (!tr_parse_int(r, 0, INT32_MAX, &n))
        return false;
    s->line = (int32_t)n;
    if (tr_rd_accept(&r->in, ':')) {
        if (!tr_parse_int(r, 0, INT32_MAX, &n))
            return false;
        s->col = (int32_t)n;
    }
    if (!tr_rd_accept(&r->in, '-'))
        return true;
    if (!tr_parse_int(r, 1, INT32_MAX, &n))
        return false;
    s->end_line = (int32_t)n;
    if (tr_rd_accept(&r->in, ':')) {
        if (!tr_parse_int(r, 0, INT32_MAX, &n))
            return false;
        s->end_col = (int32_t)n;
    }
    return true;
}

static bool read_place(tr_fnparser *k, tr_place *out) {
    *out = (tr_place){.fn = k->place_fn, .file = k->place_file};
    if (!read_span(k->r, &out->span))
        return false;
    if (tr_rd_accept_word(&k->r->in, "in") && !(out->fn = tr_parse_string(k->r)))
        return false;
    return !tr_rd_accept_word(&k->r->in, "of") || (out->file = tr_parse_string(k->r)) != NULL;
}

/* "@3:4-3:8 < @9:4 ...", innermost first. */
static bool read_loc(tr_fnparser *k, uint32_t *out) {
    TR_VEC(tr_place) chain = {0};
    *out = 0;
    if (!tr_rd_accept(&k->r->in, '@'))
        return true;
    do {
        tr_place place;
        if (!read_place(k, &place))
            return false;
        if (chain.n >= TR_PARSE_CHAIN)
            return tr_parse_fail(k->r, k->r->in.p, "too many calls inlined into each other");
        tr_vec_push(&k->r->ctx->arena, &chain, place);
    } while (tr_rd_accept(&k->r->in, '<') && tr_parse_expect(k->r, '@'));
    for (uint32_t i = chain.n; i-- > 0;)
        *out = tr_loc_add(k->f, chain.d[i], *out);
    return !k->r->failed;
}

/* --- instructions --- */

static bool read_op(tr_fnparser *k, tr_ins *i) {
    tr_parser *r = k->r;
    tr_rd_skip(&r->in);
    const char *at = r->in.p, *name = tr_parse_word(r, "an instruction");
    if (!name)
        return false;
    unsigned op = 0;
    while (op < TR_OP__COUNT && (*tr_op_info[op].name != *name || strcmp(tr_op_info[op].name, name) != 0 ||
                                 !(tr_op_info[op].stages & k->f->stage)))
        op++;
    if (op == TR_OP__COUNT || op == TR_OP_PARAM || tr_is_const(&(tr_ins){.op = (uint16_t)op}))
        return tr_parse_fail(r, at, "no instruction '%s' in this stage", name);
    i->op = (uint16_t)op;
    while (*r->in.p == '.') {
        r->in.p++;
        uint8_t fast = 0;
        if (tr_rd_accept_word(&r->in, "nsw"))
            i->flags |= F_NSW;
        else if (tr_parse_fast(r, &fast))
            i->flags |= (uint8_t)(fast << F_FAST_SHIFT);
        else
            return tr_parse_fail(r, r->in.p, "expected nsw or fast, or one of fast's parts");
    }
    return true;
}

/* One line: [%name [: type] =] op operands [place] [{ lambda }]. */
static bool read_ins(tr_fnparser *k) {
    tr_parser *r = k->r;
    const char *at = r->in.p, *name = NULL;
    tr_ins i = {.blk = TR_NOBLK};
    memset(&i.imm, 0, sizeof i.imm);
    tr_vals args = {0};
    if (tr_rd_accept(&r->in, '%')) {
        if (!(name = read_name(r)))
            return false;
        if (tr_rd_accept(&r->in, ':') && !(i.ty = read_type(r)))
            return false;
        if (!tr_parse_expect(r, '='))
            return false;
    }
    if (!read_op(k, &i))
        return false;
    bool result = tr_op_info[i.op].result != '-';
    if (result != (name != NULL))
        return tr_parse_fail(r, at, result ? "the result needs a name" : "this instruction has no result");
    if (result && (i.ty != NULL) != (k->f->stage == S_T))
        return tr_parse_fail(r, at, i.ty ? "values have no types in this stage" : "the result needs a type");
    if (!tr_parse_sub(r, &i) || !tr_parse_operands(k, &i, &args) || !read_loc(k, &i.loc) ||
        (i.op == TR_OP_PATTERN && !tr_parse_lambdas(k, i.imm.pat)))
        return false;
    tr_rd_skip(&r->in);
    if (*r->in.p && !strchr("\r\n;}", *r->in.p))
        return tr_parse_fail(r, r->in.p, "expected the end of the line");
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

static bool read_params(tr_fnparser *k) {
    tr_parser *r = k->r;
    do {
        tr_rd_skip(&r->in);
        const char *at = r->in.p, *name = tr_parse_expect(r, '%') ? read_name(r) : NULL;
        const tr_ty *ty = NULL;
        if (!name || (tr_rd_accept(&r->in, ':') && !(ty = read_type(r))))
            return false;
        if ((ty != NULL) != (k->f->stage == S_T))
            return tr_parse_fail(r, at, ty ? "values have no types in this stage" : "the param needs a type");
        tr_val v = define(k, name, at);
        if (v == TR_NOVAL)
            return false;
        tr_ins *i = tr_at(k->f, v);
        i->op = TR_OP_PARAM;
        i->ty = ty;
        i->blk = k->b;
        tr_vec_push(&r->ctx->arena, &k->f->blks.d[k->b].params, v);
    } while (tr_rd_accept(&r->in, ','));
    return tr_parse_expect(r, ')');
}

static bool read_block(tr_fnparser *k) {
    tr_parser *r = k->r;
    const char *at = r->in.p;
    if (!read_block_name(k, &k->b))
        return false;
    for (uint32_t i = 0; i < k->defined.n; i++)
        if (k->defined.d[i] == k->b)
            return tr_parse_fail(r, at, "this block is defined twice");
    tr_vec_push(&r->ctx->arena, &k->defined, k->b);
    if (tr_rd_accept(&r->in, '(') && !read_params(k))
        return false;
    for (uint8_t c = 1; c < TR_COLD__COUNT; c++)
        if (tr_rd_accept_word(&r->in, tr_cold_name[c]))
            tr_blk_at(k->f, k->b)->cold = c;
    if (!tr_parse_expect(r, ':'))
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
static void order_blocks(tr_fnparser *k) {
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
bool tr_parse_body(tr_fnparser *k) {
    tr_parser *r = k->r;
    const char *start = r->in.p;
    for (skip_lines(r); !tr_rd_accept(&r->in, '}'); skip_lines(r)) {
        if (!*r->in.p)
            return tr_parse_fail(r, r->in.p, "expected '}'");
        if (!read_block(k))
            return false;
    }
    if (k->forwards.n)
        return tr_parse_fail(r, k->forwards.d[0].at, "%%%s is not defined", k->forwards.d[0].name);
    if (!k->defined.n)
        return tr_parse_fail(r, start, "a function needs a block");
    if (k->defined.n != k->f->blks.n)
        return tr_parse_fail(r, start, "a block that is gone to is not defined");
    order_blocks(k);
    return true;
}

static bool read_head(tr_fnparser *k) {
    tr_parser *r = k->r;
    uint8_t kind = 0;
    for (uint8_t i = 1; i < TR_FN__COUNT; i++)
        kind = tr_rd_accept_word(&r->in, tr_fnkind_name[i]) ? i : kind;
    bool front = tr_rd_accept_word(&r->in, "front"), lambda = !front && tr_rd_accept_word(&r->in, "lambda");
    if (!front && !lambda && !tr_rd_accept_word(&r->in, "fn"))
        return tr_parse_fail(r, r->in.p, "expected fn, front or lambda");
    const char *name = tr_parse_expect(r, '@') ? read_name(r) : NULL;
    if (!name)
        return false;
    k->f = tr_fn_new(r->ctx, name, front ? S_F : S_T);
    k->f->is_lambda = lambda;
    k->f->kind = kind;
    k->place_fn = name;
    if (tr_rd_accept(&r->in, '-') && !(tr_parse_expect(r, '>') && (k->f->ret = read_type(r))))
        return false;
    if (tr_rd_accept_word(&r->in, "in") && !(k->place_fn = tr_parse_string(r)))
        return false;
    if (tr_rd_accept_word(&r->in, "of") && !(k->f->file = tr_parse_string(r)))
        return false;
    k->place_file = k->f->file;
    return tr_parse_expect(r, '{');
}

static void add_function(tr_prog *p, tr_fn *f, bool late, bool piece) {
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
                (tr_inst){.func = UINT32_MAX,
                          .nargs = n,
                          .args = args,
                          .ret = f->ret,
                          .fn = f,
                          .late = late,
                          .piece = piece});
}

bool tr_ir_parse(tr_ctx *ctx, const char *text, const char *file, tr_prog *out) {
    tr_parser r = {
        .in = {.a = &ctx->arena, .text = text, .p = text, .blanks = " \t"}, .ctx = ctx, .file = file};
    for (skip_lines(&r); *r.in.p; skip_lines(&r)) {
        tr_fnparser k = {.r = &r};
        bool late = tr_rd_accept_word(&r.in, "late"), piece = !late && tr_rd_accept_word(&r.in, "piece");
        if (!read_head(&k) || !tr_parse_body(&k))
            return false;
        add_function(out, k.f, late, piece);
    }
    return true;
}
