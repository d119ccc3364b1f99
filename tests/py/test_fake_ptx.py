"""The interpreter of PTX behind the fake driver (tests/fake/ptx.h): kernels do there what they do on the emulated device, single instructions what PTX says they do, and
what is wrong ends the launch, or is refused when it is loaded, by its line."""

from __future__ import annotations

import ctypes
import math
import os
import random
import struct

import fake_cuda
import numpy as np
import pytest
from cuda_check import compile_text, kernel_of
from fake_cuda import Driver, Failed
from sizes import PART
from test_cuda_language import SHUFFLES, VOTES, numbers
from test_cuda_meetings import TANGLED, own
from test_cuda_ptx import BODIES, MATHS, MATHS2
from test_target import has_libclc
from treadle import cuda

# Not where the interpreter is instrumented: the C tests and test_cuda_gpu.py run it so, and these would take minutes.
pytestmark = pytest.mark.slow

has_math = pytest.mark.skipif(
    not (has_libclc() or os.environ.get("CUDA_HOME")), reason="mathematics for devices is not here"
)


@pytest.fixture(scope="module")
def driver() -> Driver:
    return Driver()


@pytest.fixture(params=["a toolkit's", "our own"])
def library(request, monkeypatch, tmp_path):
    """The mathematics that kernels are linked to: where there is a toolkit, Treadle's own is tested all the same."""
    if request.param == "our own":
        if not has_libclc():
            pytest.skip("Treadle was built without libclc")
        monkeypatch.setenv("CUDA_HOME", str(tmp_path))


# --- Treadle's kernels ---


def check(driver, text, grid, block, *args, exact=True, shared=0, near=4, **options):
    """Both devices leave the same in the arguments."""
    kernel = cuda.jit(**options)(compile_text(text, "k"))
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    kernel[grid, block, 0, shared](*theirs)
    assert fake_cuda.run(driver, kernel, grid, block, tuple(mine), shared) == 0, text
    for got, want in zip(mine, theirs):
        if not isinstance(got, np.ndarray):
            continue
        if exact or got.dtype.kind not in "fc":
            np.testing.assert_array_equal(got, want, err_msg=text)
        else:
            eps = float(np.finfo(got.dtype).eps)
            np.testing.assert_allclose(got, want, rtol=near * eps, atol=near * eps, err_msg=text)


SPACES = {
    "one and another": "b[i] = 2 * a[i] + n",
    "shared of the launch": "s = cuda.shared.array(0, np.float64)\n    s[cuda.threadIdx.x] = a[i]\n    cuda.syncthreads()\n    b[i] = s[31 - cuda.threadIdx.x] + s.size",
    "its own": "l = cuda.local.array((3, 4), np.int32)\n    for j in range(12):\n        l[j // 4, j % 4] = j * i\n    b[i] = l[i % 3, i % 4]",
    "constant": "c = cuda.const.array_like(TABLE)\n    b[i] = c[i % 5, i % 2]",
    "all kinds of items": "s = cuda.shared.array(32, np.int8)\n    u = cuda.shared.array(32, np.uint16)\n    t = cuda.threadIdx.x\n    s[t] = -t\n    u[t] = t * 3000\n"
    "    cuda.syncthreads()\n    b[i] = s[31 - t] * u[t]",
}


OPTIONS: list[dict] = [{}, {"debug": True}, {"opt": False}]
# What needs memory of its own where nothing is optimised. And "shared 2-D" reads what nobody has written, which is 0 on the emulated device and anything here.
NEEDS = ("array expression", "array expression in place", "prange")


@pytest.mark.parametrize(
    "name, options",
    [(b, o) for b in (*SPACES, *BODIES) for o in OPTIONS if b != "shared 2-D" and not (o and b in NEEDS)][
        ::PART
    ],
    ids=str,
)
def test_bodies(driver, name, options):
    """What kernels are made of: one thread alone, where others would race, and a block."""
    head = "import treadle\ndef k(a, b, n):\n    i = cuda.grid(1)\n"
    body = (SPACES | BODIES)[name]
    a, b = np.arange(1.0, 33) * 1.5, np.arange(32.0)
    alone = not any(w in body for w in ("shared", "threadIdx"))
    scope = {"TABLE": np.arange(10.0).reshape(5, 2)}
    text = f"{head}    {body}\n"
    kernel = cuda.jit(**options)(compile_text(text, "k", **scope))
    plain = kernel_of(text, **scope)
    mine, theirs = (a.copy(), b.copy()), (a.copy(), b.copy())
    block = 1 if alone else 32
    plain[1, block, 0, 256](*theirs, 7)
    assert fake_cuda.run(driver, kernel, 1, block, (*mine, 7), 256) == 0
    for got, want in zip(mine, theirs):
        np.testing.assert_allclose(got, want, rtol=1e-14, err_msg=text)


