"""np.searchsorted and np.digitize against NumPy: places, dtypes, shapes and errors."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import rejects, run  # noqa: E402

FUNCTIONS = {
    "left": lambda a, v: np.searchsorted(a, v),
    "right": lambda a, v: np.searchsorted(a, v, side="right"),
    "digitize": lambda a, v: np.digitize(v, a),
    "closed": lambda a, v: np.digitize(v, a, right=True),
}
COMPILED = {(n, p): njit(parallel=p)(f) for n, f in FUNCTIONS.items() for p in (False, True)}
TYPES = ["f8", "f4", "i8", "u8", "i2", "u1", "?"]


def numbers(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    x = rng.integers(0, 2 if dtype == "?" else 12, n).astype("f8")
    if dtype[0] == "f":
        x = np.where(rng.random(n) < 0.1, rng.choice([np.nan, np.inf, -np.inf, -0.0], n), x / 2 - 2)
    return x.astype(dtype)


@settings(max_examples=examples(120), deadline=None)
@given(
    st.sampled_from(sorted(COMPILED)),
    st.sampled_from(TYPES),
    st.sampled_from(TYPES),
    st.sampled_from([0, 1, 2, 3, 8, 33]),
    st.sampled_from([(), (0,), (1,), (9,), (3, 4), (2, 2, 2)]),
    st.booleans(),
    st.integers(0, 999),
)
def test_places(key, of, to, n, shape, apart, seed):
    rng = np.random.default_rng(seed)
    a, v = np.sort(numbers(rng, of, n)), numbers(rng, to, int(np.prod(shape))).reshape(shape)
    if key[0] in ("digitize", "closed") and seed % 3 == 0:
        a = a[~np.isnan(a)][::-1] if of[0] == "f" else a[::-1]
    if apart:
        a, v = np.repeat(a, 2)[::2], (np.repeat(v, 2, axis=0)[::2].T if shape else v)
    if not shape:
        v = v[()]
    got, want = COMPILED[key](a, v), FUNCTIONS[key[0]](a, v)
    assert np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("key", sorted(COMPILED))
def test_many(key, threads):
    rng = np.random.default_rng(1)
    a, v = np.sort(rng.random(1000)), rng.random(70_000)
    np.testing.assert_array_equal(COMPILED[key](a, v), FUNCTIONS[key[0]](a, v))


@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_one_number_in_every_length(side, dtype):
    compiled, rng = COMPILED[side, False], np.random.default_rng(3)
    for n in (*range(35), 63, 64, 65):
        for nans in range(3 if dtype == "f8" else 1):
            a = rng.integers(0, 20, n).astype(dtype)
            a[:nans] = np.nan if nans else a[:nans]
            a.sort()
            for v in (-1, 0, 3, 7.5, 19, 20, np.nan, np.inf):
                assert compiled(a, v) == FUNCTIONS[side](a, v), (a, v)


def test_sequences_and_python_numbers():
    a = np.array([1, 3, 5], np.uint8)
    for expr in (
        "np.searchsorted(a, 2.5)", "np.searchsorted(a, 300)", "np.searchsorted(a, [1, 4])", "np.searchsorted((1, 2, 3), a)",
        "np.digitize(2, a)", "np.digitize((0.5, 9), a)", "np.searchsorted(a.astype(np.float32), 1.0000000001)", "np.searchsorted(a, True)",
    ):  # fmt: skip
        np.testing.assert_array_equal(run(expr, a), eval(expr, {"np": np, "a": a}))


def test_errors():
    a = np.array([1.0, 2.0, 1.5])
    for bins in (a, -a, np.array([np.nan, 1.0, 2.0])):
        with pytest.raises(ValueError, match="bins must be monotonically increasing or decreasing"):
            run("np.digitize(a, a)", bins)
    for bins in ([np.nan, 3.0, 1.0], [1.0, 1.0, np.nan], [5.0, 5.0], []):
        b, x = np.array(bins), np.array([0.0, 1.0, 2.0, 9.0])
        np.testing.assert_array_equal(run("np.digitize(b, a)", b, x), np.digitize(x, b))
    rejects("np.searchsorted(a, a, 'middle')", a, match="search side must be 'left' or 'right'")
    rejects("np.searchsorted(a, a, 3)", a, match="side must be a constant")
    rejects("np.searchsorted(a + 1j, a)", a, match="cannot look for float64 among complex128")
    rejects("np.searchsorted(a[None], a)", a, match="a must have one dimension, not 2")
    rejects("np.digitize(a, a[None])", a, match="bins must have one dimension, not 2")


@njit
def by_places(a, v):
    return np.searchsorted(a, v), np.searchsorted(a, v, side="right"), np.digitize(v, a)


@njit
def counted(a, v):
    return np.histogram(v, a)[0]


@pytest.mark.parametrize("n", [1, 2, 7, 50, 51, 1000, 4096, 5001])
def test_many_values_by_a_table(n):
    """For as many values as these a table says where a search begins: even and uneven items, equal ones, none that a line fits, NaN and infinity in either, whole numbers beyond 2**53, layouts that are no line."""
    rng = np.random.default_rng(n)
    near = rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n)
    sets = [
        np.linspace(-3, 3, n),
        near,
        rng.integers(-20, 20, n).astype(float),
        np.full(n, 1.5),
        np.append(near[1:], np.inf),
        np.append(near[1:], np.nan),
        np.append(near[1:], [1e308]) * 1.7,
        rng.integers(2**53, 2**53 + 64, n),
        rng.standard_normal(n).astype(np.float32),
    ]
    for a in sets:
        a = np.sort(a)
        v = rng.standard_normal(6000) * 10.0 ** rng.integers(-9, 9, 6000)
        v[::3] = rng.choice(a.astype(float), 2000)
        v[1:5] = np.nan, np.inf, -np.inf, -0.0
        values = [v, v[::-1].reshape(2, -1), rng.integers(2**53 - 2, 2**53 + 70, 6000)]
        with np.errstate(all="ignore"):
            values.append(v.astype(np.float32))
        for x in values:
            for items in (a, np.repeat(a, 2)[::2]):
                left, right, bins = by_places(items, x)
                np.testing.assert_array_equal(left, np.searchsorted(a, x))
                np.testing.assert_array_equal(right, np.searchsorted(a, x, side="right"))
                if not np.isnan(a[-1]):  # of NaN NumPy does not say which way the edges go
                    np.testing.assert_array_equal(bins, right)
                if float(a[0]) < float(a[-1]):
                    np.testing.assert_array_equal(by_places(items[::-1], x)[2], np.digitize(x, items[::-1]))
            if n > 1 and not np.isnan(a[-1]):
                np.testing.assert_array_equal(counted(a, x), np.histogram(x, a)[0])
