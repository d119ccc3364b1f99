"""Streams and events: order, what the host does meanwhile, failures, callbacks, lifetimes.

Most hold a stream up with a callback that waits (`held`), so that what is asynchronous shows whatever the machine's speed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time
import traceback
import weakref

import numpy as np
import pytest
from cuda_check import compile_text, kernel_of
from stream_check import AXPY, BAD, INCREMENT, PATIENCE, RAISE, held, items, open_soon, there
from treadle import _core, cuda


@pytest.fixture(autouse=True, scope="module")
def _loaded():
    """To load code a GPU's driver may wait until the GPU has nothing to do, which a stream that is held never lets it have."""
    x, y = cuda.to_device(np.zeros(16)), cuda.to_device(np.zeros(16))
    INCREMENT[1, 4](x)
    AXPY[1, 4](1.0, x, y)
    AXPY[1, 4](1, x, y)
    BAD[1, 4](x)
    cuda.synchronize()


# --- order ---


def test_a_stream_is_done_in_order_while_the_host_goes_on():
    s = cuda.stream()
    d = cuda.to_device(np.zeros(100))
    INCREMENT[1, 128](d)
    ones, twos, room = there(np.ones(100)), there(np.float64(2) * np.ones(100)), cuda.pinned_array(100)
    sevens = cuda.pinned_array_like(room)
    room[:], sevens[:] = -1, 7
    with held(s):
        AXPY[1, 128, s](2.0, ones, d)
        INCREMENT[1, 128, s](d)
        out = d.copy_to_host(room, stream=s)
        d.copy_to_device(sevens, stream=s)
        AXPY[(1,), (128, 1), s](3, twos, d)
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
    k[1, (4, 6), s](a)  # who launches waits
    k[1, (4, 6), s](f)
    assert (a == want).all() and (f == want[:2]).all()
    if cuda.is_emulated():  # but where they are pinned
        a, f = there(np.zeros((4, 6))), there(np.zeros((6, 6))).T[::2, ::-1]
        with held(s):
            k[1, (4, 6), s](a)
            k[1, (4, 6), s](f)
            assert not a.any() and not f.any()
        s.synchronize()
        assert (a == want).all() and (f[:3, :6] == 10 * np.arange(3)[:, None] + np.arange(6)).all()


TUPLE = kernel_of("def k(a, two):\n    i = cuda.grid(1)\n    if i < 4:\n        two[0][i] = a[i] + 1\n")
COPY = kernel_of("def k(a, out):\n    i = cuda.grid(1)\n    if i < 4:\n        out[i] = a[i]\n")
UPLOADS = {
    "copy_to_device": lambda d, h, s: d.copy_to_device(h, stream=s),
    "to_device": lambda d, h, s: cuda.to_device(h, stream=s, to=d),
    "a view": lambda d, h, s: d[:].copy_to_device(h[::-1][::-1], stream=s),
    "bound": lambda d, h, s: d.bind(s).copy_to_device(h),
    "setitem": lambda d, h, s: d.setitem(slice(None), h, stream=s),
    "bound setitem": lambda d, h, s: d.bind(s).__setitem__(slice(None), h),
}
DOWNLOADS = {
    "copy_to_host": lambda d, h, s: d.copy_to_host(h, stream=s),
    "a new array": lambda d, h, s: h.__setitem__(slice(None), d.copy_to_host(stream=s)),
    "bound": lambda d, h, s: d.bind(s).copy_to_host(h),
    "reversed": lambda d, h, s: d[::-1].copy_to_host(h[::-1], stream=s),
    "an item": lambda d, h, s: h.fill(d.getitem(0, stream=s)),
    "a launch": lambda d, h, s: TUPLE[1, 4, s](d, (h,)),
    "a launch, and back": lambda d, h, s: TUPLE[1, 4, s](d, (cuda.InOut(h).value,)),
    "out": lambda d, h, s: COPY[1, 4, s](d, cuda.Out(h)),
}  # fmt: skip


