"""Polynomials as their coefficients, the highest first: numpy.polyadd and its like.

`numpy.poly1d` is not compiled, so results are arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def polyadd(a1: Any, a2: Any) -> Any:
    """As NumPy's."""
    a, b = np.atleast_1d(np.asarray(a1)), np.atleast_1d(np.asarray(a2))
    return padded(a, b.size) + padded(b, a.size)


def polysub(a1: Any, a2: Any) -> Any:
    """As NumPy's."""
    a, b = np.atleast_1d(np.asarray(a1)), np.atleast_1d(np.asarray(a2))
    return padded(a, b.size) - padded(b, a.size)


def padded(a: Any, n: Any) -> Any:
    """The array with zeros before it that make it n long at least."""
    out = np.zeros(max(a.size, n), a.dtype)
    out[out.size - a.size :] = a
    return out


def polyder(p: Any, m: Any = 1) -> Any:
    """As NumPy's; of order 0, too, the result has the type that multiplying by int64 gives."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    a = np.asarray(p) * np.ones(1, np.int64)  # in the type of what comes out
    for _ in range(m):
        a = a[:-1] * np.arange(a.size - 1, 0, -1)
    return a


def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """As NumPy's; `k` is a number, or None."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    c = 0.0 if k is None else k
    a = np.asarray(p) / np.ones(1)
    for _ in range(m):
        a = np.append(a / np.arange(a.size, 0, -1), c)
    return a
