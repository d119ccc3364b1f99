"""Kernels on the emulated CUDA device, one core, beside the same loops in C (emulated.c).

A case has a maker, which takes `treadle.cuda` and gives a launch and what to look at, so that nothing here needs a device to be imported.
Sizes are such that the arrays are larger than a core's own caches, but for the reductions and what counts barriers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

LINE = 1 << 22
SIDE = 2048
CUBE = 192
PRODUCT = 1024
TILE = 32
EDGES = 1000
BODIES = 2048
BARRIERS = 200
DRAWN = 1 << 20

Launch = Callable[[], None]


@dataclass(frozen=True)
class Case:
    """One kernel.

    Attributes
    ----------
    make : callable
        Takes `treadle.cuda`; returns a launch, the arrays that C gets, and a function that compares: it takes C's arrays after C ran once and the launch too, and
        returns the largest error.
    c : str
        Name of the C function, without its `k_`; empty: the case is judged by its own figure.
    scale : float
        The measured seconds are divided by it: operations, threads, items.
    peer : callable, optional
        Returns what does the same without us, or None where it is not here.
    """

    make: Callable[[Any], tuple[Launch, list[Any], Callable[[], float]]]
    c: str = ""
    scale: float = 1.0
    peer: Callable[[], Launch | None] | None = None


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).random(shape, np.float32)


def vector_add(cuda: Any) -> Any:
    @cuda.jit
    def k(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    a, b, out = numbers(LINE), numbers(LINE), np.zeros(LINE, np.float32)
    da, db, dout = cuda.to_device(a), cuda.to_device(b), cuda.device_array_like(out)
    return (
        lambda: k[LINE // 256, 256](da, db, dout),
        [a, b, out],
        lambda: np.abs(dout.copy_to_host() - out).max(),
    )


def saxpy(cuda: Any) -> Any:
    @cuda.jit
    def k(a, x, y):
        for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
            y[i] = a * x[i] + y[i]

    x, y, a = numbers(LINE), numbers(LINE), np.float32(1 / 1024)
    dx, dy = cuda.to_device(x), cuda.to_device(y)
    return lambda: k[64, 256](a, dx, dy), [x, y], lambda: np.abs(dy.copy_to_host() - y).max()


def transposing(cuda: Any) -> Any:
    """The kernel of `transpose`, for sides that are whole numbers of tiles, in blocks of 32 by 8."""

    @cuda.jit
    def k(a, out):
        tile = cuda.shared.array((32, 33), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        bx, by = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
        for j in range(0, 32, 8):
            tile[ty + j, tx] = a[by + ty + j, bx + tx]
        cuda.syncthreads()
        for j in range(0, 32, 8):
            out[bx + ty + j, by + tx] = tile[tx, ty + j]

    return k


def transpose(cuda: Any) -> Any:
    k = transposing(cuda)
    a, out = numbers(SIDE, SIDE), np.zeros((SIDE, SIDE), np.float32)
    da, dout = cuda.to_device(a), cuda.device_array_like(out)
    return (
        lambda: k[(SIDE // 32, SIDE // 32), (32, 8)](da, dout),
        [a, out],
        lambda: np.abs(dout.copy_to_host() - out).max(),
    )


def stencil(cuda: Any) -> Any:
    near, far = np.float32(0.1), np.float32(0.4)

    @cuda.jit
    def k(a, out):
        x, y, z = cuda.grid(3)
        if 0 < x < a.shape[2] - 1 and 0 < y < a.shape[1] - 1 and 0 < z < a.shape[0] - 1:
            around = a[z, y, x - 1] + a[z, y, x + 1] + a[z, y - 1, x] + a[z, y + 1, x]
            out[z, y, x] = far * a[z, y, x] + near * (around + a[z - 1, y, x] + a[z + 1, y, x])

    a, out = numbers(CUBE, CUBE, CUBE), np.zeros((CUBE, CUBE, CUBE), np.float32)
    da, dout = cuda.to_device(a), cuda.to_device(out)
    return (
        lambda: k[(CUBE // 32, CUBE // 8, CUBE), (32, 8)](da, dout),
        [a, out],
        lambda: np.abs(dout.copy_to_host() - out).max(),
    )


def reduction(cuda: Any, kernel: Any, blocks: int, out: Any) -> Any:
    a, dout = numbers(4 * LINE), cuda.device_array(blocks, np.float32)
    da, truth = cuda.to_device(a), float(a.sum(dtype=np.float64))
    return (
        lambda: kernel[blocks, 256](da, dout),
        [a, out],
        lambda: abs(float(dout.copy_to_host().sum(dtype=np.float64)) - truth) / truth,
    )


def adding_up(cuda: Any) -> Any:
    """The kernel of `tree`: blocks of 256 threads add up 512 numbers each."""

    @cuda.jit
    def k(a, out):
        s = cuda.shared.array(256, np.float32)
        t = cuda.threadIdx.x
        i = cuda.blockIdx.x * 512 + t
        s[t] = a[i] + a[i + 256]
        cuda.syncthreads()
        d = 128
        while d > 0:
            if t < d:
                s[t] += s[t + d]
            cuda.syncthreads()
            d //= 2
        if t == 0:
            out[cuda.blockIdx.x] = s[0]

    return k


def tree(cuda: Any) -> Any:
    return reduction(cuda, adding_up(cuda), 4 * LINE // 512, np.zeros(1, np.float32))


def shuffles(cuda: Any) -> Any:
    zero = np.float32(0)

    @cuda.jit
    def k(a, out):
        s = cuda.shared.array(32, np.float32)
        t = cuda.threadIdx.x
        v = zero
        for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
            v += a[i]
        d = 16
        while d > 0:
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, d)
            d //= 2
        if t % 32 == 0:
            s[t // 32] = v
        cuda.syncthreads()
        if t == 0:
            r = zero
            for w in range(cuda.blockDim.x // 32):
                r += s[w]
            out[cuda.blockIdx.x] = r

    return reduction(cuda, k, 256, np.zeros(1, np.float32))


def squared(cuda: Any, k: Any, side: int) -> Any:
    """A kernel that makes the product of a square matrix with itself, a tile a block."""
    a = numbers(side, side)
    da, dout = cuda.to_device(a), cuda.device_array((side, side), np.float32)
    blocks = -(-side // TILE)
    return (
        lambda: k[(blocks, blocks), (TILE, TILE)](da, da, dout),
        [],
        lambda: np.abs(dout.copy_to_host() / (a @ a) - 1).max(),
    )


def multiplying(cuda: Any) -> Any:
    """The kernel of `product`, for sides that are whole numbers of tiles, in blocks of TILE by TILE."""
    zero = np.float32(0)

    @cuda.jit
    def k(a, b, out):
        sa, sb = cuda.shared.array((TILE, TILE), np.float32), cuda.shared.array((TILE, TILE), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        acc = zero
        for i in range(a.shape[1] // TILE):
            sa[ty, tx] = a[y, tx + i * TILE]
            sb[ty, tx] = b[ty + i * TILE, x]
            cuda.syncthreads()
            for j in range(TILE):
                acc += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        out[y, x] = acc

    return k


def product(cuda: Any, side: int = PRODUCT) -> Any:
    return squared(cuda, multiplying(cuda), side)


def edges(cuda: Any) -> Any:
    """As `product`, of a side that is no whole number of tiles: each access is tested, as programs for any size do."""
    zero = np.float32(0)

    @cuda.jit
    def k(a, b, out):
        sa, sb = cuda.shared.array((TILE, TILE), np.float32), cuda.shared.array((TILE, TILE), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        acc = zero
        for i in range((a.shape[1] + TILE - 1) // TILE):
            sa[ty, tx] = zero
            sb[ty, tx] = zero
            if y < a.shape[0] and tx + i * TILE < a.shape[1]:
                sa[ty, tx] = a[y, tx + i * TILE]
            if x < b.shape[1] and ty + i * TILE < b.shape[0]:
                sb[ty, tx] = b[ty + i * TILE, x]
            cuda.syncthreads()
            for j in range(TILE):
                acc += sa[ty, j] * sb[j, tx]
            cuda.syncthreads()
        if y < out.shape[0] and x < out.shape[1]:
            out[y, x] = acc

    return squared(cuda, k, EDGES)


def bodies(cuda: Any) -> Any:
    """Forces between bodies, a tile of which the block reads at a time."""
    zero, one, soft, tile = np.float32(0), np.float32(1), np.float32(0.01), 64

    @cuda.jit
    def k(pos, out):
        s = cuda.shared.array((tile, 4), np.float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        ax = ay = az = zero
        x, y, z = pos[i, 0], pos[i, 1], pos[i, 2]
        for b in range(cuda.gridDim.x):
            for c in range(4):
                s[t, c] = pos[b * tile + t, c]
            cuda.syncthreads()
            for j in range(tile):
                dx, dy, dz = s[j, 0] - x, s[j, 1] - y, s[j, 2] - z
                r = one / math.sqrt(dx * dx + dy * dy + dz * dz + soft)
                f = s[j, 3] * r * r * r
                ax += dx * f
                ay += dy * f
                az += dz * f
            cuda.syncthreads()
        out[i, 0], out[i, 1], out[i, 2] = ax, ay, az

    pos, out = numbers(BODIES, 4), np.zeros((BODIES, 3), np.float32)
    dpos, dout = cuda.to_device(pos), cuda.device_array_like(out)
    return (
        lambda: k[BODIES // tile, tile](dpos, dout),
        [pos, out],
        lambda: np.abs(dout.copy_to_host() - out).max() / np.abs(out).max(),
    )


def barriers(cuda: Any) -> Any:
    @cuda.jit
    def k(out):
        s = cuda.shared.array(256, np.int32)
        t = cuda.threadIdx.x
        s[t] = t
        for _ in range(BARRIERS):
            cuda.syncthreads()
            s[t] += 1
        out[cuda.grid(1)] = s[t]

    dout = cuda.device_array(64 * 256, np.int32)
    want = np.tile(np.arange(256) + BARRIERS, 64)
    return lambda: k[64, 256](dout), [], lambda: float(np.abs(dout.copy_to_host() - want).max())


# Generators of treadle.cuda.rand: number of cuRAND's, kind of items, their dtype, arguments.
DRAWS: dict[str, tuple[int, str, str, tuple[float, ...]]] = {
    "philox": (161, "uniform", "f4", ()),
    "xorwow": (101, "uniform", "f4", ()),
    "mrg32k3a": (121, "uniform", "f4", ()),
    "sobol": (201, "uniform", "f4", ()),
    "normal": (161, "normal", "f4", (0.0, 1.0)),
    "normal float64": (161, "normal", "f8", (0.0, 1.0)),
}


def drawn(name: str) -> Case:
    """Random numbers, a million into an array of the device, for an item; beside a generator of libcurand's on the host."""
    rndtype, method, dtype, args = DRAWS[name]

    def make(cuda: Any) -> Any:
        rng = (cuda.rand.QRNG if rndtype > 200 else cuda.rand.PRNG)(rndtype)
        out = cuda.device_array(DRAWN, dtype)
        fill = getattr(rng, method)

        def error() -> float:
            half = 0.5 if method == "uniform" else 0.0
            a = out.copy_to_host().astype(np.float64)
            return max(0.0, abs(float(a.mean()) - half) - 3e-3)

        return lambda: fill(out, *args), [], error

    def peer() -> Launch | None:
        sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "py"))
        import curand

        if curand.library() is None:
            return None
        rng, out = curand.Host(rndtype), np.empty(DRAWN, dtype)
        kind = method.replace("uniform", "unit") + ("32" if dtype == "f4" else "64")
        return lambda: rng.fill(kind, out, *args)

    return Case(make, scale=DRAWN, peer=peer)


