"""Kernels on the emulated device: places, memory, barriers, atomics, device functions, launches, messages.

Most are held against their own text run by CPython, thread by thread (cuda_check.py).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import treadle
from cuda_check import ATOMIC, check, in_some_order, kernel_of
from hypothesis import given, settings
from hypothesis import strategies as st
from on_stack import on_stack
from sizes import examples
from treadle import cuda, float32, float64, int64, njit, prange, void

# --- places ---


@pytest.mark.parametrize(
    ("grid", "block"),
    [(1, 1), (3, 4), ((2, 3), (3, 2)), ((2, 1, 2), (1, 3, 2)), ((1, 2), 5), (4, (2, 2)), ([2, 2], [1, 2, 3])],
)
def test_places(grid, block):
    text = """
def k(q):
    t, b, d, g = cuda.threadIdx, cuda.blockIdx, cuda.blockDim, cuda.gridDim
    i = ((b.z * g.y + b.y) * g.x + b.x) * (d.x * d.y * d.z) + (t.z * d.y + t.y) * d.x + t.x
    q[i, 0] = t.x + 10 * t.y + 100 * t.z
    q[i, 1] = b.x + 10 * b.y + 100 * b.z
    q[i, 2] = d.x + 10 * d.y + 100 * d.z
    q[i, 3] = g.x + 10 * g.y + 100 * g.z
    q[i, 4] = cuda.grid(1) + 100 * cuda.gridsize(1)
    x, y = cuda.grid(2)
    q[i, 5] = x + 100 * y
    x, y, z = cuda.grid(3)
    q[i, 6] = x + 100 * y + 10000 * z
    w, h = cuda.gridsize(2)
    q[i, 7] = w * 100 + h
    q[i, 8] = cuda.gridsize(3)[2]
"""
    n = int(np.prod(grid) * np.prod(block))
    check(text, grid, block, np.zeros((n, 9), np.int64))


@pytest.mark.parametrize("stride", [1, 3, -1])
@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_grid_stride_loops(n, stride):
    text = """
def k(a, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]
"""
    x = np.arange(3.0 * n)[::stride][:n]
    y = np.ones(n)
    want = 2.0 * x + y
    kernel_of(text)[3, 32](2.0, x, y)
    assert (y == want).all()


def test_arrays_that_lie_in_any_way():
    kernel = kernel_of(
        "def k(x, y):\n    i, j = cuda.grid(2)\n    if i < x.shape[0] and j < x.shape[1]:\n        y[i, j] = x[i, j] * 2\n"
    )
    base = np.arange(240.0).reshape(12, 20)
    for x in (
        base,
        base.T,
        base[::2, 1::3],
        base[::-1, ::-1],
        np.asfortranarray(base),
        base[:0],
        base[:, :0],
    ):
        y = np.zeros(x.shape[::-1]).T
        kernel[(4, 4), (8, 8)](x, y)
        assert (y == x * 2).all()
    y = np.arange(12.0)  # the same memory twice, element for element and shifted by a block
    kernel[(1, 1), (1, 12)](y[None], y[None])
    assert (y == np.arange(12) * 2).all()
    x = np.arange(8.0)
    x.flags.writeable = False
    kernel[1, (1, 8)](x[None], np.zeros((1, 8)))
    with pytest.raises(treadle.TypingError, match="read-only"):
        kernel_of("def k(x):\n    x[cuda.grid(1)] = 1\n")[1, 8](x)


# --- barriers ---

REVERSE = """
def k(a):
    s = cuda.shared.array(64, np.float64)
    t, n = cuda.threadIdx.x, cuda.blockDim.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[n - 1 - t]
"""
TREE = """
def k(a, q):
    s = cuda.shared.array(64, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i] if i < a.size else 0.0
    step = cuda.blockDim.x // 2
    while step > 0:
        cuda.syncthreads()
        if t < step:
            s[t] += s[t + step]
        step //= 2
    if t == 0:
        q[cuda.blockIdx.x] = s[0]
