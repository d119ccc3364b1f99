"""Sets and dicts of numbers: what CPython makes of the same function, step by step drawn at random, by every way in."""

from __future__ import annotations

import linecache
import math
import subprocess
import sys
import textwrap
from collections import OrderedDict

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange


def shown(x):
    """The text of a result; of a set, whose order is any, that of its keys in theirs."""
    if isinstance(x, tuple):
        return f"({', '.join(map(shown, x))})"
    return f"set({sorted(x)})" if isinstance(x, set) else repr(x)


def outcome(fn, *args):
    """What a call gives: the text of its result, which tells 1 from 1.0 and from True, or the exception."""
    try:
        return shown(fn(*args))
    except Exception as e:  # of any class: both sides have to raise the same
        return type(e), e.args


def same(fn, *args, **options):
    assert outcome(njit(**options)(fn), *args) == outcome(fn, *args)


# --- programs drawn at random ---

HELPERS = """
@decorate
def fill(d, n):
    for i in range(n):
        d[i * 2] = i
    return d

@decorate
def made(n):
    d = {}
    if n > 1:
        d[n] = n
    return d

@decorate
def weigh(d):
    s = 0
    for k, v in d.items():
        s = (s * 3 + k + 2 * v) % 1000003
    return s

@decorate
def some(n):
    s = set()
    for i in range(n):
        s.add(i * i % 7)
    return s
"""

STATEMENTS = [
    "d[{k}] = {v}",
    "d[{k}] += {v}",
    "e[{k}] = r",
    "r += d[{k}]",
    "r += d.get({k}, {v})",
    "r += e.get({k}) is None",
    "del d[{k}]",
    "r += d.pop({k})",
    "r += d.pop({k}, {v})",
    "k, v = d.popitem()\nr += k * 3 + v",
    "r += d.setdefault({k}, {v})",
    "d.update(e)",
    "e |= d",
    "e = d | e",
    "d.update([({k}, {v}), (1, 2)])",
    "e = d.copy()",
    "e = d",
    "e = dict(d)",
    "d.clear()",
    "e = {{k: v for k, v in d.items() if v != {v}}}",
    "e = {{{k}: {v}, 1: r, {v}: 2}}",
    "r += 1 if {k} in d else 2",
    "r += 1 if {k} not in e.keys() else 2",
    "r += 1 if {v} in d.values() else 2",
    "r += 1 if ({k}, {v}) in d.items() else 2",
    "r += len(d) + len(e.values())",
    "r += 1 if d == e else 5",
    "r += 1 if d != e else 5",
    "for k in d:\n    r = (r * 3 + k) % 1000003",
    "for k in d:\n    d[k] = r\n    r += 1",
    "for k in d:\n    if k > {k}:\n        e[k] = 1",
    "for k in d:\n    if k == {k}:\n        d.pop(k)",
    "for k, v in d.items():\n    r = (r + k * v) % 1000003",
    "for i, k in enumerate(d):\n    r = (r * 5 + i * k) % 1000003",
    "for k, v in zip(d, e.values()):\n    r = (r * 5 + v * k) % 1000003",
    "for x in map(lambda q: q + 1, d):\n    r += x",
    "r = (r + sum(d) + sum(e.values())) % 1000003",
    "r += max(d, default=3) + min(e.values(), default=4)",
    "if not d:\n    d[7] = 1",
    "while len(d) > {n}:\n    d.popitem()",
    "fill(d, {n})",
    "e = fill(made({n}), 2)",
    "r = (r + weigh(d)) % 1000003",
    "try:\n    r += d[{k}]\n    d[r] = 1\nexcept KeyError:\n    r += 100",
    "try:\n    del e[{k}]\nfinally:\n    d[{k}] = 1",
    "if n > {v}:\n    e = d\nelse:\n    e = {{1: 1}}",
    "s.add({k})",
    "s.discard({k})",
    "s.remove({k})",
    "s |= t",
    "s &= t",
    "s -= {{{k}, {v}}}",
    "s ^= t",
    "t = s | t",
    "t = s & {{{k}, 1, 2, 3}}",
    "t = s - t",
    "t = s ^ some({n})",
    "t = s.copy()",
    "t = s",
    "t = set(d)",
    "s.update(d, [{k}])",
    "t = s.union(range({n}), t)",
    "t = s.intersection(e)",
    "t = s.difference([{k}])",
    "t = s.symmetric_difference(t)",
    "s.difference_update(t)",
    "s.intersection_update(d)",
    "t = {{x * 2 for x in s if x > {v}}}",
    "r += (s <= t) + 2 * (s < t) + 4 * (s >= t) + 8 * (s > t) + 16 * (s == t) + 32 * (s != t)",
    "r += s.isdisjoint(t) + 2 * s.issubset(d) + 4 * s.issuperset([{k}])",
    "r += 1 if {k} in s else 3",
    "r = (r + sum(s) + len(t)) % 1000003",
    "for x in s:\n    if x == {k}:\n        s.add(r + 1000)",
    "for x in s:\n    r += x * x",
]

