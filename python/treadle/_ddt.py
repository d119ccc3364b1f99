"""Tests that run once for each of some data: the decorators of the package ``ddt``, which numba.testing.ddt was, for programs that import that.

Facts are from ddt's documentation (https://ddt.readthedocs.io): ``data`` says the values, ``unpack`` that each is several arguments, and ``ddt`` makes of one
method of a class one for each value.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any, Callable, TypeVar

__all__ = ["data", "ddt", "unpack"]

_T = TypeVar("_T", bound=type)
_F = TypeVar("_F", bound=Callable[..., Any])


def data(*values: Any) -> Callable[[_F], _F]:
    """The test runs with each of these in turn."""

    def mark(test: _F) -> _F:
        vars(test)["_data"] = values
        return test

    return mark


def unpack(test: _F) -> _F:
    """Each value is a tuple or list of arguments, or a dict of named ones."""
    vars(test)["_unpack"] = True
    return test


def _with(test: Callable[..., Any], value: Any) -> Callable[..., Any]:
    @functools.wraps(test)
    def run(self: Any) -> Any:
        if not vars(test).get("_unpack"):
            return test(self, value)
        return test(self, **value) if isinstance(value, dict) else test(self, *value)

    return run


def ddt(cls: _T) -> _T:
    """The class, in which a test with data is one test for each value, numbered from 1."""
    for name, test in list(vars(cls).items()):
        values = vars(test).get("_data") if isinstance(test, FunctionType) else None
        if values is None:
            continue
        delattr(cls, name)
        for k, value in enumerate(values, 1):
            one = _with(test, value)
            one.__name__ = f"{name}_{k}"
            setattr(cls, one.__name__, one)
    return cls
