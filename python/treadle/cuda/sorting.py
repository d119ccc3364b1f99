"""Sorting of arrays on the device, with values beside them, whole, the first few, or segment by segment, with the names of ``pyculib.sorting``, ``accelerate.cuda.sorting`` and ``numbapro.cudalib.sorting``.

>>> import numpy as np
>>> from treadle import cuda
>>> from treadle.cuda.sorting import RadixSort
>>> keys = cuda.to_device(np.array([3, 1, 2, 1], np.uint32))
>>> RadixSort(4, np.uint32).argsort(keys).copy_to_host()
array([1, 3, 2, 0], dtype=uint32)
>>> keys.copy_to_host()
array([1, 1, 2, 3], dtype=uint32)

A GPU and the emulated device give the same bits: equal keys stay in their order, NaNs are equal and behind all others, and so are zeros of both signs among each other.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import _sort
from . import _order, _sorts
from ._array import _Access, allocate, dtype_of, goes_on, move, on_device
from ._devices import is_emulated, ready
from ._extent import Array
from ._interop import as_cuda_array, is_cuda_array, memory
from ._memory import device_array
from ._stream import check_stream, synchronize

if TYPE_CHECKING:
    from ._array import DeviceNDArray
    from ._typing import DType, StreamLike

__all__ = ["RadixSort", "segmented_sort"]

_KEYS = tuple(map(np.dtype, ("f4", "f8", "i4", "i8", "u4", "u8")))
_VALUES = (4, 8)  # bytes of one
_WORD = 1 << 32  # items that numbers of 32 bits tell apart


def _is_there(given: Any) -> bool:
    """Whether an array is the device's."""
    return isinstance(given, _Access) or (not isinstance(given, np.ndarray) and is_cuda_array(given))


def _memory(what: str, given: Any) -> tuple[Array, str]:
    """The memory of an argument that is sorted in place as one row, and which axis of more than one comes first there: C, F, or none."""
    mem = memory(given, f"{what} is an array")
    if not mem.flags.writeable:
        raise ValueError(f"{what} is read-only, and is sorted in place")
    if mem.ndim == 1:
        return mem, ""
    by_rows, by_columns = mem.flags.c_contiguous, mem.flags.f_contiguous
    if not by_rows and not by_columns:
        raise ValueError(
            f"{what} has {mem.ndim} axes, and gaps: of such arrays only those of one axis are sorted"
        )
    return (mem if by_rows else mem.T).reshape(-1), "" if by_rows and by_columns else "C" if by_rows else "F"


def _values(given: Any, keys: Array, order: str) -> Array | None:
    if given is None:
        return None
    mem, its_order = _memory("vals", given)
    if mem.itemsize not in _VALUES or mem.dtype.hasobject:
        raise TypeError(f"vals has items of 4 or 8 bytes, not {mem.dtype}")
    if mem.size < keys.size:
        raise ValueError(f"vals has {mem.size} items, and keys {keys.size}")
    if order != its_order and order and its_order:
        raise ValueError("vals and keys lie in different orders, C and F: which belong together is not clear")
    mem = mem[: keys.size]
    if np.shares_memory(mem, keys):
        raise ValueError("vals shares memory with keys")
    return mem.view(np.uint64 if mem.itemsize == 8 else np.uint32)


def _number(what: str, given: Any, least: int, most: int, of: str) -> int:
    """An integer of a range."""
    try:
        n = operator.index(given)
    except TypeError:
        raise TypeError(f"{what} is an integer, not {given!r}") from None
    if not least <= n <= most:
        raise ValueError(f"{what} is {n}: it is from {least} to {of}")
    return n


class _Lent:
    """An argument as the device can sort it: itself, or a copy that goes back."""

    def __init__(self, given: Array | None, stream: Any) -> None:
        self.given, self.stream = given, stream
        self.there = given
        if given is None:
            return
        fits = given.flags.c_contiguous and given.flags.aligned
        if not fits or not (is_emulated() or on_device(given)):
            self.there = allocate(given.shape, given.dtype, stream=stream or None)
            move(self.there, given, stream)

    def give_back(self, n: int) -> None:
        """The first ``n`` items; those of the host are there when this returns."""
        given = self.given
        if given is None or self.there is None:
            return
        if self.there is not given:
            move(given[:n], self.there[:n], self.stream)
        elif self.stream and not goes_on(given):
            self.stream.synchronize()


