"""The cases of lists, dicts and sets: made and used up in compiled code; lists on their way in and back, and shared with Python.

They are cases as those of `elementwise.py`, in the same table. Numba's lists as arguments are its reflected ones, which it says
are deprecated; its warnings are left out here.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import peers
from elementwise import TEN_MILLION, Arguments, InC, Maker, add

MANY = 100_000
MILLION = 1_000_000
#: How often each key that was entered is looked for.
ROUNDS = 3
#: Python's own list, in the place of a typed one.
PLAIN = "python"


def quiet(variant: str, function: Callable[..., Any]) -> Maker:
    def make() -> Callable[..., Any]:
        warnings.simplefilter("ignore")
        return peers.decorator(variant)(function)

    return make


def both(function: Callable[..., Any]) -> dict[str, Maker]:
    return {variant: quiet(variant, function) for variant in ("treadle", "numba")}


def appended_sum(n, out):
    l = []
    for i in range(n):
        l.append(i)
    s = 0
    for x in l:
        s += x
    out[0] = s
    return out


def total(l):
    s = 0.0
    for x in l:
        s += x
    return s


def turned(l):
    l[7] = 1.0 - l[7]
    return len(l)


def made(n):
    l = []
    for i in range(n):
        l.append(i * 0.5)
    return l


def entered(keys):
    d = {}
    for i in range(len(keys)):
        d[keys[i]] = i
    return len(d)


def entered_and_found(keys):
    d = {}
    for i in range(len(keys)):
        d[keys[i]] = i
    s = 0
    for _ in range(ROUNDS):
        for i in range(len(keys)):
            s += d[keys[i]]
    return s


def pairs_entered_and_found(keys):
    d = {}
    for i in range(len(keys)):
        d[keys[i], keys[i] >> 20] = i
    s = 0
    for _ in range(ROUNDS):
        for i in range(len(keys)):
            s += d[keys[i], keys[i] >> 20]
    return s


def small_found(keys, n):
    d = {}
    for i in range(len(keys)):
        d[keys[i]] = i
    s = 0
    for _ in range(n):
        for i in range(len(keys)):
            s += d[keys[i]]
    return s


def added_and_asked(keys):
    s = set()
    for i in range(len(keys)):
        s.add(keys[i])
    n = 0
    for i in range(len(keys)):
        if keys[i] + 1 in s:
            n += 1
    return n


def words_counted(text):
    d = {}
    for w in text.split(" "):
        if w in d:
            d[w] += 1
        else:
            d[w] = 1
    return len(d)


def random_keys(rng: np.random.Generator, full: bool) -> Arguments:
    return (rng.integers(0, 2**62, MILLION if full else 100),)


def random_words(rng: np.random.Generator, full: bool) -> Arguments:
    return (
        " ".join(f"w{k}" for k in (rng.pareto(1.0, 300_000 if full else 50) * 10).astype(np.int64) % 50_000),
    )


def with_python(function: Callable[..., Any]) -> dict[str, Maker]:
    return {**both(function), PLAIN: lambda: function}


def floats(rng: np.random.Generator, full: bool) -> Arguments:
    return (rng.random(MANY if full else 30).tolist(),)


def typed(package: str) -> Maker:
    """A maker of what makes a typed list of a list."""

    def make() -> Callable[..., Any]:
        warnings.simplefilter("ignore")
        return importlib.import_module(f"{package}.typed").List

    return make


def asked(package: str) -> Maker:
    """A maker of what adds up the items of a typed list, asked for one by one from Python."""

    def make() -> Callable[..., Any]:
        of = list if package == PLAIN else typed(package)()
        kept: dict[int, Any] = {}

        def run(l: list[float]) -> float:
            t = kept.get(len(l))
            if t is None:
                t = kept[len(l)] = of(l)
            s = 0.0
            for i in range(len(l)):
                s += t[i]
            return s

        return run

    return make


add(
    "append and iterate",
    inputs=lambda rng, full: (TEN_MILLION if full else 100, np.zeros(1, np.int64)),
    expected=lambda n, out: np.array([n * (n - 1) // 2]),
    variants=both(appended_sum),
    in_c={"c": InC("append_sum")},
    per=lambda args: args[0],
)
add("list in, read", inputs=floats, expected=sum, variants=both(total), per=lambda args: len(args[0]))
add("list in, changed", inputs=floats, expected=len, variants=both(turned), per=lambda args: len(args[0]))
add(
    "list out",
    inputs=lambda rng, full: (MANY if full else 30,),
    expected=lambda n: np.arange(n) * 0.5,
    variants=both(made),
    per=lambda args: args[0],
)
add(
    "typed.List of a list",
    inputs=floats,
    expected=np.array,
    variants={package: typed(package) for package in ("treadle", "numba")},
    per=lambda args: len(args[0]),
)
add(
    "l[i] of a typed.List",
    inputs=lambda rng, full: (rng.random(1000 if full else 30).tolist(),),
    expected=sum,
    variants={package: asked(package) for package in ("treadle", "numba", PLAIN)},
    per=lambda args: len(args[0]),
)
add(
    "dict of int64, insert",
    inputs=random_keys,
    expected=entered,
    variants=with_python(entered),
    per=lambda args: len(args[0]),
)
add(
    "dict of int64, insert and find",
    inputs=random_keys,
    expected=entered_and_found,
    variants=with_python(entered_and_found),
    per=lambda args: (1 + ROUNDS) * len(args[0]),
)
add(
    "dict of pairs, insert and find",
    inputs=random_keys,
    expected=pairs_entered_and_found,
    variants=with_python(pairs_entered_and_found),
    per=lambda args: (1 + ROUNDS) * len(args[0]),
)
add(
    "dict of 1,000, find",
    inputs=lambda rng, full: (rng.integers(0, 2**62, 1000 if full else 10), 1000 if full else 2),
    expected=small_found,
    variants=with_python(small_found),
    per=lambda args: len(args[0]) * args[1],
)
add(
    "set of int64, add and ask",
    inputs=random_keys,
    expected=added_and_asked,
    variants=with_python(added_and_asked),
    per=lambda args: 2 * len(args[0]),
)
add(
    "count words",
    inputs=random_words,
    expected=words_counted,
    variants=with_python(words_counted),
    per=lambda args: args[0].count(" ") + 1,
)
