"""Arrays on the device. On the emulated one they lie in the host's memory, apart from the arrays that they were copied from.

`_mem` of each is a `numpy.ndarray` over the device's memory, on a GPU a `Remote`: what a launch passes on. All that writes there goes through `move`, all that makes room through
`allocate`, all that reads items through `readable`: a GPU's memory is none that the host can touch, so nothing else may look at more than shapes and strides.
"""

from __future__ import annotations

import ctypes
import math
import operator
import sys
import warnings
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

import numpy as np

from .._core import (
    DeviceMemory,
    DeviceObject,
    Type,
    _dev_alloc,
    _dev_class,
    _dev_copy,
    _dev_find,
    _dev_lacks,
    _dev_owns,
    _dev_sees,
    _dev_selected,
    _dev_show,
    _dev_synchronize,
    _dlpack_exchange,
    _dlpack_give,
    _type_names,
    as_type,
    typeof,
)
from .._core import Stream as _Queue
from ..errors import UnsupportedError
from . import _checks, _order
from ._devices import is_emulated, selected
from ._errors import DeviceMemoryError
from ._extent import Array, extent
from ._stream import check_stream, event, of_others

if TYPE_CHECKING:
    from typing import Literal, Self, TypeAlias

    from ._typing import DType, Shape, StreamLike

    Order: TypeAlias = Literal["C", "F", "A"]

__all__ = [
    "HOST",
    "LOCAL",
    "MANAGED",
    "NUMBERS",
    "DeviceNDArray",
    "DeviceRecord",
    "ManagedNDArray",
    "MappedNDArray",
    "MemoryPointer",
    "allocate",
    "check_memory",
    "dtype_of",
    "foreign",
    "goes_on",
    "move",
    "on_device",
    "over",
    "pins",
    "readable",
    "remote",
]

_Host = TypeVar("_Host", bound="Array | np.void")
NUMBERS = (int, float, complex, np.number)  # what stands for one item of an operand

# Where memory lies, as tr_dev_place in src/dev/dev.h: on the device, on the host where the device sees it, where it is used.
LOCAL, HOST, MANAGED = range(3)

_ADDRESSES = 1 << 64


def dtype_of(given: Any) -> np.dtype[Any]:
    """The dtype that a dtype, its name, or a scalar type of Treadle's means; TypeError for Python objects."""
    if isinstance(given, Type):
        if given not in _type_names().values():
            raise TypeError(f"a device array has items of a scalar type, and {given} is none")
        given = given.name.replace("boolean", "bool")
    dtype: np.dtype[Any] = np.dtype(given)
    if dtype.hasobject:
        raise TypeError(f"a device has no Python objects, so it has no arrays of {dtype}")
    return dtype


def _shape_of(given: Any) -> tuple[int, ...]:
    many = isinstance(given, (tuple, list)) or (isinstance(given, np.ndarray) and given.ndim == 1)
    return tuple(map(operator.index, given)) if many else (operator.index(given),)


def allocate(
    shape: Any, dtype: Any, strides: Any = None, order: Any = "C", place: int = LOCAL, stream: Any = None
) -> Array:
    """An array in new memory of the device, or (``place`` `HOST`, `MANAGED`) of the host, which the device sees, not initialised.

    Where it is known what ``stream`` uses it first, it comes in the order of that.

    Raises
    ------
    DeviceMemoryError
        There is no room.
    TypeError
        The items would be Python objects.
    ValueError
        ``order``, or ``strides`` that go backwards or have another length than ``shape``.
    """
    dtype = dtype_of(dtype)
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', not {order!r}")
    shape = _shape_of(shape)
    if any(n < 0 for n in shape):
        raise ValueError(f"the shape {shape}: a device array has no negative sizes")
    if strides is not None:
        strides = tuple(strides) if isinstance(strides, (tuple, list)) else (strides,)
        if len(strides) != len(shape):
            raise ValueError(f"strides {strides} of another length than the shape {shape}")
        if any(s < 0 for s in strides):
            raise ValueError(f"strides {strides}: a new device array goes forward along all axes")
    nbytes = 0 if 0 in shape else _reach(shape, dtype, strides)
    return _class_of(place)(shape, dtype, _block(nbytes, place, stream), strides=strides, order=order)


