/* Arguments behind a star whose number only the running program knows: `f(1, *l, 2)` of a list, an array, a
 * range, or what gives items. A function of the user's says how many it takes: where that is one number, it
 * is compared with what there is, and the items are its arguments; what is left goes to its *args, which is
 * a list then. Several such sequences become one first, whose items have one type. min() and max() of the
 * items are those of the sequence, print() writes their texts. Anything else would need a call of each
 * length. */
#include <string.h>

#include "infer/priv.h"

/* A function of the user's, or one of the library's that says that it takes a list for its *args. */
static const tr_func *user_function(tr_em *e, tr_tv callee) {
    if (callee.ty->kind == TR_TY_CLOSURE)
        return &e->prog->funcs.d[callee.ty->func];
    const tr_obj *o = callee.ty->kind == TR_TY_LIT ? callee.ty->lit : NULL;
    if (!o || o->kind != TR_OBJ_FUNC || (o->u.contract && o->u.contract->nsigs))
        return NULL;
    const tr_func *fn = &e->prog->funcs.d[o->u.func];
    const tr_contract *k = o->u.contract;
    if (k && k->library && (!k->nargs || k->constants[k->nargs - 1] != TR_MARK_ITEMS))
        return NULL;
    return fn->ufn ? NULL : fn;
}

static bool is_named(const tr_callinfo *ci, const char *name) {
    for (uint32_t i = 0; i < ci->nkw; i++)
        if (strcmp(ci->kwnames[i], name) == 0)
            return true;
    return false;
}

/* Those of an inner function are a tuple, of the last parameters by position, or have names. */
static bool has_default(const tr_func *fn, tr_tv callee, uint32_t i) {
    const tr_ty *own = callee.ty->kind == TR_TY_CLOSURE ? callee.ty->items[0] : NULL;
    if (!own || own->kind == TR_TY_NONE)
        return fn->defaults && fn->defaults[i];
    bool has = own->kind == TR_TY_TUPLE && i + own->n >= fn->nargs;
    for (uint32_t k = 0; own->kind == TR_TY_KEYED && !has && k < tr_em_keyed_n(own); k++)
        has = strcmp(tr_em_keyed_name(own, k), fn->argnames[i]) == 0;
    return has;
}

/* How many arguments by position it takes before its *args; false: several numbers would do. */
static bool number_of(const tr_func *fn, const tr_callinfo *ci, tr_tv callee, uint32_t *n) {
    for (*n = 0; *n < fn->nargs && !is_named(ci, fn->argnames[*n]); ++*n)
        if (has_default(fn, callee, *n))
            return false;
    return true;
}

static bool length(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_em_builtin(e, TR_B_LEN, (tr_tv){NULL, TR_NOVAL}, &(tr_args){1, &x, 0, NULL}, n);
}

static bool refuse(tr_em *e, tr_tv x) {
    return tr_em_unsupported(e, "call-star", "a call with * of %s", tr_em_tyname(e, x.ty));
}

static bool call(tr_em *e, uint32_t row, tr_tv self, uint32_t n, const tr_tv *x, tr_tv *out) {
    return tr_em_builtin(e, row, self, &(tr_args){n, x, 0, NULL}, out);
}

static bool extend(tr_em *e, tr_tv list, tr_tv x) {
    tr_tv none, a[2] = {list, x};
    return call(e, TR_B_L_EXTEND, list, 1, &a[1], &none);
}

/* Positional arguments: of each, is it a sequence that stands for its items? */
typedef struct parts {
    uint32_t n;
    const tr_tv *v;
    const uint8_t *stars;
} parts;

/* All of them from `from` up to `end` as one list, or their texts. */
static bool list_of(tr_em *e, const parts *p, uint32_t from, uint32_t end, bool texts, tr_tv *out) {
    tr_tv str = tr_em_row(e, TR_B_STR), self = {NULL, TR_NOVAL}, none, x, both[2];
    if (!tr_em_new_list(e, 0, 0, NULL, out))
        return false;
    for (uint32_t i = from; i < end; i++) {
        both[0] = str;
        both[1] = x = p->v[i];
        if (texts && !(p->stars[i] ? call(e, TR_B_MAP, self, 2, both, &x) : tr_em_str(e, x, false, &x)))
            return false;
        if (p->stars[i] ? !extend(e, *out, x) : !call(e, TR_B_L_APPEND, *out, 1, &x, &none))
            return false;
    }
    return true;
}

