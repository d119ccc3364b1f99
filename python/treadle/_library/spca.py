"""Sparse PCA by sampling: what compiled code does with a range of samples, in four ways that find the same.

Rows of V (p rows, d columns) are loadings. A sample is a unit vector c; what it is worth is the sum of the k largest
a * a of a = V c, and the best sample is searched for, of equal ones the first. A sample is a function of the key and
its number alone (`philox`), so ranges can be cut anywhere, and the best of two ranges is the better of two bests.

The worth that counts is `worth`: the k largest, in descending order, squared and added by `np.sum`. It is a number
with its rounding, and the ways must agree on it to the bit. So the faster ways compute something cheaper, which is
never far from it, and ask for it where it may decide:

- *posed* computes all a of many samples as an array, and sorts out the best of each.
- *fused* takes one sample at a time: `collected` computes the a of blocks of rows, and keeps those above a threshold,
  which is a guess: of k or more that are kept the k largest are those of all, and `largest` finds them by halving.
- *early* ends the blocks where no row of the rest is long enough for the threshold: |a| is at most a row's length,
  and rows are in descending order of it, by and large; `norm` has the longest of what comes from a row on.
- *pruned* looks for samples that are better than the best so far, of which there are few. For any t the worth is at
  most U(t) = k t^2 + sum max(a^2 - t^2, 0), and with t near the k-th |a| of the best not by much. Only rows longer than
  t add to the sum. Samples with U above the best are tried as in *early*. It begins with one sample that is tried
  because its U is large, and all parts of a range are held against that.

What rounding does to bounds is in `slack` and `margin`: a in floats of unit roundoff u differs from V c by less than
(d + 3) u |row|, however it is computed, and a sum of n terms that are not negative by n u of itself.

V comes as a tuple of columns, so that loops over them are unrolled, padded by rows of zeros to whole blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treadle._core import prange
from treadle._library import Constant, tabulated
from treadle._library.philox import normal32, normal64
from treadle._library.primitives import topk

#: Rows that are computed between looks at whether one of them is above the threshold.
ROWS = 64
#: Samples that are drawn at once; what there is of them fits the first level of the cache.
SAMPLES = 1024
#: Samples of which one that looks good is what the others are held against.
FIRST = 512
#: How many items the arrays of *posed* have.
ITEMS = 1 << 22

#: Lengths are told apart by so many classes, 32 for each power of two.
CLASSES = 1024

# The ways; the order matters nowhere.
POSED, FUSED, EARLY, PRUNED = 0, 1, 2, 3


# --- loadings ---


def prepared(V: Any, k: Any, parts: Any, d: Constant) -> Any:
    """What is asked of loadings of d columns: these, scaled; the same, longer rows first, by and large, and padded; what
    |a| of these and later ones is at most; the form that thresholds are guessed by; and the power of two that they were divided by.
    The largest item comes before the power, as nothing holds where that is not finite.

    Where there are threads, they are awake once the items have been looked at, and the rest is done in the meantime.
    """
    p = len(V)
    tops = np.empty(parts, V.dtype)
    for part in prange(parts):
        tops[part] = np.abs(V[part * p // parts : (part + 1) * p // parts]).max()
    top = tops.max()
    _, exponent = math.frexp(top)
    scaled = scaled_columns(V, exponent, d)
    lengths = np.sqrt(squares(scaled))
    order = descending(lengths)
    norm = np.zeros(-(-p // ROWS) * ROWS, V.dtype)
    most, above = 0.0, 1 + slack(d) * unit(scaled)
    for i in range(p - 1, -1, -1):
        most = max(most, lengths[order[i]])
        norm[i] = most * above
    # What V c is like in the direction c, but for a few rows that are much longer than the others.
    share = np.minimum(1.0, lengths[order[k - 1]] / np.maximum(lengths, 1e-300))
    return (
        scaled,
        ordered(scaled, order, len(norm)),
        norm,
        shaped(scaled, share * share / p, d),
        top,
        exponent,
    )


def scaled_columns(V: Any, exponent: Any, d: Constant) -> Any:
    if d == 0:
        return ()
    # Where one factor may be out of range there are two. Only the last one rounds, if any: what the first one brings
    # below the normal numbers is zero in the end.
    half = exponent // 2 if abs(exponent) > 120 else 0
    x = V[:, d - 1] * V.dtype.type(2.0**-half) * V.dtype.type(2.0 ** (half - exponent))
    return (*scaled_columns(V, exponent, d - 1), x)


def squares(columns: Any) -> Any:
    """The squares of rows' lengths."""
    x = columns[0].astype(np.float64)
    if len(columns) == 1:
        return x * x
    return x * x + squares(columns[1:])


