"""Arrays of the device that are globals of kernels, or variables around them: used where they lie, kept, bound anew from the cache.

Each program is run on the emulated device, and by the driver of the tests that is no GPU's.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import types
import weakref

import numpy as np
import pytest
from cuda_check import compile_text
from fake_gpu import RAISES, start
from treadle import cuda, njit
from treadle.errors import KernelCheckError, TypingError

pytestmark = pytest.mark.emulated


class Foreign:
    """An array of another library: all there is is its interface."""

    def __init__(self, values):
        self.values = cuda.to_device(values)
        self.__cuda_array_interface__ = self.values.__cuda_array_interface__

    def copy_to_host(self):
        return self.values.copy_to_host()


class ForeignByClass:
    def __init__(self, values):
        self.values = cuda.to_device(values)

    @property
    def __cuda_array_interface__(self):
        return self.values.__cuda_array_interface__

    def copy_to_host(self):
        return self.values.copy_to_host()


MAKERS = [cuda.to_device, Foreign, ForeignByClass]
GLOBAL = cuda.to_device(np.arange(6.0))
SEEN = cuda.to_device(np.zeros(6, np.int64))


@cuda.jit(device=True)
def of_global(i):
    return GLOBAL[i] * 2


@njit
def plain(i):  # also called by kernels alone
    return GLOBAL[i]


@pytest.mark.parametrize("make", MAKERS)
def test_each_way_in(make):
    values = np.arange(6, dtype=np.float32)
    cell = make(values)

    @cuda.jit(device=True, inline="always")
    def inlined(i):
        return cell[i] + of_global(i)

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        if i < cell.size and len(GLOBAL) == 6:
            out[i] = inlined(i) + plain(i) + cell[-1 - i]
            cuda.atomic.add(SEEN, i, 1)

    out = np.zeros(6)
    before = SEEN.copy_to_host()
    k[2, 4](out)
    k[2, 4, cuda.stream()](out)
    cuda.synchronize()
    assert out.tolist() == [3 * i + 5.0 for i in range(6)]
    assert (SEEN.copy_to_host() - before).tolist() == [2] * 6


LAYOUTS = {
    "rows": lambda d: d,
    "columns": lambda d: d.T,
    "steps": lambda d: d[::2, 1:],
    "backwards": lambda d: d[::-1],
    "a row": lambda d: d[1],
    "empty": lambda d: d[:0],
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f4", "c16", "u1", "?", "M8[s]", [("x", "f8"), ("y", "i4")]])
def test_layouts_and_types(name, dtype):
    host = np.arange(12).astype("i8").reshape(3, 4)
    if isinstance(dtype, list):
        values = np.zeros((3, 4), np.dtype(dtype, align=True))
        values["x"], values["y"] = host, -host
    else:
        values = host.astype(dtype)
    view = LAYOUTS[name](cuda.to_device(values))
    want = LAYOUTS[name](values)
    text = "def k(out):\n    for i in range(V.shape[0]):\n"
    text += (
        "        out[i] = V[i]\n"
        if want.ndim == 1
        else "        for j in range(V.shape[1]):\n            out[i, j] = V[i, j]\n"
    )
    fn = compile_text(text, "k")
    fn.__globals__["V"] = view
    out = cuda.to_device(np.zeros(want.shape, want.dtype))
    cuda.jit(fn)[1, 1](out)
    assert np.array_equal(out.copy_to_host(), want)


def test_no_axes():
    one = cuda.to_device(np.array(21.0))

    @cuda.jit
    def k(out):
        one[()] = one[()] + 21
        out[0] = one[()]

    out = np.zeros(1)
    k[1, 1](out)
    assert out[0] == 42 == one.copy_to_host()


def test_in_tuples_and_modules_and_with_a_signature():
    module = types.ModuleType("module")
    module.A = cuda.to_device(np.arange(4.0))
    pair = (cuda.to_device(np.arange(4.0)), cuda.to_device(np.arange(4) * 10))
    records = cuda.to_device(np.array([(1, 2.5), (3, 4.5)], np.dtype([("a", "i4"), ("b", "f8")], align=True)))

    @cuda.jit("void(float64[::1])")
    def k(out):
        i = cuda.grid(1)
        out[i] = module.A[i] + pair[0][i] + pair[1][i]
        pair[1][i] = 7

    @cuda.jit
    def whole(out):
        a, _ = pair
        for v in (a, module.A):
            for x in v:
                out[0] += x
        out[1] = module.A[1:].sum() + max(a)
        out[2] = records[1].b + records["b"][0]
        records[0].a = 9

    out = np.zeros(4)
    k[1, 4](out)
    assert out.tolist() == [0, 12, 24, 36]
    k[1, 4](out)
    assert out.tolist() == [7, 9, 11, 13]
    out[:] = 0
    whole[1, 1](out)
    assert out.tolist() == [12, 9, 7, 0] and records.copy_to_host()["a"].tolist() == [9, 3]


def test_what_says_where_it_lies_and_does_not_lie_there():
    """Some libraries have one class for arrays of the host and of devices."""

    class OfTheHost:
        @property
        def __cuda_array_interface__(self):
            raise AttributeError("it is not on a device")

    array = OfTheHost()

    @njit
    def seldom(x):
        if x < 0:
            return array[0]
        return x

    @cuda.jit
    def k(out):
        out[0] = array[0]

    with pytest.raises(TypingError, match="an object of class 'OfTheHost' cannot be indexed"):
        k[1, 1](np.zeros(1))
    with pytest.raises(TypingError, match="an object of class 'OfTheHost' cannot be indexed"):
        seldom(1.0)


def test_changes_show_and_new_names_do_not():
    a, again = cuda.to_device(np.ones(4)), cuda.to_device(np.full(4, 9.0))

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        out[i] = a[i]
        a[i] += 1

    out = np.zeros(4)
    for n in (1, 2):
        k[1, 4](out)
        assert (out == n).all()
    a.copy_to_device(np.full(4, 7.0))
    k[1, 4](out)
    assert (out == 7).all()
    old, a = a, again  # as with numbers: what the name stood for when the kernel was compiled
    k[1, 4](out)
    assert (out == 8).all() and (old.copy_to_host() == 9).all() and (again.copy_to_host() == 9).all()


def test_the_same_as_an_argument():
    a = cuda.to_device(np.zeros(8))

    @cuda.jit
    def k(x, out):
        i = cuda.grid(1)
        x[i] = i
        s = a[i]
        if i % 2:
            a[i] = 5
        else:
            a[i] = 7
        out[i] = x[i] * 10 + s

    out = np.zeros(8)
    k[1, 8](a, out)
    assert out.tolist() == [(50 if i % 2 else 70) + i for i in range(8)]


def test_two_views_of_one():
    a = cuda.to_device(np.zeros(8))
    low, high = a[:6], a[2:]

    @cuda.jit
    def k(out):
        for i in range(6):
            low[i] = i
        for i in range(6):
            high[i] = low[i] + 1

    k[1, 1](np.zeros(1))
    want = np.arange(8.0)
    for i in range(6):
        want[i + 2] = want[i] + 1
    assert a.copy_to_host().tolist() == want.tolist()


@pytest.mark.parametrize("make", [cuda.to_device, Foreign])
def test_the_kernel_keeps_it(make):
    a = make(np.arange(4.0))
    block = weakref.ref((a if make is cuda.to_device else a.values)._mem.base)
    fn = compile_text("def k(out):\n    i = cuda.grid(1)\n    out[i] = A[i]\n", "k")
    fn.__globals__["A"] = a
    kernel, out = cuda.jit(fn), np.zeros(4)
    kernel[1, 4](out)
    del a, fn.__globals__["A"]
    gc.collect()
    assert block() is not None
    others = [cuda.to_device(np.full(4, -1.0)) for _ in range(8)]
    kernel[1, 4](out)
    assert out.tolist() == [0, 1, 2, 3] and others
    del kernel, fn
    gc.collect()
    assert block() is None


def test_freed_memory_is_not_used():
    a = cuda.to_device(np.zeros(4))

    @cuda.jit
    def k(out):
        out[0] = a[0]

    out = np.zeros(1)
    k[1, 1](out)
    a._mem.base.free()
    for launcher in (k[1, 1], k[1, 1, cuda.stream()]):
        with pytest.raises(ValueError, match="was freed"):
            launcher(out)


def test_what_can_only_be_read():
    class ReadOnly(Foreign):
        def __init__(self, values):
            super().__init__(values)
            at, _ = self.__cuda_array_interface__["data"]
            self.__cuda_array_interface__ = {**self.__cuda_array_interface__, "data": (at, True)}

    a, out = ReadOnly(np.arange(4.0)), np.zeros(4)

    @cuda.jit
    def reads(out):
        out[cuda.grid(1)] = a[cuda.grid(1)]

    @cuda.jit
    def writes():
        a[0] = 1

    reads[1, 4](out)
    assert out.tolist() == [0, 1, 2, 3]
    with pytest.raises(TypingError, match="read-only"):
        writes[1, 1]()


def test_functions_of_the_host_are_refused():
    @njit
    def total():
        return GLOBAL.sum()

    with pytest.raises(TypingError, match="an array of the device that is a global") as caught:
        total()
    assert "copy_to_host()" in str(caught.value)
    with pytest.raises(TypingError, match="an array of the device that is a global"):
        plain(1)

    @cuda.jit
    def constant(out):
        out[0] = cuda.const.array_like(GLOBAL)[0]

    with pytest.raises(TypingError, match="known when the kernel is compiled"):
        constant[1, 1](np.zeros(1))


def test_checks_see_it():
    a = cuda.to_device(np.zeros(4))

    @cuda.jit(debug=True)
    def races(out):
        a[0] = cuda.grid(1)
        out[0] = 1

    @cuda.jit
    def leaves(out):
        out[0] = a[4]

    with pytest.raises(KernelCheckError, match="race on array a: thread"):
        races[1, 4](np.zeros(1))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4: array a"):
        leaves[1, 1](np.zeros(1))


def test_barriers_and_many_blocks():
    table, n = cuda.to_device(np.arange(64)[::-1].copy()), 4096

    @cuda.jit
    def k(x, out):
        s = cuda.shared.array(64, np.int64)
        t = cuda.threadIdx.x
        s[t] = table[t] + x[cuda.grid(1)]
        cuda.syncthreads()
        out[cuda.grid(1)] = s[table[t]] + table[0]

    x, out = np.arange(n), np.zeros(n, np.int64)
    k[n // 64, 64](x, out)
    block, t = np.divmod(x, 64)
    assert (out == (t + block * 64 + 63 - t) + 63).all()


CACHED = """
    import numpy as np
    from treadle import cuda
    pads = [cuda.to_device(np.zeros(int(n))) for n in np.random.default_rng().integers(1, 10**6, 7)]
    A = cuda.to_device(np.arange(4.0))

    @cuda.jit(cache=True)
    def k(out):
        i = cuda.grid(1)
        out[i] = A[i] + 1

    out = np.zeros(4)
    for n in (0, 10):
        A.copy_to_device(np.arange(4.0) + n)
        k[1, 4](out)
        assert out.tolist() == [n + 1, n + 2, n + 3, n + 4], out
    (entry,) = k._entries.values()
    print(entry.stats["compiled"], entry.stats["loaded"], A.__cuda_array_interface__["data"][0])
