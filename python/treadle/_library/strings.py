"""Methods of strings that take a table of characters."""

from __future__ import annotations

from typing import Any

__all__ = ["of_str_maketrans", "of_str_translate"]


def of_str_translate(self: Any, table: Any) -> Any:
    """Return the string with each character as the table has it: another string, a code, or None for nothing."""
    made = ""
    for c in self:
        if ord(c) not in table:
            made += c
            continue
        to = table[ord(c)]
        if to is not None:
            if isinstance(to, str):
                made += to
            else:
                made += chr(to)
    return made


def of_str_maketrans(cls: Any, x: Any, y: Any = None, z: Any = None) -> Any:  # noqa: ARG001 - as a method has it
    """Return the table of a dict, or of strings: `x` become `y`, and `z` nothing."""
    if y is None:
        return {code_of(key): to for key, to in x.items()}
    if len(x) != len(y):
        raise ValueError("the first two maketrans arguments must have equal length")
    table = {}
    for i in range(len(x)):
        table[ord(x[i])] = ord(y[i])
    if z is not None:
        for c in z:
            table[ord(c)] = None
    return table


def code_of(key: Any) -> Any:
    """Return the code of a key of a table."""
    if isinstance(key, str):
        if len(key) != 1:
            raise ValueError("string keys in translate table must be of length 1")
        return ord(key)
    return key