def descending(lengths: Any) -> Any:
    """An order of lengths in which no later one is longer by more than 1/32, or both are tiny: by counting."""
    bits = lengths.astype(np.float32).view(np.uint32)
    of = np.minimum((bits.max() - bits) >> np.uint32(18), np.uint32(CLASSES - 1)).astype(np.int64)
    start = np.zeros(CLASSES + 1, np.int64)
    for i in range(len(of)):
        start[of[i] + 1] += 1
    for i in range(CLASSES):
        start[i + 1] += start[i]
    order = np.empty(len(of), np.int64)
    for i in range(len(of)):
        order[start[of[i]]] = i
        start[of[i]] += 1
    return order


def ordered(columns: Any, order: Any, n: Any) -> Any:
    """Columns in an order, zeros behind them, n items in all."""
    if len(columns) == 0:
        return ()
    x = np.zeros(n, columns[0].dtype)
    x[: len(order)] = columns[0][order]
    return (x, *ordered(columns[1:], order, n))


def shaped(columns: Any, weights: Any, n: Constant) -> Any:
    """A symmetric matrix as columns: sums of products of two columns' items and weights."""
    if n == 0:
        return ()
    w = columns[n - 1].astype(np.float64) * weights
    return (*shaped(columns, weights, n - 1), sums(columns, w))


def sums(columns: Any, w: Any) -> Any:
    if len(columns) == 0:
        return ()
    return (columns[0].dtype.type((columns[0] * w).sum()), *sums(columns[1:], w))


def chosen(columns: Any, c: Any, k: Any, signed: Constant, polished: Constant) -> Any:
    """Of V c the places of the k largest, of equal ones the first, ascending; and the vector with what stands there.

    Polished, it is the leading eigenvector of what the chosen rows make, and its eigenvalue comes with it. Else -1 does.
    """
    a = contracted(typed(c, columns), columns)
    if signed:
        _, places = topk(a, k)
    else:
        _, places = topk(a, k, key=abs)
    at = np.sort(places)
    if not polished:
        return at, unit_vector(a[at]), -1.0
    rows = np.empty((k, len(columns)))
    fill(rows, columns, at)
    eigenvalues, vectors = np.linalg.eigh(rows.T @ rows)
    values = unit_vector(rows @ vectors[:, len(columns) - 1])
    return at, values.astype(a.dtype), max(eigenvalues[len(columns) - 1], 0.0)


def unit_vector(a: Any) -> Any:
    """A vector of length 1, whose largest entry, of equal ones the first, is positive; of zeros, the first axis'."""
    size = np.sqrt(a.dot(a))
    if not size > 0:
        x = np.zeros_like(a)
        x[0] = 1
        return x
    return a / (size if a[np.abs(a).argmax()] > 0 else -size)


def typed(x: Any, like: Any) -> Any:
    """Numbers in the type of others, or of columns: what Python had in its hands has lost it."""
    if len(x) == 0:
        return ()
    return (type_of(like[0], x[0]), *typed(x[1:], like))


def fill(rows: Any, columns: Any, at: Any) -> None:
    if len(columns) > 0:
        rows[:, rows.shape[1] - len(columns)] = columns[0][at]
        fill(rows, columns[1:], at)


# --- samples ---


def drawn(v: Any, key: Any, first: Any, n: Any) -> Any:
    """Normal numbers of n samples from one on, a row for each; in the type of V."""
    return numbers(v, key, first, n, len(v))


def numbers(v: Any, key: Any, first: Any, n: Any, d: Constant) -> Any:
    def single(s: Any, j: Any) -> Any:
        return normal32(j, s + first, key)

    def double(s: Any, j: Any) -> Any:
        return normal64(j, s + first, key)

    return tabulated(single if v[0].dtype == np.float32 else double, (n, d))


