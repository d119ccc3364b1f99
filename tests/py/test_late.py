"""What hardly ever runs is compiled when it is first reached: copies of array expressions whose sizes differ, checked copies of loops."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from on_stack import on_stack  # noqa: E402

FIXED = np.arange(5.0)


def mixed(a, b, k):
    c = a * k + b
    d = np.where(c > a, c, b)
    return np.sqrt(np.abs(d)), d.sum(), (c - b).max()


def window(a, i, n):
    s = 0.0
    for k in range(n):
        s += a[i + k] * FIXED[k % 5]
    return s, n


def late_of(function):
    """Names of the parts that are left out of the compiled code, as the passes show them."""
    text = function.inspect_ir()
    text = text if isinstance(text, str) else "".join(text.values())
    return [line.split("@")[1].split()[0] for line in text.splitlines() if ".late" in line and "fn @" in line]


SHAPES = [
    ((3, 4), (3, 4)),
    ((3, 4), (1, 4)),
    ((3, 1), (1, 4)),
    ((1, 1), (3, 4)),
    ((0, 4), (1, 4)),
    ((700, 1), (1, 600)),
]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "c16"])
def test_sizes_that_differ(dtype):
    def add(a, b):
        c = a * 3 + b
        return c - a, c.sum()

    ours = njit(add)
    rng = np.random.default_rng(0)
    for one, two in SHAPES:
        a, b = ((rng.standard_normal(s) * 9).astype(dtype) for s in (one, two))
        got, want = ours(a, b), add(a, b)
        assert got[0].dtype == want[0].dtype and np.array_equal(got[0], want[0])
        assert np.allclose(got[1], want[1])
    assert len(late_of(ours)) == 1


def test_several_results_and_errors():
    ours = njit(mixed)
    a, b = np.linspace(-1, 1, 12).reshape(3, 4), np.ones((1, 4))
    for x, y in ((a, a[::-1].copy()), (a, b), (b, a), (a[:, :1].copy(), b)):
        for got, want in zip(ours(x, y, 2.0), mixed(x, y, 2.0), strict=True):
            assert np.allclose(got, want, rtol=1e-15)
    with pytest.raises(
        ValueError, match=r"could not be broadcast together with shapes \(3,4\) \(3,3\)"
    ) as caught:
        ours(a, np.ones((3, 3)), 2.0)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert (frames[-1].name, frames[-1].lineno) == ("mixed", mixed.__code__.co_firstlineno + 1)
    with pytest.raises(ValueError, match="zero-size"):
        ours(a[:0], b, 2.0)


def test_a_checked_loop():
    ours = njit(window)
    assert late_of(ours) or ours(np.arange(10.0), 0, 3)
    a = np.arange(10.0)
    for i, n in ((0, 10), (-4, 4), (-3, 9), (9, 1), (3, 0), (99, -1)):
        assert ours(a, i, n) == window(a, i, n)
    with pytest.raises(IndexError, match="index 10 is out of bounds for axis 0 with size 10") as caught:
        ours(a, 5, 9)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert (frames[-1].name, frames[-1].lineno) == ("window", window.__code__.co_firstlineno + 3)
    assert late_of(ours)
    assert ours(a, 0, 10) == window(a, 0, 10)


def test_errors_pass_through_callers():
    """A traceback of code in two modules."""

    @njit
    def inner(a, b, i):
        if i > 0:
            return inner(a, b, i - 1)
        return (a + b * 2 - a).sum()

    @njit
    def outer(a, b):
        return inner(a, b, 2) + 1

    assert outer(np.ones(3), np.ones(3)) == 7
    assert outer(np.ones(3), np.ones(1)) == 7
    with pytest.raises(ValueError, match=r"with shapes \(3,\) \(2,\)") as caught:
        outer(np.ones(3), np.ones(2))
    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-4:] == ["outer", "inner", "inner", "inner"]


def test_many_threads_reach_it_at_once():
    ours = njit(nogil=True)(mixed)
    a, b = np.ones((30, 4)), np.ones((1, 4))
    ours(a, a, 1.0)
    want = mixed(a, b, 1.0)
    start, found = threading.Barrier(8), []

    def work():
        start.wait()
        found.append(ours(a, b, 1.0))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8
    assert all(np.array_equal(f[0], want[0]) and f[1:] == want[1:] for f in found)


def test_a_worker_reaches_it():
    @njit
    def one(a, b, n):
        if n > 0:
            return one(a, b, n - 1)
        return (a * 2 + b).sum()

    @njit(parallel=True)
    def all_of(a, b, fail):
        out = np.zeros(64)
        for i in prange(64):
            out[i] = one(a[i : i + 3], b[: 2 if i == fail else 1], 1)
        return out

    a, b = np.arange(70.0), np.ones(2)
    assert np.array_equal(all_of(a, b, -1), [a[i : i + 3].sum() * 2 + 3 for i in range(64)])
    with pytest.raises(ValueError, match=r"with shapes \(3,\) \(2,\)"):
        all_of(a, b, 40)
    assert all_of(a, b, -1)[63] == a[63:66].sum() * 2 + 3


def test_deep_in_a_recursion():
    """Near the end of the stack the compiler gets one of its own."""

    @njit
    def down(a, b, n):
        if n == 0:
            return (a + b).sum()
        return down(a, b, n - 1) + 1

    def work():
        deepest = 1
        while deepest < 100_000:
            try:
                down(np.ones(3), np.ones(3), deepest * 2)
            except RecursionError:
                break
            deepest *= 2
        return down(np.ones(3), np.ones(1), deepest) - deepest

    assert on_stack(256, work) == 6


PROGRAM = """
import os, sys
import numpy as np, treadle
from treadle import njit
TABLE = np.arange(4.0)
@njit(cache=True)
def f(a, b):
    c = a * 2 + b
    return (c * TABLE - a).sum()
