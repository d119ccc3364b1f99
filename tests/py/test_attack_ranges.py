"""Ranges that span more than an int64 counts, and steps whose multiples wrap."""

import itertools

import numpy as np
import pytest
from treadle import njit

LEAST, MOST = -(2**63), 2**63 - 1


@njit
def walk(start, stop, step):
    n = 0
    s = 0
    for i in range(start, stop, step):
        n += 1
        s = s * 31 + i
        if n > 9:
            break
    return n, s


@njit
def known(a):
    s = 0
    for i in range(-(2**63), 2**63 - 1, 2**62):
        s = s * 10 + a[(i >> 62) + 2]
    for i in range(2**63 - 1, -(2**63), -(2**62)):
        s = s * 10 + a[(i >> 62) + 2]
    return s


def wrap(x):
    return (x + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("step", [2**62, MOST // 2, MOST, -(2**62), LEAST, LEAST + 1, 2**61 + 1, 7, -5])
def test_wide_steps(step):
    ends = [LEAST, LEAST + 1, -3, 0, 5, MOST - 1, MOST]
    for start, stop in itertools.product(ends, ends):
        assert walk(start, stop, step) == (
            walk.py_func(start, stop, step)[0],
            wrap(walk.py_func(start, stop, step)[1]),
        )


def test_wide_known_ranges():
    assert known(np.arange(4)) == known.py_func(np.arange(4)) == 1233210


@njit
def walk_by_one(start, stop):
    n = 0
    s = 0
    for i in range(start, stop):
        n += 1
        s = s * 31 + i
        if n > 9:
            break
    return n, s


@njit
def walk_back(start, stop, step):
    n = 0
    s = 0
    for i in reversed(range(start, stop, step)):
        n += 1
        s = s * 31 + i
        if n > 9:
            break
    for i in reversed(range(start, stop)):
        n += 1
        s = s * 31 + i
        if n > 19:
            break
    return n, s


@njit
def down(start, stop):
    n = 0
    s = 0
    for i in range(start, stop, -1):
        n += 1
        s = s * 31 + i
        if n > 9:
            break
    for i in range(start, stop, -2):
        n += 1
        s = s * 31 + i
        if n > 19:
            break
    for i in range(stop, start, 2):
        n += 1
        s = s * 31 + i
        if n > 29:
            break
    for i in range(-5, start):
        n += 1
        s = s * 31 + i
        if n > 39:
            break
    return n, s


ENDS = [LEAST, LEAST + 1, -3, -1, 0, 1, 5, MOST - 1, MOST]


def agree(fn, *args):
    n, s = fn.py_func(*args)
    assert fn(*args) == (n, wrap(s)), args


@pytest.mark.parametrize("step", [1, -1, 2, -2, 3])
def test_more_items_than_an_int64_counts(step):
    for start, stop in itertools.product(ENDS, ENDS):
        agree(walk, start, stop, step)
        agree(walk_back, start, stop, step)


def test_huge_ranges_with_a_known_step():
    for start, stop in itertools.product(ENDS, ENDS):
        agree(walk_by_one, start, stop)
        agree(down, start, stop)


@njit
def size(start, stop):
    return len(range(start, stop))


@njit
def last(start, stop):
    return range(start, stop)[-1]


@njit
def any_items(start, stop, step):
    return bool(range(start, stop)), bool(range(start, stop, step))


def test_length_of_a_huge_range():
    for start, stop in itertools.product(ENDS, ENDS):
        assert any_items(start, stop, -1) == any_items.py_func(start, stop, -1)
        if stop - start > MOST:
            for fn in (size, last):
                with pytest.raises(OverflowError, match="Python int too large to convert to C ssize_t"):
                    fn(start, stop)
        else:
            assert size(start, stop) == size.py_func(start, stop)
            if stop > start:
                assert last(start, stop) == last.py_func(start, stop)


@njit
def sums(a, start, stop):
    s = 0
    for i in range(start, stop):
        s = s * 3 + a[i]
    for i in range(len(a)):
        for j in range(max(i - 2, 0), min(i + 3, len(a))):
            s = s * 3 + a[j]
        for j in reversed(range(i, len(a))):
            s = s * 3 + a[j]
    return s


def test_indices_over_ranges_between_variables():
    """Checks that the bounds pass drops must hold at every end."""
    a = np.arange(1, 8)
    for start, stop in itertools.product([LEAST, -8, -7, -1, 0, 3, 7, 8, MOST], repeat=2):
        if stop > start and (stop > 7 or start < -7):
            with pytest.raises(IndexError):
                sums(a, start, stop)
        else:
            assert sums(a, start, stop) == wrap(sums.py_func([int(x) for x in a], start, stop))
