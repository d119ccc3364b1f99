"""What kernels may say: operations of a warp, barriers with a result, and what else Numba's `cuda` has in kernels.

Where threads meet, the interpreter of typed IR is held against a model (cuda_model.py), and PTX is made; the rest runs on the emulated device.
"""

from __future__ import annotations

import collections
import re
from fractions import Fraction as F

import numpy as np
import pytest
import treadle
from cuda_check import ATOMIC, compile_text, in_some_order, kernel_of
from cuda_model import check_interpreted, interpret, ptx
from test_target import assemble, assembler, params_of
from treadle import _core, cuda

SHUFFLES = {
    "sum of a warp": """
def k(a, q):
    t = cuda.threadIdx.x
    x = a[t]
    step = 16
    while step > 0:
        x += cuda.shfl_xor_sync(0xffffffff, x, step)
        step //= 2
    q[t] = x
""",
    "from one lane": """
def k(a, q):
    t = cuda.threadIdx.x
    q[t] = cuda.shfl_sync(0xffffffff, a[t], 5)
    q[t] += cuda.shfl_sync(0xffffffff, a[t], t * 7)
""",
    "up and down": """
def k(a, q):
    t = cuda.threadIdx.x
    x = a[t]
    q[t] = cuda.shfl_up_sync(0xffffffff, x, 1) + 10 * cuda.shfl_down_sync(0xffffffff, x, 3)
    q[t] += cuda.shfl_up_sync(0xffffffff, x, t) * 3
""",
    "running sum": """
def k(a, q):
    t, lane = cuda.threadIdx.x, cuda.laneid
    x = a[t]
    step = 1
    while step < cuda.warpsize:
        y = cuda.shfl_up_sync(0xffffffff, x, step)
        if lane >= step:
            x += y
        step *= 2
    q[t] = x
""",
    "half a warp": """
def k(a, q):
    t = cuda.threadIdx.x
    if cuda.laneid < 16:
        q[t] = cuda.shfl_down_sync(0xffff, a[t], 4)
    else:
        q[t] = cuda.shfl_sync(0xffff0000, a[t], 17)
""",
}
VOTES = {
    "votes": """
def k(a, q):
    t = cuda.threadIdx.x
    p = a[t] > 3
    q[t] = cuda.all_sync(0xffffffff, p) + 2 * cuda.any_sync(0xffffffff, p) + 4 * cuda.eq_sync(0xffffffff, p)
    q[t] += 8 * (cuda.ballot_sync(-1, a[t]) & 0xff)
""",
    "matches": """
def k(a, q):
    t = cuda.threadIdx.x
    q[t] = cuda.match_any_sync(0xffffffff, a[t]) & 0xffff
    m, p = cuda.match_all_sync(0xffffffff, a[t])
    if p:
        q[t] += m & 0xf
    cuda.syncwarp()
""",
    "active lanes": """
def k(a, q):
    t = cuda.threadIdx.x
    if a[t] > 3:
        m = cuda.activemask()
        q[t] = (m & 0xffff) * 100 + (m & cuda.lanemask_lt())
    else:
        q[t] = cuda.activemask()
    cuda.syncwarp(0xffffffff)
""",
    "counting barriers": """
def k(a, q):
    t = cuda.threadIdx.x
    p = a[t] > 3
    n = cuda.syncthreads_count(p)
    q[t] = n * 10 + cuda.syncthreads_and(p) * 2 + cuda.syncthreads_or(p)
""",
    "some have ended": """
def k(a, q):
    t = cuda.threadIdx.x
    if a[t] > 5:
        return
    q[t] = cuda.syncthreads_count(a[t] > 2)
    cuda.syncthreads()
    q[t] += cuda.shfl_sync(cuda.activemask(), t, 0)
""",
    "through shared memory": """
def k(a, q):
    s = cuda.shared.array(4, np.int64)
    t, w = cuda.threadIdx.x, cuda.threadIdx.x // cuda.warpsize
    b = cuda.ballot_sync(0xffffffff, a[t] > 3)
    if cuda.laneid == 0:
        s[w] = b
    cuda.syncthreads()
    total = 0
    for i in range((cuda.blockDim.x + 31) // 32):
        total += s[i]
    q[t] = total
""",
}


