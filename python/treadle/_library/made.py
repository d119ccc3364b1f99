"""Arrays made of a function, or of what is iterated over: numpy.fromfunction, fromiter."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def fromfunction(function: Any, shape: Any, *, dtype: Any = float) -> Any:
    """What a function makes of each item's places, an array for each axis. It takes no other arguments."""
    if not isinstance(shape, (tuple, list)):
        refuse("the shape is a tuple")
    return function(*parts(np.indices(shape, dtype), len(shape)))


def parts(a: Any, n: Constant) -> Any:
    """What stands along the first axis, of which there are n: a tuple."""
    return () if n == 0 else (*parts(a, n - 1), a[n - 1])


def fromiter(iter: Any, dtype: Any, count: Any = -1) -> Any:
    """The numbers that come, as many as there are, or `count`. A dtype of numbers."""
    out = np.empty(count if count >= 0 else 16, dtype)
    n = 0
    if count != 0:
        for x in iter:
            if n == out.size:
                more = np.empty(2 * n, dtype)
                more[:n] = out
                out = more
            out[n] = x
            n += 1
            if n == count:
                break
    if n < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {n} items.")
    return out if n == out.size else out[:n].copy()
