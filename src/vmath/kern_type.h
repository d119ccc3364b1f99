/* The kernels in one of both types: included twice by kern.h alone. There, with D for double and F for float,
 * are
 *
 *   T, B, C      vectors of numbers, of their bits, of conditions
 *   P(op), Q(op) an operation on T, on C
 *   S, BITS      the number's type, and of how many bits it is
 *   NAME(x)      x with _d or _f behind
 *   K(x), KB(x)  a constant of tables.def, as numbers and as bits
 *   LIMIT(d, f)  d or f */
#ifdef VK_TYPE

/* The number or numbers of a table at a place, of which as many bits count as there are places. */
#define LOOK(name, at, w)                                                            \
    P(look)                                                                          \
    (tr_vk.WIDE(name)[0], tr_vk.ROWS(name)[0], sizeof *tr_vk.WIDE(name) / sizeof(S), \
     sizeof tr_vk.WIDE(name) / sizeof *tr_vk.WIDE(name), sizeof *tr_vk.ROWS(name) / sizeof(S), at, w)

/* --- exp ---
 *
 * x = k log 2 / n + r; e^x = 2^(k/n) e^r, the former from a table of n numbers and what these lack. k is
 * rounded by adding and taking away a large number, whose last bits then hold it. */

typedef struct NAME(reduced) {
    T n, k, r; /* n: k in its last bits */
} NAME(reduced);

/* c0 + c1 x + ... */
VK_OP T NAME(polynomial)(const S (*c)[512 / BITS], int n, T x, T x2) {
    T sum = n & 1 ? P(load)(c[n - 1]) : P(fma)(x, P(load)(c[n - 1]), P(load)(c[n - 2]));
    VK_UNROLL
    for (int i = n - 2 - !(n & 1); i > 0; i -= 2)
        sum = P(fma)(x2, sum, P(fma)(x, P(load)(c[i]), P(load)(c[i - 1])));
    return sum;
}
#define POLYNOMIAL(name, x, x2) \
    NAME(polynomial)(tr_vk.NAME(name), (int)(sizeof tr_vk.NAME(name) / sizeof *tr_vk.NAME(name)), x, x2)

VK_OP NAME(reduced) NAME(exp_reduce)(T x) {
    T n = P(fma)(x, K(log2_e), K(exp_round)), k = n - K(exp_round);
    return (NAME(reduced)){n, k, P(nfma)(k, K(ln2_low), P(nfma)(k, K(ln2_high), x))};
}

/* low + r^2 (c0 + c1 r + ...) */
VK_OP T NAME(exp_series)(T r, T r2, T low) {
#if BITS == 64
    T first = NAME(polynomial)(tr_vk.exp_rest_d, 2, r, r2),
      last = NAME(polynomial)(tr_vk.exp_rest_d + 2, 4, r, r2);
    return P(fma)(r2 * r2, last, P(fma)(r2, first, low));
#else
    return P(fma)(r2, POLYNOMIAL(exp_rest, r, r2), low);
#endif
}

/* e^x but for a power of two, 1 <= result < 2; of one number all of it, where it is normal:
 * the bits are the same */
VK_OP T NAME(exp_body)(NAME(reduced) e, bool scaled) {
    T r2 = e.r * e.r, w[2]; /* 2^(k/n), its rest */
    LOOK(exp2, P(bits)(e.n), w);
    if (scaled)
        w[0] = P(scale_near)(w[0], e.n, e.k);
    return P(fma)(w[0], NAME(exp_series)(e.r, r2, e.r + w[1]), w[0]);
}

VK_COLD T NAME(exp_far)(T x) {
    NAME(reduced) e = NAME(exp_reduce)(P(min)(K(exp_most), P(max)(K(exp_least), x)));
    return P(scale)(NAME(exp_body)(e, false), e.n, e.k);
}

VK_FN T NAME(exp)(T x) {
    NAME(reduced) e = NAME(exp_reduce)(x);
#ifdef VK_ALONE
    T r = NAME(exp_body)(e, true);
#else
    T r = P(scale_near)(NAME(exp_body)(e, false), e.n, e.k);
#endif
    return UNLIKELY(Q(any)(P(outside)(x, K(exp_near), r))) ? NAME(exp_far)(x) : r;
}

