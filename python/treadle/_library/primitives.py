"""The primitives of treadle.parallel, written in NumPy: what compiled code and graphs run in place of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle._library import Constant, mapped, refuse


def map(f: Any, *xs: Any) -> Any:
    """What `f` gives for the items of arrays, which are broadcast."""
    return mapped(f, *xs)


def reduce(op: Any, x: Any, axis: Constant = None, identity: Constant = None) -> Any:
    """All items along an axis as one."""
    if identity is None:
        return op.reduce(x, axis)
    return op.reduce(x, axis, initial=identity)


def scan(op: Any, x: Any, axis: Constant = 0, exclusive: Constant = False, reverse: Constant = False) -> Any:
    """Each item joined with all before it."""
    a = np.asarray(x)
    if reverse:
        a = np.flip(a, axis)
    y = op.accumulate(a, axis)
    if exclusive:
        refuse("exclusive scans are not there yet")
    return np.flip(y, axis) if reverse else y


def filter(pred: Any, x: Any) -> Any:
    """The items for which `pred` holds, in their order."""
    return x[mapped(pred, x)]


def stable_partition(pred: Any, x: Any) -> Any:
    """The items for which `pred` holds, then the others, and how many there are of the first."""
    m = mapped(pred, x)
    first = x[m]
    return np.concatenate((first, x[~m])), len(first)


def sort_by_key(keys: Any, *vals: Any) -> Any:
    """Keys in ascending order, and other arrays in the order of these; what is equal stays in its order."""
    order = np.argsort(keys, kind="stable")
    return (keys[order], *taken(vals, order))


def taken(vals: Any, order: Any) -> Any:
    if len(vals) == 0:
        return ()
    return (vals[0][order], *taken(vals[1:], order))


def run_length_encode(x: Any) -> Any:
    """The values of runs of equal items, and their lengths."""
    n = len(x)
    starts = np.empty(n, np.bool_)
    starts[:1] = True
    starts[1:] = x[1:] != x[:-1]
    at = np.flatnonzero(starts)
    ends = np.append(at[1:], n)
    return x[at], ends - at


def topk(x: Any, k: Any, largest: Constant = True) -> Any:
    """The k largest items, the largest first, and where they stand; of equal ones those that come first."""
    order = np.argsort(-x if largest else x, kind="stable")[:k]
    return x[order], order


def scatter(dst: Any, i: Any, v: Any, op: Constant = None) -> Any:
    """A copy of `dst` with values stored, or joined by `op`, at places."""
    out = dst.copy()
    if op is None:
        out[i] = v
    else:
        op.at(out, i, v)
    return out


def tabulate(f: Any, n: Any) -> Any:
    """What `f` gives for 0, 1, ... n - 1."""
    return mapped(f, np.arange(n))
