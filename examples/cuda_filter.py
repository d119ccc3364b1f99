"""An FFT filter: a photograph with stripes and grain, cleaned by what its spectrum shows, the picture before and after.

The library transforms, and a kernel looks at each frequency: what stands out like a needle is a stripe and goes, and high frequencies fade. On a GPU
the transforms are cuFFT's, without one NumPy's; the program is the same.

    python examples/cuda_filter.py [rows] [picture.png]
"""

from __future__ import annotations

import math
import sys

import numpy as np
from picture import write_png
from treadle import cuda
from treadle.cuda.fft import FFTPlan


@cuda.jit
def clean(spectrum, size, needle, fade):
    """In place: each frequency beside the eight around a ring of twice as far, and by its distance from none."""
    y, x = cuda.grid(2)
    rows, columns = spectrum.shape
    if y >= rows or x >= columns:
        return
    fy = min(y, rows - y)
    far = math.hypot(fy / size, x / size)
    value = spectrum[y, x] / (rows * 2 * (columns - 1))  # the inverse does not divide
    here = abs(value)
    if far > 0.02:
        around = 0.0
        for k in range(8):
            v = (y + round(5 * math.sin(k * math.pi / 4))) % rows
            u = abs(x + round(5 * math.cos(k * math.pi / 4)))
            around += abs(spectrum[v, min(u, columns - 1)])
        around /= 8 * rows * 2 * (columns - 1)
        if here > needle * around:
            value *= around / here
    spectrum[y, x] = value * math.exp(-((far / fade) ** 2))


def scene(rows, columns):
    """Hills, a sun and its light on water, from 0 to 1."""
    y, x = np.mgrid[0:rows, 0:columns] / rows
    a = 0.75 - 0.35 * y
    a += 0.5 * np.exp(-((np.hypot(x - 1.05, y - 0.28) / 0.11) ** 6)) * 0.6
    for k, (height, shade) in enumerate(((0.45, 0.42), (0.55, 0.3), (0.66, 0.18))):
        ridge = height + 0.05 * np.sin(4 * x + 2 * k) + 0.025 * np.sin(11 * x + k) + 0.01 * np.sin(31 * x)
        a[y > ridge] = shade
    water = y > 0.78
    a[water] = (0.25 + 0.12 * np.sin(60 * y + 4 * np.sin(9 * x)) * np.exp(-((x - 1.05) ** 2) / 0.1))[water]
    return a


def noise(a, b):
    """Signal to noise in decibels."""
    return -10 * math.log10(((a - b) ** 2).mean())


def main(rows, path):
    rows -= rows % 2
    columns = rows * 3 // 2 & ~1
    true = scene(rows, columns)
    y, x = np.mgrid[0:rows, 0:columns]
    rng = np.random.default_rng(5)
    bad = (
        true
        + 0.15 * np.sin(0.9 * x + 0.35 * y)
        + 0.1 * np.sin(1.3 * y)
        + 0.08 * rng.standard_normal(true.shape)
    )

    stream = cuda.stream()
    forward = FFTPlan(bad.shape, np.float32, np.complex64, stream=stream)
    inverse = FFTPlan((rows, columns // 2 + 1), np.complex64, np.float32, stream=stream)
    image = cuda.to_device(bad.astype(np.float32), stream=stream)
    spectrum = cuda.device_array((rows, columns // 2 + 1), np.complex64, stream=stream)
    forward.forward(image, spectrum)
    grid = -(-spectrum.shape[0] // 16), -(-spectrum.shape[1] // 16)
    clean[grid, (16, 16), stream](spectrum, rows, 6.0, 0.18)
    inverse.inverse(spectrum, image)
    good = image.copy_to_host(stream=stream)
    stream.synchronize()

    before, after = noise(bad, true), noise(good, true)
    assert after > before + 6, (before, after)
    shown = [np.clip(p, 0, 1) for p in (bad, good)]
    grey = np.concatenate([shown[0], np.ones((rows, max(rows // 64, 1))), shown[1]], axis=1)
    write_png(path, np.repeat(np.round(grey * 15)[..., None] * 17, 3, axis=2))
    print(f"a photograph of {rows} x {columns}: {before:.1f} dB before, {after:.1f} dB after")
    print(f"before and after are drawn in {path}")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["512"])[0]), (sys.argv[2:] or ["cuda_filter.png"])[0])
