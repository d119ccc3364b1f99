"""treadle.typed.Dict, Set and List of more than numbers: as CPython's, step by step drawn at random, in Python and in compiled code, and shared without a copy."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import MutableMapping, MutableSequence, MutableSet

import numpy as np
import pytest
import treadle
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from treadle import njit, types
from treadle.typed import Dict, List, Set


@njit
def put(d, k, v):
    d[k] = v


@njit
def take(d, k):
    return d[k]


@njit
def drop(d, k):
    del d[k]


@njit
def pop(d, k, v):
    return d.pop(k, v)


@njit
def get(d, k, v):
    return d.get(k, v)


@njit
def last(d):
    return d.popitem()


@njit
def clear(d):
    d.clear()


@njit
def pairs(d):
    return [(k, v) for k, v in d.items()]


@njit
def add(s, x):
    s.add(x)


@njit
def discard(s, x):
    s.discard(x)


@njit
def keys(s):
    return [x for x in s]


@njit
def append(l, x):
    l.append(x)


@njit
def items(l):
    return [x for x in l]


def outcome(fn, *args):
    try:
        return repr(fn(*args))
    except Exception as e:
        return type(e), e.args


class Dicts(RuleBasedStateMachine):
    """A typed dict, and a dict of CPython's to which the same is done; a dict's copy goes on in its place."""

    key = st.integers(-3, 9)
    value = st.integers(-5, 5).map(float)
    types = types.int64, types.float64

    def __init__(self):
        super().__init__()
        self.typed, self.plain = Dict.empty(*self.types), {}

    def both(self, fn, *args):
        assert outcome(fn, self.typed, *args) == outcome(fn, self.plain, *args)

    def compiled_and_not(self, fn, compiled, *args):
        ours = fn if compiled else fn.py_func
        assert outcome(ours, self.typed, *args) == outcome(fn.py_func, self.plain, *args)

    @rule(data=st.data(), compiled=st.booleans())
    def change(self, data, compiled):
        k, v = data.draw(self.key), data.draw(self.value)
        fn = data.draw(st.sampled_from([put, put, put, take, drop, pop, get]))
        args = {put: (k, v), take: (k,), drop: (k,), pop: (k, v), get: (k, v)}[fn]
        self.compiled_and_not(fn, compiled, *args)

    @rule(compiled=st.booleans())
    def pop_last(self, compiled):
        if self.plain:
            self.compiled_and_not(last, compiled)

    @rule(data=st.data())
    def ask(self, data):
        k, v = data.draw(self.key), data.draw(self.value)
        self.both(lambda d: (k in d, len(d), bool(d), d.setdefault(k, v), d.get(k), list(reversed(list(d)))))
        self.both(lambda d: (list(d.keys()), list(d.values()), list(d.items())))

    @rule(data=st.data())
    def add_many(self, data):
        more = data.draw(st.dictionaries(self.key, self.value, max_size=3))
        self.both(lambda d: d.update(more))
        self.both(lambda d: d.update(list(more.items())))
        assert self.typed | more == self.plain | more

    @rule()
    def copy(self):
        was = self.typed
        self.typed = pickle.loads(pickle.dumps(copy.deepcopy(copy.copy(was.copy()))))
        was.clear()

    @rule(compiled=st.booleans())
    def clear(self, compiled):
        if len(self.plain) > 8:
            self.compiled_and_not(clear, compiled)

    @invariant()
    def same(self):
        assert (
            list(self.typed) == list(self.plain)
            and self.typed == self.plain
            and dict(self.typed) == self.plain
        )
        assert not (self.typed != self.plain) and str(self.typed) == str(self.plain)
        assert pairs(self.typed) == list(self.plain.items())


class Texts(Dicts):
    key = st.text("aé𝔸", max_size=2)
    value = st.text("xyß", max_size=2)
    types = types.unicode_type, types.unicode_type


class Pairs(Dicts):
    key = st.tuples(st.integers(0, 3), st.integers(0, 2))
    value = st.tuples(st.integers(0, 3), st.text("ab", max_size=1))
    types = (types.int64, types.int64), (types.int64, types.unicode_type)


class Triples(Dicts):
    key = st.tuples(st.text("aé", max_size=2), st.integers(0, 2), st.booleans())
    value = st.integers(0, 9)
    types = (types.unicode_type, types.int64, types.boolean), types.int64


class Sets(RuleBasedStateMachine):
    """A typed set, and a dict of CPython's without values, which has its order."""

    key = st.text("aé", max_size=2)
    type = types.unicode_type

    def __init__(self):
        super().__init__()
        self.typed, self.plain = Set.empty(self.type), {}

    @rule(data=st.data(), compiled=st.booleans(), goes=st.booleans())
    def change(self, data, compiled, goes):
        x = data.draw(self.key)
        fn = discard if goes else add
        (fn if compiled else fn.py_func)(self.typed, x)
        if goes:
            self.plain.pop(x, None)
        else:
            self.plain[x] = None

    @rule(data=st.data())
    def ask(self, data):
        xs, ours = data.draw(st.sets(self.key, max_size=3)), set(self.plain)
        t = self.typed
        assert (t | xs, t & xs, t - xs, t ^ xs) == (ours | xs, ours & xs, ours - xs, ours ^ xs)
        assert (xs | t, xs & t, xs - t, xs ^ t) == (xs | ours, xs & ours, xs - ours, xs ^ ours)
        assert (t <= xs, t < xs, t >= xs, t > xs) == (ours <= xs, ours < xs, ours >= xs, ours > xs)
        assert t.union(xs) == ours.union(xs) and t.intersection(list(xs)) == ours.intersection(xs)
        assert t.difference(xs) == ours - xs and t.symmetric_difference(iter(xs)) == ours ^ xs
        assert t.issubset(xs) == ours.issubset(xs) and t.isdisjoint(xs) == ours.isdisjoint(xs)
        assert all((x in t) == (x in ours) for x in xs) and len(t) == len(ours)

    @rule()
    def copy(self):
        was = self.typed
        self.typed = pickle.loads(pickle.dumps(copy.deepcopy(copy.copy(was.copy()))))
        was.clear()

    @invariant()
    def same(self):
        assert list(self.typed) == list(self.plain) == keys(self.typed) and self.typed == set(self.plain)


