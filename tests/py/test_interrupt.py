"""Ctrl-C, and any signal whose handler raises, ends compiled code wherever it is; after a handler that returns it goes on unharmed."""

import json
import os
import select
import signal
import subprocess
import sys
import textwrap

import pytest
import treadle

# A timer rings again and again; the third time after something was compiled its handler raises, so it meets compiled code.
HEAD = """
import os, signal, sys, threading, time, traceback
import numpy as np
import treadle
from treadle import guvectorize, njit, prange, vectorize
rings, before = [], sum(treadle.stats()[k] for k in ("compiled", "loaded"))
def ring(*_):
    rings.append(sum(treadle.stats()[k] for k in ("compiled", "loaded")) > before)
    if sum(rings) > 2:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
"""
TAIL = """
try:
    run()
except KeyboardInterrupt as e:
    print("interrupted", *[x.name for x in traceback.extract_tb(e.__traceback__) if x.name == "f"])
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, signal.SIG_IGN)  # one may be on its way, and at its end Python gives back what was
"""
# Runs one program after the other, each a line of JSON; answers what it printed.
SERVER = """
import contextlib, io, json, sys
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(json.loads(line), "program", "exec"), {"__name__": "program"})
    print(json.dumps(out.getvalue().splitlines()), flush=True)
"""
# Each `run()` would go on for hours.
LOOPS = {
    "for": """
        @njit
        def f(n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + i
            return s
        run = lambda: f(10**15)""",
    "while": """
        @njit
        def f(n):
            k = s = 0
            while k != n:
                s ^= k
                k += 2
            return s
        run = lambda: f(-1)""",
    "forever": """
        @njit
        def f(a):
            while True:
                a[0] += 1.0
        run = lambda: f(np.zeros(1))""",
    "nest": """
        @njit
        def f(n):
            s = 0.0
            for i in range(n):
                for j in range(100):
                    for k in range(3):
                        s += (i ^ j) * k
            return s
        run = lambda: f(10**15)""",
    "long inner": """
        @njit
        def f(n):
            s = 0.0
            for i in range(2):
                for j in range(n):
                    s += (i ^ j) * 0.5
            return s
        run = lambda: f(10**15)""",
    "triangle": """
        @njit
        def f(n, a):
            for i in range(n):
                for j in range(i, n):
                    a[j & 7] += 1.0
        run = lambda: f(10**12, np.zeros(8))""",
    "stores": """
        @njit
        def f(a, times):
            for _ in range(times):
                for i in range(a.shape[0]):
                    a[i] += 1.0
        run = lambda: f(np.zeros(1000), 10**15)""",
    "literal": """
        @njit
        def f():
            s = 0
            for i in range(10**15):
                s ^= i * i
            return s
        run = lambda: f()""",
    "call": """
        @njit
        def g(n):
            return n if n < 2 else g(n - 1) + g(n - 2)
        @njit
        def f(n):
            s = 0
            for i in range(n):
                s ^= g(i % 20)
            return s
        run = lambda: f(10**15)""",
    "recursion": """
        @njit
        def f(n):
            return n if n < 2 else f(n - 1) + f(n - 2)
        run = lambda: f(90)""",
    "line of an expression": """
        @njit
        def f(a):
            return (a * 2.0 + 1.0).max()
        run = lambda: f(np.broadcast_to(np.float64(1), 10**15))""",
    "sum of an expression": """
        @njit
        def f(a):
            return (a * 2.0 + 1.0).sum()
        run = lambda: f(np.broadcast_to(np.float64(1), (10**7, 10**7)))""",
    "rows": """
        @njit
        def f(a):
            return a.sum(axis=1).sum() + (a > 0).sum()
        run = lambda: f(np.broadcast_to(np.float64(1), (1000, 10**13)))""",
    "columns": """
        @njit
        def f(a):
            return (a * a).sum(axis=0)
        run = lambda: f(np.broadcast_to(np.arange(3.0), (10**14, 3)))""",
    "fill in place": """
        @njit
        def f(a, b):
            a[:] = b
        a = np.lib.stride_tricks.as_strided(np.zeros(1), (10**15,), (0,))
        run = lambda: f(a, np.broadcast_to(np.float64(1), 10**15))""",
    "prange, tiny body": """
        @njit(parallel=True)
        def f(n):
            s = 0
            for i in prange(n):
                s += i & 7
            return s
        run = lambda: f(10**15)""",
    "prange, one round": """
        @njit(parallel=True)
        def f(n, a):
            for i in prange(a.shape[0]):
                for j in range(n):
                    a[i] = a[i] * 0.5 + j
        run = lambda: f(10**15, np.zeros(3))""",
    "prange without parallel": """
        @njit
        def f(n):
            s = 0
            for i in prange(n):
                s += i & 7
            return s
        run = lambda: f(10**15)""",
    "parallel expression": """
        @njit(parallel=True)
        def f(a):
            return (a * 2.0 + 1.0).sum()
        run = lambda: f(np.broadcast_to(np.float64(1), (10**7, 10**7)))""",
    "gufunc": """
        @guvectorize("(n),()->()")
        def f(x, n, out):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + x[0]
            out[()] = s
        run = lambda: f(np.ones((3, 2)), 10**15)""",
    "ufunc": """
        @vectorize
        def f(n):
            k = n
            while k != n + 1:
                k ^= 2
            return k
        run = lambda: f(np.arange(5))""",
    "ufunc of many": """
        @vectorize
        def f(x, y):
            return x + y
        out = np.lib.stride_tricks.as_strided(np.zeros(1), (10**7, 10**7), (0, 0))
        run = lambda: f(np.broadcast_to(1.0, (10**7, 10**7)), 1.0, out=out)""",
    "late": """
        @njit
        def f(a, n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + a[i & 3]  # the checked copy
            return s
        run = lambda: f(np.ones(4), 10**15)""",
    "late, and entered": """
        @njit
        def f(a, n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + a[i if i < 0 else i & 3]
                for j in range(n):
                    s += a[j - n - 1 if j == 7 and s < 0 else j & 3]
            return s
        run = lambda: f(np.ones(4), 10**15)""",
    "nogil": """
        @njit(nogil=True)
        def f(n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + i
            return s
        run = lambda: f(10**15)""",
    "fills": """
        @njit
        def f(a, n):
            for i in range(n):
                a[:] = 0.0
        a = np.zeros(4_000_000)
        run = lambda: f(a, 10**15)""",
    "copies": """
        @njit
        def f(a, b, n):
            for i in range(n):
                a[:] = b
        a = np.zeros(4_000_000)
        run = lambda: f(a, a.copy(), 10**15)""",
    "products": """
        @njit
        def f(a, n):
            for i in range(n):
                a = a @ a
            return a
        run = lambda: f(np.eye(700), 10**15)""",
    "sums": """
        @njit
        def f(a, n):
            s = 0.0
            for i in range(n):
                s += a.sum()
            return s
        run = lambda: f(np.zeros(4_000_000), 10**15)""",
    "places of extremes": """
        @njit
        def f(a, n):
            s = 0
            for i in range(n):
                s += a.argmax()
            return s
        run = lambda: f(np.arange(4_000_000.0), 10**15)""",
    "mathematics": """
        @njit
        def f(n):
            s = 0.5
            while s < n:
                s = np.sin(s) * np.exp(-s) + s ** 0.3
            return s
        run = lambda: f(10**15)""",
    "new arrays": """
        @njit
        def f(n):
            s = 0.0
            for i in range(n):
                a = np.ones(1 + (i & 63))
                s += a[i % a.shape[0]]
            return s
        run = lambda: f(10**15)""",
    "print": """
        @njit
        def f(n):
            for i in range(n):
                print(i)
        def run():
            before, sys.stdout = sys.stdout, open(os.devnull, "w")
            try:
                f(10**15)
            finally:
                sys.stdout = before""",
    "in a try": """
        @njit
        def f(a, n):
            for i in range(n):
                try:
                    a[i & 7] += 1.0
                except Exception:
                    return -1
                finally:
                    a[0] = 3.0
            return 0
        run = lambda: f(np.zeros(4 * 2), 10**15)""",
    "prange, unequal": """
        @njit(parallel=True)
        def f(a, n):
            for i in prange(a.shape[0]):
                while i > 5 and a[i] >= 0:
                    a[i] += n
        run = lambda: f(np.zeros(40), 1)""",
    "scan": """
        @njit(parallel=True)
        def f(a, n):
            s = 0.0
            for i in range(n):
                s += np.cumsum(a * 1.5)[-1]
            return s
        run = lambda: f(np.zeros(3_000_000), 10**15)""",
    "sorting": """
        @njit
        def f(a, n):
            s = 0.0
            for i in range(n):
                s += np.sort(a)[0] + np.partition(a, 1000)[0]
            return s
        run = lambda: f(np.random.random(400_000), 10**15)""",
    "options": """
        @njit(fastmath=True, boundscheck=False, error_model="numpy")
        def g(a, i):
            return a[i] / i
        @njit
        def f(a, n):
            s = 0.0
            while n:
                s += g(a, n & 3)
            return s
        run = lambda: f(np.zeros(4), 1)""",
}


