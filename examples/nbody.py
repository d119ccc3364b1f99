"""Astronomy: two galaxies meet. Each body pulls each other one; energy and momentum are kept.

python examples/nbody.py [bodies [picture.png]]
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from picture import blue, write_png
from treadle import njit, prange

SOFT2 = 0.05**2  # bodies are small clouds: nearer than 0.05 they pull less
STEP = 0.01


# fastmath: sums may be in any order. NumPy's error model: a division by zero is infinite.
# With both the inner loop becomes vectors.
@njit(parallel=True, fastmath=True, error_model="numpy")
def pull(place, mass, acc):
    """Acceleration of each body by all others; place and acc have shape (3, n)."""
    n = place.shape[1]
    for i in prange(n):
        ax = ay = az = 0.0
        for j in range(n):
            dx = place[0, j] - place[0, i]
            dy = place[1, j] - place[1, i]
            dz = place[2, j] - place[2, i]
            r2 = dx * dx + dy * dy + dz * dz + SOFT2
            w = mass[j] / (r2 * math.sqrt(r2))
            ax += dx * w
            ay += dy * w
            az += dz * w
        acc[0, i], acc[1, i], acc[2, i] = ax, ay, az


@njit
def energy(place, speed, mass):
    """Of motion, and of each pair."""
    total = 0.0
    for i in range(mass.size):
        total += 0.5 * mass[i] * (speed[:, i] ** 2).sum()
        for j in range(i):
            total -= mass[i] * mass[j] / math.sqrt(((place[:, i] - place[:, j]) ** 2).sum() + SOFT2)
    return total


@njit
def leapfrog(place, speed, mass, steps):
    acc = np.empty_like(place)
    pull(place, mass, acc)
    for _ in range(steps):
        speed += 0.5 * STEP * acc
        place += STEP * speed
        pull(place, mass, acc)
        speed += 0.5 * STEP * acc


def galaxy(rng, n, centre, motion, tilt):
    """A heavy centre and a disc of light bodies on circles around it."""
    r = 0.3 + 0.7 * np.sqrt(rng.random(n))
    angle = 2 * math.pi * rng.random(n)
    mass = np.full(n, 0.1 / n)
    mass[0], r[0] = 1.0, 0.0
    v = np.sqrt(r**2 / (r**2 + SOFT2) ** 1.5)
    place = np.array(
        [r * np.cos(angle), r * np.sin(angle) * math.cos(tilt), r * np.sin(angle) * math.sin(tilt)]
    )
    speed = np.array(
        [-v * np.sin(angle), v * np.cos(angle) * math.cos(tilt), v * np.cos(angle) * math.sin(tilt)]
    )
    return place + np.array(centre)[:, None], speed + np.array(motion)[:, None], mass


def main(n, path):
    rng = np.random.default_rng(1)
    parts = [
        galaxy(rng, n // 2, (-1.5, -0.4, 0.0), (0.4, 0.0, 0.0), 0.4),
        galaxy(rng, n - n // 2, (1.5, 0.4, 0.0), (-0.4, 0.0, 0.0), -0.6),
    ]
    place, speed, mass = (np.concatenate(x, axis=-1) for x in zip(*parts))
    before, push = energy(place, speed, mass), speed @ mass
    image = np.zeros((240, 480))
    took = 0.0
    for k in range(500):
        start = time.perf_counter()
        leapfrog(place, speed, mass, 1)
        took += time.perf_counter() - start
        if k >= 480:  # a short exposure, as the last bodies move
            image += np.histogram2d(place[1], place[0], image.shape, ((-2, 2), (-4, 4)))[0]
    after = energy(place, speed, mass)
    assert abs(after / before - 1) < 0.01, (before, after)
    assert np.abs(speed @ mass - push).max() < 1e-9
    write_png(path, blue(np.sqrt(image / 12)))
    print(f"{n} bodies, 500 steps in {took:.1f} s, {n * n * 500 / took / 1e6:,.0f} million pairs a second")
    print(f"energy {before:.5f}, then {after:.5f}; momentum is kept to 1e-9; drawn in {path}")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["2000"])[0]), (sys.argv[2:] or ["nbody.png"])[0])
