"""Programs on a GPU that went wrong once: memory given back too early, waits that did not wait or never ended, memory of others. By the driver of the tests."""

from __future__ import annotations

import pytest
from fake_gpu import RAISES, start

PRELUDE = (
    RAISES
    + """
import ctypes, gc, os, threading, time
import numpy as np
import treadle
from treadle import cuda

lib = ctypes.CDLL(os.environ["TREADLE_CUDA_DRIVER"])

@cuda.jit
def fill(a, v):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = v

@cuda.jit
def copy(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = b[i]

def made(value, n=64):
    return cuda.to_device(np.full(n, float(value)))

def ready():
    x = made(0)
    fill[1, 64](x, 0.0)
    copy[1, 64](x, x)
    cuda.synchronize()

def held(stream):
    go = threading.Event()
    stream.add_callback(lambda *_: go.wait(30))
    return go


ready()
"""
)

ONE = {
    "memory that the thread's own stream works on": """
own = cuda.per_thread_default_stream()
src, out = made(7), made(0)
go = held(own)
copy[1, 64, own](out, src)
del src
t = cuda.stream()
others = [cuda.to_device(np.full(64, -1.0), stream=t) for _ in range(4)]
t.synchronize()
go.set()
own.synchronize()
assert (out.copy_to_host() == 7).all()
""",
    "another thread's own stream is waited for": """
x, go = made(0), threading.Event()
def work():
    own = cuda.per_thread_default_stream()
    own.add_callback(lambda *_: go.wait(30))
    fill[1, 64, own](x, 5.0)
t = threading.Thread(target=work)
t.start()
t.join()
threading.Timer(0.2, go.set).start()
cuda.synchronize()
assert go.is_set()
""",
    "calls of threads that have ended": """
def work():
    own = cuda.per_thread_default_stream()
    a = cuda.to_device(np.zeros(8), stream=own)
    own.add_callback(lambda *_: time.sleep(0.02))
    fill[1, 8, own](a, 1.0)
for _ in range(3):
    all_ = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in all_]
    [t.join() for t in all_]
    cuda.synchronize()
    gc.collect()
""",
    "a stream that its owner has ended": """
h = ctypes.c_void_p()
lib.cuStreamCreate(ctypes.byref(h), 1)
x, ext, pinned = made(0, 8), cuda.external_stream(h.value), cuda.pinned_array(8)
fill[1, 8, ext](x, 1.0)
ext.synchronize()
s = cuda.stream()
lib.cuStreamDestroy_v2(h)
go = held(s)
fill[1, 8, s](x, 5.0)
x.copy_to_host(pinned, stream=s)
threading.Timer(0.2, go.set).start()
cuda.synchronize()
assert (pinned == 5).all()
""",
    "a ufunc of what a stream of others works on": """
import treadle
h = ctypes.c_void_p()
lib.cuStreamCreate(ctypes.byref(h), 1)
ext = cuda.external_stream(h.value)
double = treadle.vectorize(["float64(float64)"], target="cuda")(lambda v: 2 * v)
x = cuda.to_device(np.zeros(8)).bind(ext)
fill[1, 8, ext](x, 1.0)
assert (double(x).copy_to_host() == 2).all()
go = held(ext)
fill[1, 8, ext](x, 5.0)
threading.Timer(0.2, go.set).start()
assert (double(x).copy_to_host() == 10).all()
""",
    "no room while a call is to come": """
s = cuda.stream()
s.add_callback(lambda *_: time.sleep(0.2))
raises(MemoryError, "no room for 314572800 bytes", cuda.device_array, 300 << 20, np.uint8)
""",
    "room that jobs hold which are over": """
s, h = cuda.stream(), np.zeros(16 << 20, np.uint8)
for _ in range(40):
    d = cuda.device_array(16 << 20, np.uint8)
    d.copy_to_device(h, stream=s)
    del d
s.synchronize()
""",
    "what a call of a stream's drops": """
for make in (cuda.managed_array, cuda.pinned_array, cuda.mapped_array, cuda.device_array):
    kept, s = [make(8)], cuda.stream()
    s.add_callback(lambda *_: kept.pop())
    s.synchronize()
    assert not kept
cuda.synchronize()
""",
    "memory of others between blocks of ours": """
a, at = cuda.device_array(1000), ctypes.c_uint64()
lib.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(800))
b = cuda.device_array(1000)
class Theirs:
    __cuda_array_interface__ = dict(shape=(100,), typestr="<f8", data=(at.value, False), version=3, strides=None)
theirs = cuda.as_cuda_array(Theirs())
fill[2, 64](theirs, 3.0)
fill[2, 64](Theirs(), 3.0)
assert (theirs.copy_to_host() == 3).all()
lib.cuMemFree_v2(at)
raises(ValueError, "was freed", cuda.as_cuda_array, Theirs())
""",
    "what is no argument": """
out = np.zeros(8)
raises(TypeError, "pass a.data and a.mask apart", fill[1, 8], np.ma.masked_less(np.arange(8.0), 3), 1.0)
copy[1, 8](out, np.frombuffer(b"." + np.ones(8).tobytes(), np.float64, offset=1))
assert out.sum() == 8
x = made(0, 8)
for stream in (0, -5, "1", True):
    raises(ValueError, "__dlpack__(stream=", lambda: x.__dlpack__(stream=stream))
inner = cuda.jit(device=True)(lambda x: x)
raises(TypeError, "is a function, which is called", lambda: inner[1, 2])
@cuda.jit
def sized(a):
    s = cuda.shared.array(a.size, np.float64)
    a[0] = s[0]
raises(treadle.errors.TypingError, "kernel[grid, block, stream, nbytes]", sized[1, 1], x)
""",
    "a try": """
from treadle import errors
@cuda.jit
def k(a, o):
    i = cuda.grid(1)
    try:
        o[i] = a[i]
    except IndexError:
        o[i] = -1
raises(errors.TypingError, "a GPU has no `try`", k[1, 4], np.ones(3), np.zeros(4))
raises(errors.TypingError, "<string>:", k[1, 4], np.ones(3), np.zeros(4))
""",
    "functions of complex numbers": """
import cmath
@cuda.jit
def k(z):
    z[0] = cmath.log(z[0])
z = np.full(3, 1 - 2j)
k[1, 1](z)
np.testing.assert_allclose(z, [cmath.log(1 - 2j), 1 - 2j, 1 - 2j], rtol=1e-14)
""",
}

