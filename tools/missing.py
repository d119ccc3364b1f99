"""Reads src/lib/missing.def, the table of what compiled code does not have."""

from __future__ import annotations

import re
from pathlib import Path

TABLE = Path(__file__).parents[1] / "src/lib/missing.def"


def functions() -> list[tuple[str, list[str], str]]:
    """Rows: a module, its names ("*": all of it), what to do instead."""
    rows = re.findall(r'(?m)^M\("([\w.]+)", "([^"]+)", "([^"]+)"\)', TABLE.read_text())
    return [(module, names.split(), instead) for module, names, instead in rows]
