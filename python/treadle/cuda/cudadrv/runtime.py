"""CUDA's runtime library, which the emulated device does without."""

from __future__ import annotations

from .._context import Runtime, runtime
from .._errors import CudaRuntimeError

__all__ = ["CudaRuntimeError", "Runtime", "runtime"]
