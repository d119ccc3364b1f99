"""Skeletons of a device's loops: what kernels of lazy arrays are made of (src/opt/offload.c).

A skeleton is a kernel whose *hooks* are functions without a meaning of their own: `point`, `load`, `combine` and
`finish`. Where a program's pattern becomes a kernel, the skeleton is specialised to the pattern's operands like any
function, and then its hooks get bodies that the compiler makes of the pattern. What a hook has here is what its type
follows from, and nothing else.

In all of them `n` is how many items there are, as a line, and `args` a tuple of what the pattern takes: arrays, numbers.
What a reduction has so far is a tuple of numbers, and a part of the items gives it as one item of each of the arrays
`parts`.
"""

from __future__ import annotations

from typing import Any

from treadle import cuda

__all__ = ["join_parts", "map_points", "reduce_parts"]

THREADS = 256  # of a block, and the items that it takes at once: as many as a block of rt/sum.c
LANES = 16  # of those


# --- hooks ---


def point(i: int, args: Any) -> None:
    """Do all that is to be done for item ``i``."""


def load(i: int, parts: Any, args: Any) -> Any:
    """Do that, and return what the item contributes."""
    return items(parts, 0)


def combine(x: Any, y: Any, args: Any) -> Any:
    """Return two values as one."""
    return x


def finish(first: Any, x: Any, args: Any) -> Any:
    """Return the result of what all items gave, and what a reduction begins with."""
    return x


# --- tuples of arrays ---


def tiles(parts: Any) -> Any:
    """Shared memory of a block for an item of each thread."""
    if len(parts) == 0:
        return ()
    return (cuda.shared.array(THREADS, parts[0].dtype), *tiles(parts[1:]))


def items(of: Any, i: int) -> Any:
    if len(of) == 0:
        return ()
    return (of[0][i], *items(of[1:], i))


def put(to: Any, i: int, x: Any) -> None:
    if len(to) > 0:
        to[0][i] = x[0]
        put(to[1:], i, x[1:])


# --- kernels ---


def map_points(n: int, args: Any) -> None:
    """Each thread takes items a grid apart."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        point(i, args)


def reduce_parts(n: int, parts: Any, args: Any) -> None:
    """Each block joins `THREADS` items and leaves what they give in ``parts``, in the tree of rt/sum.c: `LANES` lanes, then these in halves."""
    tile = tiles(parts)
    t = cuda.threadIdx.x
    for b in range(cuda.blockIdx.x, (n + THREADS - 1) // THREADS, cuda.gridDim.x):
        m = min(n - b * THREADS, THREADS)
        if t < m:
            put(tile, t, load(b * THREADS + t, parts, args))
        cuda.syncthreads()
        if t < min(m, LANES):
            x = items(tile, t)
            for j in range(t + LANES, m, LANES):
                x = combine(x, items(tile, j), args)
            put(tile, t, x)
        cuda.syncthreads()
        s = LANES // 2
        while s > 0:
            if t < s and t + s < m:
                put(tile, t, combine(items(tile, t), items(tile, t + s), args))
            cuda.syncthreads()
            s //= 2
        if t == 0:
            put(parts, b, items(tile, 0))
        cuda.syncthreads()


def join_parts(count: int, parts: Any, first: Any, args: Any) -> None:
    """One block joins what the parts gave, neighbours first, and leaves the result as the first of them."""
    t = cuda.threadIdx.x
    s = 1
    while s < count:
        for k in range(2 * s * t, count - s, 2 * s * THREADS):
            put(parts, k, combine(items(parts, k), items(parts, k + s), args))
        cuda.syncthreads()
        s *= 2
    if t == 0:
        if count > 0:
            put(parts, 0, finish(first, items(parts, 0), args))
        else:
            put(parts, 0, first)
