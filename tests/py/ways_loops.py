"""Rows of the matrix of ways in (ways_features.py): loops that the compiler takes for something else, and arrays that are not aligned.

Each has what an optimisation looks for and what it has to leave alone: sizes on both sides of what versions ask, indices that leave an array,
values that are no numbers.
"""

from __future__ import annotations

import numpy as np
from treadle import prange
from ways_rows import feature, floats, ints, matrix

TAPS = np.array([0.25, -1.5, 2.0, 0.5])


def loose(a: np.ndarray) -> np.ndarray:
    """The same items at an address that their type does not allow."""
    out = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    assert not out.flags.aligned
    return out


# --- array statements and neighbours ---


@feature(
    lambda: (floats(12), floats(12, 2), 3),
    lambda: (floats(40), floats(40, 2)[::-1], 2),
    lambda: (*2 * (floats(12),), 2),
    lambda: (floats(2), floats(2), 1),
)
def statements_that_store_into_inputs(a, b, n):
    for _ in range(n):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.3 * (b[:-2] + b[1:-1] + b[2:])
    return a.copy(), b.sum()


@feature(
    lambda: (floats(40), TAPS[:3].copy()),
    lambda: (floats(24)[::2], TAPS[::-1][:3]),
    lambda: (floats(3), TAPS),
)
def offsets_that_are_constants(x, k):
    n = len(x)
    out, local = np.zeros(n), 0.0
    for i in range(3, n):
        s = 0.0
        for p in range(4):
            s += x[i - p] * TAPS[p]
        out[i] = s + k[0] * x[i - 2] - k[2] * x[i - 3]
        local += x[i - 1]
    return out, local


@feature(
    lambda: (floats(30).reshape(5, 6), 4),
    lambda: (floats(30).reshape(6, 5).T, 5),
    lambda: (matrix(), 4),
    lambda: (matrix(), 6),
)
def rows_of_few_rounds(a, w):
    b = np.ones_like(a)
    for i in range(a.shape[0]):
        for j in range(w):
            b[i, j] += a[i, j] * 2
    for i in range(1, a.shape[0]):
        a[i] = b[i - 1]
    return b, a[0].sum()


# --- what a round hands to the next ---


@feature(
    lambda: (floats(20), 0.5),
    lambda: (floats(20)[::-2], -0.25),
    lambda: (floats(1), 0.5),
    lambda: (np.zeros(0), 1.0),
)
def values_carried_by_a_place(x, c):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] if i == 0 else c * out[i - 1] + x[i]
    for i in range(1, len(x)):
        x[i] += x[i - 1]
    return out


def holes() -> np.ndarray:
    """Numbers, some of them missing."""
    a = floats(15)
    a[[0, 3, 4, 9]] = np.nan
    return a


@feature(lambda: (holes(),), lambda: (holes()[::2],), lambda: (loose(holes()),), lambda: (floats(1),))
def holes_filled_from_before(x):
    out = x.copy()
    for i in range(1, len(out)):
        if np.isnan(out[i]):
            out[i] = out[i - 1]
    last, n = 0.0, 0
    for i in range(len(x)):
        if not np.isnan(x[i]):
            last, n = x[i], n + 1
    return out, last, n


@feature(lambda: (floats(20),), lambda: (holes(),), lambda: (np.full(5, 2.0),), lambda: (floats(9, 3)[::-2],))
def extremes_and_their_places(x):
    best, at, low = x[0], 0, 1e300
    for i in range(len(x)):
        if x[i] > best:
            best, at = x[i], i
        low = min(low, x[i])
    return best, at, low


@feature(lambda: (floats(40),), lambda: (np.array([7.0, -1.0, 7.0]),), parallel=True)
def extremes_of_a_prange(x):
    best, at = -1e300, -1
    for i in prange(len(x)):
        if x[i] > best:
            best = x[i]
            at = i
    return best, at


@feature(
    lambda: (np.abs(floats(36)).reshape(6, 6),), lambda: (np.abs(floats(9)).reshape(3, 3).T,), parallel=True
)
def rounds_that_all_read_one(d):
    for k in range(len(d)):
        for i in prange(len(d)):
            for j in range(len(d)):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d.sum()


