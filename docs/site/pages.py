"""The Markdown pages as a site's: which there are, in which order, and what their links mean there.

Pages are read as they stand, since they are read on a forge, too. docs/README.md is the one list: its groups
become the navigation, and a page under docs/ that it does not name is an error. Whatever else a page links to
comes along: another page by its place below the page that names it first, a folder by its README.md, a
program of examples/ by its own page (programs.py), any other file as a page that shows its text.

Standard library alone: tests/py/test_docs.py asks it what is missing.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
ENTRY, LIST = ROOT / "README.md", ROOT / "docs/README.md"
PICTURES = (".png", ".svg")
# How the text of a file is coloured, where Pygments has a name for it.
LANGUAGES = {
    ".py": "python",
    ".c": "c",
    ".h": "c",
    ".def": "c",
    ".toml": "toml",
    ".sh": "bash",
    ".cff": "yaml",
}
# A link outside of code, its text and its target: code comes first, so that what looks like a link in it is
# passed over.
_LINK = re.compile(r"(?ms)^```.*?^```$|`[^`\n]*`|\[([^]\[`]*(?:`[^`\n]*`[^]\[`]*)*)\]\(([^)\s]+)\)")


class Fault(Exception):
    """A page that cannot be placed; the text says which, and what to do."""


def links(text: str) -> Iterator[str]:
    """The targets of a text's links that lead into the repository, without their anchors."""
    for m in _LINK.finditer(text):
        if _leads_inside(m[2]):
            yield m[2].partition("#")[0]


def _leads_inside(link: str | None) -> bool:
    """Whether a link leads to another file of the repository."""
    return bool(link) and "://" not in link and not link.startswith(("#", "mailto:"))


def target(page: Path, link: str) -> Path:
    """The file that a link of a page means: of a folder its README.md, or the folder where it has none."""
    path = Path(os.path.normpath(page.parent / link))
    if not path.exists():
        raise Fault(f"{page.relative_to(ROOT)} links to {link}, which is not there.")
    return path / "README.md" if (path / "README.md").exists() else path


def groups() -> dict[str, list[Path]]:
    """The list of docs/README.md: the pages by the line that announces them ("For users:", or a heading)."""
    found: dict[str, list[Path]] = {}
    caption = "Documentation"
    for block in re.split(r"\n\s*\n", LIST.read_text()):
        lead, colon, _ = block.partition(":")
        if block.startswith("#"):
            caption = block.lstrip("# ").splitlines()[0]
        elif colon and not block.startswith("-") and "](" not in lead:
            caption = lead.strip()
        # Of an item the first link is the page; of a paragraph all are.
        items = re.split(r"(?m)^- ", block) if block.startswith("- ") else [block]
        for item in items:
            named = list(links(item))
            for link in named[:1] if len(items) > 1 else named:
                page = target(LIST, link)
                known = [p for pages in found.values() for p in pages]
                if page.suffix == ".md" and page not in known:
                    found.setdefault(caption, []).append(page)
    return found


def keywords() -> dict[Path, list[str]]:
    """The names in the list's line about a page: whoever searches for one is led there first."""
    found = {}
    for item in re.split(r"(?m)^- |\n\n", LIST.read_text()):
        if item.startswith("[") and (named := list(links(item))):
            found[target(LIST, named[0])] = re.findall(r"`([\w.]+|treadle \w+)`", item)
    return found


def unlisted() -> list[Path]:
    """The pages under docs/ that the list does not name, nor the README.md of a folder that it names."""
    named = {p for pages in groups().values() for p in pages}
    for page in [p for p in named if p.name == "README.md" and p.is_relative_to(LIST.parent)]:
        named |= {target(page, link) for link in links(page.read_text())}
    return sorted(
        p for p in LIST.parent.rglob("*.md") if p not in named and p != LIST and HERE not in p.parents
    )


