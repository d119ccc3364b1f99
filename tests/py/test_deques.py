"""Deques against CPython: as arguments that are changed in place, as results, their methods and operators, and loops over what changes."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from treadle import TypingError, njit

ITEMS = {
    "int": st.integers(-5, 5),
    "float": st.sampled_from([0.5, -1.5, 2.0, 0.0]),
    "str": st.sampled_from(["", "a", "é", "ab"]),
    "tuple": st.tuples(st.integers(0, 3), st.sampled_from(["x", "y"])),
    "list": st.lists(st.integers(0, 3), max_size=3),
}
STEPS = {
    "append": "q.append(v)",
    "appendleft": "q.appendleft(v)",
    "pop": "q.pop()",
    "popleft": "q.popleft()",
    "extend": "q.extend([v, v])",
    "extendleft": "q.extendleft([v, v])",
    "itself": "q.extend(q)",
    "rotate": "q.rotate(i)",
    "insert": "q.insert(i, v)",
    "remove": "q.remove(v)",
    "reverse": "q.reverse()",
    "clear": "q.clear()",
    "del": "del q[i]",
    "set": "q[i] = v",
    "iadd": "q += [v]",
    "imul": "q *= i % 3",
    "new": "q = q + q",
    "times": "q = 2 * q",
    "copy": "q = q.copy()",
    "bounded": "q = deque(q, 3)",
}
ASKS = {
    "index": "q.index(v)",
    "index from": "q.index(v, i, 9)",
    "count": "q.count(v)",
    "get": "q[i]",
    "in": "v in q",
    "list": "list(q)",
    "reversed": "list(reversed(q))",
    "len": "(len(q), q.maxlen, bool(q))",
    "order": "(q == q.copy(), q != deque([v]))",
    "star": "star(q)",
    "rotates": "[q.rotate(1) for x in q]",
}


def star(q: Any) -> Any:
    """Return the first and the others."""
    a, *b = q
    return a, b


@njit
def star_compiled(q):
    a, *b = q
    return a, b


def program(steps: tuple[str, ...], ask: str) -> Any:
    """A function of a deque, a value and a place, in Python and compiled."""
    body = "".join(f"    {STEPS[s]}\n" for s in steps)
    text = f"def f(q, v, i):\n    was = q\n{body}    return q, was, {ASKS[ask]}\n"
    made = []
    for compiled in (False, True):
        space: dict[str, Any] = {"deque": deque, "star": star_compiled if compiled else star}
        exec(text, space)
        made.append(njit(space["f"]) if compiled else space["f"])
    return made


PROGRAMS: dict[Any, Any] = {}


def outcome(f: Any, q: Any, v: Any, i: int) -> Any:
    """What a call comes to, and what the deque is then."""
    try:
        made = f(q, v, i)
        return repr(made), repr(q), made[1] is q
    except Exception as e:
        return repr(e), repr(q), None


# So many programs that each is called with several arguments: compiling is what takes long.
CHAINS = [
    ("append",), ("pop", "appendleft"), ("popleft", "rotate"), ("extend", "del"), ("extendleft", "set"), ("itself", "remove"),
    ("insert", "reverse"), ("clear", "append"), ("iadd", "imul"), ("new", "insert"), ("times", "popleft"), ("copy", "append"),
    ("bounded", "append"), ("bounded", "insert"),
]  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_as_cpython(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(ITEMS)))
    steps = data.draw(st.sampled_from(CHAINS))
    ask = data.draw(st.sampled_from(sorted(ASKS)))
    if (kind, steps, ask) not in PROGRAMS:
        PROGRAMS[kind, steps, ask] = program(steps, ask)
    f, compiled = PROGRAMS[kind, steps, ask]
    for _ in range(4):
        items = data.draw(st.lists(ITEMS[kind], min_size=1, max_size=5))
        q = deque(items, data.draw(st.sampled_from([None, None, 3, 5])))
        v, i = data.draw(ITEMS[kind]), data.draw(st.integers(-6, 6))
        want = outcome(f, copy.deepcopy(q), copy.deepcopy(v), i)
        got = outcome(compiled, copy.deepcopy(q), copy.deepcopy(v), i)
        assert want == got, (steps, ask, q, v, i)


def same(f: Any, *args: Any) -> None:
    """The result, and the arguments after it, are CPython's."""
    a, b = copy.deepcopy(args), copy.deepcopy(args)
    assert repr((f(*a), a)) == repr((njit(f)(*b), b))


