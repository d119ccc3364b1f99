"""Heat in a plate: Jacobi's relaxation by tiles in shared memory, and how warm the plate is, as a picture.

Each block loads its tile and the rim around it once, so that a value which five threads need is read from memory once or twice and not five times. A second kernel finds the
largest change by a reduction in shared memory.

    python examples/cuda_laplace.py [points along a side] [picture.png]
"""

from __future__ import annotations

import sys

import numpy as np
from picture import blue, write_png
from treadle import cuda, float64

TILE = 16


@cuda.jit
def relax(old, new):
    tile = cuda.shared.array((TILE + 2, TILE + 2), float64)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    rows, columns = old.shape
    if i < rows and j < columns:
        tile[y + 1, x + 1] = old[i, j]
        if y == 0 and i > 0:
            tile[0, x + 1] = old[i - 1, j]
        if x == 0 and j > 0:
            tile[y + 1, 0] = old[i, j - 1]
        if (y == TILE - 1 or i == rows - 1) and i + 1 < rows:
            tile[y + 2, x + 1] = old[i + 1, j]
        if (x == TILE - 1 or j == columns - 1) and j + 1 < columns:
            tile[y + 1, x + 2] = old[i, j + 1]
    cuda.syncthreads()
    if 0 < i < rows - 1 and 0 < j < columns - 1:
        new[i, j] = 0.25 * (tile[y, x + 1] + tile[y + 2, x + 1] + tile[y + 1, x] + tile[y + 1, x + 2])


@cuda.reduce
def largest(a, b):
    return max(a, b)


@cuda.jit
def changes(old, new, out):
    k = cuda.grid(1)
    if k < out.size:
        out[k] = abs(new[k // new.shape[1], k % new.shape[1]] - old[k // new.shape[1], k % new.shape[1]])


def main(n, path):
    plate = np.zeros((n, n))
    plate[0] = np.sin(np.linspace(0, np.pi, n))  # warm at one side
    old, new = cuda.to_device(plate), cuda.to_device(plate)
    change = cuda.device_array(n * n)
    grid = (-(-n // TILE),) * 2
    rounds, most = 0, 1.0
    while most > 1e-5 and rounds < 20000:
        for _ in range(100):
            relax[grid, (TILE, TILE)](old, new)
            old, new = new, old
        changes[-(-n * n // 256), 256](new, old, change)
        most = float(largest(change, init=0.0))
        rounds += 100
    warm = old.copy_to_host()
    want = plate.copy()
    for _ in range(rounds):
        want[1:-1, 1:-1] = 0.25 * (want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:])
    assert np.allclose(warm, want, rtol=1e-12, atol=1e-15)
    bands = np.floor(warm**0.5 * 16) / 16  # lines of one warmth
    write_png(path, blue(np.repeat(np.repeat(bands, 4, 0), 4, 1)))
    print(f"{n} x {n} points, {rounds} rounds, of which the last changed {most:.1e}; drawn in {path}")
    print("All points are as NumPy has them.")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["96"])[0]), (sys.argv[2:] or ["cuda_laplace.png"])[0])
