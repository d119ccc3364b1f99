"""cuBLAS's own functions, with its parameters but for the handle: ``cuBlas().Daxpy(n, alpha, x, incx, y, incy)``. Names are those of ``pyculib.blas.binding``.

A matrix is the memory of an array from its first item on, in columns that lie ``ld`` items apart; a vector's items lie ``inc`` apart. Arrays are the device's, on the emulated one the host's, too.
How many items are there is compared with the sizes before each call. Indices of ``Isamax`` and its kind begin at 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._core import _blas_version
from .._errors import LibraryError
from ._calls import ATOMICS_ALLOWED, ATOMICS_NOT_ALLOWED, POINTER_MODE_HOST, Calls, memory, table

if TYPE_CHECKING:
    from .._typing import StreamLike

__all__ = [
    "CUBLAS_ATOMICS_ALLOWED",
    "CUBLAS_ATOMICS_NOT_ALLOWED",
    "CUBLAS_DIAG_NON_UNIT",
    "CUBLAS_DIAG_UNIT",
    "CUBLAS_FILL_MODE_LOWER",
    "CUBLAS_FILL_MODE_UPPER",
    "CUBLAS_OP_C",
    "CUBLAS_OP_N",
    "CUBLAS_OP_T",
    "CUBLAS_POINTER_MODE_DEVICE",
    "CUBLAS_POINTER_MODE_HOST",
    "CUBLAS_SIDE_LEFT",
    "CUBLAS_SIDE_RIGHT",
    "CuBLASError",
    "cuBlas",
]

CuBLASError = LibraryError
CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER = range(2)
CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT = range(2)
CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT = range(2)
CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C = range(3)
CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE = POINTER_MODE_HOST, 1
CUBLAS_ATOMICS_NOT_ALLOWED, CUBLAS_ATOMICS_ALLOWED = ATOMICS_NOT_ALLOWED, ATOMICS_ALLOWED


class cuBlas(Calls):
    """cuBLAS's functions, on a stream: ``Snrm2`` to ``Zgeam``, a method for each routine and type.

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
    Errors of all methods are those of `treadle.cuda.blas.Blas`; ValueError, too, for arrays that the device cannot take as they are: nothing is copied.

    Examples
    --------
    >>> import numpy as np
    >>> from treadle import cuda
    >>> from treadle.cuda.blas.binding import cuBlas
    >>> x = cuda.to_device(np.array([3.0, 4.0]))
    >>> cuBlas().Dnrm2(2, x, 1)
    5.0
    """

    def __init__(self, stream: StreamLike = 0) -> None:
        super().__init__(stream)

    @property
    def version(self) -> int:
        """cuBLAS's version; 0 on the emulated device."""
        return _blas_version()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def _do(self, number: int, name: str, *args: Any) -> Any:
        """One function where streams are watched, or where an array is another package's."""
        arrays = [memory(a, name) if hasattr(a, "__cuda_array_interface__") else a for a in args]
        self._note(name, self._raw_touched, number, arrays)
        result = self._raw(number, *arrays)
        self._tell(result)
        return result


def _function(number: int, name: str, about: str) -> Callable[..., Any]:
    def call(self: cuBlas, *args: Any) -> Any:
        if self._watched:
            return self._do(number, name, *args)
        return self._raw(number, *args)

    call.__name__ = name
    call.__qualname__ = f"cuBlas.{name}"
    call.__doc__ = about
    return call


def _fill() -> None:
    k = 0
    for routine, (_, about, words, variants) in enumerate(table()):
        params = [word for word, kind, _, _ in words if not kind.startswith("given") and kind != "result"]
        for name, symbol, dtype, _, other in variants:
            if not other:
                text = f"{name}({', '.join(params)}): {about}.\n\nOf {dtype}; ``{symbol}``."
                setattr(cuBlas, name, _function(routine << 8 | k, name, text))
            k += 1


_fill()
