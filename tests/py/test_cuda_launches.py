"""Launches and the device's life: memory that is not there, the launch path, printing, threads, signals, forks, the interpreter's end."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import os
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
import weakref

import numpy as np
import pytest
import treadle
from cuda_check import compile_text, kernel_of
from on_stack import on_stack
from stream_check import BAD, INCREMENT, PATIENCE, held, in_process, program
from treadle import _core, cuda

# --- memory that is not there ---


def test_freed_memory_is_not_used():
    d = cuda.to_device(np.zeros(16))
    v = d[4:8]
    raw = v
    if cuda.is_emulated():
        raw = np.ctypeslib.as_array(
            (ctypes.c_double * 16).from_address(d.__cuda_array_interface__["data"][0])
        )
        INCREMENT[1, 16](raw)  # its address is a live block's
    block = d._mem.base
    block.free()
    s = cuda.stream()
    for use in (
        lambda: INCREMENT[1, 16](d),
        lambda: INCREMENT[1, 16, s](v),
        lambda: INCREMENT[1, 16](raw),
        lambda: d.copy_to_host(),
        lambda: v.copy_to_device(np.zeros(4), s),
        lambda: _core._dev_copy(np.zeros(raw.size), getattr(raw, "_mem", raw)),
        lambda: _core._dev_copy(getattr(raw, "_mem", raw), np.zeros(raw.size), s),
    ):
        with pytest.raises(ValueError, match="was freed"):
            use()
    assert block.freed and _core._dev_find(block.ptr) is None and _core._dev_owns(block.ptr)
    with pytest.raises(BufferError, match="was freed"):
        memoryview(block)


def test_the_device_tells_what_is_its_own():
    d, host = cuda.to_device(np.zeros(100, np.int8)), np.zeros(100, np.int8)
    at = d._mem.__array_interface__["data"][0]
    assert _core._dev_find(at + 50) == (at, 100, 0) and _core._dev_find(at + 100) != (at, 100, 0)
    assert not _core._dev_owns(host.__array_interface__["data"][0])
    assert _core._dev_find(host.__array_interface__["data"][0]) is None
    free, total = _core._dev_memory()
    assert 0 < free < total
    with pytest.raises(MemoryError, match="are free"):
        _core._dev_alloc(total + 1)
    with pytest.raises(TypeError, match="slot _mem"):
        _core._dev_class(type("C", (), {"_mem": 1}), np.ndarray)


def test_copies_of_views_that_share_memory():
    d = cuda.to_device(np.arange(10.0))
    d[1:] = d[:-1]
    assert (d.copy_to_host() == [0, *range(9)]).all()
    e = cuda.to_device(np.arange(12.0).reshape(3, 4))
    e[:, :] = e[::-1, ::-1]
    assert (e.copy_to_host() == np.arange(12.0)[::-1].reshape(3, 4)).all()
    s = cuda.stream()
    with held(s):
        e.bind(s)[:, 1:] = e[:, :-1]
    s.synchronize()
    want = np.arange(12.0)[::-1].reshape(3, 4)
    want[:, 1:] = want[:, :-1].copy()
    assert (e.copy_to_host() == want).all()
    for bad, error in (
        ((np.zeros(3), np.zeros(4)), ValueError),
        ((np.zeros(3), np.zeros(3, np.int8)), TypeError),
        ((np.zeros(3, object), np.zeros(3, object)), TypeError),
        ((np.broadcast_to(0.0, 3), np.zeros(3)), ValueError),
        ((np.zeros(3), np.zeros(3), "x"), TypeError),
    ):
        with pytest.raises(error):
            _core._dev_copy(*bad)


# --- the launch path ---


def test_a_launch_allocates_nothing():
    arrays = [cuda.to_device(np.zeros(4)) for _ in range(16)]
    names = [f"a{n}" for n in range(16)]
    many = kernel_of(
        f"def k(s, {', '.join(names)}):\n    i = cuda.grid(1)\n    if i < a0.size:\n        a0[i] += s * a15[i]\n"
    )
    one, two = INCREMENT[1, 4], many[1, 4]
    args = (1.0, *arrays)
    host = np.zeros(4)
    with_host = cuda.is_emulated()  # a GPU's copy of it is made, and freed
    for _ in range(3):
        one(arrays[0]), two(*args), one(host)
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[1]
        for _ in itertools.repeat(None, 200):
            one(arrays[0])
            two(*args)
            if with_host:
                one(host)
        assert tracemalloc.get_traced_memory()[1] - before < 512
    finally:
        tracemalloc.stop()


def test_types_are_told_apart():
    out = np.zeros(8)
    k = kernel_of("def k(x, out):\n    out[cuda.grid(1)] = x\n")
    launcher = k[1, 8]
    values = [1, 2.5, True, np.float32(0.25), np.int8(-3), np.uint64(2**63), 1 << 40, 3.0, False, 7]
    for _ in range(3):
        for x in values:
            launcher(x, out)
            assert (out == float(x)).all()
    for x in (np.zeros(3), cuda.to_device(np.zeros(3)), (1, 2), "x", None, 1 << 80):
        with pytest.raises(Exception):  # each in its own way, none a crash
            launcher(x, out)
    launcher(5, out)
    assert (out == 5).all()
    for layout in (np.zeros((4, 4)), np.zeros((4, 4), order="F"), np.zeros((8, 8))[::2, ::2]):
        for _ in range(2):
            kernel = kernel_of("def k(a):\n    i, j = cuda.grid(2)\n    a[i, j] = i - j\n")
            kernel[1, (4, 4)](layout)
            assert (layout == np.arange(4)[:, None] - np.arange(4)).all()


def test_limits_of_a_launch():
    n = 255  # 8 + 255 * 16 bytes, and a number more: as many as there may be
    names = ", ".join(f"a{i}" for i in range(n))
    a = np.ones(1)
    kernel_of(f"def k({names}, x):\n    a0[0] = a{n - 1}[0] + x\n")[1, 1](*[a] * n, 2.0)
    assert a[0] == 3
    for last, nbytes in ((True, 4097), (np.complex64(1), 4104), (np.zeros((1, 1))[:, ::-1], 4120)):
        with pytest.raises(
            ValueError,
            match=rf"k: its arguments are {nbytes} bytes of parameters; a device takes at most 4096",
        ):
            kernel_of(f"def k({names}, x, y):\n    a0[0] = 1\n")[1, 1](*[a] * n, 2.0, last)
    with pytest.raises(TypeError, match="no keyword"):
        INCREMENT[1, 1](a=a)
    with pytest.raises(Exception):
        INCREMENT[1, 1](a, a)
    with pytest.raises(Exception):
        INCREMENT[1, 1]()
    launcher = INCREMENT[(2, 3), 4, cuda.default_stream()]
    assert (
        launcher.grid == launcher.griddim == (2, 3, 1)
        and launcher.block == launcher.blockdim == (4, 1, 1)
        and launcher.kernel is INCREMENT
    )
    assert isinstance(launcher, cuda.Launcher) and int(launcher.stream) == 0 and launcher.sharedmem == 0
    assert INCREMENT[1, 1].stream is None and "(2, 3, 1)" in repr(launcher)


@pytest.mark.emulated
def test_hooks_before_launches():
    asked = []

    def before(launcher, args):
        asked.append((launcher.grid, args))
        if args[0].size == 3:
            raise KeyError("no")

    launcher = _core._launcher(INCREMENT._entry((4, 1, 1)), INCREMENT, (1, 1, 1), (4, 1, 1), None, 0, before)
    a = np.zeros(4)
    launcher(a)
    launcher(a)
    with pytest.raises(KeyError):
        launcher(np.zeros(3))
    assert (a == 2).all() and len(asked) == 3 and asked[0][0] == (1, 1, 1) and asked[0][1][0] is a
    for bad in (
        (INCREMENT._entry((4, 1, 1)), INCREMENT, (1, 1), (4, 1, 1), None, 0),
        (INCREMENT._entry((4, 1, 1)), INCREMENT, (1, 1, 0), (4, 1, 1), None, 0),
        (INCREMENT._kernel, INCREMENT, (1, 1, 1), (4, 1, 1), None, 0),
        (INCREMENT._entry((4, 1, 1)), INCREMENT, (1, 1, 1), (4, 1, 1), "x", 0),
        (INCREMENT._entry((4, 1, 1)), INCREMENT, (1, 1, 1), (4, 1, 1), None, "x"),
    ):
        with pytest.raises((TypeError, ValueError)):
            _core._launcher(*bad)


@pytest.mark.emulated
def test_what_is_found_in_a_watched_launch_is_raised_where_the_stream_is_waited_for():
    race = cuda.jit(debug=True)(compile_text("def race(a):\n    a[0] += 1\n", "race"))
    s, d = cuda.stream(), cuda.to_device(np.zeros(4))
    race[1, 4, s](d)
    with pytest.raises(treadle.errors.KernelCheckError, match="race on array"):
        s.synchronize()
    s.synchronize()


def test_launchers_are_collected_with_their_kernel():
    k = kernel_of("def k(a):\n    a[0] = 1\n")
    k[1, 1](np.zeros(1))
    k[1, 2, cuda.stream()](np.zeros(1))
    refs = weakref.ref(k[1, 1]), weakref.ref(k._entries[1] if cuda.is_emulated() else k._code)
    cuda.synchronize()
    gc.collect()
    del k
    gc.collect()
    assert [r() for r in refs] == [None, None]


@pytest.mark.emulated  # the kernel waits for what the host writes
@pytest.mark.parametrize("stream", [False, True])
def test_large_launches_let_go_of_the_gil(stream):
    k = kernel_of(
        "def k(flag, seen):\n"
        "    if cuda.grid(1) == 0:\n"
        "        for n in range(2000000000):\n"
        "            if cuda.atomic.add(flag, 0, 0) > 0:\n"
        "                seen[0] = 1\n"
        "                break\n"
    )
    flag, seen = np.ones(1, np.int64), np.zeros(1)
    k[50, 128](flag, seen)
    flag[0] = seen[0] = 0
    t = threading.Timer(0.02, lambda: flag.fill(1))
    t.start()
    s = cuda.stream() if stream else cuda.default_stream()
    k[50, 128, s](flag, seen)
    s.synchronize()
    t.join()
    assert seen[0] == 1


def test_signatures_device_functions_and_small_stacks():
    s = cuda.stream()
    helper = cuda.jit(device=True)(compile_text("def f(x):\n    return x * 2\n", "f"))
    k = cuda.jit("void(float64[:])")(
        compile_text("def k(a):\n    a[cuda.grid(1)] = f(a[cuda.grid(1)]) + 1\n", "k", f=helper)
    )
    a = np.arange(4.0)
    k[1, 4, s](a)
    s.synchronize()
    assert (a == [1, 3, 5, 7]).all()
    with pytest.raises(TypeError, match="no signature"):
        k[1, 4, s](np.zeros(4, np.int8))

    def work():
        on = cuda.stream()
        INCREMENT[1, 4, on](a)
        on.synchronize()
        INCREMENT[1, 4](a)

    on_stack(128, work)
    assert (a == [3, 5, 7, 9]).all()


@pytest.mark.emulated  # a GPU's code is not kept in files yet
def test_with_a_cache(tmp_path):
    (tmp_path / "m.py").write_text(
        textwrap.dedent("""
        import numpy as np
        import treadle
        from treadle import cuda
        @cuda.jit(cache=True)
        def k(a):
            a[cuda.grid(1)] += 1
        a, s = np.zeros(4), cuda.stream()
        k[1, 4, s](a)
        k[1, 4, s](a)
        s.synchronize()
        print(a.tolist(), treadle.stats()["loaded"] > 0)
        """)
    )
    for loaded in (False, True):
        r = subprocess.run(
            [sys.executable, str(tmp_path / "m.py")], capture_output=True, text=True, timeout=PATIENCE,
            env={**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")},
        )  # fmt: skip
        assert r.stdout.split("]") == ["[2.0, 2.0, 2.0, 2.0", f" {loaded}\n"], r.stderr


# --- printing ---


def test_what_a_kernel_prints_comes_when_it_is_waited_for(capfd):
    k = kernel_of("def k(n):\n    print('kernel', n)\n")
    s = cuda.stream()
    for n in range(3):
        k[1, 1, s](n)
    s.synchronize()
    assert capfd.readouterr().out == "kernel 0\nkernel 1\nkernel 2\n"
    e, out = cuda.event(), cuda.to_device(np.zeros(1))
    for wait in (cuda.synchronize, lambda: (e.record(s), e.synchronize()), out.copy_to_host):
        k[1, 1, s if wait != out.copy_to_host else 0](7)
        wait()
        assert capfd.readouterr().out == "kernel 7\n"


# --- threads ---


def test_many_threads():
    """Threads with streams of their own, and all of them on the default stream."""
    shared = cuda.to_device(np.zeros(64))
    errors = []

    def work(seed):
        try:
            s, d, e = cuda.stream(), cuda.to_device(np.zeros(64)), cuda.event()
            for n in range(40):
                INCREMENT[1, 64, s](d)
                if n % 4 == seed % 4:
                    INCREMENT[1, 64](shared)
                if n % 5 == 0:
                    e.record(s)
                    e.synchronize()
                if n % 7 == 0:
                    BAD[1, 64, s](d)
                    try:
                        s.synchronize()
                    except IndexError:
                        pass
                    except BaseException as error:
                        errors.append(error)
            while True:  # whoever synchronised got it
                try:
                    s.synchronize()
                    break
                except IndexError:
                    pass
        except IndexError:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
    assert not errors and not any(t.is_alive() for t in threads)
    with contextlib.suppress(IndexError):
        cuda.synchronize()
    while True:
        try:
            cuda.synchronize()
            break
        except IndexError:
            pass


def test_the_default_stream_is_one_after_the_other():
    """Launches of many threads let go of the GIL, and are done one at a time all the same."""
    k = kernel_of("def k(a):\n    i = cuda.grid(1)\n    if i < a.size:\n        a[i] = a[i] + 1\n")
    d = cuda.to_device(np.zeros(100_000))
    k[1000, 128](d)

    def work():
        for _ in range(20):
            k[1000, 128](d)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (d.copy_to_host() == 81).all()


# --- processes ---


@pytest.mark.emulated  # here and below kernels run until the host writes something, or ends them
@pytest.mark.parametrize(
    "wait",
    ["s.synchronize()", "cuda.synchronize()", "e.synchronize()", "d.copy_to_host()", "increment[1, 1](d)"],
)
def test_ctrl_c_while_waiting(wait):
    code = program(f"""
    s, e, d, flag = cuda.stream(), cuda.event(), cuda.to_device(np.zeros(4)), flags(2)
    increment[1, 4](d)
    forever[1, 1, s](flag)
    e.record(s)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        {wait}
    except KeyboardInterrupt:
        print("interrupted")
    flag[0] = 1
    s.synchronize()
    print(d.copy_to_host().tolist())
    """)
    r = in_process(code)
    assert r.stdout == "interrupted\n[1.0, 1.0, 1.0, 1.0]\n", r.stderr


@pytest.mark.emulated
def test_the_interpreter_ends_whatever_streams_do():
    code = program("""
    s, t, d, flag = cuda.stream(), cuda.stream(), cuda.to_device(np.zeros(4)), flags(2)
    forever[1, 1, s](flag)
    s.add_callback(lambda *_: print("never"))
    t.add_callback(lambda *_: time.sleep(20))  # nobody waits so long
    increment[1, 4, t](d)
    while flag[1] == 0:
        time.sleep(0.001)
    print("end")
    """)
    start = time.monotonic()
    r = in_process(code)
    assert (r.stdout, r.stderr, r.returncode) == ("end\n", "", 0)
    assert time.monotonic() - start < 30


def test_an_exception_that_nobody_waited_for_is_told_at_the_end():
    code = program("""
    s = cuda.stream()
    bad[1, 1, s](cuda.to_device(np.zeros(3)))
    while not s._done():
        time.sleep(0.001)
    del s
    """)
    r = in_process(code)
    assert "IndexError: index 5 is out of bounds" in r.stderr and r.returncode == 0


@pytest.mark.emulated
def test_what_comes_after_the_end():
    code = program("""
    import atexit
    def late():
        try:
            increment[1, 1, s](np.zeros(3))
        except RuntimeError as error:
            print(error)
        a = np.zeros(3)
        increment[1, 3](a)
        print(a.tolist())
    atexit.register(late)
    s = cuda.stream()
    """)
    r = in_process(code)
    assert r.stdout == "streams take no more work: the interpreter is about to end\n[1.0, 1.0, 1.0]\n", (
        r.stderr
    )


@pytest.mark.emulated
def test_the_child_of_a_fork_has_none_of_it():
    code = program("""
    s, idle, e = cuda.stream(), cuda.stream(), cuda.event()
    d, flag = cuda.to_device(np.zeros(4)), flags(2)
    increment[1, 4, idle](d)
    idle.synchronize()
    forever[1, 1, s](flag)
    for _ in range(10):
        increment[1, 4, s](d)
    e.record(s)
    while flag[1] == 0:
        time.sleep(0.001)
    pid = os.fork()
    if pid == 0:
        try:
            try:
                s.synchronize()
            except RuntimeError as error:
                print("child:", error, flush=True)
            increment[1, 4, s](d)
            s.synchronize()  # nothing else orders two streams, and both add to d
            increment[1, 4, idle](d)
            idle.synchronize()
            increment[1, 4](d)
            cuda.synchronize()
            print(d.copy_to_host().tolist(), flush=True)
            os._exit(0)
        finally:
            os._exit(1)
    print(os.waitpid(pid, 0)[1], flush=True)
    flag[0] = 1
    s.synchronize()
    print(d.copy_to_host().tolist())
    """)
    r = in_process(code)
    told = "child: the process was forked while a stream had work to do, which is not done in this child\n"
    assert r.stdout == told + "[4.0, 4.0, 4.0, 4.0]\n0\n[11.0, 11.0, 11.0, 11.0]\n", r.stderr
