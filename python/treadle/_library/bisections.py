"""Places in what is sorted: functions of bisect, for lists, arrays and tuples."""

from __future__ import annotations

from typing import Any

from . import Constant


def bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Constant = None) -> int:
    """The first place before which all are smaller: `x` may be put there, before its equals."""
    at, end = bounds(a, lo, hi)
    while at < end:
        middle = (at + end) >> 1
        if (a[middle] if key is None else key(a[middle])) < x:
            at = middle + 1
        else:
            end = middle
    return at


def bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Constant = None) -> int:
    """The first place behind which all are larger: `x` may be put there, behind its equals."""
    at, end = bounds(a, lo, hi)
    while at < end:
        middle = (at + end) >> 1
        if x < (a[middle] if key is None else key(a[middle])):
            end = middle
        else:
            at = middle + 1
    return at


def insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Constant = None) -> None:
    """Put `x` into a sorted list, before its equals."""
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Constant = None) -> None:
    """Put `x` into a sorted list, behind its equals."""
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def bounds(a: Any, lo: Any, hi: Any) -> tuple[int, int]:
    """Where to look; `hi` of -1 is as if it were left out, as in CPython's C."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None or hi == -1:
        return lo, len(a)
    return lo, hi
