"""What is subscripted, not called: numpy.r_, c_, s_, index_exp, mgrid, ogrid. A function here gets what stands in the brackets.

Literals in slices and between them are weak, as everywhere, so they are handed down and never returned.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import Constant, refuse
from .arrangements import along, fill_lines


def s_(key: Constant) -> Any:
    """The index itself."""
    return key


def index_exp(key: Constant) -> Any:
    """The index as a tuple."""
    return key if isinstance(key, tuple) else (key,)


# --- grids ---


def mgrid(key: Constant) -> Any:
    """Places along slices, each filled out to the shape of all of them. A complex step is a number of points."""
    if isinstance(key, tuple):
        return grid(key, (), (0,), False)
    return of_slice(key)


def ogrid(key: Constant) -> Any:
    """Places along slices, each on an axis of its own: a tuple. A complex step is a number of points."""
    if isinstance(key, tuple):
        return grid(key, (), (0,), True)
    return of_slice(key)


def of_slice(key: Constant) -> Any:
    """Places along one slice."""
    if not isinstance(key, slice):
        refuse("a grid is made of slices")
    if not isinstance(key.step, (complex, np.complexfloating)):
        return arange_of(key)
    if key.stop is None:
        refuse("a slice of a grid needs an end")
    if key.start is None:
        return placed(np.result_type(0, key.stop, 1.0), 0, key.stop, key.step)
    return placed(np.result_type(key.start, key.stop, 1.0), key.start, key.stop, key.step)


def arange_of(key: Constant) -> Any:
    """numpy.arange of a slice."""
    if key.start is None:
        return arange_from(0, key.stop, key.step)
    return arange_from(key.start, key.stop, key.step)


def arange_from(start: Constant, stop: Constant, step: Constant) -> Any:
    if step is None:
        return np.arange(start) if stop is None else np.arange(start, stop)
    return np.arange(0, start, step) if stop is None else np.arange(start, stop, step)


def grid(rest: Constant, made: Constant, numbers: Constant, is_open: Constant) -> Any:
    """Slices as triples of numbers, and all numbers, whose type is the result's. Each choice is a call: a variable would not stay a literal."""
    if len(rest) == 0:
        lines = lines_of(made, len(made), np.result_type(*numbers))
        if is_open:
            return lines
        out = np.empty((len(made), *sizes_of(made)), np.result_type(*numbers))
        fill_lines(out, lines)
        return out
    if not isinstance(rest[0], slice):
        refuse("a grid is made of slices")
    if rest[0].stop is None:
        refuse("a slice of a grid needs an end")
    if rest[0].start is None:
        return from_start(rest, 0, made, numbers, is_open)
    return from_start(rest, rest[0].start, made, numbers, is_open)


def from_start(rest: Constant, start: Constant, made: Constant, numbers: Constant, is_open: Constant) -> Any:
    stop, step = rest[0].stop, rest[0].step
    if step is None:
        return grid(rest[1:], (*made, (start, stop, 1)), (*numbers, start, stop), is_open)
    if isinstance(step, (complex, np.complexfloating)):
        return grid(rest[1:], (*made, (start, stop, step)), (*numbers, start, stop, 1.0), is_open)
    return grid(rest[1:], (*made, (start, stop, step)), (*numbers, start, stop, step), is_open)


def sizes_of(made: Constant) -> Any:
    """How many places there are along each slice."""
    if len(made) == 0:
        return ()
    return (size_of(made[0][0], made[0][1], made[0][2]), *sizes_of(made[1:]))


def size_of(start: Constant, stop: Constant, step: Constant) -> Any:
    """How many places there are."""
    if isinstance(step, (complex, np.complexfloating)):
        return int(abs(step))
    if step == 0:
        raise ZeroDivisionError("division by zero")
    return math.ceil((stop - start) / step)


