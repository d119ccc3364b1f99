"""Sparse matrices on the device: the routines of NVIDIA's cuSPARSE, those too that its version 12 has no more, by kernels of Treadle's own, with the names of ``pyculib.sparse``, ``accelerate.cuda.sparse`` and ``numbapro.cudalib.cusparse``.

>>> import numpy as np
>>> from treadle.cuda.sparse import Sparse, csr_matrix
>>> a = csr_matrix(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
>>> x, y = np.array([1.0, 10.0, 100.0]), np.empty(2)
>>> sparse = Sparse()
>>> sparse.csrmv("N", 2, 3, a.nnz, 1.0, sparse.matdescr(), a.data, a.indptr, a.indices, x, 0.0, y)
>>> y
array([ 20., 301.])

Arrays may be the device's or the host's, which are copied there and back. All routines stand in this one file, as a method is a row of the table that the page's list and the tests are held to. No library is needed, on a GPU either. SciPy is needed only to make its matrices, or what it alone knows how to make.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from .. import cuda
from .._core import _csrmv
from . import _order
from . import _sparse_forms as forms
from . import _sparse_math as arith
from ._array import DeviceNDArray, _Access, allocate, move
from ._devices import is_emulated, ready
from ._extent import Array
from ._sparse_call import (
    VALUES,
    Arg,
    Call,
    MatDescr,
    Rows,
    SolveAnalysisInfo,
    analyse,
    base_of,
    by_levels,
    dense,
    ints,
    is_by_rows,
    trans_of,
    values,
    vector,
)
from ._sparse_forms import CHUNK, MOST
from ._stream import check_stream

if TYPE_CHECKING:
    from ._typing import StreamLike

__all__ = [
    "ROUTINES",
    "CudaBSRMatrix",
    "CudaCSCMatrix",
    "CudaCSRMatrix",
    "CudaSparseMatrix",
    "MatDescr",
    "SolveAnalysisInfo",
    "Sparse",
    "bsr_matrix",
    "csc_matrix",
    "csr_matrix",
]

_Fn = TypeVar("_Fn", bound=Callable[..., Any])


class Routine(NamedTuple):
    """A routine of `Sparse`: its group, and what it does."""

    group: str
    what: str


ROUTINES: dict[str, Routine] = {}
"""All routines by name: the methods of `Sparse` that are cuSPARSE's."""


def _routine(group: str) -> Callable[[_Fn], _Fn]:
    def note(fn: _Fn) -> _Fn:
        ROUTINES[fn.__name__] = Routine(group, (fn.__doc__ or "").split("\n")[0])
        names = list(inspect.signature(fn).parameters)
        places = [(k, name) for k, name in enumerate(names) if name.startswith("descr")]
        if not places:
            return fn

        @functools.wraps(fn)
        def with_descriptions(*args: Any, **kws: Any) -> Any:
            for k, name in places:
                given = args[k] if k < len(args) else kws.get(name)
                if not isinstance(given, MatDescr) and (k < len(args) or name in kws):
                    what = f"{fn.__name__}: {name} is a description, which matdescr() gives"
                    raise TypeError(f"{what}, not {given!r}")
            return fn(*args, **kws)

        return with_descriptions  # type: ignore[return-value]

    return note


