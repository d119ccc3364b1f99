/* What a PTX text declares: variables, registers, parameters, functions. */
#include "ptx_text.h"

#include <stdlib.h>

uint32_t type_bytes(parser *p, token t) {
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {{".b8", 1},  {".u8", 1},  {".s8", 1},   {".b16", 2}, {".u16", 2}, {".s16", 2},
                 {".f16", 2}, {".b32", 4}, {".u32", 4},  {".s32", 4}, {".f32", 4}, {".b64", 8},
                 {".u64", 8}, {".s64", 8}, {".pred", 1}, {".f64", 8}};
    for (unsigned k = 0; k < sizeof types / sizeof *types; k++)
        if (same(t, types[k].name))
            return types[k].bytes;
    fail(p, "'%.*s' is no type that is known", (int)t.n, t.s);
}

/* [.align n] .type [.ptr .space .align n] name [[n]] */
typedef struct declared {
    token name;
    uint32_t align, element, bytes;
    bool open; /* of no size */
} declared;

static declared declaration(parser *p) {
    declared d = {0};
    if (accept(p, ".align"))
        d.align = (uint32_t)integer(p);
    d.element = type_bytes(p, word(p));
    d.align = d.align ? d.align : d.element;
    if (accept(p, ".ptr"))
        while (is(p, ".global") || is(p, ".shared") || is(p, ".const") || is(p, ".local") ||
               is(p, ".align")) {
            if (same(word(p), ".align"))
                integer(p);
        }
    d.name = word(p);
    d.bytes = d.element;
    if (accept(p, "[")) {
        d.open = is(p, "]");
        uint64_t bytes = d.open ? 0 : (uint64_t)integer(p) * d.element;
        if (bytes > 1u << 30)
            fail(p, "%.*s is too large", (int)d.name.n, d.name.s);
        d.bytes = (uint32_t)bytes;
        expect(p, "]");
    }
    if (!d.align || d.align & (d.align - 1))
        fail(p, "an alignment is a power of two");
    return d;
}

static uint32_t aligned(uint32_t at, uint32_t align) {
    return (at + align - 1) / align * align;
}

/* --- variables --- */

static void one_value(parser *p, const ptx_var *v, uint64_t at, uint32_t bytes) {
    uint64_t x;
    uint32_t which;
    if (p->tok.kind == T_WORD) {
        bool call = accept(p, "generic");
        if (call)
            expect(p, "(");
        const sym *s = find_sym(p, word(p), &which);
        if (!s || s->kind != S_GLOBAL)
            fail(p, "an initial value is a number or a variable's address");
        x = s->at;
        if (call)
            expect(p, ")");
        if (accept(p, "+"))
            x += (uint64_t)integer(p);
    } else if (p->tok.n > 2 && p->tok.s[0] == '0' && strchr("fFdD", p->tok.s[1])) {
        x = strtoull(p->tok.s + 2, NULL, 16);
        next(p);
    } else {
        x = (uint64_t)integer(p);
    }
    if (at + bytes > v->bytes)
        fail(p, "there are more initial values than the variable has room for");
    memcpy(v->data + at, &x, bytes);
}

static void initial_values(parser *p, const ptx_var *v, uint32_t bytes) {
    uint64_t at = 0;
    if (!accept(p, "=")) {
        return;
    }
    if (!accept(p, "{")) {
        one_value(p, v, 0, bytes);
        return;
    }
    do {
        one_value(p, v, at, bytes);
        at += bytes;
    } while (accept(p, ","));
    expect(p, "}");
}

static void make_global(parser *p, const declared *d) {
    ptx_var *v = PUSH(p, p->m->vars, p->m->nvars, p->m->capvars);
    size_t align = d->align < 16 ? 16 : d->align;
    v->bytes = d->bytes;
    v->data = aligned_alloc(align, (d->bytes + align) / align * align);
    if (!v->data)
        fail(p, "there is no memory for %.*s", (int)d->name.n, d->name.s);
    memset(v->data, 0, d->bytes);
    sym *s = add_sym(p, d->name, S_GLOBAL);
    s->at = (uint64_t)(uintptr_t)v->data;
    s->bytes = d->bytes;
    initial_values(p, v, d->element);
}

void declare_variable(parser *p) {
    token space = word(p);
    declared d = declaration(p);
    if (same(space, ".shared")) {
        sym *s = add_sym(p, d.name, d.open ? S_DYNAMIC : S_SHARED);
        if (!d.open) {
            s->at = p->m->shared = aligned(p->m->shared, d.align);
            p->m->shared += d.bytes;
        }
    } else if (same(space, ".local")) {
        if (!p->fn || d.open)
            fail(p, "local memory is of a function and has a size");
        sym *s = add_sym(p, d.name, S_LOCAL);
        s->at = p->fn->local_bytes = aligned(p->fn->local_bytes, d.align < 16 ? 16 : d.align);
        p->fn->local_bytes = aligned(p->fn->local_bytes + d.bytes, 16);
    } else {
        if (d.open)
            fail(p, "%.*s has no size", (int)d.name.n, d.name.s);
        make_global(p, &d);
    }
    expect(p, ";");
}

