"""HACKING.md shows what the compiler really prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import hacking
import list_files

PAGE = hacking.PAGE.read_text()


@pytest.fixture(scope="module")
def blocks():
    return hacking.blocks(PAGE)


def test_every_stage_is_shown(blocks):
    stages = {b.group(1) for b in hacking.BLOCK.finditer(PAGE)}
    assert stages == {"code", "front", "infer", "opt", "opt:agree", "opt:fuse", "fuse"}
    assert len(blocks) >= 3


def test_dumps_are_current(blocks):
    for block, text in blocks:
        assert block.group(4) == text, f"run: python tools/hacking.py --write ({block.group(1)})"


def test_what_is_left_out_of_a_dump_is_said():
    assert hacking.shown("b0:\n  x\nb1 cold:\n  y\n", "b1") == "b0:\n  x\n...\n"
    assert hacking.shown("b0:\n  x\n", "b1") == hacking.shown("b0:\n  x\n", None) == "b0:\n  x\n"


def test_a_wrong_dump_is_noticed(monkeypatch):
    monkeypatch.setattr(hacking, "PAGE", hacking.PAGE)
    monkeypatch.setattr(hacking, "dump", lambda *_: "something else\n")
    assert hacking.main(write=False) == 1


# --- what pages for developers name exists ---

# The pages, and where a path that they name may start.
PAGES = {
    "HACKING.md": ("", "src", "tests/py", "docs/design"),
    "STYLE.md": ("", "src"),
    "docs/README.md": ("", "docs"),
    "tests/README.md": ("", "tests", "tests/py", "tests/c"),
    "tools/README.md": ("", "tools"),
    **{
        str(p.relative_to(ROOT)): ("", "src", str(p.parent.relative_to(ROOT)))
        for p in ROOT.glob("src/**/README.md")
    },
    **{
        str(p.relative_to(ROOT)): ("", "src", "docs", "docs/design", "tests/py")
        for p in ROOT.glob("docs/design/*.md")
    },
}
BARE = {p.name for f in ("src", "tests", "tools") for p in (ROOT / f).rglob("*.*")} | {
    "Python.h",
    "random.py",  # CPython's
    "walk.py",
    "blend.py",
}
SOURCES = "\n".join(p.read_text() for p in ROOT.glob("src/**/*.[chd]*") if p.is_file())


# What stands in backquotes and looks like a name of ours: a word with an underscore, or one that is called.
NAME = re.compile(r"`([A-Za-z]\w*_\w*|_\w+)`|`(\w+)\(\)`")
WORDS = set(
    re.findall(
        r"\w+",
        SOURCES
        + "\n".join(
            p.read_text()
            for d in ("python", "tools", "tests", "bench")
            for p in [*(ROOT / d).rglob("*.py"), *(ROOT / d).rglob("*.pyi"), *(ROOT / d).rglob("*.[ch]")]
            if not any(part.startswith(".") for part in p.relative_to(ROOT).parts) and p != Path(__file__)
        ),
    )
)


def names_that_do_not_exist(text: str, folders: tuple[str, ...]) -> list[str]:
    text = re.sub(r"(?s)<!-- dump.*?```\n.*?```", "", text)
    wrong = []
    for path in re.findall(r"[\w./*<>-]+\.(?:c|h|cpp|def|py|md|ir)\b", text):
        if path.startswith("<") and path.endswith(".h"):
            continue  # the system's
        pattern = re.sub(r"<\w+>|VVV", "*", path)
        if "/" not in pattern and (pattern in BARE or pattern.startswith("*")):
            continue
        if not any(any((ROOT / f).glob(pattern.removeprefix("../"))) for f in folders):
            wrong.append(path)
    for name in re.findall(r"\b(?:tr|TR)_\w+\b", text):
        if not re.search(rf"\b{name}\b", SOURCES):
            wrong.append(name)
    return wrong


def words_that_do_not_exist(text: str) -> list[str]:
    """Return the names in backquotes that stand nowhere in the sources: functions, variables, settings."""
    text = re.sub(r"(?s)```.*?```", "", text)
    names = (m[1] or m[2] for m in NAME.finditer(text))
    return [n for n in names if n not in WORDS]


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page):
    assert names_that_do_not_exist((ROOT / page).read_text(), PAGES[page]) == []


DESIGN = ["HACKING.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/design/*.md"))]


@pytest.mark.parametrize("page", DESIGN)
def test_the_design_pages_name_what_is_there(page):
    assert words_that_do_not_exist((ROOT / page).read_text()) == []


@pytest.mark.parametrize("page", DESIGN)
def test_the_design_pages_are_wrapped_and_dated(page):
    text = re.sub(r"(?s)```.*?```", "", (ROOT / page).read_text())
    assert [t for t in text.splitlines() if len(t) > 110 and not t.startswith("|")] == []
    if page not in ("HACKING.md", "docs/design/README.md"):
        assert re.search(r"(?m)^Written on \d+ \w+ \d{4}, at commit [0-9a-f]{7,}\.$", text)


def test_the_design_pages_are_listed():
    index = (ROOT / "docs/design/README.md").read_text()
    pages = {p.name for p in ROOT.glob("docs/design/*.md")} - {"README.md"}
    assert {p for p in pages if f"]({p})" not in index} == set()


def test_a_wrong_name_is_noticed():
    text = "`opt/scalar/bounds.c` calls `tr_opt_bounds`, `opt/no_such.c` calls `tr_no_such_function`"
    assert names_that_do_not_exist(text, ("src",)) == ["opt/no_such.c", "tr_no_such_function"]
    lost = ["gone" + "_astray", "TREADLE_" + "ASTRAY", "goes" + "astray"]
    text = f"`test_before`, `meeting()`, `TREADLE_DUMP`; `{lost[0]}`, `{lost[1]}`, `{lost[2]}()`, `{lost[2]}`"
    assert words_that_do_not_exist(text) == lost


# --- lists of files in READMEs ---


def test_the_lists_of_files_are_current():
    assert list_files.readmes(ROOT, write=False) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/* Loops. Not this. */", "Loops"),
        ("/* Loops in\n * two lines; not this. */\n", "Loops in two lines"),
        ("/* Loops:\n *   for i: laid out\n * and more. */", "Loops"),
        ("/* Loops\n *\n * A paragraph. */", "Loops"),
        ("/* After M. Matsumoto: 1, 2 ... (and so on; f.) and `a; b. C`. No. */", None),
        ("/* Do arrays meet? By Euclid. */", "Do arrays meet?"),
        ("// clang-format off\n/* Kinds. */", "Kinds"),
        ('#include "a.h"\n/* Not at the beginning. */', ""),
    ],
)
def test_what_a_head_says(text, said):
    if said is None:
        said = "After M. Matsumoto: 1, 2 ... (and so on; f.) and `a; b. C`"
    assert list_files.head(text) == said


@pytest.fixture
def house(tmp_path):
    """A small source tree whose lists are written."""
    for name in ("a", "a/grid", "a/plain"):
        (tmp_path / "src" / name).mkdir(parents=True, exist_ok=True)
    for name in ("a/one.c", "a/grid/two.h", "a/plain/three.c"):
        (tmp_path / "src" / name).write_text(f"/* What {name} is. */\n")
    for name in ("a", "a/grid"):
        page = f"# {name}\n\nPasses of {name}. More.\n\n{list_files.BEGIN}\n{list_files.END}\nThe end.\n"
        (tmp_path / "src" / name / "README.md").write_text(page)
    assert list_files.readmes(tmp_path, write=True) == []
    return tmp_path


def test_lists_of_files_have_folders_inside_of_folders(house):
    page = (house / "src/a/README.md").read_text()
    assert page.split(list_files.BEGIN)[1] == (
        "\n- `one.c`: What a/one.c is\n- [grid/](grid/README.md): Passes of a/grid\n"
        f"- `plain/three.c`: What a/plain/three.c is\n{list_files.END}\nThe end.\n"
    )
    assert "- `two.h`: What a/grid/two.h is\n" in (house / "src/a/grid/README.md").read_text()
    assert list_files.readmes(house, write=False) == []


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("a/one.c", "/* Something else. */", "src/a/README.md: its list of files is stale"),
        ("a/new.c", "/* New. */", "src/a/README.md: its list of files is stale"),
        ("a/grid/new.h", "/* New. */", "src/a/grid/README.md: its list of files is stale"),
        ("a/grid/README.md", "# a/grid\n\nNo list.\n", "src/a/grid/README.md: no list of files"),
        ("a/one.c", "int one;", "src/a/one.c: does not begin with a comment"),
        ("a/one.c", f"/* {'long ' * 80}. */", "src/a/one.c: its first sentence is longer"),
    ],
)
def test_a_stale_list_of_files_is_noticed(house, file, text, fault):
    (house / "src" / file).write_text(text)
    assert any(f.startswith(fault) for f in list_files.readmes(house, write=False))