/* --- log ---
 *
 * x = 2^k m, 0.73 < m < 1.47; c near m from a table, m / c = 1 + r + e: log x = k log 2 + log c + log(1 + r +
 * e). The first two terms have an exact sum. Next to x = 1 both are 0. */

typedef struct NAME(parts) {
    B at; /* where to look up */
    T k, m;
} NAME(parts);

VK_OP NAME(parts) NAME(split)(T x) {
    B t = P(bits)(x) - KB(begin);
    return (NAME(parts)){t >> LIMIT(48, 19), P(exponent)(t), P(from)(P(bits)(x) - (t & KB(exponent)))};
}

/* Denormal numbers too. */
VK_OP NAME(parts) NAME(split_any)(T x) {
    C small = P(less)(x, P(set)(LIMIT(0x1p-1022, 0x1p-126F)));
    NAME(parts) p = NAME(split)(P(pick)(small, x * LIMIT(0x1p54, 0x1p24F), x));
    p.k = P(pick)(small, p.k - LIMIT(54, 24), p.k);
    return p;
}

/* less: what m lacks, or NULL. */
VK_OP T NAME(log_sum)(NAME(parts) s, const T *less) {
    T w[2]; /* 1 / c, log c */
    LOOK(log, s.at, w);
    T p = s.m * w[0], e = P(fms)(s.m, w[0], p), first_term = p - K(one);
    T r = P(fms)(s.m, w[0], K(one));
    if (less) {
        e = P(fma)(*less, w[0], e);
        r = P(fma)(*less, w[0], r);
    }
    T r2 = r * r; /* r + e, rounded: sooner there, and good enough for what follows */
    T high = P(fma)(s.k, K(log_ln2_high), w[1]), sum = high + first_term, low = (high - sum) + first_term;
    low += P(fma)(s.k, K(log_ln2_low), e);
#if BITS == 64 /* two halves at a time */
    T first = NAME(polynomial)(tr_vk.log_rest_d, 4, r, r2),
      last = NAME(polynomial)(tr_vk.log_rest_d + 4, 4, r, r2);
    T rest = P(fma)(r2 * r2, last, first);
#else
    T rest = POLYNOMIAL(log_rest, r, r2);
#endif
    return sum + P(fma)(r2, rest, low);
}

VK_OP T NAME(log_body)(NAME(parts) s) {
    return NAME(log_sum)(s, NULL);
}

VK_COLD T NAME(log_rare)(T x) {
    T r = NAME(log_body)(NAME(split_any)(x));
    r = P(pick)(P(less)(x, P(set)((S)INFINITY)), r, x);
    r = P(pick)(P(equal)(x, P(set)(0)), P(set)(-(S)INFINITY), r);
    return P(pick)(P(less)(x, P(set)(0)), P(set)((S)NAN), r);
}

VK_FN T NAME(log)(T x) {
    if (UNLIKELY(Q(any)(P(not_positive_normal)(x))))
        return NAME(log_rare)(x);
    return NAME(log_body)(NAME(split)(x));
}

/* --- log1p ---
 *
 * log(u + e), u = 1 + x rounded, e what it lacks: as u is 2^k m, e is scaled by 2^-k and goes where m's last
 * places go. From 2^60 on nothing is lacking that counts, and 2^-k may be no number. */

VK_OP T NAME(log1p_body)(T x, T u) {
    T back = u - K(one), e = (K(one) - (u - back)) + (x - back);
    B t = P(bits)(u) - KB(begin);
    e = e * P(from)(KB(one) - (t & KB(exponent)));
    e = P(pick)(P(less)(x, P(set)(LIMIT(0x1p60, 0x1p60F))), e, P(set)(0));
    T r = NAME(log_sum)(NAME(split)(u), &e);
    return P(pick)(P(equal)(x, P(set)(0)), x, r);
}

VK_COLD T NAME(log1p_rare)(T x, T u) {
    return P(pick)(P(not_positive_normal)(u), NAME(log_rare)(u), NAME(log1p_body)(x, u));
}

