"""CUDA kernels in Python, compiled for all cores of the host: the emulated device.

>>> import numpy as np
>>> from treadle import cuda
>>> @cuda.jit
... def axpy(a, x, y):
...     i = cuda.grid(1)
...     if i < x.size:
...         y[i] += a * x[i]
>>> x, y = np.arange(4.0), np.ones(4)
>>> axpy[2, 2](3.0, x, y)
>>> y
array([ 1.,  4.,  7., 10.])

What stands here has a meaning in kernels, and in functions that they call: a place in the grid, shared memory, a barrier, atomics. What the host calls
(`jit`, `to_device`, ...) is loaded when it is first used.
"""

from __future__ import annotations

import sys as _sys
import types as _types
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar, overload

if TYPE_CHECKING:
    from typing import Literal

    # Each under its own name: so strict checkers know that it is meant to be had from here.
    # isort: off
    from . import (
        args as args,
        atomic as atomic,
        blas as blas,
        cg as cg,
        const as const,
        cudadrv as cudadrv,
        fft as fft,
        fp16 as fp16,
        libs as libs,
        local as local,
        rand as rand,
        random as random,
        shared as shared,
        sorting as sorting,
        sparse as sparse,
    )
    from ._array import (
        DeviceNDArray as DeviceNDArray,
        DeviceRecord as DeviceRecord,
        ManagedNDArray as ManagedNDArray,
        MappedNDArray as MappedNDArray,
        MemoryPointer as MemoryPointer,
    )
    from ._checks import Report as Report
    from ._compile import (
        compile as compile,
        compile_for_current_device as compile_for_current_device,
        compile_ptx as compile_ptx,
        compile_ptx_for_current_device as compile_ptx_for_current_device,
    )
    from ._context import (
        Context as Context,
        Device as Device,
        MemoryInfo as MemoryInfo,
        close as close,
        current_context as current_context,
        defer_cleanup as defer_cleanup,
        detect as detect,
        get_current_device as get_current_device,
        gpus as gpus,
        is_float16_supported as is_float16_supported,
        is_supported_version as is_supported_version,
        list_devices as list_devices,
        profile_start as profile_start,
        profile_stop as profile_stop,
        profiling as profiling,
        require_context as require_context,
        runtime as runtime,
        select_device as select_device,
    )
    from ._devices import cuda_error as cuda_error, is_available as is_available, is_emulated as is_emulated
    from ._interop import (
        as_cuda_array as as_cuda_array,
        from_cuda_array_interface as from_cuda_array_interface,
        from_dlpack as from_dlpack,
        is_cuda_array as is_cuda_array,
    )
    from ._kernel import Kernel as Kernel, Launcher as Launcher, jit as jit
    from ._link import (
        Archive as Archive,
        Bitcode as Bitcode,
        CUSource as CUSource,
        Cubin as Cubin,
        DeclaredFunction as DeclaredFunction,
        Fatbin as Fatbin,
        LTOIR as LTOIR,
        LinkableCode as LinkableCode,
        LoadedCode as LoadedCode,
        Object as Object,
        PTXSource as PTXSource,
        declare_device as declare_device,
    )
    from ._memory import (
        device_array as device_array,
        device_array_like as device_array_like,
        managed_array as managed_array,
        mapped as mapped,
        mapped_array as mapped_array,
        mapped_array_like as mapped_array_like,
        pinned as pinned,
        pinned_array as pinned_array,
        pinned_array_like as pinned_array_like,
        to_device as to_device,
    )
    from ._reduce import Reduce as Reduce, reduce as reduce
    from ._stream import (
        Event as Event,
        Stream as Stream,
        default_stream as default_stream,
        event as event,
        event_elapsed_time as event_elapsed_time,
        external_stream as external_stream,
        legacy_default_stream as legacy_default_stream,
        per_thread_default_stream as per_thread_default_stream,
        stream as stream,
        synchronize as synchronize,
    )
    from ._ufunc import DeviceGUfunc as DeviceGUfunc, DeviceUfunc as DeviceUfunc
    from ._vector import *  # noqa: F403
    from .args import In as In, InOut as InOut, Out as Out
    from .cudadrv import devicearray as devicearray
    # isort: on

