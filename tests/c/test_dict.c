/* Tables of keys: each class of them, as sets and as dicts, against an array that says for each key when it
 * came and what its value is; with hashes of which few are different, and with memory that runs out. */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t kept = UINT64_MAX;
static int64_t fails_in = -1; /* so many allocations succeed; -1: all */

static bool fails(void) {
    if (fails_in < 0)
        return false;
    return fails_in == 0 || !fails_in--;
}

static void *try_calloc(size_t n, size_t size) {
    return fails() ? NULL : calloc(n, size);
}

static void *try_realloc(void *p, size_t size) {
    return fails() ? NULL : realloc(p, size);
}

#define TR_HASH_KEPT kept
#define calloc       try_calloc
#define realloc      try_realloc
#include "rt/dict.c"
#undef calloc
#undef realloc
#include "rt/rt.h"

static uint64_t seed = 1;
enum { NUMBERS = 1 << 14 };

static int64_t below(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(seed >> 33) % n;
}

/* --- one class of keys: a key is made of a number, which says what is equal --- */

typedef struct class {
    const char *name;
    int64_t keys; /* numbers are less; INT64_MAX: all */
    tr_shape shape;
    int64_t (*find)(const void *t, int64_t number);
    int64_t (*enter)(void *t, int64_t number, void *values);
    void (*leave)(tr_frame *f, void *t, int64_t e, void *values);
    int64_t (*number)(const void *keys, int64_t e);
} class;

static int64_t find_bool(const void *t, int64_t k) {
    return tr_rt_dict_find_bool(t, (uint8_t)k);
}
static int64_t enter_bool(void *t, int64_t k, void *v) {
    return tr_rt_dict_enter_bool(t, (uint8_t)k, v);
}
static int64_t number_bool(const void *keys, int64_t e) {
    return ((const uint8_t *)keys)[e];
}

static int64_t find_i64(const void *t, int64_t k) {
    return tr_rt_dict_find_i64(t, (uint64_t)-k);
}
static int64_t enter_i64(void *t, int64_t k, void *v) {
    return tr_rt_dict_enter_i64(t, (uint64_t)-k, v);
}
static int64_t number_i64(const void *keys, int64_t e) {
    return -((const int64_t *)keys)[e];
}

/* 0 has two faces. */
static double float_of(int64_t k) {
    return k ? (double)k / 4 : below(2) ? -0.0 : 0.0;
}
static int64_t find_f64(const void *t, int64_t k) {
    return tr_rt_dict_find_f64(t, float_of(k));
}
static int64_t enter_f64(void *t, int64_t k, void *v) {
    return tr_rt_dict_enter_f64(t, float_of(k), v);
}
static int64_t number_f64(const void *keys, int64_t e) {
    return (int64_t)(((const double *)keys)[e] * 4);
}

static int64_t find_c128(const void *t, int64_t k) {
    return tr_rt_dict_find_c128(t, float_of(k & 15), float_of(k >> 4));
}
static int64_t enter_c128(void *t, int64_t k, void *v) {
    return tr_rt_dict_enter_c128(t, float_of(k & 15), float_of(k >> 4), v);
}
static int64_t number_c128(const void *keys, int64_t e) {
    return number_f64(keys, 2 * e) | number_f64(keys, 2 * e + 1) << 4;
}

static int64_t find_2i64(const void *t, int64_t k) {
    return tr_rt_dict_find_2i64(t, (uint64_t)k & 7, (uint64_t)k >> 3);
}
static int64_t enter_2i64(void *t, int64_t k, void *v) {
    return tr_rt_dict_enter_2i64(t, (uint64_t)k & 7, (uint64_t)k >> 3, v);
}
static int64_t number_2i64(const void *keys, int64_t e) {
    const int64_t *k = (const int64_t *)keys + 2 * e;
    return k[0] | k[1] << 3;
}

/* A number as three characters, in any width each time it is asked for; references to what has them are
 * counted. */
static tr_mem *owner;
static tr_str text_of(int64_t k) {
    static uint32_t room[3][NUMBERS + 64][3];
    int64_t w = below(3);
    tr_str s = {NULL, room[w][k], 3 << TR_STR_LENGTH | w};
    for (int64_t i = 0; i < 3; i++)
        tr_str_set(&s, i, (uint32_t)(k >> (6 * i) & 63) + 128 + (i == 2 && k & 1 ? 64 : 0));
    return s;
}
static int64_t find_str(const void *t, int64_t k) {
    tr_str s = text_of(k);
    return tr_rt_dict_find_str(t, NULL, s.data, s.bits);
}
static int64_t enter_str(void *t, int64_t k, void *v) {
    tr_str s = text_of(k);
    return tr_rt_dict_enter_str(t, owner, s.data, s.bits, v);
}
static int64_t number_str(const void *keys, int64_t e) {
    const tr_str *s = (const tr_str *)keys + e;
    int64_t k = 0;
    for (int64_t i = 0; i < 3; i++)
        k |= (int64_t)((tr_str_at(s, i) - 128) & 63) << (6 * i);
    return k;
}

