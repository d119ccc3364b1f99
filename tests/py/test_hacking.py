"""HACKING.md shows what the compiler really prints."""

from __future__ import annotations

import fnmatch
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import hacking

PAGE = hacking.PAGE.read_text()


@pytest.fixture(scope="module")
def blocks():
    return hacking.blocks(PAGE)


def test_every_stage_is_shown(blocks):
    stages = {b.group(1) for b in hacking.BLOCK.finditer(PAGE)}
    assert stages == {"code", "front", "infer", "opt", "opt:agree", "opt:fuse", "fuse"}
    assert len(blocks) >= 3


def test_dumps_are_current(blocks):
    for block, text in blocks:
        assert block.group(3) == text, f"run: python tools/hacking.py --write ({block.group(1)})"


def test_a_wrong_dump_is_noticed(monkeypatch):
    monkeypatch.setattr(hacking, "PAGE", hacking.PAGE)
    monkeypatch.setattr(hacking, "dump", lambda *_: "something else\n")
    assert hacking.main(write=False) == 1


# --- what pages for developers name exists ---

# The pages, and where a path that they name may start.
PAGES = {
    "HACKING.md": ("", "src"),
    "STYLE.md": ("", "src"),
    "docs/README.md": ("", "docs"),
    "tests/README.md": ("", "tests", "tests/py", "tests/c"),
    "tools/README.md": ("", "tools"),
    **{
        str(p.relative_to(ROOT)): ("", "src", str(p.parent.relative_to(ROOT)))
        for p in ROOT.glob("src/*/README.md")
    },
}
BARE = {p.name for f in ("src", "tests", "tools") for p in (ROOT / f).rglob("*.*")} | {
    "Python.h",
    "walk.py",
    "blend.py",
}
SOURCES = "\n".join(p.read_text() for p in ROOT.glob("src/**/*.[chd]*") if p.is_file())


def names_that_do_not_exist(text: str, folders: tuple[str, ...]) -> list[str]:
    text = re.sub(r"(?s)<!-- dump.*?```\n.*?```", "", text)
    wrong = []
    for path in re.findall(r"[\w./*<>-]+\.(?:c|h|cpp|def|py|md|ir)\b", text):
        pattern = re.sub(r"<\w+>|VVV", "*", path)
        if "/" not in pattern and (pattern in BARE or pattern.startswith("*")):
            continue
        if not any(any((ROOT / f).glob(pattern.removeprefix("../"))) for f in folders):
            wrong.append(path)
    for name in re.findall(r"\b(?:tr|TR)_\w+\b", text):
        if not re.search(rf"\b{name}\b", SOURCES):
            wrong.append(name)
    return wrong


def unnamed(text: str, files: list[Path]) -> list[str]:
    """Return the sources that a folder's page does not name: as `a.c`, as `a`, or by a pattern."""
    words = set(re.findall(r"[\w*]+(?=\.\w+\b)|(?<=`)[\w*]+(?=`)", text))
    return [f.name for f in files if not any(fnmatch.fnmatchcase(f.stem, w) for w in words)]


@pytest.mark.parametrize(
    "folder", sorted(p.parent for p in ROOT.glob("src/*/README.md")), ids=lambda p: p.name
)
def test_a_folders_page_names_its_files(folder):
    files = [*folder.glob("*.c"), *folder.glob("*.cpp")]
    assert unnamed((folder / "README.md").read_text(), files) == []


def test_a_file_that_a_page_lacks_is_noticed():
    files = [Path("a.c"), Path("b.c"), Path("kind_x.c"), Path("other.c")]
    assert unnamed("`a` and `b.c` do, kind_*.c; other is no name", files) == ["other.c"]


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page):
    assert names_that_do_not_exist((ROOT / page).read_text(), PAGES[page]) == []


def test_a_wrong_name_is_noticed():
    text = "`opt/scalar/bounds.c` calls `tr_opt_bounds`, `opt/no_such.c` calls `tr_no_such_function`"
    assert names_that_do_not_exist(text, ("src",)) == ["opt/no_such.c", "tr_no_such_function"]
