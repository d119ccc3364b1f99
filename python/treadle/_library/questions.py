"""What is asked of arrays and shapes, and arrays seen in other ways: numpy.broadcast_shapes, iterable, require, frombuffer, nditer."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def isfortran(a: Any) -> Any:
    """Whether it is in Fortran's order and not in C's."""
    return a.flags.fnc


def iterable(y: Any) -> Any:
    """Of numbers, arrays, tuples, texts and None."""
    if isinstance(y, np.ndarray):
        return y.ndim > 0
    if isinstance(y, (tuple, str)):
        return True
    if y is None or isinstance(y, (bool, int, float, complex, np.generic)):
        return False
    refuse("iterable() is for numbers, arrays, tuples, texts and None in compiled code")


def broadcast_shapes(*args: Any) -> Any:
    """The shape of what has these shapes, together."""
    return shape_with(np.broadcast_to(np.zeros(()), ()), args)


def shape_with(x: Any, shapes: Any) -> Any:
    """The shape of an array and others, which are nothing but views of one number."""
    if len(shapes) == 0:
        return x.shape
    return shape_with(np.broadcast_arrays(x, np.broadcast_to(np.zeros(()), shapes[0]))[0], shapes[1:])


def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> Any:
    """Where `mask_func`, as numpy.triu is, leaves ones of an (n, n) array."""
    return np.nonzero(mask_func(np.ones((n, n), np.int64), k) != 0)


def apply_over_axes(func: Any, a: Any, axes: Constant) -> Any:
    """A reduction along one axis after the other, each of which stays, of length 1. The axes are constants."""
    if isinstance(axes, tuple):
        return over_axes(func, np.asarray(a), axes)
    return over_axes(func, np.asarray(a), (axes,))


def over_axes(func: Any, x: Any, axes: Constant) -> Any:
    if len(axes) == 0:
        return x
    r = np.asarray(func(x, axes[0]))
    if r.ndim == x.ndim:
        return over_axes(func, r, axes[1:])
    kept = np.expand_dims(r, axes[0])
    if kept.ndim != x.ndim:
        refuse("function is not returning an array of the correct shape")
    return over_axes(func, kept, axes[1:])


def require(a: Any, dtype: Any = None, requirements: Constant = None) -> Any:
    """What it takes is written out: a text of letters, or a tuple of texts."""
    x = np.asarray(a) if dtype is None else np.asarray(a, dtype)
    if requirements is None:
        return x
    if not isinstance(requirements, str):
        check_known(requirements)
    # Each test is a constant where it stands, so one result is left, and its layout is known.
    if "C" in requirements or "C_CONTIGUOUS" in requirements or "CONTIGUOUS" in requirements:
        if "F" in requirements or "F_CONTIGUOUS" in requirements or "FORTRAN" in requirements:
            raise ValueError('Cannot specify both "C" and "F" order')
        if "O" in requirements or "OWNDATA" in requirements:
            return np.array(x, order="C")
        if not x.flags.writeable and ("W" in requirements or "WRITEABLE" in requirements):
            return np.array(x, order="C")
        return np.asarray(x, order="C")
    if "F" in requirements or "F_CONTIGUOUS" in requirements or "FORTRAN" in requirements:
        if "O" in requirements or "OWNDATA" in requirements:
            return np.array(x, order="F")
        if not x.flags.writeable and ("W" in requirements or "WRITEABLE" in requirements):
            return np.array(x, order="F")
        return np.asarray(x, order="F")
    if "O" in requirements or "OWNDATA" in requirements:
        return np.array(x)
    if not x.flags.writeable and ("W" in requirements or "WRITEABLE" in requirements):
        return np.array(x)
    return x


KNOWN = (
    *("C", "C_CONTIGUOUS", "CONTIGUOUS", "F", "F_CONTIGUOUS", "FORTRAN", "O", "OWNDATA"),
    *("W", "WRITEABLE", "A", "ALIGNED", "E", "ENSUREARRAY"),
)


def check_known(requirements: Constant) -> None:
    if len(requirements) > 0:
        if requirements[0] not in KNOWN:
            refuse("require() takes 'C', 'F', 'O', 'W', 'A', 'E' or their long names in compiled code")
        check_known(requirements[1:])


def frombuffer(buffer: Any, dtype: Any = None, count: Any = -1, offset: Any = 0) -> Any:
    """A view of an array's bytes, which must lie in C order."""
    if dtype is None:
        return frombuffer(buffer, np.float64, count, offset)
    if not isinstance(buffer, np.ndarray):
        refuse("frombuffer() takes an array in compiled code")
    if not buffer.flags.c_contiguous:
        raise ValueError("ndarray is not C-contiguous")
    raw = np.ascontiguousarray(buffer).reshape(-1).view(np.uint8)
    size = np.empty(0, dtype).dtype.itemsize
    if offset < 0 or offset > raw.size:
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({raw.size})")
    room = raw.size - offset
    if count < 0:
        if room % size != 0:
            raise ValueError("buffer size must be a multiple of element size")
        return raw[offset:].view(dtype)
    if count > room // size:
        raise ValueError("buffer is smaller than requested size")
    return raw[offset : offset + count * size].view(dtype)


def nditer(op: Any) -> Any:
    """The items of one array, in the order in which they lie in memory; each is a number, which is only read."""
    if not isinstance(op, np.ndarray):
        refuse("nditer() takes one array in compiled code: zip(a.flat, b.flat) walks two")
    if op.size == 0:
        raise ValueError("Iteration of zero-sized operands is not enabled")
    if op.ndim < 2 or op.flags.c_contiguous:
        return forward(op, op.ndim).flat
    if op.ndim == 2:
        return forward(op.T if is_outer(op, 1, 0) else op[:, :], 2).flat
    if op.ndim == 3:
        return forward(three_in_order(op), 3).flat
    if not op.flags.fnc:
        raise ValueError(
            "nditer() of more than three axes takes arrays in C or Fortran order in compiled code"
        )
    return op.T.flat


def steps(a: Any, axis: Constant) -> Any:
    """How far apart items along an axis lie; 0 where there is one."""
    return 0 if a.shape[axis] == 1 else abs(a.strides[axis])


def is_outer(a: Any, axis: Constant, other: Constant) -> Any:
    """Whether the axis comes before another one, in memory."""
    return steps(a, other) != 0 and steps(a, axis) > steps(a, other)


def three_in_order(a: Any) -> Any:
    """Three axes by insertion: one that is no longer than 1 says nothing of the order."""
    if 0 in a.strides:
        raise ValueError("nditer() of three axes takes arrays that repeat no items in compiled code")
    b = a.swapaxes(0, 1) if is_outer(a, 1, 0) else a[:, :, :]
    if steps(b, 2) == 0 or (steps(b, 1) != 0 and not is_outer(b, 2, 1)):
        return b
    if is_outer(b, 2, 0):
        return np.moveaxis(b, 2, 0)
    return b.swapaxes(1, 2) if steps(b, 1) != 0 else b


def forward(a: Any, n: Constant) -> Any:
    """No axis runs backwards."""
    if n == 0:
        return a
    if a.strides[n - 1] < 0:
        return forward(np.flip(a, n - 1), n - 1)
    return forward(a, n - 1)
