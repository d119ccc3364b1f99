/* Texts of containers, as str(), repr(), print() and f-strings have them: a string that is made where
 * the text is wanted, by a loop which writes the items one after the other.
 *
 * What lies in a container is written on the way, whatever it is of, so one string is made for all. A
 * set's items come in the order in which they came into it, which in Python is any.
 * Cost: a call for each item and each comma. */
#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"
#include "lib/table.h"

static bool put(tr_em *e, tr_tv x, bool repr);

static void put_known(tr_em *e, const char *s) {
    tr_lib_put_piece(e, tr_em_lit(e, tr_obj_str(&e->ctx->arena, s)));
}

/* A string that is there if `some`, and else empty. */
static bool put_some(tr_em *e, const char *s, tr_tv some) {
    tr_tv all;
    if (!tr_em_string(e, tr_em_lit(e, tr_obj_str(&e->ctx->arena, s)), &all))
        return false;
    tr_tv n = tr_em_select(e, some, tr_em_strlen(e, all), tr_em_i64(e, 0));
    tr_lib_put_piece(e, tr_em_substr(e, all, tr_em_i64(e, 0), n));
    return true;
}

/* acc: this is not the first one. `user`: of a dict's items, key and value. */
static bool put_item(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)stop;
    if (!put_some(e, ", ", acc[0]))
        return false;
    acc[0] = tr_em_strong(e, tr_em_bool(e, true));
    if (!user)
        return put(e, x, true);
    if (!put(e, tr_em_item(e, x, 0), true))
        return false;
    put_known(e, ": ");
    return put(e, tr_em_item(e, x, 1), true);
}

/* `pairs`: what is iterated over are the items of a dict. */
static bool put_items(tr_em *e, tr_tv it, bool pairs) {
    tr_tv acc[1] = {tr_em_strong(e, tr_em_bool(e, false))};
    return tr_em_iter(e, it, &it) && tr_em_each(e, it, 1, acc, put_item, pairs ? "" : NULL);
}

static bool is_of_nothing(tr_em *e, const tr_ty *t) {
    return t->kind == TR_TY_DICT ? !tr_ty_list_item(e->types, t->items[0], false)
                                 : !tr_ty_list_item(e->types, t, false);
}

static bool put_set(tr_em *e, tr_tv x) {
    tr_tv some = tr_em_cmp(e, TR_CMP_NE, tr_table_live(e, x), tr_em_i64(e, 0)), none;
    if (is_of_nothing(e, x.ty)) {
        put_known(e, "set()");
        return true;
    }
    if (!tr_em_unary(e, TR_UN_NOT, some, &none) || !put_some(e, "{", some) || !put_items(e, x, false))
        return false;
    return put_some(e, "}", some) && put_some(e, "set()", none);
}

static bool put_list(tr_em *e, tr_tv x) {
    put_known(e, "[");
    if (!is_of_nothing(e, x.ty) && !put_items(e, x, false))
        return false;
    put_known(e, "]");
    return true;
}

static bool put_dict(tr_em *e, tr_tv x) {
    const tr_ty *items = tr_ty_of(e->types, TR_TY_DICTVIEW, TR_VIEW_ITEMS, 1, &x.ty);
    put_known(e, "{");
    if (!is_of_nothing(e, x.ty) && !put_items(e, tr_em_make(e, items, 1, &x), true))
        return false;
    put_known(e, "}");
    return true;
}

/* --- the classes of collections --- */

/* What is there is shown between two texts, and where there is nothing not even these. */
static bool put_between(tr_em *e, tr_tv d, const char *open, tr_tv it, bool pairs, const char *close) {
    tr_tv some = tr_em_cmp(e, TR_CMP_NE, tr_table_live(e, d), tr_em_i64(e, 0));
    return put_some(e, open, some) && put_items(e, it, pairs) && put_some(e, close, some);
}

static bool put_frozen(tr_em *e, tr_tv x) {
    tr_tv set = tr_table_plain(e, x);
    put_known(e, "frozenset(");
    if (!is_of_nothing(e, set.ty) && !put_between(e, set, "{", set, false, "}"))
        return false;
    put_known(e, ")");
    return true;
}

/* A Counter's numbers, below zero, and the entry of each. */
typedef struct ranking {
    tr_tv d, numbers, entries;
} ranking;

/* acc: how many there were. */
static bool each_number(tr_em *e, tr_tv key, const void *user, tr_tv *acc, tr_tv *stop) {
    const ranking *r = user;
    tr_tv at, n;
    (void)stop;
    if (!tr_table_find(e, r->d, key, &at) || !tr_table_value_at(e, r->d, at, &n) ||
        !tr_em_unary(e, TR_UN_NEG, n, &n))
        return false;
    tr_em_store(e, r->numbers, acc, n);
    tr_em_store(e, r->entries, acc, at);
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_i64(e, 1));
    return true;
}

