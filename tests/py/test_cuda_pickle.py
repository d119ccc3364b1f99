"""Kernels by pickle: by their names where these lead back, else by their parts; and what names them."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import types

import numpy as np
import pytest
from programs import sent
from treadle import cuda, njit


@cuda.jit
def twice(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2


launch = twice[2, 16]


@njit
def sizes(n):
    return -(-n // 16)


def run(kernel):
    a = cuda.to_device(np.arange(20.0))
    kernel[sizes(20), 16](a)
    return a.copy_to_host().tolist()


DOUBLED = [2.0 * k for k in range(20)]


def test_by_name():
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(twice, protocol)) is twice
    assert pickle.loads(pickle.dumps({"k": (twice, run)}))["k"][0] is twice


def test_a_launcher():
    again = pickle.loads(pickle.dumps(launch))
    assert again.kernel is twice and (again.grid, again.block) == (launch.grid, launch.block)
    a = cuda.to_device(np.arange(20.0))
    again(a)
    assert a.copy_to_host().tolist() == DOUBLED
    shared = pickle.loads(pickle.dumps(twice[(1, 2), (3, 4), 0, 128]))
    assert (shared.grid, shared.block, shared.sharedmem) == ((1, 2, 1), (3, 4, 1), 128)
    with pytest.raises(TypeError, match="on a stream"):
        pickle.dumps(twice[1, 2, cuda.stream()])


def test_by_parts():
    """With what it was declared with, when its name leads elsewhere."""
    declared = cuda.jit("void(float64[::1])", fastmath=True)(twice.py_func)
    again = sent(declared)
    assert (
        again is not declared
        and again.targetoptions == {"fastmath": True}
        and again.py_func.__name__ == "twice"
    )
    assert run(again) == DOUBLED
    with pytest.raises(TypeError):
        again[1, 16](cuda.to_device(np.arange(20)))


PARTS = """
import pickle, threading
from treadle import cuda

size = threading.Lock()  # no global that the kernel reads

@cuda.jit(device=True)
def inverse(x):
    return 1 / x

@cuda.jit(device=True)
def steps(n):
    return 0 if n < 1 else 1 + steps(n - 1)

@cuda.jit
def kernel(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = inverse(a[i]) + steps(i)
"""


@pytest.mark.emulated
def test_what_a_device_has_by_parts(monkeypatch):
    """A function of a device divides as kernels do, there as here, and may name itself; what is asked for as an attribute is no global."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(PARTS, vars(main))
    again, inverse = sent((main.kernel, main.inverse))
    assert again is not main.kernel and again.py_func.__globals__["inverse"] is not main.inverse
    for kernel in (main.kernel, again):
        a = np.array([0.0, 4.0])
        kernel[1, 2](a)
        assert a.tolist() == [math.inf, 1.25]
    assert inverse.inspect_ptx


SCRIPT = """
import sys
import numpy as np
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from treadle import cuda

@cuda.jit
def twice(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2

def work(kernel, n):
    a = np.arange(float(n))
    kernel[1, 32](a)
    twice[1, 32](a)
    return a.tolist()

if __name__ == "__main__":
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        print(pool.submit(work, twice, 3).result())
"""


def test_other_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    p = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, env={**os.environ}
    )
    assert p.stdout == "[0.0, 4.0, 8.0]\n", p.stderr


CLOUD = """
import sys, pickle, cloudpickle
import numpy as np
from treadle import cuda

def make(factor):
    @cuda.jit
    def scale(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] *= factor
    return scale

three = make(3.0)
go = three[1, 32]

def work(a):
    three[1, 32](a)
    go(a)
    return a.tolist()

sys.stdout.buffer.write(cloudpickle.dumps((three, work)))
"""
READ = """
import pickle, sys
import numpy as np
three, work = pickle.load(sys.stdin.buffer)
a = np.arange(3.0)
three[1, 3](a)
print(a.tolist(), work(a))
"""


def test_closures_and_functions_whose_globals_name_kernels():
    pytest.importorskip("cloudpickle")
    made = subprocess.run([sys.executable, "-c", CLOUD], capture_output=True, timeout=120)
    assert made.returncode == 0, made.stderr
    p = subprocess.run([sys.executable, "-c", READ], input=made.stdout, capture_output=True, timeout=120)
    assert p.stdout == b"[0.0, 3.0, 6.0] [0.0, 27.0, 54.0]\n", p.stderr


def made_with(c):
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i < len(a):
            a[i] += c

    return kernel


def test_a_process_that_has_it_gets_the_kernel_itself():
    """As functions do: else a worker would compile it anew for each task."""
    kernel, other = made_with(3), made_with(4)
    assert pickle.loads(pickle.dumps(kernel)) is kernel
    assert pickle.loads(pickle.dumps(kernel[1, 4])).kernel is kernel
    assert pickle.loads(pickle.dumps((kernel, other, kernel))) == (kernel, other, kernel)
    code = """
import pickle, sys
import numpy as np
data = sys.stdin.buffer.read()
first, again = pickle.loads(data), pickle.loads(data)
assert first is again and pickle.loads(pickle.dumps(first)) is first
a = np.zeros(3)
first[1, 4](a)
print(*a)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(kernel), capture_output=True, check=True
    )
    assert ran.stdout.split() == [b"3.0"] * 3
