"""Treadle: a JIT compiler for numerical Python.

>>> from treadle import njit
>>> @njit
... def hypot(x, y):
...     return (x * x + y * y) ** 0.5
>>> hypot(3.0, 4.0)
5.0

Names are loaded when they are first used, so that ``import treadle`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import config, cuda, errors, parallel, typed, types
    from ._core import (
        Function,
        Signature,
        Type,
        __version__,
        empty_cache,
        get_num_threads,
        get_thread_id,
        prange,
        set_num_threads,
        stats,
        typeof,
    )
    from ._report import report
    from .decorators import jit, literal_unroll, njit
    from .errors import AxisError, InternalError, LoweringError, TreadleError, TypingError, UnsupportedError
    from .parallel._spca import sparse_pca
    from .stencils import stencil
    from .ufunc import UfuncInfo, guvectorize, ufunc_info, vectorize

# Where each public name lives; types (int32, float64, ...) come from treadle.types.
_WHERE = {
    "__version__": "_core",
    "jit": "decorators",
    "literal_unroll": "decorators",
    "njit": "decorators",
    "empty_cache": "_core",
    "guvectorize": "ufunc",
    "ufunc_info": "ufunc",
    "vectorize": "ufunc",
    "UfuncInfo": "ufunc",
    "report": "_report",
    "sparse_pca": "parallel._spca",
    "stats": "_core",
    "stencil": "stencils",
    "typeof": "_core",
    "get_num_threads": "_core",
    "get_thread_id": "_core",
    "prange": "_core",
    "set_num_threads": "_core",
    "Function": "_core",
    "Signature": "_core",
    "Type": "_core",
    "TreadleError": "errors",
    "AxisError": "errors",
    "TypingError": "errors",
    "UnsupportedError": "errors",
    "LoweringError": "errors",
    "InternalError": "errors",
}
_MODULES = ("config", "cuda", "errors", "parallel", "typed", "types")
# Names of types that would hide Python's own at top level; treadle.types has them.
_HIDDEN = ("bool", "char", "none")

__all__ = [
    "config",
    "cuda",
    "empty_cache",
    "errors",
    "get_num_threads",
    "get_thread_id",
    "guvectorize",
    "jit",
    "literal_unroll",
    "njit",
    "parallel",
    "prange",
    "report",
    "set_num_threads",
    "sparse_pca",
    "stats",
    "stencil",
    "typed",
    "typeof",
    "types",
    "ufunc_info",
    "vectorize",
    *(k for k in _WHERE if k[0].isupper()),
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    value: Any
    if name in _WHERE:
        value = getattr(import_module("." + _WHERE[name], __name__), name)
    elif name in _MODULES:
        value = import_module("." + name, __name__)
    elif name.startswith("_") or name in _HIDDEN:
        raise AttributeError(f"module 'treadle' has no attribute {name!r}")
    else:
        try:
            value = getattr(import_module(".types", __name__), name)
        except AttributeError:
            raise AttributeError(f"module 'treadle' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from . import types

    names = {"__version__", *__all__, *types.__all__}.difference(_HIDDEN)
    return sorted(names.union(n for n in globals() if n.startswith("__")))
