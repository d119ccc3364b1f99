"""Keys of dicts and items of sets that are no single numbers: tuples of what may be a key, dates, None, by every way in.

What is found is what CPython finds: `1 == 1.0 == True`, in tuples as alone.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import namedtuple

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange

Point = namedtuple("Point", "x y")


def outcome(fn, *args):
    """What a call gives, with the types of all that is in it, or the exception."""
    try:
        r = fn(*args)
    except Exception as e:  # of any class: both sides have to raise the same
        return type(e), e.args
    return (set, set(map(repr, r))) if isinstance(r, set) else repr(r)


def same(fn, *args, **options):
    assert outcome(njit(**options)(fn), *args) == outcome(fn, *args)


# --- whatever the operations, and the types of keys ---


def run(steps, keys):
    d = {}
    s = set()
    found = 0
    for what, k in steps:
        key = keys[k]
        if what == 0:
            d[key] = len(d) + 10 * k
        elif what == 1:
            found += d.get(key, -1)
        elif what == 2:
            found += d.pop(key, 3)
        elif what == 3:
            s.add(key)
        elif what == 4:
            s.discard(key)
        elif what == 5:
            found += key in s
        else:
            d[key] = d.get(key, 0) + 1
    return d, len(s), found


numbers = st.sampled_from([0, 1, 2, -(2**63), 2**63 - 1])
floats = st.sampled_from([0.0, -0.0, 0.5, 1.0, 1e300, float("inf")])
texts = st.sampled_from(["", "a", "b", "aa", "ä", "日本", "\U0001f600"])
bools = st.booleans()
KINDS = {
    "int, str": st.tuples(numbers, texts),
    "str, str": st.tuples(texts, texts),
    "three ints": st.tuples(numbers, numbers, numbers),
    "one int": st.tuples(numbers),
    "bool, float": st.tuples(bools, floats),
    "complex, bool": st.tuples(st.builds(complex, floats, floats), bools),
    "nested": st.tuples(st.tuples(numbers, texts), st.tuples(floats, st.tuples(bools))),
    "int or None": st.none() | numbers,
    "str or None": st.none() | texts,
    "with None": st.tuples(numbers, st.none() | texts),
    "nothing": st.just(()),
}
runners = {kind: njit(run) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_operations_are_cpythons(kind):
    step = st.tuples(st.integers(0, 6), st.integers(0, 7))

    @settings(max_examples=25, deadline=None)
    @given(st.lists(step, min_size=1, max_size=40), st.lists(KINDS[kind], min_size=8, max_size=8))
    def check(steps, keys):
        assert outcome(runners[kind], steps, keys) == outcome(run, steps, keys)

    check()


# --- what is equal ---


def look(d, k):
    return d[k]


def has(s, k):
    return k in s


@pytest.mark.parametrize(
    "k", [(1, "a"), (True, "a"), (1.0, "a"), (1 + 0j, "a"), (np.int8(1), "a"), (1.5, "a"), (1, "b")]
)
def test_numbers_are_equal_across_types(k):
    same(look, {(1, "a"): 5, (2, "b"): 6}, k)


@pytest.mark.parametrize(
    "k", [(1, "a", 2), (1,), ("a", 1), (1, None), 1, "a", None, ((1, "a"), 2), Point(1, "a")]
)
def test_keys_of_other_forms_are_not_there(k):
    same(has, {(1, "a"), (2, "b")}, k)


def test_a_named_tuple_is_a_tuple():
    same(has, {Point(1, 2.5)}, (1, 2.5))
    same(has, {(1, 2.5)}, Point(1, 2.5))

    def made(n):
        d = {}
        for i in range(n):
            d[Point(i, i / 2)] = i
        return d

    same(made, 3)


def test_zeros_and_nan_in_tuples():
    def f(x, y):
        d = {(x, 1): 1}
        d[y, 1] = 2
        return len(d), (x, 1) in d, (y, 1) in d, next(iter(d))[0]

    same(f, -0.0, 0.0)

    def g(n):
        d = {}
        for i in range(n):
            d[i, np.nan] = i
        return len(d), (0, np.nan) in d

    assert njit(g)(1000) == (1000, False)


def test_keys_take_the_common_type():
    def f():
        d = {(1, True): "a"}
        d[2.5, 3] = "b"
        return d

    assert repr(njit(f)()) == "{(1.0, 1): 'a', (2.5, 3): 'b'}"
    with pytest.raises(treadle.TypingError, match=r"the keys|no common|in common"):
        njit(lambda: {(1, 2): 3, (1, "a"): 4})()


# --- dates ---


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates(unit):
    def count(a):
        d = {}
        for x in a:
            d[x] = d.get(x, 0) + 1
        return d

    def steps(a):
        s = set()
        for i in range(1, len(a)):
            s.add((a[i] - a[i - 1], i % 2))
        return len(s)

    a = np.array(["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-05"], f"M8[{unit}]")
    same(count, a)
    same(steps, a)


def test_not_a_time_is_never_found():
    def f(a):
        s = set()
        for x in a:
            s.add(x)
        return len(s), a[0] in s, a[2] in s

    assert njit(f)(np.array(["NaT", "NaT", "2020-01-01"], "M8[D]")) == (3, False, True)


# --- None ---


def test_none():
    def f(k):
        d = {None: 1}
        d[None] += 1
        d[k] = 5
        return d, None in d, k in d, d.get(3, 0), d[None]

    for k in (2, "a", None, 2.5, (1, "a")):
        same(f, k)

    def values(n):
        d = {}
        for i in range(n):
            d[i] = None if i % 2 else i
        d.setdefault(100)
        return d, d[0] is None, d[1] is None

    same(values, 4)


# --- errors ---


@pytest.mark.parametrize("k", [(1, (2, "b")), (1, (3, "a"))])
def test_a_key_error_has_the_key(k):
    same(look, {(1, (2, "a")): 1}, k)

    def drop(d, k):
        del d[k]

    same(drop, {(1, (2, "a")): 1}, k)


def test_the_key_of_many_numbers_is_not_in_its_error():
    d = {tuple(range(9)): 1}
    assert njit(look)(d, tuple(range(9))) == 1
    with pytest.raises(KeyError, match="the key is not there"):
        njit(look)(d, tuple(range(1, 10)))


@pytest.mark.parametrize(
    ("k", "name"),
    [((1, [2]), "list"), (((1, {2}), 3), "set"), ((1, {2: 3}), "dict"), ((np.zeros(2), 1), "numpy.ndarray")],
)
def test_what_has_no_hash(k, name):
    with pytest.raises(treadle.TypingError, match=f"unhashable type: '{name}'"):
        njit(look)({(1, 2): 3}, k)


# --- every way in ---


def test_arguments_are_changed_in_place():
    def f(d, s):
        d[3, "c"] = 7
        del d[1, "a"]
        s.add((0.5, True))
        return d

    d, s = {(1, "a"): 1, (2, "b"): 2}, {(1.5, False)}
    key = next(k for k in d if k[0] == 2)
    assert njit(f)(d, s) is d
    assert d == {(2, "b"): 2, (3, "c"): 7} and s == {(1.5, False), (0.5, True)}
    assert next(iter(d)) is key


def test_through_calls_and_threads():
    @njit
    def fill(d, n):
        for i in range(n):
            k = (i % 5, "xy"[i % 2])
            d[k] = d.get(k, 0) + i

    @njit(boundscheck=True)
    def outer(n):
        d = {}
        fill(d, n)
        return d

    @njit(parallel=True)
    def each(n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            d = {}
            fill(d, i)
            out[i] = sum(d.values()) + len(d)
        return out

    def expected(n):
        d = {}
        fill.py_func(d, n)
        return d

    assert outer(100) == expected(100)
    assert list(each(50)) == [sum(expected(i).values()) + len(expected(i)) for i in range(50)]


def test_what_keys_hold_is_given_back():
    @njit
    def churn(n):
        d = {}
        for i in range(n):
            d[str(i % 50), i % 7] = [str(i)]
            if len(d) > 40:
                d.popitem()
            d.pop((str(i % 3), i % 5), [""])
        return len(d)

    @njit
    def stops(n):
        s = set()
        for i in range(n):
            s.add((str(i), i))
        return s.remove(("x", 1))

    churn(10)
    before = treadle.stats()
    churn(5000)
    with pytest.raises(KeyError):
        stops(100)
    after = treadle.stats()
    made, freed = (after[k] - before[k] for k in ("arrays_allocated", "arrays_freed"))
    assert made == freed > 5000


def test_from_the_cache_in_a_second_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "prog.py").write_text(
        textwrap.dedent(
            """
            from treadle import njit

            @njit(cache=True)
            def f(n):
                d = {}
                for i in range(n):
                    d[str(i % 3), 0.5 * i, None if i % 2 else i] = i
                return d, (str(0), 0.0, 0) in d

            print(*f(4), sum(f.stats.cache_hits.values()))
            """
        )
    )
    runs = [
        subprocess.run(
            [sys.executable, tmp_path / "prog.py"], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    text = "{('0', 0.0, 0): 0, ('1', 0.5, None): 1, ('2', 1.0, 2): 2, ('0', 1.5, None): 3} True"
    assert runs == [f"{text} 0\n", f"{text} 1\n"]
