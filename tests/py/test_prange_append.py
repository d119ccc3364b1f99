"""Lists to which a loop over a prange appends: in the order of a plain loop, whatever the items are. The oracle is Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import UnsupportedError, njit, prange
from treadle.typed import List

MANY = 20_000  # enough for many chunks


def numbers(a, out):
    for i in prange(len(a)):
        if a[i] > 3:
            out.append(i * a[i])


def floats(a, out):
    for i in prange(len(a)):
        for k in range(a[i] % 3):
            out.append(k / 2 + i)


def flags(a, out):
    for i in prange(len(a)):
        if a[i] != 2:
            out.append(a[i] > 4)


def strings(a, out):
    for i in prange(len(a)):
        if a[i] > 3:
            out.append("x" * a[i] + str(i))
        elif a[i] == 1:
            out.append("one")


def tuples(a, out):
    for i in prange(len(a)):
        if a[i] > 3:
            out.append((i, "t" + str(a[i]), a[i] / 4))


def nested(a, out):
    for i in prange(len(a)):
        if a[i] % 2:
            row = [i]
            for k in range(a[i]):
                row.append(k)
            out.append(row)


def arrays(a, out):
    for i in prange(len(a)):
        if a[i] > 3:
            out.append(np.full(a[i], i))


def extended(a, out):
    for i in prange(len(a)):
        if a[i] > 6:
            out.extend(a[i : i + 3])
            out += [i]


def views(a, out):
    for i in prange(len(a)):
        if a[i] > 5:
            out.append(a[i : i + 2])


def dicts(a, out):
    for i in prange(len(a)):
        if a[i] > 3:
            out.append({i: str(a[i]), -1: "z"})


def optionals(a, out):
    for i in prange(len(a)):
        if a[i] > 3:
            out.append(a[i])
        elif a[i] > 1:
            out.append(None)


KINDS = [numbers, floats, flags, strings, tuples, nested, arrays, extended, views, dicts, optionals]


def made(body):
    """A function that makes the list, hands it to `body`, and returns it."""
    inner = njit(parallel=True)(body)

    @njit(parallel=True)
    def make(a):
        out = []
        inner(a, out)
        return out

    return make


MAKE = {f: made(f) for f in KINDS}


def plain(x):
    return [plain(y) for y in x] if isinstance(x, (list, np.ndarray)) else x


def in_python(body, a):
    out = []
    body(a, out)
    return plain(out)


@pytest.mark.parametrize("f", KINDS, ids=lambda f: f.__name__)
def test_all_kinds_of_items_are_in_order(f):
    for n in (0, 1, 5, MANY):
        a = np.arange(n) * 7 % 9
        assert plain(MAKE[f](a)) == in_python(f, a)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(0, MANY), kind=st.sampled_from([numbers, floats, strings])
)
def test_whatever_is_left_out(seed, n, kind):
    a = np.random.default_rng(seed).integers(0, 9, n) * (seed % 3 > 0)
    assert MAKE[kind](a) == in_python(kind, a)


@njit(parallel=True)
def two(a, hist):
    small, large, total = [-1], [], 0
    for i in prange(len(a)):
        total += a[i]
        hist[a[i]] += 1
        if a[i] < 3:
            small.append(i)
        else:
            large.append((i, a[i]))
    small.append(-2)
    return small, large, total


def test_beside_reductions_and_arrays_that_are_accumulated_into():
    a = np.arange(MANY) * 7 % 9
    hist, plain_hist = np.zeros(9, np.int64), np.zeros(9, np.int64)
    assert two(a, hist) == two.py_func(a, plain_hist)
    assert np.array_equal(hist, plain_hist)


@njit(parallel=True)
def extreme(a):
    out, best, at = [], -1.0, -1
    for i in prange(len(a)):
        if a[i] > best:
            best = a[i]
            at = i
        if a[i] < 0.01:
            out.append(i)
    return out, best, at


def test_beside_an_extreme():
    a = np.random.default_rng(7).random(MANY)
    assert extreme(a) == extreme.py_func(a)


@njit(parallel=True)
def collect(a, out):
    for i in prange(len(a)):
        if a[i] > 7:
            out.append(i)
    return len(out)


def test_a_list_that_is_passed_and_a_typed_one():
    a = np.arange(MANY) * 7 % 9
    mine, typed = [5], List([5])
    expected = [5]
    n = collect.py_func(a, expected)
    assert collect(a, mine) == n and mine == expected
    assert collect(a, typed) == n and list(typed) == expected
    collect(a, typed)
    assert len(typed) == 2 * n - 1


@njit(parallel=True)
def raises(a, out):
    for i in prange(len(a)):
        out.append(str(i))
        if a[i] == 100:
            raise ValueError(i)


@njit(parallel=True)
def catches(a):
    out = ["first"]
    try:
        for i in prange(len(a)):
            out.append("y" * 3)
            if a[i] >= 100:
                raise ValueError(i)
    except ValueError:
        return len(out), out[0]
    return len(out), out[-1]


def test_an_iteration_raises():
    a = np.arange(MANY) % 9
    a[[700, 15_000]] = 100
    out = ["a"]
    with pytest.raises(ValueError, match="^700$"):
        raises(a, out)
    assert out == ["a"]
    assert catches(a) == (1, "first")
    assert catches(np.arange(MANY) % 9) == (MANY + 1, "yyy")


@njit(parallel=True)
def read_beside(a, other, out):
    for i in prange(len(a)):
        if a[i] > other[0]:
            out.append(other[1])


def test_another_list_of_its_type_is_compared_before_the_loop():
    a = np.arange(MANY) % 9
    out, same = [1], [4, 6]
    read_beside(a, [7, 3], out)
    assert out == [1] + [3] * int((a > 7).sum())
    expected = [4, 6]
    read_beside.py_func(a, expected, expected)
    read_beside(a, same, same)
    assert same == expected


@njit(parallel=True)
def looks_up(a, known):
    out, mine = [], [3, 4]
    for i in prange(len(a)):
        if a[i] in known and known[a[i]] > 2:
            out.append(known[a[i]] + mine[i % 2])
        row = [i]
        row.append(len(row))
        if row[1] == 2:
            out.append(-1)
    return out


def test_dicts_and_lists_of_its_own_are_read_beside():
    a = np.arange(MANY) % 9
    known = {1: 5, 2: 1, 8: 3}
    assert looks_up(a, known) == looks_up.py_func(a, known)


def test_it_runs_on_all_cores(capsys):
    two(np.arange(9), np.zeros(9, np.int64))
    two.parallel_diagnostics()
    said = capsys.readouterr().out
    assert (
        "runs on all cores" in said
        and "lists for chunks of iterations, joined in order: 'small', 'large'" in said
    )


def length(a, out):
    for i in prange(len(a)):
        out.append(len(out))


def pops(a, out):
    for i in prange(len(a)):
        out.append(i)
        if len(a) > 3:
            out.pop()


def chosen(a, out):
    other = [1]
    for i in prange(len(a)):
        x = out if a[i] > 3 else other
        x.append(i)


def within(a, out):
    rows = [out, [1]]
    for i in prange(len(a)):
        out.append(rows[i % 2][0])


@pytest.mark.parametrize("f", [length, pops, chosen, within], ids=lambda f: f.__name__)
def test_what_does_anything_else_with_the_list_is_refused(f):
    with pytest.raises(UnsupportedError, match="in a prange loop"):
        njit(parallel=True)(f)(np.arange(5), [1])
