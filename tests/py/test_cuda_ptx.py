"""PTX of Python kernels: it is made without a GPU, assembles for three processors, and says what was asked for.

Kernels are compiled in processes of their own (ptx_check.py): what LLVM cannot select ends the process.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import treadle
from cuda_check import compile_text
from fake_gpu import start
from on_stack import on_stack
from test_target import assemble, assembler, has_libclc, params_of, treadlec
from treadle import cuda, float32, float64, int64, void
from treadle.cuda import _compile, _inspect

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def compiled(folder: Path, *words: str, text: str | None = None) -> dict:
    done = subprocess.run(
        [sys.executable, str(HERE / "ptx_check.py"), str(folder), *words],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def assemble_all(folder: Path) -> int:
    """All texts of the folder, two at a time; each but once."""
    tool = assembler()

    def one(p: Path) -> None:
        text = p.read_text()
        words = [tool, "-g" if ", debug" in text else "-O1", f"-arch={p.stem.split('-')[1]}"]
        done = subprocess.run(
            [*words, "-o", p.with_suffix(".cubin"), p], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + text

    texts = {}
    for p in sorted(folder.glob("*.ptx")):
        texts.setdefault(p.read_text(), p)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, texts.values()))
    return len(texts)


def ptx_of(text: str, sig: str, **options) -> str:
    return cuda.compile_ptx(compile_text(text, "k"), sig, **options)[0]


AXPY = "def k(a, x, y):\n    i = cuda.grid(1)\n    if i < x.size:\n        y[i] = a * x[i] + y[i]\n"
AXPY_SIG = "void(f4, f4[::1], f4[::1])"

# --- everything assembles ---


@pytest.mark.emulated  # takes minutes, and no GPU
def test_kernels_of_the_tests(tmp_path):
    assembler()  # where there is none, there is no libdevice
    """Those of test_cuda.py, for what they are launched with there."""
    made = compiled(tmp_path, "suite", str(HERE / "test_cuda.py"))
    assert made["kernels"] > 80
    for why in made["refused"]:
        assert re.search(
            "does not have 'alloc'|a GPU has no `try`|its signature has 1 argument types|call themselves", why
        ), why
    assert len(made["refused"]) <= 5
    assert assemble_all(tmp_path) > 150


PROGRAMS = [
    p
    for p in sorted((HERE.parents[2] / "shared" / "snippets").glob("04-*.py"))
    if "ufuncs" not in p.name  # those are no kernels
]


BODIES = {
    "shared": "s = cuda.shared.array(32, np.float32)\n    s[cuda.threadIdx.x] = a[i]\n    cuda.syncthreads()\n    a[i] = s[31 - cuda.threadIdx.x]",
    "shared 2-D": "s = cuda.shared.array((4, 33), np.int16)\n    s[i % 4, i % 33] = i\n    cuda.syncthreads()\n    a[i] = s[0, 1]",
    "casts": "a[i] = int(a[i]) + np.int8(i) * np.uint16(3) + float(i) + bool(i)",
    "complex": "z = complex(a[i], i)\n    z = z * z / (z + 1j) - z.conjugate()\n    a[i] = z.real + z.imag + abs(z)",
    "complex64": "z = np.complex64(a[i])\n    z *= z\n    a[i] = z.imag",
    "tuple": "t = (a[i], i, True)\n    u = t if i > 3 else (a[0], 2, False)\n    a[i] = u[0] + u[1]",
    "nested function": "def add(x):\n        return x + n\n    a[i] = add(a[i])",
    "negative index": "a[-1] = a[i - 5]",
    "slices": "a[1:3] = a[5:7]\n    a[i] = a[::-1][i]",
    "sum of a row": "a[i] = (a[:4] * 2).sum() + a.max() + a[:i].mean()",
    "array expression": "b[:] = a * 2 + b",
    "array expression in place": "b[:3] += a[:3]",
    "while": "while a[i] > 1:\n        a[i] /= 2\n        if a[i] == 7:\n            break\n    else:\n        a[i] = 0",
    "for over an array": "for x in a:\n        b[i] += x",
    "zip and enumerate": "for j, (x, y) in enumerate(zip(a, b)):\n        b[i] += x * y + j",
    "assert": "assert a[i] > 0, 'not positive'\n    a[i] += 1",
    "raise": "if n < 0:\n        raise ValueError('n', n, a[i])",
    "integers": "a[i] = (i // 3) % 5 + (i << 2) - (i >> 1) + (i & 7 | 8 ^ 3) + ~i + i**3",
    "python's division": "a[i] = a[i] // 3.0 + a[i] % 3.0 + divmod(i, 7)[1]",
    "comparisons": "a[i] = 1 if 0 < i < n or not a[i] else min(i, n) + max(a[i], 2.0)",
    "places": "a[cuda.gridsize(1) - 1] = cuda.blockIdx.z + cuda.gridDim.y + cuda.grid(3)[2]",
    "round": "a[i] = round(a[i]) + math.floor(a[i]) + math.ceil(a[i]) + math.trunc(a[i])",
    "prange": "for j in treadle.prange(n):\n        a[j] = j",
    "gcd": "a[i] = math.gcd(i, n)",
}
MATHS = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp expm1 log log2 log10 log1p sqrt cbrt erf erfc gamma lgamma fabs "
    "floor ceil trunc isnan isinf isfinite degrees radians"
).split()
MATHS2 = "atan2 hypot fmod copysign pow nextafter remainder".split()
ATOMICS = "add sub exch min max and_ or_ xor".split()
OF_FLOATS = ("add", "sub", "exch")


def every_text() -> list[tuple[str, str, dict]]:
    """Kernels as (text, signature, options): functions and atomics several to one."""
    head = "import treadle\ndef k(a, b, n):\n    i = cuda.grid(1)\n"
    texts = [(f"{head}    {body}\n", "void(f8[:], f8[:], i8)", {}) for body in BODIES.values()]
    lines = [f"    a[i] += math.{f}(a[i])\n" for f in MATHS if hasattr(math, f)]
    lines += [f"    a[i] += math.{f}(a[i], b[i])\n" for f in MATHS2 if hasattr(math, f)]
    texts += [
        (head + "".join(lines[k::4]), f"void({t}[::1], {t}[::1], i8)", o)
        for k in range(4)
        for t in ("f4", "f8")
        for o in ({}, {"fastmath": True})
    ]
    for t in ("i4", "u4", "i8", "u8", "f4", "f8"):
        names = OF_FLOATS if t[0] == "f" else (*ATOMICS, "cas")
        calls = [f"    b[i] = cuda.atomic.{f}(a, i, b[i]{', b[0]' * (f == 'cas')})\n" for f in names]
        texts.append((head + "".join(calls), f"void({t}[:], {t}[:], i8)", {}))
    options = [
        {"debug": True},
        {"lineinfo": True},
        {"opt": False},
        {"debug": True, "opt": True},
        {"fma": False},
    ]
    texts += [
        (f"{head}    {BODIES[b]}\n", "void(f8[:], f8[:], i8)", o)
        for b in ("shared", "raise")
        for o in options
    ]
    return texts


def test_what_kernels_are_made_of(tmp_path):
    assembler()  # where there is none, there is no libdevice
    made = compiled(tmp_path, "texts", text=json.dumps(every_text()))
    assert not made["refused"], made["refused"]
    assert made["kernels"] > 50
    assert assemble_all(tmp_path) > 150
    for p in tmp_path.glob("*.ptx"):
        assert ".extern .func" not in p.read_text(), p


@pytest.mark.skipif(not PROGRAMS, reason="no scripts of users beside the repository")
def test_kernels_of_programs(tmp_path):
    made = compiled(tmp_path, "programs", *map(str, PROGRAMS))
    assert made["kernels"] >= 8
    assert not made["refused"]
    assemble_all(tmp_path)


# --- what it says ---


def test_a_kernel_and_its_parameters():
    def plus(a, b, n, z, flag):
        a[0] = b[n].real + z.real + flag

    ptx, result = cuda.compile_ptx(
        plus, "void(f4[:, ::1], c8[:], i2, c16, b1)".replace("f4[:, ::1]", "f4[:]")
    )
    assert str(result) == "none"
    assert ".visible .entry plus(" in ptx
    want = ["u64"] + ["u64"] * 3 + ["u64"] * 3 + ["u16"] + ["f64"] * 2 + ["u8"]
    assert params_of(ptx, "plus") == want
    params = _compile.text_of(
        _compile._function(plus, {"fastmath": 0}), "void(f4[:], c8[:], i2, c16, b1)", "ptx", True, {}
    ).params
    assert [size for _, _, size, _ in params] == [int(t[1:]) // 8 for t in want]
    assert [arg for arg, *_ in params] == [-1, 0, 0, 0, 1, 1, 1, 2, 3, 3, 4]
    end = 0
    for _, _, size, at in params:
        assert at == -(-end // size) * size
        end = at + size
    assert [part for _, part, *_ in params] == [0, 1, 2, 3, 1, 2, 3, 0, 0, 1, 0]  # no owner of an array


@pytest.mark.parametrize(
    ("cc", "target"),
    [
        ((7, 5), "sm_75"),
        ((8, 7), "sm_87"),
        ((8, 8), "sm_87"),
        ((9, 0), "sm_90"),
        ((12, 1), "sm_(90|120)"),  # LLVM's newest: of 19, of 22
        (None, "sm_75"),
    ],
)
def test_processors(cc, target):
    assert re.search(rf"\.target {target}\n", ptx_of(AXPY, AXPY_SIG, cc=cc))


def test_names():
    for name, want in {
        "naïve": "na$c3$afve",
        "malloc": "py_malloc",
        "add": "add",
        "_": "py__",
        "py_k": "py_py_k",
    }.items():
        fn = compile_text(AXPY.replace("def k", f"def {name}"), name)
        assert f".visible .entry {want}(" in cuda.compile_ptx(fn, AXPY_SIG)[0]
    lam = lambda a: a.fill(0)  # noqa: E731
    assert ".entry $3clambda$3e(" in cuda.compile_ptx(lam, "void(f4[::1])")[0]


def test_options_say_something():
    plain = ptx_of(AXPY, AXPY_SIG)
    assert "fma.rn.f32" in plain and ".maxn" not in plain and ".loc" not in plain and "debug" not in plain
    apart = ptx_of(AXPY, AXPY_SIG, fma=False)
    assert "fma" not in apart and "mul.rn.f32" in apart
    assert re.search(r"\.maxntid 128.*\n\.minnctapersm 3", ptx_of(AXPY, AXPY_SIG, launch_bounds=(128, 3)))
    assert ".maxntid 64" in ptx_of(AXPY, AXPY_SIG, launch_bounds=64)
    lines = ptx_of(AXPY, AXPY_SIG, lineinfo=True)
    assert re.search(r"\.loc\s+1 4 ", lines) and "<kernel" in lines and "debug\n" not in lines.split("{")[0]
    debug = ptx_of(AXPY, AXPY_SIG, debug=True)
    assert ".target sm_75, debug" in debug and "atom" in debug  # an index out of range claims the record
    assert "atom" not in plain
    assert len(ptx_of(AXPY, AXPY_SIG, opt=False).splitlines()) > len(plain.splitlines())
    kernel = cuda.jit(max_registers=24, launch_bounds=256)(compile_text(AXPY, "k"))
    kernel.compile(AXPY_SIG)
    [ptx] = kernel.inspect_asm().values()
    assert ".maxnreg 24" in ptx and ".maxntid 256" in ptx


def test_fastmath():
    assembler()  # where there is none, there is no libdevice
    text = "def k(x, y):\n    y[0] = math.sin(x[0]) / x[1] + math.sqrt(x[2])\n"
    fast = ptx_of(text, "void(f4[::1], f4[::1])", fastmath=True)
    assert "sin.approx.ftz.f32" in fast and "div.approx.ftz.f32" in fast and "sqrt.approx.ftz.f32" in fast
    exact = ptx_of(text, "void(f4[::1], f4[::1])")
    assert (
        "div.rn.f32" in exact and "sqrt.rn.f32" in exact and "ftz" not in exact and "sin.approx" not in exact
    )
    assert "approx" not in ptx_of("def k(x):\n    x[0] /= x[1]\n", "void(f4[::1])", fastmath={"nnan"})
    assert "div.rn.f64" in ptx_of("def k(x):\n    x[0] /= x[1]\n", "void(f8[::1])", fastmath=True)


def test_indices():
    """They wrap where they may be negative, and are looked at where that was asked for."""
    text = "def k(x, i):\n    x[i] = 1\n"
    free, checked = ptx_of(text, "void(i4[::1], i8)"), ptx_of(text, "void(i4[::1], i8)", debug=True)
    assert "atom.cas" not in re.sub("global.", "", free) and "atom" in checked
    assert (
        re.search(r"ld\.param\.[ub]64", free) and "k_param_2" in free.split(")", 1)[1]
    )  # the size, added where it is negative
    inner = cuda.jit(device=True)(lambda x, i: x[i])
    scope = {"inner": inner}
    exec("def k(x, i):\n    x[0] = inner(x, i)\n", scope)
    assert "atom" not in cuda.compile_ptx(scope["k"], "void(i4[::1], i8)")[0]
    kernel = cuda.jit(boundscheck=True)(compile_text(text, "k"))
    assert "atom" in kernel.compile("void(i4[::1], i8)").ptx


def test_device_functions():
    assembler()  # where there is none, there is no libdevice

    def norm(x, y):
        return (x * x + y * y) ** 0.5, x

    ptx, result = cuda.compile_ptx(norm, "(f4, f4)", device=True)
    assert ".func" in ptx and ".entry" not in ptx and str(result) == "(float32, float32)"
    assert ".visible .func" in ptx and "py_norm(" in ptx
    ptx, result = cuda.compile(
        lambda x, y: x * y + 1, float32(float32, float32), abi_info={"abi_name": "both"}
    )
    assert re.search(
        r"\.visible \.func\s+\(\.param \.b32 func_retval0\) both\(\s+\.param \.b32 both_param_0,\s+\.param \.b32 both_param_1\s+\)",
        ptx,
    )
    assert str(result) == "float32"

    def checked(a, i):
        if i < 0:
            raise ValueError("negative")
        return a[i]

    ptx, _ = cuda.compile(checked, "(f4[::1], i8)")
    assert (
        "atom" not in ptx and len(re.findall(r"\.param \.b64 checked_param_\d", ptx)) == 3
    )  # data, size, index

    @cuda.jit(device=True)
    def half(x):
        return x / 2

    assert half.inspect_ptx((float32,)) == cuda.compile_ptx(half, "(f4,)", device=True, cc=(9, 0))[0]


def test_the_device_is_what_the_interpreter_runs(tmp_path):
    """The code that a device's passes make gives what NumPy gives: places, wrapped indices, array expressions, sums."""
    text = """
def k(a, b, q):
    i = cuda.grid(1)
    for j in range(i, a.size, cuda.gridsize(1)):
        b[j] = a[j - 2] * 2 + half(b[j])
    if i == 0:
        q[:3] = a[:3] * 2 + a[3:]
        q[3] = (a * a).sum()
        q[4] = -a.max()
"""
    scope = {"cuda": cuda, "half": cuda.jit(device=True)(lambda x: x / 2)}
    exec(text, scope)
    ir = _compile.text_of(
        _compile._function(scope["k"], {"fastmath": 0}),
        "void(f8[::1], f8[::1], f8[::1])",
        "opt",
        True,
        {"boundscheck": 0},
    ).text
    assert "kernel fn @k" in ir
    a, b = np.arange(6.0) + 1, np.ones(6)
    done = treadlec("--interp", f"k[2, 2]({a.tolist()}, {b.tolist()}, [0.0, 0.0, 0.0, 0.0, 0.0])", text=ir)
    assert done.returncode == 0, done.stderr
    shown = dict(re.findall(r"%(\w+) = (\[.*?\])", done.stdout))
    assert json.loads(shown["b"]) == (np.roll(a, 2) * 2 + b / 2).tolist()
    assert json.loads(shown["q"]) == [*(a[:3] * 2 + a[3:]), (a * a).sum(), -a.max()]


