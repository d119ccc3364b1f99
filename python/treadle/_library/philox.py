"""Random numbers by key and place: Philox4x32-10, whose values are functions of both, in whatever order they are asked for.

The generator is that of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011): ten
rounds make four words of 32 bits of a counter of 128 bits and a key of 64.

How items get their words is a promise, since a program's results hang on it. An array's last axis is a stream: item
i of 32 bits is word i % 4 of the block whose counter is (i // 4, number of the row), so the first row's words are
those of the counters 0, 1, 2, ... An item of 64 bits is two words, the lower half first. What no draw uses, the
highest byte of the counter, tells split and fold_in from draws.

Only integers, and floats by operations that IEEE 754 rounds correctly: the same bits in vectors, alone, on any
machine. Four neighbours ask for one block, and the schedule's `unroll` (``src/opt/pattern/schedule.c``) computes it
once for all four, wherever the loop begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle._library import Constant, is_constant, mapped, refuse, tabulated
from treadle._library.parts import shifted

# The multipliers, and what the halves of the key grow by from round to round.
M0, M1, W0, W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
# What a counter's highest byte says it is for.
DRAW, SPLIT, FOLD = 0, 1, 2

# Polynomials through Chebyshev's points, of z: (atanh(s) / s - 1) / z for z = s * s up to 0.04; sin(2 pi x) / x and
# (cos(2 pi x) - 1) / z for z = x * x up to 1 / 64.
LOG32 = (0.3333335816860199, 0.19989454746246338, 0.14979597926139832)
SIN32 = (6.2831854820251465, -41.3416633605957, 81.59254455566406, -75.401611328125)
COS32 = (-19.739208221435547, 64.93936920166016, -85.44882202148438, 59.42410659790039)
LOG64 = (
    0.3333333333333333, 0.2000000000000397, 0.14285714283637968, 0.11111111524175794,
    0.09090868813151469, 0.07694433902806859, 0.06604854121029731, 0.06804515131429249,
)  # fmt: skip
SIN64 = (
    6.283185307179586, -41.341702240399634, 81.60524927594804, -76.70585970427454,
    42.058685020160894, -15.093804209987114, 3.7808689593022957,
)  # fmt: skip
COS64 = (
    -19.739208802178716, 64.93939402266824, -85.4568172066438, 60.24464135270201,
    -26.426253275854723, 7.903206911569678, -1.6990343940660637,
)  # fmt: skip


# --- keys ---


def key(seed: Any) -> Any:
    """The key that a seed is."""
    if not isinstance(seed, (int, np.integer)):
        refuse("a seed is an integer")
    return np.uint64(seed)


def split(key: Any, n: Any = 2) -> Any:
    """So many keys, which have nothing to do with each other nor with what else is made of this one."""
    return indexed(part, (n,), known(key))


def part(i: Any, row: Any, key: Any) -> Any:
    return pair(key, np.uint64(i), np.uint64(row), SPLIT)


def fold_in(key: Any, data: Any) -> Any:
    """The key of a key and a number."""
    if not isinstance(data, (int, np.integer)):
        refuse("what is folded in is an integer")
    return pair(known(key), np.uint64(data), np.uint64(0), FOLD)


def pair(key: Any, at: Any, row: Any, use: Constant) -> Any:
    a, b, c, d = block(key, at, row, use)
    return a | b << np.uint64(32)


def known(key: Any) -> Any:
    """A key as a number."""
    if isinstance(key, np.ndarray):
        if key.ndim != 0:
            refuse("a key is one number: an item of what split() gives")
        return known(key[()])
    if not isinstance(key, (int, np.integer)):
        refuse("a key is what key(), split() and fold_in() give, an integer")
    return np.uint64(key)


# --- words ---


def block(key: Any, at: Any, row: Any, use: Constant) -> Any:
    """Four words, as uint64, of a key and the counter (at, row, use)."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    above = (row >> half) ^ np.uint64(use << 24)
    # Words stand in the lower halves of 64 bits: a product of two is one instruction of vectors.
    c0, c1, c2, c3 = rounds(at & low, at >> half, row & low, above, key & low, key >> half, 10)
    return c0 & low, c1 & low, c2 & low, c3 & low


