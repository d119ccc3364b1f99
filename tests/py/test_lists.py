"""Lists of numbers: what CPython makes of the same function, step by step drawn at random, by every way in."""

from __future__ import annotations

import linecache
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange


def outcome(fn, *args):
    """What a call gives: the text of its result, which tells 1 from 1.0 and from True, or the exception."""
    try:
        return repr(fn(*args))
    except Exception as e:  # of any class: both sides have to raise the same
        return type(e), e.args


def same(fn, *args, **options):
    assert outcome(njit(**options)(fn), *args) == outcome(fn, *args)


# --- programs drawn at random ---

HELPERS = """
@decorate
def fill(l, n):
    for i in range(n):
        l.append(i * 2)
    return l

@decorate
def made(n):
    l = []
    if n > 1:
        l.append(n)
    return l

@decorate
def twice(l):
    s = 0
    for x in l:
        s += 2 * x
    return s
"""

STATEMENTS = [
    "l.append({v})",
    "m.append({v})",
    "l.extend(range({n}))",
    "l.extend(m)",
    "l.extend(l)",
    "l.extend((1, {v}))",
    "l += m",
    "l.insert({i}, {v})",
    "r += l.pop()",
    "r += m.pop({i})",
    "l[{i}] = {v}",
    "l[{i}] += {v}",
    "r += l[{i}]",
    "l.reverse()",
    "m.clear()",
    "m = l.copy()",
    "m = l",
    "l = l[{i}:{j}]",
    "m = l[::-2]",
    "m = [{v}, r, n]",
    "r += sum(m)",
    "r += len(l)",
    "r += 1 if {v} in l else 2",
    "for x in l:\n    r = (r * 3 + x) % 1000003",
    "for x in m:\n    if len(m) < 30:\n        m.append(x + 1)",
    "for x in l:\n    if x > {v}:\n        r += l.pop()",
    "for i, x in enumerate(l):\n    r = (r + i * x) % 1000003",
    "for x, y in zip(l, m):\n    r = (r + x * y) % 1000003",
    "for x in map(lambda q: q + 1, l):\n    r += x",
    "m = [x + {v} for x in l if x > {v}]",
    "m = [x * y for x in l[:4] for y in m[:3]]",
    "r += fill(l, {n})[0]",
    "m = fill(made({n}), 2)",
    "r += twice(m)",
    "m = made({n})",
    "try:\n    r += l[{i}]\n    l.append(r)\nexcept IndexError:\n    r += 100",
    "try:\n    l.pop({i})\nfinally:\n    l.append({v})",
    "if n > {v}:\n    m = l\nelse:\n    m = [1]",
    "while len(l) > {n}:\n    r += l.pop()",
    "if not l:\n    l.append(7)",
    "a, b = m[:2]\n    r += a - b",
    "r += int(np.array(l).sum())",
    "m = l + m",
    "m = l[:5] * {v}",
    "m = [{v}] * {n}",
    "l = [n, {v}] + l",
    "r += 1 if l == m else 3",
    "r += 1 if l != [{v}, 2] else 3",
    "r += 5 if l == l[:] else 1",
    "r += 5 if l < m else 1",
    "r += 5 if l[1:] >= l else 1",
    "del l[{i}]",
    "del m[{i}:{j}]",
    "del l[::2]",
    "l[{i}:{j}] = m",
    "m[{i}:{j}] = l[:3]",
    "l[::2] = [{v}] * {n}",
    "l.sort()",
    "m.sort(reverse=True)",
    "m = sorted(l, key=lambda x: -x)",
    "l.sort(key=lambda x: x % 3, reverse=True)",
    "try:\n    r += l.index({v})\nexcept ValueError:\n    r += 3",
    "if {v} in l:\n    l.remove({v})",
    "r += l.count({v})",
    "for x in reversed(l):\n    r = (r * 3 + x) % 1000003",
    "m = list(l)",
    "m = list(range({n}))",
    "l = l[:4]\nl *= {n}",
    "a, *m = l\nm.append(a)",
]

statement = st.builds(
    lambda text, i, j, n, v: text.replace("\n    r += a", "\nr += a").format(i=i, j=j, n=n, v=v),
    st.sampled_from(STATEMENTS),
    st.sampled_from(["0", "1", "-1", "2", "-3", "n", "-n", "r % 5"]),
    st.sampled_from(["0", "1", "-1", "3", "n"]),
    st.sampled_from(["0", "1", "3", "n"]),
    st.sampled_from(["0", "2", "-1", "n", "5"]),
)