# --- what a kernel says of itself ---


def test_inspection():
    text = AXPY
    kernel = cuda.jit(compile_text(text, "k"))
    assert kernel.signatures == [] and kernel.overloads == {} and kernel.inspect_asm() == {}
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    kernel[1, 4](2.0, x, y)
    [types] = kernel.signatures
    assert types == (float64, float32[::1], float32[::1])
    assert set(kernel.inspect_asm()) == set(kernel.inspect_llvm()) == set(kernel.ptx) == {types}
    ptx = kernel.inspect_asm(types)
    assert ptx == kernel.inspect_asm("(f8, f4[::1], f4[::1])") == kernel.overloads[types].ptx
    assert ".target sm_90" in ptx and ".target sm_80" in kernel.overloads[types].inspect_asm(cc=(8, 0))
    assert "define ptx_kernel void @k(" in kernel.inspect_llvm(types) or "@k(" in kernel.inspect_llvm(types)
    assert list(kernel.definitions) == [((9, 0), types)]
    assert kernel.nopython_signatures == kernel.signatures
    with pytest.raises(KeyError, match="is not compiled for"):
        kernel.inspect_asm((int64,))
    kernel.compile(AXPY_SIG)
    assert len(kernel.signatures) == 2
    with pytest.raises(treadle.TypingError):
        kernel.compile("void(f4, f4, f4)")
    assert len(kernel.signatures) == 2
    declared = cuda.jit(AXPY_SIG)(compile_text(text, "k"))
    assert [str(t) for t in declared.signatures[0]] == [
        "float32",
        "array(float32, 1d, C)",
        "array(float32, 1d, C)",
    ]
    with pytest.raises(RuntimeError, match="declared"):
        declared.compile("void(f8, f4[::1], f4[::1])")
    assert declared.specialized and not kernel.specialized
    assert declared.extensions == [] and declared.py_func.__name__ == "k"


