"""Child process: what a user waits for before code runs.

`import`, `first` and `cached` measure one thing once, in this fresh process,
after NumPy is imported; `compile` and `first_use` measure warm compiles, many times; `large` and `memory` measure one peer.  Each prints one JSON
object as its last line.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import peers
import sources

MIB = 1 << 20


def do_import(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds for `from PEER import njit`, NumPy being there.

    Not the bare `import`: a package may put off loading what it is for.
    """
    start = time.perf_counter()
    importlib.import_module(options.peer).njit
    return {"seconds": time.perf_counter() - start}


def do_first(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds from before `import PEER` to the first result of a trivial function."""
    function = peers.define(sources.source("trivial", 1))
    start = time.perf_counter()
    answer = peers.decorator(options.peer)(function)(2.0)
    seconds = time.perf_counter() - start
    if answer != 3.0:
        raise SystemExit(f"wrong result {answer}")
    return {"seconds": seconds}


def do_cached(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds for the first call of a `cache=True` function, PEER being imported.

    The caller runs this twice on the same cache folder: the first run fills it.
    """
    njit = importlib.import_module(options.peer).njit
    values = np.ones((3, 4))
    start = time.perf_counter()
    import cached_target

    function = njit(cache=True)(cached_target.sum2d)
    answer = function(values)
    seconds = time.perf_counter() - start
    if answer != 12.0:
        raise SystemExit(f"wrong result {answer}")
    return {"seconds": seconds, "loaded": loaded_from_cache(options.peer, function)}


def loaded_from_cache(peer: str, function: Any) -> bool:
    """Whether the peer says that this process took the code from its cache."""
    if peer == "numba":
        return sum(function.stats.cache_hits.values()) == 1
    return importlib.import_module(peer).stats()["loaded"] == 1


def compile_arguments(kind: str) -> tuple[Any, ...]:
    if kind == "trivial":
        return (1.0,)
    if kind == "sum":
        return (np.ones(4),)
    return np.ones((4, 4)), np.ones((4, 4)), np.zeros((4, 4))


def compile_once(variant: str, text: str, args: tuple[Any, ...]) -> float:
    """Seconds from decorating a new function to the result of its first call."""
    function = peers.define(text)
    decorate = peers.decorator(variant)
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    decorate(function)(*args)
    seconds = time.perf_counter() - start
    gc.enable()
    return seconds


def do_compile(options: argparse.Namespace) -> dict[str, Any]:
    """Warm compiles of the three small functions."""
    variants = options.variants.split(",")
    samples: dict[str, dict[str, list[float]]] = {}
    failed: dict[str, str] = {}
    for kind in ("sum", "matmul", "medium"):
        args = compile_arguments(kind)
        alive = []
        for variant in variants:
            try:
                compile_once(variant, sources.source(kind, 1), args)
                alive.append(variant)
            except Exception as error:  # a peer's failure is a result, not the end of the run
                failed[f"{kind} {variant}"] = f"{type(error).__name__}: {error}"
        samples[kind] = {variant: [] for variant in alive}
        for number in range(options.rounds):
            turn = number % max(1, len(alive))
            for variant in alive[turn:] + alive[:turn]:
                text = sources.source(kind, 2 + number)
                samples[kind][variant].append(compile_once(variant, text, args))
    return {"samples": samples, "failed": failed}


FIRST_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "arrays": (np.arange(12.0).reshape(3, 4), np.ones((3, 4))),
    "ufunc": (np.linspace(-1, 1, 100), np.ones(100)),
    "random": (0.0,),
    "solve": (np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]]), np.ones(3)),
    "comprehension": (10,),
    "dict": (np.array([3, 1, 3]),),
    "strings": (("a", "b", "c"), 5),
    "words": ("It was the best of times, it was the worst of times",),
}


def first_use(variant: str, kind: str, salt: int) -> float:
    """Seconds from decorating a new function to its first result, which is checked: of a kind of `FIRST_ARGUMENTS`."""
    function = peers.define(sources.source(kind, salt))
    decorate = peers.vectorizer(variant, []) if kind == "ufunc" else peers.decorator(variant)
    args = FIRST_ARGUMENTS[kind]
    if kind == "ufunc":
        want = np.exp(-(args[0] ** 2)) + salt
    elif kind == "random":  # whatever the number is
        want = salt
    else:
        want = function(*args)
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    got = decorate(function)(*args)
    seconds = time.perf_counter() - start
    gc.enable()
    # Numba's dict is a class of its own, which a call does not turn into Python's
    same = dict(got) == want if isinstance(want, dict) else np.allclose(got, want, rtol=1e-13)
    if not same:
        raise ArithmeticError(f"wrong result {got}")
    return seconds


