"""What is asked of arrays and shapes, and arrays seen in other ways: numpy.broadcast_shapes, iterable, require, frombuffer, nditer, byteswap."""

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


def nditer(
    op: Any,
    flags: Constant = None,
    op_flags: Constant = None,
    op_dtypes: Constant = None,
    order: Constant = "K",
) -> Any:
    """The items of arrays, in the order in which they lie in memory: numbers, or arrays without axes where `op_flags`
    say that they are written. Of several arrays tuples of these. Flags and the order are constants."""
    if flags is not None and len(flags) > 0:
        refuse("nditer() takes no flags in compiled code: np.ndenumerate and np.ndindex have indices")
    if op_dtypes is not None:
        refuse("nditer() takes no op_dtypes in compiled code: convert before")
    if order not in ("K", "A", "C", "F"):
        refuse("order must be one of 'C', 'F', 'A', or 'K'")
    if isinstance(op, (tuple, list)):
        return several(op, op_flags, order)
    if not isinstance(op, np.ndarray):
        refuse("nditer() takes arrays in compiled code")
    if op_flags is None and order == "K":
        return one(op)
    if op_flags is None or len(op_flags) == 0 or isinstance(op_flags[0], str):
        return several((op,), (op_flags,), order)
    return several((op,), op_flags, order)


def several(ops: Any, op_flags: Constant, order: Constant) -> Any:
    """Items of arrays that are broadcast. Where each axis stands in the order is known when the program runs."""
    if op_flags is not None and len(op_flags) != len(ops):
        raise ValueError("op_flags must be a tuple/list matching the number of ops")
    views = spread(ops, broadcast_shapes(*shapes_of(ops)), op_flags)
    shape = views[0].shape
    count = np.broadcast_to(np.zeros(()), shape).size
    if count == 0:
        raise ValueError("Iteration of zero-sized operands is not enabled")
    strides = np.zeros((len(ops), len(shape)), np.int64)
    fill_strides(strides, views)
    inner, down = in_order(strides, np.asarray(shape) if len(shape) > 0 else np.zeros(0, np.int64), order)
    return map(lambda i: items_at(views, place_of(i, shape, inner, down)), range(count))


def shapes_of(ops: Any) -> Any:
    """The shapes of arrays and numbers."""
    return () if len(ops) == 0 else (np.shape(ops[0]), *shapes_of(ops[1:]))


def spread(ops: Any, shape: Any, op_flags: Constant) -> Any:
    """Arrays of one shape."""
    if len(ops) == 0:
        return ()
    if op_flags is None:
        return (np.broadcast_to(ops[0], shape), *spread(ops[1:], shape, None))
    return (as_flags_say(ops[0], shape, op_flags[0]), *spread(ops[1:], shape, op_flags[1:]))


def as_flags_say(op: Any, shape: Any, flags: Constant) -> Any:
    """One that is written must come as it is; all others are read-only."""
    if flags is None or len(flags) == 0:
        return np.broadcast_to(op, shape)
    if flags[0] == "readonly":
        return as_flags_say(op, shape, flags[1:])
    if flags[0] != "readwrite" and flags[0] != "writeonly":
        refuse("op_flags are 'readonly', 'readwrite' or 'writeonly' in compiled code")
    if not isinstance(op, np.ndarray):
        refuse("what nditer() writes to is an array")
    if not op.flags.writeable:
        raise ValueError("output array is read-only")
    if op.shape != shape:
        raise ValueError("non-broadcastable operand doesn't match the broadcast shape")
    return op


def fill_strides(strides: Any, views: Any) -> None:
    """How far items along each axis lie apart, of the last arrays; 0 where there is one."""
    if len(views) > 0 and views[0].ndim > 0:
        for k in range(strides.shape[1]):
            if views[0].shape[k] > 1:
                strides[len(strides) - len(views), k] = views[0].strides[k]
        fill_strides(strides, views[1:])


def in_order(strides: Any, shape: Any, order: Constant) -> Any:
    """For each axis how many items those inside of it have, and whether it is walked backwards: axes are sorted by strides, and where arrays differ as they come."""
    n = len(shape)
    axes = np.arange(n)[::-1].copy() if order != "F" else np.arange(n)  # the innermost first
    down = np.zeros(n, np.bool_)
    if order == "K":
        for i in range(1, n):
            axis, to = axes[i], i
            for k in range(i - 1, -1, -1):
                differ = outside(strides[:, axis], strides[:, axes[k]])
                if differ < 0:
                    break
                if differ > 0:
                    to = k
            for k in range(i, to, -1):
                axes[k] = axes[k - 1]
            axes[to] = axis
        for k in range(n):
            down[k] = np.all(strides[:, k] <= 0) and np.any(strides[:, k] < 0)
    inner = np.ones(n, np.int64)
    count = 1
    for k in axes:
        inner[k] = count
        count *= shape[k]
    return inner, down


def outside(one: Any, other: Any) -> Any:
    """1: the first axis lies inside of the other in all arrays that tell; -1: it does not in one; 0: none tells."""
    found = 0
    for k in range(len(one)):
        if one[k] != 0 and other[k] != 0:
            if abs(other[k]) <= abs(one[k]):
                found = -1
            elif found == 0:
                found = 1
    return found


def place_of(i: Any, shape: Any, inner: Any, down: Any) -> Any:
    """The i-th place, along the axes that are left."""
    if len(shape) == 0:
        return ()
    k = len(inner) - len(shape)
    at = i // inner[k] % shape[0]
    return (shape[0] - 1 - at if down[k] else at, *place_of(i, shape[1:], inner, down))


def items_at(views: Any, at: Any) -> Any:
    """What stands there: a number, or an array without axes; of several arrays a tuple."""
    return item_at(views[0], at) if len(views) == 1 else tuple_at(views, at)


def tuple_at(views: Any, at: Any) -> Any:
    return () if len(views) == 0 else (item_at(views[0], at), *tuple_at(views[1:], at))


def item_at(view: Any, at: Any) -> Any:
    if not view.flags.writeable:
        return view[at]
    return view if view.ndim == 0 else np.squeeze(view[at[:-1]][at[-1] : at[-1] + 1], 0)


def one(op: Any) -> Any:
    """The items of one array, which are only read."""
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


def byteswap(a: Any, inplace: Constant = False) -> Any:
    """A copy, or the array itself, whose numbers have their bytes the other way round; of complex ones each part. Whether it is a copy is a constant."""
    out = a if inplace else a.copy()
    if out.dtype.kind == "c":
        swap(out.real, out.dtype.itemsize // 2)
        swap(out.imag, out.dtype.itemsize // 2)
    else:
        swap(out, out.dtype.itemsize)
    return out


def swap(x: Any, size: Constant) -> None:
    """Swaps bytes, then pairs of them, then fours."""
    if size == 2:
        u = x.view(np.uint16)
        u[...] = (u << 8) | (u >> 8)
    if size == 4:
        u = x.view(np.uint32)
        u[...] = ((u & 0xFF00FF) << 8) | ((u >> 8) & 0xFF00FF)
        u[...] = (u << 16) | (u >> 16)
    if size == 8:
        u = x.view(np.uint64)
        u[...] = ((u & 0xFF00FF00FF00FF) << 8) | ((u >> 8) & 0xFF00FF00FF00FF)
        u[...] = ((u & 0xFFFF0000FFFF) << 16) | ((u >> 16) & 0xFFFF0000FFFF)
        u[...] = (u << 32) | (u >> 32)
