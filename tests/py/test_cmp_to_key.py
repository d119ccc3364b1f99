"""functools.cmp_to_key: objects in the order of a function of two, against CPython; itertools.batched."""

from __future__ import annotations

import functools
import heapq
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import TreadleError, njit, prange
from treadle._library.iterators import batched


def by_digit(a, b):
    return a % 10 - b % 10


def by_length(a, b):
    return len(a) - len(b) if len(a) != len(b) else (a > b) - (a < b)


def in_all_ways(l, n):
    def around(a, b):
        return abs(a - n) - abs(b - n)

    key = functools.cmp_to_key(around)
    own = l[:]
    own.sort(key=functools.cmp_to_key(by_digit), reverse=True)
    x, y = key(l[0]), key(n)
    return (
        sorted(l, key=functools.cmp_to_key(lambda a, b: b - a)),
        sorted(l, key=key),
        own,
        min(l, key=key),
        max(l, key=key),
        heapq.nsmallest(2, l, key=key),
        (x < y, x <= y, x == y, x != y, x > y, x >= y, x.obj),
        [k.obj for k in sorted([key(x) for x in l])],
    )


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=12), st.integers(-9, 9))
def test_numbers(l: list[int], n: int) -> None:
    assert compiled(l, n) == in_all_ways(l, n)


compiled = njit(in_all_ways)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.text("abé", max_size=4), min_size=1, max_size=8))
def test_strings(l: list[str]) -> None:
    def f(l):
        return sorted(l, key=functools.cmp_to_key(by_length)), max(l, key=functools.cmp_to_key(by_length))

    assert njit(f)(l) == f(l)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (
            lambda l: sorted(l, key=functools.cmp_to_key(lambda a, b: a[1] - b[1])),
            ([(1, 5.5), (2, -1.0), (3, 5.5)],),
        ),
        (lambda l: sorted(l, key=functools.cmp_to_key(lambda a, b: a[0] > b[0])), ([[3], [1], [2]],)),
        (lambda l: sorted(l, key=functools.cmp_to_key(lambda a, b: 0)), ([3.0, 1.0, 2.0],)),
    ],
)
def test_other_items(f, args):
    assert njit(f)(*args) == f(*args)


def test_a_comparison_that_raises_leaves_the_list():
    def cmp(a, b):
        if a == 3:
            raise ValueError("three")
        return a - b

    @njit
    def f(l):
        l.sort(key=functools.cmp_to_key(cmp))

    l = [5, 3, 1]
    with pytest.raises(ValueError, match="three"):
        f(l)
    assert l == [5, 3, 1]


def test_what_is_no_such_object():
    with pytest.raises(TreadleError, match="other argument must be K instance"):
        njit(lambda a: functools.cmp_to_key(by_digit)(a) < a)(1)
    with pytest.raises(TreadleError):
        njit(lambda a: functools.cmp_to_key(by_digit)(a))(1)


def test_in_parallel():
    @njit(parallel=True)
    def f(n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            l = [(k * 7 + i) % 11 for k in range(6)]
            out[i] = sorted(l, key=functools.cmp_to_key(lambda a, b: b - a))[i % 6]
        return out

    assert list(f(40)) == list(f.py_func(40))


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(0, 9), max_size=9))
def test_batches(l: list[int]) -> None:
    """Python has it from 3.12 on, `strict` from 3.13 on."""

    def f(l):
        return [x for x in batched(l, 3, strict=True)]

    def run(f: Any) -> Any:
        try:
            return f(l)
        except ValueError as e:
            return str(e)

    if l:
        want = [tuple(l[k : k + 3]) for k in range(0, len(l), 3)]
        assert run(njit(f)) == (want if len(l) % 3 == 0 else "batched(): incomplete batch")


def test_batches_of_no_known_length():
    with pytest.raises(TreadleError, match="strict=True"):
        njit(lambda l: [x for x in batched(l, 2)])([1, 2])
    with pytest.raises(TreadleError, match="known when the function compiles"):
        njit(lambda l, n: [x for x in batched(l, n, strict=True)])([1, 2], 2)
