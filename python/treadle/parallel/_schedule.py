"""How loops go that operations on lazy arrays become: what a user says of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from treadle._core import _lazy_words

__all__ = ["schedule"]

# What nodes are made with; the core reads it.
_TAG: ContextVar[str] = ContextVar("treadle.parallel.schedule")


@contextmanager
def schedule(words: str) -> Iterator[None]:
    """Say how the loops go that are made of the operations in a ``with`` block. No result depends on it.

    Parameters
    ----------
    words : str
        Words of a schedule, as ``"chunk 512"`` or ``"unroll 4, cost 200"``: `line`, `chunk`, `fission`, `unroll`,
        `scalar`, `strip`, `cost`; what they mean is told in docs/ir.md. What is not said the compiler chooses.

    Raises
    ------
    TypeError, ValueError
        These are no words, or a number is out of range.
    treadle.errors.UnsupportedError
        When the graph is compiled: the words fit none of the loops that one of the operations became, or no operation
        became one. It names the operation's line.

    Notes
    -----
    Operations that are fused are one loop: what is said of one of them is said of all. An inner block's words stand in
    place of the outer one's. A pickled graph keeps them.

    Examples
    --------
    >>> import numpy as np, treadle.parallel as tp
    >>> x = tp.array(np.arange(5.0))
    >>> with tp.schedule("chunk 64"):
    ...     y = x[::2] * 2 + 1
    >>> y.tolist()
    [1.0, 5.0, 9.0]
    """
    _lazy_words(words)
    token = _TAG.set(words)
    try:
        yield
    finally:
        _TAG.reset(token)
