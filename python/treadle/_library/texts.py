"""numpy.strings, which NumPy 1 has as numpy.char: for each item of an array of strings what a method of str or bytes gives.

What is given beside the array is one value for all items, not an array of its own. Where NumPy raises ValueError for
an array without items, as it has no longest one, this returns one without items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import Constant, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "capitalize",
    "center",
    "count",
    "decode",
    "encode",
    "endswith",
    "expandtabs",
    "find",
    "index",
    "isalnum",
    "isalpha",
    "isdecimal",
    "isdigit",
    "islower",
    "isnumeric",
    "isspace",
    "istitle",
    "isupper",
    "ljust",
    "lower",
    "lstrip",
    "multiply",
    "partition",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rstrip",
    "startswith",
    "str_len",
    "strip",
    "swapcase",
    "title",
    "translate",
    "upper",
    "zfill",
]


def strings(a: Any, *beside: Any) -> Any:
    """Return an array of strings; what is given beside it is one string for all items."""
    if isinstance(a, (str, bytes)):
        refuse("a string where an array of strings is asked for: it has the method itself, as s.upper()")
    for x in beside:
        if not isinstance(x, (str, bytes)):
            refuse("what is given beside the array is one string for all items: loop over both for others")
    items = np.asarray(a)
    if items.dtype.kind != "U" and items.dtype.kind != "S":
        refuse("an array that is none of strings")
    return items


def numbers(items: Any, function: Callable[[Any], Any], dtype: Any) -> Any:
    """Return an array of what a function gives for each item."""
    line = items.ravel()
    out = np.empty(len(line), dtype)
    for i in range(len(line)):
        out[i] = function(line[i])
    return out.reshape(items.shape)


def as_wide(items: Any, function: Callable[[Any], Any]) -> Any:
    """Return the strings that a function makes, in items as wide as they were, which cut what is longer."""
    line = items.ravel()
    out = np.empty_like(line)
    for i in range(len(line)):
        out[i] = function(line[i])
    return out.reshape(items.shape)


def as_long(items: Any, function: Callable[[Any], Any]) -> Any:
    """Return the strings that a function makes, in items as wide as the longest."""
    return np.array([function(s) for s in items.ravel()]).reshape(items.shape)


def filler(items: Any, fillchar: Any) -> Any:
    """Return the character that items are filled with as one of theirs."""
    if items.dtype.kind == "S" and isinstance(fillchar, str):
        return fillchar.encode("ascii")
    if items.dtype.kind == "U" and isinstance(fillchar, bytes):
        return fillchar.decode("ascii")
    return fillchar


def upper(a: Any) -> Any:
    """As NumPy's."""
    return as_wide(strings(a), lambda s: s.upper())


def lower(a: Any) -> Any:
    """As NumPy's."""
    return as_wide(strings(a), lambda s: s.lower())


def swapcase(a: Any) -> Any:
    """As NumPy's."""
    return as_wide(strings(a), lambda s: s.swapcase())


def capitalize(a: Any) -> Any:
    """As NumPy's."""
    return as_wide(strings(a), lambda s: s.capitalize())


def title(a: Any) -> Any:
    """As NumPy's."""
    return as_wide(strings(a), lambda s: s.title())


def strip(a: Any, chars: Constant = None) -> Any:
    """As NumPy's."""
    return as_wide(strings(a), lambda s: s.strip(chars))


def lstrip(a: Any, chars: Constant = None) -> Any:
    """As NumPy's."""
    return as_wide(strings(a), lambda s: s.lstrip(chars))


def rstrip(a: Any, chars: Constant = None) -> Any:
    """As NumPy's."""
    return as_wide(strings(a), lambda s: s.rstrip(chars))


def isalpha(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.isalpha(), np.bool_)


def isalnum(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.isalnum(), np.bool_)


def isdigit(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.isdigit(), np.bool_)


def isspace(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.isspace(), np.bool_)


def islower(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.islower(), np.bool_)


def isupper(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.isupper(), np.bool_)


def istitle(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.istitle(), np.bool_)


def isdecimal(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.isdecimal(), np.bool_)


def isnumeric(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: s.isnumeric(), np.bool_)


def str_len(x: Any) -> Any:
    """As NumPy's; without `out` and `where`."""
    return numbers(strings(x), lambda s: len(s), np.int64)


def startswith(a: Any, prefix: Any, start: Any = 0, end: Constant = None) -> Any:
    """As NumPy's."""
    return numbers(strings(a, prefix), lambda s: s.startswith(prefix, start, end), np.bool_)


