"""Reductions that leave NaN out: numpy.nansum and its like.

Each is a reduction of what `np.where` makes of the array, which fusion puts into one loop without an array between.
Where NumPy warns, of slices that are all NaN, nothing is said.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def nansum(
    a: Any, axis: Constant = None, dtype: Any = None, out: Any = None, keepdims: Constant = False
) -> Any:
    """Sum, with NaN as 0."""
    return np.sum(without_nan(np.asarray(a), 0), axis=axis, dtype=dtype, out=out, keepdims=keepdims)


def nanprod(
    a: Any, axis: Constant = None, dtype: Any = None, out: Any = None, keepdims: Constant = False
) -> Any:
    """Product, with NaN as 1."""
    return np.prod(without_nan(np.asarray(a), 1), axis=axis, dtype=dtype, out=out, keepdims=keepdims)


def nancumsum(a: Any, axis: Constant = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sum, with NaN as 0."""
    return np.cumsum(without_nan(np.asarray(a), 0), axis=axis, dtype=dtype, out=out)


def nancumprod(a: Any, axis: Constant = None, dtype: Any = None, out: Any = None) -> Any:
    """Running product, with NaN as 1."""
    return np.cumprod(without_nan(np.asarray(a), 1), axis=axis, dtype=dtype, out=out)


def nanmin(a: Any, axis: Constant = None, out: Any = None, keepdims: Constant = False) -> Any:
    """Minimum of what is not NaN."""
    a = np.asarray(a)
    if a.dtype.kind == "c":
        return np.fmin.reduce(a, axis=axis, out=out, keepdims=keepdims)
    if a.dtype.kind != "f":
        return np.min(a, axis=axis, out=out, keepdims=keepdims)
    found = np.min(without_nan(a, np.inf), axis=axis, out=out, keepdims=keepdims)
    return nan_of_nothing(a, found, np.inf, axis, keepdims)


def nanmax(a: Any, axis: Constant = None, out: Any = None, keepdims: Constant = False) -> Any:
    """Maximum of what is not NaN."""
    a = np.asarray(a)
    if a.dtype.kind == "c":
        return np.fmax.reduce(a, axis=axis, out=out, keepdims=keepdims)
    if a.dtype.kind != "f":
        return np.max(a, axis=axis, out=out, keepdims=keepdims)
    found = np.max(without_nan(a, -np.inf), axis=axis, out=out, keepdims=keepdims)
    return nan_of_nothing(a, found, -np.inf, axis, keepdims)


def nan_of_nothing(a: Any, found: Any, least: Constant, axis: Constant, keepdims: Constant) -> Any:
    """Extremes, with NaN where all of a slice is. They are infinite there, so hardly ever has anybody to look."""
    if np.any(found == least):
        nothing = np.all(np.isnan(a), axis=axis, keepdims=keepdims)
        if isinstance(found, np.ndarray):
            found[...] = np.where(nothing, found.dtype.type(np.nan), found)
        elif nothing:
            return a.dtype.type(np.nan)
    return found


def nanargmin(a: Any, axis: Constant = None, out: Any = None, *, keepdims: Constant = False) -> Any:
    """Place of the minimum of what is not NaN."""
    a = np.asarray(a)
    refuse_all_nan(a, axis)
    return np.argmin(without_nan(a, np.inf), axis=axis, out=out, keepdims=keepdims)


def nanargmax(a: Any, axis: Constant = None, out: Any = None, *, keepdims: Constant = False) -> Any:
    """Place of the maximum of what is not NaN."""
    a = np.asarray(a)
    refuse_all_nan(a, axis)
    return np.argmax(without_nan(a, -np.inf), axis=axis, out=out, keepdims=keepdims)


def refuse_all_nan(a: Any, axis: Constant) -> None:
    """An exception where all of a slice is NaN. Of nothing it is `np.argmin` that raises."""
    if a.dtype.kind in "fc" and a.size > 0 and np.any(np.all(np.isnan(a), axis=axis)):
        raise ValueError("All-NaN slice encountered")


def nanmean(
    a: Any, axis: Constant = None, dtype: Any = None, out: Any = None, keepdims: Constant = False
) -> Any:
    """Mean of what is not NaN."""
    a = np.asarray(a)
    if a.dtype.kind not in "fc":
        return np.mean(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    total = np.sum(without_nan(a, 0), axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    if total.dtype.kind not in "fc":
        refuse("of floats the mean is a float: dtype and out must be inexact")
    return divided(total, counted(a, axis, keepdims))


def nanvar(
    a: Any,
    axis: Constant = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Constant = False,
) -> Any:
    """Variance of what is not NaN."""
    a = np.asarray(a)
    if a.dtype.kind not in "fc":
        return np.var(a, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims)
    total = np.sum(without_nan(a, 0), axis=axis, dtype=dtype, keepdims=True)
    if total.dtype.kind not in "fc":
        refuse("of floats the variance is a float: dtype and out must be inexact")
    mean = divided(total, counted(a, axis, True))
    away = np.where(np.isnan(a), a.dtype.type(0), (a - mean).astype(a.dtype))
    if a.dtype.kind == "c":
        squares = away.real * away.real + away.imag * away.imag
    else:
        squares = away * away
    found = np.sum(squares, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    left = counted(a, axis, keepdims) - ddof
    if isinstance(found, np.ndarray):
        found[...] = np.where(left <= 0, np.nan, found / left)
        return found
    if left <= 0:
        return found.dtype.type(np.nan)
    return found.dtype.type(found / left)


def nanstd(
    a: Any,
    axis: Constant = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Constant = False,
) -> Any:
    """Standard deviation of what is not NaN."""
    found = nanvar(a, axis, dtype, out, ddof, keepdims)
    if out is None:
        return np.sqrt(found)
    return np.sqrt(found, out=out)


def without_nan(a: Any, by: Constant) -> Any:
    """The array with `by` in place of NaN; itself where it can have none."""
    if a.dtype.kind in "fc":
        return np.where(np.isnan(a), a.dtype.type(by), a)
    return a


def counted(a: Any, axis: Constant, keepdims: Constant) -> Any:
    """How many are not NaN."""
    return np.sum(~np.isnan(a), axis=axis, dtype=np.intp, keepdims=keepdims)


def divided(total: Any, by: Any) -> Any:
    """The quotient in the type of `total`, and in its place where that is an array."""
    if isinstance(total, np.ndarray):
        total[...] = total / by
        return total
    return total.dtype.type(total / by)
