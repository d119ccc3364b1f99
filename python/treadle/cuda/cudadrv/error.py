"""What goes wrong with devices."""

from __future__ import annotations

from .._errors import CudaDriverError, CudaRuntimeError, CudaSupportError

__all__ = ["CudaDriverError", "CudaRuntimeError", "CudaSupportError"]
