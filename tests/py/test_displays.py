"""Displays of lists and dicts within each other, handed on, aliased, changed by whoever has them; comprehensions that give nothing; slices of lists of nothing.

Which displays are lists or dicts is found from how they are used (infer/cells.c): each program here once was refused or gave something else than CPython does.
"""

from __future__ import annotations

import functools
import heapq
import operator
from collections import namedtuple

import numpy as np
import pytest
import treadle
from treadle import njit, prange

# ruff: noqa: B023, C416, C419, F841, E731, PERF, RUF, SIM, UP

CASES = []


def case(f):
    CASES.append(f)
    return f


def appends_to_first(d):
    d["a"].append(1)


def appends_within(t):
    t[0].append(5)


def names():
    return {"a": 1, "b": 2.5}


g7n, cgn, mkn = njit(appends_to_first), njit(appends_within), njit(names)


@case
def case_1():
    return [{"ab": True, "": False}] * 2


@case
def case_2():
    l = [1.5]
    l2 = [{-1.5: -0.0}] * 0
    return l2[:5]


@case
def case_3():
    return dict(zip([6], [[0 for z in range(0)], [9, 0, -3, 3], [6, 9]]))


@case
def case_4():
    v = "b".find("ab") == ([1].pop() if len("a") else 1)
    return v


@case
def case_5():
    a = [{"x": "y"}]
    a.insert(5, a.pop(0) if a else {"ab": "12", "x y": "é"})
    return a


@case
def case_6():
    return [[True, True] for x in range(3) if x > 2]


@case
def case_7():
    a0 = {1: {"q": 2}}
    x = a0.pop(5, {"aé": 3, "-3": 0})
    return (x, a0)


@case
def case_8():
    return dict(zip([4, 5, 6], [{(-3, 8), (5, 1)}, {(5, 1)}]))


@case
def case_9():
    v = {1.0: [True][:], 2.0: [False, False, False][1:], 3.0: [True, False] + [False for z in range(0)]}
    return v


@case
def case_10():
    return dict(zip(["é", "a"], [{(2, 5): 3, (-2, 1): 4}, {(-2, 0): 9 for z in range(0)}])).copy()


@case
def case_11():
    p = {"12": ["", "a"], "é": [""]}
    return (p.get("q", ["z"]), p["é"])


@case
def case_12():
    a2 = [{"b": 1.0}]
    a2 = [a2[x % len(a2)] if a2 else {"ba": 10000000000.0, "a": -0.0} for x, y in enumerate(a2)]
    return a2


@case
def case_13():
    v19 = [[True]]
    if v19:
        v19[-1] = [False for z in range(0)] if "Ab " != "q" else [False for z in range(0)]
    return v19


@case
def case_14():
    return [[x, x] for x in range(3) if x > 1]


@case
def case_15():
    return [(x, x) for x in range(3) if x > 2]


@case
def case_16():
    return [[True, True] for x in range(3) if x > 1]


@case
def case_17():
    return "b".find("ab") == 1


@case
def case_18():
    l = [1]
    return "b".find("ab") == l.pop()


@case
def case_19():
    l = [1]
    return "b".find("ab") == (l.pop() if l else 1)


@case
def case_20():
    return "b".find("ab")


@case
def case_21():
    return [{x: x} for x in range(3)]


@case
def case_22():
    return [{"a": x} for x in range(3)]


@case
def case_23():
    return {1: [1, 2], 2: [3, 4]}


@case
def case_24():
    d = {1: [1, 2], 2: [3]}
    d[1].append(5)
    return d


@case
def case_25():
    d = {"a": [1, 2], "b": [3]}
    d["a"].append(5)
    return d


@case
def case_26():
    d = {"a": {"b": 1}, "c": {"d": 2}}
    d["a"]["q"] = 5
    return d


@case
def case_27():
    l = [{1, 2}, {3}]
    s = 0
    for x in l:
        s += len(x)
    return (s, dict(zip([1, 2], l)))


@case
def case_28():
    d = {"a": 1}
    l = [d, d]
    l[0]["a"] = 3
    return (l, d)


@case
def case_29():
    d = {"a": 1}
    t = (d, 3)
    t[0]["b"] = 3
    return (t, d)


