/* Generator expressions, and the arrays that list comprehensions are. What is done with an item of a loop is
 * a function (tr_round of ir/prog.h): None, or a tuple of the value, or of what the loop within runs over.
 * Who runs through all of it has the loops, one within the other (tr_em_each asks here first); who asks for
 * one value at a time, as a `for` does, has the outermost loop only, and of that a place for the values'
 * places alone: where items are left out, the place of a value is the value itself. Where there are loops
 * within, the values are their generators, which treadle/_library chains (tr_em_generator).
 *
 * A list comprehension is an array from the start, for those who can tell no array from it: NumPy's
 * functions, and what reads one number after the other. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/kinds.h"

enum { FIRST_ROOM = 8 }; /* values that an array of an unknown number has room for at first */

static const tr_round *round_of(tr_em *e, const tr_ty *closure) {
    return e->prog->funcs.d[closure->func].round;
}

/* No loop within, and no item left out: as many values as items. */
static bool genexpr_is_plain(tr_em *e, const tr_ty *closure) {
    const tr_round *r = round_of(e, closure);
    return r->inner == UINT32_MAX && !r->skips;
}

tr_tv tr_em_genexpr(tr_em *e, tr_tv closure, tr_tv it) {
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_GENEXPR, 0, 2, (const tr_ty *[]){closure.ty, it.ty}), 2,
                      (tr_tv[]){closure, it});
}

bool tr_em_has_loops(tr_em *e, tr_tv genexpr) {
    return round_of(e, genexpr.ty->items[0])->inner != UINT32_MAX;
}

bool tr_em_generator(tr_em *e, tr_tv genexpr, tr_tv *out) {
    tr_tv outer;
    if (!tr_em_has_loops(e, genexpr))
        return tr_em_iterator(e, genexpr, out);
    const tr_obj *chain = tr_em_method_of(e, "generator", "<genexpr>");
    assert(chain && "the library's function for several loops is part of the snapshot");
    return tr_em_iterator(e, genexpr, &outer) &&
           tr_fam_call(e, tr_em_lit(e, chain), 1, &outer, tr_ty_none(e->types), out);
}

bool tr_lib_runs_through(uint32_t row) {
    return row == TR_B_SUM || row == TR_B_MATH_PROD || row == TR_B_ANY || row == TR_B_ALL ||
           row == TR_B_MIN || row == TR_B_MAX || row == TR_B_REDUCE || row == TR_B_MATH_FSUM;
}

bool tr_lib_takes_all(uint32_t row) {
    static const uint16_t rows[] = {
        TR_B_LIST,         TR_B_DICT,          TR_B_SET,           TR_B_FROZENSET,      TR_B_DEQUE,
        TR_B_COUNTER,      TR_B_ORDEREDDICT,   TR_B_TYPED_LIST,    TR_B_TYPED_DICT,     TR_B_TYPED_SET,
        TR_B_S_JOIN,       TR_B_BY_JOIN,       TR_B_BA_EXTEND,     TR_B_L_EXTEND,       TR_B_DICT_FROMKEYS,
        TR_B_D_UPDATE,     TR_B_DQ_EXTEND,     TR_B_DQ_EXTENDLEFT, TR_B_C_UPDATE,       TR_B_C_SUBTRACT,
        TR_B_S_UPDATE,     TR_B_S_UNION,       TR_B_FS_UNION,      TR_B_S_INTERSECTION, TR_B_FS_INTERSECTION,
        TR_B_S_DIFFERENCE, TR_B_FS_DIFFERENCE, TR_B_S_ISSUPERSET,  TR_B_BYTES,          TR_B_BYTEARRAY,
        TR_B_TUPLE,
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i] == row)
            return true;
    return false;
}

bool tr_lib_reads_list(uint32_t row) {
    return strncmp(tr_builtins[row].path, "numpy.", 6) == 0 || row == TR_B_LEN;
}

