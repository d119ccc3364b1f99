"""Starred targets, `a, *b, c = x`, against CPython: of tuples, arrays and ranges, and what the list may be asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange, vectorize

READS = ("len(b)", "sum(b)", "b[0]", "b[-1]", "3 in b", "[y * 2 for y in b]", "max(b)", "enumerate(b)")


def run(f: Any, *args: Any) -> Any:
    """What comes out, or the exception's class and arguments."""
    try:
        return f(*args)
    except Exception as e:
        return type(e), e.args


def same(want: Any, got: Any) -> bool:
    if isinstance(want, tuple) and isinstance(got, tuple) and len(want) == len(got):
        return all(map(same, want, got))
    return isinstance(want, type) == isinstance(got, type) and bool(
        np.all(np.equal(want, got) if not isinstance(want, (type, str)) else want == got)
    )


def define(before: int, after: int, read: str) -> Any:
    """A function that takes `x` apart with so many names around the star."""
    names = [f"p{i}" for i in range(before)], [f"q{i}" for i in range(after)]
    target = ", ".join([*names[0], "*b", *names[1]]) + ("," if not before + after else "")
    body = {
        "[y * 2 for y in b]": "    s = 0\n    for y in b:\n        s = s * 3 + y\n",
        "enumerate(b)": "    s = 0\n    for i, y in enumerate(b):\n        s += i * y\n",
    }.get(read, f"    s = {read}\n")
    text = f"def f(x):\n    {target} = x\n{body}    return ({', '.join(names[0] + names[1] + ['s'])},)\n"
    space: dict[str, Any] = {}
    exec(text, space)
    return space["f"]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 3), st.integers(0, 3), st.sampled_from(READS), st.integers(0, 7), st.data())
def test_as_cpython(before: int, after: int, read: str, n: int, data: st.DataObject) -> None:
    """What there are too few of raises, of a tuple too, whose length is known."""
    f = define(before, after, read)
    kind = data.draw(st.sampled_from(("tuple", "array", "strided", "range", "down")))
    items = data.draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))
    x: Any = {
        "tuple": tuple(items),
        "array": np.array(items, dtype=np.int64),
        "strided": np.repeat(np.array(items, dtype=np.int64), 2)[::-2],
        "range": range(2, 2 + 3 * n, 3),
        "down": range(3, 3 - n, -1),
    }[kind]
    if n == before + after and read in ("b[0]", "b[-1]", "max(b)"):
        return  # of an empty list
    want = run(f, x)
    got = run(njit(f), x)
    assert same(want, got), (want, got)


def test_the_list_is_a_copy() -> None:
    """What is stored to the array afterwards is not in it; rows of a matrix are views."""

    def numbers(a):
        first, *rest = a
        a[1] = 100
        return first, rest[0], a[1]

    def rows(a):
        first, *rest = a
        rest[0][0] = 7
        a[2, 1] = 9
        return first.sum(), rest[0].sum(), rest[1].sum()

    for f, make in ((numbers, lambda: np.arange(4)), (rows, lambda: np.arange(9.0).reshape(3, 3))):
        a, b = make(), make()
        assert f(a) == njit(f)(b)
        np.testing.assert_array_equal(a, b)


def test_nested_and_in_loops() -> None:
    def f(pairs, m):
        s = 0.0
        for a, *b in m:
            s = s * 2 + a - sum(b)
        for (x, *y), z in zip(pairs, (1, 2)):
            s += x * z + len(y)
        (p, *q), *r = pairs
        return s, p, q[0], r[0][1]

    args = ((1, 2, 3), (4, 5, 6)), np.arange(12.0).reshape(3, 4)
    assert f(*args) == njit(f)(*args) == njit(parallel=True)(f)(*args)


def test_passed_on() -> None:
    def g(a, b, c):
        return a + 10 * b + 100 * c

    def f(t):
        a, *b = t
        return g(*b, a), b == [2, 3], b == (2, 3), b != (2, 3)

    assert f((1, 2, 3)) == njit(f)((1, 2, 3))


def test_in_prange_and_in_a_ufunc() -> None:
    @njit(parallel=True)
    def f(m, out):
        for i in prange(len(m)):
            a, *b, c = m[i]
            out[i] = a - c + sum(b)

    def plain(x):
        a, *b = (x, 2 * x, 3 * x)
        return a + b[0] * b[1]

    m, out = np.arange(40.0).reshape(8, 5), np.zeros(8)
    f(m, out)
    np.testing.assert_array_equal(out, m[:, 0] - m[:, 4] + m[:, 1:4].sum(axis=1))
    x = np.arange(5.0)
    np.testing.assert_array_equal(vectorize(plain)(x), plain(x))


def test_caught() -> None:
    def f(a):
        try:
            x, *y, z = a
            return x + z + len(y)
        except ValueError:
            return -1.0

    for n in range(4):
        assert f(np.arange(float(n))) == njit(f)(np.arange(float(n)))


@pytest.mark.parametrize(
    "body",
    [
        "return b",
        "b[0] = 7\n    return b, x[1]",
        "b.append(a)\n    return b",
        "b.extend(b[1:])\n    return b",
        "return b[int(a) + 1]",
        "return g(b)",
    ],
)
def test_what_asks_for_more_has_a_list(body: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def g(b):\n    return len(b)\ndef f(x):\n    a, *b = x\n    {body}\n", space)
    for x in (np.arange(4), range(4), (0, 1, 2, 3)):
        assert repr(njit(space["f"])(x)) == repr(space["f"](list(range(4)))), x