_T = TypeVar("_T")
_WHERE = {
    "DeviceNDArray": "_array",
    "DeviceRecord": "_array",
    "ManagedNDArray": "_array",
    "MappedNDArray": "_array",
    "MemoryPointer": "_array",
    "compile": "_compile",
    "compile_for_current_device": "_compile",
    "compile_ptx": "_compile",
    "compile_ptx_for_current_device": "_compile",
    "Context": "_context",
    "Device": "_context",
    "MemoryInfo": "_context",
    "close": "_context",
    "cuda_error": "_devices",
    "current_context": "_context",
    "defer_cleanup": "_context",
    "detect": "_context",
    "get_current_device": "_context",
    "gpus": "_context",
    "is_available": "_devices",
    "is_emulated": "_devices",
    "is_float16_supported": "_context",
    "is_supported_version": "_context",
    "list_devices": "_context",
    "profile_start": "_context",
    "profile_stop": "_context",
    "profiling": "_context",
    "require_context": "_context",
    "runtime": "_context",
    "select_device": "_context",
    "Report": "_checks",
    "as_cuda_array": "_interop",
    "from_cuda_array_interface": "_interop",
    "from_dlpack": "_interop",
    "is_cuda_array": "_interop",
    "Kernel": "_kernel",
    "Launcher": "_kernel",
    "jit": "_kernel",
    "Archive": "_link",
    "Bitcode": "_link",
    "CUSource": "_link",
    "Cubin": "_link",
    "DeclaredFunction": "_link",
    "Fatbin": "_link",
    "LTOIR": "_link",
    "LinkableCode": "_link",
    "LoadedCode": "_link",
    "Object": "_link",
    "PTXSource": "_link",
    "declare_device": "_link",
    "device_array": "_memory",
    "device_array_like": "_memory",
    "managed_array": "_memory",
    "mapped": "_memory",
    "mapped_array": "_memory",
    "mapped_array_like": "_memory",
    "pinned": "_memory",
    "pinned_array": "_memory",
    "pinned_array_like": "_memory",
    "to_device": "_memory",
    "Event": "_stream",
    "Reduce": "_reduce",
    "reduce": "_reduce",
    "Stream": "_stream",
    "default_stream": "_stream",
    "event": "_stream",
    "event_elapsed_time": "_stream",
    "external_stream": "_stream",
    "legacy_default_stream": "_stream",
    "per_thread_default_stream": "_stream",
    "stream": "_stream",
    "synchronize": "_stream",
    "DeviceGUfunc": "_ufunc",
    "DeviceUfunc": "_ufunc",
    "In": "args",
    "InOut": "args",
    "Out": "args",
    "devicearray": "cudadrv",
}
# Vectors by Numba's names, and by CUDA C's.
_VECTORS = {
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long longlong",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong ulonglong",
    "float32": "float",
    "float64": "double",
}
for _dtype, _names in _VECTORS.items():
    for _name in (_dtype + "x", *_names.split()):
        _WHERE |= {f"{_name}{n}": "_vector" for n in (1, 2, 3, 4)}
_MODULES = ("args", "blas", "cudadrv", "fft", "libs", "rand", "random", "sorting", "sparse")
__all__ = [
    *_WHERE,
    *_MODULES,
    "activemask",
    "all_sync",
    "any_sync",
    "atomic",
    "ballot_sync",
    "blockDim",
    "blockIdx",
    "brev",
    "cbrt",
    "cg",
    "clz",
    "const",
    "eq_sync",
    "ffs",
    "fma",
    "fp16",
    "grid",
    "gridDim",
    "gridsize",
    "laneid",
    "lanemask_lt",
    "local",
    "match_all_sync",
    "match_any_sync",
    "nanosleep",
    "popc",
    "selp",
    "shared",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadIdx",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "warpsize",
]


def _only_in_kernels(name: str) -> NoReturn:
    from ..errors import TypingError

    raise TypingError(
        f"cuda.{name} has a meaning in kernels only: decorate the function with cuda.jit, and launch it"
    )