def numbers(n: int, dtype: str) -> np.ndarray:
    a = np.random.default_rng(n).integers(0, 8, n)
    return (a * 2.5 if dtype[0] == "f" else a).astype(dtype)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8", "i2", "u1"])
@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles(name, dtype):
    for n in (1, 16, 32, 40, 96) if dtype == "i8" else (32, 45):
        a = numbers(n, dtype)
        check_interpreted(SHUFFLES[name], 1, n, a, np.zeros(n, dtype))


@pytest.mark.parametrize("name", VOTES)
def test_votes(name):
    for n in (1, 7, 32, 33, 70):
        for a in (numbers(n, "i8"), np.full(n, 4), np.zeros(n, np.int64)):
            check_interpreted(VOTES[name], 2, n, a, np.zeros(n, np.int64))


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8", "i1", "u2", "?"])
def test_matches_of_each_type(dtype):
    a = (numbers(40, "i8") % 3).astype(dtype)
    check_interpreted(VOTES["matches"], 1, 40, a, np.zeros(40, np.int64))


@pytest.mark.parametrize("processor", ["sm_75", "sm_90"])
def test_meetings_as_ptx(processor):
    made = "".join(
        ptx(text, processor, np.zeros(1), np.zeros(1, np.int64))
        for text in [*SHUFFLES.values(), *VOTES.values()]
    )
    for op in ("shfl.sync.bfly", "shfl.sync.up", "shfl.sync.down", "shfl.sync.idx", "vote.sync.all", "vote.sync.any",
               "vote.sync.uni", "vote.sync.ballot", "match.any.sync", "match.all.sync", "bar.warp.sync", "activemask",
               "bar.red.popc", "bar.red.and", "bar.red.or"):  # fmt: skip
        assert op in made, op


def test_lanes_on_the_emulated_device():
    kernel = kernel_of(
        "def k(q):\n    i = (cuda.threadIdx.z * cuda.blockDim.y + cuda.threadIdx.y) * cuda.blockDim.x + cuda.threadIdx.x\n"
        "    q[i, 0] = cuda.laneid\n    q[i, 1] = cuda.lanemask_lt()\n    q[i, 2] = cuda.warpsize\n"
    )
    q = np.zeros((3 * 7 * 4, 3), np.int64)
    kernel[1, (3, 7, 4)](q)
    lanes = np.arange(84) % 32
    assert (q[:, 0] == lanes).all() and (q[:, 1] == (1 << lanes) - 1).all() and (q[:, 2] == 32).all()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("cuda.shfl_sync(1.5, t, 0)", "the mask must be an integer, not float64"),
        ("cuda.shfl_sync(1, t, 0.5)", "where the value comes from must be an integer"),
        ("cuda.shfl_sync(1, 1j, 0)", "takes a real number, not complex128"),
        ("cuda.match_any_sync(1, q)", "takes a real number, not array"),
        ("cuda.ballot_sync('x', True)", "the mask must be an integer"),
        ("cuda.all_sync(1)", "predicate"),
        ("cuda.laneid()", "not callable"),
    ],
)
def test_bad_arguments(line, what):
    with pytest.raises(treadle.TypingError, match=what):
        kernel_of(f"def k(q):\n    t = cuda.threadIdx.x\n    q[t] = {line}\n")[1, 1](np.zeros(1, np.int64))


def test_they_are_for_kernels():
    with pytest.raises(treadle.TypingError, match="for kernels and functions that they call"):
        treadle.njit(lambda: cuda.activemask())()
    for call in (cuda.syncwarp, cuda.activemask, cuda.lanemask_lt):
        with pytest.raises(treadle.TypingError, match="has a meaning in kernels only"):
            call()
    with pytest.raises(treadle.TypingError, match="has a meaning in kernels only"):
        range(cuda.laneid)


# --- memory ---

