"""Arrays as the oracle holds them, and what programs do to their elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rules import Unspecified
from values import Approx, Raised, conv, from_item, to_item


class ArrayValue:
    """An array as the oracle holds it: the real array, plus the bytes that hold approximate floats."""

    __slots__ = ("data", "marks")

    def __init__(self, data: np.ndarray, marks: set[int]) -> None:
        self.data = data
        self.marks = marks  # addresses, shared by all views of the same memory

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

    def exact(self) -> np.ndarray:
        """The data, for an operation on the whole array."""
        if self.marks:
            raise Unspecified("approximate values in an array operation")
        return self.data


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
    value = from_item(arr.data[index], arr.data.dtype.name)
    return Approx(value) if arr.marks and address(arr, index) in arr.marks else value


def store_item(arr: ArrayValue, index: tuple, value: Any, ty: str) -> None:
    """Store one element, converted to the array's type."""
    index = check_index(arr, index)
    value = conv(value, ty, arr.data.dtype.name)
    if arr.marks:
        arr.marks.discard(address(arr, index))
    if isinstance(value, Approx):
        arr.marks.add(address(arr, index))
        value = value.value
    arr.data[index] = to_item(value, arr.data.dtype.name)


def store_fill(arr: ArrayValue, value: Any, ty: str) -> None:
    """Store one scalar into every element of a view."""
    if isinstance(value, Approx):
        raise Unspecified("fill with an approximate value")
    item = to_item(conv(value, ty, arr.data.dtype.name), arr.data.dtype.name)
    if arr.marks:
        raise Unspecified("fill of an array with approximate values")
    arr.data[...] = item


def store_array(arr: ArrayValue, value: ArrayValue) -> None:
    """Copy an array into a view of the same shape, as if the source had been copied first."""
    src = value.exact()
    if arr.marks:
        raise Unspecified("copy over approximate values")
    try:
        src = np.broadcast_to(src, arr.data.shape)
    except ValueError:
        raise Raised("ValueError") from None
    ty, out = src.dtype.name, arr.data.dtype.name
    items = [to_item(conv(from_item(src[i], ty), ty, out), out) for i in np.ndindex(src.shape)]
    for i, item in zip(np.ndindex(src.shape), items):
        arr.data[i] = item


def each_item(arr: ArrayValue) -> Iterator:
    """The elements or rows of an array, each read when its turn comes."""
    for i in range(arr.data.shape[0]):
        yield load_item(arr, (i,)) if arr.data.ndim == 1 else arr.view((i,))
