"""Loops of few rounds in loops: written out (lower/few.c), and what their sums are; rows of few items."""

from __future__ import annotations

import re

import numpy as np
import pytest
from treadle import njit


def taps(rows, columns, start="0", index="a[i + p, j + q]"):
    """A filter of rows x columns taps, whose loops begin at `start`."""
    text = f"""
def f(a, k, out):
    n, m = out.shape
    for i in range(n):
        for j in range(m):
            s = out[i, j] * 0
            for p in range({start}, {start} + {rows}):
                for q in range({start}, {start} + {columns}):
                    s += {index} * k[p - ({start}), q - ({start})]
            out[i, j] = s
"""
    scope = {}
    exec(text, scope)
    return scope["f"]


def in_vectors(function):
    """Does it multiply whole vectors?"""
    (text,) = function.inspect_asm().values()
    return bool(re.search(r"vmulp[sd].*[yz]mm", text))


SHAPES = [(1, 1), (2, 2), (3, 3), (5, 5), (7, 1), (1, 7), (4, 6), (7, 7), (2, 33)]


@pytest.mark.parametrize("rows, columns", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sums_are_in_order(rows, columns, dtype):
    rng = np.random.default_rng(rows * 40 + columns)
    k = (rng.normal(size=(rows, columns)) * 100).astype(dtype)
    f = taps(rows, columns)
    g = njit(f)
    for height, width in ((1, 1), (2, 9), (3, 40), (2, 0)):
        a = (rng.normal(size=(height + rows - 1, width + columns - 1)) * 100).astype(dtype)
        want, got = np.zeros((height, width), dtype), np.zeros((height, width), dtype)
        f(a, k, want)
        g(a, k, got)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "start, index",
    [("-2", "a[i + p + 2, j + q + 2]"), ("i - 2", "a[p + 2, j + q - i + 2]")],
)
def test_where_they_begin(start, index):
    f = taps(5, 5, start, index)
    g = njit(f)
    rng = np.random.default_rng(5)
    a, k = rng.normal(size=(10, 40)), rng.normal(size=(5, 5))
    want, got = np.zeros((6, 36)), np.zeros((6, 36))
    f(a, k, want)
    g(a, k, got)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("cpu", ["x86-64-v3", "znver4"])
@pytest.mark.parametrize("rows, columns", [(3, 3), (5, 5), (7, 7), (7, 1), (1, 7)])
def test_the_loop_around_gets_vectors(rows, columns, cpu, monkeypatch):
    monkeypatch.setenv("TREADLE_CPU", cpu)
    g = njit("(float32[:, ::1], float32[:, ::1], float32[:, ::1])")(taps(rows, columns))
    assert in_vectors(g)


def test_an_index_out_of_range_is_told():
    f = njit(taps(3, 3))
    a = np.ones((6, 6))
    with pytest.raises(IndexError):
        f(a, np.ones((3, 3)), np.zeros((4, 5)))
    with pytest.raises(IndexError):
        f(a, np.ones((3, 2)), np.zeros((4, 4)))


def test_filters_that_overlap_their_output():
    def f(a):
        for i in range(2, len(a) - 2):
            s = 0.0
            for p in range(-2, 3):
                s += a[i + p] * 0.25
            a[i] = s

    a = np.random.default_rng(1).normal(size=90)
    b = a.copy()
    f(a)
    njit(f)(b)
    np.testing.assert_array_equal(a, b)


def test_loops_that_end_early_stay():
    def f(a, out):
        for j in range(len(out)):
            out[j] = -1
            for p in range(5):
                if a[j + p] > 0.9:
                    out[j] = p
                    break

    a = np.random.default_rng(2).random(100)
    want, got = np.zeros(96), np.zeros(96)
    f(a, want)
    njit(f)(a, got)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64])
def test_rows_of_few_items(dtype):
    def f(a, b):
        n, w = a.shape
        for i in range(n):
            for j in range(w):
                a[i, j] += b[i, j] * 2

    g = njit(f)
    rng = np.random.default_rng(3)
    for w in range(70):
        a, b = rng.integers(0, 50, (3, w)).astype(dtype), rng.integers(0, 50, (3, w)).astype(dtype)
        want = (a + b * 2).astype(dtype)
        g(a, b)
        np.testing.assert_array_equal(a, want)
