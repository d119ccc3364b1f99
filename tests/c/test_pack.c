/* What a mask keeps, side by side: by each form that a processor may choose, against the definition.
 * Masks are sparse, dense, and of long stretches; there is room, or it ends. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/pack.c" /* all forms */

enum { MAX = 700, ROUNDS = 300, ROOM = MAX + 80 };

static uint64_t seed = 1;

static uint64_t next(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

typedef int64_t form(const uint8_t *mask, const char *x, char *out, int64_t n, int64_t at, int64_t limit);

static int64_t as_called(const uint8_t *mask, const char *x, char *out, int64_t n, int64_t at, int64_t limit,
                         int64_t size) {
    return tr_rt_pack(mask, x, out, n, at, limit, size);
}

/* Any byte but 0 is true. */
static void make_mask(uint8_t *mask, int64_t n, int r) {
    static const uint64_t share[] = {0, 1, 10, 128, 250, 256};
    for (int64_t i = 0; i < n; i++) {
        uint64_t of = share[r % 6 == 5 ? (i / 70) % 6 : r % 6];
        mask[i] = next() % 256 < of ? (uint8_t)(1 + next() % 255) : 0;
    }
}

static void check(form *f, int64_t size, const char *what) {
    static uint8_t mask[MAX];
    static char x[MAX * 16], got[ROOM * 16], want[ROOM * 16];
    for (int r = 0; r < ROUNDS; r++) {
        int64_t n = r < 150 ? r : (int64_t)(next() % MAX), at = (int64_t)(next() % 9), true_ = 0, end = at;
        make_mask(mask, n, r);
        for (int64_t i = 0; i < n * size; i++)
            x[i] = (char)next();
        for (int64_t i = 0; i < n; i++)
            true_ += mask[i] != 0;
        /* as many places as are wanted, or more, or fewer */
        int64_t limit = at + (r % 3 == 0   ? true_
                              : r % 3 == 1 ? n + 64
                                           : (int64_t)(next() % (uint64_t)(n + 1)));
        memset(got, 0x55, sizeof got);
        memset(want, 0x55, sizeof want);
        for (int64_t i = 0; i < n; i++)
            if (mask[i] && end < limit) {
                memcpy(want + end * size, x + i * size, (size_t)size);
                end++;
            }
        int64_t stop = f ? f(mask, x, got, n, at, limit) : as_called(mask, x, got, n, at, limit, size);
        if (stop != end || memcmp(got, want, (size_t)(end * size)) ||
            memcmp(got + limit * size, want + limit * size, sizeof got - (size_t)(limit * size))) {
            fprintf(stderr, "%s, size %lld: %lld items, from %lld to %lld: ends at %lld, want %lld\n", what,
                    (long long)size, (long long)n, (long long)at, (long long)limit, (long long)stop,
                    (long long)end);
            abort();
        }
    }
}

int main(void) {
    check(pack1_plain, 1, "plain");
    check(pack2_plain, 2, "plain");
    check(pack4_plain, 4, "plain");
    check(pack8_plain, 8, "plain");
    check(pack16_plain, 16, "plain");
    for (int64_t size = 1; size <= 16; size *= 2)
        check(NULL, size, "as called");
    if (__builtin_cpu_supports("avx2")) {
        check(pack4_avx2, 4, "AVX2");
        check(pack8_avx2, 8, "AVX2");
    } else {
        puts("no AVX2: that form was not looked at");
    }
    if (__builtin_cpu_supports("avx512bw")) {
        check(pack4_avx512, 4, "AVX-512");
        check(pack8_avx512, 8, "AVX-512");
        check(pack16_avx512, 16, "AVX-512");
    } else {
        puts("no AVX-512: that form was not looked at");
    }
    if (__builtin_cpu_supports("avx512vbmi2")) {
        check(pack1_vbmi2, 1, "VBMI2");
        check(pack2_vbmi2, 2, "VBMI2");
    } else {
        puts("no VBMI2: that form was not looked at");
    }
    return 0;
}
