"""Lists into which nothing comes: what goes through one has no items of any type, so what is done with an item need not fit. Displays of
which only the running program knows the part, and indices that are out of range for certain, beside them."""

from __future__ import annotations

import itertools
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import pytest
from treadle import njit

SPACE = {
    "Counter": Counter, "OrderedDict": OrderedDict, "defaultdict": defaultdict, "deque": deque, "chain": itertools.chain,
    "islice": itertools.islice, "accumulate": itertools.accumulate, "groupby": itertools.groupby, "product": itertools.product,
    "pairwise": itertools.pairwise, "zip_longest": itertools.zip_longest, "combinations": itertools.combinations, "takewhile": itertools.takewhile,
}  # fmt: skip
# v is an empty list of nothing.
MADE = [
    "sorted(v)", "v[:]", "v[::-1]", "v * 2", "v + v", "list(v)", "v.copy()", "list(reversed(v))", "[x for x in v]", "list(chain(v, v))",
    "list(islice(v, 2))", "sorted(v, key=len)", "list(set(v))", "sorted(set(v))", "list(dict(zip(v, v)))", "list(deque(v))",
    "list(frozenset(v) | set(v))", "list({**dict(zip(v, v))}.values())", "list(Counter(v))", "list(OrderedDict(zip(v, v)).values())",
    "list(defaultdict(list, dict(zip(v, v))).items())", "list(pairwise(v))", "list(combinations(v, 2))", "list(takewhile(len, v))",
    "[a for a, b in zip(v, v)]", "[a for i, a in enumerate(v)]", "[y for x in v for y in x]",
    "list(zip_longest(v, v))",
]  # fmt: skip
ASKED = [
    "[len(x) for x in v]", "[x.foo for x in v]", "list(map(len, v))", "[len(list(g)) for k, g in groupby(v)]", "list(accumulate(v))",
    "[a + b for a, b in product(v, v)]", "sum(len(x) for x in v)", "any(x.foo for x in v)", "max([len(x) for x in v], default=3.5)",
    "[v.pop().foo] if v else []", "[v[0].foo] if v else []", "{len(x): x.foo for x in v}", "{x.foo for x in v}", "v.index(3) + 1 if v else 4",
]  # fmt: skip


def both(text: str, *args: Any) -> tuple[str, str]:
    """What a function comes to, in Python and compiled."""
    space = dict(SPACE)
    exec(text, space)
    made = []
    for f in (space["f"], njit(space["f"])):
        try:
            made.append(repr(f(*args)))
        except (IndexError, ValueError, KeyError, RuntimeError) as e:
            made.append(repr(e))
    return made[0], made[1]


@pytest.mark.parametrize("made", MADE)
def test_what_is_made_is_of_nothing(made: str) -> None:
    """So it may become a list of anything."""
    want, got = both(f"def f():\n    v = []\n    w = {made}\n    w.append((1, 'a'))\n    return w\n")
    assert want == got


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_done_with_an_item_need_not_fit(asked: str) -> None:
    want, got = both(f"def f():\n    v = []\n    return {asked}\n")
    assert want == got


@pytest.mark.parametrize(
    "over",
    ["v", "enumerate(v)", "{}.copy().items()", "deque(v)", "set(v)", "dict(zip(v, v)).values()", "zip(v, v)"],
)
def test_loops(over: str) -> None:
    want, got = both(
        f"def f():\n    v, n = [], 0\n    for x in {over}:\n        a, *b = x\n        n += len(x) + a.foo\n    return n\n"
    )
    assert want == got


