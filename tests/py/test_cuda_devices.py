"""Devices, contexts, `TREADLE_CUDA`, warnings of slow launches, and the names that programs for numba.cuda and NumbaPro use."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import warnings

import numpy as np
import pytest
import treadle
from treadle import config, cuda
from treadle.cuda.cudadrv import devices, driver, error, runtime
from treadle.errors import PerformanceWarning, TreadleWarning


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


# --- devices and contexts ---


def test_devices():
    assert len(cuda.gpus) == 1 and len(cuda.gpus.lst) == 1 and cuda.list_devices() is cuda.gpus
    device = cuda.gpus[0]
    assert [*cuda.gpus] == [device] and cuda.gpus.current is device and cuda.gpus[-1] is device
    assert cuda.select_device(0) is device is cuda.get_current_device()
    assert isinstance(device, cuda.Device) and device.id == 0 and device.uuid.startswith("GPU-")
    assert isinstance(device.name, str) and device.name.decode() == device.name == device.name.decode("utf-8")
    cc = (9, 0) if cuda.is_emulated() else device.compute_capability
    assert cc >= (7, 5) and device.compute_capability == cc == device.COMPUTE_CAPABILITY
    assert (device.COMPUTE_CAPABILITY_MAJOR, device.COMPUTE_CAPABILITY_MINOR) == cc
    with cuda.gpus[0]:
        a = np.zeros(4)
        increment[1, 4](a)
        assert (a == 1).all()
    device.reset()
    assert cuda.is_float16_supported() == hasattr(treadle.types, "float16") == device.supports_float16
    for bad in (1, -1):
        with pytest.raises(IndexError, match="there is no device"):
            cuda.select_device(bad)
    with pytest.raises(IndexError, match="no device 3: 1 in all"):
        cuda.gpus[3]
    name = "emulated" if cuda.is_emulated() else device.name
    assert name in repr(device) and name in str(cuda.gpus) and name in repr(cuda.gpus)


def test_limits_of_a_device_are_those_of_launches():
    d = cuda.get_current_device()
    kernel = cuda.jit(lambda: None)
    kernel[1, d.MAX_THREADS_PER_BLOCK]
    kernel[d.MAX_GRID_DIM_X, 1]
    kernel[(1, d.MAX_GRID_DIM_Y, 1), (1, d.MAX_BLOCK_DIM_Y)]
    kernel[(1, 1, d.MAX_GRID_DIM_Z), (1, 1, d.MAX_BLOCK_DIM_Z)]
    for grid, block in (
        (1, d.MAX_THREADS_PER_BLOCK + 1),
        (d.MAX_GRID_DIM_X + 1, 1),
        ((1, d.MAX_GRID_DIM_Y + 1), 1),
        ((1, 1, d.MAX_GRID_DIM_Z + 1), 1),
        (1, (1, 1, d.MAX_BLOCK_DIM_Z + 1)),
        (1, (d.MAX_BLOCK_DIM_X, d.MAX_BLOCK_DIM_Y)),
    ):
        with pytest.raises(ValueError):
            kernel[grid, block]
    assert d.WARP_SIZE == 32 and d.MAX_SHARED_MEMORY_PER_BLOCK == 48 * 1024


def test_attributes():
    d = cuda.get_current_device()
    assert d.MULTIPROCESSOR_COUNT == treadle.get_num_threads() or d.MULTIPROCESSOR_COUNT >= 1
    assert d.L2_CACHE_SIZE >= 0
    assert {"MULTIPROCESSOR_COUNT", "WARP_SIZE", "compute_capability"} <= set(dir(d))
    for name in dir(d):
        if name.isupper() and name != "COMPUTE_CAPABILITY":
            assert isinstance(getattr(d, name), int)
    with pytest.raises(
        AttributeError, match="has no 'MEMORY_CLOCK_RATE'" if cuda.is_emulated() else "has no 'COLOUR'"
    ):
        _ = d.MEMORY_CLOCK_RATE if cuda.is_emulated() else d.COLOUR


def test_contexts():
    c = cuda.current_context()
    assert c is cuda.current_context(0) and c is cuda.get_current_device().get_primary_context()
    assert isinstance(c, cuda.Context) and c.device is cuda.gpus[0] and c.id == 0
    free, total = c.get_memory_info()
    assert isinstance(c.get_memory_info(), cuda.MemoryInfo)
    assert 0 < free <= total
    if cuda.is_emulated():  # a GPU has a pool, and others beside us
        assert total <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        d = cuda.device_array(10**6, np.uint8)
        assert free - 2 * 10**6 < c.get_memory_info().free <= free - 10**6
        del d
        assert c.get_memory_info() == (free, total)
    c.synchronize()
    c.push()
    c.pop()
    c.reset()
    c.deallocations.clear()
    c.trashing.clear()
    c.memory_manager.deallocations.clear()
    assert len(c.deallocations) == 0 and c.deallocations.is_empty
    assert isinstance(c.create_stream(), cuda.Stream) and isinstance(c.get_default_stream(), cuda.Stream)
    with cuda.defer_cleanup(), c.defer_cleanup():
        assert cuda.to_device([1, 2])[1] == 2
    with pytest.raises(IndexError):
        cuda.current_context(4)
    assert repr(c) == "<CUDA context of device 0>"


def test_close():
    d = cuda.to_device(np.arange(4.0))
    cuda.close()
    assert d[3] == 3
    increment[1, 4](d)
    assert d[3] == 4


def test_detect(capsys):
    assert cuda.detect() is True
    out = capsys.readouterr().out
    cc = "%d.%d" % cuda.get_current_device().compute_capability
    assert "Found 1 CUDA devices" in out and f"Compute Capability: {cc}" in out and "1/1" in out


def test_versions():
    assert cuda.runtime.get_version() == (-1, -1)
    assert (
        driver.driver.get_version() == (-1, -1)
        if cuda.is_emulated()
        else driver.driver.get_version() >= (11, 0)
    )
    assert cuda.runtime.get_version() in cuda.runtime.supported_versions
    assert cuda.is_supported_version() and cuda.runtime.is_supported_version()
    assert isinstance(runtime.runtime, runtime.Runtime)
    assert runtime.runtime is cuda.runtime and driver.driver.get_device_count() == 1
    assert driver.driver.is_initialized


def test_profiling():
    with cuda.profiling():
        cuda.profile_start()
        cuda.profile_stop()


def test_require_context():
    @cuda.require_context
    def f(x, *, y):
        "Text."
        return x + y

    assert f(1, y=2) == 3 and f.__doc__ == "Text."


def test_errors():
    assert issubclass(error.CudaSupportError, ImportError)
    assert (
        issubclass(driver.CudaAPIError, driver.CudaDriverError)
        and error.CudaDriverError is driver.CudaDriverError
    )
    e = driver.CudaAPIError(700, "CUDA_ERROR_ILLEGAL_ADDRESS")
    assert (e.code, e.msg, str(e)) == (700, "CUDA_ERROR_ILLEGAL_ADDRESS", "[700] CUDA_ERROR_ILLEGAL_ADDRESS")
    assert runtime.CudaRuntimeError is error.CudaRuntimeError
    assert devices.get_context() is cuda.current_context() and devices.gpus is cuda.gpus
    devices.reset()


@pytest.mark.emulated
def test_a_child_of_a_fork_has_its_own_memory():
    d = cuda.to_device(np.arange(4.0))
    child = os.fork()
    if child == 0:
        try:
            increment[1, 4](d)
            e = cuda.to_device(np.ones(1000))
            good = d[3] == 4 and e[999] == 1 and len(cuda.gpus) == 1
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert d.copy_to_host().tolist() == [0, 1, 2, 3]


# --- TREADLE_CUDA ---

DEVICE = {k: v for k, v in os.environ.items() if k in ("TREADLE_CUDA", "TREADLE_CUDA_DRIVER")}

USE = """
import numpy as np
from treadle import config, cuda
from treadle.cuda.cudadrv.error import CudaSupportError
import sys
print(config.CUDA, cuda.is_available(), cuda.is_emulated(), cuda.cuda_error() is None)
@cuda.jit
def k(a):
    a[cuda.grid(1)] = 1
