"""The programs of examples/, small: each checks its result itself. docs/examples.md shows them all."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER, PAGE = ROOT / "examples", ROOT / "docs" / "examples.md"
# Arguments, PICTURE for a file to draw; and a line that is printed when all checks have passed.
PROGRAMS = {
    "quickstart": ("PICTURE.png", "all results were checked."),
    "nbody": ("80 PICTURE.png", "momentum is kept"),
    "gray_scott": ("32 PICTURE.png", "two steps are as NumPy has them"),
    "alignment": ("400", "the table is as plain Python fills it"),
    "options": ("2000", "the formula lies within 4 standard errors"),
    "clean_image": ("64 PICTURE.png", "the median is NumPy's"),
    "kalman": ("600 PICTURE.svg", "where 2 is right"),
    "sparse_pca": ("0.5", "All found the listing's sample."),
    "cuda_particles": ("700 PICTURE.png", "speeds are kept"),
}


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height of a PNG, or an SVG that is whole."""
    data = picture.read_bytes()
    if picture.suffix == ".svg":
        root = ET.fromstring(data)
        return int(root.get("width", "")), int(root.get("height", ""))
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND"
    return struct.unpack(">II", data[16:24])


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs(name: str, tmp_path: Path) -> None:
    arguments, says = PROGRAMS[name]
    words = [str(tmp_path / w) if w.startswith("PICTURE") else w for w in arguments.split()]
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=240,
        env={**os.environ, "TREADLE_CUDA_WARN": "copy"},  # grids are tiny here
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert says in done.stdout
    pictures = list(tmp_path.iterdir())
    assert len(pictures) == ("PICTURE" in arguments)
    assert all(min(size_of(p)) >= 32 for p in pictures)


def test_a_wrong_result_is_noticed(tmp_path: Path) -> None:
    """What the checks of the programs are worth: one that multiplies by 5 in place of 4 does not pass."""
    text = (FOLDER / "gray_scott.py").read_text()
    broken = text.replace("u[i, right] - 4.0 * u[i, j]", "u[i, right] - 5.0 * u[i, j]")
    assert broken != text
    for file, content in (("gray_scott.py", broken), ("picture.py", (FOLDER / "picture.py").read_text())):
        (tmp_path / file).write_text(content)
    done = subprocess.run(
        [sys.executable, "gray_scott.py", "32"], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 1 and "AssertionError" in done.stderr


def test_the_page_has_all() -> None:
    text = PAGE.read_text()
    programs = {p.stem for p in FOLDER.glob("*.py")} - {"picture"}
    assert programs == set(re.findall(r"\(\.\./examples/(\w+)\.py\)", text))
    others = {p for p in programs if p.startswith("cuda_")} - {"cuda_particles"}  # test_cuda_examples.py
    assert programs - others == set(PROGRAMS)
    shown = re.findall(r"!\[[^\]]+\]\((pictures/[\w.]+)\)", text)
    assert {PAGE.parent / p for p in shown} == set((PAGE.parent / "pictures").iterdir())
    for p in shown:
        picture = PAGE.parent / p
        assert picture.stat().st_size < 60_000 and min(size_of(picture)) >= 100, p
