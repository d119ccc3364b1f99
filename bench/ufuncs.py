"""Draws docs/ufuncs.png: how much faster than NumPy a gaussian is, over the number of elements.

    python bench/ufuncs.py                  # measures, prints a table, draws; about a minute
    python bench/ufuncs.py --json out.json  # keeps the figures too
    python bench/ufuncs.py --from out.json  # draws kept figures

NumPy evaluates the expression as it is written; numexpr takes it as text and uses all cores; Numba and
Treadle compile the function as a ufunc, for one core and for all.  Times are minima of what passes on the
wall, variants taking turns, with results checked first.  Before each turn the others' threads are given time
to fall asleep, and a call wakes its own.  What fails is said and missing in the chart.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

import harness as harnesses

OUT = harnesses.HERE.parent / "docs" / "ufuncs.png"
SIZES = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
DTYPES = ("float64", "float32")
LOWEST, HIGHEST = 0.05, 30
PAUSE = 0.005  # seconds for which no pool of threads is known to spin
# variant: label, colour, dashes; in the order of the table.
VARIANTS: dict[str, tuple[str, str, str]] = {
    "treadle-parallel": ("Treadle, parallel", "#c2410c", "-"),
    "treadle": ("Treadle, one core", "#c2410c", "--"),
    "numba-parallel": ("Numba, parallel", "#1d4ed8", "-"),
    "numba": ("Numba, one core", "#1d4ed8", "--"),
    "numexpr": ("numexpr", "#15803d", "-"),
}


# --- in a process of its own ---------------------------------------------------------------------


def function(variant: str, dtype: str) -> Any:
    """The variant's gaussian(x, mean, sigma)."""
    import elementwise
    import peers

    if variant == "numpy":
        return elementwise.gaussian_numpy
    if variant == "numexpr":
        return elementwise.gaussian_numexpr(dtype, threads=None)()
    return peers.vectorizer(variant, [elementwise.signature(dtype, 3)])(elementwise.GAUSSIANS[dtype])


def seconds(call: Any, args: tuple[Any, ...], times: int) -> float:
    time.sleep(PAUSE)
    call(*args)
    start = time.perf_counter()
    for _ in range(times):
        call(*args)
    return (time.perf_counter() - start) / times


def measure(dtype: str) -> dict[str, Any]:
    """Best times by variant and size, and what failed."""
    import elementwise
    import numpy as np

    report: dict[str, Any] = {"seconds": {}, "failed": {}}
    calls: dict[str, Any] = {}
    kind = np.dtype(dtype).type
    x = np.linspace(-3, 3, max(SIZES)).astype(dtype)
    for variant in ["numpy", *VARIANTS]:
        args = x[:1000], kind(0.25), kind(1.5)
        try:
            call = function(variant, dtype)
            if not np.allclose(call(*args), elementwise.gaussian_expected(*args), rtol=1e-5):
                raise ArithmeticError("wrong result")
            calls[variant] = call
            report["seconds"][variant] = []
        except Exception as error:  # a peer's failure is a result, not the end of the run
            report["failed"][variant] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    gc.disable()
    for size in SIZES:
        args = x[:size], kind(0.25), kind(1.5)
        times = {v: max(1, round(0.002 / seconds(call, args, 3))) for v, call in calls.items()}
        rounds = 5 if size >= 3_000_000 else 11
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(rounds):
            for variant, call in calls.items():
                best[variant] = min(best[variant], seconds(call, args, times[variant]))
        for variant, value in best.items():
            report["seconds"][variant].append(value)
    return report


# --- the command ---------------------------------------------------------------------------------


def collect() -> dict[str, Any]:
    bench = harnesses.Harness(harnesses.find_treadle(None))
    bench.probe()
    reports = {}
    for dtype in DTYPES:
        harnesses.say(f"bench: {dtype}")
        reports[dtype] = bench.child("ufuncs", "--measure", dtype)
    return {"reports": reports, "versions": bench.versions, "machine": harnesses.machine(), "sizes": SIZES}


