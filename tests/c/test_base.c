/* Containers, text, context, dump switches. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/ctx.h"
#include "base/map.h"
#include "base/meet.h"
#include "base/vec.h"

static void test_arena(void) {
    tr_arena a;
    tr_arena_init(&a, NULL);
    char *last = NULL;
    for (size_t size = 1; size < 3000; size++) {
        char *p = tr_arena_alloc(&a, size);
        assert(((uintptr_t)p & 15) == 0 && p != last);
        for (size_t i = 0; i < size; i++)
            assert(p[i] == 0);
        memset(p, 0xff, size);
        last = p;
    }
    char *big = tr_arena_alloc(&a, 50u << 20);
    big[(50u << 20) - 1] = 1;
    assert(!strcmp(tr_arena_printf(&a, "%d %s", 7, "x"), "7 x"));
    assert(!strcmp(tr_arena_strndup(&a, "abcdef", 3), "abc"));
    assert(a.total > 50u << 20);
    tr_arena_fini(&a);
}

/* AddressSanitizer would end the process where malloc returns NULL. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static void test_arena_without_memory(void) {
    tr_arena a;
    jmp_buf jump;
    volatile int jumped = 0;
    tr_arena_init(&a, &jump);
    if (setjmp(jump))
        jumped = 1;
    else
        tr_arena_alloc(&a, SIZE_MAX - 100);
    assert(jumped);
    if (setjmp(jump))
        jumped = 2;
    else
        tr_arena_alloc(&a, SIZE_MAX / 4); /* more than any system has */
    assert(jumped == 2);
    tr_arena_fini(&a);
}

static void test_vec_and_bits(void) {
    tr_arena a;
    tr_u32s v = {0};
    tr_arena_init(&a, NULL);
    for (uint32_t i = 0; i < 1000; i++)
        tr_vec_push(&a, &v, i * 3);
    assert(v.n == 1000 && v.d[999] == 2997 && v.d[0] == 0);
    tr_bits x = tr_bits_new(&a, 130), y = tr_bits_new(&a, 130);
    tr_bits_set(&x, 129);
    tr_bits_set(&x, 0);
    assert(tr_bits_get(&x, 129) && !tr_bits_get(&x, 128));
    assert(tr_bits_union(&y, &x) && !tr_bits_union(&y, &x));
    tr_bits_clear(&y, 0);
    assert(!tr_bits_get(&y, 0) && tr_bits_get(&y, 129));
    tr_arena_fini(&a);
}

static void test_maps(void) {
    tr_arena a;
    tr_map m = {0};
    tr_smap s = {0};
    uint64_t got;
    char key[16];
    tr_arena_init(&a, NULL);
    assert(!tr_map_get(&m, 0, &got));
    for (uint64_t i = 0; i < 5000; i++)
        tr_map_set(&a, &m, i << 32, i);
    tr_map_set(&a, &m, 7ull << 32, 70);
    assert(m.n == 5000);
    for (uint64_t i = 0; i < 5000; i++)
        assert(tr_map_get(&m, i << 32, &got) && got == (i == 7 ? 70 : i));
    assert(!tr_map_get(&m, 1, &got));
    assert(!tr_smap_get(&s, "", 0));
    for (intptr_t i = 1; i < 3000; i++) {
        int n = snprintf(key, sizeof key, "k%d", (int)i);
        tr_smap_set(&a, &s, key, (size_t)n, (void *)i);
    }
    assert(tr_smap_get(&s, "k2999", 5) == (void *)2999 && !tr_smap_get(&s, "k3000", 5));
    tr_smap_set(&a, &s, "a\0b", 3, (void *)5);
    assert(tr_smap_get(&s, "a\0b", 3) == (void *)5 && !tr_smap_get(&s, "a\0c", 3) &&
           !tr_smap_get(&s, "a", 1));
    tr_arena_fini(&a);
}

