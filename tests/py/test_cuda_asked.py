"""What numba-cuda's own tests ask of kernels and of the device: each is a program of ours that does the same."""

from __future__ import annotations

import enum
import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import treadle
from fake_gpu import start
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import cuda, float32, int64, njit, uint32


def run_as_numba(tmp_path, text: str) -> str:
    """What the program prints, under `python -m treadle run`."""
    path = tmp_path / "program.py"
    path.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "treadle", "run", str(path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- sizes that are handed on ---


@cuda.jit(device=True)
def turned(a, n, dtype):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(n, dtype)
    tile[t] = a[t]
    cuda.syncthreads()
    a[t] = tile[n - 1 - t]


def handed_on(a, dtype, shape=(4, 8)):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile = cuda.shared.array(dtype=dtype, shape=shape)
    tile[x, y] = a[y, x]
    cuda.syncthreads()
    a[y, x] = tile[shape[0] - 1 - x, y]


def test_a_helper_is_given_the_size_of_a_shared_array() -> None:
    @cuda.jit
    def kernel(a, b):
        turned(a, 32, uint32)
        if cuda.blockDim.x == 16:
            turned(b, 16, float32)  # another size, another instance

    a, b = np.arange(32, dtype=np.uint32), np.arange(32, dtype=np.float32)
    kernel[1, 32](a, b)
    assert np.array_equal(a, np.arange(31, -1, -1)) and np.array_equal(b, np.arange(32))
    kernel[1, 16](np.zeros(32, np.uint32), b)
    assert np.array_equal(b, [*range(15, -1, -1), *range(16, 32)])
    text, _ = cuda.compile_ptx(kernel, "void(uint32[::1], float32[::1])", cc=(8, 0))
    assert {line.split("[")[1] for line in text.splitlines() if ".shared" in line and "[" in line} >= {
        "128];",
        "64];",
    }


def test_sizes_go_through_several_functions_tuples_names_and_defaults() -> None:
    def middle(a, n, *, m, dtype):
        handed_on(a, dtype, shape=(n, m))

    @cuda.jit
    def kernel(a, b):
        middle(a, 4, m=8, dtype=float32)
        handed_on(b, int64)

    a, b = np.arange(32, dtype=np.float32).reshape(8, 4), np.arange(32).reshape(8, 4)
    kernel[1, (4, 8)](a, b)
    want = np.arange(32).reshape(8, 4)[:, ::-1]
    assert np.array_equal(a, want) and np.array_equal(b, want)


def test_a_helper_says_how_many_axes_a_grid_has() -> None:
    def place(n):
        return cuda.grid(n)

    @cuda.jit
    def kernel(a, b):
        i, j = place(2)
        a[i, j] += 1
        b[place(1)] = i

    a, b = np.zeros((4, 3)), np.zeros(4)
    kernel[(2, 1), (2, 3)](a, b)
    assert np.all(a == 1) and np.array_equal(b, np.arange(4))


def test_a_size_that_only_the_launch_knows_is_refused() -> None:
    kernel = cuda.jit(lambda a, n: turned(a, n, uint32))
    with pytest.raises(treadle.errors.TypingError, match="known when the kernel is compiled"):
        kernel[1, 32](np.arange(32, dtype=np.uint32), 32)


# --- atomics ---


@settings(deadline=None, max_examples=20)
@given(
    op=st.sampled_from(["add", "inc", "dec", "max", "exch"]),
    kinds=st.tuples(*2 * [st.sampled_from([np.int32, np.uint32, np.int64, np.uint64, np.uint8])]),
    val=st.integers(0, 9),
)
def test_atomics_take_indices_of_mixed_integer_types(op, kinds, val) -> None:
    first, second = (treadle.as_type(k) for k in kinds)
    atomic = getattr(cuda.atomic, op)

    @cuda.jit
    def kernel(a, old, v):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        old[x, y] = atomic(a, (first(x), second(y)), v)

    a = np.arange(12, dtype=np.uint32).reshape(3, 4)
    was, old = a.copy(), np.zeros_like(a)
    kernel[1, (3, 4)](a, old, np.uint32(val))
    want = {
        "add": was + val,
        "inc": np.where(was >= val, 0, was + 1),
        "dec": np.where((was == 0) | (was > val), val, was - 1),
        "max": np.maximum(was, val),
        "exch": np.full_like(was, val),
    }[op]
    assert np.array_equal(a, want) and np.array_equal(old, was)


MIXED = """
import numpy as np
from numba import cuda, uint64

@cuda.jit(device=True)
def bump(a, op, wrapped):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    at = (x, uint64(y))
    if wrapped:
        at = (at[0] % a.shape[0], at[1] % a.shape[1])
    op(a, at, 1)

@cuda.jit("void(int64[:,:])")
def kernel(a):
    bump(a, cuda.atomic.add, False)
    bump(a, cuda.atomic.sub, True)
    bump(a, cuda.atomic.add, True)

a = np.arange(12).reshape(3, 4)
kernel[1, (3, 4)](a)
assert np.array_equal(a, np.arange(1, 13).reshape(3, 4)), a
"""


def test_an_index_that_paths_made_a_float_is_numbas(tmp_path) -> None:
    run_as_numba(tmp_path, MIXED)


def test_elsewhere_a_float_is_no_index_of_an_atomic() -> None:
    kernel = cuda.jit(lambda a, x: cuda.atomic.add(a, x, 1))
    with pytest.raises(treadle.errors.TypingError, match="cannot be indexed with float64"):
        kernel[1, 1](np.zeros(3, np.int64), 1.0)


# --- vectors ---

VECTORS = """
int8x1 int8x2 int8x3 int8x4 char1 char2 char3 char4
int16x1 int16x2 int16x3 int16x4 short1 short2 short3 short4
int32x1 int32x2 int32x3 int32x4 int1 int2 int3 int4
int64x1 int64x2 int64x3 int64x4 long1 long2 long3 long4 longlong1 longlong2 longlong3 longlong4
uint8x1 uint8x2 uint8x3 uint8x4 uchar1 uchar2 uchar3 uchar4
uint16x1 uint16x2 uint16x3 uint16x4 ushort1 ushort2 ushort3 ushort4
uint32x1 uint32x2 uint32x3 uint32x4 uint1 uint2 uint3 uint4
uint64x1 uint64x2 uint64x3 uint64x4 ulong1 ulong2 ulong3 ulong4 ulonglong1 ulonglong2 ulonglong3 ulonglong4
float32x1 float32x2 float32x3 float32x4 float1 float2 float3 float4
float64x1 float64x2 float64x3 float64x4 double1 double2 double3 double4
"""
DTYPES = [line.split("x1")[0] for line in VECTORS.split("\n") if line]


@pytest.mark.parametrize("line", VECTORS.split("\n")[1:-1])
def test_vectors_have_numbas_names_and_cudas(line) -> None:
    dtype = line.split("x1")[0]
    for k, name in enumerate(line.split()):
        n = k % 4 + 1
        cls = getattr(cuda, name)
        assert cls is getattr(cuda, f"{dtype}x{n}") and name in {cls.__name__, *cls.aliases}
        made = njit(lambda *v: cls(*v))(*range(n))
        assert type(made) is cls and made == cls(*range(n)) == tuple(range(n))
        assert {v.dtype for v in made} == {np.dtype(dtype)} and made._fields == tuple("xyzw"[:n])


def parts_of(total: int):
    """Ways to put a vector together: numbers, and vectors of other types."""
    dtypes = st.sampled_from(DTYPES)
    part = st.one_of(
        st.integers(-3, 300), st.floats(-100, 100, width=32), st.tuples(dtypes, st.integers(1, total))
    )
    return st.lists(part, min_size=1, max_size=total)


@settings(deadline=None, max_examples=40)
@given(dtype=st.sampled_from(DTYPES), n=st.integers(1, 4), parts=parts_of(4))
def test_compiled_vectors_are_made_as_the_hosts(dtype, n, parts) -> None:
    cls = getattr(cuda, f"{dtype}x{n}")
    given_ = tuple(
        getattr(cuda, f"{p[0]}x{p[1]}")(*range(p[1])) if isinstance(p, tuple) else p for p in parts
    )
    if dtype.startswith("u"):  # what a negative float becomes there is the processor's
        given_ = tuple(abs(p) if isinstance(p, float) else p for p in given_)
    if dtype in ("int8", "uint8") and any(isinstance(p, float) and p > 127 for p in given_):
        return

    def make(v):
        return cls(*v)

    try:
        want = make(given_)
    except TypeError as e:
        with pytest.raises(treadle.errors.TypingError, match="alone or in vectors") as told:
            njit(make)(given_)
        assert str(e) in str(told.value)
        return
    got = njit(make)(given_)
    assert type(got) is cls and got == want and [type(x) for x in got] == [type(x) for x in want]


def mixed(a, v):
    w = cuda.float32x4(v.z, cuda.short2(2.5, 300), a[0])
    i = 0
    for one in (w, v):
        a[i] = one.x
        a[i + 1] = one.y
        a[i + 2] = one.z
        a[i + 3] = one.w
        i += 4


def test_a_kernel_takes_a_vector_and_makes_others() -> None:
    a = np.full(8, 9.5)
    cuda.jit(mixed)[1, 1](a, cuda.float4(1, cuda.int2(2, 3), 4.5))
    assert np.array_equal(a, [3, 2, 300, 9.5, 1, 2, 3, 4.5])
    kinds = treadle.types.NamedTuple((float32,) * 4, cuda.float4)
    assert cuda.compile_ptx(mixed, treadle.void(treadle.float64[::1], kinds), cc=(8, 0))[0]


def test_a_vector_is_pickled_shown_and_told() -> None:
    v = cuda.uchar3(1, 2, 255)
    assert pickle.loads(pickle.dumps(v)) == v and type(pickle.loads(pickle.dumps(v))) is cuda.uint8x3
    assert repr(v) == "uint8x3(x=1, y=2, z=255)" and cuda.uint8x3.aliases == ("uchar3",)
    assert (v.x, v.y, v.z) == (1, 2, 255) and cuda.int4(1, 2, 3, 4).w == 4


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: cuda.float4(1, 2, 3), r"float32x4\(\) takes 4 numbers, alone or in vectors, and not 3"),
        (lambda: cuda.int1(), r"int32x1\(\) takes 1 number, alone or in vectors, and not 0"),
        (lambda: cuda.float2("a", 1), r"float32x2\(\) takes numbers and vectors of them, not"),
        (lambda: cuda.float2((1, 2)), r"float32x2\(\) takes numbers and vectors of them, not"),
        (lambda: cuda.float2(1j, 2), r"float32x2\(\) takes numbers and vectors of them, not"),
    ],
)
def test_what_makes_no_vector_is_told(make, text) -> None:
    with pytest.raises(TypeError, match=text):
        make()
    with pytest.raises(treadle.errors.TypingError, match=text):
        njit(make)()