def program(statements: list[str], first: str) -> str:
    body = textwrap.indent(
        "\n".join([f"l = {first}", "m = []", "m.extend(l[:0])", "r = 0", *statements, "return l, m, r"]),
        "    ",
    )
    return f"{HELPERS}\n@decorate\ndef f(n):\n{body}\n"


def functions(source: str, **options) -> dict:
    space = {
        "np": np,
        "prange": prange,
        "decorate": njit(**options) if options.pop("compiled", True) else lambda f: f,
    }
    name = f"<lists {hash(source)} {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), space)
    return space


CALLER = """
@decorate
def caller(n):
    l, m, r = f(n)
    m.append(r)
    return l, m, r
"""

ROUNDS = """
@njit(parallel=True)
def rounds(n, out):
    for i in prange(len(out)):
        l, m, r = f(n)
        l.append(i)
        out[i] = len(l) * 1000000 + len(m) * 1000 + r % 1000
    return out
"""


@settings(deadline=None, max_examples=60)
@given(
    st.lists(statement, min_size=1, max_size=9),
    st.sampled_from(["[]", "[3, 1, 2]", "[n]", "[x for x in range(n)]"]),
    st.integers(0, 4),
)
def test_traces(statements, first, n):
    source = program(statements, first)
    want = outcome(functions(source, compiled=False)["f"], n)
    assert outcome(functions(source)["f"], n) == want, source


@settings(deadline=None, max_examples=25)
@given(st.lists(statement, min_size=1, max_size=6), st.integers(0, 4), st.sampled_from(["never", "always"]))
def test_traces_in_a_callee(statements, n, inline):
    source = program(statements, "[4, 5]") + CALLER
    want = outcome(functions(source, compiled=False)["caller"], n)
    assert outcome(functions(source, inline=inline)["caller"], n) == want, source


@settings(deadline=None, max_examples=15)
@given(st.lists(statement, min_size=1, max_size=5), st.integers(0, 4))
def test_traces_in_rounds_of_a_prange(statements, n):
    source = program(statements, "[4, 5]")
    python = functions(source, compiled=False)["f"]
    space = functions(source)
    space["njit"] = njit
    exec(ROUNDS, space)
    got, want = outcome(space["rounds"], n, np.zeros(20, np.int64)), outcome(python, n)
    if isinstance(want, tuple):
        assert got == want
    else:
        l, m, r = python(n)
        l.append(0)  # which may be m
        assert got == repr(np.full(20, len(l) * 1000000 + len(m) * 1000 + r % 1000)), source


# --- what a list is ---


def test_made_of_others():
    def f(n, x):
        zeros, l = [0] * n, [n, 1]
        l.append(2)
        zeros[1] = 5
        return zeros, n * l, l + [x], l * 0, [x] * -3, l == [n, 1, 2], [n] == l, l != [n, 1], l + l == l * 2

    same(f, 3, 1)
    got, want = njit(f)(3, 2.5), f(3, 2.5)
    assert got == want and {type(v) for v in got[2]} == {float}  # a list has one type

    @njit
    def huge(l_n):
        return [1.0] * l_n

    with pytest.raises(MemoryError):
        huge(1 << 46)


def test_parts_of_displays():
    def f(n):
        l = [1, n, 3]
        return l[1:], l[:1][0], len(l[1:])

    same(f, 2)


def test_the_task():
    def f(n):
        out = []
        for i in range(n):
            if i % 3:
                out.append(i * 0.5)
        s = 0.0
        for x in out:
            s += x
        out[0] = 1.0
        out[-1] += 2
        return s + len(out) + out[2], np.array(out), out

    same(f, 10)
    same(f, 1)


@pytest.mark.parametrize(
    "x", [True, 3, 2.5, 1 + 2j, np.int8(5), np.uint16(7), np.float32(0.1), np.complex64(1j)]
)
def test_kinds_of_items(x):
    @njit
    def f(x):
        l = [x]
        l.append(x)
        l.insert(0, x)
        return l, l.pop(), np.array(l), x in l

    l, last, a, there = f(x)
    assert there is True and l == [x, x] and a.dtype == np.array([x]).dtype and last == x
    assert {type(v) for v in [*l, last]} == {type(x.item() if isinstance(x, np.generic) else x)}


