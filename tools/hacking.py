"""Keeps the dumps in HACKING.md true: runs the page's programs with TREADLE_DUMP and compares or rewrites the blocks.

    python tools/hacking.py            says which blocks differ, exit status 1 if any
    python tools/hacking.py --write    rewrites them

A program is followed by a comment that says how it is called, `call: EXPRESSION`. A block belongs to the program before
it and is marked by a comment, `dump: STAGE`, `dump: STAGE VERSION` for what depends on the interpreter, or `dump: STAGE to
BLOCK`, of which the page shows what stands before that block.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "HACKING.md"
BLOCK = re.compile(r"<!-- dump: ([\w:]+)(?: ([\d.]+))?(?: to (\w+))? -->\n```\n(.*?)```\n", re.S)
PROGRAM = re.compile(r"```python\n# (\w+\.py)\n(.*?)```\n<!-- call: (.*?) -->\n", re.S)


def dump(stage: str, name: str, source: str, call: str) -> str:
    """Return what a program prints of `stage`, the last function printed if a stage prints several times."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_text(f"{source}\nimport numpy as np\n{call}\n")
        done = subprocess.run(
            [sys.executable, name],
            cwd=folder,
            env={**os.environ, "TREADLE_DUMP": stage, "TREADLE_SKIP": "", "TREADLE_VERIFY": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        # The file is named as the page names it, wherever it was run.
        text = done.stderr.replace(folder + os.sep, "").strip()
    if stage.startswith("opt"):
        # One print per pass that changed something: the page shows the state after the last.
        parts = re.split(r"(?m)^(?=; --- opt:)", text)
        text = parts[-1].strip()
    return text + "\n"


def blocks(page: str) -> list[tuple[re.Match[str], str]]:
    """Return each block that this interpreter can make, with what it should hold."""
    here = "{}.{}".format(*sys.version_info)
    programs = list(PROGRAM.finditer(page))
    made = {}
    found = []
    for block in BLOCK.finditer(page):
        stage, version, end, _ = block.groups()
        if version and version != here:
            continue
        program = [p.groups() for p in programs if p.start() < block.start()][-1]
        if (stage, program) not in made:
            made[stage, program] = dump(stage, *program)
        found.append((block, shown(made[stage, program], end)))
    return found


def shown(text: str, end: str | None) -> str:
    """Return what the page shows of a dump: all of it, or what stands before the block named `end`, if it has one."""
    before, found, _ = text.partition(f"\n{end}")
    return before + "\n...\n" if end and found else text


def main(write: bool) -> int:
    page = PAGE.read_text()
    stale = [(block, text) for block, text in blocks(page) if block.group(4) != text]
    for block, text in reversed(stale):
        print(f"HACKING.md: the dump of '{block.group(1)}' is not what the compiler prints")
        page = page[: block.start(4)] + text + page[block.end(4) :]
    if write:
        PAGE.write_text(page)
        return 0
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--write" in sys.argv[1:]))
