"""Code of others in kernels (treadle.cuda._link): bitcode, CUDA C, objects; each way in, what goes wrong, the cache, a GPU that is none.

What needs clang or a C compiler is skipped where there is none; bitcode comes from link_code.py.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import treadle
import treadle.parallel
from fake_gpu import RAISES, start
from link_code import BITCODE
from treadle import cuda, njit, prange, types
from treadle.cuda import _link
from treadle.errors import TreadleError, UnsupportedError

pytestmark = pytest.mark.emulated

CLANG = pytest.mark.skipif(_link._clang() is None, reason="there is no clang that this LLVM understands")
CC = pytest.mark.skipif(_link._host_compiler() is None, reason="there is no C compiler")
CXX = pytest.mark.skipif(_link._host_compiler(cxx=True) is None, reason="there is no C++ compiler")

CODE = cuda.Bitcode(BITCODE, "link.bc")
bar = cuda.declare_device("bar", "int32(int32, int32)", link=CODE)
bare = cuda.declare_device("bar", "int32(int32, int32)")
twice = cuda.declare_device("twice", types.float32(types.float32), link=[CODE], abi="c")
tap = cuda.declare_device("put", types.void(types.CPointer(types.float64), types.float64), link=CODE, abi="c")
put = cuda.declare_device("put", "void(CPointer(float64), float64)", link={CODE}, abi="c")
low = cuda.declare_device("low", "int8(int8, bool)", link=CODE, abi="c")

SOURCE = """
#include <cmath>
extern "C" __device__ int bar(int *out, int a, int b) {
    if (a == 13)
        return 3;
    *out = a + b;
    return 0;
}
extern "C" __device__ float scaled(float x) {
    static const float by[4] = {0.5f, 1, 2, 3};
    return by[(int)x & 3] * x + sqrtf(x);
}
extern "C" __device__ int sums(float *out, const float *p, int n) {
    float s = 0;
    for (int i = 0; i < n; i++)
        s += p[i];
    *out = s;
    return 0;
}
extern "C" __device__ int count(int *old, int *at) {
    *old = atomicAdd(at, 1);
    return 0;
}
"""


@cuda.jit
def adds(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = bar(x[i], 10)


def run(kernel, n=10, *args):
    x = np.arange(n, dtype=np.int32)
    kernel[2, 32](x, *args)
    return x.tolist()


# --- ways in ---


def test_declared_with_its_code():
    assert run(adds) == list(range(10, 20))


def test_link_of_the_kernel():
    @cuda.jit(link=CODE)
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = bare(x[i], 7)

    assert run(k) == list(range(7, 17))


@cuda.jit(device=True)
def inner(a, b):
    return bar(a, b) * 2


@cuda.jit(device=True, link=[CODE])
def linked(a):
    return bare(a, 1)


@pytest.mark.parametrize("options", [{}, {"fastmath": True}, {"debug": True}, {"boundscheck": False}])
def test_from_device_functions(options):
    @cuda.jit(**options)
    def k(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = twice(y[i] + 1)
            x[i] = inner(x[i], 10) + linked(x[i])

    x, y = np.arange(10, dtype=np.int32), np.arange(10, dtype=np.float32)
    k[1, 16](x, y)
    assert x.tolist() == [2 * (i + 10) + i + 1 for i in range(10)]
    assert y.tolist() == [2.0 * (i + 1) for i in range(10)]


def test_two_kernels_with_one_link():
    @cuda.jit
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = bar(x[i], 1) - bar(0, x[i])

    assert run(k) == [1] * 10
    assert run(adds) == list(range(10, 20))


@pytest.mark.parametrize("options", [{}, {"debug": True}])
def test_who_a_status_is_told_of(options):
    @cuda.jit(**options)
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = bar(x[i], 10)

    @cuda.jit(**options)
    def through(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = inner(x[i], 10)

    with pytest.raises(RuntimeError, match=r"bar\(\) returned 3 in thread \(1, 0, 0\) of block \(3, 0, 0\)"):
        k[5, 4](np.arange(16, dtype=np.int32))
    with pytest.raises(RuntimeError, match=r"bar\(\) returned 3"):  # a function that others may call, too
        through[5, 4](np.arange(16, dtype=np.int32))


def test_from_the_host_and_on_all_cores():
    @njit
    def one(a, b):
        return bar(a, b)

    @njit(parallel=True)
    def all_of(x):
        s = 0
        for i in prange(x.size):
            s += one(x[i], 1)
        return s

    assert one(2, 3) == 5
    assert all_of(np.zeros(1000, np.int32)) == 1000
    with pytest.raises(RuntimeError, match=r"bar\(\) returned 3"):
        one(13, 0)

    @njit
    def caught(a):
        try:
            return bar(a, 1)
        except RuntimeError:
            return -1

    assert caught(1) == 2 and caught(13) == -1


def test_small_integers_and_bools():
    @njit
    def f(x, up):
        return low(x, up)

    assert f(100, True) == -56 and f(-3, False) == -3


def test_pointers():
    @cuda.jit
    def k(a):
        i = cuda.grid(1)
        if i < a.shape[0]:
            mine = cuda.local.array(2, treadle.float64)
            put(mine, i + 0.5)
            tap(a[i], mine[0])

    a = np.zeros((4, 3))
    k[1, 8](a)
    assert a[:, 0].tolist() == [0.5, 1.5, 2.5, 3.5] and not a[:, 1:].any()


def test_nothing_is_left_of_a_call():
    """Inlined: what comes back from `twice` needs no memory, and its loop has vectors."""

    @njit
    def f(x):
        for i in range(x.size):
            x[i] = twice(x[i])

    f(np.zeros(4, np.float32))
    (text,) = f.inspect_asm().values()
    assert "tr_extern" not in text and ("mulps" in text or "addps" in text)


EITHER = pytest.mark.skipif(
    _link._clang() is None and _link._host_compiler(cxx=True) is None, reason="there is no compiler of C++"
)
MEMORY = """
extern "C" double total(const double *p, int n) { double s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
extern "C" void put(double *p, double x) { *p = x; }
"""


@EITHER
@pytest.mark.parametrize("clang", ["", "none"])
def test_what_it_does_to_memory(clang, monkeypatch):
    """Stores and loads around a call stay where they are; lazily made, local, shared, overlapping and empty arrays."""
    monkeypatch.setattr(treadle.config, "CLANG", clang)
    source = cuda.CUSource(MEMORY, "memory.cu")
    total = cuda.declare_device("total", "float64(CPointer(float64), int32)", link=source, abi="c")
    put = cuda.declare_device("put", "void(CPointer(float64), float64)", link=source, abi="c")

    @njit
    def mixed(a):
        b = a * 2
        put(b, 100.0)
        c = b + 1
        d = total(b, len(b))
        b[1] = 5.0
        e = total(b, len(b))
        a[0] = 7.0
        put(a, 8.0)
        return d, e, a[0], c.sum(), b[0]

    assert mixed(np.arange(5.0)) == (120.0, 123.0, 8.0, 125.0, 100.0)

    @njit
    def in_turn(a):
        s = 0.0
        for _ in range(10):
            put(a, s)
            s += a[0] + 1
        return s

    assert in_turn(np.zeros(2)) == 1023.0

    @njit(parallel=True)
    def own(a):
        for i in prange(len(a)):
            t = np.zeros(3)
            put(t, a[i] + 1)
            a[i] = total(t, 3) + total(t[1:], 1)
        return a

    @njit(parallel=True)
    def apart(a):
        for i in prange(len(a)):
            put(a[i:], i)
        return a

    assert own(np.arange(1000.0)).tolist() == [i + 1.0 for i in range(1000)]
    assert apart(np.zeros(100)).tolist() == list(range(100))

    @njit
    def of(a):
        return total(a, len(a))

    assert of(np.zeros(0)) == 0 and of(np.ones(7)) == 7

    @cuda.jit
    def shared(out):
        s = cuda.shared.array(4, treadle.float64)
        t = cuda.threadIdx.x
        put(s[t:], t + 1.0)
        cuda.syncthreads()
        out[t] = total(s, 4)

    out = np.zeros(4)
    shared[1, 4](out)
    assert out.tolist() == [10.0] * 4

    @treadle.vectorize
    def twofold(x):
        return total(np.array([x, x]), 2)

    assert twofold(np.arange(3.0)).tolist() == [0, 2, 4]
    assert np.asarray(
        treadle.parallel.map(lambda x: total(np.array([x, x]), 2), np.arange(3.0))
    ).tolist() == [0, 2, 4]


# --- what goes wrong ---


def test_a_status_is_an_exception():
    with pytest.raises(
        RuntimeError, match=r"^bar\(\) returned 3 in thread \(5, 0, 0\) of block \(1, 0, 0\)$"
    ) as caught:
        adds[2, 8](np.arange(16, dtype=np.int32))
    frames = []
    tb = caught.value.__traceback__
    while tb:
        frames.append((os.path.basename(tb.tb_frame.f_code.co_filename), tb.tb_lineno))
        tb = tb.tb_next
    assert ("test_cuda_link.py", adds.py_func.__code__.co_firstlineno + 4) in frames


def fails(text, *declaration, args=(1, 2), kind=TreadleError, **options):
    f = cuda.declare_device(*declaration, **options)

    @njit
    def call(*a):
        return f(*a)

    with pytest.raises(kind, match=text):
        call(*args)


def test_missing_and_other_prototypes():
    fails(
        r"nope\(\), declared by declare_device, is in none of: link.bc",
        "nope",
        "int32(int32, int32)",
        link=CODE,
    )
    fails(r"bar\(\), declared by declare_device, is nowhere: nothing is linked", "bar", "int32(int32, int32)")
    fails(r"bar\(\) is i32 \(ptr, i32, i32\) in what is linked", "bar", "int32(int64, int32)", link=CODE)
    fails(r"bar\(\) is i32 \(ptr, i32, i32\)", "bar", "int32(int32)", link=CODE, args=(1,))
    fails(r"twice\(\) is float \(float\)", "twice", "float32(float32)", link=CODE, args=(1,))


def test_arguments_that_do_not_fit():
    put_it = dict(link=CODE, abi="c")
    two = ("bar", "int32(int32, int32)")
    fails(r"bar\(\) takes 2 arguments, not 1", *two, link=CODE, args=(1,))
    fails(r"bar\(\) takes int32 as argument 2, not float64", *two, link=CODE, args=(1, 2.5))
    fails(r"bar\(\) takes int32 as argument 1, not array", *two, link=CODE, args=(np.zeros(3, np.int32), 2))
    pointer = ("put", "void(CPointer(float64), float64)")
    fails(
        r"put\(\) takes an array of float64 as argument 1, not float64", *pointer, **put_it, args=(1.0, 2.0)
    )
    fails("an array of float64 as argument 1", *pointer, **put_it, args=(np.zeros(3, np.float32), 2.0))
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    fails("this array is read-only", *pointer, **put_it, args=(fixed, 2.0))
    fails("one after another", *pointer, **put_it, args=(np.zeros((4, 4))[:, ::2], 2.0))
    fails("one after another", *pointer, **put_it, args=(np.zeros(8)[::2], 2.0), kind=ValueError)

    @njit
    def named(a):
        return bar(a, b=1)

    with pytest.raises(TreadleError, match="no keyword arguments"):
        named(1)


def test_declarations():
    with pytest.raises(TypeError, match="Return type must be provided"):
        cuda.declare_device("f", "(int32,)")
    with pytest.raises(TypeError, match="cannot have complex128"):
        cuda.declare_device("f", "int32(complex128)")
    with pytest.raises(ValueError, match="abi is 'numba' or 'c'"):
        cuda.declare_device("f", "int32(int32)", abi="rust")
    with pytest.raises(ValueError, match="identifier"):
        cuda.declare_device("a b", "int32(int32)")
    with pytest.raises(TypeError, match="kernels call it"):
        bar(1, 2)
    assert isinstance(bar, cuda.DeclaredFunction) and "bar" in repr(bar)
    assert bar.link == (CODE,) and bar.abi == "numba" and not bar.use_cooperative
    assert bar.signature.return_type == bar.sig.return_type == treadle.int32


def test_what_can_be_linked(tmp_path):
    for name, text in (("a.txt", r"extension \.txt"), ("b", "no extension")):
        (tmp_path / name).write_text("")
        with pytest.raises(RuntimeError, match=text):
            cuda.declare_device("f", "int32(int32)", link=str(tmp_path / name))
    with pytest.raises(FileNotFoundError, match="not found"):
        cuda.jit(link=str(tmp_path / "no.bc"))
    with pytest.raises(TypeError, match="link takes paths"):
        cuda.jit(link=[3])
    with pytest.raises(TypeError, match="callback"):
        cuda.PTXSource("", setup_callback=3)
    with pytest.raises(ValueError, match="no bitcode"):
        cuda.Bitcode(b"text")
    for kind in (cuda.Cubin, cuda.Fatbin, cuda.LTOIR, cuda.PTXSource):
        assert "bytes" in repr(kind(b"\x00\x01", "x"))
        fails(
            "x is a GPU's code, which the emulated device does not run: give the CUDA C that it is made of",
            "f",
            "int32(int32)",
            link=kind(b"\x00\x01", "x"),
            args=(1,),
            kind=UnsupportedError,
        )
    assert issubclass(cuda.Object, cuda.LinkableCode) and issubclass(cuda.Archive, cuda.LinkableCode)
    path = tmp_path / "link.bc"
    path.write_bytes(BITCODE)
    assert cuda.Bitcode(path) == CODE and hash(cuda.Bitcode(str(path))) == hash(CODE)
    broken = cuda.Bitcode(BITCODE[:100], "broken.bc")
    fails("broken.bc holds no bitcode", "bar", "int32(int32, int32)", link=broken)


# --- CUDA C ---


def kernels(link):
    f = cuda.declare_device("bar", "int32(int32, int32)", link=link)
    scaled = cuda.declare_device("scaled", "float32(float32)", link=link, abi="c")
    sums = cuda.declare_device("sums", "float32(CPointer(float32), int32)", link=link)
    count = cuda.declare_device("count", "int32(CPointer(int32))", link=link)

    @cuda.jit
    def k(x, y, z, n):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = f(x[i], 10)
            z[i] = scaled(y[i]) + sums(y, 4)
            count(n)

    x, y = np.arange(4, dtype=np.int32), np.arange(1, 5, dtype=np.float32)
    z, n = np.zeros(4, np.float32), np.zeros(1, np.int32)
    k[2, 4](x, y, z, n)
    assert x.tolist() == [10, 11, 12, 13] and n[0] == 4
    want = np.float32([1, 2, 3, 0.5])[[0, 1, 2, 3]] * y + np.sqrt(y) + np.float32(10)
    np.testing.assert_allclose(z, want, rtol=1e-6)
    with pytest.raises(RuntimeError, match=r"bar\(\) returned 3"):
        k[1, 16](np.arange(16, dtype=np.int32), np.zeros(16, np.float32), np.zeros(16, np.float32), n)


@CLANG
def test_cuda_c_by_clang():
    kernels(cuda.CUSource(SOURCE, "jitlink.cu"))


@CXX
def test_cuda_c_by_another_compiler(monkeypatch):
    monkeypatch.setattr(treadle.config, "CLANG", "none")
    kernels(cuda.CUSource(SOURCE, "jitlink.cu", options=["-DX=1"]))


@CLANG
def test_the_page():
    """The program that docs/cuda/linking.md begins with."""
    page = Path(__file__).resolve().parents[2] / "docs" / "cuda" / "linking.md"
    (program,) = re.findall(r"(?m)^```python\n(.*?)^```$", page.read_text(), re.S)
    assert 'extern "C" __device__' in program and "assert " in program
    exec(program, {"__name__": "page"})


@CLANG
def test_errors_of_the_compiler():
    fails(
        r"wrong\.cu:2:\d+: error",
        "f",
        "int32(int32)",
        link=cuda.CUSource("\nint f(\n", "wrong.cu"),
        args=(1,),
        kind=cuda.cudadrv.driver.LinkerError,
    )
    source = cuda.CUSource("int bar(int *o, int a, int b) { *o = a; return b; }", "mangled.cu")
    fails('write extern "C" before it', "bar", "int32(int32, int32)", link=source)
    barrier = cuda.CUSource('extern "C" __device__ int f(int *o) { __syncthreads(); return 0; }', "b.cu")
    fails(r"b\.cu waits at a barrier in f\(\): on the emulated device", "f", "int32()", link=barrier, args=())


PLACES = r"""
__shared__ float tile[32];
extern "C" __device__ int where(long long *out, long long *a) {
    a[0] = threadIdx.x; a[1] = threadIdx.y; a[2] = threadIdx.z;
    a[3] = blockIdx.x; a[4] = blockIdx.y; a[5] = blockIdx.z;
    a[6] = blockDim.x; a[7] = blockDim.y; a[8] = blockDim.z;
    a[9] = gridDim.x; a[10] = gridDim.y; a[11] = gridDim.z;
    *out = blockIdx.x * blockDim.x + threadIdx.x;
    __threadfence(); __threadfence_block(); __threadfence_system();
    return 0;
}
extern "C" __device__ int kinds(int *o) {
    uint3 thread = threadIdx;
    const uint3 &block = blockIdx;
    dim3 of = blockDim, flat(7, 2), point;
    uint3 back = of;
    *o = thread.x + of.x * (block.x + gridDim.x * back.y) + 1000 * (flat.y * flat.z + point.z) + 100000 * warpSize;
    return 0;
}
extern "C" __device__ void put(float x) { tile[threadIdx.x] = x; }
extern "C" __device__ float get(int i) { return tile[i]; }
extern "C" __device__ int often(void) { __shared__ int times; return ++times; }
"""


def places(clang):
    source = cuda.CUSource(PLACES, "places.cu", options=["-DBY_CLANG"] if clang else [])
    where = cuda.declare_device("where", "int64(CPointer(int64))", link=source)
    store = cuda.declare_device("put", "void(float32)", link=source, abi="c")
    load = cuda.declare_device("get", "float32(int32)", link=source, abi="c")
    often = cuda.declare_device("often", "int32()", link=source, abi="c")
    kinds = cuda.declare_device("kinds", "int32()", link=source)

    @cuda.jit(device=True)
    def helper(a):
        return where(a)

    @cuda.jit
    def k(a, out):
        t = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
        b = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
        i = b * cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z + t
        out[i] = helper(a[i])

    grid, block = (70000, 1, 2), (2, 1, 1)  # more blocks than 16 bits count
    n = math.prod(grid) * math.prod(block)
    a, out = np.zeros((n, 12), np.int64), np.zeros(n, np.int64)
    k[grid, block](a, out)
    x = np.tile(np.arange(140000), 2)
    assert (out == x).all()
    for column, want in enumerate((x % 2, 0, 0, x // 2, 0, np.arange(n) // 140000, 2, 1, 1, 70000, 1, 2)):
        assert (a[:, column] == want).all(), column
    grid, block = (3, 2, 2), (4, 3, 2)
    a, out = np.zeros((288, 12), np.int64), np.zeros(288, np.int64)
    k[grid, block](a, out)
    b, t = np.divmod(np.arange(288), 24)
    assert a.T.tolist() == [
        list(np.broadcast_to(v, 288))
        for v in (t % 4, t // 4 % 3, t // 12, b % 3, b // 3 % 2, b // 6, 4, 3, 2, 3, 2, 2)
    ]

    @cuda.jit
    def turn(x):
        store(x[cuda.grid(1)])
        cuda.syncthreads()
        x[cuda.grid(1)] = load(31 - cuda.threadIdx.x)

    x = np.arange(4096, dtype=np.float32)
    turn[128, 32](x)
    assert (x.reshape(128, 32)[:, ::-1].ravel() == np.arange(4096)).all()

    @cuda.jit
    def kinds_of(out):
        out[cuda.grid(1)] = kinds()

    out = np.zeros(12, np.int32)
    kinds_of[3, 4](out)
    assert (out == np.arange(12) + 4 * 3 + 3000 + 3200000).all()

    @cuda.jit
    def counts(out):
        out[cuda.grid(1)] = often()

    out = np.zeros(64, np.int32)
    counts[1, 64](out)
    assert (np.diff(np.sort(out)) == 1).all()  # one variable for all of a block

    @njit
    def host(a):
        return where(a)

    with pytest.raises(treadle.TypingError, match="there are no threads of a block here"):
        host(np.zeros(12, np.int64))


@CLANG
def test_places_and_shared_memory():
    places(True)


@CXX
def test_places_and_shared_memory_by_another_compiler(monkeypatch):
    monkeypatch.setattr(_link, "_clang", lambda: None)
    places(False)
    barrier = cuda.CUSource('extern "C" __device__ int f(int *o) { __syncthreads(); return 0; }', "c.cu")
    fails("stands in the kernel", "f", "int32()", link=barrier, args=(), kind=RuntimeError)


@CLANG
def test_variables_of_each_thread_that_are_not_to_be_had():
    begins = cuda.CUSource(
        'extern "C" __device__ int f(int *o) { static __thread int n = 3; *o = n++; return 0; }', "n.cu"
    )
    fails(r"n\.cu has a variable .*n of which each thread has its own", "f", "int32()", link=begins, args=())
    elsewhere = cuda.CUSource(
        'extern "C" { extern __thread int n; __device__ int f(int *o) { *o = n; return 0; } }', "e.cu"
    )
    fails(r"e\.cu has a variable n of which", "f", "int32()", link=elsewhere, args=())


@CLANG
def test_places_for_a_gpu():
    source = cuda.CUSource(PLACES, "places.cu")
    where = cuda.declare_device("where", "int64(CPointer(int64))", link=source)
    kinds = cuda.declare_device("kinds", "int32()", link=source)

    def k(a):
        where(a)
        a[0] = kinds()

    text, _ = cuda.compile_ptx(k, (types.int64[::1],), cc=(9, 0))
    assert "%tid.y" in text and "%nctaid.z" in text and "membar.sys" in text and "tr_rt" not in text


PLACED = """
    import numpy as np
    from treadle import cuda
    f = cuda.declare_device("f", "int32()", link=cuda.CUSource(
        'extern "C" __device__ int f(int *o) { __shared__ int n; n = 7; *o = threadIdx.x + n; return 0; }', "f.cu"))

    @cuda.jit(cache=True)
    def k(out):
        out[cuda.grid(1)] = f()

    out = np.zeros(4, np.int32)
    k[1, 4](out)
    (entry,) = k._entries.values()
    print(out.tolist(), entry.stats["loaded"])
"""


@CLANG
def test_places_from_the_cache(tmp_path):
    program = tmp_path / "placed.py"
    program.write_text(textwrap.dedent(PLACED))
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "c"), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run(
            [sys.executable, str(program)], env=env, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert said == ["[7, 8, 9, 10] 0\n", "[7, 8, 9, 10] 1\n"]


@CLANG
def test_code_for_another_processor_and_code_that_runs_before():
    for_gpu = _link._compile(cuda.CUSource(SOURCE), "nvptx64")
    fails(
        "made for nvptx64-nvidia-cuda, and this code for x86_64",
        "bar",
        "int32(int32, int32)",
        link=cuda.Bitcode(for_gpu, "g.bc"),
    )
    early = cuda.CUSource('int g(); static int x = g(); extern "C" int f(int *o) { return x; }', "early.cu")
    fails("early.cu has variables whose values are computed", "f", "int32()", link=early, args=())
    nowhere = cuda.CUSource('extern "C" int g(); extern "C" int f(int *o) { return g(); }', "n.cu")
    fails("g", "f", "int32()", link=nowhere, args=(), kind=Exception)


def called(f, x):
    return njit(lambda a: f(a))(x)


@CLANG
def test_assembly_is_refused():
    """There is no assembler for the host; a barrier for the compiler has nothing for one."""
    for text, where in (
        (
            'extern "C" int f(int a) { int r; asm("lea 1(%1), %0" : "=r"(r) : "r"(a)); return r; }',
            r"in f\(\)",
        ),
        ('asm(".globl g"); extern "C" int f(int a) { return a; }', "outside functions"),
    ):
        source = cuda.CUSource(text, "asm.cu")
        fails(rf"asm\.cu has assembly {where}", "f", "int32(int32)", link=source, abi="c", args=(1,))
    barrier = cuda.CUSource('extern "C" int f(int a) { asm volatile("" ::: "memory"); return a; }')
    f = cuda.declare_device("f", "int32(int32)", link=barrier, abi="c")
    assert called(f, 4) == 4


@CLANG
@pytest.mark.skipif("amx_tile" in Path("/proc/cpuinfo").read_text(), reason="this processor has them")
def test_instructions_that_the_processor_has_not():
    text = """
#include <immintrin.h>
extern "C" __attribute__((target("amx-tile"))) int f(int a) { _tile_zero(1); return a; }
"""
    fails(
        r"has instructions in f\(\) that", "f", "int32(int32)", link=cuda.CUSource(text), abi="c", args=(1,)
    )
    plain = cuda.CUSource('extern "C" int f(int a) { return a + (__builtin_ia32_rdtsc() == 0); }')
    assert called(cuda.declare_device("f", "int32(int32)", link=plain, abi="c"), 3) == 3


@CLANG
@pytest.mark.parametrize("way", ["ms_abi", "preserve_most", "vectorcall"])
def test_functions_that_are_called_in_another_way(way):
    source = cuda.CUSource(f'extern "C" __attribute__(({way})) int f(int a, int b) {{ return 10 * a + b; }}')
    f = cuda.declare_device("f", "int32(int32, int32)", link=source, abi="c")
    assert njit(lambda a, b: f(a, b))(4, 2) == 42


@CLANG
def test_what_several_files_of_cpp_may_have():
    """Functions of templates and classes are in a group of which a linker takes one."""
    text = """
template <class T> __attribute__((noinline)) T fact(T n) { return n < 2 ? 1 : n * fact(n - 1) + 0 * fact(n - 2); }
struct shape { virtual int sides(int n) { return n; } };
struct box : shape { int sides(int n) override { return 4 * n; } };
extern "C" int NAME(int n) { box b; shape *volatile s = &b; return s->sides(fact(n)); }
"""
    f, g = (
        cuda.declare_device(
            name, "int32(int32)", link=cuda.CUSource(text.replace("NAME", name), name + ".cu"), abi="c"
        )
        for name in ("first", "second")
    )
    assert njit(lambda n: f(n) + g(n + 1))(4) == 4 * 24 + 4 * 120


@CXX
@pytest.mark.parametrize("clang", [pytest.param("", marks=CLANG), "none"])
def test_a_header_that_changes(tmp_path, monkeypatch, clang):
    """Within one process, too: what was loaded of the former text is not what is called."""
    monkeypatch.setattr(treadle.config, "CLANG", clang)
    (tmp_path / "s.cu").write_text('#include "h.h"\nextern "C" int f(int a) { return a + K; }')
    got = []
    for k in (1, 100, 1):
        (tmp_path / "h.h").write_text(f"#define K {k}\n")
        f = cuda.declare_device("f", "int32(int32)", link=str(tmp_path / "s.cu"), abi="c")
        got.append(called(f, 5))
    assert got == [6, 105, 6]


@CXX
@pytest.mark.parametrize("clang", [pytest.param("", marks=CLANG), "none"])
def test_names_and_options_of_sources(monkeypatch, clang):
    monkeypatch.setattr(treadle.config, "CLANG", clang)
    text = 'extern "C" int f(int a) { return a + N; }'
    for name in ('a"b.cu', "a\nb.cu", "folder/", "..", "\\x.cu", "x" * 300, "<a>", ""):
        f = cuda.declare_device("f", "int32(int32)", link=cuda.CUSource(text, name, options="-DN=4"), abi="c")
        assert called(f, 5) == 9
    wrong = cuda.CUSource("int f(\n", 'a "b".cu')
    fails(r'a "b"\.cu:\d+:\d+: error', "f", "int32(int32)", link=wrong, args=(1,), kind=RuntimeError)
    with pytest.raises(TypeError, match="a name is a str, not int"):
        cuda.CUSource(text, 5)
    with pytest.raises(TypeError, match="options are words"):
        cuda.CUSource(text, options=[5])


@CLANG
def test_a_file_beside_what_is_missing(tmp_path):
    (tmp_path / "jitlink.cu").write_text('#include "part.h"\n' + SOURCE)
    (tmp_path / "part.h").write_text("#define HERE 1\n")
    with pytest.warns(UserWarning, match=r"jitlink\.cu is compiled in its place"):
        links = _link.as_links(str(tmp_path / "jitlink.o"))
    kernels(links)


def test_the_variable_that_names_clang():
    code = "from treadle.cuda import _link; print(_link._clang())"
    env = {**os.environ, "TREADLE_CLANG": "none", "PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout
        == "None\n"
    )


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(treadle.config, "CLANG", "none")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    fails(
        "clang or another C\\+\\+ compiler",
        "f",
        "int32(int32)",
        link=cuda.CUSource("// 1"),
        args=(1,),
        kind=UnsupportedError,
    )
    monkeypatch.setattr(treadle.config, "CLANG", "/nowhere/clang")
    fails(
        "there is no /nowhere/clang",
        "f",
        "int32(int32)",
        link=cuda.CUSource("// 2"),
        args=(1,),
        kind=RuntimeError,
    )


@CC
@pytest.mark.parametrize("suffix", ["o", "a", "so"])
def test_objects_of_the_host(tmp_path, suffix):
    cc = _link._host_compiler()
    source, path = tmp_path / "c.c", tmp_path / f"c.{suffix}"
    source.write_text("int bar(int *out, int a, int b) { *out = a * b; return a == 13 ? 3 : 0; }\n")
    made = path if suffix != "a" else tmp_path / "c.o"
    words = ["-shared"] if suffix == "so" else ["-c"]
    subprocess.run([*cc, "-fPIC", *words, "-o", str(made), str(source)], check=True)
    if suffix == "a":
        if not shutil.which("ar"):
            pytest.skip("there is no ar")
        subprocess.run(["ar", "rcs", str(path), str(made)], check=True)
    f = cuda.declare_device("bar", "int32(int32, int32)", link=str(path))

    @cuda.jit
    def k(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = f(x[i], 3)

    assert run(k) == [3 * i for i in range(10)]
    with pytest.raises(RuntimeError, match=r"bar\(\) returned 3"):
        run(k, 20)


OLD = """
from numba import cuda, types
import numpy as np
bar = cuda.declare_device('bar', 'int32(int32, int32)')

@cuda.jit('void(int32[:], int32[:])', link=['jitlink.o'])
def foo(x, y):
    i = cuda.grid(1)
    x[i] += bar(x[i], y[i])

A = np.arange(5, dtype=np.int32)
foo[1, 5](A, A.copy())
print(A)
sums = cuda.declare_device('sums', types.float32(types.CPointer(types.float32), types.int32), link='jitlink.cu')

@cuda.jit
def reduced(r, a):
    r[0] = sums(a, len(a))

r = np.zeros(1, np.float32)
reduced[1, 1](r, np.arange(10, dtype=np.float32))
print(r)
"""


@EITHER
def test_a_program_for_numba(tmp_path):
    (tmp_path / "jitlink.cu").write_text("#include <cstdio>\n" + SOURCE)
    (tmp_path / "old.py").write_text(OLD)
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "treadle", "run", "old.py"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[ 0  3  6  9 12]\n[45.]\n", done.stderr
    assert "jitlink.o is not there: jitlink.cu is compiled in its place" in done.stderr


LOOKS = r"""
from numba import cuda
from numba.core.errors import UnsupportedError
from numba.cuda.cudadrv.driver import LinkerError, _Linker
from numba.cuda.testing import test_data_dir

assert test_data_dir.name == "data" and (test_data_dir / "saxpy.cu").exists()
linker = _Linker(max_registers=0, cc=(7, 5), lto=True)
linker.add_cu("extern \"C\" __device__ int foo(int x) { return x + 1; }", "foo")
text = linker.get_linked_ptx().decode()
assert ".target sm_75" in text and "foo" in text, text
linker.close()
linker.add_file_guess_ext(str(test_data_dir / "saxpy.cu"))
assert b"saxpy" in linker.get_linked_ptx()
for what, kind in (
    (lambda: linker.add_cu("int f(", "wrong.cu"), LinkerError),
    (lambda: linker.add_ptx(text.replace("sm_75", "sm_90"), "new.ptx"), LinkerError),
    (lambda: linker.add_file_guess_ext(cuda.Cubin(b"")), UnsupportedError),
    (linker.complete, UnsupportedError),
    (lambda: (linker.add_ptx(text), linker.get_linked_ptx()), UnsupportedError),
    (lambda: _Linker(cc=(3, 0)), UnsupportedError),
):
    try:
        what()
    except kind as error:
        print(str(error).splitlines()[0])
"""


@CLANG
def test_a_linker_of_numba(tmp_path):
    (tmp_path / "tests" / "data").mkdir(parents=True)
    (tmp_path / "tests" / "cudadrv").mkdir()
    (tmp_path / "tests" / "data" / "saxpy.cu").write_text(
        'extern "C" __device__ float saxpy(float a, float x, float y) { return a * x + y; }'
    )
    (tmp_path / "tests" / "cudadrv" / "looks.py").write_text(LOOKS)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TREADLE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "treadle", "run", "tests/cudadrv/looks.py"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    said = done.stdout.splitlines()
    assert done.returncode == 0 and len(said) == 6, done.stdout + done.stderr
    for line, word in zip(said, ("wrong.cu", "sm_90", ".cubin", "get_linked_ptx", "2 parts", "7.5 and up")):
        assert word in line


def test_pickled():
    @cuda.jit(link=CODE)
    def k(x):
        if cuda.grid(1) == 0:
            x[0] = bare(x[0], 1)

    again = pickle.loads(pickle.dumps(bar))
    assert again.link == bar.link and again.signature == bar.signature and again.name == "bar"
    assert pickle.loads(pickle.dumps(adds)) is adds
    made = k.specialize(np.zeros(1, np.int32))
    assert run(made, 1) == [1]


# --- the cache ---

CACHED = """
    import sys
    import numpy as np
    from link_code import BITCODE
    from treadle import cuda, njit
    code = BITCODE if sys.argv[1] == "1" else open(sys.argv[1], "rb").read()
    bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.Bitcode(code))

    @njit(cache=True)
    def f(a):
        return bar(a, 10)

    print(f(1), sum(f.stats.cache_hits.values()))
