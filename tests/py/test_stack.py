"""Short stacks: patterns share their buffers, a function looks before it takes room, and the compiler brings its own stack."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from on_stack import on_stack  # noqa: E402
from treadle import njit  # noqa: E402

STATEMENTS = 40


def many_statements(options: dict[str, object]):
    """A function of many array statements: each has buffers for a sum of floats, and for what broadcasts."""
    lines = [f"    c{k} = a * {k} + b\n    s += (np.sin(c{k}) - a).sum()\n" for k in range(STATEMENTS)]
    names: dict[str, object] = {"np": np}
    exec("def f(a, b):\n    s = 0.0\n" + "".join(lines) + "    return s\n", names)
    f = names["f"]
    return f, njit(**options)(f)


@pytest.mark.parametrize("options", [{}, {"parallel": True}], ids=["cpu", "parallel"])
def test_a_function_of_many_statements(options):
    f, g = many_statements(options)
    a, b = np.arange(30.0), np.ones(30)
    column, row = a[:, None], np.ones((1, 40))
    want, spread = f(a, b), f(column, row)
    for kib in (
        64,
        256,
        1024,
    ):  # it also compiles on this stack, and later what was left out, as broadcasting is
        assert np.isclose(on_stack(kib, lambda: g(a, b)), want, rtol=1e-12)
        assert np.isclose(on_stack(kib, lambda: g(column, row)), spread, rtol=1e-12)


NO_ROOM = """
import threading
import numpy as np
from treadle import njit
@njit
def columns(a):
    return (a * 2).sum(axis=0)
a = np.ones((50, 300))
def work():
    try:
        columns(a)
    except RecursionError as e:
        print(e)
threading.stack_size(52 << 10)
t = threading.Thread(target=work)
t.start()
t.join()
print((columns(a) == 100).all())
"""


def test_no_room_is_an_exception():
    """Sums down columns keep 34 KiB for partial sums: more than a thread has whose stack is the least that all Pythons take, but for 24 KiB. (In a process of its own: stacks of threads that have
    ended are used again, and are larger.)"""
    done = subprocess.run([sys.executable, "-c", NO_ROOM], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "the stack of this thread has no room for the function's buffers",
        "True",
    ]


def test_a_recursion_with_buffers():
    """Each level has its own 34 KiB; the look comes before they are taken."""

    @njit
    def columns(a):
        return (a * 2).sum(axis=0)

    @njit
    def deep(a, n):
        return columns(a)[0] if n == 0 else deep(a, n - 1) + columns(a)[n]

    a = np.ones((50, 300))

    def deepest() -> int:
        n = 1
        while True:
            try:
                deep(a, n)
            except RecursionError:
                return n
            n += 1

    assert (
        2 <= on_stack(256, deepest) <= 4 * 256 // 34
    )  # the stack of an ended thread may be four times as large
    assert deep(a, 20) == 100 * 21


# What Python itself must have left of a thread's stack before it calls anything, in KiB.
PYTHONS_OWN = 64 if sys.version_info >= (3, 14) else 0

UFUNCS = """
import sys, threading

SIZE = int(sys.argv[1]) << 10

def on_short(work):
    found = []
    def run():
        try:
            work()
            found.append("ok")
        except (RecursionError, ValueError) as e:
            found.append(type(e).__name__)
    threading.stack_size(SIZE)
    t = threading.Thread(target=run)
    t.start()
    t.join()
    return found[0]

import numpy as np
import treadle
from treadle import guvectorize, njit, prange, vectorize

def body(x, y):
    return x * y + 1

def small(x, y):
    if x > 90:
        raise ValueError("too large")
    return x + y

def shift(a, out):
    for i in range(a.shape[0]):
        if a[i] == -1:
            raise ValueError("odd")
        out[i] = a[i] + 1

a, b = np.arange(1000.0), np.arange(10.0)
n, deep = np.arange(1000), np.arange(4.0).reshape((1,) * 11 + (2, 2))
big = np.arange(100000.0).reshape(100, 1000)
vec, arr = ["f8(f8,f8)", "f4(f4,f4)"], ["void(f8[:],f8[:])"]
for target in ("cpu", "parallel"):
    for lazy in (True, False):
        def make(f):
            return vectorize(target=target)(f) if lazy else vectorize(vec, target=target)(f)
        def gmake():
            return guvectorize("(n)->(n)", target=target)(shift) if lazy else guvectorize(arr, "(n)->(n)", target=target)(shift)
        f, g, h = make(body), gmake(), make(small)
        called = lambda x: f(x, x) + g(x)
        cases = [
            ("first call", lambda: f(a, a)), ("rows", lambda: f(big, big[:1])), ("scalars", lambda: f(1.0, 2.0)), ("number", lambda: f(a, 2.0)),
            ("steps", lambda: f(a[::-2], a[::2])), ("order", lambda: f(a.astype(">f8"), a)), ("half", lambda: f(a.astype("f2"), a.astype("f2"))),
            ("cast", lambda: f(n, a)), ("out", lambda: f(a, a, out=a.astype("f4"), casting="unsafe")), ("where", lambda: f(a, a, where=a > 3, out=a.copy())),
            ("axes", lambda: f(deep, deep[..., ::-1])), ("reduce", lambda: f.reduce(b)), ("accumulate", lambda: f.accumulate(b)),
            ("reduceat", lambda: f.reduceat(b, [0, 3])), ("at", lambda: f.at(a.copy(), [1, 2], 3.0)), ("outer", lambda: f.outer(a, b)),
            ("raises", lambda: h(a, a)), ("at raises", lambda: h.at(a.copy(), [1, 99], 3.0)), ("accumulate raises", lambda: h.accumulate(a)),
            ("core", lambda: g(a)), ("core rows", lambda: g(big)), ("core steps", lambda: g(a[::-2])), ("core order", lambda: g(a.astype(">f8"))),
            ("core cast", lambda: g(a.astype("f4"))), ("core out", lambda: g(a, out=np.zeros(1000, "f4"), casting="unsafe")),
            ("core axis", lambda: g(big, axis=0)), ("core raises", lambda: g(np.full(5, -1.0))),
            ("in code", lambda: njit(called)(a)), ("in parallel code", lambda: njit(parallel=True)(called)(a)),
        ]
        for name, work in cases:
            got = on_short(work)
            want = "ValueError" if "raises" in name else "ok"
            if got != want:
                print(f"{target} {'lazy' if lazy else 'declared'} {name}: {got}", flush=True)
"""


@pytest.mark.parametrize("kib", [32, 48, 64])
def test_ufuncs(kib: int):
    """A call of NumPy's for a gufunc takes 16 KiB of the stack before it comes to ours: of the shortest there are, that leaves no room."""
    done = subprocess.run(
        [sys.executable, "-c", UFUNCS, str(kib + PYTHONS_OWN)], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    for line in done.stdout.splitlines():
        assert kib == 32 and " core" in line and line.endswith(": RecursionError"), line


FIRST = """
import sys, threading
ran = []
def run():
    import numpy as np
    from treadle import guvectorize, vectorize
    f = vectorize(lambda x: x + 1)
    f(np.arange(3.0))
    g = guvectorize("(n)->(n)")(add)
    ran.append(g(np.arange(3.0)).sum())
def add(a, out):
    for i in range(a.shape[0]):
        out[i] = a[i] + 1
threading.stack_size(int(sys.argv[1]) << 10)
t = threading.Thread(target=run)
t.start()
t.join()
print(ran[0])
"""


def test_the_first_import_and_compile():
    done = subprocess.run([sys.executable, "-c", FIRST, "128"], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "6.0\n", "")