class Integers(Sets):
    key = st.integers(-4, 4)
    type = types.int64


for machine in (Dicts, Texts, Pairs, Sets, Integers):
    machine.TestCase.settings = settings(max_examples=12, stateful_step_count=20, deadline=None)
TestDicts, TestTexts, TestPairs = Dicts.TestCase, Texts.TestCase, Pairs.TestCase
TestDicts, TestTexts, TestTriples = Dicts.TestCase, Texts.TestCase, Triples.TestCase
TestSets, TestIntegers = Sets.TestCase, Integers.TestCase


def test_types():
    d = Dict()
    assert not d._typed and repr(d) == "DictType[Undefined]({})"
    d["a"] = 1
    assert repr(d) == "DictType[str,int64]({'a': 1})" and treadle.typeof(d) is types.DictType("str", "i8")
    assert (d._key_type, d._value_type) == (types.unicode_type, types.int64)
    assert repr(Set([2.5])) == "SetType[float64]({2.5})" and treadle.typeof(Set([1])) is types.SetType("i4")
    assert types.as_type("DictType[int32, list(float64)]") is types.DictType(
        types.int64, types.ListType(types.f8)
    )
    assert types.Set(types.i8) is types.SetType("i8") and repr(types.SetType("i8")) == "set(int64)"
    assert repr(types.as_type("dict()")) == "dict()" and repr(types.as_type("set()")) == "set()"
    assert Dict(a=1, b=2) == {"a": 1, "b": 2} == Dict([("a", 1), ("b", 2)]) and Dict({}) == {}
    for made, abstract in ((d, MutableMapping), (Set(), MutableSet), (List(), MutableSequence)):
        assert isinstance(made, abstract)
    u = Dict()
    put(u, 1, "x")
    assert repr(u) == "DictType[int64,str]({1: 'x'})"


def test_numbers_that_are_equal_are_one_key():
    d = Dict({1: 2.5})
    assert d[1.0] == d[True] == d[np.int32(1)] == 2.5 and 1.5 not in d and "a" not in d and 2**70 not in d
    assert None not in d and (1, 2) not in d and float("inf") not in d
    with pytest.raises(TypeError, match="unhashable type"):
        [] in d
    f = Dict({0.5: 1})
    f[1] = 2
    assert f == {0.5: 1, 1: 2} and f[1] == 2 and f[True] == 2 and list(f) == [0.5, 1.0]


