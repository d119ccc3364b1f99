"""What threads share, changed by some while others use it: right with the GIL, and without it on builds that have none.

Each program runs in a process of its own. It ends after so many rounds, whoever is fast; freed memory is filled, so that what was let go of too early is seen.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig

PRELUDE = """
import gc, sys, threading, traceback
import numpy as np
import treadle
from treadle import njit

sys.setswitchinterval(1e-5)
errors, done = [], threading.Event()

def together(*works, beside=()):
    # all from one moment; those beside are to look at `done`, which is set when the others are through
    start = threading.Barrier(len(works) + len(beside))
    def run(work, *args):
        try:
            start.wait()
            work(*args)
        except BaseException:
            errors.append(traceback.format_exc())
    main = [threading.Thread(target=run, args=w if isinstance(w, tuple) else (w,)) for w in works]
    others = [threading.Thread(target=run, args=(w,)) for w in beside]
    for t in main + others:
        t.start()
    for t in main:
        t.join()
    done.set()
    for t in others:
        t.join()

def finish():
    gc.collect()
    s = treadle.stats()
    print("".join(errors) or "fine", s["arrays_allocated"] - s["arrays_freed"])
"""


def program(body: str, tmp_path, **env: str) -> None:
    kept = {k: v for k, v in os.environ.items() if k != "PYTHON_GIL"}
    r = subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", PRELUDE + body + "\nfinish()\n"],
        capture_output=True,
        text=True,
        timeout=280,
        env={**kept, "PYTHONMALLOC": "debug", "TREADLE_CACHE_DIR": str(tmp_path), **env},
    )
    assert (r.returncode, r.stdout) == (0, "fine 0\n"), r.stdout[-4000:] + r.stderr[-4000:]


def test_the_gil_stays_off():
    """Importing any of it, compiling and calling leave the interpreter as it was; a warning that the GIL was turned on would be an error."""
    body = """
import sys
import treadle, treadle.run, treadle._inspect, treadle._numba
import numpy as np
assert treadle.njit(lambda x: x + 1)(1) == 2
assert treadle.vectorize(lambda x: x + 1)(np.ones(3)).sum() == 6
print(getattr(sys, "_is_gil_enabled", lambda: True)())
"""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHON_GIL"}
    r = subprocess.run(
        [sys.executable, "-W", "error", "-c", body], capture_output=True, text=True, timeout=250, env=kept
    )
    has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert (r.returncode, r.stdout) == (0, f"{has_gil}\n"), r.stdout + r.stderr


def test_what_the_snapshot_reads_is_rebound(tmp_path):
    """Globals, builtins, cells, defaults, code, attributes of modules and classes: each value is a pair of equals, and nobody else holds it."""
    program(
        """
import builtins, collections, types
from treadle import _core

mod = types.ModuleType("mod")
Point = collections.namedtuple("Point", "x y", defaults=(1.0,))

def enclosing():
    cell = (0.5, 0.5)
    def set_cell(v):
        nonlocal cell
        cell = v
    def get(x):
        return cell[0] - cell[1] + x
    return get, set_cell

get, set_cell = enclosing()
def helper(x, d=(0.5, 0.5), *, k=(0.5, 0.5)):
    return d[0] - d[1] + k[0] - k[1] + x
codes = [helper.__code__, (lambda x, d=None, *, k=None: k[0] - k[1] + d[0] - d[1] + x * 1).__code__]
def root(x):
    p = Point(x)
    return (K[0] - K[49], pair[0] - pair[1], built_in[0] - built_in[1], get(x) - x, helper(x) - x, mod.pair[0] - mod.pair[1],
            p.x - x, p.y - mod.one * p.y, own(x))

def rebind():
    i = 0
    while not done.is_set():
        i += 1
        v = float(i)
        globals()["K"] = np.full(50, v)
        globals()["pair"] = (v + 0.25, v + 0.25)
        globals()["own"] = eval("lambda x: x - x")
        builtins.built_in = (v + 0.5, v + 0.5)
        set_cell((v + 0.75, v + 0.75))
        helper.__defaults__ = ((v, v),)
        helper.__kwdefaults__ = {"k": (v + 1, v + 1)}
        helper.__code__ = codes[i % 2]
        helper.__name__ = helper.__qualname__ = f"helper{i}"
        mod.pair = (v + 2, v + 2)
        mod.one = 1
        Point._field_defaults = {"y": v}
        Point.__name__ = f"Point{i % 7}"

def snapshot():
    for _ in range(250):
        _core._freeze_hash(root)
        assert _core._freeze_current(_core._freeze_deps(root)) in (True, False)

def compile():
    for _ in range(6):
        r = njit(root)(3.0)
        assert r == (0.0,) * 9, r

