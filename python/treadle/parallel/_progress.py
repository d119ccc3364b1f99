"""A bar that says how far something is: on a terminal alone, and of what takes longer than two seconds.

It is written to ``sys.stderr`` over itself, and taken away at the end, so that nothing of it stays among other output.
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import Self

WIDTH = 30


class Progress:
    """Tells how much is done. A context manager, which takes the bar away also where an exception ends the work.

    Parameters
    ----------
    name : str
        What stands before the bar.
    total : int
        How much there is to do.
    patience : float, optional
        After how many seconds the bar appears.

    Examples
    --------
    >>> with Progress("sum", 10) as progress:
    ...     for i in range(10):
    ...         progress(i)
    """

    def __init__(self, name: str, total: int, patience: float = 2.0) -> None:
        self._name, self._total = name, total
        self._stream = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None
        self._start = monotonic()
        self._next = self._start + patience
        self._shown = 0

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int) -> None:
        """Show that so much is done; five times a second at most."""
        now = monotonic()
        if self._stream is None or now < self._next:
            return
        self._next = now + 0.2
        share = min(done / self._total, 1.0)
        filled = int(share * WIDTH)
        left = f", {(now - self._start) * (1 / share - 1):.0f} s left" if share > 0 else ""
        line = f"{self._name} [{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%}{left}"
        self._stream.write(f"\r{line.ljust(self._shown)}")
        self._stream.flush()
        self._shown = max(self._shown, len(line))

    def __exit__(self, *exception: object) -> None:
        if self._stream is not None and self._shown:
            self._stream.write(f"\r{' ' * self._shown}\r")
            self._stream.flush()
