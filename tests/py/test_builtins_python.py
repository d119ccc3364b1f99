"""Python's builtin functions against CPython: numbers of all types, iterables, print, and what is refused."""

from __future__ import annotations

import math
import numbers
import random
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from treadle import TypingError, njit

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import check, close, f32s, floats, given, ints, plain, rejects, result_type, run  # noqa: E402

INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64]
Point = namedtuple("Point", "x y")


# --- abs, round, conversions ---


@given(x=st.one_of(st.integers(-(2**63) + 1, 2**63 - 1), floats, st.booleans()))
def test_abs(x):
    check("abs(a)", x)


def test_abs_types():
    for t in INTS + FLOATS:
        assert result_type("abs(a)", t(3)) == t.__name__
    assert run("abs(a)", np.int8(-128)) == -128
    assert run("abs(a)", np.float32(-1.5)) == 1.5
    assert run("abs(a)", np.uint8(200)) == 200
    assert result_type("abs(a)", np.complex64(3 + 4j)) == "float32"
    check("abs(a)", 3 + 4j)
    check("abs(-3)")
    assert result_type("a * abs(-2.0)", np.float32(1)) == "float32"


def test_abs_of_arrays():
    for t in [np.int16, np.float32, np.complex128]:
        check("abs(a)", np.array([-1, 2, -3]).astype(t))


@given(x=st.one_of(st.floats(-1e18, 1e18), st.integers(-(2**63), 2**63 - 1), st.booleans()))
def test_round(x):
    check("round(a)", x)
    check("round(a, None)", x)


@given(x=floats, n=st.integers(-330, 340))
def test_round_digits(x, n):
    try:
        want = round(x, n)
    except OverflowError:
        return
    close(run("round(a, b)", x, n), want)


@given(x=ints, n=st.integers(-25, 5))
def test_round_int_digits(x, n):
    if abs(round(x, n)) < 2**63:
        check("round(a, b)", x, n)


def test_round_types():
    for t in INTS:
        assert result_type("round(a)", t(3)) == ("int64" if t.__name__.startswith("u") else t.__name__)
        assert result_type("round(a, 1)", t(3)) == t.__name__
    assert result_type("round(a)", np.float32(2.5)) == "int64"
    assert result_type("round(a, 1)", np.float32(2.5)) == "float32"
    assert run("round(a, 2)", np.float32(2.675)) == float(np.float32(2.67))
    assert run("round(a, -1)", np.int8(25)) == 20


@given(x=st.one_of(st.floats(-1e18, 1e18), ints, st.booleans()))
def test_int(x):
    check("int(a)", x)


def test_conversion_types():
    for t in INTS:
        assert result_type("int(a)", t(3)) == "int64"
        assert result_type("float(a)", t(3)) == "float64"
    assert result_type("int(a)", np.float32(3.5)) == "int64"
    assert result_type("float(a)", np.float32(3.5)) == "float64"
    assert result_type("complex(a)", np.float32(3.5)) == "complex128"
    assert result_type("a * float(2)", np.float32(3.5)) == "float32"
    check("int()")
    check("float()")
    check("bool()")
    check("complex()")


@given(x=st.one_of(floats, ints, st.booleans()))
def test_float_and_bool(x):
    check("float(a)", x)
    check("bool(a)", x)


def test_float_of_text():
    for text in ("'inf'", "'-inf'", "'nan'", "' 1.5e3 '", "'Infinity'"):
        check(f"float({text})")
    for text in ("'one'", "'0x10'", "''", "'1_000'"):
        check(f"float({text})")


@given(re=floats, im=floats)
def test_complex(re, im):
    check("complex(a, b)", re, im)
    check("complex(a)", re)
    check("complex(complex(a, b))", re, im)
    check("complex(imag=a)", re)


def test_complex_of_complex():
    check("complex(a, b)", 1 + 2j, 3 + 4j)
    check("complex(a, b)", 1.0, 3 + 4j)
    check("complex(a, b)", 1 + 2j, 3.0)


def test_bool_of_others():
    check("bool(())")
    check("bool((0,))")
    check("bool('')")
    check("bool(None)")
    check("bool(range(a))", 0)
    check("bool(a)", 0j)
    rejects("bool(a)", np.ones(2), match="truth")


