"""Arrays of the device, and what is asked of objects that may be some."""

from __future__ import annotations

from typing import Any

from .._array import DeviceNDArray, DeviceRecord, ManagedNDArray, MappedNDArray
from .._memory import to_device

__all__ = [
    "DeviceNDArray",
    "DeviceRecord",
    "ManagedNDArray",
    "MappedNDArray",
    "auto_device",
    "is_cuda_ndarray",
    "require_cuda_ndarray",
]


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether it is an array of the device, of this package's making."""
    return bool(getattr(obj, "__cuda_ndarray__", False))


def require_cuda_ndarray(obj: Any) -> None:
    """ValueError for what is no array of the device."""
    if not is_cuda_ndarray(obj):
        raise ValueError(f"an array of the device is needed, not {type(obj).__name__}")


def auto_device(obj: Any, stream: Any = 0, copy: bool = True) -> tuple[Any, bool]:
    """The object on the device, and whether it was brought there now."""
    made = to_device(obj, stream, copy)
    return made, not (is_cuda_ndarray(obj) or hasattr(obj, "__cuda_array_interface__"))