def rounds(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n: Constant) -> Any:
    """So many rounds; without a loop, so that what comes of it is one expression."""
    if n == 0:
        return c0, c1, c2, c3
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    p0, p1 = (c0 & low) * np.uint64(M0), (c2 & low) * np.uint64(M1)
    d0, d2 = (p1 >> half) ^ c1 ^ k0, (p0 >> half) ^ c3 ^ k1
    return rounds(d0, p1, d2, p0, (k0 + np.uint64(W0)) & low, (k1 + np.uint64(W1)) & low, n - 1)


def is_odd(i: Any) -> Any:
    return i & np.uint64(1) != np.uint64(0)


def word(i: Any, row: Any, key: Any) -> Any:
    """Item i of 32 bits, as uint64."""
    at = np.uint64(i)
    a, b, c, d = block(key, at >> np.uint64(2), np.uint64(row), DRAW)
    first, second = b if is_odd(at) else a, d if is_odd(at) else c
    return second if is_odd(at >> np.uint64(1)) else first


def wide(i: Any, row: Any, key: Any) -> Any:
    """Item i of 64 bits."""
    at = np.uint64(i)
    a, b, c, d = block(key, at >> np.uint64(1), np.uint64(row), DRAW)
    return (c if is_odd(at) else a) | (d if is_odd(at) else b) << np.uint64(32)


def indexed(function: Any, shape: Any, *args: Any) -> Any:
    """What a function gives for the index along the last axis, the number of the row, and `args`."""

    def item(*at: Any) -> Any:
        return function(at[-1], row_of(at[:-1], shape), *args)

    if len(shape) == 3 and isinstance(shape[0], tuple):
        return indexed_part(function, *shape, *args)
    if len(shape) == 0:
        return function(0, 0, *args)
    return tabulated(item, shape)


def indexed_part(function: Any, first: Any, extents: Any, whole: Any, *args: Any) -> Any:
    """As `indexed`, of a part of the whole."""

    def item(*part: Any) -> Any:
        at = shifted(part, first)
        return function(at[-1], row_of(at[:-1], whole), *args)

    return tabulated(item, extents)


def row_of(at: Any, shape: Any) -> Any:
    """The number of a row in C order."""
    if len(at) == 0:
        return 0
    if len(at) == 1:
        return at[0]
    return row_of(at[:-1], shape) * shape[len(at) - 1] + at[-1]


def shape_of(shape: Any) -> Any:
    if isinstance(shape, tuple):
        return shape
    return (shape,)


# --- bits ---


def bits(key: Any, shape: Any = (), dtype: Any = np.uint32) -> Any:
    """Unsigned integers, all equally likely."""
    t, k, s = np.result_type(dtype), known(key), shape_of(shape)
    if t == np.uint64:
        return indexed(wide, s, k)
    if t == np.uint32:
        return indexed(word32, s, k)
    if t == np.uint16:
        return indexed(word16, s, k)
    if t == np.uint8:
        return indexed(word8, s, k)
    refuse("bits are uint8, uint16, uint32 or uint64")


def word32(i: Any, row: Any, key: Any) -> Any:
    return np.uint32(word(i, row, key))


def word16(i: Any, row: Any, key: Any) -> Any:
    return np.uint16(word(i, row, key) >> np.uint64(16))


def word8(i: Any, row: Any, key: Any) -> Any:
    return np.uint8(word(i, row, key) >> np.uint64(24))


# --- numbers in [0, 1), and between others ---


def uniform(
    key: Any, shape: Any = (), dtype: Any = np.float64, minval: Constant = 0, maxval: Constant = 1
) -> Any:
    """Numbers from minval up to maxval, multiples of 2**-24 or 2**-53 of what is between."""
    t, k, s = np.result_type(dtype), known(key), shape_of(shape)
    if t != np.float32 and t != np.float64:
        refuse("uniform numbers are float32 or float64")
    if is_constant(minval) and is_constant(maxval) and minval == 0 and maxval == 1:
        return indexed(unit32, s, k) if t == np.float32 else indexed(unit64, s, k)
    low = t.type(minval)
    return indexed(between, s, k, low, t.type(t.type(maxval) - low))


def unit32(i: Any, row: Any, key: Any) -> Any:
    return np.float32(np.int32(word(i, row, key) >> np.uint64(8))) * np.float32(2.0**-24)


