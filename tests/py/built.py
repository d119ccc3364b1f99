"""What a build of the tests has beside the package: the compiler without Python, and a driver that is none (tests/fake). An installed wheel has neither."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["DRIVER", "NO_DRIVER", "treadlec_path"]

_TOOL = os.environ.get("TREADLEC")
_LIBRARY = Path(_TOOL).parent / "tests/libfake_cuda.so" if _TOOL else None
DRIVER = _LIBRARY if _LIBRARY and _LIBRARY.exists() else None
NO_DRIVER = "the driver that is none lies in a build, whose treadlec TREADLEC would name"


def treadlec_path() -> str:
    """Path of treadlec; skips, which is counted and shown, where only the package is."""
    if not _TOOL:
        pytest.skip("treadlec lies in a build, which TREADLEC would name: here is only the package")
    return _TOOL