def test_the_same_array_twice(driver):
    a = np.arange(8.0)
    text = "def k(x, y):\n    i = cuda.grid(1)\n    x[i] *= 2\n    y[i] += 1\n"
    assert fake_cuda.run(driver, kernel_of(text), 1, 8, (a, a)) == 0
    np.testing.assert_array_equal(a, np.arange(8) * 2 + 1)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "backwards", "empty"])
def test_arrays(driver, layout):
    base = np.arange(60, dtype=np.int32).reshape(6, 10)
    x = {
        "C": base,
        "F": np.asfortranarray(base),
        "strided": base[::2, 1::3],
        "backwards": base[::-1, ::-1],
        "empty": base[:, :0],
    }[layout]
    y = np.zeros(x.shape[::-1], np.int32).T
    kernel = kernel_of(
        "def k(x, y):\n    i, j = cuda.grid(2)\n    if i < x.shape[0] and j < x.shape[1]:\n        y[i, j] = -x[i, j]\n"
    )
    assert fake_cuda.run(driver, kernel, (2, 3), (4, 4), (x, y)) == 0
    np.testing.assert_array_equal(y, -x)


def test_arguments(driver):
    text = """
def k(q, t, z, h, flag, w):
    q[0], q[1], q[2], q[3], q[4], q[5] = t[0], t[1][2], z.real, z.imag, h, flag
    q[6], q[7] = w.real, t[2]
"""
    args = ((3, np.arange(4.0), True), 2.5 - 1j, np.int8(-5), False, np.complex64(1.5))
    q = np.zeros(8)
    assert fake_cuda.run(driver, kernel_of(text), 1, 1, (q, *args)) == 0
    np.testing.assert_array_equal(q, [3, 2, 2.5, -1, -5, 0, 1.5, 1])


EXTREMES = [0.0, -0.0, 1e-8, 700.0, 1e5, -1e5, 1e30, -1e30, np.inf, -np.inf, np.nan, -np.nan]


@has_math
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", [f for f in MATHS if hasattr(math, f)][::PART])
def test_functions(driver, library, f, dtype):
    x = np.concatenate([np.linspace(-3, 3, 41), EXTREMES]).astype(dtype)
    if f in ("gamma", "lgamma"):
        x = np.abs(x) + dtype_of(dtype)(0.25)
    if f in ("floor", "ceil", "trunc"):
        x = x[np.isfinite(x)]
    text = f"def k(x, q):\n    i = cuda.grid(1)\n    if i < x.size:\n        q[i] = math.{f}(x[i])\n"
    with np.errstate(all="ignore"):
        check(driver, text, 2, 32, x, np.zeros_like(x), exact=False, near=64)


def dtype_of(name: str) -> type:
    return np.dtype(name).type


@has_math
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", [f for f in MATHS2 if hasattr(math, f)][::PART])
def test_functions_of_two(driver, library, f, dtype):
    values = np.array([-2.5, -1, -0.0, 0.5, 1, 3, 100.25, -1e30, np.inf, -np.inf, np.nan])
    x, y = (v.ravel().astype(dtype) for v in np.meshgrid(values, values))
    text = f"def k(x, y, q):\n    i = cuda.grid(1)\n    if i < x.size:\n        q[i] = math.{f}(x[i], y[i])\n"
    check(driver, text, 2, 32, x, y, np.zeros_like(x), exact=False, near=16)


@has_math
def test_fast_mathematics(driver):
    text = "def k(x, q):\n    i = cuda.grid(1)\n    q[i] = math.sin(x[i]) / math.sqrt(x[i]) + math.exp(x[i]) ** 0.3 - math.log(x[i])\n"
    x = np.linspace(0.1, 4, 32).astype(np.float32)
    check(driver, text, 1, 32, x, np.zeros_like(x), exact=False, near=256, fastmath=True)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8", "i2", "u1"])
@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles(driver, name, dtype):
    for n in (32, 45):
        check(driver, SHUFFLES[name], 1, n, numbers(n, dtype), np.zeros(n, dtype))