def test_types_are_shown(capsys):
    kernel = cuda.jit(AXPY_SIG)(compile_text(AXPY, "k"))
    kernel.inspect_types()
    assert "array(float32, 1d, C)" in capsys.readouterr().out
    import io

    file = io.StringIO()
    kernel.inspect_types(file=file)
    assert "k(float32" in file.getvalue()


def test_specialize():
    kernel = cuda.jit(max_registers=32)(compile_text(AXPY, "k"))
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    special = kernel.specialize(np.float32(1), cuda.to_device(x), y)
    assert special.specialized and special is kernel.specialize(np.float32(2), y, x)
    assert special.signatures == [(float32, float32[::1], float32[::1])]
    assert isinstance(special.ptx, str) and ".maxnreg 32" in special.ptx
    special[1, 4](np.float32(2), x, y)
    assert (y == 3).all()
    with pytest.raises(TypeError):
        special[1, 4](2.0, x.astype(float), y)
    with pytest.raises(RuntimeError, match="specialized already"):
        special.specialize(1.0, x, y)
    with pytest.raises(ValueError, match="not specialized"):
        _ = kernel.definition


TYPED = "def k(a, kind, other):\n    s = cuda.shared.array(50, kind)\n    i = cuda.threadIdx.x\n    s[i] = i / 2\n    cuda.syncthreads()\n    a[i] = s[i]\n"