"""


def test_from_the_cache(tmp_path):
    program = tmp_path / "cached.py"
    program.write_text(textwrap.dedent(CACHED))
    env = {
        **os.environ,
        "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    said = [
        subprocess.run(
            [sys.executable, str(program), "1"], env=env, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["11", "0"], ["11", "1"]]
    assert BITCODE.count(b"bartwice") == 1  # another name in its place is other content
    other = tmp_path / "other.bc"
    other.write_bytes(BITCODE.replace(b"bartwice", b"baztwice"))
    run_other = subprocess.run(
        [sys.executable, str(program), str(other)], env=env, capture_output=True, text=True
    )
    assert "is in none of" in run_other.stderr


BY_ADDRESS = f"""
import numpy as np
from treadle import cuda, njit
bar = cuda.declare_device("bar", "int32(int32, int32)", link=cuda.CUSource({SOURCE!r}, "jitlink.cu"))

@njit(cache=True)
def f(a):
    return bar(a, 10)

print(f(1), sum(f.stats.cache_hits.values()))
"""


@CXX
def test_addresses_from_the_cache(tmp_path):
    """They are looked up anew: a process that finds the code has loaded the library elsewhere."""
    (tmp_path / "cached.py").write_text(BY_ADDRESS)
    env = {
        **os.environ,
        "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    env["TREADLE_CLANG"] = "none"
    command = [sys.executable, str(tmp_path / "cached.py")]
    said = [
        subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout for _ in range(2)
    ]
    assert said == ["11 0\n", "11 1\n"]
    assert len(list((tmp_path / "cache" / "linked").glob("*.so"))) == 1


# --- a GPU that is none ---

ON_GPU = (
    RAISES
    + """
