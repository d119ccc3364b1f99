"""Polynomials as series, the constant term first: numpy.polynomial's functions.

Values at many places are computed for some places at a time, whose intermediate results stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse
from .calculus import BLOCK

# --- coefficients ---


def coefficients(c: Any) -> Any:
    """An array of floating-point numbers with an axis at least."""
    a = np.atleast_1d(np.asarray(c))
    return a.astype(np.float64) if a.dtype.kind in "biu" else a


def must_be_numbers(c: Any) -> None:
    """Coefficients are no truth values."""
    if np.asarray(c).dtype.kind == "b":
        raise ValueError("Coefficient arrays have no common type")


def one_series(c: Any) -> Any:
    """Coefficients of one series."""
    a = coefficients(c)
    if a.ndim != 1:
        refuse("Coefficient array is not 1-d")
    if a.size == 0:
        raise ValueError("Coefficient array is empty")
    must_be_numbers(c)
    return a


def trimmed(a: Any) -> Any:
    """Without zeros behind the last other coefficient, but the first."""
    n = a.size
    while n > 1 and a[n - 1] == 0:
        n -= 1
    return a[:n]


def polyadd(c1: Any, c2: Any) -> Any:
    """As NumPy's."""
    a, b = trimmed(one_series(c1)), trimmed(one_series(c2))
    kind = (a[:0] + b[:0]).dtype
    longer, shorter = a.astype(kind), b.astype(kind)
    if longer.size < shorter.size:
        longer, shorter = shorter, longer
    longer[: shorter.size] += shorter
    return trimmed(longer)


def polysub(c1: Any, c2: Any) -> Any:
    """As NumPy's."""
    return polyadd(c1, -one_series(c2))


def polymul(c1: Any, c2: Any) -> Any:
    """As NumPy's."""
    return trimmed(np.convolve(trimmed(one_series(c1)), trimmed(one_series(c2))))


def polymulx(c: Any) -> Any:
    """As NumPy's."""
    a = trimmed(one_series(c))
    if a.size == 1 and a[0] == 0:
        return a.copy()
    return np.concatenate((a[:1] * 0, a))


def polydiv(c1: Any, c2: Any) -> Any:
    """As NumPy's: quotient and remainder."""
    a, b = trimmed(one_series(c1)), trimmed(one_series(c2))
    if b[-1] == 0:
        raise ZeroDivisionError("division by a polynomial that is 0")
    r = a.astype((a[:0] + b[:0]).dtype)
    b = b.astype(r.dtype)
    if a.size < b.size:
        return r[:1] * 0, r
    if b.size == 1:
        return r / b[-1], r[:1] * 0
    low = b[:-1] / b[-1]
    for j in range(a.size - 1, b.size - 2, -1):
        r[j + 1 - b.size : j] -= low * r[j]
    return r[b.size - 1 :] / b[-1], trimmed(r[: b.size - 1])


def polypow(c: Any, pow: Any, maxpower: Any = None) -> Any:
    """As NumPy's."""
    a = trimmed(one_series(c))
    if int(pow) != pow or pow < 0:
        raise ValueError("Power must be a non-negative integer.")
    if maxpower is not None and pow > maxpower:
        raise ValueError("Power is too large")
    out = np.ones(1, a.dtype) if pow == 0 else a.copy()
    for _ in range(int(pow) - 1):
        out = np.convolve(out, a)
    return out


def derivative(c: Any, m: Any, scl: Any, axis: Constant, step: Any) -> Any:
    """Derivatives along an axis, each of which `step` makes of coefficients that it may change."""
    a = np.moveaxis(coefficients(c), axis, 0).copy()
    if m < 0:
        raise ValueError("The order of derivation must be non-negative")
    if m >= len(a):
        return np.moveaxis(a[:1] * 0 if m > 0 else a, 0, axis)
    for _ in range(m):
        a *= scl
        a = step(a, np.empty_like(a[1:]))
    return np.moveaxis(a, 0, axis)


def polyder(c: Any, m: Any = 1, scl: Any = 1, axis: Constant = 0) -> Any:
    """As NumPy's."""
    return derivative(c, m, scl, axis, power_derivative)


def power_derivative(a: Any, out: Any) -> Any:
    for j in range(1, len(a)):
        out[j - 1] = j * a[j]
    return out


