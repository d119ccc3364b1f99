"""Iterators of itertools, heapq.merge and its kin, and operator's functions that make functions: against CPython."""

from __future__ import annotations

import functools
import heapq
import itertools
import operator
from collections import namedtuple

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange
from treadle.errors import TypingError, UnsupportedError

Point = namedtuple("Point", "x y")


def plain(x):
    """NumPy's numbers as Python's."""
    if isinstance(x, (tuple, list)):
        return type(x)(plain(y) for y in x)
    return x.item() if isinstance(x, np.generic) else x


def products(a, b):
    s = 0.0
    for x, y in itertools.product(range(len(a)), b):
        s += x * y
    empty = [len(t) for t in itertools.product()]
    return (
        [x * 10 + y for x, y in itertools.product(a, b)],
        [x * 100 + y * 10 + z for x, y, z in itertools.product(a, repeat=3)],
        list(itertools.product((1, 2), "ab")),
        s,
        empty,
    )


def subsets(a, b):
    return (
        list(itertools.combinations(a, 2)),
        list(itertools.combinations(b, 3)),
        list(itertools.combinations(a, 9)),
        len(list(itertools.combinations(a, 0))),
        list(itertools.combinations_with_replacement(b, 2)),
        list(itertools.permutations(b, 2)),
        list(itertools.permutations(a, 9)),
    )


def orders(a, b):
    best = 0
    for p in itertools.permutations([1, 2, 3, 4]):
        best = max(best, p[0] * p[1] - p[2])
    return best, list(itertools.permutations((1, 2, 3)))


def chains(a, b):
    rows = [list(a), list(b), [1, 2]]
    return (
        [x for x in itertools.chain(a, b)],  # noqa: C416 - a comprehension
        sum(itertools.chain(a, range(3), b, (1, 2))),
        [x + 1 for x in itertools.chain.from_iterable(rows)],
        list(itertools.chain.from_iterable(["ab", "", "c"])),
        3 in itertools.chain(a, b),
        "".join(itertools.chain("ab", "cd")),
    )


def totals(a, b):
    return (
        list(itertools.accumulate(a)),
        list(itertools.accumulate(b, lambda x, y: x * y)),
        list(itertools.accumulate(a, operator.mul, initial=2)),
        list(itertools.accumulate(b, max)),
    )


def slices(a, b):
    it = iter(a)
    first = list(itertools.islice(it, 0, 2, 3))
    return (
        list(itertools.islice(a, 2)),
        list(itertools.islice(a, 0)),
        list(itertools.islice(a, None)),
        list(itertools.islice(b, 1, None, 2)),
        list(itertools.islice(a, 1, 2)),
        first,
        list(it),
        next(itertools.islice(a, 0), -5),
    )


def endless(a, b):
    c = itertools.count()
    found = 0
    for i in itertools.count(2, 3):
        if i > 20:
            found = i
            break
    return (
        list(itertools.islice(itertools.count(3), 4)),
        list(itertools.islice(itertools.count(0.5, 0.1), 5)),
        next(c) + 10 * next(c) + 100 * next(c),
        [i * x for i, x in zip(itertools.count(1), a)],
        [x * y for x, y in zip(range(7), itertools.cycle(b))],
        [x * y for x, y in zip(a, itertools.repeat(2))],
        list(itertools.repeat(0.5, 3)),
        found,
    )


def walks(a, b):
    odd = itertools.filterfalse(lambda x: x % 2 == 0, a)
    return (
        list(itertools.takewhile(lambda x: x < 3, a)),
        list(itertools.dropwhile(lambda x: x < 3, a)),
        list(odd),
        list(itertools.filterfalse(None, b)),
        list(itertools.starmap(pow, [(2, 3), (3, 2)])),
        sum(itertools.starmap(lambda x, y: x * y, zip(a, b))),
        list(itertools.compress(a, [1, 0, 1, 1])),
        [y - x for x, y in itertools.pairwise(a)],
        list(
            itertools.islice(itertools.chain(itertools.takewhile(lambda x: x < 4, itertools.count()), b), 9)
        ),
    )


def longest(a, b):
    n = 0
    for x, y in itertools.zip_longest(a, b):
        n += 100 if x is None else 0
        n += 1 if y is None else y
    return list(itertools.zip_longest(a, b, (7,), fillvalue=-1)), n


