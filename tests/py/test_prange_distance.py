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


# What is said of loops as programs write them: whether iterations stay apart, whether that is tested before the loop, or that they meet.
LOOPS = {
    "blocks": ("apart", "for b in prange(len(a) // n):\n  lo = b * n\n  a[lo:lo + n] = a[lo:lo + n] * 2 + b"),
    "means of blocks": ("apart", "for b in prange(len(a) // n):\n  lo = b * n\n  a[lo:lo + n] -= a[lo:lo + n].sum()"),
    "loops over blocks": ("apart", "for b in prange(len(a) // n):\n  for j in range(b * n, b * n + n):\n   a[j] = a[j] * 2 + b"),
    "places in blocks": ("apart", "for b in prange(len(a) // n):\n  for j in range(n):\n   a[b * n + j] = a[b * n] * 2"),
    "the last block is short": ("apart", "for b in prange((len(a) + n - 1) // n):\n  lo = b * n\n  hi = min(lo + n, len(a))\n  a[lo:hi] = a[lo:hi] * 2"),
    "every n-th": ("apart", "for i in prange(n):\n  for j in range(len(a) // n):\n   a[j * n + i] = a[j * n + i] + i"),
    "pairs": ("apart", "for i in prange(len(a) // 2):\n  a[2 * i] = a[2 * i + 1]"),
    "even and odd": ("apart", "x, y = a[::2], a[1::2]\n for i in prange(len(y)):\n  x[i] = y[i]"),
    "mirror": ("apart", "m = len(a)\n for i in prange(m // 2):\n  a[i] = a[m - 1 - i]"),
    "reversed": ("apart", "b = a[::-1]\n for i in prange(len(a) // 2):\n  a[i] = b[i]"),
    "rows": ("apart", "b = a[:len(a) // n * n].reshape(-1, n)\n for i in prange(len(b)):\n  b[i] = b[i] * 2 + b[i, 0]"),
    "strided rows": ("apart", "b = a[:len(a) // (2 * n) * 2 * n:2].reshape(-1, n)\n for i in prange(len(b)):\n  b[i] = b[i] * 2 + b[i, 0]"),
    "next block": ("tested", "for i in prange(min(n, len(a) - n)):\n  a[i + n] = a[i] + 1"),
    "third block": ("tested", "for i in prange(min(n, len(a) - 2 * n)):\n  a[i + 2 * n] = a[i] + a[i + n]"),
    "halves": ("tested", "h = len(a) // 2\n x, y = a[:h], a[h:]\n for i in prange(h):\n  y[i] = x[i] + 1"),
    "halves, by n": ("tested", "x, y = a[:n], a[n:]\n for i in prange(min(len(x), len(y))):\n  y[i] = x[i] + 1"),
    "n back": ("tested", "for i in prange(n, len(a)):\n  a[i] = a[i - n] + 1"),
    "one short of a block": ("tested", "for i in prange(min(n, len(a) - n + 1)):\n  a[i + n - 1] = a[i] + 1"),
    "one back": ("carried", "for i in prange(1, len(a)):\n  a[i] = a[i - 1] + 1"),
    "one ahead": ("carried", "for i in prange(len(a) - 1):\n  a[i] = a[i + 1] + 1"),
    "neighbours of views": ("carried", "x, y = a[:-1], a[1:]\n for i in prange(len(x)):\n  x[i] = y[i] + 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_what_is_said_of_a_loop(name):
    said, body = LOOPS[name]
    space: dict = {"prange": prange}
    exec(f"def f(a, n):\n {body}\n", space)
    compiled = njit(parallel=True)(space["f"])
    met = 0
    for size, n in ((20, 10), (20, 5), (21, 4), (7, 3), (12, 12), (1, 1), (0, 1)):
        mine, plain = np.arange(float(size)), np.arange(float(size))
        space["f"](plain, n)
        try:
            compiled(mine, n)
        except UnsupportedError:
            met += 1
            assert said != "apart"
        else:
            np.testing.assert_array_equal(mine, plain)
    assert said != "carried" or met == 7
    if said != "carried":
        assert ("iterations of a prange loop depend" in str(compiled.inspect_ir())) == (said == "tested")
