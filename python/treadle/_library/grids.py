"""What is indexed in place of being called: np.mgrid, np.ogrid, np.r_, np.c_, np.s_ and np.index_exp.

Each is a function of its index here, which compiled code calls where it finds one of them indexed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import Constant, refuse

ONES = (1,) * 32


# --- ranges: start:stop:step, or start:stop:5j for so many points ---


def first(s: Constant) -> Any:
    """Where a range starts."""
    return 0 if s.start is None else s.start


def apart(s: Constant) -> Any:
    """How far apart its points are."""
    if s.step is None:
        return 1
    if np.asarray(s.step).dtype.kind == "c":
        n = points(s)
        return (s.stop - first(s)) / (n - 1.0) if n != 1 else 1.0
    return s.step


def points(s: Constant) -> Any:
    """How many they are."""
    if s.step is None:
        return math.ceil(s.stop - first(s))
    if np.asarray(s.step).dtype.kind == "c":
        return int(abs(s.step))
    if s.step == 0:
        raise ZeroDivisionError("division by zero")
    return math.ceil((s.stop - first(s)) / s.step)


def ranges(key: Constant) -> Any:
    """None where something else than ranges with an end is among them: a type, so that it is known when the function compiles."""
    if not isinstance(key[0], slice):
        return None
    elif key[0].stop is None:
        return None
    elif len(key) == 1:
        return 1
    else:
        return ranges(key[1:])


def type_of(key: Constant) -> Any:
    """A number of the type that the points of all ranges have."""
    lo, hi, step = np.asarray(first(key[0])), np.asarray(key[0].stop), np.asarray(apart(key[0]))
    if lo.dtype.kind not in "if" or hi.dtype.kind not in "if" or step.dtype.kind not in "if":
        refuse("the ends and the step of a grid's range must be integers or float64")
    if lo.dtype.itemsize != 8 or hi.dtype.itemsize != 8 or step.dtype.itemsize != 8:
        refuse("the ends and the step of a grid's range must be integers or float64")
    x = lo.dtype.type(0) + hi.dtype.type(0) + step.dtype.type(0)
    if len(key) == 1:
        return x
    return x + type_of(key[1:])


def sizes(key: Constant) -> Any:
    """How many points each axis has."""
    if len(key) == 1:
        return (points(key[0]),)
    return (points(key[0]), *sizes(key[1:]))


def axis_points(s: Constant, zero: Any) -> Any:
    """The points of one axis."""
    n = max(points(s), 0)
    return np.arange(n).astype(zero.dtype) * apart(s) + first(s)


def mgrid(key: Constant) -> Any:
    """Coordinates of all points of a grid: one array, whose first axis is that of the coordinates."""
    if not isinstance(key, tuple):
        return line(key)
    elif ranges(key) is None:
        refuse("a grid is made of ranges that have an end: np.mgrid[0:n, 0:m]")
    else:
        out = np.empty((len(key), *sizes(key)), type_of(key).dtype)
        fill(out, key, ())
        return out


def fill(out: Any, key: Constant, before: Any) -> None:
    """Coordinates along the axes behind those before."""
    x = axis_points(key[0], out.dtype.type(0))
    out[len(before)] = x.reshape((*before, x.size, *ONES[: len(key) - 1]))
    if len(key) > 1:
        fill(out, key[1:], (*before, 1))


def ogrid(key: Constant) -> Any:
    """Coordinates of a grid's points: a tuple of arrays, one for each axis, which broadcast."""
    if not isinstance(key, tuple):
        return line(key)
    elif ranges(key) is None:
        refuse("a grid is made of ranges that have an end: np.ogrid[0:n, 0:m]")
    else:
        return opened(key, (), type_of(key))


def opened(key: Constant, before: Any, zero: Any) -> Any:
    """Arrays of the axes behind those before."""
    x = axis_points(key[0], zero)
    a = x.reshape((*before, x.size, *ONES[: len(key) - 1]))
    if len(key) == 1:
        return (a,)
    return (a, *opened(key[1:], (*before, 1), zero))


