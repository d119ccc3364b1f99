/* Which arrays share memory: each answer with a case of its own, then random views of few
 * buffers, whose elements are counted out.
 *
 * A value of the model is where its first element lies, how many there are and how far apart. Nothing
 * that the answers call distinct, disjoint or apart may be otherwise in any run of a program in which
 * its block is reached. An array whose own elements lie at one place is apart from itself, as the op has
 * it: that is a matter of the one array. */
#include <assert.h>
#include <stdio.h>

#include "ir/alias.h"
#include "ir/prog.h"

static tr_ctx ctx;
static const tr_ty *i64, *boolean, *any, *dense, *two;

enum { MAX_VALUES = 14, BUFFER = 1000 };

typedef struct place {
    int64_t at, n, step;
} place;

/* A function that is made, and what its values are in one run of it. */
typedef struct model {
    tr_fn *f;
    tr_bld b;
    tr_val v[MAX_VALUES];
    place is[MAX_VALUES];
    uint32_t n;
    tr_val flag;
    bool flag_is;
    int64_t buffers;
} model;

static uint64_t seed = 1;

static uint32_t draw(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void add(model *m, tr_val v, place is) {
    assert(m->n < MAX_VALUES);
    m->v[m->n] = v;
    m->is[m->n++] = is;
}

static tr_val number(model *m, int64_t k) {
    return tr_const_int(m->f, i64, k);
}

static tr_val view_of(model *m, tr_val base, place rel) {
    tr_val a[] = {base, number(m, rel.at), number(m, rel.n), number(m, rel.step)};
    return tr_emit_v(&m->b, TR_OP_RESTRIDE, any, 4, a);
}

static tr_val alloc(model *m) {
    static const tr_site site = {TR_EXC_MEMORY, "no", -1, NULL};
    tr_val v = tr_emit1(&m->b, TR_OP_ALLOC, dense, number(m, 8));
    tr_at(m->f, v)->imm.site = &site;
    return v;
}

static tr_val item(model *m, tr_val tuple, uint32_t k) {
    tr_val v = tr_emit1(&m->b, TR_OP_EXTRACT, any, tuple);
    tr_at(m->f, v)->imm.i = k;
    return v;
}

/* Three arrays are passed in, one of them in a tuple; `shared`: in one buffer. */
static tr_val begin(model *m, bool shared) {
    *m = (model){.f = tr_fn_new(&ctx, "f", S_T), .buffers = 1};
    m->f->file = "f.py";
    m->f->ret = tr_ty_none(ctx.types);
    tr_bid entry = tr_blk_new(m->f);
    m->b = (tr_bld){.fn = m->f, .blk = entry, .before = TR_NOVAL};
    for (int k = 0; k < 2; k++) {
        place p = {(shared ? 0 : m->buffers++ * BUFFER) + draw(5), 1 + draw(5), 1 + draw(2)};
        add(m, tr_blk_param(m->f, entry, any, NULL), p);
    }
    m->flag = tr_blk_param(m->f, entry, boolean, NULL);
    m->flag_is = draw(2);
    return tr_blk_param(m->f, entry, two, NULL);
}

/* --- random programs --- */

static void span(place x, int64_t *from, int64_t *to) {
    int64_t last = x.at + (x.n - 1) * x.step;
    *from = last < x.at ? last : x.at;
    *to = last < x.at ? x.at : last;
}

/* Of a view of x that was drawn, what lies between x's first item and its last one: a view reaches nothing
 * beyond its base. */
static place within(place x, place rel) {
    int64_t from, to, least, most;
    span(x, &from, &to);
    for (; rel.n > 0; rel.n--) {
        span((place){x.at + rel.at, rel.n, rel.step}, &least, &most);
        if (x.n > 0 && from <= least && most <= to)
            break;
    }
    return rel;
}

static void add_random(model *m) {
    uint32_t k = draw(m->n), l = draw(m->n);
    place x = m->is[k];
    switch (draw(4)) {
    case 0: {
        place p = {m->buffers++ * BUFFER, 8, 1};
        tr_val whole = alloc(m);
        add(m, view_of(m, whole, (place){0, 8, 1}), p);
        break;
    }
    case 1:
        add(m, tr_emit3(&m->b, TR_OP_SELECT, any, m->flag, m->v[k], m->v[l]), m->is[m->flag_is ? k : l]);
        break;
    default: {
        place rel = within(x, (place){draw(4), draw(5), (int64_t)draw(5) - 2});
        add(m, view_of(m, m->v[k], rel), (place){x.at + rel.at, rel.n, rel.step});
    }
    }
}

static bool lie_at_one(place x, place y, bool but_same_index) {
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t k = 0; k < y.n; k++)
            if (x.at + i * x.step == y.at + k * y.step && !(but_same_index && i == k))
                return true;
    return false;
}

