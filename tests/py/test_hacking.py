"""HACKING.md shows what the compiler really prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import hacking

PAGE = hacking.PAGE.read_text()


@pytest.fixture(scope="module")
def blocks():
    return hacking.blocks(PAGE)


def test_every_stage_is_shown(blocks):
    stages = {b.group(1) for b in hacking.BLOCK.finditer(PAGE)}
    assert stages == {"code", "front", "infer", "opt"}
    assert len(blocks) >= 3


def test_dumps_are_current(blocks):
    for block, text in blocks:
        assert block.group(3) == text, f"run: python tools/hacking.py --write ({block.group(1)})"


def test_a_wrong_dump_is_noticed(monkeypatch):
    monkeypatch.setattr(hacking, "PAGE", hacking.PAGE)
    monkeypatch.setattr(hacking, "dump", lambda *_: "something else\n")
    assert hacking.main(write=False) == 1
