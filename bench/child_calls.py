"""Child process: what a call costs, per kind of arguments, all peers side by side: of a compiled function,
with `--ufuncs` of a ufunc, with `--launches` of a kernel, or with `--libraries` of what CUDA's libraries do (both Treadle
alone: nobody else has an emulated device).

Prints one JSON object: {"samples": {kind: {variant: [seconds a call, ...]}},
"failed": {"kind variant": error}}.

The time of a call is that of the statement `f(...)` in a loop, as a user
writes it: the loop's own few nanoseconds are left in for everyone.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import time
import timeit
import tracemalloc
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
    "tuple": ("def f(t):\n    return t[0] + t[1]\n", ["f((1.0, 2.0))"], "f((1.0, 2.0))"),
    "nested tuple + float": (
        "def f(t, x):\n    return t[0] + t[1][0] * t[1][1] + x\n",
        ["f((1.0, (2, 3.0)), 3.0)"],
        "f((1.0, (2, 3.0)), 3.0)",
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


# kind -> statement, for a ufunc f(x, y) of two float64; `a` and `b` have ten elements.
UFUNC_KINDS: dict[str, str] = {"10 elements": "f(a, b)", "2 scalars": "f(1.0, 2.0)"}


# kind -> parameters of a kernel that runs as one thread, the first one to be written to; names with `a` are device arrays.
LAUNCH_KINDS: dict[str, list[str]] = {
    "4 device arrays": ["a0", "a1", "a2", "a3"],
    "1 scalar + 16 device arrays": ["s", *(f"a{n}" for n in range(16))],
}


# The call of a ufunc of device arrays, where there is a GPU.
DEVICE_UFUNC = "ufunc of a number and 2 device arrays, out="


# kind -> the statement, of four items each; what it uses was made before.
LIBRARY_KINDS: dict[str, str] = {
    "axpy": "blas.axpy(2.0, x, y)",
    "FFT by a plan": "plan.forward(c, c)",
    "FFT by a function": "fft_inplace(c)",
}


def library_timer(kind: str, variant: str) -> timeit.Timer:
    """A timer of one kind of a library's call: of NumPy's own on the emulated device, of those that are none on a GPU that is none."""
    from treadle import cuda
    from treadle.cuda.blas import Blas
    from treadle.cuda.fft import FFTPlan, fft_inplace

    pairs = np.arange(4).astype(np.complex64)
    scope: dict[str, Any] = {"blas": Blas(), "plan": FFTPlan(pairs.shape, pairs.dtype, pairs.dtype)}
    scope |= {"x": cuda.to_device(VECTOR), "y": cuda.to_device(VECTOR), "c": cuda.to_device(pairs)}
    scope["fft_inplace"] = fft_inplace
    eval(LIBRARY_KINDS[kind], scope)
    name, want = ("y", 3 * VECTOR) if kind == "axpy" else ("c", np.fft.fft(pairs))
    if not np.allclose(scope[name].copy_to_host(), want):
        raise ArithmeticError("wrong result")
    scope["c"] = cuda.to_device(0 * pairs)  # no items that grow
    return timeit.Timer(LIBRARY_KINDS[kind], timer=time.thread_time, globals=scope)


def launch_timer(kind: str, variant: str) -> timeit.Timer:
    """A timer of one kind of launch; a launch that allocates memory is a wrong result."""
    os.environ["TREADLE_CUDA_WARN"] = "0"  # one block is few
    from treadle import cuda

    if kind == DEVICE_UFUNC:
        return device_ufunc_timer(cuda)
    names = LAUNCH_KINDS[kind]
    body = f"    i = cuda.grid(1)\n    if i < a0.size:\n        a0[i] = {' + '.join(names[:1] + ['a1[i]'])}\n"
    if names[0] != "s":
        body = body.replace("= a0", "= a3[i]")
    kernel = peers.define(f"def k({', '.join(names)}):\n{body}", "k")
    kernel.__globals__["cuda"] = cuda
    scope: dict[str, Any] = {name: cuda.to_device(np.ones(1)) for name in names if name != "s"}
    scope |= {"k": cuda.jit(kernel), "s": 2.5}
    statement = f"k[1, 1]({', '.join(names)})"
    fake = None if cuda.is_emulated() else ctypes.CDLL(os.environ["TREADLE_CUDA_DRIVER"])
    if fake:  # a driver that is none
        fake.fake_hold(0)
    eval(statement, scope)
    if scope["a0"].copy_to_host()[0] != (3.5 if "s" in names else 2.0):
        raise ArithmeticError("wrong result")
    if fake:
        fake.fake_hold(2)  # launches are forgotten at once
    timer = timeit.Timer(statement, timer=time.thread_time, globals=scope)
    timer.timeit(100)
    tracemalloc.start()
    peak = tracemalloc.get_traced_memory()[1]
    timer.timeit(100)
    grown = tracemalloc.get_traced_memory()[1] - peak
    tracemalloc.stop()
    if grown > 2048:  # the timer's own
        raise ArithmeticError(f"launches allocate: {grown} bytes")
    return timer


def device_ufunc_timer(cuda: Any) -> timeit.Timer:
    """A timer of calls of a ufunc on a GPU that is none."""
    from treadle import vectorize

    define = vectorize(["float32(float32, float32, float32)"], target="cuda")
    scope: dict[str, Any] = {"f": define(peers.define("def f(s, x, y):\n    return s * x + y\n"))}
    scope |= {name: cuda.to_device(np.ones(1000, np.float32)) for name in "xyo"}
    fake = ctypes.CDLL(os.environ["TREADLE_CUDA_DRIVER"])
    fake.fake_hold(0)
    statement = "f(2.5, x, y, out=o)"
    if (eval(statement, scope).copy_to_host() != 3.5).any():
        raise ArithmeticError("wrong result")
    fake.fake_hold(2)
    return timeit.Timer(statement, timer=time.thread_time, globals=scope)


def function_timer(kind: str, variant: str) -> timeit.Timer:
    """A timer of one kind of call to a compiled function; raises what goes wrong."""
    source, compiling, statement = KINDS[kind]
    scope = {"a": VECTOR, "b": VECTOR.copy(), "c": VECTOR.copy()}
    compiled = scope["f"] = peers.decorator(variant)(peers.define(source))
    answers = [eval(call, scope) for call in compiling]
    scope["f"] = peers.define(source)
    if answers != [eval(call, scope) for call in compiling]:
        raise ArithmeticError(f"wrong result {answers}")
    scope["f"] = compiled
    return timeit.Timer(statement, timer=time.thread_time, globals=scope)


def ufunc_timer(kind: str, variant: str) -> timeit.Timer:
    """A timer of one kind of call to a ufunc."""
    scope: dict[str, Any] = {"a": np.arange(10.0), "b": np.ones(10)}
    want = eval(UFUNC_KINDS[kind], scope | {"f": np.add})
    if variant == "numpy":
        scope["f"] = np.add
    else:
        vectorize = peers.vectorizer(variant, ["float64(float64, float64)"])
        scope["f"] = vectorize(peers.define("def f(x, y):\n    return x + y\n"))
    got = eval(UFUNC_KINDS[kind], scope)
    if not np.array_equal(got, want):
        raise ArithmeticError(f"wrong result {got}")
    return timeit.Timer(UFUNC_KINDS[kind], timer=time.thread_time, globals=scope)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", required=True, help="names, joined by commas")
    parser.add_argument("--ufuncs", action="store_true")
    parser.add_argument("--launches", action="store_true")
    parser.add_argument("--libraries", action="store_true")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--calls", type=int, default=20000, help="calls a sample")
    options = parser.parse_args()

    report: dict[str, Any] = {"samples": {}, "failed": {}}
    kinds, make = (
        (UFUNC_KINDS, ufunc_timer)
        if options.ufuncs
        else (
            [*LAUNCH_KINDS, *([DEVICE_UFUNC] if os.environ.get("TREADLE_CUDA") == "gpu" else [])],
            launch_timer,
        )
        if options.launches
        else (LIBRARY_KINDS, library_timer)
        if options.libraries
        else (KINDS, function_timer)
    )
    for kind in kinds:
        timers: dict[str, timeit.Timer] = {}
        for variant in options.variants.split(","):
            try:
                timers[variant] = make(kind, variant)
            except Exception as error:  # a peer's failure is a result, not the end of the run
                report["failed"][f"{kind} {variant}"] = f"{type(error).__name__}: {error}"
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
