/* Loops over n-d operands (exec/), against loops that count indices: shapes, strides, overlap, buffers,
 * chains, cores, ranges, sizes that overflow. "Compiled code" is written here, in C, over the slots of an
 * entry. */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "rt/fns.h"
#include "rt/pool.h"
#include "rt/rt.h"

enum { NDIM = 6, BYTES = 1 << 16, RAISED = 1 };

static uint64_t seed = 88172645463325252u;
static uint64_t below(uint64_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

/* --- compiled code --- */

/* What entries are told: workers have frames of their own. */
typedef struct told {
    tr_exec *l;
    _Atomic uint64_t calls;
    int64_t raise_at; /* the item of a call that raises; -1: none does */
} told;
static told *current;

static const tr_meta quiet, raises = {.nsites = 1}, of_chain, of_variant;

static uint64_t number(const char *p, size_t size) {
    uint64_t v = 0;
    memcpy(&v, p, size < 8 ? size : 8);
    return v;
}

static void put(char *p, size_t size, uint64_t v) {
    memset(p, 0, size);
    memcpy(p, &v, size < 8 ? size : 8);
}

/* What the code computes of two items. */
static uint64_t f(uint64_t a, uint64_t b) {
    return a * 3 + b * b + 1;
}

/* out[i] = f(a[i], b[i]), of unsigned numbers; items side by side, but inputs of `once` have one for all. */
static int32_t map_with(const tr_slot *s, uint32_t once) {
    told *t = current;
    size_t x = t->l->item[0].size, y = t->l->item[1].size, z = t->l->item[2].size;
    const char *a = s[1].p, *b = s[4].p;
    char *out = s[7].p;
    assert(!((uintptr_t)a & t->l->item[0].odd) && !((uintptr_t)b & t->l->item[1].odd));
    assert(!((uintptr_t)out & t->l->item[2].odd));
    assert(s[2].i == s[5].i && s[5].i == s[8].i && s[2].i > 0);
    atomic_fetch_add(&t->calls, 1);
    for (size_t i = 0; i < (size_t)s[2].i; i++) {
        if ((int64_t)i == t->raise_at)
            return RAISED;
        put(out + i * z, z, f(number(a + (once & 1 ? 0 : i) * x, x), number(b + (once & 2 ? 0 : i) * y, y)));
    }
    return 0;
}

static int32_t map_entry(tr_frame *frame, const tr_slot *s, tr_slot *ret) {
    (void)frame;
    (void)ret;
    return map_with(s, 0);
}

static int32_t once_entry(tr_frame *frame, const tr_slot *s, tr_slot *ret) {
    (void)frame;
    (void)ret;
    return map_with(s, 2);
}

/* out[i] = f(out[i - 1], b[i]); strides in items. */
static int32_t chain_entry(tr_frame *frame, const tr_slot *s, tr_slot *ret) {
    told *t = current;
    size_t size = t->l->item[0].size;
    uint64_t last = number(s[1].p, size);
    const char *b = s[5].p;
    char *out = s[9].p;
    (void)frame;
    (void)ret;
    atomic_fetch_add(&t->calls, 1);
    for (int64_t i = 0; i < s[2].i; i++) {
        if (i == t->raise_at)
            return RAISED;
        put(out + i * s[11].i * (int64_t)size, size, f(last, number(b + i * s[7].i * (int64_t)size, size)));
        last = number(out + i * s[11].i * (int64_t)size, size);
    }
    return 0;
}

static bool need_chain(tr_exec *l) {
    l->chain_meta = &of_chain;
    l->chain = chain_entry;
    return true;
}

static tr_exec_variant variant = {.once = 2, .entry = once_entry, .meta = &of_variant};
static bool add_variant(tr_exec *l, uint32_t once) {
    assert(once == 2);
    variant.next = l->variants;
    l->variants = &variant;
    return true;
}

static bool refuse(tr_exec *l) {
    (void)l;
    return false;
}

static bool refuse_variant(tr_exec *l, uint32_t once) {
    (void)l;
    (void)once;
    return false;
}

static const tr_exec_host host = {need_chain, add_variant}, no_host = {refuse, refuse_variant};

static tr_exec binary(unsigned size) {
    tr_item it = {(uint8_t)size, (uint8_t)((size > 8 ? 8 : size) - 1), false};
    return (tr_exec){
        .nin = 2, .nop = 3, .item = {it, it, it}, .entry = map_entry, .meta = &quiet, .host = &host};
}

/* --- running --- */

typedef struct run {
    told t;
    tr_frame frame;
} run;

static run *begin(run *r, tr_exec *l) {
    memset(r, 0, sizeof *r);
    r->t.l = l;
    r->t.raise_at = -1;
    current = &r->t;
    tr_rt_frame_init(&r->frame, NULL);
    return r;
}

static int32_t walk(tr_walk *w, tr_exec *l, run *r) {
    int32_t code = tr_walk_run(w, l, &begin(r, l)->frame);
    tr_rt_frame_fini(&r->frame);
    return code;
}

static int32_t inner(tr_exec *l, run *r, char *a, char *b, char *out, int64_t n, int64_t x, int64_t y,
                     int64_t z) {
    char *args[] = {a, b, out};
    int64_t steps[] = {x, y, z};
    return tr_exec_run(l, &r->frame, args, &n, steps);
}

/* --- operands --- */

/* An array somewhere in a block of its own. */
typedef struct array {
    tr_nd nd;
    int64_t shape[NDIM], strides[NDIM];
    char *block;
} array;

static char *fresh(void) {
    char *p = malloc(BYTES);
    assert(p);
    for (int i = 0; i < BYTES; i++)
        p[i] = (char)below(256);
    return p;
}

/* Axes in a random order, some of them backwards, with gaps. */
static void make(array *a, int32_t ndim, const int64_t *shape, unsigned size, unsigned off, bool gaps) {
    int32_t perm[NDIM];
    int64_t s = size * (gaps ? 1 + (int64_t)below(2) : 1), at = BYTES / 2 / 16 * 16 + off;
    for (int32_t d = 0; d < ndim; d++) {
        int32_t j = (int32_t)below((uint64_t)d + 1);
        perm[d] = perm[j];
        perm[j] = d;
    }
    a->block = fresh();
    for (int32_t i = 0; i < ndim; i++) {
        int32_t d = perm[i];
        a->shape[d] = shape[d];
        a->strides[d] = gaps && below(3) == 0 ? -s : s;
        s *= shape[d] ? shape[d] : 1;
        s += gaps && below(4) == 0 ? size : 0;
    }
    a->nd = (tr_nd){a->block + at, ndim, false, a->shape, a->strides};
}

static const char *item_at(const tr_nd *x, int32_t ndim, const int64_t *at) {
    const char *p = x->data;
    for (int32_t d = 0; d < x->ndim; d++)
        p += x->shape[d] == 1 ? 0 : x->strides[d] * at[d + ndim - x->ndim];
    return p;
}

/* Are the items of the third operand what they should be? */
static void check(const tr_nd *op, const tr_exec *l, int32_t ndim, const int64_t *shape) {
    int64_t at[TR_WALK_NDIM] = {0}, count = 1;
    for (int32_t d = 0; d < ndim; d++)
        count *= shape[d];
    for (int64_t i = 0; i < count; i++) {
        char want[16];
        put(want, l->item[2].size,
            f(number(item_at(&op[0], ndim, at), l->item[0].size),
              number(item_at(&op[1], ndim, at), l->item[1].size)));
        assert(memcmp(want, item_at(&op[2], ndim, at), l->item[2].size) == 0);
        for (int32_t d = ndim; d-- > 0 && ++at[d] == shape[d];)
            at[d] = 0;
    }
}

/* --- shapes and strides at random --- */

static void test_random(void) {
    static const unsigned sizes[] = {1, 2, 4, 8, 16};
    run r;
    for (int round = 0; round < 3000; round++) {
        unsigned size = sizes[below(5)];
        tr_exec l = binary(size);
        int64_t shape[NDIM], part[NDIM];
        int32_t ndim = (int32_t)below(NDIM);
        bool odd = below(4) == 0, given = below(2);
        array in[2], out;
        tr_walk w;
        for (int32_t d = 0; d < ndim; d++)
            shape[d] = below(12) == 0 ? (int64_t)below(2) : 1 + (int64_t)below(4);
        for (int k = 0; k < 2; k++) { /* the first one has all axes, the second may repeat */
            int32_t skip = k ? (int32_t)below((uint64_t)ndim + 1) : 0;
            for (int32_t d = skip; d < ndim; d++)
                part[d - skip] = k && below(3) == 0 ? 1 : shape[d];
            make(&in[k], ndim - skip, part, size, odd ? 1 : 0, below(2));
            w.op[k] = in[k].nd;
        }
        make(&out, ndim, shape, size, odd ? 3 : 0, true);
        w.op[2] = given ? out.nd : (tr_nd){.ndim = TR_ND_ABSENT};
        assert(tr_walk_begin(&w, &l) == TR_WALK_OK && w.ndim == ndim);
        for (int32_t d = 0; d < ndim; d++)
            assert(w.shape[d] == shape[d]);
        if (!given) {
            bool plain = tr_walk_layout(&w, &l, 2, out.strides);
            int64_t s = size;
            for (int32_t d = ndim; plain && !w.flat && d-- > 0; s *= shape[d])
                assert(out.strides[d] == s);
            for (int32_t d = ndim; w.flat && d-- > 0; s *= shape[d])
                out.strides[d] = s;
            w.op[2].data = out.nd.data = out.block;
        }
        int64_t count = w.count;
        assert(walk(&w, &l, &r) == 0 && (count > 0) == (r.t.calls > 0));
        tr_walk_end(&w);
        tr_nd op[] = {in[0].nd, in[1].nd, out.nd};
        check(op, &l, ndim, shape);
        free(in[0].block);
        free(in[1].block);
        free(out.block);
    }
}

/* --- how often the loop is entered, and what is made --- */

/* Of a over shape (x, y, z) in the steps given, and b likewise; returns how often code was entered. */
static uint64_t calls_of(const int64_t *shape, const int64_t *a, const int64_t *b, int64_t *made,
                         bool *plain) {
    static double in[4096], out[4096];
    tr_exec l = binary(8);
    tr_walk w;
    run r;
    w.op[0] = (tr_nd){(char *)(in + 2048), 3, false, shape, a};
    w.op[1] = (tr_nd){(char *)(in + 2048), 3, false, shape, b};
    w.op[2] = (tr_nd){.ndim = TR_ND_ABSENT};
    assert(tr_walk_begin(&w, &l) == TR_WALK_OK);
    *plain = tr_walk_layout(&w, &l, 2, made);
    w.op[2].data = (char *)out;
    assert(walk(&w, &l, &r) == 0);
    tr_walk_end(&w);
    return r.t.calls;
}

static void test_axes(void) {
    static const int64_t shape[] = {3, 4, 5}, one[] = {3, 1, 5}, c[] = {160, 40, 8}, f_[] = {8, 24, 96},
                         t[] = {160, 8, 32}, back[] = {-160, -40, -8}, gap[] = {320, 80, 8};
    int64_t made[3];
    bool plain;
    assert(calls_of(shape, c, c, made, &plain) == 1 && plain);
    assert(calls_of(shape, f_, f_, made, &plain) == 1 && !plain && memcmp(made, f_, sizeof f_) == 0);
    assert(calls_of(shape, t, t, made, &plain) == 1 && !plain && memcmp(made, t, sizeof t) == 0);
    assert(calls_of(shape, back, back, made, &plain) == 1 && plain); /* buffered, backwards */
    assert(calls_of(shape, c, f_, made, &plain) == 12 && plain);     /* they disagree: C order */
    assert(calls_of(shape, gap, c, made, &plain) == 12 && plain);
    assert(calls_of(one, gap, gap, made, &plain) == 3 && plain);
}

static void test_flat(void) {
    static const int64_t shape[] = {2, 3, 4}, c[] = {96, 32, 8};
    uint64_t a[24], b = 5, out[24];
    tr_exec l = binary(8);
    tr_walk w;
    run r;
    for (uint64_t i = 0; i < 24; i++)
        a[i] = i;
    w.op[0] = (tr_nd){(char *)a, 3, true, shape, c};
    w.op[1] = (tr_nd){.data = (char *)&b};
    w.op[2] = (tr_nd){.ndim = TR_ND_ABSENT};
    assert(tr_walk_begin(&w, &l) == TR_WALK_OK && w.ndim == 3 && w.count == 24);
    assert(tr_walk_layout(&w, &l, 2, NULL));
    w.op[2].data = (char *)out;
    assert(walk(&w, &l, &r) == 0 && r.t.calls == 1);
    for (uint64_t i = 0; i < 24; i++)
        assert(out[i] == f(i, 5));
    /* In place; one item further is another thing, and so are outputs that meet. */
    w.op[2] = w.op[0];
    assert(tr_walk_begin(&w, &l) == TR_WALK_OK && walk(&w, &l, &r) == 0 && a[7] == f(7, 5));
    static const int64_t row[] = {10}, step[] = {8};
    w.op[0] = (tr_nd){(char *)a, 1, true, row, step};
    w.op[2] = (tr_nd){(char *)(a + 1), 1, true, row, step};
    assert(tr_walk_begin(&w, &l) == TR_WALK_OVERLAP);
    w.op[2].data = (char *)(a + 10);
    assert(tr_walk_begin(&w, &l) == TR_WALK_OK);
    w.op[1].data = (char *)(a + 12); /* a number that the output writes over */
    assert(tr_walk_begin(&w, &l) == TR_WALK_OVERLAP);
    tr_exec two = binary(8);
    two.nin = 1;
    w.op[1] = (tr_nd){(char *)(a + 10), 1, true, row, step};
    assert(tr_walk_begin(&w, &two) == TR_WALK_OVERLAP);
}

/* --- what is refused --- */

static tr_walk_status status(const tr_nd *a, const tr_nd *b, const tr_nd *out) {
    tr_exec l = binary(8);
    tr_walk w;
    w.op[0] = *a;
    w.op[1] = *b;
    w.op[2] = out ? *out : (tr_nd){.ndim = TR_ND_ABSENT};
    tr_walk_status s = tr_walk_begin(&w, &l);
    if (s == TR_WALK_OK)
        tr_walk_end(&w);
    return s;
}

static void test_refused(void) {
    static double d[64], e[64];
    static const int64_t three[] = {3}, four[] = {4}, square[] = {4, 4}, none[] = {0}, one[] = {1},
                         s8[] = {8}, s0[] = {0}, rows[] = {32, 8}, repeat[] = {0, 8};
    tr_nd a = {(char *)d, 1, false, three, s8}, b = {(char *)d, 1, false, four, s8},
          c = {(char *)d, 2, false, square, rows}, n = {(char *)d, 1, false, none, s8},
          o = {(char *)d, 1, false, one, s8};
    tr_nd out = {(char *)e, 1, false, four, s8};
    assert(status(&a, &b, NULL) == TR_WALK_SHAPES && status(&a, &c, NULL) == TR_WALK_SHAPES);
    assert(status(&n, &b, NULL) == TR_WALK_SHAPES && status(&n, &o, NULL) == TR_WALK_OK);
    assert(status(&b, &o, &out) == TR_WALK_OK && status(&b, &c, &out) == TR_WALK_SHAPES);
    assert(status(&o, &o, &out) == TR_WALK_OK && status(&a, &a, &out) == TR_WALK_SHAPES);
    tr_nd over = {(char *)e, 1, false, four, s0}, wide = {(char *)e, 2, false, square, repeat};
    assert(status(&b, &b, &over) == TR_WALK_OVERLAP && status(&c, &c, &wide) == TR_WALK_OVERLAP);
    tr_nd shifted = {(char *)(d + 1), 1, false, four, s8}, same = b,
          before = {(char *)(d + 4), 1, false, four, s8};
    assert(status(&b, &b, &shifted) == TR_WALK_OVERLAP && status(&b, &b, &same) == TR_WALK_OK);
    assert(status(&b, &b, &before) == TR_WALK_OK);
    static const int64_t transposed[] = {8, 32};
    tr_nd turned = {(char *)d, 2, false, square, transposed};
    assert(status(&turned, &c, &c) == TR_WALK_OVERLAP);
    tr_nd nothing = {(char *)(d + 1), 1, false, none, s8}, within = n;
    assert(status(&n, &n, &nothing) == TR_WALK_OK && status(&n, &n, &within) == TR_WALK_OK);
}

/* Descriptors that no memory could be. */
static void test_absurd(void) {
    static double d[4], e[4];
    enum { MOST = TR_WALK_NDIM + 1 };
    static int64_t twos[MOST], ones[MOST], zeros[MOST];
    static const int64_t huge[] = {INT64_C(1) << 40, 1}, wide[] = {INT64_C(1) << 40}, most[] = {INT64_MAX},
                         s00[] = {0, 0}, none[] = {0, INT64_MAX, INT64_MAX},
                         far[] = {INT64_MAX, INT64_MIN, 8}, four[] = {4}, steep[] = {INT64_MAX / 2},
                         down[] = {INT64_MIN}, s8[] = {8};
    for (int i = 0; i < MOST; i++) {
        twos[i] = 2;
        ones[i] = 1;
    }
    tr_nd a = {(char *)d, 2, false, huge, s00}, b = {(char *)d, 1, false, wide, s00},
          m = {(char *)d, 1, false, most, s00}, p = {(char *)d, 1, true, most, s8};
    assert(status(&a, &b, NULL) == TR_WALK_SIZE && status(&b, &b, NULL) == TR_WALK_OK);
    assert(status(&m, &m, NULL) == TR_WALK_SIZE && status(&p, &p, NULL) == TR_WALK_SIZE);
    tr_nd nothing = {(char *)d, 3, false, none, far};
    assert(status(&nothing, &nothing, NULL) == TR_WALK_OK);
    tr_nd deep = {(char *)d, TR_WALK_NDIM, false, twos, zeros},
          flat = {(char *)d, TR_WALK_NDIM, false, ones, zeros},
          deeper = {(char *)d, MOST, false, ones, zeros};
    assert(status(&deep, &deep, NULL) == TR_WALK_SIZE && status(&flat, &flat, NULL) == TR_WALK_OK);
    assert(status(&deeper, &deeper, NULL) == TR_WALK_SIZE);
    /* Strides that leave the address space: they may meet anything. */
    tr_nd x = {(char *)d, 1, false, four, steep}, y = {(char *)d, 1, false, four, down},
          out = {(char *)e, 1, false, four, s8};
    assert(status(&x, &x, &out) == TR_WALK_OVERLAP && status(&y, &y, &out) == TR_WALK_OVERLAP);
    tr_extent all = tr_extent_of(d, 8, 1, four, steep), one = tr_extent_of(d, 8, 0, NULL, NULL);
    assert(all.from == 0 && all.to == UINTPTR_MAX && one.to - one.from == 8 && tr_extents_meet(all, one));
    assert(!tr_extents_meet(tr_extent_of(d + 1, 8, 3, none, far), all));
}

/* Every axis there can be, of two items or one. */
static void test_many_axes(void) {
    enum { N = TR_WALK_NDIM };
    static uint64_t in[1 << 12], out[1 << 12];
    int64_t shape[N], a[N], c[N], s = 8;
    tr_exec l = binary(8);
    for (int turned = 0; turned < 2; turned++) {
        s = 8;
        for (int d = N; d-- > 0; s *= shape[d]) {
            shape[d] = d % 6 == 0 && d < 60 ? 2 : 1; /* ten axes of two */
            c[d] = s;
        }
        s = 8;
        for (int d = 0; d < N; s *= shape[d++])
            a[d] = turned ? s : c[d];
        for (uint64_t i = 0; i < 1 << 10; i++)
            in[i] = i * i;
        tr_nd op[] = {{(char *)in, N, false, shape, a},
                      {(char *)in, N, false, shape, c},
                      {(char *)out, N, false, shape, c}};
        tr_walk w;
        run r;
        memcpy(w.op, op, sizeof op);
        assert(tr_walk_begin(&w, &l) == TR_WALK_OK && w.count == 1 << 10 && w.heap);
        assert(walk(&w, &l, &r) == 0 && r.t.calls == (turned ? 1 << 9 : 1));
        tr_walk_end(&w);
        check(op, &l, N, shape);
    }
}

/* --- numbers alone --- */

static void test_no_axes(void) {
    uint64_t a = 7, pair[] = {0, 9}, *b = pair + 1, out = 0;
    tr_exec l = binary(8);
    tr_walk w;
    run r;
    for (int given = 0; given < 2; given++) {
        w.op[0] = (tr_nd){.data = (char *)&a};
        w.op[1] = (tr_nd){.data = (char *)b};
        w.op[2] = given ? (tr_nd){.data = (char *)&out} : (tr_nd){.ndim = TR_ND_ABSENT};
        assert(tr_walk_begin(&w, &l) == TR_WALK_OK && w.ndim == 0 && w.count == 1);
        assert(given || tr_walk_layout(&w, &l, 2, NULL));
        w.op[2].data = (char *)&out;
        assert(walk(&w, &l, &r) == 0 && r.t.calls == 1 && out == f(7, 9));
        tr_walk_end(&w);
        out = 0;
    }
    w.op[2] = (tr_nd){.data = (char *)&a}; /* in place */
    assert(tr_walk_begin(&w, &l) == TR_WALK_OK && walk(&w, &l, &r) == 0 && a == f(7, 9));
    w.op[0].data = (char *)b;
    w.op[2].data = (char *)b - 4;
    assert(tr_walk_begin(&w, &l) == TR_WALK_OVERLAP);
}

/* --- float16 --- */

static int32_t halves_entry(tr_frame *frame, const tr_slot *s, tr_slot *ret) {
    const float *a = s[1].p, *b = s[4].p;
    float *out = s[7].p;
    (void)frame;
    (void)ret;
    for (int64_t i = 0; i < s[2].i; i++)
        out[i] = a[i] * 2 + b[i];
    return 0;
}

static void test_halves(void) {
    enum { N = 2000 };
    static _Float16 a[2 * N], b = (_Float16)0.5f, out[N];
    static const int64_t n[] = {N}, s4[] = {4}, s2[] = {2};
    tr_exec l = binary(2);
    tr_walk w;
    run r;
    l.entry = halves_entry;
    for (uint32_t k = 0; k < 3; k++)
        l.item[k].half = true;
    for (int i = 0; i < 2 * N; i++)
        a[i] = (_Float16)(i % 1000);
    w.op[0] = (tr_nd){(char *)a, 1, false, n, s4};
    w.op[1] = (tr_nd){.data = (char *)&b};
    w.op[2] = (tr_nd){(char *)out, 1, false, n, s2};
    assert(tr_walk_begin(&w, &l) == TR_WALK_OK && walk(&w, &l, &r) == 0);
    tr_walk_end(&w);
    for (int i = 0; i < N; i++)
        assert((float)out[i] == (float)(_Float16)((float)a[2 * i] * 2 + 0.5f));
}

/* --- the inner loop as hosts call it --- */

/* NumPy hands over operands that meet where an input is ahead: each item is read before it is written. */
static void test_ahead(void) {
    enum { N = 2000 };
    static uint64_t a[N + 1], was[N + 1];
    tr_exec l = binary(8);
    run r;
    for (uint64_t i = 0; i <= N; i++)
        was[i] = a[i] = i * 7;
    begin(&r, &l);
    assert(inner(&l, &r, (char *)(a + 1), (char *)was, (char *)a, N, 8, 8, 8) == 0 && r.t.calls > 1);
    for (uint64_t i = 0; i < N; i++)
        assert(a[i] == f(was[i + 1], was[i]));
    assert(inner(&l, &r, NULL, NULL, NULL, 0, 8, 8, 8) == 0);
}

static void test_chain(void) {
    enum { N = 1500 };
    static char room[16 * (N + 3)];
    static uint64_t b[N];
    for (uint64_t i = 0; i < N; i++)
        b[i] = i + 1;
    for (int odd = 0; odd < 2; odd++) { /* odd: through buffers */
        for (int reduce = 0; reduce < 2; reduce++) {
            tr_exec l = binary(8);
            char *out = room + 16 + odd;
            int64_t step = reduce ? 0 : 16;
            uint64_t want = 3;
            run r;
            l.chains = true;
            begin(&r, &l);
            memcpy(out - step, &want, 8);
            assert(inner(&l, &r, out - step, (char *)b, out, N, step, 8, step) == 0);
            assert(odd || r.t.calls == 1);
            for (uint64_t i = 0; i < N; i++) {
                want = f(want, b[i]);
                assert(reduce ? i + 1 < N || number(out, 8) == want : number(out + 16 * i, 8) == want);
            }
            r.t.raise_at = 4;
            memset(out + 16 * 5, 0, 8);
            assert(inner(&l, &r, out - step, (char *)b, out, N, step, 8, step) == RAISED);
            assert(r.frame.inner == &of_chain);
            l = binary(8);
            l.chains = true;
            l.host = &no_host;
            assert(inner(&l, &r, out - step, (char *)b, out, N, step, 8, step) == TR_CODE_HOST);
        }
    }
}

/* What comes after an item that raises stays as it is, in an output that goes through a buffer too. */
static void test_raise(void) {
    enum { N = 700, AT = 600 };
    static uint64_t a[N], out[2 * N];
    for (int64_t step = 8; step <= 16; step += 8) {
        tr_exec l = binary(8);
        run r;
        l.meta = &raises;
        memset(out, 0xff, sizeof out);
        int64_t at = step == 8 ? AT : 300; /* of a stretch, where there are some */
        begin(&r, &l)->t.raise_at = at;
        assert(inner(&l, &r, (char *)a, (char *)a, (char *)out, N, 8, 8, step) == RAISED && !r.frame.inner);
        for (int64_t i = 0; i < N; i++)
            assert(out[i * step / 8] == (i < at ? f(0, 0) : UINT64_MAX));
    }
}

static void test_variants(void) {
    enum { N = 100 };
    static uint64_t a[N], b = 5, out[N];
    tr_exec l = binary(8);
    run r;
    begin(&r, &l);
    assert(inner(&l, &r, (char *)a, (char *)&b, (char *)out, N, 8, 0, 8) == 0 && !l.variants &&
           l.repeated == N);
    l.repeated = UINT64_C(1) << 40; /* as if there had been many */
    assert(inner(&l, &r, (char *)a, (char *)&b, (char *)out, N, 8, 0, 8) == 0 && l.variants == &variant);
    for (int i = 0; i < N; i++)
        assert(out[i] == f(0, 5));
    r.t.raise_at = 50;
    assert(inner(&l, &r, (char *)a, (char *)&b, (char *)out, N, 8, 0, 8) == RAISED &&
           r.frame.inner == &of_variant);
    l = binary(8);
    l.host = &no_host;
    l.repeated = UINT64_C(1) << 40;
    assert(inner(&l, &r, (char *)a, (char *)&b, (char *)out, N, 8, 0, 8) == TR_CODE_HOST);
}

/* A host's own function takes operands as they lie. */
static int32_t foreign(void *self, tr_frame *frame, char *const *args, const int64_t *dims,
                       const int64_t *steps) {
    (void)frame;
    ++*(int *)self;
    for (int64_t i = 0; i < dims[0]; i++)
        put(args[2] + i * steps[2], 4,
            f(number(args[0] + i * steps[0], 4), number(args[1] + i * steps[1], 4)));
    return *(int *)self == 3 ? TR_CODE_HOST : 0;
}

static void test_foreign(void) {
    static const int64_t shape[] = {3, 5}, in[] = {7, 21}, column[] = {5, 0}, out[] = {20, 4};
    static char a[256];
    static uint32_t made[15];
    int calls = 0;
    tr_exec l = binary(4);
    tr_walk w;
    run r;
    l.entry = NULL;
    l.inner = foreign;
    l.self = &calls;
    for (int i = 0; i < 256; i++)
        a[i] = (char)i;
    tr_nd op[] = {
        {a, 2, false, shape, in}, {a + 3, 2, false, shape, column}, {(char *)made, 2, false, shape, out}};
    memcpy(w.op, op, sizeof op);
    assert(tr_walk_begin(&w, &l) == TR_WALK_OK && walk(&w, &l, &r) == TR_CODE_HOST && calls == 3);
    tr_walk_end(&w);
    check(op, &l, 2, shape);
    assert(tr_walk_begin(&w, &l) == TR_WALK_OK && walk(&w, &l, &r) == 0 && calls == 6);
    tr_walk_end(&w);
}

/* --- whole arrays in place of items --- */

/* (n),(n)->(): the first item of b counts too, and is written to. */
static int32_t core_entry(tr_frame *frame, const tr_slot *s, tr_slot *ret) {
    const tr_slot *b = s + 6, *o = s + 12;
    (void)frame;
    (void)ret;
    assert(s[3].i == b[3].i && s[2].i == b[2].i && s[2].i == o[2].i);
    for (int64_t i = 0; i < s[2].i; i++) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < s[3].i; k++)
            sum +=
                ((uint64_t *)s[1].p)[i * s[4].i + k * s[5].i] * ((uint64_t *)b[1].p)[i * b[4].i + k * b[5].i];
        ((uint64_t *)b[1].p)[i * b[4].i] += 1;
        ((uint64_t *)o[1].p)[i * o[3].i] = sum;
    }
    return 0;
}

