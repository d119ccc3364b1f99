"""NumPy's elementwise functions on scalars and arrays: values and result types against NumPy's own."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import array_equal, check, close, copies, floats, given, plain, rejects, result_type, run  # noqa: E402

NUMPY2 = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
TYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]

# Functions that NumPy computes itself or with SIMD code of its own: a few units in the last place.
FLOAT1 = """sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh
arctanh rint floor ceil trunc fix fabs rad2deg degrees deg2rad radians spacing""".split()
EXACT1 = ["sign", "square", "reciprocal", "negative", "positive", "absolute", "conjugate"]
TESTS = ["isnan", "isinf", "isfinite", "signbit"]
FLOAT2 = "arctan2 hypot copysign nextafter logaddexp logaddexp2 heaviside fmod float_power".split()
PICK = ["minimum", "maximum", "fmin", "fmax"]
OPS = "add subtract multiply divide floor_divide remainder power".split()
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
COMPARE = "less less_equal equal not_equal greater greater_equal".split()
LOGICAL = ["logical_and", "logical_or", "logical_xor"]


def scalar_type(value):
    """Name of the type that NumPy gives a result."""
    return "bool" if isinstance(value, (bool, np.bool_)) else np.asarray(value).dtype.name


def expected(expr, *args):
    with np.errstate(all="ignore"):
        return plain(expr, *copies(args))


def same(expr, *args, ulp=0):
    """Scalar result: value and type as NumPy's."""
    want = expected(expr, *args)
    close(run(expr, *args), np.asarray(want)[()], ulp)
    assert result_type(expr, *args) == scalar_type(want), expr


def same_array(expr, *args, ulp=0):
    array_equal(run(expr, *copies(args)), expected(expr, *args), ulp)


# --- floats ---


@pytest.mark.parametrize("name", FLOAT1 + EXACT1)
@given(x=floats)
def test_one_float(name, x):
    close(run(f"np.{name}(a)", x), float(expected(f"np.{name}(a)", x)), ulp=4)


@pytest.mark.parametrize("name", TESTS)
@given(x=floats)
def test_float_tests(name, x):
    assert run(f"np.{name}(a)", x) is bool(expected(f"np.{name}(a)", x))


@pytest.mark.parametrize("name", FLOAT2)
@given(x=floats, y=floats)
def test_two_floats(name, x, y):
    got, want = run(f"np.{name}(a, b)", x, y), float(expected(f"np.{name}(a, b)", x, y))
    if name.startswith("logaddexp") and math.isfinite(want):
        assert abs(got - want) <= 4e-15 * max(1, abs(want))
    else:
        close(got, want, ulp=4 if name == "float_power" else 1)


@pytest.mark.parametrize("name", PICK)
@given(x=floats, y=floats)
def test_extremes(name, x, y):
    got, want = run(f"np.{name}(a, b)", x, y), float(expected(f"np.{name}(a, b)", x, y))
    assert got == want or (math.isnan(got) and math.isnan(want))


@pytest.mark.parametrize("name", OPS)
@given(x=floats, y=floats)
def test_float_operators(name, x, y):
    if name == "power" and y == 0.5:
        return  # NumPy takes the square root, whose -inf and -0.0 are not those of C's pow
    close(
        run(f"np.{name}(a, b)", x, y),
        float(expected(f"np.{name}(a, b)", x, y)),
        ulp=2 if name == "power" else 0,
    )


@pytest.mark.parametrize("name", COMPARE + LOGICAL)
@given(x=floats, y=floats)
def test_float_relations(name, x, y):
    assert run(f"np.{name}(a, b)", x, y) is bool(expected(f"np.{name}(a, b)", x, y))


# --- types: every function on every type ---

KEEP = ["floor", "ceil", "trunc", "fix"]  # integers stay integers since NumPy 2.1; here always


@pytest.mark.parametrize("name", FLOAT1)
def test_float_function_types(name):
    for t in TYPES + FLOATS:
        if name in KEEP and t not in FLOATS:
            assert result_type(f"np.{name}(a)", t(1)) == ("bool" if t is np.bool_ else t.__name__)
            continue
        want = expected(f"np.{name}(a)", t(1))
        got = result_type(f"np.{name}(a)", t(1))
        # no float16 here: float32 in its place
        assert got == {"float16": "float32"}.get(want.dtype.name, want.dtype.name), t


