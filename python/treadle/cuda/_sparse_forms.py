"""Kernels of `treadle.cuda.sparse` that look at indices, count and sort entries, and change the form of a matrix. The same ones serve the emulated device and a GPU.

Matrices are rows of entries (CSR): ``ptr`` says where rows begin, ``ind`` in which columns their entries are, both counted from ``base``. A kernel's first parameter is how many
threads have work.

Nothing is read or written beyond an end: kernels look at their indices (``boundscheck``). What users' index arrays have wrong is said before, by the kernels that `pointers`,
`indices` and `ordered` make, in their words.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import cuda
from .._core import Function
from ..decorators import _flags
from ._kernel import Kernel, jit

__all__ = ["CHUNK", "MOST", "THREADS", "device", "kernel"]

THREADS = 128  # of a block
CHUNK = 256  # entries or items that one thread goes through, where neighbours are alike
MOST = 2**31 - 1  # entries that int32 counts

i32, i64 = np.int32, np.int64


def device(fn: Callable[..., Any]) -> Function[..., Any]:
    return Function(fn, _flags({"error_model": "numpy", "inline": "always"}), {})


def kernel(fn: Callable[..., Any], checked: bool = True) -> Kernel[...]:
    made: Kernel[...] = jit(cache=True, boundscheck=checked, fma=False)(fn)
    return made


# --- what is asked of index arrays ---


@functools.cache
def pointers(routine: str, name: str) -> Kernel[...]:
    """``k(rows, ptr, entries, base)``: pointers begin at the base, never fall, and end within the entries."""
    wrong = f"{routine}: {name} does not begin at the base, falls, or ends beyond the entries"

    def check(n, ptr, entries, base):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < n:
            lo, hi = i64(ptr[i]) - base, i64(ptr[i + 1]) - base
            if lo < 0 or hi < lo or hi > entries or (i == 0 and lo != 0):
                raise ValueError(wrong)

    check.__name__ = check.__qualname__ = f"{routine}_pointers"
    return kernel(check)


@functools.cache
def indices(routine: str, name: str) -> Kernel[...]:
    """``k(chunks, ind, columns, base)``: all are of columns that there are."""
    wrong = f"{routine}: an index of {name} is outside of the matrix"

    def check(n, ind, columns, base):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t < n:
            bad = False
            for k in range(t * CHUNK, min(t * CHUNK + CHUNK, ind.size)):
                j = i64(ind[k]) - base
                bad |= (j < 0) | (j >= columns)
            if bad:
                raise IndexError(wrong)

    check.__name__ = check.__qualname__ = f"{routine}_indices"
    return kernel(check)


@functools.cache
def ordered(routine: str, name: str, twice: bool) -> Kernel[...]:
    """``k(rows, ptr, ind, base)``: indices of a row do not fall, or (not ``twice``) increase."""
    wrong = f"{routine}: {name} must have the indices of each row in order" + ("" if twice else ", each once")

    def check(n, ptr, ind, base):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < n:
            for k in range(ptr[i] - base + 1, ptr[i + 1] - base):
                if ind[k] < ind[k - 1] or (not twice and ind[k] == ind[k - 1]):
                    raise ValueError(wrong)

    check.__name__ = check.__qualname__ = f"{routine}_ordered"
    return kernel(check)


@functools.cache
def rising(routine: str, name: str) -> Kernel[...]:
    """``k(items, ind)``: an array whose items do not fall."""
    wrong = f"{routine}: {name} must be in order"

    def check(n, ind):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < n and i > 0 and ind[i] < ind[i - 1]:
            raise ValueError(wrong)

    check.__name__ = check.__qualname__ = f"{routine}_rising"
    return kernel(check)


# --- counting and sorting ---


@device
def last_at(ptr: Any, rows: Any, k: Any, base: Any) -> Any:
    """The last row that begins at entry k or before: the one that has it."""
    lo, hi = i64(0), i64(rows)
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if ptr[mid] - base <= k:
            lo = mid
        else:
            hi = mid
    return lo


@kernel
def rows_of(n, ptr, rows, entries, base, to, to_base):  # type: ignore[no-untyped-def]
    """``to[k]`` becomes the row of entry k, -1 behind the last row; n chunks."""
    t = cuda.grid(1)
    if t < n:
        first = t * CHUNK
        row = last_at(ptr, rows, first, base)
        end = ptr[rows] - base
        for k in range(first, min(first + CHUNK, entries)):
            while row + 1 < rows and ptr[row + 1] - base <= k:
                row += 1
            to[k] = row + to_base if k < end else -1


@kernel
def begins_of(n, of, ptr, base, to_base):  # type: ignore[no-untyped-def]
    """``ptr[i]`` becomes the first place of a row i or more in ``of``, which does not fall; n - 1 rows."""
    i = cuda.grid(1)
    if i < n:
        lo, hi = i64(0), i64(of.size)
        while lo < hi:
            mid = (lo + hi) // 2
            if of[mid] - base < i:
                lo = mid + 1
            else:
                hi = mid
        ptr[i] = lo + to_base


@kernel
def count(n, key, base, counts):  # type: ignore[no-untyped-def]
    """One more at each key, but for those below 0."""
    k = cuda.grid(1)
    if k < n:
        j = key[k] - base
        if j >= 0:
            cuda.atomic.add(counts, j, i32(1))


@kernel
def put(n, key, base, room, places):  # type: ignore[no-untyped-def]
    """Each entry goes to the next free place of its key, in any order; ``room`` says which is the next one."""
    k = cuda.grid(1)
    if k < n:
        j = key[k] - base
        if j >= 0:
            places[cuda.atomic.add(room, j, i32(1))] = k


@device
def sort(a: Any, lo: Any, hi: Any) -> Any:
    """Items from lo to hi in order: Shell's sort with Knuth's steps, for what is in order already none."""
    k = lo + 1
    while k < hi and a[k - 1] <= a[k]:
        k += 1
    step = i64(1)
    while 3 * step + 1 < hi - lo:
        step = 3 * step + 1
    while step > 0 and k < hi:
        for i in range(lo + step, hi):
            x = a[i]
            j = i
            while j >= lo + step and a[j - step] > x:
                a[j] = a[j - step]
                j -= step
            a[j] = x
        step //= 3


@kernel
def sort_rows(n, ptr, a):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < n:
        sort(a, i64(ptr[i]), i64(ptr[i + 1]))


@kernel
def sum_parts(n, counts, parts):  # type: ignore[no-untyped-def]
    """Sums of chunks: the first of three steps of a running sum."""
    t = cuda.grid(1)
    if t < n:
        s = i64(0)
        for k in range(t * CHUNK, min(t * CHUNK + CHUNK, counts.size)):
            s += counts[k]
        parts[t] = s


@functools.cache
def run_parts(routine: str) -> Kernel[...]:
    """``k(1, parts, most)``: the second: what was before each chunk; no more than ``most`` in all."""
    wrong = f"{routine}: the result would have more than 2**31 - 1 entries"

    def run(n, parts, most):  # type: ignore[no-untyped-def]
        if cuda.grid(1) < n:
            s = i64(0)
            for k in range(parts.size):
                parts[k], s = s, s + parts[k]
            if s > most:
                raise OverflowError(wrong)

    run.__name__ = run.__qualname__ = f"{routine}_sum"
    return kernel(run)


@kernel
def run_items(n, counts, parts, base, ptr):  # type: ignore[no-untyped-def]
    """The third: ``ptr[k]`` becomes the base and all counts before k."""
    t = cuda.grid(1)
    if t < n:
        s = parts[t] + base
        for k in range(t * CHUNK, min(t * CHUNK + CHUNK, counts.size)):
            c = counts[k]
            ptr[k] = s
            s += c
            if k + 1 == counts.size:
                ptr[k + 1] = s


@kernel
def take(n, of, places, base, to):  # type: ignore[no-untyped-def]
    k = cuda.grid(1)
    if k < n:
        to[k] = of[places[k]] - base


@kernel
def take_values(n, of, places, conj, to):  # type: ignore[no-untyped-def]
    k = cuda.grid(1)
    if k < n:
        v = of[places[k]]
        to[k] = v.conjugate() if conj else v


@kernel
def give_values(n, of, places, conj, to):  # type: ignore[no-untyped-def]
    k = cuda.grid(1)
    if k < n:
        v = of[k]
        to[places[k]] = v.conjugate() if conj else v


@kernel
def fill(n, to, value):  # type: ignore[no-untyped-def]
    k = cuda.grid(1)
    if k < n:
        to[k] = value


@kernel
def scale(n, y, beta):  # type: ignore[no-untyped-def]
    k = cuda.grid(1)
    if k < n:
        y[k] = beta * y[k] if beta != 0 else y.dtype.type(0)


@kernel
def shift(n, of, base, to):  # type: ignore[no-untyped-def]
    k = cuda.grid(1)
    if k < n:
        to[k] = of[k] - base


@kernel
def column_keys(n, rows, ind, base, key):  # type: ignore[no-untyped-def]
    """Columns, -1 of entries that are in no row."""
    k = cuda.grid(1)
    if k < n:
        key[k] = ind[k] - base if rows[k] >= 0 else -1


@kernel
def triangle_keys(n, rows, ind, base, both, lower, unit, row, col, of):  # type: ignore[no-untyped-def]
    """What a matrix of which a triangle counts has, where each entry may stand twice: entry k as k and, mirrored, as n + k. Rows are -1 of what it has not.

    ``both``: what lies in the triangle stands for its mirror, too. ``unit``: the diagonal is 1, whatever is stored; ``of`` is -1 there, behind 2 n.
    """
    k = cuda.grid(1)
    if k < n:
        i, j = rows[k], ind[k] - base
        has = i >= 0 and (j <= i if lower else j >= i) and not (unit and i == j)
        row[k] = i if has else -1
        row[n + k] = j if has and both and i != j else -1
        col[k], col[n + k] = j, i
        of[k], of[n + k] = k, k


@kernel
def unit_keys(n, at, row, col, of):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < n:
        row[at + i], col[at + i], of[at + i] = i, i, -1


@kernel
def triangle_values(n, val, places, entries, of, conj, mirrored, to):  # type: ignore[no-untyped-def]
    """Values of what `triangle_keys` made: ``conj`` of those that stand as stored, ``mirrored`` of the others."""
    k = cuda.grid(1)
    if k < n:
        at = places[k]
        if of[at] < 0:
            to[k] = val.dtype.type(1)
        else:
            v = val[of[at]]
            to[k] = v.conjugate() if (mirrored if at >= entries else conj) else v


# --- other forms ---


@kernel
def to_dense(n, ptr, ind, val, base, a, along, across):  # type: ignore[no-untyped-def]
    """Row i, column j goes to ``a[i * along + j * across]``; what stands twice is added."""
    i = cuda.grid(1)
    if i < n:
        for k in range(ptr[i] - base, ptr[i + 1] - base):
            a[i * along + (ind[k] - base) * across] += val[k]


@kernel
def clear(n, a, rows, lda):  # type: ignore[no-untyped-def]
    t = cuda.grid(1)
    if t < n:
        a[t // rows * lda + t % rows] = a.dtype.type(0)


@kernel
def dense_count(n, a, along, across, columns, counts):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < n:
        many = i32(0)
        for j in range(columns):
            if a[i * along + j * across] != 0:
                many += i32(1)
        counts[i] = many


@functools.cache
def from_dense(routine: str, name: str) -> Kernel[...]:
    """``k(rows, a, along, across, columns, ptr, base, val, ind)``."""
    wrong = f"{routine}: {name} does not say how many items are not zero, or there is no room for so many"

    def sparse(n, a, along, across, columns, ptr, base, val, ind):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < n:
            to, end = i64(ptr[i]) - base, i64(ptr[i + 1]) - base
            if to < 0 or end > ind.size:
                raise ValueError(wrong)
            for j in range(columns):
                v = a[i * along + j * across]
                if v != 0:
                    if to >= end:
                        raise ValueError(wrong)
                    val[to], ind[to] = v, j + base
                    to += 1
            if to != end:
                raise ValueError(wrong)

    sparse.__name__ = sparse.__qualname__ = routine
    return kernel(sparse)


_NO_ROOM = "bsr2csr: csrValC or csrColIndC has no room for all entries"


@kernel
def bsr_to_csr(n, ptr, ind, val, base, size, by_rows, ptr_c, ind_c, val_c, base_c):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < n:
        block, r = i // size, i % size
        lo, hi = i64(ptr[block]) - base, i64(ptr[block + 1]) - base
        if hi * size * size > ind_c.size:
            raise ValueError(_NO_ROOM)
        to = lo * size * size + r * (hi - lo) * size
        ptr_c[i] = to + base_c
        if i + 1 == n:
            ptr_c[n] = hi * size * size + base_c
        for k in range(lo, hi):
            at = k * size * size + (r * size if by_rows else r)
            for c in range(size):
                val_c[to] = val[at + c * (1 if by_rows else size)]
                ind_c[to] = (ind[k] - base) * size + c + base_c
                to += 1


@kernel
def block_keys(n, rows, ind, base, size, row, col):  # type: ignore[no-untyped-def]
    k = cuda.grid(1)
    if k < n:
        row[k] = rows[k] // size
        col[k] = (ind[k] - base) // size if rows[k] >= 0 else 0


@kernel
def block_count(n, ptr, places, col, counts):  # type: ignore[no-untyped-def]
    """How many blocks a row of them has, whose entries are in order."""
    i = cuda.grid(1)
    if i < n:
        many, before = i32(0), i32(-1)
        for k in range(ptr[i], ptr[i + 1]):
            j = col[places[k]]
            if j != before:
                many += i32(1)
            before = j
        counts[i] = many


def _to_blocks() -> Kernel[...]:
    wrong = "csr2bsr: bsrRowPtrC is not what Xcsr2bsrNnz gives"

    def csr2bsr(n, ptr, places, rows, col, ind, val, base, size, by_rows, ptr_c, ind_c, val_c, base_c):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < n:
            to, end = i64(ptr_c[i]) - base_c - 1, i64(ptr_c[i + 1]) - base_c
            if to < -1 or end > ind_c.size:
                raise ValueError(wrong)
            before = i32(-1)
            for e in range(ptr[i], ptr[i + 1]):
                k = places[e]
                j = col[k]
                if j != before:
                    to += 1
                    if to >= end:
                        raise ValueError(wrong)
                    ind_c[to] = j + base_c
                    before = j
                r, c = rows[k] - i * size, ind[k] - base - j * size
                val_c[to * size * size + (r * size + c if by_rows else c * size + r)] += val[k]
            if to + 1 != end:
                raise ValueError(wrong)

    return kernel(csr2bsr)


csr2bsr = _to_blocks()
