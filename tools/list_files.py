"""Lists files: those of a folder, for Meson, and those that the READMEs of src/ name, each with what its head says.

    python3 tools/list_files.py FOLDER SUFFIX       the paths of a folder's files with that suffix, one per line and sorted
    python3 tools/list_files.py --readme            says which lists in READMEs are stale, exit status 1 if any
    python3 tools/list_files.py --readme --write    writes them

Meson reads the first list when it configures; ``make build`` configures again when a test was added or removed.

The second stands in a README between two comments, `<!-- files -->` and `<!-- end of files -->`. A file's line is the first
sentence of the comment at its beginning. A folder inside of one is its parent's, each file by its path, unless it has a README
of its own: then the parent's list has one line for it, the first sentence of that page.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- files: tools/list_files.py --readme --write -->", "<!-- end of files -->"
SOURCES = (".c", ".h", ".cpp", ".def", ".inc")
WIDTH = 110  # columns of a README's lines
LONGEST = 300  # characters of a file's line


def list_files(root: Path, folder: str, suffix: str) -> list[str]:
    """Return the paths, relative to `root`, of the files under `folder` that end in `suffix`."""
    return sorted(str(p.relative_to(root)) for p in (root / folder).rglob("*" + suffix) if p.is_file())


def sentence(text: str) -> str:
    """Return the first sentence of a text, without what ends it; `...` and what is in brackets or backquotes end none."""
    depth, code = 0, False
    for k, c in enumerate(text):
        if c == "`":
            code = not code
        elif not code and c in "()":
            depth += 1 if c == "(" else -1
        elif (
            not code
            and depth <= 0
            and c in ".;?"
            and (k + 1 == len(text) or text[k + 1] == " ")
            and not re.search(r"(^|[\s.])[A-Z]?$", text[:k])  # `...`, and the dot of a name's initial
        ):
            return text[: k + (c == "?")]
    return text.rstrip(":")


def head(text: str) -> str:
    """Return the first sentence of the comment that a source begins with, on one line; "" if it begins with none."""
    found = re.match(r"(?://[^\n]*\n)*\s*/\*(.*?)\*/", text, re.S)
    if not found:
        return ""
    lines = [re.sub(r"^\s*\*(?=\s|$)", "", line).rstrip() for line in found[1].split("\n")]
    kept: list[str] = []
    for line in lines:
        if kept and (not line.strip() or line.startswith("   ")):
            break  # a paragraph's end, or what is laid out
        kept.append(line.strip())
    return sentence(" ".join(kept).strip())


def folders(root: Path) -> list[Path]:
    """Return the folders with a README whose list of files is made."""
    return [p.parent for p in sorted(root.glob("src/**/README.md"))]


def entries(folder: Path, root: Path) -> tuple[list[str], list[str]]:
    """Return a folder's list, an item per file, and what is wrong with the heads of its files."""
    lines, faults = [], []
    for p in sorted(folder.iterdir(), key=lambda p: (p.is_dir(), p.name)):
        if p.is_dir() and (p / "README.md").exists():
            page = (p / "README.md").read_text()
            said = sentence(" ".join(page.split("\n\n")[1].split())) if "\n\n" in page else ""
            lines.append(f"[{p.name}/]({p.name}/README.md): {said}")
        elif p.is_dir():
            more, wrong = entries(p, root)
            lines += [f"`{p.name}/{line[1:]}" if line[0] == "`" else line for line in more]
            faults += wrong
        elif p.suffix in SOURCES:
            said = head(p.read_text())
            if not said:
                faults.append(f"{p.relative_to(root)}: does not begin with a comment that says what it is")
            elif len(said) > LONGEST:
                faults.append(
                    f"{p.relative_to(root)}: its first sentence is longer than {LONGEST} characters"
                )
            lines.append(f"`{p.name}`: {said}")
    return lines, faults


def made(folder: Path, root: Path) -> tuple[str, list[str]]:
    """Return what stands between the marks of a folder's README, and what is wrong with the heads of its files."""
    lines, faults = entries(folder, root)
    wrapped = [
        textwrap.fill(
            f"- {line}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
        for line in lines
    ]
    return "\n".join(["", *wrapped, ""]), faults


def readmes(root: Path, write: bool) -> list[str]:
    """Compare the lists of all READMEs, or write them; return what is wrong."""
    faults = []
    for folder in folders(root):
        name, page = str(folder.relative_to(root)), folder / "README.md"
        text = page.read_text()
        begin, end = text.find(BEGIN), text.find(END)
        if begin < 0 or end < begin:
            faults.append(f"{name}/README.md: no list of files: put `{BEGIN}` and `{END}` where it belongs")
            continue
        now, wrong = made(folder, root)
        faults += wrong
        begin += len(BEGIN)
        if text[begin:end] == now:
            continue
        if write:
            page.write_text(text[:begin] + now + text[end:])
        else:
            faults.append(
                f"{name}/README.md: its list of files is stale: python3 tools/list_files.py --readme --write"
            )
    return faults


def main(args: list[str]) -> int:
    if args[:1] == ["--readme"]:
        faults = readmes(ROOT, args[1:] == ["--write"])
        print("\n".join(faults), end="\n" if faults else "")
        return 1 if faults else 0
    print("\n".join(list_files(ROOT, *args)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
