"""What threads do together on the emulated device: operations of a warp, barriers with a result, in any flow of control.

Each kernel runs compiled, by the block where its threads go one way and in rounds elsewhere, and by the model (cuda_model.py), which is the
kernel's own text in CPython with a thread as a generator.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
import treadle
from cuda_check import kernel_of, shared_kernel
from cuda_model import model
from test_cuda_language import SHUFFLES, VOTES, numbers


def check(text: str, blocks: int, block: int, *args) -> None:
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    wanted = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    shared_kernel(text)[blocks, block](*mine)
    model(text, blocks, block, *wanted)
    for got, want in zip(mine, wanted):
        np.testing.assert_array_equal(got, want, err_msg=text)


def own(text: str) -> str:
    """The kernel with results of its own for each block: `q[t] += x` of two blocks would be a race."""
    return text.replace("q[t]", "q[cuda.grid(1)]")


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8", "i2", "u1"])
@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles(name, dtype):
    for n in (1, 16, 32, 40, 96) if dtype == "i8" else (32, 45):
        check(SHUFFLES[name], 1, n, numbers(n, dtype), np.zeros(n, dtype))


@pytest.mark.parametrize("name", VOTES)
def test_votes(name):
    for n in (1, 7, 32, 33, 70):
        for a in (numbers(n, "i8"), np.full(n, 4), np.zeros(n, np.int64)):
            check(own(VOTES[name]), 2, n, a, np.zeros(2 * n, np.int64))


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8", "i1", "u2", "?"])
def test_matches_of_each_type(dtype):
    a = (numbers(40, "i8") % 3).astype(dtype)
    check(VOTES["matches"], 1, 40, a, np.zeros(40, np.int64))


# What is no one way for all: run in rounds.
TANGLED = {
    "one warp alone": """