@case
def case_30():
    s = 0
    for x in [{1, 2}, {3}]:
        s += len(x)
    return s


@case
def case_31():
    return list(zip([1, 2], [{1, 2}, {3}]))


@case
def case_32():
    return dict(zip([1, 2], [3, 4]))


@case
def case_33():
    d = {}
    for k, v in zip([1, 2], [{1, 2}, {3}]):
        d[k] = v
    return d


@case
def case_34():
    return dict([(1, {1, 2}), (2, {3})])


@case
def case_35():
    l = [({1, 2}, 1), ({3}, 5)]
    l.append(({4}, 4))
    return l


@case
def case_36():
    x = [1]
    d = {1: x}
    d[1].append(2)
    return (x, d)


@case
def case_37():
    x = [1, 2]
    l = [x for _ in range(3)]
    l[0].append(3)
    return (l, x)


@case
def case_38():
    d = {"a": 1}
    l = [d for _ in range(3)]
    l[0]["q"] = 3
    return (l, d)


@case
def case_39():
    s = 0
    for a, b in [[1, 2], [3, 4]]:
        s += a * b
    return s


@case
def case_40():
    d = {"a": 1, "b": 2.5, "c": "x"}
    return d


@case
def case_41():
    d = {"a": [1, 2], "b": 2.5}
    return d["a"][0] + d["b"]


@case
def case_42():
    x = [1, 2]
    t = (x, {"k": x})
    t[1]["k"].append(4)
    return x


@case
def case_43():
    x = [1, 2]
    for k, v in {"k": x}.items():
        v.append(4)
    return x


@case
def case_44():
    x = [1, 2]
    for v in {"k": x, "j": x}.values():
        v.append(4)
    {"k": x}.get("k").append(9)
    return x


@case
def case_45():
    x = [1]
    g7n({"a": x})
    return x


@case
def case_46():
    l = []
    for i in range(3):
        l.append({"a": i, "b": i * 2})
    return (l, sum([d["a"] for d in l]))


@case
def case_47():
    x = [1]
    x.append(2)
    return list(zip([1, 2], [x, x]))


@case
def case_48():
    x = [1]
    x.append(2)
    y = [1]
    y.append(2)
    return list(zip([1, 2], [x, y]))


@case
def case_49():
    r = []
    for a, b in zip([1, 2], [{1}, {2}]):
        r.append((a, b))
    return r


@case
def case_50():
    r = []
    for b in [{1}, {2}]:
        r.append(b)
    return r


@case
def case_51():
    r = [b for b in [{1}, {2}]]
    return r


@case
def case_52():
    r = [b for a, b in zip([1, 2], [{1}, {2}])]
    return r


@case
def case_53():
    l = [{1}, {2}]
    i = 0
    while i < 2:
        s = l[i]
        i += 1
    return s


@case
def case_54():
    x = [1]
    for i, l in enumerate([x, [2]]):
        l.append(3)
    return x


@case
def case_55():
    x = [1]
    for a, (i, l) in zip([5, 6], enumerate([x, [2]])):
        l.append(a)
    return x


@case
def case_56():
    x = [1]
    cgn((x, 4))
    return x


@case
def case_57():
    x = [1]
    t = (x, 2)

    def inner():
        t[0].append(9)

    inner()
    return x


@case
def case_58():
    x = [1]
    for l in reversed([x, [2]]):
        l.append(3)
    return x


@case
def case_59():
    x = {"a": 1}
    for l in [x, {"b": 2}]:
        l["q"] = 3
    return x


@case
def case_60():
    x = {"a": 1}
    for i, l in enumerate([x, {"b": 2}]):
        l["q"] = i
    return x


@case
def case_61():
    d = mkn()
    return (d["a"] + d["b"], d)


@case
def case_62():
    return ({"r": {"s": 1, "t": "x"}, "q": [1, 2]}, 7)


@case
def case_63():
    a, b = ([1, 2], {"k": 2})
    c = a if len(b) else [3]
    c.append(5)
    return a


@case
def case_64():
    l = []
    x = [1]
    l.append((x, 1))
    l[0][0].append(7)
    return (x, l)


@case
def case_65():
    l = list(zip([[1], [2]], [3, 4]))
    l[0][0].append(9)
    return l


