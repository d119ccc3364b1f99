/* Promotion, and the join of block arguments: docs/semantics.md, "Types of numbers".
 *
 * Weak operands take the type of a strong one of their kind or above; integers then compute in at least 64
 * bits, as Numba does. With promotion="numba" there is nothing weak, and NUMBA_RULES has the types. */
#include "ty/ty.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "ty/internal.h"

static char class_of(tr_tyk k) {
#define X(id, ir, user, size, cls) cls,
    static const char classes[] = {TR_SCALARS(X)};
#undef X
    return classes[k];
}

static unsigned size_of(tr_tyk k) {
#define X(id, ir, user, size, cls) size,
    static const unsigned char sizes[] = {TR_SCALARS(X)};
#undef X
    return sizes[k];
}

static tr_tyk signed_of(unsigned size) {
    return size <= 1 ? TR_TY_I8 : size == 2 ? TR_TY_I16 : size == 4 ? TR_TY_I32 : TR_TY_I64;
}

/* Smallest float that holds every value of an integer type of this size, as NumPy sees it. */
static unsigned float_bytes(tr_tyk k) {
    switch (class_of(k)) {
    case 'b': return 2;
    case 'i':
    case 'u': return size_of(k) == 1 ? 2 : size_of(k) == 2 ? 4 : 8;
    case 'f': return size_of(k);
    default: return size_of(k) / 2;
    }
}

tr_tyk tr_ty_promote(tr_tyk a, tr_tyk b) {
    assert(a < TR_TY__SCALARS && b < TR_TY__SCALARS && "numbers are promoted");
    if (a == b)
        return a;
    char ca = class_of(a), cb = class_of(b);
    if (ca == 'b' || cb == 'b')
        return ca == 'b' ? b : a;
    if ((ca == 'i' || ca == 'u') && (cb == 'i' || cb == 'u')) {
        if (ca == cb)
            return size_of(a) > size_of(b) ? a : b;
        unsigned s = size_of(ca == 'i' ? a : b), u = size_of(ca == 'u' ? a : b);
        if (s > u)
            return signed_of(s);
        return u == 8 ? TR_TY_F64 : signed_of(2 * u);
    }
    unsigned fa = float_bytes(a), fb = float_bytes(b);
    bool wide = (fa > fb ? fa : fb) > 4;
    if (ca == 'c' || cb == 'c')
        return wide ? TR_TY_C128 : TR_TY_C64;
    return wide ? TR_TY_F64 : fa > 2 || fb > 2 ? TR_TY_F32 : TR_TY_F16;
}

/* --- literals --- */

static bool is_integral(tr_tyk k) {
    char c = class_of(k);
    return c == 'b' || c == 'i' || c == 'u';
}

const tr_ty *tr_obj_number(tr_tytab *t, const tr_obj *o) {
    int64_t i;
    uint64_t u;
    switch ((tr_objk)o->kind) {
    case TR_OBJ_BOOL: return tr_ty_scalar(t, TR_TY_BOOL);
    case TR_OBJ_INT:
        return tr_bigint_i64(&o->u.n, &i)   ? tr_ty_weak(t, TR_TY_I64)
               : tr_bigint_u64(&o->u.n, &u) ? tr_ty_scalar(t, TR_TY_U64)
                                            : NULL;
    case TR_OBJ_FLOAT: return tr_ty_weak(t, TR_TY_F64);
    case TR_OBJ_COMPLEX: return tr_ty_weak(t, TR_TY_C128);
    case TR_OBJ_SCALAR: return o->ty;
    default: return NULL;
    }
}

static bool is_negative(const tr_ty *a) {
    return a->kind == TR_TY_LIT && a->lit->kind == TR_OBJ_INT && a->lit->u.n.negative;
}

tr_tyk tr_ty_weak_meet(tr_tyk weak, bool negative, tr_tyk with, tr_meet rule) {
    assert(weak < TR_TY__SCALARS && with < TR_TY__SCALARS && "numbers meet");
    char w = class_of(weak), c = class_of(with);
    if (rule == TR_MEET_NUMBA && w != 'i')
        return tr_ty_promote(weak, with);
    if (c == 'b') /* a bool's type would hold no other number */
        return weak;
    if (w == 'c')
        return c == 'c' ? with : with == TR_TY_F16 || with == TR_TY_F32 ? TR_TY_C64 : TR_TY_C128;
    if (!is_integral(with))
        return with;
    if (w == 'f')
        return TR_TY_F64;
    if (rule == TR_MEET_NUMPY || rule == TR_MEET_NUMBA)
        return with;
    /* a negative one would wrap, which only bits do not mind */
    return c == 'u' && (!negative || rule == TR_MEET_BITS) ? TR_TY_U64 : TR_TY_I64;
}

