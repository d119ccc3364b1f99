"""Format specifications and conversions of f-strings, in print() and in messages of exceptions: what Python writes, to the letter."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from treadle import njit, prange
from treadle.errors import TypingError, UnsupportedError

FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 12.0, 99.9999, 123.0, 9.5, 2.5, 0.05, 1e-4, 1.2345e-5, -1e-7, 1e5, 999999.5,
          1e15, 1e16, 123456789.125, 1.5e300, 5e-324, math.inf, -math.inf, math.nan, -math.nan)  # fmt: skip
INTS = (0, 1, -1, 7, -10, 100, -999, 1000, 123456, -1234567, 2**53 + 1, -(2**63), 2**63 - 1)
OF_FLOATS = [
    ".2f", ".0f", "#.0f", "f", "F", "e", ".3E", "g", ".3g", "#.3g", "#G", "G", "%", ".1%", "10", "<10", "*^12.3f", "+.2f", " .2f", "-.2f", "z.0f", "z.1e",
    "z.2g", "08.2f", "012,.2f", "020_", ",", "_.3f", ".3", ".1", ".17", "=+12.1f", "0=12,.1f", "0<9.2f", "é>8", "010", "08,", "+012.2%", "05.0g", ".30f",
]  # fmt: skip
OF_INTS = [
    "d", "5", "05", "<5", "^9", ">9d", "+", " ", "+,", "_", "012,", "014_d", "b", "#b", "o", "#o", "x", "#x", "X", "#X", "_b", "#_x", "#018x", "#020_b",
    "=+9", "*=9", ".2f", "e", "g", "10.3%", ",.1f", "08.2f", "#=+#9x", "x^7", "0<6", "d",
]  # fmt: skip
OF_STRINGS = ["5", "<5", ">5", "^6", "*^7", "05", ".2", ">4.1s", "s", "é<6.3"]


def said(f, capfd, *args):
    f(*args)
    return capfd.readouterr().out


def compare(specs, values, capfd):
    d: dict = {}
    body = "".join(f'    print(f"<{{x:{s}}}>", f"{{x:{s}}}", sep="")\n' for s in specs)
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


def test_of_strings_and_constants(capfd):
    compare(OF_STRINGS, ("", "ab", "hällo", "日本語"), capfd)

    def f():
        print(f"{12345:,} {2.5:.3f} {True:3} {2**40:_}")

    assert said(njit(f), capfd) == said(f, capfd)


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


@pytest.mark.parametrize("spec", ["q", "d", "x", ".", "5.", "c", "n", "#", "99999", ".2d", "1,,", "s"])
def test_refused_of_floats(spec):
    d: dict = {}
    exec(f'def f(x):\n    print(f"{{x:{spec}}}")\n', d)
    with pytest.raises(UnsupportedError, match="format specification '"):
        njit(d["f"])(1.5)


def test_refused_by_name():
    for text, x in (
        ("{x:.2}", 1), ("{x:s}", 1), ("{x:,x}", 1), ("{x:z}", 1), ("{x:n}", 1), ("{x:.2f}", 1j), ("{(x, 1):5}", 1), ("{None:5}", 1), ("{'a':d}", 1),
        ("{x!a}", 1), ("{x:{x}}", 1), ("{x!s:5}", 1), ("{x:.2f}", np.datetime64(1, "s")),
    ):  # fmt: skip
        d: dict = {}
        exec(f'def f(x):\n    print(f"{text}")\n', d)
        with pytest.raises(UnsupportedError, match="format specification"):
            njit(d["f"])(x)


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
        ("format(x, 'd')", "format specification 'd'"),
        ("format(x, x)", "is a string"),
    ):
        d: dict = {}
        exec(f"def g(x):\n    print({text})\n", d)
        with pytest.raises((TypingError, UnsupportedError), match=why):
            njit(d["g"])(1.5)
