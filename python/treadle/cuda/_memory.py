"""Making arrays of the device, and arrays that host and device share."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from .._core import _dev_pin, _dev_unpin
from ._array import (
    HOST,
    LOCAL,
    MANAGED,
    DeviceNDArray,
    DeviceRecord,
    ManagedNDArray,
    MappedNDArray,
    _Access,
    _items,
    allocate,
    pins,
)
from ._devices import is_emulated, ready
from ._extent import Array, extent
from ._interop import as_cuda_array
from ._stream import check_stream, synchronize

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import ArrayLike

    from ._typing import DType, Shape, StreamLike

__all__ = [
    "device_array",
    "device_array_like",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "room_like",
    "to_device",
]


@overload
def to_device(  # type: ignore[overload-overlap]  # NumPy takes a record for an array
    obj: np.void | DeviceRecord, stream: StreamLike = 0, copy: bool = True, to: DeviceRecord | None = None
) -> DeviceRecord: ...
@overload
def to_device(
    obj: ArrayLike | DeviceNDArray,
    stream: StreamLike = 0,
    copy: bool = True,
    to: DeviceNDArray | None = None,
) -> DeviceNDArray: ...
def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """Copy an array to the device.

    Parameters
    ----------
    obj : array_like
        A record (`numpy.void`) becomes a `DeviceRecord`, a number an array without axes. What is on the device already is given back as it is.
    stream
        What the copy is on.
    copy : bool
        False: only make room for it.
    to : DeviceNDArray, optional
        Where to copy it, in place of a new array.

    Returns
    -------
    DeviceNDArray or DeviceRecord

    Raises
    ------
    TypeError
        Its items are Python objects; ``to`` has another dtype.
    ValueError
        ``to`` has another shape.
    """
    ready()
    check_stream(stream)
    if to is not None:
        if not isinstance(to, _Access):
            raise TypeError(f"`to` is an array of the device, not {type(to).__name__}")
        if copy:
            to.copy_to_device(obj, stream)
        return to
    if isinstance(obj, _Access):
        return obj
    if hasattr(obj, "__cuda_array_interface__"):
        return as_cuda_array(obj)
    ary = _items(obj)
    made: Any
    if isinstance(obj, np.void) and obj.dtype.names:
        made = DeviceRecord(ary.dtype, stream)
    else:
        made = DeviceNDArray(room_like(ary, stream=stream), stream=stream)
        if isinstance(obj, np.ndarray):
            made._source = weakref.ref(obj)
    if copy:
        made.copy_to_device(ary, stream)
    return made


def room_like(like: Array, place: int = LOCAL, stream: Any = None) -> Array:
    """Memory for an array that lies as this one does, without its gaps; `allocate` says what ``stream`` is."""
    if like.flags.c_contiguous or like.flags.f_contiguous:
        order = "C" if like.flags.c_contiguous else "F"
        return allocate(like.shape, like.dtype, order=order, place=place, stream=stream)
    axes = sorted(range(like.ndim), key=lambda k: (-abs(like.strides[k]), k))
    inner = allocate(tuple(like.shape[k] for k in axes), like.dtype, place=place, stream=stream)
    return inner.transpose([axes.index(k) for k in range(like.ndim)])


def device_array(
    shape: Shape,
    dtype: DType = np.float64,
    strides: Shape | None = None,
    order: Literal["C", "F"] = "C",
    stream: StreamLike = 0,
) -> DeviceNDArray:
    """An array on the device, not initialised.

    Parameters
    ----------
    shape, strides : int or tuple of ints
        Strides are in bytes, by default those of ``order``.
    order : 'C' or 'F'
    stream
        What its copies are on where they name no other.

    Raises
    ------
    MemoryError
        There is no room: `cudadrv.driver.CudaAPIError`, too.
    ValueError
        ``shape``, ``strides`` or ``order``.
    """
    ready()
    return DeviceNDArray(allocate(shape, dtype, strides, order), stream=stream)


def device_array_like(ary: Array | DeviceNDArray, stream: StreamLike = 0) -> DeviceNDArray:
    """An array on the device with the shape, dtype and order of ``ary``, of the host or the device; not initialised."""
    ready()
    return DeviceNDArray(room_like(_items(ary)), stream=stream)


def pinned_array(
    shape: Shape, dtype: DType = np.float64, strides: Shape | None = None, order: Literal["C", "F"] = "C"
) -> Array:
    """An array of the host that copies to and from the device go fast with, and go on behind the call where they are on a stream.

    Parameters
    ----------
    shape, dtype, strides, order
        As `device_array` has them.

    Returns
    -------
    ndarray, not initialised
    """
    ready()
    return allocate(shape, dtype, strides, order, place=HOST)


def pinned_array_like(ary: Array | DeviceNDArray) -> Array:
    """A `pinned_array` with the shape, dtype and order of ``ary``."""
    ready()
    return room_like(_items(ary), place=HOST)


def mapped_array(
    shape: Shape,
    dtype: DType = np.float64,
    strides: Shape | None = None,
    order: Literal["C", "F"] = "C",
    stream: StreamLike = 0,
    portable: bool = False,
    wc: bool = False,
) -> MappedNDArray:
    """An array of the host that the device sees, too.

    Parameters
    ----------
    shape, dtype, strides, order, stream
        As `device_array` has them.
    portable, wc : bool
        How a GPU is to see it; without a meaning on the emulated device.

    Returns
    -------
    MappedNDArray, not initialised
    """
    ready()
    check_stream(stream)
    return _shared(allocate(shape, dtype, strides, order, place=HOST), MappedNDArray, stream)


def mapped_array_like(
    ary: Array | DeviceNDArray, stream: StreamLike = 0, portable: bool = False, wc: bool = False
) -> MappedNDArray:
    """A `mapped_array` with the shape, dtype and order of ``ary``."""
    ready()
    check_stream(stream)
    return _shared(room_like(_items(ary), place=HOST), MappedNDArray, stream)


def managed_array(
    shape: Shape,
    dtype: DType = np.float64,
    strides: Shape | None = None,
    order: Literal["C", "F"] = "C",
    stream: StreamLike = 0,
    attach_global: bool = True,
) -> ManagedNDArray:
    """An array that lies where it is used, on the host or the device.

    Parameters
    ----------
    shape, dtype, strides, order, stream
        As `device_array` has them.
    attach_global : bool
        Which devices see it, of which there is one.

    Returns
    -------
    ManagedNDArray, not initialised
    """
    ready()
    check_stream(stream)
    return _shared(allocate(shape, dtype, strides, order, place=MANAGED), ManagedNDArray, stream)


_Shared = TypeVar("_Shared", MappedNDArray, ManagedNDArray)


def _shared(mem: Array, cls: type[_Shared], stream: Any) -> _Shared:
    made = mem.view(cls)
    made.stream = stream
    return made


def _of_host(arrays: tuple[Any, ...], what: str) -> None:
    ready()
    for k, ary in enumerate(arrays):
        if not isinstance(ary, np.ndarray):
            raise TypeError(
                f"cuda.{what}() takes arrays of the host, and argument {k + 1} is a {type(ary).__name__}"
            )


@contextlib.contextmanager
def pinned(*arylist: Array) -> Iterator[None]:
    """A ``with`` in which copies of the arrays to and from the device go fast, and go on behind the call where they are on a stream."""
    _of_host(arylist, "pinned")
    with contextlib.ExitStack() as stack:
        for ary in arylist:
            _seen(ary, stack)
        yield


def _seen(ary: Array, until: contextlib.ExitStack) -> None:
    """A GPU sees the array's memory until then."""
    lo, hi = extent(ary)
    if lo < hi and is_emulated():
        pin = object()
        pins[pin] = lo, hi
        until.callback(pins.pop, pin)
    elif lo < hi:
        _dev_pin(lo, hi - lo)
        until.callback(_dev_unpin, lo)


@contextlib.contextmanager
def mapped(*arylist: Array, stream: StreamLike = 0) -> Iterator[Any]:
    """A ``with`` in which the device sees the arrays: it gives a device array of the same memory, or a list of them. They are gone when it ends."""
    _of_host(arylist, "mapped")
    with contextlib.ExitStack() as stack:
        for ary in arylist:
            _seen(ary, stack)
        seen = [DeviceNDArray(np.asarray(ary), stream=stream) for ary in arylist]
        try:
            yield seen[0] if len(seen) == 1 else seen
        finally:
            for d in seen:
                d._wait()
                del d._mem
            if not is_emulated():
                synchronize()
