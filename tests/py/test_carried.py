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
