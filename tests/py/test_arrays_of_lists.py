"""NumPy's functions of lists: of lists, tuples and arrays, of numbers of all kinds; results and errors are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange
from treadle.errors import TreadleError


@njit
def array(l):
    return np.array(l)


@njit
def summed(l):
    return np.asarray(l).sum(), np.sum(l), np.mean(l), np.max(l), np.min(l)


@njit
def of_numbers(l):
    return (
        np.sort(l),
        np.cumsum(l),
        np.diff(l),
        np.median(l),
        np.std(l),
        np.argmax(l),
        np.unique(l),
        np.prod(l),
    )


@njit
def ufuncs(l):
    return np.sqrt(np.abs(l)), np.add(l, 1), np.maximum(l, l), np.exp(l), np.clip(l, 0, 2), np.isnan(l)


@njit
def stacked(l):
    return np.stack(l)


@njit
def last(l):
    return np.stack(l, axis=-1)


@njit
def vertical(l):
    return np.vstack(l)


@njit
def joined(l):
    return np.concatenate(l)


@njit
def horizontal(l):
    return np.hstack(l)


def same(x, y):
    if isinstance(y, tuple):
        return len(x) == len(y) and all(map(same, x, y))
    if not isinstance(y, np.ndarray):  # Python gets its own number
        return bool(np.isclose(x, y, rtol=1e-14, atol=0, equal_nan=True))
    return x.shape == y.shape and x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


def check(fn, l):
    try:
        expected = fn.py_func(l)
    except ValueError as e:
        with pytest.raises(ValueError) as ours:
            fn(l)
        assert ours.value.args == e.args
        return
    assert same(fn(l), expected)


A, B = np.arange(3.0), np.ones(3)
M, N = np.arange(6.0).reshape(2, 3), np.zeros((1, 3))
NESTED = [
    [[1, 2], [3, 4]],
    [(1, 2.5), (3, 4.0)],
    [A, B],
    [A, B, A[::-1]],
    [[1.5], [2]],
    [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
    [[1], [2, 3]],
    [[[1], [2]], [[3], [4, 5]]],
    [[[1]], [[2], [3]]],
    [A, np.ones(2)],
    [],
    [[]],
    [[], []],
    [[], [1]],
    [M, M],
    [M, M.T],
    [[A, B], [B, A]],
    [[(1, 2)], [(3, 4)]],
    [((1, 2), (3, 4)), ((5, 6), (7, 8))],
    [[True], [False]],
    [(True, 2), (False, 3)],
    [[1j, 2], [3, 4]],
    [np.float32([1, 2]), np.float32([3, 4])],
    [np.int8([1, 2]), np.int8([3, 4])],
]


@pytest.mark.parametrize("l", NESTED, ids=range(len(NESTED)))
def test_arrays_of_nested_lists(l):
    check(array, l)
    if l and array.py_func is not None and not (isinstance(l[0], list) and not any(l)):
        check(summed, l)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 4), st.integers(0, 3), st.sampled_from([int, float, complex, bool]), st.randoms())
def test_of_any_shape(n, m, kind, rnd):
    l = [[kind(rnd.randint(0, 5)) for _ in range(m)] for _ in range(n)]
    if n and m:  # of nothing the number of axes is not known
        check(array, l)
        check(array, [tuple(r) for r in l])
        check(array, [np.array(r) for r in l])
        check(stacked, [np.array(r) for r in l])
        check(vertical, [np.array(r) for r in l])
        check(joined, [np.array(r) for r in l])


@pytest.mark.parametrize("l", [[3, 1, 2], [2.5, -1.0], [1], [0.5, 0.5, 7.0]], ids=repr)
def test_of_numbers(l):
    check(of_numbers, l)
    check(ufuncs, l)
    check(summed, l)


@pytest.mark.parametrize("fn", [stacked, last, vertical, joined, horizontal], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "l",
    [[A, B], [A], [M, M], [M, N], [N, M, M], [A, np.ones(2)], [M, np.ones((2, 2))], [M[::-1], M[:, ::-1]]],
)
def test_joined(fn, l):
    check(fn, l)


def test_no_array_to_join():
    @njit
    def f(n):
        l = []
        for i in range(n):
            l.append(np.ones(i))
        return np.concatenate(l)

    assert f(3).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="need at least one array to concatenate"):
        f(0)


def test_what_is_made_here():
    def f(n):
        pairs, rows, arrays = [], [], []
        for i in range(n):
            pairs.append((i, i * 0.5))
            rows.append([i, i + 1])
            arrays.append(np.arange(3) * i)
        a = np.array(rows)
        rows[0][0] = 77
        return (
            np.array(pairs),
            a,
            np.array(rows, dtype=np.float32),
            np.array(arrays),
            np.stack(arrays, axis=1),
            np.vstack(arrays),
            np.concatenate(arrays),
            np.concatenate(arrays, axis=-1),
            np.concatenate(arrays, dtype=np.float64),
            np.asarray(rows).T @ np.array(rows),
            np.column_stack(arrays),
        )

    assert same(njit(f)(4), f(4)) and same(njit(f)(1), f(1))


def test_in_parallel_and_raising():
    @njit(parallel=True)
    def f(n):
        total = 0.0
        for i in prange(n):
            l = [[1.0 * i, 2.0]]
            l.append([3.0, 4.0])
            total += np.array(l).sum()
        return total

    assert f(10) == sum(i + 9.0 for i in range(10))

    @njit
    def g(l):
        try:
            return np.array(l).sum()
        except ValueError:
            return -1

    assert g([[1], [2]]) == 3 and g([[1], [2, 3]]) == -1


def test_what_cannot_be_an_array():
    for l in ([(1, (2, 3))], [["a"]], [{1: 2}], [[1, None]]):
        with pytest.raises(TreadleError):
            array(l)