"""


def test_from_the_cache_of_another_process(tmp_path):
    program = tmp_path / "cached.py"
    env = {
        **os.environ,
        "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }

    def said(text):
        program.write_text(textwrap.dedent(text))
        done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    first, *others = [said(CACHED) for _ in range(4)]
    assert first[:2] == ["1", "0"] and all(o[:2] == ["0", "1"] for o in others)
    assert len({row[2] for row in (first, *others)}) > 1  # it lies elsewhere, and no address is in the code
    longer = CACHED.replace("np.arange(4.0))\n\n", "np.arange(5.0)[:4])\n\n")  # and as long
    assert longer != CACHED and said(longer)[:2] == ["0", "1"]
    other = CACHED.replace("np.arange(4.0))\n\n", "np.arange(4.0)[::-1])[::-1]\n\n")  # of other strides
    assert said(other)[:2] == ["1", "0"]


ON_GPU = (
    RAISES
    + """
import warnings
import numpy as np
from treadle import cuda
A = cuda.to_device(np.arange(8.0))

class Foreign:
    def __init__(self, a):
        self.a = a
        self.__cuda_array_interface__ = a.__cuda_array_interface__

V = Foreign(cuda.to_device(np.arange(12, dtype=np.int32).reshape(3, 4)).T)

@cuda.jit(device=True)
def get(i):
    return A[i] + V[i % 4, i % 3]

