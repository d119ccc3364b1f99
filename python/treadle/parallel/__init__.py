"""Data-parallel primitives over lazy arrays: what is written is compiled as one program when its value is asked for."""

from __future__ import annotations

import os as _os

from numpy import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
)

from treadle._core import LazyArray, _lazy_setup
from treadle.config import PARALLEL_CHECK as _CHECK
from treadle.decorators import _flags
from treadle.parallel._dask import as_dask_reduction
from treadle.parallel._evaluate import evaluate
from treadle.parallel._explain import Explanation, Kernel, explain
from treadle.parallel._functions import *  # noqa: F403 - its names are listed there
from treadle.parallel._functions import __all__ as _primitives
from treadle.parallel._schedule import _TAG, schedule

__all__ = [
    "Explanation",
    "Kernel",
    "LazyArray",
    "add",
    "as_dask_reduction",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "evaluate",
    "explain",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "schedule",
]
__all__ += _primitives

from treadle.parallel.random import key as _key  # noqa: E402, F401 - that `tp.random` is there

# Numbers divide as NumPy's do, with or without axes.
_lazy_setup(_os.path.dirname(__file__), _CHECK, _flags({"error_model": "numpy"}), _TAG)
