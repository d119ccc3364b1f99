"""What a build of the tests has beside the package: the compiler without Python, and a driver that is none (tests/fake). An installed wheel has neither."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["CUBLAS", "CUFFT", "DRIVER", "NO_DRIVER", "made", "treadlec_path"]

_TOOL = os.environ.get("TREADLEC")


def made(name: str) -> Path | None:
    """A library of tests/fake; None where only the package is."""
    path = Path(_TOOL).parent / "tests" / name if _TOOL else None
    return path if path and path.exists() else None


DRIVER = made("libfake_cuda.so")
CUBLAS = made("libfake_cublas.so")
CUFFT = made("libfake_cufft.so")
NO_DRIVER = "the driver that is none lies in a build, whose treadlec TREADLEC would name"


def treadlec_path() -> str:
    """Path of treadlec; skips, which is counted and shown, where only the package is."""
    if not _TOOL:
        pytest.skip("treadlec lies in a build, which TREADLEC would name: here is only the package")
    return _TOOL
