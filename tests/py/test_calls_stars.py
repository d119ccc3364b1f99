"""Stars in calls and displays, `f(1, *a, 2)`, `[*a, b]`, and `a, *b = x` of anything iterable, against CPython."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import TypingError, njit, prange


def run(f: Any, *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e)


def total(*a):
    s = 0
    for i, x in enumerate(a):
        s += x * (i + 1)
    return s


def three(a, b, c):
    return a * 100 + b * 10 + c


def two_and_more(a, b, *more):
    return a * 100 + b * 10 + sum(more), len(more)


def named(a, b, *, k):
    return a * 100 + b * 10 + k


def put(l, x):
    l.append(x)
    return x


PLACES = {
    "list": "[{}]",
    "set": "sorted({{{}}})",
    "sum": "sum([{}])",
    "array": "np.array([{}]).sum()",
    "total": "total({})",
    "more": "two_and_more({})",
    "max": "max({})",
    "three": "three({})",
}
PARTS = {
    "*a": "a",
    "*t": "t",
    "*range(n)": "n",
    "*[x + n for x in a]": "a",
    "*(x * n for x in a)": "a",
    "*map(abs, a)": "a",
    "*d": "d",
    "*[n, 2]": "n",
    "n": "n",
    "n + 1": "n",
    "put(a, n)": "a",
    "n if n > 2 else 7": "n",
}


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(PLACES)),
    st.lists(st.sampled_from(sorted(PARTS)), min_size=1, max_size=4),
    st.lists(st.integers(-5, 5), min_size=1, max_size=3),
    st.integers(0, 4),
)
def test_as_cpython(place: str, parts: list[str], a: list[int], n: int) -> None:
    """What a part changes before another one is read shows, and before it is read only."""
    text = f"def f(a, t, d, n):\n    x = {PLACES[place].format(', '.join(parts))}\n    return x, a\n"
    space: dict[str, Any] = {**globals()}
    exec(text, space)
    want = run(space["f"], list(a), (1, 2), {3: 4, 5: 6}, n)
    got = run(njit(space["f"]), list(a), (1, 2), {3: 4, 5: 6}, n)
    if isinstance(want[0], type):
        assert isinstance(got[0], type) and issubclass(got[0], want[0]), (text, want, got)
    else:
        assert got == want, text


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2), st.integers(0, 2), st.integers(0, 5), st.sampled_from(("s", "d", "m", "z", "g", "w"))
)
def test_targets_of_what_has_no_places(before: int, after: int, n: int, kind: str) -> None:
    of = {
        "s": "'abcde'[:n]",
        "d": "{i: 0 for i in range(n)}",
        "m": "map(abs, range(-n, 0))",
        "z": "zip(range(n), range(n))",
        "g": "(i * i for i in range(n))",
        "w": "('x y z u v'[:2 * n]).split()",
    }[kind]
    names = [f"p{i}" for i in range(before)], [f"q{i}" for i in range(after)]
    target = ", ".join([*names[0], "*b", *names[1]]) + ","
    text = f"def f(n):\n    {target} = {of}\n    return ({', '.join([*names[0], *names[1], 'b'])},)\n"
    space: dict[str, Any] = {}
    exec(text, space)
    assert run(njit(space["f"]), n) == run(space["f"], n), text


def calls(l, a, t, n):
    return (
        total(1, *l, 2),
        total(*l, *l),
        total(*l, *t, n),
        three(*l, n),
        three(n, *l),
        three(*t, *[n]),
        named(*l, k=n),
        two_and_more(n, *l, *t),
        two_and_more(*l, n),
        two_and_more(n, n, *l, n),
        max(n, *l),
        min(*l, *t),
        total(*a, *l) * 1.0,
        (lambda x, *y: x + len(y))(*l, *t),
    )


def test_calls():
    args = [5, 3], np.array([1.5, 2.0]), (7, 8), 4
    assert njit(calls)(*args) == calls(*args)


@pytest.mark.parametrize("l", [[], [1], [1, 2, 3]])
def test_calls_of_another_number(l):
    def f(l):
        return three(*l, 1)

    def g(l):
        return max(*l)

    assert run(njit(f), l) == run(f, l)
    assert run(njit(g), l) == run(g, l)


def test_too_many_whatever_there_is():
    with pytest.raises(TypingError, match=r"three\(\) takes 3 positional arguments but 4 were given"):
        njit(lambda l: three(1, 2, *l, 3, 4))([1])


def test_print(capfd):
    def f(l, a, n):
        print(*l)
        print("x", *l, 2.5, sep="-", end="!\n")
        print(*a, *l, sep="")
        print(*(x + n for x in l), None)

    want = []
    for g in (f, njit(f)):
        g([1, 2, 3], ["a", "b"], 2)
        want.append(capfd.readouterr().out)
    assert want[0] == want[1] and "x-1-2-3-2.5!" in want[0]


def test_what_has_no_type():
    """How long a tuple is, is its type; so is how many arguments NumPy's functions take."""
    with pytest.raises(TypingError, match="only a tuple can follow"):
        njit(lambda l: (*l, 1))([1])
    with pytest.raises(treadle.UnsupportedError, match=r"a call with \* of list"):
        njit(lambda l: np.arange(*l))([1])
    with pytest.raises(TypeError, match="Value after"):
        njit(lambda d: [*d.get(1), 1])({2: [1]})


