"""Lists of anything but numbers as arguments: arrays, strings, tuples, lists, None, and these in one another."""

from __future__ import annotations

import copy
import gc
import re
import subprocess
import sys
import textwrap
import threading
from collections import namedtuple

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lists import functions
from treadle import njit, prange

Waypoint = namedtuple("Waypoint", "x y")


def outcome(fn, *args):
    try:
        return repr(fn(*args))
    except Exception as e:  # of any class: both sides have to raise the same
        return type(e), e.args


# --- programs drawn at random ---

STATEMENTS = [
    "l.append([n])",
    "l.append(l[i])",
    "l[i].append(n)",
    "l[i] = l[j]",
    "l[i] = [n, i]",
    "l[i][j] = n",
    "r += l.pop(i)[0]",
    "del l[i]",
    "l.reverse()",
    "l[i], l[j] = l[j], l[i]",
    "l.insert(i, m)",
    "m.append(n)",
    "m = l[j]",
    "l.clear()",
    "l[i].clear()",
    "k = [l[i], m]\n    k[1].append(7)\n    k.append(m)",
    "l.extend(l[i:])",
    "for x in l:\n        r += len(x)",
    "if m in l:\n        r += 1",
]
rows = st.lists(st.lists(st.integers(-3, 3).map(lambda x: x * 1000), max_size=3), max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=5),
    rows,
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(0, 3),
)
def test_lists_of_lists_are_changed_as_by_cpython(statements, l, i, j, alias):
    body = "\n    ".join(["r = 0", "if n < 0:\n        l.append(m)", *statements, "return l, m, r"])
    source = f"@decorate\ndef f(l, m, i, j, n):\n    {body}\n"
    ours, plain = functions(source)["f"], functions(source, compiled=False)["f"]
    m = [5000]
    if alias and len(l) > 1:
        l[0] = l[-1] if alias == 1 else m
    mine = copy.deepcopy((l, m))  # in which one list in two places is one, too
    theirs = copy.deepcopy((l, m))
    were = list(mine[0])
    ids = [next((k for k, x in enumerate(theirs[0]) if x is y), -1) for y in theirs[0]]
    first = list(theirs[0])
    assert outcome(ours, *mine, i, j, 9000) == outcome(plain, *theirs, i, j, 9000)
    assert repr(mine) == repr(theirs)
    for x, y in zip(mine[0], theirs[0]):  # the rows that were there are the same objects, in the same places
        k = next((k for k, z in enumerate(first) if z is y), None)
        assert k is None or x is were[k], (k, ids)
        assert (x is mine[1]) == (y is theirs[1])


item = st.one_of(
    st.tuples(st.integers(0, 9), st.text(max_size=3)),
    st.tuples(st.floats(allow_nan=False), st.just("é")),
)
WHICH = "@decorate\ndef f(l, i):\n    l.append(l[i])\n    l[i], l[0] = l[0], l[i]\n    l.sort()\n    return l.pop(i)\n"


@settings(max_examples=40, deadline=None)
@given(st.lists(item, min_size=1, max_size=5), st.integers(0, 5))
def test_tuples_with_strings(l, i):
    ours, plain = functions(WHICH)["f"], functions(WHICH, compiled=False)["f"]
    mine, theirs = list(l), list(l)
    a, b = outcome(ours, mine, i), outcome(plain, theirs, i)
    assert (isinstance(a, str) and isinstance(b, str)) or a == b
    assert mine == theirs


# --- each rule on its own ---


@njit
def flat(l):
    s = 0
    for row in l:
        for x in row:
            s += x
    return s


