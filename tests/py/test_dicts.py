"""Sets and dicts of numbers: what CPython makes of the same function, step by step drawn at random, by every way in."""

from __future__ import annotations

import linecache
import math
import subprocess
import sys
import textwrap

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
