/* str() and print(). In print() text known when compiling is joined to one constant; numbers go through the
 * runtime, which gathers a line. A tuple prints its items as repr() has them, everything else as str() has
 * it. */
#include <math.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

/* str(): of a number at run time a text for messages and print() alone. */
bool tr_lib_py_str(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_text(e, c->a[0].ty ? 1 : 0, &c->a[0], out);
}

/* --- print() --- */

typedef struct printer {
    tr_em *e;
    tr_sb text; /* constant text not yet emitted */
} printer;

static void flush(printer *p) {
    if (!p->text.n)
        return;
    tr_em_callrt(p->e, TR_RT_PRINT_STR, NULL, tr_arena_strdup(&p->e->ctx->arena, p->text.d), 0, NULL);
    tr_sb_reset(&p->text);
}

/* A str as repr() shows it; only the escapes of plain text. */
static void put_repr(printer *p, const char *s) {
    char q = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
    tr_sb_putc(&p->text, q);
    for (; *s; s++) {
        if (*s == q || *s == '\\')
            tr_sb_printf(&p->text, "\\%c", *s);
        else if (*s == '\n')
            tr_sb_puts(&p->text, "\\n");
        else if (*s == '\t')
            tr_sb_puts(&p->text, "\\t");
        else if (*s == '\r')
            tr_sb_puts(&p->text, "\\r");
        else if ((unsigned char)*s < 32 || *s == 127)
            tr_sb_printf(&p->text, "\\x%02x", (unsigned)(unsigned char)*s);
        else
            tr_sb_putc(&p->text, *s);
    }
    tr_sb_putc(&p->text, q);
}

static void put_scalar(printer *p, tr_tv x) {
    tr_em *e = p->e;
    flush(p);
    x = tr_em_strong(e, x);
    tr_tyk to = TR_TY_I64;
    tr_rt row = TR_RT_PRINT_I64;
    switch (tr_ty_class(x.ty)) {
    case 'b':
        row = TR_RT_PRINT_BOOL;
        to = TR_TY_BOOL;
        break;
    case 'u':
        row = TR_RT_PRINT_U64;
        to = TR_TY_U64;
        break;
    case 'f':
        to = (tr_tyk)x.ty->kind;
        row = to == TR_TY_F32 ? TR_RT_PRINT_F32 : TR_RT_PRINT_F64;
        break;
    case 'c':
        to = TR_TY_C128;
        row = x.ty->kind == TR_TY_C64 ? TR_RT_PRINT_C64 : TR_RT_PRINT_C128;
        break;
    default: break;
    }
    x = tr_em_conv(e, x, tr_fam_ty(e, to));
    tr_em_callrt(e, row, NULL, NULL, 1, &x);
}

static bool put(printer *p, tr_tv x, bool repr) {
    tr_em *e = p->e;
    const char *s;
    if (tr_tv_lit_str(x, &s)) {
        if (repr)
            put_repr(p, s);
        else
            tr_sb_puts(&p->text, s);
        return true;
    }
    if (tr_tv_is_none(x)) {
        tr_sb_puts(&p->text, "None");
        return true;
    }
    if (tr_tv_lit_integer(x, &(tr_bigint){0})) {
        tr_sb_puts(&p->text, tr_lib_known_text(e, x));
        return true;
    }
    if (tr_lib_scalar(e, x.ty)) {
        put_scalar(p, x);
        return true;
    }
    if (x.ty->kind == TR_TY_TUPLE) {
        bool list = tr_ty_is_list(x.ty);
        if (x.ty->name)
            tr_sb_puts(&p->text, x.ty->name);
        tr_sb_putc(&p->text, list ? '[' : '(');
        for (uint32_t i = 0; i < x.ty->n; i++) {
            if (i)
                tr_sb_puts(&p->text, ", ");
            if (x.ty->fields)
                tr_sb_printf(&p->text, "%s=", x.ty->fields[i]);
            if (!put(p, tr_em_item(e, x, i), true))
                return false;
        }
        tr_sb_puts(&p->text, list ? "]" : x.ty->n == 1 && !x.ty->fields ? ",)" : ")");
        return true;
    }
    if (x.ty->kind == TR_TY_TEXT) {
        for (uint32_t i = 0; i < x.ty->n; i++)
            if (!put(p, tr_em_item(e, x, i), false))
                return false;
        return true;
    }
    if (tr_lib_is_array(x))
        return tr_em_unsupported(e, "print-array", "print() of %s", tr_em_tyname(e, x.ty));
    return tr_em_error(e, "print() of %s", tr_em_tyname(e, x.ty));
}

static bool text_arg(tr_em *e, tr_tv x, const char *what, const char *dflt, const char **out) {
    *out = dflt;
    if (!tr_fam_given(x) || tr_tv_lit_str(x, out))
        return true;
    return tr_em_error(e, "print(): %s must be a constant string", what);
}

static bool put_all(printer *p, const tr_bcall *c, const char *sep, const char *end) {
    for (uint32_t i = 0; i < c->nvar; i++) {
        if (i)
            tr_sb_puts(&p->text, sep);
        if (!put(p, c->var[i], false))
            return false;
    }
    tr_sb_puts(&p->text, end);
    flush(p);
    tr_em_callrt(p->e, TR_RT_PRINT_END, NULL, NULL, 0, NULL);
    return true;
}

/* Parameters: *args, sep, end, file, flush. */
bool tr_lib_py_print(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *sep, *end;
    bool flushed;
    if (!text_arg(e, c->a[1], "sep", " ", &sep) || !text_arg(e, c->a[2], "end", "\n", &end))
        return false;
    if (tr_fam_given(c->a[3]))
        return tr_em_unsupported(e, "print-file", "print() to a file");
    if (!tr_fam_flag(e, c, c->a[4], "flush", false, &flushed))
        return false;
    printer p = {.e = e};
    tr_sb_init(&p.text);
    bool ok = put_all(&p, c, sep, end);
    tr_sb_fini(&p.text);
    *out = tr_em_none(e);
    return ok;
}
