"""Fourier transforms of arrays on the device, of one to three axes, many at a time: by cuFFT on a GPU, in vectors or by NumPy's own C loops on the emulated device, with the names of ``pyculib.fft``, ``accelerate.cuda.fft`` and ``numbapro.cudalib.cufft``.

>>> import numpy as np
>>> from treadle import cuda
>>> from treadle.cuda.fft import FFTPlan
>>> x = cuda.to_device(np.arange(4).astype(np.complex64))
>>> plan = FFTPlan(shape=x.shape, itype=np.complex64, otype=np.complex64)
>>> y = plan.forward(x, out=x)
>>> x.copy_to_host()
array([ 6.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)

Transforms are not scaled, so that the inverse of the forward one is the array times the number of its items. Arrays may be the device's or the host's, which are copied there and
back, in any order; what does not lie in C order without gaps goes by way of a copy.
"""

from __future__ import annotations

import functools
import math
import operator
import threading
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.fft

from .._core import FFT, _fft_loops, _fft_version
from ..errors import PerformanceWarning
from . import _libs, _order
from ._array import allocate, dtype_of, goes_on, move, on_device
from ._devices import is_emulated, ready
from ._extent import Array, extent
from ._interop import memory
from ._stream import check_stream, default_stream
from ._warn import callers_level

if TYPE_CHECKING:
    from ._array import DeviceNDArray
    from ._typing import DType, Shape, StreamLike

__all__ = ["FFTPlan", "fft", "fft_inplace", "ifft", "ifft_inplace", "version"]

_C2C, _R2C, _C2R = range(3)  # as tr_fft_kind in src/libs/fft.h
_KINDS = {
    (np.dtype(a), np.dtype(b)): (kind, wide, number)
    for a, b, kind, wide, number in (
        ("c8", "c8", _C2C, False, 0x29),
        ("f4", "c8", _R2C, False, 0x2A),
        ("c8", "f4", _C2R, False, 0x2C),
        ("c16", "c16", _C2C, True, 0x69),
        ("f8", "c16", _R2C, True, 0x6A),
        ("c16", "f8", _C2R, True, 0x6C),
    )
}  # with the number that cuFFT has for it
_PLANS = 32  # of a thread, which are used again by who asks for the same

_Out = TypeVar("_Out", bound="Array | DeviceNDArray")


class _Plans(threading.local):
    """Plans of this thread, the one that was used last at the end; each has a part for each device that it was used on. Of functions the latest is tried first, forward and inverse, as
    a plan knows best whether arrays are its own."""

    def __init__(self) -> None:
        self.made: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self.latest: list[Any] = [None, None]


_plans = _Plans()


