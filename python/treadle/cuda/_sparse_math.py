"""Kernels of `treadle.cuda.sparse` that compute: with vectors, dense and sparse matrices, and triangular systems. The same ones serve the emulated device and a GPU.

Parameters are as in `_sparse_forms`. Sums go along a row in its own order, so both devices give the same bits, but where rows are longer than `PIECE`, or where all of a vector is
summed: there parts of fixed sizes are summed first. The kernels whose speed counts look at indices themselves, in unsigned numbers, and take no others (``checked=False``).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .. import cuda
from ._kernel import Kernel
from ._sparse_forms import CHUNK, MOST, device, kernel, last_at, sort

__all__ = ["PIECE"]

PIECE = 65536  # entries of a row that one thread sums; longer rows are cut at multiples of it
SHORT = 40  # items that are not sorted by digits

u32, i32, i64 = np.uint32, np.int32, np.int64


# --- vectors ---


_OUTSIDE = "{}: an index of xInd is outside of y"


def _axpyi() -> Kernel[...]:
    wrong = _OUTSIDE.format("axpyi")

    def axpyi(n, alpha, val, ind, y, base):  # type: ignore[no-untyped-def]
        k = cuda.grid(1)
        if k < n:
            j = u32(ind[k] - base)
            if j >= u32(y.size):
                raise IndexError(wrong)
            y[j] += alpha * val[k]

    return kernel(axpyi, checked=False)


axpyi = _axpyi()


@functools.cache
def dots(routine: str) -> Kernel[...]:
    """``k(chunks, val, ind, y, base, parts)`` of doti and dotci."""
    wrong = _OUTSIDE.format(routine)
    conj = routine == "dotci"

    def dot(n, val, ind, y, base, parts):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t < n:
            s = val.dtype.type(0)
            for k in range(t * CHUNK, min(t * CHUNK + CHUNK, val.size)):
                j = u32(ind[k] - base)
                if j >= u32(y.size):
                    raise IndexError(wrong)
                s += (val[k].conjugate() if conj else val[k]) * y[j]
            parts[t] = s

    dot.__name__ = dot.__qualname__ = routine
    return kernel(dot)


@kernel
def total(n, parts, to):  # type: ignore[no-untyped-def]
    if cuda.grid(1) < n:
        s = to.dtype.type(0)
        for k in range(parts.size):
            s += parts[k]
        to[0] = s


@functools.cache
def gather(routine: str) -> Kernel[...]:
    """``k(n, y, ind, base, val)`` of gthr and gthrz."""
    wrong = _OUTSIDE.format(routine)
    zero = routine == "gthrz"

    if zero:

        def gthr(n, y, ind, base, val):  # type: ignore[no-untyped-def]
            k = cuda.grid(1)
            if k < n:
                j = u32(ind[k] - base)
                if j >= u32(y.size):
                    raise IndexError(wrong)
                val[k] = y[j]
                y[j] = y.dtype.type(0)

    else:

        def gthr(n, y, ind, base, val):  # type: ignore[no-untyped-def]
            k = cuda.grid(1)
            if k < n:
                j = u32(ind[k] - base)
                if j >= u32(y.size):
                    raise IndexError(wrong)
                val[k] = y[j]

    gthr.__name__ = gthr.__qualname__ = routine
    return kernel(gthr, checked=False)


def _roti() -> Kernel[...]:
    wrong = _OUTSIDE.format("roti")

    def roti(n, val, ind, y, c, s, base):  # type: ignore[no-untyped-def]
        k = cuda.grid(1)
        if k < n:
            j = u32(ind[k] - base)
            if j >= u32(y.size):
                raise IndexError(wrong)
            a, b = val[k], y[j]
            val[k], y[j] = c * a + s * b, c * b - s * a

    return kernel(roti, checked=False)


roti = _roti()


def _sctr() -> Kernel[...]:
    wrong = _OUTSIDE.format("sctr")

    def sctr(n, val, ind, y, base):  # type: ignore[no-untyped-def]
        k = cuda.grid(1)
        if k < n:
            j = u32(ind[k] - base)
            if j >= u32(y.size):
                raise IndexError(wrong)
            y[j] = val[k]

    return kernel(sctr, checked=False)


sctr = _sctr()


# --- a matrix times a vector ---


@device
def turned(v: Any, conj: Any) -> Any:
    return v.conjugate() if conj else v


@device
def and_beta(s: Any, alpha: Any, beta: Any, y: Any, i: Any) -> Any:
    """What an item becomes; where beta is 0, what it was is not looked at."""
    if beta != 0:
        y[i] = alpha * s + beta * y[i]
    else:
        y[i] = alpha * s


_COLUMN = "csrmv: an index of csrColInd is outside of the matrix"


def _csrmv() -> Kernel[...]:
    wrong_ptr = "csrmv: csrRowPtr falls, or goes beyond the entries"
    wrong_ind = _COLUMN

    def csrmv(n, alpha, val, ptr, ind, base, x, beta, y):  # type: ignore[no-untyped-def]
        """Rows of at most `PIECE` entries."""
        i = cuda.grid(1)
        if i < n:
            many = u32(x.size)
            lo, hi = u32(ptr[i] - base), u32(ptr[i + 1] - base)
            if lo > hi or hi > u32(ind.size):
                raise ValueError(wrong_ptr)
            if hi - lo <= u32(PIECE):
                s = val.dtype.type(0)
                for k in range(lo, hi):
                    j = u32(ind[k] - base)
                    if j >= many:
                        raise IndexError(wrong_ind)
                    s += val[k] * x[j]
                and_beta(s, alpha, beta, y, i)

    return kernel(csrmv, checked=False)


csrmv = _csrmv()


def _long_parts() -> Kernel[...]:
    wrong_ind = _COLUMN

    def long_parts(n, val, ptr, ind, base, rows, x, parts):  # type: ignore[no-untyped-def]
        """Of the long rows that have a piece's first entry, and its last, what lies in the piece. No others lie in it: they would be short."""
        p = cuda.grid(1)
        if p < n:
            first, last = p * PIECE, min(p * PIECE + PIECE, ind.size)
            for end in range(2):
                row = last_at(ptr, rows, last - 1 if end else first, base)
                lo, hi = i64(ptr[row]) - base, i64(ptr[row + 1]) - base
                s = val.dtype.type(0)
                if hi - lo > PIECE and not (end and lo <= first):
                    for k in range(max(lo, first), min(hi, last)):
                        j = u32(ind[k] - base)
                        if j >= u32(x.size):
                            raise IndexError(wrong_ind)
                        s += val[k] * x[j]
                parts[2 * p + end] = s

    return kernel(long_parts)


