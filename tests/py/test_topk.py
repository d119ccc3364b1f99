"""The best along an axis as a pattern: what is chosen, whatever is fused into it, whoever walks it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import _core, _library, njit

TYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8".split()
#: How the keys of a line may come; a line of floats has some of each kind of special ones, or long runs of them.
ORDERS = ("drawn", "up", "down", "few", "equal", "turn")
SIZES = (0, 1, 2, 9, 31, 32, 33, 64, 75, 100, 127, 200, 1_000, 1_100, 2_500, 6_000)


def lines(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...], order: str, special: str
) -> np.ndarray:
    """Return an array whose last axis is what is chosen along."""
    span = {"few": 3, "equal": 1}.get(order, 100_000)
    a = rng.integers(-span, span, shape)
    if dtype[0] == "f":
        x = (a * rng.choice([1.0, 0.37, 1e-3])).clip(-60_000, 60_000)
        if special != "none" and x.size:
            some = rng.random(shape) < {"some": 0.1, "most": 0.97, "first": 0.0}[special]
            if special == "first":
                some[..., : shape[-1] * 3 // 4] = True
            x[some] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan], some.sum())
            if special == "first":
                x[some] = np.nan
        a = x
    a = a.astype(dtype)
    if order in ("up", "down", "turn"):
        a = np.sort(a, axis=-1)
    if order == "down":
        a = a[..., ::-1].copy()
    if order == "turn":
        a = np.concatenate((a[..., ::2], a[..., 1::2][..., ::-1]), axis=-1)
    return a


def best(a: np.ndarray, keys: np.ndarray, k: int, largest: bool, omit: bool) -> tuple[np.ndarray, np.ndarray]:
    """By NumPy's stable sort: upwards, or from the end of what is turned."""
    order = np.argsort(keys[..., ::-1] if largest else keys, axis=-1, kind="stable")
    if largest:
        order = keys.shape[-1] - 1 - order[..., ::-1]
    if omit and largest and keys.dtype.kind == "f":
        last = np.isnan(np.take_along_axis(keys, order, -1))
        order = np.take_along_axis(order, np.argsort(last, axis=-1, kind="stable"), -1)
    return np.take_along_axis(a, order[..., :k], -1), order[..., :k]


def same(got: tuple, want: tuple, about: object) -> None:
    """Assert that values and places have the same bits, NaN as NaN."""
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert (g.dtype, g.shape) == (w.dtype, w.shape), about
        if g.dtype.kind == "f":
            assert np.array_equal(np.isnan(g), np.isnan(w)), about
            g, w = np.nan_to_num(g, nan=1.0), np.nan_to_num(w, nan=1.0)
        assert g.tobytes() == w.tobytes(), about


# Each says what is chosen from, what it is compared by, and the rest.
CASES = {
    "largest": (lambda a, k: tp.topk(a, k), lambda a: (a, a), True, False),
    "smallest": (lambda a, k: tp.topk(a, k, largest=False), lambda a: (a, a), False, False),
    "numbers": (lambda a, k: tp.topk(a, k, nan="omit"), lambda a: (a, a), True, True),
    "key": (lambda a, k: tp.topk(a, k, key=lambda v: v > 3), lambda a: (a, a > 3), True, False),
    "map": (lambda a, k: tp.topk(a + a, k, largest=False), lambda a: (a + a, a + a), False, False),
    "map and key": (lambda a, k: tp.topk(a + a, k, key=lambda v: v <= 3), lambda a: (a + a, a + a <= 3), True, False),
}  # fmt: skip
FUNCTIONS = {name: (njit(c[0]), njit(parallel=True)(c[0])) for name, c in CASES.items()}


def check(name: str, a: np.ndarray, k: int, parallel: bool, about: object) -> None:
    _, keys, largest, omit = CASES[name]
    with np.errstate(all="ignore"):
        want = best(*keys(a), k, largest, omit)
    same(FUNCTIONS[name][parallel](a, k), want, about)


