"""functools.partial of functions: made in compiled code, as a global or in a closure, of partials, of builtins; against CPython."""

from __future__ import annotations

import functools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import TypingError, njit, prange, vectorize

A = np.arange(5.0)


@njit
def weigh(a, b=2, *, c=3, d=4):
    return a + 10 * b + 100 * c + 1000 * d


def plain(*args, **kw):
    s = 0
    for i, x in enumerate(args):
        s += (i + 1) * x
    return s + (100 * kw["k"] if "k" in kw else 0) + 1000 * len(kw)


HALF = partial(weigh, 0.5)
NAMED = partial(weigh, c=7, d=1)
NESTED = partial(partial(partial(plain, 1), 2, k=3), k=4, z=5)
POWER = partial(pow, 2)
ADDED = partial(np.add, A)


def of_globals(x):
    return (
        HALF(),
        HALF(x),
        HALF(x, d=x),
        NAMED(x),
        NAMED(1, x, d=2),
        NESTED(x),
        NESTED(x, z=1),
        POWER(x),
        ADDED(x).sum(),
    )


def made(x, a):
    p = functools.partial(weigh, x, d=x)
    q = partial(p, 3, d=9)
    r = partial(lambda y, z: x * y - z, z=a[1])
    m = partial(math.pow, 2.0)
    s = partial(np.sum, a)
    return p(), p(c=1), q(), q(c=x), r(5), r(z=1, y=2), m(x), s(), p.args[0], p.keywords["d"], p.func(1)


@pytest.mark.parametrize(
    "f, args", [(of_globals, (3,)), (of_globals, (2.5,)), (made, (4, A))], ids=["ints", "floats", "made"]
)
def test_as_cpython(f: Any, args: tuple) -> None:
    want = f(*args)
    for options in ({}, {"parallel": True}, {"inline": "always"}):
        assert njit(**options)(f)(*args) == want
    g = njit(f)
    assert njit(lambda *t: g(*t))(*args) == want


def test_in_loops_in_prange_and_in_a_ufunc() -> None:
    @njit(parallel=True)
    def f(out):
        p = partial(weigh, c=len(out))
        for i in prange(len(out)):
            out[i] = p(i) + HALF(i)

    def scalar(x):
        return partial(weigh, x, c=1)(2) + HALF(x)

    def mapped(a):
        return sum(map(partial(weigh, 1.0), a)) + sum([g(2) for g in (HALF, HALF)])

    out = np.zeros(20)
    f(out)
    assert list(out) == [weigh.py_func(i, c=20) + weigh.py_func(0.5, i) for i in range(20)]
    x = np.arange(4.0)
    np.testing.assert_array_equal(vectorize(scalar)(x), [scalar(v) for v in x])
    assert njit(mapped)(A) == mapped(A)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_drawn(data: st.DataObject) -> None:
    """Partials of partials; what CPython refuses is refused when compiling."""
    text, of = "def f(x):\n", "g"
    for i in range(data.draw(st.integers(1, 3))):  # each has a name of its own: a variable has one type
        pos = [f"x + {i}"] * data.draw(st.integers(0, 1))
        named = data.draw(st.lists(st.sampled_from("abcdk"), unique=True, max_size=2))
        kw = [f"{n}={i + j}" for j, n in enumerate(named)]
        text += f"    p{i} = partial({', '.join([of, *pos, *kw])})\n"
        of = f"p{i}"
    last = [f"{n}=x" for n in data.draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=2))]
    text += f"    return {of}({', '.join(['x'] * data.draw(st.integers(0, 1)) + last)})\n"
    space: dict[str, Any] = {"partial": partial, "g": weigh.py_func}
    exec(text, space)
    try:
        want = space["f"](3)
    except TypeError:
        with pytest.raises(TypingError):
            njit(space["f"])(3)
        return
    assert njit(space["f"])(3) == want, text


def test_mistakes() -> None:
    def wrong(x):
        return HALF(x, 2, 3)

    def twice(x):
        return HALF(a=x)

    def none(x):
        return partial(x)(1)

    with pytest.raises(TypingError, match=r"weigh\(\) takes 2 positional arguments but 4 were given"):
        njit(wrong)(1)
    with pytest.raises(TypingError, match=r"weigh\(\) got multiple values for argument 'a'"):
        njit(twice)(1)
    with pytest.raises(TypingError, match="int64 is not callable"):
        njit(none)(1)
    assert njit(lambda x: HALF)(1)(2) == HALF(2)