"""
BLELLOCH = """
def k(a):
    s = cuda.shared.array(64, np.int64)
    t, n = cuda.threadIdx.x, 2 * cuda.blockDim.x
    s[2 * t] = a[2 * t]
    s[2 * t + 1] = a[2 * t + 1]
    offset = 1
    d = n >> 1
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1]
        offset *= 2
        d >>= 1
    if t == 0:
        s[n - 1] = 0
    d = 1
    while d < n:
        offset >>= 1
        cuda.syncthreads()
        if t < d:
            i, j = offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1
            s[i], s[j] = s[j], s[i] + s[j]
        d *= 2
    cuda.syncthreads()
    a[2 * t] = s[2 * t]
    a[2 * t + 1] = s[2 * t + 1]
"""
EARLY = """
def k(a, n):
    s = cuda.shared.array(16, np.int64)
    t = cuda.threadIdx.x
    if t >= n:
        a[t] = -1
        return
    s[t] = a[t]
    cuda.syncthreads()
    a[t] = s[n - 1 - t]
    if t % 2:
        return
    cuda.syncthreads()
    a[t] += s[0]
"""
NESTED = """
def k(a, n, m):
    s = cuda.shared.array((2, 8), np.int64)
    t = cuda.threadIdx.x
    own = a[t]
    best = 0
    for i in range(n):
        for j in range(m):
            s[j % 2, t] = own * (i + 1)
            cuda.syncthreads()
            own += s[j % 2, (t + 1) % cuda.blockDim.x] - j
            cuda.syncthreads()
            if i == 1:
                cuda.syncthreads()
                best = max(best, own)
        if n > 2:
            cuda.syncthreads()
            s[0, t] = own
            cuda.syncthreads()
            own = s[0, 0]
            cuda.syncthreads()
    a[t] = own * 3 + best