@pytest.mark.parametrize("name", VOTES)
def test_votes(driver, name):
    for n in (1, 7, 33, 70):
        check(driver, own(VOTES[name]), 2, n, numbers(n, "i8"), np.zeros(2 * n, np.int64))


@pytest.mark.parametrize("name", TANGLED)
def test_tangled(driver, name):
    for n in (31, 64):
        check(driver, own(TANGLED[name]), 2, n, numbers(n, "i8"), np.zeros(2 * n, np.int64))


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
def test_atomics(driver, dtype):
    names = ["add", "sub", "max", "min"] + ["and_", "or_", "xor"] * (dtype[0] != "f")
    calls = "".join(
        f"    cuda.atomic.{f}(a, {n}, x[i])\n    cuda.atomic.{f}(s, {n}, x[i])\n" for n, f in enumerate(names)
    )
    text = f"""
def k(a, x):
    s = cuda.shared.array(8, np.{np.dtype(dtype).name})
    i = cuda.grid(1)
    if cuda.threadIdx.x < 8:
        s[cuda.threadIdx.x] = 5
    cuda.syncthreads()
{calls}    cuda.syncthreads()
    if cuda.threadIdx.x < 8:
        cuda.atomic.add(a, 8 + cuda.threadIdx.x, s[cuda.threadIdx.x])
"""
    x = np.random.default_rng(1).integers(0, 100, 96).astype(dtype)
    check(driver, text, 3, 32, np.full(16, 50, dtype), x)


def test_blocks_wait_for_each_other(driver):
    text = """
def k(a, q, n):
    i = cuda.grid(1)
    for r in range(n):
        q[i] = a[(i + 7) % a.size] + r
        cuda.cg.this_grid().sync()
        a[i] = q[i]
        cuda.cg.this_grid().sync()
"""
    check(driver, text, 12, 32, np.arange(384), np.zeros(384, np.int64), 6)


def test_threads_wait_for_each_other(driver):
    """A thread looks again and again for what a later one writes."""
    text = """
def k(a):
    i = cuda.grid(1)
    if i + 1 < a.size:
        while cuda.atomic.add(a, i + 1, 0) == 0:
            cuda.nanosleep(10)
    a[i] = a[i + 1] + 1 if i + 1 < a.size else 1
    cuda.threadfence()
"""
    a = np.zeros(40, np.int64)
    assert fake_cuda.run(driver, kernel_of(text), 5, 8, (a,)) == 0
    np.testing.assert_array_equal(a, np.arange(40)[::-1] + 1)


@pytest.mark.parametrize("cc", [(7, 5), (8, 0), (9, 0)])
def test_what_is_raised(driver, cc):
    """The number of the place is what a thread leaves in the record."""
    kernel = cuda.jit(debug=True)(
        compile_text("def k(a, n):\n    if n > 3:\n        raise ValueError('n', n)\n    a[n] = 1\n", "k")
    )
    a = np.zeros(3)
    assert [fake_cuda.run(driver, kernel, 1, 1, (a, n), cc=cc) > 0 for n in (2, 3, 4)] == [False, True, True]
    assert a.tolist() == [0, 0, 1]


def test_what_is_printed(driver, capfd):
    text = "def k(n):\n    print('thread', cuda.grid(1), n * 0.5, n > 2)\n"
    assert fake_cuda.run(driver, kernel_of(text), 1, 2, (5,)) == 0
    assert capfd.readouterr().out == ""  # until somebody waits
    driver.call("cuCtxSynchronize")
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "thread 0 2.5 True\nthread 1 2.5 True\n"


# --- single instructions ---

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGISTERS = ".reg .pred %p<4>;\n.reg .b16 %rs<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n"


def entry(body: str, before: str = "") -> str:
    """A kernel of a pointer, whose words of 8 bytes are what its instructions read and write."""
    return (
        f"{HEAD}{before}.visible .entry k(.param .u64 k_param_0) {{\n{REGISTERS}"
        f"ld.param.u64 %rd0, [k_param_0];\n{body}\nret;\n}}\n"
    )


def run_text(driver: Driver, text: str, words: list[int], threads: int = 1, blocks: int = 1) -> list[int]:
    module = driver.load(text)
    at = driver.new(8 * len(words))
    try:
        driver.put(at, struct.pack(f"<{len(words)}Q", *words))
        driver.launch(driver.function(module, "k"), (blocks, 1, 1), (threads, 1, 1), struct.pack("<Q", at))
        return list(struct.unpack(f"<{len(words)}Q", driver.get(at, 8 * len(words))))
    finally:
        driver.reset()
        driver.free(at)
        driver.call("cuModuleUnload", module)


