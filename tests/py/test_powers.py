"""Powers of floats by known numbers are computed in place (lower/power.c): within 4 ULP, and pow()'s values where it has special ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from treadle import cuda, njit, prange, vectorize

POWERS = [0, 1, -1, -2, *range(2, 31), 0.5]
OTHERS = [31, -3, -8, 1.5, -0.5, 2.5]
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
    -3e200,
    3.1e200,
    -1.1e-200,
    1.3e-100,
    -1.7e-22,
    -1.2e-26,
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


@pytest.mark.parametrize("n", range(7, 31))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_past_the_largest_and_the_smallest(n, dtype):
    """What is infinite in between is the infinity of the result's sign, and no nan of two infinities."""
    t = np.finfo(dtype)
    most, least = (np.longdouble(v) ** (np.longdouble(1) / n) for v in (t.max, t.smallest_subnormal))
    by = np.array([0.999, 1.001, 1.01, 1.1, 1.4, 1.5, 2, 4, 100, 1e4, 1e8, 1e16])
    a = np.concatenate(
        [most * by, least / by, np.sqrt(t.max) * by[:4], [t.max, t.max / 2, t.tiny, t.smallest_subnormal]]
    )
    a = np.concatenate([a, -a]).astype(dtype)
    with np.errstate(all="ignore"):
        exact = a.astype(np.longdouble) ** n
        exact = np.where(np.abs(exact) > t.max, exact * np.longdouble(np.inf), exact)
        want = exact.astype(dtype)
    for form in ("x ** {}", "x ** P"):
        got = np.zeros_like(a)
        njit(in_loop(form, n))(a, got)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
        assert ulps(got, exact) <= 4


@pytest.mark.parametrize("n", [0, 1, -1, 0.5, -2, 9, 16, 30])
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


@pytest.mark.parametrize("n", [0.5, -1, -2, 8, 9, 14, 15, 16, 20, 23, 30, 0, 1])
def test_no_call_is_left(n):
    f = njit("(float64[::1], float64[::1])")(in_loop("x ** {}", n))
    (text,) = f.inspect_asm().values()
    assert "pow" not in text.replace("power", "")


# --- by integers that the running program knows ---

WHOLE = [*range(-6, 18), 20, 63, 64, 1000, -1000, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]


def whole(x, n):
    return x**n


def each(a, n, out):
    for i in range(len(a)):
        out[i] = a[i] ** n


def each_by_each(a, n, out):
    for i in range(len(a)):
        out[i] = a[i] ** n[i]


def summed(a, n):
    s = 0.0
    for i in range(len(a)):
        s += a[i] ** n
    return s


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_how_exact_by_integers(dtype):
    rng = np.random.default_rng(8)
    most = 30 if dtype == np.float32 else 250
    a = np.concatenate([rng.random(3000) + 0.5, 10 ** rng.uniform(-most, most, 1000)])
    a = (a * rng.choice([-1, 1], len(a))).astype(dtype)
    f, g, h = njit(each), njit(each_by_each), njit(lambda x, n: x**n)
    for n in range(-8, 20):
        with np.errstate(all="ignore"):
            exact = a.astype(np.longdouble) ** np.longdouble(n)
        many, one = np.zeros(len(a)), np.zeros(len(a))
        f(a, n, many)
        g(a, np.full(len(a), n), one)
        np.testing.assert_array_equal(many, one)
        assert [h(x, n) for x in a[::97]] == many[::97].tolist()
        with np.errstate(all="ignore"):
            exact = np.where(np.abs(exact) > np.finfo(np.float64).max, exact * np.longdouble(np.inf), exact)
        assert ulps(many, exact) <= (6 if n == 7 else 4), n


@pytest.mark.parametrize("n", WHOLE)
def test_special_numbers_by_integers(n):
    with np.errstate(all="ignore"):
        want = np.array(SPECIAL) ** float(n)
    one, many, by = njit(whole), np.zeros(len(SPECIAL)), np.zeros(len(SPECIAL))
    njit(each)(np.array(SPECIAL), n, many)
    njit(each_by_each)(np.array(SPECIAL), np.full(len(SPECIAL), n), by)
    for got in (np.array([one(x, n) for x in SPECIAL]), many, by):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_allclose(got, want, rtol=1e-15)
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_exponents_of_every_type(dtype):
    t = np.iinfo(dtype)
    n = np.array(sorted({t.min, t.min + 1, t.max, *(k for k in range(-7, 12) if k >= t.min)}), dtype)
    a = np.full(len(n), 0.75)
    got = np.zeros(len(n))
    njit(each_by_each)(a, n, got)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(got, a ** n.astype(float), rtol=1e-15)
    signs = np.zeros(len(n))
    njit(minus_one)(n, signs)
    np.testing.assert_array_equal(signs, (-1.0) ** n.astype(float))


