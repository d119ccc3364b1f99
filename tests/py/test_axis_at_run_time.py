"""Functions of NumPy's along an axis, or with a flag, that the running program knows: `np.cumsum(a, axis=k)`, `np.digitize(x, edges, right)`."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import treadle
from treadle import njit, prange

AxisError = getattr(np, "exceptions", np).AxisError
RNG = np.random.default_rng(5)
A = RNG.integers(-9, 9, (3, 4, 5)).astype(np.float64)
ARRAYS = {
    "3d": A,
    "fortran": np.asfortranarray(A),
    "strided": A[::-1, :, ::2],
    "1d": A[0, 0],
    "2d-f4": A[0].astype(np.float32),
    "ints": A[:, 1].astype(np.int32),
    "empty": A[:, :0],
}


trapezoid = getattr(np, "trapezoid", None) or np.trapz


def in_place(a, k):
    b = a.copy()
    b.sort(axis=k)
    return b


FUNCTIONS = [
    lambda a, k: np.cumsum(a, axis=k),
    lambda a, k: a.cumsum(k),
    lambda a, k: np.cumprod(a, axis=k),
    lambda a, k: np.sort(a, axis=k),
    in_place,
    lambda a, k: np.argsort(a, axis=k, kind="stable"),
    lambda a, k: a.argsort(k, kind="stable"),
    lambda a, k: np.flip(a, axis=k),
    lambda a, k: np.flip(a, k),
    lambda a, k: np.roll(a, 2, axis=k),
    lambda a, k: np.repeat(a, 2, axis=k),
    lambda a, k: np.take(a, np.array([], np.int64), axis=k),
    lambda a, k: np.concatenate((a, a), axis=k),
    lambda a, k: np.concatenate((a, a), k),
    lambda a, k: np.append(a, a, axis=k),
    lambda a, k: np.stack((a, a * 2), axis=k),
    lambda a, k: np.expand_dims(a, k),
    lambda a, k: np.diff(a, axis=k),
    lambda a, k: np.sum(a, axis=k, where=a > 0),
    lambda a, k: np.add.reduce(a, axis=k),
    lambda a, k: np.add.accumulate(a, axis=k),
    lambda a, k: np.delete(a, slice(0, 0), axis=k),
    lambda a, k: np.compress(np.zeros(0, np.bool_), a, axis=k),
    lambda a, k: np.nansum(a, axis=k),
    lambda a, k: trapezoid(a, axis=k),
    lambda a, k: np.take_along_axis(a, np.argsort(a, axis=k, kind="stable"), axis=k),
]
NONEMPTY = [
    lambda a, k: np.take(a, [0, -1], axis=k),
    lambda a, k: a.take(np.array([[0, 0]]), axis=k),
    lambda a, k: np.median(a, axis=k),
    lambda a, k: np.partition(a, 0, axis=k),
    lambda a, k: np.split(a, [1], axis=k)[1],
    lambda a, k: np.insert(a, 1, 7, axis=k),
    lambda a, k: np.percentile(a, 30, axis=k),
    lambda a, k: np.nanmax(a, axis=k),
]
# those that knew such axes before
REDUCTIONS = [
    lambda a, k: np.sum(a, axis=k),
    lambda a, k: a.mean(k),
    lambda a, k: np.any(a > 3, axis=k),
    lambda a, k: a.std(axis=k, keepdims=True),
]


def checked(fn, a):
    nd = a.ndim + (fn in FUNCTIONS[15:17])
    f = njit(fn)
    for k in range(-nd, nd):
        want, got = fn(a, k), f(a, k)
        if a.ndim == 1 and not isinstance(want, np.ndarray):
            assert np.isclose(want, got, rtol=1e-6)
            continue
        assert want.shape == got.shape and want.dtype == got.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)
    for k in (nd, -nd - 1, 2**40, -(2**63)):
        with pytest.raises(AxisError, match=rf"axis {k} is out of bounds for array of dimension {nd}"):
            f(a, k)
        with pytest.raises((AxisError, IndexError, ValueError)):  # NumPy takes 32 bits
            fn(a, k if abs(k) < 9 else 99)
    assert len(f.signatures) == 1


@pytest.mark.parametrize("name", ["3d", "fortran", "strided", "1d", "empty"])
@pytest.mark.parametrize("i", range(len(FUNCTIONS)))
def test_as_numpy(i, name):
    checked(FUNCTIONS[i], ARRAYS[name])


@pytest.mark.parametrize("name", ["3d", "strided", "2d-f4", "ints"])
@pytest.mark.parametrize("i", range(len(NONEMPTY)))
def test_as_numpy_where_there_are_items(i, name):
    checked(NONEMPTY[i], ARRAYS[name])


@pytest.mark.parametrize("i", range(len(REDUCTIONS)))
def test_reductions(i):
    checked(REDUCTIONS[i], A)


def test_other_types_of_axes():
    f = njit(lambda a, k: np.cumsum(a, axis=k))
    for k in (np.int8(-1), np.uint8(2), np.uint64(1), np.int32(0)):
        np.testing.assert_array_equal(f(A, k), np.cumsum(A, axis=int(k)))
    with pytest.raises(AxisError):
        f(A, np.uint64(2**64 - 1))
    for bad in (1.0, None):
        if bad is not None:
            with pytest.raises(treadle.TypingError):
                f(A, bad)


def test_read_only_and_results_shared_with_nothing():
    a = A.copy()
    a.flags.writeable = False
    f = njit(lambda a, k: (np.sort(a, axis=k), np.flip(a, axis=k)))
    for k in range(3):
        s, v = f(a, k)
        np.testing.assert_array_equal(s, np.sort(a, axis=k))
        np.testing.assert_array_equal(v, np.flip(a, axis=k))
        assert s.flags.writeable and not np.shares_memory(s, a)


@njit
def running(a, k):
    return np.cumsum(a, axis=k)


@pytest.mark.parametrize(
    "options", [{}, {"parallel": True}, {"nogil": True, "fastmath": True, "boundscheck": True}], ids=str
)
@pytest.mark.parametrize("inline", ["never", "always"])
def test_ways_in(options, inline):
    inner = njit(inline=inline)(running.py_func)

    @njit(**options)
    def f(a, k):
        s = 0.0
        for j in range(a.ndim):
            s += inner(a, j).sum()
        out = np.zeros(a.ndim)
        for j in prange(a.ndim):
            out[j] = np.sort(a, axis=j)[0, 0, 0] + inner(a, j)[-1, -1, -1]
        return s, out, inner(a, k), np.flip(a * 2, k) + 1

    for k in (0, 1, 2, -1):
        for want, got in zip(f.py_func(A, k), f(A, k), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    with pytest.raises(AxisError):
        f(A, 3)


def test_caught():
    @njit
    def f(a, k):
        try:
            return np.cumsum(a, axis=k)[0, 0, 0]
        except ValueError:
            return -1.0

    assert f(A, 1) == A[0, 0, 0] and f(A, 5) == -1.0


def test_a_type_that_depends_on_the_axis():
    def f(a, k):
        return np.linalg.norm(a, axis=k)

    np.testing.assert_allclose(njit(f)(A, 1), f(A, 1))

    def g(k):
        return np.cumsum((1, 2, 3), axis=k)

    with pytest.raises(treadle.TypingError):
        njit(g)(0)


def test_through_the_cache(tmp_path):
    (tmp_path / "prog.py").write_text(
        """
