"""Treadle in one page: loops and array expressions, compiled by adding one decorator.

Each result is checked against plain Python or NumPy, each way is timed, and the Mandelbrot set is drawn.

    python examples/quickstart.py [picture.png]
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from picture import write_escape_times
from treadle import njit


@njit
def sum2d(a):
    rows, cols = a.shape
    total = 0.0
    for i in range(rows):
        for j in range(cols):
            total += a[i, j]
    return total


@njit
def total(a):
    return a.sum()


@njit
def mean_distance(x, y, px, py):
    """Of points from one point: no array is made of any of it."""
    return np.sqrt((x - px) ** 2 + (y - py) ** 2).mean()


@njit
def edit_distance(a, b):
    """How many letters must be changed, put in or left out to make b of a."""
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        corner, row[0] = row[0], i + 1
        for j in range(len(b)):
            change = corner + (a[i] != b[j])
            corner = row[j + 1]
            row[j + 1] = min(change, row[j] + 1, corner + 1)
    return row[len(b)]


def escape_time(re, im, limit):
    """Steps until the point leaves the circle of radius 2. Compiled when a compiled function calls it."""
    x = 0.0
    y = 0.0
    for n in range(limit):
        xx = x * x
        yy = y * y
        if xx + yy > 4.0:
            return n
        y = 2.0 * x * y + im
        x = xx - yy + re
    return limit


@njit
def mandelbrot(left, right, bottom, top, picture, limit):
    rows, cols = picture.shape
    dx = (right - left) / cols
    dy = (top - bottom) / rows
    for i in range(rows):
        for j in range(cols):
            picture[i, j] = escape_time(left + j * dx, bottom + i * dy, limit)


def mandelbrot_numpy(left, right, bottom, top, picture, limit):
    """The same in array operations: every point takes every step."""
    rows, cols = picture.shape
    re = left + np.arange(cols) * ((right - left) / cols)
    im = bottom + np.arange(rows) * ((top - bottom) / rows)
    c_re, c_im = np.broadcast_arrays(re[None, :], im[:, None])
    x, y = np.zeros_like(c_re), np.zeros_like(c_re)
    alive = np.ones(picture.shape, dtype=bool)
    picture[...] = limit
    for n in range(limit):
        xx, yy = x * x, y * y
        gone = alive & (xx + yy > 4.0)
        picture[gone] = n
        alive &= ~gone
        y = np.where(alive, 2.0 * x * y + c_im, y)
        x = np.where(alive, xx - yy + c_re, x)


def timed(call, *args):
    """Seconds of CPU time of one call, which other programs disturb least, and its result."""
    start = time.process_time()
    result = call(*args)
    return time.process_time() - start, result


def best(call, *args, budget=0.2):
    """The shortest of repeated calls, in seconds."""
    shortest, end = math.inf, time.perf_counter() + budget
    while True:
        shortest = min(shortest, timed(call, *args)[0])
        if time.perf_counter() > end:
            return shortest


def show(seconds):
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1.0:
            return f"{seconds * scale:.1f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def main(picture_path):
    rng = np.random.default_rng(1)
    rows = []

    def job(name, compiled, args, check, numpy_call=None, python=True):
        """Check a result, and time plain Python, NumPy, the first call and later ones."""
        plain = timed(compiled.py_func, *args)[0] if python else None
        first, got = timed(compiled, *args)
        check(got)
        rows.append((name, plain, numpy_call and best(numpy_call), first, best(compiled, *args)))

    def near(expected):
        def check(got):
            assert math.isclose(got, expected, rel_tol=1e-12), (got, expected)

        return check

    a = rng.random((1000, 1000))
    job("sum of 1000 x 1000, a loop", sum2d, (a,), near(a.sum()), a.sum)
    job("a.sum()", total, (a,), near(a.sum()), a.sum, python=False)

    points = *rng.random((2, 1_000_000)), 0.5, 0.5
    by_numpy = mean_distance.py_func
    job(
        "distances of a million points",
        mean_distance,
        points,
        near(by_numpy(*points)),
        lambda: by_numpy(*points),
        python=False,
    )

    words = rng.integers(0, 4, 400), rng.integers(0, 4, 400)
    job("edit distance, 400 letters", edit_distance, words, near(edit_distance.py_func(*words)))

    limit = 100
    small = (-2.0, 0.6, -1.2, 1.2, np.zeros((120, 130), dtype=np.int32), limit)

    def check_mandelbrot(_):
        reference = np.zeros_like(small[4])
        mandelbrot_numpy(*small[:4], reference, limit)
        assert np.array_equal(small[4], reference)

    job("Mandelbrot set, 120 x 130", mandelbrot, small, check_mandelbrot, lambda: mandelbrot_numpy(*small))

    print(f"{'':30}{'Python':>10}{'NumPy':>10}{'first call':>12}{'later calls':>13}  times Python, NumPy")
    for name, plain, by_numpy, first, later in rows:
        times = [f"{t / later:,.{1 if t < 10 * later else 0}f}" if t else "-" for t in (plain, by_numpy)]
        shown = f"{show(plain):>10}{show(by_numpy):>10}{show(first):>12}{show(later):>13}"
        print(f"{name:30}{shown}{times[0]:>14}{times[1]:>7}")
    print("CPU time; all results were checked. The first call compiles. The loop adds in order, as Python")
    print("does; a.sum() may add in any order and is quicker for it, NumPy's and the compiled one.")

    picture = np.zeros((600, 650), dtype=np.int32)
    mandelbrot(-2.0, 0.6, -1.2, 1.2, picture, limit)
    write_escape_times(picture_path, picture, limit)
    print(f"The Mandelbrot set is drawn in {picture_path}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "mandelbrot.png")
