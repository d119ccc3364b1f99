"""Rows that are a few elements long are walked many at a time (src/lower/flat.c): what repeats along them, and what lies otherwise, is put side by side before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import _core, njit


@njit
def less(x, m):
    return x - m


@njit(parallel=True)
def less_on_all(x, m):
    return x - m


@njit
def three(x, m, c):
    return x * m + c


@njit
def stored(x, m):
    x -= m


@njit
def powers(x, m):
    return np.exp(x - m[:, None])


@njit
def both(x, m, c):
    return np.exp(x * m[None, :] - c[:, None])


WIDTHS = [1, 2, 3, 5, 8, 9, 16, 31, 32, 33, 63, 95, 96, 97, 130, 512, 600]
DTYPES = ["f4", "f8", "i1", "u2", "i4", "i8", "c8", "c16", "f2"]


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_columns(n, dtype):
    """Every width that another loop takes, with as many rows as fill a buffer, one more, and none."""
    rng = np.random.default_rng(n)
    for rows in (0, 1, 2, 512 // n, 512 // n + 1, 1500 // n + 7):
        x = rng.integers(0, 50, (rows, n)).astype(dtype)
        for m in (x[:, :1].copy(), x[:1].copy(), x[:1, :1].copy(), x.copy()):
            if m.shape[0] == 0 and rows:
                continue
            want = x - m if len(m) == rows or len(m) == 1 else None
            if want is None:
                continue
            np.testing.assert_array_equal(less(x, m), want)
            np.testing.assert_array_equal(less(m, x), m - x)
            np.testing.assert_array_equal(less_on_all(x, m), want)


LIES = st.sampled_from(
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: np.repeat(a, 3, axis=0)[1::3],
        lambda a: np.pad(a, ((0, 0), (1, 2)))[:, 1:-2],
        lambda a: np.broadcast_to(a[:1, :1], a.shape),
    ]
)


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 40), st.sampled_from(WIDTHS[:14]), st.lists(LIES, min_size=3, max_size=3), st.data())
def test_however_they_lie(rows, n, lie, data):
    """Three operands, each with axes of one or not, strided, turned, reversed, repeated by NumPy."""
    rng = np.random.default_rng(rows * 1000 + n)
    shapes = [(rows, n), (rows, 1), (1, n), (1, 1)]
    args = [f(rng.integers(-9, 9, data.draw(st.sampled_from(shapes))).astype("f8")) for f in lie]
    want = args[0] * args[1] + args[2]
    np.testing.assert_array_equal(three(*args), want)
    f4 = [a.astype("f4") for a in args]
    np.testing.assert_array_equal(three(f4[0], args[1], f4[2]), f4[0] * args[1] + f4[2])


@pytest.mark.parametrize("n", WIDTHS)
def test_stored_in_place(n):
    """Into an array that is read, with what repeats along its rows a part of it or not."""
    x = np.random.default_rng(n).integers(0, 50, (700 // n + 3, n)).astype("f8")
    for m in (lambda a: a[:, :1].copy(), lambda a: a[:1], lambda a: a[-1:], lambda a: a[:, -1:], lambda a: a):
        got, want = x.copy(), x.copy()
        want -= m(want)
        stored(got, m(got))
        np.testing.assert_array_equal(got, want)
        wide = np.repeat(x, 2, axis=1)
        stored(wide[:, ::2], m(wide[:, ::2]).copy())
        np.testing.assert_array_equal(wide[:, ::2], want)
        np.testing.assert_array_equal(wide[:, 1::2], x)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_functions_of_short_rows(n, dtype):
    """Vectors are full however short rows are: a value's bits do not depend on how long its row is."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=(1300 // n + 2, n)).astype(dtype)
    m, c = rng.normal(size=n).astype(dtype), rng.normal(size=len(x)).astype(dtype)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(powers(x, c), np.exp(x - c[:, None]), rtol=8 * eps)
    np.testing.assert_allclose(both(x, m, c), np.exp(x * m - c[:, None]), rtol=20 * eps)
    flat = np.ascontiguousarray((x - c[:, None]).reshape(1, -1))
    np.testing.assert_array_equal(powers(x, c).ravel(), powers(flat, np.zeros(1, dtype)).ravel())


@pytest.mark.parametrize("grain", [1, 5, 64])
def test_on_all_cores(grain):
    x = np.random.default_rng(0).normal(size=(1000, 7))
    m = x.mean(axis=1, keepdims=True)
    _core._pool_grain(grain)
    try:
        np.testing.assert_array_equal(less_on_all(x, m), x - m)
        np.testing.assert_array_equal(less_on_all(m, x), m - x)
    finally:
        _core._pool_grain(0)