static bool overlap(place x, place y) {
    int64_t a, b, c, d;
    span(x, &a, &b);
    span(y, &c, &d);
    return x.n > 0 && y.n > 0 && a <= d && c <= b;
}

static bool same(place x, place y) {
    return x.at == y.at && x.n == y.n && x.step == y.step;
}

/* A test of two values, and what it gives. */
static tr_val test(model *m, bool *holds) {
    uint32_t k = draw(m->n), l = draw(m->n);
    bool strict = draw(2);
    tr_val t = tr_emit2(&m->b, strict ? TR_OP_OVERLAP : TR_OP_APART, boolean, m->v[k], m->v[l]);
    *holds = *holds && (!overlap(m->is[k], m->is[l]) || (!strict && same(m->is[k], m->is[l])));
    return strict ? tr_emit1(&m->b, TR_OP_NOT, boolean, t) : t;
}

typedef struct said {
    uint32_t distinct, disjoint, apart, unshared;
} said;

static const uint8_t *sources(const tr_fn *f, tr_val v) {
    uint8_t *from = TR_NEW_N(&ctx.arena, uint8_t, f->ins.n + 1u);
    tr_array_sources(f, v, from);
    return from;
}

static void look_at_all(model *m, said *n) {
    tr_fn *f = m->f;
    tr_bid b = m->b.blk;
    for (uint32_t i = 0; i < m->n * m->n; i++) {
        uint32_t k = i / m->n, l = i % m->n;
        tr_val x = m->v[k], y = m->v[l];
        bool share = lie_at_one(m->is[k], m->is[l], false),
             mix = lie_at_one(m->is[k], m->is[l], true) && !same(m->is[k], m->is[l]);
        bool distinct = tr_arrays_distinct(f, x, y, b), disjoint = tr_arrays_disjoint(f, x, y, b),
             apart = tr_arrays_apart(f, x, y, b);
        bool sources_share = tr_sources_share(f, sources(f, x), sources(f, y));
        assert(!distinct || (!share && disjoint && apart));
        assert(!disjoint || !share);
        assert(!apart || !mix);
        assert(sources_share || !share);
        n->distinct += distinct;
        n->disjoint += disjoint && !distinct;
        n->apart += apart && !distinct;
        n->unshared += !sources_share;
    }
}

static void test_random(void) {
    said n = {0};
    for (int round = 0; round < 3000; round++) {
        model m;
        bool holds = true;
        begin(&m, draw(3) > 0);
        for (uint32_t k = 2 + draw(4); k-- > 0;)
            add_random(&m);
        tr_val cond = test(&m, &holds);
        for (uint32_t k = draw(3); k-- > 0;) {
            tr_val other = test(&m, &holds);
            cond = tr_emit2(&m.b, TR_OP_AND, boolean, cond, other);
        }
        tr_bid yes = tr_blk_new(m.f), no = tr_blk_new(m.f);
        uint32_t given = draw(m.n);
        tr_cbr(&m.b, cond, yes, 1, &m.v[given], no, 0, NULL);
        m.b.blk = yes;
        add(&m, tr_blk_param(m.f, yes, any, NULL), m.is[given]);
        for (uint32_t k = draw(4); k-- > 0;)
            add_random(&m);
        tr_emit1(&m.b, TR_OP_RET, NULL, tr_const_undef(m.f, m.f->ret));
        tr_bld end = {.fn = m.f, .blk = no, .before = TR_NOVAL};
        tr_emit1(&end, TR_OP_RET, NULL, tr_const_undef(m.f, m.f->ret));
        tr_cfg_compute(m.f);
        if (holds)
            look_at_all(&m, &n);
    }
    assert(n.distinct > 1000 && n.disjoint > 100 && n.apart > 100 && n.unshared > 1000);
}

/* --- each answer --- */

