/* str.format() and `%` of strings, and of constant bytes: a template that is known when compiling is cut into
 * text and fields there, and each field is a piece as an f-string has it (lib/text.c): what is not known
 * costs what it costs there.
 *
 * What a template does wrong is an error in CPython's words, when the function compiles. */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/priv.h"

typedef struct pieces {
    TR_VEC(tr_tv) x;
} pieces;

static tr_tv known(tr_em *e, const char *s, size_t n) {
    return tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_arena_printf(&e->ctx->arena, "%.*s", (int)n, s)));
}

static void put(tr_em *e, pieces *to, tr_tv x) {
    tr_vec_push(&e->ctx->arena, &to->x, x);
}

static void put_known(tr_em *e, pieces *to, const char *s, size_t n) {
    if (n)
        put(e, to, known(e, s, n));
}

/* --- str.format() --- */

typedef struct filling {
    tr_em *e;
    uint32_t npos;
    const tr_tv *pos;
    tr_tv named; /* the row's **kwargs; no type: there are none */
    tr_tv map;   /* of format_map(), which has no others */
    tr_tv
        more; /* a sequence of further ones by position, of which the running program knows how many it has */
    int next; /* the field without a number that comes next; -1: fields have numbers */
    bool numbered;
} filling;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The number that n bytes are; INT_MAX: too large a one; -1: they are none. */
static int number(const char *s, size_t n) {
    int64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s[i]))
            return -1;
        v = v >= INT_MAX ? v : v * 10 + (s[i] - '0');
    }
    return !n ? -1 : v > INT_MAX ? INT_MAX : (int)v;
}

static bool by_number(filling *k, int i, tr_tv *out) {
    tr_em *e = k->e;
    static const char missing[] = "Replacement index %d out of range for positional args tuple";
    if (i < (int)k->npos) {
        *out = k->pos[i];
        return true;
    }
    if (!k->more.ty)
        return tr_em_error(e, missing, i);
    tr_tv n, it, at = tr_em_i64(e, i - (int)k->npos), no = {NULL, TR_NOVAL};
    if (!tr_em_iter(e, k->more, &it) || !tr_em_builtin(e, TR_B_LEN, no, &(tr_args){1, &k->more, 0, NULL}, &n))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, at, tr_em_strong(e, n)), TR_EXC_INDEX,
                tr_arena_printf(&e->ctx->arena, missing, i), 0, NULL);
    return tr_em_iterget(e, it, at, out);
}

static bool by_name(filling *k, const char *s, size_t n, tr_tv *out) {
    tr_tv named = k->named;
    if (k->map.ty)
        return tr_em_getitem(k->e, k->map, known(k->e, s, n), out);
    for (uint32_t i = 0; named.ty && i < tr_em_keyed_n(named.ty); i++) {
        const char *name = tr_em_keyed_name(named.ty, i);
        if (strlen(name) == n && memcmp(name, s, n) == 0) {
            *out = tr_em_keyed_value(k->e, named, i);
            return true;
        }
    }
    return tr_em_error(k->e, "format() has no argument '%.*s'", (int)n, s);
}

static bool first_of(filling *k, const char *s, size_t n, tr_tv *out) {
    int i = number(s, n);
    if (n && i < 0)
        return by_name(k, s, n, out);
    if (k->map.ty)
        return tr_em_error(k->e, "Format string contains positional fields");
    if (!n && k->numbered)
        return tr_em_error(k->e,
                           "cannot switch from manual field specification to automatic field numbering");
    if (n && k->next > 0)
        return tr_em_error(k->e,
                           "cannot switch from automatic field numbering to manual field specification");
    k->numbered = n > 0;
    return by_number(k, n ? i : k->next++, out);
}

