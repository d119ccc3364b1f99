"""The thread pool from Python: its size, limits of threads, interrupts, print(), forks and the interpreter's end.

`_pool_run` runs one region with a body in C (src/ext/threads.c); the pool itself is tested by tests/c/test_pool.c.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import pytest
import treadle
from treadle import _core, get_num_threads, get_thread_id, set_num_threads


def python(code, threads="4", **env):
    full = {k: v for k, v in os.environ.items() if not k.startswith(("TREADLE_", "NUMBA_"))}
    full |= {"TREADLE_NUM_THREADS": threads} | env
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=full, timeout=120
    )


def lines(code, **env):
    r = python(code, **env)
    assert r.returncode == 0 and r.stderr == "", r.stdout + r.stderr
    return r.stdout.splitlines()


def test_size_from_the_environment():
    code = "import treadle; print(treadle.get_num_threads())"
    assert lines(code, threads="3") == ["3"]
    assert lines(code, threads=" 7 ") == ["7"]
    (own,) = lines(code, threads="")
    assert 1 <= int(own) <= len(os.sched_getaffinity(0))
    assert lines(
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n" + code, threads=""
    ) == ["1"]


@pytest.mark.parametrize("text", ["0", "-2", "many", "2.5", "1025", "9" * 30])
def test_a_bad_size_is_told(text):
    r = python("from treadle import njit", threads=text)
    assert r.returncode == 1
    assert r.stderr.splitlines()[-1] == (
        f"ValueError: TREADLE_NUM_THREADS='{text}': must be a whole number from 1 to 1024"
    )


def test_limits_belong_to_threads():
    code = """
    import threading, treadle
    from treadle import get_num_threads, set_num_threads
    set_num_threads(2)
    def other():
        print(get_num_threads())
        set_num_threads(3)
        print(get_num_threads())
    t = threading.Thread(target=other); t.start(); t.join()
    print(get_num_threads())
    set_num_threads(True)
    print(get_num_threads())
    """
    assert lines(code) == ["4", "3", "2", "1"]


@pytest.mark.parametrize("n", [0, -1, 10**6, 2**70, -(2**70)])
def test_a_limit_outside_of_the_pool(n):
    before = get_num_threads()
    with pytest.raises(ValueError, match=r"must be between 1 and \d+ \(TREADLE_NUM_THREADS\), not -?\d+"):
        set_num_threads(n)
    assert get_num_threads() == before


@pytest.mark.parametrize("n", [1.0, "1", None])
def test_a_limit_is_a_whole_number(n):
    with pytest.raises(TypeError):
        set_num_threads(n)


def test_thread_id_outside_of_a_region():
    assert get_thread_id() == treadle.get_thread_id() == 0


def test_in_compiled_code():
    code = """
    import treadle
    from treadle import njit, get_num_threads, set_num_threads
    @njit
    def f(n):
        before = get_num_threads()
        set_num_threads(n)
        return before, treadle.get_num_threads(), treadle.get_thread_id()
    print(*f(3))
    print(get_num_threads())
    for n in 0, -1, 5, 2**32 + 1:
        try:
            f(n)
        except ValueError as e:
            print(e)
    print(get_num_threads())
    """
    text = "the number of threads must be between 1 and the pool's size, not "
    assert lines(code) == ["4 3 0", "3", *(text + str(n) for n in (0, -1, 5, 2**32 + 1)), "3"]
    with pytest.raises(treadle.TypingError):
        treadle.njit(lambda x: set_num_threads(x))(1.5)


def test_limit_holds():
    code = """
    from treadle import _core, set_num_threads
    for n in 1, 2, 3, 4:
        set_num_threads(n)
        code, ranges, threads = _core._pool_run("sleep", 40, 1, True)
        assert code == 0 and ranges == 40 and 1 <= threads <= n, (n, code, ranges, threads)
    print("done")
    """
    assert lines(code) == ["done"]


def test_lowest_index_wins():
    assert [_core._pool_run("raise", n, 7, True)[0] for n in (7, 8, 1000)] == [0, 8, 8]


def test_grain():
    """Tests may have short loops split: sums of floats show where. Ufuncs of target parallel are split too."""
    code = """
    import numpy as np
    from treadle import _core, njit, prange, vectorize
    @njit(parallel=True)
    def f(a):
        s = 0.0
        for i in prange(len(a)):
            s += a[i]
        return s
    g = vectorize(["float64(float64)"], target="parallel")(lambda x: x * 2)
    a = np.array([1e16, 1.0, -1e16, 1.0])
    for grain in 0, 1, 2, 64:
        _core._pool_grain(grain)
        print(f(a), np.array_equal(g(a), a * 2), np.array_equal(g(a[:, None] + a)[::2], (a[:, None] + a)[::2] * 2))
    try:
        _core._pool_grain(-1)
    except ValueError as e:
        print(e)
    """
    sums = "2.0", "0.0", "0.0", "2.0"
    assert lines(code) == [f"{s} True True" for s in sums] + ["ranges of -1 rounds"]


def test_text_of_workers():
    """Comes while the GIL is held, and without it; whole lines, each once."""
    code = """
    from treadle import _core
    for nogil in False, True:
        _core._pool_run("print", 300, 1, nogil)
    """
    assert sorted(lines(code)) == sorted(f"at {i}" for i in range(300) for _ in range(2))


def test_an_error_of_print():
    code = """
    import sys
    from treadle import _core
    class Broken:
        def write(self, s): raise OSError("no paper")
        def flush(self): pass
    out, sys.stdout = sys.stdout, Broken()
    try:
        _core._pool_run("print", 300, 1, True)
    except OSError as e:
        print(e, file=out)
    """
    assert lines(code) == ["no paper"]


# A signal comes while the region runs: 10^6 ranges of a millisecond. It does when threads of the pool are there; on one thread it may
# come before, which is caught as well.
INTERRUPT = """
import os, signal, threading, time
from treadle import _core
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
def at_work():
    names = [open(f"/proc/self/task/{{t}}/comm").read() for t in os.listdir("/proc/self/task")]
    return any(name.startswith("treadle") for name in names)
