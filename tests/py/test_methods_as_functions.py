"""Methods as functions: of a class, `str.upper`, of an object, `d.get`, by a name, and what they are given to."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import TypingError, njit, prange

WORDS = st.lists(st.text("abAB 1,", max_size=4), min_size=1, max_size=5)


def of_words(l):
    upper = str.upper
    return (
        list(map(str.lower, l)),
        [upper(x) for x in l],
        sorted(l, key=str.lower),
        list(filter(str.isdigit, l)),
        max(l, key=str.swapcase),
        list(map(str.split, l, [","] * len(l))),
        str.join(";", l),
        str.replace(l[0], "a", "b"),
        sorted(l, key=len),
        list(map(operator.methodcaller("count", "a"), l)),
        [operator.methodcaller("split", ",", maxsplit=1)(x) for x in l],
    )


@settings(deadline=None, max_examples=30)
@given(WORDS)
def test_of_strings(l: list[str]) -> None:
    assert JITTED[of_words](l) == of_words(l)


def of_dicts(d):
    get, has = d.get, d.__contains__
    most = max(d, key=d.get)
    return (
        most,
        min(d, key=d.__getitem__),
        sorted(d, key=d.get),
        sorted(d, key=d.get, reverse=True),
        max(d.items(), key=operator.itemgetter(1)),
        get("q", 7),
        has("a"),
        d.__len__(),
        dict.get(d, most),
        list(dict.keys(d)),
    )


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(-3, 3), min_size=1))
def test_of_dicts(d: dict[str, int]) -> None:
    assert JITTED[of_dicts](d) == of_dicts(d)


def of_lists(ls):
    out = []
    append = out.append
    for l in ls:
        append(sum(l))
    list.append(out, 5)
    order = sorted(range(len(out)), key=out.__getitem__)
    return (
        out,
        order,
        list(map(list, ls)),
        list(map(list, zip(ls[0], ls[-1]))),
        list(map(tuple, [(1, 2)])),
        [list.copy(l) for l in ls],
        list(map(len, ls)),
        max(ls, key=len),
        min(ls, key=sum),
        max(ls),
        sum(ls, []),
        sum(([l[0]] if l else [] for l in ls), [0]),
        max([set(l) for l in ls], key=len),
    )


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(-3, 3), max_size=3), min_size=1, max_size=4))
def test_of_lists(ls: list[list[int]]) -> None:
    assert JITTED[of_lists](ls) == of_lists(ls)


JITTED = {f: njit(f) for f in (of_words, of_dicts, of_lists)}


def of_arrays(n):
    l = [np.arange(float(i)) for i in range(n)]
    return max(l, key=len), min(l, key=lambda a: -a.sum()), max(l, key=np.size)


def test_of_arrays():
    for x, y in zip(njit(of_arrays)(4), of_arrays(4)):
        assert np.array_equal(x, y)


def raising(n):
    return max([[i] for i in range(n)], key=lambda x: 6 // (x[0] - 2))


@njit(parallel=True)
def in_a_loop(n):
    out = np.zeros(n, np.int64)
    for i in prange(n):
        d = {j: (j * 7) % 5 for j in range(i % 6 + 1)}
        out[i] = max(d, key=d.get) * 10 + len(max([[j] * (j % 3) for j in range(i + 1)], key=len))
    return out


def test_nothing_is_left():
    before = treadle.stats()
    f = njit(raising)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            f(5)
    assert f(2) == raising(2)
    assert list(in_a_loop(30)) == list(in_a_loop.py_func(30))
    after = treadle.stats()
    assert len({s["arrays_allocated"] - s["arrays_freed"] for s in (before, after)}) == 1


def test_mistakes():
    with pytest.raises(TypingError, match=r"descriptor 'upper' for .*str.* doesn't apply to int64"):
        njit(lambda n: str.upper(n))(1)
    with pytest.raises(TypingError, match="has no attribute 'nothing'"):
        njit(lambda n: str.nothing("a"))(1)
    with pytest.raises(TypingError, match="needs an argument"):
        njit(lambda n: str.upper())(1)
    with pytest.raises(TypeError, match="NoneType"):
        njit(lambda l: sorted(l, key={1: 2}.get))([1, 3])
    with pytest.raises(TypingError, match="can only concatenate list"):
        njit(lambda n: sum([(1, n)], [n]))(1)