long_parts = _long_parts()


@kernel
def long_sums(n, alpha, ptr, base, rows, entries, parts, beta, y):  # type: ignore[no-untyped-def]
    """The long row that begins in a piece."""
    p = cuda.grid(1)
    if p < n:
        first, last = p * PIECE, min(p * PIECE + PIECE, entries)
        row = last_at(ptr, rows, last - 1, base)
        lo, hi = i64(ptr[row]) - base, i64(ptr[row + 1]) - base
        if hi - lo > PIECE and lo >= first:
            s = parts[2 * p] if lo == first else parts[2 * p + 1]
            for q in range(p + 1, (hi + PIECE - 1) // PIECE):
                s += parts[2 * q]
            and_beta(s, alpha, beta, y, row)


def _scattered() -> Kernel[...]:
    wrong_ptr = "csrmv: csrRowPtr falls, or goes beyond the entries"
    wrong_ind = _COLUMN

    def scattered(n, rows, val, ptr, ind, base, x, conj, columns, sums):  # type: ignore[no-untyped-def]
        """Each of n threads adds its rows' part of the transposed product to its own ``columns`` items, which are 0; all have about as many entries."""
        t = cuda.grid(1)
        if t < n:
            row = last_at(ptr, rows, t * ind.size // n, base) if t > 0 else i64(0)
            end = last_at(ptr, rows, (t + 1) * ind.size // n, base) if t + 1 < n else i64(rows)
            first = t * columns
            for i in range(row, end):
                lo, hi = u32(ptr[i] - base), u32(ptr[i + 1] - base)
                if lo > hi or hi > u32(ind.size) or (i == 0 and lo > u32(0)):
                    raise ValueError(wrong_ptr)
                v = x[i]
                for k in range(lo, hi):
                    j = u32(ind[k] - base)
                    if j >= u32(columns):
                        raise IndexError(wrong_ind)
                    sums[first + j] += turned(val[k], conj) * v

    return kernel(scattered, checked=False)


scattered = _scattered()


@kernel
def join(n, parts, sums, alpha, beta, y):  # type: ignore[no-untyped-def]
    j = cuda.grid(1)
    if j < n:
        s = sums[j]
        for t in range(1, parts):
            s += sums[t * n + j]
        and_beta(s, alpha, beta, y, j)


@kernel
def bsrmv(n, alpha, val, ptr, ind, base, size, by_rows, x, beta, y):  # type: ignore[no-untyped-def]
    """n rows, ``size`` of each row of blocks."""
    i = cuda.grid(1)
    if i < n:
        block, r = i // size, i % size
        s = val.dtype.type(0)
        step = 1 if by_rows else size
        for k in range(ptr[block] - base, ptr[block + 1] - base):
            at = k * size * size + (r * size if by_rows else r)
            j = (ind[k] - base) * size
            for c in range(size):
                s += val[at + c * step] * x[j + c]
        and_beta(s, alpha, beta, y, i)


def _bsrxmv() -> Kernel[...]:
    wrong_mask = "bsrxmv: an index of bsrMaskPtr is outside of the matrix"
    wrong_ptr = "bsrxmv: bsrRowPtr and bsrEndPtr have a row that ends before it begins, or beyond the entries"
    wrong_ind = "bsrxmv: an index of bsrColInd is outside of the matrix"

    def bsrxmv(n, alpha, mask, rows, val, ptr, end, ind, base, size, by_rows, x, beta, y):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t < n:
            block, r = mask[t // size] - base, t % size
            if block < 0 or block >= rows:
                raise IndexError(wrong_mask)
            lo, hi = ptr[block] - base, end[block] - base
            if lo < 0 or hi < lo or hi > ind.size:
                raise ValueError(wrong_ptr)
            s = val.dtype.type(0)
            step = 1 if by_rows else size
            for k in range(lo, hi):
                at = k * size * size + (r * size if by_rows else r)
                j = ind[k] - base
                if j < 0 or j * size >= x.size:
                    raise IndexError(wrong_ind)
                for c in range(size):
                    s += val[at + c * step] * x[j * size + c]
            and_beta(s, alpha, beta, y, block * size + r)

    return kernel(bsrxmv)


bsrxmv = _bsrxmv()


# --- a matrix times a matrix ---


@kernel
def csrmm(n, rows, columns, alpha, val, ptr, ind, base, b, along, across, conj, beta, c, ldc):  # type: ignore[no-untyped-def]
    """Each thread has a row of the result in up to four columns. ``b[j * along + k * across]`` is row j, column k of the dense matrix."""
    t = cuda.grid(1)
    if t < n:
        i, k = t % rows, 4 * (t // rows)
        s = val.dtype.type(0)
        p, q, r = s, s, s
        lo, hi = ptr[i] - base, ptr[i + 1] - base
        if k + 4 <= columns:
            for e in range(lo, hi):
                v = val[e]
                at = (ind[e] - base) * along + k * across
                s += v * turned(b[at], conj)
                p += v * turned(b[at + across], conj)
                q += v * turned(b[at + 2 * across], conj)
                r += v * turned(b[at + 3 * across], conj)
            and_beta(s, alpha, beta, c, k * ldc + i)
            and_beta(p, alpha, beta, c, (k + 1) * ldc + i)
            and_beta(q, alpha, beta, c, (k + 2) * ldc + i)
            and_beta(r, alpha, beta, c, (k + 3) * ldc + i)
        else:
            for m in range(k, columns):
                s = val.dtype.type(0)
                for e in range(lo, hi):
                    s += val[e] * turned(b[(ind[e] - base) * along + m * across], conj)
                and_beta(s, alpha, beta, c, m * ldc + i)


# --- sums and products of sparse matrices ---


@kernel
def geam_count(n, ptr_a, ind_a, base_a, ptr_b, ind_b, base_b, counts):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < n:
        a, a_end = ptr_a[i] - base_a, ptr_a[i + 1] - base_a
        b, b_end = ptr_b[i] - base_b, ptr_b[i + 1] - base_b
        many = i32(0)
        while a < a_end or b < b_end:
            j = MOST
            if a < a_end:
                j = ind_a[a] - base_a
            if b < b_end:
                j = min(j, ind_b[b] - base_b)
            while a < a_end and ind_a[a] - base_a == j:
                a += 1
            while b < b_end and ind_b[b] - base_b == j:
                b += 1
            many += i32(1)
        counts[i] = many


def _geam() -> Kernel[...]:
    wrong = "csrgeam: csrRowPtrC is not what XcsrgeamNnz gives"

    def geam(n, alpha, val_a, ptr_a, ind_a, base_a, beta, val_b, ptr_b, ind_b, base_b, val, ptr, ind, base):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < n:
            a, a_end = ptr_a[i] - base_a, ptr_a[i + 1] - base_a
            b, b_end = ptr_b[i] - base_b, ptr_b[i + 1] - base_b
            to, end = ptr[i] - base, ptr[i + 1] - base
            if to < 0 or end > ind.size:
                raise ValueError(wrong)
            while a < a_end or b < b_end:
                j = MOST
                if a < a_end:
                    j = ind_a[a] - base_a
                if b < b_end:
                    j = min(j, ind_b[b] - base_b)
                s, t = val.dtype.type(0), val.dtype.type(0)
                while a < a_end and ind_a[a] - base_a == j:
                    s += val_a[a]
                    a += 1
                while b < b_end and ind_b[b] - base_b == j:
                    t += val_b[b]
                    b += 1
                if to >= end:
                    raise ValueError(wrong)
                val[to] = alpha * s + beta * t
                ind[to] = j + base
                to += 1
            if to != end:
                raise ValueError(wrong)

    return kernel(geam)


geam = _geam()


@device
def room_of(i: Any, ptr_a: Any, ind_a: Any, base_a: Any, ptr_b: Any, columns: Any) -> Any:
    """How many places row i of a product needs: a power of two, at least twice as many as it may have entries."""
    most = i64(0)
    for k in range(ptr_a[i] - base_a, ptr_a[i + 1] - base_a):
        j = ind_a[k] - base_a
        most += ptr_b[j + 1] - ptr_b[j]
    most = min(most, columns)
    size = i64(2)
    while size < 2 * most:
        size *= 2
    return size


@kernel
def gemm_rooms(n, rows, ptr_a, ind_a, base_a, ptr_b, columns, most):  # type: ignore[no-untyped-def]
    """The most places that a row of each chunk needs."""
    t = cuda.grid(1)
    if t < n:
        size = i64(2)
        for i in range(t * CHUNK, min(t * CHUNK + CHUNK, rows)):
            size = max(size, room_of(i, ptr_a, ind_a, base_a, ptr_b, columns))
        most[t] = size


@device
def emptied(keys: Any, first: Any, size: Any) -> Any:
    for k in range(first, first + size):
        keys[k] = -1


@device
def place_of(keys: Any, first: Any, size: Any, j: Any) -> Any:
    """Where a column is in a table, or a free place for it; never full."""
    at = (i64(j) * 0x9E3779B1 >> 7) & (size - 1)
    while keys[first + at] != -1 and keys[first + at] != j:
        at = (at + 1) & (size - 1)
    return first + at


@kernel
def gemm_count(n, rows, ptr_a, ind_a, base_a, ptr_b, ind_b, base_b, columns, most, keys, counts):  # type: ignore[no-untyped-def]
    """Each of n threads has every n-th row, and a table of ``most`` places."""
    t = cuda.grid(1)
    if t < n:
        first = t * most
        for i in range(t, rows, n):
            size = room_of(i, ptr_a, ind_a, base_a, ptr_b, columns)
            emptied(keys, first, size)
            many = i32(0)
            for k in range(ptr_a[i] - base_a, ptr_a[i + 1] - base_a):
                row = ind_a[k] - base_a
                for e in range(ptr_b[row] - base_b, ptr_b[row + 1] - base_b):
                    j = ind_b[e] - base_b
                    at = place_of(keys, first, size, j)
                    if keys[at] == -1:
                        keys[at] = j
                        many += i32(1)
            counts[i] = many


@device
def sort_digits(a: Any, lo: Any, hi: Any, most: Any, spare: Any, at: Any) -> Any:
    """Items of ``a`` from lo to hi, 0 to ``most``, in order, by digits of eight bits; ``spare`` has from ``at`` on 256 items and as many as are sorted."""
    there = at + 256 - lo
    shift = 0
    back = False  # what is sorted so far is in `spare`
    while most >> shift > 0:
        for d in range(256):
            spare[at + d] = 0
        for k in range(lo, hi):
            spare[at + ((spare[there + k] if back else a[k]) >> shift & 255)] += i32(1)
        s = i32(0)
        for d in range(256):
            spare[at + d], s = s, s + spare[at + d]
        for k in range(lo, hi):
            x = spare[there + k] if back else a[k]
            d = at + (x >> shift & 255)
            to = lo + spare[d]
            spare[d] += i32(1)
            if back:
                a[to] = x
            else:
                spare[there + to] = x
        back = not back
        shift += 8
    if back:
        for k in range(lo, hi):
            a[k] = spare[there + k]


def _gemm() -> Kernel[...]:
    wrong = "csrgemm: csrRowPtrC is not what XcsrgemmNnz gives"

    def gemm(
        n,
        rows,
        val_a,
        ptr_a,
        ind_a,
        base_a,
        val_b,
        ptr_b,
        ind_b,
        base_b,
        columns,
        most,
        keys,
        spare,
        sums,
        val,
        ptr,
        ind,
        base,
    ):  # type: ignore[no-untyped-def]
        """As `gemm_count`; ``sums`` has an item for each place, ``spare`` has what `sort_digits` needs for each thread."""
        t = cuda.grid(1)
        if t < n:
            first = t * most
            for i in range(t, rows, n):
                size = room_of(i, ptr_a, ind_a, base_a, ptr_b, columns)
                emptied(keys, first, size)
                lo, hi = i64(ptr[i]) - base, i64(ptr[i + 1]) - base
                if lo < 0 or hi > ind.size:
                    raise ValueError(wrong)
                to = lo
                for k in range(ptr_a[i] - base_a, ptr_a[i + 1] - base_a):
                    row = ind_a[k] - base_a
                    v = val_a[k]
                    for e in range(ptr_b[row] - base_b, ptr_b[row + 1] - base_b):
                        j = ind_b[e] - base_b
                        at = place_of(keys, first, size, j)
                        if keys[at] == -1:
                            if to >= hi:
                                raise ValueError(wrong)
                            keys[at] = j
                            sums[at] = v * val_b[e]
                            ind[to] = j
                            to += 1
                        else:
                            sums[at] += v * val_b[e]
                if to != hi:
                    raise ValueError(wrong)
                if hi - lo <= SHORT:
                    sort(ind, lo, hi)
                else:
                    sort_digits(ind, lo, hi, columns - 1, spare, t * (256 + most // 2))
                for k in range(lo, hi):
                    val[k] = sums[place_of(keys, first, size, ind[k])]
                    ind[k] += base

    return kernel(gemm)


gemm = _gemm()


# --- triangular systems: rows by levels, of which each needs only those before ---


@kernel
def levels(n, rows, ptr, ind, lower, level, counts, order):  # type: ignore[no-untyped-def]
    """One thread. ``level`` of each row, how many rows have each one (``counts``), and the rows by level (``order``); ``counts[rows]`` is their number."""
    if cuda.grid(1) < n:
        many = i32(0)
        for i in range(rows):
            counts[i] = 0
        for t in range(rows):
            i = t if lower else rows - 1 - t
            top = i32(0)
            for k in range(ptr[i], ptr[i + 1]):
                j = ind[k]
                if j < i if lower else j > i:
                    top = max(top, level[j] + i32(1))
            level[i] = top
            counts[top] += i32(1)
            many = max(many, top + i32(1))
        counts[rows] = many
        s = i32(0)
        for k in range(many):
            counts[k], s = s, s + counts[k]
        for i in range(rows):
            order[counts[level[i]]] = i
            counts[level[i]] += i32(1)


@device
def solve_row(
    i: Any, ptr: Any, ind: Any, val: Any, lower: Any, unit: Any, alpha: Any, x: Any, at: Any, y: Any, to: Any
) -> Any:
    s = alpha * x[at + i]
    diagonal = val.dtype.type(0)
    for k in range(ptr[i], ptr[i + 1]):
        j = ind[k]
        if j == i:
            diagonal += val[k]
        elif j < i if lower else j > i:
            s -= val[k] * y[to + j]
    y[to + i] = s if unit else s / diagonal


@kernel
def solve(n, order, first, many, ptr, ind, val, lower, unit, alpha, x, ldx, y, ldy):  # type: ignore[no-untyped-def]
    """The rows of one level, in each column."""
    t = cuda.grid(1)
    if t < n:
        c = t // many
        solve_row(order[first + t % many], ptr, ind, val, lower, unit, alpha, x, c * ldx, y, c * ldy)


@kernel
def solve_narrow(n, order, ends, first, last, ptr, ind, val, lower, unit, alpha, x, ldx, y, ldy):  # type: ignore[no-untyped-def]
    """Levels one after the other, by one block; n columns."""
    for k in range(first, last):
        lo = 0 if k == 0 else ends[k - 1]
        many = ends[k] - lo
        for t in range(cuda.threadIdx.x, many * n, cuda.blockDim.x):
            c = t // many
            solve_row(order[lo + t % many], ptr, ind, val, lower, unit, alpha, x, c * ldx, y, c * ldy)
        cuda.syncthreads()


# --- incomplete factors: the same levels ---


@device
def ilu_row(i: Any, ptr: Any, ind: Any, val: Any) -> Any:
    for k in range(ptr[i], ptr[i + 1]):
        row = ind[k]
        if row >= i:
            break
        diagonal = val.dtype.type(0)
        e = i64(ptr[row])
        end = i64(ptr[row + 1])
        while e < end and ind[e] <= row:
            if ind[e] == row:
                diagonal = val[e]
            e += 1
        v = val[k] / diagonal
        val[k] = v
        to = k + 1
        while e < end and to < ptr[i + 1]:
            if ind[e] == ind[to]:
                val[to] -= v * val[e]
                e += 1
                to += 1
            elif ind[e] < ind[to]:
                e += 1
            else:
                to += 1


@device
def root(x: Any) -> Any:
    return math.sqrt(x.real)


@device
def ic_row(i: Any, ptr: Any, ind: Any, val: Any) -> Any:
    for k in range(ptr[i], ptr[i + 1]):
        j = ind[k]
        if j > i:
            break
        s = val[k]
        a, b = i64(ptr[i]), i64(ptr[j])
        end = i64(ptr[j + 1])
        while a < k and b < end and ind[b] < j:
            if ind[a] == ind[b]:
                s -= val[a] * val[b].conjugate()
                a += 1
                b += 1
            elif ind[a] < ind[b]:
                a += 1
            else:
                b += 1
        if j == i:
            val[k] = val.dtype.type(root(s))
        else:
            diagonal = val.dtype.type(0)
            while b < end and ind[b] <= j:
                if ind[b] == j:
                    diagonal = val[b]
                b += 1
            val[k] = s / diagonal


@functools.cache
def factor(whole: bool) -> tuple[Kernel[...], Kernel[...]]:
    """``k(rows of the level, order, first, ptr, ind, val)`` and ``k(1, order, ends, first, last, ptr, ind, val)``, as `solve` and `solve_narrow`: of an LU, or of a Cholesky factor."""
    row = ilu_row if whole else ic_row

    def wide(n, order, first, ptr, ind, val):  # type: ignore[no-untyped-def]
        t = cuda.grid(1)
        if t < n:
            row(order[first + t], ptr, ind, val)

    def narrow(n, order, ends, first, last, ptr, ind, val):  # type: ignore[no-untyped-def]
        for k in range(first, last):
            lo = 0 if k == 0 else ends[k - 1]
            for t in range(lo + cuda.threadIdx.x, ends[k], cuda.blockDim.x):
                row(order[t], ptr, ind, val)
            cuda.syncthreads()

    name = "csrilu0" if whole else "csric0"
    wide.__name__ = wide.__qualname__ = name
    narrow.__name__ = narrow.__qualname__ = f"{name}_narrow"
    return kernel(wide), kernel(narrow)


# --- systems of three diagonals ---


@device
def size_of(x: Any) -> Any:
    return abs(x.real) + abs(x.imag)


@kernel
def tridiagonal(n, m, dl, d, du, du2, swapped):  # type: ignore[no-untyped-def]
    """One thread: the factors, in place, with rows swapped where the lower one is larger. ``dl[i]`` is left of ``d[i]``."""
    if cuda.grid(1) < n:
        for i in range(m):
            du2[i] = d.dtype.type(0)
            swapped[i] = 0
        for i in range(m - 1):
            if size_of(dl[i + 1]) > size_of(d[i]):
                swapped[i] = 1
                f = d[i] / dl[i + 1]
                d[i], dl[i + 1] = dl[i + 1], f
                upper = du[i]
                du[i] = d[i + 1]
                d[i + 1] = upper - f * d[i + 1]
                if i + 2 < m:
                    du2[i] = du[i + 1]
                    du[i + 1] = -f * du[i + 1]
            elif dl[i + 1] != 0:
                f = dl[i + 1] / d[i]
                dl[i + 1] = f
                d[i + 1] -= f * du[i]


@kernel
def tridiagonal_solve(n, m, dl, d, du, du2, swapped, b, ldb):  # type: ignore[no-untyped-def]
    """A column each."""
    c = cuda.grid(1)
    if c < n:
        at = c * ldb
        for i in range(m - 1):
            if swapped[i]:
                b[at + i], b[at + i + 1] = b[at + i + 1], b[at + i] - dl[i + 1] * b[at + i + 1]
            else:
                b[at + i + 1] -= dl[i + 1] * b[at + i]
        for i in range(m - 1, -1, -1):
            s = b[at + i]
            if i + 1 < m:
                s -= du[i] * b[at + i + 1]
            if i + 2 < m:
                s -= du2[i] * b[at + i + 2]
            b[at + i] = s / d[i]


@kernel
def thomas(n, m, dl, d, du, step, work, b, ldb):  # type: ignore[no-untyped-def]
    """A system each, without swaps; their diagonals lie ``step`` apart, or are the same ones (0). ``work``: n times m items."""
    c = cuda.grid(1)
    if c < n:
        a, at, w = c * step, c * ldb, c * m
        pivot = d[a]
        b[at] = b[at] / pivot
        for i in range(1, m):
            work[w + i] = du[a + i - 1] / pivot
            pivot = d[a + i] - dl[a + i] * work[w + i]
            b[at + i] = (b[at + i] - dl[a + i] * b[at + i - 1]) / pivot
        for i in range(m - 2, -1, -1):
            b[at + i] -= work[w + i + 1] * b[at + i + 1]
