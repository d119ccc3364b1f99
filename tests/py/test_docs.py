"""The programs of docs/working.md, docs/from-numba.md and docs/semantics.md run as they stand there, messages that pages show are those that are printed, and what docs/site makes of all is complete."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
import treadle
import treadle.cuda
import treadle.parallel

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"(?m)^```python\n(.*?)^```$", (DOCS / page).read_text(), re.S)


FILES = {text.split("\n")[0].removeprefix("# "): text for text in blocks("working.md")}


def python(folder: Path, *args: str) -> None:
    env = {**os.environ, "TREADLE_CACHE_DIR": str(folder / "code"), "TREADLE_VERIFY": "0"}
    command = [sys.executable, *args]
    r = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=240)
    assert r.returncode == 0, r.stdout + r.stderr


@pytest.mark.parametrize("name", FILES)
def test_working(tmp_path: Path, name: str) -> None:
    assert name.endswith(".py")
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    for package in re.findall(r"(?m)^(?:import|from) (joblib|dask)", FILES[name]):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    python(tmp_path, *(["-m", "pytest", "-q", name] if name.startswith("test_") else [name]))


def test_from_numba(tmp_path: Path) -> None:
    for text in blocks("from-numba.md"):
        (tmp_path / "script.py").write_text(text)
        python(tmp_path, "script.py")


def test_one_licence() -> None:
    """Whoever asks by which licence Treadle is gets one answer."""
    root = DOCS.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert (project["license"], project["license-files"]) == ("BSD-3-Clause", ["LICENSE"])
    assert "\nlicense: BSD-3-Clause\n" in (root / "CITATION.cff").read_text()
    text = (root / "LICENSE").read_text()
    assert text.startswith("BSD 3-Clause License\n\nCopyright (c) 2026, the Treadle developers\n")
    assert [f"\n{n}. " in text for n in (1, 2, 3, 4)] == [True, True, True, False]
    for page in ("README.md", "CONTRIBUTING.md"):
        assert "(LICENSE)" in (root / page).read_text()


SECTIONS = re.split(r"(?m)^## ", (DOCS / "semantics.md").read_text())[1:]


@pytest.mark.parametrize("section", SECTIONS, ids=[s.split("\n")[0] for s in SECTIONS])
def test_semantics(tmp_path: Path, section: str) -> None:
    """Each section of the rules ends with an example of them."""
    text = re.findall(r"(?m)^```python\n(.*?)^```$", section, re.S)
    assert len(text) == 1 and "assert " in text[0] and section.rstrip().endswith("```")
    (tmp_path / "script.py").write_text(text[0])
    python(tmp_path, "script.py")


def test_the_message_of_the_guide(tmp_path: Path) -> None:
    body = "    s = 0.0\n    for i in range(len(a)):\n        s += a[i] * unit\n    return s\n"
    source = "import numpy as np\nfrom treadle import njit\n" + 5 * "\n" + "@njit\ndef scale(a, unit):\n"
    (tmp_path / "kernels.py").write_text(source + body)
    call = "import numpy as np, kernels\ntry:\n    kernels.scale(np.ones(3), 'm')\nexcept TypeError as e:\n    print(e)\n"
    r = subprocess.run(
        [sys.executable, "-c", call], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    shown = r.stdout.replace(f"{tmp_path}{os.sep}", "")
    assert shown.startswith("unsupported operand types for *"), r.stderr
    assert f"```\n{shown}```" in (DOCS / "guide.md").read_text(), shown


def test_what_is_there_instead() -> None:
    """The error of a name that Treadle lacks says what the page says."""
    from treadle._standin import _INSTEAD

    page = (DOCS / "from-numba.md").read_text().partition("## What is not there")[2].partition("##")[0]
    rows = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    for name, advice in _INSTEAD.items():
        kind = name.partition("_")[0] if name.startswith("overload") else name
        row = [a.strip() for n, a in rows if re.search(rf"`@?{kind}\b", n)]
        assert row == [advice], name


def test_links() -> None:
    """What a page links to is there, and so is the heading."""
    readmes = [*DOCS.parent.glob("*/README.md"), *(DOCS.parent / "src").rglob("README.md")]
    for page in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md"), *readmes]:
        text = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", page.read_text())
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in target:
                continue
            file, _, heading = target.partition("#")
            path = page.parent / file if file else page
            assert path.exists(), f"{page.name}: {target}"
            if heading and path.suffix == ".md":
                titles = re.findall(r"(?m)^#+ (.*)$", path.read_text())
                anchors = {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}
                assert heading in anchors, f"{page.name}: {target}"


def part_of_the_site(name: str):
    """A module of docs/site; they are no package, and one has the name of one of ours here."""
    spec = spec_from_file_location(f"site_{name}", DOCS / "site" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_list() -> None:
    """docs/README.md names each page under docs/; the navigation of the site is made of it."""
    pages = part_of_the_site("pages")
    assert pages.unlisted() == []
    listed = [page for group in pages.groups().values() for page in group]
    assert len(listed) == len(set(listed)) and {DOCS / "guide.md", DOCS.parent / "HACKING.md"} <= set(listed)


@pytest.mark.parametrize("module", [treadle, treadle.cuda, treadle.parallel], ids=lambda m: m.__name__)
def test_every_public_name_is_in_the_reference(module) -> None:
    """With a docstring, and so are the members of classes."""
    reference = part_of_the_site("reference").make()
    types = [n for n in dir(module) if isinstance(getattr(module, n), treadle.Type)]
    lost = [n for n in (*module.__all__, *types) if f"{module.__name__}.{n}" not in reference.names]
    assert lost == []
    assert [n for n, text in reference.texts.items() if not text and n.startswith(module.__name__)] == []


DOCSTRINGS = {n: t for n, t in part_of_the_site("reference").make().texts.items() if ">>>" in t}


@pytest.mark.parametrize("name", DOCSTRINGS)
def test_examples_of_docstrings(name: str) -> None:
    """What a docstring shows is what happens; NumPy 1 prints numbers without their types."""
    given = {"np": np, "treadle": treadle, "cuda": treadle.cuda}
    types = [n for n in dir(treadle) if isinstance(getattr(treadle, n), treadle.Type)]
    given |= {n: getattr(treadle, n) for n in (*treadle.__all__, *types)}
    shown = DOCSTRINGS[name]
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        shown = re.sub(r"np\.\w+\((.*)\)$", r"\1", shown, flags=re.M)
    test = doctest.DocTestParser().get_doctest(shown, given, name, None, None)
    said: list[str] = []
    assert test.examples
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
