"""Reductions that leave NaN out (python/treadle/_library/nan.py), held to NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_arrays import FLOATS, INTEGERS, arrays, axes  # noqa: E402
from library_check import check  # noqa: E402

REAL = "?" + INTEGERS + FLOATS
NEAR = {"e": 2e-3, "f": 2e-6, "F": 2e-6}


def near(a: np.ndarray) -> float:
    """How far a quotient may be off where sums may be associated in another way."""
    return NEAR.get(a.dtype.char, 1e-13)


def options(axis: int | None, keepdims: bool) -> str:
    return f"axis={axis}" + ", keepdims=True" * keepdims


@settings(max_examples=40, deadline=None)
@given(arrays(), st.data(), st.sampled_from(["nansum", "nanprod"]), st.booleans())
def test_sums(a, data, name, keepdims):
    axis = data.draw(st.sampled_from(axes(a.ndim)))
    check(f"np.{name}(a, {options(axis, keepdims)})", a, rtol=near(a) if name == "nanprod" else 0)


@settings(max_examples=40, deadline=None)
@given(arrays(), st.data(), st.sampled_from(["nancumsum", "nancumprod"]))
def test_running(a, data, name):
    axis = data.draw(st.sampled_from(axes(a.ndim)))
    check(f"np.{name}(a, axis={axis})", a, rtol=near(a))


@settings(max_examples=40, deadline=None)
@given(arrays(types=REAL), st.data(), st.sampled_from(["nanmin", "nanmax"]), st.booleans())
def test_extremes(a, data, name, keepdims):
    axis = data.draw(st.sampled_from(axes(a.ndim)))
    check(f"np.{name}(a, {options(axis, keepdims)})", a)


@settings(max_examples=40, deadline=None)
@given(arrays(types=REAL), st.data(), st.sampled_from(["nanargmin", "nanargmax"]), st.booleans())
def test_places(a, data, name, keepdims):
    axis = data.draw(st.sampled_from(axes(a.ndim)))
    check(f"np.{name}(a, {options(axis, keepdims)})", a)


@settings(max_examples=40, deadline=None)
@given(arrays(), st.data(), st.sampled_from(["nanmean", "nanvar", "nanstd"]), st.booleans())
def test_moments(a, data, name, keepdims):
    axis = data.draw(st.sampled_from(axes(a.ndim)))
    more = "" if name == "nanmean" else data.draw(st.sampled_from(["", ", ddof=1", ", ddof=2.5"]))
    check(f"np.{name}(a, {options(axis, keepdims)}{more})", a, rtol=near(a), atol=near(a) / 10)


@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nancumsum", "nancumprod", "nanmean", "nanvar", "nanstd"]
)
@pytest.mark.parametrize("dtype", ["np.float32", "np.float64", "np.complex128"])
def test_types(name, dtype):
    x = np.array([[1, np.nan, 3], [4, 5, 7]], "f4")
    for t in "efdD":
        check(f"np.{name}(a, dtype={dtype})", x.astype(t), rtol=2e-3 if t == "e" else 1e-6)
        check(f"np.{name}(a, axis=1, dtype={dtype})", x.astype(t), rtol=2e-3 if t == "e" else 1e-6)


def test_a_mean_of_floats_is_a_float():
    with pytest.raises(TypingError, match="dtype and out must be inexact"):
        njit(lambda a: np.nanmean(a, dtype=np.int64))(np.ones(3))
    with pytest.raises(TypingError, match="dtype and out must be inexact"):
        njit(lambda a: np.nanvar(a, dtype=np.int64))(np.ones(3))


@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmin", "nanmax", "nanargmin", "nanargmax", "nanmean", "nanvar", "nanstd"]
)
def test_out(name):
    x = np.array([[1, np.nan, 3], [4, 5, 7]])
    kind = "i8" if "arg" in name else "f8"
    got, want = np.zeros(3, kind), np.zeros(3, kind)
    namespace = {"np": np}
    exec(f"def f(a, out): return np.{name}(a, axis=0, out=out)", namespace)
    assert njit(namespace["f"])(x, got) is got
    namespace["f"](x, want)
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_numbers():
    for x in (2.5, np.nan, 3, True):
        check("np.nansum(a), np.nanprod(a), np.nanmin(a), np.nanmax(a), np.nanmean(a), np.nanvar(a)", x)
    check("np.nanargmin(a)", 1.5)
    check("np.nanargmin(a)", np.nan)


@njit
def chosen(a, axis):
    return np.nansum(a, axis=axis), np.nanmax(a, axis=axis), np.nanmean(a, axis=axis)


def test_an_axis_that_varies():
    a = np.array([[1, np.nan, 3], [4, 5, 7]])
    for axis in (0, 1, -1):
        for got, want in zip(chosen(a, axis), chosen.py_func(a, axis), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["nansum", "nanmin", "nanmean", "nanvar"])
def test_several_axes(name):
    a = np.arange(24.0).reshape(2, 3, 4)
    a[1, :, 2] = np.nan
    check(f"np.{name}(a, axis=(0, 2))", a, rtol=1e-14)


def test_long():
    a = np.random.default_rng(1).standard_normal((300, 701))
    a[::3, ::5] = np.nan
    for name in ("nansum", "nanmin", "nanargmin", "nanmean", "nanvar", "nanstd"):
        for axis in ("None", "0", "1"):
            check(f"np.{name}(a, axis={axis})", a, rtol=1e-12, atol=1e-12)


def test_without_arrays_between():
    for name in ("nansum", "nanmean"):
        f = njit(eval(f"lambda a: np.{name}(a * 2)", {"np": np}))
        f(np.ones(3))
        (text,) = f.inspect_ir().values()
        assert text.count("pattern") == 1 and "alloc" not in text, name
