"""The cases of lists: made and used up in compiled code, on their way in and back, and shared with Python.

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