/* --- arithmetic --- */

/* An operand of an operation: its type as a number, weak or not, and a literal's sign. */
typedef struct operand {
    const tr_ty *ty; /* NULL: not a number */
    tr_tyk kind;
    bool weak, negative;
} operand;

static operand operand_of(tr_tytab *t, const tr_ty *a, bool numba) {
    const tr_ty *s = a->kind == TR_TY_LIT ? tr_obj_number(t, a->lit) : tr_ty_is_scalar(a) ? a : NULL;
    if (!s)
        return (operand){.ty = NULL};
    return (operand){s, (tr_tyk)s->kind, s->weak && !numba, is_negative(a)};
}

/* The kind of number that two are computed in together. */
static tr_tyk together(operand a, operand b, tr_meet rule) {
    if (a.weak != b.weak)
        return a.weak ? tr_ty_weak_meet(a.kind, a.negative, b.kind, rule)
                      : tr_ty_weak_meet(b.kind, b.negative, a.kind, rule);
    if (!is_integral(a.kind) || !is_integral(b.kind))
        return tr_ty_promote(a.kind, b.kind);
    /* a bool counts as signed, as in Numba */
    return class_of(a.kind) == 'u' && class_of(b.kind) == 'u' ? TR_TY_U64 : TR_TY_I64;
}

static const tr_ty *result(tr_tytab *t, tr_tyk k, bool weak) {
    return weak && (k == TR_TY_I64 || k == TR_TY_F64 || k == TR_TY_C128) ? tr_ty_weak(t, k)
                                                                         : tr_ty_scalar(t, k);
}

/* --- promotion="numba": what Numba 0.68.1 was seen to do (tests/py/golden/numba.txt) --- */

typedef enum ints {            /* the result of two integers, where bools are some */
                    INTS_WIDE, /* 64 bits; unsigned when both are */
                    INTS_BITS, /* the same, but a bool of two */
                    INTS_LEFT, /* 64 bits, of the left one's signedness */
                    INTS_HOLD, /* 64 bits that hold both, float64 where none do; a bool is of either kind */
                    INTS_F64,
                    INTS_FLOAT, /* float32 for two of 16 bits or less, else float64 */
                    INTS_COUNT, /* of what they count as beside a float */
                    INTS_NUMPY  /* NumPy's */
} ints;

typedef enum floats {               /* what an integer counts as beside a float or complex number */
                      FLOATS_NONE,  /* refused */
                      FLOATS_EXACT, /* float32 where that holds it exactly, but for uint16; else float64 */
                      FLOATS_POWER, /* the same, but an integer exponent of a float as that float */
                      FLOATS_OWN    /* as the other */
} floats;

/* X(op, two integers, an integer beside a float): the classes of operations of tr_ty_arith */
#define NUMBA_RULES(X)               \
    X('+', INTS_WIDE, FLOATS_EXACT)  \
    X('p', INTS_WIDE, FLOATS_POWER)  \
    X('/', INTS_F64, FLOATS_EXACT)   \
    X('d', INTS_HOLD, FLOATS_EXACT)  \
    X('&', INTS_BITS, FLOATS_NONE)   \
    X('<', INTS_LEFT, FLOATS_NONE)   \
    X('m', INTS_F64, FLOATS_EXACT)   \
    X('c', INTS_COUNT, FLOATS_EXACT) \
    X('u', INTS_NUMPY, FLOATS_OWN)   \
    X('q', INTS_FLOAT, FLOATS_OWN)

static tr_tyk counts_as(tr_tyk k) {
    if (!is_integral(k))
        return k;
    return k == TR_TY_BOOL || k == TR_TY_I8 || k == TR_TY_I16 || k == TR_TY_U8 ? TR_TY_F32 : TR_TY_F64;
}