bool tr_lib_only_reads(uint32_t row) {
    return tr_lib_runs_through(row) || row == TR_B_ENUMERATE || row == TR_B_ZIP || row == TR_B_REVERSED ||
           row == TR_B_MAP || row == TR_B_FILTER || row == TR_B_ITER || row == TR_B_MATH_SUMPROD;
}

/* --- all of it, in loops --- */

typedef struct run {
    tr_tv closure, round; /* round: what came of the item, a tuple */
    uint32_t n; /* what the loops carry; with `stops` an item's work has one more, whether it is over */
    bool stops;
    tr_eachfn each;
    const void *user;
} run;

/* What is done with an item. Of what never returns nothing comes, or a number that nobody gets to see. */
static bool call_round(tr_em *e, tr_tv closure, tr_tv x, tr_tv *out) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    bool innermost = round_of(e, closure.ty)->inner == UINT32_MAX;
    const tr_ty *never = innermost ? tr_ty_tuple(e->types, 1, &f64) : tr_ty_none(e->types);
    return tr_fam_call(e, closure, 1, &x, never, out);
}

/* What the loop within runs over, and the closure of what it does. */
static tr_tv inner_of(tr_em *e, tr_tv closure, tr_tv round) {
    uint32_t n = round.ty->n;
    assert(round.ty->kind == TR_TY_TUPLE && n > 0 &&
           "a round gives what the loop within runs over, and what it takes");
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    it[0] = tr_em_none(e);
    for (uint32_t k = 1; k < n; k++)
        it[k] = tr_em_item(e, round, k);
    for (uint32_t k = 0; k < n; k++)
        t[k] = it[k].ty;
    const tr_ty *ty = tr_ty_closure(e->types, round_of(e, closure.ty)->inner, closure.ty->opts, n, t);
    return tr_em_genexpr(e, tr_em_make(e, ty, n, it), tr_em_item(e, round, 0));
}

static bool each_inner(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const run *g = user;
    tr_tv over = {NULL, TR_NOVAL};
    if (!g->each(e, x, g->user, acc, &over))
        return false;
    if (g->stops)
        acc[g->n] = *stop = tr_em_strong(e, over);
    return true;
}

static bool take(tr_em *e, const void *user, tr_tv *acc) {
    const run *g = user;
    tr_tv stop;
    if (round_of(e, g->closure.ty)->inner != UINT32_MAX)
        return tr_em_each(e, inner_of(e, g->closure, g->round), g->n + g->stops, acc, each_inner, g);
    return each_inner(e, tr_em_item(e, g->round, 0), g, acc, &stop);
}

static bool each_item(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    run g = *(const run *)user;
    tr_tv *c = TR_NEW_N(&e->ctx->arena, tr_tv, g.n + 1u), r;
    if (!call_round(e, g.closure, x, &r))
        return false;
    bool ok = true;
    memcpy(c, acc, g.n * sizeof *acc);
    c[g.n] = tr_em_strong(e, tr_em_bool(e, false));
    g.round = r;
    if (r.ty->kind == TR_TY_OPT) {
        g.round = tr_em_item(e, r, 1);
        ok = tr_fam_when(e, tr_em_item(e, r, 0), g.n + g.stops, c, take, &g);
    } else if (r.ty->kind == TR_TY_TUPLE) {
        ok = take(e, &g, c);
    } /* else nothing ever comes of an item */
    memcpy(acc, c, g.n * sizeof *acc);
    if (g.stops)
        *stop = c[g.n];
    return ok;
}

/* Does `each` ever leave the loop? */
static bool may_stop(tr_em *e, const tr_ty *item, uint32_t n, const tr_tv *acc, tr_eachfn each,
                     const void *user, bool *out) {
    tr_em probe = *e;
    tr_tv *c = tr_arena_copy(&e->ctx->arena, acc, n * sizeof *acc), stop = {NULL, TR_NOVAL};
    probe.dry = true;
    bool ok = each(&probe, (tr_tv){item, TR_NOVAL}, user, c, &stop);
    *out = stop.ty != NULL;
    return ok || e->dry ||
           each(e, tr_lib_undef(e, item), user, c, &stop); /* once more, so that the reason is reported */
}

