"""bytearray, made in compiled code: what it does is what CPython's does."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods import agree, outcome
from prange_check import no_array_lost
from treadle import TypingError, UnsupportedError, njit


def compiled(body, params="s, n=3"):
    """A compiled function of some lines, in which `b` is a bytearray of the bytes `s`."""
    d: dict = {}
    lines = ["b = bytearray(s)", *body.splitlines()]
    lines[-1] = f"return {lines[-1]}"
    exec(f"def f({params}):\n    " + "\n    ".join(lines) + "\n", d)
    d["f"].__name__ = body
    return njit(d["f"])


def same(f, *args):
    """The compiled function does as Python's, the classes of items too."""
    got = agree(f, *args)
    want = outcome(f.py_func, *args)
    if isinstance(want, tuple):
        assert [type(x) for x in got] == [type(x) for x in want], f.__name__


CASES = [
    compiled(c)
    for c in (
        "b, bytearray(), bytearray(n), bytearray([1, n, 2]), bytearray(range(n)), bytearray('hé', 'utf8')",
        "b[0], b[-1], b[1:3], b[::-1], b[::2], len(b), b[0] - b[1]",
        "b[0] = 65\nb[1:2] = b'xyz'\nb[-1:] = bytearray(b'Q')\nb[::2] = b[::2]\nb",
        "del b[0]\ndel b[1:2]\ndel b[::-2]\nb",
        "b[n] = n\nb[1:n] = [1, 2, n]\nb[0:0] = b[1:n]\nb",
        "b[::2] = b'wxyz'\nb",
        "b.append(n)\nb.extend(b'cd')\nb.extend([1, 2])\nb.extend(bytearray(b'e'))\nb.insert(0, 9)\nb",
        "p = b.pop()\nq = b.pop(0)\nb, p, q",
        "b.reverse()\nc = b.copy()\nb.clear()\nb, c",
        "b.remove(97)\nb",
        "c = b\nc += b'zz'\nb, b is c, b + b'x', b'x' + b, b * 2, 2 * b",
        "b == s, s == b, b != s, b < s, b == bytearray(s), b == 'x', b >= b'b'",
        "97 in b, b'b' in b, bytearray(b'ab') in b, not b, bytes(b)",
        "t = 0\nfor i, c in enumerate(b):\n    t += i * (c - 100)\nt, sum(b), [c for c in b], list(b)",
        "b.upper(), b.find(b'b'), b.replace(b'a', b'QQ'), b.startswith(b'a'), b.hex(), b.partition(b'b'), b.count(97)",
        "b.strip(b'a'), b.isalpha(), b.decode('latin-1'), b.rjust(5), b.zfill(6), b.index(98)",
        "repr(b), str(b), f'{b}'",
        "while len(b) < n:\n    b.append(len(b))\nb",
        "for c in b:\n    if len(b) < 9:\n        b.append(c)\nb",
        "(b, b[1:]), len((b, b))",
    )
]


@pytest.mark.parametrize("f", CASES, ids=range(len(CASES)))
def test_cases(f):
    for s in (b"", b"a", b"ab", b"abab", b"\0\xff\0", b"xyzabc"):
        for n in (3, 0, 300):
            same(f, s, n)


@settings(deadline=None, max_examples=60)
@given(s=st.binary(max_size=8), n=st.integers(-300, 300))
def test_drawn(s, n):
    for f in CASES:
        if "while" not in f.__name__:
            same(f, s, n if "bytearray(n)" not in f.__name__ else abs(n))


def test_range():
    for f in (
        compiled("b.append(n)\nb"),
        compiled("b[0] = n\nb"),
        compiled("b.insert(1, n)\nb"),
        compiled("bytearray((1, n))"),
        compiled("b.extend([n])\nb"),
    ):
        for n in (-1, 0, 255, 256, 2**40):
            assert outcome(f, b"ab", n) == outcome(f.py_func, b"ab", n)
    with pytest.raises(ValueError, match="negative count"):
        compiled("bytearray(n)")(b"", -1)


def test_one_object():
    f = compiled("c = b\nc.append(1)\nb, c")
    x, y = f(b"q")
    assert x is y and x == b"q\x01"


def test_handed_on():
    @njit
    def put(b, n):
        for i in range(n):
            b.append(i)
        return len(b)

    @njit
    def f(n):
        b = bytearray()
        k = put(b, n)
        return b, k

    assert f(5) == (bytearray(range(5)), 5)


def test_in_lists_and_shared():
    f = compiled(
        "l = [b, bytearray(2)]\nl[0].append(7)\ndef add(x):\n    b.append(x)\nadd(1)\nadd(2)\nl[0], len(l), b"
    )
    agree(f, b"ab")


@pytest.mark.parametrize(
    "code",
    [
        "b[1.5]",
        "b['a']",
        "b + 'a'",
        "b.append('a')",
        "b.nothing()",
        "bytearray('a')",
        "{b: 1}",
        "b.append(1.5)",
    ],
)
def test_wrong(code):
    with pytest.raises(TypingError):
        compiled(code)(b"abc")


@pytest.mark.parametrize("code", ["memoryview(b)", "b % 1"])
def test_left_out(code):
    with pytest.raises((UnsupportedError, TypingError)):
        compiled(code)(b"abc")


def test_nothing_leaks():
    f = compiled("for i in range(100):\n    b.append(i)\nc = b[5:]\nb[n] = 1\nb.upper() + c")
    f(b"a")
    gc.collect()
    with no_array_lost(7):
        for n in (3, 1000, 4):
            try:
                f(b"a", n)
            except IndexError:
                assert n == 1000
        gc.collect()


PROGRAM = """
from treadle import njit

@njit(cache=True)
def f(s):
    b = bytearray(s)
    b += b"z"
    return b

print(f(b"xy"), len(f.stats.cache_hits))
"""


def test_cache(tmp_path):
    path = tmp_path / "kept.py"
    path.write_text(PROGRAM)
    out = [subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout for _ in range(2)]  # fmt: skip
    assert out == [f"bytearray(b'xyz') {k}\n" for k in (0, 1)]