K, pair, own, mod.pair, mod.one = np.ones(50), (1.0, 1.0), (lambda x: x - x), (1.0, 1.0), 1
builtins.built_in = (1.0, 1.0)
together(snapshot, snapshot, compile, compile, beside=[rebind, rebind])
""",
        tmp_path,
    )


def test_a_ufunc_is_told_of_the_same_types_by_all(tmp_path):
    """Through NumPy's own look for a loop, which asks for one that it lacks: in every thread at once."""
    program(
        """
import itertools
N = 4
turn = threading.Barrier(N)
u = treadle.vectorize(lambda a, b: a + b)
g = treadle.guvectorize("(n),()->(n)")(lambda a, b, out: fill(a, b, out))
@njit
def fill(a, b, out):
    for i in range(len(a)):
        out[i] = a[i] + b
types = [np.dtype(c) for c in "bBhif"]
def ask():
    for a, b in itertools.product(types, types):
        turn.wait()
        assert u(np.ones((2, 3), a)[:, ::2], np.ones((2, 2), b), order="C").sum() == 8
    for a in types:
        turn.wait()
        assert g(np.ones((2, 3), a), np.ones(2, a)).sum() == 12
        turn.wait()
        out = np.zeros((2, 3), "f8")
        g(np.ones((2, 3), a), np.ones(2, a), out=out)
        assert out.sum() == 12
def look():
    while not done.is_set():
        assert len(u.types) <= 26 and len(treadle.ufunc_info(u).signatures) <= 26
        assert u(1.5, 2) == 3.5
u(1.5, 2)
together(*[ask] * N, beside=[look])
assert len(u.types) == 26, u.types
""",
        tmp_path,
    )


def test_reductions_of_a_ufunc_begin_at_once(tmp_path):
    """The chain of a reduction, variants for what repeats, loops that a declared ufunc puts off."""
    program(
        """
N = 4
turn = threading.Barrier(N)
made = []
def work(n):
    for i in range(6):
        if n == 0:
            made[:] = [treadle.vectorize(lambda a, b: a + b), treadle.vectorize(["f8(f8,f8)", "i8(i8,i8)"])(lambda a, b: a + b)]
        turn.wait()
        for u in made:
            assert u.reduce(np.arange(100.0)) == 4950 and u.accumulate(np.arange(10))[-1] == 45
            assert u(np.ones(3000), 1.0).sum() == 6000
        turn.wait()
together(*[(work, n) for n in range(N)])
""",
        tmp_path,
    )


def test_values_that_are_types_die_meanwhile(tmp_path):
    """Specialisations of functions and classes come and go with these, on whatever thread lets go of the last reference."""
    program(
        """
import collections
@njit
def apply(g, x):
    return g(x)
@njit
def either(g, h, x):
    return g(x) + h(x)
shelf = [lambda x: x] * 4
def use(n):
    for i in range(25):
        k = (n + i) % 4
        shelf[k] = eval(f"lambda x: x + {i}")
        g, h = shelf[k], shelf[(k + 1) % 4]
        assert apply(g, 1.5) == g(1.5)
        if i % 4 == 0:
            assert either(g, h, 2.0) == g(2.0) + h(2.0)
def look():
    while not done.is_set():
        apply.signatures, apply.stats, either.overloads
        gc.collect()
together(*[(use, n) for n in range(4)], beside=[look])
shelf.clear()
gc.collect()
assert not apply.signatures and not either.signatures, (apply.signatures, either.signatures)
""",
        tmp_path,
    )


def test_classes_of_named_tuples_come_and_go(tmp_path):
    """Of one name and the same fields, made anew in each thread: every result is of the class that was passed."""
    program(
        """
import collections
@njit
def same(p):
    return p
def use():
    for i in range(25):
        P = collections.namedtuple("P", "x y")
        p = P(1, 2.5)
        r = same(p)
        assert type(r) is P and r == p, (type(r), r)
        assert treadle.typeof(p) == treadle.typeof(P(3, 4.5))
        P.__name__ = f"P{i % 3}"
def look():
    while not done.is_set():
        treadle.typeof((1, collections.namedtuple("P", "x y")(1, 2)))
        gc.collect()
together(use, use, use, beside=[look])
""",
        tmp_path,
    )


def test_arrays_of_one_block_die_in_several_threads(tmp_path):
    """Two results lie in one block; each thread lets go of one."""
    program(
        """
import queue
@njit
def halves(n):
    a = np.ones(n)
    return a[: n // 2], a[n // 2 :], a
N = 3
boxes = [queue.SimpleQueue() for _ in range(N)]
def use(n):
    to, mine = boxes[(n + 1) % N], boxes[n]
    for i in range(4000):
        a, b, c = halves(6 + i % 40)
        to.put([b, c])
        other = mine.get()
        del a, b, c
        other.pop()
        other.pop()
halves(4)
together(*[(use, n) for n in range(N)])
""",
        tmp_path,
    )


