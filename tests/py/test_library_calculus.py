"""Interpolation, convolution, differences, integrals, polynomials (python/treadle/_library/calculus.py), held to NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from treadle import njit
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_arrays import INTEGERS, arrays, axes  # noqa: E402
from library_check import check  # noqa: E402

some = settings(max_examples=25, deadline=None)
NEAR = {"e": 1e-2, "f": 1e-5, "F": 1e-5}


def near(*arrays: np.ndarray) -> dict[str, float]:
    """How far floats may be off whose operations are rounded in another order."""
    r = max(NEAR.get(a.dtype.char, 1e-13) for a in arrays)
    return {"rtol": r, "atol": r}


@settings(max_examples=20, deadline=None)
@given(
    arrays(types="?bBqefD", ndim=(1, 1), most=40),
    arrays(types="?Bqfd", ndim=(1, 1), most=12),
    st.sampled_from(["full", "same", "valid"]),
    st.booleans(),
)
def test_products_of_sequences(a, b, mode, swapped):
    if swapped:
        a, b = b, a
    check(f"np.convolve(a, b, '{mode}')", a, b, **near(a, b))
    check(f"np.correlate(a, b, '{mode}')", a, b, **near(a, b))


def test_long_products_of_sequences():
    rng = np.random.default_rng(1)
    x = rng.integers(-9, 9, 9000)
    for m in (1, 2, 3, 4, 5, 6, 7, 8, 37, 5000):
        for t in "qdD":
            check("np.convolve(a, b)", x.astype(t), rng.integers(-9, 9, m).astype(t))
        check("np.convolve(a, b, 'same')", x, rng.integers(-9, 9, m))
        check("np.correlate(a, b)", x, rng.integers(-9, 9, m))
    check("np.convolve(a, [1, 2, 1.5])", x)
    check("np.convolve(a, 2.0)", x)
    check("np.convolve(a[::2], b[::-1])", x, x[:100])
    with pytest.raises(TypingError, match="one axis"):
        njit(lambda a: np.convolve(a, a))(np.ones((2, 2)))
    with pytest.raises(ValueError, match="mode must be one of"):
        njit(lambda a: np.convolve(a, a, "all"))(np.ones(2))


@st.composite
def lines(draw):
    """Points, and where the line through them is asked for, at points too."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n, m = draw(st.integers(0, 9)), draw(st.integers(0, 20))
    xp = np.sort(rng.integers(-6, 6, n) * draw(st.sampled_from([1.0, 0.7])))
    xp = np.unique(xp)
    x = rng.integers(-8, 8, m) * draw(st.sampled_from([1.0, 0.7, 0.33]))
    if draw(st.booleans()):
        x = np.sort(x)
    if draw(st.booleans()) and m:
        x[0] = np.nan
    fp = rng.integers(-9, 9, xp.size) * 0.7
    if draw(st.booleans()) and xp.size:
        fp[rng.integers(0, xp.size, 2)] = [np.inf, np.nan][draw(st.integers(0, 1))]
    kind = draw(st.sampled_from("fdqD"))
    if kind == "D":
        fp = fp + 1j * fp[::-1]
    return x, xp, np.nan_to_num(fp, posinf=9).astype(kind) if kind == "q" else fp.astype(kind)


@some
@given(lines(), st.sampled_from(["", ", -1, 5", ", left=0", ", right=2.5", ", period=5", ", period=-3.5"]))
def test_interp(given_, more):
    assume(
        given_[0].size or given_[1].size
    )  # of nothing at nothing: an error up to NumPy 2.4, nothing from 2.5 on
    check(f"np.interp(a, b, c{more})", *given_, rtol=1e-13, atol=1e-13)


def test_interp_of_other_things():
    xp, fp = np.array([0.0, 1, 3, 4]), np.array([1.0, 5, 2, 2])
    for x in (
        0.5,
        3,
        -1,
        9,
        np.nan,
        np.array(2.5),
        np.arange(6).reshape(2, 3),
        np.ones((0, 2)),
        np.float32(1.5),
    ):
        check("np.interp(a, b, c)", x, xp, fp, rtol=1e-14)
        check("np.interp(a, b, c)", x, xp, fp + 1j, rtol=1e-14)
    check("np.interp(a, [1, 2], [3, 4])", 1.5)
    check("np.interp(a, b, c)", xp, xp, fp[1:])
    check("np.interp(a, b, c, period=0)", xp, xp, fp)
    check(
        "np.interp(a, b, c)",
        np.linspace(-1, 5, 1000),
        np.arange(500) / 100,
        np.arange(500.0) ** 2,
        rtol=1e-13,
    )


@some
@given(arrays(types="?bQefdFD", ndim=(1, 2), special=False), st.data())
def test_gradient(a, data):
    axis = data.draw(st.sampled_from([None, *range(-a.ndim, a.ndim)]))
    step = data.draw(st.sampled_from(["", "2, ", "0.5, "]))
    order = data.draw(st.sampled_from(["", ", edge_order=2"]))
    check(f"np.gradient(a, {step}axis={axis}{order})", a, **near(a))