def groups(a, b):
    out = []
    for k, g in itertools.groupby(a, lambda x: x // 2):
        for x in g:
            out.append(k * 100 + x)
    left = [k for k, g in itertools.groupby(b)]
    words = [(k, "".join(g)) for k, g in itertools.groupby("aabccc")]
    return out, left, [(k, len(list(g))) for k, g in itertools.groupby(sorted(b))], words


def tees(a, b):
    x, y = itertools.tee(a)
    s = 0
    for p in y:
        s += p
    return s, [p * q for p, q in zip(x, itertools.islice(b, 1, None))]


def views(a, b):
    d = {x: 2 * x for x in b}
    return list(itertools.chain(d.keys(), d.values())), list(itertools.islice(d.items(), 2))


def heaps(a, b):
    return (
        heapq.nsmallest(2, a),
        heapq.nlargest(3, b),
        heapq.nsmallest(9, b),
        heapq.nlargest(-1, a),
        heapq.nlargest(2, [(x, 1) for x in a], key=operator.itemgetter(0)),
        list(heapq.merge(sorted(a), sorted(b), (1, 9))),
        list(heapq.merge([5, 1], [4, 2], reverse=True)),
        list(heapq.merge([1, -2], [0, 3], key=abs)),
    )


def getters(a, b):
    p = Point(1, 2.5)
    return (
        operator.itemgetter(0, 2)((1, 2.5, "x")),
        sorted([(x, -x) for x in b], key=operator.itemgetter(1)),
        operator.attrgetter("x")(p),
        operator.attrgetter("x", "y")(p),
        operator.countOf(a, 3),
        functools.reduce(operator.add, itertools.chain(a, b)),
    )


PROGRAMS = [
    products, subsets, orders, chains, totals, slices, endless, walks, longest, groups, tees, views, heaps, getters,
]  # fmt: skip


@functools.cache
def compiled(f):
    return njit(f)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(f):
    for a, b in [
        ([1, 2, 3, 4, 5], [2, 2, 7]),
        ([2, 1], [4, 0, 4, 1]),
        (np.arange(5.0), np.array([1.0, 3.0, 3.0])),
        (range(1, 5), (3, 4, 4)),
    ]:
        assert compiled(f)(a, b) == plain(f(a, b))


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(-3, 9), max_size=7), st.lists(st.integers(-3, 9), max_size=4))
def test_any_lists(a, b):
    """Empty ones, too."""
    for f in (subsets, chains, totals, slices, walks, longest, tees, heaps):
        if a and b:  # a list of nothing is a type of its own
            assert compiled(f)(a, b) == f(a, b)


@settings(deadline=None)  # the first call compiles
@given(st.integers(0, 9), st.integers(0, 9), st.one_of(st.none(), st.integers(0, 12)), st.integers(1, 4))
def test_islice_takes_what_cpython_takes(n, start, stop, step):
    """Also from the iterator beneath."""
    it = iter(range(n))
    want = list(itertools.islice(it, start, stop, step))
    assert (sliced(n, start, -1 if stop is None else stop, step)) == (want, list(it))


@njit
def sliced(n, start, stop, step):
    it = iter(range(n))
    if stop < 0:
        got = list(itertools.islice(it, start, None, step))
    else:
        got = list(itertools.islice(it, start, stop, step))
    return got, list(it)


def test_groups_end_with_the_next():
    """A group that is not gone through is skipped, and one that is kept is empty once the next was asked for."""

    @njit
    def f(a):
        it = itertools.groupby(a)
        k1, g1 = next(it)
        first = next(g1)
        k2, g2 = next(it)
        return k1, first, len(list(g1)), k2, list(g2)

    assert f([1, 1, 1, 2, 2]) == (1, 1, 0, 2, [2, 2]) == f.py_func([1, 1, 1, 2, 2])


def test_an_iterator_of_any_function():
    """It is an argument, a result and an item; its state is shared by all who have it."""

    def first(it, n):
        return [next(it) for _ in range(n)]

    def even():
        return itertools.filterfalse(lambda x: x % 2, itertools.count())

    def f(n):
        it = itertools.accumulate(even())
        both = (it, it)
        a = first(it, n)
        queue = [iter([1, 2, 3]), iter([4, 5])]
        out = [0]
        while len(queue) > 0:  # itertools' recipe: roundrobin
            one = queue.pop(0)
            for x in one:
                out.append(x)
                queue.append(one)
                break
        return a, next(both[0]), next(both[1]), out

    assert njit(f)(3) == f(3)