def test_types():
    c, f, ro = np.ones((2, 3)), np.asfortranarray(np.ones((2, 3))), np.ones((2, 3))
    ro.flags.writeable = False
    cases = [
        ([[1, 2], [3]], "list(list(int64))"),
        ([[1, 2.5], [], [3]], "list(list(float64))"),
        ([[], []], "list(list())"),
        ([[True], [2]], "list(list(int64))"),
        ([c[0], c[1]], "list(array(float64, 1d, C))"),
        ([c, f], "list(array(float64, 2d, A))"),
        (["a", "é"], "list(str)"),
        ([("a", 1), ("b", 2.5)], "list((str, float64))"),
        ([([1], "a"), ([], "b")], "list((list(int64), str))"),
        ([1, None], "list(optional(int64))"),
        ([None, 2.5, 1], "list(optional(float64))"),
        ([[[1]], [], [[]]], "list(list(list(int64)))"),
        ([Waypoint(1, 2), Waypoint(1.5, 2)], "list(Waypoint(float64, int64))"),
    ]
    for l, text in cases:
        assert repr(treadle.typeof(l)) == text, l
    assert "readonly" in repr(treadle.typeof([c, ro]))
    assert flat([c[0], c[:, 1]]) == 5.0 and flat([[1], [], [2, 3]]) == 6 and flat([(1, 2), (3, 4)]) == 10
    assert {repr(t[0]) for t in flat.signatures} >= {"list(list(int64))", "list((int64, int64))"}


deep: list = [1]
for _ in range(9):
    deep = [deep]
within: list = []
within.append(within)


@pytest.mark.parametrize(
    "value, error, text",
    [
        (
            [[1], ["a"]],
            TypeError,
            "f(): argument 'l[1]' is a value of type list, which has no type in common",
        ),
        (
            [[1], [2, "a"]],
            TypeError,
            "argument 'l[1][1]' is a value of type str, which has no type in common",
        ),
        ([1, "a"], TypeError, "argument 'l[1]' is a value of type str, which has no type in common"),
        ([np.ones(1), np.ones((1, 1))], TypeError, "argument 'l[1]' is a value of type numpy.ndarray"),
        ([np.ones(1), np.ones(1, int)], TypeError, "argument 'l[1]' is a value of type numpy.ndarray"),
        ([len], TypeError, "argument 'l[0]' is a value of type builtin_function_or_method"),
        ([[1], {1: 2}], TypeError, "argument 'l[1]' is a value of type dict, which has no type in common"),
        (
            [([1], object())],
            TypeError,
            "argument 'l[0][1]' is a value of type object, which cannot be passed",
        ),
        ([[1], [2, 2**70]], OverflowError, "argument 'l[1][1]': Python int 1180591620717411303424 does not"),
        ([(1, "a"), (2**70, "b")], OverflowError, "argument 'l[1]': Python int 1180591620717411303424"),
        (deep, TypeError, "is a list that lies in more than 7 others"),
        (within, TypeError, "is a list that lies in more than 7 others"),
        ([treadle.typed.List([1])], TypeError, "argument 'l[0]' is a value of type treadle.typed.List"),
    ],
)
def test_what_cannot_be_passed_is_named(value, error, text):
    @njit
    def f(l):
        return len(l)

    for _ in range(2):
        with pytest.raises(error) as e:
            f(value)
        assert text in str(e.value)


def test_items_that_stay_are_the_same_objects():
    @njit
    def turn(l):
        l.reverse()
        l.append(l[0])
        return l[0]

    for items in (
        [np.ones(3), np.zeros(2)],
        ["abc" * 3, "é" * 2],
        [[1000], [2000]],
        [(1000, "abc"), (2, "d" * 5)],
        [([10**6], 1000), ([], 7)],
        [None, np.ones(2)],
        [Waypoint(1, "a" * 4), Waypoint(2, "b")],
    ):
        l = list(items)
        r = turn(l)
        assert [x is y for x, y in zip(l, [items[1], items[0], items[1]])] == [True] * 3 or isinstance(
            items[0], tuple
        )
        assert repr(l) == repr([items[1], items[0], items[1]]) and repr(r) == repr(items[1])


def test_a_list_in_two_places_is_one():
    @njit
    def f(l, m, t):
        l[0].append(1)
        m.append(2)
        t[0][0].append(3)
        return len(m), l[1], t[0][0]

    x: list = [0]
    l = [x, x]
    same, a, b = f(l, x, (l, 1))
    assert same == 4 and a is x and b is x and x == [0, 1, 2, 3] and l[0] is x and l[1] is x


