/* Attributes, methods, dtypes as values, and calls of rows of builtins.def with arguments bound to their
 * parameters. */
#include <assert.h>
#include <string.h>

#include "lib/chars.h"
#include "lib/em.h"
#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"

const tr_builtin tr_builtins[TR_B__COUNT] = {
#define F(id, path, params, fn, aux)      {#id, path, NULL, params, fn, aux, TR_B_FUNC},
#define M(id, cls, name, params, fn, aux) {#id, cls, name, params, fn, aux, TR_B_METHOD},
#define A(id, cls, name, fn, aux)         {#id, cls, name, "", fn, aux, TR_B_ATTR},
#include "lib/builtins.def"
#undef F
#undef M
#undef A
};

int tr_builtin_member(const char *cls, const char *name) {
    for (int i = 0; i < TR_B__COUNT; i++)
        if (tr_builtins[i].name && strcmp(tr_builtins[i].name, name) == 0 &&
            strcmp(tr_builtins[i].path, cls) == 0)
            return i;
    return -1;
}

bool tr_fam_is_ufunc(uint32_t row) {
    const tr_builtin *b = &tr_builtins[row];
    return strncmp(b->path, "numpy.", 6) == 0 && b->params[0] == 'x';
}

const tr_ufn *tr_fam_users_ufunc(tr_em *e, tr_tv x) {
    const tr_obj *o = x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL;
    const tr_ufn *u = o && o->kind == TR_OBJ_FUNC ? e->prog->funcs.d[o->u.func].ufn : NULL;
    return u && !u->core ? u : NULL;
}

/* cuda.threadIdx and its kin, whose rows say which op asks. */
static bool row_asks_place(uint32_t row) {
    const tr_builtin *b = &tr_builtins[row];
    return strncmp(b->path, "treadle.cuda.", 13) == 0 && b->aux >= TR_OP_THREADIDX && b->aux <= TR_OP_GRIDDIM;
}

const char *tr_lib_face_class(const tr_ty *faced) {
    return faced->sub == TR_FACE_COUNTER   ? "Counter"
           : faced->sub == TR_FACE_ORDERED ? "OrderedDict"
                                           : "defaultdict";
}

static const char *class_of(tr_em *e, tr_tv x) {
    const char *cls = tr_lib_kind(x.ty)->attrs;
    const tr_obj *o = x.ty->lit;
    if (x.ty->kind == TR_TY_FACED)
        return tr_lib_face_class(x.ty);
    if (tr_lib_is_exc_class(x.ty))
        return "exception class";
    if (x.ty->kind != TR_TY_LIT)
        return cls ? cls : tr_ty_word(x.ty);
    if (tr_lib_scalar(e, x.ty))
        return "number";
    if (o->kind == TR_OBJ_STR) /* also one that names a dtype where one is asked for */
        return "str";
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_INT) /* which is a dtype only as an argument */
        return "int class";
    if (tr_tv_dtype(e, x) || (o->kind == TR_OBJ_TYPE && (tr_lib_date_dtype(e, x) || tr_chars_letter(o->ty))))
        return "dtype";
    if ((o->kind == TR_OBJ_BUILTIN && tr_fam_is_ufunc(o->u.builtin)) || tr_fam_users_ufunc(e, x))
        return "ufunc";
    if (o->kind == TR_OBJ_BUILTIN && row_asks_place(o->u.builtin))
        return "dim3";
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_CU_GROUP)
        return "gridgroup";
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_TYPED_LIST)
        return "typed list";
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_TYPED_DICT)
        return "typed dict";
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_TYPED_SET)
        return "typed set";
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_STR)
        return "str class";
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_BYTES)
        return "bytes class";
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_DICT)
        return "dict class";
    return cls;
}

int tr_em_member(tr_em *e, tr_tv x, const char *name) {
    return tr_builtin_member(class_of(e, x), name);
}

const tr_obj *tr_em_method(tr_em *e, tr_tv x, const char *name) {
    return tr_em_method_of(e, class_of(e, x), name);
}