def test_numbas_list_of_vectors(tmp_path) -> None:
    run_as_numba(
        tmp_path,
        """
from numba import cuda
from numba.cuda.vector_types import vector_types
assert len(vector_types) == 40
one = vector_types["float32x3"]
assert (one.name, one.num_elements, one.base_type) == ("float32x3", 3, cuda.float32)
assert one.user_facing_object is cuda.float3
""",
    )


# --- what is linked ---


def recording(fail: bool = False):
    """Callbacks, and what they were called with."""
    up: list[cuda.LoadedCode] = []
    down: list[cuda.LoadedCode] = []

    def setup(code):
        if fail:
            raise KeyError("no")
        up.append(code)

    return up, down, {"setup_callback": setup, "teardown_callback": down.append}


def test_callbacks_of_what_is_linked_are_called_once_for_each_signature() -> None:
    up, down, callbacks = recording()

    @cuda.jit(link=cuda.CUSource("", **callbacks))
    def kernel(x):
        pass

    assert up == []
    for x in (1, 2, 3.0, 4):
        kernel[1, 1](x)
        kernel[2, 2](x)
    assert [(c.name, c.signature) for c in up] == [("kernel", (int64,)), ("kernel", (treadle.float64,))]
    assert len({c.handle for c in up}) == 2 and down == [] and "of kernel(int64)>" in repr(up[0])
    cuda.current_context().reset()
    assert down == up[::-1]
    cuda.current_context().reset()
    assert len(down) == 2