class Dim3:
    """A place or a size of three axes, in kernels: ``x``, ``y`` and ``z``, int64."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def x(self) -> int:
        """Along the first axis."""
        _only_in_kernels(self._name + ".x")

    @property
    def y(self) -> int:
        """Along the second axis."""
        _only_in_kernels(self._name + ".y")

    @property
    def z(self) -> int:
        """Along the third axis."""
        _only_in_kernels(self._name + ".z")

    def __repr__(self) -> str:
        return f"<treadle.cuda.{self._name}>"


threadIdx = Dim3("threadIdx")
"""The thread's place in its block."""
blockIdx = Dim3("blockIdx")
"""The block's place in the grid."""
blockDim = Dim3("blockDim")
"""Threads of a block along each axis."""
gridDim = Dim3("gridDim")
"""Blocks of the grid along each axis."""


@overload
def grid(ndim: Literal[1]) -> int: ...
@overload
def grid(ndim: Literal[2]) -> tuple[int, int]: ...
@overload
def grid(ndim: Literal[3]) -> tuple[int, int, int]: ...
def grid(ndim: int) -> Any:
    """The thread's place in the whole grid.

    Parameters
    ----------
    ndim : int
        How many axes it is asked for, 1, 2 or 3: a constant.

    Returns
    -------
    int64 for ``ndim`` 1, else a tuple of them

    Examples
    --------
    >>> @cuda.jit
    ... def halve(a):
    ...     i = cuda.grid(1)
    ...     if i < a.size:
    ...         a[i] *= 0.5
    >>> a = np.ones(100)
    >>> halve[4, 32](a)
    >>> a.sum()
    np.float64(50.0)
    """
    _only_in_kernels("grid()")


@overload
def gridsize(ndim: Literal[1]) -> int: ...
@overload
def gridsize(ndim: Literal[2]) -> tuple[int, int]: ...
@overload
def gridsize(ndim: Literal[3]) -> tuple[int, int, int]: ...
def gridsize(ndim: int) -> Any:
    """How many threads the grid has along each of its first axes, as `grid` has their places.

    Parameters
    ----------
    ndim : int
        How many axes: a constant.

    Returns
    -------
    int64 for ``ndim`` 1, else a tuple of them

    Examples
    --------
    A grid of any size works on an array of any other:

    >>> @cuda.jit
    ... def halve(a):
    ...     for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
    ...         a[i] *= 0.5
    >>> a = np.ones(1000)
    >>> halve[4, 32](a)
    >>> a.sum()
    np.float64(500.0)
    """
    _only_in_kernels("gridsize()")


def syncthreads() -> None:
    """Wait for all threads of the block that have not ended; what they wrote to memory is seen then.

    Examples
    --------
    >>> @cuda.jit
    ... def reverse(a):
    ...     t = cuda.threadIdx.x
    ...     block = cuda.shared.array(64, treadle.int64)
    ...     block[t] = a[t]
    ...     cuda.syncthreads()
    ...     a[t] = block[63 - t]
    >>> a = np.arange(64)
    >>> reverse[1, 64](a)
    >>> a[:3]
    array([63, 62, 61])
    """
    _only_in_kernels("syncthreads()")


def syncthreads_count(predicate: object) -> int:
    """Wait as `syncthreads` does; the result, an int32, is how many threads of the block gave a true ``predicate``."""
    _only_in_kernels("syncthreads_count()")


def syncthreads_and(predicate: object) -> int:
    """Wait as `syncthreads` does; the result, an int32, is 1 if all threads of the block gave a true ``predicate``, else 0."""
    _only_in_kernels("syncthreads_and()")


def syncthreads_or(predicate: object) -> int:
    """Wait as `syncthreads` does; the result, an int32, is 1 if a thread of the block gave a true ``predicate``, else 0."""
    _only_in_kernels("syncthreads_or()")


def threadfence() -> None:
    """What the thread wrote to memory before is seen by the whole device before what it writes after."""
    _only_in_kernels("threadfence()")


def threadfence_block() -> None:
    """As `threadfence`, for the threads of the block."""
    _only_in_kernels("threadfence_block()")


def threadfence_system() -> None:
    """As `threadfence`, for the host and other devices, too."""
    _only_in_kernels("threadfence_system()")


class _Lane:
    """The thread's number in its warp, in kernels: 0 to 31, int64."""

    __slots__ = ()

    def __index__(self) -> int:
        _only_in_kernels("laneid")

    def __repr__(self) -> str:
        return "<treadle.cuda.laneid>"