def unit64(i: Any, row: Any, key: Any) -> Any:
    return np.float64(np.int64(wide(i, row, key) >> np.uint64(11))) * 2.0**-53


def between(i: Any, row: Any, key: Any, low: Any, span: Any) -> Any:
    unit = unit32(i, row, key) if isinstance(low, np.float32) else unit64(i, row, key)
    return low + unit * span


# --- normal numbers ---


def normal(key: Any, shape: Any = (), dtype: Any = np.float64) -> Any:
    """Normal numbers of mean 0 and variance 1, two of a radius and an angle (Box and Muller)."""
    t, k, s = np.result_type(dtype), known(key), shape_of(shape)
    if t == np.float32:
        return indexed(normal32, s, k)
    if t == np.float64:
        return indexed(normal64, s, k)
    refuse("normal numbers are float32 or float64")


def normal32(i: Any, row: Any, key: Any) -> Any:
    """Items 4 q and 4 q + 1 are of words 0 and 1 of a block, the next two of words 2 and 3."""
    at = np.uint64(i)
    a, b, c, d = block(key, at >> np.uint64(2), np.uint64(row), DRAW)
    second = is_odd(at >> np.uint64(1))
    return polar(
        c if second else a, d if second else b, at & np.uint64(1), 32, np.float32, LOG32, SIN32, COS32
    )


def normal64(i: Any, row: Any, key: Any) -> Any:
    """Two items are of a block: words 0 and 1 are the radius, 2 and 3 the angle."""
    at = np.uint64(i)
    a, b, c, d = block(key, at >> np.uint64(1), np.uint64(row), DRAW)
    drop, half = np.uint64(11), np.uint64(32)
    u, v = (a | b << half) >> drop, (c | d << half) >> drop
    return polar(u, v, at & np.uint64(1), 53, np.float64, LOG64, SIN64, COS64)


def polar(
    u: Any, v: Any, turn: Any, n: Constant, real: Any, log: Constant, sin: Constant, cos: Constant
) -> Any:
    """The cosine of an angle, or its sine, times a radius: of integers of n bits each."""
    return radius(u, n, real, log) * swing(v, turn, n, real, sin, cos)


def radius(u: Any, n: Constant, real: Any, log: Constant) -> Any:
    """The root of -2 log((u + 1) / 2**n)."""
    # u + 1 = 2**k (1 + f), -1/4 <= f < 1/2.
    x = u + np.uint64(1)
    e = int(x).bit_length()
    m = np.int64(x << np.uint64(n + 1 - e))
    upper = m >= np.int64(3 << (n - 1))
    g = m - np.int64(2 << n) if upper else m - np.int64(1 << n)
    f = real(np.int32(g) if n == 32 else g) * (real(0.5 ** (n + 1)) if upper else real(0.5**n))
    k = real(np.int32(e - n if upper else e - (n + 1)))
    s = f / (real(2) + f)
    z = s * s
    return np.sqrt(real(-2) * (k * real(0.6931471805599453) + (s + s + (s + s) * (z * series(z, real, log)))))


def swing(v: Any, turn: Any, n: Constant, real: Any, sin: Constant, cos: Constant) -> Any:
    """The cosine of v / 2**n turns; of a quarter of a turn less, its sine, with `turn`."""
    q = (v + np.uint64(1 << (n - 3))) >> np.uint64(n - 2)
    g = np.int64(v) - np.int64(q << np.uint64(n - 2))
    x = real(np.int32(g) if n == 32 else g) * real(0.5**n)
    z = x * x
    quarter = q + np.uint64(3) * turn
    y = x * series(z, real, sin) if is_odd(quarter) else real(1) + z * series(z, real, cos)
    return -y if is_odd((quarter + np.uint64(1)) >> np.uint64(1)) else y


def series(z: Any, real: Any, c: Constant) -> Any:
    """c[0] + c[1] z + ..."""
    if len(c) == 1:
        return real(c[0])
    return real(c[0]) + z * series(z, real, c[1:])


# --- integers ---


