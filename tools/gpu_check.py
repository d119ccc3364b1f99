"""Tries a wheel on a machine with a GPU: the tests of kernels on hardware, then bench/cuda.py. One command, less than eight minutes, no network.

    python3 tools/gpu_check.py                                  # the wheel of build/wheels that fits this Python; figures to bench/results
    python3 tools/gpu_check.py --wheel WHEEL --out DIR
    python3 tools/gpu_check.py --driver LIBRARY --quick         # tiny: whether all of it works, as on the driver of the tests
    python3 tools/gpu_check.py -- -k streams                    # what follows goes to pytest

The checkout and a wheel (`make wheel ARGS="--python 3.12"`) are brought along; NumPy, pytest and hypothesis must be there, pytest-xdist and what
bench/cuda.py compares with may be. The wheel goes into a temporary folder. To --out go tests.xml, tests.log, cuda.json, cuda.svg, cuda.txt and summary.txt.
What takes longer than its time is ended, and told with how far it came.

Exit status: 0 only when all tests passed and all results were right.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devenv import ROOT, Stop, main_guard, say

import dev

TESTS_SECONDS, ALL_SECONDS = 300, 470
HANGS = 60  # seconds: a test that takes longer is ended and named, and the others go on
GRACE = 15  # seconds for pytest to write its record when it is told to stop
LOG_LIMIT = 8 << 20  # bytes of output that are kept, from the end
WORKERS = 12  # at most: each has a context of its own on the GPU
# Without these there are no tests; a line of what they are for.
NEEDED = {"numpy": "arrays", "pytest": "the tests", "hypothesis": "the tests' examples"}
# One line of pytest's for a test, with workers and without: `[gw0] [ 12%] PASSED a::b`, `a::b PASSED [ 12%]`.
DONE = re.compile(
    r"^(?:\[gw\d+\] \[ *\d+%\] ([A-Z]+) (\S+::.*?)|(\S+::.*?) ([A-Z]+)(?: \(.*\))? +\[ *\d+%\])\s*$"
)
PASSED = {"PASSED", "XFAIL"}

PROBE = """
import json, treadle
from treadle import cuda
cuda.synchronize()
d = cuda.get_current_device()
print(json.dumps([treadle.__file__, treadle.__version__, d.name, list(d.compute_capability)]))
"""


# --- the wheel ---


def fits(wheel: Path, python: str, glibc: tuple[int, int]) -> str:
    """Why a wheel cannot be installed here; empty where it can.

    Parameters
    ----------
    python
        The tag of the running Python, as "cp312".
    glibc
        The version of the C library here.
    """
    parts = wheel.name.removesuffix(".whl").split("-")
    if wheel.suffix != ".whl" or len(parts) < 5:
        return "that is no name of a wheel"
    if parts[-2] != python:
        return f"it is for {parts[-2]}, and this is {python}"
    if not parts[-1].endswith(f"_{platform.machine()}"):
        return f"it is for {parts[-1]}, and this is {platform.machine()}"
    needs = re.match(r"manylinux_(\d+)_(\d+)_", parts[-1])
    if needs and (int(needs[1]), int(needs[2])) > glibc:
        return f"it needs glibc {needs[1]}.{needs[2]}, and this is {glibc[0]}.{glibc[1]}"
    return ""


def this_python() -> str:
    """The tag of the running Python's wheels."""
    free = "t" if "free-threading" in sys.version else ""
    return f"cp{sys.version_info.major}{sys.version_info.minor}{free}"


def this_glibc() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", platform.libc_ver()[1])
    return (int(found[1]), int(found[2])) if found else (0, 0)


def choose(given: Path | None, folder: Path, python: str, glibc: tuple[int, int]) -> Path:
    """The wheel to try: the one that is given, or the newest one of a folder that fits.

    Raises
    ------
    Stop
        With what to bring along.
    """
    if given is not None:
        if not given.is_file():
            raise Stop(f"There is no wheel {given}.")
        why = fits(given, python, glibc)
        if why:
            raise Stop(f"{given.name} cannot be installed here: {why}.")
        return given
    there = sorted(folder.glob("*.whl"), key=lambda p: p.stat().st_mtime)
    fitting = [w for w in there if not fits(w, python, glibc)]
    if not fitting:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        told = "; ".join(f"{w.name}: {fits(w, python, glibc)}" for w in there) or "there is none at all"
        raise Stop(
            f"{folder} has no wheel for this Python ({told}). "
            f'Make one where Treadle is built (make wheel ARGS="--python {version}") and bring it along, or name it by --wheel.'
        )
    return fitting[-1]


