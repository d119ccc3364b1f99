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