static bool put_ranked(tr_em *e, tr_tv i, const void *user, tr_tv *acc, tr_tv *stop) {
    const ranking *r = user;
    tr_tv at = tr_em_load(e, r->entries, &i), pair[2];
    return tr_table_key_at(e, r->d, at, &pair[0]) && tr_table_value_at(e, r->d, at, &pair[1]) &&
           put_item(e, tr_em_tuple(e, 2, pair), "", acc, stop);
}

/* The largest number first, of equal ones the one that came first. */
static bool put_counter(tr_em *e, tr_tv d) {
    tr_tv n = tr_table_live(e, d), acc[1] = {tr_em_strong(e, tr_em_i64(e, 0))}, it, order;
    tr_tv some = tr_em_cmp(e, TR_CMP_NE, n, acc[0]);
    const tr_ty *number = tr_ty_list_item(e->types, tr_table_values(e, d).ty, false);
    if (!number || !tr_ty_is_scalar(number) || number->kind == TR_TY_BOOL)
        return false;
    ranking r = {d, tr_em_alloc(e, number, 1, TR_LAYOUT_C, &n), tr_em_alloc(e, n.ty, 1, TR_LAYOUT_C, &n)};
    tr_tv kind = tr_em_lit(e, tr_obj_str(&e->ctx->arena, "stable"));
    tr_args how = {2, (tr_tv[]){r.numbers, kind}, 1, (const char *const[]){"kind"}};
    if (!tr_em_iter(e, d, &it) || !tr_em_each(e, it, 1, acc, each_number, &r) ||
        !tr_em_builtin(e, TR_B_NP_ARGSORT, (tr_tv){NULL, TR_NOVAL}, &how, &order) ||
        !tr_em_iter(e, order, &it))
        return false;
    acc[0] = tr_em_strong(e, tr_em_bool(e, false));
    return put_some(e, "{", some) && tr_em_each(e, it, 1, acc, put_ranked, &r) && put_some(e, "}", some);
}

static const char *factory_of(unsigned form) {
    switch (form) {
    case TR_FACE_PLAIN: return "None";
    case TR_FACE_INT: return "<class 'int'>";
    case TR_FACE_FLOAT: return "<class 'float'>";
    case TR_FACE_BOOL: return "<class 'bool'>";
    case TR_FACE_STR: return "<class 'str'>";
    case TR_FACE_LIST: return "<class 'list'>";
    case TR_FACE_DICT: return "<class 'dict'>";
    case TR_FACE_SET: return "<class 'set'>";
    default: return NULL; /* a function, whose text has its address */
    }
}

/* A dict of a class of its own, as the Python that compiles says it: before 3.12 pairs, of an ordered one. */
static bool put_faced(tr_em *e, tr_tv x) {
    tr_tv d = tr_table_plain(e, x);
    const tr_ty *items = tr_ty_of(e->types, TR_TY_DICTVIEW, TR_VIEW_ITEMS, 1, &d.ty);
    bool ordered = x.ty->sub == TR_FACE_ORDERED, counts = x.ty->sub == TR_FACE_COUNTER, ok = true;
    const char *factory = ordered || counts ? NULL : factory_of(x.ty->sub);
    if (!ordered && !counts && !factory)
        return false;
    put_known(e, tr_arena_printf(&e->ctx->arena,
                                 factory   ? "defaultdict(%s, "
                                 : ordered ? "OrderedDict("
                                           : "Counter(",
                                 factory));
    if (factory)
        ok = put_dict(e, d);
    else if (!is_of_nothing(e, d.ty) && counts)
        ok = put_counter(e, d);
    else if (!is_of_nothing(e, d.ty))
        ok = e->ctx->python < 312 ? put_between(e, d, "[", tr_em_make(e, items, 1, &d), false, "]")
                                  : put_between(e, d, "{", tr_em_make(e, items, 1, &d), true, "}");
    put_known(e, ")");
    return ok;
}

/* acc: nothing that is read. user: how many there may be */
static bool put_bound(tr_em *e, const void *user, tr_tv *acc) {
    (void)acc;
    put_known(e, ", maxlen=");
    return put(e, *(const tr_tv *)user, true);
}

static bool put_deque(tr_em *e, tr_tv x) {
    tr_bcall c = {.a = &x, .n = 1};
    tr_tv bound, most, acc[1] = {tr_em_strong(e, tr_em_bool(e, false))};
    put_known(e, "deque([");
    if ((!tr_table_gives_nothing(e, x) && !put_items(e, x, false)) || !tr_lib_deque_maxlen(e, &c, &bound))
        return false;
    put_known(e, "]");
    most = tr_em_item(e, bound, 1);
    if (!tr_fam_when(e, tr_em_item(e, bound, 0), 1, acc, put_bound, &most))
        return false;
    put_known(e, ")");
    return true;
}

