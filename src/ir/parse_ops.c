/* Reads what follows the name of an op in the IR's text: operands, immediates, the parts of a pattern. */
#include "ir/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "ir/sched.h"

enum { MAX_LAMBDAS = 16 };

typedef TR_VEC(const tr_obj *) site_args;

/* What stands up to a ")": *n of them, the items of tuples apart. */
static bool read_site_args(tr_parser *r, site_args *args, unsigned depth, uint32_t *n) {
    for (uint32_t k = 0;; k++) {
        const tr_obj *o = NULL;
        tr_obj *tuple = NULL;
        if (n)
            *n = k;
        if (tr_rd_accept(&r->in, ')'))
            return true;
        if (k && !tr_parse_expect(r, ','))
            return false;
        if (tr_rd_accept(&r->in, '(')) {
            if (depth >= TR_PARSE_CHAIN)
                return tr_parse_fail(r, r->in.p, "tuples nested too deep");
            o = tuple = TR_NEW(&r->ctx->arena, tr_obj);
            *tuple = (tr_obj){.kind = TR_OBJ_TUPLE, .repr = "tuple"};
        } else if (!tr_rd_accept_word(&r->in, "_") && !(o = tr_parse_obj(r))) {
            return false;
        }
        tr_vec_push(&r->ctx->arena, args, o);
        if (tuple && !read_site_args(r, args, depth + 1, &tuple->u.t.n))
            return false;
    }
}

static bool read_exc(tr_parser *r, uint32_t *exc) {
    const char *name = tr_parse_word(r, "an exception");
    int64_t number;
    *exc = 0;
    while (name && *exc < TR_EXC__COUNT && strcmp(tr_exc_name[*exc], name) != 0)
        ++*exc;
    if (!name || *exc < TR_EXC__COUNT)
        return name != NULL;
    char *end;
    number = strncmp(name, "exc", 3) == 0 && name[3] ? strtoll(name + 3, &end, 10) : -1;
    *exc = TR_EXC__COUNT + (uint32_t)number;
    return number >= 0 && *exc <= TR_EXC_HOST && !*end;
}

