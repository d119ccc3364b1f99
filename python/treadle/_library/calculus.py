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
    start, count = window(mode, few, many, (few - 1) // 2)
    return convolved(x, y, start, count)


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
    start, count = window(mode, few, many, start)
    return convolved(x, back, start, count)


def window(mode: Any, few: Any, many: Any, start: Any) -> Any:
    """Which items of the full convolution a mode takes: from where, and how many."""
    if mode == "full":
        return 0, few + many - 1
    if mode == "same":
        return start, many
    if mode == "valid":
        return few - 1, many - few + 1
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')")


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


ALL_AXES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)


def gradient(f: Any, *varargs: Constant, axis: Constant = None, edge_order: Constant = 1) -> Any:
    """Differences between neighbours by their distances, in the middle of both sides: an array, or one for each axis.

    Booleans are refused; NumPy takes them where distances vary and edge_order is 2.
    """
    f = np.asarray(f)
    if f.dtype.kind == "b":
        refuse("NumPy has no subtraction of booleans")
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if axis is None:
        return gradient_over(f, ALL_AXES[: f.ndim], varargs, edge_order)
    if isinstance(axis, tuple):
        return gradient_over(f, axis, varargs, edge_order)
    return gradient_over(f, (axis,), varargs, edge_order)


def gradient_over(f: Any, axes: Constant, steps: Constant, order: Constant) -> Any:
    """Gradients along these axes; one that is alone as it is."""
    if len(axes) == 0:
        return ()
    if len(axes) == 1:
        if len(steps) == 0:
            return gradient_along(f, axes[0], 1.0, order)
        if len(steps) == 1:
            return gradient_along(f, axes[0], steps[0], order)
    elif len(steps) == 0:
        return gradients(f, axes, (), 1.0, order)
    elif len(steps) == 1 and np.ndim(steps[0]) == 0:
        return gradients(f, axes, (), steps[0], order)
    if len(steps) != len(axes):
        refuse("invalid number of arguments")
    return gradients(f, axes, steps, 1.0, order)


def gradients(f: Any, axes: Constant, steps: Constant, step: Constant, order: Constant) -> Any:
    """One array for each axis. `step` is for those that `steps` has nothing for."""
    if len(axes) == 0:
        return ()
    if len(steps) == 0:
        return gradient_along(f, axes[0], step, order), *gradients(f, axes[1:], (), step, order)
    return gradient_along(f, axes[0], steps[0], order), *gradients(f, axes[1:], steps[1:], step, order)


def gradient_along(f: Any, axis: Constant, step: Constant, order: Constant) -> Any:
    """The gradient along an axis."""
    if f.shape[axis] < order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
        )
    out = np.empty_like(f)
    g, o = np.moveaxis(f, axis, 0), np.moveaxis(out, axis, 0)
    if np.ndim(step) == 0:
        even_gradient(g, step, order, o)
        return out
    if np.ndim(step) != 1:
        refuse("distances must be either scalars or 1d")
    x = np.asarray(step)
    if x.dtype.kind in "iu":
        x = x.astype(np.float64)
    if x.size != g.shape[0]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    d = x[1:] - x[:-1]
    if np.all(d == d[0]):
        even_gradient(g, d[0], order, o)
    else:
        uneven_gradient(g, d, order, o)
    return out


def even_gradient(f: Any, step: Constant, order: Constant, out: Any) -> None:
    """The gradient along the first axis where all distances are the same."""
    out[1:-1] = (f[2:] - f[:-2]) / (2.0 * step)
    if order == 1:
        out[0] = (f[1] - f[0]) / step
        out[-1] = (f[-1] - f[-2]) / step
    else:
        out[0] = (-1.5 / step) * f[0] + (2.0 / step) * f[1] + (-0.5 / step) * f[2]
        out[-1] = (0.5 / step) * f[-3] + (-2.0 / step) * f[-2] + (1.5 / step) * f[-1]


def uneven_gradient(f: Any, d: Any, order: Constant, out: Any) -> None:
    """The gradient along the first axis, with the distances between neighbours."""
    d1, d2 = along_first(d[:-1], f.ndim), along_first(d[1:], f.ndim)
    a = -d2 / (d1 * (d1 + d2))
    b = (d2 - d1) / (d1 * d2)
    c = d1 / (d2 * (d1 + d2))
    out[1:-1] = a * f[:-2] + b * f[1:-1] + c * f[2:]
    if order == 1:
        out[0] = (f[1] - f[0]) / d[0]
        out[-1] = (f[-1] - f[-2]) / d[-1]
    else:
        e1, e2 = d[0], d[1]
        a0 = -(2.0 * e1 + e2) / (e1 * (e1 + e2))
        b0 = (e1 + e2) / (e1 * e2)
        c0 = -e1 / (e2 * (e1 + e2))
        out[0] = a0 * f[0] + b0 * f[1] + c0 * f[2]
        g1, g2 = d[-2], d[-1]
        a1 = g2 / (g1 * (g1 + g2))
        b1 = -(g2 + g1) / (g1 * g2)
        c1 = (2.0 * g2 + g1) / (g2 * (g1 + g2))
        out[-1] = a1 * f[-3] + b1 * f[-2] + c1 * f[-1]


def along_first(d: Any, n: Constant) -> Any:
    """A sequence as an array of n axes, along the first."""
    if n == 1:
        return d
    return along_first(d[..., np.newaxis], n - 1)


