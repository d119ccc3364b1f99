"""Lists whose items the iterations of a prange loop replace, each that of its own place: arrays, strings, lists. The oracle is Python."""

from __future__ import annotations

import numpy as np
import pytest
from prange_check import no_array_lost
from treadle import UnsupportedError, njit, prange
from treadle.typed import List

MANY = 20_000


def arrays(a, out):
    for i in prange(len(out)):
        out[i] = np.full(a[i], i)


def strings(a, out):
    for i in prange(len(out)):
        if a[i] > 3:
            out[i] = "x" * a[i] + str(i)


def rows(a, out):
    for i in prange(len(out)):
        row = [i]
        for k in range(a[i]):
            row.append(k)
        out[i] = row


def changed(a, out):
    for i in prange(len(out)):
        out[i] = out[i] + str(a[i])
        out[i] = "(" + out[i] + ")"


def shifted(a, out):
    for i in prange(1, len(out)):
        out[i] = "y" * a[i - 1]


def shared(a, out):
    text = "s" * len(a)
    for i in prange(len(out)):
        if a[i] % 2:
            out[i] = text


def nested(a, out):
    for i in prange(len(out)):
        if a[i] > 2:
            out[i] = (("n" * a[i], i), np.full(2, i))


def maybe(a, out):
    for i in prange(len(out)):
        out[i] = None if a[i] > 4 else str(i)


def pairs(a, out):
    for i in prange(len(out)):
        out[i] = (i, str(a[i]))


KINDS = {
    arrays: lambda n: [np.zeros(1, np.int64) for _ in range(n)],
    strings: lambda n: ["a" * (k % 5) for k in range(n)],
    rows: lambda n: [[k, k] for k in range(n)],
    changed: lambda n: [str(k) for k in range(n)],
    shifted: lambda n: ["a"] * n,
    shared: lambda n: ["b" + str(k) for k in range(n)],
    nested: lambda n: [(("a", 1), np.zeros(1, np.int64))] * n,
    maybe: lambda n: [None] + ["m" * (k % 4) for k in range(n - 1)],
    pairs: lambda n: [(0, "p")] * n,
}
FAST = {f: njit(parallel=True)(f) for f in KINDS}


def plain(x):
    return [plain(y) for y in x] if isinstance(x, (list, tuple, np.ndarray)) else x


@pytest.mark.parametrize("f", KINDS, ids=lambda f: f.__name__)
def test_each_iteration_replaces_its_own(f):
    for n in (1, 5, MANY):
        a = np.arange(n) * 7 % 9
        out, expected = KINDS[f](n), KINDS[f](n)
        for _ in range(2):
            FAST[f](a, out)
            f(a, expected)
        assert plain(out) == plain(expected)


@pytest.mark.parametrize("f", [arrays, strings, pairs], ids=lambda f: f.__name__)
def test_a_typed_list(f):
    a = np.arange(MANY) * 7 % 9
    out, expected = List(KINDS[f](MANY)), KINDS[f](MANY)
    FAST[f](a, out)
    f(a, expected)
    assert plain(list(out)) == plain(expected)


def test_all_of_it_within_one_function():
    @njit(parallel=True)
    def make(n):
        out = [np.zeros(0) for _ in range(n)]
        names = ["" for _ in range(n)]
        for i in prange(n):
            out[i] = np.ones(i % 4) * i
            names[i] = str(i)
        total = 0.0
        for x in out:
            total += x.sum()
        return total, names

    assert make(MANY) == make.py_func(MANY)


@njit(parallel=True)
def caught(a, out):
    try:
        for i in prange(len(out)):
            out[i] = "z" * 3 + str(i)
            if a[i] > 99:
                raise ValueError
    except ValueError:
        return -1
    return 1


def test_an_iteration_raises():
    a = np.arange(MANY) % 9
    a[[500, 9_000]] = 100
    for _ in range(5):
        out = ["q" * 50 + str(i) for i in range(MANY)]
        assert caught(a, out) == -1
        assert all(x == f"zzz{i}" for i, x in enumerate(out[:501]))
        assert all(x in (f"zzz{i}", "q" * 50 + str(i)) for i, x in enumerate(out))


def test_nothing_is_left():
    f = FAST[strings]
    a = np.arange(MANY) * 7 % 9
    with no_array_lost(MANY):
        for _ in range(3):
            f(a, ["a" * 40] * MANY)


def last(a, out):
    for i in prange(len(out)):
        out[i] = out[0] + "a"


def same(a, out):
    for i in prange(len(out)):
        out[0] = str(i)


def computed(a, out):
    for i in prange(len(out)):
        out[a[i]] = str(i)


def other(a, out):
    b = out
    for i in prange(len(out)):
        out[i] = b[0] + "x"


def grows(a, out):
    for i in prange(len(a)):
        out[i] = "a"
        out.append("b")


@pytest.mark.parametrize("f", [last, same, computed, other, grows], ids=lambda f: f.__name__)
def test_what_reaches_other_places_is_refused(f):
    with pytest.raises(UnsupportedError, match="in a prange loop"):
        njit(parallel=True)(f)(np.arange(3), ["a", "b", "c"])


def test_two_lists_that_may_be_one_are_refused():
    @njit(parallel=True)
    def copies(a, b):
        for i in prange(len(a)):
            a[i] = b[len(b) - 1 - i] + "x"

    with pytest.raises(UnsupportedError, match="items of a list are replaced in a prange loop, and line"):
        copies(["a", "b"], ["c", "d"])