static void test_text(void) {
    tr_sb b;
    tr_sb_init(&b);
    assert(b.n == 0 && b.d[0] == 0);
    for (int i = 0; i < 1000; i++)
        tr_sb_printf(&b, "%d,", i);
    tr_sb_putc(&b, '!');
    assert(strlen(b.d) == b.n && b.d[b.n - 1] == '!' && !b.oom);
    tr_sb_reset(&b);
    assert(b.n == 0 && b.d[0] == 0);
    tr_sb_uint(&b, UINT64_MAX);
    tr_sb_spaces(&b, 3);
    tr_sb_int(&b, INT64_MIN);
    tr_sb_int(&b, 0);
    assert(!strcmp(b.d, "18446744073709551615   -92233720368547758080"));
    for (int n = 0; n < 200; n++) { /* texts that just fit, and that just do not */
        tr_sb_fini(&b);
        tr_sb_spaces(&b, (size_t)n);
        tr_sb_printf(&b, "%s", "abcdefghijklmnopqrstuvwxyz");
        assert(b.n == (size_t)n + 26 && !strcmp(b.d + n, "abcdefghijklmnopqrstuvwxyz"));
    }
    tr_sb_fini(&b);
    assert(b.d[0] == 0);
    tr_sb_fini(&b);
}

static const char *f64_text(tr_sb *b, double x) {
    tr_sb_reset(b);
    tr_sb_f64(b, x);
    return b->d;
}

static void test_floats_as_text(void) {
    static const struct {
        double x;
        const char *text; /* Python's repr */
    } rows[] = {{0.0, "0.0"},
                {-0.0, "-0.0"},
                {1.0, "1.0"},
                {0.1, "0.1"},
                {-2.5, "-2.5"},
                {1e16, "1e+16"},
                {1e15, "1000000000000000.0"},
                {9007199254740993.0, "9007199254740992.0"},
                {1e-5, "1e-05"},
                {1e-4, "0.0001"},
                {1.0 / 3, "0.3333333333333333"},
                {5e-324, "5e-324"},
                {DBL_MAX, "1.7976931348623157e+308"},
                {123456789.123, "123456789.123"},
                {INFINITY, "inf"},
                {-INFINITY, "-inf"},
                {NAN, "nan"}};
    tr_sb b;
    tr_sb_init(&b);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert(!strcmp(f64_text(&b, rows[i].x), rows[i].text));
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) { /* reads back as it was */
        double x;
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = seed ^ seed >> 29;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        assert(strtod(f64_text(&b, x), NULL) == x);
        float y = (float)x;
        tr_sb_reset(&b);
        tr_sb_f32(&b, y);
        assert(strtof(b.d, NULL) == y);
        assert(strpbrk(b.d, ".ein"));
    }
    tr_sb_reset(&b);
    tr_sb_f32(&b, 0.1f);
    assert(!strcmp(b.d, "0.1"));
    tr_sb_reset(&b);
    tr_sb_f32(&b, 16777216.0f);
    assert(!strcmp(b.d, "16777216.0"));
    tr_sb_fini(&b);
}

static void test_context(void) {
    tr_ctx c;
    tr_ctx_init(&c);
    assert(c.opts.boundscheck == 1 && c.opts.fastmath == 0 && !c.dump.stages && !c.errs);
    tr_err *e = tr_err_add(&c, TR_ERR_TYPING, (tr_place){.fn = "f", .span = {.line = 3}}, "no %s", "x");
    tr_err_note(&c, e, (tr_span){0}, "first");
    tr_err_note(&c, e, (tr_span){.line = 4}, "second %d", 2);
    assert(!tr_fail(&c, TR_ERR_VALUE, "bad"));
    assert(c.nerrs == 2 && c.errs == e && e->next == c.last_err && c.last_err->kind == TR_ERR_VALUE);
    assert(!strcmp(e->text, "no x") && !strcmp(e->notes->next->text, "second 2") &&
           e->notes->next->span.line == 4);
    uint64_t t = tr_now_ns();
    assert(t && tr_now_ns() >= t);
    tr_ctx_fini(&c);
}

