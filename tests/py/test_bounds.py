"""Indices in loops: proven, tested before the loop, or tested in place, they mean what they mean in Python.

Random loop nests with affine and odd indices run compiled and interpreted; value, exception and what was written to the
arrays must agree. The sizes are chosen to lie at and around the edges that the bounds pass reasons about.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import treadle

BIG = 2**63 - 1


class Kernel:
    """Text of one random kernel ``f(a, b, n, k)``: `a` is 1-d, `b` 2-d, both int64."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines = ["def f(a, b, n, k):", "    s = 1", "    fuel = 400"]
        self.vars: list[str] = []
        self.count = 0
        for _ in range(self.r.randint(1, 2)):
            self.loop(1, self.r.randint(1, 3))
        self.lines.append("    return s")
        self.text = "\n".join(self.lines) + "\n"

    def size(self) -> str:
        return self.r.choice(
            ["n", "n", "k", "len(a)", "len(a)", "b.shape[0]", "b.shape[1]", "n - 1", "len(a) - 1", "n // 2"]
        )

    def index(self) -> str:
        r, v = self.r, self.vars
        i = r.choice(v) if v else "0"
        j = r.choice(v) if v else "k"
        c = r.randint(0, 3)
        forms = [
            i,
            i,
            i,
            i,
            f"{i} + {c}",
            f"{i} - {c}",
            f"n - 1 - {i}",
            f"len(a) - 1 - {i}",
            f"{i} + {j}",
            f"{i} - {j}",
            f"2 * {i} + {c}",
            f"({i} + {c}) % n",
            f"({i} + {c}) % len(a)",
            f"({i} - {c}) % len(a)",
            f"-{i}",
            f"-{i} - 1",
            f"{i} // 2",
            f"({i} + {j}) // 2",
            f"{i} + k",
            f"n - {i}",
            f"a[{i}] % len(a)",
            f"{c}",
            f"{i} * {j}",
            f"{i} + {BIG}",
            f"{i} >> 1",
            f"{i} & 3",
            f"min({i}, len(a) - 1)",
            f"max({i} - {c}, 0)",
        ]
        return r.choice(forms)

    def element(self) -> str:
        if self.r.random() < 0.3:
            return f"b[{self.index()}, {self.index()}]"
        return f"a[{self.index()}]"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def loop(self, depth: int, levels: int) -> None:
        r = self.r
        v = f"i{self.count}"
        self.count += 1
        c = r.randint(0, 2)
        form = r.randrange(9)
        if form < 3:
            self.put(depth, f"for {v} in range({self.size()}):")
        elif form == 3:
            self.put(depth, f"for {v} in range({c}, {self.size()} - {r.randint(0, 2)}):")
        elif form == 4:
            self.put(depth, f"for {v} in range({self.size()} - 1, {r.choice([-1, 0, -2])}, -1):")
        elif form == 5:
            self.put(depth, f"for {v} in range({c}, {self.size()}, {r.randint(2, 3)}):")
        elif form == 6:
            self.put(depth, f"{v} = {r.choice(['0', 'k', '1', '-1'])}")
            self.put(depth, f"while {v} < {self.size()}:")
        elif form == 7:
            self.put(depth, f"{v} = {self.size()}")
            self.put(depth, f"while {v} > {r.choice(['0', '1', '-1', 'k'])}:")
        else:
            self.put(depth, f"{v} = {r.choice(['0', '1'])}")
            self.put(depth, f"while {r.choice([f'2 * {v} + 1 < {self.size()}', f'{v} <= {self.size()}'])}:")
        self.put(depth + 1, "fuel -= 1")
        self.put(depth + 1, "if fuel < 0:")
        self.put(depth + 2, "raise RuntimeError")
        self.vars.append(v)
        self.body(depth + 1, levels)
        if form == 6:
            self.put(depth + 1, f"{v} += {r.randint(1, 2)}")
        elif form == 7:
            self.put(depth + 1, f"{v} -= {r.randint(1, 2)}")
        elif form == 8:
            self.put(
                depth + 1, r.choice([f"{v} = 2 * {v} + 1", f"{v} += 1", f"{v} = 2 * {v} + 1 + ({v} & 1)"])
            )
        self.vars.remove(v)

    def body(self, depth: int, levels: int) -> None:
        r = self.r
        for _ in range(r.randint(1, 3)):
            kind = r.randrange(6)
            if kind < 2:
                self.put(depth, f"s = (s * 31 + {self.element()}) % 10007")
            elif kind == 2:
                self.put(depth, f"{self.element()} = s % 7")
            elif kind == 3:
                self.put(depth, f"if {self.index()} < {self.size()}:")
                self.put(depth + 1, f"s = (s * 31 + {self.element()}) % 10007")
            elif kind == 4:
                self.put(
                    depth,
                    f"if {self.index()} {r.choice(['>=', '>', '!='])} {r.choice(['0', '1', self.size()])}:",
                )
                self.put(depth + 1, f"{self.element()} = s % 7")
            elif r.random() < 0.2:
                self.put(depth, f"if s == {r.randint(0, 3)}:")
                self.put(depth + 1, "break")
        if levels > 1:
            self.loop(depth, levels - 1)


