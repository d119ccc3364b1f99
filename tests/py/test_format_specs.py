"""Format specifications and conversions of f-strings, in print() and in messages of exceptions: what Python writes, to the letter."""

from __future__ import annotations

import contextlib
import io
import math
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange
from treadle.errors import TypingError, UnsupportedError

ROOT = Path(__file__).parents[2]
FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 12.0, 99.9999, 123.0, 9.5, 2.5, 0.05, 1e-4, 1.2345e-5, -1e-7, 1e5, 999999.5,
          1e15, 1e16, 123456789.125, 1.5e300, 5e-324, math.inf, -math.inf, math.nan, -math.nan)  # fmt: skip
INTS = (0, 1, -1, 7, -10, 100, -999, 1000, 123456, -1234567, 2**53 + 1, -(2**63), 2**63 - 1)
OF_FLOATS = [
    ".2f", ".0f", "#.0f", "f", "F", "e", ".3E", "g", ".3g", "#.3g", "#G", "G", "%", ".1%", "10", "<10", "*^12.3f", "+.2f", " .2f", "-.2f", "z.0f", "z.1e",
    "z.2g", "08.2f", "012,.2f", "020_", ",", "_.3f", ".3", ".1", ".17", "=+12.1f", "0=12,.1f", "0<9.2f", "é>8", "010", "08,", "+012.2%", "05.0g", ".30f", "#", "#.3",
    "#.1", "+#", "#10", "#,", "}>9", "{^9.2f", "}=+9", "_.1%", "_g", ".60f", ".40e", ".25g", ".25", "#.25", "z", "+z.3", "z,.1f", "-%",
]  # fmt: skip
OF_INTS = [
    "d", "5", "05", "<5", "^9", ">9d", "+", " ", "+,", "_", "012,", "014_d", "b", "#b", "o", "#o", "x", "#x", "X", "#X", "_b", "#_x", "#018x", "#020_b",
    "=+9", "*=9", ".2f", "e", "g", "10.3%", ",.1f", "08.2f", "#=+#9x", "x^7", "0<6", "d",
]  # fmt: skip
COMPLEX = (
    0j,
    1j,
    -1j,
    1 + 2j,
    -0.0 + 1j,
    complex(0.0, -0.0),
    complex(-1.5, math.nan),
    complex(math.inf, -math.inf),
    1234567.875 - 1e-7j,
    1e22 + 1e16j,
)
OF_COMPLEX = [
    "+", " ", "#", "12", "<30", "^31", "*>40", "é^40", "z", "z.0f", ".2f", "#.0f", "e", ".3E", "g", "G", "#g", ".3", "#.3", ".1", ",", "_", ",.2f",
    "+,.1f", "x<05", "}>40", "{<40.2f", "-.3g", "F",
]  # fmt: skip
OF_STRINGS = ["5", "<5", ">5", "^6", "*^7", "05", ".2", ">4.1s", "s", "é<6.3"]


def said(f, capfd, *args):
    f(*args)
    return capfd.readouterr().out


def compare(specs, values, capfd):
    d: dict = {}
    texts = (
        (f'f"<{{x:{s}}}>"', f'f"{{x:{s}}}"') if not set(s) & set("{}") else (f"format(x, {s!r})",) * 2
        for s in specs
    )
    body = "".join(f"    print({a}, {b}, sep='')\n" for a, b in texts)
    exec(f"def f(x):\n{body}", d)
    g = njit(d["f"])
    for v in values:
        assert said(g, capfd, v) == said(d["f"], capfd, v), v


@pytest.mark.parametrize("k", range(4))
def test_of_floats(k, capfd):
    compare(OF_FLOATS[k::4], FLOATS, capfd)
    compare(OF_FLOATS[k::4], [np.float32(x) for x in FLOATS if not 1e30 < abs(x) < math.inf], capfd)


@pytest.mark.parametrize("k", range(4))
def test_of_integers(k, capfd):
    compare(OF_INTS[k::4], INTS, capfd)
    compare(OF_INTS[k::4], [np.uint64(2**64 - 1), np.uint64(7)], capfd)
    compare(OF_INTS[k::4], [np.int8(-128), np.int8(5)], capfd)
    compare(OF_INTS[k::4], [True, False], capfd)


