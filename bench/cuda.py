"""Benchmarks of kernels on a GPU, beside C programs, numba-cuda and CuPy.

    python bench/cuda.py --out FILE.json            # all rows; a chart goes beside it, FILE.svg
    python bench/cuda.py --out FILE.json --quick    # tiny sizes: whether all of it works, no figures to keep
    python bench/cuda.py --out FILE.json --only launch

`treadle` must be importable, and NumPy; the rest is used where it is there, and said where it is not: a C compiler (launches.c),
nvcc or NVRTC (cuda_kernels.cu), SciPy, numba-cuda, CuPy. Everything runs in one process, on the first GPU's default stream, variants
taking turns. Launches are timed on the host, in bursts that are shorter than the driver's queue; kernels by events. The figures are
written after each measurement, so that a run that was ended leaves what it had.

Exit status: 0; 1 after a wrong result or where Treadle failed; 2 where nothing can be measured.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import chart
import harness as harnesses
from cuda_driver import Driver
from cuda_measure import MEASURES, QUICK, Bench, Sizes
from cuda_rows import CHART, GAUSSIANS, ROWS, Versus, amount, asked, evaluate, speedups

# NVIDIA's packages, which CuPy and numba-cuda import, are parts of a package `cuda`: this file must not be found in its place.
sys.path[:] = [p for p in sys.path if Path(p).resolve() != harnesses.HERE]

# Beside Treadle: what is measured, and what that stands on.
PACKAGES = ("numpy", "scipy", "numba", "numba-cuda", "cupy")


def device_facts(bench: Bench) -> dict[str, Any]:
    """What GPU it is, and its driver."""
    device = bench.cuda.get_current_device()
    kernel_driver = Path("/proc/driver/nvidia/version")
    return {
        "name": str(device.name),
        "compute capability": "{}.{}".format(*bench.cc()),
        "multiprocessors": int(device.MULTIPROCESSOR_COUNT),
        "cuda": bench.driver.version(),
        "driver": kernel_driver.read_text().splitlines()[0] if kernel_driver.exists() else "",
    }


def version_of(package: str) -> str | None:
    """The version that is installed under this name, CuPy's under that of its wheel."""
    names = [d.metadata["Name"] for d in importlib.metadata.distributions()] if package == "cupy" else []
    for name in [package, *(n for n in names if n and n.startswith("cupy-cuda"))]:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def render(report: Mapping[str, Any], wanted: Sequence[Versus]) -> str:
    """The table and what was said, as text."""
    device, facts = report["device"], report["machine"]
    lines = [
        f"{device['name']}, compute capability {device['compute capability']}, CUDA {device['cuda']}; "
        f"{facts['cpu']}, {facts['cores']} cores; Python {facts['python']}; {facts['date']}",
        "; ".join(f"{name} {version}" for name, version in report["versions"].items()),
        f"{'row':48} {'Treadle':>12} {'peer':>12} {'':16} {'value':>9} {'floor':>9} {'goal':>9}  verdict",
    ]
    group = ""
    for row, line in zip(wanted, report["rows"], strict=True):
        if row.group != group:
            group = row.group
            lines.append("-" * 128)
        lines.append(
            f"{row.name:48} {amount(line['ours'], row.unit):>12} {amount(line['theirs'], row.unit):>12} {row.theirs:16} "
            f"{row.show(line['value']):>9} {row.show(row.floor):>9} {row.show(row.goal):>9}  {line['verdict']}".rstrip()
        )
    for title, key in (("WRONG", "wrong"), ("note", "notes")):
        lines.extend(f"{title}: {text}" for text in dict.fromkeys(report[key]))
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/cuda.py", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="where the figures go")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: whether it works")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="rows by name, as launch or 'kernel/transpose*'"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help="begin nothing new after so many seconds, and say what is left out",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the rows and stop")
    options = parser.parse_args()
    if not options.list and options.out is None:
        parser.error("--out FILE.json is missing: where the figures go")
    if options.out is not None and options.out.suffix != ".json":
        parser.error(f"--out {options.out} must end in .json: a chart goes beside it")
    for pattern in options.only or ():
        if not any(asked(row, [pattern]) for row in ROWS):
            parser.error(
                f"no row matches --only {pattern!r}; --list names them: {', '.join(MEASURES)} and more"
            )
    if options.out is not None and not options.out.resolve().parent.is_dir():
        parser.error(f"the folder of --out {options.out} does not exist")
    return options


def open_device() -> Any:
    """`treadle.cuda` on a GPU; ends the run with a sentence where there is none."""
    os.environ["TREADLE_CUDA"], os.environ["TREADLE_CUDA_WARN"] = "gpu", "0"
    try:
        from treadle import cuda
    except ImportError as why:
        print(f"bench: treadle cannot be imported: {why}", file=sys.stderr)
        raise SystemExit(2) from None
    try:
        cuda.synchronize()
    except cuda.cudadrv.error.CudaSupportError as why:
        print(f"bench: there is no GPU to measure: {why}", file=sys.stderr)
        raise SystemExit(2) from None
    return cuda


def main() -> int:
    options = parse()
    if options.list:
        print("\n".join(row.name for row in ROWS))
        return 0
    start = time.monotonic()
    cuda = open_device()
    from treadle import config

    bench = Bench(cuda, Driver(config.CUDA_DRIVER or "libcuda.so.1"), QUICK if options.quick else Sizes())
    bench.versions["treadle"] = sys.modules["treadle"].__version__
    bench.versions |= {name: v for name in PACKAGES if (v := version_of(name))}
    wanted = [row for row in ROWS if asked(row, options.only)]
    report: dict[str, Any] = {
        "machine": harnesses.machine(),
        "device": device_facts(bench),
        "quick": options.quick,
        "finished": False,
    }

    def write(finished: bool) -> None:
        report.update(
            finished=finished,
            versions=bench.versions,
            rows=evaluate(bench.samples, wanted),
            samples=bench.samples,
            notes=bench.notes,
            wrong=bench.wrong,
        )
        partial = options.out.with_suffix(".tmp")
        partial.write_text(json.dumps(report, indent=1))
        partial.rename(options.out)  # whoever ends the run finds a whole file

    for group, measure in MEASURES.items():
        measurements = {row.measurement for row in wanted if row.group == group}
        for measurement in sorted(measurements):
            if options.seconds is not None and time.monotonic() - start > options.seconds:
                bench.note(f"left out, as {options.seconds:g} seconds have passed: {measurement}")
                continue
            harnesses.say(f"bench: {measurement}")
            try:
                measure(bench, {measurement})
            except Exception as why:  # the other figures are still worth having
                bench.wrong.append(f"{measurement}: {type(why).__name__}: {why}")
            write(finished=False)
    bars = speedups(bench.samples)
    if bars:
        machine, device = report["machine"], report["device"]
        below = f"{device['name']}; {machine['cpu']}, {machine['cores']} cores; {machine['date']}"
        base = CHART["scipy" if "scipy" in bench.samples.get(GAUSSIANS[0], {}) else "numpy"]
        title = f"A gaussian of {bench.sizes.elements:,} elements: speed, {base} = 1"
        picture = chart.bars(title, bars, below)
        options.out.with_suffix(".svg").write_text(picture)
    write(finished=True)
    print(render(report, wanted))
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
