"""Polynomials as their coefficients, the highest first: numpy.polyadd and its like.

`numpy.poly1d` is not compiled, so results are arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


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
    """Without zeros before the first other coefficient, but the last; a zero where there is none."""
    k = 0
    while k < a.size - 1 and a[k] == 0:
        k += 1
    return padded(a[k:], 1)


def roots(p: Any) -> Any:
    """As NumPy's, but always complex: types must not depend on values."""
    c = np.atleast_1d(np.asarray(p))
    if c.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if c.dtype.kind in "biu":
        return roots(c.astype(np.float64))
    kind = (c[:0] + np.zeros(0, np.complex64)).dtype
    some = np.flatnonzero(c)
    if len(some) == 0:
        return np.zeros(0, kind)
    first, last = some[0], some[-1]
    q = c[first : last + 1] / c[first]
    n = len(q) - 1
    found = np.zeros(n + len(c) - 1 - last, kind)
    if n > 0:
        companion = np.zeros((n, n), q.dtype)
        companion[0] = -q[1:]
        for i in range(1, n):
            companion[i, i - 1] = 1
        found[:n] = np.linalg.eigvals(companion)
    return found


def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: Constant = False, w: Any = None, cov: Constant = False
) -> Any:
    """As NumPy's for a degree; a fit that is poorly conditioned gives no warning. `full` and `cov` are constants."""
    if np.ndim(deg) != 0:
        refuse("deg must be an integer")
    order = int(deg) + 1
    at, rhs = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    if order < 1:
        raise ValueError("expected deg >= 0")
    if at.ndim != 1:
        refuse("expected 1D vector for x")
    if rhs.ndim < 1 or rhs.ndim > 2:
        refuse("expected 1D or 2D array for y")
    if at.size == 0:
        raise TypeError("expected non-empty vector for x")
    if at.shape[0] != rhs.shape[0]:
        raise TypeError("expected x and y to have same length")
    rc = len(at) * np.finfo(at.dtype).eps if rcond is None else rcond
    lhs = np.vander(at, order)
    if w is not None:
        by = np.asarray(w) + 0.0
        if by.ndim != 1:
            refuse("expected a 1-d array for weights")
        if by.shape[0] != rhs.shape[0]:
            raise TypeError("expected w and y to have the same length")
        lhs = lhs * by[:, np.newaxis]
        rhs = rhs * (by[:, np.newaxis] if rhs.ndim == 2 else by)
    scale = np.sqrt((lhs * lhs).sum(axis=0))
    scaled = lhs / scale
    c, residuals, rank, s = np.linalg.lstsq(scaled, rhs, rc)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, rc
    if cov:
        base = np.linalg.inv(np.dot(scaled.T, scaled)) / np.outer(scale, scale)
        if isinstance(cov, str):
            if cov == "unscaled":
                return c, base if rhs.ndim == 1 else base[:, :, np.newaxis] * np.ones(1, base.dtype)
            refuse("cov must be True, False or 'unscaled'")
        if len(at) <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        fac = residuals / (len(at) - order)
        return c, base * fac if rhs.ndim == 1 else base[:, :, np.newaxis] * fac
    return c
