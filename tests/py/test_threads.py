"""Calls, compiles, recompiles, collections and forks from many threads at once, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import gc, os, random, sys, threading, time, traceback
import numpy as np
import treadle
from treadle import njit

sys.setswitchinterval(1e-5)
stop = time.time() + 3
K = 1
errors = []

@njit
def shared(x, y):
    return x * y + K

@njit(nogil=True)
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s

@njit
def make(n):
    return np.zeros(n), np.ones(n)

VALUES = [1, 2.0, True, 1j, np.float32(2), np.int8(3)]

def fork():
    pid = os.fork()
    if pid == 0:
        ok = shared(2, 3) == 7 and njit(lambda x: x * 2)(4) == 8
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0

def step(r, seed):
    k = r.randrange(9)
    if k == 0:
        shared.recompile()
    elif k == 1:
        f = njit(lambda x: x + 1)
        assert f(1) == 2 and f(2.5) == 3.5
    elif k == 2:
        assert total(np.ones(100)) == 100
    elif k == 3:
        total.recompile()
    elif k == 4:
        a, b = make(r.randrange(1, 100))
        assert a.sum() == 0 and b.sum() == len(b)
    elif k == 5:
        gc.collect(0)
    elif k == 6:
        shared.signatures, shared.stats, shared.overloads
    elif k == 7 and seed == 0:
        fork()
    else:
        x, y = r.choice(VALUES), r.choice(VALUES)
        assert shared(x, y) == x * y + 1, (x, y)

def work(seed):
    r = random.Random(seed)
    try:
        while time.time() < stop and not errors:
            step(r, seed)
    except BaseException:
        errors.append(traceback.format_exc())

threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
s = treadle.stats()
print("".join(errors) or "fine", s["arrays_allocated"] - s["arrays_freed"])
"""


def test_everything_at_once():
    r = subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert (r.returncode, r.stdout) == (0, "fine 0\n"), r.stdout + r.stderr


INTERRUPTED = """
import signal, sys
import numpy as np
from treadle import njit, stats

N = 150
step = "def f{i}(x, y):\\n    s = 0.0\\n    for k in range(len(x)):\\n        for j in range(3):\\n            s += x[k] * {i}.5 + y[k, j] / (s + {i}.25)\\n    return s + (f{n}(x, y) if x[0] > {i} else 0.0)\\n"
names = {}
exec("".join(step.format(i=i, n=i + 1) for i in range(N)) + f"def f{N}(x, y):\\n    return 0.0\\n", names)
f, x, y = njit(names["f0"]), np.zeros(4), np.zeros((4, 3))
small = njit(lambda n: n + 1)

def handler(*_):
    assert small(1) == 2  # compiles while the other compile waits
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handler)
try:
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
    f(x, y)
except KeyboardInterrupt:
    print(len(f.signatures), stats()["compiled"], len(small.signatures))
print(f(x, y) == names["f0"](x, y), len(f.signatures), stats()["compiled"])
"""


@pytest.mark.parametrize("after", ["0.0003", "0.001", "0.02"])
def test_a_compile_is_interrupted(after):
    """The exception comes before the compile is through, and leaves nothing behind; whatever Python is doing for the compiler
    when the signal arrives: looking up names, asking an object for its text."""
    r = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, after], capture_output=True, text=True, timeout=300
    )
    assert r.stdout.splitlines() == ["0 1 1", "True 1 2"], r.stdout + r.stderr


def test_a_compile_imports_nothing():
    """Python drops what a signal's handler raises in some callbacks of an import: the modules are there before."""
    r = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, treadle, numpy as np\n"
            "f = treadle.njit(lambda x: (x + 1).sum() + np.sqrt(x).max())\n"
            "before, x = set(sys.modules), np.ones(3)\n"
            "assert f(x) == 7 and 'cmath' in before\n"
            "print(sorted(set(sys.modules) - before))",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert r.stdout == "[]\n", r.stdout + r.stderr


NEW_TYPES = """
import itertools, threading
import numpy as np
import treadle

u = treadle.vectorize(lambda a, b: a + b)
x = np.ones((100000, 3))[:, ::2]  # NumPy asks for the loop row by row
u(x[:2], x[:2], order="C")
stop = threading.Event()
wrong = []

def look():
    while not stop.is_set():
        if not (u(x, x, order="C") == 2).all():
            wrong.append(1)

threads = [threading.Thread(target=look) for _ in range(2)]
for t in threads:
    t.start()
types = [np.dtype(c) for c in "bBhHiI"]
for a, b in itertools.product(types, types):
    assert u(np.ones(1, a), np.ones(1, b)) == 2
stop.set()
for t in threads:
    t.join()
print("fine", len(u.types), len(wrong))
"""


def test_a_ufunc_meets_new_types_while_others_run_it():
    """NumPy looks for its loop without the GIL. Freed memory is filled, so that a table that has moved would be seen."""
    r = subprocess.run(
        [sys.executable, "-c", NEW_TYPES],
        capture_output=True,
        text=True,
        timeout=250,
        env={**os.environ, "PYTHONMALLOC": "debug"},
    )
    assert (r.returncode, r.stdout) == (0, "fine 37 0\n"), r.stdout + r.stderr