static bool is_sequence(const tr_ty *t) {
    return t->kind == TR_TY_LIST || t->kind == TR_TY_ARRAY || t->kind == TR_TY_RANGE ||
           t->kind == TR_TY_STRING;
}

/* min(*l): of one item it would be that item's own items. */
static bool extreme(tr_em *e, uint32_t row, tr_tv x, tr_args *out) {
    tr_tv n, *v = TR_NEW_N(&e->ctx->arena, tr_tv, 1);
    const char *name = row == TR_B_MIN ? "min" : "max";
    const tr_ty *t = x.ty->kind == TR_TY_LIST ? tr_ty_list_item(e->types, x.ty, false) : x.ty->elem;
    if (!length(e, x, &n))
        return false;
    if (!t)
        t = x.ty;
    n = tr_em_strong(e, n);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, 0)), TR_EXC_TYPE,
                tr_arena_printf(&e->ctx->arena, "%s expected at least 1 argument, got 0", name), 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, 1)), TR_EXC_TYPE,
                tr_ty_is_int(t)     ? "'int' object is not iterable"
                : tr_ty_is_float(t) ? "'float' object is not iterable"
                                    : "the only argument is not iterable",
                0, NULL);
    v[0] = x;
    *out = (tr_args){1, v, 0, NULL};
    return true;
}

/* print(*l): the texts with what is to stand between them. */
static bool print(tr_em *e, const tr_callinfo *ci, const tr_tv *kw, const parts *p, tr_args *out) {
    tr_tv list, *v = TR_NEW_N(&e->ctx->arena, tr_tv, 1);
    tr_tv sep = tr_em_lit(e, tr_obj_str(&e->ctx->arena, " "));
    for (uint32_t i = 0; i < ci->nkw; i++)
        if (strcmp(ci->kwnames[i], "sep") == 0 && !tr_tv_is_none(kw[i]))
            sep = kw[i];
    *out = (tr_args){1, v, 0, NULL};
    return list_of(e, p, 0, p->n, true, &list) && call(e, TR_B_S_JOIN, sep, 1, &list, &v[0]);
}

/* --- range(*l), set().union(*l), '{} {}'.format(*l) --- */

/* Its start, stop and step: which of the items these are depends on how many there are. */
static bool range(tr_em *e, tr_tv x, tr_args *out) {
    tr_tv n, it, item, *v = TR_NEW_N(&e->ctx->arena, tr_tv, 3);
    const tr_ty *to = tr_ty_scalar(e->types, TR_TY_I64);
    *out = (tr_args){3, v, 0, NULL};
    if (!tr_em_iter(e, x, &it) || !length(e, x, &n))
        return false;
    n = tr_em_strong(e, n);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, tr_em_i64(e, 1)), TR_EXC_TYPE,
                "range expected at least 1 argument, got 0", 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, n, tr_em_i64(e, 3)), TR_EXC_TYPE,
                "range expected at most 3 arguments, got {0}", 1, &n);
    for (uint32_t k = 0; k < 3; k++) {
        tr_tv is = tr_em_cmp(e, TR_CMP_GT, n, tr_em_i64(e, k));
        if (!tr_em_iterget(e, it, tr_em_select(e, is, tr_em_i64(e, k), tr_em_i64(e, 0)), &item))
            return false;
        if (!tr_ty_is_int(item.ty) && item.ty->kind != TR_TY_BOOL) { /* range() says what is wrong with it */
            v[0] = item;
            out->n = 1;
            return true;
        }
        item = tr_em_strong(e, tr_em_conv(e, item, to));
        v[k] = k == 2 ? tr_em_select(e, is, item, tr_em_i64(e, 1)) : item;
    }
    tr_tv two = tr_em_cmp(e, TR_CMP_GE, n, tr_em_i64(e, 2));
    v[1] = tr_em_select(e, two, v[1], v[0]);
    v[0] = tr_em_select(e, two, v[0], tr_em_i64(e, 0));
    return true;
}

/* Methods that take any number of iterables: what is done to a set with one after the other, whether to a
 * copy, and whether of a set that does not change. */
typedef struct joining {
    uint32_t row, step;
    bool copied, frozen;
} joining;