def remote(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """What `allocate` makes on a GPU of a shape and a dtype that are known to be good."""
    return Remote(shape, dtype, _block(math.prod(shape) * dtype.itemsize))


def _block(nbytes: int, place: int = LOCAL, stream: Any = None) -> Any:
    if nbytes > sys.maxsize:
        raise DeviceMemoryError(nbytes)
    try:
        memory: Any = (
            _Pinned((nbytes,), np.uint8)
            if place != LOCAL and is_emulated()
            else _dev_alloc(nbytes, place, stream)
        )
    except MemoryError:
        raise DeviceMemoryError(nbytes) from None
    if place == LOCAL:
        _checks.sow(memory)
    return memory


class _Pinned(np.ndarray[Any, Any]):
    """Memory of the host's that the emulated device copies while the host goes on: what `pinned_array` and its like lie in."""


pins: dict[object, tuple[int, int]] = {}  # other such memory, in a `with cuda.pinned(...)`: from byte to byte


def goes_on(mem: Array) -> bool:
    """Whether the host goes on while the array's memory is copied on a stream: it is the device's, or pinned. CUDA copies other memory of the host before the call returns."""
    lo, hi = extent(mem)
    if lo == hi or not is_emulated() or _dev_owns(lo):
        return True
    base: Any = mem
    while isinstance(base, np.ndarray) and not isinstance(base, _Pinned):
        base = base.base
    return (
        base is not None
        and isinstance(base, _Pinned)
        or any(a <= lo and hi <= b for a, b in [*pins.values()])
    )


def _reach(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None) -> int:
    """Bytes from the first item of an array to the end of its last, which go forward."""
    if strides is None:
        return math.prod(shape) * dtype.itemsize
    return dtype.itemsize + sum((n - 1) * s for n, s in zip(shape, strides))


class Remote(np.ndarray[Any, Any]):
    """An array over memory that the host cannot touch: NumPy knows its shape, strides and dtype, and may make views of it."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """TypeError: what lies there is not computed with."""
        raise TypeError(
            f"np.{ufunc.__name__} of an array on a GPU: copy_to_host() gives one that NumPy can read"
        )

    def __getitem__(self, index: Any) -> Any:
        """A view, of one item too."""
        items = index if isinstance(index, tuple) else (index,)
        return super().__getitem__(index if ... in items or isinstance(index, str) else (*items, ...))

    def __repr__(self) -> str:
        return f"<memory of a GPU: {self.shape} of {self.dtype}>"

    __str__ = __repr__


def _class_of(place: int) -> type[Array]:
    return Remote if place == LOCAL and not is_emulated() else np.ndarray


def on_device(mem: Any) -> bool:
    """Whether the array's memory is one that the host cannot touch."""
    if isinstance(mem, Remote):
        return True
    if is_emulated():
        return False
    while isinstance(mem, (np.ndarray, memoryview)) or hasattr(mem, "base"):
        mem = mem.obj if isinstance(mem, memoryview) else mem.base
    return mem.place == LOCAL if isinstance(mem, DeviceMemory) else getattr(mem, "on_device", False)


def readable(mem: Array) -> Array:
    """The items where the host can read them, when all work has been done: what lies on a GPU is copied."""
    if not on_device(mem):
        _dev_synchronize()
        return mem
    host = np.empty_like(mem, order="K", subok=False)
    _dev_copy(host, mem, 0)
    return host


def move(to: Array, source: Any, stream: Any = 0) -> None:
    """Copy items to an array, in the order of what is on the stream. Where one of both is memory of the host's that is not pinned, they are copied when this returns."""
    if not isinstance(source, np.ndarray) or source.dtype != to.dtype:
        if isinstance(source, np.ndarray):
            source = readable(source)
        source = np.asarray(source).astype(to.dtype)
    source = np.broadcast_to(source, to.shape, subok=True)
    if _order.active:
        _order.active.copy(to, source, stream)
    _dev_copy(to, source, stream)
    if stream and not goes_on(to):
        stream.synchronize()
    elif stream and not goes_on(
        source
    ):  # the host may write there now; that the copy was made no device promises
        _Queue.synchronize(stream)
    if _order.active:
        _order.active.tell()


def shown(mem: Array) -> Array:
    """The array, of whose memory others learn: what they do on the default stream comes before it is freed."""
    if on_device(mem):
        _dev_show(mem.__array_interface__["data"][0])
    return mem


class _Memory:
    """What NumPy makes an array over memory of; it keeps the memory's owner."""

    def __init__(self, interface: dict[str, Any], owner: Any, on_device: bool = False) -> None:
        self.__array_interface__ = interface
        self.owner = owner
        self.on_device = on_device


def over(address: int, shape: Any, dtype: Any, strides: Any, owner: Any, readonly: bool = False) -> Array:
    """An array over memory that is there, which keeps ``owner``."""
    dtype = np.dtype(dtype)
    shape = tuple(shape)
    if 0 in shape:  # NumPy takes no address of nothing
        return np.empty(shape, dtype)
    forward = tuple(max(s, 0) for s in strides) if strides is not None else None
    nbytes = _reach(shape, dtype, forward)
    before = -sum((n - 1) * s for n, s in zip(shape, strides or ()) if s < 0)
    data = (address - before, readonly)
    interface = {"data": data, "shape": (nbytes + before,), "typestr": "|u1", "version": 3}
    remote = _dev_sees(data[0]) == 2
    memory = np.asarray(_Memory(interface, owner, remote))
    return (Remote if remote else np.ndarray)(shape, dtype, memory, offset=before, strides=strides)


def check_memory(at: int, end: int, written: bool = True) -> None:
    """ValueError unless all of the memory is a block of the device's, or else: a GPU sees it; it is the host's, mapped for reading, and for writing if it may be written to."""
    if at >= end:
        return
    if at < 0 or end > _ADDRESSES:
        raise ValueError(f"no memory lies from {at:#x} to {end:#x}")
    if why := _dev_lacks(at, end, written):
        raise ValueError(why)


def foreign(
    address: int, shape: tuple[int, ...], dtype: Any, strides: Any, owner: Any, readonly: bool
) -> Array:
    """An array over memory of which another package says that it is there, which keeps ``owner``.

    Raises
    ------
    ValueError
        There is no such array, or the device cannot use its memory.
    """
    dtype = np.dtype(dtype)
    if any(n < 0 for n in shape):
        raise ValueError(f"the shape {shape} has negative sizes")
    if 0 in shape:
        return over(0, shape, dtype, strides, owner, readonly)
    if not address:
        raise ValueError(f"an array of shape {shape} at address 0")
    steps = strides
    if steps is None:
        steps = [math.prod(shape[k + 1 :]) * dtype.itemsize for k in range(len(shape))]
    reach = [(n - 1) * s for n, s in zip(shape, steps)]
    lo, hi = address + sum(min(0, r) for r in reach), address + sum(max(0, r) for r in reach)
    check_memory(lo, hi + dtype.itemsize, not readonly)
    try:
        return over(address, shape, dtype, strides, owner, readonly)
    except OverflowError as err:
        raise ValueError(str(err)) from None


class _Address(ctypes.c_void_p):
    """C's ``void *``, of which ``int()`` makes a number."""

    def __int__(self) -> int:
        return self.value or 0

    __index__ = __int__


class MemoryPointer:
    """Memory on the device: where an array lies.

    Parameters
    ----------
    context : Context
        Of what device.
    pointer : ctypes.c_void_p or int
        Its address, which the host can read.
    size : int
        Bytes.
    owner
        What keeps the memory; the pointer, and arrays made of it, refer to it.
    finalizer : function, optional
        Called without arguments when nothing refers to the memory any more.

    Attributes
    ----------
    size : int
        Bytes.
    device_ctypes_pointer : ctypes.c_void_p
    device_pointer_value : int or None
        Its address; None where there is nothing.
    """

    __slots__ = ("_at", "_from", "_owner", "size")

    def __init__(
        self, context: Any, pointer: Any, size: int, owner: Any = None, finalizer: Any = None
    ) -> None:
        at, size = operator.index(getattr(pointer, "value", pointer) or 0), operator.index(size)
        if size < 0:
            raise ValueError(f"{size} bytes of memory")
        check_memory(at, at + size)
        self._at, self.size = at, size
        self._from: MemoryPointer | None = None
        self._owner: Any = _Memory({}, owner)
        if finalizer is not None:
            weakref.finalize(self._owner, finalizer)

    @classmethod
    def of(cls, mem: Array) -> MemoryPointer:
        """Where an array lies, which is kept."""
        self: MemoryPointer = object.__new__(cls)
        lo, hi = extent(shown(mem))
        self._at, self._owner, self.size = lo, mem, hi - lo
        self._from = None
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryPointer) and (self._at, self.size) == (other._at, other.size)

    def __hash__(self) -> int:
        return hash((self._at, self.size))

    @property
    def device_pointer_value(self) -> int | None:
        """The address, or None where there is nothing."""
        return self._at if self.size else None

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address as C's ``void *``; ``int()`` makes a number of it."""
        return _Address(self.device_pointer_value)

    handle = device_pointer = device_ctypes_pointer

    def view(self, start: int, stop: int | None = None) -> MemoryPointer:
        """The bytes from ``start`` to ``stop``, or to the end."""
        stop = self.size if stop is None else stop
        if not 0 <= start <= stop <= self.size:
            raise ValueError(f"bytes {start} to {stop} of {self.size}")
        made = MemoryPointer.of(over(self._at + start, (stop - start,), "u1", None, self._owner))
        made._from = self.owner
        return made

    @property
    def owner(self) -> MemoryPointer:
        """The memory that it is a `view` of, or itself."""
        return self if self._from is None else self._from

    def own(self) -> MemoryPointer:
        """Another reference to the same memory, which lives as long as one of them does."""
        return self.view(0)

    def _as(self, shape: Any, dtype: Any, strides: Any) -> Array:
        need = extent(over(self._at, shape, dtype, strides, None))
        if need[0] < self._at or need[1] - self._at > self.size:
            if 0 not in shape:
                raise ValueError(f"an array of shape {shape} of {dtype} does not fit {self.size} bytes")
        return over(self._at, shape, dtype, strides, self._owner)

    def __repr__(self) -> str:
        return f"<{self.size} bytes of device memory>"


