"""raise ... from, contexts, and exceptions that nobody catches: against CPython, which runs the same functions."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
from treadle import njit, prange, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from on_stack import on_stack  # noqa: E402
from raising import READY, Base, Both, Coded, Derived, Keyed, chains, same_chains  # noqa: E402


def passes_by(a, i):
    try:
        return a[i]
    except KeyError:
        return 0.0


def cleans_up(a, i):
    try:
        a[0] = 7
        return a[i]
    finally:
        a[1] = 8


@pytest.mark.parametrize("fn", [passes_by, cleans_up])
def test_uncaught_exceptions_are_as_ever(fn):
    a = np.zeros(3)
    with pytest.raises(IndexError) as plain:
        fn(a.copy(), 9)
    with pytest.raises(IndexError) as compiled:
        njit(fn)(a, 9)
    lines = [traceback.extract_tb(e.value.__traceback__)[-1].lineno for e in (plain, compiled)]
    assert lines[0] == lines[1]
    assert a[1] == (8 if fn is cleans_up else 0)


def passed_over(x, k):
    """What is caught where this function's own text raised it leaves nothing to those that come later."""
    for i in range(3):
        try:
            if x == i:
                raise ValueError("passed", x)
        except ValueError:
            x += 5
    try:
        if x < 9:
            raise ValueError("first", x)
    except ValueError:
        try:
            if x < 5:
                raise KeyError("second", x)
        except KeyError:
            x = 7
    try:
        quotient(x, k)
    except ZeroDivisionError:
        x += 20
    try:
        if x % 2:
            raise Derived("third", x)
    except Derived:
        x += 1
    if x > 6:
        quotient(x, k - 1)
    raise IndexError("last", x)


def test_what_is_passed_over_is_not_what_the_next_one_came_from():
    same_chains(passed_over, *((x, k) for x in (0, 1, 4, 5, 6, 8, 9) for k in (0, 1)))


# --- what an exception was raised from ---


@njit(inline="never")
def quotient(x, k):
    return x // k


def from_what_was_caught(x, k):
    try:
        quotient(x, k)
    except ZeroDivisionError as e:
        try:
            if x == 1:
                raise Derived("first", x) from e
            if x == 2:
                raise Derived("first", x) from None
            if x == 3:
                raise e from None
            if x == 4:
                raise READY from e
            raise Derived("first", x)
        except Derived as d:
            if x == 5:
                raise e
            if x == 6:
                raise e from d
            if x == 7:
                raise Coded(x) from e
            raise Both(x, 2.5) from d
    return x


def in_a_loop(n, k):
    """Only the last few exceptions of a call are known, and those that matter are."""
    try:
        quotient(n, 0)
    except ZeroDivisionError as e:
        for i in range(n + 1):
            try:
                try:
                    raise KeyError(i) from e
                except KeyError:
                    if i == n:
                        raise Derived(i) from e
                    raise Derived(i)
            except Derived as d:
                if i == n:
                    raise Base(k) from d
    for i in range(3):
        if i > k:
            raise Base(i)
    return n


@njit(inline="always")
def inlined(x):
    try:
        return quotient(7, x)
    except ZeroDivisionError as e:
        raise Keyed("no", x) from e


def of_a_callee(x):
    try:
        return inlined(x)
    except Keyed as e:
        raise Base(x) from e


def within_prange(n):
    a = np.zeros(n)
    for i in prange(n):
        try:
            a[i] = 1 // (i - n // 2)
        except ZeroDivisionError as e:
            try:
                raise Derived(i)
            except Derived:
                raise Base(i) from e
    return a


def around_a_prange(n):
    try:
        1 // n
    except ZeroDivisionError as e:
        a = np.zeros(100)
        for i in prange(100):
            if i == 50:
                raise Base(i) from e
            a[i] = i
    try:
        a = np.zeros(n)
        for i in prange(n):
            if i == n - 1:
                raise Derived(i)
            a[i] = i
    except Derived as e:
        raise Both(n) from e


def test_raise_from():
    same_chains(from_what_was_caught, *[(x, k) for x in range(9) for k in (0, 1)])
    same_chains(in_a_loop, (0, 0), (3, 0), (300, 0), (300, 5))
    same_chains(of_a_callee, (0,), (1,))
    assert on_stack(256, lambda: chains(njit(of_a_callee), 0)) == chains(of_a_callee, 0)


@pytest.mark.parametrize("parallel", [False, True])
def test_raise_from_in_and_around_prange(parallel, threads):
    same_chains(within_prange, (1000,), (3,), parallel=parallel)
    same_chains(around_a_prange, (0,), (5,), (1000,), parallel=parallel)


def test_raise_from_while_python_handles_one():
    """What Python is handling comes at the end."""
    seen = []
    for f in (njit(of_a_callee), of_a_callee):
        try:
            raise OSError(3)
        except OSError:
            seen.append(chains(f, 0))
    assert seen[0] == seen[1]
    assert "OSError" in str(seen[0])


@vectorize
def reciprocal_or_raise(x):
    try:
        if x == 0:
            raise KeyError(x)
    except KeyError as e:
        raise Base(x) from e
    return 1 / x


def test_raise_from_in_a_ufunc():
    with pytest.raises(Base) as info:
        reciprocal_or_raise(np.array([2.0, 0.0, 1.0]))
    assert info.value.args == info.value.__cause__.args == (0.0,)
    assert type(info.value.__cause__) is KeyError
    f = njit(lambda a: reciprocal_or_raise(a).sum())
    with pytest.raises(Base) as info:
        f(np.zeros(3, np.float32))
    assert type(info.value.__cause__) is KeyError


@njit(inline="never")
def far_off(n):
    if n == 0:
        raise KeyError("far")
    if n > 10**6:
        return 0
    return far_off(n - 1) + 1


def raises_it_later(x):
    print("begun", x, end=", ")
    try:
        quotient(x, 0)
    except ZeroDivisionError as e:
        try:
            far_off(x)
        except KeyError:
            print("a line that is longer than all that was written before, so that it needs more room" * 9)
            print("and then", end=" ")
        raise e


def test_what_is_raised_later_is_as_it_was(capsys):
    """The trace is its own; what was printed meanwhile is no part of it."""
    said, lines = [], []
    for f in (njit(raises_it_later), raises_it_later):
        with pytest.raises(ZeroDivisionError) as info:
            f(5)
        said.append(capsys.readouterr().out)
        lines.append([t.name for t in traceback.extract_tb(info.value.__traceback__)][1:])
    assert said[0] == said[1]
    assert lines[0] == ["raises_it_later", "quotient"]