laneid: int = _Lane()  # type: ignore[assignment]
"""The thread's number in its warp: 0 to 31, int64. Warps are cut from a block's threads in the order of their numbers, x first."""
warpsize = 32
"""Threads of a warp."""


def lanemask_lt() -> int:
    """A bit for each lane of the warp below the thread's own, uint32."""
    _only_in_kernels("lanemask_lt()")


def activemask() -> int:
    """A bit for each lane of the warp that is here together with the thread, uint32."""
    _only_in_kernels("activemask()")


def syncwarp(mask: int = 0xFFFFFFFF) -> None:
    """Wait for the lanes of the warp that ``mask`` names and that have not ended; what they wrote to memory is seen then."""
    _only_in_kernels("syncwarp()")


def shfl_sync(mask: int, value: _T, src_lane: int) -> _T:
    """The value that another lane of the warp has.

    A lane that ``mask`` does not name, or that is not there, leaves the thread its own value.

    Parameters
    ----------
    mask : uint32
        A bit for each lane that takes part; all of them must be here.
    value : number
        Of any type but a complex one.
    src_lane : int
        Which lane, modulo 32.

    Returns
    -------
    number of the value's type

    Examples
    --------
    >>> @cuda.jit
    ... def broadcast(a):
    ...     t = cuda.threadIdx.x
    ...     a[t] = cuda.shfl_sync(0xFFFFFFFF, a[t], 5)
    >>> a = np.arange(32)
    >>> broadcast[1, 32](a)
    >>> a[:3]
    array([5, 5, 5])
    """
    _only_in_kernels("shfl_sync()")


def shfl_up_sync(mask: int, value: _T, delta: int) -> _T:
    """As `shfl_sync`, of the lane ``delta`` below the thread's own; the lowest ``delta`` lanes keep their own value."""
    _only_in_kernels("shfl_up_sync()")


def shfl_down_sync(mask: int, value: _T, delta: int) -> _T:
    """As `shfl_sync`, of the lane ``delta`` above the thread's own; the highest ``delta`` lanes keep their own value."""
    _only_in_kernels("shfl_down_sync()")


def shfl_xor_sync(mask: int, value: _T, lane_mask: int) -> _T:
    """As `shfl_sync`, of the lane whose number is the thread's own with the bits of ``lane_mask`` turned over."""
    _only_in_kernels("shfl_xor_sync()")


def all_sync(mask: int, predicate: object) -> bool:
    """Whether ``predicate`` is true for all lanes that ``mask`` names."""
    _only_in_kernels("all_sync()")


def any_sync(mask: int, predicate: object) -> bool:
    """Whether ``predicate`` is true for one of the lanes that ``mask`` names."""
    _only_in_kernels("any_sync()")


def eq_sync(mask: int, predicate: object) -> bool:
    """Whether ``predicate`` is the same for all lanes that ``mask`` names."""
    _only_in_kernels("eq_sync()")


def ballot_sync(mask: int, predicate: object) -> int:
    """A bit for each of the lanes that ``mask`` names for which ``predicate`` is true, uint32."""
    _only_in_kernels("ballot_sync()")


def match_any_sync(mask: int, value: Any) -> int:
    """A bit for each of the lanes that ``mask`` names whose ``value`` has the bits of this thread's, uint32."""
    _only_in_kernels("match_any_sync()")


def match_all_sync(mask: int, value: Any) -> tuple[int, bool]:
    """The mask and True if all lanes that ``mask`` names have the same ``value``, bit by bit; else 0 and False."""
    _only_in_kernels("match_all_sync()")


def popc(x: SupportsIndex) -> int:
    """How many bits of the integer ``x`` are set; its type is the result's."""
    _only_in_kernels("popc()")


def brev(x: SupportsIndex) -> int:
    """The bits of the integer ``x`` in the other order: uint64 of 64 bits, else uint32."""
    _only_in_kernels("brev()")


def clz(x: SupportsIndex) -> int:
    """How many bits of the integer ``x`` are 0 above its highest one; its type is the result's."""
    _only_in_kernels("clz()")


def ffs(x: SupportsIndex) -> int:
    """The place of the lowest bit of the integer ``x`` that is set, from 1, or 0 where none is: uint32."""
    _only_in_kernels("ffs()")


