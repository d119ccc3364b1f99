/* The IR as text (docs/ir.md). Blocks come in reverse post-order, unreachable ones last; values and blocks
 * are renumbered in the order they appear, so that reading and printing again gives the same text. Never
 * follows a number it has not checked: the verifier prints broken functions with this. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/bitset.h"
#include "ir/internal.h"
#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "ir/sched.h"

enum { MAX_CHAIN = 1000 }; /* calls inlined into each other: a longer chain is a defect */

typedef struct printer {
    tr_sb *out;
    const tr_fn *f;
    tr_u32s order;         /* blocks as they are printed */
    uint32_t *blk_no;      /* per block: its number in the text */
    const char **names;    /* per value: its name in the text, NULL = not defined in a block */
    const char *file, *fn; /* the place that goes without saying */
    int indent;
    tr_print_note note;
    void *user;
    const uint32_t *number; /* per function of the program its place in the text; NULL: as it is */
    uint32_t nnumber;
} printer;

static void print_body(printer *p);

/* --- names --- */

static bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || (c & 0x80);
}

static bool is_word(const char *s) {
    if (!*s || (*s >= '0' && *s <= '9') || *s == '.')
        return false;
    while (is_word_char(*s))
        s++;
    return !*s;
}

static void print_quoted(tr_sb *b, const char *s) {
    tr_obj o = {.kind = TR_OBJ_STR, .repr = ""};
    o.u.s.d = s;
    o.u.s.n = (uint32_t)strlen(s);
    tr_obj_print_ir(b, &o);
}

static void print_name(tr_sb *b, const char *s) {
    if (is_word(s))
        tr_sb_puts(b, s);
    else
        print_quoted(b, s);
}

/* A user's name as one of the text: odd characters become '_', a second use gets a number. */
static const char *unique_name(printer *p, tr_smap *taken, const char *s) {
    tr_arena *a = &p->f->ctx->arena;
    bool begins = is_word_char(*s) && *s != '.' && !(*s >= '0' && *s <= '9');
    size_t n = strlen(s);
    char *name = tr_arena_alloc(a, n + 2);
    *name = '_';
    memcpy(name + !begins, s, n + 1);
    for (char *c = name; *c; c++)
        if (!is_word_char(*c))
            *c = '_';
    const char *base = name;
    uintptr_t k = (uintptr_t)tr_smap_get(taken, base, strlen(base)), next = k;
    while (tr_smap_get(taken, name, strlen(name)))
        name = tr_arena_printf(a, "%s.%u", base, (unsigned)next++);
    if (name != base)
        tr_smap_set(a, taken, base, strlen(base), (void *)next);
    tr_smap_set(a, taken, name, strlen(name), (void *)1);
    return name;
}

/* Most values have no other name; printf would take longer than all else that numbers them. */
static const char *number_name(tr_arena *a, uint32_t n) {
    char s[10], *p = s + sizeof s;
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    return tr_arena_strndup(a, p, (size_t)(s + sizeof s - p));
}

static void number_value(printer *p, tr_smap *taken, uint32_t *next, tr_val v) {
    const char *name = v < p->f->names.n ? p->f->names.d[v] : NULL;
    if (v >= p->f->ins.n || p->names[v])
        return;
    p->names[v] = name && *name ? unique_name(p, taken, name) : number_name(&p->f->ctx->arena, (*next)++);
}

static bool has_result(const tr_ins *i) {
    return i->op < TR_OP__COUNT && tr_op_info[i->op].result != '-';
}

