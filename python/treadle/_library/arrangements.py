"""Arrays taken apart, put together, padded and counted through: numpy.split, pad, insert, indices and their like.

Where NumPy returns a list of arrays these return a tuple, or a list where only the running program knows how many. What is decided for each item of a tuple or for each axis is
a function that calls itself with the rest, as compiled code knows a tuple's length and an array's rank by their types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, is_constant, refuse, separate

# --- views of parts ---


def split(ary: Any, indices_or_sections: Constant, axis: Constant = 0) -> Any:
    """Views of consecutive parts: a tuple, where NumPy has a list, if their number is known; else a list, too."""
    return split_up(np.asarray(ary), indices_or_sections, axis, True)


def array_split(ary: Any, indices_or_sections: Constant, axis: Constant = 0) -> Any:
    """Views of consecutive parts, the first ones longer by one where they cannot be equal: a tuple, where NumPy has a
    list, if their number is known; else a list, too."""
    return split_up(np.asarray(ary), indices_or_sections, axis, False)


def split_up(a: Any, at: Constant, axis: Constant, equal: Constant) -> Any:
    """Parts that begin at some places, or a number of them."""
    if isinstance(at, (tuple, list)):
        if is_constant(len(at)):
            return between(a, (0, *at, a.shape[axis]), axis)
        return listed(a, at, axis)
    if isinstance(at, np.ndarray) and at.ndim > 0:
        return listed(a, at, axis)
    if not isinstance(at, (int, np.integer)):
        refuse("where to split is an integer, the number of sections, or the places where they begin")
    else:
        if equal and at == 0:
            raise ZeroDivisionError("integer modulo by zero")
        if equal and a.shape[axis] % at:
            raise ValueError("array split does not result in an equal division")
        if at <= 0:
            raise ValueError("number sections must be larger than 0.")
        if is_constant(at):
            return sections(a, at, axis, 0)
        size, longer = divmod(a.shape[axis], at)
        return listed(a, [k * size + min(k, longer) for k in range(1, at)], axis)


def listed(a: Any, places: Any, axis: Constant) -> Any:
    """A list of the parts from each place to the next."""
    parts, begin = [], 0
    for place in places:
        parts.append(part(a, begin, place, axis))
        begin = place
    parts.append(part(a, begin, a.shape[axis], axis))
    return parts


def between(a: Any, at: Any, axis: Constant) -> Any:
    """Parts from each place to the next."""
    if len(at) < 2:
        return ()
    return (part(a, at[0], at[1], axis), *between(a, at[1:], axis))


def sections(a: Any, n: Constant, axis: Constant, k: Constant) -> Any:
    """Parts k to n - 1 of n that are as equal as they can be."""
    if k == n:
        return ()
    size, longer = divmod(a.shape[axis], n)
    at = k * size + min(k, longer)
    return (part(a, at, at + size + (1 if longer > k else 0), axis), *sections(a, n, axis, k + 1))


def part(a: Any, lo: Any, hi: Any, axis: Constant) -> Any:
    """a[..., lo:hi, ...] on an axis."""
    return a[(slice(None),) * (axis % a.ndim) + (slice(lo, hi),)]


def hsplit(ary: Any, indices_or_sections: Constant) -> Any:
    """Parts side by side, as `split` gives them."""
    a = np.asarray(ary)
    if a.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(a, indices_or_sections, 1 * (a.ndim > 1))


def vsplit(ary: Any, indices_or_sections: Constant) -> Any:
    """Parts one below the other, as `split` gives them."""
    a = np.asarray(ary)
    if a.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(a, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Constant) -> Any:
    """Parts one behind the other, as `split` gives them."""
    a = np.asarray(ary)
    if a.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(a, indices_or_sections, 2)


def rollaxis(a: Any, axis: Constant, start: Constant = 0) -> Any:
    """A view whose axis stands before another."""
    n = a.ndim
    if start < -n or start > n:
        raise ValueError("start is out of range")
    to = start + n * (start < 0)
    return np.moveaxis(a, axis, to - (axis % n < to))


def trim_zeros(filt: Any, trim: str = "fb") -> Any:
    """A view without the zeros at the front and at the back. Arrays of one axis only."""
    a = np.asarray(filt)
    if a.ndim != 1:
        refuse("it takes arrays of one axis")
    lo, hi = 0, len(a)
    if "f" in trim or "F" in trim:
        while lo < hi and a[lo] == 0:
            lo += 1
    if "b" in trim or "B" in trim:
        while hi > lo and a[hi - 1] == 0:
            hi -= 1
    return a[lo:hi]


# --- products ---


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: an array of the items of `a`, each times all of `b`."""
    x, y = np.asarray(a), np.asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    s, t = of_rank(x, y.ndim), of_rank(y, x.ndim)
    every = s[(slice(None), None) * s.ndim] * t[(None, slice(None)) * t.ndim]
    return np.reshape(every, products(s.shape, t.shape))