@some
@given(arrays(types="qfdD", ndim=(1, 2), special=False, least=1), st.data())
def test_gradient_by_coordinates(a, data):
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = np.cumsum(rng.integers(1, 3, a.shape[axis])).astype(data.draw(st.sampled_from("qd")))
    order = data.draw(st.sampled_from(["", ", edge_order=2"]))
    if x.size > 1:
        check(f"np.gradient(a, b, axis={axis}{order})", a, x, **near(a))


def test_gradient_of_several_axes():
    a = np.random.default_rng(1).standard_normal((3, 4, 5))
    check("np.gradient(a)", a, rtol=1e-14)
    check("np.gradient(a, 1, 2.0, 3)", a, rtol=1e-14)
    check("np.gradient(a, axis=(2, 0))", a, rtol=1e-14)
    check("np.gradient(a, 2.0, b, axis=(0, 1))", a, np.array([0, 1, 3, 4.5]), rtol=1e-13)
    check("np.gradient(a, 1.0, 2.0)", a)
    check("np.gradient(a, b, axis=0)", a, np.arange(5.0))
    check("np.gradient(a, edge_order=3)", a)


@some
@given(arrays(types=INTEGERS + "efdFD"), st.booleans(), st.booleans())
def test_ediff1d(a, begin, end):
    x = np.ravel(a)[:2]
    more = ", to_begin=b" * begin + ", to_end=b" * end
    check(f"np.ediff1d(a{more})", a, *([x] if more else []))


def test_ediff1d_of_other_kinds():
    check("np.ediff1d(a, 3, (1, 2))", np.arange(4.0) ** 2)
    check("np.ediff1d(a, to_begin=b)", np.arange(4), np.ones(2))
    check("np.ediff1d(a)", np.ones(3, bool))


@some
@given(arrays(types="?bQefdFD", ndim=(1, 3), special=False), st.data())
def test_trapezoid(a, data):
    if not hasattr(np, "trapezoid"):
        return
    axis = data.draw(st.sampled_from(axes(a.ndim, none=False)))
    check(f"np.trapezoid(a, axis={axis})", a, **near(a))
    check(f"np.trapezoid(a, dx=0.5, axis={axis})", a, **near(a))
    check(f"np.trapezoid(a, b, axis={axis})", a, np.arange(a.shape[axis]) ** 2, **near(a))
    check(f"np.trapezoid(a, a, axis={axis})", a, **near(a))


def test_trapz():
    name = "trapz" if hasattr(np, "trapz") else "trapezoid"
    check(f"np.{name}(a, b)", np.arange(5.0) ** 2, np.arange(5.0) ** 1.5, rtol=1e-14)


@some
@given(st.data(), st.sampled_from(INTEGERS + "efdFD"), st.sampled_from("qfd"))
def test_cross(data, t, u):
    shapes = [(3,), (4, 3), (1, 3), (2, 4, 3), (0, 3), (4,), (2,), (4, 2)]
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        shapes = shapes[:6]  # two items are an error there
    n, m = data.draw(st.sampled_from(shapes)), data.draw(st.sampled_from(shapes[:5]))
    a, b = data.draw(arrays(types=t, shape=n)), data.draw(arrays(types=u, shape=m))
    check("np.cross(a, b)", a, b, **near(a, b))


def test_cross_along_axes():
    a = np.random.default_rng(1).standard_normal((3, 5, 3))
    check("np.cross(a, b, axis=0)", a, a + 1, rtol=1e-13)
    check("np.cross(a, b, 0, 2)", a, a.transpose(1, 2, 0), rtol=1e-13)
    check("np.cross(a, b, 0, -1, 1)", a, a.transpose(1, 2, 0), rtol=1e-13)
    check("np.cross([1, 2, 3], [4, 5, 6.0])")
    with pytest.raises(ValueError, match="must have 3 items in compiled code"):
        njit(lambda a: np.cross(a, a))(np.ones(2))


@some
@given(arrays(types="bqefd", ndim=(1, 2), special=False), st.data())
def test_unwrap(a, data):
    axis = data.draw(st.sampled_from(axes(a.ndim, none=False)))
    more = data.draw(st.sampled_from(["", ", period=4", ", period=5", ", period=3.5", ", discont=4"]))
    r = 0.1 if a.dtype.char == "e" else near(a)["rtol"]
    if a.dtype.char != "b" or "period=4" not in more and "period=5" not in more:
        check(f"np.unwrap(a, axis={axis}{more})", a, rtol=r, atol=r)


@some
@given(
    arrays(types="bQefdFD", ndim=(0, 2), special=False),
    arrays(types="qfdD", ndim=(1, 1), special=False, least=1),
)
def test_polyval(x, p):
    check("np.polyval(b, a)", x, p, **near(x))


def test_polyval_of_other_things():
    check("np.polyval(a, 2)", np.array([1, 2, 3]))
    check("np.polyval(a, 2.5)", np.array([1, 2, 3]))
    check("np.polyval([1, 2, 3.0], a)", np.arange(5000.0))
    check("np.polyval(a, b)", np.array([2.0, 1]), np.array([np.inf, np.nan, 1]))
