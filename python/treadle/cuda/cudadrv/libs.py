"""CUDA's libraries, as far as programs ask for them here."""

from __future__ import annotations

from ..libs import test

__all__ = ["test"]