import numpy as np
from treadle import njit

@njit(cache=True)
def f(a, k):
    return np.cumsum(a, axis=k), np.median(a, axis=k)

a = np.arange(6.0).reshape(2, 3)
for k in (0, 1, -1):
    for got, want in zip(f(a, k), f.py_func(a, k)):
        assert (got == want).all()
print(f.stats["loaded"])
"""
    )
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    for loaded in (0, 1):
        out = subprocess.run(
            [sys.executable, str(tmp_path / "prog.py")], env=env, capture_output=True, text=True, check=True
        )
        assert out.stdout == f"{loaded}\n"


TWO_AXES = [
    lambda a, i, j: np.swapaxes(a, i, j),
    lambda a, i, j: a.swapaxes(i, j) + np.swapaxes(a, i, axis2=j),
    lambda a, i, j: np.moveaxis(a, i, j),
    lambda a, i, j: np.moveaxis(a, destination=j, source=i) * 2,
]


@pytest.mark.parametrize("f", TWO_AXES, ids=range(len(TWO_AXES)))
@pytest.mark.parametrize("name", ["3d", "fortran", "strided", "2d-f4", "1d", "empty"])
def test_two_axes(f, name):
    a = ARRAYS[name]
    ours = njit(f)
    for i in range(-a.ndim, a.ndim):
        for j in range(-a.ndim, a.ndim):
            got, want = ours(a, i, j), f(a, i, j)
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
    for i, j in ((a.ndim, 0), (0, -a.ndim - 1), (2**62, 0)):
        with pytest.raises(AxisError):
            ours(a, i, j)
    assert len(ours.signatures) == 1


@pytest.mark.parametrize("name", ["3d", "fortran", "strided", "2d-f4", "empty"])
def test_turns(name):
    a = ARRAYS[name]
    f = njit(lambda a, k: np.rot90(a, k))
    g = njit(lambda a, k: np.rot90(a, k=k, axes=(1, 0)) + 1)
    for k in (*range(-5, 9), 2**62 + 1, -(2**63)):
        for ours in (f, g):
            got, want = ours(a, k), ours.py_func(a, k)
            assert got.shape == want.shape
            np.testing.assert_array_equal(got, want)
    assert len(f.signatures) == 1


EDGES = np.array([0.0, 1.0, 2.5])
FLAGS = [
    lambda x, on: np.digitize(x, EDGES, on),
    lambda x, on: np.digitize(x, EDGES, right=on).sum(),
    lambda x, on: np.angle(x + 1j, on),
    lambda x, on: np.angle(x[0] + 1j, deg=on),
    lambda x, on: np.linspace(0.0, x[0] + 1, 7, endpoint=on),
    lambda x, on: np.vander(x, 3, on),
    lambda x, on: np.cov(np.stack((x, x * x)), rowvar=on),
    lambda x, on: np.isin(x, EDGES, invert=on),
    lambda x, on: np.array_equal(x, x * np.nan, on),
]


@pytest.mark.parametrize("f", FLAGS, ids=range(len(FLAGS)))
def test_flags(f):
    x = np.array([0.5, 2.5, -1.0, 1.0])
    ours = njit(f)
    for on in (True, False, np.True_):
        got, want = ours(x, on), f(x, bool(on))
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert len(ours.signatures) == 1


def test_draws_with_a_flag():
    @njit
    def f(seed, again):
        np.random.seed(seed)
        return np.random.choice(9, 9, again)

    assert sorted(f(1, False)) == list(range(9)) and len(set(f(1, True))) < 9
    np.random.seed(1)
    np.testing.assert_array_equal(f(1, True), np.random.choice(9, 9, True))
    np.testing.assert_array_equal(f(1, False), (np.random.seed(1), np.random.choice(9, 9, False))[1])


def test_generators_with_a_flag():
    @njit
    def f(rng, on):
        return (
            rng.integers(0, 2, 60, endpoint=on),
            rng.choice(9, 5, replace=on),
            rng.choice(9, 5, False, shuffle=on),
        )

    for on in (True, False):
        got, want = f(np.random.default_rng(3), on), f.py_func(np.random.default_rng(3), on)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_array_equal(x, y)
    assert len(f.signatures) == 1


def test_flags_that_change_the_type():
    with pytest.raises(treadle.TypingError, match="depends on the flag|must be a constant"):
        njit(lambda a, on: np.histogram(a, 3, density=on))(A.ravel(), True)
    with pytest.raises(treadle.TypingError, match="must be a constant"):
        njit(lambda a, on: np.sum(a, axis=0, keepdims=on))(A, True)
    with pytest.raises(treadle.TypingError):
        njit(lambda a, on: np.digitize(a, EDGES, on))(A.ravel(), 1.5)


def test_flags_from_compiled_callers():
    inner = njit(lambda x, on: np.digitize(x, EDGES, on))

    @njit(parallel=True)
    def f(x):
        s = np.zeros(2, np.int64)
        for k in prange(2):
            s[k] = inner(x, k > 0).sum()
        return s

    x = np.array([0.0, 1.0, 2.0, 2.5])
    np.testing.assert_array_equal(f(x), [np.digitize(x, EDGES).sum(), np.digitize(x, EDGES, True).sum()])


ORDERS = [
    lambda a, i, j, k: np.transpose(a, (i, j, k)),
    lambda a, i, j, k: a.transpose(i, j, k),
    lambda a, i, j, k: a.transpose((i, j - 3, k)) * 2,
    lambda a, i, j, k: np.moveaxis(a, (i, j), (k, i)),
    lambda a, i, j, k: np.moveaxis(a, (i, 1), (0, k)),
    lambda a, i, j, k: np.moveaxis(a, [k, i, j], [0, 1, 2]),
    lambda a, i, j, k: np.moveaxis(a, i, k),
    lambda a, i, j, k: np.rollaxis(a, i, k),
    lambda a, i, j, k: np.rollaxis(a, i),
    lambda a, i, j, k: np.rollaxis(a, 2, k),
    lambda a, i, j, k: np.swapaxes(a, i, k),
    lambda a, i, j, k: a.swapaxes(0, k),
    lambda a, i, j, k: np.subtract.reduce(a, axis=i),
    lambda a, i, j, k: np.hypot.accumulate(a, axis=k),
    lambda a, i, j, k: np.add.reduceat(a, np.array([0, 1]), axis=j),
]


@pytest.mark.parametrize("f", ORDERS)
def test_orders_of_axes(f):
    g = njit(f)
    for a in (A, np.asfortranarray(A), A[::-1, :, ::2]):
        for i in range(-4, 4):
            for j in range(3):
                for k in (-1, 0, 1, 2, 3):
                    try:
                        want = f(a, i, j, k)
                    except (ValueError, IndexError) as e:
                        with pytest.raises(ValueError if type(e) is ValueError else (ValueError, IndexError)):
                            g(a, i, j, k)
                    else:
                        got = g(a, i, j, k)
                        assert got.shape == want.shape and got.dtype == want.dtype
                        np.testing.assert_allclose(got, want, rtol=1e-14)


def test_a_view_with_axes_in_another_order_is_one():
    a = A.copy()
    njit(lambda a, i, j, k: np.transpose(a, (i, j, k)))(a, 2, 0, 1)[...] = 3
    assert (a == 3).all()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u2", "?", "c16"])
def test_differences_of_an_order_that_is_known_late(dtype):
    a = (A if dtype != "?" else A > 0).astype(dtype)
    plain, along = njit(lambda a, n: np.diff(a, n)), njit(lambda a, n: np.diff(a, n, axis=0))
    beside = njit(lambda a, n: np.diff(a, n, 1, a[:, :2], a[:, :1]))
    for x in (a, np.asfortranarray(a), a[::-1, :, ::2], a[:0], a[:, :1]):
        for n in (0, 1, 2, 3, 5, 20):
            for got, want in (
                (plain(x, n), np.diff(x, n)),
                (along(x, n), np.diff(x, n, axis=0)),
                (beside(x, n), np.diff(x, n, 1, x[:, :2], x[:, :1])),
            ):
                assert got.dtype == want.dtype and got.shape == want.shape and np.array_equal(got, want)
    with pytest.raises(ValueError, match="order must be non-negative but got -1"):
        plain(a, -1)


def test_differences_of_orders_that_are_known():
    a = RNG.random(40)
    assert np.array_equal(njit(lambda a: np.diff(a, 20))(a), np.diff(a, 20))
    assert np.isclose(
        njit(lambda a, n: np.diff(a, n, prepend=1.0).sum())(a, 3), np.diff(a, 3, prepend=1.0).sum()
    )
    with pytest.raises(treadle.TypingError, match="non-negative"):
        njit(lambda a: np.diff(a, -1))(a)


BY_THEMSELVES = [
    "np.sum(a, axis=())", "a.sum(axis=(), keepdims=True)", "np.sum(a, axis=(), dtype=np.float32)", "np.sum(a, (), where=a > 0)", "np.prod(a, axis=(), initial=2)",
    "np.max(a, axis=())", "a.min(axis=())", "np.mean(a, axis=())", "np.var(a, axis=())", "a.std(axis=())", "np.any(a, axis=())", "np.all(a > 3, axis=())",
    "np.count_nonzero(a, axis=())", "np.ptp(a, axis=())", "np.add.reduce(a, axis=())", "np.subtract.reduce(a, axis=())", "np.hypot.reduce(a * np.float64(1), axis=())",
    "np.nansum(a, axis=())", "np.sum(a * 2, axis=()) + 1", "np.sum(a, axis=(), out=np.zeros(a.shape))",
]  # fmt: skip


@pytest.mark.parametrize("text", BY_THEMSELVES)
def test_no_axes_at_all(text):
    """What is reduced along no axis is each item by itself, in the result's type."""
    f = eval("lambda a: " + text, {"np": np})
    for a in (A, A[0].astype("i1"), A[::-1, :, ::2] > 0, A[:0], np.asfortranarray(A)):
        if a.dtype == bool and ("ptp" in text or "subtract" in text):
            continue
        got, want = njit(f)(a), f(a)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)
