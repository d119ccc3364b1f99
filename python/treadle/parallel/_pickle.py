"""Lazy arrays as data: what a pickled one is made anew by, functions pickled as pickle, or cloudpickle, does it; and what Dask names one by."""

from __future__ import annotations

from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from treadle._core import LazyArray, _lazy, _lazy_parts, _lazy_rebuild


def leaf(value: Any) -> Any:
    """Return an array that was evaluated before; of several results a tuple."""
    return _lazy(value)


def rebuild(parts: list[Any]) -> LazyArray:
    """Return the array that is not evaluated yet, of its nodes."""
    return _lazy_rebuild(parts)


def token(x: LazyArray) -> tuple[Any, ...]:
    """Return what is the same for arrays that are made in the same way of the same: Dask makes a name of it.

    Of one that is evaluated its value. Leaves count as they are now, and words of a schedule do not.
    """
    rows = [] if x.evaluated else _lazy_parts(x)
    if rows:  # there are none of one that another thread has evaluated meanwhile
        return ("treadle.parallel.LazyArray", [(*r[:3], _named(r[3], ()), *r[4:-1]) for r in rows])
    try:
        return ("treadle.parallel.LazyArray", np.asarray(x))
    except ValueError:  # several arrays
        return ("treadle.parallel.LazyArray", [np.asarray(v) for v in x])


def _named(f: Any, within: tuple[Any, ...]) -> Any:
    """A function of the user's as its code, and what that reads: one that is made anew has the same name."""
    if isinstance(f, ModuleType):
        return ("module", f.__name__)
    if not isinstance(f, FunctionType) or f in within:
        return f.__qualname__ if isinstance(f, FunctionType) else f
    if f.__module__.partition(".")[0] in ("numpy", "treadle"):
        return (f.__module__, f.__qualname__)
    known = {
        n: _named(f.__globals__[n], (*within, f)) for n in sorted(_names(f.__code__)) if n in f.__globals__
    }
    cells = []
    for cell in f.__closure__ or ():
        try:
            cells.append(_named(cell.cell_contents, (*within, f)))
        except ValueError:  # empty
            cells.append(None)
    return ("function", _code(f.__code__), known, cells, f.__defaults__, f.__kwdefaults__)


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*(_names(c) for c in inner))


def _code(code: CodeType) -> tuple[Any, ...]:
    consts = [_code(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return (code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_exceptiontable)
