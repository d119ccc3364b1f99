"""Literals beside narrow and unsigned integers: the value is Python's, or NumPy's exception is raised, and never a number that wrapped."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import TreadleError, TypingError, njit, vectorize

INTS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
EDGES = sorted({s * 2**k + d for k in (0, 7, 8, 15, 16, 31, 32, 62) for s in (1, -1) for d in (-1, 0, 1)})
SETTINGS = settings(max_examples=examples(150), deadline=None)


def compiled(text):
    names = {"np": np, "math": math}
    return njit(eval(text, names))


@given(dtype=st.sampled_from(INTS), data=st.data(), low=st.sampled_from(EDGES), high=st.sampled_from(EDGES))
@SETTINGS
def test_min_and_max(dtype, data, low, high):
    info = np.iinfo(dtype)
    x = data.draw(
        st.one_of(st.sampled_from([info.min, info.max, 0, 1]), st.integers(int(info.min), int(info.max)))
    )
    x = min(int(x), 2**63 - 1)  # beyond it an int64 cannot follow
    text = f"lambda a: (min(a[0], {low}), max({high}, a[0]), max({low}, min({high}, a[0])), min((a[0], {low}, {high})))"
    f = compiled(text)
    assert f(np.array([x], dtype)) == f.py_func([x])


@given(x=st.integers(0, 2**64 - 1), y=st.integers(-(2**63), 2**63 - 1))
@SETTINGS
def test_int64_beside_uint64(x, y):
    f = njit(lambda a, b: (min(a[0], b[0]), max(b[0], a[0])))
    low, high = f(np.array([x], "u8"), np.array([y]))
    wrapped = (max(x, y) + 2**63) % 2**64 - 2**63
    assert (low, high) == (min(x, y), wrapped)


def test_literals_beyond_int64():
    a, u = np.array([3, 7], "i1"), np.array([2**64 - 2, 7], "u8")
    assert compiled("lambda a: min(2**63, a[0])")(a) == 3
    assert compiled("lambda a: (min(a[0], 2**63), max(a[0], 2**63))")(u) == (2**63, 2**64 - 2)
    assert compiled("lambda a: (max(a[1], -5, 128), min(a[0], -5, 128), min(a[0], 300, 2**63))")(u) == (
        128,
        -5,
        300,
    )
    assert compiled("lambda a: max(2**63, -1, 5)")(a) == 2**63  # of literals alone it is one
    for text in ("max(2**63 + 5, a[0], 4)", "max(-5, a[0], 2**63 + 5, 4)"):
        with pytest.raises(TypingError, match=r"max\(\): 92233720368547758\d\d does not fit int64"):
            compiled("lambda a: " + text)(a)


def test_types_of_min_and_max():
    f = vectorize(lambda x: max(0, min(127, x)))
    assert [f(np.ones(2, t)).dtype for t in INTS] == [np.dtype(t) for t in INTS]
    g = vectorize(lambda x: max(-1000, min(1000, x)))
    assert [g(np.ones(2, t)).dtype.str[1:] for t in INTS] == ["i8", "i2", "i4", "i8", "i8", "i8", "i8", "i8"]
    assert g(np.array([100, 7], "u4")).tolist() == [100, 7] and g(np.array([-128, 127], "i1")).tolist() == [
        -128,
        127,
    ]


@pytest.mark.parametrize(
    "text", ["int(a[0])", "round(a[0])", "math.floor(a[0])", "math.ceil(a[0])", "math.trunc(a[0])"]
)
def test_int_of_unsigned(text):
    f = compiled(f"lambda a: ({text} - int(a[1]), -{text}, abs({text} - 7), {text} - 9)")
    for dtype in INTS:
        a = np.array([5, 7], dtype)
        assert f(a) == (-2, -5, 2, -4)
    g = compiled(f"lambda a: {text}")
    assert g(np.array([2**63 - 1], "u8")) == 2**63 - 1
    with pytest.raises(OverflowError, match="uint64 9223372036854775808 does not fit int64"):
        g(np.array([2**63], "u8"))


def test_an_index_from_a_hash():
    f = njit(lambda a, x, n: a[int(x[0] % np.uint64(n)) - 1])
    assert f(np.arange(5.0), np.array([10], "u8"), 5) == 4.0


ARRAYS = [
    "np.array([a[0], 300])",
    "np.array([a[0], -1])",
    "np.array([[a[0], 1000], [1, 2]])",
    "np.array((a[0], 1.5))",
    "np.asarray([a[0], True])",
    "np.array([a[0], a[1]])",
    "np.diff(np.array([a[0], 1000]))",
    "np.dot(a, 200)",
    "np.dot(300, a)",
    "a.dot(2.5)",
    "np.inner(a, 200)",
    "np.full(2, 100, dtype=np.int8)",
    "np.full_like(a, 100)",
]


@pytest.mark.parametrize("text", ARRAYS)
@pytest.mark.parametrize("dtype", [*INTS, "f4", "f8"])
def test_arrays_are_numpys(text, dtype):
    f = compiled("lambda a: " + text)
    a = np.array([7, 8], dtype)
    want, got = f.py_func(a), f(a)
    if dtype == "u8" and want.dtype == "f8" and "array(" in text and "1.5" not in text:
        want = want.astype("i8" if "-" in text else "u8")  # no floats of integers alone
    assert (got.dtype, got.tolist()) == (want.dtype, want.tolist())


@pytest.mark.parametrize(
    "text",
    [
        "a.min(initial=1000)",
        "a.max(initial=-1000)",
        "np.minimum.reduce(a, initial=1000)",
        "np.full(3, 300, dtype=np.int8)",
        "np.full(3, -1, dtype=np.uint8)",
        "np.full_like(a, 300)",
        "np.array([300, 1], dtype=np.int8)",
        "np.array([[1], [-129]], dtype=np.int8)",
        "np.full(2, 2**64 - 1, dtype=np.uint8)",
        "np.array([2**63 + 1, a[0]], dtype=np.int8)",
        "a.max(initial=2**64 - 1)",
    ],
)
def test_what_does_not_fit_raises(text):
    f, a = compiled("lambda a: " + text), np.array([1, 2], "i1")
    with pytest.raises(OverflowError, match="out of bounds for u?int8"):
        f(a)
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(OverflowError):
            f.py_func(a)


def test_numba_wraps():
    f = njit(lambda: np.full(2, -1, dtype=np.uint8), promotion="numba")
    assert f().tolist() == [255, 255]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "x * 2**64",
            "x / 2**64",
            "x * 2**70",
            "x / 2**65",
            "x * 10**23",
            "x * 10**40",
            "x / 7**100",
            "x + (-3)**41",
        ),
        *("x < 10**20", "x > -10**20", "x != 2**100", "1 / 2**80 * x", "float(10**30) + x", "2**-70 * x"),
    ],
)
def test_large_powers_beside_floats(text):
    f = compiled("lambda x: " + text)
    assert f(1.5) == f.py_func(1.5)


def test_large_powers_beside_integers():
    for text in ("2**70 + x", "x % 2**64", "x * (2**40)**3"):
        with pytest.raises(TypingError, match="unsupported operand types"):
            compiled("lambda x: " + text)(3)
    assert compiled("lambda x: x * 3**38")(2) == 2 * 3**38


def test_running_sums_keep_the_sign_of_zero():
    for axis in (0, 1):
        for dtype in ("f4", "f8"):
            a = np.array([[-0.0, -0.0, 1.0], [-0.0, 0.0, -0.0]], dtype)
            got = njit(lambda a: np.cumsum(a, axis=0) if axis == 0 else np.cumsum(a, axis=1))(a)
            assert got.tobytes() == np.cumsum(a, axis=axis).tobytes()


# --- literals beside each other: exact, of any size ---

BIG = 2**64
WHOLE = st.one_of(
    st.integers(-5, 5),
    st.sampled_from(
        [s * 2**k + d for k in (31, 62, 63, 64, 65, 127, 128, 200) for s in (1, -1) for d in (-1, 0, 1)]
    ),
    st.integers(-(2**300), 2**300),
)
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
SMALL = {"**": st.integers(0, 12), "<<": st.integers(0, 300), ">>": st.integers(0, 700)}
COMPARISONS = ["<", "<=", "==", "!=", ">", ">="]


@st.composite
def expressions(draw):
    """An expression of names, which CPython does not fold, and their values."""
    names = {"a0": draw(WHOLE)}
    text = "a0"
    for i in range(1, draw(st.integers(1, 6))):
        name, op = f"a{i}", draw(st.sampled_from([*OPERATORS, *SMALL, "neg", "not"]))
        names[name] = draw(SMALL[op]) if op in SMALL else draw(WHOLE)
        text = f"-{text}" if op == "neg" else f"~{text}" if op == "not" else f"{text} {op} {name}"
        text = f"({text})"
    return text, names


def cpython(text, names):
    """CPython's value, None where it raises, or where the numbers get longer than is kept."""
    try:
        value = eval(text, dict(names))
    except ZeroDivisionError:
        return None
    return value if abs(value) < 2**10_000 else None


