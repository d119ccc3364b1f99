"""A function keeps its declared signatures whoever calls it. The oracle is the same function called plainly."""

from __future__ import annotations

import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from contracts_check import each_way, outcome, through_default, through_opposite  # noqa: E402

SCALARS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
VALUES = [0, 1, 3, 127, 128, 255, 256, 2**31, 2**53 + 1, 2**63 - 1, -1, -129]
Point = namedtuple("Point", "x y")


@pytest.mark.parametrize("to", SCALARS)
def test_scalars_convert_as_at_the_boundary(to):
    ty = np.dtype(to).name if to != "?" else "bool"

    @njit(f"{ty}({ty})")
    def same(x):
        return x

    called = through_default(same)
    for source in SCALARS:
        for value in VALUES:
            dtype = np.dtype(source)
            x = np.array(value & (2 ** (8 * dtype.itemsize) - 1) if dtype.kind == "u" else value)
            x = x.astype(dtype)[()]
            assert outcome(called, x) == outcome(same, x), (source, value)


def test_literals_and_defaults_convert_as_at_the_boundary():
    @njit("u1(u1, f4)")
    def f(a, b=3):
        return a + b

    @njit
    def good():
        return f(250), f(True, b=2), f(7, np.float32(0.5))

    @njit
    def bad():
        return f(300)

    assert outcome(good) == outcome(lambda: (f(250), f(True, b=2), f(7, np.float32(0.5))))
    with pytest.raises(OverflowError, match="argument 'a'.*300.*uint8"):
        bad()


def test_a_number_that_does_not_fit_is_told_as_at_the_boundary():
    @njit("i2(u1, i2)")
    def f(a, b):
        return b

    called = through_opposite(f)
    for args in [(300, 1), (-1, 1), (1, 40_000), (np.uint64(2**64 - 1), 1), (1, np.uint16(65_535))]:
        with pytest.raises(OverflowError) as plainly:
            f(*args)
        with pytest.raises(OverflowError) as compiled:
            called(*args)
        assert str(compiled.value) == str(plainly.value)


@each_way
def test_a_declared_sum_wraps(way):
    @njit("u1(u1, u1)")
    def add8(a, b):
        return a + b

    called = way(add8)
    for args in [
        (250, 10),
        (1, 2),
        (True, 3),
        (256, 1),
        (-1, 1),
        (1.0, 2),
        (1j, 1),
        (np.int8(3), np.uint64(9)),
    ]:
        assert outcome(called, *args) == outcome(add8, *args), args


ARRAYS = [
    np.arange(6.0),
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(12.0).reshape(4, 3)[::2],
    np.arange(12.0)[::2],
    np.arange(6),
    np.arange(6, dtype="f4"),
    np.zeros((0, 3)),
    np.zeros(()),
    np.float64(3),
    (1.0, 2.0),
]


def read_only(a):
    a = np.array(a)
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("sig", ["f8(f8[:])", "f8(f8[::1])", "f8(f8[:,:])", "f8(f8[:,::1])", "f8(f8[::1,:])"])
def test_arrays_match_as_at_the_boundary(sig):
    @njit(sig)
    def total(a):
        s = 0.0
        for x in a.flat:
            s += x
        return s

    called = through_opposite(total)
    for a in [*ARRAYS, read_only(np.arange(3.0)), read_only(np.ones((2, 2)))]:
        if "[::1,:]" in sig and getattr(a, "ndim", 0) == 2 and a.flags.c_contiguous:
            continue  # in the types of compiled code an array has one layout: C, where it is both
        assert outcome(called, a) == outcome(total, a), getattr(a, "flags", a)


def test_an_array_of_another_type_is_told_with_the_line_and_the_signatures():
    @njit(["f8(f8[:])", "f4(f4[:])"])
    def first(a):
        return a[0]

    @njit
    def caller(a):
        return first(a)

    with pytest.raises(treadle.TypingError) as e:
        caller(np.arange(3))
    text = str(e.value)
    assert "first() has no signature for arguments of types (array(int64, 1d, C))" in text
    assert "float64(array(float64, 1d, A)), float32(array(float32, 1d, A))" in text
    assert "return first(a)" in text and "test_contracts_signatures.py" in text


def test_a_global_array_is_read_only():
    table = np.arange(3.0)

    @njit("f8(f8[:])")
    def first(a):
        return a[0]

    @njit
    def caller():
        return first(table)

    with pytest.raises(treadle.TypingError, match="readonly array(.|\n)*pass it as an argument"):
        caller()


def test_a_signature_that_could_not_be_compiled_is_the_reason():
    from treadle import _numba  # what scripts written for Numba get: there it is no error at once

    @_numba.jit(["f8(f8)", "f8(f8[:])"])
    def f(x):
        return x

    @njit
    def caller(x):
        return f(x)

    assert caller(2) == 2.0
    with pytest.raises(
        treadle.TypingError, match="has float64\\(float64\\)(.|\n)*the signature declares float64"
    ):
        caller(np.ones(2))


@each_way
def test_tuples_convert_by_item(way):
    @njit("f8(Tuple((f8, u1)), i8)")
    def f(t, k):
        return t[0] * 10 + t[1] + k

    called = way(f)
    for args in [
        ((1, 2), 3),
        ((1.5, 255), True),
        ((1, 256), 3),
        ((1, 2.0), 3),
        ((1, 2, 3), 4),
        (Point(1, 2), 3),
    ]:
        assert outcome(called, *args) == outcome(f, *args), args


