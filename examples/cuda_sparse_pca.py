"""Sparse PCA on the device, as in a talk of 2014: four kernels, and batches of samples so that an array of all is never there.

python examples/cuda_sparse_pca.py [samples]
"""

from __future__ import annotations

import sys

import numpy as np
import treadle
import treadle.parallel as tp
from sparse_pca import loadings
from treadle import cuda

K, THREADS, BATCH = 10, 128, 6400


@cuda.jit
def normalise(C):
    """A thread for each sample: its vector gets the length 1."""
    s = cuda.grid(1)
    if s < C.shape[1]:
        square = C[0, s] * C[0, s]
        for j in range(1, C.shape[0]):
            square += C[j, s] * C[j, s]
        size = square**0.5
        for j in range(C.shape[0]):
            C[j, s] /= size


@cuda.jit
def multiply(V, C, A):
    """A block for each sample, whose threads share the rows."""
    s = cuda.blockIdx.x
    for i in range(cuda.threadIdx.x, V.shape[0], cuda.blockDim.x):
        a = V[i, 0] * C[0, s]
        for j in range(1, V.shape[1]):
            a += V[i, j] * C[j, s]
        A[s, i] = a


@cuda.jit
def select(A, top, rows):
    """A thread for each sample: the K largest by size, in order. The talk's program sorted all."""
    s = cuda.grid(1)
    if s >= A.shape[0]:
        return
    value, row = cuda.local.array(K, np.float32), cuda.local.array(K, np.int32)
    for r in range(K):
        value[r], row[r] = 0.0, -1
    for i in range(A.shape[1]):
        a = A[s, i]
        if abs(a) > abs(value[K - 1]) or row[K - 1] < 0:
            r = K - 1
            while r > 0 and (row[r - 1] < 0 or abs(value[r - 1]) < abs(a)):
                value[r], row[r] = value[r - 1], row[r - 1]
                r -= 1
            value[r], row[r] = a, i
    for r in range(K):
        top[r, s], rows[r, s] = value[r], row[r]


@cuda.jit
def norms(top, out):
    s = cuda.grid(1)
    if s < top.shape[1]:
        sum = np.float32(0.0)
        for r in range(K):
            sum += top[r, s] * top[r, s]
        out[s] = sum**0.5


def search(Vd, C):
    """The best sample's norm, its number, and its vector."""
    p, d = Vd.shape
    V, best, at, x = cuda.to_device(Vd), -1.0, -1, np.zeros(p, np.float32)
    for first in range(0, C.shape[1], BATCH):
        n = min(BATCH, C.shape[1] - first)
        c = cuda.to_device(np.ascontiguousarray(C[:, first : first + n]))
        a = cuda.device_array((n, p), np.float32)
        top, rows = cuda.device_array((K, n), np.float32), cuda.device_array((K, n), np.int32)
        out = cuda.device_array(n, np.float32)
        blocks = -(-n // THREADS)
        normalise[blocks, THREADS](c)
        multiply[n, THREADS](V, c, a)
        select[blocks, THREADS](a, top, rows)
        norms[blocks, THREADS](top, out)
        worth = out.copy_to_host()
        s = int(worth.argmax())
        if worth[s] > best:
            best, at = worth[s], first + s
            x[:] = 0
            x[rows[:, s].copy_to_host()] = top[:, s].copy_to_host() / best
    return best, at, x


def main(samples):
    Vd, key = loadings(1000, 3), tp.random.key(2014)
    C = np.asarray(tp.random.normal(key, (samples, 3), np.float32)).T
    norm, at, x = search(Vd, C)
    print(f"The device: sample {at} of {samples} explains {norm**2:.6f}.")
    best = treadle.sparse_pca(Vd, k=K, samples=samples, key=key, polish=False)
    assert abs(best.worth - norm**2) < 1e-5 * best.worth
    assert best.sample == at and np.allclose(best.x * np.sign(best.x @ x), x, atol=1e-6)
    print("treadle.sparse_pca finds the same one.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64000)
