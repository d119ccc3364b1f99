"""Variables that have no value before a prange loop: each iteration begins without them. The oracle is Python, one item at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import UnsupportedError, njit, prange


def edges(a, out):
    for k in prange(len(a)):
        left, right = a[k] < 2, a[k] > 5
        if left or right:
            if left:
                step = 1
            if right:
                step = -1
        else:
            step = 10
        out[k] = k + step


def sides(a, out):
    for k in prange(len(a)):
        if a[k] > 2:
            step = a[k]
        if a[k] < 6:
            out[k] = step


def rows(a, out):
    for k in prange(len(a)):
        for i in range(a[k]):
            if i == 2:
                row = np.full(3, a[k])
                name = (k, 2.5)
        if a[k] > 2:
            out[k] = row.sum() + name[0] + int(name[1])


def dropped(a, out):
    for k in prange(len(a)):
        step = 3
        if a[k] > 4:
            del step
        if a[k] < 6:
            out[k] = step


def twice(a, out):
    for _ in range(2):
        for k in prange(len(a)):
            if a[k] > 3:
                t = 5
            elif a[k] < 9:
                t = 7
            out[k] += t


SLOW = {f: njit(f) for f in (edges, sides, rows, dropped, twice)}
FAST = {f: njit(parallel=True)(f) for f in SLOW}


def outcome(f, a):
    out = np.zeros(len(a), np.int64)
    try:
        f(a, out)
    except UnboundLocalError:
        return "unbound"
    return out.tolist()


@pytest.mark.parametrize("f", [edges, rows, twice], ids=lambda f: f.__name__)
@settings(max_examples=30, deadline=None)
@given(a=st.lists(st.integers(0, 8), max_size=40))
def test_what_every_iteration_assigns_for_itself(f, a):
    a = np.array(a, np.int64)
    assert outcome(FAST[f], a) == outcome(f, a) == outcome(SLOW[f], a)


@pytest.mark.parametrize("f", [sides, dropped], ids=lambda f: f.__name__)
@settings(max_examples=30, deadline=None)
@given(a=st.lists(st.integers(0, 8), min_size=1, max_size=40))
def test_no_iteration_sees_what_another_left(f, a):
    """Python's loop over all items goes on with the last value; an iteration by itself raises."""
    alone = [outcome(f, np.array([x])) for x in a]
    expected = "unbound" if "unbound" in alone else [x for (x,) in alone]
    assert outcome(FAST[f], np.array(a)) == expected


def test_the_text_and_a_handler():
    @njit(parallel=True)
    def caught(a, out):
        try:
            for k in prange(len(a)):
                if a[k] > 2:
                    step = a[k]
                out[k] = step
        except UnboundLocalError:
            return -1
        return 1

    out = np.zeros(3, np.int64)
    with pytest.raises(
        UnboundLocalError,
        match="^cannot access local variable 'step' where it is not associated with a value$",
    ):
        FAST[sides](np.array([3, 1, 4]), out)
    assert caught(np.array([3, 1]), out) == -1 and caught(np.array([3, 4]), out) == 1


def after(a):
    for k in prange(len(a)):
        if a[k] > 2:
            step = a[k]
    return step


def flag(a, out):
    seen = False
    for k in prange(len(a)):
        if seen:
            out[k] = 1
        seen = a[k] > 2


@pytest.mark.parametrize(
    "f, text",
    [(after, "'step' is assigned in a prange loop and used after it"), (flag, "'seen' is handed from one")],
)
def test_what_is_refused_as_before(f, text):
    args = (np.arange(4),) if f is after else (np.arange(4), np.zeros(4, np.int64))
    with pytest.raises(UnsupportedError, match=text):
        njit(parallel=True)(f)(*args)


def test_a_flag_of_the_users_own_is_reduced():
    @njit(parallel=True)
    def has(a):
        seen = False
        for k in prange(len(a)):
            if a[k] > 2:
                seen = True
        return seen

    assert has(np.arange(4)) and not has(np.zeros(4))