def of_rank(a: Any, n: Constant) -> Any:
    """A view with `n` axes or more, the new ones in front."""
    return a[(None,) * (n - a.ndim) + (Ellipsis,)]


def products(s: Any, t: Any) -> Any:
    """Products of the items of two tuples."""
    if len(s) == 0:
        return ()
    return (s[0] * t[0], *products(s[1:], t[1:]))


# The last axes, and the first ones.
LAST = ((), (-1,), (-2, -1), (-3, -2, -1), (-4, -3, -2, -1), (-5, -4, -3, -2, -1))
FIRST = ((), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4))


def tensordot(a: Any, b: Any, axes: Constant = 2) -> Any:
    """Sums of products over axes of both. `axes` is a constant: a number, or a pair of axes or tuples of axes."""
    x, y = np.asarray(a), np.asarray(b)
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            refuse("axes are a number or a pair")
        if isinstance(axes[0], (tuple, list)):
            return contracted(x, y, axes[0], axes[1])
        return contracted(x, y, (axes[0],), (axes[1],))
    if not is_constant(axes) or axes > 5:
        refuse("axes must be constants, and at most 5")
    if axes > x.ndim or axes > y.ndim:  # NumPy compares the shapes axis by axis, until there is none
        if axes <= x.ndim and x.shape[x.ndim - axes : x.ndim - axes + y.ndim] != y.shape:
            raise ValueError("shape-mismatch for sum")
        raise IndexError("tuple index out of range")
    return contracted(x, y, LAST[axes], FIRST[axes])


def contracted(a: Any, b: Any, left: Constant, right: Constant) -> Any:
    """Sums over pairs of axes."""
    n = len(left)
    if n != len(right):
        raise ValueError("shape-mismatch for sum")
    x, y = np.moveaxis(a, left, LAST[n]), np.moveaxis(b, right, FIRST[n])
    rows, kept = x.shape[: a.ndim - n], y.shape[n:]
    if x.shape[a.ndim - n :] != y.shape[:n]:
        raise ValueError("shape-mismatch for sum")
    inner, out = count(y.shape[:n]), (*rows, *kept)
    if len(out) == 0:
        return np.dot(np.reshape(x, (inner,)), np.reshape(y, (inner,)))
    return np.reshape(np.dot(np.reshape(x, (count(rows), inner)), np.reshape(y, (inner, count(kept)))), out)


def count(shape: Any) -> Any:
    """How many items a shape has."""
    n = 1
    for s in shape:
        n *= s
    return n


def vander(x: Any, N: Any = None, increasing: Constant = False) -> Any:
    """Powers of each item in a row; `increasing` is a constant."""
    a = np.asarray(x)
    if a.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = len(a) if N is None else N
    v = np.empty((len(a), n), np.add(a.dtype.type(0), np.int64(0)).dtype)
    for i in range(len(a)):
        power, base = v.dtype.type(1), v.dtype.type(a[i])
        for k in range(n):
            v[i, k if increasing else n - 1 - k] = power
            power = v.dtype.type(power * base)
    return v


# --- samples ---


def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Constant = True, base: Any = 10.0, dtype: Any = None
) -> Any:
    """Powers of `base` at even steps of the exponent. Ends are numbers."""
    y = np.power(base, np.linspace(start, stop, num, endpoint=endpoint))
    return y if dtype is None else y.astype(dtype)


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Constant = True, dtype: Any = None) -> Any:
    """Numbers at even ratios. Ends are numbers."""
    if start == 0 or stop == 0:
        raise ValueError("Geometric sequence cannot include zero")
    first = np.add(start, np.add(stop, np.float64(0)).dtype.type(0))
    last = np.add(stop, first.dtype.type(0))
    # turned to the positive real axis and back, so that parts that are zero stay zero
    sign = first / abs(first)
    exponents = steps(np.log10(first / sign), np.log10(last / sign), num, endpoint)
    y = np.power(10.0, exponents) * sign
    if num > 0:
        y[0] = first
        if num > 1 and endpoint:
            y[-1] = last
    return y if dtype is None else y.astype(dtype)


