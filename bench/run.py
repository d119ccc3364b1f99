"""`make bench`: Treadle, Numba and C side by side; prints a table of ratios.

Run by any Python that a Treadle was built for; it makes its own environment
with the peers in bench/.venv and continues there.  With `--check` it exits 1
when a row is below its floor and 2 when a row could not be measured.  A wrong
result of any peer's code exits 1 in any case.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from pathlib import Path
from typing import Any

import harness as harnesses
import picture

BEGIN, END, HEAD = "<!-- tables: begin -->", "<!-- tables: end -->", "### "
SCALE = {"ns": 1e9, "ns/el": 1e9, "us": 1e6, "ms": 1e3, "MiB": 1.0, "": 1.0}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit 1 when a row is below its floor")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: rough figures in a minute")
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help="rows by name, as call/* or run/fft"
    )
    parser.add_argument("--json", metavar="OUT", type=Path, help="write samples and verdicts to a file")
    parser.add_argument(
        "--readme",
        action="store_true",
        help="put the table into bench/README.md, and draw docs/first-call.svg anew",
    )
    parser.add_argument("--treadle", metavar="FOLDER", help="folder that holds the built package `treadle`")
    parser.add_argument("--retries", type=int, default=2, help="with --check: measure failing rows again")
    parser.add_argument("--list", action="store_true", help="print the names of the rows and stop")
    return parser.parse_args()


def chosen(name: str, patterns: list[str] | None) -> bool:
    if not patterns:
        return True
    return any(fnmatch.fnmatch(name, p) or fnmatch.fnmatch(name, f"{p}/*") for p in patterns)


def number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    scaled = value * SCALE[unit]
    digits = 0 if scaled >= 1000 else 1 if scaled >= 10 else 2 if scaled >= 1 else 3
    return f"{scaled:,.{digits}f} {unit}".rstrip()


def limit(value: float | None) -> str:
    if value is None:
        return "-"
    inverse = 1 / value
    return f"1/{inverse:.0f}" if inverse > 2 and abs(inverse - round(inverse)) < 1e-6 else f"{value:.3g}"


def evaluate(samples: Any, patterns: list[str] | None) -> list[dict[str, Any]]:
    """Judge every chosen row.

    Returns
    -------
    list of dict
        name, group, ours, theirs, unit, value, floor, goal, verdict; the means last of their group.
    """
    import rows

    table: list[dict[str, Any]] = []
    values: dict[str, float | None] = {}
    for row in rows.ROWS:
        value = values[row.name] = row.value(samples)
        if chosen(row.name, patterns):
            table.append(
                {
                    "name": row.name,
                    "group": row.group,
                    "measurements": row.measurements,
                    "ours": row.figure(samples, row.ours),
                    "theirs": row.figure(samples, row.theirs),
                    "peer": row.theirs,
                    "unit": row.unit,
                    "value": value,
                    "floor": row.floor,
                    "goal": row.goal,
                    "verdict": rows.verdict(value, row.floor, row.goal),
                }
            )
    for mean in rows.MEANS:
        if chosen(mean.name, patterns):
            value = mean.value(values)
            line = {
                "name": mean.name,
                "group": mean.group,
                "members": mean.members,
                "value": value,
                "floor": mean.floor,
                "goal": mean.goal,
                "verdict": rows.verdict(value, mean.floor, mean.goal),
            }
            last = max((i for i, r in enumerate(table) if r["group"] == mean.group), default=len(table) - 1)
            table.insert(last + 1, line)
    return table


def render(table: list[dict[str, Any]], harness: harnesses.Harness) -> str:
    """The table, the peers' versions and what is missing, as text."""
    facts = harnesses.machine()
    lines = [
        f"{facts['cpu']}, {facts['cores']} cores, load {facts['load']:.1f}; "
        f"Python {facts['python']}; {facts['date']}",
        "; ".join(f"{name} {version}" for name, version in harness.versions.items()),
        f"{'row':34} {'Treadle':>12} {'peer':>12} {'':9} {'ratio':>8} {'floor':>7} {'goal':>7}  verdict",
    ]
    group = ""
    for row in table:
        if row["group"] != group:
            group = row["group"]
            lines.append("-" * 103)
        value = row["value"]
        unit = row.get("unit", "")
        absolute = "peer" in row and not row["peer"]
        scale = SCALE[unit] if absolute else 1.0
        floor, goal = (None if x is None else x * scale for x in (row["floor"], row["goal"]))
        lines.append(
            f"{row['name']:34} {number(row.get('ours'), unit):>12} {number(row.get('theirs'), unit):>12} "
            f"{row.get('peer', ''):9} {'-' if value is None or absolute else format(value, '.3f'):>8} "
            f"{limit(floor):>7} {limit(goal):>7}  {row['verdict']}".rstrip()
        )
    for title, texts in (("WRONG RESULT", harness.wrong), ("fact", harness.facts), ("note", harness.notes)):
        lines.extend(f"{title}: {text}" for text in dict.fromkeys(texts))
    return "\n".join(lines)