statement = st.builds(
    lambda text, k, n, v: text.format(k=k, n=n, v=v),
    st.sampled_from(STATEMENTS),
    st.sampled_from(["0", "1", "-1", "2", "n", "r % 5"]),
    st.sampled_from(["0", "1", "3", "n", "9"]),
    st.sampled_from(["0", "2", "-1", "n", "5"]),
)


def program(statements: list[str], first: str) -> str:
    body = textwrap.indent(
        "\n".join(
            [f"d = {first}", "e = {}", "e.update(d)", "s = {1, n}", "t = set(s)", "r = 0", *statements]
            + ["return d, e, s, t, r"]
        ),
        "    ",
    )
    return f"{HELPERS}\n@decorate\ndef f(n):\n{body}\n"


def functions(source: str, **options) -> dict:
    space = {
        "np": np,
        "prange": prange,
        "decorate": njit(**options) if options.pop("compiled", True) else lambda f: f,
    }
    name = f"<dicts {hash(source)} {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), space)
    return space


CALLER = """
@decorate
def caller(n):
    d, e, s, t, r = f(n)
    e[r] = n
    return d, e, s, t, r
"""

ROUNDS = """
@njit(parallel=True)
def rounds(n, out):
    for i in prange(len(out)):
        d, e, s, t, r = f(n)
        d[i] = 1
        out[i] = len(s) * 1000000 + len(t) * 1000 + r % 1000
    return out
"""


@settings(deadline=None, max_examples=70)
@given(
    st.lists(statement, min_size=1, max_size=9),
    st.sampled_from(["{}", "{3: 1, 1: 2, 2: 0}", "{n: 1}", "{x: n for x in range(n)}", "dict()"]),
    st.integers(0, 4),
)
def test_traces(statements, first, n):
    source = program(statements, first)
    want = outcome(functions(source, compiled=False)["f"], n)
    assert outcome(functions(source)["f"], n) == want, source


@settings(deadline=None, max_examples=25)
@given(st.lists(statement, min_size=1, max_size=6), st.integers(0, 4), st.sampled_from(["never", "always"]))
def test_traces_in_a_callee(statements, n, inline):
    source = program(statements, "{4: 5}") + CALLER
    want = outcome(functions(source, compiled=False)["caller"], n)
    assert outcome(functions(source, inline=inline)["caller"], n) == want, source


@settings(deadline=None, max_examples=12)
@given(st.lists(statement, min_size=1, max_size=5), st.integers(0, 4))
def test_traces_in_rounds_of_a_prange(statements, n):
    source = program(statements, "{4: 5}")
    python = functions(source, compiled=False)["f"]
    space = functions(source)
    space["njit"] = njit
    exec(ROUNDS, space)
    got, want = outcome(space["rounds"], n, np.zeros(20, np.int64)), outcome(python, n)
    if isinstance(want, tuple):
        assert got == want
    else:
        d, e, s, t, r = python(n)
        assert got == repr(np.full(20, len(s) * 1000000 + len(t) * 1000 + r % 1000)), source


