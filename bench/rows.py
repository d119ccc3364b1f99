"""Every row of the benchmark: what is compared with what, floor and goal.

The one list.  A row takes samples that the measuring functions collect under
(measurement, variant), reduces each side by `statistic`, and divides; a row
without a peer is judged by its own figure.  A smaller figure is better in all.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import kernels
from child_calls import KINDS

Samples = dict[str, dict[str, list[float]]]

REDUCE: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "median": statistics.median,
}


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    name : str
        Unique, `group/what`; `--only` matches it.
    measurement : str
        Key of the samples.
    ours, theirs : str
        Variants; `theirs` is empty for a row judged by its own figure.
    statistic : str
        'min' for run times, 'median' for waits.
    unit : str
        'ns', 'us', 'ms', 'MiB' or '' (a plain number).
    floor, goal : float or None
        Largest ratio (or figure) that passes; None where none is asked.
    """

    name: str
    measurement: str
    ours: str
    theirs: str
    statistic: str
    unit: str
    floor: float | None
    goal: float | None

    @property
    def group(self) -> str:
        return self.name.split("/")[0]

    def figure(self, samples: Samples, variant: str) -> float | None:
        """The reduced figure of one side, None where it was not measured."""
        values = samples.get(self.measurement, {}).get(variant)
        return REDUCE[self.statistic](values) if values else None

    def value(self, samples: Samples) -> float | None:
        """What is judged: the ratio, or the figure itself."""
        ours = self.figure(samples, self.ours)
        if not self.theirs or ours is None:
            return ours
        theirs = self.figure(samples, self.theirs)
        return None if theirs is None else ours / theirs


@dataclass(frozen=True)
class Mean:
    """The geometric mean of other rows' ratios; only over all of them is it judged."""

    name: str
    members: tuple[str, ...]
    floor: float | None
    goal: float | None

    @property
    def group(self) -> str:
        return self.name.split("/")[0]

    def value(self, values: Mapping[str, float | None]) -> float | None:
        """The mean, or None while a member is missing."""
        ratios = [values.get(member) for member in self.members]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < len(ratios):
            return None
        return math.exp(statistics.fmean(math.log(ratio) for ratio in known))


def wait(name: str, floor: float, goal: float, theirs: str = "numba") -> Row:
    return Row(name, name, "treadle", theirs, "median", "ms", floor, goal)


def call(kind: str) -> Row:
    return Row(f"call/{kind}", f"call/{kind}", "treadle", "numba", "min", "ns", 1 / 3, 1 / 5)


ROWS: list[Row] = [
    wait("import", 1 / 8, 1 / 30),
    wait("first call", 1 / 20, 1 / 60),
    wait("compile/sum", 1 / 12, 1 / 20),
    wait("compile/matmul", 1 / 12, 1 / 20),
    wait("compile/medium", 1 / 12, 1 / 20),
    Row("large/own share", "large/own share", "treadle", "", "median", "", 0.20, 0.10),
    Row("large/against O3", "large/total", "treadle", "llvm-O3", "median", "ms", 0.60, 0.45),
    Row("large/doubled", "large/doubled", "twice", "once", "median", "ms", 2.3, 2.1),
    wait("cached call", 1 / 40, 1 / 400),
    *(call(kind) for kind in KINDS),
    Row("call/2 floats, of Python's", "call/2 floats", "treadle", "python", "min", "ns", None, 1.0),
    *(
        Row(f"run/{name}", f"run/{name}", "treadle", "numba", "min", "us", 1.2, 1.05)
        for name in kernels.CASES
    ),
    *(
        Row(f"c/{name}", f"run/{name}", "treadle-unchecked", "c", "min", "us", None, None)
        for name in kernels.CASES
    ),
    *(
        Row(f"c-strict/{name}", f"run/{name}", "treadle-unchecked", "c-strict", "min", "us", None, None)
        for name in kernels.CASES
    ),
    Row("pool/launch", "pool/launch", "treadle", "", "median", "us", 5e-6, 2e-6),
    Row("memory/1,000 functions", "memory", "treadle", "", "min", "MiB", 4.0, 1.0),
]


def mean(name: str, group: str, floor: float | None, goal: float | None) -> Mean:
    return Mean(name, tuple(f"{group}/{case}" for case in kernels.CASES), floor, goal)


MEANS: list[Mean] = [
    mean("run/geometric mean", "run", 1.0, 0.95),
    mean("c/geometric mean", "c", 1.08, 1.02),
    mean("c-strict/geometric mean", "c-strict", None, None),
]


def verdict(value: float | None, floor: float | None, goal: float | None) -> str:
    """One word for a row: 'goal', 'floor', 'BELOW', 'missing' or '' (nothing asked)."""
    if value is None:
        return "missing"
    if goal is not None and value <= goal:
        return "goal"
    if floor is None:
        return "" if goal is None else "no goal"
    return "floor" if value <= floor else "BELOW"
