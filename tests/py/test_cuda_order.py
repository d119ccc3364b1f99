"""Races between streams: what nothing orders is told under TREADLE_EMU_CHECK=race, and what is ordered is not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from treadle.cuda._order import Operation, Order, Span, spans, spans_of

pytestmark = pytest.mark.emulated

HEAD = """
import json, sys, threading, time
import numpy as np
from treadle import cuda
from treadle.errors import KernelCheckError
from treadle.cuda.blas import Blas
from treadle.cuda.fft import fft, fft_inplace

@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2

@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += x[i]

@cuda.jit
def count(x, c):
    cuda.atomic.add(c, 0, x[cuda.grid(1)])

n = 256
s, t, e = cuda.stream(), cuda.stream(), cuda.event()
d, y, z = (cuda.to_device(np.ones(n)) for _ in range(3))
m = cuda.to_device(np.ones((16, 16)))
c, b, f = (cuda.to_device(np.ones(n, complex)) for _ in range(3))
h, p = np.zeros(n), cuda.pinned_array(n)
"""

# what a program does; a pattern of what is told, or None
PROGRAMS: dict[str, tuple[str, str | None]] = {
    "a read of what a kernel writes": (
        "double[2, 128, s](d)\nd.copy_to_host(stream=t)\nt.synchronize()",
        "kernel double of line .* writes x, a copy of line .* reads its source",
    ),
    "two kernels": ("double[2, 128, s](d)\nadd[2, 128, t](d, y)", "kernel double .* writes x, kernel add .* reads it"),
    "two that write": ("double[2, 128, s](d)\ndouble[2, 128, t](d)", "writes x, kernel double .* writes it"),
    "atomics of two kernels": ("count[2, 128, s](d, z)\ncount[2, 128, t](y, z)", "count .* writes c, kernel count"),
    "a library that writes what a kernel reads": (
        "fft_inplace(c, s)\ndouble[2, 128, t](c.view(np.float64))",
        "kernel double of line .* a Fourier transform of line .* writes|a Fourier transform of line .* kernel double of line",
    ),
    "libraries on two streams": (
        "fft(c, b, s)\nfft_inplace(c, t)", "a Fourier transform of line .* reads its input, a Fourier transform of line .* writes its output",
    ),
    "a routine of BLAS that writes what a kernel reads": ("Blas(s).scal(2.0, d)\ndouble[2, 128, t](d)", "scal of line .* writes x|double .* writes x"),
    "routines of BLAS that only read": ("Blas(s).dot(d, y)\nBlas(t).axpy(1.0, d, z)\nBlas(s).axpy(2.0, d, y)", None),
    "routines of BLAS on two streams": ("Blas(s).axpy(1.0, d, z)\nBlas(t).axpy(1.0, y, z)", "axpy of line .* writes y, axpy of line .* (reads|writes)"),
    "the host has a number of a stream's": ("double[2, 128, s](d)\nBlas(s).nrm2(d)\ndouble[2, 128, t](d)", None),
    "halves by routines of BLAS": ("Blas(s).scal(1.0, d[::2])\nBlas(t).scal(1.0, d[1::2])", None),
    "libraries that only read": ("fft(c, b, s)\nfft(c, f, t)", None),
    "a library behind an event": ("fft_inplace(c, s)\ne.record(s)\ne.wait(t)\ndouble[2, 128, t](c.view(np.float64))", None),
    "an upload under a kernel": ("add[2, 128, s](d, y)\nd.copy_to_device(h, stream=t)", "copy .* writes its target|add .* reads x"),
    "two downloads into one array": ("d.copy_to_host(p, stream=s)\ny.copy_to_host(p, stream=t)", "a copy .* writes its target, a copy"),
    "an upload, and another stream's kernel": ("d.copy_to_device(h, stream=s)\ndouble[2, 128, t](d)", "a copy .* writes its target"),
    "two downloads that are waited for": ("d.copy_to_host(h, stream=s)\ny.copy_to_host(h, stream=t)\ndouble[2, 128, t](d)", None),
    "a launch with memory of the host's": ("add[2, 128, s](d, h)\ndouble[2, 128, t](d)", None),
    "an event for the other way": ("e.record(t)\ndouble[2, 128, s](d)\ne.wait(s)\ndouble[2, 128, t](d)", "writes x"),
    "an event that is recorded too early": ("e.record(s)\ndouble[2, 128, s](d)\ne.wait(t)\ndouble[2, 128, t](d)", "writes x"),
    "another stream was waited for": ("double[2, 128, s](d)\ncuda.stream().synchronize()\ndouble[2, 128, t](d)", "writes x"),
    "halves that overlap by an item": ("double[1, 129, s](d[:129])\ndouble[1, 128, t](d[128:])", "writes x"),
    "a thread's own stream": ("double[2, 128, s](d)\ndouble[2, 128, cuda.per_thread_default_stream()](d)", "writes x"),
    "both read": ("add[2, 128, s](d, y)\nadd[2, 128, t](d, z)", None),
    "one stream": ("double[2, 128, s](d)\ndouble[2, 128, s](d)\nd.copy_to_host(stream=s)", None),
    "an event": ("double[2, 128, s](d)\ne.record(s)\ne.wait(t)\ndouble[2, 128, t](d)", None),
    "an event by way of a third": (
        "u, f = cuda.stream(), cuda.event()\ndouble[2, 128, s](d)\ne.record(s)\ne.wait(u)\nf.record(u)\nf.wait(t)\ndouble[2, 128, t](d)",
        None,
    ),
    "the host waits": ("double[2, 128, s](d)\ns.synchronize()\ndouble[2, 128, t](d)", None),
    "the host waits for an event": ("double[2, 128, s](d)\ne.record(s)\ne.synchronize()\ndouble[2, 128, t](d)", None),
    "the host asks for an event": (
        "double[2, 128, s](d)\ne.record(s)\nwhile not e.query():\n    time.sleep(1e-3)\ndouble[2, 128, t](d)",
        None,
    ),
    "the host waits for all": ("double[2, 128, s](d)\ncuda.synchronize()\ndouble[2, 128, t](d)", None),
    "a with": ("with s.auto_synchronize():\n    double[2, 128, s](d)\ndouble[2, 128, t](d)", None),
    "a callback": (
        "done = threading.Event()\ndouble[2, 128, s](d)\ns.add_callback(lambda *a: done.set())\ndone.wait()\ndouble[2, 128, t](d)",
        None,
    ),
    "the default stream": ("double[2, 128, s](d)\ndouble[2, 128](d)\ndouble[2, 128, t](d)", None),
    "a copy on the default stream": ("double[2, 128, s](d)\nd.copy_to_host()\ndouble[2, 128, t](d)", None),
    "halves": ("double[1, 128, s](d[:128])\ndouble[1, 128, t](d[128:])", None),
    "every other item": ("double[1, 128, s](d[::2])\ndouble[1, 128, t](d[1::2])", None),
    "halves of rows": ("m[:, :8].copy_to_host(stream=s)\nm[:, 8:].copy_to_device(np.ones((16, 8)), stream=t)", None),
    "threads": (
        "def work(k):\n    own = cuda.stream()\n    a = cuda.to_device(np.ones(n), stream=own)\n    for _ in range(5):\n        double[2, 128, own](a)\n"
        "    own.synchronize()\n    assert a.copy_to_host()[3] == 32\n"
        "ts = [threading.Thread(target=work, args=(k,)) for k in range(4)]\n[x.start() for x in ts]\n[x.join() for x in ts]",
        None,
    ),
}  # fmt: skip


def outcomes(programs: dict[str, str], **env: str) -> dict[str, str | None]:
    """What each program is told, all in one process."""
    text = HEAD
    for name, body in programs.items():
        lines = "\n".join(f"        {line}" for line in body.splitlines())
        text += f"\ndef program():\n    global d, y, z\n    try:\n{lines}\n        cuda.synchronize()\n    except KernelCheckError as error:\n        return str(error)\nout = program()\ncuda.synchronize()\nprint(json.dumps([{name!r}, out]))\n"
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        env={**os.environ, "TREADLE_CUDA_WARN": "0", **env},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


def test_programs():
    told = outcomes({name: body for name, (body, _) in PROGRAMS.items()}, TREADLE_EMU_CHECK="race")
    for name, (_, wanted) in PROGRAMS.items():
        if wanted is None:
            assert told[name] is None, (name, told[name])
        else:
            assert told[name] and re.search(wanted, told[name]) and "record an event" in told[name], (
                name,
                told[name],
            )


def test_without_the_check_nothing_is_told():
    assert set(outcomes({"two": PROGRAMS["two kernels"][0]}).values()) == {None}
    assert set(outcomes({"two": PROGRAMS["two kernels"][0]}, TREADLE_EMU_CHECK="bounds").values()) == {None}


def test_memcheck_goes_on(tmp_path):
    script = tmp_path / "streams.py"
    script.write_text(HEAD + PROGRAMS["two kernels"][0] + "\ncuda.synchronize()\nprint('went on')\n")
    done = subprocess.run(
        [sys.executable, "-m", "treadle", "memcheck", script],
        capture_output=True,
        text=True,
        env={**os.environ, "TREADLE_CUDA_WARN": "0"},
        check=False,
    )
    assert done.returncode == 1 and "went on" in done.stdout, done.stderr
    assert "race between streams: kernel double" in done.stderr and str(script) in done.stderr


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_against_reachability(seed):
    """Clocks say of two operations what the graph of all orders says: a way from one to the other, or none."""
    rng = np.random.default_rng(seed)
    order, edges, ops = Order(), {}, []
    last: dict[int, set[Operation]] = {}  # what the next one on a stream comes after
    host: set[Operation] = set()
    events: list[tuple[dict[int, int], set[Operation]]] = []
    order._forget = lambda: None  # type: ignore[method-assign]
    for _ in range(60):
        stream, what = int(rng.integers(10, 14)), rng.random()
        if what < 0.5:
            op = order._give(stream, "op")
            edges[op] = set(last.get(stream, set())) | host
            last[stream] = {op}
            ops.append(op)
        elif what < 0.7:
            events.append((order.recorded(stream), set(last.get(stream, set())) | host))
        elif what < 0.9 and events:
            clock, before = events[int(rng.integers(len(events)))]
            order.waits(stream, clock)
            last[stream] = last.get(stream, set()) | before
        elif what < 0.95 and events:
            clock, before = events[int(rng.integers(len(events)))]
            order.host_knows(clock)
            host = host | before
        elif what > 0.98:
            order.everything()
            host = set(ops)

    def reaches(a, b, seen):
        return a is b or any(
            one not in seen and not seen.add(one) and reaches(a, one, seen) for one in edges[b]
        )

    for a in ops:
        for b in ops:
            if a is not b:
                assert b.follows(a) == reaches(a, b, set()), (a, b)


def test_spans_of_arrays():
    a = np.zeros((4, 6))
    base = a.__array_interface__["data"][0]
    assert spans(a, True, "a") == [Span(base, base + 192, True, "a")]
    assert spans(a[:, 1:3], False, "") == [
        Span(base + 48 * k + 8, base + 48 * k + 24, False) for k in range(4)
    ]
    assert spans(a[::-1], False, "") == [Span(base + 48 * k, base + 48 * k + 48, False) for k in (3, 2, 1, 0)]
    assert spans(a[:, 1], False, "") == [Span(base + 8, base + 8 + 3 * 48 + 8, False)]
    assert spans(a[:0], False, "") == []
    assert spans_of(8, 4, 16, 2, True, "a") == [Span(8, 12, True, "a"), Span(24, 28, True, "a")]
    assert (
        spans_of(8, 4, 4, 3, False, "a") == [Span(8, 20, False, "a")]
        and spans_of(8, 4, 4, 0, True, "a") == []
    )
    assert spans_of(8, 4, 16, 5000, True, "a") == [Span(8, 8 + 4999 * 16 + 4, True, "a")]
