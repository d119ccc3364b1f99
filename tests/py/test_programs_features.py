"""Programs' small change: tuples into slices, defaults of named tuples, tuples of tuples under a loop's index.

PYTEST_DONT_REWRITE: the programs hold `assert`s of their own.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from programs import same  # noqa: E402
from treadle import TreadleError, TypingError, njit  # noqa: E402

# --- tuples into slices ---


def rows_of_tuples(a):
    x, y = 1.5, 2
    a[0] = x, y
    a[1] = (a[0, 1], a[0, 0])
    a[-1, ::-1] = 7, 8
    a[2:4] = (x, -1)
    a[2:4] = ((1, 2), (3, x))
    a[:, 1][2:4] = (9,)
    a[1] = a[1, 1], a[1, 0]


def two_into_three(a):
    a[0] = 1, 2


def complex_into_floats(a):
    a[0] = 1, 2j


def test_tuples_into_slices():
    for dtype in ("f8", "i4", "c16"):
        same(rows_of_tuples, np.zeros((5, 2), dtype))
    same(rows_of_tuples, np.zeros((2, 5)).T)
    with pytest.raises(ValueError, match="could not broadcast"):
        njit(two_into_three)(np.zeros((2, 3)))
    with pytest.raises(TypingError, match="complex"):
        njit(complex_into_floats)(np.zeros((2, 2)))


# --- named tuples' defaults ---

Options = namedtuple("Options", "tol steps name", defaults=(1e-3, 10, "fast"))
Pair = namedtuple("Pair", ["a", "b"], defaults=[2])


def options(x):
    return Options(x), Options(steps=3, tol=x), Options(x, 4), Options()


def pairs(x):
    return Pair(x), Pair(b=x, a=1), Pair(x, x)


def no_pair():
    return Pair(b=1)


def test_defaults_of_named_tuples():
    same(pairs, 1.5)
    with pytest.raises(TypingError, match="misses the field 'a'"):
        njit(no_pair)()

    def tolerances(x):
        a, b, c, d = options(x)
        return a.tol, b.steps, c.steps, d.tol, d.name == "fast"

    same(tolerances, 0.5)


# --- tuples under a loop's index ---


def moves(board):
    total = 0
    for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        total += board[2 + di, 2 + dj]
    for k, (di, dj) in enumerate(((1, 2), (2, 1), (-1, 2.5))):
        total += k * int(di * dj)
    table = ((1, 2.0), (3, 4.0))
    for k in range(2):
        total += int(table[k][0] + table[k][1])
    return total


def views_by_index(a, b):
    out = np.empty(3)
    for k in range(3):
        x = (a[1:], b, a[::2])[k]
        out[k] = x.sum()
    return out


def test_tuples_under_a_loops_index():
    same(moves, np.arange(25).reshape(5, 5))
    same(views_by_index, np.arange(6.0), np.ones((3, 2))[:, 0])


# --- classes of named tuples ---

FROZEN = Pair(1, 2.5)


def frozen_pair():
    return FROZEN


def without_names(p):
    return tuple(p), p


def test_classes_of_named_tuples():
    same(frozen_pair)
    same(without_names, Pair(1, 2.0))


# --- what the errors say ---


def appending(n):
    out = []
    for i in range(n):
        out.append(np.errstate(all="ignore"))
    return len(out)


def growing(n):
    return ((0,) * n)[0]


def storing_into_a_tuple(n):
    out = (0, 0)
    out[1] = n
    return out[0]


def telling(a):
    return np.array_repr(a)


def choosing_text(n):
    kind = "even" if n % 2 == 0 else n
    return kind == "even"


@pytest.mark.parametrize(
    ("fn", "arg", "text", "help"),
    [
        (appending, 3, "does not compile a list of", "keep an array for each part"),
        (growing, 3, "whose length is a variable", "use a list, `[0] * n`, or an array"),
        (storing_into_a_tuple, 3, "does not support item assignment", "tuples keep their items: make a list"),
        (telling, np.ones(2), "calls of 'numpy.array_repr'", "f-strings, str() and print() make texts"),
        (
            choosing_text,
            3,
            "^'kind' has no single type|^the value has no single type",
            "a variable is a string on all paths",
        ),
    ],
)
def test_errors_name_the_line_and_a_way_out(fn, arg, text, help):
    with pytest.raises(TreadleError, match=text) as info:
        njit(fn)(arg)
    message = str(info.value)
    assert f"help: {help}" in message, message
    lines = range(fn.__code__.co_firstlineno + 1, fn.__code__.co_firstlineno + 5)
    assert any(f"test_programs_features.py:{n}:" in message for n in lines), message


# --- flat, whatever the layout ---


def through_flat(a):
    total = 0.0
    for k, v in enumerate(a.flat):
        total += k * v
    return total, a.flat[2], a.flat[-1], sum((a * 2).flat)


def test_flat_of_every_layout():
    a = np.arange(24.0).reshape(2, 3, 4)
    for view in (a, a.T, a[:, 1:], a[0], a[0, :, ::-2], a[1, 1]):
        same(through_flat, view)
