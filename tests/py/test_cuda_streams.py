"""Streams, events and launches: order, what the host does meanwhile, failures, callbacks, lifetimes, signals, forks, the interpreter's end.

Most hold a stream up with a callback that waits (`held`), so that what is asynchronous shows whatever the machine's speed.
"""

from __future__ import annotations

import asyncio
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
import traceback
import tracemalloc
import weakref

import numpy as np
import pytest
import treadle
from cuda_check import compile_text, kernel_of
from on_stack import on_stack
from treadle import _core, cuda

INCREMENT = kernel_of("def k(a):\n    i = cuda.grid(1)\n    if i < a.size:\n        a[i] += 1\n")
AXPY = kernel_of(
    "def k(s, x, y):\n    i = cuda.grid(1)\n    if i < y.size:\n        y[i] = s * y[i] + x[i]\n"
)
BAD = kernel_of("def bad(a):\n    i = cuda.grid(1)\n    a[i + 5] = 1\n", "bad")
RAISE = kernel_of("def k(a, n):\n    if a[0] >= 0:\n        raise ValueError('told', n)\n")
PATIENCE = 60


@contextlib.contextmanager
def held(*streams):
    """The streams do nothing but wait in this `with`, until its end or until what it gives is called."""
    gate, came = threading.Event(), [threading.Event() for _ in streams]

    def wait(stream, status, arrived):
        arrived.set()
        assert gate.wait(PATIENCE)

    for s, arrived in zip(streams, came):
        s.add_callback(wait, arrived)
    try:
        assert all(arrived.wait(PATIENCE) for arrived in came)
        yield gate.set
    finally:
        gate.set()


def open_soon(gate, seconds=0.05):
    t = threading.Timer(seconds, gate)
    t.start()
    return t


def in_process(code, timeout=PATIENCE, **env):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout,
        env={**os.environ, **env},
    )  # fmt: skip


PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
from treadle import cuda
@cuda.jit
def increment(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1
@cuda.jit
def bad(a):
    a[cuda.grid(1) + 5] = 1
@cuda.jit
def forever(a):
    while cuda.atomic.add(a, 0, 0) == 0:  # a plain load would be done once
        cuda.atomic.add(a, 1, 1)
"""


def program(text):
    return PRELUDE + textwrap.dedent(text)


# --- order ---


def test_a_stream_is_done_in_order_while_the_host_goes_on():
    s = cuda.stream()
    d = cuda.to_device(np.zeros(100))
    INCREMENT[1, 128](d)
    with held(s):
        AXPY[1, 128, s](2.0, np.ones(100), d)
        INCREMENT[1, 128, s](d)
        out = d.copy_to_host(np.full(100, -1.0), stream=s)
        d.copy_to_device(np.full(100, 7.0), stream=s)
        AXPY[(1,), (128, 1), s](3, np.float64(2) * np.ones(100), d)
        assert not s._done()
        assert (out == -1).all()
    s.synchronize()
    assert s._done()
    assert (out == 4).all()
    assert (d.copy_to_host() == 23).all()


def test_arrays_of_the_host_hold_the_results():
    s, a, f = cuda.stream(), np.zeros((4, 6)), np.zeros((4, 6), order="F")[::2, ::-1]
    k = kernel_of(
        "def k(a):\n    i, j = cuda.grid(2)\n    if i < a.shape[0] and j < a.shape[1]:\n        a[i, j] = 10 * i + j\n"
    )
    want = 10 * np.arange(4)[:, None] + np.arange(6)
    k[1, (4, 6)](a)
    assert (a == want).all()
    a[:] = 0
    with held(s):
        k[1, (4, 6), s](a)
        k[1, (4, 6), s](f)
        assert not a.any() and not f.any()
    s.synchronize()
    assert (a == want).all() and (f == want[:2]).all()


def test_an_empty_stream_is_done():
    s = cuda.stream()
    s.synchronize()
    cuda.synchronize()
    for default in (cuda.default_stream(), cuda.legacy_default_stream(), cuda.per_thread_default_stream()):
        default.synchronize()
    a = np.zeros(0)
    INCREMENT[1, 1, s](a)
    s.synchronize()


def test_streams_run_at_once():
    """Each of two kernels waits for what the other one writes."""
    k = kernel_of(
        "def k(flags, me, seen):\n"
        "    cuda.atomic.add(flags, me, 1)\n"
        "    for n in range(2000000000):\n"
        "        if cuda.atomic.add(flags, 1 - me, 0) > 0:\n"
        "            seen[me] = 1\n"
        "            break\n"
    )
    flags, seen = np.zeros(2, np.int64), np.zeros(2, np.int64)
    k[1, 1](np.ones(2, np.int64), 0, seen)
    seen[:] = 0
    a, b = cuda.stream(), cuda.stream()
    k[1, 1, a](flags, 0, seen)
    k[1, 1, b](flags, 1, seen)
    cuda.synchronize()
    assert (seen == 1).all()


def test_the_default_stream_comes_after_all_others():
    a, b = cuda.stream(), cuda.stream()
    x, y = cuda.to_device(np.zeros(8)), cuda.to_device(np.zeros(8))
    for use in (
        lambda: AXPY[1, 8](1.0, x, y),
        lambda: AXPY[1, 8, cuda.default_stream()](1.0, x, y),
        lambda: AXPY[1, 8, cuda.legacy_default_stream()](1.0, x, y),
        lambda: y.copy_to_device(x.copy_to_host() + y.copy_to_host()),
        lambda: (x.copy_to_host(), AXPY[1, 8](1.0, x, y)),
    ):
        x.copy_to_device(np.zeros(8))
        y.copy_to_device(np.zeros(8))
        with held(a, b) as gate:
            INCREMENT[1, 8, a](x)
            INCREMENT[1, 8, b](y)
            t = open_soon(gate)
            use()
        t.join()
        assert (y.copy_to_host() == 2).all()


def test_what_others_are_given_while_the_default_stream_works_comes_after():
    s, d = cuda.stream(), cuda.to_device(np.zeros(4))
    done = []

    def late():
        INCREMENT[1, 4, s](d)
        done.append(1)

    k = kernel_of(
        "def k(a, flag):\n    for n in range(400000000):\n        if cuda.atomic.add(flag, 0, 0) > 0:\n            break\n    if a[0] == 0:\n        flag[1] = 1\n"
    )
    flag = np.zeros(2, np.int64)
    k[5000, 1](d, np.ones(2, np.int64))
    t = threading.Thread(target=late)

    def open_gate():
        t.start()
        t.join()
        time.sleep(0.02)  # it could begin now
        flag[0] = 1

    opener = threading.Timer(0.05, open_gate)
    opener.start()
    k[5000, 1](d, flag)  # many threads: the GIL is free meanwhile
    opener.join()
    s.synchronize()
    assert done and flag[1] == 1 and (d.copy_to_host() == 1).all()


def test_an_array_bound_to_a_stream_is_waited_for_where_no_stream_is_named():
    s = cuda.stream()
    d = cuda.to_device(np.zeros(4), stream=s)
    with held(s) as gate:
        INCREMENT[1, 4, s](d)
        t = open_soon(gate)
        assert (d.copy_to_host() == 1).all()
    t.join()
    with held(s) as gate:
        INCREMENT[1, 4, s](d)
        t = open_soon(gate)
        assert d[2] == 2 and (np.asarray(d) == 2).all()
    t.join()


# --- events ---


def test_events_order_streams():
    a, b = cuda.stream(), cuda.stream()
    e = cuda.event()
    d = cuda.to_device(np.zeros(4))
    with held(a):
        INCREMENT[1, 4, a](d)
        e.record(stream=a)
        e.wait(stream=b)
        AXPY[1, 4, b](10.0, np.ones(4), d)
        assert not e.query() and not b._done()
        e.record(a)  # b waits for what it was
        INCREMENT[1, 4, a](d)
    e.synchronize()
    assert e.query()
    cuda.synchronize()
    assert set(d.copy_to_host()) <= {12.0, 21.0}  # 1, then either 11 or 2
    e.record()
    e.wait()
    e.wait(cuda.default_stream())
    e.record(stream := cuda.per_thread_default_stream())
    stream.synchronize()
    assert e.query()


def test_times_of_events():
    a, b, plain = cuda.event(), cuda.event(timing=True), cuda.event(timing=False)
    s = cuda.stream()
    assert a.query()
    a.synchronize()
    a.wait(s)
    with pytest.raises(ValueError, match="recorded"):
        cuda.event_elapsed_time(a, b)
    a.record(s)
    s.add_callback(lambda *_: time.sleep(0.02))
    b.record(s)
    plain.record(s)
    s.synchronize()
    ms = cuda.event_elapsed_time(a, b)
    assert 15 < ms < 20000 and a.elapsed_time(b) == ms and cuda.event_elapsed_time(b, a) == -ms
    with pytest.raises(ValueError, match="timing"):
        a.elapsed_time(plain)
    with pytest.raises(TypeError, match="cuda.event"):
        a.elapsed_time(3)
    with pytest.raises(TypeError, match="cuda.event"):
        cuda.event_elapsed_time(3, a)
    with pytest.raises(TypeError, match="cuda.stream"):
        a.record("x")
    with pytest.raises(TypeError, match="one stream|positional"):
        a.wait(s, s)
    with held(s):
        b.record(s)
        with pytest.raises(ValueError, match="happened"):
            a.elapsed_time(b)


def test_the_default_stream_waits_for_an_event():
    s, e, a = cuda.stream(), cuda.event(), np.zeros(2)
    with held(s) as gate:
        INCREMENT[1, 2, s](a)
        e.record(s)
        t = open_soon(gate)
        e.wait()
        assert (a == 1).all()
    t.join()


# --- failures ---


def places(error):
    return [(f.name, f.line) for f in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("way", ["stream", "event", "all", "copy", "launch", "item", "record", "done"])
def test_an_exception_is_raised_by_who_synchronises(way):
    s, d, other = cuda.stream(), cuda.to_device(np.zeros(4)), cuda.to_device(np.zeros(4))
    e = cuda.event()
    ways = {
        "stream": s.synchronize,
        "event": e.synchronize,
        "all": cuda.synchronize,
        "copy": other.copy_to_host,
        "launch": lambda: INCREMENT[1, 4](other),
        "item": lambda: other[0],
        "record": lambda: cuda.event().record(),
        "done": lambda: asyncio.run(wait_for(s)),
    }
    with held(s):
        BAD[1, 4, s](d)
        INCREMENT[1, 4, s](other)  # is not done
        e.record(s)
    with pytest.raises(IndexError, match="index [5678] is out of bounds for axis 0 with size 4") as caught:
        ways[way]()
    assert places(caught.value)[-1] == ("bad", "a[i + 5] = 1")
    assert (other.copy_to_host() == 0).all()  # told once
    s.synchronize()
    cuda.synchronize()
    INCREMENT[1, 4, s](other)  # the stream goes on
    assert (other.copy_to_host(stream=0) == 1).all()


async def wait_for(s):
    assert await s.async_done() is s


def test_exceptions_keep_their_arguments_until_they_are_raised():
    s = cuda.stream()
    RAISE[1, 1, s](cuda.to_device(np.zeros(1000)), 41)
    gc.collect()
    with pytest.raises(ValueError) as caught:
        s.synchronize()
    assert caught.value.args == ("told", 41)


def test_what_waits_for_what_failed_fails_too():
    a, b, e, d = cuda.stream(), cuda.stream(), cuda.event(), cuda.to_device(np.zeros(4))
    BAD[1, 4, a](d)
    e.record(a)
    e.wait(b)
    INCREMENT[1, 4, b](d)
    for s in (a, b):
        with pytest.raises(IndexError):
            s.synchronize()
    with pytest.raises(IndexError):
        e.synchronize()
    e.synchronize()
    assert (d.copy_to_host() == 0).all()
    BAD[1, 4, a](d)
    e.record(a)
    e.wait(b)
    with pytest.raises(IndexError):
        cuda.synchronize()
    cuda.synchronize()  # both were told
    a.synchronize()
    b.synchronize()


def test_no_exception_is_lost():
    a, b = cuda.stream(), cuda.stream()
    d = cuda.to_device(np.zeros(1))
    RAISE[1, 1, a](d, 1)
    while not a._done():
        time.sleep(0.001)
    RAISE[1, 1, b](d, 2)
    del a, b  # nor with its stream
    gc.collect()
    for n in (1, 2):
        with pytest.raises(ValueError) as caught:
            cuda.synchronize()
        assert caught.value.args == ("told", n)
    cuda.synchronize()


def test_on_the_default_stream_it_is_raised_at_the_call():
    a = np.zeros(4)
    for s in (0, None, cuda.default_stream(), cuda.legacy_default_stream()):
        with pytest.raises(IndexError):
            BAD[1, 4, s](a)
        INCREMENT[1, 4, s](a)
    assert (a == 4).all()


# --- callbacks ---


def test_callbacks_come_in_order_with_their_arguments():
    s, said, d = cuda.stream(), [], cuda.to_device(np.zeros(4))
    main = threading.get_ident()

    def note(stream, status, arg):
        said.append((stream is s, status, arg, threading.get_ident() == main))

    with held(s):
        s.add_callback(note, 1)
        INCREMENT[1, 4, s](d)
        s.add_callback(note)
        assert said == []
    s.synchronize()
    assert said == [(True, 0, 1, False), (True, 0, None, False)]
    BAD[1, 4, s](d)
    s.add_callback(note, "failed")
    with pytest.raises(IndexError):
        s.synchronize()
    assert said[2:] == [(True, 719, "failed", False)]
    default = cuda.default_stream()
    with held(s) as gate:
        s.add_callback(note, "before")
        t = open_soon(gate)
        default.add_callback(
            lambda stream, status, arg: said.append((stream is default, status, arg)), "at once"
        )
    t.join()
    assert [x[2] for x in said[3:]] == ["before", "at once"]


def test_what_a_callback_raises_is_a_warning():
    s = cuda.stream()
    with pytest.warns(UserWarning, match=r"Exception in stream callback: ZeroDivisionError"):
        s.add_callback(lambda *_: 1 / 0)
        s.synchronize()
    s.synchronize()


@pytest.mark.parametrize(
    "use",
    [
        lambda s: s.synchronize(),
        lambda s: cuda.synchronize(),
        lambda s: INCREMENT[1, 4](np.zeros(4)),
        lambda s: cuda.to_device(np.zeros(4)),
        lambda s: cuda.event().synchronize(),
    ],
)
def test_a_callback_may_not_wait_for_the_device(use):
    s, found = cuda.stream(), []

    def call(stream, status, arg):
        try:
            use(stream)
        except RuntimeError as error:
            found.append(str(error))
        INCREMENT[1, 4, stream](arg)  # this it may

    d = cuda.to_device(np.zeros(4))
    s.add_callback(call, d)
    while not found:
        time.sleep(0.001)
    s.synchronize()
    assert "callback of a stream may not wait" in found[0]
    assert (d.copy_to_host() == 1).all()


def test_async_done():
    s, d = cuda.stream(), cuda.to_device(np.zeros(4))

    async def main():
        with held(s) as gate:
            INCREMENT[1, 4, s](d)
            given = s.async_done()
            left = s.async_done()
            assert not given.done()
            left.cancel()
            await asyncio.sleep(0.01)
            assert not given.done()
            gate()
            assert await given is s
        BAD[1, 4, s](d)
        with pytest.raises(IndexError):
            await s.async_done()
        assert await s.async_done() is s
        with held(s):
            abandoned = s.async_done()
        return abandoned

    asyncio.run(main())
    s.synchronize()
    assert (d.copy_to_host() == 1).all()
    with pytest.raises(RuntimeError, match="no running event loop"):
        s.async_done()


# --- streams as objects ---


def test_default_streams_and_handles():
    default, legacy, own = (
        cuda.default_stream(),
        cuda.legacy_default_stream(),
        cuda.per_thread_default_stream(),
    )
    assert [int(s) for s in (default, legacy, own)] == [0, 1, 2]
    assert [s.handle.value for s in (legacy, own)] == [1, 2] and not default.handle
    assert [int(cuda.external_stream(n)) for n in range(3)] == [0, 1, 2]
    assert "per-thread default" in repr(own) and "default" in repr(default) and "legacy" in repr(legacy)
    s = cuda.stream()
    assert cuda.external_stream(int(s)) is s and s.handle.value == int(s) and hex(int(s)) in repr(s)
    number = int(s)
    del s
    with pytest.raises(ValueError, match="no stream"):
        cuda.external_stream(number)
    with pytest.raises(TypeError, match="int"):
        cuda.external_stream("1")
    for what in ("x", 7, 1.0, object()):
        with pytest.raises(TypeError, match="made by cuda.stream"):
            INCREMENT[1, 1, what](np.zeros(1))
    with cuda.stream().auto_synchronize() as s:
        assert isinstance(s, cuda.Stream)


def test_each_thread_has_a_default_stream():
    own = cuda.per_thread_default_stream()
    d = cuda.to_device(np.zeros(4))
    done = []

    def other():
        INCREMENT[1, 4, own](d)
        own.synchronize()
        done.append(float(np.asarray(d.copy_to_host(stream=own)).sum() if own.synchronize() is None else 0))

    with held(own):
        AXPY[1, 4, own](1.0, np.ones(4), d)
        t = threading.Thread(target=other)
        t.start()
        t.join(PATIENCE)
        assert len(done) == 1
        assert not own._done()
    own.synchronize()
    assert (d.copy_to_host() == 2).all()


# --- lifetimes ---


def test_arguments_live_until_the_launch_has_run():
    s, other = cuda.stream(), cuda.stream()
    out = cuda.to_device(np.zeros(1000))
    cuda.synchronize()
    gc.collect()
    before = _core._dev_memory()[0]
    with held(s):
        for n in range(20):
            x = cuda.to_device(np.full(1000, float(n)), stream=other)
            other.synchronize()
            AXPY[8, 128, s](1.0, x, out)
            AXPY[8, 128, s](1.0, np.full(1000, 1.0), out)
        ref = weakref.ref(x)
        del x
        gc.collect()
        assert ref() is None  # the memory lives, not the object
        assert _core._dev_memory()[0] < before
        for _ in range(30):  # takes the place of what was freed too early
            cuda.to_device(np.full(1000, 1e9), stream=other)
            np.full(1000, 1e9)
    cuda.synchronize()
    gc.collect()
    assert _core._dev_memory()[0] == before
    assert (out.copy_to_host() == 190 + 20).all()


def test_the_code_lives_until_the_launch_has_run():
    s, d = cuda.stream(), cuda.to_device(np.zeros(8))
    table = np.arange(8.0)
    with held(s):
        k = cuda.jit(
            compile_text("def k(a):\n    a[cuda.grid(1)] += table[cuda.grid(1)]\n", "k", table=table.copy())
        )
        k[1, 8, s](d)
        del k
        gc.collect()
    s.synchronize()
    assert (d.copy_to_host() == table).all()


def test_a_stream_that_nobody_has_finishes():
    s, d = cuda.stream(), cuda.to_device(np.zeros(8))
    with held(s):
        for _ in range(5):
            INCREMENT[1, 8, s](d)
        del s
        gc.collect()
    cuda.synchronize()
    assert (d.copy_to_host() == 5).all()


def threads_of_streams():
    names = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as f:
            names.append(f.read().strip())
    return names.count("treadle-stream")


def test_threads_come_and_go():
    cuda.synchronize()
    streams = [cuda.stream() for _ in range(4)]
    deadline = time.monotonic() + PATIENCE
    while threads_of_streams() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threads_of_streams() == 0  # none was needed
    for _ in range(2):
        d = cuda.to_device(np.zeros(8))
        for s in streams:
            INCREMENT[1, 8, s](d)
            s.synchronize()
        assert (d.copy_to_host() == 4).all()
        while threads_of_streams() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert threads_of_streams() == 0


# --- memory that is not there ---


def test_freed_memory_is_not_used():
    d = cuda.to_device(np.zeros(16))
    v = d[4:8]
    raw = np.ctypeslib.as_array((ctypes.c_double * 16).from_address(d.__cuda_array_interface__["data"][0]))
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
        lambda: _core._dev_copy(np.zeros(16), raw),
        lambda: _core._dev_copy(raw, np.zeros(16), s),
    ):
        with pytest.raises(ValueError, match="was freed"):
            use()
    assert block.freed and _core._dev_find(block.ptr) is None and _core._dev_owns(block.ptr)
    with pytest.raises(BufferError, match="was freed"):
        memoryview(block)


def test_the_device_tells_what_is_its_own():
    d, host = cuda.to_device(np.zeros(100, np.int8)), np.zeros(100, np.int8)
    at = d._mem.__array_interface__["data"][0]
    assert _core._dev_find(at + 50) == (at, 100) and _core._dev_find(at + 100) != (at, 100)
    assert not _core._dev_owns(host.__array_interface__["data"][0])
    assert _core._dev_find(host.__array_interface__["data"][0]) is None
    free, total = _core._dev_memory()
    assert 0 < free < total
    with pytest.raises(MemoryError, match="are free"):
        _core._dev_alloc(total + 1)
    with pytest.raises(TypeError, match="slot _mem"):
        _core._dev_class(type("C", (), {"_mem": 1}))


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
    for _ in range(3):
        one(arrays[0]), two(*args), one(host)
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[1]
        for _ in itertools.repeat(None, 200):
            one(arrays[0])
            two(*args)
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
    refs = weakref.ref(k[1, 1]), weakref.ref(k._entries[1])
    cuda.synchronize()
    gc.collect()
    del k
    gc.collect()
    assert [r() for r in refs] == [None, None]


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


@pytest.mark.parametrize(
    "wait",
    ["s.synchronize()", "cuda.synchronize()", "e.synchronize()", "d.copy_to_host()", "increment[1, 1](d)"],
)
def test_ctrl_c_while_waiting(wait):
    code = program(f"""
    s, e, d, flag = cuda.stream(), cuda.event(), cuda.to_device(np.zeros(4)), np.zeros(2, np.int64)
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


def test_the_interpreter_ends_whatever_streams_do():
    code = program("""
    s, t, d, flag = cuda.stream(), cuda.stream(), cuda.to_device(np.zeros(4)), np.zeros(2, np.int64)
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
    bad[1, 1, s](np.zeros(3))
    while not s._done():
        time.sleep(0.001)
    del s
    """)
    r = in_process(code)
    assert "IndexError: index 5 is out of bounds" in r.stderr and r.returncode == 0
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


def test_the_child_of_a_fork_has_none_of_it():
    code = program("""
    s, idle, e = cuda.stream(), cuda.stream(), cuda.event()
    d, flag = cuda.to_device(np.zeros(4)), np.zeros(2, np.int64)
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
            increment[1, 4, idle](d)
            s.synchronize()
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
