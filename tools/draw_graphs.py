"""Draw docs/parallel/*.svg: the program at the end of a page of treadle.parallel, each operation a loop of its own, and as it runs.

    python tools/draw_graphs.py [PAGE...]

A page that has a picture has a section ``## Before and after``, whose program leaves what it makes in ``made``. It is compiled twice,
once without the passes that make one loop of several; what loops do, read and write is `treadle.parallel.explain`'s.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parents[1] / "docs" / "parallel"
HEAD = "## Before and after\n"
APART = "fuse,demand,byrow,recompute,twins,product,vectors"
BOX, GAP, ROW, MIDDLE, TOP = 330, 14, 44, 130, 44
# On white, and what takes their place where the reader's system is dark.
STYLE = """<style>
text { font: 13px sans-serif }
.ground { fill: #ffffff } .ink { fill: #1f2328 } .pale { fill: #59636e; font-size: 12px } .head { font-weight: bold }
.box { fill: #eaf1fb; stroke: #6b8fd6 } .one { fill: #fdeee3; stroke: #c2410c } .way { stroke: #59636e; fill: none }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117 } .ink { fill: #f0f6fc } .pale { fill: #9198a1 }
.box { fill: #16233a; stroke: #4f7cc9 } .one { fill: #3b2012; stroke: #f97316 } .way { stroke: #9198a1 }
}
</style>"""
TELL = """
import json
_e = tp.explain(*(made if isinstance(made, tuple) else (made,)), parallel=False)
print(json.dumps([[k.title(), sorted([n[1], n[2]] for n in k.nodes if n[2]), k.read, k.written] for k in _e.kernels]))
"""


def pages() -> list[str]:
    """Return the names of the pages that have a picture."""
    return [p.stem for p in sorted(PAGES.glob("*.md")) if HEAD in p.read_text()]


def program(page: str) -> str:
    """Return the program of a page's section."""
    found = re.search(r"```python\n(.*?)```", (PAGES / f"{page}.md").read_text().split(HEAD)[1], re.S)
    if not found:
        raise SystemExit(f"docs/parallel/{page}.md: a section without a program")
    return "import numpy as np\nimport treadle.parallel as tp\n" + found[1]


def kernels(text: str, apart: bool) -> list[Any]:
    """Return what each loop of the program is called, its operations, and the bytes that it reads and writes; none that moves nothing beside others."""
    env = os.environ | {"TREADLE_SKIP": APART if apart else ""}
    lines = [line for line in text.splitlines() if not line.startswith("assert ")]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines) + TELL], env=env, capture_output=True, text=True, check=True
    )
    all_of_them = json.loads(done.stdout.splitlines()[-1])
    return [k for k in all_of_them if k[2] + k[3]] or all_of_them


def size(n: int) -> str:
    """Return bytes as people say them."""
    for unit in ("B", "kB", "MB"):
        if n < 1000 or unit == "MB":
            return f"{n:.3g} {unit}"
        n = n / 1000  # type: ignore[assignment]
    raise AssertionError("the last unit takes all")


def draw(before: list[Any], after: list[Any]) -> str:
    """Return the picture of both."""
    rows = max(len(before), len(after))
    wide, high = 2 * BOX + MIDDLE + 2 * GAP, TOP + rows * (ROW + GAP) + GAP
    right = GAP + BOX + MIDDLE
    out = []

    def text(x: float, y: float, s: str, kind: str) -> None:
        out.append(f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(s)}</text>')

    def column(x: float, kind: str, boxes: list[Any]) -> list[float]:
        step = rows * (ROW + GAP) / len(boxes)
        middles = []
        for i, (title, nodes, read, written) in enumerate(boxes):
            y = TOP + i * step + (step - ROW - GAP) / 2
            names = ", ".join(dict.fromkeys(name for _, name in nodes)) or title
            names = names if len(names) < 46 else names[:44] + "…"
            out.append(f'<rect x="{x:g}" y="{y:g}" width="{BOX}" height="{ROW}" rx="6" class="{kind}"/>')
            text(x + 10, y + 18, names, "ink")
            text(x + 10, y + 35, f"{title}: reads {size(read)}, writes {size(written)}", "pale")
            middles.append(y + ROW / 2)
        return middles

    moved = [sum(k[2] + k[3] for k in side) for side in (before, after)]
    for x, said, side, n in (
        (GAP, "each operation on its own", before, moved[0]),
        (right, "as it runs", after, moved[1]),
    ):
        loops = f"{len(side)} loop{'s' * (len(side) != 1)}"
        text(x, 26, f"{said}: {loops}, {size(n)} moved", "ink head")
    left_middles, right_middles = column(GAP, "box", before), column(right, "one", after)
    for (title, nodes, _, _), y in zip(before, left_middles, strict=True):
        into = [
            (set(title.split(" + ")) & set(as_one.split(" + ")), to)
            for (as_one, merged, _, _), to in zip(after, right_middles, strict=True)
            if any(n in merged for n in nodes)
        ]
        if any(same for same, _ in into):  # an operation of several loops: each went where its like went
            into = [(same, to) for same, to in into if same]
        for _, to in into:
            a, b = GAP + BOX, right
            out.append(
                f'<path d="M{a:g} {y:g} C{a + 60:g} {y:g} {b - 60:g} {to:g} {b:g} {to:g}" class="way"/>'
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high:g}" viewBox="0 0 {wide} {high:g}" role="img">'
        f'{STYLE}<rect width="100%" height="100%" class="ground"/>{"".join(out)}</svg>\n'
    )


def picture(page: str) -> str:
    """Return the picture of a page's program."""
    text = program(page)
    return draw(kernels(text, True), kernels(text, False))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="names of pages; all by default")
    for page in parser.parse_args().pages or pages():
        (PAGES / f"{page}.svg").write_text(picture(page))
        print(PAGES / f"{page}.svg")


if __name__ == "__main__":
    main()
