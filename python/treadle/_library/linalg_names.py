"""What the array API standard has in numpy.linalg: products, traces and norms of the last axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def matmul(x1: Any, x2: Any, /) -> Any:
    """As NumPy's."""
    return np.matmul(x1, x2)


def outer(x1: Any, x2: Any, /) -> Any:
    """As NumPy's."""
    a, b = np.asarray(x1), np.asarray(x2)
    if a.ndim != 1 or b.ndim != 1:
        refuse("input arrays must be one-dimensional")
    return np.outer(a, b)


def matrix_transpose(x: Any, /) -> Any:
    """As NumPy's: a view."""
    return np.swapaxes(x, -1, -2)


def diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """As NumPy's."""
    return np.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    """As NumPy's."""
    return np.trace(x, offset, -2, -1, dtype)


def tensordot(x1: Any, x2: Any, /, *, axes: Constant = 2) -> Any:
    """As NumPy's; `axes` is a constant."""
    return np.tensordot(x1, x2, axes)


def cross(x1: Any, x2: Any, /, *, axis: Constant = -1) -> Any:
    """As NumPy's; `axis` is a constant."""
    a, b = np.asarray(x1), np.asarray(x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return np.cross(a, b, axis=axis)


def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """As NumPy's: the sum has the type of the products, and wraps in it."""
    a = np.asarray(x1)
    products = (np.conj(a) if a.dtype.kind == "c" else a) * np.asarray(x2)
    return products.sum(axis=axis).astype(products.dtype)


def vector_norm(x: Any, /, *, axis: Constant = None, keepdims: Constant = False, ord: Constant = 2) -> Any:
    """As NumPy's, along one axis or all; constants but `x`."""
    a = np.asarray(x)
    if axis is None:
        length = np.linalg.norm(np.ravel(a), ord)
        return np.full((1,) * a.ndim, length) if keepdims else length
    return np.linalg.norm(a, ord, axis, keepdims)


def matrix_norm(x: Any, /, *, keepdims: Constant = False, ord: Constant = "fro") -> Any:
    """As NumPy's; constants but `x`."""
    return np.linalg.norm(x, ord, (-2, -1), keepdims)