def test_one_list_of_two_types_is_refused():
    @njit
    def f(l, m):
        m.append(1.5)
        return len(l)

    assert f([[1]], [2]) == 1
    x = [1]
    with pytest.raises(TypeError, match="passed twice"):
        f([x], x)
    assert x == [1]


def test_what_is_new_comes_to_python_once():
    @njit
    def f(l, n):
        row = [np.full(3, 1.5)]
        l.append(row)
        l[0] = row
        if n > 5:
            l.append([l[2][0]])
            return [l[0]][n]
        return row

    l = [[np.zeros(1)], [np.ones(1)]]
    r = f(l, 1)
    assert r is l[0] and r is l[2] and np.array_equal(r[0], [1.5] * 3)
    r[0][:] = 2
    with pytest.raises(IndexError):
        f(l, 9)
    assert l[0] is l[3] and len(l) == 5 and np.array_equal(l[4][0], [2.0] * 3)


def test_what_a_function_changes_comes_back_when_it_raises():
    @njit
    def f(l, names, k):
        l.append([k])
        l[0].append(k)
        names.append(names[0] + "!")
        return l[k]

    l, names = [[1], [2]], ["a"]
    with pytest.raises(IndexError):
        f(l, names, 9)
    assert l == [[1, 9], [2], [9]] and names == ["a", "a!"]


def test_wider_items_than_were_passed():
    @njit
    def f(l, x):
        l[0].append(x)

    one = 10**6
    l = [[one], []]
    f(l, 2.5)
    assert l == [[one, 2.5], []] and l[0][0] is one

    @njit
    def g(l):
        l.append(None)

    m = [one]
    g(m)
    assert m == [one, None] and m[0] is one
    empty: list = []
    njit(lambda l: l.append(np.ones(2)))(empty)
    assert np.array_equal(empty[0], [1, 1])


def test_other_ways_in():
    @njit(boundscheck=False, inline="never")
    def total(l):
        s = 0.0
        for a in l:
            s += a[0]
        return s

    @njit(parallel=True)
    def par(l):
        s = 0.0
        for i in prange(len(l)):
            s += l[i][0]
        return s + total(l)

    @njit(nogil=True)
    def free(l):
        l[0], l[1] = l[1], l[0]

    l = [np.full(2, float(i)) for i in range(100)]
    assert par(l) == 2 * sum(range(100))
    a, b = l[:2]
    free(l)
    assert l[0] is b and l[1] is a

    @njit("float64(List(float64[::1]))")
    def declared(l):
        return l[0][0]

    assert declared([np.ones(2)]) == 1.0


def test_a_typed_list_stays_what_it_is():
    arrays, lists = njit(lambda l: l.append(np.ones(2))), njit(lambda l: l.append([1]))
    for f, other, item in ((arrays, lists, [1.0, 1.0]), (lists, arrays, [1])):
        l = treadle.typed.List()
        f(l)
        for _ in range(2):
            with pytest.raises(TypeError):
                other(l)
        assert len(l) == 1 and list(l[0]) == item


def test_many_rows():
    @njit
    def f(l):
        for row in l:
            row.append(len(row))
        l.append(l[0])

    l: list = [[i] for i in range(3000)]
    were = list(l)
    f(l)
    assert all(x is y for x, y in zip(l, were)) and l[-1] is l[0] and l[2999] == [2999, 1]


def test_nothing_is_kept():
    @njit
    def f(l, names, n):
        l.append(l[0])
        l[0] = np.ones(3)
        names.append(names[0] + names[1])
        return l[n], names[n]

    def once(n):
        a, s = np.zeros(2), "".join(["x", "y"])
        l, names = [a, a], [s, "b"]
        try:
            f(l, names, n)
        except IndexError:
            pass
        del l, names
        return sys.getrefcount(a), sys.getrefcount(s)

    once(0)
    was = treadle.stats()
    assert {once(n) for n in (0, 1, 9) for _ in range(50)} == {(2, 2)}
    gc.collect()
    now = treadle.stats()
    assert now["arrays_allocated"] - was["arrays_allocated"] == now["arrays_freed"] - was["arrays_freed"]
    assert now["arrays_freed"] > was["arrays_freed"]