@pytest.mark.parametrize("order", [1, -1])
def test_the_signature_is_the_one_python_s_call_chooses(order):
    sigs = ["i1(i1)", "i8(i8)", "f4(f4)", "f8(f8)", "c16(c16)", "u4(u4)"][::order]

    @njit(sigs)
    def same(x):
        return x

    called = through_default(same)
    for dtype in SCALARS:
        x = np.ones((), dtype)[()]
        assert outcome(called, x) == outcome(same, x), dtype
    for x in [1, True, 1.5, 1j]:
        assert outcome(called, x) == outcome(same, x), x


def defined(source, name, **names):
    """A function of the source, in a namespace of its own: while its decorator runs, its name is bound to nothing yet."""
    names.update(njit=njit, np=np)
    exec(source, names)
    return names[name]


@pytest.mark.parametrize("sig", ["i8(i8)", "u1(u1)", "f8(f8)", ["i4(i4)", "f8(f8)"], ["f8(f8)", "i4(i4)"]])
def test_a_function_calls_itself_by_its_signature(sig):
    def python(n):
        return n if n < 2 else python(n - 1) + python(n - 2)

    fib = defined(
        "@njit(sig)\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n", "fib", sig=sig
    )
    for n in [0, 1, 15]:
        assert fib(n) == python(n) % (256 if sig == "u1(u1)" else 10**6)
    called = through_opposite(fib)
    for x in [12, 12.0, np.uint8(9), 3j]:
        assert outcome(called, x) == outcome(fib, x)


def test_a_self_call_converts():
    source = "def down(n):\n    return 0 if n == 0 else 1 + down(n - 1 + 256 * (n == 7))\n"
    down = defined(f"@njit('i8(u1)')\n{source}", "down")
    assert down(6) == 6
    with pytest.raises(OverflowError, match="262.*uint8"):  # 7 - 1 + 256
        down(7)


def test_a_self_call_takes_the_signature_that_fits():
    source = """
@njit(["f8(f8)", "i8(i8)"])
def halves(x):
    return 0 if x == 0 else 1 + halves(x // 2 if x > 4 else np.int64(0))
"""
    halves = defined(source, "halves")
    assert isinstance(halves(64), int) and halves(64) == 5 and halves(64.0) == 5.0
    assert isinstance(halves(64.0), float)


def test_mutual_recursion():
    source = """
@njit
def even(n):
    return True if n == 0 else odd(n - 1)
@njit(error_model="numpy")
def odd(n):
    return False if n == 0 else even(n - 1)
"""
    even = defined(source, "even")
    odd = even.py_func.__globals__["odd"]
    odd.compile("b1(u1)")
    odd.disable_compile()
    assert [even(n) for n in range(4)] == [True, False, True, False]
    assert [odd(n) for n in range(4)] == [False, True, False, True]
    for call in (even, through_default(odd)):
        with pytest.raises(OverflowError):
            call(300)


@each_way
def test_the_result_is_of_the_declared_type(way):
    @njit("f4(i8)")
    def f(x):
        return x / 3

    @njit("void(f8[:])")
    def store(a):
        a[0] = 5

    called = way(f)
    assert outcome(called, 10) == outcome(f, 10)
    a = np.zeros(2)
    assert way(store)(a) is None and a[0] == 5


def test_compile_alone_leaves_other_types_free():
    @njit
    def f(x):
        return x * 2

    f.compile("f8(i8)")
    called = through_default(f)
    for x in [3, 3.0, np.float32(3), np.int8(3)]:
        assert outcome(called, x) == outcome(f, x)
    assert isinstance(called(3), float)


def test_what_is_sealed_takes_what_was_compiled():
    @njit
    def f(x):
        return x * 2

    f(3), f(np.ones(2))
    f.disable_compile()
    called = through_default(f)
    for x in [3, True, np.int8(3), 2.5, 1j, np.ones(2), np.ones(2, "f4")]:
        assert outcome(called, x) == outcome(f, x), x


def test_declared_variables_and_signatures_together():
    @njit("f8(f8)", locals={"t": treadle.float32})
    def f(x):
        t = x
        return t

    called = through_opposite(f)
    for x in [0.1, 1, True]:
        assert outcome(called, x) == outcome(f, x) == outcome(lambda x=x: float(np.float32(x)))


def test_star_and_keyword_parameters():
    @njit("f8(f8, Tuple((f8, f4)))")
    def f(a, *rest):
        return a + rest[0] * rest[1]

    @njit
    def caller():
        return f(1, 2, True), f(1, *(2, 3))

    assert caller() == (3.0, 7.0) == (f(1, 2, True), f(1, *(2, 3)))


def test_none_is_told_at_run_time():
    @njit("f8(f8)")
    def f(x):
        return x

    @njit
    def caller(a):
        x = None
        if a > 0:
            x = a
        return f(x)

    assert caller(2) == 2.0
    with pytest.raises(TypeError):
        caller(-2)


def test_what_is_always_inlined_has_its_callers_types():
    """As in Numba, where it is part of its caller before types are known; from Python it keeps to its signatures."""

    @njit("float64(float64[:], int64)", inline="always")
    def item(a, k):
        return a[k]

    @njit
    def second(a):
        return item(a, 1)

    assert second(np.arange(3.0)) == 1.0 and isinstance(second(np.arange(3)), int)
    assert second(np.arange(3, dtype=np.float32)) == np.float32(1)
    with pytest.raises(TypeError, match="has no signature for arguments of types"):
        item(np.arange(3), 1)