static void number_all(printer *p) {
    tr_arena *a = &p->f->ctx->arena;
    tr_smap taken = {0};
    uint32_t next = 0;
    p->names = TR_NEW_N(a, const char *, p->f->ins.n + 1);
    p->blk_no = TR_NEW_N(a, uint32_t, p->f->blks.n + 1);
    p->order = tr_cfg_order(p->f);
    tr_bits seen = tr_bits_new(a, p->f->blks.n + 1);
    for (uint32_t i = 0; i < p->order.n; i++)
        tr_bits_set(&seen, p->order.d[i]);
    for (tr_bid b = 0; b < p->f->blks.n; b++)
        if (!tr_bits_get(&seen, b) && !p->f->blks.d[b].dead)
            tr_vec_push(a, &p->order, b);
    for (uint32_t i = 0; i < p->order.n; i++) {
        const tr_blk *blk = tr_blk_at(p->f, p->order.d[i]);
        p->blk_no[p->order.d[i]] = i;
        for (uint32_t k = 0; k < blk->params.n; k++)
            number_value(p, &taken, &next, blk->params.d[k]);
        for (tr_val v = blk->first; v < p->f->ins.n; v = tr_at(p->f, v)->next)
            if (has_result(tr_at(p->f, v)))
                number_value(p, &taken, &next, v);
    }
}

/* --- values --- */

static void print_const(printer *p, const tr_ins *i) {
    tr_sb *b = p->out;
    tr_tyk k = (tr_tyk)i->ty->kind;
    if (k == TR_TY_BOOL) {
        tr_sb_puts(b, i->imm.i ? "true" : "false");
        return;
    }
    tr_obj o = {.kind = TR_OBJ_SCALAR, .repr = "", .ty = i->ty};
    switch (tr_ty_class(i->ty)) {
    case 'i':
        o.kind = k == TR_TY_I64 ? TR_OBJ_INT : TR_OBJ_SCALAR;
        if (o.kind == TR_OBJ_INT)
            o.u.n = tr_bigint_of(i->imm.i);
        else
            o.u.i = i->imm.i;
        break;
    case 'u': o.u.u = (uint64_t)i->imm.i; break;
    case 'f':
        o.u.f = i->imm.f;
        o.kind = k == TR_TY_F64 ? TR_OBJ_FLOAT : TR_OBJ_SCALAR;
        break;
    case 'c':
        memcpy(o.u.c, i->imm.c, sizeof o.u.c);
        o.kind = k == TR_TY_C128 ? TR_OBJ_COMPLEX : TR_OBJ_SCALAR;
        break;
    default: tr_sb_puts(b, "?const"); return;
    }
    tr_obj_print_ir(b, &o);
}

static void print_named(tr_sb *b, const char *name, const char *after) {
    tr_sb_putc(b, '%');
    tr_sb_puts(b, name);
    tr_sb_puts(b, after);
}

static void print_val(printer *p, tr_val v) {
    tr_sb *b = p->out;
    if (v >= p->f->ins.n) {
        tr_sb_puts(b, "?none");
        return;
    }
    const tr_ins *i = tr_at(p->f, v);
    if (p->names[v]) {
        print_named(b, p->names[v], "");
        return;
    }
    switch (i->op) {
    case TR_OP_CONST: print_const(p, i); return;
    case TR_OP_UNDEF:
        tr_sb_puts(b, "undef:");
        tr_ty_print_ir(b, i->ty);
        return;
    case TR_OP_OBJ: tr_obj_print_ir(b, i->imm.obj); return;
    case TR_OP_CONSTARR:
        tr_obj_print_ir(b, i->imm.obj);
        tr_sb_putc(b, ':');
        tr_ty_print_ir(b, i->ty);
        return;
    default: tr_sb_printf(b, "?%" PRIu32, v); /* stands in no block */
    }
}

static void print_vals(printer *p, const tr_val *v, uint32_t n, const char *before) {
    for (uint32_t i = 0; i < n; i++) {
        tr_sb_puts(p->out, i ? ", " : before);
        print_val(p, v[i]);
    }
}

/* --- places --- */

static void put_int(tr_sb *b, const char *before, int64_t x) {
    tr_sb_puts(b, before);
    tr_sb_int(b, x);
}

