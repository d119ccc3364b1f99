"""prange loops that store where their iterations compute: products of numbers of the running program, quotients, remainders, bits, min and max.

Whether iterations meet is looked at before the loop. Iterations that run on all cores do so one by one, the last one first, so whatever depends on their
order shows; which way they went, an element of `last` tells that all of them store to, at an index that an array says.
"""

from __future__ import annotations

import contextlib
import io
import random

import numpy as np
import pytest
from sizes import examples
from treadle import UnsupportedError, _core, njit, prange


@pytest.fixture(autouse=True)
def backwards():
    _core._pool_grain(1, True)
    yield
    _core._pool_grain(0)


def function(body, over="n"):
    lines = [f" for i in prange({over}):", "  last[at[0]] = i", *(f"  {x}" for x in body.split("\n"))]
    names = {"prange": prange, "np": np}
    exec("def f(a, n, t, k, last, at):\n m = len(a)\n b = a.reshape(8, 8)\n" + "\n".join(lines) + "\n", names)
    return names["f"]


def went(compiled, python, n, t, k):
    """refused, cores or order; results are those of the plain loop."""
    mine, theirs = np.full(64, 7), np.full(64, 7)
    last, at = np.array([-1]), np.zeros(1, np.int64)
    try:
        compiled(mine, n, t, k, last, at)
    except UnsupportedError as e:
        assert "depend on each other: line" in str(e)
        return "refused"
    python(theirs, n, t, k, np.array([-1]), at)
    np.testing.assert_array_equal(mine, theirs)
    return "cores" if last[0] == 0 else "order"


