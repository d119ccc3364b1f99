"""GDB and code made at run time: what the installed library shows of itself, a stop at a line of a function with debug=True, names of its code."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import treadle._core

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """\
import numpy as np
from treadle import njit

@njit(debug=True)
def stretched(a, b):
    c = a * 2
    d = c + b
    return d

print("result", stretched(3, 4), stretched(np.arange(3.0), 1.0))
"""


def test_the_library_has_the_names_that_gdb_looks_for():
    """Of the file as it is installed: a stripped library has no others."""
    core = ctypes.CDLL(treadle._core.__file__)
    for name in ("__jit_debug_register_code", "__jit_debug_descriptor"):
        assert getattr(core, name) is not None
    version = ctypes.c_uint32.in_dll(core, "__jit_debug_descriptor")
    assert version.value == 1


def test_vector_functions_have_names_for_perf():
    """Those that generated code calls them by; perf looks into the file, which is stripped where it is installed."""
    core = ctypes.CDLL(treadle._core.__file__)
    rows = re.findall(r"^VM_OWN\((\w+), *\d\)", (ROOT / "src/vmath/vmath_x86_64.def").read_text(), re.M)
    assert len(rows) > 8
    for name in rows:
        for level in ("d8_u10avx512f", "f8_u10avx2", "d1_u10purecfma"):
            assert getattr(core, f"tr_vk_{name}{level}") is not None


@pytest.mark.nosan  # GDB and a sanitizer both want to be the one that looks on
@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_gdb_stops_at_a_line(tmp_path: Path):
    path = tmp_path / "stops.py"
    path.write_text(PROGRAM)
    commands = ["set breakpoint pending on", "set pagination off", "set confirm off", "break stops.py:7"]
    commands += ["run", "delete", "continue"]
    done = subprocess.run(
        ["gdb", "-nx", "-batch", *(f"-ex={c}" for c in commands), "--args", sys.executable, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "DEBUGINFOD_URLS": ""},
        timeout=300,
    )
    assert "Breakpoint 1, stretched () at" in done.stdout, done.stdout + done.stderr
    assert "d = c + b" in done.stdout, done.stdout + done.stderr
    assert "result 10" in done.stdout, done.stdout + done.stderr
