"""Methods of lists, and sorted(): what takes a loop.

Numbers are sorted by NumPy's sorts, in which NaN comes last; all else by merging runs of places, which compares by
``<`` alone and leaves items that are equal in their order, as CPython's sort does. Keys are made before anything
moves, so a key, or a comparison, that raises leaves the list as it was.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any, NoReturn

import numpy as np

from . import TOLD, Constant, refuse

__all__ = ["of_array_tolist", "of_list_count", "of_list_index", "of_list_remove", "of_list_sort", "sorted"]


def sorted(iterable: Any, /, *, key: Constant = None, reverse: Any = False) -> Any:
    """Return a new list of the items in order."""
    items = list(iterable)
    of_list_sort(items, key=key, reverse=reverse)
    return items


def there(key: Any) -> Any:
    """The key, which is not None."""
    if key is None:
        raise TypeError("'<' not supported between instances of 'NoneType' and another type")
    return key


def of_list_sort(self: Any, *, key: Constant = None, reverse: Any = False) -> None:
    """Bring the items into their order, in place."""
    n = len(self)
    if n < 2:
        return
    old = self[:]
    if key is None:
        keys = old
    else:
        keys = [there(key(x)) for x in old]
        if len(self) != n:  # the key's doing
            raise ValueError("list modified during sort")
    order = places(keys, bool(reverse))
    for k in range(n):
        self[k] = old[order[k]]


def places(keys: Any, down: bool) -> Any:
    """Return where the items come from, in order. There is one at least."""
    if isinstance(keys[0], (int, float, np.integer, np.floating, np.bool_)):
        a = np.array(keys)
        if down:
            return len(keys) - 1 - np.argsort(a[::-1], kind="stable")[::-1]
        return np.argsort(a, kind="stable")
    return merged(keys, down)


def merged(keys: Any, down: bool) -> Any:
    """Return the places of the items in order, by merging ever longer runs from one array to another and back."""
    n = len(keys)
    order = np.arange(n)
    other = np.empty_like(order)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, end = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, end):
                if i < middle and (j == end or not is_before(keys[order[j]], keys[order[i]], down)):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


TERSE = sys.version_info >= (3, 14)  # list.index() no longer says what it has not found


def is_before(x: Any, y: Any, down: bool) -> bool:
    """Whether x comes before y, which are in the other order now."""
    return y < x if down else x < y


def place_of(items: Any, value: Any, start: Constant, stop: Constant) -> int:
    """Return the first place of an item that equals `value`, as `index` counts; -1: there is none."""
    low, high = start, stop
    if low < 0:
        low = max(low + len(items), 0)
    if high < 0:
        high = max(high + len(items), 0)
    for k in range(low, min(high, len(items))):
        if items[k] == value:
            return k
    return -1


def is_not_in(value: Any, where: Constant) -> NoReturn:
    """Raise what says that a value is not there, with its text where it has one."""
    if value is None or isinstance(value, TOLD):
        raise ValueError(f"{value!r} is not in {where}")
    if isinstance(value, dict):
        if not isinstance(value, defaultdict):  # whose values a function may make, which has no text
            raise ValueError(f"{value!r} is not in {where}")
    raise ValueError(f"the value is not in {where}")


def of_list_index(self: Any, value: Any, start: Constant = 0, stop: Constant = sys.maxsize) -> int:
    """Return the first place of an item that equals `value`."""
    k = place_of(self, value, start, stop)
    if k >= 0:
        return k
    if TERSE:
        raise ValueError("list.index(x): x not in list")
    is_not_in(value, "list")


def of_list_remove(self: Any, value: Constant) -> None:
    """Drop the first item that equals `value`."""
    for k in range(len(self)):
        if self[k] == value:
            del self[k]
            return
    raise ValueError("list.remove(x): x not in list")


def of_list_count(self: Any, value: Constant) -> int:
    """Return how many items equal `value`."""
    n = 0
    for x in self:
        if x == value:
            n += 1
    return n


def of_array_tolist(self: Any) -> Any:
    """Return the items as numbers of Python's, in lists in lists for several axes."""
    if self.ndim == 0:
        return of_array_tolist(self.reshape(1))[0]
    if self.ndim > 1:
        return [of_array_tolist(row) for row in self]
    kind = self.dtype.kind
    if kind == "f":
        return [float(x) for x in self]
    if kind == "c":
        return [complex(x) for x in self]
    if kind == "b":
        return [bool(x) for x in self]
    if kind == "U" or kind == "S":
        return [x for x in self]  # noqa: C416 - a list of plain strings
    if kind != "i" and kind != "u":
        refuse("tolist() of items that are no numbers and no strings")
    return [int(x) for x in self]
