"""Child process: what a call costs, per kind of arguments, all peers side by side.

Prints one JSON object: {"samples": {kind: {variant: [seconds a call, ...]}},
"failed": {"kind variant": error}}.

The time of a call is that of the statement `f(...)` in a loop, as a user
writes it: the loop's own few nanoseconds are left in for everyone.
"""

from __future__ import annotations

import argparse
import json
import time
import timeit
from typing import Any

import numpy as np
import peers

VECTOR = np.ones(4)

# kind -> (source of f, calls that compile it, the statement timed).  Numba takes 19 us where an
# omitted default is a number and 0.2 us where it is None, so that both are measured.
KINDS: dict[str, tuple[str, list[str], str]] = {
    "2 floats": ("def f(x, y):\n    return x + y\n", ["f(1.0, 2.0)"], "f(1.0, 2.0)"),
    "1-D array": ("def f(a):\n    return a[0]\n", ["f(a)"], "f(a)"),
    "3 arrays + float": (
        "def f(a, b, c, s):\n    return a[0] + b[0] + c[0] + s\n",
        ["f(a, b, c, 1.0)"],
        "f(a, b, c, 1.0)",
    ),
    "int by keyword": ("def f(n):\n    return n + 1\n", ["f(n=3)"], "f(n=3)"),
    "two defaults omitted": (
        "def f(x, y=1.0, z=2.0):\n    return x + y + z\n",
        ["f(0.5)"],
        "f(0.5)",
    ),
    "two defaults of None omitted": (
        "def f(x, y=None, z=None):\n    return x\n",
        ["f(0.5)"],
        "f(0.5)",
    ),
    "one of four signatures": (
        "def f(x, y):\n    return x + y\n",
        ["f(1, 2)", "f(1, 2.0)", "f(1.0, 2)", "f(1.0, 2.0)"],
        "f(1.0, 2.0)",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", required=True, help="names, joined by commas")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--calls", type=int, default=20000, help="calls a sample")
    options = parser.parse_args()

    report: dict[str, Any] = {"samples": {}, "failed": {}}
    for kind, (source, compiling, statement) in KINDS.items():
        timers: dict[str, timeit.Timer] = {}
        for variant in options.variants.split(","):
            scope = {"a": VECTOR, "b": VECTOR.copy(), "c": VECTOR.copy()}
            try:
                scope["f"] = peers.decorator(variant)(peers.define(source))
                answers = [eval(call, scope) for call in compiling]
            except Exception as error:  # a peer's failure is a result, not the end of the run
                report["failed"][f"{kind} {variant}"] = f"{type(error).__name__}: {error}"
                continue
            scope["f"], compiled = peers.define(source), scope["f"]
            if answers != [eval(call, scope) for call in compiling]:
                report["failed"][f"{kind} {variant}"] = f"wrong result {answers}"
                continue
            scope["f"] = compiled
            timers[variant] = timeit.Timer(statement, timer=time.thread_time, globals=scope)
        samples: dict[str, list[float]] = {variant: [] for variant in timers}
        order = list(timers)
        for number in range(options.rounds):
            turn = number % max(1, len(order))
            for variant in order[turn:] + order[:turn]:
                samples[variant].append(timers[variant].timeit(options.calls) / options.calls)
        report["samples"][kind] = samples
    print(json.dumps(report))


if __name__ == "__main__":
    main()
