"""Treadle in one page: four loops that plain Python runs slowly, compiled by adding one decorator.

Each result is checked against plain Python or NumPy, each way is timed, and the Mandelbrot set is written as a picture.

    python examples/quickstart.py [picture.png]
"""

from __future__ import annotations

import math
import struct
import sys
import time
import zlib
from pathlib import Path

import numpy as np
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
def hypot(x, y):
    x = abs(x)
    y = abs(y)
    small = min(x, y)
    large = max(x, y)
    if large == 0.0:
        return large
    ratio = small / large
    return large * math.sqrt(1.0 + ratio * ratio)


@njit
def bubble_sort(a):
    for end in range(len(a), 1, -1):
        for i in range(end - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]


def escape_time(re, im, limit):
    """Steps until the point leaves the circle of radius 2. Plain Python: compiled when a compiled function calls it."""
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
    """Seconds of one call, and its result."""
    start = time.perf_counter()
    result = call(*args)
    return time.perf_counter() - start, result


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


def write_png(path, counts, limit):
    """A greyscale-to-blue picture of escape times: PNG by hand, 8 bits a channel."""
    shade = np.sqrt(counts / limit)
    inside = counts == limit
    rgb = np.empty((*counts.shape, 3), dtype=np.uint8)
    for channel, power in enumerate((2.5, 1.4, 0.7)):
        rgb[..., channel] = np.where(inside, 0, 255.0 * shade**power)
    raw = b"".join(b"\0" + row.tobytes() for row in rgb)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows, cols = counts.shape
    header = struct.pack(">IIBBBBB", cols, rows, 8, 2, 0, 0, 0)
    Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw, 6))
        + chunk(b"IEND", b"")
    )


def main(picture_path):
    rng = np.random.default_rng(1)
    rows = []

    def job(name, compiled, args, numpy_call, check, fresh=None):
        """Time plain Python, NumPy, the first and the later calls; `fresh` renews arguments that a call changes."""
        renew = fresh or (lambda: args)
        python, expected = timed(compiled.py_func, *renew())
        first, got = timed(compiled, *renew())
        check(expected, got)
        if fresh is None:
            later = best(compiled, *args)
        else:
            later = min(timed(compiled, *renew())[0] for _ in range(20))
        rows.append((name, python, numpy_call and best(numpy_call), first, later))

    a = rng.random((1000, 1000))

    def check_sum(expected, got):
        assert expected == got, (expected, got)
        assert math.isclose(got, a.sum(), rel_tol=1e-12)

    job("sum of a 1000 x 1000 array", sum2d, (a,), a.sum, check_sum)

    def check_hypot(expected, got):
        assert expected == got == math.hypot(3.0, 4.0) == 5.0

    job("hypot(3.0, 4.0)", hypot, (3.0, 4.0), lambda: math.hypot(3.0, 4.0), check_hypot)

    original = np.arange(1000, dtype=np.float32)
    shuffled = rng.permutation(original)
    last = []

    def fresh():
        last.append(shuffled.copy())
        return (last[-1],)

    def check_sort(expected, got):
        assert expected is None and got is None
        assert all(np.array_equal(x, original) for x in last)

    job("bubble sort of 1000 float32", bubble_sort, (), lambda: np.sort(shuffled), check_sort, fresh)

    limit = 100
    small = (-2.0, 0.6, -1.2, 1.2, np.zeros((120, 130), dtype=np.int32), limit)

    def check_mandelbrot(expected, got):
        compiled = small[4].copy()
        reference = np.zeros_like(compiled)
        mandelbrot_numpy(*small[:4], reference, limit)
        assert np.array_equal(compiled, reference)

    job("Mandelbrot set, 120 x 130", mandelbrot, small, lambda: mandelbrot_numpy(*small), check_mandelbrot)

    print(f"{'':30}{'Python':>12}{'NumPy':>12}{'first call':>12}{'later calls':>13}{'speed-up':>10}")
    for name, python, numpy_time, first, later in rows:
        print(
            f"{name:30}{show(python):>12}{show(numpy_time):>12}{show(first):>12}{show(later):>13}{python / later:>9.0f}x"
        )
    print("NumPy's column for hypot is math.hypot. The first call compiles. All results were checked.")

    picture = np.zeros((600, 650), dtype=np.int32)
    mandelbrot(-2.0, 0.6, -1.2, 1.2, picture, limit)
    write_png(picture_path, picture, limit)
    print(f"The Mandelbrot set is drawn in {picture_path}.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "mandelbrot.png")
