"""What the generators of pages and tables share: a file is written, or compared with what it should be."""

from __future__ import annotations

import argparse
from pathlib import Path


def write_or_check(path: Path, text: str, about: str | None) -> int:
    """The whole of a generator's command line: `--check` compares only. Returns its exit status."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args().check:
        return 0 if path.exists() and path.read_text() == text else 1
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return 0