static const joining joinings[] = {
    {TR_B_S_UNION, TR_B_S_UPDATE, true, false},
    {TR_B_S_UPDATE, TR_B_S_UPDATE, false, false},
    {TR_B_S_INTERSECTION, TR_B_S_INTERSECTION_UPDATE, true, false},
    {TR_B_S_INTERSECTION_UPDATE, TR_B_S_INTERSECTION_UPDATE, false, false},
    {TR_B_S_DIFFERENCE, TR_B_S_DIFFERENCE_UPDATE, true, false},
    {TR_B_S_DIFFERENCE_UPDATE, TR_B_S_DIFFERENCE_UPDATE, false, false},
    {TR_B_FS_UNION, TR_B_S_UPDATE, true, true},
    {TR_B_FS_INTERSECTION, TR_B_S_INTERSECTION_UPDATE, true, true},
    {TR_B_FS_DIFFERENCE, TR_B_S_DIFFERENCE_UPDATE, true, true},
};

/* NULL: it is none. */
static const joining *joining_of(uint32_t row) {
    for (size_t i = 0; i < sizeof joinings / sizeof *joinings; i++)
        if (joinings[i].row == row)
            return &joinings[i];
    return NULL;
}

typedef struct onto {
    tr_tv set;
    uint32_t step;
} onto;

static bool each_iterable(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const onto *to = user;
    tr_tv none;
    (void)acc, (void)stop;
    return call(e, to->step, to->set, 1, &x, &none);
}

static bool join(tr_em *e, const joining *j, tr_tv self, const parts *p, tr_tv *out) {
    onto *to = TR_NEW(&e->ctx->arena, onto);
    tr_tv set = self, x, it, none[1], no = {NULL, TR_NOVAL};
    if (j->copied &&
        !(j->frozen ? call(e, TR_B_SET, no, 1, &self, &set) : call(e, TR_B_S_COPY, self, 0, NULL, &set)))
        return false;
    *to = (onto){set, j->step};
    for (uint32_t i = 0; i < p->n; i++) {
        x = p->v[i];
        /* what the items come from may be the set itself: they are there before any is taken */
        if (p->stars[i] && !is_sequence(x.ty) && !list_of(e, p, i, i + 1, false, &x))
            return false;
        if (!(p->stars[i] ? tr_em_iter(e, x, &it) && tr_em_each(e, it, 0, none, each_iterable, to)
                          : each_iterable(e, x, to, none, none)))
            return false;
    }
    *out = j->copied ? set : tr_em_none(e);
    return !j->frozen || call(e, TR_B_FROZENSET, no, 1, &set, out);
}

/* The row of a method that is called. */
static uint32_t row_of(tr_em *e, tr_tv callee, tr_tv *self) {
    if (callee.ty->kind != TR_TY_METHOD)
        return TR_B__COUNT;
    *self = tr_em_item(e, callee, 0);
    int row = tr_em_member(e, *self, callee.ty->name);
    return row < 0 ? (uint32_t)TR_B__COUNT : (uint32_t)row;
}

/* 'a', 'b', and 'c': parameters from one on. */
static const char *names_from(tr_em *e, const tr_func *fn, uint32_t from, uint32_t end) {
    const char *s = "";
    for (uint32_t i = from; i < end; i++)
        s = tr_arena_printf(&e->ctx->arena, "%s%s'%s'", s,
                            i == from      ? ""
                            : i + 1 < end  ? ", "
                            : i > from + 1 ? ", and "
                                           : " and ",
                            fn->argnames[i]);
    return s;
}

/* n arguments by position, `least` at least, are for the first `want` parameters, and for what *args there
 * is: else as CPython says it. */
static void check_number(tr_em *e, const tr_func *fn, uint32_t least, uint32_t want, tr_tv n) {
    tr_arena *a = &e->ctx->arena;
    const char *name = fn->qualname ? fn->qualname : fn->name;
    for (uint32_t k = least; k < want; k++)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, k)), TR_EXC_TYPE,
                    tr_arena_printf(a, "%s() missing %u required positional argument%s: %s", name, want - k,
                                    want - k == 1 ? "" : "s", names_from(e, fn, k, want)),
                    0, NULL);
    if (fn->varargs)
        return;
    if (want < fn->nargs)
        tr_em_check(
            e, tr_em_cmp(e, TR_CMP_EQ, n, tr_em_i64(e, want)), TR_EXC_TYPE,
            tr_arena_printf(a, "%s() got multiple values for argument '%s'", name, fn->argnames[want]), 0,
            NULL);
    if (want == 0)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, 1)), TR_EXC_TYPE,
                    tr_arena_printf(a, "%s() takes 0 positional arguments but 1 was given", name), 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, tr_em_i64(e, want)), TR_EXC_TYPE,
                tr_arena_printf(a, "%s() takes %u positional argument%s but {0} were given", name, want,
                                want == 1 ? "" : "s"),
                1, &n);
}