def _memory_of(gpu_data: Any) -> MemoryPointer:
    if not isinstance(gpu_data, MemoryPointer):
        raise TypeError(f"gpu_data is memory of the device, a MemoryPointer, not {type(gpu_data).__name__}")
    return gpu_data


def _items(obj: Any) -> Any:
    """What an array of the host or the device holds, as NumPy knows it."""
    if type(obj) is np.ndarray:
        return obj
    if isinstance(obj, _Access):
        return obj._mem
    if np.ma.is_masked(obj):
        raise TypeError("a device has no masks: fill the masked items, or copy data and mask")
    return np.asarray(obj)


def _paired(mem: Array, ary: Array) -> Array:
    """The array of the host or the device in the shape of the device array's memory.

    Raises
    ------
    ValueError
        The shapes differ by more than axes of one item.
    TypeError
        The dtypes differ.
    """
    if ary.dtype != mem.dtype:
        raise TypeError(f"an array of {ary.dtype}, the device array is of {mem.dtype}")
    if ary.shape == mem.shape:
        return ary
    if [n for n in ary.shape if n != 1] != [n for n in mem.shape if n != 1]:
        raise ValueError(f"an array of shape {ary.shape}, the device array has {mem.shape}")
    return _unit_axes(ary, mem.shape)


