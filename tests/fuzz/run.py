"""The fuzz run: many programs against the oracle, in child processes; findings are shrunk and written down.

    python tests/fuzz/run.py --n 10000 --seed 1 --jobs 2
    python tests/fuzz/run.py --planted all

Exits with 1 if there was a finding (or a planted fault that was not found).
"""

from __future__ import annotations

import argparse
import re
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from child import Child, Pair
from graph_check import UNFUSED
from reached import Coverage
from shrink import shrink

PLANTS = range(1, 14)  # base/plant.h; 14 is not for programs like these
GRAPH_PLANTS = range(15, 22)
HEAD = '''"""{title}

expected and got, call {call}: {why}
"""

import sys
from pathlib import Path

SOURCE = {source}
CALLS = {calls}
PROMOTION = {promotion!r}
OPTIONS = {options!r}

if __name__ == "__main__":
    here = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(here) if (here / "check.py").exists() else {here!r})
    import check

    request = {{"source": SOURCE, "calls": CALLS, "promotion": PROMOTION, "options": OPTIONS}}
    print(check.check_text(request, "treadle"))
'''


def signature(answer: dict[str, Any]) -> str:
    """What makes two findings alike: the kind of difference, or the engine's message, without numbers and names."""
    why = answer.get("why", "").strip()
    if answer["status"] == "crash":
        why = (why.splitlines() or [""])[-1]
    unexpected = re.search(r"got ([A-Z]\w+: .*)", why)
    if answer["status"] == "diff" and unexpected:
        why = unexpected.group(1)
    text = re.sub(r"0x[0-9a-f]+|-?\d+(\.\d+)?(e[+-]?\d+)?|'[^']*'", "#", why.splitlines()[0] if why else "")
    text = re.sub(r"np\.\w+\(.*?\)(, got .*)?|\(.*", "#", text)
    return f"{answer['status']}: {text[:110]}"


class Run:
    """One run's state, shared by its threads."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.lock = threading.Lock()
        self.next_seed = options.seed
        self.done = 0
        self.deadline = time.monotonic() + options.time if options.time else None
        self.status: Counter = Counter()
        self.ended: Counter = Counter()
        self.groups: Counter = Counter()
        self.coverage = Coverage(options.promotion)
        self.files: list[Path] = []
        self.rejects = 0
        self.legal = 0

    def take(self) -> int | None:
        """The next seed, or None at the end."""
        with self.lock:
            late = self.deadline is not None and time.monotonic() > self.deadline
            if late or self.next_seed >= self.options.seed + self.options.n:
                return None
            self.next_seed += 1
            return self.next_seed - 1

    def note(self, answer: dict[str, Any]) -> bool:
        """Count an answer; True if it is the first of its kind."""
        with self.lock:
            self.done += 1
            self.status[answer["status"]] += 1
            self.rejects += answer.get("rejects", 0)
            self.legal += answer.get("legal", 0)
            self.ended.update(answer.get("ended", {}))
            self.coverage.add(answer.get("seen", []))
            if self.done % 500 == 0:
                print(f"{self.done} programs, {dict(self.status)}", flush=True)
            if answer["status"] == "ok":
                return False
            key = signature(answer)
            self.groups[key] += 1
            first = self.groups[key] == 1 and len(self.groups) <= self.options.findings
            if not first:
                print(f"finding, seed {answer['seed']}, once more: {key}", flush=True)
            return first

    def work(self) -> None:
        """One thread: a child process and the seeds it is given."""
        o = self.options
        child = checker(o)
        try:
            while (seed := self.take()) is not None:
                answer = child.ask(
                    {"seed": seed, "library": o.library, "only": o.only, "schedules": o.schedules}
                )
                answer.setdefault("seed", seed)
                answer["before"] = child.served
                if not self.note(answer):
                    continue
                try:
                    self.finding(child, answer)
                except Exception as error:  # the generator's own: it is counted, and the others go on
                    print(f"finding, seed {answer['seed']}, cannot be made again: {error!r}", flush=True)
        finally:
            child.stop()

    def finding(self, child: Child | Pair, answer: dict[str, Any]) -> None:
        """Shrink a failing program and write it down."""
        if "source" not in answer:
            answer |= self.again(answer["seed"])
        source, calls = answer["source"], answer["calls"]
        again = child.ask({"source": source, "calls": calls, "options": answer["options"]})
        if again["status"] != answer["status"]:
            answer["why"] += f" (alone: {again['status']}; seeds before it: {answer.get('before')})"
        kind = signature(answer)[:60]
        last = dict(answer)

        def fails(text: str, args: list[list[str]]) -> bool:
            got = child.ask({"source": text, "calls": args, "options": answer["options"]})
            same = got["status"] == answer["status"] and (
                got["status"] != "refused" or signature(got)[:60] == kind
            )
            if same:
                last.update(got)
            return same

        if self.options.shrink:
            source, calls = shrink(source, calls, fails, self.options.checks)
        path = self.write(answer, last, source, calls)
        with self.lock:
            self.files.append(path)
            print(
                f"finding, seed {answer['seed']}, {last['status']}: {last['why'][:300]}\n  {path}", flush=True
            )

    def again(self, seed: int) -> dict[str, Any]:
        """The program of a seed that had no answer."""
        import gen
        import gen_graph
        import gen_straight
        from check import kind_of_seed

        if self.options.graphs:
            graph, n = gen_graph.make_case(seed), self.options.schedules
            more = {"schedules": [seed, n]} if n else {}
            return {"source": graph.source, "calls": graph.calls, "options": graph.options | more}

        o = self.options
        if kind := kind_of_seed(seed, o.library, o.promotion, o.only):
            made = kind.make_case(seed)
            return {"source": made.source, "calls": made.calls, "options": made.options}
        if gen_straight.is_of(seed, self.options.library, self.options.promotion):
            plain = gen_straight.make_case(seed)
            return {"source": plain.source, "calls": plain.calls, "options": plain.options}
        case, _, _ = gen.make_case(seed, self.options.promotion, self.options.library)
        return {"source": case.source, "calls": [c.args for c in case.calls], "options": case.options}

    def write(self, answer: dict[str, Any], last: dict[str, Any], source: str, calls: list) -> Path:
        """A script that shows the finding by itself."""
        folder = Path(self.options.out)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"seed_{self.options.promotion}_{answer['seed']}.py"
        text = HEAD.format(
            title=f"Found by seed {answer['seed']}: {last['status']}.",
            call=last.get("call", 0),
            why=last["why"][:400].replace("\\", "/").replace('"""', "'''"),
            source='"""\\\n' + source.replace("\\", "\\\\") + '"""',
            calls="[\n" + "".join(f"    {c!r},\n" for c in calls) + "]",
            promotion=self.options.promotion,
            options=answer["options"],
            here=str(Path(__file__).resolve().parent),
        )
        path.write_text(text)
        return path