static bool read_site(tr_fnparser *k, const tr_site **out) {
    tr_parser *r = k->r;
    if (!tr_rd_accept(&r->in, '!'))
        return true;
    tr_site *s = TR_NEW(&r->ctx->arena, tr_site);
    if (!read_exc(r, &s->exc))
        return tr_parse_fail(r, r->in.p, "no exception of this name");
    *out = s;
    s->nargs = -1;
    if (tr_parse_at_quote(r) && !(s->text = tr_parse_string(r)))
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

typedef TR_VEC(uint8_t) starred;

/* One of so many operands, the callee among them. */
static void call_has(tr_arena *a, tr_callinfo *c, uint32_t nkw, const char **kw, uint32_t n, starred *stars) {
    c->nkw = nkw;
    c->kwnames = kw;
    if (stars->n == 0)
        return;
    while (stars->n < n)
        tr_vec_push(a, stars, 0);
    c->stars = stars->d;
}

static bool read_callpy(tr_fnparser *k, tr_ins *i, tr_vals *args) {
    tr_parser *r = k->r;
    tr_arena *a = &r->ctx->arena;
    tr_callinfo *c = TR_NEW(a, tr_callinfo);
    TR_VEC(const char *) kw = {0};
    starred stars = {0};
    tr_val v;
    i->imm.call = c;
    if (!tr_parse_val(k, &v) || !tr_parse_expect(r, '('))
        return false;
    tr_vec_push(a, args, v);
    while (!tr_rd_accept(&r->in, ')')) {
        if (args->n > 1 && !tr_parse_expect(r, ','))
            return false;
        if (tr_rd_accept(&r->in, '*')) {
            if (tr_rd_accept(&r->in, '*')) {
                c->starstar = true;
                call_has(a, c, kw.n, kw.d, args->n, &stars);
                if (!tr_parse_val(k, &v) || !tr_parse_expect(r, ')'))
                    return false;
                tr_vec_push(a, args, v);
                return true;
            }
            while (stars.n < args->n)
                tr_vec_push(a, &stars, 0);
            stars.d[args->n - 1] = 1;
        }
        tr_rd_skip(&r->in);
        size_t n = tr_rd_word_length(r->in.p);
        if (n && r->in.p[n] == '=') {
            tr_vec_push(a, &kw, tr_arena_strndup(a, r->in.p, n));
            r->in.p += n + 1;
            if (stars.n == args->n)
                return tr_parse_fail(r, r->in.p, "no star stands before a keyword");
        } else if (kw.n) {
            return tr_parse_fail(r, r->in.p, "positional arguments come first");
        }
        if (!tr_parse_val(k, &v))
            return false;
        tr_vec_push(a, args, v);
    }
    call_has(a, c, kw.n, kw.d, args->n, &stars);
    return true;
}

static bool read_callrt(tr_fnparser *k, tr_ins *i, tr_vals *args) {
    tr_parser *r = k->r;
    tr_rtcall *rt = TR_NEW(&r->ctx->arena, tr_rtcall);
    tr_rd_skip(&r->in);
    const char *at = r->in.p, *name = tr_parse_word(r, "a function of the run-time library");
    unsigned row = 0;
    while (name && row < TR_RT__COUNT &&
           (*tr_rt_info[row].name != *name || strcmp(tr_rt_info[row].name, name) != 0))
        row++;
    if (!name || row == TR_RT__COUNT)
        return tr_parse_fail(r, at, "no such function in the run-time library");
    rt->row = (uint16_t)row;
    i->imm.rt = rt;
    if (!tr_parse_expect(r, '(') || !tr_parse_vals(k, ')', args))
        return false;
    return !tr_parse_at_quote(r) || (rt->text = tr_parse_string(r)) != NULL;
}

static bool read_indexed(tr_fnparser *k, tr_vals *args) {
    tr_val v;
    if (!tr_parse_val(k, &v))
        return false;
    tr_vec_push(&k->r->ctx->arena, args, v);
    return tr_parse_expect(k->r, '[') && tr_parse_vals(k, ']', args);
}

static bool read_named(tr_parser *r, const char *const *names, unsigned count, const char *what,
                       unsigned *out) {
    tr_rd_skip(&r->in);
    const char *at = r->in.p, *word = tr_parse_word(r, what);
    for (unsigned n = 0; word && n < count; n++)
        if (!strcmp(names[n], word)) {
            *out = n;
            return true;
        }
    return tr_parse_fail(r, at, "expected %s", what);
}

/* "fast", or a part of it. */
bool tr_parse_fast(tr_parser *r, uint8_t *set) {
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

/* "keep", "scan", "add.fast": what stands before an operand. Of neighbours whose word is one, the mark says
 * which role it is, and those of the first come first. */
static bool read_how(tr_parser *r, tr_node *m, unsigned *role, tr_join *how) {
    unsigned which, first = *role;
    *how = (tr_join){0};
    if (*role == P_SPACE && tr_rd_accept_word(&r->in, "keep"))
        m->t.keep |= 1u << m->of[P_SPACE].n;
    bool marked = tr_rd_accept_word(&r->in, tr_role_info[P_SCAN].mark);
    if (marked && *role != P_SCAN)
        return tr_parse_fail(r, r->in.p, "scans come before other reductions");
    *role += *role == P_SCAN && !marked;
    if (!tr_role_info[*role].join)
        return true;
    static const char *const what[] = {[TR_JOIN_RED] = "a reduction",
                                       [TR_JOIN_SCATTER] = "put, or a reduction",
                                       [TR_JOIN_TOP] = "which are the best"};
    unsigned n, join = tr_role_info[*role].join;
    const char *const *words = tr_join_words((tr_portjoin)join, &n);
    if (!read_named(r, words, n, what[join], &which))
        return false;
    how->how = (uint8_t)which;
    if (join != TR_JOIN_TOP && which < TR_RED__COUNT && tr_red_info[which].joins)
        how->by = m->f; /* replaced when its text is read, after those of the others */
    while (*r->in.p == '.' && tr_role_info[first].join == TR_JOIN_RED) {
        r->in.p++;
        if (!tr_parse_fast(r, &how->fast))
            return tr_parse_fail(r, r->in.p, "expected fast, or one of its parts");
    }
    return true;
}

/* Operands of a role, and of those behind it that share its word: "red(scan add 0, max %m)". */
static bool read_ports(tr_fnparser *k, tr_node *m, unsigned role) {
    tr_parser *r = k->r;
    const char *word = tr_role_info[role].word;
    bool axes = role == P_SPACE;
    if (axes ? !tr_rd_accept(&r->in, '[') : !tr_rd_accept_word(&r->in, word))
        return true;
    if (!axes && !tr_parse_expect(r, '('))
        return false;
    for (bool more = false; !tr_rd_accept(&r->in, axes ? ']' : ')'); more = true) {
        tr_join how;
        tr_val v;
        if (more && !tr_parse_expect(r, ','))
            return false;
        if (m->of[role].n >= tr_role_info[role].most)
            return axes ? tr_parse_fail(r, r->in.p, "more than %d dimensions", TR_MAX_NDIM)
                        : tr_parse_fail(r, r->in.p, "a pattern has at most %u operands '%s'",
                                        (unsigned)tr_role_info[role].most, word);
        if (!read_how(r, m, &role, &how) || !tr_parse_val(k, &v))
            return false;
        if (tr_role_info[role].join)
            tr_node_join(m, (tr_role)role, v, how);
        else
            tr_node_put(m, (tr_role)role, v);
    }
    return true;
}

static tr_fnparser *lambda_reader(tr_fnparser *k) {
    tr_fnparser *in = TR_NEW(&k->r->ctx->arena, tr_fnparser);
    *in = (tr_fnparser){.r = k->r, .place_fn = k->place_fn, .place_file = k->place_file};
    in->f = tr_fn_new(k->r->ctx, tr_arena_printf(&k->r->ctx->arena, "%s.lambda", k->f->name), k->f->stage);
    in->f->is_lambda = true;
    in->f->file = k->f->file;
    return in;
}

/* "schedule(line, chunk 512)" */
static bool read_schedule(tr_parser *r, tr_sched *s) {
    const char *words[TR_SCHED__COUNT];
    unsigned which;
    for (unsigned i = 0; i < TR_SCHED__COUNT; i++)
        words[i] = tr_sched_info[i].word;
    if (!tr_rd_accept_word(&r->in, "schedule"))
        return true;
    if (!tr_parse_expect(r, '('))
        return false;
    for (bool more = false; !tr_rd_accept(&r->in, ')'); more = true) {
        int64_t n = 1;
        if ((more && !tr_parse_expect(r, ',')) ||
            !read_named(r, words, TR_SCHED__COUNT, "a part of a schedule", &which))
            return false;
        const tr_schedinfo *in = &tr_sched_info[which];
        bool axis = in->form == TR_SCHED_AXIS;
        if (in->form != TR_SCHED_FLAG && !tr_parse_int(r, axis ? 0 : 1, axis ? in->max - 1 : in->max, &n))
            return false;
        *tr_sched_field(s, which) = (uint32_t)(axis ? n + 1 : n);
    }
    return true;
}

static bool read_pattern(tr_fnparser *k, tr_ins *i, tr_vals *args) {
    tr_parser *r = k->r;
    tr_node m = tr_node_new(k->f);
    for (unsigned w = TR_PAR_NO + 1; w < TR_PAR__COUNT && !m.t.par; w++)
        m.t.par = tr_rd_accept_word(&r->in, tr_par_name[w]) ? (uint8_t)w : TR_PAR_NO;
    m.t.apart = tr_rd_accept_word(&r->in, "apart");
    for (unsigned role = 0; role < TR_ROLE__COUNT; role++) {
        const tr_roleinfo *is = &tr_role_info[role];
        if (is->of == 'e' && !m.t.epi && tr_rd_accept_word(&r->in, "then"))
            m.t.epi = k->f; /* replaced when its text is read, after that of the lambda */
        bool read = role == 0 || strcmp(is->word, is[-1].word) != 0; /* else with the one before */
        if (read && (is->of != 'e' || m.t.epi) && !read_ports(k, &m, role))
            return false;
    }
    tr_val *v;
    i->imm.pat = tr_node_make(&m, &v);
    for (uint32_t n = 0; n < tr_pat_nargs(i->imm.pat); n++)
        tr_vec_push(&r->ctx->arena, args, v[n]);
    return read_schedule(r, &i->imm.pat->sched);
}

static bool read_lambda(tr_fnparser *k, tr_fn **out) {
    tr_parser *r = k->r;
    if (!tr_parse_expect(r, '{'))
        return false;
    if (r->in.depth >= MAX_LAMBDAS)
        return tr_parse_fail(r, r->in.p, "patterns are nested too deeply");
    tr_fnparser *in = lambda_reader(k);
    *out = in->f;
    r->in.depth++;
    bool ok = tr_parse_body(in);
    r->in.depth--;
    return ok;
}

/* "{ blocks }" after a pattern, and once more for its epilogue, and for each function that joins values. */
bool tr_parse_lambdas(tr_fnparser *k, tr_pat *p) {
    bool ok = read_lambda(k, &p->lam) && (!p->epi || read_lambda(k, &p->epi));
    for (uint32_t n = 0; ok && n < tr_pat_njoins(p); n++)
        ok = !p->joins[n].by || read_lambda(k, &p->joins[n].by);
    return ok;
}

bool tr_parse_sub(tr_parser *r, tr_ins *i) {
    const tr_wordlist *w = tr_words_of(i->op);
    unsigned n = i->sub;
    bool ok = true;
    if (w->name && !w->silent) {
        ok = read_named(r, w->name, w->count, w->what, &n);
    } else if (w->name) {
        for (n = 0; ++n < w->count && !(w->name[n] && tr_rd_accept_word(&r->in, w->name[n]));)
            ;
        n %= w->count;
    }
    i->sub = (uint8_t)n;
    return ok;
}

/* Operands "a, b, c" to the end, or up to something that is not a value. */
static bool read_plain(tr_fnparser *k, const tr_ins *i, tr_vals *args) {
    tr_parser *r = k->r;
    int8_t want = tr_op_info[i->op].nargs;
    tr_rd_skip(&r->in);
    if (want == 0 || !*r->in.p || strchr("\r\n;!{}", *r->in.p) ||
        (*r->in.p == '@' && isdigit((unsigned char)r->in.p[1])))
        return true;
    do {
        tr_val v;
        if (!tr_parse_val(k, &v))
            return false;
        tr_vec_push(&r->ctx->arena, args, v);
    } while ((want < 0 || args->n < (uint32_t)want) && tr_rd_accept(&r->in, ','));
    return true;
}

/* The number or text after the operands. */
static bool read_immediate(tr_fnparser *k, tr_ins *i, bool any_args) {
    tr_parser *r = k->r;
    int64_t n, of, behind;
    switch (i->op) {
    case TR_OP_UNPACK:
        if (!tr_parse_expect(r, ',') || !tr_parse_int(r, 0, UINT32_MAX, &n) ||
            !tr_rd_accept_word(&r->in, "of") || !tr_parse_int(r, 0, INT32_MAX, &of))
            return tr_parse_fail(r, r->in.p, "expected a number as in '0 of 2'");
        i->imm.i = n | of << 32;
        return true;
    case TR_OP_REPR: return !tr_rd_accept(&r->in, ',') || tr_parse_int(r, 0, 1, &i->imm.i);
    case TR_OP_MATCHCLASS: return tr_parse_expect(r, ',') && tr_parse_int(r, 0, INT32_MAX, &i->imm.i);
    case TR_OP_UNPACKEX:
        if (!tr_parse_expect(r, ',') || !tr_parse_int(r, 0, INT32_MAX, &n) ||
            !tr_rd_accept_word(&r->in, "of") || !tr_parse_int(r, 0, 255, &of) || !tr_rd_accept(&r->in, '*') ||
            !tr_parse_int(r, 0, 0x3fffff, &behind))
            return tr_parse_fail(r, r->in.p, "expected numbers as in '0 of 1 * 2'");
        i->imm.i = n | of << 32 | behind << 40;
        return true;
    case TR_OP_THREADIDX:
    case TR_OP_BLOCKIDX:
    case TR_OP_BLOCKDIM:
    case TR_OP_GRIDDIM: return tr_parse_int(r, 0, 2, &i->imm.i);
    case TR_OP_EXTRACT:
    case TR_OP_DIM:
    case TR_OP_STRIDE: return tr_parse_expect(r, ',') && tr_parse_int(r, 0, UINT32_MAX, &i->imm.i);
    case TR_OP_GETATTR:
    case TR_OP_SETATTR:
    case TR_OP_UNDEFVAR:
    case TR_OP_CHECKDEF:
    case TR_OP_NEWVAR:
    case TR_OP_READVAR:
    case TR_OP_WRITEVAR:
        return (!any_args || tr_parse_expect(r, ',')) && (i->imm.s = tr_parse_string(r)) != NULL;
    case TR_OP_ALLOC:
    case TR_OP_NEWLIST:
    case TR_OP_NEWSET:
    case TR_OP_ENTER:
    case TR_OP_APPEND:
    case TR_OP_RESIZE:
    case TR_OP_CHECK:
    case TR_OP_CHECKIDX:
    case TR_OP_BCAST:
    case TR_OP_BCASTTO:
    case TR_OP_RAISE: return read_site(k, &i->imm.site);
    default: return true;
    }
}

/* "1 same 3 (%a, %b, %c)" */
static bool read_meet(tr_fnparser *k, tr_ins *i, tr_vals *args) {
    tr_parser *r = k->r;
    int64_t written, same = 0;
    if (!tr_parse_int(r, 0, 255, &written) ||
        (tr_rd_accept_word(&r->in, "same") && !tr_parse_int(r, 0, INT64_MAX >> 8, &same)))
        return false;
    i->imm.i = written | same << 8;
    return tr_parse_expect(r, '(') && tr_parse_vals(k, ')', args);
}

/* An axis of a view's base that has an index alone, or runs along axis `as` of the result; or a new one. */
typedef struct view_axis {
    tr_val start, size, step;
    int as;
} view_axis;

static bool read_view_axis(tr_fnparser *k, view_axis *x, int *next) {
    tr_parser *r = k->r;
    int64_t as = *next;
    *x = (view_axis){TR_NOVAL, TR_NOVAL, TR_NOVAL, -1};
    bool is_new = tr_rd_accept_word(&r->in, "new");
    if (!tr_parse_val(k, is_new ? &x->size : &x->start))
        return false;
    if (!is_new && !tr_rd_accept_word(&r->in, "for"))
        return true;
    x->step = tr_const_int(k->f, tr_ty_scalar(r->ctx->types, TR_TY_I64), !is_new);
    if (!is_new &&
        (!tr_parse_val(k, &x->size) || (tr_rd_accept_word(&r->in, "by") && !tr_parse_val(k, &x->step))))
        return false;
    if (tr_rd_accept_word(&r->in, "as") && !tr_parse_int(r, 0, TR_VIEW_AXES - 1, &as))
        return false;
    x->as = (int)as;
    *next += 1;
    return true;
}

/* "%a[%i, 0 for %n by 2, new 1]": see print.c. */
static bool read_view(tr_fnparser *k, tr_ins *i, tr_vals *args) {
    tr_parser *r = k->r;
    view_axis x[TR_VIEW_BASE_AXES + TR_VIEW_AXES];
    tr_val base;
    unsigned n = 0;
    int nout = 0;
    if (!tr_parse_val(k, &base) || !tr_parse_expect(r, '['))
        return false;
    const char *at = r->in.p;
    while (!tr_rd_accept(&r->in, ']')) {
        if (n && !tr_parse_expect(r, ','))
            return false;
        if (n == sizeof x / sizeof *x)
            return tr_parse_fail(r, at, "a view has at most %d axes", TR_VIEW_AXES);
        if (!read_view_axis(k, &x[n++], &nout))
            return false;
    }
    if (!i->ty || i->ty->kind != TR_TY_ARRAY || i->ty->ndim != nout)
        return tr_parse_fail(r, at, "a view with %d axes of another type", nout);
    uint32_t nbase = 0;
    tr_val by[2 * TR_VIEW_AXES];
    memset(by, 0xff, sizeof by);
    tr_vec_push(&r->ctx->arena, args, base);
    for (unsigned j = 0; j < n; j++) {
        bool fits = x[j].as < nout && nout <= TR_VIEW_AXES && nbase < TR_VIEW_BASE_AXES;
        if (!fits || (x[j].as >= 0 && by[x[j].as] != TR_NOVAL))
            return tr_parse_fail(r, at, "axes of a view are numbered from 0, each once");
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

bool tr_parse_operands(tr_fnparser *k, tr_ins *i, tr_vals *args) {
    tr_parser *r = k->r;
    int64_t n;
    tr_val v;
    switch (i->op) {
    case TR_OP_BR: i->imm.succ = TR_NEW(&r->ctx->arena, tr_edge); return tr_parse_edge(k, i->imm.succ);
    case TR_OP_CBR:
        i->imm.succ = TR_NEW_N(&r->ctx->arena, tr_edge, 2);
        if (!tr_parse_val(k, &v))
            return false;
        tr_vec_push(&r->ctx->arena, args, v);
        return tr_parse_expect(r, ',') && tr_parse_edge(k, &i->imm.succ[0]) && tr_parse_expect(r, ',') &&
               tr_parse_edge(k, &i->imm.succ[1]);
    case TR_OP_TRY:
        i->imm.succ = TR_NEW_N(&r->ctx->arena, tr_edge, 2);
        return tr_parse_edge(k, &i->imm.succ[0]) && tr_parse_expect(r, ',') &&
               tr_parse_edge(k, &i->imm.succ[1]);
    case TR_OP_CALLPY: return read_callpy(k, i, args);
    case TR_OP_CALL:
    case TR_OP_CLOSURE:
        if (!tr_parse_expect(r, '#') || !tr_parse_int(r, 0, UINT32_MAX - 1, &n))
            return false;
        i->imm.fn = (uint32_t)n;
        return tr_parse_expect(r, '(') && tr_parse_vals(k, ')', args);
    case TR_OP_MEET: return read_meet(k, i, args);
    case TR_OP_CALLRT: return read_callrt(k, i, args);
    case TR_OP_CALLX:
        return (i->imm.s = tr_parse_string(r)) != NULL && tr_parse_expect(r, '(') &&
               tr_parse_vals(k, ')', args);
    case TR_OP_VIEW: return read_view(k, i, args);
    case TR_OP_LOAD: return read_indexed(k, args);
    case TR_OP_FIELD:
        return read_indexed(k, args) && tr_parse_expect(r, ',') &&
               tr_parse_int(r, 0, TR_MAX_ITEMS, &i->imm.i);
    case TR_OP_STORE:
    case TR_OP_ATOMIC:
    case TR_OP_CAS:
        if (!read_indexed(k, args))
            return false;
        for (unsigned left = i->op == TR_OP_CAS ? 2 : 1; left > 0; left--) {
            if (!tr_parse_expect(r, ',') || !tr_parse_val(k, &v))
                return false;
            tr_vec_push(&r->ctx->arena, args, v);
        }
        return true;
    case TR_OP_PATTERN: return read_pattern(k, i, args);
    default: return read_plain(k, i, args) && read_immediate(k, i, args->n > 0);
    }
}
