"""Exceptions of compiled functions beside those of the same functions in CPython: what tests of `try`, `with` and `raise ... from` share."""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy as np
from treadle import njit

HERE = Path(__file__).parent


class Base(Exception):
    pass


class Derived(Base):
    pass


class Keyed(KeyError):
    pass


class Both(Base, IndexError):
    pass


class Coded(Exception):
    def __init__(self, code):
        super().__init__(code, "made")


READY = Derived("ready", 3)


def came(call, *args):
    """The result, or the class and the arguments of the exception."""
    try:
        r = call(*args)
    except Exception as e:
        words = e.args and str(e.args[0]).startswith(("operands could not", "matmul: "))
        return type(e), () if words else e.args  # NumPy words it otherwise
    return [
        v.tolist() if isinstance(v, (np.ndarray, np.generic)) else v
        for v in (r if isinstance(r, tuple) else (r,))
    ]


def alike(fn, *calls, **options):
    compiled = njit(**options)(fn)
    for args in calls:
        make = args if callable(args) else lambda args=args: args
        assert came(compiled, *make()) == came(fn, *make()), args


def chain(e):
    """What it is, where it was raised, and what it came from."""
    if e is None:
        return None
    cause, context = e.__cause__, e.__context__
    lines = [
        f.lineno
        for f in traceback.extract_tb(e.__traceback__)
        if Path(f.filename).parent == HERE and f.filename != __file__
    ]
    same = context is not None and (cause is context, cause is context.__context__)
    return type(e), e.args, lines[-1:], e.__suppress_context__, same, chain(cause), chain(context)


def chains(call, *args):
    try:
        return call(*args)
    except Exception as e:
        return chain(e)


def same_chains(fn, *calls, **options):
    compiled = njit(**options)(fn)
    for args in calls:
        assert chains(compiled, *args) == chains(fn, *args), args
