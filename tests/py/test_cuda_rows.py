"""Rows of threads on the emulated device: which of them are run (trim), as how wide a block (grid_wide), and ranges that they walk a stride apart (grid_stride).

Kernels run compiled and by the oracle of cuda_check.py, which is their own text in CPython, whose integers do not overflow.
"""

from __future__ import annotations

import math
import os
import random
import re
import subprocess
import sys

import numpy as np
import pytest
import treadle
from cuda_check import check, kernel_of
from treadle import cuda

FAR = 2**63
SHAPES = (
    (1, 1),
    (3, 32),
    (2, (5, 4)),
    ((3, 2), (8, 3)),
    ((2, 2), (1, 7)),
    ((2, 1, 3), (3, 2, 4)),
    (40, 3),
    ((2, 3), (8, 4)),
    (2, (4, 4, 2)),
)


def ir_of(kernel, axes=1):
    (text,) = kernel._entries[axes].inspect_ir().values()
    return text.split("\n\n")[0]  # without what is compiled when it is reached


# --- guards ---

COORDINATES = [
    "x",
    "y",
    "z",
    "x + p",
    "p + x",
    "y + p",
    "x - q",
    "cuda.threadIdx.x",
    "cuda.threadIdx.y + p",
    "x + y",
    "q + x + 2",
]
LIMITS = ["n", "m", "5", "0", "n - 1", "p"]


def condition(rng):
    """A test, as somebody may write it."""
    sides = [rng.choice(COORDINATES), rng.choice(LIMITS)]
    rng.shuffle(sides)
    c = f"{sides[0]} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {sides[1]}"
    return f"not {c}" if rng.random() < 0.2 else c


def guarded(rng):
    """A kernel that counts, thread by thread, what it comes to."""
    lines = [
        "def k(out, n, m, p, q):",
        "    x, y, z = cuda.grid(3)",
    ]
    kind = rng.randrange(5)
    tests = [condition(rng) for _ in range(rng.randint(1, 4))]
    body = ["out[z, y, x] += 1", "out[z, y, x] += x * 3 + y"]
    if kind == 0:
        lines.append(f"    if {' and '.join(tests)}:")
        lines += [f"        {b}" for b in body]
    elif kind == 1:
        lines += [line for c in tests for line in (f"    if {c}:", "        return")]
        lines += [f"    {b}" for b in body]
    elif kind == 2:
        for depth, c in enumerate(tests):
            lines.append("    " * (depth + 1) + f"if {c}:")
        lines += ["    " * (len(tests) + 1) + b for b in body]
    elif kind == 3:
        lines += [f"    if {tests[0]}:", f"        {body[0]}", "    else:", f"        {body[1]}"]
    else:
        lines += [
            f"    if {' or '.join(tests)}:",
            f"        {body[0]}",
            f"    if {tests[0]}:",
            f"        {body[1]}",
        ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(60))
def test_guards(seed):
    rng = random.Random(seed)
    text = guarded(rng)
    for grid, block in rng.sample(SHAPES, 3):
        n, m = rng.choice([0, 1, 3, 7, 40]), rng.choice([-2, 2, 6, FAR - 1, -FAR])
        p, q = rng.choice([0, 3, -4, 1 - FAR + 300, FAR - 3000]), rng.choice([0, 1, -2])
        check(text, grid, block, np.zeros((12, 16, 128), np.int64), n, m, p, q)


def test_guards_of_arrays():
    text = """
def k(a, b):
    x, y = cuda.grid(2)
    if 0 < x < a.shape[1] - 1 and 0 < y < a.shape[0] - 1:
        b[y, x] = a[y, x] * 4 - a[y, x - 1] - a[y, x + 1] - a[y - 1, x] - a[y + 1, x]
"""
    for shape in ((0, 5), (1, 1), (2, 2), (3, 3), (17, 33), (64, 7)):
        a = np.random.default_rng(1).integers(-9, 9, (shape[0] * 2, shape[1] * 2))
        for view in (
            a[: shape[0], : shape[1]].copy(),
            a[::2, ::2],
            np.asfortranarray(a[: shape[0], : shape[1]]),
        ):
            for grid, block in (((3, 2), (16, 16)), ((9, 20), (8, 4)), ((1, 64), 64)):
                check(text, grid, block, view, np.zeros(shape, np.int64))