/* What who asks for one value at a time gets of a round: its value, or the generator of the loop within. */
static bool one_of(tr_em *e, tr_tv closure, tr_tv round, tr_tv *out) {
    *out = tr_em_item(e, round, 0);
    return round_of(e, closure.ty)->inner == UINT32_MAX ||
           tr_em_generator(e, inner_of(e, closure, round), out);
}

/* What one value is, found dry; NULL where all are left out. `one`: for who asks for one at a time. */
static bool value_type(tr_em *e, tr_tv gen, bool one, const tr_ty **out) {
    tr_em probe = *e;
    const tr_ty *item;
    tr_tv x, r, closure = tr_em_item(&probe, gen, 0);
    probe.dry = true;
    *out = NULL;
    if (tr_fam_never_gives(&probe, tr_em_item(&probe, gen, 1)))
        return true;
    if (!tr_fam_item_type(&probe, tr_em_item(&probe, gen, 1), &item))
        return false;
    x = (tr_tv){item, TR_NOVAL};
    if (!call_round(&probe, closure, x, &r))
        return false;
    if (r.ty->kind == TR_TY_OPT)
        r = tr_em_item(&probe, r, 1);
    if (r.ty->kind != TR_TY_TUPLE)
        return true;
    if (!one && round_of(e, closure.ty)->inner != UINT32_MAX)
        return value_type(&probe, inner_of(&probe, closure, r), false, out);
    bool ok = one_of(&probe, closure, r, &x);
    *out = x.ty;
    return ok;
}

bool tr_em_collects_nothing(tr_em *e, tr_tv closure, tr_tv it) {
    tr_em probe = *e;
    const tr_ty *value;
    probe.dry = true;
    return value_type(&probe, tr_em_genexpr(&probe, closure, it), false, &value) && !value;
}

/* Says why a value has no type. Always false. */
static bool tell(tr_em *e, tr_tv gen) {
    const tr_ty *item;
    tr_tv r, closure = tr_em_item(e, gen, 0);
    if (!tr_fam_item_type(e, tr_em_item(e, gen, 1), &item) ||
        !call_round(e, closure, tr_lib_undef(e, item), &r))
        return false;
    if (r.ty->kind == TR_TY_OPT)
        r = tr_em_item(e, r, 1);
    return r.ty->kind == TR_TY_TUPLE && round_of(e, closure.ty)->inner != UINT32_MAX &&
           tell(e, inner_of(e, closure, r));
}

bool tr_lib_type_of_values(tr_em *e, tr_tv gen, const tr_ty **out) {
    if (!value_type(e, gen, false, out))
        return !e->dry && tell(e, gen);
    *out = *out ? *out : tr_fam_ty(e, TR_TY_F64); /* as NumPy's array of nothing */
    return true;
}

bool tr_lib_each_genexpr(tr_em *e, tr_tv gen, uint32_t n, tr_tv *acc, tr_eachfn each, const void *user) {
    run g = {.n = n, .each = each, .user = user};
    const tr_ty *item;
    tr_em probe = *e;
    probe.dry = true;
    if (value_type(&probe, (tr_tv){gen.ty, TR_NOVAL}, false, &item) && !item)
        g.stops = false; /* `each` gets nothing, and learns of no type */
    else if (!tr_fam_item_type(e, gen, &item) || !may_stop(e, item, n, acc, each, user, &g.stops))
        return false;
    g.closure = tr_em_item(e, gen, 0);
    return tr_em_each(e, tr_em_item(e, gen, 1), n, acc, each_item, &g);
}

/* --- one by one --- */

/* From the item that is asked for with `st` on, the first that is not left out; where there
 * is none, `more` is false. */