@pytest.mark.parametrize("k", range(3))
def test_of_complex_numbers(k, capfd):
    compare(OF_COMPLEX[k::3], COMPLEX, capfd)
    compare(OF_COMPLEX[k::3], [np.complex64(x) for x in COMPLEX if x.real != 1e22], capfd)


def test_of_strings_and_constants(capfd):
    compare(OF_STRINGS, ("", "ab", "hällo", "日本語"), capfd)

    def f():
        print(f"{12345:,} {2.5:.3f} {True:3} {2**40:_}")

    assert said(njit(f), capfd) == said(f, capfd)


FILLS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
SPECS = st.builds(
    "".join,
    st.tuples(
        st.one_of(st.just(""), st.sampled_from("<>^="), st.builds(str.__add__, FILLS, st.sampled_from("<>^="))), st.sampled_from(["", "", "+", "-", " "]),
        st.sampled_from(["", "", "", "z"]), st.sampled_from(["", "", "", "#"]), st.sampled_from(["", "", "0"]),
        st.one_of(st.just(""), st.integers(1, 40).map(str)), st.sampled_from(["", "", "", ",", "_"]),
        st.one_of(st.just(""), st.integers(0, 25).map(lambda n: f".{n}"), st.integers(0, 400).map(lambda n: f".{n}")),
        st.sampled_from([*"eEfFgG%%ff", *"dbxoX", "", "", "s", "q"]),
    ),
)  # fmt: skip
KINDS = {
    float: st.floats()
    | st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
    | st.integers(-999, 999).map(lambda n: n / 8),
    int: st.integers(-(2**63), 2**63 - 1) | st.integers(-2000, 2000),
    bool: st.booleans(),
    complex: st.complex_numbers() | st.builds(complex, st.integers(-5, 5), st.integers(-5, 5)),
}


def texts_of(f, x, n):
    """What it prints, and what its exceptions say."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        f(x, n)
    said = []
    for k in range(n):
        with pytest.raises(ValueError) as e:
            f(x, k)
        said.append(e.value.args)
    return out.getvalue(), said


@settings(deadline=None, max_examples=40)
@given(st.data(), st.sampled_from(list(KINDS)), st.lists(SPECS, min_size=12, max_size=12))
def test_drawn(data, kind, specs):
    good, values = [], data.draw(st.lists(KINDS[kind], min_size=4, max_size=4))
    for s in specs:
        try:
            format(kind(1), s)
        except ValueError as e:
            assert refusal(f"format(x, {s!r})", kind(1)) == (TypingError, str(e))
        else:
            good.append(s)
    if not good:
        return
    lines = [f"    if k == {k}: raise ValueError(format(x, {s!r}))\n" for k, s in enumerate(good)]
    text = ", ".join(f"format(x, {s!r})" for s in good)
    d: dict = {}
    exec(f"def f(x, k):\n{''.join(lines)}    print({text}, sep='|')\n", d)
    g = njit(d["f"])
    for x in values:
        assert texts_of(g, x, len(good)) == texts_of(d["f"], x, len(good))


# --- repr() ---


def test_the_table_is_what_the_generator_makes():
    done = subprocess.run([sys.executable, ROOT / "tools/gen_digits.py", "--check"], check=False)
    assert done.returncode == 0, "run tools/gen_digits.py"


def printed(f, a):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        f(a)
    return out.getvalue().split()


@njit
def print_each(a):
    for x in a:
        print(x)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.floats() | st.floats(width=16) | st.integers(-(2**60), 2**60).map(float), min_size=1, max_size=50
    )
)
def test_repr_of_drawn_floats(xs):
    assert printed(print_each, np.array(xs)) == [repr(x) for x in xs]


def test_repr_of_many_floats():
    r = np.random.default_rng(7)
    a = r.integers(0, 2**64, 20_000, np.uint64).view(np.float64)
    b = np.round(r.uniform(-1e5, 1e5, 5_000), 4)
    c = 2.0 ** np.arange(-1074, 1024)
    for xs in (a, b, c, np.nextafter(c, 0), np.array([float(f"1e{k}") for k in range(-323, 309)])):
        assert printed(print_each, xs) == [repr(x) for x in xs.tolist()]


@pytest.mark.parametrize("t", [np.float32, np.float16])
def test_repr_of_narrow_floats(t):
    """NumPy's digits: its versions do not agree on when an exponent is written."""
    bits = (
        np.random.default_rng(7).integers(0, 2**32, 20_000, np.uint32)
        if t is np.float32
        else np.arange(2**16, dtype=np.uint16)
    )
    xs = bits.view(t)
    xs = xs[np.isfinite(xs)]
    want = [float(np.format_float_scientific(x)) for x in xs]
    assert [float(x) for x in printed(print_each, xs)] == want


