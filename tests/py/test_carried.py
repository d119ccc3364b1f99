"""`y[t] += ...` in a loop that may raise: what is carried from round to round is what memory would have, against CPython."""

from __future__ import annotations

import numpy as np
import pytest
from treadle import njit, prange, vectorize


def gathered(y, x, at):
    for t in range(y.shape[0]):
        for k in range(at.shape[0]):
            y[t] += x[at[k]] * 0.5


def by_two_names(y, x, at):
    """x may be y, or lie across it."""
    for t in range(y.shape[0]):
        for k in range(at.shape[0]):
            y[t] = x[at[k]] - y[t] * 0.25


def asked_within(y, x, at):
    """The place is in range only where the round has asked."""
    for t in range(y.shape[0] + 3):
        for k in range(at.shape[0]):
            if t >= y.shape[0]:
                break
            y[t] += x[at[k]]


def sometimes(y, x, at):
    for t in range(y.shape[0]):
        for k in range(at.shape[0]):
            if x[at[k]] > 3:
                y[t] += x[at[k]]


def caught(y, x, at):
    for t in range(y.shape[0]):
        try:
            for k in range(at.shape[0]):
                y[t] += x[at[k]]
        except IndexError:
            y[t] -= 1000


def read_again(y, x, at):
    for t in range(y.shape[0]):
        for k in range(at.shape[0]):
            y[t] += x[at[k]]
            y[t] = y[t] * 2 + at[k]


def own_array(y, x, at):
    z = np.empty(3, y.dtype)
    for i in range(3):
        z[i] = i
        for k in range(at.shape[0]):
            z[i] += x[at[k]]
    for i in range(min(3, y.shape[0])):
        y[i] = z[i]


def in_prange(y, x, at):
    for t in prange(y.shape[0]):
        for k in range(at.shape[0]):
            y[t] += x[at[k]]


PROGRAMS = [gathered, by_two_names, asked_within, sometimes, caught, read_again, own_array, in_prange]


def outcome(f, make):
    y, x, at = make()
    try:
        f(y, x, at)
        error = None
    except IndexError:
        error = IndexError
    return error, y.tolist(), x.tolist()


def arrays(n, m, places, dtype, apart, lie):
    """y of n items and x of m: apart, the same, or a part of it."""
    base = np.arange(2 * (n + m) + 2).astype(dtype)[:: 2 if apart else 1]
    y, x = base[:n], base[n : n + m]
    if lie == "same":
        x = y
    elif lie == "across":
        x = base[max(n - 2, 0) : max(n - 2, 0) + m]
    return y, x, np.array(places, np.int64)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("fn", PROGRAMS)
def test_sums_in_one_place(fn, parallel):
    compiled = njit(parallel=parallel)(fn)
    for dtype in ("f8", "i8"):
        for lie in ("apart", "same", "across"):
            if fn is in_prange and lie != "apart":
                continue
            for n in (0, 1, 4):
                for places in ([], [0], [0, -1, 1, 2, 0], [1, 2, 9, 0], [-9]):
                    for apart in (False, True):
                        args = n, 3, places, dtype, apart, lie
                        if fn is in_prange and n and any(abs(p) == 9 for p in places):
                            continue
                        assert outcome(compiled, lambda args=args: arrays(*args)) == outcome(
                            fn, lambda args=args: arrays(*args)
                        ), (fn, args)


def test_without_the_array_it_would_be_read_from():
    """No round, and nothing in range: nothing is read."""

    @njit
    def f(y, t, x, at):
        for k in range(at.shape[0]):
            y[t] += x[at[k]]
        return y.size

    nothing = np.zeros(0)
    assert f(nothing, 5, nothing, np.zeros(0, np.int64)) == 0
    assert f(nothing, 1 << 60, nothing, np.zeros(0, np.int64)) == 0
    with pytest.raises(IndexError):
        f(nothing, 0, np.ones(1), np.zeros(1, np.int64))
    y = np.zeros(2)
    assert f(y, -1, np.ones(1), np.zeros(5, np.int64)) == 2
    assert y.tolist() == [0.0, 5.0]


def test_in_a_ufunc_and_a_callee():
    table = np.arange(5.0)

    @njit
    def add(y, t, at):
        for k in range(at.shape[0]):
            y[t] += table[at[k]]

    @vectorize
    def total(n):
        y = np.zeros(2)
        add(y, 1, np.arange(n) % 5)
        return y[1]

    assert total(np.array([0, 3, 7])).tolist() == [0.0, 3.0, 11.0]


# --- what is read of one place, and written elsewhere ---


