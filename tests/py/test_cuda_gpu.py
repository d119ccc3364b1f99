"""A GPU as Python sees it, by the driver that is none (tests/fake): what a device tells, its memory, which the host cannot touch, and arrays of other packages."""

from __future__ import annotations

import os

import pytest
from fake_gpu import start
from treadle import config

ABOUT = """
from treadle import cuda
d = cuda.get_current_device()
print(cuda.is_available(), cuda.is_emulated(), cuda.cuda_error(), len(cuda.gpus))
print(d.name, d.uuid, d.compute_capability, d.WARP_SIZE, d.MULTIPROCESSOR_COUNT, d.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
print(cuda.cudadrv.driver.driver.get_version(), cuda.current_context().get_memory_info().total >> 20)
cuda.detect()
"""


def test_what_a_gpu_tells():
    r = start(ABOUT)
    lines = r.stdout.splitlines()
    assert r.returncode == 0 and r.stderr == ""
    assert lines[:3] == [
        "True False None 1",
        "Fake GPU GPU-10111213-1415-1617-1819-1a1b1c1d1e1f (9, 0) 32 16 233472",
        "(12, 4) 256",
    ]
    assert "Driver's CUDA: 12.4" in r.stdout and "Emulated on" not in r.stdout


@pytest.mark.parametrize("mode", ["gpu", "auto"])
def test_a_driver_that_cannot_be_used(mode):
    """``gpu`` refuses, ``auto`` takes the emulated device."""
    code = (
        "from treadle import cuda, config\nprint(config.CUDA_DRIVER, cuda.is_available(), cuda.cuda_error())"
    )
    r = start(code, True, TREADLE_CUDA=mode, TREADLE_CUDA_DRIVER="libm.so.6")
    said = "libm.so.6 has no cuInit" if mode == "gpu" else "None"
    assert r.returncode == 0 and r.stdout.startswith(f"libm.so.6 {mode == 'auto'} ") and said in r.stdout
    assert config.CUDA_DRIVER == os.environ.get("TREADLE_CUDA_DRIVER", "")


ARRAYS = """
import numpy as np
from treadle import cuda
a = np.arange(24.0).reshape(2, 3, 4)
for given in (a, a[:, ::2], a[:, :, ::-1], a.T, np.asfortranarray(a), a[:0], a[1, 2, 3], np.broadcast_to(a[0], (5, 3, 4))):
    d = cuda.to_device(given)
    assert np.array_equal(d.copy_to_host(), given) and d.dtype == given.dtype and type(d.copy_to_host()) is np.ndarray, given
    out = np.empty_like(given)
    d.copy_to_host(out)
    assert np.array_equal(out, given) and np.array_equal(np.asarray(d), given)
d = cuda.to_device(a)
assert d[1, 2, 3] == 23 and d[1, 2].copy_to_host().tolist() == a[1, 2].tolist() and d[..., 1][0, 0] == 1
d[0, 1] = 7
d[1, :, 0] = np.float32([1, 2, 3])
b = a.copy()
b[0, 1] = 7
b[1, :, 0] = [1, 2, 3]
assert np.array_equal(d.copy_to_host(), b)
d[:, 1:] = d[:, :-1]  # they overlap
b[:, 1:] = b[:, :-1].copy()
assert np.array_equal(d.copy_to_host(), b) and np.array_equal(d.T.copy_to_host(), b.T)
for shape, order in ((24, "C"), ((4, 6), "C"), (-1, "A"), ((6, -1), "C")):
    assert np.array_equal(d.reshape(shape, order=order).copy_to_host(), b.reshape(shape, order=order))
f = cuda.to_device(np.asfortranarray(a))
assert np.array_equal(f.ravel("F").copy_to_host(), a.ravel("F")) and np.array_equal(f.ravel("A").copy_to_host(), a.ravel("F"))
for wrong, error in ((lambda: f.ravel(), NotImplementedError), (lambda: f.reshape(5), ValueError), (lambda: d[1, 2, 4], IndexError), (lambda: d[5], IndexError)):
    try:
        wrong()
    except error:
        continue
    raise AssertionError(error)
assert [x.tolist() for x in map(np.asarray, d.reshape(24).split(20))] == [b.ravel()[:20].tolist(), b.ravel()[20:].tolist()]
assert d.view(np.int64).copy_to_host().tolist() == b.view(np.int64).tolist()
r = cuda.to_device(np.array([(1, 2.5), (3, 4.5)], [("i", "i4"), ("x", "f8")]))
assert r["x"].copy_to_host().tolist() == [2.5, 4.5] and r[1]["x"] == 4.5
r[0]["i"] = 9
assert r.copy_to_host()["i"].tolist() == [9, 3]
print("done")
"""


