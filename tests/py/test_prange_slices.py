"""prange loops over slices whose places only the running program knows: compared before the loop.

A watch follows the loop in Python, and tells whether iterations meet. Where they do not, it runs on all cores; where they do, it runs in order or is
refused. Iterations that run on all cores do so one by one, the last one first, so whatever depends on their order shows.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import UnsupportedError, _core, njit, prange


@pytest.fixture(autouse=True)
def backwards():
    _core._pool_grain(1, True)
    yield
    _core._pool_grain(0)


class Watch:
    """An array that notes which of its elements an iteration reads and writes."""

    def __init__(self, data, ids, seen):
        self.data, self.ids, self.seen = data, ids, seen
        self.shape = data.shape

    def __len__(self):
        return len(self.data)

    def part(self, data, ids):
        return Watch(data, ids, self.seen)

    def __getitem__(self, key):
        if np.ndim(self.ids[key]):
            return self.part(self.data[key], self.ids[key])
        return self.part(self.data[key], self.ids[key]).read()

    def __setitem__(self, key, value):
        self.data[key] = value
        self.seen[-1][1].update(np.ravel(self.ids[key]).tolist())

    def read(self):
        self.seen[-1][0].update(np.ravel(self.ids).tolist())
        return self.data

    def sum(self):
        return self.read().sum()

    def __mul__(self, k):
        return self.read() * k

    @property
    def T(self):  # noqa: N802
        return self.part(self.data.T, self.ids.T)

    def ravel(self):
        return self.part(self.data.reshape(-1), self.ids.reshape(-1))


def watched(f, a, *args):
    """Runs it in order; do iterations meet?"""
    seen = [(set(), set())]

    def rounds(*bounds):
        for i in range(*bounds):
            seen.append((set(), set()))
            yield i
        seen.append((set(), set()))

    f.__globals__["prange"] = rounds
    f(Watch(a, np.arange(a.size).reshape(a.shape), seen), *args)
    return any(
        x[1] & (y[0] | y[1]) for i, x in enumerate(seen) for k, y in enumerate(seen) if i != k and i and k
    )


# What an iteration does, of a line or (t) a table. Where it is said to be `exact`, iterations that are apart run on all cores, whatever the numbers are that do not
# make a bound negative or go past the array.
LINE = {
    "width": "a[i:i + w] = i",
    "step and width": "a[i * s + c:i * s + c + w] = i",
    "block": "a[i * s:(i + 1) * s] = i",
    "blocks before": "a[(i - c) * s:(i - c + 1) * s] = i",
    "first of a block": "a[i * s:(i + 1) * s] = a[i * s] + 1",
    "of a clamped slice": "a[max(i * s - c, 0):][:3] = i",
    "inside of a clamped slice": "a[max(i * s - c, 0):][1:1 + w] = i",
    "inside of a slice": "a[i * s:][1:1 + w] = i",
    "block and some": "a[i * s:(i + 1) * s + c] = i",
    "in place": "a[i * s + c:i * s + c + w] = a[i * s + c:i * s + c + w] * 3 + i",
    "an item": "a[i * s:i * s + w] = a[i * s + c] + 1",
    "into an item": "a[i * s + c] = a[i * s:i * s + w].sum() % 97",
    "halo": "a[i * s:i * s + w] = a[i * s + c - 1:i * s + w + c].sum() % 97",
    "clamped halo": "lo = max(0, i * s - c)\nhi = min(m, i * s + w)\na[i * s:i * s + s] = a[lo:hi].sum() % 97",
    "clamped": "lo = max(0, i * s - c)\nhi = min(m, i * s + w)\na[lo:hi] = i",
    "short last block": "a[i * s:min(m, (i + 1) * s)] = i",
    "both ends clamped": "a[min(m, i * s):min(m, i * s + w)] = i",
    "not before c": "a[max(c, i * s):max(c, i * s + w)] = i",
    "downwards": "a[m - (i + 1) * w:m - i * w] = i",
    "beside what is read": "a[c + i * s:c + i * s + w] = a[:c].sum() % 97 + i",
    "another half": "a[m + i * s:m + i * s + w] = a[i * s:i * s + w].sum() % 97",
    "all is read": "a[i * s:i * s + w] = a.sum() % 97",
    "another way": "a[i * s:i * s + w] = a[m - i * s:m - i * s + w].sum() % 97",
    "in a view": "b = a[c:]\nb[i * s:i * s + w] = a[i * s:i * s + w].sum() % 97",
    "of a slice": "a[i * s:][:w] = i",
    "wider and wider": "a[i * s:i * s + i * w] = i",
    "two slices": "a[i * s:i * s + c] = i\na[i * s + m:i * s + m + w] = i",
    "one of two": "if i % 2:\n    a[i * s:i * s + w] = i",
    "a number": "a[i * s:i * s + w] = 5",
    "by two numbers": "a[(i * s + c) * w:(i * s + c) * w + s] = i",
    "every other item": "a[i * s:i * s + w:2] = i",
    "backwards": "a[::-1][i * s:i * s + w] = i",
    "from the end": "a[i * s - c:i * s + w - c] = i",
    "items of blocks": "for j in range(w):\n    a[i * s:i * s + w] = a[i * s + j] + j",
}
TABLE = {
    "rows": "t[i * s:i * s + w, :] = i",
    "rows in place": "t[i * s:i * s + w] = t[i * s:i * s + w] * 3 + i",
    "a column": "t[i * s:i * s + w, c] = i",
    "of a column": "t[i * s:i * s + w, c] = t[i * s:i * s + w, m].sum() % 97",
    "columns": "for j in range(t.shape[1]):\n    t[i * s:i * s + w, j] = i + j",
    "neighbours": "for j in range(1, t.shape[1]):\n    t[i * s:i * s + w, j] = t[i * s:i * s + w, j - 1].sum() % 97",
    "a row": "t[c, i * s:i * s + w] = i",
    "rows of one's own": "t[i, c:c + w] = t[i, :s].sum() % 97",
    "rows of others": "t[i, c:c + w] = t[i + 1, :s].sum() % 97",
    "blocks": "t[i * s:i * s + w, i * s:i * s + c] = i",
    "blocks of a row": "t[c:c + w, i * s:i * s + w] = i",
    "turned": "t.T[:, i * s:i * s + w] = i",
    "backwards": "t[i * s:i * s + w, ::-1] = i",
    "in one axis": "t.ravel()[i * s:i * s + w] = i",
    "beside": "t[i * s:i * s + w, :c] = t[i:i + w, c:].sum() % 97",
}
RANGES = ["prange(n)", "prange(1, n)", "prange(c, c + n)", "prange(n - 1, -1, -1)", "prange(0, 2 * n, 2)"]
UNSEEN = {"every other item", "backwards"}  # slices with steps are told, no more


def made(name, body, over):
    lines = "\n".join("        " + line for line in body.split("\n"))
    source = f"def f({'t' if body in TABLE.values() else 'a'}, n, s, w, c, m, seen, zero):\n    for i in {over}:\n{lines}\n        seen[zero[i]] = i\n"
    out = []
    for _ in range(2):
        space = {"np": np, "prange": prange}
        exec(source, space)
        out.append(space["f"])
    return out[0], njit(parallel=True)(out[1])


MADE: dict = {}


def both(table, name, over):
    """The function run by Python, and compiled."""
    key = table, name, over
    if key not in MADE:
        MADE[key] = made(name, (TABLE if table else LINE)[name], over)
    return MADE[key]


def array(table):
    return np.arange(144.0).reshape(12, 12) % 13 if table else np.arange(60.0) % 13


def told(f):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    return text.getvalue()


def check(table, name, over, n, s, w, c, m):
    """Returns refused, apart, in order; it is as a plain loop where it runs."""
    python, compiled = both(table, name, over)
    mine, plain = array(table), array(table)
    seen, zero = np.full(1, -1), np.zeros(40, np.int64)
    meet = watched(python, plain, n, s, w, c, m, seen.copy(), zero)
    try:
        compiled(mine, n, s, w, c, m, seen, zero)
    except UnsupportedError as e:
        assert "depend on each other: line" in str(e) and "at a distance of" in str(e)
        np.testing.assert_array_equal(mine, array(table))
        assert meet
        return "refused"
    np.testing.assert_array_equal(mine, plain)
    order = list(eval(over, {"prange": range, "n": n, "c": c}))
    assert seen[0] in ([order[0], order[-1]] if order else [-1])
    return "in order" if len(order) > 1 and seen[0] == order[-1] else "apart"


NUMBERS = {
    "n": st.integers(0, 6),
    "s": st.integers(-2, 6),
    "w": st.integers(-1, 6),
    "c": st.integers(0, 5),
    "m": st.integers(0, 30),
}


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(sorted(LINE.keys() - UNSEEN)), st.sampled_from(RANGES), st.fixed_dictionaries(NUMBERS))
def test_lines(name, over, numbers):
    check(False, name, over, **numbers)


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(sorted(TABLE)), st.sampled_from(RANGES), st.fixed_dictionaries(NUMBERS | {"m": st.integers(0, 11)}))  # fmt: skip
def test_tables(name, over, numbers):
    check(True, name, over, **numbers)


# n, s, w, c, m -> what happens
SAID = [
    ("blocks before", (6, 3, 0, 3, 0), "in order"),  # the first three count from the end
    ("first of a block", (6, 3, 0, 0, 0), "apart"),
    ("first of a block", (6, -1, 0, 0, 0), "in order"),
    ("of a clamped slice", (6, 3, 3, 20, 0), "in order"),
    ("of a clamped slice", (6, 3, 3, 0, 0), "apart"),
    ("inside of a clamped slice", (6, 3, 3, 20, 0), "in order"),
    ("inside of a clamped slice", (6, 3, 3, 0, 0), "apart"),
    ("inside of a slice", (6, 3, 3, 0, 0), "apart"),
    ("width", (6, 0, 1, 0, 0), "apart"),
    ("width", (6, 0, 2, 0, 0), "refused"),
    ("width", (1, 0, 4, 0, 0), "apart"),
    ("width", (6, 0, 0, 0, 0), "apart"),
    ("width", (0, 0, 4, 0, 0), "apart"),
    ("width", (6, 0, -1, 0, 0), "in order"),  # a[0:-1]
    ("step and width", (6, 4, 4, 3, 0), "apart"),
    ("step and width", (6, 4, 5, 3, 0), "refused"),
    ("step and width", (6, -4, 4, 40, 0), "apart"),
    ("step and width", (6, -4, 5, 40, 0), "refused"),
    ("step and width", (6, 0, 1, 3, 0), "refused"),
    ("step and width", (6, 4, 5, 50, 0), "in order"),  # past the end
    ("step and width", (6, 4, 4, -4, 0), "in order"),  # it begins at the end
    ("step and width", (6, 2**61, 4, 3, 0), "in order"),  # a step that wraps around
    ("block", (6, 4, 0, 0, 0), "apart"),
    ("block and some", (6, 4, 0, 0, 0), "apart"),
    ("block and some", (6, 4, 0, 1, 0), "refused"),
    ("block and some", (6, 4, 0, -2, 0), "apart"),
    ("block and some", (6, 4, 0, -5, 0), "in order"),  # the first ends one before the end
    ("in place", (6, 4, 4, 3, 0), "apart"),
    ("in place", (6, 3, 4, 3, 0), "refused"),
    ("an item", (6, 4, 4, 2, 0), "apart"),
    ("an item", (6, 4, 4, 5, 0), "refused"),
    ("an item", (6, 4, 4, 24, 0), "apart"),
    ("halo", (6, 4, 4, 1, 0), "refused"),
    ("halo", (6, 4, 4, 0, 0), "in order"),  # where it starts at -1
    ("clamped halo", (6, 4, 4, 0, 60), "apart"),
    ("clamped halo", (6, 4, 4, 1, 60), "in order"),
    ("clamped halo", (6, 4, 5, 0, 60), "in order"),
    ("clamped", (6, 4, 4, 0, 60), "apart"),
    ("clamped", (6, 4, 5, 0, 60), "in order"),
    ("clamped", (6, 4, 3, 1, 60), "apart"),
    ("short last block", (6, 4, 0, 0, 22), "apart"),
    ("both ends clamped", (6, 4, 4, 0, 18), "apart"),
    ("both ends clamped", (6, 4, 6, 0, 18), "in order"),
    ("not before c", (6, 4, 4, 5, 0), "apart"),
    ("downwards", (6, 0, 5, 0, 60), "apart"),
    ("downwards", (6, 0, 5, 0, 29), "in order"),  # the last one begins at -1
    ("beside what is read", (6, 4, 4, 5, 0), "apart"),
    ("beside what is read", (6, 3, 4, 5, 0), "refused"),
    ("another half", (6, 4, 4, 0, 24), "apart"),
    ("another half", (6, 4, 4, 0, 23), "refused"),
    ("another half", (6, 8, 4, 0, 4), "apart"),  # every other block
    ("another half", (6, 8, 4, 0, 12), "apart"),
    ("another half", (6, 8, 4, 0, 13), "refused"),
    ("all is read", (6, 4, 4, 0, 0), "in order"),
    ("another way", (6, 4, 4, 0, 50), "apart"),
    ("another way", (6, 4, 4, 0, 40), "in order"),
    ("in a view", (6, 4, 4, 24, 0), "apart"),
    ("in a view", (6, 4, 4, 0, 0), "apart"),
    ("in a view", (6, 4, 4, 5, 0), "refused"),
    ("of a slice", (6, 4, 4, 0, 0), "apart"),
    ("of a slice", (6, 4, 5, 0, 0), "refused"),
    ("wider and wider", (4, 8, 2, 0, 0), "apart"),
    ("wider and wider", (6, 4, 2, 0, 0), "in order"),
    ("two slices", (6, 8, 4, 4, 4), "apart"),
    ("two slices", (6, 8, 5, 4, 4), "refused"),
    ("two slices", (6, 4, 4, 4, 24), "apart"),
    ("one of two", (6, 4, 4, 0, 0), "apart"),
    ("one of two", (6, 4, 5, 0, 0), "in order"),
    ("a number", (6, 4, 8, 0, 0), "apart"),
    ("by two numbers", (6, 4, 1, 1, 0), "apart"),
    ("by two numbers", (6, 4, 2, 1, 0), "apart"),
    ("by two numbers", (3, 4, 0, 4, 0), "refused"),
]
SAID_OF_TABLES = [
    ("rows", (3, 4, 4, 0, 0), "apart"),
    ("rows", (3, 3, 4, 0, 0), "refused"),
    ("rows in place", (3, 4, 4, 0, 0), "apart"),
    ("rows in place", (3, 3, 4, 0, 0), "refused"),
    ("a column", (3, 4, 4, 2, 0), "apart"),
    ("a column", (3, 3, 4, 2, 0), "refused"),
    ("of a column", (3, 4, 4, 2, 3), "apart"),
    ("of a column", (3, 4, 4, 2, 2), "apart"),
    ("columns", (3, 4, 4, 0, 0), "apart"),
    ("columns", (3, 3, 4, 0, 0), "refused"),
    ("neighbours", (3, 4, 4, 0, 0), "apart"),
    ("neighbours", (3, 3, 4, 0, 0), "refused"),
    ("a row", (3, 4, 4, 2, 0), "apart"),
    ("a row", (3, 3, 4, 2, 0), "refused"),
    ("rows of one's own", (6, 4, 4, 2, 0), "apart"),
    ("rows of others", (6, 2, 4, 2, 0), "apart"),
    ("rows of others", (6, 3, 4, 2, 0), "in order"),
    ("blocks", (3, 4, 4, 4, 0), "apart"),
    ("blocks", (3, 4, 5, 4, 0), "apart"),
    ("blocks", (3, 4, 5, 5, 0), "in order"),
    ("blocks of a row", (3, 4, 4, 2, 0), "apart"),
    ("blocks of a row", (3, 3, 4, 2, 0), "refused"),
    ("turned", (3, 4, 4, 0, 0), "apart"),
    ("turned", (3, 3, 4, 0, 0), "refused"),
    ("backwards", (3, 4, 4, 0, 0), "apart"),
    ("backwards", (3, 3, 4, 0, 0), "in order"),
    ("in one axis", (6, 16, 16, 0, 0), "apart"),
    ("in one axis", (6, 15, 16, 0, 0), "refused"),
    ("beside", (3, 3, 3, 6, 0), "apart"),
    ("beside", (3, 3, 4, 6, 0), "refused"),
    ("beside", (3, 3, 4, 0, 0), "in order"),  # no columns
]


@pytest.mark.parametrize("name, numbers, want", SAID)
def test_what_is_said_of_slices(name, numbers, want):
    assert check(False, name, "prange(n)", *numbers) == want


@pytest.mark.parametrize("name, numbers, want", SAID_OF_TABLES)
def test_what_is_said_of_slices_of_tables(name, numbers, want):
    assert check(True, name, "prange(n)", *numbers) == want


def smeared(a, n, k):
    for i in prange(n):
        a[i : i + k] = i


def test_the_error_names_the_lines_and_the_distance():
    def f(a, h, b):
        for i in prange(4):
            total = a[i * b : i * b + b].sum()
            a[h + i * b : h + (i + 1) * b] = total

    compiled = njit(parallel=True)(f)
    line = f.__code__.co_firstlineno
    with pytest.raises(UnsupportedError) as e:
        compiled(np.zeros(40), 6, 3)
    assert f"line {line + 3} writes an element of 'a' that line {line + 2} reads in other iterations" in str(
        e.value
    )
    assert "at a distance of 2" in str(e.value)
    mine, plain = np.arange(40.0), np.arange(40.0)
    compiled(mine, 12, 3)
    f(plain, 12, 3)
    np.testing.assert_array_equal(mine, plain)


def test_it_is_told():
    f = njit(parallel=True)(smeared)
    f(np.zeros(9), 9, 1)
    assert "runs on one core where slices of 'a' of several iterations meet, tested before the loop" in told(
        f
    )
    assert "runs on all cores" in told(f) and "perhaps" not in told(f)


def test_through_a_compiled_caller_and_a_handler():
    inner = njit(parallel=True)(smeared)

    @njit(nogil=True, boundscheck=True)
    def outer(a, k):
        inner(a, len(a) + 1 - k, k)
        return a.sum()

    assert outer(np.zeros(9), 1) == 36
    with pytest.raises(UnsupportedError, match="at a distance of 1"):
        outer(np.zeros(9), 2)

    @njit(parallel=True)
    def caught(a, k):
        try:
            for i in prange(len(a) - 2):
                a[i : i + k] = i
        except Exception:
            return -1
        return k

    with pytest.raises(UnsupportedError, match="at a distance of 1"):  # refused, as while compiling
        caught(np.zeros(9), 2)
    assert caught(np.zeros(9), 1) == 1


@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "c16", "?"])
@pytest.mark.parametrize("how", ["C", "strided", "backwards", "F"])
def test_types_and_layouts(dtype, how):
    @njit(parallel=True)
    def f(t, n, s, w):
        for i in prange(n):
            t[i * s : i * s + w] = t[i * s : i * s + w, ::-1]
            t[i * s : i * s + w, 0] = i % 2

    def laid(x):
        wide = np.zeros((24, 6), dtype)
        y = {"C": x.copy, "F": lambda: np.asfortranarray(x), "strided": lambda: wide[::2, ::2],
             "backwards": lambda: wide[:12, :3][::-1, ::-1]}[how]()  # fmt: skip
        y[...] = x
        return y

    for n, s, w in [(3, 4, 4), (1, 4, 9), (4, 3, 2)]:
        x = (np.arange(36).reshape(12, 3) % 5).astype(dtype)
        mine, plain = laid(x), laid(x)
        f(mine, n, s, w)
        f.py_func(plain, n, s, w)
        np.testing.assert_array_equal(mine, plain)
    with pytest.raises(UnsupportedError, match="at a distance of 1"):
        f(laid(x), 3, 3, 4)


def test_empty_and_read_only_arrays():
    f = njit(parallel=True)(smeared)
    for n, k in [(0, 5), (3, 2), (5, 0)]:
        f(np.zeros(0), n, k)
    a = np.zeros(5)
    a.flags.writeable = False
    with pytest.raises((TypeError, ValueError, treadle.TypingError), match="read-only"):
        f(a, 2, 1)


def test_arrays_that_share_memory():
    """Slices that are apart in each of two arrays, which may be parts of one."""

    def f(a, b, n, w):
        for i in prange(n):
            b[i * w : i * w + w] = a[i * w : i * w + w].sum() + i

    compiled = njit(parallel=True)(f)
    for first, second in [(0, 0), (0, 3), (3, 0), (0, 20)]:
        mine, plain = np.arange(40.0), np.arange(40.0)
        compiled(mine[first:], mine[second:], 4, 4)
        f(plain[first:], plain[second:], 4, 4)
        np.testing.assert_array_equal(mine, plain)


def test_copies_for_chunks_stay():
    """What is accumulated into may overlap as it likes."""

    @njit(parallel=True)
    def f(a, x, w):
        for i in prange(len(x)):
            a[i : i + w] += x[i]

    mine, plain = np.zeros(30), np.zeros(30)
    x = np.arange(20.0)
    f(mine, x, 5)
    f.py_func(plain, x, 5)
    np.testing.assert_array_equal(mine, plain)


def test_an_axis_that_is_not_to_be_seen():
    """Where another axis may keep iterations apart, and nothing says so before the loop, it is told."""

    @njit(parallel=True)
    def f(t, idx, w):
        for i in prange(len(idx)):
            t[idx[i], 1 : 1 + w] = i

    mine, plain = np.zeros((9, 5)), np.zeros((9, 5))
    idx = np.arange(9)[::-1].copy()
    f(mine, idx, 3)
    f.py_func(plain, idx, 3)
    np.testing.assert_array_equal(mine, plain)
    assert "perhaps" in told(f)


def test_of_an_unsigned_counter():
    """It is no line that is compared before the loop (int64 are), nor min or max of some."""

    @njit(parallel=True)
    def f(a, b, n):
        for i in reversed(prange(n)):
            a[i:0][:] = i
            b[i] = a[i]
        return b.sum()

    for n in (0, 6):
        assert f(np.arange(9), np.zeros(9, np.int64), np.uint64(n)) == sum(range(n))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 400), st.integers(0, 9), st.integers(0, 9), st.booleans())
def test_any_number_of_threads(n, s, w, some):
    """As the runtime makes ranges: the results of plain order, or refused, whatever the number of threads."""
    _core._pool_grain(0)
    before, seen = treadle.get_num_threads(), set()
    f = THREADED[some]
    plain = np.zeros(4000)
    f.py_func(plain, n, s, w)
    try:
        for threads in range(1, min(3, before) + 1):
            treadle.set_num_threads(threads)
            mine = np.zeros(4000)
            try:
                f(mine, n, s, w)
            except UnsupportedError:
                seen.add("refused")
                assert s < w and not some
                continue
            seen.add("run")
            np.testing.assert_array_equal(mine, plain)
    finally:
        treadle.set_num_threads(before)
    assert len(seen) == 1


def every(a, n, s, w):
    for i in prange(n):
        a[i * s : i * s + w] = a[i * s : i * s + w] % 7 * 3 + i


def some(a, n, s, w):
    for i in prange(n):
        if i % 3:
            a[i * s : i * s + w] = i


THREADED = [njit(parallel=True)(every), njit(parallel=True)(some)]


def test_in_another_process_by_the_cache(tmp_path):
    source = tmp_path / "slices.py"
    source.write_text(
        "import numpy as np\nfrom treadle import UnsupportedError, njit, prange\n\n@njit(parallel=True, cache=True)\n"
        "def f(a, n, k):\n    for i in prange(n):\n        a[i:i + k] = i\n    return a.sum()\n\n"
        "print(f(np.zeros(9), 9, 1))\ntry:\n    f(np.zeros(9), 8, 2)\nexcept UnsupportedError as e:\n    print('distance of 1' in str(e))\n"
    )
    said = [
        subprocess.run([sys.executable, str(source)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert said == ["36.0\nTrue\n"] * 2
