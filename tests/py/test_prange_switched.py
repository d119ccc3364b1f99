"""Variables that all iterations of a prange loop assign, or none, by a condition that the loop does not change. The oracle is Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import UnsupportedError, njit, prange


def scalar(a, c, d, out):
    k = 10
    for i in prange(len(a)):
        if c:
            k = a[i]
        out[i] = k


def otherwise(a, c, d, out):
    k = 10
    for i in prange(len(a)):
        if not c:
            k = a[i] + 1
        if c:
            out[i] = k
        else:
            out[i] = k * 2


def choice(a, c, d, out):
    k = 10
    for i in prange(len(a)):
        k = a[i] if c else k
        out[i] = k


def rows(a, c, d, out):
    row, text = np.full(3, 7), "abc"
    for i in prange(len(a)):
        for j in range(i % 4):
            if c:
                row = np.full(a[i] + 1, j)
                text = "y" * a[i]
            out[i] += row.sum() + len(text)


def before(a, c, d, out):
    if d:
        k = 3
    else:
        k = 4
    for i in prange(len(a)):
        if c:
            k = a[i]
            for _ in range(2):
                k += 1
        out[i] = k


def two(a, c, d, out):
    k, m = 1, [2, 3]
    for i in prange(len(a)):
        if c:
            k = a[i]
        if d:
            m = [k, a[i]]
        out[i] = k + m[0] + 10 * m[1]


def count(a, c, d, out):
    k = 5
    for i in prange(len(a)):
        if len(a) > 7:
            k = a[i] // 2
        out[i] = k


def unbound(a, c, d, out):
    if not c:
        k = np.full(2, 6)
    for i in prange(len(a)):
        for j in range(a[i]):
            if c:
                k = np.full(2, j)
            out[i] += k[0]


def never_bound(a, c, d, out):
    if d:
        k = 3
    for i in prange(len(a)):
        if c:
            k = a[i]
        out[i] = k


def raises(a, c, d, out):
    k = 5
    for i in prange(len(a)):
        if c:
            if a[i] == 8:
                raise ValueError(i)
            k = a[i]
        out[i] = k


def only_sometimes(a, c, d, out):
    k = 5
    for i in prange(len(a)):
        if c and a[i] > 3:
            k = a[i]
        out[i] = k


def read_before(a, c, d, out):
    k = 5
    for i in prange(len(a)):
        out[i] = k
        if c:
            k = a[i]


def read_after(a, c, d, out):
    k = 5
    for i in prange(len(a)):
        if c:
            k = a[i]
        out[i] = k
    out[0] = k


def changes(a, c, d, out):
    k = 5
    for i in prange(len(a)):
        if c:
            k = a[i]
        else:
            k = k * 3
        out[i] = k


def other_condition(a, c, d, out):
    k = 5
    for i in prange(len(a)):
        if c:
            k = a[i]
        if d:
            out[i] = k


def its_own_condition(a, c, d, out):
    k = 5
    for i in prange(len(a)):
        if out[0] > 0:
            k = a[i]
        out[i] = k


FINE = [scalar, otherwise, choice, rows, before, two, count, unbound, never_bound, raises, other_condition]
SLOW = {f: njit(f) for f in FINE}
FAST = {f: njit(parallel=True)(f) for f in FINE}


def outcome(f, a, c, d):
    out = np.zeros(len(a), np.int64)
    try:
        f(a, c, d, out)
    except ValueError as e:
        return e.args
    except UnboundLocalError:
        return "unbound"
    return out.tolist()


@pytest.mark.parametrize("f", FINE, ids=lambda f: f.__name__)
@settings(max_examples=30, deadline=None)
@given(a=st.lists(st.integers(0, 8), max_size=40), c=st.booleans(), d=st.booleans())
def test_each_iteration_begins_with_what_was_there_before(f, a, c, d):
    a = np.array(a, np.int64)
    assert outcome(FAST[f], a, c, d) == outcome(f, a, c, d) == outcome(SLOW[f], a, c, d)


@pytest.mark.parametrize("f", [only_sometimes, read_before, read_after, changes], ids=lambda f: f.__name__)
def test_what_is_handed_on_is_refused(f):
    with pytest.raises(
        UnsupportedError, match="'k' is (handed from one iteration|assigned in a prange loop)"
    ):
        njit(parallel=True)(f)(np.arange(5), True, True, np.zeros(5, np.int64))


def test_a_condition_of_the_loop_is_none():
    with pytest.raises(UnsupportedError, match="'k' is handed from one iteration|depend on each other"):
        njit(parallel=True)(its_own_condition)(np.arange(5), True, True, np.zeros(5, np.int64))


@pytest.mark.parametrize("f", FINE, ids=lambda f: f.__name__)
def test_they_run_on_all_cores(f, capsys):
    outcome(FAST[f], np.arange(8), True, True)
    FAST[f].parallel_diagnostics()
    assert "runs on all cores\n" in capsys.readouterr().out