const tr_obj *tr_em_method_of(const tr_em *e, const char *cls, const char *name) {
    for (uint32_t i = 0; cls && i < e->prog->methods.n; i++)
        if (strcmp(e->prog->methods.d[i].name, name) == 0 && strcmp(e->prog->methods.d[i].cls, cls) == 0)
            return e->prog->methods.d[i].fn;
    return NULL;
}

/* Methods that change what they are of; of lists and dicts copy(), too, which only these have. */
enum { OF_LIST = 1, OF_DICT = 2, OF_SET = 4, COPY = 8 };

static unsigned changed_by(const char *name) {
    static const struct {
        const char *name;
        unsigned of;
    } rows[] = {
        {"append", OF_LIST},
        {"extend", OF_LIST},
        {"insert", OF_LIST},
        {"remove", OF_LIST | OF_SET},
        {"sort", OF_LIST},
        {"reverse", OF_LIST},
        {"pop", OF_LIST | OF_DICT | OF_SET},
        {"clear", OF_LIST | OF_DICT | OF_SET},
        {"popitem", OF_DICT},
        {"setdefault", OF_DICT},
        {"update", OF_DICT | OF_SET},
        {"add", OF_SET},
        {"discard", OF_SET},
        {"difference_update", OF_SET},
        {"intersection_update", OF_SET},
        {"symmetric_difference_update", OF_SET},
        {"copy", COPY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].of;
    return 0;
}

bool tr_em_changes_dict(const char *name) {
    return changed_by(name) & (OF_DICT | COPY);
}

bool tr_em_changes_list(const char *name) {
    return changed_by(name) & (OF_LIST | COPY);
}

bool tr_em_changes(const char *name) {
    return changed_by(name) & (OF_LIST | OF_DICT | OF_SET);
}

bool tr_em_takes_item(const tr_ty *callee) {
    return callee->kind == TR_TY_METHOD &&
           (strcmp(callee->name, "pop") == 0 || strcmp(callee->name, "popitem") == 0 ||
            strcmp(callee->name, "popleft") == 0);
}

bool tr_em_puts_in_list(const char *name) {
    static const char *const names[] = {"append", "appendleft", "insert",  "remove",
                                        "index",  "count",      "fromkeys"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* What class of Python's a literal number is of; NULL: it is none. */
static const char *python_class(tr_tv x) {
    switch (x.ty->kind == TR_TY_LIT ? (tr_objk)x.ty->lit->kind : TR_OBJ_OPAQUE) {
    case TR_OBJ_BOOL: return "bool";
    case TR_OBJ_INT: return "int";
    case TR_OBJ_FLOAT: return "float";
    case TR_OBJ_COMPLEX: return "complex";
    default: return NULL;
    }
}

/* Is it a method of str that is not compiled? */
static bool is_left_out(const char *name) {
    static const char *const names[] = {"encode", "format", "maketrans"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_bytes_in_an_array(tr_tv x) {
    return x.ty->kind == TR_TY_ARRAY && x.ty->ndim == 1 && x.ty->elem->kind == TR_TY_U8;
}

static bool no_attribute(tr_em *e, tr_tv x, const char *name) {
    if (tr_lib_is_text(x) && is_left_out(name))
        return tr_em_unsupported(e, "string-member", "'%s' of strings", name);
    if (tr_em_is_caught(x.ty))
        return tr_em_unsupported(e, "exc-value", "'%s' of an exception that was caught", name);
    if (strcmp(name, "__enter__") == 0 || strcmp(name, "__exit__") == 0)
        return tr_em_unsupported(e, "with", "a `with` of %s", tr_em_tyname(e, x.ty));
    const char *python = python_class(x);
    tr_em_error(e, "%s has no attribute '%s'", python ? python : tr_em_tyname(e, x.ty), name);
    if (is_bytes_in_an_array(x) && tr_builtin_member("bytearray", name) >= 0) {
        tr_em_hint(e, "a bytearray that is passed in is an array of its memory: c = bytearray(b) is one with "
                      "all methods");
        return false;
    }
    tr_lib_suggest_member(e, class_of(e, x), name);
    if (class_of(e, x))
        tr_em_hint_missing(e, tr_arena_printf(&e->ctx->arena, "'%s.%s'", class_of(e, x), name));
    return false;
}

/* A set has it, and a frozenset has not. */
static bool is_for_change(const char *name) {
    static const char *const of_sets[] = {"add", "clear", "discard", "pop", "remove", "update"};
    size_t n = strlen(name);
    for (size_t k = 0; k < sizeof of_sets / sizeof *of_sets; k++)
        if (strcmp(name, of_sets[k]) == 0)
            return true;
    return n > 7 && strcmp(name + n - 7, "_update") == 0;
}

/* Classes whose methods may be taken as functions of their first argument. */
static const struct {
    uint16_t row;
    const char *name;
} method_classes[] = {{TR_B_STR, "str"}, {TR_B_LIST, "list"},  {TR_B_DICT, "dict"},
                      {TR_B_SET, "set"}, {TR_B_INT, "number"}, {TR_B_FLOAT, "number"}};

static const char *method_class(tr_tv x) {
    const tr_obj *o = x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL;
    for (size_t k = 0; o && o->kind == TR_OBJ_BUILTIN && k < sizeof method_classes / sizeof *method_classes;
         k++)
        if (o->u.builtin == method_classes[k].row)
            return method_classes[k].name;
    return NULL;
}

bool tr_em_has_methods(tr_tv x) {
    return method_class(x) != NULL;
}

/* str.upper */
static bool unbound(tr_em *e, tr_tv x, const char *name, tr_tv *out) {
    const char *cls = method_class(x);
    int row = cls ? tr_builtin_member(cls, name) : -1;
    bool library = false;
    for (uint32_t k = 0; cls && row < 0 && k < e->prog->methods.n; k++)
        library = library || (strcmp(e->prog->methods.d[k].cls, cls) == 0 &&
                              strcmp(e->prog->methods.d[k].name, name) == 0);
    if (!library && (row < 0 || tr_builtins[row].kind == TR_B_ATTR))
        return false;
    *out = tr_em_make(e, tr_ty_method(e->types, x.ty, name), 1, &x);
    return true;
}

/* a.__getitem__ is what a[i] does, with a. */
static bool named_operator(tr_em *e, tr_tv x, const char *name, tr_tv *out) {
    static const struct {
        const char *name;
        uint16_t row;
    } of[] = {{"__getitem__", TR_B_O_GETITEM}, {"__contains__", TR_B_O_CONTAINS}, {"__len__", TR_B_LEN}};
    for (size_t k = 0; x.ty->kind != TR_TY_LIT && k < sizeof of / sizeof *of; k++)
        if (strcmp(name, of[k].name) == 0) {
            *out = tr_em_partial(e, tr_em_row(e, of[k].row), tr_em_tuple(e, 1, &x), tr_em_tuple(e, 0, NULL),
                                 tr_em_tuple(e, 0, NULL));
            return true;
        }
    return false;
}

/* What member k of an enum has by that name; NULL: none, or it is no such member. */
static const tr_obj *attr_of(const tr_ty *oneof, uint32_t k, const char *name) {
    const tr_obj *o = oneof->items[k]->kind == TR_TY_LIT ? oneof->items[k]->lit : NULL;
    return o && o->kind == TR_OBJ_MODULE ? tr_obj_attr(o, name) : NULL;
}

/* An attribute that all members of enums have which x may be, of one type. */
static bool attr_of_member(tr_em *e, tr_tv x, const char *name, tr_tv *out) {
    const tr_ty *ty = NULL;
    for (uint32_t k = 1; k < x.ty->n; k++) {
        const tr_obj *o = attr_of(x.ty, k, name);
        const tr_ty *t = o ? tr_em_obj(e, o).ty : NULL;
        if (!t || !(ty = ty ? tr_ty_join(e->types, ty, t, e->opts->promote_numba) : t))
            return false;
    }
    *out = tr_em_obj(e, attr_of(x.ty, 1, name));
    for (uint32_t k = 1; ty->kind != TR_TY_LIT && k < x.ty->n; k++) {
        tr_tv here, y;
        if (!tr_em_coerce(e, tr_em_obj(e, attr_of(x.ty, k, name)), ty, &y))
            return false;
        here = tr_em_cmp(e, TR_CMP_EQ, tr_em_item(e, x, 0), tr_em_i64(e, k - 1));
        *out = k == 1 ? y : tr_em_select(e, here, y, *out);
    }
    return true;
}

bool tr_em_getattr(tr_em *e, tr_tv x, const char *name, tr_tv *out) {
    if (x.ty->kind == TR_TY_WINDOW) /* only its indices are its own */
        x = tr_em_item(e, x, 0);
    const tr_obj *lit = x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL,
                 *m = lit && lit->kind == TR_OBJ_MODULE ? lit
                      : lit                             ? lit->member
                                                        : NULL,
                 *found = m ? tr_obj_attr(m, name) : NULL;
    if (found) {
        *out = tr_em_obj(e, found);
        return true;
    }
    if (x.ty->kind == TR_TY_ONEOF && attr_of_member(e, x, name, out))
        return true;
    if (m && m == lit) {
        tr_em_error(e, "%s has no attribute '%s'", m->repr, name);
        tr_lib_suggest_member(e, m->u.m.name, name);
        return false;
    }
    if (x.ty->kind == TR_TY_TUPLE && x.ty->fields)
        for (uint32_t i = 0; i < x.ty->n; i++)
            if (strcmp(x.ty->fields[i], name) == 0) {
                *out = tr_em_item(e, x, i);
                return true;
            }
    int row = tr_em_member(e, x, name);
    bool face = x.ty->kind == TR_TY_FACED || x.ty->kind == TR_TY_FROZEN;
    if (row < 0 && face && !tr_em_method(e, x, name) && !(x.ty->kind == TR_TY_FROZEN && is_for_change(name)))
        return tr_em_getattr(e, tr_em_item(e, x, 0), name, out); /* a dict's, or a set's */
    if (row < 0 && tr_em_method(e, x, name)) {
        *out = tr_em_make(e, tr_ty_method(e->types, x.ty, name), 1, &x);
        return true;
    }
    if ((x.ty->kind == TR_TY_RECORD && (row < 0 || tr_ty_find_field(x.ty->items[0]->elem, name) >= 0)) ||
        (row < 0 && x.ty->kind == TR_TY_RECORDS))
        return tr_lib_field(e, x, name, out);
    if (row < 0 && x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_OPAQUE &&
        strncmp(name, "__e", 3) != 0)
        return tr_em_unsupported(e, "unknown-member", "'%s' of %s", name, x.ty->lit->repr);
    const char *path = tr_arena_printf(&e->ctx->arena, "'ndarray.%s'", name);
    if (row < 0 && x.ty->kind == TR_TY_ARRAY && tr_em_advice(path + 1, strlen(path) - 2)) {
        tr_em_unsupported(e, "array-member", "'%s' of arrays", name);
        tr_em_hint_missing(e, path);
        return false;
    }
    if (row < 0 && (named_operator(e, x, name, out) || unbound(e, x, name, out)))
        return true;
    if (row < 0)
        return no_attribute(e, x, name);
    if (tr_builtins[row].kind == TR_B_ATTR)
        return tr_em_builtin(e, (uint32_t)row, x, &(tr_args){0, NULL, 0, NULL}, out);
    *out = tr_em_make(e, tr_ty_method(e->types, x.ty, name), 1, &x);
    return true;
}

/* --- dtypes --- */

static const struct {
    const char *id;
    tr_tyk kind;
} dtype_rows[] = {{"INT", TR_TY_I64}, {"FLOAT", TR_TY_F64}, {"BOOL", TR_TY_BOOL}, {"COMPLEX", TR_TY_C128}};

const tr_ty *tr_tv_dtype(tr_em *e, tr_tv x) {
    if (!x.ty || x.ty->kind != TR_TY_LIT)
        return NULL;
    const tr_obj *o = x.ty->lit;
    if (o->kind == TR_OBJ_TYPE)
        return o->ty && tr_ty_is_scalar(o->ty) ? o->ty : NULL;
    if (o->kind == TR_OBJ_STR)
        return tr_ty_parse_dtype(e->types, o->u.s.d);
    if (o->kind != TR_OBJ_BUILTIN)
        return NULL;
    for (unsigned i = 0; i < sizeof dtype_rows / sizeof *dtype_rows; i++)
        if (strcmp(tr_builtins[o->u.builtin].id, dtype_rows[i].id) == 0)
            return tr_ty_scalar(e->types, dtype_rows[i].kind);
    return NULL;
}

const tr_ty *tr_lib_date_dtype(tr_em *e, tr_tv x) {
    const tr_obj *o = x.ty && x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL;
    if (!o)
        return NULL;
    if (o->kind == TR_OBJ_TYPE)
        return o->ty && o->ty->kind == TR_TY_DATE ? o->ty : NULL;
    if (o->kind == TR_OBJ_STR)
        return tr_ty_parse_date(e->types, o->u.s.d);
    uint32_t row = o->kind == TR_OBJ_BUILTIN ? o->u.builtin : (uint32_t)TR_B__COUNT;
    bool is = row == TR_B_NP_DATETIME64 || row == TR_B_NP_TIMEDELTA64;
    return is ? tr_ty_date(e->types, row == TR_B_NP_TIMEDELTA64, TR_UNIT_GENERIC) : NULL;
}

/* --- binding --- */

typedef struct param {
    const char *name;
    uint32_t len;
    bool optional, star, kwonly, names; /* names: all keywords that are no other parameter's */
} param;

enum { MAX_PARAMS = 16 };

/* "x, axis=, *, dtype=" -> rows of params. */
static uint32_t parse_params(const char *s, param *p) {
    uint32_t n = 0;
    bool kwonly = false;
    while (*s && n < MAX_PARAMS) {
        s += strspn(s, " ,");
        uint32_t len = (uint32_t)strcspn(s, ",");
        if (len == 0)
            break;
        if (len == 1 && *s == '*')
            kwonly = true;
        else if (!(len == 1 && *s == '/')) {
            bool star = *s == '*', names = star && s[1] == '*', opt = s[len - 1] == '=';
            s += star + names;
            len -= star + names;
            p[n++] = (param){s, len - opt, opt || names, star && !names, kwonly || names, names};
        }
        s += len;
    }
    return n;
}

static const char *display(const tr_builtin *b) {
    return b->kind == TR_B_FUNC ? b->path : b->name;
}

/* What a template does with arrays whose items lie anywhere: lib/loose.def. */
typedef enum packing { REFUSES, TAKES, LIES, COPIES, CHANGES } packing;

static packing packing_of(const tr_builtin *b) {
    static const struct {
        tr_bfn fn;
        packing how;
    } rows[] = {
#define TAKES(fn)   {fn, TAKES},
#define LIES(fn)    {fn, LIES},
#define COPIES(fn)  {fn, COPIES},
#define CHANGES(fn) {fn, CHANGES},
#include "lib/loose.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (b->fn == rows[i].fn)
            return rows[i].how;
    return strncmp(b->path, "builtins.", 9) == 0 ? TAKES : REFUSES;
}

static bool has_such(const tr_ty *t, bool (*is)(const tr_ty *)) {
    bool any = t && is(t);
    for (uint32_t i = 0; t && t->kind == TR_TY_TUPLE && i < t->n; i++)
        any = any || has_such(t->items[i], is);
    return any;
}

static bool type_has_loose_part(const tr_ty *t) {
    return has_such(t, tr_ty_is_loose);
}

static bool some_have(const tr_bcall *c, bool (*is)(const tr_ty *)) {
    bool any = false;
    for (uint32_t i = 0; i < c->n; i++)
        any = any || has_such(c->a[i].ty, is);
    for (uint32_t i = 0; i < c->nvar; i++)
        any = any || has_such(c->var[i].ty, is);
    return any;
}

/* The same value, with copies of loose arrays. */
static bool aligned(tr_em *e, tr_tv x, tr_tv *out) {
    *out = x;
    if (!type_has_loose_part(x.ty))
        return true;
    if (tr_ty_is_loose(x.ty))
        return tr_em_copy(e, x, TR_LAYOUT_C, out);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, x.ty->n);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n);
    for (uint32_t i = 0; i < x.ty->n; i++) {
        if (!aligned(e, tr_em_item(e, x, i), &it[i]))
            return false;
        t[i] = it[i].ty;
    }
    const tr_ty *ty =
        tr_ty_is_list(x.ty) ? tr_ty_list(e->types, x.ty->n, t) : tr_ty_tuple(e->types, x.ty->n, t);
    *out = tr_em_make(e, ty, x.ty->n, it);
    return true;
}

/* Copies of loose arrays, but of an `out` that is read-only. */
static bool copy_loose(tr_em *e, tr_bcall *c, uint32_t out) {
    tr_tv *var = TR_NEW_N(&e->ctx->arena, tr_tv, c->nvar + 1u);
    for (uint32_t i = 0; i < c->n; i++)
        if ((i != out || !c->a[i].ty->readonly) && !aligned(e, c->a[i], &c->a[i]))
            return false;
    for (uint32_t i = 0; i < c->nvar; i++)
        if (!aligned(e, c->var[i], &var[i]))
            return false;
    c->var = var;
    return true;
}

/* The argument that a function which is given copies stores to: its first loose one where it works in place,
 * else `out`; n: none. p: the parameters, behind `first` others. */
static uint32_t stored_to(const tr_bcall *c, packing how, const param *p, uint32_t first) {
    uint32_t k = how == CHANGES ? 0 : first;
    for (; k < c->n; k++) {
        bool named = how == CHANGES || (p[k - first].len == 3 && strncmp(p[k - first].name, "out", 3) == 0);
        if (named && c->a[k].ty && tr_ty_is_loose(c->a[k].ty))
            break;
    }
    return k;
}

/* Calls the template with loose arrays among the arguments as it takes them; false, with an
 * error, where it takes none. */
static bool call_loose(tr_em *e, tr_bcall *c, const param *p, uint32_t first, tr_tv *out) {
    const tr_builtin *b = &tr_builtins[c->row];
    packing how = some_have(c, tr_ty_is_loose) ? packing_of(b) : TAKES;
    bool copies = how == COPIES || how == CHANGES;
    uint32_t k = copies ? stored_to(c, how, p, first) : c->n;
    tr_tv to = k < c->n ? c->a[k] : (tr_tv){NULL, TR_NOVAL};
    if (copies && !copy_loose(e, c, k))
        return false;
    if (how == LIES ? some_have(c, tr_ty_is_packed) : how == REFUSES)
        return tr_em_unsupported(e, "packed-field", "%s() of an array whose items are not aligned",
                                 display(b));
    if (!b->fn(e, c, out))
        return false;
    assert((!out->ty || tr_em_is_given(e, *out)) && "a template gives a value of the type that it says");
    if (!to.ty || to.ty->readonly) /* which the template has told */
        return true;
    if (!tr_em_assign(e, to, c->a[k]))
        return false;
    if (how == COPIES)
        *out = to;
    return true;
}

bool tr_lib_call_bound(tr_em *e, const tr_bcall *c, tr_tv *out) {
    assert(c->row < TR_B__COUNT && "a row of builtins.def");
    const tr_builtin *b = &tr_builtins[c->row];
    param p[MAX_PARAMS];
    tr_bcall to = *c;
    to.a = tr_arena_copy(&e->ctx->arena, c->a, c->n * sizeof *c->a);
    return call_loose(e, &to, p, c->n - parse_params(b->params, p), out);
}

/* Of the arguments, what calls with dates look at. p: the parameters, behind `first` others. */
static tr_dated dated(const tr_bcall *c, const param *p, uint32_t first) {
    tr_dated d = {.dtype = {NULL, TR_NOVAL}};
    for (uint32_t i = first; i < c->n; i++) {
        const param *q = &p[i - first];
        if (q->len == 5 && memcmp(q->name, "dtype", 5) == 0)
            d.dtype = c->a[i];
        d.out = d.out || (q->len >= 3 && memcmp(q->name, "out", 3) == 0 && tr_fam_given(c->a[i]));
        d.where = d.where || (q->len == 5 && memcmp(q->name, "where", 5) == 0 && tr_fam_given(c->a[i]));
    }
    return d;
}

bool tr_em_builtin(tr_em *e, uint32_t row, tr_tv self, const tr_args *args, tr_tv *out) {
    assert(row < TR_B__COUNT && args->nkw <= args->n &&
           "a row of builtins.def, and keywords among its arguments");
    assert((tr_builtins[row].kind == TR_B_FUNC) == !self.ty && "methods and attributes are some object's");
    assert((!self.ty || tr_em_is_whole(e, self)) && tr_em_are_whole(e, args->n, args->v) &&
           "a builtin is called with values");
    const tr_builtin *b = &tr_builtins[row];
    param p[MAX_PARAMS];
    uint32_t np = parse_params(b->params, p), first = self.ty ? 1 : 0, npos = args->n - args->nkw;
    tr_bcall c = {.row = (uint16_t)row, .aux = b->aux, .n = np + first, .fresh = e->fresh};
    e->fresh = false;
    c.a = TR_NEW_N(&e->ctx->arena, tr_tv, np + first + 1u);
    c.var = TR_NEW_N(&e->ctx->arena, tr_tv, args->n + 1u);
    if (first)
        c.a[0] = self;
    uint32_t k = 0;
    for (uint32_t i = 0; i < np && k < npos; i++) {
        if (p[i].kwonly || p[i].names)
            break;
        if (p[i].star) {
            while (k < npos)
                c.var[c.nvar++] = args->v[k++];
        } else {
            c.a[first + i] = args->v[k++];
        }
    }
    if (k < npos)
        return tr_em_error(e, "%s() takes at most %u arguments, %u were given", display(b), k, npos);
    tr_tv *names = TR_NEW_N(&e->ctx->arena, tr_tv, args->nkw + 1u),
          *values = TR_NEW_N(&e->ctx->arena, tr_tv, args->nkw + 1u);
    uint32_t nnames = 0; /* that are no parameter's */
    for (uint32_t j = 0; j < args->nkw; j++) {
        uint32_t i = 0;
        while (i < np && (strlen(args->kw[j]) != p[i].len || memcmp(args->kw[j], p[i].name, p[i].len) != 0 ||
                          p[i].star || p[i].names))
            i++;
        if (i == np && np && p[np - 1].names) {
            names[nnames] = tr_em_lit(e, tr_obj_str(&e->ctx->arena, args->kw[j]));
            values[nnames++] = args->v[npos + j];
            continue;
        }
        if (i == np) {
            tr_em_error(e, "%s() got an unexpected keyword argument '%s'", display(b), args->kw[j]);
            tr_lib_suggest_keyword(e, b->params, args->kw[j]);
            return false;
        }
        if (c.a[first + i].ty)
            return tr_em_error(e, "%s() got multiple values for argument '%s'", display(b), args->kw[j]);
        c.a[first + i] = args->v[npos + j];
    }
    if (nnames)
        c.a[first + np - 1] = tr_em_keyed(e, tr_em_tuple(e, nnames, names), tr_em_tuple(e, nnames, values));
    for (uint32_t i = 0; i < np; i++)
        if (!p[i].optional && !p[i].star && !c.a[first + i].ty)
            return tr_em_error(e, "%s() is missing its argument '%.*s'", display(b), (int)p[i].len,
                               p[i].name);
    tr_dated d = dated(&c, p, first);
    bool mine;
    if (!tr_lib_date_call(e, &c, &d, out, &mine) || mine)
        return mine && out->ty;
    if (!tr_lib_chars_call(e, &c, d.dtype, out, &mine) || mine)
        return mine && out->ty;
    if (tr_lib_known(e, &c, out))
        return true;
    return call_loose(e, &c, p, first, out);
}