static tr_tyk numba_ints(ints rule, tr_tyk a, tr_tyk b) {
    char ca = class_of(a), cb = class_of(b);
    bool both = ca == 'u' && cb == 'u';
    switch (rule) {
    case INTS_BITS:
        if (ca == 'b' && cb == 'b')
            return TR_TY_BOOL;
        return both ? TR_TY_U64 : TR_TY_I64;
    case INTS_WIDE: return both ? TR_TY_U64 : TR_TY_I64;
    case INTS_LEFT: return ca == 'u' ? TR_TY_U64 : TR_TY_I64;
    case INTS_HOLD:
        if (both || (ca == 'u' && cb == 'b') || (ca == 'b' && cb == 'u'))
            return TR_TY_U64;
        return a == TR_TY_U64 || b == TR_TY_U64 ? TR_TY_F64 : TR_TY_I64;
    case INTS_FLOAT: return size_of(a) <= 2 && size_of(b) <= 2 ? TR_TY_F32 : TR_TY_F64;
    case INTS_COUNT: return tr_ty_promote(counts_as(a), counts_as(b));
    case INTS_NUMPY: return tr_ty_promote(a, b);
    case INTS_F64: break;
    }
    return TR_TY_F64;
}

/* False: refused. */
static bool numba_floats(floats rule, tr_tyk a, tr_tyk b, tr_tyk *out) {
    switch (rule) {
    case FLOATS_NONE: return false;
    case FLOATS_OWN: *out = is_integral(a) ? b : is_integral(b) ? a : tr_ty_promote(a, b); return true;
    case FLOATS_POWER:
        if (class_of(a) == 'f' && is_integral(b)) {
            *out = a;
            return true;
        }
        break;
    case FLOATS_EXACT: break;
    }
    *out = tr_ty_promote(counts_as(a), counts_as(b));
    return true;
}

static const tr_ty *numba_arith(tr_tytab *t, char op, tr_tyk a, tr_tyk b) {
    static const struct {
        char op;
        ints two;
        floats beside;
    } rows[] = {
#define X(op, two, beside) {op, two, beside},
        NUMBA_RULES(X)
#undef X
    };
    size_t i = 0;
    while (rows[i].op != op) {
        i++;
        assert(i < sizeof rows / sizeof *rows && "each class of operations has its row");
    }
    tr_tyk k;
    if (is_integral(a) && is_integral(b))
        k = numba_ints(rows[i].two, a, b);
    else if (!numba_floats(rows[i].beside, a, b, &k))
        return NULL;
    return tr_ty_scalar(t, k);
}

const tr_ty *tr_ty_arith(tr_tytab *t, char op, const tr_ty *a, const tr_ty *b, bool numba) {
    operand x = operand_of(t, a, numba), y = operand_of(t, b, numba);
    if (!x.ty || !y.ty)
        return NULL;
    bool weak = x.weak && y.weak, whole = is_integral(x.kind) && is_integral(y.kind);
    if (numba)
        return numba_arith(t, op, x.kind, y.kind);
    if (!whole && (op == '&' || op == '<'))
        return NULL;
    if (whole && op == '/')
        return result(t, TR_TY_F64, weak);
    if (op == '&' && x.kind == TR_TY_BOOL && y.kind == TR_TY_BOOL)
        return x.ty;
    if (op == '<')
        return result(t, class_of(x.kind) == 'u' ? TR_TY_U64 : TR_TY_I64, weak);
    return result(t, together(x, y, op == '&' ? TR_MEET_BITS : TR_MEET_WIDE), weak);
}

const tr_ty *tr_ty_compare(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    operand x = operand_of(t, a, numba), y = operand_of(t, b, numba);
    if (!x.ty || !y.ty)
        return NULL;
    if (is_integral(x.kind) && is_integral(y.kind)) {
        /* A literal's value may lie outside a narrow type, so it counts as int64 here. */
        tr_tyk k = tr_ty_promote(x.kind, y.kind);
        return k == TR_TY_F64 ? NULL : tr_ty_scalar(t, k);
    }
    return numba ? numba_arith(t, '+', x.kind, y.kind) : tr_ty_scalar(t, together(x, y, TR_MEET_WIDE));
}