# Threads end, or skip what comes, before loops and barriers that the others share; what they leave by can be asked again, or not.
LEAVING = {
    "a loop": """
def k(a, b, n, m):
    x, y = cuda.grid(2)
    if x < n and y < m:
        s = 0
        for i in range(a.shape[1]):
            s += a[y, i] * a[i, x]
        b[y, x] = s
""",
    "one or the other": """
def k(a, b, n, m):
    x, y = cuda.grid(2)
    if x >= n or y >= m:
        return
    s = 0
    for i in range(a.shape[1]):
        s += a[y, i] * a[i, x]
        b[y, x] += i
    b[y, x] += s
""",
    "both": """
def k(a, b, n, m):
    x, y = cuda.grid(2)
    t = cuda.shared.array((4, 8), np.int64)
    if x >= n and y >= m:
        return
    s = 0
    for r in range(3):
        t[cuda.threadIdx.y, cuda.threadIdx.x] = a[y, x] + r
        cuda.syncthreads()
        s += t[0, 0] + t[cuda.threadIdx.y, 0]
        cuda.syncthreads()
    b[y, x] = s
""",
    "one after the other": """
def k(a, b, n, m):
    x, y = cuda.grid(2)
    t = cuda.shared.array((4, 8), np.int64)
    t[cuda.threadIdx.y, cuda.threadIdx.x] = x
    if x >= n:
        return
    cuda.syncthreads()
    b[y, x] = t[cuda.threadIdx.y, 0]
    if y >= m:
        return
    cuda.syncthreads()
    t[cuda.threadIdx.y, cuda.threadIdx.x] = 5
    cuda.syncthreads()
    b[y, x] += t[0, 0]
""",
    "by what is read": """
def k(a, b, n, m):
    x, y = cuda.grid(2)
    t = cuda.shared.array((4, 8), np.int64)
    t[cuda.threadIdx.y, cuda.threadIdx.x] = x
    cuda.syncthreads()
    if a[y, x] > 4:
        return
    s = 0
    for i in range(n):
        s += a[y, i] + t[0, i % 8]
    cuda.syncthreads()
    b[y, x] = s
""",
    "a block has ended, and what it would read is not there": """
def k(a, b, n, m):
    x, y = cuda.grid(2)
    t = cuda.shared.array((4, 8), np.int64)
    if cuda.blockIdx.x * 8 + cuda.threadIdx.x >= 8:
        return
    for i in range(a[0, cuda.blockIdx.x * 1000]):
        t[cuda.threadIdx.y, cuda.threadIdx.x] = i + x
        cuda.syncthreads()
        b[y, x] += t[0, 1]
        cuda.syncthreads()
""",
    "with a vote": """
def k(a, b, n, m):
    x, y = cuda.grid(2)
    if x >= n or y >= m:
        return
    for i in range(2):
        b[y, x] += cuda.syncthreads_count(a[y, x] > 4)
""",
}


@pytest.mark.parametrize("name", LEAVING)
def test_leaving(name):
    a = np.random.default_rng(8).integers(0, 9, (16, 32))
    for n, m in ((0, 0), (1, 16), (13, 5), (16, 16), (16, 0)):
        if name == "with a vote":
            k = kernel_of(LEAVING[name])
            b = np.zeros((16, 32), np.int64)
            k[(2, 2), (8, 4)](a, b, n, m)
            want = np.zeros_like(b)
            for y in range(0, 8, 4):
                for x in range(0, 16, 8):
                    here = (slice(y, min(y + 4, m)), slice(x, min(x + 8, n)))
                    want[here] = 2 * (a[here] > 4).sum()
            np.testing.assert_array_equal(b, want)
        else:
            check(
                LEAVING[name],
                (2, 2),
                (8, 4),
                a[:, :16].copy() if "loop" in name or "other" in name else a,
                np.zeros((16, 32), np.int64),
                n,
                m,
            )


def test_what_is_raised():
    k = kernel_of("def k(a, n):\n    i = cuda.grid(1)\n    if i < n:\n        a[i] = 1\n", boundscheck=True)
    a = np.zeros(100)
    k[4, 32](a, 100)
    with pytest.raises(IndexError, match="index 100 is out of bounds"):
        k[4, 32](a, 101)
    k[4, 32](a, -3)


# --- ranges ---