def point(v: Any, g: Any, s: Any) -> Any:
    """The unit vector of a sample, as a tuple; zeros where there is no direction."""
    x = row_of(g, s, len(v))
    square = contracted(x, x)
    return over(x, np.sqrt(square) if square > 0 else one_of(v))


def row_of(g: Any, s: Any, d: Constant) -> Any:
    """A row of d items as a tuple."""
    if d == 0:
        return ()
    return (*row_of(g, s, d - 1), g[s, d - 1])


def over(x: Any, q: Any) -> Any:
    if len(x) == 0:
        return ()
    return (x[0] / q, *over(x[1:], q))


def contracted(x: Any, y: Any) -> Any:
    """The sum of products from the left, each rounded."""
    return contracted_from(x[0] * y[0], x[1:], y[1:])


def contracted_from(sum: Any, x: Any, y: Any) -> Any:
    if len(x) == 0:
        return sum
    return contracted_from(sum + x[0] * y[0], x[1:], y[1:])


def at(columns: Any, i: Any) -> Any:
    """Item i of each."""
    if len(columns) == 0:
        return ()
    return (columns[0][i], *at(columns[1:], i))


def one_of(v: Any) -> Any:
    return v[0].dtype.type(1)


def keyed(a: Any, signed: Constant) -> Any:
    """What items are compared by."""
    return a if signed else abs(a)


# --- one sample ---


def worth(keys: Any, k: Any) -> Any:
    """The sum of squares of the k largest, the number that all ways agree on; and the k-th. What is missing is zero."""
    top = np.sort(keys)[::-1][:k]
    best = np.zeros(k, top.dtype)
    best[: len(top)] = top
    return (best * best).sum(), best[k - 1]


def collected(v: Any, p: Any, c: Any, norm: Any, least: Any, stop: Constant, signed: Constant, a: Any) -> Any:
    """The keys above `least`, zero or more, of p rows: the inner loop of *fused* and *early*. `a` is room for all keys."""
    end = 0
    for low in range(0, p, ROWS):
        if stop and norm[low] <= least:
            break
        hit = False
        for i in range(ROWS):
            x = keyed(contracted(c, at(v, low + i)), signed)
            a[low + i] = x
            hit |= x > least
        if hit:
            end = low + ROWS
    kept = a[:end]  # of padding nothing is above zero
    return kept[kept > least]


def largest(keys: Any, k: Any, low: Any, high: Any) -> Any:
    """The sum of squares of the k largest of positive keys, in some order of additions; and what is just below these.

    `low` is below all keys, of which there are k or more, and `high` above all. The k-th is taken to be near `low`.
    """
    n = len(keys)
    step = (low if low > 0 else high) * type_of(low, 0.03125)
    while n != k:
        middle = low + min(step, (high - low) / 2)
        if middle <= low or middle >= high:
            break
        count = 0
        for i in range(len(keys)):
            count += keys[i] >= middle
        if count >= k:
            low, n = middle, count
            step += step
        else:
            high = middle
    # Those above `low` are k, or less, and then `low` itself is there often enough.
    sum, count = low - low, 0
    for i in range(len(keys)):
        x = keys[i]
        sum += x * x if x > low else low - low
        count += x > low
    return sum + type_of(low, k - count) * (low * low), low


def type_of(like: Any, x: Any) -> Any:
    return like.dtype.type(x)


def tried(
    v: Any, p: Any, norm: Any, shape: Any, k: Any, c: Any, best: Any, share: Any, stop: Constant, signed: Constant,
    a: Any,
) -> Any:  # fmt: skip
    """The worth of a sample that is better than `best`, or something not above it; its k-th key; the next share.

    The threshold is a guess: a share of what the quadratic form `shape` says of V c in this direction. If there are k
    keys above it, they have the k largest among them. If not it was too high, and a lower one is tried.
    """
    size = np.sqrt(max(contracted(c, forms(shape, c)), share - share))
    guess = share * size
    keys = collected(v, p, c, norm, guess, stop, signed, a)
    tries = 0
    while len(keys) < k and guess > 0:
        tries += 1
        share *= type_of(share, 0.95)
        guess *= type_of(share, 0.8 if tries < 3 else 0)
        keys = collected(v, p, c, norm, guess, stop, signed, a)
    if len(keys) >= k:
        most, low = largest(keys, k, guess, norm[0] + norm[0])
        if guess == 0:
            share = low / size * type_of(share, 0.95) if size > 0 else share
        elif len(keys) > 4 * k + 16:
            share = max(share * type_of(share, 1.1), low / size * type_of(share, 0.8))
        elif len(keys) > k + k // 4 + 4:
            share *= type_of(share, 1.01)
        most *= 1 + 4 * type_of(share, k + 8) * unit(v)  # rounded in another way, so by less than this
        if most < best:
            return most, low, share
    elif signed:
        for i in range(p):
            a[i] = keyed(contracted(c, at(v, i)), signed)
        keys = a[:p]
    w, kth = worth(keys, k)
    return w, kth, share