def test_arrays_on_a_gpu():
    """All that reads items copies them: the host would end at a touch of that memory."""
    r = start(ARRAYS, on_any=True)
    assert r.returncode == 0 and r.stdout == "done\n", r.stderr


SEEN = """
import numpy as np
from treadle import cuda
m, p, g = cuda.mapped_array(4), cuda.pinned_array((2, 2)), cuda.managed_array(4, np.int32)
for a in (m, p, g):
    a[...] = 3
    assert a.sum() == 12
assert cuda.to_device(p).copy_to_host().tolist() == p.tolist()
x = np.arange(4.0)
with cuda.mapped(x) as y:
    y[1] = 9
    assert y.copy_to_host().tolist() == [0, 9, 2, 3]
assert x.tolist() == [0, 9, 2, 3]
with cuda.pinned(x):
    d = cuda.to_device(x)
try:
    with cuda.pinned(x, x):
        pass
except cuda.cudadrv.driver.CudaAPIError as e:
    assert e.code == 712, e
else:
    raise AssertionError
total = cuda.current_context().get_memory_info().total
try:
    cuda.device_array(total + 1, np.uint8)
except MemoryError as e:
    assert e.code == 2
else:
    raise AssertionError
del m, p, g, d
# Of another GPU than the tests' the driver keeps some, and other programs may have some.
if cuda.get_current_device().name == "Fake GPU":
    assert cuda.current_context().get_memory_info().free == total
print("done")
"""


def test_memory_that_host_and_gpu_see():
    r = start(SEEN, on_any=True)
    assert r.returncode == 0 and r.stdout == "done\n", r.stderr


OTHERS = (
    """
import numpy as np
from treadle import cuda

class Tensor:
    def __init__(self, d, versions=True):
        self.d, self.versions, self.streams = d, versions, []
    def __dlpack__(self, **given):
        if "max_version" in given and not self.versions:
            raise TypeError
        self.streams.append(given.get("stream"))
        return self.d.__dlpack__(**given)
    def __dlpack_device__(self):
        return self.d.__dlpack_device__()

a = np.arange(6.0).reshape(2, 3)
for given in (a, a.T, a[:, ::2], a[:0], a.astype(np.complex64), a > 2, a.astype(np.uint8)):
    d = cuda.to_device(given)
    assert d.__dlpack_device__() == (2, 0)
    for versions in (True, False):
        t = Tensor(d, versions)
        e = cuda.from_dlpack(t)
        assert np.array_equal(e.copy_to_host(), given) and e.dtype == given.dtype and t.streams == [1]
    if given.size:
        assert e.device_ctypes_pointer.value == d.device_ctypes_pointer.value
    assert np.array_equal(np.from_dlpack(type("H", (), {
        "__dlpack__": lambda s, **k: d.__dlpack__(dl_device=(1, 0)), "__dlpack_device__": lambda s: (1, 0)})()), given)
d = cuda.to_device(a)
capsule = d.__dlpack__(stream=-1)
del capsule  # nobody took it
s = cuda.stream()
bound = d.bind(s)
described = bound.__cuda_array_interface__
assert described["stream"] == int(s) and d.__cuda_array_interface__["stream"] == 1
e = cuda.from_cuda_array_interface(described, owner=d)
e[0, 0] = 5
assert d[0, 0] == 5
assert repr(cuda.external_stream(int(s))) == repr(s) and "of a GPU" in repr(cuda.external_stream(0x1234))
for wrong in (lambda: cuda.from_cuda_array_interface({**described, "data": (16, False)}),
              lambda: cuda.from_dlpack(type("H", (), {"__dlpack__": a.__dlpack__, "__dlpack_device__": a.__dlpack_device__})()),
              lambda: cuda.to_device(np.array(["a"])).__dlpack__()):
    try:
        wrong()
    except (ValueError, BufferError, TypeError):
        continue
    raise AssertionError
total = cuda.current_context().get_memory_info()
del d, e, t, bound, described, capsule
""".replace(", capsule\n", "\n")
    + """
left = cuda.current_context().get_memory_info()
assert left.free == left.total or cuda.get_current_device().name != "Fake GPU", left
print("done")
"""
)