@pytest.mark.parametrize("name", EXACT1 + TESTS + ["invert", "logical_not"])
def test_unary_types(name):
    for t in TYPES + FLOATS + COMPLEX:
        x = t(1)
        if t in COMPLEX and name == "sign" and not NUMPY2:
            continue
        try:
            want = expected(f"np.{name}(a)", x)
        except TypeError:
            rejects(f"np.{name}(a)", x, match="not defined for")
            continue
        if scalar_type(want) == "float16" or name == "signbit":
            continue
        close(run(f"np.{name}(a)", x), want)
        assert result_type(f"np.{name}(a)", x) == scalar_type(want), t


@pytest.mark.parametrize("name", OPS + BITS + PICK + COMPARE + LOGICAL + ["left_shift", "right_shift"])
def test_binary_types(name):
    types = TYPES + FLOATS + COMPLEX
    for t in types:
        for u in types:
            x, y = t(3), u(2)
            try:
                want = expected(f"np.{name}(a, b)", x, y)
            except TypeError:
                want = None
            ordered = name in PICK and (t in COMPLEX or u in COMPLEX)
            if (
                want is None
                or ordered
                or (
                    name in ("divide", "power", "remainder", "floor_divide")
                    and np.asarray(want).dtype == np.float16
                )
            ):
                continue
            expr = f"np.{name}(a, b)"
            close(run(expr, x, y), np.asarray(want)[()], ulp=4)
            assert result_type(expr, x, y) == scalar_type(want), (t, u)


@given(x=st.integers(-128, 127), y=st.integers(-128, 127))
def test_narrow_integers_wrap(x, y):
    p, q = np.int8(x), np.int8(y)
    for name in (
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "bitwise_xor",
        "floor_divide",
        "remainder",
        "fmod",
        "left_shift",
        "right_shift",
    ):
        if name.endswith("shift") and not 0 <= y < 8:
            continue
        expr = f"np.{name}(a, b)"
        close(run(expr, p, q), expected(expr, p, q))
        a, b = np.array([x], dtype=np.int8), np.array([y], dtype=np.int8)
        array_equal(run(expr, a, b), expected(expr, a, b))


@given(x=st.integers(-(2**63), 2**63 - 1), y=st.integers(-(2**63), 2**63 - 1))
def test_integers(x, y):
    p, q = np.int64(x), np.int64(y)
    for name in OPS[:3] + BITS + PICK + COMPARE + ["floor_divide", "remainder", "fmod", "gcd"]:
        if name == "gcd" and -(2**63) in (x, y):
            continue
        expr = f"np.{name}(a, b)"
        close(run(expr, p, q), expected(expr, p, q))
    for name in ("negative", "absolute", "sign", "square", "invert", "signbit"):
        expr = f"np.{name}(a)"
        if name != "signbit":
            close(run(expr, p), expected(expr, p))
        else:
            assert run(expr, p) is (x < 0)


def test_division_by_zero_does_not_raise():
    for name in ("floor_divide", "remainder", "fmod"):
        close(run(f"np.{name}(a, b)", np.int32(5), np.int32(0)), np.int32(0))
    close(run("np.divide(a, b)", 1.0, 0.0), math.inf)
    close(run("np.divide(a, b)", 1, 0), math.inf)
    close(run("np.reciprocal(a)", 0.0), math.inf)


def test_spacing_of_zeros():
    for t in (np.float16, np.float32, np.float64):
        for x in (0.0, -0.0):
            assert run("np.spacing(a)", t(x)) == np.spacing(t(x)) > 0
            got = run("np.spacing(a)", np.full(9, x, t))
            np.testing.assert_array_equal(got, np.spacing(np.full(9, x, t)))


def test_weak_literals():
    x = np.float32(1.5)
    for expr in (
        "np.add(a, 2.0)",
        "np.multiply(a, 2)",
        "np.maximum(a, 2.0)",
        "np.arctan2(a, 1.0)",
        "np.where(True, a, 2.0)",
    ):
        assert result_type(expr, x) == "float32", expr
    for expr in ("np.add(a, 2)", "np.maximum(a, 2)", "np.bitwise_and(a, 3)"):
        assert result_type(expr, np.int8(3)) == "int8", expr
    assert result_type("np.sin(2.0)") == "float64"


@given(x=st.integers(-(2**63), 2**63 - 1))
def test_bitwise_count(x):
    if not hasattr(np, "bitwise_count"):
        assert not NUMPY2
        return
    assert run("np.bitwise_count(a)", x) == abs(x).bit_count()
    for t in TYPES[1:]:
        same("np.bitwise_count(a)", np.array([x]).astype(t)[0])
    rejects("np.bitwise_count(a)", 1.5, match="not defined for float64")


