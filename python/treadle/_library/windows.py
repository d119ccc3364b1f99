"""Windows over arrays: views of all stretches of a length."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def sliding_window_view(
    x: Any, window_shape: Any, axis: Constant = None, *, writeable: Constant = False
) -> Any:
    """A view whose last axes run through a window, which the others move. `axis`, a number or a tuple, is a constant."""
    a = np.asarray(x)
    sizes = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    for n in sizes:
        if n < 0:
            raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        if len(sizes) != a.ndim:
            refuse("since axis is None, a window of as many axes as the array's is needed")
        return view_of(a, less(a.shape, sizes), a.strides, sizes, writeable)
    if isinstance(axis, (tuple, list)):
        if len(sizes) != len(axis):
            refuse("as many axes as the window has are needed")
        return over(a, a.shape, a.strides, sizes, sizes, axis, writeable)
    return over(a, a.shape, a.strides, sizes, sizes, (axis,), writeable)


def less(shape: Any, sizes: Any) -> Any:
    """How many places there are along each axis."""
    if len(shape) == 0:
        return ()
    if shape[0] < sizes[0]:
        raise ValueError("window shape cannot be larger than input array shape")
    return (shape[0] - sizes[0] + 1, *less(shape[1:], sizes[1:]))


def over(a: Any, shape: Any, strides: Any, sizes: Any, left: Any, axes: Constant, writeable: Constant) -> Any:
    """Leaves less of the shape for one axis after the other, whose strides are the window's."""
    if len(axes) == 0:
        return view_of(a, shape, strides[a.ndim :], sizes, writeable)
    np.swapaxes(a, axes[0], 0)  # an AxisError for one that there is not
    k = axes[0] % a.ndim
    if shape[k] < left[0]:
        raise ValueError("window shape cannot be larger than input array shape")
    rest = (*shape[:k], shape[k] - left[0] + 1, *shape[k + 1 :])
    return over(a, rest, (*strides, strides[k]), sizes, left[1:], axes[1:], writeable)


def view_of(a: Any, shape: Any, strides: Any, sizes: Any, writeable: Constant) -> Any:
    """The view, of these strides behind the array's own."""
    return np.lib.stride_tricks.as_strided(a, (*shape, *sizes), (*a.strides, *strides), writeable=writeable)