def test_arrays_of_others():
    """DLPack and the CUDA array interface, in and out: no copy, the right stream, and nothing stays."""
    r = start(OTHERS, on_any=True)
    assert r.returncode == 0 and r.stdout == "done\n", r.stderr


KERNELS = """
import threading, traceback
import numpy as np
from treadle import cuda

@cuda.jit
def scale(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i]

@cuda.jit
def five(o):
    if cuda.grid(1) == 5:
        raise ValueError("five", 5)
    o[cuda.grid(1)] = 1

x = np.arange(40.0)
y = np.zeros(20)
scale[2, 16](3, x[::2], y)  # of the host: copied there and back
assert (y == 3 * x[::2]).all()
scale[3, 16](2, x, x)  # the same memory twice
assert (x == 2 * np.arange(40.0)).all()
scale[1, 8](np.float32(0.5), cuda.In(y[:8]), cuda.Out(x[:8]))
assert (x[:8] == y[:8] / 2).all()
d, e = cuda.to_device(np.arange(8.0)), cuda.device_array(8)
s = cuda.stream()
scale[1, 8, s](2.0, d, e)
scale[1, 8, cuda.external_stream(int(s))](2.0, e, d)
s.synchronize()
assert (d.copy_to_host() == 4 * np.arange(8.0)).all()
for launch in (lambda: five[2, 4](np.zeros(8)), lambda: (five[2, 4](d), cuda.synchronize()), lambda: (five[2, 4, s](d), s.synchronize())):
    try:
        launch()
    except ValueError as error:
        assert error.args == ("five", 5) and error.__notes__ == ["thread (1, 0, 0) of block (1, 0, 0)"]
        assert traceback.extract_tb(error.__traceback__)[-1][1:3] == (five.py_func.__code__.co_firstlineno + 3, "five")
    else:
        raise AssertionError
@cuda.jit(debug=True)
def at(a, i):
    a[i] = 1
at[1, 1](d, 7)
try:
    at[1, 1](d, 8)
except IndexError as error:
    assert "index 8 is out of bounds for axis 0 with size 8" in str(error)
else:
    raise AssertionError
@cuda.jit("void(float32[:], float32)")
def declared(a, v):
    a[cuda.grid(1)] = v
f = np.zeros(4, np.float32)
declared[1, 4](f, 2)
assert (f == 2).all()
for wrong in ((x, 2), (f,), (f, "2"), (f, 2, 3)):
    try:
        declared[1, 4](*wrong)
    except TypeError:
        continue
    raise AssertionError
registers = scale.get_regs_per_thread()
assert registers.keys() == scale.overloads.keys() and min(registers.values()) > 0 and set(five.get_max_threads_per_block().values()) == {1024}
blocks = {o.max_cooperative_grid_blocks((16, 16), 60 << 10) for o in scale.overloads.values()}
if cuda.get_current_device().name == "Fake GPU":
    assert set(registers.values()) == {32} and blocks == {3 * 16}
assert min(blocks) >= cuda.get_current_device().MULTIPROCESSOR_COUNT
def many():
    mine = cuda.to_device(np.ones(8))
    for _ in range(50):
        scale[1, 8](2.0, mine, mine)
    assert (mine.copy_to_host() == 2.0**50).all()
    done.append(1)
done = []
threads = [threading.Thread(target=many) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(done) == 4
print("done")
"""


def test_kernels_on_a_gpu():
    r = start(KERNELS, on_any=True)
    assert r.returncode == 0 and r.stdout == "done\n", r.stderr