def test_items_of_all_kinds():
    def f(a, words):
        rows = itertools.cycle([a, a[:2]])
        n = 0
        for row, word in zip(rows, words):
            n += len(row) * len(word)
        pairs = [x + y for x, y in itertools.pairwise(words)]
        held = [x is None for x in itertools.chain([None, 1], [2, None])]
        return n, pairs, held, list(itertools.permutations(words, 2))

    assert njit(f)(np.arange(3), ["ab", "c", "def"]) == f(np.arange(3), ["ab", "c", "def"])


def test_exceptions():
    @njit
    def slices(n, step):
        return list(itertools.islice(range(5), n, 4, step))

    @njit
    def raises(a):
        out = []
        try:
            for x in itertools.accumulate(a, lambda x, y: x // y):
                out.append(x)
        except ZeroDivisionError:
            out.append(-1)
        return out

    @njit
    def repeated():
        return list(itertools.product([1], repeat=-1))

    for n, step in [(-1, 1), (0, 0)]:
        with pytest.raises(ValueError) as want:
            slices.py_func(n, step)
        with pytest.raises(ValueError) as got:
            slices(n, step)
        assert str(got.value) == str(want.value)
    assert raises([8, 2, 0, 1]) == raises.py_func([8, 2, 0, 1]) == [8, 4, -1]
    with pytest.raises(ValueError, match="repeat argument cannot be negative"):
        repeated()
    with pytest.raises(StopIteration):
        njit(lambda a: next(itertools.takewhile(lambda x: x < 0, a)))([1])


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda a, n: list(itertools.combinations(a, n)), "combinations.. needs an r that is known"),
        (lambda a, n: list(itertools.permutations(a)), "permutations.. needs an r that is known"),
        (lambda a, n: list(itertools.product(a, repeat=n)), "product.. needs a `repeat` that is known"),
        (lambda a, n: list(itertools.chain(a, ["x"])), "returns both"),
    ],
)
def test_refusals(f, text):
    with pytest.raises(TypingError, match=text):
        njit(f)([1, 2, 3], 2)


def test_in_parallel_loops():
    """What an iteration makes is its own."""

    @njit(parallel=True)
    def f(n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            s = 0
            for x, y in itertools.product(range(i), range(3)):
                s += x * y
            for x in itertools.accumulate(itertools.islice(itertools.count(i), 4)):
                s += x
            for x, y in itertools.combinations([i, 1, 2], 2):
                s += x * y
            out[i] = s
        return out

    assert (f(50) == f.py_func(50)).all()


def test_rounds_of_a_parallel_loop_share_none():
    @njit(parallel=True)
    def f(a):
        it = itertools.accumulate(a)
        s = 0
        for _ in prange(len(a)):
            s += next(it)
        return s

    with pytest.raises(UnsupportedError, match="prange"):
        f([1, 2, 3])


def test_nothing_is_leaked():
    def f(a, words):
        n = 0
        for i in range(3):
            it = itertools.chain(words, itertools.cycle(words))
            n += len(next(it)) + len(next(it))
            for k, g in itertools.groupby(words, len):
                n += k
            if i == 2 and n > 0:
                raise ValueError("midway")
        return n

    g = njit(f)
    words = ["a" * 40, "b" * 40]
    before = treadle.stats()
    for _ in range(9):
        with pytest.raises(ValueError, match="midway"):
            g([1, 2], words)
    after = treadle.stats()
    made = {k: after[k] - before[k] for k in ("arrays_allocated", "arrays_freed")}
    assert made["arrays_allocated"] > 50 and made["arrays_allocated"] == made["arrays_freed"], made


@pytest.mark.parametrize(
    "args", [(0, -1), (-1, -1), (0, -2), (-1, 3), (-1,), (-2,), (0, 3, 0), (None, -1, 2)]
)
def test_bounds_of_islice(args):
    """What CPython says of -1 as an end it says of no other number."""
    fn = eval(f"lambda l: list(itertools.islice(l, {', '.join(map(str, args))}))", {"itertools": itertools})
    with pytest.raises(ValueError, match="islice") as want:
        fn([1, 2])
    with pytest.raises(ValueError, match="islice") as got:
        njit(fn)([1, 2])
    assert str(got.value) == str(want.value)
