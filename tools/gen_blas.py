"""Generates python/treadle/cuda/blas/_routines.py, the methods of `Blas`, and the table of docs/cuda/blas.md, from src/libs/blas.def.

``--check`` writes nothing and exits with 1 when one of them is not current.
"""

from __future__ import annotations

import re
from pathlib import Path

import made

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src/libs/blas.def"
METHODS = ROOT / "python/treadle/cuda/blas/_routines.py"
PAGE = ROOT / "docs/cuda/blas.md"
WIDTH = 110
MARK, END = "<!-- routines: tools/gen_blas.py -->\n", "<!-- end of routines -->\n"

HEAD = '''\
"""The routines of BLAS as methods. Generated from src/libs/blas.def by tools/gen_blas.py; do not edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._calls import Calls

if TYPE_CHECKING:
    from ._calls import Number, Operand

__all__ = ["Routines"]


class Routines(Calls):
    """The methods of `Blas`: each takes what BLAS's routine of that name does, without the distances between items, which arrays have themselves."""
'''

# What methods take, by the words of the table.
TYPES = {
    "OP": "str",
    "UPLO": "str",
    "SIDE": "str",
    "DIAG": "str | bool",
    "N": "int",
    "SC": "Number",
    "RE": "Number",
    "IO": "Number",
    "FIVE": "Operand",
    "MAT": "Operand",
    "VEC": "Operand",
    "AP": "Operand",
}
RESULTS = {"REAL": "float", "TYPED": "Any", "INDEX": "int"}
SIZES = {"M": "m", "N": "n", "K": "k", "BAND": "kl + ku + 1", "K1": "k + 1"}


def rows() -> list[tuple[str, str, list[tuple[str, list[str]]], str]]:
    """Name, variants, words, and what it does, of each row."""
    found = re.findall(
        r'^R\((\w+), (.*?), ((?:LEN|N|IO|OP|UPLO|SIDE)\b.*), "(.*)"\)$', TABLE.read_text(), re.M
    )
    return [
        (
            name,
            variants,
            [
                (kind, [a.strip() for a in args.split(",")] if args else [])
                for kind, args in re.findall(r"(\w+)(?:\(([^)]*)\))?(?: |$)", words)
            ],
            about,
        )
        for name, variants, words, about in found
    ]


def dtypes(variants: str) -> str:
    """What arrays may be of."""
    real = bool(re.search(r"T[24]\(|F32", variants))
    pairs = bool(re.search(r"T4\(|C2\(|C64", variants))
    each = ["float32, float64"] * real + ["complex64, complex128"] * pairs
    return ", ".join(each)


def shape(kind: str, args: list[str]) -> str:
    """That of an array, as the routine uses it."""
    if kind == "AP":
        return "n (n + 1) / 2"
    a, b, slot = args[3:6]
    if a == "SIDED":
        return "m, on the right n" if kind == "VEC" else "m x m, on the right n x n"
    if kind == "VEC":
        return SIZES[a] if slot == "NONE" else f"{SIZES[a]}, transposed {SIZES[b]}"
    rows_of, columns = (f"({s})" if " " in s else s for s in (SIZES[a], SIZES[b]))
    return f"{rows_of} x {columns}" + ("" if slot == "NONE" else f", transposed {columns} x {rows_of}")


def head(name: str, params: list[tuple[str, str]], result: str) -> str:
    """The line that begins it, as it is formatted."""
    given = ["self", *(f"{word}: {type_}" for word, type_ in params)]
    one = f"    def {name}({', '.join(given)}) -> {result}:\n"
    if len(one) <= WIDTH + 1:
        return one
    within = f"        {', '.join(given)}\n"
    if len(within) > WIDTH + 1:
        within = "".join(f"        {word},\n" for word in given)
    return f"    def {name}(\n{within}    ) -> {result}:\n"


def method(number: int, name: str, variants: str, words: list[tuple[str, list[str]]], about: str) -> str:
    """The text of one."""
    params, reads, writes, result, by_arrays = [], [], [], "None", False
    for kind, args in words:
        word = "AP" if kind == "AP" else args[0] if args else kind.lower()
        if kind == "RESULT":
            result = RESULTS[args[0]]
        elif kind == "LEN":
            by_arrays = True
        elif kind in ("GIVES", "GIVES_RE"):
            result = "tuple[Any, ...]"
        elif kind == "GIVES_FIVE":
            result = "Any"
        else:
            params.append((word, TYPES[kind]))
        if kind in ("MAT", "VEC", "AP"):
            use = args[0] if kind == "AP" else args[2]
            how = f"``{word}``" if by_arrays else f"``{word}`` ({shape(kind, args)})"
            (writes if use == "OUT" else reads).append(how)
    body = [f'        """{about[0].upper()}{about[1:]}.', ""]
    body.append(f"        Of {dtypes(variants)}.")
    if reads or writes:
        said = [f"Reads {', '.join(reads)}"] * bool(reads) + [
            f"{'w' if reads else 'W'}rites {', '.join(writes)}"
        ] * bool(writes)
        body[-1] += f" {'; '.join(said)}."
    body.append('        """')
    call = f"self._call({number}, {', '.join(word for word, _ in params)})"
    return (
        "\n"
        + head(name, params, result)
        + "\n".join(body)
        + f"\n        {'return ' if result != 'None' else ''}{call}{'  # type: ignore[no-any-return]' if result not in ('None', 'Any') else ''}\n"
    )


def methods() -> str:
    """The module."""
    return HEAD + "".join(method(k, *row) for k, row in enumerate(rows()))


def table() -> str:
    """The table of the page."""
    out = ["| method | dtypes | what it does |\n|---|---|---|\n"]
    for name, variants, words, about in rows():
        params = [
            "AP" if kind == "AP" else args[0] if args else kind.lower()
            for kind, args in words
            if kind in TYPES
        ]
        short = dtypes(variants).replace("float32, float64, complex64, complex128", "all four")
        text = about.replace("``", "`")
        out.append(f"| `{name}({', '.join(params)})` | {short} | {text} |\n")
    return "".join(out)


def page() -> str:
    """The page: what is written by hand around the table."""
    head, mark, rest = PAGE.read_text().partition(MARK)
    _, end, tail = rest.partition(END)
    if not mark or not end:
        raise SystemExit("gen_blas.py: docs/cuda/blas.md has lost its marks")
    return head + mark + "\n" + table() + "\n" + end + tail


if __name__ == "__main__":
    raise SystemExit(
        made.write_or_check(METHODS, methods(), __doc__) | made.write_or_check(PAGE, page(), __doc__)
    )
