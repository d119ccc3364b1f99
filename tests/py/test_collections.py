"""Counter, defaultdict, OrderedDict, frozenset and deque: what CPython makes of the same function, by every way in."""

from __future__ import annotations

import copy
import subprocess
import sys
import textwrap
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import NamedTuple

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange


def outcome(fn, *args):
    """What a call gives, and what it makes of its arguments; or the exception."""
    args = copy.deepcopy(args)
    try:
        return repr(fn(*args)), repr(args)
    except Exception as e:  # of any class: both sides have to raise the same
        return type(e), e.args, repr(args)


def same(fn, *args, **options):
    assert outcome(njit(**options)(fn), *args) == outcome(fn, *args)


# --- defaultdict ---


def by_int(a):
    d = defaultdict(int)
    for x in a:
        d[x] += 1
    k = a[0]
    del d[k]
    return d, d.get(k), k in d, d[k], k in d


def by_list(a):
    d = defaultdict(list)
    for i, x in enumerate(a):
        d[x].append(i)
    return d


def by_float(a):
    d = defaultdict(float)
    for x in a:
        d[x] += 0.5
    return d


def by_str(a):
    d = defaultdict(str)
    for x in a:
        d[x] += "a"
    return d


def by_bool(a):
    d = defaultdict(bool)
    for x in a:
        d[x] = not d[x]
    return d


def by_dict(a):
    d = defaultdict(dict)
    for i, x in enumerate(a):
        d[x][i] = x
    return d


def by_set(a):
    d = defaultdict(set)
    for x in a:
        d[x].add(x)
    return d


def by_lambda(a):
    start = len(a)
    d = defaultdict(lambda: start)
    for x in a:
        d[x] += 1
    return dict(d), len(d)


def nested(a):
    d = defaultdict(lambda: defaultdict(int))
    for i, x in enumerate(a):
        d[x][i] += 1
    return len(d), d[a[0]][0], d[a[0]][77], len(d[a[0]])


def without(a):
    d = defaultdict(None)
    d[a[0]] = 1
    return d[a[1]]


def filled(a):
    d = defaultdict(int, {a[0]: 5})
    d[a[1]]
    e = d.copy()
    e[a[2]] += 1
    return d, e, d == e, d == {a[0]: 5, a[1]: 0}, d.pop(a[0]), d


@pytest.mark.parametrize(
    "fn",
    [by_int, by_list, by_float, by_str, by_bool, by_dict, by_set, by_lambda, nested, without, filled],
)
@pytest.mark.parametrize("a", [[3, 1, 3, 2], ["x", "y", "x", "z"], [(1, "a"), (2, "b"), (1, "a")]])
def test_defaultdict(fn, a):
    same(fn, a)


@njit
def make():
    return [1.5]


def test_a_compiled_function_makes_values():
    @njit
    def f(a):
        d = defaultdict(make)
        for x in a:
            d[x].append(x)
        return dict(d)

    assert f([1, 2, 1]) == {1: [1.5, 1.0, 1.0], 2: [1.5, 2.0]}


def test_one_that_is_made_by_a_function_is_not_returned():
    with pytest.raises(treadle.TreadleError):
        njit(lambda: defaultdict(lambda: 1))()


def test_defaultdict_that_is_passed():
    def f(d):
        d[5] += 1
        d[1] += 2

    same(f, defaultdict(int, {1: 2}))
    d = defaultdict(int, {1: 2})
    assert njit(lambda d: d)(d) is d
    with pytest.raises(TypeError):
        njit(f)(defaultdict(lambda: 0, {1: 2}))

    class Mine(dict):
        pass

    with pytest.raises(TypeError, match="of that very class"):
        njit(f)(Mine())


# --- Counter ---

texts = st.text("abcd", max_size=12)


def operators(a, b):
    return a + b, a - b, a & b, a | b, a == b, a != b, a.total(), len(a), a["a"], b["zz"]


def in_place(a, b):
    c = a.copy()
    c += b
    d = a.copy()
    d -= b
    e = a.copy()
    e |= b
    a &= b
    return c, d, e


