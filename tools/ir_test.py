"""Run one text-IR test: ``ir_test.py TREADLEC FILE.ir``.

A test is a program in text IR (docs/ir.md) with its expectations as comments:

``; run: fold,dce``        passes to run; ``opt`` stands for the product's order
``; args: (f8[:], i8)``    argument types, for untyped IR
``; set: fastmath=127``    a code option; may stand several times
``; call: f(1, 2.0) -> 3`` the call gives this, interpreted before and after the passes, and compiled;
                           ``-> raises IndexError: text`` for an exception
``; launch: k[2, 32](4) -> none``  the same for a kernel, with blocks and threads of each; interpreted only
``; expect:``              the following comment lines are the program after the passes, exactly
``; loops:``               the following comment lines are the loops of its patterns then, as ``treadlec --loops``
``; has: text``            a line of the program after the passes holds this text; ``; has-not:`` none does
``; error: text``          reading or verifying fails, and the message holds this text

Whatever is expected, the program must read back as it was printed. With ``--regold`` the blocks after ``; expect:``
and ``; loops:`` are rewritten. Exit status 1 and one line per fault when something differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

MODES = ("--interp", "--exec")


@dataclass
class Expectations:
    """What the comments of a test ask for."""

    passes: str | None = None
    types: str | None = None
    settings: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    launches: list[tuple[str, str]] = field(default_factory=list)
    program: str | None = None
    loops: str | None = None
    has: list[str] = field(default_factory=list)
    has_not: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def read_expectations(text: str) -> Expectations:
    """Return the expectations that the comments of `text` hold.

    Raises
    ------
    ValueError
        When a comment looks like an expectation but is not one, or when there is none.
    """
    e = Expectations()
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith(";"):
            continue
        key, colon, value = line[1:].strip().partition(":")
        value = value.strip()
        if not colon or " " in key:
            continue
        match key:
            case "run":
                e.passes = value.replace(" ", ",")
            case "args":
                e.types = value
            case "set":
                e.settings.append(value)
            case "call" | "launch":
                call, arrow, result = value.partition(" -> ")
                if not arrow:
                    raise ValueError(f"a call without ' -> ': {value}")
                (e.calls if key == "call" else e.launches).append((call.strip(), result.strip()))
            case "expect" | "loops":
                block = []
                for more in lines:
                    if not more.startswith(";"):
                        break
                    block.append(more[2:])
                if key == "expect":
                    e.program = "\n".join(block)
                else:
                    e.loops = "\n".join(block)
            case "has":
                e.has.append(value)
            case "has-not":
                e.has_not.append(value)
            case "error":
                e.errors.append(value)
            case _:
                raise ValueError(f"no such expectation: {key}")
    blocks = e.program is not None or e.loops is not None
    if not (e.calls or e.launches or blocks or e.has or e.has_not or e.errors):
        raise ValueError("expects nothing")
    return e


def treadlec(
    tool: str, path: str, *options: str, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run treadlec over `path`; a crash or a hang is a failed process with a message."""
    try:
        done = subprocess.run(
            [tool, *options, path], input=stdin, capture_output=True, text=True, timeout=50, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([tool], 124, "", "treadlec hangs")
    if done.returncode < 0:
        done.stderr += f"\ntreadlec died of signal {-done.returncode}"
    return done


def check_program(tool: str, path: str, options: list[str], e: Expectations) -> list[str]:
    """Faults of the program as printed after the passes."""
    shown = treadlec(tool, path, *options, "--print")
    if shown.returncode:
        return [f"fails: {shown.stderr.strip()}"]
    faults = []
    again = treadlec(tool, "-", "--print", stdin=shown.stdout)
    if again.stdout != shown.stdout:
        faults.append(
            f"does not read back as printed:\n{shown.stdout}\n--- but as\n{again.stdout}{again.stderr}"
        )
    if e.program is not None and shown.stdout.rstrip() != e.program.rstrip():
        faults.append(f"the program is\n{shown.stdout}\n--- expected\n{e.program}")
    if e.loops is not None:
        trees = treadlec(tool, path, *options, "--loops").stdout
        if trees.rstrip() != e.loops.rstrip():
            faults.append(f"the loops are\n{trees}\n--- expected\n{e.loops}")
    faults += [f"no line has '{t}':\n{shown.stdout}" for t in e.has if t not in shown.stdout]
    faults += [f"a line has '{t}':\n{shown.stdout}" for t in e.has_not if t in shown.stdout]
    return faults


def check_calls(tool: str, path: str, options: list[str], typed: list[str], e: Expectations) -> list[str]:
    """Faults of the calls: interpreted before the passes, then after them, then compiled."""
    faults = []
    plans = [("interpreted", typed, "--interp"), ("compiled", options, "--exec")]
    if options != typed:
        plans.insert(1, ("interpreted after the passes", options, "--interp"))
    for how, opts, mode in plans:
        for call, want in e.calls + (e.launches if mode == "--interp" else []):
            done = treadlec(tool, path, *opts, mode, call)
            got = done.stdout.rstrip("\n").replace("\n", "\\n")
            if done.returncode or got != want:
                faults.append(f"{call} {how} gives '{got}', expected '{want}' {done.stderr.strip()}")
    return faults


def run_test(tool: str, path: Path) -> list[str]:
    """Return the faults of one test; empty when it passes."""
    try:
        e = read_expectations(path.read_text())
    except ValueError as err:
        return [str(err)]
    typed = [f"--set={s}" for s in e.settings] + ([f"--args={e.types}"] if e.types else [])
    options = typed + ([f"--run={e.passes}"] if e.passes else [])
    if e.errors:
        done = treadlec(tool, str(path), *options, "--verify")
        if done.returncode != 1:
            return [f"exit status {done.returncode}, expected an error"]
        return [
            f"the error is '{done.stderr.strip()}', expected '{t}'" for t in e.errors if t not in done.stderr
        ]
    return check_program(tool, str(path), options, e) + check_calls(tool, str(path), options, typed, e)


def regold(tool: str, path: Path) -> None:
    """Rewrite the blocks after ``; expect:`` and ``; loops:`` with what the program is now."""
    e = read_expectations(path.read_text())
    options = [f"--set={s}" for s in e.settings] + ([f"--args={e.types}"] if e.types else [])
    options += [f"--run={e.passes}"] if e.passes else []
    for key, now, how in (("expect", e.program, "--print"), ("loops", e.loops, "--loops")):
        if now is None:
            continue
        shown = treadlec(tool, str(path), *options, how)
        head, _, tail = path.read_text().partition(f"; {key}:\n")
        rest = tail.splitlines()
        while rest and rest[0].startswith(";"):
            rest.pop(0)
        block = [f"; {line}".rstrip() for line in shown.stdout.rstrip().splitlines()]
        path.write_text(head + "\n".join([f"; {key}:", *block, *rest]) + "\n")


def main() -> int:
    """Run the tests named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("tool", help="the treadlec program")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--regold", action="store_true", help="rewrite the expected programs")
    args = parser.parse_args()
    failed = 0
    for path in args.files:
        if args.regold:
            regold(args.tool, path)
        for fault in run_test(args.tool, path):
            print(f"{path}: {fault}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