@case
def case_66():
    s = sorted([[3], [1, 2]])
    s[0].append(4)
    return s


@case
def case_67():
    return {1: [2 for x in range(3) if False and False] for y in range(3)}


@case
def case_68():
    return [2 for x in range(3) if False]


@case
def case_69():
    a0 = {(-1, 7), (0, 1)}
    a2 = {x[0] for x in sorted(a0) if False or False}
    a2.add(6 * 0)
    return a2


@case
def case_70():
    v14 = {x / -7: (4,) for x in range(3) if "q" in "aé"}
    return v14


@case
def case_71():
    a0 = {(5, 0): 3}

    def g12(t):
        return list(a0.values())

    v = g12(3)
    if len(v) > 3:
        a0.pop((5, 0))
    if "a".islower():
        v24 = [][1:]
        for x in a0.values():
            a0 = {**{}, (5, 3): x}
    return a0


@case
def case_72():
    a = [1, 2]
    a0 = "a" in "abc"
    v29 = "aé".split("a") if a0 else ["ab"][:]
    w = ["q"] if a0 else "x y".split()
    return (v29, w)


@case
def case_73():
    a0 = {"a": 1}
    a0["q"] = 5
    return (a0 != {"x": 1}, a0 == {"a": 1, "q": 5})


@case
def case_74():
    return (list([{"x y": "aé"}, {"12": "12", "x": "b"}]), sorted([{"a": 1}], key=len))


@case
def case_75():
    l = [{"a": 1}, {"b": 2, "c": 3}]
    return ([d["a"] for d in l if "a" in d], l)


@case
def case_76():
    p2 = [{0.0: 2.25} for x in range(2) if "aé" in "-3"]
    p2.extend(([{-1.5: -0.0}] * 0)[:5])
    return p2


@case
def case_77():
    p2 = [{0.0: 2.25}]
    if len(p2) < 12:
        p2.extend(([{-1.5: -0.0}] * 0)[:5])
    p3 = p2

    def g(t):
        return not p2

    return g(5)


@case
def case_78():
    v = [][1:]
    v.append((1, "a"))
    w = [] * 3
    w.append("q")
    u = [] + []
    u.append([1])
    return (v, w, u)


@case
def case_79():
    l = [1, 2]
    m = l[1:]
    m.append(None)
    return (l, m)


@case
def case_80():
    l = [1, 2]
    m = l * 2
    m.append(None)
    k = l + l
    k.append(None)
    return (l, m, k)


@case
def case_81():
    l = [1, 2]
    m = [None]
    m.extend(l)
    m += l
    m[1:2] = l
    return (l, m)


@case
def strings_made_within_tuples_that_are_handed_on():
    h = []
    for x in [3, 1, 2]:
        heapq.heappush(h, (x, str(x)))
    return h, heapq.heappop(h)


@case
def case_82():
    return [len([1, "a", (2,)][:2])], [{3}][:] == [{3}], [1, 2] == [], [[1], [2]] != []


@case
def case_83():
    d = {}
    for k, v in zip([], [{1}]):
        d[k] = v
    return dict(zip([], [[1]])), dict(zip(["a"], [])), [k for k, v in enumerate([])], d


@case
def case_84():
    return sum(x for x in [] if x > 4), sum(x for x in zip([], [1])), dict({}).pop(2, "x")


@case
def case_85():
    c = len("abc") > 2
    d = {"a": 1.5} if c else {"b": 2.5, "c": 1.0}
    l = list([[1, 2], [3]] if c else [[4]])
    e = ({"a": [1]} if c else {"a": [2]}) if d else {"q": [3, 4]}
    return d, l, e


@case
def case_86():
    d = {"k": {"a": [1]}}
    d.setdefault("x", d["q"] if "q" in d else {"b": [2]})
    held = [{"a": 1}, {"b": 2, "c": 3}]
    return d, dict(zip([1, 2], [{"a": 1}, {"b": 2}])), [sorted(x) for x in held], held == [{"a": 1}]


@case
def case_87():
    stack, d = [], {}
    try:
        v = stack.pop() if not stack else "b"
    except IndexError:
        v = "none"
    try:
        w = d[3] + "abc"
    except KeyError:
        w = "no key"
    return v, w