RANGES = [
    ("cuda.grid(1)", "cuda.gridsize(1)"),
    ("cuda.grid(1) + p", "cuda.gridsize(1)"),
    ("cuda.threadIdx.x", "cuda.blockDim.x"),
    ("cuda.threadIdx.x + p", "cuda.blockDim.x"),
    ("cuda.blockIdx.x", "cuda.gridDim.x"),
    ("cuda.threadIdx.x", "7"),
    ("cuda.grid(1) * 2", "cuda.gridsize(1) * 2"),
    ("cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x", "cuda.blockDim.x * cuda.blockDim.y"),
    ("p", "cuda.blockDim.x"),
    ("q - cuda.threadIdx.x", "cuda.blockDim.x"),
]
BODIES = [
    "c[t] += 1",
    "c[t] = i",
    "c[t] += i % 7",
    "s += i",
    "if i % 3:\n            c[t] += 2",
    "for j in range(i % 3):\n            c[t] += j",
]


@pytest.mark.parametrize("start, step", RANGES)
@pytest.mark.parametrize("kind", ["for", "while"])
def test_ranges(start, step, kind):
    rng = random.Random(f"{start}{step}{kind}")
    for body in BODIES:
        if kind == "for":
            loop = f"    for i in range({start}, n, {step}):\n        {body}\n"
        else:
            loop = f"    i = {start}\n    while i < n:\n        {body}\n        i += {step}\n"
        text = (
            "def k(c, n, p, q):\n"
            "    t = (cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y) * cuda.blockDim.x + cuda.threadIdx.x\n"
            f"    s = 0\n{loop}    c[t] += s\n"
        )
        for grid, block in ((1, 1), (3, 8), (2, (5, 3))):
            for n in rng.sample([-5, 0, 1, 17, 64, 150], 2):
                check(
                    text, grid, block, np.zeros(64, np.int64), n, rng.choice([0, 3, -4]), rng.choice([0, 9])
                )
        if kind == "for" and (start[:1] in "pq" or "+ p" in start):  # up to the last number there is
            text = text.replace(body, "c[t] = i")
            check(
                text.replace("c[t] += s", "c[t] -= 1"),
                3,
                8,
                np.zeros(64, np.int64),
                FAR - 1,
                FAR - 150,
                FAR - 30,
            )


def test_ranges_with_arrays():
    text = """
def k(a, b, f):
    s = 0
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        b[i] = a[i] * f + b[i]
        s += a[i]
    b[cuda.grid(1)] += s
"""
    for size in (200, 4095, 20000):
        a = np.random.default_rng(2).integers(0, 9, size)
        for grid, block in ((1, 32), (7, 20), (40, 4)):
            check(text, grid, block, a, np.zeros(size, np.int64), 3)


# --- what becomes of it ---


@pytest.mark.emulated
def test_a_vector_addition_is_one_loop():
    k = kernel_of("def k(a, b, c):\n    i = cuda.grid(1)\n    if i < c.size:\n        c[i] = a[i] + b[i]\n")
    k[4, 32](np.ones(100), np.ones(100), np.zeros(100))
    text = ir_of(k, (32, 1, 1))
    assert text.count("add.nsw trimmed") == 1 and text.count(" turn ") == 0
    assert "alloc" not in text and "checkindex" not in text


@pytest.mark.emulated
def test_a_stride_is_the_blocks():
    for loop in (
        "for i in range(cuda.grid(1), c.size, cuda.gridsize(1)):\n        c[i] = a[i] + c[i]\n",
        "i = cuda.grid(1)\n    while i < c.size:\n        c[i] = a[i] + c[i]\n        i += cuda.gridsize(1)\n",
    ):
        k = kernel_of(f"def k(a, c):\n    {loop}")
        k[4, 32](np.ones(1000), np.zeros(1000))
        text = ir_of(k, (32, 1, 1))
        assert "alloc" not in text and text.count(" trimmed ") + text.count(" turn ") == 1, loop


