"""with in compiled functions: against CPython, which runs the same functions."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import njit, prange, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from raising import Base, Derived, Keyed, alike, same_chains  # noqa: E402


def suppresses(x, a):
    t = 0
    for i in range(3):
        with contextlib.suppress(ZeroDivisionError, KeyError):
            t += 10 // (x - i)
            if t > 15:
                raise KeyError(t)
            t += 100
        with contextlib.nullcontext(a) as b, contextlib.suppress(LookupError):
            b[0] += 1
            t += int(b[x])
            if i == 2 and t > 100:
                return t
            if x == 1:
                continue
            if x == 3:
                break
        t *= 2
    return t


def kept_manager(x):
    quiet = contextlib.suppress(Derived) if len("ab") == 2 else contextlib.nullcontext()
    for i in range(4):
        with quiet:
            if i == x:
                raise Derived(i)
            if i == x + 1:
                raise Base(i)
    try:
        with contextlib.suppress():
            raise Derived(x, 1.5)
    except Base as e:
        with np.errstate(all="ignore", divide="warn"), contextlib.nullcontext():
            raise Keyed(x) from e


@njit(inline="always")
def first_or_none(a, k):
    with contextlib.suppress(IndexError):
        return a[k]
    return -1.0


def quiet_loops(a, k):
    """Loops over a prange in a `with` that suppresses nothing, `with` in one."""
    s = 0.0
    with np.errstate(invalid="ignore"):
        b = np.sqrt(a - 2.0)
        for i in prange(len(a)):
            with contextlib.suppress(IndexError):
                s += a[i + k]
            s += first_or_none(b[4:], i)
    return s


@vectorize
def quotient_or_zero(x, y):
    with contextlib.suppress(KeyError):
        if y == 0:
            raise KeyError(y)
        return x / y
    return 0.0


def test_with():
    alike(suppresses, *[lambda x=x: (x, np.arange(3.0)) for x in range(5)], boundscheck=True)
    same_chains(kept_manager, *[(k,) for k in range(-2, 5)])
    assert quotient_or_zero(np.arange(4.0), np.array([1, 0, 2, 0])).tolist() == [0, 0, 1, 0]
    assert njit(lambda a: quotient_or_zero(a, 0).sum())(np.ones(3)) == 0


@pytest.mark.parametrize("parallel", [False, True])
def test_with_and_prange(parallel, threads):
    compiled = njit(parallel=parallel)(quiet_loops)
    for n, k in (10, 0), (10, 3), (10**5, 2):
        a = np.full(n, 3.0)
        assert compiled(a, k) == quiet_loops(a, k)


class Manager:
    def __enter__(self):
        return 1

    def __exit__(self, *args):
        return False


MANAGER = Manager()


def with_own(x):
    with MANAGER:
        return x + 1


def with_number(x):
    with x:
        return x + 1


def with_raising(x):
    with np.errstate(divide="raise"):
        return x + 1


def with_no_class(x):
    with contextlib.suppress(x):
        return x + 1


@pytest.mark.parametrize(
    "fn, text",
    [
        (with_own, "a `with` of an object of class 'Manager'"),
        (with_number, "a `with` of int64"),
        (with_raising, "another 'divide' than 'ignore' or 'warn'"),
        (with_no_class, "takes exception classes, not int64"),
    ],
)
def test_other_managers_are_refused(fn, text):
    with pytest.raises((treadle.errors.UnsupportedError, TypeError), match=text) as info:
        njit(fn)(1)
    assert f":{fn.__code__.co_firstlineno + 1}:" in str(info.value)


def with_groups(x):
    try:
        return 1 // x
    except* ZeroDivisionError:
        x = 2
    return x


def test_exception_groups_are_refused():
    with pytest.raises(treadle.errors.UnsupportedError, match="catch classes with `except`") as info:
        njit(with_groups)(1)
    assert f":{with_groups.__code__.co_firstlineno + 3}:" in str(info.value)
