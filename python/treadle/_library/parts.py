"""A part of what is made of places: in place of a shape, a tuple of three, where the part begins along each axis (None: it
is as long as the whole), its extents, and the shape of the whole. `treadle.parallel.evaluate` makes such where it cuts what does not fit into memory.
"""

from __future__ import annotations

from typing import Any


def shifted(at: Any, by: Any) -> Any:
    """A place of the part as one of the whole."""
    if len(at) == 0:
        return ()
    return (at[0] if by[0] is None else at[0] + by[0], *shifted(at[1:], by[1:]))