def test_wrong_conversions():
    rejects("int(a)", 1j, match="int\\(\\) takes a real number, not complex128")
    rejects("float(a)", 1j, match="takes a real number")
    rejects("round(a)", 1j, match="takes a real number")
    rejects("abs('a')", match="takes a number, not str")
    rejects("int(a)", np.ones(1), match="takes a real number, not array")


# --- min, max, sum, any, all ---


@pytest.mark.parametrize("name", ["min", "max"])
@given(x=floats, y=floats, z=floats)
def test_extremes(name, x, y, z):
    check(f"{name}(a, b)", x, y)
    check(f"{name}(a, b, c)", x, y, z)
    check(f"{name}((a, b, c))", x, y, z)


@pytest.mark.parametrize("name", ["min", "max"])
@given(x=ints, y=ints)
def test_extremes_of_ints(name, x, y):
    check(f"{name}(a, b)", x, y)
    check(f"{name}(a, b, 3)", x, y)


@pytest.mark.parametrize("name", ["min", "max"])
@given(v=st.lists(floats, max_size=9))
def test_extremes_of_arrays(name, v):
    a = np.array(v, dtype=np.float64)
    if not v:
        with pytest.raises(
            ValueError, match=f"{name}\\(\\) (arg is an empty sequence|iterable argument is empty)"
        ):
            run(f"{name}(a)", a)
    else:
        close(run(f"{name}(a)", a), float(plain(f"{name}(a)", a)))
        close(run(f"{name}(a[::2])", a), float(plain(f"{name}(a)", a[::2])))


def test_extreme_types():
    for name in ("min", "max"):
        assert result_type(f"{name}(a, 1)", np.int8(3)) == "int8"
        assert result_type(f"{name}(a, 1.5)", np.float32(3)) == "float32"
        assert result_type(f"{name}(a, b)", np.float32(3), 1.5) == "float64"
        assert result_type(f"{name}(a, b)", np.int16(3), np.uint16(3)) == "int32"
        assert result_type(f"{name}(a, b)", 1, 2.0) == "float64"
        assert result_type(f"{name}(a, b)", True, False) == "bool"
        assert result_type(f"{name}(a)", np.ones(2, dtype=np.uint8)) == "uint8"
        check(f"{name}(range(a, 9, 2))", 3)
        check(f"{name}(a)", (3, 1, 2))
        rejects(f"{name}()", match="at least one argument")
        rejects(f"{name}(a, 1)", 1j, match="takes a real number")
        rejects(f"{name}(())", match="empty")
        rejects(f"{name}(a)", np.ones((2, 2)), match="items of array")


@given(v=st.lists(st.integers(-(2**62), 2**62), max_size=9), s=st.integers(-5, 5))
def test_sum(v, s):
    a = np.array(v, dtype=np.int64)
    want = (sum(v) + s + 2**63) % 2**64 - 2**63
    assert run("sum(a, b)", a, s) == want
    assert run("sum(a[::-1], start=b)", a, s) == want


def test_sum_of_others():
    check("sum((a, b, 2.5))", 1, 2)
    check("sum(())")
    check("sum((a, b), c)", 1, 2, 0.5)
    check("sum(range(a))", 10)
    assert run("sum(a)", np.array([0.5, 1.5, 2.0])) == 4.0
    assert result_type("sum(a)", np.ones(3, dtype=np.float32)) == "float32"
    assert result_type("sum(a)", np.ones(3, dtype=np.int8)) == "int64"
    assert result_type("sum(a)", np.ones(3, dtype=np.uint8)) == "uint64"
    assert result_type("sum(a)", np.ones(3, dtype=bool)) == "int64"
    assert result_type("sum(a, 0.0)", np.ones(3, dtype=np.int8)) == "float64"
    assert run("sum(a)", np.array([1j, 2.0])) == 2 + 1j
    rejects("sum(a)", np.ones((2, 2)), match="items of array")
    rejects("sum(a)", 3, match="int64 is not iterable")


@given(v=st.lists(st.sampled_from([0.0, -0.0, 1.0, math.nan]), max_size=5))
def test_any_all(v):
    a = np.array(v)
    for name in ("any", "all"):
        assert run(f"{name}(a)", a) is plain(f"{name}(a)", v)
        assert run(f"{name}(a > 0)", a) is plain(f"{name}(a)", [x > 0 for x in v])


def test_any_all_of_others():
    for name in ("any", "all"):
        check(f"{name}((a, b, 0))", 1, 2)
        check(f"{name}((a, b))", True, 0.0)
        check(f"{name}(())")
        check(f"{name}(range(a))", 1)