def do_first_use(options: argparse.Namespace) -> dict[str, Any]:
    """Warm first uses of some kinds of functions; the first of each kind warms the compiler."""
    samples: dict[str, dict[str, list[float]]] = {}
    failed: dict[str, str] = {}
    for kind in options.kinds.split(","):
        samples[kind] = {}
        for variant in options.variants.split(","):
            # Numba needs seconds for these; it is so far away that few samples do.
            rounds = 3 if variant == "numba" and kind in ("arrays", "solve") else options.rounds
            try:
                seconds = [first_use(variant, kind, 1 + number) for number in range(rounds + 1)]
            except Exception as error:  # a peer's failure is a result, not the end of the run
                failed[f"{kind} {variant}"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
                continue
            samples[kind][variant] = seconds[1:]
    return {"samples": samples, "failed": failed}


def instructions(blocks: int) -> int:
    """LLVM instructions that `blocks` bodies make, before LLVM's passes."""
    import treadle

    function = treadle.njit(peers.define(sources.body_source(blocks, 1)))
    function(*compile_arguments("medium"))
    text = function.inspect("llvm")
    if isinstance(text, dict):
        (text,) = text.values()
    bodies = re.findall(r"^define .*?^}", text, re.M | re.S)
    return sum(line.startswith("  ") for body in bodies for line in body.splitlines())


def blocks_for(wanted: int) -> int:
    """How many bodies make about `wanted` LLVM instructions."""
    one, two = instructions(1), instructions(2)
    return 1 + max(1, round((wanted - one) / (two - one)))


def large_once(blocks: int, salt: int, level: int) -> dict[str, float]:
    """Compile `blocks` bodies at a level; seconds in all and by stage, as Treadle's own clock says."""
    import treadle

    treadle.config.OPT_LEVEL = level
    function = treadle.njit(peers.define(sources.body_source(blocks, salt)))
    args = compile_arguments("medium")
    gc.collect()
    start = time.perf_counter()
    function(*args)
    wall = time.perf_counter() - start
    (stages,) = function.stats["signatures"].values()
    llvm = stages["llvmopt"] + stages["asm"]
    return {"wall": wall, "llvm": llvm, "own": (stages["seconds"] - llvm) / stages["seconds"]}


def do_large(options: argparse.Namespace) -> dict[str, Any]:
    """One big function: own stages, against LLVM's default<O3> on the same module, and doubled.

    LLVM's side is its passes and code generation alone; Treadle's side is everything that
    the user waits for, first call included.
    """
    blocks = blocks_for(6000)
    samples: dict[str, list[float]] = {"own": [], "total": [], "O3": [], "twice": []}
    for number in range(options.rounds + 1):
        salt = 3 + 4 * blocks * number
        usual = large_once(blocks, salt, 2)
        reference = large_once(blocks, salt + blocks, 3)
        twice = large_once(2 * blocks, salt + 2 * blocks, 2)
        if number == 0:
            continue
        samples["own"].append(usual["own"])
        samples["total"].append(usual["wall"])
        samples["O3"].append(reference["llvm"])
        samples["twice"].append(twice["wall"])
    return {"samples": samples, "blocks": blocks, "instructions": instructions(blocks)}


def resident() -> int:
    """Resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as handle:
        return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def do_memory(options: argparse.Namespace) -> dict[str, Any]:
    """MiB that resident memory grows by, compiling and dropping functions."""
    decorate = peers.decorator(options.peer)
    values = np.ones(4)
    after_warm_up = 0
    for number in range(options.functions):
        function = decorate(peers.define(sources.source("sum", number)))
        if function(values) != 4.0 + number:
            raise SystemExit("wrong result")
        del function
        if number + 1 == options.warm_up:
            gc.collect()
            after_warm_up = resident()
    gc.collect()
    return {"mib": (resident() - after_warm_up) / MIB}


ACTIONS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "import": do_import,
    "first": do_first,
    "cached": do_cached,
    "compile": do_compile,
    "first_use": do_first_use,
    "large": do_large,
    "memory": do_memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("--peer", default="treadle")
    parser.add_argument("--variants", default="treadle,numba", help="names, joined by commas")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--kinds", default=",".join(FIRST_ARGUMENTS), help="of first_use, joined by commas")
    parser.add_argument("--functions", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=100, dest="warm_up")
    options = parser.parse_args()
    report = ACTIONS[options.action](options)
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
