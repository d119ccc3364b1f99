"""Random numbers: what numpy.random makes of draws that compiled code has."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import refuse


def multivariate_normal(
    mean: Any, cov: Any, size: Any = None, check_valid: Any = "warn", tol: Any = 1e-8
) -> Any:
    """Normal numbers of several variables: standard ones, times a root of the covariance by its singular values. Where NumPy warns of a covariance that is none, nothing is said."""
    m = np.asarray(mean)
    c = np.asarray(cov)
    if check_valid not in ("warn", "raise", "ignore"):
        refuse("check_valid must be 'warn', 'raise' or 'ignore'")
    if m.ndim != 1:
        refuse("mean must be 1 dimensional")
    if c.ndim != 2:
        refuse("cov must be 2 dimensional and square")
    if m.dtype.kind == "c" or c.dtype.kind == "c":
        refuse("mean and cov must not be complex")
    n = m.shape[0]
    if c.shape[0] != c.shape[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if c.shape[0] != n:
        raise ValueError("mean and cov must have same length")
    if size is None:
        return drawn(m, c, (n,), check_valid, tol)
    if isinstance(size, (tuple, list)):
        return drawn(m, c, (*size, n), check_valid, tol)
    return drawn(m, c, (size, n), check_valid, tol)


def drawn(m: Any, c: Any, shape: Any, check_valid: Any, tol: Any) -> Any:
    """The numbers, rows of an array of this shape."""
    x = np.random.standard_normal(shape).reshape(-1, m.shape[0])
    wide = c.astype(np.float64)
    u, s, v = np.linalg.svd(wide)
    if check_valid == "raise":
        if not np.allclose(np.dot(v.T * s, v), wide, rtol=tol, atol=tol):
            raise ValueError("covariance is not symmetric positive-semidefinite.")
    return (np.dot(x, np.sqrt(s)[:, None] * v) + m).reshape(shape)
