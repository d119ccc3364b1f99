"""Lists, dicts and sets that are one object or None: `is`, what may be None, what get() gives; as CPython has it."""

from __future__ import annotations

import numpy as np
import pytest
from treadle import njit
from treadle.errors import UnsupportedError
from treadle.typed import Dict, List


def identity(n):
    l, m, d, e, s = [], [], {1: 2}, {1: 2}, {1}
    k = l
    l.append(n)
    m.append(n)
    e[2] = 1
    q = [l, m]
    return [
        l is m, l is k, k is not m, d is e, d is d, s is s, q[0] is l, q[1] is l, q[0] is not q[1]
    ]  # fmt: skip


def of_other_types(n):
    l, d, f, s = [n], {n: 1}, [0.5], {n}
    f.append(1.5)
    return l is d, l is f, d is not s, s is l, l is None, d is not None


def of_displays(n):
    l, m, d, e = [1, n], [1, n], {n: 1}, {n: 1}
    return l is m, l is l, d is e, d is d, d is not e, l is not None, [l, m][0] is l


def made_or_not(n):
    l = [] if n else None
    if l is None:
        l = [5]
    l.append(n)
    return l


def asked(n):
    l = [1] if n > 1 else None
    m = l if n else []
    return (1 if l else 0), l == m, l is m, l is None, m is not None, l == [1], not l, l != m, None == l


def a_dict_later(n):
    d = None
    for i in range(n):
        if d is None:
            d = {}
        d[i] = i
    return d


def a_set_later(n):
    s = None
    for i in range(n):
        if not s:
            s = set()
        s.add(i % 2)
    return s is None or s == {0} or s == {0, 1}, s


def values_that_may_be_none(n):
    d = {}
    for i in range(n):
        d[i] = d.get(i - 1)
        d[i + 1] = i
    c = {1: None, 2: n, n + 5: None}
    return d, c, c[1] is None


def grouped(n):
    d = {}
    for i in range(n):
        l = d.get(i % 2)
        if l is None:
            l = []
            d[i % 2] = l
        l.append(i)
    return d


def nothing_or_a_list(n):
    d = {}
    for i in range(n):
        d[i] = d.get(i, None)
        d[i] = [i]
    return d, d.get(0), d.get(1, [7]), d.get(9, []), d.get(9) is None, d.pop(0, None)


def items_that_may_be_none(n):
    o, c = [[1] if i % 2 else None for i in range(n)], 0
    for x in o:
        if x:
            c += 1
        if x is not None:
            x.append(2)
    return o, c, o == [None, [1, 2]], None in o


def handed_on(n):
    def inner(x):
        return 0 if x is None else len(x)

    l = [n] if n > 1 else None
    return inner(l), inner([1]), inner(None)


def nothing_but_get(n):
    d = {}
    return d.get(n), d.get(n, 1.5), d.get(n, None)


FUNCTIONS = [
    identity,
    of_other_types,
    of_displays,
    made_or_not,
    asked,
    a_dict_later,
    a_set_later,
    values_that_may_be_none,
    grouped,
    nothing_or_a_list,
    items_that_may_be_none,
    handed_on,
    nothing_but_get,
]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_as_cpython_s(fn):
    compiled = njit(fn)
    for n in range(4):
        assert compiled(n) == fn(n)


@pytest.mark.parametrize("x", [None, [], [1], [0.5]], ids=repr)
def test_list_arguments(x):
    @njit
    def f(l=None):
        if l is None:
            l = []
        l.append(3)
        return l

    given = None if x is None else list(x)
    r = f(given)
    assert r == (x or []) + [3] and (given is None or r is given) and f() == [3]


def test_dict_and_set_arguments():
    @njit
    def f(d=None, s=None):
        if not d:
            d = {}
        if not s:
            s = set()
        d[len(d)] = 1.5
        s.add(7)
        return d, s

    d, s = {4: 0.5}, {1}
    r = f(d, s)
    assert (
        r[0] is d
        and r[1] is s
        and r == ({4: 0.5, 1: 1.5}, {1, 7})
        and f() == ({0: 1.5}, {7}) == f(None, None)
    )
    assert f(s={2})[1] == {2, 7} and f(Dict({4: 0.5}))[0] == {4: 0.5, 1: 1.5}


def test_identity_of_arguments():
    @njit
    def f(l, m):
        return l is m, l is not m

    l, d = [1], {1: 2}
    assert f(l, l) == f(d, d) == (True, False) and f(l, [1]) == f(d, {1: 2}) == f(l, d) == (False, True)
    t = List([1])
    assert f(t, t) == (True, False) == f(t, t) and f(t, List([1])) == (False, True) == f(l, None)


def test_in_parallel_and_raising():
    @njit
    def f(n):
        d = {}
        for i in range(n):
            x = d.get(i % 3)
            if x is None:
                d[i % 3] = [i]
            elif len(x) > 2:
                raise ValueError(f"{x}")
            else:
                x.append(i)
        return d

    assert f(6) == {0: [0, 3], 1: [1, 4], 2: [2, 5]}
    with pytest.raises(ValueError, match=r"\[0, 3, 6\]"):
        f(20)
    l = njit(lambda n: len(([1] if n else None)))
    assert l(1) == 1
    with pytest.raises(TypeError, match=r"object of type 'NoneType' has no len\(\)"):
        l(0)


def test_arrays_have_no_identity():
    with pytest.raises(UnsupportedError, match="'is' between array"):
        njit(lambda a: a is a[:])(np.ones(2))


def named_or_none(c, n):
    d = {"k": n, "m": 2} if c else None
    e = None
    if n > 2:
        e = {"k": [n]}
    if d is None:
        return 0, e, d
    return d["k"] + d["m"], e, d


def test_displays_of_names_or_none():
    f = njit(named_or_none)
    for args in ((True, 1), (False, 1), (True, 3), (False, 3)):
        assert f(*args) == named_or_none(*args)
