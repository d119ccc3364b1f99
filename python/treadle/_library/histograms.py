"""Histograms over several axes: each axis is searched for its place, the places are made one number, and these are counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def as_float(v: Any) -> Any:
    """An end of a range: integers as float64."""
    a = np.asarray(v)
    if a.dtype.kind == "f":
        return a[()]
    return np.float64(a[()])


def finite_ends(first: Any, last: Any) -> Any:
    """The ends, apart from each other."""
    if first == last:
        return first - 0.5, last + 0.5
    return first, last


def ends(x: Any, limits: Any) -> Any:
    """The first and the last edge of what is divided evenly."""
    if limits is not None:
        if len(limits) != 2:
            raise ValueError("a range has two ends")
        if limits[0] > limits[1]:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(limits[0]) and np.isfinite(limits[1])):
            raise ValueError(f"supplied range of [{limits[0]}, {limits[1]}] is not finite")
        return finite_ends(as_float(limits[0]), as_float(limits[1]))
    if x.size == 0:
        return finite_ends(as_float(x.dtype.type(0)), as_float(x.dtype.type(1)))
    first, last = x.min(), x.max()
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    return finite_ends(as_float(first), as_float(last))


def histogram_bin_edges(a: Any, bins: Constant = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges that a histogram of the items has."""
    x = np.asarray(a)
    if weights is not None and np.shape(weights) != x.shape:
        raise ValueError("weights should have the same shape as a.")
    if isinstance(bins, str):
        refuse("bins must be a number or edges: how many there are cannot be left to NumPy's estimates")
    return np.histogram(x, bins, range)[1]


def edges_along(x: Any, bins: Constant, limits: Any, k: Any) -> Any:
    """The edges along one axis."""
    if np.ndim(bins) == 0:
        if not isinstance(bins, (int, np.integer)):
            refuse("bins must be integers, when scalars")
        if bins < 1:
            raise ValueError(f"`bins[{k}]` must be positive, when an integer")
        first, last = ends(x, limits)
        return np.linspace(first, last, bins + 1)
    e = np.asarray(bins)
    if e.ndim != 1:
        refuse("bins must be scalars or arrays of one axis")
    for i in range(1, len(e)):
        if e[i - 1] > e[i]:
            raise ValueError(f"`bins[{k}]` must be monotonically increasing, when an array")
    if len(e) == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    return e


def limits_along(x: Any, bins: Constant, limits: Constant, k: Constant) -> Any:
    """The same, where limits are None or one for each axis."""
    if limits is None:
        return edges_along(x, bins, None, k)
    return edges_along(x, bins, limits[k], k)


def all_edges(x: Any, bins: Constant, limits: Constant, k: Constant) -> Any:
    """The edges along the first k axes; `bins` are one number for all, or one or edges for each."""
    if k == 0:
        return ()
    before = all_edges(x, bins, limits, k - 1)
    if isinstance(bins, (tuple, list)) or np.ndim(bins):
        return (*before, limits_along(x[k - 1], bins[k - 1], limits, k - 1))
    return (*before, limits_along(x[k - 1], bins, limits, k - 1))


def places(x: Any, edges: Any, k: Constant) -> Any:
    """Where items lie along the first k axes, in one number; on both sides of each axis is a place for what is outside."""
    e = edges[k - 1]
    at = np.searchsorted(e, x[k - 1], side="right") - (x[k - 1] == e[-1])
    if k == 1:
        return at
    return places(x, edges, k - 1) * (len(e) + 1) + at


def shape_of(edges: Any, k: Constant) -> Any:
    if k == 0:
        return ()
    return (*shape_of(edges, k - 1), len(edges[k - 1]) + 1)


def inner(h: Any, k: Constant) -> Any:
    """Without what lies outside, along the first k axes."""
    if k == 0:
        return h
    return inner(np.swapaxes(np.swapaxes(h, 0, k - 1)[1:-1], 0, k - 1), k - 1)


def by_widths(h: Any, edges: Any, k: Constant) -> Any:
    """Divided by the widths of bins along the first k axes."""
    if k == 0:
        return h
    widths = np.diff(edges[k - 1]).reshape((1,) * (k - 1) + (-1,) + (1,) * (h.ndim - k))
    return by_widths(h, edges, k - 1) / widths


def counted(x: Any, count: Constant, bins: Constant, limits: Constant, density: Any, weights: Any) -> Any:
    """The histogram of columns, which are the rows of x."""
    if x.dtype.kind == "c":
        refuse("histograms are of real numbers")
    if limits is not None and len(limits) != count:
        raise ValueError("range argument must have one entry per dimension")
    edges = all_edges(x, bins, limits, count)
    shape = shape_of(edges, count)
    total, about = 1, 1.0
    for n in shape:
        total *= n
        about *= n
    if about > 2.0**62:
        raise ValueError("invalid dims: array size defined by dims is larger than the maximum possible size.")
    h = np.bincount(places(x, edges, count), weights, minlength=total).astype(np.float64).reshape(shape)
    h = inner(h, count)
    if density:
        s = h.sum()
        return by_widths(h, edges, count) / s, edges
    return h, edges


def histogramdd(
    sample: Any, bins: Constant = 10, range: Constant = None, density: Any = None, weights: Any = None
) -> Any:
    x = np.asarray(sample)
    if isinstance(sample, (tuple, list)):
        if x.ndim == 1:
            return along(x.reshape((1, len(x))), 1, bins, range, density, weights)
        if x.ndim != 2:
            refuse("the sample has an axis of points and one of coordinates")
        return along(x, len(sample), bins, range, density, weights)
    if x.ndim < 2:
        return along(x.reshape((1, x.size)), 1, bins, range, density, weights)
    if x.ndim > 2:
        refuse("the sample has an axis of points and one of coordinates")
    if isinstance(bins, (tuple, list)):
        return along(x.T, len(bins), bins, range, density, weights)
    if range is None:
        refuse(
            "how many coordinates there are must be known when the function compiles: give bins or a range for each in a tuple, "
            "or the sample as a tuple of its columns"
        )
    else:
        return along(x.T, len(range), bins, range, density, weights)


def along(x: Any, count: Constant, bins: Constant, limits: Constant, density: Any, weights: Any) -> Any:
    """The histogram of so many columns, which are the rows of x."""
    if isinstance(bins, (tuple, list)):
        if len(bins) != count:
            raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    elif np.ndim(bins):
        if len(bins) != count:
            raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if x.shape[0] != count:
        raise ValueError("bins and ranges must be as many as the sample has coordinates")
    return counted(x, count, bins, limits, density, weights)


def histogram2d(
    x: Any, y: Any, bins: Constant = 10, range: Constant = None, density: Any = None, weights: Any = None
) -> Any:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if isinstance(bins, (tuple, list)):
        if len(bins) < 3:
            return two(x, y, bins, range, density, weights)
        e = np.asarray(bins)
        return two(x, y, (e, e), range, density, weights)
    if np.ndim(bins) == 0:
        return two(x, y, bins, range, density, weights)
    e = np.asarray(bins)
    if len(e) == 1:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if len(e) == 2:
        raise TypeError(
            "numbers of bins, one for each axis, stand in a tuple, and an array of edges has three or more"
        )
    return two(x, y, (e, e), range, density, weights)


def two(x: Any, y: Any, bins: Constant, limits: Constant, density: Any, weights: Any) -> Any:
    h, (a, b) = histogramdd((x, y), bins, limits, density, weights)
    return h, a, b