def test_lcm():
    for x, y in ((4, 6), (-4, 6), (0, 5), (0, 0), (7, 1)):
        for t in (np.int8, np.int64, np.uint32):
            if x >= 0 or t is not np.uint32:
                same("np.lcm(a, b)", t(x), t(y))
                same("np.gcd(a, b)", t(x), t(y))
    rejects("np.gcd(a, b)", 2.0, 3, match="not defined for float64")


# --- complex ---

CFUNCS = "sqrt exp log log10 sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh square reciprocal conjugate".split()


@pytest.mark.parametrize("name", CFUNCS)
@given(re=st.floats(-20, 20), im=st.floats(-20, 20))
def test_complex(name, re, im):
    if abs(re) + abs(im) < 1e-3:
        return
    z = complex(re, im)
    got, want = run(f"np.{name}(a)", z), complex(expected(f"np.{name}(a)", z))
    assert type(got) is complex
    if math.isfinite(want.real) and math.isfinite(want.imag):
        assert abs(got - want) <= 1e-14 * max(1.0, abs(want)), (got, want)


def test_complex_others():
    z = 3 - 4j
    same("np.absolute(a)", z)
    same("np.angle(a)", z, ulp=1)
    same("np.angle(a, deg=True)", z, ulp=1)
    same("np.angle(a)", -1.0, ulp=1)
    same("np.real(a)", z)
    same("np.imag(a)", z)
    same("np.real(a)", 2.5)
    same("np.imag(a)", 2.5)
    same("np.isnan(a)", complex(1, math.nan))
    same("np.isfinite(a)", complex(1, math.inf))
    if NUMPY2:
        same("np.sign(a)", z)
    for op in COMPARE:
        for y in (3 - 4j, 3 + 0j, 2 - 9j):
            same(f"np.{op}(a, b)", z, y)
    rejects("np.cbrt(a)", z, match="not defined for complex128")
    rejects("np.floor(a)", z, match="not defined for complex128")
    same("np.maximum(a, b)", z, 3 + 0j)
    rejects("np.arctan2(a, b)", z, z, match="not defined for complex128")


# --- arrays: broadcasting, layouts, types ---


@pytest.mark.parametrize(
    "name", ["sin", "exp", "sqrt", "floor", "negative", "square", "isnan", "sign", "absolute", "logical_not"]
)
def test_arrays_of_one(name):
    base = np.array([[0.5, -1.25, 3.0], [math.nan, 2.0, 7.5]])
    for a in (
        base,
        base.T,
        base[:, ::2],
        np.asfortranarray(base),
        base.astype(np.float32),
        base[:0],
        np.array(1.5),
    ):
        if a.ndim:
            same_array(f"np.{name}(a)", a, ulp=2)
    if name not in ("negative",):
        got = run(f"np.{name}(a)", np.array([1, 2], dtype=np.int64))
        array_equal(got, np.asarray(expected(f"np.{name}(a)", np.array([1, 2]))) if NUMPY2 else got, ulp=2)


@pytest.mark.parametrize("name", ["add", "maximum", "arctan2", "less", "power", "copysign", "logical_or"])
def test_arrays_of_two(name):
    a = np.linspace(-2, 3, 6).reshape(2, 3)
    for x, y in (
        (a, a + 1),
        (a, a[0]),
        (a[:, :1], a[0]),
        (a, 2.0),
        (1.5, a),
        (a.T, a.T),
        (a[0], a[:1]),
        (a.astype(np.float32), 2.0),
    ):
        same_array(f"np.{name}(a, b)", x, np.float64(y) if isinstance(y, float) else y, ulp=2)
    with pytest.raises(ValueError, match="broadcast"):
        run(f"np.{name}(a, b)", a, a[:, :2])


def test_arrays_and_literals():
    a = np.array([1.5, -2.0], dtype=np.float32)
    for expr in (
        "np.add(a, 2.0)",
        "np.maximum(a, 1)",
        "np.arctan2(a, 2.0)",
        "a * 2.0",
        "a + 1",
        "1 - a",
        "a < 1.0",
    ):
        same_array(expr, a, ulp=2)
    for expr in ("np.add(a, 2)", "a // 2", "a & 3", "np.left_shift(a, 1)", "a / 2"):
        same_array(expr, np.array([5, -7], dtype=np.int8))
    got = run("a * 2.0", a, promotion="numba")
    assert got.dtype == np.float64  # Numba's literals are strong


def test_arrays_without_axes():
    """NumPy's functions and operators give scalars for them."""
    a = np.array(1.5)
    for expr in (
        "np.sin(a)",
        "np.add(a, 1)",
        "np.maximum(a, b)",
        "a + b",
        "-a",
        "a < b",
    ):
        got, want = (
            run(expr, a, np.array(2.5)) if "b" in expr else run(expr, a),
            plain(expr, a, np.array(2.5)),
        )
        close(got, want, ulp=1)


