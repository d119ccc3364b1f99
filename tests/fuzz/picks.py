"""Arrays as indices, as NumPy has them: masks and arrays of integers, to read and to assign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import array_ops
import numpy as np
from memory import ArrayValue, watch
from rules import INTS, Array, IllTyped, Unspecified
from values import Raised, conv, from_item, to_item

if TYPE_CHECKING:
    from collections.abc import Callable


class Pick:
    """An array that stands alone in a subscript.

    Attributes
    ----------
    ty : Array
        Its type: a mask of all axes, or of the first, or integers for the first axis.
    fn : callable
        Its value in a frame.
    """

    def __init__(self, ty: Array, fn: Callable) -> None:
        if ty.dtype not in ("bool", *INTS):
            raise IllTyped("index")
        self.ty, self.fn = ty, fn
        self.name = "mask" if ty.dtype == "bool" else "index"

    def ndim(self, base: int) -> int:
        """Axes of what it gives of an array with so many."""
        if self.ty.dtype == "bool":
            if self.ty.ndim not in (1, base):
                raise Unspecified("a mask of some axes")
            return base - self.ty.ndim + 1
        if self.ty.ndim != 1:
            raise Unspecified("an index of several axes")
        return base

    def where(self, arr: ArrayValue, frame: Any) -> np.ndarray:
        """The index, which fits the array."""
        index = self.fn(frame).exact()
        shape = arr.data.shape
        if index.dtype == bool:
            if index.shape != shape[: index.ndim]:
                raise Raised("IndexError")
            return index.copy()
        if any(not -shape[0] <= int(i) < shape[0] for i in index):
            raise Raised("IndexError")
        return index.astype(np.int64)  # what is negative counts from the end

    def load(self, arr: ArrayValue, frame: Any) -> ArrayValue:
        """A new array of what it picks."""
        index = self.where(arr, frame)
        return ArrayValue(arr.exact()[index], {})

    def store(self, arr: ArrayValue, frame: Any, value: Any, ty: Any) -> None:
        """``arr[self] = value``: all of it is read before."""
        if watch.region is not None:
            raise Unspecified("array index in a loop over a prange")
        index = self.where(arr, frame)
        picked = arr.exact()[index]
        if isinstance(ty, Array):
            src = value.exact().copy()
            whole = index.dtype == bool and index.ndim == arr.data.ndim
            if whole and ty.ndim > 1:
                raise IllTyped("values of several axes")
            if whole and src.ndim == 1 and len(src) not in (1, len(picked)):
                raise Raised("ValueError")
            items = np.broadcast_to(converted(src, ty.dtype, arr.data.dtype.name), self.fitted(src, picked))
        else:
            items = to_item(conv(value, ty, arr.data.dtype.name), arr.data.dtype.name)
        arr.writable("array index into")[index] = items

    @staticmethod
    def fitted(src: np.ndarray, picked: np.ndarray) -> tuple:
        """The shape of what is stored."""
        try:
            if np.broadcast_shapes(src.shape, picked.shape) != picked.shape:
                raise Raised("ValueError")
        except ValueError:
            raise Raised("ValueError") from None
        return picked.shape

    def update(self, op: str, arr: ArrayValue, frame: Any, ty: Array, value: Any, vty: Any) -> None:
        """``arr[self] op= value(frame)``: what is picked, then the value, the operation, and it is stored again."""
        part = self.load(arr, frame)
        array_ops.inplace(op, part, ty, value(frame), vty)
        self.store(arr, frame, part, ty)


def converted(src: np.ndarray, ty: str, out: str) -> np.ndarray:
    """The items as another type has them."""
    return array_ops.build(
        [conv(from_item(src[i], ty), ty, out) for i in np.ndindex(src.shape)], src.shape, out
    )
