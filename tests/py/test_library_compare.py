"""Comparisons, tests of items, windows and functions made of others (python/treadle/_library/compare.py), held to NumPy's."""

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
from library_arrays import FLOATS, INTEGERS, arrays  # noqa: E402
from library_check import check  # noqa: E402

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="results are NumPy 2's, with either NumPy"
)

REAL = "?" + INTEGERS + FLOATS
some = settings(max_examples=25, deadline=None)


@some
@given(arrays(), st.sampled_from("?bQefdFD"), st.booleans(), st.data())
def test_pairs(a, t, equal_nan, data):
    b = a.astype(t) if np.dtype(t).kind == "c" or a.dtype.kind != "c" else a.astype("D")
    if b.size and data.draw(st.booleans()):
        b = b.copy()
        b.flat[data.draw(st.integers(0, b.size - 1))] = 1
    more = ", equal_nan=True" * equal_nan
    check(
        f"np.isclose(a, b{more}), np.allclose(a, b{more}), np.array_equal(a, b{more}), np.array_equiv(a, b)",
        a,
        b,
    )


@some
@given(arrays(ndim=(0, 2), most=2), arrays(ndim=(0, 2), most=2, types="qfD"))
def test_other_shapes(a, b):
    check("np.array_equal(a, b), np.array_equiv(a, b)", a, b)
    check("np.isclose(a, b)", a, b)
    check("np.allclose(a, b)", a, b)


@some
@given(arrays(types="efdFDq"), st.sampled_from(["2", "2.5", "np.inf", "True"]))
def test_a_number_takes_the_type_of_its_partner(a, b):
    check(
        f"np.isclose(a, {b}), np.isclose({b}, a), np.isclose(a, {b}, 1e-3, 1), np.isclose(a, {b}, atol=0.6)",
        a,
    )


def test_tolerances():
    for t in "efd":
        x = np.array([1, 1 + 1e-3, 1 + 1e-5, 1 + 9e-6, 1e-8, 0, -1], t)
        check("np.isclose(a, 1)", x)
        check("np.isclose(a, b)", x, np.ones(7))
        check("np.isclose(a, b, c, d)", x, np.ones(7), 1e-3, 1e-9)
    check("np.isclose(a, b)", np.array([-128], "b"), np.array([127], "b"))
    check("np.isclose(a, b)", np.array([-128], "b"), np.array([-128], "b"))
    check("np.isclose(a, b), np.allclose(a, b)", 1.0, 1.0 + 1e-9)
    check("np.isclose(a, b)", 1, 2)
    check("np.allclose(a, (1, 1.0, 1)), np.isclose([1, 2.0, 3], a)", np.ones(3))


@some
@given(arrays(types=REAL))
def test_infinities(a):
    check("np.isposinf(a), np.isneginf(a)", a)


def test_infinities_of_complex_numbers_are_refused():
    for name in ("isposinf", "isneginf"):
        with pytest.raises(TypingError, match="many infinities"):
            njit(eval(f"lambda a: np.{name}(a)", {"np": np}))(np.ones(2, complex))


@some
@given(arrays())
def test_of_items(a):
    check("np.isreal(a), np.iscomplex(a)", a)
    check("np.nan_to_num(a)", a)
    check("np.nan_to_num(a, nan=3, posinf=7.5, neginf=1)", a)


def test_nan_to_num_in_place():
    for t in "fdFD":
        x = np.array([np.nan, np.inf, -np.inf, 2]).astype(t)
        y = x.copy()
        got = njit(lambda a: np.nan_to_num(a, copy=False))(x)
        assert got is x
        np.nan_to_num(y, copy=False)
        np.testing.assert_array_equal(x, y)


@some
@given(arrays(types="?qefdFD"))
def test_sinc(a):
    check("np.sinc(a)", a, rtol={"e": 5e-3, "f": 1e-6, "F": 1e-5}.get(a.dtype.char, 1e-14), atol=1e-16)


@some
@given(arrays(types="?qefd"))
def test_i0(a):
    check("np.i0(a)", a, rtol={"e": 5e-3, "f": 2e-6}.get(a.dtype.char, 1e-14))


def test_functions_of_long_arrays():
    x = np.random.default_rng(3).standard_normal((50, 41)) * 12
    check("np.sinc(a)", x, rtol=1e-13, atol=1e-15)
    check("np.i0(a)", x, rtol=1e-14)
    check("np.i0(a), np.sinc(a)", 3.5, rtol=1e-14)
    with pytest.raises(TypingError, match="i0 of complex"):
        njit(lambda a: np.i0(a))(np.ones(2, complex))


@pytest.mark.parametrize("name", ["hanning", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows(name):
    more = ", 4.2" if name == "kaiser" else ""
    for m in (-1, 0, 1, 2, 3, 10, 11, 5.5):
        check(f"np.{name}(a{more})", m, rtol=1e-13, atol=1e-16)
    check(f"np.{name}(7{more})", rtol=1e-13, atol=1e-16)
    if more:
        check("np.kaiser(a, b)", 12, 0, rtol=1e-13)


def test_comparisons_are_one_loop():
    f = njit(lambda a, b: np.allclose(a * 2, b))
    assert f(np.ones(3), np.full(3, 2.0))
    (text,) = f.inspect_ir().values()
    assert "red(and" in text
