"""Warnings of launches that a GPU would be slow with. They are looked for at a launcher's first call, so later ones pay nothing."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import numpy as np

from .. import config
from ..errors import PerformanceWarning
from ._devices import is_emulated

__all__ = ["callers_level", "tell"]

# A GPU has up to some hundred multiprocessors, and hides what a block waits for behind another one; numba.cuda warns below the same number.
FEW_BLOCKS = 128
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def callers_level() -> int:
    """The ``stacklevel`` by which a warning of the function that asks names the line of who called into Treadle."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    return level


def _warn(text: str) -> None:
    text = f"{text} (TREADLE_CUDA_WARN=0 is silent about it)"
    warnings.warn(text, PerformanceWarning, stacklevel=callers_level())


def tell(launcher: Any, args: tuple[Any, ...]) -> None:
    """Warn of a tiny grid, and of arrays of the host among the arguments."""
    what = config.CUDA_WARN
    if what == "auto":
        what = "0" if is_emulated() else "1"
    name = launcher.kernel.__qualname__
    blocks = launcher.grid[0] * launcher.grid[1] * launcher.grid[2]
    if what in ("1", "grid") and blocks < FEW_BLOCKS:
        _warn(f"{name}: a grid of {blocks} block{'s' * (blocks > 1)} leaves most of a GPU idle")
    places = [str(k) for k, a in enumerate(args, 1) if type(a) is np.ndarray]
    if what in ("1", "copy") and places:
        are = "argument {} is an array" if len(places) == 1 else "arguments {} are arrays"
        _warn(
            f"{name}: {are.format(', '.join(places))} of the host, which each launch copies to a GPU and back; cuda.to_device() keeps it there"
        )