static bool find_kept(tr_em *e, tr_tv gen, const tr_ty *value, tr_tv i, tr_val *found) {
    tr_tv closure = tr_em_item(e, gen, 0), x = tr_em_item(e, gen, 1), n, st, item, r;
    tr_fn *f = e->b.fn;
    tr_bid head = tr_blk_new(f), body = tr_blk_new(f), done = tr_blk_new(f), next = TR_NOBLK;
    tr_tv no = tr_em_strong(e, tr_em_bool(e, false)), yes = tr_em_strong(e, tr_em_bool(e, true));
    if (!tr_lib_serial_len(e, x, &n))
        return false;
    tr_br(&e->b, head, 1, &i.v);
    e->b.blk = head;
    i.v = tr_blk_param(f, head, i.ty, NULL);
    found[0] = tr_blk_param(f, done, no.ty, NULL);
    found[1] = tr_blk_param(f, done, value, NULL);
    found[2] = tr_blk_param(f, done, i.ty, NULL);
    if (!tr_em_next(e, x, n, i, &st))
        return false;
    tr_val none[3] = {no.v, tr_lib_undef(e, value).v, i.v};
    tr_cbr(&e->b, tr_em_strong(e, tr_em_item(e, st, TR_STEP_MORE)).v, body, 0, NULL, done, 3, none);
    e->b.blk = body;
    if (!tr_em_iterget(e, x, tr_em_item(e, st, TR_STEP_PLACE), &item))
        return false;
    r = tr_em_none(e);
    if (!tr_fam_never_gives(e, x) && !call_round(e, closure, item, &r))
        return false;
    tr_tv at = tr_em_item(e, st, TR_STEP_COUNT);
    if (r.ty->kind == TR_TY_OPT) {
        tr_bid kept = tr_blk_new(f);
        next = tr_blk_new(f);
        tr_cbr(&e->b, tr_em_item(e, r, 0).v, kept, 0, NULL, next, 0, NULL);
        e->b.blk = kept;
        r = tr_em_item(e, r, 1);
    }
    if (r.ty->kind == TR_TY_TUPLE) {
        tr_tv v;
        if (!one_of(e, closure, r, &v) || !tr_em_coerce(e, v, value, &v))
            return false;
        tr_br(&e->b, done, 3, (tr_val[]){yes.v, v.v, at.v});
        e->b.blk = next;
    }
    if (e->b.blk != TR_NOBLK) {
        tr_tv on = tr_em_nsw(e, TR_OP_ADD, at, tr_em_i64(e, 1));
        tr_br(&e->b, head, 1, &on.v);
    }
    e->b.blk = done;
    return true;
}

bool tr_lib_next_genexpr(tr_em *e, tr_tv gen, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv x = tr_em_item(e, gen, 1), n;
    const tr_ty *value, *bool_ty = tr_fam_ty(e, TR_TY_BOOL);
    if (genexpr_is_plain(e, gen.ty->items[0]))
        return tr_lib_serial_len(e, x, &n) && tr_lib_next(e, x, n, i, go, out);
    if (!value_type(e, gen, true, &value))
        return !e->dry && tell(e, gen);
    value = value ? tr_ty_strong(e->types, value) : tr_fam_ty(e, TR_TY_F64); /* as NumPy's array of nothing */
    tr_tv more = {bool_ty, TR_NOVAL}, place = {value, TR_NOVAL}, at = tr_em_strong(e, i);
    if (!e->dry) {
        tr_val found[3];
        tr_fn *f = e->b.fn;
        tr_bid join = tr_blk_new(f);
        more.v = tr_blk_param(f, join, bool_ty, NULL);
        place.v = tr_blk_param(f, join, value, NULL);
        tr_val count = tr_blk_param(f, join, at.ty, NULL);
        if (go.ty) {
            tr_bid ask = tr_blk_new(f);
            tr_val none[3] = {tr_em_strong(e, tr_em_bool(e, false)).v, tr_lib_undef(e, value).v, at.v};
            tr_cbr(&e->b, tr_em_strong(e, go).v, ask, 0, NULL, join, 3, none);
            e->b.blk = ask;
        }
        if (!find_kept(e, gen, value, at, found))
            return false;
        tr_br(&e->b, join, 3, found);
        e->b.blk = join;
        at.v = count;
    }
    *out = tr_lib_step(e, more, place, at);
    return true;
}