@pytest.mark.parametrize("way", DOWNLOADS)
def test_what_is_copied_to_ordinary_memory_is_there(way):
    """A stream is held up for a while; whoever copies from it to memory that is not pinned waits for that."""
    s, h = cuda.stream(), np.zeros(4)
    d = cuda.to_device(np.arange(4.0))
    TUPLE[1, 4](d, (cuda.device_array(4),))
    DOWNLOADS[way](d, h, s)
    h[:] = 0
    with held(s) as gate:
        INCREMENT[1, 4, s](d)
        t = open_soon(gate)
        DOWNLOADS[way](d, h, s)
        want = {"an item": [1] * 4, "a launch": [2, 3, 4, 5], "a launch, and back": [2, 3, 4, 5]}
        assert h.tolist() == want.get(way, [1, 2, 3, 4])
    t.join()


@pytest.mark.parametrize("way", UPLOADS)
def test_ordinary_memory_may_be_written_to_when_the_copy_from_it_has_returned(way):
    s, h, d = cuda.stream(), np.arange(4.0), cuda.to_device(np.zeros(4))
    with held(s) as gate:
        INCREMENT[1, 4, s](d)
        t = open_soon(gate)
        UPLOADS[way](d, h, s)
        h[:] = 99
        INCREMENT[1, 4, s](d)
    t.join()
    s.synchronize()
    assert d.copy_to_host().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["pinned", "mapped", "managed", "with"])
def test_pinned_memory_is_copied_while_the_host_goes_on(kind):
    """Both ways, and views of it."""
    s, d = cuda.stream(), cuda.to_device(np.zeros(4))
    with contextlib.ExitStack() as stack:
        if kind == "with":
            up, down = np.zeros(4), np.zeros(8)
            stack.enter_context(cuda.pinned(up, down))
        else:
            make = {"pinned": cuda.pinned_array, "mapped": cuda.mapped_array, "managed": cuda.managed_array}[
                kind
            ]
            up, down = make(4), make(8)
        up[:], down[:] = [5, 6, 7, 8], -1
        with held(s):
            INCREMENT[1, 4, s](d)
            d.copy_to_device(up, stream=s)
            INCREMENT[1, 4, s](d)
            d.copy_to_host(down[::2], stream=s)
            assert not s._done() and down.tolist() == [-1] * 8
        s.synchronize()
        assert down.tolist() == [6, -1, 7, -1, 8, -1, 9, -1]
    if kind == "with":  # it is not pinned any more
        with held(s) as gate:
            INCREMENT[1, 4, s](d)
            t = open_soon(gate)
            d.copy_to_host(up, stream=s)
            assert up.tolist() == [7, 8, 9, 10]
        t.join()


def test_an_empty_stream_is_done():
    s = cuda.stream()
    s.synchronize()
    cuda.synchronize()
    for default in (cuda.default_stream(), cuda.legacy_default_stream(), cuda.per_thread_default_stream()):
        default.synchronize()
    a = np.zeros(0)
    INCREMENT[1, 1, s](a)
    s.synchronize()


@pytest.mark.emulated  # the driver that is none runs one kernel at a time
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
    flags, seen = there(np.zeros(2, np.int64)), there(np.zeros(2, np.int64))
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


@pytest.mark.emulated  # the kernel waits for what the host writes
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
    d, ones = cuda.to_device(np.zeros(4)), there(np.ones(4))
    with held(a):
        INCREMENT[1, 4, a](d)
        e.record(stream=a)
        e.wait(stream=b)
        AXPY[1, 4, b](10.0, ones, d)
        assert not e.query() and not b._done()
        e.record(a)  # b waits for what it was
        INCREMENT[1, 4, a](d)
    e.synchronize()
    assert e.query()
    cuda.synchronize()
    assert set(d.copy_to_host()) <= {12.0, 21.0, 11.0, 2.0}  # 1, then 11 and 12, or 2 and 21, or both at once
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
    s, e, a = cuda.stream(), cuda.event(), there(np.zeros(2))
    with held(s) as gate:
        INCREMENT[1, 2, s](a)
        e.record(s)
        t = open_soon(gate)
        e.wait()
        assert (items(a) == 1).all()
    t.join()


# --- failures ---


