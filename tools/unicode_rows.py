"""Tell what `str` of the Python that runs this says of each character, for `gen_unicode.py`, which gives it to every Python that Treadle runs on.

Prints JSON: Unicode's version, and rows, each with the number of characters that it holds of, one after the other. A row is `flags`, the decimal digit or -1,
and what the character becomes as upper, lower, title case and folded: the difference, or the characters where they are several. It imports nothing of
Treadle's: it is read from standard input, by Pythons that do not see this folder.
"""

from __future__ import annotations

import itertools
import json
import unicodedata


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


def mapping(c: str, to: str) -> int | list[int]:
    """Return what is added to a character, or the characters that it becomes."""
    return ord(to) - ord(c) if len(to) == 1 else list(map(ord, to))


def row(code: int) -> list[int | list[int]]:
    """Return what holds of a character."""
    c = chr(code)
    lower = "\u03c3" if c == "\u03a3" else c.lower()  # where it stands tells which of two
    return [
        flags(c),
        unicodedata.decimal(c, -1),
        *(mapping(c, to) for to in (c.upper(), lower, c.title(), c.casefold())),
    ]


if __name__ == "__main__":
    runs = [[r, len(list(group))] for r, group in itertools.groupby(map(row, range(0x110000)))]
    print(json.dumps([unicodedata.unidata_version, runs]))
