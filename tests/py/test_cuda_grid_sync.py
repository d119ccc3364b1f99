"""Barriers of the whole grid (cooperative groups) on the emulated device, against models in NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from cuda_check import kernel_of
from treadle import cuda
from treadle.errors import KernelCheckError

MIX = """
def k(a, out, n):
    s = cuda.shared.array(32, np.int64)
    l = cuda.local.array(2, np.int64)
    g = cuda.cg.this_grid()
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    l[0] = i
    l[1] = t
    cuda.syncthreads()
    v = s[31 - t]
    for k in range(n):
        out[i] = v + k
        g.sync()
        v += out[(i + 32) % out.size]
        cuda.syncthreads()
        s[t] = v
        g.sync()
        if t % 2:
            v += s[t - 1]
    v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 1)
    g.sync()
    out[i] = v + l[0] * 1000 + l[1] + s[t]
"""


def mix_model(a, n):
    s, i = a.reshape(-1, 32).copy(), np.arange(a.size)
    v = s[:, ::-1].ravel()
    for k in range(n):
        v = v + np.roll(v + k, -32)
        s = v.reshape(-1, 32).copy()
        w = s.copy()
        w[:, 1::2] += s[:, 0::2]
        v = w.ravel()
    pairs = v.reshape(-1, 2)
    return (pairs + pairs[:, ::-1]).ravel() + i * 1000 + i % 32 + s.ravel()


@pytest.mark.parametrize("blocks", [1, 2, 7, 100])
def test_all_that_a_block_has_outlasts_it(blocks):
    k = kernel_of(MIX)
    for n in (0, 1, 4):
        a = np.random.default_rng(n).integers(0, 9, blocks * 32)
        out = np.zeros_like(a)
        k[blocks, 32](a, out, n)
        np.testing.assert_array_equal(out, mix_model(a, n))
        da, dout = cuda.to_device(a), cuda.device_array_like(a)
        stream = cuda.stream()
        k[blocks, 32, stream](da, dout, n)
        stream.synchronize()
        np.testing.assert_array_equal(dout.copy_to_host(), out)


def test_row_after_row():
    k = kernel_of("""
def k(m):
    col = cuda.grid(1)
    g = cuda.cg.this_grid()
    for row in range(1, m.shape[0]):
        m[row, col] = m[row - 1, m.shape[1] - col - 1] + 1
        g.sync()
""")
    m = np.zeros((60, 256), np.int32)
    k[8, 32](m)
    assert (m == np.arange(60)[:, None]).all()


@pytest.mark.emulated  # hardware waits for all
def test_who_has_ended_is_not_waited_for():
    k = kernel_of("""
def k(a, n):
    i = cuda.grid(1)
    a[i] = 1
    if i >= n:
        return
    cuda.cg.this_grid().sync()
    a[i] += a[(i + 1) % a.size]
    cuda.cg.this_grid().sync()
    if i % 2:
        return
    cuda.cg.this_grid().sync()
    a[i] *= 10
""")
    for n in (0, 1, 9, 24):
        a = np.zeros(24, np.int64)
        k[3, 8](a, n)
        want = np.where(np.arange(24) < n, 2, 1)
        # neighbours add at once: who is first to add reads what the other had
        assert (a[:n:2] >= 20).all() and (a[1:n:2] < 20).all() and (a[n:] == want[n:]).all()


@pytest.mark.parametrize("grid, block", [((2, 3), (4, 2)), ((2, 2, 2), (2, 2, 2)), (5, (3, 1, 3))])
def test_grids_and_blocks_of_more_axes(grid, block):
    k = kernel_of("""
def k(a, b):
    x, y, z = cuda.grid(3)
    a[z, y, x] = x + 10 * y + 100 * z
    cuda.cg.this_grid().sync()
    b[z, y, x] = a[a.shape[0] - 1 - z, a.shape[1] - 1 - y, a.shape[2] - 1 - x]
