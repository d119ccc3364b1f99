"""Comparisons and tests of items, windows, and functions of one number that are made of others.

What is element by element is written as an expression of arrays, so it fuses with what is around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def isclose(
    a: Constant, b: Constant, rtol: Constant = 1e-05, atol: Constant = 1e-08, equal_nan: Constant = False
) -> Any:
    """Whether items are near each other."""
    if isinstance(a, (tuple, list)):
        a = np.asarray(a)
    if isinstance(b, (tuple, list)):
        b = np.asarray(b)
    if isinstance(b, (int, np.integer)):
        b = float(b)
    elif isinstance(b, np.ndarray) and b.dtype.kind in "biu":
        b = b.astype(np.float64)  # the least integer has no absolute value
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    if equal_nan:
        near = near | np.isnan(a) & np.isnan(b)
    return near


def allclose(
    a: Constant, b: Constant, rtol: Constant = 1e-05, atol: Constant = 1e-08, equal_nan: Constant = False
) -> bool:
    """Whether all items are near each other."""
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: Constant = False) -> bool:
    """Whether two arrays have the same shape and items."""
    a, b = np.asarray(a1), np.asarray(a2)
    if a.ndim != b.ndim:
        return False
    if a.shape != b.shape:
        return False
    if equal_nan and a.dtype.kind in "fc" and b.dtype.kind in "fc":
        return bool(np.all((a == b) | np.isnan(a) & np.isnan(b)))
    return bool(np.all(a == b))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays have the same items where one may repeat the other's."""
    a, b = np.asarray(a1), np.asarray(a2)
    if a.ndim > 0 and b.ndim > 0:
        for k in range(1, min(a.ndim, b.ndim) + 1):
            n, m = a.shape[a.ndim - k], b.shape[b.ndim - k]
            if n != m and n != 1 and m != 1:
                return False
    return bool(np.all(a == b))


def isposinf(x: Any, out: Any = None) -> Any:
    """Where items are positive infinity; complex numbers are refused."""
    if np.asarray(x).dtype.kind == "c":
        refuse("complex numbers have many infinities: ask for np.isinf, or about a part")
    return np.equal(x, np.inf, out=out)


def isneginf(x: Any, out: Any = None) -> Any:
    """Where items are negative infinity; complex numbers are refused."""
    if np.asarray(x).dtype.kind == "c":
        refuse("complex numbers have many infinities: ask for np.isinf, or about a part")
    return np.equal(x, -np.inf, out=out)


def isreal(x: Any) -> Any:
    """Where items have no imaginary part."""
    return np.imag(x) == 0


def iscomplex(x: Any) -> Any:
    """Where items have an imaginary part."""
    return np.imag(x) != 0