LOCAL = """
def k(a, q):
    m = cuda.local.array((2, 3), np.float64)
    t = cuda.threadIdx.x
    for i in range(2):
        for j in range(3):
            m[i, j] = a[t] * (3 * i + j)
    cuda.syncthreads()
    total = 0.0
    for i in range(2):
        for j in range(3):
            total += m[i, j]
    q[t] = total
"""
DYNAMIC = """
def k(a, q):
    s = cuda.shared.array(0, np.float64)
    n = cuda.shared.array(shape=(0,), dtype=np.int32)
    t = cuda.threadIdx.x
    if t == 0:
        q[cuda.blockDim.x] = s.size
        q[cuda.blockDim.x + 1] = n.shape[0]
    s[t] = a[t]
    cuda.syncthreads()
    q[t] = s[cuda.blockDim.x - 1 - t]
"""


def test_local_arrays():
    a = np.arange(40.0)
    want = a * 15
    (_, q) = interpret(LOCAL, 1, 40, a, np.zeros(40))
    assert (q == want).all()
    q = np.zeros(40)
    kernel_of(LOCAL)[1, 40](a, q)
    assert (q == want).all()
    assert "bar.sync" in ptx(LOCAL, "sm_80", a, a)


def test_dynamic_shared_memory():
    a, q = np.arange(8.0), np.zeros(10)
    (_, q) = interpret(DYNAMIC, 1, 8, a, q, nbytes=100)
    assert q.tolist() == [7, 6, 5, 4, 3, 2, 1, 0, 12, 25]
    q = np.zeros(10)
    kernel_of(DYNAMIC)[1, 8, 0, 100](a, q)
    assert q.tolist() == [7, 6, 5, 4, 3, 2, 1, 0, 12, 25]
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 7"):
        kernel_of(DYNAMIC, boundscheck=True)[1, 8, 0, 63](a, q)
    made = ptx(DYNAMIC, "sm_80", a, q)
    assert ".extern .shared .align 16 .b8 dynamic_shared[]" in made and "%dynamic_smem_size" in made


def test_bytes_of_a_launch():
    kernel = kernel_of("def k(q):\n    q[0] += 1\n")
    q = np.zeros(1)
    for n in (0, 1, np.int64(49153), 232448):
        kernel[1, 1, 0, n](q)
    assert q[0] == 4
    for n in (-1, 232449):
        with pytest.raises(
            ValueError, match=f"{n} bytes of dynamic shared memory; a block has 0 to 232448 .227 KiB."
        ):
            kernel[1, 1, 0, n]
    with pytest.raises(TypeError, match="the bytes of shared memory must be an int, not 1.5"):
        kernel[1, 1, 0, 1.5]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("cuda.local.array(n, np.int8)", "needs a shape that is known when the kernel is compiled"),
        ("cuda.local.array(0, np.int8)", "each size must be at least 1"),
        ("cuda.local.array((3, 0), np.int8)", "each size must be at least 1"),
        ("cuda.local.array(2**19 + 1, np.int8)", "a thread has 512 KiB of local memory"),
        ("cuda.shared.array((0, 2), np.int8)", "each size must be at least 1"),
        ("cuda.shared.array(49153, np.int8)", "a block has 48 KiB of static shared memory"),
        ("own()", "a function with a local array cannot return an array"),
    ],
)
def test_memory_that_is_not_there(line, what):
    @cuda.jit(device=True)
    def own():
        return cuda.local.array(3, np.int8)

    with pytest.raises(treadle.TypingError, match=what):
        kernel_of(f"def k(q, n):\n    m = {line}\n    m[0] = 1\n    q[0] = m[0]\n", own=own)[1, 1](
            np.zeros(1), 3
        )


FENCES = """
def k(a, q):
    i = cuda.grid(1)
    a[i] = i
    cuda.threadfence_block()
    cuda.threadfence()
    cuda.threadfence_system()
    done = cuda.atomic.add(q, 0, 1)
    if done == cuda.gridsize(1) - 1:
        total = 0
        for j in range(a.size):
            total += a[j]
        q[1] = total
"""


