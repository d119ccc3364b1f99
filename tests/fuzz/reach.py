"""Ways in: a program's main is reached from compiled callers of several kinds, and gives what it gives when Python calls it.

A caller is made of text, so that it has main's number of parameters. Its options are its own business: main keeps its contract.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

CALL = "def reach({p}):\n    return main({p})\n"
RECURSION = "def reach(n, {p}):\n    if n > 0:\n        return reach(n - 1, {p})\n    return main({p})\n"
CLOSURE = "def reach({p}):\n    def inner():\n        return main({p})\n    return inner()\n"
ARGUMENT = "def reach(f, {p}):\n    return f({p})\n"
LATE = "def reach(a, b, {p}):\n    c = a * 2 + b\n    r = main({p})\n    return r, (c - a).sum()\n"
WAYS = ("caller", "opposite", "recursion", "closure", "argument", "late", "parallel", "small stack")


def opposite(options: dict[str, Any], promotion: str) -> dict[str, Any]:
    """Options that main does not have."""
    return {
        "boundscheck": options.get("boundscheck") is False,
        "error_model": "python" if options.get("error_model") == "numpy" else "numpy",
        "fastmath": True,
        "promotion": "treadle" if promotion == "numba" else "numba",
    }


def made(text: str, n: int, main: Any, **options: Any) -> Any:
    """The compiled function `reach` of a text."""
    import treadle

    space = {"main": main}
    exec(compile(text.format(p=", ".join(f"x{k}" for k in range(n))), "<reach>", "exec"), space)
    return treadle.njit(**options)(space["reach"])


def reached(way: str, main: Any, n: int, options: dict[str, Any], promotion: str) -> Callable:
    """A function of n arguments that reaches main by a way of `WAYS`."""
    if way == "small stack":
        return lambda *args: on_small_stack(lambda: main(*args))
    if way == "recursion":
        f = made(RECURSION, n, main)
        return lambda *args: f(2, *args)
    if way == "argument":
        f = made(ARGUMENT, n, main)
        return lambda *args: f(main, *args)
    if way == "late":
        f, a = made(LATE, n, main), np.ones((3, 4))
        return lambda *args: f(a, a[:1], *args)[0]
    text = CLOSURE if way == "closure" else CALL
    more = {"opposite": opposite(options, promotion), "parallel": {"parallel": True}}.get(way, {})
    return made(text, n, main, **more)


def on_small_stack(work: Callable[[], Any]) -> Any:
    """What `work()` returns or raises on a thread of 256 KiB."""
    old = threading.stack_size(256 << 10)
    with ThreadPoolExecutor(1) as pool:
        try:
            done = pool.submit(work)  # which starts the thread
        finally:
            threading.stack_size(old)
        return done.result()
