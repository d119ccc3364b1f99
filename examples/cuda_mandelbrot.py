"""The Mandelbrot set on the device: a thread for each point, which calls device functions, and a picture of it.

python examples/cuda_mandelbrot.py [picture.png]
"""

from __future__ import annotations

import math
import sys

import numpy as np
from picture import write_escape_times
from quickstart import mandelbrot_numpy
from treadle import cuda

LIMIT = 200


@cuda.jit(device=True)
def step(x, y, re, im):
    """One step of z = z * z + c."""
    return x * x - y * y + re, 2.0 * x * y + im


@cuda.jit(device=True)
def escape_time(re, im, limit):
    """Steps until the point leaves the circle of radius 2."""
    x, y = 0.0, 0.0
    for n in range(limit):
        if x * x + y * y > 4.0:
            return n
        x, y = step(x, y, re, im)
    return limit


@cuda.jit
def mandelbrot(left, right, bottom, top, picture, limit):
    j, i = cuda.grid(2)
    rows, cols = picture.shape
    if i < rows and j < cols:
        re = left + j * ((right - left) / cols)
        im = bottom + i * ((top - bottom) / rows)
        picture[i, j] = escape_time(re, im, limit)


def draw(rows, cols, limit):
    picture = cuda.device_array((rows, cols), np.int32)
    grid = math.ceil(cols / 16), math.ceil(rows / 16)
    mandelbrot[grid, (16, 16)](-2.0, 0.6, -1.2, 1.2, picture, limit)
    return picture.copy_to_host()


def main(path):
    small = draw(240, 260, 50)
    want = np.zeros_like(small)
    mandelbrot_numpy(-2.0, 0.6, -1.2, 1.2, want, 50)
    assert (
        small == want
    ).mean() > 0.99  # a GPU rounds a product and a sum once: at the edge it may take another step
    write_escape_times(path, draw(600, 650, LIMIT), LIMIT)
    print(f"The Mandelbrot set, as NumPy has it, is drawn in {path}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "mandelbrot.png")