@case
def case_88():
    l, seen = [1, 2, 3, 4, 5], []
    for x in reversed(l):
        seen.append(x)
        l.pop(0)
    it = reversed(seen)
    first = next(it)
    seen.clear()
    return l, seen, first, list(it)


@case
def case_89():
    found = []
    for x in ("b", "it's"):
        try:
            ["a"].index(x)
        except ValueError:
            found.append(x)
    d = {"a": 1, "b": 2}
    return found, ["a" in d, "".join(["b"]) in d], [d[k.lower()] for k in ("A", "B")]


@case
def case_90():
    def width(t):
        return len(t[0]) + t[1]

    return width((f"{7:03d}|", 2)), width(("ab" + str(1), 1))


@case
def case_91():
    rows = [[[7, 2, 3]], [[4]]]
    a = rows[0]
    b = a[0]
    rows.clear()
    other = [[i, i] for i in range(50)]
    return b, len(other)


@case
def case_92():
    words = [["abc" + str(1)], ["x"]]
    row = words[0]
    s = row[0]
    words[0] = [str(2)]
    other = [str(i) + "zzzz" for i in range(50)]
    return s + "!", len(other)


@pytest.mark.parametrize(
    ("l", "x"),
    [(["a"], "it's"), ([(1, "a")], (1, "b")), ([[1]], [2]), ([1.5], 2.5), ([{1}], {2}), ([None, 2], 3)],
)
def test_what_is_not_in_a_list_is_told_by_its_repr(l, x):
    with pytest.raises(ValueError) as want:
        l.index(x)
    with pytest.raises(ValueError) as e:
        njit(lambda l, x: l.index(x))(l, x)
    assert e.value.args == want.value.args


def test_what_is_not_in_a_display_is_told_by_its_repr():
    with pytest.raises(ValueError, match=r"^('b' is not in list|list.index\(x\): x not in list)$"):
        njit(lambda: [1, "a", (2,)].index("b"))()


def through_or(a):
    a = a | a
    for _, y in a.items():
        y.append(2)


def through_copy(a):
    b = a.copy()
    b[0].append(3)


def through_display(a):
    b = {**a, 5: [1]}
    b[0].append(3)


def through_store(a):
    b = {}
    b[0] = a[0]
    b[0].append(3)


def through_comprehension(a):
    b = {k: v for k, v in a.items()}
    b[0].append(3)


@pytest.mark.parametrize(
    "f", [through_or, through_copy, through_display, through_store, through_comprehension]
)
def test_what_an_argument_has_is_changed_through_another_dict(f):
    """Values of the other dict are taken out of a list of the same type as the argument's."""
    d, want = {0: [1]}, {0: [1]}
    inner = d[0]
    njit(f)(d)
    f(want)
    assert d == want and d[0] is inner


def last_of(a, n):
    for i in range(n):
        x = a[i]
    return x


@njit
def last_by_call(a, n):
    return last_of(a, n)


@pytest.mark.parametrize("f", [njit(last_of), last_by_call])
def test_an_empty_list_raises_where_an_item_is_taken(f):
    """Code for a list of nothing ends there: what follows is neither typed nor refused."""
    assert f([1, 2], 2) == 2
    with pytest.raises(IndexError, match="list index out of range"):
        f([], 2)
    with pytest.raises(UnboundLocalError):
        f([], 0)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_as_cpython(f):
    assert repr(njit(f)()) == repr(f())


@njit
def grown(d):
    if "x y" in "é":
        d = d | d
    d[0.0] = "q"
    return (d,)


@njit
def grown_by_call(d):
    return grown(d)


@pytest.mark.parametrize("f", [grown, grown_by_call])
def test_an_argument_that_met_others_is_changed(f):
    """The dict is taken apart only behind a block that has nothing of it but the parameter."""
    d = {2.25: "a"}
    assert f(d)[0] is d and d == {2.25: "a", 0.0: "q"}


@njit(parallel=True)
def each_from_the_last(t, c):
    if c > 100:
        t = (t[1], t[0])
    u = t
    if c > 1000:
        u = (t[1], t[0])
    for i in prange(1, len(u[0])):
        u[0][i] = t[0][i - 1] + 1


