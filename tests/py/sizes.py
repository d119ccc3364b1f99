"""How many examples a property is tried on: all, or a part in runs that are one of several or slow (TREADLE_EXAMPLES=3: a third)."""

from __future__ import annotations

import os

PART = int(os.environ.get("TREADLE_EXAMPLES", "1"))


def examples(n: int) -> int:
    """Return `n`, or the part of it that this run takes."""
    return max(1, n // PART)
