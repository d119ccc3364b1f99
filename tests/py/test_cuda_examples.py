"""The examples of CUDA kernels: each checks its result itself."""

from __future__ import annotations

import os
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from treadle.cuda import _link

FOLDER = pathlib.Path(__file__).parents[2] / "examples"
# Odd sizes, so that the last blocks reach beyond; and what the last line must say.
SIZES = {
    "cuda_matmul": ("133", "Both give what NumPy gives."),
    "cuda_transpose": ("150", "Both give what NumPy gives."),
    "cuda_atomics": ("50001", "as NumPy has it"),
    "cuda_streams": ("40004", "as NumPy has it"),
    "cuda_linking": ("3001", "All prices are as Python has them."),
    "cuda_sparse_pca": ("1001", "treadle.sparse_pca finds the same one."),
}


def run(name: str, argument: str) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", argument],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TREADLE_CUDA_WARN": "copy"},  # grids are tiny here
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def test_all_are_tried():
    assert {p.stem for p in FOLDER.glob("cuda_*.py")} == {
        *SIZES,
        "cuda_mandelbrot",
        "cuda_particles",
    }  # the last: test_examples.py


@pytest.mark.parametrize("name", SIZES)
def test_examples(name):
    if name == "cuda_linking" and not (_link._clang() or _link._host_compiler(cxx=True)):
        pytest.skip("there is no compiler of C++")
    size, says = SIZES[name]
    lines = run(name, size).splitlines()
    assert says in lines[-1] and any(size in line for line in lines)


def test_picture(tmp_path):
    path = tmp_path / "m.png"
    assert "as NumPy has it" in run("cuda_mandelbrot", str(path))
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (650, 600)
    size = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(600, 1 + 3 * 650)
    black = (rows[:, 1:].reshape(600, 650, 3) == 0).all(axis=2)
    assert black[300, 400] and not black[0].any() and 0.2 < black.mean() < 0.3
    assert (black[1:300] == black[:300:-1]).mean() > 0.99  # the set is symmetric