def changed(a, b):
    a.update(b)
    b.subtract("abx")
    a.update("ab")
    return list(b.elements()) if b["a"] > 0 else [""], a.most_common(), b.most_common(2), a.pop("a", 7)


compiled = {fn: njit(fn) for fn in (operators, in_place, changed)}


@pytest.mark.parametrize("fn", compiled)
def test_counters_are_cpythons(fn):
    @settings(max_examples=40, deadline=None)
    @given(texts, texts)
    def check(a, b):
        x, y = Counter("a" + a), Counter("b" + b)
        assert outcome(compiled[fn], x, y) == outcome(fn, x, y)

    check()


@pytest.mark.parametrize("a", ["hello", [3, 1, 3], {3: 4, 5: -1}, [(1, "a"), (1, "a")], [1.5, 2.5], [True]])
def test_counter_of(a):
    def f(a):
        c = Counter(a)
        k = next(iter(c))
        c[k] += 1
        del c[k]
        return Counter(a), c, c[k], isinstance(c, dict)

    same(f, a)


def test_counter_with_names_and_of_nothing():
    same(lambda: (Counter(b=3, a=2), OrderedDict(a=1), dict(a=1, b=2), dict({"x": 1}, y=2)))

    def f(a):
        c = Counter()
        for x in a:
            c[x] += 1
        return c

    same(f, [1, 2, 1])
    same(f, np.array([1, 2, 1]).tolist())


def test_zero_is_as_good_as_nothing():
    def f(a, b):
        return a == b, a != b

    for y in (Counter({2: 1}), Counter({1: 1, 2: 1}), {2: 1}):
        same(f, Counter({1: 0, 2: 1}), y)


# --- OrderedDict ---


def test_ordered():
    def f(d):
        d.move_to_end(1)
        first = d.popitem(last=False)
        d[9] = 1
        d.move_to_end(9, last=False)
        last = d.popitem()
        return first, last, d.copy()

    same(f, OrderedDict([(1, 2), (3, 4), (5, 6)]))
    same(f, OrderedDict())

    def g(a, b):
        return a == b, a != b, a | b

    a = OrderedDict([(1, 2), (3, 4)])
    for b in (OrderedDict([(1, 2), (3, 4)]), OrderedDict([(3, 4), (1, 2)]), {3: 4, 1: 2}):
        same(g, a, b)
    moved = OrderedDict([(1, 2), (3, 4)])
    moved.move_to_end(1)
    same(lambda d: (list(d), d.popitem()), moved)
    same(lambda d: d.popitem(), OrderedDict())


# --- frozenset ---


def test_frozenset():
    def f(a, b):
        s = frozenset(a)
        return (
            sorted(s), 1 in s, s | {9}, s & b, sorted({1, 9} - s), s == b, s <= b, s.union([5]), s.copy(), b,
            isinstance(s, frozenset), isinstance(s, set), s.isdisjoint({7}), len(frozenset()), {1, 2} == s,
        )  # fmt: skip

    same(f, [1, 2], frozenset([1, 2, 3]))
    b = frozenset([1, 2])
    assert njit(lambda x: x)(b) is b
    with pytest.raises(treadle.TypingError, match="has no attribute 'add'"):
        njit(lambda s: s.add(3))(b)
    with pytest.raises(treadle.TypingError, match="has no attribute 'difference_update'"):
        njit(lambda s: s.difference_update(s))(b)


# --- deque ---


def run(steps, values, most):
    d = deque(values, maxlen=most)
    out = []
    for what, k in steps:
        v = values[k]
        if what == 0:
            d.append(v)
        elif what == 1:
            d.appendleft(v)
        elif what == 2 and len(d) > 0:
            out.append(d.pop())
        elif what == 3 and len(d) > 0:
            out.append(d.popleft())
        elif what == 4:
            d.extend(values[:k])
        elif what == 5:
            d.extendleft(values[:k])
        elif what == 6:
            d.rotate(k - 4)
        elif what == 7 and len(d) > k:
            d[k] = v
            out.append(d[-1])
        elif what == 8:
            out.append(v if v in d else values[0])
        elif what == 9:
            d.extend(d)
            while len(d) > 30:
                d.popleft()
        for x in d:
            out.append(x)
    return d, out, len(d), bool(d)


