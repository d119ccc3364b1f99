"""What a row of the matrix of ways in is (ways_features.py, ways_builtins.py, ways_library.py, ways_loops.py, ways_raises.py), and what its arguments are made of."""

from __future__ import annotations

import builtins
import re
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Feature:
    """One row.

    Attributes
    ----------
    name : str
        The function's.
    function : function
        Plain Python.
    calls : tuple of functions
        Each makes the arguments of one call afresh.
    signature : str, list of str or None
        Declared types.
    options : dict
        Of ``njit``.
    rtol : float
        How far results may be off where the way in may change the order of float operations (``fastmath``, powers).
    python : bool
        CPython computes the same: false where the semantics differ, as docs/semantics.md says.
    """

    name: str
    function: Callable
    calls: tuple[Callable[[], tuple], ...]
    signature: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    rtol: float = 0.0
    python: bool = True


@dataclass(frozen=True)
class Row:
    """Expressions of one group, as text, and the arguments of their calls: what tests/fuzz makes programs of."""

    name: str
    params: str
    items: list[str]
    calls: tuple[Any, ...]


FEATURES: dict[str, Feature] = {}
ROWS: list[Row] = []
SOURCES: dict[str, str] = {}  # of rows whose functions are made of text


def feature(*calls: Any, signature: Any = None, rtol: float = 0.0, python: bool = True, **options: Any):
    """A decorator that puts a function into the list; a call is a function that makes arguments, or a tuple of unchanging ones."""

    def add(function: Callable) -> Callable:
        made = tuple(c if callable(c) else (lambda c=c: c) for c in calls)
        name = function.__name__
        assert name not in FEATURES, name
        FEATURES[name] = Feature(name, function, made, signature, options, rtol, python)
        return function

    return add


def text_feature(name: str, source: str, *calls: Any, **more: Any) -> None:
    """A row whose function is made of text."""
    space = dict(sys._getframe(1).f_globals)  # of the module of rows that calls this
    exec(compile(source, f"<ways_features {name}>", "exec"), space)
    SOURCES[name] = source
    feature(*calls, **more)(space[name])


def group(name: str, params: str, items: list[str], *calls: Any, **more: Any) -> None:
    """Rows of up to eight expressions each: a tuple of them is the result. Names in them are the calling module's."""
    space = dict(sys._getframe(1).f_globals)
    ROWS.append(Row(name, params, items, calls))
    for k in range(0, len(items), 8):
        body = ",\n        ".join(items[k : k + 8])
        full = f"{name}_{k // 8}"
        source = f"def {full}({params}):\n    return (\n        {body},\n    )\n"
        exec(compile(source, f"<ways_features {full}>", "exec"), space)
        feature(*calls, **more)(space[full])


def names_of(path: str, pattern: str) -> list[str]:
    """Names from a table of the compiler."""
    text = (Path(__file__).parents[2] / path).read_text()
    return [n for n in re.findall(pattern, text) if any(hasattr(m, n) for m in (np, builtins, np.exceptions))]


def floats(n: int = 12, seed: int = 1) -> np.ndarray:
    """Numbers of both signs with fractions, and not symmetric."""
    return np.random.default_rng(seed).standard_normal(n) * 3


def ints(n: int = 12, dtype: str = "i8", seed: int = 2) -> np.ndarray:
    """Numbers from 0 to 9."""
    return np.random.default_rng(seed).integers(0, 10, n).astype(dtype)


def matrix(order: str = "C") -> np.ndarray:
    """3 x 4 floats."""
    return np.array(floats().reshape(3, 4), order=order)
