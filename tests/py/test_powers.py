"""Powers of floats by known numbers are computed in place (lower/power.c): within 4 ULP, and pow()'s values where it has special ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from treadle import njit, vectorize

POWERS = [0, 1, -1, -2, *range(2, 14), 16, 0.5]
OTHERS = [14, 15, 17, -3, -8, 1.5, -0.5, 2.5]
FORMS = ["x ** {}", "math.pow(x, {})", "np.power(x, {})", "np.float_power(x, {})", "x ** P"]
SPECIAL = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    1.0,
    -1.0,
    5e-324,
    -5e-324,
    1e-310,
    2.0**1023,
    -(2.0**1023),
    -2.5,
]


def power(form, n):
    """x to the n, written so."""
    scope = {"math": math, "np": np, "P": n}
    exec(f"def f(x):\n    return {form.format(f'({n})')}", scope)
    return scope["f"]


def in_loop(form, n):
    scope = {"math": math, "np": np, "P": n}
    exec(
        f"def f(a, out):\n    for i in range(len(a)):\n        x = a[i]\n        out[i] = {form.format(f'({n})')}",
        scope,
    )
    return scope["f"]


def ulps(got, exact):
    """How far off, in places of the exact value's type."""
    near = exact.astype(got.dtype)
    same = (got == near) | (np.isnan(got) & np.isnan(near))
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(got.astype(np.longdouble) - exact) / np.spacing(np.abs(near)).astype(np.longdouble)
    return float(np.max(np.where(same, 0, off), initial=0))


@pytest.mark.parametrize("n", POWERS + OTHERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_how_exact(n, dtype):
    rng = np.random.default_rng(7)
    most = 30 if dtype == np.float32 else 250
    a = np.concatenate([rng.random(20000) + 0.5, 10 ** rng.uniform(-most, most, 5000)]).astype(dtype)
    if n == int(n):
        a *= rng.choice([-1, 1], len(a)).astype(dtype)
    with np.errstate(all="ignore"):
        exact = a.astype(np.longdouble) ** np.longdouble(n)
        exact = np.where(np.abs(exact) > np.finfo(dtype).max, exact * np.longdouble(np.inf), exact)
    for form in FORMS:
        if form == "np.float_power(x, {})" and dtype == np.float32:
            continue  # float64
        got = np.zeros_like(a)
        njit(in_loop(form, n))(a, got)
        assert ulps(got, exact) <= (6 if n in (7, 8) else 4), form


@pytest.mark.parametrize("n", POWERS)
def test_special_numbers(n):
    with np.errstate(all="ignore"):
        want = np.array(SPECIAL) ** float(n)
        if n == 0.5:  # NumPy's is the root
            want[SPECIAL.index(-math.inf)] = math.inf
            want[1] = 0.0
    for form in FORMS:
        one = njit(power(form, n))
        got = np.array([one(x) for x in SPECIAL])
        many = np.zeros(len(SPECIAL))
        njit(in_loop(form, n))(np.array(SPECIAL), many)
        for result in (got, many):
            np.testing.assert_array_equal(np.isnan(result), np.isnan(want), form)
            np.testing.assert_allclose(result, want, rtol=1e-15, err_msg=form)
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(want)[numbers], form)


@pytest.mark.parametrize("n", [0, 1, -1, 0.5, -2, 9, 16])
def test_arrays_and_ufuncs(n):
    a = np.linspace(0.1, 3, 50)
    for dtype in (np.float32, np.float64):
        x = a.astype(dtype)
        got = njit(power("x ** P", n))(x)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, x ** dtype(n), rtol=8 * np.finfo(dtype).eps)
        np.testing.assert_allclose(
            vectorize(power("x ** P", n))(x), x ** dtype(n), rtol=8 * np.finfo(dtype).eps
        )


def test_fastmath_keeps_numbers():
    a = np.linspace(0.1, 3, 50)
    for n in POWERS:
        got = np.zeros_like(a)
        njit(fastmath=True)(in_loop("x ** {}", n))(a, got)
        np.testing.assert_allclose(got, a ** float(n), rtol=1e-14)


@pytest.mark.parametrize("n", [0.5, -1, -2, 8, 9, 16, 0, 1])
def test_no_call_is_left(n):
    f = njit("(float64[::1], float64[::1])")(in_loop("x ** {}", n))
    (text,) = f.inspect_asm().values()
    assert "pow" not in text.replace("power", "")