def _unit_axes(ary: Array, shape: tuple[int, ...]) -> Array:
    """A view of another shape that has the same axes but for those of one item."""
    steps = iter([s for n, s in zip(ary.shape, ary.strides) if n != 1])
    strides = tuple(0 if n == 1 else next(steps) for n in shape)
    return np.lib.stride_tricks.as_strided(ary, shape, strides)


class _Access:
    """What everything on the device has: copies, and ways for others to its memory."""

    __slots__ = ()
    __cuda_memory__ = True
    __cuda_ndarray__ = True
    _mem: Any
    stream: Any

    @property
    def _argument(self) -> Array:
        """What a launch passes on."""
        return self._mem  # type: ignore[no-any-return]

    def _stream(self, stream: Any) -> Any:
        """The stream that a call names, else the one that the array is bound to."""
        return stream or self.stream

    def _wait(self, stream: StreamLike = 0) -> None:
        """Wait for what is on the stream that a call names, else for the one that the array is bound to."""
        stream = self._stream(stream)
        if stream:
            stream.synchronize()

    @property
    def alloc_size(self) -> int:
        """Bytes from the first item to the end of the last, gaps between them included."""
        lo, hi = extent(self._mem)
        return hi - lo

    @property
    def gpu_data(self) -> MemoryPointer:
        """Where it lies."""
        return MemoryPointer.of(self._mem)

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address of its first byte."""
        return self.gpu_data.device_ctypes_pointer

    @property
    def _numba_type_(self) -> Type:
        """Its type in compiled code."""
        return typeof(self._mem)

    def is_c_contiguous(self) -> bool:
        """Whether the items lie one behind the other, the last axis first."""
        return bool(self._mem.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Whether the items lie one behind the other, the first axis first."""
        return bool(self._mem.flags.f_contiguous)

    @overload
    def copy_to_host(self, ary: None = None, stream: StreamLike = 0) -> Array: ...
    @overload
    def copy_to_host(self, ary: _Host, stream: StreamLike = 0) -> _Host: ...
    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """The items, in a new array of the same order or in ``ary``. With ``stream`` they are there when that has been waited for; else when the call returns.

        Raises
        ------
        ValueError
            ``ary`` has another shape, but for axes of one item, or cannot be written to.
        TypeError
            ``ary`` is no array, or has another dtype.
        """
        if ary is None:
            ary = np.empty_like(self._mem, order="K", subok=False)
        elif isinstance(ary, np.void):  # a record of the host's
            host = np.empty((), ary.dtype)
            move(_paired(self._mem, host), self._mem)
            for name in ary.dtype.names or ():
                ary[name] = host[name]
            return ary
        elif not isinstance(ary, np.ndarray):
            raise TypeError(f"items are copied to an array, not to {type(ary).__name__}")
        elif not ary.flags.writeable:
            raise ValueError("the array that the items are copied to is read-only")
        move(_paired(self._mem, ary), self._mem, self._stream(stream))
        if not stream:
            self._wait()
        return ary

    def copy_to_device(self, ary: Any, stream: StreamLike = 0) -> None:
        """Fill it with the items of ``ary``, an array of the host or of the device.

        Raises
        ------
        ValueError
            ``ary`` has another shape, but for axes of one item.
        TypeError
            ``ary`` has another dtype.
        """
        move(self._mem, _paired(self._mem, _items(ary)), self._stream(stream))

    def _handle(self) -> int:
        """By what others know the stream that the array is bound to."""
        stream = self.stream
        return stream._real if stream else 1

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3. On a GPU ``stream`` is the one that the array is bound to, or the default one, which the consumer waits for. On the emulated device the address is one of the host's,
        and all that was on the array's stream is done."""
        if is_emulated():
            self._wait()
        mem = self._mem
        described = {
            "shape": mem.shape,
            "strides": None if mem.flags.c_contiguous else mem.strides,
            "data": (shown(mem).__array_interface__["data"][0] if mem.size else 0, not mem.flags.writeable),
            "typestr": mem.dtype.str,
            "version": 3,
            "stream": None if is_emulated() else self._handle(),
        }
        return described if mem.dtype.names is None else {**described, "descr": mem.dtype.descr}


