"""What the developer's commands stand on: interpreters, system packages, virtual environments and build folders.

Uses the standard library alone, since it runs before anything is installed. Every step is idempotent, says what it
does in one sentence, and ends in `Stop` with a sentence that names the missing thing when it cannot go on.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import needs

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13", "3.14", "3.15")
# Builds without the GIL (freethreaded.py makes one): used where one is named, never in the place of a plain one.
FREE_THREADED = ("3.14t",)
REQUIREMENTS = ROOT / "tools" / "requirements-dev.txt"
LLVM_CONFIG = os.environ.get("LLVM_CONFIG", "llvm-config-19")
LLVM = m[1] if (m := re.search(r"-(\d+)$", LLVM_CONFIG)) else "19"


class Stop(Exception):
    """A command cannot go on; the text says what is missing and what to do about it."""


def say(text: str) -> None:
    """Print one line of progress at once, so that it stands before the output of what it announces."""
    print(f"-- {text}", flush=True)


def run(
    args: list[str | Path],
    *,
    env: dict[str, str] | None = None,
    cwd: Path = ROOT,
    check: bool = True,
    stderr: IO[bytes] | None = None,
) -> int:
    """Run a program with its output on ours (or its errors in a file); with `check`, `Stop` when it fails."""
    code = subprocess.call([str(a) for a in args], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stderr=stderr)
    if check and code != 0:
        raise Stop(f"`{' '.join(str(a) for a in args[:4])} ...` failed with exit status {code}.")
    return code


def jobs() -> int:
    """Return how many processes a build or a test run may use (`TREADLE_JOBS`, else all cores)."""
    return int(os.environ.get("TREADLE_JOBS") or os.cpu_count() or 1)


# --- interpreters -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interpreter:
    """A CPython that Treadle supports: its version ("3.11"; "3.14t" without the GIL), the real program, and what it was built with.

    One that lives in a Debian root (root.py) has its path as seen from inside; programs run there by `root.dev` only.
    """

    version: str
    path: Path
    has_venv: bool
    has_headers: bool
    root: Path | None = None

    @property
    def venv(self) -> Path:
        return ROOT / f".venv-{self.version}"

    @property
    def python(self) -> Path:
        """The interpreter inside the virtual environment."""
        return self.venv / "bin" / "python"


_PROBE = """
import json, os, sys, sysconfig
try:
    import ensurepip, venv
    v = True
except ImportError:
    v = False
exe = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
h = os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
t = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
print(json.dumps([sys.implementation.name, "%d.%d" % sys.version_info[:2] + t, exe, v, h]))
"""


def probe(program: str | Path, root: Path | None = None) -> Interpreter | None:
    """Return the interpreter that `program` really is (behind shims and environments), or None if it does not run."""
    command, env = [str(program), "-c", _PROBE], None
    if root:
        command, env = [*enter(root), *command], root_env()
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
        name, version, path, has_venv, has_headers = json.loads(out.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return Interpreter(version, Path(path), has_venv, has_headers, root) if name == "cpython" else None


def enter(root: Path, cwd: Path = Path("/")) -> list[str]:
    """Return what a command begins with that runs inside a root, with a /proc that is there as long as it runs."""
    script = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    return ["unshare", "--mount", "sh", "-c", script, str(root), "env", "-C", str(cwd)]


# What says that only a part of the tests is run (tests/README.md), and with how much of LLVM.
PARTS = (
    "TREADLE_WAYS",
    "TREADLE_EXAMPLES",
    "TREADLE_SLICE",
    "TREADLE_OPT_LEVEL",
    "TREADLE_FULL",
    "TREADLE_TURN",
)


def root_env() -> dict[str, str]:
    """Return this environment as it fits a root: what names places of this machine stays behind."""
    places = ("PYENV_", "VIRTUAL_ENV", "PYTHON", "ARGS", "LD_", "TREADLE_", "LLVM_CONFIG", "CCACHE_", "XDG_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(places)}
    how = ("TREADLE_JOBS", "TREADLE_RANDOM", *PARTS)
    kept |= {k: v for k, v in os.environ.items() if k in how}
    return kept | {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "TMPDIR": "/tmp",
    }


def find_in_root(root: Path, version: str) -> Interpreter | None:
    """Return Debian's interpreter of this version in a root, or None."""
    program = f"/usr/bin/python{version}"
    return probe(program, root) if (root / program[1:]).exists() and os.geteuid() == 0 else None


