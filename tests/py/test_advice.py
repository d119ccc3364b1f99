"""Slips that people make, and what they are told: the error, its line, and what to do instead.

PYTEST_DONT_REWRITE: the programs hold `assert`s of their own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from programs import same  # noqa: E402
from treadle import TypingError, UnsupportedError, njit, prange  # noqa: E402

V, M = np.arange(5.0), np.ones((3, 4))


def told(source, *args, error=TypingError, **options):
    """What compiling the lines of `source`, the body of f, says; always the place, and one line or more of text."""
    names = "abcd"[: len(args)]
    text = f"def f({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in source.splitlines())
    space = {"np": np, "prange": prange}
    exec(compile(text, "<slip>", "exec"), space)
    with pytest.raises(error) as e:
        njit(**options)(space["f"])(*args)
    return str(e.value)


@pytest.mark.parametrize(
    "source, args, error, words",
    [
        ("return a.maen()", (V,), TypingError, "has no attribute 'maen'|did you mean 'mean'?"),
        ("return a.shpae[0]", (V,), TypingError, "did you mean 'shape'?"),
        ("return np.sqroot(a)", (V,), TypingError, "no attribute 'sqroot'|did you mean 'sqrt'?"),
        ("return a.sum(keepdim=True)", (M,), TypingError, "did you mean 'keepdims'? It takes axis=, dtype="),
        ("return np.zeros(3, like=a)", (M,), TypingError, "in compiled code it takes shape, dtype=, order="),
        ("return a.nonzero(axis=0)", (M,), TypingError, "it takes no arguments"),
        ("return a[a > 1 & a < 3]", (V,), TypingError, "& binds tighter than comparisons"),
        ("return a[a > 1 and a < 3]", (V,), TypingError, "use .any() or .all(); for items, & and |"),
        ("a *= 0.5\nreturn a", (np.arange(3),), TypingError, "in place|make a new array|a.astype(float)"),
        ("a @= a * 1j\nreturn a", (np.eye(3),), TypingError, "in place|a.astype(complex)"),
        ("if a.sum() > 0:\n    return iter(a)", (V,), TypingError, "optional(iterator|cannot hand to Python"),
        ("if a.sum() > 0:\n    return a\nreturn a[0]", (V,), TypingError, "return one type on all paths"),
        ("def g(x):\n    x + 1\nreturn g(a) * 2", (V,), TypingError, "is none|is a `return` missing there?"),
        ("if b:\n    a = a[0]\nreturn a.sum()", (M, True), TypingError, "number of dimensions is part of"),
        (
            "m = 0\nfor x in a:\n    if x > m:\n        m = x\nreturn m",
            (V.astype("u8"),),
            TypingError,
            "with np.int64(x) or np.uint64(x)",
        ),
        (
            "x = 0\nif a[0] > 0:\n    x = a\nreturn x",
            (V,),
            TypingError,
            "starting with an array instead of",
        ),
        ("x = 1, 2\nif a[0] > 0:\n    x = 1, 2, 3\nreturn x", (V,), TypingError, "the length of a tuple and"),
        (
            "for i in range(3):\n    a = a * b\nreturn a",
            (V.astype("f4"), 2.0),
            TypingError,
            "np.float32(x) * a",
        ),
        (
            "s = a[0]\nif s > 2:\n    s = b[0]\nreturn s",
            (V.astype("u8"), V.astype("i8")),
            TypingError,
            "np.uint64(x)",
        ),
        (
            "x = 0\nif a[0] > 0:\n    x = 'yes'\nreturn x",
            (V,),
            TypingError,
            "a variable is a string on all paths",
        ),
        (
            f"n = 0\nfor s in {tuple('abcdefghijklmnop')} + (1,):\n    n += s == 'x'\nreturn n",
            (),
            TypingError,
            "no common type|use constant",
        ),
        ("return np.less.accumulate(a)", (V,), TypingError, "has no accumulate|write it as a loop"),
        ("return np.random.default_rng(0)", (), UnsupportedError, "default_rng'"),
        ("return 1 in a", ("1",), TypingError, "only a string can be 'in' a string, not int64"),
        ("raise ValueError('array', a)", (V,), UnsupportedError, "raise with numbers and strings"),
    ],
)
def test_slips(source, args, error, words):
    text = told(source, *args, error=error)
    assert "--> <slip>:" in text
    for word in words.split("|"):
        assert word in text, text


def test_a_slip_on_several_paths_is_told_once():
    text = told("if a[0] > 0:\n    k = 0\nelse:\n    k = 1\nr, c = a.shape\nreturn r + k", V)
    assert text.count("cannot unpack 1 items into 2") == 1


@pytest.mark.parametrize(
    "body, line, words",
    [
        ("if a[i] > 2: break\n    s += a[i]", 4, "here a `break` leaves it"),
        ("s += a[i]\n    if s > 2:\n        if s < 3: break\n        s += 1", 6, "here a `break` leaves it"),
        ("if a[i] > 2:\n        return s", 5, "this `return` is inside of one"),
    ],
)
def test_what_leaves_a_prange_loop_is_named(body, line, words):
    text = told(
        f"s = 0.0\nfor i in prange(len(a)):\n    {body}\nreturn s", V, error=UnsupportedError, parallel=True
    )
    assert words in text and f"<slip>:{line}" in text


# --- shapes and other tuples in messages ---


def shapes_differ(a, b):
    if a.shape != b.shape:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not match: {{0}} {a.ndim}")
    return a + b


def tuples(a):
    raise KeyError(f"{(a.size,)} {[a.size, 2]} {()} {(a.ndim, (a.size, None, True), 'x')} {'{1}'}")


def eight(x, y, k, n):
    raise ValueError(f"{x} {y} {k} {n}{x} {y} {k} {n}")


def wanted(a):
    assert a.ndim == 2, f"expected 2 axes, got shape {a.shape}"
    return a[0, 0]


def test_tuples_in_messages(capsys):
    same(shapes_differ, M, M[:2])
    same(shapes_differ, V, V)
    same(tuples, V)
    same(eight, 0.5, 1.5, 6, 7)
    same(wanted, V[:, None, None])
    njit(lambda a: print(f"of shape {a.shape}", a.shape))(M)
    assert capsys.readouterr().out == "of shape (3, 4) (3, 4)\n"


def test_more_than_a_message_holds():
    text = told(f"raise ValueError(f'{'{a} ' * 9}')", 2.5, error=UnsupportedError)
    assert "more than 8 numbers in an exception" in text
