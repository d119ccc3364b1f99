"""Physics and chemistry: two substances react and spread (Gray and Scott), and spots that divide come of it.

python examples/gray_scott.py [size [picture.png]]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from picture import blue, write_png
from treadle import njit, prange

FEED, KILL = 0.030, 0.062
SPREAD_U, SPREAD_V = 0.16, 0.08


@njit(parallel=True)
def step(u, v, u2, v2):
    """One step in time on a plane whose edges meet, from u, v to u2, v2."""
    rows, cols = u.shape
    for i in prange(rows):
        up, down = (i - 1) % rows, (i + 1) % rows
        for j in range(cols):
            left, right = (j - 1) % cols, (j + 1) % cols
            flow_u = u[up, j] + u[down, j] + u[i, left] + u[i, right] - 4.0 * u[i, j]
            flow_v = v[up, j] + v[down, j] + v[i, left] + v[i, right] - 4.0 * v[i, j]
            reaction = u[i, j] * v[i, j] * v[i, j]
            u2[i, j] = u[i, j] + SPREAD_U * flow_u - reaction + FEED * (1.0 - u[i, j])
            v2[i, j] = v[i, j] + SPREAD_V * flow_v + reaction - (FEED + KILL) * v[i, j]


def step_numpy(u, v):
    """The same in array operations."""

    def flow(a):
        near = np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1)
        return near - 4.0 * a

    reaction = u * v * v
    return (
        u + SPREAD_U * flow(u) - reaction + FEED * (1.0 - u),
        v + SPREAD_V * flow(v) + reaction - (FEED + KILL) * v,
    )


@njit
def run(u, v, steps):
    u2, v2 = np.empty_like(u), np.empty_like(v)
    for _ in range(steps // 2):
        step(u, v, u2, v2)
        step(u2, v2, u, v)


def begin(n):
    """All of the first substance, and squares of the second."""
    u, v = np.ones((n, n)), np.zeros((n, n))
    rng = np.random.default_rng(1)
    for i, j in rng.integers(0, n - n // 16, (12, 2)):
        u[i : i + n // 16, j : j + n // 16] = 0.5
        v[i : i + n // 16, j : j + n // 16] = 0.25
    return u, v


def seconds(call, *args):
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start


def main(n, path):
    u, v = begin(n)
    want_u, want_v = step_numpy(*step_numpy(u, v))
    by_numpy = sum(seconds(step_numpy, u, v) for _ in range(50)) / 50
    run(u, v, 2)
    assert np.allclose(u, want_u, rtol=1e-12) and np.allclose(v, want_v, rtol=1e-12, atol=1e-15)
    took = seconds(run, u, v, 6000)
    assert 0.0 < v.mean() < 1.0 and u.min() >= 0.0
    write_png(path, blue(v / v.max()))
    print(
        f"{n} x {n} places, 6000 steps in {took:.2f} s: "
        f"{took / 6000 * 1e6:.0f} us a step, in NumPy {by_numpy * 1e6:.0f} us"
    )
    print(f"two steps are as NumPy has them; drawn in {path}")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["256"])[0]), (sys.argv[2:] or ["gray_scott.png"])[0])