def find(version: str, *, roots: bool = True) -> Interpreter | None:
    """Return an interpreter of this version from PATH, pyenv, or the root that `$TREADLE_ROOT` names, or None.

    One without the GIL also from the folder that `$TREADLE_FREETHREADED` names.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"

    def patch(p: Path) -> tuple[int, ...]:
        tail = p.parent.parent.name.split(".")[2]
        return (int(tail) if tail.isdigit() else -1,)

    candidates: list[str | Path] = [p for p in (shutil.which(f"python{version}"),) if p]
    candidates += sorted(pyenv.glob(f"{version}.*/bin/python3"), key=patch, reverse=True)
    if version in FREE_THREADED and os.environ.get("TREADLE_FREETHREADED"):
        candidates.append(Path(os.environ["TREADLE_FREETHREADED"]).resolve() / "bin" / f"python{version}")
    for c in candidates:
        found = probe(c)
        if found and found.version == version:
            return found
    root = os.environ.get("TREADLE_ROOT") if roots else None
    return find_in_root(Path(root).resolve(), version) if root else None


def default() -> Interpreter:
    """Return the interpreter to use when none is named: `$PYTHON` if it is supported, else the first that is."""
    asked = os.environ.get("PYTHON") or "python3"
    found = probe(asked)
    if not found and asked.removeprefix("python") in (*SUPPORTED, *FREE_THREADED):
        found = find(asked.removeprefix("python"))
    if found and found.version in (*SUPPORTED, *FREE_THREADED):
        return found
    for version in SUPPORTED:
        other = find(version)
        if other:
            seen = f"is Python {found.version}" if found else "does not run"
            say(f"`{asked}` {seen}, which Treadle does not support; using {other.path}.")
            return other
    raise Stop(
        f"No supported Python was found (CPython {', '.join(SUPPORTED)}): apt-get install python3, or set PYTHON."
    )


# --- what must be on the system -----------------------------------------------------------------------------------


def clang() -> str | None:
    """Return the program of clang 19, the second compiler that sources must be clean under; no other version stands in for it."""
    return shutil.which("clang-19") or shutil.which("clang", path="/usr/lib/llvm-19/bin")


def missing_packages(py: Interpreter, second_compiler: bool = False) -> dict[str, str]:
    """Return what the system lacks: Debian package name -> what it is in words."""
    need: dict[str, str] = {}
    py = probe(py.path) or py  # seen afresh: what it lacked may have been installed since

    def want(present: bool, package: str, what: str) -> None:
        if not present:
            need[package] = what

    want(shutil.which("gcc") is not None, "gcc", "a C compiler")
    want(shutil.which("g++") is not None, "g++", "a C++ compiler (LLVM is linked with it)")
    want(os.path.exists("/usr/include/stdio.h"), "libc6-dev", "the C library's headers")
    cc = shutil.which("gcc") or shutil.which("cc") or "gcc"
    need |= {x.package: x.what for x in needs.missing([cc], LLVM_CONFIG, link=False) if x.package}
    if second_compiler:
        want(clang() is not None, "clang-19", "clang 19")
    from_debian = py.path.is_relative_to("/usr/bin")
    if from_debian:
        want(py.has_venv, f"python{py.version}-venv", "Python's venv module")
        want(py.has_headers, f"python{py.version}-dev", "Python's headers")
    elif not (py.has_venv and py.has_headers):
        raise Stop(
            f"{py.path} was installed without its {'headers' if py.has_venv else 'venv module'}; "
            "install a complete Python or name another with PYTHON=."
        )
    return need


def need_system(py: Interpreter, second_compiler: bool = False) -> None:
    """Make sure of the system's packages: install what is missing as root on Debian, else `Stop` with the exact line."""
    if need_packages(lambda: missing_packages(py, second_compiler)):
        # Mathematics of GPUs without a CUDA toolkit; all else is there without it.
        offer("libclc-19")


