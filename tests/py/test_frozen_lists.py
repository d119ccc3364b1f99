"""Lists, dicts and sets that are globals, or variables of an enclosing function: what they hold when the function compiles, and only read.

Small ones are written out; those of `LARGE` are constants in memory.
"""

from __future__ import annotations

import bisect
import copy
import gc
import heapq
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange

NUMBERS = [2, 3, 5, 7]
MIXED = [1, 2.5, (3, 4)]
NESTED = [[1, 2], [3, 4]]
PAIRS = [(1, 2.5), (3, 4.0)]
NAMES = ["b", "a"]
NOTHING = []
RATES = {"slow": 1, "fast": 2.5, "steps": [1, 2, 3]}
MANY = list(range(500))
RAGGED = [[1, 2], [3], []]
WORDS = [(k, f"w{k}") for k in range(150)]
ARRAYS = [np.arange(3.0) + k for k in range(120)]
SQUARES = {k: k * 0.5 for k in range(300)}
PLACES = {(0, 1): "x", (1, 2): "y"}
WORDED = {("a", 1): 5.0, ("b", 2): 6.0}
MAYBE = {(1, None): 1, (2, 3): 2}
DAYS = {np.datetime64("2020-01-01"): 1}
ROWS = {1: [1], 2: [2, 3]}
COUNTS = {f"k{k}": k for k in range(200)}
NESTED_DICT = {1: {"a": 1}, 2: {"b": 2, "c": 3}}
PRIMES = {2, 3, 5, 7}
LARGE = {"MANY", "RAGGED", "WORDS", "ARRAYS", "SQUARES", "PLACES", "ROWS", "COUNTS", "NESTED_DICT", "PRIMES"}
MIXED_MANY = [1, "a"] * 60
MIXED_DICT = {1: "a", 2: 3}
ITSELF = [1]
ITSELF.append(ITSELF)


def at(i):
    return NUMBERS[i], NUMBERS[-1], NESTED[i % 2][1], PAIRS[i % 2][1], MIXED[2][0]


def walked():
    s = 0
    for k, x in enumerate(NUMBERS):
        s += k * x
    for a, b in PAIRS:
        s += a * b
    for row in NESTED:
        for x in row:
            s = s * 2 + x
    for _ in NOTHING:
        s = -1
    return s


def asked(x):
    return x in NUMBERS, len(NUMBERS), len(NOTHING), sum(NUMBERS), max(NUMBERS), bool(NUMBERS), bool(NOTHING)


def made_arrays():
    return np.array(NUMBERS) * 2, np.array(NESTED), np.zeros(3)[NUMBERS[:1]].size


def rates(kind):
    r = RATES["fast"] if kind else RATES["slow"]
    return r + RATES["steps"][1], len(RATES), "slow" in RATES, RATES.get("none", -1)


def of_enclosing():
    table = [0.5, 1.5]

    def f(i):
        return table[i] * 2

    return f


@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"inline": "always"}, {"cache": True}])
def test_are_read(options):
    for f, args in (
        (at, (1,)),
        (walked, ()),
        (asked, (5,)),
        (asked, (6,)),
        (rates, (True,)),
        (rates, (False,)),
    ):
        assert njit(**options)(f)(*args) == f(*args)
    for got, want in zip(njit(**options)(made_arrays)(), made_arrays(), strict=True):
        np.testing.assert_array_equal(got, want)
    f = of_enclosing()
    assert njit(**options)(f)(1) == f(1)


def test_in_a_prange_and_a_ufunc():
    @njit(parallel=True)
    def f(n):
        out = np.zeros(n)
        for i in prange(n):
            out[i] = NUMBERS[i % 4] * RATES["fast"]
        return out

    np.testing.assert_array_equal(f(100), f.py_func(100))

    @treadle.vectorize
    def g(i):
        return NUMBERS[i] + 0.5

    np.testing.assert_array_equal(g(np.arange(4)), np.array(NUMBERS) + 0.5)


def test_places_past_the_end():
    with pytest.raises(IndexError, match="^list index out of range$"):
        njit(lambda i: NUMBERS[i])(4)
    with pytest.raises(IndexError, match="^list index out of range$"):
        njit(lambda i: [1, 2][i])(2)


