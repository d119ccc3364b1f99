"""Arrays on the device. On the emulated one they lie in the host's memory, apart from the arrays that they were copied from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import UnsupportedError

__all__ = [
    "DeviceNDArray",
    "Stream",
    "check_stream",
    "default_stream",
    "device_array",
    "device_array_like",
    "is_available",
    "is_cuda_array",
    "is_emulated",
    "stream",
    "synchronize",
    "to_device",
]


class Stream:
    """A queue of copies and launches. On the emulated device each is done when its call returns, so what is on a stream is always finished."""

    __slots__ = ()

    def synchronize(self) -> None:
        """Wait for what is on the stream: nothing, ever."""

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """A `with` at whose end the stream is waited for."""
        yield self
        self.synchronize()

    def __repr__(self) -> str:
        return "<stream of the emulated device>"


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The stream of what names none."""
    return Stream()


def check_stream(stream: Any) -> None:
    """TypeError for what is no stream; 0 and None stand for the default one."""
    if not (stream is None or isinstance(stream, Stream) or (isinstance(stream, int) and stream == 0)):
        raise TypeError(f"a stream is made by cuda.stream(), and {stream!r} is none")


class DeviceNDArray:
    """An array on the device. It is made by `to_device`, `device_array` and `device_array_like`, and read by `copy_to_host`.

    Attributes
    ----------
    shape, strides, dtype, ndim, size, nbytes
        As `numpy.ndarray` has them.
    """

    __slots__ = ("_mem",)

    def __init__(self, mem: np.ndarray[Any, Any]) -> None:
        self._mem = mem

    shape = property(lambda self: self._mem.shape)
    strides = property(lambda self: self._mem.strides)
    dtype = property(lambda self: self._mem.dtype)
    ndim = property(lambda self: self._mem.ndim)
    size = property(lambda self: self._mem.size)
    nbytes = property(lambda self: self._mem.nbytes)

    def copy_to_host(self, ary: np.ndarray[Any, Any] | None = None, stream: Any = 0) -> np.ndarray[Any, Any]:
        """The items, in a new array of the same order or in ``ary``.

        Raises
        ------
        ValueError
            ``ary`` has another shape.
        TypeError
            ``ary`` has another dtype.
        """
        check_stream(stream)
        if ary is None:
            return self._mem.copy(order="K")
        self._check(ary)
        ary[...] = self._mem
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Fill it with the items of ``ary``, an array of the host or of the device.

        Raises
        ------
        ValueError
            ``ary`` has another shape.
        TypeError
            ``ary`` has another dtype.
        """
        check_stream(stream)
        ary = ary._mem if isinstance(ary, DeviceNDArray) else np.asarray(ary)
        self._check(ary)
        self._mem[...] = ary

    def _check(self, ary: np.ndarray[Any, Any]) -> None:
        if ary.shape != self.shape:
            raise ValueError(f"an array of shape {ary.shape}, the device array has {self.shape}")
        if ary.dtype != self.dtype:
            raise TypeError(f"an array of {ary.dtype}, the device array is of {self.dtype}")

    def __getitem__(self, index: Any) -> Any:
        """A view on the device; one item is a NumPy scalar."""
        for i in index if isinstance(index, tuple) else (index,):
            if not (isinstance(i, (int, np.integer, slice)) or i is Ellipsis or i is None):
                raise UnsupportedError(
                    f"a device array takes ints and slices as indices, not {type(i).__name__}"
                )
        part = self._mem[index]
        return DeviceNDArray(part) if isinstance(part, np.ndarray) else part

    def __setitem__(self, index: Any, value: Any) -> None:
        self._mem[index] = value._mem if isinstance(value, DeviceNDArray) else value

    def __len__(self) -> int:
        return len(self._mem)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("a device array is read by copy_to_host(), not by NumPy's functions")

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError("arrays of the emulated device have no addresses on a GPU")

    def __repr__(self) -> str:
        return f"<device array {self.shape} of {self.dtype}>"


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceNDArray | None = None) -> DeviceNDArray:
    """Copy an array to the device.

    Parameters
    ----------
    obj : array_like
    copy : bool
        False: only make room for it.
    to : DeviceNDArray, optional
        Where to copy it, in place of a new array.
    """
    check_stream(stream)
    if isinstance(obj, DeviceNDArray):
        raise TypeError("the array is on the device already")
    ary = np.asarray(obj)
    if to is None:
        to = DeviceNDArray(np.empty_like(ary, order="K", subok=False))
    if copy:
        to.copy_to_device(ary)
    return to


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceNDArray:
    """An array on the device, not initialised. ``order`` is ``'C'`` or ``'F'``."""
    check_stream(stream)
    if strides is not None:
        raise UnsupportedError("Treadle makes device arrays of order 'C' or 'F': leave `strides` out")
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    return DeviceNDArray(np.empty(shape, dtype, order))  # type: ignore[call-overload]


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """An array on the device with the shape, dtype and order of ``ary``, of the host or the device; not initialised."""
    check_stream(stream)
    like = ary._mem if isinstance(ary, DeviceNDArray) else np.asarray(ary)
    return DeviceNDArray(np.empty_like(like, order="K", subok=False))


def synchronize() -> None:
    """Wait for what was launched. A launch returns when all threads have ended, so there is nothing to wait for."""


def is_available() -> bool:
    """Whether kernels can run: always, on the emulated device."""
    return True


def is_emulated() -> bool:
    """Whether kernels run on the emulated device: always, in this release."""
    return True


def is_cuda_array(obj: Any) -> bool:
    """Whether it is an array on the device."""
    return isinstance(obj, DeviceNDArray)