def polyint(c: Any, m: Any = 1, k: Any = (), lbnd: Any = 0, scl: Any = 1, axis: Constant = 0) -> Any:
    """As NumPy's."""
    a = np.moveaxis(coefficients(c), axis, 0).copy()
    if m < 0:
        raise ValueError("The order of integration must be non-negative")
    added = np.zeros(m, a.dtype)
    if not isinstance(k, tuple) or len(k) > 0:
        given = np.atleast_1d(np.asarray(k))
        if len(given) > m:
            raise ValueError("Too many integration constants")
        added[: len(given)] = given
    for i in range(m):
        a *= scl
        if len(a) == 1 and np.all(a[0] == 0):
            a[0] += added[i]
        else:
            more = np.empty((len(a) + 1, *a.shape[1:]), a.dtype)
            more[0], more[1] = a[0] * 0, a[0]
            for j in range(1, len(a)):
                more[j + 1] = a[j] / (j + 1)
            more[0] += added[i] - polyval(lbnd, more)
            a = more
    return np.moveaxis(a, 0, axis)


def polyfromroots(roots: Any) -> Any:
    """As NumPy's."""
    given = coefficients(roots)
    if given.ndim != 1:
        refuse("roots must have one axis")
    if given.size == 0:
        return np.ones(1, (given + np.zeros(1, np.int64)).dtype)
    must_be_numbers(roots)
    z = np.sort(given + np.zeros(1, np.int64))  # in the type of what comes out
    n = z.size
    rows = np.zeros((n, n + 1), z.dtype)  # products, of as many coefficients as `sizes` says and one
    sizes = np.ones(n, np.int64)
    for i in range(n):
        rows[i, 0] = -z[i]
        rows[i, 1] = 1
    while n > 1:
        half = n // 2
        for i in range(half):
            join(rows, sizes, i, i + half)
        if n % 2:
            join(rows, sizes, 0, n - 1)
        n = half
    return rows[0].copy()


def join(rows: Any, sizes: Any, i: Any, k: Any) -> None:
    """The product of two rows, in the first one's place."""
    size = sizes[i] + sizes[k]
    rows[i, : size + 1] = np.convolve(rows[i, : sizes[i] + 1], rows[k, : sizes[k] + 1])
    sizes[i] = size


def polyroots(c: Any) -> Any:
    """As NumPy's, but always complex: types must not depend on values."""
    a = trimmed(one_series(c))
    n = a.size - 1
    kind = (a[:0] + np.zeros(0, np.complex64)).dtype
    if n < 1:
        return np.zeros(0, kind)
    if n == 1:  # a quotient, whatever its value
        return (-a[:1] / a[1:]).astype(kind)
    companion = np.zeros((n, n), a.dtype)
    for i in range(1, n):
        companion[i, i - 1] = 1
    companion[:, -1] -= a[:-1] / a[-1]
    return np.sort(np.linalg.eigvals(companion))


# --- values ---


def valued(x: Any, c: Any, tensor: Constant, f: Any) -> Any:
    """What `f` gives for x and coefficients, which have axes for those of x where they are a tensor's."""
    a = coefficients(c)
    if len(a) == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    if isinstance(x, (tuple, list)):
        return valued(np.asarray(x), c, tensor, f)
    if not isinstance(x, np.ndarray):
        return f(x, a)
    if a.ndim > 1:
        return f(x, a.reshape((*a.shape, *ones(x.shape))) if tensor else a)
    out = np.empty(x.shape, (np.ravel(x)[:0] * 1 + a[:0]).dtype)
    flat, to = np.ravel(x), out.reshape(-1)
    for low in range(0, x.size, BLOCK):
        to[low : low + BLOCK] = f(flat[low : low + BLOCK], a)
    return out


def ones(shape: Any) -> Any:
    """A shape of as many axes, all of length 1."""
    return () if len(shape) == 0 else (1, *ones(shape[1:]))


def polyval(x: Any, c: Any, tensor: Constant = True) -> Any:
    """As NumPy's."""
    return valued(x, c, tensor, horner)


def horner(x: Any, c: Any) -> Any:
    y = c[-1] + x * 0
    for i in range(len(c) - 2, -1, -1):
        y = c[i] + y * x
    return y


def polyvalfromroots(x: Any, r: Any, tensor: Constant = True) -> Any:
    """As NumPy's."""
    a = coefficients(r)
    if isinstance(x, (tuple, list)):
        return polyvalfromroots(np.asarray(x), r, tensor)
    if isinstance(x, np.ndarray):
        if tensor:
            return np.prod(x - a.reshape((*a.shape, *ones(x.shape))), axis=0)
        if x.ndim >= a.ndim:
            raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return np.prod(x - a, axis=0)


