"""The developer's commands, behind `make`: demo, build, test, test-all, test-gpu, debug, sanitize, check, format, bench, fuzz, wheel, docs.

`python3 tools/dev.py --help` lists them. What they stand on is in devenv.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import devenv
import docs_site
import root
import tests_for
import wheel
from devenv import FREE_THREADED, ROOT, SUPPORTED, Build, Interpreter, run, say

PY_DIRS = ("python", "tools", "tests", "bench", "examples", "docs/site")
# The tests that see what differs between Pythons: bytecode, the language, objects on their way in and out, the cache.
BRIEF = (
    "front",
    "language",
    "boundary",
    "cache_keys",
    "freeze",
    "dispatch",
    "leaks",
    "exceptions",
    "ways_in",
)
# The tests that see what threads do to each other, and how many times over they run where there is no GIL.
THREADS, THREADS_TIMES = ("threads", "without_gil"), 30
# The tests of kernels that need little time where a GPU's code is interpreted.
KERNELS = (
    "cuda",
    "cuda_arrays",
    "cuda_half",
    "cuda_meetings",
    "cuda_random_flow",
    "cuda_streams",
    "cuda_ufunc",
)
# Those of BRIEF make quick code: what LLVM's passes make of a program does not depend on the Python.
QUICK = {"TREADLE_OPT_LEVEL": "0"}
# Of all tests each so manieth is in full code, with those that ask for it (tests/py/levels.py); under sanitizers, which see only what C does, and on the newest Python fewer.
TURNS = 14
FULL, FULL_LEAST = {"TREADLE_FULL": f"{TURNS}"}, {"TREADLE_FULL": f"{TURNS}:llvm"}
# Of the matrix of ways in each so manieth row, and of the examples of properties so small a part, in runs that are one of several or slow.
A_PART = {"TREADLE_WAYS": "7", "TREADLE_EXAMPLES": "3"}
# And of all tests such a part: under sanitizers, where they are slow, and on the newest Python. The Pythons between the oldest and the newest
# take turns with the halves of BRIEF.
A_SLICE, A_SMALL_SLICE = {"TREADLE_SLICE": "8"}, {"TREADLE_SLICE": "16"}
A_HALF = ({"TREADLE_SLICE": "2:0"}, {"TREADLE_SLICE": "2:1"})
# Options of a build whose assertions are on; tests/py/conftest.py holds it to that.
ASSERTS = ("-Dbuildtype=debug", "-Doptimization=1", "-Db_ndebug=false")
# So many frames of a stack in a sanitizer's report are shown.
FRAMES = 30
# What a process says it dies of.
REASON = re.compile(r": runtime error: |^Fatal Python error: |: Assertion `.*' failed")


# --- counting -----------------------------------------------------------------------------------------------------


class Tally:
    """Counts what passed and failed, prints it, and adds it to the file `$TREADLE_TALLY` names (for .ci/run)."""

    def __init__(self, name: str) -> None:
        self.name, self.passed, self.failed = name, 0, 0

    def add(self, passed: int, failed: int) -> None:
        self.passed += passed
        self.failed += failed

    def close(self) -> int:
        say(f"{self.name}: {self.passed} passed, {self.failed} failed")
        if os.environ.get("TREADLE_TALLY"):
            with open(os.environ["TREADLE_TALLY"], "a") as f:
                f.write(f"{self.passed} {self.failed}\n")
        return 1 if self.failed else 0


def c_tests(b: Build, tally: Tally, env: dict[str, str], names: Sequence[str] = ()) -> None:
    """Run the C and text-IR tests that Meson knows, or those of these names."""
    log = b.dir / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    code = run(
        [
            b.py.python,
            "-m",
            "mesonbuild.mesonmain",
            "test",
            "-C",
            b.dir,
            "--no-rebuild",
            "--quiet",
            "--print-errorlogs",
            "--num-processes",
            str(devenv.jobs()),
            *names,
        ],
        env=env,
        check=False,
    )
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    failed = sum(r["result"] not in ("OK", "EXPECTEDFAIL") for r in rows)
    tally.add(len(rows) - failed, failed if failed or code == 0 else 1)


def py_tests(b: Build, tally: Tally, env: dict[str, str], args: list[str]) -> None:
    """Run the Python suite and count it from pytest's own record."""
    count_tests([b.py.python, "-m", "pytest", *args], b.dir / "pytest.xml", tally, env)