def test_fences():
    """The last thread to come sees what all have written."""
    kernel = kernel_of(FENCES)
    for _ in range(20):
        a, q = np.zeros(64 * 32, np.int64), np.zeros(2, np.int64)
        kernel[64, 32](a, q)
        assert q.tolist() == [a.size, a.size * (a.size - 1) // 2]
    made = ptx(FENCES, "sm_80", a, q)
    assert "membar.cta" in made and "membar.gl" in made and "membar.sys" in made


# --- atomics ---

NAN = float("nan")
OF_ATOMICS = {
    "inc": ["u4", "u8"],
    "dec": ["u4", "u8"],
    **dict.fromkeys(["and_", "or_", "xor"], ["i4", "u4", "i8", "u8"]),
}


@pytest.mark.parametrize("name", ATOMIC)
def test_atomics(name):
    """Each thread gets what some before it have left; in memory of the grid's, and of the block's. On the emulated device they come in order."""
    text = f"""
def k(v, a, q, r):
    s = cuda.shared.array(2, v.dtype)
    t = cuda.threadIdx.x
    if t == 0:
        s[1] = a[1, 0]
    cuda.syncthreads()
    q[t] = cuda.atomic.{name}(a, (1, 0), v[t])
    r[t] = cuda.atomic.{name}(s, 1, v[t])
    cuda.syncthreads()
    if t == 0:
        a[0, 1] = s[1]
"""
    rng, kernel = np.random.default_rng(len(name)), kernel_of(text)
    for dtype in OF_ATOMICS.get(name, ["i4", "u4", "i8", "u8", "f4", "f8"]):
        v = rng.integers(0, 2**31 if dtype[0] != "f" and len(name) % 2 else 9, 50).astype(dtype)
        if dtype[0] == "i":
            v[::3] = -v[::3]
        if dtype[0] == "f":
            v[[0, 3, 4, 20]] = NAN, NAN, np.inf, -np.inf
            v[30:] *= -0.5
        for start in (0, 5, v[0]):
            a, q, r = np.zeros((2, 2), dtype), np.zeros_like(v), np.zeros_like(v)
            first = a[1, 0] = np.array(start).astype(dtype)[()]
            kernel[1, v.size](v, a, q, r)
            in_some_order(ATOMIC[name], first, v, q, a[1, 0])
            in_some_order(ATOMIC[name], first, v, r, a[0, 1])
            if not cuda.is_emulated():
                continue
            want, now = [], first
            with np.errstate(all="ignore"):
                for x in v:
                    want.append(now)
                    now = ATOMIC[name](now, x)
            for got, end in ((q, a[1, 0]), (r, a[0, 1])):
                np.testing.assert_array_equal(got, np.array(want, dtype), err_msg=dtype)
                np.testing.assert_array_equal(end, now)


def test_an_order_of_atomics_is_looked_for():
    add = ATOMIC["add"]
    in_some_order(add, 0, [1, 2, 3], [5, 3, 0], 6)
    for values, old, end in (
        ([1, 2, 3], [5, 3, 0], 5),  # another end
        ([1, 2, 3], [0, 0, 0], 6),  # none has seen another's
        ([1, 2, 3], [0, 1, 2], 6),
        ([1, -1, 1], [0, 8, 7], 1),  # a circle beside it
    ):
        with pytest.raises(AssertionError, match="atomic"):
            in_some_order(add, 0, np.array(values), np.array(old), end)


def test_atomics_between_blocks():
    kernel = kernel_of("""
def k(x, f, u, n):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.max(f, 0, x[i])
        cuda.atomic.min(f, 1, x[i])
        cuda.atomic.nanmax(f, 2, x[i] if i % 3 else np.nan)
        cuda.atomic.inc(u, 0, 6)
        cuda.atomic.dec(u, 1, 6)
        while cuda.atomic.compare_and_swap(n, 0, 1) != 0:
            pass
        n[1] += 1
        cuda.threadfence()
        cuda.atomic.exch(n, 0, 0)
""")
    x = np.random.default_rng(5).permutation(30_001).astype(np.float64)
    f, u, n = np.array([-1.0, 1e9, NAN]), np.array([0, 0], np.uint32), np.zeros(2, np.int64)
    kernel[16, 32](x, f, u, n)
    assert f.tolist() == [30_000, 0, x[np.arange(x.size) % 3 > 0].max()]
    assert u.tolist() == [30_001 % 7, (-30_001) % 7] and n.tolist() == [0, 30_001]


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_compare_and_swap(dtype):
    text = """
def k(a, b, q):
    t = cuda.threadIdx.x
    q[t] = cuda.atomic.compare_and_swap(a, t // 2, t)
    q[t] += 10 * cuda.atomic.cas(b, (0, t % 2), 0, t + 1)
"""
    a, b, q = np.zeros(3, dtype), np.zeros((1, 2), dtype), np.zeros(6, dtype)
    kernel_of(text)[1, 6](a, b, q)
    now, want = 0, []
    for t in range(6):
        want.append(now + 10 * (0 if t < 2 else t % 2 + 1))
        now = t if now == t // 2 else now
    assert q.tolist() == want and a[0] == now and b.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("cuda.atomic.inc(i, 0, 1)", "inc.. is not defined for arrays of int64"),
        ("cuda.atomic.dec(f, 0, 1)", "dec.. is not defined for arrays of float64"),
        ("cuda.atomic.xor(f, 0, 1)", "xor.. is not defined for arrays of float64"),
        ("cuda.atomic.max(h, 0, 1)", "max.. is not defined for arrays of int16"),
        ("cuda.atomic.nanmax(i, 0, 1j)", "takes a real number, not complex128"),
        ("cuda.atomic.compare_and_swap(f, 0, 1)", "swap.. is not defined for arrays of float64"),
        ("cuda.atomic.compare_and_swap(m, 0, 1)", "an index of each axis"),
    ],
)
def test_atomics_that_are_not_there(call, what):
    args = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int16), np.zeros((1, 1), np.int64)
    with pytest.raises(treadle.TypingError, match=what):
        kernel_of(f"def k(i, f, h, m):\n    {call}\n")[1, 1](*args)