static void test_dump(void) {
    tr_dump d;
    char msg[200];
    assert(tr_dump_parse(&d, NULL, NULL, NULL, msg, sizeof msg) && !d.stages && !d.verify);
    assert(tr_dump_parse(&d, "front,opt:hoist,asm@f", "cse,dce", "1", msg, sizeof msg));
    assert(d.verify && !d.help &&
           d.stages == (1u << TR_STAGE_FRONT | 1u << TR_STAGE_OPT | 1u << TR_STAGE_ASM));
    assert(tr_dump_wants(&d, TR_STAGE_FRONT, NULL, "f") && tr_dump_wants(&d, TR_STAGE_FRONT, NULL, "f.1"));
    assert(!tr_dump_wants(&d, TR_STAGE_FRONT, NULL, "ff") && !tr_dump_wants(&d, TR_STAGE_INFER, NULL, "f"));
    assert(tr_dump_wants(&d, TR_STAGE_OPT, "hoist", "f") && !tr_dump_wants(&d, TR_STAGE_OPT, "cse", "f"));
    assert(tr_dump_skips(&d, "cse") && tr_dump_skips(&d, "dce") && !tr_dump_skips(&d, "cs") &&
           !tr_dump_skips(&d, ""));
    assert(tr_dump_parse(&d, "help", NULL, "0", msg, sizeof msg) && d.help && !d.verify);
    assert(!tr_dump_parse(&d, "nonsense", NULL, NULL, msg, sizeof msg) && strstr(msg, "nonsense"));
    assert(!tr_dump_parse(&d, "asm:x", NULL, NULL, msg, sizeof msg));
    assert(tr_dump_parse(&d, ",,front,", NULL, "", msg, sizeof msg) && d.stages == 1u << TR_STAGE_FRONT);
    tr_sb b;
    tr_sb_init(&b);
    tr_dump_help(&b);
    assert(strstr(b.d, "llvmopt"));
    tr_sb_fini(&b);
}

/* Do they, element by element? */
static bool share(const tr_extent *a, const tr_extent *b, unsigned axis, int64_t x, int64_t y) {
    if (axis == a->ndim + b->ndim)
        return x < y + b->size && y < x + a->size;
    bool first = axis < a->ndim, any = false;
    const tr_extent *e = first ? a : b;
    unsigned k = first ? axis : axis - a->ndim;
    for (int64_t i = 0; i < e->shape[k] && !any; i++) {
        int64_t step = i * e->stride[k] * e->size;
        any = share(a, b, axis + 1, first ? x + step : x, first ? y : y + step);
    }
    return any;
}

static uint32_t draw(uint32_t *seed, uint32_t n) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static tr_extent draw_extent(uint32_t *seed, int64_t *n) {
    tr_extent e = {NULL, (int64_t)1 << draw(seed, 4), n, n + 3, draw(seed, 4)};
    e.data = (const void *)(intptr_t)(4096 + draw(seed, 64));
    for (unsigned k = 0; k < e.ndim; k++) {
        n[k] = (int64_t)draw(seed, 5);
        n[3 + k] = (int64_t)draw(seed, 21) - 10;
    }
    return e;
}

static void test_meet(void) {
    uint32_t seed = 1, met = 0;
    for (int i = 0; i < 20000; i++) {
        int64_t n[2][6];
        tr_extent a = draw_extent(&seed, n[0]), b = draw_extent(&seed, n[1]);
        bool want = share(&a, &b, 0, (int64_t)(intptr_t)a.data, (int64_t)(intptr_t)b.data);
        assert(tr_extents_meet(&a, &b) == want);
        met += want;
    }
    assert(met > 2000 && met < 18000);
    /* Blocks of columns of a large matrix, and its interleaved columns: no search. One
     * element of it is met. */
    int64_t left[] = {100000, 300, 1000, 1}, right[] = {100000, 700, 1000, 1},
            every[] = {100000, 500, 1000, 2};
    tr_extent a = {(void *)(intptr_t)8192, 8, left, left + 2, 2},
              b = {(void *)(intptr_t)(8192 + 2400), 8, right, right + 2, 2};
    assert(!tr_extents_meet(&a, &b) && !tr_extents_meet(&b, &a));
    b.data = (void *)(intptr_t)(8192 + 2392);
    assert(tr_extents_meet(&a, &b));
    a = b = (tr_extent){(void *)(intptr_t)8192, 8, every, every + 2, 2};
    b.data = (void *)(intptr_t)(8192 + 8);
    assert(!tr_extents_meet(&a, &b) && tr_extents_meet(&a, &a));
}

int main(void) {
    test_meet();
    test_arena();
    test_arena_without_memory();
    test_vec_and_bits();
    test_maps();
    test_text();
    test_floats_as_text();
    test_context();
    test_dump();
    return 0;
}