def recurrence(x: Any, c: Any, less: Any, more: Any, last: Any) -> Any:
    """Clenshaw's: of two coefficients of the highest order one is taken off, and multiplied, for each order. The first rounds, whose values are not x's, stand alone."""
    n = len(c)
    if n == 1:
        return c[0] + 0 * last(x)
    if n == 2:
        return c[0] + c[1] * last(x)
    a, b = c[n - 3] - less(c[n - 1], n - 1), c[n - 2] + more(c[n - 1], x, n - 1)
    if n == 3:
        return a + b * last(x)
    p, q = c[n - 4] - less(b, n - 2), a + more(b, x, n - 2)
    for i in range(n - 5, -1, -1):
        p, q = c[i] - less(q, i + 2), p + more(q, x, i + 2)
    return p + q * last(x)


def as_real(a: Any, x: Any) -> Any:
    """A number that takes on the type of others, without their imaginary parts."""
    return np.asarray(a).real.dtype.type(x)


def chebval(x: Any, c: Any, tensor: Constant = True) -> Any:
    """As NumPy's."""
    return valued(x, c, tensor, of_chebyshev)


def of_chebyshev(x: Any, c: Any) -> Any:
    return recurrence(x, c, lambda c, n: c, lambda c, x, n: c * (2 * x), lambda x: x)


def legval(x: Any, c: Any, tensor: Constant = True) -> Any:
    """As NumPy's."""
    return valued(x, c, tensor, of_legendre)


def of_legendre(x: Any, c: Any) -> Any:
    return recurrence(x, c, lambda c, n: c * as_real(c, (n - 1) / n), legendre_more, lambda x: x)


def legendre_more(c: Any, x: Any, n: Any) -> Any:
    y = c * x
    return y * as_real(y, (2 * n - 1) / n)


def hermval(x: Any, c: Any, tensor: Constant = True) -> Any:
    """As NumPy's."""
    return valued(x, c, tensor, of_hermite)


def of_hermite(x: Any, c: Any) -> Any:
    return recurrence(
        x, c, lambda c, n: c * as_real(c, 2 * (n - 1)), lambda c, x, n: c * (x * 2), lambda x: x * 2
    )


def hermeval(x: Any, c: Any, tensor: Constant = True) -> Any:
    """As NumPy's."""
    return valued(x, c, tensor, of_hermite_e)


def of_hermite_e(x: Any, c: Any) -> Any:
    return recurrence(x, c, lambda c, n: c * as_real(c, n - 1), lambda c, x, n: c * x, lambda x: x)


def lagval(x: Any, c: Any, tensor: Constant = True) -> Any:
    """As NumPy's."""
    return valued(x, c, tensor, of_laguerre)


def of_laguerre(x: Any, c: Any) -> Any:
    return recurrence(
        x, c, lambda c, n: (c * as_real(c, n - 1)) / as_real(c, n), laguerre_more, lambda x: 1 - x
    )


def laguerre_more(c: Any, x: Any, n: Any) -> Any:
    y = c * (as_real(x, 2 * n - 1) - x)
    return y / as_real(y, n)


def legder(c: Any, m: Any = 1, scl: Any = 1, axis: Constant = 0) -> Any:
    """As NumPy's."""
    return derivative(c, m, scl, axis, legendre_derivative)


def legendre_derivative(a: Any, out: Any) -> Any:
    for j in range(len(a) - 1, 2, -1):
        out[j - 1] = (2 * j - 1) * a[j]
        a[j - 2] += a[j]
    if len(a) > 2:
        out[1] = 3 * a[2]
    out[0] = a[1]
    return out


def lagder(c: Any, m: Any = 1, scl: Any = 1, axis: Constant = 0) -> Any:
    """As NumPy's."""
    return derivative(c, m, scl, axis, laguerre_derivative)


def laguerre_derivative(a: Any, out: Any) -> Any:
    for j in range(len(a) - 1, 1, -1):
        out[j - 1] = -a[j]
        a[j - 1] += a[j]
    out[0] = -a[1]
    return out


# --- the first polynomials at some places, and series of them that fit points ---


