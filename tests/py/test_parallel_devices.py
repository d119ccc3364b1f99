"""Lazy arrays that lie on a device: kernels of the emulated one, and PTX on a GPU that is none, with the host's results."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from fake_gpu import start

# What every program here begins with: both(name, graph, *arrays) compares the device's results with the host's.
COMMON = """
import sys, traceback
import numpy as np
import treadle, treadle.parallel as tp
from treadle import cuda
from treadle.errors import UnsupportedError
rng = np.random.default_rng(5)

def values(r):
    return [np.asarray(x) for x in (r if isinstance(r, tuple) else (r,))]

def same(x, y):
    return np.array_equal(np.asarray(x), np.asarray(y))

def both(name, graph, *arrays):
    host = values(graph(*map(tp.array, arrays)))
    there = values(graph(*(tp.array(cuda.to_device(a)) for a in arrays)))
    assert len(host) == len(there)
    for h, d in zip(host, there):
        assert h.dtype == d.dtype and h.shape == d.shape, (name, h.dtype, d.dtype, h.shape, d.shape)
        assert h.tobytes() == d.tobytes(), (name, h, d)
"""

SIZES = """
for n in (0, 1, 2, 15, 16, 17, 255, 256, 257, 511, 4097):
    for t in ("f8", "f4", "c16", "i8", "i4", "u1", "b1", "i2", "u8"):
        a = (rng.random(n) * 100 - 50).astype(t)
        both(f"map {n} {t}", lambda x: x + x, a)
        both(f"sum {n} {t}", lambda x: x.sum(), a)
        if t != "c16":
            both(f"any {n} {t}", lambda x: tp.evaluate((x > 3).any(), (x > -60).all()), a)
            if n:
                both(f"extremes {n} {t}", lambda x: tp.evaluate(x.min(), x.max(), x.argmin(), x.argmax(), x.sum(), x + x), a)
print("good")
"""

# What is computed: graphs over arrays of several axes, views, functions of the user's, several results.
GRAPHS = """
a, b, c = rng.random((37, 41)), rng.random(41), rng.random((37, 1))
both("broadcast", lambda x, y, z: (x + y) * z, a, b, c)
both("and its sum", lambda x, y, z: tp.evaluate(((x + y) * z).sum(), x.mean()), a, b, c)
both("transposed", lambda x: x.T + 1, a)
both("its sum", lambda x: x.T.sum(), a)
both("a view", lambda x: x[::2, 1::3] + 1, a)
both("a view alone", lambda x: x[1:3], a)
both("where", lambda x: tp.where(x > 0.5, x, 0.0), a)
both("captured", lambda x: (x - x.mean()) / x.std(), b)
both("a reduction of one", lambda x: ((x - x.max()) * 2).sum(), b)
both("an item", lambda x: x[3] + x[-1], b)
both("many", lambda x: tp.evaluate(*(x + k for k in range(5)), *((x * k).sum() for k in range(5))), b)
for k in (2.0, 3.0):
    both("a function", lambda x: tp.map(lambda v: v * k if v > 0.3 else v - k, x), b)
both("a gather", lambda x, i: x[i] * 2, b, np.array([1, 5, 40, 0]))
both("a product", lambda x, y: x @ y, b, b)
nan = np.array([1.0, np.nan, -0.0, 0.0, np.nan, -np.inf])
both("nan", lambda x: tp.evaluate(x.argmin(), x.argmax(), x.min(), x.max(), x.sum()), nan)
both("zeros", lambda x: tp.evaluate(x.argmin(), x.argmax(), x.sum()), np.array([-0.0, -0.0]))
x = np.arange(1, 20.0)
assert np.isclose(float(tp.array(cuda.to_device(x)).prod()), x.prod(), rtol=1e-14)
print("good")
"""

VALUES = """
d = cuda.to_device(np.arange(1000.0))
x = tp.array(d)
y = (x * 2 + 1).evaluate()
assert x.shape == (1000,) and x.dtype == np.float64 and y.evaluated
assert same((y + y).evaluate(), np.arange(1000.0) * 4 + 2)  # of a value, which lies there
assert same((x + d).evaluate(), (d + x).evaluate()) and same(np.add(x, d), np.arange(1000.0) * 2)
assert (x > 500).sum().evaluate() == 499 and float(x.max()) == 999 and x[x > 500].shape == (499,)
v = x[2:5].evaluate()
d[:] = np.zeros(1000)
assert same(v, [2, 3, 4]) and float(x.sum()) == 0  # a value is its own, a leaf is what it is now
for k in (1.5, 2.5, 3.5):
    z = (tp.array(cuda.to_device(np.ones(10))) * k).sum()
    assert float(z) == 10 * k
    if k == 1.5:
        before = treadle.stats()["compiled"]