def run(code, tmp_path, **env):
    """Standard output's lines."""
    path = tmp_path / "program.py"
    path.write_text(HEAD + textwrap.dedent(code) + TAIL)
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class Servers:
    """A process for each environment, started when it is asked for, and again after one that hung or died."""

    def __init__(self):
        self.running = {}

    def answer(self, code, **env):
        key = tuple(env.items())
        p = self.running.pop(key, None) or subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **env},
        )
        try:
            p.stdin.write(json.dumps(HEAD + textwrap.dedent(code) + TAIL).encode() + b"\n")
            p.stdin.flush()
            line = p.stdout.readline() if select.select([p.stdout], [], [], 300)[0] else b""
            assert line, "it was not interrupted, or died"
        except BaseException:
            self.end(p)
            raise
        self.running[key] = p
        return json.loads(line)

    @staticmethod
    def end(p):
        p.kill()
        p.communicate()


@pytest.fixture(scope="module")
def servers():
    s = Servers()
    yield s
    for p in s.running.values():
        s.end(p)


# Where the suite is run once more, by another Python or under sanitizers, some do.
SOME = 1 if os.environ.get("TREADLE_WAYS", "1") == "1" else 3


@pytest.mark.parametrize("name", [*LOOPS][::SOME])
def test_what_runs_for_long_is_ended(name, servers):
    assert servers.answer(LOOPS[name])[-1].split()[:1] == ["interrupted"]


