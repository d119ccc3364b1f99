"""One list, or dict, under several names: what is changed under one is seen under all, however these came about. The oracle is CPython."""

from __future__ import annotations

import itertools

import pytest
from treadle import UnsupportedError, njit


def all_of(*a):
    return [x for x in a]  # noqa: C416


def two_of(**k):
    return [k["a"], k["b"]]


def twice(x):
    return [x for _ in range(2)]


def change(**k):
    for x in k["a"]:
        k["a"][x if isinstance(k["a"], dict) else 0] += 1
        break


WAYS = [
    "[r for _ in range(n)]",
    "[r for _ in range(2) for _ in range(2)]",
    "[x for x in (r, r)]",
    "[x for x in [r, r]]",
    "[x for i in range(2) for x in (r, r)]",
    "[y for x in range(2) if x for y in [r, r] if y]",
    "[x for t in ((r, 1), (r, 2)) for x in [t[0]]]",
    "[[x for x in (r, r)] for i in range(2)][0]",
    "[x for x, y in zip([r, r], [1, 2])]",
    "[p[0] for p in zip([r, r])]",
    "[x for _, x in enumerate([r, r])]",
    "[x for x in reversed([r, r])]",
    "[x for x in [r, r][0:2]]",
    "[q[0] for q in [[r], [r]]]",
    "[(x, r)[1] for x in range(3)]",
    "[r if c else r for c in range(2)]",
    "[(lambda: r)() for _ in range(2)]",
    "list(r for _ in range(3))",
    "list(map(lambda _: r, range(3)))",
    "list(itertools.repeat(r, 3))",
    "list(itertools.chain([r], [r]))",
    "list(dict.fromkeys([1, 2], r).values())",
    "{i: r for i in range(2)}",
    "[r] * 3",
    "all_of(r, r)",
    "two_of(a=r, b=r)",
    "twice(r)",
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("made", "place"),
    [("[n]", "[0]"), ("[n, 4][:]", "[0]"), ("{'a': n}", "['a']")],
    ids=["list", "part", "dict"],
)
def test_one_under_several_names(way, made, place):
    source = f"def f(n):\n    r = {made}\n    m = {way}\n    m[0]{place} += 5\n    return m, r\n"
    space = {"itertools": itertools, "all_of": all_of, "two_of": two_of, "twice": twice}
    exec(source, space)
    got, want = njit(space["f"])(3), space["f"](3)
    assert got == want
    m, r = got
    m[0]["a" if made[0] == "{" else 0] += 1  # and it is one object in Python, too
    assert m[1] == r


def two_lists_of_rows(n):
    a = [[n], [n]]
    b = [x for x in a]  # noqa: C416
    c = [x for x in a]  # noqa: C416
    b[0][0] = 9
    return a, b, c, a[0] is b[0]


def through_names(n):
    r = [n]
    change(a=r)
    return r


def of_several_lengths(n):
    return [x for y in [[1, n], [3]] for x in y], [len(y) for y in ([n, 2], [3])]


def out_of_a_tuple(n):
    t = ([n], 5)
    r = t[0]
    m = list(itertools.chain([r], [r]))
    m[0][0] += 7
    return m, t


@pytest.mark.parametrize("f", [two_lists_of_rows, through_names, of_several_lengths, out_of_a_tuple])
def test_programs(f):
    assert njit(f)(3) == f(3)


# --- functions and generators that are made for an item -----------------------------------------------------------

KEPT = [
    "[g() for g in [lambda: i for i in range(n)]]",
    "[g() for g in list(lambda: i for i in range(n))]",
    "[sum(g) for g in [(x * i for x in range(3)) for i in range(n)]]",
    "[[g() for g in r] for r in [[lambda: i + j for j in range(2)] for i in range(n)]]",
    "[g(1) for g in {i: (lambda x: x + i) for i in range(n)}.values()]",
]
FINE = [
    "[g() for g in [lambda i=i: i for i in range(n)]]",
    "[g() for g in [(lambda: n) for i in range(n)]]",
    "[g() for g in [(lambda k: lambda: k)(i) for i in range(n)]]",
    "[sum(x * i for x in range(3)) for i in range(n)]",
    "[sum(g) for g in ((x * i for x in range(3)) for i in range(n))]",
    "[sorted([3, 1, 2], key=lambda x: x * (-1) ** i) for i in range(n)]",
    "[[list(map(lambda x: x + i + j, range(2))) for j in range(2)] for i in range(n)]",
    "list(itertools.chain.from_iterable((x * i for x in range(3)) for i in range(n)))",
    "{i: [y for y in (x + i for x in range(3))] for i in range(n)}",
]


@pytest.mark.parametrize("source", KEPT)
def test_what_is_kept_beyond_its_item_is_refused(source):
    with pytest.raises(UnsupportedError, match="which the next item changes"):
        njit(eval(f"lambda n: {source}"))(3)


@pytest.mark.parametrize("source", FINE)
def test_what_is_not_kept(source):
    f = eval(f"lambda n: {source}", {"itertools": itertools})
    assert njit(f)(3) == f(3)


# --- generator expressions of several loops -----------------------------------------------------------------------

SEVERAL = [
    "list((x, d) for x, y in c for d in (1, 2))",
    "dict((x, d) for x, y in c for d in (1, 2))",
    "sorted({(x, d) for x, y in c for d in (1, 2)} | set((y, d) for x, y in c for d in (1, 2)))",
    "''.join(str(x) for x, y in c for d in (1, 2) if d != x for _ in range(d))",
    "max((x + d for x, y in c for d in (1, 2)), default=0)",
    "next((x for x, y in c for d in (1, 2) if x > d), None)",
    "[i for i in enumerate(x for x, y in c for d in range(x))]",
    "list(zip((x for x, y in c for d in (1, 2)), (d for x, y in c for d in (1, 2))))",
    "[sum(g) for g in ((x * d for d in range(2) for e in range(d)) for x, y in c)]",
]


@pytest.mark.parametrize("source", SEVERAL)
@pytest.mark.parametrize("c", [[(1, 0), (2, 1), (4, 1)], [(0, 0)]])
def test_generators_of_several_loops(source, c):
    f = eval(f"lambda c: {source}")
    assert njit(f)(c) == f(c)


def lazy(l):
    seen = [0]

    def see(x):
        seen.append(x)
        return x

    g = (see(x) + see(d) for x in l for d in (10, 20))
    first = next(g)
    some = list(seen)
    for x in g:
        if x > 21:
            break
    return first, some, seen, list(g)


def test_they_ask_for_no_more_than_is_wanted():
    assert njit(lazy)([1, 2, 3]) == lazy([1, 2, 3])