"""
TWO_LOOPS = """
def k(a, n):
    s = cuda.shared.array(8, np.int64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    k = n
    while True:
        k -= 1
        if k < 0:
            break
        s[t] = a[i] + k
        cuda.syncthreads()
        a[i] = s[(t + k) % 8]
        cuda.syncthreads()
    for b in range(cuda.blockIdx.x + 1):
        cuda.syncthreads()
        a[i] += b
"""


@pytest.mark.parametrize("block", [1, 2, 33, 64])
def test_a_barrier(block):
    check(REVERSE, 3, block, np.arange(3.0 * block))


@pytest.mark.parametrize("block", [1, 2, 16, 64])
def test_a_barrier_in_a_loop(block):
    check(TREE, 4, block, np.arange(3.5 * block), np.zeros(4))


@pytest.mark.parametrize("n", [1, 4, 32])
def test_blelloch_scan(n):
    a = np.arange(2 * n) % 7
    want = np.cumsum(a) - a
    kernel_of(BLELLOCH)[1, n](a)
    assert (a == want).all()


@pytest.mark.parametrize("n", [0, 1, 5, 16])
def test_who_has_ended_is_not_waited_for(n):
    check(EARLY, 1, 16, np.arange(16) * 3, n)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 1), (2, 3), (3, 2), (4, 0)])
def test_barriers_in_nested_loops(n, m):
    check(NESTED, 1, 8, np.arange(8) + 5, n, m)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_loops_that_leave_in_the_middle(n):
    check(TWO_LOOPS, 2, 8, np.arange(16), n)


def test_three_axes_and_partial_tiles():
    text = """
def k(A, B, C):
    sA = cuda.shared.array((4, 4), np.float32)
    sB = cuda.shared.array((4, 4), np.float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    sum = np.float32(0)
    for i in range((A.shape[1] + 3) // 4):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and tx + i * 4 < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * 4]
        if x < B.shape[1] and ty + i * 4 < B.shape[0]:
            sB[ty, tx] = B[ty + i * 4, x]
        cuda.syncthreads()
        for j in range(4):
            sum += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = sum
"""
    rng = np.random.default_rng(1)
    A, B = rng.random((7, 9), np.float32), rng.random((9, 5), np.float32)
    check(text, (2, 2), (4, 4), A, B, np.zeros((7, 5), np.float32))


def test_values_of_every_type_cross_a_barrier():
    for t in (
        "bool",
        "int8",
        "uint16",
        "int32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ):
        text = """
def k(a, q):
    s = cuda.shared.array(8, np.int64)
    t = cuda.threadIdx.x
    mine = a[t]
    s[t] = t
    cuda.syncthreads()
    q[t] = mine if s[7 - t] % 2 else a[0]
"""
        check(text, 1, 8, (np.arange(8) % 5).astype(t), np.zeros(8, t))


@pytest.mark.emulated  # hardware counts who comes to any of them
def test_threads_that_wait_at_two_barriers():
    text = """
def k(a, n):
    t = cuda.threadIdx.x
    if t < n:
        a[t] = 1
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    a[t] += 1
"""
    kernel = kernel_of(text)
    a = np.zeros(4)
    kernel[1, 4](a, 4)
    kernel[1, 4](a, 0)
    assert (a == 3).all()
    with pytest.raises(
        RuntimeError, match="k: threads of a block wait at different barriers: in line 6 and in line 8"
    ):
        kernel[1, 4](a, 2)


def test_what_cannot_stand_beside_a_barrier():
    view = """
def k(a):
    t = cuda.threadIdx.x
    if t % 2:
        row = a[0]
    else:
        row = a[1]
    cuda.syncthreads()
    row[t] = 1
"""
    if cuda.is_emulated():
        with pytest.raises(treadle.LoweringError, match="used after a barrier"):
            kernel_of(view)[1, 4](np.zeros((2, 4)))
    else:  # a thread that waits is there as a whole
        check(view, 1, 4, np.zeros((2, 4)))
    handler = """
def k(a):
    try:
        a[9] = 1
    except IndexError:
        a[0] = 1
    cuda.syncthreads()
"""
    if cuda.is_emulated():
        with pytest.raises(treadle.LoweringError, match="`try`"):
            kernel_of(handler)[1, 4](np.zeros(4))
    free = """
def k(a, q):
    t = cuda.threadIdx.x
    row, n = a[cuda.blockIdx.x], a.shape[1]
    q[cuda.blockIdx.x, t] = row[t]
    cuda.syncthreads()
    row[n - 1 - t] = q[cuda.blockIdx.x, t]
"""
    check(free, 3, 5, np.arange(15.0).reshape(3, 5), np.zeros((3, 5)))


@st.composite
def programs(draw):
    """Kernels whose threads talk through shared memory, with barriers where all threads come."""
    lines = [
        "def k(a, n):",
        "    s = cuda.shared.array(8, np.int64)",
        "    t = cuda.threadIdx.x",
        "    x = a[t]",
        "    y = n",
        "    s[t] = 0",
    ]
    loops = 0

    def expression() -> str:
        return draw(st.sampled_from(["x", "y", "t", "x + y", "x - t", "x * 3 + 1", "y + 2", "n - x", "s[t]"]))

    def block(depth: int, room: int) -> None:
        nonlocal loops
        lines.append("    " * depth + f"x += {depth}")
        for _ in range(draw(st.integers(1, room))):
            pad = "    " * depth
            kind = draw(st.sampled_from(["set", "talk", "talk", "if", "loop", "while", "leave"]))
            if kind == "set":
                lines.append(f"{pad}{draw(st.sampled_from(['x', 'y']))} = {expression()}")
            elif kind == "talk":
                shift = draw(st.integers(0, 7))
                lines.extend(
                    [f"{pad}cuda.syncthreads()", f"{pad}s[t] = {expression()}", f"{pad}cuda.syncthreads()"]
                )
                lines.append(f"{pad}{draw(st.sampled_from(['x', 'y']))} = s[(t + {shift}) % cuda.blockDim.x]")
            elif kind == "if" and depth < 4:
                own = draw(st.booleans())
                lines.append(
                    f"{pad}if {'t % 3 == 1' if own else draw(st.sampled_from(['n > 1', 'n % 2 == 0']))}:"
                )
                if own:
                    lines.append(f"{pad}    x = {expression()}")
                else:
                    block(depth + 1, 2)
            elif kind == "loop" and depth < 4:
                loops += 1
                lines.append(f"{pad}for i{loops} in range({draw(st.sampled_from(['n', '2', 'n % 3']))}):")
                block(depth + 1, 2)
            elif kind == "while" and depth < 4:
                loops += 1
                lines.append(f"{pad}w{loops} = n")
                lines.append(f"{pad}while w{loops} > 0:")
                lines.append(f"{pad}    w{loops} -= 2")
                block(depth + 1, 2)
            elif kind == "leave" and depth == 1 and draw(st.integers(0, 4)) == 0:
                lines.extend([f"{pad}if t == n + 2:", f"{pad}    a[t] = x", f"{pad}    return"])

    block(1, 5)
    lines.append("    a[t] = x * 31 + y")
    return "\n".join(lines) + "\n"


@settings(max_examples=examples(60), deadline=None)
@given(programs(), st.integers(0, 4), st.integers(1, 8))
def test_any_kernel_with_barriers(text, n, threads):
    check(text, 1, threads, np.arange(8) * 5 + 1, n)


# --- atomics ---


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("name", ["add", "sub", "exch", "min", "max", "and_", "or_", "xor"])
def test_atomics(name, dtype):
    text = f"""
def k(a, old, x):
    i = cuda.grid(1)
    old[i] = cuda.atomic.{name}(a, i % 3, x[i])
"""
    x = (np.arange(12) * 37 % 23).astype(dtype)
    args = (np.full(3, 9, dtype), np.zeros(12, dtype), x)
    if np.dtype(dtype).kind == "f" and name not in ("add", "sub", "exch", "min", "max"):
        with pytest.raises(treadle.TypingError, match=f"atomic.{name}.* is not defined for arrays of float"):
            kernel_of(text)[1, 12](*args)
    elif cuda.is_emulated():
        check(text, 1, 12, *args)
    else:
        a, old, x = args
        kernel_of(text)[1, 12](*args)
        for k in range(3):
            in_some_order(ATOMIC[name], dtype(9), x[k::3], old[k::3], a[k])


def test_compare_and_swap():
    text = "def k(a, old):\n    i = cuda.grid(1)\n    old[i] = cuda.atomic.cas(a, 0, i, i + 1)\n"
    for dtype in (np.int32, np.uint64):
        check(text, 1, 5, np.zeros(1, dtype), np.zeros(5, dtype))


def test_atomics_of_all_cores():
    kernel = kernel_of("""
def k(x, h, n):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(h, (x[i] % 2, x[i]), 1)
        cuda.atomic.add(n, 0, 0.5)
""")
    x = np.random.default_rng(2).integers(0, 10, 200_000)
    h, n = np.zeros((2, 10), np.int32), np.zeros(1)
    kernel[64, 32](x, h, n)
    assert (h.sum(axis=0) == np.bincount(x)).all()
    assert n[0] == 100_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("cuda.atomic.add(a, 0, 'x')", "takes"),
        ("cuda.atomic.add(a, (0, 0), 1)", "too many indices"),
        ("cuda.atomic.add(a[0], 0, 1)", "takes an array"),
        ("cuda.atomic.add(a, slice(0, 1), 1)", "an index of each axis"),
        ("cuda.atomic.cas(a, 0, 1.0, 2.0)", "not defined for arrays of float64"),
        ("cuda.atomic.add(a, 9, 1)", "index 9 is out of bounds"),
        ("cuda.shared.array(a.size, np.float32)", "known when the kernel is compiled"),
        ("cuda.shared.array((100, 200), np.float64)", "48 KiB"),
        ("cuda.shared.array(-1, np.float64)", "at least 1"),
        ("cuda.grid(4)", "1, 2 or 3"),
        ("cuda.grid(a.size)", "1, 2 or 3"),
        ("cuda.threadIdx()", "axes x, y and z"),
        ("cuda.threadIdx.w", "'w'"),
    ],
)
def test_messages(call, message):
    kernel = kernel_of(f"def k(a):\n    {call}\n", boundscheck=True)
    with pytest.raises((treadle.TypingError, treadle.UnsupportedError, IndexError), match=message):
        kernel[1, 2](np.zeros(4))


# --- device functions ---


@cuda.jit(device=True)
def place(scale):
    return cuda.grid(1) * scale, cuda.threadIdx.x


@cuda.jit("f8(f8)", device=True)
def half(x):
    return x / 2


@njit
def on_both(x):
    return x * x


@cuda.jit(device=True)
def meet(s, x):
    s[cuda.threadIdx.x] = x
    cuda.syncthreads()
    return s[cuda.blockDim.x - 1 - cuda.threadIdx.x]


def plain(x):
    return -x


@pytest.mark.parametrize("inline", ["never", "always"])
def test_device_functions(inline):
    inner = cuda.jit(device=True, inline=inline)(place.py_func)

    @cuda.jit
    def k(q):
        i, t = inner(3)
        s, r = cuda.shared.array(8, float64), cuda.shared.array(8, float64)
        x = meet(s, on_both(half(i)))
        y = meet(r, x + 1)
        q[cuda.grid(1)] = x + y * 100 + plain(t)

    q = np.zeros(8)
    k[2, 4](q)
    i = np.arange(8)
    x = ((i * 3 / 2) ** 2).reshape(2, 4)[:, ::-1]
    want = x + (x[:, ::-1] + 1) * 100 - (i % 4).reshape(2, 4)
    assert (q == want.ravel()).all()


def test_device_functions_that_call_themselves():
    @cuda.jit(device=True)
    def down(n):
        return 0 if n == 0 else down(n - 1) + cuda.threadIdx.x

    @cuda.jit
    def k(q):
        q[0] = down(3)

    with pytest.raises(
        treadle.LoweringError,
        match="calls itself" if cuda.is_emulated() else "functions that call themselves",
    ):
        k[1, 1](np.zeros(1))


def test_a_kernel_for_each_closure():
    def make(n, dtype):
        @cuda.jit
        def k(q):
            s = cuda.shared.array(n, dtype)
            s[cuda.threadIdx.x] = n
            cuda.syncthreads()
            q[cuda.threadIdx.x] = s[n - 1 - cuda.threadIdx.x]

        return k

    for n in (2, 5):
        for dtype in (float32, np.int64):
            q = np.zeros(n)
            make(n, dtype)[1, n](q)
            assert (q == n).all()


# --- launches ---


def test_signatures():
    @cuda.jit(void(float64[:], int64))
    def k(a, n):
        a[cuda.grid(1)] = n

    a = np.zeros(4)
    k[1, 4](a, 3)
    k[1, 4](a, True)
    assert (a == 1).all()
    with pytest.raises((TypeError, treadle.TypingError)):
        k[1, 4](np.zeros(4, np.float32), 3)
    text = cuda.jit("void(f4[:], f4[:])")(lambda x, y: None)
    text[1, 1](np.zeros(1, np.float32), np.zeros(1, np.float32))


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ((1, 1025), ValueError, "1 to 1024"),
        ((1, (32, 33)), ValueError, "1056 threads"),
        ((1, (1, 1, 65)), ValueError, "1 to 64"),
        ((2**31, 1), ValueError, "1 to 2147483647"),
        (((1, 65536), 1), ValueError, "1 to 65535"),
        ((0, 1), ValueError, "the grid is 0"),
        ((1, -1), ValueError, "the block is -1"),
        ((1,), ValueError, "2 to 4 items"),
        ((1, 2, 3, 4, 5), ValueError, "2 to 4 items"),
        (((1, 1, 1, 1), 1), ValueError, "has 1 to 3 axes"),
        ((1.5, 1), TypeError, "an int or a tuple"),
        ((1, 1, 7), TypeError, "made by cuda.stream"),
        ((1, 1, 0, 2**20), ValueError, "1048576 bytes of dynamic shared memory"),
    ],
)
def test_configurations_that_no_device_takes(config, error, message):
    kernel = kernel_of("def k(a):\n    a[0] = 1\n")
    with pytest.raises(error, match=message) as caught:
        kernel[config]
    if re.search(
        r"^(1 to \d|a device|\d+ bytes of dynamic|the (grid|block) is)", message
    ):  # sizes: what a driver says of them
        assert "CUDA_ERROR_INVALID_VALUE" in str(caught.value)
        assert isinstance(caught.value, cuda.cudadrv.driver.CudaAPIError) and caught.value.code == 1


def test_configurations():
    kernel = kernel_of("def k(a):\n    cuda.atomic.add(a, 0, 1)\n")
    a = np.zeros(1)
    for config in [(1, 2), ([2], [1]), (np.int32(2), (np.uint8(1),)), (2, 1, 0), (1, (1, 2), None, 0)]:
        kernel[config](a)
    assert a[0] == 10
    kernel.forall(300, stream=cuda.default_stream(), sharedmem=0)(a)
    kernel.forall(0, tpb=1)(a)
    assert a[0] == 10 + 384 + 1
    assert isinstance(kernel[2, 3], cuda.Launcher)
    assert isinstance(kernel, cuda.Kernel)
    assert repr(kernel[2, 3]) == "<k[(2, 1, 1), (3, 1, 1)]>"
    assert repr(kernel).startswith("<kernel ")


def test_a_kernel_without_a_configuration():
    """It raises, and does nothing; also with no arguments, and by a kernel of signatures."""
    kernel = kernel_of("def k(a):\n    a[cuda.grid(1)] = 1\n")
    a = np.zeros(4)
    declared = cuda.jit("void(float64[:])")(kernel.py_func)
    for call in (lambda: kernel(a), lambda: kernel(), lambda: declared(a), lambda: kernel(cuda.to_device(a))):
        with pytest.raises(ValueError, match=r"launch configuration was not specified.*k\[blocks, threads\]"):
            call()
    assert not a.any()


@pytest.mark.emulated  # a GPU has no such functions
def test_a_device_function_calls_itself():
    @cuda.jit(device=True)
    def gcd(a, b):
        return a if b == 0 else gcd(b, a % b)

    @cuda.jit
    def k(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = gcd(x[i], y[i])

    x, y = np.arange(1, 65), np.arange(64)[::-1] * 3
    out = np.zeros(64, np.int64)
    if cuda.is_emulated():
        k[1, 64](x, y, out)
        assert (out == np.gcd(x, y)).all()
    else:
        with pytest.raises(treadle.UnsupportedError):
            k[1, 64](x, y, out)


def test_what_is_no_kernel():
    @cuda.jit
    def returns(a):
        return a[0]

    with pytest.raises(
        treadle.TypingError, match=r"a kernel returns nothing.*returns\(\) returns float64"
    ) as err:
        returns[1, 1](np.zeros(1))
    assert "store the result" in str(err.value)
    assert "launch(" not in str(err.value)

    @njit
    def host(a):
        return a + cuda.threadIdx.x

    with pytest.raises(treadle.TypingError, match="for kernels"):
        host(1)
    for call in (
        lambda: cuda.grid(1),
        lambda: cuda.gridsize(1),
        lambda: cuda.threadIdx.x,
        lambda: cuda.blockIdx.y,
        lambda: cuda.blockDim.z,
        cuda.syncthreads,
        lambda: cuda.shared.array(1, float32),
        lambda: cuda.atomic.add([1], 0, 1),
        lambda: cuda.atomic.cas([1], 0, 1, 2),
        lambda: cuda._launch(None, 1, 1, 1, 1, 1, 1, 0, ()),
    ):
        with pytest.raises(treadle.TypingError, match="in kernels only"):
            call()
    with pytest.raises(TypeError, match="unknown option 'fast'"):
        cuda.jit(fast=True)
    with pytest.raises(FileNotFoundError, match=r"x\.cu not found"):
        cuda.jit(link=["x.cu"])
    assert cuda.jit(func_or_sig=None, link=[])(lambda x: None).py_func
    with pytest.raises(TypeError, match="compiled already"):
        cuda.jit(returns)
    with pytest.raises(TypeError, match="compiles Python functions"):
        cuda.jit(device=True)(3)
    with pytest.raises(treadle.TypingError, match="takes numbers, arrays and tuples of them, and argument 1"):
        kernel_of("def k(a):\n    pass\n")[1, 1]((1, "2"))
    with pytest.raises(TypeError):
        kernel_of("def k(a):\n    pass\n")[1, 1](1, 2)


def test_an_exception_names_the_line():
    kernel = kernel_of("def k(a):\n    i = cuda.grid(1)\n    a[i] = 1\n", boundscheck=True)
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4") as err:
        kernel[1, 8](np.zeros(4))
    entry = err.traceback[-1]
    assert (entry.name, entry.lineno) == ("k", 2)
    kernel_of("def k(a):\n    a[0] = 1 // a[0]\n    a[1] = 1.0 / a[1]\n")[1, 1](
        np.zeros(2)
    )  # CUDA raises for no division

    @cuda.jit
    def refuses(a):
        if a[cuda.grid(1)] < 0:
            raise ValueError("negative")

    refuses[1, 4](np.arange(4.0))
    with pytest.raises(ValueError, match="negative"):
        refuses[2, 2](-np.arange(4.0))


def test_options():
    for options in (
        {"fastmath": True},
        {"opt": True, "lineinfo": True, "max_registers": 32},
        {"debug": True},
    ):

        @cuda.jit(**options)
        def k(a):
            a[cuda.grid(1)] += 1

        a = np.zeros(4)
        k[1, 4](a)
        assert (a == 1).all()
        assert k.__name__ == "k"
        assert k.py_func is k.__wrapped__


# --- streams ---


def test_streams():
    s = cuda.stream()
    assert isinstance(s, cuda.Stream)
    with s.auto_synchronize() as same:
        assert same is s
        d = cuda.to_device(np.arange(4.0), s)
        kernel_of("def k(a):\n    a[cuda.grid(1)] += 1\n")[1, 4, s](d)
        assert (d.copy_to_host(stream=cuda.default_stream()) == [1, 2, 3, 4]).all()
    s.synchronize()


# --- other ways in ---


def test_on_a_small_stack():
    a = np.arange(64.0)
    on_stack(64, lambda: kernel_of(REVERSE)[1, 64](a))
    assert (a == np.arange(64.0)[::-1]).all()


def test_threads_that_launch_at_once():
    kernel = kernel_of(TREE)
    found = []

    def launch(k):
        for _ in range(20):
            q = np.zeros(8)
            kernel[8, 64](np.full(512, float(k)), q)
            found.append((q == 64 * k).all())

    threads = [threading.Thread(target=launch, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [True] * 80


SECOND = """
import numpy as np, treadle
from treadle import cuda

@cuda.jit(cache=True)
def k(a):
    s = cuda.shared.array(32, np.float64)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    a[t] = s[31 - t]

a = np.arange(32.0)
k[1, 32](a)
print((a == np.arange(32.0)[::-1]).all(), treadle.stats()["loaded"])
"""


@pytest.mark.emulated  # a GPU's code is not kept in files yet
def test_from_the_cache_in_a_second_process(tmp_path):
    script = tmp_path / "second.py"
    script.write_text(SECOND)
    out = [
        subprocess.run(
            [sys.executable, script],
            capture_output=True,
            text=True,
            env={**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "c"), "TREADLE_NUM_THREADS": threads},
            check=True,
        ).stdout
        for threads in ("1", "2")
    ]
    assert out == ["True 0\n", "True 1\n"]


@pytest.mark.emulated
def test_a_grid_that_was_skipped_is_refused():
    code = textwrap.dedent("""
        import numpy as np
        from treadle import cuda
        @cuda.jit
        def k(a):
            a[cuda.grid(1)] = 1
        k[1, 4](np.zeros(4))
    """)
    r = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "TREADLE_SKIP": "grid", "TREADLE_VERIFY": "0"},
    )
    assert r.returncode == 1
    assert "LoweringError" in r.stderr


LEAVES = """
def k(a):
    t, j = cuda.threadIdx.x, cuda.grid(1)
    for i in range(5):
        cuda.syncthreads()
        if t == i:
            return
        a[j] += 1
"""
ROUNDS = """
def k(a):
    t, j = cuda.threadIdx.x, cuda.grid(1)
    for i in range(t):
        cuda.syncthreads()
        a[j] += i
"""


@pytest.mark.parametrize("text", [LEAVES, ROUNDS], ids=["leaves", "rounds"])
def test_threads_that_end_in_different_rounds(text):
    check(text, 2, 7, np.zeros(14))


def test_an_exception_between_barriers():
    kernel = kernel_of("""
def k(a):
    t = cuda.threadIdx.x
    own = a[t]
    cuda.syncthreads()
    if own == 2:
        raise ValueError("two")
    cuda.syncthreads()
    a[t] = own + 1
""")
    a = np.arange(5.0)
    before = treadle.stats()
    for _ in range(5):
        with pytest.raises(ValueError, match="two"):
            kernel[3, 5](a)
    if cuda.is_emulated():
        assert (a == np.arange(5)).all()
    else:  # other threads go on
        a = np.arange(5.0)
    kernel[1, 2](a)
    assert (a == [1, 2, 2, 3, 4]).all()
    after = treadle.stats()
    made, freed = (after[k] - before[k] for k in ("arrays_allocated", "arrays_freed"))
    assert made == freed and (freed > 0) == cuda.is_emulated()


@pytest.mark.emulated
def test_arrays_and_handlers_in_a_thread():
    text = """
def k(a, b, n):
    i = cuda.grid(1)
    x = np.zeros(3)
    x[i % 3] = i
    try:
        b[i] = (a[i] * 2 + x).sum()
    except IndexError:
        cuda.atomic.add(n, 0, 1)
"""
    a, b, n = np.arange(12.0).reshape(4, 3), np.zeros(4), np.zeros(1)
    kernel_of(text)[2, 4](a, b, n)
    assert (b == (a * 2).sum(axis=1) + np.arange(4)).all()
    assert n[0] == 4


def test_atomics_outside_of_kernels():
    @njit(parallel=True)
    def count(h, x):
        for i in prange(x.size):
            cuda.atomic.add(h, x[i], 1)

    h = np.zeros(4, np.int64)
    count(h, np.arange(100_000) % 4)
    assert (h == 25_000).all()


def test_kernels_are_launched_by_the_host_alone():
    @cuda.jit
    def inner(a):
        a[0] = 1

    @cuda.jit
    def outer(a):
        inner(a)

    a = np.zeros(1)
    outer[1, 1](a)  # a function of the thread that calls it
    assert a[0] == 1
    with pytest.raises(treadle.TypingError, match="'inner' cannot be indexed(?s:.)*launched by Python"):
        njit(lambda a: inner[1, 1](a))(np.zeros(1))

    @cuda.jit
    def itself(a, n):
        if n > 0:
            itself(a, n - 1)

    with pytest.raises(
        (treadle.TypingError, treadle.LoweringError),
        match="cannot call itself|functions that call themselves",
    ):
        itself[1, 1](np.zeros(1), 3)
    with pytest.raises(treadle.TypingError, match=r"stars\(\) has \*args"):
        kernel_of("def stars(*a):\n    a[0][0] = 1\n", "stars")[1, 1](np.zeros(1))
    with pytest.raises(TypeError, match=r"inner\(\): argument .* list"):
        inner[1, 1]([1.0])
    kernel = kernel_of("def k(a, n=3):\n    a[0] = n\n")
    a = np.zeros(1)
    kernel[1, 1](a)
    assert a[0] == 3


@pytest.mark.emulated
def test_a_fork_and_an_interrupt():
    code = textwrap.dedent("""
        import os, signal
        import numpy as np
        from treadle import cuda

        @cuda.jit
        def k(a):
            cuda.syncthreads()
            a[cuda.grid(1)] = 1

        @cuda.jit
        def endless(a):
            while True:
                cuda.syncthreads()
                a[0] += 1

        a = np.zeros(1000)
        k[10, 100](a)
        pid = os.fork()
        if not pid:
            a = np.zeros(1000)
            k[10, 100](a)
            os._exit(int(a.sum() != 1000))
        print(os.waitpid(pid, 0)[1])

        def stop(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, stop)
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            try:
                endless[4, 4](a)
            except KeyboardInterrupt:
                print("interrupted")
        a[:] = 0
        k[10, 100](a)
        print(a.sum())
    """)
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (r.returncode, r.stdout) == (0, "0\ninterrupted\ninterrupted\n1000.0\n"), r.stderr