def need_packages(missing: Callable[[], dict[str, str]]) -> bool:
    """Make sure that nothing is missing, as `need_system` does; whether something had to be installed.

    Parameters
    ----------
    missing
        Asks what is: Debian package name -> what it is in words.
    """
    need = missing()
    if not need:
        return False
    names = sorted(need)
    line = f"{needs.INSTALL} {' '.join(names)}"
    what = "; ".join(f"{need[n]} ({n})" for n in names)
    if not shutil.which("apt-get"):
        raise Stop(
            f"Missing: {what}. This is not a Debian system: install their like with your package manager."
        )
    if os.geteuid() != 0:
        raise Stop(f"Missing: {what}.\nRun this as root, then try again:\n    {line}")
    say(f"Installing what the system lacks: {what}.")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    run(["apt-get", "update", "-q"], env=env, check=False)
    if run(line.split(), env=env, check=False) != 0 or missing():
        left = "; ".join(missing().values())
        raise Stop(
            f"apt-get could not install everything. Missing: {left}.\nThe line that was tried:\n    {line}"
        )
    return True


def offer(*packages: str) -> None:
    """Install packages that it goes without, too, where that can be done: as root on Debian."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return
    known = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n", *packages],
        capture_output=True,
        text=True,
    )
    lacking = [p for p in packages if f"{p} installed" not in known.stdout.splitlines()]
    if lacking:
        line = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *lacking]
        run(line, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"), check=False)


# --- virtual environments -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file while a folder is being made, so that two commands at once do not spoil it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"Waiting for another command that works on {path.name}.")
            fcntl.flock(f, fcntl.LOCK_EX)
        yield


def need_environment(
    py: Interpreter, folder: Path, requirements: Path, then: Callable[[list[str | Path]], None] | None = None
) -> Path:
    """Make a virtual environment with everything that a file lists, unless it is there; the interpreter in it.

    Parameters
    ----------
    folder
        Where.
    requirements
        The file.
    then
        What else is to be done to a new one; it is given what a line that installs packages begins with.
    """
    python, stamp = folder / "bin" / "python", folder / "treadle-requirements"
    state = hashlib.sha256(requirements.read_bytes() + str(py.path).encode()).hexdigest()
    with locked(build_root() / f"{folder.name.lstrip('.')}.lock"):
        if not (stamp.exists() and stamp.read_text() == state and python.exists()):
            listed = requirements.relative_to(ROOT)
            say(f"Making {folder.name} with {py.path} and installing what {listed} lists.")
            shutil.rmtree(folder, ignore_errors=True)
            run([py.path, "-m", "venv", folder])
            pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
            if run([*pip, "-r", requirements], check=False) != 0:
                raise Stop(
                    f"pip could not install the packages of {listed}: is the package index reachable from here?"
                )
            if then:
                then(pip)
            stamp.write_text(state)
    return python


def need_venv(py: Interpreter) -> None:
    """Make the interpreter's own virtual environment with everything in `requirements-dev.txt`, unless it is there."""

    def headers(pip: list[str | Path]) -> None:
        # Treadle is always built against NumPy 2 headers, also where it is tested with NumPy 1.26.
        if not _numpy_is_2(py):
            run([*pip, "--no-deps", "--target", py.venv / "numpy2", "numpy>=2.0,<3"])

    need_environment(py, py.venv, REQUIREMENTS, headers)
    link = ROOT / ".venv"
    if not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(py.venv.name)


def _numpy_is_2(py: Interpreter) -> bool:
    return run([py.python, "-c", "import numpy, sys; sys.exit(numpy.__version__ < '2')"], check=False) == 0