def lines_of(made: Constant, n: Constant, kind: Any) -> Any:
    """Places along each of the last of n slices, on that axis."""
    if len(made) == 0:
        return ()
    return (
        along(placed(kind, made[0][0], made[0][1], made[0][2]), n - len(made), n),
        *lines_of(made[1:], n, kind),
    )


def placed(kind: Any, start: Constant, stop: Constant, step: Constant) -> Any:
    """The places of one slice."""
    n = size_of(start, stop, step)
    line = np.arange(n).astype(kind)
    if not isinstance(step, (complex, np.complexfloating)):
        return line * step + start
    if n == 1:
        return line + start
    return line * line.dtype.type((stop - start) / float(n - 1)) + start


# --- arrays side by side ---


def r_(key: Constant) -> Any:
    """Arrays, numbers and slices one behind the other. A text before them says along which axis, and with how many axes."""
    if isinstance(key, tuple):
        if isinstance(key[0], str):
            return by_text(key[0], key[1:], AXES)
        return joined(key, (), 0, 1, -1)
    return joined((key,), (), 0, 1, -1)


def c_(key: Constant) -> Any:
    """The same, of columns."""
    if isinstance(key, tuple):
        return joined(key, (), -1, 2, 0)
    return joined((key,), (), -1, 2, 0)


# What the texts say: the axis, how many axes there are at least, and where those that an array has stand among them.
AXES = tuple(
    (text, axis, n, at)
    for axis in (0, 1, -1, 2)
    for n, at, text in (
        (1, -1, f"{axis}"),
        *((n, -1, f"{axis},{n}") for n in (2, 3)),
        *((n, at, f"{axis},{n},{at}") for n in (2, 3) for at in (0, 1, -1)),
    )
)


def by_text(text: str, items: Constant, table: Constant) -> Any:
    """As the row of the table says that has this text."""
    if len(table) == 0:
        refuse("r_ takes texts such as '-1', '0,2' and '0,2,0' in compiled code, and makes no matrix")
    elif text == table[0][0]:
        return joined(items, (), table[0][1], table[0][2], table[0][3])
    else:
        return by_text(text, items, table[1:])


def joined(rest: Constant, made: Constant, axis: Constant, n: Constant, at: Constant) -> Any:
    """What stands in the brackets as arrays and numbers, and these joined."""
    if len(rest) == 0:
        return np.concatenate(shaped(made, np.result_type(*made), n, at), axis=axis)
    if isinstance(rest[0], slice):
        return joined(rest[1:], (*made, points(rest[0])), axis, n, at)
    if isinstance(rest[0], str):
        refuse("special directives must be the first entry")
    if isinstance(rest[0], (int, float, complex, np.generic)) and not isinstance(rest[0], (bool, np.bool_)):
        return joined(rest[1:], (*made, rest[0]), axis, n, at)
    return joined(rest[1:], (*made, np.asarray(rest[0])), axis, n, at)


def points(key: Constant) -> Any:
    """What a slice stands for."""
    if isinstance(key.step, (complex, np.complexfloating)):
        return np.linspace(0 if key.start is None else key.start, key.stop, int(abs(key.step)))
    return arange_of(key)


def shaped(made: Constant, kind: Any, n: Constant, at: Constant) -> Any:
    """Arrays of one type, of n axes or more."""
    if len(made) == 0:
        return ()
    return (with_axes(np.asarray(made[0], kind), n, at), *shaped(made[1:], kind, n, at))


def with_axes(a: Any, n: Constant, at: Constant) -> Any:
    """A view with n axes or more, its own ones at `at` of those that are new; -1 is behind them."""
    more = n - a.ndim
    if more <= 0:
        return a
    if at < 0:
        return a[(None,) * (more + 1 + at) + (Ellipsis,) + (None,) * (-1 - at)]
    if at > more:
        return a[(None,) * more + (Ellipsis,)]
    return a[(None,) * at + (Ellipsis,) + (None,) * (more - at)]