bool tr_lib_at_genexpr(tr_em *e, tr_tv gen, tr_tv place, tr_tv *out) {
    tr_tv x, r;
    *out = place;
    if (!genexpr_is_plain(e, gen.ty->items[0]))
        return true;
    if (!tr_em_iterget(e, tr_em_item(e, gen, 1), place, &x))
        return false;
    if (tr_fam_never_gives(e, tr_em_item(e, gen, 1))) { /* whoever asks has been told that there is none */
        *out = tr_lib_undef(e, tr_fam_ty(e, TR_TY_F64));
        return true;
    }
    return call_round(e, tr_em_item(e, gen, 0), x, &r) && one_of(e, tr_em_item(e, gen, 0), r, out);
}

/* --- an array of all --- */

typedef struct sink {
    const tr_ty *elem;
    uint32_t ndim;   /* of a value: 0 for numbers */
    bool of_tuples;  /* whose items are a row */
    tr_tv width;     /* of a tuple */
    bool grows;      /* the array is carried along with how much of it is used: acc[1] */
    tr_tv room, all; /* values it has room for at first; the array, where it does not grow */
    tr_tv x;
} sink;

static void shape_of(tr_em *e, const sink *s, tr_tv rows, tr_tv *shape) {
    shape[0] = rows;
    for (uint32_t k = 0; k < s->ndim; k++)
        shape[k + 1] = s->of_tuples ? s->width : s->x.ty ? tr_em_dim(e, s->x, k) : tr_em_i64(e, 0);
}

static tr_tv new_array(tr_em *e, const sink *s, tr_tv rows) {
    tr_tv shape[TR_MAX_NDIM];
    shape_of(e, s, rows, shape);
    return tr_em_alloc(e, s->elem, s->ndim + 1, TR_LAYOUT_C, shape);
}

/* acc: how many values there are, the array. user: the sink, and the new array */
typedef struct move {
    const sink *s;
    tr_tv to;
} move;

static bool move_over(tr_em *e, const void *user, tr_tv *acc) {
    const move *m = user;
    return tr_em_assign(e, tr_fam_part(e, m->to, 0, tr_em_i64(e, 0), acc[0]), acc[1]);
}

static bool grow(tr_em *e, const void *user, tr_tv *acc) {
    const sink *s = user;
    tr_tv some = tr_em_cmp(e, TR_CMP_GT, acc[0], tr_em_i64(e, 0));
    tr_tv twice = tr_em_nsw(e, TR_OP_ADD, acc[0], acc[0]);
    move m = {s, new_array(e, s, tr_em_select(e, some, twice, s->room))};
    if (!tr_fam_when(e, some, 2, acc, move_over, &m))
        return false;
    acc[1] = m.to;
    return true;
}

static void check_row(tr_em *e, const sink *s, const tr_tv *acc) {
    for (uint32_t k = 0; k < s->ndim && !s->of_tuples; k++) {
        tr_tv have = tr_em_dim(e, acc[1], k + 1), n = tr_em_dim(e, s->x, k);
        tr_tv first = tr_em_cmp(e, TR_CMP_EQ, acc[0], tr_em_i64(e, 0));
        tr_em_check(e, tr_fam_or(e, first, tr_em_cmp(e, TR_CMP_EQ, have, n)), TR_EXC_VALUE,
                    "the rows of an array have different lengths: {0} and {1}", 2, (tr_tv[]){have, n});
    }
}

static bool put(tr_em *e, const sink *s, tr_tv a, tr_tv at) {
    if (s->ndim && !s->of_tuples)
        return tr_em_assign(e, tr_lib_at_place(e, a, 0, at, TR_LAYOUT_C), s->x);
    tr_tv idx[2] = {at, {NULL, TR_NOVAL}};
    for (uint32_t k = 0; k < (s->of_tuples ? s->x.ty->n : 1u); k++) {
        idx[1] = tr_em_i64(e, k);
        tr_em_store(e, a, idx, tr_em_conv(e, s->of_tuples ? tr_em_item(e, s->x, k) : s->x, s->elem));
    }
    return true;
}

