"""Which tests run in quick code: every file named in levels.py is there, seven turns see all tests in full code, and a level holds for one test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import levels
import pytest

HERE = Path(__file__).parent
TESTS = """
import os, subprocess, sys
import pytest, treadle
from treadle import njit

@pytest.fixture
def made():
    return treadle.config.OPT_LEVEL

@pytest.mark.parametrize("k", range(40))
def test_level(k, made):
    child = subprocess.run([sys.executable, "-c", "import treadle; print(treadle.config.OPT_LEVEL)"], capture_output=True, text=True) if k < 2 else None
    level = treadle.config.OPT_LEVEL
    assert level == made and njit(lambda x: x + 1)(k) == k + 1
    assert child is None or int(child.stdout) == level
    print(f"level of {k}: {level}")
"""


def test_files_are_there():
    for stem in levels.LLVM | levels.LOOPS:
        assert (HERE / f"test_{stem}.py").exists(), stem
    assert not levels.LLVM & levels.LOOPS


def run(folder: Path, **env: str) -> dict[int, int]:
    (folder / "conftest.py").write_text((HERE / "conftest.py").read_text())
    for name in ("levels.py", "sizes.py"):
        (folder / name).write_text((HERE / name).read_text())
    (folder / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_some.py"]
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("TREADLE_OPT_LEVEL", "TREADLE_FULL", "TREADLE_TURN", "TREADLE_SLICE")
    }
    r = subprocess.run(command, cwd=folder, env={**kept, **env}, capture_output=True, text=True)
    assert r.returncode == 0, r.stdout + r.stderr
    lines = [line.partition("level of ")[2] for line in r.stdout.splitlines() if "level of " in line]
    return {int(k): int(level) for k, level in (line.split(": ") for line in lines)}


def test_a_level_is_a_tests_own(tmp_path: Path):
    some = run(tmp_path, TREADLE_FULL="7")
    assert len(some) == 40 and set(some.values()) == {0, 2} and list(some.values()).count(0) > 25
    assert set(run(tmp_path).values()) == {2}
    assert set(run(tmp_path, TREADLE_FULL="7", TREADLE_OPT_LEVEL="0").values()) == {0}


def test_seven_turns_see_all(monkeypatch: pytest.MonkeyPatch):
    names = [f"tests/py/test_ways_in.py::test_way[{k}]" for k in range(200)]
    monkeypatch.setattr(levels, "EACH", 7)
    seen: list[str] = []
    for turn in range(7):
        monkeypatch.setattr(levels, "TURN", turn)
        seen += [n for n in names if levels.is_full(n)]
        assert levels.is_full("tests/py/test_vmath.py::test_x[1]")
    assert sorted(seen) == sorted(names)
    monkeypatch.setattr(levels, "EACH", 1)
    assert all(map(levels.is_full, names))