# Of long ones, so that next to no time goes into compiled code itself.
OF_TEXTS = """s.count("b")|s.rfind("c")|"c" in s|len(s.upper())|len(s.title())|len(s.replace("a", "bb"))|len(s.strip("ab"))
s.isalpha()|s.isidentifier()|len(s.center(300000))|len(s.expandtabs())|len(s.splitlines())|len(s[::-1])|len(s * 2)|len(repr(s))
len(ascii(s))|len(s + "c")|s[:-1] == s[1:]|hash(s[i % 7 :]) % 3|len({s[i % 7 :]: 1})|s in d|(s, 1) in e|len(s.encode())
len(b.decode())|len(b.hex())|b.count(b"b")|len(b.replace(b"a", b"bb"))|len(b.upper())""".replace(
    "\n", "|"
).split("|")


@pytest.mark.parametrize("what", OF_TEXTS[::SOME])
def test_functions_of_texts_are_ended(what, servers):
    code = f"""
        @njit
        def f(s, b, n):
            t = 0
            d, e = {{s[1:]: 1}}, {{(s[1:], 1): 1}}
            for i in range(n):
                t += {what}
            return t
        run = lambda: f("ab" * 100000, b"ab" * 100000, 10**15)"""
    assert servers.answer(code)[-1].split()[:1] == ["interrupted"]


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("name", [name for name in LOOPS if "prange" in name or "parallel" in name][::SOME])
def test_however_many_threads(name, threads, servers):
    assert servers.answer(LOOPS[name], TREADLE_NUM_THREADS=threads)[-1].split()[:1] == ["interrupted"]


