"""Ways in: each reaches a function of ways_features.py by another road, and says what came out in a form that can be compared.

The oracle is the same function called plainly. A way makes its caller from text, so that one row serves functions of any arguments.
As a program (``python ways.py OUT``) it calls every function plainly and pickles what came out: the child of test_ways_in.py.
"""

from __future__ import annotations

import functools
import itertools
import pickle
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import treadle  # noqa: E402
from on_stack import on_stack  # noqa: E402
from treadle import guvectorize, njit, prange, vectorize  # noqa: E402
from ways_features import FEATURES, Feature  # noqa: E402

ITERATIONS = 3


# --- what came out ---


@dataclass
class Outcome:
    """The result as a tree, or the exception, and the arguments afterwards."""

    result: Any
    args: Any
    error: tuple[type, tuple] | None = None
    rtol: float = 0.0  # where a way may add up in another order


def tree(value: Any, args: tuple = ()) -> Any:
    """A value as tuples of leaves, which pickle; an argument that is given back is its number."""
    for k, a in enumerate(args):
        if value is a and isinstance(a, np.ndarray):
            return ("argument", k)
    if isinstance(value, tuple):
        return (type(value).__name__, *(tree(v, args) for v in value))
    if isinstance(value, np.ndarray):
        with warnings.catch_warnings(action="ignore"):  # NumPy's own about broadcast_arrays
            return ("array", np.array(value, order="K"), bool(value.flags.writeable))
    if isinstance(value, (np.void, np.datetime64, np.timedelta64)):
        return tree(np.array(value))
    if isinstance(value, np.generic):
        return ("scalar", value.item())
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return ("scalar", value)
    return ("object", getattr(value, "__name__", type(value).__name__))


def outcome(call: Callable[[], Any], args: tuple) -> Outcome:
    """Call, and keep what there is to compare."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            value = call()
    except Exception as e:
        cause = e.__cause__
        return Outcome(
            None, tree(args), (type(e), e.args, type(cause), cause and cause.args, e.__suppress_context__)
        )
    return Outcome(tree(value, args), tree(args))


def differs(want: Any, got: Any, rtol: float) -> str:
    """Empty, or where two trees differ."""
    if want[0] != got[0] or len(want) != len(got):
        return f"{want} is not {got}"
    if want[0] == "array":
        a, b = want[1], got[1]
        if a.dtype != b.dtype or a.shape != b.shape or want[2] != got[2]:
            return f"array {a.dtype}{a.shape} writable {want[2]} is not {b.dtype}{b.shape} writable {got[2]}"
        return "" if same_numbers(a, b, rtol) else f"{a!r} is not {b!r}"
    if want[0] == "scalar":
        a, b = want[1], got[1]
        same = type(a) is type(b) and (
            same_numbers(np.asarray(a), np.asarray(b), rtol) if isinstance(a, (float, complex)) else a == b
        )
        return "" if same else f"{a!r} is not {b!r}"
    if want[0] in ("argument", "object"):
        return "" if want == got else f"{want} is not {got}"
    return next((d for a, b in zip(want[1:], got[1:], strict=True) if (d := differs(a, b, rtol))), "")


def same_numbers(a: np.ndarray, b: np.ndarray, rtol: float) -> bool:
    """The same bits (any NaN is a NaN), or within `rtol`."""
    if a.dtype.kind == "c":
        return same_numbers(a.real, b.real, rtol) and same_numbers(a.imag, b.imag, rtol)
    if a.dtype.kind in "mM":
        return np.array_equal(a.view(np.int64), b.view(np.int64))
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    if rtol:
        return np.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True)
    nan = np.isnan(a)
    return np.array_equal(nan, np.isnan(b)) and a[~nan].tobytes() == b[~nan].tobytes()


def compare(want: Outcome, got: Outcome, rtol: float = 0.0, declared: bool = False, messages: bool = True) -> str:  # fmt: skip
    """Empty, or how `got` is not what it should be. A declared signature that does not fit is a TypeError, from a compiled caller a TypingError."""
    rtol = max(rtol, got.rtol)
    if want.error is None or got.error is None:
        if want.error is not got.error:
            return f"{want.error or want.result} is not {got.error or got.result}"
    else:
        refused = declared and issubclass(want.error[0], TypeError) and issubclass(got.error[0], TypeError)
        if not refused and want.error[0] is not got.error[0]:
            return f"{want.error} is not {got.error}"
        if not refused and messages and repr(want.error[1]) != repr(got.error[1]):
            return f"{want.error} is not {got.error}"
    if want.error is None and (d := differs(want.result, got.result, rtol)):
        return "result: " + d
    d = differs(want.args, got.args, rtol)
    return "arguments afterwards: " + d if d else ""


# --- making callees and callers ---


def callee(ft: Feature, **more: Any) -> Any:
    """The feature's function, compiled as its row says."""
    declared = [ft.signature] if ft.signature is not None else []
    return njit(*declared, **{**ft.options, **more})(ft.function)