def along(d: Any, n: Constant, axis: Constant) -> Any:
    """A sequence as an array of n axes, along one of them."""
    return np.moveaxis(along_first(d, n), 0, axis)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences between neighbours of all items, with others before and after them."""
    x = np.asarray(ary).ravel()
    before = 0 if to_begin is None else np.size(to_begin)
    after = 0 if to_end is None else np.size(to_end)
    n = max(x.size - 1, 0)
    out = np.empty(before + n + after, x.dtype)
    if x.size > 1:
        out[before : before + n] = np.subtract(x[1:], x[:-1])
    if to_begin is not None:
        put_same_kind(out[:before], to_begin)
    if to_end is not None:
        put_same_kind(out[before + n :], to_end)
    return out


def put_same_kind(out: Any, x: Any) -> None:
    """Fill `out` with an array's or a number's items, which must be of its kind or of a lesser one."""
    items = np.asarray(x)
    if rank(items.dtype.kind) > rank(out.dtype.kind):
        raise TypeError(
            "dtype of `to_begin` and `to_end` must be compatible with input `ary` under the `same_kind` rule."
        )
    out[:] = items.ravel()


def rank(kind: Any) -> Any:
    """Where a kind of numbers stands among all."""
    return 0 if kind == "b" else 1 if kind == "u" else 2 if kind == "i" else 3 if kind == "f" else 4


def trapezoid(y: Any, x: Any = None, dx: Constant = 1.0, axis: Constant = -1) -> Any:
    """The integral of the line through points, along an axis."""
    y = np.asarray(y)
    g = np.moveaxis(y, axis, -1)
    if x is None:
        return np.sum(dx * (g[..., 1:] + g[..., :-1]) / 2.0, axis=-1)
    x = np.asarray(x)
    if x.ndim == 1:
        return np.sum(np.diff(x) * (g[..., 1:] + g[..., :-1]) / 2.0, axis=-1)
    h = np.moveaxis(x, axis, -1)
    return np.sum(np.diff(h, axis=-1) * (g[..., 1:] + g[..., :-1]) / 2.0, axis=-1)


def trapz(y: Any, x: Any = None, dx: Constant = 1.0, axis: Constant = -1) -> Any:
    """The older name of `trapezoid`."""
    return trapezoid(y, x, dx, axis)


def cross(
    a: Any,
    b: Any,
    axisa: Constant = -1,
    axisb: Constant = -1,
    axisc: Constant = -1,
    axis: Constant = None,
) -> Any:
    """Products of vectors. One of the two may have 2 items; where both have, NumPy's result has an axis less, and ours would be an error."""
    if axis is not None:
        return cross(a, b, axis, axis, axis)
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        refuse("at least one array has zero dimension")
    x, y = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    n, m = x.shape[x.ndim - 1], y.shape[y.ndim - 1]
    if n < 2 or n > 3 or m < 2 or m > 3:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if n == 2 and m == 2:
        raise ValueError("cross: one of the vectors must have 3 items in compiled code")
    x0, x1, y0, y1 = x[..., 0], x[..., 1], y[..., 0], y[..., 1]
    c2 = np.asarray(x0 * y1 - x1 * y0)
    out = np.empty((*c2.shape, 3), (x[..., :0] * y[..., :0]).dtype)
    out[..., 2] = c2
    if n == 2:
        y2 = y[..., 2]
        out[..., 0] = x1 * y2
        out[..., 1] = -(x0 * y2)
    elif m == 2:
        x2 = x[..., 2]
        out[..., 0] = -(x2 * y1)
        out[..., 1] = x2 * y0
    else:
        x2, y2 = x[..., 2], y[..., 2]
        out[..., 0] = x1 * y2 - x2 * y1
        out[..., 1] = x2 * y0 - x0 * y2
    return np.moveaxis(out, -1, axisc)


def unwrap(
    p: Any, discont: Constant = None, axis: Constant = -1, *, period: Constant = 6.283185307179586
) -> Any:
    """Angles with whole periods added, so that neighbours are near each other."""
    p = np.asarray(p)
    g = np.moveaxis(p, axis, -1)
    d = np.diff(g, axis=-1)
    kind = (d[..., :0] * period).dtype
    out = p.astype(kind)
    if kind.kind in "iu":
        half, rest = divmod(period, 2)
        either = rest == 0
    else:
        half = period / 2
        either = True
    m = np.mod(d + half, period) - half
    if either:  # half a period may be either way: it goes the way it was
        m = np.where((m == -half) & (d > 0), typed_like(half, m), m)
    jump = period / 2 if discont is None else discont
    by = np.where(np.abs(d) < jump, typed_like(0, m), m - d)
    o = np.moveaxis(out, axis, -1)
    o[..., 1:] = g[..., 1:] + np.cumsum(by, axis=by.ndim - 1)
    return out


def typed_like(x: Any, by: Any) -> Any:
    """A number in an array's type."""
    return by.dtype.type(x)


def polyval(p: Any, x: Any) -> Any:
    """A polynomial's value, whose coefficients come the highest first. Without any it is 0, in the type that x and p have together."""
    c = np.asarray(p)
    if c.ndim != 1:
        refuse("p must have one axis")
    v = np.asarray(x)
    kind = (
        np.multiply(v[..., np.newaxis][..., :0], c[:0]).dtype
        if v.ndim == 0
        else (v[..., np.newaxis][..., :0] * c[:0]).dtype
    )
    if v.ndim == 0:
        y = kind.type(0)
        for k in range(c.size):
            y = kind.type(y * v[()] + c[k])
        return y
    flat = np.ascontiguousarray(v).ravel()
    out = np.zeros(v.size, kind)
    for low in range(0, v.size, BLOCK):
        high = min(low + BLOCK, v.size)
        for k in range(c.size):
            step_of_polynomial(out[low:high], flat[low:high], c[k])
    return out.reshape(v.shape)


def step_of_polynomial(y: Any, x: Any, c: Any) -> None:
    for i in range(y.size):
        y[i] = y[i] * x[i] + c