static void print_span(tr_sb *b, tr_span s) {
    tr_sb_int(b, s.line);
    if (s.col >= 0)
        put_int(b, ":", s.col);
    if (s.end_line <= 0)
        return;
    put_int(b, "-", s.end_line);
    if (s.end_col >= 0)
        put_int(b, ":", s.end_col);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

static void print_loc(printer *p, uint32_t l) {
    for (uint32_t depth = 0; l && l < p->f->locs.n && depth < MAX_CHAIN; depth++) {
        const tr_loc *loc = &p->f->locs.d[l];
        tr_sb_puts(p->out, depth ? " < @" : "  @");
        print_span(p->out, loc->place.span);
        if (loc->place.fn && !same_text(loc->place.fn, p->fn)) {
            tr_sb_puts(p->out, " in ");
            print_quoted(p->out, loc->place.fn);
        }
        if (loc->place.file && !same_text(loc->place.file, p->file)) {
            tr_sb_puts(p->out, " of ");
            print_quoted(p->out, loc->place.file);
        }
        l = loc->parent;
    }
}

static bool loc_known(const tr_fn *f, uint32_t l) {
    return l && l < f->locs.n && (f->locs.d[l].place.span.line > 0 || f->locs.d[l].parent);
}

/* --- instructions --- */

static void print_edge(printer *p, const tr_edge *e) {
    if (e->to < p->f->blks.n)
        put_int(p->out, "b", p->blk_no[e->to]);
    else
        tr_sb_puts(p->out, "b?");
    if (!e->n)
        return;
    print_vals(p, e->args, e->n, "(");
    tr_sb_putc(p->out, ')');
}

/* Argument i with what follows of a tuple; the number of the next one. */
static int32_t print_site_arg(printer *p, const tr_site *s, int32_t i) {
    const tr_obj *o = s->args[i++];
    if (!o) {
        tr_sb_putc(p->out, '_');
    } else if (o->kind == TR_OBJ_TUPLE) {
        tr_sb_putc(p->out, '(');
        for (uint32_t k = 0; k < o->u.t.n && i < s->nargs; k++) {
            tr_sb_puts(p->out, k ? ", " : "");
            i = print_site_arg(p, s, i);
        }
        tr_sb_putc(p->out, ')');
    } else {
        tr_obj_print_ir(p->out, o);
    }
    return i;
}

static void print_site(printer *p, const tr_site *s) {
    if (!s)
        return;
    char buf[16];
    tr_sb_puts(p->out, " ! ");
    tr_sb_puts(p->out, tr_exc_text(s->exc, buf));
    if (s->text) {
        tr_sb_putc(p->out, ' ');
        print_quoted(p->out, s->text);
    }
    if (s->nargs < 0)
        return;
    tr_sb_putc(p->out, '(');
    for (int32_t i = 0; i < s->nargs;) {
        tr_sb_puts(p->out, i ? ", " : "");
        i = print_site_arg(p, s, i);
    }
    tr_sb_putc(p->out, ')');
}

static void print_callpy(printer *p, const tr_ins *i) {
    const tr_callinfo *c = i->imm.call;
    tr_sb_putc(p->out, ' ');
    print_val(p, i->nargs ? i->args[0] : TR_NOVAL);
    tr_sb_putc(p->out, '(');
    uint32_t nkw = c ? c->nkw : 0, end = i->nargs - (c && c->starstar);
    for (uint32_t k = 1; k < i->nargs; k++) {
        tr_sb_puts(p->out, k > 1 ? ", " : "");
        tr_sb_puts(p->out, k == end ? "**" : k < end - nkw && c && c->stars && c->stars[k - 1] ? "*" : "");
        if (k >= end - nkw && k < end)
            tr_sb_printf(p->out, "%s=", c->kwnames[k - (end - nkw)]);
        print_val(p, i->args[k]);
    }
    tr_sb_putc(p->out, ')');
}

static void print_fast(tr_sb *b, uint8_t set) {
    if (set == TR_FM_ALL) {
        tr_sb_puts(b, ".fast");
        return;
    }
#define X(id, name, bit)  \
    if (set & TR_FM_##id) \
        tr_sb_puts(b, "." name);
    TR_FASTMATH(X)
#undef X
}

static void print_lambda(printer *p, const tr_fn *lam) {
    assert(lam->is_lambda);
    printer q = {.out = p->out,
                 .f = lam,
                 .file = p->file,
                 .fn = p->fn,
                 .indent = p->indent + 4,
                 .note = p->note,
                 .user = p->user,
                 .number = p->number,
                 .nnumber = p->nnumber};
    tr_sb_puts(p->out, " {\n");
    number_all(&q);
    print_body(&q);
    tr_sb_spaces(p->out, (size_t)p->indent + 2);
    tr_sb_putc(p->out, '}');
}

static void print_schedule(tr_sb *out, tr_sched s) {
    bool any = false;
    for (unsigned i = 0; i < TR_SCHED__COUNT; i++) {
        uint32_t x = *tr_sched_field(&s, i);
        if (!x)
            continue;
        tr_sb_puts(out, any ? ", " : " schedule(");
        tr_sb_puts(out, tr_sched_info[i].word);
        if (tr_sched_info[i].form != TR_SCHED_FLAG)
            put_int(out, " ", x - (tr_sched_info[i].form == TR_SCHED_AXIS));
        any = true;
    }
    tr_sb_puts(out, any ? ")" : "");
}

/* What stands before an operand: how it is joined, whether an axis is kept. */
static void print_how(printer *p, const tr_pat *t, const tr_ports *g, uint32_t k) {
    tr_sb *b = p->out;
    if (g->is->mark)
        tr_sb_printf(b, "%s ", g->is->mark);
    if (g->role == P_SPACE)
        tr_sb_puts(b, t->keep >> k & 1 ? "keep " : "");
    if (!g->is->join)
        return;
    const tr_join *j = tr_pat_join(t, g->arg + k);
    unsigned n;
    const char *const *words = tr_join_words((tr_portjoin)g->is->join, &n);
    tr_sb_puts(b, j->how < n ? words[j->how] : "?");
    print_fast(b, j->fast);
    tr_sb_putc(b, ' ');
}

/* Operands by role: neighbours of one word stand in its parentheses together. */
static void print_ports(printer *p, const tr_pat *t, const tr_val *v) {
    const char *open = NULL;
    bool then = false;
    for (tr_ports g = tr_ports_of(t, TR_LAM); tr_ports_left(&g); tr_ports_next(t, TR_LAM, &g)) {
        if (g.is->of == 'e' && t->epi && !then) {
            tr_sb_puts(p->out, open ? ") then" : " then");
            open = NULL;
            then = true;
        }
        for (uint32_t k = 0; k < g.n; k++) {
            bool another = open != g.is->word;
            tr_sb_puts(p->out, !another ? ", " : open ? ") " : " ");
            if (another)
                tr_sb_printf(p->out, g.role == P_SPACE ? "%s" : "%s(", g.is->word);
            open = g.is->word;
            print_how(p, t, &g, k);
            print_val(p, v[g.arg + k]);
        }
        if (g.role == P_SPACE) {
            tr_sb_putc(p->out, g.n ? ']' : ' ');
            open = NULL;
        }
    }
    tr_sb_puts(p->out, open ? ")" : "");
}

static void print_pattern(printer *p, const tr_ins *i) {
    const tr_pat *t = i->imm.pat;
    if (!t || i->nargs != tr_pat_nargs(t)) {
        print_vals(p, i->args, i->nargs, " ?");
        return;
    }
    tr_sb_puts(p->out, t->par ? " " : "");
    tr_sb_puts(p->out, t->par < TR_PAR__COUNT ? tr_par_name[t->par] : "?");
    tr_sb_puts(p->out, t->apart ? " apart" : "");
    print_ports(p, t, i->args);
    print_schedule(p->out, t->sched);
}

static const char *sub_name(const tr_ins *i) {
    const tr_wordlist *w = tr_words_of(i->op);
    const char *name = i->sub < w->count && w->name ? w->name[i->sub] : NULL;
    return name || (w->silent && i->sub == 0) || !w->name ? name : "?";
}

static void print_indexed(printer *p, const tr_ins *i, uint32_t nindex) {
    tr_sb_putc(p->out, ' ');
    print_val(p, i->args[0]);
    tr_sb_putc(p->out, '[');
    print_vals(p, i->args + 1, nindex, "");
    tr_sb_putc(p->out, ']');
}

/* Do the axes of a view come in the order of its base's? */
static bool is_in_order(const tr_ins *i) {
    int last = -1;
    for (unsigned k = 0; k < i->ty->ndim; k++) {
        int axis = tr_view_axis(i, k);
        if (axis >= 0 && axis < last)
            return false;
        last = axis >= 0 ? axis : last;
    }
    return true;
}

static void print_view_axis(printer *p, const tr_ins *i, unsigned axis, bool in_order) {
    int of = tr_view_axis(i, axis);
    if (of < 0) {
        tr_sb_puts(p->out, "new ");
        print_val(p, tr_made_sizes(i)[axis]);
    } else {
        int64_t step;
        print_val(p, tr_view_starts(i)[of]);
        tr_sb_puts(p->out, " for ");
        print_val(p, tr_made_sizes(i)[axis]);
        if (!tr_get_int(p->f, tr_view_steps(i)[axis], &step) || step != 1) {
            tr_sb_puts(p->out, " by ");
            print_val(p, tr_view_steps(i)[axis]);
        }
    }
    if (!in_order)
        tr_sb_printf(p->out, " as %u", axis);
}

/* "%a[%i, 0 for %n by 2, new 1]": an index, or start and items, for each axis of the base; and new ones.
 * Where they are in another order, each says which axis of the result it is. */
static void print_view(printer *p, const tr_ins *i) {
    unsigned n = i->ty->ndim, next = 0, nbase = tr_view_nbase(i);
    bool in_order = is_in_order(i);
    const char *comma = "[";
    tr_sb_putc(p->out, ' ');
    print_val(p, i->args[0]);
    for (unsigned b = 0; b < nbase; b++) {
        unsigned at = 0;
        while (at < n && tr_view_axis(i, at) != (int)b)
            at++;
        for (; in_order && at < n && next < at; next++, comma = ", ") {
            tr_sb_puts(p->out, comma);
            print_view_axis(p, i, next, true);
        }
        tr_sb_puts(p->out, comma);
        comma = ", ";
        if (at == n) {
            print_val(p, tr_view_starts(i)[b]);
            continue;
        }
        print_view_axis(p, i, at, in_order);
        next = at + 1;
    }
    for (unsigned k = in_order ? next : 0; k < n; k++)
        if (tr_view_axis(i, k) < 0) {
            tr_sb_puts(p->out, comma);
            print_view_axis(p, i, k, in_order);
            comma = ", ";
        }
    tr_sb_puts(p->out, *comma == '[' ? "[]" : "]");
}

/* What follows the op's name. */
static void print_operands(printer *p, const tr_ins *i) {
    tr_sb *b = p->out;
    switch (i->op) {
    case TR_OP_BR:
        tr_sb_putc(b, ' ');
        print_edge(p, &i->imm.succ[0]);
        return;
    case TR_OP_CBR:
        print_vals(p, i->args, i->nargs, " ");
        tr_sb_puts(b, ", ");
        print_edge(p, &i->imm.succ[0]);
        tr_sb_puts(b, ", ");
        print_edge(p, &i->imm.succ[1]);
        return;
    case TR_OP_TRY:
        tr_sb_putc(b, ' ');
        print_edge(p, &i->imm.succ[0]);
        tr_sb_puts(b, ", ");
        print_edge(p, &i->imm.succ[1]);
        return;
    case TR_OP_CALLPY: print_callpy(p, i); return;
    case TR_OP_CALL:
    case TR_OP_CLOSURE:
        put_int(b, " #", i->imm.fn < p->nnumber ? p->number[i->imm.fn] : i->imm.fn);
        tr_sb_putc(b, '(');
        print_vals(p, i->args, i->nargs, "");
        tr_sb_putc(b, ')');
        return;
    case TR_OP_MEET:
        tr_sb_printf(b, " %" PRIi64, i->imm.i & 255);
        if (i->imm.i >> 8)
            tr_sb_printf(b, " same %" PRIi64, i->imm.i >> 8);
        print_vals(p, i->args, i->nargs, " (");
        tr_sb_putc(b, ')');
        return;
    case TR_OP_CALLRT:
        tr_sb_putc(b, ' ');
        tr_sb_puts(b, i->imm.rt && i->imm.rt->row < TR_RT__COUNT ? tr_rt_info[i->imm.rt->row].name : "?");
        tr_sb_putc(b, '(');
        print_vals(p, i->args, i->nargs, "");
        tr_sb_putc(b, ')');
        if (i->imm.rt && i->imm.rt->text) {
            tr_sb_putc(b, ' ');
            print_quoted(b, i->imm.rt->text);
        }
        return;
    case TR_OP_CALLX:
        tr_sb_putc(b, ' ');
        print_quoted(b, i->imm.s ? i->imm.s : "");
        tr_sb_putc(b, '(');
        print_vals(p, i->args, i->nargs, "");
        tr_sb_putc(b, ')');
        return;
    case TR_OP_LOAD:
        if (i->nargs) {
            print_indexed(p, i, i->nargs - 1);
            return;
        }
        break;
    case TR_OP_STORE:
    case TR_OP_ATOMIC:
    case TR_OP_CAS: {
        uint32_t values = i->op == TR_OP_CAS ? 2 : 1;
        if (i->nargs > values) {
            print_indexed(p, i, i->nargs - 1 - values);
            print_vals(p, i->args + i->nargs - values, values, ", ");
            return;
        }
        break;
    }
    case TR_OP_FIELD:
        print_indexed(p, i, i->nargs - 1);
        put_int(b, ", ", i->imm.i);
        return;
    case TR_OP_VIEW:
        if (i->ty && i->nargs > 2u * i->ty->ndim) {
            print_view(p, i);
            return;
        }
        break;
    case TR_OP_PATTERN: print_pattern(p, i); return;
    default: break;
    }
    print_vals(p, i->args, i->nargs, " ");
    const char *comma = i->nargs ? ", " : " ";
    switch (i->op) {
    case TR_OP_UNPACK:
        tr_sb_printf(b, "%s%" PRIi64 " of %" PRIi64, comma, i->imm.i & 0xffffffff, i->imm.i >> 32);
        break;
    case TR_OP_MATCHCLASS: put_int(b, comma, i->imm.i); break;
    case TR_OP_REPR:
        if (i->imm.i)
            put_int(b, comma, i->imm.i);
        break;
    case TR_OP_UNPACKEX:
        tr_sb_printf(b, "%s%" PRIi64 " of %" PRIi64 " * %" PRIi64, comma, i->imm.i & 0xffffffff,
                     i->imm.i >> 32 & 255, i->imm.i >> 40);
        break;
    case TR_OP_THREADIDX:
    case TR_OP_BLOCKIDX:
    case TR_OP_BLOCKDIM:
    case TR_OP_GRIDDIM:
    case TR_OP_EXTRACT:
    case TR_OP_DIM:
    case TR_OP_STRIDE: put_int(b, comma, i->imm.i); break;
    case TR_OP_GETATTR:
    case TR_OP_SETATTR:
    case TR_OP_UNDEFVAR:
    case TR_OP_CHECKDEF:
    case TR_OP_NEWVAR:
    case TR_OP_READVAR:
    case TR_OP_WRITEVAR:
        tr_sb_puts(b, comma);
        print_quoted(b, i->imm.s ? i->imm.s : "");
        break;
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
    case TR_OP_RAISE: print_site(p, i->imm.site); break;
    default: break;
    }
}

static void print_ins(printer *p, tr_val v) {
    const tr_ins *i = tr_at(p->f, v);
    tr_sb *b = p->out;
    tr_sb_spaces(b, (size_t)p->indent + 2);
    if (i->op >= TR_OP__COUNT) {
        tr_sb_printf(b, "?op%u\n", i->op);
        if (p->note)
            p->note(p->user, b, p->f, i->blk, v);
        return;
    }
    if (p->names[v] && i->ty) {
        print_named(b, p->names[v], ": ");
        tr_ty_print_ir(b, i->ty);
        tr_sb_puts(b, " = ");
    } else if (p->names[v]) {
        print_named(b, p->names[v], " = ");
    }
    tr_sb_puts(b, tr_op_info[i->op].name);
    if (i->flags & F_NSW)
        tr_sb_puts(b, ".nsw");
    print_fast(b, tr_ins_fast(i));
    const char *sub = sub_name(i);
    tr_sb_puts(b, sub ? " " : "");
    tr_sb_puts(b, sub ? sub : "");
    print_operands(p, i);
    if (loc_known(p->f, i->loc))
        print_loc(p, i->loc);
    for (unsigned k = 0; i->op == TR_OP_PATTERN && i->imm.pat && tr_pat_any(i->imm.pat, k); k++)
        print_lambda(p, tr_pat_any(i->imm.pat, k));
    tr_sb_putc(b, '\n');
    if (p->note)
        p->note(p->user, b, p->f, i->blk, v);
}

static void print_block(printer *p, tr_bid b) {
    const tr_blk *blk = tr_blk_at(p->f, b);
    tr_sb_spaces(p->out, (size_t)p->indent);
    put_int(p->out, "b", p->blk_no[b]);
    for (uint32_t k = 0; k < blk->params.n; k++) {
        tr_val v = blk->params.d[k];
        tr_sb_puts(p->out, k ? ", " : "(");
        print_val(p, v);
        if (v < p->f->ins.n && tr_at(p->f, v)->ty) {
            tr_sb_puts(p->out, ": ");
            tr_ty_print_ir(p->out, tr_at(p->f, v)->ty);
        }
    }
    tr_sb_puts(p->out, blk->params.n ? ")" : "");
    tr_sb_puts(p->out, blk->cold ? " " : "");
    tr_sb_puts(p->out, blk->cold < TR_COLD__COUNT ? tr_cold_name[blk->cold] : "?");
    tr_sb_puts(p->out, ":\n");
    if (p->note)
        p->note(p->user, p->out, p->f, b, TR_NOVAL);
    for (tr_val v = blk->first; v < p->f->ins.n; v = tr_at(p->f, v)->next)
        print_ins(p, v);
}

static void print_body(printer *p) {
    for (uint32_t i = 0; i < p->order.n; i++)
        print_block(p, p->order.d[i]);
}

/* The function that the first known place names; it goes without saying in the others. */
static const char *own_name(const printer *p) {
    for (uint32_t i = 0; i < p->order.n; i++)
        for (tr_val v = tr_blk_at(p->f, p->order.d[i])->first; v < p->f->ins.n; v = tr_at(p->f, v)->next) {
            uint32_t l = tr_at(p->f, v)->loc;
            if (!loc_known(p->f, l))
                continue;
            for (uint32_t depth = 0; p->f->locs.d[l].parent && depth < MAX_CHAIN; depth++)
                l = p->f->locs.d[l].parent;
            return p->f->locs.d[l].place.fn;
        }
    return NULL;
}

static void print_fn(printer p) {
    tr_sb *out = p.out;
    const tr_fn *f = p.f;
    p.file = f->file;
    number_all(&p);
    p.fn = own_name(&p);
    if (f->kind != TR_FN_HOST)
        tr_sb_printf(out, "%s ", f->kind < TR_FN__COUNT ? tr_fnkind_name[f->kind] : "?");
    tr_sb_puts(out, f->stage == S_F ? "front @" : f->is_lambda ? "lambda @" : "fn @");
    print_name(out, f->name ? f->name : "");
    if (f->ret) {
        tr_sb_puts(out, " -> ");
        tr_ty_print_ir(out, f->ret);
    }
    if (p.fn && !same_text(p.fn, f->name)) {
        tr_sb_puts(out, " in ");
        print_quoted(out, p.fn);
    }
    if (!p.fn)
        p.fn = f->name;
    if (f->file) {
        tr_sb_puts(out, " of ");
        print_quoted(out, f->file);
    }
    tr_sb_puts(out, " {\n");
    print_body(&p);
    tr_sb_puts(out, "}\n");
}

void tr_ir_print_notes(tr_sb *out, const tr_fn *f, tr_print_note note, void *user) {
    print_fn((printer){.out = out, .f = f, .note = note, .user = user});
}

void tr_ir_print_among(tr_sb *out, const tr_fn *f, uint32_t n, const uint32_t *number) {
    print_fn((printer){.out = out, .f = f, .number = number, .nnumber = n});
}

void tr_ir_print(tr_sb *out, const tr_fn *f) {
    tr_ir_print_among(out, f, 0, NULL);
}
