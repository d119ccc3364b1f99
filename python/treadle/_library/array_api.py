"""Names that the array API standard gave to NumPy: numpy.cumulative_sum, unique_counts and their like."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from . import Constant, refuse

UniqueAllResult = namedtuple("UniqueAllResult", "values indices inverse_indices counts")
UniqueCountsResult = namedtuple("UniqueCountsResult", "values counts")
UniqueInverseResult = namedtuple("UniqueInverseResult", "values inverse_indices")


def cumulative_sum(
    x: Any, /, *, axis: Constant = None, dtype: Any = None, out: Any = None, include_initial: Constant = False
) -> Any:
    """As NumPy's; `axis` and `include_initial` are constants."""
    return running(np.cumsum, 0, x, axis, dtype, out, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: Constant = None, dtype: Any = None, out: Any = None, include_initial: Constant = False
) -> Any:
    """As NumPy's; `axis` and `include_initial` are constants."""
    return running(np.cumprod, 1, x, axis, dtype, out, include_initial)


def running(of: Any, by: Any, x: Any, axis: Constant, dtype: Any, out: Any, include_initial: Constant) -> Any:
    """What `of` makes of an array along an axis, with `by` before its first item where that is asked for."""
    a, k = one_axis(np.asarray(x), axis), 0 if axis is None else axis
    if not include_initial:
        return of(a, axis=k, dtype=dtype, out=out)
    if out is None:
        return with_first(of(a, axis=k, dtype=dtype), k, by)
    of(a, axis=k, dtype=dtype, out=np.swapaxes(np.swapaxes(out, 0, k)[1:], 0, k))
    np.swapaxes(out, 0, k)[0] = by
    return out


def one_axis(a: Any, axis: Constant) -> Any:
    """The array, which has no axis but one where none is given."""
    if axis is None and a.ndim != 1:
        refuse("for arrays which have more than one dimension the `axis` argument is required")
    return a


def with_first(s: Any, axis: Constant, by: Any) -> Any:
    """The array with `by` before the first item along an axis."""
    if s.ndim == 1:
        return np.concatenate((np.full(1, by, s.dtype), s))
    first = np.swapaxes(np.expand_dims(np.swapaxes(s, 0, axis)[:0].sum(axis=0), 0), 0, axis)
    return np.concatenate((np.full_like(first, by, s.dtype), s), axis=axis)


def matrix_transpose(x: Any, /) -> Any:
    """As NumPy's: a view."""
    return np.swapaxes(x, -1, -2)


def astype(x: Any, dtype: Any, /, *, copy: Constant = True, device: Any = None) -> Any:
    """As NumPy's; `copy` is a constant."""
    return x.astype(dtype, copy=copy)


def unique_values(x: Any) -> Any:
    """As NumPy's, sorted."""
    return np.unique(x, equal_nan=False)


def unique_counts(x: Any) -> Any:
    """As NumPy's."""
    v, n = np.unique(x, return_counts=True, equal_nan=False)
    return UniqueCountsResult(v, n)


def unique_inverse(x: Any) -> Any:
    """As NumPy's."""
    v, k = np.unique(x, return_inverse=True, equal_nan=False)
    return UniqueInverseResult(v, k)


def unique_all(x: Any) -> Any:
    """As NumPy's."""
    v, i, k, n = np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    return UniqueAllResult(v, i, k, n)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """As NumPy's."""
    b = np.asarray(a, dtype=dtype, order=order)
    if (b.dtype.kind == "f" or b.dtype.kind == "c") and not np.isfinite(b).all():
        raise ValueError("array must not contain infs or NaNs")
    return b