def workers() -> list[str]:
    """Return what pytest is told about processes: one a core; who has nothing left takes tests from another."""
    return [f"-n{devenv.jobs()}", "--dist=worksteal"]


def count_tests(command: list[str | Path], xml: Path, tally: Tally, env: dict[str, str]) -> None:
    xml.unlink(missing_ok=True)
    # What a process prints as it dies would stand somewhere among the dots: it is shown behind pytest's summary.
    last_words = xml.with_suffix(".stderr")
    with last_words.open("wb") as f:
        try:
            code = run([*command, f"--junitxml={xml}", "-q"], env=env, check=False, stderr=f)
        finally:
            words = brief_stacks(last_words.read_text(errors="replace"))
            print(words, end="", flush=True)
    for line in dict.fromkeys(t for t in words.splitlines() if REASON.search(t)):
        note(line)
    if not xml.exists():
        tally.add(0, 1)
        return
    suite = ET.parse(xml).getroot().find("testsuite")
    n, skipped = int(suite.get("tests")), int(suite.get("skipped"))
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    if skipped:
        say(f"{skipped} tests were skipped; the list above says why.")
        for reason, n_tests in skips(suite).most_common():
            note(f"{tally.name}: {n_tests} tests were SKIPPED: {reason}")
    tally.add(n - failed - skipped, failed if failed or code == 0 else 1)


def skips(suite: ET.Element) -> Counter[str]:
    """Return the reasons why tests were skipped, and how many for each, from pytest's record."""
    found = (case.find("skipped") for case in suite.iter("testcase"))
    return Counter(
        s.get("message", "no reason") for s in found if s is not None and s.get("type") == "pytest.skip"
    )


def brief_stacks(text: str) -> str:
    """Return a sanitizer's report with the inner frames of each stack: the outer hundred are the interpreter's."""
    frame = re.compile(r"\s+#(\d+) ")
    return "".join(
        line for line in text.splitlines(keepends=True) if not (m := frame.match(line)) or int(m[1]) < FRAMES
    )


def note(text: str) -> None:
    """Say something that must not be overlooked: .ci/run repeats it at its end (`$TREADLE_NOTES`)."""
    say(text)
    if os.environ.get("TREADLE_NOTES"):
        with open(os.environ["TREADLE_NOTES"], "a") as f:
            f.write(f"{text}\n")


# --- commands -----------------------------------------------------------------------------------------------------


def cmd_build(a: argparse.Namespace) -> int:
    b = devenv.build(a.python)
    say(f"Built. {own_script(b)}")
    return 0


def own_script(b: Build) -> str:
    """Say how a program of the user's is run with this build."""
    return f"To run a program of your own: {shlex.quote(str(b.py.python))} script.py"


def cmd_demo(a: argparse.Namespace) -> int:
    b = devenv.build(a.python)
    for name in ("quickstart.py", "cuda_matmul.py"):
        say(f"Running examples/{name}.")
        status = run([b.py.python, ROOT / "examples" / name], env=b.env(), check=False)
        if status:
            return status
    say(
        f"{own_script(b)} (`from treadle import njit` works there; written for Numba: -m treadle run script.py)"
    )
    return 0


def files(names: tuple[str, ...]) -> list[str]:
    return [f"tests/py/test_{name}.py" for name in names]


def test_part(
    py: Interpreter, names: tuple[str, ...], extra: list[str], how: Mapping[str, str] = QUICK
) -> int:
    """A part of the tests of these names, or of all, with more in the environment that says ``how``.

    The C tests know no Python: they run once for each compiler, with all names.
    """
    before = dict(os.environ)
    os.environ.update({**A_PART, **how})
    os.environ.pop("PYTHON_GIL", None)
    try:
        return test_one(py, [*files(names), *extra], in_c=not names)
    finally:
        os.environ.clear()
        os.environ.update(before)


def levels(how: Mapping[str, str]) -> dict[str, str]:
    """Return what says which tests are in full code, but for what the environment says of it; which of fourteen it is, the commit decides."""
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    turn = {"TREADLE_TURN": str(int(head[:8], 16) % TURNS)} if head else {}
    return {k: v for k, v in {**how, **turn}.items() if k not in os.environ}