@pytest.mark.parametrize("given", ["signature", "tuple", "specialize"])
def test_signatures_with_the_type_of_a_constant(given):
    a = np.zeros(4)
    of_class = treadle.typeof(np.int16)
    types = (float64[::1], of_class, int64)
    if given == "specialize":
        kernel = cuda.jit(compile_text(TYPED, "k")).specialize(a, np.int16, 3)
    else:
        kernel = cuda.jit(treadle.types.void(*types) if given == "signature" else types)(
            compile_text(TYPED, "k")
        )
    assert kernel.signatures == [types] and kernel.specialized
    assert re.search(r"\.shared \.align \d+ \.b8 [\w$]+\[100\]", kernel.inspect_asm(types))
    if cuda.is_emulated():
        with pytest.raises(treadle.UnsupportedError, match="told after a launch"):
            kernel.inspect_emulation(types)
    kernel[1, 4](a, np.int16, 7)
    assert a.tolist() == [0, 0, 1, 1]
    assert not cuda.is_emulated() or "thread" in kernel.inspect_emulation(types)
    with pytest.raises(
        TypeError, match=r"k\(\) takes \(array\(float64, 1d, C\), class\(int16\), int64\) as declared"
    ):
        kernel[1, 4](a, np.int32, 7)
    with pytest.raises(TypeError, match="as declared, not"):
        kernel[1, 4](a, np.int16, 7.0)
    with pytest.raises(RuntimeError, match="declared signatures"):
        kernel.compile("void(f8[:], i8, i8)")
    with pytest.raises(TypeError, match=r"class\(int16\) is the type of one constant"):
        treadle.njit([types])(compile_text(TYPED, "k"))