def write_readme(text: str, processor: str) -> None:
    """Put the table between the marks in README.md, in the place of the one of this processor or behind the others."""
    readme = harnesses.HERE / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"bench: README.md lacks the marks {BEGIN} and {END}")
    _, *parts = old.split(HEAD)
    tables = dict(part.split("\n", 1) for part in parts)
    tables[processor] = f"\n```\n{text}\n```\n\n"
    new = "".join(f"{HEAD}{name}\n{table}" for name, table in tables.items())
    readme.write_text(f"{before}{BEGIN}\n\n{new}{END}{after}")


def failing(table: list[dict[str, Any]]) -> set[str]:
    """Measurements behind rows below their floor, members of means included."""
    out: set[str] = set()
    by_name = {row["name"]: row for row in table}
    for row in table:
        if row["verdict"] == "BELOW":
            members = row.get("members", (row["name"],))
            out.update(x for m in members if m in by_name for x in by_name[m]["measurements"])
    return out


def main() -> int:
    options = parse()
    harnesses.enter_venv()
    import rows  # needs NumPy, which the environment has
    from measure import measure

    if options.list:
        print("\n".join(row.name for row in [*rows.ROWS, *rows.MEANS]))
        return 0
    harness = harnesses.Harness(harnesses.find_treadle(options.treadle), options.quick)
    harness.probe()
    for note in harness.notes:
        harnesses.say(f"bench: {note}")
    samples: rows.Samples = {}
    wanted = {x for row in rows.ROWS if chosen(row.name, options.only) for x in row.measurements}
    measure(harness, wanted, samples)
    table = evaluate(samples, options.only)
    for _ in range(options.retries if options.check else 0):
        again = failing(table)
        if not again:
            break
        harnesses.say(f"bench: below the floor, measured again: {', '.join(sorted(again))}")
        measure(harness, again, samples)
        table = evaluate(samples, options.only)
    if not table:
        raise SystemExit("bench: no row matches; `bench/run.py --list` names them")
    text = render(table, harness)
    print(text)
    if options.readme:
        write_readme(text, harnesses.machine()["cpu"])
        picture.OUT.write_text(picture.draw(next(iter(picture.tables()))))
    if options.json:
        facts = {"machine": harnesses.machine(), "versions": harness.versions, "quick": options.quick}
        options.json.write_text(
            json.dumps(facts | {"rows": table, "samples": samples, "notes": harness.notes}, indent=1)
        )
    return status(table, harness, options.check)


def status(table: list[dict[str, Any]], harness: harnesses.Harness, check: bool) -> int:
    """The exit status; with `check` the last line says why."""
    if harness.wrong:
        return 1
    if not check:
        return 0
    asked = [row for row in table if row["floor"] is not None]
    below = [row["name"] for row in asked if row["verdict"] == "BELOW"]
    missing = [row["name"] for row in asked if row["verdict"] == "missing"]
    if below:
        print(f"check: {len(below)} rows below their floor: {', '.join(below)}")
    if missing:
        print(f"check: {len(missing)} rows could not be measured: {', '.join(missing)}")
    if not below and not missing:
        print(f"check: all {len(asked)} rows reach their floor")
    return 1 if below else 2 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