def table(figures: dict[str, Any]) -> str:
    """Nanoseconds an element for NumPy, and how many times as fast the others are."""
    lines = []
    for dtype, report in figures["reports"].items():
        base = report["seconds"]["numpy"]
        known = [v for v in VARIANTS if v in report["seconds"]]
        lines.append(f"{dtype:8} {'NumPy':>15}" + "".join(f"{v:>18}" for v in known))
        for i, size in enumerate(figures["sizes"]):
            ratios = "".join(f"{base[i] / report['seconds'][v][i]:>17.2f}x" for v in known)
            lines.append(f"{size:8d} {1e9 * base[i] / size:>9.2f} ns/el" + ratios)
        lines.extend(f"note: {dtype}: {v}: {text}" for v, text in report["failed"].items())
    return "\n".join(lines)


def draw(figures: dict[str, Any], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style = {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#888888",
        "xtick.color": "#444444",
        "ytick.color": "#444444",
    }
    with pyplot.rc_context(style):
        picture, panels = pyplot.subplots(1, len(DTYPES), figsize=(10, 4.6), sharey=True)
        for panel, (dtype, report) in zip(panels, figures["reports"].items()):
            base, sizes = report["seconds"]["numpy"], figures["sizes"]
            panel.axhline(1, color="#444444", linewidth=1)
            for variant, (label, colour, dashes) in VARIANTS.items():
                times = report["seconds"].get(variant)
                if times:
                    speed = [b / t for b, t in zip(base, times)]
                    panel.plot(sizes, speed, dashes, color=colour, label=label, linewidth=1.8, marker=".")
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_ylim(LOWEST, HIGHEST)  # a thread pool on a hundred elements may be off the picture
            panel.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
            panel.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda y, _: f"{y:g}x"))
            panel.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
            panel.grid(axis="y", color="#e5e5e5", linewidth=0.7)
            panel.set_title(dtype, loc="left", fontweight="bold")
            panel.set_xlabel("elements")
        panels[0].set_ylabel("speed, NumPy = 1")
        handles, labels = panels[0].get_legend_handles_labels()
        handles.append(panels[0].lines[0])
        picture.legend(
            handles,
            [*labels, "NumPy"],
            loc="lower center",
            ncols=6,
            frameon=False,
            bbox_to_anchor=(0.5, 0.05),
        )
        picture.suptitle(
            "exp(-0.5 * ((x - mean) / sigma) ** 2) / (sigma * SQRT_2PI) as a ufunc", x=0.06, ha="left", y=0.97
        )
        facts, versions = figures["machine"], figures["versions"]
        named = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "llvmlite")
        text = f"{facts['cpu']}, {facts['cores']} cores; Python {facts['python']}, {named}; {facts['date']}"
        if any(
            b / t < LOWEST
            for r in figures["reports"].values()
            for v in VARIANTS
            for b, t in zip(r["seconds"]["numpy"], r["seconds"].get(v, []))
        ):
            text += f". Not shown: speeds below {LOWEST:g}x"
        picture.text(0.06, 0.015, text, fontsize=7, color="#666666")
        picture.tight_layout(rect=(0, 0.1, 1, 0.98))
        picture.savefig(out, dpi=110, metadata={"Software": None})


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/ufuncs.py", description=__doc__.splitlines()[0])
    parser.add_argument("--measure", choices=DTYPES, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="OUT", help="keep the figures")
    parser.add_argument("--from", type=Path, metavar="FIGURES", dest="kept", help="draw kept figures")
    parser.add_argument("--out", type=Path, default=OUT, help="the picture (%(default)s)")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return 0
    harnesses.enter_venv()
    figures = json.loads(options.kept.read_text()) if options.kept else collect()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    print(table(figures))
    draw(figures, options.out)
    harnesses.say(f"bench: drew {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
