"""A histogram on the device: threads count by atomics, first in a table of their block's own, then in that of all.

python examples/cuda_atomics.py [number of values]
"""

from __future__ import annotations

import sys

import numpy as np
from treadle import cuda, int32

BINS = 64


@cuda.jit(device=True)
def bin_of(x, low, high):
    """The bin of x, or -1 where it lies outside."""
    if not low <= x <= high:
        return -1
    return min(int((x - low) * BINS / (high - low)), BINS - 1)


@cuda.jit
def histogram(values, low, high, counts):
    own = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for i in range(t, BINS, cuda.blockDim.x):
        own[i] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        k = bin_of(values[i], low, high)
        if k >= 0:
            cuda.atomic.add(own, k, 1)
    cuda.syncthreads()
    for i in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, i, own[i])


@cuda.jit
def extremes(values, result):
    """The smallest and the largest of whole numbers."""
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.min(result, 0, values[i])
        cuda.atomic.max(result, 1, values[i])


def main(n):
    values = np.random.default_rng(1).normal(size=n)
    counts = cuda.to_device(np.zeros(BINS, np.int32))
    histogram[128, 256](cuda.to_device(values), -4.0, 4.0, counts)
    want, _ = np.histogram(values, BINS, (-4, 4))
    got = counts.copy_to_host()
    assert (
        np.abs(got - want).sum() <= 4 and got.sum() == want.sum()
    )  # NumPy rounds otherwise what lies on an edge

    whole = (values * 1000).astype(np.int64)
    result = cuda.to_device(np.zeros(2, np.int64))
    extremes[128, 256](cuda.to_device(whole), result)
    low, high = result.copy_to_host()
    assert low == whole.min() and high == whole.max()
    print(
        f"{n} values in {BINS} bins by atomics, the largest has {got.max()}; from {low} to {high} thousandths: as NumPy has it"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
