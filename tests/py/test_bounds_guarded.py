"""Indices that a test in the loop allows, of sums that may wrap: `if i + k < n: x[i + k]`, against CPython on arrays of which int64 indices wrap."""

from __future__ import annotations

import numpy as np
import pytest
from treadle import guvectorize, njit

NEAR = 0, 1, 2, 5, 9, 10, -1, -2, -20
FAR = 2**58, 2**60, 2**62, 2**63 - 4, 2**63 - 1, -(2**63), -(2**63) + 3, -(2**60)


def halves(x, k, out):
    n = x.shape[0]
    for i in range(n):
        s = x[i]
        if i >= k:
            s += x[i - k]
        if i + k < n:
            s += x[i + k]
        out[i] = s


def together(x, k, out):
    n = x.shape[0]
    for i in range(n):
        if i - k >= 0 and i + k <= n - 1:
            out[i] = x[i - k] * 2 + x[i + k]
        else:
            out[i] = x[i]


def nested(x, k, out):
    n = x.shape[0]
    for i in range(n):
        s = 0.0
        for j in range(1, min(k, 5) + 1):
            if i >= j:
                s += x[i - j]
            if i + j < n:
                s += x[i + j] * j
            if 2 * i + k < n:
                s -= x[2 * i + k]
        out[i] = s


def around(x, k, out):
    n = x.shape[0]
    for i in range(n):
        j = i + k
        if j >= n:
            j = j - n
        out[i] = x[j]


def twice(x, k, out):
    """What holds behind one test is not what holds before the other."""
    n = x.shape[0]
    for i in range(n):
        if i + k < n:
            out[i] = x[i + k]
        else:
            out[i] = 0
        if n > i - k:
            out[i] += x[i - k]


def outcome(f, x, k):
    out = np.zeros(x.size)
    try:
        f(x, k, out)
        error = None
    except IndexError:
        error = IndexError
    return error, out.tolist()


def wrapping(f):
    """CPython's own, where sums of counters and k are those of int64."""

    def run(x, k, out):
        with np.errstate(over="ignore"):
            f(x, np.int64(k), out)

    return run


@pytest.mark.parametrize("f", [halves, together, nested, around, twice])
def test_guarded_sums(f):
    compiled = njit(f)
    lazily = guvectorize(["(float64[:], int64, float64[:])"], "(n),()->(n)")(f)
    for n in (0, 1, 2, 9):
        x = np.arange(1.0, n + 1)
        for k in (*NEAR, -n, -n - 1, *FAR):
            expected = outcome(wrapping(f), x, k)
            assert outcome(compiled, x, k) == expected, (n, k)
            assert outcome(compiled, np.repeat(x, 2)[::2], k) == expected, (n, k)
            assert outcome(njit(lambda x, k, out: compiled(x, k, out)), x, k) == expected, (n, k)
            if expected[0] is None and n:
                assert lazily(x, k).tolist() == expected[1]


def clamped(x, k, h):
    m = h.shape[0]
    for i in range(x.shape[0]):
        c = int(x[i] * 2)
        if c < 0:
            c = 0
        if c >= m:
            c = m - 1
        h[c] += x[i]


def clamped_to(x, k, h):
    for i in range(x.shape[0]):
        c = int(x[i])
        if c < 0:
            c = 0
        elif c > k:
            c = k
        h[c] += 1


def by_minimum(x, k, h):
    for i in range(x.shape[0]):
        h[min(max(int(x[i]), 0), k - 1)] += 1


def chosen(x, k, h):
    """One of three, of which one is no index."""
    for i in range(x.shape[0]):
        c = k
        if x[i] > 5:
            c = i
        elif x[i] > 3:
            c = h.shape[0] - 2
        h[c] += x[i]


def nested_clamps(x, k, h):
    for t in range(k, k + 2):
        for i in range(x.shape[0]):
            c = i + t
            if c >= h.shape[0]:
                c = h.shape[0] - 1
            if c < t:
                c = t
            h[c] += 1


@pytest.mark.parametrize("f", [clamped, clamped_to, by_minimum, chosen, nested_clamps])
def test_one_of_several_values(f):
    compiled = njit(f)
    for values in (
        [],
        [0.0],
        [1.5, -2.0, 3.25, 99.0, -1e18, 4.0, 6.0],
        [1.0, np.nan],
        [2.0, np.inf],
    ):
        x = np.array(values)
        for size in (0, 1, 2, 5):
            for k in (0, 1, 2, 5, -1, -3, 2**40):
                results = []
                for g in (compiled, f):
                    h = np.zeros(size)
                    try:
                        g(x, k, h)
                        error = None
                    except (IndexError, ValueError, OverflowError) as e:
                        error = type(e)
                    results.append((error, h.tobytes()))
                assert results[0] == results[1], (values, size, k)


def test_what_no_integer_holds_is_told():
    """Also where the value would be clamped, and what was before it has been counted."""
    for f in (clamped, by_minimum):
        for value in (1e300, -1e300, 2.0**63, -(2.0**64)):
            h = np.zeros(3)
            with pytest.raises(OverflowError):
                njit(f)(np.array([1.0, 1.0, value, 1.0]), 3, h)
            assert h.sum() == 2.0