def nan_to_num(x: Any, copy: Constant = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Finite numbers in place of NaN and infinities."""
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        y = x.copy() if copy else x
    elif x.dtype.kind == "c":
        y = np.empty_like(x) if copy else x
        y.real[...] = finite(x.real, nan, posinf, neginf)
        y.imag[...] = finite(x.imag, nan, posinf, neginf)
    elif copy:
        return finite(x, nan, posinf, neginf)
    else:
        y = x
        y[...] = finite(x, nan, posinf, neginf)
    if x.ndim == 0:
        return y[()]
    return y


def finite(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """Floats with these numbers, or arrays, in place of what is not finite: NaN, and infinities, by default the greatest and the least."""
    most = np.finfo(x.dtype).max if posinf is None else posinf
    least = np.finfo(x.dtype).min if neginf is None else neginf
    y = np.where(x == np.inf, typed(most, x), x)
    y = np.where(x == -np.inf, typed(least, x), y)
    return np.where(np.isnan(x), typed(nan, x), y)


def typed(x: Any, by: Any) -> Any:
    """A number or an array in another's type."""
    if isinstance(x, np.ndarray):
        return x.astype(by.dtype)
    return by.dtype.type(x)


def sinc(x: Any) -> Any:
    """The sine of pi x, by pi x; 1 at 0."""
    y = np.multiply(np.pi, x)
    if y.dtype.kind == "f":
        y = np.where(y == 0, np.finfo(y.dtype).eps, y)
    else:
        y = np.where(y == 0, 1e-20, y)
    return np.sin(y) / y


# Chebyshev coefficients, the highest first, of exp(-x) I0(x) in x / 2 - 2 up to 8, and of exp(-x) sqrt(x) I0(x) in 32 / x - 2 from 8
# on: sums over 48 nodes, in 60 decimal digits.
NEAR = (
    -4.4153416464793395e-18,
    3.3307945188222384e-17,
    -2.431279846547955e-16,
    1.715391285555133e-15,
    -1.1685332877993451e-14,
    7.676185498604936e-14,
    -4.856446783111929e-13,
    2.95505266312964e-12,
    -1.726826291441556e-11,
    9.675809035373237e-11,
    -5.189795601635263e-10,
    2.6598237246823866e-09,
    -1.300025009986248e-08,
    6.046995022541919e-08,
    -2.670793853940612e-07,
    1.1173875391201037e-06,
    -4.4167383584587505e-06,
    1.6448448070728896e-05,
    -5.754195010082104e-05,
    0.00018850288509584165,
    -0.0005763755745385824,
    0.0016394756169413357,
    -0.004324309995050576,
    0.010546460394594998,
    -0.02373741480589947,
    0.04930528423967071,
    -0.09490109704804764,
    0.17162090152220877,
    -0.3046826723431984,
    0.6767952744094761,
)
FAR = (
    -7.23318048787476e-18,
    -4.830504485944178e-18,
    4.46562142029676e-17,
    3.461222867697461e-17,
    -2.8276239805165836e-16,
    -3.425485619677219e-16,
    1.7725601330565263e-15,
    3.8116806693526224e-15,
    -9.554846698828307e-15,
    -4.150569347287222e-14,
    1.54008621752141e-14,
    3.8527783827421426e-13,
    7.180124451383666e-13,
    -1.7941785315068062e-12,
    -1.3215811840447713e-11,
    -3.1499165279632416e-11,
    1.1889147107846439e-11,
    4.94060238822497e-10,
    3.3962320257083865e-09,
    2.266668990498178e-08,
    2.0489185894690638e-07,
    2.8913705208347567e-06,
    6.889758346916825e-05,
    0.0033691164782556943,
    0.8044904110141088,
)


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind, of order 0; complex numbers are refused."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        refuse("i0 of complex numbers is not there")
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    y = x.ravel()
    out = np.empty_like(y)
    for i in range(y.size):
        out[i] = bessel(y[i])
    return out.reshape(x.shape)


def bessel(x: Any) -> Any:
    """I0 of one number, in its type."""
    x = abs(x)
    if x <= 8.0:
        return np.exp(x) * chebyshev(x / 2.0 - 2.0, NEAR)
    return np.exp(x) * chebyshev(32.0 / x - 2.0, FAR) / np.sqrt(x)


def chebyshev(x: Any, by: Any) -> Any:
    """A series of Chebyshev's polynomials at x, by Clenshaw's recurrence."""
    b0 = by[0] + x * 0.0
    b1 = b2 = x * 0.0
    for c in by[1:]:
        b2 = b1
        b1 = b0
        b0 = x * b1 - b2 + c
    return 0.5 * (b0 - b2)


def points(M: Any) -> tuple[Any, Any]:
    """Where a window's M points lie about its middle, and how far the last ones."""
    m = np.float64(M)
    return np.arange(1 - m, m, 2), 1.0 if m == 1 else m - 1


def hanning(M: Any) -> Any:
    """Hann's window of M points."""
    n, end = points(M)
    return 0.5 + 0.5 * np.cos(np.pi * n / end)


def hamming(M: Any) -> Any:
    """Hamming's window of M points."""
    n, end = points(M)
    return 0.54 + 0.46 * np.cos(np.pi * n / end)


def blackman(M: Any) -> Any:
    """Blackman's window of M points."""
    n, end = points(M)
    return 0.42 + 0.5 * np.cos(np.pi * n / end) + 0.08 * np.cos(2.0 * np.pi * n / end)


def bartlett(M: Any) -> Any:
    """Bartlett's window of M points, a triangle."""
    n, end = points(M)
    return np.where(n <= 0, 1 + n / end, 1 - n / end)


def kaiser(M: Any, beta: Any) -> Any:
    """Kaiser's window of M points."""
    m, by = np.float64(M), np.float64(beta)
    if m == 1:
        return np.ones(1)
    n = np.arange(0, m)
    alpha = (m - 1) / 2.0
    return i0(by * np.sqrt(1 - ((n - alpha) / alpha) ** 2.0)) / bessel(by)