@given(expressions())
@settings(max_examples=examples(400), deadline=None)
def test_literals_are_exact(expression):
    text, names = expression
    want = cpython(text, names)
    if want is None:
        return
    f = njit(eval(f"lambda: {text}", dict(names)))
    if -(2**63) <= want < 2**64:
        assert (f(), type(f())) == (want, int)
        return
    with pytest.raises(TypingError, match="integers have 64 bits in compiled code"):
        f()
    shifted = njit(eval(f"lambda: ({text}) % 1000003", dict(names)))
    assert shifted() == want % 1000003
    g = njit(eval(f"lambda x: x * ({text})", dict(names)))
    if abs(want) < 2**1000:
        assert g(0.5) == 0.5 * want


@given(x=WHOLE, y=WHOLE, op=st.sampled_from(COMPARISONS))
@SETTINGS
def test_comparisons_of_literals(x, y, op):
    assert njit(eval(f"lambda: x {op} y", {"x": x, "y": y}))() is eval(f"x {op} y")


@given(x=WHOLE, y=WHOLE.filter(bool))
@SETTINGS
def test_quotients_of_literals_are_rounded_once(x, y):
    assert njit(eval("lambda: x / y", {"x": x, "y": y}))() == x / y


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("2**64 - 1", 2**64 - 1),
        ("BIG - 1", 2**64 - 1),
        ("1 << n", 2**63),
        ("(2**200) >> 190", 2**10),
        ("-(2**63)", -(2**63)),
        ("~(-(2**63) - 1)", 2**63),
        ("BIG // 3 + BIG % 7", 2**64 // 3 + 2**64 % 7),
        ("divmod(BIG, 10**9)", divmod(2**64, 10**9)),
        ("int(BIG) >> 2", 2**62),
        ("BIG * 3 == 3 * BIG and BIG > BIG - 1", True),
        ("+BIG - 5", 2**64 - 5),
        ("5 if BIG else 6", 5),
        ("2**-2 + BIG * 0", 0.25),
        ("1 / 10**400", 0.0),
        ("10**400 / 10**399", 10.0),
        ("len(f'{BIG * BIG}')", 39),
        ("str(-BIG) == '-18446744073709551616'", True),
    ],
)
def test_literals_in_between_may_have_any_size(text, want):
    names = {"BIG": BIG, "n": 63}
    assert eval(text, dict(names)) == want
    for options in ({}, {"inline": "never"}, {"parallel": True}):
        f = njit(eval("lambda: " + text, dict(names)), **options)
        assert (f(), type(f())) == (want, type(want))
        assert njit(lambda: f())() == want  # noqa: B023