def places(error):
    return [(f.name, f.line) for f in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("way", ["stream", "event", "all", "copy", "launch", "item", "record", "done"])
def test_an_exception_is_raised_by_who_synchronises(way):
    s, d, other = cuda.stream(), cuda.to_device(np.zeros(4)), cuda.to_device(np.zeros(4))
    e = cuda.event()
    if way in ("launch", "record") and not cuda.is_emulated():
        pytest.skip("a GPU has not run it yet when it is given more")
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
        INCREMENT[1, 4, s](other)  # is not done; on a GPU it is
        e.record(s)
    with pytest.raises(IndexError, match="index [5678] is out of bounds for axis 0 with size 4") as caught:
        ways[way]()
    assert places(caught.value)[-1] == ("bad", "a[i + 5] = 1")
    done = 0 if cuda.is_emulated() else 1
    assert (other.copy_to_host() == done).all()  # told once
    s.synchronize()
    cuda.synchronize()
    INCREMENT[1, 4, s](other)  # the stream goes on
    assert (other.copy_to_host(stream=0) == done + 1).all()


async def wait_for(s):
    assert await s.async_done() is s


def test_exceptions_keep_their_arguments_until_they_are_raised():
    s = cuda.stream()
    RAISE[1, 1, s](cuda.to_device(np.zeros(1000)), 41)
    gc.collect()
    with pytest.raises(ValueError) as caught:
        s.synchronize()
    assert caught.value.args == ("told", 41)


@pytest.mark.emulated  # on a GPU what comes after is done
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
    if cuda.is_emulated():
        RAISE[1, 1, b](d, 2)
    else:  # the launch is the first who can tell
        with pytest.raises(ValueError) as caught:
            RAISE[1, 1, b](d, 2)
        assert caught.value.args == ("told", 1)
    del a, b  # nor with its stream
    gc.collect()
    for n in (1, 2) if cuda.is_emulated() else (2,):
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
    if cuda.is_emulated():
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
    d, ones = cuda.to_device(np.zeros(4)), there(np.ones(4))
    done = []

    def other():
        INCREMENT[1, 4, own](d)
        own.synchronize()
        done.append(float(np.asarray(d.copy_to_host(stream=own)).sum() if own.synchronize() is None else 0))

    with held(own):
        AXPY[1, 4, own](1.0, ones, d)
        t = threading.Thread(target=other)
        t.start()
        t.join(PATIENCE)
        assert len(done) == 1
        assert not own._done()
    own.synchronize()
    assert (d.copy_to_host() == 2).all()


# --- lifetimes ---


def test_memory_comes_and_goes_beside_a_stream_that_is_at_work():
    """What is allocated and freed meanwhile makes no stream wait for another one."""
    a, b = cuda.stream(), cuda.stream()
    x, old, ones = (cuda.to_device(np.full(100, v)) for v in (0.0, 0.0, 1.0))
    INCREMENT[1, 128](x)
    INCREMENT[1, 128](old)
    cuda.synchronize()
    with held(a):
        AXPY[1, 128, a](1.0, ones, x)
        del old
        y = cuda.to_device(np.full(100, 5.0), stream=b)
        room = cuda.device_array(100)
        INCREMENT[1, 128, b](y)
        room.copy_to_device(y, stream=b)
        b.synchronize()
        del y
        INCREMENT[1, 128, b](room)
        out = room.copy_to_host(stream=b)
        b.synchronize()
        assert (out == 7).all()
        assert not a._done()
    a.synchronize()
    assert (x.copy_to_host() == 2).all()


@pytest.mark.emulated  # a GPU's memory is freed in the order of the default stream, which comes after the stream that is held
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
            AXPY[8, 128, s](1.0, there(np.full(1000, 1.0)), out)
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
    k = cuda.jit(
        compile_text("def k(a):\n    a[cuda.grid(1)] += table[cuda.grid(1)]\n", "k", table=table.copy())
    )
    k[1, 8, s](d)
    s.synchronize()
    with held(s):
        k[1, 8, s](d)
        del k
        gc.collect()
    s.synchronize()
    assert (d.copy_to_host() == 2 * table).all()


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


@pytest.mark.emulated
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
