"""What a reader who attacked NumPy's functions in compiled code found."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check  # noqa: E402

MOST = 2**63 - 1


@pytest.mark.parametrize("k", [MOST, MOST - 1, 100, -101, -(2**63)])
def test_no_place_is_beyond_the_array(k):
    """The largest integer was taken for "all places are right"."""
    for text in (
        "np.partition(a, b)",
        "np.argpartition(a, b)",
        "np.partition(a, np.array([b, 1]))",
        "np.partition(a, b, None)",
    ):
        check(text, np.arange(100.0), k)
    f = njit(lambda a, k: a.partition(k))
    a = np.arange(100.0)[::-1].copy()
    with pytest.raises(
        ValueError, match=f"kth\\(={min(k if k >= 0 else k + 100, MOST - 1)}\\) out of bounds"
    ):
        f(a, k)
    assert a.tolist() == list(range(99, -1, -1))


@pytest.mark.parametrize("k", [0, -1, 7, MOST, -(2**63)])
def test_any_place_is_in_an_array_of_nothing(k):
    for shape, axis in (((0,), 0), ((0,), None), ((0, 3), 0), ((0, 3), 1), ((3, 0), 1), ((3, 0), 0)):
        for text in (
            f"np.partition(a, b, {axis})",
            f"np.argpartition(a, b, {axis})",
            f"np.argpartition(a, (b, 1), {axis})",
        ):
            check(text, np.empty(shape), k)
    check("a.partition(b)", np.empty((3, 0)), k)
    with pytest.raises(ValueError, match="out of bounds"):
        njit(lambda a, k: np.partition(a, k, 0))(np.empty((3, 1)), 3)


def test_many_nan_are_not_a_chain():
    f = njit(lambda a, b: np.isin(a, b))
    x = np.full(1_000_000, np.nan)  # an hour, and so the end of the test's time, where they are
    x[:10] = 1
    assert f(x, x).sum() == 10


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "nanpercentile", "median", "nanmedian"])
@pytest.mark.parametrize("dtype", ["i8", "f8"])
def test_quantiles_of_nothing(name, dtype):
    """IndexError where NumPy raises it, without rows, too; NaN of functions that leave NaN out."""
    rest = "" if "median" in name else ", 0.5"
    for shape in ((0,), (0, 0), (0, 2), (2, 0)):
        for axis in (0, len(shape) - 1, None):
            check(f"np.{name}(a{rest}, axis={axis})", np.zeros(shape, dtype))
    if rest:
        check(f"np.{name}(a{rest}, axis=(0, 1))", np.zeros((0, 2, 3), dtype))


@pytest.mark.parametrize("method", ["lower", "higher", "nearest", "linear", "midpoint"])
def test_quantiles_of_infinite_items(method):
    a = np.array([np.inf, 1, 2, -np.inf])
    for q in (0.0, 0.1, 0.5, 0.99, 1.0):
        check(f"np.quantile(a, b, method={method!r})", a, q)
        check(f"np.nanquantile(a, b, method={method!r})", a, q)
    check(f"np.quantile(a, np.array([0, 0.1, 0.99, 1]), method={method!r})", a)


def test_axes_that_are_not_there():
    a = np.arange(6.0).reshape(2, 3)
    for axis in (2, -3, 5):
        check(f"np.take_along_axis(a, np.argsort(a), {axis})", a)
        with pytest.raises(np.exceptions.AxisError):
            eval(f"njit(lambda a: sliding_window_view(a, 2, axis={axis}))", {"njit": njit, "sliding_window_view": sliding_window_view})(a)  # fmt: skip
        put = eval(f"njit(lambda a, i: np.put_along_axis(a, i, 1.0, {axis}))", {"njit": njit, "np": np})
        with pytest.raises(np.exceptions.AxisError):
            put(a, np.argsort(a))


def test_what_has_no_meaning_is_refused():
    check("np.linalg.matrix_power(a, 2.5)", np.eye(2))
    check("np.fft.fftfreq(a)", 0)
    check("np.fft.fftfreq(a)", -3)
    check("np.fft.rfftfreq(a, 0.0)", 5)
    check("np.isin(a, a, kind='table')", np.array([MOST, -(2**63)]))
    with pytest.raises(TypeError, match="complex numbers"):
        njit(lambda a: np.nanmedian(a))(np.array([1 + 1j, 2]))
