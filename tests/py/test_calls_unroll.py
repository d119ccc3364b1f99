"""Loops over tuples of mixed types: the body is compiled for each item, whatever leaves it, against CPython."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import TypingError, njit, prange, vectorize

A = np.arange(4.0)


def check(f: Any, *args: Any) -> None:
    want = f(*args)
    for options in ({}, {"parallel": True}, {"inline": "always"}):
        g = njit(**options)(f)
        got = g(*args)
        assert type(got) is type(want) or np.isscalar(want), (got, want)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def leaves(a, stop):
    """continue, break, else, and variables that hold what the loop left."""
    s, k = 0.0, 0
    for k, x in enumerate((1, 2.5, a, (4, a))):
        if k == stop:
            break
        if isinstance(x, float):
            continue
        s += np.sum(x[1]) if isinstance(x, tuple) else np.sum(x)
    else:
        s += 100
    return s, k


def returns(a, stop):
    for i, x in enumerate((a, 3, (1, 2))):
        if i == stop:
            return 10.0 * i + np.sum(np.asarray(x))
    return -1.0


def nested(a, stop):
    s = 0.0
    for x in (a, 2, 0.5):
        for y in (1, a):
            if isinstance(y, int) and isinstance(x, int) and stop:
                break
            for z in ((a, 1), 3):
                s += np.sum(x * y) + (z if isinstance(z, int) else z[1])
        else:
            s += 0.5
    return s


def tried(a, at):
    s = 0.0
    for x in (a, (1, 2), 5.0):
        try:
            if isinstance(x, float):
                raise ValueError("no item")
            s += x[at]
        except IndexError:
            s += 1000
        except ValueError:
            s += 10000
        finally:
            s += 0.25
    return s


def tried_around(a, at):
    s = 0.0
    try:
        for x in (a, (1, 2, 3), a[:2]):
            s += x[at]
    except IndexError:
        return -s
    return s


def left_behind(a, stop):
    y = 1.0
    for x in (a, 3, 2.5):
        if isinstance(x, int):
            y = x + 0.5
            if stop:
                break
        z = np.sum(x)
    return y + z


def sides(a, stop):
    s = 0.0
    for x, y in zip((1, a), (a, 2.0)):
        s = s + np.sum(x * y)
    for x in reversed((a, 3)):
        s = s * 2 + np.sum(x)
    for i, (x, y) in enumerate(zip((1, a), ((1, 2), 3))):
        s = s * 2 + i * np.sum(x) + (y if isinstance(y, int) else y[1])
    return s


def called(a, stop):
    def f(x):
        return np.sum(x) * 2 if stop else np.sum(x)

    s = 0.0
    for x in (a, 1):
        g = lambda y, k=stop: f(y) + np.sum(y) * k  # noqa: E731
        s = s * 2 + g(x)
    return s


@pytest.mark.parametrize("f", [leaves, returns, nested, tried, tried_around, left_behind, sides, called])
def test_what_leaves_a_body(f: Any) -> None:
    for stop in range(5):
        check(f, A, stop)


def test_while_around_and_in_it() -> None:
    def f(n):
        s, i = 0.0, 0
        while i < n:
            for x in (i, (i, 2), 0.5):
                k = 0
                while k < 2:
                    s += k * (x[1] if isinstance(x, tuple) else x)
                    k += 1
                if s > 40:
                    return s, i
            i += 1
        return s, -1

    check(f, 3)
    check(f, 30)


def test_an_argument() -> None:
    """The types of the call say whether the body is written out."""

    def f(t):
        s = 0.0
        for x in t:
            s = s * 2 + np.sum(x)
        return s

    g = njit(f)
    for t in [(1, 2), (1, 2.5), (1, A), (A, A), ((1, 2), 3.5), (A,), ()]:
        want = f(t)
        assert g(t) == want and njit(lambda t, g=g: g(t))(t) == want


def test_in_prange_and_in_a_ufunc() -> None:
    @njit(parallel=True)
    def f(a, out):
        for i in prange(len(out)):
            for x in (i, a, 0.5):
                out[i] += np.sum(x)

    def plain(x):
        s = 0.0
        for y in (x, (x, 2.0), 3):
            s += y[0] * y[1] if isinstance(y, tuple) else y
        return s

    out = np.zeros(9)
    f(A, out)
    np.testing.assert_array_equal(out, np.arange(9.0) + A.sum() + 0.5)
    x = np.arange(5.0)
    np.testing.assert_array_equal(vectorize(plain)(x), [plain(v) for v in x])


def test_recursion() -> None:
    def f(n, a):
        s = 0.0
        for x in (n, a):
            if isinstance(x, int):
                s += f(x - 1, a) if x > 0 else 1.0
            else:
                s += np.sum(x)
        return s

    space: dict[str, Any] = {"np": np}
    exec(
        "def f(n, a):\n    s = 0.0\n    for x in (n, a):\n        if isinstance(x, int):\n            s += f(x - 1, a) if x > 0 else 1.0\n        else:\n            s += np.sum(x)\n    return s\n",
        space,
    )
    assert space["f"](5, A) == njit(space["f"])(5, A)


ITEMS = ("1", "2.5", "a", "(1, 2)", "(a, 2)", "n", "True", "1j", "a[:0]", "range(n)")
BODIES = (
    "s += size(x)",
    "if k == n:\n            continue\n        s += size(x)",
    "if k == n:\n            break\n        s += size(x)",
    "if isinstance(x, tuple):\n            return s + size(x)\n        s *= 2",
    "if isinstance(x, int):\n            y = size(x)\n            continue\n        s += y",
    "try:\n            s += x[n]\n        except IndexError:\n            s += 7\n        s += k",
)


def size(x):
    if isinstance(x, tuple):
        return len(x)
    return abs(np.sum(np.asarray(x))) if not isinstance(x, range) else 1.0 * len(x)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(ITEMS), min_size=1, max_size=8),
    st.sampled_from(BODIES),
    st.booleans(),
    st.booleans(),
    st.integers(0, 5),
)
def test_drawn(items: list[str], body: str, numbered: bool, orelse: bool, n: int) -> None:
    head = "for k, x in enumerate(t):" if numbered else "for x in t:"
    tail = "    else:\n        s += 50\n" if orelse else ""
    if "x[n]" in body:
        items = [i for i in items if i.startswith(("a", "(1"))] or ["a", "(1, 2)"]
    text = f"def f(a, n):\n    s, y, k = 0.0, 0.5, 1\n    t = ({', '.join(items)},)\n    {head}\n        {body}\n{tail}    return s, y, k\n"
    if "return s +" in body:
        text = text.replace("return s, y, k", "return s + y + k")
    space: dict[str, Any] = {"np": np, "size": size}
    exec(text, space)
    want = space["f"](A, n)
    got = njit(space["f"])(A, n)
    assert want == pytest.approx(got, rel=1e-14), text


def test_mistakes() -> None:
    def wrong(a):
        s = 0.0
        for x in (1, a):
            s += x[0]
        return s

    def apart(a):
        r = 0
        for x in (1, a):
            r = x
        while a[0] > 0:
            a[0] -= 1
            r = a
        return r

    def many(a):
        s = 0.0
        for x in (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, a):
            s += np.sum(x)
        return s

    with pytest.raises(TypingError, match="int64 cannot be indexed") as e:
        njit(wrong)(A)
    assert "s += x[0]" in str(e.value)
    with pytest.raises(TypingError, match="have no common type, so one cannot be chosen at run time"):
        njit(many)(A)
    assert njit(apart)(np.ones(2)).sum() == apart(np.ones(2)).sum()
