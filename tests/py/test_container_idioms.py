"""What programs write with containers: comprehensions over displays that are not as long, generators that are given away at once, bools as places, views of displays of names, variables that functions share and that may be None.

Each was once refused, or gave something else than CPython does: the fuzzer found them.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import groupby, product

import pytest
from treadle import njit

# ruff: noqa: B023, C401, C402, C404, C416, C419, PERF, RUF, SIM

CASES = []


def case(*args):
    def add(f):
        CASES.append((f, args))
        return f

    return add


# --- displays of displays ---


@case([5])
def rows_not_as_long(l):
    a = sum(len(r) for r in [[0, 4], l, [1, 2, 3]])
    b = [r[-1] for r in [[0, 4], [1, 2, 3]]]
    return a, b, {len(r) for r in ([1], l, [2, 3])}, [x for p, q in (([1], 2), ([1, 3], 3)) for x in p * q]


@case(3)
def pairs_of_rows(n):
    d = {k: len(v) for k, v in [("a", [1, 2]), ("b", [1])]}
    return d, dict([(p, q) for p, q in [(8, [-1, 7, 6]), (1, [2, 7, 9, n])] if n])


@case([1, 2])
def rows_through_the_library(l):
    return [(x, len(w[1])) for x, w in product(l, [(7, ["ba", "Ab"]), (8, ["c"])])]


@case()
def cut_in_a_comprehension():
    return [p[q : q + 2] for p in [[-3, 5, 0]] for q in range(0, len(p), 2)], [
        p[1:] for p in [[1, 2], [3, 4]]
    ]


@case(1)
@case(-1)
def row_at_a_place(n):
    return ([1, 2], [3])[n][0]


@case()
def values_not_as_long():
    a = sum([q for r in {"a": [9], "b": [1, 2]}.values() for q in r])
    b = max(len(v) for v in {"a": [9], "b": [1, 2]}.values())
    return a, b, [len(v) for k, v in {"a": [9], "b": [1, 2]}.items() if k != "a"]


@case("a")
def filtered_rows(s):
    d = {k: v for k, v in {"a": [1], "b": [2]}.items() if k != s}
    return (
        d,
        {k: v for k, v in [("a", [1]), ("b", [3])] if k != s},
        [v for k, v in {"b": [1]}.items() if k.isalpha()],
    )


@case(3)
def columns_backwards(n):
    return list(reversed([(z, z + 1) for z in range(n)]))


@case()
def views_as_operands():
    d = {"a": 1}
    e = d
    u = {"é": 5, "b": -3}.keys() | {"-3": 4, "b": 1}.keys()
    return sorted(u), d == e, d.keys() == e.keys(), {"a": 1} != {"b": 1}, {"a": 1}.keys() & {"b": 1}.keys()


@case([3, 4, 4])
def loop_within_over_a_comprehension(l):
    return [(p, q) for p in l for q in [k for k, g in groupby(list(l))]], [
        (p, q) for p in l for q in [k + p for k in l]
    ]


@njit
def in_order(xs, c):
    if c:
        xs = sorted(xs)
    for _ in range(c):
        xs = [x + 1 for x in xs]
    return xs[0], len(xs)


@case(0)
@case(3)
def handed_to_a_function_that_makes_another(n):
    return in_order([3, 1, 2], n), in_order([3.5, 1], n)


# --- generators of variables that are assigned again ---


@case(3)
def given_away_at_once(n):
    out = []
    v = 1
    for _ in range(3):
        out.append(list(v + q for q in range(n)))
        out.append(sorted((v - q for q in range(n)), reverse=True))
        out[0].extend(v * q for q in range(n))
        v += 2
    return out, set(v + q for q in range(n)), dict((v, q) for q in range(n))


@case(["a b", "b c"])
def texts_of_each_line(lines):
    out, c, q = [], Counter(), deque([""])
    for line in lines:
        words = line.split()
        out.append(",".join(w + words[0] for w in words))
        c.update(w + words[0] for w in words)
        q = deque((w + words[0] for w in words), maxlen=2)
    return out, c, q, Counter(words[0] for w in words)


# --- bools as places and numbers ---


@case(3)
@case(1)
def bools_as_places(n):
    l, counts, rows, b = [n, 1], [0, 0], [[1], [2]], bytearray(b"ab")
    l.append(3)
    l[n > 2] = 7
    for k in range(5):
        counts[k > n] += 1
    rows[n > 1].append(3)
    b[n > 1] = 65
    del l[n > 1]
    text = ("no", "yes")[n > 2] + "-" * (n > 2) + "ab"[n > 2]
    return (
        l,
        counts,
        rows,
        text,
        [1.5, 2.5][n > 5],
        [n] * (n > 2),
        b"ab"[n > 2],
        b[n > 1],
        deque([n, 5])[n > 2],
    )


# --- what may be None, shared by functions ---


@case([-2, None, 3])
def shared_items_that_may_be_none(a):
    n = 0
    for x in a:

        def g(t):
            return x

        if g(0) is None:
            n += 1
    return n


@case({1: 2}, 5)
@case({1: 9}, 1)
def shared_best(d, k):
    best = d.get(k)

    def put(x):
        nonlocal best
        if best is None or x > best:
            best = x

    for x in (3, 1, 4):
        put(x)
    return best


@case(True)
@case(False)
def deques_of_what_may_be_none(c):
    q = deque(["a", "b"])
    q[1] = "x" if c else None
    q.append(None)
    q.appendleft("a" if c else None)
    q.insert(1, None if c else "b")
    n = q.count(None if c else "b"), q.index("x" if c else None), (None if c else "a") in q
    q.remove("a" if c else None)
    return q, n


# --- texts that are known, and spell no number ---


@case()
def no_number():
    try:
        return float("one"), 0
    except ValueError as e:
        return float("1_000") + float("٣"), len(str(e))


@case(3)
def sums_of_constants(n):
    return sum(map(len, ["a"])), max(map(len, ("ab",))), list(map(len, ["a"]))


@pytest.mark.parametrize(("f", "args"), CASES, ids=[f"{f.__name__}{args}" for f, args in CASES])
@pytest.mark.parametrize("inline", ["always", "never"])
def test_is_what_python_does(f, args, inline):
    want = f(*args)
    g = njit(inline=inline)(f)
    assert repr(g(*args)) == repr(want)
    if args:

        @njit
        def caller(*x):
            return g(*x)

    else:

        @njit
        def caller():
            return g()

    assert repr(caller(*args)) == repr(want)
