"""The functions of numpy.strings of which numpy.char has others of the same name: the parts in arrays of their own."""

from __future__ import annotations

from typing import Any

from .texts import as_long, strings

__all__ = ["partition", "rpartition"]


def partition(a: Any, sep: Any) -> Any:
    """As numpy.strings's: three arrays."""
    items = strings(a, sep)
    return (
        as_long(items, lambda s: s.partition(sep)[0]),
        as_long(items, lambda s: s.partition(sep)[1]),
        as_long(items, lambda s: s.partition(sep)[2]),
    )


def rpartition(a: Any, sep: Any) -> Any:
    """As numpy.strings's: three arrays."""
    items = strings(a, sep)
    return (
        as_long(items, lambda s: s.rpartition(sep)[0]),
        as_long(items, lambda s: s.rpartition(sep)[1]),
        as_long(items, lambda s: s.rpartition(sep)[2]),
    )
