/* The steps of Fourier transforms in one precision: made twice by fft_line.c, which says what T is, how its
 * functions are called, and how lanes are exchanged.
 *
 * An item is a vector of real and one of imaginary parts. */

#ifdef T

typedef T NAME(vec) __attribute__((vector_size(TR_FFT_VECTOR), may_alias));
typedef T NAME(loose) __attribute__((vector_size(TR_FFT_VECTOR), may_alias, aligned(sizeof(T))));
typedef struct NAME(item) {
    NAME(vec) re, im;
} NAME(item);
#define V    NAME(vec)
#define ITEM NAME(item)
#undef LANES
#define LANES ((int)(TR_FFT_VECTOR / sizeof(T)))

/* --- in and out --- */

#undef EXCHANGE
#define EXCHANGE(r, a, s, one, two)                          \
    do {                                                     \
        V x_ = r[a], y_ = r[(a) + (s)];                      \
        r[a] = __builtin_shufflevector(x_, y_, one);         \
        r[(a) + (s)] = __builtin_shufflevector(x_, y_, two); \
    } while (0)

/* Rows of n items. Lanes that nobody has are those of the last row. */
INLINE void NAME(load_rows)(const char *in, int64_t step, int64_t n, int lanes, bool swap, ITEM *x) {
    int64_t i = 0;
    for (; i + LANES / 2 <= n; i += LANES / 2) {
        V r[LANES];
        for (int k = 0; k < LANES; k++)
            r[k] = *(const NAME(loose) *)(const void *)(in + (k < lanes ? k : lanes - 1) * step +
                                                        i * 2 * (int64_t)sizeof(T));
        TURNS(r);
        for (int j = 0; j < LANES / 2; j++) {
            x[i + j].re = r[2 * j + swap];
            x[i + j].im = r[2 * j + !swap];
        }
    }
    for (; i < n; i++)
        for (int k = 0; k < LANES; k++) {
            const T *at = (const T *)(const void *)(in + (k < lanes ? k : lanes - 1) * step) + 2 * i;
            x[i].re[k] = at[swap];
            x[i].im[k] = at[!swap];
        }
}

INLINE void NAME(store_rows)(char *out, int64_t step, int64_t n, int lanes, bool swap, const ITEM *x) {
    int64_t i = 0;
    for (; i + LANES / 2 <= n; i += LANES / 2) {
        V r[LANES];
        for (int j = 0; j < LANES / 2; j++) {
            r[2 * j + swap] = x[i + j].re;
            r[2 * j + !swap] = x[i + j].im;
        }
        TURNS(r);
        for (int k = 0; k < lanes; k++)
            *(NAME(loose) *)(void *)(out + k * step + i * 2 * (int64_t)sizeof(T)) = r[k];
    }
    for (; i < n; i++)
        for (int k = 0; k < lanes; k++) {
            T *at = (T *)(void *)(out + k * step) + 2 * i;
            at[swap] = x[i].re[k];
            at[!swap] = x[i].im[k];
        }
}

INLINE void NAME(load_columns)(const char *in, int64_t step, int64_t n, int lanes, bool swap, ITEM *x) {
    for (int64_t i = 0; i < n; i++) {
        V pair[2] = {{0}, {0}};
        if (lanes == LANES)
            memcpy(pair, in + i * step, sizeof pair);
        else
            memcpy(pair, in + i * step, (size_t)lanes * 2 * sizeof(T));
        V even = __builtin_shufflevector(pair[0], pair[1], EVEN),
          odd = __builtin_shufflevector(pair[0], pair[1], ODD);
        x[i].re = swap ? odd : even;
        x[i].im = swap ? even : odd;
    }
}

INLINE void NAME(store_columns)(char *out, int64_t step, int64_t n, int lanes, bool swap, const ITEM *x) {
    for (int64_t i = 0; i < n; i++) {
        V re = swap ? x[i].im : x[i].re, im = swap ? x[i].re : x[i].im;
        V pair[2] = {__builtin_shufflevector(re, im, LOW), __builtin_shufflevector(re, im, HIGH)};
        if (lanes == LANES)
            memcpy(out + i * step, pair, sizeof pair);
        else
            memcpy(out + i * step, pair, (size_t)lanes * 2 * sizeof(T));
    }
}

/* --- steps: what is n long has s of each; y[q + s (r p + k)] of x[q + s (p + j n / r)] --- */

