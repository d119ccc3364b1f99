"""prange loops whose iterations meet or not by a number known before the loop: tested before it, and refused where they meet.

Iterations run one by one, the last one first, so whatever depends on their order shows.
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from treadle import UnsupportedError, _core, njit, prange


@pytest.fixture(autouse=True)
def backwards():
    _core._pool_grain(1, True)
    yield
    _core._pool_grain(0)


def behind(a, k, n):
    for i in prange(k, n):
        a[i] = a[i - k] + 1


def shifted(a, k, n):
    b = a[k:n]
    for i in prange(len(b)):
        b[i] = a[i] + 1


def downwards(a, k, n):
    for i in prange(n - k):
        a[n - 1 - i] = a[n - 1 - i - k] * 2


def rows(a, k, n):
    c = a.reshape(-1, 2)
    for i in prange(k, n // 2):
        for j in range(2):
            c[i, j] = c[i - k, j] + j


def two_ways(a, k, n):
    for i in prange(k, n - k):
        a[i] = a[i - k] + a[i + k]


@pytest.mark.parametrize("f", [behind, shifted, downwards, rows, two_ways])
def test_distances(f):
    """It runs as a plain loop does, or is refused; and not refused where the order makes no difference."""
    compiled = njit(parallel=True)(f)
    refused = 0
    for n in (0, 1, 2, 5, 12):
        for k in range(n + 1):
            mine, plain = np.arange(12.0) % 5, np.arange(12.0) % 5
            f(plain, k, n)
            try:
                compiled(mine, k, n)
            except UnsupportedError as e:
                assert "depend on each other: line" in str(e)
                assert f"at a distance of {k}" in str(e)
                np.testing.assert_array_equal(mine, np.arange(12.0) % 5)
                refused += 1
                length = {"behind": n - k, "rows": n // 2 - k, "two_ways": n - 2 * k}.get(f.__name__, n - k)
                assert 0 < k < length
                continue
            np.testing.assert_array_equal(mine, plain)
    assert refused


def test_it_is_told():
    f = njit(parallel=True)(behind)
    f(np.arange(10.0), 5, 10)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    assert "reads in other iterations, if a distance says so: tested before the loop" in text.getvalue()
    assert "runs on all cores" in text.getvalue()


def test_through_a_compiled_caller():
    inner = njit(parallel=True)(behind)

    @njit
    def outer(a, k):
        inner(a, k, len(a))

    with pytest.raises(UnsupportedError, match="at a distance of 2"):
        outer(np.arange(10.0), 2)
    a = np.arange(10.0)
    outer(a, 5)
    np.testing.assert_array_equal(a, [*range(5), *range(1, 6)])


def test_a_handler_around_the_loop():
    @njit(parallel=True)
    def f(a, k):
        try:
            for i in prange(k, len(a)):
                a[i] = a[i - k] + 1
        except Exception:
            return -1
        return k

    with pytest.raises(UnsupportedError, match="at a distance of 3"):  # refused, as while compiling
        f(np.arange(10.0), 3)
    assert f(np.arange(10.0), 5) == 5


def test_what_is_not_tested():
    """What a branch may skip is only possible, and accumulation is no dependence."""

    @njit(parallel=True)
    def maybe(a, k, ok):
        for i in prange(k, len(a)):
            if ok[i]:
                a[i] = a[i - k]

    maybe(np.arange(10.0), 2, np.zeros(10, bool))

    @njit(parallel=True)
    def add(a, k):
        for i in prange(len(a) - k):
            a[i + k] += 1.0
            a[i] += 1.0

    a = np.zeros(10)
    add(a, 3)
    np.testing.assert_array_equal(a, [1] * 3 + [2] * 4 + [1] * 3)
