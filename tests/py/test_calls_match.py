"""`match` statements against CPython: literals, names, captures, guards, alternatives, sequences, classes known by type."""

from __future__ import annotations

import collections
import enum
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import TypingError, njit, prange, vectorize

Point = namedtuple("Point", "x y")


class Color(enum.IntEnum):
    RED = 1
    BLUE = 5


def numbers(x):
    match x:
        case 0:
            return 10
        case 1 | 2:
            return 20
        case Color.BLUE:
            return 25
        case math.pi:
            return 27
        case -3 | -4.5:
            return 28
        case int() if x > 100:
            return 30
        case bool():
            return 35
        case int(n):
            return 40 + n
        case float(y):
            return 50 if y > 1 else 60
        case complex(real=r):
            return 1000 + int(r)
        case _:
            return 70


def sequences(t):
    match t:
        case ():
            return 0
        case (x,):
            return 1
        case (1, 2) | (2, 1):
            return 2
        case (x, (y, z)):
            return x + y * z
        case [x, y] if x == y:
            return 5 * x
        case [x, 7, *rest]:
            return 100 + x + len(rest)
        case (*_, 9):
            return 900
        case [x, *rest, y]:
            return 200 + x + y + len(rest)
    return -1


def classes(p):
    match p:
        case Point(x=0):
            return 1.0
        case Point(a, y=b) if b > 5:
            return a * b
        case Point(a, 2 | 3 as b):
            return 100.0 * a + b
        case (a, b):
            return a - b
        case np.ndarray(ndim=2):
            return 2.0
        case np.ndarray(size=n):
            return 1.0 * n
        case str():
            return -5.0
    return -1.0


def names(mode, x):
    match mode:
        case "fast":
            return x * 2
        case "slow" | "exact":
            return x * 3
        case None:
            return x
        case True:
            return -x
        case False:
            return 0 * x
        case _:
            return x / 2


NUMBERS = (
    0,
    1,
    2,
    5,
    3,
    -3,
    -4.5,
    200,
    2.5,
    0.5,
    math.pi,
    True,
    False,
    0.0,
    1j,
    3 + 2j,
    (1,),
    "text",
    None,
    np.float64(7.0),
)
TUPLES = (
    (),
    (4,),
    (1, 2),
    (2, 1),
    (1, (2, 3)),
    (2, 2),
    (3, 7),
    (3, 7, 8, 8),
    (1, 2, 9),
    (1, 2, 3),
    (1, 5, 6, 4),
    5,
    range(2),
    range(3),
    range(3, 10),
    Point(1, 2),
)
CLASSES = (Point(0, 2), Point(2, 7.5), Point(4, 3), (5, 2), np.ones((2, 2)), np.ones(3), "s", 4, None)


def compiled(f: Any, *args: Any) -> list[Any]:
    """From Python, from a compiled caller, inlined, under parallel=True."""
    g = njit(f)
    outs = [g(*args), njit(parallel=True)(f)(*args), njit(inline="always")(f)(*args)]
    n = len(args)
    caller = njit(lambda a, g=g: g(a)) if n == 1 else njit(lambda a, b, g=g: g(a, b))
    return [*outs, caller(*args)]


@pytest.mark.parametrize(
    "f, args",
    [(numbers, NUMBERS), (sequences, TUPLES), (classes, CLASSES)],
    ids=["numbers", "sequences", "classes"],
)
def test_as_cpython(f: Any, args: tuple) -> None:
    for x in args:
        want = f(x)
        for got in compiled(f, x):
            assert got == want, (x, got, want)


def test_strings_and_none() -> None:
    for mode in ("fast", "slow", "exact", "other", None, True, False, 3):
        assert compiled(names, mode, 4.0) == [names(mode, 4.0)] * 4


def test_what_may_be_none() -> None:
    def f(a, i):
        x = None if a[i] < 0 else a[i]
        t = None if a[i] < 1 else (a[i], 2.0)
        s = 0.0
        match x:
            case None:
                s = -1.0
            case 3.0:
                s = 3.5
            case y:
                s = y
        match t:
            case (p, q):
                s += p * q
            case None:
                s += 0.25
        return s

    a = np.array([-2.0, 0.5, 3.0, 7.0])
    for i in range(4):
        assert njit(f)(a, i) == f(a, i)


def test_names_stay_bound() -> None:
    """A pattern that fails may have bound some of its names, as in CPython those of one that failed late."""

    def f(n):
        y = 0
        match (n, n + 1):
            case (x, y) if x > 10:
                z = 1
            case (1, z):
                pass
            case _:
                z = 5
        return x, y, z

    for n in (1, 2, 20):
        assert njit(f)(n) == f(n)


def test_in_loops_in_prange_and_in_a_ufunc() -> None:
    def walk(n):
        s = 0
        for i in range(n):
            match i % 5:
                case 0:
                    continue
                case 4 if i > 40:
                    break
                case 1 | 2 as k:
                    s += k
                case k:
                    s += 10 * k
        return s, i

    for n in (1, 7, 100):
        assert njit(walk)(n) == walk(n)

    @njit(parallel=True)
    def f(out):
        for i in prange(len(out)):
            match (i % 3, i % 2):
                case (0, 0):
                    out[i] = 1
                case (x, 1):
                    out[i] = 10 * x
                case _:
                    out[i] = -1

    def plain(x):
        match x:
            case 2.0 | 3.0:
                return 1.0
            case y if y < 0:
                return -y
        return 0.0

    out = np.zeros(30)
    f(out)
    assert list(out) == [1 if i % 6 == 0 else 10 * (i % 3) if i % 2 else -1 for i in range(30)]
    x = np.arange(-2.0, 5.0)
    np.testing.assert_array_equal(vectorize(plain)(x), [plain(v) for v in x])


