"""Random numbers: what numpy.random makes of draws that compiled code has."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def multivariate_normal(
    mean: Any, cov: Any, size: Any = None, check_valid: Any = "warn", tol: Any = 1e-8
) -> Any:
    """Normal numbers of several variables: standard ones, times a root of the covariance by its singular values. Where NumPy warns of a covariance that is none, nothing is said."""
    m = np.asarray(mean)
    c = np.asarray(cov)
    check(m, c, check_valid)
    return drawn(m, c, rows_of(size, m.shape[0]), check_valid, tol)


def rows_of(size: Any, n: Any) -> Any:
    """The shape of so many rows of n items."""
    if size is None:
        return (n,)
    if isinstance(size, (tuple, list)):
        return (*size, n)
    return size, n


def check(m: Any, c: Any, check_valid: Any) -> None:
    """A mean and a covariance that do not go together."""
    if check_valid not in ("warn", "raise", "ignore"):
        refuse("check_valid must be 'warn', 'raise' or 'ignore'")
    if m.ndim != 1:
        refuse("mean must be 1 dimensional")
    if c.ndim != 2:
        refuse("cov must be 2 dimensional and square")
    if m.dtype.kind == "c" or c.dtype.kind == "c":
        refuse("mean and cov must not be complex")
    if c.shape[0] != c.shape[1]:
        raise ValueError("cov must be 2 dimensional and square")
    if c.shape[0] != m.shape[0]:
        raise ValueError("mean and cov must have same length")


def drawn(m: Any, c: Any, shape: Any, check_valid: Any, tol: Any) -> Any:
    """The numbers, rows of an array of this shape."""
    x = np.random.standard_normal(shape).reshape(-1, m.shape[0])
    wide = c.astype(np.float64)
    u, s, v = np.linalg.svd(wide)
    if check_valid == "raise":
        if not np.allclose(np.dot(v.T * s, v), wide, rtol=tol, atol=tol):
            raise ValueError("covariance is not symmetric positive-semidefinite.")
    return (np.dot(x, np.sqrt(s)[:, None] * v) + m).reshape(shape)


# --- methods of a Generator ---


def of_generator_multivariate_normal(
    rng: Any,
    mean: Any,
    cov: Any,
    size: Any = None,
    check_valid: Any = "warn",
    tol: Any = 1e-8,
    *,
    method: Constant = "svd",
) -> Any:
    """Normal numbers of several variables. Where NumPy warns of a covariance that is none, nothing is said."""
    m = np.asarray(mean)
    c = np.asarray(cov)
    if method not in ("svd", "eigh", "cholesky"):
        refuse("method must be one of 'eigh', 'svd' and 'cholesky'")
    check(m, c, check_valid)
    return spread(rng, m, c, rows_of(size, m.shape[0]), check_valid, tol, method)


def spread(rng: Any, m: Any, c: Any, shape: Any, check_valid: Any, tol: Any, method: Constant) -> Any:
    """The numbers, rows of an array of this shape."""
    x = rng.standard_normal(shape).reshape(-1, m.shape[0])
    wide = c.astype(np.float64)
    if method == "cholesky":
        return (m + x @ np.linalg.cholesky(wide).T).reshape(shape)
    if method == "svd":
        u, s, v = np.linalg.svd(wide)
        if check_valid == "raise" and not np.allclose(np.dot(v.T * s, v), wide, rtol=tol, atol=tol):
            raise ValueError("covariance is not symmetric positive-semidefinite.")
        return (m + x @ (u * np.sqrt(s)).T).reshape(shape)
    w, q = np.linalg.eigh(wide)
    if check_valid == "raise" and np.any(w < -tol):
        raise ValueError("covariance is not symmetric positive-semidefinite.")
    return (m + x @ (q * np.sqrt(abs(w))).T).reshape(shape)


def of_generator_multivariate_hypergeometric(
    rng: Any, colors: Any, nsample: Any, size: Any = None, method: Constant = "marginals"
) -> Any:
    """How many of each color are among `nsample` items drawn without putting any back."""
    given = np.asarray(colors)
    if method != "count" and method != "marginals":
        refuse("method must be 'count' or 'marginals'")
    if given.ndim != 1 or given.dtype.kind not in "iu":
        refuse("colors must be a one-dimensional array of integers")
    if not isinstance(nsample, (int, np.integer)):
        refuse("nsample must be an integer")
    if nsample < 0:
        raise ValueError("nsample must be nonnegative.")
    have = given.astype(np.int64)
    total = 0
    for n in have:
        if n < 0:
            raise ValueError("colors must be a one-dimensional sequence of nonnegative integers")
        if total > 2**63 - 1 - n:
            raise ValueError("sum(colors) must not exceed the maximum value of a 64 bit signed integer")
        total += n
    if method == "marginals" and total >= 1000000000:
        raise ValueError('When method is "marginals", sum(colors) must be less than 1000000000.')
    if nsample > total:
        raise ValueError("nsample > sum(colors)")
    return by_color(rng, have, total, nsample, rows_of(size, have.size), method)


def by_color(rng: Any, have: Any, total: Any, nsample: Any, shape: Any, method: Constant) -> Any:
    """Rows of counts. Of more than half of the items those that are left are drawn."""
    out = np.zeros(shape, np.int64)
    if total == 0 or nsample == 0 or out.size == 0:
        return out
    rows = out.reshape(-1, have.size)
    few = min(nsample, total - nsample)
    items = np.repeat(np.arange(have.size), have) if method == "count" else have
    for row in rows:
        if method == "count":
            for j in range(few):
                k = j + below(rng, total - j - 1)
                one = items[k]
                items[k] = items[j]
                items[j] = one
                row[one] += 1
        else:
            left, others = few, total
            for j in range(have.size - 1):
                others -= have[j]
                if left > 0:
                    row[j] = rng.hypergeometric(have[j], others, left)
                    left -= row[j]
            row[have.size - 1] = left
        if few < nsample:
            row[:] = have - row
    return out


def below(rng: Any, last: Any) -> Any:
    """A number of 0 to `last`: as many bits as it has, drawn until they fit, which is what NumPy's shuffles do."""
    mask = last
    for k in (1, 2, 4, 8, 16, 32):
        mask |= mask >> k
    while last > 0:
        if last < 2**32:
            bits = int(rng.integers(0, 2**32, dtype=np.uint32)) & mask
        else:
            bits = int(rng.integers(0, 2**64, dtype=np.uint64) & np.uint64(mask))
        if bits <= last:
            return bits
    return 0
