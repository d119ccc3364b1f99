"""prange loops in which all iterations read a place that one of them writes, as the row k of Floyd and Warshall's: that iteration runs by itself,
those before it before, and those after it after.

Iterations that run on all cores do so one by one, the last one first, so whatever depends on their order shows; an element of `last` tells
it, to which all of them write their numbers, at an index that an array says.
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import _core, get_num_threads, njit, prange, set_num_threads


@pytest.fixture(autouse=True)
def backwards():
    _core._pool_grain(1, True)
    yield
    _core._pool_grain(0)


def items(a, b, lo, hi, step, t, u, last, at):
    s = 0
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        a[i] = a[i] - a[t] * 3
        s += i
    return s


def rows(a, b, lo, hi, step, t, u, last, at):
    s = 0
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        for j in range(b.shape[1]):
            b[i, j] = b[i, u] - b[t, j] * 3
        s = max(s, i * i)
    return s


def whole_rows(a, b, lo, hi, step, t, u, last, at):
    s = 1.5
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        b[i] = b[i] - b[t] * 3
        s += i / 7
    return s


def columns(a, b, lo, hi, step, t, u, last, at):
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        for j in range(b.shape[0]):
            b[j, i] = b[j, i] - b[j, t] * 3


def two(a, b, lo, hi, step, t, u, last, at):
    s = 0
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        a[i] = a[i] - a[t] * 3 + a[u]
        s += i
    return s


def three(a, b, lo, hi, step, t, u, last, at):
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        a[i] = a[i] - a[t] * 3 + a[u] - a[t + u]


def pairs(a, b, lo, hi, step, t, u, last, at):
    """Of two items, of which one is read: one iteration writes it; or of two, which perhaps two iterations do."""
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        a[2 * i : 2 * i + 2] -= a[2 * t : 2 * t + u].sum()


def where_it_pays(a, b, lo, hi, step, t, u, last, at):
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        if a[i] > a[t]:
            a[i] = a[t] - 1


def of_a_view(a, b, lo, hi, step, t, u, last, at):
    c = a[::-1]
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        c[i] = c[i] - a[t] * 3


def caught(a, b, lo, hi, step, t, u, last, at):
    s = 0
    try:
        for i in prange(lo, hi, step):
            last[at[0]] = last[at[0]] * 16 + i + 3
            if a[i] == 5 + u:
                raise ValueError
            a[i] = a[i] - a[t] * 3
    except ValueError:
        s = 1
    return s


def one_place(a, b, lo, hi, step, t, u, last, at):
    """An array that is accumulated into besides."""
    for i in prange(lo, hi, step):
        last[at[0]] = last[at[0]] * 16 + i + 3
        b[0, 0] += i
        a[i] = a[i] - a[t] * 3


FORMS = [items, rows, whole_rows, columns, two, three, pairs, where_it_pays, of_a_view, one_place]
COMPILED = {f: njit(parallel=True)(f) for f in [*FORMS, caught]}


def went(f, lo, hi, step, t, u):
    """In which order iterations ran; what they store and return is what it is in order."""
    mine, theirs = ((np.arange(16.0) + 1, np.arange(16.0 * 16).reshape(16, 16)) for _ in range(2))
    last, at = np.array([1]), np.zeros(1, np.int64)
    result = expected = raised = None
    try:
        expected = f(*theirs, lo, hi, step, t, u, np.array([0]), at)
    except IndexError:
        raised = IndexError
    with contextlib.suppress(IndexError) if raised else contextlib.nullcontext():
        result = COMPILED[f](*mine, lo, hi, step, t, u, last, at)
        assert raised is None
    if raised is None:
        assert result is None or result == pytest.approx(expected)
        np.testing.assert_array_equal(mine[0], theirs[0])
        np.testing.assert_array_equal(mine[1], theirs[1])
    return [int(c, 16) - 3 for c in f"{last[0]:x}"[1:]]


def parts(numbers, *alone):
    """The order of iterations with these numbers, of which those of `alone` run by themselves."""
    out, part = [], []
    for i in [*numbers, None]:
        if i in alone or i is None:
            out += [*reversed(part), *([] if i is None else [i])]
            part = []
        else:
            part.append(i)
    return out


@pytest.mark.parametrize("f", FORMS)
@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(-3, 9),
    st.integers(-3, 9),
    st.sampled_from([1, 1, 2, 3, -1, -2]),
    st.integers(-4, 12),
    st.integers(-2, 9),
)
def test_what_it_makes_is_what_it_makes_in_order(f, lo, hi, step, t, u):
    went(f, lo, hi, step, t, u)


@pytest.mark.parametrize("f", [items, rows, whole_rows, columns, where_it_pays, of_a_view])
@pytest.mark.parametrize("t", range(10))
def test_it_runs_on_all_cores_before_and_after_that_iteration(f, t):
    meets = 15 - t if f is of_a_view else t
    for numbers in range(2, 8), range(8, 2, -1), range(1, 9, 3), range(0, 9):
        assert went(f, numbers.start, numbers.stop, numbers.step, t, 0) == parts(numbers, meets)


def test_two_such_iterations_and_more():
    n = range(9)
    assert went(two, 0, 9, 1, 3, 5) == went(two, 0, 9, 1, 5, 3) == parts(n, 3, 5)
    assert went(two, 0, 9, 1, 4, 4) == parts(n, 4)
    assert went(two, 0, 9, 1, 4, 5) == parts(n, 4, 5)
    assert went(two, 0, 9, 1, 12, 3) == parts(n, 3)
    assert went(three, 0, 9, 1, 2, 4) == list(n)
    assert went(three, 0, 9, 1, 4, 0) == parts(n, 0, 4)
    assert went(three, 0, 9, 1, 4, 11) == parts(n, 4)
    assert went(pairs, 0, 7, 1, 3, 2) == parts(range(7), 3)
    assert went(pairs, 0, 7, 1, 3, 3) == list(range(7))
    assert went(one_place, 0, 9, 1, 4, 0) == list(n)


@pytest.mark.parametrize("t", [-5, -1])
def test_a_place_that_counts_from_the_end(t):
    for f in items, rows, whole_rows:
        assert went(f, 0, 12, 1, t, 0) == parts(range(12), 16 + t)


@pytest.mark.parametrize("u", range(8))
@pytest.mark.parametrize("t", [1, 4])
def test_an_exception_that_is_caught(t, u):
    """Of iterations before the one that raises all have run; others may have."""
    a, b, last, at = np.arange(9.0) + 1, np.zeros((1, 1)), np.array([0]), np.zeros(1, int)
    theirs = a.copy()
    assert COMPILED[caught](a, b, 0, 9, 1, t, u, last, at) == caught(
        theirs, b, 0, 9, 1, t, u, np.array([0]), at
    )
    if 4 + u < t or u == 5:
        np.testing.assert_array_equal(a[: 4 + u], theirs[: 4 + u])


def shortest(d):
    for k in range(len(d)):
        for i in prange(len(d)):
            for j in range(len(d)):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def test_shortest_ways(threads):
    """From a compiled caller, inlined, in a prange loop, of rows that are strided."""
    f = njit(parallel=True)(shortest)

    @njit(parallel=True)
    def each(d):
        for q in prange(len(d)):
            f(d[q])

    # A way back may be of less than no length, so that row k changes while it is read.
    d = np.random.default_rng(5).integers(-1, 9, (3, 12, 24))[:, :, ::2].astype(float)
    want = d.copy()
    for q in range(3):
        shortest(want[q])
    one, many = d.copy(), d.copy()
    f(one[0])
    each(many)
    np.testing.assert_array_equal(one[0], want[0])
    np.testing.assert_array_equal(many, want)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    assert "one iteration that goes where others go runs by itself" in text.getvalue()


@pytest.mark.parametrize("t", [0, 777, 4999, 6000])
def test_sums_do_not_depend_on_the_number_of_threads(t):
    _core._pool_grain(0)

    @njit(parallel=True)
    def f(a, t):
        s = 0.0
        for i in prange(5000):
            a[i] = np.sqrt(a[i] + a[t])
            s += a[i]
        return s

    sums, most = set(), get_num_threads()
    for n in range(1, most + 1):
        set_num_threads(n)
        sums.add(f(np.random.default_rng(1).random(7000), t))
    assert len(sums) == 1 and get_num_threads() == most
