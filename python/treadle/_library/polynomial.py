"""Polynomials as their coefficients, the highest first: numpy.polyadd and its like.

`numpy.poly1d` is not compiled, so results are arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import refuse


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


def polymul(a1: Any, a2: Any) -> Any:
    """As NumPy's."""
    return np.convolve(trimmed(np.atleast_1d(np.asarray(a1))), trimmed(np.atleast_1d(np.asarray(a2))))


def polydiv(u: Any, v: Any) -> Any:
    """As NumPy's: quotient and remainder."""
    a = np.atleast_1d(np.asarray(u)) + 0.0
    b = np.atleast_1d(np.asarray(v)) + 0.0
    if a.size == 0 or b.size == 0:
        raise IndexError("index 0 is out of bounds for axis 0 with size 0")
    w = a * b[:1]  # in the type of both
    n = max(a.size - b.size + 1, 1)
    scale = 1.0 / b[0]  # in the divisor's type, as NumPy has it
    q = np.zeros(n, w.dtype)
    r = np.empty(a.size, w.dtype)
    r[:] = a
    for k in range(a.size - b.size + 1):
        q[k] = scale * r[k]
        for i in range(b.size):
            r[k + i] -= q[k] * b[i]
    k = 0
    while k < r.size - 1 and abs(r[k]) <= 1e-8:  # np.allclose's
        k += 1
    return q, r[k:]


def poly(seq_of_zeros: Any) -> Any:
    """As NumPy's of zeros in one axis; complex where these are, though they come in pairs."""
    given = np.asarray(seq_of_zeros)
    z = given + 0.0 if given.dtype.itemsize != 2 else given * np.ones(1)  # float16 is float64 in NumPy
    if z.ndim != 1:
        refuse("of a matrix, take np.linalg.eigvals() of it")
    a = np.zeros(z.size + 1, z.dtype)
    a[0] = 1
    for i in range(z.size):
        for k in range(i, -1, -1):
            a[k + 1] -= z[i] * a[k]
    return a


def trimmed(a: Any) -> Any:
    """Without zeros before the first other coefficient, but the last."""
    k = 0
    while k < a.size - 1 and a[k] == 0:
        k += 1
    return a[k:]
