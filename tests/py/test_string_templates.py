"""Specifications made at run time, str.format() and `%`: what CPython writes and raises, to the letter."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from test_format_specs import COMPLEX, FLOATS, INTS, OF_COMPLEX, OF_FLOATS, OF_INTS, OF_STRINGS
from treadle import njit, prange
from treadle.errors import TypingError, UnsupportedError

NEW_TEXTS = sys.version_info >= (3, 15)  # which says all that is wrong with a `%` in other words


def outcome(f, *args):
    """What a call gives, or its exception's class and text."""
    try:
        return f(*args)
    except Exception as e:  # noqa: BLE001
        return type(e), str(e)


@njit
def by(x, spec):
    return f"<{x:{spec}}>"


@njit
def called(x, spec):
    return format(x, spec)


SPECS = [*dict.fromkeys(["", *OF_FLOATS, *OF_INTS, *OF_COMPLEX, *OF_STRINGS])]
WRONG = [
    "q",
    "5q",
    ".",
    ",_",
    "_,",
    ".2d",
    "zd",
    "99999999999999999999",
    "+s",
    "=5s",
    ",s",
    "_s",
    ",x",
    "5.2x",
    "{",
    "\udcff<5",
    "é",
    "a b",
]


@pytest.mark.parametrize(
    "values",
    [
        INTS,
        FLOATS,
        COMPLEX,
        (True, False),
        ("", "a", "äβ😀", "\ud800\0x"),
        (np.float32(0.1), np.float32(-2e30)),
        (np.uint64(2**64 - 1), np.uint64(3)),
    ],
    ids=["int", "float", "complex", "bool", "str", "float32", "uint64"],
)
def test_specifications(values):
    for spec in (*SPECS, *WRONG):
        for x in values:
            want = outcome(by.py_func, x, spec)
            got = outcome(by, x, spec)
            if got != want and got and got[0] is NotImplementedError:
                assert spec in ("é",), (x, spec, want)
                continue
            assert got == want, (x, spec)
            assert outcome(called, x, spec) == outcome(format, x, spec), (x, spec)


@given(
    st.text(st.sampled_from("<>=^+- z#0123,_.defgsxXbon%é{"), max_size=6),
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=5)),
)
@settings(max_examples=400, deadline=None)
def test_any_specification(spec, x):
    got = outcome(called, x, spec)
    if got and got[0] is NotImplementedError:  # what a constant specification cannot say either
        assert (
            "c" in spec
            or "n" in spec
            or "é" in spec
            or any(len(n) > 4 for n in spec.split("."))
            or "_" in spec
            or "," in spec
        )
        return
    assert got == outcome(format, x, spec)


def test_left_out():
    for spec in ("n", "c", "20000", "\0<5"):
        with pytest.raises(NotImplementedError, match="compiled code has no format specification"):
            called(5, spec)
    with pytest.raises(TypingError, match="unsupported format string passed to tuple.__format__"):
        called((1, 2), "5")
    with pytest.raises(UnsupportedError, match="a format specification made at run time for a value of"):
        made_for_array(np.arange(3), 5)


@njit
def made_for_array(a, w):
    return f"{a:{w}}"


@njit
def table(x, w, p):
    return f"{x:{w}.{p}f}|{x:>{w}}|{w:0{p + 1}d}"


@given(st.floats(), st.integers(0, 30), st.integers(0, 20))
@settings(max_examples=100, deadline=None)
def test_width_and_precision(x, w, p):
    assert table(x, w, p) == table.py_func(x, w, p)


@njit
def raised(x, w):
    raise ValueError(f"{x:{w}}!")


@njit
def printed(x, w):
    print(f"{x:>{w}}", "{:>{}}".format(x, w))


def test_where_no_string_is_needed(capfd):
    with pytest.raises(ValueError, match=r"^   1\.5!$"):
        raised(1.5, 6)
    printed(7, 3)
    assert capfd.readouterr().out == "  7   7\n"


# --- str.format() ---


def compiled(template: str, args: str, params: str = "a, b, c"):
    d: dict = {}
    exec(
        f"def f({params}):\n    return {template!r}.{args}\n"
        if args.startswith("format")
        else f"def f({params}):\n    return {template!r} % ({args})\n",
        d,
    )
    return njit(d["f"])