def test_callbacks_end_with_the_kernel() -> None:
    up, down, callbacks = recording()
    kernel = cuda.jit(link=[cuda.CUSource("", **callbacks)])(lambda: None)
    kernel[1, 1]()
    assert len(up) == 1 and down == []
    del kernel
    gc.collect()
    assert down == up


@pytest.mark.parametrize("inside", [False, True])
def test_a_declared_function_has_its_callbacks_whoever_calls_it(inside) -> None:
    up, _, callbacks = recording()
    text = 'extern "C" int twice(int *r, int x) { *r = 2 * x; return 0; }'
    twice = cuda.declare_device("twice", "int32(int32)", link=cuda.CUSource(text, **callbacks))

    @cuda.jit(device=True)
    def helper(x):
        return twice(x)

    called = helper if inside else twice

    @cuda.jit
    def kernel(a):
        a[0] = called(a[0])

    a = np.array([21], np.int32)
    kernel[1, 1](a)
    assert a[0] == 42 and len(up) == 1


def test_what_a_callback_raises_is_the_launchs_and_others_are_undone() -> None:
    up, down, callbacks = recording()
    _, _, fails = recording(fail=True)
    links = [cuda.CUSource("", **callbacks), cuda.CUSource(" ", **fails)]
    kernel = cuda.jit(link=links)(lambda a: None)
    for n in (1, 2):
        with pytest.raises(KeyError):
            kernel[1, 1](1)
        assert len(up) == len(down) == n and up[-1] is down[-1]