def endswith(a: Any, suffix: Any, start: Any = 0, end: Constant = None) -> Any:
    """As NumPy's."""
    return numbers(strings(a, suffix), lambda s: s.endswith(suffix, start, end), np.bool_)


def find(a: Any, sub: Any, start: Any = 0, end: Constant = None) -> Any:
    """As NumPy's."""
    return numbers(strings(a, sub), lambda s: s.find(sub, start, end), np.int64)


def rfind(a: Any, sub: Any, start: Any = 0, end: Constant = None) -> Any:
    """As NumPy's."""
    return numbers(strings(a, sub), lambda s: s.rfind(sub, start, end), np.int64)


def index(a: Any, sub: Any, start: Any = 0, end: Constant = None) -> Any:
    """As NumPy's."""
    return numbers(strings(a, sub), lambda s: s.index(sub, start, end), np.int64)


def rindex(a: Any, sub: Any, start: Any = 0, end: Constant = None) -> Any:
    """As NumPy's."""
    return numbers(strings(a, sub), lambda s: s.rindex(sub, start, end), np.int64)


def count(a: Any, sub: Any, start: Any = 0, end: Constant = None) -> Any:
    """As NumPy's."""
    return numbers(strings(a, sub), lambda s: s.count(sub, start, end), np.int64)


def replace(a: Any, old: Any, new: Any, count: Any = -1) -> Any:
    """As NumPy's."""
    return as_long(strings(a, old, new), lambda s: s.replace(old, new, count))


def ljust(a: Any, width: Any, fillchar: Any = " ") -> Any:
    """As NumPy's."""
    items = strings(a, fillchar)
    fill = filler(items, fillchar)
    return as_long(items, lambda s: s.ljust(width, fill))


def rjust(a: Any, width: Any, fillchar: Any = " ") -> Any:
    """As NumPy's."""
    items = strings(a, fillchar)
    fill = filler(items, fillchar)
    return as_long(items, lambda s: s.rjust(width, fill))


def center(a: Any, width: Any, fillchar: Any = " ") -> Any:
    """As NumPy's."""
    items = strings(a, fillchar)
    fill = filler(items, fillchar)
    return as_long(items, lambda s: s.center(width, fill))


def zfill(a: Any, width: Any) -> Any:
    """As NumPy's."""
    return as_long(strings(a), lambda s: s.zfill(width))


def multiply(a: Any, i: Any) -> Any:
    """As NumPy's."""
    return as_long(strings(a), lambda s: s * i)


def expandtabs(a: Any, tabsize: Any = 8) -> Any:
    """As NumPy's."""
    return as_long(strings(a), lambda s: s.expandtabs(tabsize))


def translate(a: Any, table: Any, deletechars: Any = None) -> Any:
    """As NumPy's."""
    items = strings(a)
    if items.dtype.kind == "U":
        return as_wide(items, lambda s: s.translate(table))
    if deletechars is None:
        return as_wide(items, lambda s: s.translate(table))
    return as_wide(items, lambda s: s.translate(table, deletechars))


def encode(a: Any, encoding: Constant = None, errors: Constant = None) -> Any:
    """As NumPy's."""
    items = strings(a)
    if items.dtype.kind != "U":
        refuse("an array of bytes, which are encoded already")
    codec = "utf-8" if encoding is None else encoding
    handler = "strict" if errors is None else errors
    return as_long(items, lambda s: s.encode(codec, handler))


def decode(a: Any, encoding: Constant = None, errors: Constant = None) -> Any:
    """As NumPy's."""
    items = strings(a)
    if items.dtype.kind != "S":
        refuse("an array of str, which are decoded already")
    codec = "utf-8" if encoding is None else encoding
    handler = "strict" if errors is None else errors
    return as_long(items, lambda s: s.decode(codec, handler))


def partition(a: Any, sep: Any) -> Any:
    """As numpy.char's: the parts along one axis more."""
    items = strings(a, sep)
    made = []
    for s in items.ravel():
        before, between, after = s.partition(sep)
        made.append(before)
        made.append(between)
        made.append(after)
    return np.array(made).reshape((*items.shape, 3))


def rpartition(a: Any, sep: Any) -> Any:
    """As numpy.char's: the parts along one axis more."""
    items = strings(a, sep)
    made = []
    for s in items.ravel():
        before, between, after = s.rpartition(sep)
        made.append(before)
        made.append(between)
        made.append(after)
    return np.array(made).reshape((*items.shape, 3))
