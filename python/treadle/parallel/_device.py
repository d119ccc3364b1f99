"""Values of lazy arrays that lie on a device."""

from __future__ import annotations

from typing import Any

from treadle.cuda._array import DeviceNDArray, allocate, move
from treadle.cuda._compile import target_of
from treadle.cuda._devices import least_cc

__all__ = ["own", "target"]


def own(mem: Any, copy: bool) -> DeviceNDArray:
    """The device array over ``mem``, or over a copy of it on the device. The core calls it."""
    if copy:
        made = allocate(mem.shape, mem.dtype)
        move(made, mem)
        mem = made
    return DeviceNDArray(mem)


def target() -> str:
    """The compiler's name of the processor that kernels are made for. The core calls it."""
    return target_of(least_cc())