class _OnDevice(_Access, DeviceObject):
    """What the device has and the host does not.

    Attributes
    ----------
    shape, strides, dtype, ndim, size, nbytes
        As `numpy.ndarray` has them.
    stream
        What its copies are on where they name no other.
    """

    __slots__ = ("__weakref__", "_mem", "_source", "stream")

    def _set(self, mem: Array, stream: Any, source: Any = None) -> None:
        self._mem = mem
        self._source = source
        self.stream = stream

    if not TYPE_CHECKING:  # else it has any attribute

        def __getattr__(self, name: str) -> NoReturn:
            if name == "_mem":
                raise ValueError("the array is gone: the `with cuda.mapped(...)` that made it has ended")
            raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")

    @property
    def shape(self) -> tuple[int, ...]:
        """As `numpy.ndarray` has it."""
        return self._mem.shape  # type: ignore[no-any-return]

    @property
    def strides(self) -> tuple[int, ...]:
        """As `numpy.ndarray` has it."""
        return self._mem.strides  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """As `numpy.ndarray` has it."""
        return self._mem.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """As `numpy.ndarray` has it."""
        return self._mem.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """As `numpy.ndarray` has it."""
        return self._mem.size  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        """As `numpy.ndarray` has it."""
        return self._mem.nbytes  # type: ignore[no-any-return]

    @property
    def flags(self) -> dict[str, bool]:
        """``C_CONTIGUOUS`` and ``F_CONTIGUOUS``."""
        return {"C_CONTIGUOUS": self.is_c_contiguous(), "F_CONTIGUOUS": self.is_f_contiguous()}

    def bind(self, stream: StreamLike = 0) -> Self:
        """The same array, whose copies are on the stream where they name no other."""
        check_stream(stream)
        bound = object.__new__(type(self))
        bound._set(self._mem, stream, self._source)
        return bound

    def __reduce__(self) -> NoReturn:
        raise TypeError("what lies on a device is not pickled or copied so: copy_to_host()")

    def __copy__(self) -> Self:
        return self.bind(self.stream)

    def to_host(self, stream: StreamLike = 0) -> None:
        """Copy the items back to the array that they came from; `copy_to_host` is what it is called since.

        Raises
        ------
        ValueError
            It was not made of an array of the host, or that is gone.
        """
        warnings.warn("to_host() is deprecated: call copy_to_host()", DeprecationWarning, stacklevel=2)
        source = self._source and self._source()
        if source is None:
            raise ValueError("the device array was not made of an array that is still there: copy_to_host()")
        self.copy_to_host(source, stream)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """A copy on the host, for NumPy's functions."""
        if copy is False:
            raise ValueError("an array of the device is not seen by the host without a copy")
        ary: Array = self.copy_to_host()
        self._wait()
        return ary if dtype is None else ary.astype(dtype, copy=False)


