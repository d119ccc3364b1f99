"""treadle.parallel.fuse: one function of two, wherever functions are taken."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from treadle import njit, vectorize

X = np.array([1.0, 4.0, 9.0])
Y = np.array([0.0, 5.0, 16.0])


def square(v):
    return v * v


def both(v, w):
    return v + w, v - w


def product(t):
    return t[0] * t[1]


def triple(a, b, c=2.0):
    return a * b + c


compiled_square = njit(square)
ufunc_square = vectorize(square)

PAIRS = [
    (math.sqrt, square, 1),
    (square, np.add, 2),
    (product, both, 2),
    (abs, np.negative, 1),
    (np.sqrt, lambda v, w: v + w, 2),
    (compiled_square, square, 1),
    (square, compiled_square, 1),
    (ufunc_square, triple, 2),
    (square, ufunc_square, 1),
    (float, lambda a, b, c: a + b + c, 3),
    (square, lambda a, b, c, d: a + b + c + d, 4),
    (square, tp.fuse(square, lambda v, w: v - w), 2),
]


@pytest.mark.parametrize(("f", "g", "n"), PAIRS)
def test_everywhere(f, g, n):
    h = tp.fuse(f, g)
    args = (X, Y, X + 1, Y * 2)[:n]
    want = np.array([f(g(*a)) for a in zip(*(a.tolist() for a in args), strict=True)], float)
    assert [h(*a) for a in zip(*(a.tolist() for a in args), strict=True)] == want.tolist()
    assert np.asarray(tp.map(h, *args)).tolist() == want.tolist()
    assert [njit(h)(*a) for a in zip(*(a.tolist() for a in args), strict=True)] == want.tolist()
    if n < 4:
        assert vectorize(h)(*args).tolist() == want.tolist()

    @njit(parallel=True)
    def inside(args):
        return tp.map(h, *args)

    @njit
    def made_inside(args):
        return tp.map(tp.fuse(f, g), *args)

    assert inside(args).tolist() == want.tolist() and made_inside(args).tolist() == want.tolist()


def test_one_made_anew_compiles_nothing():
    def by(k):
        return np.asarray(tp.map(tp.fuse(lambda v: v + k, lambda v: v * k), X)).tolist()

    assert by(2.0) == [4.0, 10.0, 20.0]
    n = treadle.stats()["compiled"]
    assert by(3.0) == [6.0, 15.0, 30.0] and treadle.stats()["compiled"] == n


def test_in_reductions_and_filters():
    assert float(tp.reduce(tp.fuse(abs, lambda a, b: a + b), X, identity=0.0)) == 14.0
    assert np.asarray(tp.filter(tp.fuse(operator.not_, lambda v: v > 3), X)).tolist() == [1.0]


def test_names():
    h = tp.fuse(math.sqrt, square)
    assert (h.__name__, h.__qualname__, h.__module__) == ("sqrt_square", "fuse(sqrt, square)", __name__)
    assert tp.fuse(square, lambda v: v).__name__ == "square_function"


def test_bad_arguments():
    with pytest.raises(TypeError, match="2 is no function"):
        tp.fuse(2, square)
    with pytest.raises(TypeError, match="is no function"):
        tp.fuse(square, None)
    with pytest.raises(TypeError, match="given by name alone"):
        tp.fuse(square, lambda *, a: a)
    with pytest.raises(TypeError, match="cannot be told how many arguments max"):
        tp.fuse(square, max)


def test_errors_tell_the_users_line():
    def f(v):
        raise ValueError("never")

    with pytest.raises(ValueError, match="never") as e:
        tp.map(tp.fuse(f, square), X).evaluate()
    lines = [str(t) for t in e.traceback]
    assert any('raise ValueError("never")' in line for line in lines)
