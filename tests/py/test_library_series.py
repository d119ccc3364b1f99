"""numpy.polynomial's functions (python/treadle/_library/series.py), held to NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, same  # noqa: E402

P, C, L = "np.polynomial.polynomial", "np.polynomial.chebyshev", "np.polynomial.legendre"
H, E, G = "np.polynomial.hermite", "np.polynomial.hermite_e", "np.polynomial.laguerre"
VALUES = [f"{P}.polyval", f"{C}.chebval", f"{L}.legval", f"{H}.hermval", f"{E}.hermeval", f"{G}.lagval"]
X = np.linspace(-1, 1, 7)
COEFFICIENTS = {
    "float64": np.array([1.0, -2.0, 3.0, 0.5, 2.0, 0.0]),
    "int64": np.array([3, 1, 4]),
    "float32": np.array([1, 2, 3, -1, 2], np.float32),
    "complex128": np.array([1 + 2j, 3, -1j, 0.5]),
    "one": np.array([2.0]),
    "two": np.array([2.0, -1.0]),
    "four": np.array([2.0, -1.0, 1.0, 3.0]),
    "matrix": np.arange(15.0).reshape(5, 3),
}


@pytest.mark.parametrize("f", VALUES)
@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_values(f, kind):
    c = COEFFICIENTS[kind]
    for x in (X, X.astype(np.float32), 0.25, 3, X[:6].reshape(2, 3), X[:0]):
        check(
            f"{f}(a, b)",
            x,
            c,
            rtol=1e-5 if c.dtype.itemsize == 4 else 1e-13,
            atol=1e-5 if c.dtype.itemsize == 4 else 1e-13,
        )


@pytest.mark.parametrize("f", VALUES)
def test_values_at_many_places(f):
    """More than are computed at a time."""
    check(f"{f}(a, b)", np.linspace(-1, 1, 5001), COEFFICIENTS["float64"], rtol=1e-12, atol=1e-12)
    check(
        f"{f}(a, b)",
        np.linspace(-1, 1, 6000)[::-3].reshape(20, 100).T,
        COEFFICIENTS["four"],
        rtol=1e-12,
        atol=1e-12,
    )


def test_each_its_own_series():
    check(f"{P}.polyval(a, b, tensor=False)", X[:3], COEFFICIENTS["matrix"])
    check(f"{C}.chebval(a, b, False)", X[:3], COEFFICIENTS["matrix"])
    check(f"{P}.polyvalfromroots(a, b)", X, COEFFICIENTS["float64"], rtol=1e-14)
    check(f"{P}.polyvalfromroots(a, b)", X, COEFFICIENTS["matrix"], rtol=1e-14)
    check(f"{P}.polyvalfromroots(a, b, tensor=False)", X[:3], COEFFICIENTS["matrix"], rtol=1e-14)
    check(f"{P}.polyvalfromroots(a, b)", 0.5, COEFFICIENTS["int64"])
    check(f"{P}.polyval(a, b)", X, np.zeros(0))


@pytest.mark.parametrize("f", ["polyadd", "polysub", "polymul", "polydiv"])
@pytest.mark.parametrize("a", ["float64", "int64", "float32", "complex128", "two"])
@pytest.mark.parametrize("b", ["float64", "float32", "one", "four"])
def test_arithmetic(f, a, b):
    tight = "float32" not in (a, b)
    check(
        f"{P}.{f}(a, b)",
        COEFFICIENTS[a],
        COEFFICIENTS[b],
        rtol=1e-13 if tight else 1e-5,
        atol=1e-13 if tight else 1e-5,
    )


def test_odd_series():
    check(f"{P}.polydiv(a, b)", X, np.zeros(2))
    check(f"{P}.polyadd(a, b)", X, X[:0])
    check(f"{P}.polyadd(a, b)", X, -X)
    for a in (X, np.zeros(2), np.array([1, 0, 0])):
        check(f"{P}.polymulx(a)", a)
    for k in (0, 1, 4, -1):
        check(f"{P}.polypow(a, b)", COEFFICIENTS["int64"], k)
    check(f"{P}.polypow(a, 5, 4)", COEFFICIENTS["int64"])


def test_coefficients_of_no_size():
    """NaN, infinity and zeros of both signs come out as NumPy's."""
    odd = (np.array([np.nan, 1.0]), np.array([np.inf, -0.0, 2.0]), np.array([-0.0, -0.0]), np.array([-0.0, 1.0, -np.inf]),
           np.array([0.0, -0.0, 1.0]), np.array([-0.0]), np.array([-3.0]))  # fmt: skip
    for a in odd:
        for text in (
            f"{P}.polymulx(a)",
            f"{P}.polyint(a)",
            f"{P}.polyint(a, 2, (1, 2), 3)",
            f"{P}.polyder(a)",
            f"{P}.polypow(a, 2)",
        ):
            check(f"np.copysign(1.0, {text}), {text}", a)
        for b in odd:
            for name in ("polyadd", "polysub", "polymul"):
                text = f"{P}.{name}(a, b)"
                check(f"np.copysign(1.0, np.where(np.isnan({text}), 1.0, {text})), {text}", a, b)