def rows_of(x: Any, deg: Any, first: Any, step: Any) -> Any:
    """Values of polynomials along a new last axis: 1, what `first` gives, and what `step` makes of the last two."""
    if not isinstance(deg, (int, np.integer)):
        refuse("deg must be an integer")
    if deg < 0:
        raise ValueError("deg must be non-negative")
    a = np.atleast_1d(np.asarray(x)) + 0.0
    v = np.empty((deg + 1, *a.shape), a.dtype)
    v[0] = a * 0 + 1
    if deg > 0:
        v[1] = first(a)
    for i in range(2, deg + 1):
        v[i] = step(v[i - 1], v[i - 2], a, i)
    return np.moveaxis(v, 0, -1)


def polyvander(x: Any, deg: Any) -> Any:
    """As NumPy's."""
    return rows_of(x, deg, lambda x: x, lambda p, q, x, i: p * x)


def chebvander(x: Any, deg: Any) -> Any:
    """As NumPy's."""
    return rows_of(x, deg, lambda x: x, lambda p, q, x, i: p * (2 * x) - q)


def legvander(x: Any, deg: Any) -> Any:
    """As NumPy's."""
    return rows_of(x, deg, lambda x: x, lambda p, q, x, i: (p * x * (2 * i - 1) - q * (i - 1)) / i)


def hermvander(x: Any, deg: Any) -> Any:
    """As NumPy's."""
    return rows_of(x, deg, lambda x: x * 2, lambda p, q, x, i: p * (x * 2) - q * (2 * (i - 1)))


def hermevander(x: Any, deg: Any) -> Any:
    """As NumPy's."""
    return rows_of(x, deg, lambda x: x, lambda p, q, x, i: p * x - q * (i - 1))


def lagvander(x: Any, deg: Any) -> Any:
    """As NumPy's."""
    return rows_of(x, deg, lambda x: 1 - x, lambda p, q, x, i: (p * ((2 * i - 1) - x) - q * (i - 1)) / i)


def fitted(vander: Any, x: Any, y: Any, deg: Any, rcond: Any, full: Constant, w: Any) -> Any:
    """Least squares. A fit that is poorly conditioned gives no warning."""
    at, rhs = np.asarray(x) + 0.0, np.asarray(y) + 0.0
    if not isinstance(deg, (int, np.integer)):
        refuse("deg must be an integer in compiled code")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if at.ndim != 1:
        refuse("expected 1D vector for x")
    if at.size == 0:
        raise TypeError("expected non-empty vector for x")
    if rhs.ndim < 1 or rhs.ndim > 2:
        refuse("expected 1D or 2D array for y")
    if len(at) != len(rhs):
        raise TypeError("expected x and y to have same length")
    lhs = vander(at, deg)
    if w is not None:
        by = np.asarray(w) + 0.0
        if by.ndim != 1:
            refuse("expected 1D vector for w")
        if len(at) != len(by):
            raise TypeError("expected x and w to have same length")
        lhs = lhs * by[:, np.newaxis]
        rhs = rhs * (by[:, np.newaxis] if rhs.ndim == 2 else by)
    scale = np.sqrt((lhs.real**2 + lhs.imag**2 if lhs.dtype.kind == "c" else lhs * lhs).sum(axis=0))
    scale[scale == 0] = 1
    rc = len(at) * np.finfo(at.dtype).eps if rcond is None else rcond
    c, residuals, rank, s = np.linalg.lstsq(lhs / scale, rhs, rc)
    found = (c.T / scale).T
    return (found, (residuals, rank, s, rc)) if full else found


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Constant = False, w: Any = None) -> Any:
    """As NumPy's for a degree; with `full`, which is a constant, a tuple in place of the list."""
    return fitted(polyvander, x, y, deg, rcond, full, w)


def chebfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Constant = False, w: Any = None) -> Any:
    """As NumPy's for a degree."""
    return fitted(chebvander, x, y, deg, rcond, full, w)


def legfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Constant = False, w: Any = None) -> Any:
    """As NumPy's for a degree."""
    return fitted(legvander, x, y, deg, rcond, full, w)


def hermfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Constant = False, w: Any = None) -> Any:
    """As NumPy's for a degree."""
    return fitted(hermvander, x, y, deg, rcond, full, w)


def hermefit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Constant = False, w: Any = None) -> Any:
    """As NumPy's for a degree."""
    return fitted(hermevander, x, y, deg, rcond, full, w)


def lagfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Constant = False, w: Any = None) -> Any:
    """As NumPy's for a degree."""
    return fitted(lagvander, x, y, deg, rcond, full, w)