# --- keys ---


KEYS = [
    True,
    2,
    2.0,
    2.5,
    -1,
    np.int8(3),
    np.uint64(2**63),
    np.float32(0.5),
    2**53 + 1,
    1e300,
    -0.0,
    math.nan,
]


def test_numbers_are_equal_across_types():
    @njit
    def ints(x):
        d = {1: 10, 2: 20, -1: 30, 2**53 + 1: 40, 0: 50}
        return x in d, d.get(x, 7), x in {1, 2, 0}

    @njit
    def floats(x):
        d = {1.0: 10, 2.5: 20, -1.0: 30, 2.0**53: 40, 0.0: 50, 1e300: 60}
        return x in d, d.get(x, 7), x in {0.5, 2.0}

    @njit
    def unsigned(x):
        d = {np.uint64(2): 10, np.uint64(2**63): 20}
        return x in d, d.get(x, 7)

    @njit
    def complexes(x):
        return x in {1 + 0j, 2j, 2.5 + 0j, 0j}, x in {True}

    for x in [*KEYS, 1 + 0j, 2j, 2 + 1j]:
        for f in ints, floats, unsigned, complexes:
            assert f(x) == f.py_func(x), (f, x)


def test_keys_that_are_never_found():
    @njit
    def f(x, n):
        d = {}
        for i in range(n):
            d[x] = i
        s = {x, x}
        return len(d), x in d, d.get(x), len(s), d == d.copy()

    assert f(math.nan, 3) == (3, False, None, 2, False)
    assert f(-0.0, 3) == (1, True, 2, 1, True)


def test_zeros_are_one_key_that_stays_as_it_came():
    def f(x, y):
        d = {x: 1}
        d[y] = 2
        s = {x, y}
        return d, len(s)

    same(f, -0.0, 0.0)
    same(f, 0.0, -0.0)


@pytest.mark.parametrize(
    "x", [True, 3, 2.5, 1 + 2j, np.int8(5), np.uint16(7), np.float32(0.1), np.complex64(1j)]
)
def test_kinds_of_keys_and_values(x):
    @njit
    def f(x):
        d = {x: x}
        for k in d:
            d[k] = x
        return d, {x}, {v: k for k, v in d.items()}, d.copy().popitem()

    v = x.item() if isinstance(x, np.generic) else x
    for part in f(x):
        assert part in ({v: v}, {v}, (v, v))
        assert {type(p) for p in (part.items() if isinstance(part, dict) else [(*part,)]) for p in p} == {
            type(v)
        }


def test_a_key_error_has_the_key():
    def f(x):
        return {1: 2}[x]

    def g(x):
        d = {2.5: 1}
        del d[x]

    def h(x):
        return {1, 2}.remove(x)

    def pops(x):
        return {1: 1}.pop(x)

    def empty(x):
        return {x}.copy().difference({x}).pop()

    for fn in f, g, h, pops, empty:
        for x in 7, 7.5, True:
            same(fn, x)


def test_what_has_no_hash():
    for body, said in [
        ("{np.ones(2): 1}", "unhashable type: 'numpy.ndarray'"),
        ("{1: 2}[[n]]", "unhashable type: 'list'"),
        ("{1, 2} == {{n}}", "unhashable type: 'set'"),
        ("np.ones(2) in {n}", "unhashable type: 'numpy.ndarray'"),
    ]:
        with pytest.raises(treadle.TypingError) as e:
            functions(f"@decorate\ndef f(n):\n    return {body}\n")["f"](1)
        assert said in str(e.value)


# --- what a dict is ---


def test_the_task():
    def f(a):
        counts = {}
        for x in a:
            counts[x] = counts.get(x, 0) + 1
        first = {}
        for i, x in enumerate(a):
            first.setdefault(x, i)
        return counts, first, max(counts.values()), {k for k in counts if counts[k] > 1}

    a = np.random.default_rng(5).integers(-20, 20, 300)
    got, want = njit(f)(a), f(a)
    assert got == want and [list(d) for d in got[:2]] == [list(d) for d in want[:2]]
    assert {type(k) for d in got[:2] for k in d} == {int}


