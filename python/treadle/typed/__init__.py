"""Containers that Python and compiled code share without a copy: `List`, a list of numbers.

>>> from treadle.typed import List
>>> l = List([1, 2])
>>> l.append(3)
>>> l
ListType[int64]([1, 2, 3])
"""

from __future__ import annotations

from .._core import TypedList as List

__all__ = ["List"]