def held(n):
    l = [1, 2, n]
    m = [*l, *l[:1]]
    m[0] = 9
    (a, *rest), b = (l, 5)
    rest.append(a)
    pair = [1], [n]
    first, *others = pair
    others[0].append(3)
    return l, m, rest, pair, first, b


def test_who_is_whom():
    assert njit(held)(4) == held(4)


@njit(parallel=True)
def many(n):
    out = np.zeros(n, np.int64)
    for i in prange(n):
        l = [i, *range(i % 3), *[i] * 2]
        a, *b = l
        out[i] = total(*l, 1) + a + len(b) + max(*b, 0)
    return out


def test_parallel_and_nothing_left():
    assert list(many(40)) == list(many.py_func(40))

    @njit
    def raises(n):
        return three(*[str(i) for i in range(n)], "x")

    before = treadle.stats()
    for _ in range(5):
        with pytest.raises(TypeError):
            raises(7)
    after = treadle.stats()
    live = [s["arrays_allocated"] - s["arrays_freed"] for s in (before, after)]
    assert live[0] == live[1]


def offsets(a):
    l = [0.5]
    l.append(1.5)
    b = a + (1, 2)
    b -= [1, 1]
    return b, [2, 2] * a, a * l - l, a == [1, 5], (1, 9) < a, a @ [1, 2] * 1.0, a ** [2, 1], a - [[1], [2]]


def test_sequences_beside_arrays():
    """They are arrays then, as to NumPy."""
    a = np.array([1.0, 5.0])
    for x, y in zip(njit(offsets)(a), offsets(a)):
        assert np.array_equal(x, y) and np.asarray(x).dtype == np.asarray(y).dtype
    with pytest.raises(ValueError, match="could not be broadcast"):
        njit(lambda a: a + [1, 2, 3])(a)


def makes(n):
    l = [10, 20, n]

    def f(i):
        return l[i]

    return f


def goes_over(n):
    return map(abs, [1, -2, n])


def nested(n):
    return iter([[1], [n]])


def test_displays_that_are_held_by_what_is_returned():
    assert njit(lambda n: (makes(n)(2), sum(goes_over(n))))(3) == (3, 6)
    assert njit(lambda n: [x * 2 for x in nested(n)])(3) == [[1, 1], [3, 3]]


def grows(k, *rest):
    return k if k < 2 else grows(k - 1, *rest, *rest, 1)


def test_arguments_that_grow_with_each_call():
    """Once each call had twice as many, until memory was gone."""
    with pytest.raises(treadle.TreadleError, match="a tuple of more than 1024 items"):
        njit(lambda n: grows(n))(3)


SETS = {
    "set().union(*l)": "l",
    "{9}.union([8], *l, l[0])": "l",
    "{1, 2, 3}.intersection(*l)": "l",
    "{1, 2, 3}.difference(*l)": "l",
    "frozenset([1, 7]).union(*l)": "l",
    "frozenset([1, 7]).intersection(*l)": "l",
    "frozenset([1, 7]).difference(*l, [7])": "l",
    "set().union(*(x for x in l))": "l",
    "{1}.union(*map(set, l))": "l",
}


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(sorted(SETS)), st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=4)
)
def test_sets_of_all(text: str, l: list[list[int]]) -> None:
    """What the method is of stays what it was, and the order is no matter."""
    space: dict[str, Any] = {}
    exec(f"def f(l):\n    return {text}\n", space)
    want, got = space["f"](l), njit(space["f"])(l)
    assert got == want and type(got) is type(want), text


