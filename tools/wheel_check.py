"""What an installed wheel must do: run by tools/wheel.py in an environment that has NumPy, the wheel and nothing else of ours.

    python -I tools/wheel_check.py [--start]

Calls what each of the wheel's files is for, and then looks at what the process has mapped: no file may come from anywhere but this environment, the
interpreter and the C library. `TREADLE_HIDDEN` says that the machine's LLVM was hidden, which is looked at, too. Prints how long a start takes;
with --start only that, of any build.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import math
import os
import shutil
import ssl  # noqa: F401  what modules of the interpreter bring from the system is there before we look
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

SITE = Path(sysconfig.get_paths()["purelib"]).resolve()
STANDARD = Path(sysconfig.get_paths()["platstdlib"]).resolve()
STANDARD = Path(sys.base_prefix).resolve() / STANDARD.relative_to(Path(sys.prefix).resolve()) / "lib-dynload"
C_LIBRARY = ("libc.", "libm.", "libdl.", "libpthread.", "librt.", "ld-linux", "libgcc_s.")
# The notices that have to be there: a word of each that no other one stands for.
NOTICES = {
    "LICENSE": "the Treadle developers",
    "LLVM.txt": "LLVM Exceptions",
    "SLEEF.txt": "Boost Software License",
    "zlib.txt": "Mark Adler",
    "zstd.txt": "Yann Collet",
    "GCC.txt": "GCC RUNTIME LIBRARY EXCEPTION",
    "NumPy.txt": "NumPy Developers",
}
# What LLVM has of others, and the licence that Debian's text only names.
IN_LLVM = (
    "xxHash",
    "Unicode, Inc.",
    "Alexander Peslyak",
    "Henry Spencer",
    "Apache License",
    "Regents of the University",
)
STEPS = """
import time, numpy
def ms(t):
    return 1e3 * (time.perf_counter() - t)
t = time.perf_counter(); import treadle; first = ms(t)
t = time.perf_counter(); from treadle import njit; names = ms(t)
f = njit(lambda a, b: a * b + 1)
t = time.perf_counter(); f(2.0, 3.0); call = ms(t)
print(first, names, call)
"""


def mapped() -> set[Path]:
    """Return the files that this process has mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {
        Path(parts[5]) for parts in (t.split(maxsplit=5) for t in lines) if parts[5:] and parts[5][0] == "/"
    }


def known(file: Path) -> bool:
    """Return whether a wheel may rely on a file."""
    return file.is_relative_to(SITE) or file.is_relative_to(STANDARD) or file.name.startswith(C_LIBRARY)


def start_ms(times: int = 15) -> list[float]:
    """Return how long the steps of a start take, in milliseconds: the medians of fresh processes."""
    command = [sys.executable, "-c", STEPS]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(times)]
    return [statistics.median(column) for column in zip(*(map(float, r.stdout.split()) for r in runs))]


def try_host(folder: str) -> None:
    """Compiled functions, plain, parallel, as ufuncs, from the cache, with mathematics in vectors."""
    from treadle import njit, prange, vectorize

    @njit
    def scalar(a, b):
        return a * b + 1

    assert scalar(2.0, 3) == 7.0

    @njit
    def waves(x):
        return np.sin(x) + np.cbrt(x)

    x = np.linspace(0, 10, 1000)
    np.testing.assert_allclose(waves(x), np.sin(x) + np.cbrt(x), rtol=1e-14)

    @njit(parallel=True)
    def total(x):
        s = 0.0
        for i in prange(x.size):
            s += math.sqrt(x[i])
        return s

    np.testing.assert_allclose(total(x), np.sqrt(x).sum(), rtol=1e-12)

    @vectorize
    def clipped(a, b):
        return a if a < b else b

    assert isinstance(clipped, np.ufunc)
    np.testing.assert_array_equal(clipped(x, 5.0), np.minimum(x, 5.0))

    os.environ["TREADLE_CACHE_DIR"] = folder

    @njit(cache=True)
    def kept(a):
        return a[a > 1].sum()

    assert kept(x) == x[x > 1].sum()


