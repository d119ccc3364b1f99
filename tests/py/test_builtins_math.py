"""Module math: every function against CPython's bit for bit, or against libm's long double within one place."""

from __future__ import annotations

import ctypes
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import (
    LIBM,
    check,
    close,
    f32s,
    floats,
    given,
    ints,
    plain,
    rejects,
    result_type,
    run,
    ulps,
)  # noqa: E402

ONE = """sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc
cbrt fabs degrees radians""".split()
TESTS = ["isnan", "isinf", "isfinite"]
TWO = ["atan2", "fmod", "copysign", "remainder", "pow"]


C_NAMES = {"gamma": "tgamma"}


def limit(name, *args):
    """C's value, computed in long doubles and rounded once; Python's for what C lacks.

    What is at most 1.0 ULP from the exact value is at most one place from this. Where Python raises there is nan or an infinity.
    """
    if name in ("degrees", "radians"):
        return getattr(math, name)(*args)
    fn = getattr(LIBM, C_NAMES.get(name, name) + "l")
    fn.restype, fn.argtypes = ctypes.c_longdouble, [ctypes.c_longdouble] * len(args)
    return fn(*[float(a) for a in args])


@pytest.mark.parametrize("name", ONE)
@given(x=floats)
def test_one_float(name, x):
    close(run(f"math.{name}(a)", x), limit(name, x), ulp=1)


@pytest.mark.parametrize("name", ONE)
@given(x=f32s)
def test_one_float32(name, x):
    expr = f"math.{name}(a)"
    with np.errstate(all="ignore"):
        close(run(expr, x), np.float32(limit(name, float(x))), ulp=1)


@pytest.mark.parametrize("name", ONE + TWO)
def test_result_types(name):
    n = 2 if name in TWO else 1
    expr = f"math.{name}({', '.join('ab'[:n])})"
    assert result_type(expr, *[np.float32(0.5)] * n) == "float32"
    for one in (0.5, 1, True, np.int8(1), np.uint64(1), np.float64(0.5)):
        assert result_type(expr, *[one] * n) == "float64"
    if n == 2:
        assert result_type(expr, np.float32(0.5), 1.0) == "float64"
        assert result_type(expr, np.float32(0.5), 1) == "float64"


def test_literals_stay_weak():
    assert result_type("a * math.sqrt(2.0)", np.float32(1)) == "float32"
    assert result_type("a * math.sqrt(2)", np.float32(1)) == "float32"
    assert result_type("a * math.pi", np.float32(1)) == "float32"
    assert result_type("math.atan2(a, 2.0)", np.float32(1)) == "float32"


@pytest.mark.parametrize("name", ONE)
@given(x=st.one_of(st.integers(-3, 30), st.booleans()))
def test_integers_become_float64(name, x):
    close(run(f"math.{name}(a)", x), limit(name, x), ulp=1)


@pytest.mark.parametrize("name", TESTS)
@given(x=st.one_of(floats, f32s, ints, st.booleans()))
def test_tests(name, x):
    check(f"math.{name}(a)", x)


@pytest.mark.parametrize("name", TWO)
@given(x=floats, y=floats)
def test_two_floats(name, x, y):
    close(run(f"math.{name}(a, b)", x, y), limit(name, x, y), ulp=1)


@given(x=floats)
def test_gamma(x):
    close(run("math.gamma(a)", x), limit("gamma", x), ulp=6 if x < 0.5 else 1)  # libm's below 0.5
    close(run("math.lgamma(a)", x), limit("lgamma", x), ulp=4)  # libm's


def test_gamma_like_python():
    for x in (0.5, 1.0, 4.0, 5.5, -1.5, 20.0, 171.0):
        assert ulps(run("math.gamma(a)", x), math.gamma(x)) <= 20
        assert ulps(run("math.lgamma(a)", x), math.lgamma(x)) <= 20
    assert run("math.gamma(a)", np.float32(5)) == 24.0
    assert result_type("math.lgamma(a)", np.float32(5)) == "float32"


@given(x=floats, y=floats)
def test_log_base(x, y):
    try:
        want = math.log(x, y)
    except (ValueError, ZeroDivisionError):
        return
    close(run("math.log(a, b)", x, y), want, ulp=4)  # two logarithms and a quotient, on both sides


