"""What is folded in order by a function of the user's: functools.reduce(), and reduce(), accumulate(), outer() and at() of ufuncs made here."""

from __future__ import annotations

import functools
import operator
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import TypingError, njit, prange, vectorize


def two(x, y):
    return (x * 3 - y) % 1000003


# --- functools.reduce ---------------------------------------------------------------------------------------------

FOLDS = {
    "array": lambda a: reduce(two, a),
    "array, start": lambda a: functools.reduce(two, a, 7),
    "float start": lambda a: reduce(lambda x, y: x / 2 + y, a, 0.5),
    "wider": lambda a: reduce(lambda x, y: x + y * 0.5, a),
    "expression": lambda a: reduce(two, a * 2 + 1, 1),
    "row": lambda a: reduce(two, a.reshape(-1, 1)[:, 0]),
    "rows": lambda a: reduce(lambda x, y: (x * 2 - y) % 997, a.reshape(-1, 1), np.zeros(1, np.int64))[0],
    "range": lambda a: reduce(two, range(len(a))),
    "reversed range": lambda a: reduce(two, range(len(a), 0, -2), 1),
    "enumerate": lambda a: reduce(lambda s, p: (s * 2 + p[0] - p[1]) % 997, enumerate(a), 0),
    "zip": lambda a: reduce(lambda s, p: s + p[0] * p[1], zip(a, a[::-1]), 0),
    "map": lambda a: reduce(two, map(lambda x: x + 1, a), 1),
    "filter": lambda a: reduce(two, filter(lambda x: x % 2 == 1, a), 0),
    "filter, no start": lambda a: reduce(two, filter(lambda x: x % 2 == 1, a)),
    "tuple": lambda a: reduce(two, (a[0], 2.5, 3)),
    "pairs": lambda a: reduce(lambda s, x: (s[0] + x, (s[1] * 2 - x) % 997), a, (0, 1)),
    "largest and where": lambda a: reduce(lambda s, p: s if s[1] >= p[1] else p, enumerate(a), (-1, -5)),
    "max": lambda a: reduce(max, a),
    "operator": lambda a: reduce(operator.xor, a),
    "operators": lambda a: operator.getitem((reduce(operator.add, a), operator.neg(a[0]) + operator.truth(a[0] < 3)), 1),
    "nested": lambda a: reduce(lambda s, k: s + reduce(two, range(k % 4), 1), a, 0),
}  # fmt: skip


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("name", FOLDS)
def test_reduce(name, parallel):
    f = njit(parallel=parallel)(FOLDS[name])
    for n in (2, 3, 9, 100):
        a = (np.arange(n) * 7 + 2) % 11 + 1
        got, want = f(a), FOLDS[name](a)
        assert np.asarray(got).tolist() == np.asarray(want).tolist()
        assert np.asarray(got).dtype.kind == np.asarray(want).dtype.kind


@pytest.mark.parametrize("name", ["array", "row", "range", "filter, no start"])
def test_nothing_to_reduce(name):
    f = njit(FOLDS[name])
    with pytest.raises(TypeError, match=r"reduce\(\) of empty iterable with no initial value"):
        f(np.zeros(0, np.int64))
    assert njit(FOLDS["array, start"])(np.zeros(0, np.int64)) == 7


def test_reduce_with_what_it_has_from_outside():
    def make(k):
        @njit
        def f(a, m):
            def g(x, y):
                return (x * k + y) % m

            return reduce(g, a, 0)

        return f

    a = np.arange(50)
    for k in (3, 5):
        assert make(k)(a, 97) == make(k).py_func(a, 97)