def checker(options: argparse.Namespace, env: dict[str, str] | None = None) -> Child | Pair:
    """The process that programs are given to; of graphs two."""
    if options.graphs:
        return Pair(UNFUSED, env, options.timeout)
    return Child(options.engine, options.promotion, env, options.timeout)


def fuzz(options: argparse.Namespace) -> int:
    """Run programs and print what happened."""
    run = Run(options)
    start = time.monotonic()
    threads = [threading.Thread(target=run.work) for _ in range(options.jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    spent = time.monotonic() - start
    print(
        f"{run.done} programs in {spent:.0f} s: " + ", ".join(f"{n} {s}" for s, n in run.status.most_common())
    )
    print("calls ended with: " + ", ".join(f"{k} {n}" for k, n in run.ended.most_common()))
    print(f"programs or calls turned away because the rules leave something open: {run.rejects}")
    if options.schedules:
        print(f"legal schedules: {run.legal} of {run.done * options.schedules}")
    if options.coverage:
        print(run.coverage.report())
    for key, n in run.groups.most_common():
        print(f"{n:6d}  {key}")
    return 1 if run.groups else 0


def planted(options: argparse.Namespace) -> int:
    """Switch on each planted fault and count the programs until it shows."""
    plants = GRAPH_PLANTS if options.graphs else PLANTS
    wanted = plants if options.planted == "all" else [int(options.planted)]
    missed = 0
    for plant in wanted:
        child = checker(options, {"TREADLE_PLANT": str(plant)})
        found = None
        for k in range(options.n):
            answer = child.ask({"seed": options.seed + k, "library": options.library, "only": options.only})
            if answer["status"] in ("diff", "crash"):
                found = k + 1
                break
        child.stop()
        missed += found is None
        if found is None:
            print(f"planted fault {plant}: not found in {options.n} programs", flush=True)
        else:
            print(f"planted fault {plant}: found by program {found}: {answer['why'][:120]}", flush=True)
    return 1 if missed else 0


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--n", type=int, default=None, help="programs (default 10000; with --planted: bound, 1000)"
    )
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--time", type=float, default=None, help="stop after this many seconds")
    parser.add_argument("--jobs", type=int, default=1, help="child processes")
    parser.add_argument("--engine", default="treadle", choices=["treadle", "numba", "python"])
    parser.add_argument("--promotion", default="treadle", choices=["treadle", "numba"])
    parser.add_argument("--out", default="fuzz-findings", help="folder for findings")
    parser.add_argument("--findings", type=int, default=20, help="most findings to shrink and write")
    parser.add_argument("--checks", type=int, default=600, help="most checks to shrink one finding")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one program")
    parser.add_argument("--planted", default=None, help="number of a planted fault, or 'all'")
    parser.add_argument(
        "--library", action="store_true", help="programs that call NumPy's functions of all kinds alone"
    )
    parser.add_argument(
        "--only", default="", choices=["containers", "raises"], help="programs of this kind alone"
    )
    parser.add_argument("--graphs", action="store_true", help="graphs of lazy arrays in place of programs")
    parser.add_argument(
        "--schedules", type=int, default=0, help="with --graphs: run each under so many random schedules"
    )
    parser.add_argument("--coverage", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--shrink", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    options.n = options.n or (1000 if options.planted else 10_000)
    return planted(options) if options.planted else fuzz(options)


if __name__ == "__main__":
    sys.exit(main())