static bool each_put(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    sink s = *(const sink *)user;
    (void)stop;
    s.x = x;
    if (s.grows) {
        check_row(e, &s, acc);
        tr_tv full = tr_em_cmp(e, TR_CMP_EQ, acc[0], tr_em_dim(e, acc[1], 0));
        if (!tr_fam_when(e, full, 2, acc, grow, &s))
            return false;
    }
    if (!put(e, &s, s.grows ? acc[1] : s.all, acc[0]))
        return false;
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_i64(e, 1));
    return true;
}

/* The kind of row that a value is; false: it is none of numbers. */
static bool describe(tr_em *e, const tr_ty *t, sink *s) {
    t = tr_ty_strong(e->types, t);
    if (tr_ty_is_scalar(t)) {
        s->elem = t;
    } else if (t->kind == TR_TY_ARRAY && t->ndim < TR_MAX_NDIM) {
        s->elem = t->elem;
        s->ndim = t->ndim;
    } else if (t->kind == TR_TY_TUPLE && t->n) {
        s->of_tuples = true;
        s->ndim = 1;
        s->width = tr_em_i64(e, t->n);
        for (uint32_t k = 0; k < t->n; k++) {
            if (!tr_ty_is_scalar(t->items[k]))
                return false;
            s->elem = s->elem ? tr_lib_common(e, s->elem, t->items[k]) : t->items[k];
        }
    }
    return s->elem != NULL;
}

/* There are no more values than items, whose number is known; *room for so many, or some. */
static bool known_room(tr_em *e, tr_tv closure, tr_tv it, tr_tv *room) {
    if (!tr_lib_serial_len(e, it, room))
        return false;
    bool known = !tr_tv_is_none(*room) && round_of(e, closure.ty)->inner == UINT32_MAX;
    *room = known ? tr_em_strong(e, *room) : tr_em_i64(e, FIRST_ROOM);
    return known;
}

/* --- tuples, a column for each number in them --- */

enum { MAX_COLUMNS = 16 };

typedef struct columns {
    sink col[MAX_COLUMNS];
    uint32_t n;
    bool grows;
} columns;

/* acc: how many rows there are, the arrays of growing columns. Stores the numbers of x from column *k on. */
static bool put_columns(tr_em *e, const columns *t, tr_tv x, const tr_tv *acc, uint32_t *k) {
    for (uint32_t i = 0; x.ty->kind == TR_TY_TUPLE && i < x.ty->n; i++)
        if (!put_columns(e, t, tr_em_item(e, x, i), acc, k))
            return false;
    if (x.ty->kind == TR_TY_TUPLE)
        return true;
    sink s = t->col[*k];
    s.x = x;
    ++*k;
    return put(e, &s, t->grows ? acc[*k] : s.all, acc[0]);
}

static bool grow_columns(tr_em *e, const void *user, tr_tv *acc) {
    const columns *t = user;
    for (uint32_t k = 0; k < t->n; k++) {
        tr_tv one[2] = {acc[0], acc[k + 1]};
        if (!grow(e, &t->col[k], one))
            return false;
        acc[k + 1] = one[1];
    }
    return true;
}

static bool each_row(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const columns *t = user;
    uint32_t k = 0;
    (void)stop;
    if (t->grows && !tr_fam_when(e, tr_em_cmp(e, TR_CMP_EQ, acc[0], tr_em_dim(e, acc[1], 0)), t->n + 1, acc,
                                 grow_columns, t))
        return false;
    if (!put_columns(e, t, x, acc, &k))
        return false;
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_i64(e, 1));
    return true;
}