def _sort_there(
    what: str,
    keys: Array,
    vals: Array | None,
    numbers: bool,
    descending: bool,
    bits: tuple[int, int],
    k: int,
    ends: Array | None,
    stream: Any,
) -> None:
    """The first ``k`` of all keys, or of each segment all; in place. ``numbers``: ``vals`` is written alone."""
    check_stream(stream)
    lent = _Lent(keys, stream), _Lent(vals, stream) if not numbers else None
    there = lent[0].there
    its = vals if lent[1] is None else lent[1].there
    assert there is not None
    if _order.active:
        spans = _order.spans(there, True, "its keys")
        if its is not None:
            spans += _order.spans(its, True, "its vals")
        _order.active.work(what, spans, (there, its), stream)
    form = keys.dtype.kind, keys.itemsize == 8, descending
    if is_emulated():
        _sort(there, its, numbers, descending, *bits, k, ends, stream)
    elif ends is not None:
        _sorts.segmented(there, its, ends, form, stream)
    elif k == keys.size:
        _sorts.sort(there, its, numbers, form, *bits, stream)
    elif k:
        _sorts.select(k, there, its, numbers, form, *bits, stream)
    for one in lent:
        if one is not None:
            one.give_back(k)
    if _order.active:
        _order.active.tell()


class RadixSort:
    """Sorts keys of one dtype, by all their bits or some.

    Parameters
    ----------
    maxcount : int
        Items at most of what is sorted.
    dtype : dtype
        Of keys: float32, float64, int32, int64, uint32 or uint64.
    descending : bool
        The largest first; then NaNs come first. Equal ones stay in their order, too.
    stream : Stream
        What sorts; the attribute may be changed.

    Attributes
    ----------
    maxcount : int
    dtype : dtype
    descending : bool
    stream : Stream or 0

    Raises
    ------
    TypeError
        The dtype is none of these; ``maxcount`` is no integer, ``stream`` no stream.
    ValueError
        ``maxcount`` is negative.

    Notes
    -----
    Keys are compared as unsigned integers in the same order, of which ``begin_bit`` and ``end_bit`` choose a range: of signed ones the sign is turned over, of floats as the order asks,
    NaNs are all ones, and -0.0 is 0.0. Memory beside the arrays is the pool's, in the order of the stream, so one object may be at work on several streams.

    Examples
    --------
    >>> from treadle.cuda.sorting import RadixSort
    >>> keys, names = np.array([2.5, -1.0, 7.0]), np.array([20, 10, 30], np.uint32)
    >>> RadixSort(3, np.float64, descending=True).sort(keys, names)
    >>> keys, names
    (array([ 7. ,  2.5, -1. ]), array([30, 20, 10], dtype=uint32))
    """

    def __init__(self, maxcount: int, dtype: DType, descending: bool = False, stream: StreamLike = 0) -> None:
        ready()
        check_stream(stream)
        self.maxcount = _number("maxcount", maxcount, 0, 2**63 - 1, "2**63 - 1")
        self.dtype = dtype_of(dtype)
        if self.dtype not in _KEYS:
            raise TypeError(f"dtype is one of {', '.join(map(str, _KEYS))}, not {self.dtype}")
        self.descending = bool(descending)
        self.stream: Any = stream or 0
        self._open = True

    def close(self) -> None:
        """No more is sorted by it: what is asked for then is a ValueError. Nothing is waited for."""
        self._open = False

    def _keys(self, given: Any) -> tuple[Array, str]:
        if not self._open:
            raise ValueError("this RadixSort was closed")
        mem, order = _memory("keys", given)
        if mem.dtype != self.dtype:
            raise TypeError(f"dtype mismatch: keys is of {mem.dtype}, and what sorts of {self.dtype}")
        if mem.size > self.maxcount:
            raise ValueError(f"keys array too long: {mem.size} items, and maxcount is {self.maxcount}")
        return mem, order

    def _bits(self, begin_bit: Any, end_bit: Any) -> tuple[int, int]:
        most = 8 * self.dtype.itemsize
        end = most if end_bit is None else _number("end_bit", end_bit, 0, most, str(most)) or most
        return _number("begin_bit", begin_bit, 0, end, f"{end}, where the bits end"), end

    def sort(
        self,
        keys: Array | DeviceNDArray,
        vals: Array | DeviceNDArray | None = None,
        begin_bit: int = 0,
        end_bit: int | None = None,
    ) -> None:
        """Sort keys in place, and permute values likewise.

        Parameters
        ----------
        keys : array of the device or of the host, (n,), of ``dtype``
            One of more axes that lies without gaps, in C or in Fortran's order, is sorted as the row that it is in memory.
        vals : array of the device or of the host, (n,), optional
            Its items have 4 or 8 bytes. Those beyond n are left alone.
        begin_bit, end_bit : int, optional
            The bits that count, the second one not among them; else, and with 0 for the second one, up to the last.

        Raises
        ------
        TypeError
            Keys of another dtype; items of ``vals`` of another size; no arrays.
        ValueError
            More than ``maxcount`` keys; several axes with gaps, or in different orders; too few values; one of both is read-only, or they share memory; no such bits; it was closed.
        """
        mem, order = self._keys(keys)
        its, bits = _values(vals, mem, order), self._bits(begin_bit, end_bit)
        _sort_there("a sort", mem, its, False, self.descending, bits, mem.size, None, self.stream)

    def select(
        self,
        k: int,
        keys: Array | DeviceNDArray,
        vals: Array | DeviceNDArray | None = None,
        begin_bit: int = 0,
        end_bit: int | None = None,
    ) -> None:
        """The first ``k`` of what `sort` gives, at the first ``k`` places of ``keys`` and ``vals``; those behind are as they were. The others are not sorted for it.

        Parameters
        ----------
        k : int
            From 0 to the number of keys.
        keys, vals, begin_bit, end_bit
            As `sort` has them.

        Raises
        ------
        TypeError, ValueError
            As `sort`; ``k`` is no such number.
        """
        mem, order = self._keys(keys)
        k = _number("k", k, 0, mem.size, f"{mem.size}, the number of keys")
        its, bits = _values(vals, mem, order), self._bits(begin_bit, end_bit)
        _sort_there("a selection", mem, its, False, self.descending, bits, k, None, self.stream)

    def init_arg(self, size: int) -> DeviceNDArray:
        """An array of the device of 0, 1, ... up to ``size - 1``: of uint32, of uint64 for more than 2**32.

        Raises
        ------
        TypeError, ValueError
            ``size`` is no integer, or negative.
        """
        n = _number("size", size, 0, 2**63 - 1, "2**63 - 1")
        made = device_array(n, _numbers_of(n), stream=self.stream)
        if is_emulated():
            move(made._argument, np.arange(n, dtype=made.dtype), self.stream)
        else:
            _sorts.number(made._argument, self.stream)
        return made

    def argsort(
        self, keys: Array | DeviceNDArray, begin_bit: int = 0, end_bit: int | None = None
    ) -> Array | DeviceNDArray:
        """Sort keys in place, and say where each was.

        Returns
        -------
        array, (n,), of uint32, of uint64 for more than 2**32 keys
            On the device if ``keys`` is, else of the host.

        Raises
        ------
        TypeError, ValueError
            As `sort`.
        """
        mem, _ = self._keys(keys)
        return self._numbers("a sort", mem, mem.size, keys, begin_bit, end_bit)

    def argselect(
        self, k: int, keys: Array | DeviceNDArray, begin_bit: int = 0, end_bit: int | None = None
    ) -> Array | DeviceNDArray:
        """`select`, and where each of the first ``k`` was.

        Returns
        -------
        array, (k,)
            As that of `argsort`.

        Raises
        ------
        TypeError, ValueError
            As `select`.
        """
        mem, _ = self._keys(keys)
        k = _number("k", k, 0, mem.size, f"{mem.size}, the number of keys")
        return self._numbers("a selection", mem, k, keys, begin_bit, end_bit)

    def _numbers(
        self, what: str, mem: Array, k: int, keys: Any, begin_bit: Any, end_bit: Any
    ) -> Array | DeviceNDArray:
        bits = self._bits(begin_bit, end_bit)
        there = _is_there(keys)
        made: Any
        if there or not is_emulated():
            made = device_array(k, _numbers_of(mem.size), stream=self.stream)
        else:
            made = np.empty(k, _numbers_of(mem.size))
        its = made if isinstance(made, np.ndarray) else made._argument
        _sort_there(what, mem, its, True, self.descending, bits, k, None, self.stream)
        if there:
            return made  # type: ignore[no-any-return]
        if isinstance(made, np.ndarray):
            if self.stream:
                self.stream.synchronize()
            return made
        host: Array = made.copy_to_host(stream=self.stream)
        return host


