"""Draws docs/parallel/sparse_pca.svg: sparse PCA in 2014 and here, each way of looking at samples.

    python bench/sparse_pca.py                  # measures, prints a table, draws; about two minutes
    python bench/sparse_pca.py --from out.json  # draws kept figures (--json out.json keeps them)

The figures of 2014 are those of the log of the program's repository, of runs in float64. Here all is float32 on one core, least CPU times
of calls that take turns, with the random numbers; NumPy's program does a part of its samples, as each takes as long as any other.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chart
import harness as harnesses

OUT = harnesses.HERE.parent / "docs" / "parallel" / "sparse_pca.svg"
# Columns: seconds of the talk's programs, on a GTX 780 Ti and in NumPy beside it.
THEN = {3: (0.543117, 13.527787), 4: (21.037574, 540.090585), 5: (839.355583, 22158.197196)}
NUMPY, POSED = "NumPy here", "posed"
# What part of all samples each does, where not all.
PARTS = {
    3: {NUMPY: 1 / 16, POSED: 1 / 2},
    4: {NUMPY: 1 / 640, POSED: 1 / 80, "fused": 1 / 16, "early": 1 / 16},
    5: {"pruned": 1 / 4},
}
WAYS = {
    3: (NUMPY, POSED, "fused", "early", "pruned"),
    4: (NUMPY, POSED, "fused", "early", "pruned"),
    5: ("pruned",),
}
ROUNDS = 9


def processor() -> str:
    told = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    model, family, number = (
        next(v.strip() for k, v in told.items() if k.strip() == name)
        for name in ("model name", "cpu family", "model")
    )
    return f"{model} (family {family}, model {number})"


def program(way: str, d: int, samples: int) -> Callable[[], Any]:
    """What is timed."""
    import numpy as np
    import parallel_cases
    import treadle

    (V,) = parallel_cases.loadings(d)(np.random.default_rng(1), True)
    if way == NUMPY:
        return lambda: parallel_cases.listed(V, samples)
    return lambda: treadle.sparse_pca(V, k=10, samples=samples, method=way, parallel=False)


def measure() -> dict[str, Any]:
    """Seconds of all samples by columns and way."""
    figures: dict[str, dict[str, float]] = {}
    for d, ways in WAYS.items():
        runs = {}
        for way in ways:
            samples = round(40**d * PARTS[d].get(way, 1))
            run = program(way, d, samples)
            run()
            runs[way] = run, 40**d / samples
        least = dict.fromkeys(ways, float("inf"))
        for _ in range(ROUNDS):
            for way, (run, scale) in runs.items():
                turn = time.thread_time()
                while True:  # short ones several times
                    start = time.thread_time()
                    run()
                    end = time.thread_time()
                    least[way] = min(least[way], (end - start) * scale)
                    if end - turn > 0.05:
                        break
        figures[str(d)] = least
        print(f"d = {d}: " + ", ".join(f"{way} {s * 1e3:,.3g} ms" for way, s in least.items()), flush=True)
    return {"processor": processor(), "seconds": figures}


def draw(report: dict[str, Any]) -> str:
    rows = []
    for d, (gpu, numpy) in THEN.items():
        group = f"d = {d}: {40**d:,} samples"
        rows += [(group, "2014: NumPy, float64", numpy), (group, "2014: GPU, float64", gpu)]
        rows += [
            (group, way if way == NUMPY else f"sparse_pca, {way}", s)
            for way, s in report["seconds"][str(d)].items()
        ]
    return chart.bars(
        "Sparse PCA of 1,000 rows, 10 of them chosen: seconds",
        rows,
        f"2014: log of the talk's repository (GTX 780 Ti). Here: float32, one core of an {report['processor']}, with the random numbers.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="keep the figures here")
    parser.add_argument("--from", type=Path, dest="kept", help="draw these")
    parser.add_argument("--treadle", type=Path, help="the folder of the built package")
    options = parser.parse_args()
    if options.kept:
        report = json.loads(options.kept.read_text())
    else:
        sys.path.insert(0, str(options.treadle or os.environ.get("TREADLE_STAGE", "build/3.11/stage")))
        report = measure()
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    OUT.write_text(draw(report))
    print(OUT)


if __name__ == "__main__":
    main()
