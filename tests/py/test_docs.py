"""The programs of docs/working.md, docs/from-numba.md and docs/semantics.md run as they stand there, and messages that pages show are those that are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

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