def place(path: Path) -> str:
    """Where the page of a file lies in the site, without a suffix."""
    name = path.relative_to(ROOT)
    if path == ENTRY:
        return "index"
    if path.is_dir():
        return f"{name}/index"
    if path.suffix == ".md":
        return str(name.with_suffix(""))
    return str(name.with_suffix("")) if name.parts[0] == "examples" else f"files/{name}"


class Site:
    """The pages as they are gathered, and what is below what."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.below: dict[Path, list[Path]] = {}
        self.keywords = keywords()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def gather(self, known: set[Path], queue: list[Path]) -> None:
        """Follow the links of pages, breadth first, until nothing new turns up."""
        for page in queue:
            for link in links(page.read_text()):
                to = target(page, link)
                if to in known or to.suffix in PICTURES or to.is_relative_to(ROOT / "examples"):
                    continue
                known.add(to)
                self.below.setdefault(page, []).append(to)
                if to.is_dir():
                    raise Fault(f"{page.relative_to(ROOT)} links to {link}, a folder without a README.md.")
                if to.suffix == ".md":
                    queue.append(to)
                else:
                    self.file(to)

    def file(self, path: Path) -> None:
        """A page that shows the text of a file."""
        name = str(path.relative_to(ROOT))
        language = LANGUAGES.get(path.suffix, "text")
        body = "".join(f"   {line}\n" if line else "\n" for line in path.read_text().splitlines())
        self.write(f"{place(path)}.rst", f"{name}\n{'=' * len(name)}\n\n.. code-block:: {language}\n\n{body}")

    def page(self, path: Path, tail: str = "") -> None:
        """A page, with its links as the site's, and a tail that shows nothing (what lies below it)."""
        here = place(path)

        def mend(m: re.Match[str]) -> str:
            if not _leads_inside(m[2]):
                return m[0]
            link, hash_, anchor = m[2].partition("#")
            to = target(path, link)
            # A page that is named by its file has a title here, and so has its part.
            text = "" if m[1].endswith(".md") and link.endswith(m[1]) else m[1]
            if to.suffix in PICTURES:
                copy = self.folder / to.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(to, copy)
                goal = str(to.relative_to(ROOT))
            else:
                goal = place(to) + (".md" if to.suffix == ".md" else ".rst")
            return f"[{text}]({os.path.relpath(goal, os.path.dirname(here) or '.')}{hash_}{anchor})"

        below = "".join(f"/{place(p)}\n" for p in self.below.get(path, []))
        toctree = f"\n```{{toctree}}\n:hidden:\n\n{below}```\n" if below else ""
        title, _, rest = _LINK.sub(mend, path.read_text()).partition("\n")
        index = "".join(f"\n```{{index}} ! single: {word}\n```\n" for word in self.keywords.get(path, ()))
        self.write(f"{here}.md", f"{title}\n{index}{rest.rstrip()}\n{toctree}{tail}")


def write(folder: Path, made: dict[str, list[str]]) -> None:
    """Write all pages into a folder, for Sphinx to read.

    Parameters
    ----------
    folder
        Where; it is there.
    made
        Groups of pages that others write: they come first in the navigation.
    """
    if lost := unlisted():
        names = ", ".join(str(p.relative_to(ROOT)) for p in lost)
        raise Fault(f"docs/README.md, the list that the navigation is made of, does not name {names}.")
    site = Site(folder)
    listed = groups()
    known = {ENTRY, LIST, *(p for pages in listed.values() for p in pages)}
    site.gather(known, [ENTRY, LIST, *(p for pages in listed.values() for p in pages)])
    # What the entry names beside the list is about the project.
    rest = site.below.pop(ENTRY, [])
    tail = ""
    captions = {**made, **{c: [place(p) for p in pages] for c, pages in listed.items()}}
    captions["Project"] = [place(p) for p in rest]
    for caption, names in captions.items():
        entries = "".join(f"/{name}\n" for name in names)
        tail += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}```\n"
    pages = {p for p in known if p.suffix == ".md"}
    for path in sorted(pages):
        site.page(path, tail if path == ENTRY else "")