def test_what_it_is_then_counts():
    values = [1, 2]

    @njit
    def f():
        return values[0]

    assert f() == 1
    values[0] = 5
    assert f() == 1
    f.recompile()
    assert f() == 5


CHANGES = {
    "append": "NUMBERS.append(1)",
    "clear": "NUMBERS.clear()",
    "pop": "NUMBERS.pop()",
    "store": "NUMBERS[0] = 1",
    "store under a name": "RATES['slow'] = 2",
    "append to many": "MANY.append(1)",
    "store into many": "MANY[0] = 1",
    "sort many": "MANY.sort()",
    "reverse many": "MANY.reverse()",
    "delete of many": "del MANY[0]",
    "a slice of many": "MANY[1:3] = [1]",
    "another name": "x = MANY; x.append(1)",
    "in place": "x = MANY; x += [1]",
    "a row": "RAGGED[0].append(1)",
    "an item of a row": "RAGGED[0][0] = 1",
    "each row": "for r in RAGGED: r.append(1)",
    "a key": "SQUARES[1] = 2.0",
    "a key in a loop": "for k in SQUARES: SQUARES[k] = 1.0",
    "update": "SQUARES.update({1: 2.0})",
    "setdefault": "SQUARES.setdefault(1, 2.0)",
    "pop of a dict": "SQUARES.pop(1)",
    "a value": "ROWS[1].append(1)",
    "values": "for v in ROWS.values(): v.append(1)",
    "add": "PRIMES.add(1)",
    "discard": "PRIMES.discard(2)",
    "clear a set": "PRIMES.clear()",
    "in place a set": "x = PRIMES; x |= {1}",
    "in a function that it is passed to": "append(MANY)",
    "heapq": "heapq.heappush(MANY, 1)",
    "bisect": "bisect.insort(MANY, 1)",
}


@njit
def append(x):
    x.append(1)


@pytest.mark.parametrize("change", CHANGES)
def test_may_not_be_changed(change):
    space = {**globals(), "heapq": heapq, "bisect": bisect}
    before = copy.deepcopy({name: space[name] for name in LARGE - {"ARRAYS"}})
    exec(f"def f():\n    {CHANGES[change]}\n", space)
    with pytest.raises(
        treadle.TypingError, match=r"is only read in compiled code(.|\n)*pass it as an argument"
    ):
        njit(space["f"])()
    assert NUMBERS == [2, 3, 5, 7]
    assert before == {name: space[name] for name in before}


def test_the_error_names_it():
    with pytest.raises(treadle.TypingError, match="the list 'MANY', a global or a variable of an enclosing"):
        njit(lambda: MANY.append(1))()
    with pytest.raises(treadle.TypingError, match="the dict 'ROWS', a global"):
        njit(lambda: ROWS.clear())()
    with pytest.raises(treadle.TypingError, match="the set 'PRIMES', a global"):
        njit(lambda: PRIMES.add(1))()