TEMPLATES = [
    ("{} {} {}", "format(a, b, c)"),
    ("{2} {0!r} {1:>8.3f}", "format(a, b, c)"),
    ("{{{}}} }}{{", "format(b)"),
    ("{x:>{w}}|{x!r:^{w}}|{}", "format(a, x=c, w=12)"),
    ("{:{}}{:<{}.{}f}", "format(a, 5, b, 12, 2)"),
    ("{0[1]} {0[0]:05d} {1.real:.2f}", "format((a, b), b)"),
    ("{k:{fill}>{w}}", "format(k=a, fill='*', w=10)"),
    ("", "format(a)"),
    ("nothing", "format()"),
    ("{:}", "format(c)"),
    ("{!s:>10}", "format(b)"),
    ("{a:}-{a}", "format(a=a)"),
    ("é{}😀{}", "format(c, c)"),
]


@pytest.mark.parametrize(("template", "args"), TEMPLATES)
def test_format(template, args):
    f = compiled(template, args)
    for a, b, c in ((1, 2.5, "x"), (-(2**63), math.inf, "äβ'"), (0, -0.0, "")):
        assert f(a, b, c) == f.py_func(a, b, c)


@pytest.mark.parametrize(
    "template",
    [
        "{",
        "}",
        "a{0",
        "{0}}",
        "{}{0}",
        "{0}{}",
        "{5}",
        "{!x}",
        "{!r5}",
        "{0[1}",
        "{0.}",
        "{:{:{}}}",
        "{a{b}}",
        "{q}",
        "{!}",
        "{:z}",
        "{:.2d}",
    ],
)
def test_wrong_templates(template):
    f = compiled(template, "format(a)")
    with pytest.raises(Exception) as want:  # noqa: PT011
        f.py_func(1, 2, 3)
    with pytest.raises(TypingError) as got:
        f(1, 2, 3)
    assert str(want.value).strip("'") in str(got.value)


# --- % ---


PERCENTS = [
    ("%d %5.2f %s", "(a, b, c)"),
    ("%5d|%-5d|%05d|%+d|% d|%+05d|%i|%u", "(a, a, a, a, a, a, a, a)"),
    ("%x|%X|%o|%#x|%#o|%#X|%08x|%-8x|", "(a, a, a, a, a, a, a, a)"),
    ("%e|%E|%f|%F|%g|%G", "(b, b, b, b, b, b)"),
    ("%10.3e|%-12.1f|%+.0f|% g|%012.4f|%#.0f|%.f|%5.f", "(b, b, b, b, b, b, b, b)"),
    ("%s|%r|%10s|%-10s|%.2s|%8.1s|%5r", "(c, c, c, c, c, c, c)"),
    ("%s %s %s", "(a, b, (a, b))"),
    ("%r", "(b,)"),
    ("%d%%", "a"),
    ("%s", "c"),
    ("%.3f", "b"),
    ("%f %g", "(a, a)"),
    ("%*d|%-*d|%0*d|%*.*f|%.*f|%*s", "(9, a, 9, a, 9, a, 12, 3, b, 2, b, -6, c)"),
    ("%ld %hd", "(a, a)"),
    ("é%s😀", "c"),
    ("plain", "()"),
    ("%c%c%5c|%-3c|", "(65, 'é', 0x1f600, 'x')"),
    ("%s", "a > 0"),
    ("%d", "True"),
    ("%(k)s %(j)5.1f %(k)r", "{'k': a, 'j': b}"),
]


@pytest.mark.parametrize(("template", "args"), PERCENTS)
def test_percent(template, args):
    f = compiled(template, args)
    for a, b, c in (
        (1, 2.5, "x"),
        (-12345, math.inf, "äβ'longer"),
        (0, -0.0, ""),
        (2**63 - 1, math.nan, "\ud800"),
        (-(2**63), 1e300, "ab"),
    ):
        assert f(a, b, c) == f.py_func(a, b, c)


@given(
    st.integers(-20, 20),
    st.integers(-5, 20),
    st.floats(),
    st.integers(-(2**63), 2**63 - 1),
    st.text(max_size=6),
)
@settings(max_examples=80, deadline=None)
def test_stars(w, p, x, i, s):
    assert stars(w, p, x, i, s) == stars.py_func(w, p, x, i, s)


@njit
def stars(w, p, x, i, s):
    return "%*.*f|%-*d|%0*d|%+.*e|%*.*s|%-*s|%0*x" % (w, p, x, w, i, w, i, p, x, w, p, s, w, s, w, i)