static void test_made(void) {
    model m;
    begin(&m, true);
    tr_val a = m.v[0], b = m.v[1], x = alloc(&m), y = alloc(&m), v = view_of(&m, x, (place){2, 3, 1});
    tr_val w = view_of(&m, x, (place){0, 8, 1}), s = tr_emit3(&m.b, TR_OP_SELECT, any, m.flag, v, a);
    tr_fn *f = m.f;
    tr_cfg_compute(f);
    assert(tr_array_is_fresh(f, x) && !tr_array_is_fresh(f, v) && !tr_array_is_fresh(f, a));
    assert(!tr_array_is_chosen(f, x) && !tr_array_is_chosen(f, a) && tr_array_is_chosen(f, s));
    assert(tr_arrays_distinct(f, x, y, 0) && tr_arrays_distinct(f, v, y, 0) &&
           tr_arrays_distinct(f, a, v, 0));
    assert(!tr_arrays_distinct(f, v, w, 0)); /* of one array */
    assert(!tr_arrays_distinct(f, a, b, 0)); /* passed in: may be one */
    assert(!tr_arrays_distinct(f, s, x, 0)); /* may be it */
    assert(tr_array_may_be(f, s, sources(f, x)) && tr_array_may_be(f, w, sources(f, v)));
    assert(tr_array_may_be(f, s, sources(f, a)) && !tr_array_may_be(f, s, sources(f, y)));
    assert(!tr_sources_share(f, sources(f, x), sources(f, a)) &&
           tr_sources_share(f, sources(f, s), sources(f, a)));
    assert(tr_sources_share(f, sources(f, a), sources(f, b)) &&
           !tr_sources_share(f, sources(f, x), sources(f, y)));
}

/* The same item of a tuple that was passed in is one array, wherever it is taken out;
 * others are arrays of their own. */
static void test_items(void) {
    model m;
    tr_val t = begin(&m, true);
    tr_val a = item(&m, t, 0), again = item(&m, t, 0), b = item(&m, t, 1);
    tr_fn *f = m.f;
    tr_cfg_compute(f);
    assert(tr_sources_meet(f, sources(f, a), sources(f, again)) && tr_array_may_be(f, again, sources(f, a)));
    assert(!tr_sources_meet(f, sources(f, a), sources(f, b)) &&
           tr_sources_share(f, sources(f, a), sources(f, b)));
    assert(!tr_arrays_distinct(f, a, again, 0) && !tr_arrays_distinct(f, a, b, 0));
}

/* What a test says holds where it leads to, and nowhere else. */
static void test_tested(void) {
    model m;
    begin(&m, true);
    tr_val a = m.v[0], b = m.v[1];
    tr_val meets = tr_emit2(&m.b, TR_OP_OVERLAP, boolean, b, a),
           not = tr_emit1(&m.b, TR_OP_NOT, boolean, meets);
    tr_val both = tr_emit2(&m.b, TR_OP_AND, boolean, m.flag, not );
    tr_bid yes = tr_blk_new(m.f), no = tr_blk_new(m.f), yes2 = tr_blk_new(m.f), no2 = tr_blk_new(m.f);
    tr_cbr(&m.b, both, yes, 0, NULL, no, 0, NULL);
    m.b.blk = no;
    tr_val apart = tr_emit2(&m.b, TR_OP_APART, boolean, a, b);
    tr_cbr(&m.b, apart, yes2, 0, NULL, no2, 0, NULL);
    tr_fn *f = m.f;
    for (tr_bid k = 0; k < f->blks.n; k++) {
        m.b.blk = k;
        if (tr_blk_at(f, k)->last == TR_NOVAL)
            tr_emit1(&m.b, TR_OP_RET, NULL, tr_const_undef(f, f->ret));
    }
    tr_cfg_compute(f);
    assert(tr_arrays_disjoint(f, a, b, yes) && tr_arrays_disjoint(f, b, a, yes) &&
           !tr_arrays_distinct(f, a, b, yes));
    assert(!tr_arrays_disjoint(f, a, b, 0) && !tr_arrays_disjoint(f, a, b, no) &&
           !tr_arrays_apart(f, a, b, no));
    assert(tr_arrays_apart(f, a, b, yes2) && tr_arrays_apart(f, b, a, yes2) &&
           !tr_arrays_disjoint(f, a, b, yes2));
    assert(!tr_arrays_apart(f, a, b, no2));
}

int main(void) {
    tr_ctx_init(&ctx);
    tr_tytab *shared = tr_tytab_new(NULL);
    ctx.types = tr_tytab_new(shared);
    tr_tytab_follow(ctx.types, &ctx.arena);
    const tr_ty *f64 = tr_ty_scalar(ctx.types, TR_TY_F64);
    i64 = tr_ty_scalar(ctx.types, TR_TY_I64);
    boolean = tr_ty_scalar(ctx.types, TR_TY_BOOL);
    any = tr_ty_array(ctx.types, f64, 1, TR_LAYOUT_ANY, false);
    dense = tr_ty_array(ctx.types, f64, 1, TR_LAYOUT_C, false);
    two = tr_ty_tuple(ctx.types, 2, (const tr_ty *const[]){any, any});
    test_made();
    test_items();
    test_tested();
    test_random();
    tr_tytab_free(ctx.types);
    tr_tytab_free(shared);
    tr_ctx_fini(&ctx);
    return 0;
}