def test_locals_and_branches():
    @njit
    def f(x):
        big = 2**100
        small = big >> 98
        if x:
            k = big // 2**40
        else:
            k = big // 2**41
        return small, k

    assert (f(1), f(0)) == ((4, 2**60), (4, 2**59))


MESSAGES = [
    ("BIG * BIG", TypingError, "the function returns 340282366920938463463374607431768211456, which"),
    ("(1, -BIG)", TypingError, "help: integers have 64 bits in compiled code"),
    ("x + BIG", TypingError, r"unsupported operand types for \+: int64 and 18446744073709551616"),
    ("x + BIG", TypingError, "help: integers have 64 bits in compiled code"),
    ("7 ** 10**9", TypingError, r"the result of 7 \*\* 1000000000 has more than 65536 bits"),
    ("1 << BIG", TypingError, "the result of 1 << 18446744073709551616 has more than 65536 bits"),
    ("LONG + 1", TypingError, "an integer of more than 65,536 bits"),
    ("x * 10**100", TypingError, r"int64 and 10000000000000000000\.\.\.00000000000000000000"),
    ("(5).bit_len()", TypingError, "int has no attribute 'bit_len'"),
    ("(2**63).real_", TypingError, "int has no attribute 'real_'"),
    ("2.5 .hex()", TypingError, "float has no attribute 'hex'"),
    ("2**63 + 'a'", TypingError, r"for \+: 9223372036854775808 and str"),
]