def steps(start: Any, stop: Any, num: Any, endpoint: Constant) -> Any:
    """Even steps, of complex numbers, too."""
    if start.dtype.kind != "c":
        return np.linspace(start, stop, num, endpoint=endpoint)
    parts = np.linspace(start.imag, stop.imag, num, endpoint=endpoint)
    return np.linspace(start.real, stop.real, num, endpoint=endpoint) + parts * 1j


# --- indices ---


def indices(dimensions: Any, dtype: Any = int, sparse: Constant = False) -> Any:
    """Each item's place along each axis; `sparse` is a constant."""
    shape = tuple(dimensions)
    if sparse:
        return lines(shape, len(shape), dtype)
    out = np.empty((len(shape), *shape), dtype)
    fill_lines(out, lines(shape, len(shape), dtype))
    return out


def lines(shape: Any, n: Constant, dtype: Any) -> Any:
    """Places along each of the last axes of `n`, on that axis."""
    if len(shape) == 0:
        return ()
    k = n - len(shape)
    line = np.arange(shape[0], dtype=dtype)
    return (along(line, k, n), *lines(shape[1:], n, dtype))


def along(line: Any, k: Constant, n: Constant) -> Any:
    """A vector on axis k of n."""
    return line[(None,) * k + (slice(None),) + (None,) * (n - 1 - k)]


def fill_lines(out: Any, lines: Any) -> None:
    """Each line into a part of its own, the last ones."""
    if len(lines) > 0:
        out[len(out) - len(lines)] = lines[0]
        fill_lines(out, lines[1:])


def ix_(*args: Any) -> Any:
    """Vectors of indices, each on an axis of its own; of bools the places of what is true."""
    return open_mesh(args, len(args))


def open_mesh(args: Any, n: Constant) -> Any:
    """Vectors on the last axes of n."""
    if len(args) == 0:
        return ()
    a = np.asarray(args[0])
    if a.ndim != 1:
        raise ValueError("Cross index must be 1 dimensional")
    if a.dtype.kind == "b":
        return (along(np.flatnonzero(a), n - len(args), n), *open_mesh(args[1:], n))
    return (along(a, n - len(args), n), *open_mesh(args[1:], n))


def below(n: Any, k: Any, width: Any) -> Any:
    """How many items of an (n, width) matrix lie on a diagonal and below it."""
    if float(max(n, 0)) * float(max(width, 0)) >= 2.0**62:
        raise MemoryError("the matrix has more items than can be counted")
    n, width = max(n, 0), max(width, 0)
    first = min(max(-k, 0), n)  # rows before it have none
    full = min(max(width - k, first), n)  # rows from it on have all
    return (full - first) * (first + k + 1 + full + k) // 2 + (n - full) * width


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """Rows and columns of what lies on a diagonal and below."""
    width = n if m is None else m
    k = min(max(k, -max(n, 0)), max(width, 0))  # further off nothing changes
    total = below(n, k, width)
    rows, columns = np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for i in range(max(-k, 0), n if total > 0 else 0):
        for j in range(min(max(i + k + 1, 0), max(width, 0))):
            rows[at] = i
            columns[at] = j
            at += 1
    return rows, columns


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    """Rows and columns of what lies on a diagonal and above."""
    width = n if m is None else m
    k = min(max(k, -max(n, 0)), max(width, 0))
    total = max(n, 0) * max(width, 0) - below(n, k - 1, width)
    rows, columns = np.empty(total, np.int64), np.empty(total, np.int64)
    at = 0
    for i in range(min(n, max(width, 0) - k)):
        for j in range(max(i + k, 0), width):
            rows[at] = i
            columns[at] = j
            at += 1
    return rows, columns


def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    """Those of a matrix of this shape."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(arr.shape[0], k, arr.shape[1])


def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    """Those of a matrix of this shape."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(arr.shape[0], k, arr.shape[1])


def diag_indices(n: Any, ndim: Constant = 2) -> Any:
    """Places of a diagonal's items along each of `ndim` axes, which is a constant."""
    return (np.arange(n),) * ndim


