"""Exceptions that Treadle raises of its own.

A compiled function raises Python's own exceptions (``IndexError``, ``ZeroDivisionError``, what its ``raise`` statements say);
those below come from compiling one.
"""

from __future__ import annotations

from numpy.exceptions import AxisError as _AxisError

__all__ = [
    "AxisError",
    "InternalError",
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