# --- bits and numbers ---


def bits(x):
    """The bits of a NumPy integer, as a Python int, and how many it has."""
    n = 8 * x.dtype.itemsize
    return int(x) & (1 << n) - 1, n


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_bits(dtype):
    n = 8 * np.dtype(dtype).itemsize
    x = np.array([0, 1, 2, 3, 40, (1 << n) - 1, 1 << (n - 1), (1 << n) // 3], np.uint64).astype(dtype)
    wide = np.dtype(np.uint64 if n == 64 else np.uint32)
    q = np.zeros((4, x.size), np.uint64)
    kernel_of("""
def k(x, q):
    t = cuda.threadIdx.x
    q[0, t] = cuda.popc(x[t])
    q[1, t] = cuda.clz(x[t])
    q[2, t] = cuda.ffs(x[t])
    q[3, t] = cuda.brev(x[t])
""")[1, x.size](x, q)
    for k, v in enumerate(x):
        b, n = bits(v)
        r, m = bits(v.astype(wide))
        assert q[0, k] == b.bit_count() and q[1, k] == n - b.bit_length(), v
        assert q[2, k] == (b & -b).bit_length() and q[3, k] == int(f"{r:0{m}b}"[::-1], 2), v


def test_types_of_bits_and_numbers():
    kernel = kernel_of("""
def k(q, i, u, h, f, d):
    q[0] = cuda.popc(h) == h.dtype.type(1)
    q[1] = cuda.brev(h) == 1 << 31
    q[2] = cuda.fma(f, f, f).itemsize
    q[3] = cuda.fma(f, 2, 1.0).itemsize
    q[4] = cuda.fma(f, d, f).itemsize
    q[5] = cuda.cbrt(f).itemsize
    q[6] = cuda.cbrt(i).itemsize
    q[7] = cuda.ffs(i).itemsize
    q[8] = cuda.clz(u).itemsize
    q[9] = cuda.selp(i > 0, f, d).itemsize
    q[10] = cuda.selp(u, h, h).itemsize
    q[11] = cuda.fma(2, 3, 4).itemsize
    q[12] = cuda.popc(True) + cuda.clz(1) + cuda.popc(255)
""")
    if not cuda.is_emulated():  # it has no numbers as arrays
        return
    q = np.zeros(13, np.int64)
    kernel[1, 1](q, 1, np.uint32(3), np.int16(1), np.float32(1), 1.0)
    assert q.tolist() == [1, 1, 4, 4, 8, 4, 8, 4, 4, 8, 2, 8, 1 + 63 + 8]


def test_fused_products_and_roots():
    x = np.random.default_rng(0).normal(size=(300, 3))
    q = np.zeros((300, 3))
    kernel_of("""
def k(x, q):
    i = cuda.grid(1)
    q[i, 0] = cuda.fma(x[i, 0], x[i, 1], x[i, 2])
    q[i, 1] = cuda.cbrt(x[i, 0])
    q[i, 2] = cuda.selp(x[i, 0] > 0, x[i, 1], -1)
    cuda.nanosleep(100)
""")[3, 100](x, q)
    for (a, b, c), (r, _, s) in zip(x, q):
        assert r == float(F(a) * F(b) + F(c)) and s == (b if a > 0 else -1)
    np.testing.assert_allclose(q[:, 1], np.cbrt(x[:, 0]), rtol=1e-15)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("cuda.popc(1.5)", "takes an integer, not float64"),
        ("cuda.fma(1, 1j, 1)", "takes a real number, not complex128"),
        ("cuda.selp(1, a, 1)", "takes a number, not array"),
        ("cuda.nanosleep(1e3)", "takes an integer, not float64"),
    ],
)
def test_numbers_that_do_not_fit(call, what):
    with pytest.raises(treadle.TypingError, match=what):
        kernel_of(f"def k(a):\n    {call}\n")[1, 1](np.zeros(1))