def test_log_base_one_divides_by_zero():
    check("math.log(a, b)", 3.0, 1.0)
    check("math.log(a, 1)", 3.0)
    assert run("math.log(a, b)", 3.0, 1.0, error_model="numpy") == math.inf


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
@given(x=st.one_of(st.floats(-1e18, 1e18), st.integers(-(2**63), 2**63 - 1), st.booleans(), f32s))
def test_to_integer(name, x):
    if isinstance(x, np.float32) and not abs(x) < 1e18:
        return
    if isinstance(x, np.float32):
        assert run(f"math.{name}(a)", x) == getattr(math, name)(float(x))
    else:
        check(f"math.{name}(a)", x)


def test_to_integer_types():
    for name in ("floor", "ceil", "trunc"):
        assert result_type(f"math.{name}(a)", 1.5) == "int64"
        assert result_type(f"math.{name}(a)", np.float32(1.5)) == "int64"
        assert result_type(f"math.{name}(a)", np.int8(1)) == "int64"
        assert result_type(f"math.{name}(a)", np.uint8(1)) == "int64"


@given(xs=st.lists(floats, max_size=5))
def test_hypot(xs):
    names = ", ".join("abcde"[: len(xs)])
    check(f"math.hypot({names})", *xs, ulp=len(xs))


def test_hypot_float32():
    assert result_type("math.hypot(a, b)", np.float32(3), np.float32(4)) == "float32"
    assert run("math.hypot(a, b)", np.float32(3), np.float32(4)) == 5.0


@given(x=floats, n=st.one_of(st.integers(-1100, 1100), ints))
def test_ldexp(x, n):
    try:
        want = math.ldexp(x, n)
    except OverflowError:
        want = math.copysign(math.inf, x)
    close(run("math.ldexp(a, b)", x, n), want)


@given(x=floats)
def test_parts(x):
    close(run("math.modf(a)", x), math.modf(x))
    close(run("math.ulp(a)", x), math.ulp(x))
    got, want = run("math.frexp(a)", x), math.frexp(x)
    close(got, want)


def test_parts_float32():
    assert run("math.modf(a)", np.float32(-2.25)) == (-0.25, -2.0)
    assert run("math.frexp(a)", np.float32(10)) == (0.625, 4)
    assert run("math.ulp(a)", np.float32(1)) == float(np.spacing(np.float32(1)))
    assert run("math.ldexp(a, 3)", np.float32(1.5)) == 12.0


@given(x=floats, y=floats)
def test_nextafter(x, y):
    check("math.nextafter(a, b)", x, y)
    assert result_type("math.nextafter(a, b)", np.float32(1), np.float32(2)) == "float32"


if sys.version_info >= (3, 12):  # math.nextafter has steps since Python 3.12

    @given(x=floats, y=floats, n=st.one_of(st.integers(0, 20), st.integers(-5, 2**63 - 1)))
    def test_nextafter_steps(x, y, n):
        check("math.nextafter(a, b, steps=c)", x, y, n)


@given(x=floats, y=floats)
def test_isclose(x, y):
    check("math.isclose(a, b)", x, y)
    check("math.isclose(a, b, rel_tol=0.5, abs_tol=c)", x, y, 1e-3)
    check("math.isclose(a, a * (1 + b))", x, 1e-9)


def test_isclose_refuses_negative_tolerances():
    check("math.isclose(a, b, rel_tol=c)", 1.0, 2.0, -1.0)


def test_fma():
    if hasattr(math, "fma"):
        check("math.fma(a, b, c)", 0.1, 10.0, -1.0)
    else:
        assert "fma" not in dir(math)


# --- integers ---


@given(n=st.integers(-3, 25))
def test_factorial(n):
    try:
        want = math.factorial(n)
    except ValueError:
        check("math.factorial(a)", n)
        return
    if want < 2**63:
        check("math.factorial(a)", n)
    else:
        with pytest.raises(OverflowError, match="fit int64"):
            run("math.factorial(a)", n)


@given(n=ints)
def test_isqrt(n):
    check("math.isqrt(a)", n)


@given(n=st.integers(-2, 80), k=st.integers(-2, 80))
def test_choose(n, k):
    for name in ("comb", "perm"):
        expr = f"math.{name}(a, b)"
        try:
            want = plain(expr, n, k)
        except ValueError:
            want = None
        if want is None or want < 2**63:
            check(expr, n, k)
        else:
            with pytest.raises(OverflowError):
                run(expr, n, k)


def test_perm_of_all():
    check("math.perm(a)", 6)
    check("math.perm(a, None)", 6)
    check("math.comb(a, 3)", 2**21)