# What an iteration does; n, t and k with which iterations are apart, and with which they meet.
PLACES = {
    "a stride": ("a[i * t] = i", (9, 3, 0), (9, 0, 0)),
    "the other way": ("a[t * i] = i", (9, 3, 0), (9, 0, 0)),
    "a stride and a place": ("a[i * t + k] = i", (9, 3, 2), (9, 0, 2)),
    "backwards": ("a[60 + i * t] = i", (9, -3, 2), (9, 0, 2)),
    "one more": ("a[i + i * t] = i", (9, 3, 0), (9, -1, 0)),
    "two strides": ("a[i * t + i * k] = i", (9, 3, -1), (9, 3, -3)),
    "by both": ("a[i * t * k] = i", (9, 1, 2), (9, 1, 0)),
    "a stride, and what is read": ("a[i * t] = a[i * t + k] + i", (9, 3, 1), (9, 3, 6)),
    "of a row": ("b[i * t, 1] = i", (4, 2, 0), (4, 0, 0)),
    "of a diagonal": ("b[i * t, i * t] = i", (4, 2, 0), (4, 0, 0)),
    "one axis is enough": ("b[i * t, i * k] = i", (4, 0, 2), (4, 0, 0)),
    "rows": ("b[i * t] = i", (4, 2, 0), (4, 0, 0)),
    "two rows": ("b[i * t:i * t + 2] = i", (4, 2, 0), (4, 1, 0)),
    "unsigned": ("a[np.uint64(i) * np.uint64(t)] = i", (9, 3, 0), (9, 0, 0)),
    "narrow": ("a[np.uint8(i * t)] = i", (9, 3, 0), (3, 0, 0)),
    "quotients": ("a[i // t] = i", (9, 1, 0), (9, 2, 0)),
    "quotients by a number": ("a[i * t // 2] = i", (9, 2, 0), (9, 1, 0)),
    "halves": ("a[int(i * t / 2)] = i", None, (9, 1, 0)),
    "shifted": ("a[i * t >> 1] = i", (9, 2, 0), (9, 1, 0)),
    "remainders": ("a[i % t] = i", (9, 9, 0), (9, 8, 0)),
    "bits": ("a[i & t] = i", (8, 7, 0), (9, 7, 0)),
    "other bits": ("a[(i | t)] = i", (4, 8, 0), (4, 1, 0)),
    "not beyond": ("a[min(i, t)] = i", (9, 8, 0), (9, 7, 0)),
    "not below": ("a[max(i, t)] = i", (9, 0, 0), (9, 1, 0)),
    "in between": ("a[max(min(i, t), k)] = i", (9, 8, 0), (9, 7, 1)),
    "from a middle": ("a[abs(i - t)] = i", (9, 0, 0), (9, 4, 0)),
    "one of two": ("a[i if i < t else i - t] = i", None, (9, 5, 0)),
    "by branches": ("p = i\nif i >= t:\n p = i - t\na[p] = i", None, (9, 5, 0)),
    "wider slices": ("a[min(i * 2, t):max(i * 2 + 2, k)] = i", (9, 60, 0), (9, 9, 9)),
    "slices that stop": ("a[min(i * 2, t):min(i * 2, t) + 1] = i", (9, 16, 0), (9, 5, 0)),
    "slices of parts": ("a[i * m // n:(i + 1) * m // n] = i", (7, 0, 0), None),
    "loops over parts": ("for j in range(i * m // n, (i + 1) * m // n):\n a[j] = i", (7, 0, 0), None),
    "parts and some": ("a[i * m // n:(i + 1) * m // n + t] = i", (7, 0, 0), (7, 1, 0)),
    "quotients of rows": ("b[i // t] = i", (8, 1, 0), (8, 2, 0)),
    "quotient and remainder": ("b[i // t, i % t] = i", (64, 8, 0), None),
    "the other way round": ("b[i % t, i // t] = i", (64, 8, 0), None),
    "what is left": ("y = i // t\nx = i - y * t\nb[y, x] = i", (64, 8, 0), None),
    "divmod": ("y, x = divmod(i, t)\nb[y, x] = b[y, x] * 2 - i", (64, 8, 0), None),
    "quotient and another remainder": ("b[i // t, i % k] = i", (16, 2, 4), (16, 4, 2)),
    "from the end": ("b[i // t, i % t] = i", None, (8, -1, 0)),
    "items of a row": ("for j in range(k):\n a[i * t + j] = i", (8, 8, 8), (7, 8, 9)),
    "items of a column": ("for j in range(k):\n a[j * t + i] = i", (8, 8, 8), (9, 8, 7)),
    "of some columns": ("for j in range(k):\n a[j * t + i % 4] = i", (4, 8, 7), (5, 8, 7)),
    "not the first rows": ("for j in range(2, k):\n a[j * t + i] = i", (8, 8, 8), (9, 8, 7)),
    "items of an item": ("for j in range(2):\n for q in range(k):\n  a[(i * 2 + j) * t + q] = i", (4, 8, 8), (4, 7, 8)),
    "every item again": ("for j in range(k):\n a[j] = i", None, (4, 0, 3)),
    "pairs again": ("for j in range(k):\n a[j:j + 2] = i", None, (4, 0, 3)),
    "of a triangle": ("p = i * (i + 1) // 2\nfor j in range(i + 1):\n a[p + j] = i", (10, 0, 0), None),
    "of a view": ("c = a[t:]\nc[i // k] = i", (9, 2, 1), (9, 2, 2)),
    "of a view of its own": ("c = a[i // k:]\nc[t] = i", (9, 2, 1), (9, 2, 2)),
    "every other item of a view": ("c = a[::2]\nc[i // k] = i", (9, 2, 1), (9, 2, 2)),
    "backwards in a view": ("c = a[::-1]\nc[i // k] = i", (9, 2, 1), (9, 2, 2)),
    "of a column's view": ("c = b[:, t]\nc[i // k] = i", (8, 2, 1), (9, 2, 2)),
    "read elsewhere": ("a[i // k + 32] = a[i // k] + i", None, (9, 2, 2)),
    "read before": ("a[i // k + t] = a[i // k] + i", (9, 0, 1), (9, 1, 1)),
    "distances of a stride": ("a[2 * i + t] = a[2 * i] + 1", (9, 3, 0), (9, 4, 0)),
    "one item is read": ("a[i] = a[t] + 1", (9, 20, 0), (9, 4, 0)),
    "where a branch stores": ("if i % 3 != 1:\n a[i * t] = i", (9, 3, 0), (9, 0, 0)),
    "where a branch stores at quotients": ("if i % 3 != 1:\n a[i // k] = i", (9, 3, 1), (9, 0, 2)),
    "at a distance, where a branch stores": ("if i % 3 != 1:\n a[i + t] = a[i]", (9, 9, 0), (9, 2, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_places(name):
    """Where iterations meet they run in order, or are refused; where they do not, on all cores."""
    body, apart, meet = PLACES[name]
    python = function(body)
    compiled = njit(parallel=True)(python)
    if apart:
        assert went(compiled, python, *apart) == "cores"
    if meet:
        assert went(compiled, python, *meet) != "cores"
    for t in (0, 1, 2, 3):
        for k in (1, 2, 4):
            with contextlib.suppress(IndexError, ZeroDivisionError, ValueError):
                went(compiled, python, 4, t, k)


@pytest.mark.parametrize(
    "body, n, t, k, want",
    [
        ("a[i * t * k] = i", 3, 1 << 62, 4, 2),
        ("a[i * t] = i", 3, -(1 << 63), 0, None),
        ("a[np.uint8(i * t)] = i", 3, 256, 0, 2),
        ("a[np.int64(np.int32(i * t))] = i", 3, 1 << 32, 0, 2),
    ],
)
def test_numbers_that_wrap_around(body, n, t, k, want):
    """Products that are 0 again are one place, and what is out of range raises before anything is said of order."""
    f = njit(parallel=True)(function(body))
    a, last, at = np.full(64, 7), np.array([-1]), np.zeros(1, int)
    with contextlib.suppress(IndexError, UnsupportedError):
        f(a, n, t, k, last, at)
        assert want is not None
    assert a[0] in ((want, 7) if want is not None else (0, 7, 2))


def told(f):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    return text.getvalue()


def test_it_is_told():
    compiled = njit(parallel=True)(function("a[i // k] = i"))
    compiled(np.zeros(64, int), 3, 1, 1, np.zeros(1, int), np.zeros(1, int))
    said = told(compiled)
    assert (
        "runs on one core where places of 'a' that iterations compute may meet, looked at before the loop"
        in said
    )


def test_what_arrays_say_is_not_looked_at():
    """A loop over neighbours by a list, or one that a branch on data places, is as parallel as it was."""

    @njit(parallel=True)
    def f(a, idx, n):
        for i in prange(n):
            a[idx[i] // 2] = i
            p = i
            if idx[i] > 5:
                p = i + 20
            a[p] = i

    f(np.zeros(64), np.arange(0, 40, 2), 5)
    assert "looked at" not in told(f) and "perhaps" in told(f)


def test_a_row_that_all_iterations_read():
    """Shortest ways, where the row that is read may change, too (a place is at a distance of less than 0 from itself)."""

    @njit(parallel=True)
    def f(d):
        for k in range(len(d)):
            for i in prange(len(d)):
                d[i] = np.minimum(d[i], d[i, k] + d[k])

    @njit(parallel=True)
    def g(d):
        for k in range(len(d)):
            r = d[k].copy()
            for i in prange(len(d)):
                d[i] = np.minimum(d[i], d[i, k] + r)

    @njit(parallel=True)
    def h(d):
        for k in range(len(d)):
            for i in prange(len(d)):
                for j in range(len(d)):
                    d[i, j] = min(d[i, j], d[i, k] + d[k, j])

    for compiled in f, g, h:
        a = np.random.default_rng(5).integers(-1, 9, (12, 12)).astype(float)
        b = a.copy()
        compiled(a)
        compiled.py_func(b)
        np.testing.assert_array_equal(a, b)
    assert "of several iterations meet, tested before the loop" in told(f)
    assert "one core" not in told(g)


def test_a_symmetric_table():
    @njit(parallel=True)
    def f(d):
        for i in prange(len(d)):
            for j in range(i + 1, len(d)):
                d[i, j] = i * j
                d[j, i] = i * j

    a, b = np.zeros((9, 9)), np.zeros((9, 9))
    f(a)
    f.py_func(b)
    np.testing.assert_array_equal(a, b)
    assert "one core" not in told(f)


def test_from_a_compiled_caller_and_in_a_prange_loop():
    inner = njit(parallel=True)(function("a[i // k] = i"))

    @njit(parallel=True)
    def outer(a, n, k, last, at):
        for q in prange(len(a)):
            inner(a[q], n, 1, k, last[q], at)

    a, last, at = np.full((3, 64), 7), np.zeros((3, 1), int), np.zeros(1, int)
    outer(a, 9, 2, last, at)
    np.testing.assert_array_equal(a, [[1, 3, 5, 7, 8, *[7] * 59]] * 3)


@pytest.mark.parametrize("place, size", [("i - j * w", 1), ("j * w + i", 200_000), ("i - (w - j * w)", 1)])
def test_what_an_inner_loop_steps_over_may_count_from_the_end(place, size):
    """A stride that is taken away from a place can make it negative: iterations meet then, though they lie a stride apart."""
    f = eval_loop(f"a[{place}] = a[{place}] * 3 + i + 1")
    n = 200_000
    a = np.ones(n + size)
    b = a.copy()
    njit(parallel=True)(f)(a, n, n)
    njit(f)(b, n, n)
    np.testing.assert_array_equal(a, b)


def eval_loop(statement):
    space = {"prange": prange}
    exec(
        f"def f(a, w, n):\n    for i in prange(n):\n        for j in range(2):\n            {statement}\n",
        space,
    )
    return space["f"]


@pytest.mark.parametrize("body", ["a[i // k] = i", "for j in range(3):\n   a[i // k] = a[i // k] * 2 + j"])
@pytest.mark.parametrize("n, k", [(1 << 40, 3), (1 << 62, 1), (11, 1)])
def test_a_look_ends(body, n, k):
    """Of more iterations than there are items two meet, or one leaves the array, which raises there when they go in order."""
    space = {"prange": prange}
    exec(f"def f(a, n, k):\n for i in prange(n):\n  {body}\n", space)
    a, b = np.zeros(10), np.zeros(10)
    with pytest.raises(IndexError):
        njit(parallel=True)(space["f"])(a, n, k)
    with pytest.raises(IndexError):
        space["f"](b, n, k)
    np.testing.assert_array_equal(a, b)


@njit(parallel=True)
def all_but(a, n, meets, at, last):
    for i in prange(n):
        last[at[0]] = i
        p = i - i // meets
        a[p] = a[p] * 3 + i


@pytest.mark.parametrize("n", [2, 63, 64, 65, 66, 129, 130, 300])
def test_each_pair_of_neighbours_is_looked_at(n):
    """Blocks of iterations are looked at one after the other; what meets may be on both sides of where they meet."""
    for meets in sorted({1, 62, 63, 64, 65, 66, 127, 128, 129, 192, 193, n - 1, n}):
        a, b, last = np.ones(n), np.ones(n), np.array([-1])
        all_but(a, n, meets, np.zeros(1, int), last)
        all_but.py_func(b, n, meets, np.zeros(1, int), np.array([-1]))
        np.testing.assert_array_equal(a, b)
        assert (last[0] != n - 1) == (meets >= n)


def test_what_is_short_goes_in_order():
    """Where the look is more work than what it could save."""
    _core._pool_grain(0)
    f = njit(parallel=True)(function("a[i // k] = i"))
    a, last, at = np.full(64, 7), np.array([-1]), np.zeros(1, int)
    f(a, 9, 1, 1, last, at)
    assert last[0] == 8 and list(a[:10]) == [*range(9), 7]


# Programs as nobody writes them.


class Writer:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.table = self.r.random() < 0.3

    def number(self, depth, names=()):
        r = self.r
        if depth == 0 or r.random() < 0.2:
            return r.choice([*names, "i", "i", "i", "t", "k", str(r.randint(0, 5))])
        x, y = self.number(depth - 1, names), self.number(depth - 1, names)
        return r.choice(
            [f"({x} + {y})", f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} * {y})"]
            + [
                f"({x} // {r.choice(['2', '3', 't', '(t + 1)'])})",
                f"({x} % {r.choice(['4', 't', 'k', 'm'])})",
            ]
            + [f"min({x}, {y})", f"max({x}, {y})", f"({x} & {r.choice(['3', 't'])})", f"({x} >> 1)"]
            + [f"abs({x})", f"int({x} / 2)", f"np.uint8({x})", f"({x} ^ 1)", f"({x} if i % 3 < t else {y})"]
        )

    def index(self, names):
        x, kind = self.number(self.r.randint(1, 3), names), self.r.random()
        if kind < 0.6:
            return x
        if kind < 0.8:
            return f"{x}:{self.number(2, names)}"
        return f"{x}:{x} + t" if kind < 0.9 else f"min({x}, m):min({x} + t, m)"

    def place(self, names=()):
        return f"b[{self.index(names)}, {self.index(names)}]" if self.table else f"a[{self.index(names)}]"

    def body(self):
        if self.r.random() < 0.3:
            return f"for j in range({self.number(1)}):\n {self.place(['j'])} = i"
        text = f"{self.place()} = i"
        if self.r.random() < 0.4:
            text += f" + np.sum({self.place()})"
        return text


@pytest.mark.parametrize("part", range(8))
def test_programs_at_random(part):
    ran = 0
    for n in range(examples(12)):
        writer = Writer(part * 1000 + n)
        body = writer.body()
        python = function(body)
        compiled = njit(parallel=True)(python)
        for _ in range(6):
            t, k, size = (
                writer.r.choice([0, 0, 1, 2, 3, 8, -1]),
                writer.r.choice([0, 1, 2, 6]),
                writer.r.choice([1, 2, 5, 8]),
            )
            with contextlib.suppress(IndexError, ZeroDivisionError, ValueError, OverflowError):
                ran += went(compiled, python, size, t, k) != "refused"
    assert ran > examples(12)