# --- iterables ---


@given(x=st.integers(-30, 30), y=st.integers(-30, 30), z=st.integers(-7, 7))
def test_range(x, y, z):
    def count(a, b, c):
        n, s = 0, 0
        for i in range(a, b, c):
            n += 1
            s = (s * 31 + i) % 1000003
        return n, s

    f = counted(count)
    if z == 0:
        with pytest.raises(ValueError, match="range\\(\\) arg 3 must not be zero"):
            f(x, y, z)
    else:
        assert f(x, y, z) == count(x, y, z)
        check("len(range(a, b, c))", x, y, z)
    check("len(range(a))", x)
    check("len(range(a, b))", x, y)
    check("len(range(a, b, -3))", x, y)


_COUNT = {}


def counted(fn):
    return _COUNT.setdefault("count", njit(fn))


def test_range_edges():
    low, high = -(2**63), 2**63 - 1
    assert run("len(range(a, b, c))", low, high, high) == len(range(low, high, high))
    assert run("len(range(a, b, c))", high, low, low) == len(range(high, low, low))
    check("range(a, b, c)[d]", 3, 40, 7, -2)
    check("range(a)[b]", 3, 3)
    check("(range(a, b, c).start, range(a, b, c).stop, range(a, b, c).step)", 1, 2, 3)
    check("len(range(a, 10, 0))", 1)
    rejects("range(a)", 2.0, match="an argument must be an integer, not float64")
    rejects("range()", match="range expected 1 to 3 arguments, got 0")
    with pytest.raises(OverflowError):
        run("len(range(a))", np.uint64(2**63))


def test_range_of_uint64():
    @njit
    def last(n):
        r = n
        for i in range(n):
            r = i
        return r

    assert last(np.uint64(5)) == 4
    assert str(last.overloads[last.signatures[0]]) == "uint64"
    assert last(np.int8(5)) == 4


def test_len():
    check("len(a)", (1, 2.0, None))
    check("len('größe')")
    check("len(a)", np.ones((3, 2)))
    check("len(a.flat)", np.ones((3, 2)))
    rejects("len(a)", np.array(1.0), match="has no len")
    rejects("len(a)", 3, match="int64 has no len")


def test_enumerate_zip_reversed():
    @njit
    def f(a, t):
        s = 0.0
        for i, x in enumerate(a, 5):
            s += i * x
        for i, (x, y) in enumerate(zip(a, a[::2])):
            s += 100 * i * x * y
        for x in reversed(a):
            s = s * 1.5 + x
        for x in reversed(range(3, 9, 2)):
            s = s * 0.5 + x
        for x in t:
            s = s * 2 + x
        for x, y in zip(t, range(3)):
            s += x * y
        for x in reversed(t):
            s = s + x
        return s

    a = np.array([1.0, 2.5, -3.0])
    assert f(a, (1, 2.0, 3)) == f.py_func(a, (1, 2.0, 3))


def test_iterables_bad():
    rejects("enumerate(a)", 3, match="int64 is not iterable")
    rejects("reversed(zip(a, a))", (1, 2), match="not reversible")
    rejects("len(zip(a))", (1, 2), match="has no len")
    rejects("enumerate((1, 2), 1.5)", match="start must be an integer")

    @njit
    def strict(a, b):
        s = 0.0
        for x, y in zip(a, b, strict=True):
            s += x * y
        return s

    assert strict(np.ones(2), np.ones(2)) == 2.0
    with pytest.raises(ValueError, match="different lengths"):
        strict(np.ones(2), np.ones(3))


def test_slices_and_tuples():
    a = np.arange(10.0)
    check("a[slice(2, 8, b)]", a, 3)
    check("a[slice(b)]", a, 4)
    check("a[slice(None, None, -1)]", a)
    check("(slice(a, 5).start, slice(a, 5).stop, slice(a, 5).step)", 2)
    check("tuple(a)", (1, 2.0))
    check("tuple()")
    rejects("slice(1.5)", match="takes an integer, not float64")
    rejects("tuple(a)", a, match="length is not part of its type")


# --- arithmetic ---

small = st.integers(-50, 50)


@given(x=st.one_of(small, ints, floats), y=st.one_of(small, floats))
def test_divmod(x, y):
    if x == -(2**63) and y == -1:
        return
    check("divmod(a, b)", x, y)


