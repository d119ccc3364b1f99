"""Programs on a GPU that is none: the driver of tests/fake, which every build of the tests makes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["DRIVER", "start"]

DRIVER = Path(os.environ["TREADLEC"]).parent / "tests/libfake_cuda.so"


def start(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    full = {**os.environ, "TREADLE_CUDA": "gpu", "TREADLE_CUDA_DRIVER": str(DRIVER), "TREADLE_CUDA_WARN": "0"}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**full, **env},
        timeout=120,
        check=False,
    )