def later():
    while os.environ["TREADLE_NUM_THREADS"] != "1" and not at_work():
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(os.getpid(), {signal})
try:
    {handler}
    threading.Thread(target=later).start()
    _core._pool_run("sleep", 10**6, 1, {nogil})
except {error} as e:
    print(type(e).__name__, *e.args)
print(_core._pool_run("sleep", 20, 1, False)[:2])
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_ctrl_c(threads):
    code = INTERRUPT.format(handler="", signal="signal.SIGINT", nogil=True, error="KeyboardInterrupt")
    assert lines(code, threads=threads) == ["KeyboardInterrupt", "(0, 20)"]


def test_ctrl_c_with_the_gil():
    """Python's own threads stand still then: the signal comes from another process."""
    handler = "import subprocess, sys\n    subprocess.Popen([sys.executable, '-c', 'import os, sys, time; time.sleep(0.5); os.kill(int(sys.argv[1]), 2)', str(os.getpid())])"
    code = INTERRUPT.format(handler=handler, signal="0", nogil=False, error="KeyboardInterrupt")
    assert lines(code) == ["KeyboardInterrupt", "(0, 20)"]


def test_any_signal_whose_handler_raises():
    handler = """
    def on_alarm(*a):
        print(_core._pool_run("sleep", 20, 1, False)[1:])  # a region inside of the region: inline
        raise LookupError("alarm")
    signal.signal(signal.SIGUSR1, on_alarm)
"""
    code = INTERRUPT.format(handler=handler, signal="signal.SIGUSR1", nogil=True, error="LookupError")
    assert lines(code) == ["(20, 1)", "LookupError alarm", "(0, 20)"]


def test_a_handler_that_returns():
    handler = "signal.signal(signal.SIGUSR1, lambda *a: print('seen'))"
    code = INTERRUPT.format(handler=handler, signal="signal.SIGUSR1", nogil=True, error="LookupError")
    assert lines(code.replace("10**6", "2000")) == ["seen", "(0, 20)"]