def factors(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


def from_the_end(a):
    n = a.shape[0]
    for k in range(n - 1, -1, -1):
        for i in range(n):
            for j in range(k - 1, -1, -1):
                a[i, j] -= a[i, k] * 0.25


def above_the_row(a):
    n = a.shape[0]
    for k in range(1, n):
        for i in range(k):
            for j in range(a.shape[1]):
                a[i, j] += a[k, 0] * 0.25


def its_own_place_too(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(k, n):
                a[i, j] -= a[i, k] * 0.25


def the_same_row(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k, n):
            for j in range(n):
                a[i, j] -= a[k, 0] * 0.25


def two_stores(a):
    n = a.shape[0]
    for k in range(1, n):
        for j in range(k, n):
            a[k, j] += a[k, k - 1] * 0.5
            a[k, n - j - 1] += 1.0


def two_places(a):
    n = a.shape[0]
    for k in range(1, n - 1):
        for j in range(k + 1, n):
            a[k, j] += a[k, k] * a[k - 1, k - 1]
            if a[k, j] > 2:
                a[k - 1, j] = a[k, k]


def from_behind(a):
    n = a.shape[0]
    for k in range(n):
        for j in range(k + 1, n):
            a[0, j] += a[0, -1] * 0.25


def ends_before(a):
    n = a.shape[0]
    for k in range(n + 2):
        for j in range(k + 1, n):
            a[0, j] += a[0, k] * 0.25


def stride_is_none(a):
    b = np.broadcast_to(a[0, :1], (9,))
    for j in range(1, a.shape[1]):
        a[0, j] += b[0] * 0.5
        a[0, 0] += 0.5


PLACES = [
    factors,
    from_the_end,
    above_the_row,
    its_own_place_too,
    the_same_row,
    two_stores,
    two_places,
    from_behind,
    ends_before,
    stride_is_none,
]


@pytest.mark.parametrize("f", PLACES)
def test_places_that_are_read_and_others_that_are_written(f):
    g = njit(f)
    rng = np.random.default_rng(4)
    for n in (0, 1, 2, 3, 4, 9, 20):
        base = rng.random((n, n)) + np.eye(n)
        if n == 0 and f in (from_behind, stride_is_none):
            continue
        for how in (
            lambda x: x,
            np.asfortranarray,
            lambda x: np.repeat(x, 2, axis=1)[:, ::2],
            lambda x: x[::-1],
        ):
            want, got = how(base.copy()), how(base.copy())
            f(want)
            g(got)
            np.testing.assert_array_equal(got, want)


def test_a_place_under_another_name():
    def f(a, b):
        n = a.shape[1]
        for k in range(a.shape[0]):
            for j in range(k + 1, n):
                a[k, j] -= a[k, k] * 0.25
                b[k, j - 1] += 1.0

    g = njit(f)
    for shift in (0, 1, 2):
        want, got = np.random.default_rng(5).random((2, 6, 12))
        got[...] = want
        f(want[:, 2:10], want[:, shift : shift + 8])
        g(got[:, 2:10], got[:, shift : shift + 8])
        np.testing.assert_array_equal(got, want)


def test_a_place_that_is_read_in_parallel():
    def f(a):
        n = a.shape[0]
        for k in range(n):
            for i in prange(k + 1, n):
                a[i, k] /= a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]

    base = np.random.default_rng(6).random((30, 30)) + 9 * np.eye(30)
    want, got = base.copy(), base.copy()
    f(want)
    njit(parallel=True)(f)(got)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("boundscheck", [True, False])
def test_elements_that_share_memory(boundscheck):
    """Other indices, and one place all the same: of views whose elements overlap."""

    def triangle(a, i):
        for j in range(i):
            a[j] = a[j] + a[i]

    def row(a, i, k):
        for j in range(k + 1, a.shape[1]):
            a[i, j] -= a[i, k] * a[k, j]

    def view(base, shape, strides):
        return np.lib.stride_tricks.as_strided(base, shape, strides)

    for fn, shape, strides in (
        (triangle, (6,), (0,)),
        (row, (4, 4), (8, 0)),
        (row, (4, 4), (0, 0)),
        (row, (4, 4), (8, 8)),
        (row, (4, 4), (16, -8)),
    ):
        compiled = njit(boundscheck=boundscheck)(fn)
        for i in range(shape[0]):
            for rest in np.ndindex(*shape[1:]):
                want = np.arange(20.0) - 3
                got = want.copy()
                fn(view(want[5:], shape, strides), i, *rest)
                compiled(view(got[5:], shape, strides), i, *rest)
                assert got.tolist() == want.tolist(), (fn, strides, i, rest)
