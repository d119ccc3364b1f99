"""Arrays of the host whose items are not aligned, as arguments of kernels: as those that are; memory of kernels that begins where it is asked to."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cuda_check import compile_text
from treadle import cuda
from treadle.cuda import _link
from treadle.errors import TypingError


def odd(a, by=4):
    """The array, with its items off their multiples."""
    raw = np.zeros(a.nbytes + by, np.uint8)
    made = raw[by:].view(a.dtype).reshape(a.shape)
    made[...] = a
    assert not made.flags.aligned
    return made


@cuda.jit
def add(a, b):
    i = cuda.grid(1)
    if i < a.shape[0]:
        a[i] += b[i]


@cuda.jit
def add_of(pair, b):
    i = cuda.grid(1)
    if i < b.shape[0]:
        pair[0][i] += b[i]


PACKED = np.dtype([("tag", "i4"), ("x", "f8")])
A = np.arange(8.0)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: odd(A),
        lambda: odd(A, 1)[::-1],
        lambda: odd(np.arange(16.0))[::2],
        lambda: np.frombuffer(bytearray(44 + 64), "<f8", offset=44),
        lambda: np.zeros(8, PACKED)["x"],
        lambda: odd(A.astype(np.complex128)),
        lambda: odd(A.astype(np.float32), 2),
        lambda: odd(np.arange(8), 4),
    ],
)
def test_written_and_read(make, stream):
    a, b = make(), make()
    before = a.copy()
    b[...] = np.arange(8) + 1
    config = (1, 8, cuda.stream()) if stream else (1, 8)
    add[config](a, b)
    assert (a == before + np.arange(8) + 1).all() and (b == np.arange(8) + 1).all()
    add[config](a, a)  # one array twice is one
    assert (a == 2 * (before + np.arange(8) + 1)).all()
    add_of[config]((a, 3), b)
    assert (a == 2 * before + 3 * (np.arange(8) + 1)).all()


def test_which_way():
    a, b = odd(A), odd(A)
    add[1, 8](cuda.In(a), b)
    assert (a == A).all()
    b.flags.writeable = False
    add[1, 8](a, b)
    assert (a == 2 * A).all()
    d = cuda.to_device(a)
    add[1, 8](d, b)
    assert (d.copy_to_host() == 3 * A).all()
    out = odd(np.zeros(8))
    d.copy_to_host(out)
    assert (out == 3 * A).all()


@pytest.mark.emulated
def test_what_is_refused_and_what_raises():
    a = odd(np.arange(9.0))
    with pytest.raises(ValueError, match="shares memory"):
        add[1, 8](a[1:], a[:-1])
    assert (a == np.arange(9)).all()

    @cuda.jit
    def bad(a):
        a[cuda.grid(1) * 2] = 5

    with pytest.raises(IndexError):
        bad[1, 8](a)
    assert a[0] == 5  # what was done before it is seen


class Plain(np.ndarray):
    pass


def mapped(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(3 + 64))
    return np.memmap(path, "<f8", "r+", 3, (8,))


COMPLEX = np.dtype([("z", "c16"), ("x", "f8")])  # 24 bytes apart


@pytest.mark.emulated
@pytest.mark.parametrize(
    "make",
    [
        mapped,
        lambda _: odd(np.zeros(8)).view(np.recarray),
        lambda _: odd(np.zeros(8)).view(Plain),
        lambda _: np.zeros(8, COMPLEX)["z"],
        lambda _: np.zeros((8, 2), COMPLEX)["z"][:, 1],
    ],
)
def test_other_classes_and_complex_items_that_lie_apart(make, tmp_path):
    a = make(tmp_path)
    b = np.arange(8.0).astype(a.dtype)
    add[1, 8](a, b)
    add_of[1, 8]((a, 1), b)
    assert (np.asarray(a) == 2 * b).all()


@pytest.mark.emulated
def test_classes_that_are_refused_are_refused():
    with pytest.raises(TypeError, match="matrix"):
        add[1, 1](odd(np.zeros((1, 1))).view(np.matrix), np.zeros(1))


# --- memory of blocks and threads that begins at multiples of a number ---

AT = """
extern "C" __device__ long long at(unsigned char *p) { return (long long)p; }
extern "C" __device__ long long atd(double *p) { return (long long)p; }
"""
CLANG = pytest.mark.skipif(_link._clang() is None, reason="there is no clang that this LLVM understands")
ALIGNMENTS = [None, 1, 2, 16, 64, 256, 1024]


def places():
    source = cuda.CUSource(AT, "at.cu")
    at = cuda.declare_device("at", "int64(CPointer(uint8))", link=source, abi="c")
    return at, cuda.declare_device("atd", "int64(CPointer(float64))", link=source, abi="c")


@pytest.mark.emulated
@CLANG
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("n", ALIGNMENTS)
def test_storage_begins_at_multiples(n, debug):
    at, atd = places()

    @cuda.jit(device=True)
    def helper(i):
        own = cuda.local.array(5, np.uint8, alignment=n)
        own[4] = i
        return at(own) + own[4] * 2048

    @cuda.jit(debug=debug)
    def k(out, x):
        a = cuda.shared.array(3, np.uint8, alignment=n)
        b = cuda.shared.array(shape=(5, 2), dtype=np.float64, alignment=n)
        c = cuda.local.array(7, np.uint8, n)
        d = cuda.local.array((3, 3), np.float64, n)
        i, t = cuda.grid(1), cuda.threadIdx.x
        if t == 0:
            a[0] = cuda.blockIdx.x + 1
            for j in range(5):
                b[j, 1] = j
        for j in range(7):
            c[j] = t + j
        for j in range(3):
            for m in range(3):
                d[j, m] = t * 100 + j * 10 + m
        cuda.syncthreads()
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = at(a), atd(b), at(c), atd(d)
        out[i, 4] = helper(t)
        s = 0.0
        for j in range(7):
            s += c[j]
        for j in range(3):
            for m in range(3):
                s += d[j, m]
        x[i] = s + a[0] + b[4, 1]

    out, x, t = np.zeros((128, 5), np.int64), np.zeros(128), np.arange(128) % 32
    k[4, 32](out, x)
    assert (x == 7 * t + 21 + 900 * t + 99 + np.arange(128) // 32 + 1 + 4).all()
    assert (out % (n or 1) == 0).all() and (out[:, [1, 3]] % 8 == 0).all()


@pytest.mark.emulated
@CLANG
@pytest.mark.parametrize("n", ALIGNMENTS)
def test_storage_of_kernels_that_do_not_wait_and_of_grids_that_do(n):
    at, atd = places()

    @cuda.jit
    def alone(out):
        a = cuda.shared.array(3, np.uint8, alignment=n)
        c = cuda.local.array(7, np.uint8, n)
        d = cuda.local.array((3, 3), np.float64, n)
        i = cuda.grid(1)
        c[6], d[2, 2] = i, i
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = at(a), at(c), atd(d), (c[6] + d[2, 2]) * 1024

    @cuda.jit
    def together(out):
        a = cuda.shared.array(3, np.uint8, alignment=n)
        c = cuda.local.array(7, np.uint8, n)
        d = cuda.local.array(2, np.float64, n)
        i = cuda.grid(1)
        c[6], d[1] = i, i
        cuda.cg.this_grid().sync()
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = at(a), at(c), atd(d), (c[6] + d[1]) * 1024

    for kernel in (alone, together):
        out = np.full((128, 4), -1)
        kernel[4, 32](out)
        assert (out % (n or 1) == 0).all() and (out[:, 3] == 2048 * np.arange(128)).all()


@pytest.mark.parametrize("n", ALIGNMENTS)
def test_storage_on_a_gpu(n):
    def k(x):
        a = cuda.shared.array(3, np.uint8, alignment=n)
        b = cuda.local.array(8, np.float64, alignment=n)
        for j in range(8):
            b[(j * x[0]) & 7] = j
        a[x[1]] = b[x[2] & 7]
        cuda.syncthreads()
        x[1] = a[x[3]]

    text, _ = cuda.compile_ptx(k, "void(int64[::1])", cc=(9, 0))
    assert set(re.findall(r"\.(?:shared|local) \.align (\d+) ", text)) == {str(max(16, n or 1))}


@pytest.mark.parametrize(
    ("n", "said"),
    [(3, "not 3"), (0, "not 0"), (-1, "not -1"), (2048, "not 2048"), (16.0, "not 16.0"), ("16", "not '16'")],
)
@pytest.mark.parametrize("where", ["shared", "local"])
def test_alignments_that_there_are_not(where, n, said):
    text = f"def k(x):\n    x[0] = cuda.{where}.array(3, np.uint8, alignment=N)[0]\n"
    fn = compile_text(text, "k")
    fn.__globals__["N"] = n
    with pytest.raises(
        TypingError, match=f"alignment must be a constant integer, a power of two up to 1024, {said}"
    ):
        cuda.jit(fn)[1, 1](np.zeros(1))


def test_alignments_that_nobody_knows():
    kernel = cuda.jit(compile_text("def k(x, n):\n    x[0] = cuda.shared.array(3, np.uint8, n)[0]\n", "k"))
    with pytest.raises(TypingError, match="power of two up to 1024, not int64"):
        kernel[1, 1](np.zeros(1), 16)
    text = "def k(x):\n    x[0] = cuda.shared.array(0, np.uint8, alignment=N)[0]\n"
    fn = compile_text(text, "k")
    fn.__globals__["N"] = 16
    cuda.jit(fn)[1, 1, 0, 8](np.zeros(1))
    fn = compile_text(text, "k")
    fn.__globals__["N"] = 32
    with pytest.raises(TypingError, match="begins at a multiple of 16, and at none of more"):
        cuda.jit(fn)[1, 1, 0, 8](np.zeros(1))
