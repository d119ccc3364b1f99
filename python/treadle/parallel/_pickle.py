"""What a pickled lazy array is made anew by: its nodes as data; functions are pickled as pickle, or cloudpickle, does it."""

from __future__ import annotations

from typing import Any

from treadle._core import LazyArray, _lazy, _lazy_rebuild


def leaf(value: Any) -> Any:
    """Return an array that was evaluated before; of several results a tuple."""
    return _lazy(value)


def rebuild(parts: list[Any]) -> LazyArray:
    """Return the array that is not evaluated yet, of its nodes."""
    return _lazy_rebuild(parts)