""")
    g, b = (tuple(t) + (1,) * (3 - len(t)) for t in ((grid,) if isinstance(grid, int) else grid, block))
    shape = [p * q for p, q in zip(g, b)][::-1]
    a, out = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    k[grid, block](a, out)
    z, y, x = np.indices(shape)
    assert (out == (x + 10 * y + 100 * z)[::-1, ::-1, ::-1]).all()


@pytest.mark.emulated  # hardware counts who comes to any barrier
def test_waiting_elsewhere_is_told():
    two = kernel_of("""
def k(a):
    g = cuda.cg.this_grid()
    if cuda.blockIdx.x == 0:
        g.sync()
    else:
        a[0] = 1
        g.sync()
""")
    with pytest.raises(RuntimeError, match="of the grid wait at different barriers: in line 5 and in line 8"):
        two[3, 4](np.zeros(3))
    block = kernel_of("""
def k(a):
    if cuda.threadIdx.x == 0:
        cuda.cg.this_grid().sync()
    else:
        cuda.syncthreads()
""")
    with pytest.raises(RuntimeError, match="of a block wait at different barriers: in line 6 and in line 4"):
        block[3, 4](np.zeros(3))
    rest = kernel_of("""
def k(a):
    cuda.cg.this_grid().sync()
    a[cuda.grid(1)] = 1
""")
    with pytest.raises(IndexError):
        rest[2, 4](np.zeros(7))


def test_dynamic_shared_memory_and_votes():
    k = kernel_of("""
def k(a):
    s = cuda.shared.array(0, np.int64)
    t = cuda.threadIdx.x
    s[t] = cuda.grid(1)
    n = cuda.syncthreads_count(t > 1)
    cuda.cg.this_grid().sync()
    a[cuda.grid(1)] = s[cuda.blockDim.x - 1 - t] * 100 + n
""")
    a = np.zeros(12, np.int64)
    k[3, 4, 0, 32](a)
    assert (a == (np.arange(12).reshape(3, 4)[:, ::-1] * 100 + 2).ravel()).all()


def test_how_many_blocks_there_may_be():
    k = kernel_of(MIX)
    k[1, 32](np.zeros(32, np.int64), np.zeros(32, np.int64), 1)
    (d,) = k.overloads.values()
    each = cuda.get_current_device().MULTIPROCESSOR_COUNT
    assert d.max_cooperative_grid_blocks(32) == 32 * each == d.max_cooperative_grid_blocks((8, 4))
    assert d.max_cooperative_grid_blocks(1024) == 2 * each == d.max_cooperative_grid_blocks((16, 16, 4), 1024)
    assert d.max_cooperative_grid_blocks(32, 100_000) == 2 * each
    for bad in ((0,), (2048,), (32, -1), (32, 10**6)):
        with pytest.raises(ValueError):
            d.max_cooperative_grid_blocks(*bad)


def test_memory_that_there_is_not():
    size = (
        65536 if cuda.is_emulated() else 64
    )  # what a thread of a GPU has is set aside for as many as it holds, 138 GB on one
    k = kernel_of(f"""
def k(a):
    l = cuda.local.array({size}, np.float64)
    l[0] = cuda.grid(1)
    cuda.cg.this_grid().sync()
    a[0] = l[0]
