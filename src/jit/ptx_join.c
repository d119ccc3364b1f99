/* PTX of others as part of a GPU's code: one text, which its assembler compiles as a whole and may inline in.
 *
 * What users link has definitions behind three lines of a head. They go where our own head ends, and of ours
 * those declarations go that are defined there. The version is the newer one. Names of variables that two
 * texts have are the assembler's to refuse. Cost: copies. */
#include "jit/ptx_join.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct piece {
    const char *at, *end;
} piece;

static bool is_part(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool next_line(const char **at, const char *end, piece *out) {
    if (*at >= end)
        return false;
    const char *nl = memchr(*at, '\n', (size_t)(end - *at));
    *out = (piece){*at, nl ? nl + 1 : end};
    *at = out->end;
    return true;
}

static bool starts_with(piece l, const char *word) {
    while (l.at < l.end && (*l.at == ' ' || *l.at == '\t'))
        l.at++;
    size_t n = strlen(word);
    return (size_t)(l.end - l.at) >= n && !memcmp(l.at, word, n);
}

static bool piece_names(piece l, const char *name) {
    size_t n = strlen(name);
    for (const char *p = l.at; p + n <= l.end; p++)
        if (!memcmp(p, name, n) && (p == l.at || !is_part(p[-1])) && (p + n == l.end || !is_part(p[n])))
            return true;
    return false;
}

/* From a function's first word to where its name and parameters end: '{' of a definition, ';' of a
 * declaration. */
static piece head_at(const char *at, const char *end) {
    const char *p = at;
    while (p < end && *p != '{' && *p != ';')
        p++;
    return (piece){at, p};
}

static bool text_has(const tr_link *l, const char *name) {
    const char *at = l->data, *end = at + l->size;
    piece line;
    while (next_line(&at, end, &line)) {
        piece words = {line.at, line.end};
        if (!piece_names(words, "func") || starts_with(line, "//"))
            continue;
        piece head = head_at(line.at, end);
        if (head.end < end && *head.end == '{' && piece_names(head, name))
            return true;
    }
    return false;
}

bool tr_ptx_has(const tr_prog *p, const char *name) {
    for (uint32_t i = 0; i < p->texts.n; i++)
        if (text_has(&p->texts.d[i], name))
            return true;
    return false;
}

/* A version in tenths; 0: the line says none. */
static int version_of(piece l) {
    if (!starts_with(l, ".version"))
        return 0;
    const char *p = memchr(l.at, '.', (size_t)(l.end - l.at)) + sizeof ".version" - 1;
    char *dot;
    long major = strtol(p, &dot, 10);
    return (int)(10 * major + (*dot == '.' ? dot[1] - '0' : 0));
}

static int newest(const tr_prog *p, const char *text, const char *end) {
    int best = 0;
    piece line;
    for (const char *at = text; next_line(&at, end, &line);)
        best = version_of(line) > best ? version_of(line) : best;
    for (uint32_t i = 0; i < p->texts.n; i++) {
        const char *at = p->texts.d[i].data, *last = at + p->texts.d[i].size;
        while (next_line(&at, last, &line))
            best = version_of(line) > best ? version_of(line) : best;
    }
    return best;
}

static void put(tr_sb *out, piece l) {
    tr_sb_write(out, l.at, (size_t)(l.end - l.at));
}

static void put_others(const tr_prog *p, tr_sb *out) {
    piece line;
    for (uint32_t i = 0; i < p->texts.n; i++) {
        const char *at = p->texts.d[i].data, *end = at + p->texts.d[i].size;
        while (next_line(&at, end, &line))
            if (!starts_with(line, ".version") && !starts_with(line, ".target") &&
                !starts_with(line, ".address_size"))
                put(out, line);
        tr_sb_putc(out, '\n');
    }
}

/* The declaration is of a function that the texts define. */
static bool is_defined(const tr_prog *p, piece head) {
    for (uint32_t i = 0; i < p->externs.n; i++)
        if (piece_names(head, p->externs.d[i]->name) && tr_ptx_has(p, p->externs.d[i]->name))
            return true;
    return false;
}

void tr_ptx_join(const tr_prog *p, const char *text, size_t size, tr_sb *out) {
    const char *at = text, *end = text + size;
    int version = newest(p, text, end);
    piece line;
    while (next_line(&at, end, &line)) {
        if (starts_with(line, ".version")) {
            tr_sb_printf(out, ".version %d.%d\n", version / 10, version % 10);
        } else if (starts_with(line, ".address_size")) {
            put(out, line);
            put_others(p, out);
        } else if (starts_with(line, ".extern .func") && is_defined(p, head_at(line.at, end))) {
            at = head_at(line.at, end).end + 1;
        } else {
            put(out, line);
        }
    }
}