/* None or a number, and a string: what stands for the number where there is None is nothing that counts. */
typedef struct mixed {
    uint8_t given;
    int64_t number;
    tr_str text;
} mixed;
static mixed mixed_of(int64_t k) {
    mixed m;
    memset(&m, 0, sizeof m);
    m.given = k % 3 != 0;
    m.number = m.given ? k / 2 : below(100);
    m.text = text_of(k);
    m.text.owner = owner;
    return m;
}
static int64_t find_any(const void *t, int64_t k) {
    mixed m = mixed_of(k);
    return tr_rt_dict_find_any(t, &m);
}
static int64_t enter_any(void *t, int64_t k, void *v) {
    mixed m = mixed_of(k);
    return tr_rt_dict_enter_any(t, &m, v);
}
static int64_t number_any(const void *keys, int64_t e) {
    return number_str(&((const mixed *)keys)[e].text, 0);
}

static const uint32_t mixed_at = offsetof(mixed, text);
static const tr_keypart mixed_parts[] = {
    {TR_KEYPART_GIVEN, offsetof(mixed, given)},
    {TR_KEYPART_VALUE, 1},
    {TR_KEYPART_WORD, offsetof(mixed, number)},
    {TR_KEYPART_STRING, offsetof(mixed, text)},
};
static const tr_shape words = {.size = 8};
static const uint32_t owner_at = 0;
static const class classes[] = {
    {"bool", 2, {.size = 1}, find_bool, enter_bool, tr_rt_dict_leave_bool, number_bool},
    {"i64", INT64_MAX, {.size = 8}, find_i64, enter_i64, tr_rt_dict_leave_i64, number_i64},
    {"f64", INT64_MAX, {.size = 8}, find_f64, enter_f64, tr_rt_dict_leave_f64, number_f64},
    {"c128", INT64_MAX, {.size = 16}, find_c128, enter_c128, tr_rt_dict_leave_c128, number_c128},
    {"2i64", INT64_MAX, {.size = 16}, find_2i64, enter_2i64, tr_rt_dict_leave_2i64, number_2i64},
    {"str",
     NUMBERS,
     {.size = sizeof(tr_str), .n = 1, .at = &owner_at},
     find_str,
     enter_str,
     tr_rt_dict_leave_str,
     number_str},
    {"any",
     NUMBERS,
     {.size = sizeof(mixed), .n = 1, .at = &mixed_at, .nparts = 4, .parts = mixed_parts},
     find_any,
     enter_any,
     tr_rt_dict_leave_any,
     number_any},
};

/* --- the model: what there is for each number, and when it came --- */

typedef struct model {
    int64_t value[NUMBERS], came[NUMBERS]; /* came 0: it is not there */
    int64_t n, clock;
} model;

static void check_whole(const class *c, const tr_mem *m, const tr_mem *values, const model *of) {
    const tr_table *t = tr_table_of(m);
    const tr_list *v = values ? tr_mem_data((tr_mem *)(uintptr_t)values) : NULL;
    int64_t n = 0, before = 0;
    assert(t->live == of->n && t->keys.len >= t->live && t->keys.len <= t->keys.cap);
    assert(!v || v->len == t->keys.len);
    for (int64_t e = tr_rt_table_next(t, 0); e >= 0; e = tr_rt_table_next(t, e + 1), n++) {
        int64_t k = c->number(t->keys.items, e);
        assert(k >= 0 && k < NUMBERS && of->came[k] > before && "in the order in which they came");
        assert(!v || ((const int64_t *)v->items)[e] == of->value[k]);
        before = of->came[k];
    }
    assert(n == of->n && (!n || is_live(t, t->keys.len - 1)));
    assert((!c->shape.n || owner->refs == n + 1) && "a reference for each key that is there");
}

static void step(tr_frame *f, const class *c, tr_mem *m, tr_mem *values, model *of, int64_t numbers) {
    int64_t k = below(numbers), e = c->find(m, k), what = below(8);
    tr_list *v = values ? tr_mem_data(values) : NULL;
    assert((e >= 0) == (of->came[k] != 0));
    assert(e < 0 || c->number(tr_table_of(m)->keys.items, e) == k);
    assert(e < 0 || !v || ((int64_t *)v->items)[e] == of->value[k]);
    if (e < 0 && what < 5) {
        tr_table was = *tr_table_of(m);
        e = c->enter(m, k, values);
        if (e < 0) { /* no memory: as it was */
            assert(fails_in == 0 && was.live == tr_table_of(m)->live && was.index == tr_table_of(m)->index);
            assert(was.taken == tr_table_of(m)->taken && was.keys.len == tr_table_of(m)->keys.len);
            fails_in = below(4);
            return;
        }
        of->came[k] = ++of->clock;
        of->value[k] = 0;
        of->n++;
        assert(!v || ((int64_t *)v->items)[e] == 0);
    } else if (e >= 0 && what < 3) {
        c->leave(f, m, e, values);
        of->came[k] = 0;
        of->n--;
        return;
    }
    if (e >= 0 && v)
        ((int64_t *)v->items)[e] = of->value[k] = below(1000);
}