assert treadle.stats()["compiled"] == before, "a changed number compiles nothing"
assert "2 kernels" in str(tp.explain((x - x.mean()).sum()))
print("good")
"""

ERRORS = """
def refused(kind, part, fn):
    try:
        fn()
    except kind as error:
        assert part in str(error), error
        text = "".join(traceback.format_exception(error))
        assert "in <lambda>" in text, text
    else:
        raise AssertionError(part)

a = rng.random(100)
x = tp.array(cuda.to_device(a))
m = tp.array(cuda.to_device(a.reshape(10, 10)))
refused(UnsupportedError, "a scan: not on a device yet", lambda: np.cumsum(x).evaluate())
refused(UnsupportedError, "a reduction of some axes: not", lambda: m.sum(axis=0).evaluate())
refused(UnsupportedError, "a filter, or a mask as an index: not", lambda: x[x > 0.5].evaluate())
refused(UnsupportedError, "what is no loop over items: not", lambda: tp.sort(x).evaluate())
refused(UnsupportedError, "by a function of the user's: not", lambda: tp.reduce(lambda p, q: p + q, x, identity=0.0).evaluate())
refused(UnsupportedError, "the k best of a row: not", lambda: tp.evaluate(*tp.topk(x, 3)))
refused(ValueError, "some arrays of the graph lie on a device and others on the host", lambda: (x + a).evaluate())
refused(ValueError, "an array without axes lies on a device", lambda: (tp.array(cuda.to_device(np.array(3.0))) + 1).evaluate())
refused(ValueError, "could not be broadcast", lambda: (x + tp.array(cuda.to_device(a[:7]))).evaluate())
refused(IndexError, "out of bounds", lambda: float(x[tp.array(cuda.to_device(np.array([1, 100])))].sum()))
assert same((x + 1).evaluate(), a + 1)  # nothing is left of that
print("good")
"""


def emulated(code: str, threads: int) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TREADLE_CUDA": "emu", "TREADLE_NUM_THREADS": str(threads), "TREADLE_CUDA_WARN": "0"}
    return subprocess.run(
        [sys.executable, "-c", COMMON + code],
        capture_output=True,
        text=True,
        env=env,
        timeout=300,
        check=False,
    )


def good(r: subprocess.CompletedProcess[str]) -> None:
    assert r.returncode == 0 and r.stdout == "good\n", r.stdout + r.stderr


PROGRAMS = [SIZES, GRAPHS, VALUES, ERRORS]
NAMES = ["sizes", "graphs", "values", "errors"]


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("code", PROGRAMS, ids=NAMES)
def test_emulated(code, threads):
    """The emulated device gives the host's bits, whatever the number of threads."""
    good(emulated(code, threads))


@pytest.mark.parametrize("code", PROGRAMS, ids=NAMES)
def test_ptx(code):
    """So does the driver that interprets PTX."""
    good(start(COMMON + code))


def test_kernels_stay_apart():
    """A host's leaf and a device's make two programs: the graph is the same, the arrays lie elsewhere."""
    code = """
a = np.arange(10.0)
for _ in range(2):
    assert float((tp.array(a) * 2).sum()) == float((tp.array(cuda.to_device(a)) * 2).sum()) == 90
print("good")
"""
    good(emulated(code, 2))


def test_memory_is_given_back():
    """What a program makes on the device goes when nobody has it."""
    code = """
x = tp.array(cuda.to_device(np.ones(1 << 20)))
float((x * 2).sum())
left = cuda.current_context().get_memory_info().free
for _ in range(5):
    y = (x * 2 + 1).evaluate()
    float((x - x.mean()).sum())
    del y
assert cuda.current_context().get_memory_info().free == left
print("good")
"""
    good(start(COMMON + code))


def test_what_the_host_does():
    """Of a GPU's program the host keeps sizes and launches: a kernel for each loop, memory of the device's, one number that is fetched."""
    code = """
x = tp.array(cuda.to_device(np.ones(1000)))
y, s = tp.evaluate(x * 2 + 1, (x * x).sum())
print("good")
"""
    r = start(COMMON + code, TREADLE_DUMP="opt:offload")
    graph = r.stderr.partition("fn @graph")[2].partition("\n}\n")[0]
    assert r.stdout == "good\n", r.stderr
    assert "map_points" not in r.stderr, "both are one loop"
    assert graph.count(" = call ") == 2 and graph.count("load far") == 1 and graph.count("alloc far") == 2, (
        graph
    )
    assert "pattern" not in graph
    kernels = [line for line in r.stderr.splitlines() if line.startswith("kernel fn")]
    assert [k.partition("@")[2].partition(".")[0] for k in kernels] == ["reduce_parts", "join_parts"]
    for kernel in r.stderr.split("kernel fn")[1:]:
        assert " call " not in kernel.partition("\n}\n")[0], "a kernel is one function"