@pytest.mark.parametrize("method", ["update", "intersection_update", "difference_update"])
@pytest.mark.parametrize("l", [[[1, 2], [3]], [[1]], [[2], [1, 2, 5]]])
def test_sets_that_become_others(method, l):
    space: dict[str, Any] = {}
    exec(f"def f(l):\n    s = {{1, 2}}\n    t = s\n    r = s.{method}(*l)\n    return t, r\n", space)
    assert njit(space["f"])(l) == space["f"](l)


def test_a_set_of_itself():
    def own(n):
        l = [{i, i + 1} for i in range(n)]
        l[0].update(*l)
        return l

    assert njit(own)(4) == own(4)


ROWS = {
    "list(range(*l))": [[3], [1, 5], [7, 1, -2], [], [1, 2, 3, 4], [0, 1, 0]],
    "list(range(1, *l))": [[], [4], [9, 3], [9, 3, 1]],
    "list(range(*l, 2))": [[], [-1], [-3, 5]],
    "list(range(*(x for x in l)))": [[3], [1, 5]],
    "'{} {}'.format(*l)": [[3, 4], [3, 4, 5], [3], []],
    "'{1} {0:>4}|{{}}'.format(*l)": [[3, 4], [3], []],
    "'{} {} {}'.format('a', *l)": [[3, 4], [3]],
    "'{:{}}'.format(*l)": [[3, 4], [3]],
}


@pytest.mark.parametrize("text", ROWS)
def test_functions_that_look_how_many_there_are(text):
    space: dict[str, Any] = {**globals()}
    exec(f"def f(l):\n    return {text}\n", space)
    g = njit(space["f"])
    for l in ROWS[text]:
        whole = np.array(l, np.int64)
        for a in (list(l), whole) if l else (whole,):
            want = run(space["f"], a)
            got = run(g, a)
            assert repr(got).replace("np.int64", "") == repr(want).replace("np.int64", ""), (text, l)


def test_items_of_range_are_whole_numbers():
    with pytest.raises(treadle.TreadleError, match="float"):
        njit(lambda l: [x for x in range(*l)])([1.5])


@settings(deadline=None, max_examples=15)
@given(st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=4))
def test_chain_of_all(l: list[list[int]]) -> None:
    def f(l):
        return [x for x in itertools.chain(*l)], sum(itertools.chain([1], *l, *l))

    assert njit(f)(l) == f(l)


@njit(parallel=True)
def all_ways(n):
    out = np.zeros(n, np.int64)
    for i in prange(n):
        l = [[i, k] for k in range(i % 4)]
        s = set().union(*l)
        m = [0, i % 5, 2]
        out[i] = len(s) + sum(s) + sum(range(*m)) + len("{1}-{0}".format(*m)) + sum(itertools.chain(*l))
    return out


def test_stars_in_parallel_leave_nothing():
    before = treadle.stats()
    for _ in range(3):
        assert list(all_ways(50)) == list(all_ways.py_func(50))
    after = treadle.stats()
    live = [s["arrays_allocated"] - s["arrays_freed"] for s in (before, after)]
    assert live[0] == live[1]


@pytest.mark.parametrize(
    "text",
    [
        "lambda: 1",
        "lambda a: a",
        "lambda a, b: a",
        "lambda a, b, c: a",
        "lambda a, b, *c: c",
    ],
)
def test_how_many_arguments_are_missing(text):
    space: dict[str, Any] = {}
    exec(f"def f(l):\n    g = {text}\n    return 0 if g(*l) is None else 1\n", space)
    g = njit(space["f"])
    for n in range(6):
        assert run(g, [1.5] * n if n else np.zeros(0)) == run(space["f"], [1.5] * n if n else np.zeros(0)), (
            text,
            n,
        )


def test_an_argument_that_comes_twice():
    def f(l):
        return three(*l, c=2)

    g = njit(f)
    for l in ([1], [1, 2], [1, 2, 3], [1, 2, 3, 4]):
        assert run(g, l) == run(f, l)
