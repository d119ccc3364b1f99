"""Kernels with a mistake in each, and beside each the same kernel without it.

A comment at the end of a line (``# A``) names the line for what must be reported: ``"race s A B"`` is a race on the array `s` between these two lines, in any
order; ``"uninit s A"`` a read of what nobody wrote; ``"bounds s A"`` an IndexError; ``"barrier A B"`` threads that wait at two barriers; ``"exit B"`` a
thread that had ended when others waited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from treadle import cuda, float32, int32


@dataclass
class Planted:
    name: str
    wrong: Any
    right: Any
    grid: Any
    block: Any
    args: Callable[[], tuple[Any, ...]]
    expects: tuple[str, ...]


PLANTED: list[Planted] = []


def planted(*expects: str, grid: Any, block: Any, args: Callable[[], tuple[Any, ...]]) -> Any:
    """A class with two functions, `wrong` and `right`, is a row of the list."""

    def add(cls: Any) -> Any:
        PLANTED.append(Planted(cls.__name__, cls.wrong, cls.right, grid, block, args, expects))
        return cls

    return add


def floats(*shape: int) -> Any:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def ints(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


# --- a barrier is missing ---


@planted("race s A B", grid=2, block=64, args=lambda: (floats(128),))
class NoBarrier:
    def wrong(a):
        s = cuda.shared.array(64, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        s[t] = a[i]  # A
        a[i] = s[63 - t]  # B

    def right(a):
        s = cuda.shared.array(64, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        s[t] = a[i]
        cuda.syncthreads()
        a[i] = s[63 - t]


@planted("race s A B", grid=1, block=64, args=lambda: (floats(64), floats(64)))
class BroadcastWithoutBarrier:
    def wrong(a, q):
        s = cuda.shared.array(1, float32)
        t = cuda.threadIdx.x
        if t == 0:
            s[0] = a[0]  # A
        q[t] = a[t] * s[0]  # B

    def right(a, q):
        s = cuda.shared.array(1, float32)
        t = cuda.threadIdx.x
        if t == 0:
            s[0] = a[0]
        cuda.syncthreads()
        q[t] = a[t] * s[0]


@planted(
    "race sa A C",
    "race sb B C",
    grid=(2, 2),
    block=(4, 4),
    args=lambda: (floats(8, 8), floats(8, 8), floats(8, 8)),
)
class MatmulWithoutItsSecondBarrier:
    def wrong(a, b, c):
        sa = cuda.shared.array((4, 4), float32)
        sb = cuda.shared.array((4, 4), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for i in range(2):
            sa[ty, tx] = a[y, tx + i * 4]  # A
            sb[ty, tx] = b[ty + i * 4, x]  # B
            cuda.syncthreads()
            for j in range(4):
                total += sa[ty, j] * sb[j, tx]  # C
        c[y, x] = total

    def right(a, b, c):
        sa = cuda.shared.array((4, 4), float32)
        sb = cuda.shared.array((4, 4), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for i in range(2):
            sa[ty, tx] = a[y, tx + i * 4]
            sb[ty, tx] = b[ty + i * 4, x]
            cuda.syncthreads()
            for j in range(4):
                total += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        c[y, x] = total


@planted(
    "race sa A C",
    "race sb B C",
    grid=(2, 2),
    block=(4, 4),
    args=lambda: (floats(8, 8), floats(8, 8), floats(8, 8)),
)
class MatmulWithoutItsFirstBarrier:
    def wrong(a, b, c):
        sa = cuda.shared.array((4, 4), float32)
        sb = cuda.shared.array((4, 4), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for i in range(2):
            sa[ty, tx] = a[y, tx + i * 4]  # A
            sb[ty, tx] = b[ty + i * 4, x]  # B
            for j in range(4):
                total += sa[ty, j] * sb[j, tx]  # C
            cuda.syncthreads()
        c[y, x] = total

    right = MatmulWithoutItsSecondBarrier.right


@planted("race s B C", grid=2, block=64, args=lambda: (floats(128), floats(2)))
class ReductionWithoutItsLastBarrier:
    def wrong(a, q):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = a[cuda.grid(1)]
        cuda.syncthreads()
        step = 32
        while step > 0:
            if t < step:
                s[t] += s[t + step]  # B
            if step > 1:
                cuda.syncthreads()
            step //= 2
        if t == 1:
            q[cuda.blockIdx.x] = s[0]  # C

    def right(a, q):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = a[cuda.grid(1)]
        cuda.syncthreads()
        step = 32
        while step > 0:
            if t < step:
                s[t] += s[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 1:
            q[cuda.blockIdx.x] = s[0]


@planted("race s B B", grid=1, block=64, args=lambda: (floats(64), floats(1)))
class ReductionWithoutBarriers:
    def wrong(a, q):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        step = 32
        while step > 0:
            if t < step:
                s[t] += s[t + step]  # B
            step //= 2
        if t == 0:
            q[0] = s[0]

    right = ReductionWithoutItsLastBarrier.right


@planted("race s A B", "race s B B", grid=1, block=64, args=lambda: (floats(64), floats(1)))
class WarpsThatAreTrusted:
    """The last steps are of one warp, whose lanes were in step before Volta."""

    def wrong(a, q):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        if t < 32:
            s[t] += s[t + 32]  # A
            for k in range(5):
                if t < 16 >> k:
                    s[t] += s[t + (16 >> k)]  # B
        if t == 0:
            q[0] = s[0]

    def right(a, q):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        if t < 32:
            s[t] += s[t + 32]
        for k in range(5):
            cuda.syncthreads()
            if t < 16 >> k:
                s[t] += s[t + (16 >> k)]
        if t == 0:
            q[0] = s[0]


@planted("race s B B", grid=1, block=32, args=lambda: (ints(32),))
class ScanInPlace:
    def wrong(a):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        step = 1
        while step < 32:
            if t >= step:
                s[t] = s[t] + s[t - step]  # B
            cuda.syncthreads()
            step *= 2
        a[t] = s[t]

    def right(a):
        s = cuda.shared.array((2, 32), int32)
        t = cuda.threadIdx.x
        s[0, t] = a[t]
        cuda.syncthreads()
        step, of = 1, 0
        while step < 32:
            x = s[of, t]
            if t >= step:
                x += s[of, t - step]
            s[1 - of, t] = x
            of = 1 - of
            cuda.syncthreads()
            step *= 2
        a[t] = s[of, t]


@planted("race s A B", grid=1, block=32, args=lambda: (ints(32),))
class DoubleBufferWithOneHalf:
    def wrong(a):
        s = cuda.shared.array((2, 32), int32)
        t = cuda.threadIdx.x
        s[0, t] = a[t]
        s[1, t] = 0
        cuda.syncthreads()
        for k in range(4):
            x = s[0, (t + 1) % 32]  # A
            s[0, t] = x + 1  # B
            cuda.syncthreads()
        a[t] = s[0, t]

    def right(a):
        s = cuda.shared.array((2, 32), int32)
        t = cuda.threadIdx.x
        s[0, t] = a[t]
        s[1, t] = 0
        cuda.syncthreads()
        for k in range(4):
            x = s[k % 2, (t + 1) % 32]
            s[1 - k % 2, t] = x + 1
            cuda.syncthreads()
        a[t] = s[0, t]


@planted("race s D D", grid=1, block=32, args=lambda: (ints(64),))
class BlellochWithoutOneBarrier:
    def wrong(a):
        s = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        s[2 * t], s[2 * t + 1] = a[2 * t], a[2 * t + 1]
        offset, d = 1, 32
        while d > 0:
            cuda.syncthreads()
            if t < d:
                s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1]
            offset, d = offset * 2, d >> 1
        if t == 0:
            s[63] = 0
        d = 1
        while d < 64:
            offset >>= 1
            if d != 4:
                cuda.syncthreads()
            if t < d:
                i, j = offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1
                s[i], s[j] = s[j], s[i] + s[j]  # D
            d *= 2
        cuda.syncthreads()
        a[2 * t], a[2 * t + 1] = s[2 * t], s[2 * t + 1]

    def right(a):
        s = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        s[2 * t], s[2 * t + 1] = a[2 * t], a[2 * t + 1]
        offset, d = 1, 32
        while d > 0:
            cuda.syncthreads()
            if t < d:
                s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1]
            offset, d = offset * 2, d >> 1
        if t == 0:
            s[63] = 0
        d = 1
        while d < 64:
            offset >>= 1
            cuda.syncthreads()
            if t < d:
                i, j = offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1
                s[i], s[j] = s[j], s[i] + s[j]
            d *= 2
        cuda.syncthreads()
        a[2 * t], a[2 * t + 1] = s[2 * t], s[2 * t + 1]


@planted("race a A B", "race a B B", grid=1, block=16, args=lambda: (ints(32)[::-1].copy(),))
class SortWithoutBarriers:
    def wrong(a):
        t = cuda.threadIdx.x
        for k in range(32):
            i = 2 * t + k % 2
            if i + 1 < 32 and a[i] > a[i + 1]:  # A
                a[i], a[i + 1] = a[i + 1], a[i]  # B

    def right(a):
        t = cuda.threadIdx.x
        for k in range(32):
            i = 2 * t + k % 2
            if i + 1 < 32 and a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
            cuda.syncthreads()


@planted("race s A C", grid=1, block=32, args=lambda: (ints(4, 32), ints(4)))
class WithoutTheBarrierAtTheEndOfTheLoop:
    def wrong(a, q):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        for k in range(4):
            s[t] = a[k, t]  # A
            cuda.syncthreads()
            if t == 0:
                for j in range(32):
                    q[k] += s[j]  # C

    def right(a, q):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        for k in range(4):
            s[t] = a[k, t]
            cuda.syncthreads()
            if t == 0:
                for j in range(32):
                    q[k] += s[j]
            cuda.syncthreads()


@planted("race s A B", grid=1, block=32, args=lambda: (floats(32), ints(1)))
class BarrierThatANumberInMemoryDecidesAbout:
    def wrong(a, count):
        s = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        s[t] = a[t]  # A
        n = count[0]
        x = s[(t + 1) % 32]  # B
        if n > 3:
            cuda.syncthreads()
        a[t] = x

    def right(a, count):
        s = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        n = count[0]
        if n < 3:
            cuda.syncthreads()
        x = s[(t + 1) % 32]
        a[t] = x


@cuda.jit(device=True)
def _load(s, a, i):
    s[cuda.threadIdx.x] = a[i]  # device


@planted("race tile device B", grid=2, block=32, args=lambda: (floats(64), floats(64)))
class BehindADeviceFunction:
    def wrong(a, q):
        tile = cuda.shared.array(32, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        _load(tile, a, i)
        q[i] = tile[(t + 1) % 32]  # B

    def right(a, q):
        tile = cuda.shared.array(32, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        _load(tile, a, i)
        cuda.syncthreads()
        q[i] = tile[(t + 1) % 32]


# --- indices ---


@planted("bounds s A", grid=1, block=32, args=lambda: (floats(32),))
class OnePastSharedMemory:
    def wrong(a):
        s = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        a[t] = s[t + 1]  # A

    def right(a):
        s = cuda.shared.array(33, float32)
        t = cuda.threadIdx.x
        s[t] = a[t]
        if t == 0:
            s[32] = 0
        cuda.syncthreads()
        a[t] = s[t + 1]


@planted("bounds a A", grid=2, block=32, args=lambda: (floats(64), floats(64)))
class OnePastTheArray:
    def wrong(a, q):
        i = cuda.grid(1)
        if i < a.size:
            q[i] = a[i + 1] - a[i]  # A

    def right(a, q):
        i = cuda.grid(1)
        if i < a.size - 1:
            q[i] = a[i + 1] - a[i]


@planted("bounds q A", grid=3, block=32, args=lambda: (floats(100), floats(80)))
class TheLastBlockIsNotFull:
    def wrong(a, q):
        i = cuda.grid(1)
        q[i] = a[i]  # A

    def right(a, q):
        i = cuda.grid(1)
        if i < q.size:
            q[i] = a[i]


@planted("bounds a A", grid=1, block=64, args=lambda: (floats(32), floats(64)))
class NegativeBeyondTheFirst:
    def wrong(a, q):
        t = cuda.threadIdx.x
        q[t] = a[-t]  # A

    def right(a, q):
        t = cuda.threadIdx.x
        if t <= a.size:
            q[t] = a[-t]


@planted("bounds tile A", grid=1, block=(16, 16), args=lambda: (floats(16, 16),))
class TileSmallerThanTheBlock:
    def wrong(a):
        tile = cuda.shared.array((8, 8), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = a[y, x]  # A
        cuda.syncthreads()
        a[x, y] = tile[y, x]

    def right(a):
        tile = cuda.shared.array((16, 16), float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = a[y, x]
        cuda.syncthreads()
        a[x, y] = tile[y, x]


@planted("bounds q A", grid=(2, 3), block=(4, 4), args=lambda: (floats(12, 8), floats(8, 12)))
class IndicesInTheWrongOrder:
    def wrong(a, q):
        x, y = cuda.grid(2)
        q[y, x] = a[y, x]  # A

    def right(a, q):
        x, y = cuda.grid(2)
        q[x, y] = a[y, x]


# --- what nobody wrote ---


@planted("uninit s B", grid=2, block=32, args=lambda: (floats(64),))
class HalfOfTheTileIsWritten:
    def wrong(a):
        s = cuda.shared.array(64, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        s[t] = a[i]
        cuda.syncthreads()
        a[i] = s[2 * t]  # B

    def right(a):
        s = cuda.shared.array(64, float32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        s[t] = a[i]
        s[t + 32] = a[i]
        cuda.syncthreads()
        a[i] = s[2 * t]


@planted("uninit s B", grid=1, block=32, args=lambda: (floats(32), floats(32)))
class HaloThatNobodyLoads:
    def wrong(a, q):
        s = cuda.shared.array(34, float32)
        t = cuda.threadIdx.x
        s[t + 1] = a[t]
        if t == 0:
            s[0] = 0
        cuda.syncthreads()
        q[t] = s[t] + s[t + 1] + s[t + 2]  # B

    def right(a, q):
        s = cuda.shared.array(34, float32)
        t = cuda.threadIdx.x
        s[t + 1] = a[t]
        if t == 0:
            s[0] = 0
            s[33] = 0
        cuda.syncthreads()
        q[t] = s[t] + s[t + 1] + s[t + 2]


@planted("uninit h B", grid=2, block=32, args=lambda: (ints(64), ints(8)))
class HistogramThatIsNotCleared:
    def wrong(a, q):
        h = cuda.shared.array(8, int32)
        t = cuda.threadIdx.x
        cuda.atomic.add(h, a[cuda.grid(1)] % 8, 1)  # B
        cuda.syncthreads()
        if t < 8:
            cuda.atomic.add(q, t, h[t])

    def right(a, q):
        h = cuda.shared.array(8, int32)
        t = cuda.threadIdx.x
        if t < 8:
            h[t] = 0
        cuda.syncthreads()
        cuda.atomic.add(h, a[cuda.grid(1)] % 8, 1)
        cuda.syncthreads()
        if t < 8:
            cuda.atomic.add(q, t, h[t])


@planted("uninit own B", grid=1, block=4, args=lambda: (floats(4, 4), floats(4)))
class AThreadsOwnArray:
    def wrong(a, q):
        own = np.empty(4)
        t = cuda.threadIdx.x
        for k in range(3):
            own[k] = a[t, k]
        for k in range(4):
            q[t] += own[k]  # B

    def right(a, q):
        own = np.empty(4)
        t = cuda.threadIdx.x
        for k in range(4):
            own[k] = a[t, k]
        for k in range(4):
            q[t] += own[k]


@planted("uninit own B", grid=2, block=8, args=lambda: (floats(16, 4), floats(16)))
class LocalMemoryAfterABarrier:
    def wrong(a, q):
        own = cuda.local.array(4, float32)
        i = cuda.grid(1)
        for k in range(i % 4):
            own[k] = a[i, k]
        cuda.syncthreads()
        for k in range(3):
            q[i] += own[k]  # B

    def right(a, q):
        own = cuda.local.array(4, float32)
        i = cuda.grid(1)
        for k in range(3):
            own[k] = a[i, k]
        cuda.syncthreads()
        for k in range(3):
            q[i] += own[k]


@cuda.jit(device=True)
def _total(a, i):
    own = cuda.local.array(4, float32)
    total = float32(0)
    for k in range(4):
        own[k] = a[i, k]
    for k in range(4):
        total += own[k]
    return total


@planted("race q B B", grid=1, block=8, args=lambda: (floats(8, 4), floats(8)))
class LocalMemoryOfADeviceFunction:
    def wrong(a, q):
        t = cuda.threadIdx.x
        q[t // 2] = _total(a, t) + _total(a, 7 - t)  # B

    def right(a, q):
        t = cuda.threadIdx.x
        q[t] = _total(a, t) + _total(a, 7 - t)


# --- global memory, in a block and between blocks ---


@planted("race q A A", grid=1, block=32, args=lambda: (floats(32), floats(1)))
class SumWithoutAtomics:
    def wrong(a, q):
        q[0] += a[cuda.threadIdx.x]  # A

    def right(a, q):
        cuda.atomic.add(q, 0, a[cuda.threadIdx.x])


@planted("race h A A", grid=1, block=32, args=lambda: (ints(32), ints(4)))
class SharedHistogramWithoutAtomics:
    def wrong(a, q):
        h = cuda.shared.array(4, int32)
        t = cuda.threadIdx.x
        if t < 4:
            h[t] = 0
        cuda.syncthreads()
        h[a[t] % 4] += 1  # A
        cuda.syncthreads()
        if t < 4:
            q[t] = h[t]

    def right(a, q):
        h = cuda.shared.array(4, int32)
        t = cuda.threadIdx.x
        if t < 4:
            h[t] = 0
        cuda.syncthreads()
        cuda.atomic.add(h, a[t] % 4, 1)
        cuda.syncthreads()
        if t < 4:
            q[t] = h[t]


@planted("race q A A", grid=4, block=1, args=lambda: (ints(4), ints(2)))
class HistogramOfBlocksWithoutAtomics:
    def wrong(a, q):
        q[a[cuda.blockIdx.x] % 2] += 1  # A

    def right(a, q):
        cuda.atomic.add(q, a[cuda.blockIdx.x] % 2, 1)


@planted("race a A A", grid=1, block=32, args=lambda: (floats(34),))
class StencilInPlace:
    def wrong(a):
        i = cuda.threadIdx.x + 1
        a[i] = a[i - 1] + a[i + 1]  # A

    def right(a):
        i = cuda.threadIdx.x + 1
        x = a[i - 1] + a[i + 1]
        cuda.syncthreads()
        a[i] = x


@planted("race a A B", grid=2, block=32, args=lambda: (floats(66), floats(66)))
class StencilInPlaceBetweenBlocks:
    """A barrier orders the threads of a block, and no blocks."""

    def wrong(a, q):
        i = cuda.grid(1) + 1
        x = a[i - 1] + a[i + 1]  # A
        cuda.syncthreads()
        a[i] = x  # B

    def right(a, q):
        i = cuda.grid(1) + 1
        q[i] = a[i - 1] + a[i + 1]


@planted("race a A A", grid=1, block=(8, 8), args=lambda: (floats(8, 8),))
class TranspositionInPlace:
    def wrong(a):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        a[x, y], a[y, x] = a[y, x], a[x, y]  # A

    def right(a):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        if x < y:
            a[x, y], a[y, x] = a[y, x], a[x, y]


@planted("race q A A", grid=2, block=34, args=lambda: (floats(70), floats(70)))
class TwoBlocksWriteOneHalo:
    def wrong(a, q):
        i = cuda.blockIdx.x * 32 + cuda.threadIdx.x
        q[i] = a[i] * 2  # A

    def right(a, q):
        i = cuda.blockIdx.x * 32 + cuda.threadIdx.x
        if cuda.threadIdx.x < 32:
            q[i] = a[i] * 2


@planted("race q A A", grid=4, block=8, args=lambda: (floats(64), floats(64)))
class StrideOfABlockInPlaceOfTheGrids:
    def wrong(a, q):
        for i in range(cuda.grid(1), a.size, cuda.blockDim.x):
            q[i] = a[i] + 1  # A

    def right(a, q):
        for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
            q[i] = a[i] + 1


@planted("race q A A", grid=(2, 2), block=(4, 4), args=lambda: (floats(8, 8), floats(8, 8)))
class OneAxisIsForgotten:
    def wrong(a, q):
        x = cuda.grid(1)
        y = cuda.threadIdx.y
        q[y, x] = a[y, x] + 1  # A

    def right(a, q):
        x, y = cuda.grid(2)
        q[y, x] = a[y, x] + 1


@planted("race t A B", grid=4, block=8, args=lambda: (floats(32), floats(32), floats(32)))
class TwoStepsInOneLaunch:
    def wrong(a, t, q):
        i = cuda.grid(1)
        t[i] = a[i] * 2  # A
        cuda.syncthreads()
        q[i] = t[31 - i]  # B

    def right(a, t, q):
        i = cuda.grid(1)
        t[i] = a[i] * 2
        cuda.syncthreads()
        q[i] = t[cuda.blockIdx.x * 8 + 7 - cuda.threadIdx.x]


@planted("race row A A", grid=1, block=4, args=lambda: (floats(4, 8), floats(1, 8)))
class ArrayExpressionsOfOneRow:
    def wrong(a, row):
        row[0, :] = a[cuda.threadIdx.x] * 2  # A

    def right(a, row):
        if cuda.threadIdx.x == 2:
            row[0, :] = a[cuda.threadIdx.x] * 2


# --- atomics ---


@planted("race n A B", grid=1, block=32, args=lambda: (ints(32), ints(1)))
class StoreBesideAtomics:
    def wrong(a, n):
        t = cuda.threadIdx.x
        if t == 0:
            n[0] = 0  # A
        if a[t] % 3 == 0:
            cuda.atomic.add(n, 0, 1)  # B

    def right(a, n):
        t = cuda.threadIdx.x
        if t == 0:
            n[0] = 0
        cuda.syncthreads()
        if a[t] % 3 == 0:
            cuda.atomic.add(n, 0, 1)


@planted("race n A B", grid=1, block=32, args=lambda: (ints(1), ints(1)))
class ReadBesideAtomics:
    """Only the last thread reads, after its own atomic."""

    def wrong(n, q):
        t = cuda.threadIdx.x
        cuda.atomic.add(n, 0, 1)  # A
        if t == 31:
            q[0] = n[0]  # B

    def right(n, q):
        t = cuda.threadIdx.x
        cuda.atomic.add(n, 0, 1)
        cuda.syncthreads()
        if t == 31:
            q[0] = n[0]


@planted("race n A B", grid=4, block=1, args=lambda: (ints(1), ints(4)))
class TicketsThatAreReadAgain:
    def wrong(n, q):
        cuda.atomic.add(n, 0, 1)  # A
        q[cuda.blockIdx.x] = n[0]  # B

    def right(n, q):
        q[cuda.blockIdx.x] = cuda.atomic.add(n, 0, 1)


@planted("race lock A B", grid=1, block=32, args=lambda: (ints(1), ints(1)))
class LockThatIsLeftByAStore:
    def wrong(lock, q):
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:  # A
            q[0] = cuda.threadIdx.x
            lock[0] = 2  # B

    def right(lock, q):
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            q[0] = cuda.threadIdx.x
            cuda.atomic.exch(lock, 0, 2)


@planted(
    "race part A B", grid=4, block=8, args=lambda: (floats(32), floats(4), floats(1), ints(1), floats(32))
)
class LastBlockWithoutAFence:
    """The last block adds up what the others left (`right`: with a fence between that and the counter)."""

    def wrong(a, part, q, n, s):
        t = cuda.threadIdx.x
        last = cuda.shared.array(1, int32)
        if t == 0:
            total = float32(0)
            for k in range(8):
                total += a[cuda.blockIdx.x * 8 + k]
            part[cuda.blockIdx.x] = total  # A
            last[0] = cuda.atomic.add(n, 0, 1) == 3
        cuda.syncthreads()
        if last[0] and t == 1:
            for k in range(4):
                q[0] += part[k]  # B

    def right(a, part, q, n, s):
        t = cuda.threadIdx.x
        last = cuda.shared.array(1, int32)
        if t == 0:
            total = float32(0)
            for k in range(8):
                total += a[cuda.blockIdx.x * 8 + k]
            part[cuda.blockIdx.x] = total
            cuda.threadfence()
            last[0] = cuda.atomic.add(n, 0, 1) == 3
        cuda.syncthreads()
        if last[0] and t == 1:
            for k in range(4):
                q[0] += part[k]


@planted("race q B B", grid=4, block=1, args=lambda: (ints(1), ints(1)))
class LockWithoutFences:
    def wrong(lock, q):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        q[0] += 1  # B
        cuda.atomic.exch(lock, 0, 0)

    def right(lock, q):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        q[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@planted("race q B B", grid=4, block=1, args=lambda: (ints(4), ints(1)))
class LocksOfTwoKinds:
    """Blocks that hold different locks."""

    def wrong(lock, q):
        i = cuda.blockIdx.x % 2
        while cuda.atomic.cas(lock, i, i, 9) != i:
            pass
        q[0] += 1  # B
        cuda.threadfence()
        cuda.atomic.exch(lock, i, i)

    def right(lock, q):
        while cuda.atomic.cas(lock, 1, 1, 9) != 1:
            pass
        q[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 1, 1)


# --- barriers ---


@planted("barrier A B", grid=1, block=32, args=lambda: (floats(32),))
class BarrierUnderDivergence:
    def wrong(a):
        t = cuda.threadIdx.x
        if t < 7:
            a[t] = 1
            cuda.syncthreads()  # A
        else:
            cuda.syncthreads()  # B
        a[t] += 1

    def right(a):
        t = cuda.threadIdx.x
        if t < 7:
            a[t] = 1
        cuda.syncthreads()
        a[t] += 1


@planted("barrier A B", grid=1, block=32, args=lambda: (floats(32),))
class BarrierInALoopOfDifferentLength:
    def wrong(a):
        t = cuda.threadIdx.x
        for k in range(t % 4):
            cuda.syncthreads()  # A
        cuda.syncthreads()  # B
        a[t] = 0

    def right(a):
        t = cuda.threadIdx.x
        for k in range(4):
            cuda.syncthreads()
        cuda.syncthreads()
        a[t] = 0


@planted("exit B", grid=1, block=32, args=lambda: (floats(30), floats(30)))
class ReturnBeforeABarrier:
    def wrong(a, q):
        s = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        if t >= a.size:
            return
        s[t] = a[t]
        cuda.syncthreads()  # B
        q[t] = s[29 - t]

    def right(a, q):
        s = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        if t < a.size:
            s[t] = a[t]
        cuda.syncthreads()
        if t < a.size:
            q[t] = s[29 - t]
