"""Child process: checks and times one elementwise case, all variants side by side.

Prints one JSON object: {"samples": {variant: [seconds, ...]}, "wrong": {variant: what},
"failed": {variant: error}}; seconds are for one element or one call, as the case says.  What a
variant cannot do is its error, and the others are timed all the same.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

import containers  # noqa: F401  (its cases)
import creference
import elementwise
import kernels
import library_cases  # noqa: F401  (its cases are among elementwise.CASES)
import loop_cases  # noqa: F401  (so are these)
import numpy as np
import numpy_cases  # noqa: F401  (so are these)
import parallel_cases  # noqa: F401  (and these)
import program_cases  # noqa: F401  (and these)

SEED = 20240917
Timer = Callable[[int], float]


def timer(function: Callable[..., Any], args: tuple[Any, ...], wall: bool) -> Timer:
    """A function that times `reps` calls from Python and returns seconds."""
    clock = time.perf_counter if wall else time.thread_time

    def run(reps: int) -> float:
        start = clock()
        for _ in repeat(None, reps):
            function(*args)
        return clock() - start

    return run


def thin(value: Any, step: int) -> Any:
    """Each step-th element of a 1-D array, anything else as it is."""
    return value[::step] if isinstance(value, np.ndarray) and value.ndim == 1 else value


def check(case: elementwise.Case, got: Any, want: Any) -> None:
    """Raise when a result is wrong."""
    got = thin(got, case.every)
    text = kernels.difference(case, got, want, False)
    if text:
        raise ArithmeticError(text)


def count_arrays(case: elementwise.Case, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Raise when a call of Treadle's allocates more arrays than the case allows."""
    stats = importlib.import_module("treadle").stats
    before = stats()["arrays_allocated"]
    function(*args)
    made = stats()["arrays_allocated"] - before
    if made > case.arrays:
        raise RuntimeError(f"a call allocates {made} arrays where {case.arrays} would do")


class Inputs:
    """The case's small and full arguments and what is expected of them."""

    def __init__(self, case: elementwise.Case) -> None:
        self.small, self.full = (case.inputs(np.random.default_rng(SEED), full) for full in (False, True))
        self.wanted = [
            case.expected(*(thin(a, case.every) for a in args)) for args in (self.small, self.full)
        ]

    def pairs(self) -> Any:
        return zip((self.small, self.full), self.wanted)


def python_timer(case: elementwise.Case, variant: str, inputs: Inputs) -> Timer:
    """Make, check and bind one variant."""
    function = case.variants[variant]()
    for args, want in inputs.pairs():
        check(case, function(*args), want)
    if variant == "treadle" and case.arrays is not None:
        count_arrays(case, function, inputs.full)
    return timer(function, inputs.full, case.wall)


def c_timer(case: elementwise.Case, variant: str, inputs: Inputs, libraries: dict[str, str]) -> Timer:
    """The same for a kernel of C or C++."""
    kernel = case.in_c[variant]
    run = None
    for given, want in inputs.pairs():
        args = kernel.arguments(given)
        run = creference.Kernel(libraries[kernel.source], kernel.kernel, args, int, case.wall)
        if run() != 0:
            raise OSError("libsleef.so.3 cannot be opened, or no thread can be started")
        result = [a for a in args if isinstance(a, np.ndarray)][-1]
        check(
            case, result, kernel.expected(*(thin(a, case.every) for a in args)) if kernel.expected else want
        )
    return run.time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", choices=sorted(elementwise.CASES))
    parser.add_argument("--libraries", default="{}", help="JSON: source of `InC` to its library's path")
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()

    case = elementwise.CASES[options.case]
    report: dict[str, Any] = {"samples": {}, "wrong": {}, "failed": {}}
    inputs = Inputs(case)
    timers: dict[str, Timer] = {}
    libraries = json.loads(options.libraries)
    for variant in [*case.variants, *(name for name, k in case.in_c.items() if k.source in libraries)]:
        try:
            if variant in case.in_c:
                timers[variant] = c_timer(case, variant, inputs, libraries)
            else:
                timers[variant] = python_timer(case, variant, inputs)
        except ArithmeticError as error:
            report["wrong"][variant] = str(error)
        except Exception as error:  # a variant's failure is a result, not the end of the run
            lines = str(error).splitlines() or [""]
            report["failed"][variant] = f"{type(error).__name__}: {lines[0]}"
    gc.disable()
    counts = {}
    for variant, run in timers.items():
        once = min(run(1) for _ in range(3))
        counts[variant] = max(1, round(case.seconds / max(once, 1e-9)))
        report["samples"][variant] = []
    order = list(timers)
    for number in range(options.rounds):
        turn = number % max(1, len(order))
        for variant in order[turn:] + order[:turn]:
            seconds = timers[variant](counts[variant]) / counts[variant]
            report["samples"][variant].append(seconds / case.per(inputs.full) / case.part.get(variant, 1))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
