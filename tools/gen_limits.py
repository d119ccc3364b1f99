"""Generates docs/limits.md, the page of what Treadle does not compile, from src/ir/nyi.def.

``--check`` writes nothing and exits with 1 when the page is not current.
"""

from __future__ import annotations

import re
from pathlib import Path

import made

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src/ir/nyi.def"
PAGE = ROOT / "docs/limits.md"

HEAD = """\
# What Treadle does not compile

Nothing is silently interpreted: a function that uses one of these raises `UnsupportedError` when it is compiled, that is at its first
call, with the place in the source. A function that merely refers to such code, without reaching it, compiles.

Generated from `src/ir/nyi.def` by `tools/gen_limits.py`; do not edit.
"""


def page() -> str:
    """Text of the page."""
    out = [HEAD]
    for line in TABLE.read_text().splitlines():
        section = re.fullmatch(r"/\* --- (.*) --- \*/", line)
        if section:
            out.append(
                f"\n## {section[1][0].upper()}{section[1][1:]}\n\n| not compiled | instead | id |\n|---|---|---|\n"
            )
        row = re.fullmatch(r'X\(\w+, "([^"]*)", "([^"]*)", "([^"]*)"\)', line)
        if row:
            ident, title, text = (part.replace("|", r"\|") for part in row.groups())
            out.append(f"| {title} | {text} | `{ident}` |\n")
        elif line.startswith("X("):
            raise SystemExit(f"gen_limits.py: cannot read the row {line!r}")
    return "".join(out)


if __name__ == "__main__":
    raise SystemExit(made.write_or_check(PAGE, page(), __doc__))
