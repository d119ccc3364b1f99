"""Makes wheels and checks them, behind `make wheel`.

    make wheel                                 for the running Python: build, tag, check
    make wheel ARGS="--python 3.12 3.14"       for these; one that only a Debian root has (root.py, $TREADLE_ROOT) needs no more than its headers
    make wheel ARGS="--all"                    for every supported Python that is found
    make wheel ARGS="--given WHEEL"            only checks that one
    make wheel ARGS="--suite"                  runs the Python tests against what was installed, too

A wheel is what `pip wheel` makes of the tree, packed again: with the tag of the oldest C library that all its files run with (`tag`), the notices of
what others wrote of it (notices.py), and in the best compression that installers read. It goes to build/wheels/. A file that needs a library which not every Linux
has is an error. The check (`check`) installs it into a fresh environment, where no LLVM and no compiler can be found, and runs tools/wheel_check.py there.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import hashlib
import os
import re
import shutil
import struct
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import devenv
import notices
import root
from devenv import ROOT, SUPPORTED, Interpreter, Stop, run, say

# Runs pytest: the command, where its record goes, the tally, the environment.
Tests = Callable[[list[str | Path], Path, Any, dict[str, str]], None]
LIMIT, GOAL = 15_000_000, 12_000_000  # bytes of a wheel
# What the C library itself consists of; anything else that a file needs has to lie in the wheel or in the file.
ALWAYS_THERE = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
}
# Of versions that are no numbers: the C library that first has them.
NAMED_VERSIONS = {"GLIBC_ABI_DT_RELR": (2, 36)}
# Hidden from a check: whatever of LLVM, SLEEF and libclc this machine has.
HIDDEN_FILES = ("libLLVM*.so*", "libsleef*.so*")
HIDDEN_FOLDERS = ("/usr/lib/llvm-*", "/usr/lib/clc", "/usr/local/cuda*")
# Tests of the faults that test builds can be told to make (the option plants), which a wheel has not.
PLANTED = (
    "tests/py/test_parallel_stores.py::test_a_planted_fault_is_found",
    "tests/py/test_graphs.py::test_a_planted_fault_is_found",
)


# --- what a file needs ---


def needs(file: Path) -> tuple[set[str], set[str]]:
    """Return the libraries that a file is linked with, and the versions of symbols that it asks them for.

    Raises
    ------
    Stop
        When `readelf` does not read it.
    """
    out = subprocess.run(
        ["readelf", "-W", "-d", "-V", file], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    if out.returncode != 0:
        raise Stop(f"readelf does not read {file}: {out.stderr.strip()}")
    libraries = set(re.findall(r"\(NEEDED\).*\[(.+)\]", out.stdout))
    wanted = out.stdout.partition("Version needs section")[2]
    return libraries, set(re.findall(r"Name: (\S+)\s+Flags:", wanted))


def glibc_of(file: Path, shipped: set[str] = frozenset()) -> tuple[int, int]:
    """Return the oldest glibc that a file runs with.

    Parameters
    ----------
    file
        A shared library.
    shipped
        Names of libraries that lie beside it.

    Raises
    ------
    Stop
        When it needs a library that not every Linux has, or something of one that is no version of glibc's.
    """
    libraries, versions = needs(file)
    foreign = libraries - ALWAYS_THERE - shipped
    if foreign:
        raise Stop(
            f"{file.name} needs {', '.join(sorted(foreign))}, which a wheel cannot count on: link it statically."
        )
    oldest = (2, 5)
    for version in versions:
        number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
        if not number and version not in NAMED_VERSIONS:
            raise Stop(f"{file.name} needs {version}, which is no version of the C library.")
        oldest = max(oldest, (int(number[1]), int(number[2])) if number else NAMED_VERSIONS[version])
    return oldest


def tag(files: list[Path]) -> str:
    """Return the platform's name for a wheel with these libraries: that of the oldest glibc they all run with."""
    shipped = {f.name for f in files}
    return "manylinux_{}_{}_x86_64".format(*max(glibc_of(f, shipped) for f in files))


