"""Imaging: a noisy picture is cleaned by a median of neighbours, and its edges are found by two stencils.

python examples/clean_image.py [size [picture.png]]
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from picture import write_png
from treadle import njit, stencil


@stencil(neighborhood=((-1, 1), (-1, 1)))
def median(a):
    """The fifth of nine neighbours: what one pixel says alone does not count."""
    near = np.empty(9, a.dtype)
    for k in range(9):
        x, at = a[k // 3 - 1, k % 3 - 1], k
        while at > 0 and near[at - 1] > x:
            near[at] = near[at - 1]
            at -= 1
        near[at] = x
    return near[4]


@stencil
def across(a):
    return a[-1, 1] - a[-1, -1] + 2.0 * (a[0, 1] - a[0, -1]) + a[1, 1] - a[1, -1]


@stencil
def down(a):
    return a[1, -1] - a[-1, -1] + 2.0 * (a[1, 0] - a[-1, 0]) + a[1, 1] - a[-1, 1]


@njit(parallel=True)
def edges(a):
    """Sobel's operator: how steep the picture is at each place."""
    return np.sqrt(across(a) ** 2 + down(a) ** 2)


@njit(parallel=True)
def clean(a):
    return median(median(a))


def scene(n):
    """A disc, a square and a wave, from 0 to 1."""
    y, x = np.mgrid[0:n, 0:n] / n
    a = 0.3 + 0.2 * np.sin(12 * x + 5 * y * y)
    a[np.hypot(x - 0.35, y - 0.4) < 0.2] = 0.9
    a[(abs(x - 0.7) < 0.15) & (abs(y - 0.65) < 0.15)] = 0.05
    return a


def noise(a, b):
    """Signal to noise in decibels; the rim of two pixels has no neighbours and does not count."""
    return -10 * math.log10(((a - b)[2:-2, 2:-2] ** 2).mean())


def main(n, path):
    rng = np.random.default_rng(1)
    true = scene(n)
    bad = true + 0.05 * rng.standard_normal((n, n))
    hit = rng.random((n, n)) < 0.1  # a tenth of all pixels is black or white
    bad[hit] = rng.integers(0, 2, hit.sum())
    good, steep = clean(bad), edges(clean(bad))
    windows = np.lib.stride_tricks.sliding_window_view(bad, (3, 3))
    assert np.array_equal(median(bad)[1:-1, 1:-1], np.median(windows, axis=(2, 3)))
    start = time.perf_counter()
    clean(bad)
    took = time.perf_counter() - start
    before, after = noise(bad, true), noise(good, true)
    assert after > before + 8
    grey = np.concatenate([x[3:-3, 3:-3] for x in (bad, good, 1.5 * steep / steep[3:-3, 3:-3].max())], axis=1)
    write_png(path, np.repeat(np.round(np.clip(grey, 0, 1) * 15)[..., None] * 17, 3, axis=2))
    print(f"{n} x {n} pixels cleaned in {took * 1e3:.1f} ms: {before:.1f} dB before, {after:.1f} dB after")
    print(f"the median is NumPy's; noisy, cleaned and edges are drawn in {path}")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["256"])[0]), (sys.argv[2:] or ["clean_image.png"])[0])