def test_numbers_as_ptx():
    made = ptx(
        "def k(a, n):\n    t = cuda.threadIdx.x\n    m = n[t]\n    n[t] = cuda.popc(m) + cuda.clz(m) + cuda.ffs(m) + cuda.brev(m)\n"
        "    a[t] = cuda.fma(a[t], a[t], 1.0) + cuda.selp(m > 1, a[t], 0.0)\n    cuda.nanosleep(20)\n",
        "sm_75",
        np.zeros(1),
        np.zeros(1, np.int64),
    )
    for op in ("popc.b64", "clz.b64", "brev.b64", "fma.rn.f64", "nanosleep.u32"):
        assert op in made


# --- arguments ---

P = collections.namedtuple("P", "x y")
TUPLES = """
def k(t, q, n=2):
    s = cuda.shared.array(4, np.float64)
    i = cuda.threadIdx.x
    s[i] = t[0][i] * t[1][0]
    cuda.syncthreads()
    q[i] = s[3 - i] + t[1][1].y[i] * t[1][1].x * n
"""


def test_tuples_as_arguments():
    a, b, q = np.arange(4.0), np.arange(8.0)[::2], np.zeros(4)
    kernel = kernel_of(TUPLES)
    kernel[1, 4]((a, (3, P(10, b))), q)
    assert (q == (a * 3)[::-1] + b * 20).all()
    kernel[1, 4]((cuda.to_device(a), (2.5, P(np.float32(1), cuda.to_device(b)))), q, 5)
    assert (q == (a * 2.5)[::-1] + b * 5).all()
    made = ptx(
        TUPLES.replace("[1].y", "[1][1]").replace("[1].x", "[1][0]"),
        "sm_80",
        (a, (3, (10, a))),
        q,
        2,
    )
    assert len(params_of(made, "k")) == 1 + (2 + 1 + 1 + 2) + 2 + 1