def line(s: Constant) -> Any:
    """A grid of one range."""
    if ranges((s,)) is None:
        refuse("a grid is made of ranges that have an end: np.mgrid[0:n]")
    elif s.step is not None and np.asarray(s.step).dtype.kind == "c":
        return np.arange(points(s)) * apart(s) + first(s)
    else:
        return np.arange(first(s), s.stop, apart(s)).astype(type_of((s,)).dtype)


# --- joined ---


def part(x: Constant) -> Any:
    """Something between the brackets as an array of one axis or more."""
    if isinstance(x, slice):
        if x.step is not None and np.asarray(x.step).dtype.kind == "c":
            return np.linspace(first(x), x.stop, int(abs(x.step)))
        return np.arange(first(x), x.stop, apart(x))
    return np.atleast_1d(np.asarray(x))


def column(x: Constant) -> Any:
    """The same with two axes or more: what has one is a column."""
    a = part(x)
    if a.ndim == 1:
        return a[:, None]
    return a


def joinable(key: Constant) -> Any:
    """None where something else than arrays, numbers and ranges with an end is among them."""
    if isinstance(key[0], str):
        return None
    elif isinstance(key[0], slice) and ranges((key[0],)) is None:
        return None
    elif len(key) == 1:
        return 1
    else:
        return joinable(key[1:])


def number(key: Constant) -> Any:
    """None where there are only arrays and ranges: a number adapts itself to them, and what its type is here is not what it is in NumPy."""
    if not isinstance(key[0], slice) and np.asarray(key[0]).ndim == 0:
        return 1
    elif len(key) == 1:
        return None
    else:
        return number(key[1:])


def small(key: Constant) -> Any:
    """None where all arrays are of types of 64 bits, which numbers beside them are, too."""
    if not isinstance(key[0], slice) and np.asarray(key[0]).ndim > 0:
        if np.asarray(key[0]).dtype.itemsize < 8:
            return 1
    if len(key) == 1:
        return None
    return small(key[1:])


def parts(key: Constant) -> Any:
    """All of them."""
    if len(key) == 1:
        return (part(key[0]),)
    return (part(key[0]), *parts(key[1:]))


def columns(key: Constant) -> Any:
    """All of them as columns."""
    if len(key) == 1:
        return (column(key[0]),)
    return (column(key[0]), *columns(key[1:]))


def joined(key: Constant) -> Any:
    """The parts of np.r_."""
    if joinable(key) is None:
        refuse("arrays, numbers and ranges that have an end are joined here: no directions in a string")
    elif number(key) is not None and small(key) is not None:
        refuse(
            "numbers beside arrays of small types: write np.concatenate, with the numbers in arrays of their own"
        )
    else:
        return np.concatenate(parts(key))


def side_by_side(key: Constant) -> Any:
    """The parts of np.c_."""
    if joinable(key) is None:
        refuse("arrays, numbers and ranges that have an end are joined here: no directions in a string")
    elif number(key) is not None and small(key) is not None:
        refuse(
            "numbers beside arrays of small types: write np.column_stack, with the numbers in arrays of their own"
        )
    else:
        return np.concatenate(columns(key), axis=-1)


def r_(key: Constant) -> Any:
    """Arrays, numbers and ranges one behind the other."""
    if isinstance(key, tuple):
        return joined(key)
    return joined((key,))


def c_(key: Constant) -> Any:
    """Arrays, numbers and ranges side by side, as columns."""
    if isinstance(key, tuple):
        return side_by_side(key)
    return side_by_side((key,))


def s_(key: Constant) -> Any:
    """The index itself."""
    return key


def index_exp(key: Constant) -> Any:
    """The index itself, as a tuple."""
    if isinstance(key, tuple):
        return key
    return (key,)
