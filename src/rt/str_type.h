/* Searching strings, for a pair of widths: included by str.c alone, once for each. There,
 *
 *   H, N      the characters of the string that is searched, and of what is looked for
 *   NAME(x)   x of this pair
 *
 * A view may be wider than its characters need, so each width may be found in each. */

#ifdef NAME

static bool NAME(same)(const H *a, const N *b, int64_t n) {
    if (sizeof *a == sizeof *b)
        return !n || memcmp(a, b, (size_t)n * sizeof *a) == 0;
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Of m >= 1 characters; -1: nowhere. */
static int64_t NAME(find)(const H *s, int64_t n, const N *p, int64_t m) {
    const N first = p[0], last = p[m - 1];
    if (sizeof *p > sizeof *s && (N)(H)first != first)
        return -1;
    for (int64_t i = 0; i + m <= n; i++) {
        if (sizeof *s == 1) {
            const H *at = memchr(s + i, (int)first, (size_t)(n - m + 1 - i));
            if (!at)
                return -1;
            i = at - s;
        }
        if (s[i] == first && s[i + m - 1] == last && NAME(same)(s + i, p, m))
            return i;
    }
    return -1;
}

static int64_t NAME(rfind)(const H *s, int64_t n, const N *p, int64_t m) {
    for (int64_t i = n - m; i >= 0; i--)
        if (s[i] == p[0] && NAME(same)(s + i, p, m))
            return i;
    return -1;
}

static int NAME(order)(const H *a, int64_t n, const N *b, int64_t m) {
    int64_t most = n < m ? n : m, i = 0;
    while (i < most && a[i] == b[i])
        i++;
    return i < most ? a[i] < b[i] ? -1 : 1 : n < m ? -1 : n > m;
}

#undef H
#undef N
#undef NAME
#endif
