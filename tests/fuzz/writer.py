"""What the generators that write a program line by line share: lines, names, and chance."""

from __future__ import annotations

import random


class Writer:
    """Text of one program.

    Parameters
    ----------
    seed : str
        Of its choices.
    """

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.indent = 0
        self.names = 0

    def chance(self, p: float) -> bool:
        """True with this probability."""
        return self.rng.random() < p

    def emit(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.indent + text)

    def fresh(self, stem: str) -> str:
        """A name that is no other's."""
        self.names += 1
        return f"{stem}{self.names}"
