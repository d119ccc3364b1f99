"""What test_typing.py has type-checked: programs with kernels. Nobody runs it. A line that ends with "refused" as a comment is a mistake that a checker tells of, and no other
line is one; "is T" as a comment says what a checker takes the line's expression for.
"""

from typing import Any, reveal_type

import numpy as np
from treadle import cuda, float32
from treadle.cuda import DeviceNDArray, In, InOut, Out, atomic, shared
from treadle.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

# --- kernels and functions of a device ---


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit("void(float64[:])", fastmath=True, cache=True, max_registers=32)
def declared(x):
    x[0] = 1


@cuda.jit([(float32[:],), "void(int64[:])"], debug=True, boundscheck=True)
def several(x):
    x[0] = 1


@cuda.jit(device=True, inline=True)
def twice(x: float) -> float:
    return 2 * x


@cuda.jit("float64(float64)", device=True)
def thrice(x: float) -> float:
    return 3 * x


@cuda.jit(lineinfo=True, launch_bounds=(128, 2), fma=False, opt=True)
def typed(x: Any, n: int) -> None:
    i, j = cuda.grid(2)
    reveal_type(cuda.grid(1))  # is int
    reveal_type(cuda.gridsize(3))  # is tuple[int, int, int]
    reveal_type(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)  # is int
    tile = cuda.shared.array((16, 16), np.float32)
    reveal_type(tile)  # is numpy.ndarray[Any, Any]
    own = cuda.local.array(4, float32)
    more = shared.array(shape=0, dtype="f8")
    fixed = cuda.const.array_like(np.arange(3))
    tile[cuda.threadIdx.x, cuda.threadIdx.y] = twice(1.0) + own[0] + more[0] + fixed[0]
    cuda.syncthreads()
    old = cuda.atomic.add(x, (i, j), 1)
    old = atomic.cas(tile, (0, 0), 1, old)
    atomic.max(tile, cuda.threadIdx.x, 2.5)
    lane: int = cuda.laneid
    both = cuda.selp(lane > 1, 1.0, 2.0)
    reveal_type(cuda.shfl_down_sync(0xFFFFFFFF, both, 1))  # is float
    reveal_type(cuda.match_all_sync(0xFFFFFFFF, lane))  # is tuple[int, bool]
    reveal_type(cuda.popc(lane) + cuda.syncthreads_count(i < n))  # is int
    reveal_type(cuda.fp16.hfma(1, 2.0, np.float16(3)))  # is numpy.floating[numpy._typing._nbit_base._16Bit]
    reveal_type(cuda.fp16.hlt(1, 2.0))  # is bool
    cuda.cg.this_grid().sync()
    cuda.grid(4)  # refused
    cuda.syncthreads(1)  # refused
    cuda.shared.array(3)  # refused
    cuda.shared.array("x", np.float32)  # refused
    cuda.local.array(3, 3.5)  # refused
    cuda.atomic.add(tile, 0)  # refused
    cuda.atomic.add(tile, 1.5, 1)  # refused
    cuda.atomic.add(3, 0, 1)  # refused
    cuda.atomic.plus(tile, 0, 1)  # refused
    cuda.threadIdx.w  # refused
    twice("x")  # refused


# --- launches ---

