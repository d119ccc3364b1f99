"""Programs as nobody writes them: prange loops that store at places which iterations compute, through views, in branches and in loops inside.

What they make is what the plain loop makes, whichever way iterations go, or diagnostics say which lines perhaps meet.
"""

from __future__ import annotations

import contextlib
import io
import random

import numpy as np
import pytest
from sizes import examples
from treadle import UnsupportedError, _core, njit, prange

RAISES = (IndexError, ZeroDivisionError, ValueError, OverflowError)
VIEWS = ["np.arange(64)", "a[::2]", "a[t:]", "a[::-1]", "b[t]", "b[:, 1]", "a"]


@pytest.fixture(autouse=True)
def as_usual():
    yield
    _core._pool_grain(0)


class Writer:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def number(self, names, depth):
        r = self.r
        if depth == 0 or r.random() < 0.35:
            return r.choice(["i", "i", "i", "t", "k", str(r.randint(0, 5)), *names])
        x, y = self.number(names, depth - 1), self.number(names, depth - 1)
        by = r.choice(["2", "3", "(t + 1)"]), r.choice(["4", "m", "(k + 1)"])
        forms = [f"({x} + {y})", f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} // {by[0]})"]
        return r.choice(
            [*forms, f"({x} % {by[1]})", f"min({x}, {y})", f"max({x}, {y})", f"({x} & 3)", f"({x} >> 1)"]
        )

    def place(self, names):
        kind = self.r.random()
        if kind < 0.55:
            return f"{'a' if kind < 0.35 else 'c'}[{self.number(names, self.r.randint(0, 2))}]"
        return f"b[{self.number(names, self.r.randint(0, 1))}, {self.number(names, self.r.randint(0, 1))}]"

    def slice(self, names):
        x, y = self.number(names, 1), self.number(names, 1)
        w = self.r.choice(["1", "2", "t"])
        return self.r.choice([f"a[{x}:{x} + {w}]", f"b[{x}]", f"b[{x}, t:]", f"c[{x}:{y}]", f"b[:, {x}]"])

    def statement(self, names, indent):
        r, kind = self.r, self.r.random()
        if kind < 0.15 and not names:
            rounds = r.choice(["2", "k", "t", "i", "3"])
            return f"{indent}for j in range({rounds}):\n{self.statement(['j'], indent + ' ')}"
        if kind < 0.3:
            test = r.choice(["i % 3 != 1", "i > t", "i < k", "i != t"])
            return f"{indent}if {test}:\n{self.statement(names, indent + ' ')}"
        if kind < 0.45:
            return f"{indent}{self.slice(names)} = {r.choice(['i', 'i', f'np.sum({self.slice(names)})'])}"
        x, y = self.place(names), self.place(names)
        return f"{indent}{self.place(names)} = {r.choice(['i', f'{x} * 2 + i', f'{x} - {y} + i'])}"

    def program(self):
        body = "\n".join(self.statement([], "  ") for _ in range(self.r.choice([1, 1, 2])))
        over = self.r.choice(["n", "n", "1, n", "n, 0, -1", "0, n, 2", "t, n"])
        head = f"def f(a, n, t, k):\n m = len(a)\n b = a.reshape(8, 8)\n c = {self.r.choice(VIEWS)}"
        return f"{head}\n for i in prange({over}):\n{body}\n"


def told(f):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    return text.getvalue()


def made_by(f, *args):
    """None: it raises."""
    a = np.arange(64) * 3 % 50
    try:
        f(a, *args)
    except RAISES:
        return None
    return a


def agree(python, compiled, *args):
    """False: it is refused, or raises."""
    want = made_by(python, *args)
    try:
        got = made_by(compiled, *args)
    except UnsupportedError as e:
        assert "depend on each other: line" in str(e)
        return False
    assert (got is None) == (want is None)
    if want is not None and "perhaps" not in told(compiled):
        np.testing.assert_array_equal(got, want)
    return want is not None


@pytest.mark.parametrize("part", range(8))
def test_programs(part, threads):
    ran = 0
    for q in range(examples(12)):
        writer = Writer(part * 1000 + q)
        source, space = writer.program(), {"np": np, "prange": prange}
        exec(source, space)
        compiled = njit(parallel=True)(space["f"])
        for _ in range(4):
            args = (
                writer.r.choice([1, 2, 5, 8]),
                writer.r.choice([0, 1, 2, 3, 8, -1]),
                writer.r.choice([0, 1, 2, 6]),
            )
            for backwards in True, False:
                _core._pool_grain(1, backwards)
                ran += agree(space["f"], compiled, *args)
    assert ran > examples(12)


PLACES = ["a[i] = i", "b[i, i] = i", "b[:, i] = i", "b[i, k] = i", "a[i + t] = i", "b[:, i + t] = i"]


@pytest.mark.parametrize("body", PLACES)
def test_a_loop_that_begins_below_0_comes_to_the_end(body):
    """Places that count from the end may be those of later iterations, and these store last."""
    space = {"prange": prange}
    exec(f"def f(a, n, t, k):\n b = a.reshape(8, 8)\n for i in prange(t, n):\n  {body}\n", space)
    compiled = njit(parallel=True)(space["f"])
    _core._pool_grain(1, True)
    for t in (-1, -2, -4, 0, 3):
        for n in (5, 6, 7, 8, 62, 63, 64):
            agree(space["f"], compiled, n, t, 0)
    assert "perhaps" not in told(compiled)
