"""np.histogram2d and np.histogramdd in compiled code (python/treadle/_library/histograms.py) against NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, check_python, compiled  # noqa: E402

SETTINGS = settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
DTYPES = ["f8", "f4", "i8", "i2", "u1", "?"]


def points(rng, n, dtype):
    """Numbers of which many lie on edges; now and then NaN or far out."""
    a = rng.integers(0, 9, n) / (2 if dtype[0] == "f" else 1)
    if dtype[0] == "f" and n and rng.integers(4) == 0:
        a[rng.integers(n)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    a = a.astype(dtype)
    return np.repeat(a, 2)[::2] if rng.integers(3) == 0 else a[::-1] if rng.integers(2) else a


def edges(rng):
    return np.sort(rng.integers(0, 9, rng.integers(1, 6))).astype(rng.choice(["f8", "i8", "f4"]))


BINS = ["4", "c", "(3, 5)", "(c, 4)", "[4, c]", "(c, d)", "[0, 2, 3, 7]"]
RANGES = ["None", "((0, 4), (1, 3.5))", "(None, (2, 2))"]


@SETTINGS
@given(
    st.integers(0, 10**6),
    st.sampled_from(DTYPES),
    st.sampled_from(DTYPES),
    st.sampled_from(BINS),
    st.sampled_from(RANGES),
    st.sampled_from([False, True]),
)
def test_two(seed, dtype, other, bins, ranges, density):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    x, y = points(rng, n, dtype), points(rng, n, other)
    e = edges(rng)
    if bins == "c":
        e = np.sort(np.append(e, [1, 2]))
    more = [e, edges(rng)] if "d" in bins else [e] if "c" in bins else []
    text = f"np.histogram2d(a, b, {bins}, range={ranges}, density={density})"
    check(text, x, y, *more, rtol=1e-13)


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(DTYPES), st.sampled_from(["f8", "i4", "f4", "?"]))
def test_weights(seed, dtype, other):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    m = np.stack([points(rng, n, dtype) for _ in range(3)], axis=1)
    if rng.integers(2):
        m = np.asfortranarray(m)
    w = rng.integers(0, 9, n).astype(other)
    check("np.histogramdd(a, (3, c, 2), ((0, 5), None, (1, 4)), weights=b)", m, w, edges(rng))
    check("np.histogramdd(a, 3, ((0, 5), (1, 2), (1, 4)), weights=b, density=True)", m, w, rtol=1e-13)
    check("np.histogramdd((a[:, 0], a[:, 2]), b)", m, np.array([2, 3]))
    check("np.histogramdd(a[:, 1], 4, weights=b)", m, w)


def test_nothing():
    x = np.zeros(0)
    check("np.histogram2d(a, a)", x)
    check("np.histogram2d(a, a, density=True)", x)
    check("np.histogram2d(a, a, (2, b))", x, np.array([1.0, 2.0]))
    check("np.histogramdd(a, (2, 3, 4))", np.zeros((0, 3)))


def test_bad():
    x, nan = np.arange(5.0), np.array([1.0, np.nan])
    for text in ("np.histogram2d(a, a[1:])", "np.histogram2d(a, a, 0)", "np.histogram2d(a, a, 2.5)", "np.histogram2d(a, a, (3,))", "np.histogram2d(a, a, np.array([3.0, 4]))",
                 "np.histogram2d(a, a, a[:1])", "np.histogram2d(a, a, range=((0, 1),))", "np.histogram2d(a, a, range=((1, 0), (0, 1)))",
                 "np.histogram2d(a, a, range=((0, np.inf), (0, 1)))", "np.histogram2d(a, a, (a[::-1], 3))", "np.histogram2d(a, a, (a[:0], 3))",
                 "np.histogram2d(a, a, weights=a[1:])", "np.histogram2d(a, a, weights=a + 1j)", "np.histogramdd((a, a), (3, 4, 5))",
                 "np.histogramdd((a, a), np.array([3, 4, 5]))", "np.histogramdd((a, a[1:]))"):  # fmt: skip
        assert isinstance(check(text, x), Exception), text
    assert isinstance(check("np.histogram2d(a, a)", nan), ValueError)
    for text, what in (
        ("np.histogramdd(a)", "as a tuple of its columns"),
        ("np.histogram2d(a[0], a[0], (2, 3), weights=1j * a[0])", "weights cannot be"),
        ("np.histogram2d(a[0] + 1j, a[0])", "of real numbers"),
    ):
        with pytest.raises(treadle.TypingError, match=what) as e:
            compiled(text)[1](np.ones((3, 2)))
        assert "treadle/_library" not in str(e.value)
    with pytest.raises(TypeError, match="stand in a tuple"):
        compiled("np.histogram2d(a, a, np.array([3, 4]))")[1](x)
    for sizes in ((2**62, 2), (2**40, 2**40)):
        with pytest.raises((ValueError, MemoryError)):
            compiled("np.histogram2d(a, a, b)")[1](x, sizes)


def test_in_python():
    x = np.random.default_rng(1).random(20)
    check_python("np.histogram2d(a, a * a, [5, 7])", x)
    check_python("np.histogram2d(a, a, b, density=True)", x, np.linspace(0, 1, 6), rtol=1e-13)
    check_python("np.histogramdd(a.reshape(10, 2), (3, 4), weights=a[:10])", x)


def test_ways_in():
    rng = np.random.default_rng(2)
    x, y = rng.random(100_000), rng.random(100_000)
    want = np.histogram2d(x, y, 20, weights=y)

    def f(x, y):
        return np.histogram2d(x, y, 20, weights=y)

    one = njit(f)

    @njit(nogil=True, fastmath=True, boundscheck=False)
    def calls(x, y):
        return one(x, y)

    for g in (one, calls, njit(parallel=True)(f)):
        for got, w in zip(g(x, y), want, strict=True):
            np.testing.assert_allclose(got, w, rtol=1e-12)
    count = njit(parallel=True)(lambda x, y: np.histogram2d(x, y, 20)[0])
    assert count(x, y).sum() == 100_000 and (count(x, y) == np.histogram2d(x, y, 20)[0]).all()