#undef PUT
#define PUT(k, a, b)                                \
    do {                                            \
        V re_ = (a), im_ = (b);                     \
        if (p) {                                    \
            T c_ = w[2 * (k)-2], s_ = w[2 * (k)-1]; \
            to[(k)*s].re = re_ * c_ - im_ * s_;     \
            to[(k)*s].im = re_ * s_ + im_ * c_;     \
        } else {                                    \
            to[(k)*s].re = re_;                     \
            to[(k)*s].im = im_;                     \
        }                                           \
    } while (0)
#undef STEP
#define STEP(r)                                       \
    int64_t m = n / (r);                              \
    for (int64_t p = 0; p < m; p++, w += 2 * ((r)-1)) \
        for (int64_t q = 0; q < s; q++) {             \
            const ITEM *a = x + q + s * p;            \
            ITEM *to = y + q + s * (r)*p;
#undef END
#define END }

INLINE void NAME(step2)(int64_t n, int64_t s, const ITEM *x, ITEM *y, const T *w) {
    STEP(2)
    V re0 = a[0].re, im0 = a[0].im, re1 = a[s * m].re, im1 = a[s * m].im;
    to[0].re = re0 + re1;
    to[0].im = im0 + im1;
    PUT(1, re0 - re1, im0 - im1);
    END
}

INLINE void NAME(step4)(int64_t n, int64_t s, const ITEM *x, ITEM *y, const T *w) {
    STEP(4)
    V ar = a[0].re + a[2 * s * m].re, ai = a[0].im + a[2 * s * m].im;
    V br = a[0].re - a[2 * s * m].re, bi = a[0].im - a[2 * s * m].im;
    V cr = a[s * m].re + a[3 * s * m].re, ci = a[s * m].im + a[3 * s * m].im;
    V dr = a[s * m].re - a[3 * s * m].re, di = a[s * m].im - a[3 * s * m].im;
    to[0].re = ar + cr;
    to[0].im = ai + ci;
    PUT(1, br + di, bi - dr);
    PUT(2, ar - cr, ai - ci);
    PUT(3, br - di, bi + dr);
    END
}

INLINE void NAME(step3)(int64_t n, int64_t s, const ITEM *x, ITEM *y, const T *w) {
    const T sine = (T)0.866025403784438646763723170752936183;
    STEP(3)
    V ar = a[s * m].re + a[2 * s * m].re, ai = a[s * m].im + a[2 * s * m].im;
    V br = (a[s * m].re - a[2 * s * m].re) * sine, bi = (a[s * m].im - a[2 * s * m].im) * sine;
    V cr = a[0].re - ar * (T)0.5, ci = a[0].im - ai * (T)0.5;
    to[0].re = a[0].re + ar;
    to[0].im = a[0].im + ai;
    PUT(1, cr + bi, ci - br);
    PUT(2, cr - bi, ci + br);
    END
}

INLINE void NAME(step5)(int64_t n, int64_t s, const ITEM *x, ITEM *y, const T *w) {
    const T c1 = (T)0.309016994374947424102293417182819059, s1 = (T)0.951056516295153572116439333379382143;
    const T c2 = (T)-0.809016994374947424102293417182819059, s2 = (T)0.587785252292473129168705954639072769;
    STEP(5)
    V ar = a[s * m].re + a[4 * s * m].re, ai = a[s * m].im + a[4 * s * m].im;
    V br = a[s * m].re - a[4 * s * m].re, bi = a[s * m].im - a[4 * s * m].im;
    V cr = a[2 * s * m].re + a[3 * s * m].re, ci = a[2 * s * m].im + a[3 * s * m].im;
    V dr = a[2 * s * m].re - a[3 * s * m].re, di = a[2 * s * m].im - a[3 * s * m].im;
    V er = a[0].re + ar * c1 + cr * c2, ei = a[0].im + ai * c1 + ci * c2;
    V fr = a[0].re + ar * c2 + cr * c1, fi = a[0].im + ai * c2 + ci * c1;
    V gr = br * s1 + dr * s2, gi = bi * s1 + di * s2, hr = br * s2 - dr * s1, hi = bi * s2 - di * s1;
    to[0].re = a[0].re + ar + cr;
    to[0].im = a[0].im + ai + ci;
    PUT(1, er + gi, ei - gr);
    PUT(2, fr + hi, fi - hr);
    PUT(3, fr - hi, fi + hr);
    PUT(4, er - gi, ei + gr);
    END
}

/* A prime that has no code of its own, by the definition. */
INLINE void NAME(step_prime)(int r, int64_t n, int64_t s, const ITEM *x, ITEM *y, const T *w) {
    const T *roots = w + 2 * (r - 1) * (n / r);
    STEP(r)
    for (int k = 0; k < r; k++) {
        V re = a[0].re, im = a[0].im;
        for (int j = 1; j < r; j++) {
            T c = roots[2 * (j * k % r)], t = roots[2 * (j * k % r) + 1];
            V jr = a[j * s * m].re, ji = a[j * s * m].im;
            re += jr * c - ji * t;
            im += jr * t + ji * c;
        }
        if (k) {
            PUT(k, re, im);
        } else {
            to[0].re = re;
            to[0].im = im;
        }
    }
    END
}

/* From x by y and back, as often as there are steps; where the result is. */
INLINE ITEM *NAME(steps)(const tr_fft_line *l, ITEM *x, ITEM *y) {
    int64_t n = l->n, s = 1;
    for (int i = 0; i < l->nsteps; i++) {
        const T *w = (const T *)l->factors + 2 * l->at[i];
        int r = l->radix[i];
        switch (r) {
        case 2: NAME(step2)(n, s, x, y, w); break;
        case 3: NAME(step3)(n, s, x, y, w); break;
        case 4: NAME(step4)(n, s, x, y, w); break;
        case 5: NAME(step5)(n, s, x, y, w); break;
        default: NAME(step_prime)(r, n, s, x, y, w);
        }
        n /= r;
        s *= r;
        ITEM *t = x;
        x = y;
        y = t;
    }
    return x;
}

/* The transform of 2 n real items from that of n complex ones, which they are pairwise: n + 1 items. */
INLINE void NAME(take_apart)(const tr_fft_line *l, const ITEM *x, ITEM *y) {
    const T *w = (const T *)l->factors + 2 * l->turn;
    int64_t n = l->n;
    for (int64_t k = 0; k <= n; k++) {
        const ITEM *a = x + (k < n ? k : 0), *b = x + (k ? n - k : 0);
        V er = a->re + b->re, ei = a->im - b->im, dr = a->re - b->re, di = a->im + b->im;
        T c = w[2 * k], t = w[2 * k + 1]; /* of -i w (d): the real part is w's real one times di ... */
        y[k].re = (er + (di * c + dr * t)) * (T)0.5;
        y[k].im = (ei + (di * t - dr * c)) * (T)0.5;
    }
}

/* And back, with parts exchanged, as the inverse wants it. Imaginary parts of both ends are taken to be 0. */
INLINE void NAME(put_together)(const tr_fft_line *l, ITEM *x, ITEM *y) {
    const T *w = (const T *)l->factors + 2 * l->turn;
    int64_t n = l->n;
    x[0].im = x[n].im = (V){0};
    for (int64_t k = 0; k < n; k++) {
        const ITEM *a = x + k, *b = x + n - k;
        V er = a->re + b->re, ei = a->im - b->im, dr = a->re - b->re, di = a->im + b->im;
        T c = w[2 * k], t = -w[2 * k + 1]; /* i conj(w) d */
        y[k].im = er - (dr * t + di * c);
        y[k].re = ei + (dr * c - di * t);
    }
}

INLINE void NAME(lines_any)(const tr_fft_line *l, const tr_fft_lines *a, void *room) {
    ITEM *x = room, *y = x + l->n + 1;
    if (a->columns) {
        NAME(load_columns)(a->in, a->in_step, l->n, a->lanes, a->inverse, x);
        x = NAME(steps)(l, x, y);
        NAME(store_columns)(a->out, a->out_step, l->n, a->lanes, a->inverse, x);
    } else if (!a->real) {
        NAME(load_rows)(a->in, a->in_step, l->n, a->lanes, a->inverse, x);
        x = NAME(steps)(l, x, y);
        NAME(store_rows)(a->out, a->out_step, l->n, a->lanes, a->inverse, x);
    } else if (!a->inverse) {
        NAME(load_rows)(a->in, a->in_step, l->n, a->lanes, false, x);
        ITEM *to = NAME(steps)(l, x, y), *other = to == x ? y : x;
        NAME(take_apart)(l, to, other);
        NAME(store_rows)(a->out, a->out_step, l->n + 1, a->lanes, false, other);
    } else {
        NAME(load_rows)(a->in, a->in_step, l->n + 1, a->lanes, false, x);
        NAME(put_together)(l, x, y);
        x = NAME(steps)(l, y, x);
        NAME(store_rows)(a->out, a->out_step, l->n, a->lanes, true, x);
    }
}

AVX2 static void NAME(lines_avx2)(const tr_fft_line *l, const tr_fft_lines *a, void *room) {
    NAME(lines_any)(l, a, room);
}

static void NAME(lines)(const tr_fft_line *l, const tr_fft_lines *a, void *room) {
    NAME(lines_any)(l, a, room);
}
#undef V
#undef ITEM
#endif
