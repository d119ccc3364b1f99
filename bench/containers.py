"""The cases of lists, dicts, sets and strings: made and used up in compiled code; lists on their way in and back, and shared with
Python; strings as arguments.

C++'s tables are those of `tables.cc`. They are cases as those of `elementwise.py`, in the same table. Numba's lists as arguments are its reflected ones, which it says
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


def parts(text):
    return len(text.split(" "))


def parts_joined(text):
    return len("; ".join(text.split(" ")))


def lengths_of_ints(n):
    s = 0
    for i in range(n):
        s += len(str(i * 7919))
    return s


def lengths_of_floats(a):
    s = 0
    for x in a:
        s += len(str(x))
    return s


def lengths_of_fixed(a):
    s = 0
    for x in a:
        s += len(f"{x:.3f}")
    return s


def last_code(s):
    return ord(s[-1])


def random_keys(rng: np.random.Generator, full: bool) -> Arguments:
    return (rng.integers(0, 2**62, MILLION if full else 100),)


def random_text(rng: np.random.Generator, full: bool) -> Arguments:
    """A text of ten million characters, or few."""
    words = [f"word{k}" for k in range(50_000)]
    return (" ".join(words[k] for k in rng.integers(0, len(words), 1_030_000 if full else 50)),)


def random_floats(rng: np.random.Generator, full: bool) -> Arguments:
    return (rng.normal(size=MILLION if full else 50) * 1000,)


def with_python(function: Callable[..., Any]) -> dict[str, Maker]:
    return {**both(function), PLAIN: lambda: function}


def in_a_list(function: Callable[..., Any]) -> Maker:
    """A maker of the function as Python runs it, whose numbers are Python's own."""

    def make() -> Callable[..., Any]:
        kept: dict[int, list[float]] = {}

        def run(a: np.ndarray) -> int:
            if len(a) not in kept:
                kept[len(a)] = a.tolist()
            return function(kept[len(a)])

        return run

    return make


def in_cpp(function: Callable[..., Any]) -> dict[str, InC]:
    """The kernel of tables.cc of a function's name, which writes its result to an array it is given besides."""
    return {
        "c++": InC(
            function.__name__,
            lambda args: (*args, np.zeros(1, np.int64)),
            lambda *args: np.array([function(*args[:-1])]),
            source="tables",
        )
    }


def floats(rng: np.random.Generator, full: bool) -> Arguments:
    return (rng.random(MANY if full else 30).tolist(),)


def typed(package: str, name: str = "List") -> Maker:
    """A maker of what makes a typed container of a container."""

    def make() -> Callable[..., Any]:
        warnings.simplefilter("ignore")
        return getattr(importlib.import_module(f"{package}.typed"), name)

    return make


def dict_asked(package: str) -> Maker:
    """A maker of what adds up the values of a typed dict of 1,000, asked for one by one from Python."""

    def make() -> Callable[..., Any]:
        of = dict if package == PLAIN else typed(package, "Dict")()
        kept: dict[int, Any] = {}

        def run(values: list[float]) -> float:
            d = kept.get(len(values))
            if d is None:
                d = kept[len(values)] = of()
                for i, x in enumerate(values):
                    d[i * 7] = x
            s = 0.0
            for i in range(len(values)):
                s += d[i * 7]
            return s

        return run

    return make


def called_with_strings() -> Callable[..., Any]:
    """Calls of one function with a thousand strings, of which none may cost a compile of its own."""
    function = peers.decorator("treadle")(last_code)

    def run(strings: tuple[str, ...]) -> int:
        s = 0
        for text in strings:
            s += function(text)
        if len(function.signatures) != 1:
            raise ArithmeticError(f"{len(function.signatures)} signatures are compiled where one would do")
        return s

    return run


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
    "d[k] of a typed.Dict",
    inputs=lambda rng, full: (rng.random(1000 if full else 30).tolist(),),
    expected=sum,
    variants={package: dict_asked(package) for package in ("treadle", "numba", PLAIN)},
    per=lambda args: len(args[0]),
)
add(
    "dict of int64, insert",
    inputs=random_keys,
    expected=entered,
    variants=with_python(entered),
    in_c=in_cpp(entered),
    per=lambda args: len(args[0]),
)
add(
    "dict of int64, insert and find",
    inputs=random_keys,
    expected=entered_and_found,
    variants=with_python(entered_and_found),
    in_c=in_cpp(entered_and_found),
    per=lambda args: (1 + ROUNDS) * len(args[0]),
)
add(
    "dict of pairs, insert and find",
    inputs=random_keys,
    expected=pairs_entered_and_found,
    variants=with_python(pairs_entered_and_found),
    in_c=in_cpp(pairs_entered_and_found),
    per=lambda args: (1 + ROUNDS) * len(args[0]),
)
add(
    "dict of 1,000, find",
    inputs=lambda rng, full: (rng.integers(0, 2**62, 1000 if full else 10), 1000 if full else 2),
    expected=small_found,
    variants=with_python(small_found),
    in_c=in_cpp(small_found),
    per=lambda args: len(args[0]) * args[1],
)
add(
    "set of int64, add and ask",
    inputs=random_keys,
    expected=added_and_asked,
    variants=with_python(added_and_asked),
    in_c=in_cpp(added_and_asked),
    per=lambda args: 2 * len(args[0]),
)
add(
    "count words",
    inputs=random_text,
    expected=words_counted,
    variants=with_python(words_counted),
    per=lambda args: args[0].count(" ") + 1,
)
for name, function in (("split", parts), ("split and join", parts_joined)):
    add(
        name,
        inputs=random_text,
        expected=function,
        variants=with_python(function),
        per=lambda args: args[0].count(" ") + 1,
    )
add(
    "str(int)",
    inputs=lambda rng, full: (MILLION if full else 50,),
    expected=lengths_of_ints,
    variants=with_python(lengths_of_ints),
    per=lambda args: args[0],
)
# Numba's texts of floats are others than Python's, and it has no format specifications.
for name, function in (("str(float)", lengths_of_floats), ('f"{x:.3f}"', lengths_of_fixed)):
    add(
        name,
        inputs=random_floats,
        expected=lambda a, function=function: function(a.tolist()),
        variants={"treadle": quiet("treadle", function), PLAIN: in_a_list(function)},
        per=lambda args: len(args[0]),
    )
add(
    "call with 1,000 strings",
    inputs=lambda rng, full: (tuple(f"text {k}" for k in rng.integers(0, 10**12, 1000 if full else 30)),),
    expected=lambda strings: sum(ord(s[-1]) for s in strings),
    variants={"treadle": called_with_strings},
    per=lambda args: len(args[0]),
)