def fma(a: float, b: float, c: float) -> float:
    """``a * b + c``, rounded once: float32 where all are, else float64."""
    _only_in_kernels("fma()")


def cbrt(a: float) -> float:
    """The cube root: float32 of a float32, else float64."""
    _only_in_kernels("cbrt()")


def selp(a: object, b: _T, c: _T) -> _T:
    """``b`` where ``a`` is true, else ``c``; both are computed."""
    _only_in_kernels("selp()")


def nanosleep(ns: int) -> None:
    """Rest for about ``ns`` nanoseconds, between none at all and twice as many; on the emulated device none."""
    _only_in_kernels("nanosleep()")


def _launch(
    kernel: Any, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, nbytes: int, args: tuple[Any, ...]
) -> None:
    _only_in_kernels("_launch()")


def _from_buffer(cdecl: Any, python_buffer: Any = None, require_writable: bool = False) -> Any:
    """What ``from_buffer`` of cffi's FFI is in kernels: the array, for a pointer of a declared function's."""
    _only_in_kernels("_from_buffer()")


def _shared_array(shape: Any, dtype: Any, alignment: int | None = None) -> Any:
    """An array that the threads of a block share, not initialised.

    Parameters
    ----------
    shape : int or tuple of ints
        A constant. With 0 it is the memory that the launch asks for, ``kernel[grid, block, stream, nbytes]``: as many items as lie in ``nbytes``, 227 KiB at
        most. All such arrays of a block are the same memory.
    dtype : type
        Of its items: a constant.
    alignment : int, optional
        Of which number its address is a multiple: a power of two up to 1024, a constant. The memory that a launch asks for has 16.

    Returns
    -------
    array of 48 KiB at most
    """
    _only_in_kernels("shared.array()")


def _array_like(ndarray: Any) -> Any:
    """A read-only array, as it was when the kernel was compiled.

    Parameters
    ----------
    ndarray : ndarray
        A global, or a variable of an enclosing function.

    Returns
    -------
    array of its shape and dtype
    """
    _only_in_kernels("const.array_like()")


def _local_array(shape: Any, dtype: Any, alignment: int | None = None) -> Any:
    """An array of the thread's own, not initialised.

    Parameters
    ----------
    shape : int or tuple of ints
        A constant.
    dtype : type
        Of its items: a constant.
    alignment : int, optional
        Of which number its address is a multiple: a power of two up to 1024, a constant.

    Returns
    -------
    array of 512 KiB at most
    """
    _only_in_kernels("local.array()")


def _atomic(name: str, what: str) -> Any:
    def function(ary: Any, idx: Any, val: Any) -> Any:
        _only_in_kernels(f"atomic.{name}()")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"``ary[idx]`` becomes {what}, in one step.\n\n"
        "Parameters\n----------\nary : array\nidx : int or tuple of ints\nval : number\n    It is converted to the array's dtype.\n\n"
        "Returns\n-------\nnumber\n    What was there."
    )
    return function


def _cas(ary: Any, idx: Any, old: Any, val: Any) -> Any:
    """``ary[idx]`` becomes ``val`` where it is ``old``, in one step.

    Parameters
    ----------
    ary : array of integers of 32 or 64 bits
    idx : int or tuple of ints
    old, val : int

    Returns
    -------
    int
        What was there.
    """
    _only_in_kernels("atomic.cas()")


def _compare_and_swap(ary: Any, old: Any, val: Any) -> Any:
    """``cas(ary, 0, old, val)``."""
    _only_in_kernels("atomic.compare_and_swap()")


class _GridGroup:
    """All threads of the grid, in kernels."""

    __slots__ = ()

    def sync(self) -> None:
        """Wait for all threads of the grid; what they wrote to memory is seen then."""
        _only_in_kernels("cg.this_grid().sync()")


def _this_grid() -> _GridGroup:
    """The group of all threads of the grid."""
    _only_in_kernels("cg.this_grid()")


def _fp16(name: str, what: str, n: int) -> Any:
    if n == 1:

        def function(a: Any) -> Any:
            _only_in_kernels(f"fp16.{name}()")

    elif n == 2:

        def function(a: Any, b: Any) -> Any:  # type: ignore[misc]
            _only_in_kernels(f"fp16.{name}()")

    else:

        def function(a: Any, b: Any, c: Any) -> Any:  # type: ignore[misc]
            _only_in_kernels(f"fp16.{name}()")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, of float16."
    return function


