"""Finds functions that nobody calls: declared in a header, defined once, and named nowhere else.

    python3 tools/check_calls.py [--root DIR]

The compiler says so of static functions only. Names are read as words, comments left out, and those that a macro pastes together (`tr_rt_sum_##T`) count
as named where a table has them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DECLARED = re.compile(r"^(static inline|typedef|)\b[^\n(#]*?\b(tr_\w+)\s*\(", re.M)
WORD = re.compile(r"\btr_\w+\b")
PASTED = re.compile(r"\b(tr_\w+)##")


def unused(sources: dict[str, str]) -> list[str]:
    """Return the faults of a program.

    Parameters
    ----------
    sources
        The text of each file by its path.
    """
    named: Counter[str] = Counter()
    declared: dict[str, tuple[str, int]] = {}  # where, and how often it is named if nobody calls it
    pasted: set[str] = set()
    for path, text in sources.items():
        code = COMMENT.sub(" ", text)
        named.update(WORD.findall(code))
        pasted.update(PASTED.findall(code))
        if path.endswith(".h"):
            for kind, name in DECLARED.findall(code):
                if kind != "typedef":
                    declared[name] = (path, 1 if kind else 2)
    return [
        f"{path}: nobody calls {name}"
        for name, (path, least) in sorted(declared.items())
        if named[name] <= least and not any(name.startswith(p) for p in pasted)
    ]


def read(root: Path) -> dict[str, str]:
    """Return what `unused` takes: the sources, and what else names their functions."""
    files = [p for d in ("src", "tests/c", "bench") for p in sorted((root / d).rglob("*"))]
    return {
        str(p.relative_to(root)): p.read_text(encoding="utf-8")
        for p in files
        if p.suffix in (".c", ".h", ".def", ".cpp", ".inc") and ".venv" not in p.parts
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    found = unused(read(parser.parse_args().root))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