READ = """
MANY[i], MANY[-1], len(MANY), sum(MANY), max(MANY), min(MANY)
7 in MANY, -1 in MANY, MANY.index(77), MANY.count(5), bool(MANY)
MANY[2:8:3], MANY[:3], list(MANY)[4], MANY.copy()[5], MANY + [1], (MANY * 2)[-1]
[x for x in MANY if x % 100 == 0], [x for x in reversed(MANY)][0], sorted(MANY, reverse=True)[0]
MANY == list(range(500)), MANY is MANY, isinstance(MANY, list)
np.sum(MANY), np.array(MANY).mean(), np.asarray(MANY)[3], np.max(MANY)
len(RAGGED), len(RAGGED[i]), [len(r) for r in RAGGED], RAGGED[0][1], sum([sum(r) for r in RAGGED])
RAGGED == [[1, 2], [3], []], [list(r) for r in RAGGED], str(RAGGED), sorted(RAGGED, key=len)[0] == []
WORDS[i], WORDS[i + 3][1], [k for k, s in WORDS if s == "w7"], f"{WORDS[3]}", (3, "w3") in WORDS
ARRAYS[i][1], len(ARRAYS), ARRAYS[3].sum(), sum([a[0] for a in ARRAYS])
SQUARES[i], SQUARES.get(i), SQUARES.get(-1), SQUARES.get(-1, 0.25), len(SQUARES), 299 in SQUARES, 300 in SQUARES
sum(SQUARES.values()), [k for k in SQUARES][5], [k * v for k, v in SQUARES.items()][7], list(SQUARES.keys())[8]
dict(SQUARES) == SQUARES, SQUARES.copy()[3], len({**SQUARES, -1: 1.0}), min(SQUARES, key=lambda k: -SQUARES[k])
PLACES[i, 2], PLACES[(0, 1)], (1, 2) in PLACES, (5, 5) in PLACES, PLACES.get((i, i), "none"), str(PLACES)
WORDED["a", i], ("b", i + 1) in WORDED, ("b", i) in WORDED, MAYBE[1, None], MAYBE[2, i + 2], (i, None) in MAYBE
DAYS[np.datetime64("2020-01-01")], np.datetime64("2020-01-02") in DAYS
len(ROWS[i + 1]), ROWS[2][1], [sum(v) for v in ROWS.values()], i in ROWS, ROWS == {1: [1], 2: [2, 3]}
COUNTS["k7"], COUNTS[f"k{i}"], COUNTS.get("none", -1), "k199" in COUNTS, sorted(COUNTS)[0]
NESTED_DICT[i]["a"], len(NESTED_DICT[2]), NESTED_DICT[2]["c"], "b" in NESTED_DICT[i + 1]
i in PRIMES, 7 in PRIMES, len(PRIMES), sorted(PRIMES), sum([x for x in PRIMES]), bool(PRIMES), 2.0 in PRIMES
PRIMES | {11}, PRIMES & {2, 11}, {2, 11} - PRIMES, PRIMES == {2, 3, 5, 7}, PRIMES.union([1]), set(PRIMES)
PRIMES <= {1, 2, 3, 5, 7}, PRIMES.isdisjoint([1]), {p: p for p in PRIMES}
COUNTS["k" + str(i)] + RATES["fast" if i else "slow"], ("a" if i else "slow") in RATES
NAMED["b" if i else "a"], NAMED.get("c" if i else "a", 7), NAMED.get("c" if i else "a"), ("b" if i else "z") in NAMED
""".strip().splitlines()
NAMED = {"a": 1, "b": 2}
# one whose values have several types is asked with a name that is known
READ = [row.replace('RATES["fast" if i else "slow"]', 'RATES["fast"]') for row in READ]


def same(a, b):
    assert type(a) is type(b) or isinstance(a, np.generic) or isinstance(b, np.generic)
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b


@pytest.mark.parametrize("row", READ)
def test_large_ones_are_read(row):
    space = dict(globals())
    exec(f"def f(i):\n    return {row}\n", space)
    for options in {}, {"parallel": True}:
        same(njit(**options)(space["f"])(1), space["f"](1))


def test_their_errors():
    with pytest.raises(IndexError, match="^list index out of range$"):
        njit(lambda i: MANY[i])(500)
    with pytest.raises(KeyError, match="^301$"):
        njit(lambda i: SQUARES[i])(301)
    with pytest.raises(KeyError, match="^'x1'$"):
        njit(lambda i: COUNTS["x" + str(i)])(1)
    with pytest.raises(KeyError, match="^'x1'$"):
        njit(lambda i: NAMED["x" + str(i)])(1)


@pytest.mark.parametrize("name", ["MANY", "RAGGED[0]", "SQUARES", "PRIMES", "{1: RAGGED[0]}", "[MANY]"])
def test_are_not_returned(name):
    space = dict(globals())
    exec(f"def f():\n    return {name}\n", space)
    with pytest.raises(treadle.TypingError, match=r"cannot hand to Python(.|\n)*is a copy in compiled code"):
        njit(space["f"])()


def test_large_ones_in_a_prange_a_ufunc_and_passed_on():
    @njit(parallel=True)
    def f(a):
        s = 0.0
        for i in prange(a.size):
            s += SQUARES[a[i]] + len(RAGGED[i % 3]) + MANY[i]
        return s

    a = np.arange(300)
    assert f(a) == f.py_func(a)

    @treadle.vectorize
    def g(i):
        return SQUARES[i] + MANY[i] + (i in PRIMES)

    np.testing.assert_array_equal(g(a[:9]), [SQUARES[i] + MANY[i] + (i in PRIMES) for i in range(9)])

    @njit
    def first(x, i):
        return x[i]

    @njit(fastmath=True)
    def h(i):
        return first(MANY, i) + first([1, 2], 0) + first(SQUARES, i)

    assert h(4) == 7.0