@given(x=st.integers(-9, 9), y=st.integers(0, 15))
def test_pow(x, y):
    check("pow(a, b)", x, y)
    check("pow(a, b)", float(x), y)


@given(x=ints, y=st.one_of(st.integers(-20, 20), ints), m=st.one_of(st.integers(-20, 20), ints))
def test_pow_mod(x, y, m):
    check("pow(a, b, c)", x, y, m)


def test_pow_bad():
    rejects("pow(a, 2, 3)", 2.0, match="must be an integer")
    check("pow(a, 3, None)", 2)


# --- isinstance, class objects ---


def test_isinstance():
    for value in (1, 2.0, True, 1j, (1, 2), None, "text", range(3)):
        for name in ("int", "float", "complex", "bool", "tuple", "str", "range", "(int, float)", "slice"):
            if isinstance(value, str):
                check(f"isinstance({value!r}, {name})")
            elif value is None:
                check(f"isinstance(None, {name})")
            else:
                check(f"isinstance(a, {name})", value)
    check("isinstance(a, np.ndarray)", np.ones(2))
    check("isinstance(a, np.ndarray)", 1)
    check("isinstance(a, np.float32)", np.float32(1))
    assert run("isinstance(a, np.float32)", 1.0) is False
    assert run("isinstance(a, np.integer)", np.int8(1)) is True
    assert run("isinstance(a, np.floating)", np.float32(1)) is True
    assert run("isinstance(a, np.number)", np.float32(1)) is True
    rejects("isinstance(a, 3)", 1, match="not known when compiling")
    rejects("isinstance(a, len)", 1, match="not known when compiling")


def test_isinstance_of_what_is_iterated_over():
    x = np.ones(3)
    made = ["enumerate(a)", "zip(a, a)", "map(abs, a)", "filter(None, a)", "reversed(a)", "range(3)", "[1, 2]", "(1, 2)"]  # fmt: skip
    classes = ["enumerate", "zip", "map", "filter", "reversed", "range", "list", "tuple", "np.ndarray", "str", "dict", "set", "int"]  # fmt: skip
    for value in made:
        for cls in classes:
            check(f"isinstance({value}, {cls})", x)


@pytest.mark.parametrize("text", ["int | float", "int | None", "None | str", "int | float | None", "(int, (float, complex | str))", "numbers.Real", "numbers.Integral", "(numbers.Complex, list)"])  # fmt: skip
def test_isinstance_of_unions_and_nested_classes(text):
    space = {"np": np, "numbers": numbers}
    exec(f"def f(a): return isinstance(a, {text}), isinstance(None, {text}), isinstance('x', {text})", space)
    f = space["f"]
    for value in (True, 3, 2.5, 1j, (1, 2), np.ones(2), range(3)):
        try:
            want = f(value)
        except TypeError:  # Python's isinstance() takes no bare None
            return
        assert njit(f)(value) == want, value


def test_isinstance_of_what_may_be_none():
    def f(c, v):
        x = None
        if c:
            x = v
        n = isinstance(x, int), isinstance(x, (float, int)), isinstance(x, tuple), isinstance(x, int | None)
        return (*n, x is not None and isinstance(x, (int, float)), bool(x))

    for v in (3, 0, 2.5, 0.0, True):
        for c in (True, False):
            assert njit(f)(c, v) == f(c, v), (c, v)


def test_numpys_abstract_classes():
    for t in (np.bool_, np.int8, np.uint32, np.float32, np.complex64):
        for name in ("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating"):  # fmt: skip
            assert run(f"isinstance(a, np.{name})", t(1)) is issubclass(t, getattr(np, name)), (t, name)


def test_isinstance_selects_code():
    @njit
    def f(x):
        if isinstance(x, tuple):
            return x[0] + x[1]
        return x * 2

    assert f((1, 2)) == 3
    assert f(2.5) == 5.0