def try_device() -> None:
    """A kernel on the emulated device, and one's PTX, with mathematics that no CUDA toolkit brings."""
    from treadle import cuda, float32, float64

    @cuda.jit
    def turn(a, out):
        tile = cuda.shared.array(64, float32)
        i = cuda.grid(1)
        tile[cuda.threadIdx.x] = a[i]
        cuda.syncthreads()
        out[i] = tile[63 - cuda.threadIdx.x]

    a = np.arange(128, dtype=np.float32)
    out = np.zeros_like(a)
    turn[2, 64](a, out)
    np.testing.assert_array_equal(out, a.reshape(2, 64)[:, ::-1].ravel())

    def curve(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = math.sin(a[i]) + math.erf(a[i])

    ptx, _ = cuda.compile_ptx(curve, (float64[:],))
    assert ".visible .entry" in ptx
    if (SITE / "treadle" / "libclc.bc").exists():
        assert "__nv_" not in ptx, "a function of libdevice is left open"
    else:
        print("This wheel has no libclc: mathematics of GPUs needs a CUDA toolkit.")


HALVE = """from treadle import njit

@njit(debug=True)
def halve(x):
    y = x * 0.5
    return y + 1

print(halve(3.0))
"""


def try_debugger(folder: str) -> None:
    """GDB stops at a line of a function: what it looks for by name is visible, though the wheel has no other symbols."""
    from treadle import _core

    assert _core.__file__
    library = ctypes.CDLL(_core.__file__)
    assert library["__jit_debug_register_code"]
    assert ctypes.c_uint32.in_dll(library, "__jit_debug_descriptor").value == 1
    if not shutil.which("gdb"):
        print("No gdb is here: that it stops at a line was not tried.")
        return
    program = Path(folder) / "halve.py"
    program.write_text(HALVE)
    asks = [
        "set breakpoint pending on",
        "set debuginfod enabled off",
        f"break {program.name}:5",
        "run",
        "bt 1",
    ]
    command = ["gdb", "-q", "-batch", "-nx", *(w for ask in asks for w in ("-ex", ask)), "--args"]
    r = subprocess.run([*command, sys.executable, "-I", program], capture_output=True, text=True)
    if "ptrace: Operation not permitted" in r.stdout + r.stderr:
        print("GDB may not trace here: that it stops at a line was not tried.")
        return
    assert f"halve () at {program}:5" in r.stdout, r.stdout + r.stderr


def look_at_notices() -> None:
    """The licence and the notices of all that is inside are installed, and the metadata lists them."""
    of = importlib.metadata.distribution("treadle")
    wanted = dict(NOTICES)
    if (SITE / "treadle" / "libclc.bc").exists():
        wanted["libclc.txt"] = "LLVM Exceptions"
    assert set(of.metadata.get_all("License-File")) == set(wanted), of.metadata.get_all("License-File")
    texts = {name: of.read_text(f"licenses/{name}") or "" for name in wanted}
    for name, word in wanted.items():
        assert word in texts[name], f"licenses/{name} is not what it should be"
    for word in IN_LLVM:
        assert word in texts["LLVM.txt"], f"licenses/LLVM.txt says nothing of {word}"
    terms = of.metadata["License-Expression"].split(" AND ")
    assert terms[0] == "BSD-3-Clause" and {"Apache-2.0 WITH LLVM-exception", "BSL-1.0", "Zlib"} <= set(terms)


def show_start() -> None:
    first, names, call = start_ms()
    print(
        f"After NumPy's import: import treadle {first:.1f} ms, from treadle import njit {names:.1f} ms, first call {call:.1f} ms"
    )


def main() -> int:
    if sys.argv[1:] == ["--start"]:  # of whatever build PYTHONPATH names, to compare with
        show_start()
        return 0
    before = mapped()
    os.environ["TREADLE_CUDA_WARN"] = "0"  # kernels here are small
    import treadle

    assert Path(treadle.__file__).resolve().is_relative_to(SITE), treadle.__file__
    assert importlib.metadata.version("treadle") == treadle.__version__
    assert (SITE / "treadle" / "py.typed").exists()
    look_at_notices()
    if os.environ.get("TREADLE_HIDDEN"):
        for name in ("libLLVM.so.19.1", "libLLVM-19.so", "libLLVM.so.22.1", "libsleef.so.3"):
            try:
                ctypes.CDLL(name)
            except OSError:
                continue
            raise AssertionError(f"{name} of this machine was to be hidden")
    with tempfile.TemporaryDirectory() as folder:
        try_host(folder)
        try_device()
        try_debugger(folder)
    new = mapped() - before
    ours = sorted(p.name for p in new if p.is_relative_to(SITE / "treadle"))
    strange = sorted(str(p) for p in new if ".so" in p.name and not known(p))
    print(f"Mapped from the wheel: {', '.join(ours)}; from elsewhere: {', '.join(strange) or 'nothing'}.")
    assert not strange
    assert {"libtreadle_llvm.so", "libsleef.so.3"} <= set(ours)
    show_start()
    return 0


if __name__ == "__main__":
    sys.exit(main())
