"""Which way the arrays of the host go that a kernel is launched with: ``kernel[1, 8](cuda.In(a), cuda.Out(b))``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._array import _Access, _OnDevice
from ._interop import as_cuda_array

__all__ = ["In", "InOut", "Out", "argument"]


class _Way:
    """An argument of a launch, and which way it is copied.

    Attributes
    ----------
    value : ndarray, numpy.void, DeviceNDArray or DeviceRecord
        What is handed over.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        if not isinstance(value, (np.ndarray, np.void, _OnDevice)):
            raise TypeError(f"{type(self).__name__}() takes an array or a record, not {type(value).__name__}")
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


class In(_Way):
    """An array that is copied to the device and not back: the host does not see what the kernel writes."""

    __slots__ = ()


class Out(_Way):
    """An array that is only copied back: what the kernel finds in it may be anything."""

    __slots__ = ()


class InOut(_Way):
    """An array that is copied to the device and back, as arrays of the host are if nothing is said."""

    __slots__ = ()


def argument(value: Any) -> Any:
    """What a launch passes on for an argument that is neither a number nor a plain array."""
    if isinstance(value, _Way):
        inside = value.value
        if isinstance(value, In) and not isinstance(inside, _Access):
            return np.array(inside, order="K") if isinstance(inside, np.ndarray) else inside.copy()
        return argument(inside)
    if isinstance(value, _Access):
        return value._argument
    if hasattr(type(value), "__cuda_array_interface__") or hasattr(value, "__cuda_array_interface__"):
        return as_cuda_array(value)._mem
    if isinstance(value, tuple):
        items = [argument(v) for v in value]
        if any(a is not b for a, b in zip(items, value)):
            return value._make(items) if hasattr(value, "_make") else tuple(items)
    return value
