"""Branches on one integer: LLVM makes a switch of them, and jit/choices.c tests of that again, so that loops get vectors."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from treadle import njit


def chain(n, arms, dtype):
    """A function of n branches on an item, that share `arms` different right-hand sides, with two values that come together."""
    lines = ["def f(a, b, c):", "    for i in range(len(a)):", "        x = int(a[i])", "        y = c[i]"]
    for k in range(n):
        lines.append(f"        {'el' if k else ''}if x == {dtype(3 * k - 4)}:")
        lines.append(f"            y = c[i] + {k % arms}")
        lines.append(f"            x = {k % arms}" if k % 2 else "            pass")
    lines += ["        else:", "            y = -y", "        b[i] = y + x * 100", "    return b"]
    scope = {}
    exec("\n".join(lines), scope)
    return scope["f"]


@pytest.mark.parametrize("n", range(1, 12))
@pytest.mark.parametrize("arms", [1, 2, 12])
def test_branches_on_an_integer(n, arms):
    rng = np.random.default_rng(n)
    f = chain(n, arms, int)
    g = njit(f)
    for dtype in (np.int64, np.int8):
        a, c = rng.integers(-6, 40, 200).astype(dtype), rng.integers(0, 9, 200)
        for k in (0, 1, 7, 200):
            np.testing.assert_array_equal(
                g(a[:k], np.zeros(k, int), c[:k]), f(a[:k], np.zeros(k, int), c[:k])
            )


def test_a_chosen_place_is_the_head_of_a_loop():
    def f(n, k):
        s = 0
        while n > 0:
            n -= 1
            if n % 4 == k:
                continue
            if n % 4 == 2:
                continue
            if n % 4 == 3:
                break
            s += n
        return s

    g = njit(f)
    for n in range(9):
        for k in range(5):
            assert g(n, k) == f(n, k)


LIFE = """
from treadle import njit
@njit("void(i8[:,::1], i8[:,::1])")
def life(a, b):
    h, w = a.shape
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            n = a[y-1, x-1] + a[y-1, x] + a[y-1, x+1] + a[y, x-1] + a[y, x+1] + a[y+1, x-1] + a[y+1, x] + a[y+1, x+1]
            if a[y, x] == 1 and (n == 2 or n == 3):
                b[y, x] = 1
            elif a[y, x] == 0 and n == 3:
                b[y, x] = 1
            else:
                b[y, x] = 0
print("".join(life.inspect_asm().values()).partition("# late code")[0])
"""


@pytest.mark.parametrize(("cpu", "register"), [("haswell", "%ymm"), ("x86-64-v4", "%zmm")])
def test_a_cellular_automaton_has_vectors(cpu, register):
    r = subprocess.run(
        [sys.executable, "-c", LIFE],
        env={**os.environ, "TREADLE_CPU": cpu},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert r.returncode == 0, r.stderr
    assert register in r.stdout
