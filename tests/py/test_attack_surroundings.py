"""Absurd surroundings: functions put in NumPy's place, forks in the middle of what the compiler imports, sizes that wrap."""

import subprocess
import sys

import numpy as np
import pytest
from treadle import njit

PATCHED = """
import functools, sys
import numpy as np
from treadle import njit

theirs, interp = np.sort, np.interp

def sort(a, axis=-1):
    return a * 10

@functools.wraps(interp)
def wrapper(x, xp, fp):
    return x * 100

@njit
def median(a):
    return a.size

a = np.array([3.0, 1.0])
if sys.argv[1] == "late":
    njit(lambda a: a.sum())(a)  # what is whose is known from here on
np.sort, np.interp, np.median = sort, wrapper, median

@njit
def f(a):
    return np.sort(a)[0], np.interp(a[0], a, a), np.median(a), np.argsort(a)[0]

assert f(a) == (30.0, 300.0, 2, 1), f(a)
if sys.argv[1] == "late":
    np.sort, np.interp = theirs, interp
    f.recompile()
    assert f(a) == (1.0, 1.0, 2, 1), f(a)
print("fine")
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_functions_in_place_of_numpys(when):
    """They are called, by whatever name they go, put there before the first compile or after it."""
    r = subprocess.run([sys.executable, "-c", PATCHED, when], capture_output=True, text=True, timeout=200)
    assert (r.returncode, r.stdout) == (0, "fine\n"), r.stdout + r.stderr


FORKED = """
import importlib.machinery, os, signal, sys, threading, time
import numpy as np
from treadle import njit

begun = threading.Event()

class Slow(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target)
        if name == "treadle._library.histograms":
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (begun.set(), time.sleep(0.5), run(module))
        return spec

sys.meta_path.insert(0, Slow)
f = njit(lambda a: np.histogram_bin_edges(a, 2))
a = np.arange(3.0)
other = threading.Thread(target=f, args=(a,))
other.start()
begun.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(150)
    g = njit(lambda a: np.histogram_bin_edges(a, 2) + 1)
    os._exit(0 if g(a).tolist() == [1.0, 2.0, 3.0] else 1)
status = os.waitpid(pid, 0)[1]
other.join()
print("fine" if status == 0 and f(a).tolist() == [0.0, 1.0, 2.0] else status)
"""


def test_fork_while_a_function_of_numpys_is_imported():
    """The child has no thread that would end the import."""
    r = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=200
    )
    assert (r.returncode, r.stdout) == (0, "fine\n"), r.stdout + r.stderr


@pytest.mark.parametrize("count", [2**61, 2**61 + 1, 2**62, 2**63 - 1])
def test_frombuffer_of_more_bytes_than_int64_holds(count):
    f = njit(lambda a, n: np.frombuffer(a, np.float64, n))
    with pytest.raises(ValueError, match="buffer is smaller than requested size"):
        f(np.arange(3.0), count)
    assert f(np.arange(3.0), 3).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("text", ["np.tril_indices(n)", "np.triu_indices(n)", "np.tril_indices(n, 0, n)"])
def test_triangles_larger_than_memory(text):
    """Nobody counts the rows first."""
    f = njit(eval(f"lambda n: {text}"))
    for n in (2**63 - 1, 2**61, 10**11, 2**31):
        with pytest.raises((MemoryError, ValueError)):
            f(n)


def test_triangles_of_no_columns():
    f = njit(lambda n, k: (np.tril_indices(n, k, 0)[0].size, np.triu_indices(n, k, 0)[0].size))
    assert f(2**40, 0) == f(2**40, -(2**50)) == (0, 0)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangles_of_all_sizes(name):
    f, theirs = njit(eval(f"lambda n, k, m: np.{name}(n, k, m)")), getattr(np, name)
    for n in range(6):
        for m in range(8):
            for k in range(-9, 10):
                for got, want in zip(f(n, k, m), theirs(n, k, m), strict=True):
                    assert got.tolist() == want.tolist(), (n, k, m)