@settings(deadline=None)
@given(st.data())
def test_any_lines(data):
    name, dtype = data.draw(st.sampled_from(sorted(CASES))), data.draw(st.sampled_from(TYPES))
    n = data.draw(st.sampled_from(SIZES))
    shape = (*data.draw(st.sampled_from([(), (1,), (3,), (2, 2), (0,)])), n)
    order = data.draw(st.sampled_from(ORDERS))
    special = data.draw(st.sampled_from(["none", "some", "most", "first"]))
    a = lines(np.random.default_rng(data.draw(st.integers(0, 999))), dtype, shape, order, special)
    how = data.draw(st.sampled_from(["as it is", "strided", "backwards", "read-only", "transposed"]))
    if how == "strided":
        a = np.repeat(a, 2, axis=-1)[..., ::2]
    elif how == "backwards":
        a = a[..., ::-1]
    elif how == "read-only":
        a.flags.writeable = False
    elif how == "transposed":
        a = np.asfortranarray(a)
    k = min(n, data.draw(st.sampled_from([0, 1, 2, 10, 40, 130, 600, n // 2, n])))
    parallel = data.draw(st.booleans())
    if parallel:
        _core._pool_grain(data.draw(st.sampled_from([0, 1, 7, 300])), data.draw(st.booleans()))
    try:
        check(name, a, k, parallel, (name, dtype, shape, order, special, how, k, parallel))
    finally:
        _core._pool_grain(0)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_long_lines(order, dtype):
    """More than there is room for at once, many times; and so many wanted that a histogram is asked."""
    a = lines(np.random.default_rng(4), dtype, (60_000,), order, "some")
    for k in (1, 100, 3_000, 9_000, 60_000):
        for name in ("largest", "smallest"):
            check(name, a, k, False, (order, dtype, k, name))
            check(name, a, k, True, (order, dtype, k, name))


def test_threads():
    """The same for any number of threads: places of equal keys, too."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 1_000, 400_000).astype("f4")
    rows = rng.integers(-9, 9, (500, 300)).astype("i2")
    kept = treadle.get_num_threads()
    try:
        for n in (1, 2, 4)[: max(1, min(3, kept))]:
            treadle.set_num_threads(n)
            check("key", a, 1_000, True, n)
            check("largest", rows, 7, True, n)
    finally:
        treadle.set_num_threads(kept)


def test_a_map_goes_into_the_choice():
    """No array of what is compared, nor of what is chosen from."""
    x = np.arange(50.0).reshape(5, 10)
    v, i = tp.topk(tp.map(lambda v: -v * v + 3, x), 3, axis=1, key=abs)
    told = tp.explain(v, i)
    assert [(k.forms, k.read, k.written) for k in told.kernels] == [(("top",), x.nbytes, 5 * 3 * 16)]
    same((v, i), best(3 - x * x, abs(3 - x * x), 3, True, False), "map")


def test_what_is_made_is_kept():
    """An array that others use, too, is written by the way; what is chosen is not read again where it was changed."""

    @njit
    def both(x, k):
        y = x * 2
        return y, tp.topk(y, k)

    @njit
    def changed(x, k):
        x *= 2
        return tp.topk(x, k)

    a = np.array([1.0, 5.0, -3.0, 5.0])
    y, got = both(a, 3)
    assert y.tolist() == [2, 10, -6, 10]
    same(got, (np.array([10.0, 10.0, 2.0]), np.array([1, 3, 0])), "both")
    same(changed(a, 3), got, "changed")
    assert a.tolist() == [2, 10, -6, 10]


def test_in_a_loop_and_by_row():
    """In a prange, a row at a time; of columns."""

    @njit(parallel=True)
    def each(a, k):
        out = np.empty((len(a), k))
        for r in treadle.prange(len(a)):
            v, i = tp.topk(a[r], k)
            out[r] = v + i
        return out

    a = np.random.default_rng(6).integers(0, 50, (40, 90)).astype("f8")
    v, i = best(a, a, 5, True, False)
    assert np.array_equal(each(a, 5), v + i)
    same(
        njit(lambda a: tp.topk(a, 4, axis=0))(a),
        tuple(x.T for x in best(a.T, a.T, 4, True, False)),
        "columns",
    )


def test_python_form():
    """What the library's function means, Python says, too; more than there is, and no axis."""
    a = np.array([[1.0, np.nan, 3.0, 3.0], [2.0, -1.0, np.nan, 2.0]])
    for f in (
        lambda a: _library.best(a, -a, 3),
        lambda a: _library.best(a, -a, 3, True, True),
        lambda a: _library.best(a, -a, 3, False),
    ):
        same(njit(f)(a), f(a), f)
    for form in (_library.best, njit(lambda a, b, k: _library.best(a, b, k))):
        with pytest.raises(ValueError, match="k is 5, and there are 4 items along the axis"):
            form(a, a, 5)
    with pytest.raises(treadle.errors.TypingError, match="two arrays of one shape"):
        njit(lambda a: _library.best(a, 1.0, 1))(a)


def child(plant: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, __file__], env=os.environ | {"TREADLE_PLANT": plant}, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert not done.stderr, done.stderr[-2000:]
    return done.stdout.split()


def test_a_planted_fault_is_found():
    """Where a later one of equal keys is taken, lines with equal keys differ, and only these."""
    assert child("0") == []
    assert child("22") == ["few", "equal"]


def main() -> None:
    """Prints for which orders of keys the largest differ."""
    for order in ORDERS:
        a = lines(np.random.default_rng(7), "f8", (300,), order, "none")
        if order not in ("few", "equal"):
            a = np.unique(a) if order == "up" else a + np.arange(300) * 1e-6
        try:
            check("largest", a, 10, False, order)
        except AssertionError:
            print(order)


if __name__ == "__main__":
    main()
