"""Transposing on the device: straight from one array to the other, and through a tile, so that both are walked along their rows.

python examples/cuda_transpose.py [size]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from treadle import cuda, float32

TILE = 32
ROWS = 8  # a thread moves TILE // ROWS items


@cuda.jit
def straight(a, out):
    x = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    for j in range(0, TILE, ROWS):
        if x < a.shape[1] and y + j < a.shape[0]:
            out[x, y + j] = a[y + j, x]


@cuda.jit
def by_tiles(a, out):
    tile = cuda.shared.array(
        (TILE, TILE + 1), float32
    )  # a column more: no two rows begin in the same bank of memory
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * TILE + tx
    y = cuda.blockIdx.y * TILE + ty
    for j in range(0, TILE, ROWS):
        if x < a.shape[1] and y + j < a.shape[0]:
            tile[ty + j, tx] = a[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + tx
    y = cuda.blockIdx.x * TILE + ty
    for j in range(0, TILE, ROWS):
        if x < out.shape[1] and y + j < out.shape[0]:
            out[y + j, x] = tile[tx, ty + j]


def main(n):
    rows, cols = n, n + n // 2
    a = np.random.default_rng(1).random((rows, cols), dtype=np.float32)
    d, out = cuda.to_device(a), cuda.device_array((cols, rows), np.float32)
    grid = -(-cols // TILE), -(-rows // TILE)
    for name, kernel in (("straight", straight), ("by tiles", by_tiles)):
        out.copy_to_device(np.zeros((cols, rows), np.float32))
        took = float("inf")
        for _ in range(6):
            start = time.perf_counter()
            kernel[grid, (TILE, ROWS)](d, out)
            cuda.synchronize()
            took = min(took, time.perf_counter() - start)
        assert np.array_equal(out.copy_to_host(), a.T)
        print(f"{rows} x {cols} float32, {name}: {took * 1e3:8.2f} ms {2 * a.nbytes / took / 1e9:7.1f} GB/s")
    print("Both give what NumPy gives.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1024)
