"""Arrays of the device, and what is asked of objects that may be some."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import DeviceNDArray, DeviceRecord, ManagedNDArray, MappedNDArray
from .._memory import device_array_like, to_device

__all__ = [
    "DeviceNDArray",
    "DeviceRecord",
    "ManagedNDArray",
    "MappedNDArray",
    "auto_device",
    "from_array_like",
    "from_record_like",
    "is_cuda_ndarray",
    "require_cuda_ndarray",
    "verify_cuda_ndarray_interface",
]


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether it is an array of the device, of this package's making."""
    return bool(getattr(obj, "__cuda_ndarray__", False))


def require_cuda_ndarray(obj: Any) -> None:
    """ValueError for what is no array of the device."""
    if not is_cuda_ndarray(obj):
        raise ValueError(f"an array of the device is needed, not {type(obj).__name__}")


def verify_cuda_ndarray_interface(obj: Any) -> None:
    """ValueError for what is no array of the device; AttributeError for one that lacks what such arrays have."""
    require_cuda_ndarray(obj)
    for name, cls in (("shape", tuple), ("strides", tuple), ("dtype", np.dtype), ("size", int)):
        if not isinstance(getattr(obj, name), cls):
            raise AttributeError(f"{name} of a {type(obj).__name__} is no {cls.__name__}")


def from_array_like(ary: Any, stream: Any = 0, gpu_data: Any = None) -> DeviceNDArray:
    """An array of the device that has the shape, strides and dtype of ``ary``, in the memory that is given or in new one."""
    if gpu_data is None:
        return device_array_like(ary, stream)
    return DeviceNDArray(ary.shape, ary.strides, ary.dtype, stream, gpu_data)


def from_record_like(rec: Any, stream: Any = 0, gpu_data: Any = None) -> DeviceRecord:
    """A record of the device that has the dtype of ``rec``, in the memory that is given or in new one."""
    return DeviceRecord(rec.dtype, stream, gpu_data)


def auto_device(obj: Any, stream: Any = 0, copy: bool = True) -> tuple[Any, bool]:
    """The object on the device, and whether it was brought there now."""
    made = to_device(obj, stream, copy)
    return made, not (is_cuda_ndarray(obj) or hasattr(obj, "__cuda_array_interface__"))
