"""Memory by the byte, and what else programs take from numba.cuda's driver."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import MemoryPointer, _Access, move, over
from .._context import Context, Device, MemoryInfo, gpus
from .._devices import driver_version
from .._errors import CudaAPIError, CudaDriverError, LinkerError
from .._extent import Array, extent
from .._stream import Stream

__all__ = [
    "Context",
    "CudaAPIError",
    "CudaDriverError",
    "Device",
    "LinkerError",
    "MemoryInfo",
    "MemoryPointer",
    "Stream",
    "device_memory_size",
    "device_memset",
    "device_pointer",
    "device_to_device",
    "device_to_host",
    "driver",
    "host_memory_extents",
    "host_memory_size",
    "host_pointer",
    "host_to_device",
    "is_device_memory",
    "require_device_memory",
]


def is_device_memory(obj: Any) -> bool:
    """Whether it is memory of the device: an array, a record, or a `treadle.cuda.MemoryPointer`."""
    return isinstance(obj, (_Access, MemoryPointer))


def require_device_memory(obj: Any) -> None:
    """Exception for what is no memory of the device."""
    if not is_device_memory(obj):
        raise TypeError(f"memory of the device is needed, not {type(obj).__name__}")


def _on_device(obj: Any) -> MemoryPointer:
    if isinstance(obj, MemoryPointer):
        return obj
    if not is_device_memory(obj):
        raise TypeError(f"memory of the device is needed, not {type(obj).__name__}")
    return MemoryPointer.of(obj._mem)


def device_pointer(obj: Any) -> int:
    """The address of memory of the device; 0 where there is nothing."""
    return _on_device(obj).device_pointer_value or 0


def device_memory_size(obj: Any) -> int:
    """How many bytes of the device's memory it has, from the first to the last."""
    return _on_device(obj).size


def host_pointer(obj: Any) -> int:
    """The address of an array of the host."""
    return extent(np.asarray(obj))[0]


def host_memory_extents(obj: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array of the host, and of that behind its last."""
    return extent(np.asarray(obj))


def host_memory_size(obj: Any) -> int:
    """How many bytes an array of the host has, from the first to the last."""
    lo, hi = extent(np.asarray(obj))
    return hi - lo


def _bytes(obj: Any, size: int, on_device: bool) -> Array:
    """The first bytes of an array, of the device or of the host."""
    if on_device != is_device_memory(obj):
        raise TypeError(
            f"memory of the {'device' if on_device else 'host'} is needed, not {type(obj).__name__}"
        )
    owner: Any
    if isinstance(obj, MemoryPointer):
        at, room, owner, written = obj.device_pointer_value or 0, obj.size, obj, True
    else:
        ary = obj._mem if on_device else np.asarray(obj)
        at, end = extent(ary)
        room, owner, written = end - at, ary, bool(ary.flags.writeable)
    if not 0 <= size <= room:
        raise ValueError(f"{size} bytes of an array that has {room}")
    return over(at, (size,), "u1", None, owner, not written)


def device_memset(dst: Any, val: int, size: int, stream: Any = 0) -> None:
    """Set the first ``size`` bytes of memory of the device."""
    move(_bytes(dst, size, True), np.uint8(val & 255), stream)


def device_to_host(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copy the first ``size`` bytes from the device to an array of the host."""
    move(_bytes(dst, size, False), _bytes(src, size, True), stream)


def host_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copy the first ``size`` bytes of an array of the host to the device."""
    move(_bytes(dst, size, True), _bytes(src, size, False), stream)


def device_to_device(dst: Any, src: Any, size: int, stream: Any = 0) -> None:
    """Copy the first ``size`` bytes from memory of the device to other such memory."""
    move(_bytes(dst, size, True), _bytes(src, size, True), stream)


class Driver:
    """CUDA's driver, which the emulated device does without."""

    is_initialized = True

    def get_version(self) -> tuple[int, int]:
        """The newest CUDA that it knows; (-1, -1) where there is none."""
        return driver_version()

    def get_device_count(self) -> int:
        """How many devices there are."""
        return len(gpus)


driver = Driver()