a, b = np.ones((3, 4)), np.ones((1, 4))
print(f(a, a), f.stats["loaded"])
print(f(a, b), len([l for l in open("/proc/self/maps") if "treadle_llvm" in l]) > 0)
if hasattr(os, "fork") and os.fork() == 0:
    os._exit(0 if f(a, b) == f(a, a) else 1)
print(os.wait()[1])
"""


def test_cache(tmp_path):
    """Both parts are cached: the second process does not open the back end."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    out = []
    for _ in range(2):
        r = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=env, timeout=120)
        assert r.returncode == 0, r.stderr
        out.append(r.stdout.split())
    assert out[0][0] == out[1][0] == out[0][2] == out[1][2]
    assert (out[0][1], out[0][3]) == ("0", "True")
    assert (out[1][1], out[1][3]) == ("1", "False")
    assert out[0][4] == out[1][4] == "0"


FAILS = """
import resource, sys
import numpy as np, treadle.errors
from treadle import njit, prange
@njit(cache=True)
def f(a, b, n=1):
    return f(a, b, n - 1) if n else (a * 2 + b).sum()
@njit(cache=True, parallel=True)
def g(a, b):
    out = np.zeros(64)
    for i in prange(64):
        out[i] = f(a[i : i + 3], b, 1)
    return out
a, b = np.ones(70), np.ones(1)
print(f(a[:3], a[:3]), g(a, a[:3]).sum())
if len(sys.argv) > 1:  # all of this came from the cache: the back end is not open yet, and cannot be opened
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for function, x in ((f, a[:3]), (g, a)):
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            function(x, b)
        except treadle.errors.LoweringError as e:
            print(str(e).rsplit(": the ")[0], "libtreadle_llvm" in str(e), sep="|")
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    print(f(a[:3], b), g(a, b).sum())
"""


def test_an_error_names_the_function(tmp_path):
    """It is an exception, also where a worker met it, and the next call tries again."""
    path = tmp_path / "fails.py"
    path.write_text(FAILS)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"), TREADLE_NUM_THREADS="4")
    for args in ([], ["again"]):
        r = subprocess.run(
            [sys.executable, str(path), *args], capture_output=True, text=True, env=env, timeout=120
        )
        assert r.returncode == 0, r.stderr
        lines = r.stdout.splitlines()
        assert lines[0] == "9.0 576.0"
    says = "(): a part that hardly ever runs could not be compiled when it was needed|True"
    assert lines[1:] == ["f" + says, "g" + says, "9.0 576.0"]


HOOKS = """
import os, threading, time
in_fork = threading.Event()
def wait():
    in_fork.set()
    time.sleep(0.5)
os.register_at_fork(before=wait)  # runs after Treadle's own: what comes first is called last
import numpy as np
from treadle import njit
f = njit(lambda a, b: (a * 2 + b).sum())
a, b = np.ones(3), np.ones(1)
f(a, a)
found = []
def work():
    in_fork.wait()
    found.append(f(a, b))
t = threading.Thread(target=work)
t.start()
pid = os.fork()
if pid == 0:
    os._exit(int(f(a, b)))
t.join()
print(found, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_hooks_of_a_fork_do_not_wait_for_it():
    """Code is reached with the GIL that a fork's hook needs."""
    r = subprocess.run([sys.executable, "-c", HOOKS], capture_output=True, text=True, timeout=60)
    assert (r.returncode, r.stdout) == (0, "[9.0] 9\n"), r.stderr


