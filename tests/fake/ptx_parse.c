/* Words of a PTX text, names and their scopes, and the module as a whole. What is wrong
 * jumps back to ptx_load. */
#include "ptx_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void fail(parser *p, const char *format, ...) {
    va_list args;
    int n = snprintf(p->msg, p->room, "line %u: ", p->at_line);
    va_start(args, format);
    if (n > 0 && (size_t)n < p->room)
        vsnprintf(p->msg + n, p->room - (size_t)n, format, args);
    va_end(args);
    longjmp(p->failed, 1);
}

/* --- tokens --- */

static void skip_blanks(parser *p) {
    for (;; p->s++) {
        if (p->s[0] == '/' && p->s[1] == '/') {
            p->s += strcspn(p->s, "\n");
        } else if (p->s[0] == '/' && p->s[1] == '*') {
            for (p->s += 2; *p->s && (p->s[0] != '*' || p->s[1] != '/'); p->s++)
                p->line += *p->s == '\n';
            p->s += *p->s ? 1 : -1;
            continue;
        }
        if (!isspace((unsigned char)*p->s))
            return;
        p->line += *p->s == '\n';
    }
}

static bool in_word(const char *s) {
    return isalnum((unsigned char)*s) || strchr("_$%.", *s) != NULL;
}

void next(parser *p) {
    skip_blanks(p);
    const char *s = p->s;
    p->at_line = p->line;
    p->tok = (token){.kind = T_SIGN, .s = s, .n = 1};
    if (!*s) {
        p->tok = (token){.kind = T_END, .s = s};
    } else if (*s == '"') {
        p->tok.kind = T_STRING;
        p->tok.n += strcspn(s + 1, "\"") + 1;
    } else if (in_word(s)) {
        p->tok.kind = isdigit((unsigned char)*s) ? T_NUMBER : T_WORD;
        while (s[p->tok.n] && (in_word(s + p->tok.n) || (s[p->tok.n] == ':' && s[p->tok.n + 1] == ':')))
            p->tok.n += s[p->tok.n] == ':' ? 2 : 1;
    }
    p->s += p->tok.n;
}

bool same(token t, const char *s) {
    return t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

bool is(const parser *p, const char *what) {
    return same(p->tok, what);
}

bool accept(parser *p, const char *what) {
    bool yes = is(p, what);
    if (yes)
        next(p);
    return yes;
}

void expect(parser *p, const char *what) {
    if (!accept(p, what))
        fail(p, "'%s' is expected before '%.*s'", what, (int)p->tok.n, p->tok.s);
}

token word(parser *p) {
    token t = p->tok;
    if (t.kind != T_WORD)
        fail(p, "a name is expected before '%.*s'", (int)t.n, t.s);
    next(p);
    return t;
}

int64_t integer(parser *p) {
    bool minus = accept(p, "-");
    char *end;
    if (p->tok.kind != T_NUMBER)
        fail(p, "a number is expected before '%.*s'", (int)p->tok.n, p->tok.s);
    uint64_t v = strtoull(p->tok.s, &end, 0);
    end += *end == 'U';
    if (end != p->tok.s + p->tok.n)
        fail(p, "'%.*s' is no integer", (int)p->tok.n, p->tok.s);
    next(p);
    return (int64_t)(minus ? 0 - v : v);
}

void skip_line(parser *p) {
    p->s += strcspn(p->s, "\n");
    next(p);
}

void skip_braces(parser *p) {
    p->s += strcspn(p->s, "{");
    for (; *p->s && *p->s != '}'; p->s++)
        p->line += *p->s == '\n';
    p->s += *p->s == '}';
    next(p);
}

void skip_statement(parser *p) {
    while (p->tok.kind != T_END && !is(p, ";"))
        next(p);
    next(p);
}

/* --- memory and names --- */

void *grown(parser *p, void *at, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap)
        return at;
    *cap = *cap ? *cap * 2 : 16;
    at = realloc(at, *cap * size);
    if (!at)
        abort();
    (void)p;
    return at;
}

char *copied(parser *p, token t) {
    char *s = strndup(t.s, t.n);
    if (!s)
        fail(p, "there is no memory");
    return s;
}

sym *add_sym(parser *p, token name, sym_kind kind) {
    sym *s = PUSH(p, p->syms, p->nsyms, p->capsyms);
    *s = (sym){.name = name, .kind = kind};
    return s;
}

/* Is it the row's name and a number? */
static bool in_row(const sym *s, token name, uint32_t *which) {
    uint64_t k = 0;
    if (name.n <= s->name.n || name.n > s->name.n + 9 || memcmp(name.s, s->name.s, s->name.n) != 0)
        return false;
    for (size_t i = s->name.n; i < name.n; i++) {
        if (!isdigit((unsigned char)name.s[i]))
            return false;
        k = 10 * k + (uint64_t)(name.s[i] - '0');
    }
    *which = (uint32_t)k;
    return k < s->count;
}

