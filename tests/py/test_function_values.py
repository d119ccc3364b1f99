"""Functions as values: items of lists and dicts, what functions share; calls with `*a` of sequences; what `match`
asks of lists and of what may be None."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle import njit, prange
from treadle.errors import TypingError, UnsupportedError


@njit
def square(x):
    return x * x


def cube(x):
    return x * x * x


def table(n):
    fs = [square, cube]
    fs.append(lambda x: x + n)
    s = 0
    for i in range(n):
        s += fs[i % 3](i)
    return s, len(fs), [f(2) for f in fs]


def made_in_a_loop(n):
    fs = []
    for i in range(n):

        def add(x, i=i):
            return x + i

        fs.append(add)
    fs.reverse()
    return [f(10) for f in fs]


def captured(n):
    fs = {}
    for i in range(n):
        a = np.arange(i + 1.0)
        fs[i] = lambda x, a=a: x + a.sum()
    s = 0.0
    for f in fs.values():
        s = f(s)
    return s


def chosen(n):
    d = {1: square}
    d[2] = cube
    f = d[1 + n % 2]
    return f(n), d[2](n)


def shared(n):
    f = square

    def go(x):
        return f(x)

    a = go(n)
    f = cube
    return a + go(n)


def set_by_another(n):
    f = square

    def other():
        nonlocal f
        f = cube

    a = f(n)
    other()
    return a + f(n)


def handlers(n):
    steps = []

    def on(f):
        steps.append(f)

    on(square)
    on(lambda x: x - n)
    on(cube)
    x = n
    for f in steps:
        x = f(x)
    return x


PROGRAMS = [table, made_in_a_loop, captured, chosen, shared, set_by_another, handlers]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_functions_as_values(f):
    g = njit(f)
    for n in (0, 1, 5):
        assert g(n) == f(n)


def test_nothing_is_leaked():
    g = njit(captured)
    g(3)
    before = treadle.stats()
    for n in range(9):
        g(n)
    after = treadle.stats()
    made = {k: after[k] - before[k] for k in ("arrays_allocated", "arrays_freed")}
    assert made["arrays_allocated"] > 50 and made["arrays_allocated"] == made["arrays_freed"], made


def test_in_parallel_loops():
    @njit(parallel=True)
    def f(n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            fs = [square, cube]
            out[i] = fs[i % 2](i)
        return out

    assert (f(40) == f.py_func(40)).all()


def total(*args):
    s = 0
    for x in args:
        s += x
    return s


def scaled(k, *args):
    return k * total(*args) + len(args)


def point(a, b, *, c=3, d):
    return a + b * c + d


def starred(l):
    a = np.array(l)
    return (
        total(*l),
        total(*a) * 1,
        total(*range(4)),
        total(*[x * x for x in l]),
        scaled(*l),
        scaled(2, *(1, 2)),
        point(*l[:2], d=1),
        point(*a[:2], d=1, c=2) * 1,
        max(*l),
        min(*a) * 1,
        (lambda x, y: x - y)(*l[1:3]),
    )


def test_starred_sequences():
    l = [5, 3, 4, 1]
    got, want = njit(starred)(l), starred(l)
    assert got == want and [type(x) for x in got] == [int] * len(got)


def test_several_mappings():
    def f(n):
        m, more = {"c": n}, {"d": 5}

        def g(**kw):
            return point(1, 2, **kw, **more)

        return point(1, 2, **m, **more), g(c=7), point(**{"a": n}, b=3, **more, **{"c": 2.5})

    assert njit(f)(4) == f(4)
    with pytest.raises(TypingError, match="multiple values for keyword argument 'd'"):
        njit(lambda n: point(1, 2, **{"d": n}, **{"d": 5}))(1)
    with pytest.raises(UnsupportedError, match=r"a call with \*\* of dict"):
        njit(lambda d: point(1, 2, **{"d": 1}, **d))({"c": 2})


def keyword_only(l, n):
    def one(a, *rest, k=n):
        return a + sum(rest) * k

    def two(a, b, *, k=2, z=n):
        return a + b * k + z

    def none(*rest, k=n, z):
        return sum(rest) * k + z

    return one(*l), one(*l, k=3), two(*l), two(*l, z=1, k=5), none(*l, z=2), none(*l, z=2, k=7)


def test_starred_sequences_before_keyword_only_parameters():
    for l in ([1, 2], [0.5, 2.0]):
        assert njit(keyword_only)(l, 4) == keyword_only(l, 4)


def test_starred_sequences_of_another_length():
    @njit
    def f(l):
        return point(*l, d=1)

    @njit
    def g(l):
        return scaled(*l)

    @njit
    def h(l):
        return max(*l)

    assert f([1, 2]) == 8 and g([2]) == 0
    with pytest.raises(TypeError, match=r"point\(\) takes 2 positional arguments but 3 were given"):
        f([1, 2, 3])
    with pytest.raises(TypeError, match=r"scaled\(\) missing 1 required positional argument: 'k'"):
        g(np.zeros(0))
    with pytest.raises(TypeError, match="not iterable"):
        h([1])


@pytest.mark.parametrize(
    "f",
    [
        lambda l: (lambda x, y=2: x + y)(*l),  # one or two
        lambda l: np.zeros(*l),
    ],
)
def test_starred_sequences_that_are_refused(f):
    with pytest.raises(treadle.UnsupportedError, match=r"a call with \* of list"):
        njit(f)([1, 2])


def by_length(l):
    match l:
        case []:
            return 0
        case [x]:
            return x
        case [x, y, *rest]:
            return x * 100 + y * 10 + len(rest)


def in_a_tuple(l):
    match (l, 1):
        case ([a, b], 1):
            return a + b
        case _:
            return -1


def test_sequence_patterns_of_lists():
    for n in range(5):
        l = [7, 8, 9, 1, 2][:n]
        for f in (by_length, in_a_tuple):
            if n:
                assert njit(f)(l) == f(l)
    assert njit(lambda n: by_length([i for i in range(n)]))(0) == 0


def test_class_patterns_of_what_may_be_none():
    def f(n):
        x = None if n > 2 else n
        match x:
            case float():
                return -1.0
            case int(k) if k > 1:
                return k * 1.0
            case int():
                return 0.5
            case None:
                return 7.0

    for n in range(5):
        assert njit(f)(n) == f(n)


def makes(a):
    def f(x):
        return x + a

    return f


@njit
def inside(a, x):
    return makes(a)(x)


def test_functions_that_functions_make():
    assert inside(3, 4) == 7 and njit(makes(3))(4) == 7 and njit(makes)(3)(4) == 7


@pytest.mark.parametrize(
    "f",
    [
        lambda n: [g(2) for g in [lambda x: x * 10 + i for i in range(n)]],
        lambda n: [g(2) for g in [(lambda x: x + i) if i else (lambda x: x + n) for i in range(n)]],
        lambda n: [g(2) for g in {k: lambda x: x + k for k in range(n)}.values()],
        lambda n: [g(2) for g in [lambda x: x + i for i in range(n) for j in range(i)]],
        lambda n: [g[0](2) for g in [(lambda x: x + i, i) for i in range(n)]],
    ],
)
def test_a_comprehensions_variable_in_its_items_is_refused(f):
    """All of these functions would have the last value."""
    with pytest.raises(UnsupportedError, match="uses a variable of the comprehension that it is made in"):
        njit(f)(3)


def test_a_comprehensions_variable_in_functions_that_end_with_the_item():
    def f(n):
        near = [min([3, 8, 5], key=lambda y: abs(y - i)) for i in range(n)]
        kept = [g(1) for g in [lambda x, i=i: x + i for i in range(n)]]
        return (
            near,
            kept,
            [(lambda x: x * i)(3) for i in range(n)],
            [g(2) for g in [lambda x: x + n for i in range(n)]],
        )

    assert njit(f)(9) == f(9)
