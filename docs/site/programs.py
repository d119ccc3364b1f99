"""The programs of examples/ as pages: what each says of itself, what it prints and draws, and its text.

Every program runs once, in a folder of its own, and again only when it or the built package has changed. One
that fails is an error.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import treadle

ROOT = Path(__file__).resolve().parents[2]
PICTURES = (".png", ".svg", ".jpg", ".gif")


class Fault(Exception):
    """A program that failed; the text says which, and what it printed."""


def _built() -> str:
    """What tells one build of the package from another."""
    package = Path(treadle.__file__).parent
    files = [p for p in sorted(package.rglob("*")) if p.suffix in (".py", ".so", ".bc")]
    return repr([(str(p.relative_to(package)), p.stat().st_size, p.stat().st_mtime_ns) for p in files])


def _run(program: Path, folder: Path) -> str:
    """Run a program in a folder, where its pictures are then, unless it was; what it printed."""
    texts = b"".join(p.read_bytes() for p in sorted(program.parent.glob("*.py")))
    state = hashlib.sha256(texts + _built().encode()).hexdigest()
    record = folder / "run.json"
    if record.exists() and (kept := json.loads(record.read_text()))["state"] == state:
        return kept["printed"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(f"-- Running examples/{program.name}.", flush=True)
    env = {**os.environ, "TREADLE_CUDA": "emu", "TREADLE_CUDA_WARN": "0"}
    r = subprocess.run(
        [sys.executable, program], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    if r.returncode:
        raise Fault(f"examples/{program.name} failed with exit status {r.returncode}:\n{r.stdout}{r.stderr}")
    record.write_text(json.dumps({"state": state, "printed": r.stdout}))
    return r.stdout


def _indented(text: str) -> str:
    return "".join(f"   {line}\n" if line else "\n" for line in text.splitlines())


def about(program: Path) -> tuple[str, str]:
    """What a program is called, by its file and how its first line begins, and its whole docstring."""
    text = ast.get_docstring(ast.parse(program.read_text()))
    if not text:
        raise Fault(f"examples/{program.name} does not say what it is: it needs a docstring.")
    first = text.splitlines()[0]
    return f"{program.name}: {re.split('[:,.]', first)[0]}", text


def write(folder: Path, kept: Path) -> list[str]:
    """Write the pages into a folder; what runs gave is kept in another. Returns where the pages lie."""
    (folder / "examples").mkdir(parents=True)
    names = []
    rows = ""
    for program in sorted((ROOT / "examples").glob("*.py")):
        title, text = about(program)
        stem = program.stem
        printed = _run(program, kept / stem)
        page = f"{title}\n{'=' * len(title)}\n\n"
        paragraphs = text.split("\n\n")
        page += "".join(
            f".. code-block:: text\n\n{_indented(p.strip())}\n"
            if p.lstrip().startswith("python ")
            else f"{p}\n\n"
            for p in paragraphs
        )
        for picture in sorted(p for p in (kept / stem).iterdir() if p.suffix in PICTURES):
            copy = f"{stem}_{picture.name}"
            shutil.copyfile(picture, folder / "examples" / copy)
            page += f".. image:: {copy}\n   :alt: What examples/{program.name} draws\n\n"
        page += f"It prints\n---------\n\n.. code-block:: text\n\n{_indented(printed)}\n"
        page += "Its text\n--------\n\n"
        page += f".. code-block:: python\n\n{_indented(program.read_text())}\n"
        (folder / "examples" / f"{stem}.rst").write_text(page)
        names.append(f"examples/{stem}")
        rows += f"   {stem}\n"
    about_all = (
        "Each checks its results; what it prints and draws here is of the machine that made these pages."
    )
    index = f"Example programs\n================\n\n{about_all}\n\n"
    (folder / "examples" / "index.rst").write_text(f"{index}.. toctree::\n   :maxdepth: 1\n\n{rows}")
    return names
