"""Programs of try statements, made at random: against CPython, which runs the same programs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from raising import Base, Both, Derived, Keyed, came  # noqa: E402, F401 - programs name them
from sizes import examples

RAISES = ("ValueError(x)", "KeyError('k', x)", "Base", "Derived(x, 1.5)", "Both()", "ZeroDivisionError")
CATCHES = (
    "ValueError",
    "KeyError",
    "LookupError",
    "Base",
    "Derived",
    "(ValueError, Base)",
    "Exception",
    "ArithmeticError",
)


ARRAYS = (
    "a = array_helper(a, x)",
    "b = a + b",
    "x += int((a * b).sum())",
    "b = tried(a, x)",
    "x += summed(a, x % 6)",
)


@njit
def helper(x):
    a = np.ones(x % 4)
    if x % 5 == 0:
        raise Derived(x)
    if x % 7 == 0:
        raise Keyed("helped", x)
    return int(a[x % 3]) + x


@njit(inline="never")
def array_helper(a, x):
    b = a * 2.0
    if x % 3 == 0:
        raise ValueError("odd", x)
    return b


@njit(inline="always")
def tried(a, x):
    b = a * 2.0
    try:
        c = b + a[: x % 6]
        b = c - a[x % 5]
    except ValueError:
        b = b[::-1]
    except IndexError:
        if x % 2:
            raise
        b = b - 1.0
    return b


@njit
def summed(a, n):
    s = 0.0
    try:
        for i in range(n):
            s += a[i] * 0.5
            if s > 40.0:
                raise Derived(n)
            a[i] = s
    except IndexError:
        s += 100.0
    return int(s)


PLAIN = {f.__name__: f.py_func for f in (helper, array_helper, tried, summed)}


@st.composite
def blocks(draw, depth, loop, handler):
    """Lines of a block."""
    out = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["add", "add", "raise", "index", "call", "array", "arrays"]
        kinds += ["try"] * 4 + ["loop", "if"] if depth > 0 else []
        kinds += ["break", "continue"] if loop else []
        kinds += ["again"] if handler else []
        kind = draw(st.sampled_from(kinds))
        k, m = draw(st.integers(1, 9)), draw(st.integers(2, 5))
        if kind == "add":
            out.append(f"x = (x * {m} + {k}) % 1000003")
        elif kind == "raise":
            out += [f"if x % {m} == 0:", f"    raise {draw(st.sampled_from(RAISES))}"]
        elif kind == "index":
            out.append(f"x += int(a[x % {k}])")
        elif kind == "call":
            out.append("x += helper(x)")
        elif kind == "array":
            out.append(
                draw(
                    st.sampled_from(("a = a + 1.0", f"a = np.ones({m}) * x", "a[0] += 2.0", "b = a", "a = b"))
                )
            )
        elif kind == "arrays":
            out.append(draw(st.sampled_from(ARRAYS)))
        elif kind in ("break", "continue", "again"):
            out += [f"if x % {m} == 1:", f"    {'raise' if kind == 'again' else kind}"]
        elif kind == "if":
            out.append(f"if x % {m} == 0:")
            out += ["    " + s for s in draw(blocks(depth - 1, loop, handler))]
        elif kind == "loop":
            out.append(f"for i{depth} in range({m}):")
            out += ["    " + s for s in draw(blocks(depth - 1, True, handler))]
        else:
            out += draw(tries(depth - 1, loop, handler))
    return out


@st.composite
def tries(draw, depth, loop, handler):
    body = draw(blocks(depth, loop, handler))
    out = ["try:"] + ["    " + s for s in body]
    caught = draw(st.lists(st.sampled_from(CATCHES), max_size=2))
    for c in caught:
        name = draw(st.sampled_from(("", f" as e{depth}")))
        out.append(f"except {c}{name}:")
        out += ["    " + s for s in draw(blocks(depth, loop, True))]
        if name and draw(st.booleans()):
            out += ["    if x % 4 == 2:", f"        raise e{depth}"]
    if caught and draw(st.booleans()):
        out += ["else:"] + ["    " + s for s in draw(blocks(depth, loop, handler))]
    if not caught or draw(st.booleans()):
        out += ["finally:"] + ["    " + s for s in draw(blocks(depth, False, False))]
    return out


@st.composite
def programs(draw):
    body = draw(blocks(2, False, False)) + draw(tries(2, False, False)) + draw(blocks(1, False, False))
    lines = ["def f(x):", "    a = np.arange(4.0)", "    b = a + 1.0"]
    lines += ["    a = b * 0.5 + a"] if draw(st.booleans()) else []
    lines += ["    " + s for s in body] + ["    return x, a, b"]
    return "\n".join(lines) + "\n"


@settings(max_examples=examples(25), deadline=None)
@given(programs())
def test_random_programs(text):
    space = dict(globals())
    exec(compile(text, "<random>", "exec"), space)
    fn = space["f"]
    plain = dict(globals(), **PLAIN)
    exec(compile(text, "<random>", "exec"), plain)
    compiled = njit(fn)
    for x in range(6):
        with np.errstate(all="ignore"):
            assert came(compiled, x) == came(plain["f"], x), f"x = {x}\n{text}"
