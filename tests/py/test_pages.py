"""Pages of docs/ that teach: their programs run as they stand there, and print what stands below them; messages that a page quotes are in the source; no cell of a table is too long to read."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

# A program, with its file's name in the first line, and what it prints, if anything.
PROGRAM = re.compile(r"(?ms)^```python\n(# (\S+\.py)\n.*?)^```\n(?:\n```\n(.*?)^```\n)?")


def programs(page: str) -> dict[str, tuple[str, str]]:
    """Each program of a page: its text, and its output."""
    return {m[2]: (m[1], m[3] or "") for m in PROGRAM.finditer((DOCS / page).read_text())}


def run(folder: Path, command: str) -> str:
    """What a command prints, with paths as a reader sees them who is in that folder; `python` is the one that runs the tests."""
    env = {**os.environ, "TREADLE_CACHE_DIR": str(folder / "code"), "TREADLE_VERIFY": "0"}
    for name in ("TREADLE_DUMP", "TREADLE_DISABLE_JIT"):
        env.pop(name, None)
    words = shlex.split(command)
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    assert words.pop(0) == "python"
    r = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
    )
    assert "Traceback" not in r.stdout, r.stdout
    return r.stdout.replace(f"{folder}{os.sep}", "")


def write(folder: Path, page: str) -> None:
    for file, (text, _) in PAGES[page].items():
        (folder / file).write_text(text)


TAUGHT = ("tutorial.md", "slow.md", "profiling.md", "troubleshooting.md")  # pages of programs alone
PAGES = {page: programs(page) for page in (*TAUGHT, "cuda.md", "containers.md", "strings.md")}


@pytest.mark.parametrize(("page", "name"), [(page, name) for page, all_ in PAGES.items() for name in all_])
def test_a_program_prints_what_the_page_says(tmp_path: Path, page: str, name: str) -> None:
    write(tmp_path, page)
    assert run(tmp_path, f"python {name}") == PAGES[page][name][1]


# A command and what it prints: a block each, of the pages above.
CONSOLE = re.compile(r"(?ms)^```console\n\$ (.*?)\n(.*?)^```$")
COMMANDS = [(page, *m.groups()) for page in PAGES for m in CONSOLE.finditer((DOCS / page).read_text())]


@pytest.mark.parametrize(("page", "command", "output"), COMMANDS, ids=[c[1] for c in COMMANDS])
def test_a_command_prints_what_the_page_says(tmp_path: Path, page: str, command: str, output: str) -> None:
    write(tmp_path, page)
    assert run(tmp_path, command) == output


@pytest.mark.parametrize("page", TAUGHT)
def test_every_program_has_a_name_of_its_own(page: str) -> None:
    text = (DOCS / page).read_text()
    assert len(PAGES[page]) == len(re.findall(r"(?m)^```python$", text)) > 5
    assert text.count("```console") == sum(p == page for p, *_ in COMMANDS)


def test_another_output_is_noticed(tmp_path: Path) -> None:
    page = "```python\n# a.py\nprint(1)\n```\n\n```\n2\n```\n"
    text, output = PROGRAM.search(page).group(1, 3)
    (tmp_path / "a.py").write_text(text)
    assert run(tmp_path, "python a.py") == "1\n" != output == "2\n"


def test_figures_of_slow_belong_to_pairs() -> None:
    """What bench/slow.py measures and writes: a line below each program that has a `before` and an `after`."""
    text = (DOCS / "slow.md").read_text()
    parts = re.split(r"(?m)^```python\n", text)[1:]
    pairs = [p for p in parts if re.search(r"(?m)^(def )?after\b", p)]
    for part in parts:
        measured = re.findall(r"(?m)^<!-- measured -->\n\*Measured: .* before, .* after; ratio .*\*$", part)
        assert len(measured) == part.count("<!-- measured -->") == (part in pairs), part
    assert len(pairs) > 12 and "Measured on one core of" in text


# --- troubleshooting.md ---

QUOTED = re.findall(r"(?m)^### `(.*)`$", (DOCS / "troubleshooting.md").read_text())


def strings(path: Path) -> str:
    """The text of a source, with adjacent string literals joined and escapes of quotes undone."""
    text = re.sub(r'"\s*\n\s*(?:f|rf)?"', "", path.read_text(errors="replace"))
    return text.replace('\\"', '"').replace("\\'", "'")


SOURCES = "\n".join(
    strings(p)
    for folder in ("src", "python/treadle")
    for p in sorted((ROOT / folder).rglob("*"))
    if p.suffix in {".c", ".h", ".def", ".py", ".inc"}
)


def is_said(quoted: str) -> bool:
    """Whether the pieces of a quoted message, between its `...`, stand in one line of the source."""
    pieces = [re.escape(p.strip()) for p in quoted.split("...") if p.strip()]
    return re.search(r".{0,60}?".join(pieces), SOURCES) is not None


@pytest.mark.parametrize("quoted", QUOTED)
def test_a_quoted_message_is_in_the_source(quoted: str) -> None:
    assert len(quoted) > 12 and is_said(quoted)


def test_a_message_that_is_gone_is_noticed() -> None:
    assert len(QUOTED) > 20
    assert is_said("iterations of a prange loop depend on each other")
    assert not is_said("iterations of a prange loop are dependent")


# --- tables ---

MOST = 300  # characters of a cell: what is longer is text, and stands before the table


def cells(page: str) -> list[str]:
    """The cells of a page's tables."""
    text = re.sub(r"(?ms)^```.*?^```", "", page)
    rows = re.findall(r"(?m)^\|(.*)\|$", text)
    return [c.strip() for row in rows for c in re.split(r"(?<!\\)\|", row)]


@pytest.mark.parametrize("page", sorted(p.name for p in DOCS.glob("*.md")))
def test_no_cell_is_a_paragraph(page: str) -> None:
    assert [c for c in cells((DOCS / page).read_text()) if len(c) > MOST] == []


def test_a_long_cell_is_noticed() -> None:
    page = f"```\n| {'no' * 200} |\n```\n\n| a | `x \\| y` |\n|---|---|\n| {'b' * 301} | c |\n"
    assert [c for c in cells(page) if len(c) > MOST] == ["b" * 301]
    assert r"`x \| y`" in cells(page)