for use in (lambda: k[1, 2](np.zeros(2)), lambda: cuda.to_device([1]), lambda: cuda.device_array(1), cuda.stream, cuda.synchronize,
            lambda: len(cuda.gpus), cuda.get_current_device, cuda.current_context, lambda: cuda.select_device(0), lambda: cuda.mapped_array(2),
            lambda: cuda.from_dlpack(np.zeros(2)), cuda.close, cuda.detect, lambda: cuda.pinned_array(3)):
    try:
        use()
    except CudaSupportError as e:
        print(e, file=sys.stderr)
"""


def start(code, **env):
    full = {k: v for k, v in os.environ.items() if k not in ("TREADLE_CUDA", "TREADLE_CUDA_DRIVER")} | env
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=full, timeout=120)


@pytest.mark.emulated  # that no GPU is there
@pytest.mark.parametrize("mode", ["auto", "emu", ""])
def test_the_emulated_device_is_silent_where_nobody_reads(mode):
    r = start(USE, TREADLE_CUDA=mode)
    assert r.returncode == 0 and r.stderr == ""
    assert r.stdout.splitlines()[0] == f"{mode or 'auto'} True True True"


def test_no_gpu_is_an_error_at_first_use():
    r = start(USE, TREADLE_CUDA="gpu", TREADLE_CUDA_DRIVER="/nowhere/libcuda.so.1")
    assert r.returncode == 0 and r.stdout.splitlines()[0] == "gpu False False False"
    lines = r.stderr.splitlines()
    assert len(lines) == 14 and set(lines) == {
        "TREADLE_CUDA=gpu: there is no CUDA driver here: /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory; "
        "TREADLE_CUDA=emu runs kernels on this machine's processors"
    }


def test_what_treadle_cuda_may_be():
    r = start("import treadle.config", TREADLE_CUDA="cpu")
    assert "TREADLE_CUDA='cpu': must be one of auto, gpu, emu" in r.stderr
    r = start("import treadle.config", TREADLE_CUDA_WARN="2")
    assert "TREADLE_CUDA_WARN='2': must be one of auto, 0, 1, grid, copy" in r.stderr


def on_a_terminal(code, **env):
    """What a program writes to a stderr that is a terminal."""
    try:
        ours, theirs = pty.openpty()
    except OSError as e:
        pytest.skip(f"there is no terminal to be had here: {e}")
    try:
        full = {k: v for k, v in os.environ.items() if k not in ("TREADLE_CUDA", "TREADLE_CUDA_DRIVER")} | env
        subprocess.run(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=full,
            timeout=120,
            check=True,
        )
        os.write(theirs, b"\nend\n")
        text = b""
        while b"end" not in text:
            text += os.read(ours, 4096)
        return text.decode().split("end")[0].strip()
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.emulated
def test_auto_says_once_on_a_terminal_what_it_does():
    text = on_a_terminal(USE)
    assert text.count("\n") == 0 and text.startswith("treadle: no GPU is used")
    assert on_a_terminal("import treadle.cuda as c; c.is_available(), c.jit(lambda: None)") == ""
    assert on_a_terminal(USE, TREADLE_CUDA="emu") == ""


# --- warnings of launches that a GPU would be slow with ---


@pytest.fixture
def told(monkeypatch):
    """All warnings of a call, by a fresh kernel, with what is asked for."""

    def launch(what, grid, *args):
        monkeypatch.setattr(config, "CUDA_WARN", what)
        kernel = cuda.jit(lambda *a: None) if not args else cuda.jit(increment.py_func)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in range(3):
                kernel[grid, 32](*args)
        return found

    return launch


def test_a_tiny_grid_is_told_once(told):
    (w,) = told("1", (2, 3), cuda.to_device([1.0]))
    assert w.category is PerformanceWarning and issubclass(PerformanceWarning, TreadleWarning)
    assert w.filename == __file__
    assert str(w.message).startswith(
        "increment: a grid of 6 blocks leaves most of a GPU idle (TREADLE_CUDA_WARN=0"
    )
    assert told("1", 128, cuda.to_device([1.0])) == []
    assert "a grid of 1 block leaves" in str(told("1", 1, cuda.to_device([1.0]))[0].message)


def test_an_implicit_copy_is_told_once(told):
    (w,) = told("1", 128, np.zeros(1))
    assert w.category is PerformanceWarning and w.filename == __file__
    assert "increment: argument 1 is an array of the host" in str(w.message)
    assert told("1", 128, cuda.mapped_array(1)) == []


def test_what_is_told_can_be_chosen(told):
    for what, count in (
        ("0", 0),
        ("1", 2),
        ("grid", 1),
        ("copy", 1),
        ("auto", 0 if cuda.is_emulated() else 2),
    ):
        assert len(told(what, 1, np.zeros(1))) == count, what


def test_one_warning_is_enough(monkeypatch):
    monkeypatch.setattr(config, "CUDA_WARN", "1")
    kernel = cuda.jit(increment.py_func)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        kernel._alone = True  # as under the names of NumbaPro
        kernel(np.zeros(1))
        kernel(np.zeros(1))
        kernel.forall(1)(np.zeros(1))
    assert [w.category for w in found] == [UserWarning, PerformanceWarning, PerformanceWarning]


def test_warnings_as_errors_leave_the_launcher_usable(monkeypatch):
    monkeypatch.setattr(config, "CUDA_WARN", "1")
    kernel = cuda.jit(increment.py_func)
    a = np.zeros(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PerformanceWarning):
            kernel[1, 1](a)
        kernel[1, 1](a)
    assert a[0] == 1


# --- older names ---


def test_configure():
    a = np.zeros(8)
    increment.configure(2, 4)(a)
    increment.configure(2, (4,), cuda.stream(), 0)(a)
    increment.configure(griddim=2, blockdim=4, stream=0, sharedmem=0)(a)
    assert (a == 3).all()
    with pytest.raises(ValueError, match="-1"):
        increment.forall(-1)


def test_devices_of_the_module():
    assert cuda.devicearray.DeviceNDArray is cuda.DeviceNDArray
    assert cuda.cudadrv.devicearray.DeviceNDArray is cuda.DeviceNDArray
    assert cuda.args.In is cuda.In


# --- programs for numba.cuda and NumbaPro ---

NUMBA = """
import warnings
import numpy as np
import numba
from numba import cuda, float32, int32, config, NumbaPerformanceWarning
from numba.core.errors import NumbaPerformanceWarning as same
from numba.cuda import jit, to_device, devicearray
from numba.cuda.cudadrv.devicearray import DeviceNDArray
from numba.cuda.cudadrv.driver import CudaAPIError, driver
from numba.cuda.cudadrv.error import CudaSupportError, CudaDriverError
from numba.cuda.cudadrv import devices, runtime
from numba.cuda.compiler import Dispatcher, compile_ptx, compile_for_current_device
from numba.cuda import HAS_NUMBA
from numba.cuda.testing import CUDATestCase, skip_on_cudasim, skip_unless_cudasim, skip_unless_cc_53, unittest
import numba.cuda.cudadrv.nvvm