def test_nothing_ever_comes_into_it():
    @njit
    def f():
        d, s, n = {}, set(), 0
        for k in d:
            n += d[k]
            d[k] = n
        for k, v in d.items():
            n += k + v
        for x in s | set():
            n += 1
        return d, s, n, len(d), not s, 1 in d, d == {}, s == set(), d.copy(), s & {1}

    assert f() == ({}, set(), 0, 0, True, False, True, True, {}, set())

    @njit
    def first(x):
        d = {}
        return d[x]

    with pytest.raises(KeyError):
        first(1)


def test_who_has_it_has_the_same_one():
    def f(n):
        d = {1: 2}
        e = d if n > 2 else {2: 3}
        e[n] = 5
        t = (d, e, d, {n}, [n])
        t[0][9] = 9
        return t

    for n in 1, 5:
        same(f, n)
    a, b, c, s, _ = njit(f)(5)
    assert a is b is c and type(s) is set
    a, b, c, s, _ = njit(f)(1)
    assert a is not b and a is c


def test_what_flows_in_later_and_elsewhere():
    @njit
    def put(d, k, v):
        d[k] = v

    @njit
    def make():
        return {}

    @njit
    def keep(s, x):
        s.add(x)
        return s

    @njit
    def f(n):
        d, given, s = {}, make(), set()

        def inner(k):
            d[k] = k / 2

        inner(n)
        put(d, n + 1, n)
        put(given, n * 0.5, True)
        return d, given, keep(s, n * 1j), make()

    assert repr(f(3)) == "({3: 1.5, 4: 3.0}, {1.5: True}, {3j}, {})"


def test_a_change_of_size_ends_an_iteration():
    def grows(n):
        d = {1: 1, 2: 2}
        for k in d:
            d[k + n] = 1
        return d

    def shrinks(n):
        s = {1, 2, 3}
        for x in s:
            s.discard(n)
        return s

    def behind(n):
        d = {1: 1, 2: 2}
        r = 0
        for k, v in zip(d.values(), map(lambda x: d.setdefault(x * n, 1), [7, 8, 9])):
            r += k * v
        return r

    for fn in grows, shrinks, behind:
        for n in 0, 1, 2, 7:
            same(fn, n)


def test_keys_that_come_and_go_end_an_iteration():
    """As many as there were at first are given, and no more: what replaces its keys as it goes comes to an end."""

    def renames(n):
        d = {1: 1, 2: 2, 3: 3}
        seen = []
        try:
            for k in d:
                seen.append(k)
                d[k + 10] = d.pop(k)
        except RuntimeError as e:
            seen.append(len(str(e)))
        return seen, d

    def of_one(n):
        d = {n: 1}
        for k, v in d.items():
            d[k + 1] = v
            d.pop(k)
        return d

    def not_yet_given(n):
        d = {1: 1, 2: 2, 3: 3}
        seen = []
        for k in d.values():
            seen.append(k)
            if k == n:
                d[9] = 9
                del d[3]
        return seen, d

    def leaves(n):
        d = {k: k for k in range(n)}
        for k in d:
            if k * 2 > n:
                d[-1] = d.pop(k)
                break
        return d, [k for k in d]

    def one_by_one(n):
        d = {1: 1, 2: 2}
        it = iter(d)
        next(it)
        d[3] = d.pop(1)
        next(it)
        return next(it, 7)

    for fn in renames, of_one, not_yet_given, leaves, one_by_one:
        for n in 0, 1, 2, 3:
            same(fn, n)


def test_an_iterator_of_its_own():
    def f(n):
        d = {3: 1, 1: 2, 2: 4}
        it = iter(d)
        a = next(it)
        b = next(it)
        rest = 0
        for k in it:
            rest += k
        return a, b, rest, next(it, -1), [k * v for k, v in d.items()], sum(k for k in d if k > n)

    same(f, 1)


