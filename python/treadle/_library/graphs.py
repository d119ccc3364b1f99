"""What graphs of lazy arrays are compiled with, beside what their users wrote."""

from __future__ import annotations

from typing import Any

import numpy as np


def result(x: Any) -> Any:
    """A root's value: an array, also of a number, so that its type is known; of several results a tuple."""
    return each(x) if isinstance(x, tuple) else np.asarray(x)


def each(xs: Any) -> Any:
    if len(xs) == 0:
        return ()
    return (result(xs[0]), *each(xs[1:]))
