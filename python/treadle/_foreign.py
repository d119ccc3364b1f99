"""Ufuncs of others in compiled code: what the library's own functions ask of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def checked(ufunc: np.ufunc, *args: Any, out: Any = None) -> tuple[Any, bool]:
    """Call ``ufunc``; its result, and whether a loop raised the floating-point flag "invalid".

    Loops of ``numpy.linalg`` tell so that a matrix is singular, not positive definite, or that an iteration did not converge. In compiled code the
    ufunc must be one of C loops; this function is a row of ``lib/builtins.def`` there.
    """
    seen: list[str] = []
    note: Callable[[str, int], None] = lambda kind, flag: seen.append(kind)  # noqa: E731
    with np.errstate(call=note, invalid="call", divide="ignore", over="ignore", under="ignore"):
        result = ufunc(*args) if out is None else ufunc(*args, out=out)
    return result, bool(seen)