def test_signatures_with_the_type_of_a_constant_on_a_gpu():
    done = start(f"""
import numpy as np, treadle
from treadle import cuda, float64, types
{TYPED}
kernel = cuda.jit(types.void(float64[::1], treadle.typeof(np.int16), types.int64))(k)
assert kernel.get_regs_per_thread() > 0 and kernel.get_max_threads_per_block() > 0
(one,) = kernel.overloads.values()
assert one.active_blocks_per_multiprocessor(32) > 0 and one.max_potential_block_size()[0] > 0
a = cuda.to_device(np.zeros(4))
kernel[1, 4](a, np.int16, 3)
assert a.copy_to_host().tolist() == [0, 0, 1, 1]
try:
    kernel[1, 4](a, np.int32, 3)
except TypeError as error:
    assert "as declared, not" in str(error)
else:
    raise AssertionError("no TypeError")
""")
    assert done.returncode == 0, done.stderr


@pytest.mark.emulated  # a GPU's driver says it: test_cuda_gpu.py
def test_bytes_of_constant_arrays(monkeypatch):
    tool = assembler()
    monkeypatch.setenv("PATH", f"{Path(tool).parent}:{os.environ['PATH']}")

    def k(a, kind):
        i = cuda.grid(1)
        a[i] = cuda.const.array_like(OF_BYTES)[i] + cuda.const.array_like(OF_DOUBLES)[i]
        cuda.shared.array(3, kind)[i] = 1

    kernel = cuda.jit(treadle.types.void(float64[::1], treadle.typeof(np.int16)))(k)
    assert kernel.get_const_mem_size() in (16 + 80, 80 + 5)  # which of the two comes first is the compiler's