@pytest.mark.parametrize(
    "use, error, text",
    [
        (lambda d: d["x"], KeyError, "'x'"),
        (lambda d: d.pop(7), KeyError, "7"),
        (lambda d: d.__delitem__(7), KeyError, "7"),
        (lambda d: d.__setitem__("x", 1.0), TypeError, "str cannot be an item of a typed.Dict of int64"),
        (lambda d: d.__setitem__(5, "x"), TypeError, "str cannot be an item of a typed.Dict of float64"),
        (lambda d: d.__setitem__(2**70, 1.0), OverflowError, "does not fit int64"),
        (
            lambda d: put(d, 3, 1j),
            TypeError,
            r"'d' is a typed.Dict, a dict\(int64, float64\), and the function",
        ),
        (lambda d: take(d, 7), KeyError, "7"),
        (lambda d: hash(d), TypeError, "unhashable type"),
        (lambda d: Dict(1, 2), TypeError, "Dict expected at most 1 argument, got 2"),
        (lambda d: Dict(3), TypeError, "'int' object is not iterable"),
        (lambda d: Dict({object(): 1}), TypeError, "object cannot be a key of a typed.Dict"),
        (lambda d: Dict({1: object()}), TypeError, "object cannot be a value of a typed.Dict"),
        (lambda d: Set([1, "a"]), TypeError, "str cannot be an item of a typed.Set of int64"),
        (lambda d: Set([1]).remove(2), KeyError, "2"),
        (lambda d: Set(a=1), TypeError, "no keyword arguments"),
        (lambda d: Dict().popitem(), KeyError, "dictionary is empty"),
        (lambda d: Dict.empty(types.float64[:], types.int64), TypeError, "is no type of keys"),
        (lambda d: types.DictType("f8[:]", "i8"), TypeError, "this is no type of keys"),
        (lambda d: [d.__setitem__(i + 50, 1.0) for i in d], RuntimeError, "dictionary changed size during"),
    ],
)
def test_bad_use_is_told(use, error, text):
    d = Dict({1: 2.5})
    with pytest.raises(error, match=text):
        use(d)
    assert d[1] == 2.5


def test_lists_of_more_than_numbers():
    l = List(["p", "é"])
    append(l, "𝔸b")
    assert items(l) == l == ["p", "é", "𝔸b"] and repr(l[1:]) == "ListType[str](['é', '𝔸b'])"
    l.insert(0, "z"), l.sort(), l.reverse(), l.remove("z"), l.extend(iter("ab"))
    assert l == ["𝔸b", "é", "p", "a", "b"] and l.pop(0) == "𝔸b" and l.index("p") == 1 and "é" in l
    l[1:3] = ["q"]
    del l[0]
    assert l == ["q", "b"] == pickle.loads(pickle.dumps(l)) == copy.deepcopy(l) == l.copy() and l + ["c"] == [
        "q",
        "b",
        "c",
    ]
    a, b = np.arange(3.0), np.ones((2, 2))[0]
    m = List([a])
    append(m, b)
    assert m[0] is a and m[1] is b and items(m)[1] is b and len(m) == 2
    t = List([(1, "a"), (2, "b")])
    append(t, (3, "c"))
    assert t == [(1, "a"), (2, "b"), (3, "c")] and items(t)[2] == (3, "c")
    o = List([1.5, None])
    append(o, None)
    assert o == [1.5, None, None] and repr(o) == "ListType[optional(float64)]([1.5, None, None])"
    r = List([np.datetime64("2020-01-01")])
    append(r, np.datetime64("2021-01-01"))
    assert r[1] == np.datetime64("2021-01-01") and type(r[1]) is np.datetime64