def test_items_of_tuples_that_met_others_may_be_one_array():
    a, b = np.zeros(100_000), np.zeros(100_000)
    try:
        each_from_the_last((a, b), 0)
    except treadle.TypingError:
        return
    assert (a == np.arange(100_000)).all() and not b.any()


@njit
def first_characters(words, found):
    v = "ab".center(4)
    held = list(words)
    for _ in range(2):
        v = v[0]

        def doubled(t):
            return v.replace("a", "ab") + t

        doubled("q")
        found.add(v)
    return held, v


def test_a_part_of_a_string_outlives_the_variable_it_was_taken_from():
    """The variable is shared, a list of one item: what is taken out of it and becomes a part of itself needs a count."""
    for _ in range(20):
        found = {"é"}
        assert first_characters({"😀"}, found) == (["😀"], " ") and found == {"é", " "}


def test_many_ways_to_an_item_of_a_tuple_take_no_long_to_compile():
    @njit
    def f(d):
        for k in d:
            try:
                d = dict({**{6: (2,)}, True: (2,)})
                if len(d):
                    pass
            except KeyError:
                pass
            d.setdefault(k, d[k])

    with pytest.raises(KeyError) as e:
        f({4: (9,), 0: (0,), 9: (9,), 3: (1,)})
    assert e.value.args == (4,)


@njit
def summary(x):
    return {
        "mean": x.mean(),
        "n": len(x),
        "name": "x",
        "parts": [x[0], x[-1]],
        "of": {"a": x, "b": (1, None)},
    }


def test_names_with_values_are_a_dict_for_python():
    x = np.array([1.0, 4.0])
    r = summary(x)
    assert list(r) == ["mean", "n", "name", "parts", "of"] and r["of"]["a"] is x
    assert (r["mean"], r["n"], r["name"], r["parts"], r["of"]["b"]) == (2.5, 2, "x", [1.0, 4.0], (1, None))
    assert type(r) is dict and type(r["of"]) is dict
    odd = njit(lambda x: {"a b": x, "é": 1, '"': 2.5, "": "x"})
    assert odd(3) == {"a b": 3, "é": 1, '"': 2.5, "": "x"}


Pair = namedtuple("Pair", "x y")

HANDED_BACK = [
    lambda n: Pair([n], 2),
    lambda n: Pair([n], 2).x,
    lambda n: Pair(Pair([n], "a"), []),
    lambda n: Pair({"a": n}, ([n], [2])),
    lambda n: Pair(n, y=[n, n]),
    lambda n: Pair([n], 2)._replace(y=5),
    lambda n: max([n, 2], [n, 3]),
    lambda n: min([n], [2], key=len),
    lambda n: max([[n], [2]]),
    lambda n: max([n, 5]) + min([n], [2])[0],
    lambda n: functools.reduce(max, [[n], [2]]),
    lambda n: functools.reduce(lambda a, b: b, [[n], [2]]),
    lambda n: functools.reduce(lambda a, b: a + b, [[n], [2]]),
    lambda n: operator.add([n], [2]),
    lambda n: operator.mul([n], 2),
    lambda n: (lambda x=[n]: x)(),  # noqa: B006
]


@pytest.mark.parametrize("f", HANDED_BACK)
def test_a_display_that_is_handed_back_is_a_list(f):
    assert repr(njit(f)(1)) == repr(f(1))


def appended_by_name(n):
    p = Pair([n], 2)
    p.x.append(4)
    return p


def the_greater_is_one_of_both(n):
    x, y = [n], [n + 1]
    a = max(x, y)
    a.append(3)
    return x, y


def a_tuple_twice(n):
    t = ([n],)
    u = t + t
    u[0].append(5)
    return t, u


def one_row_is_changed(n):
    g = [[0, 1], [1, 0]]
    g[0][0] = n
    return [sum(r) for r in g]


def one_row_is_changed_by_its_name(n):
    a, b = [n], [2]
    g = (a, b)
    a.append(n)
    return [len(r) for r in g]


@pytest.mark.parametrize(
    "f",
    [
        appended_by_name,
        the_greater_is_one_of_both,
        a_tuple_twice,
        one_row_is_changed,
        one_row_is_changed_by_its_name,
    ],
)
def test_displays_are_changed_where_they_were_put(f):
    assert repr(njit(f)(1)) == repr(f(1))