@pytest.mark.emulated
def test_blocks_that_share_or_ask_are_not_wide():
    wide = "c[cuda.grid(1)] = 1"
    for line, yes in (
        (wide, True),
        ("c[cuda.threadIdx.x] = 1", False),
        ("c[cuda.blockIdx.x] = 1", False),
        ("s = cuda.shared.array(4, np.int64)\n    s[0] = 1\n    c[cuda.grid(1)] = s[0]", False),
        ("cuda.atomic.add(c, 0, 1)", False),
        (f"cuda.syncthreads()\n    {wide}", False),
        ("c[cuda.blockIdx.x * 4 + cuda.threadIdx.x] = 1", False),
        ("i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x\n    c[i] = 1", True),
    ):
        k = kernel_of(f"def k(c):\n    {line}\n")
        k[2, 4](np.zeros(8, np.int64))
        assert ("NUM_THREADS" in ir_of(k)) == yes, line


def test_axes_of_one_thread_have_no_loop():
    k = kernel_of(
        "def k(c):\n    x, y = cuda.grid(2)\n    s = cuda.shared.array(1, np.int64)\n    s[0] = 1\n    c[y, x] = x + y * 10\n"
    )
    for block, axes in ((4, 1), ((4, 2), 2), ((4, 1, 1), 1), ((2, 2, 2), 3)):
        c = np.full((4, 8), -1)
        k[2, block](c)
        if not cuda.is_emulated():
            continue
        assert ir_of(k, axes).count(" turn ") == axes
    assert not cuda.is_emulated() or sorted(k._entries) == [1, 2, 3] and len(k.signatures) == 1


def test_sizes_of_a_block_are_known():
    """Blocks of whole warps have code for their sizes, up to four; what comes then has that for its number of axes."""
    k = kernel_of(
        "def k(a, c):\n    s = cuda.shared.array(1024, np.int64)\n    t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x\n"
        "    s[t] = a[t]\n    cuda.syncthreads()\n    n = cuda.blockDim.x * cuda.blockDim.y\n    c[cuda.blockIdx.x, t] = s[n - 1 - t] + n\n"
    )
    a = np.arange(1024)
    for block in (32, (32, 1), 64, (32, 32), 128, 96, (16, 4), 33, 1024, 32, 64):
        n = int(np.prod(block))
        c = np.zeros((3, n), np.int64)
        k[3, block](a, c)
        np.testing.assert_array_equal(c, np.tile(a[:n][::-1] + n, (3, 1)))
    if not cuda.is_emulated():
        return
    assert list(k._entries) == [(32, 1, 1), (64, 1, 1), (32, 32, 1), (128, 1, 1), 1, 2]
    assert said(k).startswith("blocks of 32 x 1 x 1 threads:") and "\nblocks of 2 axes:" in said(k)
    text = k._entries[64, 1, 1].inspect_ir().popitem()[1].split("\n\n")[0]
    assert re.search(r"%_\.bx: i64", text) and not re.search(r"%_\.b[xyz]\b", text.split("\n", 2)[2])


@pytest.mark.parametrize("threads", [1, 2])
def test_all_threads_of_wide_blocks_run_once(threads):
    before = treadle.get_num_threads()
    k = kernel_of("def k(c):\n    x, y, z = cuda.grid(3)\n    c[z, y, x] += 1\n")
    try:
        treadle.set_num_threads(min(threads, before))
        for grid, block in (
            ((1000, 1, 1), 32),
            ((3, 50, 2), (33, 4)),
            ((1, 1, 9), (1, 2, 64)),
            ((777, 3), (5, 3)),
        ):
            g, b = (t + (1,) * (3 - len(t)) for t in ((grid, (block,) if isinstance(block, int) else block)))
            c = np.zeros([p * q for p, q in zip(g, b)][::-1], np.int8)
            d = cuda.to_device(c)
            k[grid, block](d)
            assert (d.copy_to_host() == 1).all()
    finally:
        treadle.set_num_threads(before)


# --- what it says of itself ---


def said(kernel):
    (text,) = kernel.inspect_emulation().values()
    return text


@pytest.mark.emulated
def test_inspect_emulation():
    k = kernel_of("def k(a):\n    i = cuda.grid(1)\n    if i < a.size:\n        a[i] = 1\n")
    assert k.inspect_emulation() == {}
    k[2, 8](np.zeros(9))
    assert said(k) == "blocks of 1 axis:\n  threads wait for nobody\n  neighbouring blocks along x run as one"
    k[2, (4, 2)](np.zeros(9))
    assert said(k).count("blocks of ") == 2
    first = k._entries[1].inspect("emulation").values()
    assert list(first) == ["k: threads wait for nobody\nk: neighbouring blocks along x run as one\n"]
    (types,) = k.signatures
    assert (
        k.inspect_emulation(types)
        == said(k)
        == next(iter(k.overloads.values()))._kernel.inspect_emulation(types)
    )
    with pytest.raises(KeyError):
        k.inspect_emulation((treadle.int8,))