def test_repr_of_integers():
    xs = [
        0,
        -1,
        2**63 - 1,
        -(2**63),
        *(s * 10**k + d for k in range(19) for s in (1, -1) for d in (-1, 0, 1)),
    ]
    assert printed(print_each, np.array(xs)) == [str(x) for x in xs]


def test_narrow_floats_in_messages():
    def f(x):
        raise ValueError(f"{x}")

    for x in (np.float16(0.1), np.float32(0.1), 0.1):
        assert of(njit(f), x) == ("0.1",)


def test_constants_are_the_shortest():
    def f():
        print(5.684341886080802e-14, f"{0.1 + 0.2} {2.0**-44} {1e22} {1e16}")

    assert printed(lambda a: njit(f)(), None) == printed(lambda a: f(), None)


WIDTH = 9


def test_specs_that_are_made_of_constants(capfd):
    def f(x):
        p = 3
        print(f"{x:{WIDTH}.{p}f}|{x:}|{x!s}|{x!s:}|{f'{x:.2f}'}")

    assert said(njit(f), capfd, 2.5) == said(f, capfd, 2.5)


def test_conversions(capfd):
    def f(x, n):
        s = "it's"
        print(f"{x!r} {n!r} {s!r} {(x, n)!r} {None!r} {n=} {x=:.3f} {s=} {x = }")
        raise ValueError(f"{x!r} {s!r} {n=}")

    texts = []
    for g in (f, njit(f)):
        with pytest.raises(ValueError) as e:
            g(0.1, -3)
        texts.append((e.value.args, capfd.readouterr().out))
    assert texts[0] == texts[1]


def raises(x, n, u):
    if n > 0:
        raise ValueError(f"{{0:.1f}} {x:.2f} of {n:>6,} or {u:#x} {n:.1f} {n > 1:4}")
    return x


def of(f, *args):
    with pytest.raises(ValueError) as e:
        f(*args)
    return e.value.args


ARGS = (3.14159, 12345, np.uint64(2**64 - 1))
TEXT = ("{0:.1f} 3.14 of 12,345 or 0xffffffffffffffff 12345.0    1",)


def test_messages():
    assert raises(1.5, 0, ARGS[2]) == njit(raises)(1.5, 0, ARGS[2])
    assert of(njit(raises), *ARGS) == of(raises, *ARGS) == TEXT
    assert of(njit(raises), 2.0, 3, 7) == of(raises, 2.0, 3, 7)
    assert of(njit(raises, nogil=True), *ARGS) == TEXT


def test_messages_from_callees_and_handlers(capfd):
    inner = njit(raises)

    def f(x, n, u):
        try:
            return inner(x, n, u)
        except ValueError:
            print(f"caught at {x:.1f}")
            raise

    assert of(njit(f), *ARGS) == TEXT
    assert capfd.readouterr().out == "caught at 3.1\n"


def test_in_prange(capfd):
    def f(a):
        for i in prange(len(a)):
            print(f"{i:03d}: {a[i]:8.3f}")
            if a[i] > 98:
                raise ValueError(f"{a[i]:+.1e}")

    a = np.arange(100.0)
    assert of(njit(f, parallel=True), a) == ("+9.9e+01",)
    got = capfd.readouterr().out.splitlines()
    assert set(got) <= {f"{i:03d}: {a[i]:8.3f}" for i in range(100)} and f"{99:03d}: {99:8.3f}" in got