SUFFIX = {"b32": "%r", "u32": "%r", "s32": "%r", "b64": "%rd", "u64": "%rd", "s64": "%rd"} | {
    "f32": "%f",
    "f64": "%fd",
    "f16": "%rs",
    "b16": "%rs",
    "u16": "%rs",
    "s16": "%rs",
}


def one(driver: Driver, op: str, to: str, types: list[str], operands: list[int]) -> int:
    """The result of an instruction on registers of these types."""
    loads = "".join(
        f"ld.global.{'b' + t[1:]} {SUFFIX[t]}{k + 1}, [%rd0+{8 * k}];\n" for k, t in enumerate(types)
    )
    names = ", ".join(f"{SUFFIX[t]}{k + 1}" for k, t in enumerate(types))
    body = f"{loads}{op} {SUFFIX[to]}7, {names};\nst.global.{'b' + to[1:]} [%rd0], {SUFFIX[to]}7;"
    return run_text(driver, entry(body), [*operands, 0])[0] & (1 << int(to[1:])) - 1


def bits(x: float, t: str) -> int:
    return int(np.array(x, {"f16": "f2", "f32": "f4", "f64": "f8"}[t]).view(f"u{int(t[1:]) // 8}"))


M32, M64 = (1 << 32) - 1, (1 << 64) - 1
INTEGERS = [
    # op, the result's type, operands' types, operands, result
    ("prmt.b32", "b32", ["b32", "b32", "b32"], [0x33221100, 0x77665544, 0x7250], 0x77225500),
    ("prmt.b32", "b32", ["b32", "b32", "b32"], [0x00008000, 0, 0x9], M32 & 0x000000FF),
    ("bfe.u32", "u32", ["u32", "u32", "u32"], [0xABCD1234, 4, 8], 0x23),
    ("bfe.s32", "s32", ["s32", "u32", "u32"], [0xABCD1284, 4, 4], M32 & -8),
    ("bfe.s32", "s32", ["s32", "u32", "u32"], [0x80000000, 28, 10], M32 & -8),
    ("bfe.u64", "u64", ["u64", "u32", "u32"], [1 << 63, 60, 8], 8),
    ("bfi.b32", "b32", ["b32", "b32", "u32", "u32"], [0xF, 0, 8, 3], 0x700),
    ("shf.l.wrap.b32", "b32", ["b32", "b32", "u32"], [0x80000000, 1, 33], 3),
    ("shf.r.wrap.b32", "b32", ["b32", "b32", "u32"], [0, 1, 1], 0x80000000),
    ("shf.l.clamp.b32", "b32", ["b32", "b32", "u32"], [5, 6, 40], 5),
    ("popc.b64", "u32", ["b64"], [M64 >> 3], 61),
    ("clz.b32", "u32", ["b32"], [0], 32),
    ("clz.b64", "u32", ["b64"], [1], 63),
    ("brev.b32", "b32", ["b32"], [6], 0x60000000),
    ("bfind.u32", "u32", ["u32"], [0x1000], 12),
    ("mul.hi.s64", "s64", ["s64", "s64"], [M64 - 1, 3], M64),
    ("mul.hi.u64", "u64", ["u64", "u64"], [M64, M64], M64 - 1),
    ("mul.wide.s32", "s64", ["s32", "s32"], [M32, 5], M64 - 4),
    ("mad.wide.u32", "u64", ["u32", "u32", "u64"], [M32, M32, 1], M32 * M32 + 1),
    ("mad.lo.s32", "s32", ["s32", "s32", "s32"], [M32, 7, 3], M32 & -4),
    ("sad.s32", "s32", ["s32", "s32", "s32"], [M32 & -5, 3, 10], 18),
    ("shl.b32", "b32", ["b32", "u32"], [1, 32], 0),
    ("shr.s32", "s32", ["s32", "u32"], [0x80000000, 99], M32),
    ("shr.u64", "u64", ["u64", "u32"], [M64, 60], 15),
    ("div.s32", "s32", ["s32", "s32"], [M32 & -7, 2], M32 & -3),
    ("rem.s32", "s32", ["s32", "s32"], [M32 & -7, 2], M32 & -1),
    ("div.s64", "s64", ["s64", "s64"], [1 << 63, M64], 1 << 63),
    ("min.s16", "s16", ["s16", "s16"], [0x8000, 1], 0x8000),
    ("max.u16", "u16", ["u16", "u16"], [0x8000, 1], 0x8000),
    ("abs.s32", "s32", ["s32"], [M32 & -9], 9),
    ("cvt.s64.s8", "s64", ["b16"], [0x80], M64 & -128),
    ("cvt.u32.u16", "u32", ["b16"], [0xFFFF], 0xFFFF),
    ("cvt.sat.u8.s32", "b16", ["s32"], [M32 & -3], 0),
    ("cvt.sat.s8.s32", "b16", ["s32"], [300], 127),
]


