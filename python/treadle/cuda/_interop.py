"""Arrays of other packages on the device, without a copy: the CUDA array interface, and DLPack.

A GPU takes what it sees. The emulated device has the host's memory, so that is where such arrays must lie: an address that the host cannot read is refused.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._core import _dlpack_sees, _dlpack_take
from ._array import DeviceNDArray, _Access, foreign
from ._devices import is_emulated, ready
from ._extent import Array
from ._stream import check_stream, of_others, synchronize

__all__ = ["as_cuda_array", "from_cuda_array_interface", "from_dlpack", "is_cuda_array", "memory"]


_A_GPU = 2  # DLPack's kind of device, kDLCUDA


def is_cuda_array(obj: Any) -> bool:
    """Whether it has ``__cuda_array_interface__``, as arrays on the device have."""
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """An array of another package that has ``__cuda_array_interface__``, as an array of the device, without a copy.

    Raises
    ------
    TypeError
        It has none.
    ValueError, NotImplementedError
        As `from_cuda_array_interface`.
    """
    if isinstance(obj, DeviceNDArray):
        return obj
    if isinstance(obj, _Access):
        return DeviceNDArray(obj._mem, stream=obj.stream)
    if not is_cuda_array(obj):
        raise TypeError(f"{type(obj).__name__} has no __cuda_array_interface__")
    return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj, sync=sync)


def memory(ary: Any, what: str) -> Array:
    """The ndarray of an operand of a library's: of the device, of NumPy's, or of another package's on the device.

    ``what`` begins the message of the TypeError for all else, up to where arrays are of.
    """
    if isinstance(ary, _Access):
        return ary._argument
    if isinstance(ary, np.ndarray):
        return ary
    if is_cuda_array(ary):
        return as_cuda_array(ary)._argument
    raise TypeError(f"{what} of the device or of NumPy's, not {type(ary).__name__}")


def settle(stream: Any, *operands: Any) -> None:
    """Wait until the device's memory may be worked on: for what is on the stream, or where none is named for all that the host would meet. A GPU's default stream comes after those of this
    package by itself, but an operand may be bound to one of others' that it does not wait for.

    Raises
    ------
    TypeError
        It is no stream.
    """
    check_stream(stream)
    if stream:
        stream.synchronize()
    elif is_emulated():
        synchronize()
    else:
        ready()
        for a in operands:
            if isinstance(a, DeviceNDArray):
                a._wait()


def memory_of(obj: Any) -> Array | None:
    """The memory of an array on the device, of this package or another one. None of what is no such array."""
    if isinstance(obj, _Access):
        return obj._mem  # type: ignore[no-any-return]
    return None if type(obj) is np.ndarray or not is_cuda_array(obj) else as_cuda_array(obj)._mem


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """The array that a ``__cuda_array_interface__`` describes, without a copy.

    Parameters
    ----------
    desc : dict
    owner
        What keeps the memory; the array refers to it.
    sync : bool
        Wait for the stream that ``desc`` names.

    Raises
    ------
    ValueError
        ``desc`` is no description of an array, or its memory is not the host's, where the emulated device has its own.
    NotImplementedError
        It has a mask.
    """
    ready()
    try:
        version, (address, readonly) = operator.index(desc["version"]), desc["data"]
        shape, address = tuple(map(operator.index, desc["shape"])), operator.index(address or 0)
        dtype = np.dtype(desc["typestr"])
        if dtype.kind == "V" and desc.get("descr"):
            dtype = np.dtype(desc["descr"])
        strides = None if desc.get("strides") is None else tuple(map(operator.index, desc["strides"]))
        stream = desc.get("stream") if version >= 3 else None
        stream = None if stream is None else operator.index(stream)
    except (KeyError, TypeError, ValueError) as err:
        raise ValueError(f"not a __cuda_array_interface__: {err!r}") from None
    if version >= 1 and desc.get("mask") is not None:
        raise NotImplementedError("arrays with a mask are not taken: apply it, or pass its array beside")
    if strides is not None and len(strides) != len(shape):
        raise ValueError(f"strides {strides} of another length than the shape {shape}")
    if dtype.hasobject:
        raise ValueError(f"not an array of a device: its items are {dtype}")
    if stream == 0:
        raise ValueError("a stream of 0 is not allowed in __cuda_array_interface__: 1 is the default one")
    if stream is not None and sync:
        _wait_for(stream)
    try:
        return DeviceNDArray(foreign(address, shape, dtype, strides, owner, bool(readonly)))
    except ValueError as err:
        raise ValueError(f"not an array of a device: {err}") from None


def _wait_for(stream: int) -> None:
    """Wait for a stream that another package names by its handle: a default one, 1 or 2, or one that `cuda.stream` made."""
    try:
        named = of_others(stream)
    except ValueError:
        raise ValueError(
            f"stream {stream} is none of the emulated device's: wait for it, and pass sync=False"
        ) from None
    named.synchronize()


def from_dlpack(obj: Any) -> DeviceNDArray:
    """An array of another package that has ``__dlpack__``, as an array of the device, without a copy.

    It must lie where the device sees it: on the GPU; for the emulated one, in memory that the host sees.

    Raises
    ------
    TypeError
        It has no ``__dlpack__``.
    BufferError
        Its memory is none that the device can use, or its items are no numbers.
    """
    ready()
    if isinstance(obj, DeviceNDArray):
        return obj
    if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
        raise TypeError(f"{type(obj).__name__} has no __dlpack__")
    kind, number = map(int, obj.__dlpack_device__())
    _check_seen(kind, number)
    if is_emulated() and isinstance(obj, np.ndarray):
        return DeviceNDArray(np.asarray(obj))
    given = {"stream": 1} if kind == _A_GPU else {}
    try:
        capsule = obj.__dlpack__(max_version=(1, 0), **given)
    except TypeError:  # it is older than versions are
        capsule = obj.__dlpack__(**given)
    return from_tensor(_dlpack_take(capsule), kind, number)


def _check_seen(kind: int, number: int) -> None:
    """BufferError for a device of DLPack's whose memory ours cannot use."""
    if _dlpack_sees(kind, number):
        return
    if is_emulated():
        raise BufferError(
            f"the array lies on a device of DLPack's kind {kind}, and the emulated device has the host's memory only"
        )
    raise BufferError(
        f"the array lies on device {number} of DLPack's kind {kind}, which the GPU does not see: copy it with cuda.to_device()"
    )


def from_tensor(described: Any, kind: int, number: int) -> DeviceNDArray:
    """The array of a tensor that another package hands over in C (src/ext/exchange.c), as `_dlpack_take` describes it."""
    ready()
    _check_seen(kind, number)
    address, shape, strides, items, readonly, owner = described
    try:
        return DeviceNDArray(foreign(address, shape, items, strides, owner, readonly))
    except (ValueError, TypeError) as err:  # a TypeError: NumPy has no such items
        raise BufferError(f"the device cannot use the array: {err}") from None
