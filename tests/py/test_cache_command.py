"""``python -m treadle cache``: what it lists, what it removes, and what it leaves alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from treadle.run import main

PROGRAM = """import numpy as np
from treadle import njit, vectorize

@njit(cache=True)
def total(a, n):
    return a.sum() + n

@vectorize(cache=True)
def up(x):
    return x + 1

total(np.ones(3), 1)
total(np.ones(3), 1.5)
up(np.arange(3))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a cache that a program has filled."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))
    subprocess.run([sys.executable, str(program)], check=True)
    return tmp_path / "cache"


def say(capsys, *argv):
    """What a command prints; it must succeed."""
    assert main(["cache", *argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def entries(folder):
    return sorted(folder.glob("*.trc"), key=lambda p: p.stat().st_mtime)


def make_old(path, days):
    then = time.time() - days * 24 * 60 * 60
    os.utime(path, (then, then))


def test_list(folder, capsys):
    files = entries(folder)
    for k, f in enumerate(files):
        make_old(f, 2 * (k + 1))
    head, *rows = say(capsys)
    size = sum(f.stat().st_size for f in files)
    assert head == f"{folder}: {len(files)} entries, {size / 1e6:.2f} MB"
    assert len(rows) == len(files) >= 3
    assert [row.split("  ")[0].strip() for row in rows] == [
        f"{2 * (k + 1)} days ago" for k in range(len(files))
    ]
    for title, line in (
        ("total(array(float64, 1d, C), int64)", 4),
        ("total(array(float64, 1d, C), float64)", 4),
        ("up.ufunc(", 8),
    ):
        of = [row for row in rows if f"  {title}" in row]
        assert of and all(row.endswith(f"program.py:{line}") for row in of), (title, rows)


def test_a_use_makes_it_young(folder, tmp_path, capsys):
    for f in entries(folder):
        make_old(f, 40)
    subprocess.run([sys.executable, str(tmp_path / "program.py")], check=True)
    assert all(row.strip().startswith("now") for row in say(capsys)[1:])


def test_clean_by_age(folder, capsys):
    files = entries(folder)
    make_old(files[0], 31)
    make_old(files[1], 29)
    (said,) = say(capsys, "--clean", "30")
    assert said.startswith(f"{folder}: removed 1 entry, ") and f"; {len(files) - 1} entries" in said
    assert not files[0].exists() and files[1].exists()
    say(capsys, "--clean", "0.5")
    assert not files[1].exists() and files[2].exists()


def test_clean_all_leaves_what_is_not_ours(folder, tmp_path, capsys):
    files = entries(folder)
    name = files[0].name
    kept = [
        folder / "notes.txt",
        folder / ("0" * 64 + ".trc"),
        folder / (name[:-4] + ".bak"),
        folder / ".new-short",
    ]
    for path in kept:
        path.write_text("mine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(files[0].read_bytes())
    link = folder / ("1" * 64 + ".trc")
    link.symlink_to(elsewhere)
    inside = folder / ("2" * 64 + ".trc")
    inside.mkdir()
    old = folder / ("3" * 64 + ".trc")  # of another version: the first bytes say whose it is
    old.write_bytes(files[0].read_bytes()[:8] + b"\x63" * 40)
    old.chmod(0o600)
    assert any("of another version" in row for row in say(capsys))
    (said,) = say(capsys, "--clean")
    assert said.startswith(f"{folder}: removed {len(files) + 1} entries, ")
    assert {*folder.iterdir()} == {*kept, link, inside} and elsewhere.exists()
    assert say(capsys)[0].startswith(f"{folder}: 0 entries")


def test_files_that_are_being_written(folder, capsys):
    new, left = folder / ".new-abcdef", folder / ".new-ABCDEF"
    for path in (new, left):
        path.write_bytes(b"")
        path.chmod(0o600)
    make_old(left, 1)
    n = len(entries(folder))
    assert len(say(capsys)) == 1 + n  # they are not listed
    say(capsys, "--clean")
    assert new.exists() and not left.exists() and not entries(folder)


def test_names_that_no_terminal_shows(folder, tmp_path, capsys):
    entry = entries(folder)[0]
    data = bytearray(entry.read_bytes())
    at = data.index(b"program.py")
    data[at : at + 4] = b"\xff\xfe\n\x80"  # its checksum is not looked at
    entry.write_bytes(data)
    assert len("\n".join(say(capsys))) > 0


def test_no_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "none"))
    for argv in ([], ["--clean"]):
        assert say(capsys, *argv) == [f"treadle cache: {tmp_path / 'none'} is not there yet"]
    assert not (tmp_path / "none").exists()
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "open"))
    assert main(["cache"]) == 1
    assert "can be written by others" in capsys.readouterr().err


RACE = """import sys
from treadle import njit
def make(k):
    @njit(cache=True)
    def f(x):
        return x + k
    return f
for k in range(40):
    assert make(k)(1) == 1 + k
"""


def test_beside_programs(tmp_path, monkeypatch, capsys):
    """Entries go and come while programs read and write them: no call fails, and cleaning does not either."""
    program = tmp_path / "program.py"
    program.write_text(RACE)
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache"), "TREADLE_OPT_LEVEL": "0"}
    monkeypatch.setenv("TREADLE_CACHE_DIR", env["TREADLE_CACHE_DIR"])
    running = [subprocess.Popen([sys.executable, str(program)], env=env) for _ in range(2)]
    while any(p.poll() is None for p in running):
        say(capsys, "--clean")
        say(capsys)
        time.sleep(0.01)
    assert [p.returncode for p in running] == [0, 0]
