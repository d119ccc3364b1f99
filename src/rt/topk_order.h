/* The k-th of a buffer of orders, and a buffer in order: rt/topk.c for orders of one type.
 * ORDER(name): the name of a function; O, U: the type, and the unsigned one. */
#ifdef ORDER

#define LOWEST ((O)((U)1 << (8 * sizeof(O) - 1)))

static int64_t ORDER(count_plain)(const O *key, int64_t n, O below) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += key[i] > below;
    return count;
}

/* How many are `from` or more. */
static int64_t ORDER(count)(const top *t, const O *key, int64_t n, O from) {
    if (from == LOWEST)
        return n;
    return t->avx2 ? ORDER(count_avx2)(key, n, from - 1) : ORDER(count_plain)(key, n, from - 1);
}

/* What k of them are at least, and `slack` more at most; or the k-th itself. */
static O ORDER(bisect)(const top *t, const O *key, int64_t n, int64_t k, int64_t slack, O lo, O hi) {
    while (lo < hi) {
        O middle = (O)((U)lo + ((U)hi - (U)lo) / 2 + 1);
        int64_t count = ORDER(count)(t, key, n, middle);
        if (count < k) {
            hi = middle - 1;
            continue;
        }
        lo = middle;
        if (count <= k + slack)
            break;
    }
    return lo;
}

static void ORDER(extremes)(const top *t, const O *key, int64_t n, O *lo, O *hi) {
    if (t->avx2) {
        ORDER(extremes_avx2)(key, n, lo, hi);
        return;
    }
    *lo = *hi = key[0];
    for (int64_t i = 1; i < n; i++) {
        *lo = key[i] < *lo ? key[i] : *lo;
        *hi = key[i] > *hi ? key[i] : *hi;
    }
}

/* Of many: a histogram of the range says in which part of it the k-th lies, and what lies there is
 * copied. */
static O ORDER(kth_of_many)(top *t, const O *key, int64_t n, int64_t k, O lo, O hi) {
    uint32_t bin[BINS] = {0};
    O *part = t->other_keys;
    U range = (U)hi - (U)lo;
    unsigned shift = 0, b = BINS - 1;
    int64_t m = 0;
    while (range >> shift >= BINS)
        shift++;
    for (int64_t i = 0; i < n; i++)
        bin[((U)key[i] - (U)lo) >> shift]++;
    for (; bin[b] < k; b--)
        k -= bin[b];
    for (int64_t i = 0; i < n; i++) {
        part[m] = key[i];
        m += ((U)key[i] - (U)lo) >> shift == b;
    }
    ORDER(extremes)(t, part, m, &lo, &hi);
    return ORDER(bisect)(t, part, m, k, 0, lo, hi);
}

/* Leaves what is above `from`, and `equal` elements that are just that, in the order they came in. */
static int64_t ORDER(keep_some)(top *t, O from, int64_t equal) {
    O *key = t->keys;
    int64_t m = 0;
    for (int64_t i = 0; i < t->held; i++) {
        bool is = key[i] == from && equal > 0, wanted = key[i] > from || is;
        equal -= is;
        key[m] = key[i];
        t->places[m] = t->places[i];
        m += wanted;
    }
    return m;
}

/* The same of all that is above a value. */
AVX2 int64_t ORDER(keep_above)(top *t, O below) {
    O *key = t->keys;
    int64_t m = 0, i = 0;
    for (; i + 4 <= t->held; i += 4) {
        ORDER(four) x = ORDER(load_four)(key + i);
        __m256i at = load_four_i64(t->places + i);
        uint32_t bits = ORDER(above_four)(x, below);
        ORDER(put_four)(key + m, t->places + m, bits, x, at);
        m += __builtin_popcount(bits);
    }
    for (; i < t->held; i++) {
        bool wanted = key[i] > below;
        key[m] = key[i];
        t->places[m] = t->places[i];
        m += wanted;
    }
    return m;
}

/* Leaves the k best; what is not above the last of them is not wanted from now on. */
static void ORDER(cut)(top *t) {
    O *key = t->keys, lo, hi, least;
    int64_t n = t->held;
    ORDER(extremes)(t, key, n, &lo, &hi);
    O from =
        n < MANY ? ORDER(bisect)(t, key, n, t->k, 0, lo, hi) : ORDER(kth_of_many)(t, key, n, t->k, lo, hi);
    if (t->avx2 && from > LOWEST && ORDER(count)(t, key, n, from) == t->k)
        t->held = ORDER(keep_above)(t, from - 1);
    else
        t->held = ORDER(keep_some)(t, from, t->k - (from < hi ? ORDER(count)(t, key, n, from + 1) : 0));
    ORDER(extremes)(t, key, t->held, &least, &hi);
    t->least = least;
    t->known = true;
    t->full = least == (O)~LOWEST;
}

/* --- in order --- */

/* Of few: each goes behind those that are larger, and those before it that are equal. */
static void ORDER(sort_few)(const top *t, O *key, int64_t *place, int64_t n) {
    uint8_t before[RUN] = {0};
    O from[RUN + 16], larger[RUN + 16];
    int64_t at[RUN];
    memcpy(from, key, (size_t)n * sizeof *key);
    memcpy(at, place, (size_t)n * sizeof *place);
    for (int64_t j = n; j < n + 16; j++)
        from[j] = LOWEST;
    if (t->avx2)
        ORDER(rank_avx2)(from, n, larger);
    for (int64_t i = 0; i < n; i++) {
        if (!t->avx2)
            larger[i] = (O)ORDER(count_plain)(from, n, from[i]);
        O to = larger[i] + before[larger[i]]++;
        key[to] = from[i];
        place[to] = at[i];
    }
}

static void ORDER(merge)(const O *key, const int64_t *place, int64_t middle, int64_t n, O *to,
                         int64_t *to_place) {
    int64_t a = 0, b = middle;
    for (int64_t i = 0; i < n; i++) {
        bool first = b == n || (a < middle && key[a] >= key[b]);
        int64_t from = first ? a : b;
        to[i] = key[from];
        to_place[i] = place[from];
        a += first;
        b += !first;
    }
}

static void ORDER(sort)(top *t) {
    int64_t n = t->held;
    if (n > t->k + FEW)
        cut(t);
    n = t->held;
    if (n <= RUN) {
        ORDER(sort_few)(t, t->keys, t->places, n);
        return;
    }
    cut(t);
    n = t->held;
    for (int64_t i = 0; i < n; i += RUN)
        ORDER(sort_few)(t, (O *)t->keys + i, t->places + i, n - i < RUN ? n - i : RUN);
    for (int64_t run = RUN; run < n; run *= 2) {
        O *key = t->keys, *to = t->other_keys;
        int64_t *place = t->places, *to_place = t->other_places;
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t left = n - i, middle = left < run ? left : run, end = left < 2 * run ? left : 2 * run;
            ORDER(merge)(key + i, place + i, middle, end, to + i, to_place + i);
        }
        t->keys = to;
        t->other_keys = key;
        t->places = to_place;
        t->other_places = place;
    }
}

#undef LOWEST
#undef O
#undef U
#undef ORDER

#endif