VK_FN T NAME(log1p)(T x) {
    T u = x + K(one);
    if (UNLIKELY(Q(any)(P(not_positive_normal)(u))))
        return NAME(log1p_rare)(x, u);
    return NAME(log1p_body)(x, u);
}

/* --- pow ---
 *
 * 2^(y log2 x), with log2 x in two numbers: log2 x = k + log2 c + 2 atanh(s) / log 2, s = (m - c) / (m + c),
 * where m - c is exact; t is 2 s / log 2, and the division's remainder gives its second part. */

typedef struct NAME(two) {
    T high, low;
} NAME(two);

VK_OP NAME(two) NAME(pow_log2)(NAME(parts) p) {
    T w[3]; /* c, log2 c, and in float what this lacks */
    LOOK(pow, p.at, w);
    T c = w[0], n = p.m - c, d = c + p.m, d_low = p.m - (d - c), inverse = K(one) / d;
    T f = n * K(pow_factor_high), f_low = P(fma)(n, K(pow_factor_low), P(fms)(n, K(pow_factor_high), f));
    T t = f * inverse, t2 = t * t, rest = P(nfma)(t, d, f) + P(nfma)(t, d_low, f_low);
    T t_low = P(fma)(t * t2, POLYNOMIAL(pow_rest, t2, t2 * t2), rest * inverse);
    T whole = p.k + w[1], high = whole + t;
    return (NAME(two)){high, (whole - high) + t + LIMIT(t_low, (t_low + w[2]))};
}

/* 2^(z + z_low) but for the scale by 2^k. The series' later terms are in z_low, which is up to 0.08: k goes
 * by z alone, so as not to wait for them, and the polynomial is good for as much more. */
VK_OP T NAME(pow_exp2)(T n, T k, T z, T z_low) {
    T f = (z - k) + z_low, f2 = f * f;
    T w[2];
    LOOK(exp2, P(bits)(n), w);
    return P(fma)(w[0], P(fma)(f2, POLYNOMIAL(exp2_rest, f, f2), P(fma)(f, K(ln2_high), w[1])), w[0]);
}

/* |x| to the power y where both are finite and x is not 0. */
VK_OP T NAME(pow_wide)(T x, T y) {
    NAME(two) l = NAME(pow_log2)(NAME(split_any)(x));
    T z = y * l.high, z_low = P(fma)(y, l.low, P(fms)(y, l.high, z)), most = P(set)(LIMIT(1100, 200));
    C inside = P(less)(P(abs)(z), most);
    z = P(pick)(inside, z, P(min)(most, P(max)(-most, z)));
    T n = z + K(exp_round), k = n - K(exp_round);
    return P(scale)(NAME(pow_exp2)(n, k, z, P(pick)(inside, z_low, P(set)(0))), n, k);
}

VK_OP C NAME(is_whole)(T a) {       /* a >= 0 */
    S all = LIMIT(0x1p52, 0x1p23F); /* from here on */
    return Q(or)(P(not_less)(a, P(set)(all)), P(equal)((a + all) - all, a));
}

/* Where x is not positive, normal and finite, or the result may not be. In the order of C99's annex F; the
 * last word counts. */
VK_COLD T NAME(pow_rare)(T x, T y) {
    T a = P(abs)(x), b = P(abs)(y), zero = P(set)(0), one = P(set)(1), inf = P(set)((S)INFINITY),
      nan = P(set)((S)NAN);
    T r = NAME(pow_wide)(a, y);
    C rises = P(less)(zero, y);
    r = P(pick)(P(equal)(a, zero), P(pick)(rises, zero, inf), r);
    r = P(pick)(P(equal)(a, inf), P(pick)(rises, inf, zero), r);
    C whole = NAME(is_whole)(b), odd = Q(and_not)(whole, NAME(is_whole)(b * (S)0.5)),
      negative = P(negative)(x);
    r = P(pick)(Q(and)(negative, odd), -r, r);
    C finite = Q(and)(P(less)(a, inf), P(less)(zero, a));
    r = P(pick)(Q(and_not)(Q(and)(negative, finite), whole), nan, r);
    T far = P(pick)(P(less)(one, a), P(pick)(rises, inf, zero), P(pick)(rises, zero, inf));
    r = P(pick)(P(equal)(b, inf), P(pick)(P(equal)(a, one), one, far), r);
    r = P(pick)(P(unordered)(x, y), nan, r);
    r = P(pick)(Q(or)(P(equal)(y, zero), P(equal)(x, one)), one, r);
    return P(pick)(P(equal)(y, P(set)(2)), x * x, r);
}

