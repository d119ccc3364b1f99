"""Decorators with declared signatures and options."""

from __future__ import annotations

import math

import numpy as np
import pytest
import treadle
from treadle import float32, float64, int32, jit, njit, types, vectorize, void


def add(x, y):
    return (x + y) / 3.14


FORMS = [
    float64(int32, int32),
    "f8(i4, i4)",
    "float64(int32,\n        int32)",
    (int32, int32),
    "(i4, i4)",
    "i4, i4",
    "int32,\n int32,",
    [float64(int32, int32)],
    ["f8(i4, i4)"],
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_forms_of_one_signature(form):
    f = jit(form)(add)
    assert f.signatures == [(int32, int32)] and f.sealed
    assert f.overloads == {(int32, int32): float64}
    assert f(1, 3) == 4 / 3.14
    assert f(np.int8(1), True) == 2 / 3.14
    assert f.signatures == [(int32, int32)]


def test_tuples_in_the_text_of_a_signature():
    f = njit("Tuple((f4, i8))(UniTuple(f8, 3), Tuple(()))")(lambda x, y: (x[0] + x[2], len(x) + len(y)))
    assert f((1.5, 2.0, 3.0), ()) == (4.5, 3)
    assert f.signatures == [(types.UniTuple(float64, 3), types.Tuple(()))]
    for text in (
        "Tuple(f4)(f8)",
        "UniTuple(f8)(f8)",
        "UniTuple(f8, -1)(f8)",
        "UniTuple(f8, x)(f8)",
        "Tuple((f8)",
        "UniTuple(f8, 3",
        "f8, x9",
        "f8,,",
    ):
        with pytest.raises(TypeError, match="at position"):
            njit(text)(lambda x: x)


def test_declared_code_is_compiled_at_once():
    before = treadle.stats()["compiled"]
    f = njit("i8(i8)")(lambda x: x + 1)
    assert treadle.stats()["compiled"] == before + 1
    assert f(1) == 2
    assert treadle.stats()["compiled"] == before + 1


def test_no_other_types_are_accepted():
    f = jit(["f8(i4, i4)", "f8(f8, f8)"])(add)
    assert f(1.5, 3) == 4.5 / 3.14
    with pytest.raises(TypeError) as e:
        f(1j, 2)
    text = str(e.value)
    assert (
        "(complex128, int64)" in text
        and "float64(int32, int32)" in text
        and "float64(float64, float64)" in text
    )
    assert len(f.signatures) == 2


def test_the_nearest_signature_wins():
    def which(x):
        return x

    f = njit(["i1(i1)", "i8(i8)", "f4(f4)", "f8(f8)", "c16(c16)"])(which)
    assert type(f(1)) is int and f(2**40) == 2**40
    assert f(0.1) == 0.1 and f(np.float32(0.1)) == float(np.float32(0.1))
    assert f(np.int8(3)) == 3 and f(1 + 2j) == 1 + 2j
    g = njit(["f4(f4)", "f8(f8)"])(which)
    assert g(3) == 3.0 and g(True) == 1.0
    assert g(2**53 + 0) == float(2**53)  # an int has a nearer home in float64


def test_scalars_convert_as_by_assignment():
    f = njit("f8(f8)")(lambda x: x)
    for x in (True, 3, np.int8(3), np.uint64(2**63), np.float32(0.5), np.bool_(True), 2**70):
        assert f(x) == float(x)
    g = njit("c16(c16)")(lambda x: x)
    assert g(3) == 3 and g(np.complex64(1j)) == 1j
    h = njit("i4(i4)")(lambda x: x)
    assert h(True) == 1 and h(np.int64(-(2**31))) == -(2**31)
    for bad in (1.0, np.float32(1), 1j, "1", None):
        with pytest.raises(TypeError):
            h(bad)
    b = njit("b1(b1)")(lambda x: x)
    assert b(True) is True and b(np.bool_(False)) is False
    with pytest.raises(TypeError):
        b(1)


@pytest.mark.parametrize(
    "name, bits, signed", [("i1", 8, True), ("u1", 8, False), ("i4", 32, True), ("u8", 64, False)]
)
def test_conversions_are_range_checked(name, bits, signed):
    f = njit(f"{name}({name})")(lambda x: x)
    lo, hi = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    assert f(lo) == lo and f(hi) == hi
    for bad in (lo - 1, hi + 1, 10**40, -(10**40)):
        with pytest.raises(OverflowError, match="'x'"):
            f(bad)
    if name == "u1":
        with pytest.raises(OverflowError):
            f(np.int64(256))


def test_arrays_must_match():
    total = njit("f8(f8[:, ::1])")(lambda a: a[0, 0])
    a = np.ones((3, 3))
    assert total(a) == 1.0
    for bad in (a.astype("f4"), a[0], a.T[:, :2], np.asfortranarray(np.ones((3, 2))), 1.0, None):
        with pytest.raises(TypeError, match="has no signature"):
            total(bad)
    anything = njit("f8(f8[:, :])")(lambda a: a[0, 1])
    b = np.arange(12.0).reshape(3, 4)
    assert anything(b) == 1 and anything(b.T) == 4 and anything(b[::2, ::2]) == 2
    fortran = njit("f8(f8[::1, :])")(lambda a: a[0, 1])
    assert fortran(b.T) == 4
    with pytest.raises(TypeError):
        fortran(b)


def test_an_array_that_is_both_c_and_fortran():
    fortran = njit("i8(i8[::1, :])")(lambda a: a[0, 0])
    c = njit("i8(i8[:, ::1])")(lambda a: a[0, 0])
    both = np.full((1, 4), 7)
    assert both.flags.c_contiguous and both.flags.f_contiguous
    assert fortran(both) == 7 and c(both) == 7
    with pytest.raises(TypeError):
        fortran(np.zeros((2, 4), np.int64))


def test_readonly_arrays_and_declared_types():
    store = njit("void(f8[:])")(_store)
    a = np.zeros(3)
    assert store(a) is None and a[0] == 1
    a.flags.writeable = False
    with pytest.raises(TypeError, match="readonly|has no signature"):
        store(a)
    read = njit(float64(treadle.types.Array(float64, 1, "A", readonly=True)))(_first)
    assert read(a) == 1 and read(np.ones(2)) == 1


def _store(a):
    a[0] = 1


def _first(a):
    return a[0]


def test_the_result_converts_to_the_declared_type():
    assert type(njit("f8(i8)")(lambda x: x + 1)(1)) is float
    assert njit("i4(f8)")(lambda x: x)(2.7) == 2
    assert njit("f4(f8)")(lambda x: x)(0.1) == float(np.float32(0.1))
    assert njit(void(float64[:]))(_store)(np.zeros(1)) is None


def test_signature_must_fit_the_function():
    with pytest.raises(TypeError, match="2 parameters.*1 argument"):
        njit("f8(f8)")(add)
    with pytest.raises(TypeError):
        njit("f8(f8, f8")(add)
    with pytest.raises(ValueError, match="empty"):
        njit([])(add)
    with pytest.raises(treadle.TypingError):
        njit("f8(f8[:], f8)")(lambda a, b: a.nothing)


def test_compile_and_disable_compile():
    f = njit(add)
    f.compile("(f8, f8)")
    assert f.signatures == [(float64, float64)]
    before = treadle.stats()["compiled"]
    f.compile((float64, float64))
    assert f(1.0, 2.0) == 3 / 3.14
    assert treadle.stats()["compiled"] == before
    f(1, 2)
    assert len(f.signatures) == 2
    f.disable_compile()
    with pytest.raises(TypeError):
        f(1j, 2j)


@pytest.mark.parametrize("deco", [jit, njit])
def test_bare_and_called(deco):
    for f in (deco(add), deco()(add), deco(nopython=True)(add)):
        assert f(1.0, 2.0) == 3.0 / 3.14


OPTIONS = [
    {"nopython": True},
    {"nogil": True},
    {"nogil": False},
    {"fastmath": True},
    {"fastmath": {"nnan", "reassoc"}},
    {"fastmath": {"ninf", "nsz", "arcp", "afn"}},
    {"fastmath": ["fast"]},
    {"fastmath": "contract"},
    {"boundscheck": True},
    {"boundscheck": False},
    {"boundscheck": None},
    {"error_model": "python"},
    {"error_model": "numpy"},
    {"inline": "always"},
    {"inline": "never"},
    {"debug": True},
    {"promotion": "numba"},
    {"promotion": "treadle"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_options(options):
    f = njit(**options)(add)
    assert f(1.0, 2.0) == pytest.approx(3.0 / 3.14)
    assert f.options == options
    assert njit("f8(f8, f8)", **options)(add)(1.0, 2.0) == pytest.approx(3.0 / 3.14)


def test_a_declared_function_that_calls_itself():
    scope = {"njit": njit}
    exec('@njit("i8(i8)")\ndef fact(n):\n    return n * fact(n - 1) if n > 1 else 1\n', scope)
    assert scope["fact"](10) == math.factorial(10)
    exec(
        '@njit("i8(i8)", locals={"m": "i4"})\ndef down(n):\n    m = n\n    return down(m - 1) if n > 0 else m\n',
        scope,
    )
    assert scope["down"](5) == 0
    exec('@njit("i8(i8)")\ndef f(n):\n    return other(n)\n', scope)
    with pytest.raises(treadle.TypingError, match="name 'other' is not defined"):
        scope["f"](1)


def test_locals():
    @njit(locals={"r": float32, "i": "u2", "a": types.float32[::1]})
    def f(a, n):
        r = 0.0
        for i in range(n):
            r += a[i] * 0.1
        return r, i

    a = np.arange(1000.0)
    want = np.float32(0)
    for x in a:
        want = np.float32(want + x * 0.1)
    assert f(a, 1000) == (want, 999)
    assert [str(t) for t in next(iter(f.overloads.values())).types] == ["float32", "uint16"]

    @njit(locals={"x": "i1", "y": np.float32, "unknown": "i8"})
    def g(x, y=0.1):
        x, z = x + 3, x
        return x, z, y

    assert g(126) == (-127, 126, np.float32(0.1)) and g(300)[:2] == (47, 44) and g(1.7)[:2] == (4, 1)
    assert njit(lambda v: g(v))(126) == g(126)
    assert g.py_func(126, 1) == (129, 126, 1)

    @njit(locals={"t": float32})
    def captured(x):
        t = x

        def inner():
            return t

        return inner()

    assert captured(0.1) == np.float32(0.1)

    @vectorize(locals={"t": float32})
    def third(x):
        t = x / 3
        return t * 1.0

    assert third(1.0) == np.float32(1 / 3) and njit(lambda x: third(x))(1.0) == third(1.0)
    assert np.array_equal(third(np.ones(3)), np.full(3, np.float32(1 / 3)))

    @njit(locals={"t": float32})
    def bad(x):
        t = (x, x)
        return t

    with pytest.raises(treadle.TypingError, match="cannot convert"):
        bad(1)


def test_locals_are_part_of_the_key(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path))

    def f(x):
        t = x
        return t

    for kind, want in ((float32, np.float32(0.1)), (float64, 0.1), (float32, np.float32(0.1))):
        assert njit(cache=True, locals={"t": kind})(f)(0.1) == want
    assert njit(cache=True)(f)(0.1) == 0.1


@pytest.mark.parametrize(
    "options, error, text",
    [
        (
            {"nopyhton": True},
            TypeError,
            r"unknown option 'nopyhton'; did you mean 'nopython'\? There are nopython, nogil",
        ),
        ({"parallel": 2}, TypeError, "parallel must be True or False"),
        ({"forceobj": True}, TypeError, "no object mode"),
        ({"looplift": True}, TypeError, "no object mode"),
        ({"locals": 3}, TypeError, "dict of types by variable"),
        ({"locals": {3: "f8"}}, TypeError, "dict of types by variable"),
        ({"locals": {"x": "f9"}}, TypeError, "unknown type 'f9'"),
        ({"target": "cuda"}, TypeError, "compiles for the CPU"),
        ({"nopython": False}, ValueError, "no object mode"),
        ({"nogil": 1}, TypeError, "nogil must be True or False"),
        ({"fastmath": {"fats"}}, ValueError, "no flag 'fats'"),
        ({"fastmath": 3}, TypeError, "fastmath must be"),
        ({"boundscheck": "yes"}, TypeError, "boundscheck must be"),
        ({"error_model": "c"}, ValueError, "'python' or 'numpy'"),
        ({"inline": "maybe"}, ValueError, "'never' or 'always'"),
        ({"promotion": "numpy"}, ValueError, "'treadle' or 'numba'"),
        ({"cache": "yes"}, TypeError, "cache must be"),
        ({"debug": None}, TypeError, "debug must be"),
    ],
    ids=str,
)
def test_bad_options(options, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(")):
        njit(**options)


@pytest.mark.parametrize(
    "thing, text",
    [
        (3, "jit takes a function"),
        (float64, "jit takes a function"),
        (math.sin, "builtin_function_or_method"),
        (int, "is a class"),
        (staticmethod(add), "below @staticmethod"),
        ({}, "jit takes a function"),
    ],
    ids=["int", "type", "builtin", "class", "staticmethod", "dict"],
)
def test_what_jit_does_not_take(thing, text):
    with pytest.raises(TypeError, match=text):
        jit(thing)


def test_a_compiled_function_is_not_decorated_again():
    with pytest.raises(TypeError, match="py_func"):
        njit(njit(add))


def test_tuples_of_too_many_items():
    """As many as arguments may have: the code for a million took hours."""
    nested = types.UniTuple(types.UniTuple(types.f8, 1000), 1000)
    for sig in ["i8(UniTuple(UniTuple(f8, 1000), 1000))", (nested,), types.f8(nested), nested(types.i8)]:
        with pytest.raises(TypeError, match="more than 4096 items"):
            njit(sig)(lambda t: 7)
    with pytest.raises(
        TypeError, match="'i8.UniTuple.f8, 5000..': a tuple of more than 4096 items at position 17"
    ):
        njit("i8(UniTuple(f8, 5000))")(lambda t: 7)
    f = njit("f8(UniTuple(f8, 4096))")(lambda t: t[0] + t[-1])
    assert f(tuple(range(4096))) == 4095.0


def test_keyword_only_star_and_starstar():
    @njit
    def f(a, /, b, *args, c=3, d):
        return a + b + c + d + len(args)

    assert f(1, 2, d=4) == 10
    assert f(1, b=2, d=4, c=0) == 7
    assert f(1, 2, 3.0, 4, d=4) == 12
    with pytest.raises(TypeError, match="positional-only"):
        f(a=1, b=2, d=3)
    with pytest.raises(TypeError, match="keyword-only argument: 'd'"):
        f(1, 2)
    assert njit(lambda **kw: len(kw))(x=1, y=2) == 2