def test_without_gil(py: Interpreter, extra: list[str]) -> int:
    """The tests of THREADS so many times over, then those of BRIEF, with the GIL off: what `TR_PY_NO_GIL` (ext/compat.h) stands on."""
    b = devenv.build(py)
    env = {k: v for k, v in b.env().items() if k != "PYTHON_GIL"}
    tally = Tally(f"Python {py.version}, threads, {THREADS_TIMES} times")
    for _ in range(THREADS_TIMES):
        py_tests(b, tally, env, [f"-n{devenv.jobs()}", *files(THREADS), *extra])
        if tally.failed:
            break
    return tally.close() | test_part(py, BRIEF, extra)


def test_one(py: Interpreter, extra: list[str], in_c: bool = True) -> int:
    if py.root:
        return root.dev(py, ["test", *([] if in_c else ["--no-c"]), "--", *extra])
    b = devenv.build(py)
    numpy = subprocess.run(
        [b.py.python, "-c", "import numpy; print(numpy.__version__)"], capture_output=True, text=True
    )
    quick = os.environ.get("TREADLE_OPT_LEVEL") == "0"
    less = ("" if in_c else ", without the C tests") + (", quick code" if quick else "")
    tally = Tally(f"Python {py.version}, NumPy {numpy.stdout.strip()}{less}")
    if in_c:
        c_tests(b, tally, b.env())
    py_tests(b, tally, b.env(), [*workers(), *extra])
    return tally.close()


def cmd_test(a: argparse.Namespace) -> int:
    """All tests, or those that see some files; those that are chosen by arguments are all in full code."""
    if a.files:
        return test_files(a)
    if not a.args:
        os.environ.update(levels(FULL))
    return test_one(a.python, a.args, in_c=not a.no_c)


def test_files(a: argparse.Namespace) -> int:
    """The tests that see the files of --for (tests_for.py), each with why; with --list they are not run."""
    try:
        tests = tests_for.tests_for(a.files)
    except ValueError as e:
        raise devenv.Stop(str(e)) from None
    in_c, in_python = tests_for.kinds(tests)
    print(tests_for.text_of(tests), end="", flush=True)
    say(
        f"{len(tests)} tests see it; of the matrix of ways in, tests/py/test_ways_in.py, take a part with -k."
    )
    if a.list:
        return 0
    b = devenv.build(a.python)
    tally = Tally(f"tests for {' '.join(a.files)}")
    if in_c and not a.no_c:
        c_tests(b, tally, b.env(), in_c)
    if in_python:
        py_tests(b, tally, b.env(), [*workers(), *in_python, *a.args])
    return tally.close()


def cmd_fetch(a: argparse.Namespace) -> int:
    """What builds and tests need from the network: of this Python, or, with a folder for a Debian root, of the others, those in it among them, and of the site.

    Fails where the root cannot be made; what else is missing, a run of the tests says.
    """
    if not a.args:
        devenv.need_system(a.python)
        devenv.need_venv(a.python)
        return 0
    folder, status = Path(a.args[0]).resolve(), 0
    try:
        docs_site.fetch(a.python)
    except devenv.Stop as stop:
        say(str(stop))
    try:
        root.make(folder, tuple(v for v in SUPPORTED if not devenv.find(v, roots=False)))
    except devenv.Stop as stop:
        say(str(stop))
        status = 1
    os.environ["TREADLE_ROOT"] = str(folder)
    for py in filter(None, map(devenv.find, SUPPORTED)):
        if py.version == a.python.version:
            continue
        try:
            if py.root:
                root.dev(py, ["fetch"])
            else:
                devenv.need_venv(py)
        except devenv.Stop as stop:
            say(str(stop))
    return status


def cmd_test_all(a: argparse.Namespace) -> int:
    code, absent = 0, []
    for version in dict.fromkeys((*SUPPORTED, *FREE_THREADED, a.python.version)):
        if a.others and version == a.python.version:
            continue
        py = a.python if version == a.python.version else devenv.find(version)
        if py is None:
            absent.append(version)
        elif version in FREE_THREADED:
            code |= test_without_gil(py, a.args)
        elif a.brief:
            between = version not in (SUPPORTED[0], SUPPORTED[-1])
            half = A_HALF[SUPPORTED.index(version) % 2] if between and version in SUPPORTED else {}
            code |= test_part(py, BRIEF, a.args, {**QUICK, **half})
            if version in (SUPPORTED[0], SUPPORTED[-1]):
                code |= test_part(py, (), a.args, {**A_SMALL_SLICE, **levels(FULL_LEAST)})
        else:
            code |= test_one(py, a.args)
    where = "PATH, pyenv" + (f", {os.environ['TREADLE_ROOT']}" if os.environ.get("TREADLE_ROOT") else "")
    for version in absent:
        note(f"Python {version} was NOT TESTED: it is not on this machine ({where}).")
    return code