def test_an_end_that_raises_keeps_no_other_from_ending() -> None:
    ended = []

    def refuses(code):
        ended.append(code.name)
        raise KeyError(code.name)

    def linked(*callbacks):
        return cuda.jit(link=[cuda.CUSource(" " * k, teardown_callback=f) for k, f in enumerate(callbacks)])

    @linked(lambda code: ended.append("first"), refuses, refuses)
    def kernel(x):
        pass

    @linked(refuses)
    def other(x):
        pass

    kernel[1, 1](1)
    other[1, 1](1)
    with pytest.raises(KeyError):
        cuda.current_context().reset()
    assert sorted(ended) == ["first", "kernel", "kernel", "other"]
    cuda.current_context().reset()
    assert len(ended) == 4


def test_threads_set_up_once() -> None:
    up, _, callbacks = recording()
    seen = []

    @cuda.jit(link=cuda.CUSource("", **callbacks))
    def kernel(a):
        a[0] += 1

    def launch():
        for x in (np.zeros(1), np.zeros(1, np.int64)):
            kernel[1, 1](x)
            seen.append(x[0])

    threads = [threading.Thread(target=launch) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(up) == 2 and seen == [1] * 8


def test_a_file_that_is_not_there_is_a_linkers_error(tmp_path) -> None:
    from treadle.cuda.cudadrv.driver import LinkerError
    from treadle.cuda.cudadrv.linkable_code import LinkableCode

    for make in (lambda p: cuda.jit("void()", link=p), LinkableCode.from_path, LinkableCode.from_path_or_obj):
        with pytest.raises(LinkerError, match=r"nothing\.a not found") as told:
            make("nothing.a")
        assert isinstance(told.value, FileNotFoundError)
    source = cuda.CUSource("int x;")
    assert LinkableCode.from_path_or_obj(source) is source
    (tmp_path / "x.cu").write_text("int x;")
    assert isinstance(LinkableCode.from_path(tmp_path / "x.cu"), cuda.CUSource)
    run_as_numba(
        tmp_path,
        """
from numba import cuda
from numba.cuda.cudadrv.driver import LinkerError
from numba.cuda.cudadrv.linkable_code import CUSource, LinkableCode
assert issubclass(CUSource, LinkableCode)
lazy = cuda.jit(link="nothing.a")(lambda: None)
try:
    cuda.jit("void()", link="nothing.a")(lambda: None)
except LinkerError as e:
    assert e.args == ("nothing.a not found",)
else:
    raise AssertionError("a signature is compiled at once")
""",
    )


def test_the_source_beside_a_gpus_code_is_the_emulated_devices(tmp_path) -> None:
    (tmp_path / "f.ptx").write_text(".version 7.0")
    with pytest.raises(treadle.errors.UnsupportedError, match="give the CUDA C that it is made of"):
        cuda.jit(lambda a: add_one_to(a), link=str(tmp_path / "f.ptx"))[1, 1](np.zeros(1, np.int32))
    text = 'extern "C" __device__ int add_one(int *r, int x) { *r = x + 1; return 0; }'
    (tmp_path / "f.cu").write_text(text)

    @cuda.jit(link=str(tmp_path / "f.ptx"))
    def kernel(a):
        a[0] = add_one(a[0])

    a = np.array([41], np.int32)
    with pytest.warns(UserWarning, match=r"f\.ptx is a GPU's: on the emulated device .*f\.cu is compiled"):
        kernel[1, 1](a)
    assert a[0] == 42


add_one = cuda.declare_device("add_one", "int32(int32)")


def add_one_to(a):
    a[0] = add_one(a[0])


def test_a_kernel_of_one_signature_tells_numbers_not_a_dict() -> None:
    declared = cuda.jit("void(float32[::1])")(lambda a: None)
    several = cuda.jit(["void(float32[::1])", "void(float64[::1])"])(lambda a: None)
    assert declared.specialized and not several.specialized
    assert declared.get_max_potential_block_size()[1] == 1024
    assert len(several.get_max_potential_block_size()) == 2 and ".entry" in declared.ptx
    with pytest.raises(RuntimeError, match="specialized already"):
        declared.specialize(np.zeros(1, np.float32))


# --- what kernels take ---


class Color(enum.Enum):
    RED = "r"
    GREEN = "g"


class Level(enum.IntEnum):
    LOW = 3
    HIGH = 700


def choose(high):
    return Level.HIGH if high else Level.LOW


PROGRAM = """
import enum
import numpy as np
from treadle import cuda

class Color(enum.Enum):
    RED = "r"
    GREEN = "g"

class Level(enum.IntEnum):
    LOW = 3
    HIGH = 700

@cuda.jit(device=True)
def choose(high):
    return Level.HIGH if high else Level.LOW

@cuda.jit
def kernel(color, level, dtype, out):
    tile = cuda.shared.array(2, dtype)
    tile[0] = out[0]
    out[0] = color == Color.RED
    out[1] = color is not Color.GREEN
    out[2] = level
    out[3] = tile[0]
    out[4] = choose(level == Level["LOW"])

for color, level, dtype in ((Color.RED, Level.HIGH, np.int32), (Color.GREEN, Level.LOW, np.float32)):
    out = np.full(5, 2.75)
    kernel[1, 1](color, level, dtype, out)
    red, low = color is Color.RED, level is Level.LOW
    want = [red, red, level, 2 if dtype is np.int32 else 2.75, 700 if low else 3]
    assert out.tolist() == want, (out, want)
assert [len(types) for types in kernel.signatures] == [4, 4]

@cuda.jit
def differences(a, b, at, step, out, same):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[i] = b[i] - a[i] + step
        same[i] = a[i] == at

for unit in "YMDhs":
    a = np.arange(20).astype(f"M8[{unit}]")
    b = a[::-1].copy()
    a[3] = "NaT"
    step = np.timedelta64(2, unit)
    out, same = np.zeros(20, f"m8[{unit}]"), np.zeros(20, np.bool_)
    for bring in (lambda x: x, cuda.to_device):
        arrays = [bring(x) for x in (a, b, out, same)]
        differences[2, 4](arrays[0], arrays[1], a[5], step, *arrays[2:])
        got = [x.copy_to_host() if hasattr(x, "copy_to_host") else x for x in arrays[2:]]
        assert np.array_equal(got[0], b - a + step, equal_nan=True) and np.array_equal(got[1], a == a[5])
print("well")
"""


@pytest.mark.parametrize("where", ["here", "gpu"])
def test_kernels_take_members_of_enums_dtypes_and_dates(where) -> None:
    if where == "here":
        exec(PROGRAM, {"__name__": "program"})
        return
    done = start(PROGRAM)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


def test_enums_are_indexed_by_names() -> None:
    f = njit(lambda a: (Level["HIGH"] + a, Color["RED"] is Color.RED, Color["RED"] == Color["GREEN"]))
    assert f(1) == (701, True, False)
    with pytest.raises(treadle.errors.TypingError, match="cannot be indexed"):
        njit(lambda: Level["NONE"])()


def test_strings_and_functions_are_no_arguments_of_kernels() -> None:
    for bad in ("text", choose):
        with pytest.raises((TypeError, treadle.errors.TypingError), match="kernel takes|do not take"):
            cuda.jit(lambda a: None)[1, 1](bad)


def test_the_type_of_a_tuple_with_constants_tells_its_items() -> None:
    kind = treadle.typeof((np.float32, 1))
    assert [str(t) for t in kind.types] == ["class(float32)", "int64"]


# --- memory, records, debug ---


def test_memory_by_the_byte_says_whose_it_is() -> None:
    from treadle.cuda.cudadrv import driver

    context = cuda.current_context()
    for memory in (context.memalloc(64), context.memhostalloc(64, mapped=True), context.memallocmanaged(64)):
        driver.require_device_memory(memory)
        part = memory.view(16)
        assert int(part.handle) == int(memory.handle) + 16 == part.device_ctypes_pointer.value
        assert part.owner is memory and part.view(8, 16).owner is memory and memory.owner is memory
        assert memory.own() == memory and memory.own().owner is memory
        kept = memory.own()
        del memory, part
        driver.device_memset(kept, 7, 64)
        read = np.zeros(64, np.uint8)
        driver.device_to_host(read, kept, 64)
        assert np.all(read == 7)
    with pytest.raises(TypeError, match="memory of the device is needed"):
        driver.require_device_memory(np.zeros(3))
    a = np.arange(12.0).reshape(3, 4)[:, ::2]
    at = a.__array_interface__["data"][0]
    assert driver.host_memory_extents(a) == (at, at + 2 * 32 + 24)
    assert int(cuda.device_array(0).device_ctypes_pointer) == 0


def test_a_device_record_has_the_type_of_its_dtype() -> None:
    from treadle.cuda.cudadrv.devicearray import auto_device, from_record_like

    dtype = np.dtype([("a", np.int32), ("b", np.float32)], align=True)
    host = np.zeros(1, dtype)[0]
    host["a"] = 4
    made, new = auto_device(host)
    assert new and made._numba_type_ == treadle.as_type(dtype) and made["a"] == 4
    other = from_record_like(made)
    assert other._numba_type_ == made._numba_type_ and other.gpu_data != made.gpu_data
    assert other.alloc_size == dtype.itemsize and other.shape == other.strides == ()


@pytest.mark.parametrize("expression", ["y[0] / x[0]", "1 // n", "n % n", "helper(y[0], x[0])"])
def test_debug_raises_on_division_by_zero(expression) -> None:
    names = {"helper": lambda a, b: a / b}
    exec(f"def f(r, x, y, n):\n    r[0] = {expression}\n    r[1] = y[0]\n", names)
    r, x, y = np.zeros(2), np.zeros(1), np.ones(1)
    cuda.jit(names["f"])[1, 1](r, x, y, 0)
    assert r[1] == 1
    r[:] = 0
    with pytest.raises(ZeroDivisionError):
        cuda.jit(names["f"], debug=True)[1, 1](r, x, y, 0)
    assert np.array_equal(r, [0, 0])
    cuda.jit(names["f"], debug=True, fastmath=True)[1, 1](r, x, y, 0)
    assert r[1] == 1


def test_names_that_ask_for_nothing_under_numbas(tmp_path) -> None:
    run_as_numba(
        tmp_path,
        """
import numpy as np
from numba import cuda
from numba.core import errors
from numba.cuda.tests.support import override_config

from numba import types
assert types.int8 in types.signed_domain and types.uint8 not in types.signed_domain
assert types.integer_domain == types.signed_domain | types.unsigned_domain and types.float32 in types.real_domain
assert len(types.number_domain) == 12
from numba.np.numpy_support import numpy_version
assert np.__version__.startswith("%d.%d." % numpy_version)
assert not cuda.is_bfloat16_supported() and cuda.is_fp16_supported()
for name in "DebugInfo InvalidConfig Performance ParallelSafety TypeSafety".split():
    assert issubclass(getattr(errors, f"Numba{name}Warning"), Warning)
for carveout in ("MaxL1", "MaxShared", "default", 0, 100, -1, None):
    @cuda.jit(shared_memory_carveout=carveout, forceinline=True)
    def kernel(a):
        a[0] += 1
    a = np.zeros(1)
    kernel[1, 1](a)
    assert a[0] == 1
for carveout, text in ((150, "between -1 and 100"), ("most", "Invalid carveout value")):
    try:
        cuda.jit(shared_memory_carveout=carveout)(lambda: None)
    except ValueError as e:
        assert text in str(e)
    else:
        raise AssertionError
from numba import config
with override_config("CUDA_WARN_ON_IMPLICIT_COPY", 1):
    from numba.cuda.core import config as inside
    assert inside.CUDA_WARN_ON_IMPLICIT_COPY == 1
""",
    )


# --- records, constants, what compiled code is asked for ---


@settings(deadline=None, max_examples=15)
@given(
    kinds=st.lists(st.sampled_from(["i1", "i4", "f4", "f8", "c16"]), min_size=1, max_size=4),
    align=st.booleans(),
    declared=st.booleans(),
    given_=st.booleans(),
)
def test_a_declared_record_array_takes_recarrays_and_others(kinds, align, declared, given_) -> None:
    dtype = np.dtype([(f"f{k}", kind) for k, kind in enumerate(kinds)], align=align)

    def rows(as_records):
        made = np.zeros(3, dtype)
        made["f0"] = [1, 2, 3]
        return made.view(np.dtype((np.record, dtype))) if as_records else made

    of = treadle.typeof(rows(declared)).dtype

    def grow(a):
        for i in range(a.size):
            a[i].f0 = a[i].f0 + 1

    kernel, compiled = cuda.jit((of[:],))(grow), njit((of[:],))(grow)
    called = njit(lambda a: compiled(a))
    for run in (kernel[1, 1], compiled, called):
        a = rows(given_)
        run(a)
        assert np.array_equal(a["f0"], [2, 3, 4])


def test_records_of_other_fields_are_no_declared_ones() -> None:
    of = treadle.typeof(np.zeros(1, [("a", "i4"), ("b", "f4")])).dtype
    f = njit((of[:],))(lambda a: None)
    for other in ([("a", "i4"), ("c", "f4")], [("a", "f4"), ("b", "i4")], [("a", "i4")]):
        with pytest.raises(TypeError, match="no (matching )?signature"):
            f(np.zeros(1, other))


ROWS = np.array([(1, 2.5), (3, 4.5)], dtype=[("n", np.uint8), ("x", np.float64)])
DAYS = np.array(["2001-01-01", "NaT", "2026-11-30"], "M8[D]")


def test_arrays_of_records_and_dates_are_constants() -> None:
    @cuda.jit
    def kernel(x, day):
        rows, days = cuda.const.array_like(ROWS), cuda.const.array_like(DAYS)
        i = cuda.grid(1)
        x[i] = rows[i % 2].x + rows[i % 2].n
        day[i] = days[i]

    x, day = np.zeros(3), np.zeros(3, "M8[D]")
    kernel[1, 3](x, day)
    assert np.array_equal(x, [3.5, 7.5, 3.5]) and np.array_equal(day, DAYS, equal_nan=True)
    assert cuda.compile_ptx(kernel.py_func, kernel.signatures[0], cc=(8, 0))[0]


def test_a_kernel_is_specialized_for_types() -> None:
    def grow(a, n):
        a[0] += n

    kernel = cuda.jit(grow)
    special = kernel.specialize(float32[::1], int64)
    assert special is kernel.specialize(np.zeros(1, np.float32), 4) and special.specialized
    assert special.signatures == [(float32[::1], int64)]


class FFI:
    """What compiled code sees of cffi's."""

    __module__ = "cffi.api"

    def from_buffer(self, cdecl, python_buffer=None):
        raise AssertionError("compiled code has its own")


@pytest.mark.parametrize("with_type", [False, True])
def test_from_buffer_of_cffi_is_a_pointer_to_an_array(with_type) -> None:
    ffi = FFI()
    text = 'extern "C" __device__ int total(int *r, int n, int *p) { *r = 0; for (int i = 0; i < n; i++) *r += p[i]; return 0; }'
    total = cuda.declare_device("total", "int32(int32, CPointer(int32))", link=cuda.CUSource(text))

    @cuda.jit
    def kernel(a, out):
        p = ffi.from_buffer("int[]", a) if with_type else ffi.from_buffer(a)
        out[0] = total(a.size, p)

    a, out = np.arange(5, dtype=np.int32), np.zeros(1, np.int32)
    kernel[1, 1](a, out)
    assert out[0] == 10
    with pytest.raises(treadle.errors.TypingError, match="has a meaning in kernels only"):
        cuda._from_buffer(a)
    for bad, text in ((3, "takes an array, not"), (np.zeros((2, 2), np.int32), "an array of one axis")):
        with pytest.raises(treadle.errors.TypingError, match=text):
            cuda.jit(lambda a: ffi.from_buffer(a))[1, 1](bad)


def test_device_functions_are_looked_at_under_numbas_names(tmp_path) -> None:
    run_as_numba(
        tmp_path,
        """
from numba import cuda, float32, int32
from numba.cuda import compile_all
from numba.cuda.cudaimpl import lower
from numba.cuda.extending import register_model, typeof_impl
from numba.types import Type

class Own(Type):
    def __init__(self):
        super().__init__(name="Own")

@lower(Own, int32)
def lowered(context, builder, sig, args):
    raise AssertionError

@cuda.jit(device=True)
def add(x, y):
    return x + y

made = add.compile_device((int32, int32))
name = made.fndesc.mangled_name
assert "add" in name and name in add.inspect_asm((int32, int32)) and name in add.inspect_llvm((int32, int32))
try:
    add.inspect_sass((int32, int32))
except RuntimeError as e:
    assert "Cannot inspect SASS of a device function" in str(e)
else:
    raise AssertionError
[code], result = compile_all(lambda x, y: x + y, (float32, float32), device=True, abi_info={"abi_name": "plus"})
assert ".visible .func" in code and "plus" in code and result == float32
""",
    )