def test_each_closure_has_its_own():
    def make(table):
        @njit
        def f(x):
            return table.get(x, -1)

        return f

    fs = [make({k: k + n for k in range(120)}) for n in range(3)]
    gc.collect()
    assert [f(5) for f in fs] == [5, 6, 7]
    assert [f(500) for f in fs] == [-1, -1, -1]
    del fs
    gc.collect()


def test_by_many_threads():
    @njit(nogil=True)
    def f(n):
        s = 0
        for i in range(n):
            for x in RAGGED[i % 3]:
                s += x
            for v in ROWS[1 + i % 2]:
                s += v
        return s

    want, got = f.py_func(3000), []
    threads = [threading.Thread(target=lambda: got.extend(f(3000) for _ in range(50))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == [want] * 200


TABLES = st.one_of(
    st.lists(st.integers(-9, 9), min_size=101, max_size=130),
    st.lists(st.lists(st.sampled_from(["a", "b", ""]), max_size=3), min_size=2, max_size=120),
    st.dictionaries(st.integers(-9, 9), st.text("xy", max_size=2), min_size=1),
    st.dictionaries(st.tuples(st.text("ab", max_size=1), st.booleans()), st.floats(-2, 2), min_size=1),
    st.dictionaries(st.floats(-4, 4), st.lists(st.integers(0, 9), min_size=1, max_size=2), min_size=1),
    st.sets(st.text("ab", max_size=3), min_size=1),
)


@settings(max_examples=25, deadline=None)
@given(TABLES)
def test_against_cpython(table):
    @njit
    def f():
        s = ""
        for x in table:
            s += str(x) + ";"
        return s, len(table)

    @njit
    def g():
        return str(sorted(table.items()))

    @njit
    def h(keys):
        return [k in table for k in keys], [table[k] == table[k] for k in keys if k in table]

    got = f()
    assert got[1] == len(table)
    if isinstance(table, set):
        assert sorted(got[0].split(";")) == sorted(";".join(table).split(";") + [""])
        return
    assert got == f.py_func()
    if isinstance(table, dict):
        assert g() == g.py_func()
        assert h(list(table)) == h.py_func(list(table))


PROGRAM = """
from treadle import njit
TABLE = {f"k{k}": [k, k + 1] for k in range(N)}
@njit(cache=True)
def f(k):
    return TABLE[k][1], len(TABLE)
print(f("k7"), f.stats["loaded"])
"""


def test_from_the_cache(tmp_path):
    def run(n):
        (tmp_path / "m.py").write_text(PROGRAM.replace("N)", f"{n})"))
        env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
        r = subprocess.run([sys.executable, tmp_path / "m.py"], env=env, capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
        return r.stdout

    assert run(150) == "(8, 150) 0\n"
    assert run(150) == "(8, 150) 1\n"
    assert run(160).startswith("(8, 160)")  # other items, the same code


def test_what_has_no_type_is_refused():
    with pytest.raises(treadle.TreadleError, match="a list of 120 items that have no type in common"):
        njit(lambda i: MIXED_MANY[i])(3)
    with pytest.raises(treadle.TreadleError, match="a dict of 2 items that have no type in common"):
        njit(lambda i: MIXED_DICT[i])(1)


def test_large_ones_in_a_kernel_are_refused():
    @treadle.cuda.jit
    def k(out):
        out[0] = SQUARES[1]

    with pytest.raises(treadle.UnsupportedError, match="lists in kernels"):
        k[1, 1](np.zeros(1))


def test_those_in_themselves_are_refused():
    with pytest.raises(treadle.TreadleError, match="have no common type"):
        njit(lambda i: ITSELF[1][i])(3)
    assert njit(lambda i: ITSELF[0])(3) == 1


def test_in_a_kernel():
    @treadle.cuda.jit
    def k(out):
        i = treadle.cuda.grid(1)
        if i < out.size:
            out[i] = NUMBERS[i % 4] + RATES["fast"]

    out = np.zeros(8)
    k[1, 8](out)
    np.testing.assert_array_equal(out, [NUMBERS[i % 4] + 2.5 for i in range(8)])