@pytest.mark.parametrize(("text", "error", "match"), MESSAGES)
def test_what_64_bits_do_not_hold(text, error, match):
    f = njit(eval("lambda x: " + text, {"BIG": BIG, "LONG": 1 << 70_000}))
    with pytest.raises(error, match=match):
        f(3)


def test_an_error_names_the_line():
    def f(x):
        y = 2**62
        z = y * 4
        return x + z

    with pytest.raises(TypingError) as info:
        njit(f)(1)
    assert f"{f.__code__.co_firstlineno + 3}:" in str(info.value)


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**63) - 1, 10**30])
def test_a_literal_that_a_signature_does_not_hold(value):
    @njit("int64(int64)")
    def f(x):
        return x

    g = njit(eval("lambda: f(value)", {"f": f, "value": value}))
    with pytest.raises(OverflowError) as of_python:
        f(value)
    with pytest.raises(OverflowError) as of_compiled:
        g()
    assert str(of_compiled.value) == str(of_python.value)
    assert f"Python int {value} does not fit int64" in str(of_compiled.value)
    h = njit("float64(float64)")(lambda x: x)
    assert njit(eval("lambda: h(value)", {"h": h, "value": value}))() == float(value) == h(value)


def test_a_numpy_scalar_that_a_signature_does_not_hold():
    f = njit("int64(int64)")(lambda x: x)
    u = np.uint64(2**63)
    with pytest.raises(OverflowError, match=r"numpy\.uint64 9223372036854775808 does not fit int64"):
        njit(lambda: f(u))()


def test_text_of_long_literals(capfd):
    def f():
        print(BIG * BIG, (BIG, -1), 2**63, True)
        raise ValueError(f"{-BIG}")

    with pytest.raises(ValueError, match="^-18446744073709551616$"):
        njit(f)()
    assert capfd.readouterr().out == f"{2**128} ({2**64}, -1) {2**63} True\n"


def test_numbers_that_begin_alike_are_different():
    f = [njit(eval("lambda: K % 1000", {"K": 10**80 + d})) for d in (1, 2)]
    assert [g() for g in f] == [1, 2]


def test_numba_wraps_where_python_does_not():
    a, b, n = 2**62, 2**63 - 1, 41
    f = njit(lambda: (a * 4, b + 1, -(-b - 1), 3**n), promotion="numba")
    assert f() == (0, -(2**63), -(2**63), (3**41 + 2**63) % 2**64 - 2**63)
    assert njit(lambda: BIG - 1, promotion="numba")() == 2**64 - 1


@pytest.mark.parametrize("low", [-(2**63) - 1, -(2**70)])
def test_a_bound_that_nothing_passes(low):
    a = np.array([3, -7], "i4")
    f = njit(eval("lambda a: np.clip(a, low, 2**70)", {"np": np, "low": low}))
    assert f(a).tolist() == [3, -7] and f(a).dtype == a.dtype