def usual(v: Any, p: Any, k: Any) -> Any:
    """A share to begin with: by and large that of the k-th of p normal numbers."""
    return type_of(v[0], 0.7 * math.sqrt(2 * math.log(p / k)))


def forms(columns: Any, c: Any) -> Any:
    """A symmetric matrix, a tuple of its columns, times a vector."""
    return product(columns, c, len(c))


def product(columns: Any, c: Any, n: Constant) -> Any:
    if n == 0:
        return ()
    return (*product(columns, c, n - 1), contracted(c, typed(columns[n - 1], c)))


def unit(v: Any) -> Any:
    """The unit roundoff."""
    return np.finfo(v[0].dtype).eps / 2


# --- ranges of samples ---


def best_of(
    v: Any, p: Any, norm: Any, shape: Any, k: Any, key: Any, low: Any, high: Any, found: Any, share: Any,
    way: Constant, signed: Constant,
) -> Any:  # fmt: skip
    """The best of samples from `low` to `high` and of what was found before: what it is worth, its number, its k-th."""
    if way == POSED:
        return posed(v, p, k, key, low, high, found, signed)
    a = np.empty(len(norm), v[0].dtype)
    best, number, kth = found
    for first in range(low, high, SAMPLES):
        g = drawn(v, key, first, min(SAMPLES, high - first))
        if way == PRUNED and best > 0:
            bar = margin(v, p, k, norm, best)
            # As U(t) is k t^2 at least, t must not be so large that this is above the bar.
            most = np.sqrt(max(bar, bar - bar) / type_of(bar, k)) * (1 - 8 * unit(v))
            u, square = bounds(v, k, norm, g, min(kth, most))
            for s in range(len(g)):
                if u[s] > bar * square[s]:
                    c = point(v, g, s)
                    w, t, share = tried(v, p, norm, shape, k, c, best, share, True, signed, a)
                    if w > best:
                        best, number, kth = w, first + s, t
                        bar = margin(v, p, k, norm, best)
        else:
            for s in range(len(g)):
                c = point(v, g, s)
                w, t, share = tried(v, p, norm, shape, k, c, best, share, way != FUSED, signed, a)
                if w > best or number < 0:
                    best, number, kth = w, first + s, t
    return best, number, kth


def bounds(v: Any, k: Any, norm: Any, g: Any, t: Any) -> Any:
    """U(t) of samples, times the squares of their lengths; and these squares."""
    x = columns_of(g, len(v))
    n = len(g)
    square, u = np.empty(n, v[0].dtype), np.empty(n, v[0].dtype)
    most = type_of(t, k) * (t * t)
    for s in range(n):
        c = at(x, s)
        q = contracted(c, c)
        square[s] = q
        u[s] = most * q
    # How many rows are longer than t; four are added at a time, and some that add nothing do no harm.
    rows = 0
    while rows < len(norm) and norm[rows] > t:
        rows += 4
    zero, level = t - t, t * t
    for i in range(0, rows, 4):
        r0, r1, r2, r3 = at(v, i), at(v, i + 1), at(v, i + 2), at(v, i + 3)
        for s in range(n):
            c, q = at(x, s), level * square[s]
            e0, e1, e2, e3 = contracted(c, r0), contracted(c, r1), contracted(c, r2), contracted(c, r3)
            e0, e1, e2, e3 = e0 * e0 - q, e1 * e1 - q, e2 * e2 - q, e3 * e3 - q
            u[s] += ((e0 if e0 > zero else zero) + (e1 if e1 > zero else zero)) + (
                (e2 if e2 > zero else zero) + (e3 if e3 > zero else zero)
            )
    return u, square