@pytest.mark.parametrize("row", INTEGERS, ids=lambda r: r[0])
def test_integers(driver, row):
    op, to, types, operands, want = row
    assert one(driver, op, to, types, operands) == want


def test_a_table_of_bits(driver):
    body = "mov.b32 %r1, 0xF0;\nmov.b32 %r2, 0xCC;\nmov.b32 %r3, 0xAA;\nlop3.b32 %r4, %r1, %r2, %r3, 0x1E;\nst.global.u32 [%rd0], %r4;"
    assert run_text(driver, entry(body), [0])[0] == 0xF0 ^ (0xCC | 0xAA)


ROUNDINGS = [
    ("add.rn.f32", [1.0, 2**-24], 1.0),
    ("add.rp.f32", [1.0, 2**-60], 1 + 2**-23),
    ("add.rz.f32", [1.0, -(2**-60)], 1 - 2**-24),
    ("sub.rm.f32", [1.0, 2**-60], 1 - 2**-24),
    ("mul.rz.f32", [1 + 2**-23, 1 + 2**-23], 1 + 2**-22),
    ("fma.rn.f32", [1 + 2**-23, 1 + 2**-23, -(1 + 2**-22)], 2**-46),
    ("fma.rp.f32", [1.0, 1.0, 2**-100], 1 + 2**-23),
    ("mul.ftz.f32", [1e-30, 1e-10], 0.0),
    ("add.ftz.f32", [1e-40, 1e-40], 0.0),
    ("add.sat.f32", [3.0, 2.0], 1.0),
    ("div.rn.f32", [1.0, 3.0], float(np.float32(1) / np.float32(3))),
    ("div.rm.f64", [1.0, 3.0], 1 / 3),
    ("div.rp.f64", [1.0, 3.0], math.nextafter(1 / 3, 1)),
    ("sqrt.rn.f64", [2.0], math.sqrt(2)),
    ("rcp.rn.f64", [3.0], 1 / 3),
    ("fma.rn.f64", [1 + 2**-52, 1 + 2**-52, -(1 + 2**-51)], 2**-104),
    ("min.f32", [math.nan, 2.0], 2.0),
    ("min.f32", [0.0, -0.0], -0.0),
    ("max.NaN.f32", [math.nan, 2.0], math.nan),
    ("copysign.f64", [-1.0, 5.0], -5.0),
    ("neg.f64", [0.0], -0.0),
    ("abs.f64", [-2.5], 2.5),
    ("abs.f32", [-2.5], 2.5),
    ("fma.rn.f16", [3.0, 0.5, 1.25], 2.75),
    ("cvt.rni.f64.f64", [2.5], 2.0),
    ("cvt.rzi.f64.f64", [-0.5], -0.0),
    ("cvt.rpi.f32.f32", [0.25], 1.0),
    ("ex2.approx.f32", [3.0], 8.0),
    ("lg2.approx.f32", [8.0], 3.0),
    ("rsqrt.approx.f32", [16.0], 0.25),
]


@pytest.mark.parametrize("row", ROUNDINGS, ids=lambda r: r[0])
def test_floats(driver, row):
    op, operands, want = row
    t = op.rsplit(".", 1)[1]
    got = one(driver, op, t, [t] * len(operands), [bits(x, t) for x in operands])
    if math.isnan(want):
        assert np.isnan(np.array(got, f"u{int(t[1:]) // 8}").view(f"f{int(t[1:]) // 8}"))
    else:
        assert got == bits(want, t)