@pytest.mark.parametrize("t", [np.bool_, *INTS, *FLOATS, np.complex64, np.complex128])
def test_numbers_have_the_methods_of_arrays(t):
    """An item of an array is NumPy's scalar, and answers as an array of no axes does."""
    x = t(1.25 + 2j) if issubclass(t, np.complexfloating) else t(1.25)
    texts = ["sum()", "prod()", "any()", "all()", "mean()", "var()", "std()", "copy()", "ravel()", "flatten()", "shape", "size", "ndim", "itemsize", "nbytes", "T",
             "sum(axis=None)", "sum(dtype=np.complex128)", "std(ddof=0)", "sum().mean()", "prod(initial=2)"]  # fmt: skip
    if not issubclass(t, np.complexfloating):
        texts += ["min()", "max()", "argmin()", "argmax()", "mean(dtype=np.float32)"]
    if t is not np.bool_:
        texts += ["round()", "round(decimals=1)"]
        texts += [] if issubclass(t, np.complexfloating) else ["clip(0, 1)", "clip(max=2)"]
    for text in texts:
        want = plain(f"a[0].{text}", np.array([x]))
        for got in (run(f"a.{text}", x), run(f"a[0].{text}", np.array([x]))):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want, np.asarray(got).dtype), text)
        if isinstance(want, np.generic):
            assert result_type(f"a.{text}", x) == want.dtype.name, text


def test_type_is_a_class_to_call():
    for x in (np.float32(1), 1.0, 2, np.int16(3), True, 1j):
        want = np.asarray(x).dtype.type
        assert run("type(a)(3.7)", x) == want(3.7)
        assert result_type("type(a)(1)", x).rstrip("_") == want.__name__.rstrip("_")
    assert result_type("type(a)(0.5) * a", np.float32(3)) == "float32"
    rejects("type(a)", np.ones(2), match="type\\(\\) of array")


def test_limits_of_types():
    for t in INTS:
        for name in ("min", "max", "bits"):
            assert run(f"np.iinfo(a).{name}", t(3)) == getattr(np.iinfo(t), name)
            assert run(f"np.iinfo(np.{t.__name__}).{name}") == getattr(np.iinfo(t), name)
    names = (
        "eps",
        "epsneg",
        "min",
        "max",
        "tiny",
        "smallest_normal",
        "smallest_subnormal",
        "resolution",
        "precision",
        "bits",
    )
    for t in (np.float16, *FLOATS):
        for name in names:
            assert run(f"np.finfo(a.dtype).{name}", np.ones(2, t)) == getattr(np.finfo(t), name)
    for t in FLOATS:
        assert result_type("np.finfo(a).eps", t(3)) == t.__name__
    assert run("np.finfo(a).max", np.complex64(1)) == np.finfo(np.float32).max
    assert run("np.finfo(float).eps") == np.finfo(float).eps
    assert result_type("a + np.iinfo(np.int32).max", np.float32(1)) == "float32"
    rejects("np.finfo(a).eps", 3, match="takes a float type, not int64")
    rejects("np.iinfo(a).max", 3.0, match="takes an integer type")
    rejects("np.iinfo(a).eps", 3, match="no attribute 'eps'")
    rejects("np.iinfo(a)", 3, match="cannot hand to Python")


def test_str_in_messages_and_print(capfd):
    @njit
    def f(n, x):
        if n == 1:
            raise ValueError("n is " + str(n) + ", x=" + str(x))
        if n == 2:
            raise ValueError(str(n))
        if n == 3:
            raise ValueError("a" + f"{n}" + str(True) + str(None) + str("q") + str())
        m = "x" + str(n)
        print(m, str(x) + "!", str(), str(n > 1))
        if n == 4:
            raise KeyError(m)
        return n

    for n in range(1, 6):
        for x in (0.1, np.float32(0.1), 7, 1 + 2j, True):
            results = []
            for g in (f, f.py_func):
                try:
                    results.append(g(n, x))
                except (ValueError, KeyError) as e:
                    results.append(repr(e))
                results.append(capfd.readouterr().out)
            assert results[:2] == results[2:]
    rejects("str(a)", np.ones(3, [("x", "f8")]), match="text made of a value of array")
    rejects("str(a) + a", 3, match="unsupported operand types")
    check("len(str(a))", 3)


def test_class_calls():
    check("str(a)", 1)
    rejects("np.ndarray(a)", 1, match="calls of numpy.ndarray\\(\\)")


# --- attributes of values ---


@given(x=floats, y=floats)
def test_number_attributes(x, y):
    check("(a.real, a.imag, a.conjugate())", complex(x, y))
    check("(a.real, a.imag, a.conjugate())", x)
    check("a.is_integer()", x)


@given(x=st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-70, 70), st.booleans()))
def test_bits_of_integers(x):
    check("(a.bit_count(), a.bit_length())", x)