PATTERNS = (
    "0", "1", "2.5", "True", "None", "-1", "x", "_", "int()", "float()", "bool()", "int(x)", "float(x)", "tuple()", "0 | 1",
    "(x, y)", "[x]", "()", "(x, *y)", "(*_, x)", "(1, *_)", "(x, (y, z))", "(int(), y)", "(0 | 1, y)", "(x, 2 as y)", "'a'", "str()",
)  # fmt: skip
SUBJECTS: tuple[Any, ...] = (
    0,
    1,
    3,
    -1,
    2.5,
    0.0,
    True,
    None,
    (),
    (1,),
    (1, 2),
    (0, 2),
    (1, 2.5),
    (1, (2, 3)),
    (4, 5, 6),
    "a",
    "b",
)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=5), st.sampled_from(SUBJECTS), st.booleans())
def test_drawn(patterns: list[str], subject: Any, guarded: bool) -> None:
    patterns = [p for p in patterns if p not in ("x", "_")] + [p for p in patterns if p in ("x", "_")][:1]
    text = "def f(s, g):\n    match s:\n"
    for i, p in enumerate(patterns):
        guard = " if g" if guarded and i % 2 == 0 and p not in ("_", "x") else ""
        text += f"        case {p}{guard}:\n            return {i}\n"
    text += "    return -1\n"
    space: dict[str, Any] = {}
    exec(text, space)
    for g in (True, False):
        assert njit(space["f"])(subject, g) == space["f"](subject, g), text


@pytest.mark.parametrize(
    "pattern, error, message",
    [
        ("C()", TypingError, "isinstance"),
        ("complex(y)", TypingError, "accepts 0 positional sub-patterns \\(1 given\\)"),
        ("Point(y, z, w)", TypingError, "accepts 2 positional sub-patterns \\(3 given\\)"),
    ],
)
def test_mistakes(pattern: str, error: type, message: str) -> None:
    space: dict[str, Any] = {"Point": Point, "C": type("C", (), {})}
    exec(f"def f(x):\n    match x:\n        case {pattern}:\n            return 1\n    return 0\n", space)
    with pytest.raises(error, match=message) as e:
        njit(space["f"])(Point(1, 2))
    assert "line 3" in str(e.value) or ":3" in str(e.value)


def keyed(d):
    match d:
        case {"a": x, "b": 2}:
            return x
        case {"a": x, **rest} if x > 3:
            return x + sum(rest.values())
        case {"b": (1 | 3) as y, "c": z, **rest}:
            return y * 10 + z + len(rest) * 100
        case {"c": 5}:
            return 7
        case {}:
            return -1


def of_lists(d):
    match d:
        case {1: [x, *more], 2: [*_, last]}:
            more.append(last)
            return x, more
        case {1: [], **rest}:
            return 0, [len(rest)]
        case _:
            return -1, [1]


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 6)),
    st.dictionaries(st.integers(0, 3), st.lists(st.integers(0, 3))),
)
def test_mappings(d: dict[str, int], e: dict[int, list[int]]) -> None:
    for f, x in ((keyed, d), (of_lists, e)):
        assert JITTED[f](x) == f(x), x


JITTED = {f: njit(f) for f in (keyed, of_lists)}


def shapes(d):
    match d:
        case {"kind": "circle", "r": r}:
            return 3.0 * r
        case {"kind": "rectangle", "at": Point(x=x, y=y), **size}:
            return x + y + size["w"] * size["h"]
        case {"kind": _, "points": [Point(0, y), *more]}:
            return y + len(more)
        case _:
            return -1.0


def of_records(n):
    p = Point(0, 5)
    return (
        shapes({"kind": "circle", "r": n}),
        shapes({"kind": "rectangle", "at": Point(1, n), "w": 2, "h": 2.5}),
        shapes({"kind": 1, "points": [p, Point(1, 2)]}),
        shapes({"kind": 1, "points": [Point(n, 5)]}),
        shapes({"r": n}),
        shapes(n),
    )


def several(n):
    d = collections.defaultdict(int)
    d["x"] = n
    maybe = {"k": 3} if n > 2 else {"j": 4}
    maybe["l"] = n
    found = []
    for m in ({"k": {"x": n}}, {"k": {"y": 1}}):
        match m:
            case {"k": {"x": x}}:
                found.append(x)
            case {"k": inner}:
                found.append(len(inner))
    match d:
        case {"x": x, **rest}:
            found.append(x + len(rest))
    match d:
        case {"no": _}:
            found.append(-1)
    match maybe:
        case {"k": k, "l": l}:
            found.append(k + l)
        case _:
            found.append(0)
    match found:
        case {"k": _}:
            found.append(100)
    return found, len(d)


def test_records_and_what_else_is_a_mapping():
    assert njit(of_records)(3) == of_records(3)
    for n in (1, 5):
        assert njit(several)(n) == several(n)


def test_keys_that_a_dict_cannot_have():
    @njit
    def f(d):
        match d:
            case {"a": _}:
                return 1
            case {2: x}:
                return x
            case _:
                return 0

    assert (f({2: 5}), f({1: 5}), f({}), f({"a": 1}), f({"b": 1})) == (5, 0, 0, 1, 0)


@njit(parallel=True)
def in_a_loop(n):
    out = np.zeros(n, np.int64)
    for i in prange(n):
        d = {j: str(j) for j in range(i % 4)}
        match d:
            case {1: s, 2: t, **rest}:
                out[i] = len(s + t) + len(rest) * 10
            case {0: s}:
                out[i] = len(s)
            case _:
                out[i] = -1
    return out


def test_in_a_loop():
    assert list(in_a_loop(20)) == list(in_a_loop.py_func(20))
