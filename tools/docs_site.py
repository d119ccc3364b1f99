"""`make docs` and `make docs-check`: the documentation as a site in build/docs, and tests of it.

What is on the pages, docs/site/ decides; here is what that needs: a build, an environment with what
requirements-docs.txt lists, and for the check Debian's Chromium with its driver, which is installed where
that can be done and is asked for by name where it cannot. No network is used beyond that. A site is made in
half a minute; most of it is Sphinx's, which reads all pages anew when a setting or the package has changed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import devenv
from devenv import ROOT, Build, Interpreter, run, say

REQUIREMENTS = ROOT / "tools" / "requirements-docs.txt"


def _site() -> Path:
    return devenv.build_root() / "docs"


def _python(py: Interpreter) -> Path:
    return devenv.need_environment(py, devenv.build_root() / "docs-venv", REQUIREMENTS)


def missing_browser() -> dict[str, str]:
    """Debian's packages that a look at the site needs and that are not there: name -> what it is in words."""
    programs = {
        "chromium": ("chromium", "a browser"),
        "chromium-driver": ("chromedriver", "what drives the browser"),
    }
    return {package: what for package, (program, what) in programs.items() if not shutil.which(program)}


def fetch(py: Interpreter) -> None:
    """Get what making the site and looking at it need from the network."""
    devenv.need_packages(missing_browser)
    _python(py)


def make(py: Interpreter) -> tuple[Build, int]:
    """Make the site; the build that its pages are about, and Sphinx's exit status."""
    b = devenv.build(py)
    python = _python(py)
    work = devenv.build_root() / "docs-work"
    status = run([python, ROOT / "docs" / "site" / "make.py", _site(), work], env=b.env(), check=False)
    say(
        f"The site is in {_site()}: open {_site() / 'index.html'}."
        if not status
        else "The site could not be made."
    )
    return b, status


def check(py: Interpreter, tally, count_tests: Callable[..., None], args: list[str]) -> int:
    """Make the site, and test what was made (tests/site)."""
    devenv.need_packages(missing_browser)
    b, status = make(py)
    if status:
        tally.add(0, 1)
    else:
        env = b.env(TREADLE_SITE=str(_site()))
        command = [_python(py), "-m", "pytest", "-p", "no:cacheprovider", ROOT / "tests" / "site", *args]
        count_tests(command, devenv.build_root() / "docs-work" / "pytest.xml", tally, env)
    return tally.close()