@pytest.mark.parametrize("type_", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_bits_of_numpys_integers(type_):
    info = np.iinfo(type_)
    for x in (info.min, info.max, 0, 1, 100, info.max // 3):
        assert run("(a.bit_count(), a.bit_length())", info.dtype.type(x)) == (
            int(x).bit_count(),
            int(x).bit_length(),
        )
    rejects("a.bit_count()", 1.5, match="bit_count")


def test_number_methods():
    check("(a.real, a.imag, a.conjugate())", 3)
    check("(a.real, a.imag)", True)
    check("(1.5).is_integer()")
    check("a.real", np.complex64(1 + 2j))
    assert result_type("a.real", np.complex64(1 + 2j)) == "float32"
    assert result_type("a.conj()", np.complex64(1 + 2j)) == "complex64"
    assert result_type("a.item()", np.float32(1)) == "float32"
    assert result_type("a.astype(np.int8)", np.float32(1)) == "int8"
    assert result_type("a.dtype.type(3)", np.float32(1)) == "float32"
    assert run("a.dtype.itemsize", np.float32(1)) == 4
    assert run("a.dtype == np.float32", np.float32(1)) is True
    assert run("a.dtype == np.float64", np.float32(1)) is False
    assert run("a.dtype.kind == 'f'", np.float32(1)) is True
    assert run("a.dtype.name == 'float32'", np.float32(1)) is True
    rejects("a.astype(3)", np.float32(1), match="3 is not a dtype")
    rejects("a.shapes", 1.0, match="float64 has no attribute 'shapes'")


def test_tuple_methods():
    check("(a.count(2), a.index(2.0))", (1, 2, 2.0, 3))
    check("a.index(b)", (1, 2, 3), 9)
    assert run("a.x + a.y * a[1]", Point(1, 2.0)) == 5.0
    assert run("a._fields[1] == 'y'", Point(1, 2.0)) is True
    rejects("a._fields", (1, 2), match="plain tuple")


# --- print ---


def printed(capfd, fn, *args):
    njit(fn)(*args)
    ours = capfd.readouterr().out
    fn(*args)
    return ours, capfd.readouterr().out


def test_print(capfd):
    def f(i, x, b, z):
        print()
        print(i, x, b, z, None, "text")
        print(i, x, sep=", ", end="!\n")
        print("a", "b", sep="")
        print((i, x), (b,), (), ((z, None), "it's", 'a "b"', "new\nline\\"), sep="|")
        print(x, flush=True)
        print(i, sep=None, end=None)
        print(1, 2.0, True, 1e100, 1e16, 1e-5)

    for args in (
        (1, 2.5, True, 1 + 2j),
        (-(2**63), math.nan, False, -0.0 - 1j),
        (0, -math.inf, True, complex(math.nan, math.inf)),
    ):
        ours, theirs = printed(capfd, f, *args)
        assert ours == theirs


def test_print_widths(capfd):
    @njit
    def f(a, b, c, d):
        print(a, b, c, d)

    f(np.float32(0.1), np.uint64(2**64 - 1), np.complex64(0.1 + 0.2j), np.int8(-5))
    assert capfd.readouterr().out == "0.1 18446744073709551615 (0.1+0.2j) -5\n"


def test_print_named_tuple(capfd):
    @njit
    def f(p):
        print(p)

    f(Point(1, 2.5))
    assert capfd.readouterr().out == "Point(x=1, y=2.5)\n"


def test_print_bad():
    rejects("print(a)", np.ones(2, [("x", "f8")]), match="print\\(\\) of array")
    rejects("print(a, file=b)", 1, 2, match="print\\(\\) to a file")
    rejects("print(a, sep=b)", 1, 2, match="sep must be a constant string")


@given(x=f32s)
def test_float32_survives(x):
    close(run("a", x), x)


# --- floats to integers ---

TO_INT = ["int(a)", "round(a)", "math.floor(a)", "math.ceil(a)", "math.trunc(a)"]
EDGES = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e15, 2.0**52 + 0.5, 2.0**62, -(2.0**62), -(2.0**63)]
EDGES.append(math.nextafter(2.0**63, 0))


@pytest.mark.parametrize("expr", TO_INT)
@given(x=st.one_of(st.sampled_from(EDGES), st.floats(-1e18, 1e18)))
def test_floats_to_integers(expr, x):
    assert run(expr, x) == plain(expr, x)
    small = np.float32(x)
    if abs(small) < 2.0**63:
        assert run(expr, small) == plain(expr, float(small))


@pytest.mark.parametrize("expr", TO_INT)
@pytest.mark.parametrize("kind", [float, np.float32])
def test_floats_that_are_no_integers(expr, kind):
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        run(expr, kind(math.nan))
    for x in (math.inf, -math.inf, 2.0**63, np.nextafter(-(2.0**63), -math.inf), 1e30):
        if x == np.nextafter(-(2.0**63), -math.inf) and kind is np.float32:
            continue
        with pytest.raises(OverflowError, match="cannot convert float .* to a 64-bit integer"):
            run(expr, kind(x))
    assert run(expr, kind(-(2.0**63))) == -(2**63)
    for x in (math.nan, math.inf, 1e30):
        assert run(expr, kind(x), error_model="numpy") == -(2**63)


def test_casts_stay_numpys():
    for x in (math.nan, math.inf, 1e30):
        assert run("np.int64(a)", x) == -(2**63)
        assert run("a.astype(np.int64)", np.array([x]))[0] == -(2**63)


@pytest.mark.parametrize("expr", ["a ** b", "pow(a, b)"])
def test_zero_to_a_negative_power(expr):
    """NumPy's values, so that loops over powers vectorise."""
    for a, b in ((0.0, -1.0), (0.0, -0.5), (0.0, -2), (np.float32(0), -1.0), (0, -1.0), (0.0, -math.inf)):
        assert run(expr, a, b) == math.inf
    assert run(expr, -0.0, -1.0) == -math.inf
    assert math.isnan(run(expr, 0j, -1.0).real)
    with pytest.raises(ZeroDivisionError) as python:
        0**-1
    with pytest.raises(ZeroDivisionError, match=f"^{python.value}$"):
        run("a ** -1", 0)


SINGLE, DOUBLE = np.float32(0.1), np.float64(0.1)


def test_float32_is_written_alike_everywhere(capfd):
    """With the digits that it needs: by print, str and f-strings, in exceptions and assertions, frozen or not."""

    @njit
    def f(x, c):
        print(x, c, SINGLE, DOUBLE)
        print(f"{x} {c} {SINGLE} {DOUBLE}")
        print(str(x), str(c), str(SINGLE), str(DOUBLE))
        raise ValueError(f"{x} {c} {SINGLE} {DOUBLE}")

    @njit
    def g(x):
        raise AssertionError(str(x))

    @njit
    def h(x, c):
        raise ValueError(x, c, SINGLE)

    for x, text in [
        (0.1, "0.1"),
        (3, "3.0"),
        (123456789, "123456790.0"),
        (1e16, "1e+16"),
        (1e-5, "1e-05"),
        (-0.0, "-0.0"),
        (np.inf, "inf"),
        (1e-45, "1e-45"),
    ]:
        line = f"{text} ({text.removesuffix('.0')}+0.1j) 0.1 0.1"
        with pytest.raises(ValueError) as e:
            f(np.float32(x), np.complex64(complex(x, 0.1)))
        assert e.value.args == (line,) and capfd.readouterr().out == 3 * f"{line}\n"
    with pytest.raises(AssertionError, match="^0.1$"):
        g(SINGLE)
    with pytest.raises(ValueError) as e:
        h(SINGLE, np.complex64(0.1))
    assert e.value.args == (float(SINGLE), complex(np.complex64(0.1)), float(SINGLE))
    assert all(type(a) in (float, complex) for a in e.value.args)


@pytest.mark.parametrize(
    "text, message",
    [
        ("(1, 2).index(a)", "the truth of array"),
        ("(1, 2).count(a)", "the truth of array"),
        ("a in (1, 2)", "the truth of array"),
        ("random.gauss(a, 1.0)", "gauss.. takes a real number, not array"),
        ("random.expovariate(a)", "expovariate.. takes a real number, not array"),
        ("random.triangular(0.0, 1.0, a)", "triangular.. takes a real number, not array"),
    ],
)
def test_an_array_where_one_number_belongs(text, message):
    f = eval(f"lambda a: {text}", {"random": random})
    for a in (np.zeros(2), np.zeros(1), np.zeros((2, 2))):
        with pytest.raises(TypingError, match=message):
            njit(f)(a)
