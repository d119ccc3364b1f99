"""What all routines of `treadle.cuda.sparse` have in common: their operands where the device has them, descriptions of matrices, and the steps that several routines are made of.

A routine makes a `Call`, binds its operands, runs kernels of `_sparse_forms` and `_sparse_math`, and says that it is done. All that changes the order of entries goes by
`Call.entries_by`, a counting sort that is stable, so results do not depend on how threads took turns.
"""

from __future__ import annotations

import numbers
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _sparse_forms as forms
from . import _sparse_math as arith
from ._array import allocate, goes_on, move, on_device
from ._devices import is_emulated, ready
from ._extent import Array
from ._interop import memory
from ._sparse_forms import CHUNK, MOST, THREADS
from ._sparse_math import PIECE
from ._stream import check_stream, synchronize

if TYPE_CHECKING:
    from ._kernel import Kernel

__all__ = [
    "VALUES",
    "Arg",
    "Call",
    "MatDescr",
    "Rows",
    "SolveAnalysisInfo",
    "analyse",
    "base_of",
    "by_levels",
    "dense",
    "ints",
    "is_by_rows",
    "trans_of",
    "values",
    "vector",
]

VALUES = tuple(map(np.dtype, ("f4", "f8", "c8", "c16")))
_INT32 = np.dtype(np.int32)
_NARROW = THREADS  # rows of a level that one block does together with the next levels
# Places of all tables for products of sparse matrices: as many as a cache holds, and as many as a GPU's threads need.
_PLACES = 1 << 18, 1 << 26
_FEW = 16  # threads of the host that have tables
_PARTS, _PART = 8, 4096  # of a transposed product on the host, and entries of one at least


class Arg(NamedTuple):
    """An operand: what a message calls it, and how many items of it count (None: all that are there)."""

    name: str
    given: Any
    n: int | None
    index: bool = False
    written: bool = False
    vector: bool = False
    order: str = "C"


def ints(name: str, given: Any, n: int | None, written: bool = False) -> Arg:
    return Arg(name, given, n, index=True, written=written)


def values(name: str, given: Any, n: int | None, written: bool = False) -> Arg:
    return Arg(name, given, n, written=written)


def vector(name: str, given: Any, n: int | None, written: bool = False) -> Arg:
    return Arg(name, given, n, written=written, vector=True)


def dense(name: str, given: Any, rows: int, columns: int, ld: int, written: bool = False) -> Arg:
    """A dense matrix, column behind column, ``ld`` items apart."""
    if ld < max(1, rows):
        raise ValueError(
            f"the columns of {name} are {ld} items apart, and have {rows}: they are at least that far apart"
        )
    n = (columns - 1) * ld + rows if rows and columns else 0
    return Arg(name, given, n, written=written, order="F")


class Rows(NamedTuple):
    """A matrix on the device, its rows as CSR has them."""

    ptr: Array
    ind: Array
    val: Any
    base: int
    rows: int
    columns: int


def _readonly(mem: Array) -> Array:
    mem = mem.view()
    mem.flags.writeable = False
    return mem


def _meet(a: Array, b: Array) -> bool:
    """Whether an item of both is the same; where that takes long to find out, whether they are of one stretch of memory."""
    try:
        return np.shares_memory(a, b, max_work=1000)
    except RuntimeError:
        return True


