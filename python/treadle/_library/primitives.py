"""The primitives of treadle.parallel, written in NumPy: what compiled code and graphs run in place of them.

Operators that are ufuncs go to NumPy's `reduce`, `accumulate` and `at`; a function of the user's is called in a loop,
with the items of one array, or of several side by side, whose values are then tuples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle._core import prange

from . import (
    Constant,
    best,
    chained,
    folded,
    given_by,
    has_identity,
    is_ufunc,
    mapped,
    refuse,
    scattered,
    tabulated,
)
from .parts import shifted

NEEDED = "identity= is needed with a function of your own: what it joins with any item to give that item back"

# --- map, reduce, scan ---


def map(f: Any, *xs: Any) -> Any:
    """What `f` gives for the items of arrays, which are broadcast."""
    if len(xs) == 0:
        return refuse("map() needs an array to take items of")
    return mapped(f, *xs)


def reduce(op: Any, x: Any, axis: Constant = None, *, identity: Constant = None) -> Any:
    """All items along an axis, some or all, as one."""
    if is_ufunc(op):
        if identity is None:
            return op.reduce(x, axis)
        return op.reduce(x, axis, initial=identity)
    if isinstance(x, tuple):
        return reduced(op, x, axis, identity)
    if identity is None:
        return refuse(NEEDED)
    if isinstance(identity, tuple):
        return refuse("identity is a tuple, which goes with a tuple of arrays: x is one array")

    def joined(p: Any, q: Any) -> Any:
        return (op(p[0], q[0]),)

    a = np.asarray(x)
    return reduced(joined, (a,), axis, (beside(identity, a),))[0]


def scan(
    op: Any,
    x: Any,
    axis: Constant = 0,
    *,
    exclusive: Constant = False,
    reverse: Constant = False,
    identity: Constant = None,
) -> Any:
    """Each item along an axis joined with all before it."""
    if is_ufunc(op):
        return scanned_by_ufunc(op, np.asarray(x), axis, exclusive, reverse, identity)
    if isinstance(x, tuple):
        return scanned(op, x, axis, exclusive, reverse, identity)
    if identity is None:
        return refuse(NEEDED)
    if isinstance(identity, tuple):
        return refuse("identity is a tuple, which goes with a tuple of arrays: x is one array")

    def joined(p: Any, q: Any) -> Any:
        return (op(p[0], q[0]),)

    a = np.asarray(x)
    return scanned(joined, (a,), axis, exclusive, reverse, (beside(identity, a),))[0]


def scanned_by_ufunc(
    op: Any, x: Any, axis: Constant, exclusive: Constant, reverse: Constant, identity: Constant
) -> Any:
    """As `scan`, by NumPy's accumulate."""
    if x.ndim == 0:
        return refuse("x is a number; an array has an axis to go along")
    a = np.flip(x, axis) if reverse else x
    if exclusive:
        y = scanned_before(op, a, axis, identity)
    else:
        y = op.accumulate(a, axis)
    return np.flip(y, axis) if reverse else y


def scanned_before(op: Any, a: Any, axis: Constant, identity: Constant) -> Any:
    """Each item is what those before it give, the first one the identity."""
    if identity is None and not has_identity(op):
        return refuse("exclusive=True needs identity=, as this operator has none of its own")

    def summed(v: Any) -> Any:
        return op.accumulate(np.full(1, v))[0]

    t = given_by(summed, zero_of(a)).dtype
    out = np.empty(a.shape, t)
    lines, items = np.moveaxis(out, axis, -1), np.moveaxis(a, axis, -1)
    if lines.shape[-1] > 0:
        lines[..., 0] = op.reduce(np.empty(0, t)) if identity is None else identity
        op.accumulate(items[..., :-1], axis=-1, out=lines[..., 1:])
    return out