@njit
def whole(x):
    return "%d" % x


@njit
def char(x):
    return "%c" % x


def test_percent_raises():
    for f, *xs in ((whole, 1.9, -1.9, math.inf, -math.inf, math.nan), (char, 65, "é", 0x110000, "ab", "")):
        for x in xs:
            got, want = outcome(f, x), outcome(f.py_func, x)
            assert got == want or ((f is whole or NEW_TEXTS) and got[0] is want[0]), x
    with pytest.raises(OverflowError):
        whole(1e30)


@pytest.mark.parametrize(
    ("template", "args"),
    [
        ("%d", "c"),
        ("%x", "b"),
        ("%f", "c"),
        ("%d %d", "(a,)"),
        ("%d", "(a, a)"),
        ("none", "a"),
        ("%y", "a"),
        ("%", "a"),
        ("%(k", "a"),
        ("%(k)s", "a"),
        ("%*d", "(c, a)"),
        ("%d", "1j"),
    ],
)
def test_percent_wrong(template, args):
    f = compiled(template, args)
    want = outcome(f.py_func, 1, 2.5, "x")
    with pytest.raises(TypingError) as got:
        f(1, 2.5, "x")
    assert want[1] in str(got.value) or NEW_TEXTS


def test_percent_left_out():
    for template in ("%.3d", "%.2x"):
        with pytest.raises(UnsupportedError, match="precision of|'%a'|made at run time"):
            compiled(template, "a")(1, 2, 3)

    @njit
    def late(s, x):
        return (f"{x}" + s) % x

    @njit
    def late_format(s, x):
        return (f"{x}" + s).format(x)

    for f in (late, late_format):
        with pytest.raises(UnsupportedError, match="made at run time"):
            f("%d", 1)


def test_templates_as_arguments():
    """They are constants of specialisations then."""

    @njit
    def f(s, x):
        return s % x

    @njit
    def g(s, x):
        return s.format(x)

    assert (f("%d", 1), f("%5.1f", 1.25), g("<{:>5}>", 3)) == ("1", "  1.2", "<    3>")


# --- every way in ---


@njit
def row(i, w):
    return "%*d" % (w, i) + "{:{}.1f}".format(i / 2, w) + f"{i:{w}d}"


@njit(parallel=True)
def everywhere(n, w):
    out = np.zeros(n, np.int64)
    for i in prange(n):
        out[i] = len(row(i, w % 7 + i % 3))
    return out


@njit
def midway(n, spec):
    t = ""
    for i in range(n):
        t += f"{i:{spec}}" if i < 5 else f"{i:{spec + '!'}}"
    return t


def test_ways():
    assert everywhere(200, 5).tolist() == [len(row.py_func(i, 5 + i % 3)) for i in range(200)]
    for _ in range(3):
        assert outcome(midway, 8, "03d") == outcome(midway.py_func, 8, "03d")
    assert midway(5, "03d") == "000001002003004"
    assert treadle.njit(fastmath=True)(row.py_func)(3, 4) == row.py_func(3, 4)


@njit
def mapped(x, y):
    return "{name}: {x:>{w}} {x!r:.3} {y!a} {p[0]}{p[1].real}".format_map(
        {"name": "n", "x": x, "y": y, "w": 6, "p": (1, x)}
    )


@njit
def mapped_dict(d):
    return "{a:.2f}|{b}|{a!a:>8}".format_map(d)


def test_format_map():
    for x, y in ((1.5, "é𝔸\n"), (2, "it's"), (True, "")):
        assert mapped(x, y) == mapped.py_func(x, y)
    assert mapped_dict({"a": 1.25, "b": -2.0}) == mapped_dict.py_func({"a": 1.25, "b": -2.0})
    assert outcome(mapped_dict, {"a": 1.0}) == outcome(mapped_dict.py_func, {"a": 1.0})
    with pytest.raises(TypingError, match="Format string contains positional fields"):
        njit(lambda d: "{a}{}".format_map(d))({"a": 1})


@njit
def escaped(s, x, t):
    return f"{s!a}{x!a:>8}{t!a}{'é'!a}", "{!a:>9}".format(s), "%a %5a" % (s, x)


@settings(deadline=None, max_examples=50)
@given(st.text(st.sampled_from("aé€😀'\"\n\ud800"), max_size=4), st.floats())
def test_ascii(s, x):
    assert escaped(s, x, (s, 1)) == escaped.py_func(s, x, (s, 1))