""")
    none = (
        MemoryError if cuda.is_emulated() else cuda.cudadrv.driver.CudaAPIError
    )  # it is too large to be at work at once
    with pytest.raises(none):
        k[2**31 - 1, 1024](np.zeros(1))


def watched(text, **names):
    return cuda.jit(debug=True)(kernel_of(text, **names).py_func)


ORDERED = """
def k(a, out):
    s = cuda.shared.array(32, np.int64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    a[i] = i
    s[t] = i
    cuda.cg.this_grid().sync()
    out[i] = a[(i + 32) % a.size] + s[t]
    cuda.cg.this_grid().sync()
    a[(i + 1) % a.size] = out[(i + 33) % a.size]
    cuda.syncthreads()
    s[t] = out[i]
    cuda.syncthreads()
    a[i] += s[31 - t] * 0
"""


def test_checks_know_that_barriers_of_the_grid_order():
    a, out = np.zeros(96, np.int64), np.zeros(96, np.int64)
    text = ORDERED.replace(
        "    a[i] += s[31 - t] * 0\n", "    cuda.cg.this_grid().sync()\n    out[i] += s[31 - t] * 0\n"
    )
    watched(text)[3, 32](a, out)
    i = np.arange(96)
    np.testing.assert_array_equal(out, (i + 32) % 96 + i)
    watched(MIX)[4, 32](np.arange(128), np.zeros(128, np.int64), 3)


@pytest.mark.emulated
@pytest.mark.parametrize(
    "wrong, array, lines",
    [
        # one barrier less: neighbouring blocks meet
        (
            ORDERED.replace(
                "    cuda.cg.this_grid().sync()\n    out[i]", "    cuda.syncthreads()\n    out[i]"
            ),
            "a",
            (5, 8),
        ),
        (
            ORDERED.replace("    cuda.cg.this_grid().sync()\n    a[(i", "    cuda.syncthreads()\n    a[(i"),
            "out",
            (8, 10),
        ),
        # within a stage, in one block and in two
        (ORDERED, "a", (10, 14)),
        (ORDERED.replace("s[t] = out[i]", "s[t] = out[i] + s[31 - t]"), "s", (12, 12)),
    ],
)
def test_races_beside_barriers_of_the_grid(wrong, array, lines):
    with pytest.raises(KernelCheckError) as e:
        watched(wrong)[3, 32](np.zeros(96, np.int64), np.zeros(96, np.int64))
    found = {(r.kind, r.array, tuple(sorted((r.line, r.other_line)))) for r in e.value.reports}
    assert ("race", array, lines) in found, found


@pytest.mark.emulated
def test_reads_before_writes_beside_barriers_of_the_grid():
    text = """
def k(q):
    s = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    if t < 31:
        s[t] = t
    cuda.cg.this_grid().sync()
    q[cuda.grid(1)] = s[t]
"""
    with pytest.raises(
        KernelCheckError,
        match=r"uninit: thread \(31, 0, 0\) of block \(\d, 0, 0\) reads shared array s\[31\]",
    ):
        watched(text)[2, 32](np.zeros(64, np.int64))
    watched(text.replace("t < 31", "t < 32"))[2, 32](np.zeros(64, np.int64))


@pytest.mark.emulated
def test_indices_out_of_range_beside_barriers_of_the_grid():
    text = "def k(a):\n    i = cuda.grid(1)\n    cuda.cg.this_grid().sync()\n    a[i] = 1\n"
    with pytest.raises(
        IndexError, match=r"array a, in kernel k, line 4, block \(1, 0, 0\), thread \(9, 0, 0\)"
    ):
        watched(text)[2, 32](np.zeros(41))


def test_how_it_runs():
    k = kernel_of(MIX)
    k[1, 32](np.zeros(32, np.int64), np.zeros(32, np.int64), 1)
    (text,) = k.inspect_emulation().values()
    assert "asks after each piece" in text and "stages" in text


CACHED = """
import sys
import numpy as np
from treadle import cuda

@cuda.jit(cache=True)
def k(a):
    i = cuda.grid(1)
    a[i] = i
    cuda.cg.this_grid().sync()
    v = a[a.size - 1 - i]
    cuda.cg.this_grid().sync()
    a[i] = v

a = np.zeros(96, int)
k[3, 32](a)
assert (a == np.arange(96)[::-1]).all()
"""


def test_from_the_cache_and_in_other_orders(tmp_path):
    path = tmp_path / "rows.py"
    path.write_text(CACHED)
    env = {
        **os.environ,
        "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
        "TREADLE_CUDA": "emu",
        "TREADLE_CUDA_WARN": "0",
    }
    for seed in ("0", "0", "3", "4"):
        done = subprocess.run(
            [sys.executable, path],
            env={**env, "TREADLE_EMU_SEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