OF_BYTES, OF_DOUBLES = np.arange(5, dtype=np.int8), np.arange(10.0)


@pytest.mark.emulated  # a GPU's driver says it: test_cuda_gpu.py
def test_what_the_toolkit_says(monkeypatch):
    tool = assembler()
    monkeypatch.setenv("PATH", f"{Path(tool).parent}:{os.environ['PATH']}")
    text = "def k(a):\n    s = cuda.shared.array(64, np.float64)\n    t = cuda.threadIdx.x\n    s[t] = a[t]\n    cuda.syncthreads()\n    a[t] = s[63 - t]\n"
    kernel = cuda.jit("void(f8[::1])")(compile_text(text, "k"))
    [types] = kernel.signatures
    assert 4 <= kernel.get_regs_per_thread(types) <= 64
    assert kernel.get_regs_per_thread() == kernel.get_regs_per_thread(types)  # it has no other signature
    assert kernel.get_shared_mem_per_block(types) == 512
    assert kernel.get_local_mem_per_thread(types) == 0
    assert kernel.get_const_mem_size(types) == 0
    assert kernel.get_max_threads_per_block(types) == 1024
    bounded = cuda.jit("void(f8[::1])", launch_bounds=128)(compile_text(text, "k"))
    assert bounded.get_max_threads_per_block(types) == 128
    if _inspect.tool("cuobjdump") or _inspect.tool("nvdisasm"):
        assert "EXIT" in kernel.inspect_sass(types)
    else:
        with pytest.raises(treadle.UnsupportedError, match="cuobjdump or nvdisasm"):
            kernel.inspect_sass(types)


