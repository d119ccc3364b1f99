"""Heaps in lists: functions of heapq.

A binary heap: item k is not larger than items 2k + 1 and 2k + 2. Lists are left as CPython leaves them, item by item,
since programs show them: an item that goes down first goes to a leaf, along the smaller of two children, and then up
again from there (R. W. Floyd's way, which compares less), and of equal children the right one is taken.
"""

from __future__ import annotations

from typing import Any

from treadle._library import Constant, drawn


def heappush(heap: Any, item: Any, /) -> None:
    """Put an item into a heap."""
    heap.append(item)
    rise(heap, 0, len(heap) - 1)


def heappop(heap: Any, /) -> Any:
    """Take the smallest item out of a heap."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    if len(heap) == 0:
        return last
    smallest = heap[0]
    heap[0] = last
    sink(heap, 0)
    return smallest


def heapreplace(heap: Any, item: Any, /) -> Any:
    """Take the smallest item out, then put one in."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    smallest = heap[0]
    heap[0] = item
    sink(heap, 0)
    return smallest


def heappushpop(heap: Any, item: Any, /) -> Any:
    """Put an item in, then take the smallest out."""
    if len(heap) == 0 or not heap[0] < item:
        return item
    smallest = heap[0]
    heap[0] = item
    sink(heap, 0)
    return smallest


def heapify(heap: Any, /) -> None:
    """Make a heap of a list."""
    for k in range(len(heap) // 2 - 1, -1, -1):
        sink(heap, k)


def rise(heap: Any, top: int, at: int) -> None:
    """Move the item at a place towards `top`, until the one above is not larger."""
    item = heap[at]
    while at > top:
        above = (at - 1) >> 1
        if not item < heap[above]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item


def sink(heap: Any, top: int) -> None:
    """Move the item at a place down, where what is below it is a heap."""
    n = len(heap)
    item = heap[top]
    at = top
    child = 2 * at + 1
    while child < n:
        if child + 1 < n and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    rise(heap, top, at)


def nsmallest(n: int, iterable: Any, key: Any = None) -> Any:
    """The n smallest items, smallest first."""
    return sorted(iterable, key=key)[: max(n, 0)]


def nlargest(n: int, iterable: Any, key: Any = None) -> Any:
    """The n largest items, largest first."""
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


def merge(*iterables: Any, key: Any = None, reverse: Constant = False) -> Any:
    """What sorted iterables give, sorted."""
    if len(iterables) == 0:
        return iter(())
    if len(iterables) == 1:
        return iter(iterables[0])
    return two_merged(iter(iterables[0]), merge(*iterables[1:], key=key, reverse=reverse), key, reverse)


def two_merged(first: Any, second: Any, key: Any, reverse: Constant) -> Any:
    """What two sorted iterators give, sorted; of equal items the first's come first."""
    a: Any = []
    b: Any = []

    def next_of_both() -> Any:
        if len(a) == 0:
            for x in first:
                a.append(x)
                break
        if len(b) == 0:
            for x in second:
                b.append(x)
                break
        if len(a) == 0 and len(b) == 0:
            return None
        if len(b) == 0 or (len(a) > 0 and not comes_first(b[0], a[0], key, reverse)):
            return (a.pop(),)
        return (b.pop(),)

    return drawn(next_of_both)


def comes_first(x: Any, y: Any, key: Any, reverse: Constant) -> Any:
    """Whether x stands before y, which it does not if they are equal."""
    if key is None:
        return y < x if reverse else x < y
    return key(y) < key(x) if reverse else key(x) < key(y)