def diag_indices_from(arr: Any) -> Any:
    """Those of an array whose axes are equally long."""
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    for n in arr.shape:
        if n != arr.shape[0]:
            raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def diagflat(v: Any, k: Any = 0) -> Any:
    """A matrix with all items on a diagonal."""
    return np.diag(np.ravel(v), k)


def fill_diagonal(a: Any, val: Any, wrap: Constant = False) -> None:
    """Stores to the diagonal of `a`, and in the places that follow a row's end with `wrap`, which is a constant."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2:
        for n in a.shape:
            if n != a.shape[0]:
                raise ValueError("All dimensions of input must be of equal length")
    items = np.asarray(val)
    if items.size == 0:
        return
    if items.dtype != a.dtype:
        items = separate(items, a)  # NumPy converts them before; else it reads while it stores
    values = in_order(items)
    if a.ndim == 2:
        if a.size == 0:
            return
        rows, columns = a.shape
        step = columns + 1
        for i in range((rows * columns - 1) // step + 1 if wrap else min(rows, columns)):
            row, column = divmod(i * step, columns)
            a[row, column] = values[i % len(values)]
    else:
        for i in range(a.shape[0]):
            a[(i,) * a.ndim] = values[i % len(values)]


def in_order(x: Any) -> Any:
    """What has the items of an array at their places in it, without a copy."""
    if x.ndim == 1:
        return x
    return x.flat if x.ndim > 1 else np.ravel(x)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Places in an array's memory order. Indices and modes are tuples, modes and the order constants."""
    if not isinstance(multi_index, (tuple, list)) or not isinstance(dims, (tuple, list)):
        refuse("indices and dimensions are tuples")
    n = len(multi_index)
    if n != len(dims):
        raise ValueError("parameter multi_index must be a sequence of length " + "the number of dimensions")
    modes = mode if isinstance(mode, tuple) else (mode,) * n
    size = 1
    for k in dims:
        if k > 0 and size > (2**63 - 1) // k:
            raise ValueError(
                "invalid dims: array size defined by dims is larger than the maximum possible size."
            )
        size *= max(k, 1)
    i = inside_all(multi_index, dims, modes)
    if order == "C":
        return raveled(i[0], i[1:], dims[1:])
    if order != "F":
        refuse("only 'C' or 'F' order is permitted")
    return raveled(i[-1], i[::-1][1:], dims[::-1][1:])


def inside_all(index: Any, dims: Any, modes: Any) -> Any:
    """Indices that lie inside of their axes, as the modes say."""
    if len(index) == 0:
        return ()
    i, n = whole(index[0]), dims[0]
    if n == 0 and np.size(i) > 0:
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    if modes[0] == "clip":
        i = np.minimum(np.maximum(i, 0), n - 1)
    elif modes[0] == "wrap":
        i = np.remainder(i, n)
    elif np.any((i < 0) | (i >= n)):
        raise ValueError("invalid entry in coordinates array")
    return (i, *inside_all(index[1:], dims[1:], modes[1:]))


def raveled(place: Any, index: Any, dims: Any) -> Any:
    """Goes on with the axes that are left."""
    if len(index) == 0:
        return place
    return raveled(place * dims[0] + index[0], index[1:], dims[1:])