def test_inspect_emulation_of_declared_kernels():
    k = cuda.jit("void(float64[:])")(kernel_of("def k(a):\n    a[cuda.threadIdx.x] = 1\n").py_func)
    assert said(k) == "blocks of 1 axis:\n  threads wait for nobody"
    k[1, 4](np.zeros(4))


def test_inspect_emulation_tells_why():
    text = """
def k(a, n):
    s = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    x = 0
    for i in range(t, n, cuda.blockDim.x):
        x += a[i]
    s[t] = x
    if a[t] > n:
        cuda.syncthreads()
    cuda.syncthreads()
    a[t] = s[31 - t]
"""
    k = kernel_of(text)
    k[1, 32](np.arange(64), 64)
    assert "stands under a test that differs between them, in line 9" in said(k)
    assert "threads meet in line 10" in said(k) and "asks after each piece" in said(k)
    k = kernel_of(text.replace("    if a[t] > n:\n        cuda.syncthreads()\n", ""))
    k[1, 32](np.arange(64), 64)
    assert (
        "the loop in line 6 is the block's, with its threads innermost: they walk a stride apart, in step"
        in said(k)
    )
    assert "arrays over the threads" in said(k) and "asks after each piece" not in said(k)


# --- other orders ---

ORDER = """
import sys
import numpy as np
import treadle
from treadle import cuda

@cuda.jit
def last(a, b):
    t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    a[cuda.blockIdx.x] = t
    b[0] = cuda.blockIdx.x

@cuda.jit
def once(c):
    x, y, z = cuda.grid(3)
    c[z, y, x] += 1 + x + y * 100 + z * 10000

@cuda.jit
def behind(a, b):
    s = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    d = 1
    while d < 64:
        cuda.syncthreads()
        v = s[t - d] if t >= d else 0
        cuda.syncthreads()
        s[t] += v
        d *= 2
    v = s[t]
    if t >= 32:
        v = cuda.shfl_down_sync(0xFFFFFFFF, v, 1)
    cuda.atomic.add(b, 64, v)
    b[t] = cuda.syncthreads_count(v > 5)

@cuda.jit
def strides(a, b):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        b[i] += a[i] * 2

treadle.set_num_threads(1)
a, b = np.zeros(7, int), np.zeros(1, int)
last[7, (5, 4)](a, b)
print(a.tolist(), b.tolist())
c = np.zeros((6, 8, 10), int)
once[(5, 4, 2), (2, 2, 3)](c)
z, y, x = np.indices(c.shape)
assert (c == 1 + x + y * 100 + z * 10000).all()
a, b = np.arange(64) % 7, np.zeros(65, int)
behind[1, 64](a, b)
print(b.tolist())
a, b = np.arange(1000), np.zeros(1000, int)
strides[3, 32](a, b)
assert (b == a * 2).all()
"""


def test_seeds(tmp_path):
    def run(seed):
        env = {**os.environ, "TREADLE_EMU_SEED": str(seed), "TREADLE_CUDA": "emu", "TREADLE_CUDA_WARN": "0"}
        return subprocess.run([sys.executable, path], env=env, capture_output=True, text=True, check=False)

    path = tmp_path / "order.py"
    path.write_text(ORDER)
    runs = [run(seed) for seed in (0, 1, 2, 3, 4294967295, 1)]
    assert [r.returncode for r in runs] == [0] * 6, runs[1].stderr
    first, rest = zip(*(r.stdout.split("\n", 1) for r in runs))
    assert first[0] == f"{[19] * 7} [6]" and first[1] == first[5]
    assert len(set(first)) >= 4  # who comes last depends on the order,
    assert len(set(rest)) == 1  # and what is right does not
    assert treadle.config.EMU_SEED == 0
    bad = run("x")
    assert bad.returncode and "TREADLE_EMU_SEED='x': must be a number from 0 to 4294967295" in bad.stderr


# --- what is kept from piece to piece ---


