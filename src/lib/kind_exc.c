/* Exceptions that were caught: which handler is meant, and what they say.
 *
 * One is a value of a type of its own: the i64 that `catch` gives. Classes are known when the function
 * compiles, so which exceptions a handler takes is a set of numbers, made here: rows of exc.def, and the
 * program's own behind them. Classes that a program makes are in its snapshot with all that can be asked of
 * them; nothing is looked up when the code runs. What an exception says the runtime knows by its raise site
 * (rt/told.c); one whose class makes its own text would have to be asked, which only Python can. */
#include "lib/fam.h"

#include <assert.h>
#include <string.h>

#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"

enum { WORD = 64 };

static const tr_ty *caught_type(tr_em *e) {
    const tr_ty *code = tr_ty_scalar(e->types, TR_TY_I64);
    return tr_ty_exc(e->types, tr_obj_none(), 1, &code);
}

tr_tv tr_em_catch(tr_em *e) {
    const tr_ty *t = tr_ty_scalar(e->types, TR_TY_I64);
    tr_tv code = {t, e->dry ? TR_NOVAL : tr_emit0(&e->b, TR_OP_CATCH, t)};
    return tr_em_make(e, caught_type(e), 1, &code);
}

typedef struct classes {
    tr_em *e;
    uint64_t *set; /* of the exceptions that are meant */
    uint32_t n;    /* of the program */
} classes;

static bool refuse(classes *c, const tr_ty *t) {
    tr_em_error(c->e, "an except clause takes exception classes, not %s", tr_em_tyname(c->e, t));
    tr_em_hint(c->e, "give a class, or a tuple of classes, that is known when the function compiles");
    return false;
}

static bool add_class(classes *c, const tr_obj *o) {
    if (o->kind != TR_OBJ_EXC)
        return refuse(c, tr_ty_lit(c->e->types, o));
    for (uint32_t k = 0; k < c->n; k++)
        if (tr_prog_derives(c->e->prog, k, o->u.exc))
            c->set[k / WORD] |= UINT64_C(1) << k % WORD;
    return true;
}

/* What a context manager suppresses; its classes were looked at when it was made. */
static bool add_suppressed(classes *c, const tr_ty *manager) {
    for (uint32_t i = 0; !manager->sub && i < manager->n; i++)
        if (!add_class(c, manager->items[i]->lit))
            return false;
    return true;
}

/* A class or a tuple of classes; as in Python, a tuple in a tuple is none. */
static bool add_type(classes *c, const tr_ty *t) {
    const tr_obj *o = t->kind == TR_TY_LIT ? t->lit : NULL;
    if (t->kind == TR_TY_METHOD && t->items[0]->kind == TR_TY_MANAGER)
        return add_suppressed(c, t->items[0]);
    bool tuple = o ? o->kind == TR_OBJ_TUPLE : t->kind == TR_TY_TUPLE && !tr_ty_is_list(t);
    if (!tuple)
        return o ? add_class(c, o) : refuse(c, t);
    uint32_t n = o ? o->u.t.n : t->n;
    for (uint32_t i = 0; i < n; i++) {
        const tr_obj *item = o ? o->u.t.items[i] : t->items[i]->kind == TR_TY_LIT ? t->items[i]->lit : NULL;
        if (!(item ? add_class(c, item) : refuse(c, t->items[i])))
            return false;
    }
    return true;
}

/* 1 when all exceptions that there are are meant, 0 when none, else -1. */
static int known(const classes *c) {
    uint32_t in = 0;
    for (uint32_t k = 0; k < c->n; k++)
        in += (uint32_t)(c->set[k / WORD] >> k % WORD & 1);
    return in == c->n ? 1 : in == 0 ? 0 : -1;
}

/* Bit `which` of a set in words; a number past a word finds zero there. */
static tr_tv is_in(const classes *c, tr_tv which) {
    tr_em *e = c->e;
    const tr_ty *u64 = tr_ty_scalar(e->types, TR_TY_U64);
    tr_tv any = {0};
    for (uint32_t w = 0; w <= (c->n - 1) / WORD; w++) {
        if (!c->set[w])
            continue;
        tr_tv set = {u64, tr_const_int(e->b.fn, u64, (int64_t)c->set[w])};
        tr_tv at = tr_em_conv(e, w ? tr_em_op2(e, TR_OP_SUB, which, tr_em_i64(e, w * WORD)) : which, u64);
        tr_tv bit = tr_em_op2(e, TR_OP_SHR, set, at);
        any = any.ty ? tr_em_op2(e, TR_OP_OR, any, bit) : bit;
    }
    tr_tv one = {u64, tr_const_int(e->b.fn, u64, 1)};
    return tr_em_cmp(e, TR_CMP_EQ, tr_em_op2(e, TR_OP_AND, any, one), one);
}

