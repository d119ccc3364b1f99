"""Allocations of compiled code and of Python's border that fail, one by one: a MemoryError or the right result, no crash, nothing that stays behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import built
import failing_memory
import pytest

LIBRARY = built.made("libfake_memory.so")


@pytest.mark.nosan  # whose own allocator is there
@pytest.mark.skipif(
    LIBRARY is None, reason="the allocator that fails lies in a build, whose treadlec TREADLEC would name"
)
@pytest.mark.parametrize("name", failing_memory.PROGRAMS)
def test_each_allocation_may_fail(name):
    r = subprocess.run(
        [sys.executable, str(Path(failing_memory.__file__)), name],
        env={**os.environ, "LD_PRELOAD": str(LIBRARY)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert r.returncode == 0, r.stdout + r.stderr[-2000:]
    assert f"{name}: " in r.stdout
