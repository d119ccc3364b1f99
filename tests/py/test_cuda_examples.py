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
    "cuda_pricer": ("20001", "as near as it should be"),
    "cuda_saxpy": ("30001", "All three are as NumPy has it."),
    "cuda_sparse_pca": ("1001", "treadle.sparse_pca finds the same one."),
}


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *arguments],
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
        "cuda_filter",
        "cuda_laplace",
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


def pixels(path):
    """Of a PNG that an example has drawn: (rows, columns, 3)."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    columns, rows = struct.unpack(">II", data[16:24])
    size = struct.unpack(">I", data[33:37])[0]
    lines = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(rows, 1 + 3 * columns)
    return lines[:, 1:].reshape(rows, columns, 3)


def test_filter(tmp_path):
    """Stripes go: in the sky, rows of the cleaned half are even, and those before were not."""
    path = tmp_path / "f.png"
    assert "before and after" in run("cuda_filter", "256", str(path))
    drawn = pixels(path)[..., 0].astype(float)
    assert drawn.shape == (256, 2 * 384 + 4)
    before, after = drawn[10:50, 20:200], drawn[10:50, 388 + 20 : 388 + 200]
    assert after.std() < before.std() / 2 and abs(after.mean() - before.mean()) < 12


def test_laplace(tmp_path):
    path = tmp_path / "l.png"
    assert "All points are as NumPy has them." in run("cuda_laplace", "50", str(path))
    drawn = pixels(path)[..., 0]
    assert drawn.shape == (200, 200) and drawn[2, 100] > 200 and drawn[-2].max() == 0


def test_picture(tmp_path):
    path = tmp_path / "m.png"
    assert "as NumPy has it" in run("cuda_mandelbrot", str(path))
    drawn = pixels(path)
    assert drawn.shape == (600, 650, 3)
    black = (drawn == 0).all(axis=2)
    assert black[300, 400] and not black[0].any() and 0.2 < black.mean() < 0.3
    assert (black[1:300] == black[:300:-1]).mean() > 0.99  # the set is symmetric