# --- arithmetic with another shape ---


@feature(
    lambda: (np.abs(floats(9)) + 0.5, 3),
    lambda: (np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -2.0]), -2),
    lambda: (loose(floats(6)), 17),
    python=False,
    rtol=2e-15,  # products, or pow: both within the bound of docs/semantics.md
)
def powers_of_constants(x, n):
    return (x**0.5, x**-1, x**-2, x**1, x**0, x**1.5, x**-0.5, x**3, x**9, x**13, np.power(x, 8), x**n,
            (-1) ** n, 3.0**n, x[1] ** 11, x[1] ** n)  # fmt: skip


@feature(
    lambda: (floats(16), 8),
    lambda: (np.array([0.0, -0.0, 5.0, -1e-300, 2.0**60, -0.25]), 4),
    lambda: (np.array([np.inf, np.nan]), 3),
)
def fractions_and_floors(x, n):
    s, h = 0.0, np.zeros(n, np.int64)
    for i in range(len(x)):
        f = x[i] % 1.0
        s += f + x[i] // 1.0
        if 0.0 <= f < 1.0:
            h[int(f * n)] += 1
    return s, h


@feature(
    lambda: (np.abs(floats(30)), 6, 0.5),
    lambda: (floats(10), 4, 1.0),
    lambda: (np.array([1.0, np.nan]), 3, 1.0),
    python=False,
)
def cells_that_are_clamped(x, m, scale):
    h = np.zeros(m)
    for i in range(len(x)):
        c = int(x[i] * scale)
        if c < 0:
            c = 0
        if c >= m:
            c = m - 1
        h[c] += x[i]
    return h


@feature(
    lambda: (ints(20), 7),
    lambda: (-ints(20) * 1000, 3),
    lambda: (ints(9, "i4"), -4),
    lambda: (ints(3), 0),
    python=False,
)
def divisions_by_what_stays(a, k):
    return a // 7, a % 12, (a // 1000).sum(), sum([x // k for x in a])


# --- what raises always, or is caught ---


def _bad_value(v):
    for k in range(3):
        last = v * k
    raise ValueError("bad value", last)


def _unbound(v, flag):
    if flag:
        text = "negative"
    del flag
    raise ArithmeticError(text, v)


@feature(
    lambda: (floats(6), 1), lambda: (np.abs(floats(6)), 1), lambda: (floats(6), 0), lambda: (floats(6), 2)
)
def calls_that_raise_always(a, how):
    s, caught = 0.0, 0
    for x in a:
        if x < 0 and how == 1:
            _bad_value(x)
        if x < 0 and how == 2:
            return _unbound(x, True)
        try:
            if x < 0:
                _bad_value(x)
            s += x**0.5
        except ValueError:
            caught += 1
    return s, caught


# --- arrays that are not aligned ---


@feature(
    lambda: (loose(floats(12)), 3),
    lambda: (loose(floats(24))[::-2], 0),
    lambda: (loose(ints(12).astype(np.int32)), 5),
    lambda: (loose(floats(12) + 1j), 2),
    lambda: (loose(floats(12)), 12),
    lambda: (np.frombuffer(b"x" + floats(6).tobytes(), np.float64, offset=1), 2),
)  # fmt: skip
def arrays_that_are_not_aligned(a, k):
    b = a * 2 + a[::-1]
    s = a[k]
    for i in range(len(a)):
        s += a[i] * 3
    return (
        b,
        s,
        a.sum(),
        np.cumsum(a),
        a.ravel()[1:],
        a.conj(),
        np.sort(a),
        a.reshape(2, -1) @ np.ones(len(a) // 2),
    )


@feature(lambda: (loose(floats(12)), floats(12)), lambda: (floats(12), loose(floats(24))[::2]))
def arrays_that_are_not_aligned_are_stored_into(a, b):
    a[1:] = b[:-1] + a[1:]
    a[np.array([0, 2, 0])] += 1.5
    b[...] = a[::-1]
    np.put(b, np.array([1, 3]), a[4:6])
    return np.diff(a, 0)[0]