def test_items_go_while_the_call_runs():
    @njit(nogil=True)
    def f(l, n):
        s = 0.0
        for k in range(n):
            s += l[k % 3][0]
        return s

    l = [np.ones(1000) for _ in range(3)]
    out = []
    t = threading.Thread(target=lambda: out.append(f(l, 30_000_000)))
    f(l, 1)
    t.start()
    while t.is_alive():
        l[:] = [np.zeros(1000) for _ in range(3)]
    t.join()
    assert out[0] in (30_000_000.0, 0.0)


def test_from_the_cache(tmp_path):
    (tmp_path / "m.py").write_text(
        textwrap.dedent(
            """
            import numpy as np
            from treadle import njit
            @njit(cache=True)
            def f(l, names):
                l[0].append(len(names[0]))
                return names[0] + names[1]
            l = [[1], []]
            print(f(l, ["ab", "é"]), l, f.stats.cache_hits if hasattr(f, "stats") else "")
            """
        )
    )
    said = [
        subprocess.run(
            [sys.executable, "m.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert all(s.startswith("abé [[1, 2], []]") for s in said)


# --- dicts and sets ---

DICT_STATEMENTS = [
    "d[n] = i",
    "d[i] = j",
    "d[i] += 1",
    "del d[j]",
    "r += d.pop(i)",
    "d.setdefault(j, n)",
    "s.add(n)",
    "s.discard(i)",
    "s.remove(j)",
    "s.clear()",
    "d.clear()",
    "for k in d:\n        r += k",
    "if i in s:\n        d[j] = 5",
    "d.update({7: n})",
    "r += d.popitem()[1]",
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(DICT_STATEMENTS), min_size=1, max_size=5),
    st.dictionaries(st.integers(0, 3), st.integers(0, 9).map(lambda x: x * 1000), max_size=4),
    st.sets(st.integers(0, 3)),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_dicts_and_sets_are_changed_as_by_cpython(statements, d, s, i, j):
    body = "\n    ".join(["r = 0", "if n < 0:\n        d[n] = n\n        s.add(n)", *statements, "return r"])
    source = f"@decorate\ndef f(d, s, i, j, n):\n    {body}\n"
    ours, plain = functions(source)["f"], functions(source, compiled=False)["f"]
    mine, theirs = (dict(d), set(s)), (dict(d), set(s))
    assert outcome(ours, *mine, i, j, 9000) == outcome(plain, *theirs, i, j, 9000)
    assert repr(mine[0]) == repr(theirs[0]) and mine[1] == theirs[1]
    assert all(mine[0][k] is x for k, x in theirs[0].items() if d.get(k) is x)


def test_types_of_dicts_and_sets():
    cases = [
        ({1: 2.5}, "dict(int64, float64)"),
        ({1: 2, 2.5: 3}, "dict(float64, int64)"),
        ({(1, 2): "a"}, "dict((int64, int64), str)"),
        ({1: [1], 2: [2.5], 3: []}, "dict(int64, list(float64))"),
        ({1: {2: 3}}, "dict(int64, dict(int64, int64))"),
        ({1: np.ones(2)}, "dict(int64, array(float64, 1d, C))"),
        ({1, 2.5}, "set(float64)"),
        ([{1: 2}, {}, {3: 2.5}], "list(dict(int64, float64))"),
        ([{1}, set(), {2.5}], "list(set(float64))"),
        (({1: 2}, {3}), "(dict(int64, int64), set(int64))"),
    ]
    for x, text in cases:
        assert re.sub(r"#\d+", "", repr(treadle.typeof(x))) == text, x


@pytest.mark.parametrize(
    "value, error, text",
    [
        ({"a": 1, 2: 3}, TypeError, "f(): argument 'd' is a dict, and its keys are to be numbers"),
        ({1: 2, 3: "a"}, TypeError, "argument 'd' is a dict, and its keys"),
        (
            [{1: 2}, {"a": 1}],
            TypeError,
            "argument 'd[1]' is a value of type dict, which has no type in common",
        ),
        ({"a", 1}, TypeError, "argument 'd' is a set, and its items are to be numbers"),
        ({2**70: 1}, OverflowError, "argument 'd': Python int 1180591620717411303424 does not fit"),
        ([{1: 2}, {3: 2**70}], OverflowError, "argument 'd[1]': Python int 1180591620717411303424"),
    ],
)
def test_which_dicts_and_sets_cannot_be_passed(value, error, text):
    @njit
    def f(d):
        return len(d)

    for _ in range(2):
        with pytest.raises(error) as e:
            f(value)
        assert text in str(e.value)


def test_dicts_in_lists_and_lists_in_dicts():
    @njit
    def f(l, d):
        l[0][1] += 1
        l.append({5: 6})
        d[0].append(5)
        d[1] = d[0]
        return d[1], l[-1]

    l, d = [{1: 1}, {2: 2}], {0: [10**6]}
    first, row, number = l[0], d[0], d[0][0]
    a, b = f(l, d)
    assert l == [{1: 2}, {2: 2}, {5: 6}] and d == {0: [10**6, 5], 1: [10**6, 5]}
    assert l[0] is first and d[0] is row and d[1] is row and a is row and b is l[2] and row[0] is number


def test_a_dict_comes_back_when_the_call_raises():
    @njit
    def f(d, k):
        d[7] = np.ones(2)
        d[8] = d[7]
        return d[k][0]

    was, counts = None, np.zeros(2)
    for _ in range(3):
        d = {1: counts}
        with pytest.raises(KeyError):
            f(d, 9)
        assert list(d) == [1, 7, 8] and d[1] is counts and np.array_equal(d[8], [1, 1])
        del d
        gc.collect()
        stats = treadle.stats()
        live = stats["arrays_allocated"] - stats["arrays_freed"], sys.getrefcount(counts)
        assert was in (None, live)
        was = live


def test_a_dict_that_is_read_stays_as_it_is():
    @njit
    def f(d):
        s = 0.0
        for k, v in d.items():
            s += k * v
        return s

    d = {k: k / 2 for k in range(1000)}
    values = list(d.values())
    assert f(d) == sum(k * v for k, v in d.items())
    assert all(x is y for x, y in zip(d.values(), values))
    empty: dict = {}
    assert f(empty) == 0 and not empty


def test_from_a_caller_and_without_memory():
    @njit
    def f(l, d, n):
        l.append([n])
        d[2] = l[0]
        m = [0] * n
        return len(m)

    @njit(boundscheck=False)
    def g(t, n):
        f(t[0], t[1], n)
        t[0].append(t[0][0])
        return t[1]

    l, d = [[1]], {1: [7]}
    first = l[0]
    assert g((l, d), 2) is d
    assert l == [[1], [2], [1]] and l[2] is first and d[2] is first
    with pytest.raises(MemoryError):
        g((l, d), 10**14)
    assert l[3] == [10**14] and len(l) == 4


def test_dicts_and_sets_of_strings():
    @njit
    def count(d, words):
        for w in words:
            d[w] = d.get(w, 0) + 1
        return d["a"], "é😀" in d, len(d)

    @njit
    def put(s, x):
        s.add(x)
        s.discard("a")
        return x in s

    for words in (["a", "b", "a"], ["é😀", "a"]):
        ours, theirs = {"a": 1, "é": 2}, {"a": 1, "é": 2}
        assert count(ours, words) == count.py_func(theirs, words)
        assert list(ours.items()) == list(theirs.items())
    s = {"a", "q"}
    assert put(s, "zz")
    assert s == {"q", "zz"}
    e = {}
    assert njit(lambda d, k: d.setdefault(k, k))(e, "s") == "s"
    assert e == {"s": "s"}