/* --- registers and parameters --- */

void declare_registers(parser *p) {
    next(p);
    type_bytes(p, word(p));
    do {
        token name = word(p);
        sym *s = add_sym(p, name, S_REG);
        if (accept(p, "<")) {
            int64_t n = integer(p);
            if (n < 0 || n > 1 << 20)
                fail(p, "so many registers are too many");
            expect(p, ">");
            s->row = true;
            s->count = (uint32_t)n;
            s->at = p->fn->nslots;
            for (int64_t k = 0; k < n; k++)
                new_slot(p, JUNK_REGISTER);
        } else {
            s->at = p->nspare ? p->spare[--p->nspare] : new_slot(p, JUNK_REGISTER);
        }
    } while (accept(p, ","));
    expect(p, ";");
}

static uint32_t slots_for(parser *p, uint32_t bytes) {
    uint32_t at = p->fn->nslots;
    for (uint32_t k = 0; k < (bytes + 7) / 8; k++)
        new_slot(p, JUNK_REGISTER);
    return at;
}

/* Of a call that comes. */
void declare_param(parser *p) {
    next(p);
    do {
        declared d = declaration(p);
        sym *s = add_sym(p, d.name, S_PARAM);
        s->at = slots_for(p, d.bytes);
        s->bytes = d.bytes;
    } while (accept(p, ","));
    expect(p, ";");
}

/* --- functions --- */

ptx_fn *find_fn(const ptx_module *m, token name) {
    for (uint32_t k = 0; k < m->nfns; k++)
        if (m->fns[k]->name && same(name, m->fns[k]->name))
            return m->fns[k];
    return NULL;
}

/* One list of parameters, in parentheses, of the function that is being made. */
static void parameters(parser *p, uint32_t *cap) {
    ptx_fn *f = p->fn;
    expect(p, "(");
    while (!is(p, ")")) {
        expect(p, ".param");
        declared d = declaration(p);
        ptx_param *q = PUSH(p, f->params, f->nparams, *cap);
        *q = (ptx_param){.name = copied(p, d.name), .bytes = d.bytes};
        sym *s = add_sym(p, d.name, f->entry ? S_KERNEL : S_PARAM);
        s->bytes = d.bytes;
        if (f->entry) {
            s->at = q->at = aligned(f->param_bytes, d.align);
            f->param_bytes = q->at + d.bytes;
        } else {
            s->at = q->at = slots_for(p, d.bytes);
        }
        if (!accept(p, ","))
            break;
    }
    expect(p, ")");
}

/* What stands between a function's parameters and its body. */
static void bounds(parser *p) {
    while (!is(p, "{") && !is(p, ";")) {
        token t = word(p);
        uint64_t n = 1;
        if (same(t, ".noreturn"))
            continue;
        do
            n *= (uint64_t)integer(p);
        while (accept(p, ","));
        if (same(t, ".maxntid") || same(t, ".reqntid"))
            p->fn->threads = (uint32_t)n;
        else if (!same(t, ".minnctapersm") && !same(t, ".maxnreg") && !same(t, ".maxclusterrank"))
            fail(p, "'%.*s' of a function is not known", (int)t.n, t.s);
    }
}

static ptx_fn *new_fn(parser *p) {
    ptx_fn *f = calloc(1, sizeof *f);
    if (!f)
        abort();
    *PUSH(p, p->m->fns, p->m->nfns, p->m->capfns) = f;
    f->module = p->m;
    f->line = p->at_line;
    return f;
}

/* The head again, of one that was declared: its parameters lie where they lay. */
static void take_over(parser *p, ptx_fn *old, ptx_fn *f) {
    if (old->defined || old->nparams != f->nparams || old->nresults != f->nresults)
        fail(p, "%s is there already, or was declared otherwise", f->name);
    ptx_fn was = *old;
    *old = *f;
    *f = was;
    p->fn = old;
}

static void body(parser *p) {
    p->fn->defined = true;
    expect(p, "{");
    uint32_t outside = p->depth;
    while (p->depth > outside || !is(p, "}"))
        statement(p);
    finish_code(p);
    next(p);
}

void function(parser *p, bool entry) {
    ptx_fn *f = new_fn(p), *old;
    uint32_t cap = 0;
    p->fn = f;
    f->entry = entry;
    for (uint32_t k = 0; k < PTX_FRAME; k++)
        new_slot(p, 0);
    open_scope(p);
    if (is(p, "("))
        parameters(p, &cap);
    f->nresults = f->nparams;
    token name = word(p);
    old = find_fn(p->m, name);
    f->name = copied(p, name);
    if (is(p, "("))
        parameters(p, &cap);
    bounds(p);
    if (old) {
        take_over(p, old, f);
        p->m->nfns--; /* what remains of it is the declaration */
        for (uint32_t k = 0; k < f->nparams; k++)
            free(f->params[k].name);
        free(f->params);
        free(f->name);
        free(f->image);
        free(f);
    }
    if (!accept(p, ";"))
        body(p);
    memset(p->constants, 0, sizeof p->constants);
    p->nspare = 0;
    close_scope(p);
    p->nspare = 0;
    p->fn = NULL;
}