const tr_ty *tr_ty_common(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    tr_tyk ka = (tr_tyk)a->kind, kb = (tr_tyk)b->kind;
    tr_meet rule = numba ? TR_MEET_NUMBA : TR_MEET_NUMPY;
    if (a->weak != b->weak)
        return tr_ty_scalar(t, a->weak ? tr_ty_weak_meet(ka, false, kb, rule)
                                       : tr_ty_weak_meet(kb, false, ka, rule));
    tr_tyk k = tr_ty_promote(ka, kb);
    return a->weak && (!numba || is_integral(k)) ? tr_ty_weak(t, k) : tr_ty_scalar(t, k);
}

/* --- join --- */

/* The same constructor over joined items. NULL: an item has no common type. */
static const tr_ty *join_items(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    if (a->n != b->n || a->sub != b->sub || a->func != b->func || a->opts != b->opts ||
        !a->fields != !b->fields || (a->kind == TR_TY_KEYED && a->items[0] != b->items[0])) /* other names */
        return NULL;
    const tr_ty *few[TR_TY_FEW];
    tr_arena scratch;
    tr_arena_init(&scratch, NULL);
    const tr_ty **items = tr_ty_room(&scratch, few, a->n);
    uint32_t i = 0;
    while (i < a->n && (items[i] = tr_ty_join(t, a->items[i], b->items[i], numba)))
        i++;
    const tr_ty *r = i == a->n ? tr_ty_like(t, a, items) : NULL;
    tr_arena_fini(&scratch);
    return r;
}

static const tr_ty *join_tuple(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    return tr_ty_same_class(a, b) ? join_items(t, a, b, numba) : NULL;
}

/* What is None on one path only has no form in a slice. */
static const tr_ty *join_slice(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    const tr_ty *r = join_items(t, a, b, numba);
    for (uint32_t i = 0; r && i < r->n; i++)
        if (r->items[i]->kind == TR_TY_OPT)
            return NULL;
    return r;
}

static const tr_ty *join_array(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    (void)numba;
    bool packed = tr_ty_is_packed(a) != tr_ty_is_packed(b); /* their strides count other units */
    if (a->elem != b->elem || a->ndim != b->ndim || packed)
        return NULL;
    return tr_ty_array_as(t, a->elem, a->ndim, a->layout == b->layout ? (tr_layout)a->layout : TR_LAYOUT_ANY,
                          a->readonly || b->readonly, a->sub ? a->sub : b->sub);
}

static const tr_ty *join_list(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    return tr_ty_join_lists(t, a, b, numba);
}

static const tr_ty *join_range(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    const tr_ty *elem = tr_ty_join(t, a->elem, b->elem, numba);
    return elem ? tr_ty_range(t, elem, a->sub & b->sub) : NULL;
}

/* Of one kind. What has no unit takes the other's. */
static bool join_units(const tr_ty *a, const tr_ty *b, const tr_ty **which) {
    bool none = tr_ty_date_unit(a) == TR_UNIT_GENERIC;
    *which = none ? b : a;
    return tr_ty_is_delta(a) == tr_ty_is_delta(b) &&
           (none || tr_ty_date_unit(b) == TR_UNIT_GENERIC || tr_ty_same_date(a, b));
}

static const tr_ty *join_date(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    const tr_ty *which;
    (void)t, (void)numba;
    return join_units(a, b, &which) ? which : NULL;
}

/* Memory has its unit already. */
static const tr_ty *join_dates(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    const tr_ty *array = tr_ty_same_date(a, b) ? join_array(t, a->items[0], b->items[0], numba) : NULL;
    return array ? tr_ty_dates(t, tr_ty_one_date(t, a), array) : NULL;
}

/* One of two bit generators: any, which is called by its functions. */
static const tr_ty *join_generator(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    (void)b, (void)numba;
    return tr_ty_of(t, TR_TY_GENERATOR, TR_GEN_ANY, a->n, a->items);
}

typedef const tr_ty *(*join_fn)(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba);
#define join_no NULL

static const tr_ty *join_same_kind(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    static const join_fn joins[] = {
#define KIND(ID, word, user, items, ty, ...)          ty,
#define TY(parts, owned, text, read, user, join, ...) join_##join
#include "ty/kinds.def"
    };
    join_fn join = joins[tr_ty_row(a)];
    return join ? join(t, a, b, numba) : NULL;
}

typedef TR_VEC(const tr_ty *) types;

/* Both are one of the same functions, at the same places. Of others each place would be one of two, and those
 * again, and there is no end to that. */