PROGRAM = """
import numpy as np
from treadle import njit

@njit(cache=True)
def f(x, n):
    print(f"{x:.2f} {n:,} {x!r}")
    if n > 5:
        raise ValueError(f"{x:+.3e}|{n:#06x}|{'ab':>4}")

f(1.5, 2)
try:
    f(2.5, 1234)
except ValueError as e:
    print(e.args)
print(f.stats["loaded"])
"""


def test_from_the_cache(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    out = [subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout for _ in range(2)]  # fmt: skip
    text = "1.50 2 1.5\n2.50 1,234 2.5\n('+2.500e+00|0x04d2|  ab',)\n"
    assert out == [text + "0\n", text + "1\n"]


# --- what Python does not take, and what we do not ---

WRONG = [
    (1.5, ["q", "d", "x", ".", "5.", "c", ".2d", "1,,", "s", ",_", "_,", ",s", "_n", ",c", "5q5", "\x01", "9" * 20, "." + "9" * 20, ".2.", "#d", "é>5d"]),
    (1, [".2", "5.2d", "s", ",x", "z", "zd", "q", "+c", "#c", ",c", ".2c", "zs", "__", ".5b", "~"]),
    (True, ["s", ".3", "y"]),
    (1j, ["%", "d", "05", "0=9", "<0", "=9", "*=9.2f", "s", ",%", "5."]),
    ("ab", ["+", " ", "-5", "z", "#", "=", "=9", ",", "d", "f", "5q", "0=5", "#.3", ".2f"]),
]  # fmt: skip


def refusal(code, *args):
    d: dict = {}
    exec(f"def f(x):\n    print({code})\n", d)
    with pytest.raises((TypingError, UnsupportedError)) as e:
        njit(d["f"])(*args)
    return type(e.value), str(e.value).splitlines()[0]


@pytest.mark.parametrize(("value", "spec"), [(v, s) for v, specs in WRONG for s in specs])
def test_wrong_in_python_s_words(value, spec):
    with pytest.raises(ValueError) as e:
        format(value, spec)
    code, args = (
        (f"format({value!r}, {spec!r})", (0,))
        if isinstance(value, str)
        else (f"format(x, {spec!r})", (value,))
    )
    assert refusal(code, *args) == (TypingError, str(e.value))


def test_wrong_of_other_values():
    for text, of in (("None", "NoneType"), ("(x, 1)", "tuple"), ("[x, x]", "list")):
        assert refusal(f"f'{{{text}:5}}'", 1) == (
            TypingError,
            f"unsupported format string passed to {of}.__format__",
        )


@pytest.mark.parametrize("spec", ["n", "12n", "99999", ".10001f", ".2,f", ".,f", "\u0663", "5\u0664d"])
def test_left_out(spec):
    kind, text = refusal(f"format(x, {spec!r})", 1.5)
    assert kind is UnsupportedError and "the format specification '" in text


def test_left_out_by_value():
    for text, x in (
        ("{x:c}", 65),
        ("{x:.2f}", np.datetime64(1, "s")),
    ):
        kind, _ = refusal(f'f"{text}"', x)
        assert kind is UnsupportedError


def test_functions_that_make_text(capfd):
    def f(x, n, b):
        print(
            format(x, ".3f"),
            format(n, "+,"),
            format(x),
            format(x, ""),
            format("ab", ">5"),
            repr(x),
            repr("it's"),
            repr(n),
        )
        print(hex(n), oct(n), bin(n), hex(b), bin(255), hex(2**63), f"{hex(n)} {format(n, 'x')}")
        raise ValueError(hex(n) + " " + repr(x) + format(x, " .1e"))

    texts = []
    for g in (f, njit(f)):
        for n in (12345, -1):
            with pytest.raises(ValueError) as e:
                g(0.1, n, True)
            texts.append((e.value.args, capfd.readouterr().out))
    assert texts[:2] == texts[2:]
    for text, why in (
        ("hex(x)", "hex\\(\\) takes an integer"),
        ("format(x, 'd')", "Unknown format code 'd' for object of type 'float'"),
        ("format(x, x)", "is a string"),
    ):
        d: dict = {}
        exec(f"def g(x):\n    print({text})\n", d)
        with pytest.raises((TypingError, UnsupportedError), match=why):
            njit(d["g"])(1.5)