def test_what_a_call_made_is_the_container_s():
    @njit
    def fill(l, d, text, a):
        for i in range(len(text)):
            l.append(text[i] * 2 + str(i))
            l.append(text[i:])
            d[i] = a * i
        d[-1] = a
        d[-2] = a[1:]
        return l[0], d[0], d[-1]

    l, d, a = List(["constant"]), Dict.empty(types.int64, types.float64[::1]), np.arange(3.0)
    text = "".join(["é", "x"])
    r = fill(l, d, text, a)
    before = sys.getrefcount(a)
    del text, r
    fill(List([""]), Dict.empty(types.int64, types.float64[::1]), "many" * 50, a)
    gc.collect()
    assert l == ["constant", "éé0", "éx", "xx1", "x"] and d[-1] is a and np.shares_memory(d[-2], a)
    assert [x.tolist() for x in d.values()] == [[0, 0, 0], [0, 1, 2], [0, 1, 2], [1, 2]]
    kept = d[1]
    kept[0] = 5
    assert take(d, 1)[0] == 5
    clear(d)
    assert len(d) == 0 and kept[0] == 5 and sys.getrefcount(a) < before


def test_containers_in_containers():
    @njit
    def group(d, k, v):
        if k not in d:
            d[k] = [v]
        else:
            d[k].append(v)
        return d[k]

    d = Dict.empty(types.unicode_type, types.ListType(types.float64))
    for i in range(6):
        group(d, "ab"[i % 2], i)
    assert d == {"a": [0, 2, 4], "b": [1, 3, 5]} and group(d, "a", 7.0) is d["a"] and type(d["b"]) is List
    inner = d["a"]
    inner.append(9)
    d["c"] = [1.5]
    assert take(d, "a")[-1] == 9 and take(d, "a") is inner and d["c"] == [1.5] and type(d["c"]) is List
    del d["a"]
    gc.collect()
    assert inner == [0, 2, 4, 7, 9] and group(d, "a", 1.0) == [1] and d["a"] is not inner
    l = List([List([1]), List()])
    l[1].append(2)
    append(l, List([3]))
    append(l, [4, 5])
    assert l == [[1], [2], [3], [4, 5]] and all(type(x) is List for x in l) and l[3] == [4, 5]
    assert pickle.loads(pickle.dumps(l)) == l == copy.deepcopy(l) and l.copy()[0] is l[0]
    deep = Dict.empty(types.int64, types.DictType(types.int64, types.SetType(types.unicode_type)))

    @njit
    def note(d, i, k, x):
        if i not in d:
            d[i] = {k: {x}}
        elif k not in d[i]:
            d[i][k] = {x}
        else:
            d[i][k].add(x)

    for i in range(8):
        note(deep, i % 2, i % 3, "xyz"[i % 3] * (i % 2))
    assert (
        deep == {0: {0: {""}, 2: {""}, 1: {""}}, 1: {1: {"y"}, 0: {"x"}, 2: {"z"}}} and len(deep[1][1]) == 1
    )
    assert type(deep[0]) is Dict and type(deep[1][1]) is Set
    deep[0][0].add("w")
    assert "w" in deep[0][0]
    with pytest.raises(TypeError, match="str cannot be an item"):
        l[0].append("a")


def test_a_call_that_raises_midway():
    @njit
    def halfway(d, l, x):
        d[x] = [len(x)]
        d[x].append(2)
        l.append(x + "!")
        l.append(x)
        if len(l) < 9:
            raise ValueError("midway")

    d, l = Dict.empty(types.unicode_type, types.ListType(types.int64)), List([""])
    for _ in range(3):
        with pytest.raises(ValueError, match="midway"):
            halfway(d, l, "".join("ab"))
    assert d == {"ab": [2, 2]} and l == ["", "ab!", "ab", "ab!", "ab", "ab!", "ab"]


def test_in_compiled_code():
    floats = types.ListType(types.float64)

    @njit
    def made(n):
        d, s, l = Dict.empty(types.int64, types.unicode_type), Set(), List.empty_list(types.unicode_type)
        e, o = Dict(), Dict.empty(types.unicode_type, floats)
        for i in range(n):
            d[i] = str(i)
            s.add(i % 2)
            l.append("x")
            e[i] = 1.5
        o["k"] = [1.0]
        return d, s, l, e, o, Dict.empty(str, types.float64), Set.empty(types.int64)

    assert made(2) == ({0: "0", 1: "1"}, {0, 1}, ["x", "x"], {0: 1.5, 1: 1.5}, {"k": [1.0]}, {}, set())
    with pytest.raises(treadle.TypingError, match="takes the type of the keys"):
        njit(lambda n: Dict.empty(n, types.int64))(1)


