"""Lists of lists, tuples, arrays and None: what CPython makes of the same function, drawn at random, and that every
block is given back."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lists import functions, outcome, same
from treadle import njit

HELPERS = """
@decorate
def grown(m, v):
    m.append([v, v])
    m[0].append(v)
    return m

@decorate
def row_of(n):
    return [n] * 2

@decorate
def longest(m):
    best = None
    for row in m:
        if best is None or len(row) > len(best):
            best = row
    return best
"""

STATEMENTS = [
    "m.append([{v}])",
    "m[{i}].append({v})",
    "m.append(m[{i}])",
    "m[{i}] = [{v}, r]",
    "m[{i}] = m[{j}]",
    "x = m.pop({i})\nr += len(x)\nm.append(x)",
    "r += len(m.pop())",
    "m.insert({i}, [n])",
    "m.reverse()",
    "m = m[{i}:]",
    "m = m[::-2]",
    "m[{i}:{j}] = [[{v}], [r]]",
    "m[{i}:{j}] = m",
    "m[::2] = m[::2]",
    "m[1:3] = [row_of(n) for k in range({v})]",
    "del m[{i}]",
    "del m[{i}:{j}]",
    "del m[::2]",
    "del m[{j}::-2]",
    "m += [[{v}]]",
    "m.extend(m[:3])",
    "m = m[:4] * 2",
    "m[4:] = []\nm *= {v}",
    "m = m.copy()",
    "m = list(m)",
    "for row in m:\n    for x in row:\n        r = (r * 3 + x) % 1000003",
    "for row in m[:]:\n    row.append(1)",
    "for k, row in enumerate(m):\n    if k < 3:\n        m[k] = row[:1]",
    "for row in reversed(m):\n    r = (r * 5 + len(row)) % 1000003",
    "for a, b in zip(m, p):\n    r += len(a) + b[0]",
    "m.sort()",
    "m.sort(reverse=True)",
    "m.sort(key=lambda row: len(row))",
    "m = sorted(m, key=lambda row: -len(row), reverse=True)",
    "try:\n    r += m.index([{v}])\nexcept ValueError:\n    r += 9",
    "try:\n    m.remove([{v}])\nexcept ValueError:\n    r += 7",
    "r += m.count([{v}])",
    "if [{v}] in m:\n    r += 1",
    "a, *b = m\nr += len(b)\nb.append(a)\nm = b",
    "x, y = m[:2]\nr += len(x) - len(y)",
    "m[0], m[-1] = m[-1], m[0]",
    "p.append((r, n * 0.5))",
    "for a, b in p:\n    r += a",
    "p[{i}] = ({v}, 1.5)",
    "p.sort()",
    "p = sorted(p, key=lambda t: t[1])",
    "r += p.pop()[0]",
    "q = [(k, row) for k, row in enumerate(m)]\nr += len(q[0][1])",
    "m = [row + [{v}] for row in m if row]",
    "m = [[x for x in row if x > {v}] for row in m]",
    "r += 1 if m == m[::-1] else 2",
    "r += 1 if m < m[1:] else 2",
    "r += 1 if p >= p[1:] else 2",
    "try:\n    m[{i}].append(m[{j}][0])\nexcept IndexError:\n    r += 100",
    "try:\n    w = [m]\n    w[{i}][{j}] = [r]\nfinally:\n    r += 1",
    "m = grown(m, {v})",
    "m.append(row_of({v}))",
    "o.append(longest(m) is None)",
    "o.append(None)",
    "for k in range({v}):\n    a = m[0]\n    m[0] = m[-1]\n    m[-1] = a",
    "w = [m, m[1:]]\nw[0].append([r])\nr += len(w[1])",
    "while len(m) > 2:\n    last = m.pop()\n    m[0].append(len(last))",
]

statement = st.builds(
    lambda text, i, j, v: text.format(i=i, j=j, v=v),
    st.sampled_from(STATEMENTS),
    st.sampled_from(["0", "1", "-1", "-3", "n", "r % 5"]),
    st.sampled_from(["0", "1", "-1", "n"]),
    st.sampled_from(["0", "2", "n", "3"]),
)


def program(statements: list[str]) -> str:
    lines = ["m = [[1], [2, n], []]", "p = [(0, 0.5)]", "o = []", "r = 0", *statements, "return m, p, o, r"]
    return f"{HELPERS}\n@decorate\ndef f(n):\n{textwrap.indent(chr(10).join(lines), '    ')}\n"


def held() -> int:
    gc.collect()
    s = treadle.stats()
    return s["arrays_allocated"] - s["arrays_freed"]


@settings(deadline=None, max_examples=50)
@given(st.lists(statement, min_size=1, max_size=8), st.integers(0, 4))
def test_traces(statements, n):
    source = program(statements)
    want = outcome(functions(source, compiled=False)["f"], n)
    f, before = functions(source)["f"], held()
    assert outcome(f, n) == want, source
    assert held() == before, source


CALLER = """
@decorate
def caller(n):
    try:
        m, p, o, r = f(n)
    except (IndexError, ValueError):
        return [[0]], 1
    m.append([r])
    return m, r
