"""Loops in kernels on the emulated device: those that the block runs, with threads as the innermost loop, and those that it must leave to each thread.

Each kernel runs compiled and by the oracle of cuda_check.py, which is its own text in CPython.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import treadle
from cuda_check import check, kernel_of

STRIDE = {
    "range": """
def k(a, b, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        b[i] = a[i] * 3 + i
""",
    "a step of its own": """
def k(a, b, n):
    i, s = cuda.grid(1), cuda.gridsize(1)
    while i < n:
        b[i] = a[i] * 3 + i
        i += s
""",
    "while": """
def k(a, b, n):
    i = cuda.grid(1)
    while i < n:
        b[i] = a[i] * 3 + i
        i += cuda.gridsize(1)
""",
    "what comes after": """
def k(a, b, n):
    i = cuda.grid(1)
    while i < n:
        b[i] += a[i]
        i += cuda.gridsize(1)
    b[cuda.grid(1)] += i
""",
    "sums": """
def k(a, b, n):
    s, m = 0, 100
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        s += a[i]
        m = min(m, a[i])
    b[cuda.grid(1)] = s * 1000 + m
""",
    "the last item": """
def k(a, b, n):
    i = -7
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        b[i] = a[i]
    b[cuda.grid(1)] += i
""",
    "breaks": """
def k(a, b, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if a[i] > 6:
            break
        b[i] = a[i] + 1
""",
    "continues": """
def k(a, b, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if a[i] > 6:
            continue
        b[i] = a[i] + 1
""",
    "leaves": """
def k(a, b, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if a[i] > 8:
            return
        b[i] = a[i] + 1
    b[cuda.grid(1)] += 100
""",
    "downwards": """
def k(a, b, n):
    for i in range(n - 1 - cuda.grid(1), -1, -cuda.gridsize(1)):
        b[i] = a[i] + 1
""",
    "two counters": """
def k(a, b, n):
    i, j = cuda.grid(1), 0
    while i < n:
        b[i] = a[i] + j
        i += cuda.gridsize(1)
        j += 2
""",
    "one in the other": """
def k(a, b, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        s = 0
        for j in range(i % 4):
            s += a[j]
        b[i] = s
""",
    "behind a barrier": """
def k(a, b, n):
    s = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    for i in range(t, 64, cuda.blockDim.x):
        s[i] = a[i] + i
    cuda.syncthreads()
    if cuda.grid(1) >= n:
        return
    i = cuda.grid(1)
    while i < n:
        b[i] = s[(i * 7) % 64]
        i += cuda.gridsize(1)
""",
    "before a barrier": """
def k(a, b, n):
    s = cuda.shared.array(32, np.int64)
    t, x = cuda.threadIdx.x, 0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x += a[i]
    s[t] = x
    cuda.syncthreads()
    d = cuda.blockDim.x // 2
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        b[cuda.blockIdx.x] = s[0]
""",
    "under a branch": """
def k(a, b, n):
    if cuda.threadIdx.x % 3:
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            b[i] = a[i] + 2
    else:
        i = cuda.grid(1)
        while i < n:
            b[i] = a[i] + 5
            i += cuda.gridsize(1)
""",
    "rounds of its own": """
def k(a, b, n):
    t = cuda.grid(1)
    for i in range(t % 5):
        b[t] += a[i] + i
""",
    "all go the same rounds": """
def k(a, b, n):
    t, x = cuda.grid(1), 0
    if t < n:
        for i in range(n):
            x += a[i] * (t + i)
        b[t] = x
""",
    "as long as an item says so": """
def k(a, b, n):
    i, s = cuda.grid(1), cuda.gridsize(1)
    while i < n and a[i] > 2:
        b[i] += a[i]
        i += s
""",
    "three beginnings": """
def k(a, b, n):
    s = cuda.gridsize(1)
    if n > 100:
        i = cuda.grid(1)
    elif n > 40:
        i = cuda.grid(1) + 3
    else:
        i = cuda.grid(1) + 1
    while i < n:
        b[i] += a[i]
        i += s
""",
    "rows": """
def k(a, b, n):
    t = cuda.grid(1)
    for i in range(3):
        for j in range(t, n, cuda.gridsize(1)):
            b[j] += a[j] * i
""",
}


@pytest.mark.parametrize("name", STRIDE)
def test_grid_stride(name):
    for n, (grid, block) in itertools.product((0, 1, 31, 64, 200), ((1, 1), (2, 8), (3, 32))):
        a = np.random.default_rng(n).integers(0, 10, 256)
        check(STRIDE[name], grid, block, a, np.zeros(256, np.int64), n)


def test_who_has_left_stays_out():
    text = """
def k(a, b):
    i, s = cuda.grid(1), cuda.gridsize(1)
    while True:
        if a[i] <= 4:
            break
        b[i] += a[i] + 1
        i += s
"""
    a = np.random.default_rng(5).integers(0, 10, 512)
    a[300:] = 0  # all leave by then, and what they leave by is no counter
    for grid, block in ((1, 1), (2, 8), (3, 32)):
        check(text, grid, block, a, np.zeros(512, np.int64))


def test_two_axes():
    text = """
def k(a, b):
    x, y = cuda.grid(2)
    sx, sy = cuda.gridsize(2)
    for i in range(y, a.shape[0], sy):
        for j in range(x, a.shape[1], sx):
            b[i, j] = a[i, j] + b[i, j] * i
"""
    for shape in ((1, 1), (7, 20), (0, 3), (33, 17)):
        a = np.arange(shape[0] * shape[1]).reshape(shape)
        for x in (a, np.asfortranarray(a), a[::-1, ::-1]):
            check(text, (2, 2), (4, 3), x, np.ones(shape, np.int64))


def test_an_index_out_of_range_is_told():
    kernel = kernel_of(
        "def k(a, n):\n    for i in range(cuda.grid(1), n, cuda.gridsize(1)):\n        a[i] = 1\n",
        boundscheck=True,
    )
    kernel[2, 8](np.zeros(20), 20)
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 20"):
        kernel[2, 8](np.zeros(20), 21)


def test_a_step_of_zero():
    kernel = kernel_of("def k(a, s):\n    for i in range(cuda.grid(1), a.size, s):\n        a[i] = 1\n")
    with pytest.raises(ValueError, match="must not be zero"):
        kernel[1, 4](np.zeros(4), 0)


@pytest.mark.parametrize("skip", ["bounds", "hoist,cse", "rotate", "narrow"])
def test_without_a_pass(skip, monkeypatch):
    monkeypatch.setenv("TREADLE_SKIP", skip)
    for name in ("range", "while", "sums", "before a barrier"):
        a = np.random.default_rng(1).integers(0, 10, 256)
        check(STRIDE[name], 2, 32, a, np.zeros(256, np.int64), 200)


def test_many_rounds_on_all_cores():
    kernel = kernel_of("""
def k(a, x, y):
    i = cuda.grid(1)
    s = cuda.gridsize(1)
    while i < x.size:
        y[i] = a * x[i] + y[i]
        i += s
""")
    x, y = np.arange(100_003.0), np.ones(100_003)
    before = treadle.get_num_threads()
    try:
        for threads in (1, before):
            treadle.set_num_threads(threads)
            y[:] = 1
            kernel[7, 96](2.0, x, y)
            assert (y == 2 * x + 1).all()
    finally:
        treadle.set_num_threads(before)


def _body(rng: random.Random, depth: int) -> list[str]:
    out = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(8)
        i = f"i{depth}"
        if kind < 2:
            out += [rng.choice(["x += a[(t + y) % 64]", "y = x ^ t", "x -= y", "y += 1", "b[t] += x"])]
        elif kind < 4 and depth < 3:
            start = rng.choice(["t", "0", "t % 7", "x & 7"])
            stop = rng.choice(["n", "20", "t", "n - t"])
            step = rng.choice(["cuda.gridsize(1)", "1", "3", "cuda.blockDim.x", "1 + (t & 1)"])
            out += [f"for {i} in range({start}, {stop}, {step}):"]
            out += ["    " + s for s in [*_body(rng, depth + 1), f"x += a[{i} % 64]"]]
        elif kind == 4 and depth < 3:
            out += [f"{i} = t", f"while {i} < n:"]
            out += [
                "    " + s
                for s in [*_body(rng, depth + 1), f"{i} += {rng.choice(['cuda.gridsize(1)', '5', 'n'])}"]
            ]
        elif kind == 5 and depth < 3:
            out += [f"if {rng.choice(['t & 1', 'n > 9', 'x > 50', 't < n'])}:"]
            out += ["    " + s for s in _body(rng, depth + 1)]
        else:
            out += ["x = (x * 5 + y) & 0xffff"]
    return [line for part in out for line in part.split("\n")] or ["pass"]


@pytest.mark.parametrize("seed", range(40))
def test_random_loops(seed):
    rng = random.Random(seed)
    text = (
        "def k(a, b, n):\n    t, x, y = cuda.grid(1), 1, 2\n    "
        + "\n    ".join(_body(rng, 0))
        + "\n    b[t] += x * 7 + y\n"
    )
    a = np.random.default_rng(seed).integers(0, 10, 64)
    check(text, 2, 9, a, np.zeros(64, np.int64), 23)
