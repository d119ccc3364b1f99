"""Heaps in lists, and places in what is sorted: heapq and bisect."""

from __future__ import annotations

import bisect
import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit

NUMBERS = st.lists(st.integers(-20, 20) | st.floats(-4, 4), max_size=40)


def steps(values, wishes):
    """What each step gives, and the heap after it."""
    heap = [0.0]
    heap.clear()
    out = [0.0]
    for k in range(len(values)):
        x, wish = values[k], wishes[k]
        if wish == 0 or len(heap) == 0:
            heapq.heappush(heap, x)
        elif wish == 1:
            out.append(heapq.heappop(heap))
        elif wish == 2:
            out.append(heapq.heapreplace(heap, x))
        else:
            out.append(heapq.heappushpop(heap, x))
        out.extend(heap)
    return out


compiled_steps = njit(steps)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 3)), max_size=60))
def test_heaps_are_cpythons_item_by_item(todo):
    values = np.array([x for x, _ in todo], np.float64)
    wishes = np.array([w for _, w in todo], np.int64)
    assert compiled_steps(values, wishes) == steps(values, wishes)


def made(values):
    heap = [x for x in values]  # noqa: C416 - a list in compiled code
    heapq.heapify(heap)
    return heap


compiled_made = njit(made)


@settings(deadline=None)
@given(NUMBERS)
def test_heapify(values):
    a = np.array(values, np.float64)
    assert compiled_made(a) == made(a)
    assert compiled_made(np.arange(3000) * 7919 % 1009) == made(np.arange(3000) * 7919 % 1009)


@njit
def from_empty(which):
    heap = [1]
    heap.clear()
    if which == 0:
        return heapq.heappop(heap)
    if which == 1:
        return heapq.heapreplace(heap, 3)
    return heapq.heappushpop(heap, 3)


def test_what_an_empty_heap_raises():
    for which in range(2):
        with pytest.raises(IndexError, match="^index out of range$"):
            from_empty(which)
    assert from_empty(2) == 3


def places(a, x, lo, hi):
    return (
        bisect.bisect(a, x),
        bisect.bisect_left(a, x),
        bisect.bisect_left(a, x, lo),
        bisect.bisect_right(a, x, lo, hi),
        bisect.bisect_right(a, x, hi=hi),
        bisect.bisect_left(a, x, key=lambda v: 2 * v),
    )


compiled_places = njit(places)


@settings(deadline=None)
@given(NUMBERS, st.floats(-5, 5), st.integers(0, 5), st.integers(-1, 5))
def test_bisect(values, x, lo, hi):
    a = np.sort(np.array([*values, 1.0, 2.0, 2.0, 3.0, 4.0], np.float64))
    assert compiled_places(a, x, lo, hi) == places(a, x, lo, hi)


def put(values, x):
    a = [v for v in values]  # noqa: C416 - a list in compiled code
    bisect.insort(a, x)
    bisect.insort_left(a, x + 1)
    bisect.insort_right(a, -x, 0, 1)
    return a


compiled_put = njit(put)


@settings(deadline=None)
@given(NUMBERS, st.floats(-5, 5))
def test_insort(values, x):
    a = np.sort(np.array(values, np.float64))
    assert compiled_put(a, x) == put(a, x)


def test_insort_with_a_key():
    @njit
    def f(x):
        a = [-1, 2, -5]
        bisect.insort(a, x, key=abs)
        return a

    assert f(4) == f.py_func(4)
    assert f(-1) == f.py_func(-1)


def test_where_to_look():
    for lo, hi, what, text in ((-1, 2, ValueError, "lo must be non-negative"), (0, 9, IndexError, "out of")):
        with pytest.raises(what, match=text):
            compiled_places(np.zeros(3), 1.0, lo, hi)


def test_a_function_of_the_users_under_the_name(monkeypatch):
    def heappush(heap, x):
        heap.append(x)

    monkeypatch.setattr(heapq, "heappush", heappush)

    @njit
    def f():
        a = [3]
        heapq.heappush(a, 1)
        return a

    assert f() == [3, 1]


def test_a_display_that_becomes_a_heap():
    @njit
    def nearest(edges, n, start):
        near = {}
        for u, v, w in edges:
            near.setdefault(u, []).append((v, w))
        dist = [np.inf] * n
        dist[start] = 0.0
        heap = [(0.0, start)]
        while heap:
            d, u = heapq.heappop(heap)
            for v, w in near.get(u, []):
                if d + w < dist[v]:
                    dist[v] = d + w
                    heapq.heappush(heap, (dist[v], v))
        return dist

    edges = [(0, 1, 2.0), (1, 2, 1.5), (0, 2, 7.0), (2, 3, 1.0)]
    assert nearest(edges, 4, 0) == nearest.py_func(edges, 4, 0)