static bool same_functions(const tr_ty *a, const tr_ty *b) {
    bool same = a->n == b->n;
    for (uint32_t i = 1; same && i < a->n; i++) {
        const tr_ty *x = a->items[i], *y = b->items[i];
        same = x == y || (x->kind == TR_TY_CLOSURE && y->kind == TR_TY_CLOSURE && x->func == y->func);
    }
    return same;
}

/* Types of functions, or of members of enums, one after the other: that one, or those of one of several;
 * closures of one function are one. False: there is something else among them. */
static bool add_functions(tr_tytab *t, const tr_ty *a, tr_arena *scratch, types *to, bool numba) {
    bool closure = a->kind == TR_TY_CLOSURE;
    for (uint32_t i = 1; closure && i < to->n; i++)
        if (to->d[i]->kind == TR_TY_CLOSURE && to->d[i]->func == a->func)
            return to->d[i] == a || (to->d[i] = join_same_kind(t, to->d[i], a, numba)) != NULL;
    if (closure || a->kind == TR_TY_PARTIAL || (a->kind == TR_TY_LIT && tr_obj_is_one(a->lit))) {
        tr_vec_push(scratch, to, a);
        return true;
    }
    for (uint32_t i = 1; i < a->n; i++)
        if (a->kind != TR_TY_ONEOF || !add_functions(t, a->items[i], scratch, to, numba))
            return false;
    return a->kind == TR_TY_ONEOF;
}

static int by_id(const void *x, const void *y) {
    uint32_t a = (*(const tr_ty *const *)x)->id, b = (*(const tr_ty *const *)y)->id;
    return (a > b) - (a < b);
}

/* One of the functions of both, each once and in an order of their own, so that it does not
 * matter who is joined first. */
static const tr_ty *join_functions(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    types all = {0};
    const tr_ty *r = NULL;
    tr_arena scratch;
    tr_arena_init(&scratch, NULL);
    tr_vec_push(&scratch, &all, tr_ty_scalar(t, TR_TY_I64));
    if (add_functions(t, a, &scratch, &all, numba) && add_functions(t, b, &scratch, &all, numba)) {
        uint32_t n = 1;
        qsort(all.d + 1, all.n - 1, sizeof *all.d, by_id);
        for (uint32_t i = 1; i < all.n; i++)
            if (n == 1 || all.d[n - 1] != all.d[i])
                all.d[n++] = all.d[i];
        r = tr_ty_of(t, TR_TY_ONEOF, 0, n, all.d);
    }
    tr_arena_fini(&scratch);
    return r;
}

const tr_ty *tr_ty_join(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    const tr_ty *other = a == b ? NULL : tr_ty_strong(t, b);
    a = tr_ty_strong(t, a);
    b = other ? other : a;
    if (a == b)
        return a;
    if (tr_ty_is_scalar(a) && tr_ty_is_scalar(b)) {
        tr_tyk k = tr_ty_promote((tr_tyk)a->kind, (tr_tyk)b->kind);
        /* int64 with uint64 would silently become a float: a cast must say what is meant */
        if (!numba && !is_integral(k) && is_integral((tr_tyk)a->kind) && is_integral((tr_tyk)b->kind))
            return NULL;
        return tr_ty_scalar(t, k);
    }
    bool an = a->kind == TR_TY_NONE || (a->kind == TR_TY_LIT && a->lit->kind == TR_OBJ_NONE);
    bool bn = b->kind == TR_TY_NONE || (b->kind == TR_TY_LIT && b->lit->kind == TR_OBJ_NONE);
    if (an && bn)
        return tr_ty_none(t);
    if (an || bn)
        return tr_ty_optional(t, tr_ty_is_text(an ? b : a) ? tr_ty_string(t) : an ? b : a);
    if (a->kind == TR_TY_OPT || b->kind == TR_TY_OPT) {
        const tr_ty *of = tr_ty_join(t, a->kind == TR_TY_OPT ? a->items[1] : a,
                                     b->kind == TR_TY_OPT ? b->items[1] : b, numba);
        return of ? tr_ty_optional(t, of) : NULL;
    }
    if (tr_ty_is_text(a) && tr_ty_is_text(b))
        return tr_ty_string(t);
    bool like = a->kind == b->kind && (a->kind != TR_TY_ONEOF || same_functions(a, b));
    const tr_ty *same = like ? join_same_kind(t, a, b, numba) : NULL;
    return same ? same : join_functions(t, a, b, numba);
}

