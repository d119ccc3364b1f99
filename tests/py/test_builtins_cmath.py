"""Module cmath against CPython's: within a few units of the last place, special values included."""

from __future__ import annotations

import cmath
import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from treadle import njit

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


EDGES = [0.0, 1.0, 2.5, 5e-324, 1e-310, 1e-8, 1e16, 1e300, math.pi / 2, 710.0, math.inf]
EDGES += [-x for x in EDGES] + [math.nan]
C17 = {"acosh", "tan", "tanh"}  # of a zero and a nan, where C17 says more than CPython: docs/semantics.md


def same_sign_and_kind(got, want):
    """Each part is a nan or an infinity where the other is, and has its sign; zeros have theirs."""
    for g, w in zip(got, want):
        assert math.isnan(g) == math.isnan(w) and math.isinf(g) == math.isinf(w), (got, want)
        assert math.isnan(w) or math.copysign(1, g) == math.copysign(1, w), (got, want)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", ONE + ["polar", "phase"])
def test_signs_and_special_values(name, dtype):
    f = njit(eval(f"lambda z: cmath.{name}(z)", {"cmath": cmath}))
    tried = 0
    for x, y in itertools.product(EDGES, EDGES):
        with np.errstate(over="ignore", under="ignore"):
            z = dtype(complex(x, y))
        try:
            want = getattr(cmath, name)(complex(z))
        except (ValueError, OverflowError):
            continue
        if name in C17 and 0 in (z.real, z.imag) and np.isnan(z):
            continue
        with np.errstate(over="ignore", under="ignore"):
            want = [dtype(0).real.dtype.type(p) for p in parts_of(want)]
        same_sign_and_kind(parts_of(f(z)), want)
        tried += 1
    assert tried > 300


def parts_of(r):
    """The real numbers in a result."""
    return [p for q in r for p in parts_of(q)] if isinstance(r, tuple) else [r.real, r.imag]


def test_signs_and_special_values_of_rect():
    f, tried = njit(lambda r, phi: cmath.rect(r, phi)), 0
    for r, phi in itertools.product(EDGES, EDGES):
        try:
            want = cmath.rect(r, phi)
        except ValueError:
            continue
        same_sign_and_kind(parts_of(f(r, phi)), parts_of(want))
        tried += 1
    assert tried > 400


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
