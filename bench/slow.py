"""Measures the pairs of programs in docs/slow.md, `before` and `after`, and prints the figures.

``--write`` puts them into the page. CPU time of the process, the best of many calls, both sides in turns.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs/slow.md"
PAIR = re.compile(r"(?ms)^```python\n(# (\w+)\.py\n.*?)^```\n(.*?)(?=^```python|\Z)")
PLACE = re.compile(r"(?m)^<!-- measured -->\n(.+\n)?")
MACHINE = re.compile(r"(?m)^<!-- machine -->\n(.+\n)?")


def best(sides: list[Callable[[], Any]], seconds: float) -> list[float]:
    """Least CPU seconds of a call of each, in turns for so many seconds."""
    least = [float("inf")] * len(sides)
    repeat = []
    for side in sides:
        side()
        begin = time.perf_counter()
        side()
        repeat.append(max(1, int(2e-3 / max(time.perf_counter() - begin, 1e-9))))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, side in enumerate(sides):
            begin = time.process_time()
            for _ in range(repeat[k]):
                side()
            least[k] = min(least[k], (time.process_time() - begin) / repeat[k])
    return least


def said(seconds: float) -> str:
    """Return a time with a unit, in three digits."""
    for unit, size in (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= size or unit == "ns":
            return f"{float(f'{seconds / size:.3g}'):g} {unit}"
    raise AssertionError


def measure(name: str, text: str, folder: Path, seconds: float) -> str | None:
    """Return the line for a program of the page; None where it is no pair."""
    path = folder / f"{name}.py"
    path.write_text(text)
    space: dict[str, Any] = {"__name__": name}
    exec(compile(text, str(path), "exec"), space)  # noqa: S102
    if "after" not in space:
        return None
    args = space["args"]
    before, after = best([lambda: space["before"](*args), lambda: space["after"](*args)], seconds)
    ratio = before / after
    times = f"{ratio:.1f}" if ratio < 10 else f"{float(f'{ratio:.2g}'):,.0f}"
    return f"*Measured: {said(before)} before, {said(after)} after; ratio {times}.*"


def machine() -> str:
    """Name the processor and the versions."""
    import numpy as np

    info = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    model = {k: v for k, v in re.findall(r"(?m)^([\w ]+?)\s*: (.*)$", info)}
    name = model.get("model name", platform.machine())
    kind = f"{name} (family {model.get('cpu family', '?')}, model {model.get('model', '?')})"
    return f"Measured on one core of an {kind}, Python {platform.python_version()}, NumPy {np.__version__}."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/slow.md")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each pair (default 2)")
    given = parser.parse_args()
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for match in PAIR.finditer(page):
            text, name, rest = match.groups()
            if not PLACE.search(rest):
                continue
            line = measure(name, text, Path(folder), given.seconds)
            assert line is not None, name
            print(f"{name}: {line.strip('*')}", flush=True)
            page = page.replace(rest, PLACE.sub(f"<!-- measured -->\n{line}\n", rest, count=1))
    if given.write:
        PAGE.write_text(MACHINE.sub(f"<!-- machine -->\n{machine()}\n", page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
