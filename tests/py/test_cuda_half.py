"""float16 in kernels: `cuda.fp16`, operators, shared memory, barriers, reductions and PTX."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cuda_check import compile_text, kernel_of
from test_half import same
from test_target import assemble, assembler
from treadle import cuda, float16, vectorize
from treadle.errors import TypingError

RNG = np.random.default_rng(1)
A, B, C = (RNG.normal(size=1000).astype("f2") for _ in range(3))
A32, B32, C32 = (x.astype("f4") for x in (A, B, C))


def half(x):
    with np.errstate(all="ignore"):
        return np.asarray(x).astype("f2")


# of a, b and c: what it is, and how far from it the result may be, in units of the last place
FUNCTIONS = {
    "hadd(a, b)": (A + B, 0),
    "hsub(a, b)": (A - B, 0),
    "hmul(a, b)": (A * B, 0),
    "hdiv(a, b)": (A / B, 0),
    "hneg(a)": (-A, 0),
    "habs(a)": (abs(A), 0),
    "hfma(a, b, c)": (half(A.astype("f8") * B + C), 0),
    "hmax(a, b)": (np.fmax(A, B), 0),
    "hmin(a, b)": (np.fmin(A, B), 0),
    "hsin(a)": (np.sin(A), 1),
    "hcos(a)": (np.cos(A), 1),
    "htanh(a)": (np.tanh(A), 1),
    "hlog(abs(a))": (np.log(abs(A)), 1),
    "hlog2(abs(a))": (np.log2(abs(A)), 1),
    "hlog10(abs(a))": (np.log10(abs(A)), 1),
    "hexp(a)": (np.exp(A), 1),
    "hexp2(a)": (np.exp2(A), 1),
    "hexp10(a)": (half(10.0**A32), 1),
    "hsqrt(abs(a))": (np.sqrt(abs(A)), 0),
    "hrsqrt(abs(a))": (half(1 / np.sqrt(abs(A32))), 1),
    "hrcp(a)": (half(1 / A32), 0),
    "hfloor(a)": (np.floor(A), 0),
    "hceil(a)": (np.ceil(A), 0),
    "hrint(a)": (np.rint(A), 0),
    "htrunc(a)": (np.trunc(A), 0),
    "heq(a, b)": (A == B, 0),
    "hne(a, b)": (A != B, 0),
    "hge(a, b)": (A >= B, 0),
    "hgt(a, b)": (A > B, 0),
    "hle(a, b)": (A <= B, 0),
    "hlt(a, b)": (A < B, 0),
}


def text_of(call):
    return f"""
def k(a_, b_, c_, q):
    i = cuda.grid(1)
    if i < q.size:
        a, b, c = a_[i], b_[i], c_[i]
        q[i] = cuda.fp16.{call}
"""


def test_all_functions_are_here():
    names = {n for n in vars(cuda.fp16) if not n.startswith("_")}
    assert names == {call.split("(")[0] for call in FUNCTIONS}


@pytest.mark.parametrize("call", FUNCTIONS)
def test_functions(call):
    want, ulp = FUNCTIONS[call]
    q = np.zeros(1000, want.dtype)
    kernel_of(text_of(call))[8, 128](A, B, C, q)
    same(q, want, ulp)


def test_numbers_become_it():
    q = np.zeros(3, "f4")
    kernel_of(
        """
def k(q):
    q[0] = cuda.fp16.hadd(0.1, 1)
    q[1] = cuda.fp16.hmul(float16(3), np.float32(1) / 3)
    q[2] = cuda.fma(q[0] * float16(0), float16(2), float16(1))
