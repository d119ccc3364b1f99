"""SAXPY, ``a x + y`` in single precision, in three ways: as a ufunc, as a kernel, and by BLAS.

The ufunc is the shortest, the kernel says what each thread does, and the library's routine writes over ``y``. All three work on arrays of the device.

    python examples/cuda_saxpy.py [number of items]
"""

from __future__ import annotations

import sys

import numpy as np
from treadle import cuda, float32, vectorize
from treadle.cuda.blas import Blas


@vectorize([float32(float32, float32, float32)], target="cuda")
def by_ufunc(a, x, y):
    return a * x + y


@cuda.jit
def by_kernel(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def main(n):
    rng = np.random.default_rng(8)
    a, x, y = np.float32(2.5), rng.random(n, np.float32), rng.random(n, np.float32)
    d_x, d_y = cuda.to_device(x), cuda.to_device(y)

    first = by_ufunc(a, d_x, d_y)
    second = cuda.device_array_like(d_y)
    by_kernel[-(-n // 256), 256](a, d_x, d_y, second)
    third = cuda.device_array_like(d_y)
    third.copy_to_device(d_y)
    Blas().axpy(a, d_x, third)

    for result in (first, second, third):
        np.testing.assert_allclose(result.copy_to_host(), a * x + y, rtol=1e-6)
    print(f"{n} items by a ufunc, by a kernel and by BLAS")
    print("All three are as NumPy has it.")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["1000000"])[0]))
