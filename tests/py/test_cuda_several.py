"""Several GPUs: which one a thread uses, what belongs to which, copies between them, and the memory of peers. By the driver of the tests, which is four of them where asked for."""

from __future__ import annotations

import textwrap

import pytest
from fake_gpu import RAISES, start

PRELUDE = (
    RAISES
    + """
import threading
import numpy as np
from treadle import cuda, vectorize

@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i]

@cuda.jit
def fails(x):
    if x[0] == 1:
        raise ValueError("told", 7)
    x[0] = 2

def on(number, values):
    with cuda.gpus[number]:
        return cuda.to_device(np.asarray(values, float))

"""
)

PROGRAMS = {
    "what there is": """
assert len(cuda.gpus) == 3 and [d.id for d in cuda.list_devices()] == [0, 1, 2]
assert [d.compute_capability for d in cuda.gpus] == [(9, 0), (8, 0), (7, 5)]
assert cuda.current_context(2).device is cuda.gpus[2] and cuda.get_current_device().id == 0
raises(IndexError, "there is no device 3: 3 in all", cuda.select_device, 3)
raises(IndexError, "there is no device -1", cuda.select_device, -1)
raises(TypeError, "", cuda.select_device, "0")
assert cuda.detect()
""",
    "the current one": """
assert cuda.select_device(1) is cuda.gpus[1] is cuda.gpus.current
seen = []
t = threading.Thread(target=lambda: seen.append(cuda.get_current_device().id))
t.start(); t.join()
assert seen == [0]  # a thread begins with the first
with cuda.gpus[2] as d:
    assert d is cuda.gpus[2] is cuda.get_current_device()
    with cuda.gpus[0]:
        assert cuda.current_context().id == 0
    try:
        with cuda.gpus[1]:
            raise KeyError
    except KeyError:
        pass
    assert cuda.current_context().id == 2
assert cuda.get_current_device().id == 1
cuda.current_context(0).push()
assert cuda.get_current_device().id == 0
cuda.current_context().pop()
assert cuda.get_current_device().id == 1
raises(RuntimeError, "no context was pushed", cuda.current_context().pop)
""",
    "kernels": """
for number in (2, 0, 1, 0):
    x, y = on(number, np.arange(5)), on(number, np.ones(5))
    assert (x.__dlpack_device__(), y._mem.shape) == ((2, number), (5,))
    with cuda.gpus[number]:
        axpy[1, 32](2.0, x, y)
        assert (y.copy_to_host() == 1 + 2 * np.arange(5)).all()
    z = np.ones(5)
    with cuda.gpus[number]:
        axpy[1, 32](2.0, np.arange(5.0), z)
    assert (z == 1 + 2 * np.arange(5)).all()
x, y = on(1, np.arange(5)), on(0, np.ones(5))
raises(ValueError, "axpy: argument 2 lies on device 1, and the launch is on device 0: select_device(1)", axpy[1, 32], 2.0, x, y)
with cuda.gpus[1]:
    raises(ValueError, "argument 3 lies on device 0, and the launch is on device 1", axpy[1, 32], 2.0, x, y)
    s = cuda.stream()
y = on(1, np.ones(5))
axpy[1, 32, s](2.0, x, y)  # a stream's launches are on its device
s.synchronize()
assert (y.copy_to_host() == 1 + 2 * np.arange(5)).all()
raises(ValueError, "argument 2 lies on device 0, and the launch is on device 1", axpy[1, 32, s], 2.0, on(0, np.ones(5)), y)
pinned = cuda.pinned_array(5)
pinned[:] = 3
with cuda.gpus[2]:  # all see it
    y = cuda.to_device(np.zeros(5))
    axpy[1, 32](1.0, pinned, y)
assert (y.copy_to_host() == 3).all()
""",
    "a long name": """
def k(x):
    x[0] = cuda.blockDim.x
k.__name__ = k.__qualname__ = "a_kernel_with_" + "a_long_name_" * 12
k.__code__ = k.__code__.replace(co_name=k.__name__)
k = cuda.jit(k)
for number in (0, 1):
    x = on(number, [0.0])
    with cuda.gpus[number]:
        k[1, 7](x)
        assert x.copy_to_host()[0] == 7
""",
    "what is raised": """
x = on(1, [1.0, 0])
with cuda.gpus[1]:
    fails[1, 1](x)
raises(ValueError, "told", cuda.synchronize)
x = on(2, [1.0, 0])
with cuda.gpus[2]:
    fails[1, 1](x)
    raises(ValueError, "told", cuda.synchronize)
ok = on(0, [0.0, 0])
fails[1, 1](ok)
cuda.synchronize()
assert ok.copy_to_host()[0] == 2
""",
    "copies": """
a = np.arange(60.0).reshape(6, 10)
with cuda.gpus[0]:
    d0 = cuda.to_device(a)
with cuda.gpus[1]:
    d1 = cuda.device_array((6, 10))
for current in range(3):
    with cuda.gpus[current]:
        d1.copy_to_device(np.zeros((6, 10)))
        d1.copy_to_device(d0)
        assert (d1.copy_to_host() == a).all()
        d1[::2, ::3] = d0[1::2, ::3]
        want = a.copy()
        want[::2, ::3] = a[1::2, ::3]
        assert (d1.copy_to_host() == want).all()
        back = cuda.device_array_like(d0)
        back.copy_to_device(d1)
        assert (back.copy_to_host() == want).all()
        s = cuda.stream()
        d0.copy_to_device(d1, stream=s)
        s.synchronize()
        assert (d0.copy_to_host() == want).all()
        d0.copy_to_device(a)
        d1[:, :4].copy_to_device(d0[:, 5:9])
        d1[:, 7].copy_to_device(d0[2, :6])
        d1[::-1, 9].copy_to_device(d0[5, 4:])
        d1[0, 0] = d0[5, 9]
        want[:, :4], want[:, 7], want[::-1, 9] = a[:, 5:9], a[2, :6], a[5, 4:]
        want[0, 0] = a[5, 9]
        assert (d1.copy_to_host() == want).all()
""",
    "the order of copies": """
gate = threading.Event()
x, y = on(1, np.ones(5)), on(1, np.zeros(5))
with cuda.gpus[1]:
    s = cuda.stream()
    axpy[1, 32, s](1.0, x, y)
    s.synchronize()
s.add_callback(lambda *_: gate.wait(30))
axpy[1, 32, s](1.0, x, y)
threading.Timer(0.1, gate.set).start()
assert (y.copy_to_host() == 2).all()  # on device 1, though device 0 is current: after what its streams were given
gate.clear()
s.add_callback(lambda *_: gate.wait(30))
axpy[1, 32, s](1.0, x, y)
threading.Timer(0.1, gate.set).start()
z = on(0, np.zeros(5))
z.copy_to_device(y)
assert (z.copy_to_host() == 3).all()
""",
    "events": """
e, f = cuda.event(), cuda.event()  # made while device 0 is current
x, y = on(1, np.arange(5)), on(1, np.ones(5))
with cuda.gpus[1]:
    s = cuda.stream()
t = cuda.stream()
e.record(s)
axpy[1, 32, s](2.0, x, y)
f.record(s)
f.wait(t)
f.synchronize()
assert f.query() and e.elapsed_time(f) >= 0
f.record(t)
f.synchronize()
f.record()
with cuda.gpus[2]:
    f.record()
    f.wait()
f.synchronize()
assert (y.copy_to_host() == 1 + 2 * np.arange(5)).all()
part = on(2, np.zeros(5))[1:4]
raises(ValueError, "argument 3 lies on device 2", axpy[1, 32], 2.0, on(0, np.ones(3)), part)
raises(ValueError, "argument 3 lies on device 2", axpy[1, 32], 2.0, on(0, np.ones(3)), cuda.devicearray.DeviceNDArray((3,), (8,), np.float64, gpu_data=part.gpu_data))
""",
    "memory": """
free = [cuda.current_context(k).get_memory_info().free for k in range(3)]
x = on(1, np.zeros(100_000))
now = [cuda.current_context(k).get_memory_info().free for k in range(3)]
assert now[0] == free[0] and now[2] == free[2] and now[1] <= free[1] - 800_000
assert x.gpu_data.device_pointer_value
with cuda.gpus[2]:
    del x
cuda.synchronize()
assert [cuda.current_context(k).get_memory_info().free for k in range(3)] == free
p = cuda.current_context(2).memalloc(1000)
assert cuda.current_context(2).get_memory_info().free < free[2]
""",
    "peers": """
c = [cuda.current_context(k) for k in range(3)]
assert c[0].can_access_peer(c[1]) and not c[0].can_access_peer(c[2])
raises(TypeError, "a context is what cuda.current_context() gives", c[0].can_access_peer, "1")
assert c[0].can_access_peer(1) and not c[0].can_access_peer(2)
x, y = on(1, np.arange(5)), on(0, np.ones(5))
raises(ValueError, "argument 2 lies on device 1", axpy[1, 32], 2.0, x, y)
c[0].enable_peer_access(c[1])
c[0].enable_peer_access(c[1])  # it may be asked for again
axpy[1, 32](2.0, x, y)
assert (y.copy_to_host() == 1 + 2 * np.arange(5)).all()
with cuda.gpus[1]:
    raises(ValueError, "argument 3 lies on device 0", axpy[1, 32], 2.0, x, y)  # not the other way round
raises(cuda.cudadrv.error.CudaSupportError, "device 0 cannot use the memory of device 2", c[0].enable_peer_access, c[2])
raises(ValueError, "flags of peer access are 0", c[0].enable_peer_access, c[1], 1)
""",
    "ufuncs and reductions": """
@vectorize(["float64(float64, float64)"], target="cuda")
def f(x, y):
    return 2 * x + y
@cuda.reduce
def add(x, y):
    return x + y
for number in (1, 0, 2):
    with cuda.gpus[number]:
        x = cuda.to_device(np.arange(100.0))
        r = f(x, 1.0)
        assert r.__dlpack_device__() == (2, number)
        assert (r.copy_to_host() == 2 * np.arange(100.0) + 1).all()
        assert (f(np.arange(100.0), 1.0) == 2 * np.arange(100.0) + 1).all()
        assert add(x) == 4950
""",
    "threads": """
done = []
def work(number):
    cuda.select_device(number)
    own = cuda.per_thread_default_stream()
    for n in range(20):
        x, y = cuda.to_device(np.full(50, float(n)), stream=own), cuda.to_device(np.zeros(50), stream=own)
        axpy[2, 32, own](3.0, x, y)
        out = y.copy_to_host(stream=own)
        own.synchronize()
        assert (out == 3 * n).all()
    assert cuda.get_current_device().id == number
    done.append(number)
all_ = [threading.Thread(target=work, args=(k % 3,)) for k in range(6)]
[t.start() for t in all_]
[t.join() for t in all_]
assert sorted(done) == [0, 0, 1, 1, 2, 2]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_three(name):
    done = start(PRELUDE + PROGRAMS[name], TREADLE_FAKE_GPUS="90,80,75")
    assert done.returncode == 0, done.stderr


def test_the_first_is_too_old():
    code = """
    assert cuda.get_current_device().id == 1
    x = cuda.to_device(np.zeros(3))
    axpy[1, 32](1.0, x, x)
    assert x.__dlpack_device__() == (2, 1)
    raises(RuntimeError, "device 0: the GPU has compute capability 6.0", cuda.select_device, 0)
    """
    done = start(PRELUDE + textwrap.dedent(code), TREADLE_FAKE_GPUS="60,90")
    assert done.returncode == 0, done.stderr


def test_one_that_is_too_old():
    code = """
    assert not cuda.gpus[1].compute_capability >= (7, 5)
    raises(RuntimeError, "device 1: the GPU has compute capability 6.1, and Treadle makes code for 7.5", cuda.select_device, 1)
    assert cuda.get_current_device().id == 0
    with cuda.gpus[0]:
        y = cuda.to_device(np.zeros(3))
        axpy[1, 32](1.0, y, y)
    cuda.detect()
    """
    done = start(PRELUDE + textwrap.dedent(code), TREADLE_FAKE_GPUS="90,61")
    assert done.returncode == 0, done.stderr
    assert "[NOT SUPPORTED]" in done.stdout and "1/2 devices are supported" in done.stdout