ONE["powers and parts of numbers"] = """
import math
@cuda.jit
def powers(z, o):
    i = cuda.grid(1)
    if i < z.size:
        o[0, i], o[1, i], o[2, i], o[3, i], o[4, i] = z[i] ** 3, z[i] ** -2, z[i] ** 0.5, z[i] ** (1 + 1j), 2 ** z[i]
r = np.random.default_rng(0)
z = r.normal(size=64) + 1j * r.normal(size=64)
out = np.zeros((5, 64), complex)
powers[1, 64](z, out)
np.testing.assert_allclose(out, [z**3, z**-2, z**0.5, z ** (1 + 1j), 2**z], rtol=1e-13)
@cuda.jit
def parts(x, m, o):
    i = cuda.grid(1)
    if i < x.size:
        a, b = math.frexp(x[i])
        m[0, i], o[0, i] = a, b
        m[1, i] = math.ldexp(x[i], b)
        n = abs(int(a * 1000))
        o[1, i], o[2, i], o[3, i] = math.isqrt(n), math.lcm(n, 12), math.perm(n % 9 + 3, 3)
        o[4, i] = math.factorial(n % 20)
x = np.array([0.75, -3.0, 1e-310, 1e300, 12345.678, -0.001])
m, o = np.zeros((2, 6)), np.zeros((5, 6), np.int64)
parts[1, 6](x, m, o)
for k, v in enumerate(x):
    a, b = math.frexp(v)
    n = abs(int(a * 1000))
    want = [b, math.isqrt(n), math.lcm(n, 12), math.perm(n % 9 + 3, 3), math.factorial(n % 20)]
    assert m[0, k] == a and list(o[:, k]) == want
    assert b > 900 or m[1, k] == math.ldexp(v, b)
"""

