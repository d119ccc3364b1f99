"""Child process: checks and times one run-time case, all peers side by side.

Prints one JSON object: {"samples": {variant: [seconds per call, ...]},
"wrong": {variant: what}, "failed": {variant: error}}.

All variants share one set of arrays, so that alignment and page placement are
the same for each, and take turns: round r starts at another variant than
round r - 1.  A sample is the mean over enough calls to last `--sample`
seconds of this thread's CPU time (other programs may take the core away in between);
the caller takes the minimum over rounds and processes.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import creference
import kernels
import numpy as np
import peers

SEED = 20240917


def call_timer(function: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[int], float]:
    """A function that times `reps` calls from Python and returns CPU seconds."""

    def run(reps: int) -> float:
        clock = time.thread_time
        start = clock()
        for _ in repeat(None, reps):
            function(*args)
        return clock() - start

    return run


def fresh(case: kernels.Case, full: bool) -> tuple[Any, ...]:
    return case.inputs(np.random.default_rng(SEED), full)


def fault(case: kernels.Case, call: Callable[[tuple[Any, ...]], Any], contracted: bool) -> str | None:
    """Run `call` on fresh inputs of both sizes; say what is wrong, or None."""
    for full in (False, True):
        args = fresh(case, full)
        want = case.expected(*fresh(case, full))
        text = kernels.difference(case, case.observe(args, call(args)), want, contracted)
        if text:
            return f"{'full' if full else 'small'} input: {text}"
    return None


def c_result_type(case: kernels.Case) -> type | None:
    if case.observe is not kernels.returned:
        return None
    return int if isinstance(case.expected(*fresh(case, False)), int) else float


def prepare(
    case: kernels.Case, variants: list[str], libraries: dict[str, Path], report: dict[str, Any]
) -> dict[str, Callable[[int], float]]:
    """Compile and check each variant; return a timer for each that is right."""
    args = fresh(case, True)
    timers: dict[str, Callable[[int], float]] = {}
    for variant in variants:
        if variant in libraries:
            kind = c_result_type(case)

            def call(some: tuple[Any, ...], path: Path = libraries[variant]) -> Any:
                return creference.Kernel(path, case.name, some, kind)()

            timer = creference.Kernel(libraries[variant], case.name, args, kind).time
        else:
            try:
                compiled = case.make(peers.decorator(variant))
                compiled(*fresh(case, False))
            except Exception as error:  # a peer's failure is a result, not the end of the run
                report["failed"][variant] = f"{type(error).__name__}: {error}"
                continue

            def call(some: tuple[Any, ...], function: Callable[..., Any] = compiled) -> Any:
                return function(*some)

            timer = call_timer(compiled, args)
        wrong = fault(case, call, contracted=variant == "c")
        if wrong:
            report["wrong"][variant] = wrong
        else:
            timers[variant] = timer
    return timers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=sorted(kernels.CASES))
    parser.add_argument("--variants", required=True, help="names, joined by commas")
    parser.add_argument("--libraries", default="{}", help="JSON: C variant to library path")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--sample", type=float, default=0.003, help="seconds a sample lasts")
    options = parser.parse_args()

    case = kernels.CASES[options.case]
    libraries = {name: Path(path) for name, path in json.loads(options.libraries).items()}
    report: dict[str, Any] = {"samples": {}, "wrong": {}, "failed": {}}
    timers = prepare(case, options.variants.split(","), libraries, report)
    gc.disable()
    counts = {}
    for variant, timer in timers.items():
        once = min(timer(1) for _ in range(3))
        counts[variant] = max(1, round(options.sample / max(once, 1e-9)))
        report["samples"][variant] = []
    order = list(timers)
    for number in range(options.rounds):
        turn = number % max(1, len(order))
        for variant in order[turn:] + order[:turn]:
            seconds = timers[variant](counts[variant]) / counts[variant]
            report["samples"][variant].append(seconds)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
