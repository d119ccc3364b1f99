"""The environment of a benchmark run and the children that measure in it.

Makes `bench/.venv` with the peers, finds the built Treadle, and runs child
processes with a clean environment.  What is missing is kept as sentences in
`Harness.notes`, which the table ends with.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
REQUIREMENTS = HERE / "requirements.txt"


def say(text: str) -> None:
    """Progress goes to stderr, so that stdout is the table alone."""
    print(text, file=sys.stderr, flush=True)


def enter_venv() -> None:
    """Make `bench/.venv` where it is missing or stale, then run again inside it."""
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    python = VENV / "bin" / "python"
    base = sys.version.split()[0]
    stamp = hashlib.sha256(REQUIREMENTS.read_bytes() + base.encode()).hexdigest()
    record = VENV / "stamp"
    if not record.exists() or record.read_text() != stamp:
        if VENV.is_symlink():  # --clear would empty what it leads to
            raise SystemExit("bench: bench/.venv is a link to an environment that is stale: remove the link")
        say(f"bench: installing the peers into bench/.venv for Python {base}")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "-r", str(REQUIREMENTS)]
        if subprocess.run(pip).returncode != 0:
            raise SystemExit(
                "bench: pip could not install bench/requirements.txt (is the package index reachable?)"
            )
        record.write_text(stamp)
    os.execv(python, [str(python), *sys.argv])


def find_treadle(given: str | None) -> Path | None:
    """The folder that holds the package `treadle`, built for this interpreter.

    Order: the argument, `TREADLE_STAGE`, the build folder of this Python.
    """
    named = given or os.environ.get("TREADLE_STAGE")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    guesses = [Path(named)] if named else [HERE.parent / "build" / version / "stage"]
    for guess in guesses:
        for folder in (guess, guess.parent):
            if (folder / "treadle" / "__init__.py").exists():
                return folder.resolve()
    return None


class ChildError(Exception):
    """A child process failed; the text is its last words."""


@dataclass
class Harness:
    """What the measuring functions need to know.

    Attributes
    ----------
    treadle : Path or None
        Folder to put on PYTHONPATH.
    jits : list of str
        The compiling peers that work, Treadle first.
    quick : bool
        Fewer rounds; figures are rough.
    facts : list of str
        Worth knowing beside the figures.
    notes : list of str
        What is missing or went wrong, said at the end.
    wrong : list of str
        Wrong results: they fail the run whatever was asked.
    versions : dict
        Name to version of every peer.
    """

    treadle: Path | None
    quick: bool = False
    jits: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)

    def environment(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        """The caller's environment without settings that steer a peer."""
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("NUMBA_", "TREADLE_", "PYTHON"))
        }
        env["PYTHONHASHSEED"] = "0"
        if self.treadle is not None:
            env["PYTHONPATH"] = str(self.treadle)
        return env | (extra or {})

    def child(self, script: str, *args: str, env: dict[str, str] | None = None) -> dict[str, Any]:
        """Run `bench/<script>.py` and return the JSON object it prints last.

        Raises
        ------
        ChildError
            The child failed or printed no JSON.
        """
        done = subprocess.run(
            [sys.executable, str(HERE / f"{script}.py"), *args],
            env=self.environment(env),
            capture_output=True,
            text=True,
            timeout=1800,
        )
        lines = done.stdout.strip().splitlines()
        if done.returncode != 0 or not lines:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise ChildError(f"{script} {' '.join(args[:3])}: exit {done.returncode}: {last}")
        result: dict[str, Any] = json.loads(lines[-1])
        return result

    def probe(self) -> None:
        """Find out which peers work, and say which do not."""
        for name in ("treadle", "numba", "numpy", "llvmlite", "numexpr"):
            use = f"{name}.njit(lambda x: x + 1)(1)" if name in ("treadle", "numba") else name
            code = f"import {name}; {use}; print({name}.__version__)"
            done = subprocess.run(
                [sys.executable, "-c", code], env=self.environment(), capture_output=True, text=True
            )
            if done.returncode == 0:
                self.versions[name] = done.stdout.strip()
                if name in ("treadle", "numba"):
                    self.jits.append(name)
            elif name != "treadle" or self.treadle is not None:
                last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                self.notes.append(f"{name} cannot be used: {last}")
        if self.treadle is None:
            self.notes.append(
                "no built Treadle found: run `make build`, or give --treadle FOLDER or TREADLE_STAGE"
            )

    def rounds(self, full: int, quick: int) -> int:
        """How often to measure."""
        return quick if self.quick else full


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    told: dict[str, str] = {}
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as handle:
        for line in handle:
            name, _, value = line.partition(":")
            told.setdefault(name.strip(), value.strip())
    model = told.get("model name", "unknown")
    if "Processor" in model.split()[-1:]:  # a virtual machine's: it says no more than the maker
        model = f"{model}, family {told['cpu family']}, model {told['model']}"
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d"),
    }
