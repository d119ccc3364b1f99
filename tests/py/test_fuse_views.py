"""Statements over arrays that a function makes and views of them that overlap: what is merged, or moved, must see what it did.

A program is made by a number: it draws views, stores through them, and keeps some for later, so that a view is read that was made before the store.
"""

import linecache
import random

import numpy as np
import pytest
from treadle import njit

WHOLE = ["{}", "{}[::-1]", "{}[:, ::-1]"]
VIEWS = [*WHOLE, "{}[:1]", "{}[:, :1]", "{}[1:2]", "{}[-1:]"]


class Maker:
    """One program."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.made = ["u", "v"]  # arrays of the function's own, and views of them
        self.known = [*self.made, "a[1:]", "b[:-1]"]
        self.lines = [
            *self.rng.choice([("u = a[1:] * 2", "v = b[1:] + a[1:]"), ("u = a[1:].copy()", "v = u + b[1:]")])
        ]
        for k in range(self.rng.randint(1, 3)):
            if self.rng.random() < 0.5:
                self.statement(k)
            else:
                self.turned()

    def part(self, names, views=VIEWS):
        return self.rng.choice(views).format(self.rng.choice(names))

    def expr(self, depth=2):
        kind = self.rng.random() if depth else 0.0
        if kind < 0.25:
            return self.part(self.known)
        more = [self.expr(depth - 1) for _ in range(2)]
        if kind < 0.7:
            return f"({more[0]} {self.rng.choice('+-*')} {more[1]})"
        if kind < 0.8:
            return f"np.minimum({more[0]}, {more[1]})"
        if kind < 0.9:
            return f"np.where({more[0]} > {more[1]}, {self.part(self.known)}, {self.part(self.known)})"
        return f"{self.part(self.known)}.sum(axis={self.rng.choice('01')}, keepdims=True)"

    def whole(self):
        return f"({self.part(self.known, WHOLE)} {self.rng.choice('+-*')} {self.expr()})"

    def store(self):
        kind = self.rng.random()
        place = self.part(self.made, ["{}[...]", *WHOLE[1:]])
        if kind < 0.6:
            self.lines.append(f"{place} = {self.whole()}")
        elif kind < 0.8:
            self.lines.append(f"{self.part(self.made, ['{}[:1]'])} = {self.part(self.made, ['{}[-1:]'])}")
        else:
            self.lines.append(f"{place} {self.rng.choice('+-*')}= {self.expr()}")

    def turned(self):
        """An array is stored into through a copy; then it is read as it lies, and by the view that was made for the copy, in one expression."""
        op, (m, n) = self.rng.choice, self.rng.sample(["u", "v"], 2)
        view = op(["[::-1]", "[:, ::-1]"])
        self.lines += [
            f"{m}[...] = {m}{view} {op('+-*')} {m}{op(['[:1]', '[:, :1]'])}",
            f"{m}{view} = np.{op(['minimum', 'maximum'])}({m}{view}, {n}) {op('+-*')} ({m} {op('+-*')} {m})",
        ]

    def statement(self, k):
        """A value, or a view, then a store into what it was made of, perhaps, then the value's use."""
        text = self.part(self.made, WHOLE[1:]) if self.rng.random() < 0.3 else self.whole()
        self.lines.append(f"t{k} = {text}")
        for _ in range(self.rng.randint(0, 2)):
            self.store()
        self.lines.append(f"s{k} = t{k} {self.rng.choice('+-*')} {self.expr(1)}")
        self.made.append(f"s{k}")
        self.known += [f"t{k}", f"s{k}"]

    def function(self, name):
        text = "\n    ".join(["def f(a, b):", *self.lines, f"return {', '.join(self.made)}\n"])
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        space = {"np": np}
        exec(compile(text, name, "exec"), space)
        return space["f"], text


@pytest.mark.parametrize("seed", range(24))
def test_random_statements(seed):
    f, text = Maker(seed).function(f"<views {seed}>")
    g = njit(parallel=seed % 4 == 0)(f)
    rng = np.random.default_rng(seed)
    for shape in ((3, 4), (5, 3), (1, 2)):
        a, b = rng.integers(-9, 9, (2, *shape))
        for x, y in zip(f(a, b), g(a, b), strict=True):
            np.testing.assert_array_equal(x, y, text)


def test_a_store_stays_before_what_reads_it_by_an_earlier_view():
    """The copy into `m` was merged with `m == m`, and that with the last expression, behind the one that reads `m[::-1]`."""

    def f(a):
        m = a[1:] > 0
        n = m / 7.3
        m[...] = m[::-1] != m[:1]
        m[::-1] = np.logical_and(np.minimum(m[::-1], n), m == m)
        return m

    def g(a):
        m = a[1:] * 2.0
        back = m[::-1]
        m[...] = m[::-1] - a[1:]
        n = back + 1
        return m * n + back, m

    rng = np.random.default_rng(3)
    for _ in range(20):
        a = rng.integers(0, 3, (3, 4))
        for h in (f, g):
            for x, y in zip(h(a), njit(h)(a), strict=True):
                np.testing.assert_array_equal(x, y)
