"""Ufuncs and reductions on a GPU: the kernels that are made around a user's function.

A ufunc's kernel is text, written for a number of operands and axes, since a kernel has no loops over its parameters. Threads walk over the items, a grid apart (a grid-stride loop):
neighbours read neighbouring memory. How many a GPU holds at once, and in what blocks, the driver is asked once for each kernel and types; a grid has some times as many.
A reduction joins neighbours only, in an order that depends on the length alone: tiles in shared memory, tile after tile in a part of the items, then the parts' results. A block takes
a part, and a grid's length on the next one, where the GPU does not hold as many.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .. import cuda
from .._core import Function, typeof
from ._array import allocate, move, on_device, readable
from ._devices import attributes
from ._extent import Array
from ._inspect import Definition
from ._kernel import Kernel

__all__ = ["GpuFolds", "GpuLoops", "blocks_for"]

AT_ONCE = 4  # rounds of a thread's for which it reads before it writes (opt/grid/ahead.c)
WAVES = 10  # of blocks, each as many as a GPU holds at once: more than one evens out when they end. SAXPY on an H200: 96 % of a copy's bandwidth, with one 92 %
THREADS = 256  # of a block, at most: larger ones make a GPU no fuller, and leave more of it idle where items are few
MOST_PARTS = 1024  # of a reduction: one block joins what they give


class _Fitted:
    """A kernel that is launched with as many blocks as its work needs and the GPU runs at once.

    Parameters
    ----------
    kernel : Kernel
    threads : int, optional
        Of a block; without it the driver chooses.
    """

    def __init__(self, kernel: Kernel, threads: int = 0) -> None:
        self.kernel, self._threads = kernel, threads
        self._sizes: dict[Any, tuple[int, int]] = {}

    def __call__(self, n: int, most_threads: int, *args: Any) -> None:
        """Launch it for ``n`` items, of which a block takes one for each of its threads; with ``threads`` given for ``n`` blocks."""
        most, threads = self.size_of(most_threads, args)
        blocks = max(1, min(n, most)) if self._threads else blocks_for(n, most, threads)
        self.kernel[blocks, threads](*args)

    def size_of(self, most_threads: int, args: tuple[Any, ...]) -> tuple[int, int]:
        """Blocks at most, and threads of each, for arguments of these types."""
        try:
            key = most_threads, *map(typeof, args)
        except TypeError:
            self.kernel._check_arguments(args)  # which says it in the kernel's words
            raise
        size = self._sizes.get(key)
        if size is None:
            size = self._sizes[key] = self._size(min(most_threads, THREADS), key[1:])
        return size

    def _size(self, most_threads: int, types: tuple[Any, ...]) -> tuple[int, int]:
        code = Definition(self.kernel, types)
        if not self._threads:
            blocks, threads = code.max_potential_block_size(0, most_threads)
            return blocks * WAVES, threads
        held = code.active_blocks_per_multiprocessor(self._threads)
        return held * attributes()["MULTIPROCESSOR_COUNT"], self._threads


def blocks_for(n: int, most: int, threads: int) -> int:
    """Blocks for ``n`` items, a number of rounds for each thread that leaves nothing over: a thread reads for four of them at once."""
    rounds = -(-n // (most * threads))
    if rounds > 1:
        rounds = -(-rounds // AT_ONCE) * AT_ONCE
    return max(1, -(-n // max(1, rounds * threads)))


def _kernel(text: str, names: dict[str, Any], name: str) -> _Fitted:
    scope = {"cuda": cuda, **names}
    exec(compile(text, "<ufunc on a GPU>", "exec"), scope)
    made: Kernel[...] = Kernel(scope["k"], None, {})
    made.__name__ = made.__qualname__ = name
    return _Fitted(made)


def _place(axes: int) -> list[str]:
    """Lines that make of an item's number ``t`` its indices ``i0``, ``i1``, ... in the space of the shape ``n0``, ``n1``, ..."""
    lines = [f"i{k} = t % n{k}; t = t // n{k}" for k in range(axes - 1, 0, -1)]
    return [*lines, "i0 = t"]


def _text(operands: list[str], axes: int, body: Callable[[str], str]) -> str:
    """A kernel over all places of a space; ``body`` says what is done at the indices."""
    sizes = [f"n{k}" for k in range(axes)]
    at = ", ".join(f"i{k}" for k in range(axes))
    lines = [
        f"def k({', '.join([*sizes, *operands])}):",
        f"    for t in range(cuda.grid(1), {' * '.join(sizes)}, cuda.gridsize(1)):",
        *(f"        {line}" for line in _place(axes)),
        f"        {body(at)}",
    ]
    return "\n".join(lines) + "\n"


def _there(a: Any, dtype: Any) -> Array:
    """An operand on the device, in the order of bytes that kernels read."""
    if not isinstance(a, np.ndarray):
        a = np.asarray(a, dtype)
    if not a.dtype.isnative:
        a = readable(a).astype(a.dtype.newbyteorder("="))
    return a if on_device(a) else _cast(a, a.dtype)