def test_numbers_have_one_type():
    def f(n):
        l = [1, n]
        l.append(2.5)
        return l

    assert repr(njit(f)(3)) == "[1.0, 3.0, 2.5]"

    def g(n):
        l = [n]
        l.append(True)
        return l

    assert repr(njit(g)(3)) == "[3, 1]"


def test_nothing_ever_comes_into_it():
    @njit
    def f():
        l = []
        n = 0
        for x in l:
            n += 1
            l.append(x)
        return l, n, len(l), not l

    assert f() == ([], 0, 0, True)

    @njit
    def g():
        return []

    assert g() == []

    @njit
    def empty():
        l, m = [], []
        l.extend(m)
        a = np.array(l)
        return a, sum(m)

    a, s = empty()
    assert a.dtype == np.float64 and a.shape == (0,)

    @njit
    def first():
        l = []
        l.extend(l)
        return l[0]

    with pytest.raises(IndexError, match="list index out of range"):
        first()


def test_who_has_it_has_the_same_one():
    def f(n):
        l = [1]
        m = l if n > 2 else [2]
        m.append(n)
        t = (l, m, l)
        t[0].append(9)
        return t

    for n in 1, 5:
        same(f, n)
    a, b, c = njit(f)(5)
    assert a is b is c
    a, b, c = njit(f)(1)
    assert a is not b and a is c


def test_what_flows_in_later_and_elsewhere():
    def f(n):
        out = []

        def put(x):
            out.append(x)

        for i in range(n):
            put(i / 2)
        return out

    same(f, 3)

    @njit
    def fill(l, x):
        l.append(x)

    @njit
    def make():
        return []

    @njit
    def g(n):
        ints, floats, given = [], [], make()
        fill(ints, n)
        fill(floats, n / 2)
        given.append(n * 1j)
        return ints, floats, given, make()

    assert repr(g(3)) == "([3], [1.5], [3j], [])"


def test_recursion():
    @njit
    def down(l, n):
        if n > 0:
            l.append(n)
            down(l, n - 1)
        return l

    @njit
    def f(n):
        return down([], n)

    assert f(5) == [5, 4, 3, 2, 1]


def test_what_a_list_gave_before_it_grew():
    def f(n):
        l = [1.5, 2.5]
        a = np.array(l)
        part = l[:1]
        for i in range(n):
            l.append(i)
        l[0] = 7.0
        return float(a.sum()), a, part, l[0], l[-1]

    for n in 0, 1, 1000:
        assert repr(njit(f)(n)) == repr(f(n)).replace(f", {n - 1})", f", {float(n - 1)})")


def test_an_exception_leaves_what_was_done():
    @njit
    def g(l, n):
        for i in range(n):
            l.append(i)
            if i == 3:
                raise ValueError(i)

    @njit
    def f(n):
        l = []
        try:
            g(l, n)
        except ValueError:
            l.append(-1)
        return l

    assert f(10) == [0, 1, 2, 3, -1] and f(2) == [0, 1]


def test_blocks_go_where_they_came_from():
    @njit
    def f(n):
        s = 0
        for i in range(n):
            l = [i]
            for k in range(i):
                l.append(k)
            m = l.copy()
            if i % 7 == 6:
                try:
                    m[i + 5] = 1
                except IndexError:
                    s += 1
            s += len(m)
        return s, [s], l

    f(10)
    before = treadle.stats()
    f(300)
    with pytest.raises(IndexError):
        njit(lambda n: [n].pop(4))(1)
    after = treadle.stats()
    made = {k: after[k] - before[k] for k in ("arrays_allocated", "arrays_freed")}
    assert made["arrays_allocated"] > 500 and made["arrays_allocated"] == made["arrays_freed"], made


def test_large_lists():
    @njit
    def f(n):
        l = []
        for i in range(n):
            l.append(i)
        s = 0
        for x in l:
            s += x
        return s, len(l)

    assert f(300_000) == (sum(range(300_000)), 300_000)


# --- parallel ---