/* A field's name: an argument, and attributes and items of it. */
static bool named(filling *k, const char *s, size_t n, tr_tv *out) {
    tr_em *e = k->e;
    size_t at = 0;
    while (at < n && s[at] != '.' && s[at] != '[')
        at++;
    if (!first_of(k, s, at, out))
        return false;
    while (at < n) {
        bool item = s[at++] == '[';
        size_t from = at;
        while (at < n && (item ? s[at] != ']' : s[at] != '.' && s[at] != '['))
            at++;
        if (item && at == n)
            return tr_em_error(e, "Missing ']' in format string");
        if (at == from)
            return tr_em_error(e, "Empty attribute in format string");
        int i = item ? number(s + from, at - from) : -1;
        tr_tv name = known(e, s + from, at - from);
        const char *attr = name.ty->lit->u.s.d;
        if (!item ? !tr_em_getattr(e, *out, attr, out)
                  : !tr_em_getitem(e, *out, i < 0 ? name : tr_em_lit(e, tr_obj_int(&e->ctx->arena, i)), out))
            return false;
        at += item;
        if (item && at < n && s[at] != '.' && s[at] != '[')
            return tr_em_error(e, "Only '.' or '[' may follow ']' in format field specifier");
    }
    return true;
}

static bool converted(tr_em *e, char how, tr_tv x, tr_tv *out) {
    if (how == 'a')
        return tr_em_ascii(e, x, out);
    if (how != 'r' && how != 's')
        return tr_em_error(e, "Unknown conversion specifier %c", how);
    return tr_em_str(e, x, how == 'r', out);
}

static bool fill(filling *k, const char *s, size_t n, int depth, tr_tv *out);

/* What is between the braces of a field. */
static bool field(filling *k, const char *s, size_t n, int depth, tr_tv *out) {
    tr_em *e = k->e;
    size_t at = 0;
    tr_tv x, spec;
    for (bool within = false; at < n && (within || (s[at] != ':' && s[at] != '!')); at++) {
        if (s[at] == '{')
            return tr_em_error(e, "unexpected '{' in field name");
        within = s[at] == '[' || (within && s[at] != ']');
    }
    if (!named(k, s, at, &x))
        return false;
    if (at < n && s[at] == '!') {
        if (at + 1 == n)
            return tr_em_error(e, "unmatched '{' in format spec");
        if (at + 2 < n && s[at + 2] != ':')
            return tr_em_error(e, "expected ':' after conversion specifier");
        if (!converted(e, s[at + 1], x, &x))
            return false;
        at += 2;
    }
    at += at < n;
    return fill(k, s + at, n - at, depth + 1, &spec) && tr_em_spec(e, x, spec, out);
}

/* Fields of specifications are filled too, those of their own are not. */
static bool fill(filling *k, const char *s, size_t n, int depth, tr_tv *out) {
    tr_em *e = k->e;
    pieces to = {0};
    tr_tv x;
    for (size_t at = 0; at < n;) {
        size_t from = at;
        while (at < n && s[at] != '{' && s[at] != '}')
            at++;
        if (at + 1 < n && s[at] == s[at + 1] && depth == 1) {
            put_known(e, &to, s + from, at + 1 - from);
            at += 2;
            continue;
        }
        put_known(e, &to, s + from, at - from);
        if (at == n)
            break;
        if (s[at] == '}' || at + 1 == n)
            return tr_em_error(e, "Single '%c' encountered in format string", s[at]);
        if (depth > 2)
            return tr_em_error(e, "Max string recursion exceeded");
        size_t begin = ++at;
        bool name = true, within = false; /* braces in an index are characters */
        for (int open = 1; at < n; at++) {
            within = name && (s[at] == '[' || (within && s[at] != ']'));
            name = name && (within || (s[at] != ':' && s[at] != '!'));
            if (within)
                continue;
            open += s[at] == '{' ? 1 : s[at] == '}' ? -1 : 0;
            if (!open)
                break;
        }
        if (at == n)
            return tr_em_error(e, "expected '}' before end of string");
        if (!field(k, s + begin, at - begin, depth, &x))
            return false;
        put(e, &to, x);
        at++;
    }
    return tr_em_text(e, to.x.n, to.x.d, out);
}

static bool filled(filling *k, tr_tv self, tr_tv *out) {
    const char *s;
    if (!tr_tv_lit_str(self, &s))
        return tr_em_unsupported(k->e, "string-format", "format() of a string made at run time");
    return fill(k, s, strlen(s), 1, out);
}

bool tr_lib_str_format(tr_em *e, const tr_bcall *c, tr_tv *out) {
    filling k = {.e = e, .npos = c->nvar, .pos = c->var, .named = c->a[c->n - 1]};
    return filled(&k, c->a[0], out);
}