STEPS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=1, max_size=25)
runners = {kind: njit(run) for kind in ("int", "str", "list")}
VALUES = {
    "int": list(range(8)),
    "str": [str(i) * 3 for i in range(8)],
    "list": [[i] for i in range(8)],
}


@pytest.mark.parametrize("kind", runners)
@pytest.mark.parametrize("most", [None, 3])
def test_deque_is_cpythons(kind, most):
    @settings(max_examples=30, deadline=None)
    @given(STEPS)
    def check(steps):
        assert outcome(runners[kind], steps, VALUES[kind], most) == outcome(run, steps, VALUES[kind], most)

    check()


def test_breadth_first():
    def f(neighbours, start):
        seen = {start: 0}
        queue = deque([start])
        while queue:
            at = queue.popleft()
            for k in neighbours[at]:
                if k not in seen:
                    seen[k] = seen[at] + 1
                    queue.append(k)
        return seen

    same(f, [[1, 2], [3], [3, 4], [5], [0], [6], []], 0)


@pytest.mark.parametrize(
    "body",
    [
        "d = deque()\n    d.append(a)\n    d.pop()\n    return d.popleft()",
        "d = deque([a])\n    return d.pop(), d.pop()",
        "d = deque([a])\n    return d[1]",
        "d = deque([a, a])\n    d[-3] = a",
        "d = deque([a])\n    for x in d:\n        d.append(x)",
        "return deque([a], maxlen=-a)",
        "d = deque(maxlen=0)\n    d.append(a)\n    d.appendleft(a)\n    return d, len(d)",
        "return deque([a, 2]) == deque([a, 2]), deque([a]) < deque([a, 2]), deque([a]) != deque([2])",
        "return deque([a], 3).maxlen, deque([a]).maxlen",
        "d = deque([a])\n    e = d.copy()\n    e.append(2)\n    d.clear()\n    return d, e, [d, e]",
        "d = deque([a, 2, 3])\n    return list(d), list(reversed(d)), sum(d), max(d), sorted(d), 3 in d",
        "d = deque([a, 2])\n    x, y = d\n    return x, y",
    ],
)
def test_deque(body):
    space = {"deque": deque}
    exec(f"def f(a):\n    {body}\n", space)
    same(space["f"], 1)


# --- views, and what else dicts and sets have ---


@pytest.mark.parametrize("op", ["&", "|", "-", "^"])
def test_views_are_sets(op):
    space = {}
    exec(
        f"def f(a, b):\n    return a.keys() {op} b.keys(), a.items() {op} b.items(), a.keys() {op} {{1}}, {{5}} {op} b.keys()",
        space,
    )
    assert njit(space["f"])({1: 2, 3: 4}, {1: 2, 3: 5}) == space["f"]({1: 2, 3: 4}, {1: 2, 3: 5})


def test_views_are_compared():
    def f(a, b):
        return (
            a.keys() == b.keys(),
            a.keys() <= b.keys(),
            a.items() < b.items(),
            a.keys() == {1},
            a.items() != b.items(),
        )

    for b in ({1: 2}, {1: 2, 3: 4}, {1: 3}):
        same(f, {1: 2}, b)


@pytest.mark.parametrize(
    "body",
    [
        "return dict.fromkeys(a), dict.fromkeys(a, 0), dict.fromkeys('abc', 1.5)",
        "d = {1: 2, 3: 4}\n    return list(reversed(d)), list(reversed(d.items())), list(reversed(d.values()))",
        "x, y = {1: 2, 3: 4}\n    return x, y",
        "(k, v), = {1: 2}.items()\n    return k, v",
        "x, y = {7}",
        "x, = {7, 8}",
        "d = {'x': 1}\n    d.update(y=2)\n    return d",
        "d = {'x': 1}\n    d.update({'z': 4}, y=2)\n    return d",
        "return sorted({1, 2, 3}.intersection({1, 2}, {1, 3})), sorted({1, 2, 3}.difference({1}, {3}))",
    ],
)
def test_the_rest_of_dicts(body):
    space = {}
    exec(f"def f(a):\n    {body}\n", space)
    same(space["f"], [1, 2])