""",
        float16=float16,
    )[1, 1](q)
    assert q[0] == np.float16(0.1) + np.float16(1) and q[1] == np.float16(3) * np.float16(1 / 3) and q[2] == 1


def test_outside_of_kernels():
    for name in ("hadd", "hneg", "hfma"):
        with pytest.raises(TypingError, match="fp16.*kernels only"):
            getattr(cuda.fp16, name)(*[np.float16(1)] * {"hadd": 2, "hneg": 1, "hfma": 3}[name])


def fused(x, y, z):
    """x * y + z, which a GPU rounds once, and the host twice."""
    return x * y + z if cuda.is_emulated() else half(x.astype("f8") * y + z)


def test_shared_and_local_memory():
    @cuda.jit
    def k(a, q):
        s = cuda.shared.array(128, float16)
        mine = cuda.local.array(2, float16)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        s[t] = a[i]
        mine[0] = a[i]
        mine[1] = s[t] * float16(2)
        cuda.syncthreads()
        q[i] = s[127 - t] + mine[0] * mine[1]

    a, q = A[:512].copy(), np.zeros(512, "f2")
    k[4, 128](a, q)
    same(q, fused(a, a * np.float16(2), a.reshape(4, 128)[:, ::-1].ravel()))
    k[4, 128](cuda.to_device(a), d := cuda.to_device(q))
    same(d.copy_to_host(), q)


def test_a_product_by_tiles():
    """Products of float16 that are added up in float32, as tensor cores do."""

    @cuda.jit
    def k(a, b, c):
        sa = cuda.shared.array((16, 16), float16)
        sb = cuda.shared.array((16, 16), float16)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        acc = np.float32(0)
        for i in range(a.shape[1] // 16):
            sa[ty, tx] = a[y, tx + i * 16]
            sb[ty, tx] = b[ty + i * 16, x]
            cuda.syncthreads()
            for j in range(16):
                acc += np.float32(sa[ty, j]) * np.float32(sb[j, tx])
            cuda.syncthreads()
        c[y, x] = acc

    a, b = RNG.normal(size=(64, 64)).astype("f2"), RNG.normal(size=(64, 64)).astype("f2")
    c = np.zeros((64, 64), "f2")
    k[(4, 4), (16, 16)](a, b, c)
    same(c, half(a.astype("f4") @ b.astype("f4")), ulp=1)


def test_reductions_and_ufuncs():
    total = cuda.reduce(lambda a, b: a + b)
    ones = np.ones(100, "f2")
    assert total(ones) == 100 and total(cuda.to_device(ones)).dtype == np.float16

    f = vectorize(["float16(float16, float16)"], target="cuda")(lambda x, y: x * y + x)
    same(f(A, B), fused(A, B, A))
    d = f(cuda.to_device(A), cuda.to_device(B))
    same(d.copy_to_host(), fused(A, B, A))


@pytest.mark.emulated
def test_checks_see_it():
    @cuda.jit(debug=True)
    def k(a, q):
        s = cuda.shared.array(32, float16)
        t = cuda.threadIdx.x
        s[t] = a[t]
        q[t] = s[31 - t]

    with pytest.raises(RuntimeError, match="race on shared array s"):
        k[1, 32](A[:32].copy(), np.zeros(32, "f2"))


@pytest.mark.parametrize("cc", [(7, 5), (8, 0), (9, 0)])
def test_ptx(cc, tmp_path):
    """All functions become instructions of float16 or of float32, which the assembler takes."""
    body = "\n".join(f"        q[{n}, i] = cuda.fp16.{call}" for n, call in enumerate(FUNCTIONS))
    k = compile_text(
        f"def k(a_, b_, c_, q):\n    i = cuda.grid(1)\n    if i < a_.size:\n        a, b, c = a_[i], b_[i], c_[i]\n{body}\n        print(a)\n",
        "k",
    )
    text, _ = cuda.compile_ptx(k, "void(f2[::1], f2[::1], f2[::1], f2[:, ::1])", cc=cc)
    for name in (
        "add",
        "mul",
        "sub",
        "fma",
        "neg",
    ):  # what may be contracted says no rounding from LLVM 22 on
        assert re.search(rf"\b{name}(\.rn)?\.f16", text), name
    (tmp_path / "k.ptx").write_text(text)
    assemble(assembler(), tmp_path / "k.ptx", "sm_%d%d" % cc)
