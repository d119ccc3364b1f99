"""Programs on a GPU that is none: the driver of tests/fake, which every build of the tests makes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from built import CUBLAS, CUFFT, DRIVER, NO_DRIVER
from treadle import config

__all__ = ["RAISES", "start"]

# A part of programs.
RAISES = """
def raises(kind, part, fn, *args):
    try:
        fn(*args)
    except kind as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")
"""


def start(code: str, on_any: bool = False, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own. Where no build is, one that may run ``on_any`` GPU runs on the tests' own, and others are skipped."""
    driver = DRIVER
    if driver is None:
        if not on_any or config.CUDA != "gpu":
            pytest.skip(NO_DRIVER)
        driver = config.CUDA_DRIVER
    full = {**os.environ, "TREADLE_CUDA": "gpu", "TREADLE_CUDA_DRIVER": str(driver), "TREADLE_CUDA_WARN": "0"}
    if CUFFT and CUBLAS and driver == DRIVER:
        full["TREADLE_CUDA_LIBS"] = f"{CUFFT}{os.pathsep}{CUBLAS}"
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**full, **env},
        timeout=120,
        check=False,
    )


def gives_the_same_text(code: str) -> None:
    """A program leaves what it saw as `text`: the same here, on the emulated device, and on the tests' GPU."""
    known: dict[str, object] = {}
    exec(code, known)
    done = start(code + "print(cuda.is_emulated(), text)")
    assert done.stdout.split() == ["False", known["text"]], done.stderr
