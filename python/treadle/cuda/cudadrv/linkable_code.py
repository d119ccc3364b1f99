"""What can be linked to kernels."""

from __future__ import annotations

from .._link import (
    LTOIR,
    Archive,
    Bitcode,
    Cubin,
    CUSource,
    Fatbin,
    LinkableCode,
    Object,
    PTXSource,
)

__all__ = [
    "Archive",
    "Bitcode",
    "CUSource",
    "Cubin",
    "Fatbin",
    "LTOIR",
    "LinkableCode",
    "Object",
    "PTXSource",
]
