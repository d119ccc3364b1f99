"""Arrays as sets: numpy.unique, isin, intersect1d and their like.

Sorting is NumPy's own; what is looked up among whole numbers that lie close together is looked up in a table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def unique(
    ar: Any,
    return_index: Constant = False,
    return_inverse: Constant = False,
    return_counts: Constant = False,
    axis: Any = None,
    *,
    equal_nan: Constant = True,
) -> Any:
    """The items without repetitions, sorted, of the flat array. What is returned is said by constants; the inverse has
    the array's shape."""
    if axis is not None:
        refuse("it takes no axis")
    a = np.ravel(ar)
    if return_index or return_inverse:
        order = np.argsort(a, kind="stable")
        s = a[order]
        first = begins(s, equal_nan)
        return (
            s[first],
            *((order[first],) if return_index else ()),
            *((inverse(order, first, np.shape(ar)),) if return_inverse else ()),
            *((lengths(first),) if return_counts else ()),
        )
    s = np.sort(a)
    first = begins(s, equal_nan)
    if return_counts:
        return s[first], lengths(first)
    return s[first]


def begins(s: Any, equal_nan: Constant) -> Any:
    """Where items of a sorted array differ from those before."""
    n = len(s)
    first = np.ones(n, np.bool_)
    for i in range(1, n):
        first[i] = s[i] != s[i - 1]
    if equal_nan and (s.dtype.kind == "f" or s.dtype.kind == "c"):
        k = n
        while k > 0 and np.isnan(s[k - 1]):
            k -= 1
        first[k + 1 :] = False
    return first


def inverse(order: Any, first: Any, shape: Any) -> Any:
    """The number of each item among those that differ."""
    out = np.empty(len(order), np.int64)
    k = -1
    for i in range(len(order)):
        k += first[i]
        out[order[i]] = k
    return np.reshape(out, shape)


def lengths(first: Any) -> Any:
    """How many equal items begin at each place."""
    starts = np.flatnonzero(first)
    out = np.empty(len(starts), np.int64)
    for k in range(len(starts)):
        out[k] = (starts[k + 1] if k + 1 < len(starts) else len(first)) - starts[k]
    return out


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
    n = len(s)
    alone = np.ones(n, np.bool_)
    for i in range(n):
        alone[i] = (i == 0 or s[i] != s[i - 1]) and (i + 1 == n or s[i] != s[i + 1])
    return s[alone]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: Constant = False) -> Any:
    """What is in the first one only, sorted; in its order with `assume_unique`, a constant."""
    a = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return a[~is_in(a, np.ravel(ar2), None)]


def isin(
    element: Any, test_elements: Any, assume_unique: Any = False, invert: Constant = False, *, kind: Any = None
) -> Any:
    """Whether each item is among others; `invert` and `kind` are constants."""
    found = is_in(np.ravel(element), np.ravel(test_elements), kind)
    return np.reshape(~found if invert else found, np.shape(element))


def in1d(ar1: Any, ar2: Any, assume_unique: Any = False, invert: Constant = False, *, kind: Any = None) -> Any:
    """As `isin`, of the flat array."""
    found = is_in(np.ravel(ar1), np.ravel(ar2), kind)
    return ~found if invert else found


def is_in(a: Any, b: Any, kind: Any) -> Any:
    """Whether each item of a is in b."""
    if kind is not None and kind != "sort" and kind != "table":
        raise ValueError("Invalid kind. Please use None, 'sort' or 'table'.")
    if a.dtype.kind not in "bui" or b.dtype.kind not in "bui":
        if kind == "table":
            raise ValueError("The 'table' method is only supported for boolean or integer arrays.")
        return sorted_in(a, b)
    if kind == "sort":
        return sorted_in(a, b)
    if len(b) == 0:
        return np.zeros(len(a), np.bool_)
    lo, hi = np.min(b), np.max(b)
    if kind == "table" or float(hi) - float(lo) <= 6 * (len(a) + len(b)):
        return tabled_in(a, b, lo, hi)
    return sorted_in(a, b)


def tabled_in(a: Any, b: Any, lo: Any, hi: Any) -> Any:
    """By a table of the whole numbers from the least to the greatest one."""
    table = np.zeros(int(hi) - int(lo) + 1, np.bool_)
    for i in range(len(b)):
        table[int(b[i]) - int(lo)] = True
    found = np.empty(len(a), np.bool_)
    for i in range(len(a)):
        found[i] = a[i] >= lo and a[i] <= hi and table[int(a[i]) - int(lo)]
    return found


def sorted_in(a: Any, b: Any) -> Any:
    """By halves of the sorted others; of few others, one after the other."""
    t = np.add(a.dtype.type(0), b.dtype.type(0)).dtype
    x, y = np.asarray(a, t), np.asarray(b, t)
    found = np.zeros(len(x), np.bool_)
    if len(y) < 10 * len(x) ** 0.145:
        for k in range(len(y)):
            found |= x == y[k]
        return found
    s = np.sort(y)
    if t.kind == "c":
        for i in range(len(x)):
            at = place_among(s, x[i])
            found[i] = at < len(s) and s[at] == x[i]
    else:
        places = np.searchsorted(s, x)
        for i in range(len(x)):
            found[i] = places[i] < len(s) and s[places[i]] == x[i]
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
