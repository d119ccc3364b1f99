"""The functions of numpy.strings of which numpy.char has others of the same name: the parts in arrays of their own."""

from __future__ import annotations

from typing import Any

from .texts import as_long, strings

__all__ = ["partition", "rpartition"]


def three(items: Any, cut: Any) -> Any:
    """Return an array of the first part that each item is cut into, of the second, and of the third."""
    return (
        as_long(items, lambda s: cut(s)[0]),
        as_long(items, lambda s: cut(s)[1]),
        as_long(items, lambda s: cut(s)[2]),
    )


def partition(a: Any, sep: Any) -> Any:
    """As numpy.strings's: three arrays."""
    return three(strings(a, sep), lambda s: s.partition(sep))


def rpartition(a: Any, sep: Any) -> Any:
    """As numpy.strings's: three arrays."""
    return three(strings(a, sep), lambda s: s.rpartition(sep))