bool tr_em_is_of_class(tr_em *e, tr_tv exc, tr_tv of, tr_tv *out) {
    classes c = {.e = e, .n = TR_EXC__COUNT + e->prog->excs.n};
    c.set = TR_NEW_N(&e->ctx->arena, uint64_t, c.n / WORD + 1u);
    if (!add_type(&c, of.ty))
        return false;
    if (!tr_em_is_caught(exc.ty))
        return tr_em_fail(e, TR_ERR_INTERNAL, "matches %s", tr_em_tyname(e, exc.ty));
    int sure = known(&c);
    if (sure >= 0)
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, sure != 0));
    else if (e->dry)
        *out = (tr_tv){tr_ty_scalar(e->types, TR_TY_BOOL), TR_NOVAL};
    else
        *out = is_in(&c, tr_em_op2(e, TR_OP_SHR, tr_em_item(e, exc, 0), tr_em_i64(e, TR_CAUGHT_SHIFT)));
    return true;
}

/* --- what it says --- */

/* TR_SAY_STR ...; where that is not known it raises, and says why. */
static tr_tv said(tr_em *e, tr_tv x, int how, tr_exc exc, const char *unknown) {
    tr_tv v[2] = {tr_em_i64(e, how), tr_em_item(e, x, 0)};
    tr_tv s = tr_em_callrt(e, TR_RT_EXC_TEXT, tr_ty_string(e->types), NULL, 2, v), n = tr_em_strlen(e, s);
    assert(tr_em_is_caught(x.ty) && "what is about to be raised has its arguments");
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, TR_SAY_NOTHING)), exc, unknown, 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, tr_em_i64(e, 0)), TR_EXC_MEMORY, "cannot allocate a string", 0,
                NULL);
    return s;
}

static tr_tv told(tr_em *e, tr_tv x, int how, const char *unknown) {
    return said(e, x, how, TR_EXC_NOTIMPL, unknown);
}

bool tr_lib_show_exc(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    if (!tr_em_is_caught(x.ty))
        return tr_lib_show_no(e, x, repr, to);
    tr_tv s =
        told(e, x, repr ? TR_SAY_REPR : TR_SAY_STR,
             "compiled code does not know what this exception says: its class has an __init__ or a __str__ "
             "of its own, or it was made outside");
    return tr_lib_show_string(e, s, false, to);
}

/* e.args, whose types are not known before the exception is: those of one that was raised with a text, as
 * nearly all are. */
bool tr_lib_exc_args(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!tr_em_is_caught(c->a[0].ty))
        return tr_em_unsupported(e, "exc-value", "'args' of an exception that was not raised");
    tr_tv s = told(e, c->a[0], TR_SAY_ARG,
                   "compiled code knows the args of an exception only where they are one string");
    *out = tr_em_tuple(e, 1, &s);
    return true;
}

/* What the errors of codecs have. */
bool tr_lib_exc_codec(tr_em *e, const tr_bcall *c, tr_tv *out) {
    static const char *const names[] = {[TR_SAY_ENCODING] = "encoding",
                                        [TR_SAY_REASON] = "reason",
                                        [TR_SAY_START] = "start",
                                        [TR_SAY_END] = "end"};
    const char *name = names[c->aux],
               *none = tr_arena_printf(&e->ctx->arena, "this exception has no attribute '%s'", name);
    if (!tr_em_is_caught(c->a[0].ty))
        return tr_em_unsupported(e, "exc-value", "'%s' of an exception that was not raised", name);
    tr_tv v[2] = {tr_em_i64(e, c->aux), tr_em_item(e, c->a[0], 0)};
    if (c->aux == TR_SAY_ENCODING || c->aux == TR_SAY_REASON) {
        *out = said(e, c->a[0], (int)c->aux, TR_EXC_ATTRIBUTE, none);
        return true;
    }
    *out = tr_em_callrt(e, TR_RT_EXC_NUMBER, tr_ty_scalar(e->types, TR_TY_I64), NULL, 2, v);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, *out, tr_em_i64(e, INT64_MIN)), TR_EXC_ATTRIBUTE, none, 0, NULL);
    return true;
}

/* type(e): a class that can be asked for its name. */
bool tr_lib_exc_class(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!tr_em_is_caught(c->a[0].ty))
        return tr_em_unsupported(e, "class-value", "the class of an exception that was not raised");
    *out = tr_em_make(e, tr_ty_method(e->types, c->a[0].ty, "__class__"), 1, c->a);
    return true;
}

bool tr_lib_exc_class_name(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = told(e, tr_em_item(e, c->a[0], 0), TR_SAY_NAME,
                "compiled code does not know the class of an exception that was made outside");
    return true;
}
