"""Methods of collections.Counter, OrderedDict and deque that take a loop."""

from __future__ import annotations

import sys
from typing import Any

from . import Constant
from .lists import is_not_in, place_of

__all__ = [
    "of_counter_elements",
    "of_counter_most_common",
    "of_counter_total",
    "of_deque_index",
    "of_deque_insert",
    "of_deque_remove",
    "of_deque_reverse",
    "of_deque_rotate",
    "of_ordered_move_to_end",
]


def of_counter_most_common(self: Any, n: Constant = None) -> Any:
    """Return keys and their numbers, the largest first; of equal numbers the key that came first."""
    pairs = sorted(self.items(), key=number_of, reverse=True)
    if n is None:
        return pairs
    return pairs[: max(n, 0)]


def number_of(pair: Any) -> Any:
    """Return the number of a pair of a key and its number."""
    return pair[1]


def of_counter_elements(self: Constant) -> Any:
    """Return each key as often as its number says. A list, where CPython has an iterator over the same."""
    items = []
    for key, n in self.items():
        for _ in range(n):
            items.append(key)
    return items


def of_counter_total(self: Constant) -> Any:
    """Return the sum of all numbers."""
    return sum(self.values())


def of_ordered_move_to_end(self: Any, key: Any, last: Constant = True) -> None:
    """Move a key to the end, in constant time, or to the front, for which all others come in anew."""
    value = self.pop(key)
    if last:
        self[key] = value
        return
    others = list(self.items())
    self.clear()
    self[key] = value
    for k, v in others:
        self[k] = v


def of_deque_rotate(self: Any, n: Constant = 1) -> None:
    """Move the last n items to the front, or the first ones to the end; the shorter way round."""
    if len(self) == 0:
        return
    k = n % len(self)
    if k == 0 and len(self) > 1:
        self.append(self.pop())  # as it was; but for a loop over it that is a change, as CPython's
    if 2 * k <= len(self):
        for _ in range(k):
            self.appendleft(self.pop())
    else:
        for _ in range(len(self) - k):
            self.append(self.popleft())


def of_deque_index(self: Any, value: Any, start: Constant = 0, stop: Constant = sys.maxsize) -> int:
    """Return the first place of an item that equals `value`."""
    k = place_of(self, value, start, stop)
    if k >= 0:
        return k
    is_not_in(value, "deque")


def of_deque_remove(self: Constant, value: Any) -> None:
    """Drop the first item that equals `value`; items before it are turned aside, and back."""
    for k in range(len(self)):
        if self[k] == value:
            self.rotate(-k)
            self.popleft()
            self.rotate(k)
            return
    is_not_in(value, "deque")


def of_deque_insert(self: Any, index: Any, value: Constant, /) -> None:
    """Put an item before that at a place; beyond an end, at that end."""
    most = self.maxlen
    if most is not None and len(self) >= most:
        raise IndexError("deque already at its maximum size")
    if index >= len(self):
        self.append(value)
    elif index <= -len(self) or index == 0:
        self.appendleft(value)
    else:
        self.rotate(-index)
        if index < 0:
            self.append(value)
        else:
            self.appendleft(value)
        self.rotate(index)


def of_deque_reverse(self: Constant) -> None:
    """Bring the items into the other order, in place."""
    n = len(self)
    for k in range(n // 2):
        self[k], self[n - 1 - k] = self[n - 1 - k], self[k]