def test_where():
    a = np.arange(6.0).reshape(2, 3)
    same_array("np.where(a > b, a, -a)", a, 2.0)
    same_array("np.where(a > 2, a[0], 0)", a)
    same_array("np.where(a, 1, 2)", a.astype(bool))
    same("np.where(a, b, c)", True, 1, 2.5)
    same("np.where(a > 0, a, b)", np.float32(-1), np.float32(3))
    np.testing.assert_array_equal(run("np.where(a > 2)", a), np.where(a > 2))


def test_clip_round():
    a = np.array([-2.5, -0.5, 0.5, 1.5, 2.5, math.nan, 123.456])
    for expr in (
        "np.clip(a, -1, 2)",
        "np.clip(a, None, 2)",
        "np.clip(a, 0.5, None)",
        "a.clip(-1, 1)",
        "np.round(a)",
        "np.round(a, 1)",
        "np.around(a, -1)",
        "a.round(2)",
        "a.round()",
    ):
        same_array(expr, a)
    same_array("np.clip(a, 1, 3)", np.arange(5, dtype=np.int8))
    same_array("np.round(a)", np.arange(5, dtype=np.int8))
    same("np.clip(a, 0, 1)", 3.5)
    same("np.round(a)", 2.5)
    same("np.round(a, 2)", 2.675)
    same("np.round(a)", np.float32(3.5))
    same("np.round(a, b)", 2.25, 1)
    rejects("np.round(a, 2.0)", 2.5, match="takes an integer")
    rejects("np.round(a, 400)", 2.5, match="decimals must be between")


def test_two_results():
    close(run("np.divmod(a, b)", 7, -2), tuple(int(v) for v in np.divmod(7, -2)))
    close(run("np.divmod(a, b)", 7.5, -2.0), tuple(float(v) for v in np.divmod(7.5, -2.0)))
    for x in (2.75, -0.5, math.inf):
        close(run("np.modf(a)", x), tuple(float(v) for v in np.modf(x)))
    m, e = np.frexp(10.0)
    close(run("np.frexp(a)", 10.0), (float(m), int(e)))
    same("np.ldexp(a, b)", 1.5, 4)
    same("np.ldexp(a, b)", np.float32(1.5), -3)


def test_ldexp_arrays():
    same_array("np.ldexp(a, 3)", np.array([1.5, -2.0]))
    q, r = run("np.divmod(a, b)", np.array([7, -7]), 2)
    array_equal(q, np.array([3, -4]))
    array_equal(r, np.array([1, 1]))


def test_real_imag_conj_of_arrays():
    z = np.array([1 + 2j, 3 - 4j])
    for expr in (
        "np.real(a)",
        "np.imag(a)",
        "np.conj(a)",
        "a.conj()",
        "a.conjugate()",
        "np.absolute(a)",
        "np.angle(a)",
    ):
        same_array(expr, z, ulp=1)
        same_array(expr, z.astype(np.complex64), ulp=2)


def test_the_method_conj_of_real_numbers_is_the_array_itself():
    for dtype in ("?", "i4", "f4", "f8"):
        a = np.ones(3, dtype)
        check("(a.conj(), a.fill(0), a)", a)
        check("(a.conjugate(), a.fill(0), a)", a)
        assert np.shares_memory(run("a.conj()", a), a) and not np.shares_memory(run("np.conj(a)", a), a)
    z = np.ones(3, "c16")
    assert not np.shares_memory(run("a.conj()", z), z)


def test_result_layout_and_memory():
    assert run("np.add(a, 1)", np.zeros((3, 4)).T).flags.f_contiguous
    got = run("np.add(a, 1)", np.zeros((3, 4)))
    assert got.flags.c_contiguous and got.flags.owndata is not None and got.flags.writeable


def test_wrong_arguments():
    rejects("np.sin('a')", match="numpy.sin\\(\\) takes numbers or arrays, not str")
    rejects("np.sin(a, b)", 1.0, 2.0, match="out must be an array, not float64")
    rejects("np.sin(a, b, c)", 1.0, 2.0, 3.0, match="at most 2 arguments")
    rejects("np.sin(a, where=b)", 1.0, True, match="where= without out=")
    rejects("np.invert(a)", 1.0, match="not defined for float64")
    rejects("np.bitwise_and(a, b)", 1.0, 2, match="unsupported operand types for &")
    rejects("np.subtract(a, b)", True, False, match="no subtraction of booleans")