class Call:
    """A call of a routine: its operands where the device has them, and its kernels, one after the other on a stream."""

    def __init__(self, routine: str, stream: Any) -> None:
        ready()
        check_stream(stream)
        self.routine, self.stream = routine, stream
        self.dtype: Any = None
        self.back: list[tuple[Array, Array]] = []
        self.used: list[Array] = []

    def sizes(self, **given: Any) -> list[int]:
        """Numbers of things.

        Raises
        ------
        TypeError, ValueError
            One is no integer, or negative.
        """
        sizes = []
        for name, n in given.items():
            try:
                size = operator.index(n)
            except TypeError:
                raise TypeError(f"{self.routine}: {name} is a number of things, not {n!r}") from None
            if size < 0:
                raise ValueError(f"{self.routine}: {name} is {size}, and it is at least 0")
            sizes.append(size)
        return sizes

    def scalar(self, value: Any) -> Any:
        """A factor, as an item of the routine's dtype."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not isinstance(value, (numbers.Number, np.bool_)):
            raise TypeError(f"{self.routine}: a factor is a number, not {type(value).__name__}")
        if isinstance(value, (complex, np.complexfloating)) and self.dtype.kind != "c":
            raise TypeError(f"{self.routine}: {value!r} is complex, and the arrays are of {self.dtype}")
        return self.dtype.type(value)

    def bind(self, *args: Arg) -> list[Array]:
        """Each operand's memory: one axis, without gaps, on the device; what is only read is apart from what is written.

        Raises
        ------
        TypeError
            No array, or another dtype than it must have.
        ValueError
            Too few items; what is written is read-only, or shares memory with what is written, too.
        """
        found = [self._memory(a) for a in args]
        for a, mem in zip(args, found):
            if a.index and mem.dtype != _INT32:
                raise TypeError(f"{self.routine}: {a.name} is of int32, not {mem.dtype}")
            if not a.index and self.dtype is None:
                if mem.dtype not in VALUES:
                    known = ", ".join(map(str, VALUES))
                    raise TypeError(f"{self.routine}: {a.name} is of {known}, not of {mem.dtype}")
                self.dtype = mem.dtype
            elif not a.index and mem.dtype != self.dtype:
                raise TypeError(f"{self.routine}: {a.name} is of {mem.dtype}, and others of {self.dtype}")
            if a.n is not None and mem.size < a.n:
                raise ValueError(f"{self.routine}: {a.name} has {mem.size} items, and {a.n} are needed")
            if a.written and not mem.flags.writeable:
                raise ValueError(f"{self.routine}: {a.name} is to be written, and is read-only")
        placed = [self._placed(a, mem) for a, mem in zip(args, found)]
        written = [p for a, p in zip(args, placed) if a.written]
        if len(written) > 1:
            given = [m[: a.n] if m.ndim == 1 else m for a, m in zip(args, found) if a.written]
            if any(_meet(p, q) for i, p in enumerate(given) for q in given[:i]):
                raise ValueError(f"{self.routine}: two arrays that are to be written share memory")
        for i, (a, p) in enumerate(zip(args, placed)):
            if not a.written:
                meets = False
                for w in written:
                    meets = meets or np.may_share_memory(p, w)
                placed[i] = _readonly(self.copy(p) if meets else p)
        return placed

    def _memory(self, a: Arg) -> Array:
        given = a.given
        mem = memory(given, f"{self.routine}: {a.name} is an array")
        if (a.vector or a.index) and mem.ndim != 1:
            raise ValueError(f"{self.routine}: {a.name} has one axis, not {mem.ndim}")
        return mem

    def _placed(self, a: Arg, mem: Array) -> Array:
        """Its items in the order in which they count, as one axis on the device."""
        lies = mem.flags.f_contiguous if a.order == "F" else mem.flags.c_contiguous
        there = mem
        if lies and mem.flags.aligned and (is_emulated() or on_device(mem)):
            self.used.append(mem)
        else:
            there = self.new(mem.shape, mem.dtype, a.order)
            move(there, mem, self.stream)
            if a.written:
                self.back.append((mem, there))
        if there.ndim != 1:
            there = (there.T if a.order == "F" else there).reshape(-1)
        return there if a.n is None or a.n == there.size else there[: a.n]

    def new(self, shape: Any, dtype: Any, order: str = "C") -> Array:
        return allocate(shape, dtype, order=order, stream=self.stream or None)

    def zeros(self, n: int, dtype: Any, value: int = 0) -> Array:
        made = self.new((n,), dtype)
        self.run(forms.fill, n, made, made.dtype.type(value))
        return made

    def copy(self, mem: Array) -> Array:
        made = self.new(mem.shape, mem.dtype)
        move(made, mem, self.stream)
        return made

    def run(self, kernel: Kernel[...], n: int, *args: Any) -> None:
        """The kernel with n threads."""
        if n > 0:
            kernel[-(-n // THREADS), THREADS, self.stream](n, *args)

    def run_few(self, kernel: Kernel[...], n: int, *args: Any) -> None:
        """As `run`, where each thread has much to do: on the host each is a block."""
        block = 1 if is_emulated() else THREADS
        if n > 0:
            kernel[-(-n // block), block, self.stream](n, *args)

    def item(self, mem: Array) -> Any:
        """The only item of an array of the device, when all before is done."""
        host = np.empty(1, mem.dtype)
        move(host, mem, self.stream)
        return host[0]

    def of_matrix(self, ptr: Array, ind: Array, base: int) -> Array:
        """Of indices whose number no argument gives those that the last pointer counts: behind them may stand anything."""
        many = int(self.item(ptr[-1:])) - base
        return ind[:many] if 0 <= many < ind.size else ind

    def done(self) -> None:
        """What is the host's is as it should be when this returns."""
        for mem, there in self.back:
            move(mem, there, self.stream)
        if self.stream and not all(map(goes_on, self.used)):
            self.stream.synchronize()

    # --- steps that several routines have ---

    def check(self, names: tuple[str, str], a: Rows, twice: bool | None = None) -> None:
        """Index arrays are of such a matrix, or one of the kernels raises; ``twice``: rows must be in order, with entries of the same column, or without."""
        self.run(forms.pointers(self.routine, names[0]), a.rows, a.ptr, a.ind.size, a.base)
        self.run(forms.indices(self.routine, names[1]), -(-a.ind.size // CHUNK), a.ind, a.columns, a.base)
        if twice is not None:
            self.run(forms.ordered(self.routine, names[1], twice), a.rows, a.ptr, a.ind, a.base)
        self.told()

    def told(self) -> None:
        """What kernels so far raise comes before anything else is done: on a GPU, which goes on behind a kernel that raised, by waiting for it."""
        if is_emulated():
            return
        if self.stream:
            self.stream.synchronize()
        else:
            synchronize()

    def running(
        self, counts: Array, base: int, ptr: Array | None = None, most: int = MOST, dtype: Any = np.int32
    ) -> Array:
        """``ptr``: the base, and it with all counts up to each; one more than there are counts."""
        n = counts.size
        if ptr is None:
            ptr = self.new((n + 1,), dtype)
        if n == 0:
            self.run(forms.fill, 1, ptr, ptr.dtype.type(base))
            return ptr
        chunks = -(-n // CHUNK)
        parts = self.new((chunks,), np.int64)
        self.run(forms.sum_parts, chunks, counts, parts)
        self.run(forms.run_parts(self.routine), 1, parts, most - base)
        self.run(forms.run_items, chunks, counts, parts, base, ptr)
        return ptr

    def entries_by(self, key: Array, n: int) -> tuple[Array, Array]:
        """Where entries of each key from 0 to n - 1 begin, and the entries in that order; those of one key stay in theirs. Where keys are negative, entries are left out."""
        counts = self.zeros(n, np.int32)
        self.run(forms.count, key.size, key, 0, counts)
        ptr = self.running(counts, 0)
        places = self.zeros(key.size, np.int32)
        self.run(forms.put, key.size, key, 0, self.copy(ptr), places)
        self.run(forms.sort_rows, n, ptr, places)
        return ptr, places

    def rows_of(self, a: Rows) -> Array:
        """The row of each entry."""
        rows = self.zeros(a.ind.size, np.int32, -1)
        if a.rows:
            chunks = -(-a.ind.size // CHUNK)
            self.run(forms.rows_of, chunks, a.ptr, a.rows, a.ind.size, a.base, rows, 0)
        return rows

    def taken(self, of: Array, places: Array, base: int = 0) -> Array:
        made = self.new(places.shape, of.dtype)
        self.run(forms.take, places.size, of, places, base, made)
        return made

    def transposed(self, a: Rows) -> tuple[Rows, Array]:
        """Without values, and which entry of the matrix each is."""
        rows = self.rows_of(a)
        key = self.new(rows.shape, np.int32)
        self.run(forms.column_keys, key.size, rows, a.ind, a.base, key)
        ptr, places = self.entries_by(key, a.columns)
        return Rows(ptr, self.taken(rows, places), None, 0, a.columns, a.rows), places

    def meant(self, trans: str, descr: MatDescr, a: Rows) -> Rows:
        """The matrix that the stored one and its description stand for, transposed where that is asked."""
        turned, conj = trans != "N", trans == "C"
        if descr.matrixtype == "G":
            if not turned:
                return a
            made, places = self.transposed(a)
            if a.val is None:
                return made
            val = self.new(places.shape, self.dtype)
            self.run(forms.take_values, places.size, a.val, places, conj, val)
            return made._replace(val=val)
        if a.rows != a.columns:
            raise ValueError(
                f"{self.routine}: a matrix of type {descr.matrixtype!r} is square, not {a.rows} by {a.columns}"
            )
        n, both = a.ind.size, descr.matrixtype != "T"
        unit = not both and descr.diagtype == "U"
        all_of = 2 * n + (a.rows if unit else 0)
        row, col, of = (self.new((all_of,), np.int32) for _ in range(3))
        lower = descr.fillmode == "L"
        self.run(forms.triangle_keys, n, self.rows_of(a), a.ind, a.base, both, lower, unit, row, col, of)
        if unit:
            self.run(forms.unit_keys, a.rows, 2 * n, row, col, of)
        if turned:
            key = self.new(row.shape, np.int32)  # what is left out stays so
            self.run(forms.column_keys, all_of, row, col, 0, key)
            ptr, places = self.entries_by(key, a.rows)
            ind = self.taken(row, places)
        else:
            ptr, places = self.entries_by(row, a.rows)
            ind = self.taken(col, places)
        made = Rows(ptr, ind, None, 0, a.rows, a.columns)
        if a.val is None:
            return made
        val = self.new(places.shape, self.dtype)
        mirrored = (descr.matrixtype == "H") != conj
        self.run(forms.triangle_values, places.size, a.val, places, n, of, conj, mirrored, val)
        return made._replace(val=val)

    def tables(self, a: Rows, b: Rows) -> tuple[int, int, Array]:
        """For a product: how many threads there are, how many places the table of each has, and all of these."""
        chunks = -(-a.rows // CHUNK)
        most, host = self.new((chunks,), np.int64), np.full(chunks, 2)
        self.run(arith.gemm_rooms, chunks, a.rows, a.ptr, a.ind, a.base, b.ptr, b.columns, most)
        move(host, most, self.stream)
        size = int(host.max(initial=2))
        limit = _FEW if is_emulated() else a.rows
        threads = max(1, min(a.rows, limit, _PLACES[not is_emulated()] // (size + 256)))
        return threads, size, self.new((threads * size,), np.int32)

    def turned_times_vector(self, alpha: Any, a: Rows, conj: bool, x: Array, beta: Any, y: Array) -> None:
        """The transposed matrix times a vector on the host: a tenth of the time that it takes to sort entries. How many parts there are follows from the matrix alone."""
        parts = max(1, min(_PARTS, a.ind.size // max(_PART, a.columns)))
        sums = self.zeros(parts * a.columns, self.dtype)
        if a.rows:
            ind, base = a.ind, a.base
            self.run_few(arith.scattered, parts, a.rows, a.val, a.ptr, ind, base, x, conj, a.columns, sums)
        self.run(arith.join, a.columns, parts, sums, alpha, beta, y)

    def times_vector(self, alpha: Any, a: Rows, x: Array, beta: Any, y: Array) -> None:
        self.run(arith.csrmv, a.rows, alpha, a.val, a.ptr, a.ind, a.base, x, beta, y)
        n = a.ind.size
        if n > PIECE:
            pieces = -(-n // PIECE)
            parts = self.new((2 * pieces,), self.dtype)
            self.run(arith.long_parts, pieces, a.val, a.ptr, a.ind, a.base, a.rows, x, parts)
            self.run(arith.long_sums, pieces, alpha, a.ptr, a.base, a.rows, n, parts, beta, y)


def _one_of(routine: str, name: str, given: Any, known: str) -> str:
    if not isinstance(given, str) or len(given) != 1 or given not in known:
        raise ValueError(f"{routine}: {name} is one of {', '.join(map(repr, known))}, not {given!r}")
    return given


def trans_of(routine: str, given: Any, name: str = "trans") -> str:
    return _one_of(routine, name, given, "NTC")


def is_by_rows(routine: str, given: Any) -> bool:
    return _one_of(routine, "dir", given, "RC") == "R"


class MatDescr:
    """What a stored matrix stands for; made by `Sparse.matdescr`.

    Attributes
    ----------
    indexbase : int
        0 or 1: what its indices count from.
    matrixtype : str
        ``"G"`` itself; ``"S"``, ``"H"`` a symmetric or Hermitian one, of which a triangle counts; ``"T"`` a triangle alone.
    fillmode : str
        Which triangle counts: ``"L"``, the lower, or ``"U"``, the upper one.
    diagtype : str
        ``"N"``: the diagonal as stored; ``"U"``: it is 1, of ``"T"`` and in systems.

    Raises
    ------
    ValueError
        One is set to something else.
    """

    __slots__ = ("_diagtype", "_fillmode", "_indexbase", "_matrixtype")

    def __init__(self, indexbase: int, diagtype: str, fillmode: str, matrixtype: str) -> None:
        self.indexbase = indexbase
        self.diagtype = diagtype
        self.fillmode = fillmode
        self.matrixtype = matrixtype

    @property
    def indexbase(self) -> int:
        """0 or 1."""
        return self._indexbase

    @indexbase.setter
    def indexbase(self, base: int) -> None:
        self._indexbase = base_of(base)

    @property
    def diagtype(self) -> str:
        """``"N"`` or ``"U"``."""
        return self._diagtype

    @diagtype.setter
    def diagtype(self, given: str) -> None:
        self._diagtype = _one_of("matdescr", "diagtype", given, "NU")

    @property
    def fillmode(self) -> str:
        """``"L"`` or ``"U"``."""
        return self._fillmode

    @fillmode.setter
    def fillmode(self, given: str) -> None:
        self._fillmode = _one_of("matdescr", "fillmode", given, "LU")

    @property
    def matrixtype(self) -> str:
        """``"G"``, ``"S"``, ``"H"`` or ``"T"``."""
        return self._matrixtype

    @matrixtype.setter
    def matrixtype(self, given: str) -> None:
        self._matrixtype = _one_of("matdescr", "matrixtype", given, "GSHT")

    def __repr__(self) -> str:
        return f"<matrix of type {self._matrixtype!r}, fill {self._fillmode!r}, diagonal {self._diagtype!r}, base {self._indexbase}>"


def base_of(given: Any) -> int:
    if isinstance(given, bool) or given not in (0, 1):
        raise ValueError(f"indices count from 0 or 1, not from {given!r}")
    return int(given)


class SolveAnalysisInfo:
    """In which order the rows of a triangular system are solved: levels, of which each needs only those before. Made by `Sparse.csrsv_analysis` and `Sparse.csrsm_analysis`.

    It has the pattern of the matrix that was looked at, so the solves that it is given to look at no index arrays again.
    """

    def __init__(self) -> None:
        self._rows: Rows | None = None  # of the matrix as it is solved, transposed where that was asked
        self._places: Any = None  # which stored entry each is; None: they are in that order
        self._trans, self._lower = "N", True
        self._order: Any = None
        self._ends: Any = None
        self._plan: list[tuple[bool, int, int]] = []  # levels from, up to, and whether by one block
        self._widths: list[int] = []
        self._firsts: list[int] = []

    def __repr__(self) -> str:
        rows = self._rows
        return f"<analysis of {rows.rows} rows, {len(self._widths)} levels>" if rows else "<no analysis yet>"


def analyse(call: Call, trans: str, lower: bool, a: Rows) -> SolveAnalysisInfo:
    """Of the lower (or upper) triangle of the transposed matrix, or itself."""
    info = SolveAnalysisInfo()
    info._trans, info._lower = trans, lower
    if trans == "N":
        ptr, ind = call.new(a.ptr.shape, np.int32), call.new(a.ind.shape, np.int32)
        call.run(forms.shift, ptr.size, a.ptr, a.base, ptr)
        call.run(forms.shift, ind.size, a.ind, a.base, ind)
        rows = Rows(ptr, ind, None, 0, a.rows, a.columns)
    else:
        rows, info._places = call.transposed(a)
    info._rows = rows
    n = a.rows
    if n == 0:
        return info
    level, info._order = call.new((n,), np.int32), call.new((n,), np.int32)
    ends = call.new((n + 1,), np.int32)
    call.run(arith.levels, 1, n, rows.ptr, rows.ind, lower, level, ends, info._order)
    many = int(call.item(ends[n:]))
    info._ends = ends[:many]
    host = np.empty(many, np.int32)
    move(host, info._ends, call.stream)
    widths = np.diff(host, prepend=0)
    narrow = widths <= _NARROW
    at = 0
    cuts = [*(np.flatnonzero(narrow[1:] != narrow[:-1]) + 1).tolist(), many]
    for cut in cuts:
        if narrow[at]:
            info._plan.append((True, at, cut))
        else:
            info._plan += [(False, level, level + 1) for level in range(at, cut)]
        at = cut
    info._widths, info._firsts = widths.tolist(), (host - widths).tolist()
    return info


def by_levels(call: Call, info: SolveAnalysisInfo, wide: Any, narrow: Any, columns: int, rest: Any) -> None:
    for together, first, last in info._plan:
        if together:
            block = 1 if is_emulated() else THREADS
            narrow[1, block, call.stream](columns, info._order, info._ends, first, last, *rest)
        else:
            many = info._widths[first]
            sizes = (info._firsts[first], many) if wide is arith.solve else (info._firsts[first],)
            call.run(wide, many * columns, info._order, *sizes, *rest)