# --- a wheel's own files ---


def record(contents: dict[str, bytes], name: str) -> bytes:
    """Return the text of a wheel's list of its files, which is itself in there without a hash."""
    rows = []
    for path, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join([*rows, f"{name},,\n"]).encode()


def deflated(data: bytes) -> bytes:
    """Return data in the smallest form that every installer reads: by libdeflate, a thirtieth less than by zlib, where it is."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    plain = packer.compress(data) + packer.flush()
    try:
        lib = ctypes.CDLL("libdeflate.so.0")
    except OSError:
        return plain
    size, address = ctypes.c_size_t, ctypes.c_void_p
    lib.libdeflate_alloc_compressor.restype = address
    lib.libdeflate_free_compressor.argtypes = [address]
    compress = lib.libdeflate_deflate_compress
    compress.restype, compress.argtypes = size, [address, ctypes.c_char_p, size, ctypes.c_char_p, size]
    best = lib.libdeflate_alloc_compressor(12)
    if not best:
        raise MemoryError("libdeflate has no memory to compress a wheel")
    try:
        room = ctypes.create_string_buffer(len(plain))
        n = compress(best, data, len(data), room, len(room))  # 0: it would be larger than that
    finally:
        lib.libdeflate_free_compressor(best)
    return room.raw[:n] if n and zlib.decompress(room.raw[:n], -15) == data else plain


def zipped(contents: dict[str, tuple[bytes, int]]) -> bytes:
    """Return a zip file of these files, each with its mode, always the same bytes.

    Python's own module compresses by zlib alone.
    """
    day = 1 << 5 | 1  # 1 January 1980, the first that there is
    body, index = bytearray(), bytearray()
    for path, (data, mode) in contents.items():
        packed, name = deflated(data), path.encode()
        flags = 0 if path.isascii() else 1 << 11
        # What both lists say: version that reads it, flags, method, time, day, checksum, sizes, and how long names and notes are.
        common = struct.pack(
            "<5H3I2H",
            *(20, flags, zipfile.ZIP_DEFLATED, 0, day),
            *(zlib.crc32(data), len(packed), len(data)),
            *(len(name), 0),
        )
        # 3: made by Unix, whose modes are the upper half of the attributes.
        index += b"PK\1\2" + struct.pack("<H", 3 << 8 | 20) + common
        index += struct.pack("<3H2I", 0, 0, 0, mode << 16, len(body)) + name
        body += b"PK\3\4" + common + name + packed
    end = struct.pack("<4H2IH", 0, 0, len(contents), len(contents), len(index), len(body), 0)
    return bytes(body + index) + b"PK\5\6" + end


def pack(built: Path, out: Path, links: set[str], numpy: Path) -> Path:
    """Write a wheel again with the tag of what its libraries need, and the notices of what is inside; return its path.

    Parameters
    ----------
    built
        A wheel of this machine (`linux_x86_64`).
    out
        The folder for the new one.
    links
        What its modules are linked with (`notices.linked`).
    numpy
        The folder of NumPy's headers.
    """
    with zipfile.ZipFile(built) as z:
        entries = {i.filename: i for i in z.infolist() if not i.is_dir()}
        contents = {name: z.read(name) for name in entries}
    info = next(n for n in contents if n.endswith(".dist-info/WHEEL")).rpartition("/")[0]
    work = out / f".{built.stem}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    libraries = []
    for name, data in contents.items():
        if ".so" in Path(name).name:
            libraries.append(work / Path(name).name)
            libraries[-1].write_bytes(data)
    platform = tag(libraries)
    shutil.rmtree(work)
    wheel_text = contents[f"{info}/WHEEL"].decode()
    contents[f"{info}/WHEEL"] = wheel_text.replace("linux_x86_64", platform).encode()
    notices.put(contents, info, links, ALWAYS_THERE, numpy)
    contents.pop(f"{info}/RECORD")
    contents[f"{info}/RECORD"] = record(contents, f"{info}/RECORD")
    target = out / built.name.replace("linux_x86_64", platform)
    modes = {name: entry.external_attr >> 16 for name, entry in entries.items()}
    target.write_bytes(zipped({name: (data, modes.get(name) or 0o100644) for name, data in contents.items()}))
    return target


def show(wheel: Path) -> None:
    """Print what takes the room."""
    with zipfile.ZipFile(wheel) as z:
        rows = [(Path(i.filename).name, i.file_size, i.compress_size) for i in z.infolist()]
    large = sorted((r for r in rows if r[2] >= 20_000), key=lambda r: -r[2])
    rest = [r for r in rows if r[2] < 20_000]
    large.append((f"{len(rest)} others", sum(r[1] for r in rest), sum(r[2] for r in rest)))
    print(f"{'file':44} {'bytes':>11} {'compressed':>11}")
    for name, size, packed in [*large, (wheel.name, sum(r[1] for r in rows), wheel.stat().st_size)]:
        print(f"{name:44} {size:11,} {packed:11,}", flush=True)


# --- building ---


def wheels() -> Path:
    return devenv.build_root() / "wheels"


def adopt(wheel: Path, old: str, new: str, core: Path, out: Path) -> Path:
    """Write a wheel of one Python as that of another, from the other's extension module; return its path.

    Parameters
    ----------
    wheel
        As a build back end made it.
    old, new
        Versions of CPython: the wheel's ("3.11") and the other ("3.14").
    core
        The other's `_core`. All else in a wheel is the same for all.
    out
        The folder for the new one.
    """
    was, now = (f"cp{v.replace('.', '')}" for v in (old, new))
    target = out / wheel.name.replace(f"-{was}-{was}-", f"-{now}-{now}-")
    with zipfile.ZipFile(wheel) as z, zipfile.ZipFile(target, "w") as copy:
        for entry in z.infolist():
            data = z.read(entry)
            if Path(entry.filename).name.startswith("_core.cpython-"):
                entry.filename, data = f"treadle/{core.name}", core.read_bytes()
            elif entry.filename.endswith(".dist-info/WHEEL"):
                data = data.replace(f"Tag: {was}-{was}-".encode(), f"Tag: {now}-{now}-".encode())
            copy.writestr(entry, data)
    return target


def build(py: Interpreter, others: list[Interpreter]) -> list[Path]:
    """Build, tag and list the wheel of one interpreter, and of others whose headers lie in a root; return their paths."""
    devenv.need_system(py)
    devenv.need_venv(py)
    # A linker that merges equal functions makes a wheel 1 MB smaller, one that lays out like beside like half a MB more, and so does libdeflate.
    # One libclc takes the place of another: any will do. GDB is for the check.
    for package in (f"lld-{devenv.LLVM}", "lld-22", "libdeflate0", "gdb"):
        devenv.offer(package)
    if not Path("/usr/lib/clc").exists():
        devenv.offer("libclc-19")
    folder = devenv.build_root() / f"wheel-{py.version}"
    fresh = folder / "made"
    with devenv.locked(devenv.build_root() / f"{folder.name}.lock"):
        # Meson takes no option that it did not know when a folder was made.
        stamp, state = folder / "treadle-setup", (ROOT / "meson.options").read_text() + str(py.path)
        if not (stamp.exists() and stamp.read_text() == state):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            stamp.write_text(state)
        shutil.rmtree(fresh, ignore_errors=True)
        say(f"Building wheels for Python {', '.join(p.version for p in (py, *others))} in {folder}.")
        line = [
            py.python,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "wheel",
            "-q",
            "--no-deps",
            "-w",
            fresh,
        ]
        line += [
            f"-Cbuild-dir={folder}",
            f"-Csetup-args=-Dllvm_config={devenv.LLVM_CONFIG}",
            f"-Csetup-args=-Dother_pythons={','.join(f'{p.version}:{p.root}/usr/include' for p in others)}",
            f"-Ccompile-args=-j{devenv.jobs()}",
            *(["-Csetup-args=-Dwerror=true"] if os.environ.get("CI") else []),
        ]
        run([*line, ROOT], env=devenv.to_compile(os.environ))
        made = list(fresh.glob("*.whl"))
        if len(made) != 1:
            raise Stop(f"pip left {len(made)} wheels in {fresh}.")
        for other in others:
            core = folder / f"_core.cpython-{other.version.replace('.', '')}-x86_64-linux-gnu.so"
            made.append(adopt(made[0], py.version, other.version, core, fresh))
        links, numpy = notices.linked(folder), devenv.numpy_include(py)
        return [finish(wheel, links, numpy) for wheel in made]


def finish(made: Path, links: set[str], numpy: Path) -> Path:
    """Pack a wheel into build/wheels/, in the place of one that was there; return its path."""
    wheels().mkdir(parents=True, exist_ok=True)
    for old in wheels().glob("-".join([*made.name.split("-")[:4], "*.whl"])):
        old.unlink()
    out = pack(made, wheels(), links, numpy)
    show(out)
    return out


# --- checking ---


def hiding() -> list[str]:
    """Return what a command begins with that finds no LLVM on this machine; nothing where that is not permitted."""
    files = [
        str(p)
        for d in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
        for glob in HIDDEN_FILES
        for p in Path(d).glob(glob)
        if p.is_file() and not p.is_symlink()
    ]
    folders = [
        str(p)
        for glob in HIDDEN_FOLDERS
        for p in Path("/").glob(glob[1:])
        if p.is_dir() and not p.is_symlink()
    ]
    script = 'while [ "$1" != -- ]; do if [ -d "$1" ]; then mount -t tmpfs none "$1"; else mount --bind /dev/null "$1"; fi || exit 1; shift; done; shift; exec "$@"'
    # In a chroot there is no mount to change the propagation of; who made it has seen to that (devenv.enter).
    ways = (["--mount"], ["--mount", "--propagation", "unchanged"], ["--map-root-user", "--mount"])
    for how in (["unshare", *w] for w in ways):
        line = [*how, "sh", "-c", script, "sh", *files, *folders, "--"]
        if subprocess.run([*line, "true"], capture_output=True).returncode == 0:
            return line
    return []


def listing(folder: Path) -> set[str]:
    return {
        str(p.relative_to(folder))
        for p in folder.rglob("*")
        if not p.is_dir() and "__pycache__" not in p.parts
    }


def stray(before: set[str], after: set[str], wheel: Path) -> set[str]:
    """Return the files that an installation left beside those of the wheel and pip's own notes."""
    with zipfile.ZipFile(wheel) as z:
        names = {n for n in z.namelist() if not n.endswith("/")}
    info = next(n for n in names if n.endswith("/RECORD")).rpartition("/")[0]
    names |= {f"{info}/{n}" for n in ("INSTALLER", "REQUESTED", "direct_url.json")}
    return {f for f in after - before if re.sub(r"^lib/python[^/]+/site-packages/", "", f) not in names}