def params(n: int) -> str:
    """Names of n parameters."""
    return ", ".join(f"x{k}" for k in range(n))


def made(source: str, **names: Any) -> Callable:
    """The function `way` of a text."""
    space = {"np": np, "prange": prange, **names}
    exec(compile(source, "<ways>", "exec"), space)
    return space["way"]


def caller(f: Any, n: int) -> Callable:
    """A plain function that calls f."""
    return made(f"def way({params(n)}):\n    return f({params(n)})\n", f=f)


def opposite(ft: Feature) -> dict[str, Any]:
    """Options that are not the feature's."""
    o = ft.options
    return {
        "boundscheck": not o.get("boundscheck", True),
        "error_model": "python" if o.get("error_model") == "numpy" else "numpy",
        "fastmath": not o.get("fastmath"),
        "promotion": "treadle" if o.get("promotion") == "numba" else "numba",
    }


# --- leaves of results, for ways that store them ---


def leaves(t: Any, path: str = "") -> list[tuple[str, Any]] | None:
    """(index text, leaf) of each number and array of a result; None: there is something that cannot be stored."""
    if t[0] == "scalar":
        if t[1] is None:
            return []
        fits = isinstance(t[1], (bool, float, complex)) or isinstance(t[1], int) and -(2**63) <= t[1] < 2**64
        return [(path, t)] if fits else None
    if t[0] == "array":
        return [(path, t)] if t[1].ndim else None
    if t[0] in ("argument", "object"):
        return None
    parts = [leaves(item, f"{path}[{k}]") for k, item in enumerate(t[1:])]
    return None if any(p is None for p in parts) else [leaf for p in parts for leaf in p or []]


def kind(leaf: Any) -> Any:
    """The dtype of a leaf."""
    return leaf[1].dtype if leaf[0] == "array" else np.asarray(leaf[1]).dtype


def stored(t: Any, found: list[np.ndarray], index: tuple) -> Any:
    """The tree t with what was stored of it in place of its leaves."""
    if t[0] == "scalar":
        return t if t[1] is None else ("scalar", found.pop(0)[index].item())
    if t[0] == "array":
        return ("array", np.array(found.pop(0)[index]), t[2])
    return (t[0], *(stored(item, found, index) for item in t[1:]))


# --- the ways ---

WAYS: dict[str, tuple[Callable[..., list[Outcome]], Callable[..., bool]]] = {}


def always(ft: Feature, args: tuple, results: list) -> bool:
    """It applies to all there is."""
    return True


def not_bytes(ft: Feature, args: tuple, results: list) -> bool:
    """Numba's rules, which the way asks for, have bytes as arrays."""
    return not any(isinstance(a, bytes) for a in args)


def way(applies: Callable[..., bool] = always):
    """A decorator for a function (feature, call, oracle's outcome) -> outcomes; `applies` says of (feature, arguments,
    the feature's results in CPython as trees, but for calls that raise) whether it can be gone."""

    def add(function: Callable) -> Callable:
        WAYS[function.__name__] = (function, applies)
        return function

    return add


def run(f: Callable, call: Callable[[], tuple], *before: Any) -> list[Outcome]:
    """The outcome of one call."""
    args = call()
    return [outcome(lambda: f(*before, *args), args)]


