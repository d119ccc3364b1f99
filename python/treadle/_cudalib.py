"""The modules of CUDA's libraries under their old names: ``numbapro.cudalib``, ``accelerate.cuda``, ``pyculib``.

Programs of that age import them, and ``python -m treadle run`` gives them treadle.cuda's (run.py). One table says which library is called what; the low-level
classes that only those programs use, ``fft.binding.Plan`` and ``rand.binding.Generator``, are in _cudalib_fft.py and _cudalib_rand.py.
Hugging Face's package ``accelerate`` has the name of one of the roots: only ``accelerate.cuda`` is taken from it.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from typing import Any

__all__ = ["ROOTS", "is_ours", "names_of"]

# Where the libraries stand, and what the one of treadle.cuda is called there.
_SAME = {name: name for name in ("blas", "fft", "rand", "sparse", "sorting")}
_NUMBAPRO = {"cublas": "blas", "cufft": "fft", "curand": "rand", "cusparse": "sparse", "sorting": "sorting"}
_PACKAGES = {"numbapro.cudalib": _NUMBAPRO, "accelerate.cuda": _SAME, "pyculib": _SAME}
ROOTS = ("accelerate", "pyculib")  # besides numbapro, which has more
# The last releases that there were.
_VERSIONS = {"accelerate": "2.3.1", "pyculib": "1.0.2"}
_BINDINGS = {"fft": "treadle._cudalib_fft", "rand": "treadle._cudalib_rand"}
# What is another class there than it is here.
_OTHERS = {"blas": "treadle._cudalib_blas"}
# Modules inside of a library's that have its names.
_INSIDE = ("api", "radixlib", "radixsort", "segsort")


def _split(name: str) -> tuple[str, list[str]] | None:
    """The package and what is inside of it; None: the name is none of theirs."""
    for package in _PACKAGES:
        if name == package or name.startswith(package + "."):
            return package, name[len(package) + 1 :].split(".") if name != package else []
    return None


def is_ours(name: str) -> bool:
    """Whether a module of that name is one of the old libraries, or a package that holds them."""
    if name == "accelerate":
        return PathFinder.find_spec(name) is None  # Hugging Face's, where it is installed
    split = _split(name)
    return split is not None and (not split[1] or _names(*split) is not None)


def names_of(name: str) -> dict[str, Any]:
    """What the module has."""
    split = _split(name)
    own = {"__version__": _VERSIONS[name]} if name in _VERSIONS else {}
    return own | (_names(*split) or {} if split else {})


def _names(package: str, path: list[str]) -> dict[str, Any] | None:
    libraries = _PACKAGES[package]
    if not path:
        return {"cuda": import_module("numba.cuda")} if package == "accelerate.cuda" else {}
    if path[0] not in libraries:
        return _BESIDE[path[0]]() if package == "pyculib" and len(path) == 1 and path[0] in _BESIDE else None
    library = libraries[path[0]]
    if len(path) == 1 or path[1:] in [[m] for m in _INSIDE]:
        names = _public(f"treadle.cuda.{library}")
        return names | (_public(_OTHERS[library]) or {}) if names and library in _OTHERS else names
    if path[1:] != ["binding"]:
        return None
    return _public(_BINDINGS.get(library) or f"treadle.cuda.{library}.binding")


def _public(name: str) -> dict[str, Any] | None:
    outer = name.rpartition(".")[0]
    if not hasattr(import_module(outer), "__path__") or find_spec(name) is None:
        return None
    module = import_module(name)
    return {n: getattr(module, n) for n in module.__all__}


# --- pyculib's own modules ---


def _config() -> dict[str, Any]:
    return {"WARNINGS": int(os.environ.get("PYCULIB_WARNINGS") or 0)}


def _warnings() -> dict[str, Any]:
    from .errors import PerformanceWarning

    return {**{n: getattr(warnings, n) for n in warnings.__all__}, "PerformanceWarning": PerformanceWarning}


_BESIDE = {"config": _config, "warnings": _warnings, "utils": dict, "tests": dict}
