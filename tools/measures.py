"""The house in numbers: sizes, functions, assertions, wide lines, how far one idea is spread, circles, layers, repeats.

    python3 tools/measures.py [--src DIR]

Ten measures, a line or a few each, of `src/` as it stands. They are no floors and nothing fails by them: they say where
to look. What must hold is in `make check`.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections import defaultdict
from pathlib import Path

import check_floors
import check_includes
import check_width

ROOT = Path(__file__).resolve().parent.parent
ASSERTION = re.compile(r"\b(?:tr_)?assert\w*\(|TR_ASSERT")
WINDOW = 6  # lines that are the same in two places


def function_lengths(text: str) -> list[int]:
    """Return the lines of each function of a formatted C file: from the line that opens its body to the brace that ends it."""
    lengths, start = [], None
    for k, line in enumerate(text.splitlines()):
        if line == "{" or (
            re.match(r"^[A-Za-z_].*\)\s*\{$", line)
            and not line.startswith(("typedef", "struct", "enum", "union"))
        ):
            start = k
        elif line == "}" and start is not None:
            lengths.append(k - start + 1)
            start = None
    return lengths


def circles(calls: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of files of which each calls, over others, all others of its group (Tarjan's components of two or more)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(v: str) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(calls.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                found.append(sorted(group))

    for v in sorted(calls):
        if v not in index:
            visit(v)
    return found


def calls_inside(folder: Path) -> dict[str, set[str]]:
    """Return which files of a folder each of them calls: by the functions with our prefix that they define."""
    code = {n: check_floors.COMMENT.sub("", t) for n, t in check_floors.sources_of(folder).items()}
    home = {f: n for n, t in code.items() for f in check_floors.DEFINED.findall(t)}
    return {
        n: {home[w] for w in set(check_floors.WORD.findall(t)) if w in home} - {n} for n, t in code.items()
    }


def repeats(texts: dict[str, str]) -> int:
    """Return how many pairs of files have WINDOW lines in a row alike, blanks and comments aside, includes and braces left out."""
    at: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for name, text in texts.items():
        code = check_floors.COMMENT.sub("", text).splitlines()
        lines = [x for x in (" ".join(line.split()) for line in code) if len(x) > 3 and x[0] != "#"]
        for k in range(len(lines) - WINDOW + 1):
            at[tuple(lines[k : k + WINDOW])].add(name)
    return len({(a, b) for names in at.values() for a in names for b in names if a < b})


def lists_of_ops(texts: dict[str, str]) -> dict[str, int]:
    """Return for each list of words that ops have (TR_WORDLISTS) how many files name its table, its names or its length."""
    header = texts["ir/ir.h"]
    out = {}
    for which, count in re.findall(
        r'X\((\w+), "[^"]+",\s*tr_\w+_name,\s*(TR_\w+__COUNT|\d+),', header.replace("\\\n", "")
    ):
        names = re.search(rf"X\({which}, [^\n]*?(tr_\w+_name), ", header)
        words = [names[1]] if names else []
        words += [count] if not count.isdigit() else []
        out[which.lower()] = sum(any(re.search(rf"\b{w}\b", t) for w in words) for t in texts.values())
    return out


def measures(src: Path) -> list[tuple[str, str]]:
    """Return the ten measures, each with its name."""
    paths = sorted(p for p in src.rglob("*") if p.suffix in (".c", ".h", ".def"))
    texts = {str(p.relative_to(src)): p.read_text(encoding="utf-8") for p in paths}
    c = {n: t for n, t in texts.items() if n.endswith(".c")}
    size = {n: t.count("\n") for n, t in texts.items()}
    lengths = sorted(x for t in c.values() for x in function_lengths(t))
    total = sum(size.values())
    folders: dict[str, list[str]] = defaultdict(list)
    for n in texts:
        folders[n.split("/")[0]].append(n)

    def per_thousand(names: list[str]) -> float:
        return sum(len(ASSERTION.findall(texts[n])) for n in names) / sum(size[n] for n in names) * 1000

    def spread(pattern: str) -> int:
        return sum(bool(re.search(pattern, t)) for t in texts.values())

    largest = max(c, key=lambda n: size[n])
    inside = {d: circles(calls_inside(src / d)) for d in folders}
    loose = {d: found for d, found in inside.items() if found and d not in check_floors.FLOORS}
    return [
        (
            "lines, files, median and largest .c",
            f"{total} {len(texts)} {statistics.median(size[n] for n in c):.0f} {largest} {size[largest]}",
        ),
        (
            "functions: median, p90, longest, over 60 lines",
            f"{len(lengths)}: {lengths[len(lengths) // 2]} {lengths[len(lengths) * 9 // 10]} {lengths[-1]} "
            f"{sum(x > 60 for x in lengths) / len(lengths):.2%}",
        ),
        (
            "assertions per 1,000 lines",
            f"{per_thousand(list(texts)):.1f}: "
            + " ".join(f"{d} {per_thousand(names):.1f}" for d, names in sorted(folders.items())),
        ),
        (
            "lines over 110 columns, tables aside",
            str(sum(len(check_width.wide_lines(t)) for n, t in texts.items() if not n.endswith(".def"))),
        ),
        (
            "files that name a reduction / TR_TY_ARRAY / TR_TY_TUPLE",
            f"{spread('TR_RED_[A-Z]')} / {spread('TR_TY_ARRAY')} / {spread('TR_TY_TUPLE')}",
        ),
        (
            "folders, thousand lines",
            " ".join(
                f"{d} {sum(size[n] for n in names) / 1000:.1f}"
                for d, names in sorted(folders.items(), key=lambda x: -sum(size[n] for n in x[1]))
            ),
        ),
        (
            "files in circles inside folders, by calls",
            (
                " ".join(f"{d} {sum(map(len, found))}" for d, found in sorted(inside.items()) if found)
                or "none"
            )
            + f"; without floors: {' '.join(sorted(loose)) or 'none'}",
        ),
        (
            "violations of layers, of floors",
            f"{len(check_includes.check(src))} {len(check_floors.check(src))}",
        ),
        (f"pairs of files with {WINDOW} lines alike", str(repeats(texts))),
        (
            "files that know a list of words of ops",
            " ".join(f"{w} {n}" for w, n in lists_of_ops(texts).items()),
        ),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, default=ROOT / "src")
    for name, value in measures(parser.parse_args().src):
        print(f"{name:56s} {value}")