def check(py: Interpreter, wheel: Path, args: list[str], tally: Any, tests: Tests | None) -> None:
    """Install a wheel into a fresh environment and run what tools/wheel_check.py has, and the suite if `tests` is there."""
    where = devenv.build_root() / f"wheel-{py.version}" / "check"
    shutil.rmtree(where, ignore_errors=True)
    say(f"Installing {wheel.name} into a fresh environment ({where}).")
    run([py.path, "-m", "venv", where])
    python = where / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    run([*pip, "-r", devenv.REQUIREMENTS] if tests else [*pip, "numpy>=1.26"])
    before = listing(where)
    run([*pip, "--no-index", wheel])
    left = stray(before, listing(where), wheel)
    if left:
        say(f"The installation left files that are not in the wheel: {', '.join(sorted(left))}")
    tally.add(not left, bool(left))
    hidden = hiding()
    if not hidden:
        say("LLVM cannot be hidden here (no mount namespace): only what the process maps is looked at.")
    env = {
        "PATH": f"{where / 'bin'}:/usr/bin:/bin",
        "HOME": str(where),
        "LC_ALL": "C.UTF-8",
        "TREADLE_HIDDEN": "1" if hidden else "",
    }
    command = [*hidden, python, "-I", ROOT / "tools" / "wheel_check.py"]
    ok = run(command, env=env, cwd=where, check=False) == 0
    tally.add(ok, not ok)
    if tests:
        run_suite(py, where, hidden, env, args, tally, tests)