static bool describe_columns(tr_em *e, const tr_ty *x, columns *t) {
    /* none whose items have names */
    bool tuple = x->kind == TR_TY_TUPLE && x->n && x == tr_ty_tuple(e->types, x->n, x->items);
    for (uint32_t i = 0; tuple && i < x->n; i++)
        if (!describe_columns(e, x->items[i], t))
            return false;
    if (tuple)
        return true;
    const tr_ty *s = tr_ty_strong(e->types, x);
    if (!tr_ty_is_scalar(s) || t->n == MAX_COLUMNS)
        return false;
    t->col[t->n++] = (sink){.elem = s, .x = {NULL, TR_NOVAL}};
    return true;
}

/* What gives the tuples again, of type x. */
static tr_tv zip_columns(tr_em *e, const tr_ty *x, const tr_tv *cols, uint32_t *k) {
    if (x->kind != TR_TY_TUPLE)
        return cols[(*k)++];
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x->n);
    const tr_ty **ty = TR_NEW_N(&e->ctx->arena, const tr_ty *, x->n);
    for (uint32_t i = 0; i < x->n; i++) {
        it[i] = zip_columns(e, x->items[i], cols, k);
        ty[i] = it[i].ty;
    }
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_ZIP, 0, x->n, ty), x->n, it);
}

/* They are rows, which are no tuples when they come out. */
static bool genexpr_gives_lists(tr_em *e, const tr_ty *closure) {
    const tr_round *r = round_of(e, closure);
    for (; r->inner != UINT32_MAX; r = e->prog->funcs.d[r->inner].round)
        if (r->of_lists)
            return true;
    return r->of_lists;
}

bool tr_em_collect_tuples(tr_em *e, tr_tv closure, tr_tv it, bool *are, tr_tv *out) {
    columns t = {.n = 0};
    tr_tv gen = tr_em_genexpr(e, closure, it), acc[MAX_COLUMNS + 1], room;
    const tr_ty *x;
    if (!tr_fam_item_type(e, gen, &x))
        return false;
    *are = x->kind == TR_TY_TUPLE && !tr_ty_has_list(x) && !genexpr_gives_lists(e, closure.ty) &&
           describe_columns(e, x, &t);
    if (!*are)
        return true;
    t.grows = !known_room(e, closure, it, &room);
    acc[0] = tr_em_i64(e, 0);
    for (uint32_t k = 0; k < t.n; k++) {
        t.col[k].room = room;
        t.col[k].all = acc[k + 1] = new_array(e, &t.col[k], t.grows ? acc[0] : room);
    }
    if (!tr_em_each(e, gen, 1u + (t.grows ? t.n : 0), acc, each_row, &t))
        return false;
    for (uint32_t k = 0; k < t.n && (t.grows || !genexpr_is_plain(e, closure.ty)); k++)
        acc[k + 1] = tr_fam_part(e, acc[k + 1], 0, tr_em_i64(e, 0), acc[0]);
    uint32_t k = 0;
    *out = zip_columns(e, x, acc + 1, &k);
    return true;
}

/* --- arrays, one behind the other --- */

/* acc: how many items of the first axis there are, how many arrays they were of, all. user: the next one */
static bool move_joined(tr_em *e, const void *user, tr_tv *acc) {
    tr_tv zero = tr_em_i64(e, 0);
    return tr_em_assign(e, tr_fam_part(e, *(const tr_tv *)user, 0, zero, acc[0]),
                        tr_fam_part(e, acc[2], 0, zero, acc[0]));
}

static bool grow_joined(tr_em *e, const void *user, tr_tv *acc) {
    tr_tv x = *(const tr_tv *)user, shape[TR_MAX_NDIM], none = tr_em_i64(e, 0);
    tr_fam_shape(e, x, shape);
    tr_tv need = tr_em_extent_sum(e, acc[0], shape[0]), twice = tr_em_nsw(e, TR_OP_ADD, acc[0], acc[0]);
    shape[0] = tr_em_op2(e, TR_OP_MAX, need, twice);
    tr_tv to = tr_em_alloc(e, x.ty->elem, x.ty->ndim, TR_LAYOUT_C, shape);
    if (!tr_fam_when(e, tr_em_cmp(e, TR_CMP_GT, acc[0], none), 3, acc, move_joined, &to))
        return false;
    acc[2] = to;
    return true;
}