# --- every way in ---


def test_through_calls_threads_and_globals():
    @njit
    def count(c, a):
        for x in a:
            c[x % 3] += 1

    @njit(boundscheck=True)
    def outer(n):
        c = Counter()
        count(c, range(n))
        d = defaultdict(list)
        for k, v in c.items():
            d[v].append(k)
        return c, d

    @njit(parallel=True)
    def each(n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            c = Counter()
            count(c, range(i))
            q = deque()
            for j in range(i):
                q.append(j)
                if len(q) > 3:
                    q.popleft()
            out[i] = c.total() + c[0] + sum(q)
        return out

    c = Counter(i % 3 for i in range(10))
    assert outer(10) == (c, {4: [0], 3: [1, 2]})
    assert list(each(30)) == [i + (i + 2) // 3 + sum(range(max(i - 3, 0), i)) for i in range(30)]


def test_nothing_leaks():
    @njit
    def f(n, fail):
        d = defaultdict(list)
        q = deque(maxlen=5)
        c = Counter()
        for i in range(n):
            d[str(i % 7)].append([i])
            q.append([str(i)])
            q.appendleft([str(i)])
            c[str(i % 11)] += 1
        if fail:
            return q[99][0]
        return q.popleft()[0]

    f(3, False)
    before = treadle.stats()
    f(500, False)
    with pytest.raises(IndexError):
        f(500, True)
    after = treadle.stats()
    made, freed = (after[k] - before[k] for k in ("arrays_allocated", "arrays_freed"))
    assert made == freed > 1000


def test_from_the_cache_in_a_second_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "prog.py").write_text(
        textwrap.dedent(
            """
            from collections import Counter, OrderedDict, defaultdict, deque
            from treadle import njit

            @njit(cache=True)
            def f(c, n):
                d = defaultdict(list)
                q = deque(maxlen=2)
                for i in range(n):
                    c[i % 2] += 1
                    d[i % 2].append(i)
                    q.append(i)
                return c.most_common(1), d, q, OrderedDict(c), frozenset(c)

            print(f(Counter(), 5), sum(f.stats.cache_hits.values()))
            """
        )
    )
    runs = [
        subprocess.run(
            [sys.executable, tmp_path / "prog.py"], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    text = (
        "([(0, 3)], defaultdict(<class 'list'>, {0: [0, 2, 4], 1: [1, 3]}), deque([3, 4], maxlen=2), "
        "OrderedDict([(0, 3), (1, 2)]), frozenset({0, 1}))"
    )
    assert runs == [f"{text} 0\n", f"{text} 1\n"]


# --- texts ---


def texts_of_made(n):
    c = Counter("hello"[:n])
    d = defaultdict(list, {k: [k] for k in range(n)})
    o = OrderedDict([(k, k * 0.5) for k in range(n)])
    q = deque(range(n), 3)
    return str(c), repr(d), f"{o}|{q!r}", "%s %r" % (deque("ab"[:n]), frozenset(range(n))), "{}".format(c)


def texts_of_nothing(n):
    return [
        str(Counter()), str(defaultdict(int)), str(OrderedDict()), str(frozenset()), str(deque()), str(deque(maxlen=n)),
        str(defaultdict(None)),
    ]  # fmt: skip


def texts_in_others(n):
    c = Counter({"a": n, "b": -1, "c": 5, "d": 5, "e": 0})
    c.pop("b")
    return (
        str([c, Counter()]),
        str({"q": deque([(n, "x"), (2, "y")])}),
        str((frozenset([n]), defaultdict(set, {1: {n}}))),
        str(deque([[n], []])),
    )


def counts_that_are_floats(n):
    c = Counter()
    for k in range(n):
        c[k % 3] += 1.5 * k
    return str(c)


def raises_its_text(n):
    raise ValueError(str(Counter([n, 1])))


@pytest.mark.parametrize(
    "fn", [texts_of_made, texts_of_nothing, texts_in_others, counts_that_are_floats, raises_its_text]
)
@pytest.mark.parametrize("options", [{}, {"parallel": True}])
def test_texts(fn, options):
    for n in 0, 1, 2, 5:
        same(fn, n, **options)


def test_texts_of_arguments():
    def f(d, q, c, s):
        return str(d), repr(q), f"{c}", str(s)

    same(f, defaultdict(list, {"a": [1]}), deque([1.5], maxlen=3), Counter("abb"), frozenset(["x"]))


def test_texts_are_printed(capsys):
    def f(n):
        print(Counter([n, 1, 1]), deque([1.5], n), [frozenset([n])], OrderedDict(a=n))

    f(3)
    njit(f)(3)
    one, other = capsys.readouterr().out.splitlines()
    assert one == other


def test_text_of_what_a_function_makes():
    def f(n):
        return str(defaultdict(lambda: n, {1: 2}))

    with pytest.raises(treadle.UnsupportedError, match="text made of"):
        njit(f)(1)


def classes(n):
    def of(x):
        return (
            isinstance(x, Counter), isinstance(x, defaultdict), isinstance(x, OrderedDict), isinstance(x, deque),
            isinstance(x, (frozenset, Counter)), isinstance(x, dict), isinstance(x, set),
        )  # fmt: skip

    return (
        of(Counter([n])),
        of(defaultdict(int)),
        of(OrderedDict()),
        of(deque([n])),
        of({n: n}),
        of(frozenset([n])),
        of(n),
    )


def not_in_a_list(n):
    m = [Counter("a")]
    m.append(Counter("b"))
    return m.index(Counter("b")) + m.index(Counter("cc"))


def not_in_a_deque(n):
    q = deque([frozenset([n])])
    q.remove(frozenset([n]))
    q.remove(frozenset([n + 1]))


def of_bytes(n):
    m = [b"a", b"b"]
    m.append(b"c")
    return m.index(b"de"[:n])


def of_deques(n):
    return deque([deque([1, 2])]).index(deque([n], 4))


@pytest.mark.parametrize("fn", [classes, not_in_a_list, not_in_a_deque, of_bytes, of_deques])
def test_classes_and_what_is_not_there(fn):
    same(fn, 3)


# --- named tuples ---

Point = namedtuple("Point", "x y")


class Named(NamedTuple):
    a: float
    b: str = "k"


def replaced(p, n):
    return (
        p._replace(y=2.5),
        p._replace(),
        p._replace(x="s", y=p),
        p._replace(x=n, y=n).y + 1,
        [q._replace(x=q.x + 1) for q in [p, p]],
        Named(1.0)._replace(b="z"),
    )


def as_dicts(p, n):
    d = p._asdict()
    return d, d["x"] + n, sorted(Named(0.5)._asdict()), len(d), [p._asdict()["y"] for _ in range(n)]


@pytest.mark.parametrize("fn", [replaced, as_dicts])
@pytest.mark.parametrize("p", [Point(1, 2), Point(1.0, True), Point(2, (3, 4))], ids=repr)
def test_named_tuples(fn, p):
    same(fn, p, 2)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("p._replace(z=1)", "no field of one of the names"),
        ("(1, 2)._replace(x=1)", "a plain tuple has no method '_replace'"),
        ("(1, 2)._asdict()", "a plain tuple has no method '_asdict'"),
    ],
)
def test_named_tuples_refuse(body, said):
    with pytest.raises(treadle.TypingError, match=said):
        njit(eval(f"lambda p: {body}"))(Point(1, 2))


def dropped(a):
    c = Counter(a)
    del c["z"]
    del c["a"]
    return c


def test_a_counter_may_lose_what_it_has_not():
    for a in ("aab", "b", "zza", ""):
        same(dropped, a)

    def of_another(a):
        d = OrderedDict({a: 1})
        del d["z"]
        return d

    same(of_another, "a")
    same(of_another, "z")