if not TYPE_CHECKING:  # else they are shared.pyi and so on
    fp16 = _types.ModuleType(
        "treadle.cuda.fp16",
        "float16 by name: numbers become float16, and so is the result. Operators and ``math`` do the same for float16.",
    )
    for _name, _what in {
        "hadd": "``a + b``",
        "hsub": "``a - b``",
        "hmul": "``a * b``",
        "hdiv": "``a / b``",
        "hneg": "``-a``",
        "habs": "The magnitude of ``a``",
        "hfma": "``a * b + c``, rounded once",
        "hmax": "The larger of ``a`` and ``b``; a number where the other is NaN",
        "hmin": "The smaller of ``a`` and ``b``; a number where the other is NaN",
        "hsin": "The sine of ``a``",
        "hcos": "The cosine of ``a``",
        "htanh": "The hyperbolic tangent of ``a``",
        "hlog": "The natural logarithm of ``a``",
        "hlog2": "The logarithm of ``a`` to base 2",
        "hlog10": "The logarithm of ``a`` to base 10",
        "hexp": "e to the power ``a``",
        "hexp2": "2 to the power ``a``",
        "hexp10": "10 to the power ``a``",
        "hsqrt": "The square root of ``a``",
        "hrsqrt": "One over the square root of ``a``",
        "hrcp": "``1 / a``",
        "hfloor": "``a``, rounded down",
        "hceil": "``a``, rounded up",
        "hrint": "``a``, rounded to the nearest integer, an even one of two",
        "htrunc": "``a`` without what follows the point",
        "heq": "``a == b``",
        "hne": "``a != b``",
        "hge": "``a >= b``",
        "hgt": "``a > b``",
        "hle": "``a <= b``",
        "hlt": "``a < b``",
    }.items():
        setattr(
            fp16,
            _name,
            _fp16(
                _name,
                _what,
                3 if "``c``" in _what or "+ c" in _what else 2 if " b``" in _what or "``b``" in _what else 1,
            ),
        )
    cg = _types.ModuleType("treadle.cuda.cg", "Cooperative groups.")
    cg.this_grid = _this_grid
    cg.GridGroup = _GridGroup
    shared = _types.ModuleType("treadle.cuda.shared", "Memory that the threads of a block share.")
    shared.array = _shared_array
    const = _types.ModuleType("treadle.cuda.const", "Arrays that are part of the kernel.")
    const.array_like = _array_like
    local = _types.ModuleType("treadle.cuda.local", "Memory of each thread's own.")
    local.array = _local_array
    atomic = _types.ModuleType(
        "treadle.cuda.atomic", "Operations on an element of an array that no other thread gets between."
    )
    for _name, _what in {
        "add": "``ary[idx] + val``",
        "sub": "``ary[idx] - val``",
        "min": "the smaller of itself and ``val``; stays where one of them is NaN",
        "max": "the larger of itself and ``val``; stays where one of them is NaN",
        "nanmin": "the smaller of itself and ``val``; a number where the other is NaN",
        "nanmax": "the larger of itself and ``val``; a number where the other is NaN",
        "inc": "``ary[idx] + 1``, or 0 where it was ``val`` or more (unsigned integers)",
        "dec": "``ary[idx] - 1``, or ``val`` where it was 0 or more than ``val`` (unsigned integers)",
        "and_": "``ary[idx] & val``",
        "or_": "``ary[idx] | val``",
        "xor": "``ary[idx] ^ val``",
        "exch": "``val``",
    }.items():
        setattr(atomic, _name, _atomic(_name, _what))
    atomic.cas = _cas
    atomic.compare_and_swap = _compare_and_swap
    _sys.modules.update(
        {m.__name__: m for m in (shared, local, const, atomic, fp16, cg)}
    )  # they can be imported from


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})


if not TYPE_CHECKING:  # else it has any name

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module("." + name, __name__)
        if name not in _WHERE:
            raise AttributeError(f"module 'treadle.cuda' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module("." + _WHERE[name], __name__), name)
        return value