def test_declared_signatures():
    f = njit(types.void(types.DictType("str", "f8"), types.ListType("str")))(lambda d, l: None)
    f(Dict(), List()), f(Dict({"a": 1.5}), List(["a"])), f({"a": 1.5}, ["a"])
    g = njit("float64(DictType(int64, float64), int64)")(lambda d, k: d[k])
    d = Dict()
    with pytest.raises(KeyError):
        g(d, 1)
    assert repr(d) == "DictType[int64,float64]({})" and g(Dict({1: 2.0}), 1) == 2
    with pytest.raises(TypeError):
        g(Dict({1: 2}), 1)


def test_in_tuples_twice_and_side_by_side():
    @njit
    def f(d, t):
        d[1] = 5
        t[0][2] = 6
        return t[0], d

    d = Dict({0: 0})
    r = f(d, (d, 1))
    assert r[0] is d is r[1] and d == {0: 0, 1: 5, 2: 6} == f({0: 0}, ({0: 0}, 1))[0] | {1: 5}
    l = List([List([1.0])])

    @njit
    def g(l, m):
        l.append(m)
        m.append(2.0)

    m = List([0.5])
    g(l, l[0]), g(l, m), m.append(3)
    assert l == [[1, 2], [1, 2], [0.5, 2, 3]] and l[2] is m and l[1] is l[0]


def test_one_thread_changes_it_and_many_read_it():
    @njit(nogil=True)
    def spin(d, state, at, x):
        s = 0.0
        for i in range(10**10):
            s = np.sin(s + len(d) + i)
            state[at] = 1
            if state[1]:
                break
        return s

    @njit(nogil=True)
    def fill(d, state, at, x):
        d[0] = x
        return spin(d, state, at, x)

    def during(fn, d, x, use):
        state = np.zeros(2, np.int64)
        t = threading.Thread(target=fn, args=(d, state, 0, x))
        t.start()
        try:
            while not state[0] and t.is_alive():
                time.sleep(0.001)
            use()
            assert t.is_alive(), "it ended before it was met"
        finally:
            state[1] = 1
            t.join()

    def busy(use, what="Dict"):
        with pytest.raises(RuntimeError, match=f"typed.{what} is in use by another thread"):
            use()

    inner = List([1.0])
    d = Dict({0: inner})
    ended = np.array([0, 1])
    for e in (Dict({0: 1.0}), d):
        spin(e, ended, 0, e[0]), fill(e, ended, 0, e[0])

    def while_it_is_read():
        assert len(d) and d[0] is inner and inner[0] == 1
        busy(lambda: d.update({1: [2.0]})), busy(lambda: clear(d)), busy(lambda: d.pop(0))
        busy(lambda: inner.append(2), "List"), busy(lambda: append(inner, 2.0), "List")

    def while_it_is_changed():
        busy(lambda: d[0]), busy(lambda: len(d)), busy(lambda: list(d)), busy(lambda: str(d))
        busy(lambda: take(d, 0)), busy(lambda: inner[0], "List"), busy(lambda: append(inner, 2.0), "List")
        busy(lambda: List([List([0.5])]).append(inner), "List")

    during(spin, d, inner, while_it_is_read)
    during(fill, d, inner, while_it_is_changed)
    d[1] = [2.5]
    inner.append(2)
    assert d == {0: [1, 2], 1: [2.5]}


def test_nothing_leaks():
    def use():
        d = Dict({"a": List([1.0])})
        put(d, "b", [2.0]), d.copy(), list(d.items()), Dict(d), d.pop("a"), take(d, "b")
        l = List([np.zeros(3), np.ones(4)])
        append(l, np.ones(2)), l[1:], l.copy(), List(l), l.pop(), items(l)
        s = Set(["x"])
        add(s, "y"), s | {"z"}, pickle.dumps(s)
        for fn, args in ((take, (d, "q")), (put, (d, 1, [2.0])), (put, (d, "c", ["x"]))):
            with pytest.raises((KeyError, TypeError)):
                fn(*args)

    use()
    gc.collect()
    before = treadle.stats()
    for _ in range(20):
        use()
    gc.collect()
    after = treadle.stats()
    made = after["arrays_allocated"] - before["arrays_allocated"]
    assert made == after["arrays_freed"] - before["arrays_freed"] >= 200
    d, o = Dict({"k": np.zeros(1)}), np.ones(1)
    refs = sys.getrefcount(o)
    for i in range(1000):
        d["k"] = o
        put(d, "k", o)
    assert sys.getrefcount(o) - refs < 200
    clear(d)
    assert sys.getrefcount(o) == refs


