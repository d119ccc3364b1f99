"""A ufunc whose function raises: the call ends there, and what was computed before stays."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import treadle
from treadle import guvectorize, njit, vectorize


def not_four(x):
    if x == 4:
        raise ValueError("no 4")
    return x + 0.5


def add(x, y):
    if y == 4:
        raise ValueError("no 4")
    return x + y


def double(a, k, out):
    for i in range(len(a)):
        if a[i] == 4:
            raise ValueError("no 4")
        out[i] = a[i] * k


WAYS = {
    "lazy": lambda f: vectorize(f),
    "declared": lambda f: vectorize(["f8(f8)"] if f is not_four else ["f8(f8,f8)"])(f),
    "parallel": lambda f: vectorize(target="parallel")(f),
}
LAYOUTS = {
    "plain": lambda n: np.full(n, -1.0),
    "steps": lambda n: np.full(2 * n, -1.0)[::2],
    "backwards": lambda n: np.full(n, -1.0)[::-1],
    "rows": lambda n: np.full((2, n), -1.0),
    "columns": lambda n: np.full((n, 2), -1.0).T,
}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def make(request):
    return request.param


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("n", [8, 700])
def test_what_was_computed_stays(make, layout, n):
    f, a = make(not_four), np.where(np.arange(n) == n - 4, 4.0, 10.0)
    out = layout(n)
    want = np.full((2, n), -1.0)
    want[0, : n - 4] = 10.5
    for x in (a, np.repeat(a, 2)[::2]):
        out[...] = -1
        with pytest.raises(ValueError, match="^no 4$"):
            f(x, out=out)
        if (
            make is WAYS["parallel"]
        ):  # where the clock says that ranges pay, a later one may have been done meanwhile
            rest = out[..., n - 3 :]
            rest[rest == 10.5] = -1
        if out.ndim == 1:
            np.testing.assert_array_equal(out, want[0])
        elif out.flags.c_contiguous:
            np.testing.assert_array_equal(out, want)
        else:  # the walk is along the shorter axis, both items of a column at once
            assert (out[:, : n - 4] == 10.5).all() and (out[:, n - 3 :] == -1).all()


def test_halves(make):
    if make is WAYS["declared"]:
        return
    a, out = np.arange(8, dtype="f2"), np.full(8, -1, "f2")
    with pytest.raises(ValueError, match="no 4"):
        make(not_four)(a, out=out)
    assert out.tolist() == [0.5, 1.5, 2.5, 3.5, -1, -1, -1, -1]


@pytest.mark.parametrize("dtype", ["f4", ">f8", "c16"])
def test_outputs_that_numpy_converts_lose_the_last_buffer(make, dtype):
    """NumPy's buffers hold 8192 items; what is in one when the function raises it throws away."""
    a = np.where(np.arange(20000) == 9000, 4.0, 1.0)
    out = np.full(20000, -1).astype(dtype)
    with pytest.raises(ValueError, match="no 4"):
        make(not_four)(a, out=out, casting="same_kind")
    assert (out[:8192] == 1.5).all() and (out[8192:] == -1).all()


def test_in_place_and_where(make):
    f, x = make(not_four), np.arange(8.0)
    with pytest.raises(ValueError):
        f(x, out=x)
    assert x.tolist() == [0.5, 1.5, 2.5, 3.5, 4, 5, 6, 7]
    out = np.full(8, -1.0)
    with pytest.raises(ValueError):
        f(np.arange(8.0), out=out, where=np.arange(8) != 1)
    assert out.tolist() == [0.5, -1, 2.5, 3.5, -1, -1, -1, -1]
    f(np.arange(8.0), out=out, where=np.arange(8) != 4)
    assert out.tolist() == [0.5, 1.5, 2.5, 3.5, -1, 5.5, 6.5, 7.5]