def test_sealed_and_unsealed(tmp_path):
    """A call is served or refused, whichever the function is at that moment; the signatures that were declared always are."""
    program(
        """
@njit(["f8(f8)", "i8(i8)"])
def f(x):
    return x + 1
@njit
def caller(x):
    return f(x)
VALUES = [np.float32(1), np.int8(1), True, 1j]
def call(n):
    for i in range(60):
        assert f(1.5) == 2.5 and f(2) == 3
        try:
            assert f(VALUES[(n + i) % 4]) == 2 if (n + i) % 4 < 3 else 2 + 1j
        except TypeError as e:
            assert "has no signature" in str(e), e
        if i % 20 == 0:
            assert njit(lambda x: f(x) * 2)(1.5) == 5
def compile():
    for t in ("f4(f4)", "c16(c16)", "u2(u2)"):
        try:
            f.compile(t)
        except RuntimeError as e:
            assert "disabled" in str(e), e
        f.recompile()
def turn():
    i = 0
    while not done.is_set():
        i += 1
        f.disable_compile(bool(i % 2))
        f.sealed, f.signatures, f.stats, f._declared
together((call, 0), (call, 1), compile, beside=[turn])
""",
        tmp_path,
    )


def test_caches_and_pickles(tmp_path):
    """The same code from the disk cache under several Functions at once; Functions, types and signatures in pickles."""
    program(
        """
import pickle
def make(k):
    def f(x):
        return x * 2 + k
    return njit(cache=True)(f)
def at_module_level(x):
    return x + 1
at_module_level = njit(at_module_level)
def use(n):
    for i in range(12):
        k = i % 3
        f = make(k)
        assert f(n) == 2 * n + k and f(1.5) == 3 + k
        f.recompile()
        assert f(n) == 2 * n + k
        assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
        for t in (treadle.typeof(np.ones((2, 2))), treadle.types.float64[:, ::1], treadle.types.int8(treadle.types.int8[:])):
            assert pickle.loads(pickle.dumps(t)) == t
        assert at_module_level(i) == i + 1
together(*[(use, n) for n in range(4)])
""",
        tmp_path,
    )


def test_forks_of_several_threads(tmp_path):
    """Two at once, while others compile: each child can compile and call."""
    program(
        """
import os, random
@njit
def f(x, y):
    return x * y + 1
def fork():
    for _ in range(6):
        pid = os.fork()
        if pid == 0:
            ok = f(2, 3) == 7 and njit(lambda x: x * 2)(4) == 8 and treadle.vectorize(lambda x: x + 1)(np.ones(2)).sum() == 4
            os._exit(0 if ok else 1)
        assert os.waitpid(pid, 0)[1] == 0
def compile():
    while not done.is_set():
        assert njit(lambda x: x + 1)(1) == 2
os.register_at_fork(before=lambda: [random.random() for _ in range(1000)])  # other threads get their turn amid a fork
together(fork, fork, fork, beside=[compile])
""",
        tmp_path,
    )


def test_standard_output_is_replaced(tmp_path):
    """print() in compiled code, while another thread makes a new sys.stdout and drops the last one."""
    program(
        """
import io
@njit
def say(n):
    for i in range(n):
        print("line", i)
real = sys.stdout
def talk():
    for _ in range(300):
        say(5)
def replace():
    while not done.is_set():
        sys.stdout = io.StringIO()
together(talk, talk, beside=[replace, replace])
sys.stdout = real
""",
        tmp_path,
    )


def test_first_errors_at_once(tmp_path):
    """Errors of compilation, of running code, and of calls, each for the first time in all threads."""
    program(
        """
N = 4
turn = threading.Barrier(N)
def fails():
    @njit
    def f(x):
        return x.nope
    @njit
    def g(a, i):
        if i < 0:
            raise ValueError("negative")
        return a[i]
    turn.wait()
    for call, cls in [(lambda: f(1.0), treadle.TypingError), (lambda: g(np.ones(2), 5), IndexError), (lambda: g(np.ones(2), -1), ValueError),
                      (lambda: g([g, 1], 0), TypeError)]:
        try:
            call()
        except cls:
            continue
        assert False, cls
together(*[fails] * N)
""",
        tmp_path,
    )


def test_the_end_of_the_interpreter(tmp_path):
    """What a hook keeps lives longer than the module."""
    program(
        """
import os
f, u = njit(lambda x: x + 1), treadle.vectorize(lambda x: x + 1)
assert f(1) == 2 and u(1.0) == 2
os.register_at_fork(before=lambda: (f, u))
""",
        tmp_path,
    )
