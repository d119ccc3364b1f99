"""Linear algebra with arrays on the device, by BLAS's routines: by cuBLAS on a GPU, on the emulated device by the BLAS that NumPy brings, with the names of ``pyculib.blas``, ``accelerate.cuda.blas`` and ``numbapro.cudalib.cublas``.

>>> import numpy as np
>>> from treadle import cuda
>>> from treadle.cuda.blas import Blas
>>> A = cuda.to_device(np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]))
>>> x = cuda.to_device(np.array([1.0, 10.0]))
>>> y = cuda.device_array(2)
>>> Blas().gemv("N", 2, 2, 1.0, A, x, 0.0, y)
>>> y.copy_to_host()
array([21., 43.])

Matrices lie in columns (``order="F"``); what does not goes by way of a copy. Arrays may be the device's or the host's, which are copied there and back.
"""

from __future__ import annotations

import threading
import warnings
from numbers import Number as AnyNumber
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core import _blas_version
from ...errors import PerformanceWarning
from .. import _libs
from .._array import DeviceNDArray, _Access, allocate, move, on_device
from .._devices import ready
from .._extent import Array
from .._warn import callers_level
from ._calls import memory
from ._routines import Routines

if TYPE_CHECKING:
    from .._typing import StreamLike
    from ._calls import Number, Operand

__all__ = ["Blas", "axpy", "dot", "gemm", "gemv", "version"]


class Blas(Routines):
    """BLAS's routines, on a stream.

    Parameters
    ----------
    stream : Stream
        What calls are put on; the attribute may be changed.

    Raises
    ------
    TypeError
        ``stream`` is none.
    CudaSupportError
        There is a GPU, and cuBLAS is not here.

    Notes
    -----
    Where ``m`` or ``n`` is 0 nothing is done. All arrays of a call have one dtype, which says in what precision it is done. Sizes are compared with the arrays before: a routine never reads past an end.

    Errors of all methods: TypeError for what is no array or no number, and for dtypes that differ or that the routine has not; ValueError for a letter or a size that it does not take, for arrays
    that have fewer items than it uses, that are read-only and would be written, or that share memory with what is written; `treadle.cuda.libs.LibraryError` where cuBLAS refuses it;
    CudaSupportError where NumPy's BLAS is not found, or has no such routine.

    What gives a number waits for the stream; all else is done when the stream has come so far.

    On a GPU a thread has one handle of cuBLAS for each GPU, whichever objects it uses, and the workspace comes from the device's pool in the order of the stream.

    Examples
    --------
    >>> from treadle.cuda.blas import Blas
    >>> blas = Blas()
    >>> blas.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])).item()
    11.0
    >>> x = np.array([1.0, -5.0, 2.0])
    >>> blas.amax(x), blas.asum(x)
    (1, 8.0)
    """


class _Mine(threading.local):
    """This thread's `Blas`, for functions."""

    blas: Blas | None = None


_mine = _Mine()


def _on(stream: Any) -> Blas:
    blas = _mine.blas
    if blas is None:
        blas = _mine.blas = Blas()
    if stream or blas.stream:
        blas.stream = stream
    return blas


def version() -> int:
    """cuBLAS's version, 10000 times its major one and so on; 0 on the emulated device, which needs none.

    Raises
    ------
    CudaSupportError
        There is a GPU, and cuBLAS is not here.
    """
    ready()
    _libs.need("cuBLAS")
    return _blas_version()


_SAME = {np.dtype(t): np.dtype(t) for t in "fdFD"}


def _dtype(
    numbers: dict[str, Any], arrays: dict[str, Any], ndims: dict[str, int]
) -> tuple[np.dtype[Any], dict[str, Array]]:
    """The dtype that holds all arrays, complex where a number is, and their ndarrays: arrays and numbers are looked at on the way. A number makes it no wider, as in NumPy 2; pyculib took it
    for a float64."""
    mems = {}
    dtype = None
    for name, n in numbers.items():
        if type(n) is not float and not isinstance(n, AnyNumber):
            raise ValueError(f"{name} is not a numeric type, but {type(n).__name__}")
    for name, a in arrays.items():
        mem = mems[name] = memory(a, name)
        native = _SAME.get(mem.dtype) or _SAME.get(mem.dtype.newbyteorder("="))
        if native is None:
            raise TypeError(f"{name} has unsupported type {mem.dtype}")
        if mem.ndim != ndims[name]:
            raise ValueError(f"{name} is not a {('one', 'two')[ndims[name] - 1]}-dimensional array")
        if dtype is None:
            dtype = native
        elif dtype is not native:
            dtype = np.result_type(dtype, native)
    assert dtype is not None, "a function has arrays"
    if dtype.kind == "f" and any(type(n) is not float and np.iscomplexobj(n) for n in numbers.values()):
        dtype = np.result_type(dtype, np.complex64)
    return dtype, mems


def _of(ary: Any, mem: Array, dtype: np.dtype[Any], name: str) -> Any:
    """The array itself if it is of that dtype; else a new one of its values, which is said."""
    if mem.dtype == dtype:
        return ary
    warnings.warn(
        f"{name} ({mem.dtype}) is converted to {dtype}", PerformanceWarning, stacklevel=callers_level()
    )
    if not isinstance(ary, _Access) and not on_device(mem):
        return mem.astype(dtype, order="F")
    made = allocate(mem.shape, dtype, order="F")
    move(made, mem)
    return DeviceNDArray(made)


def _op(name: str, letter: Any) -> str:
    known = letter.upper() if isinstance(letter, str) else ""
    if known not in ("N", "T", "C"):
        raise ValueError(f"{name} has invalid value {letter!r}: 'N', 'T' or 'C'")
    return known


