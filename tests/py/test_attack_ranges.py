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
