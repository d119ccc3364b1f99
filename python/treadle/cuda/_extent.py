"""Where the items of an array lie, from byte to byte; its memory is not touched."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Array", "extent"]

Array = np.ndarray[Any, Any]


def extent(mem: Array) -> tuple[int, int]:
    """The first byte of an array, and that behind its last."""
    lo = hi = mem.__array_interface__["data"][0]
    if mem.size == 0:
        return lo, lo
    for n, s in zip(mem.shape, mem.strides):
        lo, hi = lo + min(0, (n - 1) * s), hi + max(0, (n - 1) * s)
    return lo, hi + mem.itemsize