static void test_cores(void) {
    static const uint8_t axes[] = {1, 1, 0}, which[3 * TR_MAX_NDIM] = {0};
    static const tr_cores cores = {"(n),(n)->()", axes, which, 1, NULL, 2};
    enum { N = 6, K = 4 };
    static char a[8 * 2 * N * K + 1], b[8 * N * K + 1], out[8 * N + 1];
    for (int odd = 0; odd < 2; odd++) {
        tr_exec l = binary(8);
        run r;
        l.core = &cores;
        l.entry = core_entry;
        for (uint64_t i = 0; i < 2 * N * K; i++)
            put(a + odd + 8 * i, 8, i);
        for (uint64_t i = 0; i < N * K; i++)
            put(b + odd + 8 * i, 8, i * 3);
        char *args[] = {a + odd, b + odd, out + odd};
        int64_t dims[] = {N, K}, steps[] = {16 * K, 8 * K, 8, 16, 8};
        assert(tr_exec_run(&l, &begin(&r, &l)->frame, args, dims, steps) == 0);
        for (uint64_t i = 0; i < N; i++) {
            uint64_t sum = 0;
            for (uint64_t k = 0; k < K; k++)
                sum += (i * 2 * K + 2 * k) * ((i * K + k) * 3);
            assert(number(out + odd + 8 * i, 8) == sum && number(b + odd + 8 * i * K, 8) == i * K * 3 + 1);
        }
        int64_t much[] = {1, INT64_MAX / 2};
        args[0] = a + 1;
        assert(tr_exec_run(&l, &r.frame, args, much, steps) == TR_CODE_MEMORY);
    }
}