def test_sigint_from_outside(tmp_path):
    """The signal of Ctrl-C, from another process, with Python's own handler; the traceback has the function."""
    code = """
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        @njit
        def f(n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + i
            return s
        f(10)
        def run():
            print("ready", flush=True)
            f(10**15)
    """
    path = tmp_path / "program.py"
    path.write_text(HEAD + textwrap.dedent(code) + TAIL)
    p = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert p.stdout.readline() == "ready\n"
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=300)
    finally:
        p.kill()
    assert out.split()[:1] == ["interrupted"]


def test_the_traceback_names_the_function(tmp_path):
    assert run(LOOPS["for"], tmp_path)[-1].split() == ["interrupted", "f"]


def test_cached_code(tmp_path):
    code = LOOPS["nest"].replace("@njit", "@njit(cache=True)")
    for _ in range(2):
        assert run(code, tmp_path, TREADLE_CACHE_DIR=str(tmp_path / "cache"))[-1].split()[:1] == [
            "interrupted"
        ]


GOES_ON = """
seen = []
def handler(*_):
    seen.append(g(7))                     # compiled code amid compiled code
    np.sum(np.random.random(1000) ** 0.3) # and registers used
    if len(seen) >= 20:
        signal.setitimer(signal.ITIMER_REAL, 0)
@njit
def g(n):
    s = 0.0
    for i in range(n):
        s += i * 0.25
    return s
g(1)
{function}
handler()
want = {call}
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
def run():
    rounds = 0
    while len(seen) < 20:
        assert {same}, rounds
        rounds += 1
    print("unharmed", set(seen) == {{g(7)}})
"""
UNHARMED = {
    "scalars": (
        """
@njit
def f(n):
    s, t, k, x = 0.5, 1.5, 3, 1
    for i in range(n):
        s = s * 0.5 + i
        t = np.sin(t + s)
        x = (x * 6364136223846793005 + k) ^ (i << 3)
        k = k + 1 if x & 4096 else k - 2
    return s, t, k, x""",
        "f(3_000_000)",
        "f(3_000_000) == want",
    ),
    "vectors": (
        """
a = np.arange(4000.0)
@njit(fastmath=True)
def f(a, n):
    s = 0.0
    b = np.zeros(a.shape[0])
    for r in range(n):
        for i in range(a.shape[0]):
            b[i] = b[i] * 0.5 + a[i] * r
        s += np.sqrt(b + 1.0).sum() + a[r % a.shape[0]]
    return s, b.copy()""",
        "f(a, 5000)",
        "(lambda r: r[0] == want[0] and np.array_equal(r[1], want[1]))(f(a, 5000))",
    ),
    "new arrays, caught exceptions": (
        """
a = np.arange(50.0)
@njit
def f(a, n):
    s = 0.0
    for i in range(n):
        b = a[i % 7 : i % 49 + 1] * 2.0
        try:
            s += b[i % 50]
        except IndexError:
            s -= b.shape[0]
    return s""",
        "f(a, 300_000)",
        "f(a, 300_000) == want",
    ),
    "recursion": (
        """
@njit
def f(n):
    return n if n < 2 else f(n - 1) + f(n - 2)""",
        "f(30)",
        "f(30) == want",
    ),
    "threads": (
        """
a = np.arange(100_000.0)
@njit(parallel=True)
def f(a, n):
    s = 0.0
    for r in range(n):
        for i in prange(a.shape[0]):
            s += (a[i] * r) % 7.0
    return s""",
        "f(a, 100)",
        "f(a, 100) == want",
    ),
}