class Sparse:
    """cuSPARSE's routines, each by its name without the letter that says the dtype.

    Parameters
    ----------
    idxbase : int
        What indices count from where no description says it, 0 or 1.
    stream : Stream
        What routines are put on; the attribute may be changed.

    Raises
    ------
    ValueError
        ``idxbase`` is neither.

    Notes
    -----
    All routines take arrays of the device or the host, and have these in common. Values are of float32, float64, complex64 or complex128, the same one in a call; indices of int32. An
    array may be longer than what counts of it. ``trans`` is ``"N"``, ``"T"`` or ``"C"`` (transposed and conjugated), ``dir`` is ``"R"`` or ``"C"``: whether blocks are stored by rows
    or by columns. Dense matrices lie column behind column, ``ld`` items apart: an array in Fortran's order; one in another order goes by way of a copy. Arrays of the host are as they
    should be when a call returns, those of the device when the stream has come so far. What is read may share memory with what is written: it is copied before.

    A ``TypeError`` says that an argument is no such array, or of another dtype; a ``ValueError`` that it has too few items or another number of axes, is read-only, or that an option
    is none. Indices are looked at on the device: an ``IndexError`` says that one is outside of the matrix, a ``ValueError`` that pointers fall or rows are not in order, with the
    routine and the argument. As what a kernel raises these come from the call, on a stream from who waits for it. Nothing is read or written beyond an end.
    """

    def __init__(self, idxbase: int = 0, stream: StreamLike = 0) -> None:
        try:
            self.idxbase = base_of(idxbase)
        except ValueError:
            raise ValueError(f"Invalid index base: {idxbase!r} is neither 0 nor 1") from None
        check_stream(stream)
        self._stream: Any = stream or 0

    @property
    def stream(self) -> StreamLike:
        """What routines are put on."""
        return self._stream  # type: ignore[no-any-return]

    @stream.setter
    def stream(self, stream: StreamLike) -> None:
        check_stream(stream)
        self._stream = stream or 0

    @property
    def api(self) -> Sparse:
        """Itself: where pyculib has cuSPARSE's handle, of which programs take `solve_analysis_info`."""
        return self

    def solve_analysis_info(self) -> SolveAnalysisInfo:
        """An analysis of nothing, which the incomplete factors take in place of one."""
        return SolveAnalysisInfo()

    def matdescr(
        self,
        indexbase: int | None = None,
        diagtype: str = "N",
        fillmode: str = "L",
        matrixtype: str = "G",
    ) -> MatDescr:
        """A description of a matrix.

        Parameters
        ----------
        indexbase : int, optional
            That of this object, where none is given.
        diagtype, fillmode, matrixtype : str
            As the attributes of `MatDescr`.

        Raises
        ------
        ValueError
            One is none of those.
        """
        return MatDescr(self.idxbase if indexbase is None else indexbase, diagtype, fillmode, matrixtype)

    def _call(self, routine: str) -> Call:
        return Call(routine, self._stream)

    # --- vectors ---

    def _vectors(
        self, call: Call, xVal: Any, xInd: Any, y: Any, x_written: bool, y_written: bool
    ) -> tuple[int, list[Array]]:
        n = int(getattr(xVal, "size", 0))
        if int(getattr(xInd, "size", n)) != n:
            raise ValueError(f"{call.routine}: xVal has {n} items, and xInd {xInd.size}")
        found = call.bind(
            vector("xVal", xVal, n, x_written), ints("xInd", xInd, n), vector("y", y, None, y_written)
        )
        return n, found

    @_routine("level 1")
    def axpyi(self, alpha: Any, xVal: Any, xInd: Any, y: Any) -> Any:
        """``y[xInd] += alpha * xVal``; indices stand once; returns ``y``."""
        call = self._call("axpyi")
        n, (val, ind, to) = self._vectors(call, xVal, xInd, y, False, True)
        call.run(arith.axpyi, n, call.scalar(alpha), val, ind, to, self.idxbase)
        call.done()
        return y

    def _dot(self, routine: str, xVal: Any, xInd: Any, y: Any) -> Any:
        call = self._call(routine)
        n, (val, ind, of) = self._vectors(call, xVal, xInd, y, False, False)
        if n == 0:
            return call.dtype.type(0)
        chunks = -(-n // CHUNK)
        parts, result = call.new((chunks,), call.dtype), call.new((1,), call.dtype)
        call.run(arith.dots(routine), chunks, val, ind, of, self.idxbase, parts)
        call.run(arith.total, 1, parts, result)
        return call.item(result)

    @_routine("level 1")
    def doti(self, xVal: Any, xInd: Any, y: Any) -> Any:
        """Returns the sum of ``xVal * y[xInd]``."""
        return self._dot("doti", xVal, xInd, y)

    @_routine("level 1")
    def dotci(self, xVal: Any, xInd: Any, y: Any) -> Any:
        """Returns the sum of ``conj(xVal) * y[xInd]``."""
        return self._dot("dotci", xVal, xInd, y)

    @_routine("level 1")
    def gthr(self, y: Any, xVal: Any, xInd: Any) -> None:
        """``xVal = y[xInd]``."""
        call = self._call("gthr")
        n, (val, ind, of) = self._vectors(call, xVal, xInd, y, True, False)
        call.run(arith.gather("gthr"), n, of, ind, self.idxbase, val)
        call.done()

    @_routine("level 1")
    def gthrz(self, y: Any, xVal: Any, xInd: Any) -> None:
        """``xVal = y[xInd]``, then ``y[xInd] = 0``; indices stand once."""
        call = self._call("gthrz")
        n, (val, ind, of) = self._vectors(call, xVal, xInd, y, True, True)
        call.run(arith.gather("gthrz"), n, of, ind, self.idxbase, val)
        call.done()

    @_routine("level 1")
    def roti(self, xVal: Any, xInd: Any, y: Any, c: Any, s: Any) -> None:
        """A rotation: ``xVal`` and ``y[xInd]`` become ``c * xVal + s * y[xInd]`` and ``c * y[xInd] - s * xVal``; indices stand once."""
        call = self._call("roti")
        n, (val, ind, to) = self._vectors(call, xVal, xInd, y, True, True)
        call.run(arith.roti, n, val, ind, to, call.scalar(c), call.scalar(s), self.idxbase)
        call.done()

    @_routine("level 1")
    def sctr(self, xVal: Any, xInd: Any, y: Any) -> None:
        """``y[xInd] = xVal``; indices stand once."""
        call = self._call("sctr")
        n, (val, ind, to) = self._vectors(call, xVal, xInd, y, False, True)
        call.run(arith.sctr, n, val, ind, to, self.idxbase)
        call.done()

    # --- a matrix times a vector ---

    def bsrmv_matrix(
        self, dir: str, trans: str, alpha: Any, descr: MatDescr, bsrmat: Any, x: Any, beta: Any, y: Any
    ) -> None:
        """`bsrmv` of a matrix that `bsr_matrix` made.

        Raises
        ------
        ValueError
            Its blocks are not square.
        """
        size, other = bsrmat.blocksize
        if size != other:
            raise ValueError(f"bsrmv: blocks of {size} by {other} items are not square")
        m, n = bsrmat.shape
        mb, nb, data = -(-m // size), -(-n // size), bsrmat.data
        self.bsrmv(
            dir, trans, mb, nb, bsrmat.indices.size, alpha, descr, data, bsrmat.indptr, bsrmat.indices, size, x, beta, y
        )  # fmt: skip

    @_routine("level 2")
    def bsrmv(
        self, dir: str, trans: str, mb: int, nb: int, nnzb: int, alpha: Any, descr: MatDescr, bsrVal: Any,
        bsrRowPtr: Any, bsrColInd: Any, blockDim: int, x: Any, beta: Any, y: Any,
    ) -> None:  # fmt: skip
        """``y = alpha * op(A) @ x + beta * y``, A of mb by nb blocks (BSR)."""
        call = self._call("bsrmv")
        by_rows, trans = is_by_rows("bsrmv", dir), trans_of("bsrmv", trans)
        mb, nb, nnzb, size = call.sizes(mb=mb, nb=nb, nnzb=nnzb, blockDim=blockDim)
        rows, columns = (mb, nb) if trans == "N" else (nb, mb)
        val, ptr, ind, of, to = call.bind(
            values("bsrVal", bsrVal, nnzb * size * size),
            ints("bsrRowPtr", bsrRowPtr, mb + 1),
            ints("bsrColInd", bsrColInd, nnzb),
            vector("x", x, columns * size),
            vector("y", y, rows * size, written=True),
        )
        alpha, beta = call.scalar(alpha), call.scalar(beta)
        blocks = Rows(ptr, ind, val, descr.indexbase, mb, nb)
        call.check(("bsrRowPtr", "bsrColInd"), blocks)
        if trans == "N" and descr.matrixtype == "G":
            call.run(arith.bsrmv, mb * size, alpha, val, ptr, ind, blocks.base, size, by_rows, of, beta, to)
        else:
            plain = self._of_blocks(call, blocks, size, by_rows)
            call.times_vector(alpha, call.meant(trans, descr, plain), of, beta, to)
        call.done()

    @staticmethod
    def _of_blocks(call: Call, a: Rows, size: int, by_rows: bool) -> Rows:
        n = a.ind.size * size * size
        ptr, ind = call.new((a.rows * size + 1,), np.int32), call.zeros(n, np.int32)
        val = call.new((n,), call.dtype)
        call.run(
            forms.bsr_to_csr, a.rows * size, a.ptr, a.ind, a.val, a.base, size, by_rows, ptr, ind, val, 0
        )
        return Rows(ptr, ind, val, 0, a.rows * size, a.columns * size)

    @_routine("level 2")
    def bsrxmv(
        self, dir: str, trans: str, sizeOfMask: int, mb: int, nb: int, nnzb: int, alpha: Any, descr: MatDescr,
        bsrVal: Any, bsrMaskPtr: Any, bsrRowPtr: Any, bsrEndPtr: Any, bsrColInd: Any, blockDim: int, x: Any,
        beta: Any, y: Any,
    ) -> None:  # fmt: skip
        """`bsrmv` of the block rows that ``bsrMaskPtr`` names, each once, which end where ``bsrEndPtr`` says; other items of ``y`` stay. Not transposed, of type ``"G"``."""
        call = self._call("bsrxmv")
        by_rows = is_by_rows("bsrxmv", dir)
        if trans != "N" or descr.matrixtype != "G":
            raise ValueError("bsrxmv: the matrix is not transposed, and of type 'G'")
        many, mb, nb, nnzb, size = call.sizes(
            sizeOfMask=sizeOfMask, mb=mb, nb=nb, nnzb=nnzb, blockDim=blockDim
        )
        val, mask, ptr, end, ind, of, to = call.bind(
            values("bsrVal", bsrVal, nnzb * size * size),
            ints("bsrMaskPtr", bsrMaskPtr, many),
            ints("bsrRowPtr", bsrRowPtr, mb),
            ints("bsrEndPtr", bsrEndPtr, mb),
            ints("bsrColInd", bsrColInd, nnzb),
            vector("x", x, nb * size),
            vector("y", y, mb * size, written=True),
        )
        call.run(
            arith.bsrxmv, many * size, call.scalar(alpha), mask, mb, val, ptr, end, ind, descr.indexbase, size,
            by_rows, of, call.scalar(beta), to,
        )  # fmt: skip
        call.done()

    @_routine("level 2")
    def csrmv(
        self, trans: str, m: int, n: int, nnz: int, alpha: Any, descr: MatDescr, csrVal: Any, csrRowPtr: Any,
        csrColInd: Any, x: Any, beta: Any, y: Any,
    ) -> None:  # fmt: skip
        """``y = alpha * op(A) @ x + beta * y``, A of m by n."""
        ready()
        if (
            trans == "N"
            and not self._stream
            and descr._matrixtype == "G"
            and not _order.active
            and is_emulated()
            and _csrmv(m, n, nnz, alpha, csrVal, csrRowPtr, csrColInd, descr._indexbase, x, beta, y)
        ):
            return  # all else the kernels do, and say what is wrong
        call = self._call("csrmv")
        trans = trans_of("csrmv", trans)
        m, n, nnz = call.sizes(m=m, n=n, nnz=nnz)
        rows, columns = (m, n) if trans == "N" else (n, m)
        val, ptr, ind, of, to = call.bind(
            values("csrVal", csrVal, nnz),
            ints("csrRowPtr", csrRowPtr, m + 1),
            ints("csrColInd", csrColInd, nnz),
            vector("x", x, columns),
            vector("y", y, rows, written=True),
        )
        a = Rows(ptr, ind, val, descr.indexbase, m, n)
        alpha, beta = call.scalar(alpha), call.scalar(beta)
        if trans != "N" and descr.matrixtype == "G" and is_emulated():
            call.turned_times_vector(alpha, a, trans == "C", of, beta, to)
        else:
            if trans != "N" or descr.matrixtype != "G":
                call.check(("csrRowPtr", "csrColInd"), a)
                a = call.meant(trans, descr, a)
            call.times_vector(alpha, a, of, beta, to)
        call.done()

    # --- triangular systems ---

    def _analysis(
        self,
        routine: str,
        trans: str,
        m: int,
        nnz: int,
        descr: MatDescr,
        val: Any,
        ptr: Any,
        ind: Any,
        a: str,
    ) -> SolveAnalysisInfo:
        call = self._call(routine)
        trans = trans_of(routine, trans)
        m, nnz = call.sizes(m=m, nnz=nnz)
        names = f"csrRowPtr{a}", f"csrColInd{a}"
        _, p, i = call.bind(
            values(f"csrVal{a}", val, nnz), ints(names[0], ptr, m + 1), ints(names[1], ind, nnz)
        )
        rows = Rows(p, i, None, descr.indexbase, m, m)
        call.check(names, rows)
        info = analyse(call, trans, (descr.fillmode == "L") == (trans == "N"), rows)
        call.done()
        return info

    def _solve(
        self, routine: str, trans: str, m: int, n: int, alpha: Any, descr: MatDescr, val: Any, info: Any,
        x: Arg, ldx: int, y: Arg, ldy: int, name: str,
    ) -> None:  # fmt: skip
        call = self._call(routine)
        trans = trans_of(routine, trans)
        if not isinstance(info, SolveAnalysisInfo) or info._rows is None:
            raise TypeError(f"{routine}: info is what {routine.split('_')[0]}_analysis gives, not {info!r}")
        rows = info._rows
        lower = (descr.fillmode == "L") == (trans == "N")
        if (rows.rows, info._trans != "N", info._lower) != (m, trans != "N", lower):
            raise ValueError(
                f"{routine}: info is of {rows.rows} rows, trans {info._trans!r}, and not of {m}, trans {trans!r} and fill {descr.fillmode!r}"
            )
        v, of, to = call.bind(values(name, val, rows.ind.size), x, y)
        if info._places is not None:
            made = call.new(v.shape, call.dtype)
            call.run(forms.take_values, v.size, v, info._places, trans == "C", made)
            v = made
        if n:
            rest = rows.ptr, rows.ind, v, lower, descr.diagtype == "U", call.scalar(alpha), of, ldx, to, ldy
            by_levels(call, info, arith.solve, arith.solve_narrow, n, rest)
        call.done()

    @_routine("level 2")
    def csrsv_analysis(
        self, trans: str, m: int, nnz: int, descr: MatDescr, csrVal: Any, csrRowPtr: Any, csrColInd: Any
    ) -> SolveAnalysisInfo:
        """Returns what `csrsv_solve` needs, and the incomplete factors: the order in which rows can be solved. One thread finds it."""
        return self._analysis("csrsv_analysis", trans, m, nnz, descr, csrVal, csrRowPtr, csrColInd, "")

    @_routine("level 2")
    def csrsv_solve(
        self, trans: str, m: int, alpha: Any, descr: MatDescr, csrVal: Any, csrRowPtr: Any, csrColInd: Any,
        info: SolveAnalysisInfo, x: Any, y: Any,
    ) -> None:  # fmt: skip
        """``y`` becomes the solution of ``op(A) @ y = alpha * x``, A the triangle of the description's ``fillmode``, with the pattern that was analysed. A diagonal item that is not stored is 0."""
        (m,) = self._call("csrsv_solve").sizes(m=m)
        self._solve(
            "csrsv_solve", trans, m, 1, alpha, descr, csrVal, info, vector("x", x, m), m,
            vector("y", y, m, written=True), m, "csrVal",
        )  # fmt: skip

    @_routine("level 3")
    def csrsm_analysis(
        self, transA: str, m: int, nnz: int, descrA: MatDescr, csrValA: Any, csrRowPtrA: Any, csrColIndA: Any
    ) -> SolveAnalysisInfo:
        """As `csrsv_analysis`, for `csrsm_solve`."""
        return self._analysis("csrsm_analysis", transA, m, nnz, descrA, csrValA, csrRowPtrA, csrColIndA, "A")

    @_routine("level 3")
    def csrsm_solve(
        self, transA: str, m: int, n: int, alpha: Any, descrA: MatDescr, csrValA: Any, csrRowPtrA: Any,
        csrColIndA: Any, info: SolveAnalysisInfo, X: Any, ldx: int, Y: Any, ldy: int,
    ) -> None:  # fmt: skip
        """As `csrsv_solve`, with n columns: ``op(A) @ Y = alpha * X``."""
        m, n, ldx, ldy = self._call("csrsm_solve").sizes(m=m, n=n, ldx=ldx, ldy=ldy)
        self._solve(
            "csrsm_solve", transA, m, n, alpha, descrA, csrValA, info, dense("X", X, m, n, ldx), ldx,
            dense("Y", Y, m, n, ldy, written=True), ldy, "csrValA",
        )  # fmt: skip

    # --- a matrix times a matrix ---

    def _times_dense(
        self, routine: str, transA: str, transB: str, m: int, n: int, columns: int, nnz: int, alpha: Any,
        descrA: MatDescr, csrValA: Any, csrRowPtrA: Any, csrColIndA: Any, B: Any, ldb: int, beta: Any, C: Any,
        ldc: int, stored: tuple[int, int], b_shape: tuple[int, int],
    ) -> None:  # fmt: skip
        call = self._call(routine)
        val, ptr, ind, b, c = call.bind(
            values("csrValA", csrValA, nnz),
            ints("csrRowPtrA", csrRowPtrA, stored[0] + 1),
            ints("csrColIndA", csrColIndA, nnz),
            dense("B", B, *b_shape, ldb),
            dense("C", C, m, n, ldc, written=True),
        )
        a = Rows(ptr, ind, val, descrA.indexbase, *stored)
        call.check(("csrRowPtrA", "csrColIndA"), a)
        a = call.meant(transA, descrA, a)
        along, across = (1, ldb) if transB == "N" else (ldb, 1)
        threads = m * -(-n // 4)
        call.run(
            arith.csrmm, threads, m, n, call.scalar(alpha), a.val, a.ptr, a.ind, a.base, b, along, across,
            transB == "C", call.scalar(beta), c, ldc,
        )  # fmt: skip
        call.done()

    @_routine("level 3")
    def csrmm(
        self, transA: str, m: int, n: int, k: int, nnz: int, alpha: Any, descrA: MatDescr, csrValA: Any,
        csrRowPtrA: Any, csrColIndA: Any, B: Any, ldb: int, beta: Any, C: Any, ldc: int,
    ) -> None:  # fmt: skip
        """``C = alpha * op(A) @ B + beta * C``, A of m by k as stored, n columns of B and C, which are dense."""
        transA = trans_of("csrmm", transA, "transA")
        m, n, k, nnz, ldb, ldc = self._call("csrmm").sizes(m=m, n=n, k=k, nnz=nnz, ldb=ldb, ldc=ldc)
        rows, inner = (m, k) if transA == "N" else (k, m)
        self._times_dense(
            "csrmm", transA, "N", rows, n, inner, nnz, alpha, descrA, csrValA, csrRowPtrA, csrColIndA, B, ldb,
            beta, C, ldc, (m, k), (inner, n),
        )  # fmt: skip

    @_routine("level 3")
    def csrmm2(
        self, transA: str, transB: str, m: int, n: int, k: int, nnz: int, alpha: Any, descrA: MatDescr,
        csrValA: Any, csrRowPtrA: Any, csrColIndA: Any, B: Any, ldb: int, beta: Any, C: Any, ldc: int,
    ) -> None:  # fmt: skip
        """``C = alpha * op(A) @ op(B) + beta * C``, A of m by k as stored, n columns of op(B) and C, which are dense."""
        transA, transB = trans_of("csrmm2", transA, "transA"), trans_of("csrmm2", transB, "transB")
        m, n, k, nnz, ldb, ldc = self._call("csrmm2").sizes(m=m, n=n, k=k, nnz=nnz, ldb=ldb, ldc=ldc)
        rows, inner = (m, k) if transA == "N" else (k, m)
        shape = (inner, n) if transB == "N" else (n, inner)
        self._times_dense(
            "csrmm2", transA, transB, rows, n, inner, nnz, alpha, descrA, csrValA, csrRowPtrA, csrColIndA, B,
            ldb, beta, C, ldc, (m, k), shape,
        )  # fmt: skip

    # --- sums and products of sparse matrices ---

    @_routine("extra")
    def XcsrgeamNnz(
        self, m: int, n: int, descrA: MatDescr, nnzA: int, csrRowPtrA: Any, csrColIndA: Any, descrB: MatDescr,
        nnzB: int, csrRowPtrB: Any, csrColIndB: Any, descrC: MatDescr, csrRowPtrC: Any,
    ) -> int:  # fmt: skip
        """``csrRowPtrC`` becomes that of ``A + B``, whose number of entries is returned. Rows are in order."""
        call = self._call("XcsrgeamNnz")
        m, n, nnzA, nnzB = call.sizes(m=m, n=n, nnzA=nnzA, nnzB=nnzB)
        ptr_a, ind_a, ptr_b, ind_b, ptr = call.bind(
            ints("csrRowPtrA", csrRowPtrA, m + 1),
            ints("csrColIndA", csrColIndA, nnzA),
            ints("csrRowPtrB", csrRowPtrB, m + 1),
            ints("csrColIndB", csrColIndB, nnzB),
            ints("csrRowPtrC", csrRowPtrC, m + 1, written=True),
        )
        a, b = (
            Rows(ptr_a, ind_a, None, descrA.indexbase, m, n),
            Rows(ptr_b, ind_b, None, descrB.indexbase, m, n),
        )
        call.check(("csrRowPtrA", "csrColIndA"), a, twice=True)
        call.check(("csrRowPtrB", "csrColIndB"), b, twice=True)
        counts = call.new((m,), np.int32)
        call.run(arith.geam_count, m, ptr_a, ind_a, a.base, ptr_b, ind_b, b.base, counts)
        call.running(counts, descrC.indexbase, ptr)
        many = int(call.item(ptr[m:])) - descrC.indexbase
        call.done()
        return many

    @_routine("extra")
    def csrgeam(
        self, m: int, n: int, alpha: Any, descrA: MatDescr, nnzA: int, csrValA: Any, csrRowPtrA: Any,
        csrColIndA: Any, beta: Any, descrB: MatDescr, nnzB: int, csrValB: Any, csrRowPtrB: Any, csrColIndB: Any,
        descrC: MatDescr, csrValC: Any, csrRowPtrC: Any, csrColIndC: Any,
    ) -> None:  # fmt: skip
        """``C = alpha * A + beta * B``, of m by n; ``csrRowPtrC`` is what `XcsrgeamNnz` made. Rows are in order; what stands twice is added."""
        call = self._call("csrgeam")
        m, n, nnzA, nnzB = call.sizes(m=m, n=n, nnzA=nnzA, nnzB=nnzB)
        val_a, ptr_a, ind_a, val_b, ptr_b, ind_b, val, ptr, ind = call.bind(
            values("csrValA", csrValA, nnzA),
            ints("csrRowPtrA", csrRowPtrA, m + 1),
            ints("csrColIndA", csrColIndA, nnzA),
            values("csrValB", csrValB, nnzB),
            ints("csrRowPtrB", csrRowPtrB, m + 1),
            ints("csrColIndB", csrColIndB, nnzB),
            values("csrValC", csrValC, None, written=True),
            ints("csrRowPtrC", csrRowPtrC, m + 1),
            ints("csrColIndC", csrColIndC, None, written=True),
        )
        base_a, base_b = descrA.indexbase, descrB.indexbase
        call.check(("csrRowPtrA", "csrColIndA"), Rows(ptr_a, ind_a, None, base_a, m, n), twice=True)
        call.check(("csrRowPtrB", "csrColIndB"), Rows(ptr_b, ind_b, None, base_b, m, n), twice=True)
        most = min(val.size, ind.size)
        call.run(
            arith.geam, m, call.scalar(alpha), val_a, ptr_a, ind_a, base_a, call.scalar(beta), val_b, ptr_b, ind_b,
            base_b, val[:most], ptr, ind[:most], descrC.indexbase,
        )  # fmt: skip
        call.done()

    def _factors(
        self, call: Call, transA: str, transB: str, m: int, n: int, inner: int, descrA: MatDescr,
        descrB: MatDescr, a: tuple[Any, Any, Any], b: tuple[Any, Any, Any],
    ) -> tuple[Rows, Rows]:  # fmt: skip
        """Both as they are multiplied, each from (values, pointers, indices)."""
        made = []
        for letter, trans, descr, (val, ptr, ind), shape in (
            ("A", transA, descrA, a, (m, inner)),
            ("B", transB, descrB, b, (inner, n)),
        ):
            stored = shape if trans == "N" else shape[::-1]
            rows = Rows(ptr, ind, val, descr.indexbase, *stored)
            call.check((f"csrRowPtr{letter}", f"csrColInd{letter}"), rows)
            made.append(call.meant(trans, descr, rows))
        return made[0], made[1]

    @_routine("extra")
    def XcsrgemmNnz(
        self, transA: str, transB: str, m: int, n: int, k: int, descrA: MatDescr, nnzA: int, csrRowPtrA: Any,
        csrColIndA: Any, descrB: MatDescr, nnzB: int, csrRowPtrB: Any, csrColIndB: Any, descrC: MatDescr,
        csrRowPtrC: Any,
    ) -> int:  # fmt: skip
        """``csrRowPtrC`` becomes that of ``op(A) @ op(B)``, of m by k and k by n, whose number of entries is returned."""
        call = self._call("XcsrgemmNnz")
        transA, transB = (
            trans_of("XcsrgemmNnz", transA, "transA"),
            trans_of("XcsrgemmNnz", transB, "transB"),
        )
        m, n, k, nnzA, nnzB = call.sizes(m=m, n=n, k=k, nnzA=nnzA, nnzB=nnzB)
        ptr_a, ind_a, ptr_b, ind_b, ptr = call.bind(
            ints("csrRowPtrA", csrRowPtrA, (m if transA == "N" else k) + 1),
            ints("csrColIndA", csrColIndA, nnzA),
            ints("csrRowPtrB", csrRowPtrB, (k if transB == "N" else n) + 1),
            ints("csrColIndB", csrColIndB, nnzB),
            ints("csrRowPtrC", csrRowPtrC, m + 1, written=True),
        )
        a, b = self._factors(
            call, transA, transB, m, n, k, descrA, descrB, (None, ptr_a, ind_a), (None, ptr_b, ind_b)
        )
        many = self._count_product(call, a, b, descrC.indexbase, ptr)
        call.done()
        return many

    @staticmethod
    def _count_product(call: Call, a: Rows, b: Rows, base: int, ptr: Array) -> int:
        threads, size, keys = call.tables(a, b)
        counts = call.new((a.rows,), np.int32)
        call.run_few(
            arith.gemm_count, threads, a.rows, a.ptr, a.ind, a.base, b.ptr, b.ind, b.base, b.columns, size, keys, counts
        )  # fmt: skip
        call.running(counts, base, ptr)
        return int(call.item(ptr[a.rows :])) - base

    @_routine("extra")
    def csrgemm(
        self, transA: str, transB: str, m: int, n: int, k: int, descrA: MatDescr, nnzA: int, csrValA: Any,
        csrRowPtrA: Any, csrColIndA: Any, descrB: MatDescr, nnzB: int, csrValB: Any, csrRowPtrB: Any,
        csrColIndB: Any, descrC: MatDescr, csrValC: Any, csrRowPtrC: Any, csrColIndC: Any,
    ) -> None:  # fmt: skip
        """``C = op(A) @ op(B)``, of m by k and k by n; ``csrRowPtrC`` is what `XcsrgemmNnz` made. Rows of C are in order, each column once."""
        call = self._call("csrgemm")
        transA, transB = trans_of("csrgemm", transA, "transA"), trans_of("csrgemm", transB, "transB")
        m, n, k, nnzA, nnzB = call.sizes(m=m, n=n, k=k, nnzA=nnzA, nnzB=nnzB)
        val_a, ptr_a, ind_a, val_b, ptr_b, ind_b, val, ptr, ind = call.bind(
            values("csrValA", csrValA, nnzA),
            ints("csrRowPtrA", csrRowPtrA, (m if transA == "N" else k) + 1),
            ints("csrColIndA", csrColIndA, nnzA),
            values("csrValB", csrValB, nnzB),
            ints("csrRowPtrB", csrRowPtrB, (k if transB == "N" else n) + 1),
            ints("csrColIndB", csrColIndB, nnzB),
            values("csrValC", csrValC, None, written=True),
            ints("csrRowPtrC", csrRowPtrC, m + 1),
            ints("csrColIndC", csrColIndC, None, written=True),
        )
        a, b = self._factors(
            call, transA, transB, m, n, k, descrA, descrB, (val_a, ptr_a, ind_a), (val_b, ptr_b, ind_b)
        )
        self._product(call, a, b, val, ptr, ind, descrC.indexbase)
        call.done()

    @staticmethod
    def _product(call: Call, a: Rows, b: Rows, val: Array, ptr: Array, ind: Array, base: int) -> None:
        threads, size, keys = call.tables(a, b)
        spare = call.new((threads * (256 + size // 2),), np.int32)
        sums = call.new(keys.shape, call.dtype)
        most = min(val.size, ind.size)
        call.run_few(
            arith.gemm, threads, a.rows, a.val, a.ptr, a.ind, a.base, b.val, b.ptr, b.ind, b.base, b.columns, size,
            keys, spare, sums, val[:most], ptr, ind[:most], base,
        )  # fmt: skip

    def csrgemm_ez(
        self,
        matA: Any,
        matB: Any,
        transA: str = "N",
        transB: str = "N",
        descrA: MatDescr | None = None,
        descrB: MatDescr | None = None,
        descrC: MatDescr | None = None,
    ) -> CudaCSRMatrix:
        """``op(A) @ op(B)``, a new matrix on the device.

        Parameters
        ----------
        matA, matB : CudaCSRMatrix or scipy.sparse.csr_matrix
        transA, transB : str
        descrA, descrB, descrC : MatDescr, optional
            Without one indices count from 0, as those of matrices do.

        Raises
        ------
        ValueError
            The result is entirely zero, or the shapes do not fit.
        """
        plain = self.matdescr(indexbase=0)
        descrA, descrB, descrC = descrA or plain, descrB or plain, descrC or plain
        m, ka = matA.shape if transA == "N" else matA.shape[::-1]
        kb, n = matB.shape if transB == "N" else matB.shape[::-1]
        if ka != kb:
            raise ValueError(f"incompatible matrices: {m} by {ka}, times {kb} by {n}")
        ptr = cuda.device_array(m + 1, np.int32)
        nnz = self.XcsrgemmNnz(
            transA, transB, m, n, ka, descrA, matA.nnz, matA.indptr, matA.indices, descrB, matB.nnz, matB.indptr, matB.indices, descrC, ptr
        )  # fmt: skip
        if nnz == 0:
            raise ValueError("result is entirely zero")
        data, indices = cuda.device_array(nnz, matA.dtype), cuda.device_array(nnz, np.int32)
        self.csrgemm(
            transA, transB, m, n, ka, descrA, matA.nnz, matA.data, matA.indptr, matA.indices, descrB, matB.nnz, matB.data, matB.indptr,
            matB.indices, descrC, data, ptr, indices,
        )  # fmt: skip
        made = CudaCSRMatrix()
        made.from_attributes(matA.dtype, (m, n), nnz, data, indices, ptr)
        return made

    # --- preconditioners ---

    def _factor(
        self,
        routine: str,
        whole: bool,
        op: str,
        m: int,
        descr: MatDescr,
        val: Any,
        ptr: Any,
        ind: Any,
        info: Any,
    ) -> None:
        call = self._call(routine)
        (m,) = call.sizes(m=m)
        if not isinstance(info, SolveAnalysisInfo):
            raise TypeError(
                f"{routine}: info is what csrsv_analysis gives, or solve_analysis_info, not {info!r}"
            )
        v, p, i = call.bind(
            values("csrValM", val, None, written=True),
            ints("csrRowPtrA", ptr, m + 1),
            ints("csrColIndA", ind, None),
        )
        if (
            info._rows is None
            or (info._trans, info._lower, info._rows.rows) != (op, True, m)
            or info._rows.ind.size > v.size
        ):
            i = call.of_matrix(p, i[: v.size], descr.indexbase)
            rows = Rows(p, i, None, descr.indexbase, m, m)
            call.check(("csrRowPtrA", "csrColIndA"), rows)
            info = analyse(call, op, True, rows)
        rows = info._rows
        assert rows is not None, "an analysis has rows"
        call.run(forms.ordered(routine, "csrColIndA", False), m, rows.ptr, rows.ind, 0)
        call.told()
        w = v
        if info._places is not None:
            w = call.new(rows.ind.shape, call.dtype)
            call.run(forms.take_values, w.size, v, info._places, op == "C", w)
        by_levels(call, info, *arith.factor(whole), 1, (rows.ptr, rows.ind, w))
        if info._places is not None:
            call.run(forms.give_values, w.size, w, info._places, op == "C", v)
        call.done()

    @_routine("preconditioners")
    def csric0(
        self, trans: str, m: int, descr: MatDescr, csrValM: Any, csrRowPtrA: Any, csrColIndA: Any,
        info: SolveAnalysisInfo,
    ) -> None:  # fmt: skip
        """``csrValM`` becomes, in the triangle of ``fillmode``, a Cholesky factor of A with its pattern: ``L @ L^H``, or ``U^H @ U``. Rows are in order, each column once; ``trans`` is ``"N"``."""
        if trans != "N":
            raise ValueError(f"csric0: trans is 'N', not {trans!r}: the matrix is its own transpose")
        op = "N" if descr.fillmode == "L" else "C"
        self._factor("csric0", False, op, m, descr, csrValM, csrRowPtrA, csrColIndA, info)

    @_routine("preconditioners")
    def csrilu0(
        self, trans: str, m: int, descr: MatDescr, csrValM: Any, csrRowPtrA: Any, csrColIndA: Any,
        info: SolveAnalysisInfo,
    ) -> None:  # fmt: skip
        """``csrValM`` becomes the factors ``L @ U`` of op(A) with its pattern, L with a diagonal of 1, which is not stored. Rows are in order, each column once."""
        op = trans_of("csrilu0", trans)
        self._factor("csrilu0", True, op, m, descr, csrValM, csrRowPtrA, csrColIndA, info)

    def _diagonals(self, call: Call, m: int, dl: Any, d: Any, du: Any, b: Arg) -> list[Array]:
        return call.bind(vector("dl", dl, m), vector("d", d, m), vector("du", du, m), b)

    @_routine("preconditioners")
    def gtsv(self, m: int, n: int, dl: Any, d: Any, du: Any, B: Any, ldb: int) -> None:
        """``B`` becomes the solution of a system of three diagonals with n columns, with pivots; ``dl[i]``, ``d[i]`` and ``du[i]`` are of row i. One thread finds the factors."""
        call = self._call("gtsv")
        m, n, ldb = call.sizes(m=m, n=n, ldb=ldb)
        *given, b = self._diagonals(call, m, dl, d, du, dense("B", B, m, n, ldb, written=True))
        if m and n:
            left, middle, right = map(call.copy, given)
            second, swapped = call.new((m,), call.dtype), call.new((m,), np.int32)
            call.run(arith.tridiagonal, 1, m, left, middle, right, second, swapped)
            call.run(arith.tridiagonal_solve, n, m, left, middle, right, second, swapped, b, ldb)
        call.done()

    @_routine("preconditioners")
    def gtsv_nopivot(self, m: int, n: int, dl: Any, d: Any, du: Any, B: Any, ldb: int) -> None:
        """As `gtsv`, without pivots: each column by a thread."""
        call = self._call("gtsv_nopivot")
        m, n, ldb = call.sizes(m=m, n=n, ldb=ldb)
        left, middle, right, b = self._diagonals(call, m, dl, d, du, dense("B", B, m, n, ldb, written=True))
        if m and n:
            call.run(arith.thomas, n, m, left, middle, right, 0, call.new((n * m,), call.dtype), b, ldb)
        call.done()

    @_routine("preconditioners")
    def gtsvStridedBatch(
        self, m: int, dl: Any, d: Any, du: Any, x: Any, batchCount: int, batchStride: int
    ) -> None:
        """As `gtsv_nopivot`, of many systems, each with diagonals of its own: all four arrays have those of system k from ``k * batchStride`` on."""
        call = self._call("gtsvStridedBatch")
        m, many, step = call.sizes(m=m, batchCount=batchCount, batchStride=batchStride)
        if many > 1 and step < m:
            raise ValueError(f"gtsvStridedBatch: batchStride is {step}, and a system has {m} rows")
        size = (many - 1) * step + m if many and m else 0
        left, middle, right, b = call.bind(
            values("dl", dl, size), values("d", d, size), values("du", du, size),
            values("x", x, size, written=True),
        )  # fmt: skip
        if size:
            call.run(
                arith.thomas, many, m, left, middle, right, step, call.new((many * m,), call.dtype), b, step
            )
        call.done()

    # --- other forms ---

    @_routine("conversions")
    def bsr2csr(
        self, dirA: str, mb: int, nb: int, descrA: MatDescr, bsrValA: Any, bsrRowPtrA: Any, bsrColIndA: Any,
        blockDim: int, descrC: MatDescr, csrValC: Any, csrRowPtrC: Any, csrColIndC: Any,
    ) -> None:  # fmt: skip
        """A matrix of blocks as rows of entries, all items of its blocks."""
        call = self._call("bsr2csr")
        by_rows = is_by_rows("bsr2csr", dirA)
        mb, nb, size = call.sizes(mb=mb, nb=nb, blockDim=blockDim)
        val, ptr, ind, val_c, ptr_c, ind_c = call.bind(
            values("bsrValA", bsrValA, None),
            ints("bsrRowPtrA", bsrRowPtrA, mb + 1),
            ints("bsrColIndA", bsrColIndA, None),
            values("csrValC", csrValC, None, written=True),
            ints("csrRowPtrC", csrRowPtrC, mb * size + 1, written=True),
            ints("csrColIndC", csrColIndC, None, written=True),
        )
        ind = ind[: val.size // (size * size)] if size else ind[:0]
        base, most = descrA.indexbase, min(val_c.size, ind_c.size)
        ind = call.of_matrix(ptr, ind, base)
        call.check(("bsrRowPtrA", "bsrColIndA"), Rows(ptr, ind, None, base, mb, nb))
        if mb * size == 0:
            call.run(forms.fill, 1, ptr_c, np.int32(descrC.indexbase))
        call.run(
            forms.bsr_to_csr, mb * size, ptr, ind, val, base, size, by_rows, ptr_c, ind_c[:most], val_c[:most],
            descrC.indexbase,
        )  # fmt: skip
        call.done()

    def _block_order(self, call: Call, a: Rows, size: int) -> tuple[Array, Array, Array, Array]:
        """Entries by block row, and in it by block column: where each block row begins, the entries, the row of each one, and its block column."""
        rows = call.rows_of(a)
        row, col = call.new(rows.shape, np.int32), call.new(rows.shape, np.int32)
        call.run(forms.block_keys, rows.size, rows, a.ind, a.base, size, row, col)
        _, first = call.entries_by(col, -(-a.columns // size))
        ptr, second = call.entries_by(call.taken(row, first), -(-a.rows // size))
        return ptr, call.taken(first, second), rows, col

    def _entries(
        self, call: Call, names: tuple[str, str], m: int, n: int, ptr: Array, ind: Array, base: int
    ) -> Rows:
        a = Rows(ptr, ind, None, base, m, n)
        call.check(names, a)
        return a

    @_routine("conversions")
    def Xcsr2bsrNnz(
        self, dirA: str, m: int, n: int, descrA: MatDescr, csrRowPtrA: Any, csrColIndA: Any, blockDim: int,
        descrC: MatDescr, bsrRowPtrC: Any,
    ) -> int:  # fmt: skip
        """``bsrRowPtrC`` becomes that of the matrix as blocks, whose number is returned."""
        call = self._call("Xcsr2bsrNnz")
        is_by_rows("Xcsr2bsrNnz", dirA)
        m, n, size = call.sizes(m=m, n=n, blockDim=blockDim)
        _positive("Xcsr2bsrNnz", size)
        mb = -(-m // size)
        ptr, ind, ptr_c = call.bind(
            ints("csrRowPtrA", csrRowPtrA, m + 1),
            ints("csrColIndA", csrColIndA, None),
            ints("bsrRowPtrC", bsrRowPtrC, mb + 1, written=True),
        )
        ind = call.of_matrix(ptr, ind, descrA.indexbase)
        a = self._entries(call, ("csrRowPtrA", "csrColIndA"), m, n, ptr, ind, descrA.indexbase)
        begins, places, _, col = self._block_order(call, a, size)
        counts = call.new((mb,), np.int32)
        call.run(forms.block_count, mb, begins, places, col, counts)
        call.running(counts, descrC.indexbase, ptr_c)
        many = int(call.item(ptr_c[mb:])) - descrC.indexbase
        call.done()
        return many

    @_routine("conversions")
    def csr2bsr(
        self, dirA: str, m: int, n: int, descrA: MatDescr, csrValA: Any, csrRowPtrA: Any, csrColIndA: Any,
        blockDim: int, descrC: MatDescr, bsrValC: Any, bsrRowPtrC: Any, bsrColIndC: Any,
    ) -> None:  # fmt: skip
        """Rows of entries as blocks; ``bsrRowPtrC`` is what `Xcsr2bsrNnz` made. What stands twice is added."""
        call = self._call("csr2bsr")
        by_rows = is_by_rows("csr2bsr", dirA)
        m, n, size = call.sizes(m=m, n=n, blockDim=blockDim)
        _positive("csr2bsr", size)
        mb = -(-m // size)
        val, ptr, ind, val_c, ptr_c, ind_c = call.bind(
            values("csrValA", csrValA, None),
            ints("csrRowPtrA", csrRowPtrA, m + 1),
            ints("csrColIndA", csrColIndA, None),
            values("bsrValC", bsrValC, None, written=True),
            ints("bsrRowPtrC", bsrRowPtrC, mb + 1),
            ints("bsrColIndC", bsrColIndC, None, written=True),
        )
        ind = call.of_matrix(ptr, ind[: val.size], descrA.indexbase)
        a = self._entries(call, ("csrRowPtrA", "csrColIndA"), m, n, ptr, ind, descrA.indexbase)
        begins, places, rows, col = self._block_order(call, a, size)
        many = min(ind_c.size, val_c.size // (size * size))
        if mb:
            many = min(many, max(0, int(call.item(ptr_c[mb:])) - descrC.indexbase))
        call.run(forms.fill, many * size * size, val_c, call.scalar(0))
        call.run(
            forms.csr2bsr, mb, begins, places, rows, col, ind, val, a.base, size, by_rows, ptr_c, ind_c[:many], val_c,
            descrC.indexbase,
        )  # fmt: skip
        call.done()

    @_routine("conversions")
    def Xcoo2csr(self, cooRowInd: Any, nnz: int, m: int, csrRowPtr: Any) -> None:
        """``csrRowPtr`` becomes where each row begins in ``cooRowInd``, which is in order."""
        call = self._call("Xcoo2csr")
        nnz, m = call.sizes(nnz=nnz, m=m)
        rows, ptr = call.bind(
            ints("cooRowInd", cooRowInd, nnz), ints("csrRowPtr", csrRowPtr, m + 1, written=True)
        )
        call.run(forms.indices("Xcoo2csr", "cooRowInd"), -(-nnz // CHUNK), rows, m, self.idxbase)
        call.run(forms.rising("Xcoo2csr", "cooRowInd"), nnz, rows)
        call.told()
        call.run(forms.begins_of, m + 1, rows, ptr, self.idxbase, self.idxbase)
        call.done()

    @_routine("conversions")
    def Xcsr2coo(self, csrRowPtr: Any, nnz: int, m: int, cooRowInd: Any) -> None:
        """``cooRowInd`` becomes the row of each entry."""
        call = self._call("Xcsr2coo")
        nnz, m = call.sizes(nnz=nnz, m=m)
        ptr, rows = call.bind(
            ints("csrRowPtr", csrRowPtr, m + 1), ints("cooRowInd", cooRowInd, nnz, written=True)
        )
        call.run(forms.pointers("Xcsr2coo", "csrRowPtr"), m, ptr, nnz, self.idxbase)
        call.told()
        if m:
            call.run(forms.rows_of, -(-nnz // CHUNK), ptr, m, nnz, self.idxbase, rows, self.idxbase)
        call.done()

    @_routine("conversions")
    def csr2csc(
        self, m: int, n: int, nnz: int, csrVal: Any, csrRowPtr: Any, csrColInd: Any, cscVal: Any, cscRowInd: Any,
        cscColPtr: Any, copyValues: Any,
    ) -> None:  # fmt: skip
        """Rows as columns, in order; values only where ``copyValues`` is true, or ``"N"`` for numeric."""
        call = self._call("csr2csc")
        m, n, nnz = call.sizes(m=m, n=n, nnz=nnz)
        val, ptr, ind, val_c, ind_c, ptr_c = call.bind(
            values("csrVal", csrVal, nnz),
            ints("csrRowPtr", csrRowPtr, m + 1),
            ints("csrColInd", csrColInd, nnz),
            values("cscVal", cscVal, nnz, written=True),
            ints("cscRowInd", cscRowInd, nnz, written=True),
            ints("cscColPtr", cscColPtr, n + 1, written=True),
        )
        a = self._entries(call, ("csrRowPtr", "csrColInd"), m, n, ptr, ind, self.idxbase)
        made, places = call.transposed(a)
        call.run(forms.shift, n + 1, made.ptr, -self.idxbase, ptr_c)
        call.run(forms.shift, nnz, made.ind, -self.idxbase, ind_c)
        if copyValues and copyValues != "S":
            call.run(forms.take_values, nnz, val, places, False, val_c)
        call.done()

    def _to_dense(
        self, routine: str, names: tuple[str, str, str], m: int, n: int, descrA: MatDescr, val: Any, ind: Any,
        ptr: Any, A: Any, lda: int, by_rows: bool,
    ) -> None:  # fmt: skip
        call = self._call(routine)
        m, n, lda = call.sizes(m=m, n=n, lda=lda)
        lines, across = (m, n) if by_rows else (n, m)
        v, p, i, a = call.bind(
            values(names[0], val, None),
            ints(names[1], ptr, lines + 1),
            ints(names[2], ind, None),
            dense("A", A, m, n, lda, written=True),
        )
        i = call.of_matrix(p, i[: v.size], descrA.indexbase)
        rows = self._entries(call, names[1:], lines, across, p, i, descrA.indexbase)
        call.run(forms.clear, m * n, a, m, lda)
        steps = (1, lda) if by_rows else (lda, 1)
        call.run(forms.to_dense, lines, p, i, v, rows.base, a, *steps)
        call.done()

    @_routine("conversions")
    def csr2dense(
        self,
        m: int,
        n: int,
        descrA: MatDescr,
        csrValA: Any,
        csrRowPtrA: Any,
        csrColIndA: Any,
        A: Any,
        lda: int,
    ) -> None:
        """Rows of entries as a dense matrix; what stands twice is added."""
        names = ("csrValA", "csrRowPtrA", "csrColIndA")
        self._to_dense("csr2dense", names, m, n, descrA, csrValA, csrColIndA, csrRowPtrA, A, lda, True)

    @_routine("conversions")
    def csc2dense(
        self,
        m: int,
        n: int,
        descrA: MatDescr,
        cscValA: Any,
        cscRowIndA: Any,
        cscColPtrA: Any,
        A: Any,
        lda: int,
    ) -> None:
        """Columns of entries as a dense matrix; what stands twice is added."""
        names = ("cscValA", "cscColPtrA", "cscRowIndA")
        self._to_dense("csc2dense", names, m, n, descrA, cscValA, cscRowIndA, cscColPtrA, A, lda, False)

    def _from_dense(
        self, routine: str, names: tuple[str, str, str, str], m: int, n: int, descrA: MatDescr, A: Any, lda: int,
        counts: Any, val: Any, ind: Any, ptr: Any, by_rows: bool,
    ) -> None:  # fmt: skip
        call = self._call(routine)
        m, n, lda = call.sizes(m=m, n=n, lda=lda)
        lines, across = (m, n) if by_rows else (n, m)
        a, c, v, i, p = call.bind(
            dense("A", A, m, n, lda),
            ints(names[0], counts, lines),
            values(names[1], val, None, written=True),
            ints(names[2], ind, None, written=True),
            ints(names[3], ptr, lines + 1, written=True),
        )
        call.running(c, descrA.indexbase, p)
        most, steps = min(v.size, i.size), (1, lda) if by_rows else (lda, 1)
        call.run(
            forms.from_dense(routine, names[0]),
            lines,
            a,
            *steps,
            across,
            p,
            descrA.indexbase,
            v[:most],
            i[:most],
        )
        call.done()

    @_routine("conversions")
    def dense2csr(
        self, m: int, n: int, descrA: MatDescr, A: Any, lda: int, nnzPerRow: Any, csrValA: Any, csrRowPtrA: Any,
        csrColIndA: Any,
    ) -> None:  # fmt: skip
        """What is not zero of a dense matrix as rows of entries; ``nnzPerRow`` is what `nnz` made with ``"R"``."""
        names = ("nnzPerRow", "csrValA", "csrColIndA", "csrRowPtrA")
        self._from_dense(
            "dense2csr", names, m, n, descrA, A, lda, nnzPerRow, csrValA, csrColIndA, csrRowPtrA, True
        )

    @_routine("conversions")
    def dense2csc(
        self, m: int, n: int, descrA: MatDescr, A: Any, lda: int, nnzPerCol: Any, cscValA: Any, cscRowIndA: Any,
        cscColPtrA: Any,
    ) -> None:  # fmt: skip
        """What is not zero of a dense matrix as columns of entries; ``nnzPerCol`` is what `nnz` made with ``"C"``."""
        names = ("nnzPerCol", "cscValA", "cscRowIndA", "cscColPtrA")
        self._from_dense(
            "dense2csc", names, m, n, descrA, A, lda, nnzPerCol, cscValA, cscRowIndA, cscColPtrA, False
        )

    @_routine("conversions")
    def nnz(self, dirA: str, m: int, n: int, descrA: MatDescr, A: Any, lda: int, nnzPerRowCol: Any) -> int:
        """``nnzPerRowCol`` becomes how many items of each row (``"R"``) or column of a dense matrix are not zero; returns how many of all."""
        call = self._call("nnz")
        by_rows = is_by_rows("nnz", dirA)
        m, n, lda = call.sizes(m=m, n=n, lda=lda)
        lines, across = (m, n) if by_rows else (n, m)
        a, counts = call.bind(
            dense("A", A, m, n, lda), ints("nnzPerRowCol", nnzPerRowCol, lines, written=True)
        )
        steps = (1, lda) if by_rows else (lda, 1)
        call.run(forms.dense_count, lines, a, *steps, across, counts)
        many = int(call.item(call.running(counts, 0)[lines:]))
        call.done()
        return many


def _positive(routine: str, size: int) -> None:
    if size < 1:
        raise ValueError(f"{routine}: blockDim is {size}, and it is at least 1")


# --- matrices ---


def _scipy() -> Any:
    try:
        import scipy.sparse
    except ImportError:
        raise ImportError(
            "SciPy is not here, whose sparse matrices are asked for: pip install scipy; toarray(), and arrays of data, indices and indptr need none"
        ) from None
    return scipy.sparse


class CudaSparseMatrix:
    """A sparse matrix on the device, of which arrays say what it has, as SciPy names them.

    Attributes
    ----------
    data, indices, indptr : DeviceNDArray
        Values, of any dtype, and indices, of int32, from 0 on.
    shape : tuple of int
    ndim : int
        2.
    dtype : dtype
    nnz : int
    """

    _format = "csr"
    dtype: Any
    shape: tuple[int, int]
    ndim: int
    nnz: int
    data: DeviceNDArray
    indices: DeviceNDArray
    indptr: DeviceNDArray

    def from_host_matrix(self, matrix: Any, stream: StreamLike = 0) -> Any:
        """Copy a matrix of SciPy's, of the same format; returns this one.

        Raises
        ------
        OverflowError
            It has more entries, rows or columns than int32 counts.
        """
        ready()
        if max(matrix.data.size, *matrix.shape) > MOST:
            raise OverflowError(
                f"a matrix of {matrix.shape} with {matrix.data.size} items is more than int32 counts"
            )
        data = cuda.to_device(np.ascontiguousarray(matrix.data), stream=stream)
        indices = cuda.to_device(np.ascontiguousarray(matrix.indices, np.int32), stream=stream)
        indptr = cuda.to_device(np.ascontiguousarray(matrix.indptr, np.int32), stream=stream)
        return self.from_attributes(matrix.dtype, matrix.shape, matrix.nnz, data, indices, indptr)

    def from_attributes(
        self, dtype: Any, shape: tuple[int, int], nnz: int, data: Any, indices: Any, indptr: Any
    ) -> Any:
        """Take arrays of the device as they are; returns this matrix."""
        self.dtype, self.shape = np.dtype(dtype), (int(shape[0]), int(shape[1]))
        self.ndim, self.nnz = 2, int(nnz)
        self.data, self.indices, self.indptr = data, indices, indptr
        return self

    def copy_to_host(self, stream: StreamLike = 0) -> Any:
        """The matrix as SciPy's.

        Raises
        ------
        ImportError
            SciPy is not here.
        """
        make = getattr(_scipy(), f"{self._format}_matrix")
        arrays = [a.copy_to_host(stream=stream) for a in (self.data, self.indices, self.indptr)]
        if stream:
            stream.synchronize()  # type: ignore[union-attr]
        return make(tuple(arrays), shape=self.shape)

    def toarray(self) -> np.ndarray[Any, Any]:
        """The matrix as an array of the host, in Fortran's order; of float32, float64, complex64 or complex128 alone."""
        m, n = self.shape
        made = np.zeros((m, n), self.dtype, order="F")
        sparse = Sparse()
        if self._format == "csc":
            sparse.csc2dense(m, n, sparse.matdescr(), self.data, self.indices, self.indptr, made, max(m, 1))
        else:
            sparse.csr2dense(m, n, sparse.matdescr(), self.data, self.indptr, self.indices, made, max(m, 1))
        return made

    def __repr__(self) -> str:
        if not hasattr(self, "shape"):
            return f"<{type(self).__name__} of nothing yet>"
        return f"<{type(self).__name__} of {self.shape[0]} by {self.shape[1]}, {self.nnz} entries of {self.dtype}>"


class CudaCSRMatrix(CudaSparseMatrix):
    """Rows of entries: ``indptr`` says where in ``data`` and ``indices`` each row begins, ``indices`` has columns. Made by `csr_matrix`."""


class CudaCSCMatrix(CudaSparseMatrix):
    """Columns of entries: ``indptr`` says where each column begins, ``indices`` has rows. Made by `csc_matrix`."""

    _format = "csc"


class CudaBSRMatrix(CudaSparseMatrix):
    """Rows of blocks, ``data`` of (blocks, rows of one, columns of one). Made by `bsr_matrix`.

    Attributes
    ----------
    blocksize : tuple of int
        Rows and columns of a block.
    """

    _format = "bsr"

    @property
    def blocksize(self) -> tuple[int, int]:
        """Rows and columns of a block."""
        return self.data.shape[1], self.data.shape[2]

    def toarray(self) -> np.ndarray[Any, Any]:
        """The matrix as an array of the host, in Fortran's order; its blocks are square.

        Raises
        ------
        ValueError
            They are not.
        """
        (m, n), (size, other) = self.shape, self.blocksize
        if size != other:
            raise ValueError(f"blocks of {size} by {other} items are not square")
        sparse, entries = Sparse(), self.data.size
        descr = sparse.matdescr()
        val, ind = cuda.device_array(entries, self.dtype), cuda.device_array(entries, np.int32)
        ptr = cuda.device_array(m + 1, np.int32)
        sparse.bsr2csr(
            "R", m // size, n // size, descr, self.data, self.indptr, self.indices, size, descr, val, ptr, ind
        )
        rows = CudaCSRMatrix()
        rows.from_attributes(self.dtype, self.shape, entries, val, ind, ptr)
        return rows.toarray()


def _dense_of(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """A dense array of the dtypes that routines have, where that is all that is asked for."""
    if len(args) != 1 or kws or not isinstance(args[0], (np.ndarray, DeviceNDArray)):
        return None
    return args[0] if args[0].ndim == 2 and args[0].dtype in VALUES else None


def _of_dense(made: Any, a: Any, by_rows: bool) -> Any:
    ready()
    sparse, (m, n) = Sparse(), a.shape
    descr, ld = sparse.matdescr(), max(m, 1)
    there = allocate((m, n), a.dtype, order="F")
    move(there, a._argument if isinstance(a, _Access) else a)
    counts = cuda.device_array(m if by_rows else n, np.int32)
    many = sparse.nnz("R" if by_rows else "C", m, n, descr, DeviceNDArray(there), ld, counts)
    data, indices = cuda.device_array(many, a.dtype), cuda.device_array(many, np.int32)
    indptr = cuda.device_array((m if by_rows else n) + 1, np.int32)
    if by_rows:
        sparse.dense2csr(m, n, descr, DeviceNDArray(there), ld, counts, data, indptr, indices)
    else:
        sparse.dense2csc(m, n, descr, DeviceNDArray(there), ld, counts, data, indices, indptr)
    return made.from_attributes(a.dtype, (m, n), many, data, indices, indptr)


def _of_int32(a: Any, word: str) -> Any:
    """Indices on the device."""
    if not isinstance(a, DeviceNDArray):
        a = np.ascontiguousarray(a)
    if a.ndim != 1 or (a.dtype.kind not in "iu" and a.size):
        raise TypeError(f"{word} is of integers, with one axis, and not of {a.dtype} with {a.ndim}")
    if a.dtype != np.int32:
        a = a.copy_to_host() if isinstance(a, DeviceNDArray) else a
        if a.size and not -MOST <= a.min() <= a.max() <= MOST:
            raise OverflowError(f"{word} has numbers that int32 does not hold")
        a = a.astype(np.int32)
    return a if isinstance(a, DeviceNDArray) else cuda.to_device(a)


def _of_arrays(made: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """Of (data, indices, indptr) with a shape, without SciPy; None: it is something else."""
    shape = kws.get("shape", args[1] if len(args) == 2 else None)
    given = args[0] if args else None
    if (
        not isinstance(given, tuple)
        or len(given) != 3
        or shape is None
        or {*kws} - {"shape"}
        or len(args) > 2
    ):
        return None
    m, n = shape = tuple(map(operator.index, shape))
    if min(shape) < 0:
        raise ValueError(f"shape is {shape}: sizes are at least 0")
    if max(shape) > MOST:
        raise OverflowError(f"shape is {shape}, more than int32 counts")
    data = given[0] if isinstance(given[0], DeviceNDArray) else cuda.to_device(np.ascontiguousarray(given[0]))
    indices, indptr = (_of_int32(a, word) for a, word in zip(given[1:], ("indices", "indptr"), strict=True))
    blocks = made._format == "bsr"
    if data.ndim != (3 if blocks else 1) or len(data) != indices.size:
        raise ValueError(f"data of shape {data.shape} and {indices.size} indices do not go together")
    lines = n if made._format == "csc" else -(-m // max(data.shape[1], 1)) if blocks else m
    if indptr.size != lines + 1:
        raise ValueError(f"indptr has {indptr.size} items, and with shape {shape} it has {lines + 1}")
    return made.from_attributes(data.dtype, shape, data.size, data, indices, indptr)


def csr_matrix(*args: Any, **kws: Any) -> CudaCSRMatrix:
    """A matrix of rows on the device, of what ``scipy.sparse.csr_matrix`` takes.

    A dense array of the device or the host of a routine's dtype, and ``(data, indices, indptr)`` with a shape need no SciPy.

    Raises
    ------
    ImportError
        SciPy is asked for, and is not here.
    OverflowError
        int32 does not hold an index, or a size.
    TypeError, ValueError
        Arrays do not go together, or not with the shape.
    """
    made = CudaCSRMatrix()
    dense = _dense_of(args, kws)
    if dense is not None:
        return _of_dense(made, dense, True)  # type: ignore[no-any-return]
    return _of_arrays(made, args, kws) or made.from_host_matrix(_scipy().csr_matrix(*args, **kws))  # type: ignore[no-any-return]


def csc_matrix(*args: Any, **kws: Any) -> CudaCSCMatrix:
    """A matrix of columns on the device, of what ``scipy.sparse.csc_matrix`` takes; otherwise as `csr_matrix`."""
    made = CudaCSCMatrix()
    dense = _dense_of(args, kws)
    if dense is not None:
        return _of_dense(made, dense, False)  # type: ignore[no-any-return]
    return _of_arrays(made, args, kws) or made.from_host_matrix(_scipy().csc_matrix(*args, **kws))  # type: ignore[no-any-return]


def bsr_matrix(*args: Any, **kws: Any) -> CudaBSRMatrix:
    """A matrix of blocks on the device, of what ``scipy.sparse.bsr_matrix`` takes; ``(data, indices, indptr)`` with a shape need no SciPy.

    Raises
    ------
    ImportError
        SciPy is asked for, and is not here.
    """
    made = CudaBSRMatrix()
    return _of_arrays(made, args, kws) or made.from_host_matrix(_scipy().bsr_matrix(*args, **kws))  # type: ignore[no-any-return]