/* dict_keys([1, 2]) and its kin. */
static bool put_view(tr_em *e, tr_tv x) {
    put_known(e, x.ty->sub == TR_VIEW_VALUES  ? "dict_values(["
                 : x.ty->sub == TR_VIEW_ITEMS ? "dict_items(["
                                              : "dict_keys([");
    if (!is_of_nothing(e, x.ty->items[0]) && !put_items(e, x, false))
        return false;
    put_known(e, "])");
    return true;
}

static bool put_tuple(tr_em *e, tr_tv x) {
    bool list = tr_ty_is_list(x.ty), named = x.ty->fields != NULL;
    if (x.ty->name)
        put_known(e, x.ty->name);
    put_known(e, list ? "[" : "(");
    for (uint32_t i = 0; i < x.ty->n; i++) {
        if (i)
            put_known(e, ", ");
        if (named)
            put_known(e, tr_arena_printf(&e->ctx->arena, "%s=", x.ty->fields[i]));
        if (!put(e, tr_em_item(e, x, i), true))
            return false;
    }
    put_known(e, list ? "]" : x.ty->n == 1 && !named ? ",)" : ")");
    return true;
}

/* None, or the value. */
static bool put_optional(tr_em *e, tr_tv x, bool repr) {
    tr_tv value = tr_em_item(e, x, 1);
    if (e->dry)
        return put(e, value, repr);
    tr_fn *f = e->b.fn;
    tr_bid some = tr_blk_new(f), none = tr_blk_new(f), join = tr_blk_new(f);
    tr_cbr(&e->b, tr_em_item(e, x, 0).v, some, 0, NULL, none, 0, NULL);
    e->b.blk = some;
    if (!put(e, value, repr))
        return false;
    tr_br(&e->b, join, 0, NULL);
    e->b.blk = none;
    put_known(e, "None");
    tr_br(&e->b, join, 0, NULL);
    e->b.blk = join;
    return true;
}

/* A dict display that is only read. */
static bool put_keyed(tr_em *e, tr_tv x) {
    put_known(e, "{");
    for (uint32_t k = 0; k < tr_em_keyed_n(x.ty); k++) {
        tr_tv name = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_em_keyed_name(x.ty, k)));
        if (k)
            put_known(e, ", ");
        if (!put(e, name, true))
            return false;
        put_known(e, ": ");
        if (!put(e, tr_em_keyed_value(e, x, k), true))
            return false;
    }
    put_known(e, "}");
    return true;
}

/* Writes repr(x), or str(x). */
static bool put(tr_em *e, tr_tv x, bool repr) {
    tr_tv text, array;
    const char *spec;
    switch ((tr_tyk)x.ty->kind) {
    case TR_TY_LIST: return put_list(e, x);
    case TR_TY_SET: return put_set(e, x);
    case TR_TY_DICT: return put_dict(e, x);
    case TR_TY_DICTVIEW: return put_view(e, x);
    case TR_TY_TUPLE: return put_tuple(e, x);
    case TR_TY_KEYED: return put_keyed(e, x);
    case TR_TY_FACED: return put_faced(e, x);
    case TR_TY_FROZEN: return put_frozen(e, x);
    case TR_TY_DEQUE: return put_deque(e, x);
    case TR_TY_OPT: return put_optional(e, x, repr);
    default: break;
    }
    if (!tr_em_str(e, x, repr, &text))
        return false;
    if (text.ty->kind != TR_TY_TEXT) {
        tr_lib_put_piece(e, text);
        return true;
    }
    for (uint32_t i = 0; i < text.ty->n; i++)
        if (tr_em_spec_piece(e, tr_em_item(e, text, i), &array, &spec) && tr_lib_is_array(array))
            return tr_em_unsupported(e, "format-value", "text made of %s in a container",
                                     tr_em_tyname(e, x.ty));
    for (uint32_t i = 0; i < text.ty->n; i++)
        tr_lib_put_piece(e, tr_em_item(e, text, i));
    return true;
}

/* The text as a string. */
bool tr_lib_show_list(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    tr_tv from = tr_em_callrt(e, TR_RT_STR_MAKE, tr_fam_ty(e, TR_TY_I64), NULL, 0, NULL);
    if (!put(e, x, repr))
        return tr_lib_show_no(e, x, repr, to);
    tr_lib_show_end(e, to);
    tr_tv s = tr_em_make_string(e, TR_RT_STR_MADE, 1, &from);
    tr_vec_push(&e->ctx->arena, &to->pieces, s);
    return true;
}