def randint(key: Any, minval: Any, maxval: Any, shape: Any = (), dtype: Any = np.int64) -> Any:
    """Integers from minval up to, without, maxval: the upper half of a product with 64 bits (Lemire)."""
    t, k, s = np.result_type(dtype), known(key), shape_of(shape)
    if t.kind != "i" and t.kind != "u":
        refuse("randint() gives integers")
    if isinstance(minval, (int, np.integer)) and isinstance(maxval, (int, np.integer)):
        check_range(minval >= maxval, minval < np.iinfo(t).min, maxval - 1 > np.iinfo(t).max)
        return indexed(integer, s, k, np.uint64(minval), np.uint64(maxval), t.type(0))
    low, high = np.asarray(minval), np.asarray(maxval)
    if low.dtype.kind not in "iu" or high.dtype.kind not in "iu":
        refuse("minval and maxval are integers")
    check_range(np.any(low >= high), np.any(low < np.iinfo(t).min), np.any(high - 1 > np.iinfo(t).max))
    r = mapped(scaled, indexed(wide, s, k), low, high, t.type(0))
    if r.shape != s:
        raise ValueError("minval and maxval do not broadcast to the shape")
    return r


def check_range(empty: Any, below: Any, above: Any) -> None:
    if empty:
        raise ValueError("minval >= maxval")
    if below:
        raise ValueError("minval is out of bounds for the type")
    if above:
        raise ValueError("maxval is out of bounds for the type")


def integer(i: Any, row: Any, key: Any, low: Any, high: Any, zero: Any) -> Any:
    return scaled(wide(i, row, key), low, high, zero)


def scaled(w: Any, low: Any, high: Any, zero: Any) -> Any:
    """The integer that 64 bits choose; an integer is as likely as any other but for 2**-64."""
    first = np.uint64(low)
    return type_of(zero, first + upper(w, np.uint64(high) - first))


def type_of(zero: Any, x: Any) -> Any:
    return zero.dtype.type(x)


def upper(a: Any, b: Any) -> Any:
    """The upper half of a product."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    p = a1 * b0 + (a0 * b0 >> half)
    q = a0 * b1 + (p & low)
    return a1 * b1 + (p >> half) + (q >> half)


# --- items ---


def choice(key: Any, a: Any, shape: Any = (), replace: Constant = True, p: Any = None) -> Any:
    """Items of an array, or numbers below one, which are as likely as p says; without `replace` none twice."""
    s = shape_of(shape)
    n = a if isinstance(a, (int, np.integer)) else len(a)
    if n <= 0:
        raise ValueError("a must be non-empty")
    at = placed(known(key), n, s, replace, p)
    return at if isinstance(a, (int, np.integer)) else np.take(a, at, axis=0)


def placed(key: Any, n: Any, s: Any, replace: Constant, p: Any) -> Any:
    """Where they stand."""
    if p is None:
        if replace:
            return randint(key, 0, n, s)
        return several(order_of(key, n), n, s)
    w = weights(p, n)
    if replace:
        c = np.cumsum(w)
        # Of (0, 1]: what has no weight is never the first that reaches it.
        return np.searchsorted(c, (1.0 - uniform(key, s)) * c[-1])
    if np.count_nonzero(w) < total(s):
        raise ValueError("Fewer non-zero entries in p than size")
    return several(np.argsort(-np.log(1.0 - uniform(key, (n,))) / w, kind="stable"), n, s)


def weights(p: Any, n: Any) -> Any:
    w = np.asarray(p).astype(np.float64)
    if w.ndim != 1 or len(w) != n:
        raise ValueError("'a' and 'p' must have same size")
    if not np.all(w >= 0.0) or not np.isfinite(np.sum(w)) or np.sum(w) == 0.0:
        raise ValueError("probabilities are not finite numbers from 0 on, of which one is more")
    return w


def several(order: Any, n: Any, s: Any) -> Any:
    """The first, in a shape."""
    k = total(s)
    if k > n:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    return order[:k].reshape(s)


def total(s: Any) -> Any:
    if len(s) == 0:
        return 1
    return s[0] * total(s[1:])


def order_of(key: Any, n: Any) -> Any:
    """The places below n in an order of which all are as likely."""
    return np.argsort(indexed(wide, (n,), key), kind="stable")


def permutation(key: Any, x: Any, axis: Constant = 0) -> Any:
    """The numbers below x, or what an array has along an axis, in another order."""
    k = known(key)
    if isinstance(x, (int, np.integer)):
        return order_of(k, x)
    return np.take(x, order_of(k, x.shape[axis]), axis=axis)
