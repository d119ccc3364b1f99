"""Ufuncs of vectorize called in compiled code: on numbers, on arrays, from one another, with the types they have outside."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle import float32, guvectorize, int64, njit, vectorize


@vectorize
def add(x, y):
    return x + y


@vectorize
def div(x, y):
    return x / y


@vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def declared(x, y):
    return x * y


@vectorize
def fact(n):
    return 1 if n < 2 else n * fact(n - 1)


A = {dt: np.arange(1, 5).astype(dt) for dt in ("f4", "f8", "i4", "i8", "u8", "c8", "?")}


@pytest.mark.parametrize("dt", A)
@pytest.mark.parametrize("u", [add, div], ids=["add", "div"])
def test_arrays_numbers_and_literals(u, dt):
    @njit
    def f(a, x):
        return u(a, a), u(a, 2), u(a, 0.5), u(a, x), u(x, x), u(3, a)

    a = A[dt]
    got = f(a, a[0])
    for g, w in zip(got, (u(a, a), u(a, 2), u(a, 0.5), u(a, a[0]), u(a[0], a[0]), u(3, a)), strict=True):
        assert np.array_equal(g, w)
        assert np.asarray(g).dtype == w.dtype or isinstance(g, (int, float, complex))


def test_literals_are_weak_as_outside():
    @njit
    def f(a):
        return add(a, 2), add(a, 0.5), add(2, 3), declared(a, 1.5), declared(a, 2)

    got = f(A["f4"])
    assert [np.asarray(g).dtype for g in got] == [np.float32, np.float32, np.int64, np.float32, np.float32]


def test_declared_signatures():
    @njit
    def f(a, b):
        return declared(a, b)

    for x, y in (("f4", "f4"), ("f4", "f8"), ("i4", "f4"), ("i4", "i4"), ("?", "f4")):
        got, want = f(A[x], A[y]), declared(A[x], A[y])
        assert got.dtype == want.dtype and np.array_equal(got, want)
    with pytest.raises(treadle.TypingError, match=r"declared\(\) has no signature for"):
        f(A["c8"], A["f4"])


def test_broadcasting_out_and_overlap():
    @njit
    def outer(a, b):
        return add(a.reshape(-1, 1), b)

    @njit
    def into(a, b, o):
        add(a, b, o)
        return add(a, b, out=o[::-1])

    @njit
    def shift(a):
        add(a[1:], a[:-1], a[1:])
        return a

    a = A["f8"]
    assert np.array_equal(outer(a, a), np.add.outer(a, a))
    o = np.zeros(4)
    assert np.array_equal(into(a, a, o), a + a) and np.array_equal(o, (a + a)[::-1])
    assert np.array_equal(shift(a.copy()), np.concatenate([a[:1], a[1:] + a[:-1]]))
    with pytest.raises(ValueError, match="broadcast"):
        njit(lambda x, y: add(x, y))(np.ones(3), np.ones(4))


def test_division_is_numpys_inside_the_ufunc_alone():
    @njit
    def f(x):
        return div(x, 0.0)

    @njit
    def g(x):
        return div(x, 0.0) + 1.0 / x

    assert f(1.0) == np.inf and f(A["f8"]).tolist() == [np.inf] * 4
    with pytest.raises(ZeroDivisionError):
        g(0.0)


def test_ufuncs_of_ufuncs():
    @vectorize
    def both(x, y):
        return add(div(x, y), 1.0)

    a = A["f8"]
    assert np.array_equal(both(a, 0.0), [np.inf] * 4) and both(a[:, None], a).shape == (4, 4)
    assert fact(np.arange(6)).tolist() == [1, 1, 2, 6, 24, 120] and fact(5) == 120
    assert njit(lambda a: fact(a))(np.arange(4)).tolist() == [1, 1, 2, 6]

    @guvectorize("(n),()->(n)")
    def scaled(x, k, out):
        for i in range(len(x)):
            out[i] = div(x[i], k)

    assert np.array_equal(scaled(np.ones((2, 3)), 0.0), np.full((2, 3), np.inf))


def test_what_is_refused():
    @guvectorize("(n)->()")
    def total(a, out):
        out[0] = a.sum()

    a = A["f8"]
    cases = [
        (njit(lambda a: total(a)), treadle.UnsupportedError, "generalised ufunc total"),
        (njit(lambda a: add(a)), treadle.TypingError, "takes 2 arguments"),
        (njit(lambda a: add(a, "x")), treadle.TypingError, "numbers or arrays, not str"),
        (njit(lambda a: add(a, a, where=a)), treadle.TypingError, "no keyword arguments but out="),
        (njit(lambda a: add(a, a, 3)), treadle.TypingError, "out must be an array"),
        (njit(lambda a: add(a, 1j, a)), treadle.TypingError, "cannot store"),
        (njit(lambda a: add.reduce(a)), treadle.TypingError, "no attribute 'reduce'"),
    ]
    for f, error, match in cases:
        with pytest.raises(error, match=match):
            f(a)


def test_signatures_are_part_of_the_program(tmp_path, monkeypatch):
    """Two ufuncs of one function with other types are two functions to a cached caller."""
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))

    def make(sig):
        u = vectorize([sig])(lambda x: x * 2)

        @njit(cache=True)
        def f(a):
            return u(a)

        return f

    a = np.arange(3, dtype="i2")
    assert make(float32(float32))(a).dtype == np.float32
    assert make(int64(int64))(a).dtype == np.int64
