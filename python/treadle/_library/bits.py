"""Bits of bytes: numpy.packbits and unpackbits."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant


def packbits(a: Any, axis: Constant = None, bitorder: str = "big") -> Any:
    """Eight items to a byte, which are 0 or not. The axis and the order are constants."""
    x = np.asarray(a)
    if x.dtype.kind not in "bui":
        raise TypeError("Expected an input array of integer or boolean data type")
    if bitorder != "big" and bitorder != "little":
        raise ValueError("'order' must be either 'little' or 'big'")
    if axis is None:
        return packed(np.ravel(x), bitorder)
    return np.moveaxis(packed(np.moveaxis(x, axis, -1), bitorder), -1, axis)


def packed(x: Any, bitorder: str) -> Any:
    """Along the last axis: eight bytes, each 0 or 1, are a word whose product with a number has them in its last byte."""
    n = x.shape[-1]
    full = n // 8
    out = np.zeros((*x.shape[:-1], (n + 7) // 8), np.uint8)
    words = np.ascontiguousarray(x[..., : 8 * full] != 0).view(np.uint64)
    gather = np.uint64(0x8040201008040201 if bitorder == "big" else 0x0102040810204080)
    out[..., :full] = (words * gather) >> np.uint64(56)
    for j in range(n - 8 * full):
        bit = (x[..., 8 * full + j] != 0).astype(np.uint8)
        out[..., full] |= bit << np.uint8(7 - j if bitorder == "big" else j)
    return out


def unpackbits(a: Any, axis: Constant = None, count: Any = None, bitorder: str = "big") -> Any:
    """An item, 0 or 1, for each bit. The axis and the order are constants."""
    x = np.asarray(a)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if bitorder != "big" and bitorder != "little":
        raise ValueError("'order' must be either 'little' or 'big'")
    if axis is None:
        return unpacked(np.ravel(x), count, bitorder)
    return np.moveaxis(unpacked(np.moveaxis(x, axis, -1), count, bitorder), -1, axis)


def unpacked(x: Any, count: Any, bitorder: str) -> Any:
    """Along the last axis."""
    every = 8 * x.shape[-1]
    n = every if count is None else count
    if n < 0:
        n += every
        if n < 0:
            raise ValueError("-ve count exceeds the number of bits")
    # a byte in all eight of a word, of which each keeps one bit, and what is not 0 becomes 1
    ones, most = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F)
    pick = np.uint64(0x0102040810204080 if bitorder == "big" else 0x8040201008040201)
    words = ((((x.astype(np.uint64) * ones) & pick) + most) >> np.uint64(7)) & ones
    every_bit = np.ascontiguousarray(words).view(np.uint8)
    if count is None:
        return every_bit
    out = np.zeros((*x.shape[:-1], n), np.uint8)
    out[..., : min(n, every)] = every_bit[..., : min(n, every)]
    return out