"""


@settings(deadline=None, max_examples=20)
@given(st.lists(statement, min_size=1, max_size=6), st.integers(0, 4), st.sampled_from(["never", "always"]))
def test_traces_of_a_callee_that_may_raise(statements, n, inline):
    source = program(statements) + CALLER
    want = outcome(functions(source, compiled=False)["caller"], n)
    f, before = functions(source, inline=inline)["caller"], held()
    assert outcome(f, n) == want, source
    assert held() == before, source


# --- what items may be ---


def test_arrays_are_what_they_were():
    def f(a, b):
        l = [a, b[::2]]
        l.append(a)
        s = 0.0
        for x in l:
            s += x[0]
            x[0] = 5.0
        l[1] = l[0]
        return l, s

    a, b = np.arange(4.0), np.arange(6.0)
    l, s = njit(f)(a, b)
    assert l[0] is a and l[1] is a and l[2] is a and s == 5.0 and b[0] == 5.0

    @njit
    def made(n):
        l = []
        for k in range(n):
            l.append(np.full(k, k * 0.5))
        return l, l[1]

    before = held()
    l, one = made(4)
    assert [x.tolist() for x in l] == [[], [0.5], [1.0, 1.0], [1.5, 1.5, 1.5]] and one.tolist() == [0.5]
    assert held() == before + 4
    del l, one
    assert held() == before


def test_items_of_many_kinds():
    def f(n):
        o = [None, n]
        o.append(None)
        t = [(n, (True, 1.5)), (2, (False, 2.5))]
        t.append(t[0])
        d = [[[[n]]]]
        d[0][0][0].append(1)
        d[0].append(d[0][0])
        e = [[]]
        e.append([])
        mixed = [(1, [n]), (2, [])]
        mixed[1][1].append(3)
        return o, t, d, e, mixed, [], [[]], t[0][1]

    same(f, 3)


def test_values_that_may_be_none_are_items():
    def f(n):
        x = n if n % 2 else None
        l = [x, None]
        l.append(n if n > 3 else None)
        l.insert(0, x)
        l[1] = l[-1]
        m = [l[0], x]
        s = 0
        for y in l:
            s += 1 if y is None else y
        return l, m, s, l.count(x), l.index(x), x in l

    for n in range(6):
        same(f, n)


def test_a_comprehension_is_an_item():
    def f(n):
        l = [k for k in range(n)]
        l.append(7)
        m, d = [[1]], {1: [2]}
        m[0] = [x for x in l]
        m[0:0] = [[x + y for x, y in zip(l, l)]]
        d[n] = [x for x in l if x > 1]
        d[1] += [x for x in l]
        d[1] = [x for x in d[1]]
        l[1:2] = [x + 10 for x in l]
        for k in range(n):
            d[k + 5] = [x * k for x in l[:2]]
            m[k % 2] = [k for _ in range(k)]
        a = np.zeros(4)
        a[1:3] = [x * 0.5 for x in range(2)]
        return l, m, d, float(a.sum())

    for n in range(5):
        same(f, n)


def many_containers(k: int) -> str:
    names = [f"l{i}" for i in range(k)]
    lines = [f"{x} = [[n]]" for x in names] + [f"{x}[n - {i % 3}].append({i})" for i, x in enumerate(names)]
    end = f"return {' + '.join(f'len({x}[0])' for x in names)}"
    return "\n    ".join(["@decorate\ndef f(n):\n    try:\n        " + "\n        ".join(lines),
                         "except IndexError:\n        return -1", end]) + "\n"  # fmt: skip


def test_code_is_proportional_to_what_is_in_the_source():
    """What each of so many instructions that raise leaves behind is given back on ways that they share."""
    source = many_containers(48)
    was = treadle.stats()["code_bytes"]
    f, plain, before = functions(source)["f"], functions(source, compiled=False)["f"], held()
    assert [f(n) for n in (0, 1, 2)] == [plain(n) for n in (0, 1, 2)]
    assert held() == before
    assert 0 < treadle.stats()["code_bytes"] - was < 40_000  # with 48 * 96 releases they were 150,000


def test_results_keep_what_is_one():
    @njit
    def f(n):
        row = [n]
        return [row, row], (row, [row])

    m, (row, again) = f(1)
    assert m[0] is m[1] and m[0] is row and again[0] is row


def test_memory_is_given_back_however_a_call_ends():
    @njit
    def f(n, how):
        m = []
        for k in range(n):
            m.append([k, k])
            m[-1].append(n)
        if how == 1:
            raise ValueError("asked for")
        if how == 2:
            m[n].append(1)
        if how == 3:
            m[0] = [0] * (1 << 46)
        if how == 4:
            m *= 1 << 60
        return len(m)

    @njit
    def caught(n, how):
        try:
            return f(n, how)
        except Exception:
            return -1

    assert [f(3, 0), caught(3, 0)] == [3, 3]
    before = held()
    for how, error in ((1, ValueError), (2, IndexError), (3, MemoryError), (4, (MemoryError, ValueError))):
        with pytest.raises(error):
            f(50, how)
        assert caught(50, how) == -1
    assert held() == before


def test_a_chain_of_lists_is_dropped_without_recursion():
    @njit
    def f(n):
        s = 0
        for i in range(n):
            m = [[i] for _ in range(200)]
            s += len(m)
        return s

    before = held()
    assert f(100) == 20000
    assert held() == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("l = []\n    l.append(l)\n    return 1", "a list cannot be an item of itself"),
        ("a = []\n    b = [a]\n    a.append(b)\n    return 1", "a list cannot be an item of itself"),
        ("d = {}\n    d['a'] = d\n    return 1", "a dict cannot be a value of itself, at any depth"),
        (
            "l = [[1]]\n    l.append(2)\n    return l",
            r"the items of a list have no type in common: int64, and list\(int64\) in line",
        ),
        (
            "s = {1}\n    s.add('a')\n    return len(s)",
            "the items of a set have no type in common: str, and int64",
        ),
        (
            "d = {1: 2}\n    d['a'] = 3\n    return len(d)",
            "the keys of a dict have no type in common: str, and int64",
        ),
        (
            "d = {1: [2]}\n    d[2] = 3\n    return len(d)",
            "the values of a dict have no type in common: int64, and list",
        ),
        ("l = [(1, 2)]\n    l.append((1, 2, 3))\n    return l", "no type in common"),
        ("l = [1j, 2j]\n    l.sort()\n    return l", "unsupported operand types for <"),
    ],
)
def test_errors_say_why(body, said):
    space = functions(f"@decorate\ndef f(n):\n    {body}\n")
    with pytest.raises(treadle.TypingError, match=said):
        space["f"](1)


def test_lists_in_lists_have_an_end():
    def f(n):
        l = [[[[[[[n]]]]]]]
        l[0][0][0][0][0][0].append(1)
        return l

    same(f, 1)

    @njit
    def endless(n):
        l = [[[[[[[[[n]]]]]]]]]
        l.append(l[0])
        return l

    with pytest.raises(treadle.TypingError, match="lists lie in lists"):
        endless(1)


def test_a_key_that_raises_leaves_the_list_as_it_was():
    def f(n):
        l = [3, 1, n]

        def key(x):
            if x == 1:
                raise KeyError(x)
            return x

        try:
            l.sort(key=key)
        except KeyError:
            l.append(0)
        return l

    same(f, 2)


def test_a_key_that_changes_the_list_is_told():
    def f(n, how):
        l = [[3], [1], [n]]

        def key(row):
            if how:
                l.append([9])
            return row[0]

        try:
            l.sort(key=key)
        except ValueError:
            return -1
        return l[0][0]

    for how in range(2):
        same(f, 2, how)


# --- no counts where the container keeps its items ---


def test_what_is_read_costs_no_count():
    @njit
    def rows(n):
        m = [[0.5] * 3 for _ in range(n)]
        s = 0.0
        for row in m:
            s += row[0]
        for i in range(n):
            for j in range(3):
                s += m[i][j]
        return s

    assert rows(4) == 4 * 0.5 * 4
    text = rows.inspect_ir()
    text = text if isinstance(text, str) else "".join(text.values())
    behind = text[text.rindex("newlist") :]  # where the matrix is read
    assert "= peek" in text and "= take" not in text and "retain" not in behind[behind.index("= peek") :]


# --- in parallel, and from the cache ---


def test_in_rounds_of_a_prange():
    @njit(parallel=True)
    def f(n):
        rows = [[1.0] * 4 for _ in range(n)]
        out = np.zeros(n)
        for i in treadle.prange(n):
            own = [rows[i], rows[0]]
            own.append([2.0 * i])
            out[i] = own[0][1] + len(own) + own[2][0]
        return out

    before = held()
    assert f(40).tolist() == [4.0 + 2 * i for i in range(40)]
    assert held() == before

    @njit(parallel=True)
    def put(n):
        rows = [[1.0] for _ in range(n)]
        for i in treadle.prange(n):
            rows[i] = [2.0]
        return rows

    assert put(3) == [[2.0]] * 3 and held() == before


CACHED = """
from treadle import njit

@njit(cache=True)
def f(n):
    m = [[i, n] for i in range(n)]
    m[0] = m[1]
    p = [(i, [i]) for i in range(n)]
    p.pop()
    return m, p

print(f(3), sum(f.stats.cache_hits.values()))
"""


def test_from_the_cache_in_a_second_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "items_cached.py"
    path.write_text(CACHED)
    texts = [
        subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [t.split() for t in texts] == [
        f"([[1, 3], [1, 3], [2, 3]], [(0, [0]), (1, [1])]) {k}".split() for k in (0, 1)
    ]
