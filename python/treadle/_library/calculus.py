"""Interpolation, convolution, differences, integrals, products of vectors, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Values at x of the line through the points (xp, fp).

    Where xp does not rise the result is undefined here, too, and may be another.
    """
    x = np.asarray(x, dtype=np.float64)
    xs = np.asarray(xp, dtype=np.float64)
    fs = np.asarray(fp)
    if xs.ndim != 1 or fs.ndim != 1:
        refuse("the points must have one axis")
    ys = fs.astype(np.complex128) if fs.dtype.kind == "c" else fs.astype(np.float64)
    if xs.size == 0:
        raise ValueError("array of sample points is empty")
    if xs.size != ys.size:
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        return interp_periodic(x, xs, ys, period)
    first = ys.dtype.type(ys[0] if left is None else left)
    last = ys.dtype.type(ys[-1] if right is None else right)
    out = np.empty(x.size, ys.dtype)
    interpolate(x.ravel(), xs, ys, first, last, out)
    if x.ndim == 0:
        return out[0]
    return out.reshape(x.shape)


def interp_periodic(x: Any, xs: Any, ys: Any, period: Any) -> Any:
    """The same where the points come again with each period."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    xs = xs % period
    order = np.argsort(xs)
    xs = xs[order]
    ys = ys[order]
    n = xs.size
    xs = np.concatenate((xs[n - 1 :] - period, xs, xs[:1] + period))
    ys = np.concatenate((ys[n - 1 :], ys, ys[:1]))
    at = np.asarray(x % period)
    out = np.empty(at.size, ys.dtype)
    interpolate(at.ravel(), xs, ys, ys[0], ys[n + 1], out)
    if x.ndim == 0:
        return out[0]
    return out.reshape(x.shape)


def interpolate(x: Any, xs: Any, ys: Any, first: Any, last: Any, out: Any) -> None:
    """Fill `out` with values at each of x. The interval of the item before is tried first, and the one after it."""
    n = xs.size
    if n == 1:
        for i in range(x.size):
            v = x[i]
            out[i] = first if v < xs[0] else last if v > xs[0] else ys[0]
        return
    slopes = np.empty(n - 1 if n <= x.size else 0, ys.dtype)
    for k in range(slopes.size):
        slopes[k] = slope_of(xs, ys, k)
    x0, x1, y0, slope = xs[0], xs[1], ys[0], slope_of(xs, ys, 0)
    j = 0
    for i in range(x.size):
        v = x[i]
        y = slope * (v - x0) + y0
        if x0 < v < x1 and not np.isnan(y):
            out[i] = y
        elif np.isnan(v):
            out[i] = v
        elif v < xs[0]:
            out[i] = first
        elif v > xs[n - 1]:
            out[i] = last
        elif v == xs[n - 1]:
            out[i] = ys[n - 1]
        else:
            if v < xs[j] or v >= xs[j + 1]:
                j = j + 1 if xs[j + 1] <= v < xs[min(j + 2, n - 1)] else place(xs, v)
                x0, x1, y0 = xs[j], xs[j + 1], ys[j]
                slope = slopes[j] if slopes.size > 0 else slope_of(xs, ys, j)
            out[i] = ys[j] if v == xs[j] else on_line(slope, v, xs[j], xs[j + 1], ys[j], ys[j + 1])


def place(xs: Any, v: Any) -> Any:
    """The last item that is no larger than v, which is none of the ends. Steps are chosen without a jump."""
    at, n = 0, xs.size
    while n > 1:
        half = n >> 1
        at = at + half if xs[at + half] <= v else at
        n -= half
    return at


def slope_of(xs: Any, ys: Any, k: Any) -> Any:
    """The slope of the line from a point to the next."""
    if ys.dtype.kind == "c":
        by = 1.0 / (xs[k + 1] - xs[k])
        return complex((ys[k + 1].real - ys[k].real) * by, (ys[k + 1].imag - ys[k].imag) * by)
    return (ys[k + 1] - ys[k]) / (xs[k + 1] - xs[k])


def on_line(slope: Any, v: Any, x0: Any, x1: Any, y0: Any, y1: Any) -> Any:
    """The line's value at v."""
    if isinstance(slope, (complex, np.complexfloating)):
        return complex(
            on_line(slope.real, v, x0, x1, y0.real, y1.real),
            on_line(slope.imag, v, x0, x1, y0.imag, y1.imag),
        )
    y = slope * (v - x0) + y0
    if np.isnan(y):  # one end, or the slope, is infinite
        y = slope * (v - x1) + y1
        if np.isnan(y) and y0 == y1:
            y = y0
    return y


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """The convolution of two sequences."""
    x, y = np.atleast_1d(a), np.atleast_1d(v)
    if x.ndim != 1 or y.ndim != 1:
        refuse("both must have one axis")
    if x.size == 0:
        raise ValueError("a cannot be empty")
    if y.size == 0:
        raise ValueError("v cannot be empty")
    few = min(x.size, y.size)
    many = max(x.size, y.size)
    return convolved(x, y, *window(mode, few, many, (few - 1) // 2))


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """The correlation of two sequences."""
    x, y = np.atleast_1d(a), np.atleast_1d(v)
    if x.ndim != 1 or y.ndim != 1:
        refuse("both must have one axis")
    if x.size == 0:
        raise ValueError("first array argument cannot be empty")
    if y.size == 0:
        raise ValueError("second array argument cannot be empty")
    few = min(x.size, y.size)
    many = max(x.size, y.size)
    start = (few - 1) // 2 if x.size >= y.size else few // 2
    back = np.conj(y[::-1]) if y.dtype.kind == "c" else y[::-1]
    return convolved(x, back, *window(mode, few, many, start))


def window(mode: Any, few: Any, many: Any, start: Any) -> Any:
    """Which items of the full convolution a mode takes: from where, and how many."""
    if mode == "full":
        return 0, few + many - 1
    if mode == "same":
        return start, many
    if mode == "valid":
        return few - 1, many - few + 1
    refuse("mode must be 'full', 'same' or 'valid'")


def convolved(x: Any, y: Any, start: Any, count: Any) -> Any:
    """Items of the full convolution of x and y, from `start` on. Sums are made in a type that holds them."""
    kind = (x[:0] * y[:0]).dtype
    if kind.kind == "b":
        return convolved(x.astype(np.int64), y.astype(np.int64), start, count) != 0
    if kind.name == "float16":
        return convolved(x.astype(np.float32), y.astype(np.float32), start, count).astype(np.float16)
    p, q = np.ascontiguousarray(x, dtype=kind), np.ascontiguousarray(y, dtype=kind)
    if p.size < q.size:
        p, q = q, p
    out = np.empty(count, kind)
    products(p, q, start, out)
    return out


BLOCK = (
    2048  # items of the result that stay in the nearest cache while all of the short array is gone through
)


def products(p: Any, q: Any, start: Any, out: Any) -> None:
    """Make of out[i] the sum of products p[k - j] * q[j] for k = start + i. The loop over the result is the inner one."""
    n, m = p.size, q.size
    for low in range(0, out.size, BLOCK):
        high = min(low + BLOCK, out.size)
        out[low:high] = 0
        j = 0
        while j < m:
            k = start + low - j
            inside = start + high - j <= n  # all of the block has as many items of q as k is not before
            if inside and k >= 3 and j + 4 <= m:
                four_products(p[k - 3 : start + high - j], q[j : j + 4], out[low:high])
                j += 4
            elif inside and k >= 1 and j + 2 <= m:
                two_products(p[k - 1 : start + high - j], q[j : j + 2], out[low:high])
                j += 2
            else:
                at, end = max(low, j - start), min(high, n + j - start)
                if at < end:
                    one_product(p[start + at - j : start + end - j], q[j], out[at:end])
                j += 1


def four_products(p: Any, q: Any, out: Any) -> None:
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    for i in range(out.size):
        out[i] = out[i] + p[i + 3] * q0 + p[i + 2] * q1 + p[i + 1] * q2 + p[i] * q3


def two_products(p: Any, q: Any, out: Any) -> None:
    q0, q1 = q[0], q[1]
    for i in range(out.size):
        out[i] = out[i] + p[i + 1] * q0 + p[i] * q1


def one_product(p: Any, q: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] += p[i] * q
