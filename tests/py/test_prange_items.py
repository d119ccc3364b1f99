"""Arrays and lists that the iterations of a prange loop take out of one list, and change. The oracle is the plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from treadle import UnsupportedError, njit, prange
from treadle.typed import List

MANY = 6_000


def next_one(l):
    for i in prange(len(l) - 1):
        l[i + 1][0] += l[i][0]


def one_before(l):
    for i in prange(1, len(l)):
        a = l[i - 1]
        b = l[i]
        for j in range(len(b)):
            b[j] += a[j]


def whole_rows(l):
    for i in prange(len(l) - 2):
        l[i + 2][:] = l[i] + 1


def next_round(l):
    n = len(l)
    for i in prange(n):
        l[(i + 1) % n][0] += l[i][0] * 0.5


def halves(l):
    for i in prange(len(l)):
        l[i // 2][1] += l[i][0] + 1


def reads_first(l):
    for i in prange(len(l)):
        l[i][0] += l[0][0] + 1


def into_first(l):
    for i in prange(len(l)):
        l[0][0] = l[0][0] * 0.5 + l[i][1]


def all_pairs(l):
    for i in prange(len(l)):
        for j in range(len(l) // 1_500):
            l[j][0] = l[j][0] * 0.5 + l[i][1]


def own(l):
    for i in prange(len(l)):
        for j in range(1, len(l[i])):
            l[i][j] += l[i][j - 1] + 1


def other_items(l):
    for i in prange(len(l) - 1):
        l[i + 1][0] = l[i][1] * 2


def by_data(l):
    for i in prange(len(l)):
        l[int(l[i][1])][0] = i


def arrays():
    return [np.array([i % 7, i, 1.0]) for i in range(MANY)]


MAKE = {
    "arrays": arrays,
    "lists": lambda: [a.tolist() for a in arrays()],
    "typed arrays": lambda: List(arrays()),
    "typed lists": lambda: List([a.tolist() for a in arrays()]),
}


def same(fn, what, capsys):
    """Whether it leaves what a plain loop leaves; and what is said of it."""
    got, want = MAKE[what](), MAKE[what]()
    run = njit(parallel=True)(fn)
    run(got)
    njit(fn)(want)
    rows = [np.array([list(x[i]) for i in range(MANY)]) for x in (got, want)]
    np.testing.assert_array_equal(*rows)
    run.parallel_diagnostics()
    return capsys.readouterr().out


SURELY = [(fn, 1, what) for fn in (next_one, one_before) for what in MAKE] + [
    (whole_rows, 2, what) for what in MAKE if "list" not in what
]  # lists have no arithmetic


@pytest.mark.parametrize(("fn", "far", "what"), SURELY)
def test_iterations_that_surely_meet_in_an_item_are_refused(fn, far, what):
    with pytest.raises(UnsupportedError, match=f"depend on each other: .* {far} iterations? later"):
        njit(parallel=True)(fn)(MAKE[what]())


@pytest.mark.parametrize("what", list(MAKE))
@pytest.mark.parametrize("fn", [next_round, halves, reads_first, into_first, all_pairs])
def test_where_iterations_may_meet_in_an_item_they_go_in_order(fn, what, capsys):
    said = same(fn, what, capsys)
    assert "runs on one core" in said


@pytest.mark.parametrize("what", list(MAKE))
@pytest.mark.parametrize("fn", [own, other_items, by_data])
def test_items_at_places_of_their_own_are_changed_on_all_cores(fn, what, capsys):
    assert "runs on all cores" in same(fn, what, capsys)