@pytest.mark.parametrize("name", [*UNHARMED][::SOME])
def test_a_handler_that_returns(name, servers):
    """It runs compiled code, allocates, uses every register; the interrupted call gives what it gives undisturbed."""
    function, call, same = UNHARMED[name]
    code = "signal.setitimer(signal.ITIMER_REAL, 0)\n" + GOES_ON.format(
        function=function, call=call, same=same
    )
    assert servers.answer(code) == ["unharmed True"]


def test_a_handler_that_raises_its_own(tmp_path):
    code = """
        def handler(*_):
            raise LookupError("mine")
        @njit
        def f(n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + i
            return s
        f(1)
        signal.signal(signal.SIGALRM, handler)
        def run():
            try:
                f(10**15)
            except LookupError as e:
                signal.setitimer(signal.ITIMER_REAL, 0)
                print(e, f(3))
    """
    assert run(code, tmp_path) == ["mine 2.5"]


def test_nobody_catches_it_in_compiled_code(tmp_path):
    code = """
        @njit
        def f(a, n):
            try:
                while n:
                    n += 2
            except Exception:
                a[0] = 1.0
            finally:
                a[1] = 1.0
        a = np.zeros(2)
        def run():
            try:
                f(a, 1)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                print(a)
    """
    assert run(code, tmp_path) == ["[0. 0.]", "interrupted f"]


def test_memory_is_released(tmp_path):
    """Whatever a call was at, again and again: all that it made is freed."""
    code = """
        signal.setitimer(signal.ITIMER_REAL, 0)
        @njit
        def g(a, k):
            b = a * k
            return b[: a.shape[0] // 2]
        @njit
        def f(n, m):
            s = 0.0
            for i in range(n):
                a = np.ones(m + i % 5)
                b = g(a, i)
                try:
                    s += b[i % m]
                except IndexError:
                    s += 1.0
            return s
        f(3, 40)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        def run():
            before = treadle.stats()
            for _ in range(30):
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                try:
                    f(10**15, 40)
                except KeyboardInterrupt:
                    pass
            after = treadle.stats()
            new, gone = (after[k] - before[k] for k in ("arrays_allocated", "arrays_freed"))
            print(new > 0, new == gone)
    """
    assert run(code, tmp_path) == ["True True"]


def test_a_region_can_be_begun_again(tmp_path):
    """Workers that were taken out of their loops serve the next region."""
    code = """
        signal.setitimer(signal.ITIMER_REAL, 0)
        @njit(parallel=True)
        def f(a, n):
            for i in prange(a.shape[0]):
                for j in range(n):
                    a[i] = a[i] * 0.5 + j
        f(np.zeros(3), 1)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        def run():
            for _ in range(10):
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                try:
                    f(np.zeros(5), 10**15)
                except KeyboardInterrupt:
                    pass
                a = np.zeros(1000)
                f(a, 3)
                assert (a == 2.5).all()
            print("served")
    """
    assert run(code, tmp_path, TREADLE_NUM_THREADS="3") == ["served"]


def test_a_thread_is_not_the_one_that_is_interrupted(tmp_path):
    code = """
        @njit(nogil=True)
        def f(n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + i
            return s
        ended = []
        def work():
            try:
                f(10**15)
            finally:
                ended.append(1)
        def run():
            t = threading.Thread(target=work, daemon=True)
            t.start()
            try:
                t.join()
            except KeyboardInterrupt:
                print("joined no more", ended, flush=True)
                os._exit(0)
    """
    assert run(code, tmp_path) == ["joined no more []"]


def test_the_child_of_a_fork_is_interrupted_too(tmp_path):
    """The handler forks in the middle of compiled code."""
    code = """
        signal.setitimer(signal.ITIMER_REAL, 0)
        @njit
        def f(n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + i
            return s
        f(1)
        def handler(*_):
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGALRM, signal.default_int_handler)
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                return # and on with the loop
            os.waitpid(pid, 0)
            raise LookupError
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        def run():
            try:
                f(10**15)
            except KeyboardInterrupt:
                print("child", flush=True)
                os._exit(0)
            except LookupError:
                print("parent")
    """
    assert run(code, tmp_path) == ["child", "parent"]


