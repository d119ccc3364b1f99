"""Averages and covariances (python/treadle/_library/statistics.py), held to NumPy's."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from library_arrays import arrays, axes  # noqa: E402
from library_check import check  # noqa: E402
from treadle import njit  # noqa: E402

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="results are NumPy 2's, with either NumPy"
)

some = settings(max_examples=20, deadline=None)
NEAR = {"e": 5e-3, "f": 2e-5, "F": 2e-5}


def near(a: np.ndarray) -> dict[str, float]:
    """How far floats may be off whose sums are associated in another way."""
    r = NEAR.get(a.dtype.char, 1e-12)
    return {"rtol": r, "atol": r}


@some
@given(arrays(types="?bQefdFD", special=False, least=1), st.data(), st.booleans(), st.booleans())
def test_average(a, data, returned, keepdims):
    axis = data.draw(st.sampled_from(axes(a.ndim)))
    more = ", returned=True" * returned + ", keepdims=True" * keepdims
    check(f"np.average(a, axis={axis}{more})", a, **near(a))
    w = np.random.default_rng(1).random(a.shape)
    check(f"np.average(a, axis={axis}, weights=b{more})", a, w, **near(a))
    if axis is not None and a.ndim > 1:
        check(f"np.average(a, axis={axis}, weights=b{more})", a, np.arange(1, a.shape[axis] + 1), **near(a))


def test_averages_of_nothing():
    """NumPy divides by how many there are, also where the number of items of each is not asked for."""
    for shape in ((5, 0), (0, 3), (0,)):
        for axis in (0, -1, None):
            for more in ("", ", returned=True"):
                with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                    check(f"np.average(a, axis={axis}{more})", np.zeros(shape))
    for axis in (0, -1):
        for w in ([], [1.0, -1.0], [2.0, 1.0]):
            shape = (len(w), 0) if axis == 0 else (0, len(w))
            check(f"np.average(a, axis={axis}, weights=b)", np.zeros(shape), np.array(w))


def test_weights_that_do_not_fit():
    a = np.arange(6.0).reshape(2, 3)
    check("np.average(a, weights=b)", a, np.ones(3))
    check("np.average(a, axis=0, weights=b)", a, np.ones(3))
    check("np.average(a, weights=b)", a, np.zeros((2, 3)))
    check("np.average(a, axis=0, weights=b)", a, np.array([1, -1]))
    check("np.average(a[0], weights=[1, 2, 3])", a, rtol=1e-14)


@some
@given(arrays(types="?bQfdFD", ndim=(1, 2), special=False, least=2), st.data())
def test_cov(a, data):
    more = data.draw(st.sampled_from(["", ", bias=True", ", ddof=2", ", ddof=0"]))
    if a.ndim == 2:
        more += data.draw(st.sampled_from(["", ", rowvar=False"]))
    check(f"np.cov(a{more})", a, rtol=1e-5, atol=1e-5)
    check(f"np.cov(a, b{more})", a, a[::-1].copy(), rtol=1e-5, atol=1e-5)


def test_cov_with_weights():
    rng = np.random.default_rng(1)
    for t in "qfD":
        a = (rng.standard_normal((3, 5)) * 5).astype(t)
        f, w = np.array([1, 2, 3, 0, 1]), rng.random(5)
        for more in ("", ", ddof=0", ", bias=True"):
            check(f"np.cov(a, fweights=b{more})", a, f, rtol=1e-5)
            check(f"np.cov(a, aweights=b{more})", a, w, rtol=1e-5)
            check(f"np.cov(a, fweights=b, aweights=c{more})", a, f, w, rtol=1e-5)
        check("np.cov(a, fweights=b)", a, -f)
        check("np.cov(a, fweights=b)", a, w)
        check("np.cov(a, aweights=b)", a, w[1:])
        check("np.cov(a, aweights=b)", a, -w)
    check("np.cov(a, dtype=np.float32)", rng.standard_normal((3, 5)), rtol=1e-4)
    check("np.cov(a)", np.ones((3, 1)))


def test_corrcoef():
    rng = np.random.default_rng(1)
    for t in "qfdD":
        a = (rng.standard_normal((3, 5)) * 5).astype(t)
        if t == "D":
            a = a + 1j * a[::-1] ** 2
        for text in ("a", "a[0]", "a, rowvar=False", "a, b", "a[0], b[1]"):
            check(f"np.corrcoef({text})", a, *([a[::-1].copy()] if "b" in text else []), rtol=1e-5, atol=1e-6)
    check("np.corrcoef(a)", np.ones((2, 4)))


@some
@given(arrays(types="qfd", ndim=(1, 2), least=1), st.data(), st.sampled_from(["", "nan"]), st.booleans())
def test_quantiles(a, data, nan, keepdims):
    if a.dtype.kind == "f":
        a = np.where(np.isinf(a), 3, a).astype(a.dtype)
    more = f", axis={data.draw(st.sampled_from(axes(a.ndim)))}" + ", keepdims=True" * keepdims
    check(f"np.{nan}quantile(a, 0.3{more})", a, **near(a))
    check(f"np.{nan}quantile(a, b{more})", a, np.array([0, 0.25, 1 / 3, 1]), **near(a))
    check(f"np.{nan}percentile(a, 75{more}), np.{nan}percentile(a, [10, 60.5]{more})", a, **near(a))
    check(f"np.nanmedian(a{more})", a, **near(a))


def test_methods_of_quantiles():
    a = np.random.default_rng(2).integers(-50, 50, 23)
    for method in (
        "linear lower higher nearest midpoint hazen weibull median_unbiased normal_unbiased"
        " interpolated_inverted_cdf averaged_inverted_cdf"
    ).split():
        for t in "qfd":
            q = np.array([0, 0.2, 1 / 6, 0.5, 0.77, 1])
            check(f"np.quantile(a, b, method='{method}')", a.astype(t), q, rtol=1e-6)
    few = a[:11].astype("f4")  # 0.4 is an item in float64, and beyond it in float32
    for method in ("lower", "higher", "nearest", "linear"):
        check(f"np.percentile(a, 40.0, method='{method}')", few, rtol=0)
        check(f"np.nanpercentile(a, 40.0, axis=0, method='{method}')", few, rtol=0)
    check("np.quantile(a, 1.5)", a)
    check("np.percentile(a, -1)", a)
    check("np.quantile(a, 1)", a)
    check("np.quantile(a, 0.5)", a[:0])
    check("np.nanquantile(a, 0.5), np.nanmedian(a)", a[:0] * 1.0)
    for text in (
        "np.nanpercentile(a, [25, 75])",
        "np.nanquantile(a, np.array([0.25, 0.5]), axis=0)",
        "np.nanquantile(a, (0.1, 0.2), keepdims=True)",
    ):
        with pytest.raises(ValueError, match="one quantile at a time"):  # NumPy's result has no axis for them
            njit(eval("lambda a: " + text, {"np": np}))(a[:0] * 1.0)
    for method in ("lower", "higher", "nearest"):
        f = njit(eval(f"lambda a: np.nanquantile(a, 0.5, axis=0, method='{method}')", {"np": np}))
        assert f(a.astype("i8")) == np.nanquantile(a.astype("i8"), 0.5, method=method)
        with pytest.raises(ValueError, match="another method gives NaN"):
            f(a[:0].astype("i8"))
    check("np.nanquantile(a, 0.5, axis=0)", a[:0].astype("i8"))