NUMBERS = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    1e-40,
    1e10,
    -1e10,
    3e18,
    1e20,
    -1e20,
    65504.0,
    65520.0,
    6e-8,
    math.inf,
    math.nan,
]
NEAREST = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.parametrize("to", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("how", NEAREST)
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_floats_to_integers(driver, how, t, to):
    width = int(to[1:])
    lo, hi = (-(1 << width - 1), (1 << width - 1) - 1) if to[0] == "s" else (0, (1 << width) - 1)
    for x in NUMBERS:
        x = float(np.array(x, f"f{int(t[1:]) // 8}"))
        if math.isnan(x):
            want = 0 if (t, width) == ("f32", 32) else 1 << width - 1
        else:
            want = (hi if x > 0 else lo) if math.isinf(x) else min(max(NEAREST[how](x), lo), hi)
        got = one(driver, f"cvt.{how}.{to}.{t}", to, [t], [bits(x, t)])
        assert got == want & (1 << width) - 1, (x, how, t, to)


def test_floats_to_smaller_ones(driver):
    draw = random.Random(1)
    values = NUMBERS[:-1] + [draw.uniform(-1, 1) * 2.0 ** draw.randint(-26, 17) for _ in range(40)]
    with np.errstate(all="ignore"):
        for x in values:
            single = float(np.float32(x))
            assert one(driver, "cvt.rn.f16.f64", "f16", ["f64"], [bits(x, "f64")]) == bits(x, "f16"), x
            assert one(driver, "cvt.rn.f16.f32", "f16", ["f32"], [bits(x, "f32")]) == bits(single, "f16"), x
            assert one(driver, "cvt.rn.f32.f64", "f32", ["f64"], [bits(x, "f64")]) == bits(x, "f32"), x
            half = bits(x, "f16")
            assert one(driver, "cvt.f32.f16", "f32", ["f16"], [half]) == bits(float(np.float16(x)), "f32")


@pytest.mark.parametrize("to", ["f32", "f64"])
def test_integers_to_floats(driver, to):
    size = f"f{int(to[1:]) // 8}"
    for v in (0, 1, (1 << 24) + 1, (1 << 53) + 1, (1 << 62) + 1, (1 << 63) - 1, 0x8000008000000001 >> 1):
        assert one(driver, f"cvt.rn.{to}.s64", to, ["s64"], [v]) == bits(float(np.int64(v).astype(size)), to)
        assert one(driver, f"cvt.rn.{to}.u64", to, ["u64"], [2 * v]) == bits(
            float(np.uint64(2 * v).astype(size)), to
        )
        if v:
            up, down = (one(driver, f"cvt.{r}.{to}.s64", to, ["s64"], [v]) for r in ("rp", "rz"))
            exact = int(np.array(down, f"u{int(to[1:]) // 8}").view(size)) == v
            assert up == down + (not exact)


COMPARED = [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0), (math.nan, 1.0), (1.0, math.nan)]
ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def test_comparisons(driver):
    """All of floats, with a third predicate and the contrary result."""
    for cmp in (*ORDERED, *(f"{c}u" for c in ORDERED), "num", "nan"):
        for x, y in COMPARED:
            nan = math.isnan(x) or math.isnan(y)
            base = ORDERED.get(cmp[:2])
            want = (
                nan == (cmp == "nan")
                if base is None
                else (cmp[2:] == "u" if nan else eval(f"{x} {base} {y}"))
            )
            body = (
                f"ld.global.f64 %fd1, [%rd0];\nld.global.f64 %fd2, [%rd0+8];\nsetp.{cmp}.f64 %p1, %fd1, %fd2;\n"
                f"setp.{cmp}.and.f64 %p2|%p3, %fd1, %fd2, !%p1;\nselp.u64 %rd1, 1, 0, %p1;\nselp.u64 %rd2, 1, 0, %p2;\n"
                f"selp.u64 %rd3, 1, 0, %p3;\nst.global.v2.u64 [%rd0], {{%rd1, %rd2}};\nst.global.u64 [%rd0+16], %rd3;"
            )
            got = run_text(driver, entry(body), [bits(x, "f64"), bits(y, "f64"), 9])
            assert got == [int(want), 0, int(not want)], (cmp, x, y)