def run_suite(
    py: Interpreter,
    where: Path,
    hidden: list[str],
    env: dict[str, str],
    args: list[str],
    tally: Any,
    tests: Tests,
) -> None:
    """Run the Python tests against an installed wheel; `args` go to pytest."""
    package = next((where / "lib").glob("python*/site-packages/treadle"))
    # The compiler without Python is no part of a wheel; tests use it, with the wheel's libraries.
    shutil.copy2(devenv.build_root() / f"wheel-{py.version}" / "treadlec", package / "treadlec")
    env = {**os.environ, **env, "TREADLEC": str(package / "treadlec")}
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"):
        env.pop(name, None)
    say(f"A wheel has no planted faults; left out: {', '.join(PLANTED)}")
    left_out = [f"--deselect={t}" for t in PLANTED]
    command = [*hidden, where / "bin" / "python", "-m", "pytest", f"-n{devenv.jobs()}", *left_out, *args]
    tests(command, where / "pytest.xml", tally, env)


# --- the command ---


def main(args: list[str], default: Interpreter, tally: Any, tests: Tests) -> int:
    """Make and check wheels as the arguments say, `default`'s if they name none; the rest of them goes to pytest.

    `tally` counts what passed (dev.py), `tests` runs pytest and adds to it.
    """
    parser = argparse.ArgumentParser(prog="make wheel", description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="+", metavar="VERSION", help=f"of {', '.join(SUPPORTED)}")
    parser.add_argument("--all", action="store_true", help="every supported Python that is found")
    parser.add_argument(
        "--suite", action="store_true", help="run the Python tests against the installed wheel"
    )
    parser.add_argument("--no-check", action="store_true", help="only build")
    parser.add_argument(
        "--given", type=Path, metavar="WHEEL", help="only check this one, with the running Python"
    )
    a, rest = parser.parse_known_args(args)
    if a.given:
        check(default, a.given.resolve(), rest, tally, tests if a.suite else None)
        return tally.close()
    pythons: list[Interpreter] = []
    for version in SUPPORTED if a.all else (a.python or [default.version]):
        py = default if version == default.version else devenv.find(version)
        if py is None and not a.all:
            raise Stop(f"Python {version} is not on this machine.")
        if py is None:
            say(f"No wheel for Python {version}: it is not on this machine.")
        else:
            pythons.append(py)
    # A Python in a root may have a newer C library beside it, which a wheel would ask for: it is built here, with its headers, and checked there.
    here = [p for p in pythons if not p.root]
    there = [p for p in pythons if p.root]
    built: dict[str, Path] = {}
    for py in here or [default]:
        others = [] if built else there
        built |= zip([p.version for p in (py, *others)], build(py, others), strict=True)
    for py in pythons:
        wheel = built[py.version]
        size = wheel.stat().st_size
        say(f"{wheel}: {size / 1e6:.2f} MB ({LIMIT / 1e6:.0f} at most, {GOAL / 1e6:.0f} is the goal)")
        tally.add(size <= LIMIT, size > LIMIT)
        if a.no_check:
            continue
        if py.root:
            check_in_root(py, wheel, tally)
        else:
            check(py, wheel, rest, tally, tests if a.suite else None)
    return tally.close()


def check_in_root(py: Interpreter, wheel: Path, tally: Any) -> None:
    """Check a wheel with a Python that lives in a root (without the suite)."""
    inside = root.place(ROOT) / "build" / "wheels" / wheel.name
    target = py.root / inside.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(wheel, target)
    code = root.dev(py, ["wheel", "--", "--given", str(inside)])
    tally.add(code == 0, code != 0)