def test_complex_numbers_none_and_empty_tuples_as_arguments():
    q = np.zeros(3, np.complex128)
    kernel = kernel_of(
        "def k(q, z, w, no, e, p):\n    q[0] = z * w\n    q[1] = len(e)\n    if no is None:\n        q[2] = p.y\n"
    )
    kernel[1, 1](q, 1 + 2j, np.complex64(3j), None, (), P((1, None), 2j))
    assert q.tolist() == [(1 + 2j) * 3j, 0, 2j]


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("text",), r"k\(\): argument 'x' is a string"),
        (((1, ("a", 2)),), "argument 1 is .int64, .'a'"),
        (
            ([1.0],),
            r"k\(\): argument 'x' is a value of type list that kernels do not take\n  help: pass a NumPy array",
        ),
        ((np.array([object()]),), "argument 'x' is an array of object|no arrays of object"),
        ((1, 2, 3), r"k\(\): too many positional arguments|k\(\) takes 1 positional argument but 3"),
        ((), r"k\(\): missing a required argument: 'x'|k\(\) missing 1 required positional argument: 'x'"),
    ],
)
def test_arguments_that_no_kernel_takes(args, what):
    with pytest.raises(TypeError, match=what):
        kernel_of("def k(x):\n    pass\n")[1, 1](*args)


def test_a_launch_is_refused_at_the_kernel():
    """What is wrong with a launch as a whole is shown where the kernel begins, not in our own files."""
    kernel = cuda.jit("void(float32[:])")(compile_text("def k(x):\n    pass\n", "k"))
    error = treadle.TypingError if cuda.is_emulated() else TypeError
    with pytest.raises(error, match="has no signature for arguments of types .array.float64") as e:
        kernel[1, 1](np.zeros(3))
    assert "_kernel.py" not in str(e.value) and ".gx" not in str(e.value)


# --- arrays that are part of the kernel ---

TABLE = np.arange(12.0).reshape(3, 4)
TEXT_OF_CONST = """
def k(q):
    c = cuda.const.array_like(TABLE)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    q[i, j] = c[i, j] * 2
"""


@pytest.mark.parametrize("table", [TABLE, TABLE.T, TABLE[::2, 1:], TABLE.astype("i2"), TABLE[::-1] * 1j])
def test_constant_arrays(table):
    q = np.zeros(table.shape, table.dtype)
    kernel = kernel_of(TEXT_OF_CONST, TABLE=table)
    kernel[1, q.shape](q)
    assert (q == table * 2).all()


def test_constant_arrays_in_ptx():
    """Their items are part of it: of small ones in constant memory, which has 64 KiB."""
    small, large, none = TABLE.T.astype("i2"), np.arange(9000.0), np.zeros((0, 3))
    text = "def k(q, i):\n    q[0] = A[i, 0] + cuda.const.array_like(B)[i]\n    if C.size:\n        q[1] = C[i, 0]\n"
    function = kernel_of(text, A=small, B=large, C=none)._kernel
    signature = _core.signature(treadle.void(treadle.float64[::1], treadle.int64))
    made = function._device(signature, "nvptx64:sm_80", "ptx", True, {})
    made = made if isinstance(made, str) else made[0]
    found = {
        int(n): (space, bytes(map(int, items.split(", "))).ljust(int(n), b"\0"))
        for space, n, items in re.findall(
            r"\.(\w+) \.align 16 \.b8 tr_arr_\d+\[(\d+)\] = \{([\d, ]+)\}", made
        )
    }
    assert found == {24: ("const", small.tobytes("A")), 72000: ("global", large.tobytes())}
    assert "ld.const" in made and re.search(r"ld\.global\.nc\.[fb]64", made)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("cuda.const.array_like(q)", "takes an array that is known when the kernel is compiled"),
        ("cuda.const.array_like(3)", "takes an array, not int64"),
        ("cuda.const.array_like(TABLE)[0, 0] = 1", "read-only"),
    ],
)
def test_what_is_no_constant_array(line, what):
    with pytest.raises(treadle.TypingError, match=what):
        kernel_of(f"def k(q):\n    {line}\n", TABLE=TABLE)[1, 1](np.zeros(1))


# --- print, assert ---