import numpy as np
from link_code import BITCODE
from treadle import cuda
code = cuda.Bitcode(BITCODE, "link.bc")
bar = cuda.declare_device("bar", "int32(int32, int32)", link=code)
twice = cuda.declare_device("twice", "float32(float32)", abi="c")

@cuda.jit(link=code)
def k(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = bar(x[i], 10)
        y[i] = twice(y[i])

x, y = cuda.to_device(np.arange(10, dtype=np.int32)), cuda.to_device(np.arange(10, dtype=np.float32))
k[2, 8](x, y)
assert x.copy_to_host().tolist() == list(range(10, 20)), x.copy_to_host()
assert y.copy_to_host().tolist() == list(range(0, 20, 2))
(text,) = k.inspect_asm().values()
assert "call" not in text and "tr_extern" not in text and ".func" not in text, text
try:
    k[2, 8](cuda.to_device(np.full(10, 13, np.int32)), y)
    cuda.synchronize()
except RuntimeError as error:
    assert str(error) == "bar() returned 3", error
    assert error.__notes__ == ["thread (0, 0, 0) of block (0, 0, 0)"], error.__notes__
else:
    raise AssertionError("no RuntimeError")

@cuda.jit(link=cuda.Cubin(b"", "a.cubin"))
def other(x):
    x[0] = bar(x[0], 1)
raises(Exception, "a.cubin: kernels of a GPU are linked to .bc, .cu and .ptx files", other[1, 1], x)
"""
)

PTX = """
.version 7.0
.target sm_60
.address_size 64

.visible .func (.param .b32 func_retval0) scale(
    .param .b64 scale_param_0,
    .param .b32 scale_param_1
)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [scale_param_0];
    ld.param.u32 %r1, [scale_param_1];
    add.s32 %r2, %r1, %r1;
    st.u32 [%rd1], %r2;
    mov.u32 %r2, 0;
    st.param.b32 [func_retval0+0], %r2;
    ret;
}
"""

PTX_ON_GPU = (
    RAISES
    + f"""
