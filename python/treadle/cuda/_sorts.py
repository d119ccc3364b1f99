"""The kernels of `treadle.cuda.sorting` for a GPU. The emulated device has C for it (`src/rt/radix.c`), which gives the same bits.

A *word* is what a key is as an unsigned integer in the same order, upside down where the largest come first; NaNs are one, and so are zeros. A radix sort goes over digits of words, the
last one first: blocks count the digits of their tiles (`count`), the counts become places (`scan`), and each block sends its items there (`send`), a warp at a time, whose lanes tell
each other which have the same digit: so items with one digit keep their order. No block waits for another.
The first k are found from the first digit on: of the digit that the k-th has only those items are counted again that have it. Then items go to two classes, those before the k-th
and its equals, by the same kernels, and are sorted. Up to `FEW` items, and segments of as many, are sorted in a block's shared memory, each by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import cuda
from .._core import Function
from ..decorators import _flags
from ._array import allocate, move
from ._extent import Array
from ._kernel import Kernel, jit

__all__ = ["FEW", "TILE", "number", "segmented", "select", "sort"]

WARPS, ITEMS = 8, 16  # of a block, and of each thread
THREADS = 32 * WARPS
TILE = THREADS * ITEMS
BITS = 8  # of a digit
DIGITS = 1 << BITS
CLASSES = 4  # before the k-th, its equals, those behind it; a spare one
FEW = 1024  # items that a block sorts in its shared memory
SHARE = FEW // THREADS
_ALL = 0xFFFFFFFF  # lanes

u32, i32, u64, i64 = np.uint32, np.int32, np.uint64, np.int64

Form = tuple[str, bool, bool]  # a dtype's kind, of 64 bits, the largest first


def _device(fn: Callable[..., Any]) -> Function[..., Any]:
    return Function(fn, _flags({"error_model": "numpy", "inline": "always"}), {})


def _kernel(fn: Callable[..., Any], name: str) -> Kernel[...]:
    fn.__name__ = fn.__qualname__ = name
    made: Kernel[...] = jit(cache=True)(fn)
    return made


def _name(form: Form) -> str:
    return f"{form[0]}{8 if form[1] else 4}{'_down' if form[2] else ''}"


@functools.cache
def _word(form: Form) -> Callable[..., Any]:
    """``word(x)`` of a key's bits."""
    kind, wide, down = form
    of, bits = (u64, 64) if wide else (u32, 32)
    sign = of(1 << (bits - 1))
    rest = of((1 << (bits - 1)) - 1)
    inf = of(0x7FF0000000000000 if wide else 0x7F800000)
    most = of((1 << bits) - 1)
    flip = most if down else of(0)
    shift = of(bits - 1)

    @_device
    def unsigned(x: Any) -> Any:
        return of(x ^ flip)

    @_device
    def signed(x: Any) -> Any:
        return of(x ^ sign ^ flip)

    @_device
    def real(x: Any) -> Any:
        b = of(0) if x == sign else x
        minus = b >> shift != of(0)
        w = most if b & rest > inf else of(b ^ (most if minus else sign))
        return of(w ^ flip)

    made: Callable[..., Any] = {"u": unsigned, "i": signed, "f": real}[kind]
    return made


def _digit(form: Form) -> Callable[..., Any]:
    word = _word(form)

    @_device
    def digit(x: Any, shift: Any, mask: Any, state: Any) -> Any:
        return i32(u64(word(x)) >> shift & mask)

    return digit


def _class(form: Form) -> Callable[..., Any]:
    word = _word(form)

    @_device
    def class_of(x: Any, shift: Any, mask: Any, state: Any) -> Any:
        w = u64(word(x)) >> shift & mask
        kth = state[0]
        return i32(0) if w < kth else i32(1) if w == kth else i32(2)

    return class_of


@_device
def _before(x: Any, sums: Any) -> Any:
    """The sum of what a block's threads before this one have, and of all."""
    t = cuda.threadIdx.x
    lane, warp = t & 31, t >> 5
    up = x
    for k in range(5):
        other = cuda.shfl_up_sync(_ALL, up, 1 << k)
        if lane >= 1 << k:
            up += other
    if lane == 31:
        sums[warp] = up
    cuda.syncthreads()
    before = up - x
    total = i64(0)
    for w in range(WARPS):
        if w < warp:
            before += sums[w]
        total += sums[w]
    cuda.syncthreads()
    return before, total


