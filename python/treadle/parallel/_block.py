"""`np.block` of lazy arrays: what it is made of says by its nesting along which axis parts are joined, so it is taken apart before a graph sees it."""

from __future__ import annotations

from typing import Any

import numpy as np


def block(arrays: Any) -> Any:
    """
    As `np.block`, of lazy arrays among others.

    Parameters
    ----------
    arrays : nested list of arrays or numbers
        The innermost lists are joined along the last axis, the lists of these along the one before it, and so on.

    Returns
    -------
    LazyArray
        Of as many axes as lists are nested, or as the array with the most axes has.

    Raises
    ------
    TypeError
        If there is a tuple in place of a list.
    ValueError
        If a list is empty, or lists are not all nested alike.
    """
    depth = _depth(arrays, "arrays")
    return _joined(arrays, depth, max(depth, _axes(arrays)))


def _depth(x: Any, where: str) -> int:
    if isinstance(x, tuple):
        raise TypeError(
            f"{where} is a tuple: np.block() takes lists, of which the nesting says how parts are joined"
        )
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError(f"{where} is an empty list, which np.block() cannot join")
    depths = [_depth(part, f"{where}[{i}]") for i, part in enumerate(x)]
    for i, depth in enumerate(depths):
        if depth != depths[0]:
            raise ValueError(f"np.block(): {where}[{i}] is not nested as deep as {where}[0]")
    return depths[0] + 1


def _axes(x: Any) -> int:
    return max(map(_axes, x)) if isinstance(x, list) else np.ndim(x)


def _joined(x: Any, depth: int, ndim: int) -> Any:
    if depth:
        return np.concatenate([_joined(part, depth - 1, ndim) for part in x], axis=-depth)
    if not np.ndim(x):
        return np.reshape(x, (1,) * ndim)
    for _ in range(ndim - np.ndim(x)):
        x = x[None]
    return x