/* --- all cores --- */

static void test_ranges(void) {
    enum { ROWS = 300, COLUMNS = 30 };
    static uint64_t a[ROWS * COLUMNS], b[COLUMNS], out[ROWS * COLUMNS];
    static const int64_t shape[] = {ROWS, COLUMNS}, c[] = {8 * COLUMNS, 8}, row[] = {COLUMNS}, s8[] = {8};
    char msg[100];
    bool ok = tr_rt_pool_configure("TREADLE_NUM_THREADS", "4", msg, sizeof msg);
    assert(ok);
    for (uint64_t i = 0; i < ROWS * COLUMNS; i++)
        a[i] = i;
    for (int64_t grain = 0; grain < 20; grain += 7) { /* 0: by the clock */
        for (int flat = 0; flat < 2; flat++) {
            tr_exec l = binary(8);
            run r;
            l.spreads = true;
            tr_rt_fix_grain(grain, false);
            for (int again = 0; again < 50; again++) {
                tr_nd op[] = {{(char *)a, 2, true, shape, c},
                              {(char *)b, 1, true, row, s8},
                              {(char *)out, 2, true, shape, c}};
                tr_walk w;
                op[1] = flat ? op[0] : op[1];
                memcpy(w.op, op, sizeof op);
                memset(out, 0, sizeof out);
                assert(tr_walk_begin(&w, &l) == TR_WALK_OK && walk(&w, &l, &r) == 0);
                tr_walk_end(&w);
                check(op, &l, 2, shape);
                assert(grain ? l.item_ns == 0 : l.item_ns > 0);
                assert(!grain || !flat || r.t.calls == (uint64_t)((ROWS * COLUMNS + grain - 1) / grain));
            }
        }
    }
    tr_rt_fix_grain(0, false);
    tr_rt_pool_stop();
}

static void test_items(void) {
    static const unsigned sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};
    tr_tytab *t = tr_tytab_new(NULL);
    for (int k = 0; k < TR_TY__SCALARS; k++) {
        tr_item it = tr_item_of(tr_ty_scalar(t, (tr_tyk)k), false);
        assert(it.size == sizes[k] && it.odd + 1 == (k >= TR_TY_C64 ? it.size / 2 : it.size) && !it.half);
    }
    tr_item half = tr_item_of(tr_ty_scalar(t, TR_TY_F32), true);
    assert(half.size == 2 && half.odd == 1 && half.half);
    tr_tytab_free(t);
}

int main(void) {
    test_items();
    test_random();
    test_axes();
    test_flat();
    test_refused();
    test_absurd();
    test_many_axes();
    test_no_axes();
    test_halves();
    test_ahead();
    test_chain();
    test_raise();
    test_variants();
    test_foreign();
    test_cores();
    test_ranges();
    puts("ok");
    return 0;
}
