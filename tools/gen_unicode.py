"""Make the table of characters that strings are asked about: ``gen_unicode.py [--check]``.

Writes ``src/rt/unicode.def``: what `str` of the Python that runs this says of each character, as records that many characters share, and two levels of
numbers that lead to them. With ``--check`` it compares instead, and exits with 1 where the file is stale; a Python with another version of Unicode than the
file's, which differs by right, is told so and has nothing to compare.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

from made import write_or_check

OUT = Path(__file__).resolve().parent.parent / "src" / "rt" / "unicode.def"
MOST = 0x110000
SHIFT = 7
EXTRA = 1 << 30  # of a mapping: it is of several characters, or of one that is written out
WIDTH = 150

HEAD = """/* Made by tools/gen_unicode.py: characters of Unicode {version}. A character's record is RECORDS[PAGES[BLOCKS[c >> SHIFT]][c's last SHIFT bits]].
 * RECORD(flags, decimal digit or -1, upper, lower, title, fold): a mapping is what is added to the character; from {extra:#x} on the
 * number of characters << 16 and their place in MORE */
"""


def is_ignorable(c: str) -> bool:
    """Is it passed over where a sigma looks for its word? Then a letter before it counts, and it does not itself."""
    return ("A" + c + "\u03a3").lower().endswith("\u03c2") and not (c + "\u03a3").lower().endswith("\u03c2")


def flags(c: str) -> int:
    """Return what holds of a character, a bit each: TR_CHAR_* of rt/unicode.h, in their order."""
    asked = (
        c.isalpha(),
        c.isdecimal(),
        c.isdigit(),
        c.isnumeric(),
        c.islower(),
        c.isupper(),
        c.istitle() and not c.isupper(),
        c.isprintable(),
        c.isspace(),
        len(f"a{c}a".splitlines()) > 1,
        (c + "a").title()[-1] == "a",
        is_ignorable(c),
        c.isidentifier(),
        ("a" + c).isidentifier(),
    )
    return sum(1 << k for k, yes in enumerate(asked) if yes)


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
    places: dict[str, int] = {}

    def mapping(c: str, to: str) -> int:
        delta = ord(to) - ord(c) if len(to) == 1 else EXTRA
        if len(to) == 1:
            return delta
        if to not in places:
            places[to] = len(more)
            more.extend(map(ord, to))
        return EXTRA | len(to) << 16 | places[to]

    of = []
    for code in range(MOST):
        c = chr(code)
        upper, title, fold = c.upper(), c.title(), c.casefold()
        lower = "\u03c3" if c == "\u03a3" else c.lower()
        row = (
            flags(c),
            unicodedata.decimal(c, -1),
            mapping(c, upper),
            mapping(c, lower),
            mapping(c, title),
            mapping(c, fold),
        )
        of.append(records.setdefault(row, len(records)))
    pages: dict[tuple[int, ...], int] = {}
    size = 1 << SHIFT
    blocks = [pages.setdefault(tuple(of[at : at + size]), len(pages)) for at in range(0, MOST, size)]
    assert len(pages) < 65536 and len(records) < 65536
    out = HEAD.format(version=unicodedata.unidata_version, extra=EXTRA)
    out += "#ifdef RECORD\n" + "\n".join(f"RECORD({', '.join(map(str, r))})" for r in records) + "\n#endif\n"
    out += (
        numbers("MORE", more)
        + numbers("BLOCKS", blocks)
        + numbers("PAGES", [x for page in pages for x in page])
    )
    return out + "#undef RECORD\n#undef MORE\n#undef BLOCKS\n#undef PAGES\n"


if __name__ == "__main__":
    if "--check" in sys.argv and f"Unicode {unicodedata.unidata_version}." not in OUT.read_text():
        print(f"{OUT.name}: of another version of Unicode than {unicodedata.unidata_version}, not compared")
        sys.exit(0)
    sys.exit(write_or_check(OUT, text(), __doc__))