@given(xs=st.lists(ints, max_size=4))
def test_gcd_lcm(xs):
    names = ", ".join("abcd"[: len(xs)])
    for name in ("gcd", "lcm"):
        expr = f"math.{name}({names})"
        whole = [x for x in xs if x] if name == "lcm" else xs  # a zero may come after what did not fit
        if getattr(math, name)(*whole) < 2**63:
            check(expr, *xs)
        elif name == "gcd":
            with pytest.raises(OverflowError):
                run(expr, *xs)


def test_integer_arguments_only():
    rejects("math.gcd(a, 4)", 2.0, match="an argument must be an integer, not float64")
    rejects("math.factorial(a)", 2.0, match="integer")
    with pytest.raises(OverflowError):
        run("math.isqrt(a)", np.uint64(2**63))


# --- sequences ---

vectors = st.lists(st.floats(-1e200, 1e200), max_size=12)


@given(
    v=st.lists(st.one_of(st.floats(-1e300, 1e300), st.sampled_from([1e16, 1.0, -1e16, 1e-16])), max_size=40)
)
def test_fsum(v):
    want = math.fsum(v)
    close(run("math.fsum(a)", np.array(v, dtype=np.float64)), want)
    close(run("math.fsum(a[::2])", np.array(v, dtype=np.float64)), math.fsum(v[::2]))


def test_fsum_of_others():
    check("math.fsum((a, b, 1e16, -1e16))", 0.1, 0.2)
    assert run("math.fsum(a)", np.array([1, 2, 3], dtype=np.int8)) == 6.0
    assert run("math.fsum(a)", np.array([0.1] * 10, dtype=np.float32)) == math.fsum(
        [float(np.float32(0.1))] * 10
    )
    assert math.isnan(run("math.fsum(a)", np.array([math.inf, -math.inf])))
    assert run("math.fsum(a)", np.array([math.inf, 1.0])) == math.inf
    rejects("math.fsum(a)", np.ones((2, 2)), match="one-dimensional")


@given(v=vectors, w=vectors)
def test_dist(v, w):
    n = min(len(v), len(w))
    p, q = np.array(v[:n]), np.array(w[:n])
    assert ulps(run("math.dist(a, b)", p, q), math.dist(v[:n], w[:n])) <= 4


def test_dist_of_tuples():
    check("math.dist((a, 2.0), (1, b))", 4.0, 6.0, ulp=1)
    check("math.dist((a,), (b,))", math.inf, 1.0)
    check("math.dist((a, c), (b, c))", math.nan, 1.0, 2.0)
    with pytest.raises(ValueError, match="same number of dimensions"):
        run("math.dist(a, b)", np.ones(2), np.ones(3))


def test_prod():
    check("math.prod((a, b, 3))", 2, 5)
    assert run("math.prod(a)", np.array([2, 3, 4])) == 24
    assert run("math.prod(a, start=2.5)", np.array([2, 3, 4])) == 60.0
    assert run("math.prod(range(1, a))", 6) == 120


if sys.version_info >= (3, 12):  # math.sumprod is new in Python 3.12

    @given(
        v=st.lists(st.floats(-1e100, 1e100), max_size=12), w=st.lists(st.floats(-1e100, 1e100), max_size=12)
    )
    def test_sumprod(v, w):
        n = min(len(v), len(w))
        close(
            run("math.sumprod(a, b)", np.array(v[:n]), np.array(w[:n])),
            float(math.sumprod(v[:n], w[:n])),
            ulp=1,
        )


if sys.version_info >= (3, 12):  # math.sumprod is new in Python 3.12

    def test_sumprod_of_others():
        check("math.sumprod((a, 2), (3, b))", 4, 5)
        check("math.sumprod((a, 2.5), (3, b))", 4, 5)
        with pytest.raises(ValueError, match="same length"):
            run("math.sumprod(a, b)", np.ones(2), np.ones(3))


# --- what is refused ---


def test_wrong_arguments():
    rejects("math.sqrt(a)", 1j, match="math.sqrt\\(\\) takes a real number, not complex128")
    rejects("math.sqrt(a)", np.ones(2), match="takes a real number, not array")
    rejects("math.sqrt(a, b)", 1.0, 2.0, match="at most 1 argument")
    rejects("math.sqrt()", match="missing its argument 'x'")
    rejects("math.sqrt('2')", match="not str")
    rejects("math.isclose(a, b, tol=1)", 1.0, 2.0, match="unexpected keyword argument 'tol'")


def test_constants():
    for name in ("pi", "e", "tau", "inf", "nan"):
        check(f"math.{name}")
