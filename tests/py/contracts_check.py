"""What the tests of contracts share: ways from callers with other options to a function, and what a call gives."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle import njit, prange

# What no function below has: a caller with these must not change it.
OPPOSITE = {"fastmath": True, "boundscheck": False, "error_model": "numpy", "promotion": "numba"}


def outcome(call, *args):
    """What a call gives: type and value, or the class of the exception."""
    try:
        r = call(*args)
    except Exception as e:
        # what Python's dispatch tells with a TypeError, the compiler tells of the code
        return "TypeError" if isinstance(e, (TypeError, treadle.TypingError)) else type(e).__name__
    if isinstance(r, np.ndarray):
        return r.dtype.str, r.shape, r.tobytes()
    if isinstance(r, tuple):
        return tuple(outcome(lambda x=x: x) for x in r)
    return np.asarray(r).dtype.str, np.asarray(r).tobytes()


def through_default(fn):
    @njit
    def caller(*args):
        return fn(*args)

    return caller


def through_opposite(fn):
    @njit(**OPPOSITE)
    def caller(*args):
        return fn(*args)

    return caller


def through_plain(fn):
    def between(*args):
        return fn(*args)

    @njit(**OPPOSITE)
    def caller(*args):
        return between(*args)

    return caller


def through_closure(fn):
    @njit(**OPPOSITE)
    def caller(*args):
        def inner():
            return fn(*args)

        return inner()

    return caller


def through_lambda(fn):
    @njit(**OPPOSITE)
    def apply(f, args):
        return f(args)

    @njit(**OPPOSITE)
    def caller(*args):
        return apply(lambda a: fn(*a), args)

    return caller


def through_argument(fn):
    @njit(**OPPOSITE)
    def apply(f, args):
        return f(*args)

    return lambda *args: apply(fn, args)


def through_recursion(fn):
    @njit(**OPPOSITE)
    def caller(n, args):
        if n > 0:
            return caller(n - 1, args)
        return fn(*args)

    return lambda *args: caller(3, args)


def through_inlining(fn):
    @njit(inline="always", **OPPOSITE)
    def middle(args):
        return fn(*args)

    @njit
    def caller(*args):
        return middle(args)

    return caller


def through_threads(fn):
    @njit(parallel=True, **OPPOSITE)
    def caller(args):
        out = np.zeros(5, np.bool_)
        for i in prange(5):
            fn(*args)
            out[i] = True
        return fn(*args), out

    def call(*args):
        r, out = caller(args)
        assert out.all()
        return r

    return call


WAYS = {
    name[8:]: make
    for name, make in sorted(globals().items())
    if name.startswith("through_") and callable(make)
}

# Each makes a callable that reaches a function through compiled code of other options.
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