def whole(i: Any) -> Any:
    """An index, or indices, of type int64."""
    if isinstance(i, int):
        return i
    kind = np.asarray(i).dtype.kind
    if kind != "i" and kind != "u" and kind != "b":
        refuse("only int indices permitted")
    return np.asarray(i, np.int64)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Places along each axis of what stands at these places of the memory order: a tuple. The order is a constant."""
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    i = whole(indices)
    size = count(dims)
    if np.any((i < 0) | (i >= size)):
        raise ValueError(f"index is out of bounds for array with size {size}")
    if len(dims) == 1:
        return (i if isinstance(i, int) else np.copy(i),)
    if order == "C":
        return unraveled_c(i, dims)
    if order != "F":
        refuse("only 'C' or 'F' order is permitted")
    return unraveled_f(i, dims)


def unraveled_c(i: Any, dims: Any) -> Any:
    """Along each of the axes, the last one first."""
    if len(dims) == 0:
        return ()
    if len(dims) == 1:
        return (i,)
    return (*unraveled_c(i // dims[-1], dims[:-1]), i % dims[-1])


def unraveled_f(i: Any, dims: Any) -> Any:
    """Along each of the axes, the first one first."""
    if len(dims) == 0:
        return ()
    if len(dims) == 1:
        return (i,)
    return (i % dims[0], *unraveled_f(i // dims[0], dims[1:]))


# --- new arrays of other shapes ---


def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """An array with more items at its ends. Modes are 'constant', 'empty', 'edge', 'reflect', 'symmetric' and 'wrap'."""
    a = np.asarray(array)
    if mode not in ("constant", "empty", "edge", "reflect", "symmetric", "wrap"):
        refuse("the mode must be 'constant', 'empty', 'edge', 'reflect', 'symmetric' or 'wrap'")
    given = np.asarray(pad_width)
    if given.dtype.kind != "i" and given.dtype.kind != "u":
        refuse("`pad_width` must be of integral type.")
    if np.any(given < 0):
        raise ValueError("index can't contain negative values")
    width = np.broadcast_to(given, (a.ndim, 2))
    out = np.empty_like(a, shape=widened(a.shape, width, 0))
    out[inside(a.shape, width, 0)] = a
    if mode == "constant":
        pad_constant(out, a.shape, width, np.broadcast_to(np.asarray(constant_values), (a.ndim, 2)), 0)
    elif mode != "empty":
        pad_last(out, a, width, mode, a.ndim - 1)
        pad_mapped(out, a.shape, width, mode, a.ndim - 2)
    return out


def widened(shape: Any, width: Any, k: Any) -> Any:
    """The shape with what is added on the axes from k on."""
    if len(shape) == 0:
        return ()
    return (width[k, 0] + shape[0] + width[k, 1], *widened(shape[1:], width, k + 1))


def inside(shape: Any, width: Any, k: Any) -> Any:
    """Slices of what was there before, on the axes from k on."""
    if len(shape) == 0:
        return ()
    return (slice(width[k, 0], width[k, 0] + shape[0]), *inside(shape[1:], width, k + 1))


def band(shape: Any, width: Any, k: Constant, what: Any) -> Any:
    """An index: what was there on the axes before k, `what` on k, and all behind it."""
    return (*inside(shape[:k], width, 0), what)


def pad_constant(out: Any, shape: Any, width: Any, values: Any, k: Constant) -> None:
    """Fills the ends of the axes from k on; corners are the last axis's."""
    if k < len(shape):
        n, rest = out.shape[k], inside(shape[k + 1 :], width, k + 1)
        out[(*(slice(None),) * k, slice(0, width[k, 0]), *rest)] = values[k, 0]
        out[(*(slice(None),) * k, slice(n - width[k, 1], n), *rest)] = values[k, 1]
        pad_constant(out, shape, width, values, k + 1)


def pad_last(out: Any, a: Any, width: Any, mode: str, k: Constant) -> None:
    """Fills the ends of the last axis, k, beside what was there before."""
    lo, hi, n = width[k, 0], width[k, 1], a.shape[k]
    if n == 0 and lo + hi > 0:
        raise ValueError("can't extend empty axis using modes other than 'constant' or 'empty'")
    places = np.empty(lo + hi, np.int64)
    for q in range(lo + hi):
        places[q] = place_of(q - lo if q < lo else q - lo + n, n, mode)
    every = (slice(None),) * k
    out[band(a.shape, width, k, slice(0, lo))] = a[(*every, places[:lo])]
    out[band(a.shape, width, k, slice(lo + n, lo + n + hi))] = a[(*every, places[lo:])]


def pad_mapped(out: Any, shape: Any, width: Any, mode: str, k: Constant) -> None:
    """Copies to the ends of the axes up to k what stands at other places of these, the last ones first, so that the
    first one's are whole stretches."""
    if k >= 0:
        lo, n = width[k, 0], shape[k]
        if n == 0 and lo + width[k, 1] > 0:
            raise ValueError("can't extend empty axis using modes other than 'constant' or 'empty'")
        for q in range(lo + width[k, 1]):
            i = q if q < lo else q + n
            out[band(shape, width, k, i)] = out[band(shape, width, k, lo + place_of(i - lo, n, mode))]
        pad_mapped(out, shape, width, mode, k - 1)


