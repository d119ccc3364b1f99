"""Draws docs/first-call.svg from the table in README.md: first results and later calls beside Numba's.

    python bench/picture.py                        # of the first processor that README.md has a table of
    python bench/picture.py --processor "AMD EPYC" --out FILE.svg

`run.py --readme` draws it anew. Nothing is measured here: a row that the table lacks is an error.
"""

from __future__ import annotations

import argparse
import re
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "docs" / "first-call.svg"
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}
# Rows of the table, and what they are to who has never read it.
WAITS = {
    "import": "import",
    "first call": "new process: import, first call",
    "compile/sum": "compile a loop, call it",
    "compile/matmul": "compile three loops, call them",
    "compile/medium": "compile 350 instructions, call them",
    "cached call": "new process: first call, cache=True",
}
WIDTH, HEIGHT, MIDDLE = 880, 440, 440
# On white, and what takes their place where the reader's system is dark.
STYLE = """<style>
.ground { fill: #ffffff } .ink { fill: #1f2328 } .pale { fill: #59636e }
.ours { fill: #c2410c } .theirs { fill: #6b8fd6 } .line { stroke: #59636e }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117 } .ink { fill: #f0f6fc } .pale { fill: #9198a1 }
.ours { fill: #f97316 } .theirs { fill: #4f7cc9 } .line { stroke: #9198a1 }
}
</style>"""


def tables() -> dict[str, str]:
    """The text of each processor's table."""
    found = re.findall(r"(?ms)^### (.*?)\n\n```\n(.*?)^```", (HERE / "README.md").read_text())
    return dict(found)


def figures(table: str) -> dict[str, tuple[float, float]]:
    """Seconds of Treadle and Numba by row, of the rows that compare both."""
    pattern = r"(?m)^(\S.*?) +([\d,.]+) (ns|us|ms) +([\d,.]+) (ns|us|ms) numba "
    return {
        name: (float(a.replace(",", "")) * UNITS[u], float(b.replace(",", "")) * UNITS[v])
        for name, a, u, b, v in re.findall(pattern, table)
    }


def shown(seconds: float) -> str:
    for unit, scale in (("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            value = seconds * scale
            return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def draw(processor: str) -> str:
    """The picture of a processor's table, as SVG."""
    table = tables()[processor]
    rows, head = figures(table), table.split("\n")
    mean = re.search(r"(?m)^run/geometric mean +- +- +([\d.]+)", table)
    kernels = {name: rows[name] for name in rows if name.startswith("run/")}
    if not kernels or mean is None or not WAITS.keys() <= rows.keys():
        raise SystemExit(f"picture: the table of {processor} lacks rows")
    out: list[str] = []

    def text(
        x: float,
        y: float,
        words: str,
        kind: str = "ink",
        size: int = 12,
        anchor: str = "start",
        weight: str = "normal",
    ) -> None:
        out.append(
            f'<text x="{x:g}" y="{y:g}" class="{kind}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>'
        )

    def bar(x: float, y: float, width: float, height: float, kind: str) -> None:
        out.append(
            f'<rect x="{x:g}" y="{y:g}" width="{max(width, 1):.1f}" height="{height:g}" class="{kind}"/>'
        )

    text(20, 28, "Treadle and Numba: the wait, and the run", size=16, weight="bold")
    bar(20, 42, 12, 12, "ours")
    text(38, 52, "Treadle")
    bar(100, 42, 12, 12, "theirs")
    text(118, 52, "Numba")
    text(20, 84, "Until the first result", weight="bold", size=13)
    text(170, 84, "shorter is better", "pale")
    longest = max(theirs for name, (_, theirs) in rows.items() if name in WAITS)
    y = 98
    for name, words in WAITS.items():
        ours, theirs = rows[name]
        text(20, y + 10, words)
        text(MIDDLE - 30, y + 10, f"{theirs / ours:.0f} times sooner", "pale", anchor="end")
        for k, (seconds, kind) in enumerate(((ours, "ours"), (theirs, "theirs"))):
            width = 290 * seconds / longest
            bar(20, y + 15 + 13 * k, width, 11, kind)
            text(20 + width + 6, y + 25 + 13 * k, shown(seconds), size=11)
        y += 50
    left, one = MIDDLE + 130, 170  # where bars begin, and how long Numba's are
    text(MIDDLE, 84, "Later calls", weight="bold", size=13)
    text(MIDDLE + 80, 84, f"shorter is better; Numba = 1, on average {float(mean[1]):.2f}", "pale")
    y = 94
    for name, (ours, theirs) in kernels.items():
        ratio = ours / theirs
        text(left - 8, y + 10, name.removeprefix("run/").replace("_", " "), anchor="end", size=11)
        bar(left, y + 1, one * ratio, 11, "ours")
        text(left + one * 1.25 + 82, y + 10, f"{shown(ours)} / {shown(theirs)}", "pale", 10, "end")
        y += 16
    out.append(
        f'<line x1="{left + one}" y1="92" x2="{left + one}" y2="{y}" class="line" stroke-dasharray="3 2"/>'
    )
    processor_and_date = head[0].split(";")
    remark = "Later calls: CPU time, one core; geometric mean. Treadle checks indices, Numba does not."
    versions = ", ".join(v for v in head[1].split("; ") if v.startswith(("treadle", "numba")))
    text(
        20,
        HEIGHT - 26,
        f"{processor_and_date[0].partition(', load')[0]};{processor_and_date[-1]}; {versions}.",
        "pale",
        11,
    )
    text(
        20,
        HEIGHT - 10,
        f"{remark} All rows: bench/README.md.",
        "pale",
        11,
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" '
            'font-family="Helvetica, Arial, sans-serif">',
            "<title>Treadle and Numba: the wait for a first result, and the time of later calls</title>",
            STYLE,
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" class="ground"/>',
            *out,
            "</svg>\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/picture.py", description=__doc__.splitlines()[0])
    parser.add_argument("--processor", default=next(iter(tables())), choices=list(tables()))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    options.out.write_text(draw(options.processor))


if __name__ == "__main__":
    main()