def install(wheel: Path, site: Path) -> str:
    """Put a wheel into a folder, by pip or, where that is missing, as the archive it is; return how."""
    if importlib.util.find_spec("pip"):
        line = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-index"]
        line += ["--no-deps", "--no-compile", "--target", str(site), str(wheel)]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode == 0:
            return "by pip"
        say(f"pip did not install it, so it is unpacked: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    with zipfile.ZipFile(wheel) as z:
        z.extractall(site)
    return "unpacked"


# --- programs with a time of their own ---


@dataclass
class Run:
    """A program whose output goes to a file, and how it ended.

    Attributes
    ----------
    code : int
        Its exit status.
    late : bool
        It was ended, as its time was over.
    """

    code: int
    late: bool


def run_until(line: Sequence[str], env: dict[str, str], log: Path, deadline: float, told: Any = None) -> Run:
    """Run a program in a session of its own until the deadline; then it is asked to stop, and in the end made to.

    Parameters
    ----------
    told
        Called each 10 seconds.
    """
    with open(log, "ab") as out:
        child = subprocess.Popen(
            list(line),
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A shell that starts us behind an & has it ignored, which children inherit: they could not be asked.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        late, shown = False, time.monotonic()
        try:
            while child.poll() is None:
                now = time.monotonic()
                if now > deadline and not late:
                    late = True
                    child.send_signal(signal.SIGINT)
                if now > deadline + GRACE:
                    break
                if told and now - shown > 10:
                    shown = now
                    told()
                time.sleep(0.2)
        finally:  # whatever it started goes with it
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            code = child.wait()
    return Run(code, late)


def shortened(path: Path) -> None:
    """Keep the end of a file that is too long to be carried home."""
    if path.exists() and path.stat().st_size > LOG_LIMIT:
        data = path.read_bytes()
        path.write_bytes(b"(what came before is left out)\n" + data[-LOG_LIMIT:])


# --- the tests ---


@dataclass
class Tests:
    """What came of the tests.

    Attributes
    ----------
    counts : dict
        Tests by pytest's word for them: PASSED, FAILED, SKIPPED, ...
    failed : list of str
        Names.
    trouble : list of str
        Sentences: why these are not all tests, or that something other than a test failed.
    seconds : float
    """

    counts: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return not self.failed and not self.trouble and self.counts.get("PASSED", 0) > 0

    def read(self, log: str) -> None:
        """Count what a log of pytest's tells, test for test: it says how far a run came that was ended."""
        for line in log.splitlines():
            found = DONE.match(line)
            if found:
                word, name = (found[1], found[2]) if found[1] else (found[4], found[3])
                self.counts[word] = self.counts.get(word, 0) + 1
                if word not in PASSED | {"SKIPPED"}:
                    self.failed.append(name)


def merged(records: list[Path], out: Path) -> None:
    """Make one JUnit record of several."""
    root = ET.Element("testsuites")
    for record in records:
        if record.exists():
            root.extend(ET.parse(record).getroot().iter("testsuite"))
    ET.ElementTree(root).write(out, encoding="utf-8", xml_declaration=True)


def run_tests(
    files: Sequence[str], env: dict[str, str], out: Path, deadline: float, extra: Sequence[str]
) -> Tests:
    """Run the tests, with workers where pytest-xdist is, else a file after the other, each in a process of its own: one that ends a GPU's context ends its process."""
    xdist = importlib.util.find_spec("xdist") is not None
    workers = min(WORKERS, len(os.sched_getaffinity(0)))
    groups = [list(files)] if xdist else [[f] for f in files]
    say(
        f"{len(files)} files of tests, "
        + (f"{workers} workers." if xdist else "in order: pytest-xdist is not here.")
    )
    tests, start, records = Tests(), time.monotonic(), []
    log = out / "tests.log"
    log.unlink(missing_ok=True)

    def told() -> None:
        so_far = Tests()
        so_far.read(log.read_text(errors="replace"))
        n = sum(so_far.counts.values())
        say(f"{time.monotonic() - start:.0f} s: {n} tests done, {len(so_far.failed)} of them failed")

    with tempfile.TemporaryDirectory() as folder:
        for number, group in enumerate(groups):
            record = Path(folder) / f"{number}.xml"
            records.append(record)
            line = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--junitxml={record}"]
            # A test that hangs in C is ended with its process.
            line += [f"-otimeout={HANGS}", f"-ofaulthandler_timeout={HANGS + 20}"]
            line += [*([f"-n{workers}"] if xdist else []), *group, *extra]
            run = run_until(line, env, log, deadline, told)
            if run.late:
                left = f", and {len(groups) - number - 1} files not begun" if number + 1 < len(groups) else ""
                tests.trouble.append(f"the tests were stopped, as their time was over{left}")
                break
            if run.code not in (0, 1, 5):  # 1: tests failed; 5: a file has none to run
                what = "the tests" if xdist else group[0]
                tests.trouble.append(
                    f"{what}: pytest ended with exit status {run.code}; the log's end says why"
                )
        merged(records, out / "tests.xml")
    tests.read(log.read_text(errors="replace"))
    tests.seconds = time.monotonic() - start
    if not tests.counts and not tests.trouble:
        tests.trouble.append("no test ran")
    shortened(log)
    return tests


# --- the figures ---


def run_bench(
    env: dict[str, str], out: Path, seconds: float, quick: bool
) -> tuple[dict[str, Any], list[str]]:
    """Run bench/cuda.py in the time that is left: what it wrote, and sentences about what went wrong."""
    record, log = out / "cuda.json", out / "cuda.txt"
    for path in (record, log, out / "cuda.svg"):
        path.unlink(missing_ok=True)
    if seconds < 20:
        return {}, ["no time was left for bench/cuda.py"]
    start = time.monotonic()
    line = [sys.executable, str(ROOT / "bench" / "cuda.py"), "--out", str(record)]
    line += [f"--seconds={max(5.0, seconds - 60):.0f}", *(["--quick"] if quick else [])]

    def told() -> None:
        lines = log.read_text(errors="replace").splitlines()
        say(f"{time.monotonic() - start:.0f} s: {lines[-1] if lines else 'begins'}")

    run = run_until(line, env, log, start + seconds - GRACE, told)
    report = json.loads(record.read_text()) if record.exists() else {}
    trouble = [f"wrong: {text}" for text in report.get("wrong", ())]
    if run.late:
        trouble.append("bench/cuda.py was stopped, as its time was over")
    elif run.code != 0 and not trouble:
        last = (log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
        trouble.append(f"bench/cuda.py ended with exit status {run.code}: {last}")
    return report, trouble


# --- the command ---


def summary(
    about: Sequence[str], tests: Tests, report: dict[str, Any], trouble: Sequence[str], table: str
) -> str:
    """All of it on a page: what was tried, what failed, which rows are below their floor, then the table."""
    lines = [*about, ""]
    counts = ", ".join(f"{n} {word.lower()}" for word, n in sorted(tests.counts.items())) or "none ran"
    lines.append(f"Tests: {'passed' if tests.ok else 'NOT PASSED'}: {counts}; {tests.seconds:.0f} s.")
    lines += [f"  {text}" for text in tests.trouble]
    lines += [f"  FAILED {name}" for name in tests.failed]
    lines.append(f"Results: {'right' if report and not trouble else 'NOT RIGHT' if trouble else 'none'}.")
    lines += [f"  {text}" for text in trouble]
    judged = [row for row in report.get("rows", ()) if row["floor"] is not None]
    for word, verdicts in (
        ("reach their floor", ("floor", "goal")),
        ("are below it", ("BELOW",)),
        ("were not measured", ("missing",)),
    ):
        names = [row["name"] for row in judged if row["verdict"] in verdicts]
        lines.append(f"Rows that {word}: {', '.join(names) or 'none'}.")
    return "\n".join([*lines, "", table.rstrip(), ""])


def environment(site: Path, driver: str | None) -> dict[str, str]:
    """The caller's, without what steers Treadle, with the wheel's folder before all others."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TREADLE") and k != "PYTEST_ADDOPTS"}
    path = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    env |= {"PYTHONPATH": os.pathsep.join(path), "TREADLE_CUDA": "gpu", "TREADLE_CUDA_WARN": "0"}
    env["TREADLE_CACHE_DIR"] = str(site.parent / "cache")
    return env | ({"TREADLE_CUDA_DRIVER": driver} if driver else {})


def probe(env: dict[str, str], site: Path) -> list[Any]:
    """What the wheel says of the GPU; `Stop` where it cannot be used."""
    done = subprocess.run([sys.executable, "-c", PROBE], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise Stop(
            f"No GPU can be used here: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
        )
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    if not Path(found[0]).is_relative_to(site):
        raise Stop(
            f"treadle was imported from {found[0]}, and not from the wheel: something on sys.path hides it."
        )
    return found


def parse(args: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/gpu_check.py", description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="instead of the one of build/wheels that fits")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "bench" / "results", help="where files go (%(default)s)"
    )
    parser.add_argument("--driver", metavar="LIBRARY", help="CUDA's driver, instead of libcuda.so.1")
    parser.add_argument(
        "--quick", action="store_true", help="a part of the tests, tiny benchmarks: whether it works"
    )
    parser.add_argument(
        "--tests-seconds", type=float, default=TESTS_SECONDS, metavar="N", help="for the tests (%(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=ALL_SECONDS, metavar="N", help="for everything (%(default)s)"
    )
    parser.add_argument("args", nargs="*", help="passed on to pytest (after --)")
    a = parser.parse_args(args)
    if a.driver and not Path(a.driver).is_file():
        parser.error(f"--driver: there is no file {a.driver}")
    a.driver = str(Path(a.driver).resolve()) if a.driver else None
    if not 0 < a.tests_seconds <= a.seconds:
        parser.error(f"--tests-seconds must be above 0 and within --seconds, which are {a.seconds:g}")
    return a


def main(args: Sequence[str] | None = None) -> int:
    start = time.monotonic()
    a = parse(args)
    wheel = choose(a.wheel, ROOT / "build" / "wheels", this_python(), this_glibc())
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if "numpy" in lacking:
        raise Stop("NumPy is missing, which Treadle stands on: bring its wheel along (numpy 1.26 or newer).")
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        site = Path(folder) / "site"
        how = install(wheel, site)
        env = environment(site, a.driver)
        _, version, name, cc = probe(env, site)
        about = [
            f"{wheel.name} ({how}, treadle {version}) on {name}, compute capability {cc[0]}.{cc[1]}"
            f"{f', by {Path(a.driver).name}' if a.driver else ''}",
            f"Python {platform.python_version()}; {time.strftime('%Y-%m-%d %H:%M')}"
            + ("; --quick" if a.quick else ""),
        ]
        for line in about:
            say(line)
        a.out.mkdir(parents=True, exist_ok=True)
        out = a.out.resolve()
        if lacking:
            missing = ", ".join(f"{n} ({NEEDED[n]})" for n in lacking)
            tests = Tests(trouble=[f"the tests need what is not here: {missing}; bring their wheels along"])
            say(tests.trouble[0])
        else:
            part = dev.A_PART if a.quick else {}
            tests = run_tests(dev.gpu_tests(a.quick), env | part, out, start + a.tests_seconds, a.args)
        left = a.seconds - (time.monotonic() - start)
        say(f"bench/cuda.py, {left:.0f} s are left.")
        report, trouble = run_bench(env, out, left, a.quick)
    table = (out / "cuda.txt").read_text(errors="replace") if (out / "cuda.txt").exists() else ""
    text = summary(about, tests, report, trouble, table)
    (out / "summary.txt").write_text(text)
    print(text)
    say(f"{time.monotonic() - start:.0f} s in all; the files are in {a.out}.")
    return 0 if tests.ok and report and not trouble else 1


if __name__ == "__main__":
    main_guard(main)
