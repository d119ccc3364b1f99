"""The rows of cuda.py: what a GPU's kernels are compared with, floors and goals, and how a row is shown.

A row is one of rows.py's: it takes samples by (measurement, variant), the smallest of each side, and a smaller value is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rows
from run import chosen, number

SHARE = "GB/s"


@dataclass(frozen=True)
class Versus(rows.Row):
    """A row of this file: how its value and limits are shown."""

    def show(self, value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"


@dataclass(frozen=True)
class Over(Versus):
    """What is judged is how much more ours takes."""

    def value(self, samples: rows.Samples) -> float | None:
        ours, theirs = (self.figure(samples, v) for v in (self.ours, self.theirs))
        return None if ours is None or theirs is None else ours - theirs

    def show(self, value: float | None) -> str:
        return "-" if value is None else f"{value * 1e6:+.2f} us"


@dataclass(frozen=True)
class Share(Versus):
    """Samples are seconds for a byte that is read or written: what is shown is our rate's share of theirs."""

    def show(self, value: float | None) -> str:
        return "-" if value is None else f"{100 / value:.1f} %"


def versus(name: str, theirs: str, unit: str, floor: float | None, goal: float | None) -> Versus:
    return Versus(f"{name} ({theirs})", name, "treadle", theirs, "min", unit, floor, goal)


def asked(row: Versus, patterns: list[str] | None) -> bool:
    """Whether a row is chosen, by its name or by that of what is measured for it."""
    return chosen(row.name, patterns) or chosen(row.measurement, patterns)


def share(name: str) -> Share:
    return Share(f"{name} (device copy)", name, "treadle", "device copy", "min", SHARE, 1 / 0.92, 1 / 0.97)


# kind -> parameters, and the kernel's body.
LAUNCHES: dict[str, tuple[list[str], str]] = {
    "launch/empty": ([], "    pass\n"),
    "launch/4 device arrays": (
        ["a0", "a1", "a2", "a3"],
        "    i = cuda.grid(1)\n    if i < a0.size:\n        a0[i] = a1[i] + a2[i] + a3[i]\n",
    ),
}
# The same for CuPy, whose arrays are addresses there.
LAUNCHES_CUPY = {
    "launch/empty": 'extern "C" __global__ void k() {}',
    "launch/4 device arrays": 'extern "C" __global__ void k(double *a0, const double *a1, const double *a2, const double *a3)'
    "{ a0[0] = a1[0] + a2[0] + a3[0]; }",
}
KERNELS = ("kernel/product, tiles", "kernel/transpose, tiles", "kernel/reduction, tree")
# Variants of the gaussian, and what the chart calls them.
HOST, DEVICE, OUT = "gpu, host arrays", "gpu, device arrays", "gpu, out="
LADDER = (HOST, DEVICE, OUT)
GAUSSIANS = ("gaussian/f32", "gaussian/f64")
CHART: dict[str, str] = {
    "numpy": "NumPy",
    "scipy": "scipy.stats.norm.pdf",
    "treadle": "Treadle, one core",
    "treadle-parallel": "Treadle, all cores",
    HOST: "Treadle, GPU, arrays of the host",
    DEVICE: "Treadle, GPU, device arrays",
    OUT: "Treadle, GPU, device arrays, out=",
}

ROWS: list[Versus] = [
    *(
        row
        for kind in LAUNCHES
        for row in (
            Over(f"{kind} (c)", kind, "treadle", "c", "min", "us", 0.5e-6, 0.2e-6),
            versus(kind, "numba-cuda", "us", 1 / 2, None),
            versus(kind, "cupy", "us", None, None),
            Versus(f"{kind}, configured before", kind, "configured", "c", "min", "us", None, None),
            Versus(f"{kind}, C's other way", kind, "c, kernelParams", "c", "min", "us", None, None),
        )
    ),
    share("memory/copy, grid stride"),
    versus("memory/copy, grid stride", "CUDA C", SHARE, None, None),
    share("memory/saxpy, ufunc"),
    *(versus(kernel, "CUDA C", "us", 1.05, 1.0) for kernel in KERNELS),
    versus("kernel/transpose, tiles", "naive", "us", None, None),
    *(
        Versus(f"{case}, {way[5:]} ({peer})", case, way, peer, "min", "ms", None, None)
        for case in GAUSSIANS
        for way in LADDER
        for peer in ("scipy", "numpy")
    ),
]


def evaluate(samples: rows.Samples, wanted: Sequence[Versus]) -> list[dict[str, Any]]:
    """Judge the rows."""
    table = []
    for row in wanted:
        value = row.value(samples)
        table.append(
            {
                "name": row.name,
                "group": row.group,
                "ours": row.figure(samples, row.ours),
                "peer": row.theirs,
                "theirs": row.figure(samples, row.theirs),
                "unit": row.unit,
                "value": value,
                "floor": row.floor,
                "goal": row.goal,
                "verdict": rows.verdict(value, row.floor, row.goal),
            }
        )
    return table


def amount(value: float | None, unit: str) -> str:
    """A figure in its unit; seconds for a byte are shown as a rate."""
    return f"{1e-9 / value:,.0f} GB/s" if unit == SHARE and value else number(value, unit)


def speedups(samples: rows.Samples) -> list[tuple[str, str, float]]:
    """The chart's bars: group, variant, how many times as fast as SciPy, or as NumPy where that is not there."""
    bars = []
    for case in GAUSSIANS:
        times = {side: min(values) for side, values in samples.get(case, {}).items()}
        base = times.get("scipy", times.get("numpy"))
        if base:
            dtype = "float32" if case.endswith("f32") else "float64"
            bars += [(dtype, label, base / times[side]) for side, label in CHART.items() if side in times]
    return bars
