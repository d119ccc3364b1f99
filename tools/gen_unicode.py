"""Make the table of characters that strings are asked about: ``gen_unicode.py [--check]``.

Writes ``src/rt/unicode.def``: what `str` of each Python says of each character, as records that many characters share, and two levels of numbers that lead
to them. Pythons differ in their version of Unicode, so that a character has a history, a record for each of them. With ``--check`` it compares instead, and
exits with 1 where the file is stale. It asks the Pythons themselves (`unicode_rows.py`): all have to be on this machine or in the Debian root that
``$TREADLE_ROOT`` names.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import devenv
from made import write_or_check

OUT = devenv.ROOT / "src" / "rt" / "unicode.def"
ROWS = Path(__file__).with_name("unicode_rows.py")
SHIFT = 7
EXTRA = 1 << 30  # of a mapping: it is of several characters
WIDTH = 150

HEAD = """/* Made by tools/gen_unicode.py. A character's history is PAGES[BLOCKS[c >> SHIFT]][c's last SHIFT bits], its records those of Python {names}.
 * RECORD(flags, decimal digit or -1, upper, lower, title, fold): a mapping is what is added to the character; from {extra:#x} on the
 * number of characters << 16 and their place in MORE */
"""

Row = tuple[int | tuple[int, ...], ...]


def ask(version: str) -> tuple[str, list[Row]]:
    """Return a Python's version of Unicode, and what it says of every character."""
    python = devenv.find(version)
    if python is None:
        sys.exit(f"gen_unicode.py: there is no Python {version} here, nor in a root that $TREADLE_ROOT names")
    out = subprocess.run(
        [*(devenv.enter(python.root) if python.root else ()), str(python.path), "-"],
        input=ROWS.read_text(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=devenv.root_env() if python.root else None,
    )
    unicode, runs = json.loads(out.stdout)
    rows: list[Row] = []
    for row, count in runs:
        rows += [tuple(tuple(x) if isinstance(x, list) else x for x in row)] * count
    return unicode, rows


def numbers(name: str, values: list[int]) -> str:
    """Return a table as text."""
    lines, line = [], ""
    for v in values:
        if len(line) + len(str(v)) + 1 > WIDTH:
            lines.append(line)
            line = ""
        line += f"{v},"
    return f"#ifdef {name}\n{name}(\n" + "\n".join([*lines, line.rstrip(",")]) + "\n)\n#endif\n"


def text() -> str:
    """Return the file."""
    records: dict[tuple[int, ...], int] = {}
    more: list[int] = []
    places: dict[tuple[int, ...], int] = {}

    def value(x: int | tuple[int, ...]) -> int:
        if isinstance(x, int):
            return x
        if x not in places:
            places[x] = len(more)
            more.extend(x)
        return EXTRA | len(x) << 16 | places[x]

    def record(row: Row) -> int:
        return records.setdefault(tuple(map(value, row)), len(records))

    asked = [ask(v) for v in devenv.SUPPORTED]
    histories: dict[tuple[Row, ...], int] = {}
    of = [
        histories.setdefault(rows, len(histories)) for rows in zip(*(rows for _, rows in asked), strict=True)
    ]
    pages: dict[tuple[int, ...], int] = {}
    size = 1 << SHIFT
    blocks = [pages.setdefault(tuple(of[at : at + size]), len(pages)) for at in range(0, len(of), size)]
    lines = [f"HISTORY({', '.join(str(record(row)) for row in rows)})" for rows in histories]
    assert max(len(pages), len(records), len(histories)) < 65536
    names = ", ".join(
        f"{v} (Unicode {unicode})" for v, (unicode, _) in zip(devenv.SUPPORTED, asked, strict=True)
    )
    out = HEAD.format(names=names, extra=EXTRA)
    out += f"#ifdef PYTHONS\nPYTHONS({devenv.SUPPORTED[0].split('.')[1]}, {len(asked)})\n#endif\n"
    out += "#ifdef RECORD\n" + "\n".join(f"RECORD({', '.join(map(str, r))})" for r in records) + "\n#endif\n"
    out += "#ifdef HISTORY\n" + "\n".join(lines) + "\n#endif\n"
    out += (
        numbers("MORE", more)
        + numbers("BLOCKS", blocks)
        + numbers("PAGES", [x for page in pages for x in page])
    )
    return out + "".join(
        f"#undef {name}\n" for name in ("PYTHONS", "RECORD", "HISTORY", "MORE", "BLOCKS", "PAGES")
    )


if __name__ == "__main__":
    sys.exit(write_or_check(OUT, text(), __doc__))