def reduced(op: Any, xs: Any, axis: Constant, identity: Constant) -> Any:
    """As `reduce`, of arrays side by side."""
    if len(xs) == 0:
        return refuse("x is a tuple without an array")
    if identity is None:
        return refuse(NEEDED)
    if not isinstance(identity, tuple) or len(identity) != len(xs):
        return refuse("identity must be a tuple of as many numbers as x has arrays")
    full = shape_of(xs)
    if len(full) == 0 and axis is not None and not isinstance(axis, tuple):
        return refuse("x has no axis; axis=None takes a number as it is")
    lines = all_lines(xs, full, len(xs) == 1, axis)
    start = starts(op, identity, xs)
    kept = kept_shape(lines)
    if len(kept) == 0:
        return folded(op, start, line_of(lines, ()))
    each = all_rows(lines)
    m = rows_of(each)
    outs = empties((m,), start)
    if goes_by_columns(each, m, length_of(each)):
        try:
            fold_columns(op, start, each, outs, m, length_of(each))
            return shaped(outs, kept)
        except Exception:
            pass  # a call raised, and which of all that raise is told the rows say, one after the other
    for r in prange(m):
        put(outs, r, folded(op, start, line_of(each, r)))
    return shaped(outs, kept)


#: Rows that are folded side by side; their values at each level of the tree fit the second level of the cache.
BESIDE = 1024


def goes_by_columns(each: Any, m: Any, n: Any) -> bool:
    """Do items of neighbouring rows lie nearer than those of a row, or are rows short?"""
    a = first_array(each)
    return m >= 16 and (n < 16 or abs(a.strides[0]) < abs(a.strides[1]))


def first_array(each: Any) -> Any:
    return each[0] if isinstance(each[0], np.ndarray) else first_array(each[1:])