def test_entries_that_left():
    def f(n):
        d = {}
        for i in range(n):
            d[i] = i
            if i % 3:
                del d[i - 1]
        out = []
        for k, v in d.items():
            out.append(k)
            out.append(v)
        for i, k in enumerate(d):
            out.append(i - k)
        it = iter(d.values())
        for v in it:
            out.append(v)
            out.append(next(it, -1))
        return out, d, len(d)

    for n in 0, 1, 2, 10, 100, 1000:
        same(f, n)


def test_an_exception_leaves_what_was_done():
    @njit
    def g(d, n):
        for i in range(n):
            d[i] = i
            if i == 3:
                raise ValueError(i)

    @njit
    def f(n):
        d = {}
        try:
            g(d, n)
        except ValueError:
            d[-1] = 0
        return d

    assert f(10) == {0: 0, 1: 1, 2: 2, 3: 3, -1: 0} and f(2) == {0: 0, 1: 1}


def test_recursion():
    @njit
    def fib(n, known):
        if n < 2:
            return n
        if n not in known:
            known[n] = fib(n - 1, known) + fib(n - 2, known)
        return known[n]

    @njit
    def f(n):
        return fib(n, {})

    assert f(80) == 23416728348467685


def test_blocks_go_where_they_came_from():
    @njit
    def f(n):
        s = 0
        for i in range(n):
            d = {i: 1}
            for k in range(i):
                d[k * 7] = k
            e, t = d.copy(), {x for x in d if x > 3}
            if i % 7 == 6:
                try:
                    s += e[-1]
                except KeyError:
                    s += 1
            t |= {1, 2}
            s += len(e | d) + len(t)
        return s, [s], d

    f(10)
    before = treadle.stats()
    f(300)
    with pytest.raises(KeyError):
        njit(lambda n: {n: 1}.pop(4))(1)
    after = treadle.stats()
    made = {k: after[k] - before[k] for k in ("arrays_allocated", "arrays_freed")}
    assert made["arrays_allocated"] > 500 and made["arrays_allocated"] == made["arrays_freed"], made


def test_large_tables():
    @njit
    def f(n):
        d, s = {}, 0
        for i in range(n):
            d[i * 7919 % 1000003] = i
        for i in range(0, n, 2):
            del d[i * 7919 % 1000003]
        for k, v in d.items():
            s += k ^ v
        return s, len(d)

    assert f(300_000) == (sum(i * 7919 % 1000003 ^ i for i in range(1, 300_000, 2)), 150_000)


# --- parallel ---


def test_tables_of_a_prange():
    @njit(parallel=True)
    def f(n):
        d, s = {}, {1, 2}
        for i in range(n):
            d[i] = i * i
        out = np.zeros(n, np.int64)
        for i in prange(n):
            own = {}
            for k in d:
                if k <= i and k not in s:
                    own[k % 5] = d[k]
            out[i] = sum(own.values()) + len(own)
        return out

    assert (f(60) == f.py_func(60)).all()


@pytest.mark.parametrize(
    "how",
    [
        "d[i] = 1",
        "d.pop(i, 0)",
        "put(d, i)",
        "e = d\n        e.clear()",
        "s.add(i)",
        "t = (s, i)\n        t[0].discard(i)",
    ],
)
def test_a_table_of_all_rounds_keeps_its_keys(how):
    space = functions(
        f"@decorate\ndef put(d, x):\n    d[x] = x\n\n"
        f"@decorate\ndef f(n):\n    d = {{1: 2}}\n    s = {{1}}\n    for i in prange(n):\n        {how}\n    return d, s\n",
        parallel=True,
    )
    with pytest.raises(treadle.UnsupportedError, match="longer or shorter in a prange loop") as e:
        space["f"](3)
    assert "made before it" in str(e.value)