def place_of(i: Any, n: Any, mode: str) -> Any:
    """Which of n items stands at place i, which may lie beyond the ends."""
    if mode == "edge":
        return min(max(i, 0), n - 1)
    if mode == "wrap":
        return i % n
    if mode == "symmetric":
        j = i % (2 * n)
        return j if j < n else 2 * n - 1 - j
    if n == 1:
        return 0
    j = i % (2 * n - 2)
    return j if j < n else 2 * n - 2 - j


def delete(arr: Any, obj: Any, axis: Constant = None) -> Any:
    """A copy without some items: of an index, a slice, indices or a mask. The axis is a constant."""
    a = np.asarray(arr)
    if axis is None:
        return without(np.ravel(a), obj, 0)
    return without(a, obj, axis)


def without(a: Any, obj: Any, axis: Constant) -> Any:
    """All but some items of an axis."""
    if isinstance(obj, int):
        n = a.shape[axis]
        if obj < -n or obj >= n:
            raise IndexError(f"index {obj} is out of bounds for axis {axis % a.ndim} with size {n}")
        i = obj + n if obj < 0 else obj
        return np.concatenate((part(a, 0, i, axis), part(a, i + 1, n, axis)), axis=axis)
    keep = np.ones(a.shape[axis], np.bool_)
    if isinstance(obj, slice):
        keep[obj] = False
    else:
        which = np.ravel(obj)
        if which.dtype.kind == "b" and len(which) != len(keep):
            raise ValueError(
                "boolean array argument obj to delete must be one dimensional and match the axis length"
            )
        keep[which] = False
    return kept(a, keep, axis)


def kept(a: Any, keep: Any, axis: Constant) -> Any:
    """The items of an axis that a mask keeps, of which there are many side by side."""
    n, left = len(keep), np.count_nonzero(keep)
    if 8 * left < 7 * n:
        return np.compress(keep, a, axis=axis)
    before = (slice(None),) * (axis % a.ndim)
    out = np.empty_like(a, shape=longer(a.shape, axis % a.ndim, left - n))
    at = start = 0
    for i in range(n + 1):
        if i == n or not keep[i]:
            out[(*before, slice(at, at + i - start))] = part(a, start, i, axis)
            at += i - start
            start = i + 1
    return out


def insert(arr: Any, obj: Any, values: Any, axis: Constant = None) -> Any:
    """A copy with more items before an index, indices or those of a slice. The axis is a constant."""
    a, v = np.asarray(arr), np.asarray(values)
    if axis is None:
        return with_more(np.ravel(a), obj, v, 0)
    return with_more(a, obj, v, axis)


def with_more(a: Any, obj: Any, v: Any, axis: Constant) -> Any:
    """All items, and others before some of an axis."""
    n = a.shape[axis]
    if isinstance(obj, int):
        if obj < -n or obj > n:
            raise IndexError(f"index {obj} is out of bounds for axis {axis % a.ndim} with size {n}")
        return insert_at(a, obj + n if obj < 0 else obj, np.moveaxis(of_rank(v, a.ndim), 0, axis), axis)
    if isinstance(obj, slice):
        return insert_each(a, np.arange(n)[obj], v, axis)
    which = np.asarray(obj)
    if which.dtype == np.bool_:
        if which.ndim != 1 or len(which) != n:
            raise ValueError(
                "boolean array argument to insert must be one dimensional and of the axis' length"
            )
        return insert_each(a, np.nonzero(which)[0], v, axis)
    if which.dtype.kind != "i" and which.dtype.kind != "u":
        refuse("indices are integers")
    return insert_each(a, which.astype(np.int64), v, axis)


def insert_at(a: Any, i: Any, v: Any, axis: Constant) -> Any:
    """All of v before item i."""
    more = v.shape[axis]
    out = np.empty_like(a, shape=longer(a.shape, axis % a.ndim, more))
    before = (slice(None),) * (axis % a.ndim)
    out[(*before, slice(0, i))] = part(a, 0, i, axis)
    out[(*before, slice(i, i + more))] = v
    out[(*before, slice(i + more, a.shape[axis] + more))] = part(a, i, a.shape[axis], axis)
    return out


