"""What ``x.at[i]`` is: arrays that differ from `x` at some places."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle._core import LazyArray, _lazy_call
from treadle.parallel._functions import scatter


def _variable(index: Any) -> Any:
    """An index whose integers may change without another compile."""
    if isinstance(index, tuple):
        return tuple(_variable(i) for i in index)
    return np.intp(index) if type(index) is int else index


class At:
    """``x.at``: takes an index, as the array does.

    Parameters
    ----------
    x : LazyArray
        The array.
    """

    __slots__ = ("_x",)

    def __init__(self, x: LazyArray) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Places:
        """Return what makes arrays that differ from the array where `index` says."""
        return Places(self._x, index)


class Places:
    """``x.at[index]``: each method returns an array like `x` in which the places of `index` are others.

    `x` itself is left as it is. Where `index` names a place several times, all values are joined there; of
    several that are set the last one counts.
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: LazyArray, index: Any) -> None:
        self._x = x
        self._index = index

    def _scatter(self, v: Any, op: Any) -> LazyArray:
        index = self._index
        return _lazy_call(
            scatter, self._x, index if isinstance(index, LazyArray) else _variable(index), v, op
        )

    def set(self, v: Any) -> LazyArray:
        """Return `x` with `v`, a number or what broadcasts to ``x[index]``, at the places."""
        return self._scatter(v, None)

    def add(self, v: Any) -> LazyArray:
        """Return `x` with `v` added to each place."""
        return self._scatter(v, np.add)

    def subtract(self, v: Any) -> LazyArray:
        """Return `x` with `v` subtracted from each place."""
        return self._scatter(v, np.subtract)

    def multiply(self, v: Any) -> LazyArray:
        """Return `x` with each place multiplied by `v`."""
        return self._scatter(v, np.multiply)

    def min(self, v: Any) -> LazyArray:
        """Return `x` with the smaller of each place and `v`; NaN where either is."""
        return self._scatter(v, np.minimum)

    def max(self, v: Any) -> LazyArray:
        """Return `x` with the larger of each place and `v`; NaN where either is."""
        return self._scatter(v, np.maximum)

    def get(self) -> LazyArray:
        """Return ``x[index]``."""
        return self._x[self._index]
