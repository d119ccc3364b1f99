"""Running one program twice, compiled and under CPython, and comparing what comes out: results, types, arrays changed in place, exceptions."""

from __future__ import annotations

import copy
import math
import pickle
from collections import deque

import numpy as np
import pytest
from treadle import _pickle, njit


def renew(value):
    """Arrays are copied with their layout, alone or in tuples, so that both runs start from the same data."""
    if isinstance(value, np.ndarray):
        fresh = value.copy(order="K")
        if value.ndim and value.size and value.strides != fresh.strides:
            base = np.zeros([2 * n for n in value.shape], value.dtype)
            fresh = base[tuple(slice(None, None, 2) for _ in value.shape)]
            fresh[...] = value
        fresh.flags.writeable = value.flags.writeable
        return fresh
    if isinstance(value, tuple):
        items = [renew(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def bytes_of(text):
    """The bytes of a text as an array."""
    return np.frombuffer(text.encode(), dtype=np.uint8)


def same(fn, *args, rtol=0.0, atol=0.0, options=None):
    """Compile `fn`, run it and the plain function, and compare; returns the compiled result.

    Parameters
    ----------
    fn : function
        The program. Helpers it calls are plain functions, compiled on demand.
    *args : object
        Arguments; arrays are renewed for each run and compared afterwards.
    rtol, atol : float
        Tolerance for floats, for programs where libm and ours may differ in the last bits, or whose sums associate otherwise.
    options : dict, optional
        Options of `njit`.
    """
    compiled = njit(**options)(fn) if options else njit(fn)
    ours, theirs = renew(args), renew(args)
    with np.errstate(all="ignore"):
        try:
            expected, error = fn(*theirs), None
        except Exception as e:
            expected, error = None, e
    if error is not None:
        try:
            got = compiled(*ours)
        except Exception as e:
            assert type(e) is type(error), (e, error)
            assert e.args == error.args, (e.args, error.args)
            got = None
        else:
            raise AssertionError(f"no {error!r}, but {got!r}")
    else:
        got = compiled(*ours)
    check(got, expected, rtol, atol)
    for a, b in zip(arrays(ours), arrays(theirs), strict=True):
        check(a, b, rtol, atol)
    return got


def arrays(value):
    """The arrays in a value, in order."""
    if isinstance(value, tuple):
        return [a for v in value for a in arrays(v)]
    return [value] if isinstance(value, np.ndarray) else []


def check(got, expected, rtol=0.0, atol=0.0):
    """Equal in value and in type; a NumPy scalar stands for the Python number of its kind."""
    if isinstance(expected, tuple):
        assert type(got) is type(expected) and len(got) == len(expected), (got, expected)
        for g, e in zip(got, expected, strict=True):
            check(g, e, rtol, atol)
    elif isinstance(expected, np.ndarray):
        assert isinstance(got, np.ndarray), (got, expected)
        assert got.dtype == expected.dtype and got.shape == expected.shape, (
            got.dtype,
            expected.dtype,
            got.shape,
            expected.shape,
        )
        np.testing.assert_allclose(
            got, expected, rtol, atol
        ) if rtol or atol else np.testing.assert_array_equal(got, expected)
        if expected.dtype.kind == "f":
            zeros = expected == 0
            if not (rtol or atol):
                np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))
    elif isinstance(expected, (float, complex, np.floating, np.complexfloating)):
        plain = expected.item() if isinstance(expected, np.generic) else expected
        assert type(got) is type(plain), (got, expected)
        np.testing.assert_allclose(got, plain, rtol, atol)
        if isinstance(plain, float) and plain == 0 and not atol:
            assert math.copysign(1.0, got) == math.copysign(1.0, plain), (got, expected)
    elif isinstance(expected, np.generic):
        assert type(got) is type(expected.item()) and got == expected.item(), (got, expected)
    else:
        assert type(got) is type(expected) and got == expected, (got, expected)


def sent(thing):
    """What a process that does not know it makes of its pickle."""
    data, known = pickle.dumps(thing), dict(_pickle._known)
    _pickle._known.clear()
    try:
        return pickle.loads(data)
    finally:
        _pickle._known.update(known)


def outcome(f, args):
    """The value, or the exception with its text; and the arguments as they are afterwards."""
    given = copy.deepcopy(args)
    try:
        return f(*given), given
    except Exception as e:
        return type(e), str(e), given


def agree(got, want):
    """Equal, types of containers and the order of keys included; floats to the last bits of sums."""
    if isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-13)
    elif isinstance(want, (list, tuple, deque)):
        assert type(got) is type(want) and len(got) == len(want), (got, want)
        for g, w in zip(got, want, strict=True):
            agree(g, w)
    elif isinstance(want, dict):
        assert type(got) is type(want) and list(got) == list(want), (got, want)
        for key in want:
            agree(got[key], want[key])
    elif isinstance(want, (float, np.floating)):
        assert got == pytest.approx(want, rel=1e-13, nan_ok=True)
    else:
        assert got == want, (got, want)
