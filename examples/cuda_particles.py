"""Particle tracking on the device: charged particles in a magnetic bottle, a thread for each.

python examples/cuda_particles.py [particles [picture.png]]
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from picture import blue, write_png
from treadle import cuda

STEP, STEPS, LENGTH = 0.02, 4000, 4.0
ROWS, COLS = 160, 480


@cuda.jit(device=True)
def field(x, y, z):
    """A field along z that is three times as strong at both ends as in the middle, and has no sources."""
    slope = 4.0 * z / LENGTH**2
    return -0.5 * slope * x, -0.5 * slope * y, 1.0 + 2.0 * (z / LENGTH) ** 2


@cuda.jit
def track(place, speed, image):
    """Boris' steps: half of the turn by the field, then the whole; speeds change their direction alone."""
    i = cuda.grid(1)
    if i >= place.shape[1]:
        return
    x, y, z = place[0, i], place[1, i], place[2, i]
    u, v, w = speed[0, i], speed[1, i], speed[2, i]
    for _ in range(STEPS):
        bx, by, bz = field(x, y, z)
        tx, ty, tz = 0.5 * STEP * bx, 0.5 * STEP * by, 0.5 * STEP * bz
        s = 2.0 / (1.0 + tx * tx + ty * ty + tz * tz)
        hu, hv, hw = u + v * tz - w * ty, v + w * tx - u * tz, w + u * ty - v * tx
        u, v, w = u + s * (hv * tz - hw * ty), v + s * (hw * tx - hu * tz), w + s * (hu * ty - hv * tx)
        x, y, z = x + STEP * u, y + STEP * v, z + STEP * w
        if abs(z) > LENGTH:  # it is out
            break
        row, col = int((y / 2.0 + 0.5) * ROWS), int((z / LENGTH + 1.0) * 0.5 * COLS)
        if 0 <= row < ROWS and 0 <= col < COLS:
            cuda.atomic.add(image, (row, col), 1)
    place[0, i], place[1, i], place[2, i] = x, y, z
    speed[0, i], speed[1, i], speed[2, i] = u, v, w


def main(n, path):
    rng = np.random.default_rng(1)
    place = np.zeros((3, n))
    place[:2] = 0.2 * rng.standard_normal((2, n))
    pitch, turn = rng.uniform(0.1, math.pi - 0.1, n), 2 * math.pi * rng.random(n)
    speed = 0.2 * np.array([np.sin(pitch) * np.cos(turn), np.sin(pitch) * np.sin(turn), np.cos(pitch)])
    image = cuda.to_device(np.zeros((ROWS, COLS), np.int64))
    d_place, d_speed = cuda.to_device(place), cuda.to_device(speed)
    start = time.perf_counter()
    track[-(-n // 128), 128](d_place, d_speed, image)
    cuda.synchronize()
    took = time.perf_counter() - start
    place, speed, counts = d_place.copy_to_host(), d_speed.copy_to_host(), image.copy_to_host()
    assert np.allclose(np.sqrt((speed**2).sum(axis=0)), 0.2, rtol=1e-10)  # a magnetic field does no work
    kept = np.abs(place[2]) <= LENGTH
    steep = np.abs(np.cos(pitch)) < math.sqrt(2 / 3)  # those that the ends turn back, as theory has it
    assert abs(kept.mean() - steep.mean()) < 0.02 + 2 / n, (kept.mean(), steep.mean())
    write_png(path, blue(1.5 * np.sqrt(counts / counts.max())))
    print(f"{n} particles, {STEPS} steps in {took:.2f} s, compiling included; drawn in {path}")
    print(f"{kept.mean():.1%} are still in the bottle, theory says {steep.mean():.1%}; speeds are kept")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["4096"])[0]), (sys.argv[2:] or ["cuda_particles.png"])[0])