bool tr_lib_str_format_map(tr_em *e, const tr_bcall *c, tr_tv *out) {
    filling k = {.e = e, .map = c->a[1]};
    return filled(&k, c->a[0], out);
}

bool tr_em_format_items(tr_em *e, tr_tv self, uint32_t n, const tr_tv *x, tr_tv more, tr_tv *out) {
    filling k = {.e = e, .npos = n, .pos = x, .more = more};
    return filled(&k, self, out);
}

/* --- % --- */

typedef struct percent {
    const char *s; /* what is left of the template */
    bool left, sign, blank, alt, zeros;
    const char *width, *precision; /* digits; NULL: none, or those below */
    size_t nwidth, nprecision;
    tr_tv late_width, late_precision; /* from `*`: no type where there is none */
    bool bytes;                       /* of bytes */
} percent;

typedef struct taken {
    tr_tv args;
    uint32_t at, n;
    bool is_tuple;
} taken;

static bool next_arg(tr_em *e, taken *t, tr_tv *out) {
    if (t->at == t->n)
        return tr_em_error(e, "not enough arguments for format string");
    *out = t->is_tuple ? tr_em_item(e, t->args, t->at) : t->args;
    t->at++;
    return true;
}

static bool star_arg(tr_em *e, taken *t, tr_tv *out) {
    if (!next_arg(e, t, out))
        return false;
    if (!tr_lib_is_index(e, *out))
        return tr_em_error(e, "* wants int");
    *out = tr_em_strong(e, tr_em_conv(e, *out, tr_fam_ty(e, TR_TY_I64)));
    return true;
}

/* Flags, width and precision; s moves to the type. */
static bool read_percent(tr_em *e, percent *p, taken *t) {
    for (;; p->s++) {
        switch (*p->s) {
        case '-': p->left = true; continue;
        case '+': p->sign = true; continue;
        case ' ': p->blank = true; continue;
        case '#': p->alt = true; continue;
        case '0': p->zeros = true; continue;
        default: break;
        }
        break;
    }
    p->width = p->s;
    p->nwidth = strspn(p->s, "0123456789");
    p->s += p->nwidth;
    if (*p->s == '*' && !p->nwidth) {
        p->s++;
        if (!star_arg(e, t, &p->late_width))
            return false;
    }
    if (*p->s == '.') {
        p->precision = ++p->s;
        p->nprecision = strspn(p->s, "0123456789");
        p->s += p->nprecision;
        if (*p->s == '*' && !p->nprecision) {
            p->s++;
            if (!star_arg(e, t, &p->late_precision))
                return false;
        }
    }
    p->s += strspn(p->s, "hlL") > 0;
    return true;
}

/* A width that came as an argument: where it is negative, on the left. */
static bool pad(tr_em *e, const percent *p, tr_tv x, tr_tv *out) {
    tr_tv w = p->late_width, zero = tr_em_i64(e, 0), v[4];
    if (!tr_em_string(e, x, &v[1]))
        return false;
    tr_tv right = tr_em_cmp(e, TR_CMP_GE, w, zero);
    v[0] = tr_em_i64(e, TR_STR_LJUST);
    if (!p->left)
        v[0] = tr_em_select(e, right, tr_em_i64(e, TR_STR_RJUST), v[0]);
    v[2] = tr_em_select(e, right, w, tr_em_op2(e, TR_OP_SUB, zero, w));
    v[3] = tr_em_i64(e, ' ');
    *out = tr_em_make_string(e, TR_RT_STR_PAD, 4, v);
    return true;
}