TWO = {
    "memory that a peer works on": """
cuda.current_context(1).enable_peer_access(cuda.current_context(0))
src = made(7)
with cuda.gpus[1]:
    s, out = cuda.stream(), made(0)
    copy[1, 64](out, out)
cuda.synchronize()
go = held(s)
copy[1, 64, s](out, src)
del src
others = [made(-1) for _ in range(4)]
go.set()
s.synchronize()
assert (out.copy_to_host() == 7).all()
cuda.synchronize()
""",
    "a copy on a stream of another GPU": """
with cuda.gpus[1]:
    x, t = made(0), cuda.stream()
    fill[1, 64](x, 0.0)
    cuda.synchronize()
    go = held(t)
    fill[1, 64](x, 5.0)
s, host = cuda.stream(), cuda.pinned_array(64)
host[:] = -1
x.copy_to_host(host, stream=s)
threading.Timer(0.2, go.set).start()
s.synchronize()
assert (host == 5).all()
""",
    "a consumer's stream on another GPU": """
with cuda.gpus[1]:
    d, out, t = made(0), made(-1), cuda.stream()
    fill[1, 64](d, 0.0)
    copy[1, 64](out, d)
    cuda.synchronize()
    h = ctypes.c_void_p()
    lib.cuStreamCreate(ctypes.byref(h), 1)
    consumer = cuda.external_stream(h.value)
    go = held(t)
    fill[1, 64](d, 5.0)
capsule = d.__dlpack__(stream=h.value, max_version=(1, 0))
with cuda.gpus[1]:
    copy[1, 64, consumer](out, d)
threading.Timer(0.2, go.set).start()
cuda.synchronize()
assert (out.copy_to_host() == 5).all()
""",
    "a copy for DLPack lies where the array lies": """
d = made(3)
with cuda.gpus[1]:
    free = cuda.current_context(1).get_memory_info().free
    there = d.__dlpack__(copy=True, max_version=(1, 0))
    assert cuda.current_context(1).get_memory_info().free == free
    del there
    gc.collect()
    cuda.synchronize()
    assert cuda.current_context(1).get_memory_info().free == free
""",
    "a loop on a stream of another GPU": """
with cuda.gpus[1]:
    s = cuda.stream()
h = np.zeros(1 << 20, np.uint8)
with cuda.gpus[1]:
    ds = [cuda.device_array(1 << 20, np.uint8) for _ in range(2)]
for n in range(600):
    with cuda.gpus[1]:
        d = cuda.device_array(1 << 20, np.uint8)
    d.copy_to_device(h, stream=s)
    del d
s.synchronize()
""",
    "a call of a stream's does not wait for another GPU": """
with cuda.gpus[1]:
    there = made(0)
here, said, s = made(1), [], cuda.stream()
def call(*_):
    try:
        there.copy_to_device(here, stream=s)
    except cuda.cudadrv.driver.CudaAPIError as error:
        said.append(str(error))
s.add_callback(call)
s.synchronize()
assert "a callback of a stream may not wait" in said[0]
""",
}


@pytest.mark.parametrize("name", ONE)
def test_one(name):
    done = start(PRELUDE + ONE[name])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", TWO)
def test_two(name):
    done = start(PRELUDE + TWO[name], TREADLE_FAKE_GPUS="90,80")
    assert done.returncode == 0, done.stderr


def test_many_axes():
    code = 'raises(ValueError, "40 axes: a device takes at most 32", cuda.to_device, np.zeros((1,) * 40))'
    if not np_has_many():
        pytest.skip("NumPy before 2 has 32 axes")
    done = start(PRELUDE + code)
    assert done.returncode == 0, done.stderr


def np_has_many() -> bool:
    import numpy as np

    return np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def test_memcheck_is_the_emulated_device(tmp_path):
    """Whatever the machine has; and a program that insists on a GPU is told."""
    script = tmp_path / "wrong.py"
    script.write_text(
        "import numpy as np\nfrom treadle import cuda\n@cuda.jit\ndef k(a):\n    a[cuda.grid(1)] = 1\n"
        "k[1, 32](cuda.to_device(np.zeros(30)))\ncuda.synchronize()\n"
    )
    code = f"import sys\nfrom treadle.run import main\nsys.exit(main(['memcheck', {str(script)!r}]))\n"
    done = start(code, TREADLE_CUDA="auto")
    assert done.returncode == 1 and "1 mistake of kernels" in done.stderr, done.stderr
    done = start(code)
    assert done.returncode == 2 and "checks are the emulated device's" in done.stderr