CACHED = """
import ctypes, os
import numpy as np
from treadle import cuda

@cuda.jit(cache=True)
def k(a, i):
    a[cuda.grid(1)] = i
    if i == 7:
        raise ValueError("seven")

a = np.zeros(4)
k[1, 4](a, 3)
assert (a == 3).all()
try:
    k[1, 4](a, 7)
except ValueError as e:
    assert str(e) == "seven"
stats = k._of_gpu().stats
print(stats["compiled"], stats["loaded"], ctypes.CDLL(os.environ["TREADLE_CUDA_DRIVER"]).fake_calls(b"cuLinkCreate_v2"))
"""


def test_the_drivers_code_is_kept_on_disk(tmp_path):
    """The second process neither compiles nor has the driver assemble."""
    program = tmp_path / "program.py"
    program.write_text(CACHED)
    code = f"import runpy; runpy.run_path({str(program)!r})"
    (tmp_path / "cache").mkdir(mode=0o700)
    runs = [start(code, TREADLE_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2)]
    assert [r.stdout for r in runs] == ["1 0 1\n", "0 1 0\n"], runs


UFUNCS = """
import numpy as np
import treadle
from treadle import cuda, float32, float64, int64

@treadle.vectorize([float64(float64, float64), float32(float32, float32)], target="cuda")
def hyp(a, b):
    return (a * a + b * b) ** 0.5

@treadle.vectorize(target="cuda")
def plus(a, b):
    return a + b

@treadle.guvectorize(["void(float64[:,:], float64[:], float64[:])"], "(m,n),(n)->(m)", target="cuda")
def matvec(a, x, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        out[i] = s

@treadle.guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda")
def total(a, out):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
    out[0] = s

a, b = np.arange(12.0).reshape(3, 4), np.arange(4.0)
for x, y in ((a, b), (a.T, 2.0), (a[:, ::2], a[:, 1::2]), (a.astype("f4"), b.astype("f4")), (a.astype("i4"), b), (a[:0], b)):
    want = np.hypot(x, y)
    assert np.allclose(hyp(x, y), want), (x, y)
    there = hyp(cuda.to_device(x), cuda.to_device(y) if isinstance(y, np.ndarray) else y)
    assert isinstance(there, cuda.DeviceNDArray) and there.dtype == want.dtype and np.allclose(there.copy_to_host(), want)
out = cuda.device_array((3, 4))
assert hyp(cuda.to_device(a), b, out=out) is out and np.allclose(out.copy_to_host(), np.hypot(a, b))
host = np.empty((3, 4))
assert hyp(a, b, out=host) is host and np.allclose(host, np.hypot(a, b))
assert plus(a, 1).dtype == np.float64 and (plus(np.arange(5), 1) == np.arange(1, 6)).all() and plus(np.arange(5), 1).dtype == np.int64
for wrong in (lambda: hyp(a, a.T), lambda: hyp(a, b, out=np.empty(3)), lambda: hyp(a, b, out=np.empty((3, 4), "i4"))):
    try:
        wrong()
    except (ValueError, TypeError):
        continue
    raise AssertionError
m = np.arange(24.0).reshape(2, 3, 4)
assert np.allclose(matvec(m, b), m @ b) and np.allclose(matvec(cuda.to_device(m), b).copy_to_host(), m @ b)
assert np.allclose(matvec(m[0], b), m[0] @ b) and np.allclose(total(m), m.sum(-1)) and total(b) == 6
assert plus.reduce(np.arange(1000)) == 499500 and plus.reduce(cuda.to_device(np.arange(3.0))) == 3

@cuda.reduce
def last(a, b):  # associative, not commutative
    return b

@cuda.reduce
def most(a, b):
    return max(a, b)

n = 1024 * 1024 + 3
x = np.arange(n) * 7919 % n
assert most(x) == x.max() and most(cuda.to_device(x[::3])) == x[::3].max() and most(x, init=10 * n) == 10 * n
assert last(x, init=5) == 5 and most(x[:1]) == x[0] and most(x[:0], init=3) == 3
res = cuda.device_array(1, np.int64)
assert most(x, res=res) is None and res[0] == x.max()
part = cuda.to_device(x)
assert most.device_partial_inplace(part) == 1 and part[0] == x.max()
print("done")
"""


def test_ufuncs_and_reductions_on_a_gpu():
    r = start(UFUNCS, on_any=True)
    assert r.returncode == 0 and r.stdout == "done\n", r.stderr
