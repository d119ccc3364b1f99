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
  and rows are in descending order of it.
- *pruned* looks for samples that are better than the best so far, of which there are few. For any t the worth is at
  most U(t) = k t^2 + sum max(a^2 - t^2, 0), and with t near the k-th |a| of the best not by much. Only rows longer than
  t add to the sum. Samples with U above the best are tried as in *early*.

What rounding does to bounds is in `slack` and `margin`: a in floats of unit roundoff u differs from V c by less than
(d + 3) u |row|, however it is computed, and a sum of n terms that are not negative by n u of itself.

V comes as a tuple of columns, so that loops over them are unrolled, padded by rows of zeros to whole blocks.
"""

from __future__ import annotations

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
#: Samples whose best is what the others are held against.
FIRST = 128
#: How many items the arrays of *posed* have.
ITEMS = 1 << 22

# The ways; the order matters nowhere.
POSED, FUSED, EARLY, PRUNED = 0, 1, 2, 3


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


def type_of(zero: Any, x: Any) -> Any:
    return zero.dtype.type(x)


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
            share *= type_of(share, 1.1)
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


def forms(columns: Any, c: Any) -> Any:
    """A symmetric matrix, a tuple of its columns, times a vector."""
    return product(columns, c, len(c))


def product(columns: Any, c: Any, n: Constant) -> Any:
    if n == 0:
        return ()
    return (*product(columns, c, n - 1), contracted(c, at(columns, n - 1)))


def unit(v: Any) -> Any:
    """The unit roundoff."""
    return np.finfo(v[0].dtype).eps / 2


# --- ranges of samples ---


def best_of(
    v: Any, p: Any, norm: Any, shape: Any, k: Any, key: Any, low: Any, high: Any, found: Any, way: Constant,
    signed: Constant,
) -> Any:  # fmt: skip
    """The best of samples from `low` to `high` and of what was found before: what it is worth, its number, its k-th."""
    if way == POSED:
        return posed(v, p, k, key, low, high, found, signed)
    a, share = np.empty(len(norm), v[0].dtype), v[0].dtype.type(0)
    best, number, kth = found
    for first in range(low, high, SAMPLES):
        g = drawn(v, key, first, min(SAMPLES, high - first))
        if way == PRUNED and number >= 0:
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
    start, begun = low, found
    if found[1] < 0:
        start = min(low + FIRST, high)
        begun = best_of(v, p, norm, shape, k, key, low, start, found, way, signed)
    each = -(-(high - start) // parts)
    worths, kths, places = np.empty(parts, v[0].dtype), np.empty(parts, v[0].dtype), np.empty(parts, np.int64)
    for part in prange(parts):
        first = min(start + part * each, high)
        worths[part], places[part], kths[part] = best_of(
            v, p, norm, shape, k, key, first, min(first + each, high), begun, way, signed
        )
    best, place, kth = begun
    for part in range(parts):
        if worths[part] > best:
            best, place, kth = worths[part], places[part], kths[part]
    return best, place, kth, point(v, drawn(v, key, place, 1), 0)