try:
    raise cuda.CudaSupportError("as programs do that look for a GPU")
except cuda.CudaSupportError:
    assert cuda.CudaSupportError is CudaSupportError and cuda.devices is devices and cuda.driver.driver is driver

assert not HAS_NUMBA and compile_ptx is cuda.compile_ptx and compile_for_current_device is cuda.compile_for_current_device
assert NumbaPerformanceWarning is same and issubclass(same, numba.NumbaWarning)
assert cuda.is_available() and len(cuda.gpus) == 1 and cuda.cudadrv.devicearray.DeviceNDArray is DeviceNDArray is devicearray.DeviceNDArray

@cuda.jit("void(float32[:], int32)")
def add(x, n):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += n

@jit
def lazy(x):
    x[cuda.grid(1)] = 1

@cuda.jit(link=["other.cu"])
def linked(x):
    pass

@cuda.jit(numba.types.void(numba.types.ListType(float32)))
def of_lists(x):
    pass

d = to_device(np.zeros(3, np.float32))
config.CUDA_LOW_OCCUPANCY_WARNINGS = 1  # else it is a GPU's alone
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    add[1, 32](d, 2)
print(len(found), found[0].category.__name__, d.copy_to_host())
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
with warnings.catch_warnings():
    warnings.simplefilter("error")
    add[1, 64](d, 2)
    numba.config.CUDA_WARN_ON_IMPLICIT_COPY = False
    lazy[1, 3](np.zeros(3))