import numpy as np
from treadle import cuda
code = cuda.PTXSource({PTX!r}, "scale.ptx")
scale = cuda.declare_device("scale", "int32(int32)", link=code)

@cuda.jit
def k(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = scale(x[i])

x = cuda.to_device(np.arange(10, dtype=np.int32))
k[2, 8](x)
assert x.copy_to_host().tolist() == list(range(0, 20, 2)), x.copy_to_host()
(text,) = k.inspect_asm().values()
assert text.count(".version") == 1 and ".extern .func" not in text and ".visible .func" in text

def refused(said, *declaration, link=code):
    f = cuda.declare_device(*declaration, link=link)
    @cuda.jit
    def other(x):
        x[0] = f(x[0])
    raises(Exception, said, other[1, 1], x)

refused("scale() has parameters of [64, 32] bits and a result of [32] in scale.ptx, and was declared with [64, 64] and [32]", "scale", "int32(int64)")
refused("nope(), declared by declare_device, is in none of: scale.ptx", "nope", "int32(int32)")
new = cuda.PTXSource({PTX.replace("sm_60", "sm_120")!r}, "new.ptx")
refused("new.ptx is made for sm_120, and the GPU is sm_", "scale", "int32(int32)", link=new)
"""
)


def test_ptx_on_a_gpu():
    done = start(PTX_ON_GPU)
    assert done.returncode == 0, done.stderr


def test_ptx_is_part_of_the_text(tmp_path):
    scale = cuda.declare_device(
        "scale", "int32(int32)", link=cuda.PTXSource(PTX.replace("7.0", "8.1"), "scale.ptx")
    )

    def k(x):
        x[0] = scale(x[0])

    text, _ = cuda.compile_ptx(k, (types.int32[::1],), cc=(9, 0))
    assert (
        text.count(".version 8.1") == 1 and ".extern .func" not in text and text.count("scale_param_0") == 2
    )
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.path.exists(ptxas):
        pytest.skip("there is no ptxas")
    (tmp_path / "k.ptx").write_text(text)
    subprocess.run(
        [ptxas, "-arch=sm_90", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")], check=True
    )


def test_on_a_gpu():
    done = start(ON_GPU, PYTHONPATH=os.pathsep.join(sys.path))
    assert done.returncode == 0, done.stderr


@CLANG
def test_cuda_c_on_a_gpu():
    source = f"""
import numpy as np
from treadle import cuda
code = cuda.CUSource({SOURCE!r}, "jitlink.cu")
f = cuda.declare_device("bar", "int32(int32, int32)", link=code)
sums = cuda.declare_device("sums", "float32(CPointer(float32), int32)", link=code)

@cuda.jit
def k(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = f(x[i], int(sums(y, 4)))

x = cuda.to_device(np.arange(10, dtype=np.int32))
k[2, 8](x, cuda.to_device(np.ones(4, np.float32)))
assert x.copy_to_host().tolist() == list(range(4, 14)), x.copy_to_host()
"""
    done = start(source, PYTHONPATH=os.pathsep.join(sys.path))
    assert done.returncode == 0, done.stderr