@pytest.mark.parametrize(
    "asked",
    [
        "[1, 2, 3][:z]", "sum([1, 2, 3][:z])", "','.join(['a', 'b', 'c'][:z])", "[x for x in [(1, 2), (3, 4)][z:]]",
        "[[1], [2, 3]][1][z:]", "[a * z for a, b in [(1, 2.5), (3, 4.5)][z:]]", "list(chain(([['a']] * 2), [['a', 'b']][::-1]))",
        "list(chain([{'a': 1.5}], [{'b': 0.5, 'c': 0.1}][::-1]))", "list(chain(([['x', 'y']] if z else [['z']]), [['w']]))",
    ],
)  # fmt: skip
def test_parts_of_displays(asked: str) -> None:
    for z in (0, 1, 5, -1):
        want, got = both(f"def f(z):\n    return {asked}\n", z)
        assert want == got


@pytest.mark.parametrize(
    "body",
    [
        "t = (1, 2)\n    return t[5]", "return [1, 2, 3][7]", "t = [1, 2, 3][1:]\n    return t[z] if z < 2 else t[4]", "a, *b = []\n    return a",
        "try:\n        a, b, c = [1, 2]\n    except ValueError:\n        return 7\n    return a", "a, b = [1, 2, 3]\n    return a",
        "try:\n        return (1, 'a')[-3]\n    except IndexError:\n        return z", "if z > 100:\n        return (1, 2)[2]\n    return z",
    ],
)  # fmt: skip
def test_what_is_certain_to_raise_raises_when_it_runs(body: str) -> None:
    for z in (0, 3):
        want, got = both(f"def f(z):\n    {body}\n", z)
        assert want == got


@pytest.mark.parametrize(
    "made", ["b", "a, len(b)", "[x for x in v if x is not None]", "str(v)", "3.0 in v", "v[2]"]
)
def test_displays_whose_items_may_be_none(made: str) -> None:
    """They are values only where something computes with them."""
    for z in (0, 1):
        want, got = both(
            f"def f(z):\n    v = [1.0, 2.0, (1.0 if z else None)]\n    a, *b = v\n    return {made}\n", z
        )
        assert want == got


@pytest.mark.parametrize(
    "key",
    ["(1 if z else None)", "(z, (z if z > 1 else None))", "((z if z > 1 else None), (z if z else None))"],
)
def test_key_errors_of_keys_that_may_be_none(key: str) -> None:
    for z in (0, 1, 2):
        want, got = both(f"def f(z):\n    k = {key}\n    d = {{k: 1}}\n    d.clear()\n    return d[k]\n", z)
        assert want == got


def test_lists_that_the_caller_puts_none_into() -> None:
    """A result is what the caller makes of it, in what may be None, too."""
    want, got = both(
        "def f(z):\n    v = {(-2 if z else None): list(deque([1.0], 4)) for x in range(2) if z < 9}\n    for m in v.values():\n        m.append(None)\n    return v\n", 1,
    )  # fmt: skip
    assert want == got


@pytest.mark.parametrize(
    "asked",
    [
        "sum([x for x in []])", "sum([k for k in range(3) if False])", "sum([k for k in ()], 1.5)", "max([x * 2 for x in []], default=3)",
        "min([x for x in ()], default=None)", "max([k for k in [] if k], default='a')", "max([[k] for k in ()], default=[1])",
        "max([x for x in ()], key=len, default=2)", "dict(zip([x for x in () if x], [1])) | {7: True}",
        "dict(zip([5 for x in range(3) if 'a' in 'b'], [True])) | {'a': False}", "list(zip([k for k in ()], range(3)))",
        "3 in [k for k in [] if k]", "[x.foo for x in [k for k in () if k]]", "any([x.foo for x in []])", "max([k for k in ()])",
    ],
)  # fmt: skip
def test_comprehensions_of_nothing(asked: str) -> None:
    """They are lists of nothing, though nobody but an array's reader asks for the list: no float comes of them."""
    want, got = both(f"def f():\n    return {asked}\n")
    assert want == got


@pytest.mark.parametrize("body", ["[]", "[x for x in l if x]", "[x for x in () if x]"])
def test_what_is_left_where_there_is_nothing(body: str) -> None:
    want, got = both(
        f"def f():\n    l = [0][:0]\n    return max({body}, default=[4]), list(zip_longest({body}, [1]))\n"
    )
    assert want == got
