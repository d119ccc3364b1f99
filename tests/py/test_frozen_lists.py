"""Lists and dicts that are globals, or variables of an enclosing function: what they hold when the function compiles, and only read."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle import njit, prange

NUMBERS = [2, 3, 5, 7]
MIXED = [1, 2.5, (3, 4)]
NESTED = [[1, 2], [3, 4]]
PAIRS = [(1, 2.5), (3, 4.0)]
NAMES = ["b", "a"]
NOTHING = []
RATES = {"slow": 1, "fast": 2.5, "steps": [1, 2, 3]}
MANY = list(range(500))
ITSELF = [1]
ITSELF.append(ITSELF)


def at(i):
    return NUMBERS[i], NUMBERS[-1], NESTED[i % 2][1], PAIRS[i % 2][1], MIXED[2][0]


def walked():
    s = 0
    for k, x in enumerate(NUMBERS):
        s += k * x
    for a, b in PAIRS:
        s += a * b
    for row in NESTED:
        for x in row:
            s = s * 2 + x
    for _ in NOTHING:
        s = -1
    return s


def asked(x):
    return x in NUMBERS, len(NUMBERS), len(NOTHING), sum(NUMBERS), max(NUMBERS), bool(NUMBERS), bool(NOTHING)


def made_arrays():
    return np.array(NUMBERS) * 2, np.array(NESTED), np.zeros(3)[NUMBERS[:1]].size


def rates(kind):
    r = RATES["fast"] if kind else RATES["slow"]
    return r + RATES["steps"][1], len(RATES), "slow" in RATES, RATES.get("none", -1)


def of_enclosing():
    table = [0.5, 1.5]

    def f(i):
        return table[i] * 2

    return f


@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"inline": "always"}, {"cache": True}])
def test_are_read(options):
    for f, args in (
        (at, (1,)),
        (walked, ()),
        (asked, (5,)),
        (asked, (6,)),
        (rates, (True,)),
        (rates, (False,)),
    ):
        assert njit(**options)(f)(*args) == f(*args)
    for got, want in zip(njit(**options)(made_arrays)(), made_arrays(), strict=True):
        np.testing.assert_array_equal(got, want)
    f = of_enclosing()
    assert njit(**options)(f)(1) == f(1)


def test_in_a_prange_and_a_ufunc():
    @njit(parallel=True)
    def f(n):
        out = np.zeros(n)
        for i in prange(n):
            out[i] = NUMBERS[i % 4] * RATES["fast"]
        return out

    np.testing.assert_array_equal(f(100), f.py_func(100))

    @treadle.vectorize
    def g(i):
        return NUMBERS[i] + 0.5

    np.testing.assert_array_equal(g(np.arange(4)), np.array(NUMBERS) + 0.5)


def test_places_past_the_end():
    with pytest.raises(IndexError, match="^list index out of range$"):
        njit(lambda i: NUMBERS[i])(4)
    with pytest.raises(IndexError, match="^list index out of range$"):
        njit(lambda i: [1, 2][i])(2)


def test_what_it_is_then_counts():
    values = [1, 2]

    @njit
    def f():
        return values[0]

    assert f() == 1
    values[0] = 5
    assert f() == 1
    f.recompile()
    assert f() == 5


CHANGES = {
    "append": "NUMBERS.append(1)",
    "clear": "NUMBERS.clear()",
    "pop": "NUMBERS.pop()",
    "store": "NUMBERS[0] = 1",
    "store under a name": "RATES['slow'] = 2",
}


@pytest.mark.parametrize("change", CHANGES)
def test_may_not_be_changed(change):
    space = {"NUMBERS": NUMBERS, "RATES": RATES}
    exec(f"def f():\n    {CHANGES[change]}\n", space)
    with pytest.raises(
        treadle.TypingError, match=r"is only read in compiled code(.|\n)*pass it as an argument"
    ):
        njit(space["f"])()
    assert NUMBERS == [2, 3, 5, 7]


def test_those_of_many_items_and_in_themselves_are_refused():
    with pytest.raises(treadle.TreadleError, match="a list of more than 100 items"):
        njit(lambda i: MANY[i])(3)
    with pytest.raises(treadle.TreadleError, match="have no common type"):
        njit(lambda i: ITSELF[1][i])(3)
    assert njit(lambda i: ITSELF[0])(3) == 1


def test_in_a_kernel():
    @treadle.cuda.jit
    def k(out):
        i = treadle.cuda.grid(1)
        if i < out.size:
            out[i] = NUMBERS[i % 4] + RATES["fast"]

    out = np.zeros(8)
    k[1, 8](out)
    np.testing.assert_array_equal(out, [NUMBERS[i % 4] + 2.5 for i in range(8)])
