"""Arrays as the oracle holds them, and what programs do to their elements.

While a loop over a prange runs, everything that is read or written is told to `watch.region` (regions.py), which finds out whether
iterations meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rules import Unspecified
from values import Approx, Raised, conv, from_item, to_item

if TYPE_CHECKING:
    from regions import Region

Marks = dict[int, float | None]
OPEN = math.inf  # the bound of an element that may hold anything


class Watch:
    """The loop over a prange that runs now, if any."""

    region: Region | None = None


watch = Watch()


class ArrayValue:
    """An array as the oracle holds it: the real array, plus the addresses that hold approximate floats."""

    __slots__ = ("data", "marks")

    def __init__(self, data: np.ndarray, marks: Marks) -> None:
        self.data = data
        self.marks = marks  # address: error as in `Approx`; shared by all views of the same memory
        if watch.region is not None:
            watch.region.keep.append(data)

    def view(self, key: Any) -> ArrayValue:
        """A view by basic indexing."""
        for i, n in zip([k for k in key if k is not None], self.data.shape):
            if isinstance(i, int) and not -n <= i < n:
                raise Raised("IndexError")
            if isinstance(i, slice) and i.step == 0:
                raise Raised("ValueError")
        return ArrayValue(self.data[key], self.marks)

    def transposed(self) -> ArrayValue:
        """The view with the axes reversed."""
        return ArrayValue(self.data.T, self.marks)

    def backwards(self) -> Iterator:
        """The elements from the last to the first."""
        return (load_item(self, (i,)) for i in range(self.data.shape[0] - 1, -1, -1))

    def fill(self, value: Any, ty: str) -> None:
        """``fill`` method."""
        store_fill(self, value, ty)

    def marked(self) -> bool:
        """True if an element is approximate."""
        return bool(self.marks) and any(a in self.marks for a in addresses(self.data))

    def exact(self) -> np.ndarray:
        """The data, for an operation on the whole array."""
        if self.marked():
            raise Unspecified("approximate values in an array operation")
        if watch.region is not None:
            watch.region.read(addresses(self.data))
        return self.data

    def writable(self, what: str) -> np.ndarray:
        """The data, for an operation that writes all of it."""
        if self.marked():
            raise Unspecified(f"{what} an array with approximate values")
        if watch.region is not None:
            watch.region.write(self, addresses(self.data))
        return self.data


def addresses(data: np.ndarray) -> list[int]:
    """Where the elements lie, in C order."""
    at = np.asarray(data.ctypes.data)
    for n, step in zip(data.shape, data.strides):
        at = at[..., None] + np.arange(n) * step
    return at.ravel().tolist()


def check_index(arr: ArrayValue, index: tuple) -> tuple:
    """The index with negatives wrapped once; IndexError if it is out of range."""
    out = []
    for i, n in zip(index, arr.data.shape):
        j = i + n if i < 0 else i
        if not 0 <= j < n:
            raise Raised("IndexError")
        out.append(j)
    return tuple(out)


def address(arr: ArrayValue, index: tuple) -> int:
    """Where an element lies."""
    return arr.data.ctypes.data + sum(i * s for i, s in zip(index, arr.data.strides))


def load_item(arr: ArrayValue, index: tuple) -> Any:
    """An element; `index` has been checked."""
    if watch.region is not None:
        watch.region.read([address(arr, index)])
    value = from_item(arr.data[index], arr.data.dtype.name)
    if arr.marks:
        at = address(arr, index)
        if at in arr.marks:
            return Approx(value, arr.marks[at])
    return value


def store_item(arr: ArrayValue, index: tuple, value: Any, ty: str) -> None:
    """Store one element, converted to the array's type."""
    index = check_index(arr, index)
    value = conv(value, ty, arr.data.dtype.name)
    at = address(arr, index) if arr.marks or watch.region is not None or isinstance(value, Approx) else 0
    if watch.region is not None:
        watch.region.write(arr, [at])
    if arr.marks:
        arr.marks.pop(at, None)
    if isinstance(value, Approx):
        arr.marks[at] = value.error
        value = value.value
    arr.data[index] = to_item(value, arr.data.dtype.name)


def store_fill(arr: ArrayValue, value: Any, ty: str) -> None:
    """Store one scalar into every element of a view."""
    if isinstance(value, Approx):
        raise Unspecified("fill with an approximate value")
    item = to_item(conv(value, ty, arr.data.dtype.name), arr.data.dtype.name)
    arr.writable("fill of")[...] = item


def store_array(arr: ArrayValue, value: ArrayValue) -> None:
    """Copy an array into a view of the same shape, as if the source had been copied first."""
    src, data = value.exact(), arr.writable("copy over")
    try:
        src = np.broadcast_to(src, data.shape)
    except ValueError:
        raise Raised("ValueError") from None
    ty, out = src.dtype.name, data.dtype.name
    items = [to_item(conv(from_item(src[i], ty), ty, out), out) for i in np.ndindex(src.shape)]
    for i, item in zip(np.ndindex(src.shape), items):
        data[i] = item


def each_item(arr: ArrayValue) -> Iterator:
    """The elements or rows of an array, each read when its turn comes."""
    for i in range(arr.data.shape[0]):
        yield load_item(arr, (i,)) if arr.data.ndim == 1 else arr.view((i,))