def test_the_lowest_index_raises():
    @vectorize(target="parallel")
    def f(x):
        if x == 1:
            raise KeyError("first")
        if x == 2:
            raise IndexError("second")
        return x

    a = np.zeros(200_000)
    a[150_000:] = 2
    a[100_000] = 1
    for shape in ((-1,), (400, 500)):
        for _ in range(5):
            with pytest.raises(KeyError, match="first"):
                f(a.reshape(shape))


def test_methods(make):
    f, a = make(add), np.arange(8.0)
    for step in (1, 2):
        out = np.full(8 * step, -1.0)[::step]
        with pytest.raises(ValueError):
            f.accumulate(a, out=out)
        assert out.tolist() == [0, 1, 3, 6, -1, -1, -1, -1]
    with pytest.raises(ValueError):
        f.reduce(a)
    with pytest.raises(ValueError):
        f.reduceat(a, [0, 3])
    out = np.full((2, 8), -1.0)
    with pytest.raises(ValueError):
        f.outer([1.0, 2.0], a, out=out)
    assert out[0, :4].tolist() == [1, 2, 3, 4] and (out[:, 4:] == -1).all()
    x = np.zeros(4)
    with pytest.raises(ValueError):
        f.at(x, [0, 1, 2], [1.0, 4.0, 2.0])
    assert x.tolist() == [1, 0, 0, 0]
    assert f.reduce(a[:4]) == 6 and f.accumulate(a[:4]).tolist() == [0, 1, 3, 6]


@pytest.mark.parametrize("target", ["cpu", "parallel"])
def test_gufuncs(target):
    f = guvectorize(["void(f8[:], f8, f8[:])"], "(n),()->(n)", target=target)(double)
    a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for out in (np.full((3, 2), -1.0), np.full((3, 4), -1.0)[:, ::-2], np.full((2, 3), -1.0).T):
        with pytest.raises(ValueError, match="no 4"):
            f(a, 2, out=out)
        if (
            target == "parallel"
        ):  # where the clock says that ranges pay, a later one may have been done meanwhile
            out[2][out[2] == 2 * a[2]] = -1
        assert out.tolist() == [[2, 4], [6, -1], [-1, -1]]
    room = np.zeros(6 * 8 + 4, np.uint8)[4:].view("f8").reshape(3, 2)
    room[...] = -1
    out = np.full((3, 2), -1, "f4")
    for converted in (room, out):  # NumPy's copies are thrown away
        with pytest.raises(ValueError, match="no 4"):
            f(a, 2, out=converted)
        assert (converted == -1).all()


def test_in_compiled_code(make):
    f = make(not_four)

    @njit
    def call(x, out):
        f(x, out)

    out = np.full(8, -1.0)
    with pytest.raises(ValueError, match="no 4"):
        call(np.arange(8.0), out)
    assert out[:4].tolist() == [0.5, 1.5, 2.5, 3.5] and (out[4:] == -1).all()


def test_nothing_leaks(make):
    f, g = make(not_four), guvectorize(["void(f8[:], f8, f8[:])"], "(n),()->(n)")(double)
    a, out = np.arange(3000.0), np.zeros(3000)
    calls = [
        lambda: f(a),
        lambda: f(a, out=out),
        lambda: f(a[::2], out=out[::2]),
        lambda: f(4.0),
        lambda: g(a, 2, out=out),
        lambda: g(a, 2),
    ]
    for call in calls:
        with pytest.raises(ValueError):
            call()
    before = sys.getrefcount(a), sys.getrefcount(out), sys.getrefcount(f), treadle.stats()
    for _ in range(50):
        for call in calls:
            with pytest.raises(ValueError):
                call()
    after = treadle.stats()
    assert (sys.getrefcount(a), sys.getrefcount(out), sys.getrefcount(f)) == before[:3]
    assert (
        after["arrays_allocated"] - after["arrays_freed"]
        == before[3]["arrays_allocated"] - before[3]["arrays_freed"]
    )
