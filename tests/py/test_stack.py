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
threading.stack_size(32 << 10)
t = threading.Thread(target=work)
t.start()
t.join()
print((columns(a) == 100).all())
"""


def test_no_room_is_an_exception():
    """Sums down columns keep 34 KiB for partial sums: more than some threads have in all. (In a process of its own: stacks of threads that have
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