def _count(digit_of: Callable[..., Any], digits: int, name: str) -> Kernel[...]:
    """``counts[d, b]``: how many items of a block's tile have a digit."""

    def count(keys, counts, state, shift, mask):  # type: ignore[no-untyped-def]
        at = cuda.shared.array(digits, u32)
        t = cuda.threadIdx.x
        block = i64(cuda.blockIdx.x)
        if t < digits:
            at[t] = u32(0)
        cuda.syncthreads()
        for j in range(ITEMS):
            i = block * TILE + j * THREADS + t
            if i < keys.size:
                cuda.atomic.add(at, digit_of(keys[i], shift, mask, state), u32(1))
        cuda.syncthreads()
        if t < digits:
            counts[t, block] = at[t]

    return _kernel(count, "count_" + name)


def _send(digit_of: Callable[..., Any], digits: int, mode: str, name: str) -> Kernel[...]:
    """Items go to their places, those up to ``to.size``; with values where ``mode`` is ``given``, with their numbers where it is ``number``."""
    given, numbers = mode == "given", mode == "number"

    def send(keys, vals, to, to_vals, counts, totals, state, shift, mask):  # type: ignore[no-untyped-def]
        many = cuda.shared.array((WARPS, digits), i64)
        sums = cuda.shared.array(WARPS, i64)
        rank = cuda.local.array(ITEMS, i32)
        t = cuda.threadIdx.x
        lane, warp = t & 31, t >> 5
        block = i64(cuda.blockIdx.x)
        start = block * TILE + warp * (32 * ITEMS) + lane
        for d in range(lane, digits, 32):
            many[warp, d] = 0
        cuda.syncwarp()
        for j in range(ITEMS):
            i = start + 32 * j
            there = i < keys.size
            d = digit_of(keys[i], shift, mask, state) if there else i32(digits)
            peers = cuda.match_any_sync(_ALL, d)
            ahead = i32(cuda.popc(peers & cuda.lanemask_lt()))
            if there:
                rank[j] = i32(many[warp, d]) + ahead
            cuda.syncwarp()
            if there and ahead == 0:
                many[warp, d] += i64(cuda.popc(peers))
            cuda.syncwarp()
        cuda.syncthreads()
        begin, _ = _before(i64(totals[t]) if t < digits else i64(0), sums)
        if t < digits:
            begin += i64(counts[t, block])
            for w in range(WARPS):
                has = many[w, t]
                many[w, t] = begin
                begin += has
        cuda.syncthreads()
        for j in range(ITEMS):
            i = start + 32 * j
            if i < keys.size:
                x = keys[i]
                p = many[warp, digit_of(x, shift, mask, state)] + rank[j]
                if p < to.size:
                    to[p] = x
                    if given:
                        to_vals[p] = vals[i]
                    elif numbers:
                        to_vals[p] = i

    return _kernel(send, f"send_{name}_{mode}")


def _scan(counts, totals):  # type: ignore[no-untyped-def]
    """Each row's counts become sums of those before, and ``totals`` of all; a block for each."""
    sums = cuda.shared.array(WARPS, i64)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    done = i64(0)
    for first in range(0, counts.shape[1], THREADS):
        i = first + t
        before, total = _before(i64(counts[row, i]) if i < counts.shape[1] else i64(0), sums)
        if i < counts.shape[1]:
            counts[row, i] = done + before
        done += total
    if t == 0:
        totals[row] = done


def _number(out):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < out.size:
        out[i] = i


def _begin(counts, state, k):  # type: ignore[no-untyped-def]
    t = cuda.threadIdx.x
    counts[t] = u64(0)
    if t == 0:
        state[0] = u64(0)
        state[1] = u64(k - 1)


def _narrow(counts, state, bits):  # type: ignore[no-untyped-def]
    """The next digit of the k-th word, from how many words that begin like it have each; ``state``: what is known of it, and how many of those that begin so are before it."""
    t = cuda.threadIdx.x
    at = cuda.shared.array(DIGITS, u64)
    at[t] = counts[t]
    counts[t] = u64(0)
    cuda.syncthreads()
    if t == 0:
        left = state[1]
        d = i64(0)
        while d < (1 << bits) - 1 and left >= at[d]:
            left -= at[d]
            d += 1
        state[0] = state[0] << u64(bits) | u64(d)
        state[1] = left


@functools.cache
def _shared_kernels() -> SimpleNamespace:
    return SimpleNamespace(
        scan=_kernel(_scan, "scan"),
        number=_kernel(_number, "number"),
        begin=_kernel(_begin, "begin"),
        narrow=_kernel(_narrow, "narrow"),
    )