bool tr_infer_star(tr_em *e, tr_tv callee, const tr_callinfo *ci, const tr_tv *kw, uint32_t nparts,
                   const tr_tv *v, const uint8_t *stars, tr_args *out, tr_tv *rest, tr_tv *made) {
    parts p = {nparts, v, stars};
    const tr_func *fn = user_function(e, callee);
    const tr_obj *o = callee.ty->kind == TR_TY_LIT ? callee.ty->lit : NULL;
    uint32_t row = o && o->kind == TR_OBJ_BUILTIN ? o->u.builtin : TR_B__COUNT, at = 0, many = 0, want = 0;
    tr_tv n, it, x, self;
    *out = (tr_args){0};
    *rest = *made = self = (tr_tv){NULL, TR_NOVAL};
    for (uint32_t i = 0; i < nparts; i++) {
        at = stars[i] ? i : at;
        many += stars[i];
    }
    if (row == TR_B_PRINT)
        return print(e, ci, kw, &p, out);
    if (!o)
        row = row_of(e, callee, &self);
    if (joining_of(row) && !ci->nkw && !ci->starstar)
        return join(e, joining_of(row), self, &p, made);
    if (row == TR_B_S_FORMAT && many == 1 && at == nparts - 1 && !ci->nkw && !ci->starstar) {
        if (!is_sequence(v[at].ty) && !list_of(e, &p, at, nparts, false, &x))
            return false;
        return tr_em_format_items(e, self, at, v, is_sequence(v[at].ty) ? v[at] : x, made);
    }
    if (row == TR_B_RANGE && !ci->nkw && !ci->starstar) {
        x = v[at];
        return (nparts == 1 && is_sequence(x.ty)) || list_of(e, &p, 0, nparts, false, &x) ? range(e, x, out)
                                                                                          : false;
    }
    bool extremes = row == TR_B_MIN || row == TR_B_MAX;
    if (!extremes && (!fn || fn->varkw || ci->starstar || !number_of(fn, ci, callee, &want)))
        return refuse(e, v[at]);
    /* one sequence, before which and behind which so many stand, or one of all of them */
    uint32_t before = at, behind = nparts - at - 1;
    x = v[at];
    if (many > 1 || !is_sequence(x.ty) || (extremes && nparts > 1) ||
        (!extremes && fn->varargs && (x.ty->kind == TR_TY_STRING || (behind && before < want)))) {
        if (!list_of(e, &p, 0, nparts, false, &x))
            return false;
        before = behind = 0;
    }
    if (extremes)
        return extreme(e, row, x, out);
    uint32_t fixed = before + behind, k = 0;
    tr_tv *a = TR_NEW_N(&e->ctx->arena, tr_tv, nparts + want + 1u);
    out->v = a;
    if (!fn->varargs && fixed > want) { /* too many, whatever the sequence has: bind() tells of it */
        for (uint32_t i = 0; i < nparts; i++)
            if (i != at)
                a[out->n++] = v[i];
        return true;
    }
    if (!tr_em_iter(e, x, &it) || !length(e, x, &n))
        return false;
    n = tr_em_nsw(e, TR_OP_ADD, tr_em_strong(e, n), tr_em_i64(e, fixed));
    check_number(e, fn, fixed, want, n);
    uint32_t mine = fn->varargs ? (want > before ? want - before : 0) : want - fixed;
    out->n = want;
    for (uint32_t i = 0; i < before && k < want; i++)
        a[k++] = v[i];
    for (uint32_t i = 0; i < mine; i++)
        if (!tr_em_iterget(e, it, tr_em_i64(e, i), &a[k++]))
            return false;
    for (uint32_t i = 0; i < behind && k < want; i++)
        a[k++] = v[at + 1 + i];
    assert(k == want && "each parameter that has no default has its argument");
    if (!fn->varargs)
        return true;
    if (fixed == 0 || before < want) { /* nothing stands behind it, or all of them were one list */
        assert(behind == 0 && "it is the last");
        return tr_em_unpack_star(e, x, mine, mine, 0, false, rest);
    }
    return list_of(e, &p, want, nparts, false, rest);
}