/* x by what was read, as a format specification of that type says it; 0: of strings. */
static bool laid_out(tr_em *e, const percent *p, char type, tr_tv x, tr_tv *out) {
    bool zeros = p->zeros && !p->left && type;
    tr_tv zero = tr_em_i64(e, 0), spec;
    pieces to = {0};
    const char *front =
        tr_arena_printf(&e->ctx->arena, "%s%s%s%s%.*s",
                        p->left ? "<"
                        : type  ? ""
                                : ">",
                        !type      ? ""
                        : p->sign  ? "+"
                        : p->blank ? " "
                                   : "",
                        p->alt && type ? "#" : "", zeros ? "0" : "", (int)p->nwidth, p->width);
    put_known(e, &to, front, strlen(front));
    if (zeros && p->late_width.ty)
        put(e, &to, tr_em_op2(e, TR_OP_MAX, p->late_width, zero));
    if (p->precision) {
        put_known(e, &to, ".", 1);
        if (p->late_precision.ty)
            put(e, &to, tr_em_op2(e, TR_OP_MAX, p->late_precision, zero));
        else if (p->nprecision)
            put_known(e, &to, p->precision, p->nprecision);
        else
            put_known(e, &to, "0", 1);
    }
    if (type)
        put_known(e, &to, &type, 1);
    return tr_em_text(e, to.x.n, to.x.d, &spec) && tr_em_spec(e, x, spec, out) &&
           (!p->late_width.ty || pad(e, p, *out, out));
}

static bool bytes_part(tr_em *e, tr_tv x, tr_tv *out) {
    if (!tr_lib_bytearray_bytes(e, x, &x))
        return false;
    if (x.ty->kind != TR_TY_BYTES)
        return tr_em_error(
            e, "%%b requires a bytes-like object, or an object that implements __bytes__, not '%s'",
            tr_em_tyname(e, x.ty));
    *out = tr_em_item(e, x, 0);
    return true;
}

static bool as_byte(tr_em *e, tr_tv x, tr_tv *out) {
    static const char needs[] = "%c requires an integer in range(256) or a single byte";
    bool number = tr_lib_is_index(e, x);
    if (!number && x.ty->kind != TR_TY_BYTES && x.ty->kind != TR_TY_BYTEARRAY)
        return tr_em_error(e, "%s, not %s", needs, tr_em_tyname(e, x.ty));
    if (!number) {
        if (!bytes_part(e, x, out))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_strlen(e, *out), tr_em_i64(e, 1)), TR_EXC_TYPE, needs, 0,
                    NULL);
        return true;
    }
    x = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I64));
    tr_tv fits = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, x, tr_em_i64(e, 0)),
                            tr_em_cmp(e, TR_CMP_LT, x, tr_em_i64(e, 256)));
    tr_em_check(e, fits, TR_EXC_OVERFLOW, "%c arg not in range(256)", 0, NULL);
    *out = tr_em_make_string(e, TR_RT_STR_CHAR, 1, &x);
    return true;
}

static bool as_char(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv n;
    if (tr_lib_is_text(x)) {
        if (!tr_em_string(e, x, out))
            return false;
        n = tr_em_cmp(e, TR_CMP_EQ, tr_em_strlen(e, *out), tr_em_i64(e, 1));
        tr_em_check(e, n, TR_EXC_TYPE, "%c requires int or char", 0, NULL);
        return true;
    }
    if (!tr_lib_is_index(e, x))
        return tr_em_error(e, "%%c requires int or char");
    x = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I64));
    tr_tv fits = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, x, tr_em_i64(e, 0)),
                            tr_em_cmp(e, TR_CMP_LE, x, tr_em_i64(e, 0x10ffff)));
    tr_em_check(e, fits, TR_EXC_OVERFLOW, "%c arg not in range(0x110000)", 0, NULL);
    *out = tr_em_make_string(e, TR_RT_STR_CHAR, 1, &x);
    return true;
}

