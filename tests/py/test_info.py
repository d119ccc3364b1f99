"""``python -m treadle info``, and where the version comes from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from built import DRIVER, NO_DRIVER
from treadle import _info

ROOT = Path(__file__).parents[2]


def info(**env: str) -> dict[str, str]:
    """What the command prints, by subject, with these settings and no others of Treadle's."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("TREADLE_", "NUMBA_")) or k == "TREADLE_STAGE"
    }
    r = subprocess.run(
        [sys.executable, "-m", "treadle", "info"],
        capture_output=True,
        text=True,
        env={**kept, **env},
        timeout=120,
    )
    assert (r.returncode, r.stderr) == (0, ""), r.stdout + r.stderr
    assert max(map(len, r.stdout.splitlines())) <= 200
    rows = re.split(r"\n(?=\S)", r.stdout.strip())
    return {row[:14].strip(): " ".join(row[14:].split()) for row in rows}


def test_every_subject_is_told(tmp_path):
    said = info(TREADLE_CACHE_DIR=str(tmp_path / "none"), TREADLE_CUDA="emu")
    assert list(said) == list(_info._ROWS)
    assert not [row for row in said.values() if "cannot be told" in row or not row]
    assert said["Treadle"].startswith(f"{treadle.__version__}, /")
    assert said["Python"].startswith(f"CPython {sys.version.split()[0]}") and said["Python"].endswith(
        sys.executable
    )
    assert said["NumPy"].startswith(f"{np.__version__}, /")
    assert re.match(r"\d+\.\d+\.\d+, rec \d+$", said["LLVM"])
    assert re.match(r"3\.\d+\.\d+, in the package$|libsleef.so.3 of the system$", said["SLEEF"])
    assert "glibc" in said["system"] and re.search(
        r"; to LLVM \S+, in vectors of \d+ bits: .*sse2", said["processor"]
    )
    assert (
        said["GPU"] == "none is used (TREADLE_CUDA=emu): kernels run on the processors"
        or "the driver says" in said["GPU"]
    )
    assert said["cache"] == f"{tmp_path}/none, which is not there yet" and not (tmp_path / "none").exists()
    assert f"TREADLE_CACHE_DIR={tmp_path}/none, TREADLE_CUDA=emu" in said["environment"]


def test_threads_and_what_decides_them():
    allowed = len(os.sched_getaffinity(0))
    assert info(TREADLE_NUM_THREADS="3")["threads"] == "3, by TREADLE_NUM_THREADS"
    said = info(TREADLE_NUM_THREADS="")["threads"]
    size, _, why = said.partition(": ")
    assert 1 <= int(size) <= allowed and why.startswith(f"this process may use {allowed} processor")
    assert ("control group" in why) == (int(size) < allowed)


def test_the_cache(tmp_path):
    code = "from treadle import njit\n@njit(cache=True)\ndef f(x):\n    return x + 1\nf(1)\nf(1.5)\n"
    (tmp_path / "program.py").write_text(code)
    folder = tmp_path / "code"
    env = {**os.environ, "TREADLE_CACHE_DIR": str(folder)}
    subprocess.run([sys.executable, tmp_path / "program.py"], env=env, check=True)
    total = sum(f.stat().st_size for f in folder.glob("*.trc"))
    assert info(TREADLE_CACHE_DIR=str(folder))["cache"] == f"{folder}: 2 functions, {total / 1e6:.2f} MB"
    folder.chmod(0o777)
    assert re.match(
        "cannot be used: .* can be written by others", info(TREADLE_CACHE_DIR=str(folder))["cache"]
    )


def test_settings_that_nobody_reads_are_marked():
    said = info(TREADLE_NUM_THREAD="2", TREADLE_BLAS="none", NUMBA_NUM_THREADS="1")["environment"]
    assert "TREADLE_NUM_THREAD=2 (Treadle has no such setting)" in said
    assert "TREADLE_BLAS=none," in said and "NUMBA_NUM_THREADS=1," in said


def test_a_broken_place_is_told_of():
    """A setting that keeps Treadle from being imported is what the report is about: all else is told."""
    said = info(TREADLE_NUM_THREADS="many")
    assert (
        said["threads"]
        == "cannot be told: ValueError: TREADLE_NUM_THREADS='many': must be a whole number from 1 to 1024"
    )
    assert said["NumPy"].startswith(np.__version__) and "TREADLE_NUM_THREADS=many" in said["environment"]
    said = info(TREADLE_CUDA="tpu")
    assert "TREADLE_CUDA='tpu': must be one of" in said["GPU"] and "TREADLE_CUDA=tpu" in said["environment"]
    assert said["Treadle"].startswith(treadle.__version__)


def test_a_gpu_and_its_driver():
    if DRIVER is None:
        pytest.skip(NO_DRIVER)
    said = info(TREADLE_CUDA="gpu", TREADLE_CUDA_DRIVER=str(DRIVER))["GPU"]
    assert re.match(r"0: .+, compute capability \d+\.\d+; .*the driver's CUDA is \d+\.\d+", said)
    said = info(TREADLE_CUDA="gpu", TREADLE_CUDA_DRIVER="/nowhere/libcuda.so.1")["GPU"]
    assert said.startswith("none: TREADLE_CUDA=gpu: ") and "/nowhere/libcuda.so.1" in said
    said = info(TREADLE_CUDA="auto", TREADLE_CUDA_DRIVER="/nowhere/libcuda.so.1")["GPU"]
    assert said.startswith("none is used (") and "/nowhere/libcuda.so.1" in said


def test_the_command_takes_nothing_else():
    r = subprocess.run([sys.executable, "-m", "treadle", "info", "all"], capture_output=True, text=True)
    assert r.returncode == 2 and r.stdout == ""
    assert r.stderr.splitlines()[-1] == "treadle: info takes no arguments, and 'all' is one"


def test_the_version_stands_once():
    """In meson.build; all else takes it from there. The latest changes are those of that version."""
    version = re.search(r"(?m)^  version: '([\d.]+)'", (ROOT / "meson.build").read_text())[1]
    assert treadle.__version__ == version and "__version__" in dir(treadle)
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert re.search(r"(?m)^## (\S+)", (ROOT / "CHANGES.md").read_text())[1] == version
    for path in (ROOT / "python").rglob("*.py"):
        assert f'"{version}"' not in path.read_text(), path