@pytest.mark.parametrize("shape", ["100", "(50, 2)"])
def test_few_items_that_take_long(shape):
    """A parallel ufunc shares them too, so a signal is heard between them."""
    code = f"""
    import signal
    import numpy as np
    from treadle import vectorize
    @vectorize(target="parallel")
    def slow(n):
        s = 0.0
        for k in range(int(n)):
            s = s * 0.5 + k
        return s
    slow(np.ones(3))
    def on_alarm(*a):
        raise LookupError("alarm")
    signal.signal(signal.SIGALRM, on_alarm)
    a, out = np.full({shape}, 5e7), np.zeros({shape})
    a = a if a.ndim == 1 else np.full((50, 4), 5e7)[:, ::2]
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        slow(a, out=out)
    except LookupError:
        print("alarm", (out == 0).any())
    """
    assert lines(code) == ["alarm True"]


def test_many_python_threads():
    results = []

    def work():
        for _ in range(30):
            results.append(_core._pool_run("empty", 500, 3, True)[:2])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [(0, 167)] * 240


FORK = """
import os, threading
from treadle import _core
stop = False
def busy():
    while not stop:
        _core._pool_run("sleep", 50, 1, True)
threads = [threading.Thread(target=busy) for _ in range(3)]
for t in threads: t.start()
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        code, ranges, n = _core._pool_run("sleep", 50, 1, True)
        os._exit(0 if (code, ranges) == (0, 50) else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop = True
for t in threads: t.join()
print("done")
"""


def test_fork():
    r = python(FORK)
    assert r.stdout == "done\n", r.stderr  # newer Pythons warn of threads at fork


def test_multiprocessing_with_fork():
    code = """
    import multiprocessing as mp
    from treadle import _core
    _core._pool_run("sleep", 10, 1, True)
    with mp.get_context("fork").Pool(2) as p:
        print(p.starmap(_core._pool_run, [("sleep", 20, 1, True)] * 4))
    """
    r = python(code)
    assert r.returncode == 0 and r.stdout.count("(0, 20, ") == 4, r.stderr


def test_the_end_with_a_region_in_a_daemon_thread():
    code = """
    import threading, time
    from treadle import _core
    started = threading.Event()
    def work():
        started.set()
        _core._pool_run("sleep", 10**7, 1, True)
    threading.Thread(target=work, daemon=True).start()
    started.wait()
    time.sleep(0.1)
    print("end")
    """
    assert lines(code) == ["end"]


def test_the_end_with_an_idle_pool():
    assert lines("from treadle import _core\nprint(_core._pool_run('sleep', 9, 1, True)[:2])") == ["(0, 9)"]


def test_no_threads_before_they_are_wanted():
    code = """
    import os, threading
    import numpy, treadle
    from treadle import _core
    def ours(): return sum(open(f"/proc/self/task/{t}/comm").read().startswith("treadle") for t in os.listdir("/proc/self/task"))
    print(ours())
    _core._pool_run("empty", 1, 1, True)   # one range: the calling thread's
    print(ours())
    _core._pool_run("sleep", 2, 1, True)
    print(ours())
    _core._pool_run("sleep", 100, 1, True)
    print(ours())
    """
    assert lines(code) == ["0", "0", "1", "3"]


def test_scripts_written_for_numba(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "from numba import config, get_num_threads, get_thread_id, set_num_threads\n"
        "print(config.NUMBA_NUM_THREADS, get_num_threads())\nset_num_threads(2)\nprint(get_num_threads(), get_thread_id())\n"
    )

    def run(**env):
        full = {k: v for k, v in os.environ.items() if not k.startswith(("TREADLE_", "NUMBA_"))} | env
        return subprocess.run(
            [sys.executable, "-m", "treadle", "run", str(path)],
            capture_output=True,
            text=True,
            env=full,
            timeout=120,
        )

    assert run(NUMBA_NUM_THREADS="3").stdout == "3 3\n2 0\n"
    assert run(NUMBA_NUM_THREADS="3", TREADLE_NUM_THREADS="5").stdout == "5 5\n2 0\n"
    r = run(NUMBA_NUM_THREADS="some")
    assert r.returncode == 1 and "NUMBA_NUM_THREADS='some': must be a whole number" in r.stderr