@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_derivatives_and_integrals(kind):
    c = COEFFICIENTS[kind]
    loose = {"rtol": 1e-6} if c.dtype.itemsize == 4 else {"rtol": 1e-14}
    for text in (f"{P}.polyder(a)", f"{P}.polyder(a, 2, 3)", f"{P}.polyder(a, 0)", f"{P}.polyder(a, 9)", f"{L}.legder(a)", f"{L}.legder(a, 2)", f"{G}.lagder(a, 1, 2)",
                 f"{P}.polyint(a)", f"{P}.polyint(a, 2, [1, 2])", f"{P}.polyint(a, 1, 3, -1, 2)", f"{P}.polyint(a, 0)"):  # fmt: skip
        check(text, c, **loose)
    if c.ndim == 2:
        check(f"{P}.polyder(a, axis=1)", c)
        check(f"{P}.polyint(a, axis=-1)", c)
    check(f"{P}.polyder(a, -1)", c)
    check(f"{P}.polyint(a, 1, (1, 2))", c)


@pytest.mark.parametrize("n", range(10))
def test_from_roots_and_back(n):
    check(f"{P}.polyfromroots(a)", np.sin(np.arange(n) * 7.0), rtol=1e-13, atol=1e-14)
    check(f"{P}.polyfromroots(a)", np.arange(n), rtol=1e-13)
    if n > 0:
        check(f"{P}.polyroots(a) + 0j", np.cos(np.arange(n) * 3.0), rtol=1e-9)
    for c in ([np.inf, 1.5], [np.nan, 1.0], [1.0, -4.0], [2.0, np.inf]):  # of one root, a quotient
        check(f"{P}.polyroots(a) + 0j", np.array(c))


def test_types_of_roots():
    check(f"{P}.polyfromroots(a)", np.array([1, 2], np.float32))
    check(f"{P}.polyfromroots(a)", np.array([1j, -1j]))


@pytest.mark.parametrize(
    "f",
    [
        f"{P}.polyvander",
        f"{C}.chebvander",
        f"{L}.legvander",
        f"{H}.hermvander",
        f"{E}.hermevander",
        f"{G}.lagvander",
    ],
)
def test_rows_of_values(f):
    for x in (X, X[:6].reshape(2, 3), np.arange(3), 0.5, X[:0]):
        for k in (0, 1, 4, -1):
            check(f"{f}(a, b)", x, k, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    "f", [f"{P}.polyfit", f"{C}.chebfit", f"{L}.legfit", f"{H}.hermfit", f"{E}.hermefit", f"{G}.lagfit"]
)
def test_fits(f):
    y = np.sin(X * 2)
    check(f"{f}(a, b, 3)", X, y, rtol=1e-9, atol=1e-12)
    check(f"{f}(a, b, 2, w=np.abs(a) + 1)", X, np.stack((y, X * X), 1), rtol=1e-9, atol=1e-12)
    check(f"{f}(a, b, 2, full=True)[0]", X, y, rtol=1e-9, atol=1e-12)
    check(f"{f}(a, b, 2)", X, y[:3])
    check(f"{f}(a, b, -1)", X, y)


def test_truths_are_no_coefficients():
    truths = np.array([False, True, True])
    for f in ("polyadd", "polysub", "polymul", "polydiv"):
        check(f"{P}.{f}(a, b)", truths, X)
        check(f"{P}.{f}(a, b)", X, truths)
    for f in ("polymulx", "polyroots", "polyfromroots"):
        check(f"{P}.{f}(a)", truths)
    check(f"{P}.polyfromroots(a)", truths[:0])
    check(f"{P}.polypow(a, 2)", truths)
    check(f"{P}.polyval(a, b)", 2.0, truths)


@pytest.mark.parametrize(
    "f",
    [
        f"{C}.chebgauss",
        f"{C}.chebpts1",
        f"{C}.chebpts2",
        f"{L}.leggauss",
        f"{H}.hermgauss",
        f"{E}.hermegauss",
        f"{G}.laggauss",
    ],
)
def test_places_and_weights(f):
    for n in (0, 1, 2, 3, 10, 31):
        check(f"{f}(a)", n, rtol=1e-11, atol=1e-13)


def of_chebyshev(x, c):
    return np.polynomial.chebyshev.chebval(x, c)


COMPILED = njit(of_chebyshev)


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=12), st.lists(st.floats(-2, 2), max_size=9))
@settings(deadline=None)
def test_a_series_is_its_value(c, x):
    args = np.array(x), np.array(c)
    same(COMPILED(*args), of_chebyshev(*args), f"{args}", 1e-12, 1e-9)