VK_FN T NAME(pow)(T x, T y) {
    NAME(two) l = NAME(pow_log2)(NAME(split)(x));
    T z = y * l.high, z_low = P(fma)(y, l.low, P(fms)(y, l.high, z));
    T n = z + K(exp_round), k = n - K(exp_round);
    T r = P(scale_near)(NAME(pow_exp2)(n, k, z, z_low), n, k);
    if (UNLIKELY(Q(any)(Q(or)(P(not_positive_normal)(x), P(outside)(z, K(pow_near), r)))))
        return NAME(pow_rare)(x, y);
    return P(pick)(P(equal)(y, K(two)), x * x, r);
}

/* --- tanh, erf: odd functions in pieces ---
 *
 * f(c + d) = v + d W(d): c, v = f(c) and the terms of W are those of the piece that |x| lies in. In the piece
 * of zero f(d) = d + d W(d): there v = 0, and elsewhere v > d. The last operation's rounding is nearly all of
 * the error. */

#define ODD(name, CUT)                                                                          \
    VK_FN T NAME(name)(T x) {                                                                   \
        enum { TERMS = sizeof tr_vk.WIDE(name) / sizeof *tr_vk.WIDE(name) };                    \
        T sign = K(sign), a = P(min)(K(name##_top), P(without)(x, sign)), w[TERMS];             \
        ODD_EARLY(name, CUT)                                                                    \
        LOOK(name, P(bits)(P(fma)(a, K(name##_scale), K(name##_begin))) >> CUT, w);             \
        T d = a - w[0];                                                                         \
        return P(signed)(P(fma)(d, NAME(wave)(w + 2, TERMS - 2, d), P(max)(w[1], d)), x, sign); \
    }
#if defined(VK_ALONE) && \
    BITS == 64 /* The same bits sooner in the piece of zero: nothing waits for its place. */
#define ODD_EARLY(name, CUT)                                                      \
    if (a < *tr_vk.NAME(name##_first)) {                                          \
        LOOK(name, P(bits)(K(name##_begin)) >> CUT, w);                           \
        return P(signed)(P(fma)(a, NAME(wave)(w + 2, TERMS - 2, a), a), x, sign); \
    }
#else
#define ODD_EARLY(name, CUT)
#endif

/* The terms' sum: in two strands where they are many. */
VK_OP T NAME(wave)(const T *w, int n, T d) {
    T s[2] = {w[n - 1], w[n - 2]};
    if (n < 8) {
        VK_UNROLL
        for (int i = n - 2; i >= 0; i--)
            s[0] = P(fma)(s[0], d, w[i]);
        return s[0];
    }
    T d2 = d * d;
    VK_UNROLL
    for (int i = n - 3; i >= 0; i--) /* term i is in s[(n - 1 - i) & 1] */
        s[(n - 1 - i) & 1] = P(fma)(s[(n - 1 - i) & 1], d2, w[i]);
    return P(fma)(d, s[n & 1], s[(n & 1) ^ 1]);
}
ODD(tanh, NAME(tanh_cut))
ODD(erf, NAME(erf_cut))
#undef ODD
#undef ODD_EARLY

/* --- fmod ---
 *
 * |x| - n |y|, n the quotient's whole part. The quotient is rounded, so n may be one too many where it is
 * below 2^53; the difference is negative then. It is exact either way: a multiple of the last place of x or
 * y, whichever is less, and no larger than y. */

VK_COLD T NAME(fmod_rare)(T x, T y) {
    S xs[sizeof x / sizeof(S)], ys[sizeof x / sizeof(S)];
    memcpy(xs, &x, sizeof x);
    memcpy(ys, &y, sizeof y);
    for (size_t i = 0; i < sizeof xs / sizeof *xs; i++)
        xs[i] = LIMIT(fmod, fmodf)(xs[i], ys[i]);
    memcpy(&x, xs, sizeof x);
    return x;
}

VK_FN T NAME(fmod)(T x, T y) {
    T sign = K(sign), a = P(without)(x, sign), b = P(without)(y, sign), q = a / b;
    if (UNLIKELY(Q(any)(P(not_less)(q, P(set)(LIMIT(0x1p53, 0x1p24F))))))
        return NAME(fmod_rare)(x, y);
    T r = P(nfma)(P(whole)(q), b, a);
    r = P(pick)(P(negative)(r), r + b, r);
    return P(signed)(P(pick)(P(less)(a, b), a, r), x, sign); /* y may be infinite */
}

/* --- hypot ---
 *
 * The root of s = x^2 + y^2, and a step of Newton's for what s and the root lack: e and s - h^2 are known but
 * for their own rounding, and of 1 / 2h a guess from the bits will do, which is off by 3.5 % at most. */

VK_OP T NAME(hypot_near)(T x, T y, T s, T p, T q) {
    T h = P(root)(s), e = ((P(max)(p, q) - s) + P(min)(p, q)) + (P(fms)(x, x, p) + P(fms)(y, y, q));
    T half = P(from)(LIMIT(0x5fd6eb50c7b537a9, 0x5eb759df) - (P(bits)(s) >> 1));
    return P(fma)(P(nfma)(h, h, s) + e, half, h);
}

VK_COLD T NAME(hypot_far)(T x, T y) {
    T a = P(abs)(x), b = P(abs)(y), top = P(max)(a, b), inf = P(set)((S)INFINITY), one = P(set)(1);
    C big = P(not_less)(top, P(set)(LIMIT(0x1p500, 0x1p60F))),
      small = P(less)(top, P(set)(LIMIT(0x1p-400, 0x1p-40F)));
    T in = P(pick)(big, P(set)(LIMIT(0x1p-600, 0x1p-70F)),
                   P(pick)(small, P(set)(LIMIT(0x1p600, 0x1p100F)), one));
    T out = P(pick)(big, P(set)(LIMIT(0x1p600, 0x1p70F)),
                    P(pick)(small, P(set)(LIMIT(0x1p-600, 0x1p-100F)), one));
    T u = x * in, v = y * in, p = u * u, q = v * v, r = NAME(hypot_near)(u, v, p + q, p, q) * out;
    r = P(pick)(P(unordered)(x, y), P(set)((S)NAN), r);
    return P(pick)(Q(or)(P(equal)(a, inf), P(equal)(b, inf)), inf, r);
}

VK_FN T NAME(hypot)(T x, T y) {
    T p = x * x, q = y * y, s = p + q;
    if (UNLIKELY(Q(any)(Q(or)(P(not_less)(s, P(set)(LIMIT(0x1p1000, 0x1p120F))),
                              P(less)(s, P(set)(LIMIT(0x1p-800, 0x1p-80F)))))))
        return NAME(hypot_far)(x, y);
    return NAME(hypot_near)(x, y, s, p, q);
}

/* --- sin, cos, tan ---
 *
 * x = k pi / 2 + r, |r| <= pi / 4; k is rounded as that of exp is. x - k high is exact, a multiple of high's
 * last place below 1, and k middle is, so that of their difference nothing is lost: r is what is in r, less
 * `low`. One of the sine and the cosine of r is the result, with one sign or the other; vectors compute both.
 * What is added last is taken away with its sign turned, because -0 less 0 is -0. */

typedef struct NAME(turned) {
    B k; /* in its last bits */
    T r, low;
} NAME(turned);

VK_OP NAME(turned) NAME(turn)(T x) {
    T n = P(fma)(x, K(two_over_pi), FRESH(turn_round)), k = n - K(turn_round);
    T most = P(nfma)(k, K(half_pi_high), x), r = P(nfma)(k, FRESH(half_pi_middle), most);
    return (NAME(turned)){P(bits)(n), r, P(fma)(k, K(half_pi_low), P(fma)(k, K(half_pi_middle), r - most))};
}

/* The sine of the arc and `more` quarters of a turn. Of 1 - r^2 / 2 the rounding is known. */
VK_OP T NAME(sine)(NAME(turned) t, unsigned more) {
    enum { TERMS = sizeof tr_vk.NAME(sine) / sizeof *tr_vk.NAME(sine) / 2 }; /* the sine's, the cosine's */
    B quarter = t.k + more;
    T odd = P(from)(quarter << (BITS - 1)), sign = P(from)(quarter << (BITS - 2) & KB(sign));
    T r = t.r, r2 = r * r, r4 = r2 * r2, one = K(one), cosine = P(nfma)(r2, K(half), one);
#ifdef VK_ALONE
    const S(*c)[512 / BITS] = tr_vk.NAME(sine) + (quarter & 1) * TERMS;
    T half = P(from)(-(quarter & 1) & KB(half)), first = P(either)(odd, one, r); /* what differs, or 0 */
    T base = P(nfma)(r2, half, first), u = P(either)(odd, r2, r) * r2;
    T low = P(fma)(t.low, P(either)(odd, P(flip)(r, K(sign)), cosine), P(fma)(r2, half, base - first));
    return P(flip)(base - P(fma)(u, NAME(polynomial)(c, TERMS, r2, r4), low), sign);
#else
    T s = r - P(fma)(r * r2, NAME(polynomial)(tr_vk.NAME(sine), TERMS, r2, r4), t.low * cosine);
    T low = P(nfma)(t.low, r, P(fma)(r2, K(half), cosine - one));
    T c = cosine - P(fma)(r4, NAME(polynomial)(tr_vk.NAME(sine) + TERMS, TERMS, r2, r4), low);
    return P(flip)(P(either)(odd, c, s), sign);
#endif
}

/* The tangent of the arc: of the sine and the cosine so much is known that of their quotient only the last
 * rounding is lost; 1 / d is guessed as for arcs. float32 takes a term more for that. */
VK_OP T NAME(tangent)(NAME(turned) t, unsigned more) {
    const S(*sine)[512 / BITS] = LIMIT(tr_vk.sine_d, tr_vk.tangent_f);
    enum { TERMS = sizeof LIMIT(tr_vk.sine_d, tr_vk.tangent_f) / sizeof *sine / 2 };
    T odd = P(from)((t.k + more) << (BITS - 1));
    T r = t.r, r2 = r * r, r4 = r2 * r2, one = K(one), cosine = P(nfma)(r2, K(half), one);
    T s_rest = P(fma)(r * r2, NAME(polynomial)(sine, TERMS, r2, r4), t.low * cosine);
    T low = P(fma)(P(fms)(r, r, r2), K(half), P(fma)(r2, K(half), cosine - one)); /* r2's rounding too */
    low = P(nfma)(t.low, r, low);
    T c_rest = P(fma)(r4, NAME(polynomial)(sine + TERMS, TERMS, r2, r4), low);
    T s = r - s_rest, c = cosine - c_rest, s_low = (r - s) - s_rest, c_low = (cosine - c) - c_rest;
    T n = P(either)(odd, c, s), d = P(either)(odd, s, c), q = n / d;
    T over = P(fma)(q, P(either)(odd, s_low, c_low), P(fms)(q, d, n)) - P(either)(odd, c_low, s_low);
    T guess = P(flip)(P(from)(KB(arc_inverse) - P(bits)(P(abs)(d))), P(from)(P(bits)(d) & KB(sign)));
    return P(flip)(q - over * guess, P(from)(P(bits)(odd) & KB(sign)));
}

/* Where |x| is not less than turn_near. Up to turn_far products with pi / 2 are taken in two numbers; of x
 * beyond only libm knows enough of pi. float32 takes what the kernel of doubles says. */
#define TURNED(name, of, more)                              \
    TURN_FAR(name, of, more)                                \
    VK_FN T NAME(name)(T x) {                               \
        T a = P(abs)(x);                                    \
        TURN_EARLY(of, more)                                \
        if (UNLIKELY(Q(any)(P(not_less)(a, K(turn_near))))) \
            return NAME(name##_far)(x, a);                  \
        return NAME(of)(NAME(turn)(x), more);               \
    }
#ifdef VK_ALONE /* The same bits sooner where k is 0 or 1 anyway; odd functions where `more` is 0. */
#define TURN_EARLY(of, more)                                           \
    if (a < *tr_vk.NAME(turn_none))                                    \
        return NAME(of)((NAME(turned)){0, x, 0}, more);                \
    if (a < *tr_vk.NAME(turn_one)) {                                   \
        T most = a - K(half_pi_high), less = most - K(half_pi_middle); \
        T low = (less - most) + K(half_pi_middle) + K(half_pi_low);    \
        T r = NAME(of)((NAME(turned)){1, less, low}, more);            \
        return more ? r : P(flip)(r, P(from)(P(bits)(x) & KB(sign)));  \
    }
#else
#define TURN_EARLY(of, more)
#endif
#if BITS == 64
VK_OP turned_d turn_far_d(D x, D a) {
    D n = d_fma(x, K(two_over_pi), K(turn_round)), k = n - K(turn_round);
    D most = d_nfma(k, K(half_pi_high), x), p = k * K(half_pi_second), sum = most - p, back = sum - most;
    D rest = (most - (sum - back)) - (p + back) - d_fms(k, K(half_pi_second), p);
    rest = d_nfma(k, K(half_pi_third), rest);
    D r = sum + rest;
    turned_d t = turn_d(x);
    M near = d_less(a, K(turn_near));
    return (turned_d){t.k, d_pick(near, t.r, r), d_pick(near, t.low, (r - sum) - rest)};
}

#define TURN_FAR(name, of, more)                                                 \
    VK_COLD D name##_far_d(D x, D a) {                                           \
        D r = of##_d(turn_far_d(x, a), more);                                    \
        if (m_any(d_not_less(a, K(turn_far)))) {                                 \
            double xs[sizeof x / sizeof(double)], rs[sizeof x / sizeof(double)]; \
            memcpy(xs, &x, sizeof x);                                            \
            memcpy(rs, &r, sizeof r);                                            \
            for (size_t i = 0; i < sizeof xs / sizeof *xs; i++)                  \
                if (!(fabs(xs[i]) < *tr_vk.turn_far_d))                          \
                    rs[i] = isfinite(xs[i]) ? name(xs[i]) : (double)NAN;         \
            memcpy(&r, rs, sizeof r);                                            \
        }                                                                        \
        return r;                                                                \
    }
#else
#define TURN_FAR(name, of, more)                                                      \
    VK_COLD F name##_far_f(F x, F a) {                                                \
        D w[FLOATS];                                                                  \
        f_wide(x, w);                                                                 \
        for (int i = 0; i < FLOATS; i++)                                              \
            w[i] = name##_d(w[i]);                                                    \
        return f_pick(f_less(a, K(turn_near)), of##_f(turn_f(x), more), f_narrow(w)); \
    }
#endif
TURNED(sin, sine, 0)
TURNED(cos, sine, 1)
TURNED(tan, tangent, 0)
#undef TURN_FAR
#undef TURN_EARLY
#undef TURNED

/* --- atan, atan2 ---
 *
 * Of the smaller of |y| and |x| over the larger, which is tan t: t = v + atan r, r = (tan t - c) / (1 + c tan
 * t), with c and v = atan c of a piece that the difference of the bits, nearly the quotient's logarithm, is
 * good enough to find. What the quotient r lacks is known but for a guess of 1 / d that is off by 5 % at
 * most. The result is a number of quarters of a turn and t, or less t where `turn` is -0. */

/* The last piece, or so many before it; the first two are one, so it is no matter which of them. */
VK_OP B NAME(arc_piece)(B a, B b, T small, T large) {
#ifdef VK_ALONE
    (void)small, (void)large;
    LIMIT(int64_t, int32_t) apart = (LIMIT(int64_t, int32_t))(a - b);
    apart = ((apart < 0 ? apart : -apart) - 1) >> LIMIT(51, 21);
    return (B)(apart < LIMIT(-8, -16) ? LIMIT(-8, -16) : apart);
#else
    (void)a, (void)b;
    return (P(bits)(P(max)(small, large * K(arc_least))) - P(bits)(large) - 1) >> LIMIT(51, 21);
#endif
}

VK_OP T NAME(arc)(T a, T b, T quarters, T turn) {
    T small = P(min)(b, a), large = P(max)(b, a), w[2]; /* c, v */
    LOOK(arc, NAME(arc_piece)(P(bits)(a), P(bits)(b), small, large), w);
    T n = P(flip)(P(nfma)(w[0], large, small), turn), d = P(fma)(w[0], small, large);
    T r = n / d, r2 = r * r, rest = P(nfma)(r, d, n), guess = P(from)(KB(arc_inverse) - P(bits)(d));
    T v = P(flip)(w[1], turn), high = P(fma)(quarters, K(half_pi_high), v), sum = high + r;
    T low = P(fma)(quarters, K(half_pi_second), v + P(fms)(quarters, K(half_pi_high), high));
    low = P(fma)(rest, guess, low + (r - (sum - high)));
    return P(fma)(r * r2, POLYNOMIAL(arc_rest, r2, r2 * r2), low) + sum;
}

VK_FN T NAME(atan)(T x) {
    T one = K(one), a = P(abs)(x), sign = P(from)(P(bits)(x) & KB(sign));
#ifdef VK_ALONE /* the same bits sooner */
    if (a < LIMIT(0.125, 0.125F)) {
        T r2 = a * a;
        return P(flip)(P(fma)(a * r2, POLYNOMIAL(arc_rest, r2, r2 * r2), 0) + a, sign);
    }
    if (UNLIKELY(a > K(arc_far)))
        a = K(arc_far);
#else
    a = P(min)(K(arc_far), a);
#endif
    T over = one - a, turn = P(from)(P(bits)(over) & KB(sign));
    return P(flip)(NAME(arc)(a, one, P(either)(over, one, P(set)(0)), turn), sign);
}

VK_OP T NAME(atan2_near)(T y, T x, T a, T b) {
    T over = b - a, quarters = P(either)(over, K(one), P(either)(x, K(two), P(set)(0)));
    T r = NAME(arc)(a, b, quarters, P(from)((P(bits)(over) ^ P(bits)(x)) & KB(sign)));
    return P(flip)(r, P(from)(P(bits)(y) & KB(sign)));
}

VK_COLD T NAME(atan2_rare)(T y, T x) {
    T a = P(abs)(y), b = P(abs)(x), large = P(max)(a, b), one = P(set)(1), zero = P(set)(0);
    C big = P(not_less)(large, K(arc_most)), tiny = P(less)(large, K(arc_some));
    T scale =
        P(pick)(big, P(set)(LIMIT(0x1p-200, 0x1p-30F)), P(pick)(tiny, P(set)(LIMIT(0x1p400, 0x1p60F)), one));
    T inf = P(set)((S)INFINITY);
    C far = P(equal)(large, inf), none = P(equal)(large, zero);
    T u = P(pick)(far, P(pick)(P(equal)(a, inf), one, zero), a * scale);
    T v = P(pick)(far, P(pick)(P(equal)(b, inf), one, zero), P(pick)(none, one, b * scale));
    return P(pick)(P(unordered)(x, y), P(set)((S)NAN), NAME(atan2_near)(y, x, u, v));
}

VK_FN T NAME(atan2)(T y, T x) {
    T a = P(abs)(y), b = P(abs)(x), both = a + b;
    if (UNLIKELY(Q(any)(Q(or)(P(not_less)(both, K(arc_most)), P(less)(both, K(arc_some))))))
        return NAME(atan2_rare)(y, x);
    return NAME(atan2_near)(y, x, a, b);
}

#undef LOOK
#undef POLYNOMIAL

#endif
