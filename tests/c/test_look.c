/* Bytes looked up in tables of each length, by each form that a processor may choose, against the definition;
 * nothing beside what is asked for is stored to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/look.c" /* all forms */

enum { MAX = 300, ROUNDS = 2000, EDGE = 64 };

static uint64_t seed = 1;

static uint64_t next(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static int64_t plain(const uint8_t *x, uint8_t *out, int64_t n, const uint8_t *table, int64_t m) {
    return look_each(x, out, n, table, m, -1);
}

typedef int64_t form(const uint8_t *x, uint8_t *out, int64_t n, const uint8_t *table, int64_t m);

static void check(form *f, int64_t fewest, const char *what) {
    static uint8_t x[MAX], got[MAX + 2 * EDGE], want[MAX + 2 * EDGE];
    for (int r = 0; r < ROUNDS; r++) {
        int64_t n = fewest + (int64_t)(next() % (uint64_t)(MAX - fewest)),
                m = r < 258 ? r : (int64_t)(next() % 600), top = -1;
        uint8_t *table = malloc((size_t)m + 1); /* of its own: what looks past it is seen by sanitizers */
        if (!table)
            abort();
        uint64_t most = r % 3 == 0 ? 256 : 1 + next() % 256;
        for (int64_t i = 0; i < m; i++)
            table[i] = (uint8_t)next();
        memset(got, 0x55, sizeof got);
        memset(want, 0x55, sizeof want);
        for (int64_t i = 0; i < n; i++) {
            x[i] = (uint8_t)(next() % most);
            want[EDGE + i] = x[i] < m ? table[x[i]] : 0;
            top = x[i] > top ? x[i] : top;
        }
        int64_t told = f(x, got + EDGE, n, m ? table : NULL, m);
        if (told != top || memcmp(got, want, sizeof got)) {
            fprintf(stderr, "%s: %lld items, table of %lld: told %lld, want %lld\n", what, (long long)n,
                    (long long)m, (long long)told, (long long)top);
            abort();
        }
        memcpy(got + EDGE, x, (size_t)n); /* in place */
        if (f(got + EDGE, got + EDGE, n, m ? table : NULL, m) != top || memcmp(got, want, sizeof got)) {
            fprintf(stderr, "%s, in place: %lld items, table of %lld\n", what, (long long)n, (long long)m);
            abort();
        }
        free(table);
    }
}

int main(void) {
    check(plain, 0, "plain");
    check(tr_rt_look_up, 0, "as called");
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw"))
        check(look_vbmi, 1, "VBMI");
    else
        puts("no VBMI: that form was not looked at");
    return 0;
}
