"""Generates docs/limits.md, the page of what Treadle does not compile, from src/ir/nyi.def and src/lib/missing.def.

What is missing as a whole stands here (KINDS).

``--check`` writes nothing and exits with 1 when the page is not current.
"""

from __future__ import annotations

import re
from pathlib import Path

import made
import missing

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src/ir/nyi.def"
PAGE = ROOT / "docs/limits.md"

HEAD = """\
# What Treadle does not compile

Nothing is silently interpreted: a function that uses one of these raises `UnsupportedError` when it is compiled, that is at its first
call, with the place in the source. A function that merely refers to such code, without reaching it, compiles.

Generated from `src/ir/nyi.def` and `src/lib/missing.def` by `tools/gen_limits.py`, which has the first table; do not edit.
"""

# What is missing as a whole, and what to do instead.
KINDS = (
    (
        'Lists, dicts and sets whose items have no type in common, `[1, "a"]`, that are changed, kept or returned',
        "a tuple, or a list for each type. Lists, dicts and sets of one type of items are there: [containers.md](containers.md)",
    ),
    (
        "Functions with `yield`",
        "a list that is returned, or the loop written out; generator expressions and `itertools` are there",
    ),
    (
        "Regular expressions",
        "`find`, `split`, `partition`, `replace` and the other methods of strings: [strings.md](strings.md)",
    ),
    (
        "Classes: objects as arguments, their attributes and methods, dataclasses, `self`",
        "numbers, arrays, tuples and named tuples of these. A method can hand what it needs to a compiled function",
    ),
    (
        "Integers of more than 64 bits, `decimal`, `fractions`",
        "floats, or Python outside of the compiled function. Constants are exact",
    ),
    (
        "Arrays of objects, `longdouble`, NumPy's strings of any length (`StringDType`) and dates whose unit is a multiple (`[25s]`), and such fields of records",
        "the fields one by one; `.astype(np.float64)`; `.view(np.int64)` or a plain unit",
    ),
    (
        "Masked arrays, arrays of the other byte order (`>f8`), and of classes with operators of their own (`np.matrix`, arrays with units)",
        "`a.data` and `a.mask` apart; `a.astype(a.dtype.newbyteorder('='))`; `np.asarray(a)`. `treadle run` takes such classes but masked arrays as plain ones, as Numba does",
    ),
    (
        "Files, input, and functions of other packages, but for ufuncs (`scipy.special`)",
        "a call outside of the compiled function, whose result is passed in",
    ),
)


def kinds() -> str:
    """The section of what is missing as a whole."""
    out = ["\n## What is not there\n\nWhole kinds of things; the sections below have the details.\n\n"]
    out += ["| not there | instead |\n|---|---|\n", *(f"| {what} | {instead} |\n" for what, instead in KINDS)]
    out.append(
        "\n## Functions and classes\n\n[numpy.md](numpy.md) lists those of NumPy that are there. The message of the error says what stands here.\n\n"
    )
    out.append("| not there | instead |\n|---|---|\n")
    for module, names, instead in missing.functions():
        shown = (
            f"`{module}`: what is not in [numpy.md](numpy.md)"
            if names == ["*"] and module.startswith("numpy")
            else f"`{module}`"
            if names == ["*"]
            else ", ".join(
                f"`{module.removeprefix('builtins.').removeprefix('builtins')}{'' if module == 'builtins' else '.'}{n}`"
                for n in names
            )
        )
        out.append(f"| {shown} | {instead} |\n")
    return "".join(out)


def page() -> str:
    """Text of the page."""
    out = [HEAD, kinds()]
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