assert isinstance(lazy, Dispatcher) and isinstance(d, DeviceNDArray)
for call in (lambda: linked[1, 1](d), lambda: of_lists[1, 1](d), lambda: of_lists.forall(3)(d)):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])

class T(CUDATestCase):
    @skip_on_cudasim("runs")
    def test_a(self):
        self.assertEqual(d.copy_to_host()[0], 4)
    @skip_unless_cc_53
    def test_b(self):
        pass
    @skip_unless_cudasim("never")
    def test_c(self):
        raise AssertionError

r = unittest.TextTestRunner(stream=open("/dev/null", "w")).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))
print(r.testsRun, len(r.skipped), r.wasSuccessful())

from numba.cuda.core import config as other, errors
from numba.cuda import types, float64 as f8
from numba.np.numpy_support import from_dtype, as_dtype
from numba.cuda.kernels.transpose import transpose
assert other.ENABLE_CUDASIM == cuda.config.ENABLE_CUDASIM == 0 and errors.NumbaPerformanceWarning is same and types.float64 is f8
assert numba.typeof(d) == d._numba_type_ == float32[::1] and from_dtype(as_dtype(int32)) == int32
t = to_device(np.arange(6.0).reshape(2, 3))
half = cuda.vectorize(["float64(float64)"])(lambda x: x / 2)
assert isinstance(half(t), DeviceNDArray) and half(t).copy_to_host()[1, 2] == 2.5 and half(np.ones(3), stream=cuda.stream())[0] == 0.5
case = CUDATestCase()
case.assertPreciseEqual(np.float64(0.1), 0.1)
case.assertPreciseEqual((1.0, np.nan), (1.0, np.nan))
case.assertPreciseEqual(np.float32(1 + 2**-23), np.float32(1), prec="single")
for a, b in ((0.0, -0.0), (1.0, 1), (np.float32(1), np.float32(1 + 2**-20))):
    try:
        case.assertPreciseEqual(a, b)
    except AssertionError:
        continue
    raise RuntimeError("equal")