# --- places and weights of Gauss's rules: the eigenvalues of a symmetric matrix of three diagonals, and a step of Newton's ---


def degree(deg: Any) -> Any:
    if not isinstance(deg, (int, np.integer)):
        refuse("deg must be an integer")
    if deg <= 0:
        raise ValueError("deg must be a positive integer")
    return int(deg)


def eigenvalues(middle: Any, side: Any) -> Any:
    """Of a matrix with these diagonals."""
    n = middle.size
    m = np.zeros((n, n))
    for i in range(n):
        m[i, i] = middle[i]
        if i > 0:
            m[i, i - 1] = m[i - 1, i] = side[i - 1]
    return np.linalg.eigvalsh(m)


def unit(n: Any) -> Any:
    """The coefficients of the n-th polynomial."""
    c = np.zeros(n + 1)
    c[n] = 1
    return c


def chebgauss(deg: Any) -> Any:
    """As NumPy's."""
    n = degree(deg)
    return np.cos(np.pi * np.arange(1, 2 * n, 2) / (2.0 * n)), np.ones(n) * (np.pi / n)


def chebpts1(npts: Any) -> Any:
    """As NumPy's."""
    n = int(npts)
    if n != npts:
        raise ValueError("npts must be integer")
    if n < 1:
        raise ValueError("npts must be >= 1")
    return np.sin(0.5 * np.pi / n * np.arange(-n + 1, n + 1, 2))


def chebpts2(npts: Any) -> Any:
    """As NumPy's."""
    n = int(npts)
    if n != npts:
        raise ValueError("npts must be integer")
    if n < 2:
        raise ValueError("npts must be >= 2")
    return np.cos(np.linspace(-np.pi, 0, n))


def symmetric(x: Any, w: Any, total: Any) -> Any:
    """Places and weights made even at both sides, and the sum of the weights what it is."""
    even = (w + w[::-1]) / 2
    return (x - x[::-1]) / 2, even * (total / even.sum())


def newton(x: Any, n: Any, val: Any, der: Any) -> Any:
    """A step towards the roots of the n-th polynomial, and weights there, by any factor."""
    c = unit(n)
    df = val(x, der(c))
    x = x - val(x, c) / df
    fm = val(x, c[1:])
    return x, 1 / ((fm / np.abs(fm).max()) * (df / np.abs(df).max()))


def leggauss(deg: Any) -> Any:
    """As NumPy's."""
    n = degree(deg)
    scale = 1.0 / np.sqrt(2 * np.arange(n) + 1)
    x = eigenvalues(np.zeros(n), np.arange(1, n) * scale[: n - 1] * scale[1:n])
    x, w = newton(x, n, legval, legder)
    return symmetric(x, w, 2.0)


def laggauss(deg: Any) -> Any:
    """As NumPy's."""
    n = degree(deg)
    x = eigenvalues(2.0 * np.arange(n) + 1.0, -np.arange(1, n).astype(np.float64))
    x, w = newton(x, n, lagval, lagder)
    return x, w / w.sum()


def hermgauss(deg: Any) -> Any:
    """As NumPy's."""
    n = degree(deg)
    return by_normed(n, np.sqrt(0.5 * np.arange(1, n)), 2.0, np.sqrt(np.pi))


def hermegauss(deg: Any) -> Any:
    """As NumPy's."""
    n = degree(deg)
    return by_normed(n, np.sqrt(np.arange(1, n)), 1.0, np.sqrt(2 * np.pi))


def by_normed(n: Any, side: Any, by: Any, total: Any) -> Any:
    """Hermite's rule; `by` is 2 for the physicists' polynomials, whose weights have this sum."""
    x = eigenvalues(np.zeros(n), side)
    x = x - normed(x, n, by, total) / (normed(x, n - 1, by, total) * np.sqrt(by * n))
    fm = normed(x, n - 1, by, total)
    fm /= np.abs(fm).max()
    return symmetric(x, 1 / (fm * fm), total)


def normed(x: Any, n: Any, by: Any, total: Any) -> Any:
    """The n-th of Hermite's polynomials, whose squares have the integral 1."""
    p, q = np.zeros(x.shape), np.full(x.shape, 1 / np.sqrt(total))
    for k in range(n, 0, -1):
        p, q = -q * np.sqrt((k - 1.0) / k), p + q * x * np.sqrt(by / k)
    return q