@functools.cache
def _kernels(form: Form, mode: str, by_class: bool) -> SimpleNamespace:
    name = ("class_" if by_class else "") + _name(form)
    digit_of, digits = (_class(form), CLASSES) if by_class else (_digit(form), DIGITS)
    return SimpleNamespace(
        count=_count(digit_of, digits, name), send=_send(digit_of, digits, mode, name), digits=digits
    )


@functools.cache
def _tally(form: Form) -> Kernel[...]:
    """Counts the digits, from bit ``low`` on, of words that begin as the k-th does."""
    word = _word(form)

    def tally(keys, counts, state, shift, mask, low, bits):  # type: ignore[no-untyped-def]
        at = cuda.shared.array(DIGITS, u32)
        t = cuda.threadIdx.x
        at[t] = u32(0)
        kth = state[0]
        cuda.syncthreads()
        for j in range(ITEMS):
            i = i64(cuda.blockIdx.x) * TILE + j * THREADS + t
            if i < keys.size:
                w = (u64(word(keys[i])) >> shift & mask) >> u64(low)
                d = w & u64((1 << bits) - 1)
                if w >> u64(bits) == kth:
                    cuda.atomic.add(at, i32(d), u32(1))
        cuda.syncthreads()
        if at[t] != u32(0):
            cuda.atomic.add(counts, t, u64(at[t]))

    return _kernel(tally, "tally_" + _name(form))


@functools.cache
def _few(form: Form, mode: str, size: int, whole: bool) -> Kernel[...]:
    """Sorts a segment in a block, by a bitonic sort of words and numbers; ``size``: bytes of a value. ``whole``: there is one, and no bounds."""
    word = _word(form)
    key, val = u64 if form[1] else u32, u64 if size == 8 else u32
    given, numbers = mode == "given", mode == "number"

    def few(keys, vals, bounds, shift, mask):  # type: ignore[no-untyped-def]
        words = cuda.shared.array(FEW, key)
        number = cuda.shared.array(FEW, i32)
        mine = cuda.local.array(SHARE, key)
        its = cuda.local.array(SHARE, val)
        t = cuda.threadIdx.x
        start, n = i64(0), i64(keys.size)
        if not whole:
            start = bounds[cuda.blockIdx.x, 0]
            n = bounds[cuda.blockIdx.x, 1] - start
        room = 2
        while room < n:
            room *= 2
        for i in range(t, room, THREADS):
            words[i] = key(u64(word(keys[start + i])) >> shift & mask) if i < n else key(0)
            number[i] = i
        cuda.syncthreads()
        run = 2
        while run <= room:
            apart = run // 2
            while apart > 0:
                for i in range(t, room, THREADS):
                    o = i ^ apart
                    if o > i:
                        a, b = number[i], number[o]
                        x, y = words[i], words[o]
                        # what is not of the segment is behind it
                        behind = a > b if (a >= n or b >= n or x == y) else x > y
                        if behind == (i & run == 0):
                            number[i], number[o] = b, a
                            words[i], words[o] = y, x
                cuda.syncthreads()
                apart //= 2
            run *= 2
        for j in range(SHARE):
            i = t + j * THREADS
            if i < n:
                at = start + number[i]
                mine[j] = keys[at]
                if given:
                    its[j] = vals[at]
        cuda.syncthreads()
        for j in range(SHARE):
            i = t + j * THREADS
            if i < n:
                keys[start + i] = mine[j]
                if given:
                    vals[start + i] = its[j]
                elif numbers:
                    vals[start + i] = number[i]

    return _kernel(few, f"few_{_name(form)}_{mode}{size}{'_whole' if whole else ''}")


# --- what is launched ---


def _bits_of(a: Array) -> Array:
    """The array as unsigned integers."""
    return a.view(u64 if a.itemsize == 8 else u32)


