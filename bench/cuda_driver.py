"""CUDA's driver by ctypes, and CUDA C for it: what cuda.py launches beside Treadle's kernels.

Everything lies in the primary context of the first device, which Treadle, CuPy and Numba use too, and on the default stream.
The driver is that of a GPU or that of the tests (tests/fake/cuda.h), which takes PTX and no machine code.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# NVIDIA, CUDA Driver API reference, 13.0: parameters in one buffer; where a log of errors goes, and its size.
BUFFER, BUFFER_SIZE = 1, 2
ERROR_LOG, ERROR_LOG_SIZE = 5, 6
LOG = 4000  # bytes
NVRTC = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
# Where NVRTC lies beside other packages: NVIDIA's of CUDA 13, and of CUDA 12.
NVRTC_FOLDERS = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")


class DriverError(Exception):
    """A status of the driver's that is not 0, with the function's name."""


class Missing(Exception):
    """What is not on this machine, as a sentence."""


class Driver:
    """The functions of libcuda that are used here.

    Parameters
    ----------
    path : str
        The library; Treadle has it open.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lib = ctypes.CDLL(path)
        launch = self._lib.cuLaunchKernel
        launch.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3]
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        # The driver of the tests has no more than what Treadle asks for.
        self._copy = getattr(self._lib, "cuMemcpyDtoDAsync_v2", None) or self._lib.cuMemcpyAsync
        self._copy.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p]

    def call(self, name: str, *args: Any) -> None:
        """Call a function; DriverError where it fails."""
        self._done(name, getattr(self._lib, name)(*args))

    @staticmethod
    def _done(name: str, status: int) -> None:
        if status:
            raise DriverError(f"{name}: status {status}")

    def version(self) -> str:
        """The CUDA version that the driver is for."""
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        return f"{version.value // 1000}.{version.value % 1000 // 10}"

    def synchronize(self) -> None:
        self.call("cuCtxSynchronize")

    def copy(self, to: int, origin: int, nbytes: int) -> None:
        """Queue a copy on the device."""
        self._done("cuMemcpyDtoDAsync", self._copy(to, origin, nbytes, None))

    def load(self, image: bytes) -> ctypes.c_void_p:
        """A module of machine code or PTX, which stays; DriverError with the driver's words."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(LOG)
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG)
        status = self._lib.cuModuleLoadDataEx(ctypes.byref(module), image, 2, options, values)
        if status:
            said = log.value.decode(errors="replace").strip()
            raise DriverError(f"cuModuleLoadDataEx: status {status} {said}".strip())
        return module

    def function(self, module: ctypes.c_void_p, name: str) -> int:
        found = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
        return int(found.value or 0)

    def launch(self, function: int, grid: Sequence[int], block: Sequence[int], params: Packed) -> None:
        """Queue a launch."""
        three = [*grid, *[1] * (3 - len(grid)), *block, *[1] * (3 - len(block))]
        self._done("cuLaunchKernel", self._lib.cuLaunchKernel(function, *three, 0, None, None, params.extra))


class Packed:
    """Parameters in one buffer, laid out as C has them.

    Parameters
    ----------
    *values
        ctypes' numbers; an address is a `c_uint64`.
    """

    def __init__(self, *values: Any) -> None:
        fields = [(f"p{n}", type(v)) for n, v in enumerate(values)]
        layout = type("Layout", (ctypes.Structure,), {"_fields_": fields or [("p", ctypes.c_uint64)]})
        self.held = layout(*values)
        # Up to the last one's end: what C adds behind it is none of a kernel's.
        last = getattr(layout, fields[-1][0]) if fields else None
        self.size = ctypes.c_size_t(last.offset + last.size if last else 0)
        self.address = ctypes.addressof(self.held)
        self.extra = (ctypes.c_void_p * 5)(BUFFER, self.address, BUFFER_SIZE, ctypes.addressof(self.size))
        each = [self.address + getattr(layout, name).offset for name, _ in fields]
        self.each = (ctypes.c_void_p * max(1, len(each)))(*each)


# --- CUDA C ---


def _by_nvcc(source: Path, cc: tuple[int, int], kind: str) -> bytes:
    """What nvcc makes of a source: 'cubin' or 'ptx'."""
    nvcc = shutil.which("nvcc")
    if not nvcc:
        raise Missing("nvcc is not on PATH")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"kernels.{kind}"
        processor = f"{'sm' if kind == 'cubin' else 'compute'}_{cc[0]}{cc[1]}"
        line = [nvcc, "-O3", f"-{kind}", f"-arch={processor}", "-o", str(out), str(source)]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            raise Missing(f"nvcc: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
        return out.read_bytes()


def _nvrtc() -> ctypes.CDLL:
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    site = [Path(sysconfig.get_path("purelib")) / f for f in NVRTC_FOLDERS]
    folders = ["", *(str(f) for f in [Path(home) / "lib64", *site])]
    for place in (os.path.join(folder, name) for folder in folders for name in NVRTC):
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    raise Missing("NVRTC (libnvrtc.so) was not found")


def _by_nvrtc(source: Path, cc: tuple[int, int], kind: str) -> bytes:
    """What NVRTC makes of a source."""
    lib, program = _nvrtc(), ctypes.c_void_p()
    what = "CUBIN" if kind == "cubin" else "PTX"
    option = f"--gpu-architecture={'sm' if kind == 'cubin' else 'compute'}_{cc[0]}{cc[1]}".encode()
    made = lib.nvrtcCreateProgram(
        ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None
    )
    if made or lib.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(option)):
        raise Missing(f"NVRTC does not compile {source.name} for {cc[0]}.{cc[1]}")
    size = ctypes.c_size_t()
    if getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)):
        raise Missing(f"NVRTC gives no {what}")
    image = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(program, image)
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return image.raw


def images(source: Path, cc: tuple[int, int]) -> Iterator[tuple[str, bytes | Missing]]:
    """What this machine's compilers make of CUDA C, the best first: who made it, and the image or why there is none."""
    for name, compiler in (("nvcc -O3", _by_nvcc), ("NVRTC", _by_nvrtc)):
        for kind in ("cubin", "ptx"):
            try:
                yield f"{name}, {kind}", compiler(source, cc, kind)
            except Missing as why:
                yield name, why
                break


def load_cuda_c(driver: Driver, source: Path, cc: tuple[int, int]) -> tuple[str, ctypes.c_void_p]:
    """Compile CUDA C and load it: who compiled it, and the module.

    Raises
    ------
    Missing
        What was tried, and what came of it.
    """
    tried = []
    for name, image in images(source, cc):
        if isinstance(image, Missing):
            tried.append(str(image))
            continue
        try:
            return name, driver.load(image)
        except DriverError as why:
            tried.append(f"{name}: {why}")
    raise Missing("; ".join(tried))