def insert_each(a: Any, which: Any, v: Any, axis: Constant) -> Any:
    """An item of v before each of some items; those before one item in order."""
    n, more = a.shape[axis], len(which)
    if more == 1:
        i = which[0]
        if i < -n or i > n:
            raise IndexError(f"index {i} is out of bounds for axis {axis % a.ndim} with size {n}")
        return insert_at(a, i + n if i < 0 else i, of_rank(v, a.ndim), axis)
    at = np.empty(more, np.int64)
    starts = np.zeros(n + 1, np.int64)  # first how many go before each item, then where the next one goes
    for q in range(more):
        i = which[q]
        if i < -n or i > n:
            raise IndexError(f"index {i} is out of bounds for axis {axis % a.ndim} with size {n}")
        starts[i + n if i < 0 else i] += 1
    out = np.empty_like(a, shape=longer(a.shape, axis % a.ndim, more))
    before = (slice(None),) * (axis % a.ndim)
    new = start = 0
    for i in range(n + 1):
        some = starts[i]
        starts[i] = i + new
        if some > 0 or i == n:
            out[(*before, slice(start + new, i + new))] = part(a, start, i, axis)
            start = i
            new += some
    for q in range(more):
        i = which[q] + n if which[q] < 0 else which[q]
        at[q] = starts[i]
        starts[i] += 1
    out[(*before, at)] = v
    return out


def longer(shape: Any, axis: Constant, more: Any) -> Any:
    """The shape with more items on an axis."""
    return (*shape[:axis], shape[axis] + more, *shape[axis + 1 :])


def resize(a: Any, new_shape: Any) -> Any:
    """An array of another shape with the items of `a`, over and over."""
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    for n in shape:
        if n < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
    items = np.ravel(a)
    out = np.empty(count(shape), items.dtype)
    if len(items) == 0:
        out[:] = 0
    else:
        for at in range(0, len(out), len(items)):
            out[at : at + len(items)] = items[: len(out) - at]
    return np.reshape(out, shape)


def block(arrays: Any) -> Any:
    """An array of blocks, which stand in lists within lists."""
    if isinstance(arrays, tuple):
        refuse("only lists can be used to arrange blocks")
    rank = longest(depth(arrays), ranks(arrays))
    d = len(depth(arrays))
    out = np.empty(extents(arrays, d, len(rank)), common(arrays, d).dtype)
    place(out, arrays, d)
    return out


def depth(x: Any) -> Any:
    """A tuple as long as lists are deep."""
    return (0, *depth(x[0])) if isinstance(x, list) else ()


def ranks(x: Any) -> Any:
    """A tuple as long as the most axes of an array in lists."""
    return ranks_of(x) if isinstance(x, list) else np.asarray(x).shape


def ranks_of(x: Any) -> Any:
    """A tuple as long as the most axes of an array in one of these items."""
    return ranks(x[0]) if len(x) == 1 else longest(ranks(x[0]), ranks_of(x[1:]))


def longest(s: Any, t: Any) -> Any:
    """The longer one of two tuples."""
    return s if len(s) > len(t) else t


def common(x: Any, d: Constant) -> Any:
    """A number of the type of all arrays in lists that are `d` deep."""
    if d == 0:
        if isinstance(x, list):
            raise ValueError("List depths are mismatched.")
        return np.asarray(x).dtype.type(0)
    if not isinstance(x, (list, tuple)):
        raise ValueError("List depths are mismatched.")
    return common(x[0], d - 1) if len(x) == 1 else np.add(common(x[0], d - 1), common(x[1:], d))


def extents(x: Any, d: Constant, n: Constant) -> Any:
    """The shape, of n axes, of lists of arrays that are joined, the innermost along the last axis."""
    if d == 0:
        return of_rank(np.asarray(x), n).shape
    if len(x) == 1:
        return extents(x[0], d - 1, n)
    first, rest = extents(x[0], d - 1, n), extents(x[1:], d, n)
    if first[: n - d] != rest[: n - d] or first[n - d + 1 :] != rest[n - d + 1 :]:
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly"
        )
    return longer(first, n - d, rest[n - d])


def place(out: Any, x: Any, d: Constant) -> None:
    """Puts the arrays in lists where they belong."""
    if d == 0:
        out[...] = x
    elif len(x) == 1:
        place(out, x[0], d - 1)
    else:
        k = out.ndim - d
        at = extents(x[0], d - 1, out.ndim)[k]
        place(part(out, 0, at, k), x[0], d - 1)
        place(part(out, at, out.shape[k], k), x[1:], d)
