"""Module cmath against CPython's: within a few units of the last place, special values included."""

from __future__ import annotations

import cmath
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import check, close, given, rejects, result_type, run  # noqa: E402

ONE = "sqrt exp log log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()
parts = st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]), st.floats(-30, 30))
numbers = st.builds(complex, parts, parts)
moderate = st.builds(complex, st.floats(-30, 30), st.floats(-30, 30))


def near(got, want, tol):
    """Each part within `tol` of the number's size; infinities and NaNs at the same places."""
    size = abs(want)
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        assert math.isnan(g) == math.isnan(w), (got, want)
        if math.isinf(w):
            assert abs(g) == abs(w), (got, want)
        elif not math.isnan(w):
            assert g == w or abs(g - w) <= tol * max(size, abs(w)) + 1e-300, (got, want)


@pytest.mark.parametrize("name", ONE)
@given(z=moderate)
def test_values(name, z):
    try:
        want = getattr(cmath, name)(z)
    except (ValueError, OverflowError):
        return
    near(run(f"cmath.{name}(a)", z), want, 4e-15)


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "asinh", "acosh", "atanh", "cosh", "sinh"])
@given(z=numbers)
def test_special_values(name, z):
    if math.isnan(z.real) or math.isnan(z.imag):
        return  # C and Python differ there: acosh(nanj) is (nan, pi/2) in C
    try:
        want = getattr(cmath, name)(z)
    except (ValueError, OverflowError):
        return
    got = run(f"cmath.{name}(a)", z)
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        assert math.isnan(g) == math.isnan(w) and math.isinf(g) == math.isinf(w), (z, got, want)


@pytest.mark.parametrize("name", ONE)
def test_types(name):
    assert result_type(f"cmath.{name}(a)", np.complex64(0.5 + 0.25j)) == "complex64"
    assert result_type(f"cmath.{name}(a)", np.float32(0.5)) == "complex64"
    for x in (0.5, 1, True, 0.5j):
        assert result_type(f"cmath.{name}(a)", x) == "complex128"
    got = run(f"cmath.{name}(a)", np.complex64(0.5 + 0.25j))
    near(got, getattr(cmath, name)(0.5 + 0.25j), 1e-6)


@given(z=moderate, b=moderate)
def test_log_base(z, b):
    try:
        want = cmath.log(z, b)
    except (ValueError, ZeroDivisionError):
        return
    near(run("cmath.log(a, b)", z, b), want, 1e-14)


@given(z=numbers)
def test_polar(z):
    close(run("cmath.phase(a)", z), cmath.phase(z), ulp=1)
    try:
        want = cmath.polar(z)
    except OverflowError:
        return
    close(run("cmath.polar(a)", z), want, ulp=1)


@given(r=parts, phi=parts)
def test_rect(r, phi):
    try:
        want = cmath.rect(r, phi)
    except ValueError:
        return
    near(run("cmath.rect(a, b)", r, phi), want, 4e-16)


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
@given(z=numbers)
def test_tests(name, z):
    check(f"cmath.{name}(a)", z)
    check(f"cmath.{name}(a)", z.real)


@given(x=numbers, y=numbers)
def test_isclose(x, y):
    check("cmath.isclose(a, b)", x, y)
    check("cmath.isclose(a, b, rel_tol=0.25, abs_tol=c)", x, y, 0.125)


def test_isclose_tolerances():
    check("cmath.isclose(a, b, abs_tol=-1.0)", 1j, 2j)


def test_constants():
    for name in ("pi", "e", "tau", "inf", "nan", "infj", "nanj"):
        check(f"cmath.{name}")


def test_wrong_arguments():
    rejects("cmath.exp('a')", match="takes a number, not str")
    rejects("cmath.rect(a, b)", 1j, 2.0, match="takes a real number, not complex128")
