"""Compiled functions that no name leads to: pickled by their parts, and made of these in another process."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from programs import sent

SENDER = """
import math, pickle, sys
import numpy as np
import numpy.linalg as la
from treadle import njit, vectorize

SCALE, TABLE = 3, np.arange(4.0)

def plain(x):
    return x * SCALE

@njit
def helper(x):
    return plain(x) + TABLE[1]

@njit
def main_s(x, y=2):
    return helper(x) + math.sqrt(y) + len(la.norm.__name__ if False else "ab")

@njit(fastmath=True, parallel=True)
def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)

def make(k):
    data = np.full(3, k)

    @njit("f8(f8)", nogil=True)
    def inner(x):
        return x + k + data.sum()

    @njit
    def outer(x):
        return inner(x) * 2

    @njit
    def even(n):
        return n == 0 or odd(n - 1)

    @njit
    def odd(n):
        return n != 0 and even(n - 1)

    return inner, outer, even

inner, outer, even = make(10.0)
local = (main_s, fact, inner, outer, even, njit(lambda x: x - 1))
again = pickle.loads(pickle.dumps(local))
assert all(a is b for a, b in zip(local, again))
with open(sys.argv[1], "wb") as f:
    pickle.dump(local, f)
print(main_s(1.0), fact(5), inner(1.0), outer(1.0), even(3), local[5](3))
"""

RECEIVER = """
import pickle, sys
with open(sys.argv[1], "rb") as f:
    data = f.read()
main_s, fact, inner, outer, even, less = pickle.loads(data)
print(main_s(1.0), fact(5), inner(1.0), outer(1.0), even(3), less(3))
assert fact.options == {"fastmath": True, "parallel": True} and fact.__name__ == "fact"
assert [str(s) for s in inner.signatures] == ["(float64,)"] and inner.sealed
try:
    inner("text")
except TypeError:
    pass
else:
    raise SystemExit("the signature is not declared")
assert pickle.loads(data)[0] is main_s and "SCALE" not in globals()
assert pickle.loads(pickle.dumps(outer)) is outer
"""


def test_closures_and_functions_of_main_in_another_process(tmp_path: Path):
    outs = []
    for name, text in (("sender", SENDER), ("receiver", RECEIVER)):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        line = [sys.executable, str(path), str(tmp_path / "functions")]
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outs.append(done.stdout)
    assert outs[0] == outs[1] and outs[0].startswith("7.41421356")


def test_what_cannot_be_pickled_says_so():
    from treadle import njit

    lock = __import__("threading").Lock()
    f = njit(lambda x: lock and x)
    with pytest.raises(TypeError, match="lock"):
        pickle.dumps(f)


NAMES = """
import threading
from treadle import njit

size, helper = threading.Lock(), 3

def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

def is_even(n):
    return True if n == 0 else is_odd(n - 1)

def is_odd(n):
    return False if n == 0 else is_even(n - 1)

@njit
def recursive(a):
    return factorial(a.size) + 1000 * is_even(a.size)

def by_way_of(n):
    return 0 if n < 1 else 2 + turns(n - 1)

@njit("i8(i8)")
def turns(n):
    return by_way_of(n)

def outer(n):
    return turns(n) + by_way_of(n)

@njit
def declared(n):
    return outer(n)

def make():
    def f(n):
        return n if n < 1 else g(n - 1) + 1

    def g(n):
        return f(n)

    @njit
    def inner(n, k=5, *, m=7):
        return f(n) + k + m

    return inner

inner = make()
for k in range(40):
    exec(f"def h{k}(x): return " + (f"h{k - 1}(x) + h{k // 2}(x)" if k else "x"))

@njit
def many(x):
    return h39(x)
"""


def test_functions_that_name_each_other(monkeypatch):
    """What an attribute is called is no global; what is named twice goes once."""
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(NAMES, vars(main))
    recursive, declared, inner, many = sent((main.recursive, main.declared, main.inner, main.many))
    a = np.zeros(4)
    assert recursive is not main.recursive and recursive(a) == main.recursive(a) == 1024
    assert declared(6) == main.declared(6) == 12 + 12
    assert [str(s) for s in declared.py_func.__globals__["outer"].__globals__["turns"].signatures] == [
        "(int64,)"
    ]
    assert inner(3) == main.inner(3) == 15 and inner(3, 1, m=2) == 6
    assert len(pickle.dumps(main.many)) < 20_000
    top = many.py_func.__globals__["h39"].__globals__
    assert (
        top["h38"].__globals__["h37"].__globals__["h18"].__globals__["h17"]
        is top["h19"].__globals__["h18"].__globals__["h17"]
    )


SPAWN = """
import multiprocessing as mp
from treadle import njit

@njit
def f(x):
    return x * 2

if __name__ == "__main__":
    with mp.get_context("spawn").Pool(2) as pool:
        print(pool.map(f, [1, 2, 3]))
"""


def test_multiprocessing_that_spawns(tmp_path: Path):
    path = tmp_path / "spawns.py"
    path.write_text(SPAWN)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[2, 4, 6]\n", done.stderr


LOKY = """
import numpy as np
from joblib import Parallel, delayed
from treadle import njit, vectorize

@vectorize
def u(x):
    return x + 1

@njit
def f(x):
    return x * 2

def call(x):
    return u(x)

if __name__ == "__main__":
    print(Parallel(n_jobs=2)(delayed(f)(i) for i in range(3)))
    for function in (call, u):
        try:
            Parallel(n_jobs=2)(delayed(function)(i) for i in range(3))
        except Exception as e:
            print("put it in a module" in f"{e} {e.__cause__}")
    print(Parallel(n_jobs=2)(delayed(f)(i) for i in range(3)))
    print(Parallel(n_jobs=2)(delayed(np.add)(i, 1) for i in range(3)) == [1, 2, 3])
"""


def test_joblib(tmp_path: Path):
    """A ufunc of the script is pickled by name, which its workers do not have: they are told of before any is begun."""
    pytest.importorskip("joblib")
    path = tmp_path / "loky.py"
    path.write_text(LOKY)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=240)
    assert done.stdout == "[0, 2, 4]\nTrue\nTrue\n[0, 2, 4]\nTrue\n", done.stdout + done.stderr