def test_what_is_given_where_there_is_no_entry():
    def f(n):
        d = {1: [n]}
        d[1].append(2)
        x = d.pop(1, [])
        y = d.pop(1, [7])
        y.append(n)
        return x, y, d.get(5, [7, n]), d.get(5, [])

    same(f, 3)


def test_an_empty_dict_becomes_what_is_made_of_what_is_given_instead():
    def f(text, n):
        words, rows, pairs, floats = {}, {}, {}, {}
        for c in text:
            k = ord(c) % 4
            words[k] = words.get(k, "") + c
            rows[k] = rows.get(k, []) + [n]
            a, b = pairs.get(k, (0, "-"))
            pairs[k] = (a + 1, b + c)
            floats[k] = floats.get(k, 0) + 0.5
        return words, rows, pairs, floats

    same(f, "abcdefgh", 3)
    same(f, "", 3)


# --- refused ---


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("d = {}\n    d[abs, 1] = 1\n    return d", "as a key"),
        ("for x in reversed({1, 2}):\n        n += x\n    return n", "'set' object is not reversible"),
        ("return {1: 2}.values() & {1}", "unsupported operand"),
        ("return {1: 2} < {1: 3}", "unsupported operand types for <: dict(int64, int64) and"),
        ("return {1} + {2}", "unsupported operand"),
        ("return {1: 2}.nope()", "nope"),
        ("s = {1}\n    return s[0]", "cannot be indexed"),
    ],
)
def test_what_is_refused_by_name(body, said):
    space = functions(f"@decorate\ndef f(n):\n    {body}\n")
    with pytest.raises(treadle.TreadleError) as e:
        space["f"](1)
    assert said in str(e.value)


def test_keys_without_a_common_type_name_both_lines():
    def f(n):
        d = {}
        d[n] = 1  # first
        d[np.uint64(3)] = 2  # second
        return d

    line = f.__code__.co_firstlineno
    with pytest.raises(treadle.TypingError) as e:
        njit(f)(1)
    text = str(e.value)
    assert "no type in common: uint64, and int64" in text
    assert f"line {line + 2}" in text and f":{line + 3}" in text


# --- in a second process ---

CACHED = """
import sys
import numpy as np
from treadle import njit

@njit(cache=True)
def f(n):
    d = {}
    for i in range(n):
        d[i * 0.5] = i
    del d[1.0]
    return d, {k for k in d if k > 1}, d.pop(0)

print(repr(f(5)), sum(f.stats.cache_hits.values()) if hasattr(f.stats, "cache_hits") else "")
"""


