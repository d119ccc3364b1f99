"""Keyword-only parameters, their defaults, `**kw` in signatures and in calls, and displays of names with values."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import TypingError, UnsupportedError, njit, prange


def top(a, b=2, *, c, d=4):
    return a + 10 * b + 100 * c + 1000 * d


def collected(a, b=3, *more, k=5, **kw):
    s = 0
    for name, v in kw.items():
        s = s * 7 + v if name != "z" else s
    return a, b, more, k, len(kw), s, kw.get("z", -1), "q" in kw


def every_call(x):
    """All ways to leave arguments out."""
    return (
        top(x, c=3),
        top(1, 5, c=x, d=2),
        top(b=x, a=2, c=1),
        collected(x),
        collected(x, 1, 2, 3, k=x, z=4),
        collected(a=x, q=2, z=3, w=4),
        collected(**{"a": 1, "z": x}),
        collected(x, **{"b": 9, "q": x}, r=2),
    )


@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"inline": "always"}])
def test_functions_of_a_module(options: dict[str, Any]) -> None:
    assert every_call(6) == njit(**options)(every_call)(6)


def test_from_python() -> None:
    f = njit(top)
    for args, kw in [((1,), {"c": 2}), ((1, 2), {"c": 2, "d": 5}), ((), {"a": 1, "c": 2.5})]:
        assert f(*args, **kw) == top(*args, **kw)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'c'"):
        f(1)

    @njit
    def caller(x):
        return f(x, c=1), f(x, c=2, d=x)

    assert caller(3) == (top(3, c=1), top(3, c=2, d=3))


def closures(x, y):
    def g(a, b=x, *, k=y, m=3, n):
        return a + b * 10 + k * 100 + m * 1000 + n * 10000 + x

    def h(*, k=y):
        return k * y

    u = lambda a, *, s=x: a * s  # noqa: E731
    return g(1, n=2), g(1, 5, n=x, k=7), g(m=4, n=1, a=2), h(), h(k=9), u(3), u(3, s=4)


def test_defaults_of_inner_functions() -> None:
    for args in ((5, 2), (1.5, 3)):
        assert closures(*args) == njit(closures)(*args) == njit(inline="always")(closures)(*args)


def test_a_default_is_what_it_was_when_the_function_was_made() -> None:
    def f(n):
        k = n

        def g(*, k=k):
            return k

        s = g()
        k = s + 1
        return s, k, g(k=k)

    assert f(4) == njit(f)(4)


def handed_on(*args, **kw):
    return collected(*args, **kw)


def test_handed_on_and_in_prange() -> None:
    def f(x):
        return handed_on(x, z=3, q=2), handed_on(b=2, a=1), handed_on(1, 2, 3, 4, k=x)

    assert f(8) == njit(f)(8)

    @njit(parallel=True)
    def loop(out):
        for i in prange(len(out)):
            out[i] = collected(i, z=i, w=2)[6] + top(i, c=1)

    out = np.zeros(50)
    loop(out)
    assert list(out) == [collected(i, z=i, w=2)[6] + top(i, c=1) for i in range(50)]


NAMES = ("a", "b", "c", "d", "e")


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_drawn(data: st.DataObject) -> None:
    """Signatures and calls as they are drawn; what CPython refuses is refused when compiling."""
    npos, nkw = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 2))
    ndef = data.draw(st.integers(0, npos))
    star, kw = data.draw(st.booleans()), data.draw(st.booleans())
    params = [n if i < npos - ndef else f"{n}={i + 1}" for i, n in enumerate(NAMES[:npos])]
    params += ["*args"] if star else ["*"] if nkw else []
    params += [n if data.draw(st.booleans()) else f"{n}={i + 40}" for i, n in enumerate(NAMES[3 : 3 + nkw])]
    params += ["**kw"] if kw else []
    given_kw = data.draw(st.lists(st.sampled_from((*NAMES, "p", "q")), unique=True, max_size=4))
    call = [f"x + {i}" for i in range(data.draw(st.integers(0, 4)))]
    split = data.draw(st.integers(0, len(given_kw)))
    call += [f"{n}=x * {i + 2}" for i, n in enumerate(given_kw[:split])]
    if split < len(given_kw):
        call.append("**{" + ", ".join(f"'{n}': x - {i}" for i, n in enumerate(given_kw[split:])) + "}")
    seen = [*NAMES[:npos], *NAMES[3 : 3 + nkw]] + ["args"] * star + ["len(kw)", "kw.get('p', 0)"] * kw
    text = f"def f(x):\n    def g({', '.join(params)}):\n        return ({', '.join([*seen, 'x'])},)\n    return g({', '.join(call)})\n"
    space: dict[str, Any] = {}
    exec(text, space)
    try:
        want = space["f"](7)
    except TypeError:
        with pytest.raises(TypingError):
            njit(space["f"])(7)
        return
    assert njit(space["f"])(7) == want, text


def displays(x, a):
    d = {"a": x, "b": a, "a": x + 1}  # noqa: F601
    s = 0.0
    for k in d:
        s += 1.0 if k == "a" else 2.0
    for v in d.values():
        s += np.sum(v)
    return (
        s,
        d["a"],
        d["b"].sum(),
        len(d),
        "b" in d,
        "c" in d,
        d.get("c") is None,
        bool(d),
        list(d.keys()) == ["a", "b"] if False else 1,
    )


def test_displays_that_are_read() -> None:
    a = np.arange(3.0)
    assert displays(2, a) == njit(displays)(2, a) == njit(parallel=True)(displays)(2, a)


@pytest.mark.parametrize(
    "body, error, message",
    [
        ("return d['c']", TypingError, "the dictionary has no key 'c'"),
        ("return d[x]", TypingError, "the dictionary has no key int64"),
        ("return g(**x)", UnsupportedError, r"a call with \*\* of int64"),
        ("return g(a=x, **d)", TypingError, r"g\(\) got multiple values for keyword argument 'a'"),
        ("return g(b=x, **d)", TypingError, r"g\(\) got an unexpected keyword argument"),
        ("return g(1, **d)", TypingError, r"g\(\) got multiple values for argument 'a'"),
    ],
)
def test_mistakes(body: str, error: type, message: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def g(a):\n    return a\ndef f(x):\n    d = {{'a': x}}\n    {body}\n", space)
    with pytest.raises(error, match=message):
        njit(space["f"])(3)


@njit
def of_python(a, /, *rest, b=3, **named):
    s = a + b
    for x in rest:
        s = s * 2 + x
    if "c" in named:
        s = s * 10 + named["c"]
    return s, len(named)


@settings(deadline=None)
@given(
    st.integers(-5, 5),
    st.lists(st.integers(-5, 5), max_size=2),
    st.dictionaries(st.sampled_from("abcde"), st.integers(-9, 9) | st.floats(-2, 2), max_size=4),
)
def test_called_by_python(a, rest, named):
    assert of_python(a, *rest, **named) == of_python.py_func(a, *rest, **named)


def test_what_named_arguments_may_be():
    @njit
    def f(**k):
        return k["a"].sum() + k["t"][1], k["n"] is None, k["s"] == "x", inner(**k)

    def inner(a, **more):
        return a[0], len(more)

    a = np.arange(4.0)
    assert f(a=a, t=(1, 2), n=None, s="x") == f.py_func(a=a, t=(1, 2), n=None, s="x")
    assert f(a=a, t=(1, 2), n=3, s="y") == f.py_func(a=a, t=(1, 2), n=3, s="y")


def test_what_is_said_of_named_arguments():
    with pytest.raises(TypeError, match=r"of_python\(\): argument 'q' is a value of type object"):
        of_python(1, q=object())
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'a'"):
        of_python(c=2)

    @njit
    def asks(**k):
        return k["b"]

    with pytest.raises(treadle.TypingError, match="KeyError: the dictionary has no key 'b'"):
        asks(a=1)
    assert asks(b=2.5) == 2.5

    with pytest.raises(TypeError, match="operands of a ufunc"):
        treadle.vectorize(lambda x, **k: x)(1.0)


def test_named_arguments_in_every_way():
    @njit(cache=True)
    def cached(n, **k):
        return n * k["v"]

    @njit(parallel=True)
    def on_all_cores(n, **k):
        out = np.zeros(n)
        for i in prange(n):
            out[i] = k["v"][i] * 2
        return out

    @njit(fastmath=True)
    def caller(n, **k):
        return cached(n, **k) + cached(n, v=1)

    assert cached(3, v=2) == 6
    assert caller(3, v=2.5) == 10.5
    np.testing.assert_array_equal(on_all_cores(100, v=np.arange(100.0)), 2 * np.arange(100.0))
    f = pickle.loads(pickle.dumps(of_python))
    assert f(1, c=4) == of_python(1, c=4)
    assert str(inspect.signature(of_python)) == "(a, /, *rest, b=3, **named)"


def test_displays_of_other_names_are_of_other_types():
    """They once had a type in common, in which no name was known."""

    def f(n):
        s = 0
        for m in ({"k": n}, {"j": 1}):
            if "k" in m:
                s += m["k"]
        return s

    def g(n):
        s = 0
        for m in [{"k": n}, {"j": 1}]:
            s += m.get("k", 10)
        return s

    assert njit(f)(5) == 5 and njit(g)(5) == 15
