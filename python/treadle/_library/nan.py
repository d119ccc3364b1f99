"""Reductions that leave NaN out: numpy.nansum and its like.

Each is a reduction of what `np.where` makes of the array, which fusion puts into one loop without an array between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant


def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Constant = False) -> Any:
    return np.sum(without_nan(np.asarray(a), 0), axis=axis, dtype=dtype, out=out, keepdims=keepdims)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Constant = False) -> Any:
    return np.prod(without_nan(np.asarray(a), 1), axis=axis, dtype=dtype, out=out, keepdims=keepdims)


def without_nan(a: Any, by: Any) -> Any:
    """The array with `by` in place of NaN; itself where it can have none."""
    if a.dtype.kind == "f" or a.dtype.kind == "c":
        return np.where(np.isnan(a), a.dtype.type(by), a)
    return a