def test_from_the_cache_in_a_second_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "dicts_cached.py"
    path.write_text(CACHED)
    texts = [
        subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert texts[1].endswith(" 1\n") and all(
        t.startswith("({0.5: 1, 1.5: 3, 2.0: 4}, {1.5, 2.0}, 0)") for t in texts
    ), texts


KERNELS = """
import numpy as np
import treadle
from treadle import cuda

@cuda.jit
def dicts(a):
    d = {1: 2}
    a[0] = d[1]

@cuda.jit
def sets(a):
    a[0] = len({1, 2})

for kernel in dicts, sets:
    try:
        kernel[1, 1](np.zeros(1))
    except treadle.UnsupportedError as e:
        print("in kernels" in str(e))
"""


def test_kernels_have_none(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CUDA", "emu")
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.stdout == "True\nTrue\n", done.stdout + done.stderr


def test_pairs_of_integers():
    def f(n, x):
        d, s = {}, {(n, 1)}
        for i in range(n):
            for j in range(i):
                d[i, j] = i * j
                s.add((j, i))
        r = 0
        for i, j in d:
            r = (r * 3 + i * 100 + j) % 1000003
        for (i, j), v in d.items():
            r += v - ((j, i + x) in s)
        d[0, 0] = 7
        del d[1, 0]
        out = r, (2, 1) in d, (2.0, 1.0) in d, (2.5, 1) in d, 3 in d, d.get((5, 5)), d.pop((2, x), 4)
        return out, d, {(k, k + 1) for k in range(3)}, s

    def missing(i, j):
        return {(1, 2): 3}[i, j]

    for n in 0, 1, 2, 5, 40:
        same(f, n, 0)
        same(f, n, 1)
    for at in (1, 2), (1, 3), (1.0, 2.0), (0.5, 2):
        same(missing, *at)


# --- displays that a function gives, or is given ---


def record(n):
    return {"a": n, "b": n * 2}


@pytest.mark.parametrize(
    "body",
    [
        "d = record(n)\n    d['c'] = 5\n    return d, record(n)",
        "d = record(n) if n > 2 else record(n + 1)\n    del d['a']\n    for k in range(n):\n        d[str(k)] = k\n    return d",
        "d = through(n)\n    d.pop('a')\n    return d",
        "def g(t): return {('a' + 'b'): t < 3}\n    d = g(n)\n    d.update(dict({'x': True}))\n    return d",
        "def g(k): return {'a': k} if k < 2 else g(k - 1)\n    d = g(n)\n    d['b'] = 2\n    return d",
        "d = mixed(n)\n    return d['a'], d['b'], d",
    ],
)
def test_a_display_that_a_function_gives(body):
    """Is a dict where who calls it changes it, and a record of values of any types where not."""
    space = {"record": njit(record)}
    exec(
        "def through(n):\n    return record(n)\n"
        "def mixed(n):\n    return {'a': n, 'b': 'x'}\n"
        f"def f(n):\n    {body}\n",
        space,
    )
    plain = {**space, "record": record}
    exec(f"def f(n):\n    {body}\n", plain)
    for n in 0, 1, 3:
        assert outcome(njit(space["f"]), n) == outcome(plain["f"], n)


def test_tuples_of_displays_beside_what_was_given():
    def anew(s, n):
        s = ([], {}) if n else s
        s[0].append(n)
        s[1]["k"] = n
        return s

    def later(s, n):
        for i in range(n):
            if i % 2:
                s = ([i], {"a": i})
        return s[0][0], s[1]["a"]

    for fn in anew, later:
        for n in 0, 3:
            assert outcome(njit(fn), ([1], {"a": 3}), n) == outcome(fn, ([1], {"a": 3}), n)


def test_comprehensions_as_values_of_what_is_in_a_dict():
    """What is assigned to is found behind what is assigned, so that the type of this waits for that."""

    def rows(n):
        d = {}
        for i in range(n):
            d[i] = {}
            d[i]["a"] = [i * k for k in range(i)]
        return d

    def shared(n):
        d = {"a": {"c": [1]}}

        def get():
            return d

        get()["a"]["b"] = [x * 2 for x in range(n)]
        return d

    for n in 0, 1, 4:
        same(rows, n)
        same(shared, n)


@pytest.mark.parametrize(
    "body",
    [
        "return dict(kv.split('=') for kv in a if kv)",
        "return dict([[1, 2], [3, 4], [1, 5]]), dict([[1.5, 2.0]])",
        "return OrderedDict(kv.split('=')[:2] for kv in a if '=' in kv)",
        "return dict(map(str.split, ['x 1', 'y 2'])), dict(['ab', 'cd'])",
        "d = {'c': '0'}; d.update(kv.split('=') for kv in a); return d",
        "d = {'c': '0'}\ntry: d.update(kv.split('=') for kv in a)\nexcept ValueError as e: d['e'] = str(e)\nreturn d",
        "return dict(['ab', 'c'])",
    ],
)
@pytest.mark.parametrize("given", [["a=b", "c=d"], ["a=b", "c=d=e"], ["a=b", "c"], []])
def test_pairs_that_are_lists(body, given):
    space = {"np": np, "OrderedDict": OrderedDict}
    exec("def f(a):\n" + textwrap.indent(body, "    "), space)
    try:
        want = space["f"](given)
    except ValueError as e:
        with pytest.raises(ValueError) as got:
            njit(space["f"])(given)
        assert str(got.value) == str(e)
    else:
        got = njit(space["f"])(given)
        assert got == want and repr(got) == repr(want)
