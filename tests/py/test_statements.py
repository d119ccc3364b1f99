"""Array statements one after the other that store into what the next one reads: no array is made between them where memory lies apart."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle import njit

STENCILS = {
    "two": ("b[1:-1] = c * (a[:-2] + a[1:-1] + a[2:])", "a[1:-1] = c * (b[:-2] + b[1:-1] + b[2:])"),
    "ends": (
        "b[1:-1] = a[1:-1] + c * (a[:-2] - 2 * a[1:-1] + a[2:])",
        "b[0] = b[1]",
        "b[-1] = b[-2]",
        "a[1:-1] = b[1:-1] + c * (b[:-2] - b[2:])",
        "a[0] = a[1]",
    ),
    "fields": ("a[:-1] -= c * (b[1:] - b[:-1])", "b[1:] -= c * (a[1:] - a[:-1])"),
    "three": (
        "b[1:-1] = a[1:-1] + c * (d[2:] - d[:-2])",
        "d[1:-1] = d[1:-1] * c + (b[2:] + a[:-2])",
        "a[1:-1] = c * (b[2:] + b[:-2])",
    ),
    "leapfrog": ("d[1:-1] = 2 * b[1:-1] - a[1:-1] + c * (b[:-2] + b[2:])", "a[:] = b", "b[:] = d"),
    "names": ("b[1:-1] = c * (a[:-2] + a[2:])", "a, b = b, a"),
    "names of three": ("d[1:-1] = b[1:-1] - a[1:-1] + c * b[2:]", "a, b, d = b, d, a"),
    "table": (
        "b[1:-1, 1:-1] = c * (a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])",
        "a[1:-1, 1:-1] = c * (b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])",
    ),
    "rows and columns": (
        "b[1:] = b[1:] - c * (d[1:] - d[:-1])",
        "a[:, 1:] = a[:, 1:] - c * (d[:, 1:] - d[:, :-1])",
        "d[:-1, :-1] = d[:-1, :-1] - c * (a[:-1, 1:] - a[:-1, :-1] + b[1:, :-1] - b[:-1, :-1])",
    ),
    "nine": (
        "b[1:-1, 1:-1] = c * (a[:-2, :-2] + a[:-2, 1:-1] + a[:-2, 2:] + a[1:-1, :-2] + a[1:-1, 1:-1]"
        " + a[1:-1, 2:] + a[2:, :-2] + a[2:, 1:-1] + a[2:, 2:])",
        "a[1:-1, 1:-1] = b[1:-1, 1:-1] - c * b[2:, 2:]",
    ),
}
TABLES = ("table", "rows and columns", "nine")


def function(lines):
    names: dict = {}
    exec("def f(a, b, d, c, n):\n for t in range(n):\n  " + "\n  ".join(lines) + "\n", names)
    return names["f"]


def memory(table, dtype, size):
    space = np.random.default_rng(3).random((6 * size, 9) if table else 6 * size)
    return (space * 8).astype(dtype)


def compare(compiled, space, parts, c, n=3):
    """Runs both on the same parts of memory; the number of arrays that compiled code made."""
    mine, theirs = space.copy(), space.copy()
    compiled.py_func(*(p(theirs) for p in parts), c, n)
    before = treadle.stats()["arrays_allocated"]
    compiled(*(p(mine) for p in parts), c, n)
    made = treadle.stats()["arrays_allocated"] - before
    np.testing.assert_allclose(mine, theirs, rtol=1e-4 if space.dtype == np.float32 else 1e-12)
    return made


APART = [lambda s: s[:7], lambda s: s[7:14], lambda s: s[14:21]]
PARTS = {
    "apart": APART,
    "one array": [lambda s: s[:7]] * 3,
    "the first two": [lambda s: s[:7], lambda s: s[:7], lambda s: s[14:21]],
    "the last two": [lambda s: s[14:21], lambda s: s[:7], lambda s: s[:7]],
    "one item on": [lambda s: s[1:8], lambda s: s[:7], lambda s: s[2:9]],
    "one item back": [lambda s: s[1:8], lambda s: s[2:9], lambda s: s[:7]],
    "backwards": [lambda s: s[:7], lambda s: s[6::-1], lambda s: s[14:21]],
    "every other": [lambda s: s[:14:2], lambda s: s[1:15:2], lambda s: s[14:28:2]],
    "every other, the same": [lambda s: s[:14:2], lambda s: s[2:16:2], lambda s: s[:14:2]],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("name", STENCILS)
def test_stencils(name, dtype):
    """Memory that lies apart needs no array between; any other gives what NumPy does."""
    f = njit(function(STENCILS[name]))
    space = memory(name in TABLES, dtype, 7)
    c = dtype(0.25) if dtype != np.int32 else 2
    assert compare(f, space, PARTS["apart"], c) == 0
    for parts in PARTS.values():
        compare(f, space, parts, c)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("name", [n for n in STENCILS if n not in ("ends", *TABLES)])
def test_hardly_any_items(name, size):
    f = njit(function(STENCILS[name]))
    parts = [lambda s, k=k: s[k * size : (k + 1) * size] for k in range(3)]
    compare(f, memory(False, np.float64, size), parts, 0.25)


def test_a_statement_that_reads_what_it_stores_asks_nothing_of_others():
    """It makes an array in each round, the others make none."""
    f = njit(
        function(("b[1:-1] = c * (a[:-2] + a[2:])", "a[1:-1] = a[:-2] + b[2:]", "d[1:-1] = a[:-2] * b[2:]"))
    )
    space = memory(False, np.float64, 7)
    assert compare(f, space, APART, 0.25, 5) == 5
    for parts in PARTS.values():
        compare(f, space, parts, 0.25)


def test_arrays_that_one_statement_got_twice_are_nothing_to_the_next():
    f = njit(function(("b[1:-1] = c * (a[:-2] + a[2:])", "d[1:-1] = c * (b[:-2] + b[2:])")))
    space = memory(False, np.float64, 7)
    assert compare(f, space, PARTS["the first two"], 0.25, 5) == 5
    assert compare(f, space, PARTS["the last two"], 0.25, 5) == 5
    assert compare(f, space, PARTS["one array"], 0.25, 5) == 10


def test_an_array_of_two_statements():
    """What both use is made where the first one stands."""
    f = njit(function(("e = a * c", "b[1:-1] = e[:-2] + e[2:]", "d[1:-1] = e[:-2] - e[2:]")))
    for parts in PARTS.values():
        compare(f, memory(False, np.float64, 7), parts, 0.25)


def test_from_a_compiled_caller():
    inner = njit(function(STENCILS["two"]))

    @njit
    def f(s):
        inner(s[:7], s[7:14], s[14:], 0.25, 3)
        inner(s[:7], s[1:8], s[14:], 0.25, 3)

    a, b = memory(False, np.float64, 7), memory(False, np.float64, 7)
    f(a)
    python = function(STENCILS["two"])
    python(b[:7], b[7:14], b[14:], 0.25, 3)
    python(b[:7], b[1:8], b[14:], 0.25, 3)
    np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", ["two", "three", "fields"])
def test_in_parallel(name):
    f = njit(parallel=True)(function(STENCILS[name]))
    for parts in PARTS.values():
        compare(f, memory(False, np.float64, 7), parts, 0.25)
