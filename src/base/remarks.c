/* Rows of a report: gathered in order, sorted when they are printed. */
#include "base/remarks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"

bool tr_remarks_wanted(const tr_ctx *c) {
    return c->dump.stages & 1u << TR_STAGE_REPORT;
}

void tr_remark_add(tr_ctx *c, tr_remarkk kind, tr_place place, const char *fmt, ...) {
    if (!tr_remarks_wanted(c))
        return;
    assert(kind < TR_REMARK__COUNT && fmt);
    va_list ap;
    va_start(ap, fmt);
    const char *text = tr_arena_vprintf(&c->arena, fmt, ap);
    va_end(ap);
    tr_remark row = {.file = place.file,
                     .line = place.span.line > 0 ? place.span.line : 0,
                     .kind = (uint8_t)kind,
                     .order = c->remarks.n,
                     .text = text};
    tr_vec_push(&c->arena, &c->remarks, row);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

bool tr_remarks_have(const tr_ctx *c, tr_remarkk kind, tr_place place) {
    for (uint32_t i = 0; i < c->remarks.n; i++) {
        const tr_remark *x = &c->remarks.d[i];
        if (x->kind == kind && x->line == place.span.line && same_text(x->file, place.file))
            return true;
    }
    return false;
}

/* --- printing --- */

static int by_place(const void *a, const void *b) {
    const tr_remark *x = a, *y = b;
    int files = strcmp(x->file ? x->file : "", y->file ? y->file : "");
    if (files)
        return files;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Rows of one line and kind stand side by side: has one before row i the same text? Of two loops one reason
 * to stay apart is enough. */
static bool is_said(const tr_remark *d, uint32_t i) {
    size_t n = d[i].kind == TR_REMARK_APART ? strcspn(d[i].text, ":") + 1 : strlen(d[i].text) + 1;
    for (uint32_t k = i; k-- > 0;) {
        if (d[k].kind != d[i].kind || d[k].line != d[i].line || !same_text(d[k].file, d[i].file))
            return false;
        if (!strncmp(d[k].text, d[i].text, n))
            return true;
    }
    return false;
}

static void put_part(tr_sb *out, const char *s, char after) {
    for (; *s; s++)
        tr_sb_putc(out, *s == '\t' || *s == '\n' || *s == '\r' ? ' ' : *s);
    tr_sb_putc(out, after);
}

void tr_remarks_print(const tr_ctx *c, tr_sb *out) {
    static const char *const words[][2] = {
#define X(id, word, what) {word, what},
        TR_REMARKS(X)
#undef X
    };
    for (uint32_t k = 0; k < TR_REMARK__COUNT; k++)
        tr_sb_printf(out, "%s\t%s\n", words[k][0], words[k][1]);
    tr_sb_putc(out, '\n');
    if (!c->remarks.n)
        return;
    qsort(c->remarks.d, c->remarks.n, sizeof *c->remarks.d, by_place);
    for (uint32_t i = 0; i < c->remarks.n; i++) {
        const tr_remark *x = &c->remarks.d[i];
        if (is_said(c->remarks.d, i))
            continue;
        put_part(out, x->file ? x->file : "?", '\t');
        tr_sb_int(out, x->line);
        tr_sb_putc(out, '\t');
        put_part(out, words[x->kind][0], '\t');
        put_part(out, x->text, '\n');
    }
}
