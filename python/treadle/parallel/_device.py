"""Values of lazy arrays that lie on a device."""

from __future__ import annotations

from typing import Any

from treadle.cuda._array import DeviceNDArray, allocate, move

__all__ = ["own"]


def own(mem: Any, copy: bool) -> DeviceNDArray:
    """The device array over ``mem``, or over a copy of it on the device. The core calls it."""
    if copy:
        made = allocate(mem.shape, mem.dtype)
        move(made, mem)
        mem = made
    return DeviceNDArray(mem)
