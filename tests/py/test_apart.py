"""`out[:] = expression`: what may be stored at once, and what has to be read first because the arrays overlap."""

import itertools

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit, prange


def store(o, a, b):
    o[:] = a * 2 + b


def add(o, a, b):
    o += a * b - a


def three(o, a, b):
    o[...] = a + b
    a[...] = o * 2 - b
    b[...] = o + a


def ufunc_out(o, a, b):
    np.multiply(a + b, b, o)


def part(o, a, b):
    o[1:-1] = a[:-2] + b[2:] * a[1:-1]


def running(o, a, b):
    o[...] = np.cumsum(a * b) if o.ndim == 1 else a - b


def inside(o, a, b):
    for i in prange(1):
        o[...] = a * 2 + b


FUNCTIONS = {f.__name__: f for f in (store, add, three, ufunc_out, part, running)}
COMPILED = {
    (name, parallel): njit(parallel=parallel)(f)
    for name, f in FUNCTIONS.items()
    for parallel in (False, True)
}
# Views of 24 numbers, ten each.
VIEWS = {
    "first": lambda x: x[:10],
    "first again": lambda x: x[:10],
    "next": lambda x: x[1:11],
    "far": lambda x: x[14:],
    "every second": lambda x: x[:20:2],
    "the others": lambda x: x[1:20:2],
    "backwards": lambda x: x[9::-1],
    "repeated": lambda x: np.broadcast_to(x[3:4], 10),
    "four bytes": lambda x: x.view("i4")[:20:2] if x.itemsize == 8 else x[2:12],
}
MATRICES = {
    "whole": lambda x: x[:16].reshape(4, 4),
    "transposed": lambda x: x[:16].reshape(4, 4).T,
    "next": lambda x: x[4:20].reshape(4, 4),
    "columns": lambda x: x.reshape(6, 4)[:4],
    "wide": lambda x: x.reshape(4, 6)[:, :4],
    "wide, far": lambda x: x.reshape(4, 6)[:, 2:],
    "row": lambda x: x[None, :4],
}


def outcome(f, views, pick, dtype):
    base = (np.arange(24) * 7 % 11 + 1).astype(dtype)
    o, a, b = (views[k](base) for k in pick)
    f(o, a, b)
    return base.tobytes()


def check(name, views, pick, dtype):
    o = pick[0] if name != "three" else pick
    if "repeated" in o or "row" in o:
        return  # not to be written, or too small for what is stored
    want = outcome(FUNCTIONS[name], views, pick, dtype)
    for parallel in (False, True):
        assert outcome(COMPILED[name, parallel], views, pick, dtype) == want


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_lines(name):
    for o, a in itertools.product(VIEWS, repeat=2):
        check(name, VIEWS, (o, a, "far"), "i8")


@pytest.mark.parametrize("name", ["store", "add", "three", "ufunc_out"])
def test_matrices(name):
    for o, a in itertools.product(MATRICES, repeat=2):
        check(name, MATRICES, (o, a, o), "f8")


@settings(max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_any(data):
    table, dtype = data.draw(st.sampled_from([(VIEWS, "i8"), (MATRICES, "f8")]))
    names = sorted(FUNCTIONS) if table is VIEWS else ["store", "add", "three", "ufunc_out"]
    pick = data.draw(st.tuples(*[st.sampled_from(sorted(table))] * 3))
    check(data.draw(st.sampled_from(names)), table, pick, dtype)


@pytest.mark.parametrize("f", [store, add])
def test_no_array_is_made(f):
    g = njit(f)
    o, a, b = np.ones(100), np.ones(100), np.ones(100)
    for args in ((o, a, b), (o, o, b), (o, o, o)):
        g(*args)
        before = treadle.stats()["arrays_allocated"]
        g(*args)
        assert treadle.stats()["arrays_allocated"] == before
    g(o[1:], o[:-1], b[1:])
    before = treadle.stats()["arrays_allocated"]
    g(o[1:], o[:-1], b[1:])
    assert treadle.stats()["arrays_allocated"] > before


def test_in_a_loop_over_a_prange():
    g, h = njit(parallel=True)(inside), njit(inside)
    for pick in (("first", "first", "far"), ("first", "next", "first"), ("backwards", "first", "next")):
        want = outcome(inside, VIEWS, pick, "f8")
        assert outcome(g, VIEWS, pick, "f8") == outcome(h, VIEWS, pick, "f8") == want


def test_sizes_that_repeat_and_sizes_that_do_not_fit():
    g = njit(store)
    o, a = np.zeros(6), np.arange(6.0)
    g(o, a[:1], a)
    np.testing.assert_array_equal(o, a)
    g(o, o[2:3], o)
    np.testing.assert_array_equal(o, a + 4)
    with pytest.raises(ValueError, match="broadcast"):
        g(o, a[:4], a)
    g(o[:0], a[:0], a[:0])


def test_what_was_read_before_stays_as_it_was():
    """A pattern between two that are merged still reads what was there."""

    def f(o, a, b):
        t = a * 2
        s = o.sum()
        o[:] = t + b
        return s, o.sum(), t.sum()

    g = njit(f)
    for pick in itertools.product(["first", "next", "every second"], repeat=3):
        base, other = np.arange(24.0), np.arange(24.0)
        want = f(*(VIEWS[k](base) for k in pick))
        got = g(*(VIEWS[k](other) for k in pick))
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(other, base)
