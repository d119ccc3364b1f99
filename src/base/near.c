/* The nearest of several names, by how many letters must be changed. */
#include "base/near.h"

#include <string.h>

enum { LONGEST = 32 };

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Letters to change, add, leave out or swap between a and b, of n and m letters. */
static unsigned distance(const char *a, unsigned n, const char *b, unsigned m) {
    unsigned d[LONGEST + 1][LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (unsigned i = 0; i <= n; i++)
        d[i][0] = i;
    for (unsigned j = 0; j <= m; j++)
        d[0][j] = j;
    for (unsigned i = 1; i <= n; i++)
        for (unsigned j = 1; j <= m; j++) {
            d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

tr_near tr_near_begin(const char *name) {
    unsigned len = (unsigned)strlen(name);
    return (tr_near){name, NULL, len, (len + 1) / 3 + 1, 0};
}

void tr_near_consider(tr_near *s, const char *x, unsigned len) {
    unsigned d = distance(s->name, s->len, x, len);
    if (d >= s->far)
        return;
    s->far = d;
    s->best = x;
    s->best_len = len;
}