def test_reduce_raises_at_the_item():
    @njit
    def f(a):
        seen = 0
        try:
            return reduce(lambda x, y: x // y, a)
        except ZeroDivisionError:
            seen = 1
        return -seen

    assert f(np.array([100, 5, 2])) == 10
    assert f(np.array([100, 0, 2])) == -1


def test_reduce_in_prange():
    @njit(parallel=True)
    def f(a, out):
        for i in prange(a.shape[0]):
            out[i] = reduce(two, a[i], 1)
        return out

    a = np.arange(60).reshape(12, 5) % 7
    want = [reduce(two, row, 1) for row in a]
    assert f(a, np.zeros(12, np.int64)).tolist() == want


def test_reduce_says_what_it_cannot():
    @njit
    def f(a):
        return reduce(lambda x, y: (x, y), a)

    with pytest.raises(
        TypingError, match=r"reduce\(\): the function gets int64 and returns \(int64, int64\)"
    ):
        f(np.arange(3))


# --- ufuncs -------------------------------------------------------------------------------------------------------


@vectorize
def less(x, y):
    return x * 3 - y


@vectorize(identity=0)
def plus(x, y):
    return x + y


@vectorize(identity="reorderable")
def most(x, y):
    return x if x > y else y


@vectorize
def half(x, y):
    return (x + y) / 2


@vectorize
def one(x):
    return x + 1


UFUNCS = {"less": less, "plus": plus, "most": most, "half": half}
CALLS = [
    "u.reduce(a)", "u.reduce(a, axis=1)", "u.reduce(a, 1, keepdims=True)", "u.reduce(a, axis=-1, initial=5)", "u.reduce(a[:, 0])",
    "u.reduce(a.T, axis=1)", "u.reduce(a[::-1, ::2], axis=0)", "u.accumulate(a)", "u.accumulate(a, axis=1)", "u.accumulate(a[:, 1])",
    "u.outer(a[0], a[:, 1])", "u.outer(2, a[0])",
]  # fmt: skip
ORDERED = ["u.reduce(a, axis=None)", "u.reduce(a, axis=(0, 1), keepdims=True)"]


def compiled(text, u, parallel=False):
    scope = {"u": u, "np": np}
    exec(f"def f(a): return {text}", scope)
    return njit(parallel=parallel)(scope["f"]), scope["f"]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("dtype", ["i8", "f8", "f4", "i2"])
@pytest.mark.parametrize("name", UFUNCS)
def test_methods_of_ufuncs(name, dtype, parallel):
    u = UFUNCS[name]
    for text in CALLS + (ORDERED if name in ("plus", "most") else []):
        f, plain = compiled(text, u, parallel)
        for n, m in ((1, 2), (3, 4), (40, 7)):
            a = ((np.arange(n * m) * 7 + 3) % 11).astype(dtype).reshape(n, m)
            if name == "less":
                a = a[:6]
            got, want = f(a), plain(a)
            np.testing.assert_allclose(got, want, rtol=1e-5)
            if (
                name != "half" or dtype[0] == "f"
            ):  # NumPy's lazy types begin with those of the loops there are
                assert np.asarray(got).dtype.kind == np.asarray(want).dtype.kind, text


def test_ufunc_at():
    f, _ = compiled("u.at(a, np.array([1, 1, 2]), 5)", less)
    a, b = np.arange(4), np.arange(4)
    f(a)
    less.at(b, np.array([1, 1, 2]), 5)
    assert a.tolist() == b.tolist()


def test_no_items():
    a = np.zeros((0, 3))
    for u in (less, most):
        f, _ = compiled("u.reduce(a)", u)
        with pytest.raises(
            ValueError, match="zero-size array to reduction operation .* which has no identity"
        ):
            f(a)
        assert f(a.T).shape == (0,)
        assert compiled("u.accumulate(a)", u)[0](a).shape == (0, 3)
        assert compiled("u.reduce(a, initial=2)", u)[0](a).tolist() == [2.0, 2.0, 2.0]
    assert compiled("u.reduce(a)", plus)[0](a).tolist() == [0.0, 0.0, 0.0]


def test_out_and_dtype():
    def f(a, out):
        return less.reduce(a, axis=1, out=out)

    a = np.arange(6.0).reshape(2, 3)
    x, y = np.zeros(2), np.zeros(2)
    assert njit(f)(a, x).tolist() == f(a, y).tolist() == x.tolist() == y.tolist()
    g, plain = compiled("u.reduce(a, dtype=np.float64)", less)
    assert (g(np.arange(4)), type(g(np.arange(4)))) == (plain(np.arange(4)), float)


@pytest.mark.parametrize("text", ["u.reduce(a, axis=(0, 1))", "u.reduce(a, axis=None)"])
def test_order_matters(text):
    f, plain = compiled(text, less)
    a = np.ones((2, 3))
    with pytest.raises(ValueError, match="not reorderable, so at most one axis"):
        plain(a)
    with pytest.raises(TypingError, match="not reorderable, so at most one axis"):
        f(a)


@pytest.mark.parametrize("method", ["reduce(a)", "accumulate(a)", "outer(a, a)", "at(a, 0, 1)"])
def test_only_of_two(method):
    with pytest.raises(TypingError, match=r"one\.\w+\(\) is only for ufuncs of two arguments and one result"):
        compiled(f"u.{method}", one)[0](np.arange(3))


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40), st.integers(1, 4))
def test_any_length(items, columns):
    a = np.array(items * columns).reshape(len(items), columns)
    for axis in (0, 1):
        np.testing.assert_array_equal(BY_AXIS[axis](a), (less.reduce(a, axis), less.accumulate(a, axis))[0])
        np.testing.assert_array_equal(ALONG[axis](a), less.accumulate(a, axis))


BY_AXIS = [njit(lambda a: less.reduce(a, 0)), njit(lambda a: less.reduce(a, 1))]
ALONG = [njit(lambda a: less.accumulate(a, 0)), njit(lambda a: less.accumulate(a, 1))]