const sym *find_sym(parser *p, token name, uint32_t *which) {
    *which = 0;
    for (uint32_t k = p->nsyms; k-- > 0;) {
        const sym *s = &p->syms[k];
        if (s->row ? in_row(s, name, which) : s->name.n == name.n && !memcmp(s->name.s, name.s, name.n))
            return s;
    }
    return NULL;
}

void open_scope(parser *p) {
    if (p->depth == sizeof p->scope / sizeof *p->scope)
        fail(p, "too many scopes in each other");
    p->scope[p->depth++] = p->nsyms;
}

void close_scope(parser *p) {
    if (!p->depth)
        fail(p, "'}' without '{'");
    uint32_t before = p->scope[--p->depth];
    while (p->nsyms > before) {
        const sym *s = &p->syms[--p->nsyms];
        if (s->kind == S_REG && !s->row)
            *PUSH(p, p->spare, p->nspare, p->capspare) = (uint32_t)s->at;
    }
}

/* --- the module --- */

static void top_level(parser *p) {
    while (is(p, ".visible") || is(p, ".extern") || is(p, ".weak") || is(p, ".common")) {
        token t = word(p);
        if (same(t, ".extern") && is(p, ".shared"))
            break; /* the size is the launch's, which it shows by itself */
    }
    if (is(p, ".version") || is(p, ".target") || is(p, ".address_size") || is(p, ".file") || is(p, ".loc"))
        skip_line(p);
    else if (is(p, ".section"))
        skip_braces(p);
    else if (is(p, ".pragma"))
        skip_statement(p);
    else if (accept(p, ".entry"))
        function(p, true);
    else if (accept(p, ".func"))
        function(p, false);
    else if (is(p, ".global") || is(p, ".const") || is(p, ".shared"))
        declare_variable(p);
    else if (!accept(p, ";"))
        fail(p, "'%.*s' is not known here", (int)p->tok.n, p->tok.s);
}

/* What a function needs with all it calls. */
static void measure(parser *p, ptx_fn *f) {
    uint32_t slots = 0, bytes = 0;
    if (f->visit == 2)
        return;
    p->at_line = f->line;
    if (f->visit == 1)
        fail(p, "%s calls itself", f->name);
    if (!f->defined)
        fail(p, "%s is called and not there", f->name);
    f->visit = 1;
    for (uint32_t k = 0; k < f->ncalls; k++) {
        measure(p, f->calls[k]);
        slots = f->calls[k]->stack > slots ? f->calls[k]->stack : slots;
        bytes = f->calls[k]->stack_local > bytes ? f->calls[k]->stack_local : bytes;
        f->waits |= f->calls[k]->waits;
    }
    f->stack = f->nslots + slots;
    f->stack_local = f->local_bytes + bytes;
    f->visit = 2;
}

static void module(parser *p) {
    next(p);
    while (p->tok.kind != T_END)
        top_level(p);
    for (uint32_t k = 0; k < p->m->nfns; k++)
        if (p->m->fns[k]->defined)
            measure(p, p->m->fns[k]);
    p->m->shared = (p->m->shared + 15) & ~15u;
    for (uint32_t k = 0; k < p->ndynamics; k++)
        p->dynamics[k].fn->image[p->dynamics[k].slot] += p->m->shared;
}

ptx_module *ptx_load(const char *text, char *msg, size_t room) {
    parser *p = calloc(1, sizeof *p);
    ptx_module *m = calloc(1, sizeof *m);
    if (!p || !m)
        abort();
    p->s = text;
    p->line = 1;
    p->msg = msg;
    p->room = room;
    p->m = m;
    name_ops(p);
    bool bad = setjmp(p->failed) != 0;
    if (!bad)
        module(p);
    free(p->syms);
    free(p->spare);
    free(p->labels);
    free(p->later);
    free(p->dynamics);
    m = p->m; /* what setjmp has not lost */
    free(p);
    if (!bad)
        return m;
    ptx_unload(m);
    return NULL;
}

static void free_fn(ptx_fn *f) {
    for (uint32_t k = 0; k < f->nparams; k++)
        free(f->params[k].name);
    free(f->name);
    free(f->params);
    free(f->code);
    free(f->lines);
    free(f->image);
    free(f->calls);
    free(f->tables);
    free(f);
}

void ptx_unload(ptx_module *m) {
    if (!m)
        return;
    for (uint32_t k = 0; k < m->nfns; k++)
        free_fn(m->fns[k]);
    for (uint32_t k = 0; k < m->nvars; k++)
        free(m->vars[k].data);
    free(m->fns);
    free(m->vars);
    free(m);
}

const ptx_fn *ptx_entry(const ptx_module *m, const char *name) {
    for (uint32_t k = 0; k < m->nfns; k++)
        if (m->fns[k]->entry && !strcmp(m->fns[k]->name, name))
            return m->fns[k];
    return NULL;
}