static void clear(tr_frame *f, tr_mem *m, tr_mem *values, model *of) {
    tr_rt_dict_clear(f, m, values);
    memset(of->came, 0, sizeof of->came);
    of->n = 0;
}

static void one_class(const class *c, bool dict, int64_t numbers, int64_t steps) {
    static model of;
    memset(&of, 0, sizeof of);
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    owner = tr_rt_alloc(&f, 8);
    tr_mem *m = tr_rt_dict_new(&f, &c->shape), *values = dict ? tr_rt_list_new(&f, 0, &words) : NULL;
    numbers = numbers < c->keys ? numbers : c->keys;
    for (int64_t i = 0; i < steps; i++) {
        step(&f, c, m, values, &of, numbers);
        if (i % (steps / 8) == 0)
            check_whole(c, m, values, &of);
    }
    check_whole(c, m, values, &of);
    for (int64_t e = 0; (e = tr_table_of(m)->keys.len - 1) >= 0;) { /* from its end, as popitem() */
        of.came[c->number(tr_table_of(m)->keys.items, e)] = 0;
        of.n--;
        c->leave(&f, m, e, values);
    }
    check_whole(c, m, values, &of);
    clear(&f, m, values, &of);
    for (int64_t i = 0; i < 100; i++)
        step(&f, c, m, values, &of, numbers);
    check_whole(c, m, values, &of);
    tr_rt_free(&f, m);
    if (values)
        tr_rt_free(&f, values);
    assert(owner->refs == 1 && "the keys went with their table");
    tr_rt_free(&f, owner);
    assert(f.nalloc == f.nfree);
    tr_rt_frame_fini(&f);
}

/* The oldest goes when one comes: the table stays as large as it is. */
static void test_queue(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_mem *m = tr_rt_dict_new(&f, &words);
    const tr_table *t = tr_table_of(m);
    for (int64_t i = 0; i < 100000; i++) {
        assert(tr_rt_dict_enter_i64(m, (uint64_t)i, NULL) >= 0);
        if (i < 50)
            continue;
        int64_t e = tr_rt_dict_next(m, 0);
        assert(((const int64_t *)t->keys.items)[e] == i - 50);
        tr_rt_dict_leave_i64(&f, m, e, NULL);
    }
    assert(t->live == 50 && t->lg <= 8);
    tr_rt_frame_fini(&f);
}

/* NaN is never found, and each is another key; they are far apart. */
static void test_nan(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_mem *m = tr_rt_dict_new(&f, &words);
    for (int64_t i = 0; i < 100000; i++) {
        assert(tr_rt_dict_find_f64(m, NAN) < 0);
        assert(tr_rt_dict_enter_f64(m, NAN, NULL) == i);
    }
    for (int64_t i = 99999; i >= 0; i--)
        tr_rt_dict_leave_f64(&f, m, i, NULL);
    assert(tr_table_of(m)->taken == 0 && tr_rt_dict_find_c128(m, 0, NAN) < 0);
    tr_rt_frame_fini(&f);
}

/* Slots of 64 bits: the same table, made as large. */
static void test_wide(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_mem *m = tr_rt_dict_new(&f, &words);
    tr_table *t = tr_table_of(m);
    for (uint64_t i = 0; i < 1000; i++)
        assert(tr_rt_dict_enter_i64(m, i * i, NULL) >= 0);
    size_t slots = (size_t)8 << WIDE;
    char *index = calloc(1, slots + 1024);
    if (!index)
        return;
    free(t->index);
    t->index = index;
    t->gone = (uint64_t *)(void *)(index + slots);
    t->lg = WIDE;
    t->taken = 0;
    tr_rt_dict_place_all_i64(t, t->live);
    for (int64_t i = 0; i < 1000; i += 3)
        tr_rt_dict_leave_i64(&f, m, i, NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        assert(tr_rt_dict_find_i64(m, i * i) == (i % 3 ? (int64_t)i : -1));
        assert(tr_rt_dict_find_i64(m, i * i + 2) == -1);
    }
    tr_rt_frame_fini(&f);
}

int main(void) {
    for (size_t k = 0; k < sizeof classes / sizeof *classes; k++)
        for (int dict = 0; dict < 2; dict++) {
            one_class(&classes[k], dict, NUMBERS, 500000);
            one_class(&classes[k], dict, 40, 100000);
            kept = UINT64_C(7) << 61;
            one_class(&classes[k], dict, 300, 20000);
            kept = UINT64_MAX;
            fails_in = 1;
            one_class(&classes[k], dict, 2000, 20000);
            fails_in = -1;
        }
    test_queue();
    test_nan();
    test_wide();
    puts("ok");
    return 0;
}
