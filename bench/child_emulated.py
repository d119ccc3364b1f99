"""Child process: checks and times the kernels of emulated.py, compiled on one core, beside C.

Prints one JSON object: {"samples": {case: {variant: [seconds, ...]}}, "wrong": {case: what}, "failed": {case: error}}. The two sides take turns. With
`--simulator` the peer is Numba's simulator; random numbers have libcurand's as theirs, where it is; with `--cores` it is one core against two; with `--waits` it times what a new kernel costs before it runs, in a process that has compiled before: {"samples": {what: {"treadle": [seconds, ...]}}}.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
from collections.abc import Callable
from typing import Any

import creference
import emulated

CLOSE = 1e-3  # relative, or of numbers near 1


def seconds(run: Callable[[], Any], reps: int) -> float:
    start = time.thread_time()
    for _ in range(reps):
        run()
    return (time.thread_time() - start) / reps


def measure(name: str, cuda: Any, library: str, rounds: int) -> dict[str, list[float]]:
    """Samples of one case; raises where a result is wrong."""
    case = emulated.CASES[name]
    launch, arrays, error = case.make(cuda)
    kernel = creference.Kernel(library, case.c, tuple(arrays), None) if library and case.c else None
    launch()
    if kernel:
        kernel.time(1)
    if (kernel or not case.c) and not error() < CLOSE:
        raise ArithmeticError(f"off by {error()}")
    sides: dict[str, Callable[[int], float]] = {"treadle": lambda reps: seconds(launch, reps) / case.scale}
    if kernel:
        timer = kernel.time
        sides["c"] = lambda reps: timer(reps) / reps
    if case.peer and (other := case.peer()):
        sides["curand"] = lambda reps: seconds(other, reps) / case.scale
    reps = max(1, round(0.02 / max(seconds(launch, 1), 1e-6)))
    samples: dict[str, list[float]] = {side: [] for side in sides}
    order = list(sides)
    for number in range(rounds):
        for side in order if number % 2 else order[::-1]:
            samples[side].append(sides[side](reps))
    return samples


def waits(cuda: Any, rounds: int) -> dict[str, dict[str, list[float]]]:
    """What the first launch of a tiled product of matrices costs, and its PTX; each time another function."""
    first, ptx = [], []
    for number in range(rounds + 1):
        launch, _, error = emulated.product(cuda, 2 * emulated.TILE)
        took = seconds(launch, 1)
        if not error() < CLOSE:
            raise ArithmeticError(f"off by {error()}")
        cells: Any = launch.__closure__
        kernel = next(c.cell_contents for c in cells if hasattr(c.cell_contents, "py_func"))
        sig = "void(float32[:,::1], float32[:,::1], float32[:,::1])"
        text = seconds(lambda: cuda.compile_ptx(kernel.py_func, sig, cc=(8, 0)), 1)
        if number:  # the first one pays for the process
            first.append(took)
            ptx.append(text)
    return {"first launch": {"treadle": first}, "first PTX": {"treadle": ptx}}


def beside_simulator(ours: Any, rounds: int) -> dict[str, dict[str, list[float]]]:
    """The processor's time of launches that have run before, here and in Numba's simulator."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    from numba import cuda as theirs

    samples: dict[str, dict[str, list[float]]] = {}
    for name in emulated.SIMULATED:
        sides = {
            "treadle": (emulated.simulated(ours, name), 200),
            "numba": (emulated.simulated(theirs, name), 1),
        }
        for side, ((launch, error), _) in sides.items():
            launch()
            if not error() < CLOSE:
                raise ArithmeticError(f"{name}, {side}: off by {error()}")
        for _ in range(rounds):
            for side, ((launch, _), reps) in sides.items():
                start = time.process_time()  # the simulator has threads
                for _ in range(reps):
                    launch()
                took = (time.process_time() - start) / reps
                samples.setdefault(name, {}).setdefault(side, []).append(took)
    return samples


def by_cores(treadle: Any, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Wall time of the tiled product on one core and on two, in turns."""
    launch, _, error = emulated.product(treadle.cuda)
    samples: dict[str, list[float]] = {"one": [], "two": []}
    for number in range(rounds + 1):
        for side, n in (("one", 1), ("two", 2)):
            treadle.set_num_threads(n)
            start = time.perf_counter()
            launch()
            took = time.perf_counter() - start
            if number:  # the first one compiles
                samples[side].append(took)
    if not error() < CLOSE:
        raise ArithmeticError(f"off by {error()}")
    treadle.set_num_threads(1)
    return {"product on two cores": samples}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="", help="names, joined by '|'")
    parser.add_argument("--library", default="", help="path of emulated.c, built")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--waits", action="store_true")
    parser.add_argument("--simulator", action="store_true")
    parser.add_argument("--cores", action="store_true")
    options = parser.parse_args()

    os.environ["TREADLE_CUDA"], os.environ["TREADLE_CUDA_WARN"] = "emu", "0"
    import treadle

    treadle.set_num_threads(1)
    report: dict[str, Any] = {"samples": {}, "wrong": {}, "failed": {}}
    gc.disable()
    if options.waits:
        report["samples"] = waits(treadle.cuda, options.rounds)
    if options.cores:
        report["samples"] = by_cores(treadle, options.rounds)
    if options.simulator:
        report["samples"] = beside_simulator(treadle.cuda, options.rounds)
    for name in options.cases.split("|") if options.cases else ():
        try:
            report["samples"][name] = measure(name, treadle.cuda, options.library, options.rounds)
        except ArithmeticError as error:
            report["wrong"][name] = str(error)
        except Exception as error:  # a case's failure is a result, not the end of the run
            report["failed"][name] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    print(json.dumps(report))


if __name__ == "__main__":
    main()
