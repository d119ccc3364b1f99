"""Rows of a loop that are multiplied by one matrix: one product, where that is the same; else the loop."""

from __future__ import annotations

import re

import numpy as np
import pytest
from treadle import njit, prange

BATCHED, LEFT = True, False


def rows_by_matrix(a, m, out):
    for q in range(a.shape[0]):
        out[q] = a[q] @ m


def matrix_by_rows(a, m, out):
    for q in range(len(a)):
        out[q, :] = m @ a[q, :]


def rows_replaced(a, m, out):
    for q in range(a.shape[0]):
        s = a[q, :] @ m
        a[q, :] = s


def of_three_axes(a, m, out):
    b = a.reshape(2, -1, a.shape[1])
    for r in range(b.shape[0]):
        for q in range(b.shape[1]):
            s = b[r, q, :] @ m
            b[r, q, :] = s


def with_more(a, m, out):
    k = 3
    for q in range(a.shape[0]):
        out[q] = (a[q] @ m) * k + a[q]


def from_the_third(a, m, out):
    for q in range(2, a.shape[0]):
        out[q] = m @ a[q]


def others_rows(a, m, out):
    for q in range(a.shape[0] - 1):
        out[q + 1] = a[q] @ m


def by_dot(a, m, out):
    for q in range(a.shape[0]):
        out[q] = np.dot(a[q], m)


def columns(a, m, out):
    for q in range(a.shape[1]):
        out[:, q] = m @ a[:, q]


def the_last_is_kept(a, m, out):
    s = a[0]
    for q in range(a.shape[0]):
        s = a[q] @ m
        out[q] = s
    out[0] = s


def summed(a, m, out):
    t = 0
    for q in range(a.shape[0]):
        s = a[q] @ m
        out[q] = s
        t += s[0]
    out[0, 0] = t


def rows_from_rows(a, m, out):
    for q in range(1, a.shape[0]):
        a[q] = a[q - 1] @ m


def to_one_row(a, m, out):
    for q in range(a.shape[0]):
        out[0] = a[q] @ m


def of_changing_matrix(a, m, out):
    for q in range(a.shape[0]):
        out[q] = a[q] @ m
        m[0, 0] += 1


def squares_of_matrix(a, m, out):
    for q in range(m.shape[0]):
        m[q] = m[q] @ m


FUNCTIONS = {
    rows_by_matrix: BATCHED,
    matrix_by_rows: BATCHED,
    rows_replaced: BATCHED,
    of_three_axes: BATCHED,
    with_more: BATCHED,
    from_the_third: BATCHED,
    others_rows: BATCHED,
    by_dot: BATCHED,
    columns: BATCHED,
    the_last_is_kept: LEFT,
    summed: LEFT,
    rows_from_rows: BATCHED,  # but not where it runs: rows meet
    to_one_row: LEFT,
    of_changing_matrix: LEFT,
    squares_of_matrix: BATCHED,  # but not where it runs
}
GROW = (rows_from_rows, squares_of_matrix)  # past what floats hold exactly
SIZES = [(0, 3), (1, 3), (2, 1), (4, 4), (6, 3), (50, 3), (40, 17), (8, 0)]


def arrays(n, k, dtype, seed=5):
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(-4, 5, s).astype(dtype) for s in ((n, k), (k, k), (n, k)))


def outcome(f, args):
    try:
        f(*args)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return "done"


def same(f, ours, args, exact=True):
    """Same arrays after the call, or the same error after the same stores."""
    mine, theirs = tuple(x.copy() for x in args), tuple(x.copy() for x in args)
    want, got = outcome(f, theirs), outcome(ours, mine)
    assert want.split(":")[0] == got.split(":")[0]
    for x, y in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(x, y) if exact else np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("parallel", [False, True], ids=["one core", "all cores"])
def test_values(f, parallel):
    ours = njit(parallel=parallel)(f)
    for dtype in "i8", "f8", "c16":
        if f in GROW and dtype != "i8":
            continue
        for n, k in SIZES:
            same(f, ours, arrays(n, k, dtype))
        a, m, out = arrays(20, 4, dtype)
        same(f, ours, (a[::-1], m[:, ::-1], out[::2][::-1] if len(out) == len(a) * 2 else out[::-1]))
        same(f, ours, (np.asfortranarray(a), m.T, np.asfortranarray(out)))
    shown = ours.inspect_ir(ours.signatures[0])
    assert bool(re.search(r"pattern (par )?apart \[%\d+, %\d+\] in", shown)) == FUNCTIONS[f]


@pytest.mark.parametrize("f", [f for f in FUNCTIONS if f is not columns], ids=lambda f: f.__name__)
def test_shared_memory(f):
    ours = njit(f)
    whole = arrays(60, 5, "i8")[0]
    for cut in (
        lambda w: (w[:20], w[40:45], w[20:40]),
        lambda w: (w[:20], w[40:45], w[:20]),
        lambda w: (w[:20], w[40:45], w[1:21]),
        lambda w: (w[1:21], w[40:45], w[:20]),
        lambda w: (w[:20], w[10:15], w[20:40]),
        lambda w: (w[:20], w[30:35], w[20:40]),
        lambda w: (w[:20], w[40:45], w[19::-1]),
        lambda w: (w[:20], w[40:45], np.lib.stride_tricks.as_strided(w[20:], (20, 5), (w.itemsize, w.itemsize))),
    ):  # fmt: skip
        mine, theirs = whole.copy(), whole.copy()
        for g, w in ((f, theirs), (ours, mine)):
            g(*cut(w))
        np.testing.assert_array_equal(mine, theirs)


def test_sizes_that_do_not_fit():
    for f in rows_by_matrix, matrix_by_rows, with_more:
        ours = njit(f)
        for shapes in (((5, 3), (4, 4), (5, 4)), ((5, 3), (3, 4), (5, 3)), ((5, 3), (3, 3), (4, 3)), ((5, 3), (3, 1), (5, 3)), ((5, 2), (3, 2), (5, 3))):  # fmt: skip
            same(f, ours, tuple(np.ones(s) for s in shapes))


def test_inexact_numbers():
    rng = np.random.default_rng(2)
    for f in rows_by_matrix, matrix_by_rows, rows_replaced, with_more:
        for n, k in ((100, 3), (64, 40)):
            same(f, njit(f), (rng.random((n, k)), rng.random((k, k)) / k, np.zeros((n, k))), exact=False)


def test_small_types():
    for dtype in "?", "i1", "u2", "f4", "c8":
        for f in rows_by_matrix, matrix_by_rows:
            a, m, out = arrays(30, 4, dtype)
            same(f, njit(f), (a, m, out))


def test_in_ranges_of_other_loops():
    @njit(parallel=True)
    def f(a, m, out):
        for r in prange(a.shape[0]):
            for q in range(a.shape[1]):
                out[r, q] = m @ a[r, q]

    rng = np.random.default_rng(3)
    a, m = rng.integers(-9, 9, (7, 30, 3)).astype(float), rng.integers(-9, 9, (3, 3)).astype(float)
    out = np.zeros_like(a)
    f(a, m, out)
    np.testing.assert_array_equal(out, a @ m.T)


def test_called_from_others():
    inner = njit(matrix_by_rows)

    @njit(boundscheck=True)
    def f(a, m, out):
        inner(a, m, out)
        rows_replaced_(a, m, out)

    rows_replaced_ = njit(inline="always")(rows_replaced)

    def plain(a, m, out):
        matrix_by_rows(a, m, out)
        rows_replaced(a, m, out)

    same(plain, f, arrays(20, 3, "f8"))