@pytest.mark.emulated
def test_without_a_toolkit(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert ".entry k(" in ptx_of(AXPY, AXPY_SIG)
    kernel = cuda.jit(AXPY_SIG)(compile_text(AXPY, "k"))
    with pytest.raises(treadle.UnsupportedError, match="ptxas of NVIDIA's CUDA toolkit"):
        kernel.get_regs_per_thread()
    sine = "def k(x):\n    x[0] = math.sin(x[0])\n"
    if has_libclc():
        assert ".extern" not in ptx_of(sine, "void(f4[::1])")
        return
    with pytest.raises(
        treadle.LoweringError, match="__nv_sinf is a function of libdevice, which was not found"
    ):
        ptx_of(sine, "void(f4[::1])")


def functions_of_libdevice():
    text = (Path(__file__).resolve().parents[2] / "src/ir/math.def").read_text()
    return re.findall(r'(?m)^X\(\w+,\s*"(\w+)",\s*(\d),.*"__nv_\w+"', text)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_all_mathematics_by_libclc(dtype, monkeypatch, tmp_path):
    """Without a toolkit each function is libclc's, also the short ones, and the assembler takes them."""
    tool = assembler()
    if not has_libclc():
        pytest.skip("Treadle was built without libclc")
    names = {"tgamma": "math.gamma", "cbrt": "np.cbrt", "hypot": "np.hypot", "nextafter": "np.nextafter"}
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    functions = functions_of_libdevice()
    assert len(functions) > 25
    lines = [
        f"    q[{k}] = {names.get(name, 'math.' + name)}({', '.join(['x[0]', 'x[1]'][: int(n)])})\n"
        for k, (name, n) in enumerate(functions)
    ]
    body = "def k(x, q):\n" + "".join(lines) + f"    q[{len(lines)}] = math.pow(x[0], x[1])\n"
    for options in ({}, {"fastmath": True}):
        text = ptx_of(body, f"void({dtype}[::1], {dtype}[::1])", **options)
        assert ".extern" not in text
        (tmp_path / "k.ptx").write_text(text)
        assemble(tool, tmp_path / "k.ptx", "sm_75")


# --- what is refused ---


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: cuda.compile_ptx(f, AXPY_SIG, cc=(7, 0)), treadle.UnsupportedError, "7.5 and up, not 7.0"),
        (lambda f: cuda.compile_ptx(f, AXPY_SIG, cc=80), TypeError, "cc must be a tuple of two ints"),
        (lambda f: cuda.compile_ptx(f, "void(f4)"), TypeError, "3 parameters, but its signature has 1"),
        (lambda f: cuda.compile_ptx(f, "void(f4, f4, f4)"), treadle.TypingError, "float32"),
        (lambda f: cuda.compile_ptx(3, "void(f4)"), TypeError, "a Python function is compiled, not int"),
        (lambda f: cuda.compile(f, AXPY_SIG, output="ltoir"), treadle.UnsupportedError, "LTO-IR"),
        (lambda f: cuda.compile(f, AXPY_SIG, output="cubin"), ValueError, "'ptx', not 'cubin'"),
        (lambda f: cuda.compile(f, AXPY_SIG, device=False), NotImplementedError, "for device functions"),
        (lambda f: cuda.compile(f, AXPY_SIG, abi="rust"), ValueError, "'numba' or 'c', not 'rust'"),
        (lambda f: cuda.compile(f, AXPY_SIG, abi_info={"abi_name": "a b"}), ValueError, "identifier"),
        (lambda f: cuda.compile(f, AXPY_SIG, abi_info=3), TypeError, "abi_info must be a dict"),
        (lambda f: cuda.compile_ptx(f, AXPY_SIG, launch_bounds=0), ValueError, "1 to 1024"),
        (lambda f: cuda.compile_ptx(f, AXPY_SIG, launch_bounds=(1, 2, 3, 4)), ValueError, "1 to 3 numbers"),
        (
            lambda f: cuda.compile_ptx(f, AXPY_SIG, launch_bounds="x"),
            TypeError,
            "launch_bounds must be an int",
        ),
        (lambda f: cuda.compile_ptx(f, AXPY_SIG, fastmath=3), TypeError, "fastmath must be"),
        (lambda f: cuda.jit(max_registers=-1), ValueError, "max_registers is -1"),
        (lambda f: cuda.jit(launch_bounds=2000), ValueError, "1 to 1024"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call(compile_text(AXPY, "k"))


def test_what_a_device_cannot_do():
    with pytest.raises(treadle.LoweringError, match="'alloc'") as err:
        ptx_of("def k(x):\n    y = np.zeros(3)\n    x[0] = y[x.size]\n", "void(f4[::1])")
    assert "cuda.shared.array" in str(err.value)
    with pytest.raises(treadle.TypingError, match=r"a kernel returns nothing, and k\(\) returns float32"):
        ptx_of("def k(x):\n    return x[0]\n", "void(f4[::1])")
    with pytest.raises(treadle.LoweringError, match="call themselves"):
        fn = compile_text("def k(n):\n    return n * k(n - 1) if n > 1 else 1\n", "k")
        cuda.compile_ptx(fn, "i8(i8)", device=True)
    with pytest.raises(treadle.TypingError, match="numbers, arrays and tuples of them, and argument 1"):
        cuda.compile_ptx(compile_text("def k(x):\n    pass\n", "k"), (treadle.typeof(range(3)),))
    made = cuda.compile_ptx(
        compile_text("def k(x):\n    pass\n", "k"), (treadle.types.Tuple((int64, float64)),)
    )[0]
    assert params_of(made, "k") == ["u64", "u64", "f64"]  # item by item
    with pytest.raises(TypeError, match="its signature has"):
        ptx_of("def k(*a):\n    pass\n", "void(f4[::1], f4)")


# --- ways in ---


def test_for_the_current_device():
    fn = compile_text(AXPY, "k")
    assert (
        cuda.compile_ptx_for_current_device(fn, AXPY_SIG)[0] == cuda.compile_ptx(fn, AXPY_SIG, cc=(9, 0))[0]
    )
    assert ".target sm_90" in cuda.compile_for_current_device(lambda x: x + 1, "(f4,)")[0]


def test_decorated_functions_and_signatures_as_types():
    kernel = cuda.jit(compile_text(AXPY, "k"))
    a = cuda.compile_ptx(kernel, void(float32, float32[::1], float32[::1]))[0]
    assert a == cuda.compile_ptx(kernel, (float32, float32[::1], float32[::1]))[0]
    assert a == ptx_of(AXPY, AXPY_SIG)
    fn = treadle.njit(lambda x: x / 2)
    assert ".visible .func" in cuda.compile_ptx(fn, "(f8,)", device=True)[0]


def test_threads_and_a_small_stack():
    texts: list[str] = []
    want = ptx_of(AXPY, AXPY_SIG)
    threads = [threading.Thread(target=lambda: texts.append(ptx_of(AXPY, AXPY_SIG))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert texts == [want] * 4
    assert on_stack(256, lambda: ptx_of(AXPY, AXPY_SIG)) == want


def test_in_a_child_of_a_fork():
    ptx_of(AXPY, AXPY_SIG)
    pid = os.fork()
    if not pid:
        os._exit(0 if ".entry k(" in ptx_of(AXPY, AXPY_SIG) else 1)
    assert os.waitpid(pid, 0)[1] == 0
