"""What numba-cuda's own tests ask of kernels and of the device: each is a program of ours that does the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import cuda, float32, int64, uint32


def run_as_numba(tmp_path, text: str) -> str:
    """What the program prints, under `python -m treadle run`."""
    path = tmp_path / "program.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "treadle", "run", str(path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- sizes that are handed on ---


@cuda.jit(device=True)
def turned(a, n, dtype):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(n, dtype)
    tile[t] = a[t]
    cuda.syncthreads()
    a[t] = tile[n - 1 - t]


def handed_on(a, dtype, shape=(4, 8)):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile = cuda.shared.array(dtype=dtype, shape=shape)
    tile[x, y] = a[y, x]
    cuda.syncthreads()
    a[y, x] = tile[shape[0] - 1 - x, y]


def test_a_helper_is_given_the_size_of_a_shared_array() -> None:
    @cuda.jit
    def kernel(a, b):
        turned(a, 32, uint32)
        if cuda.blockDim.x == 16:
            turned(b, 16, float32)  # another size, another instance

    a, b = np.arange(32, dtype=np.uint32), np.arange(32, dtype=np.float32)
    kernel[1, 32](a, b)
    assert np.array_equal(a, np.arange(31, -1, -1)) and np.array_equal(b, np.arange(32))
    kernel[1, 16](np.zeros(32, np.uint32), b)
    assert np.array_equal(b, [*range(15, -1, -1), *range(16, 32)])
    text, _ = cuda.compile_ptx(kernel, "void(uint32[::1], float32[::1])", cc=(8, 0))
    assert {line.split("[")[1] for line in text.splitlines() if ".shared" in line and "[" in line} >= {
        "128];",
        "64];",
    }


def test_sizes_go_through_several_functions_tuples_names_and_defaults() -> None:
    def middle(a, n, *, m, dtype):
        handed_on(a, dtype, shape=(n, m))

    @cuda.jit
    def kernel(a, b):
        middle(a, 4, m=8, dtype=float32)
        handed_on(b, int64)

    a, b = np.arange(32, dtype=np.float32).reshape(8, 4), np.arange(32).reshape(8, 4)
    kernel[1, (4, 8)](a, b)
    want = np.arange(32).reshape(8, 4)[:, ::-1]
    assert np.array_equal(a, want) and np.array_equal(b, want)


def test_a_helper_says_how_many_axes_a_grid_has() -> None:
    def place(n):
        return cuda.grid(n)

    @cuda.jit
    def kernel(a, b):
        i, j = place(2)
        a[i, j] += 1
        b[place(1)] = i

    a, b = np.zeros((4, 3)), np.zeros(4)
    kernel[(2, 1), (2, 3)](a, b)
    assert np.all(a == 1) and np.array_equal(b, np.arange(4))


def test_a_size_that_only_the_launch_knows_is_refused() -> None:
    kernel = cuda.jit(lambda a, n: turned(a, n, uint32))
    with pytest.raises(treadle.errors.TypingError, match="known when the kernel is compiled"):
        kernel[1, 32](np.arange(32, dtype=np.uint32), 32)


# --- atomics ---


@settings(deadline=None, max_examples=20)
@given(
    op=st.sampled_from(["add", "inc", "dec", "max", "exch"]),
    kinds=st.tuples(*2 * [st.sampled_from([np.int32, np.uint32, np.int64, np.uint64, np.uint8])]),
    val=st.integers(0, 9),
)
def test_atomics_take_indices_of_mixed_integer_types(op, kinds, val) -> None:
    first, second = (treadle.as_type(k) for k in kinds)
    atomic = getattr(cuda.atomic, op)

    @cuda.jit
    def kernel(a, old, v):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        old[x, y] = atomic(a, (first(x), second(y)), v)

    a = np.arange(12, dtype=np.uint32).reshape(3, 4)
    was, old = a.copy(), np.zeros_like(a)
    kernel[1, (3, 4)](a, old, np.uint32(val))
    want = {
        "add": was + val,
        "inc": np.where(was >= val, 0, was + 1),
        "dec": np.where((was == 0) | (was > val), val, was - 1),
        "max": np.maximum(was, val),
        "exch": np.full_like(was, val),
    }[op]
    assert np.array_equal(a, want) and np.array_equal(old, was)


MIXED = """
import numpy as np
from numba import cuda, uint64

@cuda.jit(device=True)
def bump(a, op, wrapped):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    at = (x, uint64(y))
    if wrapped:
        at = (at[0] % a.shape[0], at[1] % a.shape[1])
    op(a, at, 1)

@cuda.jit("void(int64[:,:])")
def kernel(a):
    bump(a, cuda.atomic.add, False)
    bump(a, cuda.atomic.sub, True)
    bump(a, cuda.atomic.add, True)

a = np.arange(12).reshape(3, 4)
kernel[1, (3, 4)](a)
assert np.array_equal(a, np.arange(1, 13).reshape(3, 4)), a
"""


def test_an_index_that_paths_made_a_float_is_numbas(tmp_path) -> None:
    run_as_numba(tmp_path, MIXED)


def test_elsewhere_a_float_is_no_index_of_an_atomic() -> None:
    kernel = cuda.jit(lambda a, x: cuda.atomic.add(a, x, 1))
    with pytest.raises(treadle.errors.TypingError, match="cannot be indexed with float64"):
        kernel[1, 1](np.zeros(3, np.int64), 1.0)