def outcome(f: Any, a: np.ndarray, b: np.ndarray, n: int, k: int) -> list[Any]:
    a, b = a.copy(), b.copy()
    try:
        value: Any = int(f(a, b, n, k))
    except Exception as e:
        value = type(e).__name__
    return [value, a.tolist(), b.ravel().tolist()]


def calls(seed: int, extra: tuple[int, ...] = ()) -> Any:
    """Yield arguments for kernel `seed`; `extra` are numbers to use for n and k beside those around the sizes."""
    r = random.Random(seed + 1)
    for _ in range(8):
        size = r.choice([0, 1, 2, 3, 5, 8])
        a = np.array([r.randint(-3, 8) for _ in range(size)], dtype=np.int64)
        b = np.arange(r.choice([0, 1, 2, 4]) * r.choice([1, 2, 5]), dtype=np.int64)
        b = b.reshape(-1, r.choice([d for d in (1, 2, 5) if b.size % d == 0]))
        near = (0, 1, size, size - 1, size + 1, -1, 2, *b.shape, size // 2, *extra)
        yield a, b, r.choice(near), r.choice(near)


def kernel(seed: int) -> tuple[Any, str]:
    scope: dict[str, Any] = {}
    text = Kernel(seed).text
    exec(text, scope)
    return scope["f"], text


def check(seed: int) -> None:
    """Compare compiled code with Python; numbers are small, so that Python's ints stay within int64."""
    f, text = kernel(seed)
    if str(BIG) in text:
        return  # a sum that wraps here and not in Python; see test_sums_that_wrap
    compiled = treadle.njit(f)
    for a, b, n, k in calls(seed):
        want, got = outcome(f, a, b, n, k), outcome(compiled, a, b, n, k)
        assert got == want, f"seed {seed}, n={n}, k={k}, a={a.tolist()}, b of {b.shape}\n{text}"


def outcomes(start: int, stop: int) -> list[Any]:
    """What compiled code does where sums wrap: to be compared with what it does without the bounds pass."""
    out = []
    for seed in range(start, stop):
        compiled = treadle.njit(kernel(seed)[0])
        extra = (BIG, -BIG, -BIG - 1, BIG - 1, 2**60, 2**61, 2**60 + 1)
        out += [[seed, n, k, outcome(compiled, a, b, n, k)] for a, b, n, k in calls(seed, extra)]
    return out


def child(start: int, stop: int, skip: str) -> list[Any]:
    env = {**os.environ, "TREADLE_SKIP": skip}
    run = subprocess.run(
        [sys.executable, __file__, "outcomes", str(start), str(stop)], env=env, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_nests(start: int) -> None:
    for seed in range(start, start + 20):
        check(seed)


def test_sums_that_wrap() -> None:
    assert child(0, 40, "") == child(0, 40, "bounds")


@pytest.mark.slow
@pytest.mark.parametrize("start", (1000, 2000))
def test_more_random_nests(start: int) -> None:
    for seed in range(start, start + 40):
        check(seed)
    assert child(start, start + 40, "") == child(start, start + 40, "bounds")


if __name__ == "__main__":
    first, last = int(sys.argv[2]), int(sys.argv[3])
    if sys.argv[1] == "outcomes":
        print(json.dumps(outcomes(first, last)))
    else:
        for number in range(first, last):
            check(number)


@pytest.mark.parametrize("step", [1, 2, 3])
def test_one_test_before_a_nest_whose_inner_range_begins_at_the_outer_item(step: int) -> None:
    """Its proof must not be lost between what bounds the inner range's length from both sides."""

    @treadle.njit
    def total(a, p, q):
        s = 0
        for i in range(p, q):
            for _ in range(i, len(a), step):
                s += a[i]
        return s

    a = np.arange(40)
    assert total(a, 2, 30) == total.py_func(a, 2, 30)
    assert total.inspect_ir(total.signatures[0]).count("checkindex") == 1  # of the copy that has all
    with pytest.raises(IndexError):
        total(a, -50, 3)
