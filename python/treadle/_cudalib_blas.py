"""``Blas`` as old programs know it: matrices are what their memory is.

BLAS's matrices lie by columns. treadle.cuda.blas copies one that lies by rows into such, and says so. pyculib handed its memory on, in which BLAS sees the transposed
matrix, and programs are written for that: they ask for ``'T'``, or give the operands in the other order.
"""

from __future__ import annotations

from typing import Any

from .cuda import blas
from .cuda.blas._calls import memory, taken

__all__ = ["Blas"]


class Blas(blas.Blas):
    """BLAS's routines, on a stream; a matrix whose rows lie one behind the other is to them its transpose."""

    def _call(self, routine: int, *args: Any) -> Any:
        words = taken(routine)
        return super()._call(
            routine, *[_as_it_lies(a) if w[1] == "matrix" else a for w, a in zip(words, args, strict=False)]
        )


def _as_it_lies(ary: Any) -> Any:
    flags = getattr(ary, "flags", None)
    if getattr(ary, "ndim", 0) != 2 or flags is None or not flags["C_CONTIGUOUS"] or flags["F_CONTIGUOUS"]:
        return ary
    return memory(ary, "a matrix").T
