"""Texts of containers: str(), repr(), print() and f-strings are CPython's, whatever lies in the container."""

from __future__ import annotations

import collections
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange
from treadle.errors import UnsupportedError

Point = collections.namedtuple("Point", "x y")


@njit
def texts(x):
    return str(x), repr(x), f"{x} and {x!r}", f"{(x, 1)}"


@njit
def printed(x):
    print(x, "|", (x, None), sep="", end="!\n")


@njit
def raises(x):
    raise ValueError(f"bad: {x}")


LEAVES = [
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.complex_numbers(),
    st.text("a'\"\\\n\té\x00𝔸\ud800", max_size=4),
    st.tuples(st.integers(0, 9)),
    st.tuples(st.booleans(), st.text("ab'", max_size=2)),
    st.none() | st.floats(0, 9),
]
KEYS = [st.integers(-9, 9), st.text("ab'é", max_size=2), st.tuples(st.integers(0, 9), st.integers(0, 9))]


@st.composite
def containers(draw, depth=3):
    inner = draw(st.sampled_from(LEAVES))
    for _ in range(draw(st.integers(1, depth))):
        kind = draw(st.sampled_from(["list", "list", "dict", "tuple"]))
        if kind == "list":
            inner = st.lists(inner, max_size=3)
        elif kind == "dict":
            inner = st.dictionaries(draw(st.sampled_from(KEYS)), inner, max_size=3)
        else:
            inner = st.tuples(inner, st.integers(0, 3)).map(lambda t: [t])
    return draw(inner)


@settings(max_examples=60, deadline=None)
@given(containers())
def test_as_cpython_s(x):
    try:
        ours = texts(x)
    except TypeError as e:  # such items have no type in common: [None, ...] and the like in dicts
        assert "type in common" in str(e) or "to have one" in str(e)
        return
    assert ours == texts.py_func(x)


@pytest.mark.parametrize(
    "x",
    [
        [],
        {},
        set(),
        [[]],
        [1],
        {1},
        {"a'b"},
        {1: [2.5, float("nan")], 2: []},
        [(1, "x"), (2, "y")],
        [None, 1],
        [True, False],
        [1j, -0.0 + 2j],
        [Point(1, [2]), Point(3, [])],
        {(1, 2): {3: "é"}},
        [np.float32(0.1), np.float32(2)],
        [{"a": {1}}, {}],
        (1,),
        ([1],),
        list(range(1000)),
        ["x" * 5000, "\n" * 3],
    ],
    ids=lambda x: repr(x)[:20],
)
def test_by_hand(x, capfd):
    if isinstance(x, list) and x and isinstance(x[0], np.float32):  # Python's own numbers, as it gets them
        plain = [float(str(i)) for i in x]
        assert texts(x)[0] == str(plain)
        return
    assert texts(x) == texts.py_func(x)
    printed(x)
    ours = capfd.readouterr().out
    printed.py_func(x)
    assert ours == capfd.readouterr().out
    with pytest.raises(ValueError) as e:
        raises(x)
    assert e.value.args == (f"bad: {x}",)


def test_what_is_made_here():
    def f(n):
        l, d, s, o = [], {}, set(), None
        for i in range(n):
            l.append((i, str(i)))
            d[i] = [l[-1]]
            s.add("k")
            o = [i]
        w = "text" if n > 1 else None
        c = {"a": 1, "b": n}
        return [
            f"{l}{d}{s}{o}{w}{w!r}",
            str(d.keys()) + str(d.values()) + str(d.items()),
            str(c),
            str([n, 2.5]),
            f"{[[n], []]!r:}",
            str([x * 2 for x in range(n)]),
            repr([w for _ in range(n)]),
            "sum " + str([n]) + "!",
        ]

    for n in (0, 1, 3):
        assert njit(f)(n) == f(n)


def test_a_set_s_items_come_in_the_order_in_which_they_came():
    @njit
    def f():
        s = {9, 1}
        s.add(5)
        s.discard(9)
        return str(s)

    assert f() == "{1, 5}"


def test_in_parallel_and_in_what_a_function_calls():
    @njit
    def one(i):
        return str([i, i + 1])

    @njit(parallel=True)
    def f(n):
        total = 0
        for i in prange(n):
            total += len(str([i])) + len(one(i))
        return total

    assert f(100) == sum(len(str([i])) + len(str([i, i + 1])) for i in range(100))


def test_on_a_small_stack_and_caught(capfd):
    @njit
    def f(l):
        try:
            raise KeyError(str(l))
        except KeyError:
            print(l)
        return f"{l}"

    out = []
    was = threading.stack_size(256 * 1024)
    try:
        t = threading.Thread(target=lambda: out.append(f([[1], [2]])))
        t.start()
        t.join()
    finally:
        threading.stack_size(was)
    assert out == ["[[1], [2]]"] and capfd.readouterr().out == "[[1], [2]]\n"


def test_what_has_no_text():
    with pytest.raises(UnsupportedError, match="made of an array"):
        njit(lambda a: str([a]))(np.ones(2))
    with pytest.raises(UnsupportedError, match="text made of"):
        njit(lambda l: str([enumerate(l)]))([1])