def _blocks(n: int) -> int:
    return max(1, -(-n // TILE))


def number(out: Array, stream: Any) -> None:
    """0, 1, ... to an array of the device."""
    if out.size:
        _shared_kernels().number[-(-out.size // THREADS), THREADS, stream](out)


def _pass(
    k: Any, keys: Array, vals: Any, to: Array, to_vals: Any, state: Array, of: Any, stream: Any
) -> None:
    """By one digit; ``of``: its first bit, and the bits of it."""
    blocks = _blocks(keys.size)
    counts = allocate((k.digits, blocks), u32 if keys.size < 1 << 32 else i64, stream=stream or None)
    totals = allocate((k.digits,), i64, stream=stream or None)
    shift, mask = u64(of[0]), u64((1 << of[1]) - 1)
    k.count[blocks, THREADS, stream](keys, counts, state, shift, mask)
    _shared_kernels().scan[k.digits, THREADS, stream](counts, totals)
    k.send[blocks, THREADS, stream](keys, vals, to, to_vals, counts, totals, state, shift, mask)


def sort(keys: Array, vals: Any, numbers: bool, form: Form, begin: int, end: int, stream: Any) -> None:
    """Sort arrays of the device in place, by bits ``begin`` up to ``end`` of words; ``numbers``: ``vals`` is not read, but becomes the items' numbers, permuted likewise."""
    keys = _bits_of(keys)
    vals = None if vals is None else _bits_of(vals)
    if end <= begin or keys.size < 2:
        if numbers:
            number(vals, stream)
        return
    if keys.size <= FEW:
        mode = "none" if vals is None else "number" if numbers else "given"
        kernel = _few(form, mode, 0 if vals is None else vals.itemsize, True)
        kernel[1, THREADS, stream](
            keys, keys if vals is None else vals, keys, u64(begin), u64((1 << (end - begin)) - 1)
        )
        return
    passes = -(-(end - begin) // BITS)
    cuts = [begin + (end - begin) * k // passes for k in range(passes + 1)]
    state = allocate((2,), u64, stream=stream or None)  # for no digit
    other = allocate(keys.shape, keys.dtype, stream=stream or None)
    other_vals = None if vals is None else allocate(vals.shape, vals.dtype, stream=stream or None)
    source, target = (keys, vals), (other, other_vals)
    for k in range(passes):
        mode = "none" if vals is None else "number" if numbers and k == 0 else "given"
        _pass(
            _kernels(form, mode, False),
            source[0],
            source[0] if vals is None else source[1],
            target[0],
            target[0] if vals is None else target[1],
            state,
            (cuts[k], cuts[k + 1] - cuts[k]),
            stream,
        )
        source, target = target, source
    if source[0] is not keys:
        move(keys, source[0], stream)
        if vals is not None:
            move(vals, source[1], stream)


def select(
    k: int, keys: Array, vals: Any, numbers: bool, form: Form, begin: int, end: int, stream: Any
) -> None:
    """The first ``k`` of what `sort` gives, 1 at least and fewer than all, to the front; what lies behind them is as it was."""
    keys = _bits_of(keys)
    vals = None if vals is None else _bits_of(vals)
    state = allocate((2,), u64, stream=stream or None)
    counts = allocate((DIGITS,), u64, stream=stream or None)
    _shared_kernels().begin[1, DIGITS, stream](counts, state, k)
    at = end - begin
    shift, mask = u64(begin), u64((1 << at) - 1)
    while at > 0:
        bits = min(BITS, at)
        at -= bits
        _tally(form)[_blocks(keys.size), THREADS, stream](keys, counts, state, shift, mask, at, bits)
        _shared_kernels().narrow[1, DIGITS, stream](counts, state, bits)
    best = allocate((k,), keys.dtype, stream=stream or None)
    best_vals = None if vals is None else allocate((k,), vals.dtype, stream=stream or None)
    mode = "none" if vals is None else "number" if numbers else "given"
    _pass(
        _kernels(form, mode, True),
        keys,
        keys if vals is None or numbers else vals,
        best,
        best if vals is None else best_vals,
        state,
        (begin, end - begin),
        stream,
    )
    sort(best, best_vals, False, form, begin, end, stream)
    move(keys[:k], best, stream)
    if vals is not None:
        move(vals[:k], best_vals, stream)


def segmented(keys: Array, vals: Any, ends: Array, form: Form, stream: Any) -> None:
    """Sort segments of arrays of the device in place; ``ends`` of the host: of each the end, the next one's start."""
    keys = _bits_of(keys)
    vals = None if vals is None else _bits_of(vals)
    starts = np.concatenate([np.zeros(1, i64), ends[:-1]])
    sizes = ends - starts
    few = (sizes > 1) & (sizes <= FEW)
    bits = 64 if form[1] else 32
    if few.any():
        bounds = np.stack([starts[few], ends[few]], axis=1)
        there = allocate(bounds.shape, i64, stream=stream or None)
        move(there, bounds, stream)
        kernel = _few(form, "none" if vals is None else "given", 0 if vals is None else vals.itemsize, False)
        kernel[len(bounds), THREADS, stream](
            keys, keys if vals is None else vals, there, u64(0), u64((1 << bits) - 1)
        )
    for s in np.flatnonzero(sizes > FEW):
        part = slice(int(starts[s]), int(ends[s]))
        sort(keys[part], None if vals is None else vals[part], False, form, 0, bits, stream)