def columns_of(g: Any, d: Constant) -> Any:
    if d == 0:
        return ()
    return (*columns_of(g, d - 1), np.ascontiguousarray(g[:, d - 1]))


def margin(v: Any, p: Any, k: Any, norm: Any, best: Any) -> Any:
    """What U is held against: a sample whose U is not above it is not better than `best`, whatever was rounded."""
    u = unit(v)
    root = np.sqrt(np.float64(best)) - 2 * np.sqrt(float(k)) * slack(len(v)) * u * norm[0]
    return type_of(best, root * root * (1 - 2 * (p + k + 24) * u) if root > 0 else -1.0)


def slack(d: Any) -> Any:
    """How many units the a of a row may be off, of the row's length; both ways of computing it together."""
    return 4 * d + 16


def posed(v: Any, p: Any, k: Any, key: Any, low: Any, high: Any, found: Any, signed: Constant) -> Any:
    """*posed*: arrays, in batches."""
    best, number, kth = found
    batch = max(1, ITEMS // p)
    for first in range(low, high, batch):
        g = columns_of(drawn(v, key, first, min(batch, high - first)), len(v))
        square = contracted(g, g)
        c = over(g, np.sqrt(np.where(square > 0, square, one_of(v))))
        a = contracted(standing(c), heads(v, p))
        if signed:
            top, _ = topk(a, k, axis=1)
        else:
            top, _ = topk(a, k, axis=1, key=abs)
        w = (top * top).sum(axis=1)
        s = w.argmax()
        if w[s] > best or number < 0:
            best, number, kth = w[s], first + s, abs(top[s, k - 1])
    return best, number, kth


def standing(c: Any) -> Any:
    """Arrays as columns of one item each."""
    if len(c) == 0:
        return ()
    return (c[0][:, None], *standing(c[1:]))


def heads(v: Any, p: Any) -> Any:
    """The first p items of each."""
    if len(v) == 0:
        return ()
    return (v[0][:p], *heads(v[1:], p))


def best_of_all(
    v: Any, p: Any, norm: Any, shape: Any, k: Any, key: Any, low: Any, high: Any, found: Any, parts: Any,
    way: Constant, signed: Constant,
) -> Any:  # fmt: skip
    """The same, of parts of the range at once; and the best sample."""
    begun, share = (type_of(v[0], found[0]), found[1], type_of(v[0], found[2])), usual(v, p, k)
    if way == PRUNED and found[1] < 0:
        begun, share = promised(v, p, norm, shape, k, key, low, min(FIRST, high - low), share, signed)
    n = high - low
    worths, kths, places = np.empty(parts, v[0].dtype), np.empty(parts, v[0].dtype), np.empty(parts, np.int64)
    for part in prange(parts):
        first, end = low + cut(n, part, parts), low + cut(n, part + 1, parts)
        worths[part], places[part], kths[part] = best_of(
            v, p, norm, shape, k, key, first, end, begun, share, way, signed
        )
    best, place, kth = begun
    for part in range(parts):
        if worths[part] > best:
            best, place, kth = worths[part], places[part], kths[part]
    return best, place, kth, point(v, drawn(v, key, place, 1), 0)


def cut(n: Any, part: Any, parts: Any) -> Any:
    """Where a part begins, of parts that are as long as each other but for one sample; n times parts may be no int64."""
    return n // parts * part + n % parts * part // parts


def promised(
    v: Any, p: Any, norm: Any, shape: Any, k: Any, key: Any, low: Any, n: Any, share: Any, signed: Constant
) -> Any:
    """As if found: less than what one of n samples is worth, by one unit, no sample, and that one's k-th.

    It is one that U makes look good. As what is told is less, it is found again, or an equal one before it.
    """
    a = np.empty(len(norm), v[0].dtype)
    g = drawn(v, key, low, n)
    u, square = bounds(v, k, norm, g, norm[min(2 * k, p) - 1])
    s = np.where(square > 0, u / square, type_of(a, 0)).argmax()
    w, kth, share = tried(v, p, norm, shape, k, point(v, g, s), -one_of(v), share, True, signed, a)
    return (np.nextafter(w, -one_of(v)), -1, kth), share
