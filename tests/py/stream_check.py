"""What tests of streams share: kernels, streams that are held up, programs of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
from cuda_check import kernel_of
from treadle import cuda

INCREMENT = kernel_of("def k(a):\n    i = cuda.grid(1)\n    if i < a.size:\n        a[i] += 1\n")
AXPY = kernel_of(
    "def k(s, x, y):\n    i = cuda.grid(1)\n    if i < y.size:\n        y[i] = s * y[i] + x[i]\n"
)
BAD = kernel_of("def bad(a):\n    i = cuda.grid(1)\n    a[i + 5] = 1\n", "bad", boundscheck=True)
RAISE = kernel_of("def k(a, n):\n    if a[0] >= 0:\n        raise ValueError('told', n)\n")
PATIENCE = 60


def there(a):
    """What a launch does not wait for: other arrays of the host are as it left them when it returns."""
    if not cuda.is_emulated():
        return cuda.to_device(a)
    mine = cuda.pinned_array_like(a)
    mine[...] = a
    return mine


def items(a):
    return a if isinstance(a, np.ndarray) else a.copy_to_host()


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
        if cuda.is_emulated():
            assert all(arrived.wait(PATIENCE) for arrived in came)
        else:  # a driver makes one call after the other: the next streams wait for theirs
            assert came[0].wait(PATIENCE)
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
@cuda.jit(boundscheck=True)
def bad(a):
    a[cuda.grid(1) + 5] = 1
@cuda.jit
def forever(a):
    while cuda.atomic.add(a, 0, 0) == 0:  # a plain load would be done once
        cuda.atomic.add(a, 1, 1)
def flags(n):  # which launches do not wait for
    a = cuda.pinned_array(n, np.int64)
    a[:] = 0
    return a
"""


def program(text):
    return PRELUDE + textwrap.dedent(text)