OF_LITERALS = [
    "max(2, 10) << 100", "min([2, 10]) << 100", "max((2, 10, -3)) * 2**63", "max(True, False) << 70", "min(-2**63, 0) - 1",
    "max(3, 5) ** 40", "max(2**70, 1)", "min(2**70, 3) << 100", "abs(-3) << 100", "abs(-2**63)", "abs(-2**70)", "abs(True) << 90",
    "pow(3, 50, 7) << 70", "pow(7, 2**70, 2**61 - 1)", "pow(5, 3, -7) << 70", "round(7, 0) << 100", "round(12345, -2) << 90",
    "round(250, -2)", "round(350, -2)", "round(-251, -2)", "round(49, -2)", "round(2**70, -3)", "round(2.5) << 100", "round(3.5) << 64",
    "int(-2.5) << 100", "int(1e20)", "int(-1e300) % 1000003", "int(True) << 64", "math.floor(-2.5) << 70", "math.ceil(1e22)",
    "math.trunc(-1e25)", "math.floor(0.0) << 3", "math.gcd(12, -18) << 100", "math.gcd(2**70, 6) << 70", "math.gcd()", "math.gcd(0, 0)",
    "math.lcm(4, 6) << 100", "math.lcm(4, 0, 3)", "math.lcm(2**40, 3**30)", "math.factorial(25)", "math.comb(100, 50)",
    "math.comb(3, 5)", "math.comb(5, 0) << 64", "math.perm(30, 20)", "math.perm(22)", "math.isqrt(17) << 100", "math.isqrt(2**101)",
    "math.isqrt(0)", "(5).bit_length() << 100", "(2**50 - 1).bit_length()", "(255).bit_count() << 64", "(-5).real << 64", "(5).conjugate() << 64",
]  # fmt: skip


@pytest.mark.parametrize("text", OF_LITERALS)
def test_functions_of_literals_are_exact(text):
    """As numbers of 64 bits where they fit, and by what is left of them, and as floats, where they do not."""
    names = {"math": math}
    for shown in ("({}) % 1000000007", "({}) // 2**60 % 2**31", "float({})"):
        source = "lambda: " + shown.format(text)
        want = eval(source, dict(names))()
        got = njit(eval(source, dict(names)))()
        assert got == want and type(got) is type(want)


def test_functions_of_literals_are_literals():
    """They take the type of their partner, as NumPy's do."""
    a = np.ones(3, "f4")
    assert compiled("lambda a: a * max(2, 3)")(a).dtype == np.float32
    assert compiled("lambda a: a[0] * abs(-2)")(a) == 2 and compiled("lambda a: np.zeros(max(2, 3))")(
        a
    ).shape == (3,)
    assert njit(promotion="numba")(lambda: max(2, 10) << 60)() == np.int64(10) << 60
    with pytest.raises(ValueError, match="not defined for negative"):
        compiled("lambda: math.factorial(-1)")()
    with pytest.raises(ValueError):
        compiled("lambda: math.isqrt(-1)")()
    with pytest.raises(TypingError, match="iterable"):
        compiled("lambda: max(3)")()


def test_characters_and_their_numbers():
    def f(n):
        return (
            ord("G"),
            ord("é") + n,
            ord("€"),
            ord("😀"),
            chr(71) == "G",
            ord(chr(0x10FFFF)),
            chr(233) + "x" == "éx",
        )

    assert njit(f)(1) == f(1)

    @njit
    def count(codes, letter):
        return sum(1 for c in codes if c == ord(letter))

    assert count(np.frombuffer(b"GATTACA", np.uint8), "A") == 3


@pytest.mark.parametrize(
    "body, cls, says",
    [
        ("ord(n)", TreadleError, "string of length 1"),
        ("ord('ab')", TypeError, "string of length 2 found"),
        ("ord('')", TypeError, "string of length 0 found"),
        ("chr(-1)", ValueError, "0x110000"),
    ],
)
def test_what_is_no_character(body, cls, says):
    space: dict = {}
    exec(f"def f(n):\n    return {body}", space)
    with pytest.raises(cls, match=says):
        njit(space["f"])(1)
