/* Sorting with values beside keys (rt/radix.c) against the definition, by insertion: types, bits, both ways,
 * all, the first k, and segments; on one thread and by ranges. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rt/pool.h"
#include "rt/radix.h"
#include "rt/rt.h"
#include "rt/words.h"

enum { MOST = 300, MANY = 70000 };

static uint64_t seed = 88172645463325252u;
static uint64_t draw(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static const int64_t types[] = {TR_SORT_I32, TR_SORT_U32, TR_SORT_I64, TR_SORT_U64, TR_SORT_F32, TR_SORT_F64};

static double odd(void) {
    static const double all[] = {NAN, -NAN, INFINITY, -INFINITY, -0.0, 0.0, 1.0};
    return all[draw() % 7];
}

/* Items of all bits or of few values; floats with what has a place of its own in their order. */
static void fill(int64_t type, void *items, int64_t n, bool few, bool odds) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = few ? draw() % 5 : draw();
        float f = odds && draw() % 3 == 0 ? (float)odd() : (float)(int64_t)x;
        double d = odds && draw() % 3 == 0 ? odd() : (double)(int64_t)x;
        if (type == TR_SORT_F32)
            ((float *)items)[i] = f;
        else if (type == TR_SORT_F64)
            ((double *)items)[i] = d;
        else if (tr_sort_size(type) == 4)
            ((uint32_t *)items)[i] = (uint32_t)x;
        else
            ((uint64_t *)items)[i] = x;
    }
}

/* Places in the order that is asked for, of items from `first` on. */
static void order(const tr_radix *r, const void *items, int64_t first, int64_t n, int64_t *places) {
    static uint64_t keys[MOST];
    tr_keys by = tr_keys_all(r->type, items);
    by.flip = !r->down ? 0 : tr_sort_size(r->type) == 8 ? UINT64_MAX : UINT32_MAX;
    by.begin = r->begin;
    by.mask = r->end == r->begin ? 0 : UINT64_MAX >> (64 - (r->end - r->begin));
    assert(n <= MOST);
    tr_keys_of(&by, NULL, first, n, keys);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i;
        for (; j > 0 && keys[places[j - 1] - first] > keys[i]; j--)
            places[j] = places[j - 1];
        places[j] = first + i;
    }
}

static void expect(const tr_radix *r, const char *items, const char *vals, const int64_t *places, int64_t n) {
    int64_t size = tr_sort_size(r->type);
    for (int64_t i = 0; i < n; i++) {
        assert(memcmp((char *)r->keys + i * size, items + places[i] * size, (size_t)size) == 0);
        if (r->number && r->size == 4)
            assert(((uint32_t *)r->vals)[i] == (uint32_t)places[i]);
        else if (r->number)
            assert(((uint64_t *)r->vals)[i] == (uint64_t)places[i]);
        else if (r->vals)
            assert(memcmp((char *)r->vals + i * r->size, vals + places[i] * r->size, (size_t)r->size) == 0);
    }
}

/* mode 0: keys alone; 1, 2: values of 4 and 8 bytes; 3, 4: numbers of as many. */
static void try_one(tr_frame *f, int64_t type, int64_t n, int mode, bool few, bool down, bool cut) {
    static uint64_t items[MOST], keys[MOST], vals[MOST], its[MOST];
    int64_t places[MOST], k = n ? (int64_t)(draw() % (uint64_t)n) : 0, size = tr_sort_size(type);
    unsigned bits = 8 * (unsigned)size, begin = cut ? (unsigned)(draw() % bits) : 0;
    unsigned end = cut ? begin + (unsigned)(draw() % (bits - begin + 1)) : bits;
    tr_radix r = {.type = type,
                  .n = n,
                  .keys = keys,
                  .vals = mode ? its : NULL,
                  .down = down,
                  .size = mode == 2 || mode == 4 ? 8 : 4,
                  .number = mode > 2,
                  .begin = begin,
                  .end = end};
    fill(type, items, n, few, draw() & 1);
    fill(TR_SORT_U64, vals, n, false, false);
    order(&r, items, 0, n, places);
    memcpy(keys, items, sizeof keys);
    memcpy(its, vals, sizeof its);
    assert(tr_rt_radix_sort(f, &r) == 0);
    expect(&r, (char *)items, (char *)vals, places, n);
    memcpy(keys, items, sizeof keys);
    memcpy(its, vals, sizeof its);
    assert(tr_rt_radix_select(f, &r, k) == 0);
    expect(&r, (char *)items, (char *)vals, places, k);
    assert(memcmp((char *)keys + k * size, (char *)items + k * size, (size_t)((n - k) * size)) == 0);
    if (r.number)
        return;
    int64_t ends[] = {k / 2, k / 2, k, n};
    for (int s = 0; s < 4; s++) {
        int64_t first = s ? ends[s - 1] : 0;
        order(&r, items, first, ends[s] - first, places + first);
    }
    memcpy(keys, items, sizeof keys);
    memcpy(its, vals, sizeof its);
    assert(tr_rt_radix_segments(f, &r, ends, 4) == 0);
    expect(&r, (char *)items, (char *)vals, places, n);
}

static void test_types(tr_frame *f) {
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int mode = 0; mode < 5; mode++)
            for (int how = 0; how < 8; how++)
                for (int64_t n = 0; n <= MOST; n += n < 4 ? 1 : n < 20 ? 12 : n < 270 ? 254 : 30)
                    try_one(f, types[t], n, mode, how & 1, how & 2, how & 4);
}

/* More than the caches hold: a first digit, whose bits may be fewer than a digit's, and others above. */
static void test_many(tr_frame *f) {
    static uint32_t keys[MANY], vals[MANY];
    static uint64_t wide[MANY];
    for (unsigned end = 0; end <= 32; end += 4)
        for (unsigned begin = 0; begin <= end; begin += 3) {
            uint32_t mask = end == begin ? 0 : (uint32_t)(UINT64_MAX >> (64 - (end - begin)));
            tr_radix r = {.type = TR_SORT_U32,
                          .n = MANY,
                          .keys = keys,
                          .vals = vals,
                          .size = 4,
                          .number = true,
                          .begin = begin,
                          .end = end};
            for (int64_t i = 0; i < MANY; i++)
                wide[i] = keys[i] = (uint32_t)draw();
            assert(tr_rt_radix_sort(f, &r) == 0);
            for (int64_t i = 0; i < MANY; i++) {
                assert(vals[i] < MANY && wide[vals[i]] == keys[i] && "each where it was");
                uint32_t before = i ? (uint32_t)((uint64_t)keys[i - 1] >> begin) & mask : 0;
                uint32_t now = (uint32_t)((uint64_t)keys[i] >> begin) & mask;
                assert(before <= now && (i == 0 || before < now || vals[i - 1] < vals[i]));
            }
        }
    tr_radix r = {.type = TR_SORT_U64, .n = MANY, .keys = wide, .down = true, .end = 64};
    for (int64_t i = 0; i < MANY; i++)
        wide[i] = draw() >> 20 << 9;
    assert(tr_rt_radix_sort(f, &r) == 0);
    for (int64_t i = 1; i < MANY; i++)
        assert(wide[i - 1] >= wide[i]);
}

int main(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    for (int ranges = 0; ranges < 2; ranges++) {
        tr_rt_fix_grain(ranges, ranges);
        test_types(&f);
        test_many(&f);
    }
    tr_rt_fix_grain(0, false);
    tr_rt_frame_fini(&f);
    tr_rt_pool_stop();
    puts("radix ok");
    return 0;
}