static const tr_ty *strong_number(tr_tytab *t, const tr_ty *a) {
    return a->weak ? tr_ty_scalar(t, (tr_tyk)a->kind) : a;
}

static const tr_ty *strong_lit(tr_tytab *t, const tr_ty *a) {
    const tr_ty *s = tr_obj_number(t, a->lit);
    return s ? tr_ty_scalar(t, (tr_tyk)s->kind) : a;
}

/* Each item is asked once: of tuples in tuples that are asked twice at each level there are 2^depth. */
static const tr_ty *strong_items(tr_tytab *t, const tr_ty *a) {
    const tr_ty *few[TR_TY_FEW];
    tr_arena scratch;
    bool same = true;
    tr_arena_init(&scratch, NULL);
    const tr_ty **items = tr_ty_room(&scratch, few, a->n);
    for (uint32_t i = 0; i < a->n; i++) {
        items[i] = tr_ty_strong(t, a->items[i]);
        same = same && items[i] == a->items[i];
    }
    const tr_ty *r = same ? a : tr_ty_like(t, a, items);
    tr_arena_fini(&scratch);
    return r;
}

bool tr_ty_is_text(const tr_ty *t) {
    return t->kind == TR_TY_STRING || t->kind == TR_TY_TEXT ||
           (t->kind == TR_TY_LIT && t->lit->kind == TR_OBJ_STR);
}

const tr_ty *tr_ty_told(tr_tytab *t, const tr_ty *a) {
    if (tr_ty_is_text(a))
        return tr_ty_string(t);
    if (a->kind != TR_TY_TUPLE)
        return a;
    const tr_ty *few[TR_TY_FEW];
    tr_arena scratch;
    tr_arena_init(&scratch, NULL);
    const tr_ty **items = tr_ty_room(&scratch, few, a->n);
    for (uint32_t i = 0; i < a->n; i++)
        items[i] = tr_ty_told(t, a->items[i]);
    const tr_ty *r = tr_ty_like(t, a, items);
    tr_arena_fini(&scratch);
    return r;
}

/* A type's names end at a NUL. */
static bool has_plain_names(const tr_ty *keyed) {
    const tr_ty *names = keyed->items[0];
    bool plain = true;
    for (uint32_t k = 0; k < names->n; k++)
        plain = plain && strlen(names->items[k]->lit->u.s.d) == names->items[k]->lit->u.s.n;
    return plain;
}

const tr_ty *tr_ty_for_python(tr_tytab *t, const tr_ty *a) {
    bool named = a->kind == TR_TY_KEYED && has_plain_names(a);
    const tr_ty *of = named ? a->items[1] : a;
    if (of->kind != TR_TY_TUPLE)
        return tr_ty_told(t, tr_ty_strong(t, a));
    const tr_ty *few[TR_TY_FEW];
    tr_arena scratch;
    tr_arena_init(&scratch, NULL);
    const tr_ty **items = tr_ty_room(&scratch, few, of->n);
    const char **keys = TR_NEW_N(&scratch, const char *, of->n + 1u);
    for (uint32_t i = 0; i < of->n; i++) {
        items[i] = tr_ty_for_python(t, of->items[i]);
        keys[i] = named ? a->items[0]->items[i]->lit->u.s.d : NULL;
    }
    const tr_ty *r =
        named ? tr_ty_named_tuple(t, "dict", TR_SERIAL_DICT, of->n, items, keys) : tr_ty_like(t, of, items);
    tr_arena_fini(&scratch);
    return r;
}

static const tr_ty *strong_text(tr_tytab *t, const tr_ty *a) {
    (void)a;
    return tr_ty_string(t);
}

static const tr_ty *strong_self(tr_tytab *t, const tr_ty *a) {
    (void)t;
    return a;
}

const tr_ty *tr_ty_strong(tr_tytab *t, const tr_ty *a) {
    static const tr_ty *(*const strong[])(tr_tytab *, const tr_ty *) = {
#define KIND(ID, word, user, items, ty, ...)                  ty,
#define TY(parts, owned, text, read, user, join, strong, ...) strong_##strong
#include "ty/kinds.def"
    };
    return strong[tr_ty_row(a)](t, a);
}