def k(a, q):
    s = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    x = a[t]
    step = 16
    while step > 0:
        x += cuda.shfl_down_sync(0xffffffff, x, step)
        step //= 2
    if cuda.laneid == 0:
        s[t // 32] = x
    cuda.syncthreads()
    if t < 32:
        x = s[t] if t < (cuda.blockDim.x + 31) // 32 else 0
        for d in (16, 8, 4, 2, 1):
            x += cuda.shfl_down_sync(0xffffffff, x, d)
        if t == 0:
            q[0] = x
""",
    "warps that loop for themselves": """
def k(a, q):
    t = cuda.threadIdx.x
    n, x = t // 32 + 1, a[t]
    while n > 0:
        x = cuda.shfl_xor_sync(0xffffffff, x, 1) + n
        n -= 1
    q[t] = x
""",
    "lanes ahead of others": """
def k(a, q):
    t = cuda.threadIdx.x
    x, y = a[t], 0
    for i in range(3):
        x += cuda.shfl_down_sync(0xffffffff, x, 1)
        if cuda.laneid < 8:
            y += cuda.shfl_xor_sync(0xff, x, 3)
    q[t] = x * 100 + y
""",
    "groups by value": """
def k(a, q):
    t = cuda.threadIdx.x
    m = cuda.match_any_sync(0xffffffff, a[t] & 1)
    if a[t] & 1:
        q[t] = cuda.popc_(m, 0) + cuda.ballot_sync(m, a[t] > 4)
    else:
        q[t] = cuda.shfl_sync(m, a[t], 0)
""".replace("cuda.popc_(m, 0) + ", ""),
    "counts under a branch": """
def k(a, q):
    t = cuda.threadIdx.x
    if a[0] > 3:
        q[t] = cuda.syncthreads_count(a[t] > 3)
    else:
        q[t] = cuda.syncthreads_or(a[t] > 6) + 7
""",
    "loops until all are done": """
def k(a, q):
    t, x, n = cuda.threadIdx.x, a[cuda.threadIdx.x], 0
    while cuda.syncthreads_or(x > 0):
        x -= 2
        n += cuda.syncthreads_count(x > 0)
    q[t] = n * 100 + x
""",
    "early ones leave": """
def k(a, q):
    t, x = cuda.threadIdx.x, a[cuda.threadIdx.x]
    for i in range(8):
        if x == i:
            return
        m = cuda.activemask()
        q[t] += cuda.ballot_sync(m, x & 1) & 0xff
        cuda.syncthreads()
        q[t] += cuda.syncthreads_count(x > 4)
""",
    "some leave behind a test of all": """
def k(a, q):
    if a.size < 30:
        if a[0] == 1:
            return
    t = cuda.threadIdx.x
    if t % 3 == 2:
        return
    cuda.syncthreads()
    q[t] = 1
""",
    "some leave behind a loop that all could leave": """
def k(a, q):
    t, i = cuda.threadIdx.x, a.size
    while i > 0:
        i -= 1
        if a.size < 0:
            return
    if t // 32 < 2:
        return
    cuda.syncthreads()
    q[t] = 1
""",
    "tuples from two sides": """
def k(a, q):
    t = cuda.threadIdx.x
    b = (a[t], 3)
    if t % 3:
        b = (t, a[0])
    cuda.syncthreads()
    q[t] = b[0] * 10 + b[1]
""",
    "a tuple goes round": """
def k(a, q):
    t = cuda.threadIdx.x
    b = (0, (a[t], 1))
    for i in range(a.size % 5):
        cuda.syncthreads()
        b = (b[0] + a[i % a.size], (b[1][1], b[1][0] + i))
    q[t] = b[0] * 100 + b[1][0] * 10 + b[1][1]
""",
    "the best of a warp": """
def k(a, q):
    t = cuda.threadIdx.x
    best = (a[t], t)
    for d in (16, 8, 4, 2, 1):
        v = cuda.shfl_xor_sync(0xffffffff, best[0], d)
        j = cuda.shfl_xor_sync(0xffffffff, best[1], d)
        if v > best[0] and j < cuda.blockDim.x:
            best = (v, j)
    q[t] = best[0]
""",
    "quotient and rest": """
def k(a, q):
    t = cuda.threadIdx.x
    b = divmod(a[t], 3)
    cuda.syncthreads()
    q[t] = b[0] * 10 + b[1]
""",
    "arrays change their names where not all wait": """
def k(a, q):
    s, p = cuda.shared.array(128, np.int64), cuda.shared.array(128, np.int64)
    t = cuda.threadIdx.x
    s[t], p[t] = a[t], t
    n = 0
    for i in range(4):
        if a[t] >= 0:
            cuda.syncthreads()
        s, p = p, s
        n = n * 3 + s[t]
    q[t] = n
""",
    "each chooses an array": """
def k(a, q):
    s, p = cuda.shared.array(128, np.int64), cuda.shared.array(128, np.int64)
    t = cuda.threadIdx.x
    s[t], p[t] = a[t], t
    r = s if t % 3 else p
    for i in range(3):
        cuda.syncthreads()
        q[t] += r[t] + r[0]
        cuda.syncthreads()
        if a[t] > i + 2:
            r = s
        r[t] += 1
""",
    "a bool decides behind a barrier": """
def k(a, q):
    t = cuda.threadIdx.x
    c = a[t] % 3 == 1
    cuda.syncthreads()
    if c:
        cuda.syncthreads()
        q[t] = 1
""",
    "a bool says who leaves": """
def k(a, q):
    t = cuda.threadIdx.x
    c, d = t % 3 == 1, a[t] > 2
    n = cuda.syncthreads_count(c)
    q[t] = n
    if not c and d:
        return
    for i in range(3):
        if c and d:
            q[t] += 1
            break
        cuda.syncthreads()
    q[t] += 10
""",
    "those of a mask": """
def k(a, q):
    t = cuda.threadIdx.x
    c = a[t] > 2
    m = cuda.ballot_sync(0xffffffff, c)
    if c:
        q[t] = cuda.shfl_sync(m, t, t * 3) % 2 + cuda.ballot_sync(m, t > 5) % 1000
        cuda.syncwarp(m)
""",
    "votes decide": """
def k(a, q):
    t, x = cuda.threadIdx.x, a[cuda.threadIdx.x]
    while not cuda.all_sync(0xffffffff, x == 0):
        if x > 0:
            x -= 1
        q[t] += 1
    cuda.syncthreads()
    q[t] += 10 * x
""",
}


@pytest.mark.parametrize("name", TANGLED)
def test_tangled(name):
    for n in (1, 31, 32, 64, 100):
        check(own(TANGLED[name]), 2, n, numbers(n, "i8"), np.zeros(2 * n, np.int64))


@pytest.mark.emulated  # hardware waits, or ends the context
def test_who_waits_for_whom_is_told():
    kernel = kernel_of("""
def k(a, q):
    t = cuda.threadIdx.x
    if t < 4:
        q[t] = cuda.shfl_sync(0xffffffff, t, 0)
    cuda.syncthreads()
""")
    with pytest.raises(
        RuntimeError, match="lanes of a warp wait for lanes that are elsewhere: in line 5 and in line 6"
    ):
        kernel[1, 32](np.zeros(32), np.zeros(32))
    kernel[1, 4](np.zeros(4), np.zeros(4))
    kernel = kernel_of("def k(q):\n    t = cuda.threadIdx.x\n    q[t] = cuda.shfl_sync(0xf, t, 0)\n")
    with pytest.raises(RuntimeError, match="in line 3 is reached by a lane that its mask does not name"):
        kernel[1, 32](np.zeros(32))
    kernel = kernel_of("""
def k(a):
    t = cuda.threadIdx.x
    if t % 2:
        a[t] = cuda.syncthreads_count(True)
    else:
        a[t] = cuda.syncthreads_or(True)
""")
    with pytest.raises(
        RuntimeError, match="threads of a block wait at different barriers: in line 5 and in line 7"
    ):
        kernel[1, 8](np.zeros(8))


@pytest.mark.emulated
def test_no_handler_around_them():
    kernel = kernel_of(
        "def k(q):\n    try:\n        q[0] = cuda.ballot_sync(1, True)\n    except IndexError:\n        pass\n"
    )
    with pytest.raises(treadle.LoweringError, match="cannot stand in a kernel that has a `try`"):
        kernel[1, 1](np.zeros(1))


def _statements(rng: random.Random, depth: int, even: bool) -> list[str]:
    """Lines of a kernel's body. `even`: all threads of the block come here."""
    out: list[str] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(12)
        i = f"i{depth}"
        lane = rng.choice(["t", "n", "3", "x & 31", "t * 5"])
        if kind == 0:
            out += [
                f"x += cuda.shfl_{rng.choice(['up', 'down', 'xor'])}_sync(0xffffffff, x, {rng.choice(['1', '4', 'n', 't & 7'])})"
            ]
        elif kind == 1:
            out += [f"y ^= cuda.shfl_sync(0xffffffff, x + y, {lane})"]
        elif kind == 2:
            out += [
                f"x += cuda.{rng.choice(['all', 'any', 'eq'])}_sync(0xffffffff, {rng.choice(['x & 1', 'y > 3', 'n > 2'])})"
            ]
        elif kind == 3:
            out += ["y += np.int64(cuda.ballot_sync(0xffffffff, x & 2) & 0xffff)"]
        elif kind == 4 and even:
            out += [
                f"y += cuda.syncthreads_{rng.choice(['count', 'and', 'or'])}({rng.choice(['x & 1', 'y > x', 't'])})"
            ]
        elif kind == 5 and even:
            out += [
                "s[t] = x",
                "cuda.syncthreads()",
                "y += s[(t + 5) % cuda.blockDim.x]",
                "cuda.syncthreads()",
            ]
        elif kind == 6:
            out += [  # from no lane beyond the mask: what comes from there is open
                "m = cuda.match_any_sync(0xffffffff, y & 3)",
                "x += np.int64(cuda.ballot_sync(m, x & 1) & 0xff) + cuda.shfl_sync(m, y, t)",
            ]
        elif kind in (7, 8) and depth < 3:
            test = (
                rng.choice(["n > 2", "n & 1", f"b[{rng.randrange(4)}] > 2"])
                if even or rng.random() < 0.4
                else "w & 1"
            )
            varies = even and rng.random() < 0.3
            out += [f"if {'w & 1' if varies else test}:"]
            out += ["    " + line for line in _statements(rng, depth + 1, even and not varies)]
        elif kind in (9, 10) and depth < 3:
            end = rng.choice(["n", "3", "b[1]"])
            varies = even and rng.random() < 0.3
            out += [f"for {i} in range({'1 + w' if varies else end}):"]
            out += ["    " + line for line in _statements(rng, depth + 1, even and not varies)] + [
                f"    x += {i}"
            ]
        else:
            out += [
                rng.choice(
                    [
                        "x = (x * 3 + y) & 0xfffff",
                        "y -= x >> 1",
                        "if t & 1:\n    x += 2\nelse:\n    y = x",
                        "q[t] += x & 15",
                        "x += b[n & 3]",
                    ]
                )
            ]
    return [part for line in out for part in line.split("\n")]


@pytest.mark.parametrize("seed", range(30))
def test_random_kernels(seed):
    rng = random.Random(seed)
    body = "\n    ".join(_statements(rng, 0, True))
    text = (
        "def k(b, q, n):\n    s = cuda.shared.array(128, np.int64)\n    t = cuda.threadIdx.x\n    w = t // 32\n    x, y = t, 1\n    "
        f"{body}\n    cuda.syncthreads()\n    q[t] = q[t] * 1000 + x * 7 + y\n"
    )
    for size in (32, 70):
        check(text, 1, size, np.array([3, 2, 5, 1]), np.zeros(size, np.int64), 3)


# --- what crosses barriers ---

CROSSING = {
    "a function that was chosen": """
    f = math.sqrt if i > 2 else math.exp
    o[i] = f(a[i])
    cuda.syncthreads()
    o[i] += f(2.0)
""",
    "functions of a tuple": """
    pair = (math.sqrt, math.fabs)  # exact on any device
    f = pair[i % 2]
    for k in range(3):
        o[i] += f(a[i])
        cuda.syncthreads()
        f = pair[(i + k) % 2]
        o[i] += f(2.25)
""",
    "functions that hold something": """
    y = a[i] * 2
    f = (lambda z: z + y, lambda z: z * y)[i % 2]
    cuda.syncthreads()
    for _ in range(2):
        o[i] += f(3.0)
        cuda.syncthreads()
""",
    "what may be None": """
    x = None
    if i > 2:
        x = a[i]
    cuda.syncthreads()
    if x is not None:
        o[i] = x
    cuda.syncthreads()
    if x is None:
        x = 1.0
    cuda.syncthreads()
    o[i] += x
""",
    "tuples with None and text": """
    t = (i, None, 1.5)
    for _ in range(3):
        cuda.syncthreads()
        t = (t[0] + 1, None, t[2] * 2)
    u = (i, math.sqrt, (a[i], "ab"))
    cuda.syncthreads()
    o[i] = t[0] + t[2] + u[1](u[2][0]) + len(u[2][1])
""",
}


@pytest.mark.parametrize("name", CROSSING)
def test_what_is_made_of_items_crosses_barriers(name):
    check(f"def k(a, o):\n    i = cuda.grid(1)\n{CROSSING[name]}", 2, 8, np.arange(16.0), np.zeros(16))
