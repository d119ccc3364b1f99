"""literal_unroll(t) is t, where a loop over t has a variable of each item's own type."""

import math
from collections import namedtuple

import numpy as np
import pytest
from treadle import TypingError, UnsupportedError, cuda, literal_unroll, njit, prange

Pair = namedtuple("Pair", "a b")


def add(t, a):
    s = 0.0
    for x in literal_unroll(t):
        s += np.sum(x) if a else 2.0 * np.max(x)
    for axis in literal_unroll((0, 1)):
        s += np.ones((2, 3)).sum(axis=axis)[0]
    for f in literal_unroll((math.sin, math.cos)):
        s = s * 2 + f(1.0)
    for k, x in enumerate(literal_unroll([1.5, 2.5])):
        s += k * x
    return s


@pytest.mark.parametrize("t", [(1, 2, -3), (np.arange(3.0), np.ones(2)), Pair(1.0, 2.5), (3,)], ids=str)
@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"inline": "always"}])
def test_it_is_the_tuple(t, options):
    assert njit(**options)(add)(t, True) == pytest.approx(add(t, True), rel=1e-15)
    assert njit(**options)(add)(t, False) == pytest.approx(add(t, False), rel=1e-15)


def test_in_prange_and_in_a_kernel():
    @njit(parallel=True)
    def f(out):
        for i in prange(len(out)):
            for x in literal_unroll((i * 1.0, 0.5)):
                out[i] += x

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < len(out):
            for x in literal_unroll((i * 1.0, 0.5)):
                out[i] += x

    for run in (f, kernel[2, 8]):
        out = np.zeros(11)
        run(out)
        assert list(out) == [i + 0.5 for i in range(11)]


def test_of_no_tuple():
    with pytest.raises(TypingError, match=r"literal_unroll\(\) takes a tuple, not array"):
        njit(lambda a: sum(literal_unroll(a)))(np.ones(3))
    assert literal_unroll((1, 2)) == (1, 2)


MIXED = [(1, 2.5), (np.ones(2), np.ones((2, 2))), (1, True), ((1, 2), 3), (2, np.float32(0.5), np.arange(3))]


@pytest.mark.parametrize("t", MIXED, ids=str)
@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"inline": "always"}])
def test_each_item_has_its_own_type(t, options):
    """Where a loop over the tuple itself would have the common type of numbers."""

    def f(t):
        s, ints = 0.0, 0
        for x in literal_unroll(t):
            if isinstance(x, (int, tuple)):
                ints += 1
            s = s * 3 + np.sum(np.asarray(x)) / 2
        return s, ints

    assert njit(**options)(f)(t) == f(t)


@pytest.mark.parametrize("t", [*MIXED, (math.sin, 1)], ids=str)
def test_of_different_types_elsewhere(t):
    """A variable of a comprehension has one type, so that is told."""
    if callable(t[0]):
        f = njit(lambda: [0 for x in literal_unroll((math.sin, 1))][0])
        t = ()
    else:
        f = njit(lambda t: max([1 for x in literal_unroll(t)]))
    with pytest.raises(UnsupportedError, match="literal_unroll.. of items of different types"):
        f(*((t,) if t else ()))


def test_of_too_many():
    def f(a):
        s = 0.0
        for x in literal_unroll((1, 2.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)):
            s += x * a
        return s

    with pytest.raises(UnsupportedError, match="literal_unroll.. of items of different types"):
        njit(f)(1.0)
