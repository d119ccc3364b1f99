"""Bytes of integers: `int.to_bytes` and `int.from_bytes`."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import refuse

__all__ = ["of_int_from_bytes", "of_number_to_bytes"]


def of_number_to_bytes(self: Any, length: Any = 1, byteorder: Any = "big", *, signed: Any = False) -> Any:
    """Return the bytes of an integer; one that needs more than there are to be is an OverflowError."""
    if isinstance(self, (int, np.integer)):
        return bytes_of(self, length, byteorder, signed)
    refuse("only integers have 'to_bytes'")


def bytes_of(x: Any, length: Any, byteorder: Any, signed: Any) -> Any:
    """Return what `int.to_bytes` does."""
    if byteorder != "big" and byteorder != "little":
        raise ValueError("byteorder must be either 'little' or 'big'")
    if length < 0:
        raise ValueError("length argument must be non-negative")
    rest = x
    if rest < 0 and not signed:
        raise OverflowError("can't convert negative int to unsigned")
    made = bytearray(length)
    last = 0
    for i in range(length):
        last = int(rest & 255)
        made[i if byteorder == "little" else length - 1 - i] = last
        rest = rest >> 8
    too_big = rest != 0 if x >= 0 else rest != -1
    if too_big or (signed and length > 0 and (last >= 128) != (x < 0)):
        raise OverflowError("int too big to convert")
    return bytes(made)


def of_int_from_bytes(cls: Any, bytes: Any, byteorder: Any = "big", *, signed: Any = False) -> Any:  # noqa: A002, ARG001 - as the method has it
    """Return the integer of bytes, or of a sequence of such; what 64 bits do not hold is an OverflowError."""
    if byteorder != "big" and byteorder != "little":
        raise ValueError("byteorder must be either 'little' or 'big'")
    n = len(bytes)
    made = 0
    for i in range(n):
        b = int(bytes[i if byteorder == "big" else n - 1 - i])
        if not 0 <= b < 256:
            raise ValueError("bytes must be in range(0, 256)")
        if i == 0 and signed and b >= 128:
            made = -1
        if not -(2**55) <= made < 2**55:
            raise OverflowError("int.from_bytes(): the number does not fit into 64 bits with a sign")
        made = made * 256 + b
    return made
