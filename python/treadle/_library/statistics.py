"""Averages, covariances, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def average(
    a: Any,
    axis: Constant = None,
    weights: Any = None,
    returned: Constant = False,
    *,
    keepdims: Constant = False,
) -> Any:
    """Mean with weights, and their sum where it is asked for. Weights of another shape lie along one axis."""
    a = np.asarray(a)
    if weights is None:
        found = np.mean(a, axis=axis, keepdims=keepdims)
        if not returned:
            return found
        count = a.size / np.size(found)
        return found, np.full_like(found, count) if isinstance(found, np.ndarray) else found.dtype.type(count)
    w = np.asarray(weights)
    if a.ndim == w.ndim:
        if a.shape != w.shape:
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        return weighed(a, w, axis, returned, keepdims)
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.ndim != 1 or isinstance(axis, tuple):
        refuse("weights must have the shape of a, or one axis")
    if w.size != a.shape[axis]:
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    g = np.moveaxis(a, axis, -1)
    h = np.moveaxis(np.broadcast_to(w, g.shape), -1, axis)
    return weighed(a, h, axis, returned, keepdims)


def weighed(a: Any, w: Any, axis: Constant, returned: Constant, keepdims: Constant) -> Any:
    """A mean with weights that has one for each item."""
    if a.dtype.kind in "biu":
        return weighed(a.astype(np.float64), w, axis, returned, keepdims)
    kind = (np.ravel(a)[:0] * np.ravel(w)[:0]).dtype
    total = np.sum(w, axis=axis, dtype=kind, keepdims=keepdims)
    if np.any(total == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    found = np.sum(a * w, axis=axis, dtype=kind, keepdims=keepdims) / total
    if returned:
        return found, total
    return found


def cov(
    m: Any,
    y: Any = None,
    rowvar: Constant = True,
    bias: Constant = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """Covariances of variables, which are rows. A matrix, or a number for one variable that is a sequence.

    A matrix of one variable gives a matrix of one item here, as the number of variables is not known when compiling.
    """
    m = np.asarray(m)
    if m.ndim > 2:
        refuse("m has more than 2 dimensions")
    if y is None:
        x = in_rows(m, rowvar)
    else:
        z = np.asarray(y)
        if z.ndim > 2:
            refuse("y has more than 2 dimensions")
        x = np.concatenate((in_rows(m, rowvar), in_rows(z, rowvar)), axis=0)
    if dtype is None:
        c = covariances(x * 1.0 if x.dtype.kind in "biu" else double(x), bias, ddof, fweights, aweights)
    else:
        c = covariances(x.astype(dtype), bias, ddof, fweights, aweights)
    if m.ndim < 2 and y is None:
        return c[0, 0]
    return c


def in_rows(m: Any, rowvar: Constant) -> Any:
    """Variables in rows."""
    if m.ndim == 0:
        return m.reshape(1, 1)
    if m.ndim == 1:
        return m[np.newaxis, :]
    if rowvar:
        return m
    return m.T


def double(x: Any) -> Any:
    """In double precision."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x.astype(np.float64)


def covariances(x: Any, bias: Constant, ddof: Any, fweights: Any, aweights: Any) -> Any:
    """The matrix of covariances of rows."""
    n = x.shape[1]
    less = (0 if bias else 1) if ddof is None else ddof
    if less != int(less):
        raise ValueError("ddof must be integer")
    if fweights is None and aweights is None:
        d = (x - (np.sum(x, axis=1) / n)[:, np.newaxis]).astype(x.dtype)
        by = float(n - less)
        c = np.dot(d, conjugate(d).T)
    else:
        f = np.ones(n) if fweights is None else np.asarray(fweights).astype(np.float64)
        a = np.ones(n) if aweights is None else np.asarray(aweights).astype(np.float64)
        if f.ndim != 1 or a.ndim != 1:
            refuse("weights must have one axis")
        if np.any(f != np.around(f)):
            raise TypeError("fweights must be integer")
        if f.size != n:
            raise RuntimeError("incompatible numbers of samples and fweights")
        if np.any(f < 0):
            raise ValueError("fweights cannot be negative")
        if a.size != n:
            raise RuntimeError("incompatible numbers of samples and aweights")
        if np.any(a < 0):
            raise ValueError("aweights cannot be negative")
        w = f * a
        total = np.sum(w)
        if total == 0.0:
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        d = x - (np.sum(x * w, axis=1) / total)[:, np.newaxis]
        by = total if less == 0 else total - less * (1.0 if aweights is None else np.sum(w * a) / total)
        c = np.dot(d * w, conjugate(d).T)
    return (c * (1.0 / max(by, 0.0))).astype(c.dtype)


def conjugate(x: Any) -> Any:
    """Itself where it is real."""
    if x.dtype.kind == "c":
        return np.conj(x)
    return x


def corrcoef(x: Any, y: Any = None, rowvar: Constant = True, *, dtype: Any = None) -> Any:
    """Correlations of variables, which are rows; a matrix, or a number, as `cov` has it."""
    c = cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    s = np.sqrt(np.diagonal(c).real)
    r = c / s[:, np.newaxis] / s[np.newaxis, :]
    if r.dtype.kind == "c":
        r.real[...] = np.clip(r.real, -1, 1)
        r.imag[...] = np.clip(r.imag, -1, 1)
        return r
    return np.clip(r, -1, 1)
