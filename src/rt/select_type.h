/* Selecting items of one type, or places of such items: included twice for each type by
 * select.c alone. There,
 *
 *   T, SEL      the type of items, and its name
 *   E, KEY(x)   what is moved, and its item: the item itself, or SEL_PLACES a place in v
 *   LESS        NumPy's order of items
 *   FN(x)       x with what tells these functions from the others' */
#ifdef SEL

#define T          SEL_CAT(item, SEL)
#define LESS(a, b) SEL_CAT(less, SEL)(a, b)
#ifdef SEL_PLACES
#define E      int64_t
#define KEY(x) v[x]
#define FN(x)  SEL_CAT(x##_places, SEL)
#else
#define E      T
#define KEY(x) x
#define FN(x)  SEL_CAT(x, SEL)
#endif

static void FN(sort_few)(E *a, int64_t n, const T *v) {
    (void)v;
    for (int64_t i = 1; i < n; i++) {
        E x = a[i];
        int64_t j = i;
        for (; j > 0 && LESS(KEY(x), KEY(a[j - 1])); j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static void FN(sift)(E *a, int64_t i, int64_t n, const T *v) {
    (void)v;
    E x = a[i];
    for (int64_t c = 2 * i + 1; c < n; i = c, c = 2 * i + 1) {
        c += c + 1 < n && LESS(KEY(a[c]), KEY(a[c + 1]));
        if (!LESS(KEY(x), KEY(a[c])))
            break;
        a[i] = a[c];
    }
    a[i] = x;
}

/* In place and never slow: for what pivots do badly on. */
static void FN(sort_heap)(E *a, int64_t n, const T *v) {
    for (int64_t i = n / 2; i-- > 0;)
        FN(sift)(a, i, n, v);
    for (int64_t i = n; i-- > 1;) {
        E x = a[0];
        a[0] = a[i];
        a[i] = x;
        FN(sift)(a, 0, i, v);
    }
}

/* An item goes to both ends of what is free, and one of the two counts: no jump to be guessed. */
#define PUT(what, key, yes)      \
    do {                         \
        E it = what;             \
        T key = KEY(it);         \
        int64_t is = (yes) != 0; \
        a[l] = a[r - 1] = it;    \
        l += is;                 \
        r -= 1 - is;             \
    } while (0)
#define IS_LEFT(x) (equal ? SEL_CAT(not_more, SEL)(x, p) : SEL_CAT(plain, SEL)(x, p))

#ifdef SEL_PLACES
static inline bool FN(put_vectors)(E *a, int64_t *l, int64_t *r, const E *x, T p, bool equal) {
    (void)a, (void)l, (void)r, (void)x, (void)p, (void)equal;
    return false;
}
#endif

/* Those less than p to the front, with `equal` those that are not greater; how many. p is_apart
 * from none. Room is made at both ends, then items are read where there is less of it, so that
 * those before and behind never run out. */
static inline __attribute__((always_inline)) int64_t FN(split_by)(E *a, int64_t n, T p, const bool equal,
                                                                  const T *v) {
    E head[SEL_CHUNK], tail[SEL_CHUNK], now[SEL_CHUNK];
    (void)v;
    const int64_t ends = n < 2 * SEL_CHUNK ? n / 2 : SEL_CHUNK;
    int64_t l = 0, r = n, lo = ends, hi = n - ends;
    memcpy(head, a, (size_t)ends * sizeof *a);
    memcpy(tail, a + hi, (size_t)ends * sizeof *a);
    while (hi - lo >= SEL_CHUNK) {
        if (lo - l <= r - hi) {
            memcpy(now, a + lo, sizeof now);
            lo += SEL_CHUNK;
        } else {
            hi -= SEL_CHUNK;
            memcpy(now, a + hi, sizeof now);
        }
        if (FN(put_vectors)(a, &l, &r, now, p, equal))
            continue;
        for (int64_t i = 0; i < SEL_CHUNK; i++)
            PUT(now[i], x, IS_LEFT(x));
    }
    memcpy(now, a + lo, (size_t)(hi - lo) * sizeof *a);
    for (int64_t i = 0; i < hi - lo; i++)
        PUT(now[i], x, IS_LEFT(x));
    for (int64_t i = 0; i < ends; i++)
        PUT(head[i], x, IS_LEFT(x));
    for (int64_t i = 0; i < ends; i++)
        PUT(tail[i], x, IS_LEFT(x));
    return l;
}
static int64_t FN(split)(E *a, int64_t n, T p, const T *v) {
    return FN(split_by)(a, n, p, false, v);
}
static int64_t FN(split_equal)(E *a, int64_t n, T p, const T *v) {
    return FN(split_by)(a, n, p, true, v);
}

/* Those that are not NaN to the front; how many. */
static int64_t FN(split_apart)(E *a, int64_t n, const T *v) {
    int64_t l = 0;
    (void)v;
    for (int64_t i = 0; i < n; i++)
        if (!SEL_CAT(nan, SEL)(KEY(a[i]))) {
            E x = a[i];
            a[i] = a[l];
            a[l++] = x;
        }
    return l;
}

static void FN(select)(E *a, int64_t n, int64_t k, const T *v);

/* An item of a, near the one that belongs at k, and on that side of it from which less is left. */
static T FN(pivot)(E *a, int64_t n, int64_t k, uint64_t *seed, const T *v) {
    (void)v;
    int64_t many = n < SEL_SAMPLED ? 3 : sample_size(n), at = n < SEL_SAMPLED ? 1 : sample_rank(n, k, many);
    for (int64_t i = 0; i < many; i++) {
        int64_t j = i + below(seed, n - i);
        E x = a[i];
        a[i] = a[j];
        a[j] = x;
    }
    FN(select)(a, many, at, v);
    return KEY(a[at]);
}

/* a[k] becomes what sorting would put there, with nothing larger before it and nothing smaller behind it. */
static void FN(select)(E *a, int64_t n, int64_t k, const T *v) {
    uint64_t seed = (uint64_t)n;
    int budget = 2 * (64 - __builtin_clzll((uint64_t)n | 1)) + 8;
    while (n > SEL_FEW) {
        if (budget-- == 0) {
            FN(sort_heap)(a, n, v);
            return;
        }
        T p = FN(pivot)(a, n, k, &seed, v);
        bool apart = SEL_CAT(is_apart, SEL)(p);
        int64_t j = apart ? FN(split_apart)(a, n, v) : FN(split)(a, n, p, v);
        if (k < j) {
            n = j;
            continue;
        }
        if (j == 0) { /* p is the least: those equal to it */
            j = apart ? n : FN(split_equal)(a, n, p, v);
            if (k < j)
                return;
        }
        a += j;
        n -= j;
        k -= j;
    }
    FN(sort_few)(a, n, v);
}

/* Of several places, in order, each in a[from .. to). */
static void FN(select_many)(E *a, int64_t from, int64_t to, const int64_t *kth, int64_t nkth, const T *v) {
    while (nkth > 0) {
        int64_t mid = nkth / 2, k = kth[mid], next = mid;
        FN(select)(a + from, to - from, k - from, v);
        while (mid > 0 && kth[mid - 1] == k)
            mid--;
        while (next < nkth && kth[next] == k)
            next++;
        FN(select_many)(a, from, k, kth, mid, v);
        kth += next;
        nkth -= next;
        from = k + 1;
    }
}

/* The first step out of the line, so that nobody copies it before. False: no memory, or a NaN is wanted. */
static bool FN(spread)(const T *v, int64_t step, int64_t n, E *a, const int64_t *kth, int64_t nkth) {
    int64_t many = sample_size(n), l = 0, r = n, left = 0;
    T *sample = malloc((size_t)many * sizeof *sample);
    uint64_t seed = (uint64_t)n;
    if (!sample)
        return false;
    for (int64_t i = 0; i < many; i++)
        sample[i] = v[below(&seed, n) * step];
    int64_t at = sample_rank(n, kth[nkth / 2], many);
    SEL_CAT(select, SEL)(sample, many, at, NULL);
    T p = sample[at];
    free(sample);
    if (SEL_CAT(is_apart, SEL)(p))
        return false;
    int64_t i = 0;
#ifndef SEL_PLACES
    for (T now[SEL_CHUNK]; i + SEL_CHUNK <= n; i += SEL_CHUNK) {
        const T *x = v + i * step;
        if (step != 1) {
            tr_rt_gather(now, x, step * (int64_t)sizeof *x, SEL_CHUNK, sizeof *x);
            x = now;
        }
        if (!FN(put_vectors)(a, &l, &r, x, p, false))
            break;
    }
#endif
    for (; i < n; i++) {
#ifdef SEL_PLACES
        T x = v[i * step];
        a[l] = a[r - 1] = i;
#else
        T x = a[l] = a[r - 1] = v[i * step];
#endif
        int64_t is = SEL_CAT(plain, SEL)(x, p) != 0;
        l += is;
        r -= 1 - is;
    }
    while (left < nkth && kth[left] < l)
        left++;
    FN(select_many)(a, 0, l, kth, left, v);
    FN(select_many)(a, l, n, kth + left, nkth - left, v);
    return true;
}

/* To a, from the items of a line, or where these lie already. Places are those of items side by side. */
static void FN(partition)(const void *from, int64_t step, int64_t n, void *to, const int64_t *kth,
                          int64_t nkth) {
    const T *v = from;
    E *a = to;
    if (n >= SEL_SAMPLED && from != to && nkth > 0 && FN(spread)(v, step, n, a, kth, nkth))
        return;
    for (int64_t i = 0; i < n && from != to; i++)
#ifdef SEL_PLACES
        a[i] = i;
#else
        a[i] = v[i * step];
#endif
    FN(select_many)(a, 0, n, kth, nkth, v);
}

#ifndef SEL_PLACES

static bool FN(has_nan)(const T *x, int64_t n) {
    int any = 0;
    for (int64_t i = 0; i < n; i++)
        any |= SEL_CAT(nan, SEL)(x[i]);
    return any != 0;
}

/* Of a copy. */
static int64_t FN(rank_copy)(const T *v, int64_t step, int64_t n, int64_t k, T *to, int64_t m) {
    tr_line l;
    int64_t r = TR_SORT_NOMEM;
    if (tr_line_open(&l, v, n, step, sizeof *v, true, true)) {
        T *a = l.items;
        r = FN(has_nan)(a, n);
        if (!r) {
            const int64_t kth[2] = {k, k + m - 1};
            FN(select_many)(a, 0, n, kth, 2, NULL);
            memcpy(to, a + k, (size_t)m * sizeof *a);
        }
    }
    tr_line_close(&l, false);
    return r;
}

/* Two items of a sample between which items k and k + 1 should lie; then one walk that counts what is
 * before them, and takes what is between them aside. 2: it was not so, or there is too much. Comparisons
 * are plain ones, as it ends at a NaN. */
static int64_t FN(rank_between)(const T *v, int64_t step, int64_t n, int64_t k, T *to, int64_t m, T *room,
                                int64_t many, int64_t most) {
    uint64_t seed = (uint64_t)n;
    for (int64_t i = 0; i < many; i++)
        room[i] = v[below(&seed, n) * step];
    if (FN(has_nan)(room, many))
        return 1;
    int64_t ends[2] = {sample_at(n, k, many, -1), sample_at(n, k + m - 1, many, 1)};
    FN(select_many)(room, 0, many, ends, 2, NULL);
    const T lo = room[ends[0]], hi = room[ends[1]];
    int64_t less = 0, low = 0, high = 0,
            got = 0; /* lower than lo, not above lo, not above hi, between them */
    for (int64_t at = 0; at < n; at += SEL_CHUNK) {
        T near[SEL_CHUNK];
        int32_t c[3] = {0, 0, 0};
        const T *x = v + at * step;
        int64_t some = n - at < SEL_CHUNK ? n - at : SEL_CHUNK;
        if (step != 1) {
            tr_rt_gather(near, x, step * (int64_t)sizeof *x, some, sizeof *x);
            x = near;
        }
        if (most - got < some)
            return 2;
        int any = 0;
        for (int64_t i = 0; i < some; i++) {
            any |= SEL_CAT(nan, SEL)(x[i]);
            c[0] += SEL_CAT(plain, SEL)(x[i], lo);
            c[1] += !SEL_CAT(plain, SEL)(lo, x[i]);
            c[2] += !SEL_CAT(plain, SEL)(hi, x[i]);
        }
        if (any)
            return 1;
        less += c[0];
        low += c[1];
        high += c[2];
        for (int64_t i = 0; i < some && c[1] != c[2]; i++) {
            room[got] = x[i];
            got += SEL_CAT(plain, SEL)(lo, x[i]) & SEL_CAT(plain, SEL)(x[i], hi);
        }
    }
    if (k < less || k + m - 1 >= high)
        return 2;
    int64_t kth[2] = {k - low, k + m - 1 - low}, first = kth[0] < 0, last = kth[1] < got;
    if (kth[0] < got && kth[1] >= 0) /* one of them at least is between */
        FN(select_many)(room, 0, got, kth + first, 1 + last - first, NULL);
    for (int64_t i = 0; i < m; i++)
        to[i] = k + i < low ? lo : k + i - low < got ? room[k + i - low] : hi;
    return 0;
}

static int64_t FN(ranked)(const void *from, int64_t step, int64_t n, int64_t k, void *to, int64_t m) {
    if (n <= 0)
        return 1;
    int64_t many = sample_size(n), most = n / 4 + many, r = 2;
    T *room = n >= SEL_RANKED ? malloc((size_t)most * sizeof *room) : NULL;
    if (room)
        r = FN(rank_between)(from, step, n, k, to, m, room, many, most);
    free(room);
    return r == 2 ? FN(rank_copy)(from, step, n, k, to, m) : r;
}
#endif

#undef T
#undef E
#undef KEY
#undef FN
#undef LESS
#undef PUT
#undef IS_LEFT
#endif