def test_carries(driver):
    """A product of 128 bits, of halves, as libdevice makes it."""
    body = """ld.global.v2.u64 {%rd1, %rd2}, [%rd0];
mov.b64 {%r0, %r1}, %rd1; mov.b64 {%r2, %r3}, %rd2;
mul.lo.u32 %r4, %r0, %r2; mul.hi.u32 %r5, %r0, %r2;
mad.lo.cc.u32 %r5, %r0, %r3, %r5; madc.hi.u32 %r6, %r0, %r3, 0;
mad.lo.cc.u32 %r5, %r1, %r2, %r5; madc.hi.cc.u32 %r6, %r1, %r2, %r6; addc.u32 %r7, 0, 0;
mad.lo.cc.u32 %r6, %r1, %r3, %r6; madc.hi.u32 %r7, %r1, %r3, %r7;
mov.b64 %rd3, {%r4, %r5}; mov.b64 %rd4, {%r6, %r7};
st.global.v2.u64 [%rd0], {%rd3, %rd4};
sub.cc.u32 %r1, 3, 5; subc.u32 %r2, 7, 1; mov.b64 %rd1, {%r1, %r2}; st.global.u64 [%rd0+16], %rd1;"""
    draw = random.Random(2)
    for x, y in [(M64, M64), *((draw.getrandbits(64), draw.getrandbits(64)) for _ in range(20))]:
        low, high, rest = run_text(driver, entry(body), [x, y, 0])
        assert high << 64 | low == x * y
        assert rest == (7 << 32 | 3) - (1 << 32 | 5)


def test_ways(driver):
    """Calls, a table of places, guarded instructions, a loop, variables of a module and of a function."""
    before = """
.global .align 8 .u64 table[3] = {5, 7, 11};
.const .align 4 .b8 bytes[4] = {1, 2, 3, 4};
.func (.param .b64 out) more(.param .b64 x, .param .b64 y);
.func (.param .b64 out) twice(.param .b64 x) {
.reg .b64 %rd<4>; .local .align 8 .b8 own[16]; .reg .b64 %at;
mov.u64 %at, own; ld.param.u64 %rd1, [x]; st.local.u64 [%at+8], %rd1;
{ .param .b64 p; st.param.b64 [p], %rd1; .param .b64 q; st.param.b64 [q+0], %rd1; .param .b64 r;
call.uni (r), more, (p, q); ld.param.b64 %rd2, [r]; }
ld.local.u64 %rd3, [%at+8]; add.u64 %rd2, %rd2, %rd3; st.param.b64 [out], %rd2; ret; }
.func (.param .b64 out) more(.param .b64 x, .param .b64 y) {
.reg .b64 %rd<4>; .local .align 8 .b8 own[16]; .reg .b64 %at;
mov.u64 %at, own; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; st.local.u64 [%at+8], 1000;
add.u64 %rd1, %rd1, %rd2; st.param.b64 [out], %rd1; ret; }
"""
    body = """ld.global.u64 %rd1, [%rd0]; cvt.u32.u64 %r1, %rd1; mov.u64 %rd2, 0;
TABLE: .branchtargets A, B, C;
brx.idx %r1, TABLE;
A: mov.u64 %rd2, 100; bra.uni END;
B: setp.eq.u64 %p1, %rd1, 1; @%p1 mov.u64 %rd2, 200; @!%p1 mov.u64 %rd2, 300; bra END;
C: add.u64 %rd2, %rd2, 1; setp.lt.u64 %p1, %rd2, 50; @%p1 bra C;
END: { .param .b64 a; st.param.b64 [a], %rd2; .param .b64 b; call (b), twice, (a); ld.param.u64 %rd3, [b]; }
st.global.u64 [%rd0+8], %rd3;
mov.u64 %rd4, table; ld.global.u64 %rd5, [%rd4+16]; ld.global.u64 %rd6, [table+8]; add.u64 %rd5, %rd5, %rd6;
ld.const.u8 %rs1, [bytes+3]; cvt.u64.u16 %rd6, %rs1; mad.lo.u64 %rd5, %rd5, 10, %rd6; st.global.u64 [%rd0+16], %rd5;"""
    got = [run_text(driver, entry(body, before), [k, 0, 0]) for k in range(3)]
    assert got == [[0, 300, 184], [1, 600, 184], [2, 150, 184]]


def test_lanes(driver):
    """Segments of a shuffle, its second result, what is reduced."""
    body = """mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 8; add.u64 %rd0, %rd0, %rd1;
shfl.sync.down.b32 %r1|%p1, %r0, 3, 0x181f, -1; selp.u32 %r2, 1, 0, %p1; redux.sync.max.u32 %r3, %r0, -1;
redux.sync.add.s32 %r4, %r0, -1; shl.b32 %r3, %r3, 8; or.b32 %r1, %r1, %r3; mad.lo.u32 %r1, %r2, 65536, %r1; mov.b64 %rd2, {%r1, %r4}; st.global.u64 [%rd0], %rd2;"""
    got = run_text(driver, entry(body), [0] * 32, threads=32)
    for lane, v in enumerate(got):
        inside = lane % 8 + 3 < 8
        assert v == (496 << 32 | inside << 16 | 31 << 8 | (lane + 3 if inside else lane))