def _spread(a: Array, shape: tuple[int, ...]) -> Array:
    """NumPy makes views for reading only, of arrays of that shape too. Numbers stay what they are."""
    return a if a.shape == shape or not isinstance(a, np.ndarray) else np.broadcast_to(a, shape, subok=True)


def _flat(arrays: list[Array], shape: tuple[int, ...], core: list[int]) -> list[Array] | None:
    """The operands with one axis in place of those that they loop over, if all lie so; else None."""
    if len(shape) < 2:
        return None
    fits = (a.shape[: len(shape)] == shape and a.flags.c_contiguous and not n for a, n in zip(arrays, core))
    if all(ok or not isinstance(a, np.ndarray) for ok, a in zip(fits, arrays)):
        return [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in arrays]
    return None


class GpuLoops:
    """The kernels of a ufunc.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Its twin on the host, which is asked for the types of results.
    fn : Function
        Of items; a generalised ufunc's takes views, outputs too.
    declared : list of tuples
        For each signature whether its operands are arrays; None for a ufunc of items.
    core : list of int
        Axes of each operand beside those that are looped over.
    """

    def __init__(
        self, ufunc: Any, fn: Function, declared: list[tuple[bool, ...]] | None, core: list[int]
    ) -> None:
        self._ufunc, self._fn, self._declared, self._core = ufunc, fn, declared, core
        self._made: dict[Any, _Fitted] = {}
        self._types: dict[Any, tuple[Any, ...]] = {}

    def types_of(self, inputs: list[Any]) -> tuple[Any, ...]:
        """Types of the loop for these inputs, and of its results."""
        of = tuple(a.dtype if isinstance(a, np.ndarray) else type(a) for a in inputs)
        if of not in self._types:
            empty = [
                np.empty((0, *(1,) * n), a.dtype) if isinstance(a, np.ndarray) else a
                for a, n in zip(inputs, self._core)
            ]
            if not any(isinstance(a, np.ndarray) for a in empty):
                empty[0] = np.empty(0, np.asarray(empty[0]).dtype)
            made = self._ufunc(*empty)
            made = made if self._ufunc.nout > 1 else (made,) * self._ufunc.nout
            results = tuple(np.asarray(m).dtype for m in made)
            given = tuple(np.asarray(a).dtype for a in inputs)
            loops = [tuple(map(np.dtype, t.replace("->", ""))) for t in self._ufunc.types]
            fitting = [
                t[: len(given)]
                for t in loops
                if t[len(given) :] == results
                and all(
                    np.can_cast(g, w) or not isinstance(a, np.ndarray) for g, w, a in zip(given, t, inputs)
                )
            ]
            self._types[of] = (given if given in fitting or not fitting else fitting[0]), results
        return self._types[of]

    def kernel_of(self, axes: int, given: list[Array], want: tuple[Any, ...], row: int) -> _Fitted:
        """The kernel over a space of so many axes, for operands of these types and the loop of the types ``want``, the signature of that number."""
        casts = tuple(None if a.dtype == w else w for a, w in zip(given, want))
        ways = self._ways(given, row)
        key = (axes, casts, ways)
        if key not in self._made:
            nin = self._ufunc.nin
            names = {f"t{k}": w.type for k, w in enumerate(casts) if w is not None}
            operands = [f"{'a' if k < nin else 'o'}{k}" for k in range(self._ufunc.nargs)]

            def of(k: int, at: str) -> str:
                item = operands[k] if ways[k] == "number" else f"{operands[k]}[{at}]"
                if ways[k] == "slice":
                    last = at.rpartition("i")
                    item = f"{operands[k]}[{at[: -len(last[2]) - 1]}i{last[2]} : i{last[2]} + 1]"
                return f"t{k}({item})" if k < nin and casts[k] is not None else item

            def body(at: str) -> str:
                if self._declared is not None:
                    return f"f({', '.join(of(k, at) for k in range(len(operands)))})"
                call = f"f({', '.join(of(k, at) for k in range(nin))})"
                return f"{', '.join(of(k, at) for k in range(nin, len(operands)))} = {call}"

            text = _text(operands, axes, body)
            self._made[key] = _kernel(text, {"f": self._fn, **names}, self._ufunc.__name__)
        return self._made[key]

    def _ways(self, given: list[Array], row: int) -> tuple[str, ...]:
        """How each operand is handed to the function: one item, a number as it is, a view, or (of no axes, as an array) a slice of one item."""
        if self._declared is None:
            return tuple("item" if isinstance(a, np.ndarray) else "number" for a in given)
        nin = self._ufunc.nin
        arrays = (
            self._declared[row]
            if self._declared
            else tuple(n > 0 or k >= nin for k, n in enumerate(self._core))
        )
        return tuple("view" if n else "slice" if a else "item" for a, n in zip(arrays, self._core))

    def __call__(
        self, inputs: list[Any], outs: list[Any], shapes: list[tuple[int, ...]], most: int
    ) -> list[Array]:
        """Results on the device: in ``outs`` where there are such (on the device, of these shapes), else in new memory."""
        want, results = self.types_of(inputs)
        given = [
            _there(a, w) if isinstance(a, np.ndarray) or self._declared is not None else w.type(a)
            for a, w in zip(inputs, want)
        ]
        if self._declared:  # arrays are not cast item by item
            given = [a if a.dtype == w else _cast(a, w) for a, w in zip(given, want)]
        for o, t in zip(outs, results):
            if o is not None and not np.can_cast(t, o.dtype, "same_kind"):
                raise TypeError(
                    f"Cannot cast ufunc {self._ufunc.__name__!r} output from {t!r} to {o.dtype!r} with casting rule 'same_kind'"
                )
        made = [
            o if o is not None and o.dtype == t and self._may_hold(o, given) else allocate(s, t)
            for o, t, s in zip(outs, results, shapes)
        ]
        loop = (
            shapes[0][: len(shapes[0]) - self._core[self._ufunc.nin]]
            if shapes
            else np.broadcast_shapes(*(a.shape[: a.ndim - n] for a, n in zip(given, self._core)))
        )
        spread = [_spread(a, loop + a.shape[a.ndim - n :]) for a, n in zip(given, self._core)] + made
        flat = _flat(spread, loop, self._core)
        space = (int(np.prod(loop)),) if flat is not None else loop or (1,)
        operands = flat or (
            spread if loop else [a.reshape((1, *a.shape)) if isinstance(a, np.ndarray) else a for a in spread]
        )
        row = self._row(want)
        n = int(np.prod(space))
        if n:
            self.kernel_of(len(space), operands, want, row)(n, most, *space, *operands)
        for o, m in zip(outs, made):
            if o is not None and o is not m:
                move(o, m)
        for a, g in zip(inputs, given):
            if not outs and isinstance(a, np.ndarray) and a is not g and a.flags.writeable:
                move(a, g)  # without outputs it stores into its inputs
        return [m if o is None else o for o, m in zip(outs, made)]

    def _may_hold(self, out: Array, given: list[Array]) -> bool:
        """Whether results can be stored there while inputs are read: it meets none, or items of both lie at the same places."""

        def same(a: Array) -> bool:
            places = ((x.__array_interface__["data"][0], x.shape, x.strides, x.dtype) for x in (a, out))
            return self._declared is None and len({*places}) == 1

        arrays = [a for a in given if isinstance(a, np.ndarray)]
        return on_device(out) and all(same(a) or not np.may_share_memory(a, out) for a in arrays)

    def _row(self, want: tuple[Any, ...]) -> int:
        loops = [tuple(map(np.dtype, t.partition("->")[0])) for t in self._ufunc.types]
        return loops.index(want) if want in loops and self._declared else 0