def _view_of(mem: Array, shape: Any, order: str) -> Array | None:
    """The array with another shape, if its items lie so; they are not read, as NumPy may do to find out."""
    turned = order == "F" or (order == "A" and mem.flags.f_contiguous and not mem.flags.c_contiguous)
    shape = np.broadcast_to(np.zeros((), "u1"), mem.shape).reshape(shape).shape  # ValueError for another size
    if mem.size == 0:
        return mem.reshape(shape)
    mem, shape = (mem.T, shape[::-1]) if turned else (mem, shape)
    strides = _strides_of(mem, shape)
    if strides is None:
        return None
    made: Array = np.lib.stride_tricks.as_strided(mem, shape, strides, subok=True)
    return made.T if turned else made


def _strides_of(mem: Array, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides of a view in order C with as many items; None: there is none."""
    old = [(n, s) for n, s in zip(mem.shape, mem.strides) if n != 1]
    new, made = list(shape), list[int]()
    while new:
        axes = [new.pop(0)]
        if axes[0] == 1:
            made.append(mem.itemsize)
            continue
        group = [old.pop(0)]
        while (a := math.prod(axes)) != (b := math.prod(n for n, _ in group)):
            axes += [new.pop(0)] if a < b else []
            group += [old.pop(0)] if a > b else []
        if any(s != m * t for (_, s), (m, t) in zip(group, group[1:])):
            return None
        made += [group[-1][1] * math.prod(axes[k + 1 :]) for k in range(len(axes))]
    return tuple(made)


def _reshaped(mem: Array, shape: Any, order: Any, what: str) -> Array:
    if order not in ("C", "F", "A"):
        raise ValueError(f"order must be 'C', 'F' or 'A', not {order!r}")
    made = _view_of(mem, shape, order)
    if made is None:
        raise NotImplementedError(
            f"{what} in order {order!r} would copy the array of shape {mem.shape} and strides {mem.strides}, and device arrays give views: "
            "use the order in which it lies, or copy it with cuda.to_device(d.copy_to_host()...)"
        )
    return made


def _basic(index: Any) -> Any:
    """The index, if it is one that gives views."""
    for i in index if isinstance(index, tuple) else (index,):
        if isinstance(i, (bool, np.bool_)) or not (
            isinstance(i, (int, np.integer, slice)) or i is Ellipsis or i is None
        ):
            raise UnsupportedError(f"a device array takes ints and slices as indices, not {type(i).__name__}")
    return index


class DeviceNDArray(_OnDevice):
    """An array on the device. It is made by `to_device`, `device_array` and `device_array_like`, and read by `copy_to_host`.

    Indexing with ints and slices, `reshape`, `ravel`, `split`, `squeeze` and `view` give views, `transpose` and ``T`` a new array. One item is a NumPy scalar,
    of a structured array a `DeviceRecord`.

    Parameters
    ----------
    shape, strides : int or tuple of ints
    dtype
    stream
        What its copies are on where they name no other.
    gpu_data : MemoryPointer, optional
        Memory to lie in, in place of new one.

    Attributes
    ----------
    T
        The array with its axes in the reverse order, as `transpose` makes it.
    """

    __slots__ = ()
    __dlpack_c_exchange_api__ = _dlpack_exchange  # the table of C functions for others: src/ext/exchange.c

    def __init__(
        self,
        shape: Shape,
        strides: Shape | None = None,
        dtype: DType = np.float64,
        stream: StreamLike = 0,
        gpu_data: Any = None,
    ) -> None:
        check_stream(stream)
        if isinstance(shape, np.ndarray):  # what it is to lie in
            self._set(shape, stream)
        elif gpu_data is None:
            self._set(allocate(shape, dtype, strides), stream)
        else:
            shape = _shape_of(shape)
            strides = (strides,) if isinstance(strides, int) else strides
            self._set(_memory_of(gpu_data)._as(shape, dtype_of(dtype), strides), stream)

    def _view(self, mem: Array, stream: StreamLike = 0) -> DeviceNDArray:
        return DeviceNDArray(mem, stream=self._stream(stream))

    def reshape(self, *newshape: Shape, order: Order = "C") -> DeviceNDArray:
        """The array with another shape, a view.

        Raises
        ------
        NotImplementedError
            The items do not lie so that there is such a view.
        ValueError
            Another number of items.
        """
        return self._view(
            _reshaped(self._mem, newshape[0] if len(newshape) == 1 else newshape, order, "reshape")
        )

    def ravel(self, order: Order = "C", stream: StreamLike = 0) -> DeviceNDArray:
        """The array along one axis, a view; NotImplementedError where there is none."""
        return self._view(_reshaped(self._mem, -1, order, "ravel"), stream)

    def split(self, section: int, stream: StreamLike = 0) -> Iterator[DeviceNDArray]:
        """Views of ``section`` items each, one after the other; the last one may be shorter.

        Raises
        ------
        ValueError
            The array has other than one axis, or gaps between its items; ``section`` is not positive.
        """
        if self.ndim != 1:
            raise ValueError(f"split() is for arrays of one axis, not {self.ndim}")
        if self.strides[0] != self.dtype.itemsize:
            raise ValueError("split() is for arrays whose items lie one behind the other")
        section = operator.index(section)
        if section < 1:
            raise ValueError(f"split() into sections of {section} items")
        return (self._view(self._mem[i : i + section], stream) for i in range(0, self.size, section))

    def squeeze(self, axis: int | tuple[int, ...] | None = None, stream: StreamLike = 0) -> DeviceNDArray:
        """The array without its axes of one item, or without those named; ValueError where such an axis has more."""
        return self._view(self._mem.squeeze(axis), stream)

    def view(self, dtype: DType) -> DeviceNDArray:
        """The memory as items of another type.

        Raises
        ------
        ValueError
            The items are of another size, and the last axis has gaps or no whole number of them.
        """
        return self._view(self._mem.view(dtype_of(dtype)))

    def transpose(self, axes: Sequence[int] | None = None) -> DeviceNDArray:
        """A new array in C order whose axes are this one's in another order, the reverse one by default; the array itself where they stay as they are."""
        mem = self._mem.transpose(axes)
        if axes is None and self.ndim < 2 or axes is not None and [*axes] == [*range(self.ndim)]:
            return self
        made = allocate(mem.shape, mem.dtype)
        move(made, mem, self.stream)
        return self._view(made)

    @property
    def T(self) -> DeviceNDArray:
        """The array with its axes in the reverse order: a new one."""
        return self.transpose()

    def getitem(self, item: Any, stream: StreamLike = 0) -> Any:
        """``d[item]``, on a stream."""
        if isinstance(item, str) and self.dtype.names:
            return self._view(self._mem[item], stream)
        items = _basic(item) if isinstance(item, tuple) else (_basic(item),)
        place = self._mem[items if ... in items else (*items, ...)]
        if place.ndim or ... in items:
            return self._view(place, stream)
        if self.dtype.names:
            return DeviceRecord(place, self._stream(stream))
        ary = np.empty((), self.dtype)
        move(ary, place, self._stream(stream))
        self._wait(stream)
        return ary[()]

    def setitem(self, key: Any, value: Any, stream: StreamLike = 0) -> None:
        """``d[key] = value``, on a stream."""
        if isinstance(key, str) and self.dtype.names:
            target = self._mem[key]
        else:
            key = key if isinstance(key, tuple) else (key,)
            target = self._mem[key if ... in _basic(key) else (*key, ...)]
        move(target, _items(value), self._stream(stream))

    __getitem__ = getitem
    __setitem__ = setitem

    def __len__(self) -> int:
        return len(self._mem)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A capsule for `from_dlpack` of other packages. What is on the array's stream comes before what the consumer puts on ``stream``.

        On the emulated device the memory is said to be the host's, where it is.
        """
        if is_emulated():
            self._wait()
            given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
            return self._mem.__dlpack__(**{k: v for k, v in given.items() if v is not None})
        mem = self._mem
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if tuple(dl_device) != (1, 0) or copy is False:
                raise BufferError(f"an array of a GPU is not given to the device {dl_device}")
            known = {} if max_version is None else {"max_version": max_version}
            return self.copy_to_host().__dlpack__(**known)
        if stream is not None and (
            isinstance(stream, bool) or not isinstance(stream, int) or stream == 0 or stream < -1
        ):
            raise ValueError(
                f"__dlpack__(stream={stream!r}): None, -1, 1 and 2 or a stream's handle; 0 could be either of both default streams"
            )
        if copy:
            with selected(self._device()):
                mem = allocate(mem.shape, mem.dtype)
            move(mem, self._mem, self.stream)
        if stream != -1:
            self._precede(1 if stream is None else stream)
        return _dlpack_give(
            shown(mem), *self.__dlpack_device__(), max_version is not None and max_version[0] >= 1
        )

    def _device(self) -> int:
        """The number of the GPU on which the array lies; of what all see and of others' memory that of the current one."""
        block = _dev_find(self._mem.__array_interface__["data"][0]) if self._mem.size else None
        return _dev_selected() if block is None or block[2] < 0 else block[2]

    def _precede(self, consumer: int) -> None:
        """What is on the array's stream comes before what the consumer's is given from now on."""
        if self._handle() == consumer:
            return
        with selected(self._device()):
            so_far = event(False)
            so_far.record(self.stream)
            so_far.wait(of_others(consumer))

    def __dlpack_device__(self) -> tuple[int, int]:
        """(2, the GPU's number), kDLCUDA; on the emulated device (1, 0), kDLCPU, as its memory is the host's."""
        return (1, 0) if is_emulated() else (2, self._device())

    def __repr__(self) -> str:
        return f"<device array {self.shape} of {self.dtype}>"


class DeviceRecord(_OnDevice):
    """One item of a structured dtype on the device: a field is read as ``r['name']``, and written likewise."""

    __slots__ = ()

    def __init__(self, dtype: Any, stream: StreamLike = 0, gpu_data: Any = None) -> None:
        check_stream(stream)
        if isinstance(dtype, np.ndarray):  # what it is to lie in
            self._set(dtype, stream)
        elif gpu_data is None:
            self._set(allocate((), dtype), stream)
        else:
            self._set(_memory_of(gpu_data)._as((), dtype_of(dtype), None), stream)

    def __getitem__(self, name: str) -> Any:
        part = self._mem[name]
        if part.dtype.names and part.ndim == 0:
            return DeviceRecord(part, self.stream)
        array = DeviceNDArray(part, stream=self.stream)
        return array if part.ndim else array[()]

    def __setitem__(self, name: str, value: Any) -> None:
        move(self._mem[name], _items(value), self.stream)

    @property
    def _numba_type_(self) -> Type:
        """Its type in compiled code: a record."""
        return as_type(self._mem.dtype)

    @property
    def _argument(self) -> Any:
        """A view, as NumPy's scalar where the host sees its memory."""
        return self._mem[()] if is_emulated() else self._mem

    def __repr__(self) -> str:
        return f"<device record of {self.dtype}>"


class _HostArray(_Access, np.ndarray[Any, Any]):
    """An array that host and device see."""

    stream: StreamLike = 0

    @property
    def _mem(self) -> Array:
        return self.view(np.ndarray)

    def __array_wrap__(self, obj: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What NumPy computes of it is the host's alone, unless it is put into such an array."""
        if obj is self:
            return obj
        return obj[()] if return_scalar or obj.ndim == 0 else np.asarray(obj)


class MappedNDArray(_HostArray):
    """An array of the host that the device sees, too: made by `mapped_array`."""


class ManagedNDArray(_HostArray):
    """An array that lies where it is used, on the host or the device: made by `managed_array`."""


_dev_class(_OnDevice, Remote)