def _numbers_of(n: int) -> np.dtype[Any]:
    return np.dtype(np.uint32 if n <= _WORD else np.uint64)


def _ends(segments: Any, n: int, stream: Any) -> Array:
    """Where each segment ends, from where they are separated."""
    if _is_there(segments):
        mem = as_cuda_array(segments)
        if stream:
            stream.synchronize()
        else:
            synchronize()
        segments = mem.copy_to_host()
    given = np.asarray(segments)
    if given.ndim != 1:
        raise ValueError(f"segments has {given.ndim} axes: it has one")
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"segments is of integers, not {given.dtype}")
    outside = (given < 0) | (given > n)
    if outside.any():
        at = int(outside.argmax())
        raise ValueError(f"segments[{at}] is {given[at]}, and keys has {n} items")
    ends = np.append(given.astype(np.int64), np.int64(n))
    falls = np.diff(ends) < 0
    if falls.any():
        at = int(falls.argmax()) + 1
        raise ValueError(f"segments[{at}] is {ends[at]}, behind {ends[at - 1]}: segments follow each other")
    return ends


def segmented_sort(
    keys: Array | DeviceNDArray,
    vals: Array | DeviceNDArray | None,
    segments: Any,
    stream: StreamLike = 0,
) -> None:
    """Sort segments of keys, each for itself, in place, and permute values likewise.

    Parameters
    ----------
    keys : array of the device or of the host, (n,)
        Of float32, float64, int32, int64, uint32 or uint64; of more axes as `RadixSort.sort` has it.
    vals : array of the device or of the host, (n,), or None
        Its items have 4 or 8 bytes. Those beyond n are left alone.
    segments : array of int, (m,)
        Where segments are separated: ``[3, 6]`` is for ``keys[:3]``, ``keys[3:6]`` and ``keys[6:]``. What the device has is copied to the host first, so the stream is waited for.
    stream : Stream
        What sorts.

    Raises
    ------
    TypeError
        Keys of another dtype; items of ``vals`` of another size; no arrays; ``segments`` is not of integers.
    ValueError
        Several axes with gaps, or in different orders; too few values; keys or values are read-only, or share memory; ``segments`` has numbers that fall, or are none of places among keys.

    Examples
    --------
    >>> from treadle.cuda.sorting import segmented_sort
    >>> keys, vals = np.array([3, 1, 2, 9, 8], np.int32), np.arange(5, dtype=np.uint32)
    >>> segmented_sort(keys, vals, np.array([3]))
    >>> keys, vals
    (array([1, 2, 3, 8, 9], dtype=int32), array([1, 2, 0, 4, 3], dtype=uint32))
    """
    ready()
    check_stream(stream)
    mem, order = _memory("keys", keys)
    if mem.dtype not in _KEYS:
        raise TypeError(f"keys is of one of {', '.join(map(str, _KEYS))}, not {mem.dtype}")
    its = _values(vals, mem, order)
    ends = _ends(segments, mem.size, stream)
    bits = 0, 8 * mem.itemsize
    _sort_there("a sort of segments", mem, its, False, False, bits, mem.size, ends, stream or 0)