def test_a_signal_that_is_somebodys(tmp_path):
    """Who has a handler for SIGURG keeps it: ticks take another signal."""
    code = """
        urgent = []
        signal.signal(signal.SIGURG, lambda *_: urgent.append(1))
        @njit
        def f(n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + i
            return s
        def run():
            try:
                f(10**15)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                print(urgent)
                os.kill(os.getpid(), signal.SIGURG)
                print(urgent)
    """
    assert run(code, tmp_path) == ["[]", "[1]", "interrupted f"]


def test_a_signal_that_becomes_somebodys(tmp_path):
    """Who installs a handler for SIGURG later gets a tick that was due, and none that are meant for workers."""
    code = """
        out, come = os.pipe()
        os.set_blocking(come, False)
        signal.setitimer(signal.ITIMER_REAL, 0)
        def end(*_):
            raise KeyboardInterrupt
        @njit(parallel=True)
        def f(a, n):
            for i in prange(a.shape[0]):
                for j in range(n * (i + 1)):
                    a[i] = a[i] * 0.5 + j
        def run():
            f(np.zeros(4), 1)
            signal.signal(signal.SIGALRM, end)
            signal.signal(signal.SIGURG, lambda *_: None)
            signal.set_wakeup_fd(come) # a byte for each signal that Python is given
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                f(np.zeros(4), 50_000_000)
            finally:
                print(os.read(out, 1000).count(signal.SIGURG) < 2)
    """
    assert run(code, tmp_path, TREADLE_NUM_THREADS="4")[0] == "True"


def test_a_child_of_a_thread_with_a_small_stack(tmp_path):
    """The thread that forked is the one that is given signals; where it has no room for a handler the call ends first."""
    code = """
        signal.setitimer(signal.ITIMER_REAL, 0)
        @njit
        def f(n):
            s = 0.0
            for i in range(n):
                s = s * 0.5 + i
            return s
        f(1)
        def work():
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGALRM, lambda *_: None)
                signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
                os._exit(f(100_000_000) != f(100_000_000))
            print(os.waitpid(pid, 0)[1])
        threading.stack_size(1 << 16)
        def run():
            t = threading.Thread(target=work)
            t.start()
            t.join()
    """
    assert run(code, tmp_path) == ["0"]


if sys.version_info < (3, 12):  # from there on an interpreter that is not the first imports no treadle

    def test_another_interpreter():
        """It is given no signals, and asking the first one for them would wait for ever."""
        inner = """
            from treadle import njit
            @njit
            def f(n):
                s = 0.0
                for i in range(n):
                    s = s * 0.5 + i
                return s
            print(f(200_000_000) > 0, flush=True)
        """
        code = f"import _xxsubinterpreters as x\nx.run_string(x.create(), {textwrap.dedent(inner)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        assert done.stdout == "True\n", done.stderr


def test_deep_recursion_is_left(tmp_path):
    """The handler needs room on the stack, which is at its end now and then; the call is ended where there is some."""
    code = """
        @njit
        def f(n):
            if n > 0:
                return f(n - 1) + 1
            return 0
        @njit
        def g(n):
            s = 0
            while n:
                try:
                    s += f(n)
                except RecursionError:
                    s += f(1000)
        run = lambda: g(10**9)
    """
    assert run(code, tmp_path)[-1].split()[:1] == ["interrupted"]


def test_no_loop_asks():
    """Code is as it would be without interrupts."""

    @treadle.njit
    def f(n):
        s = 0.5
        for i in range(n):
            for j in range(i):
                s = s * 0.5 + j
        return s

    assert f(3) == 1.0625
    (text,) = f.inspect_asm().values()
    assert "call" not in text


def test_calls_in_a_row_are_interrupted(tmp_path):
    """Short calls from a long loop of Python's: nothing is lost between them."""
    code = """
        @njit
        def f(n):
            return n + 1
        def run():
            k = 0
            while True:
                k = f(k)
    """
    assert run(code, tmp_path)[-1].split()[:1] == ["interrupted"]