# What is measured. A product's figure is for a million additions and multiplications, a barrier's for a thread.
CASES: dict[str, Case] = {
    "vector add": Case(vector_add, "vector_add"),
    "saxpy, grid stride": Case(saxpy, "saxpy"),
    "transpose, tiles": Case(transpose, "transpose"),
    "stencil, 7 points": Case(stencil, "stencil"),
    "reduction, tree": Case(tree, "sum"),
    "reduction, shuffles": Case(shuffles, "sum"),
    "product, tiles": Case(product, scale=2 * PRODUCT**3 / 1e6),
    "product, edges": Case(edges, scale=2 * EDGES**3 / 1e6),
    "bodies, tiles": Case(bodies, "bodies"),
    "barrier": Case(barriers, scale=64 * 256 * BARRIERS),
    **{f"random, {name}": drawn(name) for name in DRAWS},
}

# The same text, run by Numba's simulator, where each thread of a block is one of Python's. It finds `cuda` among the globals.
SIMULATED_TEXT = """
@cuda.jit
def product(a, b, out):
    sa, sb = cuda.shared.array((TILE, TILE), np.float32), cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = np.float32(0)
    for i in range(a.shape[1] // TILE):
        sa[ty, tx] = a[y, tx + i * TILE]
        sb[ty, tx] = b[ty + i * TILE, x]
        cuda.syncthreads()
        for j in range(TILE):
            acc += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    out[y, x] = acc

@cuda.jit
def histogram(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)
"""
SIMULATED = ("product of 32 x 32", "histogram of 1,024 threads")


def simulated(cuda: Any, name: str) -> tuple[Launch, Callable[[], float]]:
    """One of SIMULATED: a launch, and how far what launches have done is from what it should be."""
    space: dict[str, Any] = {"cuda": cuda, "np": np, "TILE": TILE}
    exec(SIMULATED_TEXT, space)
    if name == SIMULATED[0]:
        a = numbers(TILE, TILE)
        da, dout = cuda.to_device(a), cuda.device_array((TILE, TILE), np.float32)
        k = space["product"][(1, 1), (TILE, TILE)]
        return lambda: k(da, da, dout), lambda: float(np.abs(dout.copy_to_host() / (a @ a) - 1).max())
    x = np.random.default_rng(7).integers(0, 64, 1024)
    dx, counts = cuda.to_device(x), cuda.to_device(np.zeros(64, np.int64))
    want = np.bincount(x, minlength=64)
    k = space["histogram"][4, 256]

    def error() -> float:
        times, rest = divmod(counts.copy_to_host(), want)  # every launch adds the same
        return float(np.abs(rest).max() + np.ptp(times))

    return lambda: k(dx, counts), error
