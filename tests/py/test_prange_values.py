"""Every kind of value in the body of a prange loop: made in an iteration, chosen there, and taken from outside.

Finding which arrays iterations share asks each type for its parts; a range has numbers and no items, which once ended in a crash.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from prange_check import check  # noqa: E402

Pair = namedtuple("Pair", "x y")

# What an iteration does; `a` is an array of floats, `n` the length of `out`.
INSIDE = {
    "a sum of a range": "out[i] = sum(range(i))",
    "a range": "r = range(n); out[i] = r[i]",
    "a range with a step": "r = range(i, n, 2); out[i] = len(r)",
    "a chosen range": "r = range(i) if i % 2 else range(3); out[i] = len(r)",
    "the largest of a range": "out[i] = max(range(i + 1))",
    "a range backwards": "for x in reversed(range(i)): out[i] += x",
    "enumerate": "for k, x in enumerate(a): out[i] += k * x",
    "enumerate of a range": "for k, y in enumerate(range(i)): out[i] += k * y",
    "zip": "for x, y in zip(a, a[::-1]): out[i] += x * y",
    "zip of ranges": "for x, y in zip(range(i), range(1, i + 1)): out[i] += x * y",
    "reversed": "for x in reversed(a): out[i] += x",
    "ndindex": "for j, k in np.ndindex(2, 3): out[i] += j * k",
    "ndenumerate": "for k, x in np.ndenumerate(a): out[i] += x * k[0]",
    "flat": "for x in a.flat: out[i] += x",
    "a tuple of ranges": "t = (range(i), range(2)); out[i] = len(t[0]) + len(t[1])",
    "tuples in tuples": "t = ((), (i, (a, range(i)))); out[i] = t[1][1][0][0] + len(t[1][1][1])",
    "an empty tuple": "t = (); out[i] = len(t)",
    "a named tuple": "p = Pair(i, a); out[i] = p.x + p.y[0]",
    "a named tuple of a range": "p = Pair(range(i), a); out[i] = len(p.x) + p.y[0]",
    "a list": "l = [1, i, 3]; out[i] = l[1]",
    "a slice": "s = slice(0, i); out[i] = a[s].sum()",
    "a chosen slice": "s = slice(0, i) if i % 2 else slice(1, i); out[i] = a[s].sum()",
    "None": "x = None; out[i] = x is None",
    "an optional": "x = None if i % 2 else i; out[i] = 1 if x is None else x",
    "an optional tuple": "x = None if i % 2 else (i, 2.0); out[i] = 1 if x is None else x[1]",
    "a string": "s = 'ab'; out[i] = len(s) if s == 'ab' else 0",
    "a function": "f = lambda x: x + n; out[i] = f(i)",
    "a new array": "b = np.arange(i); out[i] = b.sum()",
    "a chosen array": "b = a if i % 2 else a + 1.0; out[i] = b[i]",
}

# What stands before the loop, and what an iteration does with it.
CAPTURED = {
    "a range": ("r = range(n)", "out[i] = r[i]"),
    "a chosen range": ("r = range(n) if n > 3 else range(2)", "out[i] = len(r)"),
    "a prange": ("r = prange(n)", "out[i] = len(r)"),
    "a tuple with a range and an array": ("r = (range(n), a, 3)", "out[i] = len(r[0]) + r[1][i]"),
    "a named tuple": ("r = Pair(range(n), a)", "out[i] = len(r.x) + r.y[i]"),
    "an empty tuple": ("r = ()", "out[i] = len(r)"),
    "a slice": ("r = slice(1, n)", "out[i] = a[r].sum()"),
    "None": ("r = None", "out[i] = r is None"),
    "an optional": ("r = None if n > 3 else n", "out[i] = 1 if r is None else r"),
    "a string": ("r = 'abc'", "out[i] = len(r)"),
    "a function": ("r = lambda x: a[x] + 1", "out[i] = r(i)"),
    "arrays that change places": ("r, q = a, a.copy()\n    r, q = q, r", "out[i] = r[i] + q[i]"),
}

SOURCE = """
def f(a, out):
    n = len(out)
    {before}
    for i in prange(n):
        {body}
    return out.sum()
"""


def compiled(before, body, **options):
    space = {"np": np, "prange": prange, "Pair": Pair}
    exec(SOURCE.format(before=before, body=body), space)
    return njit(parallel=True, **options)(space["f"])


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("name", INSIDE)
def test_made_in_an_iteration(name, checked, threads):
    f = compiled("pass", INSIDE[name], boundscheck=checked)
    check(f, np.arange(6.0), np.zeros(6))
    check(f, np.arange(600.0), np.zeros(600))


@pytest.mark.parametrize("name", CAPTURED)
def test_taken_from_outside(name, threads):
    f = compiled(*CAPTURED[name])
    check(f, np.arange(6.0), np.zeros(6))
    check(f, np.arange(600.0), np.zeros(600))


@pytest.mark.parametrize("name", INSIDE)
def test_made_in_a_function_that_is_called(name, threads):
    """The body is a function's, inlined or called; its loop is a plain one there."""
    space = {"np": np, "prange": prange, "Pair": Pair, "njit": njit}
    exec(
        "@njit\ndef g(a, out, i):\n    n = len(out)\n    "
        + INSIDE[name]
        + "\n    return 0\n"
        + SOURCE.format(before="pass", body="g(a, out, i)"),
        space,
    )
    check(njit(parallel=True)(space["f"]), np.arange(60.0), np.zeros(60))
