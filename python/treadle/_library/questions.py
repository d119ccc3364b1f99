"""What is asked of arrays and shapes, and arrays seen in other ways: numpy.broadcast_shapes, iterable, require, frombuffer, nditer, byteswap."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, cells, is_constant, refuse, together


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
        refuse(
            "frombuffer() takes an array in compiled code: a bytearray that is made there may grow, and then moves"
        )
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
        if op.size == 0:
            raise ValueError("Iteration of zero-sized operands is not enabled")
        return in_order((op,), order)[0].flat
    if op_flags is None or len(op_flags) == 0 or isinstance(op_flags[0], str):
        return several((op,), (op_flags,), order)
    return several((op,), op_flags, order)


def several(ops: Any, op_flags: Constant, order: Constant) -> Any:
    """Items of arrays that are broadcast. Where each axis stands in the order is known when the program runs."""
    if op_flags is not None and len(op_flags) != len(ops):
        raise ValueError("op_flags must be a tuple/list matching the number of ops")
    views = spread(ops, broadcast_shapes(*shapes_of(ops)), op_flags)
    if np.broadcast_to(np.zeros(()), views[0].shape).size == 0:
        raise ValueError("Iteration of zero-sized operands is not enabled")
    walks = walks_of(in_order(views, order))
    return walks[0] if len(ops) == 1 else together(*walks)


def walks_of(views: Any) -> Any:
    """What goes over the items of each, in C order."""
    if len(views) == 0:
        return ()
    v = views[0]
    return (cells(v) if v.flags.writeable else v.flat, *walks_of(views[1:]))


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


def in_order(views: Any, order: Constant) -> Any:
    """The same with their axes in the order in which they are walked: sorted by strides, and where arrays differ as they come."""
    if order == "F":
        return turned(views)
    if order != "K" or views[0].ndim == 0:
        return views
    return if_rows(views, views)


def if_rows(views: Any, rest: Any) -> Any:
    """Where the types of all say that they lie in C order, that is the order; what they do not say is found out."""
    if len(rest) == 0:
        return views
    if is_constant(rest[0].flags.c_contiguous):
        return if_rows(views, rest[1:])
    return if_columns(views, views)


def if_columns(views: Any, rest: Any) -> Any:
    if len(rest) == 0:
        return turned(views)
    if is_constant(rest[0].flags.f_contiguous):
        return if_columns(views, rest[1:])
    return by_strides(views)


def by_strides(views: Any) -> Any:
    n = views[0].ndim
    views = flipped(views, 0)
    if n == 1:
        return views
    if n == 2:
        return joined(exchanged(views, 0, 1, lies_inside(views, 0, 1, 0) > 0), 0)
    return joined(arranged(views, sorted_axes(views), np.arange(n), 0, 1), 0)


def joined(views: Any, axis: Constant) -> Any:
    """Where all arrays go on with the next row where one ends, it is one row, as long as both axes: the first of them is 1 then."""
    if axis == views[0].ndim - 1:
        return views
    return joined(as_one_axis(views, axis, goes_on(views, axis)), axis + 1)


def goes_on(views: Any, axis: Constant) -> Any:
    if len(views) == 0:
        return True
    v = views[0]
    return v.strides[axis] == v.strides[axis + 1] * v.shape[axis + 1] and goes_on(views[1:], axis)


def as_one_axis(views: Any, axis: Constant, now: Any) -> Any:
    if len(views) == 0:
        return ()
    v = views[0]
    shape = (*v.shape[:axis], 1, v.shape[axis] * v.shape[axis + 1], *v.shape[axis + 2 :])
    w = np.lib.stride_tricks.as_strided(v, shape, v.strides, writeable=v.flags.writeable) if now else v
    return (w, *as_one_axis(views[1:], axis, now))


def turned(views: Any) -> Any:
    """All transposed."""
    return () if len(views) == 0 else (views[0].T, *turned(views[1:]))


def step(a: Any, axis: Constant) -> Any:
    """How far apart items along an axis lie, backwards less than 0; 0 where there is one."""
    return 0 if a.shape[axis] == 1 else a.strides[axis]


def flipped(views: Any, axis: Constant) -> Any:
    """An axis along which no array goes up, and some array down, is walked backwards."""
    if axis == views[0].ndim:
        return views
    down = highest(views, axis) <= 0 and lowest(views, axis) < 0
    return flipped(turned_round(views, axis, down), axis + 1)


def highest(views: Any, axis: Constant) -> Any:
    return step(views[0], axis) if len(views) == 1 else max(step(views[0], axis), highest(views[1:], axis))


def lowest(views: Any, axis: Constant) -> Any:
    return step(views[0], axis) if len(views) == 1 else min(step(views[0], axis), lowest(views[1:], axis))


def turned_round(views: Any, axis: Constant, down: Any) -> Any:
    if len(views) == 0:
        return ()
    return (np.flip(views[0], axis) if down else views[0], *turned_round(views[1:], axis, down))


def exchanged(views: Any, one: Constant, other: Constant, now: Any) -> Any:
    """Two axes have each other's place in all of them, if that is to be now."""
    if len(views) == 0:
        return ()
    return (views[0].swapaxes(one, other) if now else views[0], *exchanged(views[1:], one, other, now))


def lies_inside(views: Any, axis: Any, other: Any, found: Any) -> Any:
    """1: the first axis lies inside of the other in all arrays that tell; -1: it does not in one; 0: none tells."""
    if len(views) == 0:
        return found
    one, two = abs_step(views[0], axis), abs_step(views[0], other)
    if one != 0 and two != 0:
        if two <= one:
            found = -1
        elif found == 0:
            found = 1
    return lies_inside(views[1:], axis, other, found)


def abs_step(a: Any, axis: Any) -> Any:
    """How far apart items lie along an axis that is known when the program runs; 0 where there is one."""
    return 0 if a.shape[axis] == 1 else abs(a.strides[axis])


def sorted_axes(views: Any) -> Any:
    """The axes, the outermost first, by insertion: an axis stays before those that it does not lie inside of."""
    n = views[0].ndim
    axes = np.arange(n)[::-1].copy()  # the innermost first
    for i in range(1, n):
        axis, to = axes[i], i
        for k in range(i - 1, -1, -1):
            differ = lies_inside(views, axis, axes[k], 0)
            if differ < 0:
                break
            if differ > 0:
                to = k
        for k in range(i, to, -1):
            axes[k] = axes[k - 1]
        axes[to] = axis
    return axes[::-1].copy()


def arranged(views: Any, axes: Any, now: Any, to: Constant, at: Constant) -> Any:
    """Their axes in that order: `now` says which axis stands where."""
    n = views[0].ndim
    if to == n - 1:
        return views
    if at == n:
        return arranged(views, axes, now, to + 1, to + 2)
    found = now[at] == axes[to]
    if found:
        now[at], now[to] = now[to], now[at]
    return arranged(exchanged(views, to, at, found), axes, now, to, at + 1)


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