def test_a_table_in_a_second_process(tmp_path):
    """From the cache, and pickled into it."""
    program = tmp_path / "p.py"
    program.write_text(
        "import pickle, sys\nfrom pathlib import Path\nimport treadle\nfrom treadle import njit\n"
        "from treadle.typed import Dict, List\n\n"
        "@njit(cache=True)\ndef count(d, l, text):\n    for w in text.split():\n"
        "        d[w] = d.get(w, 0) + 1\n        l.append(w)\n\n"
        "p = Path(__file__).with_name('d')\n"
        "d, l = pickle.loads(p.read_bytes()) if p.exists() else (Dict(), List())\n"
        "count(d, l, 'a b a')\np.write_bytes(pickle.dumps((d, l)))\n"
        "print(d, l, treadle.stats()['loaded'])\n"
    )
    env = {"TREADLE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ":".join(sys.path)}
    out = [
        subprocess.run([sys.executable, program], env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    ]
    assert out[0].startswith("{'a': 2, 'b': 1} ['a', 'b', 'a']") and out[2].startswith("{'a': 6, 'b': 3}")
    assert out[2].split()[-1] != "0"


def test_numba_s_program_runs():
    d = Dict.empty(key_type=types.unicode_type, value_type=types.float64[:])
    d["posx"] = np.asarray([1, 0.5, 2], dtype="f8")
    d["velx"] = np.asarray([0, -2, 1], dtype="f8")

    @njit
    def move(d):
        d["posx"] += d["velx"]

    move(d)
    assert d["posx"].tolist() == [1, -1.5, 3]


def test_keys_of_tuples_are_found_by_equal_ones():
    d = Dict({("a", 1): 5.0})
    assert d["a", 1.0] == 5.0 and ("a", True) in d and ("a", 1.5) not in d and (1, "a") not in d
    wide = Dict({tuple(range(20)): 1})
    assert tuple(float(k) for k in range(20)) in wide and tuple(range(1, 21)) not in wide
    del d["a", 1]
    assert len(d) == 0
    s = Set([("a", 1), ("b", 2)])
    assert pickle.loads(pickle.dumps(s)) == {("a", 1), ("b", 2)}


@njit
def grow_inner(o, n):
    for i in range(n):
        o[0].append(i)


@njit
def grow_in_tuple(t, n):
    grow_inner(t[1], n)


@njit
def grow_given(o, x, n):
    o[0] = x
    grow_inner(o, n)


@njit(parallel=True)
def set_inner(o, n):
    for i in treadle.prange(n):
        o[0][i] = -o[0][i]


def test_items_under_a_buffer_stay_where_they_are_whoever_has_the_outer_container():
    said = "may become longer or shorter, and there are buffers over its items\n  help: let go"
    n = 10_000
    for outer in (List([List([1, 2])]), Dict({0: List([1, 2])})):
        inner = outer[0]
        for view in (memoryview(inner), np.asarray(inner)):
            for grow in (grow_inner, lambda o, n: grow_in_tuple((0, o), n)):
                with pytest.raises(BufferError, match=said):
                    grow(outer, n)
            set_inner(outer, 2)
            assert list(view) == list(inner)
        assert list(inner) == [1, 2], "twice the other sign"
        del view
        grow_inner(outer, n)
        assert len(inner) == n + 2

    # One that comes into the container in the call; one that was put there by Python.
    x, outer = List([1, 2]), List([List([3])])
    view = memoryview(x)
    with pytest.raises(BufferError, match=said):
        grow_given(outer, x, n)
    outer.append(x)
    with pytest.raises(BufferError, match=said):
        grow_inner(outer, n)
    append(outer[0], 4)
    assert view[0] == 1 and list(outer[0]) == [3, 4], "a list beside it has no buffer"
    outer.clear()
    outer.append(List([1]))
    del x
    view.release()
    grow_inner(outer, n)
    assert len(outer[0]) == n + 1