DURING = """
import os, threading
import numpy as np
from treadle import njit
lines = "".join(f"    s += (a * {k + 2} + b).sum()\\n" for k in range(40))
space = {}
exec("def f(a, b):\\n    s = 0.0\\n" + lines + "    return s", space)
f = njit(nogil=True)(space["f"])
a, b = np.ones(3), np.ones(1)
f(a, a)
found, children = [], []
t = threading.Thread(target=lambda: found.append(f(a, b)))
t.start()
while t.is_alive():  # it is compiled now
    pid = os.fork()
    if pid == 0:
        os._exit(len(children) % 8 == 0 and f(a, b) != 3 * sum(range(3, 43)))
    children.append(pid)
t.join()
print(found == [3.0 * sum(range(3, 43))], any(os.waitpid(pid, 0)[1] for pid in children), len(children) > 0)
"""


def test_forks_while_it_is_compiled():
    """A fork waits for the compile, and not the compile for it. How many forks there are in that time depends on the machine."""
    r = subprocess.run([sys.executable, "-c", DURING], capture_output=True, text=True, timeout=60)
    assert (r.returncode, r.stdout) == (0, "True False True\n"), r.stderr


def test_functions_that_threads_and_forks_meet():
    """Fresh functions; threads reach their parts at once, and a child reaches them for itself."""
    a, b = np.arange(70.0), np.ones(2)

    def make(nogil, k):
        @njit(nogil=nogil)
        def one(a, b, n):
            if n > 0:
                return one(a, b, n - 1)
            return (a * k + b).sum()

        @njit(parallel=True, nogil=nogil)
        def all_of(a, b):
            out = np.zeros(64)
            for i in prange(64):
                out[i] = one(a[i : i + 3], b[:1], 1)
            return out

        return all_of, np.array([(a[i : i + 3] * k + 1).sum() for i in range(64)])

    for k in range(4):
        function, want = make(k % 2 == 1, k + 2.0)
        start, found = threading.Barrier(5), []

        def work(function=function, start=start, found=found):
            start.wait()
            found.append(function(a, b))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        start.wait()
        pid = os.fork()
        if pid == 0:
            os._exit(not np.array_equal(function(a, b), want))
        del function, work
        for t in threads:
            t.join()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert len(found) == 4 and all(np.array_equal(f, want) for f in found)


def test_errors_in_a_ufunc():
    @treadle.vectorize
    def pick(x, i):
        s = 0.0
        for k in range(4):
            s += FIXED[int(i) + k] * x
        return s

    x = np.ones(3)
    assert np.array_equal(pick(x, np.array([0.0, 1, -4])), [6, 10, 10])
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5") as caught:
        pick(x, np.array([0.0, 2, 1]))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert (frames[-1].name, frames[-1].line) == ("pick", "s += FIXED[int(i) + k] * x")


def test_texts_show_it():
    f = njit(lambda a, b: (a * 2 + b).sum())
    f(np.ones(3), np.ones(3))
    for text, mark in ((f.inspect_llvm(), "; late code 0: "), (f.inspect_asm(), "# late code 0: ")):
        (whole,) = text.values() if isinstance(text, dict) else (text,)
        assert whole.count(mark + "compiled when it is first reached") == 1
        assert "@tr_entry" in whole.split(mark)[1] if mark[0] == ";" else "tr_entry:" in whole.split(mark)[1]
    assert "late1" in str(f.inspect_ir())


def test_it_can_be_left_out():
    code = "import numpy as np\nfrom treadle import njit\nf = njit(lambda a, b: (a * 2 + b).sum())\nprint(f(np.ones(3), np.ones(1)))"
    env = dict(os.environ, TREADLE_SKIP="late", TREADLE_DUMP="opt:late")
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120)
    assert (r.returncode, r.stdout, r.stderr) == (0, "9.0\n", "")
    env = dict(os.environ, TREADLE_DUMP="opt:late")
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=120)
    assert r.stdout == "9.0\n" and "= call #1(" in r.stderr and '.late1" -> f64' in r.stderr


def test_its_code_goes_with_the_function():
    def live():
        gc.collect()
        return treadle.stats()["code_bytes"]

    before = live()
    f = njit(lambda a, b: (a * 2 + b).sum())
    f(np.ones(3), np.ones(3))
    one, own = live(), f.stats["code_bytes"]
    f(np.ones(3), np.ones(1))
    assert live() > one > before
    assert f.stats["code_bytes"] - own == live() - one
    del f
    assert live() == before
