"""Makes the site; `make docs` runs this where there are tools/requirements-docs.txt and the built package.

    python docs/site/make.py SITE WORK

SITE is where the pages go, WORK is for what lies between: the pages for Sphinx to read, and what the examples
gave.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pages
import programs
import reference
from sphinx.cmd.build import main as sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

# An attribute as napoleon writes it: its names, what is said of it, and its type.
ATTRIBUTE = r"(?m)^\.\. attribute:: (.*)\n((?:(?!   :type:)(?:   .*)?\n)*)(?:   :type: (.*)\n?)?"
CONFIG = Config(napoleon_google_docstring=False, napoleon_use_rtype=False, napoleon_use_ivar=False)


def napoleon(text: str, what: str, name: str) -> list[str]:
    """A docstring as reStructuredText; of attributes each has a line of its own, which says its type, too."""
    made = "\n".join(NumpyDocstring(text, CONFIG, what=what, name=name).lines())

    def head(m: re.Match[str]) -> str:
        names = f"\n{' ' * len('.. attribute:: ')}".join(m[1].split(", "))
        return f".. attribute:: {names}\n" + (f"   :type: {m[3]}\n" if m[3] else "") + m[2]

    return re.sub(ATTRIBUTE, head, made).splitlines()


def main(site: Path, work: Path) -> int:
    source = work / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    try:
        programs.write(source, work / "examples")
        for name, text in reference.make(napoleon).pages.items():
            path = source / f"{name}.rst"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        pages.write(source, {"At hand": ["docs/README", "examples/index", "api/index"]})
    except (pages.Fault, programs.Fault) as e:
        print(f"docs: {e}", file=sys.stderr)
        return 1
    shutil.rmtree(site, ignore_errors=True)
    here = str(Path(__file__).parent)
    how = ["-b", "html", "-W", "--keep-going", "-q", "-c", here, "-d", str(work / "doctrees")]
    return sphinx([*how, str(source), str(site)])


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
