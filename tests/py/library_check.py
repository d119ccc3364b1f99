"""A function of treadle/_library against NumPy's: what each of them gives, or raises, for the same arguments."""

from __future__ import annotations

import functools
import importlib
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from treadle import _library, njit


@functools.cache
def compiled(text: str, parallel: bool = False) -> tuple[Callable, Callable]:
    """The function that returns this expression of a, b, c and d, as Python has it and compiled."""
    n = max((k + 1 for k, name in enumerate("abcd") if name in names(text)), default=0)
    space: dict[str, Any] = {"np": np}
    exec(f"def f({', '.join('abcd'[:n])}): return {text}", space)
    return space["f"], njit(parallel=parallel)(space["f"])


def names(text: str) -> set[str]:
    """Names in an expression."""
    code = compile(text, "<text>", "eval")
    return set(code.co_names)


def outcome(f: Callable, args: tuple) -> Any:
    """What a call gives, or the exception."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            return f(*args)
        except Exception as e:
            return e


def check(text: str, *args: Any, rtol: float = 0.0, atol: float = 0.0, parallel: bool = False) -> Any:
    """Hold an expression of a, b, c and d, compiled, to NumPy: values, dtypes, shapes; or the exception's class."""
    python, ours = compiled(text, parallel)
    want = outcome(python, tuple(np.copy(a, order="K") if isinstance(a, np.ndarray) else a for a in args))
    got = outcome(ours, args)
    same(got, want, f"{text} of {args!r}", rtol, atol)
    return got


class Ours:
    """NumPy with the library's functions in place of NumPy's own."""

    def __init__(self, path: str = "numpy") -> None:
        self.path = path

    def __getattr__(self, name: str) -> Any:
        for owner, family in _library.NAMES.get(name, ()):
            if owner == self.path:
                return getattr(importlib.import_module(f"treadle._library.{family}"), name)
        theirs = getattr(importlib.import_module(self.path), name)
        return Ours(f"{self.path}.{name}") if isinstance(theirs, types.ModuleType) else theirs


def check_python(text: str, *args: Any, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Hold an expression of a, b, c and d to NumPy where Python runs the library's functions, uncompiled."""
    want, got = (
        outcome(
            eval(f"lambda {', '.join('abcd'[: len(args)])}: {text}", {"np": module}),
            tuple(np.copy(a, order="K") if isinstance(a, np.ndarray) else a for a in args),
        )
        for module in (np, Ours())
    )
    same(tuple(got) if isinstance(got, list) else got, want, f"in Python: {text} of {args!r}", rtol, atol)


def same(got: Any, want: Any, about: str, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Assert that two outcomes agree; floats within `rtol` and `atol`."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        if not (isinstance(want, Exception) and isinstance(got, Exception) and isinstance(got, base(want))):
            raise AssertionError(f"{about}: {got!r}, not {want!r}") from (
                got if isinstance(got, Exception) else None
            )
        return
    if isinstance(want, (tuple, list)):
        assert isinstance(got, (tuple, type(want))) and len(got) == len(want), (about, got, want)
        for g, w in zip(got, want, strict=True):
            same(g, w, about, rtol, atol)
        return
    if want is None or isinstance(want, str):
        assert got == want, (about, got, want)
        return
    assert got is not None, (about, got, want)
    g, w = np.asarray(got), np.asarray(want)
    if isinstance(got, np.ndarray):  # numbers come out as Python's
        assert g.dtype == w.dtype, (about, g.dtype, w.dtype)
    assert g.shape == w.shape, (about, g.shape, w.shape)
    np.testing.assert_allclose(g, w, rtol=rtol, atol=atol, equal_nan=True, err_msg=about)


def base(e: Exception) -> type | tuple[type, ...]:
    """What is wrong with types is said when a function compiles, by a TypeError of ours, whatever NumPy has for it."""
    return (type(e), TypeError) if isinstance(e, ValueError) else type(e)
