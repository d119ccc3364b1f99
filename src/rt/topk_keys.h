/* Looking at keys: rt/topk.c for keys of one type.
 * KEY(name), ORDER(name): the name of a function of the type, and of its orders; T: the type, V: a vector of
 * LANES of them, O: its orders' type; LOAD, ABOVE and so on: what does something with vectors. */
#ifdef KEY

static inline void KEY(put)(top *t, T x, int64_t place) {
    ((O *)t->keys)[t->held] = KEY(order)(t, x);
    t->places[t->held++] = place;
}

/* From element i on as long as there is room. Returns the first that was not looked at. */
static int64_t KEY(each)(top *t, const T *x, int64_t i, int64_t n, int64_t first) {
    for (; i < n && t->held < t->room; i++)
        if (!t->known || KEY(order)(t, x[i]) > t->least)
            KEY(put)(t, x[i], first + i);
    return i;
}

/* Those of a block that are wanted, a bit each. */
AVX2 inline __attribute__((always_inline)) uint32_t KEY(wanted)(const T *x, V flip, V least,
                                                                const bool last) {
    uint32_t bits = 0;
    (void)last;
    for (int v = 0; v < BLOCK / LANES; v++)
        bits |= BITS(ABOVE(LOAD(x + v * LANES))) << v * LANES;
    return bits;
}

AVX2 inline __attribute__((always_inline)) void KEY(put_many)(top *t, const T *x, uint32_t bits,
                                                              int64_t first, V flip, const bool last) {
    __m256i at = _mm256_add_epi64(_mm256_set1_epi64x(first), _mm256_setr_epi64x(0, 1, 2, 3));
    int64_t held = t->held;
    (void)last;
    for (int q = 0; q < BLOCK; q += 4, bits >>= 4) {
        ORDER(put_four)((O *)t->keys + held, t->places + held, bits & 15, FOUR(x + q), at);
        held += __builtin_popcount(bits & 15);
        at = _mm256_add_epi64(at, _mm256_set1_epi64x(4));
    }
    t->held = held;
}

/* Whole blocks, as long as there is room: which of them have what is wanted, and then that. */
AVX2 inline __attribute__((always_inline)) int64_t KEY(blocks)(top *t, const T *x, int64_t i, int64_t n,
                                                               int64_t first, const bool last) {
    const V flip = FLIP(t), least = LEAST(t);
    (void)last;
    while (i + BLOCK <= n) {
        int64_t hit[STRETCH], end = n - i < STRETCH * BLOCK ? n - BLOCK : i + (STRETCH - 1) * BLOCK;
        unsigned hits = 0;
        for (; i <= end; i += BLOCK) {
            V any = ABOVE(LOAD(x + i));
            for (int v = 1; v < BLOCK / LANES; v++)
                any = OR(any, ABOVE(LOAD(x + i + v * LANES)));
            hit[hits] = i;
            hits += BITS(any) != 0;
        }
        for (unsigned h = 0; h < hits; h++) {
            const T *at = x + hit[h];
            uint32_t bits = KEY(wanted)(at, flip, least, last);
            if (t->held + BLOCK > t->room)
                return hit[h];
            if (__builtin_popcount(bits) >= DENSE) {
                KEY(put_many)(t, at, bits, first + hit[h], flip, last);
                continue;
            }
            for (; bits; bits &= bits - 1) { /* none, where another thread has changed them meanwhile */
                int q = __builtin_ctz(bits);
                KEY(put)(t, at[q], first + hit[h] + q);
            }
        }
    }
    return i;
}

AVX2 int64_t KEY(blocks_first)(top *t, const T *x, int64_t i, int64_t n, int64_t first) {
    return KEY(blocks)(t, x, i, n, first, false);
}

AVX2 int64_t KEY(blocks_last)(top *t, const T *x, int64_t i, int64_t n, int64_t first) {
    return KEY(blocks)(t, x, i, n, first, true);
}

/* Orders of n elements that `flip` has been applied to. */
AVX2 inline void KEY(orders)(const T *x, int64_t n, const bool last, O *out) {
    const V flip = FLIP(&(top){.k = 0});
    (void)last;
    for (int64_t i = 0; i < n; i += 4)
        ORDER(store_four)(out + i, FOUR(x + i));
}

/* The largest of each of `groups`, columns of rows of that length, but for NaN: their orders. */
AVX2 void KEY(largest)(const top *t, const T *x, int64_t rows, int64_t groups, O *out) {
    const V flip = FLIP(t);
    T most[4 * LANES];
    for (int64_t g = 0; g < groups; g += 4 * LANES) {
        V a = LOAD(x + g), b = LOAD(x + g + LANES), c = LOAD(x + g + 2 * LANES), d = LOAD(x + g + 3 * LANES);
        for (int64_t r = 1; r < rows; r++) {
            const T *at = x + r * groups + g;
            V p = LOAD(at), q = LOAD(at + LANES), u = LOAD(at + 2 * LANES), v = LOAD(at + 3 * LANES);
            a = MOST(p, a);
            b = MOST(q, b);
            c = MOST(u, c);
            d = MOST(v, d);
        }
        STORE(most, a);
        STORE(most + LANES, b);
        STORE(most + 2 * LANES, c);
        STORE(most + 3 * LANES, d);
        KEY(orders)(most, 4 * LANES, t->nan_last, out + g);
    }
}

/* What is surely not wanted, of the first elements alone. */
static void KEY(begin)(top *t, const T *x, int64_t n) {
    O most[GROUPS], lo, hi;
    int64_t groups = 64, many = n < FIRST ? n : FIRST;
    while (groups < 2 * t->k)
        groups *= 2;
    while (groups > many / 2 && groups >= 4 * t->k && groups >= 8 * LANES) /* a short row has fewer */
        groups /= 2;
    if (groups > GROUPS || groups > many / 2)
        return;
    KEY(largest)(t, x, many / groups, groups, most);
    ORDER(extremes)(t, most, groups, &lo, &hi);
    t->known = just_below(t, ORDER(bisect)(t, most, groups, t->k, t->k / 8 + 1, lo, hi), &t->least);
}

static void KEY(see)(top *t, const T *x, int64_t n, int64_t first) {
    if (t->avx2 && !t->known && !t->held)
        KEY(begin)(t, x, n);
    for (int64_t i = 0; i < n && !t->full;) {
        if (goes_by_vectors(t))
            i = t->nan_last ? KEY(blocks_last)(t, x, i, n, first) : KEY(blocks_first)(t, x, i, n, first);
        if (n - i < BLOCK || !goes_by_vectors(t))
            i = KEY(each)(t, x, i, n, first);
        if (i < n)
            cut(t);
    }
}

#undef KEY
#undef ORDER
#undef T
#undef V
#undef LANES
#undef O
#undef LOAD
#undef FOUR
#undef FLIP
#undef LEAST
#undef ABOVE
#undef MOST
#undef BITS
#undef OR
#undef STORE

#endif