def minus_one(n, out):
    for i in range(len(n)):
        out[i] = (-1.0) ** n[i]


def test_powers_of_integers():
    k = np.arange(0, 70)
    for base in (2, -1, 1, 3, -2, 10, -10, 6, 7, -7, 2**33 + 2, 2**62 + 1):
        f = {}
        exec(f"def g(k, out):\n    for i in range(len(k)):\n        out[i] = ({base}) ** k[i]", f)
        got = np.zeros(len(k), np.int64)
        njit(f["g"])(k, got)
        wrapped = [(base ** int(e) + 2**63) % 2**64 - 2**63 for e in k]
        assert got.tolist() == wrapped
        with pytest.raises(ValueError, match="negative integer powers"):
            njit(f["g"])(k - 1, got)
    f = njit(lambda x, n: (x**n, np.power(x, n)))
    for x in (-3, -1, 0, 1, 2, 3, 7, 2**40):
        for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 63, 64, 65, 2**40):
            want = pow(x, n, 2**64)
            want -= 2**64 if want >= 2**63 else 0
            assert f(x, n) == (want, want), (x, n)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("base", [3, 10, 7, 0, 1, 6])
def test_a_known_base_of_every_type(base, dtype):
    """They wrap at their width, in loops, on all cores, in a ufunc and in a kernel."""
    t = np.dtype(dtype).type
    n = np.array(
        [*range(70), *(k for k in (100, 127, 2**15 - 1, 2**31, 2**63 - 1) if k <= np.iinfo(dtype).max)]
    )
    n = n.astype(dtype)
    bits = 8 * n.itemsize
    want = np.array([pow(base, int(k), 2**bits) for k in n], f"u{n.itemsize}").view(dtype)

    def each(n, out):
        for i in range(len(n)):
            out[i] = np.power(t(base), n[i])

    def split(n, out):
        for i in prange(len(n)):
            out[i] = np.power(t(base), n[i])

    def kernel(n, out):
        i = cuda.grid(1)
        if i < len(n):
            out[i] = np.power(t(base), n[i])

    for f in (njit(each), njit(parallel=True)(split), cuda.jit(kernel)[2, 64]):
        out = np.zeros_like(n)
        f(n[::-1], out[::-1])
        np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(njit(lambda n: np.power(t(base), n))(n), want)
    np.testing.assert_array_equal(vectorize(lambda n: np.power(t(base), n))(n), want)


def test_a_known_base_needs_no_call():
    f = njit("(int64[::1], int64[::1])")(each_of_ten)
    (text,) = f.inspect_asm().values()
    assert "ipow" not in text
    with pytest.raises(ValueError, match="negative integer powers"):
        f(np.array([1, -1]), np.zeros(2, np.int64))


def each_of_ten(n, out):
    for i in range(len(n)):
        out[i] = 10 ** n[i]


def test_numbas_rules_for_negative_powers():
    f = njit(promotion="numba")(lambda n: ((-1) ** n, 2**n))
    assert [f(n) for n in (0, 1, 2, -1, -2, 64)] == [(1, 1), (-1, 2), (1, 4), (-1, 0), (1, 0), (1, 0)]
    f = njit(promotion="numba")(lambda n: (3**n, 10**n, 1**n))
    assert [f(n) for n in (0, 2, -1, -2, -64)] == [(1, 1, 1), (9, 100, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)]


def test_a_polynomial():
    def f(x, c):
        s = 0.0
        for k in range(len(c)):
            s += c[k] * x**k
        return s

    g, c = njit(f), np.random.default_rng(3).normal(size=12)
    for x in (0.0, -0.0, 1.5, -0.3, 100.0):
        np.testing.assert_allclose(g(x, c), f(x, c), rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 5, -3, 12])
def test_arrays_and_ufuncs_by_integers(n):
    x = np.linspace(0.1, 3, 51)
    np.testing.assert_allclose(njit(whole)(x, n), x**n, rtol=1e-15)
    np.testing.assert_allclose(njit(parallel=True)(whole)(x[::-2], n), x[::-2] ** n, rtol=1e-15)
    np.testing.assert_allclose(vectorize(whole)(x, n), x**n, rtol=1e-15)
    np.testing.assert_allclose(njit(fastmath=True)(whole)(x, n), x**n, rtol=1e-14)
    np.testing.assert_allclose(njit(summed)(x, n), (x**n).sum(), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_roots_of_arrays(dtype):
    """A power of 0.5 is NumPy's root: of what is negative, -inf among it, there is none."""
    a = np.array([4.0, 0.0, -0.0, -4.0, math.inf, -math.inf, math.nan, 2.0], dtype)
    got = njit(lambda a: a**0.5)(a)
    with np.errstate(invalid="ignore"):
        want = np.sqrt(a)
    assert got.dtype == want.dtype and np.array_equal(got, want, equal_nan=True)
    assert np.signbit(got[2])