def test_breadth_first() -> None:
    def walk(queue, edges, far):
        while queue:
            at = queue.popleft()
            for k in edges[at]:
                if k not in far:
                    far[k] = far[at] + 1
                    queue.append(k)
        queue.append(-1)
        return far

    same(walk, deque([0]), [[1, 2], [3], [3], [0, 4], []], {0: 0})


def test_one_object_is_one() -> None:
    def two(a, b):
        a.append(1)
        return len(b), a, [b]

    q = deque([5])
    n, a, b = njit(two)(q, q)
    assert n == 2 and a is q and b[0] is q and q == deque([5, 1])


def test_items_that_move_are_the_objects_that_they_were() -> None:
    q = deque([[1], [2], [3]])
    was = list(q)
    njit(lambda q: q.rotate(1))(q)
    assert [x is y for x, y in zip(q, [was[2], was[0], was[1]], strict=True)] == [True] * 3
    a = deque([np.zeros(2), np.ones(2)])
    first = a[0]
    njit(lambda q: q.rotate(1))(a)
    assert a[1] is first


def test_what_is_only_read_is_left_alone() -> None:
    q = deque([1, 2.5])
    assert njit(lambda q: q[0] + q[1])(q) == 3.5 and repr(q) == "deque([1, 2.5])"


def test_of_nothing() -> None:
    def add(q, x):
        q.append(x)
        return len(q)

    for most in (None, 0, 1):
        same(add, deque(maxlen=most), 2)
    same(add, deque(), "a")


@pytest.mark.parametrize(
    "within", [[deque([1], 2)], {"a": deque([1])}, deque([deque([1])]), (deque([1]), deque([2]))]
)
def test_within_others(within: Any) -> None:
    def change(x, k):
        x[k].append(7)
        return len(x[k]), x

    same(change, within, "a" if isinstance(within, dict) else 0)


def test_an_exception_midway() -> None:
    def f(q):
        q.append(3)
        raise ValueError(len(q))

    q = deque([1])
    with pytest.raises(ValueError, match="2"):
        njit(f)(q)
    assert q == deque([1, 3])


@pytest.mark.parametrize(
    "body",
    [
        "q.append(x)",
        "q.pop(); q.append(x)",  # as long as before
        "q.rotate(0)",
        "q.rotate(1)",
        "q[0] = x",
        "q.reverse()",
        "q.clear()",
        "q.extend([])",
        "q.remove(x)",
    ],
)
def test_loops_over_what_changes(body: str) -> None:
    space: dict[str, Any] = {}
    exec(
        f"def f(q):\n    n = 0\n    for x in q:\n        n += 1\n        if n == 2:\n            {body}\n    return n\n",
        space,
    )
    for q in (deque([1, 2, 3]), deque([1, 2]), deque([4, 5, 6], 3)):
        want, got = [
            outcome(lambda q, v, i, f=f: (f(q), q), copy.copy(q), 0, 0)[:2]
            for f in (space["f"], njit(space["f"]))
        ]
        assert want == got, (body, q)


class Other(deque):
    """A class of its own."""


@pytest.mark.parametrize("bad", [deque([1, "a"]), deque([object()]), Other([1])])
def test_what_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match="argument 'q'"):
        njit(lambda q: len(q))(bad)


def test_slices() -> None:
    with pytest.raises(TypingError, match="sequence index must be integer, not 'slice'"):
        njit(lambda q: q[1:2])(deque([1, 2]))