def _agree(a: str, b: str, one: int, other: int) -> None:
    if one != other:
        raise ValueError(
            f"arrays {a} and {b} have incompatible shapes: {one} and {other} items where they meet"
        )


def dot(x: Operand, y: Operand, stream: StreamLike = None) -> Any:
    """The sum of ``x * y``.

    Parameters
    ----------
    x, y : array of the device or of the host
        Of one axis each, as long as the other; of float32, float64, complex64 or complex128. The dtype that holds both is the result's.
    stream : Stream
        Which is waited for.

    Raises
    ------
    TypeError, ValueError, treadle.cuda.libs.LibraryError
        As `Blas` says.

    Examples
    --------
    >>> from treadle.cuda.blas import dot
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])).item()
    11.0
    """
    dtype, mems = _dtype({}, {"x": x, "y": y}, {"x": 1, "y": 1})
    return _on(stream).dot(_of(x, mems["x"], dtype, "x"), _of(y, mems["y"], dtype, "y"))


def axpy(alpha: Number, x: Operand, y: Operand, stream: StreamLike = None) -> Any:
    """``alpha * x + y``, in ``y``, which is returned; where ``y`` cannot hold the result, a new array.

    Parameters
    ----------
    alpha : number
    x, y : array of the device or of the host
        Of one axis each, as long as the other.
    stream : Stream

    Raises
    ------
    TypeError, ValueError, treadle.cuda.libs.LibraryError
        As `Blas` says; ValueError for an ``alpha`` that is no number.
    """
    dtype, mems = _dtype({"alpha": alpha}, {"x": x, "y": y}, {"x": 1, "y": 1})
    out = _of(y, mems["y"], dtype, "y")
    _on(stream).axpy(alpha, _of(x, mems["x"], dtype, "x"), out)
    return out


def gemv(
    trans: str,
    alpha: Number,
    A: Operand,
    x: Operand,
    beta: Number = 0,
    y: Any = None,
    stream: StreamLike = None,
) -> Any:
    """``alpha * op(A) @ x + beta * y``, in ``y``, which is returned; without it, or where it cannot hold the result, a new array.

    Parameters
    ----------
    trans : str
        ``"N"``: ``op(A)`` is ``A``, ``"T"``: it is transposed, ``"C"``: and conjugated.
    alpha, beta : number
    A : array of the device or of the host
        Of two axes; in columns (``order="F"``), or it goes by way of a copy.
    x, y : array of the device or of the host
        Of one axis.
    stream : Stream

    Raises
    ------
    TypeError, ValueError, treadle.cuda.libs.LibraryError
        As `Blas` says; ValueError for numbers that are none.
    """
    trans = _op("trans", trans)
    arrays = {"A": A, "x": x} if y is None else {"A": A, "x": x, "y": y}
    dtype, mems = _dtype({"alpha": alpha, "beta": beta}, arrays, {"A": 2, "x": 1, "y": 1})
    m, n = mems["A"].shape
    rows, columns = (m, n) if trans == "N" else (n, m)
    _agree("A", "x", columns, mems["x"].shape[0])
    if y is not None:
        _agree("A", "y", rows, mems["y"].shape[0])
    out = np.zeros(rows, dtype) if y is None else _of(y, mems["y"], dtype, "y")
    a, b = _of(A, mems["A"], dtype, "A"), _of(x, mems["x"], dtype, "x")
    _on(stream).gemv(trans, m, n, alpha, a, b, beta, out)
    return out


def gemm(
    transa: str,
    transb: str,
    alpha: Number,
    A: Operand,
    B: Operand,
    beta: Number = 0,
    C: Any = None,
    stream: StreamLike = None,
) -> Any:
    """``alpha * op(A) @ op(B) + beta * C``, in ``C``, which is returned; without it, or where it cannot hold the result, a new array in columns.

    Parameters
    ----------
    transa, transb : str
        ``"N"``: ``op(A)`` is ``A``, ``"T"``: it is transposed, ``"C"``: and conjugated.
    alpha, beta : number
    A, B, C : array of the device or of the host
        Of two axes; in columns (``order="F"``), or they go by way of copies.
    stream : Stream

    Raises
    ------
    TypeError, ValueError, treadle.cuda.libs.LibraryError
        As `Blas` says; ValueError for numbers that are none.

    Examples
    --------
    >>> from treadle.cuda.blas import gemm
    >>> A = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    >>> gemm("N", "T", 1.0, A, A)
    array([[ 5., 11.],
           [11., 25.]])
    """
    transa, transb = _op("transa", transa), _op("transb", transb)
    arrays = {"A": A, "B": B} if C is None else {"A": A, "B": B, "C": C}
    dtype, mems = _dtype({"alpha": alpha, "beta": beta}, arrays, {"A": 2, "B": 2, "C": 2})
    m, k = mems["A"].shape if transa == "N" else mems["A"].shape[::-1]
    inner, n = mems["B"].shape if transb == "N" else mems["B"].shape[::-1]
    _agree("A", "B", k, inner)
    if C is not None:
        _agree("A", "C", m, mems["C"].shape[0])
        _agree("B", "C", n, mems["C"].shape[1])
    out = np.zeros((m, n), dtype, order="F") if C is None else _of(C, mems["C"], dtype, "C")
    a, b = _of(A, mems["A"], dtype, "A"), _of(B, mems["B"], dtype, "B")
    _on(stream).gemm(transa, transb, m, n, k, alpha, a, b, beta, out)
    return out