def test_lines_are_whole(capfd):
    """Of many blocks on all cores."""
    kernel = kernel_of('def k(q):\n    i = cuda.grid(1)\n    print("thread", i, q[i], i > 3, sep=":")\n')
    kernel[50, 20](np.arange(1000.0))
    lines = capfd.readouterr().out.splitlines()
    shape = "{}" if cuda.is_emulated() else "{:g}"  # a GPU prints floats as C does
    assert sorted(lines) == sorted(f"thread:{i}:{shape.format(float(i))}:{i > 3}" for i in range(1000))


@pytest.mark.parametrize("debug", [False, True])
def test_asserts(debug):
    text = 'def k(q):\n    assert q[cuda.grid(1)] < 5, "too large"\n'
    kernel = cuda.jit(debug=debug)(compile_text(text, "k"))
    kernel[2, 2](np.arange(4))
    with pytest.raises(AssertionError, match="too large"):
        kernel[2, 4](np.arange(8))


PRINT = """
def k(q, z, f):
    i = cuda.grid(1)
    print("100 %", i, q[i], i > 3, z, f, sep=";", end=".")
    print(f"last {f}")
    if i > 2:
        print()
"""


def test_print_as_ptx():
    made = ptx(PRINT, "sm_80", np.zeros(1), np.complex128(1), np.float32(1))
    texts = [
        bytes(map(int, t.split(", "))).rstrip(b"\0").decode()
        for t in re.findall(r"\.b8 text\S*\[\d+\] = \{([\d, ]+)\}", made)
    ]
    assert sorted(texts) == sorted(
        ["100 %%;%lld;%.17g;%s;(%.17g%+.17gj);%.9g.", "True", "False", "last %.9g\n", "\n"]
    )
    assert made.count("vprintf, ") == 3


GRID = """
def k(a, q):
    g = cuda.cg.this_grid()
    i = cuda.grid(1)
    a[i] = i
    g.sync()
    q[i] = a[cuda.gridsize(1) - 1 - i]
    cuda.cg.this_grid().sync()
    a[i] = q[i]
"""


def test_barriers_of_the_grid():
    """In PTX: the launch has a word that each block adds to."""
    made = ptx(GRID, "sm_80", np.zeros(1), np.zeros(1))
    assert (
        made.count("bar.sync") == 4
        and len(re.findall(r"atom\.\S*add\.u32", made)) == 2
        and "%nctaid.z" in made
    )
    a, q = np.zeros(4), np.zeros(4)
    kernel_of(GRID)[2, 2](a, q)
    assert (a == np.arange(4)[::-1]).all() and (a == q).all()
    for line, what in {
        "cuda.cg.GridGroup()": "makes no group",
        "cuda.cg.this_grid().wait()": "no attribute 'wait'",
        "cuda.cg.this_grid()[0]": "index|subscript|item",
    }.items():
        with pytest.raises(treadle.TypingError, match=what):
            kernel_of(f"def k(q):\n    {line}\n")[1, 1](np.zeros(1))


ASSEMBLED = [
    (GRID, (np.zeros(1), np.zeros(1))),
    *((text, (np.zeros(1), np.zeros(1, np.int64))) for text in [*SHUFFLES.values(), *VOTES.values()]),
    (LOCAL, (np.zeros(1), np.zeros(1))),
    (DYNAMIC, (np.zeros(1), np.zeros(1))),
    (FENCES, (np.zeros(1), np.zeros(1, np.int64))),
    (PRINT, (np.zeros(1), np.complex128(1), np.float32(1))),
    (
        TUPLES.replace("[1].y", "[1][1]").replace("[1].x", "[1][0]"),
        ((np.zeros(1), (3, (10, np.zeros(1)))), np.zeros(1), 2),
    ),
]


@pytest.mark.parametrize("processor", ["sm_75", "sm_80", "sm_90"])
def test_ptx_assembles(processor, tmp_path):
    tool = assembler()
    for k, (text, args) in enumerate(ASSEMBLED):
        path = tmp_path / f"{k}.ptx"
        path.write_text(ptx(text, processor, *args))
        assemble(tool, path, processor)