/* x as the type wants it; *as: the type of its specification. */
static bool as_type(tr_em *e, const percent *p, tr_tv x, char *as, tr_tv *out) {
    char type = *p->s, class = tr_fam_class(e, x);
    *as = type;
    *out = x;
    switch (type) {
    case 'b':
    case 's': *as = 0; return p->bytes ? bytes_part(e, x, out) : tr_em_str(e, x, false, out);
    case 'r':
    case 'a': *as = 0; return type == 'a' || p->bytes ? tr_em_ascii(e, x, out) : tr_em_str(e, x, true, out);
    case 'c': *as = 0; return p->bytes ? as_byte(e, x, out) : as_char(e, x, out);
    case 'd':
    case 'i':
    case 'u':
        *as = 'd';
        if (!class || class == 'c')
            return tr_em_error(e, "%%%c format: a real number is required, not %s", type,
                               tr_em_tyname(e, x.ty));
        if (class == 'f')
            *out = tr_lib_float_to_int(e, x);
        break;
    case 'x':
    case 'X':
    case 'o':
        if (class != 'i' && class != 'b')
            return tr_em_error(e, "%%%c format: an integer is required, not %s", type, tr_em_tyname(e, x.ty));
        break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        if (!class || class == 'c')
            return tr_em_error(e,
                               p->bytes ? "float argument required, not %s" : "must be real number, not %s",
                               tr_em_tyname(e, x.ty));
        return true;
    default: return tr_em_unsupported(e, "string-format", "'%%%c'", type);
    }
    return !p->precision || tr_em_unsupported(e, "string-format", "a precision of '%%%c'", type);
}

static bool one_percent(tr_em *e, const char *start, percent *p, taken *t, tr_tv *out) {
    const char *name = NULL;
    tr_tv x;
    char as;
    if (*p->s == '(' && p->bytes)
        return tr_em_unsupported(e, "string-format", "keys in a template of bytes");
    if (*p->s == '(') {
        size_t n = strcspn(++p->s, ")");
        if (t->is_tuple || tr_fam_class(e, t->args) || tr_lib_is_text(t->args))
            return tr_em_error(e, "format requires a mapping");
        if (!p->s[n])
            return tr_em_error(e, "incomplete format key");
        x = known(e, p->s, n);
        name = p->s;
        p->s += n + 1;
        t->at = t->n;
    }
    if (!read_percent(e, p, t))
        return false;
    if (!*p->s)
        return tr_em_error(e, "incomplete format");
    if (*p->s == '%') {
        *out = known(e, "%", 1);
        return true;
    }
    if (!strchr(p->bytes ? "bsracdiuxXoeEfFgG" : "sracdiuxXoeEfFgG", *p->s))
        return tr_em_error(e, "unsupported format character '%c' (0x%x) at index %d", *p->s,
                           (unsigned)(unsigned char)*p->s, (int)(p->s - start));
    return (name ? tr_em_getitem(e, t->args, x, &x) : next_arg(e, t, &x)) && as_type(e, p, x, &as, &x) &&
           laid_out(e, p, as, x, out);
}

static bool percents(tr_em *e, const char *s, bool bytes, tr_tv args, tr_tv *out) {
    const char *start;
    bool is_tuple = args.ty->kind == TR_TY_TUPLE && !tr_ty_is_list(args.ty);
    taken t = {args, 0, is_tuple ? args.ty->n : 1, is_tuple};
    pieces to = {0};
    tr_tv x;
    for (start = s; *s;) {
        size_t n = strcspn(s, "%");
        put_known(e, &to, s, n);
        s += n;
        if (!*s)
            break;
        percent p = {.s = s + 1, .bytes = bytes};
        if (!one_percent(e, start, &p, &t, &x))
            return false;
        put(e, &to, x);
        s = p.s + 1;
    }
    bool one = t.is_tuple || tr_fam_class(e, args) || tr_lib_is_text(args) || tr_tv_is_none(args) ||
               args.ty->kind == TR_TY_BYTES;
    if (t.at < t.n && one)
        return tr_em_error(e, "not all arguments converted during %s formatting", bytes ? "bytes" : "string");
    return tr_em_text(e, to.x.n, to.x.d, out);
}

bool tr_lib_percent(tr_em *e, tr_tv template, tr_tv args, tr_tv *out) {
    const char *s;
    if (!tr_tv_lit_str(template, &s))
        return tr_em_unsupported(e, "string-format", "'%%' of a string made at run time");
    return percents(e, s, false, args, out);
}

bool tr_em_bytes_percent(tr_em *e, const tr_obj *template, tr_tv args, tr_tv *out) {
    tr_tv s;
    assert(template->kind == TR_OBJ_BYTES && "a template of bytes");
    if (!percents(e, template->u.s.d, true, args, &s) || !tr_em_string(e, s, &s))
        return false;
    *out = tr_lib_bytes_known(e, template->u.s.d, s);
    return true;
}