def statements(rng, depth, indent, counters):
    """Lines that swap, choose and exchange four variables of a thread, in loops and branches that all threads share."""
    out, p = [], "    " * indent
    for _ in range(rng.randint(1, 4)):
        x, y, z = (rng.choice("abcd") for _ in range(3))
        kind = rng.randrange(9)
        if kind == 0:
            out.append(f"{p}{x}, {y} = {y}, {x}")
        elif kind == 1:
            out.append(f"{p}a, b, c, d = b, c, d, a")
        elif kind == 2:
            out.append(f"{p}{x} = ({y} * 3 + {z} + {rng.choice([*counters, 't', '1'])}) % 1009")
        elif kind == 3:
            out += [f"{p}if {y} % {rng.randint(2, 3)}:", f"{p}    {x} = {z} + 1"]
        elif kind in (4, 5):
            out += [
                f"{p}cuda.syncthreads()",
                f"{p}s[t] = {x}",
                f"{p}cuda.syncthreads()",
                f"{p}{y} = s[(t + {rng.randint(0, 15)}) % 16]",
            ]
        elif kind == 6 and depth < 2:
            out.append(f"{p}for i{depth} in range({rng.choice(['n', '2', 'm % 4'])}):")
            out += statements(rng, depth + 1, indent + 1, [*counters, f"i{depth}"])
        elif kind == 7 and depth < 2:
            out.append(f"{p}if {rng.choice(['n > 1', 'm % 2', 'cuda.blockIdx.x'])}:")
            out += statements(rng, depth + 1, indent + 1, counters)
            if rng.random() < 0.5:
                out += [f"{p}else:", *statements(rng, depth + 1, indent + 1, counters)]
        else:
            out.append(f"{p}{x} = {y}")
    return out


@pytest.mark.parametrize("seed", range(40))
def test_variables_across_barriers(seed):
    rng = random.Random(seed)
    lines = ["def k(out, n, m, q):", "    s = cuda.shared.array(16, np.int64)", "    t = cuda.threadIdx.x"]
    lines += ["    a, b, c, d = t, t * 2, 3, t + 5", "    s[t] = 7", "    cuda.syncthreads()"]
    way = rng.randrange(4)  # some end at once, or later; a barrier that a test decides about
    lines += ["    if cuda.grid(1) >= q:", "        return"] if way == 1 else []
    lines += statements(rng, 0, 1, [])
    lines += ["    if t > 9:", "        return"] if way == 2 else []
    lines += ["    if t > 100:", "        cuda.syncthreads()"] if way == 3 else []
    lines += [*statements(rng, 0, 1, []), "    out[cuda.grid(1)] = a + 10 * b + 100 * c + 1000 * d"]
    for n, m in ((0, 1), (2, 6), (3, 3)):
        check("\n".join(lines) + "\n", 2, 16, np.zeros(32, np.int64), n, m, rng.choice([32, 20, 0]))


ATTRACTION = """
def k(a, b, e):
    s = cuda.shared.array((32, 2), np.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    f = g = 0.0
    x, y = a[i, 0], a[i, 1]
    for tile in range(cuda.gridDim.x):
        s[t, 0], s[t, 1] = a[tile * 32 + t, 0], a[tile * 32 + t, 1]
        cuda.syncthreads()
        for j in range(32):
            f, g = between(x, y, s[j, 0], s[j, 1], f, g, e)
        cuda.syncthreads()
    b[i, 0], b[i, 1] = f, g
"""


def between(x, y, u, v, f, g, e):
    w = 1.0 / math.sqrt((u - x) ** 2 + (v - y) ** 2 + e)
    return f + (u - x) * w * w * w, g + (v - y) * w * w * w


def test_bodies_of_a_tile():
    """Sums in order of what all threads read alike: threads are the innermost loop, in a function that is called, too; each thread's sum is the same bit for bit."""
    a, b = np.random.default_rng(1).random((96, 2)), np.zeros((96, 2))
    kernel = kernel_of(ATTRACTION, between=cuda.jit(device=True)(between))
    kernel[3, 32](a, b, 0.01)
    for i in range(96):
        f = g = 0.0
        for j in range(96):
            f, g = between(*a[i], *a[j], f, g, 0.01)
        assert b[i].tolist() == [f, g]
    assert "the loop in line 10 is the block's, with its threads innermost" in said(kernel)
