"""Ufuncs of vectorize called in compiled code: on numbers, on arrays, from one another, with the types they have outside."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle import float32, float64, guvectorize, int64, njit, vectorize


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


@guvectorize("(n)->()")
def total(a, out):
    out[0] = a.sum()


@guvectorize("(m,n),(n,p)->(m,p)")
def matmul(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = (a[i] * b[:, j]).sum()


@guvectorize("(n),()->(n)")
def scale(a, k, out):
    for i in range(len(a)):
        out[i] = a[i] * k


@guvectorize([(float32[:], float32[:], int64[:]), (float64[:], float64[:], int64[:])], "(n)->(),()")
def first_and_count(a, first, count):
    first[0] = a[0]
    count[0] = len(a)


@guvectorize("(n),(n)", writable_args=("a",))
def shift(a, b):
    for i in range(len(a)):
        a[i] += b[i]


def same(got, want):
    assert np.array_equal(got, want) and np.shape(got) == np.shape(want)
    assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("parallel", [False, True])
def test_generalised_ufuncs(parallel):
    @njit(parallel=parallel)
    def f(a, b):
        return total(a), matmul(a, b), scale(a, 2), scale(a, 0.5), first_and_count(a)

    for dt in ("f8", "f4", "i4", "u1", "c8"):
        a, b = np.arange(24).reshape(2, 3, 4).astype(dt), np.arange(16).reshape(2, 4, 2).astype(dt)
        if dt == "c8":
            with pytest.raises(treadle.TypingError, match=r"first_and_count\(\) has no signature"):
                f(a, b)
            continue
        for x, y in ((a, b), (a[::-1, :, ::2], b[::-1, ::2]), (np.asfortranarray(a), b[:1])):
            got = f(x, y)
            for g, w in zip(got[:4], (total(x), matmul(x, y), scale(x, 2), scale(x, 0.5)), strict=True):
                same(g, w)
            for g, w in zip(got[4], first_and_count(x), strict=True):
                same(g, w)


def test_generalised_ufuncs_repeat_outer_axes():
    rng = np.random.default_rng(3)
    for sa, sb in (
        ((3, 1, 2, 4), (5, 4, 2)),
        ((2, 4), (3, 4, 2)),
        ((1, 2, 4), (3, 4, 2)),
        ((0, 2, 4), (1, 4, 2)),
    ):
        a, b = rng.random(sa), rng.random(sb)
        got = njit(lambda a, b: matmul(a, b))(a, b)
        assert got.shape == np.matmul(a, b).shape and np.allclose(got, np.matmul(a, b))
    assert njit(lambda a: total(a))(np.arange(4.0)) == 6.0
    assert njit(lambda a: total(a))(np.ones((0, 4))).shape == (0,)
    for bad in (((2, 3), (4, 2)), ((3, 2, 4), (2, 4, 2))):
        with pytest.raises(ValueError, match="core dimension|broadcast"):
            njit(lambda a, b: matmul(a, b))(np.ones(bad[0]), np.ones(bad[1]))


def test_generalised_ufuncs_store_into_given_outputs():
    @njit
    def into(a, o):
        scale(a, 2.0, o)
        return scale(a, 3.0, out=o[::-1])

    @njit
    def several(a, x, n):
        first_and_count(a, out=(x, None))
        return first_and_count(a, x, n)

    a, o = np.arange(12.0).reshape(3, 4), np.zeros((3, 4))
    assert np.array_equal(into(a, o), a * 3) and np.array_equal(o, (a * 3)[::-1])
    assert np.array_equal(into(a, a), (np.arange(12.0).reshape(3, 4) * 6))  # operands that overlap are copied
    wide = np.zeros((3, 4), "c16")
    assert np.array_equal(into(np.ones(4), wide), np.full((3, 4), 3.0))  # another type, more outer axes
    x, n = np.zeros(3, "f4"), np.zeros(3, "i8")
    got = several(np.ones((3, 5), "f4"), x, n)
    assert got[0] is x and got[1] is n and x.tolist() == [1, 1, 1] and n.tolist() == [5, 5, 5]
    with pytest.raises(treadle.TypingError, match="cannot store a result of float64 in an array of int32"):
        into(a, np.zeros((3, 4), "i4"))
    with pytest.raises(treadle.TypingError, match="is stored to and cannot repeat"):
        into(a, np.zeros(4))
    with pytest.raises(ValueError, match="is stored to has size 1 where"):
        into(a, np.zeros((1, 4)))


def test_given_outputs_of_a_lazy_one_are_handed_on():
    @guvectorize("(n)->(n)")
    def accumulate(a, out):
        for i in range(len(a)):
            out[i] += a[i] / 4

    f = njit(lambda a, o: accumulate(a, o))
    for dt in ("f4", "f8", "c16"):
        o = np.ones((2, 3), dt)
        assert f(np.full(3, 3, "f4"), o) is o and np.array_equal(o, np.full((2, 3), 1.75))


def test_generalised_ufuncs_store_into_inputs():
    @njit
    def f(a, b):
        shift(a, b)
        return shift(a, a[::-1])

    for dt in ("f8", "f4", "i4"):
        a = np.arange(6).reshape(2, 3).astype(dt)
        b = np.ones(3, dt)
        want = a + b
        assert f(a, b) is None and np.array_equal(a, want + want[::-1])
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(treadle.TypingError, match="is stored to, but the array is read-only"):
        f(frozen, np.ones(3))

    @guvectorize("(n)->()")
    def careless(a, out):
        a[0] = out[0] = 1

    with pytest.raises(treadle.TypingError, match="read-only"):
        njit(lambda a: careless(a))(frozen)


def test_generalised_ufuncs_of_others():
    @guvectorize("(m,n)->(m)")
    def rows(a, out):
        total(a, out)
        out += total(scale(a, 2.0))

    @vectorize
    def triple(x):
        return x * total(np.ones(3))

    a = np.random.default_rng(1).random((4, 3, 5))
    assert np.allclose(rows(a), 3 * a.sum(-1)) and np.allclose(njit(lambda a: rows(a))(a), 3 * a.sum(-1))
    assert triple(np.arange(3.0)).tolist() == [0, 3, 6]

    @guvectorize([(float64[:], int64, float64[:])], "(n),()->(n)")
    def times(a, k, out):
        if k == 0:
            out[:] = a
        else:
            for i in range(len(a)):
                out[i] = a[i] * k

    assert njit(lambda a, k: times(a, k))(np.arange(3.0), np.array([0, 2])).tolist() == [[0, 1, 2], [0, 2, 4]]


def test_exceptions_of_generalised_ufuncs():
    @guvectorize("(n)->()")
    def checked(a, out):
        if a[0] < 0:
            raise ValueError("negative", a[0])
        out[0] = a[7]

    @njit(parallel=True)
    def f(a):
        return checked(a)

    assert f(np.ones((1000, 8))).sum() == 1000
    bad = np.ones((1000, 8))
    bad[[300, 900], 0] = -3, -9
    with pytest.raises(ValueError) as info:
        f(bad)
    assert info.value.args == ("negative", -3.0)
    with pytest.raises(IndexError):
        f(np.ones((2, 7)))


def test_what_is_refused():
    @guvectorize("(n)->()")
    def returning(a, out):
        return a[0]

    a = A["f8"]
    cases = [
        (
            njit(lambda a: total(1.0)),
            treadle.TypingError,
            r"has 0 dimensions, but the layout '\(n\)->\(\)' wants 1",
        ),
        (njit(lambda a: total(a, axis=0)), treadle.TypingError, "no keyword arguments but out="),
        (njit(lambda a: total(a, out=(a, a))), treadle.TypingError, "out must be an array, given once"),
        (njit(lambda a: total(a, 2.0)), treadle.TypingError, "output 1 must be an array, not float"),
        (njit(lambda a: total("x")), treadle.TypingError, "takes numbers or arrays, not str"),
        (njit(lambda a: returning(a)), treadle.TypingError, "must store its results into its last arguments"),
        (njit(lambda a: add(a)), treadle.TypingError, "takes 2 arguments"),
        (njit(lambda a: add(a, "x")), treadle.TypingError, "numbers or arrays, not str"),
        (njit(lambda a: add(a, a, where=a)), treadle.TypingError, "where= without out="),
        (njit(lambda a: add(a, a, a, where=a)), treadle.TypingError, "where must be of bool"),
        (njit(lambda a: add(a, a, casting="safe")), treadle.TypingError, "but out= and where="),
        (njit(lambda a: total(a, where=a > 0)), treadle.TypingError, "no keyword arguments but out="),
        (njit(lambda a: add(a, a, 3)), treadle.TypingError, "out must be an array"),
        (njit(lambda a: add(a, 1j, a)), treadle.TypingError, "cannot store"),
        (njit(lambda a: add.reduceat(a, a)), treadle.TypingError, "indices are integers"),
        (njit(lambda a: total.reduce(a)), treadle.TypingError, "no attribute 'reduce'"),
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