def gpu_tests(brief: bool) -> list[str]:
    """The files of tests of kernels: all, or those that take little time."""
    all_of_them = sorted(p.stem[5:] for p in (ROOT / "tests/py").glob("test_cuda*.py"))
    return files(KERNELS if brief else tuple(all_of_them))


def cmd_test_gpu(a: argparse.Namespace) -> int:
    """The tests of kernels on a GPU by the driver that $TREADLE_CUDA_DRIVER names, or by one that is none and interprets PTX (tests/fake)."""
    b = devenv.build(a.python)
    given = os.environ.get("TREADLE_CUDA_DRIVER")
    driver = given or str(b.dir / "tests" / "libfake_cuda.so")
    env = b.env(TREADLE_CUDA="gpu", TREADLE_CUDA_DRIVER=driver, TREADLE_CUDA_WARN="0")
    if not given:
        env["TREADLE_CUDA_LIBS"] = os.pathsep.join(
            str(b.dir / "tests" / f"libfake_{name}.so") for name in ("cufft", "cublas")
        )
    tally = Tally(f"kernels on a GPU by {given}" if given else "kernels by the driver that is none")
    part = A_PART if a.brief else {}
    py_tests(b, tally, {**env, **part}, [*workers(), *gpu_tests(a.brief), *a.args])
    return tally.close()


def cmd_debug(a: argparse.Namespace) -> int:
    """C tests and Python tests in a build with assertions, which a release does not pay for. CI has them on under the sanitizers."""
    b = devenv.build(a.python, name="debug", options=ASSERTS)
    tally = Tally("with assertions")
    c_tests(b, tally, b.env())
    # What an assertion prints as the process dies is lost in pytest's capture of file descriptors; count_tests shows it.
    py_tests(
        b,
        tally,
        {**b.env(TREADLE_ASSERTS="1"), **A_PART},
        [*workers(), "-m", "not slow", "--capture=sys", *a.args],
    )
    return tally.close()


