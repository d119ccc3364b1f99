"""Generates the tables of roles, schedules and ops in docs/ir.md from src/ir/roles.def, sched.def and op.def.

``--check`` writes nothing and exits with 1 when the page is not current.
"""

from __future__ import annotations

import re
from pathlib import Path

import made

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src/ir/op.def"
SCHEDULES = ROOT / "src/ir/sched.def"
ROLES = ROOT / "src/ir/roles.def"
PAGE = ROOT / "docs/ir.md"
MARK = "<!-- made from src/ir/roles.def, src/ir/sched.def and src/ir/op.def by tools/gen_ir.py; do not edit below -->\n"

RESULTS = {"-": "", "v": "untyped", "s": "same", "b": "`i1`", "n": "`i64`", "t": "typed"}
EFFECTS = {
    "E_READ": "r",
    "E_WRITE": "w",
    "E_RAISE": "!",
    "E_ALLOC": "a",
    "E_TERM": "t",
    "E_SIDE": "s",
    "E_LOOK": "l",
    "E_GROW": "g",
}
ROW = re.compile(
    r'X\(\w+,\s*"([^"]+)",\s*(-?\d+),\s*\'(.)\',\s*([^,]+),\s*\d+,\s*\'.\',\s*(\w+),\s*\'.\',\s*([^,]+)\)\s*(?:/\* (.*) \*/)?\s*'
)


def words_of(which: str) -> list[str]:
    """The words of one of the lists (TR_WORDLISTS) that may follow an op's name; none of a table with a page of its own."""
    header, tables = (ROOT / "src/ir/ir.h").read_text(), (ROOT / "src/ir/tables.c").read_text()
    names = re.search(rf"X\({which}, [^\n]*?(tr_\w+_name), ", header)
    body = names and re.search(rf"\b{names[1]}\[[^\n]*?\] = \{{(.*?)\}}[;,]", tables, re.S)
    if not body:
        return []
    table = re.search(r"(TR_\w+)\(X\)", body[1])
    rows = re.search(rf"#define {table[1]}\(X\)(.*?[^\\])\n", header, re.S) if table else None
    return re.findall(r'X\(\w+, "(\w+)"', rows[1]) if rows else re.findall(r'"(\w+)"', body[1])


def row(line: str) -> str:
    """The line of the page for a row of the table."""
    m = ROW.fullmatch(line)
    if not m:
        raise SystemExit(f"gen_ir.py: cannot read the row {line!r}")
    name, nargs, result, effects, words, stages, note = m.groups()
    flags = "".join(EFFECTS[e.strip()] for e in effects.split("|") if e.strip() != "0")
    where = {"S_F | S_T": "both", "S_F": "front", "S_T": "typed"}[stages.strip()]
    text = (note or "").replace("|", r"\|")
    if said := words_of(words):
        text += f"{'; ' if text else ''}words: {' '.join(f'`{w}`' for w in said)}"
    return (
        f"| `{name}` | {'*' if nargs == '-1' else nargs} | {RESULTS[result]} | {flags} | {where} | {text} |\n"
    )


def schedules() -> str:
    """The table of what a schedule may say."""
    out = ["\n### What a schedule may say\n\n| word | meaning |\n|---|---|\n"]
    for word, form, text in re.findall(r'(?m)^X\(\w+,\s*"(\w+)",\s*(\w+),.*?"(.*)"\)', SCHEDULES.read_text()):
        out.append(f"| `{word}{' N' if form != 'FLAG' else ''}` | {text} |\n")
    return "".join(out)


def roles() -> str:
    """The table of the roles that operands of a pattern have."""
    out = [
        "\n### Operands of a pattern, in their order\n\n"
        "Size: int64; space, kept: an array with the space's axes, or the kept ones; best: the kept ones and one more; packed: of one axis; "
        "target: an array of any. Item: an element; value: of the operand's type; key: a number that has an order; place: an index per axis, then an item. "
        "Memory: update is at computed places; inside, as the functions have it.\n\n"
        "| text | operand | the lambda takes | yields | the epilogue takes | yields | memory |\n|---|---|---|---|---|---|---|\n"
    ]
    for line in re.findall(r"(?m)^X\((.*)\)$", ROLES.read_text()):
        _, _, _, word, mark, _, of, operand, lam, epi, gives, epi_gives, memory = re.split(r",\s*", line)
        then = "then " if of == "'e'" else ""
        text = "[...]" if word == '"["' else f"{then}{word[1:-1]}(...)"
        said = [operand, lam, gives, epi, epi_gives, memory]
        cells = ["" if x == "NONE" else x.lower() for x in said]
        name = text if mark == "NULL" else text.replace("...", f"{mark[1:-1]} ...")
        out.append(f"| `{name}` | {' | '.join(cells)} |\n")
    return "".join(out)


def ops() -> str:
    """All sections of the table."""
    out = []
    for line in TABLE.read_text().splitlines():
        section = re.fullmatch(r"/\* --- (.*) --- \*/", line)
        if section:
            title = section[1].split(". ")[0]
            out.append(
                f"\n### {title[0].upper()}{title[1:]}\n\n| op | nargs | result | effects | stage | meaning |\n|---|---|---|---|---|---|\n"
            )
        elif line.startswith("X("):
            out.append(row(line))
    return "".join(out)


def page() -> str:
    """Text of the page: what is written by hand up to the mark, then the table."""
    head, mark, _ = PAGE.read_text().partition(MARK)
    if not mark:
        raise SystemExit("gen_ir.py: docs/ir.md has lost its mark")
    return head + mark + roles() + schedules() + ops()


if __name__ == "__main__":
    raise SystemExit(made.write_or_check(PAGE, page(), __doc__))
