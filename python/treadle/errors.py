"""Exceptions that Treadle raises of its own.

A compiled function raises Python's own exceptions (``IndexError``, ``ZeroDivisionError``, what its ``raise`` statements say);
those below come from compiling one, but for `KernelCheckError` and `KernelCheckWarning`, which come from launches whose mistakes are looked for.
"""

from __future__ import annotations

from collections.abc import Sequence as _Sequence
from typing import Any as _Any

from numpy.exceptions import AxisError as _AxisError

__all__ = [
    "AxisError",
    "InternalError",
    "KernelCheckError",
    "KernelCheckWarning",
    "LeafChangedError",
    "LoweringError",
    "PerformanceWarning",
    "TreadleError",
    "TreadleWarning",
    "TypingError",
    "UnsupportedError",
]


class TreadleError(Exception):
    """Base of what Treadle raises when it cannot compile a function."""


class TypingError(TreadleError, TypeError):
    """An operation is not defined for the types of its operands."""


class AxisError(_AxisError, TypingError):
    """An axis that the array does not have: NumPy's exception of that name, found while compiling."""


class UnsupportedError(TreadleError):
    """Python that Treadle does not compile, or a feature that it does not have."""


class LoweringError(TreadleError):
    """The back end could not make machine code, though the program is well typed."""


class InternalError(TreadleError):
    """A broken invariant: a defect in Treadle, not in the program."""


class TreadleWarning(Warning):
    """Base of the warnings that Treadle has classes of its own for."""


class PerformanceWarning(TreadleWarning):
    """A program that is right, and slower than it could be."""


class LeafChangedError(RuntimeError):
    """An array had other items when a graph was evaluated than when it was handed to it: told under ``TREADLE_PARALLEL_CHECK=1``."""


class KernelCheckError(RuntimeError):
    """What was found in a launch: with ``cuda.jit(debug=True)``, under ``TREADLE_EMU_CHECK`` and by ``python -m treadle memcheck``.

    Attributes
    ----------
    reports : list of treadle.cuda.Report
        A mistake each, in the order in which they were found; those of equal lines and arrays are one.
    """

    reports: list[_Any]

    def __init__(self, text: str, reports: _Sequence[_Any] = ()) -> None:
        super().__init__(text)
        self.reports = list(reports)


class KernelCheckWarning(TreadleWarning):
    """Something that is allowed in a kernel, and often a mistake."""