assert transpose(t).shape == (3, 2) and transpose(t, cuda.device_array((3, 2), order="F"))[2, 1] == 5

class Manager(cuda.HostOnlyCUDAMemoryManager):
    pass

try:
    Manager()
except Exception as e:
    print(e)
"""

PRO = """
import numpy as np
from numbapro import cuda, jit, autojit, float32, void
import numbapro

@jit(argtypes=[float32[:], float32], target="gpu")
def scale(x, f):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] *= f

@cuda.jit(argtypes=[float32], restype=float32, device=True, inline=True)
def half(x):
    return x / 2

@cuda.autojit
def halve(x):
    x[cuda.grid(1)] = half(x[cuda.grid(1)])

@autojit(target="gpu")
def one(x):
    x[cuda.grid(1)] += 1

a = np.arange(4, dtype=np.float32)
stream = cuda.stream()
d = cuda.to_device(a, stream)
scale[(1,), (4,), stream](d, 6)
halve.configure(1, 4)(d)
one[1, 4](d)
d.to_host()
print(a)
for kernel in (scale, halve, one):  # one thread, as it was there
    b = np.arange(4, dtype=np.float32)
    kernel(b, 6) if kernel is scale else kernel(b)
    print(b)
cuda.current_context().trashing.clear()
cuda.close()
assert numbapro.check_cuda()
"""


def program(tmp_path, text, **env):
    path = tmp_path / "script.py"
    path.write_text(text)
    ours = ("NUMBA_", "TREADLE_CUDA", "TREADLE_PROMOTION")
    full = {k: v for k, v in os.environ.items() if not k.startswith(ours)} | env
    return subprocess.run(
        [sys.executable, "-m", "treadle", "run", path], capture_output=True, text=True, env=full, timeout=120
    )


def test_a_program_for_numba(tmp_path):
    r = program(tmp_path, NUMBA, **DEVICE)
    assert r.returncode == 0, r.stderr
    assert r.stdout.splitlines() == [
        "1 PerformanceWarning [2. 2. 2.]",
        "UnsupportedError other.cu not found",
        *[
            "TypingError of_lists() has no signature for arguments of types (array(float32, 1d, C)); it has none(list(float32))"
        ]
        * 2,
        "3 1 True",
        "Treadle does not have numba.cuda.HostOnlyCUDAMemoryManager",
    ]


RANK = """
import numpy as np
from numba import cuda, int32
@cuda.jit
def rank(x, out, all):
    i = cuda.grid(1)
    m = cuda.match_any_sync(0xffffffff, int32(x[i] & 3))
    r = cuda.popc(m & cuda.lanemask_lt())
    for j in range(cuda.threadIdx.x // 32):
        r += 1
    out[i] = x[r]
    all[i] = cuda.ballot_sync(0xffffffff, True)
x, out, all = np.arange(64, dtype=np.int32), np.zeros(64, np.int32), np.zeros(64, np.int64)
rank[1, 64](x, out, all)
print((out == x % 32 // 4 + x // 32).all(), set(all.tolist()))
"""


def test_masks_are_signed_for_numba(tmp_path):
    """Numba declares them int32: what is counted in them can be added to, and used as an index."""
    r = program(tmp_path, RANK, TREADLE_CUDA_WARN="0", **DEVICE)
    assert (r.returncode, r.stdout) == (0, "True {-1}\n"), r.stderr


def test_a_program_for_numbapro(tmp_path):
    r = program(tmp_path, PRO, TREADLE_CUDA_WARN="0", **DEVICE)
    assert r.returncode == 0, r.stderr
    alone = 2 * "[0. 1. 2. 3.]\n" + "[1. 1. 2. 3.]\n"
    assert r.stdout.startswith("[ 1.  4.  7. 10.]\n" + alone + "Found 1 CUDA devices\n"), r.stdout


def test_variables_of_numba(tmp_path):
    text = """
import os, treadle.config
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
from numba import cuda, config
print(treadle.config.CUDA, treadle.config.CUDA_WARN, config.ENABLE_CUDASIM, config.CUDA_LOW_OCCUPANCY_WARNINGS, config.CUDA_WARN_ON_IMPLICIT_COPY)
"""
    assert program(tmp_path, text).stdout == "emu auto 1 1 1\n"
    assert program(tmp_path, text, TREADLE_CUDA="auto").stdout == "auto auto 1 1 1\n"
    assert program(tmp_path, text, NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0").stdout == "emu copy 1 0 1\n"
    assert program(tmp_path, text, NUMBA_CUDA_WARN_ON_IMPLICIT_COPY="0").stdout == "emu grid 1 1 0\n"
    off = {"NUMBA_CUDA_WARN_ON_IMPLICIT_COPY": "0", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0"}
    assert program(tmp_path, text, **off).stdout == "emu 0 1 0 0\n"
    assert program(tmp_path, text, TREADLE_CUDA_WARN="1", **off).stdout == "emu 1 1 1 1\n"
    plain = "from numba import cuda, config\nimport treadle.config\nprint(treadle.config.CUDA, config.ENABLE_CUDASIM)"
    assert program(tmp_path, plain).stdout == "auto 0\n"