@functools.cache
def compiled(name: str, **more: Any) -> Any:
    """The function that most ways share."""
    return callee(FEATURES[name], **more)


# All calls of a feature go one way in one function, so that calls of the same types are one compile.


@functools.lru_cache(maxsize=8)
def own(name: str, way: str, **more: Any) -> Any:
    """The feature's function once more, for one way alone."""
    return callee(FEATURES[name], **more)


@functools.lru_cache(maxsize=8)
def calling(name: str, source: str, inline: bool = False, **options: Any) -> Any:
    """The function `way` of a text, which calls the feature's as f."""
    return njit(**options)(made(source, f=compiled(name, inline="always") if inline else compiled(name)))


@way()
def again(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    """The function that was called plainly."""
    f = compiled(ft.name)
    return run(f, call) + run(f, call)


def plain(n: int) -> str:
    """The text of a function that calls f."""
    return f"def way({params(n)}):\n    return f({params(n)})\n"


@way()
def from_a_caller(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    return run(calling(ft.name, plain(len(call()))), call)


@way(not_bytes)
def from_an_opposite_caller(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    return run(calling(ft.name, plain(len(call())), **opposite(ft)), call)


@way(not_bytes)
def inlined(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    text = plain(len(call()))
    if ft.signature is not None and want.error is not None:  # what is inlined has no signature
        return []
    return run(calling(ft.name, text, inline=True), call) + run(
        calling(ft.name, text, inline=True, **opposite(ft)), call
    )


@way()
def as_an_argument(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    p = params(len(call()))
    return run(calling(ft.name, f"def way(g, {p}):\n    return g({p})\n"), call, compiled(ft.name))


@way()
def as_an_argument_of_a_callee(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    p = params(len(call()))
    text = f"def apply(g, {p}):\n    return g({p})\n\ndef way({p}):\n    return apply(f, {p})\n"
    return run(calling(ft.name, text), call)


@way()
def in_a_recursion(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    p = params(len(call()))
    text = f"def way(n, {p}):\n    if n > 0:\n        return way(n - 1, {p})\n    return f({p})\n"
    return run(calling(ft.name, text), call, 2)


@way()
def in_a_closure(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    p = params(len(call()))
    text = f"def way({p}):\n    def inner():\n        return f({p})\n    return inner()\n"
    return run(calling(ft.name, text), call)


@functools.lru_cache(maxsize=1)
def promoted(name: str, n: int, promotion: str) -> tuple:
    """The feature's function under a rule of promotion, and callers of it under the usual rule and under this one."""
    f = callee(FEATURES[name], promotion=promotion)
    return f, njit(caller(f, n)), njit(promotion=promotion)(caller(f, n))


@way(not_bytes)
def with_other_promotion(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    """The oracle is made here: what promotion="numba" gives plainly."""
    other = opposite(ft)["promotion"]
    f, *callers = promoted(ft.name, len(call()), other)
    want = run(f, call)[0]
    for got in (got for g in callers for got in run(g, call)):
        text = compare(want, got, ft.rtol, ft.signature is not None)
        assert not text, text
    return []


def late_caller(n: int) -> str:
    """The text of a function whose copy for array sizes that differ, the call in it, is compiled when it is first reached."""
    p = params(n)
    return f"def way(a, b, {p}):\n    c = a * 2 + b\n    r = f({p})\n    return r, (c - a).sum()\n"


@way()
def in_late_code(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    a = np.ones((3, 4))
    got = run(calling(ft.name, late_caller(len(call()))), call, a, a[:1])[0]
    return [got if got.error is not None else replace(got, result=got.result[1])]


@way()
def under_parallel(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    return on_threads(lambda: run(own(ft.name, "under_parallel", parallel=True), call))


@way()
def from_a_parallel_caller(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    f = calling(ft.name, plain(len(call())), parallel=True)
    return on_threads(lambda: run(f, call))


@way()
def on_a_small_stack(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    """64 KiB have room for the call and the compiler moves elsewhere; buffers that do not fit are a RecursionError."""
    f = own(ft.name, "on_a_small_stack")
    small = on_stack(64, lambda: run(f, call))
    no_room = small[0].error is not None and small[0].error[0] is RecursionError
    return on_stack(256, lambda: run(f, call)) + ([] if no_room else small)


@way()
def from_the_cache(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    """Two functions of one code: the second finds what the first left, where it could be kept."""
    return run(callee(ft, cache=True), call) + run(callee(ft, cache=True), call)


def on_threads(work: Callable[[], list[Outcome]]) -> list[Outcome]:
    """The outcomes with one thread and with all, in the ranges that the runtime chooses, and in ranges of two rounds, which add up in another order."""
    before, found = treadle.get_num_threads(), []
    try:
        for n in sorted({1, before}):
            treadle.set_num_threads(n)
            treadle._core._pool_grain(0)
            found += work()
            treadle._core._pool_grain(2)
            found += [replace(got, rtol=1e-12) for got in work()]
    finally:
        treadle._core._pool_grain(0)
        treadle.set_num_threads(before)
    return found


def is_number(x: Any) -> bool:
    """A scalar that an array may hold."""
    number = isinstance(x, (bool, float, complex, np.generic)) and not isinstance(
        x, (np.void, np.datetime64, np.timedelta64)
    )
    return number or isinstance(x, int) and abs(x) < 2**63


def of_numbers(ft: Feature, args: tuple, results: list) -> bool:
    """All arguments are numbers, and so are the results."""
    return (
        bool(results)
        and all(map(is_number, args))
        and all(t[0] == "scalar" and is_number(t[1]) for t in results)
    )


@way(of_numbers)
def in_a_vectorize(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    """Arrays of three equal items."""
    f = vectorize(caller(compiled(ft.name), len(call())))
    found = []
    for target in (f, vectorize(target="parallel")(caller(compiled(ft.name), len(call())))):
        args = call()
        got = outcome(lambda t=target, a=args: t(*(np.array([x] * ITERATIONS) for x in a)), args)
        if got.error is not None:
            found.append(got)
            continue
        found += [Outcome(("scalar", item), got.args) for item in got.result[1].tolist()]
    return found


def storable(results: list) -> bool:
    """Results are numbers and arrays with items that can be stored."""
    found = [leaves(t) for t in results]
    return all(f is not None and all(a[1].size for _, a in f if a[0] == "array") for f in found)


def asks_for_layout(ft: Feature) -> bool:
    """Arrays that a way makes, or that a gufunc hands on, have another layout than the caller's."""
    return "::1" in str(ft.signature)


def of_a_gufunc(ft: Feature, args: tuple, results: list) -> bool:
    """Arguments are numbers and arrays with items; nothing is changed."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    fits = all(
        is_number(a) or isinstance(a, np.ndarray) and a.size and a.ndim and a.dtype.kind not in "mM"
        for a in args
    )
    before = [a.copy() for a in arrays]
    outcome(lambda: ft.function(*args), args)
    unchanged = all(map(np.array_equal, before, arrays))
    kept = storable(results) and all(map(leaves, results))
    return fits and bool(arrays) and unchanged and kept and not asks_for_layout(ft)


def element(dtype: np.dtype, ndim: int) -> str:
    """How a signature writes the type of an array of any strides, or of a number."""
    return dtype.name + (f"[{', '.join(':' * ndim)}]" if ndim else "")


@functools.lru_cache(maxsize=2)
def general(name: str, source: str, signature: str, layout: str) -> Callable[[], Any]:
    """What makes the generalised ufunc of a text, once; what refuses it is an outcome of the call."""
    return functools.cache(lambda: guvectorize([signature], layout)(made(source, f=compiled(name))))


@way(of_a_gufunc)
def in_a_guvectorize(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    args = call()
    kept = leaves(want.result) if want.error is None else [("", ("scalar", 0.0))]
    names = [f"o{k}" for k in range(len(kept))]
    text = f"def way({', '.join([params(len(args)), *names])}):\n    r = f({params(len(args))})\n"
    for name, (path, leaf) in zip(names, kept, strict=True):
        text += f"    {name}[{'...' if leaf[0] == 'array' else '0'}] = r{path}\n"
    if want.error is not None:
        text = text.replace("o0[0] = r\n", "o0[0] = 0.0\n")
    core = [f"({', '.join(f'a{k}_{d}' for d in range(np.ndim(a)))})" for k, a in enumerate(args)]
    outs = [f"({', '.join(map(str, leaf[1].shape if leaf[0] == 'array' else ()))})" for _, leaf in kept]
    types = [element(np.asarray(a).dtype, np.ndim(a)) for a in args]
    types += [element(kind(leaf), leaf[1].ndim if leaf[0] == "array" else 1) for _, leaf in kept]
    f = general(ft.name, text, f"void({', '.join(types)})", f"{','.join(core)}->{','.join(outs)}")
    room = [np.zeros(leaf[1].shape if leaf[0] == "array" else (), kind(leaf)) for _, leaf in kept]
    got = outcome(lambda: f()(*args, *room), args)
    if got.error is None:
        got = Outcome(stored(want.result, list(room), ()), got.args)
    return [got]


def of_a_prange(ft: Feature, args: tuple, results: list) -> bool:
    """Array arguments can be rows of a larger array, and do not meet."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    apart = not any(np.may_share_memory(*pair) for pair in itertools.combinations(arrays, 2))
    return apart and all(a.ndim for a in arrays) and storable(results) and not asks_for_layout(ft)


def stack(a: np.ndarray) -> np.ndarray:
    """Copies of an array, one for each iteration."""
    out = np.stack([a] * ITERATIONS)
    out.flags.writeable = a.flags.writeable
    return out


@way(of_a_prange)
def in_a_prange(ft: Feature, call: Any, want: Outcome) -> list[Outcome]:
    """Each iteration has rows of its own for its array arguments, and stores its results at its index."""
    args = call()
    kept = [] if want.error is not None else leaves(want.result)
    names = [f"o{k}" for k in range(len(kept))]
    given = ", ".join(f"x{k}[i]" if isinstance(a, np.ndarray) else f"x{k}" for k, a in enumerate(args))
    text = f"def way({', '.join(['n', params(len(args)), *names])}):\n    for i in prange(n):\n        r = f({given})\n"
    for name, (path, _) in zip(names, kept, strict=True):
        text += f"        {name}[i] = r{path}\n"
    f = calling(ft.name, text, parallel=True)

    def once() -> list[Outcome]:
        own = tuple(stack(a) if isinstance(a, np.ndarray) else a for a in call())
        room = [
            np.zeros((ITERATIONS, *(leaf[1].shape if leaf[0] == "array" else ())), kind(leaf))
            for _, leaf in kept
        ]
        done = outcome(lambda: f(ITERATIONS, *own, *room), ())
        found = []
        for i in range(ITERATIONS):
            after = tree(tuple(a[i] if isinstance(a, np.ndarray) else a for a in own))
            if done.error is not None:
                found.append(Outcome(None, after if i == 0 else want.args, done.error))
            else:
                found.append(Outcome(stored(want.result, list(room), (i,)), after))
        return found

    return on_threads(once)


# --- the child ---


def plainly(path: str) -> None:
    """Call every function plainly, with the cache; the outcomes, and the process's counts, go to a file."""
    more = {} if treadle.config.DISABLE_JIT else {"cache": True}
    found = {ft.name: [run(callee(ft, **more), call)[0] for call in ft.calls] for ft in FEATURES.values()}
    Path(path).write_bytes(pickle.dumps((found, treadle.stats())))


def check(names: list[str]) -> None:
    """Go some ways with every function, and print what is not as it should be."""
    tried = 0
    for ft in FEATURES.values():
        for call in ft.calls:
            want = run(compiled(ft.name), call)[0]
            for name in names:
                go, applies = WAYS[name]
                if applies is not_bytes and not applies(ft, call(), []):
                    continue
                for got in go(ft, call, want):
                    tried += 1
                    if text := compare(want, got, ft.rtol, ft.signature is not None):
                        print(f"differs: {ft.name} {name}, called with {call()}: {text}")
    print(f"{tried} tried")


if __name__ == "__main__":
    import ways  # what is pickled names its module

    ways.plainly(sys.argv[2]) if sys.argv[1] == "plainly" else ways.check(sys.argv[2:])