def _cast(a: Array, dtype: Any) -> Array:
    made = allocate(a.shape, dtype)
    move(made, a)
    return made


def _fold_kernel(op: Any, item: Any, name: str) -> _Fitted:
    """``out[b]`` becomes the items of ``a`` from ``b * part`` on, joined by ``op``, for all parts of ``n`` items."""

    def fold(a: Any, n: Any, part: Any, out: Any) -> None:
        tile = cuda.shared.array(THREADS, item)
        t = cuda.threadIdx.x
        for b in range(cuda.blockIdx.x, (n + part - 1) // part, cuda.gridDim.x):
            lo = b * part
            hi = min(lo + part, n)
            total = a[lo]
            first = True
            for base in range(lo, hi, THREADS):
                m = min(hi - base, THREADS)
                if t < m:
                    tile[t] = a[base + t]
                cuda.syncthreads()
                s = 1
                while s < m:
                    if t % (2 * s) == 0 and t + s < m:
                        tile[t] = item(op(tile[t], tile[t + s]))
                    cuda.syncthreads()
                    s *= 2
                if t == 0:
                    total = tile[0] if first else item(op(total, tile[0]))
                first = False
                cuda.syncthreads()
            if t == 0:
                out[b] = total

    fold.__name__ = fold.__qualname__ = name
    return _Fitted(Kernel(fold, None, {}), THREADS)


class GpuFolds:
    """The folds by one function, compiled for each dtype that is met."""

    def __init__(self, op: Any) -> None:
        self._op = op
        self._made: dict[Any, _Fitted] = {}

    def __call__(self, a: Array, out: Array) -> None:
        """Fold the items of ``a``, one axis and one item at least, into ``out[0]``; both on the device."""
        if a.dtype not in self._made:
            item = np.dtype(a.dtype.str).type
            self._made[a.dtype] = _fold_kernel(self._op, item, self._op.__name__)
        kernel, n = self._made[a.dtype], a.size
        part = -(-n // MOST_PARTS)
        part = max(4, -(-part // THREADS)) * THREADS
        parts = -(-n // part)
        if parts == 1:
            kernel(1, THREADS, a, n, part, out)
            return
        partial = allocate((parts,), a.dtype)
        kernel(parts, THREADS, a, n, part, partial)
        kernel(1, THREADS, partial, parts, -(-parts // THREADS) * THREADS, out)
