"""Arrays as sets: numpy.unique, isin, intersect1d and their like.

Sorting is NumPy's own; numbers are looked up in tables, by their values or by their bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, unique_items


def unique(
    ar: Any,
    return_index: Constant = False,
    return_inverse: Constant = False,
    return_counts: Constant = False,
    axis: Constant = None,
    *,
    equal_nan: Constant = True,
    sorted: Any = True,
) -> Any:
    """What there is, each once, in order; along an axis, a constant, of what lies there: rows, say.

    A row with NaN is like no other one.
    """
    if axis is None and np.asarray(ar).dtype.kind in "SU":
        return strings_once(np.ravel(ar), return_index, return_inverse, return_counts)
    if axis is None and not (return_index or return_inverse or return_counts):
        return distinct(ar, equal_nan)
    if axis is None:
        return unique_items(ar, return_index, return_inverse, return_counts, equal_nan)
    x = np.asarray(ar)
    if x.ndim == 1 and (axis == 0 or axis == -1):
        return unique_items(x, return_index, return_inverse, return_counts, equal_nan)
    g = np.moveaxis(x, axis, 0)
    n = g.shape[0]
    width = 1
    for k in g.shape[1:]:
        width *= k
    rows = np.ascontiguousarray(g).reshape((n, width))
    order = np.lexsort(rows.T[::-1]) if width > 0 else np.arange(n)
    new = np.zeros(n, np.bool_)
    for i in range(n):
        new[i] = i == 0 or np.any(rows[order[i]] != rows[order[i - 1]])
    first = np.flatnonzero(new)
    found = np.moveaxis(g[order[first]], 0, axis)
    if not (return_index or return_inverse or return_counts):
        return found
    inverse = np.empty(n, np.intp)
    inverse[order] = np.cumsum(new) - 1
    counts = np.diff(np.append(first, n))
    return (
        found,
        *((order[first],) if return_index else ()),
        *((inverse,) if return_inverse else ()),
        *((counts,) if return_counts else ()),
    )


def strings_once(x: Any, return_index: Constant, return_inverse: Constant, return_counts: Constant) -> Any:
    """The same of strings."""
    order = np.argsort(x, kind="stable")
    there = x[order]
    new = np.ones(len(x), np.bool_)
    new[1:] = there[1:] != there[:-1]
    if not (return_index or return_inverse or return_counts):
        return there[new]
    first = np.flatnonzero(new)
    inverse = np.empty(len(x), np.intp)
    inverse[order] = np.cumsum(new) - 1
    counts = np.diff(np.append(first, len(x)))
    return (
        there[new],
        *((order[first],) if return_index else ()),
        *((inverse,) if return_inverse else ()),
        *((counts,) if return_counts else ()),
    )


def distinct(ar: Any, equal_nan: Constant) -> Any:
    """What there is, each once, in order: of whole numbers that lie close together by a table of those from the least to the greatest."""
    x = np.ravel(np.asarray(ar))
    if x.dtype.kind in "ui" and len(x) >= 64:
        lo, hi = np.min(x), np.max(x)
        if float(hi) - float(lo) <= 2 * len(x):
            first = np.int64(lo)
            table = np.zeros(np.int64(hi) - first + 1, np.bool_)
            for i in range(len(x)):
                table[np.int64(x[i]) - first] = True
            return (np.flatnonzero(table) + first).astype(x.dtype)
    return unique_items(x, equal_nan=equal_nan)


def union1d(ar1: Any, ar2: Any) -> Any:
    """What is in either, sorted."""
    return np.unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


def intersect1d(ar1: Any, ar2: Any, assume_unique: Constant = False, return_indices: Constant = False) -> Any:
    """What is in both, sorted; and where it stands in them with `return_indices`, a constant."""
    a, b = np.ravel(ar1), np.ravel(ar2)
    if not return_indices:
        s = np.sort(np.concatenate((a, b) if assume_unique else (np.unique(a), np.unique(b))))
        return s[:-1][s[1:] == s[:-1]]
    if assume_unique:
        return in_both(a, b)
    x, i = np.unique(a, return_index=True)
    y, j = np.unique(b, return_index=True)
    found, p, q = in_both(x, y)
    return found, i[p], j[q]


def in_both(x: Any, y: Any) -> Any:
    """What is in both of two that have no repetitions, and where it stands."""
    every = np.concatenate((x, y))
    order = np.argsort(every, kind="stable")
    s = every[order]
    twice = np.flatnonzero(s[1:] == s[:-1])
    return s[twice], order[twice], order[twice + 1] - len(x)


def setxor1d(ar1: Any, ar2: Any, assume_unique: Constant = False) -> Any:
    """What is in one of them only, sorted."""
    a, b = np.ravel(ar1), np.ravel(ar2)
    s = np.sort(np.concatenate((a, b) if assume_unique else (np.unique(a), np.unique(b))))
    alone = np.ones(len(s), np.bool_)
    alone[1:] = s[1:] != s[:-1]
    alone[:-1] &= s[1:] != s[:-1]
    return s[alone]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: Constant = False) -> Any:
    """What is in the first one only, sorted; in its order with `assume_unique`, a constant."""
    a = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return a[~is_in(a, np.ravel(ar2), None)]


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: Any = False,
    invert: Constant = False,
    *,
    kind: Any = None,
) -> Any:
    """Whether each item is among others; `invert` and `kind` are constants."""
    found = is_in(np.ravel(element), np.ravel(test_elements), kind)
    return np.reshape(~found if invert else found, np.shape(element))


def in1d(
    ar1: Any, ar2: Any, assume_unique: Any = False, invert: Constant = False, *, kind: Any = None
) -> Any:
    """As `isin`, of the flat array."""
    found = is_in(np.ravel(ar1), np.ravel(ar2), kind)
    return ~found if invert else found


def is_in(a: Any, b: Any, kind: Any) -> Any:
    """Whether each item of a is in b."""
    if kind is not None and kind != "sort" and kind != "table":
        raise ValueError("Invalid kind. Please use None, 'sort' or 'table'.")
    if a.dtype.kind in "SU" or b.dtype.kind in "SU":
        return strings_in(a, b)
    if a.dtype.kind not in "bui" or b.dtype.kind not in "bui":
        if kind == "table":
            raise ValueError("The 'table' method is only supported for boolean or integer arrays.")
        return compared_in(a, b)
    if kind == "sort":
        return compared_in(a, b)
    if len(b) == 0:
        return np.zeros(len(a), np.bool_)
    lo, hi = np.min(b), np.max(b)
    if kind == "table" or float(hi) - float(lo) <= 6 * (len(a) + len(b)):
        return tabled_in(a, b, lo, hi)
    return compared_in(a, b)


def strings_in(a: Any, b: Any) -> Any:
    """Of strings, which are numbered; other values are none of them."""
    if a.dtype.kind != b.dtype.kind:
        return np.zeros(len(a), np.bool_)
    number = strings_once(np.concatenate((a, b)), False, True, False)[1]
    there = np.zeros(len(number), np.bool_)
    there[number[len(a) :]] = True
    return there[number[: len(a)]]


def tabled_in(a: Any, b: Any, lo: Any, hi: Any) -> Any:
    """By a table of the whole numbers from the least to the greatest one."""
    if float(hi) - float(lo) >= 2.0**62:
        raise RuntimeError("kind='table': the range of values is too large for a table")
    table = np.zeros(int(hi) - int(lo) + 1, np.bool_)
    for i in range(len(b)):
        table[int(b[i]) - int(lo)] = True
    found = np.empty(len(a), np.bool_)
    for i in range(len(a)):
        found[i] = a[i] >= lo and a[i] <= hi and table[int(a[i]) - int(lo)]
    return found


def compared_in(a: Any, b: Any) -> Any:
    """Of few others one after the other, of many by their bits."""
    t = np.add(a.dtype.type(0), b.dtype.type(0)).dtype
    x, y = np.asarray(a, t), np.asarray(b, t)
    if len(y) < 10 * len(x) ** 0.145:
        found = np.zeros(len(x), np.bool_)
        for k in range(len(y)):
            found |= x == y[k]
        return found
    if t.kind == "c":
        return sorted_in(x, y)
    if t.kind == "f":  # one zero
        return hashed_in(np.asarray(x, np.float64) + 0.0, np.asarray(y, np.float64) + 0.0)
    if t.kind == "u":
        return hashed_in(np.asarray(x, np.uint64), np.asarray(y, np.uint64))
    return hashed_in(np.asarray(x, np.int64), np.asarray(y, np.int64))


def hashed_in(x: Any, y: Any) -> Any:
    """By a table of the bits of 64-bit numbers; NaN is not in it, as it is never found."""
    bits = 4
    while 2**bits < 2 * len(y):
        bits += 1
    last = 2**bits - 1
    table, taken = np.empty(2**bits, y.dtype), np.zeros(2**bits, np.bool_)
    of_x, of_y = np.ascontiguousarray(x).view(np.uint64), np.ascontiguousarray(y).view(np.uint64)
    for i in range(len(y)):
        if y[i] != y[i]:
            continue
        at = place_of(of_y[i], bits)
        while taken[at] and table[at] != y[i]:
            at = (at + 1) & last
        taken[at] = True
        table[at] = y[i]
    found = np.empty(len(x), np.bool_)
    for i in range(len(x)):
        at = place_of(of_x[i], bits)
        while taken[at] and table[at] != x[i] and x[i] == x[i]:
            at = (at + 1) & last
        found[i] = taken[at] and x[i] == x[i]
    return found


def place_of(x: Any, bits: Any) -> Any:
    """Where the search for a number begins: the first bits of a product."""
    h = (x ^ (x >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(h >> np.uint64(64 - bits))


def sorted_in(x: Any, y: Any) -> Any:
    """Of complex numbers, by halves of the sorted others."""
    s, found = np.sort(y), np.empty(len(x), np.bool_)
    for i in range(len(x)):
        at = place_among(s, x[i])
        found[i] = at < len(s) and s[at] == x[i]
    return found


def place_among(s: Any, x: Any) -> int:
    """The first place of sorted complex numbers whose item is not less."""
    lo, hi = 0, len(s)
    while lo < hi:
        k = (lo + hi) // 2
        if s[k].real < x.real or (s[k].real == x.real and s[k].imag < x.imag):
            lo = k + 1
        else:
            hi = k
    return lo
