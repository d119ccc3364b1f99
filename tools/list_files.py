"""List the files of a folder that end in a suffix, one per line and sorted, for Meson.

Meson reads the list when it configures; ``make build`` configures again when a test was added or removed.
"""

from __future__ import annotations

import sys
from pathlib import Path


def list_files(root: Path, folder: str, suffix: str) -> list[str]:
    """Return the paths, relative to `root`, of the files under `folder` that end in `suffix`."""
    return sorted(str(p.relative_to(root)) for p in (root / folder).rglob("*" + suffix) if p.is_file())


if __name__ == "__main__":
    print("\n".join(list_files(Path(__file__).resolve().parent.parent, sys.argv[1], sys.argv[2])))