s = cuda.stream()
d = cuda.to_device(np.ones(4), stream=s)
reveal_type(axpy)  # is treadle.cuda._kernel.Kernel[[a: Any, x: Any, y: Any]]
reveal_type(axpy[1, 2])  # is treadle._core.Launcher[[a: Any, x: Any, y: Any]]
reveal_type(twice)  # is treadle._core.Function[[x: float], float]
reveal_type(thrice(2.0))  # is float
axpy[1, 32](2.0, np.ones(3), d)
axpy[(1, 1), (8, 8), s](2.0, In(np.ones(3)), Out(np.ones(3)))
axpy[1, np.int64(32), 0, 1024](2.0, d, InOut(np.ones(3)))
axpy[1, 32, None](2.0, d, d)
declared[1, 1](d)
several[[1, 1], (1,)](d)
typed[(1,), [8], s, 0](d, 4)
axpy.forall(d.size, tpb=64, stream=s)(2.0, d, d)
axpy.configure(1, 2, stream=s)(2.0, d, d)
axpy.specialize(2.0, d, d)[1, 2](2.0, d, d)
axpy(2.0, d, d)  # refused
axpy[1](2.0, d, d)  # refused
axpy[1, 2](2.0, d)  # refused
axpy[1, 2](2.0, d, d, d)  # refused
axpy[1, "2"](2.0, d, d)  # refused
axpy[1, 2.5](2.0, d, d)  # refused
axpy[1, 2, 5](2.0, d, d)  # refused
axpy[1, 2, s, "8"](2.0, d, d)  # refused
axpy[1, 2, s, 0, 0](2.0, d, d)  # refused
axpy[(1, 2, 3, 4), 2](2.0, d, d)  # refused
typed[1, 2](d, "n")  # refused
axpy.forall("3")  # refused
cuda.jit(fastmaths=True)  # refused
cuda.jit(device="yes")  # refused
cuda.jit(inline="sometimes")  # refused
cuda.jit(max_registers="many")  # refused

# --- arrays ---

reveal_type(d)  # is treadle.cuda._array.DeviceNDArray
reveal_type(d.shape)  # is tuple[int, ...]
reveal_type(d.dtype)  # is numpy.dtype[Any]
reveal_type(d.size + d.nbytes)  # is int
reveal_type(d.copy_to_host())  # is numpy.ndarray[Any, Any]
reveal_type(d.reshape(2, 2).T.ravel("F").view(np.int8))  # is treadle.cuda._array.DeviceNDArray
reveal_type(cuda.device_array((2, 3), "f4", order="F"))  # is treadle.cuda._array.DeviceNDArray
reveal_type(cuda.as_cuda_array(d))  # is treadle.cuda._array.DeviceNDArray
reveal_type(cuda.mapped_array(3, dtype="i4"))  # is treadle.cuda._array.MappedNDArray
reveal_type(cuda.managed_array(3))  # is treadle.cuda._array.ManagedNDArray
reveal_type(cuda.pinned_array((2, 2)))  # is numpy.ndarray[Any, Any]
reveal_type(cuda.to_device(np.void(b"abc")))  # is treadle.cuda._array.DeviceRecord
out = np.empty(4)
reveal_type(d.copy_to_host(out, stream=s))  # is numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]
cuda.device_array_like(d, stream=s).copy_to_device(d)
d[0] = d[1]
for item in d:
    print(item)
with cuda.pinned(out), cuda.defer_cleanup():
    pass
states = create_xoroshiro128p_states(10, seed=1)
given: DeviceNDArray = states
xoroshiro128p_uniform_float32(states, 0)
d.copy_to_host([1, 2])  # refused
d.copy_to_host(stream="s")  # refused
d.nothing  # refused
d.shape = (2, 2)  # refused
cuda.device_array(3, dtype=np.int32, order="Z")  # refused
cuda.device_array("3")  # refused
cuda.to_device(np.ones(3), stream=7)  # refused
cuda.nothing  # refused

# --- streams, events, devices ---

s.synchronize()
with s.auto_synchronize() as same:
    reveal_type(same)  # is treadle.cuda._stream.Stream
s.add_callback(lambda stream, status, arg: None, 3)
e0, e1 = cuda.event(), cuda.event(timing=False)
e0.record(s)
e1.record()
e1.wait(stream=s)
reveal_type(e0.elapsed_time(e1))  # is float
reveal_type(cuda.event_elapsed_time(e0, e1))  # is float
with cuda.gpus[0]:
    reveal_type(cuda.get_current_device().compute_capability)  # is tuple[int, int]
reveal_type(cuda.current_context().get_memory_info().free)  # is int
reveal_type(cuda.current_context().create_stream())  # is treadle.cuda._stream.Stream
reveal_type(cuda.is_available())  # is bool
e0.record("s")  # refused
e0.elapsed_time(1)  # refused
s.wait()  # refused
cuda.select_device("first")  # refused