def fold_columns(op: Any, start: Any, each: Any, outs: Any, m: Any, n: Any) -> None:
    """What `folded` makes of each row, of many side by side: all take the same way through the tree (a binary counter).

    Row `t` of `levels` has, where bit t of the count of items is set, those of the last 2**t items before that are as one.
    """
    depth = 1
    while n >> depth:
        depth += 1
    for c in prange((m + BESIDE - 1) // BESIDE):
        low = c * BESIDE
        w = min(BESIDE, m - low)
        levels = empties((depth, BESIDE), start)
        for i in range(n):
            t = 0
            while i >> t & 1:
                t += 1
            items, to = column(each, low, w, i), line_of(levels, t)
            if t == 0:
                for j in range(w):
                    put(to, j, line_of(items, j))
                continue
            join_items(op, start, line_of(levels, 0), items, to, w)
            for s in range(1, t):
                join_rows(op, line_of(levels, s), to, to, w)
        t = 0
        while t < depth and not n >> t & 1:
            t += 1
        for s in range(t + 1, depth):
            if n >> s & 1:
                join_rows(op, line_of(levels, s), line_of(levels, t), line_of(levels, t), w)
        for j in range(w):
            if n == 0:
                put(outs, low + j, start)
            else:
                put(outs, low + j, op(start, line_of(line_of(levels, t), j)))


def column(each: Any, low: Any, w: Any, i: Any) -> Any:
    """Item i of w rows; numbers as they are."""
    if len(each) == 0:
        return ()
    return (
        each[0][low : low + w, i] if isinstance(each[0], np.ndarray) else each[0],
        *column(each[1:], low, w, i),
    )


def join_rows(op: Any, a: Any, b: Any, to: Any, w: Any) -> None:
    for j in range(w):
        put(to, j, op(line_of(a, j), line_of(b, j)))


def join_items(op: Any, start: Any, a: Any, items: Any, to: Any, w: Any) -> None:
    for j in range(w):
        put(to, j, op(line_of(a, j), as_like(start, line_of(items, j))))


def as_like(zeros: Any, values: Any) -> Any:
    """Numbers in the types of others."""
    if len(zeros) == 0:
        return ()
    return (zeros[0].dtype.type(values[0]), *as_like(zeros[1:], values[1:]))


def scanned(
    op: Any, xs: Any, axis: Constant, exclusive: Constant, reverse: Constant, identity: Constant
) -> Any:
    """As `scan`, of arrays side by side."""
    if len(xs) == 0:
        return refuse("x is a tuple without an array")
    if identity is None:
        return refuse(NEEDED)
    if not isinstance(identity, tuple) or len(identity) != len(xs):
        return refuse("identity must be a tuple of as many numbers as x has arrays")
    full = shape_of(xs)
    if len(full) == 0:
        return refuse("x is a number; an array has an axis to go along")
    lines = all_lines(xs, full, len(xs) == 1, (axis,))
    start = starts(op, identity, xs)
    kept = kept_shape(lines)
    n = length_of(lines)
    if len(kept) == 0:
        outs = empties((n,), start)
        scan_line(op, start, line_of(lines, ()), outs, exclusive, reverse)
        return outs
    each = all_rows(lines)
    m = rows_of(each)
    outs = empties((m, n), start)
    for r in prange(m):
        scan_line(op, start, line_of(each, r), line_of(outs, r), exclusive, reverse)
    return moved(shaped(outs, (*kept, n)), axis)


def scan_line(op: Any, start: Any, line: Any, out: Any, exclusive: Constant, reverse: Constant) -> None:
    """One line, from its first item or from its last."""
    if reverse:
        return scan_line(op, start, backwards(line), backwards(out), exclusive, False)
    if exclusive:
        chained(op, start, line, out, True)
    else:
        chained(op, start, line, out, False)


def backwards(line: Any) -> Any:
    """Views from the last item to the first; numbers as they are."""
    if len(line) == 0:
        return ()
    return (line[0][::-1] if isinstance(line[0], np.ndarray) else line[0], *backwards(line[1:]))


# --- arrays side by side: what is done for each of a tuple calls itself with the rest ---


def shape_of(xs: Any) -> Any:
    """What all are broadcast to."""
    if len(xs) == 1:
        return np.shape(xs[0])
    return np.broadcast_shapes(np.shape(xs[0]), shape_of(xs[1:]))


def all_lines(xs: Any, full: Any, alone: Constant, axis: Constant) -> Any:
    """Views whose last axis is what is gone along; numbers as they are."""
    if len(xs) == 0:
        return ()
    return (lines_of(np.asarray(xs[0]), full, alone, axis), *all_lines(xs[1:], full, alone, axis))


def lines_of(x: Any, full: Any, alone: Constant, axis: Constant) -> Any:
    """Of one array."""
    if x.ndim == 0:
        return x[()] if len(full) > 0 else np.reshape(x, 1)
    b = x if alone else np.broadcast_to(x, full)
    if axis is None:
        return b if b.ndim == 1 else np.ravel(b)
    if not isinstance(axis, tuple):
        return np.moveaxis(b, axis, -1)
    if len(axis) == 1:
        return np.moveaxis(b, axis[0], -1)
    m = np.moveaxis(b, axis, last_axes(len(axis)))
    n = 1
    for k in m.shape[m.ndim - len(axis) :]:
        n *= k
    return np.reshape(m, (*m.shape[: m.ndim - len(axis)], n))


def last_axes(n: Constant) -> Any:
    """The last n axes, in order."""
    return () if n == 0 else (-n, *last_axes(n - 1))


def kept_shape(lines: Any) -> Any:
    """Of the axes that are left."""
    if isinstance(lines[0], np.ndarray):
        return lines[0].shape[: lines[0].ndim - 1]
    return kept_shape(lines[1:])


def line_of(lines: Any, at: Any) -> Any:
    """The lines at a place of the axes that are left."""
    if len(lines) == 0:
        return ()
    return (lines[0][at] if isinstance(lines[0], np.ndarray) else lines[0], *line_of(lines[1:], at))


def length_of(line: Any) -> Any:
    """How many items it has."""
    return line[0].shape[-1] if isinstance(line[0], np.ndarray) else length_of(line[1:])


def put(outs: Any, at: Any, acc: Any) -> None:
    """Stores each of a tuple in its array."""
    if len(outs) > 0:
        outs[0][at] = acc[0]
        put(outs[1:], at, acc[1:])


def empties(shape: Any, like: Any) -> Any:
    """An array for each of a tuple of numbers."""
    if len(like) == 0:
        return ()
    return (np.empty(shape, like[0].dtype), *empties(shape, like[1:]))


def shaped(outs: Any, shape: Any) -> Any:
    """Arrays in another shape."""
    if len(outs) == 0:
        return ()
    return (outs[0].reshape(shape), *shaped(outs[1:], shape))


def moved(outs: Any, axis: Constant) -> Any:
    """Views with the last axis where it was."""
    if len(outs) == 0:
        return ()
    return (np.moveaxis(outs[0], -1, axis), *moved(outs[1:], axis))


def all_rows(lines: Any) -> Any:
    """Lines with one axis before; numbers as they are."""
    if len(lines) == 0:
        return ()
    return (rows(lines[0]) if isinstance(lines[0], np.ndarray) else lines[0], *all_rows(lines[1:]))


def rows_of(each: Any) -> Any:
    """How many rows there are."""
    return len(each[0]) if isinstance(each[0], np.ndarray) else rows_of(each[1:])


def rows(lines: Any) -> Any:
    """Lines along the last axis, with one axis before it; a view where memory has them so."""
    if lines.ndim == 2:
        return lines
    m = 1
    for k in lines.shape[:-1]:
        m *= k
    return np.reshape(lines, (m, lines.shape[-1]))


def starts(op: Any, identity: Constant, xs: Any) -> Any:
    """The identities, in the types that values have: of items, of identities, and of what the function gives for these."""
    k = len(xs)

    def flat(*v: Any) -> Any:
        return op(v[: len(v) // 2], v[len(v) // 2 :])

    items = firsts(xs)
    s = widened(identity, items)
    t = widened(s, values_of(given_by(flat, *s, *items), k))
    return widened(t, values_of(given_by(flat, *t, *t), k))


def values_of(r: Any, k: Constant) -> Any:
    """What a function gave, a number for each value."""
    if not isinstance(r, tuple) or len(r) != k:
        return refuse("the function must return as many values as it takes on each side, in a tuple")
    return r


def firsts(xs: Any) -> Any:
    """A zero of the type of each."""
    if len(xs) == 0:
        return ()
    return (zero_of(xs[0]), *firsts(xs[1:]))


def zero_of(x: Any) -> Any:
    """A zero of the type of an array's items, or of a number."""
    return x.dtype.type(0) if isinstance(x, np.ndarray) else given_by(itself, x)


def itself(v: Any) -> Any:
    return v


def beside(value: Constant, x: Any) -> Any:
    """A number in the type that it has together with items."""
    zero = zero_of(x)
    return np.where(zero == zero, value, zero)


def widened(values: Constant, others: Any) -> Any:
    """Numbers in the types that they have together with others."""
    if len(values) == 0:
        return ()
    return (beside(values[0], others[0]), *widened(values[1:], others[1:]))


# --- what is chosen ---


def chosen(pred: Any, x: Any) -> Any:
    """Where a predicate holds; what it gives counts as Python's `if` takes it."""
    m = mapped(pred, x)
    if not isinstance(m, (np.ndarray, np.generic, bool, int, float, complex)):
        return refuse("the predicate must return a bool for each item")
    return np.asarray(m).astype(np.bool_)


def filter(pred: Any, x: Any) -> Any:
    """The items for which `pred` holds, in their order."""
    a = np.atleast_1d(x)
    return a[chosen(pred, a)]


def stable_partition(pred: Any, x: Any) -> Any:
    """The items for which `pred` holds, then the others, and how many there are of the first."""
    a = np.atleast_1d(x)
    m = chosen(pred, a)
    first = a[m]
    return np.concatenate((first, a[~m])), len(first)


def topk(
    x: Any,
    k: Any,
    axis: Constant = -1,
    *,
    key: Any = None,
    largest: Constant = True,
    sorted: Constant = True,
    nan: Constant = "largest",
) -> Any:
    """The k largest items along an axis, or smallest, in order; and where they stand. Of equal ones those that come first."""
    if nan != "largest" and nan != "omit":
        return refuse("nan must be 'largest' or 'omit'")
    a = np.asarray(x)
    if a.ndim == 0:
        return refuse("x is a number; an array has an axis to choose along")
    if isinstance(k, np.ndarray):
        if k.ndim > 0 or k.dtype.kind not in "iu":
            return refuse("k must be an integer")
    elif isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
        return refuse("k must be an integer")
    items = np.moveaxis(a, axis, -1)
    keys = np.asarray(key_of(key, items))
    if keys.dtype.kind in "biuf":
        values, places = best(items, keys, int(k), largest, nan == "omit")
    else:
        values, places = first_in_order(items, keys, int(k), largest, nan == "omit")
    return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)


def key_of(key: Any, x: Any) -> Any:
    """What an item, or each of an array, is compared by."""
    return x if key is None else mapped(key, x)


def in_order(keys: Any, largest: Constant) -> Any:
    """A stable order, downwards or upwards; NaN is the largest."""
    if not largest:
        return np.argsort(keys, kind="stable")
    return len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]


def first_in_order(items: Any, keys: Any, k: Any, largest: Constant, omit: Constant) -> Any:
    """As `best`, of keys that only a sort compares."""
    n = items.shape[-1]
    if k < 0 or k > n:
        raise ValueError(f"topk(): k is {k}, and there are {n} items along the axis")
    shape = (*items.shape[:-1], k)
    lines, compared = rows(items), rows(keys)
    values, places = np.empty((len(lines), k), items.dtype), np.empty((len(lines), k), np.intp)
    for r in prange(len(lines)):
        order = in_order(compared[r], largest)
        if omit and largest:
            nans = np.isnan(compared[r][order])
            order = np.concatenate((order[~nans], order[nans]))
        places[r] = order[:k]
        values[r] = lines[r][order[:k]]
    return values.reshape(shape), places.reshape(shape)


# --- order ---


def sort(x: Any, axis: Constant = -1) -> Any:
    """The items along an axis in ascending order, NaN last."""
    return np.sort(x, axis=axis, kind="stable")


def argsort(x: Any, axis: Constant = -1) -> Any:
    """Where the items stand that are in ascending order along an axis; equal ones in their order."""
    return np.argsort(x, axis=axis, kind="stable")


def sort_by_key(keys: Any, *vals: Any) -> Any:
    """Keys in ascending order, and other arrays in the order of these; what is equal stays in its order."""
    a = np.asarray(keys)
    if a.ndim != 1:
        return refuse("keys has one axis")
    order = np.argsort(a, kind="stable")
    return (a[order], *taken(vals, order))


def taken(vals: Any, order: Any) -> Any:
    """Arrays in an order."""
    if len(vals) == 0:
        return ()
    v = np.asarray(vals[0])
    if v.ndim == 0:
        return refuse("vals are arrays as long as keys")
    if len(v) != len(order):
        raise ValueError(f"sort_by_key(): there are {len(order)} keys, and {len(v)} items of vals")
    return (v[order], *taken(vals[1:], order))


def merge(a: Any, b: Any) -> Any:
    """The items of two sorted arrays in order, of equal ones those of `a` first."""
    x, y = np.asarray(a), np.asarray(b)
    if x.ndim != 1 or y.ndim != 1:
        return refuse("a and b have one axis each")
    t = np.result_type(x, y)
    if t.kind not in "biuf":
        return np.sort(np.concatenate((x, y)), kind="stable")
    n, m = len(x), len(y)
    if n == 0 or m == 0:
        return np.concatenate((x, y))
    out = np.empty(n + m, t)
    i, j = 0, 0
    for k in range(n + m):  # which one it is nobody can foretell, so there is no branch
        p, q = t.type(x[min(i, n - 1)]), t.type(y[min(j, m - 1)])
        second = (i == n) | (j < m) & (q == q) & (not p <= q)  # NaN is the largest
        out[k] = q if second else p
        i, j = i + (not second), j + second
    return out


def run_length_encode(x: Any) -> Any:
    """The values of runs of equal items, and their lengths."""
    a = np.asarray(x)
    if a.ndim != 1:
        return refuse("x has one axis")
    n = len(a)
    last = np.flatnonzero(a[1:] != a[:-1])  # of each run but the last one
    runs = min(n, len(last) + 1)
    values, lengths = np.empty(runs, a.dtype), np.empty(runs, np.intp)
    for r in prange(runs):
        first = last[r - 1] + 1 if r > 0 else 0
        end = last[r] + 1 if r + 1 < runs else n
        values[r] = a[first]
        lengths[r] = end - first
    return values, lengths


def unique_values(x: Any) -> Any:
    """What there is, each once, in ascending order."""
    return np.unique(np.asarray(x), equal_nan=False)


def unique_counts(x: Any) -> Any:
    """What there is, and how often."""
    v, n = np.unique(np.asarray(x), return_counts=True, equal_nan=False)
    return v, n


def unique_inverse(x: Any) -> Any:
    """What there is, and for each item which of these it is."""
    a = np.asarray(x)
    v, k = np.unique(a, return_inverse=True, equal_nan=False)
    return v, np.reshape(k, a.shape)


def unique_all(x: Any) -> Any:
    """What there is, where each stands first, which of these each item is, and how often each is there."""
    a = np.asarray(x)
    v, i, k, n = np.unique(a, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    return v, i, np.reshape(k, a.shape), n


def searchsorted(a: Any, v: Any, side: Constant = "left") -> Any:
    """As NumPy's."""
    return np.searchsorted(a, v, side=side)


# --- places ---


def take(x: Any, i: Any, axis: Constant = None) -> Any:
    """Items at places along an axis, or of the flat array."""
    return np.take(x, i, axis)


def scatter(dst: Any, i: Any, v: Constant, op: Constant = None) -> Any:
    """A copy of `dst` with values stored, or joined by `op`, at places."""
    out = np.array(dst)
    if op is None:
        out[i] = fitting(v, out)
    elif is_ufunc(op):
        op.at(out, i, v)
    else:
        scattered(op, out, i, fitting(v, out))
    return out


def reduce_by_key(op: Any, keys: Any, vals: Any, *, size: Any, identity: Constant = None) -> Any:
    """The values of each key from 0 to `size` as one."""
    k, v = np.asarray(keys), np.asarray(vals)
    if k.ndim != 1:
        return refuse("keys have one axis: a key for each row of vals")
    if k.dtype.kind not in "iu":
        return refuse("keys are integers, places of a result of `size` rows")
    if identity is None and (not is_ufunc(op) or not has_identity(op)):
        return refuse(
            "identity= is needed with a function of your own, and with a ufunc that has none: what a key without values gets"
        )
    rows = () if v.ndim == 0 else v.shape[1:]
    if v.ndim > 0 and len(v) != len(k):
        raise ValueError("keys and vals have different lengths")
    if is_ufunc(op):

        def summed(v: Any) -> Any:
            return op.reduce(np.full(1, v))

        zero = given_by(summed, zero_of(v) if v.ndim > 0 else v[()])
        if identity is None:
            out = np.full((size, *rows), op.reduce(np.empty(0, zero.dtype)), zero.dtype)
        else:
            out = np.full((size, *rows), beside(identity, zero))
    else:
        out = np.full((size, *rows), beside(identity, zero_of(v) if v.ndim > 0 else v[()]))
    scattered(op, out, k, v, keys=True)
    return out


def fitting(v: Constant, a: Any) -> Any:
    """A number of Python's in the type of an array's items, or an error."""
    if isinstance(v, int) and a.dtype.kind in "iu":
        return np.full(1, v, a.dtype)[0]
    return v


def histogram(
    x: Any, bins: Constant = 10, range: Any = None, density: Constant = None, weights: Any = None
) -> Any:
    """As NumPy's."""
    r = np.histogram(x, bins=bins, range=range, density=density, weights=weights)
    return r[0], r[1]


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """As NumPy's."""
    return np.bincount(x, weights=weights, minlength=minlength)


def where(condition: Any, x: Constant, y: Constant) -> Any:
    """As NumPy's."""
    return np.where(condition, x, y)


# --- what is made ---


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """As NumPy's."""
    if stop is None:
        if step is None:
            return np.arange(start, dtype=dtype)
        return np.arange(0, start, step, dtype=dtype)
    if step is None:
        return np.arange(start, stop, dtype=dtype)
    return np.arange(start, stop, step, dtype=dtype)


def full(shape: Any, fill_value: Constant, dtype: Any = None) -> Any:
    """As NumPy's."""
    return np.full(shape, fill_value, dtype=dtype)


def zeros(shape: Any, dtype: Any = None) -> Any:
    """As NumPy's."""
    return np.zeros(shape, dtype=np.float64 if dtype is None else dtype)


def ones(shape: Any, dtype: Any = None) -> Any:
    """As NumPy's."""
    return np.ones(shape, dtype=np.float64 if dtype is None else dtype)


def tabulate(f: Any, shape: Constant) -> Any:
    """What `f` gives for each place."""
    if not isinstance(shape, tuple):
        return tabulate(f, (shape,))
    if len(shape) == 0:
        return f()
    if len(shape) == 3 and isinstance(shape[0], tuple):
        return tabulated_part(f, shape[0], shape[1])
    for n in shape:
        if n < 0:
            raise ValueError(f"tabulate(): shape has a negative extent, {n}")
    return tabulated(f, shape)


def tabulated_part(f: Any, first: Any, extents: Any) -> Any:
    """As `tabulate`, of a part of the whole."""

    def item(*part: Any) -> Any:
        return f(*shifted(part, first))

    return tabulated(item, extents)


# --- functions ---


def fuse(f: Any, g: Any) -> Any:
    """What `f` gives for what `g` gives."""

    def fused(*args: Any) -> Any:
        return f(g(*args))

    return fused