static bool each_joined(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    tr_tv n = tr_em_dim(e, x, 0), first = tr_em_cmp(e, TR_CMP_EQ, acc[1], tr_em_i64(e, 0));
    (void)user;
    (void)stop;
    for (uint32_t k = 1; k < x.ty->ndim; k++) {
        tr_tv has = tr_em_dim(e, acc[2], k), own = tr_em_dim(e, x, k);
        tr_em_check(e, tr_fam_or(e, first, tr_em_cmp(e, TR_CMP_EQ, has, own)), TR_EXC_VALUE,
                    tr_arena_printf(&e->ctx->arena, TR_JOIN_DIFFERS, k, "{2}"), 3,
                    (tr_tv[]){has, own, acc[1]});
    }
    tr_tv need = tr_em_nsw(e, TR_OP_ADD, acc[0], n);
    tr_tv full = tr_em_cmp(e, TR_CMP_GT, need, tr_em_dim(e, acc[2], 0));
    if (!tr_fam_when(e, tr_fam_or(e, first, full), 3, acc, grow_joined, &x) ||
        !tr_em_assign(e, tr_fam_part(e, acc[2], 0, acc[0], n), x))
        return false;
    acc[0] = need;
    acc[1] = tr_em_nsw(e, TR_OP_ADD, acc[1], tr_em_i64(e, 1));
    return true;
}

bool tr_em_collect_joined(tr_em *e, tr_tv closure, tr_tv it, uint32_t row, bool *are, tr_tv *out) {
    tr_tv gen = tr_em_genexpr(e, closure, it), zero = tr_em_i64(e, 0), acc[3] = {zero, zero},
          none[TR_MAX_NDIM];
    const tr_ty *x;
    if (!tr_fam_item_type(e, gen, &x))
        return false;
    *are = x->kind == TR_TY_ARRAY && x->ndim &&
           (row == TR_B_NP_CONCATENATE || (row == TR_B_NP_HSTACK && x->ndim == 1) ||
            ((row == TR_B_NP_VSTACK || row == TR_B_NP_ROW_STACK) && x->ndim > 1));
    if (!*are)
        return true;
    for (uint32_t k = 0; k < x->ndim; k++)
        none[k] = zero;
    acc[2] = tr_em_alloc(e, x->elem, x->ndim, TR_LAYOUT_C, none);
    if (!tr_em_each(e, gen, 3, acc, each_joined, NULL))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, acc[1], zero), TR_EXC_VALUE,
                "need at least one array to concatenate", 0, NULL);
    tr_tv all = tr_fam_part(e, acc[2], 0, zero, acc[0]);
    *out = tr_em_tuple(e, 1, &all);
    return true;
}

/* --- numbers, and rows --- */

bool tr_em_collect(tr_em *e, tr_tv closure, tr_tv it, tr_tv *out) {
    sink s = {.x = {NULL, TR_NOVAL}};
    tr_tv gen = tr_em_genexpr(e, closure, it), acc[2];
    const tr_ty *t;
    if (!tr_fam_item_type(e, gen, &t))
        return false;
    if (!describe(e, t, &s))
        return tr_em_unsupported(e, "comprehension", "a list comprehension of %s", tr_em_tyname(e, t));
    bool known = known_room(e, closure, it, &s.room);
    s.grows = !known || (s.ndim && !s.of_tuples);
    acc[0] = tr_em_i64(e, 0);
    acc[1] = s.all = new_array(e, &s, s.grows ? tr_em_i64(e, 0) : s.room);
    if (!tr_em_each(e, gen, 1u + s.grows, acc, each_put, &s))
        return false;
    *out = acc[1];
    if (known && genexpr_is_plain(e, closure.ty))
        return true;
    tr_tv some = tr_fam_part(e, acc[1], 0, tr_em_i64(e, 0), acc[0]);
    return tr_fam_copy_as(e, some, s.elem, TR_LAYOUT_C, out);
}