def cmd_sanitize(a: argparse.Namespace) -> int:
    """C tests and quicker Python tests under AddressSanitizer and UndefinedBehaviorSanitizer, with assertions; the pool under ThreadSanitizer. Brief: a part of the Python tests."""
    b = devenv.build(
        a.python,
        name="sanitize",
        options=(
            "-Db_sanitize=address,undefined",
            "-Db_lundef=false",
            *ASSERTS,
            "-Ddebug=false",
            "-Dc_args=-g1",  # lines, which reports name, and no more: it takes a fifth of the time to compile
            "-Dcpp_args=-g1",
            "-Dllvm=shared",
        ),
    )
    # The interpreter is not instrumented, so the run-time libraries must come before everything else in the process;
    # libstdc++ with them, or the sanitizer finds no __cxa_throw to wrap once LLVM is loaded.
    libs = [
        subprocess.run(["gcc", f"-print-file-name={n}"], capture_output=True, text=True).stdout.strip()
        for n in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    # A dying worker's words do not reach pytest's capture of file descriptors, so only Python's own streams are captured.
    # ASan's reports go to files that are shown at the end; UBSan's, which knows no log file beside ASan, to standard error,
    # which count_tests shows. Both abort, so that faulthandler says there which test it was.
    reports = b.dir / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir()
    env = b.env(
        ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:abort_on_error=1"
        # Of where memory came from and went so many frames are kept: each allocation of Python's and LLVM's pays for them.
        f":malloc_context_size=8:log_path={reports / 'asan'}",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:abort_on_error=1",
        PYTHONMALLOC="malloc",
        TREADLE_SANITIZED="1",
        TREADLE_ASSERTS="1",
        **A_PART,
        **levels(FULL_LEAST),
        **(A_SLICE if a.brief else {}),
    )
    tally = Tally("sanitizers")
    c_tests(b, tally, env)
    some = [*workers(), "-m", "not slow and not nosan", "--capture=sys", "-p", "no:cacheprovider"]
    py_tests(b, tally, {**env, "LD_PRELOAD": " ".join(libs)}, [*some, *a.args])
    for report in sorted(reports.iterdir()):
        text = report.read_text(errors="replace")
        print(brief_stacks(text))
        # Tests ask for absurd sizes, and ASan says aloud that it returned NULL: that is no fault.
        faults = [t for t in text.splitlines() if t.strip() and "failed to allocate" not in t]
        tally.add(0, 1 if faults else 0)
    # A fault is one even where the test that met it looks for a process that dies.
    tally.add(0, (b.dir / "pytest.stderr").read_text(errors="replace").count(": runtime error: "))
    return tally.close()


def c_files(*suffixes: str) -> list[Path]:
    return sorted(
        p
        for d in ("src", "tests", "bench", "tools")
        for s in suffixes
        for p in (ROOT / d).rglob("*" + s)
        if ".venv" not in p.parts
    )


def py_dirs() -> list[Path]:
    return [ROOT / d for d in PY_DIRS if (ROOT / d).is_dir()]


def cmd_format(a: argparse.Namespace) -> int:
    devenv.need_venv(a.python)
    paths = [Path(p).resolve() for p in a.args]
    c = [p for p in c_files(".c", ".h", ".cpp") if not paths or any(p.is_relative_to(q) for q in paths)]
    if c:
        run([a.python.venv / "bin" / "clang-format", "-i", *c])
    ruff = a.python.venv / "bin" / "ruff"
    if python := [p for p in paths if p.is_dir() or p.suffix in (".py", ".pyi")] if paths else py_dirs():
        run([ruff, "check", "-q", "--fix", "--select", "I", *python])
        run([ruff, "format", "-q", *python])
    return 0


def cmd_check(a: argparse.Namespace) -> int:
    """Everything that can be said about the sources without building them."""
    devenv.need_system(a.python, second_compiler=True)
    devenv.need_venv(a.python)
    bin_ = a.python.venv / "bin"
    headers = [a.python.python, "tools/check_headers.py", "--numpy-include", devenv.numpy_include(a.python)]
    checks = {
        "C format": [
            bin_ / "clang-format",
            "--dry-run",
            "-Werror",
            "--ferror-limit=3",
            *c_files(".c", ".h", ".cpp"),
        ],
        "C lines": [a.python.python, "tools/check_width.py", *c_files(".c", ".h", ".cpp")],
        "Python format": [bin_ / "ruff", "format", "--check", *py_dirs()],
        "Python lint": [bin_ / "ruff", "check", "-q", *py_dirs()],
        "include rules": [a.python.python, "tools/check_includes.py"],
        "floors": [a.python.python, "tools/check_floors.py"],
        "imports of the package": [a.python.python, "tools/check_imports.py"],
        "functions that nobody calls": [a.python.python, "tools/check_calls.py"],
        "lists of files in READMEs": [a.python.python, "tools/list_files.py", "--readme"],
        "headers compile alone (gcc)": [*headers, "--cc", "gcc"],
        "sources and headers are clean under clang": [*headers, "--cc", devenv.clang(), "--sources"],
    }
    tally = Tally("checks")
    for name, command in checks.items():
        ok = run(command, check=False) == 0
        say(f"{name}: {'ok' if ok else 'FAILED'}")
        tally.add(ok, not ok)
    return tally.close()


def cmd_wheel(a: argparse.Namespace) -> int:
    """Wheels, installed and tried in a fresh environment, as a user would (wheel.py)."""
    return wheel.main(a.args, a.python, Tally("wheel"), count_tests)


def cmd_docs(a: argparse.Namespace) -> int:
    """The documentation as a site; with docs-check, its tests, some of them in a browser (docs_site.py)."""
    if a.command == "docs":
        return docs_site.make(a.python)[1]
    return docs_site.check(a.python, Tally("the site"), count_tests, a.args)


def cmd_bench(a: argparse.Namespace) -> int:
    devenv.need_system(a.python, second_compiler=True)  # what C code is compared with
    b = devenv.build(a.python)
    return run(
        [
            b.py.python,
            ROOT / "bench" / "run.py",
            *(["--check"] if a.command == "bench-check" else []),
            *a.args,
        ],
        env=b.env(),
        check=False,
    )


def cmd_fuzz(a: argparse.Namespace) -> int:
    b = devenv.build(a.python)
    return run([b.py.python, ROOT / "tests" / "fuzz" / "run.py", *a.args], env=b.env(), check=False)


def cmd_fuzz_math(a: argparse.Namespace) -> int:
    """Measure the functions of vector math on many random arguments: samples per function, and a seed."""
    b = devenv.build(a.python)
    program = b.dir / "tests" / "test_test_vmath"
    code = run([program, *(a.args or ["3000000"])], env=b.env(), check=False)
    say("Vector math: " + ("faults, see above" if code else "every function keeps its promise"))
    return code


def cmd_run(a: argparse.Namespace) -> int:
    """Run any program in the environment of a build that is already there."""
    b = Build(a.python, devenv.build_root() / a.python.version)
    return run(a.args or [b.py.python], env=b.env(), check=False)


COMMANDS = {
    "demo": (cmd_demo, "install what is missing, build, and run examples/quickstart.py and cuda_matmul.py"),
    "build": (cmd_build, "build for one Python into build/<version>, importable from build/<version>/stage"),
    "test": (
        cmd_test,
        "build, then the C tests and the Python tests (arguments go to pytest); --for FILE...: those that see these files",
    ),
    "test-all": (
        cmd_test_all,
        "the same on every supported Python of the machine, and of the Debian root that $TREADLE_ROOT names (root.py); "
        "tests of threads and a slice on one without the GIL, also of the folder that $TREADLE_FREETHREADED names (freethreaded.py)",
    ),
    "fetch": (
        cmd_fetch,
        "get from the network what the other Pythons need, and a Debian root in the folder given",
    ),
    "test-gpu": (
        cmd_test_gpu,
        "the tests of kernels on a GPU by the libcuda that $TREADLE_CUDA_DRIVER names, or by one that interprets (arguments go to pytest)",
    ),
    "debug": (
        cmd_debug,
        "C tests and the quicker Python tests in a build with assertions (arguments go to pytest)",
    ),
    "sanitize": (
        cmd_sanitize,
        "C tests and a slice of the Python tests under ASan and UBSan, the thread pool under TSan",
    ),
    "check": (cmd_check, "formatting, include rules, headers that compile alone, clang's warnings"),
    "format": (cmd_format, "format the C and Python sources (or only the paths given)"),
    "wheel": (
        cmd_wheel,
        "make a wheel, install it into a fresh environment and try it there (arguments: --python 3.12 3.13, --all, --suite)",
    ),
    "docs": (cmd_docs, "the documentation as a site, in build/docs"),
    "docs-check": (
        cmd_docs,
        "the same, and its tests: links, search, what a browser shows (arguments go to pytest)",
    ),
    "bench": (cmd_bench, "benchmarks beside the peers"),
    "bench-check": (cmd_bench, "benchmarks; fails when a row is below its floor"),
    "fuzz": (cmd_fuzz, "differential fuzzing (arguments go to tests/fuzz/run.py)"),
    "fuzz-math": (cmd_fuzz_math, "how far vector math is off (arguments: samples per function, seed)"),
    "run": (cmd_run, "run a program that finds the built package"),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/dev.py", description=__doc__.splitlines()[0])
    sub = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, text) in COMMANDS.items():
        p = sub.add_parser(name, help=text, description=text)
        p.add_argument("--python", metavar="PROGRAM", help="interpreter to use instead of $PYTHON or python3")
        if name == "test-all":
            p.add_argument("--others", action="store_true", help="leave out the default Python")
            p.add_argument(
                "--brief",
                action="store_true",
                help="between the oldest and the newest Python only the tests that see what differs",
            )
        if name == "test":
            p.add_argument("--no-c", action="store_true", help="only the Python tests")
            p.add_argument(
                "--for",
                dest="files",
                nargs="+",
                metavar="FILE",
                help="only the tests that see one of these files, as src/opt/pattern/fuse.c, and why (tools/tests_for.py); then -- and arguments to pytest",
            )
            p.add_argument("--list", action="store_true", help="with --for: say which, and do not run them")
        if name in ("test-gpu", "sanitize"):
            p.add_argument("--brief", action="store_true", help="only a part, which takes little time")
        p.add_argument("args", nargs="*", help="passed on, where the command passes anything on (after --)")
    a = parser.parse_args()
    a.args = [*a.args, *shlex.split(os.environ.get("ARGS", ""))]
    if a.python:
        os.environ["PYTHON"] = a.python
    a.python = devenv.default()
    if a.python.root and a.command != "test-all":
        return root.dev(a.python, [a.command, "--", *a.args])
    return COMMANDS[a.command][0](a)


if __name__ == "__main__":
    devenv.main_guard(main)
