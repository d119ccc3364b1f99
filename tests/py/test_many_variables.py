"""Functions with very many variables: what would take LLVM the square or the cube of their number."""

from __future__ import annotations

import re

import numpy as np
from treadle import njit


def rotating(n: int):
    """A function whose n variables hand their values on to each other in each round."""
    lines = ["def f(a, rounds):"]
    lines += [f"    v{i} = a[{i}]" for i in range(n)]
    lines += ["    for k in range(rounds):"]
    lines += [f"        v{i} = v{(i + 1) % n} * 0.5" for i in range(n)]
    lines += ["    return " + ", ".join(f"v{i}" for i in range(n))]
    space: dict = {}
    exec("\n".join(lines), space)
    return space["f"]


def test_variables_that_hand_their_values_on():
    """The vectoriser is kept from loops with many of them, and from no others."""
    marked = []
    for n in (4, 60):
        a = np.arange(n) + 0.25
        compiled = njit(rotating(n))
        assert compiled(a, 7) == rotating(n)(a, 7)
        text = compiled.inspect_llvm()
        text = text if isinstance(text, str) else "".join(text.values())
        marked.append(len(re.findall(r'"llvm.loop.vectorize.enable", i1 false', text)))
    assert marked == [0, 1]


def test_many_arrays_in_one_result():
    n = 250
    space: dict = {}
    exec("def f(a):\n    return (" + ", ".join(f"(a, a[{i}:])" for i in range(n)) + ")", space)
    a = np.arange(float(n))
    got = njit(space["f"])(a)
    assert len(got) == n
    for i, (whole, part) in enumerate(got):
        assert whole is a or np.shares_memory(whole, a)
        np.testing.assert_array_equal(part, a[i:])