@cuda.jit(cache=True)
def k(out):
    i = cuda.grid(1)
    out[i] = get(i)
    A[i] = i

want = np.arange(12).reshape(3, 4).T[np.arange(8) % 4, np.arange(8) % 3]
o = cuda.to_device(np.zeros(8))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    k[1, 8](o)
assert ["has its address in the code" in str(w.message) for w in said] == [True], said
assert (o.copy_to_host() == np.arange(8) + want).all()
A.copy_to_device(np.full(8, 10.0))
h = np.zeros(8)
k[1, 8](h)
assert (h == 10 + want).all()
s = cuda.stream()
k[1, 8, s](o)
s.synchronize()
assert (o.copy_to_host() == np.arange(8) + want).all()
(text,) = k.inspect_asm().values()
assert "ld.global" in text and ".const" not in text and str(A.__cuda_array_interface__["data"][0]) in text
block = A._mem.base
del A
block.free()
raises(ValueError, "was freed", k[1, 8], o)
"""
)


def test_on_a_gpu():
    done = start(ON_GPU)
    assert done.returncode == 0, done.stderr


SEVERAL = (
    RAISES
    + """
import numpy as np
from treadle import cuda
with cuda.gpus[1]:
    A = cuda.to_device(np.arange(4.0))

@cuda.jit
def k(out):
    i = cuda.grid(1)
    out[i] = A[i]

with cuda.gpus[1]:
    k[1, 4](out := cuda.to_device(np.zeros(4)))
    assert out.copy_to_host().tolist() == [0, 1, 2, 3]
raises(ValueError, "an array that is a global of it lies on device 1, and the launch is on device 0", k[1, 4], cuda.to_device(np.zeros(4)))
"""
)


def test_on_another_gpu():
    done = start(SEVERAL, TREADLE_FAKE_GPUS="90,80")
    assert done.returncode == 0, done.stderr