def numpy_include(py: Interpreter) -> Path:
    """Return the folder of the NumPy 2 headers that this interpreter's build uses."""
    extra = py.venv / "numpy2"
    env = dict(os.environ, PYTHONPATH=str(extra) if extra.exists() else "")
    out = subprocess.run(
        [str(py.python), "-c", "import numpy; print(numpy.get_include())"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(out.stdout.strip())


# --- builds -------------------------------------------------------------------------------------------------------


def build_root() -> Path:
    """Return the folder of all builds (`TREADLE_BUILD`, else build/)."""
    return Path(os.environ.get("TREADLE_BUILD") or ROOT / "build").resolve()


@dataclass(frozen=True)
class Build:
    """A configured and compiled tree, with a staged package that can be imported from `stage`."""

    py: Interpreter
    dir: Path

    @property
    def stage(self) -> Path:
        return self.dir / "stage"

    def env(self, **more: str) -> dict[str, str]:
        """Return the environment in which programs and tests find this build."""
        path = f"{self.py.venv / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        # Where no bytecode is kept, each process of a run compiles all tests anew, and pytest rewrites them: 10 s of its time.
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        return {
            **kept,
            "PATH": path,
            "PYTHONPATH": str(self.stage),
            "PYTHONNOUSERSITE": "1",
            "TREADLE_STAGE": str(self.stage),
            "TREADLEC": str(self.dir / "treadlec"),
            **more,
        }


def to_compile(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a build: nearly all objects are the same for all Pythons and for wheels, so where there is ccache each is compiled once.

    The folder of a build, which symbols for a debugger name, makes no difference: all lie equally deep.
    """
    return {"CCACHE_NOHASHDIR": "1", **env}


def build(py: Interpreter, *, name: str | None = None, options: tuple[str, ...] = ()) -> Build:
    """Configure and compile Treadle for one interpreter, and stage the package.

    Parameters
    ----------
    py
        The interpreter to build for.
    name
        Folder under the build root; the interpreter's version if None.
    options
        Further arguments for `meson setup`. A change of these makes the folder anew.
    """
    need_system(py)
    need_venv(py)
    b = Build(py, build_root() / (name or py.version))
    setup = [
        f"-Dnumpy_include={numpy_include(py)}",
        f"-Dllvm_config={LLVM_CONFIG}",
        "-Dplants=true",
        *options,
    ]
    if os.environ.get("CI"):
        # As wheels are compiled, so that their objects are these: symbols for a debugger, nobody reads there.
        setup += ["-Dwerror=true", *([] if name else ["-Dbuildtype=release", "-Doptimization=2"])]
        for package in (
            "ccache",
            "libdeflate0",
        ):  # before Meson, and before the tests of what packs wheels, look for them
            offer(package)
    meson = [py.python, "-m", "mesonbuild.mesonmain"]
    # Meson reads these lists only when it configures.
    tests = sorted(
        str(p) for d, s in (("tests/c", ".c"), ("tests/ir", ".ir")) for p in (ROOT / d).rglob("*" + s)
    )
    with locked(build_root() / f"{b.dir.name}.lock"):
        stamp = b.dir / "treadle-setup"
        state = "\n".join([str(py.path), *setup])
        listed = "\n".join(tests)
        env = to_compile(b.env())
        env.pop("PYTHONPATH")
        if not (stamp.exists() and stamp.read_text().split("\0")[0] == state):
            say(f"Configuring {b.dir}.")
            shutil.rmtree(b.dir, ignore_errors=True)
            run([*meson, "setup", b.dir, ROOT, *setup], env=env)
        elif stamp.read_text().split("\0")[1] != listed:
            run([*meson, "setup", "--reconfigure", b.dir, ROOT], env=env)
        stamp.write_text(f"{state}\0{listed}")
        say(f"Building for Python {py.version} in {b.dir}.")
        run(["ninja", "-C", b.dir, f"-j{jobs()}", "--quiet"], env=env)
        _stage(b)
        if name is None:
            link_into_venv(b)
    return b


def link_into_venv(b: Build) -> None:
    """Let the interpreter of the virtual environment find the build by itself: a .pth file names the stage.

    Builds with names (debug, sanitize) are not linked. `PYTHONPATH` comes before what a .pth file adds, so `Build.env` still picks its own.
    """
    for site in sorted(b.py.venv.glob("lib/python*/site-packages")):
        (site / "treadle-build.pth").write_text(f"{b.stage}\n")


def _stage(b: Build) -> None:
    """Lay out the package as it will be installed, by links, so that an edit of a Python file needs no build."""
    source, target = ROOT / "python" / "treadle", b.stage / "treadle"
    want = {
        p.relative_to(source): p for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts
    }
    want |= {Path(p.name): p for glob in ("*.so*", "*.bc") for p in b.dir.glob(glob) if p.is_file()}
    for old in target.rglob("*"):
        if old.is_symlink() and old.relative_to(target) not in want:
            old.unlink()
    for rel, origin in want.items():
        link = target / rel
        if not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(origin)


def main_guard(main) -> None:
    """Run `main` and exit with its status; a `Stop` is printed as a sentence."""
    try:
        sys.exit(main())
    except Stop as e:
        sys.stdout.flush()
        print(f"treadle: {e}", file=sys.stderr)
        sys.exit(1)