# --- what is wrong ---


@pytest.mark.parametrize(
    "line, said",
    [
        ("vabsdiff.u32 %r1, %r2, %r3;", "the instruction 'vabsdiff.u32' is not known"),
        ("add.sat.s32 %r1, %r2, %r3;", "not known with .sat"),
        ("add.u32 %r1, %r2, %r99;", "'%r99' is not known"),
        ("add.u32 5, %r2, %r1;", "a name is expected"),
        ("add.u32 %r1, %r2;", "',' is expected"),
        ("bra NOWHERE;", "the label 'NOWHERE' is not there"),
        ("call nobody, ();", "the function 'nobody' is not known"),
        ("ld.param.u64 %rd1, [k_param_0+8];", "that lies outside of 'k_param_0'"),
        ("mov.u32 %r1, %nonsense;", "'%nonsense' is not known"),
        (".surface s;", "is not known"),
        ("cvt.rn.bf16.f32 %rs1, %f1;", "is not known"),
    ],
)
def test_what_is_refused(driver, line, said):
    with pytest.raises(Failed) as why:
        driver.load(entry(f"\n\n{line}"))
    assert why.value.status == 218
    assert said in why.value.said
    at = entry(f"\n\n{line}").splitlines().index(line) + 1
    assert why.value.said.startswith(f"line {at}: "), why.value.said


def test_functions_that_are_not_there(driver):
    with pytest.raises(Failed, match="calls itself"):
        driver.load(entry("", ".func f() {\ncall f, ();\nret;\n}\n"))
    with pytest.raises(Failed, match="is called and not there"):
        driver.load(entry("call f, ();", ".extern .func f();\n"))
    module = driver.load(entry(""))
    with pytest.raises(Failed) as why:
        driver.function(module, "nobody")
    assert why.value.status == 500
    driver.call("cuModuleUnload", module)


ENDS = [
    (700, "st.global.u32 [%rd0+4096], 1;"),
    (700, "mov.u64 %rd1, 0; ld.u8 %rs1, [%rd1];"),
    (700, "mov.u64 %rd1, 0; atom.add.u32 %r1, [%rd1], 1;"),
    (700, "mov.u64 %rd1, 64; ld.shared.u32 %r1, [%rd1];"),
    (700, ".local .align 8 .b8 own[8]; mov.u64 %rd1, own; st.local.u64 [%rd1+64], 1;"),
    (716, "ld.global.u64 %rd1, [%rd0+4];"),
    (716, "ld.global.v2.u64 {%rd1, %rd2}, [%rd0+8];"),
    (716, "red.add.u32 [%rd0+2], 1;"),
    (719, "trap;"),
    (715, "vote.sync.all.pred %p1, 1, 0;"),
    (702, "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bar.sync 0; bar.warp.sync -1;"),
    (702, "bar.sync 1, 64;"),
]


@pytest.mark.parametrize("status, body", ENDS, ids=lambda x: str(x)[:30])
def test_launches_that_end(driver, status, body):
    """The device is of no more use then, until it is reset; which the next test sees."""
    text = entry(body)
    with pytest.raises(Failed) as why:
        run_text(driver, text, [0, 0], threads=2)
    assert why.value.status == status
    assert run_text(driver, entry("st.global.u64 [%rd0], 7;"), [0]) == [7]


def test_memory_that_was_given_back(driver):
    module = driver.load(entry("st.global.u64 [%rd0], 7;"))
    at = driver.new(64)
    driver.free(at)
    with pytest.raises(Failed) as why:
        driver.launch(driver.function(module, "k"), (1, 1, 1), (1, 1, 1), struct.pack("<Q", at))
    assert why.value.status == 700
    driver.reset()
    driver.call("cuModuleUnload", module)
    for bad in ({"params": b"1234"}, {"block": (2048, 1, 1)}):
        module = driver.load(entry("ret;"))
        with pytest.raises(Failed) as why:
            driver.launch(
                driver.function(module, "k"), (1, 1, 1), **({"block": (1, 1, 1), "params": bytes(8)} | bad)
            )
        assert why.value.status == 1
        driver.call("cuModuleUnload", module)
