"""Generator expressions and list comprehensions drawn at random, against CPython: the same programs in every run; TREADLE_RANDOM=1 draws others."""

from __future__ import annotations

import math
import os
import random

import numpy as np
import pytest
from treadle import njit

PROGRAMS = 80


class Draw:
    """The text of one function of arrays `a`, `b`, `m` and numbers `n`, `k`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def expression(self, names: list[str], depth: int = 2) -> str:
        r = self.random.random()
        if depth == 0 or r < 0.3:
            return self.random.choice([*names, "2", "1.5", "n", "k"])
        x, y = self.expression(names, depth - 1), self.expression(names, depth - 1)
        if r < 0.8:
            return f"({x} {self.random.choice('+-*')} {y})"
        if r < 0.9:
            return f"({x} if {self.condition(names, depth - 1)} else {y})"
        return f"abs({x})" if r < 0.95 else f"a[{self.random.choice(['0', '1', '-1', 'n'])}]"

    def condition(self, names: list[str], depth: int = 1) -> str:
        sign = self.random.choice(["<", ">", "==", "!=", "<="])
        return f"{self.expression(names, depth)} {sign} {self.expression(names, depth)}"

    def loop(self, names: list[str]) -> tuple[str, list[str]]:
        x, y = f"x{self.loops}", f"y{self.loops}"
        self.loops += 1
        over = self.random.choice(
            [
                "a", "a", "b", "range(n)", "range(len(a))", "range(1, n + 2, 2)", "range(3)", "range(0)", "m[1]", "m.flat",
                "reversed(a)", "zip(a, b)", "enumerate(b)", "(1, 2.5, {})",
                "(one)",
            ]
        )  # fmt: skip
        if over == "(one)":
            over = f"({self.expression_over(names, self.random.choice([1, 1, 2]), 1)})"
        over = over.format(self.expression(names, 1))
        new = [x, y] if over in ("zip(a, b)", "enumerate(b)") else [x]
        text = f"for {', '.join(new)} in {over}"
        names = names + new
        while self.random.random() < 0.3:
            text += f" if {self.condition(names)}"
        return text, names

    def expression_over(self, names: list[str], loops: int = 0, depth: int = 0) -> str:
        parts = []
        for _ in range(loops or self.random.choice([1, 1, 1, 2, 3])):
            text, names = self.loop(names)
            parts.append(text)
        value = self.expression(names)
        if depth < 1 and self.random.random() < 0.15:
            value += f" + {self.consumer(names, 1)}"
        return f"{value} {' '.join(parts)}"

    def consumer(self, names: list[str], depth: int = 0) -> str:
        form = self.random.choice(
            [
                "sum({})", "sum({})", "sum([{}])", "any({})", "all({})", "min({})", "max({})", "any([{}])", "all([{}])",
                "len([{}])", "math.fsum({})", "np.array([{}]).sum()", "np.array([{}]).shape[0]",
                "len(list({}))", "sum(list({}))", "sum(sorted({})[:3])", "next(({}), 0.5)", "len(set({}))", "sum(x * i for i, x in enumerate({}))",
                "''.join(str(x) for x in ({})).count('1')", "len({{x: 1 for x in ({})}})",
            ]
        )  # fmt: skip
        return form.format(self.expression_over(names, 0, depth))

    def function(self) -> str:
        head, r = "def f(a, b, m, n, k):\n", self.random.random()
        one = self.expression_over(["n"], self.random.choice([1, 1, 2, 3]))
        if r < 0.6:
            return f"{head}    return {self.consumer(['n'])}\n"
        if r < 0.75:
            return f"{head}    s = 0.0\n    for z in ({one}):\n        s = s * 0.5 + z\n    return s\n"
        if r < 0.85:
            return f"{head}    return np.array([{self.expression_over(['n'])}])\n"
        if r < 0.93:
            return f"{head}    return np.array([[{self.expression_over(['n', 'z'], 1, 1)}] for z in range(n + 1)])\n"
        return f"{head}    g = ({one})\n    u = next(g, 7.5)\n    v = any(x > 2 for x in g)\n    return u + v + sum(g)\n"

    def arguments(self) -> tuple:
        a = [self.random.choice([0.0, 1.0, -2.5, 3.0, 4.25]) for _ in range(self.random.choice([0, 3, 5]))]
        b = [self.random.randint(-3, 5) for _ in range(4)]
        m = np.arange(6.0).reshape(2, 3) - 2
        return np.array(a), np.array(b), m, self.random.randint(0, 4), self.random.choice([2, 0.5])


FIRST = random.SystemRandom().randrange(10**9) if os.environ.get("TREADLE_RANDOM") else 0


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_drawn(seed: int) -> None:
    draw = Draw(seed)
    source, args = draw.function(), draw.arguments()
    space: dict = {"np": np, "math": math}
    exec(source, space)
    try:
        want = space["f"](*args)
    except Exception as e:  # an index out of range, nothing to choose from
        with pytest.raises(type(e)):
            njit(space["f"])(*args)
        return
    got = njit(space["f"])(*args)
    if np.size(want) or np.size(got):
        assert np.shape(got) == np.shape(want), source
        np.testing.assert_allclose(np.asarray(got, float), np.asarray(want, float), 1e-12, err_msg=source)
