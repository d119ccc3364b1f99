"""Questions about types, which are answered when a function compiles: numpy.issubdtype and its like."""

from __future__ import annotations

from typing import Any

import numpy as np


def issubdtype(arg1: Any, arg2: Any) -> Any:
    """Of dtypes and classes of numbers; not of texts such as 'f4'."""
    return isinstance(np.empty(1, arg1)[0], arg2)