def test_lists_of_a_prange():
    @njit(parallel=True)
    def f(n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            l = []
            for k in range(i):
                l.append(k)
            out[i] = sum(l) + len(l)
        return out

    assert (f(200) == [i * (i - 1) // 2 + i for i in range(200)]).all()

    @njit(parallel=True)
    def read(n):
        l = [i * i for i in range(n)]
        l.append(5)
        s = 0
        for i in prange(n):
            s += l[i]
        return s, l[-1]

    assert read(1000) == (sum(i * i for i in range(1000)), 5)


@pytest.mark.parametrize(
    "how",
    ["l.insert(0, i)", "l.pop()", "put(l, i)", "m = l\n        m.pop()", "t = (l, i)\n        t[0].clear()"],
)
def test_a_list_of_all_rounds_stays_as_long_as_it_is(how):
    space = functions(
        f"@decorate\ndef put(l, x):\n    l.insert(1, x)\n\n"
        f"@decorate\ndef f(n):\n    l = [1]\n    l.append(2)\n    for i in prange(n):\n        {how}\n    return l\n",
        parallel=True,
    )
    with pytest.raises(treadle.UnsupportedError, match="longer or shorter in a prange loop") as e:
        space["f"](3)
    assert "made before it" in str(e.value)


# --- refused ---


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("l = [1]\n    l.append(2)\n    return l - l", "unsupported operand"),
    ],
)
def test_what_is_refused_by_name(body, said):
    space = functions(f"@decorate\ndef f(n):\n    {body}\n")
    with pytest.raises(treadle.TreadleError) as e:
        space["f"](1)
    assert said in str(e.value)


def test_items_without_a_common_type_name_both_lines():
    def f(n):
        l = []
        l.append(n)  # first
        l.append(np.uint64(3))  # second
        return l

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
    l = []
    for i in range(n):
        l.append(i * 0.5)
    l.reverse()
    l.insert(1, 9)
    return l, np.array(l).sum(), l.pop(0)

print(repr(f(5)), sum(f.stats.cache_hits.values()) if hasattr(f.stats, "cache_hits") else "")
"""


def test_from_the_cache_in_a_second_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "lists_cached.py"
    path.write_text(CACHED)
    texts = [
        subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert texts[1].endswith(" 1\n") and all(
        t.startswith("([9.0, 1.5, 1.0, 0.5, 0.0], 14.0, 2.0)") for t in texts
    ), texts


KERNELS = """
import numpy as np
import treadle
from treadle import cuda, njit

@njit
def made(n):
    l = []
    l.append(n)
    return l[0]

@cuda.jit
def by_itself(a):
    l = [1]
    l.append(2)
    a[0] = len(l)

@cuda.jit
def by_a_call(a):
    a[0] = made(3)

@cuda.jit
def displays(a):
    for x in [1, 2]:
        a[0] += x

for kernel in by_itself, by_a_call:
    try:
        kernel[1, 1](np.zeros(1))
    except treadle.UnsupportedError as e:
        print("lists in kernels" in str(e))
a = np.zeros(1)
displays[1, 1](a)
print(a[0])
"""


def test_kernels_have_none(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CUDA", "emu")
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.stdout == "True\nTrue\n3.0\n", done.stdout + done.stderr


def test_a_list_that_is_another_one_many_times_over():
    """A chain of blocks' parameters, each of which may be the list that is returned."""
    lines = [
        "def f(n):",
        "    l = [0]",
        *(f"    if n > {k}: l = [{k}, n]" for k in range(300)),
        "    return l",
    ]
    names: dict = {}
    exec("\n".join(lines), names)
    for n in (0, 1, 150, 300):
        assert njit(names["f"])(n) == names["f"](n)


def test_more_items_than_can_be_counted():
    def times(l, n):
        return l * n

    def itself(l, n):
        l *= n
        return l

    for fn in times, itself:
        for n in (2**63 - 1, 2**62, 2**61):
            for l in ([1, 2], [1.0, 2.0, 3.0], ["a", "b"], [[1], [2]]):
                with pytest.raises(MemoryError, match="cannot allocate a list"):
                    njit(fn)(l, n)
            assert njit(fn)([], n) == []


def test_bounds_beyond_int64():
    def parts(x, u):
        return x[:u], x[u:], x[u:0:-1], x[::u], x[0:u:1], x[1:u]

    def stored(l, u):
        l[u:] = [7]
        l[:u] = [8, 9]
        return l

    for u in (2**64 - 1, 2**63, 2**63 - 1, 1, 0):
        u = np.uint64(u)
        assert outcome(njit(stored), [1, 2], u) == outcome(stored, [1, 2], u)
        for x in ([1, 2, 3], "abc", b"abc", np.arange(3)):
            got, want = outcome(njit(parts), x, u), outcome(parts, x, u)
            assert repr(got) == repr(want)
