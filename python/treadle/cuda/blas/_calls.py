"""Calls of BLAS's routines: on which stream, and what has to be done before and behind one whose arrays cannot be taken as they are."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core import BLAS, _blas_table
from ...errors import PerformanceWarning
from .. import _libs, _order
from .._array import _Access, allocate, goes_on, move, on_device
from .._devices import is_emulated, ready
from .._extent import Array
from .._interop import memory as _memory
from .._stream import check_stream
from .._warn import callers_level

if TYPE_CHECKING:
    from typing import SupportsComplex, SupportsFloat, TypeAlias

    from .._array import DeviceNDArray
    from .._typing import StreamLike

    Number: TypeAlias = SupportsFloat | SupportsComplex
    Operand: TypeAlias = Array | DeviceNDArray

__all__ = ["ATOMICS_ALLOWED", "ATOMICS_NOT_ALLOWED", "POINTER_MODE_HOST", "Calls", "memory", "table", "taken"]

POINTER_MODE_HOST = 0
ATOMICS_NOT_ALLOWED, ATOMICS_ALLOWED = range(2)
_OUT = 1  # as tr_blas_use in src/libs/blas.h
_ARRAYS = ("matrix", "vector", "packed")


@functools.cache
def table() -> list[Any]:
    """The routines: of each its name, what it does, its words (name, kind, use, whether a method takes it) and its variants (name, cuBLAS's symbol, dtype, whether numbers are real, whether
    it is another row's)."""
    return _blas_table()


@functools.cache
def taken(routine: int) -> list[tuple[str, str, int]]:
    """The words that a method takes."""
    return [word[:3] for word in table()[routine][2] if word[3]]


def memory(ary: Any, what: str) -> Array:
    """The ndarray of an operand; ``what`` it is called in messages."""
    return _memory(ary, f"{what} is an array")


def _lies_well(mem: Array, kind: str, forward: bool) -> bool:
    """Whether BLAS can be told how it lies."""
    item = mem.itemsize
    if mem.size == 0:
        return True
    if kind == "matrix" and mem.ndim == 2:
        (rows, columns), (down, right) = mem.shape, mem.strides
        return (rows <= 1 or down == item) and (
            columns <= 1 or (right % item == 0 and right >= item * max(rows, 1))
        )
    if mem.ndim != 1 or mem.size <= 1:
        return True
    step = mem.strides[0]
    if kind == "packed":
        return step == item
    return step % item == 0 and step != 0 and (step > 0 or not forward)


def _is_fit(mem: Array) -> bool:
    """Whether the device can take its items as they are."""
    if not mem.flags.aligned or not mem.dtype.isnative:
        return False
    return is_emulated() or (on_device(mem) and mem.__array_interface__["data"][0] % mem.itemsize == 0)


class Calls(BLAS):
    """What calls of routines have in common.

    Parameters
    ----------
    stream : Stream
        What they are put on.

    Raises
    ------
    TypeError
        ``stream`` is none.
    CudaSupportError
        There is a GPU, and cuBLAS is not here.
    """

    def __init__(self, stream: StreamLike = 0) -> None:
        ready()
        check_stream(stream)
        _libs.need("cuBLAS")
        self._stream: Any = stream or 0
        self._watched = _order.active is not None

    @property
    def stream(self) -> Any:
        """What calls are put on; it may be changed. 0: the default stream."""
        return self._stream

    @stream.setter
    def stream(self, stream: StreamLike) -> None:
        check_stream(stream)
        self._stream = stream or 0

    @property
    def pointer_mode(self) -> int:
        """Where numbers and results are: always ``CUBLAS_POINTER_MODE_HOST``, 0."""
        return POINTER_MODE_HOST

    @pointer_mode.setter
    def pointer_mode(self, mode: int) -> None:
        if mode != POINTER_MODE_HOST:
            raise ValueError(f"numbers and results are the host's: pointer mode 0, not {mode!r}")

    @property
    def atomics_mode(self) -> int:
        """Whether cuBLAS may add in any order, so that bits differ from run to run: ``CUBLAS_ATOMICS_NOT_ALLOWED``, 0, at first. On the emulated device it means nothing."""
        return int(self._atomics)

    @atomics_mode.setter
    def atomics_mode(self, mode: int) -> None:
        if mode not in (ATOMICS_NOT_ALLOWED, ATOMICS_ALLOWED):
            raise ValueError(f"the atomics mode is 0 or 1, not {mode!r}")
        self._atomics = bool(mode)

    def _staged(self, routine: int, *args: Any) -> Any:
        """The routine of that number, with copies of arrays that cannot be taken as they are, which is noted where streams are watched."""
        words = taken(routine)
        name = table()[routine][0]
        if len(args) != len(words):
            self._run(routine, *args)  # which says so
        if not any(kind in _ARRAYS for _, kind, _ in words):
            return self._numbers(routine, args)
        stream = self._stream
        forward = name in ("amax", "amin")
        staged: list[Any] = []
        back: list[tuple[Array, Array]] = []
        there: dict[Any, Array] = {}
        for (word, kind, use), value in zip(words, args):
            if kind not in _ARRAYS:
                staged.append(value)
                continue
            mem = memory(value, f"{name}'s {word}")
            well = _lies_well(mem, kind, forward)
            if well and _is_fit(mem):
                staged.append(mem)
                continue
            if mem.dtype.newbyteorder("=").name not in ("float32", "float64", "complex64", "complex128"):
                self._run(routine, *staged, mem, *args[len(staged) + 1 :])  # which says so
                raise TypeError(f"{name}'s {word} has unsupported type {mem.dtype}")
            if kind == "packed" and mem.ndim != 1 and not (mem.flags.c_contiguous or mem.flags.f_contiguous):
                raise ValueError(f"Expecting 1 dimension array: {name}'s {word} has {mem.ndim}")
            if use == _OUT and not mem.flags.writeable:
                raise ValueError(f"{name} writes to {word}, which is read-only")
            if not well and kind == "matrix":
                warnings.warn(
                    f"{name}'s {word} does not lie in columns, and goes by way of a copy: order='F' needs none",
                    PerformanceWarning,
                    stacklevel=callers_level(),
                )
            key = mem.__array_interface__["data"][0], mem.shape, mem.strides, mem.dtype
            if key not in there:
                order = "C" if kind == "packed" and mem.flags.c_contiguous else "F"
                native = mem.dtype.newbyteorder("=")
                there[key] = allocate(mem.shape, native, order=order, stream=stream or None)
                move(there[key], mem, stream)
            if use == _OUT and not any(m is mem for m, _ in back):
                back.append((mem, there[key]))
            staged.append(there[key])
        self._note(name, self._touched, routine, staged)
        result = self._run(routine, *staged)
        for mem, copy in back:
            move(mem, copy, stream)
        if stream and not back and not all(goes_on(a) for a in staged if isinstance(a, np.ndarray)):
            stream.synchronize()
        self._tell(result)
        return result

    def _tell(self, result: Any) -> None:
        """What was found where streams are watched; who has a number has waited for the stream."""
        if _order.active:
            if result is not None and self._stream:
                _order.active.host_knows(_order.active.recorded(self._stream))
            _order.active.tell()

    def _note(self, name: str, touched: Any, number: int, args: Any) -> None:
        """What a call reads and writes, where streams are watched."""
        if _order.active:
            spans = [
                span
                for word, at, size, pitch, count, written in touched(number, *args)
                for span in _order.spans_of(at, size, pitch, count, bool(written), word)
            ]
            keep = tuple(a for a in args if isinstance(a, (np.ndarray, _Access)))
            _order.active.work(name, spans, keep, self._stream)

    def _numbers(self, routine: int, args: tuple[Any, ...]) -> Any:
        """A routine of numbers alone: of the type that holds all of them."""
        dtype = np.result_type(*(np.asarray(a).dtype for a in args))
        if dtype.kind in "iub":
            dtype = np.dtype(np.float64)
        variants = table()[routine][3]
        first = sum(len(row[3]) for row in table()[:routine])
        for k, variant in enumerate(variants):
            if variant[2] == dtype.name:
                return self._raw(routine << 8 | first + k, *args)
        raise TypeError(f"{table()[routine][0]} is not of numbers of {dtype}")