class _Slow:
    """A plan of what only NumPy does, where it has no loops that can be called: its functions, on a stream as a call of Python's."""

    def __init__(self, kind: int, shape: tuple[int, ...], batch: int) -> None:
        self.kind, self.shape, self.batch = kind, shape, batch

    def try_run(self, ary: Any, out: Any, inverse: bool, stream: Any) -> bool:
        """As `treadle._core.FFT.try_run`: there is nothing that is quick."""
        return False

    def run(self, ary: Array, out: Array, inverse: bool, stream: Any) -> None:
        """As `treadle._core.FFT.run`."""
        half = (*self.shape[:-1], self.shape[-1] // 2 + 1)
        axes = tuple(range(1, len(self.shape) + 1))

        def items(a: Array, shape: tuple[int, ...]) -> Array:
            return a.reshape(-1)[: self.batch * math.prod(shape)].reshape(self.batch, *shape)

        def call(status: int) -> None:
            if status:
                return
            if self.kind == _R2C:
                items(out, half)[...] = np.fft.rfftn(items(ary, self.shape), axes=axes)
            elif self.kind == _C2R:
                items(out, self.shape)[...] = np.fft.irfftn(
                    items(ary, half), self.shape, axes, norm="forward"
                )
            elif inverse:
                items(out, self.shape)[...] = np.fft.ifftn(items(ary, self.shape), axes=axes, norm="forward")
            else:
                items(out, self.shape)[...] = np.fft.fftn(items(ary, self.shape), axes=axes)

        (stream or default_stream())._call(call)


@functools.cache
def _find_loops() -> bool:
    """Looks for NumPy's loops for rows, for the emulated device: whether there are some that can be called."""
    names = ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft")
    loops = getattr(numpy.fft, "_pocketfft_umath", None)
    return _fft_loops(*(getattr(loops, name, None) for name in names))


@functools.cache
def _say_slow() -> None:
    """What lengths take that only NumPy does; said once."""
    warnings.warn(
        f"NumPy {np.__version__} has no loops for Fourier transforms that can be called from C: numpy.fft does those of lengths with large prime factors on one core, in double precision. NumPy 2 has some",
        PerformanceWarning,
        stacklevel=callers_level(),
    )


def _plan(kind: int, wide: bool, shape: tuple[int, ...], batch: int) -> Any:
    """This thread's plan for it; a new one where it has none."""
    key = kind, wide, shape, batch
    found = _plans.made.get(key)
    if found is not None:
        _plans.made.move_to_end(key)
        return found
    made: Any
    if is_emulated():
        _find_loops()
    _libs.need("cuFFT")
    try:
        made = FFT(kind, wide, shape, batch)
    except NotImplementedError:
        _say_slow()
        made = _Slow(kind, shape, batch)
    _plans.made[key] = made
    if len(_plans.made) > _PLANS:
        _plans.made.popitem(last=False)
    return made


def version() -> int:
    """cuFFT's version, 1000 times its major one and so on; 0 on the emulated device, which needs none.

    Raises
    ------
    CudaSupportError
        There is a GPU, and cuFFT is not here.
    """
    ready()
    _libs.need("cuFFT")
    return _fft_version()


def _memory(ary: Any) -> Array:
    """The ndarray of an operand."""
    return memory(ary, "a Fourier transform needs an array")


def _has_room(mem: Array, shape: tuple[int, ...], batch: int) -> bool:
    """Whether an array holds that many of that shape one behind the other: along a first axis of its own, longer along the first one, or as one row of items."""
    rank = len(shape)
    if mem.ndim >= rank and rank > 1:
        same = mem.shape[mem.ndim - rank + 1 :] == shape[1:]
    else:
        same = mem.ndim == 1
    if mem.ndim > rank:
        same = mem.shape[-rank:] == shape
    return same and mem.size >= batch * math.prod(shape)


def _meet(a: Array, b: Array) -> bool:
    lo, hi = extent(a)
    first, last = extent(b)
    return lo < last and first < hi


class FFTPlan:
    """A kind of transform, prepared: of arrays of one shape and type, along all their axes.

    Parameters
    ----------
    shape : tuple of int
        Of one array of the input, one to three axes, each at least 1. From complex to real numbers the output has ``2 * (shape[-1] - 1)`` items along the last axis.
    itype, otype : dtype
        Of input and output: complex64 to complex64, float32 to complex64, complex64 to float32, or the same in double precision. From real to complex numbers the output has
        ``shape[-1] // 2 + 1`` items along the last axis.
    batch : int
        How many arrays, which lie one behind the other.
    stream : Stream
        What transforms are put on; the attribute may be changed.
    mode : int
        Taken for the sake of older programs; layouts are those of ``MODE_NATIVE`` without gaps, whatever it is.

    Attributes
    ----------
    itype, otype : dtype
    shape : tuple of int
        Of one array of items that are all there: the real ones where there are some.
    ishape, oshape : tuple of int
        Of one array of the input, and of the output.
    batch : int
    stream : Stream or 0
    direction : str
        ``"forward"``, ``"inverse"`` or ``"both"``.
    operation : int
        cuFFT's number for the types.

    Raises
    ------
    ValueError
        The types are none of these, or a size or number is less than 1; there are no or more than three axes.
    treadle.cuda.libs.LibraryError
        cuFFT refuses it.
    CudaSupportError
        There is a GPU, and cuFFT is not here.

    Notes
    -----
    On a GPU a plan has no memory of its own: each transform takes what it needs from the pool in the order of its stream, so one plan may be at work on several streams. A thread keeps
    its latest plans, so making the same again costs little.

    Examples
    --------
    >>> from treadle.cuda.fft import FFTPlan
    >>> x = np.ones((2, 4), np.float32)
    >>> plan = FFTPlan((4,), np.float32, np.complex64, batch=2)
    >>> plan.forward(x)
    array([[4.+0.j, 0.+0.j, 0.+0.j],
           [4.+0.j, 0.+0.j, 0.+0.j]], dtype=complex64)
    """

    MODE_NATIVE = 0
    MODE_FFTW_PADDING = 1
    MODE_FFTW_ASYMMETRIC = 2
    MODE_FFTW_ALL = 3
    MODE_DEFAULT = MODE_FFTW_PADDING

    def __init__(
        self,
        shape: Shape,
        itype: DType,
        otype: DType,
        batch: int = 1,
        stream: StreamLike = 0,
        mode: int = MODE_DEFAULT,
    ) -> None:
        ready()
        check_stream(stream)
        given = (dtype_of(itype), dtype_of(otype))
        if given not in _KINDS:
            raise ValueError(
                f"Invalid type combination: no Fourier transform is from {given[0]} to {given[1]}"
            )
        many: Any = shape if isinstance(shape, (tuple, list)) else (shape,)
        sizes = tuple(map(operator.index, many))
        if not 1 <= len(sizes) <= 3:
            raise ValueError(
                f"a Fourier transform has one to three axes, and the shape {sizes} has {len(sizes)}"
            )
        kind = _KINDS[given][0]
        self._begin(
            given, sizes, (*sizes[:-1], 2 * (sizes[-1] - 1)) if kind == _C2R else sizes, batch, stream, mode
        )

    def _begin(
        self,
        types: tuple[np.dtype[Any], np.dtype[Any]],
        given: tuple[int, ...],
        shape: tuple[int, ...],
        batch: int,
        stream: Any,
        mode: int,
    ) -> None:
        """``shape``: of the array of real items, or all."""
        kind, wide, self.operation = _KINDS[types]
        batch = operator.index(batch)
        if min(shape) < 1 or batch < 1:
            what = f"{batch} transforms" if batch < 1 else f"the shape {given}"
            few = (
                ": sizes are at least 1"
                if kind != _C2R
                else ": sizes are at least 1, of the complex items along the last axis 2"
            )
            raise ValueError(f"{what} of a Fourier transform" + (few if batch >= 1 else ": it is at least 1"))
        half = (*shape[:-1], shape[-1] // 2 + 1)
        self.itype, self.otype = types
        self.shape, self.batch, self.mode = shape, batch, mode
        self.stream: Any = stream or 0
        self.ishape = half if kind == _C2R else shape
        self.oshape = half if kind == _R2C else shape
        self.direction = ("both", "forward", "inverse")[kind]
        self._kind = kind
        self._core = _plan(kind, wide, shape, batch)

    def forward(self, ary: Array | DeviceNDArray, out: Any = None) -> Any:
        """The transform of ``ary``.

        Parameters
        ----------
        ary : array of the device or of the host
            ``batch`` arrays of shape ``ishape``, one behind the other: with a first axis for them, or as one row. What it has beyond is not looked at.
        out : array of the device or of the host, optional
            Where to put the ``batch`` arrays of shape ``oshape``. Of complex numbers it may be ``ary`` itself: then it happens in place.

        Returns
        -------
        ``out``, or without it a new array of the host, which is there when this returns. What is the device's is there when the stream has come so far.

        Raises
        ------
        TypeError
            The plan is for the inverse alone, or ``ary`` or ``out`` is no array.
        ValueError
            Another dtype than the plan's, or too few items; ``out`` is read-only.
        treadle.cuda.libs.LibraryError
            cuFFT refuses it.
        """
        if self.direction == "inverse":
            raise TypeError(
                "Invalid operation: a plan from complex to real numbers has an inverse transform alone"
            )
        return self._transform(ary, out, False)

    def inverse(self, ary: Array | DeviceNDArray, out: Any = None) -> Any:
        """The inverse transform of ``ary``, times the number of its items: parameters, result and errors as those of `forward`.

        Imaginary parts that would be 0 if the result is to be real are not looked at.
        """
        if self.direction == "forward":
            raise TypeError(
                "Invalid operation: a plan from real to complex numbers has a forward transform alone"
            )
        return self._transform(ary, out, True)

    def _checked(self, given: Any, what: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
        mem = _memory(given)
        if mem.dtype != dtype:
            raise ValueError(f"Incompatible {what} array dtype: {mem.dtype}, and the plan's is {dtype}")
        if not _has_room(mem, shape, self.batch):
            raise ValueError(
                f"Incompatible {what} array shape: {mem.shape}, and the plan's is {self.batch} times {shape}"
            )
        return mem

    def _room(self, mem: Array) -> Array:
        """A new array of the host for the result."""
        lead = mem.shape[: -len(self.ishape)] if mem.shape[-len(self.ishape) :] == self.ishape else ()
        if math.prod(lead) != self.batch:
            lead = (self.batch,) if self.batch > 1 else ()
        return np.empty((*lead, *self.oshape), self.otype)

    def _is_fit(self, mem: Array) -> bool:
        """Whether the device can take it as it is."""
        if not mem.flags.c_contiguous or not mem.flags.aligned:
            return False
        pair = mem.itemsize if mem.dtype.kind == "c" else 2 * mem.itemsize
        return is_emulated() or (on_device(mem) and mem.__array_interface__["data"][0] % pair == 0)

    def _transform(self, ary: Any, out: Any, inverse: bool) -> Any:
        if out is not None and not _order.active and self._core.try_run(ary, out, inverse, self.stream):
            return out
        source = self._checked(ary, "input", self.itype, self.ishape)
        if out is None:
            out = self._room(source)
        target = self._checked(out, "output", self.otype, self.oshape)
        if not target.flags.writeable:
            raise ValueError("the array that is to be written is read-only")
        stream = self.stream
        check_stream(stream)
        place = self._is_fit(target)
        given = source
        to = target if place else allocate(target.shape, target.dtype, stream=stream or None)
        if not place and target.size > self.batch * math.prod(self.oshape):
            move(to, target, stream)  # what lies beyond stays
        in_place = self._kind == _C2C and extent(source) == extent(to) and self._is_fit(source)
        overwritten = self._kind == _C2R and len(self.shape) > 1 and not is_emulated()
        if not in_place and (overwritten or not self._is_fit(source) or _meet(source, to)):
            source = allocate(source.shape, source.dtype, stream=stream or None)
            move(source, given, stream)
        if _order.active:
            spans = _order.spans(source, False, "its input") + _order.spans(to, True, "its output")
            _order.active.work("a Fourier transform", spans, (source, to), stream)
        self._core.run(source, to, inverse, stream)
        if not place:
            move(target, to, stream)
        elif stream and not (goes_on(target) and goes_on(source)):
            stream.synchronize()
        if _order.active:
            _order.active.tell()
        return out


def _once(ary: Any, out: Any, stream: Any, inverse: bool) -> Any:
    latest = _plans.latest[inverse]
    if latest is not None and not _order.active and latest.try_run(ary, out, inverse, stream or 0):
        return out
    ready()
    check_stream(stream)
    mem, to = _memory(ary), _memory(out)
    if (mem.dtype, to.dtype) not in _KINDS:
        raise ValueError(f"Invalid type combination: no Fourier transform is from {mem.dtype} to {to.dtype}")
    odd = mem.ndim and to.shape == (*mem.shape[:-1], 2 * mem.shape[-1] - 1)
    if odd and _KINDS[mem.dtype, to.dtype][0] == _C2R:  # which a plan's shape cannot say
        plan: FFTPlan = object.__new__(FFTPlan)
        plan._begin((mem.dtype, to.dtype), mem.shape, to.shape, 1, stream, FFTPlan.MODE_DEFAULT)
    else:
        plan = FFTPlan(mem.shape, mem.dtype, to.dtype, stream=stream or 0)
    result = plan.inverse(ary, out) if inverse else plan.forward(ary, out)
    _plans.latest[inverse] = plan._core
    return result


def fft(ary: Array | DeviceNDArray, out: _Out, stream: StreamLike = None) -> _Out:
    """The Fourier transform of an array of one to three axes, in ``out``, which is returned; their dtypes say which one, as `FFTPlan` has it.

    Raises
    ------
    ValueError, TypeError, treadle.cuda.libs.LibraryError
        As those of `FFTPlan` and `FFTPlan.forward`.

    Examples
    --------
    >>> from treadle.cuda.fft import fft
    >>> fft(np.array([1.0, 0.0, 0.0]), np.empty(2, np.complex128))
    array([1.+0.j, 1.+0.j])
    """
    result: _Out = _once(ary, out, stream, False)
    return result


def ifft(ary: Array | DeviceNDArray, out: _Out, stream: StreamLike = None) -> _Out:
    """The inverse Fourier transform of an array of one to three axes, times the number of items, in ``out``, which is returned.

    From complex to real numbers ``out`` has ``2 * (n - 1)`` items along the last axis for ``n`` complex ones, or one more.

    Raises
    ------
    ValueError, TypeError, treadle.cuda.libs.LibraryError
        As those of `FFTPlan` and `FFTPlan.inverse`.
    """
    result: _Out = _once(ary, out, stream, True)
    return result


def fft_inplace(ary: _Out, stream: StreamLike = None) -> _Out:
    """The Fourier transform of an array of complex numbers, in its place; the array is returned.

    Raises
    ------
    ValueError, TypeError, treadle.cuda.libs.LibraryError
        As those of `fft`; its numbers are real.
    """
    return fft(ary, ary, stream)


def ifft_inplace(ary: _Out, stream: StreamLike = None) -> _Out:
    """The inverse Fourier transform of an array of complex numbers, times the number of items, in its place; the array is returned.

    Raises
    ------
    ValueError, TypeError, treadle.cuda.libs.LibraryError
        As those of `ifft`; its numbers are real.
    """
    return ifft(ary, ary, stream)
