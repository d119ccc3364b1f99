"""The peers as a child process sees them: a name gives a decorator.

`treadle` compiles with its defaults (indices checked), `treadle-unchecked`
with `boundscheck=False`, `numba` with its defaults (unchecked), `python` not
at all.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

JITS = ("treadle", "numba")


def decorator(variant: str) -> Callable[..., Any]:
    """The decorator of one variant; imports the peer.

    Parameters
    ----------
    variant : str
        'treadle', 'treadle-unchecked', 'treadle-parallel', 'numba' or 'python'.

    Returns
    -------
    callable
        Takes a function, returns it compiled (lazily) or as it was.
    """
    if variant == "python":
        return lambda function: function
    if variant == "treadle-unchecked":
        return importlib.import_module("treadle").njit(boundscheck=False)
    if variant == "treadle-parallel":
        return importlib.import_module("treadle").njit(parallel=True)
    if variant in JITS:
        return importlib.import_module(variant).njit
    raise ValueError(f"no peer is called {variant!r}")


def vectorizer(variant: str, signatures: list[str]) -> Callable[..., Any]:
    """The `vectorize` of one variant, for these signatures (none: lazily).

    Parameters
    ----------
    variant : str
        'treadle' and 'numba' with their default target, or with another behind a hyphen: 'treadle-parallel', 'treadle-cuda', 'numba-parallel'.
    signatures : list of str
        As `vectorize` takes them.
    """
    peer, _, target = variant.partition("-")
    if peer not in JITS or target not in ("", "parallel", "cuda"):
        raise ValueError(f"no peer of ufuncs is called {variant!r}")
    vectorize = importlib.import_module(peer).vectorize
    options = {"target": target} if target else {}
    return vectorize(signatures, **options) if signatures else vectorize(**options)


def define(source: str, name: str = "f") -> Callable[..., Any]:
    """Run `source` and return the function it defines: a fresh code object each time. It sees `math` and `np`."""
    scope: dict[str, Any] = {"math": math, "np": np}
    exec(compile(source, f"<bench {name}>", "exec"), scope)
    return scope[name]
