"""Check that no line of C is wider than 110 columns, comments included: clang-format breaks code there, and leaves comments alone.

Tables (``*.def``) are as wide as their rows. Run as ``check_width.py FILE ...``; nothing is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

WIDTH = 110


def wide_lines(text: str) -> list[int]:
    """Return the numbers of the lines of ``text``, from 1, that are wider than WIDTH columns."""
    return [k for k, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH]


def main(files: list[str]) -> int:
    found = [f"{f}:{k}" for f in files for k in wide_lines(Path(f).read_text(encoding="utf-8"))]
    for place in found:
        print(f"{place}: wider than {WIDTH} columns")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
